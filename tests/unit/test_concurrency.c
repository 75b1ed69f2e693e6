/* SPDX-License-Identifier: MIT
 *
 * One frozen profile in many threads at once: every accessor and column, every writer, and what makes tables and new
 * profiles of it. Each thread must find what a thread alone finds. Built with PROFCONV_SANITIZE=thread, this is also what
 * shows that accessors do not write.
 */
#include <profconv/check.h>
#include <profconv/profconv.h>

#include "model_scenario.h"
#include "tests/support/team.h"

enum { ROUNDS = 20 };

/* ---- a number made of all that can be read from a profile ---- */

static void mix(uint64_t *hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void mix_number(uint64_t *hash, int64_t number) { mix(hash, &number, sizeof number); }

static void mix_string(uint64_t *hash, profconv_string string) { mix(hash, string.data, string.size + 1); }

#define MIX_ROWS(hash, p, table, row)                                                 \
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_##table); i < n; i++) \
    mix(hash, profconv_profile_##row(p, i), sizeof *profconv_profile_##row(p, i))

static void mix_code(uint64_t *hash, const profconv_profile *p) {
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_STRING); i < n; i++)
        mix_string(hash, profconv_profile_string(p, i));
    MIX_ROWS(hash, p, FUNCTION, function);
    MIX_ROWS(hash, p, MAPPING, mapping);
    MIX_ROWS(hash, p, LOCATION, location);
    MIX_ROWS(hash, p, STACK, stack);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_LOCATION); i < n; i++)
        for (uint32_t k = 0; k < profconv_profile_location(p, i)->line_count; k++)
            mix(hash, profconv_profile_line(p, i, k), sizeof(profconv_line));
}

static void mix_samples(uint64_t *hash, const profconv_profile *p) {
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    MIX_ROWS(hash, p, LABEL, label);
    MIX_ROWS(hash, p, LABEL_SET, label_set);
    MIX_ROWS(hash, p, SAMPLE_TYPE, sample_type);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_LABEL_SET); i < n; i++) {
        const profconv_label_set *set = profconv_profile_label_set(p, i);
        for (uint32_t k = 0; k < set->count; k++)
            mix_number(hash, profconv_profile_label_item(p, set->first + k));
        const profconv_label *comm = profconv_profile_find_label(p, i, "comm");
        mix_number(hash, comm ? (int64_t)comm->string : -1);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i < n; i++) {
        mix_number(hash, profconv_profile_sample_stack(p, i));
        mix_number(hash, profconv_profile_sample_label_set(p, i));
        for (uint32_t type = 0; type < types; type++)
            mix_number(hash, profconv_profile_sample_value(p, i, type));
    }
    for (uint32_t type = 0; type < types; type++)
        mix_number(hash, profconv_profile_total(p, type));
    mix_number(hash, profconv_profile_default_sample_type(p));
}

static void mix_counts(uint64_t *hash, const profconv_profile *p) {
    MIX_ROWS(hash, p, BRANCH, branch);
    MIX_ROWS(hash, p, RANGE, range);
    MIX_ROWS(hash, p, ADDRESS, address);
    MIX_ROWS(hash, p, ENTRY, entry);
    MIX_ROWS(hash, p, SOURCE, source);
    MIX_ROWS(hash, p, CONTEXT, context);
    MIX_ROWS(hash, p, SOURCE_BODY, source_body);
    MIX_ROWS(hash, p, SOURCE_TARGET, source_target);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_SYMBOL); i < n; i++)
        mix_number(hash, profconv_profile_symbol(p, i));
}

static void mix_texts(uint64_t *hash, const profconv_profile *p) {
    profconv_string key, value;
    profconv_note note;
    mix(hash, profconv_profile_info(p), sizeof *profconv_profile_info(p));
    mix_number(hash, profconv_profile_facets(p));
    mix_number(hash, profconv_profile_verbatim(p));
    mix_number(hash, profconv_profile_allocator(p) != NULL);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_COMMENT); i < n; i++)
        mix_number(hash, profconv_profile_comment(p, i));
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_ATTRIBUTE); i < n; i++) {
        mix_number(hash, profconv_profile_attribute(p, i, &key, &value));
        mix_string(hash, key);
        mix_string(hash, value);
    }
    mix_string(hash, profconv_profile_find_attribute(p, "hostname"));
    const profconv_report *report = profconv_profile_report(p);
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        mix_number(hash, profconv_report_get(report, i, &note));
        mix(hash, note.message, strlen(note.message));
        mix_number(hash, note.weight);
    }
    mix_number(hash, (int64_t)profconv_report_overflow(report));
}

/* Every column there is: every name in every table. */
static void mix_columns(uint64_t *hash, const profconv_profile *p) {
    static const char *const names[] = {
        "size",   "start_line", "name",        "linkage_name", "file",     "start",      "limit",  "file_offset",
        "kind",   "flags",      "address",     "build_id",     "mapping",  "first_line", "line",   "reference_address",
        "column", "function",   "line_count",  "parent",       "location", "number",     "key",    "discriminator",
        "unit",   "numeric",    "string",      "first",        "count",    "items",      "period", "mispredicted",
        "cycles", "from",       "to",          "begin",        "end",      "total",      "head",   "checksum",
        "body",   "source",     "context",     "attributes",   "text",     "value",      "role",   "stack",
        "event",  "label_set",  "reference",   "pid",          "ordinal",  "timestamp"};
    for (unsigned table = 0; table < PROFCONV_TABLE_COUNT_; table++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            profconv_column column;
            if (profconv_profile_column(p, (profconv_table)table, names[i], 0, &column) != PROFCONV_OK)
                continue;
            size_t width = column.type == PROFCONV_COLUMN_U32 ? 4 : 8;
            mix_number(hash, (int64_t)column.count);
            for (size_t row = 0; row < column.count; row++)
                mix(hash, (const char *)column.data + row * column.stride, width);
        }
    }
}

static uint64_t fingerprint(const profconv_profile *p) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    mix_code(&hash, p);
    mix_samples(&hash, p);
    mix_counts(&hash, p);
    mix_texts(&hash, p);
    mix_columns(&hash, p);
    return hash;
}

/* ---- what the threads share ---- */

typedef struct written {
    int status;
    unsigned char *bytes;
    size_t size;
} written;

typedef struct scene {
    team_heap heap;
    profconv_limits limits;
    profconv_registry *registry;
    profconv_profile *profiles[2]; /* every table filled; a recording with names */
    uint64_t fingerprints[2];
    size_t formats;
    written *wanted[2]; /* by format: what a thread alone writes */
} scene;

static int write_as(const scene *s, unsigned which, const char *format, written *out) {
    profconv_convert_options options = {0};
    profconv_io_options io = {0};
    profconv_output *output = NULL;
    profconv_report *report = NULL;
    const uint8_t *data = NULL;
    size_t size = 0;
    options.struct_size = sizeof options;
    options.allocator = io.allocator = &s->heap.allocator;
    io.struct_size = sizeof io;
    options.to = format;
    memset(out, 0, sizeof *out);
    out->status = profconv_output_open_memory(&output, &io, NULL);
    if (out->status == PROFCONV_OK)
        out->status = profconv_report_new(&report, &s->heap.allocator, NULL);
    if (out->status == PROFCONV_OK)
        out->status = profconv_write(s->registry, s->profiles[which], output, &options, report, NULL);
    if (out->status == PROFCONV_OK && profconv_output_bytes(output, &data, &size) == PROFCONV_OK) {
        out->bytes = malloc(size + 1);
        if (out->bytes)
            memcpy(out->bytes, data, size);
        out->size = size;
    }
    profconv_report_free(report);
    profconv_output_free(output);
    return out->status;
}

static profconv_profile *read_recording(const scene *s) {
    profconv_convert_options options = {0};
    profconv_io_options io = {0};
    profconv_input *input = NULL;
    profconv_profile *profile = NULL;
    profconv_error error = {0};
    options.struct_size = sizeof options;
    options.allocator = io.allocator = &s->heap.allocator;
    options.limits = &s->limits;
    options.to = "pprof";
    io.struct_size = sizeof io;
    profconv_options *settings = NULL;
    assert_int_equal(profconv_options_new(&settings, &s->heap.allocator, NULL), PROFCONV_OK);
    assert_int_equal(profconv_options_put(settings, "symbolize", "binary", TEST_DATA_DIR "/quickstart/wordcount", NULL), 0);
    options.settings = settings;
    if (profconv_input_open_path(&input, TEST_DATA_DIR "/quickstart/wordcount.data", &io, &error) ||
        profconv_read(s->registry, input, &options, &profile, &error) ||
        profconv_prepare(s->registry, &profile, &options, NULL, &error))
        fail_msg("%s", error.message);
    profconv_input_free(input);
    profconv_options_free(settings);
    return profile;
}

static const char *format_name(const scene *s, size_t index) {
    profconv_format_info info;
    return profconv_registry_format(s->registry, index, &info) == PROFCONV_OK && info.can_write ? info.name : NULL;
}

static int make_scene(void **state) {
    static scene s;
    memset(&s, 0, sizeof s);
    team_heap_init(&s.heap);
    s.limits.struct_size = sizeof s.limits;
    s.limits.max_memory = UINT64_C(1) << 30; /* the sum is kept by the profile, and shared by whoever works on it */
    assert_int_equal(profconv_registry_new(&s.registry, &s.heap.allocator, NULL), PROFCONV_OK);
    s.formats = profconv_registry_format_count(s.registry);
    profconv_builder *b = NULL;
    assert_int_equal(profconv_builder_new(&b, &s.heap.allocator, &s.limits, NULL), PROFCONV_OK);
    scenario(b);
    s.profiles[0] = freeze(b);
    s.profiles[1] = read_recording(&s);
    for (unsigned which = 0; which < 2; which++) {
        s.fingerprints[which] = fingerprint(s.profiles[which]);
        s.wanted[which] = calloc(s.formats, sizeof(written));
        assert_non_null(s.wanted[which]);
        for (size_t i = 0; i < s.formats; i++)
            if (format_name(&s, i))
                (void)write_as(&s, which, format_name(&s, i), &s.wanted[which][i]);
    }
    *state = &s;
    return 0;
}

static int free_scene(void **state) {
    scene *s = *state;
    for (unsigned which = 0; which < 2; which++) {
        for (size_t i = 0; i < s->formats; i++)
            free(s->wanted[which][i].bytes);
        free(s->wanted[which]);
        profconv_profile_free(s->profiles[which]);
    }
    profconv_registry_free(s->registry);
    return atomic_load(&s->heap.live) != 0; /* all was given back, by whichever thread */
}

/* ---- the tests ---- */

static void read_all(team_member *self) {
    const scene *s = self->shared;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned which = (self->index + round) % 2;
        if (fingerprint(s->profiles[which]) != s->fingerprints[which])
            team_wrong(self, "profile %u reads otherwise than before", which);
        if (profconv_profile_check(s->profiles[which], NULL) != PROFCONV_OK)
            team_wrong(self, "profile %u fails its check", which);
    }
}

static void accessors(void **state) {
    assert_int_equal(team_run(read_all, *state), 0);
}

/* Each thread starts with another format, so that different writers and the same ones meet. */
static void write_all(team_member *self) {
    const scene *s = self->shared;
    for (size_t i = 0; i < 2 * s->formats; i++) {
        size_t format = (i + self->index / 2 * 5) % s->formats;
        unsigned which = (unsigned)(i / s->formats + self->index) % 2;
        const written *wanted = &s->wanted[which][format];
        const char *name = format_name(s, format);
        written got;
        if (!name)
            continue;
        (void)write_as(s, which, name, &got);
        if (got.status != wanted->status || got.size != wanted->size ||
            (got.size && memcmp(got.bytes, wanted->bytes, got.size) != 0))
            team_wrong(self, "profile %u as %s: status %d, %zu bytes; alone: %d, %zu", which, name, got.status, got.size,
                       wanted->status, wanted->size);
        free(got.bytes);
    }
}

static void writers(void **state) {
    const scene *s = *state;
    size_t good = 0;
    for (size_t i = 0; i < 2 * s->formats; i++)
        good += s->wanted[i / s->formats][i % s->formats].size > 0;
    assert_true(good >= 20);
    assert_int_equal(team_run(write_all, *state), 0);
}

/* What reads a frozen profile to make something else, in a builder or table of the thread's own. */
static int derive(const scene *s, unsigned which, unsigned kind) {
    const profconv_profile *p = s->profiles[which];
    profconv_profile *made = NULL;
    profconv_builder *b = NULL;
    profconv_top *top = NULL;
    profconv_diff *diff = NULL;
    profconv_output *output = NULL;
    int status = PROFCONV_OK;
    switch (kind) {
    case 0:
        status = profconv_builder_new(&b, &s->heap.allocator, &s->limits, NULL);
        for (uint64_t weight = 1; status == PROFCONV_OK && weight < 3; weight++)
            status = profconv_merge(b, p, weight, NULL);
        if (status == PROFCONV_OK)
            status = profconv_builder_freeze(b, &made, NULL);
        break;
    case 1: status = profconv_top_new(&top, p, NULL, NULL); break;
    case 2: status = profconv_diff_new(&diff, p, p, NULL, NULL); break;
    case 3: status = profconv_scale(p, 3, 2, &made, NULL); break;
    case 4: status = profconv_keep_top(p, 2, &made, NULL); break;
    case 5: (void)profconv_check(p, profconv_check_consumer(which), NULL, NULL); break;
    default:
        status = profconv_output_open_memory(&output, NULL, NULL);
        if (status == PROFCONV_OK)
            status = profconv_dump(p, output, NULL);
    }
    profconv_output_free(output);
    profconv_diff_free(diff);
    profconv_top_free(top);
    profconv_profile_free(made);
    profconv_builder_free(b);
    return status;
}

enum { KINDS = 7 };

static void derive_all(team_member *self) {
    for (unsigned i = 0; i < 2 * KINDS; i++) {
        unsigned kind = (i + self->index) % KINDS, which = i / KINDS;
        int status = derive(self->shared, which, kind);
        if (status != PROFCONV_OK)
            team_wrong(self, "profile %u, derivation %u: %s", which, kind, profconv_status_string(status));
    }
}

static void derivations(void **state) {
    for (unsigned i = 0; i < 2 * KINDS; i++)
        assert_int_equal(derive(*state, i / KINDS, i % KINDS), PROFCONV_OK);
    assert_int_equal(team_run(derive_all, *state), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accessors),
        cmocka_unit_test(writers),
        cmocka_unit_test(derivations),
    };
    return cmocka_run_group_tests(tests, make_scene, free_scene);
}
