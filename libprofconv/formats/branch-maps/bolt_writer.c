/* SPDX-License-Identifier: MIT
 *
 * Writing BOLT's branch profile (fdata): each end of a branch as the symbol around it and the offset in it. What BOLT
 * knows of ranges it works out by decoding instructions, which is not done here: it infers the fall-through counts from
 * the branches. Without branch records: sampled addresses, the form `no_lbr`.
 *
 * Local symbols are called NAME/N, N counting the local symbols of the name by address, as BOLT does; stubs of the PLT
 * NAME@PLT.
 */
#include <stdlib.h>
#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/formats/branch-maps/bolt.h"

/* A function's extent in the binary, by file offset. */
typedef struct fdata_function {
    uint64_t begin, end;
    size_t name, size; /* in fdata_out.names */
    uint64_t reach;    /* highest `end` so far */
} fdata_function;

typedef struct fdata_end {
    profconv_string name; /* empty: no symbol */
    uint64_t offset;
} fdata_end;

typedef struct fdata_row {
    fdata_end from, to;
    uint64_t count, mispredicted;
} fdata_row;

typedef struct fdata_out {
    pfc_mem mem;
    const profconv_profile *profile;
    profconv_report *report;
    pfc_choice choice;
    int symbolic; /* nothing has a mapping: locations are symbols and offsets, as the reader makes them */
    pfc_buf names;
    PFC_VEC(fdata_function) functions;
    PFC_VEC(fdata_row) rows;
    uint64_t outside, outside_sum; /* rows with no end in the binary */
    uint64_t nameless, nameless_sum; /* rows with an end in it, but none in a function */
} fdata_out;

/* ---- functions ---- */

static int add_functions(fdata_out *out) {
    const profconv_profile *p = out->profile;
    uint32_t n = profconv_profile_rows(p, PROFCONV_TABLE_ENTRY);
    size_t bytes = (n + (size_t)1) * sizeof(pfc_key);
    pfc_key *keys = (pfc_key *)pfc_alloc(&out->mem, bytes);
    size_t count = 0;
    if (!keys)
        return out->mem.failed;
    for (uint32_t i = 0; i < n; i++) {
        const profconv_entry *e = profconv_profile_entry(p, i);
        const profconv_mapping *m = profconv_profile_mapping(p, e->mapping);
        pfc_key key = {e->address - m->start + m->file_offset, 0, i};
        if (e->mapping && out->choice.group[e->mapping] == out->choice.chosen && e->name)
            keys[count++] = key;
    }
    int status = pfc_sort_keys(&out->mem, keys, count);
    uint64_t reach = 0;
    for (size_t i = 0; !status && i < count; i++) {
        const profconv_entry *e = profconv_profile_entry(p, keys[i].id);
        uint64_t next = i + 1 < count ? keys[i + 1].key : UINT64_MAX;
        fdata_function f = {keys[i].key, e->size ? pfc_add_sat(keys[i].key, e->size) : next, out->names.size, 0, 0};
        profconv_string name = profconv_profile_string(p, e->name);
        pfc_buf_add(&out->names, name.data, name.size);
        if (e->ordinal) {
            pfc_buf_char(&out->names, '/');
            pfc_buf_u64(&out->names, e->ordinal);
        }
        f.size = out->names.size - f.name;
        f.reach = reach = reach > f.end ? reach : f.end;
        status = out->names.failed ? out->names.failed : PFC_VEC_PUSH(&out->mem, &out->functions, f);
    }
    pfc_free(&out->mem, keys, bytes);
    return status;
}

/* The innermost function around an offset. */
static const fdata_function *function_at(const fdata_out *out, uint64_t offset) {
    size_t low = 0, high = out->functions.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (out->functions.data[middle].begin <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low > 0 && out->functions.data[low - 1].reach > offset; low--)
        if (out->functions.data[low - 1].end > offset)
            return &out->functions.data[low - 1];
    return NULL;
}

static int is_inside(const fdata_out *out, profconv_id id) {
    return id && (out->symbolic || pfc_choice_has(&out->choice, id));
}

static fdata_end end_of(const fdata_out *out, profconv_id id) {
    fdata_end none = {{"", 0}, 0};
    if (!is_inside(out, id))
        return none;
    if (out->symbolic) {
        const profconv_location *l = profconv_profile_location(out->profile, id);
        const profconv_line *line = profconv_profile_line(out->profile, id, l->line_count ? l->line_count - 1 : 0);
        profconv_id name = profconv_profile_function(out->profile, line->function)->linkage_name;
        fdata_end e = {profconv_profile_string(out->profile, name), l->address};
        return e.name.size ? e : none;
    }
    uint64_t offset = pfc_choice_offset(&out->choice, id);
    const fdata_function *f = function_at(out, offset);
    if (!f)
        return none;
    fdata_end e = {{out->names.data + f->name, f->size}, offset - f->begin};
    return e;
}

/* ---- rows ---- */

/* `inside`: an end of it is in the binary. */
static int add_row(fdata_out *out, const fdata_row *row, int inside) {
    if (row->count == 0)
        return 0;
    if (row->from.name.size || row->to.name.size)
        return PFC_VEC_PUSH(&out->mem, &out->rows, *row);
    uint64_t *rows = inside ? &out->nameless : &out->outside;
    uint64_t *sum = inside ? &out->nameless_sum : &out->outside_sum;
    ++*rows;
    *sum = pfc_add_sat(*sum, row->count);
    return 0;
}

static int add_branches(fdata_out *out) {
    int status = 0;
    for (uint32_t i = 0, n = profconv_profile_rows(out->profile, PROFCONV_TABLE_BRANCH); !status && i < n; i++) {
        const profconv_branch *b = profconv_profile_branch(out->profile, i);
        fdata_row row = {end_of(out, b->from), end_of(out, b->to), b->count, b->mispredicted};
        status = add_row(out, &row, is_inside(out, b->from) || is_inside(out, b->to));
    }
    return status;
}

static int add_samples(fdata_out *out) {
    int status = 0;
    for (uint32_t i = 0, n = pfc_choice_address_rows(&out->choice); !status && i < n; i++) {
        profconv_address a = pfc_choice_address(&out->choice, i);
        fdata_row row = {end_of(out, a.location), {{"", 0}, 0}, a.count, 0};
        status = add_row(out, &row, is_inside(out, a.location));
    }
    return status;
}

static int compare_ends(const fdata_end *a, const fdata_end *b) {
    size_t n = a->name.size < b->name.size ? a->name.size : b->name.size;
    int order = memcmp(a->name.data, b->name.data, n);
    if (order == 0 && a->name.size != b->name.size)
        order = a->name.size < b->name.size ? -1 : 1;
    return order ? order : a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int compare_rows(const void *x, const void *y) {
    const fdata_row *a = (const fdata_row *)x, *b = (const fdata_row *)y;
    int order = compare_ends(&a->from, &b->from);
    return order ? order : compare_ends(&a->to, &b->to);
}

/* Sorts, and adds up rows with equal ends. */
static void unite_rows(fdata_out *out) {
    size_t kept = 0;
    if (out->rows.count)
        qsort(out->rows.data, out->rows.count, sizeof *out->rows.data, compare_rows);
    for (size_t i = 0; i < out->rows.count; i++) {
        const fdata_row *row = &out->rows.data[i];
        if (kept && compare_rows(&out->rows.data[kept - 1], row) == 0) {
            fdata_row *last = &out->rows.data[kept - 1];
            last->count = pfc_add_sat(last->count, row->count);
            last->mispredicted = pfc_add_sat(last->mispredicted, row->mispredicted);
        } else {
            out->rows.data[kept++] = *row;
        }
    }
    out->rows.count = kept;
}

/* ---- text ---- */

static void put_end(pfc_buf *buf, const fdata_end *end) {
    if (end->name.size == 0) {
        pfc_buf_text(buf, "0 [unknown] 0 ");
        return;
    }
    pfc_buf_text(buf, "1 ");
    for (size_t i = 0; i < end->name.size; i++) {
        if (end->name.data[i] == ' ' || end->name.data[i] == '\\')
            pfc_buf_char(buf, '\\');
        pfc_buf_char(buf, end->name.data[i] == '\n' || end->name.data[i] == '\r' ? '?' : end->name.data[i]);
    }
    pfc_buf_char(buf, ' ');
    pfc_buf_hex(buf, end->offset);
    pfc_buf_char(buf, ' ');
}

static void put_header(const fdata_out *out, pfc_buf *buf, int samples) {
    profconv_string bolted = profconv_profile_find_attribute(out->profile, "bolt-collection");
    if (bolted.size == 6 && memcmp(bolted.data, "bolted", 6) == 0)
        pfc_buf_text(buf, "boltedcollection\n");
    if (!samples)
        return;
    const profconv_sample_type *type = profconv_profile_sample_type(out->profile, out->choice.leaf_type);
    profconv_string event = profconv_profile_string(out->profile, type->event);
    pfc_buf_text(buf, "no_lbr");
    if (event.size) {
        pfc_buf_char(buf, ' ');
        for (size_t i = 0; i < event.size; i++)
            pfc_buf_char(buf, event.data[i] == '\n' || event.data[i] == '\r' ? '?' : event.data[i]);
    }
    pfc_buf_char(buf, '\n');
}

static int put_rows(const fdata_out *out, profconv_output *output, int samples, profconv_error *error) {
    enum { FLUSH_AT = 1 << 16 };
    pfc_mem mem;
    pfc_buf buf;
    int status = 0;
    pfc_mem_init(&mem, profconv_profile_allocator(out->profile), 0);
    pfc_buf_init(&buf, &mem);
    put_header(out, &buf, samples);
    for (size_t i = 0; !status && i < out->rows.count; i++) {
        const fdata_row *row = &out->rows.data[i];
        put_end(&buf, &row->from);
        if (!samples) {
            put_end(&buf, &row->to);
            pfc_buf_u64(&buf, row->mispredicted);
            pfc_buf_char(&buf, ' ');
        }
        pfc_buf_u64(&buf, row->count);
        pfc_buf_char(&buf, '\n');
        if (buf.failed)
            status = pfc_mem_error(&mem, error);
        else if (buf.size >= FLUSH_AT || i + 1 == out->rows.count) {
            status = profconv_output_write(output, buf.data, buf.size, error);
            pfc_buf_clear(&buf);
        }
    }
    pfc_buf_free(&buf);
    return status;
}

/* ---- the whole ---- */

static const profconv_setting writer_settings[] = {
    {"binary", PROFCONV_SETTING_STRING, NULL, NULL,
     "binary to write: path, base name or build-id (default: the one with the most counts)"},
    {"aggregated", PROFCONV_SETTING_BOOL, "no", NULL,
     "branches and ranges by address, which `perf2bolt -pa` makes a profile of, with what fell through"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

static int same_function(const void *user, uint64_t a, uint64_t b) {
    const fdata_out *out = (const fdata_out *)user;
    const fdata_function *f = function_at(out, a);
    return f && f == function_at(out, b);
}

static int write_aggregated(fdata_out *out, profconv_output *output, profconv_error *error) {
    pfc_bolt_aggregated what = {&out->choice, &out->mem, out->report, same_function, out};
    uint32_t addresses = profconv_profile_rows(out->profile, PROFCONV_TABLE_ADDRESS);
    if (out->symbolic || profconv_profile_rows(out->profile, PROFCONV_TABLE_BRANCH) == 0)
        return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                  "bolt-fdata.aggregated needs branches at addresses of a binary, and there are %s",
                                  out->symbolic ? "only symbols" : "none");
    if (addresses)
        profconv_report_add(out->report, PROFCONV_NOTE_LOST, "addresses", addresses, 0, PROFCONV_NO_OFFSET, 0,
                            "counts of sampled addresses");
    return pfc_bolt_write_aggregated(&what, output, error);
}

static int make_rows(fdata_out *out, const char *binary, int *samples, profconv_error *error) {
    const profconv_profile *p = out->profile;
    profconv_string places = profconv_profile_find_attribute(p, "places");
    out->symbolic = profconv_profile_rows(p, PROFCONV_TABLE_MAPPING) <= 1 && places.size == 13 &&
                    memcmp(places.data, "symbol+offset", 13) == 0;
    int status = pfc_choice_make(&out->choice, &out->mem, p, binary, out->report, error);
    if (out->symbolic && (status == PROFCONV_E_EMPTY || (status == PROFCONV_E_NOT_FOUND && binary)))
        status = 0; /* there is no binary to choose */
    if (status)
        return status;
    if (!out->symbolic)
        status = add_functions(out);
    if (!status && !out->symbolic && out->functions.count == 0)
        return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                  "it is not known where the functions begin: the binary's symbols were not read (with "
                                  "names in the profile already, convert.symbolize=yes reads them)");
    *samples = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH) == 0;
    if (!status)
        status = *samples ? add_samples(out) : add_branches(out);
    return status ? pfc_mem_error(&out->mem, error) : 0;
}

static void note_dropped(const fdata_out *out, const char *cause, uint64_t rows, uint64_t sum, const char *what) {
    if (rows)
        profconv_report_add(out->report, PROFCONV_NOTE_DROPPED, cause, rows, sum > INT64_MAX ? INT64_MAX : (int64_t)sum,
                            PROFCONV_NO_OFFSET, 0, "%s", what);
}

static void note_rows(const fdata_out *out, int samples) {
    uint32_t ranges = profconv_profile_rows(out->profile, PROFCONV_TABLE_RANGE);
    uint32_t addresses = samples ? 0 : profconv_profile_rows(out->profile, PROFCONV_TABLE_ADDRESS);
    note_dropped(out, samples ? "address-outside-binary" : "branch-outside-binary", out->outside, out->outside_sum,
                 samples ? "samples in another binary" : "branches with both ends in other binaries");
    note_dropped(out, samples ? "address-no-function" : "branch-no-function", out->nameless, out->nameless_sum,
                 samples ? "samples in no function of the binary" : "branches in no function of the binary");
    if (ranges)
        profconv_report_add(out->report, PROFCONV_NOTE_LOST, "ranges", ranges, 0, PROFCONV_NO_OFFSET, 0,
                            "counts of linear ranges: BOLT infers them from the branches");
    if (addresses)
        profconv_report_add(out->report, PROFCONV_NOTE_LOST, "addresses", addresses, 0, PROFCONV_NO_OFFSET, 0,
                            "counts of sampled addresses");
}

static int write_fdata(void *user, const profconv_profile *profile, profconv_output *output,
                       const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    fdata_out out = {.profile = profile, .report = report};
    int samples = 0;
    pfc_mem_init(&out.mem, profconv_profile_allocator(profile), 0);
    pfc_buf_init(&out.names, &out.mem);
    int status =
        make_rows(&out, profconv_options_string(options, "bolt-fdata", writer_settings, "binary"), &samples, error);
    int aggregated = profconv_options_bool(options, "bolt-fdata", writer_settings, "aggregated");
    if (!status && aggregated) {
        status = write_aggregated(&out, output, error);
    } else if (!status) {
        unite_rows(&out);
        if (out.rows.count == 0)
            status = profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                        "none of %llu %s has an end in a function of the binary",
                                        (unsigned long long)(out.outside + out.nameless), samples ? "samples" : "branches");
    }
    if (!status && !aggregated) {
        note_rows(&out, samples);
        status = put_rows(&out, output, samples, error);
    }
    PFC_VEC_FREE(&out.mem, &out.rows);
    PFC_VEC_FREE(&out.mem, &out.functions);
    pfc_buf_free(&out.names);
    pfc_choice_free(&out.choice);
    return status;
}

static const char *const suffixes[] = {".fdata", NULL};
static const char *const pass_settings[] = {"symbolize.entries=yes", "symbolize.lines=no", NULL};

const profconv_writer pfc_bolt_fdata_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "bolt-fdata",
    .suffixes = suffixes,
    .description = "LLVM BOLT's branch profile of one binary, text",
    .settings = writer_settings,
    .needs = PROFCONV_FACET_SYMBOLS,
    .keeps = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_SYMBOLS,
    .improves = PROFCONV_FACET_BRANCHES,
    .labels = "",
    .write = write_fdata,
    .pass_settings = pass_settings,
};
