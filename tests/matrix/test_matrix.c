/* SPDX-License-Identifier: MIT
 *
 * Every fixture to every writer, read back where the format can be read, and compared under what the writer keeps:
 * totals are conserved (sum in = sum out + reported drops), facets that should be kept are there or reported as lost,
 * and writing what was read back gives the same bytes. Through the public headers only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/profconv.h>

#include "tests/support/conserve.h"
#include "tests/support/fixtures.h"

typedef struct world {
    profconv_registry *registry;
    test_fixtures fixtures;
    profconv_options *settings; /* no pass looks at the machine's files */
} world;

/* One cell of the matrix. */
typedef struct cell {
    const world *w;
    const test_fixture *fixture;
    profconv_format_info writer;
    char label[400];
    profconv_convert_options options;
    profconv_profile *in;
    profconv_profile *back;
    profconv_output *output;
    profconv_report *report; /* of writing */
    profconv_error error;
} cell;

static int setup(void **state) {
    static world w;
    *state = &w;
    if (profconv_registry_new(&w.registry, NULL, NULL) != PROFCONV_OK ||
        profconv_options_new(&w.settings, NULL, NULL) != PROFCONV_OK ||
        profconv_options_set(w.settings, "convert.symbolize=no", NULL) != PROFCONV_OK)
        return -1;
    return test_fixtures_load(&w.fixtures, w.registry, TEST_SOURCE_DIR, 4u << 20);
}

static int teardown(void **state) {
    world *w = *state;
    test_fixtures_free(&w->fixtures);
    profconv_options_free(w->settings);
    profconv_registry_free(w->registry);
    return 0;
}

static void cell_start(cell *c, const world *w, const test_fixture *fixture, const profconv_format_info *writer) {
    memset(c, 0, sizeof *c);
    c->w = w;
    c->fixture = fixture;
    c->writer = *writer;
    snprintf(c->label, sizeof c->label, "%s to %s", fixture->label, writer->name);
    c->options.struct_size = sizeof c->options;
    c->options.settings = w->settings;
    c->options.from = fixture->format;
    c->options.to = writer->name;
    assert_int_equal(profconv_report_new(&c->report, NULL, NULL), PROFCONV_OK);
}

static void cell_end(cell *c) {
    profconv_profile_free(c->in);
    profconv_profile_free(c->back);
    profconv_output_free(c->output);
    profconv_report_free(c->report);
}

static int read_bytes(const cell *c, const void *data, size_t size, const char *from, profconv_profile **out,
                      profconv_error *error) {
    profconv_input *input = NULL;
    profconv_convert_options options = c->options;
    options.from = from;
    int status = profconv_input_open_memory(&input, data, size, NULL, error);
    if (status == PROFCONV_OK)
        status = profconv_read(c->w->registry, input, &options, out, error);
    profconv_input_free(input);
    return status;
}

static int write_profile(const cell *c, const profconv_profile *profile, profconv_output **output,
                         profconv_report *report, profconv_error *error) {
    int status = profconv_output_open_memory(output, NULL, error);
    if (status == PROFCONV_OK)
        status = profconv_write(c->w->registry, profile, *output, &c->options, report, error);
    return status;
}

static profconv_output *dump(const cell *c, const profconv_profile *profile) {
    profconv_output *output = NULL;
    profconv_error error;
    int status = profconv_output_open_memory(&output, NULL, &error);
    if (status == PROFCONV_OK)
        status = profconv_dump(profile, output, &error);
    if (status == PROFCONV_OK)
        status = profconv_output_close(output, &error);
    if (status != PROFCONV_OK)
        fail_msg("%s, dump: %s", c->label, error.message);
    return output;
}

static int same_bytes(const profconv_output *x, const profconv_output *y) {
    const uint8_t *a = NULL;
    const uint8_t *b = NULL;
    size_t a_size = 0;
    size_t b_size = 0;
    assert_int_equal(profconv_output_bytes(x, &a, &a_size), PROFCONV_OK);
    assert_int_equal(profconv_output_bytes(y, &b, &b_size), PROFCONV_OK);
    return a_size == b_size && memcmp(a, b, a_size) == 0;
}

/* What was read back is written as the same bytes again, or at least as the same profile (a recording may lay its
 * images out elsewhere): nothing drifts however often a profile is converted. */
static void compare_second_writing(cell *c) {
    profconv_output *second = NULL;
    if (write_profile(c, c->back, &second, NULL, &c->error) != PROFCONV_OK)
        fail_msg("%s, written again: %s", c->label, c->error.message);
    if (!same_bytes(c->output, second)) {
        const uint8_t *bytes = NULL;
        size_t size = 0;
        profconv_profile *again = NULL;
        assert_int_equal(profconv_output_bytes(second, &bytes, &size), PROFCONV_OK);
        if (read_bytes(c, bytes, size, c->writer.name, &again, &c->error) != PROFCONV_OK)
            fail_msg("%s, written and read again: %s", c->label, c->error.message);
        profconv_output *before = dump(c, c->back);
        profconv_output *after = dump(c, again);
        if (!same_bytes(before, after))
            fail_msg("%s: written again, it is another profile", c->label);
        profconv_output_free(before);
        profconv_output_free(after);
        profconv_profile_free(again);
    }
    profconv_output_free(second);
}

/* Reads, writes, reads back. 1: compared; 0: this pair cannot be converted, and the error says why. */
static int run_cell(cell *c) {
    const uint8_t *bytes = NULL;
    size_t size = 0;
    profconv_error *e = &c->error;
    int status = read_bytes(c, c->fixture->data, c->fixture->size, c->fixture->format, &c->in, e);
    if (status == PROFCONV_OK)
        status = profconv_prepare(c->w->registry, &c->in, &c->options, NULL, e);
    if (status == PROFCONV_OK)
        status = write_profile(c, c->in, &c->output, c->report, e);
    if (status != PROFCONV_OK) {
        int expected = status == PROFCONV_E_MISSING_FACET || status == PROFCONV_E_EMPTY ||
                       status == PROFCONV_E_FORMAT || status == PROFCONV_E_UNSUPPORTED ||
                       status == PROFCONV_E_NOT_FOUND || status == PROFCONV_E_LIMIT;
        if (!expected || e->message[0] == '\0')
            fail_msg("%s: status %d, '%s'", c->label, status, e->message);
        return 0;
    }
    assert_int_equal(profconv_output_bytes(c->output, &bytes, &size), PROFCONV_OK);
    if (size == 0)
        fail_msg("%s: success with an empty output", c->label);
    if (!c->writer.can_read)
        return 1;
    status = read_bytes(c, bytes, size, c->writer.name, &c->back, e);
    if (status != PROFCONV_OK)
        fail_msg("%s: cannot be read back: %s", c->label, e->message);
    test_conserved kept_all = {c->in, c->back, c->report, &c->writer, ""};
    if (!test_conserve(&kept_all))
        fail_msg("%s: %s", c->label, kept_all.message);
    /* Where the writer named losses of its own, or holds counts in another form (a recording has only samples), what
     * was read back is another profile. */
    uint32_t kept = profconv_profile_facets(c->in) & c->writer.keeps;
    if (kept == profconv_profile_facets(c->back) && !test_left_stacks_out(c->report) && !test_unweighed_loss(c->report))
        compare_second_writing(c);
    return 1;
}

static void test_every_fixture_to_every_writer(void **state) {
    const world *w = *state;
    size_t compared = 0;
    size_t cells = 0;
    for (size_t f = 0; f < profconv_registry_format_count(w->registry); f++) {
        profconv_format_info writer;
        size_t here = 0;
        assert_int_equal(profconv_registry_format(w->registry, f, &writer), PROFCONV_OK);
        for (size_t i = 0; writer.can_write && i < w->fixtures.count; i++) {
            cell c;
            cell_start(&c, w, &w->fixtures.items[i], &writer);
            here += (size_t)run_cell(&c);
            cells++;
            cell_end(&c);
        }
        if (writer.can_write)
            print_message("%s: %zu of %zu fixtures\n", writer.name, here, w->fixtures.count);
        compared += here;
    }
    print_message("%zu of %zu pairs compared\n", compared, cells);
    assert_true(compared > 0);
}

/* What is read from a format that can also be written is found again by content alone. */
static void test_written_files_are_detected(void **state) {
    const world *w = *state;
    for (size_t i = 0; i < w->fixtures.count; i++) {
        const test_fixture *fixture = &w->fixtures.items[i];
        profconv_format_info writer;
        assert_int_equal(profconv_registry_find(w->registry, fixture->format, &writer), PROFCONV_OK);
        if (!writer.can_write)
            continue;
        cell c;
        cell_start(&c, w, fixture, &writer);
        if (run_cell(&c)) {
            const uint8_t *bytes = NULL;
            size_t size = 0;
            profconv_input *input = NULL;
            profconv_format_info found;
            assert_int_equal(profconv_output_bytes(c.output, &bytes, &size), PROFCONV_OK);
            assert_int_equal(profconv_input_open_memory(&input, bytes, size, NULL, NULL), PROFCONV_OK);
            if (profconv_detect(w->registry, input, &found, &c.error) != PROFCONV_OK)
                fail_msg("%s: %s", c.label, c.error.message);
            if (strcmp(found.name, writer.name) != 0)
                fail_msg("%s: taken for %s", c.label, found.name);
            profconv_input_free(input);
        }
        cell_end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fixture_to_every_writer),
        cmocka_unit_test(test_written_files_are_detected),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
