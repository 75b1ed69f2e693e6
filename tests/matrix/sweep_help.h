/* SPDX-License-Identifier: MIT
 *
 * What the sweeps over all formats and fixtures share: the fixtures, one run, how a failure must look, how many points
 * of a sweep are tried. To be included after cmocka.h.
 */
#ifndef TESTS_MATRIX_SWEEP_HELP_H
#define TESTS_MATRIX_SWEEP_HELP_H

#include <stdio.h>
#include <string.h>

#include "tests/support/fixtures.h"
#include "tests/support/run.h"

#define SMALL (16u << 10) /* fixtures for sweeps with many runs */
#define LARGE (256u << 10)

typedef struct world {
    profconv_registry *registry;
    test_fixtures fixtures;
} world;

static inline int setup(void **state) {
    static world w;
    *state = &w;
    if (profconv_registry_new(&w.registry, NULL, NULL) != PROFCONV_OK)
        return -1;
    return test_fixtures_load(&w.fixtures, w.registry, TEST_SOURCE_DIR, LARGE);
}

static inline int teardown(void **state) {
    world *w = *state;
    test_fixtures_free(&w->fixtures);
    profconv_registry_free(w->registry);
    return 0;
}

static inline test_run make_run(const world *w, const test_fixture *fixture, const char *to) {
    test_run run;
    memset(&run, 0, sizeof run);
    run.registry = w->registry;
    run.data = fixture->data;
    run.size = fixture->size;
    run.from = fixture->format;
    run.to = to;
    return run;
}

/* How a failure must look, whatever its cause. */
static inline void check_outcome(const test_run *run, const char *label, const char *what, uint64_t k) {
    if (run->status == PROFCONV_OK) {
        if (!run->output_path && !run->output_fd && (run->closed != 1 || !run->committed))
            fail_msg("%s, %s %llu: success, but the output was not committed", label, what, (unsigned long long)k);
        return;
    }
    if (run->status > 0 || run->error.status != run->status || run->error.message[0] == '\0')
        fail_msg("%s, %s %llu: status %d, error status %d, message '%s'", label, what, (unsigned long long)k,
                 run->status, run->error.status, run->error.message);
    if (run->status == PROFCONV_E_INTERNAL)
        fail_msg("%s, %s %llu: %s", label, what, (unsigned long long)k, run->error.message);
    if (run->committed)
        fail_msg("%s, %s %llu: failed (%s), and committed all the same", label, what, (unsigned long long)k,
                 run->error.message);
}

static inline void check_heap(const test_heap *heap, const char *label, const char *what, uint64_t k) {
    if (heap->live != 0 || heap->blocks != 0)
        fail_msg("%s, %s %llu: %llu bytes in %llu blocks left behind", label, what, (unsigned long long)k,
                 (unsigned long long)heap->live, (unsigned long long)heap->blocks);
    if (heap->wrong_sizes != 0)
        fail_msg("%s, %s %llu: %llu blocks freed or resized with a wrong size", label, what, (unsigned long long)k,
                 (unsigned long long)heap->wrong_sizes);
}

/* The points of 1..n to try: all, or `most` of them evenly, always with the first and the last. */
static inline uint64_t point(uint64_t i, uint64_t n, uint64_t most) {
    return n <= most ? i + 1 : 1 + i * (n - 1) / (most - 1);
}

/* How many points a fixture gets, so that all of them together take about `runs` runs; all in a full run. */
static inline uint64_t share(const world *w, uint64_t runs, uint64_t most) {
    if (test_full())
        return UINT64_MAX;
    if (test_sampled())
        return 2;
    if (test_reduced())
        runs /= 8;
    uint64_t points = runs / (w->fixtures.count ? w->fixtures.count : 1);
    return points < 24 ? 24 : points > most ? most : points;
}

/* Calls `sweep` for each writer with the first `most` fixtures that it can write. */
static inline size_t each_writer(const world *w, size_t most,
                                 void (*sweep)(const world *, const test_fixture *, const char *)) {
    size_t writers = 0;
    for (size_t f = 0; f < profconv_registry_format_count(w->registry); f++) {
        profconv_format_info info;
        size_t done = 0;
        assert_int_equal(profconv_registry_format(w->registry, f, &info), PROFCONV_OK);
        for (size_t i = 0; info.can_write && i < w->fixtures.count && done < most; i++) {
            const test_fixture *fixture = &w->fixtures.items[i];
            if (fixture->size > SMALL)
                continue;
            test_run run = make_run(w, fixture, info.name);
            test_run_do(&run);
            test_run_free(&run);
            if (run.status != PROFCONV_OK)
                continue;
            sweep(w, fixture, info.name);
            done++;
        }
        if (info.can_write && done == 0)
            print_message("no fixture can be written as %s without passes\n", info.name);
        writers += done > 0;
    }
    return writers;
}

#endif
