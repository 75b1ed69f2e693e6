/* SPDX-License-Identifier: MIT
 *
 * A program of somebody else: public headers and the shared library, nothing more. It registers a reader and a writer
 * of its own at run time, lets the reader be found by content, converts files both ways, and counts every byte.
 *
 * The format is a line of text: "TALLY 1" and then "<count> <root>/<callee>/<leaf>" a line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/plugin.h>
#include <profconv/profconv.h>

/* ---- an allocator that counts ---- */

typedef struct counts {
    size_t live;
    size_t calls;
} counts;

static void *counting_resize(void *user, void *p, size_t old_size, size_t new_size) {
    counts *c = user;
    c->calls++;
    if (new_size == 0) {
        free(p);
        c->live -= old_size;
        return NULL;
    }
    void *grown = realloc(p, new_size);
    if (grown)
        c->live = c->live - old_size + new_size;
    return grown;
}

/* ---- the reader ---- */

#define MAGIC "TALLY 1\n"

static int tally_probe(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    (void)whole;
    return size >= strlen(MAGIC) && memcmp(head, MAGIC, strlen(MAGIC)) == 0 ? 100 : 0;
}

static profconv_id frame(profconv_builder *builder, const char *name, size_t size) {
    profconv_function function = {0};
    profconv_line line = {0};
    profconv_location location = {0};
    function.name = function.linkage_name = profconv_builder_string(builder, name, size);
    line.function = profconv_builder_function(builder, &function);
    return profconv_builder_location(builder, &location, &line, 1);
}

/* One line without its end: a number, a blank, frames with '/' between them. */
static int tally_line(profconv_builder *builder, const char *p, const char *end, int64_t scale, uint64_t number,
                      profconv_error *error) {
    int64_t count = 0;
    const char *start = p;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        count = count * 10 + (*p - '0');
    if (p == start || p == end || *p != ' ')
        return profconv_error_set(error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, number, "line %u: no count",
                                  (unsigned)number);
    profconv_id stack = 0;
    for (p++; p < end;) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        const char *stop = slash ? slash : end;
        stack = profconv_builder_stack(builder, stack, frame(builder, p, (size_t)(stop - p)));
        p = slash ? slash + 1 : end;
    }
    count *= scale;
    profconv_builder_sample(builder, stack, 0, 0, &count, 1);
    return PROFCONV_OK;
}

static const profconv_setting tally_settings[] = {
    {"scale", PROFCONV_SETTING_INT, "1", NULL, "multiplies every count"},
    {NULL, 0, NULL, NULL, NULL},
};

static int tally_read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                      profconv_error *error) {
    const uint8_t *data = NULL;
    size_t size = 0;
    size_t visible = 0;
    ++*(int *)user;
    do { /* the whole text: ask for more until there is no more */
        visible = size;
        int status = profconv_input_window(input, visible + 1, &data, &size, error);
        if (status != PROFCONV_OK)
            return status;
    } while (size > visible);
    int64_t scale = profconv_options_int(options, "tally", tally_settings, "scale");
    profconv_sample_type type = {0};
    type.name = profconv_builder_cstring(builder, "samples");
    type.unit = profconv_builder_cstring(builder, "count");
    type.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(builder, &type);
    const char *p = (const char *)data + strlen(MAGIC);
    const char *end = (const char *)data + size;
    for (uint64_t line = 2; p < end; line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        int status = tally_line(builder, p, stop, scale, line, error);
        if (status != PROFCONV_OK)
            return status;
        p = newline ? newline + 1 : end;
    }
    return profconv_builder_status(builder, error);
}

/* ---- the writer ---- */

static int write_frames(const profconv_profile *profile, profconv_id stack, profconv_output *output,
                        profconv_error *error) {
    profconv_id path[64];
    size_t depth = 0;
    for (; stack != 0 && depth < 64; stack = profconv_profile_stack(profile, stack)->parent)
        path[depth++] = profconv_profile_stack(profile, stack)->location;
    while (depth-- > 0) {
        const profconv_line *line = profconv_profile_line(profile, path[depth], 0);
        profconv_string name =
            profconv_profile_string(profile, profconv_profile_function(profile, line->function)->name);
        int status = profconv_output_write(output, name.data, name.size, error);
        if (status == PROFCONV_OK)
            status = profconv_output_write(output, depth ? "/" : "\n", 1, error);
        if (status != PROFCONV_OK)
            return status;
    }
    return PROFCONV_OK;
}

static int tally_write(void *user, const profconv_profile *profile, profconv_output *output,
                       const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)options;
    (void)report;
    ++*(int *)user;
    int status = profconv_output_write(output, MAGIC, strlen(MAGIC), error);
    uint32_t type = profconv_profile_default_sample_type(profile);
    for (uint32_t i = 0; status == PROFCONV_OK && i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE); i++) {
        char count[32];
        int n = snprintf(count, sizeof count, "%lld ", (long long)profconv_profile_sample_value(profile, i, type));
        status = profconv_output_write(output, count, (size_t)n, error);
        if (status == PROFCONV_OK)
            status = write_frames(profile, profconv_profile_sample_stack(profile, i), output, error);
    }
    return status;
}

/* ---- the program ---- */

typedef struct program {
    counts heap;
    profconv_allocator allocator;
    profconv_io_options io;
    profconv_registry *registry;
    profconv_convert_options options;
    profconv_report *report;
    int reads;
    int writes;
} program;

static int setup(void **state) {
    static const char *const aliases[] = {"tl", NULL};
    static const char *const suffixes[] = {".tally", NULL};
    program *t = calloc(1, sizeof *t);
    profconv_error error;
    *state = t;
    t->allocator.struct_size = sizeof t->allocator;
    t->allocator.resize = counting_resize;
    t->allocator.user = &t->heap;
    t->io.struct_size = sizeof t->io;
    t->io.allocator = &t->allocator;
    t->options.struct_size = sizeof t->options;
    t->options.allocator = &t->allocator;
    assert_int_equal(profconv_registry_new(&t->registry, &t->allocator, &error), PROFCONV_OK);
    assert_int_equal(profconv_report_new(&t->report, &t->allocator, &error), PROFCONV_OK);

    profconv_reader reader = {0};
    reader.struct_size = sizeof reader;
    reader.name = "tally";
    reader.aliases = aliases;
    reader.suffixes = suffixes;
    reader.description = "counts of stacks, one a line";
    reader.settings = tally_settings;
    reader.produces = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS;
    reader.probe = tally_probe;
    reader.read = tally_read;
    reader.user = &t->reads;
    assert_int_equal(profconv_registry_add_reader(t->registry, &reader, &error), PROFCONV_OK);

    profconv_writer writer = {0};
    writer.struct_size = sizeof writer;
    writer.name = "tally";
    writer.suffixes = suffixes;
    writer.needs = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS;
    writer.keeps = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS;
    writer.labels = "";
    writer.write = tally_write;
    writer.user = &t->writes;
    assert_int_equal(profconv_registry_add_writer(t->registry, &writer, &error), PROFCONV_OK);
    return 0;
}

static int teardown(void **state) {
    program *t = *state;
    profconv_report_free(t->report);
    profconv_registry_free(t->registry);
    size_t live = t->heap.live;
    size_t calls = t->heap.calls;
    free(t);
    if (live != 0 || calls == 0) {
        print_error("%zu bytes live after %zu calls of the allocator\n", live, calls);
        return -1;
    }
    return 0;
}

/* Converts bytes; the output is the caller's to free. */
static profconv_output *convert(program *t, const void *data, size_t size, const char *to) {
    profconv_convert_input input = {0};
    profconv_output *output = NULL;
    profconv_error error;
    t->options.to = to;
    assert_int_equal(profconv_input_open_memory(&input.input, data, size, &t->io, &error), PROFCONV_OK);
    assert_int_equal(profconv_output_open_memory(&output, &t->io, &error), PROFCONV_OK);
    int status = profconv_convert(t->registry, &input, 1, output, &t->options, t->report, &error);
    profconv_input_free(input.input);
    if (status != PROFCONV_OK)
        fail_msg("to %s: %s", to, error.message);
    return output;
}

static void assert_bytes(profconv_output *output, const char *expected) {
    const uint8_t *data = NULL;
    size_t size = 0;
    assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_OK);
    if (size != strlen(expected) || memcmp(data, expected, size) != 0)
        fail_msg("%.*s instead of %s", (int)size, (const char *)data, expected);
}

#define TALLY "TALLY 1\n3 main/step/hash\n4 main/idle\n"

static void test_own_format_is_found_and_converted(void **state) {
    program *t = *state;
    profconv_output *output = convert(t, TALLY, strlen(TALLY), "collapsed");
    assert_int_equal(t->reads, 1);
    const uint8_t *data = NULL;
    size_t size = 0;
    assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_OK);
    char text[256] = "";
    assert_true(size < sizeof text);
    memcpy(text, data, size);
    assert_non_null(strstr(text, "main;step;hash 3\n"));
    assert_non_null(strstr(text, "main;idle 4\n"));
    profconv_output_free(output);
}

static void test_built_in_format_to_own(void **state) {
    program *t = *state;
    static const char folded[] = "a;b;c 5\na;d 2\n";
    profconv_output *output = convert(t, folded, strlen(folded), "tally");
    assert_int_equal(t->writes, 1);
    assert_bytes(output, "TALLY 1\n5 a/b/c\n2 a/d\n");
    profconv_output_free(output);
}

static void test_through_pprof_and_back(void **state) {
    program *t = *state;
    profconv_output *pprof = convert(t, TALLY, strlen(TALLY), "pprof");
    const uint8_t *data = NULL;
    size_t size = 0;
    assert_int_equal(profconv_output_bytes(pprof, &data, &size), PROFCONV_OK);
    profconv_output *back = convert(t, data, size, "tl");
    assert_bytes(back, TALLY);
    profconv_output_free(back);
    profconv_output_free(pprof);
}

static void test_own_settings(void **state) {
    program *t = *state;
    profconv_options *settings = NULL;
    assert_int_equal(profconv_options_new(&settings, &t->allocator, NULL), PROFCONV_OK);
    assert_int_equal(profconv_options_set(settings, "tl.scale=10", NULL), PROFCONV_OK);
    t->options.settings = settings;
    profconv_output *output = convert(t, TALLY, strlen(TALLY), "tally");
    assert_bytes(output, "TALLY 1\n30 main/step/hash\n40 main/idle\n");
    profconv_output_free(output);
    profconv_options_free(settings);
}

static void test_files(void **state) {
    program *t = *state;
    char path[] = "profconv-plugin-XXXXXX.tally";
    int fd = mkstemps(path, 6);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "wb");
    assert_non_null(file);
    fputs(TALLY, file);
    assert_int_equal(fclose(file), 0);
    profconv_format_info info;
    profconv_input *input = NULL;
    profconv_profile *profile = NULL;
    profconv_error error;
    assert_int_equal(profconv_registry_find_suffix(t->registry, path, &info), PROFCONV_OK);
    assert_string_equal(info.name, "tally");
    int status = profconv_input_open_path(&input, path, &t->io, &error);
    if (status == PROFCONV_OK)
        status = profconv_detect(t->registry, input, &info, &error);
    if (status == PROFCONV_OK)
        status = profconv_read(t->registry, input, &t->options, &profile, &error);
    remove(path);
    if (status != PROFCONV_OK)
        fail_msg("%s", error.message);
    assert_string_equal(info.name, "tally");
    assert_int_equal(profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE), 2);
    assert_int_equal(profconv_profile_total(profile, 0), 7);
    profconv_profile_free(profile);
    profconv_input_free(input);
}

static void test_own_errors_arrive(void **state) {
    program *t = *state;
    static const char bad[] = "TALLY 1\n3 main\nmain\n";
    profconv_input *input = NULL;
    profconv_profile *profile = NULL;
    profconv_error error;
    t->options.to = NULL;
    assert_int_equal(profconv_input_open_memory(&input, bad, strlen(bad), &t->io, &error), PROFCONV_OK);
    assert_int_equal(profconv_read(t->registry, input, &t->options, &profile, &error), PROFCONV_E_FORMAT);
    assert_null(profile);
    assert_int_equal(error.line, 3);
    assert_string_equal(error.format, "tally");
    assert_string_equal(error.message, "line 3: no count");
    profconv_input_free(input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_format_is_found_and_converted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_built_in_format_to_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_through_pprof_and_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_settings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_errors_arrive, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
