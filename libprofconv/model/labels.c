/* SPDX-License-Identifier: MIT
 *
 * Labels and sets of labels. A label is stored in one normal form: either a string, or a number with a unit; a row that
 * gives both is a string, as pprof has it. Sets keep the order of their source.
 */
#include "libprofconv/model/build.h"

#include <string.h>

static inline uint64_t hash_label(uint64_t secret, const profconv_label *l) {
    uint64_t hash = pfc_hash_keyed(secret, pfc_pair(l->key, l->string), (uint64_t)l->number);
    return l->numeric ? pfc_hash_keyed(secret, hash, l->unit) : hash;
}

static uint64_t rehash_label(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_label(m->mem.key, &m->labels.data[row]);
}

static inline profconv_id find_label(const profconv_builder *b, const profconv_label *l, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.labels, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.labels, &probe)) != 0) {
        const profconv_label *row = &b->model.labels.data[id];
        if (row->key == l->key && row->string == l->string && row->number == l->number && row->unit == l->unit &&
            row->numeric == l->numeric)
            return id;
    }
    return 0;
}

static int check_label(profconv_builder *b, const profconv_label *l) {
    if (!pfc_is_string(b, l->key))
        return pfc_builder_fail_id(b, "label: key", l->key);
    if (!pfc_is_string(b, l->string))
        return pfc_builder_fail_id(b, "label: string", l->string);
    if (!pfc_is_string(b, l->unit))
        return pfc_builder_fail_id(b, "label: unit", l->unit);
    return PROFCONV_OK;
}

PFC_COLD static profconv_id add_label(profconv_builder *b, const profconv_label *l, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.labels, 1, m->labels.count)) {
        if (pfc_builder_fill(b, &b->index.labels, 1, m->labels.count, rehash_label))
            return 0;
        profconv_id known = find_label(b, l, hash);
        if (known)
            return known;
    }
    if (check_label(b, l) || PFC_ROOM(b, &m->labels, "label"))
        return 0;
    profconv_id id = (profconv_id)m->labels.count;
    m->labels.data[id] = *l;
    if (pfc_builder_index(b, &b->index.labels, hash, id, rehash_label))
        return 0;
    m->labels.count++;
    return id;
}

profconv_id profconv_builder_label(profconv_builder *builder, const profconv_label *row) {
    if (pfc_stopped(builder))
        return 0;
    profconv_label label = {0, row->key, row->string, 0, 0};
    if (row->string == 0 && row->numeric) {
        label.number = row->number;
        label.unit = row->unit;
        label.numeric = 1;
    }
    uint64_t hash = hash_label(builder->model.mem.key, &label);
    profconv_id id = find_label(builder, &label, hash);
    return id ? id : add_label(builder, &label, hash);
}

static inline uint64_t hash_set(uint64_t secret, const profconv_id *labels, uint32_t count) {
    return pfc_hash_bytes_keyed(secret, labels, count * sizeof *labels);
}

static uint64_t rehash_set(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_set(m->mem.key, m->label_items.data + m->label_sets.data[row].first, m->label_sets.data[row].count);
}

static inline profconv_id find_set(const profconv_builder *b, const profconv_id *labels, uint32_t count,
                                   uint64_t hash) {
    const pfc_model *m = &b->model;
    pfc_probe probe = pfc_index_start(&b->index.label_sets, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.label_sets, &probe)) != 0) {
        const profconv_label_set *row = &m->label_sets.data[id];
        if (row->count == count && memcmp(m->label_items.data + row->first, labels, count * sizeof *labels) == 0)
            return id;
    }
    return 0;
}

PFC_COLD static profconv_id add_set(profconv_builder *b, const profconv_id *labels, uint32_t count, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.label_sets, 1, m->label_sets.count)) {
        if (pfc_builder_fill(b, &b->index.label_sets, 1, m->label_sets.count, rehash_set))
            return 0;
        profconv_id known = find_set(b, labels, count, hash);
        if (known)
            return known;
    }
    for (uint32_t i = 0; i < count; i++)
        if (labels[i] == 0 || labels[i] >= m->labels.count) {
            pfc_builder_fail_id(b, "label set: label", labels[i]);
            return 0;
        }
    if (count > PFC_MAX_ROWS - m->label_items.count) {
        pfc_builder_fail_rows(b, "label set");
        return 0;
    }
    if (PFC_ROOM(b, &m->label_sets, "label set"))
        return 0;
    if (PFC_VEC_RESERVE(&m->mem, &m->label_items, m->label_items.count + count)) {
        pfc_builder_fail_memory(b);
        return 0;
    }
    profconv_id id = (profconv_id)m->label_sets.count;
    profconv_label_set row = {(uint32_t)m->label_items.count, count};
    memcpy(m->label_items.data + row.first, labels, count * sizeof *labels);
    m->label_sets.data[id] = row;
    if (pfc_builder_index(b, &b->index.label_sets, hash, id, rehash_set))
        return 0;
    m->label_items.count += count;
    m->label_sets.count++;
    return id;
}

profconv_id profconv_builder_label_set(profconv_builder *builder, const profconv_id *labels, uint32_t count) {
    if (pfc_stopped(builder) || count == 0)
        return 0;
    uint64_t hash = hash_set(builder->model.mem.key, labels, count);
    profconv_id id = find_set(builder, labels, count, hash);
    return id ? id : add_set(builder, labels, count, hash);
}
