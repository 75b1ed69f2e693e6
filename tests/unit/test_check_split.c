/* SPDX-License-Identifier: MIT
 *
 * profconv_check tells profiles that a compiler can use from those that it cannot, and why; profconv_split cuts a
 * profile into parts within limits that give it again when merged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/profconv.h>

static profconv_builder *builder_new(void) {
    profconv_builder *b = NULL;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), PROFCONV_OK);
    return b;
}

static profconv_profile *freeze(profconv_builder *b) {
    profconv_profile *p = NULL;
    assert_int_equal(profconv_builder_freeze(b, &p, NULL), PROFCONV_OK);
    profconv_builder_free(b);
    return p;
}

static profconv_id mapping(profconv_builder *b, uint64_t start, uint64_t limit, uint32_t flags, const char *file,
                           const char *id) {
    profconv_mapping m = {0};
    m.start = m.file_offset = start;
    m.limit = limit;
    m.flags = flags;
    m.kind = PROFCONV_MAPPING_EXECUTABLE;
    m.file = profconv_builder_cstring(b, file);
    m.build_id = profconv_builder_cstring(b, id);
    return profconv_builder_mapping(b, &m);
}

static profconv_id frame(profconv_builder *b, profconv_id m, uint64_t address, const char *name, int64_t start) {
    profconv_function f = {0};
    profconv_line line = {0};
    profconv_location l = {0};
    f.name = f.linkage_name = profconv_builder_cstring(b, name);
    f.start_line = start;
    line.function = profconv_builder_function(b, &f);
    line.line = start + 3;
    l.mapping = m;
    l.address = address;
    return profconv_builder_location(b, &l, &line, 1);
}

static void expect(profconv_profile *p, const char *consumer, int status, const char *cause, uint64_t count,
                   const char *words) {
    profconv_report *report = NULL;
    profconv_error error = {0};
    int seen = cause == NULL;
    assert_int_equal(profconv_report_new(&report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_check(p, consumer, report, &error), status);
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        assert_int_equal(profconv_report_get(report, i, &note), PROFCONV_OK);
        seen |= cause && strcmp(note.cause, cause) == 0 && note.count == count;
    }
    if (!seen)
        fail_msg("%s: no note %s with count %llu", consumer, cause, (unsigned long long)count);
    if (words)
        assert_non_null(strstr(error.message, words));
    profconv_report_free(report);
    profconv_profile_free(p);
}

static profconv_profile *records(uint64_t start, uint64_t limit, uint32_t flags, const char *file, const char *id,
                                 uint64_t address) {
    profconv_builder *b = builder_new();
    profconv_id m = mapping(b, start, limit, flags, file, id);
    profconv_builder_range(b, frame(b, m, address, "f", 1), frame(b, m, address ? address + 8 : 0, "g", 1), 5);
    return freeze(b);
}

static void test_records(void **state) {
    (void)state;
    expect(records(0x1000, 0x2000, 0, "/p", "abcd", 0x1010), "llvm", PROFCONV_OK, "ranges", 1, NULL);
    expect(records(0x1000, 0x2000, 0, "/p", "", 0x1010), "gcc", PROFCONV_OK, "no-build-id", 1, NULL);
    expect(records(0x1000, 0x2000, 0, "", "", 0x1010), "gcc", PROFCONV_E_MISSING_FACET, "no-binary", 1, "file name");
    expect(records(0x1000, 0x2000, PROFCONV_MAPPING_HAS_FUNCTIONS, "/p", "abcd", 0x1010), "llvm", PROFCONV_OK,
           "has-functions", 1, NULL);
    expect(records(0, 0, PROFCONV_MAPPING_HAS_FUNCTIONS, "/p", "abcd", 0), "llvm", PROFCONV_E_MISSING_FACET,
           "cleared-addresses", 1, "cleared");
}

/* What continuous-profiling stores break. */
static profconv_profile *two_mappings(uint64_t first, uint64_t second, uint64_t offset) {
    profconv_builder *b = builder_new();
    const uint64_t starts[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        profconv_mapping m = {0};
        m.start = starts[i];
        m.limit = starts[i] + 0x1f00 + (uint64_t)i; /* equal when rounded to pages */
        m.file_offset = offset * (i ? 1 : 0);
        m.kind = PROFCONV_MAPPING_EXECUTABLE;
        m.file = profconv_builder_cstring(b, i ? "/q" : "/p");
        m.build_id = profconv_builder_cstring(b, "abcd");
        profconv_id row = profconv_builder_mapping(b, &m);
        profconv_builder_address(b, frame(b, row, starts[i] + 0x10, "f", 1), 5);
    }
    return freeze(b);
}

static profconv_profile *bare(uint64_t address, const char *id, const char *type) {
    profconv_builder *b = builder_new();
    profconv_sample_type t = {0};
    t.name = profconv_builder_cstring(b, type);
    t.unit = profconv_builder_cstring(b, "count");
    profconv_builder_sample_type(b, &t);
    profconv_id m = mapping(b, 0, 0x2000, 0, "/p", id);
    profconv_builder_branch(b, profconv_builder_address_location(b, m, 0x10, 0),
                            profconv_builder_address_location(b, m, address, 0), 3, 0, 0);
    return freeze(b);
}

static void test_stores(void **state) {
    (void)state;
    expect(two_mappings(0x1000, 0x401000, 0), "llvm", PROFCONV_OK, "store-two-starts", 1, NULL);
    expect(two_mappings(0x1000, 0x401000, 0x3000), "llvm", PROFCONV_OK, "addresses", 2, NULL);
    expect(bare(0, "abcd", "cycles"), "llvm", PROFCONV_OK, "store-address-zero", 1, NULL);
    expect(bare(0x20, "ab/cd", "cycles"), "llvm", PROFCONV_OK, "store-build-id", 1, NULL);
    expect(bare(0x20, "abcd", "br_inst:taken"), "gcc", PROFCONV_OK, "store-sample-type", 1, NULL);
    expect(bare(0x20, "abcd", "branch-misses"), "gcc", PROFCONV_OK, "store-sample-type", 1, NULL);
    /* Run-time addresses: x86-64, and the lowest of arm64 with 39 bits. A fixed address of a program is none. */
    profconv_builder *b = builder_new();
    const uint64_t starts[3] = {0x5500000000, 0x7ffff7dd0000, 0x140001000};
    for (int i = 0; i < 3; i++) {
        profconv_mapping m = {0};
        m.start = starts[i];
        m.limit = starts[i] + 0x1000 * (uint64_t)(i + 1);
        m.kind = PROFCONV_MAPPING_LIBRARY;
        m.file = profconv_builder_cstring(b, "/p");
        m.build_id = profconv_builder_cstring(b, "abcd");
        profconv_builder_address(b, frame(b, profconv_builder_mapping(b, &m), starts[i] + 0x10, "f", 1), 5);
    }
    expect(freeze(b), "llvm", PROFCONV_OK, "run-time-addresses", 2, NULL);
}

static profconv_profile *stacks(const char *type, int64_t start_line, int depth) {
    profconv_builder *b = builder_new();
    profconv_sample_type t = {0};
    int64_t one = 1;
    t.name = profconv_builder_cstring(b, type);
    t.unit = profconv_builder_cstring(b, "count");
    t.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(b, &t);
    profconv_id stack = 0;
    for (int i = 0; i < depth; i++)
        stack = profconv_builder_stack(b, stack, frame(b, 0, 0, i ? "leaf" : "main", start_line));
    profconv_builder_sample(b, stack, 0, 0, &one, 1);
    return freeze(b);
}

static void test_go(void **state) {
    (void)state;
    profconv_error error = {0};
    expect(stacks("samples", 10, 2), "go-pgo", PROFCONV_OK, "calls", 1, NULL);
    expect(stacks("cycles", 10, 2), "go-pgo", PROFCONV_E_MISSING_FACET, "sample-type", 1, "samples/count");
    expect(stacks("samples", 0, 2), "go-pgo", PROFCONV_E_MISSING_FACET, "start-lines", 1, "line where it begins");
    expect(stacks("samples", 10, 1), "go-pgo", PROFCONV_E_MISSING_FACET, "one-frame-stacks", 1, "single frame");
    expect(stacks("samples", 10, 2), "llvm", PROFCONV_E_MISSING_FACET, "no-addresses", 1, "names only");
    profconv_profile *p = stacks("samples", 10, 2);
    assert_int_equal(profconv_check(p, "icc", NULL, &error), PROFCONV_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "go-pgo"));
    profconv_profile_free(p);
}

/* ---- splitting ---- */

enum { ROWS = 103 };

typedef struct job {
    profconv_builder *merged;
    uint64_t parts, most, rows;
    int status;
} job;

static uint64_t rows_of(const profconv_profile *p) {
    return (uint64_t)profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE) + profconv_profile_rows(p, PROFCONV_TABLE_BRANCH) +
           profconv_profile_rows(p, PROFCONV_TABLE_RANGE) + profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS);
}

static int measure(void *user, const profconv_profile *part, uint64_t *bytes) {
    (void)user;
    *bytes = 100 + 10 * rows_of(part);
    return 0;
}

static int take(void *user, const profconv_profile *part, uint64_t index) {
    job *j = user;
    uint64_t bytes;
    assert_int_equal(index, j->parts);
    assert_int_equal(profconv_profile_check(part, NULL), PROFCONV_OK);
    measure(NULL, part, &bytes);
    assert_true(bytes <= 350);
    j->parts++;
    j->rows += rows_of(part);
    j->most = rows_of(part) > j->most ? rows_of(part) : j->most;
    return j->status ? j->status : profconv_merge(j->merged, part, 1, NULL);
}

static profconv_profile *many_rows(void) {
    profconv_builder *b = builder_new();
    profconv_sample_type t = {0};
    profconv_info info = {0};
    t.name = profconv_builder_cstring(b, "samples");
    t.unit = profconv_builder_cstring(b, "count");
    t.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(b, &t);
    info.duration_ns = 77;
    info.time_ns = 5;
    profconv_builder_set_info(b, &info);
    profconv_builder_comment(b, profconv_builder_cstring(b, "a comment"));
    profconv_id m = mapping(b, 0x1000, 0x9000, 0, "/p", "abcd");
    for (int64_t i = 1; i <= ROWS; i++) {
        profconv_id l = frame(b, m, (uint64_t)(0x1000 + i), i % 3 ? "f" : "g", 7);
        profconv_builder_sample(b, profconv_builder_stack(b, 0, l), 0, 0, &i, 1);
        profconv_builder_branch(b, l, profconv_builder_address_location(b, m, 0x2000, 0), (uint64_t)i, 1, 2);
        profconv_builder_range(b, l, l, (uint64_t)i);
        profconv_builder_address(b, l, (uint64_t)i);
    }
    return freeze(b);
}

/* Everything that was counted at one place, by the address there. */
static uint64_t digest(const profconv_profile *p) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *r = profconv_profile_branch(p, i);
        sum += profconv_profile_location(p, r->from)->address * (r->count * 3 + r->mispredicted * 5 + r->cycles * 7);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++)
        sum += profconv_profile_location(p, profconv_profile_range(p, i)->end)->address *
               profconv_profile_range(p, i)->count * 11;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++)
        sum += profconv_profile_location(p, profconv_profile_address(p, i)->location)->address *
               profconv_profile_address(p, i)->count * 13;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        profconv_id stack = profconv_profile_sample_stack(p, i);
        sum += profconv_profile_location(p, profconv_profile_stack(p, stack)->location)->address *
               (uint64_t)profconv_profile_sample_value(p, i, 0) * 17;
    }
    return sum;
}

static void test_parts_give_the_whole(void **state) {
    (void)state;
    job j = {builder_new(), 0, 0, 0, 0};
    profconv_split_options o = {0};
    profconv_profile *p = many_rows();
    o.struct_size = sizeof o;
    o.max_samples = 40;
    o.max_bytes = 350; /* 25 rows */
    o.measure = measure;
    o.part = take;
    o.user = &j;
    assert_int_equal(profconv_split(p, &o, NULL), PROFCONV_OK);
    assert_int_equal(j.rows, 4 * ROWS);
    assert_true(j.most <= 25 && j.most > 12 && j.parts < 4 * ROWS / 12); /* near the limit, never over it */
    profconv_profile *whole = freeze(j.merged);
    assert_int_equal(profconv_profile_info(whole)->duration_ns, 77);
    assert_int_equal(profconv_profile_total(whole, 0), ROWS * (ROWS + 1) / 2);
    for (int t = 0; t < PROFCONV_TABLE_COUNT_; t++)
        assert_int_equal(profconv_profile_rows(whole, (profconv_table)t), profconv_profile_rows(p, (profconv_table)t));
    assert_int_equal(digest(whole), digest(p));
    profconv_profile_free(whole);
    profconv_profile_free(p);
}

static void test_limits_that_cannot_be_met(void **state) {
    (void)state;
    job j = {builder_new(), 0, 0, 0, PROFCONV_E_IO};
    profconv_split_options o = {0};
    profconv_error error = {0};
    profconv_profile *p = many_rows();
    o.struct_size = sizeof o;
    o.part = take;
    o.user = &j;
    o.max_bytes = 105;
    assert_int_equal(profconv_split(p, &o, &error), PROFCONV_E_INVALID); /* nobody measures */
    o.measure = measure;
    assert_int_equal(profconv_split(p, &o, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "110 bytes"));
    o.max_bytes = 350;
    assert_int_equal(profconv_split(p, &o, &error), PROFCONV_E_IO); /* of the part that was not taken */
    assert_int_equal(j.parts, 1);
    profconv_builder_free(j.merged);
    profconv_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_go),
        cmocka_unit_test(test_parts_give_the_whole),
        cmocka_unit_test(test_limits_that_cannot_be_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
