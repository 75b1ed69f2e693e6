/* SPDX-License-Identifier: MIT
 *
 * The three maps of one binary. Several mapping rows can belong to it (segments, processes, hosts), and one place can
 * have several location rows (with and without lines), so keys are file offsets, sorted and added up.
 */
#include "libprofconv/pgo/maps.h"

#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/base/text.h"

/* The file offset of a location when it lies in the binary. */
static int offset_of(const pfc_model *model, const uint8_t *of_binary, profconv_id location, uint64_t *offset) {
    const profconv_location *row = &model->locations.data[location];
    if (row->mapping == 0 || !of_binary[row->mapping])
        return 0;
    const profconv_mapping *mapping = &model->mappings.data[row->mapping];
    *offset = row->address - mapping->start + mapping->file_offset;
    return 1;
}

/* Sorts rows by (first, second) with one stable merge over keys, then copies them into place. */
static int sort_rows(pfc_mem *mem, void *data, size_t count, size_t size, int two_keys) {
    if (count < 2)
        return 0;
    if (count > UINT32_MAX)
        return PROFCONV_E_LIMIT;
    size_t key_bytes = count * sizeof(pfc_key);
    size_t row_bytes = count * size;
    pfc_key *keys = pfc_alloc(mem, key_bytes);
    uint8_t *copy = pfc_alloc(mem, row_bytes);
    int status = keys && copy ? 0 : mem->failed;
    /* Two 64-bit keys: sort by the second first; the sort is stable. */
    for (int pass = two_keys ? 1 : 0; status == 0 && pass >= 0; pass--) {
        const uint8_t *rows = data;
        for (size_t i = 0; i < count; i++) {
            uint64_t key;
            memcpy(&key, rows + i * size + (size_t)pass * sizeof key, sizeof key);
            keys[i] = (pfc_key){key, (uint32_t)i, (uint32_t)i};
        }
        status = pfc_sort_keys(mem, keys, count);
        if (status)
            break;
        memcpy(copy, data, row_bytes);
        for (size_t i = 0; i < count; i++)
            memcpy((uint8_t *)data + i * size, copy + keys[i].id * size, size);
    }
    pfc_free(mem, keys, key_bytes);
    pfc_free(mem, copy, row_bytes);
    return status;
}

int pfc_code_maps_sort(pfc_mem *mem, pfc_code_maps *maps) {
    int status = sort_rows(mem, maps->ranges.data, maps->ranges.count, sizeof *maps->ranges.data, 1);
    if (!status)
        status = sort_rows(mem, maps->branches.data, maps->branches.count, sizeof *maps->branches.data, 1);
    if (!status)
        status = sort_rows(mem, maps->addresses.data, maps->addresses.count, sizeof *maps->addresses.data, 0);
    if (status)
        return status;
    size_t kept = 0;
    for (size_t i = 0; i < maps->ranges.count; i++) {
        const pfc_code_range row = maps->ranges.data[i];
        pfc_code_range *last = kept ? &maps->ranges.data[kept - 1] : NULL;
        if (last && last->begin == row.begin && last->end == row.end)
            last->count = pfc_add_sat(last->count, row.count);
        else
            maps->ranges.data[kept++] = row;
    }
    maps->ranges.count = kept;
    kept = 0;
    for (size_t i = 0; i < maps->branches.count; i++) {
        const pfc_code_branch row = maps->branches.data[i];
        pfc_code_branch *last = kept ? &maps->branches.data[kept - 1] : NULL;
        if (last && last->from == row.from && last->to == row.to)
            last->count = pfc_add_sat(last->count, row.count);
        else
            maps->branches.data[kept++] = row;
    }
    maps->branches.count = kept;
    kept = 0;
    for (size_t i = 0; i < maps->addresses.count; i++) {
        const pfc_code_address row = maps->addresses.data[i];
        pfc_code_address *last = kept ? &maps->addresses.data[kept - 1] : NULL;
        if (last && last->at == row.at)
            last->count = pfc_add_sat(last->count, row.count);
        else
            maps->addresses.data[kept++] = row;
    }
    maps->addresses.count = kept;
    return 0;
}

static int collect_branches(pfc_mem *mem, const pfc_model *model, const uint8_t *of_binary, pfc_code_maps *out) {
    for (size_t i = 0; i < model->ranges.count; i++) {
        const profconv_range *row = &model->ranges.data[i];
        pfc_code_range range = {0, 0, row->count};
        if (offset_of(model, of_binary, row->begin, &range.begin) &&
            offset_of(model, of_binary, row->end, &range.end) && PFC_VEC_PUSH(mem, &out->ranges, range))
            return mem->failed;
    }
    for (size_t i = 0; i < model->branches.count; i++) {
        const profconv_branch *row = &model->branches.data[i];
        pfc_code_branch branch = {0, 0, row->count};
        if (row->count == 0 || !offset_of(model, of_binary, row->to, &branch.to))
            continue;
        const pfc_code_address entry = {branch.to, row->count};
        if (offset_of(model, of_binary, row->from, &branch.from) ? PFC_VEC_PUSH(mem, &out->branches, branch)
                                                                 : PFC_VEC_PUSH(mem, &out->entries, entry))
            return mem->failed;
    }
    return 0;
}

/* The column that counts samples: the first with that role, else the first of all. */
static size_t count_column(const pfc_model *model) {
    for (size_t i = 0; i < model->sample_types.count; i++) {
        if (model->sample_types.data[i].role == PROFCONV_ROLE_COUNT)
            return i;
    }
    return 0;
}

static int collect_leaves(pfc_mem *mem, const pfc_model *model, const uint8_t *of_binary, pfc_code_maps *out) {
    if (model->sample_types.count == 0)
        return 0;
    const int64_t *values = model->values.data[count_column(model)].data;
    for (size_t i = 0; i < model->sample_stacks.count; i++) {
        profconv_id stack = model->sample_stacks.data[i];
        pfc_code_address address = {0, 0};
        if (stack == 0 || values[i] <= 0 ||
            !offset_of(model, of_binary, model->stacks.data[stack].location, &address.at))
            continue;
        address.count = (uint64_t)values[i];
        if (PFC_VEC_PUSH(mem, &out->addresses, address))
            return mem->failed;
    }
    return 0;
}

int pfc_code_maps_collect(pfc_mem *mem, const pfc_model *model, const uint8_t *of_binary, pfc_code_maps *out) {
    memset(out, 0, sizeof *out);
    out->branch_records = (uint64_t)model->ranges.count + model->branches.count;
    int status = collect_branches(mem, model, of_binary, out);
    for (size_t i = 0; status == 0 && i < model->addresses.count; i++) {
        const profconv_address *row = &model->addresses.data[i];
        pfc_code_address address = {0, row->count};
        if (offset_of(model, of_binary, row->location, &address.at))
            status = PFC_VEC_PUSH(mem, &out->addresses, address);
    }
    if (status == 0 && model->addresses.count == 0)
        status = collect_leaves(mem, model, of_binary, out);
    if (status == 0)
        status = pfc_code_maps_sort(mem, out);
    if (status)
        pfc_code_maps_free(mem, out);
    return status;
}

void pfc_code_maps_free(pfc_mem *mem, pfc_code_maps *maps) {
    PFC_VEC_FREE(mem, &maps->ranges);
    PFC_VEC_FREE(mem, &maps->branches);
    PFC_VEC_FREE(mem, &maps->addresses);
    PFC_VEC_FREE(mem, &maps->entries);
}
