/* SPDX-License-Identifier: MIT
 *
 * Which passes run between reading and writing. A pass is worth running when it can start from what is there (or
 * from what an earlier pass adds) and adds a facet that the writer needs or would be better for. The one list of passes
 * is here; a new one is one line in it and one row in the settings.
 */
#include <stdio.h>
#include <string.h>

#include "libprofconv/convert/convert.h"

#include <profconv/transform.h>

static const pfc_pass *const passes[] = {
    &pfc_symbolize_pass,
    &pfc_attribute_pass,
    &pfc_expand_pass,
};

#define PASS_COUNT (sizeof passes / sizeof *passes)
_Static_assert(PASS_COUNT <= PFC_PASS_LIMIT, "a plan has a step for each pass");

/* One row a pass, named like it. */
#define WHEN_CHOICES "auto|no|yes"
const profconv_setting pfc_convert_settings[] = {
    {"symbolize", PROFCONV_SETTING_ENUM, "auto", WHEN_CHOICES,
     "name the code: when names are missing and wanted, never, or always"},
    {"attribute", PROFCONV_SETTING_ENUM, "auto", WHEN_CHOICES,
     "count source positions: when the target holds them, never, or always"},
    {"expand", PROFCONV_SETTING_ENUM, "auto", WHEN_CHOICES,
     "make stacks of a source profile: when the target holds stacks, never, or always"},
    {NULL, 0, NULL, NULL, NULL},
};

const pfc_pass *pfc_pass_find(const char *name) {
    for (size_t i = 0; i < PASS_COUNT; i++) {
        if (strcmp(passes[i]->name, name) == 0)
            return passes[i];
    }
    return NULL;
}

const char *profconv_pass_name(size_t index, const profconv_setting **settings) {
    if (index > PASS_COUNT + 1)
        return NULL;
    if (settings)
        *settings = index < PASS_COUNT    ? passes[index]->settings
                    : index == PASS_COUNT ? pfc_convert_settings
                                          : profconv_filter_settings();
    return index < PASS_COUNT ? passes[index]->name : index == PASS_COUNT ? PFC_CONVERT_SCOPE : PFC_FILTER_SCOPE;
}

static const char *when(const profconv_options *settings, const pfc_pass *pass) {
    const char *value = profconv_options_string(settings, PFC_CONVERT_SCOPE, pfc_convert_settings, pass->name);
    return value ? value : "auto";
}

/* Facets that are counts. A pass that makes one is never run where there is one already: it would count the same
 * samples twice. */
#define COUNTED (PROFCONV_FACET_STACKS | PROFCONV_FACET_BRANCHES | PROFCONV_FACET_SOURCE_COUNTS)

/* The passes that can run, each after those whose facets it can start from; returns how many. */
static size_t runnable(uint32_t present, const profconv_options *settings, const pfc_pass *order[PASS_COUNT]) {
    size_t count = 0;
    int used[PASS_COUNT] = {0};
    for (int progress = 1; progress;) {
        progress = 0;
        for (size_t i = 0; i < PASS_COUNT; i++) {
            const pfc_pass *pass = passes[i];
            if (used[i] || !(pass->needs & present) || (pass->adds & present & COUNTED))
                continue;
            if (strcmp(when(settings, pass), "no") == 0)
                continue;
            used[i] = 1;
            order[count++] = pass;
            present |= pass->adds;
            progress = 1;
        }
    }
    return count;
}

/* The first pass of `order` before `end` that adds a facet: the one that works from the most direct source. */
static size_t provider(const pfc_pass *const *order, size_t end, uint32_t facets) {
    size_t i = 0;
    while (i < end && !(order[i]->adds & facets))
        i++;
    return i;
}

/* Marks what must run so that pass `i` has something to start from, and so on back. */
static void choose(const pfc_pass *const *order, size_t i, uint32_t present, int required, pfc_plan_step *chosen) {
    for (;;) {
        chosen[i].pass = order[i];
        chosen[i].required |= required;
        if (order[i]->needs & present)
            return;
        i = provider(order, i, order[i]->needs); /* there is one, or the pass would not be in the order */
    }
}

void pfc_plan_make(uint32_t present, uint32_t needs, uint32_t improves, const profconv_options *settings,
                   pfc_plan *plan) {
    const pfc_pass *order[PASS_COUNT];
    pfc_plan_step chosen[PASS_COUNT];
    size_t count = runnable(present, settings, order);
    memset(plan, 0, sizeof *plan);
    memset(chosen, 0, sizeof chosen);
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        size_t i = provider(order, count, bit);
        if (((needs | improves) & ~present & bit) && i < count)
            choose(order, i, present, (needs & bit) != 0, chosen);
    }
    uint32_t reached = present;
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i].pass && strcmp(when(settings, order[i]), "yes") == 0)
            choose(order, i, present, 0, chosen);
    }
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i].pass)
            continue;
        plan->steps[plan->count++] = chosen[i];
        reached |= chosen[i].pass->adds;
    }
    plan->missing = needs & ~reached;
}

void pfc_facet_list(uint32_t facets, char *out, size_t size) {
    size_t at = 0;
    snprintf(out, size, "nothing");
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        if (!(facets & bit))
            continue;
        int n = snprintf(out + at, size - at, "%s%s", at ? ", " : "", profconv_facet_name(bit));
        if (n < 0 || (size_t)n >= size - at)
            return;
        at += (size_t)n;
    }
}

static int ran(const pfc_plan *plan, const pfc_pass *pass) {
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].pass == pass)
            return 1;
    }
    return 0;
}

int pfc_plan_missing(const pfc_plan *plan, const char *format, uint32_t present, profconv_error *error) {
    char missing[96];
    char there[96];
    char advice[200] = "";
    pfc_facet_list(plan->missing, missing, sizeof missing);
    pfc_facet_list(present, there, sizeof there);
    size_t at = 0;
    for (size_t i = 0; i < PASS_COUNT; i++) {
        if (!(passes[i]->adds & plan->missing))
            continue;
        char from[96];
        pfc_facet_list(passes[i]->needs, from, sizeof from);
        int n;
        if (ran(plan, passes[i]))
            n = snprintf(advice + at, sizeof advice - at, "; %s found none", passes[i]->name);
        else if (passes[i]->needs & present)
            n = snprintf(advice + at, sizeof advice - at, "; %s could add it, but was switched off", passes[i]->name);
        else
            n = snprintf(advice + at, sizeof advice - at, "; %s could add it from %s", passes[i]->name, from);
        if (n < 0 || (size_t)n >= sizeof advice - at) {
            advice[at] = '\0';
            break;
        }
        at += (size_t)n;
    }
    return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                              "%s needs %s, and the profile holds %s%s", format, missing, there, advice);
}
