/* SPDX-License-Identifier: MIT
 *
 * Cutting a profile into parts under limits of rows and bytes. The rows of samples, branches, ranges and addresses
 * stand in one line, and a part is a piece of it, with only those other rows that the piece refers to. How many rows
 * fit is found by measuring a part and trying again with fewer; the next part begins with what fitted.
 */
#include <profconv/transform.h>

#include <string.h>

#include "libprofconv/base/struct.h"
#include "libprofconv/base/text.h"
#include "libprofconv/model/model.h"

/* Tables whose ids change, in the order of the maps. */
enum { STRINGS, FUNCTIONS, MAPPINGS, LOCATIONS, STACKS, LABELS, SETS, MAPS };

typedef struct touched {
    uint32_t map;
    profconv_id id;
} touched;

typedef struct splitter {
    pfc_mem mem;
    const profconv_profile *profile;
    profconv_error *error;
    profconv_builder *builder; /* of the part in hand */
    profconv_id *map[MAPS];    /* ids in the part; 0: not there yet */
    size_t rows[MAPS];
    PFC_VEC(touched) touched; /* entries of the maps that are set, to be cleared for the next part */
    PFC_VEC(profconv_line) lines;
    PFC_VEC(profconv_id) ids;
    PFC_VEC(int64_t) values;
    uint32_t counts[4]; /* samples, branches, ranges, addresses */
} splitter;

/* Sets the id in the part; returns it. */
static profconv_id put(splitter *s, uint32_t map, profconv_id id, profconv_id made) {
    touched at = {map, id};
    if (PFC_VEC_PUSH(&s->mem, &s->touched, at))
        return 0;
    return s->map[map][id] = made;
}

/* Parts are many and the profile is large: a part clears what it set, no more. */
static void clear_maps(splitter *s) {
    for (size_t i = 0; i < s->touched.count; i++)
        s->map[s->touched.data[i].map][s->touched.data[i].id] = 0;
    s->touched.count = 0;
}

static profconv_id string_id(splitter *s, profconv_id id) {
    if (id && !s->map[STRINGS][id]) {
        profconv_string text = profconv_profile_string(s->profile, id);
        put(s, STRINGS, id, profconv_builder_string(s->builder, text.data, text.size));
    }
    return id ? s->map[STRINGS][id] : 0;
}

static profconv_id function_id(splitter *s, profconv_id id) {
    if (id && !s->map[FUNCTIONS][id]) {
        profconv_function row = *profconv_profile_function(s->profile, id);
        row.name = string_id(s, row.name);
        row.linkage_name = string_id(s, row.linkage_name);
        row.file = string_id(s, row.file);
        put(s, FUNCTIONS, id, profconv_builder_function(s->builder, &row));
    }
    return id ? s->map[FUNCTIONS][id] : 0;
}

static profconv_id mapping_id(splitter *s, profconv_id id) {
    if (id && !s->map[MAPPINGS][id]) {
        profconv_mapping row = *profconv_profile_mapping(s->profile, id);
        row.file = string_id(s, row.file);
        row.build_id = string_id(s, row.build_id);
        row.reference = string_id(s, row.reference);
        put(s, MAPPINGS, id, profconv_builder_mapping(s->builder, &row));
    }
    return id ? s->map[MAPPINGS][id] : 0;
}

static profconv_id location_id(splitter *s, profconv_id id) {
    if (id == 0 || s->map[LOCATIONS][id])
        return id ? s->map[LOCATIONS][id] : 0;
    profconv_location row = *profconv_profile_location(s->profile, id);
    row.mapping = mapping_id(s, row.mapping);
    s->lines.count = 0;
    for (uint32_t k = 0; k < row.line_count; k++) {
        profconv_line line = *profconv_profile_line(s->profile, id, k);
        line.function = function_id(s, line.function);
        if (PFC_VEC_PUSH(&s->mem, &s->lines, line))
            return 0;
    }
    return put(s, LOCATIONS, id, profconv_builder_location(s->builder, &row, s->lines.data, (uint32_t)s->lines.count));
}

static profconv_id stack_id(splitter *s, profconv_id id) {
    s->ids.count = 0;
    profconv_id node = id;
    for (; node && !s->map[STACKS][node]; node = profconv_profile_stack(s->profile, node)->parent)
        if (PFC_VEC_PUSH(&s->mem, &s->ids, node))
            return 0;
    profconv_id made = node ? s->map[STACKS][node] : 0;
    for (size_t i = s->ids.count; i-- > 0;) {
        node = s->ids.data[i];
        made = profconv_builder_stack(s->builder, made,
                                      location_id(s, profconv_profile_stack(s->profile, node)->location));
        put(s, STACKS, node, made);
    }
    return made;
}

static profconv_id label_id(splitter *s, profconv_id id) {
    if (id && !s->map[LABELS][id]) {
        profconv_label row = *profconv_profile_label(s->profile, id);
        row.key = string_id(s, row.key);
        row.string = string_id(s, row.string);
        row.unit = string_id(s, row.unit);
        put(s, LABELS, id, profconv_builder_label(s->builder, &row));
    }
    return id ? s->map[LABELS][id] : 0;
}

static profconv_id set_id(splitter *s, profconv_id id) {
    if (id == 0 || s->map[SETS][id])
        return id ? s->map[SETS][id] : 0;
    const profconv_label_set *set = profconv_profile_label_set(s->profile, id);
    s->ids.count = 0;
    for (uint32_t k = 0; k < set->count; k++) {
        profconv_id label = label_id(s, profconv_profile_label_item(s->profile, set->first + k));
        if (PFC_VEC_PUSH(&s->mem, &s->ids, label))
            return 0;
    }
    return put(s, SETS, id, profconv_builder_label_set(s->builder, s->ids.data, set->count));
}

/* ---- a part ---- */

static void add_facts(splitter *s, int first_part) {
    const profconv_profile *p = s->profile;
    profconv_info info = *profconv_profile_info(p);
    info.period_type = string_id(s, info.period_type);
    info.period_unit = string_id(s, info.period_unit);
    info.default_sample_type = string_id(s, info.default_sample_type);
    info.drop_frames = string_id(s, info.drop_frames);
    info.keep_frames = string_id(s, info.keep_frames);
    info.doc_url = string_id(s, info.doc_url);
    info.source_flags = 0;
    if (!first_part)
        info.duration_ns = 0;
    profconv_builder_set_info(s->builder, &info);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_COMMENT); i++)
        profconv_builder_comment(s->builder, string_id(s, profconv_profile_comment(p, i)));
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ATTRIBUTE); i++) {
        profconv_string key, value;
        if (profconv_profile_attribute(p, i, &key, &value) == PROFCONV_OK)
            profconv_builder_attribute(s->builder, key.data, value.data, value.size);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        profconv_sample_type row = *profconv_profile_sample_type(p, i);
        row.name = string_id(s, row.name);
        row.unit = string_id(s, row.unit);
        row.event = string_id(s, row.event);
        profconv_builder_sample_type(s->builder, &row);
    }
    for (uint32_t i = 0; first_part && i < profconv_profile_rows(p, PROFCONV_TABLE_ENTRY); i++) {
        profconv_entry row = *profconv_profile_entry(p, i);
        row.mapping = mapping_id(s, row.mapping);
        row.name = string_id(s, row.name);
        profconv_builder_entry(s->builder, &row);
    }
}

static void add_row(splitter *s, uint64_t at) {
    const profconv_profile *p = s->profile;
    uint32_t row = 0, table = 0;
    for (; table < 4 && at >= s->counts[table]; table++)
        at -= s->counts[table];
    row = (uint32_t)at;
    if (table == 0) {
        profconv_id set = set_id(s, profconv_profile_sample_label_set(p, row));
        profconv_id stack = stack_id(s, profconv_profile_sample_stack(p, row));
        for (uint32_t k = 0; k < s->values.count; k++)
            s->values.data[k] = profconv_profile_sample_value(p, row, k);
        profconv_builder_sample(s->builder, stack, set, 0, s->values.data, (uint32_t)s->values.count);
    } else if (table == 1) {
        const profconv_branch *b = profconv_profile_branch(p, row);
        profconv_id from = location_id(s, b->from), to = location_id(s, b->to);
        profconv_builder_branch(s->builder, from, to, b->count, b->mispredicted, b->cycles);
    } else if (table == 2) {
        const profconv_range *r = profconv_profile_range(p, row);
        profconv_id begin = location_id(s, r->begin), end = location_id(s, r->end);
        profconv_builder_range(s->builder, begin, end, r->count);
    } else {
        const profconv_address *a = profconv_profile_address(p, row);
        profconv_builder_address(s->builder, location_id(s, a->location), a->count);
    }
}

/* Rows first .. first + count - 1 as a profile. */
static int make_part(splitter *s, uint64_t first, uint64_t count, profconv_profile **out) {
    *out = NULL;
    int status = profconv_builder_new(&s->builder, profconv_profile_allocator(s->profile), NULL, s->error);
    if (status)
        return status;
    clear_maps(s);
    add_facts(s, first == 0);
    for (uint64_t i = 0; i < count && !s->mem.failed && !profconv_builder_status(s->builder, NULL); i++)
        add_row(s, first + i);
    status = s->mem.failed ? pfc_mem_error(&s->mem, s->error) : profconv_builder_freeze(s->builder, out, s->error);
    profconv_builder_free(s->builder);
    s->builder = NULL;
    return status;
}

/* Fewer rows for a part that came to `bytes`; 0 when there is no smaller one. */
static uint64_t fewer(uint64_t count, uint64_t bytes, uint64_t limit) {
    uint64_t fit = (uint64_t)((double)count * ((double)limit / (double)bytes) * 0.95);
    return fit < count ? (fit ? fit : count > 1 ? 1 : 0) : count - 1;
}

static int next_part(splitter *s, const profconv_split_options *o, uint64_t first, uint64_t left, uint64_t *count,
                     uint64_t index) {
    for (;;) {
        profconv_profile *part;
        uint64_t bytes = 0;
        *count = *count < left ? *count : left;
        int status = make_part(s, first, *count, &part);
        if (!status && o->max_bytes && (status = o->measure(o->user, part, &bytes)) != 0)
            profconv_error_set(s->error, status, PROFCONV_NO_OFFSET, 0, "part %llu could not be measured",
                               (unsigned long long)index + 1);
        if (!status && bytes <= o->max_bytes) {
            status = o->part(o->user, part, index);
            profconv_profile_free(part);
            if (status)
                profconv_error_set(s->error, status, PROFCONV_NO_OFFSET, 0, "part %llu could not be written",
                                   (unsigned long long)index + 1);
            return status;
        }
        profconv_profile_free(part);
        if (status)
            return status;
        *count = fewer(*count, bytes, o->max_bytes);
        if (*count == 0)
            return profconv_error_set(s->error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0,
                                      "one sample alone takes %llu bytes, and a part may have %llu",
                                      (unsigned long long)bytes, (unsigned long long)o->max_bytes);
    }
}

static int split_all(splitter *s, const profconv_split_options *o) {
    uint64_t rows = 0, first = 0, index = 0;
    for (int i = 0; i < 4; i++)
        rows += s->counts[i];
    uint64_t most = o->max_samples ? o->max_samples : rows, count = most;
    int status = 0;
    while (first < rows && !status) {
        status = next_part(s, o, first, rows - first, &count, index);
        first += count;
        index++;
        count += count / 8 + 1; /* rows differ: try for a little more */
        count = count < most ? count : most;
    }
    return status;
}

static int splitter_init(splitter *s, const profconv_profile *profile, profconv_error *error) {
    static const profconv_table tables[MAPS] = {
        PROFCONV_TABLE_STRING, PROFCONV_TABLE_FUNCTION, PROFCONV_TABLE_MAPPING,  PROFCONV_TABLE_LOCATION,
        PROFCONV_TABLE_STACK,  PROFCONV_TABLE_LABEL,    PROFCONV_TABLE_LABEL_SET};
    static const profconv_table counted[4] = {PROFCONV_TABLE_SAMPLE, PROFCONV_TABLE_BRANCH, PROFCONV_TABLE_RANGE,
                                              PROFCONV_TABLE_ADDRESS};
    memset(s, 0, sizeof *s);
    pfc_mem_init(&s->mem, profconv_profile_allocator(profile), 0);
    s->profile = profile;
    s->error = error;
    for (int i = 0; i < MAPS; i++) {
        s->rows[i] = profconv_profile_rows(profile, tables[i]);
        s->map[i] = (profconv_id *)pfc_alloc_zero(&s->mem, s->rows[i] * sizeof(profconv_id));
    }
    for (int i = 0; i < 4; i++)
        s->counts[i] = profconv_profile_rows(profile, counted[i]);
    size_t types = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE);
    if (PFC_VEC_RESERVE(&s->mem, &s->values, types + 1) == 0)
        s->values.count = types;
    return s->mem.failed ? pfc_mem_error(&s->mem, error) : 0;
}

int profconv_split(const profconv_profile *profile, const profconv_split_options *options, profconv_error *error) {
    profconv_split_options o;
    splitter s;
    int status = pfc_struct_copy(&o, sizeof o, options, "profconv_split_options", error);
    if (status)
        return status;
    if (!o.part || (o.max_bytes && !o.measure))
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "profconv_split needs `part`, and `measure` with max_bytes");
    if (profconv_profile_facets(profile) & PROFCONV_FACET_SOURCE_COUNTS)
        return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                  "profiles of source counts are not cut into parts");
    status = splitter_init(&s, profile, error);
    if (!status && !o.max_bytes)
        o.measure = NULL;
    if (!status && s.counts[0] == 0 && s.counts[1] == 0 && s.counts[2] == 0 && s.counts[3] == 0)
        status = profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0, "the profile holds no samples");
    if (!status)
        status = split_all(&s, &o);
    for (int i = 0; i < MAPS; i++)
        pfc_free(&s.mem, s.map[i], s.map[i] ? s.rows[i] * sizeof(profconv_id) : 0);
    PFC_VEC_FREE(&s.mem, &s.touched);
    PFC_VEC_FREE(&s.mem, &s.lines);
    PFC_VEC_FREE(&s.mem, &s.ids);
    PFC_VEC_FREE(&s.mem, &s.values);
    return status;
}
