/* SPDX-License-Identifier: MIT
 *
 * The canonical text: every table of a small profile against a golden file, escapes, an output that fails.
 */
#include "tests/unit/model_scenario.h"

#include <stdio.h>

static void every_table_against_the_golden(void **state) {
    (void)state;
    char golden[8192];
    FILE *file = fopen(TEST_DATA_DIR "/model/scenario.dump", "rb");
    assert_non_null(file);
    size_t n = fread(golden, 1, sizeof golden - 1, file);
    golden[n] = 0;
    fclose(file);
    profconv_builder *b = new_builder();
    scenario(b);
    profconv_profile *p = freeze(b);
    char *text = dump_text(p);
    assert_string_equal(text, golden);
    test_free(text);
    profconv_profile_free(p);
}

/* One comment: bytes in, its line out. */
static void assert_escaped(const char *bytes, size_t size, const char *expected) {
    profconv_builder *b = new_builder();
    char line[256];
    profconv_builder_comment(b, profconv_builder_string(b, bytes, size));
    profconv_profile *p = freeze(b);
    char *text = dump_text(p);
    snprintf(line, sizeof line, "\ncomment 0 text=\"%s\"\n", expected);
    if (!strstr(text, line))
        fail_msg("no %s in %s", line, text);
    test_free(text);
    profconv_profile_free(p);
}

static void bytes_are_escaped(void **state) {
    (void)state;
#define E(bytes, expected) assert_escaped(bytes, sizeof(bytes) - 1, expected)
    E("a\0b", "a\\x00b");
    E("\n\t\r\x7f", "\\n\\t\\x0d\\x7f");
    E("\\\"", "\\\\\\\"");
    E("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
    E("\xc3", "\\xc3");                                  /* cut */
    E("\xe2\x82", "\\xe2\\x82");                         /* cut */
    E("\xc0\xaf", "\\xc0\\xaf");                         /* overlong */
    E("\xe0\x80\x80", "\\xe0\\x80\\x80");                /* overlong */
    E("\xed\xa0\x80", "\\xed\\xa0\\x80");                /* surrogate */
    E("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");       /* past U+10FFFF */
    E("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");           /* U+10FFFF */
    E("\xff\x80", "\\xff\\x80");
#undef E
}

static int full(void *user, const void *data, size_t size) {
    size_t *left = (size_t *)user;
    (void)data;
    if (size > *left)
        return 28; /* ENOSPC */
    *left -= size;
    return 0;
}

static void a_failing_output_is_reported(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    for (uint64_t i = 0; i < 20000; i++) /* about a megabyte of text */
        profconv_builder_address_location(b, 0, i + 1, 0);
    profconv_profile *p = freeze(b);
    size_t left = 100000;
    profconv_output_callbacks callbacks = {sizeof callbacks, full, NULL, &left};
    profconv_output *output = NULL;
    profconv_error error = {0};
    assert_int_equal(profconv_output_open_callbacks(&output, &callbacks, "full", NULL, NULL), PROFCONV_OK);
    int status = profconv_dump(p, output, &error);
    assert_int_equal(status, PROFCONV_E_CALLBACK);
    assert_int_equal(error.system_errno, 28);
    profconv_output_free(output);
    profconv_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_against_the_golden),
        cmocka_unit_test(bytes_are_escaped),
        cmocka_unit_test(a_failing_output_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
