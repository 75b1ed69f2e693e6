/* SPDX-License-Identifier: MIT
 *
 * Branch records into samples. perf.data has no counts, so a branch taken n times must stand in n entries, and code run
 * from `begin` to `end` n times must lie n times between an entry that went to `begin` and a newer one that came from
 * `end`.
 *
 * Places where code is entered (targets, begins) and places where it is left (ends, sources) are the nodes of a graph;
 * a range leads from an entry place to a leaving one, a branch back. A sample is a walk through it, so the counts are
 * given exactly by walks that use every edge as often as it was counted. Walks begin where more leads away from a place
 * than to it (and the edges from outside), choose among what is left in proportion to it, and end where nothing is
 * left; what remains after those are rings, which can begin at any place of leaving.
 *
 * A walk that must end at a place of leaving, or grows longer than a branch stack, ends with an entry to the outside,
 * which no consumer counts; then the next one begins with a branch from that place, so nothing is counted at the cut. A
 * walk that begins at a place of entry for which no branch is known begins with an entry from the outside.
 */
#include "libprofconv/formats/perf-data/write.h"

#include <string.h>

#include "libprofconv/base/sort.h"

#define RANGE_MAX 0x100000u   /* consumers take longer ranges for damage */
#define BACK_EDGE_MAX 0x1000u /* a stack whose two newest entries are one longer loop loses one there */
#define RECORD_SAMPLE 9
#define OUTSIDE UINT32_MAX

enum { ENTER = 0, LEAVE = 1 };

typedef struct pw_spot {
    uint64_t address, offset;
    uint32_t first, count; /* edges that lead away */
    uint64_t left;         /* sum of what is left of them */
    uint64_t out, in;      /* as given */
    uint32_t unit;
    uint32_t space;
} pw_spot;

typedef struct pw_edge {
    uint64_t count, left, mispredicted, cycles;
    uint64_t mispredicted_left, cycles_left;
    uint64_t tree; /* node of a Fenwick tree over the edges of one place */
    uint32_t from; /* place; OUTSIDE */
    uint32_t to;
} pw_edge;

typedef struct pw_entry {
    uint64_t from, to, from_offset, to_offset, flags;
} pw_entry;

typedef struct pw_side {
    PFC_VEC(pw_spot) places;
    PFC_VEC(pw_edge) edges; /* that lead away from them, in the order of places */
} pw_side;

typedef PFC_VEC(pw_spot) pw_spots;

struct pw_trails {
    pw_side side[2];
    PFC_VEC(pw_edge) incoming; /* branches from outside */
    PFC_VEC(pw_entry) stack;   /* oldest first */
    uint64_t random;
    size_t ip_row; /* address whose counts are being used as instruction pointers */
    uint64_t ip_used;
    uint64_t bad_ranges, bad_range_counts, outside_edges, outside_counts, saturated;
    uint64_t unopened; /* walks that begin with an entry from outside that was not counted */
};

static uint64_t next_random(pw_trails *t) { /* splitmix64 */
    uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- places ---- */

static int inside(const pw_writer *w, profconv_id location) {
    const profconv_location *l = profconv_profile_location(w->profile, location);
    return location != 0 && l->mapping != 0;
}

static int add_place(pw_writer *w, int side, profconv_id location) {
    const profconv_location *l = profconv_profile_location(w->profile, location);
    pw_spot p;
    memset(&p, 0, sizeof p);
    p.address = pw_address(w, l);
    p.offset = pw_offset(w, l);
    p.unit = w->unit_of[l->mapping];
    p.space = pw_space(w, l);
    return PFC_VEC_PUSH(&w->mem, &w->trails->side[side].places, p) ? pw_failed(w) : 0;
}

/* Sorted by address, each once. */
static int sort_places(pw_writer *w, pw_side *side) {
    size_t n = side->places.count, bytes = n * sizeof(pfc_key);
    if (n == 0)
        return 0;
    pfc_key *keys = (pfc_key *)pfc_alloc(&w->mem, bytes);
    pw_spots sorted = {NULL, 0, 0};
    int status = !keys || PFC_VEC_RESERVE(&w->mem, &sorted, n);
    for (size_t i = 0; i < n && !status; i++) {
        pfc_key key = {side->places.data[i].address, 0, (uint32_t)i};
        keys[i] = key;
    }
    status = status || pfc_sort_keys(&w->mem, keys, n);
    for (size_t i = 0; i < n && !status; i++)
        if (i == 0 || keys[i].key != keys[i - 1].key)
            sorted.data[sorted.count++] = side->places.data[keys[i].id];
    if (!status) {
        PFC_VEC_FREE(&w->mem, &side->places);
        side->places.data = sorted.data;
        side->places.count = sorted.count;
        side->places.capacity = sorted.capacity;
    } else {
        PFC_VEC_FREE(&w->mem, &sorted);
    }
    pfc_free(&w->mem, keys, bytes);
    return status ? pw_failed(w) : 0;
}

static uint32_t find_place(const pw_writer *w, int side, profconv_id location) {
    uint64_t address = pw_address(w, profconv_profile_location(w->profile, location));
    const pw_side *s = &w->trails->side[side];
    size_t from = 0, to = s->places.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->places.data[middle].address < address)
            from = middle + 1;
        else
            to = middle;
    }
    return (uint32_t)from;
}

/* ---- edges ---- */

/* Ranges that consumers would take for damage, together with the branch before them. */
static int usable_range(const pw_writer *w, const profconv_range *r) {
    if (!inside(w, r->begin) || !inside(w, r->end))
        return 0;
    const profconv_location *b = profconv_profile_location(w->profile, r->begin);
    const profconv_location *e = profconv_profile_location(w->profile, r->end);
    const profconv_mapping *bm = profconv_profile_mapping(w->profile, b->mapping);
    const profconv_mapping *em = profconv_profile_mapping(w->profile, e->mapping);
    uint64_t begin = pw_offset(w, b), end = pw_offset(w, e);
    return bm->file == em->file && bm->build_id == em->build_id && begin <= end && end - begin <= RANGE_MAX;
}

/* Calls visit for the edges of each kind: (ENTER, LEAVE) a range, (LEAVE, ENTER) a branch, with OUTSIDE for no place.
 */
typedef int (*edge_visit)(pw_writer *w, int side, profconv_id from, profconv_id to, const profconv_branch *branch,
                          uint64_t count);

static int each_edge(pw_writer *w, edge_visit visit) {
    const profconv_profile *p = w->profile;
    int status = 0;
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n && !status; i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        if (r->count && usable_range(w, r))
            status = visit(w, ENTER, r->begin, r->end, NULL, r->count);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n && !status; i++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        if (b->count && (inside(w, b->from) || inside(w, b->to)))
            status = visit(w, LEAVE, b->from, b->to, b, b->count);
    }
    return status;
}

static int visit_places(pw_writer *w, int side, profconv_id from, profconv_id to, const profconv_branch *branch,
                        uint64_t count) {
    (void)branch;
    (void)count;
    int status = inside(w, from) ? add_place(w, side, from) : 0;
    return status || !inside(w, to) ? status : add_place(w, !side, to);
}

static int visit_degrees(pw_writer *w, int side, profconv_id from, profconv_id to, const profconv_branch *branch,
                         uint64_t count) {
    pw_trails *t = w->trails;
    (void)branch;
    if (inside(w, from)) {
        pw_spot *p = &t->side[side].places.data[find_place(w, side, from)];
        p->count++;
        p->out = pfc_add_sat(p->out, count);
    }
    if (inside(w, to)) {
        pw_spot *p = &t->side[!side].places.data[find_place(w, !side, to)];
        p->in = pfc_add_sat(p->in, count);
    }
    return 0;
}

static int visit_edges(pw_writer *w, int side, profconv_id from, profconv_id to, const profconv_branch *branch,
                       uint64_t count) {
    pw_trails *t = w->trails;
    pw_edge e;
    memset(&e, 0, sizeof e);
    e.count = count;
    e.mispredicted = branch ? (branch->mispredicted < count ? branch->mispredicted : count) : 0;
    e.cycles = branch ? branch->cycles : 0;
    e.from = inside(w, from) ? find_place(w, side, from) : OUTSIDE;
    e.to = inside(w, to) ? find_place(w, !side, to) : OUTSIDE;
    if (e.from == OUTSIDE)
        return PFC_VEC_PUSH(&w->mem, &t->incoming, e) ? pw_failed(w) : 0;
    pw_spot *p = &t->side[side].places.data[e.from];
    t->side[side].edges.data[p->first + p->count++] = e;
    return 0;
}

static int make_edges(pw_writer *w) {
    pw_trails *t = w->trails;
    for (int side = 0; side < 2; side++) {
        pw_side *s = &t->side[side];
        uint64_t at = 0;
        for (size_t i = 0; i < s->places.count; i++) {
            s->places.data[i].first = (uint32_t)at;
            at += s->places.data[i].count;
            s->places.data[i].count = 0; /* counted again when filled */
        }
        if (PFC_VEC_RESERVE(&w->mem, &s->edges, at ? at : 1))
            return pw_failed(w);
        s->edges.count = at;
    }
    return each_edge(w, visit_edges);
}

/* What cannot be written, and whether what can is small enough. */
static int weigh(pw_writer *w) {
    const profconv_profile *p = w->profile;
    pw_trails *t = w->trails;
    uint64_t sum = 0;
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n; i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        if (usable_range(w, r)) {
            sum = pfc_add_sat(sum, r->count);
            continue;
        }
        t->bad_ranges++;
        t->bad_range_counts = pfc_add_sat(t->bad_range_counts, r->count);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n; i++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        if (inside(w, b->from) || inside(w, b->to)) {
            sum = pfc_add_sat(sum, b->count);
            continue;
        }
        t->outside_edges++;
        t->outside_counts = pfc_add_sat(t->outside_counts, b->count);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i < n; i++)
        sum = pfc_add_sat(sum, profconv_profile_address(p, i)->count);
    if (sum > w->set.max_entries)
        return w->status = profconv_error_set(
                   w->error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0,
                   "%llu counts of branches, ranges and addresses would each become a record's entry, more than "
                   "perf-data.max-entries=%llu; autofdo-text or profgen-raw hold them as numbers",
                   (unsigned long long)sum, (unsigned long long)w->set.max_entries);
    return 0;
}

int pw_trails_prepare(pw_writer *w) {
    const profconv_profile *p = w->profile;
    pw_trails *t = w->trails = (pw_trails *)pfc_alloc_zero(&w->mem, sizeof *t);
    if (!t)
        return pw_failed(w);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n && !w->status; i++) {
        pw_use_location(w, profconv_profile_branch(p, i)->from);
        pw_use_location(w, profconv_profile_branch(p, i)->to);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n && !w->status; i++) {
        pw_use_location(w, profconv_profile_range(p, i)->begin);
        pw_use_location(w, profconv_profile_range(p, i)->end);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i < n && !w->status; i++)
        pw_use_location(w, profconv_profile_address(p, i)->location);
    int status = w->status ? w->status : pw_place(w);
    if (!status)
        status = weigh(w);
    if (!status)
        status = each_edge(w, visit_places);
    for (int side = 0; side < 2 && !status; side++)
        status = sort_places(w, &t->side[side]);
    if (!status)
        status = each_edge(w, visit_degrees);
    if (!status)
        status = make_edges(w);
    return status;
}

void pw_trails_free(pw_writer *w) {
    pw_trails *t = w->trails;
    if (!t)
        return;
    for (int side = 0; side < 2; side++) {
        PFC_VEC_FREE(&w->mem, &t->side[side].places);
        PFC_VEC_FREE(&w->mem, &t->side[side].edges);
    }
    PFC_VEC_FREE(&w->mem, &t->incoming);
    PFC_VEC_FREE(&w->mem, &t->stack);
    pfc_free(&w->mem, t, sizeof *t);
    w->trails = NULL;
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
            p->left = p->out;
            for (uint32_t k = 0; k < p->count; k++) {
                reset_edge(&e[k]);
                e[k].tree = e[k].count;
            }
            for (uint32_t k = 1; k <= p->count; k++)
                if (k + (k & (0u - k)) <= p->count)
                    e[k + (k & (0u - k)) - 1].tree += e[k - 1].tree;
        }
}

/* Takes one of the edges that lead away from a place with something left, at random. */
static pw_edge *take_edge(pw_trails *t, int side, uint32_t place) {
    pw_spot *p = &t->side[side].places.data[place];
    pw_edge *e = t->side[side].edges.data + p->first;
    uint32_t at = 0, step = 1;
    if (p->count > 1) {
        uint64_t target = next_random(t) % p->left;
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
    if (from != OUTSIDE) {
        e.from = t->side[LEAVE].places.data[from].address;
        e.from_offset = t->side[LEAVE].places.data[from].offset;
    }
    if (to != OUTSIDE) {
        e.to = t->side[ENTER].places.data[to].address;
        e.to_offset = t->side[ENTER].places.data[to].offset;
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
        if (!inside(w, row->location) || t->ip_used >= row->count)
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

static void walk_from_leave(pw_writer *w, uint32_t place);

/* Walks on from a place of entry that an entry of the stack went to. */
static void walk_from_enter(pw_writer *w, uint32_t place) {
    pw_trails *t = w->trails;
    while (!w->status) {
        if (t->side[ENTER].places.data[place].left == 0)
            break; /* the branch here was the newest */
        uint32_t leave = take_edge(t, ENTER, place)->to;
        uint64_t left = t->side[LEAVE].places.data[leave].left;
        if (left == 0 || t->stack.count + 1 >= w->set.entries) {
            add_entry(w, leave, OUTSIDE, FLAG_PREDICTED);
            flush(w);
            if (left == 0)
                return;
        }
        pw_edge *e = take_edge(t, LEAVE, leave);
        add_entry(w, leave, e->to, flags_of(e, e->left + 1));
        if (e->to == OUTSIDE)
            break;
        place = e->to;
    }
    flush(w);
}

static void walk_from_leave(pw_writer *w, uint32_t place) {
    pw_edge *e = take_edge(w->trails, LEAVE, place);
    add_entry(w, place, e->to, flags_of(e, e->left + 1));
    if (e->to == OUTSIDE)
        flush(w);
    else
        walk_from_enter(w, e->to);
}

static void walks_from_outside(pw_writer *w) {
    pw_trails *t = w->trails;
    for (size_t i = 0; i < t->incoming.count; i++)
        for (pw_edge *e = &t->incoming.data[i]; e->left && !w->status;) {
            uint64_t left = e->left--;
            add_entry(w, OUTSIDE, e->to, flags_of(e, left));
            walk_from_enter(w, e->to);
        }
    for (size_t i = 0; i < t->side[ENTER].places.count; i++) {
        const pw_spot *p = &t->side[ENTER].places.data[i];
        for (uint64_t k = p->in; k < p->out && p->left && !w->status; k++) {
            t->unopened++;
            add_entry(w, OUTSIDE, (uint32_t)i, FLAG_PREDICTED);
            walk_from_enter(w, (uint32_t)i);
        }
    }
}

static void walks_from_places(pw_writer *w) {
    pw_trails *t = w->trails;
    for (int rings = 0; rings < 2; rings++)
        for (size_t i = 0; i < t->side[LEAVE].places.count; i++) {
            const pw_spot *p = &t->side[LEAVE].places.data[i];
            for (uint64_t k = rings ? 0 : p->in; p->left && (rings || k < p->out) && !w->status; k++)
                walk_from_leave(w, (uint32_t)i);
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
        if (!inside(w, profconv_profile_address(w->profile, i)->location)) {
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
