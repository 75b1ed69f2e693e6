/* SPDX-License-Identifier: MIT
 *
 * Sample types into events: a column of counts and the column of weights behind it that belongs to the same event are
 * one; any other column is an event of its own. Events that perf knows get their numbers; others are raw events, with
 * their name in the description, which is what tools show (perf's own event for nothing, "dummy", would lose its
 * addresses in perf script).
 */
#include "libprofconv/formats/perf-data/write.h"

#include <string.h>

static const struct known_event {
    const char *name;
    uint32_t type, config;
} known_events[] = {
    {"cycles", 0, 0},         {"cpu-cycles", 0, 0},   {"instructions", 0, 1},        {"cache-references", 0, 2},
    {"cache-misses", 0, 3},   {"branches", 0, 4},     {"branch-instructions", 0, 4}, {"branch-misses", 0, 5},
    {"bus-cycles", 0, 6},     {"ref-cycles", 0, 9},   {"cpu-clock", 1, 0},           {"task-clock", 1, 1},
    {"page-faults", 1, 2},    {"faults", 1, 2},       {"context-switches", 1, 3},    {"cs", 1, 3},
    {"cpu-migrations", 1, 4}, {"minor-faults", 1, 5}, {"major-faults", 1, 6},        {"alignment-faults", 1, 7},
};

enum { SOFTWARE = 1, RAW = 4 };
enum { EXCLUDE_USER = 1 << 4, EXCLUDE_KERNEL = 1 << 5, EXCLUDE_HV = 1 << 6 };

static int is(profconv_string s, const char *text) {
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static profconv_string text_of(const pw_writer *w, profconv_id id) { return profconv_profile_string(w->profile, id); }

/* What stands before the modifiers of "cycles:u", and the flags of what they exclude. */
static profconv_string base_of(profconv_string name, uint32_t *modifiers) {
    const char *colon = name.size ? memchr(name.data, ':', name.size) : NULL;
    *modifiers = 0;
    if (!colon)
        return name;
    size_t at = (size_t)(colon - name.data), rest = name.size - at - 1;
    int user = 0, kernel = 0, hypervisor = 0;
    for (size_t i = 0; i < rest; i++) {
        char c = colon[1 + i];
        if (!memchr("ukhpPGHSDIWeb", c, 13))
            return name;
        user |= c == 'u';
        kernel |= c == 'k';
        hypervisor |= c == 'h';
    }
    if (user || kernel || hypervisor)
        *modifiers = (user ? 0u : EXCLUDE_USER) | (kernel ? 0u : EXCLUDE_KERNEL) | (hypervisor ? 0u : EXCLUDE_HV);
    profconv_string base = {name.data, at};
    return base;
}

static void number_event(pw_event *e, int is_time) {
    profconv_string base = base_of(e->name, &e->modifiers);
    e->type = is_time ? SOFTWARE : RAW;
    e->config = 0;
    for (size_t i = 0; i < sizeof known_events / sizeof *known_events; i++)
        if (is(base, known_events[i].name)) {
            e->type = known_events[i].type;
            e->config = known_events[i].config;
        }
}

/* "X_samples" beside "X", or "samples" beside anything. */
static int names_pair(profconv_string count, profconv_string weight) {
    static const char tail[] = "_samples";
    size_t n = sizeof tail - 1;
    if (is(count, "samples"))
        return 1;
    return count.size == weight.size + n && memcmp(count.data + weight.size, tail, n) == 0 &&
           memcmp(count.data, weight.data, weight.size) == 0;
}

static int is_pair(const pw_writer *w, const profconv_sample_type *a, const profconv_sample_type *b) {
    if (a->role != PROFCONV_ROLE_COUNT || b->role == PROFCONV_ROLE_COUNT)
        return 0;
    if (a->event && a->event == b->event)
        return 1;
    return a->event == 0 && b->event == 0 && names_pair(text_of(w, a->name), text_of(w, b->name));
}

static int add_event(pw_writer *w, uint32_t count, uint32_t weight) {
    pw_event e;
    memset(&e, 0, sizeof e);
    e.count_column = count;
    e.weight_column = weight;
    const profconv_sample_type *type = profconv_profile_sample_type(w->profile, weight != PW_NONE ? weight : count);
    const profconv_info *info = profconv_profile_info(w->profile);
    profconv_string name = text_of(w, type->event ? type->event : type->name);
    int64_t period = type->period > 0 ? type->period : 0;
    int is_time = is(text_of(w, type->unit), "nanoseconds");
    if (!period && count != PW_NONE && weight == PW_NONE && info->period > 0) {
        /* Samples without a weight: each stands for the profile's period. */
        period = info->period;
        is_time = is(text_of(w, info->period_unit), "nanoseconds");
        if (!type->event && info->period_type)
            name = text_of(w, info->period_type);
    }
    if (is_time && is(name, "cpu")) {
        name.data = "cpu-clock";
        name.size = 9;
    }
    e.name = name;
    e.period = period > 0 ? (uint64_t)period : 1;
    number_event(&e, is_time);
    return PFC_VEC_PUSH(&w->mem, &w->events, e) ? pw_failed(w) : 0;
}

int pw_find_events(pw_writer *w) {
    uint32_t types = profconv_profile_rows(w->profile, PROFCONV_TABLE_SAMPLE_TYPE);
    int status = 0;
    for (uint32_t i = 0; i < types && !status; i++) {
        const profconv_sample_type *a = profconv_profile_sample_type(w->profile, i);
        if (i + 1 < types && is_pair(w, a, profconv_profile_sample_type(w->profile, i + 1))) {
            status = add_event(w, i, i + 1);
            i++;
        } else if (a->role == PROFCONV_ROLE_COUNT) {
            status = add_event(w, i, PW_NONE);
        } else {
            status = add_event(w, PW_NONE, i);
        }
        if (w->set.branches)
            break; /* the records of branches do not tell their events apart */
    }
    if (!status && w->events.count == 0 && w->set.branches) {
        static const profconv_string name = {"cycles", 6};
        pw_event e;
        memset(&e, 0, sizeof e);
        e.count_column = e.weight_column = PW_NONE;
        e.name = name;
        e.period = 1;
        status = PFC_VEC_PUSH(&w->mem, &w->events, e) ? pw_failed(w) : 0;
    }
    return status;
}
