/* SPDX-License-Identifier: MIT
 *
 * Branch records into samples. perf.data has no counts, so a branch taken n times must stand in n entries, and code run
 * from `begin` to `end` n times must lie n times between an entry that went to `begin` and a newer one that came from
 * `end`. A sample is a walk through the graph of write_graph.c; the walks use every edge as often as it was counted.
 *
 * Walks begin with the branches from outside and where more leads away from a place than to it, choose among what is
 * left in proportion to it, and end where more leads to a place than away: as many walks as there were samples in a
 * recording, which had its ends there. They are as long as they happen to be, on average as those.
 *
 * A walk that must end at a place of leaving, or grows longer than a branch stack may, ends with an entry to the
 * outside, which AutoFDO's tools do not count; in the second case the next one begins with a branch from that place, so
 * nothing is counted at the cut. A walk that begins at a place of entry for which no branch is known begins with an
 * entry from the outside.
 */
#include "libprofconv/formats/perf-data/write_trails.h"

#include <string.h>

#define BACK_EDGE_MAX 0x1000u /* a stack whose two newest entries are one longer loop loses one there */
#define RECORD_SAMPLE 9

static uint64_t next_random(pw_trails *t) { /* splitmix64 */
    uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- what is left ---- */

static void reset_edge(pw_edge *e) {
    e->left = e->count;
    e->mispredicted_left = e->mispredicted;
    e->cycles_left = e->cycles;
}

/* Every count is there again. Trees: node k of a place (from 1) sums the k & -k edges that end with it. */
static void reset(pw_writer *w) {
    pw_trails *t = w->trails;
    t->random = w->set.seed;
    t->ip_row = 0;
    t->ip_used = 0;
    t->unopened = 0;
    for (size_t i = 0; i < t->incoming.count; i++)
        reset_edge(&t->incoming.data[i]);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < t->side[side].places.count; i++) {
            pw_spot *p = &t->side[side].places.data[i];
            pw_edge *e = t->side[side].edges.data + p->first;
            p->left = p->out - (p->exit < p->count ? 1 : 0);
            p->stops = pw_stops(p) - (p->exit == PW_EXIT_STOP ? 1 : 0);
            p->exit_used = 0;
            for (uint32_t k = 0; k < p->count; k++) {
                reset_edge(&e[k]);
                e[k].tree = e[k].count - (p->exit == k ? 1 : 0);
            }
            for (uint32_t k = 1; k <= p->count; k++)
                if (k + (k & (0u - k)) <= p->count)
                    e[k + (k & (0u - k)) - 1].tree += e[k - 1].tree;
        }
}

/* Takes one of the ways on from a place at random, the last exit when there is no other. NULL: the walk ends here. */
static pw_edge *take_edge(pw_trails *t, int side, uint32_t place) {
    pw_spot *p = &t->side[side].places.data[place];
    pw_edge *e = t->side[side].edges.data + p->first;
    uint32_t at = 0, step = 1;
    if (p->left + p->stops == 0) {
        if (p->exit >= p->count || p->exit_used)
            return NULL;
        p->exit_used = 1;
        e[p->exit].left--;
        return &e[p->exit];
    }
    if (p->count > 1 || p->stops) {
        uint64_t target = next_random(t) % (p->left + p->stops);
        if (target >= p->left) {
            p->stops--;
            return NULL;
        }
        while (step <= p->count / 2)
            step *= 2;
        for (; step; step /= 2)
            if (at + step <= p->count && e[at + step - 1].tree <= target) {
                at += step;
                target -= e[at - 1].tree;
            }
    }
    for (uint32_t k = at + 1; k <= p->count; k += k & (0u - k))
        e[k - 1].tree--;
    p->left--;
    e[at].left--;
    return &e[at];
}

/* ---- entries and samples ---- */

enum { FLAG_MISPREDICTED = 1, FLAG_PREDICTED = 2, CYCLES_SHIFT = 4, CYCLES_MAX = 0xffff };

/* Spread over what is left of the branch, so that the sums come out: `left` counts were there before this one. */
static uint64_t flags_of(pw_edge *e, uint64_t left) {
    uint64_t cycles = e->cycles_left / left;
    uint64_t flags = e->mispredicted_left ? FLAG_MISPREDICTED : FLAG_PREDICTED;
    cycles = cycles > CYCLES_MAX ? CYCLES_MAX : cycles;
    e->cycles_left -= cycles;
    e->mispredicted_left -= e->mispredicted_left ? 1 : 0;
    return flags | cycles << CYCLES_SHIFT;
}

static void add_entry(pw_writer *w, uint32_t from, uint32_t to, uint64_t flags) {
    pw_trails *t = w->trails;
    const uint64_t outside = w->external;
    pw_entry e = {outside, outside, UINT64_MAX, UINT64_MAX, flags};
    if (from != PW_OUTSIDE) {
        e.from = t->side[PW_LEAVE].places.data[from].address;
        e.from_offset = t->side[PW_LEAVE].places.data[from].offset;
    }
    if (to != PW_OUTSIDE) {
        e.to = t->side[PW_ENTER].places.data[to].address;
        e.to_offset = t->side[PW_ENTER].places.data[to].offset;
    }
    if (PFC_VEC_PUSH(&w->mem, &t->stack, e))
        pw_failed(w);
}

/* The instruction pointer of the next sample: the sampled addresses in turn. Zero when none is left. */
static int next_ip(pw_writer *w, uint64_t *ip, unsigned *space) {
    const profconv_profile *p = w->profile;
    pw_trails *t = w->trails;
    for (; t->ip_row < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); t->ip_row++, t->ip_used = 0) {
        const profconv_address *row = profconv_profile_address(p, (uint32_t)t->ip_row);
        if (!pw_inside(w, row->location) || t->ip_used >= row->count)
            continue;
        const profconv_location *l = profconv_profile_location(p, row->location);
        *ip = pw_address(w, l);
        *space = pw_space(w, l);
        t->ip_used++;
        return 1;
    }
    *ip = w->external;
    *space = PW_USER;
    return 0;
}

static void sample(pw_writer *w, uint64_t ip, unsigned space, size_t from, size_t to) {
    const pw_trails *t = w->trails;
    pw_begin(w, RECORD_SAMPLE, space);
    pw_u64(w, 1);
    pw_u64(w, ip);
    pw_u32(w, w->set.pid);
    pw_u32(w, w->set.pid);
    pw_u64(w, pw_next_time(w, 0));
    pw_u64(w, w->events.data[0].period);
    pw_u64(w, to - from);
    for (size_t i = to; i > from; i--) { /* newest first */
        pw_u64(w, t->stack.data[i - 1].from);
        pw_u64(w, t->stack.data[i - 1].to);
        pw_u64(w, t->stack.data[i - 1].flags);
    }
    pw_end(w);
}

static void branch_sample(pw_writer *w, size_t from, size_t to) {
    uint64_t ip;
    unsigned space;
    next_ip(w, &ip, &space);
    sample(w, ip, space, from, to);
}

/* The walk is complete. When its two newest entries are the same long loop, the newest goes into a sample of its own,
 * and an entry from the same place to the outside ends the range in its stead. */
static void flush(pw_writer *w) {
    pw_trails *t = w->trails;
    size_t n = t->stack.count;
    if (n == 0 || w->status)
        return;
    pw_entry *top = n >= 2 ? &t->stack.data[n - 1] : NULL;
    if (top && top[0].from_offset == top[-1].from_offset && top[0].to_offset == top[-1].to_offset &&
        top->from_offset - top->to_offset > BACK_EDGE_MAX) {
        branch_sample(w, n - 1, n);
        top->to = w->external;
        top->to_offset = UINT64_MAX;
        top->flags = FLAG_PREDICTED;
    }
    branch_sample(w, 0, n);
    t->stack.count = 0;
}

/* ---- walks ---- */

/* Walks on from a place of entry that an entry of the stack went to, or, with `leave`, from one of leaving. */
static void walk(pw_writer *w, uint32_t place, int leave) {
    pw_trails *t = w->trails;
    while (!w->status) {
        if (!leave) {
            const pw_edge *range = take_edge(t, PW_ENTER, place);
            if (!range)
                break; /* the branch here was the newest */
            place = range->to;
        }
        leave = 0;
        pw_edge *e = take_edge(t, PW_LEAVE, place);
        if (!e) {
            add_entry(w, place, PW_OUTSIDE, FLAG_PREDICTED);
            break;
        }
        if (e->to != PW_OUTSIDE && t->stack.count + 1 >= w->set.entries) {
            add_entry(w, place, PW_OUTSIDE, FLAG_PREDICTED);
            flush(w);
        }
        add_entry(w, place, e->to, flags_of(e, e->left + 1));
        if (e->to == PW_OUTSIDE)
            break;
        place = e->to;
    }
    flush(w);
}

static void walks_from_outside(pw_writer *w) {
    pw_trails *t = w->trails;
    for (size_t i = 0; i < t->incoming.count; i++)
        for (pw_edge *e = &t->incoming.data[i]; e->left && !w->status;) {
            uint64_t left = e->left--;
            add_entry(w, PW_OUTSIDE, e->to, flags_of(e, left));
            walk(w, e->to, 0);
        }
    for (size_t i = 0; i < t->side[PW_ENTER].places.count; i++) {
        const pw_spot *p = &t->side[PW_ENTER].places.data[i];
        for (uint64_t k = p->in; k < p->out && !w->status; k++) {
            t->unopened++;
            add_entry(w, PW_OUTSIDE, (uint32_t)i, FLAG_PREDICTED);
            walk(w, (uint32_t)i, 0);
        }
    }
}

/* Then rings: a walk through one uses all of it. */
static void walks_from_places(pw_writer *w) {
    pw_trails *t = w->trails;
    for (int rings = 0; rings < 2; rings++)
        for (size_t i = 0; i < t->side[PW_LEAVE].places.count; i++) {
            const pw_spot *p = &t->side[PW_LEAVE].places.data[i];
            if (rings && p->exit == PW_EXIT_NONE && p->left && !w->status)
                walk(w, (uint32_t)i, 1);
            for (uint64_t k = p->in; !rings && k < p->out && !w->status; k++)
                walk(w, (uint32_t)i, 1);
        }
}

void pw_trails_records(pw_writer *w) {
    uint64_t ip;
    unsigned space;
    reset(w);
    for (size_t i = 0; i < w->units.count && !w->status; i++)
        if (w->units.data[i].placed && w->units.data[i].space == PW_USER)
            pw_map(w, w->set.pid, &w->units.data[i]);
    pw_plain_map(w, w->set.pid, w->external_start, 4096, UINT64_C(0x7ff000000000), PW_EXTERNAL_NAME);
    walks_from_outside(w);
    walks_from_places(w);
    while (!w->status && next_ip(w, &ip, &space)) /* those with branches come first: consumers look there */
        sample(w, ip, space, 0, 0);
}

static void note(pw_writer *w, profconv_note_kind kind, const char *cause, uint64_t rows, uint64_t sum,
                 const char *text) {
    if (rows)
        profconv_report_add(w->report, kind, cause, rows, sum > INT64_MAX ? INT64_MAX : (int64_t)sum,
                            PROFCONV_NO_OFFSET, 0, "%s", text);
}

void pw_trails_notes(pw_writer *w) {
    const pw_trails *t = w->trails;
    uint64_t outside = 0, outside_sum = 0;
    for (uint32_t i = 0, n = profconv_profile_rows(w->profile, PROFCONV_TABLE_ADDRESS); i < n; i++)
        if (!pw_inside(w, profconv_profile_address(w->profile, i)->location)) {
            outside++;
            outside_sum = pfc_add_sat(outside_sum, profconv_profile_address(w->profile, i)->count);
        }
    note(
        w, PROFCONV_NOTE_DROPPED, "range-unusable", t->bad_ranges, t->bad_range_counts,
        "ranges that run backwards, over 1 MiB or from one file to another: readers of perf.data take them for damage");
    note(w, PROFCONV_NOTE_DROPPED, "branch-outside", t->outside_edges, t->outside_counts,
         "branches with both ends outside every mapping");
    note(w, PROFCONV_NOTE_DROPPED, "address-outside", outside, outside_sum, "sampled addresses outside every mapping");
    note(w, PROFCONV_NOTE_INFO, "range-opened", t->unopened, 0,
         "ranges that no recorded branch leads to begin with an entry from outside");
}
