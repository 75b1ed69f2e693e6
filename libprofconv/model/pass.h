/* SPDX-License-Identifier: MIT
 *
 * A pass adds facets to a profile in the making. symbolize/ and pgo/ export theirs; convert/ plans and runs them.
 */
#ifndef PFC_MODEL_PASS_H
#define PFC_MODEL_PASS_H

#include "libprofconv/model/model.h"

typedef struct pfc_pass {
    const char *name;
    const profconv_setting *settings; /* scope is `name` */
    uint32_t needs;                   /* any one of these facets is enough to try */
    uint32_t adds;
    /* Works on a builder that holds the profile; notes go to profconv_builder_report(builder). `tick` (may be NULL) is for
     * progress and cancelling, as profconv_convert_options.progress. */
    int (*run)(profconv_builder *builder, const profconv_options *options,
               int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total), void *tick_user,
               profconv_error *error);
} pfc_pass;

extern const pfc_pass pfc_symbolize_pass; /* symbolize/ */
extern const pfc_pass pfc_attribute_pass; /* pgo/ */
extern const pfc_pass pfc_expand_pass;

/* pgo/: branch records whose addresses a store took away are refused before a pass or a writer counts by them. */
int pfc_check_records(const profconv_profile *profile, profconv_report *report, profconv_error *error);

#endif
