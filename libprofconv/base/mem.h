/* SPDX-License-Identifier: MIT
 *
 * Allocation with exact accounting and a bound. Every allocation of the library goes through a pfc_mem; each
 * builder (and the profile it becomes) owns one, inputs, outputs and registries have their own. What several of them may hold
 * together is a pfc_budget's to say (budget.h).
 */
#ifndef PFC_BASE_MEM_H
#define PFC_BASE_MEM_H

#include <profconv/base.h>

typedef struct pfc_budget pfc_budget;

typedef struct pfc_mem {
    profconv_allocator allocator;
    pfc_budget *budget; /* charged too, or NULL */
    uint64_t limit;     /* bytes; UINT64_MAX: none */
    uint64_t live;
    uint64_t peak;
    uint64_t wanted;    /* bytes more that the refused request would have taken */
    uint64_t key;       /* secret of the hashes of what is held here (hash.h) */
    int failed;         /* 0, or the status of the first failed request (PROFCONV_E_NOMEM or _LIMIT) */
} pfc_mem;

/* allocator NULL: the library's own (blocks.h); limit 0: none. */
void pfc_mem_init(pfc_mem *mem, const profconv_allocator *allocator, uint64_t limit);
/* Where it is the library's own: the one for what is bounded, which gives freed memory back at once. Blocks of the two do not
 * mix. */
void pfc_allocator_bounded(profconv_allocator *allocator);
/* As profconv_allocator.resize. NULL for new_size > 0 means failure; mem->failed says which. */
void *pfc_resize(pfc_mem *mem, void *p, size_t old_size, size_t new_size);
void *pfc_alloc(pfc_mem *mem, size_t size);
void *pfc_alloc_zero(pfc_mem *mem, size_t size);
void pfc_free(pfc_mem *mem, void *p, size_t size);
/* NUL-terminated copy of size bytes; free with size + 1. */
char *pfc_strdup(pfc_mem *mem, const char *text, size_t size);
/* Bytes that the bounds still allow; UINT64_MAX where there is none. */
uint64_t pfc_mem_left(const pfc_mem *mem);
/* Counts bytes that others hold for us (elfutils, a file in memory): 0 or a status, as an allocation. */
int pfc_mem_charge(pfc_mem *mem, uint64_t size);
void pfc_mem_discharge(pfc_mem *mem, uint64_t size);
/* Fills error from mem->failed (NOMEM when none) and returns that status. */
int pfc_mem_error(const pfc_mem *mem, profconv_error *error);

/* Growth for arrays: makes *capacity >= needed elements of `size` bytes; geometric; checked. 0 on success, else a
 * status. */
int pfc_grow(pfc_mem *mem, void **data, size_t *capacity, size_t needed, size_t size);

/* A typed growable array: PFC_VEC(uint32_t) v = {0}; PFC_VEC_PUSH(mem, &v, x) is 0 or a status. */
#define PFC_VEC(T)       \
    struct {             \
        T *data;         \
        size_t count;    \
        size_t capacity; \
    }
#define PFC_VEC_RESERVE(mem, v, n)         \
    ((size_t)(n) <= (v)->capacity ? 0      \
                                  : pfc_grow((mem), (void **)(void *)&(v)->data, &(v)->capacity, (n), sizeof *(v)->data))
#define PFC_VEC_PUSH(mem, v, x) \
    (PFC_VEC_RESERVE(mem, v, (v)->count + 1) ? (mem)->failed : ((v)->data[(v)->count++] = (x), 0))
#define PFC_VEC_FREE(mem, v)                                                        \
    do {                                                                            \
        pfc_free((mem), (v)->data, (v)->capacity * sizeof *(v)->data);              \
        (v)->data = NULL;                                                           \
        (v)->count = (v)->capacity = 0;                                             \
    } while (0)

/* Blocks freed all at once. */
typedef struct pfc_arena {
    pfc_mem *mem;
    struct pfc_arena_block *head;
} pfc_arena;
void pfc_arena_init(pfc_arena *arena, pfc_mem *mem);
void *pfc_arena_alloc(pfc_arena *arena, size_t size, size_t align);
void pfc_arena_free(pfc_arena *arena);
/* Keeps the largest block for reuse. */
void pfc_arena_reset(pfc_arena *arena);

#endif
