/* SPDX-License-Identifier: MIT
 *
 * Reading pprof: every field of the format, what writers do differently, names that mean something, detection, and the
 * bounds. The files are those of tests/support/mkpprof.py, where the values that are expected here come from.
 */
#include "tests/formats/pprof_help.h"

#include "libprofconv/formats/pprof/reader.h"

static const int64_t *values_of(const profconv_profile *p, uint32_t sample) {
    static int64_t values[8];
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE) && i < 8; i++)
        values[i] = profconv_profile_sample_value(p, sample, i);
    return values;
}

/* The locations of a sample, leaf first, must be these; the list ends with 0. */
static void assert_stack(const profconv_profile *p, uint32_t sample, const profconv_id *locations) {
    profconv_id node = profconv_profile_sample_stack(p, sample);
    for (; *locations; locations++) {
        assert_int_equal(profconv_profile_stack(p, node)->location, *locations);
        node = profconv_profile_stack(p, node)->parent;
    }
    assert_int_equal(node, 0);
}

static void assert_label(const profconv_profile *p, uint32_t sample, uint32_t index, const char *key, const char *text,
                         int64_t number, const char *unit) {
    const profconv_label_set *set = profconv_profile_label_set(p, profconv_profile_sample_label_set(p, sample));
    assert_true(index < set->count);
    const profconv_label *label = profconv_profile_label(p, profconv_profile_label_item(p, set->first + index));
    assert_text(p, label->key, key);
    assert_int_equal(label->numeric != 0, text == NULL);
    assert_text(p, label->string, text ? text : "");
    assert_int_equal(label->number, number);
    assert_text(p, label->unit, unit);
}

static void full_info(void **state) {
    (void)state;
    profconv_profile *p = read_seed("full.pb");
    const profconv_info *info = profconv_profile_info(p);
    assert_int_equal(info->time_ns, 1700000000123456789);
    assert_int_equal(info->duration_ns, 5000000000);
    assert_int_equal(info->period, 10000000);
    assert_text(p, info->period_type, "cpu");
    assert_text(p, info->period_unit, "nanoseconds");
    assert_text(p, info->default_sample_type, "cpu");
    assert_text(p, info->drop_frames, "malloc|free");
    assert_text(p, info->keep_frames, "keep_.*");
    assert_text(p, info->doc_url, "https://example.org/doc");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_COMMENT), 2);
    assert_text(p, profconv_profile_comment(p, 0), "first comment");
    assert_text(p, profconv_profile_comment(p, 1), "second: comment");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE), 2);
    assert_text(p, profconv_profile_sample_type(p, 0)->name, "samples");
    assert_text(p, profconv_profile_sample_type(p, 0)->unit, "count");
    assert_int_equal(profconv_profile_sample_type(p, 0)->role, PROFCONV_ROLE_COUNT);
    assert_text(p, profconv_profile_sample_type(p, 1)->name, "cpu");
    assert_int_equal(profconv_profile_sample_type(p, 1)->role, PROFCONV_ROLE_WEIGHT);
    assert_int_equal(profconv_profile_sample_type(p, 1)->period, 10000000);
    assert_int_equal(info->facets, PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_LINES |
                                       PROFCONV_FACET_STACKS | PROFCONV_FACET_LABELS);
    assert_int_equal(profconv_report_count(profconv_profile_report(p)), 0);
    profconv_profile_free(p);
}

static void full_samples(void **state) {
    (void)state;
    profconv_profile *p = read_seed("full.pb");
    /* Verbatim: rows keep their order, and equal ones are not added up. */
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 4);
    assert_stack(p, 0, (profconv_id[]){1, 2, 3, 0});
    assert_stack(p, 1, (profconv_id[]){4, 3, 0});
    assert_stack(p, 2, (profconv_id[]){1, 2, 3, 0});
    assert_stack(p, 3, (profconv_id[]){0});
    assert_int_equal(values_of(p, 0)[0], 3);
    assert_int_equal(values_of(p, 0)[1], 30000000);
    assert_int_equal(values_of(p, 2)[1], 0);
    assert_int_equal(values_of(p, 3)[0], 2);
    assert_int_equal(values_of(p, 3)[1], -5);
    assert_label(p, 0, 0, "thread", "worker", 0, "");
    assert_label(p, 0, 1, "bytes", NULL, 512, "kilobytes");
    assert_label(p, 0, 2, "thread", "again", 0, "");
    assert_label(p, 0, 3, "request", NULL, -7, "");
    assert_int_equal(profconv_profile_sample_label_set(p, 1), 0);
    profconv_profile_free(p);
}

static void full_tables(void **state) {
    (void)state;
    profconv_profile *p = read_seed("full.pb");
    const uint32_t all = PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_HAS_FILENAMES |
                         PROFCONV_MAPPING_HAS_LINE_NUMBERS | PROFCONV_MAPPING_HAS_INLINE_FRAMES;
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_MAPPING), 4);
    const profconv_mapping *m = profconv_profile_mapping(p, 1);
    assert_int_equal(m->start, 0x400000);
    assert_int_equal(m->limit, 0x500000);
    assert_int_equal(m->file_offset, 0x1000);
    assert_text(p, m->file, "/usr/bin/prog");
    assert_text(p, m->build_id, "0123abcd");
    assert_int_equal(m->kind, PROFCONV_MAPPING_EXECUTABLE);
    assert_int_equal(m->flags, all | PROFCONV_MAPPING_MAIN);
    m = profconv_profile_mapping(p, 2);
    assert_true(m->start == 0xffffffff81000000);
    assert_int_equal(m->kind, PROFCONV_MAPPING_KERNEL);
    assert_text(p, m->file, "[kernel.kallsyms]");
    assert_text(p, m->reference, "_text");
    assert_int_equal(m->flags, 0);
    assert_int_equal(profconv_profile_mapping(p, 3)->kind, PROFCONV_MAPPING_VDSO);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_LOCATION), 6);
    assert_int_equal(profconv_profile_location(p, 1)->address, 0x401234);
    assert_int_equal(profconv_profile_location(p, 1)->line_count, 2);
    assert_int_equal(profconv_profile_line(p, 1, 0)->function, 1);
    assert_int_equal(profconv_profile_line(p, 1, 0)->line, 12);
    assert_int_equal(profconv_profile_line(p, 1, 0)->column, 3);
    assert_int_equal(profconv_profile_line(p, 1, 1)->function, 2);
    assert_int_equal(profconv_profile_location(p, 2)->flags, PROFCONV_LOCATION_FOLDED);
    assert_int_equal(profconv_profile_location(p, 5)->mapping, 0);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_FUNCTION), 4);
    assert_text(p, profconv_profile_function(p, 1)->name, "ns::leaf(int)");
    assert_text(p, profconv_profile_function(p, 1)->linkage_name, "_ZN2ns4leafEi");
    assert_text(p, profconv_profile_function(p, 1)->file, "leaf.cc");
    assert_int_equal(profconv_profile_function(p, 1)->start_line, 10);
    assert_text(p, profconv_profile_function(p, 3)->name, "unused");
    profconv_profile_free(p);
}

static void mixed_order(void **state) {
    (void)state;
    profconv_profile *p = read_seed("mixed_order.pb");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 2);
    assert_stack(p, 0, (profconv_id[]){1, 2, 1, 0});
    assert_stack(p, 1, (profconv_id[]){2, 1, 2, 0}); /* one id alone, then two packed */
    assert_int_equal(values_of(p, 0)[1], 64);
    assert_int_equal(values_of(p, 1)[0], 2);
    assert_int_equal(values_of(p, 1)[1], 128);
    assert_text(p, profconv_profile_info(p)->period_type, "space");
    profconv_profile_free(p);
}

static void sparse_ids(void **state) {
    (void)state;
    profconv_profile *p = read_seed("sparse_ids.pb");
    /* File order: ids 0x80000000, 7, 0xdeadbeefcafebabe are rows 1, 2, 3. */
    assert_stack(p, 0, (profconv_id[]){3, 1, 0});
    assert_stack(p, 1, (profconv_id[]){2, 1, 0});
    assert_stack(p, 2, (profconv_id[]){1, 3, 0});
    assert_int_equal(profconv_profile_location(p, 3)->address, 0x20);
    assert_text(p, profconv_profile_function(p, profconv_profile_line(p, 3, 0)->function)->name, "A.a");
    assert_text(p, profconv_profile_function(p, profconv_profile_line(p, 1, 0)->function)->name, "B.b");
    profconv_profile_free(p);
}

static void odd_bytes(void **state) {
    (void)state;
    profconv_profile *p = read_seed("odd_bytes.pb");
    const profconv_function *f = profconv_profile_function(p, 1);
    profconv_string name = profconv_profile_string(p, f->name);
    assert_int_equal(name.size, 10);
    assert_memory_equal(name.data, "nul\0inside", 10);
    assert_text(p, f->linkage_name, "caf\xe9");
    assert_int_equal(values_of(p, 0)[0], 5);
    /* The location names mapping 42, which is not there. */
    assert_int_equal(profconv_profile_location(p, 1)->mapping, 0);
    assert_int_equal(noted(profconv_profile_report(p), PROFCONV_NOTE_WARNING, "missing-mapping"), 1);
    profconv_profile_free(p);
}

static void branch_columns(void **state) {
    (void)state;
    profconv_profile *p = read_seed("branches.pb");
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 1);
    assert_int_equal(values_of(p, 0)[0], 9);
    assert_stack(p, 0, (profconv_id[]){1, 2, 0});
    static const profconv_branch branches[] = {{100, 7, 0, 2, 1}, {40, 0, 0, 1, 0}, {11, 0, 0, 0, 1}};
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_BRANCH), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(profconv_profile_branch(p, i)->from, branches[i].from);
        assert_int_equal(profconv_profile_branch(p, i)->to, branches[i].to);
        assert_int_equal(profconv_profile_branch(p, i)->count, branches[i].count);
        assert_int_equal(profconv_profile_branch(p, i)->mispredicted, branches[i].mispredicted);
    }
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_RANGE), 1);
    assert_int_equal(profconv_profile_range(p, 0)->begin, 1);
    assert_int_equal(profconv_profile_range(p, 0)->end, 2);
    assert_int_equal(profconv_profile_range(p, 0)->count, 99);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS), 1);
    assert_int_equal(profconv_profile_address(p, 0)->location, 1);
    assert_int_equal(profconv_profile_address(p, 0)->count, 12);
    assert_true(profconv_profile_facets(p) & PROFCONV_FACET_BRANCHES);
    profconv_profile_free(p);
}

static void branch_columns_odd(void **state) {
    (void)state;
    profconv_profile *p = read_seed("branches_odd.pb");
    const profconv_report *report = profconv_profile_report(p);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 0);
    assert_int_equal(noted(report, PROFCONV_NOTE_DROPPED, "branch-stack-depth"), 2);
    assert_int_equal(noted(report, PROFCONV_NOTE_DROPPED, "branch-negative"), 1);
    assert_int_equal(noted(report, PROFCONV_NOTE_WARNING, "branch-no-address"), 1);
    assert_int_equal(noted(report, PROFCONV_NOTE_LOST, "branch-labels"), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_BRANCH), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_RANGE), 1);
    profconv_profile_free(p);
}

static profconv_string text(const char *s) {
    profconv_string string = {s, strlen(s)};
    return string;
}

static void mapping_kinds(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int first;
        uint32_t kind;
    } cases[] = {
        {"/usr/bin/prog", 1, PROFCONV_MAPPING_EXECUTABLE},
        {"/usr/lib/libc.so.6", 0, PROFCONV_MAPPING_LIBRARY},
        {"", 1, PROFCONV_MAPPING_EXECUTABLE},
        {"", 0, PROFCONV_MAPPING_ANONYMOUS},
        {"//anon", 0, PROFCONV_MAPPING_ANONYMOUS},
        {"//anon", 1, PROFCONV_MAPPING_ANONYMOUS},
        {"[kernel.kallsyms]", 0, PROFCONV_MAPPING_KERNEL},
        {"[kernel.kallsyms]_stext", 1, PROFCONV_MAPPING_KERNEL},
        {"[guest.kernel.kallsyms]", 0, PROFCONV_MAPPING_GUEST},
        {"[vdso]", 0, PROFCONV_MAPPING_VDSO},
        {"linux-vdso.so.1", 0, PROFCONV_MAPPING_VDSO},
        {"[vsyscall]", 0, PROFCONV_MAPPING_VDSO},
        {"[ext4]", 0, PROFCONV_MAPPING_MODULE},
        {"/lib/modules/6.1/ext4.ko.xz", 0, PROFCONV_MAPPING_MODULE},
        {"/lib/x.ko", 0, PROFCONV_MAPPING_MODULE},
        {"[heap]", 0, PROFCONV_MAPPING_ANONYMOUS},
        {"[stack]", 0, PROFCONV_MAPPING_ANONYMOUS},
        {"/tmp/perf-77.map", 0, PROFCONV_MAPPING_JIT},
        {"/memfd:x (deleted)", 0, PROFCONV_MAPPING_ANONYMOUS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (pfc_pprof_mapping_kind(text(cases[i].name), cases[i].first) != cases[i].kind)
            fail_msg("%s", cases[i].name);
}

static void value_roles(void **state) {
    (void)state;
    assert_int_equal(pfc_pprof_value_role(text("samples"), text("count"), 1, 0), PROFCONV_ROLE_COUNT);
    assert_int_equal(pfc_pprof_value_role(text("contentions"), text("count"), 1, 0), PROFCONV_ROLE_COUNT);
    assert_int_equal(pfc_pprof_value_role(text("cpu"), text("nanoseconds"), 0, 1), PROFCONV_ROLE_WEIGHT);
    assert_int_equal(pfc_pprof_value_role(text("cycles"), text("count"), 0, 1), PROFCONV_ROLE_WEIGHT);
    assert_int_equal(pfc_pprof_value_role(text("cycles_samples"), text("count"), 0, 1), PROFCONV_ROLE_COUNT);
    assert_int_equal(pfc_pprof_value_role(text("inuse_objects"), text("count"), 0, 1), PROFCONV_ROLE_COUNT);
    assert_int_equal(pfc_pprof_value_role(text("inuse_space"), text("bytes"), 0, 1), PROFCONV_ROLE_WEIGHT);
    assert_int_equal(pfc_pprof_value_role(text("other"), text("count"), 0, 0), PROFCONV_ROLE_VALUE);
    assert_int_equal(pfc_pprof_value_role(text("other"), text(""), 0, 0), PROFCONV_ROLE_VALUE);
}

static int probe(const void *data, size_t size, int whole) { return pfc_pprof_reader.probe(NULL, data, size, whole); }

static void detection(void **state) {
    (void)state;
    static const char *const others[] = {
        "a;b;c 5\n",  "main 1\n",  "hello world\n", "heap profile: 1: 2 [3: 4] @ heapprofile\n",
        "\n",         "hp",        "PERFILE2",      "<?xml version",
        "bbbbbb 3\n", "h1;h2 8\n", "2;3;4 2\n",     "{\"a\":1}",
        "\"*2\n",     "",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (probe(others[i], strlen(others[i]), 1) != 0)
            fail_msg("taken for a pprof: %s", others[i]);
        if (probe(others[i], strlen(others[i]), 0) != 0)
            fail_msg("the start of a pprof: %s", others[i]);
    }
    bytes b = seed("full.pb");
    assert_int_equal(probe(b.data, b.size, 1), 95);
    /* Any start that holds a whole message is recognised, also when nothing follows (a truncated file). */
    for (size_t n = 6; n < b.size; n++) {
        assert_true(probe(b.data, n, 0) >= 90);
        assert_true(probe(b.data, n, 1) >= 50);
    }
    free(b.data);
    b = seed("odd_bytes.pb"); /* fields of later versions, at the top and in messages */
    assert_int_equal(probe(b.data, b.size, 1), 95);
    free(b.data);
}

/* Malformed files are recognised as what they are, so that an error tells what is wrong with them. */
static void detection_of_malformed(void **state) {
    (void)state;
    static const char *const files[] = {"bad_wire_type.pb",   "bad_wire_type_sample.pb", "bad_string0.pb",
                                        "bad_group.pb",       "bad_long_number.pb",      "bad_truncated.pb",
                                        "bad_concatenated.pb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bytes b = seed(files[i]);
        if (probe(b.data, b.size, 1) < 30)
            fail_msg("%s", files[i]);
        free(b.data);
    }
}

static void deep_stack(void **state) {
    (void)state;
    /* Limit 2: of leaf-first [1, 2, 3] the root 3 goes. */
    profconv_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.max_depth = 2;
    bytes b = seed("full.pb");
    profconv_profile *p;
    assert_int_equal(read_with(b.data, b.size, NULL, &limits, &p, NULL), 0);
    assert_stack(p, 0, (profconv_id[]){1, 2, 0});
    assert_int_equal(noted(profconv_profile_report(p), PROFCONV_NOTE_WARNING, "stack-truncated"), 2);
    profconv_profile_free(p);
    free(b.data);
}

static void string_limit(void **state) {
    (void)state;
    profconv_limits limits = {0};
    profconv_error error;
    limits.struct_size = sizeof limits;
    limits.max_string = 8;
    bytes b = seed("full.pb");
    profconv_profile *p;
    assert_int_equal(read_with(b.data, b.size, NULL, &limits, &p, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_string"));
    free(b.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_info),      cmocka_unit_test(full_samples),
        cmocka_unit_test(full_tables),    cmocka_unit_test(mixed_order),
        cmocka_unit_test(sparse_ids),     cmocka_unit_test(odd_bytes),
        cmocka_unit_test(branch_columns), cmocka_unit_test(branch_columns_odd),
        cmocka_unit_test(mapping_kinds),  cmocka_unit_test(value_roles),
        cmocka_unit_test(detection),      cmocka_unit_test(detection_of_malformed),
        cmocka_unit_test(deep_stack),     cmocka_unit_test(string_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
