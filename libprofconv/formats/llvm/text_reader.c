/* SPDX-License-Identifier: MIT
 *
 * Reads llvm-text: lines into source rows. Metadata (checksum, attributes) is held back until its function ends,
 * because each metadata line replaces the attributes of the one before.
 */
#include <string.h>

#include "libprofconv/formats/llvm/llvm.h"
#include "libprofconv/formats/llvm/text_line.h"

typedef struct pfc_text_scope {
    profconv_source row; /* identity of the function or call site; total and head are 0 */
    profconv_id id;
    int metadata; /* row.checksum, row.attributes or row.flags were set */
} pfc_text_scope;

typedef struct pfc_text_in {
    pfc_mem mem;
    profconv_builder *builder;
    profconv_error *error;
    uint64_t line;
    uint32_t max_depth;
    PFC_VEC(pfc_text_scope) scopes;
    PFC_VEC(pfc_key) targets; /* of the line: key name id, tie order, id index of its count */
    PFC_VEC(uint64_t) counts;
    uint32_t metadata_depth;
    uint64_t functions, contexts, probes, preinlined, flat, vtables;
} pfc_text_in;

/* The line as far as it fits a message; odd bytes are shown as '?'. */
static int bad_line(pfc_text_in *in, const char *text, size_t size, const char *expected) {
    char shown[81];
    size_t n = size < sizeof shown - 1 ? size : sizeof shown - 1;
    for (size_t i = 0; i < n; i++)
        shown[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    shown[n] = '\0';
    return profconv_error_set(in->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, in->line,
                              "line %llu: found '%s%s', expected %s", (unsigned long long)in->line, shown,
                              n < size ? "..." : "", expected);
}

static void close_scopes(pfc_text_in *in, size_t keep) {
    while (in->scopes.count > keep) {
        pfc_text_scope *scope = &in->scopes.data[--in->scopes.count];
        if (scope->metadata)
            profconv_builder_source(in->builder, &scope->row);
    }
}

static int open_scope(pfc_text_in *in, const profconv_source *row) {
    if (in->scopes.count >= in->max_depth)
        return profconv_error_set(in->error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, in->line,
                                  "line %llu: more than %u functions inlined into each other (max_depth)",
                                  (unsigned long long)in->line, in->max_depth);
    pfc_text_scope scope = {*row, profconv_builder_source(in->builder, row), 0};
    scope.row.total = scope.row.head = 0;
    return PFC_VEC_PUSH(&in->mem, &in->scopes, scope) ? pfc_mem_error(&in->mem, in->error) : PROFCONV_OK;
}

/* "main:3 @ foo:2.1 @ bar": the callers into context rows, the last into row->name. */
static int read_context(pfc_text_in *in, const char *text, const char *end, profconv_source *row) {
    for (;;) {
        const char *stop = text;
        while (stop < end && !(end - stop >= 3 && memcmp(stop, " @ ", 3) == 0))
            stop++;
        int last = stop == end;
        const char *colon = (const char *)memchr(text, ':', (size_t)(stop - text));
        const char *name_end = colon ? colon : stop;
        profconv_context frame = {row->context, profconv_builder_string(in->builder, text, (size_t)(name_end - text)),
                                  0, 0};
        if (colon && !pfc_text_location(colon + 1, stop, &frame.line, &frame.discriminator))
            return 0;
        if (last) {
            row->name = frame.name;
            return name_end > text;
        }
        row->context = profconv_builder_context(in->builder, &frame);
        text = stop + 3;
    }
}

static int read_header(pfc_text_in *in, const pfc_text_line *line, const char *text, size_t size) {
    profconv_source row;
    memset(&row, 0, sizeof row);
    close_scopes(in, 0);
    in->metadata_depth = 0;
    in->functions++;
    row.total = line->count;
    row.head = line->head;
    if (line->name_size > 0 && line->name[0] == '[') {
        const char *end = line->name + line->name_size;
        if (line->name_size < 3 || end[-1] != ']' || !read_context(in, line->name + 1, end - 1, &row))
            return bad_line(in, text, size, "a context '[caller:LINE @ ... @ name]:TOTAL:HEAD'");
        in->contexts++;
    } else {
        row.name = profconv_builder_string(in->builder, line->name, line->name_size);
    }
    return open_scope(in, &row);
}

static int read_callsite(pfc_text_in *in, const pfc_text_line *line) {
    profconv_source row;
    memset(&row, 0, sizeof row);
    row.parent = in->scopes.data[in->scopes.count - 1].id;
    row.line = line->line;
    row.discriminator = line->discriminator;
    row.total = line->count;
    row.name = profconv_builder_string(in->builder, line->name, line->name_size);
    in->metadata_depth = 0;
    return open_scope(in, &row);
}

/* Of a target that is there twice on one line the last count holds. */
static int add_targets(pfc_text_in *in, profconv_id body) {
    int status = in->targets.count > 1 ? pfc_sort_keys(&in->mem, in->targets.data, in->targets.count) : 0;
    if (status)
        return pfc_mem_error(&in->mem, in->error);
    for (size_t i = 0; i < in->targets.count; i++) {
        const pfc_key *t = &in->targets.data[i];
        if (i + 1 == in->targets.count || t[1].key != t->key)
            profconv_builder_source_target(in->builder, body, (profconv_id)t->key, in->counts.data[t->id]);
    }
    return PROFCONV_OK;
}

static int read_body(pfc_text_in *in, const pfc_text_line *line, const char *text, size_t size) {
    profconv_id source = in->scopes.data[in->scopes.count - 1].id;
    const char *rest = line->rest, *name = NULL;
    size_t name_size = 0;
    uint64_t count = 0;
    int got;
    in->targets.count = in->counts.count = 0;
    while ((got = pfc_text_next_target(&rest, line->end, &name, &name_size, &count)) > 0) {
        uint32_t at = (uint32_t)in->targets.count;
        pfc_key key = {profconv_builder_string(in->builder, name, name_size), at, at};
        if (PFC_VEC_PUSH(&in->mem, &in->targets, key) || PFC_VEC_PUSH(&in->mem, &in->counts, count))
            return pfc_mem_error(&in->mem, in->error);
    }
    if (got < 0)
        return bad_line(in, text, size, "'LINE[.DISCRIMINATOR]: COUNT[ name:COUNT]*'");
    profconv_id body = profconv_builder_source_body(in->builder, source, line->line, line->discriminator, line->count);
    return add_targets(in, body);
}

static void read_metadata(pfc_text_in *in, const pfc_text_line *line) {
    pfc_text_scope *scope = &in->scopes.data[in->scopes.count - 1];
    scope->metadata = 1;
    if (line->kind == PFC_TEXT_CHECKSUM) {
        scope->row.attributes = 0;
        scope->row.flags &= ~(uint32_t)PROFCONV_SOURCE_ATTRIBUTES;
        if (line->count) {
            scope->row.checksum = line->count;
            scope->row.flags |= PROFCONV_SOURCE_CHECKSUM;
            in->probes += line->depth == 1;
        }
    } else {
        scope->row.attributes = (uint32_t)line->count;
        scope->row.flags |= PROFCONV_SOURCE_ATTRIBUTES;
        in->preinlined += (line->count & PFC_LLVM_SHOULD_BE_INLINED) != 0;
    }
    in->metadata_depth = line->depth;
}

static int read_vtables(pfc_text_in *in, const pfc_text_line *line, const char *text, size_t size) {
    const char *end = line->end, *rest = line->rest, *name;
    size_t name_size;
    uint64_t count;
    int got;
    while (end > rest && end[-1] == ' ')
        end--;
    while ((got = pfc_text_next_target(&rest, end, &name, &name_size, &count)) > 0)
        in->vtables++;
    return got < 0 ? bad_line(in, text, size, "'LINE[.DISCRIMINATOR]: vtables name:COUNT ...'") : PROFCONV_OK;
}

static int read_line(pfc_text_in *in, const char *text, size_t size) {
    pfc_text_line line;
    if (size > 0 && memchr(text, 0, size))
        return bad_line(in, text, size, "text without NUL bytes");
    pfc_text_parse(text, size, &line);
    if (line.kind == PFC_TEXT_BLANK)
        return PROFCONV_OK;
    if (line.kind == PFC_TEXT_BAD)
        return bad_line(in, text, size, line.expected);
    if (line.kind == PFC_TEXT_HEADER)
        return read_header(in, &line, text, size);
    if (in->scopes.count == 0)
        return bad_line(in, text, size, "'name:TOTAL:HEAD' of a function first");
    int metadata = line.kind == PFC_TEXT_CHECKSUM || line.kind == PFC_TEXT_ATTRIBUTES || line.kind == PFC_TEXT_FLAT;
    if (!metadata && line.depth == in->metadata_depth)
        return bad_line(in, text, size, "no more lines of a function after its metadata");
    /* Deeper than there are functions: the line belongs to the innermost. */
    close_scopes(in, line.depth);
    switch (line.kind) {
    case PFC_TEXT_CALLSITE:
        return read_callsite(in, &line);
    case PFC_TEXT_BODY:
        return read_body(in, &line, text, size);
    case PFC_TEXT_VTABLES:
        return read_vtables(in, &line, text, size);
    case PFC_TEXT_FLAT:
        in->flat++;
        in->metadata_depth = line.depth;
        return PROFCONV_OK;
    default:
        read_metadata(in, &line);
        return PROFCONV_OK;
    }
}

static int read_lines(pfc_text_in *in, profconv_input *input, size_t max) {
    int status = PROFCONV_OK;
    while (status == PROFCONV_OK) {
        const char *text;
        size_t size;
        int got = 0, terminated = 0;
        in->line++;
        status = pfc_input_line(input, max, &text, &size, &got, &terminated, in->error);
        if (status != PROFCONV_OK || !got)
            break;
        if (terminated && size > 0 && text[size - 1] == '\r')
            size--;
        status = read_line(in, text, size);
        if (status == PROFCONV_OK && (in->line & 1023) == 0)
            status = profconv_builder_status(in->builder, in->error);
    }
    if (status == PROFCONV_OK)
        close_scopes(in, 0);
    return status;
}

static void finish(pfc_text_in *in) {
    profconv_report *report = profconv_builder_report(in->builder);
    profconv_info info;
    profconv_builder_get_info(in->builder, &info);
    if (in->contexts)
        info.source_flags |= PROFCONV_SOURCES_CONTEXT;
    if (in->probes)
        info.source_flags |= PROFCONV_SOURCES_PROBES;
    if (in->preinlined)
        info.source_flags |= PROFCONV_SOURCES_PREINLINED;
    profconv_builder_set_info(in->builder, &info);
    if (in->contexts && in->contexts != in->functions)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "mixed-contexts", in->functions - in->contexts, 0,
                            PROFCONV_NO_OFFSET, 0, "functions without a context in a context-sensitive profile");
    if (in->probes && in->probes < in->functions)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "mixed-probes", in->functions - in->probes, 0,
                            PROFCONV_NO_OFFSET, 0, "functions without a checksum in a profile of pseudo probes");
    if (in->vtables)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "vtables", in->vtables, 0, PROFCONV_NO_OFFSET, 0,
                            "counts of virtual tables were skipped");
    if (in->flat)
        profconv_report_add(report, PROFCONV_NOTE_INFO, "flat-marks", in->flat, 0, PROFCONV_NO_OFFSET, 0,
                            "'!Flat' marks were skipped: they follow from the content");
    if (in->functions == 0)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "no-functions", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "the profile holds no function");
}

static int read_text(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                     profconv_error *error) {
    (void)user;
    (void)options;
    const profconv_limits *limits = profconv_builder_limits(builder);
    pfc_text_in in;
    memset(&in, 0, sizeof in);
    pfc_mem_init(&in.mem, profconv_builder_allocator(builder), limits->max_memory);
    in.builder = builder;
    in.error = error;
    in.max_depth = limits->max_depth;
    /* A line holds many names, each bounded by max_string. */
    uint64_t longest = (uint64_t)limits->max_string * 8;
    int status = read_lines(&in, input, longest < SIZE_MAX ? (size_t)longest : SIZE_MAX);
    if (status == PROFCONV_OK)
        finish(&in);
    if (status == PROFCONV_OK)
        status = profconv_builder_status(builder, error);
    PFC_VEC_FREE(&in.mem, &in.scopes);
    PFC_VEC_FREE(&in.mem, &in.targets);
    PFC_VEC_FREE(&in.mem, &in.counts);
    return status;
}

/* Sure when the first function is followed by one of its lines, less so when it stands alone. */
static int probe_text(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    const char *text = (const char *)head, *end = text + size;
    int seen = 0;
    while (text < end) {
        const char *stop = (const char *)memchr(text, '\n', (size_t)(end - text));
        if (!stop && !whole)
            return seen ? 60 : 0;
        const char *line_end = stop ? stop : end;
        if (stop && line_end > text && line_end[-1] == '\r')
            line_end--;
        pfc_text_line line;
        pfc_text_parse(text, (size_t)(line_end - text), &line);
        if (line.kind == PFC_TEXT_BAD || (line.kind != PFC_TEXT_BLANK && line.kind != PFC_TEXT_HEADER && !seen))
            return seen ? 30 : 0;
        if (line.kind != PFC_TEXT_BLANK && line.kind != PFC_TEXT_HEADER)
            return 90;
        seen += line.kind == PFC_TEXT_HEADER;
        text = stop ? stop + 1 : end;
    }
    return seen ? 60 : 0;
}

static const char *const suffixes[] = {".proftext", ".textprof", ".llvmtext", NULL};

const profconv_reader pfc_llvm_text_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "llvm-text",
    .suffixes = suffixes,
    .description = "LLVM sample profile, text",
    .produces = PROFCONV_FACET_SOURCE_COUNTS,
    .probe = probe_text,
    .read = read_text,
};
