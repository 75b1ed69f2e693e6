/* SPDX-License-Identifier: MIT
 *
 * Inside symbolize/: one open ELF file (image.c), its symbols (symbols.c), its DWARF (dwarf.c), and looking for files
 * (find.c).
 */
#ifndef PFC_SYMBOLIZE_IMAGE_H
#define PFC_SYMBOLIZE_IMAGE_H

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/base/mem.h"
#include "libprofconv/base/text.h"
#include "libprofconv/symbolize/binary.h"

#define PFC_MAX_BUILD_IDS 4
#define PFC_BUILD_ID_TEXT 129 /* 64 bytes in hexadecimal, and the NUL */

struct pfc_image {
    pfc_mem *mem;
    char *path;
    size_t path_size; /* without the NUL */
    int fd;
    Elf *elf;
    Dwfl *dwfl; /* made when relocation or .gnu_debugdata needs it; owns `module`'s ELF and DWARF */
    Dwfl_Module *module;
    Elf *module_elf;
    Dwarf *dwarf; /* of dwarf_begin_elf, or borrowed from the module */
    int dwarf_tried;
    int relocatable;
    uint16_t machine;
    int has_symtab, has_dynsym, has_debug_info, has_debugdata, has_altlink;
    int debug_only; /* made by objcopy --only-keep-debug: its code sections hold nothing */
    size_t build_id_count;
    char build_ids[PFC_MAX_BUILD_IDS][PFC_BUILD_ID_TEXT];
    pfc_segment *segments;
    size_t segment_count, segment_capacity;
    uint64_t charged; /* to mem, for what elfutils and a copy in memory take */
};

typedef struct pfc_symbols {
    PFC_VEC(pfc_symbol) rows;
    uint64_t *reach; /* highest limit of rows 0..i */
    size_t reach_count;
    int tried;
} pfc_symbols;

typedef struct pfc_dwarf pfc_dwarf;
typedef struct pfc_package pfc_package;

struct pfc_binary {
    pfc_mem *mem;
    pfc_image *runtime;
    pfc_image *debug; /* NULL: the runtime file itself */
    pfc_image *alt;   /* dwz's alternate file */
    int alt_missing;  /* it was not found: `empty` is in its place, or libdw would take whatever has its name */
    Dwarf *empty;
    Elf *empty_elf;
    pfc_buf empty_file;
    pfc_package *package; /* split units, NULL: none */
    pfc_symbols symbols;
    pfc_dwarf *dwarf;
    int dwarf_tried;
    int from_debug_info;
};

/* ---- image.c ---- */
/* Opens a regular file without blocking; the descriptor, or -1 with errno. */
int pfc_open_regular(const char *path);
/* PROFCONV_E_IO, PROFCONV_E_FORMAT or PROFCONV_E_NOMEM. */
int pfc_image_open(pfc_image **out, pfc_mem *mem, const char *path, profconv_error *error);
void pfc_image_close(pfc_image *image);
/* Nonzero when one of the image's build-ids is `id`. */
int pfc_image_is(const pfc_image *image, const char *id);
/* Makes the libdwfl module for what libdw alone cannot do. 0 or -1. */
int pfc_image_module(pfc_image *image);
/* NULL when there is none, or, with image->mem->failed set, no memory for it. */
Dwarf *pfc_image_dwarf(pfc_image *image);
/* Address of .text in a relocatable file (after libdwfl placed it, when it did). 0 or -1. */
int pfc_image_text(const pfc_image *image, uint64_t *address, uint64_t *size);
/* Where .text begins in the file. 0 or -1. */
int pfc_image_text_offset(const pfc_image *image, uint64_t *offset);

/* ---- unused.c ---- */
/* Keeps libdw from inflating sections that are not needed. Before dwarf_begin_elf. */
void pfc_image_hide_unused(pfc_image *image);

/* ---- inflate.c ---- */
/* A descriptor of a copy of the file in which sections compressed with zstd are inflated; -1 when there are none, or
 * they are damaged (they stay unread then), or, with mem->failed set, no memory. The copy is charged to mem: *charged
 * bytes. */
int pfc_inflate_zstd_sections(pfc_mem *mem, Elf *elf, int fd, uint64_t *charged);

/* ---- symbols.c ---- */
int pfc_symbols_load(pfc_binary *binary);
void pfc_symbols_free(pfc_binary *binary);

/* ---- dwarf.c ---- */
int pfc_dwarf_open(pfc_dwarf **out, pfc_binary *binary, Dwarf *dwarf);
void pfc_dwarf_close(pfc_dwarf *dwarf);
/* As pfc_binary_frames, debug information only; *count 0 when it says nothing about vaddr. *function_low: start of the
 * range of the physical function around vaddr, or UINT64_MAX when only a line was found. */
int pfc_dwarf_frames(pfc_dwarf *dwarf, uint64_t vaddr, int flags, pfc_frame *frames, size_t max, size_t *count,
                     uint64_t *function_low);

/* ---- binary.c ---- */
/* Makes a binary of the file that ran and its debug file (NULL: not known yet), which are taken over, also on failure.
 */
int pfc_binary_from_images(pfc_binary **out, pfc_image *image, pfc_image *debug, const pfc_finder *finder,
                           profconv_error *error);

/* Address up to which the last answer of pfc_dwarf_frames holds for every address. */
uint64_t pfc_dwarf_until(const pfc_dwarf *dwarf);

/* ---- package.c ---- */
/* NULL when it is no package. */
pfc_package *pfc_package_open(pfc_mem *mem, const char *path);
void pfc_package_close(pfc_package *package);

/* ---- find.c ---- */
/* The package of split units beside the file, in debug directories, or named by the user. A status for want of memory
 * only. */
int pfc_find_package(pfc_package **out, pfc_mem *mem, const pfc_image *runtime, const pfc_image *debug,
                     const pfc_finder *finder);
/* The file with the debug information of `runtime`, build-id or checksum verified; *out NULL when there is none. A
 * status for want of memory only. */
int pfc_find_debug(pfc_image **out, pfc_mem *mem, const pfc_image *runtime, const pfc_finder *finder);
/* dwz's alternate file of `image`; *out NULL when there is none. */
int pfc_find_alt(pfc_image **out, pfc_mem *mem, pfc_image *image, const pfc_finder *finder);
/* Offers the paths that a file of build-id `id` may have, `suffix` (".debug", or "") for directories laid out as
 * /usr/lib/debug, `cached` (a list that ends with NULL: "elf", "vdso", "kallsyms", "debug") for perf's cache, until
 * `take` returns nonzero, which is returned. Nothing is opened here. */
int pfc_find_by_id(const pfc_finder *finder, pfc_mem *mem, const char *id, const char *suffix,
                   const char *const *cached, int (*take)(void *user, const char *path), void *user);

#endif
