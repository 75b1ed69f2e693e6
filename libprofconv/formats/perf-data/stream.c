/* SPDX-License-Identifier: MIT
 *
 * Records out of bytes: the top level of a data section, pipe or part, and the records inside zstd-compressed ones.
 * A bad record costs that record; a bad length ends the stream, since nothing after it can be found again.
 */
#define ZSTD_STATIC_LINKING_ONLY /* for a decompressor that allocates through pfc_mem */
#include <zstd.h>

#include "libprofconv/formats/perf-data/pd.h"

#define MAX_RECORD 65535u
#define ZSTD_PIECE (128u << 10) /* inflated bytes taken at once, so that a bomb is never held */
#define WINDOW_LOG_MAX 27       /* what the recorder's highest level uses */

/* zstd's frees give no size, so each block holds it in front. 16 keeps malloc's alignment. */
static void *zstd_alloc(void *opaque, size_t size) {
    if (size > SIZE_MAX - 16)
        return NULL;
    uint8_t *p = (uint8_t *)pfc_alloc((pfc_mem *)opaque, size + 16);
    if (!p)
        return NULL;
    memcpy(p, &size, sizeof size);
    return p + 16;
}
static void zstd_free(void *opaque, void *address) {
    if (!address)
        return;
    uint8_t *p = (uint8_t *)address - 16;
    size_t size;
    memcpy(&size, p, sizeof size);
    pfc_free((pfc_mem *)opaque, p, size + 16);
}

void pd_stream_free(pd_reader *r, pd_stream *s) {
    ZSTD_freeDCtx(s->zstd);
    s->zstd = NULL;
    pfc_free(&r->mem, s->carry, s->carry_capacity);
    s->carry = NULL;
    s->carry_capacity = s->carry_size = 0;
    if (s->owned)
        profconv_input_free(s->input);
    s->input = NULL;
}

static void stream_ends(pd_reader *r, pd_stream *s, uint64_t offset, const char *cause, uint32_t type, uint64_t size,
                        uint64_t left) {
    s->done = 1;
    if (r->header.killed && strcmp(cause, "truncated") == 0)
        return; /* said already */
    profconv_report_add(r->report, PROFCONV_NOTE_WARNING, cause, 1, 0, offset, 0,
                        "offset 0x%llx: record of type %u and %llu bytes, %llu bytes are left; reading stops there",
                        (unsigned long long)offset, type, (unsigned long long)size, (unsigned long long)left);
}

/* Time by which a kernel record is sorted; 0: at once. */
static uint64_t record_time(pd_reader *r, const uint8_t *data, size_t size, uint32_t type) {
    const pd_event *e = &r->events.data[0];
    if (!r->same_layout && !(e = pd_event_of_record(r, data, size, type)))
        e = &r->events.data[0];
    size_t at;
    if (type == PD_SAMPLE) {
        if (e->sample_time_at < 0 || size < (size_t)e->sample_time_at + 8)
            return 0;
        at = (size_t)e->sample_time_at;
    } else {
        if (e->trailer_time_at == 0 || size < 8 + (size_t)e->trailer_size)
            return 0;
        at = size - (size_t)e->trailer_time_at;
    }
    uint64_t time = pfc_load64(data + at, r->big);
    return time == UINT64_MAX ? 0 : time;
}

/* Any record but the compressed ones. */
static int take_record(pd_reader *r, pd_stream *s, const uint8_t *data, size_t size, uint64_t offset) {
    uint32_t type = pfc_load32(data, r->big);
    r->counts.records++;
    if (type >= PD_USER_MIN && type <= PD_USER_MAX)
        return pd_user_record(r, data, size, offset);
    if (type == 0 || type > PD_KERNEL_MAX) {
        if (type >= PD_SIMPLEPERF_MIN)
            r->header.simpleperf = 1;
        else if (r->counts.unknown_records++ == 0)
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "unknown-record", 0, 0, offset, 0,
                                "offset 0x%llx: record of unknown type %u skipped", (unsigned long long)offset, type);
        return 0;
    }
    if (!r->sort)
        return pd_deliver(r, data, size, offset, 0);
    uint64_t time = record_time(r, data, size, type);
    if (time == 0)
        return pd_deliver(r, data, size, offset, 0);
    if (time > s->max_time)
        s->max_time = time;
    return pd_order_push(r, data, size, offset, time);
}

/* Complete records at the front of the carry buffer. */
static int take_carried(pd_reader *r, pd_stream *s, uint64_t offset) {
    size_t at = 0;
    int rc = 0;
    while (rc == 0 && s->carry_size - at >= 8) {
        const uint8_t *p = s->carry + at;
        uint32_t type = pfc_load32(p, r->big);
        size_t size = pfc_load16(p + 6, r->big);
        if (size < 8) {
            s->zstd_state = -1;
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "bad-compressed", 1, 0, offset, 0,
                                "offset 0x%llx: inflated record of type %u and %zu bytes; the compressed records from "
                                "there on are skipped",
                                (unsigned long long)offset, type, size);
            s->carry_size = 0;
            return 0;
        }
        if (size > s->carry_size - at)
            break;
        if (type == PD_COMPRESSED || type == PD_COMPRESSED2)
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "nested-compressed", 1, 0, offset, 0,
                                "offset 0x%llx: a compressed record inside a compressed one is skipped",
                                (unsigned long long)offset);
        else
            rc = take_record(r, s, p, size, offset);
        at += size;
    }
    s->carry_size -= at;
    if (s->carry_size && at)
        memmove(s->carry, s->carry + at, s->carry_size);
    return rc;
}

static int begin_zstd(pd_reader *r, pd_stream *s) {
    ZSTD_customMem custom = {zstd_alloc, zstd_free, &r->mem};
    s->zstd = ZSTD_createDCtx_advanced(custom);
    s->carry_capacity = MAX_RECORD + ZSTD_PIECE;
    s->carry = (uint8_t *)pfc_alloc(&r->mem, s->carry_capacity);
    if (!s->zstd || !s->carry) {
        if (!s->carry)
            s->carry_capacity = 0;
        return pd_failed(r);
    }
    ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    s->zstd_state = 1;
    return 0;
}

static int bad_zstd(pd_reader *r, pd_stream *s, uint64_t offset, const char *what) {
    s->zstd_state = -1;
    s->carry_size = 0;
    if (r->mem.failed)
        return pd_failed(r);
    profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "bad-compressed", 1, 0, offset, 0,
                        "offset 0x%llx: compressed record: %s; the compressed records from there on are skipped",
                        (unsigned long long)offset, what);
    return 0;
}

/* When compressing failed the recorder copied plain records; only decidable where the stream begins. */
static int take_uncompressed(pd_reader *r, pd_stream *s, const uint8_t *data, size_t size, uint64_t offset) {
    size_t at = 0;
    while (size - at >= 8) {
        uint32_t type = pfc_load32(data + at, r->big);
        size_t length = pfc_load16(data + at + 6, r->big);
        if (length < 8 || length > size - at || type == 0 || type == PD_COMPRESSED || type == PD_COMPRESSED2 ||
            (type > PD_KERNEL_MAX && type < PD_USER_MIN) || (type > PD_USER_MAX && type < PD_SIMPLEPERF_MIN))
            return bad_zstd(r, s, offset, "neither a zstd frame nor records");
        at += length;
    }
    for (at = 0; size - at >= 8;) {
        size_t length = pfc_load16(data + at + 6, r->big);
        int rc = take_record(r, s, data + at, length, offset);
        if (rc)
            return rc;
        at += length;
    }
    return 0;
}

static int take_compressed(pd_reader *r, pd_stream *s, const uint8_t *data, size_t size, uint64_t offset) {
    const profconv_limits *limits = profconv_builder_limits(r->builder);
    if (size == 0)
        return 0;
    if (s->zstd_state < 0) {
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "compressed-skipped", 1, 0, offset, 0,
                            "compressed records after a damaged one are skipped");
        return 0;
    }
    if (s->zstd_state == 0) {
        uint32_t magic = size >= 4 ? pfc_load32(data, 0) : 0;
        if (magic != 0xfd2fb528u && (magic & 0xfffffff0u) != 0x184d2a50u)
            return take_uncompressed(r, s, data, size, offset);
        int rc = begin_zstd(r, s);
        if (rc)
            return rc;
    }
    s->deflated += size;
    ZSTD_inBuffer in = {data, size, 0};
    for (;;) {
        ZSTD_outBuffer out = {s->carry + s->carry_size, s->carry_capacity - s->carry_size, 0};
        size_t status = ZSTD_decompressStream(s->zstd, &out, &in);
        if (ZSTD_isError(status))
            return bad_zstd(r, s, offset, ZSTD_getErrorName(status));
        s->inflated += out.pos;
        s->carry_size += out.pos;
        int full = out.pos == out.size;
        if (s->inflated > limits->max_inflated ||
            (s->inflated > 16u << 20 && limits->max_inflate_ratio != 0 &&
             s->inflated / limits->max_inflate_ratio > s->deflated))
            return profconv_error_set(r->error, PROFCONV_E_LIMIT, offset, 0,
                                      "offset 0x%llx: compressed records of %llu bytes inflate to over %llu "
                                      "(max_inflated, max_inflate_ratio)",
                                      (unsigned long long)offset, (unsigned long long)s->deflated,
                                      (unsigned long long)s->inflated);
        int rc = take_carried(r, s, offset);
        if (rc || s->zstd_state < 0)
            return rc;
        if (in.pos == in.size && !full)
            return 0;
        if (out.pos == 0 && in.pos < in.size && !full)
            return bad_zstd(r, s, offset, "no progress");
    }
}

/* Payload of a COMPRESSED2 record and how far the next record is. Recorders of 6.16 wrote several of them for one chunk
 * with a wrapped header size or a data size that covers the total, so whichever number is consistent is taken. */
static int compressed2_sizes(const pd_reader *r, const uint8_t *p, size_t visible, size_t size, uint64_t *data,
                             uint64_t *advance) {
    if (visible < 16)
        return 0;
    uint64_t data_size = pfc_load64(p + 8, r->big);
    if (size >= 16) {
        *data = data_size <= size - 16 ? data_size : size - 16;
        *advance = size;
        return 1;
    }
    if (data_size > 0 && data_size <= 65519) {
        *data = data_size;
        *advance = (16 + data_size + 7) & ~UINT64_C(7);
        return 1;
    }
    return 0;
}

/* Bytes that follow a record beyond its own size. */
static uint64_t payload_behind(const pd_reader *r, const uint8_t *p, size_t size, uint32_t type) {
    if (type == PD_HEADER_TRACING_DATA && size >= 12)
        return ((uint64_t)pfc_load32(p + 8, r->big) + 7) & ~UINT64_C(7);
    if (type == PD_AUXTRACE && size >= 16)
        return pfc_load64(p + 8, r->big);
    return 0;
}

static int skip_payload(pd_reader *r, pd_stream *s, uint64_t offset, uint32_t type, uint64_t count) {
    uint64_t skipped = 0, want = s->left != UINT64_MAX && count > s->left ? s->left : count;
    int rc = profconv_input_skip(s->input, want, &skipped, r->error);
    if (s->left != UINT64_MAX)
        s->left -= skipped;
    if (rc == 0 && skipped < count)
        stream_ends(r, s, offset, "truncated", type, count, skipped);
    return rc;
}

/* The records in a window of `got` bytes: sets *used. Returns with *payload set when one is to be skipped. */
static int take_window(pd_reader *r, pd_stream *s, const uint8_t *data, size_t got, int last, size_t *used,
                       uint64_t *payload, uint32_t *payload_type) {
    uint64_t base = profconv_input_offset(s->input);
    size_t at = 0;
    int rc = 0;
    while (rc == 0 && !s->done && got - at >= 8) {
        const uint8_t *p = data + at;
        uint32_t type = pfc_load32(p, r->big);
        uint64_t size = pfc_load16(p + 6, r->big), inner = 0;
        int compressed = type == PD_COMPRESSED || type == PD_COMPRESSED2;
        if (type == PD_COMPRESSED2 && !compressed2_sizes(r, p, got - at, (size_t)size, &inner, &size) && got - at < 16 &&
            !last)
            break;
        if (size < 8) {
            stream_ends(r, s, base + at, "bad-record-size", type, size, got - at);
            break;
        }
        if (size > got - at) {
            if (last)
                stream_ends(r, s, base + at, "truncated", type, size, got - at);
            break;
        }
        if (type == PD_COMPRESSED)
            rc = take_compressed(r, s, p + 8, (size_t)size - 8, base + at);
        else if (compressed)
            rc = take_compressed(r, s, p + 16, (size_t)inner, base + at);
        else
            rc = take_record(r, s, p, (size_t)size, base + at);
        at += (size_t)size;
        if ((*payload = payload_behind(r, p, (size_t)size, type)) != 0) {
            *payload_type = type;
            break;
        }
    }
    if (rc == 0 && !s->done && last && got - at > 0 && got - at < 8)
        stream_ends(r, s, base + at, "truncated", 0, 0, got - at);
    *used = at;
    return rc;
}

/* A window shorter than wanted, whose last record is not whole: the end of the input, or a failure that shows only now. */
static int short_window(pd_reader *r, pd_stream *s, size_t got) {
    const uint8_t *data = NULL;
    uint64_t offset = profconv_input_offset(s->input) + got;
    profconv_error error;
    profconv_input_consume(s->input, got);
    return profconv_input_window(s->input, 1, &data, &got, &error) ? pd_damage(r, &error, offset) : 0;
}

int pd_stream_read(pd_reader *r, pd_stream *s, uint64_t budget) {
    uint64_t read = 0;
    r->stream = s;
    while (!s->done && read < budget) {
        size_t want = s->left < MAX_RECORD + 8 ? (size_t)s->left : MAX_RECORD + 8, got = 0, used = 0;
        const uint8_t *data = NULL;
        if (want == 0) {
            s->done = 1;
            break;
        }
        profconv_error error;
        int rc = profconv_input_window(s->input, want, &data, &got, &error);
        if (rc) {
            s->done = 1;
            return pd_damage(r, &error, profconv_input_offset(s->input));
        }
        int last = got < want || got >= s->left;
        if (got > s->left)
            got = (size_t)s->left;
        if (got == 0) {
            if (s->left != UINT64_MAX)
                stream_ends(r, s, profconv_input_offset(s->input), "truncated", 0, 0, 0);
            s->done = 1;
            break;
        }
        if (!last && got - want > budget - read) /* give the other parts their turn; got >= want here */
            got = (size_t)(budget - read) + want;
        uint64_t payload = 0, offset = profconv_input_offset(s->input);
        uint32_t payload_type = 0;
        rc = take_window(r, s, data, got, last, &used, &payload, &payload_type);
        if (rc)
            return rc;
        if (s->done && got < want && (rc = short_window(r, s, got)) != 0)
            return rc;
        if (!s->done || got >= want)
            profconv_input_consume(s->input, used);
        read += used;
        if (s->left != UINT64_MAX)
            s->left -= used;
        if (payload && (rc = skip_payload(r, s, offset + used, payload_type, payload)) != 0)
            return rc;
        if (r->mem.failed)
            return pd_failed(r);
        if ((rc = profconv_builder_status(r->builder, r->error)) != 0)
            return rc;
    }
    return 0;
}
