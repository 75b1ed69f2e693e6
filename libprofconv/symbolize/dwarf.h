/* SPDX-License-Identifier: MIT
 *
 * The index over one file's DWARF: units by address (dwarf.c), and for units that are hit, functions by address and the
 * tree of inlined calls (functions.c). Everything is built when it is first asked for.
 */
#ifndef PFC_SYMBOLIZE_DWARF_H
#define PFC_SYMBOLIZE_DWARF_H

#include "libprofconv/base/text.h"
#include "libprofconv/symbolize/image.h"
#include "libprofconv/symbolize/linetable.h"

/* [low, high) belongs to row `id` of some table. */
typedef struct pfc_extent {
    uint64_t low, high;
    uint32_t id;
    uint32_t depth; /* nesting, where extents nest */
} pfc_extent;

typedef PFC_VEC(pfc_extent) pfc_extents;

/* Extents sorted by low; reach[i] is the highest end of rows 0..i. */
typedef struct pfc_extent_index {
    pfc_extents rows;
    uint64_t *reach;
    size_t reach_count;
} pfc_extent_index;

/* What is known of a function, whatever its copies. */
typedef struct pfc_function_facts {
    const char *linkage_name;
    const char *name;
    const char *decl_file;
    uint32_t decl_line;
    uint32_t known;
} pfc_function_facts;

/* An inlined call. */
typedef struct pfc_call {
    Dwarf_Die die;
    pfc_function_facts facts;
    const char *call_file;
    uint32_t parent; /* call row, or 0: called by the physical function */
    uint32_t call_line, call_column, discriminator;
    uint32_t known; /* the five members above were read */
} pfc_call;

/* From `address` on, up to the next mark, the innermost call is `call` (0: none). */
typedef struct pfc_mark {
    uint64_t address;
    uint32_t call;
    uint32_t reserved;
} pfc_mark;

typedef struct pfc_function {
    Dwarf_Die die;
    pfc_function_facts facts;
    PFC_VEC(pfc_call) calls; /* row 0 is unused */
    PFC_VEC(pfc_mark) marks;
    int calls_read;
} pfc_function;

typedef struct pfc_unit {
    Dwarf_CU *cu;
    Dwarf_Die die;  /* compile unit, or skeleton */
    Dwarf_Die root; /* where the functions are: die, or that of the split unit */
    Dwarf *owned;   /* of a split unit that comes from a package; from owned_image */
    Elf *owned_elf;
    pfc_buf owned_image;
    uint64_t ranges_base;  /* DW_AT_GNU_ranges_base of a skeleton before DWARF 5 */
    const char *directory; /* DW_AT_comp_dir, or NULL */
    const char *end;       /* of the DIEs below root, in memory */
    uint64_t budget;       /* bytes of DIEs that may still be passed over, see functions.c */
    pfc_line_table lines;
    PFC_VEC(pfc_function) functions;
    pfc_extent_index by_address;
    int functions_read, deep_read, lines_read;
} pfc_unit;

struct pfc_dwarf {
    pfc_mem *mem;
    pfc_binary *binary;
    Dwarf *dwarf;
    Dwarf_Aranges *aranges;
    int aranges_tried;
    PFC_VEC(pfc_unit) units;
    pfc_extent_index by_address;
    pfc_arena paths; /* joined file names */
    pfc_index path_index;
    PFC_VEC(struct pfc_path_row {
        const char *file;
        const char *directory;
        const char *joined;
    })
    path_rows;
    pfc_line_sections sections;
    int sections_found;
    uint64_t until; /* up to here the last answer of pfc_dwarf_frames holds; at least its address + 1 */
};

/* ---- dwarf.c ---- */
int pfc_extent_index_sort(pfc_mem *mem, pfc_extent_index *index);
/* The row with the greatest low around `address` among rows before `*before` (SIZE_MAX at first), or NULL; *before is
 * moved. */
const pfc_extent *pfc_extent_index_find(const pfc_extent_index *index, uint64_t address, size_t *before);
void pfc_extent_index_free(pfc_mem *mem, pfc_extent_index *index);
/* `file` made absolute with the unit's directory. */
const char *pfc_dwarf_path(pfc_dwarf *dwarf, const pfc_unit *unit, const char *file);
/* `file` made absolute with `directory`. Both are compared by address: give each path one string. */
const char *pfc_dwarf_join(pfc_dwarf *dwarf, const char *directory, const char *file);
/* Code that the linker dropped keeps ranges at 0, 1 or the highest addresses, which lie in no executable segment: 0. */
int pfc_dwarf_is_code(const pfc_dwarf *dwarf, uint64_t address);
/* Adds the code ranges of `die`, sane ones only. */
int pfc_dwarf_ranges(pfc_dwarf *dwarf, Dwarf_Die *die, pfc_extents *out, uint32_t id, uint32_t depth);

/* ---- unitlines.c ---- */
/* The row of the unit's line table that covers vaddr, or NULL. Lowers dwarf->until. */
const pfc_line_row *pfc_unit_line(pfc_dwarf *dwarf, pfc_unit *unit, uint64_t vaddr);
/* The path of a file by its number in the line table; "" when there is none. */
const char *pfc_unit_line_file(pfc_dwarf *dwarf, pfc_unit *unit, uint64_t number);

/* ---- functions.c ---- */
/* The functions of a unit; `deep` also looks inside types and function bodies. */
int pfc_unit_read_functions(pfc_dwarf *dwarf, pfc_unit *unit, int deep);
int pfc_function_read_calls(pfc_dwarf *dwarf, pfc_unit *unit, pfc_function *function);
void pfc_function_facts_read(pfc_dwarf *dwarf, pfc_unit *unit, Dwarf_Die *die, pfc_function_facts *facts);
void pfc_call_read(pfc_dwarf *dwarf, pfc_unit *unit, pfc_call *call);
void pfc_unit_free(pfc_dwarf *dwarf, pfc_unit *unit);

/* ---- package.c ---- */
/* Takes the root of a skeleton unit from the binary's package. 0, or -1 when it is not there. */
int pfc_package_unit(pfc_dwarf *dwarf, pfc_unit *unit);

#endif
