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

/* ---- sums ---- */

static int64_t dropped_weight(const profconv_report *report) {
    int64_t sum = 0;
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && note.kind == PROFCONV_NOTE_DROPPED)
            sum += note.weight;
    }
    return sum;
}

static uint64_t loss_notes(const profconv_report *report) {
    uint64_t count = 0;
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK &&
            (note.kind == PROFCONV_NOTE_DROPPED || note.kind == PROFCONV_NOTE_LOST))
            count++;
    }
    return count;
}

/* Losses of counts that the writer names without weighing them; facets do not count, they change no total. */
static int has_unweighed_loss(const profconv_report *report) {
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && note.weight == 0 && note.count > 0 &&
            (note.kind == PROFCONV_NOTE_DROPPED || note.kind == PROFCONV_NOTE_LOST) &&
            strncmp(note.cause, "facet-", 6) != 0)
            return 1;
    }
    return 0;
}

static uint32_t sample_types(const profconv_profile *p) { return profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); }

/* Whether the writer said that it left the stacks out, as for branch records that would count their samples twice. */
static int left_stacks_out(const profconv_report *report) {
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && note.kind == PROFCONV_NOTE_LOST &&
            strncmp(note.cause, "stacks", 6) == 0)
            return 1;
    }
    return 0;
}

/* Samples: column by column where the writer keeps them all, else the one that it chose: the default. */
static void compare_samples(const cell *c) {
    uint32_t in = sample_types(c->in);
    uint32_t back = sample_types(c->back);
    int64_t dropped = dropped_weight(c->report);
    if (in == 0 || left_stacks_out(c->report) || has_unweighed_loss(c->report))
        return;
    if (back == 0)
        fail_msg("%s: no sample type is left of %u", c->label, in);
    uint32_t shown = profconv_profile_default_sample_type(c->in);
    int conserved = 0;
    for (uint32_t i = 0; i < back; i++) {
        uint32_t from = back == in ? i : shown;
        int64_t before = profconv_profile_total(c->in, from);
        int64_t after = profconv_profile_total(c->back, i);
        /* Drops are weighed in the values of the sample type that is shown. Saturated sums are not known. */
        int same = from == shown ? before == after + dropped : dropped != 0 || before == after;
        if (same || before == INT64_MAX || before == INT64_MIN)
            conserved++;
        else if (back == in)
            fail_msg("%s: %s had a total of %lld, and %lld is left with %lld dropped", c->label,
                     profconv_profile_string(c->in, profconv_profile_sample_type(c->in, from)->name).data,
                     (long long)before, (long long)after, (long long)dropped);
    }
    /* With another number of columns, the one that is shown must be among them. */
    if (conserved == 0)
        fail_msg("%s: %s had a total of %lld, which is in no column", c->label,
                 profconv_profile_string(c->in, profconv_profile_sample_type(c->in, shown)->name).data,
                 (long long)profconv_profile_total(c->in, shown));
}

typedef struct sums {
    uint64_t branches, ranges, addresses, body, heads, totals, targets;
} sums;

static sums add_up(const profconv_profile *p) {
    sums s = {0, 0, 0, 0, 0, 0, 0};
    /* Between places inside the images: a recording joins its edges to walks, through the outside where need be. */
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *branch = profconv_profile_branch(p, i);
        if (branch->from != 0 && branch->to != 0)
            s.branches += branch->count;
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++)
        s.ranges += profconv_profile_range(p, i)->count;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++)
        s.addresses += profconv_profile_address(p, i)->count;
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY); i++)
        s.body += profconv_profile_source_body(p, i)->count;
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); i++)
        s.targets += profconv_profile_source_target(p, i)->count;
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i++) {
        s.heads += profconv_profile_source(p, i)->head;
        s.totals += profconv_profile_source(p, i)->total;
    }
    return s;
}

static void compare_sum(const cell *c, const char *what, uint64_t before, uint64_t after) {
    if (after > before || (after < before && loss_notes(c->report) == 0))
        fail_msg("%s: %s added up to %llu, now to %llu, and nothing was reported", c->label, what,
                 (unsigned long long)before, (unsigned long long)after);
}

/* Counts for compilers: what a writer of the facet keeps of them it keeps whole, or says what it left. */
static void compare_counts(const cell *c) {
    sums in = add_up(c->in);
    sums back = add_up(c->back);
    uint32_t kept = c->writer.keeps & profconv_profile_facets(c->in);
    if (kept & PROFCONV_FACET_BRANCHES) { /* without, a writer may take the leaves of the stacks */
        compare_sum(c, "branches", in.branches, back.branches);
        compare_sum(c, "ranges", in.ranges, back.ranges);
        compare_sum(c, "addresses", in.addresses, back.addresses);
    }
    if (kept & PROFCONV_FACET_SOURCE_COUNTS) {
        compare_sum(c, "counts of lines", in.body, back.body);
        compare_sum(c, "calls", in.targets, back.targets);
        compare_sum(c, "entries", in.heads, back.heads);
    }
}

/* Whether a label is there that the writer does not list as held in its own way. */
static int has_unlisted_label(const cell *c) {
    for (uint32_t i = 1; i < profconv_profile_rows(c->in, PROFCONV_TABLE_LABEL); i++) {
        char key[64];
        char list[256];
        profconv_string name = profconv_profile_string(c->in, profconv_profile_label(c->in, i)->key);
        snprintf(key, sizeof key, ",%s,", name.data);
        snprintf(list, sizeof list, ",%s,", c->writer.labels ? c->writer.labels : "");
        if (!strstr(list, key))
            return 1;
    }
    return 0;
}

static void compare_facets(const cell *c) {
    uint32_t expected = profconv_profile_facets(c->in) & c->writer.keeps & c->writer.produces;
    uint32_t lost = expected & ~profconv_profile_facets(c->back);
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        if ((lost & bit) && loss_notes(c->report) == 0)
            fail_msg("%s: %s went missing without a word", c->label, profconv_facet_name(bit));
    }
    /* And what the writer does not keep was reported. */
    uint32_t given_up = profconv_profile_facets(c->in) & ~c->writer.keeps;
    if (!has_unlisted_label(c))
        given_up &= ~(uint32_t)PROFCONV_FACET_LABELS;
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        char cause[48];
        int found = 0;
        snprintf(cause, sizeof cause, "facet-%s", profconv_facet_name(bit));
        for (size_t i = 0; i < profconv_report_count(c->report); i++) {
            profconv_note note;
            if (profconv_report_get(c->report, i, &note) == PROFCONV_OK && strcmp(note.cause, cause) == 0)
                found = note.kind == PROFCONV_NOTE_LOST;
        }
        if ((given_up & bit) && !found)
            fail_msg("%s: the loss of %s is not reported", c->label, profconv_facet_name(bit));
    }
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
    if (c->writer.keeps & PROFCONV_FACET_STACKS)
        compare_samples(c);
    compare_counts(c);
    compare_facets(c);
    /* Where the writer named losses of its own, or holds counts in another form (a recording has only samples), what
     * was read back is another profile. */
    uint32_t kept = profconv_profile_facets(c->in) & c->writer.keeps;
    if (kept == profconv_profile_facets(c->back) && !left_stacks_out(c->report) && !has_unweighed_loss(c->report))
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
