/* SPDX-License-Identifier: MIT
 *
 * Hashing, and an open-addressing index from hashes to 32-bit row numbers. The index holds no keys: the caller
 * compares rows. Row 0 cannot be stored (it marks an empty slot), so tables that start at row 0 store row + 1.
 */
#ifndef PFC_BASE_HASH_H
#define PFC_BASE_HASH_H

#include "libprofconv/base/mem.h"

uint64_t pfc_hash_bytes(const void *data, size_t size);

static inline uint64_t pfc_hash_mix(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 pfc_u128;
    pfc_u128 product = (pfc_u128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t x = (a ^ 0x9e3779b97f4a7c15u) + ((b ^ 0xe7037ed1a0b428dbu) * 0xff51afd7ed558ccdu);
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
#endif
}

typedef struct pfc_index {
    uint64_t *slots; /* upper half of the hash << 32 | row */
    size_t size;     /* power of two, or 0 */
    size_t count;
} pfc_index;

typedef struct pfc_probe {
    size_t at;
    uint32_t tag;
} pfc_probe;

static inline pfc_probe pfc_index_start(const pfc_index *index, uint64_t hash) {
    pfc_probe probe = {(size_t)hash & (index->size - 1), (uint32_t)(hash >> 32)};
    return probe;
}

/* The next row that may be equal, or 0 when there is none. */
static inline uint32_t pfc_index_next(const pfc_index *index, pfc_probe *probe) {
    if (index->size == 0)
        return 0;
    for (;;) {
        uint64_t slot = index->slots[probe->at];
        if (slot == 0)
            return 0;
        probe->at = (probe->at + 1) & (index->size - 1);
        if ((uint32_t)(slot >> 32) == probe->tag)
            return (uint32_t)slot;
    }
}

/* Adds (hash, row) without looking for it. Growing re-inserts by `rehash(user, row)`, which gives a row's hash again.
 * 0 or a status; on failure the index is as it was. */
int pfc_index_insert(pfc_mem *mem, pfc_index *index, uint64_t hash, uint32_t row,
                     uint64_t (*rehash)(const void *user, uint32_t row), const void *user);
void pfc_index_free(pfc_mem *mem, pfc_index *index);

#endif
