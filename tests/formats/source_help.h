/* SPDX-License-Identifier: MIT
 *
 * For tests of the source-profile formats: bytes in one format to text in another, through the public headers.
 */
#ifndef TEST_SOURCE_HELP_H
#define TEST_SOURCE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/profconv.h>

typedef struct bytes {
    uint8_t *data; /* NUL-terminated */
    size_t size;
} bytes;

static inline bytes load(const char *path) {
    bytes b = {NULL, 0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return b;
    fseek(file, 0, SEEK_END);
    b.size = (size_t)ftell(file);
    rewind(file);
    b.data = calloc(1, b.size + 1);
    if (fread(b.data, 1, b.size, file) != b.size)
        fail_msg("%s: cannot be read", path);
    fclose(file);
    return b;
}

static inline bytes seed(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/fuzz/seeds/%s", TEST_SOURCE_DIR, name);
    bytes b = load(path);
    if (!b.data)
        fail_msg("%s is missing", path);
    return b;
}

/* `settings`: "scope.key=value", NULL-terminated, or NULL. */
static inline profconv_options *make_settings(const char *const *settings) {
    profconv_options *options = NULL;
    profconv_error error;
    assert_int_equal(profconv_options_new(&options, NULL, NULL), PROFCONV_OK);
    for (; settings && *settings; settings++)
        if (profconv_options_set(options, *settings, &error) != PROFCONV_OK)
            fail_msg("%s", error.message);
    return options;
}

/* from NULL: by content. The status; *out NULL on failure. */
static inline int read_as(const void *data, size_t size, const char *from, const char *const *settings,
                          profconv_profile **out, profconv_error *error) {
    profconv_registry *registry = NULL;
    profconv_input *input = NULL;
    profconv_options *options = make_settings(settings);
    profconv_convert_options how = {0};
    how.struct_size = sizeof how;
    how.settings = options;
    how.from = from;
    memset(error, 0, sizeof *error);
    *out = NULL;
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), PROFCONV_OK);
    int status = profconv_input_open_memory(&input, data, size, NULL, error);
    if (status == PROFCONV_OK)
        status = profconv_read(registry, input, &how, out, error);
    profconv_input_free(input);
    profconv_options_free(options);
    profconv_registry_free(registry);
    return status;
}

static inline profconv_profile *must_read(bytes b, const char *from, const char *const *settings) {
    profconv_profile *profile = NULL;
    profconv_error error;
    if (read_as(b.data, b.size, from, settings, &profile, &error) != PROFCONV_OK)
        fail_msg("%s: %s", from ? from : "(by content)", error.message);
    if (profconv_profile_check(profile, &error) != PROFCONV_OK)
        fail_msg("%s", error.message);
    return profile;
}

static inline int write_as(const profconv_profile *profile, const char *to, const char *const *settings,
                           profconv_report *report, bytes *out, profconv_error *error) {
    profconv_registry *registry = NULL;
    profconv_output *output = NULL;
    profconv_options *options = make_settings(settings);
    profconv_convert_options how = {0};
    const uint8_t *data = NULL;
    how.struct_size = sizeof how;
    how.settings = options;
    how.to = to;
    memset(error, 0, sizeof *error);
    memset(out, 0, sizeof *out);
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), PROFCONV_OK);
    int status = profconv_write(registry, profile, output, &how, report, error);
    if (status == PROFCONV_OK) {
        assert_int_equal(profconv_output_bytes(output, &data, &out->size), PROFCONV_OK);
        out->data = calloc(1, out->size + 1);
        memcpy(out->data, data, out->size);
    }
    profconv_output_free(output);
    profconv_options_free(options);
    profconv_registry_free(registry);
    return status;
}

static inline bytes must_write(const profconv_profile *profile, const char *to, const char *const *settings) {
    bytes out;
    profconv_error error;
    if (write_as(profile, to, settings, NULL, &out, &error) != PROFCONV_OK)
        fail_msg("%s: %s", to, error.message);
    return out;
}

/* The text of a seed in another format. */
static inline char *seed_as(const char *name, const char *from, const char *to) {
    bytes in = seed(name);
    profconv_profile *profile = must_read(in, from, NULL);
    bytes out = must_write(profile, to, NULL);
    profconv_profile_free(profile);
    free(in.data);
    return (char *)out.data;
}

/* The note of this cause, or one with kind 0. */
static inline profconv_note find_note(const profconv_report *report, const char *cause) {
    profconv_note note;
    for (size_t i = 0; i < profconv_report_count(report); i++)
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && strcmp(note.cause, cause) == 0)
            return note;
    memset(&note, 0, sizeof note);
    return note;
}

/* The seed is refused with this status; the message holds `where` ("line 2", "offset 0x9"). */
static inline void refused(const char *name, const char *format, int status, const char *where) {
    bytes in = seed(name);
    profconv_profile *profile = NULL;
    profconv_error error;
    int got = read_as(in.data, in.size, format, NULL, &profile, &error);
    if (got != status || !strstr(error.message, where) || profile)
        fail_msg("%s: status %d (%d expected), '%s' ('%s' expected)", name, got, status, error.message, where);
    if (strncmp(where, "line", 4) == 0)
        assert_int_equal(error.line, strtoull(where + 5, NULL, 10));
    else
        assert_true(error.offset != PROFCONV_NO_OFFSET);
    free(in.data);
}

static inline void equal_text(const char *got, const char *expected) {
    if (strcmp(got, expected) != 0)
        fail_msg("got:\n%s\nexpected:\n%s", got, expected);
}

#endif
