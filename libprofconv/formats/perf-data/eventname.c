/* SPDX-License-Identifier: MIT
 *
 * Names of events whose recording does not tell them, made from type and config the way perf names them; and what
 * of a name are modifiers.
 */
#include "libprofconv/formats/perf-data/pd.h"

enum { TYPE_HARDWARE = 0, TYPE_SOFTWARE, TYPE_TRACEPOINT, TYPE_HW_CACHE, TYPE_RAW, TYPE_BREAKPOINT };

static const char *const hardware_names[] = {
    "cycles",     "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
static const char *const software_names[] = {
    "cpu-clock",    "task-clock",       "page-faults",      "context-switches", "cpu-migrations", "minor-faults",
    "major-faults", "alignment-faults", "emulation-faults", "dummy",            "bpf-output",     "cgroup-switches"};
static const char *const cache_names[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
static const char *const cache_ops[][2] = {{"loads", "load"}, {"stores", "store"}, {"prefetches", "prefetch"}};

static void add_cache_name(pfc_buf *buf, uint64_t config) {
    unsigned type = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;
    if (type >= sizeof cache_names / sizeof cache_names[0] || op >= 3 || result >= 2) {
        pfc_buf_text(buf, "unknown-ext-hardware-cache-type");
        return;
    }
    pfc_buf_text(buf, cache_names[type]);
    pfc_buf_char(buf, '-');
    pfc_buf_text(buf, cache_ops[op][result]);
    if (result == 1)
        pfc_buf_text(buf, "-misses");
}

static void add_modifiers(pfc_buf *buf, const pd_attr *a) {
    char text[16];
    size_t n = 0;
    int guest_default = 0;
    if (a->flags & (PD_F_EXCLUDE_KERNEL | PD_F_EXCLUDE_USER | PD_F_EXCLUDE_HV)) {
        if (!(a->flags & PD_F_EXCLUDE_KERNEL))
            text[n++] = 'k';
        if (!(a->flags & PD_F_EXCLUDE_USER))
            text[n++] = 'u';
        if (!(a->flags & PD_F_EXCLUDE_HV))
            text[n++] = 'h';
        guest_default = 1;
    }
    for (unsigned i = 0; i < PD_PRECISE_IP(a->flags); i++) {
        text[n++] = 'p';
        guest_default = 1;
    }
    int exclude_guest = (a->flags & PD_F_EXCLUDE_GUEST) != 0, exclude_host = (a->flags & PD_F_EXCLUDE_HOST) != 0;
    if (exclude_host || exclude_guest == guest_default) {
        if (!exclude_host)
            text[n++] = 'H';
        if (!exclude_guest)
            text[n++] = 'G';
    }
    if (n == 0)
        return;
    pfc_buf_char(buf, ':');
    pfc_buf_add(buf, text, n);
}

static void add_pmu_name(const pd_reader *r, pfc_buf *buf, const pd_attr *a) {
    for (size_t i = 0; i < r->features.pmu_count; i++)
        if (r->features.pmus[i].type == a->type) {
            pfc_buf_text(buf, r->features.pmus[i].name);
            pfc_buf_text(buf, "/config=0x");
            pfc_buf_hex(buf, a->config);
            pfc_buf_char(buf, '/');
            return;
        }
    pfc_buf_text(buf, "type");
    pfc_buf_u64(buf, a->type);
    pfc_buf_text(buf, "/config=0x");
    pfc_buf_hex(buf, a->config);
    pfc_buf_char(buf, '/');
}

void pd_event_name(pd_reader *r, const pd_event *event, pfc_buf *buf) {
    if (event->name) {
        pfc_buf_add(buf, event->name, event->name_size);
        return;
    }
    const pd_attr *a = &event->attr;
    uint64_t config = a->type == TYPE_HARDWARE ? a->config & UINT32_MAX : a->config; /* hybrid: PMU type above */
    if (a->type == TYPE_HARDWARE && config < sizeof hardware_names / sizeof hardware_names[0])
        pfc_buf_text(buf, hardware_names[config]);
    else if (a->type == TYPE_SOFTWARE && config < sizeof software_names / sizeof software_names[0])
        pfc_buf_text(buf, software_names[config]);
    else if (a->type == TYPE_HW_CACHE)
        add_cache_name(buf, a->config & UINT32_MAX);
    else if (a->type == TYPE_RAW) {
        pfc_buf_char(buf, 'r');
        pfc_buf_hex(buf, a->config);
    } else if (a->type == TYPE_BREAKPOINT) {
        pfc_buf_text(buf, "mem:0x");
        pfc_buf_hex(buf, a->config1);
        pfc_buf_char(buf, ':');
        if (a->bp_type & 1)
            pfc_buf_char(buf, 'r');
        if (a->bp_type & 2)
            pfc_buf_char(buf, 'w');
        if (a->bp_type & 4)
            pfc_buf_char(buf, 'x');
    } else if (a->type == TYPE_TRACEPOINT) {
        pfc_buf_text(buf, "tracepoint-");
        pfc_buf_u64(buf, a->config);
    } else
        add_pmu_name(r, buf, a);
    add_modifiers(buf, a);
}

size_t pd_event_base_size(const pd_event *event, const char *name, size_t size) {
    size_t end = size;
    while (end > 0 && memchr("ukhpPGHSDIWebR", name[end - 1], 14))
        end--;
    if (end == 0 || end == size)
        return size;
    if (name[end - 1] == '/') { /* cpu/event=0x3c/u: the slash stays, and there must be another before it */
        return memchr(name, '/', end - 1) ? end : size;
    }
    if (name[end - 1] != ':' || end < 2)
        return size;
    /* "system:name" of a tracepoint is no modifier; it needs a second colon. */
    if (event->attr.type == TYPE_TRACEPOINT && !memchr(name, ':', end - 1))
        return size;
    return end - 1;
}

int pd_event_is_clock(const pd_event *event) {
    return event->attr.type == TYPE_SOFTWARE && event->attr.config <= 1;
}

int pd_event_is_off_cpu(const pd_event *event) {
    return event->attr.type == TYPE_SOFTWARE && event->attr.config == 10 && event->name &&
           pd_event_base_size(event, event->name, event->name_size) == 11 && memcmp(event->name, "offcpu-time", 11) == 0;
}

int pd_event_counts_time(const pd_event *event) { return pd_event_is_clock(event) || pd_event_is_off_cpu(event); }

int pd_event_is_dummy(const pd_event *event) {
    return event->attr.type == TYPE_SOFTWARE && event->attr.config == 9;
}
