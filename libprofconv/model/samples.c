/* SPDX-License-Identifier: MIT
 *
 * Sample types and samples: columns of stacks, label sets and one column of values for each type. Samples of one
 * stack and label set add up.
 *
 * A table of many samples is in no cache, and a row is found by way of the index: two places to wait for, for each sample, and
 * nobody asks for the outcome. So samples wait a little, in order, while what they need is fetched: first the index's slot, then
 * the row. Whatever looks at rows has those that wait added first.
 *
 * The columns grow together. The stack column grows last and is shrunk first, so its capacity is never above that of
 * another, and testing it alone is enough.
 */
#include "libprofconv/model/build.h"

#include <string.h>

static inline uint64_t hash_key(profconv_id stack, profconv_id label_set) { return pfc_hash_mix(stack, label_set); }

/* Rows start at 0, slots at 1. */
static uint64_t rehash(const void *user, uint32_t slot) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_key(m->sample_stacks.data[slot - 1], m->sample_label_sets.data[slot - 1]);
}

static inline uint32_t find(const profconv_builder *b, profconv_id stack, profconv_id label_set, uint64_t hash) {
    const pfc_model *m = &b->model;
    pfc_probe probe = pfc_index_start(&b->index.samples, hash);
    uint32_t slot;
    while ((slot = pfc_index_next(&b->index.samples, &probe)) != 0)
        if (m->sample_stacks.data[slot - 1] == stack && m->sample_label_sets.data[slot - 1] == label_set)
            return slot;
    return 0;
}

static int resize_column(profconv_builder *b, void **data, size_t *capacity, size_t want, size_t size) {
    if (*capacity >= want)
        return PROFCONV_OK;
    void *p = want > SIZE_MAX / size ? NULL : pfc_resize(&b->model.mem, *data, *capacity * size, want * size);
    if (!p) {
        if (!b->model.mem.failed)
            b->model.mem.failed = PROFCONV_E_NOMEM;
        return b->model.mem.failed;
    }
    *data = p;
    *capacity = want;
    return PROFCONV_OK;
}

#define COLUMN(v) (void **)(void *)&(v).data, &(v).capacity

/* Room for one more row; 0, or a status that is not sticky yet. */
PFC_COLD static int grow(profconv_builder *b) {
    pfc_model *m = &b->model;
    size_t old = m->sample_stacks.capacity;
    if (m->sample_stacks.count < old)
        return PROFCONV_OK;
    if (m->sample_stacks.count >= PFC_MAX_ROWS)
        return pfc_builder_fail_rows(b, "sample");
    /* Past 16 MiB a value column grows by half: old and new blocks are live at the same time. */
    size_t more = old < 64 ? 64 : old < ((size_t)1 << 21) ? old : old / 2;
    if (more > PFC_MAX_ROWS - old)
        more = PFC_MAX_ROWS - old;
    /* Near the budget the spare room is given up before the request is: a quarter of what is left, since others need some too. */
    uint64_t rows = pfc_mem_left(&m->mem) / (2 * sizeof(profconv_id) + m->values.count * sizeof(int64_t));
    if (more > rows / 4)
        more = rows / 4 ? (size_t)(rows / 4) : 1;
    size_t want = old + more;
    int status = PROFCONV_OK;
    for (size_t i = 0; !status && i < m->values.count; i++)
        status = resize_column(b, COLUMN(m->values.data[i]), want, sizeof(int64_t));
    if (!status)
        status = resize_column(b, COLUMN(m->sample_label_sets), want, sizeof(profconv_id));
    return status ? status : resize_column(b, COLUMN(m->sample_stacks), want, sizeof(profconv_id));
}

/* Nonzero, with the builder failed, for an id that no row has. */
static inline int bad_ids(profconv_builder *b, profconv_id stack, profconv_id label_set) {
    if (stack >= b->model.stacks.count)
        return pfc_builder_fail_id(b, "sample: stack", stack);
    return label_set >= b->model.label_sets.count ? pfc_builder_fail_id(b, "sample: label set", label_set) : PROFCONV_OK;
}

/* Appends a row of zeros; returns its slot, or 0. */
PFC_COLD static uint32_t add(profconv_builder *b, profconv_id stack, profconv_id label_set, uint64_t hash) {
    pfc_model *m = &b->model;
    if (!b->append && pfc_index_pending(&b->index.samples, 0, m->sample_stacks.count)) {
        if (pfc_builder_fill_first(b, &b->index.samples, 1, m->sample_stacks.count + 1, rehash))
            return 0;
        uint32_t known = find(b, stack, label_set, hash);
        if (known)
            return known;
    }
    if (bad_ids(b, stack, label_set))
        return 0;
    if (m->sample_stacks.count == m->sample_stacks.capacity && grow(b)) {
        if (!pfc_stopped(b))
            pfc_builder_fail_memory(b);
        return 0;
    }
    size_t row = m->sample_stacks.count;
    m->sample_stacks.data[row] = stack;
    m->sample_label_sets.data[row] = label_set;
    for (size_t i = 0; i < m->values.count; i++)
        m->values.data[i].data[row] = 0;
    uint32_t slot = (uint32_t)row + 1;
    /* Rows that are kept as they come are looked for only once there is no room for more: the first of each is known then. */
    int known = !b->append || (pfc_may_shorten(b) && !find(b, stack, label_set, hash));
    if (known && pfc_builder_index(b, &b->index.samples, hash, slot, rehash))
        return 0;
    m->sample_stacks.count++;
    m->sample_label_sets.count++;
    return slot;
}

static int reserve(profconv_builder *b) {
    int status = grow(b);
    return status ? status : pfc_index_reserve(&b->model.mem, &b->index.samples, rehash, &b->model);
}

/* on_limit=truncate: the row of a sample that has none; past the share of memory that samples may take, the row of the deepest
 * outer stack that has one with these labels. Sums stay what they are. */
PFC_COLD static uint32_t place(profconv_builder *b, profconv_id stack, profconv_id label_set, int *shortened) {
    const pfc_model *m = &b->model;
    uint64_t hash;
    uint32_t slot;
    *shortened = stack >= PFC_SHORT;
    if (*shortened)
        stack -= PFC_SHORT;
    if (stack >= m->stacks.count) {
        pfc_builder_fail_id(b, "sample: stack", stack);
        return 0;
    }
    hash = hash_key(stack, label_set);
    if (*shortened && !b->append && (slot = find(b, stack, label_set, hash)) != 0)
        return slot;
    if (pfc_builder_fits(b, reserve, &b->rows_full))
        return add(b, stack, label_set, hash);
    if (pfc_stopped(b))
        return 0;
    for (profconv_id outer = stack;; outer = m->stacks.data[outer].parent) {
        hash = hash_key(outer, label_set);
        *shortened |= outer != stack;
        if ((slot = find(b, outer, label_set, hash)) != 0)
            return slot;
        if (outer == 0)
            return add(b, 0, label_set, hash);
    }
}

static void count_shortened(profconv_builder *b, uint32_t first_type, const int64_t *values, uint32_t count) {
    int overflow = 0;
    b->shortened++;
    for (uint32_t i = 0; i < count; i++) {
        int64_t *sum = &b->model.values.data[first_type + i].shortened;
        *sum = pfc_add_sat_i64(*sum, values[i], &overflow);
    }
}

static void add_sample(profconv_builder *builder, profconv_id stack, profconv_id label_set, uint32_t first_type,
                       const int64_t *values, uint32_t count) {
    pfc_model *m = &builder->model;
    uint64_t hash = hash_key(stack, label_set);
    uint32_t slot = builder->append ? 0 : find(builder, stack, label_set, hash);
    if (slot == 0) {
        int shortened = 0;
        slot = pfc_may_shorten(builder) ? place(builder, stack, label_set, &shortened)
                                        : add(builder, stack, label_set, hash);
        if (slot == 0)
            return;
        if (shortened)
            count_shortened(builder, first_type, values, count);
    }
    for (uint32_t i = 0; i < count; i++)
        pfc_builder_add_i64(builder, &m->values.data[first_type + i].data[slot - 1], values[i]);
}

static pfc_waiting_sample *waiting(profconv_builder *b, uint64_t i) { return &b->waiting[i % PFC_SAMPLES_WAITING]; }

/* Where a look-up begins. (The fetching itself stands in the callers: gcc takes a function that does nothing else for one without
 * effect, and leaves it out.) */
static const uint64_t *slot_of(const pfc_index *index, const pfc_waiting_sample *s) {
    return &index->slots[pfc_index_start(index, hash_key(s->stack, s->label_set)).at];
}

/* The row that a slot speaks of, from 1; 0: it is of another hash, or empty. */
static uint32_t row_in_slot(const pfc_index *index, const pfc_waiting_sample *s) {
    uint64_t slot = *slot_of(index, s);
    uint32_t tag = pfc_index_start(index, hash_key(s->stack, s->label_set)).tag;
    return (uint32_t)(slot >> 32) == tag ? (uint32_t)slot : 0;
}

static void add_first(profconv_builder *b) {
    const pfc_waiting_sample *s = waiting(b, b->samples_added++);
    if (!pfc_stopped(b))
        add_sample(b, s->stack, s->label_set, s->first_type, s->values, s->count);
}

void pfc_builder_add_waiting(profconv_builder *builder) {
    while (builder->samples_added < builder->samples_told)
        add_first(builder);
}

/* Ids are looked at now, so that a wrong one is told of where it is given. */
static void let_wait(profconv_builder *b, profconv_id stack, profconv_id label_set, uint32_t first_type, const int64_t *values,
                     uint32_t count) {
    enum { ROW = PFC_SAMPLES_WAITING / 2 };
    const pfc_index *index = &b->index.samples;
    const pfc_model *m = &b->model;
    if (bad_ids(b, stack, label_set))
        return;
    if (b->samples_told - b->samples_added == PFC_SAMPLES_WAITING)
        add_first(b);
    pfc_waiting_sample *s = waiting(b, b->samples_told++);
    s->stack = stack;
    s->label_set = label_set;
    s->first_type = first_type;
    s->count = count;
    for (uint32_t i = 0; i < count; i++)
        s->values[i] = values[i];
    if (!index->size)
        return;
    PFC_PREFETCH(slot_of(index, s));
    if (b->samples_told - b->samples_added <= ROW)
        return;
    s = waiting(b, b->samples_told - 1 - ROW);
    uint32_t row = row_in_slot(index, s);
    if (row == 0)
        return;
    PFC_PREFETCH(&m->sample_stacks.data[row - 1]);
    PFC_PREFETCH(&m->sample_label_sets.data[row - 1]);
    for (uint32_t i = 0; i < s->count; i++)
        PFC_PREFETCH(&m->values.data[s->first_type + i].data[row - 1]);
}

void profconv_builder_sample(profconv_builder *builder, profconv_id stack, profconv_id label_set, uint32_t first_type,
                             const int64_t *values, uint32_t count) {
    const pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return;
    if (first_type > m->values.count || count > m->values.count - first_type) {
        pfc_builder_fail(builder, PROFCONV_E_INVALID, "sample: values %lu to %lu of %zu sample types",
                         (unsigned long)first_type, (unsigned long)first_type + count, m->values.count);
        return;
    }
    if (!builder->append && !pfc_may_shorten(builder) && count <= PFC_SAMPLE_VALUES) {
        let_wait(builder, stack, label_set, first_type, values, count);
        return;
    }
    pfc_builder_add_waiting(builder);
    add_sample(builder, stack, label_set, first_type, values, count);
}

static int check_type(profconv_builder *b, const profconv_sample_type *row) {
    if (!pfc_is_string(b, row->name))
        return pfc_builder_fail_id(b, "sample type: name", row->name);
    if (!pfc_is_string(b, row->unit))
        return pfc_builder_fail_id(b, "sample type: unit", row->unit);
    if (!pfc_is_string(b, row->event))
        return pfc_builder_fail_id(b, "sample type: event", row->event);
    if (row->role > PROFCONV_ROLE_WEIGHT)
        return pfc_builder_fail_id(b, "sample type: role", row->role);
    return PROFCONV_OK;
}

uint32_t profconv_builder_sample_type(profconv_builder *builder, const profconv_sample_type *row) {
    pfc_model *m = &builder->model;
    pfc_builder_add_waiting(builder);
    if (pfc_stopped(builder) || check_type(builder, row) || PFC_ROOM(builder, &m->sample_types, "sample type") ||
        PFC_ROOM(builder, &m->values, "sample type"))
        return UINT32_MAX;
    pfc_values column = {NULL, m->sample_stacks.capacity, 0};
    if (column.capacity) {
        column.data = (int64_t *)pfc_alloc_zero(&m->mem, column.capacity * sizeof(int64_t));
        if (!column.data) {
            pfc_builder_fail_memory(builder);
            return UINT32_MAX;
        }
    }
    m->values.data[m->values.count++] = column;
    m->sample_types.data[m->sample_types.count] = *row;
    return (uint32_t)m->sample_types.count++;
}

void profconv_builder_sample_type_replace(profconv_builder *builder, uint32_t index, const profconv_sample_type *row) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return;
    if (index >= m->sample_types.count)
        pfc_builder_fail_id(builder, "sample type", index);
    else if (check_type(builder, row) == PROFCONV_OK)
        m->sample_types.data[index] = *row;
}

uint32_t profconv_builder_sample_type_count(const profconv_builder *builder) {
    return (uint32_t)builder->model.sample_types.count;
}
