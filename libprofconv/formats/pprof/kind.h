/* SPDX-License-Identifier: MIT
 *
 * What names say: kinds of mappings, roles of values, columns of branch records.
 */
#ifndef PFC_PPROF_KIND_H
#define PFC_PPROF_KIND_H

#include <profconv/profile.h>

/* What a column of values becomes. */
typedef enum pfc_pprof_column {
    PFC_PPROF_SAMPLES,
    PFC_PPROF_BRANCH,
    PFC_PPROF_MISPREDICTED,
    PFC_PPROF_RANGE,
    PFC_PPROF_ADDRESS
} pfc_pprof_column;

/* `first`: of the file's mappings, of its sample types. */
uint32_t pfc_pprof_mapping_kind(profconv_string file, int first);
uint32_t pfc_pprof_value_role(profconv_string name, profconv_string unit, int first, int counted);
pfc_pprof_column pfc_pprof_column_of(profconv_string name, profconv_string unit);

#endif
