/* SPDX-License-Identifier: MIT
 *
 * The plan for a profile as it is. A reader may know the names of code made at run time, from files that only its
 * recording mentions, and no others: symbols are there then, and yet nearly all are missing. Such a profile is treated
 * as one without symbols, so that the rest gets its names.
 */
#include "libprofconv/convert/convert.h"

#define NAMES (PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES)

/* Nonzero when code made at run time has names, nothing else has, and there is something else. */
static int only_made_code_is_named(const profconv_profile *profile) {
    uint32_t count = profconv_profile_rows(profile, PROFCONV_TABLE_LOCATION);
    int unnamed = 0;
    for (uint32_t id = 1; id < count; id++) {
        const profconv_location *l = profconv_profile_location(profile, id);
        int made = l->mapping && profconv_profile_mapping(profile, l->mapping)->kind == PROFCONV_MAPPING_JIT;
        if (l->line_count && !made)
            return 0;
        unnamed |= !l->line_count && !made && l->mapping && !(l->flags & PROFCONV_LOCATION_NO_SYMBOL);
    }
    return unnamed;
}

void pfc_plan_profile(const profconv_profile *profile, const profconv_writer *target, const profconv_options *settings,
                      pfc_plan *plan) {
    uint32_t present = profconv_profile_facets(profile), asked = present;
    if ((present & PROFCONV_FACET_SYMBOLS) && (present & PROFCONV_FACET_ADDRESSES) && only_made_code_is_named(profile))
        asked &= ~(uint32_t)NAMES;
    pfc_plan_make(asked, target->needs, target->improves, settings, plan);
    /* What is there is enough to go on with when the rest finds no names. */
    plan->missing &= ~present;
    for (size_t i = 0; i < plan->count; i++)
        plan->steps[i].required &= (target->needs & ~present) != 0;
}
