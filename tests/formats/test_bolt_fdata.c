/* SPDX-License-Identifier: MIT
 *
 * bolt-fdata: which symbol an address is given to, what is added up, left out and refused, and the way back.
 */
#include "tests/formats/source_help.h"

#include <profconv/transform.h>

static void entry(profconv_builder *b, profconv_id mapping, const char *name, uint64_t address, uint64_t size,
                  uint32_t ordinal) {
    profconv_entry row = {address, size, mapping, profconv_builder_cstring(b, name), ordinal, 0};
    profconv_builder_entry(b, &row);
}

/* main at 0x100..0x180 with a label of its own inside, a local `help` after it; nothing at 0x300. */
static profconv_builder *program(uint64_t start, uint64_t file_offset, profconv_id *mapping) {
    profconv_builder *b = NULL;
    profconv_error error;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, &error), PROFCONV_OK);
    profconv_mapping m = {0};
    m.start = start;
    m.limit = start + 0x1000;
    m.file_offset = file_offset;
    m.file = profconv_builder_cstring(b, "/bin/app");
    m.build_id = profconv_builder_cstring(b, "aabbccdd");
    m.kind = PROFCONV_MAPPING_EXECUTABLE;
    *mapping = profconv_builder_mapping(b, &m);
    entry(b, *mapping, "help", start + 0x180, 0x20, 2);
    entry(b, *mapping, "main", start + 0x100, 0x80, 0);
    entry(b, *mapping, "inner", start + 0x110, 8, 0);
    entry(b, *mapping, "main", start + 0x100, 0x80, 0); /* once */
    return b;
}

static profconv_id at(profconv_builder *b, profconv_id mapping, uint64_t address) {
    profconv_function f = {0};
    f.name = f.linkage_name = profconv_builder_cstring(b, "a name");
    profconv_line line = {0, 0, profconv_builder_function(b, &f), 0};
    profconv_location row = {address, mapping, 0, 0, 0};
    return profconv_builder_location(b, &row, &line, 1);
}

static profconv_profile *frozen(profconv_builder *b) {
    profconv_profile *profile = NULL;
    profconv_error error;
    assert_int_equal(profconv_builder_freeze(b, &profile, &error), PROFCONV_OK);
    profconv_builder_free(b);
    return profile;
}

static profconv_profile *branches(uint64_t start, uint64_t file_offset) {
    profconv_id m;
    profconv_builder *b = program(start, file_offset, &m);
    profconv_builder_branch(b, at(b, m, start + 0x17a), at(b, m, start + 0x104), 40, 3, 0);
    profconv_builder_branch(b, at(b, m, start + 0x114), at(b, m, start + 0x180), 5, 0, 0); /* from the label's code */
    profconv_builder_branch(b, at(b, m, start + 0x118), at(b, m, start + 0x180), 6, 0, 0); /* behind it */
    profconv_builder_branch(b, 0, at(b, m, start + 0x100), 1, 0, 0);
    profconv_builder_branch(b, at(b, m, start + 0x19f), at(b, m, start + 0x300), 2, 0, 0);
    profconv_builder_branch(b, at(b, m, start + 0x300), at(b, m, start + 0x304), 9, 0, 0); /* in no function */
    profconv_builder_branch(b, at(b, m, start + 0x300), 0, 8, 0, 0);
    profconv_builder_range(b, at(b, m, start + 0x104), at(b, m, start + 0x17a), 39);
    return frozen(b);
}

static const char expected[] = "0 [unknown] 0 1 main 0 0 1\n"
                               "1 help/2 1f 0 [unknown] 0 0 2\n"
                               "1 inner 4 1 help/2 0 0 5\n"
                               "1 main 18 1 help/2 0 0 6\n"
                               "1 main 7a 1 main 4 3 40\n";

static void test_places(void **state) {
    (void)state;
    profconv_profile *profile = branches(0x400000, 0x1000);
    profconv_report *report = NULL;
    profconv_error error;
    bytes out;
    assert_int_equal(profconv_profile_rows(profile, PROFCONV_TABLE_ENTRY), 3);
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(write_as(profile, "bolt-fdata", NULL, report, &out, &error), PROFCONV_OK);
    equal_text((char *)out.data, expected);
    assert_int_equal(find_note(report, "branch-no-function").count, 2);
    assert_int_equal(find_note(report, "branch-no-function").weight, 17);
    assert_int_equal(find_note(report, "ranges").count, 1);
    profconv_report_free(report);
    profconv_profile_free(profile);
    free(out.data);
}

/* By link-time address, from segments that symbolization found; a range's count is parted as what leads to its
 * beginning. */
static void test_aggregated(void **state) {
    (void)state;
    static const char *const aggregated[] = {"bolt-fdata.aggregated=yes", NULL};
    const uint64_t start = 0x1000;
    profconv_error error;
    bytes out;
    for (int known = 0; known < 2; known++) {
        profconv_id m;
        profconv_builder *b = program(start, 0x1000, &m);
        profconv_report *report = NULL;
        if (known)
            profconv_builder_attribute(b, "segments:aabbccdd", "0 800 400000 1000 1000 402000", 29);
        profconv_builder_branch(b, at(b, m, start + 0x17a), at(b, m, start + 0x104), 40, 3, 0);
        profconv_builder_branch(b, at(b, m, start + 0x19f), at(b, m, start + 0x104), 10, 0, 0); /* another function */
        profconv_builder_branch(b, 0, at(b, m, start + 0x104), 3, 0, 0);
        profconv_builder_branch(b, at(b, m, start + 0x170), at(b, m, start + 0x180), 7, 0, 0);
        profconv_builder_branch(b, at(b, m, start + 0x170), 0, 2, 0, 0);
        profconv_builder_range(b, at(b, m, start + 0x104), at(b, m, start + 0x17a), 39);
        profconv_builder_range(b, at(b, m, start + 0x180), at(b, m, start + 0x19f), 7);
        profconv_builder_range(b, at(b, m, start + 0x110), at(b, m, start + 0x112), 1); /* no branch leads there */
        profconv_builder_range(b, at(b, m, start + 0x110), 0, 5);
        profconv_profile *profile = frozen(b);
        assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
        int status = write_as(profile, "bolt-fdata", aggregated, report, &out, &error);
        assert_int_equal(status, known ? PROFCONV_OK : PROFCONV_E_MISSING_FACET);
        if (known) {
            equal_text((char *)out.data, "B 402170 402180 7 0\n"
                                         "B 402170 0 2 0\n"
                                         "B 40217a 402104 40 3\n"
                                         "B 40219f 402104 10 0\n"
                                         "B 0 402104 3 0\n"
                                         "F 402104 40217a 29\n"
                                         "f 402104 40217a 10\n"
                                         "F 402110 402112 1\n"
                                         "f 402180 40219f 7\n");
            assert_int_equal(find_note(report, "record-outside-binary").weight, 5);
            free(out.data);
        }
        profconv_report_free(report);
        profconv_profile_free(profile);
    }
}

/* Entries move as locations do when their mapping joins one with other coordinates. */
static void test_merged(void **state) {
    (void)state;
    profconv_profile *one = branches(0x400000, 0x1000), *two = branches(0x1000, 0x1000);
    profconv_builder *b = NULL;
    profconv_error error;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, &error), PROFCONV_OK);
    assert_int_equal(profconv_merge(b, one, 1, &error), PROFCONV_OK);
    assert_int_equal(profconv_merge(b, two, 2, &error), PROFCONV_OK);
    profconv_profile *merged = frozen(b);
    assert_int_equal(profconv_profile_rows(merged, PROFCONV_TABLE_ENTRY), 3);
    bytes out = must_write(merged, "bolt-fdata", NULL);
    equal_text((char *)out.data, "0 [unknown] 0 1 main 0 0 3\n"
                                 "1 help/2 1f 0 [unknown] 0 0 6\n"
                                 "1 inner 4 1 help/2 0 0 15\n"
                                 "1 main 18 1 help/2 0 0 18\n"
                                 "1 main 7a 1 main 4 9 120\n");
    profconv_profile_free(one);
    profconv_profile_free(two);
    profconv_profile_free(merged);
    free(out.data);
}

static void test_round(void **state) {
    (void)state;
    static const char *const same[] = {"plain", "escaped", "samples"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char name[64];
        snprintf(name, sizeof name, "bolt-fdata/%s.fdata", same[i]);
        bytes in = seed(name);
        profconv_profile *profile = must_read(in, NULL, NULL); /* told by its content */
        bytes out = must_write(profile, "bolt-fdata", NULL);
        equal_text((char *)out.data, (char *)in.data);
        profconv_profile_free(profile);
        free(in.data);
        free(out.data);
    }
    bytes in = seed("bolt-fdata/loads.fdata");
    profconv_profile *profile = must_read(in, NULL, NULL);
    assert_int_equal(find_note(profconv_profile_report(profile), "memory-accesses").weight, 9);
    bytes out = must_write(profile, "bolt-fdata", NULL);
    equal_text((char *)out.data, "1 main 10 1 main 4 0 3\n");
    profconv_profile_free(profile);
    free(in.data);
    free(out.data);
}

/* What was read: the symbol is a frame, the name without its escapes; samples are samples. */
static void test_read(void **state) {
    (void)state;
    bytes in = seed("bolt-fdata/escaped.fdata");
    profconv_profile *profile = must_read(in, NULL, NULL);
    const profconv_branch *row = profconv_profile_branch(profile, 0);
    const profconv_location *from = profconv_profile_location(profile, row->from);
    assert_int_equal(row->count, 2);
    assert_int_equal(row->mispredicted, 1);
    assert_int_equal(from->address, 0x10);
    assert_int_equal(from->mapping, 0);
    const profconv_function *f =
        profconv_profile_function(profile, profconv_profile_line(profile, row->from, 0)->function);
    assert_string_equal(profconv_profile_string(profile, f->linkage_name).data, "a b\\c");
    profconv_profile_free(profile);
    free(in.data);
    in = seed("bolt-fdata/samples.fdata");
    profile = must_read(in, NULL, NULL);
    assert_int_equal(profconv_profile_total(profile, 0), 12);
    assert_string_equal(
        profconv_profile_string(profile, profconv_profile_sample_type(profile, 0)->event).data, "cycles:u");
    bytes out = must_write(profile, "collapsed", NULL);
    equal_text((char *)out.data, "main 12\n");
    profconv_profile_free(profile);
    free(in.data);
    free(out.data);
}

static void test_refused(void **state) {
    (void)state;
    refused("bolt-fdata/bad_kind.fdata", "bolt-fdata", PROFCONV_E_FORMAT, "line 1");
    refused("bolt-fdata/bad_cut.fdata", "bolt-fdata", PROFCONV_E_FORMAT, "line 1");
    refused("bolt-fdata/bad_count.fdata", "bolt-fdata", PROFCONV_E_FORMAT, "line 1");
    refused("bolt-fdata/bad_offset.fdata", "bolt-fdata", PROFCONV_E_FORMAT, "line 2");
    /* Branches without entries, and names without places. */
    profconv_builder *b = NULL;
    profconv_error error;
    bytes none;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, &error), PROFCONV_OK);
    profconv_mapping m = {0};
    m.file = profconv_builder_cstring(b, "/bin/app");
    m.kind = PROFCONV_MAPPING_EXECUTABLE;
    profconv_id mapping = profconv_builder_mapping(b, &m);
    profconv_builder_branch(b, at(b, mapping, 8), at(b, mapping, 4), 1, 0, 0);
    profconv_profile *profile = frozen(b);
    assert_int_equal(write_as(profile, "bolt-fdata", NULL, NULL, &none, &error), PROFCONV_E_MISSING_FACET);
    assert_non_null(strstr(error.message, "convert.symbolize=yes"));
    profconv_profile_free(profile);
    static const char text[] = "main;work 5\n";
    bytes in = {(uint8_t *)(uintptr_t)text, sizeof text - 1};
    profile = must_read(in, "collapsed", NULL);
    assert_int_equal(write_as(profile, "bolt-fdata", NULL, NULL, &none, &error), PROFCONV_E_EMPTY);
    profconv_profile_free(profile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places), cmocka_unit_test(test_merged),  cmocka_unit_test(test_round),
        cmocka_unit_test(test_read),   cmocka_unit_test(test_refused), cmocka_unit_test(test_aggregated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
