/* SPDX-License-Identifier: MIT
 *
 * What each type of record does: kernel records once they are in order, the recorder's own records at once.
 */
#include "libprofconv/formats/perf-data/pd.h"

/* Bytes of a kernel record before its sample_id trailer. */
static size_t body_size(pd_reader *r, const uint8_t *data, size_t size, uint32_t type) {
    if (r->events.count == 0)
        return size;
    const pd_event *e = r->same_layout ? &r->events.data[0] : pd_event_of_record(r, data, size, type);
    size_t trailer = e ? (size_t)e->trailer_size : 0;
    return size >= trailer + 8 ? size - trailer : 0;
}

static int on_lost(pd_reader *r, const uint8_t *data, size_t size) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, r->big);
    pfc_skip(&c, 16);
    uint64_t lost = pfc_u64(&c);
    if (c.failed)
        r->counts.bad_record++;
    else
        r->counts.lost = pfc_add_sat(r->counts.lost, lost);
    return 0;
}

static int on_lost_samples(pd_reader *r, const uint8_t *data, size_t size, unsigned misc) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, r->big);
    pfc_skip(&c, 8);
    uint64_t lost = pfc_u64(&c);
    if (c.failed) {
        r->counts.bad_record++;
        return 0;
    }
    uint64_t *slot = misc & PD_MISC_LOST_BY_FILTER ? &r->counts.lost_by_filter : &r->counts.lost_samples;
    *slot = pfc_add_sat(*slot, lost);
    if (!(misc & PD_MISC_LOST_BY_FILTER))
        r->counts.have_lost_samples = 1;
    return 0;
}

static int on_cgroup(pd_reader *r, const uint8_t *data, size_t size) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, r->big);
    pfc_skip(&c, 8);
    pd_cgroup row = {pfc_u64(&c), 0};
    profconv_string path = pfc_cstring(&c);
    if (c.failed) {
        r->counts.bad_record++;
        return 0;
    }
    row.path = profconv_builder_string(r->builder, path.data, path.size);
    for (size_t i = 0; i < r->cgroups.count; i++)
        if (r->cgroups.data[i].id == row.id) {
            r->cgroups.data[i] = row;
            return 0;
        }
    return PFC_VEC_PUSH(&r->mem, &r->cgroups, row) ? pd_failed(r) : 0;
}

int pd_deliver(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset, uint64_t time) {
    uint32_t type = pfc_load32(data, r->big);
    if (type == PD_SAMPLE)
        return pd_on_sample(r, data, size, offset);
    if (type == PD_CALLCHAIN_DEFERRED)
        return pd_on_deferred(r, data, size, offset);
    unsigned misc = pfc_load16(data + 4, r->big);
    size_t body = body_size(r, data, size, type);
    if (body < 8) {
        r->counts.bad_record++;
        return 0;
    }
    switch (type) {
    case PD_MMAP: return pd_on_mmap(r, data, body, misc, time, offset);
    case PD_MMAP2: return pd_on_mmap2(r, data, body, misc, time, offset);
    case PD_COMM: return pd_on_comm(r, data, body, misc);
    case PD_FORK: return pd_on_fork(r, data, body, misc, time);
    case PD_EXIT: return pd_on_exit(r, data, body);
    case PD_LOST: return on_lost(r, data, body);
    case PD_LOST_SAMPLES: return on_lost_samples(r, data, body, misc);
    case PD_KSYMBOL: return pd_on_ksymbol(r, data, body, offset);
    case PD_CGROUP: return on_cgroup(r, data, body);
    default: return 0; /* throttling, context switches and the like: nothing for a profile */
    }
}

static int on_header_attr(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset) {
    if (!r->pipe && r->events.count > 0 && r->counts.samples > 0)
        return 0;
    uint32_t attr_size = size >= 16 ? pfc_load32(data + 12, r->big) : 0;
    if (attr_size == 0)
        attr_size = 64;
    pd_attr attr;
    if (size < 8 + 64 || attr_size < 64 || attr_size > size - 8)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, offset, 0,
                                  "offset 0x%llx: HEADER_ATTR record of %zu bytes with an attribute of %u bytes",
                                  (unsigned long long)offset, size, attr_size);
    pd_attr_decode(&attr, data + 8, attr_size, r->big);
    uint32_t event = (uint32_t)r->events.count;
    int rc = pd_event_add(r, &attr);
    for (size_t at = 8 + (size_t)attr_size; rc == 0 && size - at >= 8; at += 8)
        rc = pd_event_add_id(r, pfc_load64(data + at, r->big), event);
    return rc;
}

/* The name table of old pipes: by config alone, so only trusted for events that have no well-known name. */
static int on_event_type(pd_reader *r, const uint8_t *data, size_t size) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, r->big);
    pfc_skip(&c, 8);
    uint64_t config = pfc_u64(&c);
    profconv_string name = pfc_cstring(&c);
    if (c.failed || !r->pipe || r->events.count > 4096) /* no recorder of that time had more */
        return 0;
    for (size_t i = 0; i < r->events.count; i++) {
        const pd_attr *a = &r->events.data[i].attr;
        if (a->type >= 2 && a->type != 3 && a->config == config) {
            int rc = pd_event_set_name(r, (uint32_t)i, name.data, name.size, PD_NAME_TYPE_TABLE);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static int on_event_update(pd_reader *r, const uint8_t *data, size_t size) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, r->big);
    pfc_skip(&c, 8);
    uint64_t what = pfc_u64(&c), id = pfc_u64(&c);
    profconv_string name = pfc_cstring(&c);
    if (c.failed || what != 2)
        return 0;
    const pd_id *row = pd_event_by_id(r, id);
    return row ? pd_event_set_name(r, row->event, name.data, name.size, PD_NAME_UPDATE) : 0;
}

static int on_round(pd_reader *r) {
    pd_order *o = &r->order;
    if (r->no_rounds || !r->sort)
        return 0;
    r->order_cap = r->order_cap_disorder;
    int rc = o->limit ? pd_order_flush(r, o->limit) : 0;
    o->limit = o->max_time;
    return rc;
}

int pd_user_record(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset) {
    switch (pfc_load32(data, r->big)) {
    case PD_HEADER_ATTR: return on_header_attr(r, data, size, offset);
    case PD_HEADER_EVENT_TYPE: return on_event_type(r, data, size);
    case PD_HEADER_BUILD_ID: pd_build_id_record(r, data, size); break;
    case PD_FINISHED_ROUND: return on_round(r);
    case PD_EVENT_UPDATE: return on_event_update(r, data, size);
    case PD_HEADER_FEATURE:
        if (size >= 16) {
            uint64_t feature = pfc_load64(data + 8, r->big);
            if (feature < 256)
                pd_feature(r, (uint32_t)feature, data + 16, size - 16, offset + 16);
        }
        break;
    case PD_AUXTRACE:
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "hardware-trace", 1, 0, offset, 0,
                            "blocks of hardware trace (Intel PT, CoreSight, SPE) are not decoded");
        break;
    case PD_AUXTRACE_ERROR:
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "hardware-trace-error", 1, 0, offset, 0,
                            "the recorder noted errors in its hardware trace");
        break;
    default: break;
    }
    return r->mem.failed ? pd_failed(r) : 0;
}
