/* SPDX-License-Identifier: MIT
 *
 * Reading a frozen profile row by row. An id out of range gives the zero row, so that a caller who follows ids needs no
 * checks of its own.
 */
#include "libprofconv/model/build.h"

#include <string.h>

uint32_t profconv_profile_rows(const profconv_profile *profile, profconv_table table) {
    const pfc_model *m = &profile->model;
    switch (table) {
    case PROFCONV_TABLE_STRING:
        return (uint32_t)m->strings.count;
    case PROFCONV_TABLE_FUNCTION:
        return (uint32_t)m->functions.count;
    case PROFCONV_TABLE_MAPPING:
        return (uint32_t)m->mappings.count;
    case PROFCONV_TABLE_LOCATION:
        return (uint32_t)m->locations.count;
    case PROFCONV_TABLE_LINE:
        return (uint32_t)m->lines.count;
    case PROFCONV_TABLE_STACK:
        return (uint32_t)m->stacks.count;
    case PROFCONV_TABLE_LABEL:
        return (uint32_t)m->labels.count;
    case PROFCONV_TABLE_LABEL_SET:
        return (uint32_t)m->label_sets.count;
    case PROFCONV_TABLE_SAMPLE_TYPE:
        return (uint32_t)m->sample_types.count;
    case PROFCONV_TABLE_SAMPLE:
        return (uint32_t)m->sample_stacks.count;
    case PROFCONV_TABLE_BRANCH:
        return (uint32_t)m->branches.count;
    case PROFCONV_TABLE_RANGE:
        return (uint32_t)m->ranges.count;
    case PROFCONV_TABLE_ADDRESS:
        return (uint32_t)m->addresses.count;
    case PROFCONV_TABLE_SOURCE:
        return (uint32_t)m->sources.count;
    case PROFCONV_TABLE_CONTEXT:
        return (uint32_t)m->contexts.count;
    case PROFCONV_TABLE_SOURCE_BODY:
        return (uint32_t)m->source_bodies.count;
    case PROFCONV_TABLE_SOURCE_TARGET:
        return (uint32_t)m->source_targets.count;
    case PROFCONV_TABLE_SYMBOL:
        return (uint32_t)m->symbols.count;
    case PROFCONV_TABLE_COMMENT:
        return (uint32_t)m->comments.count;
    case PROFCONV_TABLE_ATTRIBUTE:
        return (uint32_t)m->attributes.count;
    case PROFCONV_TABLE_ENTRY:
        return (uint32_t)m->entries.count;
    case PROFCONV_TABLE_COUNT_:
        break;
    }
    return 0;
}

const profconv_info *profconv_profile_info(const profconv_profile *profile) { return &profile->model.info; }
uint32_t profconv_profile_facets(const profconv_profile *profile) { return profile->model.info.facets; }
const profconv_report *profconv_profile_report(const profconv_profile *profile) { return profile->model.report; }

profconv_string profconv_profile_string(const profconv_profile *profile, profconv_id id) {
    return pfc_model_string(&profile->model, id);
}

/* `type *profconv_profile_<name>(profile, id)`: a row of model.<member>. */
#define ROW(name, type, member)                                                                                        \
    const type *profconv_profile_##name(const profconv_profile *profile, uint32_t id) {                                \
        static const type none = {0};                                                                                  \
        return id < profile->model.member.count ? &profile->model.member.data[id] : &none;                             \
    }

ROW(function, profconv_function, functions)
ROW(mapping, profconv_mapping, mappings)
ROW(location, profconv_location, locations)
ROW(stack, profconv_stack, stacks)
ROW(label, profconv_label, labels)
ROW(label_set, profconv_label_set, label_sets)
ROW(sample_type, profconv_sample_type, sample_types)
ROW(branch, profconv_branch, branches)
ROW(range, profconv_range, ranges)
ROW(address, profconv_address, addresses)
ROW(entry, profconv_entry, entries)
ROW(source, profconv_source, sources)
ROW(context, profconv_context, contexts)
ROW(source_body, profconv_source_body, source_bodies)
ROW(source_target, profconv_source_target, source_targets)

/* The same for lists of ids. */
#define ID(name, member)                                                                                               \
    profconv_id profconv_profile_##name(const profconv_profile *profile, uint32_t index) {                             \
        return index < profile->model.member.count ? profile->model.member.data[index] : 0;                            \
    }

ID(label_item, label_items)
ID(sample_stack, sample_stacks)
ID(sample_label_set, sample_label_sets)
ID(symbol, symbols)
ID(comment, comments)

const profconv_line *profconv_profile_line(const profconv_profile *profile, profconv_id location, uint32_t index) {
    static const profconv_line none = {0};
    const profconv_location *l = profconv_profile_location(profile, location);
    return index < l->line_count ? &profile->model.lines.data[l->first_line + index] : &none;
}

static int equals(profconv_string s, const char *text, size_t size) {
    return s.size == size && memcmp(s.data, text, size) == 0;
}

const profconv_label *profconv_profile_find_label(const profconv_profile *profile, profconv_id label_set,
                                                  const char *key) {
    const pfc_model *m = &profile->model;
    const profconv_label_set *set = profconv_profile_label_set(profile, label_set);
    size_t size = strlen(key);
    for (uint32_t i = 0; i < set->count; i++) {
        const profconv_label *label = &m->labels.data[m->label_items.data[set->first + i]];
        if (equals(pfc_model_string(m, label->key), key, size))
            return label;
    }
    return NULL;
}

uint32_t profconv_profile_default_sample_type(const profconv_profile *profile) {
    const pfc_model *m = &profile->model;
    uint32_t count = (uint32_t)m->sample_types.count;
    if (m->info.default_sample_type)
        for (uint32_t i = 0; i < count; i++)
            if (m->sample_types.data[i].name == m->info.default_sample_type)
                return i;
    for (uint32_t i = count; i-- > 0;)
        if (m->sample_types.data[i].role == PROFCONV_ROLE_WEIGHT)
            return i;
    return count ? count - 1 : 0;
}

int64_t profconv_profile_sample_value(const profconv_profile *profile, uint32_t sample, uint32_t type) {
    const pfc_model *m = &profile->model;
    return type < m->values.count && sample < m->sample_stacks.count ? m->values.data[type].data[sample] : 0;
}

/* Positive and negative values are summed apart, so that the result does not depend on the order of the samples. */
int64_t profconv_profile_total(const profconv_profile *profile, uint32_t type) {
    const pfc_model *m = &profile->model;
    uint64_t up = 0, down = 0, up_high = 0, down_high = 0;
    if (type >= m->values.count)
        return 0;
    for (size_t i = 0; i < m->sample_stacks.count; i++) {
        int64_t value = m->values.data[type].data[i];
        if (value >= 0) {
            up += (uint64_t)value;
            up_high += up < (uint64_t)value;
        } else {
            uint64_t size = 0 - (uint64_t)value;
            down += size;
            down_high += down < size;
        }
    }
    uint64_t low = up - down, high = up_high - down_high - (up < down);
    if (high == 0)
        return low > INT64_MAX ? INT64_MAX : (int64_t)low;
    if (high == UINT64_MAX)
        return low <= INT64_MAX ? INT64_MIN : (int64_t)low;
    return high > INT64_MAX ? INT64_MIN : INT64_MAX;
}

int profconv_profile_attribute(const profconv_profile *profile, uint32_t index, profconv_string *key,
                               profconv_string *value) {
    const pfc_model *m = &profile->model;
    if (index >= m->attributes.count)
        return PROFCONV_E_NOT_FOUND;
    *key = pfc_model_string(m, m->attributes.data[index].key);
    *value = pfc_model_string(m, m->attributes.data[index].value);
    return PROFCONV_OK;
}

profconv_string profconv_profile_find_attribute(const profconv_profile *profile, const char *key) {
    const pfc_model *m = &profile->model;
    size_t size = strlen(key);
    for (size_t i = 0; i < m->attributes.count; i++)
        if (equals(pfc_model_string(m, m->attributes.data[i].key), key, size))
            return pfc_model_string(m, m->attributes.data[i].value);
    return pfc_model_string(m, 0);
}
