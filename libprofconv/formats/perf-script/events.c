/* SPDX-License-Identifier: MIT
 *
 * Events as sample types, two columns each, named as the perf-data reader names them; the facts of the header block;
 * and what is noted at the end.
 */
#include "libprofconv/formats/common/columns.h"
#include "libprofconv/formats/perf-script/ps.h"

#define OPEN_AFTER 4096 /* samples that are looked at before the columns are laid out */

static int same(ps_text a, ps_text b) { return a.size == b.size && memcmp(a.data, b.data, a.size) == 0; }

static int wanted(const ps_reader *r, const ps_event *e) {
    const char *value;
    if (!r->selection.events)
        return 1;
    for (size_t i = 0; (value = profconv_options_item(r->options, PS_SCOPE, "event", i)) != NULL; i++) {
        size_t n = strlen(value);
        if ((n == e->name.size || n == e->base) && memcmp(value, e->name.data, n) == 0)
            return 1;
    }
    return 0;
}

uint32_t ps_event_get(ps_reader *r, ps_text name) {
    for (size_t i = 0; i < r->events.count; i++)
        if (same(r->events.data[i].name, name))
            return (uint32_t)i;
    if (r->events.count >= PS_EVENTS_MOST) {
        r->counts.too_many_events++;
        return PS_NONE;
    }
    ps_event e;
    memset(&e, 0, sizeof e);
    char *copy = (char *)pfc_arena_alloc(&r->arena, name.size + 1, 1);
    if (!copy)
        return PS_NONE;
    memcpy(copy, name.data, name.size);
    e.name.data = copy;
    e.name.size = name.size;
    e.base = ps_event_base(e.name);
    e.column = PS_NONE;
    e.wanted = wanted(r, &e);
    ps_text base = {copy, e.base};
    e.clock = ps_text_is(base, "cpu-clock") || ps_text_is(base, "task-clock");
    if (PFC_VEC_PUSH(&r->mem, &r->events, e))
        return PS_NONE;
    return (uint32_t)r->events.count - 1;
}

/* ---- columns ---- */

static int add_columns(ps_reader *r, ps_event *e) {
    e->column = pfc_columns_add(r->builder);
    return e->column == PFC_COLUMNS_NONE ? profconv_builder_status(r->builder, r->error) : 0;
}

static int add_values(ps_reader *r, const ps_emitted *e) {
    ps_event *event = &r->events.data[e->event];
    int status = event->column == PS_NONE ? add_columns(r, event) : 0;
    if (status)
        return status;
    int64_t values[2] = {e->count, e->weight};
    profconv_builder_sample(r->builder, e->stack, e->labels, event->column, values, 2);
    return 0;
}

/* Columns in the order of the header block or of the first samples; later ones come behind. */
static int open_columns(ps_reader *r) {
    int status = 0;
    r->columns_open = 1;
    for (size_t i = 0; i < r->events.count && status == 0; i++)
        if (r->events.data[i].samples)
            status = add_columns(r, &r->events.data[i]);
    for (size_t i = 0; i < r->emitted.count && status == 0; i++)
        status = add_values(r, &r->emitted.data[i]);
    PFC_VEC_FREE(&r->mem, &r->emitted);
    return status;
}

int ps_event_add(ps_reader *r, const ps_emitted *e) {
    r->events.data[e->event].samples++;
    r->counts.kept++;
    if (r->columns_open)
        return add_values(r, e);
    if (PFC_VEC_PUSH(&r->mem, &r->emitted, *e))
        return ps_failed(r);
    return r->emitted.count >= OPEN_AFTER ? open_columns(r) : 0;
}

static void describe(ps_reader *r, const ps_event *e, pfc_event_columns *out) {
    static const char without_name[] = "event";
    ps_text name = e->name, base = {e->name.data, e->base};
    out->event = name.size ? profconv_builder_string(r->builder, name.data, name.size) : 0;
    if (name.size == 0) {
        name.data = without_name;
        name.size = sizeof without_name - 1;
        base = name;
    }
    out->full = profconv_builder_string(r->builder, name.data, name.size);
    out->base = profconv_builder_string(r->builder, base.data, base.size);
    out->period = e->period;
    out->frequency = e->frequency;
    out->clock = e->clock;
    out->time = e->clock || ps_text_is(base, "offcpu-time"); /* perf record --off-cpu: nanoseconds */
}

static void set_duration(ps_reader *r) {
    profconv_info info;
    profconv_builder_get_info(r->builder, &info);
    if (r->last_time > r->first_time && r->last_time - r->first_time <= INT64_MAX)
        info.duration_ns = (int64_t)(r->last_time - r->first_time);
    profconv_builder_set_info(r->builder, &info);
}

int ps_events_finish(ps_reader *r) {
    int status = r->columns_open ? 0 : open_columns(r);
    size_t count = profconv_builder_sample_type_count(r->builder) / 2, most = 0;
    uint64_t samples = 0;
    if (status || count == 0)
        return status;
    pfc_event_columns *all = (pfc_event_columns *)pfc_alloc_zero(&r->mem, count * sizeof *all);
    if (!all)
        return ps_failed(r);
    for (size_t i = 0; i < r->events.count; i++) {
        const ps_event *e = &r->events.data[i];
        if (e->column == PS_NONE)
            continue;
        describe(r, e, &all[e->column / 2]);
        if (e->samples > samples || (e->samples == samples && e->column / 2 < most)) {
            samples = e->samples;
            most = e->column / 2;
        }
    }
    status = pfc_columns_name(r->builder, &r->mem, all, count, most, r->error);
    pfc_free(&r->mem, all, count * sizeof *all);
    set_duration(r);
    return status;
}

/* ---- the header block ---- */

/* "name = cycles:u, , id = { ... }, type = 0, ..., { sample_period, sample_freq } = 4000, ..., freq = 1, ..." */
static void event_fact(ps_reader *r, ps_text value) {
    if (!ps_text_starts(value, "name = "))
        return;
    const char *end = value.data + value.size, *comma = ps_text_find(value, ",");
    ps_text name = {value.data + 7, (size_t)((comma ? comma : end) - value.data - 7)};
    uint32_t row = ps_event_get(r, name);
    static const char key[] = "{ sample_period, sample_freq } = ";
    const char *p = ps_text_find(value, key);
    uint64_t number;
    if (row == PS_NONE || !p || !pfc_parse_u64(p + sizeof key - 1, end, &number))
        return;
    if (ps_text_find(value, ", freq = 1"))
        r->events.data[row].frequency = number;
    else if (number <= INT64_MAX)
        r->events.data[row].period = (int64_t)number;
}

static void version_fact(ps_reader *r, ps_text value) {
    uint64_t major, minor = 0;
    const char *end = value.data + value.size, *p = pfc_parse_u64(value.data, end, &major);
    if (!p || r->addresses != PS_ADDRESSES_AUTO)
        return;
    if (p < end && *p == '.' && !pfc_parse_u64(p + 1, end, &minor))
        minor = 0;
    r->raw = major > 6 || (major == 6 && minor >= 4);
}

static void comment(ps_reader *r, const char *head, ps_text value) {
    pfc_buf buf;
    pfc_buf_init(&buf, &r->mem);
    pfc_buf_text(&buf, head);
    pfc_buf_add(&buf, value.data, value.size);
    if (!buf.failed)
        profconv_builder_comment(r->builder, profconv_builder_string(r->builder, buf.data, buf.size));
    pfc_buf_free(&buf);
}

void ps_fact(ps_reader *r, ps_text line) {
    static const struct {
        const char *name, *key, *comment;
    } facts[] = {{"hostname", "hostname", "host: "},
                 {"os release", "os-release", NULL},
                 {"perf version", "recorder-version", "perf version: "},
                 {"arch", "arch", NULL},
                 {"cpudesc", "cpu", NULL},
                 {"cpuid", "cpuid", NULL},
                 {"nrcpus online", "cpus", NULL},
                 {"captured on", "captured-on", NULL},
                 {"total memory", "total-memory", NULL},
                 {"cmdline", "command-line", "command: "}};
    const char *colon = (const char *)memchr(line.data, ':', line.size);
    if (!colon)
        return;
    ps_text key = {line.data + 1, (size_t)(colon - line.data - 1)};
    ps_text value = {colon + 1, (size_t)(line.data + line.size - colon - 1)};
    key = ps_trim(key);
    value = ps_trim(value);
    if (value.size == 0)
        return;
    if (ps_text_is(key, "event"))
        event_fact(r, value);
    if (ps_text_is(key, "perf version")) {
        version_fact(r, value);
        profconv_builder_attribute(r->builder, "recorder", "perf", 4);
    }
    if (ps_text_is(key, "total memory")) { /* "8058796 kB" */
        char digits[20];
        uint64_t kb;
        if (pfc_parse_u64(value.data, value.data + value.size, &kb) && kb <= UINT64_MAX / 1024)
            profconv_builder_attribute(r->builder, "total-memory", digits, pfc_format_u64(digits, kb * 1024));
        return;
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (ps_text_is(key, facts[i].name)) {
            profconv_builder_attribute(r->builder, facts[i].key, value.data, value.size);
            if (facts[i].comment)
                comment(r, facts[i].comment, value);
        }
}

/* ---- notes ---- */

void ps_notes(ps_reader *r) {
    const ps_counts *c = &r->counts;
    const struct {
        uint64_t count;
        profconv_note_kind kind;
        int64_t weight;
        uint64_t line;
        const char *cause, *message;
    } notes[] = {
        {c->samples, PROFCONV_NOTE_INFO, 0, 0, "samples", "samples read"},
        {c->branch_entries, PROFCONV_NOTE_INFO, 0, 0, "branch-entries", "last-branch entries read"},
        {c->filtered, PROFCONV_NOTE_INFO, 0, 0, "filtered", "samples left out by the settings"},
        {c->other_lines, PROFCONV_NOTE_INFO, 0, c->other_line, "other-lines",
         "lines that are no sample, frame, branch stack or record"},
        {c->unmapped, PROFCONV_NOTE_INFO, 0, 0, "unmapped-address", "samples whose instruction address is in no file"},
        {c->no_frames, PROFCONV_NOTE_INFO, 0, 0, "no-frames", "samples without a frame: they count for their thread"},
        {c->kernel_removed, PROFCONV_NOTE_INFO, 0, 0, "kernel-frames",
         "stacks without their kernel frames (kernel=no)"},
        {c->chain_cut, PROFCONV_NOTE_INFO, 0, 0, "stack-truncated", "stacks cut to the allowed depth at their root"},
        {c->raw_dropped, PROFCONV_NOTE_INFO, 0, 0, "raw-address",
         "frames whose run-time address says nothing without the mmap events (perf script --show-mmap-events)"},
        {c->range_across, PROFCONV_NOTE_INFO, 0, 0, "range-across-files",
         "fall-through ranges whose end lies in another file; counted as AutoFDO's tools count them"},
        {c->bad_records, PROFCONV_NOTE_WARNING, 0, 0, "bad-record", "record lines that could not be read"},
        {c->maps_ignored, PROFCONV_NOTE_WARNING, 0, 0, "too-many-maps",
         "mappings beyond what a system allows were ignored"},
        {c->branch_bad, PROFCONV_NOTE_WARNING, 0, c->branch_bad_line, "bad-branch-entry",
         "branch stacks with a word that is no entry; they end there"},
        {c->named_branches, PROFCONV_NOTE_DROPPED, 0, c->named_line, "branch-names",
         "branch stacks by name (brstacksym), which say no addresses; perf script -F brstack prints those"},
        {c->instructions, PROFCONV_NOTE_DROPPED, 0, c->instruction_line, "branch-instructions",
         "instructions of branch stacks (brstackinsn), which are not read; perf script -F brstack prints the branches"},
        {c->orphans, PROFCONV_NOTE_DROPPED, c->orphan_weight, c->orphan_line, "no-header",
         "groups of frames that no header comes before"},
        {c->too_many_events, PROFCONV_NOTE_DROPPED, 0, 0, "too-many-events", "samples of events beyond the first 256"},
        {c->branch_null_stack, PROFCONV_NOTE_DROPPED, 0, 0, "branch-empty-entry",
         "branch stacks with an empty entry before others"},
        {c->branch_wrong_path, PROFCONV_NOTE_DROPPED, 0, 0, "branch-wrong-path",
         "branch entries that were not taken in the end"},
        {c->branch_bogus, PROFCONV_NOTE_DROPPED, 0, 0, "branch-bogus-range",
         "branch entries with an impossible run of code behind them"},
        {c->branch_duplicate, PROFCONV_NOTE_DROPPED, 0, 0, "branch-duplicate", "newest branch entries recorded twice"},
        {c->branch_unmapped, PROFCONV_NOTE_DROPPED, 0, 0, "branch-unmapped", "branch entries with both ends in no map"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].count)
            profconv_report_add(r->report, notes[i].kind, notes[i].cause, notes[i].count, notes[i].weight,
                                PROFCONV_NO_OFFSET, notes[i].line, "%s", notes[i].message);
}
