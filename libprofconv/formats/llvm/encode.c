/* SPDX-License-Identifier: MIT
 *
 * Writes what the binary encodings have in common: summary, name table, function records.
 */
#include "libprofconv/formats/llvm/llvm.h"

void pfc_llvm_put_summary(pfc_buf *buf, const pfc_llvm_summary *s) {
    pfc_buf_uleb(buf, s->total);
    pfc_buf_uleb(buf, s->max_count);
    pfc_buf_uleb(buf, s->max_function_count);
    pfc_buf_uleb(buf, s->counts);
    pfc_buf_uleb(buf, s->functions);
    pfc_buf_uleb(buf, PFC_CUTOFFS);
    for (unsigned i = 0; i < PFC_CUTOFFS; i++) {
        pfc_buf_uleb(buf, s->entries[i].share);
        pfc_buf_uleb(buf, s->entries[i].min);
        pfc_buf_uleb(buf, s->entries[i].counts);
    }
}

void pfc_llvm_put_names(pfc_buf *buf, const pfc_llvm_view *view) {
    pfc_buf_uleb(buf, view->name_count);
    for (uint32_t i = 0; i < view->name_count; i++) {
        profconv_string name = profconv_profile_string(view->profile, view->names[i]);
        pfc_buf_add(buf, name.data, name.size);
        pfc_buf_char(buf, '\0');
    }
}

static void put_bodies(pfc_buf *buf, const pfc_llvm_view *view, uint32_t source) {
    const pfc_llvm_runs *bodies = &view->bodies, *targets = &view->targets;
    pfc_buf_uleb(buf, bodies->first[source + 1] - bodies->first[source]);
    for (uint32_t i = bodies->first[source]; i < bodies->first[source + 1]; i++) {
        uint32_t id = bodies->ids[i];
        const profconv_source_body *body = profconv_profile_source_body(view->profile, id);
        pfc_buf_uleb(buf, body->line);
        pfc_buf_uleb(buf, body->discriminator);
        pfc_buf_uleb(buf, body->count);
        pfc_buf_uleb(buf, targets->first[id + 1] - targets->first[id]);
        for (uint32_t k = targets->first[id]; k < targets->first[id + 1]; k++) {
            const profconv_source_target *target = profconv_profile_source_target(view->profile, targets->ids[k]);
            pfc_buf_uleb(buf, view->rank[target->name]);
            pfc_buf_uleb(buf, target->count);
        }
    }
}

/* Total, body and the number of call sites; the call sites themselves follow. */
static void put_start(pfc_buf *buf, const pfc_llvm_view *view, uint32_t source) {
    const pfc_llvm_runs *children = &view->children;
    pfc_buf_uleb(buf, profconv_profile_source(view->profile, source)->total);
    put_bodies(buf, view, source);
    pfc_buf_uleb(buf, children->first[source + 1] - children->first[source]);
}

typedef struct pfc_put_frame {
    uint32_t source;
    uint32_t next; /* position in view->children.ids */
} pfc_put_frame;

int pfc_llvm_put_record(pfc_buf *buf, const pfc_llvm_view *view, uint32_t top) {
    const pfc_llvm_runs *children = &view->children;
    const profconv_source *row = profconv_profile_source(view->profile, top);
    PFC_VEC(pfc_put_frame) stack = {NULL, 0, 0};
    pfc_buf_uleb(buf, row->head);
    pfc_buf_uleb(buf, view->context ? view->context_index[top] : view->rank[row->name]);
    put_start(buf, view, top);
    pfc_put_frame frame = {top, children->first[top]};
    int status = children->first[top + 1] > children->first[top] ? PFC_VEC_PUSH(view->mem, &stack, frame) : PROFCONV_OK;
    while (status == PROFCONV_OK && stack.count > 0) {
        pfc_put_frame *open = &stack.data[stack.count - 1];
        if (open->next == children->first[open->source + 1]) {
            stack.count--;
            continue;
        }
        uint32_t child = children->ids[open->next++];
        row = profconv_profile_source(view->profile, child);
        pfc_buf_uleb(buf, row->line);
        pfc_buf_uleb(buf, row->discriminator);
        pfc_buf_uleb(buf, view->rank[row->name]);
        put_start(buf, view, child);
        pfc_put_frame below = {child, children->first[child]};
        status = PFC_VEC_PUSH(view->mem, &stack, below);
    }
    PFC_VEC_FREE(view->mem, &stack);
    return status;
}
