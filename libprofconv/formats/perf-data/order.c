/* SPDX-License-Identifier: MIT
 *
 * Time order. The recorder drains its ring buffers one after another, so records of several CPUs or threads are out of
 * order in the file. Records wait here until a FINISHED_ROUND says that nothing older can come: memory is bounded by
 * two rounds. Recordings without rounds are sorted whole up to a bound, past which the older half is let go; the bound
 * is low while every record came in order, as in files of one buffer and those that a tool put in order, and while
 * nothing but samples comes.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define CHUNK (1u << 17) /* two records of the largest size */

typedef struct pd_chunk {
    size_t used, live; /* bytes; records not yet delivered */
    struct pd_chunk *next;
    uint8_t data[];
} pd_chunk;

static pd_chunk *chunk_new(pd_reader *r) {
    pd_order *o = &r->order;
    pd_chunk *c = o->spare;
    if (c)
        o->spare = c->next;
    else if (!(c = (pd_chunk *)pfc_alloc(&r->mem, sizeof *c + CHUNK)))
        return NULL;
    c->used = c->live = 0;
    c->next = NULL;
    return c;
}

static void chunk_free(pd_reader *r, pd_chunk *c) { pfc_free(&r->mem, c, sizeof *c + CHUNK); }

/* One spare is kept; steady streams go between two or three chunks. */
static void chunk_release(pd_reader *r, pd_chunk *c) {
    if (r->order.spare)
        chunk_free(r, c);
    else
        r->order.spare = c;
}

/* Where several buffers come one after another, what may be due is waited for. Samples add up in any order, though: what
 * they must not miss is a change of maps or processes before them, and where none has come for long, little waits. */
static uint64_t bound(const pd_reader *r) {
    return r->order.disorder && r->order.samples_only < r->order_cap ? r->order_cap_disorder : r->order_cap;
}

int pd_order_push(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset, uint64_t time) {
    pd_order *o = &r->order;
    if (!o->current || o->current->used + size > CHUNK) {
        pd_chunk *fresh = chunk_new(r);
        if (!fresh)
            return pd_failed(r);
        if (o->current && o->current->live == 0)
            chunk_release(r, o->current);
        o->current = fresh;
    }
    pd_chunk *c = o->current;
    pd_queued entry = {time, c->data + c->used, c, offset};
    if (PFC_VEC_PUSH(&r->mem, &o->queue, entry))
        return pd_failed(r);
    memcpy(c->data + c->used, data, size);
    c->used += size;
    c->live++;
    o->bytes += size;
    if (time > o->max_time)
        o->max_time = time;
    o->disorder |= time < o->max_time;
    o->samples_only = pfc_load32(data, r->big) == PD_SAMPLE ? o->samples_only + size : 0;
    if (time < o->delivered)
        o->late++;
    if (o->bytes + o->queue.count * sizeof entry > bound(r)) {
        o->forced = 1;
        return pd_order_flush(r, 0);
    }
    return 0;
}

/* Merges queue[a..b) and queue[b..c) in place with the help of scratch; equal times keep their order. */
static void merge_runs(pd_queued *q, pd_queued *scratch, size_t a, size_t b, size_t c) {
    while (a < b && q[a].time <= q[b].time) /* the part that stands already */
        a++;
    size_t n = b - a;
    memcpy(scratch, q + a, n * sizeof *q);
    size_t i = 0, j = b, k = a;
    while (i < n && j < c)
        q[k++] = q[j].time < scratch[i].time ? q[j++] : scratch[i++];
    memcpy(q + k, scratch + i, (n - i) * sizeof *q);
}

/* Natural merge sort: the file is made of few long runs, one for each ring buffer and round. */
static int sort_queue(pd_reader *r) {
    pd_order *o = &r->order;
    pd_queued *q = o->queue.data;
    size_t count = o->queue.count, runs = 0;
    for (size_t i = 0; i < count;) {
        if (pfc_grow(&r->mem, (void **)(void *)&o->runs, &o->runs_capacity, runs + 2, sizeof *o->runs))
            return pd_failed(r);
        o->runs[runs++] = (uint32_t)i;
        for (i++; i < count && q[i - 1].time <= q[i].time; i++)
            ;
    }
    if (runs <= 1)
        return 0;
    o->runs[runs] = (uint32_t)count;
    if (pfc_grow(&r->mem, (void **)(void *)&o->scratch, &o->scratch_capacity, count, sizeof *o->scratch))
        return pd_failed(r);
    while (runs > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < runs; i += 2) {
            if (i + 1 < runs)
                merge_runs(q, o->scratch, o->runs[i], o->runs[i + 1], o->runs[i + 2]);
            o->runs[kept++] = o->runs[i];
        }
        o->runs[kept] = (uint32_t)count;
        runs = kept;
    }
    return 0;
}

/* Moves the records that still wait together, in their order. In a file whose times go back and forth each chunk keeps
 * a few, and none would be let go. */
static int compact(pd_reader *r) {
    pd_order *o = &r->order;
    pd_chunk *into = NULL;
    for (size_t i = 0; i < o->queue.count; i++) {
        pd_queued *e = &o->queue.data[i];
        size_t size = pfc_load16(e->data + 6, r->big);
        if ((!into || into->used + size > CHUNK) && !(into = chunk_new(r)))
            return pd_failed(r);
        memcpy(into->data + into->used, e->data, size);
        e->data = into->data + into->used;
        into->used += size;
        into->live++;
        if (--e->chunk->live == 0 && e->chunk != o->current)
            chunk_release(r, e->chunk);
        e->chunk = into;
    }
    if (into && o->current) {
        chunk_release(r, o->current); /* empty now */
        o->current = into;
    }
    return 0;
}

int pd_order_flush(pd_reader *r, uint64_t limit) {
    pd_order *o = &r->order;
    if (o->queue.count == 0)
        return 0;
    int rc = sort_queue(r);
    if (rc)
        return rc;
    size_t done = 0, half = o->queue.count / 2, count = o->queue.count;
    int by_half = limit == 0;
    while (done < count) {
        pd_queued *e = &o->queue.data[done];
        if (by_half ? done >= half : e->time > limit)
            break;
        size_t size = pfc_load16(e->data + 6, r->big);
        o->delivered = e->time > o->delivered ? e->time : o->delivered;
        rc = pd_deliver(r, e->data, size, e->offset, e->time);
        o->bytes -= size;
        done++;
        if (--e->chunk->live == 0 && e->chunk != o->current)
            chunk_release(r, e->chunk);
        if (rc)
            break;
    }
    o->queue.count = count - done;
    memmove(o->queue.data, o->queue.data + done, o->queue.count * sizeof *o->queue.data);
    if (o->current && o->current->live == 0)
        o->current->used = 0;
    return rc == 0 && by_half ? compact(r) : rc;
}

void pd_order_free(pd_reader *r) {
    pd_order *o = &r->order;
    for (size_t i = 0; i < o->queue.count; i++) {
        pd_chunk *c = o->queue.data[i].chunk;
        if (--c->live == 0 && c != o->current)
            chunk_free(r, c);
    }
    if (o->current)
        chunk_free(r, o->current);
    if (o->spare)
        chunk_free(r, o->spare);
    o->current = o->spare = NULL;
    PFC_VEC_FREE(&r->mem, &o->queue);
    pfc_free(&r->mem, o->scratch, o->scratch_capacity * sizeof *o->scratch);
    pfc_free(&r->mem, o->runs, o->runs_capacity * sizeof *o->runs);
    o->scratch = NULL;
    o->runs = NULL;
    o->scratch_capacity = o->runs_capacity = 0;
}
