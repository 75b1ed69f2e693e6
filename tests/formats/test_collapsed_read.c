/* SPDX-License-Identifier: MIT
 *
 * Reading folded text: every tolerated variant, what is said about it, and the edge cases of the conformance corpus.
 */
#include "tests/formats/collapsed_help.h"

#include "libprofconv/formats/collapsed/counts.h"

#define TEXT(s) s, sizeof s - 1

typedef struct variant {
    const char *name;
    const char *text;
    size_t size;
    const char *settings;
    const char *expected; /* NULL: PROFCONV_E_FORMAT */
    const char *cause;    /* of a note that must be there, or NULL: no warning at all */
    uint64_t count;
    uint64_t line;
} variant;

static const variant variants[] = {
    {"plain", TEXT("a;b;c 5\na;b 2\n"), NULL, "a|b|c=5 a|b=2", NULL, 0, 0},
    {"equal stacks add up", TEXT("a;b 5\nc 1\na;b 2\n"), NULL, "a|b=7 c=1", NULL, 0, 0},
    {"CRLF", TEXT("a;b 5\r\nc 1\r\n"), NULL, "a|b=5 c=1", NULL, 0, 0},
    {"no final LF", TEXT("a;b 5\nc 1"), NULL, "a|b=5 c=1", NULL, 0, 0},
    {"blank lines", TEXT("\n\n  \na;b 5\n\n\t\nc 1\n\n"), NULL, "a|b=5 c=1", NULL, 0, 0},
    {"BOM",
     TEXT("\xef\xbb\xbf"
          "a;b 5\n"),
     NULL, "a|b=5", NULL, 0, 0},
    {"UTF-16LE",
     TEXT("\xff\xfe"
          "a\0;\0\xac\x20 \0"
          "5\0\n\0"
          "b\0 \0"
          "1\0"),
     NULL, "a|\\xe2\\x82\\xac=5 b=1", NULL, 0, 0},
    {"UTF-16BE, a pair", TEXT("\xfe\xff\0a\0;\xd8\x3d\xde\x00\0 \0007\0\r\0\n"), NULL, "a|\\xf0\\x9f\\x98\\x80=7", NULL,
     0, 0},
    {"UTF-16LE, lone surrogate and odd byte",
     TEXT("\xff\xfe"
          "a\0\x3d\xd8 \0"
          "5\0\n\0x"),
     NULL, "a\\xef\\xbf\\xbd=5", "invalid-utf16", 2, 0},
    {"Austin",
     TEXT("# austin: 3.6.0\n# interval: 100\n# mode: wall\n\nP1;T0:1;m:f:3 300\nP1;T0:1;m:g:4 100\n\n"
          "# duration: 5000\n"),
     NULL, "P1|T0:1|m:f:3=300 P1|T0:1|m:g:4=100", NULL, 0, 0},
    {"Austin triples", TEXT("# mode: full\nP1;T0:2;m:f:3 100,0,-4096\nP1;T0:2;m:f:3 50,1,10\n"), NULL,
     "P1|T0:2|m:f:3=150,1,-4086", NULL, 0, 0},
    {"blanks at both ends", TEXT("  a;b 5\n\ta;c 5 \n"), NULL, "a|b=5 a|c=5", NULL, 0, 0},
    {"TAB and several blanks", TEXT("a;b\t5\na;c  \t 5\n"), NULL, "a|b=5 a|c=5", NULL, 0, 0},
    {"blanks in frames", TEXT("a;operator new(unsigned long); c d 5\n"), NULL, "a|operator new(unsigned long)| c d=5",
     NULL, 0, 0},
    {"leading column", TEXT("809 a;b;c\n3 a b;c\n"), NULL, "a|b|c=809 a b|c=3", NULL, 0, 0},
    {"a leading number is a name where counts follow", TEXT("809 a;b 2\n3 x 4\n"), NULL, "809 a|b=2 3 x=4", NULL, 0, 0},
    {"fractions", TEXT("a 1.5\nb 2.4\nc -1.5\nd 1.\ne 0.50001e1\nf 1e3\n"), NULL, "a=2 b=2 c=-1 d=1 e=5 f=1000",
     "rounded-count", 4, 1},
    {"negative", TEXT("a;b -3\nc +3\n"), NULL, "a|b=-3 c=3", NULL, 0, 0},
    {"header", TEXT("samples/count cpu/nanoseconds\na;b 2 100\nc 1 50\n"), NULL, "a|b=2,100 c=1,50", NULL, 0, 0},
    {"two columns", TEXT("a;b 10 7\na 0 3\n"), NULL, "a|b=10,7 a=0,3", NULL, 0, 0},
    {"one line without makes it one column", TEXT("a;b 10 7\na 3\n"), NULL, "a|b 10=7 a=3", NULL, 0, 0},
    {"two columns refused", TEXT("a;b 10 7\n"), "collapsed.columns=one", "a|b 10=7", NULL, 0, 0},
    {"two columns asked for", TEXT("a;b 10 7\nc 3\n"), "collapsed.columns=two", "a|b=10,7", "unreadable-line", 1, 2},
    {"no counts", TEXT("a;b\na;c\na;b\n"), NULL, "a|b=2 a|c=1", "no-counts", 3, 0},
    {"no counts asked for", TEXT("a;b 3\na;c x\n"), "collapsed.columns=none", "a|c x=1", "unreadable-line", 1, 1},
    {"leading asked for", TEXT("1 a;b 3\n2 c 4\n"), "collapsed.columns=leading", "a|b 3=1 c 4=2", NULL, 0, 0},
    {"empty frames", TEXT("a;;b 5\n;a;b 2\na;b; 1\na; ;b 1\n"), NULL, "a|b=9", "empty-frame", 4, 1},
    {"empty frames that lines share", TEXT("a;;b;c 5\na;;b;d 5\na;;b;e 5\n"), NULL, "a|b|c=5 a|b|d=5 a|b|e=5",
     "empty-frame", 3, 1},
    {"empty frames kept", TEXT("a;;b 5\n;a 2\n"), "collapsed.empty-frames=keep", "a|[unknown]|b=5 [unknown]|a=2",
     "empty-frame-kept", 2, 1},
    {"NUL", TEXT("a;b\0c 5\n"), NULL, "a|b\\x00c=5", NULL, 0, 0},
    {"invalid bytes", TEXT("a;f\xff\xfe;c 5\n"), NULL, "a|f\\xff\\xfe|c=5", "invalid-utf8", 1, 1},
    {"2^64 - 1", TEXT("a 18446744073709551615\n"), NULL, "a=9223372036854775807", "saturated-count", 1, 1},
    {"past 2^64", TEXT("b 1\na 98446744073709551616\n"), NULL, "b=1 a=9223372036854775807", "saturated-count", 1, 2},
    {"2^63 - 1", TEXT("a 9223372036854775807\n"), NULL, "a=9223372036854775807", NULL, 0, 0},
    {"unreadable lines are skipped", TEXT("a 1\nno count\nb 0x10\nc 1,000\nd 2\n"), NULL, "a=1 d=2", "unreadable-line",
     3, 2},
    {"a count alone", TEXT("a 1\n 5\n7\n"), NULL, "a=1", "no-frames", 2, 2},
    {"nothing but empty frames", TEXT("a 1\n;; 5\n"), NULL, "a=1", "no-frames", 1, 2},
    {"nothing readable", TEXT("a 0x1\nb 0x2\n"), NULL, NULL, NULL, 0, 0},
    {"only a count", TEXT("5\n"), NULL, NULL, NULL, 0, 0},
    {"empty", TEXT(""), NULL, NULL, NULL, 0, 0},
    {"only metadata", TEXT("# mode: wall\n\n"), NULL, NULL, NULL, 0, 0},
    {"header alone", TEXT("samples/count cpu/nanoseconds\n"), NULL, NULL, NULL, 0, 0},
    {"a comment with ';' is a stack", TEXT("# a;b 5\n"), NULL, "# a|b=5", NULL, 0, 0},
    {"annotations kept", TEXT("a;b_[i];k_[k];j_[j] 5\n"), NULL, "a|b_[i]|k_[k]*|j_[j]=5", NULL, 0, 0},
    {"annotations parsed", TEXT("a;b_[i];c_[i];k_[k] 5\na;b_[i];k_[k] 1\na;x_[i];j_[j] 2\na;d 3\nq_[i];r 1\n"),
     "collapsed.annotations=parse", "a^b^c|k*=5 a^b|k*=1 a^x|j_[j]=2 a|d=3 q|r=1", NULL, 0, 0},
};

static void test_variants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant *v = &variants[i];
        char text[1000];
        profconv_profile *profile;
        profconv_error error;
        int status = read_text(v->text, v->size, v->settings, &profile, &error);
        if (!v->expected) {
            if (status != PROFCONV_E_FORMAT)
                fail_msg("%s: status %d", v->name, status);
            continue;
        }
        if (status)
            fail_msg("%s: %s", v->name, error.message);
        describe(profile, text, sizeof text);
        if (strcmp(text, v->expected) != 0)
            fail_msg("%s:\n%s\n%s expected", v->name, text, v->expected);
        const profconv_report *report = profconv_profile_report(profile);
        profconv_note note = {0};
        if (v->cause && (note_count(report, v->cause, &note) != v->count || note.line != v->line))
            fail_msg("%s: %s: %llu times from line %llu", v->name, v->cause, (unsigned long long)note.count,
                     (unsigned long long)note.line);
        for (size_t n = 0; !v->cause && n < profconv_report_count(report); n++) {
            profconv_report_get(report, n, &note);
            if (note.kind != PROFCONV_NOTE_INFO)
                fail_msg("%s: %s", v->name, note.message);
        }
        profconv_profile_free(profile);
    }
}

/* What is counted, in the words of the file. */
static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *text, *settings, *name, *unit;
    } cases[] = {
        {"a 1\n", NULL, "samples", "count"},
        {"# mode: cpu\na 1\n", NULL, "cpu", "microseconds"},
        {"# mode: wall\na 1\n", NULL, "wall", "microseconds"},
        {"# mode: memory\na 1\n", NULL, "memory", "bytes"},
        {"# mode: cpu\na 1\n", "collapsed.type=x collapsed.unit=y", "x", "y"},
        {"cpu/nanoseconds\na 1\n", NULL, "cpu", "nanoseconds"},
        {"a 1,2,3\n", NULL, "time", "microseconds"},
        {"a 1 2\n", NULL, "after", "count"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        profconv_profile *profile;
        profconv_error error;
        assert_int_equal(read_text(cases[i].text, strlen(cases[i].text), cases[i].settings, &profile, &error), 0);
        const profconv_sample_type *type =
            profconv_profile_sample_type(profile, profconv_profile_default_sample_type(profile));
        assert_string_equal(profconv_profile_string(profile, type->name).data, cases[i].name);
        assert_string_equal(profconv_profile_string(profile, type->unit).data, cases[i].unit);
        profconv_profile_free(profile);
    }
    profconv_profile *profile;
    static const char austin[] = "# austin: 3.6.0\n# interval: 100\n# mode: wall\na 1\n# duration: 5000\n";
    assert_int_equal(read_text(austin, sizeof austin - 1, NULL, &profile, NULL), 0);
    assert_int_equal(profconv_profile_info(profile)->period, 100);
    assert_int_equal(profconv_profile_info(profile)->duration_ns, 5000000);
    assert_string_equal(profconv_profile_find_attribute(profile, "austin").data, "3.6.0");
    profconv_profile_free(profile);
}

static void test_counts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int kind;
        int64_t value;
        int rounded, saturated;
    } cases[] = {
        {"0", PFC_COUNT_ONE, 0, 0, 0},
        {"000000000000000000000000000012", PFC_COUNT_ONE, 12, 0, 0},
        {"-0.5", PFC_COUNT_ONE, 0, 1, 0},
        {"-0.51", PFC_COUNT_ONE, -1, 1, 0},
        {".5", PFC_COUNT_ONE, 1, 1, 0},
        {"1e-05", PFC_COUNT_ONE, 0, 1, 0},
        {"6e-1", PFC_COUNT_ONE, 1, 1, 0},
        {"1.25e+2", PFC_COUNT_ONE, 125, 0, 0},
        {"1e+16", PFC_COUNT_ONE, 10000000000000000, 0, 0},
        {"1e99999999999", PFC_COUNT_ONE, INT64_MAX, 0, 1},
        {"0e99999999999", PFC_COUNT_ONE, 0, 0, 0},
        {"18446744073709551616", PFC_COUNT_ONE, INT64_MAX, 0, 1},
        {"-99999999999999999999", PFC_COUNT_ONE, -INT64_MAX, 0, 1},
        {"9223372036854775807.5", PFC_COUNT_ONE, INT64_MAX, 1, 1},
        {"999999999999999999", PFC_COUNT_ONE, 999999999999999999, 0, 0},
        {"1,2,3", PFC_COUNT_TRIPLE, 1, 0, 0},
        {"1,2", PFC_COUNT_BAD, 0, 0, 0},
        {"1,2,3,4", PFC_COUNT_BAD, 0, 0, 0},
        {"0xff", PFC_COUNT_BAD, 0, 0, 0},
        {"1.2.3", PFC_COUNT_BAD, 0, 0, 0},
        {"e5", PFC_COUNT_NONE, 0, 0, 0},
        {"1e", PFC_COUNT_NONE, 0, 0, 0},
        {"-", PFC_COUNT_NONE, 0, 0, 0},
        {".", PFC_COUNT_NONE, 0, 0, 0},
        {"", PFC_COUNT_NONE, 0, 0, 0},
        {"3d", PFC_COUNT_NONE, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pfc_count count = {0};
        pfc_count_parse(cases[i].text, strlen(cases[i].text), &count);
        if ((int)count.kind != cases[i].kind || (cases[i].kind >= PFC_COUNT_ONE && count.values[0] != cases[i].value) ||
            (cases[i].kind == PFC_COUNT_ONE &&
             (count.rounded != cases[i].rounded || count.saturated != cases[i].saturated)))
            fail_msg("%s: kind %d, %lld, rounded %d, saturated %d", cases[i].text, (int)count.kind,
                     (long long)count.values[0], count.rounded, count.saturated);
    }
}

/* ---- one byte at a time, and lines of any length ---- */

typedef struct source {
    const char *data;
    size_t size, at, step;
} source;

static int source_read(void *user, void *buffer, size_t size, size_t *got) {
    source *s = (source *)user;
    size_t n = s->size - s->at < s->step ? s->size - s->at : s->step;
    n = n < size ? n : size;
    memcpy(buffer, s->data + s->at, n);
    s->at += n;
    *got = n;
    return 0;
}

static void test_small_reads(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant *v = &variants[i];
        for (size_t step = 1; step < 6; step += 2) {
            source s = {v->text, v->size, 0, step};
            profconv_input_callbacks callbacks = {sizeof callbacks, source_read, NULL, NULL, NULL, &s};
            profconv_input *input = NULL;
            profconv_profile *profile;
            profconv_error error;
            char text[1000];
            assert_int_equal(profconv_input_open_callbacks(&input, &callbacks, "test", NULL, &error), 0);
            int status = read_input(input, v->settings, &profile, &error);
            assert_int_equal(status, v->expected ? 0 : PROFCONV_E_FORMAT);
            if (v->expected) {
                describe(profile, text, sizeof text);
                assert_string_equal(text, v->expected);
            }
            profconv_profile_free(profile);
            profconv_input_free(input);
        }
    }
}

static void test_long_lines(void **state) {
    (void)state;
    /* 3,000 frames of 700 bytes, twice, the second one frame deeper; more than a window. */
    size_t frame = 700;
    size_t frames = 3000;
    char *text = (char *)malloc(2 * frames * (frame + 1) + 100);
    assert_non_null(text);
    size_t at = 0;
    for (int line = 0; line < 2; line++) {
        for (size_t i = 0; i < frames; i++) {
            memset(text + at, 'a' + (int)(i % 26), frame);
            memcpy(text + at, "frame", 5);
            text[at + frame] = ';';
            at += frame + 1;
        }
        at += (size_t)sprintf(text + at, "%s %d\n", line ? "leaf;deeper" : "leaf", line + 1);
    }
    for (int wide = 0; wide < 2; wide++) {
        char *bytes = text;
        size_t size = at;
        if (wide) {
            bytes = (char *)malloc(2 * at + 2);
            assert_non_null(bytes);
            size = 0;
            bytes[size++] = (char)0xff;
            bytes[size++] = (char)0xfe;
            for (size_t i = 0; i < at; i++) {
                bytes[size++] = text[i];
                bytes[size++] = 0;
            }
        }
        source s = {bytes, size, 0, 4093};
        profconv_input_callbacks callbacks = {sizeof callbacks, source_read, NULL, NULL, NULL, &s};
        profconv_input *input = NULL;
        profconv_profile *profile;
        profconv_error error;
        assert_int_equal(profconv_input_open_callbacks(&input, &callbacks, "test", NULL, &error), 0);
        assert_int_equal(read_input(input, NULL, &profile, &error), 0);
        assert_int_equal(profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE), 2);
        assert_int_equal(profconv_profile_rows(profile, PROFCONV_TABLE_STACK), frames + 3);
        assert_int_equal(profconv_profile_total(profile, 0), 3);
        profconv_profile_free(profile);
        profconv_input_free(input);
        if (wide)
            free(bytes);
    }
    free(text);
}

/* ---- detection ---- */

static void test_probe(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        int least, most;
    } cases[] = {
        {TEXT("a;b 5\na;c 3\n"), 70, 100},
        {TEXT("\xef\xbb\xbf# mode: wall\n\na;b 5\r\n"), 70, 100},
        {TEXT("\xff\xfe"
              "a\0;\0b\0 \0"
              "5\0\n\0"),
         70, 100},
        {TEXT("main 5\nmain 6\n"), 10, 40},
        {TEXT("samples/count cpu/nanoseconds\na;b 1 2\n"), 80, 100},
        {TEXT("809 a;b\n3 a;c\n"), 30, 60},
        {TEXT("a;b 1,2,3\n"), 70, 100},
        {TEXT(""), 0, 0},
        {TEXT("\n\n"), 0, 0},
        {TEXT("a;b\na;c\n"), 0, 0},
        {TEXT("prog 12 100.123456:     1 cycles: \n\t   7f00 main+0x1 (/bin/prog)\n"), 0, 0},
        {TEXT("java 19983 cycles:\n\tffff x ([k])\n"), 0, 0},
        {TEXT("main:184019:0\n 4: 534\n 5: 534\n"), 0, 0},
        {TEXT("2\n4005f0-4005f8:12\n"), 0, 0},
        {TEXT("{\"a\": [1, 2, 3]}\n"), 0, 0},
        {TEXT("\x1f\x8b\x08\0\0\0\0\0"), 0, 0},
        {TEXT("PERFILE2\x68\0\0\0\0\0\0\0"), 0, 0},
        {TEXT("The quick brown fox; jumps\nover 3 lazy dogs\n"), 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int sure = pfc_collapsed_reader.probe(NULL, (const uint8_t *)cases[i].text, cases[i].size, 1);
        if (sure < cases[i].least || sure > cases[i].most)
            fail_msg("case %zu (%.20s): %d", i, cases[i].text, sure);
        /* No head may be read past its end; the sanitizers look. */
        for (size_t n = 0; n <= cases[i].size; n++) {
            uint8_t *exact = (uint8_t *)malloc(n ? n : 1);
            assert_non_null(exact);
            memcpy(exact, cases[i].text, n);
            sure = pfc_collapsed_reader.probe(NULL, exact, n, 0);
            assert_in_range(sure, 0, 100);
            free(exact);
        }
    }
}

static void test_limits(void **state) {
    (void)state;
    profconv_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.max_memory = 20000;
    char text[4000];
    size_t at = 0;
    for (int i = 0; i < 300; i++)
        at += (size_t)sprintf(text + at, "f%d;g %d\n", i, i);
    profconv_input *input = NULL;
    profconv_builder *builder = NULL;
    profconv_options *options = make_options(NULL);
    profconv_error error = {0};
    assert_int_equal(profconv_input_open_memory(&input, text, at, NULL, NULL), 0);
    assert_int_equal(profconv_builder_new(&builder, NULL, &limits, NULL), 0);
    assert_int_equal(pfc_collapsed_reader.read(NULL, input, builder, options, &error), PROFCONV_E_LIMIT);
    assert_int_equal(error.status, PROFCONV_E_LIMIT);
    profconv_builder_free(builder);
    profconv_options_free(options);
    profconv_input_free(input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants),    cmocka_unit_test(test_types),      cmocka_unit_test(test_counts),
        cmocka_unit_test(test_small_reads), cmocka_unit_test(test_long_lines), cmocka_unit_test(test_probe),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
