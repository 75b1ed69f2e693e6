/* SPDX-License-Identifier: MIT
 *
 * Branch records as a graph. Places where code is entered (targets, begins) and places where it is left (ends, sources)
 * are the nodes; a range leads from an entry place to a leaving one, a branch back. What samples have to show is every
 * edge as often as it was counted, by walks that begin where more leads away than to a place and end where more leads
 * to it than away.
 *
 * So that walks which choose at random leave nothing behind, each place keeps one count of one edge for last: the first
 * step of a shortest way from there to an end. Such last exits form trees, and a walk that uses them last can only get
 * stuck where it has to end, everything else being used up by then (the theorem of de Bruijn, van Aardenne-Ehrenfest,
 * Smith and Tutte). Parts of the graph without an end are rings: one place of each is where its walk begins and ends.
 */
#include "libprofconv/formats/perf-data/write_trails.h"

#include <string.h>

#include "libprofconv/base/sort.h"

#define RANGE_MAX 0x100000u /* consumers take longer ranges for damage */

/* ---- places ---- */

int pw_inside(const pw_writer *w, profconv_id location) {
    const profconv_location *l = profconv_profile_location(w->profile, location);
    return location != 0 && l->mapping != 0;
}

static int add_place(pw_writer *w, int side, profconv_id location) {
    const profconv_location *l = profconv_profile_location(w->profile, location);
    pw_spot p;
    memset(&p, 0, sizeof p);
    p.address = pw_address(w, l);
    p.offset = pw_offset(w, l);
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
    if (!pw_inside(w, r->begin) || !pw_inside(w, r->end))
        return 0;
    const profconv_location *b = profconv_profile_location(w->profile, r->begin);
    const profconv_location *e = profconv_profile_location(w->profile, r->end);
    const profconv_mapping *bm = profconv_profile_mapping(w->profile, b->mapping);
    const profconv_mapping *em = profconv_profile_mapping(w->profile, e->mapping);
    uint64_t begin = pw_offset(w, b), end = pw_offset(w, e);
    return bm->file == em->file && bm->build_id == em->build_id && begin <= end && end - begin <= RANGE_MAX;
}

/* Calls visit for the edges of each kind: (PW_ENTER, PW_LEAVE) a range, (PW_LEAVE, PW_ENTER) a branch, with PW_OUTSIDE
 * for no place.
 */
typedef int (*edge_visit)(pw_writer *w, int side, profconv_id from, profconv_id to, const profconv_branch *branch,
                          uint64_t count);

static int each_edge(pw_writer *w, edge_visit visit) {
    const profconv_profile *p = w->profile;
    int status = 0;
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n && !status; i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        if (r->count && usable_range(w, r))
            status = visit(w, PW_ENTER, r->begin, r->end, NULL, r->count);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n && !status; i++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        if (b->count && (pw_inside(w, b->from) || pw_inside(w, b->to)))
            status = visit(w, PW_LEAVE, b->from, b->to, b, b->count);
    }
    return status;
}

static int visit_places(pw_writer *w, int side, profconv_id from, profconv_id to, const profconv_branch *branch,
                        uint64_t count) {
    (void)branch;
    (void)count;
    int status = pw_inside(w, from) ? add_place(w, side, from) : 0;
    return status || !pw_inside(w, to) ? status : add_place(w, !side, to);
}

static int visit_degrees(pw_writer *w, int side, profconv_id from, profconv_id to, const profconv_branch *branch,
                         uint64_t count) {
    pw_trails *t = w->trails;
    (void)branch;
    if (pw_inside(w, from)) {
        pw_spot *p = &t->side[side].places.data[find_place(w, side, from)];
        p->count++;
        p->out = pfc_add_sat(p->out, count);
    }
    if (pw_inside(w, to)) {
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
    e.from = pw_inside(w, from) ? find_place(w, side, from) : PW_OUTSIDE;
    e.to = pw_inside(w, to) ? find_place(w, !side, to) : PW_OUTSIDE;
    if (e.from == PW_OUTSIDE)
        return PFC_VEC_PUSH(&w->mem, &t->incoming, e) ? pw_failed(w) : 0;
    pw_spot *p = &t->side[side].places.data[e.from];
    t->side[side].edges.data[p->first + p->count++] = e;
    return 0;
}

static int make_edges(pw_writer *w) {
    pw_trails *t = w->trails;
    for (int side = 0; side < 2; side++) {
        pw_side *s = &t->side[side];
        size_t at = 0;
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

/* ---- last exits ---- */

uint64_t pw_stops(const pw_spot *place) { return place->in > place->out ? place->in - place->out : 0; }

/* The graph backwards: edges by the place that they lead to, places of leaving after those of entry. */
typedef struct backwards {
    uint32_t *first, *edges, *queue;
    size_t places, edge_count, tail;
    uint32_t enter_places;
} backwards;

static uint32_t node_of(const backwards *b, int side, uint32_t place) {
    return side == PW_ENTER ? place : b->enter_places + place;
}

static void backwards_free(pw_writer *w, backwards *b) {
    pfc_free(&w->mem, b->first, b->first ? (b->places + 2) * sizeof *b->first : 0);
    pfc_free(&w->mem, b->edges, b->edges ? (b->edge_count + 1) * sizeof *b->edges : 0);
    pfc_free(&w->mem, b->queue, b->queue ? (b->places + 1) * sizeof *b->queue : 0);
}

static int turn_round(pw_writer *w, backwards *b) {
    const pw_trails *t = w->trails;
    b->enter_places = (uint32_t)t->side[PW_ENTER].places.count;
    b->places = (size_t)b->enter_places + t->side[PW_LEAVE].places.count;
    b->edge_count = t->side[PW_ENTER].edges.count + t->side[PW_LEAVE].edges.count;
    b->first = (uint32_t *)pfc_alloc_zero(&w->mem, (b->places + 2) * sizeof *b->first);
    b->edges = (uint32_t *)pfc_alloc(&w->mem, (b->edge_count + 1) * sizeof *b->edges);
    b->queue = (uint32_t *)pfc_alloc(&w->mem, (b->places + 1) * sizeof *b->queue);
    if (w->mem.failed)
        return pw_failed(w);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < t->side[side].edges.count; i++)
            if (t->side[side].edges.data[i].to != PW_OUTSIDE)
                b->first[node_of(b, !side, t->side[side].edges.data[i].to) + 2]++;
    for (size_t i = 2; i < b->places + 2; i++)
        b->first[i] += b->first[i - 1];
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < t->side[side].edges.count; i++)
            if (t->side[side].edges.data[i].to != PW_OUTSIDE)
                b->edges[b->first[node_of(b, !side, t->side[side].edges.data[i].to) + 1]++] = (uint32_t)i;
    return 0;
}

static void reach(backwards *b, pw_spot *place, uint32_t node, uint32_t exit) {
    place->exit = exit;
    b->queue[b->tail++] = node;
}

/* From the places in the queue on, backwards: the edge by which a place is met first is its last exit. */
static void spread(pw_writer *w, backwards *b, size_t *head) {
    pw_trails *t = w->trails;
    while (*head < b->tail) {
        uint32_t node = b->queue[(*head)++];
        int side = node < b->enter_places ? PW_LEAVE : PW_ENTER; /* that edges to it come from */
        for (uint32_t i = b->first[node]; i < b->first[node + 1]; i++) {
            uint32_t from = t->side[side].edges.data[b->edges[i]].from;
            pw_spot *place = &t->side[side].places.data[from];
            if (place->exit == PW_EXIT_UNKNOWN)
                reach(b, place, node_of(b, side, from), b->edges[i] - place->first);
        }
    }
}

static int find_exits(pw_writer *w) {
    pw_trails *t = w->trails;
    backwards b = {NULL, NULL, NULL, 0, 0, 0, 0};
    size_t head = 0;
    int status = turn_round(w, &b);
    for (int side = 0; side < 2 && !status; side++)
        for (uint32_t i = 0; i < t->side[side].places.count; i++) {
            pw_spot *p = &t->side[side].places.data[i];
            p->exit = PW_EXIT_UNKNOWN;
            if (pw_stops(p))
                reach(&b, p, node_of(&b, side, i), PW_EXIT_STOP);
            for (uint32_t k = 0; k < p->count && p->exit == PW_EXIT_UNKNOWN; k++)
                if (t->side[side].edges.data[p->first + k].to == PW_OUTSIDE)
                    reach(&b, p, node_of(&b, side, i), k);
        }
    if (!status)
        spread(w, &b, &head);
    for (uint32_t i = 0; i < t->side[PW_LEAVE].places.count && !status; i++) {
        pw_spot *p = &t->side[PW_LEAVE].places.data[i];
        if (p->exit != PW_EXIT_UNKNOWN)
            continue;
        reach(&b, p, node_of(&b, PW_LEAVE, i), PW_EXIT_NONE);
        spread(w, &b, &head);
    }
    backwards_free(w, &b);
    return status;
}

/* ---- the whole ---- */

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
        if (pw_inside(w, b->from) || pw_inside(w, b->to)) {
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
    if (!status)
        status = find_exits(w);
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

