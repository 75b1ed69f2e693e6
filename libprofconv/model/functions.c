/* SPDX-License-Identifier: MIT
 *
 * The function table. A function is identified by all that is known of it: name, linkage name, file, start line.
 */
#include "libprofconv/model/build.h"

static inline uint64_t hash_row(uint64_t secret, const profconv_function *f) {
    return pfc_hash_keyed(secret, pfc_hash_mix(pfc_pair(f->name, f->linkage_name), f->file), (uint64_t)f->start_line);
}

static uint64_t rehash(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_row(m->mem.key, &m->functions.data[row]);
}

static profconv_id find(const profconv_builder *b, const profconv_function *f, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.functions, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.functions, &probe)) != 0) {
        const profconv_function *row = &b->model.functions.data[id];
        if (row->name == f->name && row->linkage_name == f->linkage_name && row->file == f->file &&
            row->start_line == f->start_line)
            return id;
    }
    return 0;
}

static int check_ids(profconv_builder *b, const profconv_function *f) {
    if (!pfc_is_string(b, f->name))
        return pfc_builder_fail_id(b, "function: name", f->name);
    if (!pfc_is_string(b, f->linkage_name))
        return pfc_builder_fail_id(b, "function: linkage name", f->linkage_name);
    if (!pfc_is_string(b, f->file))
        return pfc_builder_fail_id(b, "function: file", f->file);
    return PROFCONV_OK;
}

profconv_id profconv_builder_function(profconv_builder *builder, const profconv_function *row) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return 0;
    uint64_t hash = hash_row(m->mem.key, row);
    if (!builder->append) {
        profconv_id known = find(builder, row, hash);
        if (!known && pfc_index_pending(&builder->index.functions, 1, m->functions.count)) {
            if (pfc_builder_fill_first(builder, &builder->index.functions, 1, m->functions.count, rehash))
                return 0;
            known = find(builder, row, hash);
        }
        if (known)
            return known;
    }
    if (check_ids(builder, row) || PFC_ROOM(builder, &m->functions, "function"))
        return 0;
    profconv_id id = (profconv_id)m->functions.count;
    m->functions.data[id] = *row;
    m->functions.data[id].reserved = 0;
    if (!builder->append && pfc_builder_index(builder, &builder->index.functions, hash, id, rehash))
        return 0;
    m->functions.count++;
    return id;
}
