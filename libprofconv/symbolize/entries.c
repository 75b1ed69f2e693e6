/* SPDX-License-Identifier: MIT
 *
 * The functions around addresses, by the symbols of the file: for targets that name code by symbol and offset. Local
 * symbols share names, so each says the how-manieth of its name it is, by address, as BOLT counts them.
 */
#include <string.h>

#include "libprofconv/symbolize/pass.h"

typedef struct locals {
    const pfc_symbol *symbols;
    size_t symbol_count;
    pfc_key *keys; /* of local symbols: hash of the name; in order of address among equal ones */
    size_t count, capacity;
} locals;

static uint64_t hash_name(const char *name) { return pfc_hash_bytes(name, strlen(name)); }

static int locals_init(locals *l, pfc_run *run, pfc_binary *binary) {
    size_t count = 0;
    int status = pfc_binary_symbols(binary, &l->symbols, &count);
    if (status || count == 0)
        return status;
    l->symbol_count = count;
    l->capacity = count;
    l->keys = pfc_alloc(run->mem, count * sizeof *l->keys);
    if (!l->keys)
        return run->mem->failed;
    for (size_t i = 0; i < count && i < UINT32_MAX; i++) {
        pfc_key key = {hash_name(l->symbols[i].name), 0, (uint32_t)i};
        if (l->symbols[i].bind == PFC_SYMBOL_LOCAL)
            l->keys[l->count++] = key;
    }
    return pfc_sort_keys(run->mem, l->keys, l->count);
}

/* From 1; 0 for a symbol that is not local. */
static uint32_t ordinal_of(const locals *l, const pfc_symbol *symbol) {
    uint64_t hash = hash_name(symbol->name);
    size_t low = 0, high = l->count;
    uint32_t n = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->keys[middle].key < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; symbol->bind == PFC_SYMBOL_LOCAL && low < l->count && l->keys[low].key == hash; low++) {
        const pfc_symbol *other = &l->symbols[l->keys[low].id];
        n += strcmp(other->name, symbol->name) == 0;
        if (other == symbol)
            return n;
    }
    return 0;
}

/* One without a size goes on to the next symbol of its section. */
static uint64_t size_of(const locals *l, const pfc_symbol *symbol) {
    uint64_t end = symbol->limit;
    if (symbol->size)
        return symbol->size;
    for (const pfc_symbol *s = symbol + 1; s < l->symbols + l->symbol_count; s++)
        if (s->address > symbol->address) {
            end = s->address < end ? s->address : end;
            break;
        }
    return end > symbol->address ? end - symbol->address : 0;
}

int pfc_run_entries(pfc_run *run, pfc_binary *binary, const pfc_key *keys, size_t count) {
    locals l = {0};
    const pfc_symbol *last = NULL;
    profconv_id last_mapping = 0;
    int status = locals_init(&l, run, binary);
    for (size_t i = 0; !status && i < count; i++) {
        const profconv_location *location = &run->model->locations.data[keys[i].id];
        const pfc_symbol *symbol = pfc_binary_symbol(binary, keys[i].key, NULL);
        if (!symbol || !symbol->function || (symbol == last && location->mapping == last_mapping))
            continue;
        profconv_entry row = {.address = location->address - (keys[i].key - symbol->address),
                              .size = size_of(&l, symbol),
                              .mapping = location->mapping,
                              .ordinal = ordinal_of(&l, symbol)};
        row.name = profconv_builder_cstring(run->builder, symbol->name);
        profconv_builder_entry(run->builder, &row);
        last = symbol;
        last_mapping = row.mapping;
        status = profconv_builder_status(run->builder, run->error);
    }
    pfc_free(run->mem, l.keys, l.keys ? l.capacity * sizeof *l.keys : 0);
    return status;
}
