/* SPDX-License-Identifier: MIT
 *
 * What the tests of pprof share: reading and writing through the format itself, and the files that mkpprof.py made.
 */
#ifndef TEST_FORMATS_PPROF_HELP_H
#define TEST_FORMATS_PPROF_HELP_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/plugin.h>

#include "tests/support/failing_alloc.h"

extern const profconv_reader pfc_pprof_reader;
extern const profconv_writer pfc_pprof_writer;

#define SEEDS TEST_SOURCE_DIR "/fuzz/seeds/pprof"

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

/* data NULL when there is no such file. */
static inline bytes load(const char *path) {
    bytes b = {NULL, 0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return b;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    b.size = (size_t)ftell(file);
    rewind(file);
    b.data = malloc(b.size + 1);
    assert_non_null(b.data);
    assert_int_equal(fread(b.data, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

static inline bytes seed(const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", SEEDS, name);
    bytes b = load(path);
    if (!b.data)
        fail_msg("%s is missing", path);
    return b;
}

static inline int read_from(profconv_input *input, const profconv_allocator *allocator, const profconv_limits *limits,
                            profconv_profile **profile, profconv_error *error) {
    profconv_builder *builder = NULL;
    *profile = NULL;
    int status = profconv_builder_new(&builder, allocator, limits, error);
    if (status == 0)
        status = pfc_pprof_reader.read(NULL, input, builder, NULL, error);
    if (status == 0)
        status = profconv_builder_freeze(builder, profile, error);
    profconv_builder_free(builder);
    return status;
}

static inline int read_with(const void *data, size_t size, const profconv_allocator *allocator,
                            const profconv_limits *limits, profconv_profile **profile, profconv_error *error) {
    profconv_input *input = NULL;
    profconv_io_options io = {sizeof io, allocator, limits, 0, 0};
    *profile = NULL;
    int status = profconv_input_open_memory(&input, data, size, &io, error);
    if (status == 0)
        status = read_from(input, allocator, limits, profile, error);
    profconv_input_free(input);
    return status;
}

static inline profconv_profile *read_ok(const void *data, size_t size) {
    profconv_profile *profile = NULL;
    profconv_error error = {0};
    if (read_with(data, size, NULL, NULL, &profile, &error))
        fail_msg("%s", error.message);
    assert_int_equal(profconv_profile_check(profile, &error), 0);
    return profile;
}

static inline profconv_profile *read_seed(const char *name) {
    bytes b = seed(name);
    profconv_profile *profile = read_ok(b.data, b.size);
    free(b.data);
    return profile;
}

static inline profconv_options *options_of(const char *setting) {
    profconv_options *options = NULL;
    assert_int_equal(profconv_options_new(&options, NULL, NULL), 0);
    if (setting)
        assert_int_equal(profconv_options_set(options, setting, NULL), 0);
    return options;
}

static inline bytes copy_output(profconv_output *output) {
    const uint8_t *data;
    bytes b = {NULL, 0};
    assert_int_equal(profconv_output_close(output, NULL), 0);
    assert_int_equal(profconv_output_bytes(output, &data, &b.size), 0);
    b.data = malloc(b.size + 1);
    assert_non_null(b.data);
    memcpy(b.data, data, b.size);
    profconv_output_free(output);
    return b;
}

/* `setting`: one, or NULL; `report` may be NULL. */
static inline int write_with(const profconv_profile *profile, const char *setting, profconv_report *report, bytes *out,
                             profconv_error *error) {
    profconv_output *output = NULL;
    profconv_options *options = options_of(setting);
    out->data = NULL;
    out->size = 0;
    assert_int_equal(profconv_output_open_memory(&output, NULL, error), 0);
    int status = pfc_pprof_writer.write(NULL, profile, output, options, report, error);
    if (status == 0)
        *out = copy_output(output);
    else
        profconv_output_free(output);
    profconv_options_free(options);
    return status;
}

static inline bytes write_ok(const profconv_profile *profile, const char *setting, profconv_report *report) {
    bytes out = {NULL, 0};
    profconv_error error = {0};
    if (write_with(profile, setting, report, &out, &error))
        fail_msg("%s", error.message);
    return out;
}

/* The canonical text of a profile. */
static inline bytes dump(const profconv_profile *profile) {
    profconv_output *output = NULL;
    assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), 0);
    assert_int_equal(profconv_dump(profile, output, NULL), 0);
    bytes b = copy_output(output);
    b.data[b.size] = '\0';
    return b;
}

static inline void assert_same_bytes(bytes a, bytes b, const char *what) {
    if (a.size != b.size || memcmp(a.data, b.data, a.size) != 0) {
        size_t at = 0;
        while (at < a.size && at < b.size && a.data[at] == b.data[at])
            at++;
        size_t from = at < 60 ? 0 : at - 60;
        fail_msg("%s: differs at byte %zu of %zu and %zu: \"%.120s\" and \"%.120s\"", what, at, a.size, b.size,
                 (const char *)a.data + from, (const char *)b.data + from);
    }
}

/* Notes are about how a profile was read, not part of what it is: cuts them off the end of a dump. */
static inline void cut_notes(bytes *text) {
    char *notes = strstr((char *)text->data, "\nnote ");
    if (notes) {
        notes[1] = '\0';
        text->size = strlen((char *)text->data);
    }
}

static inline void assert_same_profile(const profconv_profile *a, const profconv_profile *b, const char *what) {
    bytes x = dump(a), y = dump(b);
    cut_notes(&x);
    cut_notes(&y);
    assert_same_bytes(x, y, what);
    free(x.data);
    free(y.data);
}

static inline void assert_text(const profconv_profile *profile, profconv_id id, const char *text) {
    profconv_string s = profconv_profile_string(profile, id);
    assert_int_equal(s.size, strlen(text));
    assert_memory_equal(s.data, text, s.size);
}

/* Count of the note, 0 when there is none. */
static inline uint64_t noted(const profconv_report *report, profconv_note_kind kind, const char *cause) {
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        assert_int_equal(profconv_report_get(report, i, &note), 0);
        if (note.kind == kind && strcmp(note.cause, cause) == 0)
            return note.count;
    }
    return 0;
}

/* Calls `each` on every regular file of a folder, in the order of names. Returns how many. */
static inline int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}
static inline int each_file(const char *folder, void (*each)(const char *path, const char *name)) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name), files = 0;
    for (int i = 0; i < count; i++) {
        char path[1200];
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
            each(path, entries[i]->d_name);
            files++;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return files;
}

#endif
