/* SPDX-License-Identifier: MIT
 *
 * What the files of profconv_check share, and the part of it that conversions to compilers' formats begin with.
 */
#ifndef PFC_PGO_CHECK_H
#define PFC_PGO_CHECK_H

#include <profconv/check.h>

typedef struct pfc_checker {
    const profconv_profile *profile;
    profconv_report *report;
    profconv_error *error;
    int status;
} pfc_checker;

/* A reason why it cannot work; the first one becomes the error. Text ends without a full stop. */
void pfc_check_lacks(pfc_checker *c, const char *cause, uint64_t count, const char *format, ...) PROFCONV_PRINTF(4, 5);
void pfc_check_weak(pfc_checker *c, const char *cause, uint64_t count, const char *text);
void pfc_check_fact(pfc_checker *c, const char *cause, uint64_t count, const char *text);

void pfc_check_go(pfc_checker *c);
void pfc_check_autofdo(pfc_checker *c, int gcc);

/* Branch records, ranges and sampled addresses that mean nothing any more: a store took their addresses away, or no
 * mapping says which binary they belong to. PROFCONV_OK when there are none such; notes go to report (may be NULL). */
int pfc_check_records(const profconv_profile *profile, profconv_report *report, profconv_error *error);

#endif
