/* SPDX-License-Identifier: MIT
 *
 * What makes two profiles hard to compare.
 */
#ifndef PFC_TRANSFORM_DIFF_H
#define PFC_TRANSFORM_DIFF_H

#include <profconv/transform.h>

/* Puts warnings into the report; PROFCONV_E_INVALID for what cannot be compared at all. */
int pfc_diff_guard(profconv_report *report, const profconv_profile *before, uint32_t before_column,
                   const profconv_profile *after, uint32_t after_column, profconv_error *error);

#endif
