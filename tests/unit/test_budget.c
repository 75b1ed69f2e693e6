/* SPDX-License-Identifier: MIT
 *
 * A budget that several share, and look-ups that a file cannot make slow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <profconv/profconv.h>

#include "libprofconv/base/budget.h"
#include "libprofconv/base/hash.h"
#include "tests/support/heap.h"

/* ---- budgets ---- */

static void test_all_who_are_given_it_are_charged(void **state) {
    (void)state;
    test_heap heap;
    test_heap_init(&heap, 0);
    profconv_limits limits = {.struct_size = sizeof limits, .max_memory = 1 << 20};
    profconv_builder *builder = NULL;
    profconv_error error;
    assert_int_equal(profconv_builder_new(&builder, &heap.allocator, &limits, &error), PROFCONV_OK);
    pfc_mem beside;
    pfc_mem_init(&beside, profconv_builder_allocator(builder), 0);
    void *block = pfc_alloc(&beside, 900 << 10);
    assert_non_null(block);
    char name[4096];
    memset(name, 'x', sizeof name);
    for (size_t i = 0; i < 100; i++) {
        name[0] = (char)i;
        (void)profconv_builder_string(builder, name, sizeof name);
    }
    assert_int_equal(profconv_builder_status(builder, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_memory of 1048576 bytes reached"));
    assert_non_null(strstr(error.message, "more needed"));
    assert_non_null(strstr(error.message, "on_limit=truncate"));
    assert_null(pfc_alloc(&beside, 200 << 10));
    assert_int_equal(pfc_mem_error(&beside, &error), PROFCONV_E_LIMIT);
    assert_true(heap.peak <= limits.max_memory + 4096); /* the report is outside */
    pfc_free(&beside, block, 900 << 10);
    profconv_builder_free(builder);
    assert_true(heap.live == 0 && heap.wrong_sizes == 0);
}

static void test_it_lives_as_long_as_what_it_is_charged_for(void **state) {
    (void)state;
    test_heap heap;
    test_heap_init(&heap, 0);
    profconv_limits limits = {.struct_size = sizeof limits, .max_memory = 1 << 20};
    profconv_builder *first = NULL, *second = NULL;
    profconv_profile *profile = NULL;
    assert_int_equal(profconv_builder_new(&first, &heap.allocator, &limits, NULL), PROFCONV_OK);
    assert_int_equal(profconv_builder_freeze(first, &profile, NULL), PROFCONV_OK);
    profconv_builder_free(first);
    assert_int_equal(profconv_builder_new(&second, profconv_profile_allocator(profile), NULL, NULL), PROFCONV_OK);
    profconv_profile_free(profile);
    char *big = calloc(1, 2 << 20);
    assert_int_equal(profconv_builder_string(second, big, 2 << 20), 0);
    assert_int_equal(profconv_builder_status(second, NULL), PROFCONV_E_LIMIT);
    free(big);
    profconv_builder_free(second);
    assert_true(heap.live == 0 && heap.wrong_sizes == 0);
}

static void test_what_joins_is_charged_until_it_leaves(void **state) {
    (void)state;
    pfc_budget *budget = NULL;
    profconv_error error;
    assert_int_equal(pfc_budget_new(&budget, NULL, 10000, &error), PROFCONV_OK);
    uint64_t empty = pfc_budget_live(budget);
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    void *block = pfc_alloc(&mem, 6000);
    assert_int_equal(pfc_mem_join(&mem, budget, "input", &error), PROFCONV_OK);
    assert_true(pfc_budget_live(budget) == empty + 6000);
    assert_null(pfc_alloc(&mem, 6000));
    assert_int_equal(mem.failed, PROFCONV_E_LIMIT);
    block = pfc_resize(&mem, block, 6000, 7000);
    assert_true(pfc_budget_live(budget) == empty + 7000);
    assert_int_equal(pfc_mem_charge(&mem, 500), PROFCONV_OK);
    assert_true(pfc_budget_live(budget) == empty + 7500);
    pfc_mem_discharge(&mem, 500);
    pfc_mem_leave(&mem, budget);
    assert_true(pfc_budget_live(budget) == empty);
    pfc_mem other;
    pfc_mem_init(&other, NULL, 0);
    void *much = pfc_alloc(&other, 20000);
    assert_int_equal(pfc_mem_join(&other, budget, "input", &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "the buffers of the input take 20000"));
    pfc_free(&other, much, 20000);
    pfc_free(&mem, block, 7000);
    pfc_budget_release(budget);
}

/* Growth near the limit takes a part of what is left each time, not a row. */
static void test_growth_near_the_limit(void **state) {
    (void)state;
    pfc_mem mem;
    test_heap heap;
    test_heap_init(&heap, 0);
    pfc_mem_init(&mem, &heap.allocator, 1 << 20);
    PFC_VEC(uint64_t) rows = {0};
    while (PFC_VEC_PUSH(&mem, &rows, 1) == 0)
        ;
    assert_true(rows.count * sizeof *rows.data > (1 << 20) - 4096);
    assert_true(heap.requests < 100);
    PFC_VEC_FREE(&mem, &rows);
}

/* ---- look-ups ---- */

#define MANY 100000

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

typedef void (*feed)(profconv_builder *builder, uint32_t i);

static double time_of(feed add, uint32_t *rows, profconv_table table) {
    profconv_builder *builder = NULL;
    profconv_profile *profile = NULL;
    assert_int_equal(profconv_builder_new(&builder, NULL, NULL, NULL), PROFCONV_OK);
    double start = seconds();
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < MANY; i++)
            add(builder, i);
    double took = seconds() - start;
    assert_int_equal(profconv_builder_freeze(builder, &profile, NULL), PROFCONV_OK);
    *rows = profconv_profile_rows(profile, table);
    profconv_profile_free(profile);
    profconv_builder_free(builder);
    return took;
}

static void check_flood(const char *what, feed plain, feed flood, profconv_table table) {
    uint32_t plain_rows, flood_rows;
    double usual = time_of(plain, &plain_rows, table), bad = time_of(flood, &flood_rows, table);
    print_message("%s: %.3f s, colliding %.3f s\n", what, usual, bad);
    assert_int_equal(plain_rows, flood_rows);
    assert_true(bad < 10 * usual + 0.25); /* walking past all of them would take minutes */
}

/* Without a key these have one hash: the second eight bytes make the product of the first block zero. */
static void crafted(char text[24], uint32_t i) {
    const uint64_t zero = 0xe7037ed1a0b428dbu;
    memset(text, 'a', 24);
    memcpy(text, &i, sizeof i);
    memcpy(text + 8, &zero, sizeof zero);
}
static void plain_string(profconv_builder *b, uint32_t i) {
    char text[24];
    memset(text, 'a', sizeof text);
    memcpy(text, &i, sizeof i);
    assert_true(profconv_builder_string(b, text, sizeof text) != 0);
}
static void flood_string(profconv_builder *b, uint32_t i) {
    char text[24];
    crafted(text, i);
    assert_true(profconv_builder_string(b, text, sizeof text) != 0);
}

/* The same with mappings that differ in their end, and begin at the other factor's zero. */
static void mapping(profconv_builder *b, uint64_t start, uint32_t i) {
    profconv_mapping row = {.start = start, .limit = start + 1 + i};
    assert_true(profconv_builder_mapping(b, &row) != 0);
}
static void plain_mapping(profconv_builder *b, uint32_t i) { mapping(b, 0x1000, i); }
static void flood_mapping(profconv_builder *b, uint32_t i) { mapping(b, 0x9e3779b97f4a7c15u, i); }

static void test_floods(void **state) {
    (void)state;
    char a[24], b[24];
    crafted(a, 1);
    crafted(b, 99);
#if defined(__SIZEOF_INT128__) /* without it the product is another, and these are strings like any */
    assert_true(pfc_hash_bytes(a, 24) == pfc_hash_bytes(b, 24));
#endif
    assert_true(pfc_hash_bytes_keyed(5, a, 24) != pfc_hash_bytes_keyed(5, b, 24));
    check_flood("strings", plain_string, flood_string, PROFCONV_TABLE_STRING);
    check_flood("mappings", plain_mapping, flood_mapping, PROFCONV_TABLE_MAPPING);
}

/* Hashes that differ in their upper half alone, or in the lower one: neither may share a run of slots. */
static uint64_t upper(const void *user, uint32_t row) { return (void)user, (uint64_t)row << 32; }
static uint64_t lower(const void *user, uint32_t row) { return (void)user, row; }
static uint64_t steps(const void *user, uint32_t row) { return (void)user, (uint64_t)row << 20; }

static void test_partial_collisions(void **state) {
    (void)state;
    uint64_t (*const hashes[])(const void *, uint32_t) = {upper, lower, steps};
    for (size_t h = 0; h < 3; h++) {
        pfc_mem mem;
        pfc_index index = {0};
        pfc_mem_init(&mem, NULL, 0);
        uint64_t walked = 0;
        for (uint32_t row = 1; row <= MANY; row++) {
            assert_int_equal(pfc_index_insert(&mem, &index, hashes[h](NULL, row), row, hashes[h], NULL), 0);
        }
        for (uint32_t row = 1; row <= MANY; row++) {
            pfc_probe probe = pfc_index_start(&index, hashes[h](NULL, row));
            uint64_t at = probe.at;
            while (pfc_index_next(&index, &probe) != row)
                ;
            walked += (probe.at - at) & (index.size - 1);
        }
        assert_true(walked < 20 * (uint64_t)MANY);
        pfc_index_free(&mem, &index);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_who_are_given_it_are_charged),
        cmocka_unit_test(test_it_lives_as_long_as_what_it_is_charged_for),
        cmocka_unit_test(test_what_joins_is_charged_until_it_leaves),
        cmocka_unit_test(test_growth_near_the_limit),
        cmocka_unit_test(test_floods),
        cmocka_unit_test(test_partial_collisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
