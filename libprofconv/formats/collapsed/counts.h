/* SPDX-License-Identifier: MIT
 *
 * The count column of a folded line, in all its variants.
 */
#ifndef PFC_COLLAPSED_COUNTS_H
#define PFC_COLLAPSED_COUNTS_H

#include <stddef.h>
#include <stdint.h>

typedef enum pfc_count_kind {
    PFC_COUNT_NONE = 0, /* not a number at all */
    PFC_COUNT_BAD,      /* looks like one, but is none that is read: 0x10, 1,000 */
    PFC_COUNT_ONE,
    PFC_COUNT_TRIPLE /* Austin: time, idle, memory */
} pfc_count_kind;

typedef struct pfc_count {
    pfc_count_kind kind;
    int rounded; /* had a fraction */
    int saturated;
    int64_t values[3];
} pfc_count;

/* Reads the whole of text[0, size). */
void pfc_count_parse(const char *text, size_t size, pfc_count *out);

#endif
