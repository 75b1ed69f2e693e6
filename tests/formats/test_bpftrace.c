/* SPDX-License-Identifier: MIT
 *
 * Maps of stacks as bpftrace prints them: kernel and user stacks in either order, keys with names and numbers, several
 * maps, maps of other things, perf mode, damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/profconv.h>

/* Collapsed text of `text`; NULL when it is refused. */
static char *collapse(const char *text, const char *setting, profconv_error *error) {
    profconv_registry *registry = NULL;
    profconv_options *settings = NULL;
    profconv_input *input = NULL;
    profconv_output *output = NULL;
    profconv_convert_options options = {0};
    profconv_convert_input one = {0};
    char *copy = NULL;
    const uint8_t *bytes;
    size_t size;
    options.struct_size = sizeof options;
    options.to = "collapsed";
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), 0);
    assert_int_equal(profconv_options_new(&settings, NULL, NULL), 0);
    assert_int_equal(profconv_options_set(settings, "convert.symbolize=no", NULL), 0);
    if (setting)
        assert_int_equal(profconv_options_set(settings, setting, NULL), 0);
    options.settings = settings;
    assert_int_equal(profconv_input_open_memory(&input, text, strlen(text), NULL, NULL), 0);
    assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), 0);
    one.input = input;
    if (profconv_convert(registry, &one, 1, output, &options, NULL, error) == 0) {
        assert_int_equal(profconv_output_bytes(output, &bytes, &size), 0);
        copy = calloc(1, size + 1);
        assert_non_null(copy);
        memcpy(copy, bytes, size);
    }
    profconv_output_free(output);
    profconv_input_free(input);
    profconv_options_free(settings);
    profconv_registry_free(registry);
    return copy;
}

static void expect(const char *text, const char *setting, const char *expected) {
    profconv_error error = {0};
    char *got = collapse(text, setting, &error);
    if (!got)
        print_error("%s\n", error.message);
    assert_non_null(got);
    assert_string_equal(got, expected);
    free(got);
}

#define KERNEL "    vfs_read+1\n    do_syscall_64+12\n    entry_SYSCALL_64_after_hwframe+101\n"
#define USER "    read+14\n    f(int)+0x3\n    main+3\n"

static void test_order(void **state) {
    static const char expected[] = "bash;main;f;read;entry_SYSCALL_64_after_hwframe;do_syscall_64;vfs_read 5\n";
    (void)state;
    /* Text without mappings: names stay as they are, but for what `tidy` is asked to do. */
    expect("Attaching 1 probe...\n\n@[\n" KERNEL ", \n" USER ", bash]: 5\n", "collapsed.tidy=args", expected);
    expect("@x[\n" USER ",\n" KERNEL ", bash]: 5\n", "collapsed.tidy=args", expected);
    expect("@[\n    a+1\n, \n    b+2\n]: 5\n", NULL, "b;a 5\n");
    expect("@[\n    a+1\n, \n    b+2\n]: 5\n", "bpftrace.order=user-first", "a;b 5\n");
    expect("@[\n" USER ", \n" KERNEL "]: 5\n", "bpftrace.order=kernel-first",
           "entry_SYSCALL_64_after_hwframe;do_syscall_64;vfs_read;main;f(int);read 5\n");
}

static void test_maps(void **state) {
    static const char text[] = "@n: 4\n@c[bash]: 5\n@x[\n    a+1\n, 12, sh]: 7\n@x[\n    a+1\n, 13, sh]: 2\n@[, bash]: "
                               "3\n@[\n    b\n]: 11\n@h[\n    f+1\n]: \n"
                               "[0, 1)   3 |@@|\n";
    profconv_error error = {0};
    (void)state;
    expect(text, "collapsed.event=x", "sh;a 9\n");
    expect(text, "bpftrace.map=x", "sh;a 9\n");
    expect(text, "bpftrace.map=@", "b 11\nbash 3\n");
    assert_null(collapse(text, "bpftrace.map=q", &error));
    assert_int_equal(error.status, PROFCONV_E_EMPTY);
}

static void test_perf_mode(void **state) {
    (void)state;
    expect("@[\n\tffffffff81 k+0x1 ([kernel.kallsyms])\n\t7f12 read+0x10 (/lib/c.so)\n\t7f13 [unknown] (/opt/a "
           "b)\n\t7f14 [unknown] ([unknown])\n]: 3\n",
           NULL, "[unknown];[a b];read;k 3\n");
    expect("@[\n    0x7fff12\n    g\n]: 9\n", NULL, "g;[unknown] 9\n");
}

static void test_damage(void **state) {
    profconv_error error = {0};
    (void)state;
    expect("@[\n    a\n]: 1\n@[\n    cut\n", NULL, "a 1\n");
    assert_null(collapse("@[\n    cut\n", NULL, &error));
    assert_int_equal(error.status, PROFCONV_E_FORMAT);
    assert_string_equal(error.format, "bpftrace");
    assert_null(collapse("@n: 1\n", NULL, &error));
    assert_int_equal(error.status, PROFCONV_E_UNKNOWN_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_maps),
                                       cmocka_unit_test(test_perf_mode), cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
