/* SPDX-License-Identifier: MIT
 *
 * The reader's settings: which samples are read, which labels they get.
 */
#include "libprofconv/formats/perf-data/pd.h"

const profconv_setting pd_settings[] = {
    {"event", PROFCONV_SETTING_LIST, NULL, NULL, "read only these events, named with or without modifiers"},
    {"pid", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these processes (numbers, ranges, commas)"},
    {"tid", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these threads"},
    {"comm", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of threads with these names"},
    {"cpu", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these CPUs"},
    {"time", PROFCONV_SETTING_STRING, NULL, NULL,
     "read only samples in START,STOP (seconds of the recording's clock, either may be empty) or 10%-20%"},
    {"labels", PROFCONV_SETTING_STRING, "thread", NULL,
     "labels of the samples, comma-separated: pid, tid, thread, comm, cpu, timestamp, cgroup"},
    {"kernel", PROFCONV_SETTING_BOOL, "yes", NULL, "keep kernel frames"},
    {"max-stack", PROFCONV_SETTING_INT, "0", NULL, "keep at most this many frames from the leaf on (0: all)"},
    {"branches", PROFCONV_SETTING_BOOL, "yes", NULL, "read last-branch records into branches and ranges"},
    {"unwind", PROFCONV_SETTING_ENUM, "auto", "auto|no", "unwind stacks that were dumped (--call-graph dwarf), or keep the leaf only"},
    {"branch-callers", PROFCONV_SETTING_BOOL, "yes", NULL, "callers that frame pointers skip, from branch records beside the call chains"},
    {"jitdump", PROFCONV_SETTING_BOOL, "yes", NULL, "name code made at run time by the jitdump files that the recording mentions"},
    {"strict", PROFCONV_SETTING_BOOL, "no", NULL, "bytes behind a sample's last field are an error"},
    {NULL, (profconv_setting_type)0, NULL, NULL, NULL}};

static const char *const label_names[] = {"pid", "tid", "thread", "comm", "cpu", "timestamp", "cgroup"};

static int invalid(pd_reader *r, const char *key, const char *value, const char *expected) {
    return profconv_error_set(r->error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, PD_SCOPE ".%s=%s: %s expected", key,
                              value, expected);
}

/* The piece of a comma list that begins at p; *next is behind the comma, or NULL after the last. */
static size_t piece(const char *p, const char **next) {
    const char *comma = strchr(p, ',');
    *next = comma ? comma + 1 : NULL;
    return comma ? (size_t)(comma - p) : strlen(p);
}

static int parse_ranges(pd_reader *r, const char *key, int *set, pd_range32 **data, size_t *count, size_t *capacity) {
    const char *value;
    for (size_t i = 0; (value = profconv_options_item(r->options, PD_SCOPE, key, i)) != NULL; i++)
        for (const char *p = value, *next; p; p = next) {
            size_t n = piece(p, &next);
            const char *end = p + n, *at = p;
            int64_t first = 0;
            uint64_t last = 0;
            at = pfc_parse_i64(p, end, &first);
            last = (uint64_t)first;
            if (at && at < end && *at == '-' && first >= 0)
                at = pfc_parse_u64(at + 1, end, &last);
            if (!at || at != end || first < -1 || first > UINT32_MAX || (first >= 0 && (last > UINT32_MAX || last < (uint64_t)first)))
                return invalid(r, key, value, "numbers or ranges A-B, with commas between them,");
            if (pfc_grow(&r->mem, (void **)(void *)data, capacity, *count + 1, sizeof **data))
                return pd_failed(r);
            pd_range32 range = {(uint32_t)first, (uint32_t)last};
            (*data)[(*count)++] = range;
            *set = 1;
        }
    return 0;
}

static int parse_labels(pd_reader *r) {
    const char *text = profconv_options_string(r->options, PD_SCOPE, pd_settings, "labels");
    for (const char *p = text, *next; p; p = next) {
        size_t n = piece(p, &next);
        if (n == 0 || (n == 4 && memcmp(p, "none", 4) == 0))
            continue;
        unsigned i = 0;
        while (i < 7 && (strlen(label_names[i]) != n || memcmp(label_names[i], p, n) != 0))
            i++;
        if (i == 7)
            return invalid(r, "labels", text, "pid, tid, thread, comm, cpu, timestamp or cgroup");
        r->filter.labels |= 1u << i;
    }
    for (unsigned i = 0; i < 7; i++)
        r->label_keys[i] = profconv_builder_cstring(r->builder, label_names[i]);
    r->nanoseconds = profconv_builder_cstring(r->builder, "nanoseconds");
    return 0;
}

/* Seconds with a fraction of up to nine digits, in nanoseconds. */
static const char *parse_seconds(const char *p, const char *end, uint64_t *ns) {
    uint64_t seconds = 0, fraction = 0;
    const char *at = pfc_parse_u64(p, end, &seconds);
    if (!at || seconds > UINT64_MAX / 1000000000u - 1)
        return NULL;
    if (at < end && *at == '.') {
        uint64_t unit = 100000000;
        for (at++; at < end && *at >= '0' && *at <= '9'; at++, unit /= 10)
            fraction += unit * (uint64_t)(*at - '0');
    }
    *ns = seconds * 1000000000u + fraction;
    return at;
}

static const char *parse_percent(const char *p, const char *end, uint32_t *thousandths) {
    uint64_t whole = 0;
    uint32_t fraction = 0, unit = 100;
    const char *at = pfc_parse_u64(p, end, &whole);
    if (!at || whole > 100)
        return NULL;
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++, unit /= 10)
            fraction += unit * (uint32_t)(*at - '0');
    if (at == end || *at != '%')
        return NULL;
    *thousandths = (uint32_t)whole * 1000 + fraction;
    return *thousandths <= 100000 ? at + 1 : NULL;
}

static int parse_time(pd_reader *r) {
    pd_filter *f = &r->filter;
    const char *text = profconv_options_string(r->options, PD_SCOPE, pd_settings, "time");
    if (!text || !*text)
        return 0;
    static const char expected[] = "START,STOP in seconds or A%-B%";
    const char *end = text + strlen(text), *at;
    f->time = 1;
    f->time_stop = UINT64_MAX;
    if (strchr(text, '%')) {
        f->percent = 1;
        at = parse_percent(text, end, &f->percent_start);
        if (at && at < end && *at == '-')
            at = parse_percent(at + 1, end, &f->percent_stop);
        else
            at = NULL;
        if (at != end || f->percent_stop < f->percent_start)
            return invalid(r, "time", text, expected);
        return 0;
    }
    at = text;
    if (*at != ',' && !(at = parse_seconds(at, end, &f->time_start)))
        return invalid(r, "time", text, expected);
    if (*at != ',')
        return invalid(r, "time", text, expected);
    at++;
    if (at < end)
        at = parse_seconds(at, end, &f->time_stop);
    return at == end && f->time_start <= f->time_stop ? 0 : invalid(r, "time", text, expected);
}

int pd_filter_settle(pd_reader *r) {
    pd_filter *f = &r->filter;
    if (!f->percent)
        return 0;
    if (!r->features.have_sample_time || r->features.last_time < r->features.first_time)
        return profconv_error_set(r->error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                  PD_SCOPE ".time: the recording does not say the times of its first and last sample "
                                           "(perf record --timestamp-boundary), so percents cannot be used");
    uint64_t first = r->features.first_time, span = r->features.last_time - first;
    /* As perf: each end scaled, no sample at a border lost. */
    f->time_start = first + span / 100000 * f->percent_start + span % 100000 * f->percent_start / 100000;
    f->time_stop = first + span / 100000 * f->percent_stop + span % 100000 * f->percent_stop / 100000;
    return 0;
}

int pd_filter_init(pd_reader *r) {
    pd_filter *f = &r->filter;
    int rc = profconv_options_check(r->options, PD_SCOPE, pd_settings, r->error);
    if (rc)
        return rc;
    f->kernel = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "kernel");
    f->branches = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "branches");
    f->strict = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "strict");
    f->unwind = strcmp(profconv_options_string(r->options, PD_SCOPE, pd_settings, "unwind"), "no") != 0;
    f->callers = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "branch-callers");
    f->jitdump = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "jitdump");
    int64_t max_stack = profconv_options_int(r->options, PD_SCOPE, pd_settings, "max-stack");
    if (max_stack < 0)
        return invalid(r, "max-stack", profconv_options_get(r->options, PD_SCOPE, "max-stack"), "a number from 0 on");
    f->max_stack = max_stack > UINT32_MAX ? UINT32_MAX : (uint32_t)max_stack;
    f->events = profconv_options_item(r->options, PD_SCOPE, "event", 0) != NULL;
    if ((rc = parse_ranges(r, "pid", &f->pids, &f->pid_list.data, &f->pid_list.count, &f->pid_list.capacity)) != 0 ||
        (rc = parse_ranges(r, "tid", &f->tids, &f->tid_list.data, &f->tid_list.count, &f->tid_list.capacity)) != 0 ||
        (rc = parse_ranges(r, "cpu", &f->cpus, &f->cpu_list.data, &f->cpu_list.count, &f->cpu_list.capacity)) != 0)
        return rc;
    const char *value;
    for (size_t i = 0; (value = profconv_options_item(r->options, PD_SCOPE, "comm", i)) != NULL; i++)
        for (const char *p = value, *next; p; p = next) {
            size_t n = piece(p, &next);
            if (PFC_VEC_PUSH(&r->mem, &f->comm_list, profconv_builder_string(r->builder, p, n)))
                return pd_failed(r);
            f->comms = 1;
        }
    rc = parse_time(r);
    return rc ? rc : parse_labels(r);
}

void pd_filter_free(pd_reader *r) {
    PFC_VEC_FREE(&r->mem, &r->filter.pid_list);
    PFC_VEC_FREE(&r->mem, &r->filter.tid_list);
    PFC_VEC_FREE(&r->mem, &r->filter.cpu_list);
    PFC_VEC_FREE(&r->mem, &r->filter.comm_list);
}

static int in_ranges(const pd_range32 *data, size_t count, uint32_t value) {
    for (size_t i = 0; i < count; i++)
        if (value >= data[i].first && value <= data[i].last)
            return 1;
    return 0;
}

int pd_event_wanted(pd_reader *r, pd_event *event) {
    if (!r->filter.events)
        return 1;
    if (event->wanted >= 0)
        return event->wanted;
    pfc_buf buf;
    pfc_buf_init(&buf, &r->mem);
    pd_event_name(r, event, &buf);
    event->wanted = 0;
    int named = event->name != NULL;
    const char *value;
    size_t base = buf.size ? pd_event_base_size(event, buf.data, buf.size) : 0;
    for (size_t i = 0; buf.size && (value = profconv_options_item(r->options, PD_SCOPE, "event", i)) != NULL; i++) {
        size_t n = strlen(value);
        if ((n == buf.size || n == base) && memcmp(value, buf.data, n) == 0)
            event->wanted = 1;
    }
    pfc_buf_free(&buf);
    if (!named)
        event->guessed = event->wanted;
    return event->wanted;
}

int pd_filter_recheck(pd_reader *r) {
    for (size_t i = 0; i < r->events.count; i++) {
        pd_event *e = &r->events.data[i];
        if (e->guessed >= 0 && e->guessed != pd_event_wanted(r, e))
            return profconv_error_set(r->error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                      PD_SCOPE ".event: the name of event %zu (%s) stands behind its samples; the input must "
                                               "be a file that can seek",
                                      i, e->name ? e->name : "");
    }
    return 0;
}

int pd_sample_wanted(pd_reader *r, const pd_sample *s, uint32_t thread) {
    const pd_filter *f = &r->filter;
    if (f->time && (s->time < f->time_start || s->time > f->time_stop))
        return 0;
    if (f->pids && !in_ranges(f->pid_list.data, f->pid_list.count, s->pid))
        return 0;
    if (f->tids && !in_ranges(f->tid_list.data, f->tid_list.count, s->tid))
        return 0;
    if (f->cpus && !in_ranges(f->cpu_list.data, f->cpu_list.count, s->cpu))
        return 0;
    if (f->comms) {
        profconv_id comm = pd_thread_comm(r, &r->threads.data[thread]);
        for (size_t i = 0; i < f->comm_list.count; i++)
            if (f->comm_list.data[i] == comm)
                return 1;
        return 0;
    }
    return 1;
}

static profconv_id number_label(pd_reader *r, unsigned key, uint64_t number, profconv_id unit) {
    profconv_label row = {(int64_t)number, r->label_keys[key], 0, unit, 1};
    return profconv_builder_label(r->builder, &row);
}
static profconv_id text_label(pd_reader *r, unsigned key, profconv_id text) {
    profconv_label row = {0, r->label_keys[key], text, 0, 0};
    return profconv_builder_label(r->builder, &row);
}

static profconv_id cgroup_path(pd_reader *r, uint64_t id) {
    if (r->last_cgroup < r->cgroups.count && r->cgroups.data[r->last_cgroup].id == id)
        return r->cgroups.data[r->last_cgroup].path;
    for (size_t i = 0; i < r->cgroups.count; i++)
        if (r->cgroups.data[i].id == id) {
            r->last_cgroup = i;
            return r->cgroups.data[i].path;
        }
    return 0;
}

profconv_id pd_label_set(pd_reader *r, uint32_t row, const pd_sample *s) {
    pd_thread *t = &r->threads.data[row];
    const pd_process *p = &r->processes.data[t->process];
    unsigned wanted = r->filter.labels;
    if (!(wanted & PD_LABEL_PER_SAMPLE) && t->label_set && t->label_serial == p->label_serial)
        return t->label_set;
    profconv_id labels[7];
    uint32_t n = 0;
    if (wanted & PD_LABEL_PID)
        labels[n++] = number_label(r, 0, (uint64_t)(int32_t)s->pid, 0);
    if (wanted & PD_LABEL_TID)
        labels[n++] = number_label(r, 1, (uint64_t)(int32_t)s->tid, 0);
    if (wanted & PD_LABEL_THREAD)
        labels[n++] = text_label(r, 2, pd_thread_comm(r, t));
    if (wanted & PD_LABEL_COMM)
        labels[n++] = text_label(r, 3, pd_process_comm(r, t));
    if (wanted & PD_LABEL_CPU)
        labels[n++] = number_label(r, 4, s->cpu, 0);
    if (wanted & PD_LABEL_TIMESTAMP)
        labels[n++] = number_label(r, 5, s->time, r->nanoseconds);
    if ((wanted & PD_LABEL_CGROUP) && cgroup_path(r, s->cgroup))
        labels[n++] = text_label(r, 6, cgroup_path(r, s->cgroup));
    t->label_serial = p->label_serial;
    t->label_set = profconv_builder_label_set(r->builder, labels, n);
    return t->label_set;
}
