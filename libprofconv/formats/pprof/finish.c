/* SPDX-License-Identifier: MIT
 *
 * The end of reading a pprof: names and references are resolved, and the rows go to the builder in file order.
 *
 * Refused, as by google/pprof: references to strings, functions and locations that do not exist, samples whose number
 * of values is not that of the sample types. A location whose mapping does not exist is taken to have none, also as
 * there.
 */
#include "libprofconv/formats/pprof/reader.h"

#include <inttypes.h>
#include <string.h>

int pfc_pprof_string(pfc_pprof_reader_state *r, uint32_t index, const char *what, const char *member,
                     profconv_id *out) {
    if (index >= r->strings.count)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
                                  "%s: %s is string %" PRIu32 ", but the string table has %zu", what, member, index,
                                  r->strings.count);
    *out = r->strings.data[index];
    return PROFCONV_OK;
}

static int finish_info(pfc_pprof_reader_state *r) {
    if (r->strings.count == 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
                                  "no string table, which a pprof must have");
    profconv_info info;
    profconv_builder_get_info(r->builder, &info);
    info.time_ns = r->time;
    info.duration_ns = r->duration;
    info.period = r->period;
    int status = pfc_pprof_string(r, r->period_type.type, "period_type", "type", &info.period_type);
    if (!status)
        status = pfc_pprof_string(r, r->period_type.unit, "period_type", "unit", &info.period_unit);
    if (!status)
        status = pfc_pprof_string(r, r->texts[PFC_PPROF_DROP], "profile", "drop_frames", &info.drop_frames);
    if (!status)
        status = pfc_pprof_string(r, r->texts[PFC_PPROF_KEEP], "profile", "keep_frames", &info.keep_frames);
    if (!status)
        status = pfc_pprof_string(r, r->texts[PFC_PPROF_DOC], "profile", "doc_url", &info.doc_url);
    if (!status)
        status = pfc_pprof_string(r, r->texts[PFC_PPROF_DEFAULT], "profile", "default_sample_type",
                                  &info.default_sample_type);
    if (status)
        return status;
    profconv_builder_set_info(r->builder, &info);
    r->period_name = info.period_type;
    r->period_unit = info.period_unit;
    for (size_t i = 0; i < r->comments.count; i++) {
        profconv_id text = 0;
        status = pfc_pprof_string(r, r->comments.data[i], "profile", "comment", &text);
        if (status)
            return status;
        profconv_builder_comment(r->builder, text);
    }
    return PROFCONV_OK;
}

/* The sample types; those of branch records become no columns of samples. */
static int finish_types(pfc_pprof_reader_state *r) {
    int counted = 0;
    if (r->sample_count > 0 && r->types.count == 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
                                  "%" PRIu64 " samples, but no sample type", r->sample_count);
    for (size_t i = 0; i < r->types.count; i++) {
        char what[PFC_PPROF_ENTITY];
        profconv_sample_type row = {0};
        pfc_pprof_entity(what, "sample type", i + 1);
        int status = pfc_pprof_string(r, r->types.data[i].type, what, "type", &row.name);
        if (!status)
            status = pfc_pprof_string(r, r->types.data[i].unit, what, "unit", &row.unit);
        if (status)
            return status;
        profconv_string name = profconv_builder_get_string(r->builder, row.name);
        profconv_string unit = profconv_builder_get_string(r->builder, row.unit);
        pfc_pprof_column column = pfc_pprof_column_of(name, unit);
        if (PFC_VEC_PUSH(&r->mem, &r->columns, (uint8_t)column))
            return pfc_mem_error(&r->mem, r->error);
        if (column != PFC_PPROF_SAMPLES) {
            r->branch_columns++;
            continue;
        }
        row.role = pfc_pprof_value_role(name, unit, i == 0, counted);
        counted |= row.role == PROFCONV_ROLE_COUNT;
        if (row.name == r->period_name && row.unit == r->period_unit)
            row.period = r->period;
        if (profconv_builder_sample_type(r->builder, &row) == UINT32_MAX)
            break; /* the builder's error is sticky */
    }
    return pfc_pprof_checkpoint(r);
}

/* "[kernel.kallsyms]_text": the symbol after the bracket is what the kernel's load address is known by. */
static void split_reference(pfc_pprof_reader_state *r, profconv_mapping *row) {
    profconv_string file = profconv_builder_get_string(r->builder, row->file);
    const char *bracket = memchr(file.data, ']', file.size);
    if (!bracket || bracket + 1 == file.data + file.size)
        return;
    size_t prefix = (size_t)(bracket + 1 - file.data);
    size_t rest = file.size - prefix;
    char name[64];
    if (prefix > sizeof name || rest > sizeof name)
        return;
    memcpy(name, file.data, prefix); /* interning may move what `file` borrows */
    char symbol[64];
    memcpy(symbol, file.data + prefix, rest);
    row->file = profconv_builder_string(r->builder, name, prefix);
    row->reference = profconv_builder_string(r->builder, symbol, rest);
}

static int finish_mappings(pfc_pprof_reader_state *r, profconv_id *rows) {
    rows[0] = 0;
    for (size_t i = 0; i < r->mappings.count; i++) {
        const pfc_pprof_mapping *m = &r->mappings.data[i];
        char what[PFC_PPROF_ENTITY];
        uint64_t id = pfc_idset_id(&r->mapping_ids, (uint32_t)i + 1);
        pfc_pprof_entity(what, "mapping id", id);
        profconv_mapping row = {0};
        row.start = m->start;
        row.limit = m->limit;
        row.file_offset = m->offset;
        row.flags = m->flags;
        int status = pfc_pprof_string(r, m->file, what, "filename", &row.file);
        if (!status)
            status = pfc_pprof_string(r, m->build_id, what, "build_id", &row.build_id);
        if (status)
            return status;
        row.kind = pfc_pprof_mapping_kind(profconv_builder_get_string(r->builder, row.file), i == 0);
        if (row.kind == PROFCONV_MAPPING_KERNEL)
            split_reference(r, &row);
        if (i == 0 && row.kind == PROFCONV_MAPPING_EXECUTABLE)
            row.flags |= PROFCONV_MAPPING_MAIN;
        rows[i + 1] = profconv_builder_mapping(r->builder, &row);
    }
    return pfc_pprof_checkpoint(r);
}

/* Rows of the builder by row of the file; [0] is none. */
typedef struct tables {
    profconv_id *mappings, *functions, *locations;
    uint8_t *external_functions; /* named PFC_PPROF_EXTERNAL */
    uint8_t *location_flags;     /* PFC_PPROF_IS_EXTERNAL, PFC_PPROF_NO_ADDRESS */
    PFC_VEC(profconv_line) lines;
} tables;

static int finish_functions(pfc_pprof_reader_state *r, tables *t) {
    static const char external[] = PFC_PPROF_EXTERNAL;
    t->functions[0] = 0;
    for (uint32_t i = 1; i <= r->function_ids.count; i++) {
        uint32_t name = (uint32_t)pfc_spool_get(&r->functions);
        uint32_t linkage = (uint32_t)pfc_spool_get(&r->functions);
        uint32_t file = (uint32_t)pfc_spool_get(&r->functions);
        char what[PFC_PPROF_ENTITY];
        profconv_function row = {0};
        row.start_line = pfc_unzigzag(pfc_spool_get(&r->functions));
        pfc_pprof_entity(what, "function id", pfc_idset_id(&r->function_ids, i));
        int status = pfc_pprof_string(r, name, what, "name", &row.name);
        if (!status)
            status = pfc_pprof_string(r, linkage, what, "system_name", &row.linkage_name);
        if (!status)
            status = pfc_pprof_string(r, file, what, "filename", &row.file);
        if (status)
            return status;
        t->functions[i] = profconv_builder_function(r->builder, &row);
        profconv_string text = profconv_builder_get_string(r->builder, row.name);
        t->external_functions[i] = text.size == sizeof external - 1 && memcmp(text.data, external, text.size) == 0;
        if (i % 4096 == 0 && (status = pfc_pprof_checkpoint(r)) != 0)
            return status;
    }
    return pfc_pprof_checkpoint(r);
}

/* The lines of location row `i`, from the spool; *external: a single one, of the function for anywhere outside. */
static int finish_lines(pfc_pprof_reader_state *r, uint32_t i, tables *t, int *external) {
    uint64_t count = pfc_spool_get(&r->locations);
    t->lines.count = 0;
    *external = 0;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t function = pfc_spool_get(&r->locations);
        uint32_t row = pfc_idset_find(&r->function_ids, function);
        if (row == 0)
            return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
                                      "location id %" PRIu64 ": line %" PRIu64 ": function id %" PRIu64
                                      " does not exist",
                                      pfc_idset_id(&r->location_ids, i), k + 1, function);
        profconv_line line = {0};
        line.function = t->functions[row];
        line.line = pfc_unzigzag(pfc_spool_get(&r->locations));
        line.column = pfc_unzigzag(pfc_spool_get(&r->locations));
        if (PFC_VEC_PUSH(&r->mem, &t->lines, line))
            return pfc_mem_error(&r->mem, r->error);
        *external = count == 1 && t->external_functions[row];
    }
    return PROFCONV_OK;
}

static int finish_locations(pfc_pprof_reader_state *r, tables *t) {
    t->locations[0] = 0;
    for (uint32_t i = 1; i <= r->location_ids.count; i++) {
        profconv_location row = {0};
        uint64_t mapping = pfc_spool_get(&r->locations);
        uint32_t mapping_row = mapping ? pfc_idset_find(&r->mapping_ids, mapping) : 0;
        int external;
        r->dangling_mappings += mapping != 0 && mapping_row == 0;
        row.mapping = mapping_row ? t->mappings[mapping_row] : 0;
        row.address = pfc_spool_get(&r->locations);
        row.flags = (uint32_t)pfc_spool_get(&r->locations);
        int status = finish_lines(r, i, t, &external);
        if (status)
            return status;
        t->locations[i] = profconv_builder_location(r->builder, &row, t->lines.data, (uint32_t)t->lines.count);
        external = external && row.address == 0;
        t->location_flags[i] = external                               ? PFC_PPROF_IS_EXTERNAL
                               : row.mapping == 0 || row.address == 0 ? PFC_PPROF_NO_ADDRESS
                                                                      : 0;
        if (i % 4096 == 0 && (status = pfc_pprof_checkpoint(r)) != 0)
            return status;
    }
    return pfc_pprof_checkpoint(r);
}

static void finish_notes(pfc_pprof_reader_state *r) {
    if (r->shortened_stacks)
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "stack-shortened", r->shortened_stacks,
                            r->shortened_weight, PROFCONV_NO_OFFSET, 0,
                            "samples were charged to the outer part of their stack, the rest does not fit max_memory of "
                            "%" PRIu64 " bytes",
                            r->limits->max_memory);
    if (r->truncated_stacks)
        profconv_report_add(
            r->report, PROFCONV_NOTE_WARNING, "stack-truncated", r->truncated_stacks, 0, PROFCONV_NO_OFFSET, 0,
            "stacks of more than %" PRIu32 " frames lost root frames (max_depth)", r->limits->max_depth);
    if (r->dangling_mappings)
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "missing-mapping", r->dangling_mappings, 0,
                            PROFCONV_NO_OFFSET, 0,
                            "locations refer to mappings that do not exist; read as without one");
    if (r->ambiguous_labels)
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "ambiguous-label", r->ambiguous_labels, 0,
                            PROFCONV_NO_OFFSET, 0, "labels with both a string and a number; read as strings");
}

static int finish_tables(pfc_pprof_reader_state *r, tables *t) {
    int status = finish_types(r);
    if (!status)
        status = finish_mappings(r, t->mappings);
    if (!status)
        status = finish_functions(r, t);
    if (!status)
        status = finish_locations(r, t);
    return status;
}

int pfc_pprof_finish(pfc_pprof_reader_state *r) {
    pfc_arena_free(&r->arena);
    pfc_pprof_trie_seal(&r->mem, &r->trie);
    pfc_index_free(&r->mem, &r->label_index);
    int status = finish_info(r);
    if (status)
        return status;
    size_t mappings = r->mapping_ids.count + (size_t)1, functions = r->function_ids.count + (size_t)1,
           locations = r->location_ids.count + (size_t)1;
    tables t = {0};
    t.mappings = pfc_alloc(&r->mem, mappings * sizeof *t.mappings);
    t.functions = pfc_alloc(&r->mem, functions * sizeof *t.functions);
    t.locations = pfc_alloc(&r->mem, locations * sizeof *t.locations);
    t.external_functions = pfc_alloc_zero(&r->mem, functions);
    t.location_flags = pfc_alloc_zero(&r->mem, locations);
    if (r->mem.failed)
        status = pfc_mem_error(&r->mem, r->error);
    if (!status)
        status = finish_tables(r, &t);
    if (!status)
        status = pfc_pprof_finish_samples(r, t.locations, t.location_flags);
    if (!status)
        finish_notes(r);
    PFC_VEC_FREE(&r->mem, &t.lines);
    pfc_free(&r->mem, t.mappings, mappings * sizeof *t.mappings);
    pfc_free(&r->mem, t.functions, functions * sizeof *t.functions);
    pfc_free(&r->mem, t.locations, locations * sizeof *t.locations);
    pfc_free(&r->mem, t.external_functions, functions);
    pfc_free(&r->mem, t.location_flags, locations);
    return status;
}
