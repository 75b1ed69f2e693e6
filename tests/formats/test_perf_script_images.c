/* SPDX-License-Identifier: MIT
 *
 * perf script text: what each file name stands for, maps that cut into others and are a process's own after a fork,
 * branch stacks with entries that do not count.
 */
#include "tests/formats/source_help.h"

static uint32_t kind_of(const profconv_profile *p, const char *file) {
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_MAPPING); i++) {
        const profconv_mapping *m = profconv_profile_mapping(p, i);
        if (strcmp(profconv_profile_string(p, m->file).data, file) == 0)
            return m->kind;
    }
    fail_msg("no mapping of %s", file);
    return 0;
}

static void test_kinds_by_name(void **state) {
    (void)state;
    static const struct {
        const char *file;
        uint32_t kind;
    } images[] = {
        {"/opt/app", PROFCONV_MAPPING_EXECUTABLE},
        {"/lib/libm.so.6", PROFCONV_MAPPING_LIBRARY},
        {"/opt/plugin.so (deleted)", PROFCONV_MAPPING_LIBRARY},
        {"//anon", PROFCONV_MAPPING_JIT},
        {"/tmp/perf-6.map", PROFCONV_MAPPING_JIT},
        {"/memfd:jit (deleted)", PROFCONV_MAPPING_JIT},
        {"[vdso]", PROFCONV_MAPPING_VDSO},
        {"[vsyscall]", PROFCONV_MAPPING_VDSO},
        {"bpf_prog_1_f", PROFCONV_MAPPING_MODULE},
        {"/lib/modules/6.1/x.ko.xz", PROFCONV_MAPPING_MODULE},
        {"/usr/lib/debug/boot/vmlinux-6.1", PROFCONV_MAPPING_KERNEL},
        {"[guest.kernel.kallsyms]", PROFCONV_MAPPING_GUEST},
        {"prog", PROFCONV_MAPPING_LIBRARY}, /* not a path */
    };
    bytes in = seed("perf-script/images.txt");
    profconv_profile *p = must_read(in, "perf-script", NULL);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        assert_int_equal(kind_of(p, images[i].file), images[i].kind);
    profconv_profile_free(p);
    free(in.data);
}

/* The function's address in its file, whatever process ran it. */
static void expect_address(const profconv_profile *p, const char *function, uint64_t address) {
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LOCATION); i++) {
        const profconv_location *l = profconv_profile_location(p, i);
        if (l->line_count == 0)
            continue;
        const profconv_function *f = profconv_profile_function(p, profconv_profile_line(p, i, 0)->function);
        if (strcmp(profconv_profile_string(p, f->name).data, function) == 0) {
            assert_int_equal(l->address, address);
            return;
        }
    }
    fail_msg("no location of %s", function);
}

static void test_maps_that_cut(void **state) {
    (void)state;
    bytes in = seed("perf-script/images.txt");
    profconv_profile *p = must_read(in, "perf-script", NULL);
    expect_address(p, "f", 0x1010);     /* the piece before the anonymous one; f is the leaf */
    expect_address(p, "g", 0x3010 - 1); /* and the piece behind it keeps its offsets; callers are one byte before */
    expect_address(p, "sin", 0x3010 - 1);
    expect_address(p, "p", 0x10); /* of the child alone */
    expect_address(p, "q", 0x1010 - 1);
    profconv_profile_free(p);
    free(in.data);
}

static void test_branches_that_do_not_count(void **state) {
    (void)state;
    static const struct {
        const char *cause;
        uint64_t count;
    } left[] = {
        {"branch-empty-entry", 2}, {"branch-wrong-path", 2}, {"branch-bogus-range", 1},
        {"branch-duplicate", 1},   {"branch-unmapped", 1},
    };
    bytes in = seed("perf-script/branches_odd.txt");
    profconv_profile *p = must_read(in, "perf-script", NULL);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        profconv_note note = find_note(profconv_profile_report(p), left[i].cause);
        if (note.count != left[i].count)
            fail_msg("%s: %llu times", left[i].cause, (unsigned long long)note.count);
    }
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_BRANCH), 5);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_RANGE), 3);
    profconv_profile_free(p);
    free(in.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_by_name),
        cmocka_unit_test(test_maps_that_cut),
        cmocka_unit_test(test_branches_that_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
