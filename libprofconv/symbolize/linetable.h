/* SPDX-License-Identifier: MIT
 *
 * The line table of one unit: rows by address, and its file names. Decoded here and not by libdw, which keeps 24 bits
 * of a discriminator and refuses whole tables that have more (clang's flow-sensitive discriminators and probe words use
 * 32).
 */
#ifndef PFC_SYMBOLIZE_LINETABLE_H
#define PFC_SYMBOLIZE_LINETABLE_H

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/mem.h"

typedef struct pfc_line_row {
    uint64_t address;
    uint32_t line; /* 0: code that belongs to no line */
    uint32_t discriminator;
    uint32_t file; /* for pfc_line_table_file */
    uint32_t column;
} pfc_line_row;

/* Rows of one run of code, by rising address; `end` is one past its last byte. */
typedef struct pfc_line_sequence {
    uint64_t start, end;
    uint32_t first, count;
} pfc_line_sequence;

typedef struct pfc_line_file {
    const char *name;
    const char *directory; /* "" or the compilation directory's place when index 0 says nothing */
} pfc_line_file;

typedef struct pfc_line_table {
    PFC_VEC(pfc_line_row) rows;
    PFC_VEC(pfc_line_sequence) sequences; /* by start */
    PFC_VEC(pfc_line_file) files;         /* by the number that rows and DIEs use */
} pfc_line_table;

/* What the decoder reads from; strings are borrowed from these for as long as the table lives. */
typedef struct pfc_line_sections {
    pfc_cursor line; /* .debug_line */
    pfc_cursor line_str;
    pfc_cursor str;
} pfc_line_sections;

/*
 * Decodes the table at `offset` of .debug_line. `keep(user, start)` tells whether a sequence is code of the file (the
 * linker leaves the tables of code that it dropped). `rows` zero: only the names of files. Damaged tables give the rows
 * before the damage. 0, or a status for want of memory.
 */
int pfc_line_table_read(pfc_mem *mem, const pfc_line_sections *sections, uint64_t offset, int rows,
                        int (*keep)(const void *user, uint64_t start), const void *user, pfc_line_table *out);
void pfc_line_table_free(pfc_mem *mem, pfc_line_table *table);

/* The row that covers `address`, or NULL; of several at one address the last. *until (lowered, never raised): up to
 * here the answer holds. */
const pfc_line_row *pfc_line_table_find(const pfc_line_table *table, uint64_t address, uint64_t *until);

#endif
