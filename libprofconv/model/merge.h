/* SPDX-License-Identifier: MIT
 *
 * A merge under way: from which tables, into which builder, and where each row went. Only merge*.c include this.
 */
#ifndef PFC_MODEL_MERGE_H
#define PFC_MODEL_MERGE_H

#include "libprofconv/model/build.h"

/* The id arrays are indexed by the ids of `from`; entry 0 is 0. They are blocks of the builder's memory. */
typedef struct pfc_merge {
    profconv_builder *builder;
    const pfc_model *from;
    uint64_t weight;
    profconv_id *strings; /* filled on demand; 0: not yet */
    profconv_id *functions;
    profconv_id *mappings;
    uint64_t *shifts; /* per mapping: added to its addresses, modulo 2^64 */
    profconv_id *locations;
    profconv_id *stacks;
    profconv_id *labels;
    profconv_id *label_sets;
    uint32_t *types; /* columns in the builder */
    profconv_id *contexts;
    profconv_id *sources;
    profconv_id *bodies;
} pfc_merge;

/* The builder's id of a string of `from`. */
profconv_id pfc_merge_string(pfc_merge *merge, profconv_id id);
/* Fills mappings and shifts. */
void pfc_merge_mappings(pfc_merge *merge);
/* Fills stacks; after locations. */
void pfc_merge_stacks(pfc_merge *merge);

#endif
