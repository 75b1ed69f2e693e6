/* SPDX-License-Identifier: MIT
 *
 * Comparing two profiles. What changed is told by amounts, not by shares: a function that costs as much as before is unchanged even
 * if the rest went away. What rows are called depends on evidence: the samples behind a row on both sides, under the hypothesis
 * that its rate is the same, with the share of false calls held down over all rows.
 */
#include <math.h>
#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/base/struct.h"
#include "libprofconv/transform/copy.h"
#include "libprofconv/transform/diff.h"
#include "libprofconv/transform/number.h"
#include "libprofconv/transform/rows.h"

typedef struct verdict {
    int64_t delta_self, delta_total;
    double p, q;
    uint32_t diff_class;
} verdict;

struct profconv_diff {
    pfc_rows rows;
    verdict *verdicts; /* per row */
    size_t size;       /* of verdicts and order */
    uint32_t *order;
    profconv_report *report;
    profconv_diff_summary summary;
};

const char *profconv_diff_class_name(uint32_t diff_class) {
    static const char *const names[PROFCONV_DIFF_CLASSES] = {"undetermined", "unchanged", "up", "down", "new", "gone"};
    return diff_class < PROFCONV_DIFF_CLASSES ? names[diff_class] : NULL;
}

/* ---- which columns ---- */

/* Where numbers of samples come from: a column, or the values divided by the period. */
typedef struct evidence {
    uint32_t column;
    int64_t divisor; /* 0: there is none */
} evidence;

static evidence find_evidence(const profconv_profile *p, uint32_t column) {
    const profconv_sample_type *own = profconv_profile_sample_type(p, column);
    evidence e = {PFC_NO_COLUMN, 0};
    int is_count = strcmp(profconv_profile_string(p, own->unit).data, "count") == 0;
    for (uint32_t k = 0; k < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); k++) {
        const profconv_sample_type *t = profconv_profile_sample_type(p, k);
        int counts = t->role == PROFCONV_ROLE_COUNT || strcmp(profconv_profile_string(p, t->name).data, "samples") == 0;
        if (counts && (k == column || t->event == own->event))
            e.column = k == column || e.column == PFC_NO_COLUMN ? k : e.column;
    }
    if (e.column != PFC_NO_COLUMN)
        return e;
    e.divisor = own->period > 0 ? own->period : profconv_profile_info(p)->period;
    if (e.divisor <= 0 && is_count)
        e.divisor = 1;
    return e;
}

static int same_text(const profconv_profile *a, profconv_id x, const profconv_profile *b, profconv_id y) {
    return pfc_compare_text(profconv_profile_string(a, x), profconv_profile_string(b, y)) == 0;
}

static int find_columns(const profconv_profile *a, const profconv_profile *b, const char *wanted, uint32_t *before,
                        uint32_t *after, profconv_error *error) {
    int status = pfc_find_column(a, wanted, before, error);
    if (status)
        return status;
    const profconv_sample_type *t = profconv_profile_sample_type(a, *before);
    if (profconv_profile_rows(b, PROFCONV_TABLE_SAMPLE) == 0)
        return pfc_find_column(b, NULL, after, error);
    for (uint32_t k = 0; k < profconv_profile_rows(b, PROFCONV_TABLE_SAMPLE_TYPE); k++) {
        const profconv_sample_type *other = profconv_profile_sample_type(b, k);
        if (same_text(a, t->name, b, other->name) && same_text(a, t->unit, b, other->unit) &&
            (!t->event || !other->event || same_text(a, t->event, b, other->event))) {
            *after = k;
            return PROFCONV_OK;
        }
    }
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "the profile after has no values of the kind '%s' in '%s', which the one before has; they cannot "
                              "be compared",
                              profconv_profile_string(a, t->name).data, profconv_profile_string(a, t->unit).data);
}

/* ---- exposure ---- */

static int choose_mode(profconv_diff *d, const profconv_profile *a, const profconv_profile *b,
                       const profconv_diff_options *o, profconv_error *error) {
    int64_t x = profconv_profile_info(a)->duration_ns, y = profconv_profile_info(b)->duration_ns;
    int known = x > 0 && y > 0;
    uint64_t apart = known ? (uint64_t)(x > y ? x - y : y - x) : 0;
    profconv_diff_summary *s = &d->summary;
    s->mode = o->mode;
    s->exposure_before = s->exposure_after = 1;
    if (s->mode == PROFCONV_DIFF_RAW && known && apart > (uint64_t)(x > y ? x : y) / 100)
        profconv_report_add(d->report, PROFCONV_NOTE_WARNING, "durations-differ", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "the durations differ (%.3f s and %.3f s), and values are compared as they are: right for the same work, "
                            "else compare per second",
                            (double)x / 1e9, (double)y / 1e9);
    if (s->mode == PROFCONV_DIFF_PER_SECOND) {
        if (!known)
            return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "a comparison per second needs the durations, and the profile %s has none",
                                      x > 0 ? "after" : "before");
        s->exposure_before = (uint64_t)x;
        s->exposure_after = (uint64_t)y;
    } else if (s->mode == PROFCONV_DIFF_PER_WORK) {
        if (!o->work_before || !o->work_after)
            return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "a comparison by work needs the work on both sides");
        s->exposure_before = o->work_before;
        s->exposure_after = o->work_after;
    } else if (s->mode != PROFCONV_DIFF_RAW) {
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "mode %lu of comparing: there is no such",
                                  (unsigned long)s->mode);
    }
    return PROFCONV_OK;
}

/* ---- rows ---- */

static void take_counts(profconv_diff *d, const evidence e[2]) {
    d->summary.count_before = d->summary.count_after = 0;
    for (size_t i = 1; i < d->rows.rows.count; i++) {
        pfc_row *row = &d->rows.rows.data[i];
        for (int side = 0; side < 2; side++) {
            if (e[side].column == PFC_NO_COLUMN)
                row->count[side] = e[side].divisor > 0 ? row->self[side] / e[side].divisor : 0;
            if (row->count[side] < 0)
                row->count[side] = 0;
        }
        d->summary.count_before += (uint64_t)row->count[PFC_BEFORE];
        d->summary.count_after += (uint64_t)row->count[PFC_AFTER];
    }
}

static int64_t minus(int64_t a, int64_t b) {
    int overflow = 0;
    return b == INT64_MIN ? INT64_MAX : pfc_add_sat_i64(a, -b, &overflow);
}

/* The remainders of scaling go from row to row, so that the deltas add up. */
static void take_deltas(profconv_diff *d) {
    const profconv_diff_summary *s = &d->summary;
    pfc_scaling self = {s->exposure_before, s->exposure_after, 0, 0, 0};
    int overflow = 0;
    d->summary.delta = 0;
    for (size_t i = 1; i < d->rows.rows.count; i++) {
        const pfc_row *row = &d->rows.rows.data[i];
        pfc_scaling total = {s->exposure_before, s->exposure_after, 0, s->exposure_after / 2, 0}; /* rounds to nearest */
        verdict *v = &d->verdicts[i];
        v->delta_self = minus(pfc_scale_signed(&self, row->self[PFC_AFTER]), row->self[PFC_BEFORE]);
        v->delta_total = minus(pfc_scale_signed(&total, row->total[PFC_AFTER]), row->total[PFC_BEFORE]);
        d->summary.delta = pfc_add_sat_i64(d->summary.delta, v->delta_self, &overflow);
    }
}

/* Five percent of errors, eight of ten found, when the samples of both sides are shared out as if nothing had changed. */
static double detectable(const pfc_row *row, double share) {
    double n = (double)row->count[PFC_BEFORE] + (double)row->count[PFC_AFTER];
    return n > 0 ? 2.8 * sqrt(1 / (n * (1 - share)) + 1 / (n * share)) : (double)INFINITY;
}

/* How likely a sample is one of those after, if nothing changed. */
static double share_after(const profconv_diff_summary *s) {
    return (double)s->exposure_after / ((double)s->exposure_before + (double)s->exposure_after);
}

static int by_p(const void *user, uint32_t a, uint32_t b) {
    const verdict *v = (const verdict *)user;
    return v[a].p < v[b].p ? -1 : v[a].p > v[b].p;
}

/* p and q of every row that has samples. */
static int test_rows(profconv_diff *d, profconv_error *error) {
    pfc_mem *mem = &d->rows.mem;
    double share = share_after(&d->summary);
    size_t n = 0;
    for (size_t i = 1; i < d->rows.rows.count; i++) {
        const pfc_row *row = &d->rows.rows.data[i];
        uint64_t samples = (uint64_t)row->count[PFC_BEFORE] + (uint64_t)row->count[PFC_AFTER];
        d->verdicts[i].p = d->verdicts[i].q = 1;
        if (samples == 0)
            continue;
        d->verdicts[i].p = pfc_binomial_test((uint64_t)row->count[PFC_AFTER], samples, share);
        d->order[n++] = (uint32_t)i;
    }
    double *p = (double *)pfc_alloc(mem, (n + 1) * sizeof *p);
    if (!p || pfc_sort_ids(mem, d->order, n, by_p, d->verdicts)) {
        pfc_free(mem, p, p ? (n + 1) * sizeof *p : 0);
        return pfc_mem_error(mem, error);
    }
    for (size_t i = 0; i < n; i++)
        p[i] = d->verdicts[d->order[i]].p;
    pfc_false_discovery(p, n);
    for (size_t i = 0; i < n; i++)
        d->verdicts[d->order[i]].q = p[i];
    pfc_free(mem, p, (n + 1) * sizeof *p);
    return PROFCONV_OK;
}

/* Whether the rate is surely within the tolerance of what it was: the interval of 95 % for the ratio of two counts. */
static int within(const pfc_row *row, double scale, double tolerance) {
    if (row->count[PFC_BEFORE] <= 0 || row->count[PFC_AFTER] <= 0)
        return 0;
    double a = (double)row->count[PFC_BEFORE], b = (double)row->count[PFC_AFTER];
    double ratio = log(b / a * scale), half = 1.96 * sqrt(1 / a + 1 / b);
    return ratio - half >= log1p(-tolerance) && ratio + half <= log1p(tolerance);
}

static uint32_t classify(const pfc_row *row, const verdict *v, double scale, double alpha, double tolerance) {
    if (v->delta_self == 0)
        return PROFCONV_DIFF_UNCHANGED;
    if (v->q <= alpha) {
        if (row->self[PFC_BEFORE] == 0)
            return PROFCONV_DIFF_NEW;
        if (row->self[PFC_AFTER] == 0)
            return PROFCONV_DIFF_GONE;
        /* Samples say that it changed; when the values say the opposite, weights differ, and nothing is sure. */
        double rate = (double)row->count[PFC_AFTER] * scale - (double)row->count[PFC_BEFORE];
        if ((rate > 0) == (v->delta_self > 0))
            return v->delta_self > 0 ? PROFCONV_DIFF_UP : PROFCONV_DIFF_DOWN;
        return PROFCONV_DIFF_UNDETERMINED;
    }
    return within(row, scale, tolerance) ? PROFCONV_DIFF_UNCHANGED : PROFCONV_DIFF_UNDETERMINED;
}

static uint64_t size_of(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

static int by_delta(const void *user, uint32_t a, uint32_t b) {
    const profconv_diff *d = (const profconv_diff *)user;
    const verdict *v = &d->verdicts[a], *w = &d->verdicts[b];
    const pfc_row *x = &d->rows.rows.data[a], *y = &d->rows.rows.data[b];
    if (v->delta_self != w->delta_self && size_of(v->delta_self) != size_of(w->delta_self))
        return size_of(v->delta_self) > size_of(w->delta_self) ? -1 : 1;
    if (size_of(v->delta_total) != size_of(w->delta_total))
        return size_of(v->delta_total) > size_of(w->delta_total) ? -1 : 1;
    if (x->self[PFC_BEFORE] != y->self[PFC_BEFORE])
        return x->self[PFC_BEFORE] > y->self[PFC_BEFORE] ? -1 : 1;
    int order = pfc_compare_text(x->name, y->name);
    order = order ? order : pfc_compare_text(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int judge(profconv_diff *d, const profconv_diff_options *o, profconv_error *error) {
    profconv_diff_summary *s = &d->summary;
    double scale = (double)s->exposure_before / (double)s->exposure_after;
    double alpha = (o->false_discovery ? o->false_discovery : 50) / 1000.0;
    double tolerance = (o->tolerance ? o->tolerance : 50) / 1000.0;
    double most = 0;
    if (alpha >= 1 || tolerance >= 1)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "false_discovery and tolerance are thousandths, below 1000");
    take_deltas(d);
    int status = test_rows(d, error);
    if (status)
        return status;
    for (size_t i = 1; i < d->rows.rows.count; i++) {
        verdict *v = &d->verdicts[i];
        const pfc_row *row = &d->rows.rows.data[i];
        v->diff_class = classify(row, v, scale, alpha, tolerance);
        s->rows[v->diff_class]++;
        if ((double)row->count[0] + (double)row->count[1] > most || i == 1) {
            most = (double)row->count[0] + (double)row->count[1];
            s->detectable = detectable(row, share_after(s));
        }
        d->order[i - 1] = (uint32_t)i;
    }
    if (pfc_sort_ids(&d->rows.mem, d->order, d->rows.rows.count - 1, by_delta, d))
        return pfc_mem_error(&d->rows.mem, error);
    return PROFCONV_OK;
}

static int fill(profconv_diff *d, const profconv_profile *a, const profconv_profile *b, const profconv_diff_options *o,
                profconv_error *error) {
    uint32_t before = 0, after = 0;
    pfc_rows *r = &d->rows;
    int status = find_columns(a, b, o->sample_type, &before, &after, error);
    if (!status)
        status = choose_mode(d, a, b, o, error);
    if (status)
        return status;
    const evidence e[2] = {find_evidence(a, before), find_evidence(b, after)};
    status = pfc_rows_add(r, a, before, e[0].column, PFC_BEFORE, error);
    if (!status)
        status = pfc_rows_add(r, b, after, e[1].column, PFC_AFTER, error);
    if (!status)
        status = pfc_diff_guard(d->report, a, before, b, after, error);
    if (status)
        return status;
    if ((e[0].column == PFC_NO_COLUMN && e[0].divisor <= 0) || (e[1].column == PFC_NO_COLUMN && e[1].divisor <= 0))
        profconv_report_add(d->report, PROFCONV_NOTE_WARNING, "no-counts", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "the profiles do not tell numbers of samples: no change can be judged");
    const profconv_sample_type *t = profconv_profile_sample_type(a, before);
    d->summary.name = pfc_rows_keep(r, profconv_profile_string(a, t->name));
    d->summary.unit = pfc_rows_keep(r, profconv_profile_string(a, t->unit));
    d->summary.total_before = r->total[PFC_BEFORE];
    d->summary.total_after = r->total[PFC_AFTER];
    d->size = r->rows.count;
    d->verdicts = (verdict *)pfc_alloc_zero(&r->mem, d->size * sizeof *d->verdicts);
    d->order = (uint32_t *)pfc_alloc_zero(&r->mem, d->size * sizeof *d->order);
    if (!d->verdicts || !d->order || r->mem.failed)
        return pfc_mem_error(&r->mem, error);
    take_counts(d, e);
    return judge(d, o, error);
}

int profconv_diff_new(profconv_diff **out, const profconv_profile *before, const profconv_profile *after,
                      const profconv_diff_options *options, profconv_error *error) {
    profconv_diff_options o;
    pfc_mem mem;
    *out = NULL;
    int status = pfc_struct_copy(&o, sizeof o, options, "profconv_diff_options", error);
    if (status)
        return status;
    pfc_mem_init(&mem, profconv_profile_allocator(before), 0);
    profconv_diff *d = (profconv_diff *)pfc_alloc_zero(&mem, sizeof *d);
    if (!d)
        return pfc_mem_error(&mem, error);
    status = pfc_rows_init(&d->rows, profconv_profile_allocator(before), o.by, error);
    if (!status)
        status = profconv_report_new(&d->report, profconv_profile_allocator(before), error);
    if (!status)
        status = fill(d, before, after, &o, error);
    if (status) {
        profconv_diff_free(d);
        return status;
    }
    *out = d;
    return PROFCONV_OK;
}

void profconv_diff_free(profconv_diff *d) {
    if (!d)
        return;
    pfc_free(&d->rows.mem, d->verdicts, d->verdicts ? d->size * sizeof *d->verdicts : 0);
    pfc_free(&d->rows.mem, d->order, d->order ? d->size * sizeof *d->order : 0);
    profconv_report_free(d->report);
    pfc_rows_free(&d->rows);
    pfc_mem mem = d->rows.mem;
    pfc_free(&mem, d, sizeof *d);
}

size_t profconv_diff_count(const profconv_diff *d) { return d->size - 1; }
const profconv_diff_summary *profconv_diff_get_summary(const profconv_diff *d) { return &d->summary; }
const profconv_report *profconv_diff_get_report(const profconv_diff *d) { return d->report; }

int profconv_diff_get(const profconv_diff *d, size_t index, profconv_diff_row *out) {
    if (index >= d->size - 1)
        return PROFCONV_E_INVALID;
    const pfc_row *row = &d->rows.rows.data[d->order[index]];
    const verdict *v = &d->verdicts[d->order[index]];
    double whole = (double)size_of(d->summary.total_before);
    memset(out, 0, sizeof *out);
    out->name = row->name;
    out->file = row->file;
    out->mapping = row->mapping;
    out->line = row->line;
    out->before_self = row->self[PFC_BEFORE];
    out->after_self = row->self[PFC_AFTER];
    out->before_total = row->total[PFC_BEFORE];
    out->after_total = row->total[PFC_AFTER];
    out->delta_self = v->delta_self;
    out->delta_total = v->delta_total;
    out->before_count = (uint64_t)row->count[PFC_BEFORE];
    out->after_count = (uint64_t)row->count[PFC_AFTER];
    if (row->self[PFC_BEFORE] != 0)
        out->change = (double)v->delta_self / (double)size_of(row->self[PFC_BEFORE]);
    else if (v->delta_self != 0)
        out->change = v->delta_self > 0 ? (double)INFINITY : -(double)INFINITY;
    out->share = whole > 0 ? (double)v->delta_self / whole : 0;
    out->p_value = v->p;
    out->q_value = v->q;
    out->detectable = detectable(row, share_after(&d->summary));
    out->diff_class = v->diff_class;
    return PROFCONV_OK;
}
