/* SPDX-License-Identifier: MIT
 *
 * jitdump files (tools/perf/Documentation/jitdump-specification.txt): a header, then records of code that was loaded or moved and
 * of its lines. The code itself is passed over. Records after a damaged one cannot be found, so reading ends there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/jitdump.h"
#include "libprofconv/base/text.h"
#include "libprofconv/symbolize/image.h"
#include "libprofconv/symbolize/pass.h"

#define MAGIC 0x4A695444u
#define MAX_RECORD (1u << 28)
enum { LOAD = 0, MOVE = 1, DEBUG_INFO = 2, CLOSE = 3 };

typedef struct code {
    uint64_t start, size, index;
    size_t name, name_size; /* in texts */
    size_t first_line, line_count;
} code;

typedef struct code_line {
    uint64_t offset; /* from the code's start */
    size_t file, file_size;
    uint32_t line;
} code_line;

struct pfc_jitdump {
    pfc_mem mem;
    PFC_VEC(pfc_jit_event) events;
    PFC_VEC(code) codes;
    PFC_VEC(code_line) lines;
    pfc_buf texts;
    pfc_index by_index;
    int other_clock;
    uint64_t debug_start; /* of the lines that wait for their code */
    size_t debug_first, debug_count;
};

static int text(pfc_jitdump *d, profconv_string s, size_t *at, size_t *size) {
    *at = d->texts.size;
    *size = s.size;
    pfc_buf_add(&d->texts, s.data, s.size);
    return d->texts.failed;
}

static uint64_t code_hash(const void *user, uint32_t row) {
    return pfc_hash_mix(((const pfc_jitdump *)user)->codes.data[row - 1].index, 7);
}

/* Lines come before their code. */
static int debug_info(pfc_jitdump *d, pfc_cursor *c) {
    uint64_t start = pfc_u64(c), count = pfc_u64(c);
    size_t file = 0, file_size = 0;
    d->debug_start = start;
    d->debug_first = d->lines.count;
    d->debug_count = 0;
    for (uint64_t i = 0; i < count && pfc_fits(c, 1, 17); i++) {
        uint64_t address = pfc_u64(c);
        uint32_t line = pfc_u32(c);
        pfc_skip(c, 4); /* column, or discriminator */
        profconv_string name = pfc_cstring(c);
        int again = name.size == 1 && (uint8_t)name.data[0] == 0xff;
        if (!again && text(d, name, &file, &file_size))
            return d->texts.failed;
        code_line row = {address - start, file, file_size, line};
        if (c->failed || address < start)
            continue;
        if (PFC_VEC_PUSH(&d->mem, &d->lines, row))
            return d->mem.failed;
        d->debug_count++;
    }
    return 0;
}

static int by_offset(const void *a, const void *b) {
    const code_line *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int load(pfc_jitdump *d, pfc_cursor *c, uint64_t time) {
    pfc_skip(c, 16); /* pid, tid, vma: what other tools make of it */
    code row = {.start = pfc_u64(c), .size = pfc_u64(c), .index = pfc_u64(c)};
    profconv_string name = pfc_cstring(c);
    if (c->failed || row.size == 0 || row.start + row.size < row.start)
        return 0;
    if (text(d, name, &row.name, &row.name_size))
        return d->texts.failed;
    if (d->debug_count && d->debug_start == row.start) {
        row.first_line = d->debug_first;
        row.line_count = d->debug_count;
        qsort(d->lines.data + row.first_line, row.line_count, sizeof *d->lines.data, by_offset);
    }
    d->debug_count = 0;
    pfc_jit_event event = {time, row.start, row.size, 0, (uint32_t)d->codes.count};
    if (d->codes.count >= UINT32_MAX - 1)
        return 0;
    if (PFC_VEC_PUSH(&d->mem, &d->codes, row) || PFC_VEC_PUSH(&d->mem, &d->events, event))
        return d->mem.failed;
    return pfc_index_insert(&d->mem, &d->by_index, pfc_hash_mix(row.index, 7), (uint32_t)d->codes.count, code_hash, d);
}

static int move(pfc_jitdump *d, pfc_cursor *c, uint64_t time) {
    pfc_skip(c, 16);
    uint64_t from = pfc_u64(c), to = pfc_u64(c), size = pfc_u64(c), index = pfc_u64(c);
    if (c->failed || size == 0 || to + size < to || d->by_index.size == 0)
        return 0;
    /* The index is its code's for the whole file; a writer that uses it again means the last one. */
    uint32_t found = 0;
    pfc_probe probe = pfc_index_start(&d->by_index, pfc_hash_mix(index, 7));
    for (uint32_t row; (row = pfc_index_next(&d->by_index, &probe)) != 0;)
        if (d->codes.data[row - 1].index == index && row > found)
            found = row;
    pfc_jit_event event = {time, to, size, from, found - 1};
    return found && PFC_VEC_PUSH(&d->mem, &d->events, event) ? d->mem.failed : 0;
}

static int record(pfc_jitdump *d, uint32_t id, uint64_t time, pfc_cursor *c) {
    switch (id) {
    case LOAD: return load(d, c, time);
    case MOVE: return move(d, c, time);
    case DEBUG_INFO: return debug_info(d, c);
    default: return 0; /* unwind information, and what is to come */
    }
}

static int read_records(pfc_jitdump *d, profconv_input *input, int big) {
    for (;;) {
        const uint8_t *data = NULL;
        size_t got = 0;
        if (profconv_input_window(input, 16, &data, &got, NULL) || got < 16)
            return 0;
        uint32_t id = pfc_load32(data, big), size = pfc_load32(data + 4, big);
        uint64_t time = pfc_load64(data + 8, big), skipped = 0;
        if (size < 16 || size > MAX_RECORD || id == CLOSE)
            return 0;
        /* Of loaded code only what stands before it: names are short. */
        size_t want = id == LOAD && size > 65536 ? 65536 : size;
        if (id == LOAD || id == MOVE || id == DEBUG_INFO) {
            if (profconv_input_window(input, want, &data, &got, NULL) || got < want)
                return 0;
            pfc_cursor c = pfc_cursor_make(data + 16, want - 16, 0, big);
            int status = record(d, id, time, &c);
            if (status)
                return status;
        }
        if (profconv_input_skip(input, size, &skipped, NULL) || skipped < size)
            return 0;
    }
}

static int by_time(const void *a, const void *b) {
    const pfc_jit_event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->code < y->code ? -1 : x->code > y->code;
}

static void close_dump(pfc_jitdump *d) {
    if (!d)
        return;
    PFC_VEC_FREE(&d->mem, &d->events);
    PFC_VEC_FREE(&d->mem, &d->codes);
    PFC_VEC_FREE(&d->mem, &d->lines);
    pfc_buf_free(&d->texts);
    pfc_index_free(&d->mem, &d->by_index);
    pfc_mem mem = d->mem;
    pfc_free(&mem, d, sizeof *d);
}

static int read_file(pfc_jitdump *d, profconv_input *input, const char *path, profconv_error *error) {
    const uint8_t *data = NULL;
    size_t got = 0;
    int status = profconv_input_window(input, 40, &data, &got, error);
    if (status)
        return status;
    uint32_t magic = got >= 40 ? pfc_load32(data, 0) : 0;
    int big = magic == 0x4454694Au; /* 'JiTD' as a number in the writer's order */
    uint32_t size = got >= 40 ? pfc_load32(data + 8, big) : 0;
    uint64_t skipped = 0;
    if ((magic != MAGIC && !big) || size < 40)
        return profconv_error_set(error, PROFCONV_E_FORMAT, 0, 0, "%s: no jitdump file", path);
    d->other_clock = (pfc_load64(data + 32, big) & 1) != 0;
    if (profconv_input_skip(input, size, &skipped, NULL) || skipped < size)
        return 0;
    status = read_records(d, input, big);
    if (status)
        return pfc_mem_error(&d->mem, error);
    if (d->events.count)
        qsort(d->events.data, d->events.count, sizeof *d->events.data, by_time);
    return 0;
}

static int open_path(profconv_input **input, int *fd, pfc_mem *mem, const profconv_options *options, const char *file) {
    const char *symfs = profconv_options_get(options, "symbolize", "symfs");
    const char *dir = profconv_options_get(options, "symbolize", "jitdump-dir");
    const char *slash = strrchr(file, '/');
    pfc_buf path;
    pfc_buf_init(&path, mem);
    int status = PROFCONV_E_NOT_FOUND;
    if (dir && *dir) {
        pfc_buf_printf(&path, "%s/%s", dir, slash ? slash + 1 : file);
        status = path.failed ? path.failed : pfc_text_open(input, fd, path.data, NULL);
    }
    if (status == PROFCONV_E_NOT_FOUND || status == PROFCONV_E_IO) {
        pfc_buf_clear(&path);
        pfc_buf_printf(&path, "%s%s", symfs ? symfs : "", file);
        status = path.failed ? path.failed : pfc_text_open(input, fd, path.data, NULL);
    }
    pfc_buf_free(&path);
    return status == PROFCONV_E_IO ? PROFCONV_E_NOT_FOUND : status;
}

static int open_dump(pfc_jitdump **out, const profconv_allocator *allocator, uint64_t limit, const profconv_options *options,
                     const char *file, profconv_error *error) {
    pfc_mem mem;
    *out = NULL;
    pfc_mem_init(&mem, allocator, limit);
    pfc_jitdump *d = pfc_alloc_zero(&mem, sizeof *d);
    if (!d)
        return pfc_mem_error(&mem, error);
    d->mem = mem;
    pfc_buf_init(&d->texts, &d->mem);
    profconv_input *input = NULL;
    int fd = -1;
    int status = open_path(&input, &fd, &d->mem, options, file);
    if (status)
        profconv_error_set(error, status, PROFCONV_NO_OFFSET, 0, "%s: cannot be opened", file);
    else
        status = read_file(d, input, file, error);
    profconv_input_free(input);
    if (fd >= 0)
        close(fd);
    if (status) {
        close_dump(d);
        return status;
    }
    *out = d;
    return 0;
}

static const pfc_jit_event *events(const pfc_jitdump *d, size_t *count) {
    *count = d->events.count;
    return d->events.data;
}

static int other_clock(const pfc_jitdump *d) { return d->other_clock; }

static profconv_string name(const pfc_jitdump *d, uint32_t row) {
    profconv_string s = {d->texts.data + d->codes.data[row].name, d->codes.data[row].name_size};
    return s;
}

static uint32_t line(const pfc_jitdump *d, uint32_t row, uint64_t offset, profconv_string *file) {
    const code *c = &d->codes.data[row];
    size_t low = 0, high = c->line_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->lines.data[c->first_line + middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    file->data = "";
    file->size = 0;
    if (low == 0)
        return 0;
    const code_line *found = &d->lines.data[c->first_line + low - 1];
    file->data = d->texts.data + found->file;
    file->size = found->file_size;
    return found->line;
}

const pfc_jitdump_type pfc_jitdump_reader = {open_dump, events, other_clock, name, line, close_dump};
