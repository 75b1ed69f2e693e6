/* SPDX-License-Identifier: MIT
 *
 * Many conversions at once, which share a registry, an allocator and the files of the machine: every format against every
 * other, symbolization and attribution of the same binary in all threads, and registries that are set up in threads of
 * their own while others are in use. Each thread must write what a thread alone writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <profconv/plugin.h>
#include <profconv/profconv.h>

#include "tests/support/fixtures.h"
#include "tests/support/run.h"
#include "tests/support/team.h"

/* ---- every format to others, as bytes in memory ---- */

enum { TARGETS = 3, FIXTURES = 64 };

typedef struct crowd {
    profconv_registry *registry;
    test_fixtures fixtures;
    const test_fixture *chosen[FIXTURES];
    size_t count;
    test_run wanted[FIXTURES][TARGETS];
} crowd;

static void convert(const crowd *c, size_t fixture, const char *target, test_run *run) {
    memset(run, 0, sizeof *run);
    run->registry = c->registry;
    run->data = c->chosen[fixture]->data;
    run->size = c->chosen[fixture]->size;
    run->from = c->chosen[fixture]->format;
    run->to = target;
    run->source = (test_source)(fixture % 3);
    run->max_memory = fixture % 2 ? UINT64_C(1) << 30 : 0;
    test_run_do(run);
}

/* To two formats that it can be written as, if there are, and one that comes as it may. Another start for each fixture, so that
 * all are met. */
static void convert_alone(crowd *c, size_t fixture) {
    size_t formats = profconv_registry_format_count(c->registry), made = 0;
    for (size_t step = 0; step < formats && made < TARGETS; step++) {
        profconv_format_info info;
        test_run *run = &c->wanted[fixture][made];
        if (profconv_registry_format(c->registry, (fixture * 5 + step) % formats, &info) || !info.can_write)
            continue;
        convert(c, fixture, info.name, run);
        if (run->status == PROFCONV_OK || made == TARGETS - 1 || step + TARGETS >= formats)
            made++;
        else
            test_run_free(run);
    }
}

static int make_crowd(void **state) {
    static crowd c;
    memset(&c, 0, sizeof c);
    assert_int_equal(profconv_registry_new(&c.registry, NULL, NULL), PROFCONV_OK);
    assert_int_equal(test_fixtures_load(&c.fixtures, c.registry, TEST_SOURCE_DIR, 8192), 0);
    size_t of_format = 0;
    for (size_t i = 0; i < c.fixtures.count && c.count < FIXTURES; i++) { /* the first three of each format */
        of_format = i && strcmp(c.fixtures.items[i - 1].format, c.fixtures.items[i].format) == 0 ? of_format + 1 : 0;
        if (of_format < 3)
            c.chosen[c.count++] = &c.fixtures.items[i];
    }
    for (size_t i = 0; i < c.count; i++)
        convert_alone(&c, i);
    *state = &c;
    return 0;
}

static int free_crowd(void **state) {
    crowd *c = *state;
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < TARGETS; k++)
            test_run_free(&c->wanted[i][k]);
    test_fixtures_free(&c->fixtures);
    profconv_registry_free(c->registry);
    return 0;
}

static void convert_all(team_member *self) {
    const crowd *c = self->shared;
    for (size_t i = 0; i < c->count * TARGETS; i++) { /* two threads at each place, so that the same ones meet, too */
        size_t at = (i + self->index / 2 * 7) % (c->count * TARGETS), fixture = at / TARGETS, which = at % TARGETS;
        const test_run *wanted = &c->wanted[fixture][which];
        test_run got;
        if (!wanted->to)
            continue;
        convert(c, fixture, wanted->to, &got);
        if (got.status != wanted->status || got.bytes_size != wanted->bytes_size ||
            (got.bytes_size && memcmp(got.bytes, wanted->bytes, got.bytes_size) != 0) ||
            (got.status && strcmp(got.error.message, wanted->error.message) != 0))
            team_wrong(self, "%s as %s: status %d, %zu bytes, \"%s\"; alone: %d, %zu, \"%s\"", c->chosen[fixture]->label,
                       got.to, got.status, got.bytes_size, got.status ? got.error.message : "", wanted->status,
                       wanted->bytes_size, wanted->status ? wanted->error.message : "");
        test_run_free(&got);
    }
}

static void formats(void **state) {
    crowd *c = *state;
    size_t good = 0;
    for (size_t i = 0; i < c->count * TARGETS; i++)
        good += c->wanted[i / TARGETS][i % TARGETS].status == PROFCONV_OK;
    print_message("%zu fixtures, %zu files made of them\n", c->count, good);
    assert_true(c->count >= 20 && good >= c->count);
    assert_int_equal(team_run(convert_all, c), 0);
}

/* ---- with the passes: one recording, one binary, all threads ---- */

#define QUICKSTART TEST_DATA_DIR "/quickstart/"

static const char *const named[] = {"pprof", "collapsed", "llvm-text", "gcc-afdo", "callgrind", "speedscope"};
enum { NAMED = sizeof named / sizeof *named };

typedef struct result {
    int status;
    profconv_error error;
    unsigned char *bytes;
    size_t size;
} result;

typedef struct symbols {
    profconv_registry *registry;
    team_heap heap;
    result wanted[NAMED];
} symbols;

static void convert_recording(symbols *s, const char *format, result *out) {
    profconv_convert_options options = {0};
    profconv_io_options io = {0};
    profconv_convert_input input = {NULL, 0};
    profconv_output *output = NULL;
    profconv_options *settings = NULL;
    const uint8_t *data = NULL;
    memset(out, 0, sizeof *out);
    options.struct_size = sizeof options;
    io.struct_size = sizeof io;
    options.allocator = io.allocator = &s->heap.allocator;
    options.to = format;
    out->status = profconv_options_new(&settings, &s->heap.allocator, &out->error);
    if (out->status == PROFCONV_OK)
        out->status = profconv_options_put(settings, "symbolize", "binary", QUICKSTART "wordcount", &out->error);
    if (out->status == PROFCONV_OK)
        out->status = profconv_options_put(settings, "attribute", "binary", QUICKSTART "wordcount", &out->error);
    options.settings = settings;
    if (out->status == PROFCONV_OK)
        out->status = profconv_input_open_path(&input.input, QUICKSTART "wordcount.data", &io, &out->error);
    if (out->status == PROFCONV_OK)
        out->status = profconv_output_open_memory(&output, &io, &out->error);
    if (out->status == PROFCONV_OK)
        out->status = profconv_convert(s->registry, &input, 1, output, &options, NULL, &out->error);
    if (out->status == PROFCONV_OK && profconv_output_bytes(output, &data, &out->size) == PROFCONV_OK &&
        (out->bytes = malloc(out->size + 1)) != NULL)
        memcpy(out->bytes, data, out->size);
    profconv_output_free(output);
    profconv_input_free(input.input);
    profconv_options_free(settings);
}

static void convert_named(team_member *self) {
    symbols *s = self->shared;
    for (unsigned i = 0; i < 2 * NAMED; i++) {
        unsigned format = (i + self->index / 2) % NAMED;
        result got;
        convert_recording(s, named[format], &got);
        if (got.status || !got.bytes || got.size != s->wanted[format].size ||
            memcmp(got.bytes, s->wanted[format].bytes, got.size) != 0)
            team_wrong(self, "%s: %zu bytes, %zu alone: %s", named[format], got.size, s->wanted[format].size,
                       got.status ? got.error.message : "other bytes");
        free(got.bytes);
    }
}

static void symbolization(void **state) {
    static symbols s;
    (void)state;
    memset(&s, 0, sizeof s);
    team_heap_init(&s.heap);
    assert_int_equal(profconv_registry_new(&s.registry, &s.heap.allocator, NULL), PROFCONV_OK);
    for (unsigned i = 0; i < NAMED; i++) {
        convert_recording(&s, named[i], &s.wanted[i]);
        if (s.wanted[i].status)
            fail_msg("%s: %s", named[i], s.wanted[i].error.message);
        assert_true(s.wanted[i].size > 100);
    }
    s.wanted[1].bytes[s.wanted[1].size] = 0;
    assert_non_null(strstr((char *)s.wanted[1].bytes, "count_words"));
    assert_int_equal(team_run(convert_named, &s), 0);
    for (unsigned i = 0; i < NAMED; i++)
        free(s.wanted[i].bytes);
    profconv_registry_free(s.registry);
    assert_int_equal(atomic_load(&s.heap.live), 0);
}

/* ---- formats of others: set up on one thread, then used by any number ---- */

static int shout_write(void *user, const profconv_profile *profile, profconv_output *output, const profconv_options *options,
                       profconv_report *report, profconv_error *error) {
    (void)options, (void)report;
    char text[64];
    int64_t total = profconv_profile_total(profile, profconv_profile_default_sample_type(profile));
    int n = snprintf(text, sizeof text, "%s %lld\n", (const char *)user, (long long)total);
    return profconv_output_write(output, text, (size_t)n, error);
}

static int add_shout(profconv_registry *registry, profconv_error *error) {
    static const char *const suffixes[] = {".shout", NULL};
    profconv_writer writer = {0};
    writer.struct_size = sizeof writer;
    writer.name = "shout";
    writer.suffixes = suffixes;
    writer.description = "the sum of all samples";
    writer.needs = PROFCONV_FACET_STACKS;
    writer.keeps = UINT32_MAX;
    writer.write = shout_write;
    writer.user = (void *)(uintptr_t)"SUM";
    return profconv_registry_add_writer(registry, &writer, error);
}

static int shout(const profconv_registry *registry, char *text, size_t size) {
    static const char folded[] = "main;idle 4\nmain;step;hash 3\n";
    profconv_convert_options options = {0};
    profconv_convert_input input = {NULL, 0};
    profconv_output *output = NULL;
    const uint8_t *data = NULL;
    size_t got = 0;
    options.struct_size = sizeof options;
    options.to = "shout";
    int status = profconv_input_open_memory(&input.input, folded, sizeof folded - 1, NULL, NULL);
    if (status == PROFCONV_OK)
        status = profconv_output_open_memory(&output, NULL, NULL);
    if (status == PROFCONV_OK)
        status = profconv_convert(registry, &input, 1, output, &options, NULL, NULL);
    if (status == PROFCONV_OK)
        status = profconv_output_bytes(output, &data, &got);
    if (status == PROFCONV_OK)
        snprintf(text, size, "%.*s", (int)got, (const char *)data);
    profconv_output_free(output);
    profconv_input_free(input.input);
    return status;
}

/* Uses the registry that all share, and in every round sets up one of its own. */
static void register_and_use(team_member *self) {
    for (unsigned round = 0; round < 10; round++) {
        char text[64] = "";
        profconv_registry *own = NULL;
        profconv_format_info info;
        if (shout(self->shared, text, sizeof text) != PROFCONV_OK || strcmp(text, "SUM 7\n") != 0)
            team_wrong(self, "the shared registry: \"%s\"", text);
        if (profconv_registry_find_suffix(self->shared, "x.shout", &info) != PROFCONV_OK || strcmp(info.name, "shout") != 0)
            team_wrong(self, "the shared registry does not know the suffix");
        if (profconv_registry_new(&own, NULL, NULL) != PROFCONV_OK || shout(own, text, sizeof text) == PROFCONV_OK ||
            add_shout(own, NULL) != PROFCONV_OK || add_shout(own, NULL) != PROFCONV_E_INVALID ||
            shout(own, text, sizeof text) != PROFCONV_OK || strcmp(text, "SUM 7\n") != 0)
            team_wrong(self, "a registry of the thread's own: \"%s\"", text);
        profconv_registry_free(own);
    }
}

static void registration(void **state) {
    profconv_registry *registry = NULL;
    (void)state;
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), PROFCONV_OK);
    assert_int_equal(add_shout(registry, NULL), PROFCONV_OK);
    assert_int_equal(team_run(register_and_use, registry), 0);
    profconv_registry_free(registry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(formats, make_crowd, free_crowd),
        cmocka_unit_test(symbolization),
        cmocka_unit_test(registration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
