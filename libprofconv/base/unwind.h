/* SPDX-License-Identifier: MIT
 *
 * Unwinding of recorded user stacks, between the readers that have them and symbolize/, which alone may open binaries.
 * A conversion lends the builder an unwinder; a reader that meets registers with a piece of stack asks the builder for
 * it, makes an instance, and unwinds. Without one (a reader called on its own) stacks stay as recorded.
 *
 * The unwinder keeps no maps: it asks the reader, who follows the recording anyway, what was mapped at an address of the
 * sample at hand. So exec, fork, dlopen and maps over maps need no word between the two.
 */
#ifndef PFC_BASE_UNWIND_H
#define PFC_BASE_UNWIND_H

#include <profconv/base.h>

struct profconv_builder;

/* What is mapped at an address. */
typedef struct pfc_unwind_place {
    uint32_t image;      /* the reader's number of the file, stable for its life; PFC_UNWIND_NO_IMAGE: no file */
    int executable;
    uint64_t offset;     /* of the address in the file */
    uint64_t map_offset; /* of the mapping's start in the file */
} pfc_unwind_place;

#define PFC_UNWIND_NO_IMAGE UINT32_MAX

/* The reader's side. */
typedef struct pfc_unwind_maps {
    void *user;
    /* Nonzero when something is mapped there in the process of the sample at hand. */
    int (*find)(void *user, uint64_t address, pfc_unwind_place *out);
    /* Path and build-id of an image as recorded, NUL-terminated ("" when unknown), borrowed until the next call. Asked once
     * for each image. */
    void (*describe)(void *user, uint32_t image, const char **file, const char **build_id);
} pfc_unwind_maps;

typedef enum pfc_unwind_machine {
    PFC_UNWIND_UNKNOWN = 0, /* the recording does not say: judged by the set of registers */
    PFC_UNWIND_X86_64,
    PFC_UNWIND_AARCH64,
    PFC_UNWIND_OTHER
} pfc_unwind_machine;

/* One sample, as Linux dumps it. */
typedef struct pfc_unwind_input {
    pfc_unwind_machine machine;
    int big;                  /* registers and stack are big-endian */
    uint64_t abi;             /* PERF_SAMPLE_REGS_ABI_*: 1 32-bit, 2 64-bit */
    uint64_t mask;            /* registers that are there, by Linux's numbers (not DWARF's) */
    const uint8_t *registers; /* 8 bytes for each bit of mask, lowest bit first */
    const uint8_t *stack;     /* from the stack pointer upwards */
    size_t stack_size;
    size_t max_frames;
    uint32_t space; /* another number whenever the process, or anything mapped in it, is another */
} pfc_unwind_input;

/* How an unwinding ended. Frames found before the end are good in every case. */
typedef enum pfc_unwind_end {
    PFC_UNWIND_COMPLETE = 0, /* at the thread's first function */
    PFC_UNWIND_TRUNCATED,    /* the next frame lies above the dumped piece of stack */
    PFC_UNWIND_DEPTH,        /* max_frames */
    PFC_UNWIND_NO_CODE,      /* a return address where no code is mapped */
    PFC_UNWIND_NO_FILE,      /* code whose file was not found, and no frame pointer that leads on */
    PFC_UNWIND_NO_CFI,       /* code without unwind information, and no frame pointer that leads on */
    PFC_UNWIND_BAD_CFI,      /* unwind information that makes no sense, or that leads down the stack */
    PFC_UNWIND_BAD_ABI,      /* not unwound: 32-bit */
    PFC_UNWIND_BAD_MACHINE,  /* not unwound: no unwinder for that architecture */
    PFC_UNWIND_NO_REGISTERS, /* not unwound: the registers do not include instruction and stack pointer */
    PFC_UNWIND_ENDS
} pfc_unwind_end;

typedef struct pfc_unwind_result {
    const uint64_t *address; /* leaf first; callers hold the return address - 1, interrupted frames and the code that
                              * signal handlers return to the address itself.
                              * Borrowed until the next call. */
    size_t count;
    size_t by_frame_pointer; /* steps that followed a frame pointer for want of unwind information */
    pfc_unwind_end end;
} pfc_unwind_result;

/* What an instruction does to the place where the program goes on. */
typedef enum pfc_branch_kind {
    PFC_BRANCH_UNKNOWN = 0, /* no file, or no instruction that branches */
    PFC_BRANCH_JUMP,        /* to a place that the instruction names */
    PFC_BRANCH_INDIRECT,    /* a jump to a place in a register or in memory */
    PFC_BRANCH_CALL,
    PFC_BRANCH_RETURN
} pfc_branch_kind;

typedef struct pfc_unwinder pfc_unwinder;

typedef struct pfc_unwinder_type {
    /* `options` (the settings of "symbolize" in them say where files are) and `maps` must outlive the unwinder. Memory counts
     * against `limit` (bytes; 0: none). 0 or a status. */
    int (*create)(pfc_unwinder **out, const profconv_allocator *allocator, uint64_t limit, const profconv_options *options,
                  const pfc_unwind_maps *maps, profconv_error *error);
    /* 0, also when not all frames could be found; a status only for want of memory. */
    int (*unwind)(pfc_unwinder *unwinder, const pfc_unwind_input *input, pfc_unwind_result *out, profconv_error *error);
    /* Kind of the branch instruction at an address of the process at hand, by the code in its file. 0, also when it is not known; a status only for want of memory. */
    int (*branch)(pfc_unwinder *unwinder, uint64_t address, pfc_branch_kind *out, profconv_error *error);
    /* Says in the report which files were missing. */
    void (*report)(const pfc_unwinder *unwinder, profconv_report *report);
    void (*destroy)(pfc_unwinder *unwinder);
} pfc_unwinder_type;

/* symbolize/'s. */
extern const pfc_unwinder_type pfc_cfi_unwinder;

/* The builder keeps the pointer for its reader (NULL: none, the default); both are the builder's in model/. */
void pfc_builder_set_unwinder(struct profconv_builder *builder, const pfc_unwinder_type *type);
const pfc_unwinder_type *pfc_builder_unwinder(const struct profconv_builder *builder);

#endif
