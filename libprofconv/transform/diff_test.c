/* SPDX-License-Identifier: MIT
 *
 * What rows are called. Under the hypothesis that a row's rate is the same on both sides, its samples fall on the two sides by the
 * binomial distribution. Where several runs of a side show how much more they vary, that widens it: the distance from the mean is
 * told in those larger standard deviations, by Student's distribution. Benjamini and Hochberg's rule then holds the share of false
 * calls down over all rows.
 */
#include <math.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/transform/diff.h"
#include "libprofconv/transform/number.h"

double pfc_diff_share(const profconv_diff_summary *s) {
    return (double)s->exposure_after / ((double)s->exposure_before + (double)s->exposure_after);
}

/* Five percent of errors, eight of ten found, when the samples of both sides are shared out as if nothing had changed. */
double pfc_diff_detectable(const pfc_verdict_row *row, double share) {
    double n = (double)row->count[PFC_BEFORE] + (double)row->count[PFC_AFTER];
    return n > 0 ? 2.8 * sqrt(row->dispersion * (1 / (n * (1 - share)) + 1 / (n * share))) : (double)INFINITY;
}

/* The distance is told twice, as a difference and as a ratio: which of them is nearer to a normal distribution depends on what makes
 * runs vary. The less sure one counts. */
static double test_row(const profconv_diff *d, const pfc_verdict_row *row, double share) {
    double a = (double)row->count[PFC_BEFORE], b = (double)row->count[PFC_AFTER], n = a + b;
    double p = pfc_binomial_test((uint64_t)row->count[PFC_AFTER], (uint64_t)(row->count[PFC_BEFORE] + row->count[PFC_AFTER]), share);
    if (!(row->freedom > 0))
        return p;
    double away = fabs(b - n * share) - 0.5;
    double wider = away > 0 ? pfc_student_test(away / sqrt(n * share * (1 - share) * row->dispersion), row->freedom) : 1;
    if (a > 0 && b > 0) {
        double variance = 1 / a + 1 / b + row->between * (d->together[PFC_BEFORE] + d->together[PFC_AFTER]);
        double ratio = pfc_student_test(log(b / a * (1 - share) / share) / sqrt(variance), row->freedom);
        wider = ratio > wider ? ratio : wider;
    }
    return wider > p ? wider : p;
}

static int by_p(const void *user, uint32_t a, uint32_t b) {
    const pfc_verdict_row *v = (const pfc_verdict_row *)user;
    return v[a].p < v[b].p ? -1 : v[a].p > v[b].p;
}

/* p and q of every row that has samples. */
static int test_rows(profconv_diff *d, pfc_verdict_row *verdicts, profconv_error *error) {
    pfc_mem *mem = &d->rows.mem;
    double share = pfc_diff_share(&d->summary);
    size_t n = 0;
    for (size_t i = 1; i < d->size; i++) {
        pfc_verdict_row *row = &verdicts[i];
        row->p = row->q = 1;
        if (row->count[PFC_BEFORE] == 0 && row->count[PFC_AFTER] == 0)
            continue;
        row->p = test_row(d, row, share);
        d->order[n++] = (uint32_t)i;
    }
    double *p = (double *)pfc_alloc(mem, (n + 1) * sizeof *p);
    if (!p || pfc_sort_ids(mem, d->order, n, by_p, verdicts)) {
        pfc_free(mem, p, p ? (n + 1) * sizeof *p : 0);
        return pfc_mem_error(mem, error);
    }
    for (size_t i = 0; i < n; i++)
        p[i] = verdicts[d->order[i]].p;
    pfc_false_discovery(p, n);
    for (size_t i = 0; i < n; i++)
        verdicts[d->order[i]].q = p[i];
    pfc_free(mem, p, (n + 1) * sizeof *p);
    return PROFCONV_OK;
}

/* What 1.96 is of the normal distribution, by the first terms of its series in 1 / freedom. */
static double interval_of(double freedom) {
    return freedom > 0 ? 1.96 + 2.372 / freedom + 2.822 / (freedom * freedom) + 5 / (freedom * freedom * freedom) : 1.96;
}

/* Whether the rate is surely within the tolerance of what it was: the interval of 95 % for the ratio of two counts. */
static int within(const pfc_verdict_row *row, double scale, double tolerance) {
    if (row->count[PFC_BEFORE] <= 0 || row->count[PFC_AFTER] <= 0)
        return 0;
    double a = (double)row->count[PFC_BEFORE], b = (double)row->count[PFC_AFTER];
    double ratio = log(b / a * scale), half = interval_of(row->freedom) * sqrt(row->dispersion * (1 / a + 1 / b));
    return ratio - half >= log1p(-tolerance) && ratio + half <= log1p(tolerance);
}

static uint32_t classify(const pfc_verdict_row *v, int64_t before, int64_t after, double scale, double alpha,
                         double tolerance) {
    if (v->delta == 0)
        return PROFCONV_DIFF_UNCHANGED;
    if (v->q <= alpha) {
        if (before == 0)
            return PROFCONV_DIFF_NEW;
        if (after == 0)
            return PROFCONV_DIFF_GONE;
        /* Samples say that it changed; when the values say the opposite, weights differ, and nothing is sure. */
        double rate = (double)v->count[PFC_AFTER] * scale - (double)v->count[PFC_BEFORE];
        if ((rate > 0) == (v->delta > 0))
            return v->delta > 0 ? PROFCONV_DIFF_UP : PROFCONV_DIFF_DOWN;
        return PROFCONV_DIFF_UNDETERMINED;
    }
    return within(v, scale, tolerance) ? PROFCONV_DIFF_UNCHANGED : PROFCONV_DIFF_UNDETERMINED;
}

int pfc_diff_judge(profconv_diff *d, const profconv_diff_options *o, profconv_error *error) {
    const profconv_diff_summary *s = &d->summary;
    double scale = (double)s->exposure_before / (double)s->exposure_after;
    double alpha = (o->false_discovery ? o->false_discovery : 50) / 1000.0;
    double tolerance = (o->tolerance ? o->tolerance : 50) / 1000.0;
    if (alpha >= 1 || tolerance >= 1)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "false_discovery and tolerance are thousandths, below 1000");
    for (int m = 0; m < PFC_MEASURES; m++) {
        int status = test_rows(d, d->verdicts[m], error);
        if (status)
            return status;
        for (size_t i = 1; i < d->size; i++) {
            const pfc_row *row = &d->rows.rows.data[i];
            const int64_t *values = m == PFC_SELF ? row->self : row->total;
            d->verdicts[m][i].diff_class =
                classify(&d->verdicts[m][i], values[PFC_BEFORE], values[PFC_AFTER], scale, alpha, tolerance);
        }
    }
    return PROFCONV_OK;
}
