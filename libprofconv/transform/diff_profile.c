/* SPDX-License-Identifier: MIT
 *
 * A comparison as a profile that other tools understand: what pprof makes of -diff_base.
 */
#include "libprofconv/transform/copy.h"

/* The samples of `p` (branch records and source counts have no sign), scaled, with the label pprof::base=true when `mark`. */
static void copy_samples(pfc_copy *c, int64_t *values, uint32_t types, int mark) {
    const profconv_profile *p = c->from;
    const profconv_label base = {0, mark ? profconv_builder_cstring(c->builder, "pprof::base") : 0,
                                 mark ? profconv_builder_cstring(c->builder, "true") : 0, 0, 0};
    profconv_id label = mark ? profconv_builder_label(c->builder, &base) : 0;
    for (uint32_t k = 0; k < types; k++)
        pfc_copy_sample_type(c, k);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE) && !pfc_copy_stopped(c); i++) {
        profconv_id stack = pfc_copy_stack(c, profconv_profile_sample_stack(p, i));
        const profconv_label_set *set = profconv_profile_label_set(p, profconv_profile_sample_label_set(p, i));
        c->ids.count = 0;
        for (uint32_t k = 0; k < set->count; k++) {
            profconv_id other = pfc_copy_label(c, profconv_profile_label_item(p, set->first + k));
            if (PFC_VEC_PUSH(&c->mem, &c->ids, other))
                return;
        }
        if (mark && PFC_VEC_PUSH(&c->mem, &c->ids, label))
            return;
        profconv_id labels = profconv_builder_label_set(c->builder, c->ids.data, (uint32_t)c->ids.count);
        for (uint32_t k = 0; k < types; k++)
            values[k] = profconv_profile_sample_value(p, i, k);
        profconv_builder_sample(c->builder, stack, labels, 0, values, types);
    }
}

static int scaled_samples(const profconv_profile *p, int mark, int64_t numerator, uint64_t denominator,
                          profconv_profile **out, profconv_error *error) {
    pfc_copy c;
    profconv_profile *samples = NULL;
    *out = NULL;
    int status = pfc_copy_start(&c, p, error);
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    size_t size = (types + (size_t)1) * sizeof(int64_t);
    int64_t *values = status ? NULL : (int64_t *)pfc_alloc_zero(&c.mem, size);
    if (values)
        copy_samples(&c, values, types, mark);
    pfc_free(&c.mem, values, values ? size : 0);
    status = pfc_copy_end(&c, status, &samples);
    if (!status)
        status = profconv_scale(samples, numerator, denominator, out, error);
    profconv_profile_free(samples);
    return status;
}

int profconv_diff_profile(const profconv_diff *diff, const profconv_profile *before, const profconv_profile *after,
                          profconv_profile **out, profconv_error *error) {
    const profconv_diff_summary *s = profconv_diff_get_summary(diff);
    profconv_profile *negative = NULL, *scaled = NULL;
    profconv_builder *builder = NULL;
    *out = NULL;
    if (s->exposure_before > INT64_MAX)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "the work before is too large");
    int status = scaled_samples(before, 1, -1, 1, &negative, error);
    if (!status)
        status = scaled_samples(after, 0, (int64_t)s->exposure_before, s->exposure_after, &scaled, error);
    if (!status)
        status = profconv_builder_new(&builder, profconv_profile_allocator(after), NULL, error);
    if (!status)
        status = profconv_merge(builder, scaled, 1, error);
    if (!status)
        status = profconv_merge(builder, negative, 1, error);
    if (!status) { /* the time that the values stand for */
        int raw = s->mode == PROFCONV_DIFF_RAW && s->exposure_before == s->exposure_after;
        profconv_info info;
        profconv_builder_get_info(builder, &info);
        info.duration_ns = profconv_profile_info(raw ? after : before)->duration_ns;
        profconv_builder_set_info(builder, &info);
        status = profconv_builder_freeze(builder, out, error);
    }
    profconv_builder_free(builder);
    profconv_profile_free(negative);
    profconv_profile_free(scaled);
    return status;
}
