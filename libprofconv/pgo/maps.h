/* SPDX-License-Identifier: MIT
 *
 * What the records of a profile say of one binary: counts of addresses, ranges and branches, keyed by file offset and
 * then turned into the binary's link-time addresses.
 */
#ifndef PFC_PGO_MAPS_H
#define PFC_PGO_MAPS_H

#include "libprofconv/model/model.h"

typedef struct pfc_code_range {
    uint64_t begin, end; /* both inclusive */
    uint64_t count;
} pfc_code_range;

typedef struct pfc_code_branch {
    uint64_t from, to;
    uint64_t count;
} pfc_code_branch;

typedef struct pfc_code_address {
    uint64_t at;
    uint64_t count;
} pfc_code_address;

/* Sorted by key, each key once. */
typedef struct pfc_code_maps {
    PFC_VEC(pfc_code_range) ranges;
    PFC_VEC(pfc_code_branch) branches;
    PFC_VEC(pfc_code_address) addresses;
    PFC_VEC(pfc_code_address) entries; /* targets of branches from outside the binary; not sorted */
    uint64_t branch_records;           /* rows of the whole profile, whatever binary they belong to */
} pfc_code_maps;

/*
 * Collects the rows whose locations lie in the mappings with of_binary[id] != 0 (one byte a mapping row), as file
 * offsets: ranges and branches with both ends there, addresses. Without an address row in the whole profile, the leaf
 * addresses of the samples are taken, weighted by the first column that counts samples. 0 or a status.
 */
int pfc_code_maps_collect(pfc_mem *mem, const pfc_model *model, const uint8_t *of_binary, pfc_code_maps *out);
/* Adds up neighbours with equal keys, after sorting. Used again when keys were changed. */
int pfc_code_maps_sort(pfc_mem *mem, pfc_code_maps *maps);
void pfc_code_maps_free(pfc_mem *mem, pfc_code_maps *maps);

#endif
