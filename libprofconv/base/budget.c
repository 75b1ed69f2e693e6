/* SPDX-License-Identifier: MIT
 *
 * See budget.h. The block of the budget itself is the first charge; its release takes that back.
 */
#include "libprofconv/base/budget.h"

#include <stdatomic.h>
#include <string.h>

struct pfc_budget {
    profconv_allocator base;
    uint64_t limit;
    atomic_size_t live;
    atomic_size_t peak;
};

static void *budget_resize(void *user, void *p, size_t old_size, size_t new_size) {
    pfc_budget *budget = (pfc_budget *)user;
    if (new_size > old_size && !pfc_budget_take(budget, new_size - old_size))
        return NULL;
    void *block = budget->base.resize(budget->base.user, p, old_size, new_size);
    if (!block && new_size > 0) {
        if (new_size > old_size)
            pfc_budget_give(budget, new_size - old_size);
        return NULL;
    }
    if (new_size < old_size)
        pfc_budget_give(budget, old_size - new_size);
    return block;
}

int pfc_budget_new(pfc_budget **out, const profconv_allocator *allocator, uint64_t limit, profconv_error *error) {
    *out = NULL;
    pfc_mem mem;
    pfc_mem_init(&mem, allocator, 0);
    pfc_allocator_bounded(&mem.allocator);
    if (limit < sizeof(pfc_budget))
        limit = sizeof(pfc_budget);
    pfc_budget *budget = (pfc_budget *)pfc_alloc_zero(&mem, sizeof *budget);
    if (!budget)
        return pfc_mem_error(&mem, error);
    budget->base = mem.allocator;
    budget->limit = limit;
    atomic_init(&budget->live, sizeof *budget);
    atomic_init(&budget->peak, sizeof *budget);
    *out = budget;
    return PROFCONV_OK;
}

void pfc_budget_release(pfc_budget *budget) {
    if (budget)
        pfc_budget_give(budget, sizeof *budget);
}

profconv_allocator pfc_budget_allocator(pfc_budget *budget) {
    profconv_allocator allocator = {sizeof allocator, budget_resize, budget};
    return allocator;
}

pfc_budget *pfc_budget_of(const profconv_allocator *allocator) {
    return allocator && allocator->resize == budget_resize ? (pfc_budget *)allocator->user : NULL;
}

const profconv_allocator *pfc_budget_base(const profconv_allocator *allocator) {
    const pfc_budget *budget = pfc_budget_of(allocator);
    return budget ? &budget->base : allocator;
}

int pfc_budget_take(pfc_budget *budget, size_t size) {
    size_t live = atomic_load_explicit(&budget->live, memory_order_relaxed);
    do {
        if (live > budget->limit || size > budget->limit - live)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(&budget->live, &live, live + size, memory_order_relaxed,
                                                    memory_order_relaxed));
    live += size;
    size_t peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
    while (peak < live && !atomic_compare_exchange_weak_explicit(&budget->peak, &peak, live, memory_order_relaxed,
                                                                 memory_order_relaxed))
        ;
    return 1;
}

void pfc_budget_give(pfc_budget *budget, size_t size) {
    /* Whoever takes the sum to zero was the last to know of the budget. */
    if (atomic_fetch_sub_explicit(&budget->live, size, memory_order_acq_rel) != size)
        return;
    profconv_allocator base = budget->base;
    (void)base.resize(base.user, budget, sizeof *budget, 0);
}

uint64_t pfc_budget_limit(const pfc_budget *budget) { return budget->limit; }
uint64_t pfc_budget_live(const pfc_budget *budget) {
    return atomic_load_explicit(&((pfc_budget *)(uintptr_t)budget)->live, memory_order_relaxed);
}
uint64_t pfc_budget_peak(const pfc_budget *budget) {
    return atomic_load_explicit(&((pfc_budget *)(uintptr_t)budget)->peak, memory_order_relaxed);
}

int pfc_mem_join(pfc_mem *mem, pfc_budget *budget, const char *what, profconv_error *error) {
    if (!budget || mem->budget)
        return PROFCONV_OK;
    if (!pfc_budget_take(budget, (size_t)mem->live))
        return profconv_error_set(error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0,
                                  "max_memory of %llu bytes reached, %llu in use: the buffers of the %s take %llu; raise "
                                  "it",
                                  (unsigned long long)budget->limit, (unsigned long long)pfc_budget_live(budget), what,
                                  (unsigned long long)mem->live);
    mem->budget = budget;
    return PROFCONV_OK;
}

void pfc_mem_leave(pfc_mem *mem, pfc_budget *budget) {
    if (!budget || mem->budget != budget || pfc_budget_of(&mem->allocator) == budget)
        return;
    mem->budget = NULL;
    pfc_budget_give(budget, (size_t)mem->live);
}
