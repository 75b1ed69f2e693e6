/* SPDX-License-Identifier: MIT
 *
 * Conditions on the labels of samples: process, thread, thread name, CPU, time, and any label by value or expression.
 */
#include <stdio.h>
#include <string.h>

#include "libprofconv/transform/filter.h"

profconv_string pfc_label_text(const profconv_profile *profile, const profconv_label *label, char scratch[24]) {
    if (!label->numeric || label->string)
        return profconv_profile_string(profile, label->string);
    size_t n = pfc_format_i64(scratch, label->number);
    scratch[n] = '\0';
    const profconv_string text = {scratch, n};
    return text;
}

int pfc_regex_compile(regex_t *regex, const char *setting, const char *text, profconv_error *error) {
    char message[120];
    int failed = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (!failed)
        return PROFCONV_OK;
    regerror(failed, regex, message, sizeof message);
    return profconv_error_set(error, failed == REG_ESPACE ? PROFCONV_E_NOMEM : PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "filter.%s=%s: not a regular expression: %s", setting, text, message);
}

static pfc_condition *add(pfc_conditions *c, pfc_condition_kind kind, const char *setting, const char *key, size_t size) {
    pfc_condition row;
    memset(&row, 0, sizeof row);
    row.kind = kind;
    row.setting = setting;
    row.key = key;
    row.key_size = size;
    return PFC_VEC_PUSH(c->mem, &c->rows, row) ? NULL : &c->rows.data[c->rows.count - 1];
}

/* ---- lists of numbers ---- */

static int add_range(pfc_conditions *c, pfc_condition *row, int64_t first, int64_t last) {
    const pfc_number_range range = {first, last};
    return PFC_VEC_PUSH(c->mem, &row->ranges, range);
}

/* "1,4-7", as perf has it. */
static int parse_numbers(pfc_conditions *c, pfc_condition *row, const char *text, profconv_error *error) {
    const char *p = text, *end = text + strlen(text);
    for (;;) {
        int64_t first, last;
        const char *next = pfc_parse_i64(p, end, &first);
        last = first;
        if (next && next < end && *next == '-')
            next = pfc_parse_i64(next + 1, end, &last);
        if (!next || (next < end && *next != ','))
            return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "filter.%s=%s: numbers and ranges with commas between are expected: 1,4-7", row->setting,
                                      text);
        if (add_range(c, row, first, last))
            return pfc_mem_error(c->mem, error);
        if (next == end)
            return PROFCONV_OK;
        p = next + 1;
    }
}

static int number_lists(pfc_conditions *c, profconv_error *error) {
    static const char *const keys[] = {"pid", "tid", "cpu"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const char *text = profconv_options_item(c->settings, PFC_FILTER_SCOPE, keys[k], 0);
        if (!text)
            continue;
        pfc_condition *row = add(c, PFC_CONDITION_NUMBERS, keys[k], keys[k], strlen(keys[k]));
        if (!row)
            return pfc_mem_error(c->mem, error);
        for (size_t i = 0; (text = profconv_options_item(c->settings, PFC_FILTER_SCOPE, keys[k], i)) != NULL; i++) {
            int status = parse_numbers(c, row, text, error);
            if (status)
                return status;
        }
    }
    return PROFCONV_OK;
}

/* ---- time ---- */

typedef struct span {
    int64_t first, last; /* nanoseconds; timestamps of the profile */
} span;

/* The `timestamp` labels of samples, in nanoseconds. */
static int find_span(const profconv_profile *p, span *out) {
    int found = 0;
    out->first = out->last = 0;
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LABEL); i++) {
        const profconv_label *l = profconv_profile_label(p, i);
        if (!l->numeric || strcmp(profconv_profile_string(p, l->key).data, "timestamp") != 0)
            continue;
        out->first = !found || l->number < out->first ? l->number : out->first;
        out->last = !found || l->number > out->last ? l->number : out->last;
        found = 1;
    }
    return found;
}

/* "12.5" as nanoseconds; *p moves behind it. */
static int parse_seconds(const char **p, const char *end, int64_t *out) {
    uint64_t whole, part = 0, unit = 100000000;
    const char *next = pfc_parse_u64(*p, end, &whole);
    if (!next || whole > INT64_MAX / 1000000000 - 1)
        return 0;
    if (next < end && *next == '.') {
        for (next++; next < end && *next >= '0' && *next <= '9'; next++, unit /= 10)
            part += unit * (uint64_t)(*next - '0');
    }
    *out = (int64_t)(whole * 1000000000 + part);
    *p = next;
    return 1;
}

/* A point in time: "12.5" (of the clock of the timestamps), "+1.5" (from the first one), "20%" (of the whole). Empty: `open`. */
static int parse_point(const char *p, const char *end, const span *all, int64_t open, int64_t *out) {
    int relative = p < end && *p == '+';
    if (p == end) {
        *out = open;
        return 1;
    }
    p += relative;
    if (!parse_seconds(&p, end, out))
        return 0;
    if (p < end && *p == '%' && !relative) {
        if (*out > (int64_t)100 * 1000000000) /* a share: billionths of a percent */
            return 0;
        double width = (double)all->last - (double)all->first;
        *out = all->first + (int64_t)(width / 100.0 * ((double)*out / 1e9));
        p++;
    } else if (relative) {
        int overflow = 0;
        *out = pfc_add_sat_i64(all->first, *out, &overflow);
    }
    return p == end;
}

static int time_range(pfc_conditions *c, const profconv_profile *p, profconv_error *error) {
    const char *text = profconv_options_get(c->settings, PFC_FILTER_SCOPE, "time");
    span all;
    int64_t first, last;
    if (!text)
        return PROFCONV_OK;
    const char *end = text + strlen(text);
    const char *comma = strchr(text, ',');
    if (!comma && strchr(text, '%'))
        comma = strchr(text, '-');
    pfc_condition *row = add(c, PFC_CONDITION_NUMBERS, "time", "timestamp", strlen("timestamp"));
    if (!row)
        return pfc_mem_error(c->mem, error);
    (void)find_span(p, &all);
    if (!comma || !parse_point(text, comma, &all, INT64_MIN, &first) || !parse_point(comma + 1, end, &all, INT64_MAX, &last))
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "filter.time=%s: START,STOP is expected, each empty, seconds (12.5), seconds from the first "
                                  "sample (+1.5) or a share (20%%)",
                                  text);
    return add_range(c, row, first, last) ? pfc_mem_error(c->mem, error) : PROFCONV_OK;
}

/* ---- any label ---- */

static int split_pair(const char *setting, const char *text, size_t *key, profconv_error *error) {
    *key = strcspn(text, "=");
    if (*key > 0 && text[*key] == '=')
        return PROFCONV_OK;
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "filter.%s=%s: KEY=VALUE is expected", setting,
                              text);
}

/* Values of one key are alternatives, keys are not: one condition a key. */
static int values(pfc_conditions *c, profconv_error *error) {
    const char *text;
    for (size_t i = 0; (text = profconv_options_item(c->settings, PFC_FILTER_SCOPE, "label", i)) != NULL; i++) {
        size_t key, known = 0;
        int status = split_pair("label", text, &key, error);
        if (status)
            return status;
        while (known < c->rows.count &&
               (c->rows.data[known].kind != PFC_CONDITION_VALUE || c->rows.data[known].key_size != key ||
                memcmp(c->rows.data[known].key, text, key) != 0))
            known++;
        if (known == c->rows.count && !add(c, PFC_CONDITION_VALUE, "label", text, key))
            return pfc_mem_error(c->mem, error);
    }
    return PROFCONV_OK;
}

static int expressions(pfc_conditions *c, const char *setting, pfc_condition_kind kind, profconv_error *error) {
    const char *text;
    for (size_t i = 0; (text = profconv_options_item(c->settings, PFC_FILTER_SCOPE, setting, i)) != NULL; i++) {
        size_t key;
        int status = split_pair(setting, text, &key, error);
        pfc_condition *row = status ? NULL : add(c, kind, setting, text, key);
        if (!status && !row)
            status = pfc_mem_error(c->mem, error);
        if (!status)
            status = pfc_regex_compile(&row->regex, setting, text + key + 1, error);
        if (status)
            return status;
        row->compiled = 1;
    }
    return PROFCONV_OK;
}

/* ---- the whole ---- */

static int names(pfc_conditions *c, profconv_error *error) {
    if (!profconv_options_has(c->settings, PFC_FILTER_SCOPE, "comm"))
        return PROFCONV_OK;
    pfc_condition *row = add(c, PFC_CONDITION_TEXTS, "comm", "thread", strlen("thread"));
    if (!row)
        return pfc_mem_error(c->mem, error);
    row->also = "comm";
    return PROFCONV_OK;
}

static int has_key(const pfc_condition *row, profconv_string key) {
    return (key.size == row->key_size && memcmp(key.data, row->key, key.size) == 0) ||
           (row->also && strcmp(row->also, key.data) == 0);
}

/* A condition on a label that no sample has would leave nothing, or everything: it is a mistake, and said. */
static int check_keys(pfc_conditions *c, const profconv_profile *p, profconv_error *error) {
    char known[200] = "";
    size_t at = 0;
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LABEL); i++) {
        profconv_string key = profconv_profile_string(p, profconv_profile_label(p, i)->key);
        for (size_t k = 0; k < c->rows.count; k++)
            c->rows.data[k].met |= has_key(&c->rows.data[k], key);
        if (key.size < 40 && at + key.size + 3 < sizeof known && !strstr(known, key.data))
            at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", key.data);
    }
    for (size_t k = 0; k < c->rows.count; k++) {
        const pfc_condition *row = &c->rows.data[k];
        if (!row->met && row->kind != PFC_CONDITION_NO_REGEX)
            return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                      "filter.%s: no sample has a label '%.*s'; labels there: %s", row->setting,
                                      (int)row->key_size, row->key, at ? known : "none");
    }
    return PROFCONV_OK;
}

int pfc_conditions_parse(pfc_conditions *c, pfc_mem *mem, const profconv_profile *profile, const profconv_options *settings,
                         profconv_error *error) {
    memset(c, 0, sizeof *c);
    c->mem = mem;
    c->settings = settings;
    int status = number_lists(c, error);
    if (!status)
        status = names(c, error);
    if (!status)
        status = time_range(c, profile, error);
    if (!status)
        status = values(c, error);
    if (!status)
        status = expressions(c, "tagfocus", PFC_CONDITION_REGEX, error);
    if (!status)
        status = expressions(c, "tagignore", PFC_CONDITION_NO_REGEX, error);
    return status ? status : check_keys(c, profile, error);
}

static int in_ranges(const pfc_condition *row, int64_t number) {
    for (size_t i = 0; i < row->ranges.count; i++) {
        if (number >= row->ranges.data[i].first && number <= row->ranges.data[i].last)
            return 1;
    }
    return 0;
}

static int in_list(const pfc_conditions *c, const pfc_condition *row, profconv_string text) {
    const char *value;
    size_t skip = row->kind == PFC_CONDITION_VALUE ? row->key_size + 1 : 0;
    for (size_t i = 0; (value = profconv_options_item(c->settings, PFC_FILTER_SCOPE, row->setting, i)) != NULL; i++) {
        if (skip && (strncmp(value, row->key, row->key_size) != 0 || value[row->key_size] != '='))
            continue;
        if (strlen(value + skip) == text.size && memcmp(value + skip, text.data, text.size) == 0)
            return 1;
    }
    return 0;
}

static int holds(const pfc_conditions *c, const pfc_condition *row, const profconv_profile *p, const profconv_label *label) {
    char scratch[24];
    profconv_string text = pfc_label_text(p, label, scratch);
    int64_t number = label->number;
    switch (row->kind) {
    case PFC_CONDITION_NUMBERS: /* ids are texts in some profiles */
        if (!label->numeric && pfc_parse_i64(text.data, text.data + text.size, &number) != text.data + text.size)
            return 0;
        return in_ranges(row, number);
    case PFC_CONDITION_TEXTS:
    case PFC_CONDITION_VALUE:
        return in_list(c, row, text);
    default:
        return regexec(&row->regex, text.data, 0, NULL, 0) == 0;
    }
}

pfc_condition *pfc_conditions_failed(pfc_conditions *c, const profconv_profile *p, profconv_id set) {
    const profconv_label_set *labels = profconv_profile_label_set(p, set);
    for (size_t k = 0; k < c->rows.count; k++) {
        pfc_condition *row = &c->rows.data[k];
        int any = 0;
        for (uint32_t i = 0; i < labels->count && !any; i++) {
            const profconv_label *label = profconv_profile_label(p, profconv_profile_label_item(p, labels->first + i));
            any = has_key(row, profconv_profile_string(p, label->key)) && holds(c, row, p, label);
        }
        if (any == (row->kind == PFC_CONDITION_NO_REGEX))
            return row;
    }
    return NULL;
}

void pfc_conditions_free(pfc_conditions *c) {
    for (size_t k = 0; k < c->rows.count; k++) {
        if (c->rows.data[k].compiled)
            regfree(&c->rows.data[k].regex);
        PFC_VEC_FREE(c->mem, &c->rows.data[k].ranges);
    }
    if (c->mem)
        PFC_VEC_FREE(c->mem, &c->rows);
}
