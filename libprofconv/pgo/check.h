/* SPDX-License-Identifier: MIT
 *
 * What the files of profconv_check share. The part of it that conversions begin with is declared in model/pass.h.
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
/* What continuous-profiling stores would do to branch records. */
void pfc_check_stores(pfc_checker *c);

#endif
