/* SPDX-License-Identifier: MIT
 *
 * profgen-raw: llvm-profgen's unsymbolized profile, ranges and branches of one binary, by context or not. Offsets count
 * from the page of the first executable segment, which differs from a file offset by the page of that segment in the
 * file.
 */
#include <string.h>

#include "libprofconv/formats/branch-maps/maps.h"

#define SCOPE "profgen-raw"

/* What turns offsets of the file into those of this format. Both formats have no place for it, so it is told. */
#define BASE_SETTINGS                                                                                                  \
    {"text-offset", PROFCONV_SETTING_STRING, "0", NULL,                                                                \
     "page-aligned file offset of the first executable segment, hexadecimal"},                                         \
        {"base", PROFCONV_SETTING_STRING, "0", NULL,                                                                   \
         "page-aligned virtual address of the first executable segment, hexadecimal"},                                 \
    {                                                                                                                  \
        "absolute", PROFCONV_SETTING_BOOL, "no", NULL, "keys are virtual addresses (llvm-profgen --use-offset=0)"      \
    }

typedef struct pfc_raw_base {
    uint64_t text_offset;
    uint64_t base;
    uint64_t shift;    /* key + shift = file offset, modulo 2^64 */
    uint64_t external; /* key of a branch source outside the binary */
    int told;          /* base was given */
} pfc_raw_base;

static int hex_setting(const profconv_options *options, const profconv_setting *settings, const char *key,
                       uint64_t *value, profconv_error *error) {
    const char *text = profconv_options_string(options, SCOPE, settings, key);
    const char *end = text + strlen(text);
    if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    if (text == end || pfc_parse_hex(text, end, value) != end)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "setting " SCOPE ".%s: not a hexadecimal number", key);
    return PROFCONV_OK;
}

static int get_base(const profconv_options *options, const profconv_setting *settings, pfc_raw_base *out,
                    profconv_error *error) {
    int status = hex_setting(options, settings, "text-offset", &out->text_offset, error);
    if (status == PROFCONV_OK)
        status = hex_setting(options, settings, "base", &out->base, error);
    int absolute = profconv_options_bool(options, SCOPE, settings, "absolute");
    out->told = profconv_options_has(options, SCOPE, "base");
    if (status == PROFCONV_OK && absolute && !out->told)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "setting " SCOPE ".absolute needs " SCOPE ".base");
    /* llvm-profgen's stand-in for addresses outside the binary is the address 1. */
    out->shift = absolute ? out->text_offset - out->base : out->text_offset;
    out->external = absolute ? 1 : 1 - out->base;
    return status;
}

/* ---- reading ---- */

static const profconv_setting reader_settings[] = {
    {"file", PROFCONV_SETTING_STRING, NULL, NULL, "path of the binary that the offsets belong to"},
    {"build-id", PROFCONV_SETTING_STRING, NULL, NULL, "build-id of that binary, hexadecimal"},
    BASE_SETTINGS,
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

typedef struct pfc_raw_in {
    pfc_map_lines lines;
    profconv_builder *builder;
    profconv_id mapping;
    pfc_raw_base base;
    uint64_t groups, contexts, external;
} pfc_raw_in;

static profconv_id location(const pfc_raw_in *in, uint64_t key) {
    return profconv_builder_address_location(in->builder, in->mapping, key + in->base.shift, 0);
}

/* Without the base: address 1 less a page-aligned base is a number just above a page, huge when the base is not 0. */
static int is_external(const pfc_raw_in *in, const pfc_map_row *row) {
    if (in->base.told)
        return row->from == in->base.external;
    return (row->from & 0xfff) == 1 && (row->from == 1 || (row->from >> 63 && !(row->to >> 63)));
}

static int read_rows(pfc_raw_in *in, uint64_t n, int branches) {
    int status = PROFCONV_OK;
    for (uint64_t i = 0; status == PROFCONV_OK && i < n; i++) {
        pfc_map_row row;
        if ((status = pfc_map_next_line(&in->lines)) != PROFCONV_OK)
            break;
        if (!pfc_map_pair(&in->lines, branches ? "->" : "-", &row) || (!branches && row.to < row.from))
            return pfc_map_bad_line(&in->lines, branches ? "a branch 'FROM->TO:COUNT'" : "a range 'BEGIN-END:COUNT'");
        int external = branches && is_external(in, &row);
        profconv_id from = external ? 0 : location(in, row.from), to = location(in, row.to);
        if (!branches) {
            profconv_builder_range(in->builder, from, to, row.count);
        } else {
            profconv_builder_branch(in->builder, from, to, row.count, 0, 0);
            in->external += (uint64_t)external;
        }
        if ((i & 1023) == 1023)
            status = profconv_builder_status(in->builder, in->lines.error);
    }
    return status;
}

static int read_group(pfc_raw_in *in) {
    uint64_t n;
    int status = PROFCONV_OK;
    in->groups++;
    if (*in->lines.text == '[') {
        if (in->lines.end[-1] != ']')
            return pfc_map_bad_line(&in->lines, "']' at the end of a context");
        in->contexts++;
        status = pfc_map_next_line(&in->lines);
    }
    if (status == PROFCONV_OK && !pfc_map_count(&in->lines, &n))
        return pfc_map_bad_line(&in->lines, "the number of ranges, or a context '[...]'");
    if (status == PROFCONV_OK)
        status = read_rows(in, n, 0);
    if (status == PROFCONV_OK)
        status = pfc_map_next_line(&in->lines);
    if (status == PROFCONV_OK && !pfc_map_count(&in->lines, &n))
        return pfc_map_bad_line(&in->lines, "the number of branches");
    return status == PROFCONV_OK ? read_rows(in, n, 1) : status;
}

static int read_raw(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                    profconv_error *error) {
    (void)user;
    pfc_raw_in in = {{input, error, 0, "", "", 0}, builder, 0, {0, 0, 0, 0, 0}, 0, 0, 0};
    int status = get_base(options, reader_settings, &in.base, error);
    if (status != PROFCONV_OK)
        return status;
    profconv_mapping mapping;
    memset(&mapping, 0, sizeof mapping);
    mapping.kind = PROFCONV_MAPPING_EXECUTABLE;
    mapping.flags = PROFCONV_MAPPING_MAIN;
    const char *file = profconv_options_string(options, SCOPE, reader_settings, "file");
    const char *build_id = profconv_options_string(options, SCOPE, reader_settings, "build-id");
    mapping.file = profconv_builder_cstring(builder, file ? file : "");
    mapping.build_id = profconv_builder_cstring(builder, build_id ? build_id : "");
    in.mapping = profconv_builder_mapping(builder, &mapping);
    while ((status = pfc_map_next_line(&in.lines)) == PROFCONV_OK && in.lines.got)
        if ((status = read_group(&in)) != PROFCONV_OK)
            return status;
    if (status == PROFCONV_OK && in.groups == 0)
        return pfc_map_bad_line(&in.lines, "the number of ranges, or a context '[...]'");
    if (in.contexts)
        profconv_report_add(profconv_builder_report(builder), PROFCONV_NOTE_LOST, "contexts", in.contexts, 0,
                            PROFCONV_NO_OFFSET, 0, "contexts are not kept: their ranges and branches were added up");
    return status == PROFCONV_OK ? profconv_builder_status(builder, error) : status;
}

/* Rows of a group: ranges after the first number, branches after the second; a context may come first. */
static int probe_raw(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    const char *p = (const char *)head, *end = p + size;
    uint64_t left = 0;
    unsigned lists = 0;
    int context = 0;
    while (p < end && lists <= 2) {
        const char *stop = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (!stop && !whole)
            break;
        pfc_map_lines lines = {NULL, NULL, 0, p, stop ? stop : end, 1};
        pfc_map_row row;
        while (lines.end > lines.text && (lines.end[-1] == '\r' || lines.end[-1] == ' '))
            lines.end--;
        while (lines.text < lines.end && *lines.text == ' ')
            lines.text++;
        p = stop ? stop + 1 : end;
        if (lists == 0 && !context && lines.end - lines.text >= 2 && *lines.text == '[' && lines.end[-1] == ']') {
            context = 1;
        } else if (left == 0) {
            if (lists == 2)
                return context && lines.text < lines.end && *lines.text == '[' ? 95 : 0;
            if (!pfc_map_count(&lines, &left))
                return 0;
            lists++;
        } else {
            if (!pfc_map_pair(&lines, lists == 1 ? "-" : "->", &row))
                return 0;
            left--;
            if (lists == 2)
                return 95;
        }
    }
    if (whole)
        return lists == 2 && left == 0 ? 80 : 0;
    return lists == 0 ? 0 : context ? 70 : 50;
}

/* ---- writing ---- */

static const profconv_setting writer_settings[] = {
    {"binary", PROFCONV_SETTING_STRING, NULL, NULL,
     "binary to write: path, base name or build-id (default: the one with the most counts)"},
    BASE_SETTINGS,
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

static void put_row(pfc_buf *buf, uint64_t from, const char *separator, uint64_t to, uint64_t count) {
    pfc_buf_hex(buf, from);
    pfc_buf_text(buf, separator);
    pfc_buf_hex(buf, to);
    pfc_buf_char(buf, ':');
    pfc_buf_u64(buf, count);
    pfc_buf_char(buf, '\n');
}

typedef struct pfc_raw_rows {
    size_t branch, entry; /* the next of each */
} pfc_raw_rows;

/* The next branch in the order of this format, by the address of the source, which for one from outside is 1: a branch
 * of the binary's own from there cannot be told from it, so that both are one row. */
static int next_branch(const pfc_maps *maps, const pfc_raw_base *base, pfc_raw_rows *at, pfc_map_row *row) {
    const pfc_map_row *b = at->branch < maps->branches.count ? &maps->branches.data[at->branch] : NULL;
    const pfc_map_row *e = at->entry < maps->entries.count ? &maps->entries.data[at->entry] : NULL;
    if (!b && !e)
        return 0;
    uint64_t source = b ? b->from - base->shift - (base->external - 1) : 2;
    int take_b = b && (!e || source == 0 || (source == 1 && b->to <= e->to));
    int take_e = e && (!b || source > 1 || (source == 1 && e->to <= b->to));
    row->from = take_b ? b->from - base->shift : base->external;
    row->to = (take_b ? b->to : e->to) - base->shift;
    row->count = pfc_add_sat(take_b ? b->count : 0, take_e ? e->count : 0);
    at->branch += (size_t)take_b;
    at->entry += (size_t)take_e;
    return 1;
}

static void put_branches(pfc_buf *buf, const pfc_maps *maps, const pfc_raw_base *base) {
    pfc_raw_rows counting = {0, 0}, at = {0, 0};
    pfc_map_row row;
    uint64_t rows = 0;
    while (next_branch(maps, base, &counting, &row))
        rows++;
    pfc_buf_u64(buf, rows);
    pfc_buf_char(buf, '\n');
    while (next_branch(maps, base, &at, &row))
        put_row(buf, row.from, "->", row.to, row.count);
}

static int write_raw(void *user, const profconv_profile *profile, profconv_output *output,
                     const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    pfc_raw_base base;
    int status = get_base(options, writer_settings, &base, error);
    if (status != PROFCONV_OK)
        return status;
    pfc_mem mem;
    pfc_maps maps;
    pfc_buf buf;
    pfc_mem_init(&mem, profconv_profile_allocator(profile), 0);
    pfc_buf_init(&buf, &mem);
    status = pfc_maps_make(&maps, &mem, profile, profconv_options_string(options, SCOPE, writer_settings, "binary"),
                           report, error);
    if (status == PROFCONV_OK && !pfc_map_counted(&maps.ranges) && !pfc_map_counted(&maps.branches) &&
        !pfc_map_counted(&maps.entries))
        status = profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                    "the recording has addresses only: no branch records, no ranges");
    if (status == PROFCONV_OK) {
        if (maps.addresses.count)
            profconv_report_add(report, PROFCONV_NOTE_LOST, "addresses", maps.addresses.count, 0, PROFCONV_NO_OFFSET, 0,
                                "counts of sampled addresses");
        pfc_buf_u64(&buf, maps.ranges.count);
        pfc_buf_char(&buf, '\n');
        for (size_t i = 0; i < maps.ranges.count; i++) {
            const pfc_map_row *r = &maps.ranges.data[i];
            put_row(&buf, r->from - base.shift, "-", r->to - base.shift, r->count);
        }
        put_branches(&buf, &maps, &base);
        status = buf.failed ? pfc_mem_error(&mem, error) : profconv_output_write(output, buf.data, buf.size, error);
    }
    pfc_buf_free(&buf);
    pfc_maps_free(&maps);
    return status;
}

static const char *const suffixes[] = {".raw.prof", NULL};

const profconv_reader pfc_profgen_raw_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = SCOPE,
    .suffixes = suffixes,
    .description = "llvm-profgen's unsymbolized profile of one binary, text",
    .settings = reader_settings,
    .produces = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_ADDRESSES,
    .probe = probe_raw,
    .read = read_raw,
};

const profconv_writer pfc_profgen_raw_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = SCOPE,
    .suffixes = suffixes,
    .description = "llvm-profgen's unsymbolized profile of one binary, text",
    .settings = writer_settings,
    .needs = PROFCONV_FACET_BRANCHES,
    .keeps = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_ADDRESSES,
    .labels = "",
    .write = write_raw,
};
