/* SPDX-License-Identifier: MIT
 *
 * See relay.h.
 */
#include "libprofconv/io/relay.h"

#include <string.h>

#include "libprofconv/base/thread.h"

int pfc_relay_start(pfc_relay *relay, pfc_mem *mem, void *(*run)(void *user), void *user) {
    int failed = mem->failed;
    memset(relay, 0, sizeof *relay);
    relay->blocks = (pfc_relay_block *)pfc_alloc(mem, PFC_RELAY_BLOCKS * sizeof *relay->blocks);
    mem->failed = failed;
    if (!relay->blocks)
        return 1;
    if (pthread_mutex_init(&relay->lock, NULL) == 0) {
        if (pthread_cond_init(&relay->turn, NULL) == 0) {
            if (pfc_thread_start(&relay->thread, run, user) == 0)
                return 0;
            pthread_cond_destroy(&relay->turn);
        }
        pthread_mutex_destroy(&relay->lock);
    }
    pfc_free(mem, relay->blocks, PFC_RELAY_BLOCKS * sizeof *relay->blocks);
    return 1;
}

void pfc_relay_end(pfc_relay *relay, pfc_mem *mem) {
    pthread_join(relay->thread, NULL);
    pthread_cond_destroy(&relay->turn);
    pthread_mutex_destroy(&relay->lock);
    pfc_free(mem, relay->blocks, PFC_RELAY_BLOCKS * sizeof *relay->blocks);
}

pfc_relay_block *pfc_relay_free(pfc_relay *relay) {
    pfc_relay_block *block = NULL;
    pthread_mutex_lock(&relay->lock);
    while (relay->filled == PFC_RELAY_BLOCKS && !relay->stopped)
        pthread_cond_wait(&relay->turn, &relay->lock);
    if (!relay->stopped)
        block = &relay->blocks[(relay->first + relay->filled) % PFC_RELAY_BLOCKS];
    pthread_mutex_unlock(&relay->lock);
    return block;
}

pfc_relay_block *pfc_relay_next(pfc_relay *relay) {
    pfc_relay_block *block = NULL;
    pthread_mutex_lock(&relay->lock);
    while (relay->filled == 0 && !relay->closed)
        pthread_cond_wait(&relay->turn, &relay->lock);
    if (relay->filled)
        block = &relay->blocks[relay->first];
    pthread_mutex_unlock(&relay->lock);
    return block;
}

/* One side's change, which the other may be waiting for. */
static void change(pfc_relay *relay, unsigned filled, unsigned taken, int closed, int stopped) {
    pthread_mutex_lock(&relay->lock);
    relay->filled += filled;
    relay->filled -= taken;
    relay->first = (relay->first + taken) % PFC_RELAY_BLOCKS;
    relay->closed |= closed;
    relay->stopped |= stopped;
    pthread_cond_signal(&relay->turn);
    pthread_mutex_unlock(&relay->lock);
}

void pfc_relay_filled(pfc_relay *relay) { change(relay, 1, 0, 0, 0); }
void pfc_relay_taken(pfc_relay *relay) { change(relay, 0, 1, 0, 0); }
void pfc_relay_close(pfc_relay *relay) { change(relay, 0, 0, 1, 0); }
void pfc_relay_stop(pfc_relay *relay) { change(relay, 0, 0, 0, 1); }
