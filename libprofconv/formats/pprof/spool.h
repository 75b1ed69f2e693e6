/* SPDX-License-Identifier: MIT
 *
 * What the reader keeps of a pprof until its strings are known, in compact form: numbers in order (a spool), and ids
 * with their rows.
 */
#ifndef PFC_PPROF_SPOOL_H
#define PFC_PPROF_SPOOL_H

#include "libprofconv/base/hash.h"
#include "libprofconv/base/mem.h"

/* ---- a queue of numbers, written once and read once, 1 to 10 bytes each ---- */

typedef struct pfc_spool {
    pfc_mem *mem;
    struct pfc_spool_block *head;
    struct pfc_spool_block *tail;
    size_t at; /* read position in head */
    int failed;
} pfc_spool;

void pfc_spool_init(pfc_spool *spool, pfc_mem *mem);
/* Out of memory is sticky: spool->failed is checked once a record. */
void pfc_spool_put(pfc_spool *spool, uint64_t value);
/* The next number; its block is freed when the last number of it was taken. 0 past the end. */
uint64_t pfc_spool_get(pfc_spool *spool);
void pfc_spool_free(pfc_spool *spool);

static inline uint64_t pfc_zigzag(int64_t v) { return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0); }
static inline int64_t pfc_unzigzag(uint64_t v) { return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0)); }

/* ---- ids of one kind of entity, in file order ---- */

typedef struct pfc_idset {
    PFC_VEC(uint64_t) ids; /* empty while the ids are 1, 2, 3, ... as nearly every writer makes them */
    pfc_index index;
    uint32_t count;
    int listed; /* the ids are in `ids` and in `index` */
} pfc_idset;

/* The row (from 1) of `id`, or 0. */
uint32_t pfc_idset_find(const pfc_idset *set, uint64_t id);
/* Adds an id that is not there as row ++count. 0 or a status. */
int pfc_idset_add(pfc_mem *mem, pfc_idset *set, uint64_t id);
uint64_t pfc_idset_id(const pfc_idset *set, uint32_t row);
void pfc_idset_free(pfc_mem *mem, pfc_idset *set);

#endif
