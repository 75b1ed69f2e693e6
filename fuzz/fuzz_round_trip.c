/* SPDX-License-Identifier: MIT
 *
 * The round trip: any bytes, read as what they look like, written by every writer whose format can be read again, and
 * read. Totals must be conserved, the facets that a writer keeps must be there or their loss reported, and where
 * nothing was lost a second round must give the same profile. All memory is given back.
 */
#include <profconv/profconv.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate_perf_data.h"
#include "fuzz/mutate_pprof.h"
#include "tests/support/conserve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct trip {
    profconv_registry *registry;
    profconv_allocator allocator;
    profconv_limits limits;
    profconv_options *settings; /* no pass looks at the machine's files */
    uint64_t live;
} trip;

static void *counted_resize(void *user, void *p, size_t old_size, size_t new_size) {
    trip *t = user;
    void *block = NULL;
    if (new_size == 0)
        free(p);
    else if (!(block = realloc(p, new_size)))
        return NULL;
    t->live = t->live + new_size - old_size;
    return block;
}

static void must(int condition, const char *format, const char *message) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", format, message);
    abort();
}

static profconv_convert_options options_of(const trip *t, const char *from, const char *to) {
    profconv_convert_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.allocator = &t->allocator;
    options.limits = &t->limits;
    options.settings = t->settings;
    options.from = from;
    options.to = to;
    return options;
}

/* `from` NULL: what it looks like. NULL when it is refused. */
static profconv_profile *read_bytes(const trip *t, const uint8_t *data, size_t size, const char *from) {
    profconv_input *input = NULL;
    profconv_profile *profile = NULL;
    profconv_error error = {0};
    profconv_io_options io = {sizeof io, &t->allocator, &t->limits, 0, 0};
    profconv_convert_options options = options_of(t, from, NULL);
    int status = profconv_input_open_memory(&input, data, size, &io, &error);
    if (status == PROFCONV_OK)
        status = profconv_read(t->registry, input, &options, &profile, &error);
    must(status == PROFCONV_OK || (error.message[0] && !profile), from ? from : "input", "refused without a reason");
    must(!profile || profconv_profile_check(profile, &error) == PROFCONV_OK, from ? from : "input", error.message);
    profconv_input_free(input);
    return profile;
}

/* A closed memory output, NULL when the writer refuses. */
static profconv_output *write_profile(const trip *t, const profconv_profile *profile, const char *to,
                                      profconv_report *report) {
    profconv_output *output = NULL;
    profconv_error error = {0};
    profconv_io_options io = {sizeof io, &t->allocator, NULL, 0, 0};
    profconv_convert_options options = options_of(t, NULL, to);
    must(profconv_output_open_memory(&output, &io, &error) == PROFCONV_OK, to, error.message);
    int status = profconv_write(t->registry, profile, output, &options, report, &error);
    must(status == PROFCONV_OK || error.message[0], to, "not written, without a reason");
    must(status != PROFCONV_E_INTERNAL && status != PROFCONV_E_INVALID, to, error.message);
    if (status != PROFCONV_OK) {
        profconv_output_free(output);
        return NULL;
    }
    return output;
}

static profconv_output *dump(const trip *t, const profconv_profile *profile) {
    profconv_output *output = NULL;
    profconv_io_options io = {sizeof io, &t->allocator, NULL, 0, 0};
    must(profconv_output_open_memory(&output, &io, NULL) == PROFCONV_OK &&
             profconv_dump(profile, output, NULL) == PROFCONV_OK && profconv_output_close(output, NULL) == PROFCONV_OK,
         "dump", "failed");
    return output;
}

static int same_bytes(const profconv_output *x, const profconv_output *y) {
    const uint8_t *a = NULL, *b = NULL;
    size_t a_size = 0, b_size = 0;
    must(profconv_output_bytes(x, &a, &a_size) == PROFCONV_OK && profconv_output_bytes(y, &b, &b_size) == PROFCONV_OK,
         "output", "no bytes");
    return a_size == b_size && memcmp(a, b, a_size) == 0;
}

/* Written again, what was read back is the same bytes, or at least the same profile. */
static void second_round(const trip *t, const profconv_profile *back, const profconv_output *first, const char *to) {
    profconv_output *second = write_profile(t, back, to, NULL);
    must(second != NULL, to, "what was written once is not written again");
    if (!same_bytes(first, second)) {
        const uint8_t *bytes = NULL;
        size_t size = 0;
        profconv_output_bytes(second, &bytes, &size);
        profconv_profile *again = read_bytes(t, bytes, size, to);
        must(again != NULL, to, "what was written again cannot be read");
        profconv_output *x = dump(t, back), *y = dump(t, again);
        must(same_bytes(x, y), to, "written again, it is another profile");
        profconv_output_free(x);
        profconv_output_free(y);
        profconv_profile_free(again);
    }
    profconv_output_free(second);
}

/* A branch that was taken n times stands n times in a recording: millions are an input's right, and no use here. */
static int too_large(const profconv_profile *p, const profconv_format_info *writer) {
    uint64_t entries = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++)
        entries |= profconv_profile_branch(p, i)->count;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++)
        entries |= profconv_profile_range(p, i)->count;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++)
        entries |= profconv_profile_address(p, i)->count;
    return strcmp(writer->name, "perf-data") == 0 && entries >= 100000;
}

static void round_trip(const trip *t, const profconv_profile *in, const profconv_format_info *writer) {
    profconv_report *report = NULL;
    if (too_large(in, writer))
        return;
    must(profconv_report_new(&report, &t->allocator, NULL) == PROFCONV_OK, writer->name, "no report");
    profconv_output *output = write_profile(t, in, writer->name, report);
    const uint8_t *bytes = NULL;
    size_t size = 0;
    if (output && profconv_output_bytes(output, &bytes, &size) == PROFCONV_OK) {
        must(size > 0, writer->name, "success with an empty output");
        profconv_profile *back = read_bytes(t, bytes, size, writer->name);
        must(back != NULL, writer->name, "what was written cannot be read");
        test_conserved c = {in, back, report, writer, ""};
        must(test_conserve(&c), writer->name, c.message);
        uint32_t kept = profconv_profile_facets(in) & writer->keeps;
        if (kept == profconv_profile_facets(back) && !test_left_stacks_out(report) && !test_unweighed_loss(report))
            second_round(t, back, output, writer->name);
        profconv_profile_free(back);
    }
    profconv_output_free(output);
    profconv_report_free(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    trip t;
    memset(&t, 0, sizeof t);
    t.allocator.struct_size = sizeof t.allocator;
    t.allocator.resize = counted_resize;
    t.allocator.user = &t;
    t.limits.struct_size = sizeof t.limits;
    t.limits.max_memory = (uint64_t)256 << 20;
    t.limits.max_inflated = (uint64_t)16 << 20;
    must(profconv_registry_new(&t.registry, &t.allocator, NULL) == PROFCONV_OK &&
             profconv_options_new(&t.settings, &t.allocator, NULL) == PROFCONV_OK &&
             profconv_options_set(t.settings, "convert.symbolize=no", NULL) == PROFCONV_OK &&
             profconv_options_set(t.settings, "perf-data.jitdump=no", NULL) == PROFCONV_OK &&
             profconv_options_set(t.settings, "perf-data.unwind=no", NULL) == PROFCONV_OK,
         "settings", "refused");
    profconv_profile *in = read_bytes(&t, data, size, NULL);
    for (size_t i = 0; in && i < profconv_registry_format_count(t.registry); i++) {
        profconv_format_info writer;
        must(profconv_registry_format(t.registry, i, &writer) == PROFCONV_OK, "registry", "no format");
        if (writer.can_read && writer.can_write)
            round_trip(&t, in, &writer);
    }
    profconv_profile_free(in);
    profconv_options_free(t.settings);
    profconv_registry_free(t.registry);
    must(t.live == 0, "memory", "not all of it was given back");
    return 0;
}

/* By what it is. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static pd_layout layout;
    static pb_field fields[PB_MAX_FIELDS];
    if (pd_parse(data, size, &layout))
        return fuzz_mutate_perf_data(data, size, max_size, seed);
    if (size > 2 && ((data[0] == 0x1f && data[1] == 0x8b) || (data[0] == 0x0a && pb_fields(data, size, fields) > 2)))
        return fuzz_mutate_pprof(data, size, max_size, seed);
    return LLVMFuzzerMutate(data, size, max_size);
}
