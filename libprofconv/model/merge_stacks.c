/* SPDX-License-Identifier: MIT
 *
 * The stacks of a profile into a sum that is larger than any cache: each look-up waits for memory, and one frame's needs what
 * the frame before it found. So rows are taken block by block, and in a block by their distance from what is known already:
 * all look-ups of one distance are asked for before the first is made, and wait together. What the sum does not have is then
 * added in the order of rows, as if they had come one by one.
 */
#include "libprofconv/model/merge.h"

#include <string.h>

enum { BLOCK = 4096 }; /* rows: what they ask for fits into a core's own cache */

typedef struct block {
    uint16_t distance[BLOCK]; /* of each row: 0 when its parent is in no later row than the block before */
    uint16_t rows[BLOCK];     /* by distance, then in order */
    uint16_t ends[BLOCK];     /* in `rows`, by distance */
    uint16_t later[BLOCK];    /* rows of one distance that are no first callees */
} block;

/* Fills `rows` and `ends`; how many distances there are. */
static size_t sort_rows(block *b, const profconv_stack *stacks, size_t first, size_t count) {
    size_t distances = 0;
    memset(b->ends, 0, sizeof b->ends);
    for (size_t i = 0; i < count; i++) {
        profconv_id parent = stacks[first + i].parent;
        size_t distance = parent < first ? 0 : (size_t)b->distance[parent - first] + 1;
        b->distance[i] = (uint16_t)distance;
        b->ends[distance]++;
        if (distance >= distances)
            distances = distance + 1;
    }
    for (size_t sum = 0, d = 0; d < distances; d++) { /* where each distance begins; where it ends, once its rows are there */
        size_t rows = b->ends[d];
        b->ends[d] = (uint16_t)sum;
        sum += rows;
    }
    for (size_t i = 0; i < count; i++)
        b->rows[b->ends[b->distance[i]]++] = (uint16_t)i;
    return distances;
}

static profconv_id parent_of(const pfc_merge *g, const profconv_stack *s) { return g->stacks[s->parent]; }
static profconv_id location_of(const pfc_merge *g, const profconv_stack *s) { return g->locations[s->location]; }

/* The rows of one distance. A row whose parent the sum does not have is not there either. Most are where first callees are, next
 * to what was found last; the others go by way of the index. */
static void find_rows(pfc_merge *g, const uint16_t *rows, size_t count, size_t first, uint16_t *later) {
    const profconv_stack *stacks = g->from->stacks.data + first;
    profconv_id *found = g->stacks + first;
    size_t left = 0;
    for (size_t k = 0; k < count; k++)
        pfc_stack_soon(g->builder, parent_of(g, &stacks[rows[k]]));
    for (size_t k = 0; k < count; k++) {
        const profconv_stack *s = &stacks[rows[k]];
        if (s->parent != 0 && parent_of(g, s) == 0)
            continue;
        found[rows[k]] = pfc_stack_first(g->builder, parent_of(g, s), location_of(g, s));
        if (found[rows[k]] == 0)
            later[left++] = rows[k];
    }
    for (size_t k = 0; k < left; k++)
        pfc_stack_next(g->builder, parent_of(g, &stacks[later[k]]), location_of(g, &stacks[later[k]]));
    for (size_t k = 0; k < left; k++)
        found[later[k]] = pfc_stack_find(g->builder, parent_of(g, &stacks[later[k]]), location_of(g, &stacks[later[k]]));
}

static void find_block(pfc_merge *g, block *b, size_t first, size_t count) {
    size_t distances = sort_rows(b, g->from->stacks.data, first, count);
    for (size_t d = 0, begin = 0; d < distances; d++) {
        find_rows(g, b->rows + begin, b->ends[d] - begin, first, b->later);
        begin = b->ends[d];
    }
}

static void add_rows(pfc_merge *g, size_t first, size_t count) {
    for (size_t i = first; i < first + count && !pfc_stopped(g->builder); i++) {
        const profconv_stack *s = &g->from->stacks.data[i];
        if (g->stacks[i] == 0)
            g->stacks[i] = profconv_builder_stack(g->builder, g->stacks[s->parent], g->locations[s->location]);
    }
}

void pfc_merge_stacks(pfc_merge *g) {
    profconv_builder *b = g->builder;
    size_t end = g->from->stacks.count;
    /* Nothing to find in an empty sum; and ids of stacks that were shortened are no rows. */
    if (b->model.stacks.count <= 1 || pfc_may_shorten(b)) {
        add_rows(g, 1, end - 1);
        return;
    }
    block *rows = (block *)pfc_alloc(&b->model.mem, sizeof *rows);
    if (!rows) {
        pfc_builder_fail_memory(b);
        return;
    }
    for (size_t first = 1; first < end && !pfc_stopped(b); first += BLOCK) {
        size_t count = end - first < BLOCK ? end - first : BLOCK;
        find_block(g, rows, first, count);
        add_rows(g, first, count);
    }
    pfc_free(&b->model.mem, rows, sizeof *rows);
}
