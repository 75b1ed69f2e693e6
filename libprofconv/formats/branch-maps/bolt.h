/* SPDX-License-Identifier: MIT
 *
 * The second form of BOLT's profile, by addresses, which the writer of bolt-fdata makes when asked for.
 */
#ifndef PFC_BRANCH_MAPS_BOLT_H
#define PFC_BRANCH_MAPS_BOLT_H

#include "libprofconv/formats/branch-maps/choice.h"

typedef struct pfc_bolt_aggregated {
    const pfc_choice *choice;
    pfc_mem *mem;
    profconv_report *report;
    /* Nonzero when two offsets of the binary are in one function of it. */
    int (*same_function)(const void *user, uint64_t a, uint64_t b);
    const void *user;
} pfc_bolt_aggregated;

int pfc_bolt_write_aggregated(const pfc_bolt_aggregated *what, profconv_output *output, profconv_error *error);

#endif
