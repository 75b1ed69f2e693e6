/* SPDX-License-Identifier: MIT
 *
 * Writing pprof: what comes back after reading it again, which rows are chosen and in which order, the settings, what
 * is reported as lost, and branch records in coordinates that no load address is in.
 */
#include "tests/formats/pprof_help.h"

/* ---- through the model and back ---- */

static void round_trip(const char *path, const char *name) {
    if (strncmp(name, "bad_", 4) == 0 || strcmp(name, "no_samples.pb") == 0)
        return;
    bytes b = load(path);
    profconv_profile *first = read_ok(b.data, b.size);
    bytes packed = write_ok(first, NULL, NULL), raw = write_ok(first, "pprof.compress=no", NULL);
    assert_int_equal(packed.data[0], 0x1f);
    assert_int_equal(packed.data[1], 0x8b);
    profconv_profile *second = read_ok(packed.data, packed.size), *third = read_ok(raw.data, raw.size);
    assert_same_profile(first, second, name);
    assert_same_profile(first, third, name);
    bytes again = write_ok(third, "pprof.compress=no", NULL);
    assert_same_bytes(raw, again, name); /* deterministic, and nothing changes any more */
    profconv_profile_free(first);
    profconv_profile_free(second);
    profconv_profile_free(third);
    free(packed.data);
    free(raw.data);
    free(again.data);
    free(b.data);
}

static void round_trips(void **state) {
    (void)state;
    assert_true(each_file(SEEDS, round_trip) > 30);
}

static void no_waste(void **state) {
    (void)state;
    /* The same fields in another order, but for the sample's single value, which mkpprof.py packs into 3 bytes instead
     * of 2. */
    bytes b = seed("small.pb");
    profconv_profile *p = read_ok(b.data, b.size);
    bytes raw = write_ok(p, "pprof.compress=no", NULL);
    assert_int_equal(raw.size, b.size - 1);
    profconv_profile_free(p);
    free(raw.data);
    free(b.data);
}

static void settings(void **state) {
    (void)state;
    profconv_profile *p = read_seed("full.pb");
    bytes out, fast, small;
    profconv_error error = {0};
    assert_int_equal(write_with(p, "pprof.level=0", NULL, &out, &error), PROFCONV_E_INVALID);
    assert_non_null(strstr(error.message, "pprof.level"));
    assert_int_equal(write_with(p, "pprof.level=10", NULL, &out, &error), PROFCONV_E_INVALID);
    fast = write_ok(p, "pprof.level=1", NULL);
    small = write_ok(p, "pprof.level=9", NULL);
    assert_true(small.size <= fast.size);
    profconv_profile *q = read_ok(small.data, small.size);
    assert_same_profile(p, q, "level 9");
    profconv_profile_free(q);
    free(fast.data);
    free(small.data);
    profconv_profile_free(p);
}

static void nothing_to_write(void **state) {
    (void)state;
    profconv_profile *p = read_seed("no_samples.pb");
    bytes out;
    profconv_error error = {0};
    assert_int_equal(write_with(p, NULL, NULL, &out, &error), PROFCONV_E_EMPTY);
    assert_non_null(strstr(error.message, "no samples"));
    profconv_profile_free(p);
    p = read_seed("branches_odd.pb");
    assert_int_equal(write_with(p, "pprof.branches=no", NULL, &out, &error), PROFCONV_E_EMPTY);
    assert_non_null(strstr(error.message, "pprof.branches"));
    profconv_profile_free(p);
}

/* ---- profiles that come from elsewhere ---- */

static profconv_id add_function(profconv_builder *b, const char *name, int64_t start_line) {
    profconv_function row = {0};
    row.name = profconv_builder_cstring(b, name);
    row.linkage_name = row.name;
    row.start_line = start_line;
    return profconv_builder_function(b, &row);
}

static profconv_id add_mapping(profconv_builder *b, const char *file, uint32_t kind, uint64_t start, uint64_t limit,
                               uint64_t offset, uint32_t flags) {
    profconv_mapping row = {0};
    row.file = profconv_builder_cstring(b, file);
    row.build_id = profconv_builder_cstring(b, "00ff");
    row.kind = kind;
    row.start = start;
    row.limit = limit;
    row.file_offset = offset;
    row.flags = flags;
    return profconv_builder_mapping(b, &row);
}

static profconv_id add_location(profconv_builder *b, profconv_id mapping, uint64_t address, const profconv_line *lines,
                                uint32_t count) {
    profconv_location row = {0};
    row.mapping = mapping;
    row.address = address;
    return profconv_builder_location(b, &row, lines, count);
}

static void add_samples_type(profconv_builder *b) {
    profconv_sample_type type = {0};
    type.name = profconv_builder_cstring(b, "samples");
    type.unit = profconv_builder_cstring(b, "count");
    type.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(b, &type);
}

static profconv_profile *freeze(profconv_builder *b) {
    profconv_profile *p = NULL;
    profconv_error error = {0};
    if (profconv_builder_freeze(b, &p, &error))
        fail_msg("%s", error.message);
    profconv_builder_free(b);
    return p;
}

/* Writes and reads again. */
static profconv_profile *through(const profconv_profile *p, const char *setting, profconv_report *report) {
    bytes out = write_ok(p, setting, report);
    profconv_profile *q = read_ok(out.data, out.size);
    free(out.data);
    return q;
}

static void only_what_is_used(void **state) {
    (void)state;
    profconv_builder *b;
    const int64_t one = 1;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), 0);
    add_samples_type(b);
    add_mapping(b, "/lib/unused.so", PROFCONV_MAPPING_LIBRARY, 0, 0x1000, 0, 0);
    profconv_id library =
        add_mapping(b, "/lib/used.so", PROFCONV_MAPPING_LIBRARY, 0, 0x1000, 0, PROFCONV_MAPPING_HAS_FUNCTIONS);
    add_mapping(b, "/bin/prog", PROFCONV_MAPPING_EXECUTABLE, 0, 0x1000, 0, PROFCONV_MAPPING_MAIN);
    add_function(b, "unused", 0);
    profconv_line line = {0};
    line.function = add_function(b, "used", 7);
    line.line = 9;
    line.discriminator = 3;
    add_location(b, library, 0x100, NULL, 0);
    profconv_id leaf = add_location(b, library, 0x200, &line, 1);
    profconv_id stack = profconv_builder_stack_leaf_first(b, &leaf, 1);
    profconv_builder_sample(b, stack, 0, 0, &one, 1);
    profconv_builder_attribute(b, "hostname", "build7", 6);
    profconv_profile *p = freeze(b);
    profconv_report *report;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
    profconv_profile *q = through(p, NULL, report);
    /* The main binary comes first although nothing refers to it: pprof takes mapping 1 for it. */
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_MAPPING), 3);
    assert_text(q, profconv_profile_mapping(q, 1)->file, "/bin/prog");
    assert_text(q, profconv_profile_mapping(q, 2)->file, "/lib/used.so");
    assert_int_equal(profconv_profile_mapping(q, 1)->flags, PROFCONV_MAPPING_MAIN);
    assert_int_equal(profconv_profile_mapping(q, 2)->flags, PROFCONV_MAPPING_HAS_FUNCTIONS);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_LOCATION), 2);
    assert_int_equal(profconv_profile_location(q, 1)->address, 0x200);
    assert_int_equal(profconv_profile_location(q, 1)->mapping, 2);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_FUNCTION), 2);
    assert_text(q, profconv_profile_function(q, 1)->name, "used");
    assert_int_equal(profconv_profile_function(q, 1)->start_line, 7);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_COMMENT), 1);
    assert_text(q, profconv_profile_comment(q, 0), "hostname: build7");
    assert_int_equal(noted(report, PROFCONV_NOTE_LOST, "discriminators"), 1);
    profconv_report_free(report);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

static void comments_or_attributes(void **state) {
    (void)state;
    profconv_builder *b;
    const int64_t one = 1;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), 0);
    add_samples_type(b);
    profconv_builder_sample(b, 0, 0, 0, &one, 1);
    profconv_builder_attribute(b, "hostname", "build7", 6);
    profconv_builder_comment(b, profconv_builder_cstring(b, "said"));
    profconv_profile *p = freeze(b);
    profconv_report *report;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
    profconv_profile *q = through(p, NULL, report);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_COMMENT), 1);
    assert_text(q, profconv_profile_comment(q, 0), "said");
    assert_int_equal(noted(report, PROFCONV_NOTE_INFO, "attributes"), 1);
    profconv_report_free(report);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

static void names_alone(void **state) {
    (void)state;
    /* As collapsed stacks give them: no address, no mapping; and a line whose function nobody knows. */
    profconv_builder *b;
    const int64_t values[2] = {5, -2};
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), 0);
    add_samples_type(b);
    profconv_line line = {0}, unknown = {0};
    line.function = add_function(b, "main", 0);
    unknown.line = 3;
    profconv_id ids[2] = {add_location(b, 0, 0, &unknown, 1), add_location(b, 0, 0, &line, 1)};
    profconv_builder_sample(b, profconv_builder_stack_leaf_first(b, ids, 2), 0, 0, &values[0], 1);
    profconv_builder_sample(b, 0, 0, 0, &values[1], 1);
    profconv_profile *p = freeze(b);
    profconv_profile *q = through(p, NULL, NULL);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_MAPPING), 1);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_FUNCTION), 3);
    assert_text(q, profconv_profile_function(q, 1)->name, "main");
    assert_text(q, profconv_profile_function(q, 2)->name, "");
    assert_int_equal(profconv_profile_line(q, 1, 0)->function, 2);
    assert_int_equal(profconv_profile_line(q, 1, 0)->line, 3);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_SAMPLE), 2);
    assert_int_equal(profconv_profile_sample_value(q, 0, 0), 5);
    assert_int_equal(profconv_profile_sample_value(q, 1, 0), -2);
    assert_int_equal(profconv_profile_sample_stack(q, 1), 0);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

static profconv_id add_label(profconv_builder *b, const char *key, const char *string, int numeric, int64_t number) {
    profconv_label row = {0};
    row.key = profconv_builder_cstring(b, key);
    row.string = profconv_builder_cstring(b, string);
    row.numeric = numeric != 0;
    row.number = number;
    return profconv_builder_label(b, &row);
}

static void labels(void **state) {
    (void)state;
    profconv_builder *b;
    const int64_t one = 1;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), 0);
    add_samples_type(b);
    profconv_id ids[4] = {add_label(b, "cpu", "", 1, 0), add_label(b, "comm", "prog", 0, 0),
                          add_label(b, "empty", "", 0, 0), add_label(b, "tid", "", 1, -1)};
    profconv_builder_sample(b, 0, profconv_builder_label_set(b, ids, 4), 0, &one, 1);
    profconv_profile *p = freeze(b);
    profconv_report *report;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
    profconv_profile *q = through(p, NULL, report);
    profconv_id set = profconv_profile_sample_label_set(q, 0);
    /* A zero without a unit is no label to pprof; its key as unit is what readers assume anyway. */
    const profconv_label *cpu = profconv_profile_find_label(q, set, "cpu");
    assert_non_null(cpu);
    assert_true(cpu->numeric);
    assert_int_equal(cpu->number, 0);
    assert_text(q, cpu->unit, "cpu");
    assert_text(q, profconv_profile_find_label(q, set, "comm")->string, "prog");
    assert_int_equal(profconv_profile_find_label(q, set, "tid")->number, -1);
    assert_int_equal(noted(report, PROFCONV_NOTE_LOST, "empty-labels"), 1);
    profconv_report_free(report);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

/* ---- branch records ---- */

static profconv_profile *branch_profile(void) {
    profconv_builder *b;
    const int64_t one = 1;
    const uint32_t has = PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_HAS_FILENAMES;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), 0);
    add_samples_type(b);
    profconv_id program =
        add_mapping(b, "/bin/prog", PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x5000, 0x1000, PROFCONV_MAPPING_MAIN | has);
    profconv_id kernel =
        add_mapping(b, "[kernel.kallsyms]", PROFCONV_MAPPING_KERNEL, 0xffffffff9a000000, 0xffffffff9b000000, 0, has);
    profconv_id module =
        add_mapping(b, "[ext4]", PROFCONV_MAPPING_MODULE, 0xffffffffc0400000, 0xffffffffc0500000, 0, 0);
    profconv_id library = add_mapping(b, "/lib/libc.so", PROFCONV_MAPPING_LIBRARY, 0x2000, 0x6000, 0x2000, has);
    profconv_id user = add_location(b, program, 0x1100, NULL, 0);
    profconv_id call = add_location(b, kernel, 0xffffffff9a000123, NULL, 0);
    profconv_id insmod = add_location(b, module, 0xffffffffc0400456, NULL, 0);
    profconv_id stdio = add_location(b, library, 0x2345, NULL, 0);
    profconv_id stack[2] = {call, user};
    profconv_builder_sample(b, profconv_builder_stack_leaf_first(b, stack, 2), 0, 0, &one, 1);
    profconv_builder_sample(b, profconv_builder_stack_leaf_first(b, &stdio, 1), 0, 0, &one, 1);
    profconv_builder_branch(b, user, call, 50, 4, 900);
    profconv_builder_branch(b, call, insmod, 20, 0, 0);
    profconv_builder_branch(b, 0, user, 10, 0, 0);
    profconv_builder_branch(b, 0, 0, 3, 0, 0);
    profconv_builder_range(b, call, call, 70);
    profconv_builder_range(b, user, user, UINT64_MAX);
    profconv_builder_address(b, user, 5);
    return freeze(b);
}

/* The only mapping of this name that starts there. */
static const profconv_mapping *find_mapping(const profconv_profile *p, const char *file, uint64_t start) {
    const profconv_mapping *found = NULL;
    for (profconv_id i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_MAPPING); i++) {
        const profconv_mapping *m = profconv_profile_mapping(p, i);
        if (strcmp(profconv_profile_string(p, m->file).data, file) == 0 && m->start == start) {
            assert_null(found);
            found = m;
        }
    }
    return found;
}

static void branch_mappings(void **state) {
    (void)state;
    const uint32_t has = PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_HAS_FILENAMES;
    profconv_profile *p = branch_profile();
    profconv_profile *q = through(p, NULL, NULL);
    const profconv_mapping *m = find_mapping(q, "/bin/prog", 0x1000);
    assert_non_null(m);
    assert_int_equal(m->file_offset, 0x1000);
    assert_int_equal(m->flags & has, 0); /* stores clear the addresses of mappings that say so */
    assert_int_equal(find_mapping(q, "/lib/libc.so", 0x2000)->flags & has, has); /* no branch records there */
    /* Samples of the kernel keep run-time addresses, branch records do not. */
    m = find_mapping(q, "[kernel.kallsyms]", 0xffffffff9a000000);
    assert_non_null(m);
    assert_int_equal(m->flags & has, has);
    m = find_mapping(q, "[kernel.kallsyms]", 0);
    assert_non_null(m);
    assert_int_equal(m->limit, 0); /* another extent than that of its samples: stores take equal ones for the same */
    assert_int_equal(m->file_offset, 0);
    assert_int_equal(m->flags & has, 0);
    assert_text(q, m->build_id, "00ff");
    m = find_mapping(q, "[ext4]", 0);
    assert_non_null(m);
    assert_int_equal(m->limit, 0);
    assert_null(find_mapping(q, "[ext4]", 0xffffffffc0400000)); /* no sample was there */
    profconv_profile_free(p);
    profconv_profile_free(q);
}

static uint64_t address_of(const profconv_profile *p, profconv_id location) {
    return profconv_profile_location(p, location)->address;
}

static void branch_rows(void **state) {
    (void)state;
    profconv_profile *p = branch_profile();
    profconv_report *report;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
    profconv_profile *q = through(p, NULL, report);
    static const struct {
        uint64_t from, to, count, mispredicted;
    } edges[] = {{0x1100, 0x123, 50, 4}, {0x123, 0x456, 20, 0}, {0, 0x1100, 10, 0}, {0, 0, 3, 0}};
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_BRANCH), 4);
    for (uint32_t i = 0; i < 4; i++) {
        const profconv_branch *row = profconv_profile_branch(q, i);
        assert_int_equal(address_of(q, row->from), edges[i].from);
        assert_int_equal(address_of(q, row->to), edges[i].to);
        assert_int_equal(row->count, edges[i].count);
        assert_int_equal(row->mispredicted, edges[i].mispredicted);
    }
    assert_int_equal(profconv_profile_branch(q, 3)->from, 0);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_RANGE), 2);
    assert_int_equal(profconv_profile_range(q, 0)->count, 70);
    assert_true(profconv_profile_range(q, 1)->count == INT64_MAX); /* pprof has signed values */
    assert_int_equal(noted(report, PROFCONV_NOTE_WARNING, "count-saturated"), 1);
    assert_int_equal(noted(report, PROFCONV_NOTE_LOST, "branch-cycles"), 1);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_ADDRESS), 1);
    assert_int_equal(profconv_profile_address(q, 0)->count, 5);
    /* The samples are what they were. */
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_SAMPLE), 2);
    assert_true(address_of(q, profconv_profile_stack(q, profconv_profile_sample_stack(q, 0))->location) ==
                0xffffffff9a000123);
    profconv_report_free(report);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

static void branches_off(void **state) {
    (void)state;
    profconv_profile *p = branch_profile();
    profconv_report *report;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
    profconv_profile *q = through(p, "pprof.branches=no", report);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_SAMPLE_TYPE), 1);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_BRANCH), 0);
    assert_int_equal(profconv_profile_facets(q) & PROFCONV_FACET_BRANCHES, 0);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_MAPPING), 4); /* program, kernel, library, none */
    assert_int_equal(noted(report, PROFCONV_NOTE_LOST, "branches"), 4 + 2 + 1);
    profconv_report_free(report);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

/* A sample type that another tool named as branch records are named: the samples stay samples. */
static void names_of_branch_columns(void **state) {
    (void)state;
    static const char *const names[] = {"address", "range", "branch", "branch_mispredicted"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        profconv_builder *b = NULL;
        profconv_report *report;
        profconv_sample_type type = {0};
        char expected[64];
        int64_t value = 7;
        assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), 0);
        assert_int_equal(profconv_report_new(&report, NULL, NULL), 0);
        type.name = profconv_builder_cstring(b, names[i]);
        type.unit = profconv_builder_cstring(b, "count");
        profconv_builder_sample_type(b, &type);
        profconv_line line = {0};
        line.function = add_function(b, "main", 0);
        profconv_id stack = profconv_builder_stack(b, 0, add_location(b, 0, 0, &line, 1));
        profconv_builder_sample(b, profconv_builder_stack(b, stack, add_location(b, 0, 0, &line, 1)), 0, 0, &value, 1);
        profconv_info info = {0};
        info.default_sample_type = type.name;
        profconv_builder_set_info(b, &info);
        profconv_profile *p = freeze(b), *q = through(p, NULL, report);
        snprintf(expected, sizeof expected, "%s_samples", names[i]);
        assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_SAMPLE_TYPE), 1);
        assert_string_equal(profconv_profile_string(q, profconv_profile_sample_type(q, 0)->name).data, expected);
        assert_string_equal(profconv_profile_string(q, profconv_profile_info(q)->default_sample_type).data, expected);
        assert_int_equal(profconv_profile_total(q, 0), 7);
        assert_int_equal(noted(report, PROFCONV_NOTE_INFO, "sample-type-renamed"), 1);
        profconv_report_free(report);
        profconv_profile_free(p);
        profconv_profile_free(q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(no_waste),
        cmocka_unit_test(settings),
        cmocka_unit_test(nothing_to_write),
        cmocka_unit_test(only_what_is_used),
        cmocka_unit_test(names_alone),
        cmocka_unit_test(comments_or_attributes),
        cmocka_unit_test(labels),
        cmocka_unit_test(branch_mappings),
        cmocka_unit_test(branch_rows),
        cmocka_unit_test(branches_off),
        cmocka_unit_test(names_of_branch_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
