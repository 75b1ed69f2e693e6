/* SPDX-License-Identifier: MIT
 *
 * Bottom-up merges for keyed rows and for ids, a radix sort for plain numbers.
 */
#include "libprofconv/base/sort.h"

#include <string.h>

/* Runs of this many elements are sorted by insertion before the merges start. */
#define RUN 16

static int key_less(const pfc_key *a, const pfc_key *b) { return a->key != b->key ? a->key < b->key : a->tie < b->tie; }

static void insert_keys(pfc_key *rows, size_t count) {
    for (size_t i = 1; i < count; i++) {
        pfc_key row = rows[i];
        size_t at = i;
        for (; at > 0 && key_less(&row, &rows[at - 1]); at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

static void merge_keys(const pfc_key *from, pfc_key *to, size_t begin, size_t middle, size_t end) {
    size_t a = begin, b = middle;
    for (size_t at = begin; at < end; at++)
        to[at] = a < middle && (b >= end || !key_less(&from[b], &from[a])) ? from[a++] : from[b++];
}

int pfc_sort_keys(pfc_mem *mem, pfc_key *rows, size_t count) {
    size_t sorted = 1;
    while (sorted < count && !key_less(&rows[sorted], &rows[sorted - 1]))
        sorted++;
    if (sorted >= count)
        return PROFCONV_OK;
    for (size_t at = 0; at < count; at += RUN)
        insert_keys(rows + at, count - at < RUN ? count - at : RUN);
    if (count <= RUN)
        return PROFCONV_OK;
    pfc_key *scratch = (pfc_key *)pfc_alloc(mem, count * sizeof *scratch); /* as many as `rows`: the product fits */
    if (!scratch)
        return mem->failed;
    pfc_key *from = rows, *to = scratch;
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t middle = count - at < width ? count : at + width;
            size_t end = count - at < 2 * width ? count : at + 2 * width;
            merge_keys(from, to, at, middle, end);
        }
        pfc_key *other = from;
        from = to;
        to = other;
    }
    if (from != rows)
        memcpy(rows, from, count * sizeof *rows);
    pfc_free(mem, scratch, count * sizeof *scratch);
    return PROFCONV_OK;
}

int pfc_sort_ids(pfc_mem *mem, uint32_t *ids, size_t count, int (*compare)(const void *user, uint32_t a, uint32_t b),
                 const void *user) {
    size_t sorted = 1;
    while (sorted < count && compare(user, ids[sorted - 1], ids[sorted]) <= 0)
        sorted++;
    if (sorted >= count)
        return PROFCONV_OK;
    uint32_t *scratch = (uint32_t *)pfc_alloc(mem, count * sizeof *scratch);
    if (!scratch)
        return mem->failed;
    uint32_t *from = ids, *to = scratch;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t middle = count - begin < width ? count : begin + width;
            size_t end = count - begin < 2 * width ? count : begin + 2 * width;
            size_t a = begin, b = middle;
            for (size_t at = begin; at < end; at++)
                to[at] = a < middle && (b >= end || compare(user, from[a], from[b]) <= 0) ? from[a++] : from[b++];
        }
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (from != ids)
        memcpy(ids, from, count * sizeof *ids);
    pfc_free(mem, scratch, count * sizeof *scratch);
    return PROFCONV_OK;
}

int pfc_sort_u64(pfc_mem *mem, uint64_t *values, size_t count) {
    uint64_t any = 0; /* bits in which values differ: bytes that are equal everywhere need no pass */
    for (size_t i = 1; i < count; i++)
        any |= values[i] ^ values[0];
    if (!any)
        return PROFCONV_OK;
    uint64_t *scratch = (uint64_t *)pfc_alloc(mem, count * sizeof *scratch);
    if (!scratch)
        return mem->failed;
    uint64_t *from = values, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(any >> shift & 0xff))
            continue;
        size_t starts[257] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(from[i] >> shift & 0xff) + 1]++;
        for (unsigned i = 1; i < 257; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < count; i++)
            to[starts[from[i] >> shift & 0xff]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
    pfc_free(mem, scratch, count * sizeof *scratch);
    return PROFCONV_OK;
}
