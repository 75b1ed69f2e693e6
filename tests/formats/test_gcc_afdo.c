/* SPDX-License-Identifier: MIT
 *
 * GCC's AutoFDO profiles: every version against files of another encoder, byte for byte where the content decides the
 * bytes; the choice of version; order, renamed constructors, the working set; what is refused.
 */
#include "tests/formats/source_help.h"

/* Totals are not in the file: they are the sums of counts, those of inlined functions included. */
static const char EXPECTED[] = "main:1507:0\n"
                               " 0: 10\n"
                               " 2.1: 700 foo:400 bar<int (char)>:300\n"
                               " 4: inl:797\n"
                               "  1: 390\n"
                               "  3.2: 400 baz:22\n"
                               "  3: deep.llvm.123:7\n"
                               "   0: 7\n"
                               "foo:400:400\n"
                               " 1: 400\n";

static uint32_t word(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

static const char *const SEEDS[] = {"v1", "v2", "v2_words", "v3", "v704", "v704_timed"};

static void test_versions_read_alike(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof SEEDS / sizeof *SEEDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "gcc-afdo/%s.afdo", SEEDS[i]);
        char *text = seed_as(name, NULL, "llvm-text");
        equal_text(text, EXPECTED);
        free(text);
    }
}

static void test_version_3_extras(void **state) {
    (void)state;
    bytes in = seed("gcc-afdo/v3.afdo");
    profconv_profile *profile = must_read(in, NULL, NULL);
    int found = 0;
    for (uint32_t i = 1; i < profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE); i++) {
        const profconv_source *row = profconv_profile_source(profile, i);
        const char *name = profconv_profile_string(profile, row->name).data;
        if (row->parent == 0 && strcmp(name, "main") == 0) {
            assert_int_equal(row->timestamp, 1000);
            assert_string_equal(profconv_profile_string(profile, row->file).data, "main.c");
            found++;
        } else if (row->parent == 0 && strcmp(name, "foo") == 0) {
            assert_int_equal(row->timestamp, 1001);
            assert_int_equal(row->file, 0);
            found++;
        }
    }
    assert_int_equal(found, 2);
    /* Kept by version 3, reported by version 2. */
    static const char *const three[] = {"gcc-afdo.gcc=16", NULL};
    bytes out = must_write(profile, "gcc-afdo", three), lost;
    profconv_profile *back = must_read(out, NULL, NULL);
    bytes again = must_write(back, "gcc-afdo", three);
    assert_int_equal(out.size, again.size);
    assert_memory_equal(out.data, again.data, out.size);
    profconv_report *report = NULL;
    profconv_error error;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(write_as(profile, "gcc-afdo", NULL, report, &lost, &error), PROFCONV_OK);
    assert_int_equal(find_note(report, "first-sample-time").count, 2);
    assert_int_equal(find_note(report, "source-file").count, 1);
    profconv_report_free(report);
    profconv_profile_free(back);
    profconv_profile_free(profile);
    free(lost.data);
    free(again.data);
    free(out.data);
    free(in.data);
}

/* Up to the working set, which the other encoder leaves empty, and the lengths, which it leaves 0. */
static void test_bytes(void **state) {
    (void)state;
    static const char *const names[][2] = {{"gcc-afdo/v1.afdo", "gcc-afdo.version=1"},
                                           {"gcc-afdo/v2.afdo", "gcc-afdo.version=2"}};
    for (size_t i = 0; i < 2; i++) {
        const char *settings[] = {names[i][1], NULL};
        bytes in = seed(names[i][0]);
        profconv_profile *profile = must_read(in, NULL, NULL);
        bytes out = must_write(profile, "gcc-afdo", settings);
        assert_int_equal(out.size, in.size);
        size_t working_set = out.size - 8 - 128 * 12;
        assert_int_equal(word(out.data + working_set), 0xaf000000);
        assert_int_equal(word(out.data + working_set + 4), 384);
        /* Names: 7 strings of 0, 15, 3, 13, 3, 3, 4 bytes: 7 + 1 + (1 + 4 + 1 + 4 + 1 + 1 + 2) words. */
        assert_int_equal(word(out.data + 16), 22);
        assert_int_equal(word(in.data + 16), 0);
        memset(out.data + 16, 0, 4);
        /* In the example main is written before foo; by name foo comes first, so compare the rest as sets of functions.
         */
        assert_memory_equal(out.data, in.data, 16 + 8);
        profconv_profile *back = must_read(out, NULL, NULL);
        bytes text = must_write(back, "llvm-text", NULL);
        equal_text((char *)text.data, EXPECTED);
        profconv_profile_free(back);
        profconv_profile_free(profile);
        free(text.data);
        free(out.data);
        free(in.data);
    }
}

/* One function, seen word by word. */
static void test_layout(void **state) {
    (void)state;
    static const char text[] = "f:30:2\n 3.1: 10 h:4 g:6\n 1: 20\n";
    /* clang-format off */
    static const uint32_t expected[] = {
        0x67636461, 1,          0,                                              /* adcg, version, stamp */
        0xaa000000, 1 + 4 * 2,  4, 1, 0, 1, 'f', 1, 'g', 1, 'h',                /* names; "" is the first */
        0xac000000, 1 + 3 + 2 * 4 + 2 * 5 + 2, 1, 2, 0, 1, 2, 0,                /* one function: head 2, name 1, 2 positions, no call */
        1 << 16,    0,          20, 0,                                          /* line 1: no target, 20 */
        3 << 16 | 1, 2,         10, 0, 7, 2, 0, 6, 0, 7, 3, 0, 4, 0,            /* line 3.1: g before h */
        0xae000000, 0,          0,  0xaf000000, 384};
    /* clang-format on */
    static const char *const settings[] = {"gcc-afdo.gcc=11", NULL};
    bytes in = {(uint8_t *)(uintptr_t)text, sizeof text - 1};
    profconv_profile *profile = must_read(in, "llvm-text", NULL);
    bytes out = must_write(profile, "gcc-afdo", settings);
    assert_int_equal(out.size, sizeof expected + 128 * 12);
    for (size_t i = 0; i < sizeof expected / 4; i++)
        if (word(out.data + 4 * i) != expected[i])
            fail_msg("word %zu: 0x%x, 0x%x expected", i, word(out.data + 4 * i), expected[i]);
    profconv_profile_free(profile);
    free(out.data);
}

/* 129 shares of the sum: 128 lines of 10 and one of 10 make shares of 10, so bucket b is reached by b + 1 lines less
 * the one that only the next one exceeds: floor((b + 1) / 10) after the division. */
static void test_working_set(void **state) {
    (void)state;
    char text[4096] = "f:1290:0\n";
    for (int i = 0; i < 129; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d: 10\n", i);
    bytes in = {(uint8_t *)text, strlen(text)};
    profconv_profile *profile = must_read(in, "llvm-text", NULL);
    bytes out = must_write(profile, "gcc-afdo", NULL);
    const uint8_t *set = out.data + out.size - 128 * 12;
    for (uint32_t b = 0; b < 128; b++) {
        assert_int_equal(word(set + 12 * b), (b + 1) / 10);
        assert_int_equal(word(set + 12 * b + 4), 10);
    }
    profconv_profile_free(profile);
    free(out.data);
}

static void test_constructors(void **state) {
    (void)state;
    static const char text[] = "_ZN1AD4Ev:1:1\n 1: 1 _ZN1AC4EPKc:1\n_ZN1AC4EPKcRKS2_:1:1\n 1: 1\nD4Ev:1:1\n 1: 1\n";
    bytes in = {(uint8_t *)(uintptr_t)text, sizeof text - 1};
    profconv_profile *profile = must_read(in, "llvm-text", NULL);
    static const char *const versions[][2] = {{"gcc-afdo.version=1", NULL}, {"gcc-afdo.version=2", NULL}};
    for (size_t i = 0; i < 2; i++) {
        bytes out = must_write(profile, "gcc-afdo", versions[i]);
        profconv_profile *back = must_read(out, NULL, NULL);
        bytes names = must_write(back, "llvm-text", NULL);
        equal_text((char *)names.data,
                   "D4Ev:1:1\n 1: 1\n_ZN1AC2EPKcRKS2_:1:1\n 1: 1\n_ZN1AD2Ev:1:1\n 1: 1 _ZN1AC2EPKc:1\n");
        profconv_profile_free(back);
        free(names.data);
        free(out.data);
    }
    profconv_profile_free(profile);
}

static void test_versions(void **state) {
    (void)state;
    static const struct {
        const char *settings[3];
        uint32_t version;
    } rows[] = {
        {{NULL, NULL, NULL}, 2},
        {{"gcc-afdo.gcc=9", NULL, NULL}, 1},
        {{"gcc-afdo.gcc=11", NULL, NULL}, 1},
        {{"gcc-afdo.gcc=12", NULL, NULL}, 2},
        {{"gcc-afdo.gcc=15", NULL, NULL}, 2},
        {{"gcc-afdo.gcc=16", NULL, NULL}, 3},
        {{"gcc-afdo.version=1", NULL, NULL}, 1},
        {{"gcc-afdo.version=3", NULL, NULL}, 3},
        {{"gcc-afdo.version=704", NULL, NULL}, 0x3430372a},
        {{"gcc-afdo.version=2", "gcc-afdo.gcc=12", NULL}, 2},
        {{"gcc-afdo.version=1", "gcc-afdo.gcc=12", NULL}, 0}, /* refused */
        {{"gcc-afdo.gcc=-1", NULL, NULL}, 0},
    };
    bytes in = seed("gcc-afdo/v2.afdo");
    profconv_profile *profile = must_read(in, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bytes out;
        profconv_error error;
        int status = write_as(profile, "gcc-afdo", rows[i].settings, NULL, &out, &error);
        assert_int_equal(status, rows[i].version ? PROFCONV_OK : PROFCONV_E_INVALID);
        if (status == PROFCONV_OK)
            assert_int_equal(word(out.data + 4), rows[i].version);
        free(out.data);
    }
    profconv_profile_free(profile);
    free(in.data);
}

static void test_notes(void **state) {
    (void)state;
    static const char *const old[] = {"gcc-afdo.gcc=12", NULL};
    static const char text[] = "[main:3 @ f]:5:1\n 1: 5\n[f]:7:2\n 1: 3\n 70000.70000: 4\n";
    bytes in = {(uint8_t *)(uintptr_t)text, sizeof text - 1}, out;
    profconv_profile *profile = must_read(in, "llvm-text", NULL);
    profconv_report *report = NULL;
    profconv_error error;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(write_as(profile, "gcc-afdo", old, report, &out, &error), PROFCONV_OK);
    assert_int_equal(find_note(report, "contexts").count, 1);
    assert_int_equal(find_note(report, "line-offset").count, 1);
    assert_int_equal(find_note(report, "wide-discriminators").count, 1);
    assert_int_equal(find_note(report, "unread-discriminators").count, 1);
    /* Contexts are added up; 70000 is 4464 in 16 bits. */
    profconv_profile *back = must_read(out, NULL, NULL);
    bytes sum = must_write(back, "llvm-text", NULL);
    equal_text((char *)sum.data, "f:12:3\n 1: 8\n 4464.4464: 4\n");
    profconv_report_free(report);
    profconv_profile_free(back);
    profconv_profile_free(profile);
    free(sum.data);
    free(out.data);
}

static void test_refused(void **state) {
    (void)state;
    refused("gcc-afdo/bad_version.afdo", "gcc-afdo", PROFCONV_E_UNSUPPORTED, "offset 0x4");
    refused("gcc-afdo/bad_cut.afdo", "gcc-afdo", PROFCONV_E_FORMAT, "offset 0x");
    refused("gcc-afdo/bad_target.afdo", "gcc-afdo", PROFCONV_E_FORMAT, "kind 8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_read_alike),
        cmocka_unit_test(test_version_3_extras),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_working_set),
        cmocka_unit_test(test_constructors),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
