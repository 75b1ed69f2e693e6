/* SPDX-License-Identifier: MIT
 *
 * The prefix tree of stacks over location ids whose locations may not have come yet.
 */
#ifndef PFC_PPROF_TRIE_H
#define PFC_PPROF_TRIE_H

#include <profconv/profile.h>

#include "libprofconv/formats/pprof/spool.h"

/* nodes.data[0] is the empty stack. A node's `location` is the location's id when that is below PFC_TRIE_LARGE, else
 * PFC_TRIE_LARGE + its row in `large`. */
#define PFC_TRIE_LARGE 0x80000000u

typedef struct pfc_pprof_trie {
    PFC_VEC(profconv_stack) nodes;
    pfc_index index;
    pfc_idset large;
    struct pfc_pprof_step *steps; /* where pieces of stacks led; a cache: an entry may be overwritten at any time */
    size_t step_count;            /* power of two, or 0 */
    size_t most;                  /* nodes; 0: as many as fit */
} pfc_pprof_trie;

int pfc_pprof_trie_init(pfc_mem *mem, pfc_pprof_trie *trie);
/* The stack of `count` ids, leaf first. *cut: frames that were left out at the leaf, since there are `most` nodes. 0 or a
 * status. */
int pfc_pprof_trie_stack(pfc_mem *mem, pfc_pprof_trie *trie, const uint64_t *ids, size_t count, uint32_t *stack,
                         size_t *cut);
/* The same for the bytes of a packed field, where `most` is 0. *failed: they are not what a packed field holds. */
int pfc_pprof_trie_packed(pfc_mem *mem, pfc_pprof_trie *trie, const uint8_t *data, size_t size, uint32_t *stack,
                          int *failed);
/* The location id that a node names. */
uint64_t pfc_pprof_trie_location(const pfc_pprof_trie *trie, uint32_t node);
/* No stack will be added any more: frees what only adding needs. */
void pfc_pprof_trie_seal(pfc_mem *mem, pfc_pprof_trie *trie);
void pfc_pprof_trie_free(pfc_mem *mem, pfc_pprof_trie *trie);

#endif
