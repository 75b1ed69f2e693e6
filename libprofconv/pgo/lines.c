/* SPDX-License-Identifier: MIT
 *
 * Source counts from symbolized leaves: what a stored profile allows when the binary is gone. Inlined frames nest as
 * they do in a source profile, but only what was sampled is known: no zero positions, no calls, no entry counts.
 */
#include "libprofconv/pgo/lines.h"

#include <string.h>

#include "libprofconv/base/text.h"
#include "libprofconv/pgo/discriminator.h"
#include "libprofconv/pgo/prune.h"

/* Counts of leaves, one a location row. */
static void count_leaves(const pfc_model *m, uint64_t *counts) {
    for (size_t i = 0; i < m->addresses.count; i++)
        counts[m->addresses.data[i].location] =
            pfc_add_sat(counts[m->addresses.data[i].location], m->addresses.data[i].count);
    if (m->addresses.count || m->values.count == 0)
        return;
    size_t column = 0;
    while (column + 1 < m->sample_types.count && m->sample_types.data[column].role != PROFCONV_ROLE_COUNT)
        column++;
    if (m->sample_types.data[column].role != PROFCONV_ROLE_COUNT)
        column = 0;
    for (size_t i = 0; i < m->sample_stacks.count; i++) {
        profconv_id stack = m->sample_stacks.data[i];
        int64_t value = m->values.data[column].data[i];
        if (stack && value > 0) {
            profconv_id leaf = m->stacks.data[stack].location;
            counts[leaf] = pfc_add_sat(counts[leaf], (uint64_t)value);
        }
    }
}

static uint32_t offset_of(const profconv_line *line, const profconv_function *function) {
    return (uint32_t)(line->line - function->start_line) & 0xffff;
}

/* Nonzero when the count found a place. */
static int add_location(profconv_builder *builder, const pfc_select_rules *rules, profconv_id id, uint64_t count,
                        char *scratch) {
    const pfc_model *m = pfc_builder_model(builder);
    const profconv_location location = m->locations.data[id];
    profconv_id source = 0;
    for (uint32_t i = location.line_count; i-- > 0;) {
        const profconv_line line = m->lines.data[location.first_line + i];
        const profconv_function function = m->functions.data[line.function];
        if (line.line <= 0 || function.start_line <= 0)
            break;
        profconv_string name = pfc_model_string(m, function.linkage_name ? function.linkage_name : function.name);
        profconv_source row = {
            .total = count, .parent = source, .name = function.linkage_name ? function.linkage_name : function.name};
        if (source == 0) {
            size_t size = pfc_strip_suffixes(rules->suffixes, name.data, name.size, scratch);
            row.name = profconv_builder_string(builder, scratch, size);
        } else {
            const profconv_line outer = m->lines.data[location.first_line + i + 1];
            row.line = offset_of(&outer, &m->functions.data[outer.function]);
            row.discriminator = pfc_discriminator_base(outer.discriminator);
        }
        source = profconv_builder_source(builder, &row);
        if (i == 0)
            profconv_builder_source_body(builder, source, offset_of(&line, &function),
                                         pfc_discriminator_base(line.discriminator), count);
    }
    return source != 0;
}

int pfc_attribute_lines(profconv_builder *builder, const pfc_select_rules *rules, uint64_t *counted) {
    pfc_model *m = pfc_builder_model(builder);
    pfc_mem *mem = &m->mem;
    size_t count = m->locations.count;
    size_t longest = 1;
    *counted = 0;
    for (size_t i = 0; i < m->strings.count; i++)
        longest = m->strings.data[i].size > longest ? m->strings.data[i].size : longest;
    uint64_t *counts = pfc_alloc_zero(mem, (count ? count : 1) * sizeof *counts);
    char *scratch = pfc_alloc(mem, longest);
    profconv_id first = (profconv_id)(m->sources.count ? m->sources.count : 1);
    if (counts && scratch) {
        count_leaves(m, counts);
        for (size_t i = 1; i < count; i++) {
            if (counts[i] && add_location(builder, rules, (profconv_id)i, counts[i], scratch))
                *counted = pfc_add_sat(*counted, counts[i]);
        }
    }
    pfc_free(mem, counts, (count ? count : 1) * sizeof *counts);
    pfc_free(mem, scratch, longest);
    int status = profconv_builder_status(builder, NULL);
    uint64_t pruned;
    if (status == 0 && *counted)
        status = pfc_prune_sources(builder, first, rules->minimum, &pruned);
    if (status == 0 && m->sources.count <= first)
        *counted = 0;
    return status ? status : mem->failed;
}
