/* SPDX-License-Identifier: MIT
 *
 * What bpftrace prints of its maps at its end: entries "@name[", a frame a line (leaf first), the other parts of the
 * key separated by commas, "]: COUNT". Stacks of the user come before the kernel's, whatever their order in the key.
 */
#include <string.h>

#include <profconv/plugin.h>

#include "libprofconv/base/text.h"
#include "libprofconv/io/io.h"

#define SCOPE "bpftrace"
#define LINE_MOST ((size_t)16 << 20)

static const profconv_setting settings[] = {
    {"order", PROFCONV_SETTING_ENUM, "auto", "auto|kernel-first|user-first",
     "order of two stacks in a key; auto: told by their frames, else kernel first"},
    {"map", PROFCONV_SETTING_LIST, NULL, NULL, "read only these maps, by name (@ for the one without)"},
    {"type", PROFCONV_SETTING_STRING, NULL, NULL, "name of what is counted; default: the map's, else samples"},
    {"unit", PROFCONV_SETTING_STRING, "count", NULL, "unit of what is counted"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL}};

typedef struct span {
    const char *data;
    size_t size;
} span;

/* A map of the program: a column. */
typedef struct map_row {
    profconv_id name; /* with its '@' */
    uint32_t column;
} map_row;

enum { MAPS_MOST = 64 };

/* A stack of the key: where it begins, and whether its names are the kernel's (above 0) or a program's (below). */
typedef struct stack_row {
    size_t first;
    int kernel;
} stack_row;

typedef struct reading {
    pfc_mem mem;
    profconv_builder *builder;
    const profconv_options *options;
    profconv_error *error;
    uint64_t line, samples, scalars, other, other_line, skipped;
    PFC_VEC(map_row) maps;
    /* the entry that is being read */
    int open;
    profconv_id name;            /* of its map */
    PFC_VEC(profconv_id) frames; /* of all its stacks, leaf first */
    PFC_VEC(stack_row) stacks;
    PFC_VEC(profconv_id) words; /* other parts of the key */
} reading;

static int failed(reading *r) {
    int status = profconv_builder_status(r->builder, r->error);
    return status ? status : pfc_mem_error(&r->mem, r->error);
}

static int blank(char c) { return c == ' ' || c == '\t'; }
static span trim(span s) {
    while (s.size > 0 && blank(s.data[0])) {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && (blank(s.data[s.size - 1]) || s.data[s.size - 1] == '\r'))
        s.size--;
    return s;
}
static int is(span s, const char *text) { return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0; }

/* ---- maps ---- */

static int wanted(const reading *r, span name) {
    const char *value = profconv_options_item(r->options, SCOPE, "map", 0);
    if (!value)
        return 1;
    for (size_t i = 0; (value = profconv_options_item(r->options, SCOPE, "map", i)) != NULL; i++)
        if (is(name, value) ||
            (name.size > 0 && strlen(value) == name.size - 1 && memcmp(name.data + 1, value, name.size - 1) == 0))
            return 1;
    return 0;
}

/* The map's name without its '@', by way of a copy: interning moves strings. */
static profconv_id column_name(reading *r, profconv_id name) {
    profconv_string text = profconv_builder_get_string(r->builder, name);
    if (text.size < 2)
        return profconv_builder_cstring(r->builder, "samples");
    pfc_buf copy;
    pfc_buf_init(&copy, &r->mem);
    pfc_buf_add(&copy, text.data + 1, text.size - 1);
    profconv_id id = copy.failed ? 0 : profconv_builder_string(r->builder, copy.data, copy.size);
    pfc_buf_free(&copy);
    return id;
}

/* The column of the entry's map, made when its first entry is whole: maps of something else get none. UINT32_MAX: not
 * wanted. */
static int map_of(reading *r, uint32_t *index) {
    profconv_id id = r->name;
    profconv_string text = profconv_builder_get_string(r->builder, id);
    span name = {text.data, text.size};
    *index = UINT32_MAX;
    if (!wanted(r, name)) {
        r->skipped++;
        return 0;
    }
    for (uint32_t i = 0; i < r->maps.count; i++)
        if (r->maps.data[i].name == id) {
            *index = i;
            return 0;
        }
    if (r->maps.count >= MAPS_MOST)
        return profconv_error_set(r->error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, r->line,
                                  "line %llu: more than %d maps; setting " SCOPE ".map chooses some",
                                  (unsigned long long)r->line, MAPS_MOST);
    const char *type = profconv_options_string(r->options, SCOPE, settings, "type");
    const char *unit = profconv_options_string(r->options, SCOPE, settings, "unit");
    profconv_sample_type row;
    memset(&row, 0, sizeof row);
    row.unit = profconv_builder_cstring(r->builder, unit);
    row.role = strcmp(unit, "count") == 0 ? PROFCONV_ROLE_COUNT : PROFCONV_ROLE_WEIGHT;
    row.name = type && r->maps.count == 0 ? profconv_builder_cstring(r->builder, type) : column_name(r, id);
    map_row map = {id, profconv_builder_sample_type(r->builder, &row)};
    *index = (uint32_t)r->maps.count;
    return PFC_VEC_PUSH(&r->mem, &r->maps, map) || r->mem.failed ? failed(r) : 0;
}

/* ---- frames ---- */

/* Decimal or hexadecimal offset behind a name, cut. */
static span without_offset(span s) {
    size_t at = s.size;
    while (at > 0 && ((s.data[at - 1] >= '0' && s.data[at - 1] <= '9') ||
                      (s.data[at - 1] >= 'a' && s.data[at - 1] <= 'f') || s.data[at - 1] == 'x'))
        at--;
    if (at > 1 && at < s.size && s.data[at - 1] == '+')
        s.size = at - 1;
    return s;
}

/* Frames that say whose stack it is. */
static int frame_hint(span name, uint64_t address, int kernel_file) {
    static const char *const kernel[] = {"entry_SYSCALL_64", "do_syscall_64",     "el0t_64_sync",   "el0_svc",
                                         "ret_from_fork",    "secondary_startup", "asm_sysvec",     "asm_exc",
                                         "asm_common",       "kthread",           "start_secondary"};
    static const char *const user[] = {"_start", "__libc_start", "main",  "start_thread",
                                       "clone",  "__clone",      "__GI_", "runtime."};
    if (kernel_file)
        return 1;
    if (name.size == 0)
        return address >> 63 ? 1 : -1;
    for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++)
        if (name.size >= strlen(kernel[i]) && memcmp(name.data, kernel[i], strlen(kernel[i])) == 0)
            return 1;
    for (size_t i = 0; i < sizeof user / sizeof *user; i++)
        if (name.size >= strlen(user[i]) && memcmp(name.data, user[i], strlen(user[i])) == 0)
            return -1;
    return 0;
}

/* "sym+12", "0x7f12", or (perf mode) "7f12 sym+0x12 (file)". */
static int add_frame(reading *r, span s, int perf) {
    profconv_location location;
    profconv_line line = {0, 0, 0, 0};
    int kernel_file = 0;
    memset(&location, 0, sizeof location);
    const char *end = s.data + s.size, *p = NULL;
    if (perf && (p = pfc_parse_hex(s.data, end, &location.address)) != NULL && p < end && blank(*p)) {
        span rest = {p, (size_t)(end - p)};
        s = trim(rest);
        if (s.size > 0 && s.data[s.size - 1] == ')') {
            size_t at = s.size;
            while (at > 0 && s.data[at - 1] != '(')
                at--;
            span file = {s.data + at, s.size - at - 1};
            if (at > 1 && blank(s.data[at - 2])) {
                profconv_mapping mapping;
                memset(&mapping, 0, sizeof mapping);
                mapping.file = profconv_builder_string(r->builder, file.data, file.size);
                kernel_file = file.size > 7 && memcmp(file.data, "[kernel", 7) == 0;
                mapping.kind = kernel_file ? PROFCONV_MAPPING_KERNEL : PROFCONV_MAPPING_LIBRARY;
                span name = {s.data, at - 2};
                s = trim(name);
                location.mapping = is(file, "[unknown]") ? 0 : profconv_builder_mapping(r->builder, &mapping);
                location.address = 0; /* of a run that is over */
            }
        }
    } else if (s.size > 2 && s.data[0] == '0' && s.data[1] == 'x' &&
               pfc_parse_hex(s.data + 2, end, &location.address) == end)
        s.size = 0;
    else
        location.address = 0;
    s = without_offset(s);
    if (r->stacks.count > 0)
        r->stacks.data[r->stacks.count - 1].kernel += frame_hint(s, location.address, kernel_file);
    if (s.size > 0 && !is(s, "[unknown]")) {
        profconv_function function;
        memset(&function, 0, sizeof function);
        function.name = function.linkage_name = profconv_builder_string(r->builder, s.data, s.size);
        line.function = profconv_builder_function(r->builder, &function);
        location.address = 0;
    } else
        location.flags = PROFCONV_LOCATION_NO_SYMBOL;
    profconv_id id = profconv_builder_location(r->builder, &location, &line, line.function != 0);
    return PFC_VEC_PUSH(&r->mem, &r->frames, id) ? failed(r) : 0;
}

/* ---- entries ---- */

static int begin_stack(reading *r) {
    stack_row row = {r->frames.count, 0};
    if (r->stacks.count > 0 && r->stacks.data[r->stacks.count - 1].first == r->frames.count)
        return 0; /* the one before is empty */
    return PFC_VEC_PUSH(&r->mem, &r->stacks, row) ? failed(r) : 0;
}

/* "a, b, c" into words. */
static int add_words(reading *r, span s) {
    while (s.size > 0) {
        size_t n = 0;
        while (n < s.size && !(s.data[n] == ',' && (n + 1 == s.size || blank(s.data[n + 1]))))
            n++;
        span word = {s.data, n};
        word = trim(word);
        if (word.size > 0 &&
            PFC_VEC_PUSH(&r->mem, &r->words, profconv_builder_string(r->builder, word.data, word.size)))
            return failed(r);
        n += n < s.size;
        s.data += n;
        s.size -= n;
    }
    return 0;
}

/* Parts of the key that are no stack: a name is the thread's, numbers go by their place. */
static profconv_id labels_of(reading *r) {
    enum { MOST = 8 };
    profconv_id ids[MOST];
    uint32_t n = 0;
    for (size_t i = 0; i < r->words.count && n < MOST; i++) {
        profconv_string word = profconv_builder_get_string(r->builder, r->words.data[i]);
        int64_t number = 0;
        int numeric = pfc_parse_i64(word.data, word.data + word.size, &number) == word.data + word.size;
        char key[8] = "key1";
        key[3] = (char)('1' + n);
        profconv_label row;
        memset(&row, 0, sizeof row);
        row.key = profconv_builder_cstring(r->builder, numeric ? key : "thread");
        row.numeric = (uint32_t)numeric;
        row.number = numeric ? number : 0;
        row.string = numeric ? 0 : r->words.data[i];
        ids[n++] = profconv_builder_label(r->builder, &row);
    }
    return n ? profconv_builder_label_set(r->builder, ids, n) : 0;
}

/* Kernel functions are nearest to the leaf: of two stacks the kernel's has to come first. */
static int put_kernel_first(reading *r) {
    if (r->stacks.count < 2)
        return 0;
    const char *order = profconv_options_string(r->options, SCOPE, settings, "order");
    const stack_row *a = &r->stacks.data[0], *b = &r->stacks.data[1];
    int swap = strcmp(order, "user-first") == 0 || (strcmp(order, "auto") == 0 && b->kernel > a->kernel);
    size_t n = b->first, all = r->stacks.count > 2 ? r->stacks.data[2].first : r->frames.count;
    if (!swap || n == 0 || n == all)
        return 0;
    if (PFC_VEC_RESERVE(&r->mem, &r->frames, r->frames.count + n))
        return failed(r);
    profconv_id *frames = r->frames.data;
    memcpy(frames + r->frames.count, frames, n * sizeof *frames);
    memmove(frames, frames + n, (all - n) * sizeof *frames);
    memcpy(frames + (all - n), frames + r->frames.count, n * sizeof *frames);
    return 0;
}

static int begin_entry(reading *r, span name) {
    r->frames.count = r->stacks.count = r->words.count = 0;
    r->open = 1;
    r->name = profconv_builder_string(r->builder, name.data, name.size);
    return profconv_builder_status(r->builder, r->error);
}

static int end_entry(reading *r, int64_t count) {
    uint32_t map;
    r->open = 0;
    int status = map_of(r, &map);
    if (status || map == UINT32_MAX)
        return status;
    status = put_kernel_first(r);
    if (status)
        return status;
    profconv_id labels = labels_of(r);
    profconv_id stack =
        r->frames.count ? profconv_builder_stack_leaf_first(r->builder, r->frames.data, r->frames.count) : 0;
    r->samples++;
    profconv_builder_sample(r->builder, stack, labels, r->maps.data[map].column, &count, 1);
    return r->mem.failed ? failed(r) : profconv_builder_status(r->builder, r->error);
}

/* "words]: COUNT": the words in *inside; 0 when it does not end so. */
static int parse_close(span s, span *inside, int64_t *count) {
    const char *end = s.data + s.size;
    for (size_t i = s.size; i-- > 0;)
        if (s.data[i] == ']') {
            if (end - (s.data + i) < 4 || s.data[i + 1] != ':' || s.data[i + 2] != ' ' ||
                pfc_parse_i64(s.data + i + 3, end, count) != end)
                return 0;
            inside->data = s.data;
            inside->size = i;
            return 1;
        }
    return 0;
}

static int other_line(reading *r) {
    if (r->other++ == 0)
        r->other_line = r->line;
    return 0;
}

static int on_map(reading *r, span s) {
    span inside;
    int64_t count;
    size_t n = 0;
    while (n < s.size && s.data[n] != '[' && s.data[n] != ':')
        n++;
    if (n == s.size || s.data[n] == ':') {
        r->scalars++;
        return 0;
    }
    span name = {s.data, n}, rest = {s.data + n + 1, s.size - n - 1};
    rest = trim(rest);
    if (parse_close(rest, &inside, &count) && (inside.size == 0 || inside.data[0] != ',')) {
        r->scalars++; /* a key without a stack */
        return 0;
    }
    int status = begin_entry(r, name);
    if (status == 0 && rest.size > 0 && parse_close(rest, &inside, &count)) {
        status = add_words(r, inside);
        return status ? status : end_entry(r, count);
    }
    status = status ? status : add_words(r, rest);
    return status ? status : begin_stack(r);
}

static int on_line(reading *r, span line) {
    span s = trim(line), inside;
    int64_t count;
    if (s.size == 0)
        return 0;
    if (line.data[0] == '@') {
        r->open = 0;
        return on_map(r, s);
    }
    if (!r->open)
        return other_line(r);
    if (s.data[0] != ',' && s.data[0] != ']')
        return add_frame(r, s, line.data[0] == '\t');
    if (parse_close(s, &inside, &count)) {
        int status = add_words(r, inside);
        return status ? status : end_entry(r, count);
    }
    if (s.data[0] == ']') { /* a histogram, or other statistics */
        r->open = 0;
        return other_line(r);
    }
    int status = add_words(r, s);
    return status ? status : begin_stack(r);
}

static int finish(reading *r) {
    profconv_report *report = profconv_builder_report(r->builder);
    const struct {
        uint64_t count, line;
        profconv_note_kind kind;
        const char *cause, *message;
    } notes[] = {
        {r->samples, 0, PROFCONV_NOTE_INFO, "samples", "entries read"},
        {r->scalars, 0, PROFCONV_NOTE_INFO, "scalar-maps", "entries of maps without stacks, left out"},
        {r->skipped, 0, PROFCONV_NOTE_INFO, "filtered", "entries left out by the settings"},
        {r->other, r->other_line, PROFCONV_NOTE_INFO, "other-lines", "lines that belong to no entry"},
        {(uint64_t)r->open, r->line, PROFCONV_NOTE_WARNING, "truncated", "the text ends inside an entry"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].count)
            profconv_report_add(report, notes[i].kind, notes[i].cause, notes[i].count, 0, PROFCONV_NO_OFFSET,
                                notes[i].line, "%s", notes[i].message);
    if (r->samples == 0)
        return profconv_error_set(
            r->error, r->skipped ? PROFCONV_E_EMPTY : PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
            "no entry with a stack (\"@name[\", frames, \"]: count\") among %llu lines, %llu left out by settings",
            (unsigned long long)r->line, (unsigned long long)r->skipped);
    return profconv_builder_status(r->builder, r->error);
}

static int read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                profconv_error *error) {
    reading r;
    (void)user;
    memset(&r, 0, sizeof r);
    pfc_mem_init(&r.mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    r.builder = builder;
    r.options = options;
    r.error = error;
    int status = profconv_options_check(options, SCOPE, settings, error);
    while (status == 0) {
        span line;
        int got, terminated;
        status = pfc_input_line(input, LINE_MOST, &line.data, &line.size, &got, &terminated, error);
        if (status || !got)
            break;
        r.line++;
        status = on_line(&r, line);
    }
    if (status == 0)
        status = finish(&r);
    PFC_VEC_FREE(&r.mem, &r.maps);
    PFC_VEC_FREE(&r.mem, &r.frames);
    PFC_VEC_FREE(&r.mem, &r.stacks);
    PFC_VEC_FREE(&r.mem, &r.words);
    return status;
}

static int probe(void *user, const uint8_t *head, size_t size, int whole) {
    const char *p = (const char *)head, *end = p + size;
    int open = 0;
    (void)user;
    (void)whole;
    for (unsigned n = 0; p < end && n < 200; n++) {
        const char *lf = (const char *)memchr(p, '\n', (size_t)(end - p));
        span line = {p, (size_t)((lf ? lf : end) - p)}, s = trim(line), inside;
        int64_t count;
        p = lf ? lf + 1 : end;
        if (line.size == 0)
            continue;
        if (open && blank(line.data[0]))
            return 80;
        const char *bracket = line.data[0] == '@' ? (const char *)memchr(s.data, '[', s.size) : NULL;
        open = bracket && s.data[s.size - 1] == '[';
        span rest = {bracket ? bracket + 1 : s.data, bracket ? (size_t)(s.data + s.size - bracket - 1) : 0};
        if (bracket && rest.size > 0 && rest.data[0] == ',' && parse_close(rest, &inside, &count))
            return 70;
    }
    return 0;
}

extern const profconv_reader pfc_bpftrace_reader;
const profconv_reader pfc_bpftrace_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = SCOPE,
    .description = "maps of stacks as bpftrace prints them",
    .settings = settings,
    .produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_STACKS | PROFCONV_FACET_LABELS,
    .probe = probe,
    .read = read,
};
