/* SPDX-License-Identifier: MIT
 *
 * A profile for the Firefox Profiler: firefox.c gathers it, firefox_threads.c and firefox_tables.c write it.
 */
#ifndef PFC_VIEWERS_FIREFOX_H
#define PFC_VIEWERS_FIREFOX_H

#include "libprofconv/formats/viewers/view.h"

/* The version of the processed format that is written. Viewers bring older files up to their own version by themselves,
 * and refuse newer ones: it is the first one in which threads share all tables and whose table of sources is settled.
 */
#define FIREFOX_VERSION 61

/* Cells of the rows. Texts and frames are those of pfc_view_frames; rows count from 1, 0 is none. */
enum { LIB_PATH, LIB_BUILD_ID, LIB_NAME, LIB_WIDTH };
enum { FUNC_FRAME, FUNC_LIB, FUNC_WIDTH };
enum { FRAME_FUNC, FRAME_LINE, FRAME_CATEGORY, FRAME_DEPTH, FRAME_WIDTH };
enum { STACK_PREFIX, STACK_FRAME, STACK_WIDTH };
enum { THREAD_PID, THREAD_TID, THREAD_NAME, THREAD_WIDTH };

typedef struct firefox_sample {
    uint32_t thread;
    uint32_t stack;
    int64_t time; /* nanoseconds from the first one of all; 0 where it is not known */
    int64_t value;
} firefox_sample;

typedef struct firefox {
    pfc_view_writing v;
    pfc_view_rows libs, funcs, frames, stacks, threads;
    PFC_VEC(firefox_sample) samples; /* by thread, then by time */
    uint32_t *stack_of;              /* of each stack of the profile: its row; 0: not met */
    size_t stack_count;
    uint32_t *number; /* of each text: its index in the file, + 1 */
    uint32_t *source; /* of each text: its index among the sources, + 1 */
    size_t texts;
    uint32_t sources;
    uint32_t *order; /* of threads, as they are written */
    uint32_t thread_count;
    int timed;                      /* some samples have a time */
    int64_t interval;               /* nanoseconds */
    uint32_t group_end, group_name; /* of the process that is being written: end in `order`, text */
} firefox;

/* How values are told: what one number in the file is worth, and what the format calls it. */
typedef struct firefox_unit {
    const char *type; /* weightType */
    int decimals;     /* digits behind the point, or zeros to append where below 0 */
} firefox_unit;
firefox_unit pfc_firefox_unit(const firefox *w);
/* `value` / 10^decimals. */
void pfc_firefox_decimal(pfc_buf *out, int64_t value, int decimals);

/* All of it. `title` NULL: made from the profile. */
void pfc_firefox_file(firefox *w, const char *title);
/* Numbers the texts that the file has. 0 or a status. */
int pfc_firefox_number(firefox *w);
/* Everything but meta and threads. */
void pfc_firefox_tables(firefox *w);
/* What the categories of FRAME_CATEGORY are, as JSON. */
void pfc_firefox_categories(pfc_buf *out);

#endif
