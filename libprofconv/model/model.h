/* SPDX-License-Identifier: MIT
 *
 * The tables of a profile, shared by the builder that fills them and the frozen profile that shows them. Inside
 * the library only model/, symbolize/ and pgo/ see this header; formats use the public builder and profile.
 */
#ifndef PFC_MODEL_MODEL_H
#define PFC_MODEL_MODEL_H

#include <profconv/builder.h>
#include <profconv/profile.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/base/mem.h"

typedef struct pfc_string_row {
    uint64_t offset; /* in pfc_model.bytes; NUL-terminated there */
    uint32_t size;
    uint32_t hash;
} pfc_string_row;

typedef struct pfc_attribute {
    profconv_id key;
    profconv_id value;
} pfc_attribute;

/* One i64 column a sample type, all of capacity sample_capacity. */
typedef struct pfc_values {
    int64_t *data;
    size_t capacity;
    int64_t shortened; /* part of the sum that was charged to a shorter stack; builder only */
} pfc_values;

typedef struct pfc_model {
    pfc_mem mem;            /* owns everything below but the report, which is outside the budget: it must be able to say what did not fit */
    profconv_limits limits; /* defaults filled in */
    profconv_report *report;
    profconv_info info;
    int verbatim;           /* rows are as their source had them */

    PFC_VEC(char) bytes;    /* of all strings */
    PFC_VEC(pfc_string_row) strings;
    PFC_VEC(profconv_function) functions;
    PFC_VEC(profconv_mapping) mappings;
    PFC_VEC(profconv_location) locations;
    PFC_VEC(profconv_line) lines;
    PFC_VEC(profconv_stack) stacks;
    PFC_VEC(uint32_t) stack_depths; /* builder only; dropped by freeze, made again by thaw */
    PFC_VEC(profconv_label) labels;
    PFC_VEC(profconv_label_set) label_sets;
    PFC_VEC(profconv_id) label_items;
    PFC_VEC(profconv_sample_type) sample_types;
    PFC_VEC(profconv_id) sample_stacks;
    PFC_VEC(profconv_id) sample_label_sets;
    PFC_VEC(pfc_values) values; /* one a sample type */
    PFC_VEC(profconv_branch) branches;
    PFC_VEC(profconv_range) ranges;
    PFC_VEC(profconv_address) addresses;
    PFC_VEC(profconv_entry) entries;
    PFC_VEC(profconv_source) sources;
    PFC_VEC(profconv_context) contexts;
    PFC_VEC(profconv_source_body) source_bodies;
    PFC_VEC(profconv_source_target) source_targets;
    PFC_VEC(profconv_id) symbols;
    PFC_VEC(profconv_id) comments;
    PFC_VEC(pfc_attribute) attributes;
} pfc_model;

struct profconv_profile {
    pfc_model model;
};

typedef struct pfc_builder_indexes {
    pfc_index strings, functions, mappings, locations, stacks, labels, label_sets, samples, branches, ranges,
        addresses, entries, sources, contexts, source_bodies, source_targets, symbols;
} pfc_builder_indexes;

/* Samples that wait for the memory of their rows: see samples.c. */
enum { PFC_SAMPLES_WAITING = 16, PFC_SAMPLE_VALUES = 4 };

typedef struct pfc_waiting_sample {
    profconv_id stack, label_set;
    uint32_t first_type, count;
    int64_t values[PFC_SAMPLE_VALUES];
} pfc_waiting_sample;

struct profconv_builder {
    pfc_model model;
    pfc_builder_indexes index; /* each built on first use, so a thawed builder pays only for what it touches */
    profconv_error error;      /* sticky; status 0 = none */
    int append; /* verbatim, and not thawed: rows are kept without looking for equal ones */
    uint64_t saturated;
    uint64_t truncated;
    uint64_t shortened; /* samples charged to a shorter stack, see PFC_SHORT */
    int stacks_full;    /* on_limit=truncate: no node is added any more */
    int rows_full;      /* the same: no sample row is, where one of an outer stack is there */
    size_t stacks_indexed; /* rows that index.stacks knows of, where they need it */
    int frozen;
    const struct pfc_unwinder_type *unwinder; /* lent to the reader at work, or NULL */
    const struct pfc_jitdump_type *jitdump;   /* the same */
    int thawed; /* rows were taken over from a profile, in whatever order */
    uint32_t threads; /* that a pass may use, its caller's among them; 0 and 1: that one */
    profconv_id last_body; /* the source body that was asked for last */
    uint64_t samples_told, samples_added; /* sample i waits in waiting[i % PFC_SAMPLES_WAITING] between the two */
    pfc_waiting_sample waiting[PFC_SAMPLES_WAITING];
};

/* For passes: the model of a builder. Rows may be read; they are changed through the functions below. */
pfc_model *pfc_builder_model(profconv_builder *builder);
/* Gives location `id` these lines (innermost first), replacing what it had. The location keeps its id, whatever
 * its identity was; used by symbolization on locations that have addresses. */
void pfc_builder_set_lines(profconv_builder *builder, profconv_id location, const profconv_line *lines, uint32_t count);
/* Changes the flags of a location or mapping in place. */
void pfc_builder_set_location_flags(profconv_builder *builder, profconv_id location, uint32_t flags);
/* Makes the first error sticky. */
void pfc_builder_fail(profconv_builder *builder, int status, const char *format, ...) PROFCONV_PRINTF(3, 4);

static inline profconv_string pfc_model_string(const pfc_model *m, profconv_id id) {
    profconv_string s = {"", 0};
    if (id != 0 && id < m->strings.count) {
        s.data = m->bytes.data + m->strings.data[id].offset;
        s.size = m->strings.data[id].size;
    }
    return s;
}

#endif
