/* SPDX-License-Identifier: MIT
 *
 * Merging: weights, order, which mappings unite and where addresses go, what becomes of facts about the whole.
 */
#include "tests/unit/model_scenario.h"

#include <stdio.h>
#include <stdlib.h>

static profconv_profile *scenario_profile(void) {
    profconv_builder *b = new_builder();
    scenario(b);
    return freeze(b);
}

static void merge(profconv_builder *b, const profconv_profile *p, uint64_t weight) {
    profconv_error error = {0};
    if (profconv_merge(b, p, weight, &error))
        fail_msg("merge: %s", error.message);
}

/* ---- a form of a profile that does not depend on ids: sorted lines with names in place of ids ---- */

typedef struct text {
    char *lines[256];
    size_t count;
} text;

static const char *str(const profconv_profile *p, profconv_id id) { return profconv_profile_string(p, id).data; }

static void say(text *t, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_true(t->count < 256);
    t->lines[t->count] = (char *)test_malloc(strlen(line) + 1);
    strcpy(t->lines[t->count++], line);
}

/* An address as an offset in its file: the same whatever the coordinates. */
static void place(const profconv_profile *p, profconv_id id, char *out, size_t size) {
    const profconv_location *l = profconv_profile_location(p, id);
    const profconv_mapping *m = profconv_profile_mapping(p, l->mapping);
    snprintf(out, size, "%s+%llx/%x", str(p, m->file),
             (unsigned long long)(l->address - m->start + m->file_offset), l->flags);
    for (uint32_t i = 0; i < l->line_count; i++) {
        const profconv_line *line = profconv_profile_line(p, id, i);
        size_t n = strlen(out);
        snprintf(out + n, size - n, "|%s:%d", str(p, profconv_profile_function(p, line->function)->linkage_name),
                 (int)line->line);
    }
}

static void samples_text(const profconv_profile *p, text *t) {
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        char line[900] = "sample", where[200];
        for (profconv_id s = profconv_profile_sample_stack(p, i); s; s = profconv_profile_stack(p, s)->parent) {
            place(p, profconv_profile_stack(p, s)->location, where, sizeof where);
            strcat(strcat(line, ";"), where);
        }
        const profconv_label_set *set = profconv_profile_label_set(p, profconv_profile_sample_label_set(p, i));
        for (uint32_t k = 0; k < set->count; k++) {
            const profconv_label *l = profconv_profile_label(p, profconv_profile_label_item(p, set->first + k));
            size_t n = strlen(line);
            snprintf(line + n, sizeof line - n, " %s=%s%d", str(p, l->key), str(p, l->string), (int)l->number);
        }
        for (uint32_t k = 0; k < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); k++) {
            const profconv_sample_type *type = profconv_profile_sample_type(p, k);
            if (profconv_profile_sample_value(p, i, k))
                say(t, "%s [%s %s] %lld", line, str(p, type->name), str(p, type->event),
                    (long long)profconv_profile_sample_value(p, i, k));
        }
    }
}

static void branches_text(const profconv_profile *p, text *t) {
    char a[200], b[200];
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *r = profconv_profile_branch(p, i);
        place(p, r->from, a, sizeof a);
        place(p, r->to, b, sizeof b);
        say(t, "branch %s %s %llu %llu %llu", a, b, (unsigned long long)r->count,
            (unsigned long long)r->mispredicted, (unsigned long long)r->cycles);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        place(p, r->begin, a, sizeof a);
        place(p, r->end, b, sizeof b);
        say(t, "range %s %s %llu", a, b, (unsigned long long)r->count);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++) {
        place(p, profconv_profile_address(p, i)->location, a, sizeof a);
        say(t, "address %s %llu", a, (unsigned long long)profconv_profile_address(p, i)->count);
    }
}

static void source_path(const profconv_profile *p, profconv_id id, char *out, size_t size) {
    const profconv_source *s = profconv_profile_source(p, id);
    const profconv_context *c = profconv_profile_context(p, s->context);
    snprintf(out, size, "%s@%s:%u/%u.%u", str(p, s->name), str(p, c->name), c->line, s->line, s->discriminator);
    if (s->parent) {
        size_t n = strlen(out);
        out[n] = '<';
        source_path(p, s->parent, out + n + 1, size - n - 1);
    }
}

static void sources_text(const profconv_profile *p, text *t) {
    char path[400];
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i++) {
        const profconv_source *s = profconv_profile_source(p, i);
        source_path(p, i, path, sizeof path);
        say(t, "source %s %llu %llu", path, (unsigned long long)s->total, (unsigned long long)s->head);
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY); i++) {
        const profconv_source_body *r = profconv_profile_source_body(p, i);
        source_path(p, r->source, path, sizeof path);
        say(t, "body %s %u.%u %llu", path, r->line, r->discriminator, (unsigned long long)r->count);
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); i++) {
        const profconv_source_target *r = profconv_profile_source_target(p, i);
        source_path(p, profconv_profile_source_body(p, r->body)->source, path, sizeof path);
        say(t, "target %s %s %llu", path, str(p, r->name), (unsigned long long)r->count);
    }
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static text counts(const profconv_profile *p) {
    text t = {{0}, 0};
    samples_text(p, &t);
    branches_text(p, &t);
    sources_text(p, &t);
    qsort(t.lines, t.count, sizeof t.lines[0], by_bytes);
    return t;
}

static void assert_same_counts(const profconv_profile *a, const profconv_profile *b) {
    text x = counts(a), y = counts(b);
    assert_int_equal(x.count, y.count);
    assert_true(x.count > 0);
    for (size_t i = 0; i < x.count; i++) {
        assert_string_equal(x.lines[i], y.lines[i]);
        test_free(x.lines[i]);
        test_free(y.lines[i]);
    }
}

/* ---- tests ---- */

static void one_profile_is_unchanged(void **state) {
    (void)state;
    profconv_profile *p = scenario_profile();
    profconv_builder *b = new_builder();
    merge(b, p, 0);
    profconv_profile *q = freeze(b);
    char *x = dump_text(p), *y = dump_text(q);
    assert_string_equal(x, y);
    test_free(x);
    test_free(y);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

static void weight_is_repetition(void **state) {
    (void)state;
    profconv_profile *p = scenario_profile();
    profconv_builder *weighted = new_builder(), *repeated = new_builder();
    merge(weighted, p, 5);
    for (int i = 0; i < 5; i++)
        merge(repeated, p, 1);
    profconv_profile *x = freeze(weighted), *y = freeze(repeated);
    assert_same_counts(x, y);
    assert_int_equal(profconv_profile_total(x, 0), 5 * profconv_profile_total(p, 0));
    assert_int_equal(profconv_profile_total(x, 1), 5 * 3000);
    assert_int_equal(profconv_profile_branch(x, 0)->cycles, 5 * 77);
    assert_int_equal(profconv_profile_info(x)->duration_ns, 5000); /* durations are not weighted */
    assert_int_equal(profconv_profile_info(y)->duration_ns, 25000);
    profconv_note note;
    assert_int_equal(profconv_report_count(profconv_profile_report(x)), 1);
    assert_int_equal(profconv_report_get(profconv_profile_report(x), 0, &note), PROFCONV_OK);
    assert_string_equal(note.cause, "unmapped-address");
    assert_int_equal(note.weight, 5 * 2000); /* what was dropped counts as what was kept */
    profconv_profile_free(p);
    profconv_profile_free(x);
    profconv_profile_free(y);
}

static void products_saturate(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_sample_type t = {0, S(b, "v"), 0, 0, 0};
    profconv_builder_sample_type(b, &t);
    const int64_t values[2] = {INT64_MAX / 2, INT64_MIN / 2}, exact = -3;
    profconv_id location[3];
    for (uint64_t i = 0; i < 3; i++)
        location[i] = profconv_builder_address_location(b, 0, i + 1, 0);
    for (int i = 0; i < 2; i++)
        profconv_builder_sample(b, profconv_builder_stack(b, 0, location[i]), 0, 0, &values[i], 1);
    profconv_builder_sample(b, 0, 0, 0, &exact, 1);
    profconv_builder_branch(b, location[0], location[1], UINT64_MAX / 2, 1, 0);
    profconv_profile *p = freeze(b);
    b = new_builder();
    merge(b, p, 3);
    profconv_profile *q = freeze(b);
    assert_true(profconv_profile_sample_value(q, 0, 0) == INT64_MAX);
    assert_true(profconv_profile_sample_value(q, 1, 0) == INT64_MIN);
    assert_true(profconv_profile_sample_value(q, 2, 0) == -9);
    assert_true(profconv_profile_branch(q, 0)->count == UINT64_MAX);
    assert_int_equal(profconv_profile_branch(q, 0)->mispredicted, 3);
    profconv_note note;
    assert_int_equal(profconv_report_get(profconv_profile_report(q), 0, &note), PROFCONV_OK);
    assert_string_equal(note.cause, "value-saturated");
    assert_int_equal(note.count, 3);
    b = new_builder();
    merge(b, p, 2); /* the largest that fits on the negative side */
    profconv_profile_free(q);
    q = freeze(b);
    assert_true(profconv_profile_sample_value(q, 1, 0) == INT64_MIN);
    assert_true(profconv_profile_sample_value(q, 0, 0) == INT64_MAX - 1);
    assert_int_equal(profconv_report_count(profconv_profile_report(q)), 0);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

/* One sample at file offset `offset` of `file`, in a mapping at `start`. */
static profconv_profile *recording(uint64_t start, uint64_t limit, uint64_t file_offset, const char *build_id,
                                   const uint64_t *offsets, size_t count, uint32_t kind) {
    profconv_builder *b = new_builder();
    profconv_mapping m = {start, limit, file_offset, 0, S(b, "/lib/x.so"), S(b, build_id), 0, kind, 0, 0};
    profconv_sample_type t = {0, S(b, "samples"), S(b, "count"), 0, PROFCONV_ROLE_COUNT};
    profconv_builder_sample_type(b, &t);
    profconv_id mapping = profconv_builder_mapping(b, &m);
    for (size_t i = 0; i < count; i++) {
        const int64_t value = (int64_t)i + 1;
        profconv_id l = profconv_builder_address_location(b, mapping, offsets[i] - file_offset + start, 0);
        profconv_builder_sample(b, profconv_builder_stack(b, 0, l), 0, 0, &value, 1);
        profconv_builder_address(b, l, 1);
    }
    return freeze(b);
}

static profconv_profile *merged(profconv_profile *const *profiles, const int *order, size_t count) {
    profconv_builder *b = new_builder();
    for (size_t i = 0; i < count; i++)
        merge(b, profiles[order[i]], 1 + (uint64_t)order[i]);
    return freeze(b);
}

static void every_address_is_inside(const profconv_profile *p) {
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LOCATION); i++) {
        const profconv_location *l = profconv_profile_location(p, i);
        const profconv_mapping *m = profconv_profile_mapping(p, l->mapping);
        assert_true(l->mapping == 0 || (l->address >= m->start && (m->limit == 0 || l->address < m->limit)));
    }
}

/* Address space randomisation: three runs, three places, one of them seeing other parts of the file. */
static void runs_are_rebased_and_commute(void **state) {
    (void)state;
    const uint64_t low[2] = {0x1010, 0x1020}, high[3] = {0x1010, 0x2fff, 0x2000}, wide[2] = {0x800, 0x5000};
    profconv_profile *p[4] = {
        recording(0x1000, 0x2000, 0x1000, "abcd", low, 2, PROFCONV_MAPPING_LIBRARY),
        recording(0x7f0000001000, 0x7f0000003000, 0x1000, "abcd", high, 3, PROFCONV_MAPPING_LIBRARY),
        recording(0x7e0000000800, 0x7e0000006000, 0x800, "abcd", wide, 2, PROFCONV_MAPPING_LIBRARY),
        scenario_profile()};
    const int orders[4][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    profconv_profile *first = merged(p, orders[0], 4);
    const profconv_mapping *m = profconv_profile_mapping(first, 1);
    /* none, the library, two of the scenario */
    assert_int_equal(profconv_profile_rows(first, PROFCONV_TABLE_MAPPING), 4);
    assert_true(m->start == 0x800 && m->file_offset == 0x800 && m->limit == 0x6000);
    /* 0x1010 is in two recordings: value 1 with weight 1, and with weight 2 */
    int found = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(first, PROFCONV_TABLE_SAMPLE); i++) {
        profconv_id s = profconv_profile_sample_stack(first, i);
        const profconv_location *l = profconv_profile_location(first, profconv_profile_stack(first, s)->location);
        if (l->mapping == 1 && l->address == 0x1010) {
            assert_int_equal(profconv_profile_sample_value(first, i, 0), 3);
            found++;
        }
    }
    assert_int_equal(found, 1);
    every_address_is_inside(first);
    for (int i = 1; i < 4; i++) {
        profconv_profile *other = merged(p, orders[i], 4);
        assert_same_counts(first, other);
        every_address_is_inside(other);
        profconv_profile_free(other);
    }
    profconv_profile_free(first);
    for (int i = 0; i < 4; i++)
        profconv_profile_free(p[i]);
}

static void assert_mappings(profconv_profile *a, profconv_profile *b, uint32_t expected) {
    profconv_profile *const p[2] = {a, b};
    const int order[2] = {0, 1};
    profconv_profile *q = merged(p, order, 2);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_MAPPING), expected + 1);
    every_address_is_inside(q);
    profconv_profile_free(q);
    profconv_profile_free(a);
    profconv_profile_free(b);
}

static void images_unite_only_when_the_same(void **state) {
    (void)state;
    const uint64_t at[1] = {0x1010};
    const uint32_t lib = PROFCONV_MAPPING_LIBRARY, jit = PROFCONV_MAPPING_JIT;
#define R(start, limit, offset, id, kind) recording(start, limit, offset, id, at, 1, kind)
    assert_mappings(R(0x1000, 0x2000, 0x1000, "a", lib), R(0x1000, 0x2000, 0x1000, "b", lib), 2);
    assert_mappings(R(0x1000, 0x2000, 0x1000, "a", lib), R(0x1000, 0x2000, 0x1000, "", lib), 2);
    assert_mappings(R(0x1000, 0x2000, 0x1000, "", lib), R(0x91000, 0x92000, 0x1000, "", lib), 1); /* by name */
    assert_mappings(R(0x1000, 0x2000, 0x1000, "a", lib), R(0x1000, 0x2000, 0x1000, "a", jit), 2);
    assert_mappings(R(0x1000, 0x2000, 0x1000, "a", jit), R(0x1000, 0x2000, 0x1000, "a", jit), 1);
    assert_mappings(R(0x1000, 0x2000, 0x1000, "a", jit), R(0x91000, 0x92000, 0x1000, "a", jit), 2);
    assert_mappings(R(0x1000, 0, 0x1000, "a", lib), R(0x91000, 0, 0x1000, "a", lib), 2); /* extent unknown: not moved */
    assert_mappings(R(0x1000, 0, 0x1000, "a", lib), R(0x1000, 0x2000, 0x1000, "a", lib), 1);
    assert_mappings(R(0x1000, 0x1011, 0x1000, "a", lib), R(0x1000, 0, 0x1000, "a", lib), 1);
    /* To move the second by the constant would pass address 0 or the end of the address space. */
    assert_mappings(R(0x10, 0x30, 0x1000, "a", lib), R(0x91000, 0x92000, 0x800, "a", lib), 2);
    assert_mappings(R(0xfffffffffffff000, 0xfffffffffffff100, 0x1000, "a", lib),
                    R(0x91000, 0x99000, 0x1000, "a", lib), 2);
#undef R
}

static profconv_profile *kernel(uint64_t start, uint64_t reference, const char *build_id, uint64_t offset) {
    profconv_builder *b = new_builder();
    profconv_mapping m = {start, start + 0x1000000, start, reference, S(b, "[kernel.kallsyms]"), S(b, build_id),
                          reference ? S(b, "_text") : 0, PROFCONV_MAPPING_KERNEL, 0, 0};
    profconv_id l = profconv_builder_address_location(b, profconv_builder_mapping(b, &m), start + offset, 0);
    profconv_builder_address(b, l, 7);
    return freeze(b);
}

static void kernels_follow_their_reference(void **state) {
    (void)state;
    const uint64_t base = 0xffffffff81000000, moved = 0xffffffffa2000000;
    profconv_builder *b = new_builder();
    profconv_profile *p = kernel(base, base, "k", 0x123), *q = kernel(moved, moved, "k", 0x123);
    merge(b, p, 1);
    merge(b, q, 1);
    profconv_profile *r = freeze(b);
    assert_int_equal(profconv_profile_rows(r, PROFCONV_TABLE_MAPPING), 2);
    assert_int_equal(profconv_profile_rows(r, PROFCONV_TABLE_ADDRESS), 1);
    assert_int_equal(profconv_profile_address(r, 0)->count, 14);
    assert_true(profconv_profile_location(r, 1)->address == base + 0x123);
    profconv_profile_free(p);
    profconv_profile_free(q);
    profconv_profile_free(r);
    assert_mappings(kernel(base, base, "", 1), kernel(moved, moved, "", 1), 2); /* maybe not the same kernel */
    assert_mappings(kernel(base, base, "", 1), kernel(base, base, "", 2), 1);
    assert_mappings(kernel(base, base, "k", 1), kernel(moved, 0, "k", 1), 2); /* moved by how much? */
}

static void a_location_without_address_stays(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_mapping m = {0x91000, 0x92000, 0x1000, 0, S(b, "/lib/x.so"), S(b, "a"), 0, PROFCONV_MAPPING_LIBRARY, 0, 0};
    profconv_function f = {0, S(b, "f"), 0, 0, 0};
    profconv_line line = {1, 0, profconv_builder_function(b, &f), 0};
    profconv_location l = {0, profconv_builder_mapping(b, &m), 0, 0, 0};
    profconv_builder_location(b, &l, &line, 1);
    profconv_profile *p = freeze(b);
    const uint64_t at[1] = {0x1010};
    profconv_profile *q = recording(0x1000, 0x2000, 0x1000, "a", at, 1, PROFCONV_MAPPING_LIBRARY);
    b = new_builder();
    merge(b, q, 1);
    merge(b, p, 1);
    profconv_profile *r = freeze(b);
    assert_int_equal(profconv_profile_rows(r, PROFCONV_TABLE_MAPPING), 2);
    assert_int_equal(profconv_profile_location(r, 2)->address, 0);
    assert_int_equal(profconv_profile_location(r, 2)->mapping, 1);
    profconv_profile_free(p);
    profconv_profile_free(q);
    profconv_profile_free(r);
}

static profconv_profile *typed(const char *event, const char *name, int twice) {
    profconv_builder *b = new_builder();
    profconv_sample_type t = {event ? 100 : 0, S(b, name), S(b, "count"), S(b, event), PROFCONV_ROLE_WEIGHT};
    const int64_t values[2] = {1, 10};
    profconv_builder_sample_type(b, &t);
    if (twice)
        profconv_builder_sample_type(b, &t);
    profconv_builder_sample(b, 0, 0, 0, values, twice ? 2 : 1);
    return freeze(b);
}

static void types_unite_by_name_unit_and_event(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    profconv_profile *p[5] = {typed(NULL, "n", 0), typed("x", "n", 0), typed("y", "n", 0), typed("x", "other", 0),
                              typed("x", "n", 1)};
    for (int i = 0; i < 5; i++)
        merge(b, p[i], 1);
    profconv_profile *q = freeze(b);
    /* n (of x, after the second), n of y, other, and the second n of x in one profile, which is a column of its own */
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_SAMPLE_TYPE), 4);
    assert_int_equal(profconv_profile_total(q, 0), 3);
    assert_int_equal(profconv_profile_total(q, 1), 1);
    assert_int_equal(profconv_profile_total(q, 2), 1);
    assert_int_equal(profconv_profile_total(q, 3), 10);
    assert_string_equal(str(q, profconv_profile_sample_type(q, 0)->event), "x");
    assert_int_equal(profconv_profile_sample_type(q, 0)->period, 100);
    profconv_profile_free(q);
    for (int i = 0; i < 5; i++)
        profconv_profile_free(p[i]);
}

static profconv_profile *facts(int64_t time, int64_t period, const char *url, const char *const comments[2],
                               const char *host) {
    profconv_builder *b = new_builder();
    profconv_info info = {0};
    info.time_ns = time;
    info.duration_ns = 10;
    info.period = period;
    info.doc_url = S(b, url);
    info.source_flags = time ? PROFCONV_SOURCES_FS : PROFCONV_SOURCES_MD5;
    profconv_builder_set_info(b, &info);
    for (int i = 0; i < 2; i++)
        profconv_builder_comment(b, S(b, comments[i]));
    profconv_builder_attribute(b, "hostname", host, strlen(host));
    profconv_builder_attribute(b, host, "1", 1);
    return freeze(b);
}

static void facts_are_combined(void **state) {
    (void)state;
    const char *const one[2] = {"a", "b"}, *const two[2] = {"b", "c"};
    profconv_profile *p[3] = {facts(0, 5, "", one, "h1"), facts(200, 9, "u1", two, "h2"),
                              facts(100, 7, "u2", one, "h1")};
    profconv_builder *b = new_builder();
    for (int i = 0; i < 3; i++)
        merge(b, p[i], 3);
    profconv_profile *q = freeze(b);
    const profconv_info *info = profconv_profile_info(q);
    assert_int_equal(info->time_ns, 100);
    assert_int_equal(info->duration_ns, 30);
    assert_int_equal(info->period, 9);
    assert_string_equal(str(q, info->doc_url), "u1");
    assert_int_equal(info->source_flags, PROFCONV_SOURCES_FS | PROFCONV_SOURCES_MD5);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_COMMENT), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(str(q, profconv_profile_comment(q, i))[0], "abc"[i]);
    assert_int_equal(profconv_profile_rows(q, PROFCONV_TABLE_ATTRIBUTE), 3);
    assert_string_equal(profconv_profile_find_attribute(q, "hostname").data, "h1");
    assert_string_equal(profconv_profile_find_attribute(q, "h2").data, "1");
    profconv_profile_free(q);
    for (int i = 0; i < 3; i++)
        profconv_profile_free(p[i]);
}

static void flags_of_united_mappings(void **state) {
    (void)state;
    profconv_profile *p[3];
    const uint32_t flags[3] = {PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_HAS_FILENAMES,
                               PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_MAIN, PROFCONV_MAPPING_MAIN};
    for (int i = 0; i < 3; i++) {
        profconv_builder *b = new_builder();
        profconv_mapping m = {0, 10, 0, 0, S(b, i == 2 ? "other" : "same"), 0, 0, 0, flags[i], 0};
        profconv_builder_mapping(b, &m);
        p[i] = freeze(b);
    }
    profconv_builder *b = new_builder();
    for (int i = 0; i < 3; i++)
        merge(b, p[i], 1);
    profconv_profile *q = freeze(b);
    assert_int_equal(profconv_profile_mapping(q, 1)->flags, PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_MAIN);
    assert_int_equal(profconv_profile_mapping(q, 2)->flags, 0); /* one main binary */
    profconv_profile_free(q);
    for (int i = 0; i < 3; i++)
        profconv_profile_free(p[i]);
}

static void errors_stay(void **state) {
    (void)state;
    profconv_profile *p = scenario_profile(), *q = NULL;
    profconv_limits limits = {sizeof limits, 0, 0, 0, 0, 8, 0};
    profconv_builder *b = NULL;
    profconv_error error = {0};
    assert_int_equal(profconv_builder_new(&b, NULL, &limits, NULL), PROFCONV_OK);
    assert_int_equal(profconv_merge(b, p, 1, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_string"));
    assert_int_equal(profconv_merge(b, p, 1, NULL), PROFCONV_E_LIMIT);
    profconv_builder_free(b);
    b = new_builder();
    assert_int_equal(profconv_builder_freeze(b, &q, NULL), PROFCONV_OK);
    assert_int_equal(profconv_merge(b, p, 1, &error), PROFCONV_E_INVALID);
    profconv_builder_free(b);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

static profconv_profile *looked_up(uint32_t flags) {
    profconv_builder *b = new_builder();
    profconv_mapping app = {0};
    app.file = S(b, "/bin/app");
    profconv_builder_address(b, profconv_builder_address_location(b, profconv_builder_mapping(b, &app), 0x10, flags), 1);
    return freeze(b);
}

/* "No symbol" holds for the sum when it holds for both. */
static void what_was_looked_up(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        profconv_profile *x = looked_up(i & 1 ? PROFCONV_LOCATION_NO_SYMBOL : 0);
        profconv_profile *y = looked_up(i & 2 ? PROFCONV_LOCATION_NO_SYMBOL : 0);
        profconv_builder *b = new_builder();
        merge(b, x, 1);
        merge(b, y, 1);
        profconv_profile *sum = freeze(b);
        assert_int_equal(profconv_profile_rows(sum, PROFCONV_TABLE_ADDRESS), 1);
        assert_int_equal(profconv_profile_location(sum, profconv_profile_address(sum, 0)->location)->flags,
                         i == 3 ? PROFCONV_LOCATION_NO_SYMBOL : 0);
        profconv_profile_free(sum);
        profconv_profile_free(x);
        profconv_profile_free(y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_profile_is_unchanged),
        cmocka_unit_test(what_was_looked_up),
        cmocka_unit_test(weight_is_repetition),
        cmocka_unit_test(products_saturate),
        cmocka_unit_test(runs_are_rebased_and_commute),
        cmocka_unit_test(images_unite_only_when_the_same),
        cmocka_unit_test(kernels_follow_their_reference),
        cmocka_unit_test(a_location_without_address_stays),
        cmocka_unit_test(types_unite_by_name_unit_and_event),
        cmocka_unit_test(facts_are_combined),
        cmocka_unit_test(flags_of_united_mappings),
        cmocka_unit_test(errors_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
