/* SPDX-License-Identifier: MIT
 *
 * Code that a program made at run time, as its jitdump file tells it: which code lay where from when on. Between readers, who
 * know when a sample was taken, and symbolize/, which reads the file. Lent through the builder, as the unwinder is.
 */
#ifndef PFC_BASE_JITDUMP_H
#define PFC_BASE_JITDUMP_H

#include <profconv/base.h>

struct profconv_builder;

typedef struct pfc_jitdump pfc_jitdump;

/* From `time` on, `code` lies at [start, start + size). Code that is moved leaves its old place. */
typedef struct pfc_jit_event {
    uint64_t time; /* nanoseconds of CLOCK_MONOTONIC */
    uint64_t start, size;
    uint64_t left; /* the old place; 0: there is none */
    uint32_t code;
} pfc_jit_event;

typedef struct pfc_jitdump_type {
    /* `file` as recorded; looked for below the setting symbolize.symfs, or in symbolize.jitdump-dir. PROFCONV_E_NOT_FOUND,
     * PROFCONV_E_FORMAT or a status for want of memory. A file that ends early (its program still ran, or was killed) is
     * good as far as it goes. */
    int (*open)(pfc_jitdump **out, const profconv_allocator *allocator, uint64_t limit, const profconv_options *options,
                const char *file, profconv_error *error);
    /* Events by time. */
    const pfc_jit_event *(*events)(const pfc_jitdump *dump, size_t *count);
    /* Nonzero when the times are not those of a clock (a processor's counter). */
    int (*other_clock)(const pfc_jitdump *dump);
    profconv_string (*name)(const pfc_jitdump *dump, uint32_t code);
    /* File and line of the instruction `offset` bytes into the code; line 0: unknown. */
    uint32_t (*line)(const pfc_jitdump *dump, uint32_t code, uint64_t offset, profconv_string *file);
    void (*close)(pfc_jitdump *dump);
} pfc_jitdump_type;

extern const pfc_jitdump_type pfc_jitdump_reader;

void pfc_builder_set_jitdump(struct profconv_builder *builder, const pfc_jitdump_type *type);
const pfc_jitdump_type *pfc_builder_jitdump(const struct profconv_builder *builder);

#endif
