/* SPDX-License-Identifier: MIT
 *
 * The summary of a profile: how many counts it takes, from the largest down, to reach each of sixteen shares of the
 * total. Contexts of one function are added up first, as LLVM does, so that splitting by context does not lower the
 * thresholds.
 */
#include <string.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/formats/llvm/llvm.h"

/* ---- contexts added up ---- */

typedef struct pfc_merged_row {
    uint32_t owner; /* node above (0: a function of its own), or the node of a line */
    uint32_t name;  /* rank + 1 of a node, 0 of a line */
    uint32_t line;
    uint32_t discriminator;
    uint64_t count; /* head of a function, count of a line */
    uint32_t skip;  /* node: already counted in its base profile */
} pfc_merged_row;

typedef struct pfc_merged {
    pfc_mem *mem;
    pfc_index index;
    PFC_VEC(pfc_merged_row) rows; /* row 0 is none */
    uint32_t *node;               /* by source id */
} pfc_merged;

static uint64_t merged_hash(const void *user, uint32_t row) {
    const pfc_merged_row *r = &((const pfc_merged *)user)->rows.data[row];
    return pfc_hash_mix((uint64_t)r->owner << 32 | r->name, (uint64_t)r->line << 32 | r->discriminator);
}

/* The row equal to `key` (count and skip aside), made if missing; 0 when memory ran out. */
static uint32_t merged_row(pfc_merged *m, pfc_merged_row key) {
    uint64_t hash = pfc_hash_mix((uint64_t)key.owner << 32 | key.name, (uint64_t)key.line << 32 | key.discriminator);
    pfc_probe probe = pfc_index_start(&m->index, hash);
    for (uint32_t id; (id = pfc_index_next(&m->index, &probe)) != 0;) {
        const pfc_merged_row *r = &m->rows.data[id];
        if (r->owner == key.owner && r->name == key.name && r->line == key.line &&
            r->discriminator == key.discriminator)
            return id;
    }
    uint32_t id = (uint32_t)m->rows.count;
    if (PFC_VEC_PUSH(m->mem, &m->rows, key) || pfc_index_insert(m->mem, &m->index, hash, id, merged_hash, m))
        return 0;
    return id;
}

/* Parents precede children in the source table, so the node above is known when a row is met. */
static int merge_nodes(const pfc_llvm_view *view, pfc_merged *m, pfc_llvm_summary *out) {
    for (uint32_t i = 1; i < view->source_rows; i++) {
        const profconv_source *row = profconv_profile_source(view->profile, i);
        uint32_t above = row->parent != 0 ? m->node[row->parent] : 0;
        pfc_merged_row key = {above, view->rank[row->name] + 1, 0, 0, 0, 0};
        if (row->parent != 0) {
            key.line = row->line;
            key.discriminator = row->discriminator;
            key.skip = (row->attributes & PFC_LLVM_IN_BASE) != 0 || m->rows.data[above].skip;
        }
        size_t before = m->rows.count;
        uint32_t id = merged_row(m, key);
        if (id == 0)
            return m->mem->failed;
        m->node[i] = id;
        if (row->parent != 0)
            continue;
        out->functions += m->rows.count != before;
        uint64_t head = m->rows.data[id].count = pfc_add_sat(m->rows.data[id].count, row->head);
        if (head > out->max_function_count)
            out->max_function_count = head;
    }
    return PROFCONV_OK;
}

static int merge_contexts(const pfc_llvm_view *view, pfc_merged *m, pfc_llvm_summary *out, uint64_t *counts,
                          size_t *n) {
    pfc_merged_row none = {0, 0, 0, 0, 0, 0};
    if (PFC_VEC_PUSH(m->mem, &m->rows, none) || merge_nodes(view, m, out))
        return m->mem->failed;
    uint32_t lines = (uint32_t)m->rows.count;
    for (uint32_t i = 0; i < view->bodies.count; i++) {
        const profconv_source_body *body = profconv_profile_source_body(view->profile, view->bodies.ids[i]);
        uint32_t node = m->node[body->source];
        if (m->rows.data[node].skip)
            continue;
        pfc_merged_row key = {node, 0, body->line, body->discriminator, 0, 0};
        uint32_t id = merged_row(m, key);
        if (id == 0)
            return m->mem->failed;
        m->rows.data[id].count = pfc_add_sat(m->rows.data[id].count, body->count);
    }
    for (size_t i = lines; i < m->rows.count; i++)
        counts[(*n)++] = m->rows.data[i].count;
    return PROFCONV_OK;
}

static int summarize_contexts(const pfc_llvm_view *view, pfc_llvm_summary *out, uint64_t *counts, size_t *n) {
    pfc_merged m;
    memset(&m, 0, sizeof m);
    m.mem = view->mem;
    m.node = (uint32_t *)pfc_alloc_zero(view->mem, view->source_rows * sizeof *m.node);
    int status = m.node ? merge_contexts(view, &m, out, counts, n) : view->mem->failed;
    if (m.node)
        pfc_free(view->mem, m.node, view->source_rows * sizeof *m.node);
    PFC_VEC_FREE(view->mem, &m.rows);
    pfc_index_free(view->mem, &m.index);
    return status;
}

/* ---- functions as they are ---- */

static int summarize_plain(const pfc_llvm_view *view, pfc_llvm_summary *out, uint64_t *counts, size_t *n) {
    uint8_t *skip = (uint8_t *)pfc_alloc_zero(view->mem, view->source_rows);
    if (!skip)
        return view->mem->failed;
    for (uint32_t i = 1; i < view->source_rows; i++) {
        const profconv_source *row = profconv_profile_source(view->profile, i);
        if (row->parent != 0) {
            skip[i] = skip[row->parent] || (row->attributes & PFC_LLVM_IN_BASE);
            continue;
        }
        out->functions++;
        if (row->head > out->max_function_count)
            out->max_function_count = row->head;
    }
    for (uint32_t i = 0; i < view->bodies.count; i++) {
        const profconv_source_body *body = profconv_profile_source_body(view->profile, view->bodies.ids[i]);
        if (!skip[body->source])
            counts[(*n)++] = body->count;
    }
    pfc_free(view->mem, skip, view->source_rows);
    return PROFCONV_OK;
}

int pfc_llvm_summarize(const pfc_llvm_view *view, pfc_llvm_summary *out) {
    memset(out, 0, sizeof *out);
    size_t bytes = ((size_t)view->bodies.count + 1) * sizeof(uint64_t), n = 0;
    uint64_t *counts = (uint64_t *)pfc_alloc(view->mem, bytes);
    if (!counts)
        return view->mem->failed;
    int status = view->context ? summarize_contexts(view, out, counts, &n) : summarize_plain(view, out, counts, &n);
    if (status == PROFCONV_OK)
        status = pfc_sort_u64(view->mem, counts, n);
    if (status == PROFCONV_OK) {
        out->max_count = n ? counts[n - 1] : 0;
        out->counts = (uint32_t)n;
        out->total = pfc_cutoffs(counts, n, out->entries);
    }
    pfc_free(view->mem, counts, bytes);
    return status;
}
