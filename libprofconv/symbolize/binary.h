/* SPDX-License-Identifier: MIT
 *
 * ELF files and their DWARF, for symbolization and for passes that attribute counts to source (pgo/). This is the
 * only door to elfutils: nothing of its types is visible here.
 *
 * A binary is the file that ran (its program headers turn file offsets into addresses) and, where that file was
 * stripped, the file that holds its debug information. Addresses ("vaddr") are ELF virtual addresses of the file that
 * ran.
 *
 * What elfutils allocates is outside the memory budget, so callers keep few binaries open at a time.
 */
#ifndef PFC_SYMBOLIZE_BINARY_H
#define PFC_SYMBOLIZE_BINARY_H

#include <profconv/base.h>

#include "libprofconv/base/mem.h"

typedef struct pfc_binary pfc_binary;
typedef struct pfc_image pfc_image;

/* A PT_LOAD program header. */
typedef struct pfc_segment {
    uint64_t offset; /* in the file */
    uint64_t vaddr;
    uint64_t file_size;
    uint64_t memory_size;
    int executable;
} pfc_segment;

enum { PFC_SYMBOL_LOCAL = 0, PFC_SYMBOL_GLOBAL = 1, PFC_SYMBOL_WEAK = 2 };

/* A symbol in an executable section. Names belong to the binary. */
typedef struct pfc_symbol {
    uint64_t address;
    uint64_t size; /* 0: not said */
    uint64_t
        limit; /* one past the last byte that it can name: address + size, or the end of its section when size is 0 */
    const char *name;
    uint32_t order;   /* position in the file's tables: .symtab, then .dynsym, then .gnu_debugdata */
    uint8_t function; /* nonzero: STT_FUNC or STT_GNU_IFUNC, else STT_NOTYPE */
    uint8_t bind;     /* PFC_SYMBOL_* */
    uint8_t dynamic;  /* from .dynsym */
    uint8_t reserved;
} pfc_symbol;

/* One frame of an inline stack. Strings belong to the binary; "" when unknown, never NULL. */
typedef struct pfc_frame {
    const char *linkage_name; /* as the linker knows it; for the outermost frame the ELF symbol where there is one */
    const char *name;         /* DW_AT_name, else the linkage name */
    const char *dwarf_name;   /* DW_AT_linkage_name, else DW_AT_name; "" without debug information */
    const char *file;         /* of `line`; absolute where the compilation directory is known */
    const char *decl_file;
    uint32_t line;          /* 0: unknown */
    uint32_t column;        /* 0: unknown */
    uint32_t discriminator; /* raw */
    uint32_t decl_line;     /* DW_AT_decl_line through specification and abstract origin; 0: unknown */
} pfc_frame;

enum {
    PFC_FRAMES_NO_INLINE = 1 << 0, /* only the physical function */
    PFC_FRAMES_NO_LINES = 1 << 1   /* only the ELF symbol */
};

/* Where to look for files; strings and arrays are the caller's. Zero-initialise. */
typedef struct pfc_finder {
    const char *symfs;             /* prefix of recorded paths, or NULL */
    const char *buildid_dir;       /* perf's cache, usually ~/.debug, or NULL */
    const char *const *debug_dirs; /* laid out as /usr/lib/debug, or flat; /usr/lib/debug itself comes last */
    size_t debug_dir_count;
    const char *const *binaries; /* named by the user: taken when the build-id agrees, or, without one, the file name */
    size_t binary_count;
} pfc_finder;

/* Why no file was taken. */
typedef struct pfc_find_result {
    int mismatches;     /* files refused because their build-id disagrees */
    char path[256];     /* the first of them, cut to fit */
    char build_id[132]; /* its build-id; "" when it has none */
    int by_path;        /* taken without a build-id to confirm it */
    int compressed;     /* there was a file, but it is compressed (kernel modules) */
} pfc_find_result;

/* Nonzero when two hexadecimal build-ids name the same file: equal, or one continues the other with zeros only. */
int pfc_build_id_equal(const char *a, const char *b);

/*
 * Opens the ELF file `path`, whose build-id must be `build_id` (NULL or "": any). Debug information is taken from the
 * file itself, or looked for with `finder` (may be NULL: only the file). PROFCONV_E_IO, PROFCONV_E_FORMAT (not ELF), or
 * PROFCONV_E_NOT_FOUND for another build-id.
 */
int pfc_binary_open(pfc_binary **out, pfc_mem *mem, const char *path, const char *build_id, const pfc_finder *finder,
                    profconv_error *error);
/* Finds and opens what a recording calls `file` with `build_id` ("" or NULL: unknown). PROFCONV_E_NOT_FOUND: *result
 * says why. */
int pfc_binary_find(pfc_binary **out, pfc_mem *mem, const char *file, const char *build_id, const pfc_finder *finder,
                    pfc_find_result *result, profconv_error *error);
void pfc_binary_close(pfc_binary *binary);

const char *pfc_binary_path(const pfc_binary *binary);
/* Path of the file that holds the debug information, or NULL when there is none. */
const char *pfc_binary_debug_path(const pfc_binary *binary);
/* Build-id note `index` as lower-case hexadecimal, or NULL past the last one. */
const char *pfc_binary_build_id(const pfc_binary *binary, size_t index);
const pfc_segment *pfc_binary_segments(const pfc_binary *binary, size_t *count);
/* Relocatable files (kernel modules): nonzero; file offsets are then offsets in .text. */
int pfc_binary_relocatable(const pfc_binary *binary);
/* Where .text begins in the file, for those who hold true file offsets of a relocatable file; 0 when it has none. */
uint64_t pfc_binary_text_offset(const pfc_binary *binary);
/* File offset to vaddr by the executable segment that holds it (any segment when none of those does). `map_offset`:
 * file offset at which the mapping starts, UINT64_MAX when unknown; it helps where only a debug file is there, whose
 * segments have lost their offsets. 0, or -1 when there is none. */
int pfc_binary_vaddr(const pfc_binary *binary, uint64_t file_offset, uint64_t map_offset, uint64_t *vaddr);

/* Symbols by address, aliases included (by order in the file). Read on first use; NULL with *count 0 when there are
 * none. A status on failure. */
int pfc_binary_symbols(pfc_binary *binary, const pfc_symbol **symbols, size_t *count);
/* The symbol that names vaddr: the innermost sized one around it, else a sizeless one before it in its section. Among
 * aliases, one called `prefer` (may be NULL) wins, then global ones. NULL when there is none. */
const pfc_symbol *pfc_binary_symbol(pfc_binary *binary, uint64_t vaddr, const char *prefer);
/* Nonzero when the file has a symbol of that name anywhere, data included. Linear. */
int pfc_binary_has_symbol(const pfc_binary *binary, const char *name);
/* The first symbol called `name`, or NULL. Linear: for single questions. */
const pfc_symbol *pfc_binary_symbol_named(pfc_binary *binary, const char *name);

/*
 * The inline stack at vaddr, innermost first: *count frames (at most max; outer frames are kept when there are more).
 * Without debug information: one frame with the symbol's name. *count 0: nothing is known. `flags`: PFC_FRAMES_*. A
 * status only for want of memory.
 */
int pfc_binary_frames(pfc_binary *binary, uint64_t vaddr, int flags, pfc_frame *frames, size_t max, size_t *count);
/* The same for a run of code: the answer holds for every address in [vaddr, *until), *until <= limit. The physical
 * function's name is that of DWARF (no symbol is asked). */
int pfc_binary_frames_run(pfc_binary *binary, uint64_t vaddr, uint64_t limit, pfc_frame *frames, size_t max,
                          size_t *count, uint64_t *until);
/* Nonzero when the binary has debug information (and has it been found). */
int pfc_binary_has_debug_info(const pfc_binary *binary);
/* Nonzero when part of the debug information is in an alternate file (dwz) that was not found. */
int pfc_binary_alternate_missing(const pfc_binary *binary);
/* Nonzero when the debug information around vaddr was found (as opposed to a symbol alone). Of the last
 * pfc_binary_frames. */
int pfc_binary_frames_from_debug_info(const pfc_binary *binary);

#endif
