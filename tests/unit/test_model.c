/* SPDX-License-Identifier: MIT
 *
 * The builder: what makes rows equal, what adds up, what stays as it is given, and what a limit does.
 */
#include "tests/unit/model_scenario.h"

#include "libprofconv/model/model.h"

#include <stdio.h>
#include <time.h>

static const char *note_cause(const profconv_report *report, size_t index, uint64_t *count) {
    profconv_note note;
    assert_int_equal(profconv_report_get(report, index, &note), PROFCONV_OK);
    *count = note.count;
    return note.cause;
}

static void strings_are_interned(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    assert_int_equal(profconv_builder_string(b, "", 0), 0);
    assert_int_equal(profconv_builder_cstring(b, NULL), 0);
    profconv_id a = S(b, "alpha"), nul = profconv_builder_string(b, "al\0pha", 6);
    assert_int_not_equal(a, nul);
    assert_int_equal(S(b, "alpha"), a);
    assert_int_equal(profconv_builder_get_string(b, nul).size, 6);
    assert_memory_equal(profconv_builder_get_string(b, nul).data, "al\0pha", 7);
    for (int i = 0; i < 5000; i++) { /* a part of a string that we hold, while the block grows and moves */
        char text[16];
        int n = snprintf(text, sizeof text, "text%d", i);
        profconv_id id = profconv_builder_string(b, text, (size_t)n);
        profconv_string held = profconv_builder_get_string(b, id);
        profconv_id part = profconv_builder_string(b, held.data + 3, held.size - 3);
        assert_int_equal(profconv_builder_cstring(b, text + 3), part);
        assert_string_equal(profconv_builder_get_string(b, part).data, text + 3);
    }
    assert_string_equal(profconv_builder_get_string(b, a).data, "alpha");
    assert_string_equal(profconv_builder_get_string(b, 1u << 30).data, "");
    assert_int_equal(profconv_builder_status(b, NULL), PROFCONV_OK);
    profconv_builder_free(b);
}

static void functions_by_all_members(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_id x = S(b, "x"), y = S(b, "y");
    profconv_function rows[5] = {{1, x, x, x, 0}, {2, x, x, x, 0}, {1, y, x, x, 0}, {1, x, y, x, 0}, {1, x, x, y, 0}};
    profconv_id ids[5];
    for (int i = 0; i < 5; i++) {
        ids[i] = profconv_builder_function(b, &rows[i]);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(ids[i], ids[k]);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(profconv_builder_function(b, &rows[i]), ids[i]);
    profconv_builder_free(b);
}

static void mappings_by_what_they_are(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_mapping base = {1, 2, 3, 0, S(b, "f"), S(b, "id"), 0, PROFCONV_MAPPING_LIBRARY, 0, 9}, row, got;
    profconv_id first = profconv_builder_mapping(b, &base);
    row = base;
    row.flags = PROFCONV_MAPPING_HAS_FUNCTIONS;
    row.reference = S(b, "_text");
    row.reference_address = 77;
    assert_int_equal(profconv_builder_mapping(b, &row), first);
    for (int i = 0; i < 7; i++) {
        row = base;
        uint64_t *wide[3] = {&row.start, &row.limit, &row.file_offset};
        uint32_t *narrow[4] = {&row.file, &row.build_id, &row.kind, &row.pid};
        if (i < 3)
            *wide[i] += 1;
        else
            *narrow[i - 3] = 3; /* "_text", a module, a process */
        assert_int_equal(profconv_builder_mapping(b, &row), i + 2);
    }
    row = base;
    row.limit = 1000;
    profconv_builder_mapping_replace(b, first, &row);
    profconv_builder_get_mapping(b, first, &got);
    assert_int_equal(got.limit, 1000);
    assert_int_equal(profconv_builder_mapping(b, &row), first); /* the index knows the new identity */
    assert_int_not_equal(profconv_builder_mapping(b, &base), first);
    profconv_builder_get_mapping(b, 12345, &got);
    assert_int_equal(got.kind, 0);
    profconv_builder_free(b);
}

static void locations_with_and_without_lines(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_mapping m = {0, 0, 0, 0, S(b, "f"), 0, 0, 0, 0, 0};
    profconv_function f = {0, S(b, "f"), 0, 0, 0};
    profconv_id mapping = profconv_builder_mapping(b, &m), function = profconv_builder_function(b, &f);
    profconv_location row = {0x10, mapping, 99, 99, PROFCONV_LOCATION_NO_SYMBOL};
    profconv_id plain = profconv_builder_address_location(b, mapping, 0x10, 0);
    assert_int_equal(profconv_builder_location(b, &row, NULL, 0), plain);
    assert_int_not_equal(profconv_builder_address_location(b, mapping, 0x11, 0), plain);
    assert_int_not_equal(profconv_builder_address_location(b, 0, 0x10, 0), plain);
    assert_int_not_equal(profconv_builder_address_location(b, mapping, 0x10, PROFCONV_LOCATION_KERNEL), plain);
    profconv_line lines[2] = {{1, 0, function, 0}, {2, 0, function, 0}}, swapped[2] = {lines[1], lines[0]};
    profconv_id two = profconv_builder_location(b, &row, lines, 2);
    assert_int_not_equal(two, plain);
    assert_int_equal(profconv_builder_location(b, &row, lines, 2), two);
    assert_int_not_equal(profconv_builder_location(b, &row, lines, 1), two);
    assert_int_not_equal(profconv_builder_location(b, &row, swapped, 2), two);
    profconv_location bare = {0};
    profconv_id frames = profconv_builder_location(b, &bare, lines, 2);
    assert_int_not_equal(frames, two);
    assert_int_equal(profconv_builder_location(b, &bare, lines, 2), frames);
    assert_int_equal(profconv_builder_status(b, NULL), PROFCONV_OK);
    profconv_builder_free(b);
}

static void lines_set_afterwards_keep_the_id(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_function f = {0, S(b, "f"), 0, 0, 0};
    profconv_id function = profconv_builder_function(b, &f);
    profconv_id id = profconv_builder_address_location(b, 0, 0x10, 0);
    profconv_line lines[3] = {{1, 0, function, 0}, {2, 0, function, 0}, {3, 0, function, 0}};
    pfc_builder_set_lines(b, id, lines, 3);
    pfc_builder_set_location_flags(b, id, PROFCONV_LOCATION_FOLDED);
    profconv_location row = {0x10, 0, 0, 0, PROFCONV_LOCATION_FOLDED};
    assert_int_equal(profconv_builder_location(b, &row, lines, 3), id);
    pfc_builder_set_lines(b, id, lines + 1, 2); /* in the place of the longer run */
    assert_int_equal(profconv_builder_location(b, &row, lines + 1, 2), id);
    assert_int_not_equal(profconv_builder_location(b, &row, lines, 3), id);
    profconv_profile *p = freeze(b);
    assert_int_equal(profconv_profile_location(p, id)->line_count, 2);
    assert_int_equal(profconv_profile_line(p, id, 0)->line, 2);
    assert_int_equal(profconv_profile_line(p, id, 1)->line, 3);
    assert_int_equal(profconv_profile_line(p, id, 2)->line, 0);
    profconv_profile_free(p);
}

static void labels_have_one_form(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_id k = S(b, "k"), s = S(b, "s"), u = S(b, "u");
    profconv_label text = {0, k, s, 0, 0}, both = {5, k, s, u, 1}, number = {5, k, 0, u, 7}, zero = {0, k, 0, 0, 1};
    profconv_label empty = {9, k, 0, u, 0};
    profconv_id string_id = profconv_builder_label(b, &text), number_id = profconv_builder_label(b, &number);
    assert_int_equal(profconv_builder_label(b, &both), string_id);
    profconv_id zero_id = profconv_builder_label(b, &zero), empty_id = profconv_builder_label(b, &empty);
    assert_int_not_equal(zero_id, empty_id);
    profconv_id one[2] = {string_id, number_id}, two[2] = {number_id, string_id};
    profconv_id set = profconv_builder_label_set(b, one, 2);
    assert_int_not_equal(profconv_builder_label_set(b, two, 2), set);
    assert_int_not_equal(profconv_builder_label_set(b, one, 1), set);
    assert_int_equal(profconv_builder_label_set(b, one, 2), set);
    assert_int_equal(profconv_builder_label_set(b, one, 0), 0);
    profconv_profile *p = freeze(b);
    assert_int_equal(profconv_profile_label(p, number_id)->numeric, 1);
    assert_int_equal(profconv_profile_label(p, number_id)->number, 5);
    assert_int_equal(profconv_profile_label(p, empty_id)->number, 0);
    assert_ptr_equal(profconv_profile_find_label(p, set, "k"), profconv_profile_label(p, string_id));
    assert_null(profconv_profile_find_label(p, set, "key"));
    assert_null(profconv_profile_find_label(p, 0, "k"));
    assert_int_equal(profconv_profile_label_item(p, profconv_profile_label_set(p, set)->first + 1), number_id);
    profconv_profile_free(p);
}

static void samples_add_up(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_sample_type t = {0, S(b, "samples"), S(b, "count"), 0, PROFCONV_ROLE_COUNT};
    assert_int_equal(profconv_builder_sample_type(b, &t), 0);
    profconv_id stacks[100];
    for (uint32_t i = 0; i < 100; i++)
        stacks[i] = profconv_builder_stack(b, 0, profconv_builder_address_location(b, 0, i + 1, 0));
    for (int round = 0; round < 3; round++)
        for (int64_t i = 0; i < 100; i++)
            profconv_builder_sample(b, stacks[i], 0, 0, &i, 1);
    t.name = S(b, "late");
    assert_int_equal(profconv_builder_sample_type(b, &t), 1); /* a column after the samples is zero so far */
    const int64_t both[2] = {1000, -5}, last = -6;
    profconv_builder_sample(b, stacks[7], 0, 0, both, 2);
    profconv_builder_sample(b, stacks[7], 0, 1, &last, 1);
    profconv_builder_sample(b, stacks[8], 0, 0, NULL, 0);
    profconv_profile *p = freeze(b);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 100);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(profconv_profile_sample_stack(p, i), stacks[i]);
        assert_int_equal(profconv_profile_sample_value(p, i, 0), 3 * i + (i == 7 ? 1000 : 0));
        assert_int_equal(profconv_profile_sample_value(p, i, 1), i == 7 ? -11 : 0);
    }
    assert_int_equal(profconv_profile_total(p, 0), 3 * 4950 + 1000);
    assert_int_equal(profconv_profile_total(p, 1), -11);
    assert_int_equal(profconv_profile_total(p, 2), 0);
    assert_int_equal(profconv_profile_sample_value(p, 100, 0), 0);
    profconv_profile_free(p);
}

static void sums_saturate_with_a_note(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_sample_type t = {0, S(b, "v"), 0, 0, 0};
    profconv_builder_sample_type(b, &t);
    profconv_id location = profconv_builder_address_location(b, 0, 1, 0);
    profconv_id stack = profconv_builder_stack(b, 0, location);
    const int64_t high = INT64_MAX - 1, low = INT64_MIN + 1, two = 2, minus = -2;
    profconv_builder_sample(b, stack, 0, 0, &high, 1);
    profconv_builder_sample(b, stack, 0, 0, &two, 1);
    profconv_builder_sample(b, 0, 0, 0, &low, 1);
    profconv_builder_sample(b, 0, 0, 0, &minus, 1);
    profconv_builder_branch(b, location, location, UINT64_MAX, 0, 0);
    profconv_builder_branch(b, location, location, 1, 2, 3);
    profconv_profile *p = freeze(b);
    assert_true(profconv_profile_sample_value(p, 0, 0) == INT64_MAX);
    assert_true(profconv_profile_sample_value(p, 1, 0) == INT64_MIN);
    assert_true(profconv_profile_total(p, 0) == -1);
    assert_true(profconv_profile_branch(p, 0)->count == UINT64_MAX);
    assert_int_equal(profconv_profile_branch(p, 0)->cycles, 3);
    uint64_t count;
    assert_int_equal(profconv_report_count(profconv_profile_report(p)), 1);
    assert_string_equal(note_cause(profconv_profile_report(p), 0, &count), "value-saturated");
    assert_int_equal(count, 3);
    profconv_profile_free(p);
}

static void totals_do_not_depend_on_order(void **state) {
    (void)state;
    const int64_t values[3][4] = {{INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN}, {INT64_MAX, 1, 0, 0},
                                  {INT64_MIN, -1, 0, 0}};
    const int64_t expected[3] = {-2, INT64_MAX, INT64_MIN};
    for (int k = 0; k < 3; k++) {
        profconv_builder *b = new_builder();
        profconv_sample_type t = {0, S(b, "v"), 0, 0, 0};
        profconv_builder_sample_type(b, &t);
        for (uint64_t i = 0; i < 4; i++)
            profconv_builder_sample(b, profconv_builder_stack(b, 0, profconv_builder_address_location(b, 0, i + 1, 0)),
                                    0, 0, &values[k][i], 1);
        profconv_profile *p = freeze(b);
        assert_true(profconv_profile_total(p, 0) == expected[k]);
        profconv_profile_free(p);
    }
}

static void branches_and_sources_add_up(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    scenario(b);
    scenario(b); /* each counted row twice */
    profconv_profile *p = freeze(b);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_BRANCH), 2);
    assert_int_equal(profconv_profile_branch(p, 0)->count, 20);
    assert_int_equal(profconv_profile_branch(p, 0)->mispredicted, 6);
    assert_int_equal(profconv_profile_branch(p, 0)->cycles, 154);
    assert_int_equal(profconv_profile_range(p, 0)->count, 24);
    assert_int_equal(profconv_profile_address(p, 0)->count, 10);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SOURCE), 3);
    assert_int_equal(profconv_profile_source(p, 1)->total, 200);
    assert_int_equal(profconv_profile_source(p, 1)->head, 14);
    assert_int_equal(profconv_profile_source(p, 1)->checksum, 0x1234);
    assert_int_equal(profconv_profile_source(p, 2)->total, 60);
    assert_int_equal(profconv_profile_source_body(p, 1)->count, 100);
    assert_int_equal(profconv_profile_source_target(p, 1)->count, 40);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SYMBOL), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_CONTEXT), 2);
    assert_int_equal(profconv_profile_sample_value(p, 0, 0), 4);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 2);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE), 4);
    assert_int_equal(profconv_profile_facets(p), PROFCONV_FACET_ALL);
    assert_string_equal(profconv_profile_find_attribute(p, "hostname").data, "box");
    assert_int_equal(profconv_profile_find_attribute(p, "none").size, 0);
    profconv_profile_free(p);
}

/* Each facet alone, by the least that makes it. */
static void facets_follow_the_content(void **state) {
    (void)state;
    for (uint32_t facet = 1; facet < PROFCONV_FACET_ALL; facet <<= 1) {
        profconv_builder *b = new_builder();
        profconv_location bare = {0};
        profconv_line line = {0};
        uint32_t expected = facet;
        if (facet == PROFCONV_FACET_SYMBOLS) {
            profconv_function f = {0, S(b, "f"), 0, 0, 0};
            line.function = profconv_builder_function(b, &f);
            profconv_builder_location(b, &bare, &line, 1);
        } else if (facet == PROFCONV_FACET_ADDRESSES) {
            profconv_builder_address_location(b, 0, 1, 0);
        } else if (facet == PROFCONV_FACET_LINES) {
            line.line = 1;
            profconv_builder_location(b, &bare, &line, 1);
        } else if (facet == PROFCONV_FACET_STACKS) {
            profconv_builder_sample(b, profconv_builder_stack(b, 0, profconv_builder_location(b, &bare, &line, 1)), 0,
                                    0, NULL, 0);
        } else if (facet == PROFCONV_FACET_LABELS) {
            profconv_label l = {0, S(b, "k"), S(b, "v"), 0, 0};
            profconv_id id = profconv_builder_label(b, &l);
            profconv_builder_sample(b, 0, profconv_builder_label_set(b, &id, 1), 0, NULL, 0);
        } else if (facet == PROFCONV_FACET_BRANCHES) {
            profconv_builder_address(b, 0, 1);
        } else {
            profconv_source s = {0};
            profconv_builder_source(b, &s);
        }
        profconv_profile *p = freeze(b);
        assert_int_equal(profconv_profile_facets(p), expected);
        assert_non_null(profconv_facet_name(facet));
        profconv_profile_free(p);
    }
    assert_null(profconv_facet_name(3));
    profconv_builder *b = new_builder();
    profconv_profile *p = freeze(b);
    assert_int_equal(profconv_profile_facets(p), 0);
    profconv_profile_free(p);
}

static void verbatim_keeps_rows(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    assert_int_equal(profconv_builder_verbatim(b), PROFCONV_OK);
    profconv_function f = {0, S(b, "f"), 0, 0, 0};
    profconv_mapping m = {0, 0, 0, 0, S(b, "f"), 0, 0, 0, 0, 0};
    profconv_sample_type t = {0, S(b, "v"), 0, 0, 0};
    const int64_t one = 1;
    profconv_builder_sample_type(b, &t);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(profconv_builder_function(b, &f), i);
        assert_int_equal(profconv_builder_mapping(b, &m), i);
        assert_int_equal(profconv_builder_address_location(b, 1, 0x10, 0), i);
        assert_int_equal(profconv_builder_stack(b, 0, 1), 1);
        profconv_builder_sample(b, 1, 0, 0, &one, 1);
    }
    profconv_profile *p = freeze(b);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 3);
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    assert_int_equal(profconv_builder_verbatim(b), PROFCONV_E_INVALID);
    /* What is there stays as it is; what is added is looked for, so that passes do not fill tables with copies. */
    profconv_id known = profconv_builder_function(b, &f);
    assert_true(known >= 1 && known <= 3);
    f.start_line = 5;
    assert_int_equal(profconv_builder_function(b, &f), 4);
    assert_int_equal(profconv_builder_function(b, &f), 4);
    known = profconv_builder_address_location(b, 1, 0x10, 0);
    assert_true(known >= 1 && known <= 3);
    profconv_builder_sample(b, 1, 0, 0, &one, 1);
    p = freeze(b);
    assert_int_equal(profconv_profile_verbatim(p), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 3);
    assert_int_equal(profconv_profile_total(p, 0), 4);
    profconv_profile_free(p);
}

/* A hundred thousand equal rows must not cost a walk over all of them for each. */
static void equal_rows_do_not_make_runs(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    assert_int_equal(profconv_builder_verbatim(b), PROFCONV_OK);
    profconv_function f = {0, S(b, "f"), 0, 0, 0};
    for (int i = 0; i < 200000; i++) {
        profconv_builder_function(b, &f);
        profconv_builder_address_location(b, 0, 7, 0);
        profconv_builder_sample(b, 0, 0, 0, NULL, 0);
    }
    profconv_profile *p = freeze(b);
    clock_t start = clock();
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    assert_int_equal(profconv_builder_function(b, &f), 1);
    assert_int_equal(profconv_builder_address_location(b, 0, 7, 0), 1);
    profconv_builder_sample(b, 0, 0, 0, NULL, 0);
    p = freeze(b);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 200000);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5); /* milliseconds; a minute and more with runs */
    profconv_profile_free(p);
}

static void deep_stacks_are_cut(void **state) {
    (void)state;
    profconv_limits limits = {sizeof limits, 0, 0, 0, 3, 0, 0};
    profconv_builder *b = NULL;
    assert_int_equal(profconv_builder_new(&b, NULL, &limits, NULL), PROFCONV_OK);
    profconv_id ids[5], stack = 0;
    for (uint32_t i = 0; i < 5; i++)
        ids[i] = profconv_builder_address_location(b, 0, i + 1, 0);
    profconv_id leaf = profconv_builder_stack_leaf_first(b, ids, 5);
    for (int i = 2; i >= 0; i--) /* the three at the leaf end are left */
        stack = profconv_builder_stack(b, stack, ids[i]);
    assert_int_equal(stack, leaf);
    assert_int_equal(profconv_builder_stack(b, stack, ids[4]), stack);
    profconv_profile *p = freeze(b);
    uint64_t count;
    assert_string_equal(note_cause(profconv_profile_report(p), 0, &count), "stack-truncated");
    assert_int_equal(count, 2);
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK); /* depths are known again */
    assert_int_equal(profconv_builder_stack(b, stack, ids[4]), stack);
    assert_int_equal(profconv_builder_stack(b, 0, ids[4]), 4); /* three nodes before it */
    profconv_builder_free(b);
}

static void limits_name_themselves(void **state) {
    (void)state;
    profconv_limits limits = {sizeof limits, 64 << 10, 0, 0, 0, 8, 0};
    profconv_builder *b = NULL;
    profconv_error error;
    uint64_t live, peak;
    assert_int_equal(profconv_builder_new(&b, NULL, &limits, NULL), PROFCONV_OK);
    assert_int_not_equal(S(b, "12345678"), 0);
    assert_int_equal(S(b, "123456789"), 0);
    assert_int_equal(profconv_builder_status(b, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_string is 8"));
    profconv_builder_free(b);
    limits.max_string = 0;
    assert_int_equal(profconv_builder_new(&b, NULL, &limits, NULL), PROFCONV_OK);
    assert_int_equal(profconv_builder_limits(b)->max_string, 16 << 20);
    assert_int_equal(profconv_builder_limits(b)->max_depth, 16384);
    uint64_t rows = 0;
    while (profconv_builder_address_location(b, 0, rows, 0))
        rows++;
    assert_int_equal(profconv_builder_status(b, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_memory of 65536 bytes"));
    assert_true(rows > 500); /* 24 bytes a row and 16 to 32 in the index */
    profconv_builder_memory(b, &live, &peak);
    assert_true(live <= peak && peak <= 64 << 10 && live > 24 * rows);
    profconv_builder_free(b);
}

static void tables_end_at_32_bits(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_id name = S(b, "x");
    profconv_builder_symbol(b, name);
    pfc_model *m = pfc_builder_model(b);
    size_t count = m->comments.count;
    m->comments.count = UINT32_MAX; /* as if there were so many */
    profconv_builder_comment(b, name);
    profconv_error error;
    assert_int_equal(profconv_builder_status(b, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "comment table is full"));
    m->comments.count = count;
    profconv_builder_free(b);
}

enum { INVALID_CALLS = 33 };

static void invalid_call(profconv_builder *b, int which) {
    const profconv_id far = 1000, one = 1;
    profconv_function f = {0};
    profconv_mapping m = {0};
    profconv_location l = {0};
    profconv_line line = {0, 0, far, 0};
    profconv_label label = {0};
    profconv_sample_type type = {0};
    profconv_source source = {0};
    profconv_context context = {0};
    profconv_info info = {0};
    switch (which) {
    case 0: f.name = far, profconv_builder_function(b, &f); break;
    case 1: f.linkage_name = far, profconv_builder_function(b, &f); break;
    case 2: f.file = far, profconv_builder_function(b, &f); break;
    case 3: m.file = far, profconv_builder_mapping(b, &m); break;
    case 4: m.build_id = far, profconv_builder_mapping(b, &m); break;
    case 5: m.reference = far, m.start = 99, profconv_builder_mapping(b, &m); break;
    case 6: m.kind = 100, profconv_builder_mapping(b, &m); break;
    case 7: profconv_builder_mapping_replace(b, far, &m); break;
    case 8: profconv_builder_address_location(b, far, 0, 0); break;
    case 9: profconv_builder_location(b, &l, &line, 1); break;
    case 10: profconv_builder_stack(b, far, one); break;
    case 11: profconv_builder_stack(b, 0, far); break;
    case 12: profconv_builder_stack(b, 0, 0); break;
    case 13: profconv_builder_stack_leaf_first(b, &far, 1); break;
    case 14: label.key = far, profconv_builder_label(b, &label); break;
    case 15: label.string = far, profconv_builder_label(b, &label); break;
    case 16: label.numeric = 1, label.unit = far, profconv_builder_label(b, &label); break;
    case 17: profconv_builder_label_set(b, &far, 1); break;
    case 18: type.event = far, profconv_builder_sample_type(b, &type); break;
    case 19: type.role = 9, profconv_builder_sample_type(b, &type); break;
    case 20: profconv_builder_sample_type_replace(b, far, &type); break;
    case 21: profconv_builder_sample(b, far, 0, 0, NULL, 0); break;
    case 22: profconv_builder_sample(b, 0, far, 0, NULL, 0); break;
    case 23: profconv_builder_sample(b, 0, 0, 1, (const int64_t[2]){1, 2}, 2); break;
    case 24: profconv_builder_branch(b, far, 0, 1, 0, 0); break;
    case 25: profconv_builder_range(b, 0, far, 1); break;
    case 26: profconv_builder_address(b, far, 1); break;
    case 27: source.parent = far, profconv_builder_source(b, &source); break;
    case 28: source.name = 1, source.file = far, profconv_builder_source(b, &source); break;
    case 29: context.parent = far, profconv_builder_context(b, &context); break;
    case 30: profconv_builder_source_body(b, 0, 1, 1, 1); break;
    case 31: profconv_builder_source_target(b, 0, 1, 1); break;
    case 32: info.doc_url = far, profconv_builder_set_info(b, &info); break;
    default: fail();
    }
}

static void invalid_ids_are_sticky(void **state) {
    (void)state;
    for (int i = 0; i < INVALID_CALLS; i++) {
        profconv_builder *b = new_builder();
        profconv_profile *p = (profconv_profile *)&p;
        profconv_error error = {0};
        scenario(b);
        assert_int_equal(profconv_builder_status(b, NULL), PROFCONV_OK);
        invalid_call(b, i);
        if (profconv_builder_status(b, &error) != PROFCONV_E_INVALID)
            fail_msg("call %d: status %d", i, profconv_builder_status(b, NULL));
        assert_true(error.message[0] != 0);
        assert_int_equal(S(b, "after"), 0);
        assert_int_equal(profconv_builder_freeze(b, &p, &error), PROFCONV_E_INVALID);
        assert_null(p);
        profconv_builder_free(b);
    }
}

static void freeze_and_thaw_go_round(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    scenario(b);
    profconv_profile *p = freeze(b);
    char *before = dump_text(p);
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    assert_null(p);
    p = freeze(b);
    char *after = dump_text(p);
    assert_string_equal(before, after);
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    profconv_id location[4];
    scenario_code(b, location); /* the filled indexes find every row */
    scenario_branches(b, location);
    scenario_sources(b);
    p = freeze(b);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_FUNCTION), 3);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_MAPPING), 3);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_LOCATION), 4);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_BRANCH), 2);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_RANGE), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS), 1);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SOURCE), 3);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SYMBOL), 1);
    assert_int_equal(profconv_profile_branch(p, 0)->count, 20);
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    const int64_t one = 1; /* (leaf, set) is row 0 of the samples, also through a filled index */
    profconv_builder_sample(b, 2, 1, 0, &one, 1);
    p = freeze(b);
    assert_int_equal(profconv_profile_sample_stack(p, 0), 2);
    assert_int_equal(profconv_profile_sample_value(p, 0, 0), 3);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 2);
    profconv_profile_free(p);
    test_free(before);
    test_free(after);
}

static void a_frozen_builder_is_empty(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_profile *p = NULL, *again = NULL;
    scenario(b);
    assert_int_equal(profconv_builder_freeze(b, &p, NULL), PROFCONV_OK);
    assert_int_equal(S(b, "more"), 0);
    assert_int_equal(profconv_builder_freeze(b, &again, NULL), PROFCONV_E_INVALID);
    assert_null(again);
    profconv_builder_free(b);
    assert_int_equal(profconv_profile_check(p, NULL), PROFCONV_OK);
    profconv_profile_free(p);
    profconv_profile_free(NULL);
    profconv_builder_free(NULL);
}

static void default_sample_type_is_chosen(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_profile *p = freeze(b);
    assert_int_equal(profconv_profile_default_sample_type(p), 0);
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    profconv_sample_type t = {0, S(b, "a"), 0, 0, 0};
    profconv_builder_sample_type(b, &t);
    t.name = S(b, "b");
    profconv_builder_sample_type(b, &t);
    p = freeze(b);
    assert_int_equal(profconv_profile_default_sample_type(p), 1); /* the last */
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    t.name = S(b, "a");
    t.role = PROFCONV_ROLE_WEIGHT;
    profconv_builder_sample_type_replace(b, 0, &t);
    p = freeze(b);
    assert_int_equal(profconv_profile_default_sample_type(p), 0); /* the last weight */
    assert_int_equal(profconv_builder_thaw(&b, &p, NULL), PROFCONV_OK);
    profconv_info info;
    profconv_builder_get_info(b, &info);
    info.default_sample_type = S(b, "b");
    profconv_builder_set_info(b, &info);
    p = freeze(b);
    assert_int_equal(profconv_profile_default_sample_type(p), 1); /* what it says */
    profconv_profile_free(p);
}

static void newer_structs_are_refused(void **state) {
    (void)state;
    struct {
        profconv_limits limits;
        uint64_t tail;
    } newer = {{sizeof newer, 0, 0, 0, 0, 0, 0}, 1};
    profconv_builder *b = (profconv_builder *)&b;
    assert_int_equal(profconv_builder_new(&b, NULL, &newer.limits, NULL), PROFCONV_E_INVALID);
    assert_null(b);
    newer.tail = 0;
    assert_int_equal(profconv_builder_new(&b, NULL, &newer.limits, NULL), PROFCONV_OK);
    profconv_builder_free(b);
    profconv_allocator none = {sizeof none, NULL, NULL};
    assert_int_equal(profconv_builder_new(&b, &none, NULL, NULL), PROFCONV_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_interned),
        cmocka_unit_test(functions_by_all_members),
        cmocka_unit_test(mappings_by_what_they_are),
        cmocka_unit_test(locations_with_and_without_lines),
        cmocka_unit_test(lines_set_afterwards_keep_the_id),
        cmocka_unit_test(labels_have_one_form),
        cmocka_unit_test(samples_add_up),
        cmocka_unit_test(sums_saturate_with_a_note),
        cmocka_unit_test(totals_do_not_depend_on_order),
        cmocka_unit_test(branches_and_sources_add_up),
        cmocka_unit_test(facets_follow_the_content),
        cmocka_unit_test(verbatim_keeps_rows),
        cmocka_unit_test(equal_rows_do_not_make_runs),
        cmocka_unit_test(deep_stacks_are_cut),
        cmocka_unit_test(limits_name_themselves),
        cmocka_unit_test(tables_end_at_32_bits),
        cmocka_unit_test(invalid_ids_are_sticky),
        cmocka_unit_test(freeze_and_thaw_go_round),
        cmocka_unit_test(a_frozen_builder_is_empty),
        cmocka_unit_test(default_sample_type_is_chosen),
        cmocka_unit_test(newer_structs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
