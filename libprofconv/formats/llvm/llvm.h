/* SPDX-License-Identifier: MIT
 *
 * What the readers and writers of LLVM's sample profiles share: the ordered view of a profile that every writer walks,
 * the summary, and the numbers of the binary encodings.
 */
#ifndef PFC_LLVM_LLVM_H
#define PFC_LLVM_LLVM_H

#include <profconv/plugin.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/cutoffs.h"
#include "libprofconv/base/leb.h"
#include "libprofconv/base/sort.h"
#include "libprofconv/io/io.h"

/* ---- numbers of the binary encodings ---- */

/* "SPROF42" and the encoding's number; on disk as LEB128. */
#define PFC_LLVM_MAGIC_RAW UINT64_C(0x5350524f463432ff)
#define PFC_LLVM_MAGIC_EXT UINT64_C(0x5350524f46343204)
#define PFC_LLVM_MAGIC_COMPACT UINT64_C(0x5350524f46343202)
#define PFC_LLVM_VERSION 103

enum {
    PFC_LLVM_SUMMARY = 1,
    PFC_LLVM_NAMES = 2,
    PFC_LLVM_SYMBOLS = 3,
    PFC_LLVM_OFFSETS = 4,
    PFC_LLVM_METADATA = 5,
    PFC_LLVM_CONTEXTS = 6,
    PFC_LLVM_RECORDS = 32
};
#define PFC_LLVM_COMPRESSED (UINT64_C(1) << 0)
#define PFC_LLVM_FLAT (UINT64_C(1) << 1)
#define PFC_LLVM_SUMMARY_PARTIAL (UINT64_C(1) << 32)
#define PFC_LLVM_SUMMARY_CONTEXT (UINT64_C(2) << 32)
#define PFC_LLVM_SUMMARY_FS (UINT64_C(4) << 32)
#define PFC_LLVM_SUMMARY_PREINLINED (UINT64_C(16) << 32)
#define PFC_LLVM_SUMMARY_VTABLES (UINT64_C(32) << 32)
#define PFC_LLVM_NAMES_MD5 (UINT64_C(1) << 32)
#define PFC_LLVM_NAMES_FIXED_MD5 (UINT64_C(2) << 32)
#define PFC_LLVM_NAMES_UNIQUE (UINT64_C(4) << 32)
#define PFC_LLVM_METADATA_PROBES (UINT64_C(1) << 32)
#define PFC_LLVM_METADATA_ATTRIBUTES (UINT64_C(2) << 32)
#define PFC_LLVM_OFFSETS_ORDERED (UINT64_C(1) << 32)

/* LLVM's bits of profconv_source.attributes. */
#define PFC_LLVM_SHOULD_BE_INLINED 2u
#define PFC_LLVM_IN_BASE 4u

/* A setting of the pass "attribute", which every writer takes under its own name, too. */
#define PFC_LLVM_COMPAT_SETTING                                                                                        \
    {                                                                                                                  \
        "compat", PROFCONV_SETTING_ENUM, "none", "none|create_llvm_prof",                                              \
            "counts of recordings: as this tool makes them, also where it is wrong (the same as attribute.compat)"     \
    }
extern const char *const pfc_llvm_pass_settings[];

/* Offsets of lines have 16 bits for LLVM's readers. */
#define PFC_LLVM_MAX_LINE 0xffffu

/* ---- the view ---- */

/* Rows grouped by owner: those of owner i are ids[first[i]] .. ids[first[i + 1] - 1]. */
typedef struct pfc_llvm_runs {
    uint32_t *first; /* owners + 1 */
    uint32_t *ids;
    uint32_t owners;
    uint32_t count;
} pfc_llvm_runs;

/* A frame of a context, outermost first; the last is the function itself, at 0.0. */
typedef struct pfc_llvm_frame {
    uint32_t name; /* rank */
    uint32_t line;
    uint32_t discriminator;
} pfc_llvm_frame;

/*
 * A profile in the order in which LLVM writes it: functions by total (largest first), then name or context; lines and
 * call sites by position; callees by name; targets by count (largest first), then name. Borrows the profile.
 */
typedef struct pfc_llvm_view {
    pfc_mem *mem;
    const profconv_profile *profile;
    uint32_t *names; /* string ids of every name that is used, in order */
    uint32_t name_count;
    uint32_t *rank; /* by string id: position in `names` */
    uint32_t string_rows;
    uint32_t *tops; /* source ids of the top-level functions, in order */
    uint32_t top_count;
    pfc_llvm_runs bodies;   /* of a source row */
    pfc_llvm_runs children; /* call sites of a source row */
    pfc_llvm_runs targets;  /* of a body row */
    int context;            /* context sensitive: the members below are filled */
    int md5;                /* names are decimal hashes */
    int numeric;            /* all names are decimal numbers, and ordered as such */
    pfc_llvm_frame *frames;
    size_t frame_count;
    uint32_t *frame_first;   /* by position in by_context, and one more */
    uint32_t *by_context;    /* the top-level source ids by context */
    uint32_t *context_index; /* by source id: position in by_context */
    uint32_t source_rows;
} pfc_llvm_view;

/* 0 or a status, with the error filled. Free it in both cases. */
int pfc_llvm_view_make(pfc_llvm_view *view, pfc_mem *mem, const profconv_profile *profile, profconv_error *error);
void pfc_llvm_view_free(pfc_llvm_view *view);
/* For the encodings whose names end at a NUL: an error when a name holds one. */
int pfc_llvm_view_check_names(const pfc_llvm_view *view, profconv_error *error);
/* Line offsets have 16 bits for the readers of all encodings, in text unless a discriminator follows. */
int pfc_llvm_view_check_lines(const pfc_llvm_view *view, int text, profconv_error *error);
/* The hash that stands for a name: its value when names are hashes already. */
uint64_t pfc_llvm_guid(const pfc_llvm_view *view, profconv_id name);
/* The notes that every writer of this family makes. */
void pfc_llvm_view_notes(const pfc_llvm_view *view, profconv_report *report);

/* ---- the summary ---- */

typedef struct pfc_llvm_summary {
    uint64_t total, max_count, max_function_count;
    uint32_t counts, functions;
    pfc_cutoff entries[PFC_CUTOFFS];
} pfc_llvm_summary;

int pfc_llvm_summarize(const pfc_llvm_view *view, pfc_llvm_summary *out);

/* ---- records ---- */

/* A name table, or the table of contexts, of a binary profile. */
typedef PFC_VEC(profconv_id) pfc_llvm_ids;
typedef struct pfc_llvm_context_row {
    profconv_id context; /* innermost caller */
    profconv_id name;
} pfc_llvm_context_row;
typedef PFC_VEC(pfc_llvm_context_row) pfc_llvm_context_rows;

typedef struct pfc_llvm_records {
    pfc_mem *mem;
    profconv_builder *builder;
    profconv_error *error;
    pfc_llvm_ids names;
    pfc_llvm_context_rows contexts;
    pfc_llvm_ids sources; /* by index of name or context: the source row, 0 when there was none */
    int context;          /* records begin with an index of `contexts` */
    int md5;
    int vtables; /* records end with vtable counts */
    uint32_t max_depth;
    uint64_t functions;
    uint64_t vtable_counts;
    PFC_VEC(struct pfc_llvm_open_record) stack;
} pfc_llvm_records;
struct pfc_llvm_open_record {
    profconv_id source;
    uint32_t left; /* call sites still to come */
};

void pfc_llvm_records_init(pfc_llvm_records *records, pfc_mem *mem, profconv_builder *builder, profconv_error *error);
void pfc_llvm_records_free(pfc_llvm_records *records);
int pfc_llvm_read_summary(pfc_cursor *c, profconv_error *error);
int pfc_llvm_read_names(pfc_llvm_records *records, pfc_cursor *c);
int pfc_llvm_read_hashes(pfc_llvm_records *records, pfc_cursor *c, int fixed);
/* One top-level function. */
int pfc_llvm_read_record(pfc_llvm_records *records, pfc_cursor *c);
/* The error for a cursor that ran past its end. */
int pfc_llvm_truncated(const pfc_cursor *c, const char *what, profconv_error *error);

void pfc_llvm_put_summary(pfc_buf *buf, const pfc_llvm_summary *summary);
/* The name table as strings. */
void pfc_llvm_put_names(pfc_buf *buf, const pfc_llvm_view *view);
/* A top-level record: head, index of name or context, and all that is below it. 0 or a status. */
int pfc_llvm_put_record(pfc_buf *buf, const pfc_llvm_view *view, uint32_t source);

#endif
