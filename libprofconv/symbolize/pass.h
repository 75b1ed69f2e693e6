/* SPDX-License-Identifier: MIT
 *
 * Inside symbolize/: the state of one run of the pass, names (names.c), and the sources of names that are not ELF
 * files: perf maps (perfmap.c) and kallsyms (kallsyms.c).
 */
#ifndef PFC_SYMBOLIZE_PASS_H
#define PFC_SYMBOLIZE_PASS_H

#include <profconv/io.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/base/text.h"
#include "libprofconv/model/pass.h"
#include "libprofconv/symbolize/binary.h"
#include "libprofconv/symbolize/demangle.h"
#include "libprofconv/symbolize/settings.h"

/* Display names of linkage names, both as string ids of the builder. */
typedef struct pfc_names {
    profconv_builder *builder;
    pfc_mem *mem;
    int style; /* PFC_DEMANGLE_* */
    pfc_index index;
    PFC_VEC(struct pfc_name_row {
        profconv_id linkage;
        profconv_id display;
    })
    rows;
    pfc_buf text;
} pfc_names;

void pfc_names_init(pfc_names *names, profconv_builder *builder, pfc_mem *mem, int style);
void pfc_names_free(pfc_names *names);
/* The function row of a frame; 0 when it has no name or on a sticky error of the builder. */
profconv_id pfc_names_function(pfc_names *names, const pfc_frame *frame);
/* The function row of a bare name, as it is (perf maps, kallsyms). */
profconv_id pfc_names_plain(pfc_names *names, const char *name, size_t size);

/* Names found for sorted addresses. */
typedef struct pfc_answers {
    pfc_mem *mem;
    const pfc_key *keys; /* sorted by key, which is the address */
    size_t count;
    uint32_t *name; /* row of spans for each key; 0: none */
    PFC_VEC(struct pfc_span {
        size_t offset;
        uint32_t size;
    })
    spans; /* in text; row 0 is unused */
    pfc_buf text;
} pfc_answers;

int pfc_answers_init(pfc_answers *answers, pfc_mem *mem, const pfc_key *keys, size_t count);
void pfc_answers_free(pfc_answers *answers);
/* Gives keys[first .. last) this name. A status on failure. */
int pfc_answers_name(pfc_answers *answers, size_t first, size_t last, const char *name, size_t size);
/* First key that is not below `address`. */
size_t pfc_answers_at(const pfc_answers *answers, uint64_t address);

/* Opens a text file (gzip too). PROFCONV_E_IO when it cannot be. */
int pfc_text_open(profconv_input **out, int *fd, const char *path, profconv_error *error);

/* Reads a perf map; addresses are absolute. PROFCONV_E_IO: cannot be opened. *symbols: lines that were understood. */
int pfc_perf_map_read(pfc_answers *answers, const char *path, uint64_t *symbols, profconv_error *error);

typedef struct pfc_kallsyms_facts {
    uint64_t symbols; /* of code */
    int hidden;       /* every address is 0: kptr_restrict */
    int moved;        /* the reference symbol was found elsewhere than the recording says */
} pfc_kallsyms_facts;

/* Reads kallsyms; addresses are run-time addresses of the kernel. With `reference` not empty, the core kernel's symbols
 * are moved so that this symbol is at `reference_address`. */
int pfc_kallsyms_read(pfc_answers *answers, const char *path, const char *reference, uint64_t reference_address,
                      pfc_kallsyms_facts *facts, profconv_error *error);
/* Build-id of the running kernel, or "" (out: PFC_BUILD_ID_TEXT bytes). */
void pfc_running_kernel_id(char *out, size_t size);

/* ---- one run of the pass ---- */

/* Where the names of a mapping come from. */
typedef enum pfc_place {
    PFC_PLACE_NONE = 0, /* nowhere: guests, heaps, devices */
    PFC_PLACE_FILE,
    PFC_PLACE_MODULE, /* of the kernel */
    PFC_PLACE_KERNEL,
    PFC_PLACE_JIT
} pfc_place;

/* Locations whose names come from one place: a run of items. */
typedef struct pfc_group {
    pfc_place place;
    uint32_t pid;        /* JIT */
    profconv_id mapping; /* the first of them */
    profconv_id file, build_id;
    uint32_t known_code; /* JIT: a mapping says that code is there, not just memory */
    size_t first, count;
} pfc_group;

typedef struct pfc_run {
    profconv_builder *builder;
    pfc_model *model;
    pfc_mem *mem;
    profconv_report *report;
    const profconv_options *options;
    pfc_names names;
    pfc_finder_settings files;
    pfc_finder finder; /* borrowed from files */
    int frame_flags;   /* PFC_FRAMES_* */
    int force;
    int entries; /* the functions around addresses are wanted too */
    const char *vmlinux, *kallsyms, *perf_map_dir;
    int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total);
    void *tick_user;
    uint64_t done, total; /* locations */
    PFC_VEC(pfc_group) groups;
    profconv_id *items; /* location ids, by group */
    size_t item_count;
    uint32_t *inlined; /* by mapping: locations whose lines came with inline information */
    size_t mapping_count;
    profconv_error *error;
} pfc_run;

/* Text of a string that stays put while strings are added: free with size + 1. NULL for want of memory. */
char *pfc_run_copy(pfc_run *run, profconv_id string, size_t *size);
/* After each location: a status when the caller cancelled. */
int pfc_run_step(pfc_run *run);
/* Frames that were asked for ahead: one row for each address of sorted keys. Strings are the binary's. */
typedef struct pfc_lookup {
    uint32_t first; /* of frames */
    uint32_t count;
    int from_debug_info;
} pfc_lookup;
typedef struct pfc_lookups {
    PFC_VEC(pfc_frame) frames;
    PFC_VEC(pfc_lookup) rows;
} pfc_lookups;

/* Gives locations[0 .. n) of `keys` the frames of their addresses in `binary`; keys are sorted. `known` (may be NULL) has them
 * already. *unnamed counts those without. */
int pfc_run_name_in_binary(pfc_run *run, pfc_binary *binary, const pfc_lookups *known, const pfc_key *keys, size_t count,
                           uint64_t *unnamed);
/* Gives the locations their names from `answers`; *unnamed counts those without, which are moved to the front of
 * `keys`. */
int pfc_run_name_by_answers(pfc_run *run, pfc_answers *answers, pfc_key *keys, uint64_t *unnamed);
/* Adds the functions around the addresses of `keys`, sorted as above, to the entries. A status on failure. */
int pfc_run_entries(pfc_run *run, pfc_binary *binary, const pfc_key *keys, size_t count);
void pfc_run_note_file(pfc_run *run, const pfc_group *group, const char *file, const char *id,
                       const pfc_find_result *result);

/* ---- files.c ---- */

#define PFC_MAX_FRAMES 256 /* of one address; the inner ones of a deeper chain of inlined calls are left out */

/* A group's file, looked for. */
typedef struct pfc_opened {
    const pfc_group *group;
    char *file, *id;
    size_t file_size, id_size;
    pfc_binary *binary; /* NULL: not found, for the reason */
    const pfc_lookups *known; /* or NULL */
    pfc_find_result result;
    profconv_error reason;
    int status;
} pfc_opened;

/* A status for want of memory; pfc_opened_end is due in any case. */
int pfc_opened_start(pfc_opened *opened, pfc_run *run, const pfc_group *group);
/* Looks for the file; its memory is `mem`'s. Changes nothing of the run: it can be done on another thread, and so can this: */
void pfc_opened_find(pfc_opened *opened, const pfc_run *run, pfc_mem *mem);
/* The sorted vaddrs of a group's locations: *count of the group's count keys, after which come those that are in no segment. */
int pfc_run_keys(const pfc_run *run, pfc_mem *mem, const pfc_binary *binary, const pfc_group *group, pfc_key *keys,
                 size_t *count);
void pfc_opened_end(pfc_opened *opened, pfc_run *run);
/* Names the locations of the group, or says why not. */
int pfc_run_file(pfc_run *run, const pfc_opened *opened);
/* All groups of files: ahead.c. */
int pfc_run_files(pfc_run *run, const pfc_group *const *groups, size_t count);
/* Modules that have no file are left for kallsyms. */
int pfc_run_module(pfc_run *run, const pfc_group *group, int *named);
int pfc_run_jit(pfc_run *run, const pfc_group *group);                   /* jit.c */
int pfc_run_kernel(pfc_run *run, const pfc_group *groups, size_t count); /* kernel.c */

#endif
