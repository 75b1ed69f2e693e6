/* SPDX-License-Identifier: MIT
 *
 * SAMPLE records: the fields in their order on the wire, consumed exactly; group reads split into one sample for each
 * member; samples that wait for a deferred call chain.
 */
#include "libprofconv/formats/perf-data/pd.h"

typedef struct pd_held {
    struct pd_held *next;
    uint64_t cookie, offset;
    size_t size;
    uint8_t data[];
} pd_held;

#define MAX_HELD 64 /* samples of one thread between a kernel entry and its return */
#define MARKER_KERNEL ((uint64_t)INT64_C(-128))
#define MARKER_USER ((uint64_t)INT64_C(-512))
#define MARKER_DEFERRED ((uint64_t)INT64_C(-640))
#define NO_TIME_FROM (~UINT64_C(0) << 32) /* perf gives what it adds up at the end a time behind all others */

/* Bytes of the times in a READ block. */
static size_t read_times(uint64_t format) {
    return (format & PD_READ_ENABLED ? 8u : 0u) + (format & PD_READ_RUNNING ? 8u : 0u);
}

/* Bytes of a READ block whose start the cursor shows; fails the cursor when they are not there. */
static void take_read(pfc_cursor *c, const pd_attr *a, pd_sample *s) {
    uint64_t f = a->read_format;
    size_t times = read_times(f), value = 8u + (f & PD_READ_ID ? 8u : 0u) + (f & PD_READ_LOST ? 8u : 0u);
    s->read = c->data + c->at;
    size_t before = c->at;
    if (f & PD_READ_GROUP) {
        uint64_t count = pfc_u64(c);
        pfc_skip(c, times);
        if (!pfc_fits(c, count, value)) {
            c->failed = 1;
            return;
        }
        pfc_skip(c, count * value);
    } else
        pfc_skip(c, times + value);
    s->read_size = c->at - before;
}

static const uint8_t *take_array(pfc_cursor *c, uint64_t count, size_t element) {
    if (!pfc_fits(c, count, element)) {
        c->failed = 1;
        return NULL;
    }
    return pfc_take(c, (size_t)count * element);
}

/* The values; NULL when there are none. */
static const uint8_t *take_registers(pfc_cursor *c, uint64_t mask, uint64_t *abi) {
    *abi = pfc_u64(c);
    if (*abi == 0)
        return NULL;
    size_t count = 0;
    for (; mask; mask &= mask - 1)
        count++;
    return pfc_take(c, 8 * count);
}

static void take_branches(pfc_cursor *c, const pd_attr *a, pd_sample *s) {
    s->branch_count = pfc_u64(c);
    if (a->branch_sample_type & PD_BRANCH_HW_INDEX)
        pfc_skip(c, 8);
    s->branches = take_array(c, s->branch_count, 24);
    if (a->branch_sample_type & PD_BRANCH_COUNTERS)
        take_array(c, s->branch_count, 8);
}

/* What stands behind the branch stack; of it only the dumped user stack with its registers is of use. */
static void take_rest(pfc_cursor *c, const pd_attr *a, pd_sample *s) {
    uint64_t t = a->sample_type;
    uint64_t abi = 0;
    if (t & PD_S_REGS_USER)
        s->registers = take_registers(c, a->regs_user, &s->registers_abi);
    if (t & PD_S_STACK_USER) {
        uint64_t size = pfc_u64(c);
        if (size) {
            s->stack = take_array(c, size, 1);
            uint64_t used = pfc_u64(c); /* of them; the rest was not there */
            s->stack_size = (size_t)(used < size ? used : size);
            s->stack_dump = s->registers && used > 0;
        }
    }
    if (t & (PD_S_WEIGHT | PD_S_WEIGHT_STRUCT))
        pfc_skip(c, 8);
    if (t & PD_S_DATA_SRC)
        pfc_skip(c, 8);
    if (t & PD_S_TRANSACTION)
        pfc_skip(c, 8);
    if (t & PD_S_REGS_INTR)
        take_registers(c, a->regs_intr, &abi);
    if (t & PD_S_PHYS_ADDR)
        pfc_skip(c, 8);
    if (t & PD_S_CGROUP)
        s->cgroup = pfc_u64(c);
    if (t & PD_S_DATA_PAGE_SIZE)
        pfc_skip(c, 8);
    if (t & PD_S_CODE_PAGE_SIZE)
        pfc_skip(c, 8);
    if (t & PD_S_AUX)
        pfc_skip(c, pfc_u64(c));
}

static void decode(pfc_cursor *c, const pd_attr *a, pd_sample *s) {
    uint64_t t = a->sample_type;
    s->pid = s->tid = UINT32_MAX;
    s->period = a->flags & PD_F_FREQ ? 1 : a->period ? a->period : 1;
    pfc_skip(c, 8);
    if (t & PD_S_IDENTIFIER)
        s->id = pfc_u64(c);
    if (t & PD_S_IP)
        s->ip = pfc_u64(c);
    if (t & PD_S_TID) {
        s->pid = pfc_u32(c);
        s->tid = pfc_u32(c);
    }
    if (t & PD_S_TIME)
        s->time = pfc_u64(c);
    if (t & PD_S_ADDR)
        pfc_skip(c, 8);
    if (t & PD_S_ID)
        s->id = pfc_u64(c);
    if (t & PD_S_STREAM_ID)
        pfc_skip(c, 8);
    if (t & PD_S_CPU) {
        s->cpu = pfc_u32(c);
        pfc_skip(c, 4);
    }
    if (t & PD_S_PERIOD)
        s->period = pfc_u64(c);
    if (t & PD_S_READ)
        take_read(c, a, s);
    if (t & PD_S_CALLCHAIN) {
        s->chain_count = pfc_u64(c);
        s->chain = take_array(c, s->chain_count, 8);
    }
    if (t & PD_S_RAW) {
        s->raw_size = pfc_u32(c);
        s->raw = c->data + c->at;
        pfc_skip(c, (((uint64_t)s->raw_size + 4 + 7) & ~UINT64_C(7)) - 4);
    }
    if (t & PD_S_BRANCH_STACK)
        take_branches(c, a, s);
    take_rest(c, a, s);
}

/* What a BPF program saw when the thread went on: a sample inside of the one of that moment, which it replaces. */
static void take_off_cpu(pfc_cursor *outer, pd_sample *s, int big) {
    pfc_cursor c = pfc_cursor_make(s->raw, s->raw_size, 0, big);
    s->pid = pfc_u32(&c);
    s->tid = pfc_u32(&c);
    s->period = pfc_u64(&c);
    s->chain_count = pfc_u64(&c);
    s->chain = take_array(&c, s->chain_count, 8);
    s->cgroup = pfc_u64(&c);
    outer->failed |= c.failed;
    if (c.failed || s->chain_count < 2)
        return;
    uint64_t space = pfc_load64(s->chain, big);
    s->ip = pfc_load64(s->chain + 8, big);
    s->mode = space == MARKER_USER ? PD_MODE_USER : space == MARKER_KERNEL ? PD_MODE_KERNEL : s->mode;
}

static int emit(pd_reader *r, pd_event *event, uint64_t weight, profconv_id stack, profconv_id labels) {
    if (!pd_event_wanted(r, event)) {
        r->counts.filtered++;
        return 0;
    }
    pd_emitted e = {weight > INT64_MAX ? INT64_MAX : (int64_t)weight, (uint32_t)(event - r->events.data), stack, labels};
    event->samples++;
    r->counts.samples_kept++;
    return pd_column_add(r, &e);
}

/* A cumulative counter's growth since the last read of it is what this sample stands for; none: no sample. */
static int emit_member(pd_reader *r, pd_event *sampled, uint64_t id, uint64_t value, profconv_id stack,
                       profconv_id labels) {
    pd_id *row = pd_event_by_id(r, id);
    pd_event *event = row ? &r->events.data[row->event] : NULL;
    if (!row) {
        if (r->ids.count) {
            r->counts.unknown_id++;
            return 0;
        }
        return emit(r, sampled, value, stack, labels);
    }
    uint64_t delta = value - row->last_value;
    row->last_value = value;
    if (delta == 0) {
        r->counts.zero_delta++;
        return 0;
    }
    return emit(r, event, delta, stack, labels);
}

static int emit_read(pd_reader *r, pd_event *event, const pd_sample *s, profconv_id stack, profconv_id labels) {
    uint64_t f = event->attr.read_format;
    pfc_cursor c = pfc_cursor_make(s->read, s->read_size, 0, r->big);
    uint64_t count = f & PD_READ_GROUP ? pfc_u64(&c) : 1, value = 0;
    if (!(f & PD_READ_GROUP))
        value = pfc_u64(&c);
    pfc_skip(&c, read_times(f));
    for (uint64_t i = 0; i < count && !c.failed; i++) {
        if (f & PD_READ_GROUP)
            value = pfc_u64(&c);
        uint64_t id = f & PD_READ_ID ? pfc_u64(&c) : s->id;
        if (f & PD_READ_LOST)
            pfc_skip(&c, 8);
        int rc = emit_member(r, event, id, value, stack, labels);
        if (rc)
            return rc;
    }
    return 0;
}

static int take_sample(pd_reader *r, pd_event *event, const pd_sample *s) {
    uint32_t thread = pd_thread_get(r, s->pid, s->tid);
    if (thread == UINT32_MAX)
        return pd_failed(r);
    if (s->time >= r->jit.next_time && pd_jit_advance(r, s->time))
        return r->mem.failed ? r->mem.failed : PROFCONV_E_INTERNAL;
    int reads = (event->attr.sample_type & PD_S_READ) != 0;
    if (s->time && s->time < NO_TIME_FROM) {
        if (r->last_time == 0 || s->time < r->first_time)
            r->first_time = s->time;
        if (s->time > r->last_time)
            r->last_time = s->time;
    }
    if ((!reads && !pd_event_wanted(r, event)) || !pd_sample_wanted(r, s, thread)) {
        r->counts.filtered++;
        return 0;
    }
    uint32_t process = r->threads.data[thread].process;
    if (event->attr.sample_type & PD_S_IP) {
        const pd_place *leaf = pd_locate(r, process, s->mode, s->ip);
        if (leaf->dso == UINT32_MAX)
            r->counts.unmapped++;
        if (r->branch_recording && r->selection.branches && leaf->dso != UINT32_MAX && pd_leaf_add(r, leaf->location))
            return pd_failed(r);
    }
    if (s->branch_count && r->selection.branches && !(event->attr.branch_sample_type & PD_BRANCH_CALL_STACK))
        pd_branch_stack(r, process, s);
    uint32_t main_dso = r->processes.data[process].main_dso;
    if (main_dso != UINT32_MAX)
        r->dsos.data[main_dso].samples++;
    profconv_id stack = pd_chain_stack(r, thread, event, s);
    if (r->mem.failed)
        return pd_failed(r);
    profconv_id labels = r->selection.labels ? pd_label_set(r, thread, s) : 0;
    return reads ? emit_read(r, event, s, stack, labels) : emit(r, event, s->period, stack, labels);
}

static int sample_error(pd_reader *r, uint64_t offset, size_t left) {
    return profconv_error_set(r->error, PROFCONV_E_FORMAT, offset, 0,
                              "offset 0x%llx: SAMPLE record with %zu bytes behind its last field (setting strict)",
                              (unsigned long long)offset, left);
}

/* Keeps a sample whose user call chain comes when the thread returns to user mode. Nonzero when it was kept. */
static int hold(pd_reader *r, const pd_sample *s, const uint8_t *data, size_t size, uint64_t cookie) {
    uint32_t row = pd_thread_get(r, s->pid, s->tid);
    if (row == UINT32_MAX)
        return 0;
    pd_held **end = &r->threads.data[row].held;
    int count = 0;
    for (; *end; end = &(*end)->next)
        count++;
    if (count >= MAX_HELD)
        return 0;
    pd_held *h = (pd_held *)pfc_alloc(&r->mem, sizeof *h + size);
    if (!h)
        return 0;
    h->next = NULL;
    h->cookie = cookie;
    h->offset = s->offset;
    h->size = size;
    memcpy(h->data, data, size);
    *end = h;
    return 1;
}

static int sample_record(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset, int fresh,
                         const uint8_t *deferred, uint64_t deferred_count) {
    pd_event *event = pd_event_of_record(r, data, size, PD_SAMPLE);
    if (!event) {
        if (r->counts.unknown_id++ == 0 && r->events.count == 0)
            return profconv_error_set(r->error, PROFCONV_E_FORMAT, offset, 0,
                                      "offset 0x%llx: SAMPLE record, but no event was described before it",
                                      (unsigned long long)offset);
        return 0;
    }
    pd_sample s;
    memset(&s, 0, sizeof s);
    s.offset = offset;
    s.mode = pfc_load16(data + 4, r->big) & PD_CPUMODE_MASK;
    pfc_cursor c = pfc_cursor_make(data, size, offset, r->big);
    decode(&c, &event->attr, &s);
    if (!c.failed && s.raw_size && pd_event_is_off_cpu(event))
        take_off_cpu(&c, &s, r->big);
    if (c.failed) {
        if (r->counts.malformed++ == 0)
            profconv_report_add(r->report, PROFCONV_NOTE_DROPPED, "malformed-sample", 0, 0, offset, 0,
                                "offset 0x%llx: SAMPLE record of %zu bytes is too short for its fields",
                                (unsigned long long)offset, size);
        return 0;
    }
    if (pfc_cursor_left(&c)) {
        if (r->filter.strict)
            return sample_error(r, offset, pfc_cursor_left(&c));
        r->counts.leftover++;
    }
    if (fresh) {
        r->counts.chain_entries += s.chain_count;
        r->counts.branch_entries += s.branch_count;
    }
    if (s.chain_count >= 2 && pfc_load64(s.chain + 8 * (s.chain_count - 2), r->big) == MARKER_DEFERRED) {
        uint64_t cookie = pfc_load64(s.chain + 8 * (s.chain_count - 1), r->big);
        s.chain_count -= 2;
        if (fresh && hold(r, &s, data, size, cookie))
            return 0;
        if (r->mem.failed)
            return pd_failed(r);
        if (!deferred)
            r->counts.deferred++;
        s.deferred = deferred;
        s.deferred_count = deferred_count;
    }
    return take_sample(r, event, &s);
}

int pd_on_sample(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset) {
    r->counts.samples++;
    return sample_record(r, data, size, offset, 1, NULL, 0);
}

/* Delivers a thread's held samples, those of another cookie without their user part. */
static int release(pd_reader *r, uint32_t row, uint64_t cookie, const uint8_t *chain, uint64_t count) {
    pd_held *h = r->threads.data[row].held;
    r->threads.data[row].held = NULL;
    int rc = 0;
    while (h) {
        pd_held *next = h->next;
        int match = chain && h->cookie == cookie;
        if (rc == 0)
            rc = sample_record(r, h->data, h->size, h->offset, 0, match ? chain : NULL, match ? count : 0);
        pfc_free(&r->mem, h, sizeof *h + h->size);
        h = next;
    }
    return rc;
}

int pd_on_deferred(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset) {
    const pd_event *event = pd_event_of_record(r, data, size, PD_CALLCHAIN_DEFERRED);
    pfc_cursor c = pfc_cursor_make(data, size, offset, r->big);
    pfc_skip(&c, 8);
    uint64_t cookie = pfc_u64(&c), count = pfc_u64(&c);
    const uint8_t *chain = take_array(&c, count, 8);
    if (c.failed || !event || !(event->attr.sample_type & PD_S_TID) || pfc_cursor_left(&c) < 8) {
        r->counts.bad_record++;
        return 0;
    }
    uint32_t pid = pfc_u32(&c), tid = pfc_u32(&c); /* the trailer begins with them */
    uint32_t row = pd_thread_get(r, pid, tid);
    return row == UINT32_MAX ? pd_failed(r) : release(r, row, cookie, chain, count);
}

int pd_release_held(pd_reader *r) {
    int rc = 0;
    for (size_t i = 0; i < r->threads.count; i++)
        if (r->threads.data[i].held && rc == 0)
            rc = release(r, (uint32_t)i, 0, NULL, 0);
    return rc;
}

void pd_free_held(pd_reader *r) {
    for (size_t i = 0; i < r->threads.count; i++)
        while (r->threads.data[i].held) {
            pd_held *h = r->threads.data[i].held;
            r->threads.data[i].held = h->next;
            pfc_free(&r->mem, h, sizeof *h + h->size);
        }
}
