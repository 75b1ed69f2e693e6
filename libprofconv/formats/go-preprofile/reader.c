/* SPDX-License-Identifier: MIT
 *
 * Reads a preprocessed profile: each edge becomes a stack of two frames with the edge's weight. The format tells the
 * distance of a call from its function's first line and not that line, so every function is taken to begin at line 1.
 */
#include <profconv/plugin.h>

#include <string.h>

#include "libprofconv/base/text.h"
#include "libprofconv/formats/go-preprofile/preprofile.h"
#include "libprofconv/io/io.h"

typedef struct go_reader {
    profconv_input *input;
    profconv_builder *builder;
    profconv_error *error;
    uint64_t line;
    size_t max_line;
} go_reader;

/* The next line, without CR LF or LF; *got is 0 at the end. */
static int next_line(go_reader *r, profconv_string *out, int *got) {
    int terminated;
    int status = pfc_input_line(r->input, r->max_line, &out->data, &out->size, got, &terminated, r->error);
    r->line++;
    if (!status && *got && out->size && out->data[out->size - 1] == '\r')
        out->size--;
    return status;
}

static int bad_line(const go_reader *r, const char *found, size_t size, const char *expected) {
    return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, r->line,
                              "line %llu: found '%.*s', expected %s", (unsigned long long)r->line,
                              (int)(size < 80 ? size : 80), found, expected);
}

static int read_header(go_reader *r) {
    profconv_string line;
    int got;
    int status = next_line(r, &line, &got);
    if (status)
        return status;
    if (!got || line.size != sizeof GO_PREPROFILE_HEADER - 1 || memcmp(line.data, GO_PREPROFILE_HEADER, line.size) != 0)
        return bad_line(r, got ? line.data : "", got ? line.size : 0, "'" GO_PREPROFILE_HEADER "'");
    return 0;
}

static profconv_id function_id(go_reader *r, profconv_id name) {
    profconv_function row;
    memset(&row, 0, sizeof row);
    row.name = row.linkage_name = name;
    row.start_line = 1;
    return profconv_builder_function(r->builder, &row);
}

static profconv_id location_id(go_reader *r, profconv_id function, int64_t at) {
    profconv_location row;
    profconv_line line;
    memset(&row, 0, sizeof row);
    memset(&line, 0, sizeof line);
    line.function = function;
    line.line = at;
    return profconv_builder_location(r->builder, &row, &line, 1);
}

/* "OFFSET WEIGHT", one blank between. */
static int parse_numbers(const go_reader *r, profconv_string line, int64_t *offset, int64_t *weight) {
    const char *end = line.data + line.size;
    const char *p = pfc_parse_i64(line.data, end, offset);
    p = p && p < end && *p == ' ' ? pfc_parse_i64(p + 1, end, weight) : NULL;
    if (p != end || *offset > INT32_MAX || *offset < INT32_MIN)
        return bad_line(r, line.data, line.size, "a call's line offset and its weight");
    return 0;
}

/* A function that calls itself: the callee's frame must not be that of the call. */
static int64_t callee_line(profconv_id caller, profconv_id callee, int64_t call_line) {
    return caller == callee ? call_line + 1 : 1;
}

static int read_edge(go_reader *r, profconv_id caller, profconv_id *last) {
    profconv_string line;
    int got;
    int64_t offset = 0, weight = 0;
    int status = next_line(r, &line, &got);
    if (!status && !got)
        return bad_line(r, "", 0, "the name of a callee");
    if (status)
        return status;
    profconv_id callee = profconv_builder_string(r->builder, line.data, line.size);
    status = next_line(r, &line, &got);
    if (!status && !got)
        return bad_line(r, "", 0, "a call's line offset and its weight");
    if (!status)
        status = parse_numbers(r, line, &offset, &weight);
    if (status)
        return status;
    profconv_id from = location_id(r, function_id(r, caller), 1 + offset);
    profconv_id to = location_id(r, function_id(r, callee), callee_line(caller, callee, 1 + offset));
    profconv_id stack = profconv_builder_stack(r->builder, profconv_builder_stack(r->builder, 0, from), to);
    if (stack && stack <= *last) /* new stacks have higher ids */
        return bad_line(r, line.data, line.size, "each caller, callee and offset once");
    *last = stack > *last ? stack : *last;
    profconv_builder_sample(r->builder, stack, 0, 0, &weight, 1);
    return 0;
}

static int read_edges(go_reader *r) {
    profconv_id last = 0;
    for (uint64_t n = 0;; n++) {
        profconv_string line;
        int got;
        int status = next_line(r, &line, &got);
        if (status || !got)
            return status;
        status = read_edge(r, profconv_builder_string(r->builder, line.data, line.size), &last);
        if (!status && n % 1024 == 0)
            status = profconv_builder_status(r->builder, r->error);
        if (status)
            return status;
    }
}

static int go_read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                   profconv_error *error) {
    (void)user;
    (void)options;
    go_reader r = {input, builder, error, 0, profconv_builder_limits(builder)->max_string};
    profconv_sample_type type;
    memset(&type, 0, sizeof type);
    type.name = profconv_builder_cstring(builder, "samples");
    type.unit = profconv_builder_cstring(builder, "count");
    type.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(builder, &type);
    int status = read_header(&r);
    if (!status)
        status = read_edges(&r);
    if (!status && r.line > 2)
        profconv_report_add(profconv_builder_report(builder), PROFCONV_NOTE_INFO, "start-lines", 1, 0,
                            PROFCONV_NO_OFFSET, 0,
                            "lines are counted from 1 in each function: the format tells no others");
    return status ? status : profconv_builder_status(builder, error);
}

static int go_probe(void *user, const uint8_t *head, size_t size, int whole) {
    static const char header[] = GO_PREPROFILE_HEADER "\n";
    (void)user;
    (void)whole;
    return size >= sizeof header - 1 && memcmp(head, header, sizeof header - 1) == 0 ? 100 : 0;
}

const char *const pfc_go_preprofile_aliases[] = {"preprofile", NULL};
const char *const pfc_go_preprofile_suffixes[] = {".preprofile", NULL};

extern const profconv_reader pfc_go_preprofile_reader;
const profconv_reader pfc_go_preprofile_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = GO_PREPROFILE_SCOPE,
    .aliases = pfc_go_preprofile_aliases,
    .suffixes = pfc_go_preprofile_suffixes,
    .description = "call edges for Go's compiler (GO PREPROFILE V1)",
    .produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES | PROFCONV_FACET_STACKS,
    .probe = go_probe,
    .read = go_read,
};
