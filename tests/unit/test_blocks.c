/* SPDX-License-Identifier: MIT
 *
 * Blocks of malloc and of the system's pages: what is in them stays, whatever size they are given, and a request that
 * cannot be met leaves them as they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libprofconv/base/blocks.h"

enum { WORD = sizeof(uint64_t) };

static uint64_t word(size_t at) { return (uint64_t)at * 0x9e3779b97f4a7c15u; }

static void fill(uint64_t *p, size_t from, size_t to) {
    for (size_t i = from / WORD; i < to / WORD; i++)
        p[i] = word(i);
}

static void expect(const uint64_t *p, size_t size) {
    for (size_t i = 0; i < size / WORD; i++)
        if (p[i] != word(i))
            fail_msg("byte %zu of %zu", i * WORD, size);
}

static void through_sizes(size_t direct) {
    volatile size_t most = SIZE_MAX - 64; /* compilers know that this cannot be */
    static const size_t sizes[] = {64,
                                   4096,
                                   PFC_BLOCKS_BOUNDED - WORD,
                                   PFC_BLOCKS_BOUNDED,
                                   700000,
                                   1048576,
                                   1048568,
                                   PFC_BLOCKS_LARGE,
                                   2097152,
                                   2097160,
                                   3 << 20,
                                   7 << 20,
                                   8 << 20,
                                   (8 << 20) + 4096,
                                   30 << 20,
                                   (2 << 20),
                                   5000,
                                   (40 << 20) + WORD,
                                   1u << 20,
                                   PFC_BLOCKS_LARGE - WORD,
                                   9 << 20,
                                   12345 * 8,
                                   16};
    size_t size = 0;
    uint64_t *p = NULL, *other = pfc_block_resize(NULL, 0, 6 << 20, direct);
    fill(other, 0, 6 << 20);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t *q = pfc_block_resize(p, size, sizes[i], direct);
        assert_non_null(q);
        expect(q, size < sizes[i] ? size : sizes[i]);
        fill(q, size, sizes[i]);
        p = q;
        size = sizes[i];
        assert_null(pfc_block_resize(p, size, most, direct));
        expect(p, size);
        expect(other, 4096); /* its neighbours, whatever moved */
    }
    expect(other, 6 << 20);
    assert_null(pfc_block_resize(p, size, 0, direct));
    assert_null(pfc_block_resize(other, 6 << 20, 0, direct));
}

static void test_contents(void **state) {
    (void)state;
    through_sizes(PFC_BLOCKS_LARGE);
    through_sizes(PFC_BLOCKS_BOUNDED);
}

/* Many at a time, each in pieces, as a builder's tables grow. */
static void test_side_by_side(void **state) {
    (void)state;
    enum { BLOCKS = 8, STEP = 300000 * WORD };
    uint64_t *p[BLOCKS] = {0};
    for (size_t size = 0; size < 12 * (size_t)STEP; size += STEP)
        for (size_t i = 0; i < BLOCKS; i++) {
            p[i] = pfc_block_resize(p[i], size, size + STEP, i % 2 ? PFC_BLOCKS_LARGE : PFC_BLOCKS_BOUNDED);
            assert_non_null(p[i]);
            fill(p[i], size, size + STEP);
        }
    for (size_t i = 0; i < BLOCKS; i++) {
        expect(p[i], 12 * (size_t)STEP);
        assert_null(pfc_block_resize(p[i], 12 * (size_t)STEP, 0, i % 2 ? PFC_BLOCKS_LARGE : PFC_BLOCKS_BOUNDED));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contents), cmocka_unit_test(test_side_by_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
