/* SPDX-License-Identifier: MIT
 *
 * Repeated branch entries. A recording has millions of entries and thousands of different ones, so what an entry means
 * and how often it came are kept in one place, found by one look: two tables with a slot a hash, whose counts go to the
 * builder when another entry takes the slot, and at the end. The builder hears of a new row at once, so that rows are
 * in the order in which they came. The tables grow while they are too small, up to a bound.
 *
 * Each may be in one of four neighbouring slots; the one with the fewest counts gives way.
 */
#include "libprofconv/formats/perf-data/pd.h"

enum { BITS_LEAST = 6, BITS_FIRST = 10, BITS_MOST = 18, WAYS = 4, LEAVES_FIRST = 1 << 10, LEAVES_MOST = 1 << 16 };

/* There are more ranges than entries, and they are small: they get twice the slots. */
static size_t range_slots(const pd_edges *e) { return (size_t)2 << e->bits; }

static size_t slot_of(unsigned bits, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t hash = (a ^ c << 48) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(hash >> (64 - bits));
}

static void flush_edge(pd_reader *r, pd_edge *edge) {
    if (edge->count)
        profconv_builder_branch(r->builder, edge->place[0].location, edge->place[1].location, edge->count,
                                edge->mispredicted, edge->cycles);
    edge->count = edge->mispredicted = 0;
    edge->cycles = 0;
}

static void flush_range(pd_reader *r, pd_range *range) {
    if (range->count)
        profconv_builder_range(r->builder, range->begin, range->end, range->count);
    range->count = 0;
}

static void flush_leaf(pd_reader *r, pd_leaf *leaf) {
    if (leaf->count)
        profconv_builder_address(r->builder, leaf->location, leaf->count);
    leaf->count = 0;
}

static void flush_leaves(pd_reader *r) {
    for (size_t i = 0; i < r->edges.leaf_count; i++)
        flush_leaf(r, &r->edges.leaves[i]);
}

void pd_edges_flush(pd_reader *r) {
    pd_edges *e = &r->edges;
    for (size_t i = 0; e->edges && i < (size_t)1 << e->bits; i++)
        flush_edge(r, &e->edges[i]);
    for (size_t i = 0; e->ranges && i < range_slots(e); i++)
        flush_range(r, &e->ranges[i]);
    flush_leaves(r);
}

static void free_tables(pd_reader *r) {
    pd_edges *e = &r->edges;
    pfc_free(&r->mem, e->edges, sizeof *e->edges << e->bits);
    pfc_free(&r->mem, e->ranges, sizeof *e->ranges * range_slots(e));
    e->edges = NULL;
    e->ranges = NULL;
}

static void free_leaves(pd_reader *r) {
    pd_edges *e = &r->edges;
    pfc_free(&r->mem, e->leaves, sizeof *e->leaves * e->leaf_count);
    e->leaves = NULL;
    e->leaf_count = 0;
}

void pd_edges_free(pd_reader *r) {
    free_tables(r);
    free_leaves(r);
}

/* A sixteenth of the memory that is allowed. */
static int fits(const pd_reader *r, unsigned bits) {
    return bits <= BITS_MOST && (uint64_t)(sizeof(pd_edge) + 2 * sizeof(pd_range)) << bits <= r->mem.limit / 16;
}

static int resize(pd_reader *r, unsigned bits) {
    pd_edges *e = &r->edges;
    pd_edges_flush(r);
    free_tables(r);
    e->bits = bits;
    e->evicted = 0;
    e->kernel_serial = r->kernel_serial;
    e->edges = (pd_edge *)pfc_alloc_zero(&r->mem, sizeof *e->edges << bits);
    e->ranges = (pd_range *)pfc_alloc_zero(&r->mem, sizeof *e->ranges * range_slots(e));
    return e->edges && e->ranges ? 0 : -1;
}

int pd_edges_ready(pd_reader *r) {
    pd_edges *e = &r->edges;
    if (!e->edges) {
        unsigned bits = BITS_FIRST;
        while (bits > BITS_LEAST && !fits(r, bits))
            bits--;
        return resize(r, bits);
    }
    if (e->kernel_serial != r->kernel_serial) /* the kernel's maps are not part of the keys */
        return resize(r, e->bits);
    if (e->evicted >> e->bits && fits(r, e->bits + 2))
        return resize(r, e->bits + 2);
    return 0;
}

size_t pd_edge_slot(const pd_reader *r, uint32_t serial, uint64_t from, uint64_t to) {
    size_t slot = slot_of(r->edges.bits, from, to, serial);
    pd_prefetch(&r->edges.edges[slot]);
    pd_prefetch((const char *)&r->edges.edges[slot] + 64);
    return slot;
}

pd_edge *pd_edge_get(pd_reader *r, size_t slot, uint32_t process, uint64_t from, uint64_t to) {
    pd_edge *edge = &r->edges.edges[slot];
    uint32_t serial = r->processes.data[process].serial;
    for (size_t i = 0; i < WAYS; i++) {
        pd_edge *way = &r->edges.edges[slot ^ i];
        if (way->from == from && way->to == to && way->serial == serial)
            return way;
        if (way->count < edge->count)
            edge = way;
    }
    r->edges.evicted += edge->serial != 0;
    flush_edge(r, edge);
    edge->from = from;
    edge->to = to;
    edge->serial = serial;
    edge->place[0] = *pd_locate(r, process, PD_MODE_NONE, from);
    edge->place[1] = *pd_locate(r, process, PD_MODE_NONE, to);
    edge->known = 0;
    return edge;
}

void pd_edge_add(pd_reader *r, size_t slot, uint32_t process, uint64_t from, uint64_t to, int mispredicted,
                 unsigned cycles) {
    /* Looked up again: another entry of the same stack may have taken the slot. */
    pd_edge *edge = pd_edge_get(r, slot, process, from, to);
    if (edge->count == UINT32_MAX)
        flush_edge(r, edge);
    edge->count++;
    edge->mispredicted += mispredicted ? 1 : 0;
    edge->cycles += cycles;
    if (!edge->known) {
        flush_edge(r, edge);
        edge->known = 1;
    }
}

size_t pd_range_slot(const pd_reader *r, profconv_id begin, profconv_id end) {
    size_t slot = slot_of(r->edges.bits + 1, begin, end, 0);
    pd_prefetch(&r->edges.ranges[slot]);
    return slot;
}

void pd_range_add(pd_reader *r, size_t slot, profconv_id begin, profconv_id end) {
    pd_range *range = &r->edges.ranges[slot];
    for (size_t i = 0; i < WAYS; i++) {
        pd_range *way = &r->edges.ranges[slot ^ i];
        if (way->begin == begin && way->end == end) {
            way->count++;
            return;
        }
        if (way->count < range->count)
            range = way;
    }
    r->edges.evicted += range->begin != 0;
    flush_range(r, range);
    range->begin = begin;
    range->end = end;
    profconv_builder_range(r->builder, begin, end, 1);
}

/* A slot for each location, up to a bound and to a sixteenth of the memory that is allowed. */
static int reserve_leaves(pd_reader *r, profconv_id location) {
    pd_edges *e = &r->edges;
    size_t count = LEAVES_FIRST;
    while (count <= location && count < LEAVES_MOST)
        count *= 4;
    while (count > 16 && count * sizeof *e->leaves > r->mem.limit / 16)
        count /= 2;
    if (count <= e->leaf_count)
        return 0;
    flush_leaves(r);
    free_leaves(r);
    e->leaves = (pd_leaf *)pfc_alloc_zero(&r->mem, count * sizeof *e->leaves);
    if (!e->leaves)
        return -1;
    e->leaf_count = count;
    return 0;
}

int pd_leaf_add(pd_reader *r, profconv_id location) {
    pd_edges *e = &r->edges;
    if (location >= e->leaf_count && e->leaf_count < LEAVES_MOST && reserve_leaves(r, location))
        return -1;
    pd_leaf *leaf = &e->leaves[location & (e->leaf_count - 1)];
    if (leaf->location == location) {
        leaf->count++;
        return 0;
    }
    flush_leaf(r, leaf);
    leaf->location = location;
    leaf->stack = 0;
    profconv_builder_address(r->builder, location, 1);
    return 0;
}

profconv_id pd_leaf_stack(pd_reader *r, profconv_id location) {
    pd_leaf *leaf = r->edges.leaves ? &r->edges.leaves[location & (r->edges.leaf_count - 1)] : NULL;
    if (leaf && leaf->location == location && leaf->stack)
        return leaf->stack;
    profconv_id stack = profconv_builder_stack(r->builder, 0, location);
    if (leaf && leaf->location == location)
        leaf->stack = stack;
    return stack;
}
