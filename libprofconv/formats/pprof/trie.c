/* SPDX-License-Identifier: MIT
 *
 * The tree of stacks: see trie.h.
 */
#include "libprofconv/formats/pprof/trie.h"

#include <string.h>

#include "libprofconv/formats/pprof/wire.h"

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

/* From `from` on, root first, as far as there is room: *node is where it leads, *left how many ids at the leaf were not
 * taken. */
static int walk(pfc_mem *mem, pfc_pprof_trie *trie, uint32_t from, const uint64_t *ids, size_t count, uint32_t *node,
                size_t *left) {
    *node = from;
    for (*left = count; *left > 0; --*left) {
        uint64_t id = ids[*left - 1];
        uint32_t location = (uint32_t)id, child = 0;
        int status = id < PFC_TRIE_LARGE ? 0 : large_location(mem, trie, id, &location);
        if (!status)
            status = trie_child(mem, trie, *node, location, &child);
        if (status)
            return status;
        if (!child)
            break;
        *node = child;
    }
    return PROFCONV_OK;
}

int pfc_pprof_trie_stack(pfc_mem *mem, pfc_pprof_trie *trie, const uint64_t *ids, size_t count, uint32_t *stack,
                         size_t *cut) {
    return walk(mem, trie, 0, ids, count, stack, cut);
}

/* ---- stacks by their bytes ----
 *
 * Stacks begin alike: with one look-up a frame most of the time goes into finding what was found before. So the bytes of a
 * packed field are taken from the end, where the root is, in pieces of whole numbers of up to 15 bytes, and a cache says where
 * a piece led from a node. What it holds was decoded and walked once, and no node ever goes away, so it needs no second look.
 * The place of a step in the cache follows from all bytes up to it, so that the steps of a stack are known before the first
 * is taken, and wait for memory together. */

#define PIECE_BYTES 15u
#define PIECES 32u /* looked for together */
#define FIRST_STEPS 4096u
#define MOST_STEPS 262144u /* 6 MiB */

/* The bytes of a piece, and above them, at the top of `high`, their number: never 0. */
typedef struct piece {
    uint64_t low, high;
} piece;

typedef struct pfc_pprof_step {
    piece bytes;
    uint32_t from, to;
} pfc_pprof_step;

/* The last `size` of the bytes before data[end]: 1 to PIECE_BYTES. */
static piece piece_load(const uint8_t *data, size_t end, size_t size) {
    uint8_t copy[16] = {0};
    const uint8_t *p = copy;
    if (end < 16)
        memcpy(copy + 16 - end, data, end);
    else
        p = data + end - 16;
    piece bytes = {pfc_load64(p, 0), pfc_load64(p + 8, 0)};
    if (size > 8) {
        unsigned shift = (unsigned)(16 - size) * 8;
        bytes.low = bytes.low >> shift | bytes.high << (64 - shift);
        bytes.high >>= shift;
    } else {
        bytes.low = bytes.high >> (64 - 8 * size);
        bytes.high = 0;
    }
    bytes.high |= (uint64_t)size << 56;
    return bytes;
}

static size_t piece_bytes(const piece *bytes) { return (size_t)(bytes->high >> 56); }

/* How many bytes before data[end] are whole numbers and fit into a piece; 0: not even one number does. */
static size_t piece_size(const uint8_t *data, size_t end) {
    size_t start = end > PIECE_BYTES ? end - PIECE_BYTES : 0;
    while (start > 0 && start < end && data[start - 1] & 0x80)
        start++;
    return end - start;
}

/* The cache grows with the tree, so that small files do not pay for a large one; and never at the cost of what must fit. */
static int steps_reserve(pfc_mem *mem, pfc_pprof_trie *trie) {
    size_t count = trie->step_count ? trie->step_count : FIRST_STEPS;
    while (count < MOST_STEPS && count < trie->nodes.count / 8)
        count *= 8;
    if (count == trie->step_count || (trie->steps && count * sizeof *trie->steps > pfc_mem_left(mem) / 16))
        return PROFCONV_OK;
    pfc_pprof_step *steps = pfc_alloc_zero(mem, count * sizeof *steps);
    if (!steps)
        return mem->failed;
    pfc_free(mem, trie->steps, trie->step_count * sizeof *steps);
    trie->steps = steps;
    trie->step_count = count;
    return PROFCONV_OK;
}

static int walk_piece(pfc_mem *mem, pfc_pprof_trie *trie, const uint8_t *data, size_t size, pfc_pprof_step *step, int *failed) {
    uint64_t ids[PIECE_BYTES];
    size_t count = 0, left;
    pfc_cursor c = pfc_cursor_make(data, size, 0, 0);
    while (pfc_cursor_left(&c) && !c.failed)
        ids[count++] = pfc_wire_varint(&c);
    *failed = c.failed;
    return c.failed ? PROFCONV_OK : walk(mem, trie, step->from, ids, count, &step->to, &left);
}

typedef struct piece_list {
    piece bytes[PIECES];
    pfc_pprof_step *known[PIECES];
    size_t count;
    uint64_t hash; /* of all bytes up to here */
} piece_list;

/* Takes pieces off the end of data[0..size); what is left. */
static size_t list_pieces(const pfc_pprof_trie *trie, piece_list *list, const uint8_t *data, size_t size) {
    list->count = 0;
    while (size > 0 && list->count < PIECES) {
        size_t bytes = piece_size(data, size);
        if (bytes == 0)
            break;
        piece p = piece_load(data, size, bytes);
        list->hash = pfc_hash_mix(p.low ^ list->hash, p.high);
        list->known[list->count] = &trie->steps[list->hash & (trie->step_count - 1)];
        PFC_PREFETCH(list->known[list->count]);
        list->bytes[list->count++] = p;
        size -= bytes;
    }
    return size;
}

static int take_step(pfc_mem *mem, pfc_pprof_trie *trie, const piece_list *list, size_t i, const uint8_t *data, uint32_t *node,
                     int *failed) {
    pfc_pprof_step *known = list->known[i];
    pfc_pprof_step step = {list->bytes[i], *node, 0};
    if (known->from != step.from || known->bytes.low != step.bytes.low || known->bytes.high != step.bytes.high) {
        int status = walk_piece(mem, trie, data, piece_bytes(&step.bytes), &step, failed);
        if (status || *failed)
            return status;
        *known = step;
    }
    *node = known->to;
    return PROFCONV_OK;
}

int pfc_pprof_trie_packed(pfc_mem *mem, pfc_pprof_trie *trie, const uint8_t *data, size_t size, uint32_t *stack, int *failed) {
    piece_list list;
    int status = steps_reserve(mem, trie);
    list.hash = 0;
    *stack = 0;
    *failed = 0;
    while (size > 0 && !status && !*failed) {
        size_t end = size;
        size = list_pieces(trie, &list, data, size);
        *failed = list.count == 0;
        for (size_t i = 0; i < list.count && !status && !*failed; i++) {
            end -= piece_bytes(&list.bytes[i]);
            status = take_step(mem, trie, &list, i, data + end, stack, failed);
        }
    }
    return status;
}

uint64_t pfc_pprof_trie_location(const pfc_pprof_trie *trie, uint32_t node) {
    uint32_t location = trie->nodes.data[node].location;
    return location < PFC_TRIE_LARGE ? location : pfc_idset_id(&trie->large, location - PFC_TRIE_LARGE);
}

void pfc_pprof_trie_seal(pfc_mem *mem, pfc_pprof_trie *trie) {
    pfc_index_free(mem, &trie->index);
    pfc_free(mem, trie->steps, trie->step_count * sizeof *trie->steps);
    trie->steps = NULL;
    trie->step_count = 0;
}

void pfc_pprof_trie_free(pfc_mem *mem, pfc_pprof_trie *trie) {
    PFC_VEC_FREE(mem, &trie->nodes);
    pfc_pprof_trie_seal(mem, trie);
    pfc_idset_free(mem, &trie->large);
}
