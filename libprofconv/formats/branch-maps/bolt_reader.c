/* SPDX-License-Identifier: MIT
 *
 * Reading BOLT's branch profile (fdata): symbols and offsets in them. There are no addresses in it, so a location has no
 * mapping, the offset as its address, and the symbol as its only frame.
 */
#include <string.h>

#include "libprofconv/formats/branch-maps/maps.h"

#define MAX_LINE (1 << 20)

typedef struct fdata_in {
    profconv_input *input;
    profconv_builder *builder;
    profconv_error *error;
    uint64_t line;
    const char *at, *end; /* of the line in hand */
    int no_lbr;
    uint32_t type;       /* column of samples */
    uint64_t loads;      /* rows of memory accesses, and their counts */
    uint64_t load_count;
    pfc_buf name;
} fdata_in;

/* A place as a row names it. */
typedef struct fdata_place {
    int kind; /* '0' no symbol, '1' a symbol, '2' a local one of old versions; '3' to '5' the same of memory accesses */
    uint64_t offset;
} fdata_place;

static int next_line(fdata_in *in, int *got) {
    const char *text;
    size_t size;
    int terminated;
    do {
        in->line++;
        int status = pfc_input_line(in->input, MAX_LINE, &text, &size, got, &terminated, in->error);
        if (status || !*got)
            return status;
    } while (size == 0 || (size == 1 && text[0] == '\r'));
    in->at = text;
    in->end = text + size - (text[size - 1] == '\r');
    return 0;
}

static int bad(const fdata_in *in, const char *expected) {
    if (in->name.failed)
        return pfc_mem_error(in->name.mem, in->error);
    return profconv_error_set(in->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, in->line, "line %llu: expected %s",
                              (unsigned long long)in->line, expected);
}

static int space(fdata_in *in) {
    if (in->at == in->end || *in->at != ' ')
        return 0;
    in->at++;
    return 1;
}

/* "KIND NAME OFFSET"; blanks and backslashes in the name stand behind a backslash. The name goes to in->name. */
static int place(fdata_in *in, fdata_place *out) {
    if (in->at == in->end || *in->at < '0' || *in->at > '5')
        return 0;
    out->kind = *in->at++;
    if (!space(in))
        return 0;
    pfc_buf_clear(&in->name);
    while (in->at < in->end && *in->at != ' ') {
        if (*in->at == '\\' && in->end - in->at > 1)
            in->at++;
        pfc_buf_char(&in->name, *in->at++);
    }
    if (in->name.size == 0 || !space(in))
        return 0;
    in->at = pfc_parse_hex(in->at, in->end, &out->offset);
    return in->at != NULL;
}

static int number(fdata_in *in, uint64_t *value) {
    return space(in) && (in->at = pfc_parse_u64(in->at, in->end, value)) != NULL;
}

/* Of the place read last; 0 where there is no symbol. */
static profconv_id location(fdata_in *in, const fdata_place *p) {
    if (p->kind == '0' || p->kind == '3')
        return 0;
    profconv_function function = {0};
    function.name = function.linkage_name = profconv_builder_string(in->builder, in->name.data, in->name.size);
    profconv_line line = {.function = profconv_builder_function(in->builder, &function)};
    profconv_location row = {.address = p->offset};
    return profconv_builder_location(in->builder, &row, &line, 1);
}

static int sample(fdata_in *in) {
    fdata_place p;
    uint64_t count;
    if (!place(in, &p) || p.kind > '2' || !number(in, &count) || in->at != in->end)
        return bad(in, "a sample 'KIND SYMBOL OFFSET COUNT'");
    if (count > INT64_MAX)
        return bad(in, "a count of at most 63 bits");
    profconv_id id = location(in, &p);
    int64_t value = (int64_t)count;
    profconv_builder_sample(in->builder, id ? profconv_builder_stack(in->builder, 0, id) : 0, 0, in->type, &value, 1);
    return 0;
}

static int branch(fdata_in *in) {
    fdata_place from, to;
    uint64_t first, count = 0;
    if (!place(in, &from) || !space(in))
        return bad(in, "a branch 'KIND SYMBOL OFFSET KIND SYMBOL OFFSET MISPREDICTED COUNT'");
    profconv_id a = location(in, &from);
    if (!place(in, &to) || !number(in, &first))
        return bad(in, "a branch 'KIND SYMBOL OFFSET KIND SYMBOL OFFSET MISPREDICTED COUNT'");
    if (from.kind >= '3' && in->at == in->end) {
        in->loads++;
        in->load_count = pfc_add_sat(in->load_count, first);
        return 0;
    }
    profconv_id b = location(in, &to);
    if (from.kind > '2' || to.kind > '2' || !number(in, &count) || in->at != in->end)
        return bad(in, "a branch 'KIND SYMBOL OFFSET KIND SYMBOL OFFSET MISPREDICTED COUNT'");
    profconv_builder_branch(in->builder, a, b, count, first, 0);
    return 0;
}

static int is_word(const fdata_in *in, const char *word) {
    size_t n = strlen(word);
    return (size_t)(in->end - in->at) >= n && memcmp(in->at, word, n) == 0 &&
           ((size_t)(in->end - in->at) == n || in->at[n] == ' ');
}

/* The lines before the rows; *got stays nonzero with the first row in hand. */
static int header(fdata_in *in, int *got) {
    int status = next_line(in, got);
    if (!status && *got && is_word(in, "boltedcollection")) {
        profconv_builder_attribute(in->builder, "bolt-collection", "bolted", 6);
        status = next_line(in, got);
    }
    if (status || !*got || !is_word(in, "no_lbr"))
        return status;
    profconv_sample_type type = {.role = PROFCONV_ROLE_COUNT};
    const char *event = in->at + 6;
    while (event < in->end && *event == ' ')
        event++;
    type.name = profconv_builder_cstring(in->builder, "samples");
    type.unit = profconv_builder_cstring(in->builder, "count");
    type.event = profconv_builder_string(in->builder, event, (size_t)(in->end - event));
    in->type = profconv_builder_sample_type(in->builder, &type);
    in->no_lbr = 1;
    return next_line(in, got);
}

static int read_fdata(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                      profconv_error *error) {
    (void)user;
    (void)options;
    pfc_mem mem;
    fdata_in in = {.input = input, .builder = builder, .error = error};
    int got = 0;
    pfc_mem_init(&mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    pfc_buf_init(&in.name, &mem);
    profconv_builder_attribute(builder, "places", "symbol+offset", 13); /* the writer's sign */
    int status = header(&in, &got);
    while (!status && got) {
        status = in.no_lbr ? sample(&in) : branch(&in);
        if (!status && in.name.failed)
            status = pfc_mem_error(&mem, error);
        if (!status && (status = profconv_builder_status(builder, error)) == 0)
            status = next_line(&in, &got);
    }
    if (in.loads)
        profconv_report_add(profconv_builder_report(builder), PROFCONV_NOTE_DROPPED, "memory-accesses", in.loads,
                            in.load_count > INT64_MAX ? INT64_MAX : (int64_t)in.load_count, PROFCONV_NO_OFFSET, 0,
                            "rows of memory accesses are not read");
    pfc_buf_free(&in.name);
    return status ? status : profconv_builder_status(builder, error);
}

/* Blanks-separated fields of a row that look right: KIND NAME HEX, and numbers behind it. */
static int looks_like_row(const char *p, const char *end, int no_lbr) {
    for (int i = 0; i < (no_lbr ? 1 : 2); i++) {
        uint64_t offset;
        if (end - p < 5 || p[0] < '0' || p[0] > '5' || p[1] != ' ')
            return 0;
        for (p += 2; p < end && *p != ' '; p++)
            p += *p == '\\' && end - p > 1;
        if (p >= end || (p = pfc_parse_hex(p + 1, end, &offset)) == NULL || p == end || *p++ != ' ')
            return 0;
    }
    uint64_t count;
    p = pfc_parse_u64(p, end, &count);
    if (p && !no_lbr && p < end && *p == ' ')
        p = pfc_parse_u64(p + 1, end, &count);
    return p == end;
}

static int probe_fdata(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    const char *p = (const char *)head, *end = p + size;
    int no_lbr = 0, rows = 0;
    for (int line = 0; line < 8 && p < end; line++) {
        const char *stop = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (!stop && !whole)
            break;
        const char *line_end = stop ? stop : end;
        size_t n = (size_t)(line_end - p);
        if (line < 2 && rows == 0 && n >= 6 && memcmp(p, "no_lbr", 6) == 0)
            no_lbr = 1;
        else if (line == 0 && n == 16 && memcmp(p, "boltedcollection", 16) == 0)
            rows = 0;
        else if (looks_like_row(p, line_end, no_lbr))
            rows++;
        else
            return 0;
        p = stop ? stop + 1 : end;
    }
    return rows ? 92 : no_lbr ? 60 : 0;
}

static const char *const suffixes[] = {".fdata", NULL};

const profconv_reader pfc_bolt_fdata_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "bolt-fdata",
    .suffixes = suffixes,
    .description = "LLVM BOLT's branch profile of one binary, text",
    .produces = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES,
    .probe = probe_fdata,
    .read = read_fdata,
};
