/* SPDX-License-Identifier: MIT
 *
 * The reader's settings: which samples are read, which labels they get, what addresses mean.
 */
#include "libprofconv/formats/perf-script/ps.h"

const profconv_setting ps_settings[] = {
    PFC_SELECTION_SETTINGS,
    {"time", PROFCONV_SETTING_STRING, NULL, NULL,
     "read only samples in START,STOP (seconds as printed, either may be empty)"},
    {"labels", PROFCONV_SETTING_STRING, "thread", NULL,
     "labels of the samples, comma-separated: pid, tid, thread, comm, cpu, timestamp"},
    PFC_SELECTION_STACK_SETTINGS,
    {"addresses", PROFCONV_SETTING_ENUM, "auto", "auto|relative|raw",
     "addresses of call chains in files: offsets in the file (perf before 6.4), or run-time addresses"},
    {"file", PROFCONV_SETTING_STRING, NULL, NULL,
     "path of the binary that bare addresses belong to, for text without mmap events"},
    {"base", PROFCONV_SETTING_STRING, "0", NULL,
     "address of that binary's first byte, hexadecimal, for text without mmap events"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL}};

static int parse_binary(ps_reader *r, const pfc_selection_source *from) {
    const char *file = profconv_options_string(r->options, PS_SCOPE, ps_settings, "file");
    const char *base = profconv_options_string(r->options, PS_SCOPE, ps_settings, "base");
    const char *digits = base[0] == '0' && (base[1] == 'x' || base[1] == 'X') ? base + 2 : base;
    const char *end = base + strlen(base);
    r->default_file = file ? profconv_builder_cstring(r->builder, file) : 0;
    return pfc_parse_hex(digits, end, &r->default_base) == end
               ? 0
               : pfc_selection_invalid(from, "base", base, "a hexadecimal number");
}

int ps_settings_read(ps_reader *r) {
    int status = profconv_options_check(r->options, PS_SCOPE, ps_settings, r->error);
    if (status)
        return status;
    const char *addresses = profconv_options_string(r->options, PS_SCOPE, ps_settings, "addresses");
    r->addresses = strcmp(addresses, "relative") == 0 ? PS_ADDRESSES_RELATIVE
                   : strcmp(addresses, "raw") == 0    ? PS_ADDRESSES_RAW
                                                      : PS_ADDRESSES_AUTO;
    r->raw = r->addresses == PS_ADDRESSES_AUTO ? -1 : r->addresses == PS_ADDRESSES_RAW;
    pfc_selection_source from = {&r->mem,     r->builder, r->options, r->error,               PS_SCOPE,
                              ps_settings, INT64_MAX,  PS_LABELS, "START,STOP in seconds"};
    const char *time = profconv_options_string(r->options, PS_SCOPE, ps_settings, "time");
    status = pfc_selection_read(&r->selection, &from);
    if (status == 0 && time && *time)
        status = pfc_selection_read_time(&r->selection, &from, time);
    return status ? status : parse_binary(r, &from);
}

void ps_settings_free(ps_reader *r) { pfc_selection_free(&r->selection, &r->mem); }

int ps_sample_wanted(ps_reader *r, int64_t pid) {
    const pfc_selection *c = &r->selection;
    const ps_header *h = &r->header;
    if (!pfc_selection_time(c, h->has_time, h->time))
        return 0;
    r->counts.pid_unknown += c->pids.count > 0 && pid == -1;
    return pfc_numbers_hold(&c->pids, !r->headless, pid) && pfc_numbers_hold(&c->tids, !r->headless, h->tid) &&
           pfc_numbers_hold(&c->cpus, h->has_cpu, (int64_t)(h->cpu & INT64_MAX)) && pfc_selection_comm(c, r->comm);
}

/* The name of a process is that of its first thread, where it is known. */
static profconv_id process_comm(ps_reader *r, int64_t pid) {
    const ps_thread *first = pid < 0 ? NULL : ps_thread_get(r, pid);
    return first && first->comm ? first->comm : r->comm;
}

profconv_id ps_label_set(ps_reader *r, ps_thread *thread, int64_t pid) {
    const ps_header *h = &r->header;
    const pfc_selection *c = &r->selection;
    unsigned wanted = c->labels;
    /* What is the same in all samples of a thread with this name. */
    int steady = (wanted & ~(unsigned)(PFC_LABEL_TID | PFC_LABEL_THREAD)) == 0;
    if (steady && thread->label_set && thread->label_comm == r->comm)
        return thread->label_set;
    profconv_id labels[PS_LABELS];
    uint32_t n = 0;
    int64_t tid = thread->tid;
    profconv_id comm = r->comm;
    if ((wanted & PFC_LABEL_PID) && pid != -1)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_PID, pid);
    if (wanted & PFC_LABEL_TID)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_TID, tid);
    if ((wanted & PFC_LABEL_THREAD) && comm)
        labels[n++] = pfc_selection_text(c, r->builder, PFC_LABEL_THREAD, comm);
    if ((wanted & PFC_LABEL_COMM) && comm) {
        labels[n++] = pfc_selection_text(c, r->builder, PFC_LABEL_COMM, process_comm(r, pid));
        thread = ps_thread_get(r, tid); /* rows may have moved */
    }
    if ((wanted & PFC_LABEL_CPU) && h->has_cpu)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_CPU, (int64_t)(h->cpu & INT64_MAX));
    if ((wanted & PFC_LABEL_TIMESTAMP) && h->has_time)
        labels[n++] = pfc_selection_number(c, r->builder, PFC_LABEL_TIMESTAMP, (int64_t)(h->time & INT64_MAX));
    profconv_id set = profconv_builder_label_set(r->builder, labels, n);
    if (thread && steady) {
        thread->label_set = set;
        thread->label_comm = comm;
    }
    return set;
}
