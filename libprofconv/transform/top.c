/* SPDX-License-Identifier: MIT
 *
 * What a profile spends most on: a sorted table of self and total values.
 */
#include "libprofconv/base/sort.h"
#include "libprofconv/base/struct.h"
#include "libprofconv/transform/rows.h"

struct profconv_top {
    pfc_rows rows;
    uint32_t *order;
    size_t count;
    uint32_t cumulative;
    profconv_string name, unit;
};

static int by_size(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    return x > y ? -1 : x < y;
}

static int compare(const void *user, uint32_t a, uint32_t b) {
    const profconv_top *top = (const profconv_top *)user;
    const pfc_row *x = &top->rows.rows.data[a], *y = &top->rows.rows.data[b];
    int self = by_size(x->self[0], y->self[0]), total = by_size(x->total[0], y->total[0]);
    int order = top->cumulative ? total : self;
    order = order ? order : top->cumulative ? self : total;
    order = order ? order : pfc_compare_text(x->name, y->name);
    order = order ? order : pfc_compare_text(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int fill(profconv_top *top, const profconv_profile *p, const profconv_top_options *o, profconv_error *error) {
    pfc_rows *r = &top->rows;
    uint32_t column = 0;
    int status = pfc_find_column(p, o->sample_type, &column, error);
    if (!status)
        status = pfc_rows_add(r, p, column, PFC_NO_COLUMN, 0, error);
    if (status)
        return status;
    const profconv_sample_type *t = profconv_profile_sample_type(p, column);
    top->name = pfc_rows_keep(r, profconv_profile_string(p, t->name));
    top->unit = pfc_rows_keep(r, profconv_profile_string(p, t->unit));
    top->cumulative = o->cumulative;
    top->count = r->rows.count - 1;
    top->order = (uint32_t *)pfc_alloc(&r->mem, (top->count + 1) * sizeof *top->order);
    for (size_t i = 0; top->order && i < top->count; i++)
        top->order[i] = (uint32_t)i + 1;
    if (!top->order || r->mem.failed || pfc_sort_ids(&r->mem, top->order, top->count, compare, top))
        return pfc_mem_error(&r->mem, error);
    return PROFCONV_OK;
}

int profconv_top_new(profconv_top **out, const profconv_profile *profile, const profconv_top_options *options,
                     profconv_error *error) {
    profconv_top_options o;
    pfc_mem mem;
    *out = NULL;
    int status = pfc_struct_copy(&o, sizeof o, options, "profconv_top_options", error);
    if (status)
        return status;
    pfc_mem_init(&mem, profconv_profile_allocator(profile), 0);
    profconv_top *top = (profconv_top *)pfc_alloc_zero(&mem, sizeof *top);
    if (!top)
        return pfc_mem_error(&mem, error);
    status = pfc_rows_init(&top->rows, profconv_profile_allocator(profile), o.by, error);
    if (!status)
        status = fill(top, profile, &o, error);
    if (status) {
        profconv_top_free(top);
        return status;
    }
    *out = top;
    return PROFCONV_OK;
}

void profconv_top_free(profconv_top *top) {
    if (!top)
        return;
    pfc_mem mem = top->rows.mem;
    pfc_free(&top->rows.mem, top->order, top->order ? (top->count + 1) * sizeof *top->order : 0);
    pfc_rows_free(&top->rows);
    pfc_free(&mem, top, sizeof *top);
}

size_t profconv_top_count(const profconv_top *top) { return top->count; }
int64_t profconv_top_total(const profconv_top *top) { return top->rows.total[0]; }

int profconv_top_get(const profconv_top *top, size_t index, profconv_top_row *out) {
    if (index >= top->count)
        return PROFCONV_E_INVALID;
    const pfc_row *row = &top->rows.rows.data[top->order[index]];
    out->name = row->name;
    out->file = row->file;
    out->mapping = row->mapping;
    out->line = row->line;
    out->self = row->self[0];
    out->total = row->total[0];
    return PROFCONV_OK;
}

void profconv_top_type(const profconv_top *top, profconv_string *name, profconv_string *unit) {
    *name = top->name;
    *unit = top->unit;
}
