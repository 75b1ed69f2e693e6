/* SPDX-License-Identifier: MIT
 *
 * LLVM's sample profiles: the text's rules, the binary encodings against files from other encoders
 * (tests/support/mksource.py), orders, summaries, what is refused and where. Against llvm-profdata itself:
 * tests/oracle/test_llvm_profdata.py.
 */
#include "tests/formats/source_help.h"

#include "libprofconv/base/cutoffs.h"
#include "libprofconv/base/md5.h"

/* The sample of all encodings, as the text writer orders it. */
static const char PLAIN[] = "main:1500:0\n"
                            " 0: 10\n"
                            " 2.1: 700 foo:400 bar<int (char)>:300\n"
                            " 4: inl:790\n"
                            "  1: 390\n"
                            "  3.2: 400 baz:22\n"
                            "  3: deep.llvm.123:7\n"
                            "   0: 7\n"
                            "foo:400:400\n"
                            " 1: 400\n";

static void test_md5(void **state) {
    (void)state;
    /* The test suite of RFC 1321, A.5. */
    static const struct {
        const char *text;
        const char *digest;
    } suite[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
    };
    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++) {
        uint8_t digest[16];
        char hex[33];
        pfc_md5(suite[i].text, strlen(suite[i].text), digest);
        for (unsigned k = 0; k < 16; k++)
            snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        assert_string_equal(hex, suite[i].digest);
    }
    /* First eight bytes, the first lowest: 0cc175b9c0f1b6a8 turned round. */
    assert_true(pfc_md5_u64("a", 1) == UINT64_C(0xa8b6f1c0b975c10c));
}

static void test_cutoffs(void **state) {
    (void)state;
    /* 1000 = 500 + 300 + 2 * 100: shares up to 0.5 need one count, up to 0.8 two, the rest all four. */
    const uint64_t counts[] = {100, 100, 300, 500};
    pfc_cutoff out[PFC_CUTOFFS];
    assert_int_equal(pfc_cutoffs(counts, 4, out), 1000);
    assert_int_equal(out[0].share, 10000);
    assert_int_equal(out[0].counts, 1);
    assert_int_equal(out[0].min, 500);
    assert_int_equal(out[5].share, 500000);
    assert_int_equal(out[5].counts, 1);
    assert_int_equal(out[6].share, 600000);
    assert_int_equal(out[6].counts, 2);
    assert_int_equal(out[8].counts, 2);
    assert_int_equal(out[9].share, 900000);
    assert_int_equal(out[9].counts, 4);
    assert_int_equal(out[9].min, 100);
    assert_int_equal(out[15].share, 999999);
    assert_int_equal(out[15].counts, 4);
}

static void test_all_encodings_read_alike(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"llvm-text/plain.prof", "llvm-text"},
        {"llvm-text/crlf.prof", "llvm-text"},
        {"llvm-text/no_end.prof", "llvm-text"},
        {"llvm-binary/plain.bin", "llvm-binary"},
        {"llvm-extbinary/plain.ext", "llvm-extbinary"},
        {"llvm-extbinary/compressed.ext", "llvm-extbinary"},
        {"llvm-extbinary/split.ext", "llvm-extbinary"},
        {"llvm-extbinary/unknown.ext", "llvm-extbinary"},
        {"llvm-extbinary/symbols.ext", "llvm-extbinary"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *by_name = seed_as(names[i][0], names[i][1], "llvm-text");
        char *by_content = seed_as(names[i][0], NULL, "llvm-text");
        equal_text(by_name, PLAIN);
        equal_text(by_content, PLAIN);
        free(by_name);
        free(by_content);
    }
}

/* Hashes in all three forms; the order is that of numbers, and the call site's name begins with a digit. */
static void test_hashed_names(void **state) {
    (void)state;
    char expected[160];
    snprintf(expected, sizeof expected, "%llu:1500:0\n 0: 10\n", (unsigned long long)pfc_md5_u64("main", 4));
    char *fixed = seed_as("llvm-extbinary/md5_fixed.ext", NULL, "llvm-text");
    char *uleb = seed_as("llvm-extbinary/md5_uleb.ext", NULL, "llvm-text");
    char *compact = seed_as("llvm-compact/plain.compact", NULL, "llvm-text");
    assert_int_equal(strncmp(fixed, expected, strlen(expected)), 0);
    equal_text(uleb, fixed);
    equal_text(compact, fixed);
    /* A text with such names is read back. */
    bytes text = {(uint8_t *)fixed, strlen(fixed)};
    profconv_profile *profile = must_read(text, NULL, NULL);
    bytes again = must_write(profile, "llvm-text", NULL);
    equal_text((char *)again.data, fixed);
    profconv_profile_free(profile);
    free(again.data);
    free(fixed);
    free(uleb);
    free(compact);
}

static void test_hashing_names(void **state) {
    (void)state;
    static const char *const yes[] = {"llvm-extbinary.md5=yes", NULL};
    bytes in = seed("llvm-text/plain.prof");
    profconv_profile *profile = must_read(in, NULL, NULL);
    bytes hashed = must_write(profile, "llvm-extbinary", yes);
    profconv_profile *back = must_read(hashed, NULL, NULL);
    assert_true(profconv_profile_info(back)->source_flags & PROFCONV_SOURCES_MD5);
    bytes text = must_write(back, "llvm-text", NULL);
    char *reference = seed_as("llvm-extbinary/md5_fixed.ext", NULL, "llvm-text");
    equal_text((char *)text.data, reference);
    /* They stay hashes when written again without being asked. */
    bytes kept = must_write(back, "llvm-extbinary", NULL);
    profconv_profile *twice = must_read(kept, NULL, NULL);
    assert_true(profconv_profile_info(twice)->source_flags & PROFCONV_SOURCES_MD5);
    profconv_profile_free(twice);
    profconv_profile_free(back);
    profconv_profile_free(profile);
    free(kept.data);
    free(text.data);
    free(hashed.data);
    free(reference);
    free(in.data);
}

static void test_contexts(void **state) {
    (void)state;
    static const char expected[] = "[main:3 @ foo:2.1 @ bar]:20:3\n 1: 20\n !CFGChecksum: 5\n !Attributes: 1\n"
                                   "[main]:9:0\n 3: 9 foo:9\n !CFGChecksum: 6\n";
    char *text = seed_as("llvm-text/context.prof", NULL, "llvm-text");
    char *ext = seed_as("llvm-extbinary/context.ext", NULL, "llvm-text");
    equal_text(text, expected);
    equal_text(ext, expected);
    bytes in = seed("llvm-text/context.prof");
    profconv_profile *profile = must_read(in, NULL, NULL);
    bytes out = must_write(profile, "llvm-extbinary", NULL);
    profconv_profile *back = must_read(out, NULL, NULL);
    assert_int_equal(profconv_profile_info(back)->source_flags, PROFCONV_SOURCES_CONTEXT | PROFCONV_SOURCES_PROBES);
    bytes again = must_write(back, "llvm-text", NULL);
    equal_text((char *)again.data, expected);
    bytes none;
    profconv_error error;
    assert_int_equal(write_as(profile, "llvm-binary", NULL, NULL, &none, &error), PROFCONV_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "contexts"));
    profconv_profile_free(back);
    profconv_profile_free(profile);
    free(again.data);
    free(out.data);
    free(in.data);
    free(text);
    free(ext);
}

/* Metadata of call sites, both ways. */
static void test_nested_metadata(void **state) {
    (void)state;
    bytes in = seed("llvm-text/nested_metadata.prof");
    profconv_profile *profile = must_read(in, NULL, NULL);
    bytes ext = must_write(profile, "llvm-extbinary", NULL);
    profconv_profile *back = must_read(ext, NULL, NULL);
    bytes text = must_write(back, "llvm-text", NULL);
    assert_int_equal(profconv_profile_info(back)->source_flags, PROFCONV_SOURCES_PREINLINED | PROFCONV_SOURCES_PROBES);
    equal_text((char *)text.data, (char *)in.data);
    profconv_profile_free(back);
    profconv_profile_free(profile);
    free(text.data);
    free(ext.data);
    free(in.data);
}

static void test_text_rules(void **state) {
    (void)state;
    /* The last of two equal targets on a line holds; on two lines they add up; functions and lines met again add up. */
    char *twice = seed_as("llvm-text/twice.prof", NULL, "llvm-text");
    equal_text(twice, "f:3:3\n 1: 7 a:5\n 70000.1: 1\n");
    char *odd = seed_as("llvm-text/odd_names.prof", NULL, "llvm-text");
    equal_text(odd, "operator new(unsigned long):30:1\n 1: 10 a::b(c, d):5 x y:4\n 2: std::f<a:1>:20\n  65535: 20\n"
                    "123:4:0\n 0: 4 99:4\n");
    char *newer = seed_as("llvm-text/newer.prof", NULL, "llvm-text");
    equal_text(newer, "f:10:1\n 1: 10 g:5\n");
    char *full = seed_as("llvm-text/full.prof", NULL, "llvm-text");
    equal_text(full, "f:18446744073709551615:1\n 1: 18446744073709551615\n");
    free(twice);
    free(odd);
    free(newer);
    free(full);
}

static void test_order(void **state) {
    (void)state;
    static const char text[] = "b:5:1\n 1.2: 1\n 1: 5 z:2 a:2 m:9\n 0: 3\n 2: y:1\n  0: 1\n 2: x:1\n  0: 1\n"
                               "a:5:2\nc:9:0\n";
    bytes in = {(uint8_t *)(uintptr_t)text, sizeof text - 1};
    profconv_profile *profile = must_read(in, "llvm-text", NULL);
    bytes out = must_write(profile, "llvm-text", NULL);
    equal_text((char *)out.data,
               "c:9:0\na:5:2\nb:5:1\n 0: 3\n 1: 5 m:9 a:2 z:2\n 1.2: 1\n 2: x:1\n  0: 1\n 2: y:1\n  0: 1\n");
    profconv_profile_free(profile);
    free(out.data);
}

/* The head of the sample's raw form, byte by byte: magic, version, total, max, max head, counts, functions, the first
 * of 16 cutoffs (1% of 1907 is 19: one count of 700), the name table. */
static void test_binary_bytes(void **state) {
    (void)state;
    static const uint8_t head[] = {0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0xf3, 0x0e,
                                   0xbc, 0x05, 0x90, 0x03, 0x06, 0x02, 0x10, 0x90, 0x4e, 0xbc, 0x05, 0x01};
    bytes in = seed("llvm-text/plain.prof");
    profconv_profile *profile = must_read(in, NULL, NULL);
    bytes out = must_write(profile, "llvm-binary", NULL);
    assert_int_equal(out.size, 220);
    assert_memory_equal(out.data, head, sizeof head);
    bytes seed_file = seed("llvm-binary/plain.bin");
    static const char names[] = "\6bar<int (char)>\0baz\0deep.llvm.123\0foo\0inl\0main\0";
    const uint8_t *ours = out.data, *theirs = seed_file.data;
    size_t ours_left = out.size, theirs_left = seed_file.size;
    while (memcmp(ours, names, sizeof names - 1) != 0)
        ours++, ours_left--;
    while (memcmp(theirs, names, sizeof names - 1) != 0)
        theirs++, theirs_left--;
    assert_int_equal(ours_left, theirs_left);
    assert_memory_equal(ours, theirs, ours_left);
    profconv_profile_free(profile);
    free(seed_file.data);
    free(out.data);
    free(in.data);
}

static void test_extbinary_settings(void **state) {
    (void)state;
    static const char *const each[][3] = {
        {NULL, NULL, NULL},
        {"llvm-extbinary.compress=yes", NULL, NULL},
        {"llvm-extbinary.layout=split", NULL, NULL},
        {"llvm-extbinary.layout=split", "llvm-extbinary.compress=yes", NULL},
    };
    bytes in = seed("llvm-extbinary/symbols.ext");
    profconv_profile *profile = must_read(in, NULL, NULL);
    assert_int_equal(profconv_profile_rows(profile, PROFCONV_TABLE_SYMBOL), 2);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        bytes out = must_write(profile, "llvm-extbinary", each[i]);
        profconv_profile *back = must_read(out, NULL, NULL);
        bytes text = must_write(back, "llvm-text", NULL);
        equal_text((char *)text.data, PLAIN);
        assert_int_equal(profconv_profile_info(back)->source_flags, PROFCONV_SOURCES_PARTIAL | PROFCONV_SOURCES_FS);
        assert_int_equal(profconv_profile_rows(back, PROFCONV_TABLE_SYMBOL), 2);
        assert_string_equal(profconv_profile_string(back, profconv_profile_symbol(back, 0)).data, "cold_one");
        assert_string_equal(profconv_profile_string(back, profconv_profile_symbol(back, 1)).data, "main");
        profconv_profile_free(back);
        free(text.data);
        free(out.data);
    }
    profconv_profile_free(profile);
    free(in.data);
}

static void test_notes(void **state) {
    (void)state;
    bytes in = seed("llvm-extbinary/symbols.ext"), out;
    profconv_profile *profile = must_read(in, NULL, NULL);
    profconv_report *report = NULL;
    profconv_error error;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(write_as(profile, "llvm-binary", NULL, report, &out, &error), PROFCONV_OK);
    assert_int_equal(find_note(report, "symbol-list").kind, PROFCONV_NOTE_LOST);
    assert_int_equal(find_note(report, "symbol-list").count, 2);
    assert_int_equal(find_note(report, "profile-flags").kind, PROFCONV_NOTE_LOST);
    profconv_report_free(report);
    profconv_profile_free(profile);
    free(out.data);
    free(in.data);
    in = seed("llvm-extbinary/unknown.ext");
    profile = must_read(in, NULL, NULL);
    assert_int_equal(find_note(profconv_profile_report(profile), "unknown-section").count, 1);
    profconv_profile_free(profile);
    free(in.data);
    in = seed("llvm-extbinary/vtables.ext");
    profile = must_read(in, NULL, NULL);
    assert_int_equal(find_note(profconv_profile_report(profile), "vtables").count, 1);
    profconv_profile_free(profile);
    free(in.data);
}

/* Functions whose line would be a comment, a line of the function before or a context are left out and counted. */
static void test_names_that_begin_lines(void **state) {
    (void)state;
    static const char *const names[] = {"#if", " main", "[a]", "ok", "a #"};
    profconv_builder *b = NULL;
    profconv_profile *profile = NULL;
    profconv_report *report = NULL;
    profconv_error error;
    bytes out;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), PROFCONV_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        profconv_source row = {0};
        row.name = profconv_builder_cstring(b, names[i]);
        row.total = 10 - i;
        row.head = 1;
        profconv_builder_source(b, &row);
    }
    assert_int_equal(profconv_builder_freeze(b, &profile, &error), PROFCONV_OK);
    profconv_builder_free(b);
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(write_as(profile, "llvm-text", NULL, report, &out, &error), PROFCONV_OK);
    equal_text((char *)out.data, "ok:7:1\na #:6:1\n");
    assert_int_equal(find_note(report, "name-start").kind, PROFCONV_NOTE_DROPPED);
    assert_int_equal(find_note(report, "name-start").count, 3);
    profconv_report_free(report);
    profconv_profile_free(profile);
    free(out.data);
    bytes in = seed("llvm-binary/name_like_comment.bin");
    profile = must_read(in, NULL, NULL);
    assert_int_equal(write_as(profile, "llvm-text", NULL, NULL, &out, &error), PROFCONV_E_EMPTY);
    assert_non_null(strstr(error.message, "'#'"));
    profconv_profile_free(profile);
    free(in.data);
}

static void test_refused(void **state) {
    (void)state;
    refused("llvm-text/bad_header.prof", "llvm-text", PROFCONV_E_FORMAT, "line 1");
    refused("llvm-text/bad_head_number.prof", "llvm-text", PROFCONV_E_FORMAT, "line 1");
    refused("llvm-text/bad_overflow.prof", "llvm-text", PROFCONV_E_FORMAT, "line 1");
    refused("llvm-text/bad_first.prof", "llvm-text", PROFCONV_E_FORMAT, "line 1");
    refused("llvm-text/bad_context.prof", "llvm-text", PROFCONV_E_FORMAT, "line 1");
    refused("llvm-text/bad_offset.prof", "llvm-text", PROFCONV_E_FORMAT, "line 2");
    refused("llvm-text/bad_discriminator.prof", "llvm-text", PROFCONV_E_FORMAT, "line 2");
    refused("llvm-text/bad_count.prof", "llvm-text", PROFCONV_E_FORMAT, "line 2");
    refused("llvm-text/bad_negative.prof", "llvm-text", PROFCONV_E_FORMAT, "line 2");
    refused("llvm-text/bad_target.prof", "llvm-text", PROFCONV_E_FORMAT, "line 2");
    refused("llvm-text/bad_tab.prof", "llvm-text", PROFCONV_E_FORMAT, "line 2");
    refused("llvm-text/bad_metadata_order.prof", "llvm-text", PROFCONV_E_FORMAT, "line 3");
    refused("llvm-text/bad_metadata.prof", "llvm-text", PROFCONV_E_FORMAT, "line 3");
    refused("llvm-binary/bad_version.bin", "llvm-binary", PROFCONV_E_UNSUPPORTED, "offset 0x9");
    refused("llvm-binary/bad_name.bin", "llvm-binary", PROFCONV_E_FORMAT, "offset 0x");
    refused("llvm-binary/bad_cut.bin", "llvm-binary", PROFCONV_E_FORMAT, "offset 0x");
    refused("llvm-binary/bad_line.bin", "llvm-binary", PROFCONV_E_FORMAT, "65536");
    refused("llvm-compact/bad_table.compact", "llvm-compact", PROFCONV_E_FORMAT, "offset 0x");
    refused("llvm-extbinary/bad_section.ext", "llvm-extbinary", PROFCONV_E_FORMAT, "outside the file");
    refused("llvm-extbinary/bad_count.ext", "llvm-extbinary", PROFCONV_E_FORMAT, "offset 0x12");
    refused("llvm-extbinary/bad_rest.ext", "llvm-extbinary", PROFCONV_E_FORMAT, "left over");
    refused("llvm-extbinary/bad_zlib.ext", "llvm-extbinary", PROFCONV_E_FORMAT, "corrupt");
    refused("llvm-extbinary/bad_bomb.ext", "llvm-extbinary", PROFCONV_E_LIMIT, "max_inflated");
    refused("llvm-extbinary/bad_fixed.ext", "llvm-extbinary", PROFCONV_E_FORMAT, "fixed-length");
    refused("llvm-extbinary/only_unknown.ext", "llvm-extbinary", PROFCONV_E_UNSUPPORTED, "type 33");
}

/* Every cut of a binary file is refused or, at the end of a record, read in part; nothing crashes. */
static void test_cuts(void **state) {
    (void)state;
    static const char *const names[][2] = {{"llvm-binary/plain.bin", "llvm-binary"},
                                           {"llvm-extbinary/compressed.ext", "llvm-extbinary"},
                                           {"llvm-extbinary/context.ext", "llvm-extbinary"},
                                           {"llvm-compact/plain.compact", "llvm-compact"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bytes in = seed(names[i][0]);
        size_t refusals = 0;
        for (size_t size = 0; size < in.size; size++) {
            profconv_profile *profile = NULL;
            profconv_error error;
            uint8_t *exact = malloc(size ? size : 1);
            memcpy(exact, in.data, size);
            if (read_as(exact, size, names[i][1], NULL, &profile, &error) != PROFCONV_OK) {
                assert_true(error.message[0] != '\0');
                refusals++;
            }
            profconv_profile_free(profile);
            free(exact);
        }
        assert_true(refusals + 3 >= in.size / 2);
        free(in.data);
    }
}

/* The longest line is eight times max_string, also where that is more than an address can say. */
static void test_longest_line(void **state) {
    (void)state;
    profconv_convert_options options = {0};
    profconv_limits limits = {0};
    profconv_registry *registry = NULL;
    profconv_input *input = NULL;
    profconv_profile *profile = NULL;
    profconv_error error = {0};
    options.struct_size = sizeof options;
    options.from = "llvm-text";
    options.limits = &limits;
    limits.struct_size = sizeof limits;
    limits.max_string = UINT32_C(1) << 29;
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_input_open_memory(&input, "foo:400:400\n 1: 400\n", 20, NULL, NULL), PROFCONV_OK);
    if (profconv_read(registry, input, &options, &profile, &error))
        fail_msg("%s", error.message);
    assert_int_equal(profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE), 2);
    profconv_profile_free(profile);
    profconv_input_free(input);
    profconv_registry_free(registry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_md5),
        cmocka_unit_test(test_cutoffs),
        cmocka_unit_test(test_all_encodings_read_alike),
        cmocka_unit_test(test_hashed_names),
        cmocka_unit_test(test_hashing_names),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_nested_metadata),
        cmocka_unit_test(test_text_rules),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_binary_bytes),
        cmocka_unit_test(test_extbinary_settings),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_names_that_begin_lines),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_longest_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
