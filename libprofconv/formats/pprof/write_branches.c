/* SPDX-License-Identifier: MIT
 *
 * Branch records in a pprof, after the ordinary samples: rows of the sample types `branch`, `branch_mispredicted`,
 * `range` and `address` (unit "count"), each with values of its own kind only; stacks, leaf first, are [to, from],
 * [end, begin] and [address]. Such rows pass through stores that merge profiles, since equal stacks add up.
 *
 * Stores compare addresses without rebasing them, so these must not depend on where code was loaded. Mappings of
 * files already count from the file's start; the kernel and its modules get a second entry in coordinates of the image.
 * Stores take mappings of one size, file offset and build-id (or name) for one, with the start of the first they met:
 * so that entry is empty, as no other is, or the kernel's samples would lend it their start. Mappings with branch
 * records never say has_functions: stores clear the addresses of those that do.
 */
#include "libprofconv/formats/pprof/writer.h"

#include <string.h>

int pfc_pprof_has_image(const profconv_mapping *mapping) {
    return (mapping->kind == PROFCONV_MAPPING_KERNEL || mapping->kind == PROFCONV_MAPPING_MODULE) &&
           mapping->start != pfc_pprof_image_start(mapping);
}

uint64_t pfc_pprof_image_start(const profconv_mapping *mapping) {
    return mapping->kind == PROFCONV_MAPPING_KERNEL ? 0 : mapping->file_offset;
}

/* ---- ids ---- */

static int has_image(const pfc_pprof_writer_state *w, profconv_id location) {
    profconv_id mapping = profconv_profile_location(w->profile, location)->mapping;
    return mapping != 0 && pfc_pprof_has_image(profconv_profile_mapping(w->profile, mapping));
}

static uint32_t end_id(const pfc_pprof_writer_state *w, profconv_id location) {
    if (location == 0)
        return w->external_location;
    return has_image(w, location) ? w->image_location_ids[location] : w->location_ids[location];
}

typedef struct branch_select {
    pfc_pprof_writer_state *w;
    int external;
} branch_select;

static void select_end(branch_select *s, profconv_id location) {
    pfc_pprof_writer_state *w = s->w;
    if (location == 0) {
        s->external = 1;
        return;
    }
    const profconv_location *row = profconv_profile_location(w->profile, location);
    uint32_t image = has_image(w, location) ? 1 : 0;
    pfc_pprof_add_mapping(w, row->mapping, image);
    w->branch_mappings[row->mapping] |= image ? 0 : 1;
    for (uint32_t k = 0; k < row->line_count; k++)
        pfc_pprof_add_function(w, profconv_profile_line(w->profile, location, k)->function);
    pfc_pprof_add_location(w, location, image);
}

static int is_external(const pfc_pprof_writer_state *w, profconv_id location) {
    const profconv_location *row = profconv_profile_location(w->profile, location);
    if (row->address != 0 || row->line_count != 1)
        return 0;
    const profconv_line *line = profconv_profile_line(w->profile, location, 0);
    profconv_string name =
        profconv_profile_string(w->profile, profconv_profile_function(w->profile, line->function)->name);
    return name.size == sizeof PFC_PPROF_EXTERNAL_NAME - 1 &&
           memcmp(name.data, PFC_PPROF_EXTERNAL_NAME, name.size) == 0;
}

/* Anywhere outside: the location that a pprof came with, or two entries that the model does not have, after all others.
 */
static void select_external(pfc_pprof_writer_state *w) {
    for (size_t i = 0; i < w->location_order.count; i++)
        if (!w->location_order.data[i].image && is_external(w, w->location_order.data[i].row)) {
            w->external_location = (uint32_t)i + 1;
            return;
        }
    w->external_function = (uint32_t)w->function_order.count + 1;
    w->external_location = (uint32_t)w->location_order.count + 1;
}

int pfc_pprof_select_branches(pfc_pprof_writer_state *w) {
    const profconv_profile *p = w->profile;
    branch_select s = {w, 0};
    w->image_mapping_ids = pfc_alloc_zero(&w->mem, w->mappings * sizeof(uint32_t));
    w->image_location_ids = pfc_alloc_zero(&w->mem, w->locations * sizeof(uint32_t));
    w->branch_mappings = pfc_alloc_zero(&w->mem, w->mappings);
    if (w->mem.failed)
        return pfc_mem_error(&w->mem, w->out.error);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        select_end(&s, profconv_profile_branch(p, i)->from);
        select_end(&s, profconv_profile_branch(p, i)->to);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        select_end(&s, profconv_profile_range(p, i)->begin);
        select_end(&s, profconv_profile_range(p, i)->end);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++)
        select_end(&s, profconv_profile_address(p, i)->location);
    if (s.external)
        select_external(w);
    return w->out.status;
}

/* ---- columns ---- */

enum { BRANCH, MISPREDICTED, RANGE, ADDRESS, KINDS };
static const char *const kind_names[KINDS] = {"branch", "branch_mispredicted", "range", "address"};

uint32_t pfc_pprof_forced_types(const char *list) {
    uint32_t mask = 0;
    for (const char *p = list ? list : ""; *p;) {
        size_t n = strcspn(p, ",");
        uint32_t bit = 0;
        for (int i = 0; i < KINDS; i++)
            if (strlen(kind_names[i]) == n && memcmp(kind_names[i], p, n) == 0)
                bit = 1u << i;
        if (!bit)
            return UINT32_MAX;
        mask |= bit;
        p += n + (p[n] == ',');
    }
    return mask;
}

/* Which of the kinds there are rows of, or have to be there all the same. */
static void present_kinds(const pfc_pprof_writer_state *w, int present[KINDS]) {
    uint32_t branches = profconv_profile_rows(w->profile, PROFCONV_TABLE_BRANCH);
    present[BRANCH] = branches > 0;
    present[MISPREDICTED] = 0;
    for (uint32_t i = 0; i < branches && !present[MISPREDICTED]; i++)
        present[MISPREDICTED] = profconv_profile_branch(w->profile, i)->mispredicted != 0;
    present[RANGE] = profconv_profile_rows(w->profile, PROFCONV_TABLE_RANGE) > 0;
    present[ADDRESS] = profconv_profile_rows(w->profile, PROFCONV_TABLE_ADDRESS) > 0;
    for (int i = 0; i < KINDS; i++)
        present[i] |= (w->forced_types >> i & 1) != 0;
}

uint32_t pfc_pprof_branch_types(pfc_pprof_writer_state *w, int write) {
    int present[KINDS];
    uint32_t count = 0;
    present_kinds(w, present);
    uint32_t unit = write ? pfc_pprof_text_of(w, "count", 5) : 0;
    for (int i = 0; i < KINDS; i++) {
        if (!present[i])
            continue;
        count++;
        if (!write)
            continue;
        pfc_pprof_put(&w->out, 1, pfc_pprof_text_of(w, kind_names[i], strlen(kind_names[i])));
        pfc_pprof_put(&w->out, 2, unit);
        pfc_pprof_end(&w->out, PFC_PB_SAMPLE_TYPE);
    }
    return count;
}

/* ---- rows ---- */

typedef struct branch_writer {
    pfc_pprof_writer_state *w;
    uint32_t column[KINDS]; /* index among the sample's values */
    uint32_t columns;
    uint64_t saturated;
} branch_writer;

static void set_value(branch_writer *b, int kind, uint64_t count) {
    b->saturated += count > INT64_MAX ? 1u : 0u;
    if (count)
        b->w->values.data[b->column[kind]] = count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static void write_row(branch_writer *b, const uint32_t *ids, size_t count) {
    pfc_pprof_put_u32s(&b->w->out, 1, ids, count);
    pfc_pprof_put_i64s(&b->w->out, 2, b->w->values.data, b->columns);
    pfc_pprof_end(&b->w->out, PFC_PB_SAMPLE);
    memset(b->w->values.data, 0, b->columns * sizeof(int64_t));
}

static void write_edges(branch_writer *b) {
    const profconv_profile *p = b->w->profile;
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *row = profconv_profile_branch(p, i);
        uint32_t ids[2] = {end_id(b->w, row->to), end_id(b->w, row->from)};
        cycles += row->cycles ? 1u : 0u;
        set_value(b, BRANCH, row->count);
        set_value(b, MISPREDICTED, row->mispredicted);
        write_row(b, ids, 2);
    }
    if (cycles)
        profconv_report_add(b->w->report, PROFCONV_NOTE_LOST, "branch-cycles", cycles, 0, PROFCONV_NO_OFFSET, 0,
                            "cycles of branches cannot be held by pprof");
}

void pfc_pprof_write_branches(pfc_pprof_writer_state *w, uint32_t first_column, uint32_t columns) {
    const profconv_profile *p = w->profile;
    branch_writer b = {0};
    int present[KINDS];
    b.w = w;
    b.columns = columns;
    present_kinds(w, present);
    for (int i = 0; i < KINDS; i++) {
        b.column[i] = first_column;
        first_column += present[i] ? 1u : 0u;
    }
    if (w->out.status)
        return;
    memset(w->values.data, 0, columns * sizeof(int64_t));
    write_edges(&b);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        const profconv_range *row = profconv_profile_range(p, i);
        uint32_t ids[2] = {end_id(w, row->end), end_id(w, row->begin)};
        set_value(&b, RANGE, row->count);
        write_row(&b, ids, 2);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++) {
        const profconv_address *row = profconv_profile_address(p, i);
        uint32_t id = end_id(w, row->location);
        set_value(&b, ADDRESS, row->count);
        write_row(&b, &id, 1);
    }
    if (b.saturated)
        profconv_report_add(w->report, PROFCONV_NOTE_WARNING, "count-saturated", b.saturated, 0, PROFCONV_NO_OFFSET, 0,
                            "counts above 2^63 - 1 are written as that");
}
