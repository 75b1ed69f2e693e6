/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests of the perf.data reader: reading a recording straight with the reader, notes by cause, the corpus.
 */
#ifndef TESTS_PERF_DATA_SUPPORT_H
#define TESTS_PERF_DATA_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <profconv/plugin.h>
#include <profconv/profconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const profconv_reader pfc_perf_data_reader;

/* What one reading gave. `profile` is NULL on failure; `builder` is kept for its report. */
typedef struct reading {
    int status;
    profconv_error error;
    profconv_builder *builder;
    profconv_profile *profile;
    const profconv_report *report;
} reading;

/* Takes the input over. `settings`: assignments, ends with NULL; may be NULL. */
static inline reading read_input(profconv_input *input, const char *const *settings, uint64_t max_memory) {
    reading out;
    memset(&out, 0, sizeof out);
    profconv_options *options = NULL;
    profconv_limits limits;
    memset(&limits, 0, sizeof limits);
    limits.struct_size = sizeof limits;
    limits.max_memory = max_memory;
    assert_int_equal(profconv_options_new(&options, NULL, &out.error), PROFCONV_OK);
    for (; settings && *settings; settings++)
        assert_int_equal(profconv_options_set(options, *settings, &out.error), PROFCONV_OK);
    assert_int_equal(profconv_builder_new(&out.builder, NULL, &limits, &out.error), PROFCONV_OK);
    out.status = pfc_perf_data_reader.read(NULL, input, out.builder, options, &out.error);
    out.report = profconv_builder_report(out.builder);
    if (out.status == PROFCONV_OK) {
        assert_int_equal(profconv_builder_freeze(out.builder, &out.profile, &out.error), PROFCONV_OK);
        assert_int_equal(profconv_profile_check(out.profile, &out.error), PROFCONV_OK);
        out.report = profconv_profile_report(out.profile);
    }
    profconv_options_free(options);
    profconv_input_free(input);
    return out;
}

static inline reading read_path(const char *path, const char *const *settings, uint64_t max_memory) {
    profconv_input *input = NULL;
    profconv_error error;
    if (profconv_input_open_path(&input, path, NULL, &error) != PROFCONV_OK)
        fail_msg("%s: %s", path, error.message);
    return read_input(input, settings, max_memory);
}

static inline reading read_bytes(const void *data, size_t size, const char *const *settings, uint64_t max_memory) {
    profconv_input *input = NULL;
    profconv_error error;
    assert_int_equal(profconv_input_open_memory(&input, data, size, NULL, &error), PROFCONV_OK);
    return read_input(input, settings, max_memory);
}

static inline void reading_free(reading *r) {
    profconv_profile_free(r->profile);
    profconv_builder_free(r->builder);
    memset(r, 0, sizeof *r);
}

/* Count of the note `cause` of any kind, 0 when there is none. */
static inline uint64_t note_count(const reading *r, const char *cause) {
    profconv_note note;
    for (size_t i = 0; i < profconv_report_count(r->report); i++)
        if (profconv_report_get(r->report, i, &note) == PROFCONV_OK && strcmp(note.cause, cause) == 0)
            return note.count;
    return 0;
}

static inline const char *text_of(const profconv_profile *p, profconv_id id) {
    return profconv_profile_string(p, id).data;
}

static inline uint8_t *load_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    uint8_t *data = (uint8_t *)malloc(n > 0 ? (size_t)n : 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)n, f), (size_t)n);
    fclose(f);
    *size = (size_t)n;
    return data;
}

/* The corpus, or NULL. */
static inline const char *corpus(void) {
    static char path[4096];
    const char *set = getenv("PROFCONV_CORPUS");
    snprintf(path, sizeof path, "%s", set ? set : TEST_SOURCE_DIR "/../shared/corpus");
    return access(path, R_OK) == 0 ? path : NULL;
}

#endif
