/* SPDX-License-Identifier: MIT
 *
 * Which of a profile's columns becomes the one number of a line. Events are compared with and without modifiers:
 * "cycles" means "cycles:u" where that is what was recorded.
 */
#include <stdio.h>
#include <string.h>

#include "libprofconv/base/text.h"
#include "libprofconv/formats/collapsed/collapsed.h"

static profconv_string text_of(const char *text) {
    profconv_string s = {text, strlen(text)};
    return s;
}

static int is(profconv_string s, const char *text) { return pfc_string_equal(s, text_of(text)); }

/* 2: the whole name, 1: the name without modifiers, 0: another. "tracing:name" is no modifier but matches only whole,
 * as no event is asked for by "tracing". */
static int matches_event(profconv_string event, profconv_string asked) {
    size_t n = asked.size;
    if (pfc_string_equal(event, asked))
        return 2;
    if (event.size <= n || event.data[n] != ':' || memcmp(event.data, asked.data, n) != 0)
        return 0;
    for (size_t i = n + 1; i < event.size; i++) {
        if (!memchr("ukhIGHpPSDWeb", event.data[i], 13))
            return 0;
    }
    return 1;
}

/* Appends what is known of a type to a list: "cycles" or "samples". */
static size_t list_name(char *out, size_t size, size_t at, const char *name) {
    int n = snprintf(out + at, size - at, "%s%.60s", at ? ", " : "", name);
    if (n < 0 || (size_t)n >= size - at) {
        out[at] = '\0';
        return at;
    }
    return at + (size_t)n;
}

static int no_event(const profconv_profile *profile, const char *event, profconv_error *error) {
    char known[256] = "";
    size_t at = 0;
    profconv_id last = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        profconv_id id = profconv_profile_sample_type(profile, i)->event;
        if (id != 0 && id != last)
            at = list_name(known, sizeof known, at, profconv_profile_string(profile, id).data);
        last = id;
    }
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "setting collapsed.event: there is no event \"%.80s\" in the profile; it has %s", event,
                              at ? known : "no named events");
}

static int no_weight(const profconv_profile *profile, const char *weight, profconv_error *error) {
    char known[256] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        profconv_id id = profconv_profile_sample_type(profile, i)->name;
        at = list_name(known, sizeof known, at, profconv_profile_string(profile, id).data);
    }
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "setting collapsed.weight: there is no sample type \"%.80s\"; there are auto, samples, "
                              "period, %s",
                              weight, known);
}

/* How well a type fits what was asked for: 0 not at all. */
static int fit(const profconv_profile *profile, uint32_t index, profconv_string event, int event_match,
               const char *weight) {
    const profconv_sample_type *type = profconv_profile_sample_type(profile, index);
    profconv_string name = profconv_profile_string(profile, type->name);
    if (event_match && matches_event(profconv_profile_string(profile, type->event), event) != event_match)
        return 0;
    if (strcmp(weight, "auto") == 0)
        return type->role == PROFCONV_ROLE_WEIGHT ? 2 : 1;
    if (is(name, weight))
        return 3;
    if (strcmp(weight, "samples") == 0)
        return type->role == PROFCONV_ROLE_COUNT ? 2 : 0;
    return strcmp(weight, "period") == 0 && type->role == PROFCONV_ROLE_WEIGHT ? 2 : 0;
}

/* The type of this name, or `none`. */
static uint32_t by_name(const profconv_profile *profile, const char *name, uint32_t none) {
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        if (is(profconv_profile_string(profile, profconv_profile_sample_type(profile, i)->name), name))
            return i;
    }
    return none;
}

static int best_event_match(const profconv_profile *profile, profconv_string event) {
    int best = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        profconv_id id = profconv_profile_sample_type(profile, i)->event;
        int match = matches_event(profconv_profile_string(profile, id), event);
        best = match > best ? match : best;
    }
    return best;
}

int pfc_collapsed_choose_type(const profconv_profile *profile, const char *event, const char *weight, uint32_t *type,
                              profconv_error *error) {
    uint32_t types = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE);
    uint32_t usual = profconv_profile_default_sample_type(profile);
    profconv_string asked = text_of(event ? event : "");
    int match = event ? best_event_match(profile, asked) : 0;
    *type = 0;
    if (types == 0)
        return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "nothing to write as collapsed: the profile has no sample values");
    if (event && match == 0) {
        /* Profiles without events have names all the same: "cpu" of a pprof. */
        *type = by_name(profile, event, types);
        return *type < types ? PROFCONV_OK : no_event(profile, event, error);
    }
    if (!event) {
        *type = by_name(profile, weight, types);
        if (*type < types)
            return PROFCONV_OK;
        /* Otherwise the event of the usual column is meant, if it has one. */
        asked = profconv_profile_string(profile, profconv_profile_sample_type(profile, usual)->event);
        match = asked.size > 0 ? 2 : 0;
    }
    int best = 0;
    for (uint32_t i = 0; i < types; i++) {
        int here = fit(profile, i, asked, match, weight);
        if (here > 0 && i == usual && strcmp(weight, "auto") == 0)
            here = 4;
        if (here > 0 && here >= best) {
            best = here;
            *type = i;
        }
    }
    return best > 0 ? PROFCONV_OK : no_weight(profile, weight, error);
}

/* A column of another event is a loss; another column of the same event says the same in other units. */
void pfc_collapsed_report_types(const profconv_profile *profile, uint32_t type, profconv_report *report) {
    char names[2][200] = {"", ""};
    size_t at[2] = {0, 0};
    uint64_t count[2] = {0, 0};
    profconv_id event = profconv_profile_sample_type(profile, type)->event;
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        const profconv_sample_type *row = profconv_profile_sample_type(profile, i);
        int related = event != 0 && row->event == event;
        if (i == type)
            continue;
        count[related]++;
        at[related] =
            list_name(names[related], sizeof names[related], at[related], profconv_profile_string(profile, row->name).data);
    }
    const char *chosen = profconv_profile_string(profile, profconv_profile_sample_type(profile, type)->name).data;
    if (count[0])
        profconv_report_add(report, PROFCONV_NOTE_LOST, "sample-types", count[0], 0, PROFCONV_NO_OFFSET, 0,
                            "collapsed stacks hold one number: \"%.60s\" was written, left out: %s", chosen, names[0]);
    if (count[1])
        profconv_report_add(report, PROFCONV_NOTE_INFO, "sample-types-of-event", count[1], 0, PROFCONV_NO_OFFSET, 0,
                            "\"%.60s\" was written; the same event also has: %s", chosen, names[1]);
}
