/* SPDX-License-Identifier: MIT
 *
 * on_limit=truncate, for every reader of stacks: under a max_memory that the stacks do not fit, sums stay what they are, every
 * sample is charged to an outer part of its stack, memory stays within the bound, the report says what was shortened, and
 * two runs give one profile.
 *
 * Inputs are made here: a profile of many distinct stacks, written in each format that has a writer, and text for the others.
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
#include "tests/support/heap.h"

#define FRAMES 300 /* distinct ones */
#define BASE 0x400000

static uint32_t random_below(uint64_t *seed, uint32_t n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % n);
}

static uint32_t stack_count(void) { return 20000; } /* with fewer, what stands beside the stacks reaches the limit first */

/* Stack `i` as frame numbers, leaf first; the outer frames are shared by many. */
static uint32_t frames_of(uint32_t i, uint32_t frames[40]) {
    uint64_t seed = 77 + i;
    uint32_t n = 10 + random_below(&seed, 20);
    for (uint32_t k = 0; k < n; k++)
        frames[n - 1 - k] = random_below(&seed, k < 3 ? 3 : FRAMES);
    return n;
}

static profconv_profile *make_profile(void) {
    profconv_builder *b = NULL;
    profconv_profile *profile = NULL;
    profconv_id at[FRAMES], stack[40];
    uint32_t frames[40];
    char name[32];
    assert_int_equal(profconv_builder_new(&b, NULL, NULL, NULL), PROFCONV_OK);
    profconv_sample_type count = {0}, cycles = {0};
    count.name = profconv_builder_cstring(b, "samples");
    count.unit = profconv_builder_cstring(b, "count");
    count.event = cycles.event = cycles.name = profconv_builder_cstring(b, "cycles");
    cycles.unit = count.unit;
    cycles.period = 1000;
    count.role = PROFCONV_ROLE_COUNT;
    cycles.role = PROFCONV_ROLE_WEIGHT;
    profconv_builder_sample_type(b, &count);
    profconv_builder_sample_type(b, &cycles);
    profconv_mapping app = {0};
    app.start = BASE;
    app.limit = BASE + 0x100000;
    app.file = profconv_builder_cstring(b, "/bin/app");
    app.kind = PROFCONV_MAPPING_EXECUTABLE;
    profconv_id mapping = profconv_builder_mapping(b, &app);
    for (uint32_t i = 0; i < FRAMES; i++) {
        snprintf(name, sizeof name, "function_%u", i);
        profconv_function function = {0};
        function.name = function.linkage_name = profconv_builder_cstring(b, name);
        profconv_line line = {0};
        line.function = profconv_builder_function(b, &function);
        profconv_location location = {0};
        location.mapping = mapping;
        location.address = BASE + 0x1000 + 16 * i;
        at[i] = profconv_builder_location(b, &location, &line, 1);
    }
    for (uint32_t i = 0; i < stack_count(); i++) {
        uint32_t n = frames_of(i, frames);
        for (uint32_t k = 0; k < n; k++)
            stack[k] = at[frames[k]];
        int64_t values[2] = {1 + i % 3, 1000 * (int64_t)(1 + i % 3)};
        profconv_builder_sample(b, profconv_builder_stack_leaf_first(b, stack, n), 0, 0, values, 2);
    }
    assert_int_equal(profconv_builder_freeze(b, &profile, NULL), PROFCONV_OK);
    profconv_builder_free(b);
    return profile;
}

/* ---- inputs ---- */

typedef struct bytes {
    unsigned char *data;
    size_t size, capacity;
} bytes;

static void put(bytes *b, const void *data, size_t size) {
    if (size > b->capacity - b->size) {
        b->capacity = 2 * b->capacity + size + 4096;
        assert_non_null(b->data = realloc(b->data, b->capacity));
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_text(bytes *b, const char *format, ...) {
    char text[200];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(b, text, (size_t)n);
}

static bytes perf_script(void) {
    bytes b = {0};
    uint32_t frames[40];
    for (uint32_t i = 0; i < stack_count(); i++) {
        uint32_t n = frames_of(i, frames);
        put_text(&b, "app  100/100  %u.%06u:    1000 cycles: \n", 1 + i / 1000, i % 1000 * 1000);
        for (uint32_t k = 0; k < n; k++)
            put_text(&b, "\t          %x function_%u+0x4 (/bin/app)\n", BASE + 0x1004 + 16 * frames[k], frames[k]);
        put_text(&b, "\n");
    }
    return b;
}

static bytes bpftrace(void) {
    bytes b = {0};
    uint32_t frames[40];
    put_text(&b, "Attaching 1 probe...\n\n");
    for (uint32_t i = 0; i < stack_count(); i++) {
        uint32_t n = frames_of(i, frames);
        put_text(&b, "@[\n");
        for (uint32_t k = 0; k < n; k++)
            put_text(&b, "    function_%u+4\n", frames[k]);
        put_text(&b, "]: %u\n", 1 + i % 3);
    }
    return b;
}

static bytes gperftools(void) {
    bytes b = {0};
    uint32_t frames[40];
    const uint64_t head[5] = {0, 3, 0, 10000, 0}, tail[3] = {0, 1, 0};
    put(&b, head, sizeof head);
    for (uint32_t i = 0; i < stack_count(); i++) {
        uint32_t n = frames_of(i, frames);
        uint64_t record[42] = {1 + i % 3, n};
        for (uint32_t k = 0; k < n; k++)
            record[2 + k] = BASE + 0x1004 + 16 * frames[k];
        put(&b, record, (2 + n) * 8);
    }
    put(&b, tail, sizeof tail);
    put_text(&b, "%08x-%08x r-xp 00000000 08:01 1 /bin/app\n", BASE, BASE + 0x100000);
    return b;
}

static bytes contention(void) {
    bytes b = {0};
    uint32_t frames[40];
    put_text(&b, "--- contentionz 1 ---\ncycles/second = 1000000000\nsampling period = 1\n");
    for (uint32_t i = 0; i < stack_count(); i++) {
        uint32_t n = frames_of(i, frames);
        put_text(&b, "%u %u @", 1000 * (1 + i % 3), 1 + i % 3);
        for (uint32_t k = 0; k < n; k++)
            put_text(&b, " 0x%x", BASE + 0x1004 + 16 * frames[k]);
        put_text(&b, "\n");
    }
    return b;
}

/* ---- reading ---- */

typedef struct run {
    test_heap heap;
    int status;
    profconv_error error;
    profconv_profile *profile;
} run;

static void read_bytes(run *r, const profconv_registry *registry, const char *format, const bytes *data, uint64_t limit) {
    memset(r, 0, sizeof *r);
    test_heap_init(&r->heap, 0);
    profconv_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.max_memory = limit;
    limits.on_limit = PROFCONV_ON_LIMIT_TRUNCATE;
    profconv_convert_options options = {0};
    options.struct_size = sizeof options;
    options.limits = &limits;
    options.from = format;
    profconv_io_options io = {0};
    io.struct_size = sizeof io;
    options.allocator = io.allocator = &r->heap.allocator;
    profconv_input *input = NULL;
    assert_int_equal(profconv_input_open_memory(&input, data->data, data->size, &io, NULL), PROFCONV_OK);
    r->status = profconv_read(registry, input, &options, &r->profile, &r->error);
    profconv_input_free(input);
}

static void run_free(run *r) {
    profconv_profile_free(r->profile);
    assert_true(r->heap.live == 0 && r->heap.wrong_sizes == 0);
}

static bytes dump(const profconv_profile *profile) {
    bytes b = {0};
    profconv_output *output = NULL;
    const uint8_t *data;
    size_t size;
    assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_dump(profile, output, NULL), PROFCONV_OK);
    assert_int_equal(profconv_output_close(output, NULL), PROFCONV_OK);
    assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_OK);
    put(&b, data, size);
    profconv_output_free(output);
    return b;
}

/* ---- comparing ---- */

/* A stack by what its frames are called, from the root, and what was counted below it. */
typedef struct path {
    uint64_t name;
    int64_t weight;
} path;

static uint64_t add_text(uint64_t hash, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

static uint64_t frame_name(const profconv_profile *p, profconv_id id, uint64_t hash) {
    const profconv_location *l = profconv_profile_location(p, id);
    hash = add_text(hash, &l->address, sizeof l->address);
    for (uint32_t i = 0; i < l->line_count; i++) {
        const profconv_function *f = profconv_profile_function(p, profconv_profile_line(p, id, i)->function);
        profconv_string name = profconv_profile_string(p, f->name);
        hash = add_text(hash, name.data, name.size + 1);
    }
    return hash;
}

static int by_name(const void *a, const void *b) {
    uint64_t x = ((const path *)a)->name, y = ((const path *)b)->name;
    return x < y ? -1 : x > y;
}

static path *paths_of(const profconv_profile *p, uint32_t type, size_t *count) {
    uint32_t rows = profconv_profile_rows(p, PROFCONV_TABLE_STACK);
    path *paths = calloc(rows, sizeof *paths);
    assert_non_null(paths);
    paths[0].name = 14695981039346656037u;
    for (uint32_t i = 1; i < rows; i++) {
        const profconv_stack *s = profconv_profile_stack(p, i);
        paths[i].name = frame_name(p, s->location, paths[s->parent].name * 31 + 7);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++)
        paths[profconv_profile_sample_stack(p, i)].weight += profconv_profile_sample_value(p, i, type);
    for (uint32_t i = rows; i-- > 1;)
        paths[profconv_profile_stack(p, i)->parent].weight += paths[i].weight;
    qsort(paths, rows, sizeof *paths, by_name);
    *count = rows;
    return paths;
}

/* Each stack of `cut` is one of `whole`, and no more is counted below it than there. */
static void check_parts(const char *label, const profconv_profile *whole, const profconv_profile *cut) {
    uint32_t types = profconv_profile_rows(whole, PROFCONV_TABLE_SAMPLE_TYPE);
    assert_int_equal(profconv_profile_rows(cut, PROFCONV_TABLE_SAMPLE_TYPE), types);
    for (uint32_t t = 0; t < types; t++) {
        size_t all, some;
        path *full = paths_of(whole, t, &all), *part = paths_of(cut, t, &some);
        if (profconv_profile_total(whole, t) != profconv_profile_total(cut, t))
            fail_msg("%s: the total of type %u changed", label, t);
        for (size_t i = 0; i < some; i++) {
            const path *known = bsearch(&part[i], full, all, sizeof *full, by_name);
            if (part[i].weight == 0)
                continue;
            if (!known)
                fail_msg("%s: a stack that the input does not have", label);
            if (known->weight < part[i].weight)
                fail_msg("%s: %lld below a stack that has %lld", label, (long long)part[i].weight,
                         (long long)known->weight);
        }
        free(full);
        free(part);
    }
}

static const profconv_note *shortened(const profconv_profile *p) {
    static profconv_note note;
    const profconv_report *report = profconv_profile_report(p);
    for (size_t i = 0; i < profconv_report_count(report); i++)
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && strcmp(note.cause, "stack-shortened") == 0)
            return &note;
    return NULL;
}

static void check_reader(const profconv_registry *registry, const char *format, const bytes *data) {
    run whole, cut, again;
    read_bytes(&whole, registry, format, data, 0);
    if (whole.status != PROFCONV_OK)
        fail_msg("%s: %s", format, whole.error.message);
    assert_true(profconv_profile_rows(whole.profile, PROFCONV_TABLE_STACK) > 10 * stack_count());
    unsigned cuts = 0;
    uint32_t least = UINT32_MAX;
    for (uint64_t percent = 95; percent >= 5; percent -= percent > 40 ? 15 : 5) {
        uint64_t limit = whole.heap.peak / 100 * percent;
        read_bytes(&cut, registry, format, data, limit);
        if (cut.heap.peak > limit + limit / 20 + (64 << 10))
            fail_msg("%s: max_memory %llu, %llu used", format, (unsigned long long)limit,
                     (unsigned long long)cut.heap.peak);
        if (cut.status != PROFCONV_OK) {
            if (cut.status != PROFCONV_E_LIMIT || !strstr(cut.error.message, "max_memory"))
                fail_msg("%s: max_memory %llu: status %d (%s)", format, (unsigned long long)limit, cut.status,
                         cut.error.message);
            run_free(&cut);
            break;
        }
        assert_int_equal(profconv_profile_check(cut.profile, NULL), PROFCONV_OK);
        check_parts(format, whole.profile, cut.profile);
        const profconv_note *note = shortened(cut.profile);
        if (note) {
            assert_true(note->count > 0 && note->count <= (uint64_t)profconv_profile_total(whole.profile, 0));
            assert_true(note->weight > 0);
            cuts++;
            least = profconv_profile_rows(cut.profile, PROFCONV_TABLE_STACK);
        }
        read_bytes(&again, registry, format, data, limit);
        assert_int_equal(again.status, PROFCONV_OK);
        bytes a = dump(cut.profile), b = dump(again.profile);
        assert_true(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
        free(a.data);
        free(b.data);
        run_free(&again);
        run_free(&cut);
    }
    print_message("%s: shortened under %u limits, down to %u of %u stacks\n", format, cuts, least,
                  profconv_profile_rows(whole.profile, PROFCONV_TABLE_STACK));
    if (cuts < 2)
        fail_msg("%s: stacks were shortened under %u limits", format, cuts);
    run_free(&whole);
}

static void test_every_reader(void **state) {
    (void)state;
    static const struct {
        const char *format;
        bytes (*make)(void);
    } made[] = {{"perf-script", perf_script}, {"bpftrace", bpftrace}, {"gperftools", gperftools}, {"pprof-text", contention}};
    profconv_registry *registry = NULL;
    profconv_profile *profile = make_profile();
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), PROFCONV_OK);
    unsigned done = 0;
    for (size_t f = 0; f < profconv_registry_format_count(registry); f++) {
        profconv_format_info info;
        assert_int_equal(profconv_registry_format(registry, f, &info), PROFCONV_OK);
        bytes data = {0};
        if (!info.can_read || !(info.produces & PROFCONV_FACET_STACKS))
            continue;
        if (strcmp(info.name, "bolt-fdata") == 0 || strcmp(info.name, "go-preprofile") == 0) /* stacks of a frame or two */
            continue;
        for (size_t i = 0; i < sizeof made / sizeof *made; i++)
            if (strcmp(made[i].format, info.name) == 0)
                data = made[i].make();
        if (!data.data && !info.can_write)
            fail_msg("%s: a reader of stacks that this test has no input for", info.name);
        if (!data.data) {
            profconv_output *output = NULL;
            profconv_convert_options options = {.struct_size = sizeof options, .to = info.name};
            profconv_error error;
            const uint8_t *written;
            size_t size;
            assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), PROFCONV_OK);
            if (profconv_write(registry, profile, output, &options, NULL, &error) != PROFCONV_OK)
                fail_msg("%s: %s", info.name, error.message);
            assert_int_equal(profconv_output_bytes(output, &written, &size), PROFCONV_OK);
            put(&data, written, size);
            profconv_output_free(output);
        }
        check_reader(registry, info.name, &data);
        free(data.data);
        done++;
    }
    assert_true(done >= 6);
    profconv_profile_free(profile);
    profconv_registry_free(registry);
}

/* Past the share of samples, too: labels of each sample its own, so that rows cannot add up. */
static void test_rows_run_out(void **state) {
    (void)state;
    profconv_limits limits = {.struct_size = sizeof limits, .max_memory = 1 << 20,
                              .on_limit = PROFCONV_ON_LIMIT_TRUNCATE};
    for (int verbatim = 0; verbatim < 2; verbatim++) {
        profconv_builder *b = NULL;
        profconv_profile *profile = NULL;
        profconv_error error;
        assert_int_equal(profconv_builder_new(&b, NULL, &limits, NULL), PROFCONV_OK);
        if (verbatim)
            assert_int_equal(profconv_builder_verbatim(b), PROFCONV_OK);
        profconv_sample_type type = {0};
        type.name = type.unit = profconv_builder_cstring(b, "count");
        type.role = PROFCONV_ROLE_COUNT;
        profconv_builder_sample_type(b, &type);
        profconv_function function = {0};
        function.name = profconv_builder_cstring(b, "f");
        profconv_line line = {0};
        line.function = profconv_builder_function(b, &function);
        profconv_location none = {0};
        profconv_id location = profconv_builder_location(b, &none, &line, 1), set[50], stack = 0;
        for (uint32_t i = 0; i < 50; i++) {
            profconv_label label = {.key = type.name, .number = i, .numeric = 1};
            profconv_id id = profconv_builder_label(b, &label);
            set[i] = profconv_builder_label_set(b, &id, 1);
        }
        int64_t total = 0;
        for (uint32_t i = 0; i < 1000; i++) {
            stack = profconv_builder_stack(b, stack, location);
            for (uint32_t k = 0; k < 50; k++) {
                int64_t value = i + k;
                profconv_builder_sample(b, stack, set[k], 0, &value, 1);
                total += value;
            }
        }
        if (profconv_builder_freeze(b, &profile, &error) != PROFCONV_OK)
            fail_msg("%s", error.message);
        assert_true(profconv_profile_total(profile, 0) == total);
        assert_true(profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE) < 50000);
        int64_t by_label[50] = {0};
        for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE); i++) {
            const profconv_label *label =
                profconv_profile_find_label(profile, profconv_profile_sample_label_set(profile, i), "count");
            by_label[label->number] += profconv_profile_sample_value(profile, i, 0);
        }
        for (uint32_t k = 0; k < 50; k++)
            assert_true(by_label[k] == 999 * 500 + 1000 * (int64_t)k);
        assert_non_null(shortened(profile));
        profconv_profile_free(profile);
        profconv_builder_free(b);
    }
}

/* Without the mode the same is an error, and the profile of a run that fits is the same with it. */
static void test_off_by_default(void **state) {
    (void)state;
    profconv_limits limits = {.struct_size = sizeof limits, .max_memory = 1 << 20, .on_limit = 7};
    profconv_builder *b = NULL;
    profconv_error error;
    assert_int_equal(profconv_builder_new(&b, NULL, &limits, &error), PROFCONV_E_INVALID);
    assert_non_null(strstr(error.message, "on_limit is 7"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_reader), cmocka_unit_test(test_rows_run_out),
                                       cmocka_unit_test(test_off_by_default)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
