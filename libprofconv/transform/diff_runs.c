/* SPDX-License-Identifier: MIT
 *
 * How much more runs of one side differ than chance would have it. For a row, Pearson's chi-square of its runs over its degrees of
 * freedom is a dispersion, a poor one from few runs. What all rows together tell is steadier: variance grows with the mean as
 * mean * (1 + a * mean). Each row's own dispersion is drawn towards that trend, the more the closer the rows keep to it; the strength
 * of the trend, in degrees of freedom, follows from the spread of (own / trend), which is F-distributed.
 */
#include <math.h>
#include <string.h>

#include "libprofconv/transform/diff.h"

/* Few samples say little of dispersion: rows with less on average take the trend's word. */
#define LEAST_MEAN 5.0
/* Rows that it takes to tell how close they keep to the trend; below, as loosely as the distribution has a spread at all. */
#define LEAST_ROWS 10
#define LOOSEST 4.0
#define TIGHTEST 1000.0

typedef struct side_of_runs {
    const profconv_profile *const *runs;
    uint64_t count;
    double *exposure; /* shares of the side's, which add up to 1 */
} side_of_runs;

typedef struct row_of_runs {
    double chi2;
    double weight; /* sum over sides of (runs - 1) * the mean of a run */
    double freedom;
} row_of_runs;

static int find_exposures(const side_of_runs *side, uint32_t mode, double *together, profconv_error *error) {
    double sum = 0;
    *together = 0;
    for (uint64_t i = 0; i < side->count; i++) {
        int64_t duration = profconv_profile_info(side->runs[i])->duration_ns;
        if (mode == PROFCONV_DIFF_PER_SECOND && duration <= 0)
            return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "a comparison per second needs the duration of each run, and run %llu has none",
                                      (unsigned long long)i + 1);
        side->exposure[i] = mode == PROFCONV_DIFF_PER_SECOND ? (double)duration : 1;
        sum += side->exposure[i];
    }
    for (uint64_t i = 0; i < side->count; i++) {
        side->exposure[i] /= sum;
        *together += side->exposure[i] * side->exposure[i];
    }
    return PROFCONV_OK;
}

static int count_run(profconv_diff *d, const profconv_profile *before, const profconv_profile *run, const char *type,
                     int64_t *const counts[PFC_MEASURES], profconv_error *error) {
    uint32_t column = 0, own = 0;
    for (int m = 0; m < PFC_MEASURES; m++)
        memset(counts[m], 0, d->size * sizeof **counts);
    if (profconv_profile_rows(run, PROFCONV_TABLE_SAMPLE) == 0)
        return PROFCONV_OK;
    int status = pfc_diff_columns(before, run, type, &column, &own, error);
    return status ? status : pfc_diff_counts(&d->rows, run, own, pfc_diff_evidence(run, own), counts, d->size, error);
}

/* Adds a side's runs to chi-square and weight of every row. */
static int add_side(profconv_diff *d, const profconv_profile *before, const side_of_runs *side, int which, const char *type,
                    int64_t *const counts[PFC_MEASURES], row_of_runs *rows, profconv_error *error) {
    uint64_t seen = 0;
    for (uint64_t k = 0; k < side->count; k++) {
        int status = count_run(d, before, side->runs[k], type, counts, error);
        if (status)
            return status;
        for (int m = 0; m < PFC_MEASURES; m++) {
            for (size_t i = 1; i < d->size; i++) {
                double mean = (double)d->verdicts[m][i].count[which] * side->exposure[k];
                double away = (double)counts[m][i] - mean;
                seen += m == PFC_SELF ? (uint64_t)counts[m][i] : 0;
                rows[(size_t)m * d->size + i].chi2 += mean > 0 ? away * away / mean : 0;
            }
        }
    }
    if (d->rows.rows.count != d->size || seen != (which ? d->summary.count_after : d->summary.count_before))
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "the profile %s is not the sum of its runs, which hold %llu samples and it %llu",
                                  which ? "after" : "before", (unsigned long long)seen,
                                  (unsigned long long)(which ? d->summary.count_after : d->summary.count_before));
    for (size_t i = 0; i < PFC_MEASURES * d->size; i++) {
        double sum = (double)d->verdicts[i / d->size][i % d->size].count[which];
        if (sum > 0 && side->count > 1) {
            rows[i].freedom += (double)(side->count - 1);
            rows[i].weight += (double)(side->count - 1) * sum / (double)side->count;
        }
    }
    return PROFCONV_OK;
}

static int tells(const row_of_runs *row) { return row->freedom > 0 && row->weight / row->freedom >= LEAST_MEAN; }

/* The `a` of the trend: what is left of all chi-squares over what chance makes of them. */
static double find_trend(const row_of_runs *rows, size_t size) {
    double more = 0, weight = 0;
    for (size_t i = 1; i < size; i++) {
        if (tells(&rows[i])) {
            more += rows[i].chi2 - rows[i].freedom;
            weight += rows[i].weight;
        }
    }
    return more > 0 && weight > 0 ? more / weight : 0;
}

static double trend_of(const row_of_runs *row, double a) {
    return 1 + (row->freedom > 0 ? a * row->weight / row->freedom : 0);
}

/* F(f, g) has a squared coefficient of variation c of 2 (f + g - 2) / (f (g - 4)): solved for g. */
static double find_strength(const row_of_runs *rows, size_t size, double a) {
    double n = 0, sum = 0, squares = 0, f = 0;
    for (size_t i = 1; i < size; i++) {
        if (!tells(&rows[i]))
            continue;
        double ratio = rows[i].chi2 / rows[i].freedom / trend_of(&rows[i], a);
        n++;
        sum += ratio;
        squares += ratio * ratio;
        f += rows[i].freedom;
    }
    if (n < LEAST_ROWS || sum <= 0)
        return LOOSEST;
    f /= n;
    double mean = sum / n, c = (squares / n - mean * mean) * n / (n - 1) / (mean * mean);
    double strength = c * f > 2 ? (2 * f - 4 + 4 * c * f) / (c * f - 2) : TIGHTEST;
    return strength < LOOSEST ? LOOSEST : strength > TIGHTEST ? TIGHTEST : strength;
}

static void spread(profconv_diff *d, const row_of_runs *rows, int measure) {
    double a = find_trend(rows, d->size), strength = find_strength(rows, d->size, a);
    double chi2 = 0, freedom = 0;
    for (size_t i = 1; i < d->size; i++) {
        pfc_verdict_row *v = &d->verdicts[measure][i];
        double own = tells(&rows[i]) ? rows[i].freedom : 0;
        double drawn = (strength * trend_of(&rows[i], a) + (own > 0 ? rows[i].chi2 : 0)) / (strength + own);
        v->dispersion = drawn > 1 ? drawn : 1;
        v->freedom = strength + own;
        v->between = rows[i].freedom > 0 ? (v->dispersion - 1) * rows[i].freedom / rows[i].weight : a;
        chi2 += own > 0 ? rows[i].chi2 : 0;
        freedom += own;
    }
    if (measure == PFC_SELF && freedom > 0 && chi2 > freedom)
        d->summary.dispersion = chi2 / freedom;
}

int pfc_diff_runs(profconv_diff *d, const profconv_profile *before, const profconv_diff_options *o, profconv_error *error) {
    pfc_mem *mem = &d->rows.mem;
    side_of_runs sides[2] = {{o->runs_before, o->run_count_before, NULL}, {o->runs_after, o->run_count_after, NULL}};
    if ((sides[0].count == 0) != (sides[1].count == 0) || (sides[0].count && (!sides[0].runs || !sides[1].runs)))
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "the runs of both sides are needed");
    d->summary.runs_before = sides[0].count;
    d->summary.runs_after = sides[1].count;
    if (sides[0].count <= 1 && sides[1].count <= 1)
        return PROFCONV_OK;
    size_t exposures = (size_t)(sides[0].count + sides[1].count) * sizeof(double);
    double *exposure = (double *)pfc_alloc_zero(mem, exposures);
    row_of_runs *rows = (row_of_runs *)pfc_alloc_zero(mem, PFC_MEASURES * d->size * sizeof *rows);
    int64_t *made = (int64_t *)pfc_alloc_zero(mem, PFC_MEASURES * d->size * sizeof *made);
    int64_t *const counts[PFC_MEASURES] = {made, made ? made + d->size : NULL};
    int status = exposure && rows && made ? PROFCONV_OK : pfc_mem_error(mem, error);
    for (int k = 0; k < 2 && !status; k++) {
        sides[k].exposure = exposure + (k ? sides[0].count : 0);
        status = find_exposures(&sides[k], o->mode, &d->together[k], error);
        if (!status)
            status = add_side(d, before, &sides[k], k, o->sample_type, counts, rows, error);
    }
    for (int m = 0; m < PFC_MEASURES && !status; m++)
        spread(d, rows + (size_t)m * d->size, m);
    pfc_free(mem, exposure, exposure ? exposures : 0);
    pfc_free(mem, rows, rows ? PFC_MEASURES * d->size * sizeof *rows : 0);
    pfc_free(mem, made, made ? PFC_MEASURES * d->size * sizeof *made : 0);
    return status;
}
