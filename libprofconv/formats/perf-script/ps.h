/* SPDX-License-Identifier: MIT
 *
 * State of the perf-script reader, shared by its files.
 */
#ifndef PFC_PERF_SCRIPT_H
#define PFC_PERF_SCRIPT_H

#include <string.h>

#include <profconv/plugin.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/base/text.h"
#include "libprofconv/formats/common/selection.h"
#include "libprofconv/formats/common/images.h"
#include "libprofconv/formats/perf-script/text.h"

#define PS_SCOPE "perf-script"
#define PS_NONE UINT32_MAX

/* ---- images and maps ---- */

typedef pfc_image ps_dso; /* samples: whose leaf is in it; main: not used */

typedef struct ps_map {
    uint64_t start, end;
    uint64_t value; /* of the location at `start` */
    uint32_t dso;
} ps_map;

/* Maps of a process, sorted, without overlap; forks share them until one changes them. */
typedef struct ps_maps {
    PFC_VEC(ps_map) rows;
    uint32_t users;
} ps_maps;

typedef struct ps_process {
    int64_t pid;
    uint32_t maps;   /* index, PS_NONE: none */
    uint32_t serial; /* changes with the maps */
} ps_process;

typedef struct ps_thread {
    int64_t tid, pid; /* pid -1: unknown */
    profconv_id comm;
    profconv_id label_set, label_comm; /* the set made last, and for which name */
} ps_thread;

typedef struct ps_place {
    uint64_t address;
    uint64_t value;
    uint32_t serial; /* of the process; 0: empty */
    uint32_t dso;    /* PS_NONE: in no map */
    profconv_id location;
} ps_place;

#define PS_PLACE_BITS_FIRST 8
#define PS_PLACE_BITS_MOST 14
#define PS_NAMED 16u

/* ---- lines that come again ---- */

enum { PS_LINE_FRAME = 1, PS_LINE_SOURCE };

/* A line that was met and what it means. */
typedef struct ps_line {
    uint64_t hash;
    size_t text; /* in line_texts */
    uint32_t size;
    uint8_t kind;
    uint8_t inlined;
    uint8_t has_dso;
    uint8_t kernel;
    uint8_t by_maps; /* the location depends on the process's maps */
    uint64_t address;
    profconv_id name;        /* of the function, or (sources) the file */
    uint32_t dso;            /* PS_NONE: unknown */
    uint64_t source;         /* sources: the line */
    uint32_t serial;         /* by_maps: the maps of location[] */
    profconv_id location[2]; /* as leaf, as caller; 0: not made yet */
} ps_line;

/* A frame of the sample that is being read: its line, and that of its source position (0: none). */
typedef struct ps_item {
    uint32_t line, source;
} ps_item;

/* A location of several items: frames inlined into each other, or a frame with a source line. */
typedef struct ps_group {
    uint64_t hash;
    uint32_t first, count; /* in group_items */
    uint32_t serial;
    profconv_id location[2];
} ps_group;

#define PS_PREFIXES 64

/* A thread's last stack, root first. */
typedef struct ps_prefix {
    int64_t tid;
    PFC_VEC(uint64_t) rows; /* location, stack */
} ps_prefix;

/* ---- events ---- */

#define PS_EVENTS_MOST 256

typedef struct ps_event {
    ps_text name; /* ours */
    size_t base;
    profconv_id full;
    uint64_t samples;
    uint32_t column; /* PS_NONE: none yet */
    int wanted;
    int clock;
    int64_t period; /* fixed; 0: unknown */
    uint64_t frequency;
} ps_event;

typedef struct ps_emitted {
    int64_t count, weight;
    uint32_t event;
    profconv_id stack, labels;
} ps_emitted;

/* ---- settings ---- */

#define PS_LABELS 6u /* of pfc_selection's: text has no cgroups */

enum { PS_ADDRESSES_AUTO, PS_ADDRESSES_RELATIVE, PS_ADDRESSES_RAW };

typedef struct ps_counts {
    uint64_t samples, kept, filtered, other_lines, orphans, no_frames, too_many_events, bad_records, maps_ignored;
    uint64_t branch_entries, branch_bad, branch_null_stack, branch_wrong_path, branch_bogus, branch_duplicate,
        branch_unmapped;
    uint64_t range_across, unmapped, chain_cut, kernel_removed, raw_dropped, headless, pid_unknown;
    uint64_t named_branches, instructions;
    uint64_t other_line, orphan_line, branch_bad_line, named_line, instruction_line;
    int64_t orphan_weight;
} ps_counts;

typedef struct ps_reader {
    pfc_mem mem;
    pfc_arena arena; /* names of events */
    profconv_builder *builder;
    profconv_report *report;
    profconv_input *input;
    const profconv_options *options;
    profconv_error *error;
    pfc_selection selection;
    int addresses;
    ps_counts counts;
    uint64_t line_number;

    PFC_VEC(ps_dso) dsos;
    pfc_index dso_index;
    uint32_t named[PS_NAMED]; /* rows that frames named lately, + 1 */
    PFC_VEC(ps_maps) maps;
    PFC_VEC(ps_process) processes; /* [0]: whose pid is not known: everybody's maps */
    pfc_index process_index;
    ps_maps kernel_maps;
    PFC_VEC(ps_thread) threads;
    pfc_index thread_index;
    uint32_t next_serial;
    uint64_t map_rows;
    int have_user_maps;
    ps_place *places; /* a cache of 1 << place_bits */
    unsigned place_bits;
    uint64_t place_misses; /* since it has this size */

    PFC_VEC(ps_line) lines; /* [0]: none; of this generation (lines.c) */
    pfc_index line_index;
    PFC_VEC(char) line_texts;
    size_t line_limit;
    uint64_t line_hits;
    PFC_VEC(ps_group) groups; /* [0]: none */
    pfc_index group_index;
    PFC_VEC(ps_item) group_items;
    ps_prefix *prefixes;

    /* the sample that is being read */
    int open;     /* it has begun */
    int headless; /* without a header: frames, or a branch stack */
    ps_header header;
    profconv_id comm;
    uint32_t event;
    pfc_buf event_text; /* of headers; the line is gone by then */
    uint64_t repeat;    /* a count before it; 0: none */
    PFC_VEC(ps_item) items;
    ps_item inline_frame; /* on the header's line */
    PFC_VEC(ps_branch) branches;
    int has_ip;
    uint64_t ip;
    PFC_VEC(profconv_id) locations;
    PFC_VEC(profconv_line) location_lines;
    int have_headers, branch_recording, blank_before;

    PFC_VEC(ps_event) events;
    PFC_VEC(ps_emitted) emitted;
    int columns_open;
    uint64_t first_time, last_time;
    int raw; /* callchains hold raw addresses: 1 yes, 0 no, -1 not known */
    profconv_id default_file;
    uint64_t default_base;
} ps_reader;

int ps_failed(ps_reader *r);

/* settings.c */
extern const profconv_setting ps_settings[];
int ps_settings_read(ps_reader *r);
void ps_settings_free(ps_reader *r);
/* The sample that is being read, its name in r->comm. `pid`: -1 unknown. */
int ps_sample_wanted(ps_reader *r, int64_t pid);
profconv_id ps_label_set(ps_reader *r, ps_thread *thread, int64_t pid);

/* maps.c */
int ps_maps_init(ps_reader *r);
void ps_maps_free(ps_reader *r);
/* The text of a PERF_RECORD_ line from that word on. */
int ps_record(ps_reader *r, ps_text text);
uint32_t ps_process_get(ps_reader *r, int64_t pid); /* PS_NONE: no memory; pid -1: row 0 */
ps_thread *ps_thread_get(ps_reader *r, int64_t tid);
/* A process's map that holds the address, or the kernel's. */
const ps_map *ps_map_find(ps_reader *r, uint32_t process, uint64_t address);
const ps_place *ps_locate(ps_reader *r, uint32_t process, uint64_t address);

/* images.c */
/* The image called `name` in frames and records. pid: of code made at run time. PS_NONE: unknown, or no memory. */
uint32_t ps_dso_named(ps_reader *r, ps_text name, uint32_t pid);
uint32_t ps_dso_get(ps_reader *r, const ps_dso *key, uint64_t low, uint64_t high);
unsigned ps_dso_kind(ps_text name);
profconv_id ps_dso_mapping(ps_reader *r, uint32_t dso);
void ps_dso_extend(ps_dso *d, uint64_t address);
void ps_dsos_finish(ps_reader *r);

/* lines.c */
int ps_lines_init(ps_reader *r);
void ps_lines_free(ps_reader *r);
/* The row of a line that was met in this generation; 0: it was not. */
uint32_t ps_line_find(ps_reader *r, ps_text line, uint64_t *hash);
/* What a line means, met before or not: *row is 0 when it is no frame and no source line. */
int ps_line_get(ps_reader *r, ps_text line, uint32_t *row);
/* The same for a line that was looked for (`hash`) and that is a frame. */
int ps_line_add(ps_reader *r, ps_text line, uint64_t hash, const ps_frame *frame, uint32_t *row);
/* Between samples, when no row is in use: a new generation when this one is full. */
void ps_lines_settle(ps_reader *r);

/* frames.c */
/* The stack of the sample's items. */
profconv_id ps_stack(ps_reader *r, uint32_t process, int one_line);

/* branches.c */
int ps_branches_parse(ps_reader *r, ps_text line, size_t at);
int ps_branches_add(ps_reader *r, uint32_t process, uint64_t times);

/* events.c */
uint32_t ps_event_get(ps_reader *r, ps_text name); /* PS_NONE: too many, or no memory */
int ps_event_add(ps_reader *r, const ps_emitted *e);
int ps_events_finish(ps_reader *r);
/* A line of the header block, with its '#'. */
void ps_fact(ps_reader *r, ps_text line);
void ps_notes(ps_reader *r);

/* probe.c */
int ps_probe(void *user, const uint8_t *head, size_t size, int whole);

#endif
