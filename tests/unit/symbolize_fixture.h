/* SPDX-License-Identifier: MIT
 *
 * For the tests of symbolization: a directory of their own, programs compiled into it, and a profile of a few addresses
 * that the pass is run on.
 */
#ifndef TEST_SYMBOLIZE_FIXTURE_H
#define TEST_SYMBOLIZE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprofconv/model/pass.h"
#include "libprofconv/symbolize/binary.h"

static char fixture_dir[64];

static inline int make_fixture_dir(void **state) {
    (void)state;
    strcpy(fixture_dir, "/tmp/profconv-symbolize-XXXXXX");
    return mkdtemp(fixture_dir) ? 0 : -1;
}

static inline int remove_fixture_dir(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", fixture_dir);
    return system(command);
}

/* "name" inside the directory; four results stay valid. */
static inline const char *in_dir(const char *name) {
    static char paths[4][256];
    static int next;
    char *path = paths[next++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", fixture_dir, name);
    return path;
}

static inline void write_file(const char *name, const char *text) {
    FILE *f = fopen(in_dir(name), "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
}

/* Runs a shell command in the directory, silently: its exit status. */
static inline int shell(const char *format, ...) PROFCONV_PRINTF(1, 2);
static inline int shell(const char *format, ...) {
    char command[4096];
    int n = snprintf(command, sizeof command, "cd '%s' && exec >>log 2>&1 && ", fixture_dir);
    va_list args;
    va_start(args, format);
    vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    return system(command);
}

static inline int have(const char *program) {
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

/* First line of a command's output, without its newline. */
static inline void shell_line(char *out, size_t size, const char *command) {
    char full[1024];
    snprintf(full, sizeof full, "cd '%s' && %s", fixture_dir, command);
    FILE *f = popen(full, "r");
    assert_non_null(f);
    if (!fgets(out, (int)size, f))
        out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    pclose(f);
}

/* By nm, not by the code under test. */
static inline uint64_t symbol_address(const char *file, const char *symbol, uint64_t *size) {
    char command[512], line[128];
    snprintf(command, sizeof command, "nm -S --defined-only %s | awk '$4 == \"%s\" {print $1, $2}'", file, symbol);
    shell_line(line, sizeof line, command);
    char *end = line;
    uint64_t address = strtoull(line, &end, 16);
    assert_true(end != line);
    *size = strtoull(end, NULL, 16);
    assert_true(*size != 0);
    return address;
}

/* Offset in the file of an address, by readelf's program headers. */
static inline uint64_t file_offset_of(const char *file, uint64_t vaddr, uint64_t *map_offset) {
    char command[512], line[128];
    snprintf(command, sizeof command, "readelf -lW %s 2>/dev/null | awk '$1 == \"LOAD\" && / R E / {print $2, $3}'",
             file);
    shell_line(line, sizeof line, command);
    char *end = line;
    uint64_t offset = strtoull(line, &end, 16), start = strtoull(end, NULL, 16);
    assert_true(end != line);
    *map_offset = offset & ~UINT64_C(4095);
    return vaddr - start + offset;
}

static inline void build_id_of(const char *file, char *out, size_t size) {
    char command[512];
    snprintf(command, sizeof command, "readelf -n %s 2>/dev/null | awk '/Build ID/ {print $3}'", file);
    shell_line(out, size, command);
}

/* ---- running the pass on a profile ---- */

typedef struct {
    profconv_builder *builder;
    profconv_options *options;
    profconv_profile *profile;
    profconv_id mapping; /* the last one added */
} session;

static inline session new_session(void) {
    session s = {0};
    assert_int_equal(profconv_builder_new(&s.builder, NULL, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_options_new(&s.options, NULL, NULL), PROFCONV_OK);
    return s;
}

static inline void set(session *s, const char *key, const char *value) {
    assert_int_equal(profconv_options_put(s->options, "symbolize", key, value, NULL), PROFCONV_OK);
}

static inline profconv_id add_mapping(session *s, uint32_t kind, const char *file, const char *build_id, uint64_t start,
                                      uint64_t limit, uint64_t offset, uint32_t pid) {
    profconv_mapping row = {.start = start, .limit = limit, .file_offset = offset, .kind = kind, .pid = pid};
    row.file = profconv_builder_cstring(s->builder, file);
    row.build_id = profconv_builder_cstring(s->builder, build_id);
    s->mapping = profconv_builder_mapping(s->builder, &row);
    return s->mapping;
}

static inline profconv_id add_address(session *s, uint64_t address) {
    profconv_id location = profconv_builder_address_location(s->builder, s->mapping, address, 0);
    int64_t one = 1;
    if (profconv_builder_sample_type_count(s->builder) == 0) {
        profconv_sample_type type = {.name = profconv_builder_cstring(s->builder, "samples"),
                                     .unit = profconv_builder_cstring(s->builder, "count")};
        profconv_builder_sample_type(s->builder, &type);
    }
    profconv_builder_sample(s->builder, profconv_builder_stack(s->builder, 0, location), 0, 0, &one, 1);
    return location;
}

/* Runs the pass, and freezes. */
static inline void run_pass(session *s) {
    profconv_error error = {0};
    int status = pfc_symbolize_pass.run(s->builder, s->options, NULL, NULL, &error);
    if (status)
        print_error("%s\n", error.message);
    assert_int_equal(status, PROFCONV_OK);
    assert_int_equal(profconv_builder_freeze(s->builder, &s->profile, &error), PROFCONV_OK);
    assert_int_equal(profconv_profile_check(s->profile, &error), PROFCONV_OK);
}

static inline void end_session(session *s) {
    profconv_profile_free(s->profile);
    profconv_builder_free(s->builder);
    profconv_options_free(s->options);
    memset(s, 0, sizeof *s);
}

static inline uint32_t line_count(const session *s, profconv_id location) {
    return profconv_profile_location(s->profile, location)->line_count;
}

/* Name of frame `index` (0: innermost), "" past the last. */
static inline const char *name_at(const session *s, profconv_id location, uint32_t index) {
    const profconv_line *line = profconv_profile_line(s->profile, location, index);
    return profconv_profile_string(s->profile, profconv_profile_function(s->profile, line->function)->name).data;
}

/* The note of this cause; its count is 0 when there is none. */
static inline profconv_note note_of(const session *s, const char *cause) {
    const profconv_report *report = profconv_profile_report(s->profile);
    profconv_note note = {.message = ""}, found = {.message = ""};
    for (size_t i = 0; i < profconv_report_count(report); i++)
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && strcmp(note.cause, cause) == 0)
            found = note;
    return found;
}

#endif
