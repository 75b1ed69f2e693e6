/* SPDX-License-Identifier: MIT
 *
 * From samples to a table of functions, lines, files or mappings. Addresses and build-ids never tell rows apart, so that two builds
 * of a program can be compared.
 */
#include "libprofconv/transform/rows.h"

#include <stdio.h>
#include <string.h>

#include "libprofconv/base/text.h"

int pfc_compare_text(profconv_string a, profconv_string b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static uint64_t rehash(const void *user, uint32_t row) { return ((const pfc_rows *)user)->rows.data[row].hash; }

int pfc_rows_init(pfc_rows *r, const profconv_allocator *allocator, uint32_t by, profconv_error *error) {
    pfc_row none;
    memset(r, 0, sizeof *r);
    memset(&none, 0, sizeof none);
    pfc_mem_init(&r->mem, allocator, 0);
    pfc_arena_init(&r->texts, &r->mem);
    r->by = by;
    if (by > PROFCONV_BY_MAPPING)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "rows by %lu: there is no such kind",
                                  (unsigned long)by);
    return PFC_VEC_PUSH(&r->mem, &r->rows, none) ? pfc_mem_error(&r->mem, error) : PROFCONV_OK;
}

void pfc_rows_free(pfc_rows *r) {
    pfc_index_free(&r->mem, &r->index);
    PFC_VEC_FREE(&r->mem, &r->rows);
    pfc_arena_free(&r->texts);
}

profconv_string pfc_rows_keep(pfc_rows *r, profconv_string text) {
    profconv_string kept = {"", 0};
    char *copy = text.size ? (char *)pfc_arena_alloc(&r->texts, text.size + 1, 1) : NULL;
    if (copy) {
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
        kept.data = copy;
        kept.size = text.size;
    }
    return kept;
}

/* The row of a key, made if missing; 0: out of memory. */
static uint32_t find(pfc_rows *r, profconv_string name, profconv_string file, int64_t line, profconv_string mapping) {
    uint64_t hash = pfc_hash_keyed(r->mem.key, pfc_hash_bytes_keyed(r->mem.key, name.data, name.size), (uint64_t)line);
    hash = pfc_hash_keyed(r->mem.key, hash, pfc_hash_bytes_keyed(r->mem.key, file.data, file.size));
    uint32_t id;
    if (r->index.size) {
        pfc_probe probe = pfc_index_start(&r->index, hash);
        while ((id = pfc_index_next(&r->index, &probe)) != 0) {
            const pfc_row *row = &r->rows.data[id];
            if (row->line == line && pfc_compare_text(row->name, name) == 0 && pfc_compare_text(row->file, file) == 0)
                return id;
        }
    }
    pfc_row row;
    memset(&row, 0, sizeof row);
    row.name = pfc_rows_keep(r, name);
    row.file = pfc_rows_keep(r, file);
    row.mapping = pfc_rows_keep(r, mapping);
    row.line = line;
    row.hash = hash;
    id = (uint32_t)r->rows.count;
    if (r->mem.failed || PFC_VEC_PUSH(&r->mem, &r->rows, row) ||
        pfc_index_insert(&r->mem, &r->index, hash, id, rehash, r))
        return 0;
    return id;
}

/* ---- the rows of a location ---- */

/* One profile on its way into the table. */
typedef struct adding {
    pfc_rows *rows;
    const profconv_profile *p;
    uint32_t *first; /* per location: where its rows begin in `frames`, plus one; 0: not yet */
    PFC_VEC(uint32_t) frames; /* row ids, innermost first; 0 ends a run */
    uint32_t locations;
} adding;

profconv_string pfc_base_name(profconv_string path) {
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    const profconv_string name = {path.data + at, path.size - at};
    return name;
}

/* "[libc.so.6]": frames without a name. */
static uint32_t unnamed(adding *a, const profconv_location *l, profconv_string mapping) {
    char text[256];
    const profconv_string none = {"", 0};
    profconv_string base = pfc_base_name(mapping);
    int n;
    if (base.size == 0)
        n = snprintf(text, sizeof text, "[%s]", l->flags & PROFCONV_LOCATION_KERNEL ? "kernel" : "unknown");
    else if (base.data[0] == '[')
        n = snprintf(text, sizeof text, "%.*s", (int)(base.size < 250 ? base.size : 250), base.data);
    else
        n = snprintf(text, sizeof text, "[%.*s]", (int)(base.size < 250 ? base.size : 250), base.data);
    const profconv_string name = {text, n > 0 ? (size_t)n : 0};
    return find(a->rows, name, none, 0, mapping);
}

static uint32_t row_of_line(adding *a, const profconv_location *l, const profconv_line *line, profconv_string mapping) {
    const profconv_string none = {"", 0};
    const profconv_function *f = profconv_profile_function(a->p, line->function);
    profconv_string file = profconv_profile_string(a->p, f->file);
    profconv_string name = profconv_profile_string(a->p, f->name ? f->name : f->linkage_name);
    if (a->rows->by == PROFCONV_BY_FILE)
        return file.size ? find(a->rows, file, none, 0, mapping) : unnamed(a, l, mapping);
    if (name.size == 0 && file.size == 0)
        return unnamed(a, l, mapping);
    return find(a->rows, name, file, a->rows->by == PROFCONV_BY_LINE ? line->line : 0, mapping);
}

/* Fills `frames` for a location; nonzero on failure. */
static int open_location(adding *a, profconv_id id) {
    const profconv_location *l = profconv_profile_location(a->p, id);
    profconv_string mapping = profconv_profile_string(a->p, profconv_profile_mapping(a->p, l->mapping)->file);
    const profconv_string none = {"", 0};
    uint32_t lines = a->rows->by == PROFCONV_BY_MAPPING ? 0 : l->line_count;
    a->first[id] = (uint32_t)a->frames.count + 1;
    for (uint32_t k = 0; k < lines; k++) {
        uint32_t row = row_of_line(a, l, profconv_profile_line(a->p, id, k), mapping);
        if (!row || PFC_VEC_PUSH(&a->rows->mem, &a->frames, row))
            return 1;
    }
    if (lines == 0) {
        uint32_t row = a->rows->by == PROFCONV_BY_MAPPING && mapping.size ? find(a->rows, mapping, none, 0, mapping)
                                                                          : unnamed(a, l, mapping);
        if (!row || PFC_VEC_PUSH(&a->rows->mem, &a->frames, row))
            return 1;
    }
    return PFC_VEC_PUSH(&a->rows->mem, &a->frames, 0);
}

/* ---- values ---- */

static void add_value(int64_t *to, int64_t value) {
    int overflow = 0;
    *to = pfc_add_sat_i64(*to, value, &overflow);
}

static int add_stack(adding *a, profconv_id stack, int64_t value, int64_t count, int side, uint32_t stamp) {
    pfc_rows *r = a->rows;
    int leaf = 1;
    if (stack == 0) {
        const profconv_string name = {"[no stack]", 10}, none = {"", 0};
        uint32_t id = find(r, name, none, 0, none);
        if (!id)
            return 1;
        add_value(&r->rows.data[id].self[side], value);
        add_value(&r->rows.data[id].total[side], value);
        add_value(&r->rows.data[id].count[side], count);
    }
    for (profconv_id node = stack; node; node = profconv_profile_stack(a->p, node)->parent) {
        profconv_id location = profconv_profile_stack(a->p, node)->location;
        if (!a->first[location] && open_location(a, location))
            return 1;
        for (uint32_t k = a->first[location] - 1; a->frames.data[k]; k++) {
            pfc_row *row = &r->rows.data[a->frames.data[k]];
            if (leaf) {
                add_value(&row->self[side], value);
                add_value(&row->count[side], count);
            }
            leaf = 0;
            if (row->stamp != stamp)
                add_value(&row->total[side], value);
            row->stamp = stamp;
        }
    }
    return 0;
}

int pfc_rows_add(pfc_rows *r, const profconv_profile *p, uint32_t column, uint32_t counts, int side, profconv_error *error) {
    adding a = {r, p, NULL, {NULL, 0, 0}, profconv_profile_rows(p, PROFCONV_TABLE_LOCATION)};
    uint32_t stacks = profconv_profile_rows(p, PROFCONV_TABLE_STACK);
    size_t size = (size_t)stacks * sizeof(int64_t);
    int64_t *values = (int64_t *)pfc_alloc_zero(&r->mem, size);
    int64_t *samples = (int64_t *)pfc_alloc_zero(&r->mem, size);
    a.first = (uint32_t *)pfc_alloc_zero(&r->mem, a.locations * sizeof *a.first);
    int failed = !values || !samples || !a.first;
    for (uint32_t i = 0; !failed && i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        profconv_id stack = profconv_profile_sample_stack(p, i);
        add_value(&values[stack], profconv_profile_sample_value(p, i, column));
        if (counts != PFC_NO_COLUMN)
            add_value(&samples[stack], profconv_profile_sample_value(p, i, counts));
    }
    for (size_t i = 0; !failed && i < r->rows.count; i++)
        r->rows.data[i].stamp = 0;
    for (uint32_t i = 0; !failed && i < stacks; i++) {
        if (values[i] == 0 && samples[i] == 0)
            continue;
        add_value(&r->total[side], values[i]);
        add_value(&r->count[side], samples[i]);
        failed = add_stack(&a, i, values[i], samples[i], side, i + 1);
    }
    pfc_free(&r->mem, values, values ? size : 0);
    pfc_free(&r->mem, samples, samples ? size : 0);
    pfc_free(&r->mem, a.first, a.first ? a.locations * sizeof *a.first : 0);
    PFC_VEC_FREE(&r->mem, &a.frames);
    return failed ? pfc_mem_error(&r->mem, error) : PROFCONV_OK;
}

int pfc_find_column(const profconv_profile *p, const char *wanted, uint32_t *out, profconv_error *error) {
    char known[240] = "";
    size_t at = 0;
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    if (types == 0 || profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE) == 0)
        return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0, "the profile has no samples");
    *out = profconv_profile_default_sample_type(p);
    for (uint32_t k = 0; wanted && k < types; k++) {
        const profconv_sample_type *t = profconv_profile_sample_type(p, k);
        profconv_string name = profconv_profile_string(p, t->name), event = profconv_profile_string(p, t->event);
        if (strcmp(name.data, wanted) == 0 || (t->event && t->role != PROFCONV_ROLE_COUNT && strcmp(event.data, wanted) == 0)) {
            *out = k;
            return PROFCONV_OK;
        }
        if (name.size < 60 && at + name.size + 3 < sizeof known)
            at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", name.data);
    }
    if (!wanted)
        return PROFCONV_OK;
    return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0,
                              "there is no sample type %s; there are %s", wanted, known);
}
