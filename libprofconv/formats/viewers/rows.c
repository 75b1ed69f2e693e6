/* SPDX-License-Identifier: MIT
 *
 * Rows of a few numbers, each once: what tables of a file are made of.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

static uint64_t hash_cells(const uint32_t *cells, uint32_t width) {
    uint64_t hash = width;
    for (uint32_t i = 0; i < width; i++)
        hash = pfc_hash_mix(hash, cells[i]);
    return hash;
}

static uint64_t rehash(const void *user, uint32_t row) {
    const pfc_view_rows *rows = (const pfc_view_rows *)user;
    return hash_cells(pfc_view_row(rows, row), rows->width);
}

int pfc_view_rows_add(pfc_view_rows *rows, pfc_mem *mem, const uint32_t *cells, uint32_t *row) {
    uint64_t hash = hash_cells(cells, rows->width);
    pfc_probe probe = pfc_index_start(&rows->index, hash);
    while ((*row = pfc_index_next(&rows->index, &probe)) != 0) {
        if (memcmp(pfc_view_row(rows, *row), cells, rows->width * sizeof *cells) == 0)
            return 0;
    }
    if (rows->count >= INT32_MAX)
        return PROFCONV_E_LIMIT;
    int status = PFC_VEC_RESERVE(mem, &rows->cells, rows->cells.count + rows->width);
    if (status)
        return status;
    memcpy(rows->cells.data + rows->cells.count, cells, rows->width * sizeof *cells);
    rows->cells.count += rows->width;
    *row = ++rows->count;
    return pfc_index_insert(mem, &rows->index, hash, *row, rehash, rows);
}

void pfc_view_rows_free(pfc_view_rows *rows, pfc_mem *mem) {
    PFC_VEC_FREE(mem, &rows->cells);
    pfc_index_free(mem, &rows->index);
}
