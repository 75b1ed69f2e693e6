/* SPDX-License-Identifier: MIT
 *
 * gzip below the readers: however it is read (from memory in large windows, from callbacks byte by byte in small ones),
 * the same bytes come out and the same status ends them; no more than the limit; all memory is given back. The bytes
 * that the small windows show are counted and hashed, and must be the large ones'.
 */
#include <stdlib.h>
#include <string.h>

#include <profconv/io.h>

#define MAX_INFLATED ((uint64_t)300 << 10)

typedef struct feed {
    const uint8_t *data;
    size_t size;
    size_t at;
} feed;

static int feed_read(void *user, void *buffer, size_t size, size_t *got) {
    feed *f = user;
    size_t part = f->at % 7 + 1;
    if (part > size)
        part = size;
    if (part > f->size - f->at)
        part = f->size - f->at;
    memcpy(buffer, f->data + f->at, part);
    f->at += part;
    *got = part;
    return 0;
}

typedef struct sum {
    uint64_t size;
    uint64_t hash;
    int status;
} sum;

static void *counting_resize(void *user, void *p, size_t old_size, size_t new_size) {
    uint64_t *live = user;
    void *block = NULL;
    if (new_size == 0)
        free(p);
    else if (!(block = realloc(p, new_size)))
        return NULL;
    *live = *live - old_size + new_size;
    return block;
}

static sum drain(profconv_input *input, size_t want) {
    sum s = {0, 14695981039346656037u, 0};
    const uint8_t *p;
    size_t got;
    while ((s.status = profconv_input_window(input, want, &p, &got, NULL)) == 0 && got) {
        size_t used = want && want < got ? want : got;
        for (size_t i = 0; i < used; i++)
            s.hash = (s.hash ^ p[i]) * 1099511628211u;
        s.size += used;
        profconv_input_consume(input, used);
    }
    if (s.size > MAX_INFLATED || profconv_input_offset(input) != s.size)
        abort();
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 20)
        return 0;
    uint64_t live = 0;
    profconv_allocator allocator = {sizeof allocator, counting_resize, &live};
    profconv_limits limits = {.struct_size = sizeof limits, .max_inflated = MAX_INFLATED};
    profconv_io_options options = {sizeof options, &allocator, &limits, 0, 0};
    profconv_input *input;
    sum whole, pieces;
    whole.status = profconv_input_open_memory(&input, data, size, &options, NULL);
    if (whole.status)
        abort(); /* memory opens always */
    whole = drain(input, 0);
    profconv_input_free(input);
    feed f = {data, size, 0};
    profconv_input_callbacks callbacks = {sizeof callbacks, feed_read, NULL, NULL, NULL, &f};
    if (profconv_input_open_callbacks(&input, &callbacks, NULL, &options, NULL))
        abort();
    pieces = drain(input, 97);
    profconv_input_free(input);
    if (whole.size != pieces.size || whole.hash != pieces.hash || whole.status != pieces.status || live != 0)
        abort();
    return 0;
}
