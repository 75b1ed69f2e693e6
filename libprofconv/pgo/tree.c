/* SPDX-License-Identifier: MIT
 *
 * The accumulating tree of one function. Rows are found by hash; the indexes are emptied between functions, which costs
 * their size, so they shrink back by being freed when a function was far larger than the next ones need.
 */
#include "libprofconv/pgo/tree.h"

#include <string.h>

enum { KEEP_SLOTS = 1 << 12 };

static uint64_t hash_at(uint32_t row, pfc_position at, uint32_t more) {
    return pfc_hash_mix((uint64_t)row << 32 | more, (uint64_t)at.line << 32 | at.discriminator);
}
static uint64_t node_hash(const void *user, uint32_t row) {
    const pfc_tree_node *node = &((const pfc_tree *)user)->nodes.data[row];
    return hash_at(node->parent, node->at, node->name);
}
static uint64_t body_hash(const void *user, uint32_t row) {
    const pfc_tree_body *body = &((const pfc_tree *)user)->bodies.data[row];
    return hash_at(body->node, body->at, 0);
}
static uint64_t target_hash(const void *user, uint32_t row) {
    const pfc_tree_target *target = &((const pfc_tree *)user)->targets.data[row];
    return pfc_hash_mix(target->body, target->name);
}

static int same(pfc_position a, pfc_position b) { return a.line == b.line && a.discriminator == b.discriminator; }

static void clear(pfc_mem *mem, pfc_index *index) {
    if (index->size > KEEP_SLOTS) {
        pfc_index_free(mem, index);
        return;
    }
    if (index->count)
        memset(index->slots, 0, index->size * sizeof *index->slots);
    index->count = 0;
}

void pfc_tree_init(pfc_tree *tree, pfc_mem *mem) {
    memset(tree, 0, sizeof *tree);
    tree->mem = mem;
    pfc_tree_reset(tree);
}

void pfc_tree_reset(pfc_tree *tree) {
    tree->nodes.count = tree->bodies.count = tree->targets.count = 0;
    clear(tree->mem, &tree->node_index);
    clear(tree->mem, &tree->body_index);
    clear(tree->mem, &tree->target_index);
    const pfc_tree_node none = {0, 0, 0, {0, 0}};
    const pfc_tree_body no_body = {0, 0, {0, 0}};
    const pfc_tree_target no_target = {0, 0, 0};
    if (PFC_VEC_PUSH(tree->mem, &tree->nodes, none) || PFC_VEC_PUSH(tree->mem, &tree->nodes, none) ||
        PFC_VEC_PUSH(tree->mem, &tree->bodies, no_body) || PFC_VEC_PUSH(tree->mem, &tree->targets, no_target))
        tree->failed = tree->mem->failed;
}

void pfc_tree_free(pfc_tree *tree) {
    PFC_VEC_FREE(tree->mem, &tree->nodes);
    PFC_VEC_FREE(tree->mem, &tree->bodies);
    PFC_VEC_FREE(tree->mem, &tree->targets);
    pfc_index_free(tree->mem, &tree->node_index);
    pfc_index_free(tree->mem, &tree->body_index);
    pfc_index_free(tree->mem, &tree->target_index);
}

uint32_t pfc_tree_call(pfc_tree *tree, uint32_t parent, pfc_position at, profconv_id name) {
    if (tree->failed)
        return 0;
    uint64_t hash = hash_at(parent, at, name);
    pfc_probe probe = pfc_index_start(&tree->node_index, hash);
    for (uint32_t row; (row = pfc_index_next(&tree->node_index, &probe)) != 0;) {
        const pfc_tree_node *node = &tree->nodes.data[row];
        if (node->parent == parent && node->name == name && same(node->at, at))
            return row;
    }
    const pfc_tree_node node = {0, name, parent, at};
    uint32_t row = (uint32_t)tree->nodes.count;
    if (PFC_VEC_PUSH(tree->mem, &tree->nodes, node) ||
        pfc_index_insert(tree->mem, &tree->node_index, hash, row, node_hash, tree)) {
        tree->failed = tree->mem->failed;
        return 0;
    }
    return row;
}

uint32_t pfc_tree_position(pfc_tree *tree, uint32_t node, pfc_position at) {
    if (tree->failed)
        return 0;
    uint64_t hash = hash_at(node, at, 0);
    pfc_probe probe = pfc_index_start(&tree->body_index, hash);
    for (uint32_t row; (row = pfc_index_next(&tree->body_index, &probe)) != 0;) {
        const pfc_tree_body *body = &tree->bodies.data[row];
        if (body->node == node && same(body->at, at))
            return row;
    }
    const pfc_tree_body body = {0, node, at};
    uint32_t row = (uint32_t)tree->bodies.count;
    if (PFC_VEC_PUSH(tree->mem, &tree->bodies, body) ||
        pfc_index_insert(tree->mem, &tree->body_index, hash, row, body_hash, tree)) {
        tree->failed = tree->mem->failed;
        return 0;
    }
    return row;
}

uint32_t pfc_tree_call_target(pfc_tree *tree, uint32_t body, profconv_id name) {
    if (tree->failed)
        return 0;
    uint64_t hash = pfc_hash_mix(body, name);
    pfc_probe probe = pfc_index_start(&tree->target_index, hash);
    for (uint32_t row; (row = pfc_index_next(&tree->target_index, &probe)) != 0;) {
        const pfc_tree_target *target = &tree->targets.data[row];
        if (target->body == body && target->name == name)
            return row;
    }
    const pfc_tree_target target = {0, body, name};
    uint32_t row = (uint32_t)tree->targets.count;
    if (PFC_VEC_PUSH(tree->mem, &tree->targets, target) ||
        pfc_index_insert(tree->mem, &tree->target_index, hash, row, target_hash, tree)) {
        tree->failed = tree->mem->failed;
        return 0;
    }
    return row;
}

void pfc_tree_flush(const pfc_tree *tree, profconv_builder *builder, profconv_id name, uint64_t head) {
    pfc_mem *mem = tree->mem;
    size_t node_bytes = tree->nodes.count * sizeof(profconv_id);
    size_t body_bytes = tree->bodies.count * sizeof(profconv_id);
    profconv_id *sources = pfc_alloc_zero(mem, node_bytes);
    profconv_id *bodies = pfc_alloc_zero(mem, body_bytes);
    if (sources && bodies) {
        for (size_t i = PFC_TREE_ROOT; i < tree->nodes.count; i++) {
            const pfc_tree_node *node = &tree->nodes.data[i];
            profconv_source row = {.total = node->total,
                                   .name = node->name,
                                   .parent = sources[node->parent],
                                   .line = node->at.line,
                                   .discriminator = node->at.discriminator};
            if (i == PFC_TREE_ROOT) {
                row.name = name;
                row.head = head;
            }
            sources[i] = profconv_builder_source(builder, &row);
        }
        for (size_t i = 1; i < tree->bodies.count; i++) {
            const pfc_tree_body *body = &tree->bodies.data[i];
            bodies[i] = profconv_builder_source_body(builder, sources[body->node], body->at.line,
                                                     body->at.discriminator, body->count);
        }
        for (size_t i = 1; i < tree->targets.count; i++) {
            const pfc_tree_target *target = &tree->targets.data[i];
            profconv_builder_source_target(builder, bodies[target->body], target->name, target->count);
        }
    } else {
        pfc_builder_fail(builder, mem->failed, "out of memory for the profile of a function");
    }
    pfc_free(mem, sources, node_bytes);
    pfc_free(mem, bodies, body_bytes);
}
