/* SPDX-License-Identifier: MIT
 *
 * The source profile of one function while it is accumulated: the function, the calls inlined into it, their positions
 * and call targets. Filled once for each function and then added to the profile under each of the function's names.
 */
#ifndef PFC_PGO_TREE_H
#define PFC_PGO_TREE_H

#include "libprofconv/base/hash.h"
#include "libprofconv/model/model.h"

typedef struct pfc_position {
    uint32_t line; /* line - start line of the function, 16 bits as the formats hold it */
    uint32_t discriminator;
} pfc_position;

typedef struct pfc_tree_node {
    uint64_t total;
    profconv_id name; /* string of the builder; 0: the function itself */
    uint32_t parent;  /* node */
    pfc_position at;  /* in the parent */
} pfc_tree_node;

typedef struct pfc_tree_body {
    uint64_t count;
    uint32_t node;
    pfc_position at;
} pfc_tree_body;

typedef struct pfc_tree_target {
    uint64_t count;
    uint32_t body;
    profconv_id name;
} pfc_tree_target;

/* Row 0 of the tables is unused; node 1 is the function. */
typedef struct pfc_tree {
    pfc_mem *mem;
    PFC_VEC(pfc_tree_node) nodes;
    PFC_VEC(pfc_tree_body) bodies;
    PFC_VEC(pfc_tree_target) targets;
    pfc_index node_index, body_index, target_index;
    int failed; /* sticky status */
} pfc_tree;

enum { PFC_TREE_ROOT = 1 };

void pfc_tree_init(pfc_tree *tree, pfc_mem *mem);
/* Empties it and keeps the memory. */
void pfc_tree_reset(pfc_tree *tree);
void pfc_tree_free(pfc_tree *tree);

/* The call of `name` at `at`, made if missing. 0 after a failure. */
uint32_t pfc_tree_call(pfc_tree *tree, uint32_t parent, pfc_position at, profconv_id name);
/* The position, made with count 0 if missing. 0 after a failure. */
uint32_t pfc_tree_position(pfc_tree *tree, uint32_t node, pfc_position at);
/* The call target, made with count 0 if missing. 0 after a failure. */
uint32_t pfc_tree_call_target(pfc_tree *tree, uint32_t body, profconv_id name);

/* Adds everything to the builder's top-level function `name`. Errors are the builder's. */
void pfc_tree_flush(const pfc_tree *tree, profconv_builder *builder, profconv_id name, uint64_t head);

#endif
