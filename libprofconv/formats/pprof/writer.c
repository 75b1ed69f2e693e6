/* SPDX-License-Identifier: MIT
 *
 * Writes a pprof: sample types, samples, mappings, locations, functions, then the strings that these used, in the order
 * of their first use, then the profile-wide facts. Everything but the id tables is streamed.
 */
#include "libprofconv/formats/pprof/writer.h"

#include <string.h>

#include "libprofconv/formats/pprof/kind.h"

enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_UNIT };

/* ---- samples ---- */

/* `type`: the index of the string that is written. */
static void write_value_type(pfc_pprof_writer_state *w, unsigned field, uint32_t type, profconv_id unit) {
    pfc_pprof_put(&w->out, 1, type);
    pfc_pprof_put(&w->out, 2, pfc_pprof_string_of(w, unit));
    pfc_pprof_end(&w->out, field);
}

static void write_label(pfc_pprof_writer_state *w, const profconv_label *label) {
    size_t begin = pfc_pprof_begin_inner(&w->out, 3);
    pfc_pprof_put(&w->out, LABEL_KEY, pfc_pprof_string_of(w, label->key));
    if (label->numeric) {
        /* A label whose number and unit are both missing does not exist for pprof. Readers take the key for the unit of
         * a label without one, so saying that changes nothing else. */
        profconv_id unit = label->number == 0 && label->unit == 0 ? label->key : label->unit;
        pfc_pprof_put(&w->out, LABEL_NUM, (uint64_t)label->number);
        pfc_pprof_put(&w->out, LABEL_UNIT, pfc_pprof_string_of(w, unit));
    } else {
        w->lost_empty_labels += label->string == 0 ? 1u : 0u;
        pfc_pprof_put(&w->out, LABEL_STR, pfc_pprof_string_of(w, label->string));
    }
    pfc_pprof_end_inner(&w->out, begin);
}

static void write_labels(pfc_pprof_writer_state *w, profconv_id set) {
    const profconv_label_set *row = profconv_profile_label_set(w->profile, set);
    for (uint32_t i = 0; i < row->count; i++)
        write_label(w, profconv_profile_label(w->profile, profconv_profile_label_item(w->profile, row->first + i)));
}

/* The stack table's columns, since walking them is most of the work. */
typedef struct stack_columns {
    profconv_column parent, location;
} stack_columns;

static inline uint32_t column_u32(const profconv_column *column, uint32_t row) {
    uint32_t value;
    memcpy(&value, (const char *)column->data + (size_t)row * column->stride, sizeof value);
    return value;
}

/* The ids of a stack's locations, leaf first. Where all rows are written, ids are rows, and looking them up is spared.
 */
static int stack_ids(pfc_pprof_writer_state *w, const stack_columns *stacks, profconv_id node) {
    const uint32_t *ids = w->ids_are_rows ? NULL : w->location_ids;
    size_t count = 0;
    while (node) {
        if (count == w->ids.capacity && PFC_VEC_RESERVE(&w->mem, &w->ids, count + 1))
            return w->out.status = pfc_mem_error(&w->mem, w->out.error);
        uint32_t location = column_u32(&stacks->location, node);
        w->ids.data[count++] = ids ? ids[location] : location;
        node = column_u32(&stacks->parent, node);
    }
    w->ids.count = count;
    return PROFCONV_OK;
}

static void write_samples(pfc_pprof_writer_state *w, uint32_t types, uint32_t columns) {
    const profconv_profile *p = w->profile;
    stack_columns stacks;
    if (profconv_profile_column(p, PROFCONV_TABLE_STACK, "parent", 0, &stacks.parent) ||
        profconv_profile_column(p, PROFCONV_TABLE_STACK, "location", 0, &stacks.location)) {
        w->out.status = profconv_error_set(w->out.error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0,
                                           "the stack table has lost its columns");
        return;
    }
    uint32_t samples = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE);
    for (uint32_t i = 0; i < samples && !w->out.status; i++) {
        if (stack_ids(w, &stacks, profconv_profile_sample_stack(p, i)))
            return;
        for (uint32_t k = 0; k < types; k++)
            w->values.data[k] = profconv_profile_sample_value(p, i, k);
        pfc_pprof_put_u32s(&w->out, 1, w->ids.data, w->ids.count);
        pfc_pprof_put_i64s(&w->out, 2, w->values.data, columns);
        write_labels(w, profconv_profile_sample_label_set(p, i));
        pfc_pprof_end(&w->out, PFC_PB_SAMPLE);
    }
}

/* ---- tables ---- */

static void write_flags(pfc_pprof_encoder *out, uint32_t flags) {
    pfc_pprof_put(out, 7, (flags & PROFCONV_MAPPING_HAS_FUNCTIONS) != 0);
    pfc_pprof_put(out, 8, (flags & PROFCONV_MAPPING_HAS_FILENAMES) != 0);
    pfc_pprof_put(out, 9, (flags & PROFCONV_MAPPING_HAS_LINE_NUMBERS) != 0);
    pfc_pprof_put(out, 10, (flags & PROFCONV_MAPPING_HAS_INLINE_FRAMES) != 0);
}

/* The kernel's file name carries the symbol that its load address is known by. */
static uint32_t mapping_file(pfc_pprof_writer_state *w, const profconv_mapping *row) {
    if (row->kind != PROFCONV_MAPPING_KERNEL || row->reference == 0)
        return pfc_pprof_string_of(w, row->file);
    return pfc_pprof_joined(w, profconv_profile_string(w->profile, row->file), "",
                            profconv_profile_string(w->profile, row->reference));
}

static void write_mappings(pfc_pprof_writer_state *w) {
    for (size_t i = 0; i < w->mapping_order.count && !w->out.status; i++) {
        const pfc_pprof_row *entry = &w->mapping_order.data[i];
        const profconv_mapping *row = profconv_profile_mapping(w->profile, entry->row);
        uint64_t start = entry->image ? pfc_pprof_image_start(row) : row->start;
        uint64_t limit = entry->image ? start : row->limit; /* see write_branches.c */
        pfc_pprof_put(&w->out, 1, i + 1);
        pfc_pprof_put(&w->out, 2, start);
        pfc_pprof_put(&w->out, 3, limit);
        pfc_pprof_put(&w->out, 4, entry->image ? start : row->file_offset);
        pfc_pprof_put(&w->out, 5, mapping_file(w, row));
        pfc_pprof_put(&w->out, 6, pfc_pprof_string_of(w, row->build_id));
        if (!entry->image && !(w->branch_mappings && w->branch_mappings[entry->row]))
            write_flags(&w->out, row->flags);
        pfc_pprof_end(&w->out, PFC_PB_MAPPING);
    }
}

static uint32_t line_function(pfc_pprof_writer_state *w, profconv_id function) {
    if (function)
        return w->function_ids[function];
    w->nameless = 1;
    return (uint32_t)w->function_order.count + (w->external_function ? 2 : 1);
}

static void write_lines(pfc_pprof_writer_state *w, profconv_id location, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        const profconv_line *line = profconv_profile_line(w->profile, location, k);
        size_t begin = pfc_pprof_begin_inner(&w->out, 4);
        pfc_pprof_put(&w->out, 1, line_function(w, line->function));
        pfc_pprof_put(&w->out, 2, (uint64_t)line->line);
        pfc_pprof_put(&w->out, 3, (uint64_t)line->column);
        pfc_pprof_end_inner(&w->out, begin);
        w->lost_discriminators += line->discriminator ? 1u : 0u;
    }
}

static void write_locations(pfc_pprof_writer_state *w) {
    for (size_t i = 0; i < w->location_order.count && !w->out.status; i++) {
        const pfc_pprof_row *entry = &w->location_order.data[i];
        const profconv_location *row = profconv_profile_location(w->profile, entry->row);
        const profconv_mapping *mapping = profconv_profile_mapping(w->profile, row->mapping);
        uint64_t address = row->address;
        if (entry->image)
            address = address - mapping->start + pfc_pprof_image_start(mapping);
        pfc_pprof_put(&w->out, 1, i + 1);
        pfc_pprof_put(&w->out, 2, (entry->image ? w->image_mapping_ids : w->mapping_ids)[row->mapping]);
        pfc_pprof_put(&w->out, 3, address);
        write_lines(w, entry->row, row->line_count);
        pfc_pprof_put(&w->out, 5, (row->flags & PROFCONV_LOCATION_FOLDED) != 0);
        pfc_pprof_end(&w->out, PFC_PB_LOCATION);
    }
    if (w->external_function) {
        pfc_pprof_put(&w->out, 1, w->external_location);
        size_t begin = pfc_pprof_begin_inner(&w->out, 4);
        pfc_pprof_put(&w->out, 1, w->external_function);
        pfc_pprof_end_inner(&w->out, begin);
        pfc_pprof_end(&w->out, PFC_PB_LOCATION);
    }
}

static void write_name_only(pfc_pprof_writer_state *w, uint32_t id, const char *name) {
    uint32_t text = pfc_pprof_text_of(w, name, strlen(name));
    pfc_pprof_put(&w->out, 1, id);
    pfc_pprof_put(&w->out, 2, text);
    pfc_pprof_put(&w->out, 3, text);
    pfc_pprof_end(&w->out, PFC_PB_FUNCTION);
}

static void write_functions(pfc_pprof_writer_state *w) {
    for (size_t i = 0; i < w->function_order.count && !w->out.status; i++) {
        const profconv_function *row = profconv_profile_function(w->profile, w->function_order.data[i]);
        pfc_pprof_put(&w->out, 1, i + 1);
        pfc_pprof_put(&w->out, 2, pfc_pprof_string_of(w, row->name));
        pfc_pprof_put(&w->out, 3, pfc_pprof_string_of(w, row->linkage_name));
        pfc_pprof_put(&w->out, 4, pfc_pprof_string_of(w, row->file));
        pfc_pprof_put(&w->out, 5, (uint64_t)row->start_line);
        pfc_pprof_end(&w->out, PFC_PB_FUNCTION);
    }
    if (w->external_function)
        write_name_only(w, w->external_function, PFC_PPROF_EXTERNAL_NAME);
    if (w->nameless)
        write_name_only(w, (uint32_t)w->function_order.count + (w->external_function ? 2 : 1), "");
}

/* ---- facts ---- */

/* pprof has no place for facts about the recording but its comments, "hostname: build7". A reader that says what people
 * should see in comments of its own has said it. */
static void comment_ids(pfc_pprof_writer_state *w) {
    uint32_t comments = profconv_profile_rows(w->profile, PROFCONV_TABLE_COMMENT);
    uint32_t attributes = profconv_profile_rows(w->profile, PROFCONV_TABLE_ATTRIBUTE);
    uint32_t count = comments ? comments : attributes;
    w->ids.count = 0;
    for (uint32_t i = 0; i < count && !w->out.status; i++) {
        profconv_string key, value;
        uint32_t id = 0;
        if (comments)
            id = pfc_pprof_string_of(w, profconv_profile_comment(w->profile, i));
        else if (profconv_profile_attribute(w->profile, i, &key, &value) == PROFCONV_OK)
            id = pfc_pprof_joined(w, key, ": ", value);
        if (PFC_VEC_PUSH(&w->mem, &w->ids, id))
            w->out.status = pfc_mem_error(&w->mem, w->out.error);
    }
    if (comments && attributes)
        profconv_report_add(w->report, PROFCONV_NOTE_INFO, "attributes", attributes, 0, PROFCONV_NO_OFFSET, 0,
                            "facts about the recording are left to its comments");
}

/* Whether name and unit say that the rows are branch records, which those of a sample type are not. */
static int is_branch_name(const pfc_pprof_writer_state *w, const profconv_sample_type *row) {
    return pfc_pprof_column_of(profconv_profile_string(w->profile, row->name),
                               profconv_profile_string(w->profile, row->unit)) != PFC_PPROF_SAMPLES;
}

static uint32_t type_name(pfc_pprof_writer_state *w, const profconv_sample_type *row) {
    static const profconv_string suffix = {"_samples", 8};
    return is_branch_name(w, row) ? pfc_pprof_joined(w, profconv_profile_string(w->profile, row->name), "", suffix)
                                  : pfc_pprof_string_of(w, row->name);
}

static void write_sample_types(pfc_pprof_writer_state *w, uint32_t types) {
    uint64_t renamed = 0;
    for (uint32_t i = 0; i < types; i++) {
        const profconv_sample_type *row = profconv_profile_sample_type(w->profile, i);
        write_value_type(w, PFC_PB_SAMPLE_TYPE, type_name(w, row), row->unit);
        renamed += is_branch_name(w, row) ? 1u : 0u;
    }
    if (renamed)
        profconv_report_add(w->report, PROFCONV_NOTE_INFO, "sample-type-renamed", renamed, 0, PROFCONV_NO_OFFSET, 0,
                            "sample types got \"_samples\" to their names, which are those of branch records");
}

/* The name that the type shown by default has got; a name that no sample type has stays. */
static uint32_t default_name(pfc_pprof_writer_state *w, profconv_id shown) {
    for (uint32_t i = 0; shown && i < profconv_profile_rows(w->profile, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        const profconv_sample_type *row = profconv_profile_sample_type(w->profile, i);
        if (row->name == shown)
            return type_name(w, row);
    }
    return pfc_pprof_string_of(w, shown);
}

/* The last strings get their indexes here, then the table is written. */
static void write_facts(pfc_pprof_writer_state *w) {
    const profconv_info *info = profconv_profile_info(w->profile);
    uint32_t drop = pfc_pprof_string_of(w, info->drop_frames);
    uint32_t keep = pfc_pprof_string_of(w, info->keep_frames);
    uint32_t shown = default_name(w, info->default_sample_type);
    uint32_t doc = pfc_pprof_string_of(w, info->doc_url);
    if (info->period_type || info->period_unit)
        write_value_type(w, PFC_PB_PERIOD_TYPE, pfc_pprof_string_of(w, info->period_type), info->period_unit);
    comment_ids(w);
    for (size_t i = 0; i < w->string_order.count; i++)
        pfc_pprof_top_bytes(&w->out, PFC_PB_STRING, w->string_order.data[i].data, w->string_order.data[i].size);
    pfc_pprof_top(&w->out, PFC_PB_DROP_FRAMES, drop);
    pfc_pprof_top(&w->out, PFC_PB_KEEP_FRAMES, keep);
    pfc_pprof_top(&w->out, PFC_PB_TIME, (uint64_t)info->time_ns);
    pfc_pprof_top(&w->out, PFC_PB_DURATION, (uint64_t)info->duration_ns);
    pfc_pprof_top(&w->out, PFC_PB_PERIOD, (uint64_t)info->period);
    for (size_t i = 0; i < w->ids.count; i++)
        pfc_pprof_top_element(&w->out, PFC_PB_COMMENT, w->ids.data[i]);
    pfc_pprof_top(&w->out, PFC_PB_DEFAULT_SAMPLE_TYPE, shown);
    pfc_pprof_top(&w->out, PFC_PB_DOC_URL, doc);
}

/* ---- the whole ---- */

static int write_profile(pfc_pprof_writer_state *w) {
    const profconv_profile *p = w->profile;
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    uint32_t branch_types = w->branches ? pfc_pprof_branch_types(w, 0) : 0;
    uint32_t columns = types + branch_types;
    if (PFC_VEC_RESERVE(&w->mem, &w->values, columns + (size_t)1))
        return pfc_mem_error(&w->mem, w->out.error);
    memset(w->values.data, 0, (columns + (size_t)1) * sizeof(int64_t));
    write_sample_types(w, types);
    if (branch_types)
        pfc_pprof_branch_types(w, 1);
    write_samples(w, types, columns);
    if (branch_types)
        pfc_pprof_write_branches(w, types, columns);
    write_mappings(w);
    write_locations(w);
    write_functions(w);
    write_facts(w);
    pfc_pprof_flush(&w->out);
    return w->out.status;
}

static uint64_t branch_records(const profconv_profile *profile) {
    return (uint64_t)profconv_profile_rows(profile, PROFCONV_TABLE_BRANCH) +
           profconv_profile_rows(profile, PROFCONV_TABLE_RANGE) +
           profconv_profile_rows(profile, PROFCONV_TABLE_ADDRESS);
}

static void report_losses(const pfc_pprof_writer_state *w) {
    uint64_t records = branch_records(w->profile);
    if (records && !w->branches)
        profconv_report_add(w->report, PROFCONV_NOTE_LOST, "branches", records, 0, PROFCONV_NO_OFFSET, 0,
                            "branch records are left out (pprof.branches=no)");
    uint64_t pids = 0;
    for (size_t i = 0; i < w->mapping_order.count; i++)
        pids += profconv_profile_mapping(w->profile, w->mapping_order.data[i].row)->pid ? 1u : 0u;
    if (w->lost_discriminators)
        profconv_report_add(w->report, PROFCONV_NOTE_LOST, "discriminators", w->lost_discriminators, 0,
                            PROFCONV_NO_OFFSET, 0, "DWARF discriminators of lines cannot be held by pprof");
    if (w->lost_empty_labels && !profconv_profile_verbatim(w->profile))
        profconv_report_add(w->report, PROFCONV_NOTE_LOST, "empty-labels", w->lost_empty_labels, 0, PROFCONV_NO_OFFSET,
                            0, "labels with an empty value do not exist for readers of pprof");
    if (pids)
        profconv_report_add(w->report, PROFCONV_NOTE_LOST, "mapping-pid", pids, 0, PROFCONV_NO_OFFSET, 0,
                            "pprof cannot say which process run-time code or anonymous memory belongs to");
}

static const profconv_setting settings[] = {
    {"compress", PROFCONV_SETTING_BOOL, "yes", NULL, "gzip the output, as other tools expect it"},
    {"level", PROFCONV_SETTING_INT, "1", NULL, "gzip level, 1 (fast) to 9 (small)"},
    {"branches", PROFCONV_SETTING_BOOL, "yes", NULL, "write branch records as sample types branch, range, address"},
    {"branch-types", PROFCONV_SETTING_STRING, NULL, NULL,
     "sample types that are there even without a row, so that parts of one profile can be merged: "
     "branch,branch_mispredicted,range,address"},
    {NULL, 0, NULL, NULL, NULL},
};

/* What there is to write, or why there is nothing. */
static int check_content(const profconv_profile *profile, int branches, profconv_error *error) {
    uint32_t rows = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE);
    uint64_t records = branch_records(profile);
    if (rows > 0 || (branches && records > 0))
        return PROFCONV_OK;
    if (records > 0)
        return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "no samples: the profile holds branch records only, and pprof.branches is off");
    if (profconv_profile_facets(profile) & PROFCONV_FACET_SOURCE_COUNTS)
        return profconv_error_set(
            error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
            "pprof needs call stacks or branch records, and the profile holds source counts only");
    return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0, "the profile holds no samples");
}

static int start_output(profconv_output *output, const profconv_options *options, profconv_error *error) {
    if (!profconv_options_bool(options, "pprof", settings, "compress"))
        return PROFCONV_OK;
    int64_t level = profconv_options_int(options, "pprof", settings, "level");
    if (level < 1 || level > 9)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "pprof.level must be 1 to 9");
    return profconv_output_gzip(output, (int)level, error);
}

static int pprof_write(void *user, const profconv_profile *profile, profconv_output *output,
                       const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    int branches = profconv_options_bool(options, "pprof", settings, "branches");
    int status = check_content(profile, branches, error);
    if (!status)
        status = start_output(output, options, error);
    if (status)
        return status;
    uint32_t forced = pfc_pprof_forced_types(profconv_options_string(options, "pprof", settings, "branch-types"));
    if (forced == UINT32_MAX)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "pprof.branch-types: a list of branch, branch_mispredicted, range and address is expected");
    pfc_pprof_writer_state w = {0};
    w.forced_types = branches ? forced : 0;
    pfc_mem_init(&w.mem, profconv_profile_allocator(profile), 0);
    w.profile = profile;
    w.report = report;
    w.branches = branches && (branch_records(profile) > 0 || w.forced_types);
    w.out.mem = &w.mem;
    w.out.output = output;
    w.out.error = error;
    status = pfc_pprof_select(&w, error);
    if (!status)
        status = write_profile(&w);
    if (!status)
        report_losses(&w);
    PFC_VEC_FREE(&w.mem, &w.out.message);
    PFC_VEC_FREE(&w.mem, &w.out.pending);
    PFC_VEC_FREE(&w.mem, &w.ids);
    PFC_VEC_FREE(&w.mem, &w.values);
    pfc_pprof_select_free(&w);
    return status;
}

static const char *const aliases[] = {"proto", "pb", NULL};
static const char *const suffixes[] = {".pb.gz", ".pprof", ".prof", ".pb", NULL};

const profconv_writer pfc_pprof_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "pprof",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "pprof protocol buffers of Go, google/pprof and continuous profilers",
    .settings = settings,
    .needs = 0, /* stacks or branch records: checked when writing */
    .keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_LINES | PROFCONV_FACET_STACKS |
             PROFCONV_FACET_LABELS | PROFCONV_FACET_BRANCHES,
    .improves = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .binary = 1,
    .labels = "",
    .write = pprof_write,
};
