/* SPDX-License-Identifier: MIT
 *
 * autofdo-text and profgen-raw: what is read, which binary is written, in which coordinates, what is left out and
 * counted, what is refused.
 */
#include "tests/formats/source_help.h"

static void test_autofdo_round(void **state) {
    (void)state;
    bytes plain = seed("autofdo-text/plain.txt");
    char *text = seed_as("autofdo-text/plain.txt", NULL, "autofdo-text");
    equal_text(text, (char *)plain.data);
    free(text);
    free(plain.data);
    text = seed_as("autofdo-text/addresses.txt", NULL, "autofdo-text");
    equal_text(text, "0\n2\n10:1\n20:2\n0\n");
    free(text);
    text = seed_as("autofdo-text/tolerant.txt", NULL, "autofdo-text");
    equal_text(text, "1\n10-1f:3\n1\n12:4\n1\n1f->10:5\n");
    free(text);
    text = seed_as("autofdo-text/twice.txt", NULL, "autofdo-text");
    equal_text(text, "1\n10-20:3\n0\n0\n");
    free(text);
}

/* What was written, read with some settings and written with others. */
static void equal_again(bytes out, const char *const *reading, const char *const *writing, const char *expected) {
    profconv_profile *back = must_read(out, "profgen-raw", reading);
    bytes again = must_write(back, "profgen-raw", writing);
    equal_text((char *)again.data, expected);
    profconv_profile_free(back);
    free(again.data);
}

static void test_profgen_round(void **state) {
    (void)state;
    static const char *const base[] = {"profgen-raw.base=400000", NULL};
    static const char *const absolute[] = {"profgen-raw.base=0x400000", "profgen-raw.absolute=yes",
                                           "profgen-raw.text-offset=1000", NULL};
    bytes in = seed("profgen-raw/plain.raw");
    profconv_profile *profile = must_read(in, NULL, NULL);
    bytes out = must_write(profile, "profgen-raw", base);
    equal_text((char *)out.data, (char *)in.data);
    free(out.data);
    /* Without the base an entry from outside is told by its shape, and printed for base 0. */
    out = must_write(profile, "profgen-raw", NULL);
    equal_text((char *)out.data, "2\n50-55:2000\n5a-66:2000\n2\n1->50:7\n66->180:2000\n");
    free(out.data);
    /* File offset 0x50 lies at 0x400000 - 0x1000 + 0x50. */
    out = must_write(profile, "profgen-raw", absolute);
    equal_text((char *)out.data, "2\n3ff050-3ff055:2000\n3ff05a-3ff066:2000\n2\n1->3ff050:7\n3ff066->3ff180:2000\n");
    equal_again(out, absolute, base, (char *)in.data);
    profconv_profile_free(profile);
    free(out.data);
    free(in.data);
}

/* Whatever stands at address 1 is from outside for a reader: rows are merged with those, and in one order. */
static void test_profgen_address_one(void **state) {
    (void)state;
    static const char text[] = "0\n4\nffffffffffc00001->81:1\nffffffffffc00001->2:3\n1->2:1\n9->1:1\n";
    static const char *const base[] = {"profgen-raw.base=400000", NULL};
    bytes in = {(uint8_t *)(uintptr_t)text, sizeof text - 1};
    profconv_profile *profile = must_read(in, "profgen-raw", base);
    bytes out = must_write(profile, "profgen-raw", NULL);
    equal_text((char *)out.data, "0\n3\n1->2:4\n1->81:1\n9->1:1\n");
    equal_again(out, NULL, NULL, (char *)out.data);
    profconv_profile_free(profile);
    free(out.data);
}

/* The relation of the two: a key of one is a key of the other less the file offset of the first executable page. */
static void test_raw_to_maps(void **state) {
    (void)state;
    static const char *const offset[] = {"profgen-raw.text-offset=1000", NULL};
    bytes in = seed("profgen-raw/plain.raw");
    profconv_profile *profile = must_read(in, NULL, offset);
    bytes out;
    profconv_report *report = NULL;
    profconv_error error;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(write_as(profile, "autofdo-text", NULL, report, &out, &error), PROFCONV_OK);
    equal_text((char *)out.data, "2\n1050-1055:2000\n105a-1066:2000\n0\n1\n1066->1180:2000\n");
    assert_int_equal(find_note(report, "branch-from-outside").count, 1);
    assert_int_equal(find_note(report, "branch-from-outside").weight, 7);
    profconv_report_free(report);
    profconv_profile_free(profile);
    free(out.data);
    free(in.data);
}

static void test_contexts_add_up(void **state) {
    (void)state;
    static const char text[] = "[a]\n  1\n  10-20:7\n  1\n  20->10:6\n[b:1 @ a]\n  1\n  10-20:3\n  0\n";
    bytes in = {(uint8_t *)(uintptr_t)text, sizeof text - 1};
    profconv_profile *profile = must_read(in, NULL, NULL);
    assert_int_equal(find_note(profconv_profile_report(profile), "contexts").count, 2);
    bytes out = must_write(profile, "profgen-raw", NULL);
    equal_text((char *)out.data, "1\n10-20:10\n1\n20->10:6\n");
    profconv_profile_free(profile);
    free(out.data);
}

/* ---- several binaries ---- */

static profconv_id add_mapping(profconv_builder *b, const char *file, const char *build_id, uint64_t start,
                               uint64_t file_offset) {
    profconv_mapping m = {0};
    m.start = start;
    m.limit = start + 0x1000;
    m.file_offset = file_offset;
    m.file = profconv_builder_cstring(b, file);
    m.build_id = profconv_builder_cstring(b, build_id);
    m.kind = PROFCONV_MAPPING_EXECUTABLE;
    return profconv_builder_mapping(b, &m);
}

/* /bin/app in two pieces with different coordinates, and a library with fewer counts. */
static profconv_profile *two_binaries(void) {
    profconv_builder *b = NULL;
    profconv_profile *profile = NULL;
    profconv_error error;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, &error), PROFCONV_OK);
    profconv_id app = add_mapping(b, "/bin/app", "aabbccddeeff", 0x401000, 0x1000);
    profconv_id piece = add_mapping(b, "/bin/app", "aabbccddeeff", 0x2000, 0x2000);
    profconv_id lib = add_mapping(b, "/lib/libx.so", "112233445566", 0x1000, 0x1000);
    profconv_id a1 = profconv_builder_address_location(b, app, 0x401010, 0); /* offset 0x1010 */
    profconv_id a2 = profconv_builder_address_location(b, app, 0x401020, 0);
    profconv_id p1 = profconv_builder_address_location(b, piece, 0x2008, 0);
    profconv_id l1 = profconv_builder_address_location(b, lib, 0x1010, 0);
    profconv_id l2 = profconv_builder_address_location(b, lib, 0x1018, 0);
    profconv_builder_range(b, a1, a2, 100);
    profconv_builder_range(b, a2, p1, 5);
    profconv_builder_range(b, l1, l2, 50);
    profconv_builder_range(b, a1, l1, 3); /* ends in the library */
    profconv_builder_range(b, a2, a1, 2); /* backwards */
    profconv_builder_branch(b, a2, a1, 90, 0, 0);
    profconv_builder_branch(b, l2, a1, 4, 0, 0);
    profconv_builder_branch(b, 0, a1, 1, 0, 0);
    profconv_builder_branch(b, a2, l1, 6, 0, 0);
    profconv_builder_address(b, a1, 8);
    profconv_builder_address(b, l1, 9);
    assert_int_equal(profconv_builder_freeze(b, &profile, &error), PROFCONV_OK);
    profconv_builder_free(b);
    return profile;
}

static void test_choosing(void **state) {
    (void)state;
    static const char app[] = "2\n1010-1020:100\n1020-2008:5\n1\n1010:8\n1\n1020->1010:90\n";
    static const char lib[] = "1\n1010-1018:50\n1\n1010:9\n0\n";
    static const struct {
        const char *settings[2];
        const char *expected;
    } rows[] = {
        {{NULL, NULL}, app},
        {{"autofdo-text.binary=/bin/app", NULL}, app},
        {{"autofdo-text.binary=aabbccddeeff", NULL}, app},
        {{"autofdo-text.binary=/elsewhere/libx.so", NULL}, lib},
        {{"autofdo-text.binary=11223344", NULL}, lib},
    };
    profconv_profile *profile = two_binaries();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        profconv_report *report = NULL;
        profconv_error error;
        bytes out;
        assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
        assert_int_equal(write_as(profile, "autofdo-text", rows[i].settings, report, &out, &error), PROFCONV_OK);
        equal_text((char *)out.data, rows[i].expected);
        assert_int_equal(find_note(report, "binary-chosen").kind, i == 0 ? PROFCONV_NOTE_WARNING : 0);
        profconv_report_free(report);
        free(out.data);
    }
    profconv_profile_free(profile);
}

static void test_left_out(void **state) {
    (void)state;
    static const struct {
        const char *cause;
        uint64_t count;
        int64_t weight;
    } rows[] = {{"range-outside-binary", 2, 53},
                {"range-backward", 1, 2},
                {"branch-outside-binary", 1, 6},
                {"branch-from-outside", 1, 5},
                {"address-outside-binary", 1, 9}};
    profconv_profile *profile = two_binaries();
    profconv_report *report = NULL;
    profconv_error error;
    bytes out;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(write_as(profile, "autofdo-text", NULL, report, &out, &error), PROFCONV_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        profconv_note note = find_note(report, rows[i].cause);
        if (note.kind != PROFCONV_NOTE_DROPPED || note.count != rows[i].count || note.weight != rows[i].weight)
            fail_msg("%s: kind %d, %llu rows, weight %lld", rows[i].cause, (int)note.kind,
                     (unsigned long long)note.count, (long long)note.weight);
    }
    profconv_report_free(report);
    free(out.data);
    static const char *const unknown[] = {"autofdo-text.binary=/bin/other", NULL};
    assert_int_equal(write_as(profile, "autofdo-text", unknown, NULL, &out, &error), PROFCONV_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "/bin/app aabbccddeeff (110)"));
    assert_non_null(strstr(error.message, "/lib/libx.so 112233445566 (50)"));
    profconv_profile_free(profile);
}

/* A recording without branch records: the leaves of its samples are the addresses. */
static void test_leaves(void **state) {
    (void)state;
    profconv_builder *b = NULL;
    profconv_profile *profile = NULL;
    profconv_error error;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, &error), PROFCONV_OK);
    profconv_sample_type type = {0};
    type.name = profconv_builder_cstring(b, "samples");
    type.unit = profconv_builder_cstring(b, "count");
    type.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(b, &type);
    profconv_id app = add_mapping(b, "/bin/app", "", 0x1000, 0x1000);
    profconv_id leaf = profconv_builder_address_location(b, app, 0x1010, 0);
    profconv_id caller = profconv_builder_address_location(b, app, 0x1020, 0);
    const profconv_id deep[] = {leaf, caller};
    const int64_t three = 3, four = 4;
    profconv_builder_sample(b, profconv_builder_stack_leaf_first(b, deep, 2), 0, 0, &three, 1);
    profconv_builder_sample(b, profconv_builder_stack_leaf_first(b, deep, 1), 0, 0, &four, 1);
    assert_int_equal(profconv_builder_freeze(b, &profile, &error), PROFCONV_OK);
    profconv_builder_free(b);
    bytes out = must_write(profile, "autofdo-text", NULL);
    equal_text((char *)out.data, "0\n1\n1010:7\n0\n");
    bytes none;
    assert_int_not_equal(write_as(profile, "profgen-raw", NULL, NULL, &none, &error), PROFCONV_OK);
    assert_true(error.message[0] != '\0');
    profconv_profile_free(profile);
    free(out.data);
}

/* Zeros beside counts of another kind are no maps: what they would be written as could not be written again. */
static void test_zeros_only(void **state) {
    (void)state;
    static const char *const names[] = {"autofdo-text/zero_range.txt", "autofdo-text/zero_branch.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bytes in = seed(names[i]), out = {NULL, 0};
        profconv_error error;
        profconv_profile *profile = must_read(in, NULL, NULL);
        assert_int_equal(write_as(profile, "profgen-raw", NULL, NULL, &out, &error), PROFCONV_E_EMPTY);
        bytes same = must_write(profile, "autofdo-text", NULL);
        equal_text((char *)same.data, (char *)in.data);
        profconv_profile_free(profile);
        free(same.data);
        free(in.data);
    }
}

static void test_refused(void **state) {
    (void)state;
    refused("autofdo-text/bad_count.txt", "autofdo-text", PROFCONV_E_FORMAT, "line 1");
    refused("autofdo-text/bad_cut.txt", "autofdo-text", PROFCONV_E_FORMAT, "line 3");
    refused("autofdo-text/bad_backward.txt", "autofdo-text", PROFCONV_E_FORMAT, "line 2");
    refused("autofdo-text/bad_arrow.txt", "autofdo-text", PROFCONV_E_FORMAT, "line 4");
    refused("autofdo-text/bad_number.txt", "autofdo-text", PROFCONV_E_FORMAT, "line 2");
    refused("profgen-raw/bad_range.raw", "profgen-raw", PROFCONV_E_FORMAT, "line 2");
    refused("profgen-raw/bad_cut.raw", "profgen-raw", PROFCONV_E_FORMAT, "line 5");
    refused("profgen-raw/bad_context.raw", "profgen-raw", PROFCONV_E_FORMAT, "line 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_autofdo_round),
        cmocka_unit_test(test_profgen_round),
        cmocka_unit_test(test_profgen_address_one),
        cmocka_unit_test(test_raw_to_maps),
        cmocka_unit_test(test_contexts_add_up),
        cmocka_unit_test(test_choosing),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_zeros_only),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
