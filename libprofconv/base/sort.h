/* SPDX-License-Identifier: MIT
 *
 * Sorting without the C library's qsort, which may allocate behind the accounting and takes no context: stable merges
 * that cost one pass when the rows are in order already, as those of most files are.
 */
#ifndef PFC_BASE_SORT_H
#define PFC_BASE_SORT_H

#include "libprofconv/base/mem.h"

/* A row with its sort key: by key, then tie, ascending. */
typedef struct pfc_key {
    uint64_t key;
    uint32_t tie;
    uint32_t id;
} pfc_key;

/* 0 or a status. */
int pfc_sort_keys(pfc_mem *mem, pfc_key *rows, size_t count);

/* Sorts ids by compare(user, a, b) < 0. 0 or a status. */
int pfc_sort_ids(pfc_mem *mem, uint32_t *ids, size_t count, int (*compare)(const void *user, uint32_t a, uint32_t b),
                 const void *user);

/* Ascending. 0 or a status. */
int pfc_sort_u64(pfc_mem *mem, uint64_t *values, size_t count);

#endif
