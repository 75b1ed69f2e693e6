/* SPDX-License-Identifier: MIT
 *
 * The Firefox Profiler's processed profile format: which threads there are, which samples they have and when. Stacks,
 * frames and strings are in tables that all threads share.
 *
 * One column of values is written. Samples with a time keep it; without any, samples stand one after the other, each as
 * long as what it weighs, so that the timeline has room for all and no order in time is made up.
 */
#include <string.h>

#include "libprofconv/formats/viewers/firefox.h"

static const char *const aliases[] = {"firefox-profiler", NULL};
static const char *const suffixes[] = {".firefox.json", ".firefox", NULL};

static const profconv_setting settings[] = {
    {"title", PROFCONV_SETTING_STRING, NULL, NULL, "name of the whole"},
    {"event", PROFCONV_SETTING_STRING, NULL, NULL,
     "the event or sample type that is written; default: the profile's own"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

/* ---- stacks ---- */

/* A text of the profile as a text of the frames' table. */
static int text_of(firefox *w, profconv_id string, uint32_t *text) {
    profconv_string s = profconv_profile_string(w->v.profile, string);
    return pfc_view_text_of(&w->v.frames, s.data, s.size, text);
}

static int lib_of(firefox *w, const profconv_location *location, uint32_t name, uint32_t *lib) {
    const profconv_mapping *mapping = profconv_profile_mapping(w->v.profile, location->mapping);
    uint32_t cells[LIB_WIDTH];
    *lib = 0;
    cells[LIB_NAME] = name;
    int status = text_of(w, mapping->file, &cells[LIB_PATH]);
    if (status == 0)
        status = text_of(w, mapping->build_id, &cells[LIB_BUILD_ID]);
    return status || cells[LIB_PATH] == 0 ? status : pfc_view_rows_add(&w->libs, &w->v.mem, cells, lib);
}

static int add_frame(firefox *w, const pfc_view_place *place, uint32_t lib, uint32_t category, uint32_t depth,
                     uint32_t *stack) {
    const uint32_t func[FUNC_WIDTH] = {place->frame, lib};
    uint32_t row;
    int status = pfc_view_rows_add(&w->funcs, &w->v.mem, func, &row);
    const uint32_t frame[FRAME_WIDTH] = {row, place->line > UINT32_MAX ? 0 : (uint32_t)place->line, category, depth};
    if (status == 0)
        status = pfc_view_rows_add(&w->frames, &w->v.mem, frame, &row);
    const uint32_t node[STACK_WIDTH] = {*stack, row};
    return status ? status : pfc_view_rows_add(&w->stacks, &w->v.mem, node, stack);
}

/* Inlined frames are of the kind of the function that they were compiled into. */
static int add_location(firefox *w, profconv_id location, uint32_t *stack) {
    const pfc_view_place *places;
    uint32_t count, lib = 0;
    int status = pfc_view_places(&w->v.frames, location, &places, &count);
    if (status == 0)
        status = lib_of(w, profconv_profile_location(w->v.profile, location),
                        w->v.frames.rows.data[places[0].frame].module, &lib);
    for (uint32_t i = 0; status == 0 && i < count; i++)
        status = add_frame(w, &places[i], lib, places[0].kind, i, stack);
    return status;
}

static int add_unknown(firefox *w, uint32_t *stack) {
    pfc_view_place place = {0, PFC_VIEW_OTHER, 0};
    int status = pfc_view_named(&w->v.frames, "[unknown]", 9, &place.frame);
    return status ? status : add_frame(w, &place, 0, PFC_VIEW_OTHER, 0, stack);
}

/* Marks the stacks that samples have, with their callers, and makes their rows: callers come first in the profile, too.
 */
static int add_stacks(firefox *w) {
    const profconv_profile *p = w->v.profile;
    uint32_t unknown = 0;
    int status = 0;
    w->stack_count = profconv_profile_rows(p, PROFCONV_TABLE_STACK);
    w->stack_count += w->stack_count == 0;
    w->stack_of = (uint32_t *)pfc_alloc_zero(&w->v.mem, w->stack_count * sizeof *w->stack_of);
    if (!w->stack_of)
        return w->v.mem.failed;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        if (profconv_profile_sample_value(p, i, w->v.columns.types[w->v.columns.shown]) != 0)
            w->stack_of[profconv_profile_sample_stack(p, i)] = 1;
    }
    if (w->stack_of[0])
        status = add_unknown(w, &unknown);
    for (size_t i = w->stack_count; i-- > 1;) {
        if (w->stack_of[i])
            w->stack_of[profconv_profile_stack(p, (profconv_id)i)->parent] = 1;
    }
    w->stack_of[0] = 0; /* the caller of the outermost */
    for (size_t i = 1; status == 0 && i < w->stack_count; i++) {
        const profconv_stack *stack = profconv_profile_stack(p, (profconv_id)i);
        if (!w->stack_of[i])
            continue;
        w->stack_of[i] = w->stack_of[stack->parent];
        status = add_location(w, stack->location, &w->stack_of[i]);
    }
    w->stack_of[0] = unknown;
    return status;
}

/* ---- threads ---- */

static int label_text(firefox *w, const profconv_label *label, uint32_t *text) {
    char digits[24];
    *text = 0;
    if (!label)
        return 0;
    if (label->numeric)
        return pfc_view_text_of(&w->v.frames, digits, pfc_format_i64(digits, label->number), text);
    return text_of(w, label->string, text);
}

static int thread_of(firefox *w, profconv_id set, uint32_t *thread) {
    const profconv_profile *p = w->v.profile;
    uint32_t cells[THREAD_WIDTH];
    int status = label_text(w, profconv_profile_find_label(p, set, "pid"), &cells[THREAD_PID]);
    if (status == 0)
        status = label_text(w, profconv_profile_find_label(p, set, "tid"), &cells[THREAD_TID]);
    if (status == 0)
        status = label_text(w, pfc_view_thread_label(p, set), &cells[THREAD_NAME]);
    return status ? status : pfc_view_rows_add(&w->threads, &w->v.mem, cells, thread);
}

/* Numbers by their size. */
static int compare_ids(const firefox *w, uint32_t a, uint32_t b) {
    profconv_string x = pfc_view_string(&w->v.frames, a), y = pfc_view_string(&w->v.frames, b);
    if (a == b)
        return 0;
    return x.size != y.size ? (x.size < y.size ? -1 : 1) : memcmp(x.data, y.data, x.size);
}

static int compare_threads(const void *user, uint32_t a, uint32_t b) {
    const firefox *w = (const firefox *)user;
    const uint32_t *x = pfc_view_row(&w->threads, a), *y = pfc_view_row(&w->threads, b);
    int order = 0;
    for (int i = 0; i < THREAD_WIDTH && order == 0; i++)
        order = compare_ids(w, x[i], y[i]);
    return order;
}

static int order_threads(firefox *w) {
    w->thread_count = w->threads.count;
    w->order = (uint32_t *)pfc_alloc(&w->v.mem, (w->thread_count + (size_t)1) * sizeof *w->order);
    if (!w->order)
        return w->v.mem.failed;
    for (uint32_t i = 0; i < w->thread_count; i++)
        w->order[i] = i + 1;
    return pfc_sort_ids(&w->v.mem, w->order, w->thread_count, compare_threads, w);
}

/* ---- samples ---- */

/* By thread, time and stack. The rows of threads become their places in the file. */
static int compare_samples(const void *user, uint32_t a, uint32_t b) {
    const firefox_sample *x = &((const firefox *)user)->samples.data[a], *y = &((const firefox *)user)->samples.data[b];
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int sort_samples(firefox *w) {
    pfc_mem *mem = &w->v.mem;
    size_t count = w->samples.count, size = (count + 1) * sizeof(uint32_t), places = (w->thread_count + (size_t)1) * 4;
    uint32_t *ids = (uint32_t *)pfc_alloc(mem, size);
    uint32_t *place = (uint32_t *)pfc_alloc_zero(mem, places);
    PFC_VEC(firefox_sample) sorted = {0};
    int status = ids && place ? 0 : mem->failed;
    for (uint32_t i = 0; status == 0 && i < w->thread_count; i++)
        place[w->order[i]] = i;
    for (size_t i = 0; status == 0 && i < count; i++) {
        ids[i] = (uint32_t)i;
        w->samples.data[i].thread = place[w->samples.data[i].thread];
    }
    if (status == 0)
        status = pfc_sort_ids(mem, ids, count, compare_samples, w);
    for (size_t i = 0; status == 0 && i < count; i++) {
        if (i > 0 && compare_samples(w, ids[i - 1], ids[i]) == 0) {
            int64_t *value = &sorted.data[sorted.count - 1].value;
            *value = pfc_add_sat_i64(*value, w->samples.data[ids[i]].value, &w->v.tree.saturated);
        } else {
            status = PFC_VEC_PUSH(mem, &sorted, w->samples.data[ids[i]]);
        }
    }
    pfc_free(mem, ids, ids ? size : 0);
    pfc_free(mem, place, place ? places : 0);
    PFC_VEC_FREE(mem, &w->samples);
    memcpy(&w->samples, &sorted, sizeof sorted);
    return status;
}

static int add_samples(firefox *w) {
    const profconv_profile *p = w->v.profile;
    uint32_t column = w->v.columns.types[w->v.columns.shown];
    int64_t first = INT64_MAX;
    int overflow = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        profconv_id set = profconv_profile_sample_label_set(p, i);
        const profconv_label *time = profconv_profile_find_label(p, set, "timestamp");
        firefox_sample row = {0, w->stack_of[profconv_profile_sample_stack(p, i)], INT64_MAX,
                              profconv_profile_sample_value(p, i, column)};
        if (row.value == 0)
            continue;
        if (time && time->numeric) {
            row.time = time->number;
            first = row.time < first ? row.time : first;
            w->timed = 1;
        }
        int status = thread_of(w, set, &row.thread);
        if (status == 0)
            status = PFC_VEC_PUSH(&w->v.mem, &w->samples, row);
        if (status)
            return status;
        w->v.samples++;
    }
    for (size_t i = 0; i < w->samples.count; i++) {
        int64_t *time = &w->samples.data[i].time;
        *time = *time == INT64_MAX ? 0 : pfc_add_sat_i64(*time, first == INT64_MIN ? INT64_MAX : -first, &overflow);
    }
    int status = order_threads(w);
    return status ? status : sort_samples(w);
}

/* The time between samples: what the profile says, else the median of what it shows, else 1 ms. */
static int find_interval(firefox *w) {
    const profconv_info *info = profconv_profile_info(w->v.profile);
    profconv_string unit = profconv_profile_string(w->v.profile, info->period_unit);
    PFC_VEC(uint64_t) gaps = {0};
    int status = 0;
    w->interval = 1000000;
    if (info->period > 0 && unit.size == 11 && memcmp(unit.data, "nanoseconds", 11) == 0) {
        w->interval = info->period;
        return 0;
    }
    for (size_t i = 1; w->timed && status == 0 && i < w->samples.count; i++) {
        const firefox_sample *row = &w->samples.data[i];
        if (row->thread == row[-1].thread && row->time > row[-1].time)
            status = PFC_VEC_PUSH(&w->v.mem, &gaps, (uint64_t)row->time - (uint64_t)row[-1].time);
    }
    if (status == 0)
        status = pfc_sort_u64(&w->v.mem, gaps.data, gaps.count);
    if (status == 0 && gaps.count > 0 && gaps.data[gaps.count / 2] <= INT64_MAX)
        w->interval = (int64_t)gaps.data[gaps.count / 2];
    PFC_VEC_FREE(&w->v.mem, &gaps);
    return status;
}

static int grow(pfc_view_writing *view, profconv_error *error) {
    firefox *w = (firefox *)view;
    int status = pfc_view_columns_choose(
        &w->v.columns, profconv_options_string(w->v.options, "firefox", settings, "event"), "firefox", error);
    if (status == 0)
        status = pfc_view_frames_init(&w->v.frames, &w->v.mem, w->v.profile);
    if (status == 0)
        status = add_stacks(w);
    if (status == 0)
        status = add_samples(w);
    if (status == 0)
        status = find_interval(w);
    return status ? status : pfc_firefox_number(w);
}

static int write_file(pfc_view_writing *view) {
    firefox *w = (firefox *)view;
    pfc_firefox_file(w, profconv_options_string(w->v.options, "firefox", settings, "title"));
    return 0;
}

static void tell(pfc_view_writing *view, profconv_report *report) {
    firefox *w = (firefox *)view;
    profconv_string name = pfc_view_column_name(&w->v.columns, w->v.columns.shown);
    profconv_string unit = pfc_view_column_unit(&w->v.columns, w->v.columns.shown);
    if (w->v.columns.count > 1)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "sample-types", w->v.columns.count - 1, 0, PROFCONV_NO_OFFSET,
                            0, "firefox holds one column of values: \"%.80s\" (setting firefox.event)", name.data);
    if (strcmp(pfc_firefox_unit(w).type, "samples") == 0 && unit.size > 0 && strcmp(unit.data, "count") != 0)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "unit", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "firefox has no unit \"%.80s\": the values stand there as samples", unit.data);
    if (!w->timed)
        profconv_report_add(
            report, PROFCONV_NOTE_INFO, "no-times", w->v.samples, 0, PROFCONV_NO_OFFSET, 0,
            "samples do not tell their time: they stand one after the other, in the order of their stacks");
}

static void release(pfc_view_writing *view) {
    firefox *w = (firefox *)view;
    pfc_mem *mem = &w->v.mem;
    pfc_view_rows *const rows[] = {&w->libs, &w->funcs, &w->frames, &w->stacks, &w->threads};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        pfc_view_rows_free(rows[i], mem);
    PFC_VEC_FREE(mem, &w->samples);
    pfc_free(mem, w->stack_of, w->stack_of ? w->stack_count * sizeof *w->stack_of : 0);
    pfc_free(mem, w->number, w->number ? w->texts * sizeof *w->number : 0);
    pfc_free(mem, w->source, w->source ? w->texts * sizeof *w->source : 0);
    pfc_free(mem, w->order, w->order ? (w->thread_count + (size_t)1) * sizeof *w->order : 0);
}

static int write_firefox(void *user, const profconv_profile *profile, profconv_output *output,
                         const profconv_options *options, profconv_report *report, profconv_error *error) {
    static const pfc_view_steps steps = {"firefox", 0, grow, write_file, tell, release};
    firefox w;
    (void)user;
    memset(&w, 0, sizeof w);
    w.libs.width = LIB_WIDTH;
    w.funcs.width = FUNC_WIDTH;
    w.frames.width = FRAME_WIDTH;
    w.stacks.width = STACK_WIDTH;
    w.threads.width = THREAD_WIDTH;
    return pfc_view_write(&w.v, &steps, profile, output, options, report, error);
}

const profconv_writer pfc_firefox_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "firefox",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "Firefox Profiler's processed profile: threads, their samples in time, libraries",
    .settings = settings,
    .needs = PROFCONV_FACET_STACKS,
    .keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS | PROFCONV_FACET_LINES,
    .improves = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .labels = "thread,pid,tid,timestamp",
    .write = write_firefox,
};
