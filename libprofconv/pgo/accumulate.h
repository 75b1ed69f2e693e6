/* SPDX-License-Identifier: MIT
 *
 * From counts of addresses to counts of source positions, function by function.
 */
#ifndef PFC_PGO_ACCUMULATE_H
#define PFC_PGO_ACCUMULATE_H

#include "libprofconv/pgo/functions.h"
#include "libprofconv/pgo/tree.h"

/* How a DWARF discriminator becomes part of a position. */
typedef enum pfc_discriminators {
    PFC_DISCRIMINATORS_BASE = 0, /* LLVM: the base component; counts are multiplied by the duplication factor */
    PFC_DISCRIMINATORS_RAW,      /* GCC: as it is */
    PFC_DISCRIMINATORS_FS        /* LLVM's flow-sensitive discriminators: as it is */
} pfc_discriminators;

/* What becomes of code inlined through a function whose start line is not known (glue that compilers make, generic
 * lambdas): that function's offsets cannot be told. */
typedef enum pfc_broken_stacks {
    PFC_BROKEN_DROP = 0, /* the position is left out; the functions around it keep the count in their totals */
    PFC_BROKEN_ATTACH,   /* it is put into the last function that was reached, as if it were code of its own */
    PFC_BROKEN_GUESS     /* the function is taken to start at the line of the call in it */
} pfc_broken_stacks;

typedef struct pfc_accumulate_rules {
    pfc_select_rules select;
    pfc_discriminators discriminators;
    int sum_targets; /* call targets of one position add up; else the branch with the highest address wins */
    pfc_broken_stacks broken_stacks;
    int sum_addresses; /* counts of addresses add up at a position; else the largest counts */
} pfc_accumulate_rules;

typedef struct pfc_accumulate_result {
    uint64_t functions;     /* that were selected */
    uint64_t emitted;       /* and got source positions */
    uint64_t without_lines; /* selected, but with no source position at all */
    uint64_t threshold;
    uint64_t best; /* largest counts under one name */
} pfc_accumulate_result;

/* Adds the source counts of one binary to the builder. `maps` are in its addresses. 0 or a status. */
int pfc_accumulate(profconv_builder *builder, pfc_binary *binary, const pfc_code_maps *maps,
                   const pfc_accumulate_rules *rules, int (*tick)(void *user, uint64_t done, uint64_t total),
                   void *tick_user, pfc_accumulate_result *result);

#endif
