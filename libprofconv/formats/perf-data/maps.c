/* SPDX-License-Identifier: MIT
 *
 * The mapped ranges of one address space: sorted blocks of up to 64 ranges under one sorted array. A fork shares the
 * whole structure and then, block by block, only what the two sides have in common, so that fleets of forks cost little and
 * millions of ranges in one process stay cheap to change.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define BLOCK 64u

typedef struct pd_block {
    uint32_t references;
    uint32_t count;
    uint32_t capacity;
    uint32_t unused;
    pd_map map[];
} pd_block;

struct pd_maps {
    uint32_t references;
    uint32_t unused;
    size_t count, capacity; /* blocks, none of them empty */
    pd_block **block;
};

static size_t block_size(uint32_t capacity) { return sizeof(pd_block) + capacity * sizeof(pd_map); }

static pd_block *block_new(pd_reader *r, uint32_t capacity) {
    pd_block *b = (pd_block *)pfc_alloc(&r->mem, block_size(capacity));
    if (!b)
        return NULL;
    memset(b, 0, sizeof *b);
    b->references = 1;
    b->capacity = capacity;
    return b;
}

static void block_free(pd_reader *r, pd_block *b) {
    if (--b->references == 0)
        pfc_free(&r->mem, b, block_size(b->capacity));
}

pd_maps *pd_maps_share(pd_maps *maps) {
    if (maps)
        maps->references++;
    return maps;
}

void pd_maps_free(pd_reader *r, pd_maps *maps) {
    if (!maps || --maps->references > 0)
        return;
    for (size_t i = 0; i < maps->count; i++)
        block_free(r, maps->block[i]);
    pfc_free(&r->mem, maps->block, maps->capacity * sizeof *maps->block);
    pfc_free(&r->mem, maps, sizeof *maps);
}

/* The block that holds, or would hold, `address`: the last whose first range starts at or before it. */
static size_t block_at(const pd_maps *m, uint64_t address) {
    size_t low = 0, high = m->count;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (m->block[middle]->map[0].start <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* First range of the block that ends after `address`. */
static uint32_t range_at(const pd_block *b, uint64_t address) {
    uint32_t low = 0, high = b->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (b->map[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const pd_map *pd_maps_find(const pd_maps *maps, uint64_t address) {
    if (!maps || maps->count == 0)
        return NULL;
    const pd_block *b = maps->block[block_at(maps, address)];
    uint32_t i = range_at(b, address);
    return i < b->count && b->map[i].start <= address ? &b->map[i] : NULL;
}

const pd_map *pd_maps_ending_at(const pd_maps *maps, uint64_t address) {
    const pd_map *m = address ? pd_maps_find(maps, address - 1) : NULL;
    return m && m->end == address ? m : NULL;
}

/* Makes *maps and nothing below it ours alone. */
static int own_maps(pd_reader *r, pd_maps **maps) {
    pd_maps *old = *maps;
    if (old && old->references == 1)
        return 0;
    pd_maps *m = (pd_maps *)pfc_alloc_zero(&r->mem, sizeof *m);
    if (!m)
        return pd_failed(r);
    m->references = 1;
    if (old && old->count) {
        m->block = (pd_block **)pfc_alloc(&r->mem, old->count * sizeof *m->block);
        if (!m->block) {
            pfc_free(&r->mem, m, sizeof *m);
            return pd_failed(r);
        }
        m->count = m->capacity = old->count;
        for (size_t i = 0; i < old->count; i++) {
            m->block[i] = old->block[i];
            m->block[i]->references++;
        }
    }
    if (old)
        old->references--;
    *maps = m;
    return 0;
}

/* Makes block i ours alone, with room for `room` ranges. */
static int own_block(pd_reader *r, pd_maps *m, size_t i, uint32_t room) {
    pd_block *b = m->block[i];
    if (b->references == 1 && b->capacity >= room)
        return 0;
    uint32_t capacity = b->capacity;
    while (capacity < room)
        capacity *= 2;
    pd_block *copy = block_new(r, capacity);
    if (!copy)
        return pd_failed(r);
    copy->count = b->count;
    memcpy(copy->map, b->map, b->count * sizeof b->map[0]);
    block_free(r, b);
    m->block[i] = copy;
    return 0;
}

static int add_block(pd_reader *r, pd_maps *m, size_t at, pd_block *b) {
    if (pfc_grow(&r->mem, (void **)(void *)&m->block, &m->capacity, m->count + 1, sizeof *m->block))
        return pd_failed(r);
    memmove(m->block + at + 1, m->block + at, (m->count - at) * sizeof *m->block);
    m->block[at] = b;
    m->count++;
    return 0;
}

static void drop_block(pd_reader *r, pd_maps *m, size_t at) {
    block_free(r, m->block[at]);
    m->count--;
    memmove(m->block + at, m->block + at + 1, (m->count - at) * sizeof *m->block);
}

/* Puts a range where nothing is. */
static int put(pd_reader *r, pd_maps *m, const pd_map *map) {
    if (m->count == 0) {
        pd_block *b = block_new(r, 8);
        if (!b)
            return pd_failed(r);
        if (add_block(r, m, 0, b)) {
            block_free(r, b);
            return pd_failed(r);
        }
    }
    size_t i = block_at(m, map->start);
    if (m->block[i]->count == BLOCK) { /* split in halves */
        int rc = own_block(r, m, i, BLOCK);
        if (rc)
            return rc;
        pd_block *left = m->block[i], *right = block_new(r, BLOCK);
        if (!right)
            return pd_failed(r);
        right->count = BLOCK / 2;
        memcpy(right->map, left->map + BLOCK / 2, BLOCK / 2 * sizeof right->map[0]);
        if (add_block(r, m, i + 1, right)) {
            block_free(r, right);
            return pd_failed(r);
        }
        left->count = BLOCK / 2;
        if (right->map[0].start <= map->start)
            i++;
    }
    int rc = own_block(r, m, i, m->block[i]->count + 1);
    if (rc)
        return rc;
    pd_block *b = m->block[i];
    uint32_t at = range_at(b, map->start);
    memmove(b->map + at + 1, b->map + at, (b->count - at) * sizeof b->map[0]);
    b->map[at] = *map;
    b->count++;
    return 0;
}

int pd_maps_remove(pd_reader *r, pd_maps **maps, uint64_t start, uint64_t end) {
    if (!*maps || (*maps)->count == 0 || start >= end)
        return 0;
    int rc = own_maps(r, maps);
    if (rc)
        return rc;
    pd_maps *m = *maps;
    for (;;) {
        size_t i = block_at(m, start);
        uint32_t at = range_at(m->block[i], start);
        if (at == m->block[i]->count) { /* the next one is in the next block */
            if (++i == m->count)
                return 0;
            at = 0;
        }
        pd_map old = m->block[i]->map[at];
        if (old.start >= end)
            return 0;
        if ((rc = own_block(r, m, i, m->block[i]->count)) != 0)
            return rc;
        pd_block *b = m->block[i];
        pd_map tail = old;
        tail.start = end;
        tail.value = old.value + (end - old.start);
        if (old.start < start) { /* the front stays */
            b->map[at].end = start;
            if (old.end > end)
                return put(r, m, &tail);
            if (old.end == end)
                return 0;
            continue;
        }
        if (old.end > end) { /* the back stays */
            b->map[at] = tail;
            return 0;
        }
        /* Whole ranges: as many as this block has. */
        uint32_t stop = at + 1;
        while (stop < b->count && b->map[stop].end <= end)
            stop++;
        memmove(b->map + at, b->map + stop, (b->count - stop) * sizeof b->map[0]);
        b->count -= stop - at;
        if (b->count == 0)
            drop_block(r, m, i);
        if (m->count == 0)
            return 0;
    }
}

static int insert_plain(pd_reader *r, pd_maps **maps, const pd_map *map) {
    int rc = pd_maps_remove(r, maps, map->start, map->end);
    if (rc == 0)
        rc = own_maps(r, maps);
    return rc ? rc : put(r, *maps, map);
}

/* The first JITTED range that ends after `address` and starts before `end`. */
static const pd_map *next_jitted(const pd_maps *m, uint64_t address, uint64_t end) {
    if (!m || m->count == 0)
        return NULL;
    size_t i = block_at(m, address);
    uint32_t at = range_at(m->block[i], address);
    for (; i < m->count; i++, at = 0)
        for (; at < m->block[i]->count; at++) {
            const pd_map *map = &m->block[i]->map[at];
            if (map->start >= end)
                return NULL;
            if (map->flags & PD_MAP_JITTED)
                return map;
        }
    return NULL;
}

int pd_maps_insert(pd_reader *r, pd_maps **maps, const pd_map *map, int keep_jitted) {
    if (map->start >= map->end)
        return 0;
    if (!keep_jitted)
        return insert_plain(r, maps, map);
    pd_map piece = *map;
    for (;;) {
        const pd_map *jitted = next_jitted(*maps, piece.start, map->end);
        uint64_t stop = jitted ? jitted->end : 0;
        piece.end = jitted ? jitted->start : map->end;
        if (piece.start < piece.end) {
            int rc = insert_plain(r, maps, &piece);
            if (rc)
                return rc;
        }
        if (!jitted || stop >= map->end)
            return 0;
        piece.value += stop - piece.start;
        piece.start = stop;
    }
}
