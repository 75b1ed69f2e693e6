/* SPDX-License-Identifier: MIT
 *
 * Which symbols are functions, and which functions are selected. The rules are create_llvm_prof's: a symbol counts
 * when it has a size and is a function, or is a part of one that a compiler or a post-link optimizer split off; the
 * first symbol at an address names it; all parts of a function, by its name without suffixes, are selected together.
 */
#include "libprofconv/pgo/functions.h"

#include <string.h>

#include "libprofconv/base/text.h"

static int ends_with(const char *name, size_t size, const char *tail) {
    size_t length = strlen(tail);
    return size >= length && memcmp(name + size - length, tail, length) == 0;
}

/* ".__part.N" at the end: Propeller's parts of a function. */
static int is_part(const char *name, size_t size) {
    size_t digits = 0;
    while (digits < size && name[size - 1 - digits] >= '0' && name[size - 1 - digits] <= '9')
        digits++;
    return digits > 0 && ends_with(name, size - digits, ".__part.");
}

static int is_function(const pfc_symbol *symbol) {
    size_t size = strlen(symbol->name);
    if (symbol->size == 0 || ends_with(symbol->name, size, "@plt"))
        return 0;
    return symbol->function || ends_with(symbol->name, size, ".cold") || is_part(symbol->name, size);
}

/* ---- rows found by name ---- */

typedef struct name_row {
    const char *name;
    size_t size;
    uint64_t count;
    uint32_t function; /* the first of this name */
} name_row;

typedef struct name_table {
    PFC_VEC(name_row) rows; /* row 0 is unused */
    pfc_index index;
} name_table;

static uint64_t name_hash(const void *user, uint32_t row) {
    const name_row *r = &((const name_table *)user)->rows.data[row];
    return pfc_hash_bytes(r->name, r->size);
}

static uint32_t name_find(const name_table *table, const char *name, size_t size, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&table->index, hash);
    for (uint32_t row; (row = pfc_index_next(&table->index, &probe)) != 0;) {
        const name_row *r = &table->rows.data[row];
        if (r->size == size && memcmp(r->name, name, size) == 0)
            return row;
    }
    return 0;
}

/* 0 on failure. */
static uint32_t name_add(pfc_mem *mem, name_table *table, const char *name, size_t size, uint32_t function) {
    uint64_t hash = pfc_hash_bytes(name, size);
    uint32_t row = name_find(table, name, size, hash);
    if (row)
        return row;
    const name_row none = {"", 0, 0, 0};
    const name_row added = {name, size, 0, function};
    if (table->rows.count == 0 && PFC_VEC_PUSH(mem, &table->rows, none))
        return 0;
    row = (uint32_t)table->rows.count;
    if (PFC_VEC_PUSH(mem, &table->rows, added) || pfc_index_insert(mem, &table->index, hash, row, name_hash, table))
        return 0;
    return row;
}

static void name_free(pfc_mem *mem, name_table *table) {
    PFC_VEC_FREE(mem, &table->rows);
    pfc_index_free(mem, &table->index);
}

/* ---- loading ---- */

static int share_names(pfc_mem *mem, pfc_functions *out) {
    name_table names = {0};
    int status = 0;
    for (size_t i = 0; status == 0 && i < out->rows.count; i++) {
        pfc_function *function = &out->rows.data[i];
        uint32_t row = name_add(mem, &names, function->name, strlen(function->name), (uint32_t)i);
        if (row == 0)
            status = mem->failed;
        else
            function->canonical = names.rows.data[row].function;
    }
    name_free(mem, &names);
    return status;
}

int pfc_functions_load(pfc_mem *mem, pfc_binary *binary, const pfc_select_rules *rules, pfc_functions *out) {
    const pfc_symbol *symbols;
    size_t count;
    memset(out, 0, sizeof *out);
    int status = pfc_binary_symbols(binary, &symbols, &count);
    for (size_t i = 0; status == 0 && i < count; i++) {
        const pfc_symbol *symbol = &symbols[i];
        if (!is_function(symbol))
            continue;
        pfc_function *last = out->rows.count ? &out->rows.data[out->rows.count - 1] : NULL;
        if (last && last->start == symbol->address) {
            /* An alias; the same name in .symtab and .dynsym is none. */
            int known = strcmp(last->name, symbol->name) == 0;
            for (uint32_t k = 0; !known && k < last->alias_count; k++)
                known = strcmp(out->aliases.data[last->first_alias + k], symbol->name) == 0;
            if (known)
                continue;
            if (PFC_VEC_PUSH(mem, &out->aliases, symbol->name))
                status = mem->failed;
            last->alias_count++;
            continue;
        }
        pfc_function row = {.start = symbol->address,
                            .limit = symbol->address + symbol->size,
                            .name = symbol->name,
                            .first_alias = (uint32_t)out->aliases.count,
                            .canonical = (uint32_t)out->rows.count};
        if (PFC_VEC_PUSH(mem, &out->rows, row))
            status = mem->failed;
    }
    if (status == 0 && rules->share_names)
        status = share_names(mem, out);
    if (status)
        pfc_functions_free(mem, out);
    return status;
}

void pfc_functions_free(pfc_mem *mem, pfc_functions *functions) {
    PFC_VEC_FREE(mem, &functions->rows);
    PFC_VEC_FREE(mem, &functions->aliases);
}

/* ---- looking up ---- */

/* The last row that starts at or before address, or PFC_NO_FUNCTION. */
static uint32_t last_before(const pfc_functions *functions, uint64_t address) {
    size_t low = 0;
    size_t high = functions->rows.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions->rows.data[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? (uint32_t)(low - 1) : PFC_NO_FUNCTION;
}

uint32_t pfc_function_at(const pfc_functions *functions, uint64_t address, uint32_t *hint) {
    uint32_t at = *hint;
    if (at >= functions->rows.count || functions->rows.data[at].start > address ||
        (at + 1 < functions->rows.count && functions->rows.data[at + 1].start <= address))
        at = last_before(functions, address);
    if (at == PFC_NO_FUNCTION)
        return at;
    *hint = at;
    return address < functions->rows.data[at].limit ? at : PFC_NO_FUNCTION;
}

uint32_t pfc_function_starting(const pfc_functions *functions, uint64_t address) {
    uint32_t at = last_before(functions, address);
    return at != PFC_NO_FUNCTION && functions->rows.data[at].start == address ? at : PFC_NO_FUNCTION;
}

/* ---- selecting ---- */

static uint64_t range_weight(const pfc_code_range *range) {
    return pfc_mul_sat(range->count, 1 + range->end - range->begin);
}

static uint64_t aggregate(const pfc_code_maps *maps, pfc_functions *functions, int use_ranges) {
    uint64_t total = 0;
    uint32_t hint = 0;
    for (size_t i = 0; use_ranges && i < maps->ranges.count; i++) {
        const pfc_code_range *range = &maps->ranges.data[i];
        uint64_t weight = range_weight(range);
        uint32_t at = pfc_function_at(functions, range->begin, &hint);
        total = pfc_add_sat(total, weight);
        if (at == PFC_NO_FUNCTION)
            continue;
        pfc_function *function = &functions->rows.data[functions->rows.data[at].canonical];
        function->has_ranges = 1;
        function->aggregated = pfc_add_sat(function->aggregated, weight);
    }
    uint64_t address_total = 0;
    hint = 0;
    for (size_t i = 0; i < maps->addresses.count; i++) {
        const pfc_code_address *address = &maps->addresses.data[i];
        uint32_t at = pfc_function_at(functions, address->at, &hint);
        address_total = pfc_add_sat(address_total, address->count);
        if (at == PFC_NO_FUNCTION)
            continue;
        pfc_function *function = &functions->rows.data[functions->rows.data[at].canonical];
        if (!function->has_ranges)
            function->aggregated = pfc_add_sat(function->aggregated, address->count);
    }
    return use_ranges && maps->ranges.count ? total : address_total;
}

/* Calls are looked at together with the code around them. */
static int counts_calls(const pfc_function *function, int use_ranges) {
    return function->selected && (function->has_ranges || !use_ranges);
}

uint32_t pfc_function_called(const pfc_functions *functions, const pfc_select_rules *rules, uint64_t to) {
    uint32_t at = pfc_function_starting(functions, to);
    if (at == PFC_NO_FUNCTION || !functions->rows.data[functions->rows.data[at].canonical].selected)
        return PFC_NO_FUNCTION;
    return !rules->parts_are_called && pfc_is_split_part(functions->rows.data[at].name) ? PFC_NO_FUNCTION : at;
}

static void count_head(const pfc_select_rules *rules, pfc_functions *functions, uint64_t to, uint64_t count) {
    uint32_t at = pfc_function_called(functions, rules, to);
    if (at == PFC_NO_FUNCTION)
        return;
    pfc_function *callee = &functions->rows.data[functions->rows.data[at].canonical];
    callee->head = pfc_add_sat(callee->head, count);
}

static void count_heads(const pfc_code_maps *maps, const pfc_select_rules *rules, pfc_functions *functions) {
    uint32_t hint = 0;
    for (size_t i = 0; i < maps->branches.count; i++) {
        const pfc_code_branch *branch = &maps->branches.data[i];
        uint32_t from = pfc_function_at(functions, branch->from, &hint);
        if (rules->all_entries ||
            (from != PFC_NO_FUNCTION && counts_calls(&functions->rows.data[from], rules->use_ranges)))
            count_head(rules, functions, branch->to, branch->count);
    }
    for (size_t i = 0; rules->all_entries && i < maps->entries.count; i++)
        count_head(rules, functions, maps->entries.data[i].at, maps->entries.data[i].count);
}

int pfc_functions_select(pfc_mem *mem, const pfc_select_rules *rules, const pfc_code_maps *maps,
                         pfc_functions *functions, uint64_t *threshold, uint64_t *best) {
    uint64_t total = aggregate(maps, functions, rules->use_ranges);
    double share = (double)total * rules->fraction;
    *threshold = rules->minimum;
    if (share > (double)rules->minimum)
        *threshold = share < 1.8e19 ? (uint64_t)share : UINT64_MAX;
    *best = 0;

    name_table groups = {0};
    size_t longest = 1;
    for (size_t i = 0; i < functions->rows.count; i++) {
        size_t size = strlen(functions->rows.data[i].name);
        longest = size > longest ? size : longest;
    }
    /* Names without suffixes of the functions that have counts; they live as long as the groups. */
    pfc_arena names;
    pfc_arena_init(&names, mem);
    char *stripped = pfc_alloc(mem, longest);
    int status = stripped ? 0 : mem->failed;
    for (size_t i = 0; status == 0 && i < functions->rows.count; i++) {
        const pfc_function *function = &functions->rows.data[i];
        if (function->aggregated == 0)
            continue;
        size_t size = pfc_strip_suffixes(rules->suffixes, function->name, strlen(function->name), stripped);
        char *name = pfc_arena_alloc(&names, size ? size : 1, 1);
        if (name)
            memcpy(name, stripped, size);
        uint32_t group = name ? name_add(mem, &groups, name, size, 0) : 0;
        if (group == 0) {
            status = mem->failed;
            break;
        }
        name_row *row = &groups.rows.data[group];
        row->count = pfc_add_sat(row->count, function->aggregated);
        *best = row->count > *best ? row->count : *best;
    }
    for (size_t i = 0; status == 0 && i < functions->rows.count; i++) {
        pfc_function *function = &functions->rows.data[i];
        size_t size = pfc_strip_suffixes(rules->suffixes, function->name, strlen(function->name), stripped);
        uint32_t group = name_find(&groups, stripped, size, pfc_hash_bytes(stripped, size));
        function->selected = function->canonical == i && group != 0 && groups.rows.data[group].count > *threshold;
    }
    if (status == 0)
        count_heads(maps, rules, functions);
    pfc_free(mem, stripped, longest);
    name_free(mem, &groups);
    pfc_arena_free(&names);
    return status;
}
