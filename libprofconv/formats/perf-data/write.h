/* SPDX-License-Identifier: MIT
 *
 * What the parts of the perf.data writer share. The data section is made twice: once to learn its size and the span of
 * time, which stand in front of it or are needed to spread the samples, and once for good. So each part that makes
 * records gives the same ones again after being reset.
 */
#ifndef PFC_PERF_DATA_WRITE_H
#define PFC_PERF_DATA_WRITE_H

#include <profconv/plugin.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/base/mem.h"
#include "libprofconv/base/text.h"
#include "libprofconv/io/io.h"

#define PW_SCOPE "perf-data"
#define PW_EXTERNAL_NAME "[external]" /* a mapping that stands for anywhere outside */

#define PW_NONE UINT32_MAX
#define PW_FIRST_TIME UINT64_C(1000000000) /* of samples without one, in ns; maps and names come before */
#define PW_MAP_TIME 1                      /* not 0, which would say that the recorder made them up */

/* Address spaces, numbered as the cpumode of records. */
enum { PW_KERNEL = 1, PW_USER = 2, PW_HYPERVISOR = 3, PW_GUEST_KERNEL = 4, PW_GUEST_USER = 5 };

/* A piece of an image at the run-time addresses that this file gives it. */
typedef struct pw_unit {
    uint64_t low, high;          /* model addresses in use or mapped; high is one past the last */
    uint64_t shift;              /* run-time address = model address + shift, modulo 2^64 */
    uint64_t to_offset;          /* file offset = model address + to_offset, modulo 2^64 */
    uint64_t start, size, pgoff; /* as recorded */
    profconv_id mapping;         /* a row of it: name, build-id, kind, pid */
    uint8_t space;
    uint8_t placed; /* has addresses */
    uint8_t native; /* wants to be at its own addresses */
    uint8_t fixed;  /* must be there */
    uint8_t hidden; /* the kernel, its addresses being hidden from the recorder */
} pw_unit;

typedef struct pw_event {
    uint32_t count_column, weight_column; /* PW_NONE: it has none */
    uint64_t period;                      /* of one sample, where no column says */
    profconv_string name;
    uint32_t type, modifiers;
    uint64_t config;
} pw_event;

typedef struct pw_thread {
    uint32_t pid, tid;
    profconv_id name;    /* first one it had */
    profconv_id current; /* while records are made */
} pw_thread;

typedef struct pw_pair {
    uint32_t pid, unit;
} pw_pair;

typedef struct pw_name_tid {
    profconv_id name;
    uint32_t tid;
} pw_name_tid;

typedef struct pw_settings {
    int branches; /* the branch records are written, not the stacks */
    uint64_t seed;
    uint32_t entries; /* of a branch stack */
    uint64_t max_entries;
    uint64_t repeat;
    const char *map_dir; /* of perf maps, or NULL */
    uint32_t pid;
} pw_settings;

typedef struct pw_trails pw_trails;

typedef struct pw_writer {
    pfc_mem mem;
    const profconv_profile *profile;
    profconv_report *report;
    profconv_error *error;
    profconv_output *output;
    pw_settings set;
    int status;

    /* maps */
    uint32_t mapping_count;
    uint32_t *unit_of; /* by mapping row; PW_NONE: not used */
    PFC_VEC(pw_unit) units;
    PFC_VEC(uint64_t) raw; /* used addresses in no mapping */
    uint64_t external;     /* an address in the mapping for anywhere outside */
    uint64_t external_start;
    uint64_t names_start; /* of the made-up code of functions without addresses */
    uint64_t names_size;  /* 0: there is none */

    /* samples */
    PFC_VEC(pw_event) events;
    PFC_VEC(pw_thread) threads;
    pfc_index thread_index;
    PFC_VEC(pw_pair) pairs; /* which process maps what */
    pfc_index pair_index;
    PFC_VEC(pw_name_tid) name_tids;
    PFC_VEC(uint64_t) chain;
    uint64_t no_address, frames;
    uint64_t lost_counts, lost_samples, negative, added, cut_chains, empty_stacks;
    uint64_t dropped_frames;
    pw_trails *trails;

    /* output */
    int counting;
    uint64_t bytes, samples, total_samples;
    uint64_t first_time, last_time; /* of the samples */
    int own_times;                  /* some sample told its own */
    pfc_buf record;
    size_t record_at;
} pw_writer;

/* ---- write_records.c ---- */

int pw_failed(pw_writer *w);                              /* takes the status over from memory */
void pw_put(pw_writer *w, const void *data, size_t size); /* to the output, or counted */
void pw_begin(pw_writer *w, uint32_t type, unsigned misc);
void pw_u32(pw_writer *w, uint32_t value);
void pw_u64(pw_writer *w, uint64_t value);
void pw_end(pw_writer *w);
void pw_comm(pw_writer *w, uint32_t pid, uint32_t tid, profconv_string name, uint64_t time);
void pw_map(pw_writer *w, uint32_t pid, const pw_unit *unit);
void pw_plain_map(pw_writer *w, uint32_t pid, uint64_t start, uint64_t size, uint64_t pgoff, const char *name);
/* Time of the sample with this number, where none tells its own. */
uint64_t pw_time_of(const pw_writer *w, uint64_t sample);
/* Time of the next sample when it has none of its own; counts it. */
uint64_t pw_next_time(pw_writer *w, uint64_t own);
/* Everything in front of the data section, then everything behind it. */
uint64_t pw_head(pw_writer *w, uint64_t data_size);
void pw_tail(pw_writer *w, uint64_t data_end);
/* Bytes of a build-id, 0 when the profile has none that fits. */
size_t pw_build_id(const pw_writer *w, profconv_id mapping, uint8_t out[20]);
/* "key: value" of attributes or, in a profile that came through pprof, of comments. */
profconv_string pw_fact(const pw_writer *w, const char *key);

/* ---- write_maps.c ---- */

/* Notes that a location is used. */
int pw_use_location(pw_writer *w, profconv_id location);
/* Gives every used piece of every image its run-time addresses. */
int pw_place(pw_writer *w);
uint64_t pw_address(const pw_writer *w, const profconv_location *location);
/* File offset as consumers see it. */
uint64_t pw_offset(const pw_writer *w, const profconv_location *location);
unsigned pw_space(const pw_writer *w, const profconv_location *location);
int pw_has_address(const profconv_location *location);

/* ---- write_events.c ---- */

int pw_find_events(pw_writer *w);

/* ---- write_stacks.c ---- */

int pw_stacks_prepare(pw_writer *w);
void pw_stacks_records(pw_writer *w);
void pw_stacks_notes(pw_writer *w);
int pw_write_perf_maps(pw_writer *w);

/* ---- write_trails.c ---- */

int pw_trails_prepare(pw_writer *w);
void pw_trails_records(pw_writer *w);
void pw_trails_notes(pw_writer *w);
void pw_trails_free(pw_writer *w);

#endif
