/* SPDX-License-Identifier: MIT
 *
 * base/: numbers at their limits, accounting, arenas, indexes, settings, reports, errors, structs across versions.
 */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "libprofconv/base/error.h"
#include "libprofconv/base/cursor.h"
#include "libprofconv/base/hash.h"
#include "libprofconv/base/mem.h"
#include "libprofconv/base/options.h"
#include "libprofconv/base/struct.h"
#include "libprofconv/base/text.h"
#include "tests/support/failing_alloc.h"

/* ---- text ---- */

static int parses_u64(const char *text, uint64_t value, size_t used) {
    uint64_t got = 0;
    const char *end = pfc_parse_u64(text, text + strlen(text), &got);
    return end == text + used && got == value;
}

static void parse_decimal(void **state) {
    (void)state;
    assert_true(parses_u64("0", 0, 1));
    assert_true(parses_u64("00012x", 12, 5));
    assert_true(parses_u64("18446744073709551615", UINT64_MAX, 20));
    assert_true(parses_u64("000018446744073709551615 ", UINT64_MAX, 24));
    uint64_t v;
    const char *bad[] = {"", "-1", "+1", " 1", "x", "18446744073709551616", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(pfc_parse_u64(bad[i], bad[i] + strlen(bad[i]), &v));
    /* The end counts, not a NUL. */
    const char *digits = "12345";
    assert_ptr_equal(pfc_parse_u64(digits, digits + 3, &v), digits + 3);
    assert_int_equal(v, 123);
}

static void parse_hex(void **state) {
    (void)state;
    uint64_t v;
    const char *t = "fFfFffffffffffff";
    assert_ptr_equal(pfc_parse_hex(t, t + 16, &v), t + 16);
    assert_true(v == UINT64_MAX);
    t = "0000deadBEEFg";
    assert_ptr_equal(pfc_parse_hex(t, t + 13, &v), t + 12);
    assert_true(v == 0xdeadbeef);
    t = "10000000000000000";
    assert_null(pfc_parse_hex(t, t + 17, &v));
    t = "g";
    assert_null(pfc_parse_hex(t, t + 1, &v));
    assert_null(pfc_parse_hex(t, t, &v));
    t = "0x10"; /* no prefix: the zero is the number */
    assert_ptr_equal(pfc_parse_hex(t, t + 4, &v), t + 1);
}

static void parse_signed(void **state) {
    (void)state;
    int64_t v;
    const char *t = "-9223372036854775808";
    assert_ptr_equal(pfc_parse_i64(t, t + strlen(t), &v), t + strlen(t));
    assert_true(v == INT64_MIN);
    t = "9223372036854775807";
    assert_ptr_equal(pfc_parse_i64(t, t + strlen(t), &v), t + strlen(t));
    assert_true(v == INT64_MAX);
    t = "-0";
    assert_ptr_equal(pfc_parse_i64(t, t + 2, &v), t + 2);
    assert_true(v == 0);
    const char *bad[] = {"9223372036854775808", "-9223372036854775809", "-", "--1", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(pfc_parse_i64(bad[i], bad[i] + strlen(bad[i]), &v));
}

static void format_numbers(void **state) {
    (void)state;
    uint64_t values[] = {0, 1, 9, 10, 255, 256, 4294967295u, 4294967296u, UINT64_MAX / 10, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char expected[32], got[32];
        sprintf(expected, "%" PRIu64, values[i]);
        got[pfc_format_u64(got, values[i])] = 0;
        assert_string_equal(got, expected);
        sprintf(expected, "%" PRIx64, values[i]);
        got[pfc_format_hex(got, values[i])] = 0;
        assert_string_equal(got, expected);
        sprintf(expected, "%" PRId64, (int64_t)values[i]);
        got[pfc_format_i64(got, (int64_t)values[i])] = 0;
        assert_string_equal(got, expected);
    }
    char got[32];
    got[pfc_format_i64(got, INT64_MIN)] = 0;
    assert_string_equal(got, "-9223372036854775808");
}

static void saturating(void **state) {
    (void)state;
    assert_true(pfc_mul_sat(0, UINT64_MAX) == 0);
    assert_true(pfc_mul_sat(UINT64_MAX, 1) == UINT64_MAX);
    assert_true(pfc_mul_sat(UINT64_C(1) << 32, UINT64_C(1) << 32) == UINT64_MAX);
    assert_true(pfc_mul_sat(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1) == ((UINT64_C(1) << 32) - 1) << 32);
    assert_true(pfc_add_sat(UINT64_MAX, 1) == UINT64_MAX);
    int overflow = 0;
    assert_true(pfc_add_sat_i64(INT64_MAX - 1, 1, &overflow) == INT64_MAX && !overflow);
    assert_true(pfc_add_sat_i64(INT64_MIN, INT64_MAX, &overflow) == -1 && !overflow);
    assert_true(pfc_add_sat_i64(INT64_MAX, 1, &overflow) == INT64_MAX && overflow);
    overflow = 0;
    assert_true(pfc_add_sat_i64(INT64_MIN, -1, &overflow) == INT64_MIN && overflow);
    assert_true(pfc_add_sat_i64(1, 1, &overflow) == 2 && overflow); /* stays set */
}

static void buffers(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    pfc_mem mem;
    pfc_mem_init(&mem, &allocator, 0);
    pfc_buf buf;
    pfc_buf_init(&buf, &mem);
    pfc_buf_printf(&buf, "%s", "");
    assert_string_equal(buf.data, "");
    pfc_buf_text(&buf, "a");
    pfc_buf_char(&buf, ' ');
    pfc_buf_u64(&buf, UINT64_MAX);
    pfc_buf_char(&buf, ' ');
    pfc_buf_i64(&buf, INT64_MIN);
    pfc_buf_char(&buf, ' ');
    pfc_buf_hex(&buf, 0xabc);
    assert_string_equal(buf.data, "a 18446744073709551615 -9223372036854775808 abc");
    pfc_buf_clear(&buf);
    assert_string_equal(buf.data, "");
    char longer[1000];
    memset(longer, 'y', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    for (int i = 0; i < 50; i++)
        pfc_buf_printf(&buf, "[%s]", longer);
    assert_int_equal(buf.size, 50 * 1001);
    assert_int_equal(buf.data[50 * 1001 - 1], ']');
    assert_int_equal(strlen(buf.data), buf.size);
    assert_int_equal(buf.failed, 0);
    pfc_buf_free(&buf);
    assert_int_equal(mem.live, 0);

    FAILING_SWEEP(&fail,
                  {
                      pfc_mem_init(&mem, &allocator, 0);
                      pfc_buf_init(&buf, &mem);
                      for (int i = 0; i < 5; i++)
                          pfc_buf_printf(&buf, "%s", longer);
                      int failed = buf.failed;
                      assert_true(failed ? failed == PROFCONV_E_NOMEM : buf.size == 5 * 999);
                      pfc_buf_free(&buf);
                      assert_int_equal(mem.live, 0);
                      if (fail.failures)
                          assert_int_equal(failed, PROFCONV_E_NOMEM);
                  },
                  {});
}

/* ---- memory ---- */

static void accounting(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    pfc_mem mem;
    pfc_mem_init(&mem, &allocator, 1000);
    char *p = (char *)pfc_alloc(&mem, 600);
    assert_non_null(p);
    assert_int_equal(mem.live, 600);
    assert_int_equal(fail.live, 600);
    assert_null(pfc_alloc(&mem, 401)); /* refused before the allocator is asked */
    assert_int_equal(fail.requests, 1);
    assert_int_equal(mem.failed, PROFCONV_E_LIMIT);
    profconv_error error;
    assert_int_equal(pfc_mem_error(&mem, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_memory of 1000 bytes"));
    char *q = (char *)pfc_alloc(&mem, 400);
    assert_non_null(q);
    p = (char *)pfc_resize(&mem, p, 600, 100);
    assert_int_equal(mem.live, 500);
    assert_int_equal(mem.peak, 1000);
    pfc_free(&mem, p, 100);
    pfc_free(&mem, q, 400);
    pfc_free(&mem, NULL, 0);
    assert_int_equal(mem.live, 0);
    assert_int_equal(fail.live, 0);
    assert_int_equal(fail.wrong_sizes, 0);

    pfc_mem_init(&mem, NULL, 0);
    char *copy = pfc_strdup(&mem, "abcdef", 3);
    assert_string_equal(copy, "abc");
    pfc_free(&mem, copy, 4);
    assert_int_equal(mem.live, 0);

    profconv_allocator broken = {sizeof broken, NULL, NULL};
    pfc_mem_init(&mem, &broken, 0);
    assert_null(pfc_alloc(&mem, 1));
    assert_int_equal(pfc_mem_error(&mem, &error), PROFCONV_E_INVALID);
}

static void vectors(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    pfc_mem mem;
    pfc_mem_init(&mem, &allocator, 0);
    PFC_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(PFC_VEC_PUSH(&mem, &v, i), 0);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(v.data[i], i);
    assert_true(fail.requests < 50); /* geometric */
    assert_int_equal(mem.live, v.capacity * sizeof(uint32_t));
    void *data = v.data;
    size_t capacity = v.capacity;
    assert_int_equal(pfc_grow(&mem, &data, &capacity, SIZE_MAX / 2, 4), PROFCONV_E_NOMEM);
    assert_ptr_equal(data, v.data);
    assert_int_equal(capacity, v.capacity);
    PFC_VEC_FREE(&mem, &v);
    assert_int_equal(mem.live, 0);

    /* All of a budget can be used, whatever the growth factor. */
    pfc_mem_init(&mem, &allocator, 4000);
    size_t pushed = 0;
    while (PFC_VEC_PUSH(&mem, &v, 7) == 0)
        pushed++;
    assert_int_equal(pushed, 1000);
    assert_int_equal(mem.failed, PROFCONV_E_LIMIT);
    PFC_VEC_FREE(&mem, &v);
    assert_int_equal(mem.live, 0);
    assert_int_equal(fail.live, 0);
}

static void arenas(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    pfc_mem mem;
    pfc_mem_init(&mem, &allocator, 0);
    pfc_arena arena;
    pfc_arena_init(&arena, &mem);
    for (int round = 0; round < 3; round++) {
        unsigned char *blocks[600];
        size_t sizes[600];
        for (size_t i = 0; i < 600; i++) {
            size_t align = (size_t)1 << (i % 7);
            sizes[i] = i % 50 == 49 ? 100000 : i * 7 % 300;
            blocks[i] = (unsigned char *)pfc_arena_alloc(&arena, sizes[i], align);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % align, 0);
            memset(blocks[i], (int)(i & 0xff), sizes[i]);
        }
        for (size_t i = 0; i < 600; i++) /* nobody overwrote anybody */
            for (size_t j = 0; j < sizes[i]; j++)
                assert_int_equal(blocks[i][j], i & 0xff);
        pfc_arena_reset(&arena);
        assert_int_equal(fail.blocks, 1);
    }
    assert_null(pfc_arena_alloc(&arena, SIZE_MAX - 8, 1));
    assert_null(pfc_arena_alloc(&arena, SIZE_MAX - 100, 64));
    pfc_arena_free(&arena);
    pfc_arena_free(&arena);
    assert_int_equal(mem.live, 0);
    assert_int_equal(fail.live, 0);
}

/* ---- hash and index ---- */

static void hash_quality(void **state) {
    (void)state;
    /* Each of the input's bits must reach both the low bits (the slot) and the high ones (the tag). */
    unsigned char text[100] = {0};
    for (size_t size = 1; size <= sizeof text; size += size < 40 ? 1 : 13) {
        for (size_t i = 0; i < size; i++)
            text[i] = (unsigned char)(i * 37 + size);
        uint64_t before = pfc_hash_bytes(text, size);
        unsigned changed = 0;
        for (size_t bit = 0; bit < size * 8; bit++) {
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
            uint64_t difference = before ^ pfc_hash_bytes(text, size);
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true((uint32_t)difference != 0 && difference >> 32 != 0);
            changed += (unsigned)__builtin_popcountll(difference);
        }
        double mean = changed / (double)(size * 8);
        assert_true(mean > 26 && mean < 38); /* 32 of 64 is ideal */
    }
    /* The length counts, zeros too. */
    unsigned char zeros[64] = {0};
    for (size_t a = 0; a < 64; a++)
        for (size_t b = a + 1; b < 64; b++)
            assert_true(pfc_hash_bytes(zeros, a) != pfc_hash_bytes(zeros, b));
    assert_true(pfc_hash_bytes(NULL, 0) == pfc_hash_bytes("", 0));
    /* Not the address: the same bytes at all alignments. */
    unsigned char place[80];
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(place + shift, "a function of 35 bytes::name(int)&", 35);
        assert_true(pfc_hash_bytes(place + shift, 35) == pfc_hash_bytes("a function of 35 bytes::name(int)&", 35));
    }
}

typedef struct numbers {
    uint64_t (*hash)(uint64_t value);
} numbers;

static uint64_t number_value(uint32_t row) { return (uint64_t)row * 0x10001 + 5; }
static uint64_t good_hash(uint64_t value) { return pfc_hash_bytes(&value, sizeof value); }
static uint64_t same_tag_hash(uint64_t value) { return good_hash(value) & 0xffffffffu; }
static uint64_t same_slot_hash(uint64_t value) { return good_hash(value) & 0xffffffff00000000u; }
static uint64_t one_hash(uint64_t value) { return value & 0; }
static uint64_t rehash_number(const void *user, uint32_t row) {
    return ((const numbers *)user)->hash(number_value(row));
}

static uint32_t find_number(const pfc_index *index, const numbers *n, uint64_t value) {
    if (!index->size)
        return 0;
    pfc_probe probe = pfc_index_start(index, n->hash(value));
    uint32_t row;
    while ((row = pfc_index_next(index, &probe)) != 0 && number_value(row) != value)
        ;
    return row;
}

static void fill_index(uint64_t (*hash)(uint64_t), uint32_t rows) {
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    pfc_mem mem;
    pfc_mem_init(&mem, &allocator, 0);
    numbers n = {hash};
    pfc_index index = {0};
    for (uint32_t row = 1; row <= rows; row++)
        assert_int_equal(pfc_index_insert(&mem, &index, hash(number_value(row)), row, rehash_number, &n), 0);
    assert_int_equal(index.count, rows);
    assert_true(index.size > index.count && index.size < index.count * 4 + 32);
    for (uint32_t row = 1; row <= rows; row++)
        assert_int_equal(find_number(&index, &n, number_value(row)), row);
    for (uint32_t row = 1; row <= (rows < 10000 ? rows : 10000); row++)
        assert_int_equal(find_number(&index, &n, number_value(row) + 1), 0);
    pfc_index_free(&mem, &index);
    assert_int_equal(mem.live, 0);
    assert_int_equal(fail.live, 0);
    assert_int_equal(index.size, 0);
}

static void index_millions(void **state) {
    (void)state;
    fill_index(good_hash, 3000000);
}
static void index_collisions(void **state) {
    (void)state;
    fill_index(one_hash, 1500);
    fill_index(same_slot_hash, 1500);
    fill_index(same_tag_hash, 200000);
}

static void index_failure(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    numbers n = {good_hash};
    FAILING_SWEEP(&fail,
                  {
                      pfc_mem mem;
                      pfc_mem_init(&mem, &allocator, 0);
                      pfc_index index = {0};
                      uint32_t row = 1;
                      int status = 0;
                      for (; row <= 2000; row++) {
                          status = pfc_index_insert(&mem, &index, good_hash(number_value(row)), row, rehash_number, &n);
                          if (status)
                              break;
                      }
                      /* As it was: all earlier rows are there, the failed one is not, and a second try works. */
                      if (status) {
                          assert_int_equal(status, PROFCONV_E_NOMEM);
                          for (uint32_t i = 1; i < row; i++)
                              assert_int_equal(find_number(&index, &n, number_value(i)), i);
                          assert_int_equal(find_number(&index, &n, number_value(row)), 0);
                          assert_int_equal(
                              pfc_index_insert(&mem, &index, good_hash(number_value(row)), row, rehash_number, &n), 0);
                          assert_int_equal(find_number(&index, &n, number_value(row)), row);
                      }
                      pfc_index_free(&mem, &index);
                  },
                  {});
}

/* ---- cursor ---- */

static void cursors(void **state) {
    (void)state;
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x81, 0, 'h', 'i', 0, 'x'};
    pfc_cursor c = pfc_cursor_make(bytes, sizeof bytes, 100, 0);
    assert_true(pfc_u64(&c) == 0x0807060504030201u);
    assert_true(pfc_uleb(&c) == 1u << 7 && pfc_cursor_offset(&c) == 111);
    profconv_string s = pfc_cstring(&c);
    assert_true(s.size == 2 && memcmp(s.data, "hi", 2) == 0);
    s = pfc_cstring(&c);
    assert_true(s.size == 1 && s.data[0] == 'x' && !c.failed && pfc_cursor_left(&c) == 0);
    assert_true(pfc_u8(&c) == 0 && c.failed);

    c = pfc_cursor_make(bytes, sizeof bytes, 0, 1);
    assert_true(pfc_u16(&c) == 0x0102 && pfc_u32(&c) == 0x03040506);
    assert_true(pfc_u64(&c) == 0x0708808100686900u && !c.failed);
    assert_true(pfc_u64(&c) == 0 && c.failed && pfc_u8(&c) == 0); /* stays failed */

    c = pfc_cursor_make(bytes, 8, 0, 0);
    assert_true(pfc_fits(&c, 2, 4) && !pfc_fits(&c, 3, 3) && !pfc_fits(&c, UINT64_MAX, 8));
    pfc_cursor sub = pfc_sub(&c, 3);
    assert_true(!sub.failed && pfc_cursor_left(&sub) == 3 && pfc_cursor_left(&c) == 5);
    sub = pfc_sub(&c, UINT64_MAX);
    assert_true(sub.failed && c.failed && pfc_take(&sub, 0) == NULL);
    const uint8_t endless[11] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
    c = pfc_cursor_make(endless, sizeof endless, 0, 0);
    assert_true(pfc_uleb(&c) == 0 && c.failed);
}

/* ---- errors and structs ---- */

static void errors(void **state) {
    (void)state;
    profconv_error error;
    memset(&error, 0xff, sizeof error);
    assert_int_equal(profconv_error_set(&error, PROFCONV_E_FORMAT, 7, 3, "found %d,\nexpected\t%s\n", 1, "two"),
                     PROFCONV_E_FORMAT);
    assert_int_equal(error.status, PROFCONV_E_FORMAT);
    assert_int_equal(error.system_errno, 0);
    assert_true(error.offset == 7 && error.line == 3);
    assert_string_equal(error.format, "");
    assert_string_equal(error.message, "found 1,?expected?two");
    /* The old message may be an argument. */
    profconv_error_set(&error, PROFCONV_E_IO, PROFCONV_NO_OFFSET, 0, "file: %s", error.message);
    assert_string_equal(error.message, "file: found 1,?expected?two");
    assert_int_equal(profconv_error_set(NULL, PROFCONV_E_IO, 0, 0, "%s", "x"), PROFCONV_E_IO);

    char text[1001];
    for (size_t i = 0; i < 1000; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    text[1000] = 0;
    profconv_error_set(&error, PROFCONV_E_IO, PROFCONV_NO_OFFSET, 0, "%s", text); /* 471 bytes fit */
    assert_int_equal(strlen(error.message), 470);
    profconv_error_set(&error, PROFCONV_E_IO, PROFCONV_NO_OFFSET, 0, "x%s", text);
    assert_int_equal(strlen(error.message), 471);

    pfc_error_system(&error, PROFCONV_E_IO, ENOENT, 5, "%s: open", "name");
    assert_int_equal(error.system_errno, ENOENT);
    assert_string_equal(error.message, "name: open: No such file or directory");
    pfc_error_system(&error, PROFCONV_E_IO, ENOENT, 5, "%s", text);
    assert_string_equal(error.message + strlen(error.message) - 27, ": No such file or directory");
    pfc_error_system(&error, PROFCONV_E_IO, 999999, 5, "x");
    assert_string_equal(error.message, "x: error number 999999");

    for (int status = 1; status > -14; status--)
        assert_true(strlen(profconv_status_string(status)) > 0);
    for (int a = 0; a >= -12; a--)
        for (int b = a - 1; b >= -13; b--)
            assert_string_not_equal(profconv_status_string(a), profconv_status_string(b));
    assert_string_equal(profconv_version(), "0.1.0");
}

static void structs(void **state) {
    (void)state;
    struct {
        profconv_limits known;
        uint64_t future[2];
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.known.struct_size = sizeof newer;
    newer.known.max_depth = 5;
    profconv_limits limits;
    profconv_error error;
    assert_int_equal(pfc_limits_copy(&limits, &newer.known, &error), 0);
    assert_int_equal(limits.struct_size, sizeof limits);
    assert_int_equal(limits.max_depth, 5);
    assert_int_equal(limits.max_string, 16 << 20);
    assert_true(limits.max_memory == UINT64_MAX && limits.max_inflated == (uint64_t)64 << 30);
    newer.future[1] = 1;
    assert_int_equal(pfc_limits_copy(&limits, &newer.known, &error), PROFCONV_E_INVALID);
    assert_non_null(strstr(error.message, "profconv_limits"));

    /* An older caller: what lies behind its struct is not read. */
    profconv_limits older;
    memset(&older, 0xff, sizeof older);
    older.struct_size = offsetof(profconv_limits, max_inflate_ratio);
    older.max_memory = 77;
    older.max_inflated = 88;
    assert_int_equal(pfc_limits_copy(&limits, &older, NULL), 0);
    assert_true(limits.max_memory == 77 && limits.max_inflated == 88);
    assert_int_equal(limits.max_inflate_ratio, 2000);
    assert_int_equal(limits.max_depth, 16384);

    older.struct_size = 0;
    assert_int_equal(pfc_limits_copy(&limits, &older, &error), PROFCONV_E_INVALID);
    older.struct_size = SIZE_MAX;
    assert_int_equal(pfc_limits_copy(&limits, &older, &error), PROFCONV_E_INVALID);
    assert_int_equal(pfc_limits_copy(&limits, NULL, NULL), 0);
    assert_int_equal(limits.max_inflate_ratio, 2000);
}

/* ---- settings ---- */

static const profconv_setting declared[] = {
    {"event", PROFCONV_SETTING_LIST, NULL, NULL, "events to read"},
    {"inline", PROFCONV_SETTING_BOOL, "yes", NULL, "inlined frames"},
    {"depth", PROFCONV_SETTING_INT, "0x10", NULL, "frames"},
    {"scale", PROFCONV_SETTING_FLOAT, "0.5", NULL, "factor"},
    {"order", PROFCONV_SETTING_ENUM, "leaf", "leaf|root|none", "order of frames"},
    {"title", PROFCONV_SETTING_STRING, NULL, NULL, "title"},
    {NULL, PROFCONV_SETTING_STRING, NULL, NULL, NULL},
};

static void settings_values(void **state) {
    (void)state;
    profconv_options *o = NULL;
    profconv_error error;
    assert_int_equal(profconv_options_new(&o, NULL, &error), 0);
    assert_int_equal(profconv_options_int(o, "f", declared, "depth"), 16);
    assert_int_equal(profconv_options_bool(NULL, "f", declared, "inline"), 1);
    assert_true(profconv_options_float(o, "f", declared, "scale") == 0.5);
    assert_string_equal(profconv_options_string(o, "f", declared, "order"), "leaf");
    assert_null(profconv_options_string(o, "f", declared, "title"));
    assert_int_equal(profconv_options_has(o, "f", "depth"), 0);

    assert_int_equal(profconv_options_set(o, "f.depth=-9223372036854775808", &error), 0);
    assert_int_equal(profconv_options_set(o, "f.title=a=b.c=d", &error), 0);
    assert_int_equal(profconv_options_set(o, "f.inline=off", &error), 0);
    assert_int_equal(profconv_options_put(o, "f", "event", "cycles", &error), 0);
    assert_int_equal(profconv_options_set(o, "g.event=other", &error), 0);
    assert_int_equal(profconv_options_set(o, "f.event=", &error), 0);
    assert_int_equal(profconv_options_set(o, "f.event=cycles:u", &error), 0);
    assert_int_equal(profconv_options_check(o, "f", declared, &error), 0);
    assert_true(profconv_options_int(o, "f", declared, "depth") == INT64_MIN);
    assert_int_equal(profconv_options_bool(o, "f", declared, "inline"), 0);
    assert_string_equal(profconv_options_get(o, "f", "title"), "a=b.c=d");
    assert_string_equal(profconv_options_item(o, "f", "event", 0), "cycles");
    assert_string_equal(profconv_options_item(o, "f", "event", 1), "");
    assert_string_equal(profconv_options_item(o, "f", "event", 2), "cycles:u");
    assert_null(profconv_options_item(o, "f", "event", 3));
    assert_string_equal(profconv_options_item(o, "g", "event", 0), "other");

    /* A later value replaces an earlier one, even a bad one. */
    assert_int_equal(profconv_options_set(o, "f.depth=many", &error), 0);
    assert_int_equal(profconv_options_check(o, "f", declared, &error), PROFCONV_E_INVALID);
    assert_int_equal(profconv_options_set(o, "f.depth=0x7fffffffffffffff", &error), 0);
    assert_int_equal(profconv_options_check(o, "f", declared, &error), 0);
    assert_true(profconv_options_int(o, "f", declared, "depth") == INT64_MAX);

    const char *scope, *key, *value;
    assert_int_equal(pfc_options_entry(o, 4, &scope, &key, &value), 1);
    assert_string_equal(scope, "g");
    assert_string_equal(key, "event");
    assert_string_equal(value, "other");
    assert_int_equal(pfc_options_entry(o, 9, &scope, &key, &value), 0);
    assert_int_equal(pfc_options_entry(NULL, 0, &scope, &key, &value), 0);
    profconv_options_free(o);
    profconv_options_free(NULL);
}

static int check_one(const char *assignment, profconv_error *error) {
    profconv_options *o = NULL;
    assert_int_equal(profconv_options_new(&o, NULL, NULL), 0);
    int status = profconv_options_set(o, assignment, error);
    if (!status)
        status = profconv_options_check(o, "f", declared, error);
    profconv_options_free(o);
    return status;
}

static void settings_refused(void **state) {
    (void)state;
    profconv_error error;
    const char *bad[] = {"",
                         "f",
                         "f.x",
                         "=1",
                         ".x=1",
                         "f.=1",
                         "x=1.2",
                         "f.depth=",
                         "f.depth=1x",
                         "f.depth=0x",
                         "f.depth=+1",
                         "f.depth= 1",
                         "f.depth=9223372036854775808",
                         "f.depth=0x8000000000000000",
                         "f.inline=",
                         "f.inline=2",
                         "f.inline=YES",
                         "f.scale=",
                         "f.scale=1,5",
                         "f.scale=.",
                         "f.scale=inf",
                         "f.scale=nan",
                         "f.scale=1e999",
                         "f.scale=1e",
                         "f.scale=0x1p3",
                         "f.scale=1e+-5",
                         "f.order=",
                         "f.order=lea",
                         "f.order=leaf|root",
                         "f.none=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&error, 0, sizeof error);
        if (check_one(bad[i], &error) != PROFCONV_E_INVALID)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(error.status, PROFCONV_E_INVALID);
    }
    const char *good[] = {"f.depth=-0",      "f.depth=-0x8000000000000000",
                          "f.inline=true",   "f.inline=0",
                          "f.scale=-1.5e-3", "f.scale=.5",
                          "f.scale=5.",      "f.order=none",
                          "f.title=",        "other.what=1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (check_one(good[i], &error) != 0)
            fail_msg("refused: %s: %s", good[i], error.message);

    check_one("f.evnt=1", &error);
    assert_non_null(strstr(error.message, "f.evnt"));
    assert_non_null(strstr(error.message, "event, inline, depth, scale, order, title"));
    check_one("f.order=up", &error);
    assert_non_null(strstr(error.message, "leaf|root|none"));
    profconv_options *o = NULL;
    profconv_options_new(&o, NULL, NULL);
    profconv_options_set(o, "f.x=1", NULL);
    assert_int_equal(profconv_options_check(o, "f", NULL, &error), PROFCONV_E_INVALID);
    assert_non_null(strstr(error.message, "no settings"));

    /* More names than a message holds. */
    char names[100][24];
    profconv_setting many[101] = {0};
    for (size_t i = 0; i < 100; i++) {
        sprintf(names[i], "setting-number-%zu", i);
        many[i].name = names[i];
        many[i].type = PROFCONV_SETTING_STRING;
    }
    assert_int_equal(profconv_options_check(o, "f", many, &error), PROFCONV_E_INVALID);
    assert_non_null(strstr(error.message, "setting-number-0, setting-number-1, "));
    assert_string_equal(error.message + strlen(error.message) - 3, "...");
    profconv_options_free(o);
}

static void floats(void **state) {
    (void)state;
    struct {
        const char *text;
        double value;
    } exact[] = {{"0", 0},
                 {"-0.25", -0.25},
                 {"0.1", 0.1},
                 {"3.141592653589793", 3.141592653589793},
                 {"123456789012345", 123456789012345.0},
                 {"1e22", 1e22},
                 {"1.7e3", 1700},
                 {"5e-1", 0.5},
                 {"1E+3", 1000},
                 {"0e99999", 0},
                 {"0.000001", 1e-6}};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        double got = -1;
        assert_true(pfc_parse_float(exact[i].text, &got));
        assert_true(got == exact[i].value);
    }
    double got;
    assert_true(pfc_parse_float("1.7976931348623157e308", &got) && got > DBL_MAX * 0.999999);
    assert_true(pfc_parse_float("2.5e-308", &got) && got > 2.4999e-308 && got < 2.5001e-308);
    assert_true(pfc_parse_float("1e-400", &got) && got == 0);
    /* More digits than 64 bits hold. */
    assert_true(pfc_parse_float("12345678901234567890123456789", &got) && got > 1.23456789012345e28 &&
                got < 1.23456789012346e28);
    assert_true(pfc_parse_float("0.3333333333333333333333333333333", &got) && got > 0.33333333333333 &&
                got < 0.33333333333334);
}

static int use_options(const profconv_allocator *allocator) {
    profconv_options *o = (profconv_options *)1;
    profconv_error error = {0};
    int status = profconv_options_new(&o, allocator, &error);
    if (status) {
        assert_null(o);
        assert_int_equal(error.status, status);
        return status;
    }
    for (int i = 0; i < 20 && !status; i++) {
        status = profconv_options_set(o, "f.event=some-event-with-a-name", &error);
        assert_int_equal(error.status, status);
        size_t count = 0;
        while (profconv_options_item(o, "f", "event", count))
            count++;
        assert_int_equal(count, status ? i : i + 1);
    }
    profconv_options_free(o);
    return status;
}

static void settings_without_memory(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    int status = 0;
    FAILING_SWEEP(&fail, status = use_options(&allocator), assert_int_equal(status, PROFCONV_E_NOMEM));
    assert_int_equal(status, 0);
}

/* ---- reports ---- */

static void reports(void **state) {
    (void)state;
    profconv_report *r = NULL;
    assert_int_equal(profconv_report_new(&r, NULL, NULL), 0);
    profconv_report_add(r, PROFCONV_NOTE_DROPPED, "unmapped-address", 2, 100, 0x40, 0, "address 0x%x in no mapping",
                        16);
    profconv_report_add(r, PROFCONV_NOTE_DROPPED, "unmapped-address", 3, -30, 0x99, 0, "another %d", 1);
    profconv_report_add(r, PROFCONV_NOTE_WARNING, "unmapped-address", 1, 0, PROFCONV_NO_OFFSET, 7, "line\nbreak");
    profconv_report_add(r, PROFCONV_NOTE_DROPPED, "other", UINT64_MAX, INT64_MAX, PROFCONV_NO_OFFSET, 0, "%s", "x");
    profconv_report_add(r, PROFCONV_NOTE_DROPPED, "other", 1, 1, PROFCONV_NO_OFFSET, 0, "%s", "x");
    profconv_report_add(NULL, PROFCONV_NOTE_DROPPED, "other", 1, 1, PROFCONV_NO_OFFSET, 0, "%s", "x");
    assert_int_equal(profconv_report_count(r), 3);
    profconv_note n;
    assert_int_equal(profconv_report_get(r, 0, &n), 0);
    assert_int_equal(n.kind, PROFCONV_NOTE_DROPPED);
    assert_string_equal(n.cause, "unmapped-address");
    assert_string_equal(n.message, "address 0x10 in no mapping");
    assert_true(n.count == 5 && n.weight == 70 && n.offset == 0x40 && n.line == 0);
    assert_int_equal(profconv_report_get(r, 1, &n), 0);
    assert_string_equal(n.message, "line?break");
    assert_true(n.count == 1 && n.offset == PROFCONV_NO_OFFSET && n.line == 7);
    assert_int_equal(profconv_report_get(r, 2, &n), 0);
    assert_true(n.count == UINT64_MAX && n.weight == INT64_MAX);
    assert_int_equal(profconv_report_get(r, 3, &n), PROFCONV_E_INVALID);
    assert_int_equal(profconv_report_count(NULL), 0);
    assert_true(profconv_report_overflow(r) == 0 && profconv_report_overflow(NULL) == 0);
    profconv_report_free(r);
    profconv_report_free(NULL);
}

static void reports_without_memory(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    int status = 0;
    FAILING_SWEEP(
        &fail,
        {
            profconv_report *r = (profconv_report *)1;
            status = profconv_report_new(&r, &allocator, NULL);
            if (!status) {
                char cause[32];
                for (int i = 0; i < 12; i++) {
                    sprintf(cause, "cause-%d", i);
                    profconv_report_add(r, PROFCONV_NOTE_INFO, cause, 1, 0, PROFCONV_NO_OFFSET, 0, "message %d", i);
                }
                assert_int_equal(profconv_report_count(r) + profconv_report_overflow(r), 12);
                assert_int_equal(profconv_report_overflow(r), fail.failures);
            } else {
                assert_null(r);
            }
            profconv_report_free(r);
        },
        { assert_true(status == 0 || status == PROFCONV_E_NOMEM); });
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_decimal),   cmocka_unit_test(parse_hex),
        cmocka_unit_test(parse_signed),    cmocka_unit_test(format_numbers),
        cmocka_unit_test(saturating),      cmocka_unit_test(buffers),
        cmocka_unit_test(accounting),      cmocka_unit_test(vectors),
        cmocka_unit_test(arenas),          cmocka_unit_test(hash_quality),
        cmocka_unit_test(index_millions),  cmocka_unit_test(index_collisions),
        cmocka_unit_test(index_failure),   cmocka_unit_test(cursors),
        cmocka_unit_test(errors),          cmocka_unit_test(structs),
        cmocka_unit_test(settings_values), cmocka_unit_test(settings_refused),
        cmocka_unit_test(floats),          cmocka_unit_test(settings_without_memory),
        cmocka_unit_test(reports),         cmocka_unit_test(reports_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
