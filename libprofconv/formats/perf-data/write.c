/* SPDX-License-Identifier: MIT
 *
 * The perf.data writer: what is written (branch records where there are any, else call stacks), in which order, and the
 * settings. A kernel map comes first and names second, since some readers take the first record for the kernel's map
 * and change what it says.
 */
#include "libprofconv/formats/perf-data/write.h"

#include <string.h>

#define ENTRIES_MAX 2000 /* 24 bytes each, in a record of less than 64 KiB */

static const profconv_setting settings[] = {
    {"content", PROFCONV_SETTING_ENUM, "auto", "auto|branches|stacks",
     "what to write: branch records where there are any, or call stacks"},
    {"seed", PROFCONV_SETTING_INT, "1", NULL, "of the random walks that branch counts are laid out by"},
    {"entries", PROFCONV_SETTING_INT, "1000", NULL, "most entries of a last-branch stack, 2 to 2000"},
    {"max-entries", PROFCONV_SETTING_INT, "200000000", NULL, "refuse branch profiles with more counts than this"},
    {"repeat", PROFCONV_SETTING_INT, "65536", NULL, "write up to this many samples for one row of a profile"},
    {"perf-map", PROFCONV_SETTING_STRING, NULL, NULL,
     "directory for perf-PID.map files, which name frames that have no address"},
    {"default-pid", PROFCONV_SETTING_INT, "1000", NULL, "process of samples that do not tell theirs"},
    {NULL, (profconv_setting_type)0, NULL, NULL, NULL},
};

static int in_range(const profconv_options *options, const char *key, int64_t low, int64_t high, int64_t *out,
                    profconv_error *error) {
    *out = profconv_options_int(options, PW_SCOPE, settings, key);
    if (*out >= low && *out <= high)
        return 0;
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "perf-data.%s=%lld: %lld to %lld expected", key, (long long)*out, (long long)low,
                              (long long)high);
}

static int get_settings(pw_writer *w, const profconv_options *options) {
    int64_t entries = 0, max_entries = 0, repeat = 0, pid = 0;
    int status = in_range(options, "entries", 2, ENTRIES_MAX, &entries, w->error);
    if (!status)
        status = in_range(options, "max-entries", 1, INT64_MAX, &max_entries, w->error);
    if (!status)
        status = in_range(options, "repeat", 1, INT64_MAX, &repeat, w->error);
    if (!status)
        status = in_range(options, "default-pid", 1, INT32_MAX / 2, &pid, w->error);
    w->set.seed = (uint64_t)profconv_options_int(options, PW_SCOPE, settings, "seed");
    w->set.entries = (uint32_t)entries;
    w->set.max_entries = (uint64_t)max_entries;
    w->set.repeat = (uint64_t)repeat;
    w->set.pid = (uint32_t)pid;
    w->set.map_dir = profconv_options_string(options, PW_SCOPE, settings, "perf-map");
    return status;
}

/* What is there to write, of what was asked for. */
static int choose_content(pw_writer *w, const profconv_options *options) {
    const profconv_profile *p = w->profile;
    const char *content = profconv_options_string(options, PW_SCOPE, settings, "content");
    uint32_t edges = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH),
             ranges = profconv_profile_rows(p, PROFCONV_TABLE_RANGE);
    uint32_t addresses = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS);
    uint32_t samples = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE);
    int has_records = edges || ranges || addresses;
    if (strcmp(content, "branches") == 0)
        w->set.branches = 1;
    else if (strcmp(content, "auto") == 0)
        w->set.branches = has_records;
    if (w->set.branches ? has_records : samples > 0) {
        if (w->set.branches && samples)
            profconv_report_add(
                w->report, PROFCONV_NOTE_LOST, "stacks-beside-branches", samples, 0, PROFCONV_NO_OFFSET, 0,
                "call stacks are not written beside branch records (perf-data.content=stacks writes them)");
        else if (has_records && !w->set.branches)
            profconv_report_add(w->report, PROFCONV_NOTE_LOST, "branches", (uint64_t)edges + ranges + addresses, 0,
                                PROFCONV_NO_OFFSET, 0, "branch records are left out (perf-data.content=stacks)");
        return 0;
    }
    if (profconv_profile_facets(p) & PROFCONV_FACET_SOURCE_COUNTS)
        return profconv_error_set(w->error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                  "perf.data holds addresses, and the profile holds counts of source lines only");
    return profconv_error_set(w->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                              w->set.branches ? "the profile holds no branch records" : "the profile holds no samples");
}

static int check_samples(pw_writer *w) {
    if (w->samples)
        return 0;
    return profconv_error_set(w->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                              w->set.branches ? "no branch record, range or address lies inside a mapping"
                                              : "no sample has a value above zero");
}

/* The data section. */
static void records(pw_writer *w) {
    w->bytes = 0;
    w->samples = 0;
    w->first_time = w->last_time = 0;
    for (size_t i = 0; i < w->units.count && !w->status; i++) /* the kernel before its modules */
        if (w->units.data[i].placed && w->units.data[i].space == PW_KERNEL &&
            profconv_profile_mapping(w->profile, w->units.data[i].mapping)->kind == PROFCONV_MAPPING_KERNEL)
            pw_map(w, 0, &w->units.data[i]);
    if (w->set.branches) {
        static const profconv_string name = {"branches", 8};
        pw_comm(w, w->set.pid, w->set.pid, name, PW_MAP_TIME);
    }
    for (size_t i = 0; i < w->units.count && !w->status; i++)
        if (w->units.data[i].placed && w->units.data[i].space == PW_KERNEL &&
            profconv_profile_mapping(w->profile, w->units.data[i].mapping)->kind != PROFCONV_MAPPING_KERNEL)
            pw_map(w, 0, &w->units.data[i]);
    if (w->set.branches)
        pw_trails_records(w);
    else
        pw_stacks_records(w);
}

static int write_all(pw_writer *w) {
    int status = pw_find_events(w);
    if (!status)
        status = w->set.branches ? pw_trails_prepare(w) : pw_stacks_prepare(w);
    if (status)
        return status;
    w->counting = 1;
    records(w);
    if (w->status || (status = check_samples(w)) != 0)
        return w->status ? w->status : status;
    w->total_samples = w->samples;
    uint64_t data_size = w->bytes;
    if (w->own_times) {
        records(w); /* those without a time of their own are spread now that their number is known */
    } else {
        w->first_time = PW_FIRST_TIME;
        w->last_time = pw_time_of(w, w->total_samples - 1);
    }
    w->counting = 0;
    uint64_t data_at = pw_head(w, data_size);
    records(w);
    if (!w->status && w->bytes != data_size)
        return profconv_error_set(w->error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0,
                                  "perf.data: the records took %llu bytes, not %llu", (unsigned long long)w->bytes,
                                  (unsigned long long)data_size);
    if (!w->status)
        pw_tail(w, data_at + data_size);
    if (!w->status && !w->set.branches)
        pw_write_perf_maps(w);
    return w->status;
}

static int writer_init(pw_writer *w, const profconv_profile *profile, profconv_report *report, profconv_error *error) {
    memset(w, 0, sizeof *w);
    pfc_mem_init(&w->mem, profconv_profile_allocator(profile), 0);
    pfc_buf_init(&w->record, &w->mem);
    w->profile = profile;
    w->report = report;
    w->error = error;
    w->mapping_count = profconv_profile_rows(profile, PROFCONV_TABLE_MAPPING);
    w->unit_of = (uint32_t *)pfc_alloc(&w->mem, w->mapping_count * sizeof *w->unit_of);
    if (!w->unit_of)
        return pw_failed(w);
    memset(w->unit_of, 0xff, w->mapping_count * sizeof *w->unit_of);
    return 0;
}

static void writer_free(pw_writer *w) {
    pw_trails_free(w);
    pfc_buf_free(&w->record);
    pfc_free(&w->mem, w->unit_of, w->unit_of ? w->mapping_count * sizeof *w->unit_of : 0);
    PFC_VEC_FREE(&w->mem, &w->units);
    PFC_VEC_FREE(&w->mem, &w->raw);
    PFC_VEC_FREE(&w->mem, &w->events);
    PFC_VEC_FREE(&w->mem, &w->threads);
    PFC_VEC_FREE(&w->mem, &w->pairs);
    PFC_VEC_FREE(&w->mem, &w->name_tids);
    PFC_VEC_FREE(&w->mem, &w->chain);
    pfc_index_free(&w->mem, &w->thread_index);
    pfc_index_free(&w->mem, &w->pair_index);
}

static int perf_data_write(void *user, const profconv_profile *profile, profconv_output *output,
                           const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    pw_writer w;
    int status = writer_init(&w, profile, report, error);
    w.output = output;
    if (!status)
        status = get_settings(&w, options);
    if (!status)
        status = choose_content(&w, options);
    if (!status)
        status = write_all(&w);
    if (!status) {
        if (w.set.branches)
            pw_trails_notes(&w);
        else
            pw_stacks_notes(&w);
    }
    writer_free(&w);
    return status;
}

static const char *const aliases[] = {"perf", "perf.data", NULL};
static const char *const suffixes[] = {".data", ".perf", NULL};

extern const profconv_writer pfc_perf_data_writer;
const profconv_writer pfc_perf_data_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = PW_SCOPE,
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "recordings of Linux perf (perf.data: file, pipe, directory)",
    .settings = settings,
    .needs = 0, /* branch records, or stacks with addresses: checked when writing */
    .keeps = PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_STACKS | PROFCONV_FACET_BRANCHES,
    .improves = PROFCONV_FACET_BRANCHES,
    .binary = 1,
    .labels = "pid,tid,thread,comm,cpu,timestamp",
    .write = perf_data_write,
};
