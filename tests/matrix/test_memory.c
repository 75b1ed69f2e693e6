/* SPDX-License-Identifier: MIT
 *
 * max_memory is kept, by every reader and every writer: each fixture is converted under bounds that are lowered until it fails.
 * What the caller's allocator holds at a time stays within the bound and a twentieth; what fails does so with
 * PROFCONV_E_LIMIT, in words that say what to do, and leaves neither output nor memory. And two conversions give the same
 * bytes, although no two of them hash alike.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fixtures.h"
#include "tests/support/run.h"

#define LARGE (256u << 10)
/* Outside the bound: the registry's and the settings' copies, reports, the caller's settings. */
#define OUTSIDE (64u << 10)
/* What input and output hold before the conversion begins; a bound below that is refused, but cannot undo it. */
#define BUFFERS (400u << 10)

typedef struct world {
    profconv_registry *registry;
    test_fixtures fixtures;
} world;

static int setup(void **state) {
    static world w;
    *state = &w;
    if (profconv_registry_new(&w.registry, NULL, NULL) != PROFCONV_OK)
        return -1;
    return test_fixtures_load(&w.fixtures, w.registry, TEST_SOURCE_DIR, LARGE);
}

static int teardown(void **state) {
    world *w = *state;
    test_fixtures_free(&w->fixtures);
    profconv_registry_free(w->registry);
    return 0;
}

static void do_run(test_run *run, test_heap *heap, const world *w, const test_fixture *fixture, const char *to,
                   uint64_t limit) {
    memset(run, 0, sizeof *run);
    test_heap_init(heap, 0);
    run->registry = w->registry;
    run->data = fixture->data;
    run->size = fixture->size;
    run->from = fixture->format;
    run->to = to;
    run->source = TEST_SOURCE_SEEKABLE;
    run->heap = heap;
    run->max_memory = limit;
    test_run_do(run);
    if (heap->live != 0 || heap->wrong_sizes != 0)
        fail_msg("%s to %s, max_memory %llu: %llu bytes left behind", fixture->label, to ? to : "dump",
                 (unsigned long long)limit, (unsigned long long)heap->live);
}

/* Nonzero when the conversion can be done at all. */
static int lower(const world *w, const test_fixture *fixture, const char *to) {
    test_run plain, again, run;
    test_heap heap;
    const char *name = to ? to : "dump";
    do_run(&plain, &heap, w, fixture, to, 0);
    uint64_t peak = heap.peak;
    do_run(&again, &heap, w, fixture, to, 0);
    if (plain.status != again.status || plain.bytes_size != again.bytes_size ||
        (plain.bytes_size && memcmp(plain.bytes, again.bytes, plain.bytes_size) != 0))
        fail_msg("%s to %s: two runs, two results", fixture->label, name);
    test_run_free(&again);
    int failures = 0;
    for (uint64_t limit = peak + 1024; plain.status == PROFCONV_OK && failures < 4 && limit > 1024;
         limit -= limit / (failures ? 3 : 12)) {
        do_run(&run, &heap, w, fixture, to, limit);
        /* A dump is none of the conversion: input and output are not in the bound while it is made. */
        uint64_t most = limit + limit / 20 + OUTSIDE + (to ? 0 : BUFFERS);
        if (heap.peak > (most < BUFFERS ? BUFFERS : most))
            fail_msg("%s to %s: max_memory %llu, and %llu were held", fixture->label, name, (unsigned long long)limit,
                     (unsigned long long)heap.peak);
        if (run.status == PROFCONV_OK && (run.bytes_size != plain.bytes_size ||
                                          (run.bytes_size && memcmp(run.bytes, plain.bytes, run.bytes_size) != 0)))
            fail_msg("%s to %s: max_memory %llu: another result", fixture->label, name, (unsigned long long)limit);
        if (run.status != PROFCONV_OK && (run.status != PROFCONV_E_LIMIT || run.committed ||
                                          !strstr(run.error.message, "max_memory")))
            fail_msg("%s to %s: max_memory %llu: status %d (%s)%s", fixture->label, name, (unsigned long long)limit,
                     run.status, run.error.message, run.committed ? ", and committed" : "");
        failures += run.status != PROFCONV_OK;
        test_run_free(&run);
    }
    test_run_free(&plain);
    return plain.status == PROFCONV_OK;
}

static void test_readers(void **state) {
    const world *w = *state;
    for (size_t i = 0; i < w->fixtures.count; i++)
        if (!test_reduced() || i % 4 == 0)
            (void)lower(w, &w->fixtures.items[i], NULL);
}

static void test_writers(void **state) {
    const world *w = *state;
    for (size_t f = 0; f < profconv_registry_format_count(w->registry); f++) {
        profconv_format_info info;
        size_t done = 0, step = test_reduced() ? 29 : 7;
        assert_int_equal(profconv_registry_format(w->registry, f, &info), PROFCONV_OK);
        for (size_t i = 0; info.can_write && i < w->fixtures.count; i++)
            if (i % step == f % step || done < 2)
                done += (size_t)lower(w, &w->fixtures.items[i], info.name);
        print_message("%s: %zu fixtures\n", info.name, done);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers), cmocka_unit_test(test_writers)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
