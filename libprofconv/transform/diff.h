/* SPDX-License-Identifier: MIT
 *
 * A comparison: its rows, which diff.c makes, diff_test.c judges and diff_runs.c widens the judgement of.
 */
#ifndef PFC_TRANSFORM_DIFF_H
#define PFC_TRANSFORM_DIFF_H

#include "libprofconv/transform/rows.h"

enum { PFC_SELF = 0, PFC_TOTAL = 1, PFC_MEASURES = 2 };

/* What is said of a row's self values, or of its totals. */
typedef struct pfc_verdict_row {
    int64_t delta;
    int64_t count[2];  /* samples behind the values */
    double dispersion; /* variance between runs over that of chance, >= 1 */
    double freedom;    /* degrees of freedom of that; 0: runs are not known, chance alone is judged */
    double between;    /* the variance between runs alone, as a share of the mean's square */
    double p, q;
    uint32_t diff_class;
} pfc_verdict_row;

struct profconv_diff {
    pfc_rows rows;
    pfc_verdict_row *verdicts[PFC_MEASURES]; /* per row */
    size_t size;                             /* of verdicts and order */
    uint32_t *order;
    double together[2]; /* sum of the squared shares that runs have of their side: 1 / runs where they are alike */
    profconv_report *report;
    profconv_diff_summary summary;
};

/* Where numbers of samples come from: a column, or the values divided by the period. */
typedef struct pfc_evidence {
    uint32_t column;
    int64_t divisor; /* 0: there is none */
} pfc_evidence;

pfc_evidence pfc_diff_evidence(const profconv_profile *profile, uint32_t column);
/* The column of `after` that is of the kind of the wanted one of `before`. */
int pfc_diff_columns(const profconv_profile *before, const profconv_profile *after, const char *wanted, uint32_t *out_before,
                     uint32_t *out_after, profconv_error *error);
/* Numbers of samples behind the rows: counts[measure][row], `size` rows. Rows that are new are made. */
int pfc_diff_counts(pfc_rows *rows, const profconv_profile *profile, uint32_t column, pfc_evidence evidence,
                    int64_t *const counts[PFC_MEASURES], size_t size, profconv_error *error);

/* ---- diff_runs.c ---- */

/* Dispersions of all rows from the runs in the options; without several runs of a side nothing. PROFCONV_E_INVALID when they do not
 * add up to the sums. */
int pfc_diff_runs(profconv_diff *diff, const profconv_profile *before, const profconv_diff_options *options,
                  profconv_error *error);

/* ---- diff_guard.c ---- */

/* Puts warnings into the report; PROFCONV_E_INVALID for what cannot be compared at all. */
int pfc_diff_guard(profconv_report *report, const profconv_profile *before, uint32_t before_column,
                   const profconv_profile *after, uint32_t after_column, profconv_error *error);
/* ---- diff_test.c ---- */

/* How likely a sample is one of those after, if nothing changed. */
double pfc_diff_share(const profconv_diff_summary *summary);
/* The smallest change, as a share of its own before, that a row could show. */
double pfc_diff_detectable(const pfc_verdict_row *row, double share);
/* p, q and class of every row. */
int pfc_diff_judge(profconv_diff *diff, const profconv_diff_options *options, profconv_error *error);

#endif
