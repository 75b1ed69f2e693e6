/* SPDX-License-Identifier: MIT
 *
 * What the structure-aware mutations share: random numbers from libFuzzer's seed, numbers worth trying, and changing a
 * piece of a buffer for another one of another size. Nothing here fails: what does not fit is left as it was.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's own mutation of bytes, with its dictionary; the replay driver has a small one of its own. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t max_size, unsigned seed);

typedef struct fuzz_random {
    uint64_t state;
} fuzz_random;

static inline fuzz_random fuzz_seed(unsigned seed) {
    fuzz_random r = {(uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + 0x1234567};
    return r;
}

static inline uint64_t fuzz_next(fuzz_random *r) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state;
}

/* 0 .. n-1; 0 for n = 0. */
static inline size_t fuzz_below(fuzz_random *r, size_t n) { return n ? (size_t)((fuzz_next(r) >> 11) % n) : 0; }

/* A number near `old`, a small one, or one at an edge. */
static inline uint64_t fuzz_number(fuzz_random *r, uint64_t old) {
    static const uint64_t edges[] = {0,
                                     1,
                                     UINT64_MAX,
                                     INT64_MAX,
                                     (uint64_t)INT64_MIN,
                                     UINT32_MAX,
                                     INT32_MAX,
                                     (uint64_t)1 << 32,
                                     (uint64_t)1 << 31,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x100,
                                     0xffff,
                                     0x10000,
                                     (uint64_t)1 << 62,
                                     (uint64_t)1 << 47,
                                     UINT64_MAX - 1,
                                     0xffffffff81000000,
                                     0x400000,
                                     4096,
                                     0xfffffffffffff000};
    switch (fuzz_below(r, 6)) {
    case 0:
        return edges[fuzz_below(r, sizeof edges / sizeof *edges)];
    case 1:
        return old + 1 + fuzz_below(r, 4);
    case 2:
        return old - 1 - fuzz_below(r, 4);
    case 3:
        return old ^ (uint64_t)1 << fuzz_below(r, 64);
    case 4:
        return fuzz_below(r, 300);
    default:
        return fuzz_below(r, 12);
    }
}

/* data[at .. at + old) becomes piece[0 .. new); the new size of data, or `size` when there is no room. The piece may
 * not lie in data. */
static inline size_t fuzz_splice(uint8_t *data, size_t size, size_t max_size, size_t at, size_t old, const void *piece,
                                 size_t new_size) {
    if (at > size || old > size - at || new_size > max_size || size - old > max_size - new_size)
        return size;
    memmove(data + at + new_size, data + at + old, size - at - old);
    if (new_size)
        memcpy(data + at, piece, new_size);
    return size - old + new_size;
}

/* A copy to mutate with room for more, to be freed; NULL without memory. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size, size_t room) {
    uint8_t *copy = malloc(size + room + 1);
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

#endif
