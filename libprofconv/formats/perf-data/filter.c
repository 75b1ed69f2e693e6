/* SPDX-License-Identifier: MIT
 *
 * The reader's settings: which samples are read, which labels they get.
 */
#include "libprofconv/formats/perf-data/pd.h"

const profconv_setting pd_settings[] = {
    PFC_SELECTION_SETTINGS,
    {"time", PROFCONV_SETTING_STRING, NULL, NULL,
     "read only samples in START,STOP (seconds of the recording's clock, either may be empty) or 10%-20%"},
    {"labels", PROFCONV_SETTING_STRING, "thread", NULL,
     "labels of the samples, comma-separated: pid, tid, thread, comm, cpu, timestamp, cgroup"},
    PFC_SELECTION_STACK_SETTINGS,
    {"unwind", PROFCONV_SETTING_ENUM, "auto", "auto|no", "unwind stacks that were dumped (--call-graph dwarf), or keep the leaf only"},
    {"branch-callers", PROFCONV_SETTING_BOOL, "yes", NULL, "callers that frame pointers skip, from branch records beside the call chains"},
    {"jitdump", PROFCONV_SETTING_BOOL, "yes", NULL, "name code made at run time by the jitdump files that the recording mentions"},
    {"strict", PROFCONV_SETTING_BOOL, "no", NULL, "bytes behind a sample's last field are an error"},
    {NULL, (profconv_setting_type)0, NULL, NULL, NULL}};

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

static int parse_time(pd_reader *r, const pfc_selection_source *from) {
    pd_filter *f = &r->filter;
    const char *text = profconv_options_string(r->options, PD_SCOPE, pd_settings, "time");
    if (!text || !*text)
        return 0;
    if (!strchr(text, '%'))
        return pfc_selection_read_time(&r->selection, from, text);
    const char *end = text + strlen(text), *at = parse_percent(text, end, &f->percent_start);
    r->selection.time = f->percent = 1;
    r->selection.time_stop = UINT64_MAX;
    at = at && at < end && *at == '-' ? parse_percent(at + 1, end, &f->percent_stop) : NULL;
    return at == end && f->percent_stop >= f->percent_start ? 0 : pfc_selection_invalid(from, "time", text, from->time);
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
    r->selection.time_start = first + span / 100000 * f->percent_start + span % 100000 * f->percent_start / 100000;
    r->selection.time_stop = first + span / 100000 * f->percent_stop + span % 100000 * f->percent_stop / 100000;
    return 0;
}

int pd_filter_init(pd_reader *r) {
    pd_filter *f = &r->filter;
    int rc = profconv_options_check(r->options, PD_SCOPE, pd_settings, r->error);
    if (rc)
        return rc;
    f->strict = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "strict");
    f->unwind = strcmp(profconv_options_string(r->options, PD_SCOPE, pd_settings, "unwind"), "no") != 0;
    f->callers = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "branch-callers");
    f->jitdump = profconv_options_bool(r->options, PD_SCOPE, pd_settings, "jitdump");
    pfc_selection_source from = {&r->mem,     r->builder,  r->options,      r->error, PD_SCOPE,
                              pd_settings, UINT32_MAX, PFC_LABEL_COUNT, "START,STOP in seconds or A%-B%"};
    rc = pfc_selection_read(&r->selection, &from);
    return rc ? rc : parse_time(r, &from);
}

void pd_filter_free(pd_reader *r) { pfc_selection_free(&r->selection, &r->mem); }

int pd_event_wanted(pd_reader *r, pd_event *event) {
    if (!r->selection.events)
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

/* The names of the recording's events, as many as fit into a message. */
static void put_event_names(pd_reader *r, pfc_buf *names) {
    enum { SHOWN = 8 };
    pfc_buf name;
    pfc_buf_init(&name, &r->mem);
    for (size_t i = 0; i < r->events.count && i < SHOWN; i++) {
        pfc_buf_clear(&name);
        pd_event_name(r, &r->events.data[i], &name);
        pfc_buf_text(names, i ? ", " : "");
        pfc_buf_add(names, name.data, name.size);
    }
    if (r->events.count > SHOWN)
        pfc_buf_text(names, ", ...");
    pfc_buf_char(names, 0);
    pfc_buf_free(&name);
}

int pd_filter_nothing(pd_reader *r) {
    int wanted = 0, status;
    for (size_t i = 0; i < r->events.count; i++)
        wanted |= pd_event_wanted(r, &r->events.data[i]);
    if (wanted)
        return profconv_error_set(r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "all of %llu samples were left out by the settings (event, pid, tid, comm, cpu, time)",
                                  (unsigned long long)r->counts.samples);
    pfc_buf names;
    pfc_buf_init(&names, &r->mem);
    put_event_names(r, &names);
    if (names.failed)
        status = pfc_mem_error(&r->mem, r->error);
    else
        status = profconv_error_set(r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                    "all of %llu samples were left out by the settings: no event is called %s; the recording "
                                    "has %s",
                                    (unsigned long long)r->counts.samples,
                                    profconv_options_item(r->options, PD_SCOPE, "event", 0), names.data);
    pfc_buf_free(&names);
    return status;
}

static int64_t signed_id(uint32_t id) { return id == UINT32_MAX ? -1 : (int64_t)id; }

int pd_sample_wanted(pd_reader *r, const pd_sample *s, uint32_t thread) {
    const pfc_selection *c = &r->selection;
    return pfc_selection_time(c, 1, s->time) && pfc_numbers_hold(&c->pids, 1, signed_id(s->pid)) &&
           pfc_numbers_hold(&c->tids, 1, signed_id(s->tid)) && pfc_numbers_hold(&c->cpus, 1, signed_id(s->cpu)) &&
           (c->comms.count == 0 || pfc_selection_comm(c, pd_thread_comm(r, &r->threads.data[thread])));
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
    const pfc_selection *c = &r->selection;
    unsigned wanted = c->labels;
    if (!(wanted & (PFC_LABEL_CPU | PFC_LABEL_TIMESTAMP | PFC_LABEL_CGROUP)) && t->label_set &&
        t->label_serial == p->label_serial)
        return t->label_set;
    profconv_id labels[PFC_LABEL_COUNT];
    uint32_t n = 0;
    if (wanted & PFC_LABEL_PID)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_PID, (int32_t)s->pid);
    if (wanted & PFC_LABEL_TID)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_TID, (int32_t)s->tid);
    if (wanted & PFC_LABEL_THREAD)
        labels[n++] = pfc_selection_text(c, r->builder, PFC_LABEL_THREAD, pd_thread_comm(r, t));
    if (wanted & PFC_LABEL_COMM)
        labels[n++] = pfc_selection_text(c, r->builder, PFC_LABEL_COMM, pd_process_comm(r, t));
    if (wanted & PFC_LABEL_CPU)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_CPU, s->cpu);
    if (wanted & PFC_LABEL_TIMESTAMP)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_TIMESTAMP, (int64_t)s->time);
    if ((wanted & PFC_LABEL_CGROUP) && cgroup_path(r, s->cgroup))
        labels[n++] = pfc_selection_text(c, r->builder, PFC_LABEL_CGROUP, cgroup_path(r, s->cgroup));
    t->label_serial = p->label_serial;
    t->label_set = profconv_builder_label_set(r->builder, labels, n);
    return t->label_set;
}
