/* SPDX-License-Identifier: MIT
 *
 * Whole tables for bindings: every public member of every row struct, described by a table of offsets.
 */
#include "libprofconv/model/build.h"

#include <stddef.h>
#include <string.h>

typedef struct column {
    const char *name;
    uint8_t table;
    uint8_t type;
    uint8_t offset; /* in the row */
} column;

#define U32 PROFCONV_COLUMN_U32
#define I64 PROFCONV_COLUMN_I64
#define U64 PROFCONV_COLUMN_U64
#define C(table, row, member, type)                                                                                    \
    { #member, PROFCONV_TABLE_##table, type, (uint8_t)offsetof(row, member) }

static const column columns[] = {
    {"size", PROFCONV_TABLE_STRING, U32, (uint8_t)offsetof(pfc_string_row, size)},
    C(FUNCTION, profconv_function, start_line, I64),
    C(FUNCTION, profconv_function, name, U32),
    C(FUNCTION, profconv_function, linkage_name, U32),
    C(FUNCTION, profconv_function, file, U32),
    C(MAPPING, profconv_mapping, start, U64),
    C(MAPPING, profconv_mapping, limit, U64),
    C(MAPPING, profconv_mapping, file_offset, U64),
    C(MAPPING, profconv_mapping, reference_address, U64),
    C(MAPPING, profconv_mapping, file, U32),
    C(MAPPING, profconv_mapping, build_id, U32),
    C(MAPPING, profconv_mapping, reference, U32),
    C(MAPPING, profconv_mapping, kind, U32),
    C(MAPPING, profconv_mapping, flags, U32),
    C(MAPPING, profconv_mapping, pid, U32),
    C(LOCATION, profconv_location, address, U64),
    C(LOCATION, profconv_location, mapping, U32),
    C(LOCATION, profconv_location, first_line, U32),
    C(LOCATION, profconv_location, line_count, U32),
    C(LOCATION, profconv_location, flags, U32),
    C(LINE, profconv_line, line, I64),
    C(LINE, profconv_line, column, I64),
    C(LINE, profconv_line, function, U32),
    C(LINE, profconv_line, discriminator, U32),
    C(STACK, profconv_stack, parent, U32),
    C(STACK, profconv_stack, location, U32),
    C(LABEL, profconv_label, number, I64),
    C(LABEL, profconv_label, key, U32),
    C(LABEL, profconv_label, string, U32),
    C(LABEL, profconv_label, unit, U32),
    C(LABEL, profconv_label, numeric, U32),
    C(LABEL_SET, profconv_label_set, first, U32),
    C(LABEL_SET, profconv_label_set, count, U32),
    C(SAMPLE_TYPE, profconv_sample_type, period, I64),
    C(SAMPLE_TYPE, profconv_sample_type, name, U32),
    C(SAMPLE_TYPE, profconv_sample_type, unit, U32),
    C(SAMPLE_TYPE, profconv_sample_type, event, U32),
    C(SAMPLE_TYPE, profconv_sample_type, role, U32),
    C(BRANCH, profconv_branch, count, U64),
    C(BRANCH, profconv_branch, mispredicted, U64),
    C(BRANCH, profconv_branch, cycles, U64),
    C(BRANCH, profconv_branch, from, U32),
    C(BRANCH, profconv_branch, to, U32),
    C(RANGE, profconv_range, count, U64),
    C(RANGE, profconv_range, begin, U32),
    C(RANGE, profconv_range, end, U32),
    C(ADDRESS, profconv_address, count, U64),
    C(ADDRESS, profconv_address, location, U32),
    C(ENTRY, profconv_entry, address, U64),
    C(ENTRY, profconv_entry, size, U64),
    C(ENTRY, profconv_entry, mapping, U32),
    C(ENTRY, profconv_entry, name, U32),
    C(ENTRY, profconv_entry, ordinal, U32),
    C(SOURCE, profconv_source, total, U64),
    C(SOURCE, profconv_source, head, U64),
    C(SOURCE, profconv_source, checksum, U64),
    C(SOURCE, profconv_source, timestamp, U64),
    C(SOURCE, profconv_source, name, U32),
    C(SOURCE, profconv_source, parent, U32),
    C(SOURCE, profconv_source, context, U32),
    C(SOURCE, profconv_source, file, U32),
    C(SOURCE, profconv_source, line, U32),
    C(SOURCE, profconv_source, discriminator, U32),
    C(SOURCE, profconv_source, attributes, U32),
    C(SOURCE, profconv_source, flags, U32),
    C(CONTEXT, profconv_context, parent, U32),
    C(CONTEXT, profconv_context, name, U32),
    C(CONTEXT, profconv_context, line, U32),
    C(CONTEXT, profconv_context, discriminator, U32),
    C(SOURCE_BODY, profconv_source_body, count, U64),
    C(SOURCE_BODY, profconv_source_body, source, U32),
    C(SOURCE_BODY, profconv_source_body, line, U32),
    C(SOURCE_BODY, profconv_source_body, discriminator, U32),
    C(SOURCE_TARGET, profconv_source_target, count, U64),
    C(SOURCE_TARGET, profconv_source_target, body, U32),
    C(SOURCE_TARGET, profconv_source_target, name, U32),
    {"name", PROFCONV_TABLE_SYMBOL, U32, 0},
    {"text", PROFCONV_TABLE_COMMENT, U32, 0},
    C(ATTRIBUTE, pfc_attribute, key, U32),
    C(ATTRIBUTE, pfc_attribute, value, U32),
};

static profconv_column make(const void *data, size_t count, size_t stride, uint32_t type) {
    profconv_column c = {data, count, stride, type, 0};
    return c;
}

#define ROWS(m, member) make((m)->member.data, (m)->member.count, sizeof *(m)->member.data, 0)

static profconv_column rows(const pfc_model *m, profconv_table table) {
    switch (table) {
    case PROFCONV_TABLE_STRING:
        return ROWS(m, strings);
    case PROFCONV_TABLE_FUNCTION:
        return ROWS(m, functions);
    case PROFCONV_TABLE_MAPPING:
        return ROWS(m, mappings);
    case PROFCONV_TABLE_LOCATION:
        return ROWS(m, locations);
    case PROFCONV_TABLE_LINE:
        return ROWS(m, lines);
    case PROFCONV_TABLE_STACK:
        return ROWS(m, stacks);
    case PROFCONV_TABLE_LABEL:
        return ROWS(m, labels);
    case PROFCONV_TABLE_LABEL_SET:
        return ROWS(m, label_sets);
    case PROFCONV_TABLE_SAMPLE_TYPE:
        return ROWS(m, sample_types);
    case PROFCONV_TABLE_BRANCH:
        return ROWS(m, branches);
    case PROFCONV_TABLE_RANGE:
        return ROWS(m, ranges);
    case PROFCONV_TABLE_ADDRESS:
        return ROWS(m, addresses);
    case PROFCONV_TABLE_SOURCE:
        return ROWS(m, sources);
    case PROFCONV_TABLE_CONTEXT:
        return ROWS(m, contexts);
    case PROFCONV_TABLE_SOURCE_BODY:
        return ROWS(m, source_bodies);
    case PROFCONV_TABLE_SOURCE_TARGET:
        return ROWS(m, source_targets);
    case PROFCONV_TABLE_SYMBOL:
        return ROWS(m, symbols);
    case PROFCONV_TABLE_COMMENT:
        return ROWS(m, comments);
    case PROFCONV_TABLE_ATTRIBUTE:
        return ROWS(m, attributes);
    case PROFCONV_TABLE_ENTRY:
        return ROWS(m, entries);
    case PROFCONV_TABLE_SAMPLE:
    case PROFCONV_TABLE_COUNT_:
        break;
    }
    return make(NULL, 0, 0, 0);
}

static int sample_column(const pfc_model *m, const char *name, uint32_t index, profconv_column *out) {
    size_t count = m->sample_stacks.count;
    if (strcmp(name, "stack") == 0 && index == 0)
        *out = make(m->sample_stacks.data, count, sizeof(profconv_id), U32);
    else if (strcmp(name, "label_set") == 0 && index == 0)
        *out = make(m->sample_label_sets.data, count, sizeof(profconv_id), U32);
    else if (strcmp(name, "value") == 0 && index < m->values.count)
        *out = make(m->values.data[index].data, count, sizeof(int64_t), I64);
    else
        return PROFCONV_E_NOT_FOUND;
    return PROFCONV_OK;
}

int profconv_profile_column(const profconv_profile *profile, profconv_table table, const char *name, uint32_t index,
                            profconv_column *out) {
    const pfc_model *m = &profile->model;
    *out = make(NULL, 0, 0, 0);
    if (table == PROFCONV_TABLE_SAMPLE)
        return sample_column(m, name, index, out);
    if (index != 0)
        return PROFCONV_E_NOT_FOUND;
    if (table == PROFCONV_TABLE_LABEL_SET && strcmp(name, "items") == 0) {
        *out = make(m->label_items.data, m->label_items.count, sizeof(profconv_id), U32);
        return PROFCONV_OK;
    }
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (columns[i].table != (uint8_t)table || strcmp(columns[i].name, name) != 0)
            continue;
        *out = rows(m, table);
        if (out->data)
            out->data = (const char *)out->data + columns[i].offset;
        out->type = columns[i].type;
        return PROFCONV_OK;
    }
    return PROFCONV_E_NOT_FOUND;
}
