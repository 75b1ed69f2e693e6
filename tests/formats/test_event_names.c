/* SPDX-License-Identifier: MIT
 *
 * Names of events that a recording describes by type and config only, and those from the table that old recorders
 * piped.
 */
#include "tests/formats/perf_data_support.h"

static void expect_names(const char *seed, const char *const *names, uint32_t count) {
    char path[512];
    snprintf(path, sizeof path, "%s/fuzz/seeds/perf-data/%s", TEST_SOURCE_DIR, seed);
    reading r = read_path(path, NULL, 0);
    if (r.status != PROFCONV_OK)
        fail_msg("%s: %s", seed, r.error.message);
    /* Two columns an event: samples, and what they stand for. */
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_SAMPLE_TYPE), 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        const profconv_sample_type *type = profconv_profile_sample_type(r.profile, 2 * i + 1);
        assert_string_equal(profconv_profile_string(r.profile, type->event).data, names[i]);
    }
    reading_free(&r);
}

static void test_by_type_and_config(void **state) {
    (void)state;
    static const char *const names[] = {
        "instructions:HG",
        "ref-cycles:u", /* with the number of a PMU above */
        "type0/config=0xa/:HG",
        "task-clock",
        "cgroup-switches:G",
        "LLC-load-misses:HG",
        "L1-icache-prefetches:HG",
        "unknown-ext-hardware-cache-type:HG",
        "r1c2:ppH",
        "tracepoint-77:HG",
        "mem:0x404040:rwx:u",
        "some_pmu/config=0x3c/:HG",
        "type99/config=0x0/:HG",
    };
    expect_names("kinds", names, sizeof names / sizeof *names);
}

static void test_by_the_table_of_old_recorders(void **state) {
    (void)state;
    static const char *const names[] = {"sched:sched_switch"};
    expect_names("name.table", names, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_type_and_config),
        cmocka_unit_test(test_by_the_table_of_old_recorders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
