/* SPDX-License-Identifier: MIT
 *
 * Inside symbolize/: the state of an unwinder. unwind.c walks frames, unwind_files.c keeps the files that it asks.
 */
#ifndef PFC_SYMBOLIZE_UNWIND_H
#define PFC_SYMBOLIZE_UNWIND_H

#include "libprofconv/base/unwind.h"
#include "libprofconv/symbolize/cfi.h"
#include "libprofconv/symbolize/image.h"
#include "libprofconv/symbolize/settings.h"

/* A file with code of a recorded process. */
typedef struct pfc_unwind_module {
    uint32_t image;
    pfc_binary *binary; /* NULL: not found, or closed to make room (the tables go with it) */
    int sought;         /* it was looked for, and `binary` NULL means not found */
    pfc_cfi eh, debug;
    uint64_t used;      /* when, by pfc_unwinder.clock */
    uint64_t wanted;    /* times that it was missed */
    char *file;         /* of one that was not found */
    size_t file_size;
} pfc_unwind_module;

/* What is known of an address: samples pass the same call sites again and again. */
typedef struct pfc_unwind_site {
    uint64_t pc;
    uint32_t space, epoch; /* epoch 0: empty */
    uint8_t interrupted;   /* pc is looked up itself, not as a return address */
    uint8_t mapped, executable, has_image, has_row, returns_from_signal;
    uint32_t row;
    pfc_unwind_module *module;
    const pfc_cfi *cfi;
} pfc_unwind_site;

#define PFC_UNWIND_SITES 4096u

struct pfc_unwinder {
    pfc_mem mem;
    pfc_unwind_site *sites; /* by hash, PFC_UNWIND_SITES of them */
    uint32_t epoch;         /* another one when rows went away */
    const pfc_unwind_maps *maps;
    pfc_finder_settings files;
    PFC_VEC(uint32_t) module_of; /* by image: row of modules + 1 */
    PFC_VEC(pfc_unwind_module *) modules; /* each its own block: walks hold on to one while they meet others */
    size_t open;
    uint64_t clock;

    /* The sample at hand. */
    const pfc_unwind_input *input;
    int aarch64;
    uint64_t stack_start, stack_end; /* of the dump */
    int past_end;                    /* the stack above the dump was asked for */
    PFC_VEC(uint64_t) frames;
};

/* The module of an image, its file open if there is one. NULL for want of memory. */
pfc_unwind_module *pfc_unwind_module_get(pfc_unwinder *u, uint32_t image);
/* The row at an address of the file; *out NULL when there is none. A status for want of memory. */
int pfc_unwind_row(pfc_unwinder *u, pfc_unwind_module *module, const pfc_unwind_place *place, const pfc_cfi **cfi,
                   const pfc_cfi_row **out);
/* What is known of pc; *out is good until the next call. A status for want of memory. */
int pfc_unwind_site_get(pfc_unwinder *u, uint64_t pc, int interrupted, const pfc_unwind_site **out);
/* Bytes of a segment that programs cannot write, so that the file has what memory had. Nonzero on success. */
int pfc_unwind_read_file(pfc_unwinder *u, pfc_unwind_module *module, uint64_t offset, unsigned size, uint64_t *out);
/* Kind of the branch whose first bytes are `code`, the lowest first. machine: EM_*. */
pfc_branch_kind pfc_branch_of(unsigned machine, uint64_t code);
/* Kind of the branch instruction at an offset of the file. */
pfc_branch_kind pfc_unwind_branch(pfc_unwinder *u, pfc_unwind_module *module, uint64_t offset);
void pfc_unwind_modules_free(pfc_unwinder *u);

#endif
