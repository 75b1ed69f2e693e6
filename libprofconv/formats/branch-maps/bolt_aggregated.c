/* SPDX-License-Identifier: MIT
 *
 * What `perf2bolt -pa` reads: branches (B FROM TO COUNT MISPREDICTED) and ranges (F BEGIN END COUNT) at link-time
 * addresses, 0 for anywhere outside. BOLT decodes what ran through the ranges. For a range that begins behind a call it
 * matters whether a return led there (f), and the call fell through, or a jump inside the function (F): a range's count
 * is parted as the branches to its beginning are.
 */
#include <stdlib.h>
#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/formats/branch-maps/bolt.h"

typedef struct pa_segment {
    uint64_t offset, size, address;
} pa_segment;

typedef struct pa_row {
    uint64_t from, to; /* file offsets; OUTSIDE */
    uint64_t count, mispredicted;
    int range;
} pa_row;

typedef struct pa_arrival {
    uint64_t to, inside, outside; /* counts, by where in relation to the function around `to` the branches came from */
} pa_arrival;

typedef struct pa_out {
    const pfc_bolt_aggregated *what;
    const profconv_profile *profile;
    pfc_mem *mem;
    PFC_VEC(pa_segment) segments;
    PFC_VEC(pa_row) rows;
    PFC_VEC(pa_arrival) arrivals;
    pfc_buf text;
    uint64_t left_out, left_out_sum;
} pa_out;

#define OUTSIDE UINT64_MAX

/* ---- link-time addresses ---- */

static uint64_t hex(const char **at, const char *end) {
    uint64_t value = 0;
    for (; *at < end; ++*at) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : 16;
        if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        if (digit == 16)
            break;
        value = value << 4 | digit;
    }
    *at += *at < end; /* what separates it */
    return value;
}

/* The executable segments, which symbolization leaves in an attribute: "OFFSET SIZE ADDRESS ..." in hexadecimal. */
static int read_segments(pa_out *out, profconv_error *error) {
    static const char prefix[] = "segments:";
    const pfc_choice *c = out->what->choice;
    const profconv_mapping *m = profconv_profile_mapping(out->profile, c->binaries.data[c->chosen].mapping);
    profconv_string id = profconv_profile_string(out->profile, m->build_id ? m->build_id : m->file);
    pfc_buf key;
    pfc_buf_init(&key, out->mem);
    pfc_buf_add(&key, prefix, sizeof prefix - 1);
    pfc_buf_add(&key, id.data, id.size);
    pfc_buf_char(&key, 0);
    profconv_string value = {"", 0};
    if (!key.failed)
        value = profconv_profile_find_attribute(out->profile, key.data);
    int status = key.failed;
    pfc_buf_free(&key);
    for (const char *at = value.data, *end = at + value.size; !status && at < end;) {
        pa_segment s = {0, 0, 0};
        s.offset = hex(&at, end);
        s.size = hex(&at, end);
        s.address = hex(&at, end);
        status = PFC_VEC_PUSH(out->mem, &out->segments, s);
    }
    if (status)
        return pfc_mem_error(out->mem, error);
    if (out->segments.count)
        return 0;
    return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                              "the binary's program headers were not read, so its addresses are unknown (with names in "
                              "the profile already, convert.symbolize=yes reads them)");
}

/* Zero outside of the segments, as BOLT has it for anywhere else. */
static uint64_t address_of(const pa_out *out, uint64_t offset) {
    for (size_t i = 0; i < out->segments.count && offset != OUTSIDE; i++)
        if (offset - out->segments.data[i].offset < out->segments.data[i].size)
            return offset - out->segments.data[i].offset + out->segments.data[i].address;
    return 0;
}

/* ---- rows ---- */

static uint64_t offset_of(const pa_out *out, profconv_id location) {
    const pfc_choice *c = out->what->choice;
    return location && pfc_choice_has(c, location) ? pfc_choice_offset(c, location) : OUTSIDE;
}

static int add_branch(pa_out *out, const profconv_branch *b) {
    pa_row row = {offset_of(out, b->from), offset_of(out, b->to), b->count, b->mispredicted, 0};
    if (row.from == OUTSIDE && row.to == OUTSIDE) {
        out->left_out++;
        out->left_out_sum = pfc_add_sat(out->left_out_sum, b->count);
        return 0;
    }
    if (PFC_VEC_PUSH(out->mem, &out->rows, row))
        return out->mem->failed;
    int inside = row.from != OUTSIDE && out->what->same_function(out->what->user, row.from, row.to);
    pa_arrival a = {row.to, inside ? b->count : 0, inside ? 0 : b->count};
    return row.to == OUTSIDE ? 0 : PFC_VEC_PUSH(out->mem, &out->arrivals, a);
}

static int add_range(pa_out *out, const profconv_range *r) {
    pa_row row = {offset_of(out, r->begin), offset_of(out, r->end), r->count, 0, 1};
    if (row.from != OUTSIDE && row.to != OUTSIDE && row.from <= row.to)
        return PFC_VEC_PUSH(out->mem, &out->rows, row);
    out->left_out++;
    out->left_out_sum = pfc_add_sat(out->left_out_sum, r->count);
    return 0;
}

static int compare_rows(const void *x, const void *y) {
    const pa_row *a = (const pa_row *)x, *b = (const pa_row *)y;
    if (a->range != b->range)
        return a->range - b->range;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int compare_arrivals(const void *x, const void *y) {
    const pa_arrival *a = (const pa_arrival *)x, *b = (const pa_arrival *)y;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Sorts, and makes one of what is equal. */
static void unite(pa_out *out) {
    size_t kept = 0;
    if (out->rows.count)
        qsort(out->rows.data, out->rows.count, sizeof *out->rows.data, compare_rows);
    for (size_t i = 0; i < out->rows.count; i++) {
        pa_row *last = kept ? &out->rows.data[kept - 1] : NULL, *row = &out->rows.data[i];
        if (last && compare_rows(last, row) == 0) {
            last->count = pfc_add_sat(last->count, row->count);
            last->mispredicted = pfc_add_sat(last->mispredicted, row->mispredicted);
        } else {
            out->rows.data[kept++] = *row;
        }
    }
    out->rows.count = kept;
    kept = 0;
    if (out->arrivals.count)
        qsort(out->arrivals.data, out->arrivals.count, sizeof *out->arrivals.data, compare_arrivals);
    for (size_t i = 0; i < out->arrivals.count; i++) {
        pa_arrival *last = kept ? &out->arrivals.data[kept - 1] : NULL, *a = &out->arrivals.data[i];
        if (last && last->to == a->to) {
            last->inside = pfc_add_sat(last->inside, a->inside);
            last->outside = pfc_add_sat(last->outside, a->outside);
        } else {
            out->arrivals.data[kept++] = *a;
        }
    }
    out->arrivals.count = kept;
}

/* How much of a range's count came from outside of its function. */
static uint64_t part_from_outside(const pa_out *out, const pa_row *range) {
    size_t low = 0, high = out->arrivals.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (out->arrivals.data[middle].to < range->from)
            low = middle + 1;
        else
            high = middle;
    }
    const pa_arrival *a = low < out->arrivals.count ? &out->arrivals.data[low] : NULL;
    if (!a || a->to != range->from || a->outside == 0)
        return 0;
    if (a->inside == 0)
        return range->count;
    double part = (double)a->outside / ((double)a->inside + (double)a->outside) * (double)range->count + 0.5;
    return part >= (double)range->count ? range->count : (uint64_t)part;
}

/* ---- text ---- */

static void put(pa_out *out, char kind, const pa_row *row, uint64_t count) {
    if (count == 0)
        return;
    pfc_buf_char(&out->text, kind);
    pfc_buf_char(&out->text, ' ');
    pfc_buf_hex(&out->text, address_of(out, row->from));
    pfc_buf_char(&out->text, ' ');
    pfc_buf_hex(&out->text, address_of(out, row->to));
    pfc_buf_char(&out->text, ' ');
    pfc_buf_u64(&out->text, count);
    if (kind == 'B') {
        pfc_buf_char(&out->text, ' ');
        pfc_buf_u64(&out->text, row->mispredicted);
    }
    pfc_buf_char(&out->text, '\n');
}

static int put_rows(pa_out *out, profconv_output *output, profconv_error *error) {
    enum { FLUSH_AT = 1 << 16 };
    int status = 0;
    for (size_t i = 0; i < out->rows.count && !status; i++) {
        const pa_row *row = &out->rows.data[i];
        uint64_t outside = row->range ? part_from_outside(out, row) : 0;
        put(out, row->range ? 'F' : 'B', row, row->count - outside);
        put(out, 'f', row, outside);
        if (out->text.failed)
            return pfc_mem_error(out->mem, error);
        if (out->text.size < FLUSH_AT && i + 1 < out->rows.count)
            continue;
        status = out->text.size ? profconv_output_write(output, out->text.data, out->text.size, error) : 0;
        pfc_buf_clear(&out->text);
    }
    return status;
}

int pfc_bolt_write_aggregated(const pfc_bolt_aggregated *what, profconv_output *output, profconv_error *error) {
    const profconv_profile *p = what->choice->profile;
    pa_out out = {.what = what, .profile = p, .mem = what->mem};
    pfc_buf_init(&out.text, out.mem);
    int status = read_segments(&out, error);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n && !status; i++)
        if (add_branch(&out, profconv_profile_branch(p, i)))
            status = pfc_mem_error(out.mem, error);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n && !status; i++)
        if (add_range(&out, profconv_profile_range(p, i)))
            status = pfc_mem_error(out.mem, error);
    if (!status && out.rows.count == 0)
        status = profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                    "no branch or range has an end in the binary");
    if (!status) {
        if (out.left_out)
            profconv_report_add(what->report, PROFCONV_NOTE_DROPPED, "record-outside-binary", out.left_out,
                                out.left_out_sum > INT64_MAX ? INT64_MAX : (int64_t)out.left_out_sum,
                                PROFCONV_NO_OFFSET, 0, "branches and ranges in other binaries");
        unite(&out);
        status = put_rows(&out, output, error);
    }
    PFC_VEC_FREE(out.mem, &out.segments);
    PFC_VEC_FREE(out.mem, &out.rows);
    PFC_VEC_FREE(out.mem, &out.arrivals);
    pfc_buf_free(&out.text);
    return status;
}
