/* SPDX-License-Identifier: MIT
 *
 * A prefix tree over frame texts, which merges equal lines and hands them out in the order of their bytes.
 */
#ifndef PFC_COLLAPSED_TRIE_H
#define PFC_COLLAPSED_TRIE_H

#include "libprofconv/formats/collapsed/frames.h"

typedef struct pfc_trie_node {
    int64_t count; /* of the line that ends here */
    uint32_t parent;
    uint32_t text;  /* frame text */
    uint32_t items; /* first item below, + 1; made by pfc_trie_order */
    uint32_t line;  /* nonzero: a line ends here */
} pfc_trie_node;

typedef struct pfc_trie {
    pfc_mem *mem;
    PFC_VEC(pfc_trie_node) nodes; /* node 0: the empty stack */
    pfc_index index;              /* (parent, text) -> node, where that is not in the row after its parent's */
    uint32_t *next;               /* of each item: the next one below the same parent, + 1 */
    size_t items;
    int saturated;
} pfc_trie;

int pfc_trie_init(pfc_trie *trie, pfc_mem *mem);
void pfc_trie_free(pfc_trie *trie);
int pfc_trie_child(pfc_trie *trie, uint32_t parent, uint32_t text, uint32_t *child);
void pfc_trie_add(pfc_trie *trie, uint32_t node, int64_t value);
/* Sorts. Nothing may be added afterwards. */
int pfc_trie_order(pfc_trie *trie, const pfc_frames *frames);
/* Calls `line` with the bytes of each line (no count) in order; nonzero from it ends the walk and is returned. */
int pfc_trie_walk(const pfc_trie *trie, const pfc_frames *frames, int (*line)(void *user, pfc_buf *text, int64_t count),
                  void *user);

#endif
