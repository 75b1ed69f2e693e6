/* SPDX-License-Identifier: MIT
 *
 * The mapping table. Identity: every member but the flags and the kernel's reference symbol, which are facts about a
 * mapping rather than the mapping itself.
 */
#include "libprofconv/model/build.h"

static uint64_t hash_row(uint64_t secret, const profconv_mapping *r) {
    uint64_t hash = pfc_hash_keyed(secret, pfc_hash_keyed(secret, r->start, r->limit), r->file_offset);
    hash = pfc_hash_keyed(secret, hash, pfc_pair(r->file, r->build_id));
    return pfc_hash_keyed(secret, hash, pfc_pair(r->kind, r->pid));
}

static uint64_t rehash(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_row(m->mem.key, &m->mappings.data[row]);
}

static int same(const profconv_mapping *a, const profconv_mapping *b) {
    return a->start == b->start && a->limit == b->limit && a->file_offset == b->file_offset && a->file == b->file &&
           a->build_id == b->build_id && a->kind == b->kind && a->pid == b->pid;
}

static profconv_id find(const profconv_builder *b, const profconv_mapping *row, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.mappings, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.mappings, &probe)) != 0)
        if (same(&b->model.mappings.data[id], row))
            return id;
    return 0;
}

static int check_row(profconv_builder *b, const profconv_mapping *row) {
    if (!pfc_is_string(b, row->file))
        return pfc_builder_fail_id(b, "mapping: file", row->file);
    if (!pfc_is_string(b, row->build_id))
        return pfc_builder_fail_id(b, "mapping: build-id", row->build_id);
    if (!pfc_is_string(b, row->reference))
        return pfc_builder_fail_id(b, "mapping: reference symbol", row->reference);
    if (row->kind > PROFCONV_MAPPING_GUEST)
        return pfc_builder_fail_id(b, "mapping: kind", row->kind);
    return PROFCONV_OK;
}

profconv_id profconv_builder_mapping(profconv_builder *builder, const profconv_mapping *row) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return 0;
    uint64_t hash = hash_row(m->mem.key, row);
    if (!builder->append) {
        profconv_id known = find(builder, row, hash);
        if (!known && pfc_index_pending(&builder->index.mappings, 1, m->mappings.count)) {
            if (pfc_builder_fill_first(builder, &builder->index.mappings, 1, m->mappings.count, rehash))
                return 0;
            known = find(builder, row, hash);
        }
        if (known)
            return known;
    }
    if (check_row(builder, row) || PFC_ROOM(builder, &m->mappings, "mapping"))
        return 0;
    profconv_id id = (profconv_id)m->mappings.count;
    m->mappings.data[id] = *row;
    if (!builder->append && pfc_builder_index(builder, &builder->index.mappings, hash, id, rehash))
        return 0;
    m->mappings.count++;
    return id;
}

/* An index that is in use gets the new identity as well, unless it has it: the old entry is harmless, since rows are
 * compared in full, and goes away at the next growth. */
static void index_again(profconv_builder *b, profconv_id id) {
    pfc_index *index = &b->index.mappings;
    uint64_t hash = hash_row(b->model.mem.key, &b->model.mappings.data[id]);
    if (index->count == 0)
        return;
    pfc_probe probe = pfc_index_start(index, hash);
    uint32_t row;
    while ((row = pfc_index_next(index, &probe)) != 0)
        if (row == id)
            return;
    pfc_builder_index(b, index, hash, id, rehash);
}

void profconv_builder_mapping_replace(profconv_builder *builder, profconv_id id, const profconv_mapping *row) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return;
    if (id == 0 || id >= m->mappings.count) {
        pfc_builder_fail_id(builder, "mapping", id);
        return;
    }
    if (check_row(builder, row))
        return;
    int moved = !same(&m->mappings.data[id], row);
    m->mappings.data[id] = *row;
    if (moved)
        index_again(builder, id);
}

void profconv_builder_get_mapping(const profconv_builder *builder, profconv_id id, profconv_mapping *out) {
    static const profconv_mapping none = {0};
    const pfc_model *m = &builder->model;
    *out = id < m->mappings.count ? m->mappings.data[id] : none;
}
