/* SPDX-License-Identifier: MIT
 *
 * Reading the settings that choose samples.
 */
#include "libprofconv/formats/common/selection.h"

#include <stdio.h>
#include <string.h>

#include "libprofconv/base/text.h"

static const char *const label_names[PFC_LABEL_COUNT] = {"pid", "tid", "thread", "comm", "cpu", "timestamp", "cgroup"};

int pfc_selection_invalid(const pfc_selection_source *from, const char *key, const char *value, const char *expected) {
    return profconv_error_set(from->error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "%s.%s=%s: %s expected",
                              from->scope, key, value, expected);
}

static int failed(const pfc_selection_source *from) {
    int status = profconv_builder_status(from->builder, from->error);
    return status ? status : pfc_mem_error(from->mem, from->error);
}

/* The piece of a comma list that begins at p; *next is behind the comma, or NULL after the last. */
static size_t piece(const char *p, const char **next) {
    const char *comma = strchr(p, ',');
    *next = comma ? comma + 1 : NULL;
    return comma ? (size_t)(comma - p) : strlen(p);
}

static int read_numbers(const pfc_selection_source *from, const char *key, pfc_numbers *out) {
    const char *value;
    for (size_t i = 0; (value = profconv_options_item(from->options, from->scope, key, i)) != NULL; i++)
        for (const char *p = value, *next; p; p = next) {
            const char *end = p + piece(p, &next);
            pfc_number_range range;
            const char *at = pfc_parse_i64(p, end, &range.first);
            range.last = range.first;
            if (at && at < end && *at == '-' && range.first >= 0)
                at = pfc_parse_i64(at + 1, end, &range.last);
            if (!at || at != end || range.first < -1 || range.last < range.first || range.last > from->most)
                return pfc_selection_invalid(from, key, value, "numbers or ranges A-B, with commas between them,");
            if (PFC_VEC_PUSH(from->mem, out, range))
                return failed(from);
        }
    return 0;
}

static int read_comms(pfc_selection *selection, const pfc_selection_source *from) {
    const char *value;
    for (size_t i = 0; (value = profconv_options_item(from->options, from->scope, "comm", i)) != NULL; i++)
        for (const char *p = value, *next; p; p = next) {
            size_t n = piece(p, &next);
            if (PFC_VEC_PUSH(from->mem, &selection->comms, profconv_builder_string(from->builder, p, n)))
                return failed(from);
        }
    return 0;
}

static int no_label(const pfc_selection_source *from, const char *text) {
    char names[128];
    size_t at = 0;
    for (unsigned i = 0; i < from->labels; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                               i == 0                 ? ""
                               : i + 1 < from->labels ? ", "
                                                      : " or ",
                               label_names[i]);
    return pfc_selection_invalid(from, "labels", text, names);
}

static int read_labels(pfc_selection *selection, const pfc_selection_source *from) {
    const char *text = profconv_options_string(from->options, from->scope, from->settings, "labels");
    for (const char *p = text, *next; p; p = next) {
        size_t n = piece(p, &next);
        if (n == 0 || (n == 4 && memcmp(p, "none", 4) == 0))
            continue;
        unsigned i = 0;
        while (i < from->labels && (strlen(label_names[i]) != n || memcmp(label_names[i], p, n) != 0))
            i++;
        if (i == from->labels)
            return no_label(from, text);
        selection->labels |= 1u << i;
    }
    for (unsigned i = 0; i < from->labels; i++)
        selection->label_keys[i] = profconv_builder_cstring(from->builder, label_names[i]);
    selection->nanoseconds = profconv_builder_cstring(from->builder, "nanoseconds");
    return 0;
}

/* Seconds with a fraction of up to nine digits, in nanoseconds. */
static const char *seconds(const char *p, const char *end, uint64_t *ns) {
    uint64_t whole = 0, unit = 100000000;
    const char *at = pfc_parse_u64(p, end, &whole);
    if (!at || whole > UINT64_MAX / 1000000000u - 1)
        return NULL;
    *ns = whole * 1000000000u;
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++, unit /= 10)
            *ns += unit * (uint64_t)(*at - '0');
    return at;
}

int pfc_selection_read_time(pfc_selection *selection, const pfc_selection_source *from, const char *text) {
    const char *end = text + strlen(text), *at = text;
    selection->time = 1;
    selection->time_stop = UINT64_MAX;
    if (*at != ',')
        at = seconds(at, end, &selection->time_start);
    if (!at || *at != ',')
        return pfc_selection_invalid(from, "time", text, from->time);
    if (++at < end)
        at = seconds(at, end, &selection->time_stop);
    return at == end && selection->time_start <= selection->time_stop
               ? 0
               : pfc_selection_invalid(from, "time", text, from->time);
}

int pfc_selection_read(pfc_selection *selection, const pfc_selection_source *from) {
    selection->kernel = profconv_options_bool(from->options, from->scope, from->settings, "kernel");
    selection->branches = profconv_options_bool(from->options, from->scope, from->settings, "branches");
    int64_t max_stack = profconv_options_int(from->options, from->scope, from->settings, "max-stack");
    if (max_stack < 0)
        return pfc_selection_invalid(from, "max-stack", profconv_options_get(from->options, from->scope, "max-stack"),
                                     "a number from 0 on");
    selection->max_stack = max_stack > UINT32_MAX ? UINT32_MAX : (uint32_t)max_stack;
    selection->events = profconv_options_item(from->options, from->scope, "event", 0) != NULL;
    int status = read_numbers(from, "pid", &selection->pids);
    if (status == 0)
        status = read_numbers(from, "tid", &selection->tids);
    if (status == 0)
        status = read_numbers(from, "cpu", &selection->cpus);
    if (status == 0)
        status = read_comms(selection, from);
    return status ? status : read_labels(selection, from);
}

void pfc_selection_free(pfc_selection *selection, pfc_mem *mem) {
    PFC_VEC_FREE(mem, &selection->pids);
    PFC_VEC_FREE(mem, &selection->tids);
    PFC_VEC_FREE(mem, &selection->cpus);
    PFC_VEC_FREE(mem, &selection->comms);
}

int pfc_numbers_hold(const pfc_numbers *numbers, int known, int64_t value) {
    for (size_t i = 0; known && i < numbers->count; i++)
        if (value >= numbers->data[i].first && value <= numbers->data[i].last)
            return 1;
    return numbers->count == 0;
}

int pfc_selection_comm(const pfc_selection *selection, profconv_id comm) {
    for (size_t i = 0; i < selection->comms.count; i++)
        if (selection->comms.data[i] == comm)
            return 1;
    return selection->comms.count == 0;
}

static profconv_id key_of(const pfc_selection *selection, unsigned label) {
    unsigned i = 0;
    while (i + 1 < PFC_LABEL_COUNT && !(label >> i & 1))
        i++;
    return selection->label_keys[i];
}

profconv_id pfc_selection_number(const pfc_selection *selection, profconv_builder *builder, unsigned label,
                                 int64_t number) {
    profconv_label row = {number, key_of(selection, label), 0,
                          label == PFC_LABEL_TIMESTAMP ? selection->nanoseconds : 0, 1};
    return profconv_builder_label(builder, &row);
}

profconv_id pfc_selection_text(const pfc_selection *selection, profconv_builder *builder, unsigned label,
                               profconv_id text) {
    profconv_label row = {0, key_of(selection, label), text, 0, 0};
    return profconv_builder_label(builder, &row);
}
