/* SPDX-License-Identifier: MIT
 *
 * The perf-script reader on texts that are written here: headers and their odd names, frames, source lines, inlined
 * frames, records, branch stacks, settings, damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/plugin.h>

#include "libprofconv/formats/perf-script/text.h"

extern const profconv_reader pfc_perf_script_reader;

/* "perf-script.a=b perf-script.c=d" */
static int read_with(const char *text, const char *assignments, profconv_profile **profile, profconv_error *error) {
    profconv_builder *builder = NULL;
    profconv_options *options = NULL;
    profconv_input *input = NULL;
    *profile = NULL;
    assert_int_equal(profconv_options_new(&options, NULL, NULL), 0);
    while (assignments && *assignments) {
        char one[200];
        size_t n = strcspn(assignments, " ");
        assert_true(n < sizeof one);
        memcpy(one, assignments, n);
        one[n] = '\0';
        assert_int_equal(profconv_options_set(options, one, NULL), 0);
        assignments += n + (assignments[n] == ' ');
    }
    assert_int_equal(profconv_builder_new(&builder, NULL, NULL, error), 0);
    assert_int_equal(profconv_input_open_memory(&input, text, strlen(text), NULL, error), 0);
    int status = pfc_perf_script_reader.read(NULL, input, builder, options, error);
    if (status == 0)
        status = profconv_builder_freeze(builder, profile, error);
    if (status == 0)
        assert_int_equal(profconv_profile_check(*profile, error), 0);
    profconv_builder_free(builder);
    profconv_options_free(options);
    profconv_input_free(input);
    return status;
}

static profconv_profile *read_ok(const char *text, const char *assignments) {
    profconv_profile *profile;
    profconv_error error;
    int status = read_with(text, assignments, &profile, &error);
    if (status)
        print_error("%s\n", error.message);
    assert_int_equal(status, 0);
    return profile;
}

static const char *text_of(const profconv_profile *p, profconv_id id) { return profconv_profile_string(p, id).data; }

/* Frames of a sample, root first, with "|" between frames, inlined ones after ">"; "?" without a name. */
static const char *stack_text(const profconv_profile *p, uint32_t sample) {
    static char out[1000];
    profconv_id ids[64];
    size_t n = 0;
    out[0] = '\0';
    for (profconv_id id = profconv_profile_sample_stack(p, sample); id && n < 64;
         id = profconv_profile_stack(p, id)->parent)
        ids[n++] = profconv_profile_stack(p, id)->location;
    while (n-- > 0) {
        const profconv_location *l = profconv_profile_location(p, ids[n]);
        strcat(out, *out ? "|" : "");
        if (l->line_count == 0)
            strcat(out, "?");
        for (uint32_t i = l->line_count; i-- > 0;) {
            strcat(out, text_of(p, profconv_profile_function(p, profconv_profile_line(p, ids[n], i)->function)->name));
            strcat(out, i ? ">" : "");
        }
    }
    return out;
}

static const char *thread_of(const profconv_profile *p, uint32_t sample) {
    const profconv_label *l = profconv_profile_find_label(p, profconv_profile_sample_label_set(p, sample), "thread");
    return l ? text_of(p, l->string) : "";
}

static const profconv_location *leaf_of(const profconv_profile *p, uint32_t sample) {
    return profconv_profile_location(p, profconv_profile_stack(p, profconv_profile_sample_stack(p, sample))->location);
}

static uint64_t note_count(const profconv_profile *p, const char *cause) {
    const profconv_report *report = profconv_profile_report(p);
    profconv_note note;
    for (size_t i = 0; i < profconv_report_count(report); i++)
        if (profconv_report_get(report, i, &note) == 0 && strcmp(note.cause, cause) == 0)
            return note.count;
    return 0;
}

typedef struct header_case {
    const char *line, *comm, *event;
    int64_t pid, tid; /* pid -1: none */
    uint64_t time, period;
} header_case;

static void test_headers(void **state) {
    static const header_case cases[] = {
        {"java 19983 cycles:", "java", "cycles", -1, 19983, 0, 0},
        {"java 19983 [002] 77 cycles:", "java", "cycles", -1, 19983, 0, 77},
        {"a 1690389 290967.693997:     250000 cycles: ", "a", "cycles", -1, 1690389, UINT64_C(290967693997000), 250000},
        {"Compositor 7 4242  100.000001:     250000 cycles: ", "Compositor 7", "cycles", -1, 4242,
         UINT64_C(100000001000), 250000},
        {"x 1/2 3.0 4/5 [006] 7.000000001: 8 L1-dcache-load-misses:u: ", "x 1/2 3.0", "L1-dcache-load-misses:u", 4, 5,
         UINT64_C(7000000001), 8},
        {"   right 12 [000] 1.000000: sched:sched_switch: prev_comm=a prev_pid=1 ==> b:2", "right",
         "sched:sched_switch", -1, 12, UINT64_C(1000000000), 0},
        {":-1 -1/-1 2.500000: 9 cpu/event=0x3c,umask=0x0/u: ", ":-1", "cpu/event=0x3c,umask=0x0/u", -1, -1,
         UINT64_C(2500000000), 9},
        {"VM:99 VCPU:001 qemu 5/6 1.000000: 4 cycles:G: ", "qemu", "cycles:G", 5, 6, UINT64_C(1000000000), 4},
        {"a: b 7 1.000000: 4 cycles: ", "a: b", "cycles", -1, 7, UINT64_C(1000000000), 4},
        {"p 7 [001] K 12:13:14.500 1.000000: 4 cycles: ", "p", "cycles", -1, 7, UINT64_C(1000000000), 4},
        {"p 7 1.000000: ", "p", "", -1, 7, UINT64_C(1000000000), 0},
        {"123/123 1.000000: 4 cycles: ", "", "cycles", 123, 123, UINT64_C(1000000000), 4},
        {"Gecko\t25122 [007] 115539.936601:\t\t1000000 task-clock:u:", "Gecko", "task-clock:u", -1, 25122,
         UINT64_C(115539936601000), 1000000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const header_case *c = &cases[i];
        ps_text line = {c->line, strlen(c->line)};
        ps_header h;
        print_message("%s\n", c->line);
        assert_int_equal(ps_parse_header(line, &h), 1);
        assert_true(ps_text_is(h.comm, c->comm));
        assert_true(ps_text_is(h.event, c->event));
        assert_int_equal(h.tid, c->tid);
        assert_int_equal(h.has_pid, c->pid != -1 || c->tid == -1);
        if (h.has_pid)
            assert_int_equal(h.pid, c->pid);
        assert_int_equal(h.time, c->time);
        assert_int_equal(h.has_period ? h.period : 0, c->period);
    }
    static const char *const none[] = {
        "",
        "WARNING: 3 things",
        "# captured on: Thu Aug 17 14:14:43 2017",
        "17",
        "  tree.h:300",
        "[ perf script: Wrote 0.001 MB perf.data (1 samples) ]",
        " instruction trace error type 1 time 4525.744123981 cpu 0 pid 21595 tid 21595 ip 0 code 8: Lost"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ps_text line = {none[i], strlen(none[i])};
        ps_header h;
        assert_int_equal(ps_parse_header(line, &h), 0);
    }
}

typedef struct frame_case {
    const char *line;
    uint64_t address;
    const char *symbol, *dso;
} frame_case;

static void test_frames(void **state) {
    static const frame_case cases[] = {
        {"\t          401b97 main+0x1f (./tests/x)", 0x401b97, "main", "./tests/x"},
        {"\t ffffffff9c0 [unknown] ([kernel.kallsyms])", 0xffffffff9c0, "", "[kernel.kallsyms]"},
        {"\t 7f00  (/lib/x.so)", 0x7f00, "", "/lib/x.so"}, /* perf 3.x: an empty name */
        {"\t 14 (anonymous namespace)::f(char const*)+0x9 (/opt/my app/x (deleted))", 0x14,
         "(anonymous namespace)::f(char const*)", "/opt/my app/x (deleted)"},
        {"\t 12 operator()(int)", 0x12, "operator()(int)", ""}, /* -F without dso */
        {"\t 4005dc", 0x4005dc, "", ""},
        {"\t 10 _start+0xffff018fd5dce000 (/x)", 0x10, "_start", "/x"},
        {"\t 10 [unknown] ([unknown])", 0x10, "", ""},
        {"\t 10 LazyCompile:*f native fetch.js 12 (/tmp/perf-5.map)", 0x10, "LazyCompile:*f native fetch.js 12",
         "/tmp/perf-5.map"},
        {"\t 55555 main+0x1 (/opt/x+0x1136)", 0x55555, "main", "/opt/x"}, /* dsoff */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ps_text line = {cases[i].line, strlen(cases[i].line)};
        ps_frame f;
        print_message("%s\n", cases[i].line);
        assert_int_equal(ps_parse_frame(line, &f), 1);
        assert_int_equal(f.address, cases[i].address);
        assert_true(ps_text_is(f.symbol, cases[i].symbol));
        assert_true(ps_text_is(f.dso, cases[i].dso));
    }
    static const char *const none[] = {"\tTHIS_IS_A_WEIRD_LINE", "  tree.h:300", "\t 12345678901234567 f (/x)", "",
                                       "\t(x)"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ps_text line = {none[i], strlen(none[i])};
        ps_frame f;
        assert_int_equal(ps_parse_frame(line, &f), 0);
    }
}

static void test_branch_entries(void **state) {
    static const char text[] =
        " 0x10/0x20/P/-/-/7  0x11(/lib/a b.so)/0x21(/x)/M/-/A/0/COND/SPEC_WRONG_PATH 0x12/0x22 bad 0x13/0x23/P";
    ps_text line = {text, sizeof text - 1};
    ps_branch b;
    (void)state;
    size_t at = ps_find_branches(line);
    assert_int_equal(at, 1);
    assert_int_equal(ps_next_branch(line, &at, &b), 1);
    assert_true(b.from == 0x10 && b.to == 0x20 && !b.mispredicted && b.cycles == 7 && !b.wrong_path);
    assert_int_equal(ps_next_branch(line, &at, &b), 1);
    assert_true(b.from == 0x11 && b.to == 0x21 && b.mispredicted && b.cycles == 0 && b.wrong_path);
    assert_int_equal(ps_next_branch(line, &at, &b), 1);
    assert_true(b.from == 0x12 && b.to == 0x22 && !b.mispredicted);
    assert_int_equal(ps_next_branch(line, &at, &b), -1);
    assert_int_equal(ps_next_branch(line, &at, &b), 1);
    assert_int_equal(ps_next_branch(line, &at, &b), 0);
}

/* What is printed of branch stacks beside their addresses: counted as left out, and no frames are made of it. */
static void test_branches_by_name(void **state) {
    static const char named[] =
        /* below a call chain; behind a frame, without a blank; behind a frame without a file */
        "a 5 1.000000: 1 cycles: \n\t 10 f (/x)\n\t 20 main (/x)\n g(int, a/b)+0x5/f+0x0/P/-/-/0  f+0x9/[unknown]/M/X/A/12/COND/-\n"
        "b 5 1.000001: 1 cycles:      5555 f (/x (deleted))main+0x5(/x (deleted))/f+0x0(/x (deleted))/PM/-/-/0 \n"
        "c 5 1.000002: 1 cycles:     55555 fmain+0x5/f+0x0/-/-/-/0 \n";
    static const char code[] = "a 5 1.000000: 1 cycles:      5555 f (/x)\n"
                               "\tmain+12:\n"
                               "\t0000000000005540\tinsn: 72 1d                   \t# PRED 3 cycles [3]\n"
                               "\t0000000000005550\tpush %rbp\n"
                               "a 5 1.000001: 1 cycles: \n\t            5555 f (/x)\n\n";
    (void)state;
    profconv_profile *p = read_ok(named, "");
    assert_string_equal(stack_text(p, 0), "main|f");
    assert_string_equal(stack_text(p, 1), "f");
    assert_string_equal(stack_text(p, 2), "?");
    assert_int_equal(leaf_of(p, 2)->address, 0x55555);
    assert_int_equal(note_count(p, "branch-names"), 3);
    assert_int_equal(note_count(p, "other-lines"), 0);
    assert_int_equal(profconv_profile_facets(p) & PROFCONV_FACET_BRANCHES, 0);
    profconv_profile_free(p);
    p = read_ok(code, "");
    assert_int_equal(profconv_profile_total(p, 0), 2);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++)
        assert_string_equal(stack_text(p, i), "f");
    assert_int_equal(note_count(p, "branch-instructions"), 2);
    assert_int_equal(note_count(p, "other-lines"), 1);
    profconv_profile_free(p);
}

/* As simpleperf's report_sample.py prints it. */
static void test_simpleperf(void **state) {
    (void)state;
    profconv_profile *p = read_ok("app\t29603/29604 [003] 1234.567890:\t\t250000 cpu-cycles:\n"
                                  "    7f8a1b2c\tart::Thread::Run(void*) (/apex/lib/libart.so)\n"
                                  "    7f8a0000\tmain (/system/bin/app_process64)\n\n"
                                  "app thread 2\t29603 [003] 1234.570000:\t\t250001 cpu-cycles:\n"
                                  "ffffffc0101234ab\tel0_svc ([kernel.kallsyms])\n"
                                  "        7f8a1b2c\tstart_thread (/apex/lib64/bionic/libc.so)\n\n",
                                  "");
    assert_string_equal(stack_text(p, 0), "main|art::Thread::Run(void*)");
    assert_string_equal(stack_text(p, 1), "start_thread|el0_svc");
    assert_int_equal(profconv_profile_total(p, 1), 500001);
    assert_int_equal(note_count(p, "other-lines"), 0);
    profconv_profile_free(p);
}

/* Many more lines than a generation keeps, some of them again and again: every line means what it meant the first time. */
static void test_distinct_lines(void **state) {
    enum { SAMPLES = 3000, FRAMES = 8, LINE = 64 };
    char *text = (char *)malloc((size_t)SAMPLES * (FRAMES + 2) * LINE), *at = text;
    (void)state;
    assert_non_null(text);
    for (int i = 0; i < SAMPLES; i++) {
        at += sprintf(at, "a 5 1.%06d: 1 cycles: \n", i);
        for (int k = 0; k < FRAMES - 2; k++)
            at += sprintf(at, "\t %x f%d+0x%x (/x)\n", 0x1000 + i * FRAMES + k, (i + k) % 50, k);
        at += sprintf(at, "\t 20 in (inlined)\n\t 20 loop (/x)\n\t 30 main (/x)\n\n");
    }
    profconv_profile *p = read_ok(text, "");
    assert_int_equal(profconv_profile_total(p, 0), SAMPLES);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        char expected[200] = "main|loop>in";
        for (int k = FRAMES - 3; k >= 0; k--)
            sprintf(expected + strlen(expected), "|f%d", ((int)i + k) % 50);
        assert_string_equal(stack_text(p, i), expected);
        assert_int_equal(leaf_of(p, i)->address, 0x1000 + i * FRAMES);
    }
    /* (none), 6 a sample, "loop" with "in", "main" */
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_LOCATION), 1 + SAMPLES * (FRAMES - 2) + 2);
    profconv_profile_free(p);
    free(text);
}

static void test_addresses(void **state) {
    /* Leaf as it is, callers one byte before; the first user frame below the kernel's is where it was interrupted. */
    static const char text[] = "app 5/5 1.000000: 3 cycles: \n"
                               "\tffffffff81000010 k1 ([kernel.kallsyms])\n"
                               "\tffffffff81000020 k2 ([kernel.kallsyms])\n"
                               "\t    1000 leaf (/opt/app)\n"
                               "\t    2000 main (/opt/app)\n\n";
    static const uint64_t expected[] = {UINT64_C(0xffffffff81000010), UINT64_C(0xffffffff8100001f), 0x1000, 0x1fff};
    (void)state;
    profconv_profile *p = read_ok(text, "");
    assert_string_equal(stack_text(p, 0), "main|leaf|k2|k1");
    size_t n = 0;
    for (profconv_id id = profconv_profile_sample_stack(p, 0); id; id = profconv_profile_stack(p, id)->parent, n++)
        assert_int_equal(profconv_profile_location(p, profconv_profile_stack(p, id)->location)->address, expected[n]);
    assert_int_equal(n, 4);
    assert_int_equal(profconv_profile_mapping(p, leaf_of(p, 0)->mapping)->kind, PROFCONV_MAPPING_KERNEL);
    profconv_profile_free(p);
    p = read_ok(text, "perf-script.kernel=no perf-script.max-stack=1");
    assert_string_equal(stack_text(p, 0), "leaf");
    profconv_profile_free(p);
}

static void test_raw_addresses(void **state) {
    static const char map[] =
        "app 5/5 0.000000: PERF_RECORD_MMAP2 5/5: [0x555555555000(0x1000) @ 0x1000 08:01 11 0]: r-xp /opt/my app\n";
    static const char sample[] = "app 5/5 1.000000: 3 cycles: \n\t555555555136 main (/opt/my app)\n\n";
    char text[400];
    (void)state;
    snprintf(text, sizeof text, "# perf version : 6.8.1\n%s%s", map, sample);
    profconv_profile *p = read_ok(text, "");
    assert_int_equal(leaf_of(p, 0)->address, 0x1136);
    assert_int_equal(profconv_profile_mapping(p, leaf_of(p, 0)->mapping)->start, 0x1000);
    assert_int_equal(profconv_profile_mapping(p, leaf_of(p, 0)->mapping)->file_offset, 0x1000);
    profconv_profile_free(p);
    /* Without the map a run-time address says nothing. */
    p = read_ok(sample, "");
    assert_int_equal(leaf_of(p, 0)->address, 0);
    assert_string_equal(stack_text(p, 0), "main");
    assert_int_equal(note_count(p, "raw-address"), 1);
    profconv_profile_free(p);
    /* A low address in text of perf 6.1 is an offset in the file, in text of perf 6.8 it is not. */
    p = read_ok("# perf version : 6.1.0\napp 5 1.000000: 3 cycles: \n\t1136 main (/opt/x)\n", "");
    assert_int_equal(leaf_of(p, 0)->address, 0x1136);
    profconv_profile_free(p);
    p = read_ok("# perf version : 6.8.0\napp 5 1.000000: 3 cycles: \n\t401136 main (/opt/x)\n", "");
    assert_int_equal(leaf_of(p, 0)->address, 0);
    profconv_profile_free(p);
    p = read_ok("# perf version : 6.8.0\napp 5 1.000000: 3 cycles: \n\t1136 main (/opt/x)\n",
                "perf-script.addresses=relative");
    assert_int_equal(leaf_of(p, 0)->address, 0x1136);
    profconv_profile_free(p);
}

static void test_inlined(void **state) {
    (void)state;
    /* innermost first, the function last */
    profconv_profile *p =
        read_ok("a 5 1.000000: 1 cycles: \n\t 10 in1+0x5 (inlined)\n\t 10 in2+0x5 (inlined)\n\t 10 f+0x5 (/x)\n\t 20 "
                "main (/x)\n\n"
                /* the function first, and once more last */
                "a 5 1.000001: 1 cycles: \n\t 10 ns::f(int)+0x5 (/x)\n\t 10 in1 (inlined)\n\t 10 f (inlined)\n\n"
                /* last tagged one is another function */
                "a 5 1.000002: 1 cycles: \n\t 10 g+0x5 (/x)\n\t 10 in1 (inlined)\n\t 10 in2 (inlined)\n\n"
                /* recursion is no inlining */
                "a 5 1.000003: 1 cycles: \n\t 10 r (/x)\n\t 10 r (/x)\n\n",
                "");
    assert_string_equal(stack_text(p, 0), "main|f>in2>in1");
    assert_string_equal(stack_text(p, 1), "ns::f(int)>in1");
    assert_string_equal(stack_text(p, 2), "g>in2>in1");
    assert_string_equal(stack_text(p, 3), "r|r");
    profconv_profile_free(p);
}

static void test_source_lines(void **state) {
    (void)state;
    profconv_profile *p = read_ok(
        "a 5 1.000000: 1 cycles: \n\t 10 in+0x5\n  in.h:7 (inlined)\n\t 10 f+0x5 (/x)\n  f.c:30 (discriminator 2)\n"
        "\t 20 main (/x)\n  x[20]\n\n",
        "");
    assert_string_equal(stack_text(p, 0), "main|f>in");
    profconv_id leaf = profconv_profile_stack(p, profconv_profile_sample_stack(p, 0))->location;
    const profconv_line *inner = profconv_profile_line(p, leaf, 0), *outer = profconv_profile_line(p, leaf, 1);
    assert_int_equal(inner->line, 7);
    assert_int_equal(outer->line, 30);
    assert_string_equal(text_of(p, profconv_profile_function(p, outer->function)->file), "f.c");
    assert_true(profconv_profile_facets(p) & PROFCONV_FACET_LINES);
    profconv_profile_free(p);
}

static void test_events(void **state) {
    static const char text[] = "# event : name = cycles:u, , id = { 1 }, type = 0, config = 0, { sample_period, "
                               "sample_freq } = 1000, freq = 1\n"
                               "a 5 1.000000: 10 page-faults: \n\t 10 f (/x)\n\n"
                               "a 5 1.000001: 20 cycles:u: \n\t 10 f (/x)\n\n"
                               "a 5 1.500001: 22 cycles:u: \n\t 10 f (/x)\n\n";
    (void)state;
    profconv_profile *p = read_ok(text, "");
    static const char *const names[] = {"cycles_samples", "cycles", "page-faults_samples", "page-faults"};
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE), 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(text_of(p, profconv_profile_sample_type(p, i)->name), names[i]);
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->event), "cycles:u");
    assert_int_equal(profconv_profile_default_sample_type(p), 1);
    assert_int_equal(profconv_profile_total(p, 0), 2);
    assert_int_equal(profconv_profile_total(p, 1), 42);
    assert_int_equal(profconv_profile_total(p, 3), 10);
    assert_int_equal(profconv_profile_info(p)->duration_ns, 500001000);
    profconv_profile_free(p);
    p = read_ok(text, "perf-script.event=cycles");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE), 2);
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 0)->name), "samples");
    assert_int_equal(note_count(p, "filtered"), 1);
    profconv_profile_free(p);
    p = read_ok("a 5 1.000000: 250000 cpu-clock:uhH: \n\t 10 f (/x)\n\n", "");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->name), "cpu");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->unit), "nanoseconds");
    profconv_profile_free(p);
    static const char with_nul[] = "cycles:\0"; /* a NUL is no modifier */
    ps_text nul = {with_nul, sizeof with_nul - 1}, user = {"cycles:u", 8};
    assert_int_equal(ps_event_base(nul), nul.size);
    assert_int_equal(ps_event_base(user), 6);
    p = read_ok("a 5 1.000000: 250000 offcpu-time: \n\t 10 f (/x)\n\n", "");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->name), "offcpu-time");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->unit), "nanoseconds");
    profconv_profile_free(p);
}

static void test_labels_and_filters(void **state) {
    static const char text[] = "one 5/5 [001] 1.000000: 1 cycles: \n\t 10 f (/x)\n\n"
                               "two w 5/6 [002] 2.000000: 2 cycles: \n\t 10 f (/x)\n\n"
                               "three 7/7 [001] 3.000000: 4 cycles: \n\t 10 f (/x)\n";
    static const struct {
        const char *settings;
        int64_t total;
    } cases[] = {{"", 7},
                 {"perf-script.pid=5", 3},
                 {"perf-script.tid=6-9", 6},
                 {"perf-script.cpu=1", 5},
                 {"perf-script.comm=one,three", 5},
                 {"perf-script.time=1.5,", 6},
                 {"perf-script.time=,2", 3},
                 {"perf-script.pid=5 perf-script.cpu=2", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        profconv_profile *p = read_ok(text, cases[i].settings);
        assert_int_equal(profconv_profile_total(p, 1), cases[i].total);
        profconv_profile_free(p);
    }
    profconv_profile *p = read_ok(text, "perf-script.labels=pid,tid,thread,comm,cpu,timestamp");
    profconv_id set = profconv_profile_sample_label_set(p, 1);
    assert_string_equal(thread_of(p, 1), "two w");
    assert_string_equal(text_of(p, profconv_profile_find_label(p, set, "comm")->string), "one");
    assert_int_equal(profconv_profile_find_label(p, set, "pid")->number, 5);
    assert_int_equal(profconv_profile_find_label(p, set, "tid")->number, 6);
    assert_int_equal(profconv_profile_find_label(p, set, "cpu")->number, 2);
    assert_int_equal(profconv_profile_find_label(p, set, "timestamp")->number, 2000000000);
    profconv_profile_free(p);
    profconv_error error;
    assert_int_equal(read_with(text, "perf-script.pid=99", &p, &error), PROFCONV_E_EMPTY);
    assert_int_equal(read_with("a 5 1.000000: 1 cycles: \n\t 10 f (/x)\n", "perf-script.pid=5", &p, &error),
                     PROFCONV_E_EMPTY);
    assert_non_null(strstr(error.message, "-F +pid"));
    assert_int_equal(read_with(text, "perf-script.time=x", &p, &error), PROFCONV_E_INVALID);
    assert_int_equal(read_with(text, "perf-script.labels=x", &p, &error), PROFCONV_E_INVALID);
    assert_int_equal(read_with(text, "perf-script.tid=5-", &p, &error), PROFCONV_E_INVALID);
}

static uint64_t range_count(const profconv_profile *p, uint64_t begin, uint64_t end) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        const profconv_range *row = profconv_profile_range(p, i);
        if (profconv_profile_location(p, row->begin)->address == begin &&
            profconv_profile_location(p, row->end)->address == end)
            sum += row->count;
    }
    return sum;
}

static void test_branches(void **state) {
    static const char map[] = "PERF_RECORD_MMAP2 9/9: [0x400000(0x1000) @ 0 08:01 1 0]: r-xp /opt/prog\n";
    char text[600];
    (void)state;
    /* Newest first: [0x400020, 0x400030] ran between the second's target and the first's source. */
    snprintf(text, sizeof text, "%s%s", map, " 400040  0x400030/0x400010/P/-/-/4  0x400060/0x400020/M/-/-/2\n");
    profconv_profile *p = read_ok(text, "");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_RANGE), 1);
    assert_int_equal(range_count(p, 0x20, 0x30), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_BRANCH), 2);
    uint64_t cycles = 0, mispredicted = 0;
    for (uint32_t i = 0; i < 2; i++) {
        cycles += profconv_profile_branch(p, i)->cycles;
        mispredicted += profconv_profile_branch(p, i)->mispredicted;
    }
    assert_int_equal(cycles, 6);
    assert_int_equal(mispredicted, 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS), 1);
    assert_int_equal(profconv_profile_location(p, profconv_profile_address(p, 0)->location)->address, 0x40);
    profconv_profile_free(p);
    /* counts before samples; a stack of addresses; a damaged run of code */
    snprintf(text, sizeof text, "%s%s", map,
             "17\n\t 400040\n\t 400050\n 0x400030/0x400010 0x400060/0x400020 0x400070/0x400061\n");
    p = read_ok(text, "");
    assert_int_equal(range_count(p, 0x20, 0x30), 17);
    assert_int_equal(note_count(p, "branch-bogus-range"), 1); /* from 0x61 to 0x60 */
    assert_int_equal(profconv_profile_total(p, 0), 17);
    assert_int_equal(leaf_of(p, 0)->address, 0x40);
    profconv_profile_free(p);
    p = read_ok(text, "perf-script.branches=no");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_RANGE), 0);
    profconv_profile_free(p);
    /* Without mmap events: one binary, whose place can be told. */
    p = read_ok(" 400040  0x400030/0x400010/P/-/-/4  0x400060/0x400020/M/-/-/2\n",
                "perf-script.base=0x400000 perf-script.file=/opt/prog");
    assert_int_equal(range_count(p, 0x20, 0x30), 1);
    assert_string_equal(text_of(p, profconv_profile_mapping(p, leaf_of(p, 0)->mapping)->file), "/opt/prog");
    profconv_profile_free(p);
}

static void test_processes(void **state) {
    /* Two processes map different files at one place; a child has its parent's maps until it runs another program. */
    static const char text[] =
        "a 1/1 0.000000: PERF_RECORD_MMAP2 1/1: [0x400000(0x1000) @ 0 08:01 1 0]: r-xp /opt/a\n"
        "b 2/2 0.000000: PERF_RECORD_MMAP2 2/2: [0x400000(0x1000) @ 0x2000 08:01 1 0]: r-xp /opt/b\n"
        "a 1/1 0.500000: PERF_RECORD_FORK(3:3):(1:1)\n"
        "a 1/1 1.000000: 1 cycles: 400010 \n"
        "b 2/2 1.000000: 1 cycles: 400010 \n"
        "a 3/3 1.000000: 1 cycles: 400010 \n"
        "a 3/3 1.500000: PERF_RECORD_COMM exec: c d:3/3\n"
        "c d 3/3 2.000000: 1 cycles: 400010 \n";
    static const char *const files[] = {"/opt/a", "/opt/b", ""};
    static const int64_t counts[] = {2, 1, 1};
    (void)state;
    profconv_profile *p = read_ok(text, "perf-script.labels=none");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(text_of(p, profconv_profile_mapping(p, leaf_of(p, i)->mapping)->file), files[i]);
        assert_int_equal(profconv_profile_sample_value(p, i, 0), counts[i]);
    }
    assert_int_equal(leaf_of(p, 0)->address, 0x10);
    assert_int_equal(leaf_of(p, 1)->address, 0x2010);
    profconv_profile_free(p);
}

static void test_damage(void **state) {
    profconv_profile *p;
    profconv_error error;
    (void)state;
    assert_int_equal(read_with("nothing here\n", "", &p, &error), PROFCONV_E_FORMAT);
    assert_int_equal(error.line, 1);
    assert_int_equal(read_with("", "", &p, &error), PROFCONV_E_FORMAT);
    /* frames after the sample's end belong to none */
    p = read_ok("a 5 1.000000: 1 cycles: \n\n\t 10 f (/x)\n\na 5 2.000000: 1 cycles: \n\t 20 g (/x)\n?!\n", "");
    assert_int_equal(note_count(p, "no-header"), 1);
    assert_int_equal(note_count(p, "no-frames"), 1);
    assert_int_equal(note_count(p, "other-lines"), 1);
    assert_int_equal(profconv_profile_total(p, 0), 2);
    profconv_profile_free(p);
    p = read_ok("a 5 1.0: PERF_RECORD_MMAP2 5/5: [0x40\na 5 1.000000: 1 cycles: \n\t 10 f (/x)\n", "");
    assert_int_equal(note_count(p, "bad-record"), 1);
    profconv_profile_free(p);
}

static void test_probe(void **state) {
    static const char *const yes[] = {
        "a 5 1.000000: 1 cycles: \n\t 10 f (/x)\n", "# captured on: x\n# perf version : 6.1\n",
        "PERF_RECORD_MMAP2 9/9: [0x400000(0x1000) @ 0 08:01 1 0]: r-xp /opt/prog\n",
        "17\n\t 400040\n 0x400030/0x400010 0x400060/0x400020\n", "java 1 cycles:\n\t 10 f (/x)\n"};
    static const char *const no[] = {"a;b;c 5\n",
                                     "main;f 12\nmain;g 1: 2: 3\n",
                                     "",
                                     "goroutine 1 [running]:\nmain.f()\n\t/x.go:1 +0x1\n",
                                     "1: 2\n",
                                     "{\"a\": 1}\n",
                                     "heap profile: 1: 2 [3: 4] @ x\n"};
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(pfc_perf_script_reader.probe(NULL, (const uint8_t *)yes[i], strlen(yes[i]), 1) >= 70);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_int_equal(pfc_perf_script_reader.probe(NULL, (const uint8_t *)no[i], strlen(no[i]), 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_branch_entries),
        cmocka_unit_test(test_branches_by_name),
        cmocka_unit_test(test_simpleperf),
        cmocka_unit_test(test_distinct_lines),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_raw_addresses),
        cmocka_unit_test(test_inlined),
        cmocka_unit_test(test_source_lines),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_labels_and_filters),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
