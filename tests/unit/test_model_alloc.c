/* SPDX-License-Identifier: MIT
 *
 * Every allocation of the model fails once, and once with all that follow: what was made can still be freed, nothing
 * leaks, sizes handed to the allocator are true, and the status says what happened.
 */
#include "tests/unit/model_scenario.h"

#include "tests/support/failing_alloc.h"

static int build(const profconv_allocator *allocator, profconv_profile **out) {
    profconv_builder *b = NULL;
    int status = profconv_builder_new(&b, allocator, NULL, NULL);
    if (status) {
        assert_null(b);
        return status;
    }
    scenario(b);
    status = profconv_builder_freeze(b, out, NULL);
    if (status)
        assert_null(*out);
    profconv_builder_free(b);
    return status;
}

static int build_and_free(const profconv_allocator *allocator) {
    profconv_profile *p = NULL;
    int status = build(allocator, &p);
    profconv_profile_free(p);
    return status;
}

/* Thaw, add through indexes that are filled again, freeze. A profile that could not be thawed is as it was. */
static int thaw_and_free(const profconv_allocator *allocator) {
    profconv_profile *p = NULL;
    profconv_builder *b = NULL;
    int status = build(allocator, &p);
    if (status)
        return status;
    status = profconv_builder_thaw(&b, &p, NULL);
    if (status) {
        assert_non_null(p);
        assert_int_equal(profconv_profile_check(p, NULL), PROFCONV_OK);
        profconv_profile_free(p);
        return status;
    }
    scenario(b);
    status = profconv_builder_freeze(b, &p, NULL);
    profconv_builder_free(b);
    profconv_profile_free(p);
    return status;
}

static int merge_and_free(const profconv_allocator *allocator) {
    profconv_profile *p = NULL;
    profconv_builder *b = NULL;
    int status = build(allocator, &p);
    if (!status)
        status = profconv_builder_new(&b, allocator, NULL, NULL);
    if (!status)
        status = profconv_merge(b, p, 2, NULL);
    if (!status)
        status = profconv_merge(b, p, 0, NULL);
    profconv_builder_free(b);
    profconv_profile_free(p);
    return status;
}

static int dump_and_free(const profconv_allocator *allocator) {
    profconv_profile *p = NULL;
    profconv_output *output = NULL;
    profconv_io_options options = {sizeof options, allocator, NULL, 0, 0};
    int status = build(allocator, &p);
    if (!status)
        status = profconv_output_open_memory(&output, &options, NULL);
    if (!status)
        status = profconv_dump(p, output, NULL);
    profconv_output_free(output);
    profconv_profile_free(p);
    return status;
}

static void sweep(int (*run)(const profconv_allocator *), uint64_t at_least) {
    failing_alloc f = {0};
    profconv_allocator allocator = failing_allocator(&f);
    uint64_t rounds = 0;
    for (int keep = 0; keep < 2; keep++) {
        int status = PROFCONV_OK;
        f.keep_failing = keep;
        rounds = 0;
        /* A note that is not stored and a block that does not shrink are no failures, so PROFCONV_OK is possible. */
        FAILING_SWEEP(&f, status = run(&allocator),
                      (assert_true(status == PROFCONV_E_NOMEM || status == PROFCONV_OK), rounds += status != 0))
        assert_int_equal(status, PROFCONV_OK);
        if (rounds < at_least)
            fail_msg("%d failures, at least %d expected", (int)rounds, (int)at_least);
    }
}

static void building_fails_cleanly(void **state) {
    (void)state;
    sweep(build_and_free, 45); /* a block a table, an index a key, two handles */
}
static void thawing_fails_cleanly(void **state) {
    (void)state;
    sweep(thaw_and_free, 60);
}
static void merging_fails_cleanly(void **state) {
    (void)state;
    sweep(merge_and_free, 100);
}
static void dumping_fails_cleanly(void **state) {
    (void)state;
    sweep(dump_and_free, 47);
}

/* The same for a budget: every limit up to what is needed gives an error that names it, and the rest succeeds. */
static void budgets_fail_cleanly(void **state) {
    (void)state;
    failing_alloc f = {0};
    profconv_allocator allocator = failing_allocator(&f);
    int seen_limit = 0, seen_success = 0;
    for (uint64_t budget = 1; budget < 48000; budget += 97) {
        profconv_limits limits = {sizeof limits, budget, 0, 0, 0, 0, 0};
        profconv_builder *b = NULL;
        profconv_profile *p = NULL;
        profconv_error error = {0};
        int status = profconv_builder_new(&b, &allocator, &limits, &error);
        if (!status) {
            uint64_t peak;
            scenario(b);
            status = profconv_builder_freeze(b, &p, &error);
            profconv_builder_memory(b, NULL, &peak);
            assert_true(peak <= budget);
        }
        assert_true(status == PROFCONV_OK || status == PROFCONV_E_LIMIT);
        if (status) {
            assert_non_null(strstr(error.message, "max_memory"));
            assert_false(seen_success); /* more memory never makes it worse */
        }
        seen_limit |= status == PROFCONV_E_LIMIT;
        seen_success |= status == PROFCONV_OK;
        profconv_profile_free(p);
        profconv_builder_free(b);
        assert_int_equal(f.live, 0);
    }
    assert_true(seen_limit && seen_success);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building_fails_cleanly), cmocka_unit_test(thawing_fails_cleanly),
        cmocka_unit_test(merging_fails_cleanly),  cmocka_unit_test(dumping_fails_cleanly),
        cmocka_unit_test(budgets_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
