/* SPDX-License-Identifier: MIT
 *
 * Material for tests of inputs and outputs: bytes, gzip made by zlib itself, callbacks that read little and fail, a
 * temporary directory. To be included after cmocka.h.
 */
#ifndef TESTS_SUPPORT_IO_SUPPORT_H
#define TESTS_SUPPORT_IO_SUPPORT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <profconv/io.h>

static inline uint64_t next_random(uint64_t *state) { /* xorshift64 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Compressible, but no two places look alike. */
static inline uint8_t *make_bytes(size_t size) {
    uint8_t *data = malloc(size + 1);
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < size; i++)
        data[i] = i % 16 < 8 ? (uint8_t)(i >> 8) : (uint8_t)next_random(&random);
    return data;
}

/* One gzip member, made by zlib itself; the caller frees it. */
static inline uint8_t *gzip_member(const void *data, size_t size, size_t *out_size) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&z, size) + 64;
    uint8_t *out = malloc(room);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out_size = room - z.avail_out;
    deflateEnd(&z);
    return out;
}

static inline uint8_t *join(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size) {
    uint8_t *both = malloc(a_size + b_size + 1);
    memcpy(both, a, a_size);
    memcpy(both + a_size, b, b_size);
    return both;
}

static char directory[64];

static inline const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static inline void write_file(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Callbacks over memory: at most `step` bytes a call; call number fail_at fails with fail_status. */
typedef struct source {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t step;
    unsigned calls;
    unsigned fail_at; /* from 1; 0: never */
    int fail_status;
    unsigned interrupted; /* that many calls give EINTR first */
    int closed;
} source;

static inline int source_read_at(void *user, uint64_t offset, void *buffer, size_t size, size_t *got) {
    source *s = user;
    assert_true(size > 0);
    if (s->interrupted) {
        s->interrupted--;
        return EINTR;
    }
    if (++s->calls == s->fail_at)
        return s->fail_status;
    size_t left = offset < s->size ? s->size - (size_t)offset : 0;
    *got = size < left ? size : left;
    if (s->step && *got > s->step)
        *got = s->step;
    memcpy(buffer, s->data + (*got ? offset : 0), *got);
    return 0;
}
static inline int source_read(void *user, void *buffer, size_t size, size_t *got) {
    source *s = user;
    int status = source_read_at(user, s->at, buffer, size, got);
    s->at += status ? 0 : *got;
    return status;
}
static inline uint64_t source_size(void *user) { return ((source *)user)->size; }
static inline void source_close(void *user) { ((source *)user)->closed++; }

static inline profconv_input_callbacks forward(source *s) {
    profconv_input_callbacks c = {sizeof c, source_read, NULL, NULL, source_close, s};
    return c;
}
static inline profconv_input_callbacks seekable(source *s) {
    profconv_input_callbacks c = {sizeof c, NULL, source_read_at, source_size, source_close, s};
    return c;
}

static inline profconv_input *open_callbacks(source *s, int seek, const profconv_io_options *options) {
    profconv_input_callbacks c = seek ? seekable(s) : forward(s);
    profconv_input *input = NULL;
    profconv_error error;
    if (profconv_input_open_callbacks(&input, &c, "source", options, &error))
        fail_msg("%s", error.message);
    return input;
}

/* Everything that is left, compared; returns the status of the end. */
static inline int expect_rest(profconv_input *input, const uint8_t *data, size_t size, profconv_error *error) {
    size_t at = 0;
    for (;;) {
        const uint8_t *p;
        size_t got;
        int status = profconv_input_window(input, 0, &p, &got, error);
        assert_non_null(p);
        if (status || got == 0) {
            assert_int_equal(at, size);
            return status;
        }
        assert_true(got <= size - at);
        assert_memory_equal(p, data + at, got);
        profconv_input_consume(input, got);
        at += got;
    }
}

/* Set-up and tear-down of a group. */
static inline int make_directory(void **state) {
    (void)state;
    strcpy(directory, P_tmpdir "/profconv-test-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}
static inline int remove_directory(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

#endif
