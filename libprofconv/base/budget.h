/* SPDX-License-Identifier: MIT
 *
 * One bound for all that a conversion holds: profile, reader, passes, writer and the buffers of input and output.
 *
 * A budget is an allocator. Whoever is given it (profconv_builder_allocator, profconv_profile_allocator) is charged
 * without knowing, and a pfc_mem that is made with it tells a request that the budget refused from one that the system
 * did. What was made earlier and outside (inputs, outputs) joins for a time.
 *
 * A budget lives as long as bytes are charged to it: it has no owner once the objects made with it have gone their own
 * ways. Those may be used by several threads, so the sum is atomic.
 */
#ifndef PFC_BASE_BUDGET_H
#define PFC_BASE_BUDGET_H

#include "libprofconv/base/mem.h"

/* `allocator` NULL: malloc. The caller holds the budget until pfc_budget_release. */
int pfc_budget_new(pfc_budget **out, const profconv_allocator *allocator, uint64_t limit, profconv_error *error);
void pfc_budget_release(pfc_budget *budget);
/* What objects are made with. */
profconv_allocator pfc_budget_allocator(pfc_budget *budget);
/* The budget behind an allocator, or NULL. */
pfc_budget *pfc_budget_of(const profconv_allocator *allocator);
/* The allocator under a budget; the one given where there is none. For what must not be refused. */
const profconv_allocator *pfc_budget_base(const profconv_allocator *allocator);

/* Charges: 0 when it does not fit. Giving back the last byte of a released budget frees it. */
int pfc_budget_take(pfc_budget *budget, size_t size);
void pfc_budget_give(pfc_budget *budget, size_t size);
uint64_t pfc_budget_limit(const pfc_budget *budget);
uint64_t pfc_budget_live(const pfc_budget *budget);
uint64_t pfc_budget_peak(const pfc_budget *budget);

/* What `mem` holds, and will hold until it leaves, counts. `budget` NULL: nothing happens. */
int pfc_mem_join(pfc_mem *mem, pfc_budget *budget, const char *what, profconv_error *error);
void pfc_mem_leave(pfc_mem *mem, pfc_budget *budget);

#endif
