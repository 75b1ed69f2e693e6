/* SPDX-License-Identifier: MIT
 *
 * The compact stores of the reader. Most files put samples before the locations that they refer to, and all put names
 * last, so nearly everything has to wait; these stores, and the tree of stacks, make that cost a fraction of the inflated
 * file.
 */
#include "libprofconv/formats/pprof/spool.h"

/* ---- spool ---- */

#define FIRST_BLOCK 1024u
#define BLOCK 65536u
#define NUMBER_MAX 10u /* bytes of the longest number */

typedef struct pfc_spool_block {
    struct pfc_spool_block *next;
    uint32_t used;
    uint32_t size;
    uint8_t bytes[];
} pfc_spool_block;

void pfc_spool_init(pfc_spool *spool, pfc_mem *mem) {
    *spool = (pfc_spool){0};
    spool->mem = mem;
}

static int spool_grow(pfc_spool *spool) {
    uint32_t size = spool->tail ? BLOCK : FIRST_BLOCK;
    pfc_spool_block *block = pfc_alloc(spool->mem, sizeof *block + size);
    if (!block) {
        spool->failed = spool->mem->failed;
        return spool->failed;
    }
    block->next = NULL;
    block->used = 0;
    block->size = size;
    if (spool->tail)
        spool->tail->next = block;
    else
        spool->head = block;
    spool->tail = block;
    return 0;
}

void pfc_spool_put(pfc_spool *spool, uint64_t value) {
    if (spool->failed)
        return;
    pfc_spool_block *block = spool->tail;
    if (!block || block->size - block->used < NUMBER_MAX) {
        if (spool_grow(spool))
            return;
        block = spool->tail;
    }
    uint32_t at = block->used;
    while (value > 0x7f) {
        block->bytes[at++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    block->bytes[at++] = (uint8_t)value;
    block->used = at;
}

static void spool_drop_head(pfc_spool *spool) {
    pfc_spool_block *block = spool->head;
    spool->head = block->next;
    if (!spool->head)
        spool->tail = NULL;
    spool->at = 0;
    pfc_free(spool->mem, block, sizeof *block + block->size);
}

uint64_t pfc_spool_get(pfc_spool *spool) {
    const pfc_spool_block *block = spool->head;
    if (!block)
        return 0;
    uint64_t value = 0;
    unsigned shift = 0;
    while (spool->at < block->used) {
        uint8_t byte = block->bytes[spool->at++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
        shift += 7;
    }
    if (spool->at >= block->used)
        spool_drop_head(spool);
    return value;
}

void pfc_spool_free(pfc_spool *spool) {
    while (spool->head)
        spool_drop_head(spool);
}

/* ---- ids ---- */

static uint64_t id_hash(uint64_t id) { return pfc_hash_mix(id, 0x70b7); }

static uint64_t id_rehash(const void *user, uint32_t row) {
    const pfc_idset *set = user;
    return id_hash(set->ids.data[row - 1]);
}

uint32_t pfc_idset_find(const pfc_idset *set, uint64_t id) {
    if (!set->listed)
        return id >= 1 && id <= set->count ? (uint32_t)id : 0;
    if (set->index.size == 0)
        return 0;
    pfc_probe probe = pfc_index_start(&set->index, id_hash(id));
    uint32_t row;
    while ((row = pfc_index_next(&set->index, &probe)) != 0)
        if (set->ids.data[row - 1] == id)
            return row;
    return 0;
}

static int idset_list(pfc_mem *mem, pfc_idset *set, uint64_t id) {
    int status = PFC_VEC_PUSH(mem, &set->ids, id);
    if (!status)
        status = pfc_index_insert(mem, &set->index, id_hash(id), (uint32_t)set->ids.count, id_rehash, set);
    return status;
}

int pfc_idset_add(pfc_mem *mem, pfc_idset *set, uint64_t id) {
    if (!set->listed && id != (uint64_t)set->count + 1) {
        set->listed = 1;
        for (uint32_t row = 1; row <= set->count; row++) {
            int status = idset_list(mem, set, row);
            if (status)
                return status;
        }
    }
    if (set->listed) {
        int status = idset_list(mem, set, id);
        if (status)
            return status;
    }
    set->count++;
    return 0;
}

uint64_t pfc_idset_id(const pfc_idset *set, uint32_t row) { return set->listed ? set->ids.data[row - 1] : row; }

void pfc_idset_free(pfc_mem *mem, pfc_idset *set) {
    PFC_VEC_FREE(mem, &set->ids);
    pfc_index_free(mem, &set->index);
    *set = (pfc_idset){0};
}
