/* SPDX-License-Identifier: MIT
 *
 * What must not grow: memory with the number of records, with forks of a process of many maps, or with a sort that no round
 * bounds; time with the number of maps in one process. Each recording is made while it is read, as a pipe, and
 * read under a limit that the growth in question would break.
 */
#include "tests/formats/perf_data_support.h"

#define ATTR_SIZE 64
#define SAMPLE_TYPE 0x7 /* IP, TID, TIME */

typedef struct source {
    uint8_t buffer[1 << 16];
    size_t size, at;
    uint64_t step, steps;
    void (*make)(struct source *s, uint64_t step); /* puts the records of one step into the buffer */
} source;

static void put(source *s, const void *data, size_t size) {
    assert_true(s->size + size <= sizeof s->buffer);
    memcpy(s->buffer + s->size, data, size);
    s->size += size;
}
static void put32(source *s, uint32_t v) { put(s, &v, 4); }
static void put64(source *s, uint64_t v) { put(s, &v, 8); }

static void record(source *s, uint32_t type, uint16_t misc, size_t size) {
    uint16_t length = (uint16_t)(8 + size);
    put32(s, type);
    put(s, &misc, 2);
    put(s, &length, 2);
}

static void sample(source *s, uint32_t pid, uint64_t time, uint64_t ip) {
    record(s, 9, 2, 24);
    put64(s, ip);
    put32(s, pid);
    put32(s, pid);
    put64(s, time);
}

static void trailer(source *s, uint32_t pid, uint64_t time) {
    put32(s, pid);
    put32(s, pid);
    put64(s, time);
}

static void map(source *s, uint32_t pid, uint64_t time, uint64_t start, uint64_t size, const char name[8]) {
    record(s, 1, 2, 32 + 8 + 16);
    put32(s, pid);
    put32(s, pid);
    put64(s, start);
    put64(s, size);
    put64(s, 0);
    put(s, name, 8);
    trailer(s, pid, time);
}

static void fork_of(source *s, uint32_t pid, uint32_t parent, uint64_t time) {
    record(s, 7, 0, 24 + 16);
    put32(s, pid);
    put32(s, parent);
    put32(s, pid);
    put32(s, parent);
    put64(s, time);
    trailer(s, pid, time);
}

static void head(source *s) {
    uint8_t attr[ATTR_SIZE] = {0};
    uint32_t type = 1, size = ATTR_SIZE;
    uint64_t period = 1000, sample_type = SAMPLE_TYPE, flags = 1u << 18;
    memcpy(attr, &type, 4);
    memcpy(attr + 4, &size, 4);
    memcpy(attr + 16, &period, 8);
    memcpy(attr + 24, &sample_type, 8);
    memcpy(attr + 40, &flags, 8);
    put(s, "PERFILE2", 8);
    put64(s, 16);
    record(s, 64, 0, ATTR_SIZE + 8);
    put(s, attr, ATTR_SIZE);
    put64(s, 1);
}

static int source_read(void *user, void *buffer, size_t size, size_t *got) {
    source *s = (source *)user;
    while (s->at == s->size) {
        s->at = s->size = 0;
        if (s->step > s->steps) {
            *got = 0;
            return 0;
        }
        if (s->step == 0)
            head(s);
        else
            s->make(s, s->step - 1);
        s->step++;
    }
    *got = s->size - s->at < size ? s->size - s->at : size;
    memcpy(buffer, s->buffer + s->at, *got);
    s->at += *got;
    return 0;
}

static reading read_made(void (*make)(source *s, uint64_t step), uint64_t steps, uint64_t max_memory) {
    static source s;
    memset(&s, 0, sizeof s);
    s.make = make;
    s.steps = steps;
    profconv_input_callbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.read = source_read;
    callbacks.user = &s;
    profconv_input *input = NULL;
    assert_int_equal(profconv_input_open_callbacks(&input, &callbacks, NULL, NULL, NULL), PROFCONV_OK);
    reading r = read_input(input, NULL, max_memory);
    if (r.status != PROFCONV_OK)
        fail_msg("%s", r.error.message);
    return r;
}

/* 100 samples of one of ten addresses, two ring buffers one after the other, and a round. */
static void steady(source *s, uint64_t step) {
    if (step == 0)
        map(s, 1, 0, 0x1000, 0x10000, "/bin/a\0");
    for (uint64_t i = 0; i < 100; i++)
        sample(s, 1, 1 + step * 100 + (i % 2 ? 50 + i / 2 : i / 2), 0x1000 + i % 10);
    record(s, 68, 0, 0);
}

static void test_many_records(void **state) {
    (void)state;
    reading r = read_made(steady, 20000, 6u << 20); /* 64 MB of records */
    assert_int_equal(profconv_profile_total(r.profile, 0), 2000000);
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_SAMPLE), 10);
    assert_int_equal(note_count(&r, "late-record"), 0);
    reading_free(&r);
}

/* The same without rounds: the sort is bounded, and local disorder is still put right. */
static void unbounded(source *s, uint64_t step) {
    if (step == 0)
        map(s, 1, 0, 0x1000, 0x10000, "/bin/a\0");
    for (uint64_t i = 0; i < 100; i++)
        sample(s, 1, 1 + step * 100 + (i % 2 ? 50 + i / 2 : i / 2), 0x1000 + i % 10);
}

static void test_no_rounds(void **state) {
    (void)state;
    reading r = read_made(unbounded, 20000, 24u << 20);
    assert_int_equal(profconv_profile_total(r.profile, 0), 2000000);
    assert_int_equal(note_count(&r, "late-record"), 0);
    reading_free(&r);
}

/* A parent with 2000 maps forks at every step; each child adds one map of its own. */
static void fleet(source *s, uint64_t step) {
    if (step < 20) {
        for (uint64_t i = 0; i < 100; i++)
            map(s, 1, 1 + step, 0x100000 + (step * 100 + i) * 0x1000, 0x1000, "/bin/p\0");
        return;
    }
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t pid = (uint32_t)(step * 100 + i);
        fork_of(s, pid, 1, step * 100);
        map(s, pid, step * 100 + 1, 0x100000, 0x800, "/lib/q\0");
        sample(s, pid, step * 100 + 2, 0x100010);
        sample(s, pid, step * 100 + 2, 0x100910);
    }
    record(s, 68, 0, 0);
}

static void test_forks(void **state) {
    (void)state;
    /* 50,000 processes; a copy of the maps for each would be 3 GB. */
    reading r = read_made(fleet, 520, 320u << 20);
    assert_int_equal(profconv_profile_total(r.profile, 0), 100000);
    assert_int_equal(note_count(&r, "unmapped-address"), 0);
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_MAPPING), 3); /* none, p, q */
    reading_free(&r);
}

/* 400,000 small maps of one process, in an order that is neither ascending nor descending, then one over them all. */
static void maps(source *s, uint64_t step) {
    if (step == 4000) {
        sample(s, 1, 5000, 0x100000 + 0x2000 * 12345 + 0x10);
        sample(s, 1, 5000, 0x100000 + 0x2000 * 12345 + 0x1010);
        map(s, 1, 5001, 0, UINT64_C(1) << 46, "/bin/b\0");
        sample(s, 1, 5002, 0x100000 + 0x2000 * 12345 + 0x1010);
        return;
    }
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t n = (step * 100 + i) * 179999 % 400000;
        map(s, 1, 1 + step, 0x100000 + 0x2000 * n, 0x1000, "/bin/a\0");
    }
}

static void test_maps(void **state) {
    (void)state;
    reading r = read_made(maps, 4001, 256u << 20);
    assert_int_equal(profconv_profile_total(r.profile, 0), 3);
    assert_int_equal(note_count(&r, "unmapped-address"), 1);
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_MAPPING), 3);
    reading_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_records), cmocka_unit_test(test_no_rounds),
                                       cmocka_unit_test(test_forks), cmocka_unit_test(test_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
