/* SPDX-License-Identifier: MIT
 *
 * The functions around addresses, by the symbols of the file and its PLT: for targets that name code by function and
 * offset.
 */
#include <stdlib.h>
#include <string.h>

#include "libprofconv/symbolize/entries.h"
#include "libprofconv/symbolize/pass.h"

/* Stubs come after a function at their address, and then are not met. */
static int compare_entries(const void *x, const void *y) {
    const pfc_entry *a = (const pfc_entry *)x, *b = (const pfc_entry *)y;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static const pfc_entry *entry_at(const pfc_entries *entries, uint64_t vaddr) {
    size_t low = 0, high = entries->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries->data[middle].address <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const pfc_entry *e = &entries->data[low - 1];
    while (e > entries->data && e[-1].address == e->address)
        e--;
    return vaddr - e->address < e->size ? e : NULL;
}

static profconv_id name_of(pfc_run *run, const pfc_entry *e) {
    pfc_buf text;
    pfc_buf_init(&text, run->mem);
    if (e->kind == PFC_ENTRY_PLT)
        pfc_buf_text(&text, "__BOLT_PSEUDO_");
    pfc_buf_text(&text, e->name);
    if (e->kind == PFC_ENTRY_STUB)
        pfc_buf_text(&text, "@PLT");
    profconv_id id = text.failed ? 0 : profconv_builder_string(run->builder, text.data, text.size);
    pfc_buf_free(&text);
    return id;
}

static int add_entries(pfc_run *run, const pfc_entries *entries, const pfc_locals *locals, const pfc_key *keys,
                       size_t count) {
    const pfc_entry *last = NULL;
    profconv_id last_mapping = 0;
    int status = 0;
    for (size_t i = 0; !status && i < count; i++) {
        const profconv_location *location = &run->model->locations.data[keys[i].id];
        const pfc_entry *e = entry_at(entries, keys[i].key);
        if (!e || (e == last && location->mapping == last_mapping))
            continue;
        profconv_entry row = {.address = location->address - (keys[i].key - e->address),
                              .size = e->size,
                              .mapping = location->mapping,
                              .ordinal = e->local ? pfc_entry_ordinal(locals, e) : 0};
        row.name = name_of(run, e);
        if (run->mem->failed)
            return run->mem->failed;
        profconv_builder_entry(run->builder, &row);
        last = e;
        last_mapping = row.mapping;
        status = profconv_builder_status(run->builder, run->error);
    }
    return status;
}

/* Leaves the executable segments, in hexadecimal, in an attribute: writers know file offsets only. */
static int add_segments(pfc_run *run, pfc_binary *binary, const profconv_location *location) {
    const profconv_mapping *m = &run->model->mappings.data[location->mapping];
    profconv_string id = profconv_builder_get_string(run->builder, m->build_id ? m->build_id : m->file);
    size_t count = 0;
    const pfc_segment *segments = pfc_binary_segments(binary, &count);
    pfc_buf key, value;
    pfc_buf_init(&key, run->mem);
    pfc_buf_init(&value, run->mem);
    pfc_buf_text(&key, "segments:");
    pfc_buf_add(&key, id.data, id.size);
    pfc_buf_char(&key, 0);
    for (size_t i = 0; i < count; i++) {
        const uint64_t parts[3] = {segments[i].offset, segments[i].file_size, segments[i].vaddr};
        for (int k = 0; k < 3 && segments[i].executable; k++) {
            if (value.size)
                pfc_buf_char(&value, ' ');
            pfc_buf_hex(&value, parts[k]);
        }
    }
    int status = key.failed ? key.failed : value.failed;
    if (!status && value.size)
        profconv_builder_attribute(run->builder, key.data, value.data, value.size);
    pfc_buf_free(&key);
    pfc_buf_free(&value);
    return status ? status : profconv_builder_status(run->builder, run->error);
}

int pfc_run_entries(pfc_run *run, pfc_binary *binary, const pfc_key *keys, size_t count) {
    pfc_entries entries = {NULL, 0, 0};
    pfc_locals locals = {NULL, 0, 0};
    int status = pfc_entry_functions(&entries, run->mem, binary);
    if (!status)
        status = pfc_entry_stubs(&entries, run->mem, binary);
    if (!status)
        status = pfc_entry_locals(&locals, run->mem, binary);
    if (!status && entries.count) {
        qsort(entries.data, entries.count, sizeof *entries.data, compare_entries);
        status = add_entries(run, &entries, &locals, keys, count);
    }
    if (!status && count)
        status = add_segments(run, binary, &run->model->locations.data[keys[0].id]);
    PFC_VEC_FREE(run->mem, &entries);
    PFC_VEC_FREE(run->mem, &locals);
    return status;
}
