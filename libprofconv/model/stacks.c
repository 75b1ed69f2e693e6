/* SPDX-License-Identifier: MIT
 *
 * The prefix tree of stacks. A node is (parent, location); its depth is kept beside it while building, so that
 * limits.max_depth bounds whatever walks a stack later.
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

static int reserve(profconv_builder *b) {
    pfc_model *m = &b->model;
    size_t count = m->stacks.count + 1;
    return PFC_VEC_RESERVE(&m->mem, &m->stacks, count) || PFC_VEC_RESERVE(&m->mem, &m->stack_depths, count)
               ? m->mem.failed
               : pfc_index_reserve(&m->mem, &b->index.stacks, rehash, m);
}

PFC_COLD static profconv_id add(profconv_builder *b, profconv_id parent, profconv_id location, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_is_short(b, parent))
        return parent;
    if (pfc_index_pending(&b->index.stacks, 1, m->stacks.count)) {
        if (pfc_builder_fill(b, &b->index.stacks, 1, m->stacks.count, rehash))
            return 0;
        profconv_id known = find(b, parent, location, hash);
        if (known)
            return known;
    }
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
    if (pfc_builder_index(b, &b->index.stacks, hash, id, rehash))
        return 0;
    m->stacks.count++;
    m->stack_depths.count++;
    return id;
}

profconv_id profconv_builder_stack(profconv_builder *builder, profconv_id parent, profconv_id location) {
    if (pfc_stopped(builder))
        return 0;
    /* A node's first callee mostly comes right after it. */
    const pfc_model *m = &builder->model;
    profconv_id next = parent + 1;
    if (next < m->stacks.count && m->stacks.data[next].parent == parent && m->stacks.data[next].location == location)
        return next;
    uint64_t hash = hash_node(parent, location);
    profconv_id id = find(builder, parent, location, hash);
    return id ? id : add(builder, parent, location, hash);
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
        uint64_t hash = hash_node(stack, locations[count]);
        profconv_id id = find(builder, stack, locations[count], hash);
        stack = id ? id : add(builder, stack, locations[count], hash);
        if (stack == 0 || pfc_is_short(builder, stack))
            return stack; /* 0: only after an error */
    }
    return stack;
}
