/* SPDX-License-Identifier: MIT
 *
 * The hash of bytes, and the growing of indexes. Hashes stay inside one process: they depend on the byte order and may
 * change between versions.
 */
#include "libprofconv/base/hash.h"

#include <string.h>

static uint64_t load64(const unsigned char *p) {
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint64_t load32(const unsigned char *p) {
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* A 64x64->128 multiply folded onto itself, 16 bytes a step. The state is added outside the product as well, so that a
 * factor that happens to be zero does not wipe out what came before. */
uint64_t pfc_hash_bytes_keyed(uint64_t key, const void *data, size_t size) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t state = (uint64_t)size * 0x9fb21c651e98df25u ^ key, turned = key << 32 | key >> 32;
    size_t left = size;
    for (; left > 16; left -= 16, p += 16)
        state = pfc_hash_mix(load64(p) ^ state, load64(p + 8) ^ turned) + (state << 23 | state >> 41);
    uint64_t a = 0, b = 0;
    if (left >= 8) {
        a = load64(p);
        b = load64(p + left - 8);
    } else if (left >= 4) {
        a = load32(p);
        b = load32(p + left - 4);
    } else if (left > 0) {
        a = (uint64_t)p[0] << 16 | (uint64_t)p[left >> 1] << 8 | p[left - 1];
    }
    uint64_t mixed = pfc_hash_mix(a ^ state, b ^ turned);
    return pfc_hash_mix(mixed + (state << 23 | state >> 41), b ^ turned ^ 0xd6e8feb86659fd93u);
}

uint64_t pfc_hash_bytes(const void *data, size_t size) { return pfc_hash_bytes_keyed(0, data, size); }

#define PFC_INDEX_FIRST 16

static void index_put(pfc_index *index, uint64_t hash, uint32_t row) {
    size_t mask = index->size - 1, at = pfc_index_start(index, hash).at;
    while (index->slots[at])
        at = (at + 1) & mask;
    index->slots[at] = (hash & 0xffffffff00000000u) | row;
}

static unsigned shift_of(size_t size) {
    unsigned bits = 0;
    while (((size_t)1 << bits) < size)
        bits++;
    return 64 - bits;
}

int pfc_index_reserve(pfc_mem *mem, pfc_index *index, pfc_rehash rehash, const void *user) {
    if (index->size - index->size / 5 * 2 > index->count) /* below 60 % */
        return PROFCONV_OK;
    size_t size = index->size ? index->size * 2 : PFC_INDEX_FIRST;
    if (size > SIZE_MAX / sizeof *index->slots) {
        if (!mem->failed)
            mem->failed = PROFCONV_E_NOMEM;
        return mem->failed;
    }
    pfc_index grown = {(uint64_t *)pfc_alloc_zero(mem, size * sizeof *index->slots), size, index->count, mem->key | 1,
                       shift_of(size)};
    if (!grown.slots)
        return mem->failed;
    for (size_t i = 0; i < index->size; i++)
        if (index->slots[i])
            index_put(&grown, rehash(user, (uint32_t)index->slots[i]), (uint32_t)index->slots[i]);
    pfc_free(mem, index->slots, index->size * sizeof *index->slots);
    *index = grown;
    return PROFCONV_OK;
}

int pfc_index_insert(pfc_mem *mem, pfc_index *index, uint64_t hash, uint32_t row, pfc_rehash rehash, const void *user) {
    int status = pfc_index_reserve(mem, index, rehash, user);
    if (status)
        return status;
    index_put(index, hash, row);
    index->count++;
    return PROFCONV_OK;
}

void pfc_index_free(pfc_mem *mem, pfc_index *index) {
    pfc_free(mem, index->slots, index->size * sizeof *index->slots);
    memset(index, 0, sizeof *index);
}
