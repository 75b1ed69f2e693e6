/* SPDX-License-Identifier: MIT
 *
 * Call frame information of one section (.eh_frame or .debug_frame): where a function keeps its caller's registers at an
 * address. libdw parses the entries; their instructions are run here, because libdw makes room for any register number
 * that a file names (gigabytes), outside of the memory budget, and starts anew for each question.
 *
 * Answers ("rows") are kept by address: samples ask for the same return addresses again and again.
 */
#ifndef PFC_SYMBOLIZE_CFI_H
#define PFC_SYMBOLIZE_CFI_H

#include <elfutils/libdw.h>

#include "libprofconv/base/mem.h"

#define PFC_CFI_REGISTERS 34 /* DWARF numbers from 0: x86-64 has 17 of interest, aarch64 33 */

typedef enum pfc_cfi_kind {
    PFC_CFI_UNSAID = 0, /* the ABI's rule */
    PFC_CFI_UNDEFINED,
    PFC_CFI_SAME,
    PFC_CFI_OFFSET,     /* at CFA + offset */
    PFC_CFI_VAL_OFFSET, /* is CFA + offset; of the CFA itself: register + offset */
    PFC_CFI_REGISTER,   /* in register `offset` */
    PFC_CFI_EXPRESSION, /* at the address that the expression gives */
    PFC_CFI_VAL_EXPRESSION
} pfc_cfi_kind;

typedef struct pfc_cfi_rule {
    uint8_t kind; /* pfc_cfi_kind */
    uint8_t reg;
    uint16_t expression_size;
    int32_t offset;
    const uint8_t *expression; /* in the section */
} pfc_cfi_rule;

typedef struct pfc_cfi_row {
    pfc_cfi_rule cfa;   /* VAL_OFFSET (of reg) or VAL_EXPRESSION */
    uint32_t first;     /* of its rules; `count` of them, by register, those that are not UNSAID */
    uint8_t count;
    uint8_t return_register;
    uint8_t signal;     /* a signal frame: its caller was interrupted, it did not call */
    uint8_t valid;      /* 0: the instructions make no sense */
} pfc_cfi_row;

typedef struct pfc_cfi_range {
    uint64_t start, end;
    uint64_t offset; /* of the FDE in the section */
} pfc_cfi_range;

typedef struct pfc_cfi {
    pfc_mem *mem;
    Elf_Data *data; /* NULL: no such section */
    unsigned char ident[EI_NIDENT];
    int eh_frame;
    uint64_t address; /* of the section */
    uint64_t text, got; /* bases of addresses relative to them */
    int big;
    PFC_VEC(pfc_cfi_range) ranges; /* by start */
    PFC_VEC(pfc_cfi_row) rows;
    PFC_VEC(pfc_cfi_rule) rules;
    uint64_t *slot_address; /* 2^bits slots: the addresses with rows */
    uint32_t *slot_row;     /* row + 1; UINT32_MAX: there is none for the address; 0: empty slot */
    unsigned bits;
    size_t used;
    uint32_t forgotten; /* times that the rows were dropped */
    uint64_t broken; /* entries that could not be read */
} pfc_cfi;

/* Reads the section's entries. `data` must stay. 0, or a status for want of memory. */
int pfc_cfi_open(pfc_cfi *cfi, pfc_mem *mem, Elf_Data *data, const unsigned char *ident, int eh_frame, uint64_t address,
                 uint64_t text, uint64_t got);
void pfc_cfi_close(pfc_cfi *cfi);
/* The row at `vaddr`, or NULL when nothing is said about it; valid until the next call. A status for want of memory. */
int pfc_cfi_find(pfc_cfi *cfi, uint64_t vaddr, const pfc_cfi_row **out);

/* ---- expression.c ---- */

typedef struct pfc_frame_state {
    uint64_t value[PFC_CFI_REGISTERS];
    uint64_t known; /* bit i: value[i] is */
} pfc_frame_state;

/* Reads `size` bytes (1 to 8) at an address of the process; nonzero on success. */
typedef int (*pfc_read_memory)(void *user, uint64_t address, unsigned size, uint64_t *out);

/* Evaluates an expression that starts with `initial` (NULL: nothing) on its stack; nonzero on success. */
int pfc_expression(const uint8_t *code, size_t size, int big, const pfc_frame_state *state, const uint64_t *initial,
                   pfc_read_memory read, void *user, uint64_t *out);

#endif
