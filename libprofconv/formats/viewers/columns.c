/* SPDX-License-Identifier: MIT
 *
 * Which columns of values a viewer gets, and where the two sides of a comparison are: in columns named "before" and
 * "after", or in samples labelled pprof::base=true, whose values are negative.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

static int is(profconv_string s, const char *text) {
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

int pfc_view_columns_all(pfc_view_columns *c, pfc_mem *mem, const profconv_profile *profile, const char *format,
                         profconv_error *error) {
    memset(c, 0, sizeof *c);
    c->profile = profile;
    c->count = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE);
    if (c->count == 0)
        return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "nothing to write as %s: the profile has no sample values", format);
    c->capacity = c->count < 2 ? 2 : c->count;
    c->types = (uint32_t *)pfc_alloc_zero(mem, c->capacity * sizeof *c->types);
    if (!c->types)
        return pfc_mem_error(mem, error);
    for (uint32_t i = 0; i < c->count; i++)
        c->types[i] = i;
    c->shown = profconv_profile_default_sample_type(profile);
    return 0;
}

int pfc_view_columns_choose(pfc_view_columns *c, const char *event, const char *format, profconv_error *error) {
    for (uint32_t i = 0; event && i < c->count; i++) {
        const profconv_sample_type *type = profconv_profile_sample_type(c->profile, c->types[i]);
        if (is(profconv_profile_string(c->profile, type->name), event)) {
            c->shown = i;
            return 0;
        }
    }
    for (uint32_t i = c->count; event && i-- > 0;) {
        const profconv_sample_type *type = profconv_profile_sample_type(c->profile, c->types[i]);
        profconv_string name = profconv_profile_string(c->profile, type->event);
        size_t n = strlen(event);
        if (is(name, event) || (name.size > n && memcmp(name.data, event, n) == 0 && name.data[n] == ':')) {
            c->shown = i;
            return 0;
        }
    }
    return event ? profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "setting %s.event: there is no event or sample type \"%.80s\" in the profile",
                                      format, event)
                 : 0;
}

static int is_base(const profconv_profile *profile, profconv_id set) {
    const profconv_label *label = set ? profconv_profile_find_label(profile, set, "pprof::base") : NULL;
    return label && is(profconv_profile_string(profile, label->string), "true");
}

int pfc_view_has_base(const profconv_profile *profile) {
    for (uint32_t i = 1; i < profconv_profile_rows(profile, PROFCONV_TABLE_LABEL_SET); i++) {
        if (is_base(profile, i))
            return 1;
    }
    return 0;
}

int pfc_view_columns_compare(pfc_view_columns *c) {
    uint32_t side[2] = {PFC_VIEW_NONE, PFC_VIEW_NONE};
    for (uint32_t i = 0; i < c->count; i++) {
        profconv_string name =
            profconv_profile_string(c->profile, profconv_profile_sample_type(c->profile, c->types[i])->name);
        for (int k = 0; k < 2; k++) {
            if (side[k] == PFC_VIEW_NONE && is(name, k ? "after" : "before"))
                side[k] = c->types[i];
        }
    }
    if (side[0] == PFC_VIEW_NONE || side[1] == PFC_VIEW_NONE) {
        if (!pfc_view_has_base(c->profile))
            return 0;
        side[0] = side[1] = c->types[c->shown];
        c->by_label = 1;
    }
    c->types[0] = side[0];
    c->types[1] = side[1];
    c->count = 2;
    c->shown = 1;
    c->compare = 1;
    return 1;
}

void pfc_view_columns_by_event(pfc_view_columns *c) {
    uint32_t kept = 0;
    uint32_t shown = c->types[c->shown];
    for (uint32_t i = 0; i < c->count; i++) {
        const profconv_sample_type *type = profconv_profile_sample_type(c->profile, c->types[i]);
        int better = 0;
        for (uint32_t k = 0; k < c->count && type->event != 0 && type->role == PROFCONV_ROLE_COUNT; k++) {
            const profconv_sample_type *other = profconv_profile_sample_type(c->profile, k);
            better |= other->event == type->event && other->role == PROFCONV_ROLE_WEIGHT;
        }
        if (!better)
            c->types[kept++] = c->types[i];
    }
    c->count = kept;
    c->shown = 0;
    for (uint32_t i = 0; i < kept; i++) {
        if (c->types[i] == shown || profconv_profile_sample_type(c->profile, c->types[i])->event ==
                                        profconv_profile_sample_type(c->profile, shown)->event)
            c->shown = i;
        if (c->types[i] == shown)
            break;
    }
}

void pfc_view_columns_free(pfc_view_columns *c, pfc_mem *mem) {
    pfc_free(mem, c->types, c->capacity * sizeof *c->types);
    c->types = NULL;
}

void pfc_view_values(const pfc_view_columns *c, uint32_t sample, int64_t *values) {
    for (uint32_t i = 0; i < c->count; i++)
        values[i] = profconv_profile_sample_value(c->profile, sample, c->types[i]);
    if (c->by_label) {
        int base = is_base(c->profile, profconv_profile_sample_label_set(c->profile, sample));
        values[0] = !base ? 0 : values[0] == INT64_MIN ? INT64_MAX : -values[0];
        values[1] = base ? 0 : values[1];
    }
}

profconv_string pfc_view_column_name(const pfc_view_columns *c, uint32_t column) {
    static const profconv_string sides[2] = {{"before", 6}, {"after", 5}};
    if (c->compare)
        return sides[column & 1];
    return profconv_profile_string(c->profile, profconv_profile_sample_type(c->profile, c->types[column])->name);
}

profconv_string pfc_view_column_unit(const pfc_view_columns *c, uint32_t column) {
    return profconv_profile_string(c->profile, profconv_profile_sample_type(c->profile, c->types[column])->unit);
}

int64_t pfc_view_column_grain(const pfc_view_columns *c, uint32_t column) {
    const profconv_sample_type *type = profconv_profile_sample_type(c->profile, c->types[column]);
    const profconv_info *info = profconv_profile_info(c->profile);
    profconv_string unit = pfc_view_column_unit(c, column);
    if (type->role != PROFCONV_ROLE_COUNT) {
        if (type->period > 0)
            return type->period;
        profconv_string period_unit = profconv_profile_string(c->profile, info->period_unit);
        if (info->period > 0 && unit.size > 0 && unit.size == period_unit.size &&
            memcmp(unit.data, period_unit.data, unit.size) == 0)
            return info->period;
    }
    return type->role == PROFCONV_ROLE_COUNT || is(unit, "count") || is(unit, "samples") ? 1 : 0;
}
