/* SPDX-License-Identifier: MIT
 *
 * Sorts the rows of a profile as GCC's readers expect them: strings bytewise, everything else by position or name.
 */
#include "libprofconv/formats/gcc-afdo/order.h"

#include <string.h>

static uint32_t *alloc_ids(pfc_mem *mem, size_t count) {
    return (uint32_t *)pfc_alloc_zero(mem, count * sizeof(uint32_t)); /* count is a row count: the product fits */
}

static int compare_names(const void *user, uint32_t a, uint32_t b) {
    const profconv_profile *profile = ((const pfc_gcc_order *)user)->profile;
    profconv_string x = profconv_profile_string(profile, a), y = profconv_profile_string(profile, b);
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order ? order : x.size < y.size ? -1 : x.size > y.size;
}

static void use_name(pfc_gcc_order *o, profconv_id name) {
    if (!o->index[name]) {
        o->index[name] = 1;
        o->names[o->name_count++] = name;
    }
}

static int collect_names(pfc_gcc_order *o) {
    const profconv_profile *p = o->profile;
    o->string_rows = profconv_profile_rows(p, PROFCONV_TABLE_STRING);
    o->names = alloc_ids(o->mem, o->string_rows);
    o->index = alloc_ids(o->mem, o->string_rows);
    if (!o->names || !o->index)
        return o->mem->failed;
    use_name(o, 0);
    for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i < n; i++)
        use_name(o, profconv_profile_source(p, i)->name);
    for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); i < n; i++)
        use_name(o, profconv_profile_source_target(p, i)->name);
    int status = pfc_sort_ids(o->mem, o->names, o->name_count, compare_names, o);
    for (uint32_t i = 0; i < o->name_count; i++)
        o->index[o->names[i]] = i;
    return status;
}

typedef struct pfc_owned_key {
    uint32_t owner;
    pfc_key key;
} pfc_owned_key;

static pfc_owned_key position_key(const pfc_gcc_order *o, uint32_t id) {
    const profconv_source_body *row = profconv_profile_source_body(o->profile, id);
    pfc_owned_key k = {row->source, {(uint64_t)row->line << 32 | row->discriminator, 0, id}};
    return k;
}

/* Functions have no position, whatever their row says. */
static pfc_owned_key call_key(const pfc_gcc_order *o, uint32_t id) {
    const profconv_source *row = profconv_profile_source(o->profile, id);
    pfc_owned_key k = {row->parent, {(uint64_t)row->line << 32 | row->discriminator, o->index[row->name], id}};
    if (row->parent == 0)
        k.key.key = 0;
    return k;
}

static pfc_owned_key target_key(const pfc_gcc_order *o, uint32_t id) {
    const profconv_source_target *row = profconv_profile_source_target(o->profile, id);
    pfc_owned_key k = {row->body, {o->index[row->name], 0, id}};
    return k;
}

static void group(const pfc_gcc_order *o, pfc_gcc_runs *runs, uint32_t rows,
                  pfc_owned_key (*key)(const pfc_gcc_order *, uint32_t)) {
    uint32_t at = 0;
    for (uint32_t i = 0; i <= runs->owners; i++) { /* from counts to starts */
        uint32_t n = runs->first[i];
        runs->first[i] = at;
        at += n;
    }
    for (uint32_t i = 1; i < rows; i++)
        runs->ids[runs->first[key(o, i).owner]++] = i;
    for (uint32_t i = runs->owners; i > 0; i--) /* each start has moved to its run's end */
        runs->first[i] = runs->first[i - 1];
    runs->first[0] = 0;
}

static int make_runs(pfc_gcc_order *o, pfc_gcc_runs *runs, uint32_t rows, uint32_t owners,
                     pfc_owned_key (*key)(const pfc_gcc_order *, uint32_t)) {
    uint32_t longest = 1;
    runs->owners = owners;
    runs->count = rows;
    runs->first = alloc_ids(o->mem, (size_t)owners + 1);
    runs->ids = alloc_ids(o->mem, (size_t)rows + 1);
    if (!runs->first || !runs->ids)
        return o->mem->failed;
    for (uint32_t i = 1; i < rows; i++) {
        uint32_t n = ++runs->first[key(o, i).owner];
        longest = n > longest ? n : longest;
    }
    pfc_key *scratch = (pfc_key *)pfc_alloc(o->mem, (size_t)longest * sizeof *scratch);
    if (!scratch)
        return o->mem->failed;
    group(o, runs, rows, key);
    int status = PROFCONV_OK;
    for (uint32_t i = 0; status == PROFCONV_OK && i < owners; i++) {
        uint32_t *ids = runs->ids + runs->first[i], n = runs->first[i + 1] - runs->first[i];
        for (uint32_t k = 0; k < n; k++)
            scratch[k] = key(o, ids[k]).key;
        status = pfc_sort_keys(o->mem, scratch, n);
        for (uint32_t k = 0; k < n; k++)
            ids[k] = scratch[k].id;
    }
    pfc_free(o->mem, scratch, (size_t)longest * sizeof *scratch);
    return status;
}

int pfc_gcc_order_make(pfc_gcc_order *o, pfc_mem *mem, const profconv_profile *profile) {
    memset(o, 0, sizeof *o);
    o->mem = mem;
    o->profile = profile;
    uint32_t sources = profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE);
    uint32_t bodies = profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE_BODY);
    uint32_t targets = profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE_TARGET);
    int status = collect_names(o);
    if (status == PROFCONV_OK)
        status = make_runs(o, &o->positions, bodies, sources, position_key);
    if (status == PROFCONV_OK)
        status = make_runs(o, &o->calls, sources, sources, call_key);
    if (status == PROFCONV_OK)
        status = make_runs(o, &o->targets, targets, bodies, target_key);
    return status;
}

static void free_runs(pfc_mem *mem, pfc_gcc_runs *runs) {
    if (runs->first)
        pfc_free(mem, runs->first, ((size_t)runs->owners + 1) * sizeof(uint32_t));
    if (runs->ids)
        pfc_free(mem, runs->ids, ((size_t)runs->count + 1) * sizeof(uint32_t));
}

void pfc_gcc_order_free(pfc_gcc_order *o) {
    if (!o->mem)
        return;
    free_runs(o->mem, &o->positions);
    free_runs(o->mem, &o->calls);
    free_runs(o->mem, &o->targets);
    if (o->names)
        pfc_free(o->mem, o->names, o->string_rows * sizeof(uint32_t));
    if (o->index)
        pfc_free(o->mem, o->index, o->string_rows * sizeof(uint32_t));
    memset(o, 0, sizeof *o);
}
