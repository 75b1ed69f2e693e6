/* SPDX-License-Identifier: MIT
 *
 * The prefix tree of stacks. A node is (parent, location); its depth is kept beside it while building, so that
 * limits.max_depth bounds whatever walks a stack later.
 *
 * The frames of a new stack are added one after the other, so the first callee of a node mostly has the row after it. It is
 * looked for there and nowhere else: the index holds only the callees that came later, one for each place where stacks
 * part, and stays a fraction of the tree. A node without rows after it has no callees at all.
 */
#include "libprofconv/model/build.h"

static inline uint64_t hash_node(profconv_id parent, profconv_id location) { return pfc_hash_mix(parent, location); }

static uint64_t rehash(const void *user, uint32_t row) {
    const profconv_stack *s = &((const pfc_model *)user)->stacks.data[row];
    return hash_node(s->parent, s->location);
}

static inline profconv_id find(const profconv_builder *b, profconv_id parent, profconv_id location, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.stacks, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.stacks, &probe)) != 0) {
        const profconv_stack *row = &b->model.stacks.data[id];
        if (row->parent == parent && row->location == location)
            return id;
    }
    return 0;
}

/* Nonzero for a row that is found without the index. */
static inline int is_next(const pfc_model *m, size_t row) { return m->stacks.data[row].parent + (size_t)1 == row; }

/* The rows of a thawed profile, when one is looked for that is no first callee. */
PFC_COLD static int fill(profconv_builder *b) {
    const pfc_model *m = &b->model;
    for (size_t row = b->stacks_indexed ? b->stacks_indexed : 1; row < m->stacks.count; row++)
        if (!is_next(m, row) &&
            pfc_builder_index(b, &b->index.stacks, rehash(m, (uint32_t)row), (uint32_t)row, rehash))
            return b->error.status;
    b->stacks_indexed = m->stacks.count;
    return PROFCONV_OK;
}

static int reserve(profconv_builder *b) {
    pfc_model *m = &b->model;
    size_t count = m->stacks.count + 1;
    return PFC_VEC_RESERVE(&m->mem, &m->stacks, count) || PFC_VEC_RESERVE(&m->mem, &m->stack_depths, count)
               ? m->mem.failed
               : pfc_index_reserve(&m->mem, &b->index.stacks, rehash, m);
}

/* The callee of `parent` at `location` that is not in the next row; 0: there is none, or the builder has failed. */
static inline profconv_id find_later(profconv_builder *b, profconv_id parent, profconv_id location, uint64_t hash) {
    if (b->stacks_indexed < b->model.stacks.count && fill(b))
        return 0;
    return find(b, parent, location, hash);
}

/* `hash`: of a row for the index. */
static profconv_id add(profconv_builder *b, profconv_id parent, profconv_id location, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_stopped(b))
        return 0;
    if (pfc_is_short(b, parent))
        return parent;
    if (parent >= m->stacks.count) {
        pfc_builder_fail_id(b, "stack: parent", parent);
        return 0;
    }
    if (location == 0 || location >= m->locations.count) {
        pfc_builder_fail_id(b, "stack: location", location);
        return 0;
    }
    uint32_t depth = m->stack_depths.data[parent];
    if (depth >= m->limits.max_depth) {
        b->truncated++;
        return parent;
    }
    if (pfc_may_shorten(b)) {
        b->stacks_full |= m->stacks.count >= PFC_SHORT;
        if (!pfc_builder_fits(b, reserve, &b->stacks_full))
            return pfc_stopped(b) ? 0 : parent | PFC_SHORT;
    }
    if (PFC_ROOM(b, &m->stacks, "stack") || PFC_ROOM(b, &m->stack_depths, "stack"))
        return 0;
    profconv_id id = (profconv_id)m->stacks.count;
    profconv_stack row = {parent, location};
    m->stacks.data[id] = row;
    m->stack_depths.data[id] = depth + 1;
    if (!is_next(m, id) && pfc_builder_index(b, &b->index.stacks, hash, id, rehash))
        return 0;
    m->stacks.count++;
    m->stack_depths.count++;
    if (b->stacks_indexed + (size_t)(b->stacks_indexed == 0) == id)
        b->stacks_indexed = id + (size_t)1;
    return id;
}

/* The callee in the next row, or 0. */
static inline profconv_id find_first(const pfc_model *m, profconv_id parent, profconv_id location) {
    size_t next = (size_t)parent + 1;
    if (next >= m->stacks.count)
        return 0;
    const profconv_stack *row = &m->stacks.data[next];
    return row->parent == parent && row->location == location ? (profconv_id)next : 0;
}

/* 0: it is not there, or the builder has failed. *hash: for add(). */
static inline profconv_id find_callee(profconv_builder *b, profconv_id parent, profconv_id location, uint64_t *hash) {
    profconv_id first = find_first(&b->model, parent, location);
    *hash = 0;
    if (first || (size_t)parent + 1 >= b->model.stacks.count)
        return first;
    *hash = hash_node(parent, location);
    return find_later(b, parent, location, *hash);
}

static inline profconv_id callee(profconv_builder *b, profconv_id parent, profconv_id location) {
    uint64_t hash;
    profconv_id id = find_callee(b, parent, location, &hash);
    return id ? id : add(b, parent, location, hash);
}

profconv_id profconv_builder_stack(profconv_builder *builder, profconv_id parent, profconv_id location) {
    return pfc_stopped(builder) ? 0 : callee(builder, parent, location);
}

profconv_id profconv_builder_stack_leaf_first(profconv_builder *builder, const profconv_id *locations, size_t count) {
    if (pfc_stopped(builder))
        return 0;
    if (count > builder->model.limits.max_depth) { /* the leaf end says where the time went: keep that */
        count = builder->model.limits.max_depth;
        builder->truncated++;
    }
    profconv_id stack = 0;
    while (count-- > 0) {
        stack = callee(builder, stack, locations[count]);
        if (stack == 0 || pfc_is_short(builder, stack))
            return stack; /* 0: only after an error */
    }
    return stack;
}

void pfc_stack_soon(const profconv_builder *b, profconv_id parent) {
    PFC_PREFETCH(&b->model.stacks.data[parent + (size_t)1 < b->model.stacks.count ? parent + (size_t)1 : 0]);
}

profconv_id pfc_stack_first(const profconv_builder *b, profconv_id parent, profconv_id location) {
    const pfc_index *index = &b->index.stacks;
    profconv_id first = find_first(&b->model, parent, location);
    if (!first && index->size)
        PFC_PREFETCH(&index->slots[pfc_index_start(index, hash_node(parent, location)).at]);
    return first;
}

void pfc_stack_next(const profconv_builder *b, profconv_id parent, profconv_id location) {
    const pfc_index *index = &b->index.stacks;
    if (!index->size)
        return;
    pfc_probe probe = pfc_index_start(index, hash_node(parent, location));
    uint64_t slot = index->slots[probe.at];
    if ((uint32_t)(slot >> 32) == probe.tag)
        PFC_PREFETCH(&b->model.stacks.data[(uint32_t)slot]);
}

profconv_id pfc_stack_find(profconv_builder *builder, profconv_id parent, profconv_id location) {
    uint64_t hash;
    return find_callee(builder, parent, location, &hash);
}
