/* SPDX-License-Identifier: MIT
 *
 * Comparing two profiles. What changed is told by amounts, not by shares: a function that costs as much as before is unchanged even
 * if the rest went away.
 */
#include <math.h>
#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/base/struct.h"
#include "libprofconv/base/text.h"
#include "libprofconv/transform/diff.h"
#include "libprofconv/transform/number.h"

const char *profconv_diff_class_name(uint32_t diff_class) {
    static const char *const names[PROFCONV_DIFF_CLASSES] = {"undetermined", "unchanged", "up", "down", "new", "gone"};
    return diff_class < PROFCONV_DIFF_CLASSES ? names[diff_class] : NULL;
}

/* ---- which columns ---- */

pfc_evidence pfc_diff_evidence(const profconv_profile *p, uint32_t column) {
    const profconv_sample_type *own = profconv_profile_sample_type(p, column);
    pfc_evidence e = {PFC_NO_COLUMN, 0};
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

int pfc_diff_columns(const profconv_profile *a, const profconv_profile *b, const char *wanted, uint32_t *before,
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
    if (o->run_count_before && o->run_count_after) { /* a run is as much as another */
        s->exposure_before = o->run_count_before;
        s->exposure_after = o->run_count_after;
        x /= (int64_t)o->run_count_before;
        y /= (int64_t)o->run_count_after;
        apart = known ? (uint64_t)(x > y ? x - y : y - x) : 0;
    }
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
        s->exposure_before = (uint64_t)profconv_profile_info(a)->duration_ns;
        s->exposure_after = (uint64_t)profconv_profile_info(b)->duration_ns;
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

int pfc_diff_counts(pfc_rows *r, const profconv_profile *p, uint32_t column, pfc_evidence e, int64_t *const counts[PFC_MEASURES],
                    size_t size, profconv_error *error) {
    for (size_t i = 0; i < r->rows.count; i++)
        r->rows.data[i].self[PFC_SCRATCH] = r->rows.data[i].total[PFC_SCRATCH] = 0;
    int known = e.column != PFC_NO_COLUMN || e.divisor > 0;
    int64_t divisor = e.column != PFC_NO_COLUMN ? 1 : e.divisor;
    int status = known ? pfc_rows_add(r, p, e.column != PFC_NO_COLUMN ? e.column : column, PFC_NO_COLUMN, PFC_SCRATCH, error)
                       : PROFCONV_OK;
    for (size_t i = 0; i < size && !status; i++) {
        const pfc_row *row = &r->rows.data[i];
        counts[PFC_SELF][i] = known && row->self[PFC_SCRATCH] > 0 ? row->self[PFC_SCRATCH] / divisor : 0;
        counts[PFC_TOTAL][i] = known && row->total[PFC_SCRATCH] > 0 ? row->total[PFC_SCRATCH] / divisor : 0;
    }
    return status;
}

static int take_counts(profconv_diff *d, const profconv_profile *const p[2], const uint32_t column[2],
                       const pfc_evidence e[2], profconv_error *error) {
    pfc_mem *mem = &d->rows.mem;
    int64_t *made = (int64_t *)pfc_alloc_zero(mem, PFC_MEASURES * d->size * sizeof *made);
    int64_t *const counts[PFC_MEASURES] = {made, made ? made + d->size : NULL};
    int status = made ? PROFCONV_OK : pfc_mem_error(mem, error);
    d->summary.count_before = d->summary.count_after = 0;
    for (int side = 0; side < 2 && !status; side++) {
        status = pfc_diff_counts(&d->rows, p[side], column[side], e[side], counts, d->size, error);
        for (size_t i = 1; i < d->size && !status; i++) {
            for (int m = 0; m < PFC_MEASURES; m++)
                d->verdicts[m][i].count[side] = counts[m][i];
            *(side ? &d->summary.count_after : &d->summary.count_before) += (uint64_t)counts[PFC_SELF][i];
        }
    }
    pfc_free(mem, made, made ? PFC_MEASURES * d->size * sizeof *made : 0);
    return status;
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
    for (size_t i = 1; i < d->size; i++) {
        const pfc_row *row = &d->rows.rows.data[i];
        pfc_scaling total = {s->exposure_before, s->exposure_after, 0, s->exposure_after / 2, 0}; /* rounds to nearest */
        int64_t delta = minus(pfc_scale_signed(&self, row->self[PFC_AFTER]), row->self[PFC_BEFORE]);
        d->verdicts[PFC_SELF][i].delta = delta;
        d->verdicts[PFC_TOTAL][i].delta = minus(pfc_scale_signed(&total, row->total[PFC_AFTER]), row->total[PFC_BEFORE]);
        d->summary.delta = pfc_add_sat_i64(d->summary.delta, delta, &overflow);
    }
}

static uint64_t size_of(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

static int by_delta(const void *user, uint32_t a, uint32_t b) {
    const profconv_diff *d = (const profconv_diff *)user;
    const pfc_row *x = &d->rows.rows.data[a], *y = &d->rows.rows.data[b];
    for (int m = 0; m < PFC_MEASURES; m++) {
        uint64_t v = size_of(d->verdicts[m][a].delta), w = size_of(d->verdicts[m][b].delta);
        if (v != w)
            return v > w ? -1 : 1;
    }
    if (x->self[PFC_BEFORE] != y->self[PFC_BEFORE])
        return x->self[PFC_BEFORE] > y->self[PFC_BEFORE] ? -1 : 1;
    int order = pfc_compare_text(x->name, y->name);
    order = order ? order : pfc_compare_text(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* What holds for all rows, and their order. */
static int sum_up(profconv_diff *d, profconv_error *error) {
    profconv_diff_summary *s = &d->summary;
    double most = 0;
    for (size_t i = 1; i < d->size; i++) {
        const pfc_verdict_row *v = &d->verdicts[PFC_SELF][i];
        s->rows[v->diff_class]++;
        if ((double)v->count[0] + (double)v->count[1] > most || i == 1) {
            most = (double)v->count[0] + (double)v->count[1];
            s->detectable = pfc_diff_detectable(v, pfc_diff_share(s));
        }
        d->order[i - 1] = (uint32_t)i;
    }
    return pfc_sort_ids(&d->rows.mem, d->order, d->size - 1, by_delta, d) ? pfc_mem_error(&d->rows.mem, error) : PROFCONV_OK;
}

static int make_verdicts(profconv_diff *d, profconv_error *error) {
    pfc_mem *mem = &d->rows.mem;
    d->size = d->rows.rows.count;
    for (int m = 0; m < PFC_MEASURES; m++)
        d->verdicts[m] = (pfc_verdict_row *)pfc_alloc_zero(mem, d->size * sizeof **d->verdicts);
    d->order = (uint32_t *)pfc_alloc_zero(mem, d->size * sizeof *d->order);
    if (!d->verdicts[PFC_SELF] || !d->verdicts[PFC_TOTAL] || !d->order || mem->failed)
        return pfc_mem_error(mem, error);
    for (size_t i = 0; i < d->size; i++)
        d->verdicts[PFC_SELF][i].dispersion = d->verdicts[PFC_TOTAL][i].dispersion = 1;
    return PROFCONV_OK;
}

static int fill(profconv_diff *d, const profconv_profile *a, const profconv_profile *b, const profconv_diff_options *o,
                profconv_error *error) {
    const profconv_profile *const sides[2] = {a, b};
    uint32_t columns[2] = {0, 0};
    pfc_rows *r = &d->rows;
    int status = pfc_diff_columns(a, b, o->sample_type, &columns[0], &columns[1], error);
    if (!status)
        status = choose_mode(d, a, b, o, error);
    if (status)
        return status;
    const pfc_evidence e[2] = {pfc_diff_evidence(a, columns[0]), pfc_diff_evidence(b, columns[1])};
    for (int side = 0; side < 2 && !status; side++)
        status = pfc_rows_add(r, sides[side], columns[side], PFC_NO_COLUMN, side, error);
    if (!status)
        status = pfc_diff_guard(d->report, a, columns[0], b, columns[1], error);
    if (status)
        return status;
    if ((e[0].column == PFC_NO_COLUMN && e[0].divisor <= 0) || (e[1].column == PFC_NO_COLUMN && e[1].divisor <= 0))
        profconv_report_add(d->report, PROFCONV_NOTE_WARNING, "no-counts", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "the profiles do not tell numbers of samples: no change can be judged");
    const profconv_sample_type *t = profconv_profile_sample_type(a, columns[0]);
    d->summary.name = pfc_rows_keep(r, profconv_profile_string(a, t->name));
    d->summary.unit = pfc_rows_keep(r, profconv_profile_string(a, t->unit));
    d->summary.total_before = r->total[PFC_BEFORE];
    d->summary.total_after = r->total[PFC_AFTER];
    d->summary.dispersion = 1;
    status = make_verdicts(d, error);
    if (!status)
        status = take_counts(d, sides, columns, e, error);
    if (status)
        return status;
    take_deltas(d);
    status = pfc_diff_runs(d, a, o, error);
    if (!status)
        status = pfc_diff_judge(d, o, error);
    return status ? status : sum_up(d, error);
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
    for (int m = 0; m < PFC_MEASURES; m++)
        pfc_free(&d->rows.mem, d->verdicts[m], d->verdicts[m] ? d->size * sizeof **d->verdicts : 0);
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
    const pfc_verdict_row *v = &d->verdicts[PFC_SELF][d->order[index]];
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
    out->delta_self = v->delta;
    out->delta_total = d->verdicts[PFC_TOTAL][d->order[index]].delta;
    out->before_count = (uint64_t)v->count[PFC_BEFORE];
    out->after_count = (uint64_t)v->count[PFC_AFTER];
    if (row->self[PFC_BEFORE] != 0)
        out->change = (double)v->delta / (double)size_of(row->self[PFC_BEFORE]);
    else if (v->delta != 0)
        out->change = v->delta > 0 ? (double)INFINITY : -(double)INFINITY;
    out->share = whole > 0 ? (double)v->delta / whole : 0;
    out->p_value = v->p;
    out->q_value = v->q;
    out->detectable = pfc_diff_detectable(v, pfc_diff_share(&d->summary));
    out->diff_class = v->diff_class;
    return PROFCONV_OK;
}
