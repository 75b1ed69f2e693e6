/* SPDX-License-Identifier: MIT
 *
 * Events as sample types, and the facts about the recording. Names can come late in a recording (or behind its data), so
 * columns are made when the first samples show which events have any, and named at the end.
 */
#include "libprofconv/formats/common/columns.h"
#include "libprofconv/formats/perf-data/pd.h"

#define OPEN_AFTER 4096 /* samples that are looked at before the columns are laid out */

static int add_values(pd_reader *r, const pd_emitted *e) {
    pd_event *event = &r->events.data[e->event];
    if (event->column == PD_NO_COLUMN && (event->column = pfc_columns_add(r->builder)) == PD_NO_COLUMN)
        return profconv_builder_status(r->builder, r->error);
    int64_t values[2] = {1, e->weight};
    profconv_builder_sample(r->builder, e->stack, e->labels, event->column, values, 2);
    return 0;
}

/* Columns in the recording's order of events, for those that have samples; later ones come behind. */
static int open_columns(pd_reader *r) {
    int rc = 0;
    r->columns_open = 1;
    for (size_t i = 0; i < r->events.count; i++)
        if (r->events.data[i].samples && (r->events.data[i].column = pfc_columns_add(r->builder)) == PD_NO_COLUMN)
            return profconv_builder_status(r->builder, r->error);
    for (size_t i = 0; i < r->emitted.count && rc == 0; i++)
        rc = add_values(r, &r->emitted.data[i]);
    PFC_VEC_FREE(&r->mem, &r->emitted);
    return rc;
}

int pd_column_add(pd_reader *r, const pd_emitted *e) {
    if (r->columns_open)
        return add_values(r, e);
    if (PFC_VEC_PUSH(&r->mem, &r->emitted, *e))
        return pd_failed(r);
    return r->events.count == 1 || r->emitted.count >= OPEN_AFTER ? open_columns(r) : 0;
}

/* A fixed period; 0: none. */
static int64_t fixed_period(const pd_attr *a) {
    return a->flags & PD_F_FREQ || a->period > INT64_MAX ? 0 : (int64_t)a->period;
}

static int describe(pd_reader *r, pd_event *e, pfc_event_columns *out) {
    pfc_buf buf;
    pfc_buf_init(&buf, &r->mem);
    pd_event_name(r, e, &buf);
    if (buf.size == 0)
        pfc_buf_text(&buf, "event");
    out->event = out->full = profconv_builder_string(r->builder, buf.data, buf.size);
    out->base = profconv_builder_string(r->builder, buf.data, buf.size ? pd_event_base_size(e, buf.data, buf.size) : 0);
    out->period = fixed_period(&e->attr);
    out->frequency = e->attr.flags & PD_F_FREQ ? e->attr.period : 0;
    out->clock = pd_event_is_clock(e);
    out->time = pd_event_counts_time(e);
    int rc = buf.failed ? pd_failed(r) : 0;
    pfc_buf_free(&buf);
    return rc;
}

int pd_columns_finish(pd_reader *r) {
    int rc = r->columns_open ? 0 : open_columns(r);
    size_t count = profconv_builder_sample_type_count(r->builder) / 2, most = 0;
    uint64_t samples = 0;
    if (rc || count == 0)
        return rc;
    pfc_event_columns *all = (pfc_event_columns *)pfc_alloc_zero(&r->mem, count * sizeof *all);
    if (!all)
        return pd_failed(r);
    for (size_t i = 0; i < r->events.count && rc == 0; i++) { /* in the order of the columns */
        pd_event *e = &r->events.data[i];
        if (e->column != PD_NO_COLUMN)
            rc = describe(r, e, &all[e->column / 2]);
        if (e->column != PD_NO_COLUMN && (e->samples > samples || (e->samples == samples && e->column / 2 < most))) {
            samples = e->samples;
            most = e->column / 2;
        }
    }
    if (rc == 0)
        rc = pfc_columns_name(r->builder, &r->mem, all, count, most, r->error);
    pfc_free(&r->mem, all, count * sizeof *all);
    return rc;
}

static void attribute(pd_reader *r, const char *key, const char *value) {
    if (value && *value)
        profconv_builder_attribute(r->builder, key, value, strlen(value));
}
static void number_attribute(pd_reader *r, const char *key, uint64_t value) {
    char text[20];
    if (value)
        profconv_builder_attribute(r->builder, key, text, pfc_format_u64(text, value));
}

static void comment(pd_reader *r, const char *head, const char *value) {
    if (!value || !*value)
        return;
    pfc_buf buf;
    pfc_buf_init(&buf, &r->mem);
    pfc_buf_text(&buf, head);
    pfc_buf_text(&buf, value);
    if (!buf.failed)
        profconv_builder_comment(r->builder, profconv_builder_string(r->builder, buf.data, buf.size));
    pfc_buf_free(&buf);
}

void pd_facts_finish(pd_reader *r) {
    const pd_features *f = &r->features;
    profconv_info info;
    profconv_builder_get_info(r->builder, &info);
    if (r->last_time > r->first_time && r->last_time - r->first_time <= INT64_MAX)
        info.duration_ns = (int64_t)(r->last_time - r->first_time);
    if (f->have_clock && r->last_time != 0) {
        uint64_t start = f->clock_wall + (r->first_time - f->clock_value);
        if (start <= INT64_MAX)
            info.time_ns = (int64_t)start;
    }
    profconv_builder_set_info(r->builder, &info);
    attribute(r, "recorder", r->header.simpleperf ? "simpleperf" : "perf");
    attribute(r, "recorder-version", f->version);
    attribute(r, "hostname", f->hostname);
    attribute(r, "os-release", f->os_release);
    attribute(r, "arch", f->arch);
    attribute(r, "cpu", f->cpu_desc);
    attribute(r, "cpuid", f->cpuid);
    attribute(r, "command-line", f->command);
    number_attribute(r, "cpus", f->cpus_online);
    number_attribute(r, "total-memory", f->total_memory_kb > UINT64_MAX / 1024 ? 0 : f->total_memory_kb * 1024);
    comment(r, "command: ", f->command);
    comment(r, "host: ", f->hostname);
    comment(r, "perf version: ", f->version);
}

typedef struct note {
    uint64_t count;
    profconv_note_kind kind;
    const char *cause, *message;
} note;

/* Counters that are noted once, at the end. */
void pd_notes_finish(pd_reader *r) {
    const pd_counts *c = &r->counts;
    const note notes[] = {
        {c->samples, PROFCONV_NOTE_INFO, "samples", "sample records read"},
        {c->chain_entries, PROFCONV_NOTE_INFO, "chain-entries", "call chain entries read, markers included"},
        {c->branch_entries, PROFCONV_NOTE_INFO, "branch-entries", "last-branch entries read"},
        {c->filtered, PROFCONV_NOTE_INFO, "filtered", "samples left out by the settings"},
        {c->zero_delta, PROFCONV_NOTE_INFO, "zero-read", "reads of group members whose counter had not grown"},
        {c->unmapped, PROFCONV_NOTE_INFO, "unmapped-address", "samples whose instruction address is in no mapping"},
        {c->kernel_frames_removed, PROFCONV_NOTE_INFO, "kernel-frames", "stacks without their kernel frames (kernel=no)"},
        {c->chain_max_cut, PROFCONV_NOTE_INFO, "stack-truncated", "stacks cut to the allowed depth at their root"},
        {c->chain_corrupt, PROFCONV_NOTE_INFO, "chain-cut", "call chains cut where a frame pointer led nowhere"},
        {c->callers_restored, PROFCONV_NOTE_INFO, "branch-callers",
         "stacks with callers from branch records, which frame pointers had skipped"},
        {c->callers_seen, PROFCONV_NOTE_INFO, "branch-callers-seen",
         "stacks whose direct caller branch records confirm"},
        {c->callers_unknown, PROFCONV_NOTE_INFO, "branch-callers-unknown",
         "stacks whose direct caller branch records do not show"},
        {c->range_across, PROFCONV_NOTE_INFO, "range-across-files",
         "fall-through ranges whose end lies in another file; counted as AutoFDO's tools count them"},
        {c->deferred, PROFCONV_NOTE_WARNING, "user-chain-missing", "samples whose deferred user call chain never came"},
        {c->stacks_not_unwound, PROFCONV_NOTE_WARNING, "stack-not-unwound",
         "stack dumps (--call-graph dwarf) that were not unwound: their stacks hold kernel frames and the leaf only"},
        {c->have_lost_samples ? c->lost_samples : c->lost, PROFCONV_NOTE_DROPPED, "lost",
         "samples lost by the recorder"},
        {c->lost_by_filter, PROFCONV_NOTE_INFO, "lost-by-bpf-filter", "samples that a BPF filter dropped"},
        {c->malformed, PROFCONV_NOTE_DROPPED, "malformed-sample", "SAMPLE records too short for their fields"},
        {c->unknown_id, PROFCONV_NOTE_DROPPED, "unknown-event-id", "samples whose event id was never described"},
        {c->leftover, PROFCONV_NOTE_WARNING, "sample-leftover", "SAMPLE records with bytes behind their last field"},
        {c->bad_record, PROFCONV_NOTE_WARNING, "bad-record", "records too short for their fields, skipped"},
        {c->bad_map, PROFCONV_NOTE_WARNING, "bad-mapping", "mappings of an impossible extent ignored"},
        {c->unknown_records, PROFCONV_NOTE_WARNING, "unknown-record", "records of unknown types skipped"},
        {c->map_timeout, PROFCONV_NOTE_WARNING, "map-timeout", "map lists that the recorder could not read whole"},
        {r->order.late, PROFCONV_NOTE_WARNING, "late-record", "records that came later than time order allows"},
        {c->branch_null_stack, PROFCONV_NOTE_DROPPED, "branch-empty-entry",
         "last-branch stacks with an empty entry before others"},
        {c->branch_wrong_path, PROFCONV_NOTE_DROPPED, "branch-wrong-path", "last-branch entries of a wrong path"},
        {c->branch_bogus, PROFCONV_NOTE_DROPPED, "branch-bogus-range",
         "last-branch entries whose range runs backwards or is longer than 1 MiB"},
        {c->branch_duplicate, PROFCONV_NOTE_DROPPED, "branch-duplicate", "duplicated newest last-branch entries"},
        {c->branch_unmapped, PROFCONV_NOTE_DROPPED, "branch-unmapped", "last-branch entries with both ends in no mapping"},
    };
    const pd_event *first = r->events.count > 1 ? &r->events.data[0] : NULL;
    if (first && c->samples && (r->ids.count == 0 || first->sample_id_at < 0))
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "no-event-ids", c->samples, 0, PROFCONV_NO_OFFSET, 0,
                            "%zu events, but no ids in the samples: all are counted under the first event",
                            r->events.count);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count)
            profconv_report_add(r->report, notes[i].kind, notes[i].cause, notes[i].count, 0, PROFCONV_NO_OFFSET, 0, "%s",
                                notes[i].message);
}
