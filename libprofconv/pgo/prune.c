/* SPDX-License-Identifier: MIT
 *
 * Takes top-level functions of small total out of the source tables, once the parts of every function have been added
 * up.
 */
#include "libprofconv/pgo/prune.h"

#include <string.h>

int pfc_prune_sources(profconv_builder *builder, profconv_id first, uint64_t threshold, uint64_t *pruned) {
    pfc_model *m = pfc_builder_model(builder);
    pfc_mem *mem = &m->mem;
    size_t source_bytes = m->sources.count * sizeof(profconv_id);
    size_t body_bytes = m->source_bodies.count * sizeof(profconv_id);
    profconv_id *sources = pfc_alloc_zero(mem, source_bytes);
    profconv_id *bodies = pfc_alloc_zero(mem, body_bytes);
    int status = (sources || !source_bytes) && (bodies || !body_bytes) ? 0 : mem->failed;
    *pruned = 0;
    size_t kept = 1;
    /* Parents precede children, so one pass decides for whole trees; new row ids are never above the old ones. */
    for (size_t i = 1; status == 0 && i < m->sources.count; i++) {
        profconv_source row = m->sources.data[i];
        int keep = row.parent ? sources[row.parent] != 0 : i < first || row.total > threshold;
        if (!keep) {
            *pruned += row.parent == 0;
            continue;
        }
        row.parent = sources[row.parent];
        m->sources.data[kept] = row;
        sources[i] = (profconv_id)kept++;
    }
    if (status == 0 && m->sources.count)
        m->sources.count = kept;
    kept = 1;
    for (size_t i = 1; status == 0 && i < m->source_bodies.count; i++) {
        profconv_source_body row = m->source_bodies.data[i];
        row.source = sources[row.source];
        if (row.source == 0)
            continue;
        m->source_bodies.data[kept] = row;
        bodies[i] = (profconv_id)kept++;
    }
    if (status == 0 && m->source_bodies.count)
        m->source_bodies.count = kept;
    kept = 1;
    for (size_t i = 1; status == 0 && i < m->source_targets.count; i++) {
        profconv_source_target row = m->source_targets.data[i];
        row.body = bodies[row.body];
        if (row.body != 0)
            m->source_targets.data[kept++] = row;
    }
    if (status == 0 && m->source_targets.count)
        m->source_targets.count = kept;
    /* Made again on the next use. */
    pfc_index_free(mem, &builder->index.sources);
    pfc_index_free(mem, &builder->index.source_bodies);
    pfc_index_free(mem, &builder->index.source_targets);
    pfc_free(mem, sources, source_bytes);
    pfc_free(mem, bodies, body_bytes);
    return status;
}
