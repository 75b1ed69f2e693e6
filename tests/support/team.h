/* SPDX-License-Identifier: MIT
 *
 * Threads that start at the same moment and share what the test gives them. Nothing here orders one thread's work against
 * another's - no lock, no queue - so that ThreadSanitizer sees every access that only luck keeps apart.
 */
#ifndef TEST_SUPPORT_TEAM_H
#define TEST_SUPPORT_TEAM_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <profconv/base.h>

enum { TEAM = 6 };

/* One thread. It says what went wrong in its own place: assertions belong to the main thread. */
typedef struct team_member {
    unsigned index;
    void *shared;
    char wrong[600];
    void (*work)(struct team_member *self);
    pthread_barrier_t *start;
} team_member;

static inline void team_wrong(team_member *self, const char *format, ...) PROFCONV_PRINTF(2, 3);
static inline void team_wrong(team_member *self, const char *format, ...) {
    va_list arguments;
    if (self->wrong[0])
        return;
    va_start(arguments, format);
    (void)vsnprintf(self->wrong, sizeof self->wrong, format, arguments);
    va_end(arguments);
}

static inline void *team_thread(void *member) {
    team_member *self = member;
    pthread_barrier_wait(self->start);
    self->work(self);
    return NULL;
}

/* Runs `work` in TEAM threads and waits for them: how many had something wrong, which is printed. */
static inline int team_run(void (*work)(team_member *self), void *shared) {
    static team_member members[TEAM];
    pthread_t threads[TEAM];
    pthread_barrier_t start;
    int wrong = 0;
    if (pthread_barrier_init(&start, NULL, TEAM))
        return TEAM;
    for (unsigned i = 0; i < TEAM; i++) {
        memset(&members[i], 0, sizeof members[i]);
        members[i].index = i;
        members[i].shared = shared;
        members[i].work = work;
        members[i].start = &start;
        if (pthread_create(&threads[i], NULL, team_thread, &members[i]))
            abort(); /* the others would wait for ever */
    }
    for (unsigned i = 0; i < TEAM; i++) {
        pthread_join(threads[i], NULL);
        if (members[i].wrong[0])
            fprintf(stderr, "thread %u: %s\n", i, members[i].wrong);
        wrong += members[i].wrong[0] != 0;
    }
    pthread_barrier_destroy(&start);
    return wrong;
}

/* ---- an allocator that all threads use at once ---- */

typedef struct team_heap {
    profconv_allocator allocator;
    atomic_llong live; /* bytes */
} team_heap;

static inline void *team_resize(void *user, void *p, size_t old_size, size_t new_size) {
    team_heap *heap = user;
    void *grown = NULL;
    if (new_size == 0)
        free(p);
    else if (!(grown = realloc(p, new_size)))
        return NULL;
    atomic_fetch_add_explicit(&heap->live, (long long)new_size - (long long)old_size, memory_order_relaxed);
    return grown;
}

static inline void team_heap_init(team_heap *heap) {
    memset(heap, 0, sizeof *heap);
    heap->allocator.struct_size = sizeof heap->allocator;
    heap->allocator.resize = team_resize;
    heap->allocator.user = heap;
}

#endif
