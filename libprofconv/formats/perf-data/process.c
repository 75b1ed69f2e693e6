/* SPDX-License-Identifier: MIT
 *
 * Processes and threads: names, forks, execs. State follows the records in time order, so a sample sees the name and the
 * maps that held when it was taken.
 */
#include "libprofconv/formats/perf-data/pd.h"

static uint64_t process_hash(const void *user, uint32_t row) {
    return pfc_hash_mix(((const pd_reader *)user)->processes.data[row - 1].pid, 1);
}
static uint64_t thread_hash(const void *user, uint32_t row) {
    return pfc_hash_mix(((const pd_reader *)user)->threads.data[row - 1].tid, 2);
}

uint32_t pd_process_get(pd_reader *r, uint32_t pid) {
    uint64_t hash = pfc_hash_mix(pid, 1);
    if (r->process_index.size) {
        pfc_probe probe = pfc_index_start(&r->process_index, hash);
        for (uint32_t row; (row = pfc_index_next(&r->process_index, &probe)) != 0;)
            if (r->processes.data[row - 1].pid == pid)
                return row - 1;
    }
    pd_process p;
    memset(&p, 0, sizeof p);
    p.pid = pid;
    p.main_dso = UINT32_MAX;
    p.serial = ++r->next_serial;
    if (PFC_VEC_PUSH(&r->mem, &r->processes, p) ||
        pfc_index_insert(&r->mem, &r->process_index, hash, (uint32_t)r->processes.count, process_hash, r))
        return UINT32_MAX;
    return (uint32_t)r->processes.count - 1;
}

static uint32_t thread_find(pd_reader *r, uint32_t tid) {
    if (r->thread_index.size == 0)
        return UINT32_MAX;
    pfc_probe probe = pfc_index_start(&r->thread_index, pfc_hash_mix(tid, 2));
    for (uint32_t row; (row = pfc_index_next(&r->thread_index, &probe)) != 0;)
        if (r->threads.data[row - 1].tid == tid)
            return row - 1;
    return UINT32_MAX;
}

uint32_t pd_thread_get(pd_reader *r, uint32_t pid, uint32_t tid) {
    uint32_t row = thread_find(r, tid);
    if (row != UINT32_MAX) {
        pd_thread *t = &r->threads.data[row];
        if (r->processes.data[t->process].pid == pid)
            return row;
        /* The number went to another process without a record of it. */
        uint32_t process = pd_process_get(r, pid);
        if (process == UINT32_MAX)
            return UINT32_MAX;
        t->process = process;
        t->comm = pid == 0 && tid == 0 ? r->swapper : 0;
        t->label_set = 0;
        return row;
    }
    pd_thread t;
    memset(&t, 0, sizeof t);
    t.tid = tid;
    t.process = pd_process_get(r, pid);
    if (t.process == UINT32_MAX)
        return UINT32_MAX;
    if (pid == 0 && tid == 0)
        t.comm = r->swapper;
    if (PFC_VEC_PUSH(&r->mem, &r->threads, t) ||
        pfc_index_insert(&r->mem, &r->thread_index, pfc_hash_mix(tid, 2), (uint32_t)r->threads.count, thread_hash, r))
        return UINT32_MAX;
    return (uint32_t)r->threads.count - 1;
}

/* ":TID" as perf shows threads that nobody named. */
static profconv_id unnamed(pd_reader *r, uint32_t tid) {
    char text[22]; /* ":", and room for the 21 of pfc_format_i64 */
    text[0] = ':';
    size_t n = 1 + pfc_format_i64(text + 1, (int32_t)tid);
    return profconv_builder_string(r->builder, text, n);
}

profconv_id pd_thread_comm(pd_reader *r, const pd_thread *thread) {
    return thread->comm ? thread->comm : unnamed(r, thread->tid);
}

profconv_id pd_process_comm(pd_reader *r, const pd_thread *thread) {
    uint32_t pid = r->processes.data[thread->process].pid;
    uint32_t row = pid == thread->tid ? UINT32_MAX : thread_find(r, pid);
    if (pid != thread->tid && (row == UINT32_MAX || r->threads.data[row].comm == 0))
        return thread->comm ? thread->comm : unnamed(r, pid);
    return pd_thread_comm(r, row == UINT32_MAX ? thread : &r->threads.data[row]);
}

static void rename_thread(pd_reader *r, pd_thread *t, profconv_id comm) {
    t->comm = comm;
    t->label_set = 0;
    pd_process *p = &r->processes.data[t->process];
    if (p->pid == t->tid)
        p->label_serial++;
}

static void clear_maps(pd_reader *r, pd_process *p) {
    pd_maps_free(r, p->maps);
    p->maps = NULL;
    p->main_dso = UINT32_MAX;
    p->main_rank = 0;
    p->serial = ++r->next_serial;
}

int pd_on_comm(pd_reader *r, const uint8_t *data, size_t size, unsigned misc) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, r->big);
    pfc_skip(&c, 8);
    uint32_t pid = pfc_u32(&c), tid = pfc_u32(&c);
    profconv_string name = pfc_cstring(&c);
    if (c.failed) {
        r->counts.bad_record++;
        return 0;
    }
    uint32_t row = pd_thread_get(r, pid, tid);
    if (row == UINT32_MAX)
        return pd_failed(r);
    pd_thread *t = &r->threads.data[row];
    if (name.size) /* perf keeps ":TID" for an empty name */
        rename_thread(r, t, profconv_builder_string(r->builder, name.data, name.size));
    pd_process *p = &r->processes.data[t->process];
    if (misc & PD_MISC_COMM_EXEC)
        clear_maps(r, p);
    else if (pid == tid && p->main_rank == 1)
        p->main_rank = 0; /* old kernels do not mark an exec: the next program seen replaces the inherited one */
    return 0;
}

int pd_on_fork(pd_reader *r, const uint8_t *data, size_t size, unsigned misc, uint64_t time) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, r->big);
    pfc_skip(&c, 8);
    uint32_t pid = pfc_u32(&c), ppid = pfc_u32(&c), tid = pfc_u32(&c), ptid = pfc_u32(&c);
    if (c.failed) {
        r->counts.bad_record++;
        return 0;
    }
    if (tid == ptid) /* itself */
        return 0;
    uint32_t parent = pd_thread_get(r, ppid, ptid), child = pd_thread_get(r, pid, tid);
    if (parent == UINT32_MAX || child == UINT32_MAX)
        return pd_failed(r);
    pd_thread *t = &r->threads.data[child];
    const pd_thread *from = &r->threads.data[parent];
    rename_thread(r, t, from->comm);
    if (pid == ppid)
        return 0;
    /* A new process. Records that the recorder made for tasks it found (marked, or without a time in recordings that
     * have times) are followed by the maps of the process. */
    pd_process *p = &r->processes.data[t->process];
    if (t->process == from->process)
        return 0;
    clear_maps(r, p);
    if ((misc & PD_MISC_FORK_EXEC) || (time == 0 && r->sort))
        return 0;
    const pd_process *q = &r->processes.data[from->process];
    p->maps = pd_maps_share(q->maps);
    p->main_dso = q->main_dso;
    p->main_rank = q->main_dso != UINT32_MAX ? 1 : 0;
    return 0;
}

int pd_on_exit(pd_reader *r, const uint8_t *data, size_t size) {
    /* Maps and name stay: samples with later times can follow, and a new fork replaces them. */
    (void)data;
    if (size < 24)
        r->counts.bad_record++;
    return 0;
}

int pd_processes_init(pd_reader *r) {
    r->swapper = profconv_builder_cstring(r->builder, "swapper");
    return profconv_builder_status(r->builder, r->error);
}

void pd_processes_free(pd_reader *r) {
    for (size_t i = 0; i < r->processes.count; i++)
        pd_maps_free(r, r->processes.data[i].maps);
    pd_maps_free(r, r->kernel_maps);
    r->kernel_maps = NULL;
    PFC_VEC_FREE(&r->mem, &r->processes);
    PFC_VEC_FREE(&r->mem, &r->threads);
    PFC_VEC_FREE(&r->mem, &r->dsos);
    PFC_VEC_FREE(&r->mem, &r->cgroups);
    pfc_index_free(&r->mem, &r->process_index);
    pfc_index_free(&r->mem, &r->thread_index);
    pfc_index_free(&r->mem, &r->dso_index);
}
