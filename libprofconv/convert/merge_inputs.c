/* SPDX-License-Identifier: MIT
 *
 * Many inputs into one builder. Reading is what can be done side by side: workers read inputs ahead, and the caller's
 * thread, which alone touches the builder, adds them up in their order, so that the sum does not depend on how many
 * threads there are. While the next profile is not ready, the caller's thread reads another one itself.
 *
 * At most one more profile than there are threads is in memory beside the sum; with one thread, one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "libprofconv/base/struct.h"
#include "libprofconv/base/text.h"
#include "libprofconv/base/thread.h"
#include "libprofconv/convert/convert.h"

#include <profconv/transform.h>

#define MAX_THREADS 256u

typedef enum slot_state { SLOT_EMPTY, SLOT_WAITING, SLOT_READING, SLOT_READY } slot_state;

typedef struct slot {
    slot_state state;
    profconv_merge_input given;
    profconv_profile *profile;
    int status;
    profconv_error error;
} slot;

typedef struct merger {
    profconv_builder *builder;
    const profconv_registry *registry;
    const profconv_convert_options *options;
    profconv_merge_source source;
    pfc_mem mem;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* a slot waits to be read, or the end has come */
    pthread_cond_t ready; /* a slot was read */
    pthread_t *threads;
    size_t thread_count;

    slot *slots; /* input i is in slots[i % slot_count] */
    size_t slot_count;
    uint64_t opened, started, merged; /* numbers of the next input to open, to read and to add */
    int ended;                        /* there are no more inputs */
    atomic_int stop;
    uint64_t bytes; /* read by now, for progress */
} merger;

static slot *slot_of(merger *m, uint64_t index) { return &m->slots[index % m->slot_count]; }

static void free_input(slot *s) {
    if (!s->given.borrowed)
        profconv_input_free(s->given.input);
    s->given.input = NULL;
}

/* ---- reading ---- */

/* Workers do not call the caller's progress; they only learn from it. */
static int stopped(void *user, const char *stage, uint64_t done, uint64_t total) {
    (void)stage;
    (void)done;
    (void)total;
    return atomic_load_explicit(&((merger *)user)->stop, memory_order_relaxed);
}

/* Reads what the slot holds. Without the lock: a slot in SLOT_READING is its reader's alone. */
static void read_slot(merger *m, slot *s, int on_caller) {
    profconv_convert_options options;
    int status = pfc_struct_copy(&options, sizeof options, s->given.options ? s->given.options : m->options,
                                 "profconv_convert_options", &s->error);
    if (!status) {
        options.threads = 1; /* there are others at work */
        options.allocator = profconv_builder_allocator(m->builder); /* and so of its budget */
        if (!on_caller) {
            options.progress = stopped;
            options.progress_user = m;
        }
        status = profconv_read(m->registry, s->given.input, &options, &s->profile, &s->error);
    }
    s->status = status;
}

/* Takes the next waiting slot; the lock is held. NULL: there is none. */
static slot *start_next(merger *m) {
    while (m->started < m->opened) {
        slot *s = slot_of(m, m->started++);
        if (s->state != SLOT_WAITING)
            continue; /* did not open */
        s->state = SLOT_READING;
        return s;
    }
    return NULL;
}

/* Reads a slot that was started. The lock is held, but not meanwhile. */
static void read_started(merger *m, slot *s, int on_caller) {
    pthread_mutex_unlock(&m->lock);
    read_slot(m, s, on_caller);
    pthread_mutex_lock(&m->lock);
    s->state = SLOT_READY;
    pthread_cond_signal(&m->ready);
}

static void *worker(void *user) {
    merger *m = (merger *)user;
    pthread_mutex_lock(&m->lock);
    for (;;) {
        slot *s = NULL;
        while (!stopped(m, NULL, 0, 0) && (s = start_next(m)) == NULL)
            pthread_cond_wait(&m->work, &m->lock);
        if (!s)
            break;
        read_started(m, s, 0);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- the caller's side ---- */

static int tick(merger *m, profconv_error *error) {
    const profconv_convert_options *options = m->options;
    if (!options->progress || options->progress(options->progress_user, "read", m->bytes, UINT64_MAX) == 0)
        return PROFCONV_OK;
    return profconv_error_set(error, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0, "cancelled");
}

/* Fills the free slots. An input that cannot be opened takes a slot too: its turn to be told of comes in order. */
static void open_ahead(merger *m) {
    while (!m->ended && m->opened - m->merged < m->slot_count) {
        slot *s = slot_of(m, m->opened);
        memset(s, 0, sizeof *s);
        s->status = m->source.open(m->source.user, m->opened, &s->given, &s->error);
        if (s->status == PROFCONV_OK && !s->given.input) {
            m->ended = 1;
            return;
        }
        pthread_mutex_lock(&m->lock);
        s->state = s->status == PROFCONV_OK ? SLOT_WAITING : SLOT_READY;
        m->opened++;
        pthread_cond_signal(&m->work);
        pthread_mutex_unlock(&m->lock);
    }
}

/* Waits for a worker, a tenth of a second at most, so that the caller can cancel. The lock is held. */
static int wait_a_while(merger *m, profconv_error *error) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (pthread_cond_timedwait(&m->ready, &m->lock, &until) == 0)
        return PROFCONV_OK;
    pthread_mutex_unlock(&m->lock);
    int status = tick(m, error);
    pthread_mutex_lock(&m->lock);
    return status;
}

/* Until the profile whose turn it is has been read. */
static int wait_for(merger *m, const slot *turn, profconv_error *error) {
    int status = PROFCONV_OK;
    pthread_mutex_lock(&m->lock);
    while (!status && turn->state != SLOT_READY) {
        slot *s = start_next(m);
        if (s)
            read_started(m, s, 1);
        else
            status = wait_a_while(m, error);
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

/* Adds one profile and says what became of it. A status other than 0 ends the merge. */
static int add(merger *m, slot *s, profconv_error *error) {
    int status = s->status;
    if (status == PROFCONV_OK &&
        (!m->source.accept || m->source.accept(m->source.user, m->merged, s->profile)))
        status = profconv_merge(m->builder, s->profile, s->given.weight, &s->error);
    profconv_profile_free(s->profile);
    s->profile = NULL;
    if (s->given.input) {
        uint64_t done, total;
        profconv_input_progress(s->given.input, &done, &total);
        m->bytes = pfc_add_sat(m->bytes, done);
    }
    int failed = status;
    if (m->source.done)
        status = m->source.done(m->source.user, m->merged, failed, &s->error);
    if (status == PROFCONV_OK)
        status = profconv_builder_status(m->builder, error); /* a sum that is lost, whatever the caller makes of it */
    else if (failed && error)
        *error = s->error;
    else if (!failed)
        profconv_error_set(error, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0, "ended after input %llu",
                           (unsigned long long)m->merged);
    free_input(s);
    return status;
}

static int run(merger *m, profconv_error *error) {
    int status = PROFCONV_OK;
    while (!status) {
        open_ahead(m);
        if (m->merged == m->opened)
            break;
        slot *turn = slot_of(m, m->merged);
        status = wait_for(m, turn, error);
        if (status)
            break;
        status = add(m, turn, error);
        turn->state = SLOT_EMPTY;
        m->merged++;
        if (!status)
            status = tick(m, error);
    }
    return status;
}

/* ---- start and end ---- */

/* Fewer threads than asked for is no failure: the caller's alone would do. */
static void start_threads(merger *m, size_t wanted) {
    while (m->thread_count < wanted && pfc_thread_start(&m->threads[m->thread_count], worker, m) == 0)
        m->thread_count++;
}

static void end_threads(merger *m) {
    pthread_mutex_lock(&m->lock);
    atomic_store_explicit(&m->stop, 1, memory_order_relaxed);
    pthread_cond_broadcast(&m->work);
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < m->thread_count; i++)
        pthread_join(m->threads[i], NULL);
}

/* Times to wait until are those of a clock that nobody sets. */
static int make_locks(merger *m, profconv_error *error) {
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) || pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) ||
        pthread_mutex_init(&m->lock, NULL) || pthread_cond_init(&m->work, NULL) ||
        pthread_cond_init(&m->ready, &monotonic))
        return profconv_error_set(error, PROFCONV_E_NOMEM, PROFCONV_NO_OFFSET, 0, "no lock could be made");
    pthread_condattr_destroy(&monotonic);
    return PROFCONV_OK;
}

static void free_locks(merger *m) {
    pthread_cond_destroy(&m->ready);
    pthread_cond_destroy(&m->work);
    pthread_mutex_destroy(&m->lock);
}

static void release(merger *m) {
    for (size_t i = 0; i < m->slot_count; i++) {
        profconv_profile_free(m->slots[i].profile);
        free_input(&m->slots[i]);
    }
}

int profconv_merge_inputs(profconv_builder *builder, const profconv_registry *registry,
                          const profconv_convert_options *options, const profconv_merge_source *source,
                          profconv_error *error) {
    merger m;
    profconv_convert_options given;
    memset(&m, 0, sizeof m);
    int status = pfc_struct_copy(&given, sizeof given, options, "profconv_convert_options", error);
    if (!status)
        status = pfc_struct_copy(&m.source, sizeof m.source, source, "profconv_merge_source", error);
    if (!status && !m.source.open)
        status = profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                    "profconv_merge_source: open is NULL");
    if (status)
        return status;
    size_t threads = given.threads > MAX_THREADS ? MAX_THREADS : given.threads;
    size_t workers = threads > 1 ? threads - 1 : 0;
    m.builder = builder;
    m.registry = registry;
    m.options = &given;
    m.slot_count = workers ? workers + 2 : 1;
    pfc_mem_init(&m.mem, given.allocator, 0);
    atomic_init(&m.stop, 0);
    m.slots = (slot *)pfc_alloc_zero(&m.mem, m.slot_count * sizeof *m.slots);
    m.threads = (pthread_t *)pfc_alloc_zero(&m.mem, (workers + 1) * sizeof *m.threads);
    status = m.slots && m.threads ? make_locks(&m, error) : pfc_mem_error(&m.mem, error);
    if (!status) {
        start_threads(&m, workers);
        status = run(&m, error);
        end_threads(&m);
        free_locks(&m);
        release(&m);
    }
    pfc_free(&m.mem, m.slots, m.slot_count * sizeof *m.slots);
    pfc_free(&m.mem, m.threads, (workers + 1) * sizeof *m.threads);
    return status;
}
