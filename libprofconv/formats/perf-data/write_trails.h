/* SPDX-License-Identifier: MIT
 *
 * Branch records as a graph, which write_graph.c makes and write_trails.c walks through.
 */
#ifndef PFC_PERF_DATA_WRITE_TRAILS_H
#define PFC_PERF_DATA_WRITE_TRAILS_H

#include "libprofconv/formats/perf-data/write.h"

#define PW_OUTSIDE UINT32_MAX

enum { PW_ENTER = 0, PW_LEAVE = 1 };

/* The way out of a place that is kept for last, when it is no edge of it. */
#define PW_EXIT_NONE UINT32_MAX /* of a ring, where the walk through it begins and ends */
#define PW_EXIT_STOP (UINT32_MAX - 1)
#define PW_EXIT_UNKNOWN (UINT32_MAX - 2)

typedef struct pw_spot {
    uint64_t address, offset;
    uint64_t out, in;      /* sums of the edges that lead away, and here */
    uint64_t left;         /* sum of what is left of those that lead away, but for the last exit */
    uint64_t stops;        /* walks that have yet to end here, but for the last exit */
    uint32_t first, count; /* edges that lead away */
    uint32_t exit;         /* the last exit: one of them, or PW_EXIT_*; one of its counts is used after all else */
    uint32_t exit_used;
} pw_spot;

typedef struct pw_edge {
    uint64_t count, left, mispredicted, cycles;
    uint64_t mispredicted_left, cycles_left;
    uint64_t tree; /* node of a Fenwick tree over the edges of one place */
    uint32_t from; /* place; PW_OUTSIDE */
    uint32_t to;
} pw_edge;

typedef PFC_VEC(pw_spot) pw_spots;

typedef struct pw_side {
    pw_spots places;
    PFC_VEC(pw_edge) edges; /* that lead away from them, in the order of places */
} pw_side;

typedef struct pw_entry {
    uint64_t from, to, from_offset, to_offset, flags;
} pw_entry;

struct pw_trails {
    pw_side side[2];
    PFC_VEC(pw_edge) incoming; /* branches from outside */
    PFC_VEC(pw_entry) stack;   /* of the sample being made, oldest first */
    uint64_t random;
    size_t ip_row; /* address whose counts are being used as instruction pointers */
    uint64_t ip_used;
    uint64_t bad_ranges, bad_range_counts, outside_edges, outside_counts;
    uint64_t unopened; /* walks that begin with an entry from outside that was not counted */
};

/* Whether a location is in a mapping. */
int pw_inside(const pw_writer *w, profconv_id location);
/* How many walks end at a place because nothing is recorded that leads on. */
uint64_t pw_stops(const pw_spot *place);

#endif
