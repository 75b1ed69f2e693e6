/* SPDX-License-Identifier: MIT
 *
 * The registry, detection, settings, plans, losses and the conversion as a whole, with formats made up here, so that
 * each seam can be pulled at: a reader that fails without a word, a writer that writes nothing, a label list that is
 * passed on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <profconv/plugin.h>
#include <profconv/profconv.h>

#include "libprofconv/convert/convert.h"
#include "tests/support/heap.h"

/* What the made-up formats do, and what they saw. */
typedef struct fake {
    int sure;         /* answer of the probe */
    int status;       /* what reading or writing returns */
    int silent;       /* ... without setting an error */
    uint32_t facets;  /* of the profile that is read */
    int64_t value;    /* of its sample */
    int dropped;      /* adds a note */
    const char *text; /* what is written */
    size_t probed_size;
    int probed_whole;
    char labels[64]; /* the setting as the reader saw it */
    char mode[32];
    int reads;
    int writes;
} fake;

static int fake_probe(void *user, const uint8_t *head, size_t size, int whole) {
    fake *f = user;
    f->probed_size = size;
    f->probed_whole = whole;
    return head && size ? f->sure : 0;
}

static profconv_id fake_location(profconv_builder *b, uint32_t facets) {
    profconv_function function = {0};
    profconv_mapping mapping = {0};
    profconv_line line = {0};
    profconv_location location = {0};
    if (facets & PROFCONV_FACET_SYMBOLS) {
        function.name = function.linkage_name = profconv_builder_cstring(b, "main");
        line.function = profconv_builder_function(b, &function);
    }
    if (facets & PROFCONV_FACET_LINES) {
        function.file = profconv_builder_cstring(b, "main.c");
        line.function = profconv_builder_function(b, &function);
        line.line = 3;
    }
    if (facets & PROFCONV_FACET_ADDRESSES) {
        mapping.start = 0x1000;
        mapping.limit = 0x2000;
        mapping.file_offset = 0x1000;
        mapping.kind = PROFCONV_MAPPING_EXECUTABLE;
        mapping.file = profconv_builder_cstring(b, "/nonexistent/profconv-test-binary");
        location.mapping = profconv_builder_mapping(b, &mapping);
        location.address = 0x1234;
    }
    return profconv_builder_location(b, &location, &line, line.function ? 1 : 0);
}

static int fake_read(void *user, profconv_input *input, profconv_builder *b, const profconv_options *options,
                     profconv_error *error) {
    fake *f = user;
    const uint8_t *data = NULL;
    size_t size = 0;
    f->reads++;
    int status = profconv_input_window(input, 1, &data, &size, error);
    if (status != PROFCONV_OK)
        return status;
    const char *labels = profconv_options_get(options, "fake", "labels");
    const char *mode = profconv_options_get(options, "fake", "mode");
    snprintf(f->labels, sizeof f->labels, "%s", labels ? labels : "(unset)");
    snprintf(f->mode, sizeof f->mode, "%s", mode ? mode : "(unset)");
    if (f->dropped)
        profconv_report_add(profconv_builder_report(b), PROFCONV_NOTE_DROPPED, "fake-drop", 5, 50, PROFCONV_NO_OFFSET,
                            0, "sample without a leg");
    if (f->status != PROFCONV_OK)
        return f->silent ? f->status
                         : profconv_error_set(error, f->status, 17, 0, "offset 0x11: fake fault %d", f->status);
    if (f->facets == 0)
        return PROFCONV_OK;
    profconv_sample_type type = {0};
    type.name = profconv_builder_cstring(b, "samples");
    type.unit = profconv_builder_cstring(b, "count");
    type.role = PROFCONV_ROLE_COUNT;
    profconv_builder_sample_type(b, &type);
    profconv_id set = 0;
    if (f->facets & PROFCONV_FACET_LABELS) {
        profconv_id ids[2];
        static const char *const keys[] = {"pid", "span"};
        for (size_t i = 0; i < 2; i++) {
            profconv_label label = {0};
            label.key = profconv_builder_cstring(b, keys[i]);
            label.number = 42;
            label.numeric = 1;
            ids[i] = profconv_builder_label(b, &label);
        }
        set = profconv_builder_label_set(b, ids, 2);
    }
    profconv_id stack = profconv_builder_stack(b, 0, fake_location(b, f->facets));
    profconv_builder_sample(b, stack, set, 0, &f->value, 1);
    return PROFCONV_OK;
}

static int fake_write(void *user, const profconv_profile *profile, profconv_output *output,
                      const profconv_options *options, profconv_report *report, profconv_error *error) {
    fake *f = user;
    char line[64];
    (void)options;
    (void)report;
    f->writes++;
    if (f->text && profconv_output_write(output, f->text, strlen(f->text), error) != PROFCONV_OK)
        return error->status;
    if (f->status != PROFCONV_OK)
        return f->silent ? f->status : profconv_error_set(error, f->status, PROFCONV_NO_OFFSET, 0, "fake fault");
    if (f->text)
        return PROFCONV_OK;
    if (f->value < 0)
        return PROFCONV_OK; /* writes nothing */
    snprintf(line, sizeof line, "total %lld\n", (long long)profconv_profile_total(profile, 0));
    return profconv_output_write(output, line, strlen(line), error);
}

static const char *const fake_aliases[] = {"fk", NULL};
static const char *const fake_suffixes[] = {".fk", NULL};
static const char *const long_suffixes[] = {".long.fk", NULL};
static const profconv_setting fake_settings[] = {
    {"labels", PROFCONV_SETTING_STRING, NULL, NULL, "label keys"},
    {"mode", PROFCONV_SETTING_ENUM, "plain", "plain|fancy", "how"},
    {NULL, 0, NULL, NULL, NULL},
};
static const profconv_setting target_settings[] = {
    {"labels", PROFCONV_SETTING_STRING, NULL, NULL, "label keys to hold"},
    {"width", PROFCONV_SETTING_INT, "80", NULL, "columns"},
    {NULL, 0, NULL, NULL, NULL},
};

static profconv_reader make_reader(fake *f, const char *name) {
    profconv_reader reader = {0};
    reader.struct_size = sizeof reader;
    reader.name = name;
    reader.description = "a made-up format";
    reader.settings = fake_settings;
    reader.produces = PROFCONV_FACET_ALL;
    reader.probe = fake_probe;
    reader.read = fake_read;
    reader.user = f;
    return reader;
}

static profconv_writer make_writer(fake *f, const char *name) {
    profconv_writer writer = {0};
    writer.struct_size = sizeof writer;
    writer.name = name;
    writer.settings = target_settings;
    writer.needs = PROFCONV_FACET_STACKS;
    writer.keeps = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS;
    writer.labels = "pid,tid";
    writer.write = fake_write;
    writer.user = f;
    return writer;
}

/* A registry with reader "fake" (alias fk) and writer "target". */
typedef struct bench {
    profconv_registry *registry;
    fake in;
    fake out;
    profconv_options *settings;
    profconv_convert_options options;
    profconv_report *report;
    profconv_output *output;
    profconv_error error;
} bench;

static void bench_writer(bench *t, const char *name, uint32_t needs, uint32_t keeps, uint32_t improves) {
    profconv_writer writer = make_writer(&t->out, name);
    writer.needs = needs;
    writer.keeps = keeps;
    writer.improves = improves;
    assert_int_equal(profconv_registry_add_writer(t->registry, &writer, &t->error), PROFCONV_OK);
}

static void bench_start(bench *t) {
    memset(t, 0, sizeof *t);
    t->in.sure = 100;
    t->in.facets = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS;
    t->in.value = 7;
    assert_int_equal(profconv_registry_new(&t->registry, NULL, &t->error), PROFCONV_OK);
    profconv_reader reader = make_reader(&t->in, "fake");
    reader.aliases = fake_aliases;
    assert_int_equal(profconv_registry_add_reader(t->registry, &reader, &t->error), PROFCONV_OK);
    bench_writer(t, "target", PROFCONV_FACET_STACKS, PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS, 0);
    assert_int_equal(profconv_options_new(&t->settings, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_report_new(&t->report, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_output_open_memory(&t->output, NULL, NULL), PROFCONV_OK);
    t->options.struct_size = sizeof t->options;
    t->options.settings = t->settings;
    t->options.to = "target";
}

static void bench_end(bench *t) {
    profconv_output_free(t->output);
    profconv_report_free(t->report);
    profconv_options_free(t->settings);
    profconv_registry_free(t->registry);
}

static profconv_input *memory(const char *text) {
    profconv_input *input = NULL;
    assert_int_equal(profconv_input_open_memory(&input, text, strlen(text), NULL, NULL), PROFCONV_OK);
    return input;
}

static int bench_convert(bench *t) {
    profconv_convert_input input = {memory("fake bytes"), 0};
    memset(&t->error, 0, sizeof t->error);
    int status = profconv_convert(t->registry, &input, 1, t->output, &t->options, t->report, &t->error);
    profconv_input_free(input.input);
    return status;
}

static int find_note(const profconv_report *report, const char *cause, profconv_note *out) {
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        if (profconv_report_get(report, i, out) == PROFCONV_OK && strcmp(out->cause, cause) == 0)
            return 1;
    }
    return 0;
}

static void assert_written(const bench *t, const char *text) {
    const uint8_t *data = NULL;
    size_t size = 0;
    assert_int_equal(profconv_output_bytes(t->output, &data, &size), PROFCONV_OK);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(data, text, size);
}

static void assert_mentions(const char *message, const char *part) {
    if (!strstr(message, part))
        fail_msg("\"%s\" does not mention \"%s\"", message, part);
}

/* ---- the registry ---- */

static void refuse_reader(profconv_registry *registry, const profconv_reader *reader, const char *part) {
    profconv_error error;
    size_t before = profconv_registry_format_count(registry);
    assert_int_equal(profconv_registry_add_reader(registry, reader, &error), PROFCONV_E_INVALID);
    assert_mentions(error.message, part);
    assert_int_equal(profconv_registry_format_count(registry), before);
}

static void test_names_are_taken_once(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    fake f = {0};
    profconv_reader reader = make_reader(&f, "fake");
    refuse_reader(t.registry, &reader, "already");
    reader = make_reader(&f, "fk");
    refuse_reader(t.registry, &reader, "taken by the format 'fake'");
    static const char *const steals[] = {"fake", NULL};
    reader = make_reader(&f, "other");
    reader.aliases = steals;
    refuse_reader(t.registry, &reader, "taken by the format 'fake'");
    static const char *const bad[] = {"",  "Upper", "under_score", "a.b", "a-name-that-is-much-too-long-for-errors",
                                      NULL};
    for (size_t i = 0; bad[i]; i++) {
        reader = make_reader(&f, bad[i]);
        refuse_reader(t.registry, &reader, "expected");
    }
    reader = make_reader(&f, "symbolize");
    refuse_reader(t.registry, &reader, "step of conversion");
    reader = make_reader(&f, "convert");
    refuse_reader(t.registry, &reader, "step of conversion");
    reader = make_reader(&f, "no-read");
    reader.read = NULL;
    refuse_reader(t.registry, &reader, "without a read function");
    profconv_writer writer = make_writer(&f, "target");
    assert_int_equal(profconv_registry_add_writer(t.registry, &writer, &t.error), PROFCONV_E_INVALID);
    writer = make_writer(&f, "fk");
    assert_int_equal(profconv_registry_add_writer(t.registry, &writer, &t.error), PROFCONV_E_INVALID);
    bench_end(&t);
}

static void test_newer_structs(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    struct {
        profconv_reader reader;
        void *later;
    } newer;
    fake f = {0};
    memset(&newer, 0, sizeof newer);
    newer.reader = make_reader(&f, "newer");
    newer.reader.struct_size = sizeof newer;
    newer.later = &f;
    refuse_reader(t.registry, &newer.reader, "profconv_reader");
    newer.later = NULL;
    assert_int_equal(profconv_registry_add_reader(t.registry, &newer.reader, &t.error), PROFCONV_OK);
    bench_end(&t);
}

static void test_halves_are_merged(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    profconv_format_info reader_only;
    profconv_format_info both;
    assert_int_equal(profconv_registry_find(t.registry, "fake", &reader_only), PROFCONV_OK);
    assert_true(reader_only.can_read && !reader_only.can_write);
    size_t before = profconv_registry_format_count(t.registry);
    static const char *const more[] = {"fk", "fake-too", NULL};
    profconv_writer writer = make_writer(&t.out, "fake");
    writer.aliases = more;
    writer.suffixes = fake_suffixes;
    assert_int_equal(profconv_registry_add_writer(t.registry, &writer, &t.error), PROFCONV_OK);
    assert_int_equal(profconv_registry_format_count(t.registry), before);
    assert_int_equal(profconv_registry_find(t.registry, "fake-too", &both), PROFCONV_OK);
    assert_string_equal(both.name, "fake");
    assert_true(both.can_read && both.can_write);
    assert_string_equal(both.description, "a made-up format");
    assert_string_equal(both.aliases[0], "fk");
    assert_string_equal(both.aliases[1], "fake-too");
    assert_null(both.aliases[2]);
    assert_string_equal(both.suffixes[0], ".fk");
    assert_int_equal(both.produces, PROFCONV_FACET_ALL);
    assert_string_equal(both.labels, "pid,tid");
    assert_ptr_equal(both.reader_settings, fake_settings);
    assert_ptr_equal(both.writer_settings, target_settings);
    /* What was handed out before stays readable. */
    assert_string_equal(reader_only.aliases[0], "fk");
    assert_int_equal(profconv_registry_find(t.registry, "nothing", &both), PROFCONV_E_NOT_FOUND);
    assert_int_equal(profconv_registry_format(t.registry, 1000, &both), PROFCONV_E_INVALID);
    bench_end(&t);
}

static void test_suffixes(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    profconv_format_info info;
    profconv_writer writer = make_writer(&t.out, "short");
    writer.suffixes = fake_suffixes;
    assert_int_equal(profconv_registry_add_writer(t.registry, &writer, &t.error), PROFCONV_OK);
    writer = make_writer(&t.out, "long");
    writer.suffixes = long_suffixes;
    assert_int_equal(profconv_registry_add_writer(t.registry, &writer, &t.error), PROFCONV_OK);
    assert_int_equal(profconv_registry_find_suffix(t.registry, "a/b.fk", &info), PROFCONV_OK);
    assert_string_equal(info.name, "short");
    assert_int_equal(profconv_registry_find_suffix(t.registry, "a/b.long.fk", &info), PROFCONV_OK);
    assert_string_equal(info.name, "long");
    assert_int_equal(profconv_registry_find_suffix(t.registry, "a/b.unheard-of", &info), PROFCONV_E_NOT_FOUND);
    assert_int_equal(profconv_registry_find_suffix(t.registry, "fk", &info), PROFCONV_E_NOT_FOUND);
    bench_end(&t);
}

/* ---- detection ---- */

static const char *detected(bench *t, const void *data, size_t size) {
    profconv_input *input = NULL;
    static char name[32];
    profconv_format_info info;
    assert_int_equal(profconv_input_open_memory(&input, data, size, NULL, NULL), PROFCONV_OK);
    int status = profconv_detect(t->registry, input, &info, &t->error);
    assert_int_equal(profconv_input_offset(input), 0);
    profconv_input_free(input);
    snprintf(name, sizeof name, "%s", status == PROFCONV_OK ? info.name : "");
    if (status != PROFCONV_OK)
        assert_int_equal(status, PROFCONV_E_UNKNOWN_FORMAT);
    return name;
}

static void test_the_surest_probe_wins(void **state) {
    (void)state;
    bench t;
    fake second = {0};
    bench_start(&t);
    profconv_reader reader = make_reader(&second, "second");
    assert_int_equal(profconv_registry_add_reader(t.registry, &reader, &t.error), PROFCONV_OK);
    second.sure = 100;
    assert_string_equal(detected(&t, "\x01\x02", 2), "fake"); /* a tie: the first registered */
    t.in.sure = 99;
    assert_string_equal(detected(&t, "\x01\x02", 2), "second");
    t.in.sure = second.sure = 0;
    assert_string_equal(detected(&t, "\x01\x02", 2), "");
    assert_mentions(t.error.message, "01 02");
    assert_mentions(t.error.message, "fake, second");
    assert_string_equal(detected(&t, "", 0), "");
    assert_mentions(t.error.message, "empty");
    bench_end(&t);
}

static void test_probes_see_64_kib(void **state) {
    (void)state;
    static uint8_t data[65537];
    bench t;
    bench_start(&t);
    detected(&t, data, 65537);
    assert_int_equal(t.in.probed_size, 65536);
    assert_false(t.in.probed_whole);
    detected(&t, data, 65536);
    assert_int_equal(t.in.probed_size, 65536);
    assert_true(t.in.probed_whole);
    detected(&t, data, 10);
    assert_int_equal(t.in.probed_size, 10);
    assert_true(t.in.probed_whole);
    bench_end(&t);
}

/* ---- settings ---- */

static void test_settings_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *assignment;
        const char *part;
    } cases[] = {
        {"nonsense.key=1", "no format or pass 'nonsense'"},
        {"fake.colour=red", "labels"},
        {"fake.mode=odd", "fancy"},
        {"target.width=wide", "width"},
        {"convert.symbolize=maybe", "auto"},
        {"convert.unheard-of=no", "symbolize"},
        {"symbolize.unheard-of=1", "unheard-of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench t;
        bench_start(&t);
        assert_int_equal(profconv_options_set(t.settings, cases[i].assignment, NULL), PROFCONV_OK);
        assert_int_equal(bench_convert(&t), PROFCONV_E_INVALID);
        assert_mentions(t.error.message, cases[i].part);
        assert_int_equal(t.in.reads, 0);
        bench_end(&t);
    }
}

static void test_settings_by_alias(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    assert_int_equal(profconv_options_set(t.settings, "fk.mode=fancy", NULL), PROFCONV_OK);
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_string_equal(t.in.mode, "fancy");
    assert_false(profconv_options_has(t.settings, "fake", "mode")); /* the caller's bag is left alone */
    bench_end(&t);
}

static void test_a_writer_chooses_the_labels(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_string_equal(t.in.labels, "pid,tid");
    bench_end(&t);

    bench_start(&t); /* told to hold others */
    assert_int_equal(profconv_options_set(t.settings, "target.labels=cpu", NULL), PROFCONV_OK);
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_string_equal(t.in.labels, "cpu");
    bench_end(&t);

    bench_start(&t); /* the reader's own setting comes first */
    assert_int_equal(profconv_options_set(t.settings, "fake.labels=tid", NULL), PROFCONV_OK);
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_string_equal(t.in.labels, "tid");
    bench_end(&t);

    bench_start(&t); /* no target: what the reader does by itself */
    t.options.to = NULL;
    profconv_profile *profile = NULL;
    profconv_input *input = memory("x");
    assert_int_equal(profconv_read(t.registry, input, &t.options, &profile, &t.error), PROFCONV_OK);
    assert_string_equal(t.in.labels, "(unset)");
    profconv_profile_free(profile);
    profconv_input_free(input);
    bench_end(&t);
}

static void test_formats_that_are_not_there(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    t.options.to = "unheard-of";
    assert_int_equal(bench_convert(&t), PROFCONV_E_NOT_FOUND);
    t.options.to = "fake";
    assert_int_equal(bench_convert(&t), PROFCONV_E_UNSUPPORTED);
    assert_mentions(t.error.message, "can be read, but not written");
    t.options.to = NULL;
    assert_int_equal(bench_convert(&t), PROFCONV_E_INVALID);
    t.options.to = "target";
    t.options.from = "target";
    assert_int_equal(bench_convert(&t), PROFCONV_E_UNSUPPORTED);
    t.options.from = "unheard-of";
    assert_int_equal(bench_convert(&t), PROFCONV_E_NOT_FOUND);
    t.options.from = "fk";
    t.in.sure = 0; /* named: not asked */
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_int_equal(profconv_convert(t.registry, NULL, 0, t.output, &t.options, NULL, &t.error), PROFCONV_E_INVALID);
    bench_end(&t);
}

/* ---- plans ---- */

static void test_plans(void **state) {
    (void)state;
    const uint32_t stacks = PROFCONV_FACET_STACKS;
    const uint32_t addresses = PROFCONV_FACET_ADDRESSES;
    const uint32_t symbols = PROFCONV_FACET_SYMBOLS;
    profconv_options *settings = NULL;
    pfc_plan plan;
    assert_int_equal(profconv_options_new(&settings, NULL, NULL), PROFCONV_OK);

    pfc_plan_make(stacks | addresses, stacks, 0, settings, &plan);
    assert_int_equal(plan.count, 0); /* names are not wanted */
    assert_int_equal(plan.missing, 0);

    pfc_plan_make(stacks | addresses, stacks, symbols, settings, &plan);
    assert_int_equal(plan.count, 1);
    assert_string_equal(plan.steps[0].pass->name, "symbolize");
    assert_false(plan.steps[0].required);

    pfc_plan_make(stacks | addresses, stacks | symbols, 0, settings, &plan);
    assert_int_equal(plan.count, 1);
    assert_true(plan.steps[0].required);
    assert_int_equal(plan.missing, 0);

    pfc_plan_make(stacks | addresses | symbols, stacks, symbols, settings, &plan);
    assert_int_equal(plan.count, 0); /* there already */

    pfc_plan_make(stacks, stacks | symbols, 0, settings, &plan);
    assert_int_equal(plan.count, 0); /* nothing to start from */
    assert_int_equal(plan.missing, symbols);

    /* Two in a row: a compiler's profile to look at, from branch records alone. */
    pfc_plan_make(addresses | PROFCONV_FACET_BRANCHES, stacks, 0, settings, &plan);
    assert_int_equal(plan.count, 2);
    assert_string_equal(plan.steps[0].pass->name, "attribute");
    assert_string_equal(plan.steps[1].pass->name, "expand");
    assert_true(plan.steps[0].required && plan.steps[1].required);

    pfc_plan_make(PROFCONV_FACET_SOURCE_COUNTS, stacks, symbols, settings, &plan);
    assert_int_equal(plan.count, 1);
    assert_string_equal(plan.steps[0].pass->name, "expand");

    /* Counted once: stacks are not made where there are stacks, not even for the names. */
    pfc_plan_make(stacks | PROFCONV_FACET_SOURCE_COUNTS, stacks, symbols, settings, &plan);
    assert_int_equal(plan.count, 0);

    assert_int_equal(profconv_options_set(settings, "convert.symbolize=no", NULL), PROFCONV_OK);
    pfc_plan_make(stacks | addresses, stacks, symbols, settings, &plan);
    assert_int_equal(plan.count, 0);

    assert_int_equal(profconv_options_set(settings, "convert.symbolize=yes", NULL), PROFCONV_OK);
    pfc_plan_make(stacks | addresses | symbols, stacks, 0, settings, &plan);
    assert_int_equal(plan.count, 1);
    profconv_options_free(settings);
}

/* Each pass has its switch, and the names come in the order of the list. */
static void test_passes_have_switches(void **state) {
    (void)state;
    size_t passes = 0;
    size_t switches = 0;
    const profconv_setting *settings = NULL;
    while (pfc_convert_settings[switches].name)
        switches++;
    for (; strcmp(profconv_pass_name(passes, &settings), "convert") != 0; passes++) {
        size_t i = 0;
        while (pfc_convert_settings[i].name &&
               strcmp(pfc_convert_settings[i].name, profconv_pass_name(passes, NULL)) != 0)
            i++;
        assert_non_null(pfc_convert_settings[i].name);
        assert_non_null(pfc_pass_find(profconv_pass_name(passes, NULL)));
    }
    assert_ptr_equal(settings, pfc_convert_settings);
    assert_int_equal(passes, switches);
    /* Scopes that are no passes may follow; the list ends. */
    size_t scopes = passes;
    while (profconv_pass_name(scopes, NULL))
        assert_true(++scopes < 64);
    assert_null(profconv_pass_name(scopes + 1, NULL));
    profconv_profile *none = NULL;
    profconv_error error;
    assert_int_equal(profconv_run_pass("convert", &none, NULL, NULL, &error), PROFCONV_E_NOT_FOUND);
}

static void test_missing_facets(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    bench_writer(&t, "compiler", PROFCONV_FACET_SOURCE_COUNTS, PROFCONV_FACET_SOURCE_COUNTS, 0);
    t.options.to = "compiler";
    assert_int_equal(bench_convert(&t), PROFCONV_E_MISSING_FACET);
    assert_mentions(t.error.message, "compiler needs source");
    assert_mentions(t.error.message, "holds symbols, stacks");
    assert_int_equal(t.out.writes, 0);
    bench_end(&t);
}

static void test_a_switched_off_pass_is_named(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    bench_writer(&t, "named", PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS, PROFCONV_FACET_ALL, 0);
    t.options.to = "named";
    t.in.facets = PROFCONV_FACET_STACKS;
    assert_int_equal(bench_convert(&t), PROFCONV_E_MISSING_FACET);
    assert_mentions(t.error.message, "symbolize could add it from addresses");
    t.in.facets = PROFCONV_FACET_STACKS | PROFCONV_FACET_ADDRESSES;
    assert_int_equal(profconv_options_set(t.settings, "convert.symbolize=no", NULL), PROFCONV_OK);
    assert_int_equal(bench_convert(&t), PROFCONV_E_MISSING_FACET);
    assert_mentions(t.error.message, "switched off");
    bench_end(&t);
}

/* A binary that is not there costs its names, and nothing else, unless the target cannot do without. */
static void test_a_pass_that_finds_nothing(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    bench_writer(&t, "better-named", PROFCONV_FACET_STACKS, PROFCONV_FACET_ALL, PROFCONV_FACET_SYMBOLS);
    bench_writer(&t, "named", PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS, PROFCONV_FACET_ALL, 0);
    t.in.facets = PROFCONV_FACET_STACKS | PROFCONV_FACET_ADDRESSES;
    t.options.to = "named";
    assert_int_equal(bench_convert(&t), PROFCONV_E_MISSING_FACET);
    assert_mentions(t.error.message, "symbolize found none");
    t.options.to = "better-named";
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_written(&t, "total 7\n");
    bench_end(&t);
}

/* ---- losses and reports ---- */

/* pid is one of those that the target holds in its own way. */
static void test_losses_are_reported(void **state) {
    (void)state;
    bench t;
    profconv_note note;
    bench_start(&t);
    t.in.facets = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LABELS | PROFCONV_FACET_ADDRESSES;
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_true(find_note(t.report, "facet-labels", &note));
    assert_int_equal(note.kind, PROFCONV_NOTE_LOST);
    assert_int_equal(note.count, 1);
    assert_string_equal(note.message, "labels (1 keys: span) cannot be held by target");
    assert_true(find_note(t.report, "facet-addresses", &note));
    assert_mentions(note.message, "1 locations in 1 mappings");
    assert_false(find_note(t.report, "facet-stacks", &note));
    assert_false(find_note(t.report, "facet-symbols", &note));
    bench_end(&t);
}

static void test_notes_of_the_reader_arrive_once(void **state) {
    (void)state;
    bench t;
    profconv_note note;
    bench_start(&t);
    bench_writer(&t, "better-named", PROFCONV_FACET_STACKS, PROFCONV_FACET_ALL, PROFCONV_FACET_SYMBOLS);
    t.options.to = "better-named"; /* with a pass in between */
    t.in.dropped = 1;
    t.in.facets = PROFCONV_FACET_STACKS | PROFCONV_FACET_ADDRESSES;
    assert_int_equal(bench_convert(&t), PROFCONV_OK);
    assert_true(find_note(t.report, "fake-drop", &note));
    assert_int_equal(note.count, 5);
    assert_int_equal(note.weight, 50);
    bench_end(&t);
}

static void test_empty_results_name_the_cause(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    t.in.facets = 0;
    assert_int_equal(bench_convert(&t), PROFCONV_E_EMPTY);
    assert_mentions(t.error.message, "no samples");
    t.in.dropped = 1;
    assert_int_equal(bench_convert(&t), PROFCONV_E_EMPTY);
    assert_mentions(t.error.message, "sample without a leg (5 times)");
    t.in.facets = PROFCONV_FACET_STACKS;
    t.out.value = -1; /* a writer that forgets to say so */
    assert_int_equal(bench_convert(&t), PROFCONV_E_EMPTY);
    bench_end(&t);
}

/* ---- the whole ---- */

typedef struct sink {
    int closed;
    int committed;
    int status;
} sink;

static int sink_write(void *user, const void *data, size_t size) {
    (void)data;
    (void)size;
    return ((sink *)user)->status;
}

static int sink_close(void *user, int committed) {
    sink *s = user;
    s->closed++;
    s->committed = committed;
    return 0;
}

static void sink_open(bench *t, sink *s) {
    profconv_output_callbacks callbacks = {sizeof callbacks, sink_write, sink_close, s};
    profconv_output_free(t->output);
    assert_int_equal(profconv_output_open_callbacks(&t->output, &callbacks, "sink", NULL, NULL), PROFCONV_OK);
}

static void test_only_success_closes(void **state) {
    (void)state;
    bench t;
    for (int step = 0; step < 4; step++) {
        sink s = {0};
        bench_start(&t);
        sink_open(&t, &s);
        if (step == 1)
            t.in.status = PROFCONV_E_FORMAT;
        if (step == 2)
            t.out.status = PROFCONV_E_INVALID;
        if (step == 3)
            s.status = 28; /* ENOSPC */
        int status = bench_convert(&t);
        assert_int_equal(status, step == 0   ? PROFCONV_OK
                                 : step == 1 ? PROFCONV_E_FORMAT
                                 : step == 2 ? PROFCONV_E_INVALID
                                             : PROFCONV_E_CALLBACK);
        assert_int_equal(t.error.system_errno, step == 3 ? 28 : 0);
        if (step != 3) /* a failed close has given the output up already */
            assert_int_equal(s.closed, step == 0);
        profconv_output_free(t.output);
        t.output = NULL;
        assert_int_equal(s.closed, 1);
        assert_int_equal(s.committed, step == 0);
        bench_end(&t);
    }
}

static void test_whose_error_it_is(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    t.in.status = PROFCONV_E_FORMAT;
    assert_int_equal(bench_convert(&t), PROFCONV_E_FORMAT);
    assert_string_equal(t.error.format, "fake");
    assert_string_equal(t.error.message, "offset 0x11: fake fault -5");
    assert_int_equal(t.error.offset, 17);
    t.in.silent = 1;
    assert_int_equal(bench_convert(&t), PROFCONV_E_FORMAT);
    assert_int_equal(t.error.status, PROFCONV_E_FORMAT);
    assert_mentions(t.error.message, "fake reader");
    t.in.status = 3; /* not one of ours */
    assert_int_equal(bench_convert(&t), PROFCONV_E_CALLBACK);
    t.in.status = PROFCONV_OK;
    t.out.status = PROFCONV_E_EMPTY;
    t.out.silent = 1;
    assert_int_equal(bench_convert(&t), PROFCONV_E_EMPTY);
    assert_string_equal(t.error.format, "target");
    assert_mentions(t.error.message, "target writer");
    profconv_convert_input input = {memory("x"), 0}; /* without a place for the error */
    assert_int_equal(profconv_convert(t.registry, &input, 1, t.output, &t.options, NULL, NULL), PROFCONV_E_EMPTY);
    profconv_input_free(input.input);
    bench_end(&t);
}

static int stop_at(void *user, const char *stage, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return strcmp(stage, user) == 0;
}

static void test_cancelling(void **state) {
    (void)state;
    bench t;
    char stage[] = "write";
    bench_start(&t);
    t.options.progress = stop_at;
    t.options.progress_user = stage;
    assert_int_equal(bench_convert(&t), PROFCONV_E_CALLBACK);
    assert_int_equal(t.out.writes, 0);
    bench_end(&t);
}

static void test_several_inputs(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    profconv_convert_input inputs[] = {{memory("a"), 0}, {memory("b"), 3}};
    assert_int_equal(profconv_convert(t.registry, inputs, 2, t.output, &t.options, t.report, &t.error), PROFCONV_OK);
    assert_written(&t, "total 28\n"); /* 7 + 3 * 7 */
    t.in.status = PROFCONV_E_FORMAT;
    assert_int_equal(profconv_convert(t.registry, inputs, 2, t.output, &t.options, t.report, &t.error),
                     PROFCONV_E_FORMAT);
    assert_mentions(t.error.message, "<memory>: offset 0x11");
    profconv_input_free(inputs[0].input);
    profconv_input_free(inputs[1].input);
    bench_end(&t);
}

static void test_the_budget_covers_all_inputs(void **state) {
    (void)state;
    bench t;
    bench_start(&t);
    profconv_limits limits = {sizeof limits, 0, 0, 0, 0, 0, 0};
    profconv_convert_input inputs[] = {{memory("a"), 0}, {memory("b"), 0}};
    limits.max_memory = 64;
    t.options.limits = &limits;
    assert_int_equal(profconv_convert(t.registry, inputs, 2, t.output, &t.options, t.report, &t.error),
                     PROFCONV_E_LIMIT);
    limits.max_memory = 64u << 20;
    assert_int_equal(profconv_convert(t.registry, inputs, 2, t.output, &t.options, t.report, &t.error), PROFCONV_OK);
    profconv_input_free(inputs[0].input);
    profconv_input_free(inputs[1].input);
    bench_end(&t);
}

/* Allocation k fails, for every k until none does: a status, nothing left behind, sizes right. */
static void test_allocations_fail(void **state) {
    (void)state;
    uint64_t k = 1;
    for (int status = PROFCONV_E_NOMEM; status != PROFCONV_OK; k++) {
        test_heap heap;
        bench t;
        bench_start(&t);
        test_heap_init(&heap, k);
        t.options.allocator = &heap.allocator;
        status = bench_convert(&t);
        assert_int_equal(heap.live, 0);
        assert_int_equal(heap.blocks, 0);
        assert_int_equal(heap.wrong_sizes, 0);
        assert_true(status == PROFCONV_E_NOMEM || (status == PROFCONV_OK && heap.failed <= 1));
        if (status != PROFCONV_OK)
            assert_true(heap.failed == 1 && t.error.message[0] != '\0');
        bench_end(&t);
    }
    assert_true(k > 10);

    for (k = 1;; k++) { /* the registry, too */
        test_heap heap;
        profconv_registry *registry = NULL;
        test_heap_init(&heap, k);
        int status = profconv_registry_new(&registry, &heap.allocator, NULL);
        assert_int_equal(status, heap.failed ? PROFCONV_E_NOMEM : PROFCONV_OK);
        assert_true((registry == NULL) == (status != PROFCONV_OK));
        profconv_registry_free(registry);
        assert_int_equal(heap.live, 0);
        assert_int_equal(heap.wrong_sizes, 0);
        if (status == PROFCONV_OK)
            break;
    }
    assert_true(k > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_taken_once),
        cmocka_unit_test(test_newer_structs),
        cmocka_unit_test(test_halves_are_merged),
        cmocka_unit_test(test_suffixes),
        cmocka_unit_test(test_the_surest_probe_wins),
        cmocka_unit_test(test_probes_see_64_kib),
        cmocka_unit_test(test_settings_are_checked),
        cmocka_unit_test(test_settings_by_alias),
        cmocka_unit_test(test_a_writer_chooses_the_labels),
        cmocka_unit_test(test_formats_that_are_not_there),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_passes_have_switches),
        cmocka_unit_test(test_missing_facets),
        cmocka_unit_test(test_a_switched_off_pass_is_named),
        cmocka_unit_test(test_a_pass_that_finds_nothing),
        cmocka_unit_test(test_losses_are_reported),
        cmocka_unit_test(test_notes_of_the_reader_arrive_once),
        cmocka_unit_test(test_empty_results_name_the_cause),
        cmocka_unit_test(test_only_success_closes),
        cmocka_unit_test(test_whose_error_it_is),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_several_inputs),
        cmocka_unit_test(test_the_budget_covers_all_inputs),
        cmocka_unit_test(test_allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
