/* SPDX-License-Identifier: MIT
 *
 * perf_event_attr of every size and byte order, the table of events, and which event a record belongs to.
 */
#include "libprofconv/formats/perf-data/pd.h"

/* Bitfields of a big-endian writer are allocated from the most significant bit. */
static uint64_t reverse_bits(uint64_t v) {
    uint64_t out = 0;
    for (int i = 0; i < 64; i++)
        out |= (v >> i & 1) << (63 - i);
    return out;
}

int pd_attr_decode(pd_attr *out, const uint8_t *data, size_t size, int big) {
    memset(out, 0, sizeof *out);
    if (size < 64)
        return 0;
    pfc_cursor c = pfc_cursor_make(data, size, 0, big);
    out->type = pfc_u32(&c);
    out->size = pfc_u32(&c);
    /* A damaged size must not hide the fields that the entry has room for, nor pass over its end. */
    size_t known = out->size < 64 ? 64 : out->size < size ? out->size : size;
    c.size = known;
    out->config = pfc_u64(&c);
    out->period = pfc_u64(&c);
    out->sample_type = pfc_u64(&c);
    out->read_format = pfc_u64(&c);
    uint64_t flags = pfc_u64(&c);
    out->flags = big ? reverse_bits(flags) : flags;
    if (big) /* a field of several bits is mirrored as a whole, its bits are not */
        out->flags = (out->flags & ~(UINT64_C(3) << 15)) | (out->flags >> 16 & 1) << 15 | (out->flags >> 15 & 1) << 16;
    pfc_skip(&c, 4); /* wakeup */
    out->bp_type = pfc_u32(&c);
    out->config1 = pfc_u64(&c);
    pfc_skip(&c, 8); /* config2 */
    out->branch_sample_type = pfc_u64(&c);
    out->regs_user = pfc_u64(&c);
    pfc_skip(&c, 4); /* sample_stack_user */
    out->clockid = pfc_u32(&c);
    out->regs_intr = pfc_u64(&c);
    return 1;
}

static int bit(uint64_t value, uint64_t mask) { return (value & mask) != 0; }

/* Positions of the id and time in samples (from the start) and in the trailers of other records (from the end). */
static void set_layout(pd_event *e) {
    uint64_t t = e->attr.sample_type;
    int at = 8;
    e->sample_id_at = -1;
    e->sample_time_at = -1;
    if (bit(t, PD_S_IDENTIFIER)) {
        e->sample_id_at = at;
        at += 8;
    }
    at += 8 * (bit(t, PD_S_IP) + bit(t, PD_S_TID));
    if (bit(t, PD_S_TIME)) {
        e->sample_time_at = at;
        at += 8;
    }
    at += 8 * bit(t, PD_S_ADDR);
    if (e->sample_id_at < 0 && bit(t, PD_S_ID))
        e->sample_id_at = at;
    e->trailer_size = e->trailer_time_at = e->trailer_id_at = 0;
    if (!(e->attr.flags & PD_F_SAMPLE_ID_ALL))
        return;
    int back = 0; /* bytes behind the field in question */
    if (bit(t, PD_S_IDENTIFIER)) {
        back += 8;
        e->trailer_id_at = back;
    }
    back += 8 * (bit(t, PD_S_CPU) + bit(t, PD_S_STREAM_ID));
    if (bit(t, PD_S_ID)) {
        back += 8;
        if (!e->trailer_id_at)
            e->trailer_id_at = back;
    }
    if (bit(t, PD_S_TIME)) {
        back += 8;
        e->trailer_time_at = back;
    }
    e->trailer_size = back + 8 * bit(t, PD_S_TID);
}

/* What depends on all events: sorting needs times in every record, and positions are known at once when all agree. */
static void settle(pd_reader *r, const pd_event *e) {
    const pd_event *first = &r->events.data[0];
    int timed = (e->attr.sample_type & PD_S_TIME) && (e->attr.flags & PD_F_SAMPLE_ID_ALL);
    int same = e->sample_time_at == first->sample_time_at && e->trailer_time_at == first->trailer_time_at &&
               e->sample_id_at == first->sample_id_at && e->trailer_id_at == first->trailer_id_at &&
               e->trailer_size == first->trailer_size;
    int only = r->events.count == 1;
    r->sort = (only || r->sort) && timed;
    r->monotonic = (only || r->monotonic) && (e->attr.flags & PD_F_USE_CLOCKID) && e->attr.clockid == 1;
    r->same_layout = (only || r->same_layout) && same;
    if ((e->attr.sample_type & PD_S_BRANCH_STACK) && !(e->attr.branch_sample_type & PD_BRANCH_CALL_STACK))
        r->branch_recording = 1;
}

int pd_event_add(pd_reader *r, const pd_attr *attr) {
    pd_event e;
    memset(&e, 0, sizeof e);
    e.attr = *attr;
    e.wanted = e.guessed = -1;
    e.column = PD_NO_COLUMN;
    set_layout(&e);
    if (attr->sample_type & ~(uint64_t)PD_S_KNOWN)
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "unknown-sample-field", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "sample_type 0x%llx has bits of a newer kernel, which are ignored",
                            (unsigned long long)attr->sample_type);
    if (PFC_VEC_PUSH(&r->mem, &r->events, e))
        return pd_failed(r);
    settle(r, &e);
    return 0;
}

static uint64_t id_hash(const void *user, uint32_t row) {
    const pd_reader *r = (const pd_reader *)user;
    return pfc_hash_mix(r->ids.data[row - 1].id, 0);
}

pd_id *pd_event_by_id(pd_reader *r, uint64_t id) {
    if (r->last_id < r->ids.count && r->ids.data[r->last_id].id == id)
        return &r->ids.data[r->last_id];
    if (r->id_index.size == 0)
        return NULL;
    pfc_probe probe = pfc_index_start(&r->id_index, pfc_hash_mix(id, 0));
    for (uint32_t row; (row = pfc_index_next(&r->id_index, &probe)) != 0;)
        if (r->ids.data[row - 1].id == id) {
            r->last_id = row - 1;
            return &r->ids.data[row - 1];
        }
    return NULL;
}

int pd_event_add_id(pd_reader *r, uint64_t id, uint32_t event) {
    if (pd_event_by_id(r, id)) /* the ids section comes first and is the better source */
        return 0;
    pd_id row = {id, 0, event};
    if (PFC_VEC_PUSH(&r->mem, &r->ids, row) ||
        pfc_index_insert(&r->mem, &r->id_index, pfc_hash_mix(id, 0), (uint32_t)r->ids.count, id_hash, r))
        return pd_failed(r);
    return 0;
}

int pd_event_set_name(pd_reader *r, uint32_t event, const char *name, size_t size, int source) {
    if (event >= r->events.count || size == 0)
        return 0;
    pd_event *e = &r->events.data[event];
    if (e->name && e->name_source >= source)
        return 0;
    char *copy = pfc_strdup(&r->mem, name, size);
    if (!copy)
        return pd_failed(r);
    if (e->name)
        pfc_free(&r->mem, e->name, e->name_size + 1);
    e->name = copy;
    e->name_size = size;
    e->name_source = source;
    e->wanted = -1;
    return 0;
}

pd_event *pd_event_of_record(pd_reader *r, const uint8_t *data, size_t size, uint32_t type) {
    if (r->events.count == 0)
        return NULL;
    pd_event *first = &r->events.data[0];
    if (r->events.count == 1 || r->ids.count == 0)
        return first;
    /* All events agree on where the id is, or it is the IDENTIFIER, which has a fixed place. */
    uint64_t id = 0;
    if (type == PD_SAMPLE) {
        if (first->sample_id_at < 0 || size < (size_t)first->sample_id_at + 8)
            return first;
        id = pfc_load64(data + first->sample_id_at, r->big);
    } else {
        if (first->trailer_id_at == 0 || size < 8 + (size_t)first->trailer_id_at)
            return first;
        id = pfc_load64(data + size - (size_t)first->trailer_id_at, r->big);
    }
    if (id == 0) /* records made by perf itself */
        return first;
    const pd_id *row = pd_event_by_id(r, id);
    return row ? &r->events.data[row->event] : NULL;
}
