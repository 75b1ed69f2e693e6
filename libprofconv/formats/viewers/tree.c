/* SPDX-License-Identifier: MIT
 *
 * The merged tree of stacks: equal paths of frames are one node, and a node's values are those of the samples that end
 * in it. No value is dropped: what a limit on nodes takes away is summed up in an "[other]" node of the nearest caller
 * that stays.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

static uint64_t node_hash(const void *user, uint32_t row) {
    const pfc_view_node *node = &((const pfc_view_tree *)user)->nodes.data[row];
    return pfc_hash_mix(pfc_hash_mix(node->parent, node->frame), (uint64_t)node->line);
}

static int push(pfc_view_tree *t, const pfc_view_node *node) {
    int status = PFC_VEC_RESERVE(t->mem, &t->self, (t->nodes.count + 1) * t->columns);
    if (status == 0)
        status = PFC_VEC_PUSH(t->mem, &t->nodes, *node);
    if (status)
        return status;
    memset(t->self.data + t->self.count, 0, t->columns * sizeof *t->self.data);
    t->self.count += t->columns;
    return 0;
}

int pfc_view_tree_init(pfc_view_tree *t, pfc_mem *mem, uint32_t columns) {
    static const pfc_view_node whole = {0, 0, 0, PFC_VIEW_ROOT, 0};
    memset(t, 0, sizeof *t);
    t->mem = mem;
    t->columns = columns;
    return push(t, &whole);
}

void pfc_view_tree_free(pfc_view_tree *t) {
    if (!t->mem)
        return;
    PFC_VEC_FREE(t->mem, &t->nodes);
    PFC_VEC_FREE(t->mem, &t->self);
    pfc_index_free(t->mem, &t->index);
    pfc_free(t->mem, t->order, t->order_capacity * sizeof *t->order);
    t->order = NULL;
    t->order_capacity = t->ordered = 0;
}

int pfc_view_child(pfc_view_tree *t, uint32_t parent, const pfc_view_place *place, uint32_t *child) {
    pfc_view_node node = {place->line, parent, place->frame, place->kind, t->nodes.data[parent].depth + 1};
    uint64_t hash = pfc_hash_mix(pfc_hash_mix(parent, node.frame), (uint64_t)node.line);
    pfc_probe probe = pfc_index_start(&t->index, hash);
    while ((*child = pfc_index_next(&t->index, &probe)) != 0) {
        pfc_view_node *row = &t->nodes.data[*child];
        if (row->parent == parent && row->frame == node.frame && row->line == node.line) {
            if (node.kind < row->kind) /* met both inlined and called: shown as called */
                row->kind = node.kind;
            return 0;
        }
    }
    if (t->nodes.count >= INT32_MAX)
        return PROFCONV_E_LIMIT;
    *child = (uint32_t)t->nodes.count;
    int status = push(t, &node);
    return status ? status : pfc_index_insert(t->mem, &t->index, hash, *child, node_hash, t);
}

/* ---- building ---- */

typedef struct building {
    const pfc_view_build *b;
    pfc_view_tree *tree;
    const profconv_profile *profile;
    uint32_t *nodes; /* of each stack: its node under the root frame marks[stack] - 1 */
    uint32_t *marks;
    uint32_t stacks;
    PFC_VEC(uint32_t) path;
    int64_t *values;
} building;

static int add_places(building *g, profconv_id stack, uint32_t *node) {
    const pfc_view_place *places;
    uint32_t count;
    int status = pfc_view_places(g->b->frames, profconv_profile_stack(g->profile, stack)->location, &places, &count);
    for (uint32_t i = 0; status == 0 && i < count; i++) {
        pfc_view_place place = places[g->b->leaf_first ? count - 1 - i : i];
        if (!g->b->lines)
            place.line = 0;
        status = pfc_view_child(g->tree, *node, &place, node);
    }
    return status;
}

static int unknown(building *g, uint32_t *node) {
    pfc_view_place place = {0, PFC_VIEW_OTHER, 0};
    int status = pfc_view_named(g->b->frames, "[unknown]", 9, &place.frame);
    return status ? status : pfc_view_child(g->tree, *node, &place, node);
}

static int add_root(building *g, uint32_t root, uint32_t *node) {
    pfc_view_place place = {root, PFC_VIEW_ROOT, 0};
    return root ? pfc_view_child(g->tree, *node, &place, node) : 0;
}

/* From the leaf up: no two stacks share a beginning that is known beforehand. */
static int from_leaf(building *g, uint32_t root, profconv_id stack, uint32_t *node) {
    *node = 0;
    int status = stack == 0 ? unknown(g, node) : 0;
    for (; status == 0 && stack != 0; stack = profconv_profile_stack(g->profile, stack)->parent)
        status = add_places(g, stack, node);
    return status ? status : add_root(g, root, node);
}

static int from_root(building *g, uint32_t root, profconv_id stack, uint32_t *node) {
    *node = 0;
    int status = add_root(g, root, node);
    if (status || stack == 0)
        return status ? status : unknown(g, node);
    g->path.count = 0;
    while (stack != 0 && g->marks[stack] != root + 1) {
        status = PFC_VEC_PUSH(g->tree->mem, &g->path, stack);
        if (status)
            return status;
        stack = profconv_profile_stack(g->profile, stack)->parent;
    }
    if (stack != 0)
        *node = g->nodes[stack];
    while (g->path.count > 0) {
        stack = g->path.data[--g->path.count];
        status = add_places(g, stack, node);
        if (status)
            return status;
        g->nodes[stack] = *node;
        g->marks[stack] = root + 1;
    }
    return 0;
}

static int add_sample(building *g, uint32_t sample, uint32_t root) {
    pfc_view_tree *t = g->tree;
    profconv_id stack = profconv_profile_sample_stack(g->profile, sample);
    uint32_t node;
    if (stack >= g->stacks)
        stack = 0;
    int status = g->b->leaf_first ? from_leaf(g, root, stack, &node) : from_root(g, root, stack, &node);
    if (status)
        return status;
    for (uint32_t i = 0; i < t->columns; i++) {
        int64_t *self = &t->self.data[(size_t)node * t->columns + i];
        *self = pfc_add_sat_i64(*self, g->values[i], &t->saturated);
    }
    t->samples++;
    return 0;
}

/* The samples that count for something, in the order of their roots, so that one table of nodes serves all. */
static int choose(building *g, pfc_key *keys, size_t *count) {
    uint32_t rows = profconv_profile_rows(g->profile, PROFCONV_TABLE_SAMPLE);
    *count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        profconv_id set = profconv_profile_sample_label_set(g->profile, i);
        int64_t any = 0;
        int negative = 0;
        pfc_view_values(g->b->columns, i, g->values);
        for (uint32_t k = 0; k < g->tree->columns; k++) {
            any |= g->values[k];
            negative |= g->values[k] < 0;
        }
        if (negative && g->b->positive) {
            int64_t *weight = &g->tree->negative_weight;
            *weight = pfc_add_sat_i64(*weight, g->values[g->b->columns->shown], &g->tree->saturated);
            g->tree->negative++;
        } else if (any != 0) {
            pfc_key key = {g->b->roots ? g->b->roots[set] : 0, i, i};
            keys[(*count)++] = key;
        }
    }
    return pfc_sort_keys(g->tree->mem, keys, *count);
}

int pfc_view_tree_build(pfc_view_tree *t, const pfc_view_build *build) {
    building g = {build, t, build->columns->profile, NULL, NULL, 0, {NULL, 0, 0}, NULL};
    size_t rows = profconv_profile_rows(g.profile, PROFCONV_TABLE_SAMPLE);
    size_t chosen = 0;
    g.stacks = profconv_profile_rows(g.profile, PROFCONV_TABLE_STACK);
    size_t stacks = g.stacks + (g.stacks == 0);
    g.nodes = (uint32_t *)pfc_alloc_zero(t->mem, stacks * sizeof *g.nodes);
    g.marks = (uint32_t *)pfc_alloc_zero(t->mem, stacks * sizeof *g.marks);
    g.values = (int64_t *)pfc_alloc_zero(t->mem, t->columns * sizeof *g.values);
    pfc_key *keys = (pfc_key *)pfc_alloc(t->mem, (rows + 1) * sizeof *keys);
    int status = g.nodes && g.marks && g.values && keys ? choose(&g, keys, &chosen) : t->mem->failed;
    for (size_t i = 0; status == 0 && i < chosen; i++) {
        pfc_view_values(build->columns, keys[i].id, g.values);
        status = add_sample(&g, keys[i].id, (uint32_t)keys[i].key);
    }
    pfc_free(t->mem, g.nodes, stacks * sizeof *g.nodes);
    pfc_free(t->mem, g.marks, stacks * sizeof *g.marks);
    pfc_free(t->mem, g.values, t->columns * sizeof *g.values);
    pfc_free(t->mem, keys, (rows + 1) * sizeof *keys);
    PFC_VEC_FREE(t->mem, &g.path);
    return status;
}

/* ---- sums ---- */

void pfc_view_tree_totals(const pfc_view_tree *t, uint32_t column, int64_t *totals, int absolute) {
    int overflow = 0;
    for (size_t i = 0; i < t->nodes.count; i++) {
        int64_t self = t->self.data[i * t->columns + column];
        totals[i] = !absolute || self >= 0 ? self : self == INT64_MIN ? INT64_MAX : -self;
    }
    for (size_t i = t->nodes.count; i-- > 1;) {
        int64_t *parent = &totals[t->nodes.data[i].parent];
        *parent = pfc_add_sat_i64(*parent, totals[i], &overflow);
    }
}

/* ---- fewer nodes ---- */

/* Weights by which nodes stay: never more than a caller's. */
static void weigh(const pfc_view_tree *t, uint32_t column, int64_t *weights, int64_t *scratch) {
    int overflow = 0;
    pfc_view_tree_totals(t, column == PFC_VIEW_NONE ? 0 : column, weights, 1);
    if (column != PFC_VIEW_NONE)
        return;
    pfc_view_tree_totals(t, 1, scratch, 1);
    for (size_t i = 0; i < t->nodes.count; i++)
        weights[i] = pfc_add_sat_i64(weights[i], scratch[i], &overflow);
}

/* Moves what the nodes without a place in `keep` hold to "[other]" below the nearest node with one. */
static int sum_up(pfc_view_tree *t, pfc_view_frames *frames, uint32_t *keep, size_t before) {
    pfc_view_place other = {0, PFC_VIEW_OTHER, 0};
    int status = pfc_view_named(frames, "[other]", 7, &other.frame);
    for (size_t i = 1; status == 0 && i < before; i++) {
        uint32_t parent = t->nodes.data[i].parent;
        uint32_t *place = &keep[before + i];
        if (keep[i])
            continue;
        *place = keep[before + parent];
        if (keep[parent]) {
            status = pfc_view_child(t, parent, &other, place);
            if (*place < before) /* one that was there already stays for this */
                keep[*place] = 1;
            if (status || *place == i)
                continue;
        }
        t->cut++;
        for (uint32_t k = 0; status == 0 && k < t->columns; k++) {
            int64_t *to = &t->self.data[(size_t)*place * t->columns + k];
            *to = pfc_add_sat_i64(*to, t->self.data[i * t->columns + k], &t->saturated);
            t->self.data[i * t->columns + k] = 0;
        }
    }
    return status;
}

/* Takes the nodes that do not stay out of the table; parents keep preceding their children. */
static void close_ranks(pfc_view_tree *t, uint32_t *keep, size_t before) {
    size_t to = 0;
    for (size_t i = 0; i < t->nodes.count; i++) {
        if (i < before && !keep[i])
            continue;
        t->nodes.data[to] = t->nodes.data[i];
        /* Those that stay know where their parent went: keep[] is the new place + 1. */
        t->nodes.data[to].parent = i ? keep[t->nodes.data[i].parent] - 1 : 0;
        memmove(t->self.data + to * t->columns, t->self.data + i * t->columns, t->columns * sizeof *t->self.data);
        if (i < before)
            keep[i] = (uint32_t)to + 1;
        to++;
    }
    t->nodes.count = to;
    t->self.count = to * t->columns;
}

int pfc_view_tree_limit(pfc_view_tree *t, pfc_view_frames *frames, uint32_t most, uint32_t column) {
    size_t before = t->nodes.count;
    if (most == 0 || before <= most)
        return 0;
    int64_t *weights = (int64_t *)pfc_alloc(t->mem, 2 * before * sizeof *weights);
    pfc_key *keys = (pfc_key *)pfc_alloc(t->mem, before * sizeof *keys);
    uint32_t *keep = (uint32_t *)pfc_alloc_zero(t->mem, 2 * before * sizeof *keep);
    int status = weights && keys && keep ? 0 : t->mem->failed;
    if (status == 0) {
        weigh(t, column, weights, weights + before);
        for (size_t i = 0; i < before; i++) {
            pfc_key key = {(uint64_t)(INT64_MAX - weights[i]), (uint32_t)i, (uint32_t)i};
            keys[i] = key;
        }
        status = pfc_sort_keys(t->mem, keys, before);
    }
    if (status == 0) {
        for (size_t i = 0; i < most; i++)
            keep[keys[i].id] = 1;
        keep[0] = 1;
        status = sum_up(t, frames, keep, before);
    }
    if (status == 0)
        close_ranks(t, keep, before);
    pfc_index_free(t->mem, &t->index); /* nothing is added any more */
    pfc_free(t->mem, weights, 2 * before * sizeof *weights);
    pfc_free(t->mem, keys, before * sizeof *keys);
    pfc_free(t->mem, keep, 2 * before * sizeof *keep);
    return status;
}

/* ---- order ---- */

/* Walks from node 0 by first child and next sibling, which hold node ids; 0: none. */
static void walk(pfc_view_tree *t, const uint32_t *child, const uint32_t *next) {
    uint32_t node = 0;
    for (;;) {
        t->order[t->ordered++] = node;
        if (child[node] != 0) {
            node = child[node];
            continue;
        }
        while (node != 0 && next[node] == 0)
            node = t->nodes.data[node].parent;
        if (node == 0)
            return;
        node = next[node];
    }
}

int pfc_view_tree_order(pfc_view_tree *t, pfc_view_frames *frames) {
    size_t count = t->nodes.count;
    size_t ranks = frames->rows.count;
    uint32_t *rank = NULL;
    uint32_t *links = (uint32_t *)pfc_alloc_zero(t->mem, 2 * count * sizeof *links);
    pfc_key *keys = (pfc_key *)pfc_alloc(t->mem, count * sizeof *keys);
    t->order = (uint32_t *)pfc_alloc(t->mem, count * sizeof *t->order);
    t->order_capacity = t->order ? count : 0;
    int status = links && keys && t->order ? pfc_view_rank(frames, &rank) : t->mem->failed;
    if (status == 0) {
        for (size_t i = 0; i < count; i++) {
            pfc_key key = {rank[t->nodes.data[i].frame], (uint32_t)i, (uint32_t)i};
            keys[i] = key;
        }
        status = pfc_sort_keys(t->mem, keys, count);
    }
    if (status == 0) {
        for (size_t i = count; i-- > 0;) {
            uint32_t node = keys[i].id;
            if (node != 0) {
                uint32_t *first = &links[t->nodes.data[node].parent];
                links[count + node] = *first;
                *first = node;
            }
        }
        walk(t, links, links + count);
    }
    pfc_free(t->mem, rank, ranks * sizeof *rank);
    pfc_free(t->mem, links, 2 * count * sizeof *links);
    pfc_free(t->mem, keys, count * sizeof *keys);
    return status;
}

/* ---- threads ---- */

const profconv_label *pfc_view_thread_label(const profconv_profile *profile, profconv_id set) {
    const profconv_label *label = profconv_profile_find_label(profile, set, "thread");
    return label ? label : profconv_profile_find_label(profile, set, "comm");
}

int pfc_view_thread_roots(pfc_view_frames *frames, uint32_t *roots, uint32_t sets) {
    for (uint32_t i = 0; i < sets; i++) {
        const profconv_label *label = pfc_view_thread_label(frames->profile, i);
        profconv_string name = profconv_profile_string(frames->profile, label ? label->string : 0);
        roots[i] = 0;
        if (name.size > 0) {
            int status = pfc_view_named(frames, name.data, name.size, &roots[i]);
            if (status)
                return status;
        }
    }
    return 0;
}
