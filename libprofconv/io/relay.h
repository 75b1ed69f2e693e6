/* SPDX-License-Identifier: MIT
 *
 * A few blocks of bytes that go from one thread to another and back: what lets inflating and deflating go on beside the
 * reader or writer. One side fills, the other takes; each waits for the other. Inside io/ only.
 */
#ifndef PFC_IO_RELAY_H
#define PFC_IO_RELAY_H

#include <pthread.h>

#include "libprofconv/base/mem.h"

#define PFC_RELAY_BLOCK ((size_t)128 << 10)
#define PFC_RELAY_BLOCKS 4u
/* Short inputs and outputs are not worth a thread: it is started after this many bytes. */
#define PFC_RELAY_FROM ((uint64_t)512 << 10)

typedef struct pfc_relay_block {
    size_t size;
    uint64_t done, total; /* for progress */
    unsigned char bytes[PFC_RELAY_BLOCK];
} pfc_relay_block;

typedef struct pfc_relay {
    pthread_mutex_t lock;
    pthread_cond_t turn; /* something has changed */
    pthread_t thread;
    pfc_relay_block *blocks;
    unsigned filled; /* blocks filled and not yet given back */
    unsigned first;  /* the oldest of them */
    int closed;      /* none will be filled any more */
    int stopped;     /* none will be taken any more */
} pfc_relay;

/* Starts the other side. 0: it runs, else there is no room or no thread, and nothing has changed. */
int pfc_relay_start(pfc_relay *relay, pfc_mem *mem, void *(*run)(void *user), void *user);
/* Waits for the other side to end, and frees. */
void pfc_relay_end(pfc_relay *relay, pfc_mem *mem);

/* The filling side: a free block, or NULL when nobody takes any more. Its bytes go on their way with pfc_relay_filled. */
pfc_relay_block *pfc_relay_free(pfc_relay *relay);
void pfc_relay_filled(pfc_relay *relay);
void pfc_relay_close(pfc_relay *relay);

/* The taking side: the oldest block, or NULL after the last. pfc_relay_taken gives it back. */
pfc_relay_block *pfc_relay_next(pfc_relay *relay);
void pfc_relay_taken(pfc_relay *relay);
void pfc_relay_stop(pfc_relay *relay);

#endif
