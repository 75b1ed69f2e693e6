/* SPDX-License-Identifier: MIT
 *
 * The life of a builder: made, failing for good at the first error, frozen into a profile, thawed again.
 *
 * The model, its pfc_mem included, moves as a whole between builder and profile. Both handles are blocks of
 * that same pfc_mem, so the accounting stays exact through every move.
 */
#include "libprofconv/model/build.h"

#include "libprofconv/base/budget.h"
#include "libprofconv/base/jitdump.h"
#include "libprofconv/base/struct.h"
#include "libprofconv/base/unwind.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- sticky errors ---- */

void pfc_builder_fail(profconv_builder *builder, int status, const char *format, ...) {
    if (pfc_stopped(builder))
        return;
    char text[sizeof builder->error.message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    profconv_error_set(&builder->error, status, PROFCONV_NO_OFFSET, 0, "%s", text);
}

PFC_COLD int pfc_builder_fail_memory(profconv_builder *builder) {
    profconv_error said;
    int status = pfc_mem_error(&builder->model.mem, &said);
    pfc_builder_fail(builder, status, "%s", said.message);
    return builder->error.status;
}

PFC_COLD int pfc_builder_fail_rows(profconv_builder *builder, const char *table) {
    pfc_builder_fail(builder, PROFCONV_E_LIMIT, "the %s table is full: %lu rows", table, (unsigned long)PFC_MAX_ROWS);
    return builder->error.status;
}

PFC_COLD int pfc_builder_fail_id(profconv_builder *builder, const char *what, profconv_id id) {
    pfc_builder_fail(builder, PROFCONV_E_INVALID, "%s %lu is out of range", what, (unsigned long)id);
    return builder->error.status;
}

int profconv_builder_status(const profconv_builder *builder, profconv_error *error) {
    if (builder->error.status && error)
        *error = builder->error;
    return builder->error.status;
}

/* ---- what readers are lent ---- */

void pfc_builder_set_unwinder(profconv_builder *builder, const pfc_unwinder_type *type) { builder->unwinder = type; }

const pfc_unwinder_type *pfc_builder_unwinder(const profconv_builder *builder) { return builder->unwinder; }

void pfc_builder_set_jitdump(profconv_builder *builder, const pfc_jitdump_type *type) { builder->jitdump = type; }

const pfc_jitdump_type *pfc_builder_jitdump(const profconv_builder *builder) { return builder->jitdump; }

/* ---- the share of stacks ---- */

int pfc_builder_fits(profconv_builder *builder, int (*reserve)(profconv_builder *builder), int *full) {
    pfc_mem *mem = &builder->model.mem;
    if (*full)
        return 0;
    uint64_t limit = mem->limit;
    mem->limit = limit / 2;
    int status = reserve(builder);
    mem->limit = limit;
    if (status == PROFCONV_E_LIMIT && !pfc_stopped(builder)) {
        mem->failed = 0;
        *full = 1;
    } else if (status) {
        pfc_builder_fail_memory(builder);
    }
    return status == PROFCONV_OK;
}

/* ---- indexes ---- */

int pfc_builder_index(profconv_builder *builder, pfc_index *index, uint64_t hash, uint32_t slot, pfc_rehash rehash) {
    pfc_model *m = &builder->model;
    return pfc_index_insert(&m->mem, index, hash, slot, rehash, m) ? pfc_builder_fail_memory(builder) : PROFCONV_OK;
}

/* Nonzero when a row with this hash is there. */
static int has_hash(const profconv_builder *b, const pfc_index *index, uint64_t hash, pfc_rehash rehash) {
    pfc_probe probe = pfc_index_start(index, hash);
    uint32_t slot;
    while ((slot = pfc_index_next(index, &probe)) != 0)
        if (rehash(&b->model, slot) == hash)
            return 1;
    return 0;
}

int pfc_builder_fill_first(profconv_builder *builder, pfc_index *index, uint32_t first, size_t end, pfc_rehash rehash) {
    for (size_t slot = first; slot < end; slot++) {
        uint64_t hash = rehash(&builder->model, (uint32_t)slot);
        if (!has_hash(builder, index, hash, rehash) && pfc_builder_index(builder, index, hash, (uint32_t)slot, rehash))
            return builder->error.status;
    }
    return PROFCONV_OK;
}

int pfc_builder_fill(profconv_builder *builder, pfc_index *index, uint32_t first, size_t end, pfc_rehash rehash) {
    for (size_t slot = first; slot < end; slot++)
        if (pfc_builder_index(builder, index, rehash(&builder->model, (uint32_t)slot), (uint32_t)slot, rehash))
            return builder->error.status;
    return PROFCONV_OK;
}

static void free_indexes(profconv_builder *b) {
    pfc_index *const all[] = {
        &b->index.strings,  &b->index.functions,     &b->index.mappings,       &b->index.locations,
        &b->index.stacks,   &b->index.labels,        &b->index.label_sets,     &b->index.samples,
        &b->index.branches, &b->index.ranges,        &b->index.addresses,      &b->index.sources,
        &b->index.contexts, &b->index.source_bodies, &b->index.source_targets, &b->index.symbols,
        &b->index.entries};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        pfc_index_free(&b->model.mem, all[i]);
}

/* ---- new and free ---- */

/* A zero row at the front of a table that has a none row. */
#define ADD_NONE(m, table)                                                                                             \
    (PFC_VEC_RESERVE(&(m)->mem, &(m)->table, 1)                                                                        \
         ? 0                                                                                                           \
         : (memset((m)->table.data, 0, sizeof *(m)->table.data), (m)->table.count = 1, 1))

static int add_none_rows(pfc_model *m) {
    return ADD_NONE(m, bytes) && ADD_NONE(m, strings) && ADD_NONE(m, functions) && ADD_NONE(m, mappings) &&
           ADD_NONE(m, locations) && ADD_NONE(m, lines) && ADD_NONE(m, stacks) && ADD_NONE(m, stack_depths) &&
           ADD_NONE(m, labels) && ADD_NONE(m, label_sets) && ADD_NONE(m, sources) && ADD_NONE(m, contexts) &&
           ADD_NONE(m, source_bodies) && ADD_NONE(m, source_targets);
}

int profconv_builder_new(profconv_builder **out, const profconv_allocator *allocator, const profconv_limits *limits,
                         profconv_error *error) {
    profconv_limits filled;
    profconv_allocator given;
    *out = NULL;
    int status = pfc_limits_copy(&filled, limits, error);
    if (!status)
        status = pfc_allocator_copy(&given, allocator, error);
    if (status)
        return status;
    /* A limit makes a budget, unless the allocator is one: what others hold beside the builder counts as well. */
    pfc_budget *budget = NULL;
    if (filled.max_memory != UINT64_MAX && !pfc_budget_of(allocator)) {
        status = pfc_budget_new(&budget, allocator ? &given : NULL, filled.max_memory, error);
        if (status)
            return status;
        given = pfc_budget_allocator(budget);
        allocator = &given;
    }
    pfc_mem mem;
    pfc_mem_init(&mem, allocator ? &given : NULL, filled.max_memory);
    profconv_builder *b = (profconv_builder *)pfc_alloc_zero(&mem, sizeof *b);
    if (!b)
        status = pfc_mem_error(&mem, error);
    pfc_budget_release(budget); /* from here on it lives by what the builder holds */
    if (!b)
        return status;
    b->model.mem = mem;
    b->model.limits = filled;
    status = profconv_report_new(&b->model.report, pfc_budget_base(&b->model.mem.allocator), error);
    if (!status && !add_none_rows(&b->model)) {
        pfc_builder_fail_memory(b);
        status = profconv_builder_status(b, error);
    }
    if (status) {
        profconv_builder_free(b);
        return status;
    }
    *out = b;
    return PROFCONV_OK;
}

void pfc_model_free(pfc_model *m) {
    pfc_mem *mem = &m->mem;
    profconv_report_free(m->report);
    m->report = NULL;
    for (size_t i = 0; i < m->values.count; i++)
        pfc_free(mem, m->values.data[i].data, m->values.data[i].capacity * sizeof(int64_t));
    PFC_VEC_FREE(mem, &m->bytes);
    PFC_VEC_FREE(mem, &m->strings);
    PFC_VEC_FREE(mem, &m->functions);
    PFC_VEC_FREE(mem, &m->mappings);
    PFC_VEC_FREE(mem, &m->locations);
    PFC_VEC_FREE(mem, &m->lines);
    PFC_VEC_FREE(mem, &m->stacks);
    PFC_VEC_FREE(mem, &m->stack_depths);
    PFC_VEC_FREE(mem, &m->labels);
    PFC_VEC_FREE(mem, &m->label_sets);
    PFC_VEC_FREE(mem, &m->label_items);
    PFC_VEC_FREE(mem, &m->sample_types);
    PFC_VEC_FREE(mem, &m->sample_stacks);
    PFC_VEC_FREE(mem, &m->sample_label_sets);
    PFC_VEC_FREE(mem, &m->values);
    PFC_VEC_FREE(mem, &m->branches);
    PFC_VEC_FREE(mem, &m->ranges);
    PFC_VEC_FREE(mem, &m->addresses);
    PFC_VEC_FREE(mem, &m->entries);
    PFC_VEC_FREE(mem, &m->sources);
    PFC_VEC_FREE(mem, &m->contexts);
    PFC_VEC_FREE(mem, &m->source_bodies);
    PFC_VEC_FREE(mem, &m->source_targets);
    PFC_VEC_FREE(mem, &m->symbols);
    PFC_VEC_FREE(mem, &m->comments);
    PFC_VEC_FREE(mem, &m->attributes);
}

void profconv_builder_free(profconv_builder *builder) {
    if (!builder)
        return;
    free_indexes(builder);
    pfc_model_free(&builder->model);
    pfc_mem mem = builder->model.mem;
    pfc_free(&mem, builder, sizeof *builder);
}

void profconv_profile_free(profconv_profile *profile) {
    if (!profile)
        return;
    pfc_model_free(&profile->model);
    pfc_mem mem = profile->model.mem;
    pfc_free(&mem, profile, sizeof *profile);
}

/* ---- small questions ---- */

int profconv_builder_verbatim(profconv_builder *builder) {
    const pfc_model *m = &builder->model;
    pfc_builder_add_waiting(builder);
    if (pfc_stopped(builder))
        return builder->error.status;
    if (m->functions.count > 1 || m->mappings.count > 1 || m->locations.count > 1 || m->sample_stacks.count > 0)
        return PROFCONV_E_INVALID;
    builder->model.verbatim = 1;
    builder->append = 1;
    return PROFCONV_OK;
}

profconv_report *profconv_builder_report(profconv_builder *builder) { return builder->model.report; }

const profconv_limits *profconv_builder_limits(const profconv_builder *builder) { return &builder->model.limits; }

void profconv_builder_memory(const profconv_builder *builder, uint64_t *live, uint64_t *peak) {
    if (live)
        *live = builder->model.mem.live;
    if (peak)
        *peak = builder->model.mem.peak;
}

pfc_model *pfc_builder_model(profconv_builder *builder) {
    pfc_builder_add_waiting(builder);
    return &builder->model;
}

/* ---- freeze ---- */

/* Gives back what growth left over, when it is more than an eighth. Failing to shrink is no failure; returns nonzero
 * when the capacity is now the count. */
static int shrink(pfc_mem *mem, void **data, size_t *capacity, size_t count, size_t size) {
    int failed = mem->failed;
    if (*capacity - count <= count / 8 || *capacity == 0)
        return 0;
    void *p = pfc_resize(mem, *data, *capacity * size, count * size);
    mem->failed = failed;
    if (!p && count)
        return 0;
    *data = p;
    *capacity = count;
    return 1;
}

#define SHRINK(m, v) shrink(&(m)->mem, (void **)(void *)&(v).data, &(v).capacity, (v).count, sizeof *(v).data)

static void shrink_all(pfc_model *m) {
    size_t samples = m->sample_stacks.count;
    SHRINK(m, m->bytes);
    SHRINK(m, m->strings);
    SHRINK(m, m->functions);
    SHRINK(m, m->mappings);
    SHRINK(m, m->locations);
    SHRINK(m, m->lines);
    SHRINK(m, m->stacks);
    SHRINK(m, m->labels);
    SHRINK(m, m->label_sets);
    SHRINK(m, m->label_items);
    SHRINK(m, m->sample_types);
    if (SHRINK(m, m->sample_stacks)) { /* the others only when this one did: see samples.c */
        SHRINK(m, m->sample_label_sets);
        for (size_t i = 0; i < m->values.count; i++)
            shrink(&m->mem, (void **)(void *)&m->values.data[i].data, &m->values.data[i].capacity, samples,
                   sizeof(int64_t));
    }
    SHRINK(m, m->values);
    SHRINK(m, m->branches);
    SHRINK(m, m->ranges);
    SHRINK(m, m->addresses);
    SHRINK(m, m->entries);
    SHRINK(m, m->sources);
    SHRINK(m, m->contexts);
    SHRINK(m, m->source_bodies);
    SHRINK(m, m->source_targets);
    SHRINK(m, m->symbols);
    SHRINK(m, m->comments);
    SHRINK(m, m->attributes);
}

static void note_shortened(profconv_builder *b) {
    pfc_model *m = &b->model;
    uint64_t count = b->shortened;
    size_t weight = m->sample_types.count - 1;
    for (size_t i = m->sample_types.count; i-- > 0;)
        if (m->sample_types.data[i].role == PROFCONV_ROLE_WEIGHT) {
            weight = i;
            break;
        }
    for (size_t i = 0; i < m->sample_types.count; i++)
        if (m->sample_types.data[i].role == PROFCONV_ROLE_COUNT && m->values.data[i].shortened > 0) {
            count = (uint64_t)m->values.data[i].shortened;
            break;
        }
    int64_t sum = m->values.data[weight].shortened;
    profconv_report_add(m->report, PROFCONV_NOTE_WARNING, "stack-shortened", count, sum, PROFCONV_NO_OFFSET, 0,
                        "samples were charged to the outer part of their stack, the rest does not fit max_memory of %llu "
                        "bytes: %lld %s of %s",
                        (unsigned long long)m->limits.max_memory, (long long)sum,
                        pfc_model_string(m, m->sample_types.data[weight].unit).data,
                        pfc_model_string(m, m->sample_types.data[weight].name).data);
    for (size_t i = 0; i < m->values.count; i++)
        m->values.data[i].shortened = 0;
}

static void add_notes(profconv_builder *b) {
    if (b->shortened && b->model.sample_types.count)
        note_shortened(b);
    if (b->saturated)
        profconv_report_add(b->model.report, PROFCONV_NOTE_WARNING, "value-saturated", b->saturated, 0,
                            PROFCONV_NO_OFFSET, 0, "sums that do not fit 64 bits are held at the largest value");
    if (b->truncated)
        profconv_report_add(b->model.report, PROFCONV_NOTE_WARNING, "stack-truncated", b->truncated, 0,
                            PROFCONV_NO_OFFSET, 0, "stacks deeper than max_depth (%lu) lost frames",
                            (unsigned long)b->model.limits.max_depth);
    b->saturated = b->truncated = b->shortened = 0;
}

int profconv_builder_freeze(profconv_builder *builder, profconv_profile **out, profconv_error *error) {
    pfc_model *m = &builder->model;
    *out = NULL;
    pfc_builder_add_waiting(builder);
    if (pfc_stopped(builder))
        return profconv_builder_status(builder, error);
    free_indexes(builder);
    PFC_VEC_FREE(&m->mem, &m->stack_depths);
    profconv_profile *profile = (profconv_profile *)pfc_alloc(&m->mem, sizeof *profile);
    if (!profile) {
        pfc_builder_fail_memory(builder);
        return profconv_builder_status(builder, error);
    }
    add_notes(builder);
    shrink_all(m);
    m->info.facets = pfc_model_facets(m);
    profile->model = *m;
    profile->model.mem.live -= sizeof *builder;
    memset(m, 0, sizeof *m);
    m->mem.allocator = profile->model.mem.allocator;
    m->mem.budget = profile->model.mem.budget;
    m->mem.limit = profile->model.mem.limit;
    m->mem.live = m->mem.peak = sizeof *builder;
    m->limits = profile->model.limits;
    builder->frozen = 1;
    pfc_builder_fail(builder, PROFCONV_E_INVALID, "the builder was frozen; nothing can be added");
    int status = profconv_profile_check(profile, error);
    if (status) {
        profconv_profile_free(profile);
        return status;
    }
    *out = profile;
    return PROFCONV_OK;
}

/* ---- thaw ---- */

static int make_depths(pfc_model *m) {
    if (PFC_VEC_RESERVE(&m->mem, &m->stack_depths, m->stacks.count))
        return m->mem.failed;
    for (size_t i = 0; i < m->stacks.count; i++)
        m->stack_depths.data[i] = i ? m->stack_depths.data[m->stacks.data[i].parent] + 1 : 0;
    m->stack_depths.count = m->stacks.count;
    return PROFCONV_OK;
}

int profconv_builder_thaw(profconv_builder **out, profconv_profile **profile, profconv_error *error) {
    *out = NULL;
    if (!*profile)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "no profile to thaw");
    pfc_model *m = &(*profile)->model;
    profconv_builder *b = (profconv_builder *)pfc_alloc_zero(&m->mem, sizeof *b);
    if (!b || make_depths(m)) {
        int status = pfc_mem_error(&m->mem, error);
        pfc_free(&m->mem, b, sizeof *b);
        m->mem.failed = 0;
        return status;
    }
    b->model = *m;
    b->thawed = 1;
    b->model.info.facets = 0;
    pfc_free(&b->model.mem, *profile, sizeof **profile);
    *profile = NULL;
    *out = b;
    return PROFCONV_OK;
}
