/* SPDX-License-Identifier: MIT
 *
 * From an address to the unit, the function, the inlined calls and the row of the line table around it.
 *
 * Units are found by the ranges of their first DIE, which costs one DIE a unit and works where .debug_aranges is
 * missing or partial (clang writes none); the aranges are asked only when no unit claims an address. DIEs below the
 * first one are read only in units that are hit.
 */
#include "libprofconv/symbolize/dwarf.h"

#include <dwarf.h>
#include <string.h>

#include "libprofconv/base/sort.h"

static int compare_extents(const void *user, uint32_t a, uint32_t b) {
    const pfc_extent *x = (const pfc_extent *)user + a, *y = (const pfc_extent *)user + b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1; /* outer ones first */
    if (x->high != y->high)
        return x->high > y->high ? -1 : 1;
    return a < b ? -1 : a > b;
}

int pfc_extent_index_sort(pfc_mem *mem, pfc_extent_index *index) {
    size_t count = index->rows.count;
    pfc_free(mem, index->reach, index->reach_count * sizeof *index->reach);
    index->reach = NULL;
    index->reach_count = 0;
    if (count == 0)
        return 0;
    if (count > UINT32_MAX)
        return PROFCONV_E_LIMIT;
    uint32_t *order = pfc_alloc(mem, count * sizeof *order);
    pfc_extent *sorted = pfc_alloc(mem, count * sizeof *sorted);
    index->reach = pfc_alloc(mem, count * sizeof *index->reach);
    int status = order && sorted && index->reach ? 0 : mem->failed;
    if (index->reach)
        index->reach_count = count;
    if (!status) {
        for (size_t i = 0; i < count; i++)
            order[i] = (uint32_t)i;
        status = pfc_sort_ids(mem, order, count, compare_extents, index->rows.data);
    }
    if (!status) {
        uint64_t reach = 0;
        for (size_t i = 0; i < count; i++) {
            sorted[i] = index->rows.data[order[i]];
            reach = sorted[i].high > reach ? sorted[i].high : reach;
            index->reach[i] = reach;
        }
        memcpy(index->rows.data, sorted, count * sizeof *sorted);
    }
    pfc_free(mem, order, count * sizeof *order);
    pfc_free(mem, sorted, count * sizeof *sorted);
    return status;
}

const pfc_extent *pfc_extent_index_find(const pfc_extent_index *index, uint64_t address, size_t *before) {
    const pfc_extent *rows = index->rows.data;
    if (index->reach_count == 0)
        return NULL;
    size_t at = *before;
    if (at == SIZE_MAX) {
        size_t low = 0, high = index->reach_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (rows[middle].low <= address)
                low = middle + 1;
            else
                high = middle;
        }
        at = low;
    }
    while (at > 0 && index->reach[at - 1] > address) {
        at--;
        if (rows[at].high > address) {
            *before = at;
            return &rows[at];
        }
    }
    *before = 0;
    return NULL;
}

/* What an index says of `address` holds up to the end of the row that was found, or up to where another row starts. */
static void bound_by(pfc_dwarf *dwarf, const pfc_extent_index *index, uint64_t address, const pfc_extent *found) {
    size_t low = 0, high = index->reach_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->rows.data[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < index->reach_count && index->rows.data[low].low < dwarf->until)
        dwarf->until = index->rows.data[low].low;
    if (found && found->high < dwarf->until)
        dwarf->until = found->high;
}

void pfc_extent_index_free(pfc_mem *mem, pfc_extent_index *index) {
    pfc_free(mem, index->reach, index->reach_count * sizeof *index->reach);
    index->reach = NULL;
    index->reach_count = 0;
    PFC_VEC_FREE(mem, &index->rows);
}

static uint64_t path_hash(const char *file, const char *directory) {
    return pfc_hash_mix((uint64_t)(uintptr_t)file, (uint64_t)(uintptr_t)directory);
}

static uint64_t path_rehash(const void *user, uint32_t row) {
    const struct pfc_path_row *rows = user;
    return path_hash(rows[row - 1].file, rows[row - 1].directory);
}

/* Names are compared by address: libdw gives each file of a unit one string. */
const char *pfc_dwarf_join(pfc_dwarf *dwarf, const char *directory, const char *file) {
    if (file[0] == '/' || file[0] == 0 || file[0] == '<' || !directory || directory[0] == 0)
        return file;
    uint64_t hash = path_hash(file, directory);
    if (dwarf->path_index.size) {
        pfc_probe probe = pfc_index_start(&dwarf->path_index, hash);
        for (uint32_t row; (row = pfc_index_next(&dwarf->path_index, &probe)) != 0;)
            if (dwarf->path_rows.data[row - 1].file == file && dwarf->path_rows.data[row - 1].directory == directory)
                return dwarf->path_rows.data[row - 1].joined;
    }
    struct pfc_path_row row = {file, directory, NULL};
    while (file[0] == '.' && file[1] == '/')
        file += 2;
    size_t n = strlen(directory), m = strlen(file);
    char *joined = pfc_arena_alloc(&dwarf->paths, n + m + 2, 1);
    if (!joined)
        return file;
    memcpy(joined, directory, n);
    size_t slash = directory[n - 1] != '/';
    if (slash)
        joined[n] = '/';
    memcpy(joined + n + slash, file, m + 1);
    row.joined = joined;
    if (PFC_VEC_PUSH(dwarf->mem, &dwarf->path_rows, row) == 0)
        (void)pfc_index_insert(dwarf->mem, &dwarf->path_index, hash, (uint32_t)dwarf->path_rows.count, path_rehash,
                               dwarf->path_rows.data);
    return joined;
}

const char *pfc_dwarf_path(pfc_dwarf *dwarf, const pfc_unit *unit, const char *file) {
    return file ? pfc_dwarf_join(dwarf, unit->directory, file) : "";
}

/* Code that the linker dropped keeps ranges at 0, 1 or the highest addresses; those lie in no executable segment. */
int pfc_dwarf_is_code(const pfc_dwarf *dwarf, uint64_t address) {
    const pfc_image *image = dwarf->binary->runtime;
    if (image->relocatable || image->segment_count == 0)
        return 1;
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].executable && address - image->segments[i].vaddr < image->segments[i].memory_size)
            return 1;
    return 0;
}

int pfc_dwarf_ranges(pfc_dwarf *dwarf, Dwarf_Die *die, pfc_extents *out, uint32_t id, uint32_t depth) {
    ptrdiff_t at = 0;
    Dwarf_Addr base = 0, low = 0, high = 0;
    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        pfc_extent extent = {low, high, id, depth};
        if (low < high && pfc_dwarf_is_code(dwarf, low) && PFC_VEC_PUSH(dwarf->mem, out, extent))
            return dwarf->mem->failed;
    }
    return 0;
}

static int read_units(pfc_dwarf *dwarf) {
    Dwarf_CU *cu = NULL;
    Dwarf_Half version = 0;
    uint8_t type = 0;
    pfc_unit unit;
    memset(&unit, 0, sizeof unit);
    while (dwarf_get_units(dwarf->dwarf, cu, &cu, &version, &type, &unit.die, NULL) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        unit.cu = cu;
        unit.root = unit.die;
        unit.ranges_base = 0;
        if (type == DW_UT_skeleton && version < 5) {
            Dwarf_Attribute attribute;
            Dwarf_Word base = 0;
            if (dwarf_formudata(dwarf_attr(&unit.die, DW_AT_GNU_ranges_base, &attribute), &base) == 0)
                unit.ranges_base = base;
        }
        if (PFC_VEC_PUSH(dwarf->mem, &dwarf->units, unit))
            return dwarf->mem->failed;
        int status = pfc_dwarf_ranges(dwarf, &unit.die, &dwarf->by_address.rows, (uint32_t)dwarf->units.count - 1, 0);
        if (status)
            return status;
    }
    return pfc_extent_index_sort(dwarf->mem, &dwarf->by_address);
}

int pfc_dwarf_open(pfc_dwarf **out, pfc_binary *binary, Dwarf *file) {
    *out = NULL;
    pfc_dwarf *dwarf = pfc_alloc_zero(binary->mem, sizeof *dwarf);
    if (!dwarf)
        return binary->mem->failed;
    dwarf->mem = binary->mem;
    dwarf->binary = binary;
    dwarf->dwarf = file;
    pfc_arena_init(&dwarf->paths, binary->mem);
    int status = read_units(dwarf);
    if (status) {
        pfc_dwarf_close(dwarf);
        return status;
    }
    *out = dwarf;
    return 0;
}

void pfc_dwarf_close(pfc_dwarf *dwarf) {
    if (!dwarf)
        return;
    for (size_t i = 0; i < dwarf->units.count; i++)
        pfc_unit_free(dwarf, &dwarf->units.data[i]);
    PFC_VEC_FREE(dwarf->mem, &dwarf->units);
    pfc_extent_index_free(dwarf->mem, &dwarf->by_address);
    pfc_index_free(dwarf->mem, &dwarf->path_index);
    PFC_VEC_FREE(dwarf->mem, &dwarf->path_rows);
    pfc_arena_free(&dwarf->paths);
    pfc_free(dwarf->mem, dwarf, sizeof *dwarf);
}

/* The function of `unit` around vaddr: the one that starts last, which is the inner one where functions nest. */
static int find_function(pfc_dwarf *dwarf, pfc_unit *unit, uint64_t vaddr, pfc_function **out, uint64_t *low) {
    *out = NULL;
    for (int deep = 0; deep < 2; deep++) {
        int status = pfc_unit_read_functions(dwarf, unit, deep);
        if (status)
            return status;
        size_t before = SIZE_MAX;
        const pfc_extent *extent = pfc_extent_index_find(&unit->by_address, vaddr, &before);
        bound_by(dwarf, &unit->by_address, vaddr, extent);
        if (extent) {
            *out = &unit->functions.data[extent->id];
            *low = extent->low;
            return 0;
        }
    }
    return 0;
}

static void frame_of_line(pfc_dwarf *dwarf, pfc_unit *unit, const pfc_line_row *row, pfc_frame *frame) {
    frame->file = pfc_unit_line_file(dwarf, unit, row->file);
    frame->line = row->line;
    frame->column = row->column;
    frame->discriminator = row->discriminator;
}

static void frame_of_facts(const pfc_function_facts *facts, pfc_frame *frame) {
    frame->linkage_name = frame->dwarf_name = facts->linkage_name;
    frame->name = facts->name;
    frame->decl_file = facts->decl_file;
    frame->decl_line = facts->decl_line;
}

static uint32_t innermost_call(pfc_dwarf *dwarf, const pfc_function *function, uint64_t vaddr) {
    size_t low = 0, high = function->marks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (function->marks.data[middle].address <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < function->marks.count && function->marks.data[low].address < dwarf->until)
        dwarf->until = function->marks.data[low].address;
    return low ? function->marks.data[low - 1].call : 0;
}

/* Where the caller of an inlined call stands. */
static void frame_of_call(pfc_dwarf *dwarf, pfc_unit *unit, pfc_call *call, pfc_frame *frame) {
    pfc_call_read(dwarf, unit, call);
    frame->file = call->call_file;
    frame->line = call->call_line;
    frame->column = call->call_column;
    frame->discriminator = call->discriminator;
}

static const pfc_frame no_frame = {"", "", "", "", "", 0, 0, 0, 0};

static int function_frames(pfc_dwarf *dwarf, pfc_unit *unit, pfc_function *function, uint64_t vaddr, int flags,
                           pfc_frame *frames, size_t max, size_t *count) {
    const pfc_line_row *line = pfc_unit_line(dwarf, unit, vaddr);
    uint32_t call = 0;
    if (!(flags & PFC_FRAMES_NO_INLINE)) {
        int status = pfc_function_read_calls(dwarf, unit, function);
        if (status)
            return status;
        call = innermost_call(dwarf, function, vaddr);
    }
    /* Deeper than there is room for: the inner frames are left out. */
    size_t depth = 1;
    for (uint32_t c = call; c; c = function->calls.data[c].parent)
        depth++;
    pfc_frame place = no_frame; /* file, line, column and discriminator of the frame to be made */
    if (line)
        frame_of_line(dwarf, unit, line, &place);
    size_t n = 0;
    for (; call; call = function->calls.data[call].parent, depth--) {
        pfc_call *row = &function->calls.data[call];
        if (depth <= max) {
            pfc_function_facts_read(dwarf, unit, &row->die, &row->facts);
            frames[n] = place;
            frame_of_facts(&row->facts, &frames[n++]);
        }
        frame_of_call(dwarf, unit, row, &place);
    }
    pfc_function_facts_read(dwarf, unit, &function->die, &function->facts);
    frames[n] = place;
    frame_of_facts(&function->facts, &frames[n++]);
    *count = n;
    return 0;
}

/* The unit that .debug_aranges names, for units whose first DIE says nothing of addresses. */
static pfc_unit *unit_by_aranges(pfc_dwarf *dwarf, uint64_t vaddr) {
    if (!dwarf->aranges_tried) {
        dwarf->aranges_tried = 1;
        if (dwarf_getaranges(dwarf->dwarf, &dwarf->aranges, NULL) != 0)
            dwarf->aranges = NULL;
    }
    Dwarf_Arange *arange = dwarf->aranges ? dwarf_getarange_addr(dwarf->aranges, vaddr) : NULL;
    Dwarf_Off offset = 0;
    if (!arange || dwarf_getarangeinfo(arange, NULL, NULL, &offset) != 0)
        return NULL;
    for (size_t i = 0; i < dwarf->units.count; i++)
        if (dwarf_dieoffset(&dwarf->units.data[i].die) == offset)
            return &dwarf->units.data[i];
    return NULL;
}

int pfc_dwarf_frames(pfc_dwarf *dwarf, uint64_t vaddr, int flags, pfc_frame *frames, size_t max, size_t *count,
                     uint64_t *function_low) {
    *count = 0;
    *function_low = UINT64_MAX;
    dwarf->until = UINT64_MAX;
    if (max == 0)
        return 0;
    pfc_unit *with_line = NULL;
    size_t before = SIZE_MAX;
    const pfc_extent *extent = pfc_extent_index_find(&dwarf->by_address, vaddr, &before);
    bound_by(dwarf, &dwarf->by_address, vaddr, extent);
    if (!extent)
        dwarf->until = vaddr + 1; /* the aranges are asked again for each */
    pfc_unit *unit = extent ? &dwarf->units.data[extent->id] : unit_by_aranges(dwarf, vaddr);
    while (unit) {
        pfc_function *function = NULL;
        int status = find_function(dwarf, unit, vaddr, &function, function_low);
        if (status)
            return status;
        if (function)
            return function_frames(dwarf, unit, function, vaddr, flags, frames, max, count);
        if (!with_line && pfc_unit_line(dwarf, unit, vaddr))
            with_line = unit;
        extent = extent ? pfc_extent_index_find(&dwarf->by_address, vaddr, &before) : NULL;
        if (extent && extent->high < dwarf->until)
            dwarf->until = extent->high;
        unit = extent ? &dwarf->units.data[extent->id] : NULL;
    }
    if (with_line) { /* assembly: lines without functions */
        frames[0] = no_frame;
        frame_of_line(dwarf, with_line, pfc_unit_line(dwarf, with_line, vaddr), &frames[0]);
        *count = 1;
    }
    return 0;
}

uint64_t pfc_dwarf_until(const pfc_dwarf *dwarf) { return dwarf->until; }
