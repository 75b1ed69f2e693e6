/* SPDX-License-Identifier: MIT
 *
 * The heaviest nodes of the tree of stacks. A caller is never lighter than what it calls (values below zero count by size), and
 * comes before it in the table, so the heaviest nodes, earlier ones first among equals, are a tree by themselves.
 */
#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/transform/copy.h"

typedef struct keeping {
    pfc_copy copy;
    uint64_t *weights;  /* per stack: with its callees */
    pfc_key *order;
    profconv_id *made;  /* per stack that stays */
    profconv_id *other; /* per stack that stays: "[other]" under it; 0: not yet */
    profconv_id location; /* of "[other]" */
    uint32_t stacks;
    uint64_t folded;
} keeping;

static void weigh(keeping *k) {
    const profconv_profile *p = k->copy.from;
    uint32_t type = profconv_profile_default_sample_type(p);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        int64_t value = profconv_profile_sample_value(p, i, type);
        uint64_t *w = &k->weights[profconv_profile_sample_stack(p, i)];
        *w = pfc_add_sat(*w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    }
    for (uint32_t i = k->stacks; i-- > 1;) {
        uint64_t *w = &k->weights[profconv_profile_stack(p, i)->parent];
        *w = pfc_add_sat(*w, k->weights[i]);
    }
}

static int choose(keeping *k, uint32_t count) {
    const profconv_profile *p = k->copy.from;
    for (uint32_t i = 1; i < k->stacks; i++) {
        const pfc_key row = {UINT64_MAX - k->weights[i], i, i};
        k->order[i - 1] = row;
    }
    if (pfc_sort_keys(&k->copy.mem, k->order, k->stacks - 1))
        return pfc_mem_error(&k->copy.mem, k->copy.error);
    uint32_t keep = count < k->stacks - 1 ? count : k->stacks - 1;
    for (uint32_t i = 0; i < keep; i++) {
        profconv_id id = k->order[i].id;
        const profconv_stack *s = profconv_profile_stack(p, id);
        k->made[id] = profconv_builder_stack(k->copy.builder, k->made[s->parent], pfc_copy_location(&k->copy, s->location));
    }
    return 0;
}

static profconv_id stack_of(keeping *k, profconv_id id) {
    profconv_id node = id;
    while (node && !k->made[node])
        node = profconv_profile_stack(k->copy.from, node)->parent;
    if (node == id)
        return k->made[node];
    k->folded++;
    if (!k->other[node])
        k->other[node] = profconv_builder_stack(k->copy.builder, k->made[node], k->location);
    return k->other[node];
}

static int fold(keeping *k) {
    const profconv_profile *p = k->copy.from;
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    size_t size = (types + (size_t)1) * sizeof(int64_t);
    int64_t *values = (int64_t *)pfc_alloc_zero(&k->copy.mem, size);
    if (!values)
        return pfc_mem_error(&k->copy.mem, k->copy.error);
    k->location = pfc_copy_pseudo(&k->copy, 0, profconv_builder_cstring(k->copy.builder, "[other]"), 0);
    for (uint32_t t = 0; t < types; t++)
        pfc_copy_sample_type(&k->copy, t);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE) && !pfc_copy_stopped(&k->copy); i++) {
        for (uint32_t t = 0; t < types; t++)
            values[t] = profconv_profile_sample_value(p, i, t);
        profconv_id set = pfc_copy_label_set(&k->copy, profconv_profile_sample_label_set(p, i));
        profconv_builder_sample(k->copy.builder, stack_of(k, profconv_profile_sample_stack(p, i)), set, 0, values, types);
    }
    pfc_free(&k->copy.mem, values, size);
    if (k->folded)
        profconv_report_add(profconv_builder_report(k->copy.builder), PROFCONV_NOTE_INFO, "folded-other", k->folded, 0,
                            PROFCONV_NO_OFFSET, 0, "samples whose stacks end in [other] now");
    return 0;
}

int profconv_keep_top(const profconv_profile *profile, uint32_t count, profconv_profile **out, profconv_error *error) {
    keeping k;
    memset(&k, 0, sizeof k);
    *out = NULL;
    if (count == 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "no node is to be kept");
    int status = pfc_copy_start(&k.copy, profile, error);
    pfc_mem *mem = &k.copy.mem;
    k.stacks = profconv_profile_rows(profile, PROFCONV_TABLE_STACK);
    const size_t n = k.stacks;
    if (!status) {
        k.weights = (uint64_t *)pfc_alloc_zero(mem, n * sizeof *k.weights);
        k.order = (pfc_key *)pfc_alloc(mem, n * sizeof *k.order);
        k.made = (profconv_id *)pfc_alloc_zero(mem, n * sizeof *k.made);
        k.other = (profconv_id *)pfc_alloc_zero(mem, n * sizeof *k.other);
        if (!k.weights || !k.order || !k.made || !k.other)
            status = pfc_mem_error(mem, error);
    }
    if (!status) {
        weigh(&k);
        status = choose(&k, count);
    }
    if (!status)
        status = fold(&k);
    if (!status)
        pfc_copy_branches(&k.copy);
    pfc_free(mem, k.weights, k.weights ? n * sizeof *k.weights : 0);
    pfc_free(mem, k.order, k.order ? n * sizeof *k.order : 0);
    pfc_free(mem, k.made, k.made ? n * sizeof *k.made : 0);
    pfc_free(mem, k.other, k.other ? n * sizeof *k.other : 0);
    return pfc_copy_end(&k.copy, status, out);
}
