/* SPDX-License-Identifier: MIT
 *
 * The perf.data writer: branch counts are given exactly by the entries of the samples, by the rules that AutoFDO's
 * tools read them with; stacks come back; what perf.data cannot hold is refused or counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <profconv/profconv.h>

typedef struct bench {
    profconv_registry *registry;
    profconv_options *settings;
    profconv_report *report;
    profconv_builder *builder;
    profconv_profile *profile; /* what is written */
    profconv_output *output;
    profconv_profile *back;
    profconv_error error;
} bench;

static void start(bench *b) {
    memset(b, 0, sizeof *b);
    assert_int_equal(profconv_registry_new(&b->registry, NULL, &b->error), PROFCONV_OK);
    assert_int_equal(profconv_options_new(&b->settings, NULL, &b->error), PROFCONV_OK);
    assert_int_equal(profconv_report_new(&b->report, NULL, &b->error), PROFCONV_OK);
    assert_int_equal(profconv_builder_new(&b->builder, NULL, NULL, &b->error), PROFCONV_OK);
}

static void end(bench *b) {
    profconv_profile_free(b->profile);
    profconv_profile_free(b->back);
    profconv_output_free(b->output);
    profconv_builder_free(b->builder);
    profconv_report_free(b->report);
    profconv_options_free(b->settings);
    profconv_registry_free(b->registry);
}

static profconv_convert_options options_of(const bench *b) {
    profconv_convert_options o = {0};
    o.struct_size = sizeof o;
    o.settings = b->settings;
    o.from = o.to = "perf-data";
    return o;
}

static int write_it(bench *b) {
    profconv_convert_options o = options_of(b);
    if (!b->profile)
        assert_int_equal(profconv_builder_freeze(b->builder, &b->profile, &b->error), PROFCONV_OK);
    profconv_output_free(b->output);
    assert_int_equal(profconv_output_open_memory(&b->output, NULL, &b->error), PROFCONV_OK);
    return profconv_write(b->registry, b->profile, b->output, &o, b->report, &b->error);
}

static void read_it(bench *b) {
    profconv_convert_options o = options_of(b);
    const uint8_t *data = NULL;
    size_t size = 0;
    profconv_input *input = NULL;
    o.settings = NULL; /* they are the writer's */
    assert_int_equal(profconv_output_bytes(b->output, &data, &size), PROFCONV_OK);
    assert_int_equal(profconv_input_open_memory(&input, data, size, NULL, &b->error), PROFCONV_OK);
    profconv_profile_free(b->back);
    if (profconv_read(b->registry, input, &o, &b->back, &b->error))
        fail_msg("%s", b->error.message);
    profconv_input_free(input);
}

static void round_trip(bench *b) {
    if (write_it(b))
        fail_msg("%s", b->error.message);
    read_it(b);
}

static void set(bench *b, const char *assignment) {
    assert_int_equal(profconv_options_set(b->settings, assignment, &b->error), PROFCONV_OK);
}

static uint64_t noted(const bench *b, profconv_note_kind kind, const char *cause) {
    for (size_t i = 0; i < profconv_report_count(b->report); i++) {
        profconv_note note;
        if (profconv_report_get(b->report, i, &note) == PROFCONV_OK && note.kind == kind &&
            strcmp(note.cause, cause) == 0)
            return note.count;
    }
    return 0;
}

static profconv_id mapping(bench *b, const char *file, uint32_t kind, uint64_t begin, uint64_t finish, uint64_t offset,
                           const char *build_id) {
    profconv_mapping row = {0};
    row.file = profconv_builder_cstring(b->builder, file);
    row.build_id = profconv_builder_cstring(b->builder, build_id);
    row.kind = kind;
    row.start = begin;
    row.limit = finish;
    row.file_offset = offset;
    return profconv_builder_mapping(b->builder, &row);
}

static profconv_id at(bench *b, profconv_id m, uint64_t address) {
    return profconv_builder_address_location(b->builder, m, address, 0);
}

/* ---- branch records ---- */

static uint64_t offset_of(const profconv_profile *p, profconv_id location) {
    const profconv_location *l = profconv_profile_location(p, location);
    const profconv_mapping *m = profconv_profile_mapping(p, l->mapping);
    return l->mapping ? l->address - m->start + m->file_offset : UINT64_MAX;
}

static int is_in(const profconv_profile *p, profconv_id location, const char *file) {
    const profconv_location *l = profconv_profile_location(p, location);
    return location && l->mapping &&
           strcmp(profconv_profile_string(p, profconv_profile_mapping(p, l->mapping)->file).data, file) == 0;
}

typedef struct found {
    uint64_t count, mispredicted, cycles;
} found;

static found branch_of(const profconv_profile *p, const char *from_file, uint64_t from, const char *to_file,
                       uint64_t to) {
    found f = {0, 0, 0};
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *r = profconv_profile_branch(p, i);
        int same_from = from_file ? is_in(p, r->from, from_file) && offset_of(p, r->from) == from : r->from == 0;
        int same_to = to_file ? is_in(p, r->to, to_file) && offset_of(p, r->to) == to : r->to == 0;
        if (same_from && same_to) {
            f.count += r->count;
            f.mispredicted += r->mispredicted;
            f.cycles += r->cycles;
        }
    }
    return f;
}

static uint64_t range_of(const profconv_profile *p, const char *file, uint64_t begin, uint64_t finish) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        if (is_in(p, r->begin, file) && is_in(p, r->end, file) && offset_of(p, r->begin) == begin &&
            offset_of(p, r->end) == finish)
            count += r->count;
    }
    return count;
}

static uint64_t total(const profconv_profile *p, profconv_table table) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, table); i++)
        sum +=
            table == PROFCONV_TABLE_RANGE ? profconv_profile_range(p, i)->count : profconv_profile_address(p, i)->count;
    return sum;
}

#define PROG "/opt/prog"
#define LIB "/opt/lib.so"

/* A loop that calls into a library, with an entry from nowhere and an exit to nowhere. */
static void make_loop(bench *b) {
    profconv_id prog = mapping(b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x3000, 0x1000,
                               "0123456789abcdef0123456789abcdef01234567");
    profconv_id lib = mapping(b, LIB, PROFCONV_MAPPING_LIBRARY, 0x2000, 0x4000, 0x2000, "fedcba98");
    profconv_builder_branch(b->builder, 0, at(b, prog, 0x1100), 3, 0, 0); /* in */
    profconv_builder_range(b->builder, at(b, prog, 0x1100), at(b, prog, 0x1120), 3);
    profconv_builder_branch(b->builder, at(b, prog, 0x1120), at(b, prog, 0x1200), 3, 1, 10);
    profconv_builder_range(b->builder, at(b, prog, 0x1200), at(b, prog, 0x1230), 1003);
    profconv_builder_branch(b->builder, at(b, prog, 0x1230), at(b, lib, 0x2040), 1000, 250, 7001); /* call */
    profconv_builder_range(b->builder, at(b, lib, 0x2040), at(b, lib, 0x2050), 1000);
    profconv_builder_branch(b->builder, at(b, lib, 0x2050), at(b, prog, 0x1200), 1000, 0,
                            0);                                           /* as a tail of the loop */
    profconv_builder_branch(b->builder, at(b, prog, 0x1230), 0, 3, 0, 0); /* out */
    profconv_builder_address(b->builder, at(b, prog, 0x1210), 40);
    profconv_builder_address(b->builder, at(b, lib, 0x2044), 5);
}

static void expect_loop(const profconv_profile *p) {
    found f = branch_of(p, NULL, 0, PROG, 0x1100);
    assert_int_equal(f.count, 3);
    f = branch_of(p, PROG, 0x1120, PROG, 0x1200);
    assert_int_equal(f.count, 3);
    assert_int_equal(f.mispredicted, 1);
    assert_int_equal(f.cycles, 10);
    f = branch_of(p, PROG, 0x1230, LIB, 0x2040);
    assert_int_equal(f.count, 1000);
    assert_int_equal(f.mispredicted, 250);
    assert_int_equal(f.cycles, 7001);
    assert_int_equal(branch_of(p, LIB, 0x2050, PROG, 0x1200).count, 1000);
    assert_true(branch_of(p, PROG, 0x1230, NULL, 0).count >= 3);
    assert_int_equal(range_of(p, PROG, 0x1100, 0x1120), 3);
    assert_int_equal(range_of(p, PROG, 0x1200, 0x1230), 1003);
    assert_int_equal(range_of(p, LIB, 0x2040, 0x2050), 1000);
    assert_int_equal(total(p, PROFCONV_TABLE_RANGE), 2006);
    assert_int_equal(total(p, PROFCONV_TABLE_ADDRESS), 45);
}

static void test_counts_are_exact(void **state) {
    (void)state;
    static const char *const lengths[] = {"perf-data.entries=2", "perf-data.entries=3", "perf-data.entries=32",
                                          "perf-data.entries=2000"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        bench b;
        start(&b);
        make_loop(&b);
        set(&b, lengths[i]);
        round_trip(&b);
        expect_loop(b.back);
        end(&b);
    }
}

static void test_build_ids_and_names_are_kept(void **state) {
    (void)state;
    bench b;
    int seen = 0;
    start(&b);
    make_loop(&b);
    round_trip(&b);
    for (uint32_t i = 1; i < profconv_profile_rows(b.back, PROFCONV_TABLE_MAPPING); i++) {
        const profconv_mapping *m = profconv_profile_mapping(b.back, i);
        const char *file = profconv_profile_string(b.back, m->file).data,
                   *id = profconv_profile_string(b.back, m->build_id).data;
        if (strcmp(file, PROG) == 0) {
            assert_string_equal(id, "0123456789abcdef0123456789abcdef01234567");
            seen |= 1;
        }
        if (strcmp(file, LIB) == 0) {
            assert_string_equal(id, "fedcba98");
            seen |= 2;
        }
    }
    assert_int_equal(seen, 3);
    end(&b);
}

/* The rule for a duplicated newest entry: two equal long back edges on top of a stack would lose one of them. */
static void test_long_loops_are_not_on_top(void **state) {
    (void)state;
    bench b;
    start(&b);
    profconv_id prog = mapping(&b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x9000, 0x1000, "");
    profconv_builder_branch(b.builder, at(&b, prog, 0x7000), at(&b, prog, 0x1000), 101, 0, 0);
    profconv_builder_range(b.builder, at(&b, prog, 0x1000), at(&b, prog, 0x7000), 100);
    round_trip(&b);
    assert_int_equal(branch_of(b.back, PROG, 0x7000, PROG, 0x1000).count, 101);
    assert_int_equal(range_of(b.back, PROG, 0x1000, 0x7000), 100);
    assert_int_equal(profconv_profile_report(b.back) ? 0 : 1, 0);
    end(&b);
}

static void test_unusable_ranges_are_counted(void **state) {
    (void)state;
    bench b;
    start(&b);
    profconv_id prog = mapping(&b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x900000, 0x1000, "");
    profconv_id lib = mapping(&b, LIB, PROFCONV_MAPPING_LIBRARY, 0x2000, 0x4000, 0x2000, "");
    profconv_builder_range(b.builder, at(&b, prog, 0x1100), at(&b, prog, 0x1120), 4);
    profconv_builder_range(b.builder, at(&b, prog, 0x1120), at(&b, prog, 0x1100), 5);   /* backwards */
    profconv_builder_range(b.builder, at(&b, prog, 0x1000), at(&b, prog, 0x101001), 6); /* a byte over 1 MiB */
    profconv_builder_range(b.builder, at(&b, prog, 0x2000), at(&b, lib, 0x2010), 7);    /* across files */
    round_trip(&b);
    assert_int_equal(noted(&b, PROFCONV_NOTE_DROPPED, "range-unusable"), 3);
    assert_int_equal(total(b.back, PROFCONV_TABLE_RANGE), 4);
    assert_int_equal(noted(&b, PROFCONV_NOTE_INFO, "range-opened"), 4);
    end(&b);
}

/* One walk through a loop with inner loops, each of which is come to once: nothing is left over that would need an
 * entry to or from outside. A ring apart from it takes one more sample, which has to end with one. */
static void test_walks_are_as_many_as_recorded(void **state) {
    (void)state;
    enum { LOOPS = 40 };
    for (int ring = 0; ring < 2; ring++) {
        bench b;
        uint64_t outside = 0, branches = 0;
        int64_t samples = 0;
        start(&b);
        profconv_id prog = mapping(&b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x9000, 0x1000, "");
        profconv_builder_branch(b.builder, at(&b, prog, 0x1010), at(&b, prog, 0x2000), 1, 0, 0);
        for (uint64_t i = 0, place = 0x2000; i < LOOPS; i++, place += 0x100) {
            profconv_builder_range(b.builder, at(&b, prog, place), at(&b, prog, place + 0x10), 10);
            profconv_builder_branch(b.builder, at(&b, prog, place + 0x10), at(&b, prog, place), 10, 2, 0);
            profconv_builder_range(b.builder, at(&b, prog, place), at(&b, prog, place + 0x20), 1);
            profconv_builder_branch(b.builder, at(&b, prog, place + 0x20), at(&b, prog, place + 0x100), 1, 0, 0);
        }
        if (ring) {
            profconv_builder_range(b.builder, at(&b, prog, 0x8000), at(&b, prog, 0x8010), 7);
            profconv_builder_branch(b.builder, at(&b, prog, 0x8010), at(&b, prog, 0x8000), 7, 0, 0);
        }
        round_trip(&b);
        for (uint32_t i = 0; i < profconv_profile_rows(b.back, PROFCONV_TABLE_BRANCH); i++) {
            const profconv_branch *r = profconv_profile_branch(b.back, i);
            *(r->from && r->to ? &branches : &outside) += r->count;
        }
        for (uint32_t i = 0; i < profconv_profile_rows(b.back, PROFCONV_TABLE_SAMPLE); i++)
            samples += profconv_profile_sample_value(b.back, i, 0);
        assert_int_equal(branches, 1 + 11 * LOOPS + (ring ? 7 : 0));
        assert_int_equal(total(b.back, PROFCONV_TABLE_RANGE), 11 * LOOPS + (ring ? 7 : 0));
        assert_int_equal(outside, ring);
        assert_int_equal(samples, 1 + ring);
        end(&b);
    }
}

static void test_too_many_counts_are_refused(void **state) {
    (void)state;
    bench b;
    start(&b);
    profconv_id prog = mapping(&b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x9000, 0x1000, "");
    profconv_builder_range(b.builder, at(&b, prog, 0x1000), at(&b, prog, 0x1010), UINT64_MAX);
    assert_int_equal(write_it(&b), PROFCONV_E_LIMIT);
    assert_non_null(strstr(b.error.message, "max-entries"));
    set(&b, "perf-data.entries=1");
    assert_int_equal(write_it(&b), PROFCONV_E_INVALID);
    end(&b);
}

static void test_seeds(void **state) {
    (void)state;
    uint8_t *first = NULL;
    size_t first_size = 0;
    for (int i = 0; i < 3; i++) {
        static const char *const seeds[] = {"perf-data.seed=5", "perf-data.seed=5", "perf-data.seed=6"};
        const uint8_t *data = NULL;
        size_t size = 0;
        bench b;
        start(&b);
        make_loop(&b);
        /* A second way through the loop, so that there is something to choose. */
        profconv_id prog = mapping(&b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x3000, 0x1000,
                                   "0123456789abcdef0123456789abcdef01234567");
        profconv_builder_range(b.builder, at(&b, prog, 0x1200), at(&b, prog, 0x1260), 500);
        profconv_builder_branch(b.builder, at(&b, prog, 0x1260), at(&b, prog, 0x1200), 500, 0, 0);
        set(&b, seeds[i]);
        assert_int_equal(write_it(&b), PROFCONV_OK);
        assert_int_equal(profconv_output_bytes(b.output, &data, &size), PROFCONV_OK);
        if (i == 0) {
            first = malloc(size);
            assert_non_null(first);
            memcpy(first, data, size);
            first_size = size;
        } else {
            assert_int_equal(size == first_size && memcmp(first, data, size) == 0, i == 1);
        }
        end(&b);
    }
    free(first);
}

/* ---- stacks ---- */

static void types(bench *b, const char *count, const char *weight, const char *unit) {
    profconv_sample_type row = {0};
    row.name = profconv_builder_cstring(b->builder, count);
    row.unit = profconv_builder_cstring(b->builder, "count");
    row.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(b->builder, &row);
    row.name = profconv_builder_cstring(b->builder, weight);
    row.unit = profconv_builder_cstring(b->builder, unit);
    row.role = PROFCONV_ROLE_WEIGHT;
    profconv_builder_sample_type(b->builder, &row);
}

static void sample(bench *b, profconv_id stack, uint32_t first, int64_t count, int64_t weight) {
    int64_t values[2] = {count, weight};
    profconv_builder_sample(b->builder, stack, 0, first, values, 2);
}

static void test_sums_come_back(void **state) {
    (void)state;
    bench b;
    start(&b);
    profconv_id prog = mapping(&b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x9000, 0x1000, "");
    profconv_id kernel = mapping(&b, "[kernel.kallsyms]", PROFCONV_MAPPING_KERNEL, UINT64_C(0xffffffff81000000),
                                 UINT64_C(0xffffffff82000000), 0, "");
    types(&b, "cycles_samples", "cycles", "count");
    types(&b, "page-faults_samples", "page-faults", "count");
    profconv_id stack = profconv_builder_stack(b.builder, 0, at(&b, prog, 0x1234));
    profconv_id inner = profconv_builder_stack(b.builder, stack, at(&b, prog, 0x5678));
    profconv_id deep = profconv_builder_stack(b.builder, inner, at(&b, kernel, UINT64_C(0xffffffff81000777)));
    sample(&b, inner, 0, 7, 1003); /* does not divide */
    sample(&b, deep, 0, 1, 50);
    sample(&b, deep, 2, 2, 9);
    round_trip(&b);
    assert_int_equal(profconv_profile_rows(b.back, PROFCONV_TABLE_SAMPLE_TYPE), 4);
    assert_int_equal(profconv_profile_total(b.back, 0), 8);
    assert_int_equal(profconv_profile_total(b.back, 1), 1053);
    assert_int_equal(profconv_profile_total(b.back, 2), 2);
    assert_int_equal(profconv_profile_total(b.back, 3), 9);
    assert_string_equal(profconv_profile_string(b.back, profconv_profile_sample_type(b.back, 3)->name).data,
                        "page-faults");
    int seen = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(b.back, PROFCONV_TABLE_SAMPLE); i++) {
        uint64_t offsets[4] = {0};
        size_t n = 0;
        for (profconv_id node = profconv_profile_sample_stack(b.back, i); node;
             node = profconv_profile_stack(b.back, node)->parent)
            offsets[n++ & 3] = offset_of(b.back, profconv_profile_stack(b.back, node)->location);
        if (n == 2)
            seen |= offsets[0] == 0x5678 && offsets[1] == 0x1234;
        if (n == 3) /* the first user frame under the kernel was interrupted, not called from */
            seen |= (offsets[0] == 0x777 && offsets[1] == 0x5678 && offsets[2] == 0x1234) << 1;
    }
    assert_int_equal(seen, 3);
    end(&b);
}

static void test_many_samples_become_one(void **state) {
    (void)state;
    bench b;
    start(&b);
    profconv_id prog = mapping(&b, PROG, PROFCONV_MAPPING_EXECUTABLE, 0x1000, 0x9000, 0x1000, "");
    types(&b, "samples", "cpu", "nanoseconds");
    sample(&b, profconv_builder_stack(b.builder, 0, at(&b, prog, 0x1234)), 0, 1001, 5000);
    set(&b, "perf-data.repeat=1000");
    round_trip(&b);
    assert_int_equal(noted(&b, PROFCONV_NOTE_LOST, "sample-counts"), 1000);
    assert_int_equal(profconv_profile_total(b.back, 0), 1);
    assert_int_equal(profconv_profile_total(b.back, 1), 5000);
    assert_string_equal(profconv_profile_string(b.back, profconv_profile_sample_type(b.back, 1)->name).data, "cpu");
    end(&b);
}

static profconv_id named(bench *b, const char *name) {
    profconv_function function = {0};
    profconv_line line = {0};
    profconv_location row = {0};
    function.name = function.linkage_name = profconv_builder_cstring(b->builder, name);
    line.function = profconv_builder_function(b->builder, &function);
    return profconv_builder_location(b->builder, &row, &line, 1);
}

static void test_names_only(void **state) {
    (void)state;
    char folder[] = "/tmp/profconv-test-XXXXXX", setting[100], path[100], line[200];
    bench b;
    start(&b);
    assert_non_null(mkdtemp(folder));
    types(&b, "samples", "cpu", "nanoseconds");
    profconv_id outer = profconv_builder_stack(b.builder, 0, named(&b, "outer frame"));
    sample(&b, profconv_builder_stack(b.builder, outer, named(&b, "inner")), 0, 3, 30);
    assert_int_equal(write_it(&b), PROFCONV_E_MISSING_FACET);
    assert_non_null(strstr(b.error.message, "perf-map"));
    snprintf(setting, sizeof setting, "perf-data.perf-map=%s", folder);
    set(&b, setting);
    round_trip(&b);
    assert_int_equal(profconv_profile_total(b.back, 0), 3);
    /* Each frame's address lies in the piece of its name. */
    snprintf(path, sizeof path, "%s/perf-1000.map", folder);
    profconv_id node = profconv_profile_sample_stack(b.back, 0);
    static const char *const names[] = {"inner", "outer frame"};
    for (int i = 0; i < 2; i++, node = profconv_profile_stack(b.back, node)->parent) {
        const profconv_location *l = profconv_profile_location(b.back, profconv_profile_stack(b.back, node)->location);
        FILE *file = fopen(path, "r");
        int seen = 0;
        assert_int_equal(profconv_profile_mapping(b.back, l->mapping)->kind, PROFCONV_MAPPING_JIT);
        assert_non_null(file);
        while (fgets(line, sizeof line, file)) {
            unsigned long long first, size;
            int read = 0;
            assert_int_equal(sscanf(line, "%llx %llx %n", &first, &size, &read), 2);
            line[strcspn(line, "\n")] = 0;
            if (l->address >= first && l->address < first + size)
                seen += strcmp(line + read, names[i]) == 0;
        }
        fclose(file);
        assert_int_equal(seen, 1);
    }
    unlink(path);
    rmdir(folder);
    end(&b);
}

static void test_nothing_to_write(void **state) {
    (void)state;
    bench b;
    start(&b);
    profconv_source source = {0};
    source.name = profconv_builder_cstring(b.builder, "f");
    source.total = 1;
    profconv_builder_source(b.builder, &source);
    assert_int_equal(write_it(&b), PROFCONV_E_MISSING_FACET);
    end(&b);
    start(&b);
    types(&b, "samples", "cpu", "nanoseconds");
    assert_int_equal(write_it(&b), PROFCONV_E_EMPTY);
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_exact),
        cmocka_unit_test(test_build_ids_and_names_are_kept),
        cmocka_unit_test(test_long_loops_are_not_on_top),
        cmocka_unit_test(test_unusable_ranges_are_counted),
        cmocka_unit_test(test_walks_are_as_many_as_recorded),
        cmocka_unit_test(test_too_many_counts_are_refused),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_sums_come_back),
        cmocka_unit_test(test_many_samples_become_one),
        cmocka_unit_test(test_names_only),
        cmocka_unit_test(test_nothing_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
