/* SPDX-License-Identifier: MIT
 *
 * Reads folded text in all the forms that README.md lists. Lines of sorted files share their beginnings, so a line is
 * compared with the one before it and only frames from the first difference on are looked up.
 */
#include <profconv/plugin.h>

#include <string.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/formats/collapsed/collapsed.h"
#include "libprofconv/formats/collapsed/layout.h"
#include "libprofconv/formats/collapsed/names.h"
#include "libprofconv/formats/collapsed/notes.h"
#include "libprofconv/formats/collapsed/probe.h"

static const char *const aliases[] = {"folded", "groups", NULL};
static const char *const suffixes[] = {".folded", ".collapsed", ".collapsedstack.txt", NULL};

static const profconv_setting settings[] = {
    {"columns", PROFCONV_SETTING_ENUM, "auto", "auto|one|two|leading|none",
     "numbers of a line: one or two behind the stack, one before it, none (each line counts one)"},
    {"annotations", PROFCONV_SETTING_ENUM, "keep", "keep|parse",
     "keep _[k] and _[i] in names, or turn them into kernel flags and inlined frames"},
    {"empty-frames", PROFCONV_SETTING_ENUM, "skip", "skip|keep", "leave empty frames out, or keep them as [unknown]"},
    {"type", PROFCONV_SETTING_STRING, NULL, NULL, "name of what is counted; default: what the file says, else samples"},
    {"unit", PROFCONV_SETTING_STRING, NULL, NULL, "unit of what is counted; default: what the file says, else count"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

/* A frame text that was met, and its location. */
typedef struct known_frame {
    uint64_t hash;
    profconv_id string;
    profconv_id location;
} known_frame;

/* A frame of the line before: where its text ends, the stack down to it, and the empty frames on the way. */
typedef struct frame_end {
    size_t end;
    uint64_t empty;
    profconv_id stack;
} frame_end;

typedef struct reading {
    pfc_mem mem;
    profconv_builder *builder;
    const profconv_options *options;
    profconv_error *error;
    pfc_lines lines;
    pfc_layout layout;
    int parse_marks, keep_empty;
    PFC_VEC(known_frame) known; /* row 0: none */
    pfc_index index;
    pfc_buf last; /* stack text of the line before */
    PFC_VEC(frame_end) ends;
    uint64_t rows, read;
    pfc_notes notes;
} reading;

static const char *text_setting(const reading *r, const char *key) {
    return profconv_options_string(r->options, "collapsed", settings, key);
}

/* ---- frames ---- */

static int has_mark(const char *text, size_t size, char mark) {
    return size > 4 && text[size - 1] == ']' && text[size - 2] == mark && memcmp(text + size - 4, "_[", 2) == 0;
}

static profconv_id function_of(reading *r, const char *text, size_t size) {
    profconv_function function = {0};
    if (r->parse_marks && (has_mark(text, size, 'k') || has_mark(text, size, 'i')))
        size -= 4;
    function.name = function.linkage_name = profconv_builder_string(r->builder, text, size);
    return profconv_builder_function(r->builder, &function);
}

static int is_utf8(const char *text, size_t size) {
    const char *end = text + size;
    size_t bad;
    for (size_t n; text < end; text += n) {
        n = pfc_utf8_length(text, end, &bad);
        if (n == 0)
            return 0;
    }
    return 1;
}

/* The location of a frame's text. With annotations parsed, "f;g_[i];h_[i]" is one text: f with g and h inlined into it.
 */
static profconv_id make_location(reading *r, const char *text, size_t size) {
    profconv_location location = {0};
    PFC_VEC(profconv_line) lines = {0};
    size_t end = size;
    int status = 0;
    while (end > 0 && status == 0) { /* innermost first */
        size_t start = end;
        while (start > 0 && text[start - 1] != ';')
            start--;
        profconv_line line = {0, 0, function_of(r, text + start, end - start), 0};
        status = PFC_VEC_PUSH(&r->mem, &lines, line);
        if (has_mark(text + start, end - start, 'k'))
            location.flags |= PROFCONV_LOCATION_KERNEL;
        end = start > 0 ? start - 1 : 0;
    }
    if (!is_utf8(text, size))
        pfc_note(&r->notes, PFC_NOTE_UTF8, 1, &r->lines);
    profconv_id id = 0;
    if (status == 0 && lines.count <= UINT32_MAX)
        id = profconv_builder_location(r->builder, &location, lines.data, (uint32_t)lines.count);
    PFC_VEC_FREE(&r->mem, &lines);
    return id;
}

static uint64_t known_hash(const void *user, uint32_t row) { return ((const reading *)user)->known.data[row].hash; }

static int location_of(reading *r, const char *text, size_t size, profconv_id *location) {
    uint64_t hash = pfc_hash_bytes_keyed(r->mem.key, text, size);
    pfc_probe probe = pfc_index_start(&r->index, hash);
    uint32_t row;
    while ((row = pfc_index_next(&r->index, &probe)) != 0) {
        const known_frame *known = &r->known.data[row];
        if (known->hash != hash)
            continue;
        profconv_string string = profconv_builder_get_string(r->builder, known->string);
        if (string.size == size && memcmp(string.data, text, size) == 0) {
            *location = known->location;
            return 0;
        }
    }
    known_frame known = {hash, profconv_builder_string(r->builder, text, size), make_location(r, text, size)};
    *location = known.location;
    int status = r->mem.failed ? r->mem.failed : PFC_VEC_PUSH(&r->mem, &r->known, known);
    if (status)
        return status;
    if (r->known.count > UINT32_MAX)
        return PROFCONV_E_LIMIT;
    return pfc_index_insert(&r->mem, &r->index, hash, (uint32_t)r->known.count - 1, known_hash, r);
}

/* ---- stacks ---- */

/* Bytes that two texts have in common at their start. */
static size_t common(const char *a, const char *b, size_t size) {
    size_t i = 0;
    for (uint64_t x, y; i + 8 <= size; i += 8) {
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            break;
    }
    while (i < size && a[i] == b[i])
        i++;
    return i;
}

static size_t frame_end_at(const char *text, size_t size, size_t at) {
    const char *end = (const char *)memchr(text + at, ';', size - at);
    return end ? (size_t)(end - text) : size;
}

static int next_is_inlined(const char *text, size_t size, size_t end) {
    return end < size && has_mark(text + end + 1, frame_end_at(text, size, end + 1) - end - 1, 'i');
}

/* Drops what the line before has and this one has not; the stack that stays, and where its text ends. */
static profconv_id shared_stack(reading *r, const char *text, size_t size, size_t *at) {
    size_t same = common(text, r->last.data ? r->last.data : "", size < r->last.size ? size : r->last.size);
    size_t keep = r->ends.count;
    while (keep > 0) {
        size_t end = r->ends.data[keep - 1].end;
        if (end < same || (end == same && (size == same || text[same] == ';')))
            break;
        keep--;
    }
    if (r->parse_marks && keep > 0 && next_is_inlined(text, size, r->ends.data[keep - 1].end))
        keep--; /* it may have had other frames inlined */
    r->ends.count = keep;
    *at = keep > 0 ? r->ends.data[keep - 1].end + 1 : 0;
    return keep > 0 ? r->ends.data[keep - 1].stack : 0;
}

static int is_empty_frame(const char *text, size_t size) { return size == 0 || (size == 1 && text[0] == ' '); }

static int stack_of(reading *r, const char *text, size_t size, profconv_id *stack) {
    size_t at;
    *stack = shared_stack(r, text, size, &at);
    uint64_t empty = r->ends.count > 0 ? r->ends.data[r->ends.count - 1].empty : 0;
    while (at <= size) {
        size_t end = frame_end_at(text, size, at);
        const char *frame = text + at;
        profconv_id location;
        while (r->parse_marks && next_is_inlined(text, size, end))
            end = frame_end_at(text, size, end + 1);
        size_t length = end - at;
        at = end + 1;
        if (is_empty_frame(frame, length)) {
            empty++;
            if (!r->keep_empty)
                continue;
            frame = "[unknown]";
            length = 9;
        }
        int status = location_of(r, frame, length, &location);
        if (status)
            return status;
        *stack = profconv_builder_stack(r->builder, *stack, location);
        frame_end here = {end, empty, *stack};
        status = PFC_VEC_PUSH(&r->mem, &r->ends, here);
        if (status)
            return status;
    }
    if (empty > 0)
        pfc_note(&r->notes, r->keep_empty ? PFC_NOTE_EMPTY_KEPT : PFC_NOTE_EMPTY, empty, &r->lines);
    pfc_buf_clear(&r->last);
    pfc_buf_add(&r->last, text, size);
    return r->last.failed;
}

/* ---- rows ---- */

static void note_numbers(reading *r, const pfc_split *split) {
    for (uint32_t i = 0; i < split->count; i++) {
        if (split->counts[i].rounded)
            pfc_note(&r->notes, PFC_NOTE_ROUNDED, 1, &r->lines);
        if (split->counts[i].saturated)
            pfc_note(&r->notes, PFC_NOTE_SATURATED, 1, &r->lines);
    }
}

static int read_row(reading *r, pfc_row row) {
    pfc_split split;
    int64_t values[PFC_COLUMNS_MAX];
    profconv_id stack;
    if (!pfc_row_split(row, &r->layout, &split)) {
        pfc_note(&r->notes, PFC_NOTE_UNREADABLE, 1, &r->lines);
        return 0;
    }
    uint32_t columns = r->layout.columns;
    for (uint32_t i = 0; i < columns; i++)
        values[i] = r->layout.kind == PFC_LAYOUT_TRIPLE
                        ? (split.counts[0].kind == PFC_COUNT_TRIPLE || i == 0 ? split.counts[0].values[i] : 0)
                        : split.counts[i].values[0];
    int status = split.stack.size > 0 ? stack_of(r, split.stack.data, split.stack.size, &stack) : 0;
    if (status)
        return status;
    if (split.stack.size == 0 || r->ends.count == 0) {
        pfc_note_dropped(&r->notes, values[columns - 1], &r->lines);
        return 0;
    }
    note_numbers(r, &split);
    r->read++;
    profconv_builder_sample(r->builder, stack, 0, 0, values, columns);
    return 0;
}

/* ---- what is counted ---- */

static void add_type(reading *r, const char *name, size_t name_size, const char *unit, size_t unit_size, int role) {
    profconv_sample_type type = {0};
    type.name = profconv_builder_string(r->builder, name, name_size);
    type.unit = profconv_builder_string(r->builder, unit, unit_size);
    type.role = (uint32_t)role;
    profconv_builder_sample_type(r->builder, &type);
}

/* Austin's metadata: what its numbers are. */
static void austin_type(const reading *r, const char **name, const char **unit) {
    static const char *const modes[][3] = {
        {"wall", "wall", "microseconds"}, {"cpu", "cpu", "microseconds"}, {"memory", "memory", "bytes"}};
    const char *mode = r->notes.mode;
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(mode, modes[i][0]) == 0) {
            *name = modes[i][1];
            *unit = modes[i][2];
        }
    }
}

static int header_types(reading *r, pfc_row row) {
    size_t starts[PFC_COLUMNS_MAX];
    size_t sizes[PFC_COLUMNS_MAX];
    uint32_t columns = pfc_row_header(row, starts, sizes);
    for (uint32_t i = 0; i < columns; i++) {
        const char *word = row.data + starts[i];
        size_t slash = (size_t)((const char *)memchr(word, '/', sizes[i]) - word);
        int count = sizes[i] == slash + 6 && memcmp(word + slash, "/count", 6) == 0;
        add_type(r, word, slash, word + slash + 1, sizes[i] - slash - 1,
                 count ? PROFCONV_ROLE_COUNT : PROFCONV_ROLE_WEIGHT);
    }
    return columns > 0;
}

static void make_types(reading *r) {
    const char *name = "samples";
    const char *unit = "count";
    austin_type(r, &name, &unit);
    const char *asked = text_setting(r, "type");
    const char *asked_unit = text_setting(r, "unit");
    if (r->layout.kind == PFC_LAYOUT_TRIPLE) {
        add_type(r, "time", 4, "microseconds", 12, PROFCONV_ROLE_WEIGHT);
        add_type(r, "idle", 4, "count", 5, PROFCONV_ROLE_VALUE);
        add_type(r, "memory", 6, "bytes", 5, PROFCONV_ROLE_VALUE);
        profconv_info info;
        profconv_builder_get_info(r->builder, &info);
        info.default_sample_type = profconv_builder_cstring(r->builder, "time");
        profconv_builder_set_info(r->builder, &info);
        return;
    }
    name = asked ? asked : name;
    unit = asked_unit ? asked_unit : unit;
    int role = strcmp(unit, "count") == 0 ? PROFCONV_ROLE_COUNT : PROFCONV_ROLE_WEIGHT;
    if (r->layout.columns == 2) {
        add_type(r, "before", 6, unit, strlen(unit), role);
        add_type(r, "after", 5, unit, strlen(unit), role);
        profconv_report_add(profconv_builder_report(r->builder), PROFCONV_NOTE_INFO, "two-columns", 1, 0,
                            PROFCONV_NO_OFFSET, 0,
                            "every line ends in two numbers: read as \"before\" and \"after\" (columns=one: the first "
                            "belongs to the name)");
        return;
    }
    add_type(r, name, strlen(name), unit, strlen(unit), role);
}

/* ---- the whole ---- */

static int read_lines(reading *r) {
    int typed = 0;
    for (;;) {
        const char *line;
        size_t size;
        int got;
        int status = pfc_lines_next(&r->lines, &line, &size, &got, r->error);
        if (status || !got)
            return status;
        pfc_row row = pfc_row_trim(line, size);
        if (row.size == 0)
            continue;
        if (pfc_row_is_comment(row)) {
            pfc_notes_comment(&r->notes, r->builder, row.data, row.size);
            continue;
        }
        if (!typed) {
            typed = 1;
            if (r->layout.header) {
                header_types(r, row);
                continue;
            }
            make_types(r);
        }
        r->rows++;
        status = read_row(r, row);
        if (status)
            return status == PROFCONV_E_LIMIT && !r->mem.failed
                       ? profconv_error_set(r->error, status, r->lines.offset, r->lines.number, "too many frames")
                       : pfc_mem_error(&r->mem, r->error);
        if ((r->rows & 0xff) == 0 && (status = profconv_builder_status(r->builder, r->error)) != 0)
            return status;
    }
}

static int choose_layout(reading *r, profconv_input *input) {
    int status = pfc_layout_survey(input, &r->mem, &r->layout, r->error);
    const char *columns = text_setting(r, "columns");
    if (status || strcmp(columns, "auto") == 0 || r->layout.header)
        return status;
    r->layout.kind = strcmp(columns, "leading") == 0 ? PFC_LAYOUT_LEADING
                     : strcmp(columns, "none") == 0  ? PFC_LAYOUT_BARE
                                                     : PFC_LAYOUT_COUNT;
    r->layout.columns = strcmp(columns, "two") == 0 ? 2 : 1;
    return status;
}

static int finish(reading *r) {
    int status = profconv_builder_status(r->builder, r->error);
    if (status)
        return status;
    r->notes.replaced = r->lines.replaced;
    pfc_notes_report(&r->notes, profconv_builder_report(r->builder));
    if (r->layout.kind == PFC_LAYOUT_BARE && r->read > 0)
        profconv_report_add(profconv_builder_report(r->builder), PROFCONV_NOTE_WARNING, "no-counts", r->read, 0,
                            PROFCONV_NO_OFFSET, 0, "no line ends in a count: each counts as one");
    if (r->read > 0)
        return PROFCONV_OK;
    const pfc_note_row *first = &r->notes.rows[PFC_NOTE_UNREADABLE];
    if (first->count == 0)
        first = &r->notes.rows[PFC_NOTE_DROPPED];
    if (first->count == 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, 0, 0, "no stacks found: the text has no line of data");
    return profconv_error_set(r->error, PROFCONV_E_FORMAT, first->offset, first->line,
                              "line %llu: \"frame;frame count\" expected; none of %llu lines could be read",
                              (unsigned long long)first->line, (unsigned long long)r->rows);
}

static int read_input(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                      profconv_error *error) {
    static const known_frame none = {0, 0, 0};
    reading r;
    (void)user;
    memset(&r, 0, sizeof r);
    pfc_mem_init(&r.mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    r.builder = builder;
    r.options = options;
    r.error = error;
    r.parse_marks = strcmp(text_setting(&r, "annotations"), "parse") == 0;
    r.keep_empty = strcmp(text_setting(&r, "empty-frames"), "keep") == 0;
    pfc_buf_init(&r.last, &r.mem);
    int status = choose_layout(&r, input);
    if (status == 0 && PFC_VEC_PUSH(&r.mem, &r.known, none))
        status = pfc_mem_error(&r.mem, error);
    if (status == 0)
        status = pfc_lines_start(&r.lines, input, &r.mem, error);
    if (status == 0) {
        status = read_lines(&r);
        pfc_lines_free(&r.lines);
    }
    if (status == 0)
        status = finish(&r);
    PFC_VEC_FREE(&r.mem, &r.known);
    pfc_index_free(&r.mem, &r.index);
    pfc_buf_free(&r.last);
    PFC_VEC_FREE(&r.mem, &r.ends);
    return status;
}

const profconv_reader pfc_collapsed_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "collapsed",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "collapsed (folded) stacks: one line a stack, for flame graphs",
    .settings = settings,
    .produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS,
    .probe = pfc_collapsed_probe,
    .read = read_input,
};
