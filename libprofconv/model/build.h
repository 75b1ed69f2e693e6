/* SPDX-License-Identifier: MIT
 *
 * What the files of the builder share: room for rows, filling of indexes, sums that saturate, the sticky error.
 * Only model/ includes this.
 *
 * Every intern function has the same shape. The hot part hashes, probes and compares, and nothing else: a row that is
 * found has valid ids by construction, so ids are checked only when a row is added. The cold part first fills the
 * index when that was put off (see pfc_index_pending), then adds the row.
 */
#ifndef PFC_MODEL_BUILD_H
#define PFC_MODEL_BUILD_H

#include "libprofconv/base/text.h"
#include "libprofconv/model/model.h"

#if defined(__GNUC__)
#define PFC_COLD __attribute__((noinline, cold))
#else
#define PFC_COLD
#endif

/* Row numbers are below this, so that row + 1 fits the 32 bits of an index slot. */
#define PFC_MAX_ROWS ((size_t)UINT32_MAX)

/* These make an error sticky and return its status. */
int pfc_builder_fail_memory(profconv_builder *builder);
int pfc_builder_fail_rows(profconv_builder *builder, const char *table);
int pfc_builder_fail_id(profconv_builder *builder, const char *what, profconv_id id);

/* Adds (hash, slot) to an index; 0 or the sticky status. */
int pfc_builder_index(profconv_builder *builder, pfc_index *index, uint64_t hash, uint32_t slot, pfc_rehash rehash);
/* Fills an index with the slots first .. end - 1. */
int pfc_builder_fill(profconv_builder *builder, pfc_index *index, uint32_t first, size_t end, pfc_rehash rehash);
/* The same for tables that may hold equal rows, any number of them: only the first of each goes in, or the run of equal
 * hashes would be walked for each. A 64-bit collision costs a second copy of a row that is added later, no more. */
int pfc_builder_fill_first(profconv_builder *builder, pfc_index *index, uint32_t first, size_t end, pfc_rehash rehash);

/* A thawed builder has rows and no indexes. An index without entries finds nothing, so this is only asked after a miss.
 */
static inline int pfc_index_pending(const pfc_index *index, size_t first, size_t end) {
    return index->count == 0 && end > first;
}

/* Room for one more row of a vector: 0, or the sticky status. */
#define PFC_ROOM(builder, vector, table)                                                                               \
    ((vector)->count >= PFC_MAX_ROWS                                                                                   \
         ? pfc_builder_fail_rows((builder), (table))                                                                   \
         : (PFC_VEC_RESERVE(&(builder)->model.mem, (vector), (vector)->count + 1) ? pfc_builder_fail_memory(builder)   \
                                                                                  : 0))

/* on_limit=truncate. The id of a stack that did not fit is that of its deepest kept part with this bit: whatever is called from
 * it is the same, so that what a reader keeps of ids stays true, and a sample's row is that of the part. */
#define PFC_SHORT ((profconv_id)1 << 31)

static inline int pfc_may_shorten(const profconv_builder *builder) {
    return builder->model.limits.on_limit == PROFCONV_ON_LIMIT_TRUNCATE;
}
static inline int pfc_is_short(const profconv_builder *builder, profconv_id stack) {
    return stack >= PFC_SHORT && pfc_may_shorten(builder);
}

/* Calls `reserve` with the share of the budget that stacks and samples may take. Nonzero: there is room. 0: there is none, for
 * good when *full is set, else the builder has failed. What is left is for the other tables, passes and writers; freezing gives
 * back the indexes, a third or so of the share. */
int pfc_builder_fits(profconv_builder *builder, int (*reserve)(profconv_builder *builder), int *full);

static inline int pfc_stopped(const profconv_builder *builder) { return builder->error.status != 0; }

static inline int pfc_is_string(const profconv_builder *builder, profconv_id id) {
    return id < builder->model.strings.count;
}

static inline uint64_t pfc_pair(uint32_t high, uint32_t low) { return (uint64_t)high << 32 | low; }

/* *sum += value, held at the ends of the type and counted there. */
static inline void pfc_builder_add(profconv_builder *builder, uint64_t *sum, uint64_t value) {
    uint64_t total = *sum + value;
    if (total < value) {
        total = UINT64_MAX;
        builder->saturated++;
    }
    *sum = total;
}
static inline void pfc_builder_add_i64(profconv_builder *builder, int64_t *sum, int64_t value) {
    int64_t total = (int64_t)((uint64_t)*sum + (uint64_t)value);
    if (((*sum ^ total) & (value ^ total)) < 0) {
        total = value < 0 ? INT64_MIN : INT64_MAX;
        builder->saturated++;
    }
    *sum = total;
}

/* For loops over many rows, whose look-ups wait for memory: a callee of `parent` will be asked for in some rows. */
void pfc_stack_soon(const profconv_builder *builder, profconv_id parent);
/* The callee, if it is the first; 0: it is not, and will be asked for in some rows, if it is any. */
profconv_id pfc_stack_first(const profconv_builder *builder, profconv_id parent, profconv_id location);
/* Such a one will be asked for in a few rows, and what the call before asked for is there. */
void pfc_stack_next(const profconv_builder *builder, profconv_id parent, profconv_id location);
/* The callee, when it is there; 0: not, or the builder has failed. */
profconv_id pfc_stack_find(profconv_builder *builder, profconv_id parent, profconv_id location);

/* The samples that wait get their rows. Before anything but a sample looks at them. */
void pfc_builder_add_waiting(profconv_builder *builder);

/* Releases every table, the report included; not the block the model lives in. */
void pfc_model_free(pfc_model *model);
/* The PFC_FACET bits that the content has. */
uint32_t pfc_model_facets(const pfc_model *model);
/* The invariants; profconv_profile_check on a model. */
int pfc_model_check(const pfc_model *model, profconv_error *error);

#endif
