/* SPDX-License-Identifier: MIT
 *
 * The functions of a unit by address, and for a function that is hit, its tree of inlined calls flattened into marks,
 * so that the innermost call around an address is one binary search. No recursion: trees are walked with explicit
 * stacks.
 */
#include "libprofconv/symbolize/dwarf.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136 /* on inlined calls, by LLVM and GCC; not in the dwarf.h of elfutils */
#endif
#define MAX_NESTING 4096 /* of DIEs inside one function; deeper ones are left out */

typedef PFC_VEC(Dwarf_Die) die_stack;

/* DIEs that hold functions. Types hold declarations only, in what gcc, clang and rustc write: they are looked into when
 * deep. */
static int is_container(int tag, int deep) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
        return 1;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_lexical_block:
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
        return deep;
    default:
        return 0;
    }
}

static int add_function(pfc_dwarf *dwarf, pfc_unit *unit, Dwarf_Die *die) {
    size_t before = unit->by_address.rows.count;
    int status = pfc_dwarf_ranges(dwarf, die, &unit->by_address.rows, (uint32_t)unit->functions.count, 0);
    if (status || unit->by_address.rows.count == before)
        return status;
    pfc_function function;
    memset(&function, 0, sizeof function);
    function.die = *die;
    return PFC_VEC_PUSH(dwarf->mem, &unit->functions, function);
}

static void drop_functions(pfc_dwarf *dwarf, pfc_unit *unit) {
    for (size_t i = 0; i < unit->functions.count; i++) {
        PFC_VEC_FREE(dwarf->mem, &unit->functions.data[i].calls);
        PFC_VEC_FREE(dwarf->mem, &unit->functions.data[i].marks);
    }
    PFC_VEC_FREE(dwarf->mem, &unit->functions);
    pfc_extent_index_free(dwarf->mem, &unit->by_address);
}

/*
 * Bytes of DIEs that may be passed over in a unit, all walks together. In a sound file each walk passes each byte a few
 * times, once for each level around it; a damaged DW_AT_sibling that points among a DIE's children, or nesting without
 * end, would make walks take exponential or square time.
 */
static void make_budget(pfc_unit *unit) {
    Dwarf_Off start = dwarf_dieoffset(&unit->root) - dwarf_cuoffset(&unit->root), next = 0;
    size_t header = 0;
    unit->end = NULL;
    unit->budget = 0;
    if (dwarf_nextcu(dwarf_cu_getdwarf(unit->root.cu), start, &next, &header, NULL, NULL, NULL) != 0 || next <= start)
        return;
    unit->end = (const char *)unit->root.addr - dwarf_cuoffset(&unit->root) + (next - start);
    unit->budget = (next - start) * 256;
}

/* As dwarf_siblingof(die, die), within the budget. */
static int next_sibling(pfc_unit *unit, Dwarf_Die *die) {
    Dwarf_Die next;
    int status = dwarf_siblingof(die, &next);
    const char *from = die->addr, *to = next.addr ? next.addr : unit->end;
    uint64_t passed = from && to > from ? (uint64_t)(to - from) : 1;
    if (passed > unit->budget) {
        unit->budget = 0;
        return -1;
    }
    unit->budget -= passed;
    if (status == 0)
        *die = next;
    return status;
}

static int walk(pfc_dwarf *dwarf, pfc_unit *unit, int deep) {
    die_stack stack = {0};
    int status = PFC_VEC_PUSH(dwarf->mem, &stack, unit->root);
    while (!status && stack.count) {
        Dwarf_Die parent = stack.data[--stack.count], die;
        if (dwarf_child(&parent, &die) != 0)
            continue;
        do {
            int tag = dwarf_tag(&die);
            if (tag == DW_TAG_subprogram)
                status = add_function(dwarf, unit, &die);
            if (!status && is_container(tag, deep) && dwarf_haschildren(&die))
                status = PFC_VEC_PUSH(dwarf->mem, &stack, die);
        } while (!status && next_sibling(unit, &die) == 0);
    }
    PFC_VEC_FREE(dwarf->mem, &stack);
    return status;
}

/* libdw opens .dwo files itself, and would wait for a pipe. */
static int is_safe(const char *directory, const char *file, pfc_buf *path) {
    struct stat st;
    pfc_buf_clear(path);
    if (file[0] != '/') {
        pfc_buf_text(path, directory ? directory : "");
        pfc_buf_char(path, '/');
    }
    pfc_buf_text(path, file);
    return !path->failed && (stat(path->data, &st) != 0 || S_ISREG(st.st_mode));
}

static int may_open_split(pfc_dwarf *dwarf, pfc_unit *unit) {
    Dwarf_Attribute attribute;
    const char *file = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_dwo_name, &attribute));
    if (!file)
        file = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_GNU_dwo_name, &attribute));
    if (!file)
        return 0;
    const pfc_image *image = dwarf->binary->debug ? dwarf->binary->debug : dwarf->binary->runtime;
    char real[PATH_MAX];
    char *slash = realpath(image->path, real) ? strrchr(real, '/') : NULL;
    if (slash)
        *slash = 0;
    pfc_buf path;
    pfc_buf_init(&path, dwarf->mem);
    int safe = is_safe(slash ? real : NULL, file, &path) && is_safe(unit->directory, file, &path);
    pfc_buf_free(&path);
    return safe;
}

/* A skeleton's functions are in its split unit: in a package, or in a .dwo file of its own. */
static void find_root(pfc_dwarf *dwarf, pfc_unit *unit) {
    uint8_t type = 0;
    if (dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 || type != DW_UT_skeleton ||
        pfc_package_unit(dwarf, unit) == 0 || !may_open_split(dwarf, unit))
        return;
    Dwarf_Die split;
    memset(&split, 0, sizeof split);
    if (dwarf_cu_info(unit->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
        unit->root = split;
}

int pfc_unit_read_functions(pfc_dwarf *dwarf, pfc_unit *unit, int deep) {
    if (deep ? unit->deep_read : unit->functions_read)
        return 0;
    if (!unit->functions_read) {
        Dwarf_Attribute attribute;
        unit->directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
        find_root(dwarf, unit);
        make_budget(unit);
        if (!unit->directory)
            unit->directory = dwarf_formstring(dwarf_attr(&unit->root, DW_AT_comp_dir, &attribute));
    }
    unit->functions_read = 1;
    unit->deep_read = deep;
    drop_functions(dwarf, unit);
    int status = walk(dwarf, unit, deep);
    return status ? status : pfc_extent_index_sort(dwarf->mem, &unit->by_address);
}

void pfc_unit_free(pfc_dwarf *dwarf, pfc_unit *unit) {
    drop_functions(dwarf, unit);
    pfc_line_table_free(dwarf->mem, &unit->lines);
    if (unit->owned)
        dwarf_end(unit->owned);
    if (unit->owned_elf)
        elf_end(unit->owned_elf);
    if (unit->owned)
        pfc_buf_free(&unit->owned_image);
}

typedef struct {
    Dwarf_Die die; /* the next one to look at; it and what follows it are siblings */
    uint32_t parent;
    uint32_t depth; /* of calls */
} walk_level;

static int add_call(pfc_dwarf *dwarf, pfc_function *function, pfc_extents *extents, walk_level *level) {
    pfc_call call;
    memset(&call, 0, sizeof call);
    call.die = level->die;
    call.parent = level->parent;
    int status = PFC_VEC_PUSH(dwarf->mem, &function->calls, call);
    return status
               ? status
               : pfc_dwarf_ranges(dwarf, &level->die, extents, (uint32_t)function->calls.count - 1, level->depth + 1);
}

static int collect_calls(pfc_dwarf *dwarf, pfc_unit *unit, pfc_function *function, pfc_extents *extents) {
    PFC_VEC(walk_level) stack = {0};
    walk_level level = {.parent = 0, .depth = 0};
    int status = 0;
    if (dwarf_child(&function->die, &level.die) == 0)
        status = PFC_VEC_PUSH(dwarf->mem, &stack, level);
    while (!status && stack.count) {
        walk_level *top = &stack.data[stack.count - 1];
        walk_level here = *top;
        if (next_sibling(unit, &top->die) != 0)
            stack.count--;
        int tag = dwarf_tag(&here.die);
        int call = tag == DW_TAG_inlined_subroutine;
        if (!call && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block && tag != DW_TAG_catch_block &&
            tag != DW_TAG_with_stmt && tag != DW_TAG_common_block)
            continue;
        if (call)
            status = add_call(dwarf, function, extents, &here);
        walk_level below = {.parent = call ? (uint32_t)function->calls.count - 1 : here.parent,
                            .depth = here.depth + (call ? 1u : 0u)};
        if (!status && stack.count < MAX_NESTING && dwarf_child(&here.die, &below.die) == 0)
            status = PFC_VEC_PUSH(dwarf->mem, &stack, below);
    }
    PFC_VEC_FREE(dwarf->mem, &stack);
    return status;
}

static int mark(pfc_dwarf *dwarf, pfc_function *function, uint64_t address, uint32_t call) {
    size_t count = function->marks.count;
    if (count && function->marks.data[count - 1].address == address) {
        function->marks.data[count - 1].call = call;
        return 0;
    }
    pfc_mark row = {address, call, 0};
    return PFC_VEC_PUSH(dwarf->mem, &function->marks, row);
}

/* Sweeps over the sorted extents with a stack of those that are open. Extents that overlap without nesting (which
 * should not be) resolve to the one that starts last. */
static int make_marks(pfc_dwarf *dwarf, pfc_function *function, const pfc_extents *extents) {
    PFC_VEC(pfc_extent) open = {0};
    int status = 0;
    for (size_t i = 0; !status && i <= extents->count; i++) {
        uint64_t next = i < extents->count ? extents->data[i].low : UINT64_MAX;
        while (!status && open.count && open.data[open.count - 1].high <= next) {
            uint64_t end = open.data[--open.count].high;
            while (open.count && open.data[open.count - 1].high <= end)
                open.count--;
            status = mark(dwarf, function, end, open.count ? open.data[open.count - 1].id : 0);
        }
        if (!status && i < extents->count) {
            status = mark(dwarf, function, extents->data[i].low, extents->data[i].id);
            if (!status)
                status = PFC_VEC_PUSH(dwarf->mem, &open, extents->data[i]);
        }
    }
    PFC_VEC_FREE(dwarf->mem, &open);
    return status;
}

int pfc_function_read_calls(pfc_dwarf *dwarf, pfc_unit *unit, pfc_function *function) {
    if (function->calls_read)
        return 0;
    function->calls_read = 1;
    pfc_call none;
    memset(&none, 0, sizeof none);
    pfc_extent_index index;
    memset(&index, 0, sizeof index);
    int status = PFC_VEC_PUSH(dwarf->mem, &function->calls, none);
    if (!status)
        status = collect_calls(dwarf, unit, function, &index.rows);
    if (!status)
        status = pfc_extent_index_sort(dwarf->mem, &index);
    if (!status)
        status = make_marks(dwarf, function, &index.rows);
    pfc_extent_index_free(dwarf->mem, &index);
    return status;
}

static const char *string_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static uint32_t number_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

/* The files of the unit that `cu` is; those of the skeleton where a split unit has none of its own. */
static Dwarf_Files *files_of(pfc_unit *unit, Dwarf_CU *cu, size_t *count) {
    Dwarf_Die die;
    Dwarf_Files *files = NULL;
    if (dwarf_cu_info(cu, NULL, NULL, &die, NULL, NULL, NULL, NULL) == 0 && dwarf_getsrcfiles(&die, &files, count) == 0)
        return files;
    if (cu == unit->root.cu && unit->root.cu != unit->die.cu && dwarf_getsrcfiles(&unit->die, &files, count) == 0)
        return files;
    return NULL;
}

/* A file number as an attribute has it. Not dwarf_decl_file, which in elfutils 0.188 fails an assertion for split
 * units. */
static const char *file_attribute(pfc_dwarf *dwarf, pfc_unit *unit, Dwarf_Die *die, unsigned name, int integrate) {
    Dwarf_Attribute attribute;
    Dwarf_Word index = 0;
    if (!(integrate ? dwarf_attr_integrate(die, name, &attribute) : dwarf_attr(die, name, &attribute)) ||
        dwarf_formudata(&attribute, &index) != 0)
        return "";
    if (attribute.cu == unit->die.cu)
        return pfc_unit_line_file(dwarf, unit, index);
    size_t count = 0;
    Dwarf_Files *files = files_of(unit, attribute.cu, &count);
    const char *file = files && index < count ? dwarf_filesrc(files, (size_t)index, NULL, NULL) : NULL;
    /* Before DWARF 5 number 0 means no file; libdw calls it "???". */
    return file && strcmp(file, "???") != 0 ? pfc_dwarf_path(dwarf, unit, file) : "";
}

void pfc_function_facts_read(pfc_dwarf *dwarf, pfc_unit *unit, Dwarf_Die *die, pfc_function_facts *facts) {
    if (facts->known)
        return;
    facts->known = 1;
    const char *name = string_attribute(die, DW_AT_name);
    const char *linkage = string_attribute(die, DW_AT_linkage_name);
    if (!linkage)
        linkage = string_attribute(die, DW_AT_MIPS_linkage_name);
    facts->linkage_name = linkage ? linkage : name ? name : "";
    facts->name = name ? name : facts->linkage_name;
    int line = 0;
    if (dwarf_decl_line(die, &line) == 0 && line > 0)
        facts->decl_line = (uint32_t)line;
    facts->decl_file = file_attribute(dwarf, unit, die, DW_AT_decl_file, 1);
}

void pfc_call_read(pfc_dwarf *dwarf, pfc_unit *unit, pfc_call *call) {
    if (call->known)
        return;
    call->known = 1;
    call->call_file = file_attribute(dwarf, unit, &call->die, DW_AT_call_file, 0);
    call->call_line = number_attribute(&call->die, DW_AT_call_line);
    call->call_column = number_attribute(&call->die, DW_AT_call_column);
    call->discriminator = number_attribute(&call->die, DW_AT_GNU_discriminator);
}
