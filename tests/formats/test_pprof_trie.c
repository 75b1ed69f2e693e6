/* SPDX-License-Identifier: MIT
 *
 * The tree of stacks that the pprof reader keeps: what it finds by the bytes of a packed field must be what it finds by
 * the numbers in them, whatever their lengths, and however often the cache of steps was overwritten.
 */
#include "libprofconv/formats/pprof/trie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { DEPTH = 90 };

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Numbers of 1 to 10 bytes; few of each length, so that stacks share what they begin with. */
static uint64_t some_id(uint64_t *state) {
    unsigned bits = (unsigned)(next_random(state) % 8 == 0 ? next_random(state) % 64 : 7 + next_random(state) % 8);
    return ((uint64_t)1 << bits) + next_random(state) % 3;
}

/* The packed field of the ids; `zeros` bytes more than the first number needs. */
static size_t pack(uint8_t *out, const uint64_t *ids, size_t count, unsigned zeros) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t v = ids[i];
        size_t first = n;
        for (; v > 0x7f; v >>= 7)
            out[n++] = (uint8_t)(v | 0x80);
        out[n++] = (uint8_t)v;
        for (; i == 0 && zeros > 0 && n - first < 10; zeros--) {
            out[n - 1] |= 0x80;
            out[n++] = 0;
        }
    }
    return n;
}

static void assert_ids(const pfc_pprof_trie *trie, uint32_t node, const uint64_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_true(pfc_pprof_trie_location(trie, node) == ids[i]);
        node = trie->nodes.data[node].parent;
    }
    assert_int_equal(node, 0);
}

/* Each stack varies the one before from some frame on, or is one of some time ago. */
static void bytes_and_numbers(void **state) {
    (void)state;
    static uint64_t stacks[1 << 12][DEPTH];
    static size_t depths[1 << 12];
    pfc_mem mem;
    pfc_pprof_trie packed, plain;
    uint64_t random = 7;
    pfc_mem_init(&mem, NULL, 0);
    assert_int_equal(pfc_pprof_trie_init(&mem, &packed), 0);
    assert_int_equal(pfc_pprof_trie_init(&mem, &plain), 0);
    for (size_t i = 0; i < 20000; i++) {
        uint64_t *ids = stacks[i & 4095];
        size_t *depth = &depths[i & 4095];
        if (i >= 4096 && next_random(&random) % 4 == 0) { /* as it was */
        } else {
            const uint64_t *before = i ? stacks[(i - 1) & 4095] : ids;
            size_t kept = i ? next_random(&random) % (depths[(i - 1) & 4095] + 1) : 0, old = i ? depths[(i - 1) & 4095] : 0;
            *depth = kept + next_random(&random) % (DEPTH - kept);
            uint64_t made[DEPTH];
            for (size_t k = 0; k < *depth; k++) /* k frames below the root */
                made[*depth - 1 - k] = k < kept ? before[old - 1 - k] : some_id(&random);
            memcpy(ids, made, *depth * sizeof *ids);
        }
        uint8_t bytes[DEPTH * 10];
        size_t size = pack(bytes, ids, *depth, i % 16 == 0 ? (unsigned)next_random(&random) % 9 : 0), cut;
        uint32_t a, b;
        int failed;
        assert_int_equal(pfc_pprof_trie_packed(&mem, &packed, bytes, size, &a, &failed), 0);
        assert_int_equal(failed, 0);
        assert_int_equal(pfc_pprof_trie_stack(&mem, &plain, ids, *depth, &b, &cut), 0);
        assert_int_equal(a, b); /* nodes in the order in which they were met */
        assert_ids(&packed, a, ids, *depth);
    }
    assert_int_equal(packed.nodes.count, plain.nodes.count);
    assert_true(packed.step_count > 256); /* it did grow */
    pfc_pprof_trie_free(&mem, &packed);
    pfc_pprof_trie_free(&mem, &plain);
    assert_int_equal(mem.live, 0);
}

static int refused(const char *bytes, size_t size) {
    pfc_mem mem;
    pfc_pprof_trie trie;
    uint32_t node;
    int failed;
    pfc_mem_init(&mem, NULL, 0);
    assert_int_equal(pfc_pprof_trie_init(&mem, &trie), 0);
    assert_int_equal(pfc_pprof_trie_packed(&mem, &trie, (const uint8_t *)bytes, size, &node, &failed), 0);
    pfc_pprof_trie_free(&mem, &trie);
    assert_int_equal(mem.live, 0);
    return failed;
}

#define REFUSED(bytes) refused(bytes, sizeof(bytes) - 1)

static void bad_numbers(void **state) {
    (void)state;
    assert_false(REFUSED("\x01"));
    assert_false(REFUSED("\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01")); /* 10 bytes */
    assert_true(REFUSED("\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
    assert_true(REFUSED("\x01\x02\x03\x04\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
    assert_true(REFUSED("\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")); /* no piece has room */
    assert_true(REFUSED("\x81"));                                                                  /* cut off */
    assert_true(REFUSED("\x01\x02\x83"));
    assert_true(REFUSED("\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01" /* far from the end */
                        "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_and_numbers), cmocka_unit_test(bad_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
