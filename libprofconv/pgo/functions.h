/* SPDX-License-Identifier: MIT
 *
 * The functions of a binary as profiles see them: symbols that start code, aliases set aside, and which of them
 * have enough counts to be worth a profile.
 */
#ifndef PFC_PGO_FUNCTIONS_H
#define PFC_PGO_FUNCTIONS_H

#include "libprofconv/base/hash.h"
#include "libprofconv/pgo/maps.h"
#include "libprofconv/pgo/names.h"
#include "libprofconv/symbolize/binary.h"

#define PFC_NO_FUNCTION UINT32_MAX

typedef struct pfc_function {
    uint64_t start, limit; /* addresses; limit is one past the end */
    uint64_t aggregated;   /* counts that decide whether it is selected */
    uint64_t head;         /* calls from selected functions */
    const char *name;      /* of the first symbol at `start` */
    uint32_t first_alias;  /* run in pfc_functions.aliases */
    uint32_t alias_count;
    uint32_t canonical; /* with shared names: the function whose extent stands for all of this name; else itself */
    uint8_t has_ranges;
    uint8_t selected;
} pfc_function;

typedef struct pfc_functions {
    PFC_VEC(pfc_function) rows; /* by start */
    PFC_VEC(const char *) aliases;
} pfc_functions;

typedef struct pfc_select_rules {
    uint64_t minimum; /* a function needs more than this, 10 in create_llvm_prof */
    double fraction;  /* of all counts; the larger bound holds */
    pfc_suffix_policy suffixes;
    int share_names;      /* functions of one name share the extent of the first, as create_llvm_prof does */
    int use_ranges;       /* zero: addresses only */
    int all_entries;      /* branches from anywhere enter a function; else those from selected functions */
    int parts_are_called; /* branches into a split-off part count as calls */
} pfc_select_rules;

/* Reads the symbols. 0 or a status. */
int pfc_functions_load(pfc_mem *mem, pfc_binary *binary, const pfc_select_rules *rules, pfc_functions *out);
void pfc_functions_free(pfc_mem *mem, pfc_functions *functions);
/* The function around `address`, or PFC_NO_FUNCTION. *hint is where to look first, for rising addresses. */
uint32_t pfc_function_at(const pfc_functions *functions, uint64_t address, uint32_t *hint);
/* The function that starts exactly there, or PFC_NO_FUNCTION. */
uint32_t pfc_function_starting(const pfc_functions *functions, uint64_t address);
/* The selected function that a branch to `to` calls, or PFC_NO_FUNCTION. After the selection. */
uint32_t pfc_function_called(const pfc_functions *functions, const pfc_select_rules *rules, uint64_t to);
/* Fills aggregated, selected and head from maps in addresses of the binary; *threshold gets the bound that was used,
 * *best the largest group of counts under one name. 0 or a status. */
int pfc_functions_select(pfc_mem *mem, const pfc_select_rules *rules, const pfc_code_maps *maps,
                         pfc_functions *functions, uint64_t *threshold, uint64_t *best);

#endif
