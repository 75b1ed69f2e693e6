/* SPDX-License-Identifier: MIT
 *
 * Which facets a profile has, by what is in its tables.
 */
#include "libprofconv/model/build.h"

const char *profconv_facet_name(uint32_t facet) {
    switch (facet) {
    case PROFCONV_FACET_SYMBOLS:
        return "symbols";
    case PROFCONV_FACET_ADDRESSES:
        return "addresses";
    case PROFCONV_FACET_LINES:
        return "lines";
    case PROFCONV_FACET_STACKS:
        return "stacks";
    case PROFCONV_FACET_LABELS:
        return "labels";
    case PROFCONV_FACET_BRANCHES:
        return "branches";
    case PROFCONV_FACET_SOURCE_COUNTS:
        return "source-counts";
    default:
        return NULL;
    }
}

static uint32_t location_facets(const pfc_model *m) {
    const uint32_t all = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_LINES;
    uint32_t facets = 0;
    for (size_t i = 1; i < m->locations.count && facets != all; i++) {
        const profconv_location *l = &m->locations.data[i];
        if (l->mapping != 0 || l->address != 0)
            facets |= PROFCONV_FACET_ADDRESSES;
        if (l->line_count > 1)
            facets |= PROFCONV_FACET_LINES;
        for (uint32_t k = 0; k < l->line_count; k++) {
            const profconv_line *line = &m->lines.data[l->first_line + k];
            if (line->line != 0)
                facets |= PROFCONV_FACET_LINES;
            if (m->functions.data[line->function].name != 0)
                facets |= PROFCONV_FACET_SYMBOLS;
        }
    }
    return facets;
}

static int any(const profconv_id *ids, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (ids[i] != 0)
            return 1;
    return 0;
}

uint32_t pfc_model_facets(const pfc_model *m) {
    uint32_t facets = location_facets(m);
    if (any(m->sample_stacks.data, m->sample_stacks.count))
        facets |= PROFCONV_FACET_STACKS;
    if (any(m->sample_label_sets.data, m->sample_label_sets.count))
        facets |= PROFCONV_FACET_LABELS;
    if (m->branches.count || m->ranges.count || m->addresses.count)
        facets |= PROFCONV_FACET_BRANCHES;
    if (m->sources.count > 1)
        facets |= PROFCONV_FACET_SOURCE_COUNTS;
    return facets;
}
