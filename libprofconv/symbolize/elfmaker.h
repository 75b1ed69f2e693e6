/* SPDX-License-Identifier: MIT
 *
 * Makes small ELF files in memory, of sections only, for libdw to read.
 */
#ifndef PFC_SYMBOLIZE_ELFMAKER_H
#define PFC_SYMBOLIZE_ELFMAKER_H

#include "libprofconv/base/text.h"

#define PFC_ELF_MAX_SECTIONS 12

typedef struct pfc_elf_maker {
    pfc_buf out; /* the file; free it with pfc_buf_free */
    int big;
    size_t count;
    struct {
        const char *name;
        size_t offset, size;
    } sections[PFC_ELF_MAX_SECTIONS];
} pfc_elf_maker;

void pfc_elf_init(pfc_elf_maker *m, pfc_mem *mem, int big);
/* Appends a number of 1 to 8 bytes. */
void pfc_elf_put(pfc_elf_maker *m, uint64_t value, unsigned size);
/* What is added to `out` between these is a section. */
void pfc_elf_begin(pfc_elf_maker *m, const char *name);
void pfc_elf_end(pfc_elf_maker *m);
/* Adds section names and headers, and fills in the file header. */
void pfc_elf_finish(pfc_elf_maker *m);

#endif
