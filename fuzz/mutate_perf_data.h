/* SPDX-License-Identifier: MIT
 *
 * Mutations of perf.data that know records: they are inserted, removed, doubled, moved and altered, and the header, the
 * attributes' and the features' offsets follow, so that what lies behind is still found. Attributes change by the bit;
 * features are switched, with their entry in the table. Some mutations stay blind.
 */
#ifndef FUZZ_MUTATE_PERF_DATA_H
#define FUZZ_MUTATE_PERF_DATA_H

#include "fuzz/mutate.h"

#define PD_MAX_RECORDS 512

typedef struct pd_layout {
    int big, pipe;
    size_t data, end;                 /* the records */
    size_t attrs, attr_count, stride; /* attributes, 0 when none are where the header says */
    size_t offsets[PD_MAX_RECORDS + 1];
    size_t records; /* offsets[records] is where the walk ended */
} pd_layout;

static inline uint64_t pd_get(const uint8_t *p, unsigned bytes, int big) {
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[big ? bytes - 1 - i : i] << (8 * i);
    return v;
}

static inline void pd_put(uint8_t *p, unsigned bytes, int big, uint64_t v) {
    for (unsigned i = 0; i < bytes; i++)
        p[big ? bytes - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

/* 0 when there are no records that can be told apart. */
static inline int pd_parse(const uint8_t *data, size_t size, pd_layout *l) {
    memset(l, 0, sizeof *l);
    if (size < 24 || (memcmp(data, "PERFILE2", 8) != 0 && memcmp(data, "2ELIFREP", 8) != 0))
        return 0;
    l->big = data[0] == '2';
    uint64_t header = pd_get(data + 8, 8, l->big);
    l->pipe = header == 16;
    l->data = 16;
    l->end = size;
    if (!l->pipe) {
        if (size < 72)
            return 0;
        uint64_t stride = pd_get(data + 16, 8, l->big), at = pd_get(data + 24, 8, l->big),
                 n = pd_get(data + 32, 8, l->big);
        uint64_t offset = pd_get(data + 40, 8, l->big), length = pd_get(data + 48, 8, l->big);
        if (offset > size)
            return 0;
        l->data = (size_t)offset;
        if (length && length < size - offset)
            l->end = (size_t)(offset + length);
        if (stride >= 80 && at < size && n <= size - at) {
            l->attrs = (size_t)at;
            l->stride = (size_t)stride;
            l->attr_count = (size_t)(n / stride);
        }
    }
    size_t at = l->data;
    while (l->records < PD_MAX_RECORDS && l->end - at >= 8) {
        size_t n = (size_t)pd_get(data + at + 6, 2, l->big);
        if (n < 8 || n > l->end - at)
            break;
        l->offsets[l->records++] = at;
        at += n;
    }
    l->offsets[l->records] = at;
    return 1;
}

/* The records have grown or shrunk at `at`: everything that counts or points past it follows. */
static inline void pd_moved(uint8_t *data, size_t size, const pd_layout *l, size_t at, size_t old, size_t new_size) {
    uint64_t delta = (uint64_t)new_size - old;
    if (l->pipe || delta == 0)
        return;
    uint64_t length = pd_get(data + 48, 8, l->big), attrs = pd_get(data + 24, 8, l->big);
    if (length)
        pd_put(data + 48, 8, l->big, length + delta);
    if (attrs > at)
        pd_put(data + 24, 8, l->big, attrs += delta);
    for (size_t i = 0; i < l->attr_count; i++) {
        uint64_t entry = attrs + (i + 1) * l->stride - 16;
        if (entry > size || size - entry < 16)
            break;
        uint64_t ids = pd_get(data + entry, 8, l->big);
        if (ids > at)
            pd_put(data + entry, 8, l->big, ids + delta);
    }
    size_t table = l->end + (size_t)delta;
    for (size_t i = 0; i < 256 && table + 16 <= size; i++) {
        if (!(pd_get(data + 72 + i / 64 * 8, 8, l->big) >> (i % 64) & 1))
            continue;
        uint64_t section = pd_get(data + table, 8, l->big);
        if (section >= l->end)
            pd_put(data + table, 8, l->big, section + delta);
        table += 16;
    }
}

static inline size_t pd_replace(uint8_t *data, size_t size, size_t max_size, const pd_layout *l, size_t at, size_t old,
                                const void *piece, size_t new_size) {
    size_t changed = fuzz_splice(data, size, max_size, at, old, piece, new_size);
    if (changed != size || old == new_size)
        pd_moved(data, changed, l, at, old, new_size);
    return changed;
}

/* A record that is not there yet: a type of today, and a body of plausible words. */
static inline size_t pd_make(fuzz_random *r, const pd_layout *l, uint8_t *out) {
    static const struct {
        unsigned type, size;
    } kinds[] = {{1, 64},   {2, 40},  {3, 40},  {4, 48},  {7, 48},  {9, 64},    {9, 96},   {9, 256},
                 {10, 112}, {13, 40}, {16, 48}, {17, 56}, {19, 40}, {22, 56},   {64, 160}, {65, 64},
                 {66, 16},  {67, 72}, {68, 8},  {70, 40}, {71, 48}, {72, 56},   {78, 40},  {79, 24},
                 {80, 64},  {81, 40}, {82, 8},  {83, 40}, {84, 24}, {32768, 16}};
    static const uint16_t misc[] = {2, 1, 0, 0x2002, 0x4002, 0xc002, 4, 5, 0x1002, 0x2000};
    size_t kind = fuzz_below(r, sizeof kinds / sizeof *kinds), size = kinds[kind].size;
    pd_put(out, 4, l->big, kinds[kind].type);
    pd_put(out + 4, 2, l->big, misc[fuzz_below(r, sizeof misc / sizeof *misc)]);
    pd_put(out + 6, 2, l->big, size);
    for (size_t i = 8; i + 8 <= size; i += 8) {
        if (fuzz_below(r, 3) == 0) {
            pd_put(out + i, 4, l->big, fuzz_below(r, 4));
            pd_put(out + i + 4, 4, l->big, fuzz_below(r, 4));
        } else
            pd_put(out + i, 8, l->big, fuzz_number(r, 0x400000 + i));
    }
    if (fuzz_below(r, 3) == 0)
        memcpy(out + size - 8, "/a.so\0\0", 8 <= size - 8 ? 8 : 0);
    return size;
}

/* The body of a record, its size in whole words, or (rarely) not. */
static inline size_t pd_alter(fuzz_random *r, uint8_t *data, size_t size, size_t max_size, const pd_layout *l,
                              size_t i) {
    size_t at = l->offsets[i], old = l->offsets[i + 1] - at, n = old;
    switch (fuzz_below(r, 6)) {
    case 0:
        data[at + (l->big ? 3 : 0)] = (uint8_t)fuzz_below(r, 90);
        return size;
    case 1:
        pd_put(data + at + 4, 2, l->big, pd_get(data + at + 4, 2, l->big) ^ (uint64_t)1 << fuzz_below(r, 16));
        return size;
    case 2:
    case 3: /* one word */
        if (old >= 16) {
            unsigned bytes = fuzz_below(r, 3) ? 8 : 4;
            size_t word = at + 8 + fuzz_below(r, (old - 8) / bytes) * bytes;
            pd_put(data + word, bytes, l->big, fuzz_number(r, pd_get(data + word, bytes, l->big)));
        }
        return size;
    default:
        break;
    }
    size_t room = max_size - size < 128 ? max_size - size : 128;
    uint8_t *copy = fuzz_copy(data + at, old, room + 8);
    if (!copy)
        return size;
    if (old - 8 + room > 0)
        n = 8 + LLVMFuzzerMutate(copy + 8, old - 8, old - 8 + room);
    if (fuzz_below(r, 8)) {
        for (; n % 8; n++)
            copy[n] = 0;
    }
    if (n <= 0xffff) {
        pd_put(copy + 6, 2, l->big, n);
        size = pd_replace(data, size, max_size, l, at, old, copy, n);
    }
    free(copy);
    return size;
}

static inline size_t pd_mutate_records(fuzz_random *r, uint8_t *data, size_t size, size_t max_size,
                                       const pd_layout *l) {
    uint8_t made[256];
    size_t i = fuzz_below(r, l->records), to = fuzz_below(r, l->records + 1);
    size_t run = 1 + (fuzz_below(r, 4) ? 0 : fuzz_below(r, 8));
    if (l->records == 0 || fuzz_below(r, 6) == 0)
        return pd_replace(data, size, max_size, l, l->offsets[to], 0, made, pd_make(r, l, made));
    if (run > l->records - i)
        run = l->records - i;
    size_t at = l->offsets[i], n = l->offsets[i + run] - at;
    switch (fuzz_below(r, 8)) {
    case 0:
        return pd_replace(data, size, max_size, l, at, n, NULL, 0);
    case 1: { /* doubled */
        uint8_t *copy = fuzz_copy(data + at, n, 0);
        if (copy)
            size = pd_replace(data, size, max_size, l, l->offsets[to], 0, copy, n);
        free(copy);
        return size;
    }
    case 2: { /* changes places with the next one */
        if (i + run >= l->records)
            return size;
        size_t next = l->offsets[i + run + 1] - l->offsets[i + run];
        uint8_t *copy = fuzz_copy(data + at, n, 0);
        if (copy) {
            memmove(data + at, data + at + n, next);
            memcpy(data + at + next, copy, n);
        }
        free(copy);
        return size;
    }
    default:
        return pd_alter(r, data, size, max_size, l, i);
    }
}

static inline void pd_mutate_attr(fuzz_random *r, uint8_t *data, size_t size, const pd_layout *l) {
    static const unsigned char fields[] = {0,  4,  8,  16, 24, 24, 24, 32, 40, 40,
                                           48, 56, 64, 72, 72, 80, 88, 92, 96, 104};
    size_t at = l->attrs + fuzz_below(r, l->attr_count) * l->stride, field = fields[fuzz_below(r, sizeof fields)];
    if (fuzz_below(r, 12) == 0)
        field = l->stride - 16 + fuzz_below(r, 2) * 8;
    unsigned bytes = field < 8 || field == 48 || field == 88 || field == 92 ? 4 : 8;
    if (at + l->stride > size || field + bytes > l->stride)
        return;
    uint64_t old = pd_get(data + at + field, bytes, l->big);
    int bits = field == 24 || field == 32 || field == 40 || field == 72;
    pd_put(data + at + field, bytes, l->big, bits ? old ^ (uint64_t)1 << fuzz_below(r, 27) : fuzz_number(r, old));
}

/* Switches a feature; its entry in the table points at bytes that are there. */
static inline size_t pd_mutate_feature(fuzz_random *r, uint8_t *data, size_t size, size_t max_size,
                                       const pd_layout *l) {
    size_t bit = fuzz_below(r, 20) ? fuzz_below(r, 34) : 128, table = l->end;
    if (l->pipe || pd_get(data + 8, 8, l->big) < 104 || size < 104)
        return size;
    for (size_t i = 0; i < bit; i++)
        table += (pd_get(data + 72 + i / 64 * 8, 8, l->big) >> (i % 64) & 1) ? 16 : 0;
    uint8_t *word = data + 72 + bit / 64 * 8, entry[16];
    uint64_t bits = pd_get(word, 8, l->big), mask = (uint64_t)1 << (bit % 64);
    if (table > size || ((bits & mask) && size - table < 16))
        return size;
    size_t changed;
    if (bits & mask) { /* alter the section, or drop it */
        uint64_t at = pd_get(data + table, 8, l->big), n = pd_get(data + table + 8, 8, l->big);
        if (fuzz_below(r, 4) && n && at < size && n <= size - at) {
            if (fuzz_below(r, 2))
                data[at + fuzz_below(r, (size_t)n)] = (uint8_t)fuzz_number(r, n);
            else
                LLVMFuzzerMutate(data + at, (size_t)n, (size_t)n);
            return size;
        }
        changed = fuzz_splice(data, size, max_size, table, 16, NULL, 0);
    } else {
        size_t at = l->end + 16 + fuzz_below(r, size - l->end + 1);
        pd_put(entry, 8, l->big, at);
        pd_put(entry + 8, 8, l->big, 1 + fuzz_below(r, size + 16 - at));
        changed = fuzz_splice(data, size, max_size, table, 0, entry, 16);
    }
    if (changed == size)
        return size;
    pd_put(word, 8, l->big, bits ^ mask);
    uint64_t delta = (uint64_t)changed - size;
    size_t at = l->end;
    for (size_t i = 0; i < 256 && at + 16 <= changed; i++) {
        if (!(pd_get(data + 72 + i / 64 * 8, 8, l->big) >> (i % 64) & 1))
            continue;
        uint64_t section = pd_get(data + at, 8, l->big);
        if (i != bit && section >= table)
            pd_put(data + at, 8, l->big, section + delta);
        at += 16;
    }
    return changed;
}

static inline size_t fuzz_mutate_perf_data(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static pd_layout layout;
    fuzz_random r = fuzz_seed(seed);
    fuzz_next(&r);
    if (fuzz_below(&r, 8) == 0 || !pd_parse(data, size, &layout))
        return LLVMFuzzerMutate(data, size, max_size);
    for (size_t rounds = 1 + fuzz_below(&r, 4); rounds && pd_parse(data, size, &layout); rounds--) {
        size_t choice = fuzz_below(&r, 10);
        if (choice == 0 && layout.attr_count)
            pd_mutate_attr(&r, data, size, &layout);
        else if (choice == 1)
            size = pd_mutate_feature(&r, data, size, max_size, &layout);
        else
            size = pd_mutate_records(&r, data, size, max_size, &layout);
    }
    return size;
}

/* `a` with a run of the records of `b`. */
static inline size_t fuzz_cross_perf_data(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                          uint8_t *out, size_t max_size, unsigned seed) {
    static pd_layout to, from;
    fuzz_random r = fuzz_seed(seed);
    if (a_size > max_size)
        a_size = max_size;
    if (a_size)
        memcpy(out, a, a_size);
    if (!pd_parse(out, a_size, &to) || !pd_parse(b, b_size, &from) || to.big != from.big || from.records == 0)
        return a_size;
    size_t i = fuzz_below(&r, from.records), run = 1 + fuzz_below(&r, from.records - i);
    size_t j = fuzz_below(&r, to.records + 1), old = fuzz_below(&r, 2) ? fuzz_below(&r, to.records - j + 1) : 0;
    return pd_replace(out, a_size, max_size, &to, to.offsets[j], to.offsets[j + old] - to.offsets[j],
                      b + from.offsets[i], from.offsets[i + run] - from.offsets[i]);
}

#endif
