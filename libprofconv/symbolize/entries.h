/* SPDX-License-Identifier: MIT
 *
 * Inside symbolize/: the functions of a file as LLVM BOLT takes them from its symbols (entry_functions.c) and the stubs
 * of its PLT (stubs.c), for targets that name code by function and offset (entries.c).
 */
#ifndef PFC_SYMBOLIZE_ENTRIES_H
#define PFC_SYMBOLIZE_ENTRIES_H

#include "libprofconv/symbolize/image.h"

enum {
    PFC_ENTRY_FUNCTION = 0, /* called `name`, or, with an ordinal, NAME/N */
    PFC_ENTRY_STUB,         /* of the PLT, for the symbol `name`: called NAME@PLT */
    PFC_ENTRY_PLT           /* what stubs have in common, at the start of section `name` */
};

/* Names belong to the binary. */
typedef struct pfc_entry {
    uint64_t address, size;
    uint64_t limit; /* of its section, where the size is not said */
    const char *name;
    uint32_t ordinal; /* of a local symbol: the how-manieth of its name, from 1; else 0 */
    uint8_t kind;     /* PFC_ENTRY_* */
    uint8_t local;
} pfc_entry;

typedef PFC_VEC(pfc_entry) pfc_entries;

/* Adds the functions, sorted by address, none inside another; ordinals are not set yet. A status on failure. */
int pfc_entry_functions(pfc_entries *entries, pfc_mem *mem, pfc_binary *binary);

/* The local symbols of a file, of code and data, by name. */
typedef struct pfc_local {
    uint64_t address;
    const char *name;
    uint32_t order; /* functions before others */
} pfc_local;

typedef PFC_VEC(pfc_local) pfc_locals;

int pfc_entry_locals(pfc_locals *locals, pfc_mem *mem, const pfc_binary *binary);
uint32_t pfc_entry_ordinal(const pfc_locals *locals, const pfc_entry *entry);

/* Adds the stubs of the PLT, in no order. x86-64; nothing elsewhere. A status on failure. */
int pfc_entry_stubs(pfc_entries *entries, pfc_mem *mem, const pfc_binary *binary);

#endif
