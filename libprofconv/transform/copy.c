/* SPDX-License-Identifier: MIT
 *
 * Copying rows of a profile into a builder that interns and aggregates.
 */
#include "libprofconv/transform/copy.h"

#include <string.h>

#include "libprofconv/model/model.h"

profconv_id pfc_copy_string(pfc_copy *c, profconv_id id) {
    profconv_id *to = &c->map[PFC_COPY_STRINGS][id];
    if (id && !*to) {
        profconv_string text = profconv_profile_string(c->from, id);
        *to = profconv_builder_string(c->builder, text.data, text.size);
    }
    return id ? *to : 0;
}

profconv_id pfc_copy_function(pfc_copy *c, profconv_id id) {
    profconv_id *to = &c->map[PFC_COPY_FUNCTIONS][id];
    if (id && !*to) {
        profconv_function row = *profconv_profile_function(c->from, id);
        row.name = pfc_copy_string(c, row.name);
        row.linkage_name = pfc_copy_string(c, row.linkage_name);
        row.file = pfc_copy_string(c, row.file);
        *to = profconv_builder_function(c->builder, &row);
    }
    return id ? *to : 0;
}

profconv_id pfc_copy_mapping(pfc_copy *c, profconv_id id) {
    profconv_id *to = &c->map[PFC_COPY_MAPPINGS][id];
    if (id && !*to) {
        profconv_mapping row = *profconv_profile_mapping(c->from, id);
        row.file = pfc_copy_string(c, row.file);
        row.build_id = pfc_copy_string(c, row.build_id);
        row.reference = pfc_copy_string(c, row.reference);
        *to = profconv_builder_mapping(c->builder, &row);
    }
    return id ? *to : 0;
}

profconv_id pfc_copy_location(pfc_copy *c, profconv_id id) {
    profconv_id *to = &c->map[PFC_COPY_LOCATIONS][id];
    if (id == 0 || *to)
        return id ? *to : 0;
    profconv_location row = *profconv_profile_location(c->from, id);
    row.mapping = pfc_copy_mapping(c, row.mapping);
    c->lines.count = 0;
    for (uint32_t k = 0; k < row.line_count; k++) {
        profconv_line line = *profconv_profile_line(c->from, id, k);
        line.function = pfc_copy_function(c, line.function);
        if (PFC_VEC_PUSH(&c->mem, &c->lines, line))
            return 0;
    }
    return *to = profconv_builder_location(c->builder, &row, c->lines.data, row.line_count);
}

profconv_id pfc_copy_stack(pfc_copy *c, profconv_id id) {
    c->ids.count = 0;
    profconv_id node = id;
    for (; node && !c->map[PFC_COPY_STACKS][node]; node = profconv_profile_stack(c->from, node)->parent) {
        if (PFC_VEC_PUSH(&c->mem, &c->ids, node))
            return 0;
    }
    profconv_id made = node ? c->map[PFC_COPY_STACKS][node] : 0;
    for (size_t i = c->ids.count; i-- > 0;) {
        node = c->ids.data[i];
        profconv_id location = pfc_copy_location(c, profconv_profile_stack(c->from, node)->location);
        made = profconv_builder_stack(c->builder, made, location);
        c->map[PFC_COPY_STACKS][node] = made;
    }
    return made;
}

profconv_id pfc_copy_label(pfc_copy *c, profconv_id id) {
    profconv_id *to = &c->map[PFC_COPY_LABELS][id];
    if (id && !*to) {
        profconv_label row = *profconv_profile_label(c->from, id);
        row.key = pfc_copy_string(c, row.key);
        row.string = pfc_copy_string(c, row.string);
        row.unit = pfc_copy_string(c, row.unit);
        *to = profconv_builder_label(c->builder, &row);
    }
    return id ? *to : 0;
}

profconv_id pfc_copy_label_set(pfc_copy *c, profconv_id id) {
    profconv_id *to = &c->map[PFC_COPY_SETS][id];
    if (id == 0 || *to)
        return id ? *to : 0;
    const profconv_label_set *set = profconv_profile_label_set(c->from, id);
    c->ids.count = 0;
    for (uint32_t k = 0; k < set->count; k++) {
        profconv_id label = pfc_copy_label(c, profconv_profile_label_item(c->from, set->first + k));
        if (PFC_VEC_PUSH(&c->mem, &c->ids, label))
            return 0;
    }
    return *to = profconv_builder_label_set(c->builder, c->ids.data, set->count);
}

uint32_t pfc_copy_sample_type(pfc_copy *c, uint32_t index) {
    profconv_sample_type row = *profconv_profile_sample_type(c->from, index);
    row.name = pfc_copy_string(c, row.name);
    row.unit = pfc_copy_string(c, row.unit);
    row.event = pfc_copy_string(c, row.event);
    return profconv_builder_sample_type(c->builder, &row);
}

void pfc_copy_entries(pfc_copy *c) {
    for (uint32_t i = 0; i < profconv_profile_rows(c->from, PROFCONV_TABLE_ENTRY) && !pfc_copy_stopped(c); i++) {
        profconv_entry row = *profconv_profile_entry(c->from, i);
        row.mapping = pfc_copy_mapping(c, row.mapping);
        row.name = pfc_copy_string(c, row.name);
        profconv_builder_entry(c->builder, &row);
    }
}

void pfc_copy_branches(pfc_copy *c) {
    const profconv_profile *p = c->from;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH) && !pfc_copy_stopped(c); i++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        profconv_id from = pfc_copy_location(c, b->from), to = pfc_copy_location(c, b->to);
        profconv_builder_branch(c->builder, from, to, b->count, b->mispredicted, b->cycles);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE) && !pfc_copy_stopped(c); i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        profconv_id begin = pfc_copy_location(c, r->begin), end = pfc_copy_location(c, r->end);
        profconv_builder_range(c->builder, begin, end, r->count);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS) && !pfc_copy_stopped(c); i++) {
        const profconv_address *a = profconv_profile_address(p, i);
        profconv_builder_address(c->builder, pfc_copy_location(c, a->location), a->count);
    }
    pfc_copy_entries(c);
}

profconv_id pfc_copy_pseudo(pfc_copy *c, profconv_id mapping, profconv_id name, profconv_id file) {
    const profconv_function function = {0, name, name, file, 0};
    const profconv_line line = {0, 0, profconv_builder_function(c->builder, &function), 0};
    const profconv_location location = {0, mapping, 0, 0, 0};
    return profconv_builder_location(c->builder, &location, &line, 1);
}

/* ---- beginning and end ---- */

static void copy_facts(pfc_copy *c) {
    const profconv_profile *p = c->from;
    profconv_info info = *profconv_profile_info(p);
    info.period_type = pfc_copy_string(c, info.period_type);
    info.period_unit = pfc_copy_string(c, info.period_unit);
    info.default_sample_type = pfc_copy_string(c, info.default_sample_type);
    info.drop_frames = pfc_copy_string(c, info.drop_frames);
    info.keep_frames = pfc_copy_string(c, info.keep_frames);
    info.doc_url = pfc_copy_string(c, info.doc_url);
    info.source_flags = 0;
    profconv_builder_set_info(c->builder, &info);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_COMMENT); i++)
        profconv_builder_comment(c->builder, pfc_copy_string(c, profconv_profile_comment(p, i)));
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ATTRIBUTE); i++) {
        profconv_string key, value;
        if (profconv_profile_attribute(p, i, &key, &value) == PROFCONV_OK)
            profconv_builder_attribute(c->builder, key.data, value.data, value.size);
    }
    /* All of them, in their order: the first is the main binary's in pprof. */
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_MAPPING); i++)
        pfc_copy_mapping(c, i);
}

static void copy_notes(pfc_copy *c) {
    const profconv_report *from = profconv_profile_report(c->from);
    for (size_t i = 0; i < profconv_report_count(from); i++) {
        profconv_note n;
        if (profconv_report_get(from, i, &n) == PROFCONV_OK)
            profconv_report_add(profconv_builder_report(c->builder), n.kind, n.cause, n.count, n.weight, n.offset, n.line,
                                "%s", n.message);
    }
}

int pfc_copy_start(pfc_copy *c, const profconv_profile *from, profconv_error *error) {
    static const profconv_table tables[PFC_COPY_MAPS] = {
        PROFCONV_TABLE_STRING, PROFCONV_TABLE_FUNCTION, PROFCONV_TABLE_MAPPING,  PROFCONV_TABLE_LOCATION,
        PROFCONV_TABLE_STACK,  PROFCONV_TABLE_LABEL,    PROFCONV_TABLE_LABEL_SET};
    memset(c, 0, sizeof *c);
    pfc_mem_init(&c->mem, profconv_profile_allocator(from), 0);
    c->from = from;
    c->error = error;
    int status = profconv_builder_new(&c->builder, profconv_profile_allocator(from), &from->model.limits, error);
    if (status)
        return status;
    for (int i = 0; i < PFC_COPY_MAPS; i++) {
        c->rows[i] = profconv_profile_rows(from, tables[i]);
        c->map[i] = (profconv_id *)pfc_alloc_zero(&c->mem, c->rows[i] * sizeof(profconv_id));
        if (!c->map[i])
            return pfc_mem_error(&c->mem, error);
    }
    copy_facts(c);
    copy_notes(c);
    return profconv_builder_status(c->builder, error);
}

int pfc_copy_stopped(const pfc_copy *c) { return c->mem.failed || profconv_builder_status(c->builder, NULL); }

int pfc_copy_end(pfc_copy *c, int status, profconv_profile **out) {
    if (!status && c->mem.failed)
        status = pfc_mem_error(&c->mem, c->error);
    if (!status)
        status = profconv_builder_freeze(c->builder, out, c->error);
    profconv_builder_free(c->builder);
    for (int i = 0; i < PFC_COPY_MAPS; i++)
        pfc_free(&c->mem, c->map[i], c->map[i] ? c->rows[i] * sizeof(profconv_id) : 0);
    PFC_VEC_FREE(&c->mem, &c->lines);
    PFC_VEC_FREE(&c->mem, &c->ids);
    return status;
}
