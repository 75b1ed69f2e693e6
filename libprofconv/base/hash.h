/* SPDX-License-Identifier: MIT
 *
 * Hashing, and an open-addressing index from hashes to 32-bit row numbers. The index holds no keys: the caller
 * compares rows. Row 0 cannot be stored (it marks an empty slot), so tables that start at row 0 store row + 1.
 *
 * Files are not trusted: one could be made of rows that collide, and each look-up would walk past all of them. So an index
 * places hashes by a secret multiplier (two hashes that differ meet as often as chance has it), and what a file chooses
 * freely, bytes and 64-bit numbers, is hashed under a secret key. Both come from the pfc_mem. Nothing that is written may depend
 * on a hash: rows have the order in which they came.
 */
#ifndef PFC_BASE_HASH_H
#define PFC_BASE_HASH_H

#include "libprofconv/base/mem.h"

/* Look-ups in tables larger than the caches wait for memory: what will be looked at is asked for before it is. */
#if defined(__GNUC__)
#define PFC_PREFETCH(address) __builtin_prefetch(address)
#else
#define PFC_PREFETCH(address) (void)(address)
#endif

/* `key`: of the pfc_mem that holds the rows. */
uint64_t pfc_hash_bytes_keyed(uint64_t key, const void *data, size_t size);
/* For what is no look-up in rows that a file brings. */
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

/* The same under a key: neither factor of the product is known to who chose a and b. */
static inline uint64_t pfc_hash_keyed(uint64_t key, uint64_t a, uint64_t b) {
    return pfc_hash_mix(a ^ key, b ^ (key << 32 | key >> 32));
}

typedef struct pfc_index {
    uint64_t *slots; /* upper half of the hash << 32 | row */
    size_t size;     /* power of two, or 0 */
    size_t count;
    uint64_t spin;   /* odd, secret: the slot is the top of hash * spin */
    unsigned shift;  /* 64 - log2(size) */
} pfc_index;

typedef struct pfc_probe {
    size_t at;
    uint32_t tag;
} pfc_probe;

static inline pfc_probe pfc_index_start(const pfc_index *index, uint64_t hash) {
    pfc_probe probe = {(size_t)(hash * index->spin >> index->shift), (uint32_t)(hash >> 32)};
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

/* A row's hash again. */
typedef uint64_t (*pfc_rehash)(const void *user, uint32_t row);
/* Room for one more. Growing re-inserts by `rehash(user, row)`. 0 or a status; on failure the index is as it was. */
int pfc_index_reserve(pfc_mem *mem, pfc_index *index, pfc_rehash rehash, const void *user);
/* Adds (hash, row) without looking for it, making room. */
int pfc_index_insert(pfc_mem *mem, pfc_index *index, uint64_t hash, uint32_t row, pfc_rehash rehash, const void *user);
void pfc_index_free(pfc_mem *mem, pfc_index *index);

#endif
