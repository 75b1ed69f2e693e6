/* SPDX-License-Identifier: MIT
 *
 * Decides which functions, mappings and locations a pprof gets, in which order, and numbers them 1, 2, 3, ... as the
 * strictest readers want them. A profile that came as a pprof keeps all its rows; of any other only what a sample or
 * branch record refers to is written, the main binary first.
 */
#include "libprofconv/formats/pprof/writer.h"

#include <string.h>

static uint32_t failed(pfc_pprof_writer_state *w) {
    if (!w->out.status)
        w->out.status = pfc_mem_error(&w->mem, w->out.error);
    return 0;
}

/* ---- strings ---- */

static uint32_t add_string(pfc_pprof_writer_state *w, profconv_string text) {
    if (w->out.status)
        return 0;
    if (PFC_VEC_PUSH(&w->mem, &w->string_order, text))
        return failed(w);
    return (uint32_t)(w->string_order.count - 1);
}

uint32_t pfc_pprof_string_of(pfc_pprof_writer_state *w, profconv_id string) {
    if (string == 0 || string >= w->string_rows)
        return 0;
    if (w->string_ids[string] == 0) {
        uint32_t index = add_string(w, profconv_profile_string(w->profile, string));
        w->string_ids[string] = index ? index + 1 : 0;
        return index;
    }
    return w->string_ids[string] - 1;
}

/* These are few: names of sample types and comments that the writer makes itself. */
uint32_t pfc_pprof_text_of(pfc_pprof_writer_state *w, const char *text, size_t size) {
    profconv_string s = {text, size};
    return size ? add_string(w, s) : 0;
}

uint32_t pfc_pprof_joined(pfc_pprof_writer_state *w, profconv_string prefix, const char *separator,
                          profconv_string rest) {
    size_t between = strlen(separator);
    size_t size = prefix.size + between + rest.size;
    char *text = pfc_alloc(&w->mem, size + 1);
    if (!text)
        return failed(w);
    memcpy(text, prefix.data, prefix.size);
    memcpy(text + prefix.size, separator, between);
    memcpy(text + prefix.size + between, rest.data, rest.size);
    text[size] = 0;
    pfc_pprof_text owned = {text, size};
    if (PFC_VEC_PUSH(&w->mem, &w->texts, owned)) {
        pfc_free(&w->mem, text, size + 1);
        return failed(w);
    }
    return pfc_pprof_text_of(w, text, size);
}

/* ---- entries ---- */

void pfc_pprof_add_function(pfc_pprof_writer_state *w, profconv_id row) {
    if (row == 0 || w->function_ids[row])
        return;
    if (PFC_VEC_PUSH(&w->mem, &w->function_order, row))
        failed(w);
    else
        w->function_ids[row] = (uint32_t)w->function_order.count;
}

uint32_t pfc_pprof_add_mapping(pfc_pprof_writer_state *w, profconv_id row, uint32_t image) {
    uint32_t *ids = image ? w->image_mapping_ids : w->mapping_ids;
    if (row == 0 || ids[row])
        return ids[row];
    pfc_pprof_row entry = {row, image};
    if (PFC_VEC_PUSH(&w->mem, &w->mapping_order, entry))
        return failed(w);
    return ids[row] = (uint32_t)w->mapping_order.count;
}

uint32_t pfc_pprof_add_location(pfc_pprof_writer_state *w, profconv_id row, uint32_t image) {
    uint32_t *ids = image ? w->image_location_ids : w->location_ids;
    if (row == 0 || ids[row])
        return ids[row];
    pfc_pprof_row entry = {row, image};
    if (PFC_VEC_PUSH(&w->mem, &w->location_order, entry))
        return failed(w);
    return ids[row] = (uint32_t)w->location_order.count;
}

/* ---- which rows ---- */

static profconv_id main_mapping(const pfc_pprof_writer_state *w) {
    for (profconv_id i = 1; i < w->mappings; i++)
        if (profconv_profile_mapping(w->profile, i)->flags & PROFCONV_MAPPING_MAIN)
            return i;
    return 0;
}

/* Marks the locations of every stack that a sample has. Callers stand in rows before their callees, so one way back through
 * the table finds them all. */
static int mark_locations(pfc_pprof_writer_state *w, uint8_t *used) {
    uint32_t stacks = profconv_profile_rows(w->profile, PROFCONV_TABLE_STACK);
    uint32_t samples = profconv_profile_rows(w->profile, PROFCONV_TABLE_SAMPLE);
    uint8_t *seen = pfc_alloc_zero(&w->mem, (size_t)stacks + 1);
    if (!seen)
        return pfc_mem_error(&w->mem, w->out.error);
    for (uint32_t i = 0; i < samples; i++)
        seen[profconv_profile_sample_stack(w->profile, i)] = 1;
    for (profconv_id node = stacks; node-- > 1;)
        if (seen[node]) {
            const profconv_stack *stack = profconv_profile_stack(w->profile, node);
            seen[stack->parent] = 1;
            used[stack->location] = 1;
        }
    pfc_free(&w->mem, seen, (size_t)stacks + 1);
    return PROFCONV_OK;
}

/* What the location refers to, marked in the order of the model's tables afterwards. */
static void mark_rows_of(const pfc_pprof_writer_state *w, profconv_id location, uint8_t *functions, uint8_t *mappings) {
    const profconv_location *row = profconv_profile_location(w->profile, location);
    mappings[row->mapping] = 1;
    for (uint32_t k = 0; k < row->line_count; k++)
        functions[profconv_profile_line(w->profile, location, k)->function] = 1;
}

typedef struct marks {
    uint8_t *functions, *mappings, *locations;
} marks;

static int mark_all(pfc_pprof_writer_state *w, marks *m) {
    if (profconv_profile_verbatim(w->profile)) {
        memset(m->functions, 1, w->functions);
        memset(m->mappings, 1, w->mappings);
        memset(m->locations, 1, w->locations);
        return PROFCONV_OK;
    }
    int status = mark_locations(w, m->locations);
    for (profconv_id i = 1; !status && i < w->locations; i++)
        if (m->locations[i])
            mark_rows_of(w, i, m->functions, m->mappings);
    return status;
}

/* Ids in table order; what branch records need comes after what samples need. */
static int number_all(pfc_pprof_writer_state *w, const marks *m) {
    profconv_id first = profconv_profile_verbatim(w->profile) ? 0 : main_mapping(w);
    pfc_pprof_add_mapping(w, first, 0);
    for (profconv_id i = 1; i < w->mappings; i++)
        if (m->mappings[i])
            pfc_pprof_add_mapping(w, i, 0);
    for (profconv_id i = 1; i < w->functions; i++)
        if (m->functions[i])
            pfc_pprof_add_function(w, i);
    for (profconv_id i = 1; i < w->locations; i++)
        if (m->locations[i])
            pfc_pprof_add_location(w, i, 0);
    w->ids_are_rows = w->location_order.count + 1 == w->locations; /* none left out, so none moved */
    return w->out.status;
}

static int select_rows(pfc_pprof_writer_state *w) {
    marks m;
    m.functions = pfc_alloc_zero(&w->mem, w->functions);
    m.mappings = pfc_alloc_zero(&w->mem, w->mappings);
    m.locations = pfc_alloc_zero(&w->mem, w->locations);
    int status = w->mem.failed ? pfc_mem_error(&w->mem, w->out.error) : mark_all(w, &m);
    if (!status)
        status = number_all(w, &m);
    pfc_free(&w->mem, m.functions, w->functions);
    pfc_free(&w->mem, m.mappings, w->mappings);
    pfc_free(&w->mem, m.locations, w->locations);
    return status;
}

int pfc_pprof_select(pfc_pprof_writer_state *w, profconv_error *error) {
    static const profconv_string empty = {"", 0};
    w->functions = profconv_profile_rows(w->profile, PROFCONV_TABLE_FUNCTION);
    w->mappings = profconv_profile_rows(w->profile, PROFCONV_TABLE_MAPPING);
    w->locations = profconv_profile_rows(w->profile, PROFCONV_TABLE_LOCATION);
    w->string_rows = profconv_profile_rows(w->profile, PROFCONV_TABLE_STRING);
    w->function_ids = pfc_alloc_zero(&w->mem, w->functions * sizeof(uint32_t));
    w->mapping_ids = pfc_alloc_zero(&w->mem, w->mappings * sizeof(uint32_t));
    w->location_ids = pfc_alloc_zero(&w->mem, w->locations * sizeof(uint32_t));
    w->string_ids = pfc_alloc_zero(&w->mem, w->string_rows * sizeof(uint32_t));
    if (w->mem.failed || PFC_VEC_PUSH(&w->mem, &w->string_order, empty))
        return pfc_mem_error(&w->mem, error);
    int status = select_rows(w);
    if (!status && w->branches)
        status = pfc_pprof_select_branches(w);
    return status;
}

void pfc_pprof_select_free(pfc_pprof_writer_state *w) {
    pfc_mem *mem = &w->mem;
    pfc_free(mem, w->function_ids, w->functions * sizeof(uint32_t));
    pfc_free(mem, w->mapping_ids, w->mappings * sizeof(uint32_t));
    pfc_free(mem, w->location_ids, w->locations * sizeof(uint32_t));
    pfc_free(mem, w->image_mapping_ids, w->mappings * sizeof(uint32_t));
    pfc_free(mem, w->image_location_ids, w->locations * sizeof(uint32_t));
    pfc_free(mem, w->branch_mappings, w->mappings);
    pfc_free(mem, w->string_ids, w->string_rows * sizeof(uint32_t));
    PFC_VEC_FREE(mem, &w->mapping_order);
    PFC_VEC_FREE(mem, &w->location_order);
    PFC_VEC_FREE(mem, &w->function_order);
    PFC_VEC_FREE(mem, &w->string_order);
    for (size_t i = 0; i < w->texts.count; i++)
        pfc_free(mem, w->texts.data[i].data, w->texts.data[i].size + 1);
    PFC_VEC_FREE(mem, &w->texts);
}
