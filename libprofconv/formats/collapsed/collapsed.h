/* SPDX-License-Identifier: MIT
 *
 * What the files of this format share.
 */
#ifndef PFC_COLLAPSED_COLLAPSED_H
#define PFC_COLLAPSED_COLLAPSED_H

#include <profconv/plugin.h>

extern const profconv_reader pfc_collapsed_reader;
extern const profconv_writer pfc_collapsed_writer;

/* Which column to write. `event` NULL: any; `weight`: "auto", "samples", "period" or a sample type's name. */
int pfc_collapsed_choose_type(const profconv_profile *profile, const char *event, const char *weight, uint32_t *type,
                              profconv_error *error);
/* Says which other columns are left out. */
void pfc_collapsed_report_types(const profconv_profile *profile, uint32_t type, profconv_report *report);

#endif
