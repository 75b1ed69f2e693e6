/* SPDX-License-Identifier: MIT
 *
 * LINES -> SOURCE_COUNTS, where there is no binary.
 */
#ifndef PFC_PGO_LINES_H
#define PFC_PGO_LINES_H

#include "libprofconv/pgo/functions.h"

/*
 * Counts the innermost frames of samples (or of address rows) at the lines that their locations have, in functions
 * whose start line is known. *counted is the sum that found a place. 0 or a status.
 */
int pfc_attribute_lines(profconv_builder *builder, const pfc_select_rules *rules, uint64_t *counted);

#endif
