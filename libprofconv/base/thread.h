/* SPDX-License-Identifier: MIT
 *
 * Threads of the library's own.
 */
#ifndef PFC_BASE_THREAD_H
#define PFC_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Starts a thread that takes no signals: they are the business of the threads that the program made. 0, or an errno value. */
static inline int pfc_thread_start(pthread_t *thread, void *(*run)(void *user), void *user) {
    sigset_t all, before;
    sigfillset(&all);
    int failed = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failed)
        return failed;
    failed = pthread_create(thread, NULL, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

#endif
