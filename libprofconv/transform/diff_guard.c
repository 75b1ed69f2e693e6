/* SPDX-License-Identifier: MIT
 *
 * What makes two profiles hard to compare: other events, other binaries, stacks that were cut elsewhere, inlining on one side only,
 * other rates of sampling.
 */
#include <string.h>

#include "libprofconv/transform/diff.h"
#include "libprofconv/transform/rows.h"

static void warn(profconv_report *report, const char *cause, const char *text) {
    profconv_report_add(report, PROFCONV_NOTE_WARNING, cause, 1, 0, PROFCONV_NO_OFFSET, 0, "%s", text);
}

/* Files of one name and two build-ids. A profile has few mappings. */
static void check_binaries(profconv_report *report, const profconv_profile *a, const profconv_profile *b) {
    uint32_t n = profconv_profile_rows(a, PROFCONV_TABLE_MAPPING), m = profconv_profile_rows(b, PROFCONV_TABLE_MAPPING);
    for (uint32_t i = 1; i < n && i < 2000; i++) {
        const profconv_mapping *x = profconv_profile_mapping(a, i);
        profconv_string name = pfc_base_name(profconv_profile_string(a, x->file));
        for (uint32_t k = 1; k < m && k < 2000 && x->build_id && name.size; k++) {
            const profconv_mapping *y = profconv_profile_mapping(b, k);
            if (y->build_id && pfc_compare_text(name, pfc_base_name(profconv_profile_string(b, y->file))) == 0 &&
                pfc_compare_text(profconv_profile_string(a, x->build_id), profconv_profile_string(b, y->build_id)) != 0) {
                profconv_report_add(report, PROFCONV_NOTE_WARNING, "other-build", 1, 0, PROFCONV_NO_OFFSET, 0,
                                    "%.200s is another build in the profile after", name.data);
                break;
            }
        }
    }
}

typedef struct shape {
    uint32_t deepest;
    double at_deepest; /* share of rows of samples that are as deep */
    int lines, inlined;
} shape;

static shape look(const profconv_profile *p) {
    shape s = {0, 0, 0, 0};
    uint32_t rows = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), at = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t depth = 0;
        for (profconv_id n = profconv_profile_sample_stack(p, i); n; n = profconv_profile_stack(p, n)->parent)
            depth++;
        at = depth > s.deepest ? 1 : at + (depth == s.deepest);
        s.deepest = depth > s.deepest ? depth : s.deepest;
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LOCATION); i++) {
        s.lines |= profconv_profile_location(p, i)->line_count > 0;
        s.inlined |= profconv_profile_location(p, i)->line_count > 1;
    }
    s.at_deepest = rows ? (double)at / rows : 0;
    return s;
}

static int cut(const shape *a, const shape *b) { return a->deepest >= 16 && a->at_deepest >= 0.05 && b->deepest > a->deepest; }

int pfc_diff_guard(profconv_report *report, const profconv_profile *a, uint32_t before, const profconv_profile *b,
                   uint32_t after, profconv_error *error) {
    const profconv_info *x = profconv_profile_info(a), *y = profconv_profile_info(b);
    profconv_string k = profconv_profile_string(a, x->period_type), l = profconv_profile_string(b, y->period_type);
    if (k.size && l.size && pfc_compare_text(k, l) != 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "the profile before was sampled by '%s', the one after by '%s': they cannot be compared",
                                  k.data, l.data);
    const profconv_sample_type *t = profconv_profile_sample_type(a, before), *u = profconv_profile_sample_type(b, after);
    int64_t period = t->period ? t->period : x->period, other = u->period ? u->period : y->period;
    if (period && other && period != other && t->role == PROFCONV_ROLE_COUNT)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "other-period", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "a sample stands for %lld in the profile before and for %lld in the one after: compare a weight "
                            "instead of numbers of samples",
                            (long long)period, (long long)other);
    check_binaries(report, a, b);
    shape p = look(a), q = look(b);
    if (cut(&p, &q) || cut(&q, &p))
        warn(report, "other-depth", "stacks were cut at another depth: totals of outer functions cannot be compared");
    if (p.lines && q.lines && p.inlined != q.inlined)
        warn(report, "other-inlining",
             p.inlined ? "only the profile before tells inlined functions; leave them out on both sides to compare"
                       : "only the profile after tells inlined functions; leave them out on both sides to compare");
    return PROFCONV_OK;
}
