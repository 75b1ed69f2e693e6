/* SPDX-License-Identifier: MIT
 *
 * What the tests of collapsed stacks share: reading and writing through the format itself, and a profile in words.
 */
#ifndef TEST_FORMATS_COLLAPSED_HELP_H
#define TEST_FORMATS_COLLAPSED_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/plugin.h>

#include "libprofconv/formats/collapsed/collapsed.h"

/* "collapsed.a=b collapsed.c=d", NULL or "" for none; values must not hold blanks. */
static inline profconv_options *make_options(const char *assignments) {
    profconv_options *options = NULL;
    assert_int_equal(profconv_options_new(&options, NULL, NULL), 0);
    while (assignments && *assignments) {
        char one[200];
        size_t n = strcspn(assignments, " ");
        assert_true(n < sizeof one);
        memcpy(one, assignments, n);
        one[n] = '\0';
        assert_int_equal(profconv_options_set(options, one, NULL), 0);
        assignments += n + (assignments[n] == ' ');
    }
    return options;
}

static inline int read_input(profconv_input *input, const char *assignments, profconv_profile **profile,
                             profconv_error *error) {
    profconv_builder *builder = NULL;
    profconv_options *options = make_options(assignments);
    *profile = NULL;
    assert_int_equal(profconv_builder_new(&builder, NULL, NULL, error), 0);
    int status = profconv_options_check(options, "collapsed", pfc_collapsed_reader.settings, error);
    if (status == 0)
        status = pfc_collapsed_reader.read(NULL, input, builder, options, error);
    if (status == 0)
        status = profconv_builder_freeze(builder, profile, error);
    if (status == 0)
        assert_int_equal(profconv_profile_check(*profile, error), 0);
    profconv_builder_free(builder);
    profconv_options_free(options);
    return status;
}

static inline int read_text(const void *text, size_t size, const char *assignments, profconv_profile **profile,
                            profconv_error *error) {
    profconv_input *input = NULL;
    assert_int_equal(profconv_input_open_memory(&input, text, size, NULL, error), 0);
    int status = read_input(input, assignments, profile, error);
    profconv_input_free(input);
    return status;
}

/* The written bytes (malloc, NUL-terminated), or NULL with *error. */
static inline char *write_text(const profconv_profile *profile, const char *assignments, profconv_report *report,
                               size_t *size, profconv_error *error) {
    profconv_output *output = NULL;
    profconv_options *options = make_options(assignments);
    char *text = NULL;
    assert_int_equal(profconv_output_open_memory(&output, NULL, error), 0);
    int status = profconv_options_check(options, "collapsed", pfc_collapsed_writer.settings, error);
    if (status == 0)
        status = pfc_collapsed_writer.write(NULL, profile, output, options, report, error);
    if (status == 0) {
        const uint8_t *data;
        size_t n;
        assert_int_equal(profconv_output_close(output, error), 0);
        assert_int_equal(profconv_output_bytes(output, &data, &n), 0);
        text = (char *)malloc(n + 1);
        assert_non_null(text);
        memcpy(text, data, n);
        text[n] = '\0';
        if (size)
            *size = n;
    }
    profconv_output_free(output);
    profconv_options_free(options);
    return text;
}

/* "a|b|c=5,7 d=1": samples in the order of the profile, frames root first, bytes that are not printable as \xNN. */
static inline void describe(const profconv_profile *profile, char *out, size_t size) {
    size_t at = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE); i++) {
        profconv_id path[64];
        size_t depth = 0;
        for (profconv_id s = profconv_profile_sample_stack(profile, i); s != 0 && depth < 64;
             s = profconv_profile_stack(profile, s)->parent)
            path[depth++] = profconv_profile_stack(profile, s)->location;
        at += (size_t)snprintf(out + at, size - at, "%s", i ? " " : "");
        for (size_t k = depth; k-- > 0;) {
            for (uint32_t l = profconv_profile_location(profile, path[k])->line_count; l-- > 0;) {
                const profconv_line *line = profconv_profile_line(profile, path[k], l);
                profconv_string name =
                    profconv_profile_string(profile, profconv_profile_function(profile, line->function)->name);
                int inlined = l + 1 < profconv_profile_location(profile, path[k])->line_count;
                at += (size_t)snprintf(out + at, size - at, "%s", inlined ? "^" : k + 1 < depth ? "|" : "");
                for (size_t b = 0; b < name.size; b++) {
                    unsigned char c = (unsigned char)name.data[b];
                    at += (size_t)snprintf(out + at, size - at, c < 0x20 || c >= 0x7f ? "\\x%02x" : "%c", c);
                }
                if (l == 0 && profconv_profile_location(profile, path[k])->flags & PROFCONV_LOCATION_KERNEL)
                    at += (size_t)snprintf(out + at, size - at, "*");
            }
        }
        for (uint32_t t = 0; t < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE); t++)
            at += (size_t)snprintf(out + at, size - at, "%s%lld", t ? "," : "=",
                                   (long long)profconv_profile_sample_value(profile, i, t));
        assert_true(at < size);
    }
}

/* The count of the note with this cause, 0 when there is none; *row (may be NULL) is filled. */
static inline uint64_t note_count(const profconv_report *report, const char *cause, profconv_note *row) {
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        assert_int_equal(profconv_report_get(report, i, &note), 0);
        if (strcmp(note.cause, cause) == 0) {
            if (row)
                *row = note;
            return note.count;
        }
    }
    return 0;
}

#endif
