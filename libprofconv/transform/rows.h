/* SPDX-License-Identifier: MIT
 *
 * A table of what frames are called, with self and total values of one or two profiles: what top and diff are made of.
 */
#ifndef PFC_TRANSFORM_ROWS_H
#define PFC_TRANSFORM_ROWS_H

#include <profconv/transform.h>

#include "libprofconv/base/hash.h"

enum { PFC_BEFORE = 0, PFC_AFTER = 1, PFC_SCRATCH = 2, PFC_SIDES = 3 };

typedef struct pfc_row {
    profconv_string name, file, mapping;
    int64_t line;
    uint64_t hash;
    int64_t self[PFC_SIDES], total[PFC_SIDES];
    int64_t count[PFC_SIDES]; /* samples, from a column of counts */
    uint32_t stamp;   /* the last stack that was counted, to count recursion once */
} pfc_row;

typedef struct pfc_rows {
    pfc_mem mem;
    pfc_arena texts;
    PFC_VEC(pfc_row) rows; /* row 0 is not used */
    pfc_index index;
    uint32_t by;
    int64_t total[PFC_SIDES], count[PFC_SIDES];
} pfc_rows;

#define PFC_NO_COLUMN UINT32_MAX

int pfc_rows_init(pfc_rows *rows, const profconv_allocator *allocator, uint32_t by, profconv_error *error);
void pfc_rows_free(pfc_rows *rows);
/* Adds the samples of a profile: `column` to self and total, `counts` (PFC_NO_COLUMN: none) to count. */
int pfc_rows_add(pfc_rows *rows, const profconv_profile *profile, uint32_t column, uint32_t counts, int side,
                 profconv_error *error);
/* The column that `wanted` (name or event; NULL: the default) means. */
int pfc_find_column(const profconv_profile *profile, const char *wanted, uint32_t *out, profconv_error *error);
/* A copy that lives as long as the rows. */
profconv_string pfc_rows_keep(pfc_rows *rows, profconv_string text);
/* What follows the last '/'. */
profconv_string pfc_base_name(profconv_string path);
/* Bytes, then size. */
int pfc_compare_text(profconv_string a, profconv_string b);

#endif
