/* SPDX-License-Identifier: MIT
 *
 * Profiles as text: heaps of gperftools, jemalloc and Go (debug=1), Go's counts of goroutines and the like, contention,
 * and gperftools' thread lists. Each begins with a line that says what it is; each may end with a memory map.
 */
#include <math.h>

#include "libprofconv/formats/legacy-pprof/legacy.h"

#define SCOPE "pprof-text"

typedef enum kind { KIND_NONE, KIND_HEAP, KIND_GROWTH, KIND_JEMALLOC, KIND_COUNT, KIND_CONTENTION, KIND_THREAD } kind;

typedef struct text_profile {
    lp_reader r;
    kind kind;
    int allocations; /* a heap with what was ever allocated, beside what is in use */
    int64_t rate;    /* of a sampled heap, bytes; 0 or 1: all of it is there */
    int64_t period, cycles;
    profconv_id bytes;
    int pending; /* jemalloc, threads: r.stack waits for its counts, or for its end */
    /* a count line's sample waits for its labels */
    int64_t count;
    int have_count;
    PFC_VEC(profconv_id) label_ids;
} text_profile;

/* ---- numbers ---- */

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* A number, then `after` (blanks may stand before either); NULL when they do not. */
static const char *number_then(const char *p, const char *end, const char *after, int64_t *value) {
    size_t n = strlen(after);
    p = p ? pfc_parse_i64(skip_blanks(p, end), end, value) : NULL;
    p = p ? skip_blanks(p, end) : NULL;
    return p && (size_t)(end - p) >= n && memcmp(p, after, n) == 0 ? p + n : NULL;
}

/* "count: bytes [count: bytes] @": in use, ever allocated. */
static const char *four_numbers(lp_text t, int64_t v[4], const char *last) {
    const char *end = t.data + t.size, *p = number_then(t.data, end, ":", &v[0]);
    p = number_then(p, end, "[", &v[1]);
    p = number_then(p, end, ":", &v[2]);
    return number_then(p, end, last, &v[3]);
}

static int push_addresses(lp_reader *r, const char *p, const char *end, int leaf_is_call) {
    r->stack.count = 0;
    for (p = skip_blanks(p, end); end - p > 2 && p[0] == '0' && p[1] == 'x'; p = skip_blanks(p, end)) {
        uint64_t address;
        p = pfc_parse_hex(p + 2, end, &address);
        if (!p)
            return 0;
        /* What the stack holds is where calls return to. */
        int status = lp_push(r, address - (address > 0 && (leaf_is_call || r->stack.count > 0)));
        if (status)
            return status;
    }
    return 0;
}

/* ---- heaps ---- */

/* A sampled block stands for as many as its size makes likely: of size s, one in 1 / (1 - exp(-s / rate)) is seen. */
static void unsample(int64_t rate, int64_t *count, int64_t *bytes) {
    if (*count == 0 || *bytes == 0) {
        *count = *bytes = 0;
        return;
    }
    if (rate <= 1)
        return;
    double scale = 1 / (1 - exp(-((double)*bytes / (double)*count) / (double)rate));
    double many = (double)*count * scale, large = (double)*bytes * scale;
    *count = fabs(many) < 9e18 ? (int64_t)many : many < 0 ? INT64_MIN : INT64_MAX;
    *bytes = fabs(large) < 9e18 ? (int64_t)large : large < 0 ? INT64_MIN : INT64_MAX;
}

static profconv_id size_label(text_profile *t, int64_t bytes) {
    profconv_label row = {bytes, t->bytes, 0, 0, 1}; /* without a unit, as Go writes it */
    profconv_id label = profconv_builder_label(t->r.builder, &row);
    return profconv_builder_label_set(t->r.builder, &label, 1);
}

static int heap_sample(text_profile *t, const int64_t v[4]) {
    int64_t values[4] = {v[2], v[3], v[0], v[1]}; /* allocated, in use */
    /* The size of what is in use decides, then that of what was allocated. */
    int64_t size = v[0] && !(v[0] == -1 && v[1] == INT64_MIN)                     ? v[1] / v[0]
                   : t->allocations && v[2] && !(v[2] == -1 && v[3] == INT64_MIN) ? v[3] / v[2]
                                                                                  : 0;
    unsample(t->rate, &values[0], &values[1]);
    unsample(t->rate, &values[2], &values[3]);
    return lp_sample(&t->r, size_label(t, size), t->allocations ? values : values + 2, t->allocations ? 4 : 2);
}

static int heap_line(text_profile *t, lp_text line) {
    int64_t v[4];
    const char *end = line.data + line.size, *p = four_numbers(line, v, "]");
    p = p ? skip_blanks(p, end) : NULL;
    if (!p || p == end || *p != '@')
        return 0;
    int status = push_addresses(&t->r, p + 1, end, 1);
    status = status ? status : heap_sample(t, v);
    return status ? status : 1;
}

/* jemalloc: "@ 0x1 0x2", then "  t*: 1: 2 [3: 4]" for all threads, and one for each thread. */
static int jemalloc_line(text_profile *t, lp_text line) {
    int64_t v[4];
    if (line.size > 0 && line.data[0] == '@') {
        int status = push_addresses(&t->r, line.data + 1, line.data + line.size, 1);
        t->pending = 1;
        return status ? status : 1;
    }
    if (line.size < 2 || line.data[0] != 't')
        return 0;
    if (!lp_starts(line, "t*:") || !t->pending)
        return 1;
    lp_text rest = {line.data + 3, line.size - 3};
    if (!four_numbers(rest, v, "]"))
        return 0;
    t->pending = 0;
    int status = heap_sample(t, v);
    return status ? status : 1;
}

static void heap_types(text_profile *t) {
    lp_reader *r = &t->r;
    if (t->allocations) {
        lp_type(r, "alloc_objects", 13, "count", PROFCONV_ROLE_COUNT);
        lp_type(r, "alloc_space", 11, "bytes", PROFCONV_ROLE_WEIGHT);
        lp_type(r, "inuse_objects", 13, "count", PROFCONV_ROLE_COUNT);
        lp_type(r, "inuse_space", 11, "bytes", PROFCONV_ROLE_WEIGHT);
    } else {
        lp_type(r, "objects", 7, "count", PROFCONV_ROLE_COUNT);
        lp_type(r, "space", 5, "bytes", PROFCONV_ROLE_WEIGHT);
    }
    t->bytes = profconv_builder_cstring(r->builder, "bytes");
    lp_period(r, "space", 5, "bytes", t->rate > 0 ? t->rate : 1, 0);
}

/* Behind the '@' of the first line: "heapprofile", "heap_v2/RATE", "heap/TWICE-THE-RATE" (Go), "growthz",
 * "fragmentationz". */
static int heap_header(text_profile *t, lp_text line) {
    int64_t v[4], number = 0;
    lp_text rest = {line.data + 13, line.size - 13};
    const char *end = line.data + line.size, *p = four_numbers(rest, v, "]");
    p = p ? skip_blanks(p, end) : NULL;
    if (!p || p == end || *p != '@')
        return 0;
    lp_text name = {p + 1, (size_t)(end - p - 1)};
    name = lp_trim(name);
    const char *slash = (const char *)memchr(name.data, '/', name.size);
    if (slash && !pfc_parse_i64(slash + 1, end, &number))
        return 0;
    if (lp_starts(name, "heap_v2") || lp_starts(name, "heapz_v2"))
        t->rate = number;
    else if (lp_starts(name, "heapprofile") || lp_starts(name, "growth") || lp_starts(name, "fragmentation"))
        t->rate = 1;
    else if (lp_starts(name, "heap"))
        t->rate = number / 2;
    else
        return 0;
    t->kind = lp_starts(name, "heap") ? KIND_HEAP : KIND_GROWTH;
    t->allocations = t->kind == KIND_HEAP && ((v[2] != v[0] && v[2] != 0) || (v[3] != v[1] && v[3] != 0));
    heap_types(t);
    return 1;
}

static int jemalloc_header(text_profile *t, lp_text line, lp_text next) {
    int64_t v[4];
    next = lp_trim(next);
    lp_text total = {next.data + 3, next.size > 3 ? next.size - 3 : 0};
    if (!pfc_parse_i64(line.data + 8, line.data + line.size, &t->rate) || !lp_starts(next, "t*:") ||
        !four_numbers(total, v, "]"))
        return 0;
    t->kind = KIND_JEMALLOC;
    t->allocations = v[2] != 0 || v[3] != 0;
    heap_types(t);
    return 1;
}

/* ---- counts ---- */

static int flush_count(text_profile *t) {
    if (!t->have_count)
        return 0;
    t->have_count = 0;
    profconv_id labels = t->label_ids.count
                             ? profconv_builder_label_set(t->r.builder, t->label_ids.data, (uint32_t)t->label_ids.count)
                             : 0;
    t->label_ids.count = 0;
    return lp_sample(&t->r, labels, &t->count, 1);
}

/* The text in quotes at p, with escapes undone; NULL when there is none. */
static const char *json_string(const char *p, const char *end, pfc_buf *out) {
    pfc_buf_clear(out);
    p = skip_blanks(p, end);
    if (p == end || *p != '"')
        return NULL;
    for (p++; p < end && *p != '"'; p++) {
        char c = *p;
        if (c == '\\' && p + 1 < end) {
            c = *++p;
            if (c == 'u') /* stays as it is written */
                pfc_buf_char(out, '\\');
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        pfc_buf_char(out, c);
    }
    return p < end ? p + 1 : NULL;
}

/* {"worker":"0", "key":"value"} */
static int read_labels(text_profile *t, const char *p, const char *end) {
    lp_reader *r = &t->r;
    pfc_buf key, value;
    pfc_buf_init(&key, &r->mem);
    pfc_buf_init(&value, &r->mem);
    p = skip_blanks(p, end);
    while (p && p < end && (*p == '{' || *p == ',')) {
        p = json_string(p + 1, end, &key);
        p = p ? skip_blanks(p, end) : NULL;
        if (!p || p == end || *p != ':' || !(p = json_string(p + 1, end, &value)) || key.failed || value.failed)
            break;
        p = skip_blanks(p, end);
        profconv_label row = {0, profconv_builder_string(r->builder, key.data ? key.data : "", key.size),
                              profconv_builder_string(r->builder, value.data ? value.data : "", value.size), 0, 0};
        if (PFC_VEC_PUSH(&r->mem, &t->label_ids, profconv_builder_label(r->builder, &row)))
            break;
    }
    int failed = key.failed || value.failed || r->mem.failed;
    pfc_buf_free(&key);
    pfc_buf_free(&value);
    return failed ? lp_failed(r) : 0;
}

static int count_line(text_profile *t, lp_text line) {
    const char *end = line.data + line.size;
    int64_t count;
    const char *p = number_then(line.data, end, "@", &count);
    if (!p)
        return 0;
    int status = flush_count(t);
    if (status)
        return status;
    status = push_addresses(&t->r, p, end, 1);
    t->count = count;
    t->have_count = status == 0;
    return status ? status : 1;
}

/* "goroutine profile: total 31" */
static int count_header(text_profile *t, lp_text line) {
    static const char words[] = " profile: total ";
    size_t n = 0;
    while (n < line.size && line.data[n] != ' ' && line.data[n] != '\t')
        n++;
    lp_text rest = {line.data + n, line.size - n};
    int64_t total;
    if (n == 0 || !lp_starts(rest, words) ||
        !pfc_parse_i64(rest.data + sizeof words - 1, rest.data + rest.size, &total))
        return 0;
    t->kind = KIND_COUNT;
    lp_type(&t->r, line.data, n, "count", PROFCONV_ROLE_COUNT);
    lp_period(&t->r, line.data, n, "count", 1, 0);
    return 1;
}

/* ---- contention ---- */

static int contention_header(text_profile *t, lp_text line) {
    if (!lp_starts(line, "--- contentionz ") && !lp_starts(line, "--- mutex:") && !lp_starts(line, "--- contention:"))
        return 0;
    t->kind = KIND_CONTENTION;
    t->period = 1;
    lp_type(&t->r, "contentions", 11, "count", PROFCONV_ROLE_COUNT);
    lp_type(&t->r, "delay", 5, "nanoseconds", PROFCONV_ROLE_WEIGHT);
    lp_period(&t->r, "contentions", 11, "count", 1, 0);
    return 1;
}

static int contention_fact(text_profile *t, lp_text line) {
    const char *equal = (const char *)memchr(line.data, '=', line.size), *end = line.data + line.size;
    int64_t value = 0;
    if (!equal || !number_then(equal + 1, end, "", &value))
        return 0;
    profconv_info info;
    profconv_builder_get_info(t->r.builder, &info);
    if (lp_starts(line, "cycles/second"))
        t->cycles = value;
    else if (lp_starts(line, "sampling period"))
        info.period = t->period = value;
    else if (lp_starts(line, "ms since reset") && value >= 0 && value <= INT64_MAX / 1000000)
        info.duration_ns = value * 1000000;
    profconv_builder_set_info(t->r.builder, &info);
    return 1;
}

static int64_t to_int(double value) { return fabs(value) < 9e18 ? (int64_t)value : value < 0 ? INT64_MIN : INT64_MAX; }

/* "cycles count @ 0x1 0x2" */
static int contention_line(text_profile *t, lp_text line) {
    const char *end = line.data + line.size;
    int64_t delay, count;
    const char *p = number_then(line.data, end, "", &delay);
    p = number_then(p, end, "@", &count);
    if (!p)
        return contention_fact(t, line);
    int64_t values[2] = {count, delay};
    if (t->period > 0) {
        values[0] = to_int((double)count * (double)t->period);
        if (t->cycles > 0)
            values[1] = to_int((double)delay * (double)t->period / ((double)t->cycles / 1e9));
    }
    int status = push_addresses(&t->r, p, end, 1);
    status = status ? status : lp_sample(&t->r, 0, values, 2);
    return status ? status : 1;
}

/* ---- threads ---- */

static int thread_header(text_profile *t, lp_text line) {
    if (!lp_starts(line, "--- threadz ") && !lp_starts(line, "--- Thread "))
        return 0;
    t->kind = KIND_THREAD;
    lp_type(&t->r, "thread", 6, "count", PROFCONV_ROLE_COUNT);
    lp_period(&t->r, "thread", 6, "count", 1, 0);
    return 1;
}

/* A thread's stack is whole when the next begins. */
static int flush_thread(text_profile *t) {
    int64_t one = 1;
    if (!t->pending)
        return 0;
    t->pending = 0;
    return lp_sample(&t->r, 0, &one, 1);
}

static int thread_line(text_profile *t, lp_text line) {
    lp_reader *r = &t->r;
    uint64_t address;
    if (lp_starts(line, "--- Thread ")) {
        int status = flush_thread(t);
        t->pending = 1;
        return status ? status : 1;
    }
    if (lp_starts(line, "---"))
        return 1;
    if (lp_starts(line, "[same as previous thread]") && t->pending) {
        int64_t one = 1;
        t->pending = 0;
        r->samples++;
        profconv_builder_sample(r->builder, r->last_stack, 0, 0, &one, 1);
        return 1;
    }
    if (lp_starts(line, "PC:")) {
        line.data += 3;
        line.size -= 3;
        line = lp_trim(line);
    }
    if (!lp_starts(line, "0x"))
        return lp_starts(line, "creator:");
    if (!pfc_parse_hex(line.data + 2, line.data + line.size, &address))
        return 0;
    int status = lp_push(r, address - (r->stack.count > 0 && address > 0));
    return status ? status : 1;
}

/* ---- the whole ---- */

static int is_map_start(lp_text line) {
    return lp_starts(line, "--- Memory map: ---") || lp_starts(line, "MAPPED_LIBRARIES:");
}

static int read_header(text_profile *t, size_t *at) {
    lp_text line, next = {"", 0};
    while (lp_next_line(t->r.data, t->r.size, at, &line)) {
        lp_text trimmed = lp_trim(line);
        if (trimmed.size == 0 || trimmed.data[0] == '#')
            continue;
        size_t peek = *at;
        lp_next_line(t->r.data, t->r.size, &peek, &next);
        if (lp_starts(trimmed, "heap profile:"))
            return heap_header(t, trimmed);
        if (lp_starts(trimmed, "heap_v2/"))
            return jemalloc_header(t, trimmed, next);
        size_t before = (size_t)((const uint8_t *)line.data - t->r.data);
        if (thread_header(t, trimmed)) {
            *at = lp_starts(trimmed, "--- Thread ") ? before : *at;
            return 1;
        }
        return contention_header(t, trimmed) || count_header(t, trimmed);
    }
    return 0;
}

/* The map and the symbols stand behind what needs them. */
static int read_ahead(text_profile *t, size_t at) {
    lp_reader *r = &t->r;
    lp_text line;
    uint32_t block = 0;
    while (lp_next_line(r->data, r->size, &at, &line)) {
        if (is_map_start(lp_trim(line))) {
            int status = lp_read_maps(r, r->data + at, r->size - at);
            return status ? status : lp_sort_symbols(r);
        }
        if (line.size > 0 && line.data[0] != '#')
            block++;
        if (lp_read_symbol(r, line, block) < 0)
            return lp_failed(r);
    }
    return lp_sort_symbols(r);
}

static int on_line(text_profile *t, lp_text line) {
    switch (t->kind) {
    case KIND_HEAP:
    case KIND_GROWTH:
        return heap_line(t, line);
    case KIND_JEMALLOC:
        return jemalloc_line(t, line);
    case KIND_COUNT:
        return count_line(t, line);
    case KIND_CONTENTION:
        return contention_line(t, line);
    default:
        return thread_line(t, line);
    }
}

static int read_samples(text_profile *t, size_t at) {
    lp_reader *r = &t->r;
    lp_text line;
    uint64_t number = 1;
    for (size_t i = 0; i < at; i++)
        number += r->data[i] == '\n';
    for (; lp_next_line(r->data, r->size, &at, &line); number++) {
        line = lp_trim(line);
        if (is_map_start(line))
            break;
        if (lp_starts(line, "# labels:") && t->have_count) {
            int status = read_labels(t, line.data + 9, line.data + line.size);
            if (status)
                return status;
        }
        if (line.size == 0 || line.data[0] == '#')
            continue;
        int got = on_line(t, line);
        if (got < 0)
            return got;
        if (got == 0 && r->other_lines++ == 0)
            r->other_line = number;
    }
    int status = flush_count(t);
    return status || t->kind != KIND_THREAD ? status : flush_thread(t);
}

static int read_profile(text_profile *t) {
    size_t at = 0;
    if (!read_header(t, &at))
        return profconv_error_set(
            t->r.error, PROFCONV_E_FORMAT, 0, 1,
            "line 1: \"heap profile:\", \"heap_v2/\", \"NAME profile: total\", \"--- contentionz\" or "
            "\"--- threadz\" expected");
    int status = read_ahead(t, at);
    if (status == 0)
        status = read_samples(t, at);
    return status ? status : lp_finish(&t->r);
}

static int read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                profconv_error *error) {
    text_profile t;
    (void)user;
    (void)options;
    memset(&t, 0, sizeof t);
    int status = lp_start(&t.r, input, builder, error);
    if (status == 0)
        status = read_profile(&t);
    PFC_VEC_FREE(&t.r.mem, &t.label_ids);
    lp_free(&t.r);
    return status;
}

static int probe(void *user, const uint8_t *head, size_t size, int whole) {
    lp_text line;
    size_t at = 0;
    (void)user;
    (void)whole;
    for (unsigned n = 0; n < 50 && lp_next_line(head, size, &at, &line); n++) {
        line = lp_trim(line);
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (lp_starts(line, "heap profile:") || lp_starts(line, "heap_v2/"))
            return 90;
        if (lp_starts(line, "--- contentionz ") || lp_starts(line, "--- mutex:") ||
            lp_starts(line, "--- contention:") || lp_starts(line, "--- threadz ") || lp_starts(line, "--- Thread "))
            return 85;
        size_t i = 0;
        while (i < line.size && line.data[i] != ' ')
            i++;
        lp_text rest = {line.data + i, line.size - i};
        return i > 0 && lp_starts(rest, " profile: total ") ? 85 : 0;
    }
    return 0;
}

static const char *const aliases[] = {"heap-text", "go-text", NULL};

extern const profconv_reader pfc_pprof_text_reader;
const profconv_reader pfc_pprof_text_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = SCOPE,
    .aliases = aliases,
    .description = "text of heaps (gperftools, jemalloc, Go), Go's debug=1 profiles, contention, threads",
    .produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_LINES | PROFCONV_FACET_STACKS |
                PROFCONV_FACET_LABELS,
    .probe = probe,
    .read = read,
};
