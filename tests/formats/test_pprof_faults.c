/* SPDX-License-Identifier: MIT
 *
 * What is refused, and in which words; damaged and unlucky reading: cut files, single bytes at a time, no memory, no
 * room.
 */
#include "tests/formats/pprof_help.h"

#include "libprofconv/formats/pprof/wire.h"

/* One fault each; the verdicts are also those of `go tool pprof -raw`. Each message says what is wrong with what. */
static const struct {
    const char *file;
    const char *message;
} faults[] = {
    {"bad_empty.pb", "empty input"},
    {"bad_no_strings.pb", "no string table"},
    {"bad_string0.pb", "offset 0x0: string 0 has 5 bytes, it must be the empty string"},
    {"bad_location_missing.pb", "sample 2: location id 77 does not exist"},
    {"bad_location_large.pb", "sample 1: location id 1099511627776 does not exist"},
    {"bad_location_zero.pb", "sample 1: location id 0 does not exist"},
    {"bad_location_twice.pb", "second location with id 1"},
    {"bad_location_id0.pb", "location 2 has id 0"},
    {"bad_function_missing.pb", "location id 1: line 2: function id 9 does not exist"},
    {"bad_function_zero.pb", "location id 1: line 1: function id 0 does not exist"},
    {"bad_function_twice.pb", "second function with id 1"},
    {"bad_function_id0.pb", "function 1 has id 0"},
    {"bad_mapping_twice.pb", "second mapping with id 5"},
    {"bad_mapping_id0.pb", "mapping 1 has id 0"},
    {"bad_values.pb", "sample 2: 2 values, but 1 sample types"},
    {"bad_no_types.pb", "1 samples, but no sample type"},
    {"bad_string_range.pb", "function id 1: name is string 1000, but the string table has 8"},
    {"bad_string_negative.pb", "function id 1: filename is string -2, which no string table has"},
    {"bad_label_range.pb", "sample 1: label value is string 500, but the string table has 7"},
    {"bad_type_range.pb", "sample type 1: type is string 300, but the string table has 7"},
    {"bad_comment_range.pb", "profile: comment is string 44, but the string table has 7"},
    {"bad_wire_type.pb", "period (field 12) has wire type 2, expected 0"},
    {"bad_wire_type_sample.pb", "sample 1: key (field 1) has wire type 2, expected 0"},
    {"bad_group.pb", "field 20 has wire type 3"},
    {"bad_long_number.pb", "number of more than 10 bytes"},
    {"bad_long_number_packed.pb", "sample 1: number of more than 10 bytes in packed location_id"},
    {"bad_concatenated.pb", "second mapping with id 1 (concatenated profiles?"},
    {"bad_concatenated_time.pb", "concatenated profiles: a second time_nanos"},
    {"bad_truncated.pb", "truncated: string_table (field 6)"},
};

static void each_fault(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        bytes b = seed(faults[i].file);
        profconv_profile *p;
        profconv_error error = {0};
        int status = read_with(b.data, b.size, NULL, NULL, &p, &error);
        if (status != PROFCONV_E_FORMAT || error.status != status || !strstr(error.message, faults[i].message))
            fail_msg("%s: status %d, \"%s\", expected \"%s\"", faults[i].file, status, error.message,
                     faults[i].message);
        assert_null(p);
        free(b.data);
    }
}

/* Every file whose name says so is in the list above. */
static int bad_files;
static void count_bad(const char *path, const char *name) {
    (void)path;
    bad_files += strncmp(name, "bad_", 4) == 0;
}

static void all_faults_listed(void **state) {
    (void)state;
    bad_files = 0;
    assert_true(each_file(SEEDS, count_bad) > 30);
    assert_int_equal(bad_files, sizeof faults / sizeof *faults);
}

/* ---- a byte at a time ---- */

typedef struct drip {
    const unsigned char *data;
    size_t size, at;
} drip;

static int drip_read(void *user, void *buffer, size_t size, size_t *got) {
    drip *d = user;
    (void)size;
    *got = d->at < d->size;
    if (*got)
        memcpy(buffer, d->data + d->at++, 1);
    return 0;
}

static void drip_file(const char *path, const char *name) {
    if (strncmp(name, "bad_", 4) == 0)
        return;
    bytes b = load(path);
    drip d = {b.data, b.size, 0};
    profconv_input_callbacks callbacks = {sizeof callbacks, drip_read, NULL, NULL, NULL, &d};
    profconv_input *input;
    profconv_profile *p;
    profconv_error error = {0};
    assert_int_equal(profconv_input_open_callbacks(&input, &callbacks, name, NULL, &error), 0);
    if (read_from(input, NULL, NULL, &p, &error))
        fail_msg("%s: %s", name, error.message);
    profconv_profile *whole = read_ok(b.data, b.size);
    assert_same_profile(p, whole, name);
    profconv_profile_free(p);
    profconv_profile_free(whole);
    profconv_input_free(input);
    free(b.data);
}

static void single_bytes(void **state) {
    (void)state;
    assert_true(each_file(SEEDS, drip_file) > 30);
}

/* ---- cut files ---- */

/* Nonzero when the top-level fields of a file can end at `at`. */
static int is_boundary(bytes b, size_t at) {
    size_t place = 0;
    while (place < at) {
        pfc_wire_field field;
        uint64_t need;
        if (pfc_wire_next(b.data + place, b.size - place, &field, &need) != PFC_WIRE_OK)
            return 0;
        place += field.total;
    }
    return place == at;
}

static void cut_file(const char *path, const char *name) {
    size_t length = strlen(name);
    if (strncmp(name, "bad_", 4) == 0 || strcmp(name + length - 3, ".gz") == 0)
        return;
    bytes b = load(path);
    for (size_t n = 0; n < b.size; n++) {
        failing_alloc heap = {0};
        profconv_allocator allocator = failing_allocator(&heap);
        profconv_profile *p;
        profconv_error error = {0};
        unsigned char *exact = malloc(n ? n : 1); /* so that a read past the end shows */
        assert_non_null(exact);
        memcpy(exact, b.data, n);
        int status = read_with(exact, n, &allocator, NULL, &p, &error);
        if (!is_boundary(b, n)) {
            if (status != PROFCONV_E_FORMAT || !strstr(error.message, "truncated"))
                fail_msg("%s cut at %zu: status %d, \"%s\"", name, n, status, error.message);
        } else if (status != 0 && status != PROFCONV_E_FORMAT) {
            fail_msg("%s cut at %zu: status %d, \"%s\"", name, n, status, error.message);
        }
        profconv_profile_free(p);
        free(exact);
        assert_int_equal(heap.live, 0);
        assert_int_equal(heap.wrong_sizes, 0);
    }
    free(b.data);
}

static void every_cut(void **state) {
    (void)state;
    assert_true(each_file(SEEDS, cut_file) > 30);
}

/* Every byte of a file changed in turn: whatever comes of it, it is a profile that holds together, or a message. */
static void every_byte(void **state) {
    (void)state;
    static const unsigned char masks[] = {0xff, 0x80, 0x01, 0x08};
    bytes b = seed("full.pb");
    for (size_t i = 0; i < b.size; i++)
        for (size_t k = 0; k < sizeof masks; k++) {
            profconv_profile *p;
            profconv_error error = {0};
            b.data[i] ^= masks[k];
            int status = read_with(b.data, b.size, NULL, NULL, &p, &error);
            if (status == 0 && profconv_profile_check(p, &error) != 0)
                fail_msg("byte %zu ^ %x: %s", i, masks[k], error.message);
            assert_true(status == 0 || error.message[0] != '\0');
            profconv_profile_free(p);
            b.data[i] ^= masks[k];
        }
    free(b.data);
}

/* ---- memory ---- */

static void no_memory_reading(void **state) {
    (void)state;
    static const char *const files[] = {"full.pb", "sparse_ids.pb", "branches.pb", "mixed_order.pb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bytes b = seed(files[i]);
        failing_alloc heap = {0};
        profconv_allocator allocator = failing_allocator(&heap);
        profconv_profile *p = NULL;
        profconv_error error = {0};
        int status = 0;
        FAILING_SWEEP(&heap,
                      (status = read_with(b.data, b.size, &allocator, NULL, &p, &error), profconv_profile_free(p)),
                      /* A report that cannot take a note counts it and goes on. */
                      assert_true(status == PROFCONV_E_NOMEM || status == 0));
        assert_int_equal(status, 0);
        free(b.data);
    }
}

static void no_memory_writing(void **state) {
    (void)state;
    bytes b = seed("branches.pb");
    failing_alloc heap = {0};
    profconv_allocator allocator = failing_allocator(&heap);
    profconv_profile *p = NULL;
    profconv_options *options = options_of("pprof.compress=no");
    assert_int_equal(read_with(b.data, b.size, &allocator, NULL, &p, NULL), 0);
    uint64_t live = heap.live;
    int status, rounds = 0;
    do {
        profconv_output *output;
        profconv_error error = {0};
        assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), 0);
        failing_arm(&heap, (uint64_t)rounds);
        status = pfc_pprof_writer.write(NULL, p, output, options, NULL, &error);
        failing_disarm(&heap);
        assert_true(status == 0 || (status == PROFCONV_E_NOMEM && error.status == status));
        assert_int_equal(heap.live, live);
        profconv_output_free(output);
        rounds++;
    } while (status);
    assert_true(rounds > 10);
    profconv_profile_free(p);
    profconv_options_free(options);
    free(b.data);
}

static void memory_limit(void **state) {
    (void)state;
    bytes b = seed("full.pb");
    profconv_limits limits = {0};
    profconv_profile *p;
    profconv_error error = {0};
    limits.struct_size = sizeof limits;
    int status = PROFCONV_E_LIMIT;
    for (limits.max_memory = 1024; status == PROFCONV_E_LIMIT; limits.max_memory += 1024) {
        failing_alloc heap = {0};
        profconv_allocator allocator = failing_allocator(&heap);
        profconv_input *input = NULL;
        assert_int_equal(profconv_input_open_memory(&input, b.data, b.size, NULL, NULL), 0);
        status = read_from(input, &allocator, &limits, &p, &error);
        assert_true(heap.peak <= 2 * limits.max_memory + 65536);
        profconv_profile_free(p);
        profconv_input_free(input);
    }
    assert_int_equal(status, 0);
    assert_true(limits.max_memory > 4096);
    free(b.data);
}

/* Millions of empty messages in a few bytes each must not cost more than a small multiple of the input. */
static void amplification(void **state) {
    (void)state;
    const size_t count = 200000;
    unsigned char *data = malloc(2 * count + 16);
    assert_non_null(data);
    memcpy(data, "\x0a\x00\x32\x00", 4); /* a sample type and a string */
    for (size_t i = 0; i < count; i++)
        memcpy(data + 4 + 2 * i, "\x12\x00", 2); /* samples without anything: no values is a fault, seen at the end */
    failing_alloc heap = {0};
    profconv_allocator allocator = failing_allocator(&heap);
    profconv_profile *p;
    profconv_error error = {0};
    assert_int_equal(read_with(data, 4 + 2 * count, &allocator, NULL, &p, &error), PROFCONV_E_FORMAT);
    assert_non_null(strstr(error.message, "sample 1: 0 values, but 1 sample types"));
    assert_true(heap.peak < 8 * 2 * count + (1u << 20));
    memcpy(data + 4, "\x12\x82\xb5\x18\x10\x01", 6); /* one sample with 200,000 empty labels: 2 + 400,000 bytes */
    for (size_t i = 0; i < count; i++)
        memcpy(data + 10 + 2 * i, "\x1a\x00", 2);
    assert_int_equal(read_with(data, 10 + 2 * count, &allocator, NULL, &p, &error), 0);
    profconv_profile_free(p);
    assert_true(heap.peak < 32 * 2 * count + (1u << 20));
    assert_int_equal(heap.live, 0);
    free(data);
}

/* ---- outputs that fail ---- */

typedef struct short_sink {
    size_t left;
    int committed;
} short_sink;

static int sink_write(void *user, const void *data, size_t size) {
    short_sink *s = user;
    (void)data;
    if (size > s->left)
        return 28; /* ENOSPC */
    s->left -= size;
    return 0;
}
static int sink_close(void *user, int committed) {
    ((short_sink *)user)->committed = committed;
    return 0;
}

static void no_room(void **state) {
    (void)state;
    profconv_profile *p = read_seed("full.pb");
    profconv_options *options = options_of("pprof.compress=no");
    bytes whole = write_ok(p, "pprof.compress=no", NULL);
    for (size_t room = 0; room <= whole.size; room += 7) {
        short_sink sink = {room, -1};
        profconv_output_callbacks callbacks = {sizeof callbacks, sink_write, sink_close, &sink};
        profconv_output *output;
        profconv_error error = {0};
        assert_int_equal(profconv_output_open_callbacks(&output, &callbacks, "sink", NULL, NULL), 0);
        int status = pfc_pprof_writer.write(NULL, p, output, options, NULL, &error);
        if (status == 0)
            status = profconv_output_close(output, &error);
        assert_int_equal(status, room >= whole.size ? 0 : PROFCONV_E_CALLBACK);
        profconv_output_free(output);
        assert_int_equal(sink.committed, status == 0);
    }
    free(whole.data);
    profconv_options_free(options);
    profconv_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault),        cmocka_unit_test(all_faults_listed), cmocka_unit_test(single_bytes),
        cmocka_unit_test(every_cut),         cmocka_unit_test(every_byte),        cmocka_unit_test(no_memory_reading),
        cmocka_unit_test(no_memory_writing), cmocka_unit_test(memory_limit),      cmocka_unit_test(amplification),
        cmocka_unit_test(no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
