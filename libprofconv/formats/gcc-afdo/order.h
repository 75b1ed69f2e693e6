/* SPDX-License-Identifier: MIT
 *
 * The order of a GCC profile: functions by name, positions by line and discriminator, call sites by position and name,
 * targets by name.
 */
#ifndef PFC_GCC_AFDO_ORDER_H
#define PFC_GCC_AFDO_ORDER_H

#include <profconv/plugin.h>

#include "libprofconv/base/sort.h"

/* Rows grouped by owner: those of owner i are ids[first[i]] .. ids[first[i + 1] - 1]. */
typedef struct pfc_gcc_runs {
    uint32_t *first;
    uint32_t *ids;
    uint32_t owners;
    uint32_t count;
} pfc_gcc_runs;

typedef struct pfc_gcc_order {
    pfc_mem *mem;
    const profconv_profile *profile;
    uint32_t *names; /* string ids, the empty string first */
    uint32_t *index; /* by string id: position in `names` */
    uint32_t name_count, string_rows;
    pfc_gcc_runs positions; /* body rows of a source row */
    pfc_gcc_runs calls;     /* source rows below a source row; below 0: the functions */
    pfc_gcc_runs targets;   /* of a body row */
} pfc_gcc_order;

/* 0 or a status (mem->failed). Free in both cases. */
int pfc_gcc_order_make(pfc_gcc_order *order, pfc_mem *mem, const profconv_profile *profile);
void pfc_gcc_order_free(pfc_gcc_order *order);

#endif
