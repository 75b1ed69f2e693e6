/* SPDX-License-Identifier: MIT
 *
 * Allocation: who is asked, what is counted, when a request is refused, and how arrays and arenas grow.
 */
#include "libprofconv/base/mem.h"

#include <string.h>
#include <time.h>

#include "libprofconv/base/blocks.h"
#include "libprofconv/base/budget.h"
#include "libprofconv/base/hash.h"
#include "libprofconv/base/struct.h"

static void *system_resize(void *user, void *p, size_t old_size, size_t new_size) {
    (void)user;
    return pfc_block_resize(p, old_size, new_size, PFC_BLOCKS_LARGE);
}

static void *bounded_resize(void *user, void *p, size_t old_size, size_t new_size) {
    (void)user;
    return pfc_block_resize(p, old_size, new_size, PFC_BLOCKS_BOUNDED);
}

void pfc_allocator_bounded(profconv_allocator *allocator) {
    if (allocator->resize == system_resize)
        allocator->resize = bounded_resize;
}

/* Nobody who makes a file to be read knows it: when it was, and where the system put the stack and this code. */
static uint64_t make_key(const pfc_mem *mem) {
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t key = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    key = pfc_hash_mix(key, (uint64_t)(uintptr_t)mem);
    return pfc_hash_mix(key ^ (uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)system_resize);
}

void pfc_mem_init(pfc_mem *mem, const profconv_allocator *allocator, uint64_t limit) {
    memset(mem, 0, sizeof *mem);
    mem->limit = limit ? limit : UINT64_MAX;
    mem->key = make_key(mem);
    mem->budget = pfc_budget_of(allocator);
    if (pfc_allocator_copy(&mem->allocator, allocator, NULL)) {
        /* No way to say so from here: every request will fail, and pfc_mem_error tells why. */
        mem->failed = PROFCONV_E_INVALID;
        mem->limit = 0;
    }
    if (!mem->allocator.resize)
        mem->allocator.resize = system_resize;
}

/* Takes `size` from both bounds; 0 when it does not fit. */
static int take(pfc_mem *mem, uint64_t size) {
    if (mem->live <= mem->limit && size <= mem->limit - mem->live &&
        (!mem->budget || (size <= SIZE_MAX && pfc_budget_take(mem->budget, (size_t)size)))) {
        mem->live += size;
        return 1;
    }
    if (!mem->failed) {
        mem->failed = PROFCONV_E_LIMIT;
        mem->wanted = size;
    }
    return 0;
}

static void give(pfc_mem *mem, uint64_t size) {
    mem->live -= size;
    if (mem->budget)
        pfc_budget_give(mem->budget, (size_t)size);
}

void *pfc_resize(pfc_mem *mem, void *p, size_t old_size, size_t new_size) {
    if (!p && new_size == 0)
        return NULL;
    if (new_size > old_size && !take(mem, new_size - old_size))
        return NULL;
    const profconv_allocator *allocator = pfc_budget_base(&mem->allocator);
    void *block = allocator->resize(allocator->user, p, old_size, new_size);
    if (!block && new_size > 0) {
        if (new_size > old_size)
            give(mem, new_size - old_size);
        if (!mem->failed)
            mem->failed = PROFCONV_E_NOMEM;
        return NULL;
    }
    if (new_size < old_size)
        give(mem, old_size - new_size);
    if (mem->live > mem->peak)
        mem->peak = mem->live;
    return block;
}

int pfc_mem_charge(pfc_mem *mem, uint64_t size) {
    if (!take(mem, size))
        return mem->failed;
    if (mem->live > mem->peak)
        mem->peak = mem->live;
    return PROFCONV_OK;
}
void pfc_mem_discharge(pfc_mem *mem, uint64_t size) { give(mem, size); }

uint64_t pfc_mem_left(const pfc_mem *mem) {
    uint64_t left = mem->limit > mem->live ? mem->limit - mem->live : 0;
    if (mem->limit == UINT64_MAX)
        left = UINT64_MAX;
    if (mem->budget) {
        uint64_t live = pfc_budget_live(mem->budget), limit = pfc_budget_limit(mem->budget);
        uint64_t rest = limit > live ? limit - live : 0;
        if (rest < left)
            left = rest;
    }
    return left;
}

void *pfc_alloc(pfc_mem *mem, size_t size) { return pfc_resize(mem, NULL, 0, size); }

void *pfc_alloc_zero(pfc_mem *mem, size_t size) {
    void *p = pfc_alloc(mem, size);
    if (p)
        memset(p, 0, size);
    return p;
}

void pfc_free(pfc_mem *mem, void *p, size_t size) {
    if (p)
        (void)pfc_resize(mem, p, size, 0);
}

char *pfc_strdup(pfc_mem *mem, const char *text, size_t size) {
    if (size == SIZE_MAX) {
        if (!mem->failed)
            mem->failed = PROFCONV_E_NOMEM;
        return NULL;
    }
    char *copy = (char *)pfc_alloc(mem, size + 1);
    if (copy) {
        if (size)
            memcpy(copy, text, size);
        copy[size] = 0;
    }
    return copy;
}

int pfc_mem_error(const pfc_mem *mem, profconv_error *error) {
    switch (mem->failed) {
    case PROFCONV_E_LIMIT: {
        int shared = mem->budget && pfc_budget_limit(mem->budget) <= mem->limit;
        uint64_t limit = shared ? pfc_budget_limit(mem->budget) : mem->limit;
        uint64_t live = shared ? pfc_budget_live(mem->budget) : mem->live;
        return profconv_error_set(
            error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0,
            "max_memory of %llu bytes reached, %llu in use and %llu or more needed: raise it, or let "
            "stacks be shortened (on_limit=truncate)",
            (unsigned long long)limit, (unsigned long long)live, (unsigned long long)mem->wanted);
    }
    case PROFCONV_E_INVALID:
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "profconv_allocator: wrong struct_size, or resize is NULL");
    default:
        return profconv_error_set(error, PROFCONV_E_NOMEM, PROFCONV_NO_OFFSET, 0, "out of memory, %llu bytes in use",
                                  (unsigned long long)mem->live);
    }
}

int pfc_grow(pfc_mem *mem, void **data, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity)
        return PROFCONV_OK;
    size_t old = *capacity, most = SIZE_MAX / size;
    if (needed > most) {
        if (!mem->failed)
            mem->failed = PROFCONV_E_NOMEM;
        return mem->failed;
    }
    size_t wanted = old + old / 2;
    size_t least = size >= 16 ? 4 : 64 / size;
    if (wanted < least)
        wanted = least;
    if (wanted < needed)
        wanted = needed;
    /* Near the limit the spare room is given up before the request is; by halves, or growth would be row by row. */
    uint64_t left = pfc_mem_left(mem) / size;
    if (wanted > most || wanted - old > left)
        wanted = left / 2 > needed - old && left / 2 <= most - old ? old + (size_t)(left / 2) : needed;
    void *block = pfc_resize(mem, *data, old * size, wanted * size);
    if (!block)
        return mem->failed;
    *data = block;
    *capacity = wanted;
    return PROFCONV_OK;
}

struct pfc_arena_block {
    struct pfc_arena_block *next;
    size_t size; /* of the whole allocation, this header included */
    size_t used; /* from the start of the allocation */
};

#define PFC_ARENA_FIRST ((size_t)4 << 10)
#define PFC_ARENA_LARGEST ((size_t)1 << 20) /* of blocks made ahead of need; larger requests get what they ask for */

void pfc_arena_init(pfc_arena *arena, pfc_mem *mem) {
    arena->mem = mem;
    arena->head = NULL;
}

static void *arena_take(struct pfc_arena_block *block, size_t size, size_t align) {
    uintptr_t start = (uintptr_t)block + block->used;
    size_t pad = (size_t)(-start & (align - 1));
    size_t left = block->size - block->used;
    if (pad > left || size > left - pad)
        return NULL;
    block->used += pad + size;
    return (unsigned char *)block + (block->used - size);
}

void *pfc_arena_alloc(pfc_arena *arena, size_t size, size_t align) {
    void *p = arena->head ? arena_take(arena->head, size, align) : NULL;
    if (p)
        return p;
    size_t needed = sizeof(struct pfc_arena_block) + align;
    if (size > SIZE_MAX - needed) {
        if (!arena->mem->failed)
            arena->mem->failed = PROFCONV_E_NOMEM;
        return NULL;
    }
    needed += size;
    size_t wanted = arena->head ? arena->head->size * 2 : PFC_ARENA_FIRST;
    if (wanted > PFC_ARENA_LARGEST)
        wanted = PFC_ARENA_LARGEST;
    if (wanted < needed)
        wanted = needed;
    struct pfc_arena_block *block = (struct pfc_arena_block *)pfc_alloc(arena->mem, wanted);
    if (!block)
        return NULL;
    block->size = wanted;
    block->used = sizeof *block;
    block->next = arena->head;
    arena->head = block;
    return arena_take(block, size, align);
}

void pfc_arena_free(pfc_arena *arena) {
    while (arena->head) {
        struct pfc_arena_block *block = arena->head;
        arena->head = block->next;
        pfc_free(arena->mem, block, block->size);
    }
}

void pfc_arena_reset(pfc_arena *arena) {
    struct pfc_arena_block *kept = NULL, *block = arena->head;
    while (block) {
        struct pfc_arena_block *next = block->next;
        if (!kept || block->size > kept->size) {
            if (kept)
                pfc_free(arena->mem, kept, kept->size);
            kept = block;
        } else {
            pfc_free(arena->mem, block, block->size);
        }
        block = next;
    }
    arena->head = kept;
    if (kept) {
        kept->next = NULL;
        kept->used = sizeof *kept;
    }
}
