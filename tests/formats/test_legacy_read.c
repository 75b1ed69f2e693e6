/* SPDX-License-Identifier: MIT
 *
 * gperftools' CPU profiles in all word sizes and byte orders, and profiles as text, made here byte by byte.
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

extern const profconv_reader pfc_gperftools_reader;
extern const profconv_reader pfc_pprof_text_reader;

static int read_bytes(const profconv_reader *reader, const void *data, size_t size, profconv_profile **profile,
                      profconv_error *error) {
    profconv_builder *builder = NULL;
    profconv_input *input = NULL;
    *profile = NULL;
    assert_int_equal(profconv_builder_new(&builder, NULL, NULL, error), 0);
    assert_int_equal(profconv_input_open_memory(&input, data, size, NULL, error), 0);
    int status = reader->read(NULL, input, builder, NULL, error);
    if (status == 0)
        status = profconv_builder_freeze(builder, profile, error);
    if (status == 0)
        assert_int_equal(profconv_profile_check(*profile, error), 0);
    profconv_builder_free(builder);
    profconv_input_free(input);
    return status;
}

static profconv_profile *read_text(const char *text) {
    profconv_profile *p;
    profconv_error error;
    int status = read_bytes(&pfc_pprof_text_reader, text, strlen(text), &p, &error);
    if (status)
        print_error("%s\n", error.message);
    assert_int_equal(status, 0);
    return p;
}

static const char *text_of(const profconv_profile *p, profconv_id id) { return profconv_profile_string(p, id).data; }

/* Addresses of a sample's stack, leaf first. */
static const char *addresses(const profconv_profile *p, uint32_t sample) {
    static char out[300];
    out[0] = '\0';
    for (profconv_id id = profconv_profile_sample_stack(p, sample); id; id = profconv_profile_stack(p, id)->parent) {
        size_t n = strlen(out);
        snprintf(out + n, sizeof out - n, "%s%llx", n ? " " : "",
                 (unsigned long long)profconv_profile_location(p, profconv_profile_stack(p, id)->location)->address);
    }
    return out;
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

/* ---- CPU profiles ---- */

typedef struct bytes {
    uint8_t data[8192];
    size_t size;
    int wide, big;
} bytes;

static void word(bytes *b, uint64_t value) {
    int n = b->wide ? 8 : 4;
    for (int i = 0; i < n; i++)
        b->data[b->size++] = (uint8_t)(value >> 8 * (b->big ? n - 1 - i : i));
}

static void words(bytes *b, size_t count, const uint64_t *values) {
    for (size_t i = 0; i < count; i++)
        word(b, values[i]);
}

static const uint64_t header[] = {0, 3, 0, 10000, 0};
static const uint64_t records[] = {3, 3, 0x401000, 0x402001, 0x403001, 2, 2, 0x401500, 0x404001, 1, 1, 0x401000};
static const uint64_t trailer[] = {0, 1, 0};
static const char map[] = "build=/opt/app\n00401000-00500000 r-xp 00001000 08:01 5   $build\n"
                          "00600000-00700000 rw-p 00000000 08:01 5   /data\n";

static void test_encodings(void **state) {
    profconv_error error;
    (void)state;
    for (int form = 0; form < 4; form++) {
        bytes b = {{0}, 0, form & 1, form >> 1};
        words(&b, 5, header);
        words(&b, 12, records);
        words(&b, 3, trailer);
        memcpy(b.data + b.size, map, sizeof map - 1);
        b.size += sizeof map - 1;
        assert_true(pfc_gperftools_reader.probe(NULL, b.data, b.size, 1) >= 80);
        profconv_profile *p;
        assert_int_equal(read_bytes(&pfc_gperftools_reader, b.data, b.size, &p, &error), 0);
        assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 3);
        assert_string_equal(addresses(p, 0), "401000 402000 403000");
        assert_string_equal(addresses(p, 1), "401500 404000");
        assert_int_equal(profconv_profile_total(p, 0), 6);
        assert_int_equal(profconv_profile_total(p, 1), INT64_C(60000000));
        assert_int_equal(profconv_profile_info(p)->period, 10000000);
        const profconv_mapping *m = profconv_profile_mapping(p, leaf_of(p, 0)->mapping);
        assert_string_equal(text_of(p, m->file), "/opt/app");
        assert_true(m->start == 0x400000 && m->limit == 0x500000 && m->file_offset == 0);
        assert_true(m->flags & PROFCONV_MAPPING_MAIN);
        profconv_profile_free(p);
        /* Cut inside the last record: the others are there. */
        size_t cut = (b.wide ? 8u : 4u) * (5 + 11);
        assert_int_equal(read_bytes(&pfc_gperftools_reader, b.data, cut, &p, &error), 0);
        assert_int_equal(profconv_profile_total(p, 0), 5);
        assert_int_equal(note_count(p, "truncated"), 1);
        profconv_profile_free(p);
    }
}

static void test_signal_frames(void **state) {
    bytes b = {{0}, 0, 1, 0};
    profconv_profile *p;
    profconv_error error;
    (void)state;
    words(&b, 5, header);
    /* 64 records with the handler's frame behind the leaf, two of them without it: one in 32 may differ. */
    for (uint64_t i = 0; i < 64; i++) {
        const uint64_t row[] = {1, 3, 0x1000 + i * 16, i < 2 ? 0x5001 + i * 16 : 0x9999, 0x2001 + i * 16};
        words(&b, 5, row);
    }
    words(&b, 3, trailer);
    assert_int_equal(read_bytes(&pfc_gperftools_reader, b.data, b.size, &p, &error), 0);
    assert_string_equal(addresses(p, 0), "1000 5000 2000");
    assert_string_equal(addresses(p, 2), "1020 2020");
    assert_int_equal(note_count(p, "signal-frames"), 62);
    profconv_profile_free(p);
    /* The leaf twice, from the signal and from the stack. */
    bytes c = {{0}, 0, 1, 0};
    const uint64_t twice[] = {1, 3, 0x1000, 0x1000, 0x2001, 1, 2, 0x3000, 0x4001};
    words(&c, 5, header);
    words(&c, 9, twice);
    words(&c, 3, trailer);
    assert_int_equal(read_bytes(&pfc_gperftools_reader, c.data, c.size, &p, &error), 0);
    assert_string_equal(addresses(p, 0), "1000 2000");
    profconv_profile_free(p);
}

static void test_bad_cpu(void **state) {
    bytes b = {{0}, 0, 1, 0};
    profconv_profile *p;
    profconv_error error;
    static const uint64_t java[] = {0, 3, 1, 10000, 0};
    (void)state;
    words(&b, 5, java);
    assert_int_equal(read_bytes(&pfc_gperftools_reader, b.data, b.size, &p, &error), PROFCONV_E_UNSUPPORTED);
    assert_int_equal(read_bytes(&pfc_gperftools_reader, b.data, 30, &p, &error), PROFCONV_E_FORMAT);
    b.size = 0;
    words(&b, 5, header);
    words(&b, 3, trailer);
    assert_int_equal(read_bytes(&pfc_gperftools_reader, b.data, b.size, &p, &error), PROFCONV_E_EMPTY);
    b.size = 0;
    words(&b, 5, header);
    word(&b, 1);
    word(&b, UINT64_C(1) << 61); /* a depth that no file has */
    assert_int_equal(read_bytes(&pfc_gperftools_reader, b.data, b.size, &p, &error), PROFCONV_E_EMPTY);
    assert_int_equal(pfc_gperftools_reader.probe(NULL, (const uint8_t *)"\0\0\0\0\0", 5, 1), 0);
}

/* ---- text ---- */

static void test_heap(void **state) {
    (void)state;
    /* Not sampled, nothing freed: two columns, values as they are. */
    profconv_profile *p = read_text(
        "heap profile: 3: 300 [3: 300] @ heapprofile\n 1: 100 [1: 100] @ 0x401001 0x402001\n"
        " 2: 200 [2: 200] @ 0x403001\n\nMAPPED_LIBRARIES:\n00401000-00500000 r-xp 00000000 08:01 5 /opt/app\n");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE), 2);
    assert_int_equal(profconv_profile_total(p, 1), 300);
    assert_string_equal(addresses(p, 0), "401000 402000");
    assert_int_equal(profconv_profile_find_label(p, profconv_profile_sample_label_set(p, 1), "bytes")->number, 100);
    profconv_profile_free(p);
    /* Rate 512 KiB (Go prints twice that): 1 MiB is seen with the probability 1 - exp(-2) = 0.864665, 1 / that
     * is 1.156518. */
    p = read_text("heap profile: 1: 1048576 [4: 4194304] @ heap/1048576\n1: 1048576 [4: 4194304] @ 0x401001\n");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE), 4);
    assert_int_equal(profconv_profile_total(p, 0), 4);       /* 4.626 */
    assert_int_equal(profconv_profile_total(p, 2), 1);       /* 1.157 */
    assert_int_equal(profconv_profile_total(p, 3), 1212696); /* 1212696.6 */
    assert_int_equal(profconv_profile_total(p, 1), 4850786); /* 4850786.5 */
    profconv_profile_free(p);
    /* jemalloc: t* is the sum of the threads. */
    p = read_text("heap_v2/1\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n@ 0x401001 0x402001\n  t*: 1: 100 [0: 0]\n  "
                  "t0: 1: 100 [0: 0]\n"
                  "@ 0x403001\n  t*: 2: 200 [0: 0]\n  t0: 1: 100 [0: 0]\n  t1: 1: 100 [0: 0]\n");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 2);
    assert_int_equal(profconv_profile_total(p, 0), 3);
    assert_int_equal(profconv_profile_total(p, 1), 300);
    profconv_profile_free(p);
}

static void test_go(void **state) {
    (void)state;
    profconv_profile *p =
        read_text("goroutine profile: total 3\n2 @ 0x401001 0x402001\n# labels: {\"k\":\"a\\\"b\", \"n\":\"2\"}\n"
                  "#\t0x401000\tmain.inner+0x1\t\t/src/a.go:3\n#\t0x401000\tmain.outer+0x9\t/src/a.go:12\n\n"
                  "1 @ 0x401001\n#\t0x401000\tmain.inner+0x1\t\t/src/a.go:3\nwhat\n");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 0)->name), "goroutine");
    assert_int_equal(profconv_profile_total(p, 0), 3);
    const profconv_location *leaf = leaf_of(p, 0);
    profconv_id id = profconv_profile_stack(p, profconv_profile_sample_stack(p, 0))->location;
    assert_int_equal(leaf->line_count, 2);
    assert_string_equal(text_of(p, profconv_profile_function(p, profconv_profile_line(p, id, 0)->function)->name),
                        "main.inner");
    assert_int_equal(profconv_profile_line(p, id, 1)->line, 12);
    profconv_id labels = profconv_profile_sample_label_set(p, 0);
    assert_string_equal(text_of(p, profconv_profile_find_label(p, labels, "k")->string), "a\"b");
    assert_string_equal(text_of(p, profconv_profile_find_label(p, labels, "n")->string), "2");
    assert_int_equal(note_count(p, "other-lines"), 1);
    profconv_profile_free(p);
}

static void test_contention_and_threads(void **state) {
    (void)state;
    /* 2 GHz: 500 cycles are 250 ns; one in 10 is recorded. */
    profconv_profile *p =
        read_text("--- mutex:\ncycles/second=2000000000\nsampling period=10\n500 3 @ 0x401001 0x402001\n");
    assert_int_equal(profconv_profile_total(p, 0), 30);
    assert_int_equal(profconv_profile_total(p, 1), 2500);
    profconv_profile_free(p);
    p = read_text(
        "--- threadz 1 ---\n\n--- Thread 7e (name: main/25) stack: ---\n  PC:  0x00401000: f(int)\n  0x00402001: main\n"
        "--- Thread 7f (name: x/26) stack: ---\n  [same as previous thread]\n--- Memory map: ---\n");
    assert_int_equal(profconv_profile_total(p, 0), 2);
    assert_string_equal(addresses(p, 0), "401000 402000");
    profconv_profile_free(p);
}

static void test_probe(void **state) {
    static const char *const yes[] = {"heap profile: 1: 2 [3: 4] @ heap\n",
                                      "heap_v2/1\n",
                                      "\nthreadcreate profile: total 5\n",
                                      "--- contentionz 1 ---\n",
                                      "--- mutex:\n",
                                      "--- threadz 1 ---\n"};
    static const char *const no[] = {"a;b 5\n", "goroutine 1 [running]:\n", "", "profile: total 5\n", "--- x\n"};
    profconv_profile *p;
    profconv_error error;
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(pfc_pprof_text_reader.probe(NULL, (const uint8_t *)yes[i], strlen(yes[i]), 1) >= 80);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_int_equal(pfc_pprof_text_reader.probe(NULL, (const uint8_t *)no[i], strlen(no[i]), 1), 0);
        assert_int_equal(read_bytes(&pfc_pprof_text_reader, no[i], strlen(no[i]), &p, &error), PROFCONV_E_FORMAT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings), cmocka_unit_test(test_signal_frames),
        cmocka_unit_test(test_bad_cpu),   cmocka_unit_test(test_heap),
        cmocka_unit_test(test_go),        cmocka_unit_test(test_contention_and_threads),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
