/* SPDX-License-Identifier: MIT
 *
 * The reader's settings: which samples are read, which labels they get, what addresses mean.
 */
#include "libprofconv/formats/perf-script/ps.h"

const profconv_setting ps_settings[] = {
    {"event", PROFCONV_SETTING_LIST, NULL, NULL, "read only these events, named with or without modifiers"},
    {"pid", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these processes (numbers, ranges, commas)"},
    {"tid", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these threads"},
    {"comm", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of threads with these names"},
    {"cpu", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these CPUs"},
    {"time", PROFCONV_SETTING_STRING, NULL, NULL,
     "read only samples in START,STOP (seconds as printed, either may be empty)"},
    {"labels", PROFCONV_SETTING_STRING, "thread", NULL,
     "labels of the samples, comma-separated: pid, tid, thread, comm, cpu, timestamp"},
    {"kernel", PROFCONV_SETTING_BOOL, "yes", NULL, "keep kernel frames"},
    {"max-stack", PROFCONV_SETTING_INT, "0", NULL, "keep at most this many frames from the leaf on (0: all)"},
    {"branches", PROFCONV_SETTING_BOOL, "yes", NULL, "read last-branch records into branches and ranges"},
    {"addresses", PROFCONV_SETTING_ENUM, "auto", "auto|relative|raw",
     "addresses of call chains in files: offsets in the file (perf before 6.4), or run-time addresses"},
    {"file", PROFCONV_SETTING_STRING, NULL, NULL,
     "path of the binary that bare addresses belong to, for text without mmap events"},
    {"base", PROFCONV_SETTING_STRING, "0", NULL,
     "address of that binary's first byte, hexadecimal, for text without mmap events"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL}};

static const char *const label_names[PS_LABELS] = {"pid", "tid", "thread", "comm", "cpu", "timestamp"};

static int invalid(ps_reader *r, const char *key, const char *value, const char *expected) {
    return profconv_error_set(r->error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, PS_SCOPE ".%s=%s: %s expected", key,
                              value, expected);
}

/* The piece of a comma list that begins at p; *next is behind the comma, or NULL after the last. */
static size_t piece(const char *p, const char **next) {
    const char *comma = strchr(p, ',');
    *next = comma ? comma + 1 : NULL;
    return comma ? (size_t)(comma - p) : strlen(p);
}

static int parse_ranges(ps_reader *r, const char *key, ps_ranges *out) {
    const char *value;
    for (size_t i = 0; (value = profconv_options_item(r->options, PS_SCOPE, key, i)) != NULL; i++)
        for (const char *p = value, *next; p; p = next) {
            size_t n = piece(p, &next);
            const char *end = p + n;
            ps_range64 range;
            const char *at = pfc_parse_i64(p, end, &range.first);
            range.last = range.first;
            if (at && at < end && *at == '-' && range.first >= 0)
                at = pfc_parse_i64(at + 1, end, &range.last);
            if (!at || at != end || range.first < -1 || range.last < range.first)
                return invalid(r, key, value, "numbers or ranges A-B, with commas between them,");
            if (PFC_VEC_PUSH(&r->mem, out, range))
                return ps_failed(r);
        }
    return 0;
}

static int parse_labels(ps_reader *r) {
    const char *text = profconv_options_string(r->options, PS_SCOPE, ps_settings, "labels");
    for (const char *p = text, *next; p; p = next) {
        size_t n = piece(p, &next);
        if (n == 0 || (n == 4 && memcmp(p, "none", 4) == 0))
            continue;
        unsigned i = 0;
        while (i < PS_LABELS && (strlen(label_names[i]) != n || memcmp(label_names[i], p, n) != 0))
            i++;
        if (i == PS_LABELS)
            return invalid(r, "labels", text, "pid, tid, thread, comm, cpu or timestamp");
        r->filter.labels |= 1u << i;
    }
    for (unsigned i = 0; i < PS_LABELS; i++)
        r->label_keys[i] = profconv_builder_cstring(r->builder, label_names[i]);
    r->nanoseconds = profconv_builder_cstring(r->builder, "nanoseconds");
    return 0;
}

/* Seconds with a fraction of up to nine digits, in nanoseconds. */
static const char *parse_seconds(const char *p, const char *end, uint64_t *ns) {
    uint64_t seconds = 0, unit = 100000000;
    const char *at = pfc_parse_u64(p, end, &seconds);
    if (!at || seconds > UINT64_MAX / 1000000000u - 1)
        return NULL;
    *ns = seconds * 1000000000u;
    if (at < end && *at == '.')
        for (at++; at < end && ps_is_digit(*at); at++, unit /= 10)
            *ns += unit * (uint64_t)(*at - '0');
    return at;
}

static int parse_time(ps_reader *r) {
    ps_filter *f = &r->filter;
    const char *text = profconv_options_string(r->options, PS_SCOPE, ps_settings, "time");
    if (!text || !*text)
        return 0;
    const char *end = text + strlen(text), *at = text;
    f->time = 1;
    f->time_stop = UINT64_MAX;
    if (*at != ',')
        at = parse_seconds(at, end, &f->time_start);
    if (!at || *at != ',')
        return invalid(r, "time", text, "START,STOP in seconds");
    if (++at < end)
        at = parse_seconds(at, end, &f->time_stop);
    return at == end && f->time_start <= f->time_stop ? 0 : invalid(r, "time", text, "START,STOP in seconds");
}

static int parse_binary(ps_reader *r) {
    const char *file = profconv_options_string(r->options, PS_SCOPE, ps_settings, "file");
    const char *base = profconv_options_string(r->options, PS_SCOPE, ps_settings, "base");
    const char *digits = base[0] == '0' && (base[1] == 'x' || base[1] == 'X') ? base + 2 : base;
    const char *end = base + strlen(base);
    r->default_file = file ? profconv_builder_cstring(r->builder, file) : 0;
    return pfc_parse_hex(digits, end, &r->default_base) == end ? 0 : invalid(r, "base", base, "a hexadecimal number");
}

int ps_settings_read(ps_reader *r) {
    ps_filter *f = &r->filter;
    int status = profconv_options_check(r->options, PS_SCOPE, ps_settings, r->error);
    if (status)
        return status;
    const char *addresses = profconv_options_string(r->options, PS_SCOPE, ps_settings, "addresses");
    f->addresses = strcmp(addresses, "relative") == 0 ? PS_ADDRESSES_RELATIVE
                   : strcmp(addresses, "raw") == 0    ? PS_ADDRESSES_RAW
                                                      : PS_ADDRESSES_AUTO;
    r->raw = f->addresses == PS_ADDRESSES_AUTO ? -1 : f->addresses == PS_ADDRESSES_RAW;
    f->kernel = profconv_options_bool(r->options, PS_SCOPE, ps_settings, "kernel");
    f->branches = profconv_options_bool(r->options, PS_SCOPE, ps_settings, "branches");
    int64_t max_stack = profconv_options_int(r->options, PS_SCOPE, ps_settings, "max-stack");
    if (max_stack < 0)
        return invalid(r, "max-stack", profconv_options_get(r->options, PS_SCOPE, "max-stack"), "a number from 0 on");
    f->max_stack = max_stack > UINT32_MAX ? UINT32_MAX : (uint32_t)max_stack;
    f->events = profconv_options_item(r->options, PS_SCOPE, "event", 0) != NULL;
    if ((status = parse_ranges(r, "pid", &f->pids)) != 0 || (status = parse_ranges(r, "tid", &f->tids)) != 0 ||
        (status = parse_ranges(r, "cpu", &f->cpus)) != 0)
        return status;
    const char *value;
    for (size_t i = 0; (value = profconv_options_item(r->options, PS_SCOPE, "comm", i)) != NULL; i++)
        for (const char *p = value, *next; p; p = next) {
            size_t n = piece(p, &next);
            if (PFC_VEC_PUSH(&r->mem, &f->comms, profconv_builder_string(r->builder, p, n)))
                return ps_failed(r);
        }
    if ((status = parse_time(r)) != 0 || (status = parse_binary(r)) != 0)
        return status;
    return parse_labels(r);
}

void ps_settings_free(ps_reader *r) {
    PFC_VEC_FREE(&r->mem, &r->filter.pids);
    PFC_VEC_FREE(&r->mem, &r->filter.tids);
    PFC_VEC_FREE(&r->mem, &r->filter.cpus);
    PFC_VEC_FREE(&r->mem, &r->filter.comms);
}

static int in_ranges(const ps_ranges *ranges, int known, int64_t value) {
    if (ranges->count == 0)
        return 1;
    for (size_t i = 0; known && i < ranges->count; i++)
        if (value >= ranges->data[i].first && value <= ranges->data[i].last)
            return 1;
    return 0;
}

int ps_sample_wanted(ps_reader *r, int64_t pid) {
    const ps_filter *f = &r->filter;
    const ps_header *h = &r->header;
    if (f->time && (!h->has_time || h->time < f->time_start || h->time > f->time_stop))
        return 0;
    r->counts.pid_unknown += f->pids.count > 0 && pid == -1;
    if (!in_ranges(&f->pids, !r->headless, pid) || !in_ranges(&f->tids, !r->headless, h->tid) ||
        !in_ranges(&f->cpus, h->has_cpu, (int64_t)(h->cpu & INT64_MAX)))
        return 0;
    for (size_t i = 0; i < f->comms.count; i++)
        if (f->comms.data[i] == r->comm)
            return 1;
    return f->comms.count == 0;
}

static profconv_id number_label(ps_reader *r, unsigned key, int64_t number, profconv_id unit) {
    profconv_label row = {number, r->label_keys[key], 0, unit, 1};
    return profconv_builder_label(r->builder, &row);
}
static profconv_id text_label(ps_reader *r, unsigned key, profconv_id text) {
    profconv_label row = {0, r->label_keys[key], text, 0, 0};
    return profconv_builder_label(r->builder, &row);
}

/* The name of a process is that of its first thread, where it is known. */
static profconv_id process_comm(ps_reader *r, int64_t pid) {
    const ps_thread *first = pid < 0 ? NULL : ps_thread_get(r, pid);
    return first && first->comm ? first->comm : r->comm;
}

profconv_id ps_label_set(ps_reader *r, ps_thread *thread, int64_t pid) {
    const ps_header *h = &r->header;
    unsigned wanted = r->filter.labels;
    /* What is the same in all samples of a thread with this name. */
    int steady = (wanted & ~(unsigned)(PS_LABEL_TID | PS_LABEL_THREAD)) == 0;
    if (steady && thread->label_set && thread->label_comm == r->comm)
        return thread->label_set;
    profconv_id labels[PS_LABELS];
    uint32_t n = 0;
    int64_t tid = thread->tid;
    profconv_id comm = r->comm;
    if ((wanted & PS_LABEL_PID) && pid != -1)
        labels[n++] = number_label(r, 0, pid, 0);
    if (wanted & PS_LABEL_TID)
        labels[n++] = number_label(r, 1, tid, 0);
    if ((wanted & PS_LABEL_THREAD) && comm)
        labels[n++] = text_label(r, 2, comm);
    if ((wanted & PS_LABEL_COMM) && comm) {
        labels[n++] = text_label(r, 3, process_comm(r, pid));
        thread = ps_thread_get(r, tid); /* rows may have moved */
    }
    if ((wanted & PS_LABEL_CPU) && h->has_cpu)
        labels[n++] = number_label(r, 4, (int64_t)(h->cpu & INT64_MAX), 0);
    if ((wanted & PS_LABEL_TIMESTAMP) && h->has_time)
        labels[n++] = number_label(r, 5, (int64_t)(h->time & INT64_MAX), r->nanoseconds);
    profconv_id set = profconv_builder_label_set(r->builder, labels, n);
    if (thread && steady) {
        thread->label_set = set;
        thread->label_comm = comm;
    }
    return set;
}
