/* SPDX-License-Identifier: MIT
 *
 * The branch, range and address rows of last-branch recordings, filtered by one binary, are the three maps that
 * AutoFDO's tools compute for it, byte for byte in their text form. Expected values are those tools' own output.
 */
#include "tests/formats/perf_data_support.h"

typedef struct row {
    uint64_t a, b, count;
} row;

typedef struct rows {
    row *data;
    size_t count, capacity;
} rows;

static void add(rows *r, uint64_t a, uint64_t b, uint64_t count) {
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 64;
        r->data = (row *)realloc(r->data, r->capacity * sizeof *r->data);
        assert_non_null(r->data);
    }
    row x = {a, b, count};
    r->data[r->count++] = x;
}

static int by_key(const void *x, const void *y) {
    const row *a = (const row *)x, *b = (const row *)y;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

/* Sorted, equal keys added up. */
static void settle(rows *r) {
    if (r->count == 0)
        return;
    qsort(r->data, r->count, sizeof *r->data, by_key);
    size_t kept = 0;
    for (size_t i = 1; i < r->count; i++)
        if (by_key(&r->data[kept], &r->data[i]) == 0)
            r->data[kept].count += r->data[i].count;
        else
            r->data[++kept] = r->data[i];
    r->count = kept + 1;
}

/* File offset of a location in the binary; 0 when it is elsewhere. */
static int offset_in(const profconv_profile *p, const char *file, profconv_id location, uint64_t *offset) {
    const profconv_location *l = profconv_profile_location(p, location);
    const profconv_mapping *m = profconv_profile_mapping(p, l->mapping);
    const char *name = text_of(p, m->file), *base = strrchr(name, '/');
    if (l->mapping == 0 || strcmp(base ? base + 1 : name, file) != 0)
        return 0;
    *offset = l->address - m->start + m->file_offset;
    return 1;
}

static void collect(const profconv_profile *p, const char *file, rows *ranges, rows *addresses, rows *branches) {
    uint64_t a, b;
    uint32_t n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE);
    for (uint32_t i = 0; i < n; i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        if (offset_in(p, file, r->begin, &a) && offset_in(p, file, r->end, &b))
            add(ranges, a, b, r->count);
    }
    n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH);
    for (uint32_t i = 0; i < n; i++) {
        const profconv_branch *r = profconv_profile_branch(p, i);
        if (offset_in(p, file, r->from, &a) && offset_in(p, file, r->to, &b))
            add(branches, a, b, r->count);
    }
    n = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS);
    for (uint32_t i = 0; i < n; i++) {
        const profconv_address *r = profconv_profile_address(p, i);
        if (offset_in(p, file, r->location, &a))
            add(addresses, a, 0, r->count);
    }
    /* A recording without branch records has its addresses in the leaves of its stacks. */
    n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE) + n ? 0 : profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE);
    for (uint32_t i = 0; i < n; i++)
        if (offset_in(p, file, profconv_profile_stack(p, profconv_profile_sample_stack(p, i))->location, &a))
            add(addresses, a, 0, (uint64_t)profconv_profile_sample_value(p, i, 0));
    settle(ranges);
    settle(addresses);
    settle(branches);
}

static char *maps_text(const profconv_profile *p, const char *file) {
    rows ranges = {0}, addresses = {0}, branches = {0};
    collect(p, file, &ranges, &addresses, &branches);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fprintf(f, "%zu\n", ranges.count);
    for (size_t i = 0; i < ranges.count; i++)
        fprintf(f, "%llx-%llx:%llu\n", (unsigned long long)ranges.data[i].a, (unsigned long long)ranges.data[i].b,
                (unsigned long long)ranges.data[i].count);
    fprintf(f, "%zu\n", addresses.count);
    for (size_t i = 0; i < addresses.count; i++)
        fprintf(f, "%llx:%llu\n", (unsigned long long)addresses.data[i].a, (unsigned long long)addresses.data[i].count);
    fprintf(f, "%zu\n", branches.count);
    for (size_t i = 0; i < branches.count; i++)
        fprintf(f, "%llx->%llx:%llu\n", (unsigned long long)branches.data[i].a, (unsigned long long)branches.data[i].b,
                (unsigned long long)branches.data[i].count);
    fclose(f);
    free(ranges.data);
    free(addresses.data);
    free(branches.data);
    return text;
}

static void first_difference(const char *name, const char *got, const char *expected) {
    unsigned line = 1;
    while (*got && *got == *expected) {
        line += *got == '\n';
        got++;
        expected++;
    }
    if (*got != *expected)
        fail_msg("%s differs from line %u on: got \"%.40s\", expected \"%.40s\"", name, line, got, expected);
}

/* Which recording, which binary in it, whose expected maps. */
static const struct {
    const char *recording, *binary, *expected;
} cases[] = {
    {"lbr/sorting.gcc.lbr.data", "sorting.gcc", "lbr/expected/sorting.gcc.maps.txt"},
    {"lbr/shapes.gcc.lbr.data", "shapes.gcc", "lbr/expected/shapes.gcc.maps.txt"},
    {"lbr/shapes.clang.lbr.data", "shapes.clang", "lbr/expected/shapes.clang.maps.txt"},
    {"autofdo/test.lbr", "test.binary", "autofdo/expected/test.maps.txt"},
    {"perfdata/real/propeller_sample_1.perfdata1", "propeller_sample_1.bin.gen",
     "autofdo/expected/propeller_sample_1.maps.txt"},
    {"perfdata/real/ro_sample.perf", "libro_sample.so", "autofdo/expected/ro_sample.maps.txt"},
    {"perfdata/real/perf-kernel.data", "[kernel.kallsyms]", "autofdo/expected/perf-kernel.maps.txt"},
    {"perfdata/real/perf-vmlinux.data", "[kernel.kallsyms]", "autofdo/expected/perf-vmlinux.maps.txt"},
};

static void test_maps(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[4608];
        size_t size = 0;
        snprintf(path, sizeof path, "%s/%s", corpus(), cases[i].expected);
        uint8_t *expected = load_file(path, &size);
        expected = (uint8_t *)realloc(expected, size + 1);
        assert_non_null(expected);
        expected[size] = 0;
        snprintf(path, sizeof path, "%s/%s", corpus(), cases[i].recording);
        reading r = read_path(path, NULL, 0);
        assert_int_equal(r.status, PROFCONV_OK);
        char *text = maps_text(r.profile, cases[i].binary);
        first_difference(cases[i].recording, text, (const char *)expected);
        free(text);
        free(expected);
        reading_free(&r);
    }
}

int main(void) {
    if (!corpus()) {
        printf("skipped: the corpus is not there (PROFCONV_CORPUS)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
