/* SPDX-License-Identifier: MIT
 *
 * Copying rows of a profile into a builder, each when it is first asked for, so that only what is referred to is in the copy.
 */
#ifndef PFC_TRANSFORM_COPY_H
#define PFC_TRANSFORM_COPY_H

#include <profconv/transform.h>

#include "libprofconv/base/text.h"

/* Tables whose ids change. */
enum { PFC_COPY_STRINGS, PFC_COPY_FUNCTIONS, PFC_COPY_MAPPINGS, PFC_COPY_LOCATIONS, PFC_COPY_STACKS, PFC_COPY_LABELS,
       PFC_COPY_SETS, PFC_COPY_MAPS };

typedef struct pfc_copy {
    pfc_mem mem; /* of the maps: the profile's allocator, outside the builder's budget */
    const profconv_profile *from;
    profconv_builder *builder;
    profconv_error *error;
    profconv_id *map[PFC_COPY_MAPS]; /* id in the builder; 0: not there yet */
    size_t rows[PFC_COPY_MAPS];
    PFC_VEC(profconv_line) lines;
    PFC_VEC(profconv_id) ids;
} pfc_copy;

/* Makes the builder, with what holds for the whole profile: info, comments, attributes, mappings, notes. No sample types.
 * 0 or a status; pfc_copy_end is to be called either way. */
int pfc_copy_start(pfc_copy *copy, const profconv_profile *from, profconv_error *error);
/* Freezes the builder unless `status` or the copy itself failed, and releases everything. Returns the status. */
int pfc_copy_end(pfc_copy *copy, int status, profconv_profile **out);
/* Nonzero when going on makes no sense. */
int pfc_copy_stopped(const pfc_copy *copy);

profconv_id pfc_copy_string(pfc_copy *copy, profconv_id id);
profconv_id pfc_copy_function(pfc_copy *copy, profconv_id id);
profconv_id pfc_copy_mapping(pfc_copy *copy, profconv_id id);
profconv_id pfc_copy_location(pfc_copy *copy, profconv_id id);
profconv_id pfc_copy_stack(pfc_copy *copy, profconv_id id);
profconv_id pfc_copy_label(pfc_copy *copy, profconv_id id);
profconv_id pfc_copy_label_set(pfc_copy *copy, profconv_id id);
/* Column `index` of the profile as the next column of the builder; returns its index there. */
uint32_t pfc_copy_sample_type(pfc_copy *copy, uint32_t index);
/* Branches, ranges, addresses, and the tables of source counts with their symbols. */
void pfc_copy_branches(pfc_copy *copy);
void pfc_copy_entries(pfc_copy *copy);

/* A frame "name" in `file` (builder's strings), without an address. */
profconv_id pfc_copy_pseudo(pfc_copy *copy, profconv_id mapping, profconv_id name, profconv_id file);

#endif
