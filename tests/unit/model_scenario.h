/* SPDX-License-Identifier: MIT
 *
 * A small profile with rows in every table, for the tests of the model.
 */
#ifndef TESTS_UNIT_MODEL_SCENARIO_H
#define TESTS_UNIT_MODEL_SCENARIO_H

#include <profconv/builder.h>
#include <profconv/convert.h>
#include <profconv/io.h>
#include <profconv/transform.h>

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#define S(b, text) profconv_builder_cstring((b), (text))

static inline profconv_builder *new_builder(void) {
    profconv_builder *b = NULL;
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), PROFCONV_OK);
    assert_non_null(b);
    return b;
}

static inline profconv_profile *freeze(profconv_builder *b) {
    profconv_profile *p = NULL;
    profconv_error error = {0};
    if (profconv_builder_freeze(b, &p, &error))
        fail_msg("freeze: %s", error.message);
    assert_non_null(p);
    profconv_builder_free(b);
    return p;
}

static inline void scenario_code(profconv_builder *b, profconv_id location[4]) {
    profconv_function main_row = {3, S(b, "main"), S(b, "main"), S(b, "a.c"), 0};
    profconv_function work_row = {10, S(b, "work(int)"), S(b, "_Z4worki"), S(b, "a.c"), 0};
    profconv_id main_function = profconv_builder_function(b, &main_row);
    profconv_id work_function = profconv_builder_function(b, &work_row);
    profconv_mapping exe = {0x1000, 0x3000, 0x1000, 0, S(b, "/bin/app"), S(b, "abcd"), 0, PROFCONV_MAPPING_EXECUTABLE,
                            PROFCONV_MAPPING_MAIN, 0};
    profconv_mapping kernel = {0xffffffff81000000, 0xffffffff82000000, 0xffffffff81000000, 0xffffffff81000000,
                               S(b, "[kernel.kallsyms]"), S(b, "ef01"), S(b, "_text"), PROFCONV_MAPPING_KERNEL, 0, 0};
    profconv_id app = profconv_builder_mapping(b, &exe), kernel_id = profconv_builder_mapping(b, &kernel);
    profconv_location inlined = {0x1234, app, 0, 0, 0};
    profconv_line lines[2] = {{12, 5, work_function, 2}, {4, 0, main_function, 0}};
    location[0] = 0;
    location[1] = profconv_builder_location(b, &inlined, lines, 2);
    location[2] = profconv_builder_address_location(b, app, 0x1300, PROFCONV_LOCATION_FOLDED);
    location[3] = profconv_builder_address_location(b, kernel_id, 0xffffffff81000010, PROFCONV_LOCATION_KERNEL);
}

static inline void scenario_samples(profconv_builder *b, const profconv_id location[4]) {
    profconv_sample_type types[2] = {{0, S(b, "samples"), S(b, "count"), S(b, "cycles:u"), PROFCONV_ROLE_COUNT},
                                     {1000, S(b, "cycles"), S(b, "count"), S(b, "cycles:u"), PROFCONV_ROLE_WEIGHT}};
    profconv_builder_sample_type(b, &types[0]);
    profconv_builder_sample_type(b, &types[1]);
    profconv_label pid = {4711, S(b, "pid"), 0, S(b, "id"), 1}, comm = {0, S(b, "comm"), S(b, "app"), 0, 0};
    profconv_id labels[2] = {profconv_builder_label(b, &pid), profconv_builder_label(b, &comm)};
    profconv_id set = profconv_builder_label_set(b, labels, 2);
    profconv_id root = profconv_builder_stack(b, 0, location[2]);
    profconv_id leaf = profconv_builder_stack(b, root, location[1]);
    profconv_id other[2] = {location[3], location[2]};
    const int64_t values[2] = {1, 1000};
    profconv_builder_sample(b, leaf, set, 0, values, 2);
    profconv_builder_sample(b, leaf, set, 0, values, 2);
    profconv_builder_sample(b, profconv_builder_stack_leaf_first(b, other, 2), 0, 0, values, 2);
}

static inline void scenario_branches(profconv_builder *b, const profconv_id location[4]) {
    profconv_builder_branch(b, location[1], location[2], 10, 3, 77);
    profconv_builder_branch(b, location[2], 0, 4, 0, 0);
    profconv_builder_range(b, location[1], location[2], 12);
    profconv_builder_address(b, location[1], 5);
    profconv_entry work = {0x1220, 0x40, 1, S(b, "work"), 2, 0};
    profconv_builder_entry(b, &work);
}

static inline void scenario_sources(profconv_builder *b) {
    profconv_context caller = {0, S(b, "main"), 2, 1};
    profconv_source top = {0};
    top.total = 100;
    top.head = 7;
    top.name = S(b, "_Z4worki");
    top.context = profconv_builder_context(b, &caller);
    top.checksum = 0x1234;
    top.attributes = 2;
    top.flags = PROFCONV_SOURCE_CHECKSUM | PROFCONV_SOURCE_ATTRIBUTES;
    top.file = S(b, "a.c");
    top.timestamp = 99;
    profconv_source inlined = {0};
    inlined.total = 30;
    inlined.parent = profconv_builder_source(b, &top);
    inlined.name = S(b, "helper");
    inlined.line = 3;
    inlined.discriminator = 1;
    profconv_builder_source(b, &inlined);
    profconv_id body = profconv_builder_source_body(b, inlined.parent, 4, 0, 50);
    profconv_builder_source_target(b, body, S(b, "callee"), 20);
    profconv_builder_symbol(b, S(b, "callee"));
}

static inline void scenario_texts(profconv_builder *b) {
    profconv_info info = {0};
    info.time_ns = 1700000000000000000;
    info.duration_ns = 5000;
    info.period = 1000;
    info.period_type = S(b, "cycles");
    info.period_unit = S(b, "count");
    info.default_sample_type = S(b, "samples");
    info.drop_frames = S(b, "^drop$");
    info.keep_frames = S(b, "^keep$");
    info.doc_url = S(b, "https://example.org/");
    info.source_flags = PROFCONV_SOURCES_CONTEXT | PROFCONV_SOURCES_PROBES;
    profconv_builder_set_info(b, &info);
    profconv_builder_comment(b, S(b, "tab\there, \"quotes\", back\\slash, newline\n, \x01, \xff, \xc3\xa9"));
    profconv_builder_attribute(b, "hostname", "old", 3);
    profconv_builder_attribute(b, "hostname", "box", 3);
    profconv_report_add(profconv_builder_report(b), PROFCONV_NOTE_DROPPED, "unmapped-address", 2, 2000, 0x40, 0,
                        "%s", "samples outside every mapping");
}

/* Every table; the builder's status says whether it went well. */
static inline void scenario(profconv_builder *b) {
    profconv_id location[4];
    scenario_code(b, location);
    scenario_samples(b, location);
    scenario_branches(b, location);
    scenario_sources(b);
    scenario_texts(b);
}

/* The dump of a profile, NUL-terminated; free with test_free. */
static inline char *dump_text(const profconv_profile *p) {
    profconv_output *output = NULL;
    profconv_error error = {0};
    const uint8_t *data = NULL;
    size_t size = 0;
    assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), PROFCONV_OK);
    if (profconv_dump(p, output, &error))
        fail_msg("dump: %s", error.message);
    assert_int_equal(profconv_output_close(output, NULL), PROFCONV_OK);
    assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_OK);
    char *text = (char *)test_malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    profconv_output_free(output);
    return text;
}

#endif
