/* SPDX-License-Identifier: MIT
 *
 * Which counts make up which share of their sum: the detailed part of the summaries of LLVM's and GCC's profiles.
 */
#ifndef PFC_BASE_CUTOFFS_H
#define PFC_BASE_CUTOFFS_H

#include <stddef.h>
#include <stdint.h>

#define PFC_CUTOFFS 16

typedef struct pfc_cutoff {
    uint32_t share;  /* in millionths of the sum */
    uint32_t counts; /* how many of the largest counts reach it */
    uint64_t min;    /* the smallest of those */
} pfc_cutoff;

/* `counts` ascending; returns their sum. Sums wrap, as those of LLVM do. */
uint64_t pfc_cutoffs(const uint64_t *counts, size_t n, pfc_cutoff out[PFC_CUTOFFS]);

#endif
