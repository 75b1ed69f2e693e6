/* SPDX-License-Identifier: MIT
 *
 * Which binary of a profile is written, for the formats that hold one.
 */
#ifndef PFC_BRANCH_MAPS_CHOICE_H
#define PFC_BRANCH_MAPS_CHOICE_H

#include "libprofconv/formats/branch-maps/maps.h"

/* Mappings of one file. */
typedef struct pfc_map_binary {
    profconv_id mapping;                  /* one of its rows */
    uint64_t ranges, branches, addresses; /* sums of counts */
} pfc_map_binary;

typedef struct pfc_choice {
    pfc_mem *mem;
    const profconv_profile *profile;
    uint32_t mapping_rows;
    uint32_t *group;                  /* by mapping id: index in `binaries` */
    PFC_VEC(pfc_map_binary) binaries; /* [0] is "no mapping" */
    int leaves;                       /* addresses are the leaves of the samples */
    uint32_t leaf_type;               /* their column */
    uint32_t chosen;
} pfc_choice;

/* `binary`: path, base name or build-id, or NULL for the one with the most counts. Free in both cases. */
int pfc_choice_make(pfc_choice *choice, pfc_mem *mem, const profconv_profile *profile, const char *binary,
                    profconv_report *report, profconv_error *error);
void pfc_choice_free(pfc_choice *choice);
/* Nonzero when the location is in the chosen binary. */
int pfc_choice_has(const pfc_choice *choice, profconv_id location);
/* Offset in the file of a location of that binary. */
uint64_t pfc_choice_offset(const pfc_choice *choice, profconv_id location);
/* The sampled addresses: their table, or the leaves of the samples of a recording without branch records. */
uint32_t pfc_choice_address_rows(const pfc_choice *choice);
profconv_address pfc_choice_address(const pfc_choice *choice, uint32_t row);

#endif
