/* SPDX-License-Identifier: MIT
 *
 * Above the window: gzip and its limits, zlib blocks, lines, reading all at once, ticks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "libprofconv/io/io.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/io_support.h"

/* ---- gzip ---- */

static int inflate_all(const uint8_t *file, size_t file_size, const uint8_t *data, size_t size,
                       const profconv_limits *limits, profconv_error *error) {
    profconv_io_options options = {sizeof options, NULL, limits, 0, 0};
    profconv_input *input;
    int status = profconv_input_open_memory(&input, file, file_size, &options, error);
    if (status)
        return status;
    status = expect_rest(input, data, size, error);
    profconv_input_free(input);
    return status;
}

static void gzip_members(void **state) {
    (void)state;
    size_t size = 200000, a_size, b_size, all_size;
    uint8_t *data = make_bytes(size), *a = gzip_member(data, 70000, &a_size), *none, *b;
    profconv_error error;
    b = gzip_member(data + 70000, size - 70000, &b_size);
    size_t none_size;
    none = gzip_member(data, 0, &none_size);
    uint8_t *ab = join(a, a_size, none, none_size), *all = join(ab, a_size + none_size, b, b_size);
    all_size = a_size + none_size + b_size;
    assert_int_equal(inflate_all(all, all_size, data, size, NULL, &error), 0);
    source s = {.data = all, .size = all_size, .step = 1};
    profconv_input *input = open_callbacks(&s, 0, NULL);
    assert_int_equal(expect_rest(input, data, size, &error), 0);
    uint64_t done, total;
    profconv_input_progress(input, &done, &total);
    assert_int_equal(done, all_size);
    assert_int_equal(total, all_size);
    profconv_input_free(input);
    /* Progress counts compressed bytes. */
    assert_int_equal(profconv_input_open_memory(&input, all, all_size, NULL, &error), 0);
    profconv_input_progress(input, &done, &total);
    assert_true(done == 0 && total == all_size);
    uint64_t skipped;
    assert_int_equal(profconv_input_skip(input, 70000, &skipped, &error), 0);
    profconv_input_progress(input, &done, &total);
    assert_true(done > 0 && done <= all_size && total == all_size);
    profconv_input_free(input);
    /* What follows a member and is none is left out. */
    const char *tails[] = {"garbage", "\0\0\0\0\0\0\0\0", "\x1f", "\x1fx"};
    size_t tail_sizes[] = {7, 8, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        uint8_t *file = join(all, all_size, (const uint8_t *)tails[i], tail_sizes[i]);
        assert_int_equal(inflate_all(file, all_size + tail_sizes[i], data, size, NULL, &error), 0);
        free(file);
    }
    /* ... but the start of a member is the start of a member. */
    uint8_t *file = join(all, all_size, (const uint8_t *)"\x1f\x8b", 2);
    assert_int_equal(inflate_all(file, all_size + 2, data, size, NULL, &error), PROFCONV_E_FORMAT);
    assert_non_null(strstr(error.message, "ends early"));
    free(file);
    /* raw hands it out as it is. */
    profconv_io_options raw = {.struct_size = sizeof raw, .raw = 1};
    assert_int_equal(profconv_input_open_memory(&input, all, all_size, &raw, &error), 0);
    assert_int_equal(expect_rest(input, all, all_size, &error), 0);
    profconv_input_free(input);
    /* zlib streams are not gzip. */
    assert_int_equal(inflate_all((const uint8_t *)"\x78\x9c\x03\0\0\0\0\x01", 8,
                                 (const uint8_t *)"\x78\x9c\x03\0\0\0\0\x01", 8, NULL, &error),
                     0);
    free(a), free(b), free(none), free(ab), free(all), free(data);
}

static void gzip_truncated(void **state) {
    (void)state;
    uint8_t *data = make_bytes(3000);
    size_t a_size, b_size;
    uint8_t *a = gzip_member(data, 2000, &a_size), *b = gzip_member(data + 2000, 1000, &b_size);
    uint8_t *all = join(a, a_size, b, b_size);
    size_t before = 0;
    for (size_t cut = 3; cut < a_size + b_size; cut++) {
        profconv_error error = {0};
        profconv_input *input;
        assert_int_equal(profconv_input_open_memory(&input, all, cut, NULL, &error), 0);
        size_t total = 0, got;
        const uint8_t *p;
        int status;
        while ((status = profconv_input_window(input, 100, &p, &got, &error)) == 0 && got) {
            assert_memory_equal(p, data + total, got);
            total += got;
            profconv_input_consume(input, got);
        }
        profconv_input_free(input);
        assert_true(total >= before); /* a longer file never gives less */
        before = total;
        if (cut == a_size || cut == a_size + 1) { /* a whole member, and one byte behind it */
            assert_int_equal(status, 0);
            assert_int_equal(total, 2000);
            continue;
        }
        assert_int_equal(status, PROFCONV_E_FORMAT);
        assert_non_null(strstr(error.message, "gzip stream ends early"));
        assert_int_equal(error.offset, total);
        if (cut > a_size)
            assert_true(total >= 2000);
    }
    assert_int_equal(before, 3000); /* only the trailer was missing */
    free(a), free(b), free(all), free(data);
}

/* zlib can hold more output than fits when its input is used up: a stream that is cut inside a long match. */
static void gzip_cut_in_match(void **state) {
    (void)state;
    size_t size = 786432 + 1000, file_size; /* three buffers and a bit */
    uint8_t *zeros = calloc(1, size), *file = gzip_member(zeros, size, &file_size), *out = malloc(size);
    for (size_t cut = file_size - 20; cut < file_size; cut++) {
        z_stream z = {0};
        assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
        z.next_in = file;
        z.avail_in = (uInt)cut;
        z.next_out = out;
        z.avail_out = (uInt)size;
        inflate(&z, Z_SYNC_FLUSH);
        size_t whole = z.total_out;
        inflateEnd(&z);
        profconv_error error;
        assert_int_equal(inflate_all(file, cut, zeros, whole, NULL, &error), PROFCONV_E_FORMAT);
        assert_int_equal(error.offset, whole);
    }
    free(zeros), free(file), free(out);
}

static void gzip_damaged(void **state) {
    (void)state;
    uint8_t *data = make_bytes(100000);
    size_t size;
    uint8_t *file = gzip_member(data, 100000, &size);
    profconv_error error;
    file[size - 5] ^= 1; /* CRC: all bytes come, then the error */
    file[size - 5] ^= 1;
    file[size - 8] ^= 1;
    assert_int_equal(inflate_all(file, size, data, 100000, NULL, &error), PROFCONV_E_FORMAT);
    assert_non_null(strstr(error.message, "incorrect data check"));
    file[size - 8] ^= 1;
    file[size - 1] ^= 1;
    assert_int_equal(inflate_all(file, size, data, 100000, NULL, &error), PROFCONV_E_FORMAT);
    assert_non_null(strstr(error.message, "incorrect length check"));
    file[size - 1] ^= 1;
    /* Damage anywhere is found, at the latest by the CRC; nothing is delivered beyond the size. */
    for (size_t at = 10; at < size; at += 97) {
        file[at] ^= 0x55;
        profconv_input *input;
        assert_int_equal(profconv_input_open_memory(&input, file, size, NULL, &error), 0);
        const uint8_t *p;
        size_t got;
        int status;
        while ((status = profconv_input_window(input, 0, &p, &got, &error)) == 0 && got)
            profconv_input_consume(input, got);
        assert_int_equal(status, PROFCONV_E_FORMAT);
        profconv_input_free(input);
        file[at] ^= 0x55;
    }
    free(file);
    free(data);
}

static void gzip_bomb(void **state) {
    (void)state;
    size_t size = 64 << 20, packed;
    uint8_t *zeros = calloc(1, size);
    uint8_t *file = gzip_member(zeros, size, &packed);
    profconv_error error;
    profconv_limits limits = {.struct_size = sizeof limits};
    assert_int_equal(inflate_all(file, packed, zeros, size, NULL, &error), 0); /* about 1000 to one: allowed */
    limits.max_inflated = size;
    assert_int_equal(inflate_all(file, packed, zeros, size, &limits, &error), 0);
    limits.max_inflated = size - 1;
    assert_int_equal(inflate_all(file, packed, zeros, size - 1, &limits, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_inflated"));
    limits.max_inflated = 1;
    assert_int_equal(inflate_all(file, packed, zeros, 1, &limits, &error), PROFCONV_E_LIMIT);
    limits.max_inflated = 0;
    limits.max_inflate_ratio = 100;
    profconv_io_options options = {sizeof options, NULL, &limits, 0, 0};
    profconv_input *input;
    assert_int_equal(profconv_input_open_memory(&input, file, packed, &options, &error), 0);
    uint64_t skipped;
    assert_int_equal(profconv_input_skip(input, size, &skipped, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_inflate_ratio"));
    assert_true(skipped >= 16 << 20 && skipped <= 18 << 20);
    profconv_input_free(input);
    free(file);
    file = gzip_member(zeros, 16 << 20, &packed); /* below 16 MiB the ratio is not looked at */
    assert_int_equal(inflate_all(file, packed, zeros, 16 << 20, &limits, &error), 0);
    free(file);
    free(zeros);
}

/* ---- lines, all at once, ticks ---- */

static void lines(void **state) {
    (void)state;
    char text[700100] = "first\n\nthird\r\n";
    size_t size = 14;
    memset(text + size, 'x', 700000);
    size += 700000;
    memcpy(text + size, "\nlast", 5);
    size += 5;
    struct {
        size_t start, size;
        int terminated;
    } expected[] = {{0, 5, 1}, {6, 0, 1}, {7, 6, 1}, {14, 700000, 1}, {700015, 4, 0}};
    for (size_t step = 0; step < 30000; step = step * 17 + 7) {
        source s = {.data = (uint8_t *)text, .size = size, .step = step};
        profconv_input *input = open_callbacks(&s, 0, NULL);
        const char *line;
        size_t length;
        int got, terminated;
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(pfc_input_line(input, 700000, &line, &length, &got, &terminated, NULL), 0);
            assert_int_equal(got, 1);
            assert_int_equal(length, expected[i].size);
            assert_int_equal(terminated, expected[i].terminated);
            assert_memory_equal(line, text + expected[i].start, length);
            assert_int_equal(profconv_input_offset(input), expected[i].start); /* until the next call */
        }
        assert_int_equal(pfc_input_line(input, 700000, &line, &length, &got, &terminated, NULL), 0);
        assert_true(!got && !terminated && length == 0);
        assert_int_equal(profconv_input_offset(input), size);
        profconv_input_free(input);
    }
    profconv_input *input;
    profconv_error error;
    const char *line;
    size_t length;
    int got, terminated;
    assert_int_equal(profconv_input_open_memory(&input, text, size, NULL, &error), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pfc_input_line(input, 699999, &line, &length, &got, &terminated, &error), 0);
    assert_int_equal(pfc_input_line(input, 699999, &line, &length, &got, &terminated, &error), PROFCONV_E_LIMIT);
    assert_int_equal(error.offset, 14);
    /* Windows and lines mix. */
    assert_int_equal(profconv_input_seek(input, 0, &error), 0);
    assert_int_equal(pfc_input_line(input, 100, &line, &length, &got, &terminated, &error), 0);
    const uint8_t *p;
    assert_int_equal(profconv_input_window(input, 6, &p, &length, &error), 0);
    assert_memory_equal(p, "\nthird", 6);
    profconv_input_free(input);
}

static void read_all(void **state) {
    (void)state;
    size_t size = 1000000;
    uint8_t *data = make_bytes(size);
    profconv_error error;
    for (int seek = 0; seek < 2; seek++) {
        source s = {.data = data, .size = size, .step = 77777};
        failing_alloc fail = {0};
        profconv_allocator allocator = failing_allocator(&fail);
        pfc_mem mem;
        pfc_mem_init(&mem, &allocator, 0);
        profconv_input *input = open_callbacks(&s, seek, NULL);
        profconv_input_consume(input, 10);
        uint8_t *all;
        size_t all_size, capacity;
        assert_int_equal(pfc_input_read_all(input, &mem, size, &all, &all_size, &capacity, &error), 0);
        assert_int_equal(all_size, size - 10);
        assert_memory_equal(all, data + 10, size - 10);
        if (seek)
            assert_int_equal(fail.peak, size - 10); /* the size was known */
        pfc_free(&mem, all, capacity);
        assert_int_equal(pfc_input_read_all(input, &mem, size, &all, &all_size, &capacity, &error), 0);
        assert_true(all_size == 0 && capacity == 0);
        profconv_input_free(input);
        s.at = 0;
        input = open_callbacks(&s, seek, NULL);
        assert_int_equal(pfc_input_read_all(input, &mem, size - 1, &all, &all_size, &capacity, &error),
                         PROFCONV_E_LIMIT);
        assert_null(all);
        assert_int_equal(mem.live, 0);
        profconv_input_free(input);
        s.at = 0;
        input = open_callbacks(&s, seek, NULL);
        pfc_mem_init(&mem, &allocator, 500000);
        assert_int_equal(pfc_input_read_all(input, &mem, UINT64_MAX, &all, &all_size, &capacity, &error),
                         PROFCONV_E_LIMIT);
        assert_non_null(strstr(error.message, "max_memory of 500000"));
        assert_int_equal(mem.live, 0);
        profconv_input_free(input);
    }
    free(data);
}

typedef struct ticks {
    unsigned count, cancel_at;
    uint64_t done, total;
} ticks;
static int on_tick(void *user, uint64_t done, uint64_t total) {
    ticks *t = user;
    assert_true(done >= t->done);
    t->done = done;
    t->total = total;
    return ++t->count == t->cancel_at;
}

static void ticking(void **state) {
    (void)state;
    size_t size = 10 << 20, got;
    uint8_t *data = make_bytes(size);
    profconv_error error;
    const uint8_t *p;
    profconv_input *input;
    for (int kind = 0; kind < 2; kind++) {
        source s = {.data = data, .size = size};
        ticks t = {0};
        input = kind ? open_callbacks(&s, 1, NULL) : NULL;
        if (!kind)
            assert_int_equal(profconv_input_open_memory(&input, data, size, NULL, &error), 0);
        pfc_input_set_tick(input, on_tick, &t);
        while (profconv_input_window(input, 1000, &p, &got, &error) == 0 && got)
            profconv_input_consume(input, got < 1000 ? got : 1000);
        assert_true(t.count >= 9 && t.count <= 11);
        assert_int_equal(t.total, size);
        assert_int_equal(profconv_input_seek(input, 0, &error), 0);
        t = (ticks){.cancel_at = 3};
        int status;
        uint64_t at = 0;
        while ((status = profconv_input_window(input, 1000, &p, &got, &error)) == 0 && got) {
            profconv_input_consume(input, 1000);
            at += 1000;
        }
        assert_int_equal(status, PROFCONV_E_CALLBACK);
        assert_true(at >= 3 << 20 && at < 4 << 20);
        assert_non_null(strstr(error.message, "cancelled"));
        pfc_input_set_tick(input, NULL, NULL);
        assert_int_equal(profconv_input_window(input, 1000, &p, &got, &error), 0);
        /* Skips can be cancelled, and reads out of order. */
        t = (ticks){.cancel_at = 1};
        pfc_input_set_tick(input, on_tick, &t);
        uint64_t skipped;
        assert_int_equal(profconv_input_skip(input, 5 << 20, &skipped, &error), PROFCONV_E_CALLBACK);
        if (kind) {
            t = (ticks){.cancel_at = 2};
            pfc_input_set_tick(input, on_tick, &t);
            uint8_t *buffer = malloc(1 << 20);
            assert_int_equal(profconv_input_read_at(input, 0, buffer, 1 << 20, &got, &error), 0);
            assert_int_equal(profconv_input_read_at(input, 0, buffer, 1 << 20, &got, &error), PROFCONV_E_CALLBACK);
            free(buffer);
        }
        profconv_input_free(input);
    }
    free(data);
}

/* ---- zlib blocks ---- */

static void zlib_blocks(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    pfc_mem mem;
    pfc_mem_init(&mem, &allocator, 0);
    uint8_t *data = make_bytes(300000), *out = malloc(300001);
    size_t sizes[] = {0, 1, 4096, 300000};
    for (size_t i = 0; i < 4; i++)
        for (int level = 0; level <= 9; level += 3) {
            uint8_t *packed;
            size_t packed_size, capacity, size = sizes[i];
            assert_int_equal(pfc_zlib_deflate(&mem, data, size, level, &packed, &packed_size, &capacity), 0);
            uLongf length = 300001; /* zlib's own opinion */
            assert_int_equal(uncompress(out, &length, packed, packed_size), Z_OK);
            assert_int_equal(length, size);
            assert_int_equal(pfc_zlib_inflate(&mem, packed, packed_size, out, size), 0);
            assert_memory_equal(out, data, size);
            assert_int_equal(pfc_zlib_inflate(&mem, packed, packed_size, out, size + 1), PROFCONV_E_FORMAT);
            if (size)
                assert_int_equal(pfc_zlib_inflate(&mem, packed, packed_size, out, size - 1), PROFCONV_E_FORMAT);
            for (size_t cut = 0; cut < packed_size; cut += packed_size / 7 + 1)
                assert_int_equal(pfc_zlib_inflate(&mem, packed, cut, out, size), PROFCONV_E_FORMAT);
            pfc_free(&mem, packed, capacity);
            assert_int_equal(mem.live, 0);
        }
    uint8_t *packed = NULL;
    size_t packed_size, capacity;
    assert_int_equal(pfc_zlib_deflate(&mem, data, 10, 10, &packed, &packed_size, &capacity), PROFCONV_E_INVALID);
    int status = 0;
    FAILING_SWEEP(
        &fail,
        {
            status = pfc_zlib_deflate(&mem, data, 300000, 0, &packed, &packed_size, &capacity);
            pfc_free(&mem, packed, capacity);
        },
        assert_int_equal(status, PROFCONV_E_NOMEM));
    assert_int_equal(status, 0);
    assert_int_equal(pfc_zlib_deflate(&mem, data, 300000, 0, &packed, &packed_size, &capacity), 0);
    uint8_t *kept = join(packed, packed_size, packed, 0);
    pfc_free(&mem, packed, capacity);
    FAILING_SWEEP(&fail, status = pfc_zlib_inflate(&mem, kept, packed_size, out, 300000),
                  assert_int_equal(status, PROFCONV_E_NOMEM));
    assert_int_equal(status, 0);
    free(kept), free(out), free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_members), cmocka_unit_test(gzip_truncated), cmocka_unit_test(gzip_cut_in_match),
        cmocka_unit_test(gzip_damaged), cmocka_unit_test(gzip_bomb),      cmocka_unit_test(lines),
        cmocka_unit_test(read_all),     cmocka_unit_test(ticking),        cmocka_unit_test(zlib_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
