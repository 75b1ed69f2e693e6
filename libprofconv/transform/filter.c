/* SPDX-License-Identifier: MIT
 *
 * Filtering: which samples stay, with which columns and which stacks. Rows that become equal add up.
 */
#include <stdio.h>
#include <string.h>

#include "libprofconv/transform/filter.h"

const profconv_setting pfc_filter_declared[] = {
    {"event", PROFCONV_SETTING_LIST, NULL, NULL, "keep only the values of these events or sample types"},
    {"pid", PROFCONV_SETTING_LIST, NULL, NULL, "keep only samples of these processes (numbers, ranges, commas)"},
    {"tid", PROFCONV_SETTING_LIST, NULL, NULL, "keep only samples of these threads"},
    {"comm", PROFCONV_SETTING_LIST, NULL, NULL, "keep only samples of threads with these names"},
    {"cpu", PROFCONV_SETTING_LIST, NULL, NULL, "keep only samples of these CPUs"},
    {"time", PROFCONV_SETTING_STRING, NULL, NULL,
     "keep only samples in START,STOP: seconds of their clock, +seconds from the first sample, or 10%,20%; either may be empty"},
    {"label", PROFCONV_SETTING_LIST, NULL, NULL, "keep only samples with the label KEY=VALUE; values of one key are alternatives"},
    {"tagfocus", PROFCONV_SETTING_LIST, NULL, NULL, "keep only samples with a label KEY=REGEX"},
    {"tagignore", PROFCONV_SETTING_LIST, NULL, NULL, "leave out samples with a label KEY=REGEX"},
    {"focus", PROFCONV_SETTING_STRING, NULL, NULL, "keep only stacks with a frame that matches"},
    {"ignore", PROFCONV_SETTING_STRING, NULL, NULL, "leave out stacks with a frame that matches"},
    {"show", PROFCONV_SETTING_STRING, NULL, NULL, "keep only frames that match"},
    {"hide", PROFCONV_SETTING_STRING, NULL, NULL, "leave out frames that match"},
    {"show-from", PROFCONV_SETTING_STRING, NULL, NULL, "leave out the callers of the outermost frame that matches"},
    {"prune-from", PROFCONV_SETTING_STRING, NULL, NULL, "leave out what the innermost function that matches calls"},
    {"max-stack", PROFCONV_SETTING_INT, "0", NULL, "keep at most this many frames from the leaf on (0: all)"},
    {"tagroot", PROFCONV_SETTING_LIST, NULL, NULL, "labels whose values become outermost frames, first key outermost"},
    {"tagleaf", PROFCONV_SETTING_LIST, NULL, NULL, "labels whose values become innermost frames, last key innermost"},
    {"granularity", PROFCONV_SETTING_ENUM, "address", "address|line|function|file|mapping", "what frames are told apart by"},
    {"inline", PROFCONV_SETTING_BOOL, "yes", NULL, "keep inlined functions as frames"},
    {"nodes", PROFCONV_SETTING_INT, "0", NULL, "keep this many heaviest nodes of the call tree, the rest as [other] (0: all)"},
    {NULL, (profconv_setting_type)0, NULL, NULL, NULL}};

/* How many of them, from the first on, are of PROFCONV_FILTER_SAMPLES. */
enum { SAMPLE_SETTINGS = 9 };

const profconv_setting *profconv_filter_settings(void) { return pfc_filter_declared; }

int profconv_filter_wanted(const profconv_options *settings, uint32_t stages) {
    for (int i = 0; pfc_filter_declared[i].name; i++) {
        uint32_t stage = i < SAMPLE_SETTINGS ? PROFCONV_FILTER_SAMPLES : PROFCONV_FILTER_FRAMES;
        if ((stages & stage) && profconv_options_has(settings, PFC_FILTER_SCOPE, pfc_filter_declared[i].name))
            return 1;
    }
    return 0;
}

typedef struct filter {
    pfc_copy copy;
    pfc_conditions conditions;
    pfc_frame_filter frames;
    uint32_t stages;
    uint32_t weight; /* column of the notes */
    uint32_t *columns; /* of the profile, that stay */
    uint32_t column_count;
    int64_t *values;
    size_t types;
    uint64_t dropped[PFC_VERDICTS];
    int64_t dropped_weight[PFC_VERDICTS];
    uint64_t event_rows;
    int64_t event_weight;
    profconv_id *stacks; /* per stack of the profile: made; without tags only */
    uint8_t *verdicts;   /* 1 + pfc_verdict */
} filter;

/* ---- events ---- */

/* "cycles" is "cycles:u", too. */
static int is_event(profconv_string have, const char *want) {
    size_t size = strlen(want);
    return have.size >= size && memcmp(have.data, want, size) == 0 &&
           (have.size == size || (have.data[size] == ':' && !strchr(want, ':')) ||
            (have.data[size] == '/' && !strchr(want, '/')));
}

static int wanted_type(const profconv_profile *p, const profconv_sample_type *t, const char *want) {
    return (t->event && is_event(profconv_profile_string(p, t->event), want)) ||
           is_event(profconv_profile_string(p, t->name), want);
}

static int choose_columns(filter *f, const profconv_options *settings, profconv_error *error) {
    const profconv_profile *p = f->copy.from;
    const char *want = NULL;
    char known[240] = "";
    size_t at = 0;
    int all = !(f->stages & PROFCONV_FILTER_SAMPLES) || !profconv_options_has(settings, PFC_FILTER_SCOPE, "event");
    for (size_t k = 0; k < f->types; k++) {
        const profconv_sample_type *t = profconv_profile_sample_type(p, (uint32_t)k);
        profconv_string name = profconv_profile_string(p, t->event ? t->event : t->name);
        int keep = all;
        for (size_t i = 0; !keep && (want = profconv_options_item(settings, PFC_FILTER_SCOPE, "event", i)) != NULL; i++)
            keep = wanted_type(p, t, want);
        if (keep) {
            f->columns[f->column_count++] = (uint32_t)k;
            pfc_copy_sample_type(&f->copy, (uint32_t)k);
        }
        if (name.size < 60 && at + name.size + 3 < sizeof known)
            at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", name.data);
    }
    if (f->column_count)
        return PROFCONV_OK;
    return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0,
                              "filter.event=%s: there is no such event; events there: %s",
                              profconv_options_item(settings, PFC_FILTER_SCOPE, "event", 0), at ? known : "none");
}

/* ---- samples ---- */

/* The stack in the builder, through the memory of what was made of it before. */
static pfc_verdict make_stack(filter *f, profconv_id stack, profconv_id set, profconv_id *out) {
    if (!(f->stages & PROFCONV_FILTER_FRAMES)) {
        *out = pfc_copy_stack(&f->copy, stack);
        return PFC_KEEP;
    }
    int tags = f->frames.tag_runs != NULL;
    if (!tags && f->verdicts[stack]) {
        *out = f->stacks[stack];
        return (pfc_verdict)(f->verdicts[stack] - 1);
    }
    pfc_verdict verdict = pfc_frame_filter_apply(&f->frames, stack, set);
    *out = verdict == PFC_KEEP
               ? profconv_builder_stack_leaf_first(f->copy.builder, f->frames.stack.data, f->frames.stack.count)
               : 0;
    f->verdicts[stack] = (uint8_t)(verdict + 1);
    f->stacks[stack] = *out;
    return verdict;
}

static void filter_samples(filter *f) {
    const profconv_profile *p = f->copy.from;
    int overflow = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE) && !pfc_copy_stopped(&f->copy); i++) {
        profconv_id set = profconv_profile_sample_label_set(p, i), stack;
        int64_t weight = f->types ? profconv_profile_sample_value(p, i, f->weight) : 0;
        pfc_condition *failed =
            f->stages & PROFCONV_FILTER_SAMPLES ? pfc_conditions_failed(&f->conditions, p, set) : NULL;
        if (failed) {
            failed->rows++;
            failed->weight = pfc_add_sat_i64(failed->weight, weight, &overflow);
            continue;
        }
        int any = f->column_count == f->types;
        for (uint32_t k = 0; k < f->column_count; k++) {
            f->values[k] = profconv_profile_sample_value(p, i, f->columns[k]);
            any |= f->values[k] != 0;
        }
        if (!any) {
            f->event_rows++;
            f->event_weight = pfc_add_sat_i64(f->event_weight, weight, &overflow);
            continue;
        }
        pfc_verdict verdict = make_stack(f, profconv_profile_sample_stack(p, i), set, &stack);
        if (verdict != PFC_KEEP) {
            f->dropped[verdict]++;
            f->dropped_weight[verdict] = pfc_add_sat_i64(f->dropped_weight[verdict], weight, &overflow);
            continue;
        }
        profconv_builder_sample(f->copy.builder, stack, pfc_copy_label_set(&f->copy, set), 0, f->values, f->column_count);
    }
}

/* ---- notes ---- */

static void note(filter *f, const char *cause, const char *why, uint64_t rows, int64_t weight) {
    if (rows)
        profconv_report_add(profconv_builder_report(f->copy.builder), PROFCONV_NOTE_INFO, cause, rows, weight,
                            PROFCONV_NO_OFFSET, 0, "samples left out by filter.%s", why);
}

static void note_all(filter *f) {
    static const char *const causes[PFC_VERDICTS][2] = {{NULL, NULL},
                                                        {"filtered-focus", "focus"},
                                                        {"filtered-ignore", "ignore"},
                                                        {"filtered-show-from", "show-from"},
                                                        {"filtered-hidden", "show and filter.hide"}};
    char cause[40];
    for (size_t k = 0; k < f->conditions.rows.count; k++) {
        const pfc_condition *row = &f->conditions.rows.data[k];
        snprintf(cause, sizeof cause, "filtered-%s", row->setting);
        note(f, cause, row->setting, row->rows, row->weight);
    }
    note(f, "filtered-event", "event", f->event_rows, f->event_weight);
    for (int v = PFC_KEEP + 1; v < PFC_VERDICTS; v++)
        note(f, causes[v][0], causes[v][1], f->dropped[v], f->dropped_weight[v]);
    static const struct {
        profconv_table table;
        uint32_t first;
        const char *cause, *what;
    } others[] = {{PROFCONV_TABLE_BRANCH, 0, "facet-branches", "branch records cannot be filtered by samples and were left out"},
                  {PROFCONV_TABLE_RANGE, 0, "facet-branches", "branch records cannot be filtered by samples and were left out"},
                  {PROFCONV_TABLE_SOURCE, 1, "facet-source-counts", "source counts cannot be filtered by samples and were left out"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        uint32_t rows = profconv_profile_rows(f->copy.from, others[i].table);
        if (rows > others[i].first)
            profconv_report_add(profconv_builder_report(f->copy.builder), PROFCONV_NOTE_LOST, others[i].cause,
                                rows - others[i].first, 0, PROFCONV_NO_OFFSET, 0, "%s", others[i].what);
    }
}

/* An empty result is an error that names the filter that took most. */
static int check_left(const filter *f, uint32_t before, const profconv_profile *after, profconv_error *error) {
    static const char *const names[PFC_VERDICTS] = {"", "focus", "ignore", "show-from", "show or filter.hide"};
    const char *most = "event";
    uint64_t rows = f->event_rows;
    if (profconv_profile_rows(after, PROFCONV_TABLE_SAMPLE) > 0)
        return PROFCONV_OK;
    for (size_t k = 0; k < f->conditions.rows.count; k++) {
        if (f->conditions.rows.data[k].rows > rows) {
            rows = f->conditions.rows.data[k].rows;
            most = f->conditions.rows.data[k].setting;
        }
    }
    for (int v = PFC_KEEP + 1; v < PFC_VERDICTS; v++) {
        if (f->dropped[v] > rows) {
            rows = f->dropped[v];
            most = names[v];
        }
    }
    return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                              "nothing is left of %lu rows of samples: filter.%s left out %llu", (unsigned long)before, most,
                              (unsigned long long)rows);
}

/* ---- the whole ---- */

static int filter_start(filter *f, const profconv_options *settings, profconv_error *error) {
    pfc_mem *mem = &f->copy.mem;
    const profconv_profile *p = f->copy.from;
    f->types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    f->weight = profconv_profile_default_sample_type(p);
    f->columns = (uint32_t *)pfc_alloc_zero(mem, (f->types + 1) * sizeof *f->columns);
    f->values = (int64_t *)pfc_alloc_zero(mem, (f->types + 1) * sizeof *f->values);
    f->stacks = (profconv_id *)pfc_alloc_zero(mem, f->copy.rows[PFC_COPY_STACKS] * sizeof *f->stacks);
    f->verdicts = (uint8_t *)pfc_alloc_zero(mem, f->copy.rows[PFC_COPY_STACKS]);
    if (!f->columns || !f->values || !f->stacks || !f->verdicts)
        return pfc_mem_error(mem, error);
    int status = choose_columns(f, settings, error);
    if (!status && (f->stages & PROFCONV_FILTER_SAMPLES))
        status = pfc_conditions_parse(&f->conditions, mem, p, settings, error);
    if (!status && (f->stages & PROFCONV_FILTER_FRAMES))
        status = pfc_frame_filter_parse(&f->frames, &f->copy, settings, error);
    return status;
}

static void filter_end(filter *f) {
    pfc_mem *mem = &f->copy.mem;
    pfc_conditions_free(&f->conditions);
    pfc_frame_filter_free(&f->frames);
    pfc_free(mem, f->columns, f->columns ? (f->types + 1) * sizeof *f->columns : 0);
    pfc_free(mem, f->values, f->values ? (f->types + 1) * sizeof *f->values : 0);
    pfc_free(mem, f->stacks, f->stacks ? f->copy.rows[PFC_COPY_STACKS] * sizeof *f->stacks : 0);
    pfc_free(mem, f->verdicts, f->verdicts ? f->copy.rows[PFC_COPY_STACKS] : 0);
}

static int keep_nodes(profconv_profile **profile, const profconv_options *settings, profconv_error *error) {
    int64_t nodes = profconv_options_int(settings, PFC_FILTER_SCOPE, pfc_filter_declared, "nodes");
    profconv_profile *kept = NULL;
    if (nodes < 0 || nodes > UINT32_MAX)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "filter.nodes=%lld: not a number of nodes",
                                  (long long)nodes);
    if (nodes == 0)
        return PROFCONV_OK;
    int status = profconv_keep_top(*profile, (uint32_t)nodes, &kept, error);
    if (status)
        return status;
    profconv_profile_free(*profile);
    *profile = kept;
    return PROFCONV_OK;
}

int profconv_filter(profconv_profile **profile, const profconv_options *settings, uint32_t stages, profconv_error *error) {
    filter f;
    profconv_profile *left = NULL;
    int status = profconv_options_check(settings, PFC_FILTER_SCOPE, pfc_filter_declared, error);
    if (status || !profconv_filter_wanted(settings, stages))
        return status;
    memset(&f, 0, sizeof f);
    f.stages = 0;
    for (uint32_t stage = 1; stage & PROFCONV_FILTER_ALL; stage <<= 1) {
        if ((stages & stage) && profconv_filter_wanted(settings, stage))
            f.stages |= stage;
    }
    uint32_t before = profconv_profile_rows(*profile, PROFCONV_TABLE_SAMPLE);
    if (before == 0)
        return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                  "filters work on samples, and the profile has none");
    status = pfc_copy_start(&f.copy, *profile, error);
    if (!status)
        status = filter_start(&f, settings, error);
    if (!status) {
        filter_samples(&f);
        note_all(&f);
    }
    status = pfc_copy_end(&f.copy, status, &left);
    if (!status)
        status = check_left(&f, before, left, error);
    filter_end(&f);
    if (!status && (stages & PROFCONV_FILTER_FRAMES))
        status = keep_nodes(&left, settings, error);
    if (status) {
        profconv_profile_free(left);
        return status;
    }
    profconv_profile_free(*profile);
    *profile = left;
    return PROFCONV_OK;
}
