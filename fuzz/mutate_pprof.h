/* SPDX-License-Identifier: MIT
 *
 * Mutations of pprof that know the protobuf wire format: fields are inserted, doubled, removed, moved and altered, in
 * the messages inside, too, with all lengths kept true. What is compressed is inflated, mutated and compressed again.
 * Some mutations stay blind, for the faults in lengths and tags that this way would never make.
 */
#ifndef FUZZ_MUTATE_PPROF_H
#define FUZZ_MUTATE_PPROF_H

#include <zlib.h>

#include "fuzz/mutate.h"

#define PB_MAX_FIELDS 512
#define PB_MAX_INFLATED ((size_t)1 << 18)

/* Of each message the fields: the kind of value and the message inside. */
typedef enum pb_kind { PB_NONE, PB_NUMBER, PB_NUMBERS, PB_STRING, PB_MESSAGE } pb_kind;
typedef enum pb_message {
    PB_PROFILE,
    PB_VALUE_TYPE,
    PB_SAMPLE,
    PB_LABEL,
    PB_MAPPING,
    PB_LOCATION,
    PB_LINE,
    PB_FUNCTION,
    PB_MESSAGES
} pb_message;

typedef struct pb_slot {
    pb_kind kind;
    pb_message message;
} pb_slot;

#define PB_SLOTS 16
#define PB_N                                                                                                           \
    { PB_NUMBER, PB_MESSAGES }
#define PB_M(message)                                                                                                  \
    { PB_MESSAGE, message }
static const pb_slot pb_schema[PB_MESSAGES][PB_SLOTS] = {
    [PB_PROFILE] = {[1] = PB_M(PB_VALUE_TYPE),
                    PB_M(PB_SAMPLE),
                    PB_M(PB_MAPPING),
                    PB_M(PB_LOCATION),
                    PB_M(PB_FUNCTION),
                    {PB_STRING, PB_MESSAGES},
                    PB_N,
                    PB_N,
                    PB_N,
                    PB_N,
                    PB_M(PB_VALUE_TYPE),
                    PB_N,
                    {PB_NUMBERS, PB_MESSAGES},
                    PB_N,
                    PB_N},
    [PB_VALUE_TYPE] = {[1] = PB_N, PB_N},
    [PB_SAMPLE] = {[1] = {PB_NUMBERS, PB_MESSAGES}, {PB_NUMBERS, PB_MESSAGES}, PB_M(PB_LABEL)},
    [PB_LABEL] = {[1] = PB_N, PB_N, PB_N, PB_N},
    [PB_MAPPING] = {[1] = PB_N, PB_N, PB_N, PB_N, PB_N, PB_N, PB_N, PB_N, PB_N, PB_N},
    [PB_LOCATION] = {[1] = PB_N, PB_N, PB_N, PB_M(PB_LINE), PB_N},
    [PB_LINE] = {[1] = PB_N, PB_N, PB_N},
    [PB_FUNCTION] = {[1] = PB_N, PB_N, PB_N, PB_N, PB_N},
};
static const unsigned char pb_slots[PB_MESSAGES] = {15, 2, 3, 4, 10, 5, 3, 5};

typedef struct pb_field {
    size_t at, total;   /* with the tag */
    size_t value, size; /* of the value: the bytes of a number, the contents of a string */
    unsigned number, wire;
} pb_field;

static inline size_t pb_put_varint(uint8_t *out, uint64_t v) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

/* Bytes of the number at data, 0 when there is none. */
static inline size_t pb_get_varint(const uint8_t *data, size_t size, uint64_t *v) {
    *v = 0;
    for (size_t i = 0; i < size && i < 10; i++) {
        *v |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (!(data[i] & 0x80))
            return i + 1;
    }
    return 0;
}

/* The fields up to the first that is none. */
static inline size_t pb_fields(const uint8_t *data, size_t size, pb_field *fields) {
    size_t count = 0, at = 0;
    while (at < size && count < PB_MAX_FIELDS) {
        pb_field f = {at, 0, 0, 0, 0, 0};
        uint64_t tag = 0, value = 0;
        size_t n = pb_get_varint(data + at, size - at, &tag);
        if (!n)
            break;
        f.wire = (unsigned)(tag & 7);
        f.number = (unsigned)(tag >> 3);
        f.value = at + n;
        if (f.wire == 0)
            f.size = pb_get_varint(data + f.value, size - f.value, &value);
        else if (f.wire == 1 || f.wire == 5)
            f.size = f.wire == 1 ? 8 : 4;
        else if (f.wire == 2 && (n = pb_get_varint(data + f.value, size - f.value, &value)) != 0) {
            f.value += n;
            f.size = value > size ? size : (size_t)value;
        } else
            break;
        if ((f.wire != 2 && f.size == 0) || f.size > size - f.value)
            break;
        f.total = f.value + f.size - at;
        at += f.total;
        fields[count++] = f;
    }
    return count;
}

static inline size_t pb_put_field(uint8_t *out, unsigned number, unsigned wire, const uint8_t *value, size_t size) {
    size_t n = pb_put_varint(out, (uint64_t)number << 3 | wire);
    if (wire == 2)
        n += pb_put_varint(out + n, size);
    if (size)
        memcpy(out + n, value, size);
    return n + size;
}

/* A new field of the message, at most 64 bytes. */
static inline size_t pb_make(fuzz_random *r, pb_message message, uint8_t *out) {
    static const char *const strings[] = {"",       "cpu", "samples",  "count",   "nanoseconds", "[kernel.kallsyms]",
                                          "/bin/a", "pid", "\xff\xfe", "branches"};
    unsigned number = 1 + (unsigned)fuzz_below(r, pb_slots[message]);
    pb_slot slot = pb_schema[message][number];
    uint8_t value[48];
    size_t n = 0;
    switch (slot.kind) {
    case PB_STRING: {
        const char *s = strings[fuzz_below(r, sizeof strings / sizeof *strings)];
        return pb_put_field(out, number, 2, (const uint8_t *)s, strlen(s));
    }
    case PB_NUMBERS:
        if (fuzz_below(r, 4)) {
            for (size_t i = 1 + fuzz_below(r, 3); i; i--)
                n += pb_put_varint(value + n, fuzz_number(r, i));
            return pb_put_field(out, number, 2, value, n);
        }
        break;
    case PB_MESSAGE: /* an id or a reference, and another number */
        for (unsigned i = 1; i <= 2 + fuzz_below(r, 2) && pb_schema[slot.message][i].kind == PB_NUMBER; i++) {
            n += pb_put_varint(value + n, (uint64_t)i << 3);
            n += pb_put_varint(value + n, fuzz_number(r, i));
        }
        return pb_put_field(out, number, 2, value, n);
    default:
        break;
    }
    n = pb_put_varint(value, fuzz_number(r, number));
    return pb_put_field(out, number, 0, value, n);
}

/* One number of the packed ones. */
static inline size_t pb_alter_packed(fuzz_random *r, uint8_t *data, size_t size, size_t max_size) {
    size_t at = 0, n = 0, choice = fuzz_below(r, size);
    uint64_t v = 0;
    while (at < size && (n = pb_get_varint(data + at, size - at, &v)) != 0 && at + n <= choice)
        at += n;
    uint8_t number[10];
    size_t made = pb_put_varint(number, fuzz_number(r, v));
    switch (fuzz_below(r, 4)) {
    case 0:
        return fuzz_splice(data, size, max_size, at, 0, number, made);
    case 1:
        return fuzz_splice(data, size, max_size, at, n, NULL, 0);
    default:
        return fuzz_splice(data, size, max_size, at, n, number, made);
    }
}

static inline size_t pb_mutate(fuzz_random *r, pb_message message, uint8_t *data, size_t size, size_t max_size);

/* The value of a field becomes another one. */
static inline size_t pb_alter(fuzz_random *r, pb_message message, const pb_field *f, uint8_t *data, size_t size,
                              size_t max_size) {
    pb_slot none = {PB_NONE, PB_MESSAGES};
    pb_slot slot = f->number < PB_SLOTS ? pb_schema[message][f->number] : none;
    size_t room = max_size - size < 256 ? max_size - size : 256, value_size = f->size;
    uint8_t *value = fuzz_copy(data + f->value, f->size, room + 16);
    uint8_t *field = malloc(f->size + room + 64);
    if (value && field) {
        if (f->wire == 0) {
            uint64_t old = 0;
            pb_get_varint(value, value_size, &old);
            value_size = pb_put_varint(value, fuzz_number(r, old));
        } else if (f->wire == 2 && slot.kind == PB_MESSAGE)
            value_size = pb_mutate(r, slot.message, value, value_size, f->size + room);
        else if (f->wire == 2 && slot.kind == PB_NUMBERS)
            value_size = pb_alter_packed(r, value, value_size, f->size + room);
        else if (f->size + room > 0 && (value_size || f->wire == 2))
            value_size = LLVMFuzzerMutate(value, value_size, f->wire == 2 ? f->size + room : value_size);
        if (f->wire == 0 || f->wire == 2 || value_size == f->size) {
            size_t n = pb_put_field(field, f->number, f->wire, value, value_size);
            size = fuzz_splice(data, size, max_size, f->at, f->total, field, n);
        }
    }
    free(value);
    free(field);
    return size;
}

/* Messages nest three deep in the schema, and so does this. */
static inline size_t pb_mutate(fuzz_random *r, pb_message message, uint8_t *data, size_t size, size_t max_size) {
    pb_field fields[PB_MAX_FIELDS];
    size_t count = pb_fields(data, size, fields), n;
    uint8_t made[128];
    if (count == 0 || fuzz_below(r, 5) == 0) {
        size_t where = fuzz_below(r, count + 1);
        n = pb_make(r, message, made);
        return fuzz_splice(data, size, max_size, where < count ? fields[where].at : size, 0, made, n);
    }
    const pb_field *f = &fields[fuzz_below(r, count)], *to = &fields[fuzz_below(r, count)];
    switch (fuzz_below(r, 12)) {
    case 0:
        return fuzz_splice(data, size, max_size, f->at, f->total, NULL, 0);
    case 1:
    case 2: { /* doubled elsewhere, or moved there */
        uint8_t *copy = fuzz_copy(data + f->at, f->total, 0);
        if (!copy)
            return size;
        size_t grown = fuzz_splice(data, size, max_size, to->at, 0, copy, f->total);
        free(copy);
        if (grown == size || fuzz_below(r, 2))
            return grown;
        return fuzz_splice(data, grown, max_size, f->at + (to->at <= f->at ? f->total : 0), f->total, NULL, 0);
    }
    case 3: { /* another field, of the same value */
        uint8_t tag[10];
        unsigned number = 1 + (unsigned)fuzz_below(r, pb_slots[message] + (fuzz_below(r, 8) == 0 ? 20u : 0u));
        unsigned wire = fuzz_below(r, 16) ? f->wire : (unsigned)fuzz_below(r, 8);
        uint64_t old;
        n = pb_get_varint(data + f->at, f->total, &old);
        return fuzz_splice(data, size, max_size, f->at, n, tag, pb_put_varint(tag, (uint64_t)number << 3 | wire));
    }
    default:
        return pb_alter(r, message, f, data, size, max_size);
    }
}

static inline size_t pb_inflate(const uint8_t *data, size_t size, uint8_t *out, size_t room) {
    z_stream z;
    memset(&z, 0, sizeof z);
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return 0;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    int status = inflate(&z, Z_FINISH);
    size_t n = status == Z_STREAM_END ? room - z.avail_out : 0;
    inflateEnd(&z);
    return n;
}

static inline size_t pb_deflate(const uint8_t *data, size_t size, uint8_t *out, size_t room) {
    z_stream z;
    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    int status = deflate(&z, Z_FINISH);
    size_t n = status == Z_STREAM_END ? room - z.avail_out : 0;
    deflateEnd(&z);
    return n;
}

static inline size_t fuzz_mutate_pprof(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    fuzz_random r = fuzz_seed(seed);
    fuzz_next(&r);
    if (fuzz_below(&r, 8) == 0 || size > PB_MAX_INFLATED)
        return LLVMFuzzerMutate(data, size, max_size);
    int zipped = size > 18 && data[0] == 0x1f && data[1] == 0x8b;
    if (!zipped && fuzz_below(&r, 200) != 0) {
        for (size_t rounds = 1 + fuzz_below(&r, 4); rounds; rounds--)
            size = pb_mutate(&r, PB_PROFILE, data, size, max_size);
        return size;
    }
    uint8_t *plain = malloc(2 * PB_MAX_INFLATED);
    size_t n = 0;
    if (plain && zipped)
        n = pb_inflate(data, size, plain, PB_MAX_INFLATED);
    else if (plain && size) {
        memcpy(plain, data, size);
        n = size;
    }
    if (n == 0)
        size = LLVMFuzzerMutate(data, size, max_size);
    else {
        n = pb_mutate(&r, PB_PROFILE, plain, n, 2 * PB_MAX_INFLATED);
        /* Now and then it stays inflated: smaller changes follow more easily. */
        if (zipped && n <= max_size && fuzz_below(&r, 10) == 0) {
            memcpy(data, plain, n);
            size = n;
        } else {
            uint8_t *packed = malloc(max_size ? max_size : 1);
            size_t made = packed ? pb_deflate(plain, n, packed, max_size) : 0;
            if (made) {
                memcpy(data, packed, made);
                size = made;
            }
            free(packed);
        }
    }
    free(plain);
    return size;
}

/* The fields of both, in turn by runs. */
static inline size_t fuzz_cross_pprof(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                      size_t max_size, unsigned seed) {
    static pb_field fields[2][PB_MAX_FIELDS];
    fuzz_random r = fuzz_seed(seed);
    const uint8_t *from[2] = {a, b};
    size_t count[2] = {pb_fields(a, a_size, fields[0]), pb_fields(b, b_size, fields[1])}, at[2] = {0, 0}, size = 0;
    for (int side = 0; at[0] < count[0] || at[1] < count[1]; side ^= 1)
        for (size_t run = 1 + fuzz_below(&r, 6); run && at[side] < count[side]; run--) {
            const pb_field *f = &fields[side][at[side]++];
            if (f->total <= max_size - size && (fuzz_below(&r, 8) || f->number == 6)) {
                memcpy(out + size, from[side] + f->at, f->total);
                size += f->total;
            }
        }
    return size;
}

#endif
