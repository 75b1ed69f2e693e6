/* SPDX-License-Identifier: MIT
 *
 * The window: which bytes are in the buffer, when more are read, and what happens at the end and after an error.
 *
 * When the source fails (a read error, a damaged or short gzip stream, a limit), the bytes that came before are still
 * delivered, by windows that are shorter than wanted; the window after them, with nothing to show, returns the error.
 * So a reader that wants to know whether a short window is the true end asks once more after consuming it.
 */
#include "libprofconv/io/options.h"
#include "libprofconv/io/input.h"

#include <string.h>

#include "libprofconv/base/budget.h"
#include "libprofconv/base/text.h"

#define BUFFER_FIRST ((size_t)256 << 10)
#define WINDOW_MAX ((size_t)256 << 20)
#define MEMORY_LEAST ((uint64_t)2 << 20) /* a budget for a profile below this is not held against the buffer */
#define TICK_BYTES ((uint64_t)1 << 20)

int pfc_input_new(profconv_input **out, const char *name, const char *path, const profconv_io_options *options,
                  profconv_error *error) {
    *out = NULL;
    pfc_io_start start;
    int status = pfc_io_start_make(&start, options, MEMORY_LEAST, error);
    if (status)
        return status;
    profconv_input *input = (profconv_input *)pfc_alloc_zero(&start.mem, sizeof *input);
    if (!input)
        return pfc_mem_error(&start.mem, error);
    input->mem = start.mem;
    input->allocator = start.allocator;
    input->limits = start.limits;
    input->raw = start.given.raw;
    input->directory = -1;
    input->size = UINT64_MAX;
    input->tick_at = UINT64_MAX;
    input->name = pfc_strdup(&input->mem, name, strlen(name));
    if (path)
        input->path = pfc_strdup(&input->mem, path, strlen(path));
    if (!input->name || (path && !input->path)) {
        status = pfc_mem_error(&input->mem, error);
        profconv_input_free(input);
        return status;
    }
    *out = input;
    return PROFCONV_OK;
}

static int room_for(profconv_input *input, size_t visible, size_t want) {
    size_t capacity = input->capacity ? input->capacity : BUFFER_FIRST;
    /* Doubled only as bytes arrive: a length field of a short input costs nothing. */
    if (visible == input->capacity && input->capacity)
        capacity = input->capacity * 2;
    if (capacity > WINDOW_MAX)
        capacity = WINDOW_MAX;
    if (capacity < want && want - capacity <= capacity / 2)
        capacity = want;
    if (capacity <= input->capacity)
        return PROFCONV_OK;
    input->mem.failed = 0;
    uint8_t *buffer = (uint8_t *)pfc_resize(&input->mem, input->buffer, input->capacity, capacity);
    if (!buffer)
        return input->mem.failed;
    input->buffer = buffer;
    input->data = buffer;
    input->capacity = capacity;
    return PROFCONV_OK;
}

/* Reads until `want` bytes are visible, the input ends, or the source fails (kept in input->failed). */
static int fill(profconv_input *input, size_t want, profconv_error *error) {
    while (input->source && !input->failed) {
        size_t visible = input->end - input->at;
        uint64_t next = input->offset + visible;
        if (visible >= want || next >= input->size)
            break;
        if (input->at) {
            memmove(input->buffer, input->buffer + input->at, visible);
            input->at = 0;
            input->end = visible;
        }
        if (visible == input->capacity || !input->capacity) {
            int status = room_for(input, visible, want);
            if (status)
                return pfc_mem_error(&input->mem, error);
        }
        size_t room = input->capacity - visible, got = 0;
        if (room > input->size - next)
            room = (size_t)(input->size - next);
        input->failed = input->source->read(input->source, next, input->buffer + visible, room, &got, &input->error);
        if (input->failed)
            break;
        if (got == 0)
            input->size = next;
        input->end += got;
    }
    return PROFCONV_OK;
}

/* The rest of opening: finds out whether the bytes are gzip. */
int pfc_input_start(profconv_input *input, profconv_error *error) {
    if (input->source) {
        input->size = input->source->size;
        input->seekable = input->source->seekable;
        int status = fill(input, 3, error);
        if (!status && input->failed && input->end == 0) {
            status = input->failed;
            if (error)
                *error = input->error;
        }
        if (status)
            return status;
    }
    const uint8_t *head = input->data + input->at;
    if (input->raw || input->end < 3 || head[0] != 0x1f || head[1] != 0x8b || head[2] != 8)
        return PROFCONV_OK;
    int status;
    if (!input->source) {
        status = pfc_source_memory(&input->source, &input->mem, input->data, input->end, error);
        if (status)
            return status;
        input->data = NULL;
        input->end = 0;
    }
    pfc_source *filter;
    status = pfc_source_gzip(&filter, &input->mem, input->source, input->buffer, input->end, &input->limits, error);
    if (status)
        return status;
    input->source = filter;
    input->at = input->end = 0;
    input->size = UINT64_MAX;
    input->seekable = 0;
    input->failed = 0; /* an error behind the first bytes comes up again when the filter gets there */
    return PROFCONV_OK;
}

void profconv_input_consume(profconv_input *input, size_t count) {
    count += input->line;
    input->line = 0;
    size_t visible = input->end - input->at;
    if (count > visible)
        count = visible;
    input->at += count;
    input->offset += count;
}

static int run_tick(profconv_input *input, profconv_error *error) {
    uint64_t done, total;
    profconv_input_progress(input, &done, &total);
    input->tick_at = input->offset > UINT64_MAX - TICK_BYTES ? UINT64_MAX : input->offset + TICK_BYTES;
    if (input->tick(input->tick_user, done, total) == 0)
        return PROFCONV_OK;
    input->tick_at = input->offset; /* stays cancelled */
    return profconv_error_set(error, PROFCONV_E_CALLBACK, input->offset, 0, "%s: cancelled at offset %llu", input->name,
                              (unsigned long long)input->offset);
}

int profconv_input_window(profconv_input *input, size_t want, const uint8_t **data, size_t *got,
                          profconv_error *error) {
    if (input->line)
        profconv_input_consume(input, 0);
    int status = PROFCONV_OK;
    if (input->offset >= input->tick_at)
        status = run_tick(input, error);
    if (!status && (input->end - input->at < want || input->end == input->at)) {
        if (want > WINDOW_MAX)
            status = profconv_error_set(error, PROFCONV_E_LIMIT, input->offset, 0,
                                        "%s: offset %llu: window of %zu bytes wanted, at most %zu possible",
                                        input->name, (unsigned long long)input->offset, want, WINDOW_MAX);
        else
            status = fill(input, want ? want : 1, error);
        if (!status && input->failed && input->end == input->at) {
            status = input->failed;
            if (error)
                *error = input->error;
        }
    }
    *got = status ? 0 : input->end - input->at;
    *data = *got ? input->data + input->at : (const uint8_t *)"";
    return status;
}

/* Drops the window and goes to `offset`, which is not past a known end. */
static void jump(profconv_input *input, uint64_t offset) {
    if (input->offset > offset && input->tick)
        input->tick_at = offset > UINT64_MAX - TICK_BYTES ? UINT64_MAX : offset + TICK_BYTES;
    input->at = input->end = 0;
    input->offset = offset;
    input->failed = 0; /* another place may be readable */
}

int profconv_input_skip(profconv_input *input, uint64_t count, uint64_t *skipped, profconv_error *error) {
    profconv_input_consume(input, 0);
    *skipped = 0;
    while (*skipped < count) {
        uint64_t left = count - *skipped;
        size_t visible = input->end - input->at;
        if (visible) {
            size_t step = left < visible ? (size_t)left : visible;
            profconv_input_consume(input, step);
            *skipped += step;
            continue;
        }
        if (input->seekable && input->source && input->size != UINT64_MAX) {
            uint64_t rest = input->offset < input->size ? input->size - input->offset : 0;
            uint64_t step = left < rest ? left : rest;
            jump(input, input->offset + step);
            *skipped += step;
            break;
        }
        const uint8_t *data;
        size_t got;
        int status = profconv_input_window(input, 0, &data, &got, error);
        if (status)
            return status;
        if (got == 0)
            break;
    }
    /* Skipping without reading must be possible to cancel, too. */
    return input->offset >= input->tick_at ? run_tick(input, error) : PROFCONV_OK;
}

int profconv_input_can_seek(const profconv_input *input) { return input->seekable || !input->source; }

int profconv_input_seek(profconv_input *input, uint64_t offset, profconv_error *error) {
    profconv_input_consume(input, 0);
    uint64_t skipped;
    if (offset >= input->offset && offset - input->offset <= input->end - input->at) {
        profconv_input_consume(input, (size_t)(offset - input->offset));
        return PROFCONV_OK;
    }
    if (!input->source) { /* all of it is in memory */
        if (offset > input->size)
            offset = input->size;
        if (offset < input->offset && input->tick)
            input->tick_at = offset + TICK_BYTES;
        input->at = (size_t)offset;
        input->offset = offset;
        return PROFCONV_OK;
    }
    if (input->seekable) {
        uint64_t start = input->offset - input->at; /* of the buffer: short ways back stay inside */
        if (offset < input->offset && offset >= start && !input->failed) {
            size_t back = (size_t)(input->offset - offset);
            input->at -= back;
            input->offset = offset;
            if (input->tick)
                input->tick_at = offset + TICK_BYTES;
            return PROFCONV_OK;
        }
        jump(input, offset < input->size ? offset : input->size);
        return PROFCONV_OK;
    }
    if (offset < input->offset)
        return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, input->offset, 0,
                                  "%s: cannot go back from offset %llu to %llu (a pipe or gzip)", input->name,
                                  (unsigned long long)input->offset, (unsigned long long)offset);
    return profconv_input_skip(input, offset - input->offset, &skipped, error);
}

int profconv_input_read_at(profconv_input *input, uint64_t offset, void *buffer, size_t size, size_t *got,
                           profconv_error *error) {
    profconv_input_consume(input, 0);
    *got = 0;
    if (!input->source) {
        if (offset < input->size) {
            uint64_t left = input->size - offset;
            *got = size < left ? size : (size_t)left;
            memcpy(buffer, input->data + offset, *got);
        }
        return PROFCONV_OK;
    }
    if (!input->seekable)
        return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, offset, 0,
                                  "%s: offset %llu: cannot read out of order (a pipe or gzip)", input->name,
                                  (unsigned long long)offset);
    if (input->tick && (input->read_at += size) >= TICK_BYTES) {
        input->read_at = 0;
        int status = run_tick(input, error);
        if (status)
            return status;
    }
    while (*got < size) {
        uint64_t at = pfc_add_sat(offset, *got);
        size_t part = size - *got, n = 0;
        if (at >= input->size)
            break;
        if (part > input->size - at)
            part = (size_t)(input->size - at);
        int status = input->source->read(input->source, at, (uint8_t *)buffer + *got, part, &n, error);
        if (status) {
            *got = 0;
            return status;
        }
        if (n == 0)
            break;
        *got += n;
    }
    return PROFCONV_OK;
}

const char *profconv_input_name(const profconv_input *input) { return input->name; }
const char *profconv_input_path(const profconv_input *input) { return input->path; }
int profconv_input_is_directory(const profconv_input *input) { return input->directory >= 0; }
uint64_t profconv_input_offset(const profconv_input *input) { return input->offset; }
uint64_t profconv_input_size(const profconv_input *input) { return input->size; }

void profconv_input_progress(const profconv_input *input, uint64_t *done, uint64_t *total) {
    pfc_source_progress(input->source, done, total);
    if (*done == UINT64_MAX) { /* no filter: what was consumed is the position */
        *done = input->offset;
        *total = input->size;
    }
}

int pfc_input_join(profconv_input *input, pfc_budget *budget, profconv_error *error) {
    return pfc_mem_join(&input->mem, budget, "input", error);
}

void pfc_input_leave(profconv_input *input, pfc_budget *budget) { pfc_mem_leave(&input->mem, budget); }

void pfc_input_ahead(profconv_input *input) {
    pfc_source_ahead(&input->source, input->offset + (input->end - input->at));
}

void pfc_input_set_tick(profconv_input *input, int (*tick)(void *user, uint64_t done, uint64_t total), void *user) {
    input->tick = tick;
    input->tick_user = user;
    input->read_at = 0;
    input->tick_at = tick ? input->offset + TICK_BYTES : UINT64_MAX;
}
