/* SPDX-License-Identifier: MIT
 *
 * autofdo-text: three lists of one binary (ranges, addresses, branches), each after its length. No name, no build-id.
 */
#include <string.h>

#include "libprofconv/formats/branch-maps/maps.h"

/* ---- reading ---- */

typedef struct pfc_afdo_in {
    pfc_map_lines lines;
    profconv_builder *builder;
    profconv_id mapping;
} pfc_afdo_in;

static const profconv_setting reader_settings[] = {
    {"file", PROFCONV_SETTING_STRING, NULL, NULL, "path of the binary that the offsets belong to"},
    {"build-id", PROFCONV_SETTING_STRING, NULL, NULL, "build-id of that binary, hexadecimal"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

static profconv_id location(const pfc_afdo_in *in, uint64_t offset) {
    return profconv_builder_address_location(in->builder, in->mapping, offset, 0);
}

static void add(const pfc_afdo_in *in, int section, const pfc_map_row *row) {
    profconv_id from = location(in, row->from);
    if (section == 1)
        profconv_builder_address(in->builder, from, row->count);
    else if (section == 0)
        profconv_builder_range(in->builder, from, location(in, row->to), row->count);
    else
        profconv_builder_branch(in->builder, from, location(in, row->to), row->count, 0, 0);
}

static int read_section(pfc_afdo_in *in, int section) {
    static const char *const separators[] = {"-", "", "->"};
    static const char *const counts[] = {"the number of ranges", "the number of addresses", "the number of branches"};
    static const char *const rows[] = {"a range 'BEGIN-END:COUNT'", "an address 'OFFSET:COUNT'",
                                       "a branch 'FROM->TO:COUNT'"};
    uint64_t n;
    int status = pfc_map_next_line(&in->lines);
    if (status == PROFCONV_OK && !pfc_map_count(&in->lines, &n))
        status = pfc_map_bad_line(&in->lines, counts[section]);
    for (uint64_t i = 0; status == PROFCONV_OK && i < n; i++) {
        pfc_map_row row;
        if ((status = pfc_map_next_line(&in->lines)) != PROFCONV_OK)
            break;
        if (!pfc_map_pair(&in->lines, separators[section], &row) || (section == 0 && row.to < row.from))
            return pfc_map_bad_line(&in->lines, rows[section]);
        add(in, section, &row);
        if ((i & 1023) == 1023)
            status = profconv_builder_status(in->builder, in->lines.error);
    }
    return status;
}

/* Text of any kind may follow the maps, lines of any length included. */
static int read_rest(pfc_afdo_in *in) {
    int status = pfc_map_next_line(&in->lines);
    if (in->lines.got || status == PROFCONV_E_LIMIT)
        profconv_report_add(profconv_builder_report(in->builder), PROFCONV_NOTE_INFO, "trailing-text", 1, 0,
                            PROFCONV_NO_OFFSET, in->lines.number, "text after the maps is not read");
    return status == PROFCONV_E_LIMIT ? PROFCONV_OK : status;
}

static int read_afdo(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                     profconv_error *error) {
    (void)user;
    pfc_afdo_in in = {{input, error, 0, "", "", 0}, builder, 0};
    profconv_mapping mapping;
    memset(&mapping, 0, sizeof mapping);
    mapping.kind = PROFCONV_MAPPING_EXECUTABLE;
    mapping.flags = PROFCONV_MAPPING_MAIN;
    const char *file = profconv_options_string(options, "autofdo-text", reader_settings, "file");
    const char *build_id = profconv_options_string(options, "autofdo-text", reader_settings, "build-id");
    mapping.file = profconv_builder_cstring(builder, file ? file : "");
    mapping.build_id = profconv_builder_cstring(builder, build_id ? build_id : "");
    in.mapping = profconv_builder_mapping(builder, &mapping);
    int status = PROFCONV_OK;
    for (int section = 0; status == PROFCONV_OK && section < 3; section++)
        status = read_section(&in, section);
    if (status == PROFCONV_OK)
        status = read_rest(&in);
    return status == PROFCONV_OK ? profconv_builder_status(builder, error) : status;
}

/* What a line is: 'n' a number (in *number), '-' a range, ':' an address, '>' a branch, 0 something else. */
static char line_kind(const char *text, const char *end, uint64_t *number) {
    pfc_map_lines lines = {NULL, NULL, 0, text, end, 1};
    pfc_map_row row;
    if (pfc_map_count(&lines, number))
        return 'n';
    if (pfc_map_pair(&lines, "->", &row))
        return '>';
    if (pfc_map_pair(&lines, "-", &row))
        return '-';
    return pfc_map_pair(&lines, "", &row) ? ':' : 0;
}

/* Follows the three lists as far as they are shown. llvm-profgen's raw profile has no list of addresses in the middle;
 * as long as only ranges are seen, this format is the likelier one. */
static int probe_afdo(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    const char *p = (const char *)head, *end = p + size;
    uint64_t left = 0;
    unsigned lists = 0;
    while (p < end && !(lists == 3 && left == 0)) {
        const char *stop = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (!stop && !whole)
            break;
        const char *line_end = stop ? stop : end;
        if (line_end > p && line_end[-1] == '\r')
            line_end--;
        uint64_t number = 0;
        char kind = line_kind(p, line_end, &number);
        if (left == 0 ? kind != 'n' : kind != "-:>"[lists - 1])
            return 0;
        left = left == 0 ? number : left - 1;
        lists += kind == 'n';
        if (kind == ':')
            return 95;
        p = stop ? stop + 1 : end;
    }
    if (whole || lists == 3)
        return lists == 3 && left == 0 ? 90 : lists == 3 && !whole ? 85 : 0;
    return lists > 0 ? 60 : 0;
}

/* ---- writing ---- */

static const profconv_setting writer_settings[] = {
    {"binary", PROFCONV_SETTING_STRING, NULL, NULL,
     "binary to write: path, base name or build-id (default: the one with the most counts)"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

static void put_rows(pfc_buf *buf, const pfc_map_rows *rows, const char *separator) {
    pfc_buf_u64(buf, rows->count);
    pfc_buf_char(buf, '\n');
    for (size_t i = 0; i < rows->count; i++) {
        pfc_buf_hex(buf, rows->data[i].from);
        if (*separator) {
            pfc_buf_text(buf, separator);
            pfc_buf_hex(buf, rows->data[i].to);
        }
        pfc_buf_char(buf, ':');
        pfc_buf_u64(buf, rows->data[i].count);
        pfc_buf_char(buf, '\n');
    }
}

static int write_afdo(void *user, const profconv_profile *profile, profconv_output *output,
                      const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    pfc_mem mem;
    pfc_maps maps;
    pfc_buf buf;
    pfc_mem_init(&mem, profconv_profile_allocator(profile), 0);
    pfc_buf_init(&buf, &mem);
    const char *binary = profconv_options_string(options, "autofdo-text", writer_settings, "binary");
    int status = pfc_maps_make(&maps, &mem, profile, binary, report, error);
    if (status == PROFCONV_OK && !pfc_map_counted(&maps.ranges) && !pfc_map_counted(&maps.branches) &&
        !pfc_map_counted(&maps.addresses))
        status = profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                    "no range, branch or address has both its ends in the binary");
    if (status == PROFCONV_OK) {
        uint64_t sum = 0;
        for (size_t i = 0; i < maps.entries.count; i++)
            sum = pfc_add_sat(sum, maps.entries.data[i].count);
        if (maps.entries.count)
            profconv_report_add(report, PROFCONV_NOTE_DROPPED, "branch-from-outside", maps.entries.count,
                                sum > INT64_MAX ? INT64_MAX : (int64_t)sum, PROFCONV_NO_OFFSET, 0,
                                "branches into the binary from outside it");
        put_rows(&buf, &maps.ranges, "-");
        put_rows(&buf, &maps.addresses, "");
        put_rows(&buf, &maps.branches, "->");
        status = buf.failed ? pfc_mem_error(&mem, error) : profconv_output_write(output, buf.data, buf.size, error);
    }
    pfc_buf_free(&buf);
    pfc_maps_free(&maps);
    return status;
}

static const char *const aliases[] = {"afdo-text", NULL};
static const char *const suffixes[] = {".maps.txt", ".afdotext", NULL};

const profconv_reader pfc_autofdo_text_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "autofdo-text",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "AutoFDO's aggregated samples of one binary, text",
    .settings = reader_settings,
    .produces = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_ADDRESSES,
    .probe = probe_afdo,
    .read = read_afdo,
};

/* An address-only profile is enough: its leaves become the address map. */
const profconv_writer pfc_autofdo_text_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "autofdo-text",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "AutoFDO's aggregated samples of one binary, text",
    .settings = writer_settings,
    .needs = PROFCONV_FACET_ADDRESSES,
    .keeps = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_ADDRESSES,
    .improves = PROFCONV_FACET_BRANCHES,
    .labels = "",
    .write = write_afdo,
};
