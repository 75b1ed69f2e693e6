/* SPDX-License-Identifier: MIT
 *
 * The compact stores of the reader. Most files put samples before the locations that they refer to, and all put names
 * last, so nearly everything has to wait; these stores make that cost a fraction of the inflated file.
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

/* ---- prefix tree ---- */

static uint64_t node_hash(uint32_t parent, uint32_t location) { return pfc_hash_mix(parent, location); }

static uint64_t node_rehash(const void *user, uint32_t row) {
    const pfc_pprof_trie *trie = user;
    return node_hash(trie->nodes.data[row].parent, trie->nodes.data[row].location);
}

int pfc_pprof_trie_init(pfc_mem *mem, pfc_pprof_trie *trie) {
    *trie = (pfc_pprof_trie){0};
    profconv_stack none = {0, 0};
    return PFC_VEC_PUSH(mem, &trie->nodes, none);
}

static uint32_t find_child(const pfc_pprof_trie *trie, uint32_t parent, uint32_t location, uint64_t hash) {
    if (trie->index.size == 0)
        return 0;
    pfc_probe probe = pfc_index_start(&trie->index, hash);
    uint32_t row;
    while ((row = pfc_index_next(&trie->index, &probe)) != 0)
        if (trie->nodes.data[row].parent == parent && trie->nodes.data[row].location == location)
            return row;
    return 0;
}

/* The frames of a stack are added one after the other, so the child on the first stack that came through `parent` is the
 * next node. It is looked for there and nowhere else: the index holds only what comes later, one node for each place
 * where stacks part, and stays a fraction of the tree. *child 0: there is none, and no more are taken. */
static int trie_child(pfc_mem *mem, pfc_pprof_trie *trie, uint32_t parent, uint32_t location, uint32_t *child) {
    size_t next = (size_t)parent + 1, count = trie->nodes.count;
    uint64_t hash = 0;
    if (next < count) {
        if (trie->nodes.data[next].parent == parent && trie->nodes.data[next].location == location) {
            *child = (uint32_t)next;
            return 0;
        }
        hash = node_hash(parent, location);
        *child = find_child(trie, parent, location, hash);
        if (*child)
            return 0;
    }
    *child = 0;
    if (trie->most && count >= trie->most)
        return PROFCONV_OK;
    if (count >= UINT32_MAX)
        return PROFCONV_E_LIMIT;
    profconv_stack node = {parent, location};
    int status = PFC_VEC_PUSH(mem, &trie->nodes, node);
    if (status)
        return status;
    *child = (uint32_t)count;
    return next < count ? pfc_index_insert(mem, &trie->index, hash, *child, node_rehash, trie) : PROFCONV_OK;
}

static int large_location(pfc_mem *mem, pfc_pprof_trie *trie, uint64_t id, uint32_t *location) {
    uint32_t row = pfc_idset_find(&trie->large, id);
    if (row == 0) {
        if (trie->large.count >= PFC_TRIE_LARGE - 1)
            return PROFCONV_E_LIMIT;
        int status = pfc_idset_add(mem, &trie->large, id);
        if (status)
            return status;
        row = trie->large.count;
    }
    *location = PFC_TRIE_LARGE + row;
    return 0;
}

/* How many frames from the root on the stack shares with the last one. */
static size_t shared_frames(const pfc_pprof_trie *trie, const uint64_t *ids, size_t count) {
    size_t most = trie->path.count < count ? trie->path.count : count;
    size_t same = 0;
    while (same < most && ids[count - 1 - same] < PFC_TRIE_LARGE &&
           trie->nodes.data[trie->path.data[same]].location == ids[count - 1 - same])
        same++;
    return same;
}

int pfc_pprof_trie_stack(pfc_mem *mem, pfc_pprof_trie *trie, const uint64_t *ids, size_t count, uint32_t *stack,
                         size_t *cut) {
    size_t same = shared_frames(trie, ids, count);
    uint32_t node = same ? trie->path.data[same - 1] : 0;
    trie->path.count = same;
    if (PFC_VEC_RESERVE(mem, &trie->path, count))
        return mem->failed;
    size_t left = count - same;
    for (; left > 0; left--) {
        uint64_t id = ids[left - 1];
        uint32_t location = (uint32_t)id, child = 0;
        int status = id < PFC_TRIE_LARGE ? 0 : large_location(mem, trie, id, &location);
        if (!status)
            status = trie_child(mem, trie, node, location, &child);
        if (status)
            return status;
        if (!child)
            break;
        node = child;
        trie->path.data[trie->path.count++] = node;
    }
    *stack = node;
    *cut = left;
    return 0;
}

uint64_t pfc_pprof_trie_location(const pfc_pprof_trie *trie, uint32_t node) {
    uint32_t location = trie->nodes.data[node].location;
    return location < PFC_TRIE_LARGE ? location : pfc_idset_id(&trie->large, location - PFC_TRIE_LARGE);
}

void pfc_pprof_trie_seal(pfc_mem *mem, pfc_pprof_trie *trie) {
    pfc_index_free(mem, &trie->index);
    PFC_VEC_FREE(mem, &trie->path);
}

void pfc_pprof_trie_free(pfc_mem *mem, pfc_pprof_trie *trie) {
    PFC_VEC_FREE(mem, &trie->nodes);
    pfc_pprof_trie_seal(mem, trie);
    pfc_idset_free(mem, &trie->large);
}
