/* SPDX-License-Identifier: MIT
 *
 * Protobuf messages into an output. A message is built in one buffer that is used again for the next, so that writing
 * takes no more memory than the largest message.
 */
#include "libprofconv/formats/pprof/writer.h"

#include <string.h>

#define NUMBER_MAX 10u
#define PENDING_MAX 65536u

enum { VARINT = 0, BYTES = 2 };

static size_t number_size(uint64_t value) {
    size_t n = 1;
    while (value > 0x7f) {
        value >>= 7;
        n++;
    }
    return n;
}

static inline size_t put_number(uint8_t *out, uint64_t value) {
    size_t n = 0;
    while (value > 0x7f) {
        out[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (uint8_t)value;
    return n;
}

static int out_of_memory(pfc_pprof_encoder *e) {
    if (!e->status)
        e->status = pfc_mem_error(e->mem, e->error);
    return e->status;
}

/* Room for `more` bytes in the message; NULL after an error. */
static uint8_t *room(pfc_pprof_encoder *e, size_t more) {
    if (e->status)
        return NULL;
    if (more > SIZE_MAX - e->message.count || PFC_VEC_RESERVE(e->mem, &e->message, e->message.count + more)) {
        out_of_memory(e);
        return NULL;
    }
    return e->message.data + e->message.count;
}

void pfc_pprof_put_element(pfc_pprof_encoder *e, unsigned field, uint64_t value) {
    uint8_t *out = room(e, 2 * NUMBER_MAX);
    if (!out)
        return;
    size_t n = put_number(out, field << 3 | VARINT);
    e->message.count += n + put_number(out + n, value);
}

void pfc_pprof_put(pfc_pprof_encoder *e, unsigned field, uint64_t value) {
    if (value)
        pfc_pprof_put_element(e, field, value);
}

/* At the start of a message the numbers go behind a gap, into which the head is put when their size is known. */
static void put_first(pfc_pprof_encoder *e, unsigned field, const uint32_t *values, size_t count) {
    enum { GAP = 2 * NUMBER_MAX, ELEMENT_MAX = 5 };
    if (count > SIZE_MAX / ELEMENT_MAX - GAP)
        return;
    uint8_t *out = room(e, GAP + count * ELEMENT_MAX);
    if (!out)
        return;
    size_t n = GAP;
    for (size_t i = 0; i < count; i++)
        n += put_number(out + n, values[i]);
    uint8_t head[GAP];
    size_t head_size = put_number(head, field << 3 | BYTES);
    head_size += put_number(head + head_size, n - GAP);
    e->begin = GAP - head_size;
    memcpy(out + e->begin, head, head_size);
    e->message.count = n;
}

void pfc_pprof_put_u32s(pfc_pprof_encoder *e, unsigned field, const uint32_t *values, size_t count) {
    if (count > 2 && e->message.count == 0) {
        put_first(e, field, values, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        pfc_pprof_put_element(e, field, values[i]);
}

void pfc_pprof_put_i64s(pfc_pprof_encoder *e, unsigned field, const int64_t *values, size_t count) {
    if (count <= 2) {
        for (size_t i = 0; i < count; i++)
            pfc_pprof_put_element(e, field, (uint64_t)values[i]);
        return;
    }
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += number_size((uint64_t)values[i]);
    uint8_t *out = room(e, size + 2 * NUMBER_MAX);
    if (!out)
        return;
    size_t n = put_number(out, field << 3 | BYTES);
    n += put_number(out + n, size);
    for (size_t i = 0; i < count; i++)
        n += put_number(out + n, (uint64_t)values[i]);
    e->message.count += n;
}

/* Lines and labels hold at most four numbers, 44 bytes, so one byte is enough for their length. */
size_t pfc_pprof_begin_inner(pfc_pprof_encoder *e, unsigned field) {
    uint8_t *out = room(e, NUMBER_MAX + 1);
    if (!out)
        return 0;
    size_t n = put_number(out, field << 3 | BYTES);
    out[n++] = 0;
    e->message.count += n;
    return e->message.count;
}

void pfc_pprof_end_inner(pfc_pprof_encoder *e, size_t begin) {
    if (!e->status)
        e->message.data[begin - 1] = (uint8_t)(e->message.count - begin);
}

void pfc_pprof_flush(pfc_pprof_encoder *e) {
    if (!e->status && e->pending.count > 0)
        e->status = profconv_output_write(e->output, e->pending.data, e->pending.count, e->error);
    e->pending.count = 0;
}

/* Adds to what is on its way to the output. */
static void emit(pfc_pprof_encoder *e, const void *data, size_t size) {
    if (e->status || size == 0)
        return;
    if (e->pending.count + size > PENDING_MAX)
        pfc_pprof_flush(e);
    if (size > PENDING_MAX) {
        if (!e->status)
            e->status = profconv_output_write(e->output, data, size, e->error);
        return;
    }
    if (PFC_VEC_RESERVE(e->mem, &e->pending, PENDING_MAX)) {
        out_of_memory(e);
        return;
    }
    memcpy(e->pending.data + e->pending.count, data, size);
    e->pending.count += size;
}

void pfc_pprof_top_bytes(pfc_pprof_encoder *e, unsigned field, const void *data, size_t size) {
    uint8_t head[2 * NUMBER_MAX];
    size_t n = put_number(head, field << 3 | BYTES);
    n += put_number(head + n, size);
    emit(e, head, n);
    emit(e, data, size);
}

void pfc_pprof_end(pfc_pprof_encoder *e, unsigned field) {
    size_t size = e->message.count - e->begin;
    pfc_pprof_top_bytes(e, field, size ? e->message.data + e->begin : NULL, size);
    e->message.count = 0;
    e->begin = 0;
}

void pfc_pprof_top_element(pfc_pprof_encoder *e, unsigned field, uint64_t value) {
    uint8_t bytes[2 * NUMBER_MAX];
    size_t n = put_number(bytes, field << 3 | VARINT);
    emit(e, bytes, n + put_number(bytes + n, value));
}

void pfc_pprof_top(pfc_pprof_encoder *e, unsigned field, uint64_t value) {
    if (value)
        pfc_pprof_top_element(e, field, value);
}
