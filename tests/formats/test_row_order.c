/* SPDX-License-Identifier: MIT
 *
 * Rows are made in the order of the text, whatever compiler built the library: a call's two ends must not be left to the
 * order in which it evaluates arguments, or two machines write different bytes.
 */
#include "tests/formats/source_help.h"

static const char *function_name(const profconv_profile *p, profconv_id function) {
    return profconv_profile_string(p, profconv_profile_function(p, function)->name).data;
}

static profconv_profile *profile_of(const char *text, const char *format) {
    profconv_profile *profile = NULL;
    profconv_error error;
    if (read_as((const uint8_t *)text, strlen(text), format, NULL, &profile, &error) != PROFCONV_OK)
        fail_msg("%s: %s", format, error.message);
    return profile;
}

static void caller_before_callee(void **state) {
    (void)state;
    profconv_profile *p = profile_of("GO PREPROFILE V1\nmain.main\nmain.work\n3 900\nmain.work\nmain.leaf\n-2 100\n", "go-preprofile");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_FUNCTION), 4);
    assert_string_equal(function_name(p, 1), "main.main");
    assert_string_equal(function_name(p, 2), "main.work");
    assert_string_equal(function_name(p, 3), "main.leaf");
    profconv_profile_free(p);
}

static void from_before_to(void **state) {
    (void)state;
    profconv_profile *p = profile_of("1\n20-2f:7\n1\n30->10:6\n", "profgen-raw");
    static const uint64_t expected[] = {0x20, 0x2f, 0x30, 0x10};
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_LOCATION), 5);
    for (profconv_id i = 0; i < 4; i++)
        assert_int_equal(profconv_profile_location(p, i + 1)->address, expected[i]);
    profconv_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caller_before_callee),
        cmocka_unit_test(from_before_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
