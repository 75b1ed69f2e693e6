/* SPDX-License-Identifier: MIT
 *
 * Scaling in whole numbers. Each column carries the remainder of one row over to the next, so a sum is off by less than one, and
 * no row by more than that; rounding each row by itself would lose every value below half of a divisor.
 */
#include <string.h>

#include "libprofconv/transform/copy.h"
#include "libprofconv/transform/number.h"

static void scale_samples(pfc_copy *c, pfc_scaling *columns, int64_t *values, uint32_t types) {
    const profconv_profile *p = c->from;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE) && !pfc_copy_stopped(c); i++) {
        int any = 0;
        for (uint32_t k = 0; k < types; k++) {
            values[k] = pfc_scale_signed(&columns[k], profconv_profile_sample_value(p, i, k));
            any |= values[k] != 0;
        }
        if (!any)
            continue;
        profconv_id set = pfc_copy_label_set(c, profconv_profile_sample_label_set(p, i));
        profconv_id stack = pfc_copy_stack(c, profconv_profile_sample_stack(p, i));
        profconv_builder_sample(c->builder, stack, set, 0, values, types);
    }
}

static void scale_branches(pfc_copy *c, const pfc_scaling *by, uint64_t *saturated) {
    const profconv_profile *p = c->from;
    pfc_scaling s[5] = {*by, *by, *by, *by, *by};
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH) && !pfc_copy_stopped(c); i++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        uint64_t count = pfc_scale_step(&s[0], b->count), mispredicted = pfc_scale_step(&s[1], b->mispredicted), cycles = pfc_scale_step(&s[2], b->cycles);
        if (!count && !mispredicted && !cycles)
            continue;
        profconv_id from = pfc_copy_location(c, b->from), to = pfc_copy_location(c, b->to);
        profconv_builder_branch(c->builder, from, to, count, mispredicted, cycles);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE) && !pfc_copy_stopped(c); i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        uint64_t count = pfc_scale_step(&s[3], r->count);
        if (count) {
            profconv_id begin = pfc_copy_location(c, r->begin), end = pfc_copy_location(c, r->end);
            profconv_builder_range(c->builder, begin, end, count);
        }
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS) && !pfc_copy_stopped(c); i++) {
        const profconv_address *a = profconv_profile_address(p, i);
        uint64_t count = pfc_scale_step(&s[4], a->count);
        if (count)
            profconv_builder_address(c->builder, pfc_copy_location(c, a->location), count);
    }
    pfc_copy_entries(c);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        *saturated += s[i].saturated;
}

/* Source rows keep their tree, rows of zero included: it says what was inlined where. */
static int scale_sources(pfc_copy *c, const pfc_scaling *by, uint64_t *saturated) {
    const profconv_profile *p = c->from;
    uint32_t contexts = profconv_profile_rows(p, PROFCONV_TABLE_CONTEXT);
    uint32_t sources = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE);
    uint32_t bodies = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY);
    size_t count = (size_t)contexts + sources + bodies;
    pfc_scaling s[4] = {*by, *by, *by, *by};
    profconv_id *ids = (profconv_id *)pfc_alloc_zero(&c->mem, (count + 1) * sizeof *ids);
    if (!ids)
        return pfc_mem_error(&c->mem, c->error);
    profconv_id *context = ids, *source = ids + contexts, *body = source + sources;
    for (uint32_t i = 1; i < contexts; i++) {
        profconv_context row = *profconv_profile_context(p, i);
        row.parent = context[row.parent];
        row.name = pfc_copy_string(c, row.name);
        context[i] = profconv_builder_context(c->builder, &row);
    }
    for (uint32_t i = 1; i < sources; i++) {
        profconv_source row = *profconv_profile_source(p, i);
        row.total = pfc_scale_step(&s[0], row.total);
        row.head = pfc_scale_step(&s[1], row.head);
        row.parent = source[row.parent];
        row.context = context[row.context];
        row.name = pfc_copy_string(c, row.name);
        row.file = pfc_copy_string(c, row.file);
        source[i] = profconv_builder_source(c->builder, &row);
    }
    for (uint32_t i = 1; i < bodies; i++) {
        const profconv_source_body *row = profconv_profile_source_body(p, i);
        body[i] = profconv_builder_source_body(c->builder, source[row->source], row->line, row->discriminator,
                                               pfc_scale_step(&s[2], row->count));
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); i++) {
        const profconv_source_target *row = profconv_profile_source_target(p, i);
        profconv_builder_source_target(c->builder, body[row->body], pfc_copy_string(c, row->name), pfc_scale_step(&s[3], row->count));
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SYMBOL); i++)
        profconv_builder_symbol(c->builder, pfc_copy_string(c, profconv_profile_symbol(p, i)));
    profconv_info info;
    profconv_builder_get_info(c->builder, &info);
    info.source_flags = profconv_profile_info(p)->source_flags;
    profconv_builder_set_info(c->builder, &info);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        *saturated += s[i].saturated;
    pfc_free(&c->mem, ids, (count + 1) * sizeof *ids);
    return 0;
}

/* `columns`: one a sample type. `all` NULL: only samples are scaled, the rest is copied. */
static int scale_all(pfc_copy *c, pfc_scaling *columns, const pfc_scaling *all) {
    static const pfc_scaling same = {1, 1, 0, 0, 0};
    uint32_t types = profconv_profile_rows(c->from, PROFCONV_TABLE_SAMPLE_TYPE);
    uint64_t saturated = 0;
    int64_t *values = (int64_t *)pfc_alloc_zero(&c->mem, (types + (size_t)1) * sizeof *values);
    if (!values)
        return pfc_mem_error(&c->mem, c->error);
    for (uint32_t k = 0; k < types; k++)
        pfc_copy_sample_type(c, k);
    scale_samples(c, columns, values, types);
    pfc_free(&c->mem, values, (types + (size_t)1) * sizeof *values);
    scale_branches(c, all ? all : &same, &saturated);
    int status = scale_sources(c, all ? all : &same, &saturated);
    for (uint32_t k = 0; k < types; k++)
        saturated += columns[k].saturated;
    if (saturated)
        profconv_report_add(profconv_builder_report(c->builder), PROFCONV_NOTE_WARNING, "saturated", saturated, 0,
                            PROFCONV_NO_OFFSET, 0, "scaled values that do not fit were held at the end of their type");
    return status;
}

int profconv_scale(const profconv_profile *profile, int64_t numerator, uint64_t denominator, profconv_profile **out,
                   profconv_error *error) {
    pfc_copy c;
    const pfc_scaling by = {numerator < 0 ? 0 - (uint64_t)numerator : (uint64_t)numerator, denominator, numerator < 0, 0, 0};
    const uint32_t counted = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_SOURCE_COUNTS;
    *out = NULL;
    if (denominator == 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "scaling: the denominator is 0");
    if (numerator < 0 && (profconv_profile_facets(profile) & counted))
        return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                  "scaling: branch records and source counts cannot be negative");
    int status = pfc_copy_start(&c, profile, error);
    size_t size = (profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE) + (size_t)1) * sizeof by;
    pfc_scaling *columns = status ? NULL : (pfc_scaling *)pfc_alloc(&c.mem, size);
    for (size_t k = 0; columns && k < size / sizeof by; k++)
        columns[k] = by;
    if (columns)
        status = scale_all(&c, columns, &by);
    pfc_free(&c.mem, columns, columns ? size : 0);
    return pfc_copy_end(&c, status, out);
}

static int64_t total_in(const profconv_profile *base, const profconv_profile *p, const profconv_sample_type *type) {
    for (uint32_t k = 0; k < profconv_profile_rows(base, PROFCONV_TABLE_SAMPLE_TYPE); k++) {
        const profconv_sample_type *t = profconv_profile_sample_type(base, k);
        if (pfc_string_equal(profconv_profile_string(base, t->name), profconv_profile_string(p, type->name)) &&
            pfc_string_equal(profconv_profile_string(base, t->unit), profconv_profile_string(p, type->unit)))
            return profconv_profile_total(base, k);
    }
    return 0;
}

int profconv_normalize(const profconv_profile *profile, const profconv_profile *base, profconv_profile **out,
                       profconv_error *error) {
    pfc_copy c;
    *out = NULL;
    int status = pfc_copy_start(&c, profile, error);
    uint32_t types = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE);
    size_t size = (types + (size_t)1) * sizeof(pfc_scaling);
    pfc_scaling *columns = status ? NULL : (pfc_scaling *)pfc_alloc_zero(&c.mem, size);
    for (uint32_t k = 0; columns && k < types; k++) {
        int64_t own = profconv_profile_total(profile, k);
        int64_t other = total_in(base, profile, profconv_profile_sample_type(profile, k));
        pfc_scaling *s = &columns[k];
        s->numerator = other < 0 ? 0 - (uint64_t)other : (uint64_t)other;
        s->denominator = own < 0 ? 0 - (uint64_t)own : (uint64_t)own;
        s->negative = (own < 0) != (other < 0);
        if (own == 0 || other == 0) {
            s->numerator = s->denominator = 1;
            s->negative = 0;
            profconv_report_add(profconv_builder_report(c.builder), PROFCONV_NOTE_WARNING, "not-normalized", 1, 0,
                                PROFCONV_NO_OFFSET, 0, "%s cannot be normalized: %s",
                                profconv_profile_string(profile, profconv_profile_sample_type(profile, k)->name).data,
                                own == 0 ? "it sums up to 0" : "the base has nothing of it");
        }
    }
    if (columns)
        status = scale_all(&c, columns, NULL);
    pfc_free(&c.mem, columns, columns ? size : 0);
    return pfc_copy_end(&c, status, out);
}
