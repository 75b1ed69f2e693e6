/* SPDX-License-Identifier: MIT
 *
 * Groups of files, one after another; with threads, the files whose turn has not come are opened and asked ahead.
 *
 * What takes time is to find a file, to inflate and read its debug information, and to walk the units that the addresses
 * hit: that is what workers do. The caller's thread, which alone touches the builder, makes lines of their answers in
 * the order of the groups, so that what comes out does not depend on who was first. As many files are open at a time as
 * there are threads.
 */
#include <pthread.h>
#include <string.h>

#include "libprofconv/base/thread.h"
#include "libprofconv/symbolize/pass.h"

typedef enum { JOB_WAITING, JOB_TAKEN, JOB_READY } job_state;

typedef struct job {
    pfc_opened opened;
    pfc_mem mem; /* of a binary that a worker opened, and of what it said */
    pfc_lookups lookups;
    job_state state;
} job;

typedef struct crew {
    const pfc_run *run;
    job *jobs;
    size_t count;
    size_t next;    /* to be taken by a worker */
    size_t turn;    /* whose locations are being named */
    size_t threads; /* workers and the caller's */
    int stop;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* the turn has moved */
    pthread_cond_t ready;
} crew;

/* Answers take some 70 bytes a frame: groups with more locations than this are asked by the caller's thread. */
#define MOST_LOCATIONS 200000u

static int keep(job *j, const pfc_frame *frames, size_t count) {
    pfc_lookups *l = &j->lookups;
    pfc_lookup row = {(uint32_t)l->frames.count, (uint32_t)count,
                             pfc_binary_frames_from_debug_info(j->opened.binary)};
    if (PFC_VEC_RESERVE(&j->mem, &l->frames, l->frames.count + count + 1))
        return 1;
    if (count)
        memcpy(l->frames.data + l->frames.count, frames, count * sizeof *frames);
    l->frames.count += count;
    return PFC_VEC_PUSH(&j->mem, &l->rows, row);
}

/* Asks for every address. When memory runs out, the caller's thread meets that again, and says so. */
static void look_up(const crew *c, job *j) {
    const pfc_group *group = j->opened.group;
    pfc_frame frames[PFC_MAX_FRAMES];
    size_t count = 0, size = group->count * sizeof(pfc_key);
    if (group->count > MOST_LOCATIONS)
        return;
    pfc_key *keys = pfc_alloc(&j->mem, size);
    int status = keys ? pfc_run_keys(c->run, &j->mem, j->opened.binary, group, keys, &count) : 1;
    for (size_t i = 0; !status && i < count; i++) {
        size_t n = 0;
        if (i > 0 && keys[i].key == keys[i - 1].key)
            continue;
        status = pfc_binary_frames(j->opened.binary, keys[i].key, c->run->frame_flags, frames, PFC_MAX_FRAMES, &n);
        if (!status)
            status = keep(j, frames, n);
    }
    pfc_free(&j->mem, keys, keys ? size : 0);
    j->mem.failed = 0;
    j->opened.known = status ? NULL : &j->lookups;
}

/* The next job that may be begun, now taken, or NULL; the lock is held. */
static job *take_next(crew *c) {
    while (c->next < c->count && c->next < c->turn + c->threads) {
        job *j = &c->jobs[c->next++];
        if (j->state == JOB_WAITING) {
            j->state = JOB_TAKEN;
            return j;
        }
    }
    return NULL;
}

static void do_ahead(crew *c, job *j) {
    pthread_mutex_unlock(&c->lock);
    pfc_opened_find(&j->opened, c->run, &j->mem);
    if (j->opened.binary)
        look_up(c, j);
    pthread_mutex_lock(&c->lock);
    j->state = JOB_READY;
    pthread_cond_signal(&c->ready);
}

static void *worker(void *user) {
    crew *c = (crew *)user;
    pthread_mutex_lock(&c->lock);
    while (!c->stop && c->next < c->count) {
        job *j = take_next(c);
        if (j)
            do_ahead(c, j);
        else
            pthread_cond_wait(&c->work, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Makes job `turn` ready. While a worker has it, the next ones are looked at here. */
static void make_ready(crew *c, size_t turn, pfc_run *run) {
    job *j = &c->jobs[turn], *other;
    pthread_mutex_lock(&c->lock);
    c->turn = turn;
    pthread_cond_broadcast(&c->work);
    int here = j->state == JOB_WAITING;
    if (here)
        j->state = JOB_TAKEN;
    while (!here && j->state != JOB_READY) {
        if ((other = take_next(c)) != NULL)
            do_ahead(c, other);
        else
            pthread_cond_wait(&c->ready, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    if (here)
        pfc_opened_find(&j->opened, run, run->mem);
}

static size_t start(crew *c, pthread_t *threads, size_t wanted) {
    size_t count = 0;
    while (count < wanted && pfc_thread_start(&threads[count], worker, c) == 0)
        count++;
    return count;
}

static void stop(crew *c, const pthread_t *threads, size_t count) {
    pthread_mutex_lock(&c->lock);
    c->stop = 1;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void end_job(job *j, pfc_run *run) {
    PFC_VEC_FREE(&j->mem, &j->lookups.frames);
    PFC_VEC_FREE(&j->mem, &j->lookups.rows);
    pfc_opened_end(&j->opened, run);
}

static int run_ahead(pfc_run *run, job *jobs, size_t count, size_t threads) {
    enum { MOST = 64 };
    pthread_t ids[MOST];
    crew c;
    memset(&c, 0, sizeof c);
    c.run = run;
    c.jobs = jobs;
    c.count = count;
    c.threads = threads > MOST ? MOST : threads;
    int status = PROFCONV_OK;
    for (size_t i = 0; !status && i < count; i++)
        pfc_mem_init(&jobs[i].mem, &run->mem->allocator, run->mem->limit);
    if (pthread_mutex_init(&c.lock, NULL) || pthread_cond_init(&c.work, NULL) || pthread_cond_init(&c.ready, NULL))
        return profconv_error_set(run->error, PROFCONV_E_NOMEM, PROFCONV_NO_OFFSET, 0, "no lock could be made");
    size_t started = start(&c, ids, (c.threads < count ? c.threads : count) - 1);
    for (size_t i = 0; !status && i < count; i++) {
        make_ready(&c, i, run);
        status = pfc_run_file(run, &jobs[i].opened);
        end_job(&jobs[i], run);
    }
    stop(&c, ids, started);
    pthread_cond_destroy(&c.ready);
    pthread_cond_destroy(&c.work);
    pthread_mutex_destroy(&c.lock);
    return status;
}

static int run_alone(pfc_run *run, const pfc_group *group) {
    pfc_opened opened;
    int status = pfc_opened_start(&opened, run, group);
    if (!status) {
        pfc_opened_find(&opened, run, run->mem);
        status = pfc_run_file(run, &opened);
    }
    pfc_opened_end(&opened, run);
    return status;
}

int pfc_run_files(pfc_run *run, const pfc_group *const *groups, size_t count) {
    size_t threads = run->builder->threads;
    int status = PROFCONV_OK;
    if (threads < 2 || count < 2) {
        for (size_t i = 0; !status && i < count; i++)
            status = run_alone(run, groups[i]);
        return status;
    }
    job *jobs = pfc_alloc_zero(run->mem, count * sizeof *jobs);
    if (!jobs)
        return run->mem->failed;
    for (size_t i = 0; !status && i < count; i++)
        status = pfc_opened_start(&jobs[i].opened, run, groups[i]);
    if (!status)
        status = run_ahead(run, jobs, count, threads);
    for (size_t i = 0; i < count; i++)
        end_job(&jobs[i], run);
    pfc_free(run->mem, jobs, count * sizeof *jobs);
    return status;
}
