/* SPDX-License-Identifier: MIT
 *
 * Writing collapsed stacks: names, first frames, marks, the choice of the number, the order of lines, and failures.
 */
#include "tests/formats/collapsed_help.h"

#include <unistd.h>

/* A profile in the making, with one line a call. */
typedef struct maker {
    profconv_builder *b;
    profconv_id kernel, program, jit, library;
} maker;

static profconv_id mapping(profconv_builder *b, const char *file, uint32_t kind) {
    profconv_mapping row = {0};
    row.file = profconv_builder_cstring(b, file);
    row.kind = kind;
    row.limit = UINT64_MAX;
    return profconv_builder_mapping(b, &row);
}

static maker make(void) {
    maker m = {0};
    assert_int_equal(profconv_builder_new(&m.b, NULL, NULL, NULL), 0);
    m.kernel = mapping(m.b, "[kernel.kallsyms]", PROFCONV_MAPPING_KERNEL);
    m.program = mapping(m.b, "/usr/bin/prog", PROFCONV_MAPPING_EXECUTABLE);
    m.jit = mapping(m.b, "/tmp/perf-12.map", PROFCONV_MAPPING_JIT);
    m.library = mapping(m.b, "/usr/lib/libc.so.6", PROFCONV_MAPPING_UNKNOWN);
    return m;
}

static uint32_t type(maker *m, const char *name, const char *unit, const char *event, uint32_t role) {
    profconv_sample_type row = {0};
    row.name = profconv_builder_cstring(m->b, name);
    row.unit = profconv_builder_cstring(m->b, unit);
    row.event = profconv_builder_cstring(m->b, event);
    row.role = role;
    return profconv_builder_sample_type(m->b, &row);
}

static profconv_line line_of(maker *m, const char *name, const char *file, int64_t number) {
    profconv_function f = {0};
    f.name = profconv_builder_cstring(m->b, name);
    f.linkage_name = f.name;
    f.file = profconv_builder_cstring(m->b, file);
    profconv_line line = {number, 0, profconv_builder_function(m->b, &f), 0};
    return line;
}

/* A frame at an address; names innermost first, '|' between them; NULL: no name. */
static profconv_id frame(maker *m, profconv_id in, uint64_t address, const char *names) {
    profconv_location row = {0};
    profconv_line lines[8];
    uint32_t count = 0;
    row.mapping = in;
    row.address = address;
    while (names) {
        char name[200];
        size_t n = strcspn(names, "|");
        memcpy(name, names, n);
        name[n] = '\0';
        lines[count] = line_of(m, name, count ? "/src/outer.c" : "/src/inner.c", (int64_t)(10 * (count + 1)));
        count++;
        names = names[n] ? names + n + 1 : NULL;
    }
    return profconv_builder_location(m->b, &row, lines, count);
}

static profconv_id stack(maker *m, size_t count, const profconv_id *frames) {
    profconv_id id = 0;
    for (size_t i = 0; i < count; i++)
        id = profconv_builder_stack(m->b, id, frames[i]);
    return id;
}

static profconv_id labels(maker *m, const char *thread, int64_t pid, int64_t tid) {
    profconv_id ids[3];
    uint32_t count = 0;
    profconv_label row = {0};
    if (thread) {
        row.key = profconv_builder_cstring(m->b, "thread");
        row.string = profconv_builder_cstring(m->b, thread);
        ids[count++] = profconv_builder_label(m->b, &row);
    }
    row.string = 0;
    row.numeric = 1;
    for (int i = 0; i < 2; i++) {
        row.key = profconv_builder_cstring(m->b, i ? "tid" : "pid");
        row.number = i ? tid : pid;
        if (row.number >= 0)
            ids[count++] = profconv_builder_label(m->b, &row);
    }
    return profconv_builder_label_set(m->b, ids, count);
}

static profconv_profile *done(maker *m) {
    profconv_profile *profile = NULL;
    profconv_error error;
    if (profconv_builder_freeze(m->b, &profile, &error))
        fail_msg("%s", error.message);
    profconv_builder_free(m->b);
    return profile;
}

static void expect(const profconv_profile *profile, const char *settings, const char *expected) {
    profconv_error error = {0};
    char *text = write_text(profile, settings, NULL, NULL, &error);
    if (!text)
        fail_msg("%s: %s", settings ? settings : "", error.message);
    if (strcmp(text, expected) != 0)
        fail_msg("%s:\n%s\nexpected:\n%s", settings ? settings : "", text, expected);
    free(text);
}

static profconv_profile *sample_profile(void) {
    maker m = make();
    type(&m, "samples", "count", "cycles:u", PROFCONV_ROLE_COUNT);
    type(&m, "cycles", "count", "cycles:u", PROFCONV_ROLE_WEIGHT);
    profconv_id main_frame = frame(&m, m.program, 0x1000, "main(int, char**)");
    profconv_id inlined = frame(&m, m.program, 0x1234, "tiny<int>|f.constprop.0");
    profconv_id unnamed = frame(&m, m.library, 0xabc, NULL);
    profconv_id system_call = frame(&m, m.kernel, 0xffffffff81000000, "do_syscall_64");
    profconv_id no_name = frame(&m, m.kernel, 0xffffffff82000000, NULL);
    profconv_id java = frame(&m, m.jit, 0x7f0010, "Lorg/A;::run->Lorg/B;::go->Lorg/C;::on");
    profconv_id nowhere = frame(&m, 0, 0, NULL);
    int64_t values[2] = {1, 1000};
    profconv_id one = labels(&m, "my prog", 12, 13);
    profconv_id two = labels(&m, "other", 12, -1);
    profconv_id f1[] = {main_frame, inlined, system_call};
    profconv_id f2[] = {main_frame, unnamed, no_name};
    profconv_id f3[] = {java};
    profconv_id f4[] = {nowhere};
    profconv_builder_sample(m.b, stack(&m, 3, f1), one, 0, values, 2);
    profconv_builder_sample(m.b, stack(&m, 3, f1), one, 0, values, 2);
    profconv_builder_sample(m.b, stack(&m, 3, f2), one, 0, values, 2);
    profconv_builder_sample(m.b, stack(&m, 1, f3), two, 0, values, 2);
    profconv_builder_sample(m.b, stack(&m, 1, f4), two, 0, values, 2);
    profconv_builder_sample(m.b, 0, two, 0, values, 2);
    profconv_builder_sample(m.b, stack(&m, 1, f1), 0, 0, values, 2);
    return done(&m);
}

static void test_settings(void **state) {
    (void)state;
    profconv_profile *p = sample_profile();
    expect(p, NULL,
           "main 1000\n"
           "my_prog;main;[libc.so.6];[[kernel.kallsyms]] 1000\n"
           "my_prog;main;f.constprop.0;tiny<int>;do_syscall_64 2000\n"
           "other 1000\n"
           "other;[unknown] 1000\n"
           "other;org/A:::run;org/B:::go_[i];org/C:::on_[i] 1000\n");
    expect(p, "collapsed.root=none collapsed.weight=samples",
           "[unknown] 2\n"
           "main 1\n"
           "main;[libc.so.6];[[kernel.kallsyms]] 1\n"
           "main;f.constprop.0;tiny<int>;do_syscall_64 2\n"
           "org/A:::run;org/B:::go_[i];org/C:::on_[i] 1\n");
    expect(p, "collapsed.pid=yes collapsed.inline=no collapsed.strip-suffixes=yes collapsed.weight=samples",
           "main 1\n"
           "my_prog-12;main;[libc.so.6];[[kernel.kallsyms]] 1\n"
           "my_prog-12;main;f;do_syscall_64 2\n"
           "other-12 1\n"
           "other-12;[unknown] 1\n"
           "other-12;org/A:::run;org/B:::go_[i];org/C:::on_[i] 1\n");
    expect(p,
           "collapsed.tid=yes collapsed.weight=samples collapsed.annotate=k,j collapsed.annotate=i collapsed.addrs=yes",
           "main 1\n"
           "my_prog-12/13;main;[libc.so.6 <abc>];[[kernel.kallsyms] <ffffffff82000000>]_[k] 1\n"
           "my_prog-12/13;main;f.constprop.0;tiny<int>_[i];do_syscall_64_[k] 2\n"
           "other-12/? 1\n"
           "other-12/?;[unknown] 1\n"
           "other-12/?;org/A:::run_[j];org/B:::go_[i];org/C:::on_[i] 1\n");
    expect(p, "collapsed.root=none collapsed.pid=yes collapsed.tidy=none collapsed.weight=samples",
           "[unknown]-12 1\n"
           "[unknown]-12;Lorg/A:::run;Lorg/B:::go_[i];Lorg/C:::on_[i] 1\n"
           "[unknown]-12;[unknown] 1\n"
           "[unknown]-12;main(int, char**);[libc.so.6];[[kernel.kallsyms]] 1\n"
           "[unknown]-12;main(int, char**);f.constprop.0;tiny<int>;do_syscall_64 2\n"
           "main(int, char**) 1\n");
    expect(p, "collapsed.srcline=yes collapsed.tidy=templates collapsed.annotate=all collapsed.weight=cycles",
           "main:inner.c:10 1000\n"
           "my_prog;main:inner.c:10;[libc.so.6];[[kernel.kallsyms]]_[k] 1000\n"
           "my_prog;main:inner.c:10;f.constprop.0:outer.c:20;tiny_[i]:inner.c:10;do_syscall_64_[k]:inner.c:10 2000\n"
           "other 1000\n"
           "other;[unknown] 1000\n"
           "other;org/A:::run_[j]:inner.c:10;org/B:::go_[i]:inner.c:10;org/C:::on_[i]:inner.c:10 1000\n");
    static const char *const bad[] = {"collapsed.annotate=x", "collapsed.weight=bytes", "collapsed.event=instructions",
                                      "collapsed.tidy=some", "collapsed.nothing=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        profconv_error error = {0};
        char *text = write_text(p, bad[i], NULL, NULL, &error);
        assert_null(text);
        assert_int_equal(error.status, PROFCONV_E_INVALID);
        char key[40] = "";
        assert_int_equal(sscanf(bad[i], "collapsed.%39[a-z]", key), 1);
        if (!strstr(error.message, key))
            fail_msg("%s: %s", bad[i], error.message);
    }
    profconv_profile_free(p);
}

static void test_choice(void **state) {
    (void)state;
    maker m = make();
    type(&m, "cycles_samples", "count", "cycles:u", PROFCONV_ROLE_COUNT);
    type(&m, "cycles", "count", "cycles:u", PROFCONV_ROLE_WEIGHT);
    type(&m, "faults_samples", "count", "page-faults", PROFCONV_ROLE_COUNT);
    type(&m, "faults", "count", "page-faults", PROFCONV_ROLE_WEIGHT);
    profconv_id f[] = {frame(&m, m.program, 1, "f")};
    profconv_id g[] = {frame(&m, m.program, 2, "g")};
    int64_t values[2] = {1, 100};
    profconv_builder_sample(m.b, stack(&m, 1, f), 0, 0, values, 2);
    profconv_builder_sample(m.b, stack(&m, 1, g), 0, 2, values, 1);
    values[0] = 50;
    profconv_builder_sample(m.b, stack(&m, 1, g), 0, 3, values, 1);
    profconv_profile *p = done(&m);
    expect(p, NULL, "g 50\n"); /* the default: the last weight */
    expect(p, "collapsed.event=cycles", "f 100\n");
    expect(p, "collapsed.event=cycles:u collapsed.weight=samples", "f 1\n");
    expect(p, "collapsed.event=page-faults collapsed.weight=period", "g 50\n");
    expect(p, "collapsed.weight=samples", "g 1\n");
    expect(p, "collapsed.weight=cycles", "f 100\n");
    expect(p, "collapsed.event=cycles_samples", "f 1\n");

    profconv_report *report = NULL;
    profconv_note note = {0};
    assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
    free(write_text(p, "collapsed.event=cycles", report, NULL, NULL));
    assert_int_equal(note_count(report, "sample-types", &note), 2);
    assert_int_equal(note.kind, PROFCONV_NOTE_LOST);
    assert_non_null(strstr(note.message, "faults_samples, faults"));
    assert_int_equal(note_count(report, "sample-types-of-event", &note), 1);
    assert_int_equal(note_count(report, "no-value", &note), 1);
    profconv_report_free(report);
    profconv_profile_free(p);
}

/* Event names of recordings are bytes: one may hold NUL. */
static void test_event_with_nul(void **state) {
    (void)state;
    maker m = make();
    profconv_sample_type row = {0};
    row.name = profconv_builder_cstring(m.b, "cycles");
    row.unit = profconv_builder_cstring(m.b, "count");
    row.event = profconv_builder_string(m.b, "cyc\0les", 7);
    row.role = PROFCONV_ROLE_WEIGHT;
    profconv_builder_sample_type(m.b, &row);
    profconv_id f[] = {frame(&m, m.program, 1, "f")};
    int64_t value = 3;
    profconv_builder_sample(m.b, stack(&m, 1, f), 0, 0, &value, 1);
    profconv_profile *p = done(&m);
    expect(p, NULL, "f 3\n");
    expect(p, "collapsed.weight=period", "f 3\n");
    profconv_profile_free(p);
}

static void test_merging_and_numbers(void **state) {
    (void)state;
    maker m = make();
    type(&m, "samples", "count", "", PROFCONV_ROLE_COUNT);
    static const struct {
        const char *name;
        int64_t value;
    } rows[] = {{"f(int)", 1}, {"f(char)", 2},   {"Thread 12", 3},  {"Thread_12", 4},
                {"minus", -5}, {"cancel(a)", 7}, {"cancel(b)", -7}, {"big", INT64_MAX},
                {"big()", 1},  {"nothing", 0},   {"# note", 6},   {"#", 8},
                {"minus -5", 9}, {"power 1e3", 10}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        profconv_id f[] = {frame(&m, m.program, 100 + i, rows[i].name)};
        profconv_builder_sample(m.b, stack(&m, 1, f), 0, 0, &rows[i].value, 1);
    }
    /* The same name in the middle of a line keeps its blank. */
    profconv_id pair[] = {frame(&m, m.program, 102, "Thread 12"), frame(&m, m.program, 101, "f(char)")};
    int64_t one = 1;
    profconv_builder_sample(m.b, stack(&m, 2, pair), 0, 0, &one, 1);
    profconv_profile *p = done(&m);
    profconv_report *report = NULL;
    profconv_note note;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
    char *text = write_text(p, NULL, report, NULL, NULL);
    assert_string_equal(text, "#_ 8\n"
                              "#_note 6\n"
                              "Thread 12;f 1\n"
                              "Thread_12 7\n"
                              "big 9223372036854775807\n"
                              "f 3\n"
                              "minus_-5 9\n"
                              "power_1e3 10\n");
    free(text);
    assert_int_equal(note_count(report, "negative-count", &note), 1);
    assert_int_equal(note.kind, PROFCONV_NOTE_DROPPED);
    assert_int_equal(note.weight, -5);
    assert_int_equal(note_count(report, "zero-count", &note), 1);
    assert_int_equal(note_count(report, "no-value", &note), 1);
    assert_int_equal(note_count(report, "saturated", &note), 1);
    profconv_report_free(report);
    profconv_profile_free(p);
}

static void test_nothing_to_write(void **state) {
    (void)state;
    profconv_error error = {0};
    maker m = make();
    profconv_profile *p = done(&m);
    assert_null(write_text(p, NULL, NULL, NULL, &error));
    assert_int_equal(error.status, PROFCONV_E_EMPTY);
    profconv_profile_free(p);
    m = make();
    type(&m, "samples", "count", "", PROFCONV_ROLE_COUNT);
    int64_t minus = -1;
    profconv_id f[] = {frame(&m, m.program, 1, "f")};
    profconv_builder_sample(m.b, stack(&m, 1, f), 0, 0, &minus, 1);
    p = done(&m);
    assert_null(write_text(p, NULL, NULL, NULL, &error));
    assert_int_equal(error.status, PROFCONV_E_EMPTY);
    assert_non_null(strstr(error.message, "zero or less"));
    profconv_profile_free(p);
}

/* ---- order ---- */

static uint32_t random_number(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static int compare_lines(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Frames that are beginnings of each other, with bytes on both sides of ';' (0x3b): the cases where the order of
 * siblings by name is not that of lines. */
static void test_order(void **state) {
    (void)state;
    static const char *const parts[] = {"a", "b", " (", "<", ":", "!", "~", "\xc3\xa9", "0", "."};
    uint32_t seed = 7;
    for (int round = 0; round < 40; round++) {
        maker m = make();
        type(&m, "samples", "count", "", PROFCONV_ROLE_COUNT);
        profconv_id thread[3] = {0, labels(&m, "a", 1, 1), labels(&m, "a~", 2, 2)};
        int64_t total = 0;
        for (int i = 0; i < 300; i++) {
            profconv_id frames[4];
            size_t depth = 1 + random_number(&seed) % 4;
            for (size_t d = 0; d < depth; d++) {
                char name[64] = "a";
                for (uint32_t k = random_number(&seed) % 4; k > 0; k--)
                    strcat(name, parts[random_number(&seed) % 10]);
                frames[d] = frame(&m, 0, 0, name);
            }
            int64_t value = 1 + (int64_t)(random_number(&seed) % 9);
            total += value;
            profconv_builder_sample(m.b, stack(&m, depth, frames), thread[random_number(&seed) % 3], 0, &value, 1);
        }
        profconv_profile *p = done(&m);
        char *text = write_text(p, NULL, NULL, NULL, NULL);
        assert_non_null(text);
        char *lines[400];
        char *sorted[400];
        size_t count = 0;
        int64_t sum = 0;
        for (char *line = text; *line; count++) {
            char *end = strchr(line, '\n');
            *end = '\0';
            char *blank = strrchr(line, ' ');
            sum += atoll(blank + 1);
            *blank = '\0';
            lines[count] = sorted[count] = line;
            line = end + 1;
        }
        assert_int_equal(sum, total);
        qsort(sorted, count, sizeof *sorted, compare_lines);
        for (size_t i = 0; i < count; i++) {
            assert_ptr_equal(lines[i], sorted[i]);
            assert_true(i == 0 || strcmp(lines[i - 1], lines[i]) != 0);
        }
        free(text);
        profconv_profile_free(p);
    }
}

/* The same by sort(1), on the part before the count. */
static void test_order_by_sort(void **state) {
    (void)state;
    static const char text[] =
        "a 1\na b;x 1\na;x 1\na (b) 1\na (b);c 1\na!;c 1\na<b>;c 1\na;x;y 1\na;x y;z 1\na:b;q 1\n";
    profconv_profile *profile;
    char path[] = "/tmp/profconv-order-XXXXXX";
    char command[300];
    assert_int_equal(read_text(text, sizeof text - 1, NULL, &profile, NULL), 0);
    size_t size;
    char *out = write_text(profile, NULL, NULL, &size, NULL);
    assert_non_null(out);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, out, size), size);
    close(fd);
    snprintf(command, sizeof command, "test $(wc -l <%s) = 10 && sed 's/ [0-9]*$//' %s | LC_ALL=C sort -c", path, path);
    int status = system(command);
    unlink(path);
    assert_int_equal(status, 0);
    free(out);
    profconv_profile_free(profile);
}

/* ---- there and back ---- */

static void test_round_trip(void **state) {
    (void)state;
    static const char *const texts[] = {
        "a;b;c 5\n",
        "comm;f (file.py:3);g (file.py:10) 4\ncomm;f (file.py:3);h 1\n",
        "P1;T0:1;m:f:3 300\n",
        "[[kernel.kallsyms]];x_[k] 1\nprocess 1:\"a b\";thread (0x1): x;std::function<int (int)>::operator()(int) 3\n",
        "a;b 9223372036854775807\n",
        "\xe6\x97\xa5;\xc3\xa9 1\n",
        "809 a;b 2\n",
        "Lorg/A:::run;x+0x12;y.cold;fopen@@GLIBC_2.2.5;z::h0123456789abcdef 1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        profconv_profile *profile;
        profconv_error error;
        if (read_text(texts[i], strlen(texts[i]), NULL, &profile, &error))
            fail_msg("%s", error.message);
        expect(profile, NULL, texts[i]);
        profconv_profile_free(profile);
    }
    /* Annotations are parsed into facts and written again from them. */
    static const char marked[] = "a;b_[i];k_[k] 1\na;c 2\n";
    profconv_profile *profile;
    assert_int_equal(read_text(marked, sizeof marked - 1, "collapsed.annotations=parse", &profile, NULL), 0);
    expect(profile, "collapsed.annotate=k,i", marked);
    expect(profile, NULL, "a;b;k 1\na;c 2\n");
    expect(profile, "collapsed.inline=no", "a;c 2\na;k 1\n");
    profconv_profile_free(profile);
    /* Kept annotations are not doubled. */
    assert_int_equal(read_text(marked, sizeof marked - 1, NULL, &profile, NULL), 0);
    expect(profile, "collapsed.annotate=all", marked);
    profconv_profile_free(profile);
}

/* ---- outputs that fail ---- */

typedef struct sink {
    size_t size, limit;
    int committed, closed;
} sink;

static int sink_write(void *user, const void *data, size_t size) {
    sink *s = (sink *)user;
    (void)data;
    if (s->size + size > s->limit)
        return 28; /* ENOSPC */
    s->size += size;
    return 0;
}

static int sink_close(void *user, int committed) {
    sink *s = (sink *)user;
    s->closed++;
    s->committed = committed;
    return 0;
}

static void test_failing_output(void **state) {
    (void)state;
    maker m = make();
    type(&m, "samples", "count", "", PROFCONV_ROLE_COUNT);
    int64_t one = 1;
    for (int i = 0; i < 20000; i++) {
        char name[40];
        snprintf(name, sizeof name, "a_function_with_a_name_%d", i);
        profconv_id f[] = {frame(&m, 0, 0, name)};
        profconv_builder_sample(m.b, stack(&m, 1, f), 0, 0, &one, 1);
    }
    profconv_profile *p = done(&m);
    profconv_options *options = make_options(NULL);
    for (size_t limit = 0; limit < 900000; limit += 100000) {
        sink s = {0, limit, 0, 0};
        profconv_output_callbacks callbacks = {sizeof callbacks, sink_write, sink_close, &s};
        profconv_output *output = NULL;
        profconv_error error = {0};
        assert_int_equal(profconv_output_open_callbacks(&output, &callbacks, "sink", NULL, NULL), 0);
        int status = pfc_collapsed_writer.write(NULL, p, output, options, NULL, &error);
        if (status == 0)
            status = profconv_output_close(output, &error);
        assert_int_equal(status, limit < 700000 ? PROFCONV_E_CALLBACK : 0);
        assert_int_equal(error.status, status);
        profconv_output_free(output);
        assert_int_equal(s.closed, 1);
        assert_int_equal(s.committed, status == 0);
    }
    profconv_options_free(options);
    profconv_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_event_with_nul),
        cmocka_unit_test(test_merging_and_numbers),
        cmocka_unit_test(test_nothing_to_write),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_by_sort),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_failing_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
