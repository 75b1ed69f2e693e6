/* SPDX-License-Identifier: MIT
 *
 * The end of reading a pprof, part two: stacks, label sets and samples, or, in columns that carry branch records,
 * edges, ranges and addresses.
 *
 * Branch records in a pprof: sample types `branch`, `branch_mispredicted`, `range` and `address`, all with the unit
 * "count"; stacks, leaf first, [to, from], [end, begin] and [address]. The sample type alone says what a row is, since
 * stores that merge profiles keep nothing else apart.
 */
#include "libprofconv/formats/pprof/reader.h"

#include <inttypes.h>
#include <string.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/text.h"

typedef struct sample_reader {
    pfc_pprof_reader_state *r;
    const profconv_id *locations;
    const uint8_t *location_flags;
    uint64_t number; /* of the sample, from 1 */
    uint32_t node;
    PFC_VEC(int64_t) values;        /* as in the file */
    PFC_VEC(int64_t) sample_values; /* of the columns of samples */
    PFC_VEC(profconv_id) ids;       /* of one label set or stack */
    uint64_t odd_stacks;            /* branch rows whose stack has the wrong depth */
    int64_t odd_weight;
    uint64_t negative;
    int64_t negative_weight;
    uint64_t no_address; /* branch rows that no compiler can use */
    uint64_t labelled;   /* branch rows with labels */
} sample_reader;

/* ---- stacks ---- */

/* Puts the builder's rows, by way of the file's, in the place of location ids. *bad: a node whose location does not
 * exist, else 0. */
static void resolve_nodes(pfc_pprof_reader_state *r, uint32_t *bad) {
    *bad = 0;
    for (uint32_t i = 1; i < r->trie.nodes.count; i++) {
        uint32_t row = pfc_idset_find(&r->location_ids, pfc_pprof_trie_location(&r->trie, i));
        if (row == 0) {
            *bad = i;
            return;
        }
        r->trie.nodes.data[i].location = row;
    }
}

/* Names the first sample through the first unknown location. Nodes below `bad` are resolved, the rest are not. */
static int missing_location(sample_reader *s, uint32_t bad) {
    pfc_pprof_reader_state *r = s->r;
    uint64_t id = pfc_pprof_trie_location(&r->trie, bad);
    for (uint64_t number = 1; number <= r->sample_count; number++) {
        uint32_t node = (uint32_t)pfc_spool_get(&r->samples);
        pfc_spool_get(&r->samples);
        for (uint64_t n = pfc_spool_get(&r->samples); n > 0; n--)
            pfc_spool_get(&r->samples);
        while (node > bad)
            node = r->trie.nodes.data[node].parent;
        if (node == bad)
            return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
                                      "sample %" PRIu64 ": location id %" PRIu64 " does not exist", number, id);
    }
    return profconv_error_set(r->error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0, "a stack that no sample has");
}

/* Turns every node into the builder's stack: node.parent becomes its id. Only where all rows are samples of stacks. */
static int build_stacks(sample_reader *s) {
    pfc_pprof_reader_state *r = s->r;
    profconv_stack *nodes = r->trie.nodes.data;
    for (uint32_t i = 1; i < r->trie.nodes.count; i++) {
        profconv_id parent = nodes[i].parent ? nodes[nodes[i].parent].parent : 0;
        nodes[i].parent = profconv_builder_stack(r->builder, parent, s->locations[nodes[i].location]);
        if (i % 65536 == 0) {
            int status = pfc_pprof_checkpoint(r);
            if (status)
                return status;
        }
    }
    return pfc_pprof_checkpoint(r);
}

/* The stack of the sample at hand. */
static int sample_stack(sample_reader *s, profconv_id *stack) {
    pfc_pprof_reader_state *r = s->r;
    const profconv_stack *nodes = r->trie.nodes.data;
    if (r->branch_columns == 0) {
        *stack = s->node ? nodes[s->node].parent : 0;
        return PROFCONV_OK;
    }
    s->ids.count = 0;
    for (uint32_t node = s->node; node; node = nodes[node].parent)
        if (PFC_VEC_PUSH(&r->mem, &s->ids, s->locations[nodes[node].location]))
            return pfc_mem_error(&r->mem, r->error);
    *stack = profconv_builder_stack_leaf_first(r->builder, s->ids.data, s->ids.count);
    return PROFCONV_OK;
}

/* ---- labels ---- */

static int make_label(sample_reader *s, pfc_cursor *c, profconv_id *id) {
    pfc_pprof_reader_state *r = s->r;
    char what[PFC_PPROF_ENTITY];
    profconv_label label = {0};
    uint32_t key = (uint32_t)pfc_uleb(c), string = (uint32_t)pfc_uleb(c);
    label.number = pfc_unzigzag(pfc_uleb(c));
    uint32_t unit = (uint32_t)pfc_uleb(c);
    label.numeric = label.number != 0 || unit != 0;
    pfc_pprof_entity(what, "sample", s->number);
    int status = pfc_pprof_string(r, key, what, "label key", &label.key);
    if (!status)
        status = pfc_pprof_string(r, string, what, "label value", &label.string);
    if (!status)
        status = pfc_pprof_string(r, unit, what, "label unit", &label.unit);
    if (!status)
        *id = profconv_builder_label(r->builder, &label);
    return status;
}

/* The builder's label set for row `row`, made when its first sample comes. */
static int sample_labels(sample_reader *s, uint32_t row, profconv_id *labels) {
    pfc_pprof_reader_state *r = s->r;
    pfc_pprof_label_set *set = &r->label_sets.data[row];
    if (row == 0 || set->id) {
        *labels = row ? set->id - 1 : 0;
        return PROFCONV_OK;
    }
    pfc_cursor c = pfc_cursor_make(r->label_bytes.data + set->first, set->size, 0, 0);
    s->ids.count = 0;
    while (pfc_cursor_left(&c)) {
        profconv_id id = 0;
        int status = make_label(s, &c, &id);
        if (status)
            return status;
        if (PFC_VEC_PUSH(&r->mem, &s->ids, id))
            return pfc_mem_error(&r->mem, r->error);
    }
    *labels = profconv_builder_label_set(r->builder, s->ids.data, (uint32_t)s->ids.count);
    set->id = *labels + 1;
    return PROFCONV_OK;
}

/* ---- rows ---- */

static int read_values(sample_reader *s) {
    pfc_pprof_reader_state *r = s->r;
    uint64_t count = pfc_spool_get(&r->samples);
    if (count != r->types.count)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
                                  "sample %" PRIu64 ": %" PRIu64 " values, but %zu sample types%s", s->number, count,
                                  r->types.count, pfc_pprof_concatenated(r));
    s->values.count = 0;
    s->sample_values.count = 0;
    for (uint64_t i = 0; i < count; i++) {
        int64_t value = pfc_unzigzag(pfc_spool_get(&r->samples));
        if (PFC_VEC_PUSH(&r->mem, &s->values, value) ||
            (r->columns.data[i] == PFC_PPROF_SAMPLES && PFC_VEC_PUSH(&r->mem, &s->sample_values, value)))
            return pfc_mem_error(&r->mem, r->error);
    }
    return PROFCONV_OK;
}

/* The location for one end of a branch record: none for anywhere outside. */
static profconv_id branch_end(sample_reader *s, uint32_t node) {
    uint32_t row = s->r->trie.nodes.data[node].location;
    return s->location_flags[row] & PFC_PPROF_IS_EXTERNAL ? 0 : s->locations[row];
}

static int depth_is(const sample_reader *s, unsigned depth) {
    const profconv_stack *nodes = s->r->trie.nodes.data;
    uint32_t node = s->node;
    for (; depth > 0 && node; depth--)
        node = nodes[node].parent;
    return depth == 0 && node == 0;
}

/* Stores that clear addresses (of mappings that say has_functions) leave nothing that a compiler's profile could be
 * made of. */
static int lacks_address(const sample_reader *s) {
    const profconv_stack *nodes = s->r->trie.nodes.data;
    for (uint32_t node = s->node; node; node = nodes[node].parent)
        if (s->location_flags[nodes[node].location] & PFC_PPROF_NO_ADDRESS)
            return 1;
    return 0;
}

/* One value of a branch column. */
static void branch_value(sample_reader *s, pfc_pprof_column column, int64_t value) {
    profconv_builder *builder = s->r->builder;
    int overflow = 0;
    if (value < 0) {
        s->negative++;
        s->negative_weight = pfc_add_sat_i64(s->negative_weight, value, &overflow);
        return;
    }
    unsigned depth = column == PFC_PPROF_ADDRESS ? 1 : 2;
    if (!depth_is(s, depth)) {
        s->odd_stacks++;
        s->odd_weight = pfc_add_sat_i64(s->odd_weight, value, &overflow);
        return;
    }
    profconv_id leaf = branch_end(s, s->node);
    profconv_id root = depth == 2 ? branch_end(s, s->r->trie.nodes.data[s->node].parent) : 0;
    uint64_t count = (uint64_t)value;
    s->no_address += lacks_address(s) ? 1u : 0u;
    if (column == PFC_PPROF_BRANCH)
        profconv_builder_branch(builder, root, leaf, count, 0, 0);
    else if (column == PFC_PPROF_MISPREDICTED)
        profconv_builder_branch(builder, root, leaf, 0, count, 0);
    else if (column == PFC_PPROF_RANGE)
        profconv_builder_range(builder, root, leaf, count);
    else
        profconv_builder_address(builder, leaf, count);
}

/* Nonzero when the row has a value in a branch column. Rows without any value are samples. */
static int branch_row(sample_reader *s) {
    pfc_pprof_reader_state *r = s->r;
    int found = 0;
    for (size_t i = 0; i < s->values.count; i++)
        if (r->columns.data[i] != PFC_PPROF_SAMPLES && s->values.data[i] != 0) {
            branch_value(s, (pfc_pprof_column)r->columns.data[i], s->values.data[i]);
            found = 1;
        }
    return found;
}

static int all_zero(const sample_reader *s) {
    for (size_t i = 0; i < s->sample_values.count; i++)
        if (s->sample_values.data[i] != 0)
            return 0;
    return 1;
}

static int finish_sample(sample_reader *s) {
    pfc_pprof_reader_state *r = s->r;
    profconv_id stack = 0, labels = 0;
    s->node = (uint32_t)pfc_spool_get(&r->samples);
    uint32_t label_row = (uint32_t)pfc_spool_get(&r->samples);
    int status = read_values(s);
    if (status)
        return status;
    if (r->branch_columns && branch_row(s)) {
        s->labelled += label_row != 0;
        if (all_zero(s))
            return PROFCONV_OK;
    }
    if (s->sample_values.count == 0)
        return PROFCONV_OK;
    status = sample_labels(s, label_row, &labels);
    if (!status)
        status = sample_stack(s, &stack);
    if (!status)
        profconv_builder_sample(r->builder, stack, labels, 0, s->sample_values.data, (uint32_t)s->sample_values.count);
    return status;
}

static void sample_notes(const sample_reader *s) {
    if (s->odd_stacks)
        profconv_report_add(s->r->report, PROFCONV_NOTE_DROPPED, "branch-stack-depth", s->odd_stacks, s->odd_weight,
                            PROFCONV_NO_OFFSET, 0,
                            "values of branch columns whose stack has not the one or two frames of a branch record");
    if (s->negative)
        profconv_report_add(s->r->report, PROFCONV_NOTE_DROPPED, "branch-negative", s->negative, s->negative_weight,
                            PROFCONV_NO_OFFSET, 0, "negative values of branch columns");
    if (s->no_address)
        profconv_report_add(s->r->report, PROFCONV_NOTE_WARNING, "branch-no-address", s->no_address, 0,
                            PROFCONV_NO_OFFSET, 0,
                            "branch records at locations without an address in a mapping: cleared by a store?");
    if (s->labelled)
        profconv_report_add(s->r->report, PROFCONV_NOTE_LOST, "branch-labels", s->labelled, 0, PROFCONV_NO_OFFSET, 0,
                            "labels of branch records");
}

int pfc_pprof_finish_samples(pfc_pprof_reader_state *r, const profconv_id *locations, const uint8_t *location_flags) {
    sample_reader s = {0};
    uint32_t bad;
    s.r = r;
    s.locations = locations;
    s.location_flags = location_flags;
    resolve_nodes(r, &bad);
    if (bad)
        return missing_location(&s, bad);
    if (r->branch_columns && r->shortened_stacks)
        return profconv_error_set(r->error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0,
                                  "max_memory of %" PRIu64 " bytes reached, and branch records are no stacks that could be "
                                  "shortened; raise it",
                                  r->limits->max_memory);
    int status = r->branch_columns ? PROFCONV_OK : build_stacks(&s);
    for (s.number = 1; !status && s.number <= r->sample_count; s.number++) {
        status = finish_sample(&s);
        if (!status && s.number % 4096 == 0)
            status = pfc_pprof_checkpoint(r);
    }
    if (!status)
        status = pfc_pprof_checkpoint(r);
    if (!status)
        sample_notes(&s);
    PFC_VEC_FREE(&r->mem, &s.values);
    PFC_VEC_FREE(&r->mem, &s.sample_values);
    PFC_VEC_FREE(&r->mem, &s.ids);
    return status;
}
