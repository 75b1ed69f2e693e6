/* SPDX-License-Identifier: MIT
 *
 * The tables that all threads of a Firefox profile share: columns of numbers, with one list of strings.
 */
#include <string.h>

#include "libprofconv/formats/viewers/firefox.h"

static const struct {
    const char *name, *color;
} categories[PFC_VIEW_KINDS] = {[PFC_VIEW_ROOT] = {"Other", "grey"},
                                [PFC_VIEW_USER] = {"User", "yellow"},
                                [PFC_VIEW_LIBRARY] = {"Library", "green"},
                                [PFC_VIEW_KERNEL] = {"Kernel", "orange"},
                                [PFC_VIEW_JIT] = {"JIT", "blue"}}; /* the others are none of their own */

void pfc_firefox_categories(pfc_buf *out) {
    for (size_t i = 0; i < PFC_VIEW_KINDS && categories[i].name; i++) {
        pfc_buf_text(out, i ? ",{\"name\":\"" : "[{\"name\":\"");
        pfc_buf_text(out, categories[i].name);
        pfc_buf_text(out, "\",\"color\":\"");
        pfc_buf_text(out, categories[i].color);
        pfc_buf_text(out, "\",\"subcategories\":[\"Other\"]}");
    }
    pfc_buf_char(out, ']');
}

/* ---- numbers ---- */

void pfc_firefox_decimal(pfc_buf *out, int64_t value, int decimals) {
    char digits[24];
    size_t n = pfc_format_u64(digits, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    if (value < 0)
        pfc_buf_char(out, '-');
    if (decimals <= 0) {
        pfc_buf_add(out, digits, n);
        for (int i = decimals; i < 0 && value != 0; i++)
            pfc_buf_char(out, '0');
        return;
    }
    size_t behind = (size_t)decimals, whole = n > behind ? n - behind : 0;
    if (whole)
        pfc_buf_add(out, digits, whole);
    else
        pfc_buf_char(out, '0');
    size_t end = n;
    while (end > whole && digits[end - 1] == '0')
        end--;
    if (end == whole)
        return;
    pfc_buf_char(out, '.');
    for (size_t i = n; i < behind; i++)
        pfc_buf_char(out, '0');
    pfc_buf_add(out, digits + whole, end - whole);
}

firefox_unit pfc_firefox_unit(const firefox *w) {
    static const struct {
        const char *unit;
        firefox_unit how;
    } units[] = {{"nanoseconds", {"tracing-ms", 6}},
                 {"microseconds", {"tracing-ms", 3}},
                 {"milliseconds", {"tracing-ms", 0}},
                 {"seconds", {"tracing-ms", -3}},
                 {"bytes", {"bytes", 0}},
                 {NULL, {"samples", 0}}};
    profconv_string unit = pfc_view_column_unit(&w->v.columns, w->v.columns.shown);
    size_t i = 0;
    while (units[i].unit && !(unit.size == strlen(units[i].unit) && memcmp(unit.data, units[i].unit, unit.size) == 0))
        i++;
    return units[i].how;
}

/* ---- strings ---- */

static const pfc_view_frame *frame_of(const firefox *w, uint32_t func) {
    return &w->v.frames.rows.data[pfc_view_row(&w->funcs, func)[FUNC_FRAME]];
}

int pfc_firefox_number(firefox *w) {
    pfc_mem *mem = &w->v.mem;
    uint32_t texts = 0;
    w->texts = w->v.frames.texts.count;
    w->number = (uint32_t *)pfc_alloc_zero(mem, w->texts * sizeof *w->number);
    w->source = (uint32_t *)pfc_alloc_zero(mem, w->texts * sizeof *w->source);
    if (!w->number || !w->source)
        return mem->failed;
    for (uint32_t i = 1; i <= w->funcs.count; i++) {
        const pfc_view_frame *frame = frame_of(w, i);
        w->number[frame->name] = w->number[frame->file] = 1;
        w->source[frame->file] = frame->file != 0;
    }
    for (uint32_t i = 1; i <= w->libs.count; i++)
        w->number[pfc_view_row(&w->libs, i)[LIB_NAME]] = 1;
    w->number[0] = 1;
    for (size_t i = 0; i < w->texts; i++) {
        w->number[i] = w->number[i] ? ++texts : 0;
        w->source[i] = w->source[i] ? ++w->sources : 0;
    }
    return 0;
}

/* ---- tables ---- */

static void separate(pfc_buf *out, size_t index) {
    if (index > 0)
        pfc_buf_char(out, ',');
}

/* "name":[...] with one number a row from 1 to `count`. */
static void add_column(firefox *w, const char *name, uint32_t count, int64_t (*value)(const firefox *w, uint32_t row),
                       int64_t none) {
    pfc_buf *out = &w->v.out.buf;
    pfc_buf_text(out, "\"");
    pfc_buf_text(out, name);
    pfc_buf_text(out, "\":[");
    for (uint32_t i = 1; i <= count; i++) {
        int64_t v = value(w, i);
        separate(out, i - 1);
        if (v == none)
            pfc_buf_text(out, "null");
        else
            pfc_buf_i64(out, v);
        pfc_view_flush(&w->v.out, 0);
    }
    pfc_buf_text(out, "],\n");
}

/* "name":[text,text,...]: the same for all. */
static void add_constant(firefox *w, const char *name, uint32_t count, const char *text) {
    pfc_buf *out = &w->v.out.buf;
    pfc_buf_text(out, "\"");
    pfc_buf_text(out, name);
    pfc_buf_text(out, "\":[");
    for (uint32_t i = 0; i < count; i++) {
        separate(out, i);
        pfc_buf_text(out, text);
        pfc_view_flush(&w->v.out, 0);
    }
    pfc_buf_text(out, "],\n");
}

static void add_length(firefox *w, uint32_t count, const char *end) {
    pfc_buf_text(&w->v.out.buf, "\"length\":");
    pfc_buf_u64(&w->v.out.buf, count);
    pfc_buf_text(&w->v.out.buf, end);
}

#define NONE (-2) /* that becomes null; -1 is a value of the format */

static int64_t func_name(const firefox *w, uint32_t row) { return (int64_t)w->number[frame_of(w, row)->name] - 1; }
static int64_t func_source(const firefox *w, uint32_t row) {
    uint32_t source = w->source[frame_of(w, row)->file];
    return source ? (int64_t)source - 1 : NONE;
}
static int64_t func_line(const firefox *w, uint32_t row) {
    int64_t line = frame_of(w, row)->line;
    return line > 0 ? line : NONE;
}
/* Libraries and resources have the same numbers. */
static int64_t func_resource(const firefox *w, uint32_t row) {
    return (int64_t)pfc_view_row(&w->funcs, row)[FUNC_LIB] - 1;
}
static int64_t resource_lib(const firefox *w, uint32_t row) {
    (void)w;
    return (int64_t)row - 1;
}
static int64_t resource_name(const firefox *w, uint32_t row) {
    return (int64_t)w->number[pfc_view_row(&w->libs, row)[LIB_NAME]] - 1;
}
static int64_t frame_func(const firefox *w, uint32_t row) {
    return (int64_t)pfc_view_row(&w->frames, row)[FRAME_FUNC] - 1;
}
static int64_t frame_line(const firefox *w, uint32_t row) {
    uint32_t line = pfc_view_row(&w->frames, row)[FRAME_LINE];
    return line ? (int64_t)line : NONE;
}
static int64_t frame_depth(const firefox *w, uint32_t row) { return pfc_view_row(&w->frames, row)[FRAME_DEPTH]; }
static int64_t frame_category(const firefox *w, uint32_t row) {
    uint32_t kind = pfc_view_row(&w->frames, row)[FRAME_CATEGORY];
    return kind == PFC_VIEW_INLINED ? NONE : categories[kind].name ? (int64_t)kind : 0; /* null: that of its caller */
}
static int64_t stack_frame(const firefox *w, uint32_t row) {
    return (int64_t)pfc_view_row(&w->stacks, row)[STACK_FRAME] - 1;
}
static int64_t stack_prefix(const firefox *w, uint32_t row) {
    uint32_t prefix = pfc_view_row(&w->stacks, row)[STACK_PREFIX];
    return prefix ? (int64_t)prefix - 1 : NONE;
}

/* Breakpad's form of a build-id: its first 16 bytes as a GUID, whose first three fields are little-endian, and an age
 * of 0. Ids of other kinds have none. */
static void add_breakpad_id(pfc_buf *out, profconv_string id) {
    static const uint8_t bytes[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t i = 0; i < id.size; i++) {
        char c = id.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return;
    }
    for (size_t i = 0; i < sizeof bytes && id.size > 0; i++) {
        for (size_t k = 0; k < 2; k++) {
            size_t at = 2 * (size_t)bytes[i] + k;
            char c = at < id.size ? id.data[at] : '0';
            pfc_buf_char(out, c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c);
        }
    }
    if (id.size > 0)
        pfc_buf_char(out, '0');
}

static void add_libs(firefox *w) {
    pfc_buf *out = &w->v.out.buf;
    profconv_string arch = profconv_profile_find_attribute(w->v.profile, "arch");
    pfc_buf_text(out, "\"libs\":[");
    for (uint32_t i = 1; i <= w->libs.count; i++) {
        const uint32_t *row = pfc_view_row(&w->libs, i);
        profconv_string path = pfc_view_string(&w->v.frames, row[LIB_PATH]);
        profconv_string id = pfc_view_string(&w->v.frames, row[LIB_BUILD_ID]);
        profconv_string base = pfc_view_string(&w->v.frames, row[LIB_NAME]);
        static const char *const keys[] = {"\n{\"name\":", ",\"path\":", ",\"debugName\":", ",\"debugPath\":"};
        separate(out, i - 1);
        for (size_t k = 0; k < 4; k++) {
            pfc_buf_text(out, keys[k]);
            pfc_view_json(out, k & 1 ? path.data : base.data, k & 1 ? path.size : base.size);
        }
        pfc_buf_text(out, ",\"arch\":");
        pfc_view_json(out, arch.data ? arch.data : "", arch.size);
        pfc_buf_text(out, ",\"breakpadId\":\"");
        add_breakpad_id(out, id);
        pfc_buf_text(out, "\",\"codeId\":");
        if (id.size > 0)
            pfc_view_json(out, id.data, id.size);
        else
            pfc_buf_text(out, "null");
        pfc_buf_char(out, '}');
        pfc_view_flush(&w->v.out, 0);
    }
    pfc_buf_text(out, "],\n");
}

static void add_strings(firefox *w) {
    pfc_buf *out = &w->v.out.buf;
    size_t index = 0;
    pfc_buf_text(out, "\"stringArray\":[");
    for (size_t i = 0; i < w->texts; i++) {
        profconv_string s = pfc_view_string(&w->v.frames, (uint32_t)i);
        if (!w->number[i])
            continue;
        separate(out, index++);
        pfc_view_json(out, s.data, s.size);
        pfc_view_flush(&w->v.out, 0);
    }
    pfc_buf_text(out, "],\n\"sources\":{\"filename\":[");
    index = 0;
    for (size_t i = 0; i < w->texts; i++) {
        if (!w->source[i])
            continue;
        separate(out, index++);
        pfc_buf_u64(out, w->number[i] - 1);
    }
    pfc_buf_text(out, "],\n");
    add_constant(w, "id", w->sources, "null");
    add_constant(w, "startLine", w->sources, "1");
    add_constant(w, "startColumn", w->sources, "1");
    add_constant(w, "sourceMapURL", w->sources, "null");
    add_length(w, w->sources, "},\n");
}

void pfc_firefox_tables(firefox *w) {
    pfc_buf *out = &w->v.out.buf;
    uint32_t libs = w->libs.count, funcs = w->funcs.count, frames = w->frames.count, stacks = w->stacks.count;
    add_libs(w);
    pfc_buf_text(out, "\"shared\":{");
    add_strings(w);
    pfc_buf_text(out, "\"resourceTable\":{");
    add_column(w, "lib", libs, resource_lib, NONE);
    add_column(w, "name", libs, resource_name, NONE);
    add_constant(w, "host", libs, "null");
    add_constant(w, "type", libs, "1"); /* a library */
    add_length(
        w, libs,
        "},\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0},\n");
    pfc_buf_text(out, "\"funcTable\":{");
    add_column(w, "name", funcs, func_name, NONE);
    add_constant(w, "isJS", funcs, "false");
    add_constant(w, "relevantForJS", funcs, "false");
    add_column(w, "resource", funcs, func_resource, NONE);
    add_column(w, "source", funcs, func_source, NONE);
    add_column(w, "lineNumber", funcs, func_line, NONE);
    add_constant(w, "columnNumber", funcs, "null");
    add_length(w, funcs, "},\n\"frameTable\":{");
    add_constant(w, "address", frames, "-1");
    add_column(w, "inlineDepth", frames, frame_depth, NONE);
    add_column(w, "category", frames, frame_category, NONE);
    add_constant(w, "subcategory", frames, "null");
    add_column(w, "func", frames, frame_func, NONE);
    add_constant(w, "nativeSymbol", frames, "null");
    add_constant(w, "innerWindowID", frames, "null");
    add_column(w, "line", frames, frame_line, NONE);
    add_constant(w, "column", frames, "null");
    add_length(w, frames, "},\n\"stackTable\":{");
    add_column(w, "frame", stacks, stack_frame, NONE);
    add_column(w, "prefix", stacks, stack_prefix, NONE);
    add_length(w, stacks, "}},\n");
}
