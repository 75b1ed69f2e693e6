/* SPDX-License-Identifier: MIT
 *
 * What holds for adding up profiles, on every fixture of every format: N copies are the N-fold, a weight is that many copies, and
 * neither the order nor the grouping of inputs changes a count. Profiles are compared as bags of rows that know their names, not
 * their ids: addresses as offsets in their files, since the coordinates are those of the mapping met first.
 *
 * Header fields that depend on the order are left out: comments and facts, which of several known texts is taken, the order of
 * tables and columns, the coordinates of mappings.
 */
#include <profconv/transform.h>

#include "libprofconv/base/hash.h"
#include "tests/support/fixtures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

typedef struct row {
    uint64_t key;
    uint64_t values[3];
} row;

typedef struct bag {
    row *rows;
    size_t count, capacity;
} bag;

static void put(bag *b, uint64_t key, uint64_t x, uint64_t y, uint64_t z) {
    if (!x && !y && !z)
        return; /* rows of nothing may stay or go */
    if (b->count == b->capacity) {
        b->capacity = b->capacity ? 2 * b->capacity : 256;
        b->rows = (row *)realloc(b->rows, b->capacity * sizeof *b->rows);
        assert_non_null(b->rows);
    }
    const row r = {key, {x, y, z}};
    b->rows[b->count++] = r;
}

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const row *)a)->key, y = ((const row *)b)->key;
    return x < y ? -1 : x > y;
}

/* Equal keys add up. */
static void settle(bag *b) {
    size_t n = 0;
    if (b->count)
        qsort(b->rows, b->count, sizeof *b->rows, by_key);
    for (size_t i = 0; i < b->count; i++) {
        if (n && b->rows[n - 1].key == b->rows[i].key) {
            for (int k = 0; k < 3; k++)
                b->rows[n - 1].values[k] += b->rows[i].values[k];
        } else {
            b->rows[n++] = b->rows[i];
        }
    }
    b->count = n;
}

#define MIX(a, b) pfc_hash_mix((a), (uint64_t)(b))

static uint64_t text(const profconv_profile *p, profconv_id id) {
    profconv_string s = profconv_profile_string(p, id);
    return pfc_hash_bytes(s.data, s.size);
}

static uint64_t function_key(const profconv_profile *p, profconv_id id) {
    const profconv_function *f = profconv_profile_function(p, id);
    return MIX(MIX(MIX(text(p, f->name), text(p, f->linkage_name)), text(p, f->file)), f->start_line);
}

static uint64_t location_key(const profconv_profile *p, profconv_id id) {
    const profconv_location *l = profconv_profile_location(p, id);
    const profconv_mapping *m = profconv_profile_mapping(p, l->mapping);
    uint64_t image = m->build_id ? text(p, m->build_id) : text(p, m->file);
    uint64_t relation = m->kind == PROFCONV_MAPPING_KERNEL ? m->reference_address : m->start - m->file_offset;
    if (m->kind == PROFCONV_MAPPING_JIT || m->kind == PROFCONV_MAPPING_ANONYMOUS || m->kind == PROFCONV_MAPPING_GUEST ||
        (!m->build_id && !m->file))
        relation = 0; /* nothing but the address itself says where that is */
    uint64_t address = l->address == 0 && m->start != 0 ? 0 : l->address - relation;
    uint64_t key = MIX(MIX(MIX(MIX(image, m->kind), m->pid), address), l->flags);
    for (uint32_t k = 0; k < l->line_count; k++) {
        const profconv_line *line = profconv_profile_line(p, id, k);
        key = MIX(MIX(MIX(MIX(key, function_key(p, line->function)), line->line), line->column), line->discriminator);
    }
    return key;
}

static uint64_t set_key(const profconv_profile *p, profconv_id id) {
    const profconv_label_set *set = profconv_profile_label_set(p, id);
    uint64_t key = 1;
    for (uint32_t i = 0; i < set->count; i++) {
        const profconv_label *l = profconv_profile_label(p, profconv_profile_label_item(p, set->first + i));
        key = MIX(MIX(MIX(MIX(key, text(p, l->key)), text(p, l->string)), text(p, l->unit)), l->number);
    }
    return key;
}

static void sample_rows(const profconv_profile *p, bag *b) {
    uint32_t stacks = profconv_profile_rows(p, PROFCONV_TABLE_STACK);
    uint64_t *keys = (uint64_t *)calloc(stacks, sizeof *keys);
    assert_non_null(keys);
    for (uint32_t i = 1; i < stacks; i++) {
        const profconv_stack *s = profconv_profile_stack(p, i);
        keys[i] = MIX(MIX(keys[s->parent], 2), location_key(p, s->location));
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        uint64_t key = MIX(keys[profconv_profile_sample_stack(p, i)], set_key(p, profconv_profile_sample_label_set(p, i)));
        for (uint32_t k = 0; k < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); k++) {
            const profconv_sample_type *t = profconv_profile_sample_type(p, k);
            put(b, MIX(MIX(key, text(p, t->name)), text(p, t->unit)), (uint64_t)profconv_profile_sample_value(p, i, k), 0, 0);
        }
    }
    free(keys);
}

static void branch_rows(const profconv_profile *p, bag *b) {
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *r = profconv_profile_branch(p, i);
        put(b, MIX(MIX(3, location_key(p, r->from)), location_key(p, r->to)), r->count, r->mispredicted, r->cycles);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        put(b, MIX(MIX(4, location_key(p, r->begin)), location_key(p, r->end)), r->count, 0, 0);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++) {
        const profconv_address *r = profconv_profile_address(p, i);
        put(b, MIX(5, location_key(p, r->location)), r->count, 0, 0);
    }
}

static uint64_t *keys_of(const profconv_profile *p, profconv_table table) {
    uint64_t *keys = (uint64_t *)calloc(profconv_profile_rows(p, table), sizeof *keys);
    assert_non_null(keys);
    return keys;
}

static void source_rows(const profconv_profile *p, bag *b) {
    uint64_t *contexts = keys_of(p, PROFCONV_TABLE_CONTEXT), *sources = keys_of(p, PROFCONV_TABLE_SOURCE);
    uint64_t *bodies = keys_of(p, PROFCONV_TABLE_SOURCE_BODY);
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_CONTEXT); i++) {
        const profconv_context *c = profconv_profile_context(p, i);
        contexts[i] = MIX(MIX(MIX(MIX(contexts[c->parent], 6), text(p, c->name)), c->line), c->discriminator);
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i++) {
        const profconv_source *s = profconv_profile_source(p, i);
        uint64_t key = MIX(MIX(sources[s->parent], contexts[s->context]), text(p, s->name));
        sources[i] = MIX(MIX(MIX(key, s->line), s->discriminator), 7);
        put(b, sources[i], s->total, s->head, 0);
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY); i++) {
        const profconv_source_body *r = profconv_profile_source_body(p, i);
        bodies[i] = MIX(MIX(MIX(sources[r->source], r->line), r->discriminator), 8);
        put(b, bodies[i], r->count, 0, 0);
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); i++) {
        const profconv_source_target *r = profconv_profile_source_target(p, i);
        put(b, MIX(MIX(bodies[r->body], text(p, r->name)), 9), r->count, 0, 0);
    }
    free(contexts);
    free(sources);
    free(bodies);
}

static bag bag_of(const profconv_profile *p) {
    bag b = {NULL, 0, 0};
    sample_rows(p, &b);
    branch_rows(p, &b);
    source_rows(p, &b);
    settle(&b);
    return b;
}

/* Frees both profiles. */
static void same(profconv_profile *p, profconv_profile *q, const char *what, const char *label) {
    bag a = bag_of(p), b = bag_of(q);
    assert_int_equal(profconv_profile_check(p, NULL), PROFCONV_OK);
    assert_int_equal(profconv_profile_check(q, NULL), PROFCONV_OK);
    if (a.count != b.count)
        fail_msg("%s: %s: %zu rows and %zu", label, what, a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        if (memcmp(&a.rows[i], &b.rows[i], sizeof(row)) != 0)
            fail_msg("%s: %s: row %zu differs: %llu and %llu", label, what, i, (unsigned long long)a.rows[i].values[0],
                     (unsigned long long)b.rows[i].values[0]);
    }
    free(a.rows);
    free(b.rows);
    profconv_profile_free(p);
    profconv_profile_free(q);
}

/* ---- profiles ---- */

#define MOST 1000

typedef struct all {
    profconv_profile *profiles[MOST];
    char labels[MOST][300];
    size_t count;
} all;

/* Values near the ends of their types saturate, and saturated sums depend on their order. */
static int is_small(const profconv_profile *p) {
    int small = 1;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        for (uint32_t k = 0; k < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); k++) {
            int64_t v = profconv_profile_sample_value(p, i, k);
            small &= v < INT64_MAX / 1000 && v > INT64_MIN / 1000;
        }
    }
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i++)
        small &= profconv_profile_source(p, i)->total < INT64_MAX / 1000;
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY); i++)
        small &= profconv_profile_source_body(p, i)->count < INT64_MAX / 1000;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++)
        small &= profconv_profile_branch(p, i)->count < INT64_MAX / 1000;
    return small;
}

static int setup(void **state) {
    static all everything;
    test_fixtures fixtures;
    profconv_registry *registry = NULL;
    if (profconv_registry_new(&registry, NULL, NULL) ||
        test_fixtures_load(&fixtures, registry, TEST_SOURCE_DIR, test_reduced() ? 20000 : 200000))
        return -1;
    for (size_t i = 0; i < fixtures.count && everything.count < MOST; i++) {
        profconv_input *input = NULL;
        profconv_profile *p = NULL;
        profconv_convert_options options = {.struct_size = sizeof options, .from = fixtures.items[i].format};
        if (profconv_input_open_memory(&input, fixtures.items[i].data, fixtures.items[i].size, NULL, NULL) == PROFCONV_OK &&
            profconv_read(registry, input, &options, &p, NULL) == PROFCONV_OK && is_small(p)) {
            snprintf(everything.labels[everything.count], 300, "%s", fixtures.items[i].label);
            everything.profiles[everything.count++] = p;
        } else {
            profconv_profile_free(p);
        }
        profconv_input_free(input);
    }
    test_fixtures_free(&fixtures);
    profconv_registry_free(registry);
    *state = &everything;
    return everything.count > 50 ? 0 : -1;
}

static int teardown(void **state) {
    all *e = (all *)*state;
    for (size_t i = 0; i < e->count; i++)
        profconv_profile_free(e->profiles[i]);
    return 0;
}

/* The sum of up to three, NULL after the last. */
static profconv_profile *sum(const profconv_profile *a, const profconv_profile *b, const profconv_profile *c, uint64_t weight) {
    const profconv_profile *parts[3] = {a, b, c};
    profconv_builder *builder = NULL;
    profconv_profile *out = NULL;
    assert_int_equal(profconv_builder_new(&builder, NULL, NULL, NULL), PROFCONV_OK);
    for (int i = 0; i < 3 && parts[i]; i++)
        assert_int_equal(profconv_merge(builder, parts[i], weight, NULL), PROFCONV_OK);
    assert_int_equal(profconv_builder_freeze(builder, &out, NULL), PROFCONV_OK);
    profconv_builder_free(builder);
    return out;
}

static profconv_profile *scaled(const profconv_profile *p, int64_t by, uint64_t divisor) {
    profconv_profile *out = NULL;
    assert_int_equal(profconv_scale(p, by, divisor, &out, NULL), PROFCONV_OK);
    return out;
}

/* Source profiles of different kinds are refused, and of functions with different checksums the first ones stay. */
static int can_add(const profconv_profile *a, const profconv_profile *b) {
    const profconv_profile *both[2] = {a, b};
    int sources = 1, checksums = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t rows = profconv_profile_rows(both[i], PROFCONV_TABLE_SOURCE);
        sources &= rows > 1;
        for (uint32_t k = 1; k < rows; k++)
            checksums |= (profconv_profile_source(both[i], k)->flags & PROFCONV_SOURCE_CHECKSUM) != 0;
    }
    uint32_t differ = profconv_profile_info(a)->source_flags ^ profconv_profile_info(b)->source_flags;
    return !sources || (!checksums && !(differ & (PROFCONV_SOURCES_PROBES | PROFCONV_SOURCES_CONTEXT)));
}

/* ---- the laws ---- */

static void copies_are_multiples(void **state) {
    const all *e = (const all *)*state;
    for (size_t i = 0; i < e->count; i++) {
        const profconv_profile *p = e->profiles[i];
        same(sum(p, p, p, 1), scaled(p, 3, 1), "three copies, three times", e->labels[i]);
        same(sum(p, p, NULL, 5), scaled(p, 10, 1), "twice five, ten times", e->labels[i]);
        same(scaled(p, 21, 7), sum(p, NULL, NULL, 3), "times 21 / 7, three times", e->labels[i]);
    }
}

static void order_and_grouping(void **state) {
    const all *e = (const all *)*state;
    size_t compared = 0;
    for (size_t i = 0; i < e->count; i++) {
        /* Neighbours are mostly of one format; the third is any other. */
        const profconv_profile *a = e->profiles[i], *b = e->profiles[(i + 1) % e->count];
        const profconv_profile *c = e->profiles[(i * 37 + 11) % e->count];
        if (!can_add(a, b) || !can_add(b, c) || !can_add(a, c))
            continue;
        compared++;
        profconv_profile *ab = sum(a, b, NULL, 1), *bc = sum(b, c, NULL, 1);
        same(sum(ab, c, NULL, 1), sum(a, bc, NULL, 1), "grouping", e->labels[i]);
        same(sum(a, b, c, 1), sum(c, b, a, 1), "order", e->labels[i]);
        same(sum(ab, c, NULL, 1), sum(a, b, c, 1), "at once", e->labels[i]);
        profconv_profile_free(ab);
        profconv_profile_free(bc);
    }
    assert_true(compared > e->count / 2);
}

static void headers(void **state) {
    const all *e = (const all *)*state;
    for (size_t i = 0; i < e->count; i++) {
        const profconv_profile *a = e->profiles[i], *b = e->profiles[(i * 37 + 11) % e->count];
        if (!can_add(a, b))
            continue;
        profconv_profile *ab = sum(a, b, NULL, 1), *ba = sum(b, a, NULL, 1);
        const profconv_info *x = profconv_profile_info(ab), *y = profconv_profile_info(ba);
        assert_int_equal(x->time_ns, y->time_ns);
        assert_int_equal(x->duration_ns, y->duration_ns);
        assert_int_equal(x->period, y->period);
        assert_int_equal(x->source_flags, y->source_flags);
        assert_int_equal(profconv_profile_rows(ab, PROFCONV_TABLE_COMMENT), profconv_profile_rows(ba, PROFCONV_TABLE_COMMENT));
        profconv_profile_free(ab);
        profconv_profile_free(ba);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_multiples),
        cmocka_unit_test(order_and_grouping),
        cmocka_unit_test(headers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
