/* SPDX-License-Identifier: MIT
 *
 * A source that is read ahead on a thread of its own, so that inflating goes on while the reader works. The bytes, their
 * end and the error after them are those of the source inside.
 */
#include "libprofconv/io/source.h"

#include <string.h>

#include "libprofconv/io/relay.h"

typedef struct ahead_source {
    pfc_source base;
    pfc_source *inner;
    pfc_relay relay;
    int tried;   /* to start the thread */
    int running;
    uint64_t at; /* of the next byte that is handed out */

    uint64_t inner_at;    /* the thread's: of the next byte that it reads */
    int status;           /* what ended it */
    profconv_error error; /* why */

    pfc_relay_block *block; /* taken, `used` bytes of it handed out */
    size_t used;
    uint64_t done, total; /* progress at that block */
} ahead_source;

static void *read_on(void *user) {
    ahead_source *s = (ahead_source *)user;
    pfc_relay_block *block;
    while ((block = pfc_relay_free(&s->relay)) != NULL) {
        s->status = s->inner->read(s->inner, s->inner_at, block->bytes, sizeof block->bytes, &block->size, &s->error);
        if (s->status || block->size == 0)
            break;
        s->inner_at += block->size;
        pfc_source_progress(s->inner, &block->done, &block->total);
        pfc_relay_filled(&s->relay);
    }
    pfc_relay_close(&s->relay);
    return NULL;
}

static int ahead_read(pfc_source *source, uint64_t at, void *buffer, size_t size, size_t *got, profconv_error *error) {
    ahead_source *s = (ahead_source *)source;
    if (!s->tried && s->at >= PFC_RELAY_FROM) {
        s->tried = 1;
        s->inner_at = s->at;
        s->running = pfc_relay_start(&s->relay, source->mem, read_on, s) == 0;
    }
    if (!s->running) {
        int status = s->inner->read(s->inner, at, buffer, size, got, error);
        s->at += status ? 0 : *got;
        return status;
    }
    *got = 0;
    if (!s->block && (s->block = pfc_relay_next(&s->relay)) == NULL) {
        if (s->status && error)
            *error = s->error;
        return s->status;
    }
    s->done = s->block->done;
    s->total = s->block->total;
    size_t left = s->block->size - s->used;
    *got = size < left ? size : left;
    memcpy(buffer, s->block->bytes + s->used, *got);
    s->used += *got;
    if (s->used == s->block->size) {
        pfc_relay_taken(&s->relay);
        s->block = NULL;
        s->used = 0;
    }
    s->at += *got;
    return PROFCONV_OK;
}

static void ahead_free(pfc_source *source) {
    ahead_source *s = (ahead_source *)source;
    pfc_mem *mem = source->mem;
    if (s->running) {
        pfc_relay_stop(&s->relay);
        pfc_relay_end(&s->relay, mem);
    }
    s->inner->free(s->inner);
    pfc_free(mem, s, sizeof *s);
}

static void ahead_progress(const pfc_source *source, uint64_t *done, uint64_t *total) {
    const ahead_source *s = (const ahead_source *)source;
    if (s->running) {
        *done = s->done;
        *total = s->total;
    } else {
        pfc_source_progress(s->inner, done, total);
    }
}

void pfc_source_ahead(pfc_source **source, uint64_t at) {
    pfc_source *inner = *source;
    if (!inner || !inner->progress || inner->read == ahead_read)
        return;
    int failed = inner->mem->failed;
    ahead_source *s = (ahead_source *)pfc_alloc_zero(inner->mem, sizeof *s);
    inner->mem->failed = failed;
    if (!s)
        return;
    s->inner = inner;
    s->at = at;
    s->base = *inner;
    s->base.read = ahead_read;
    s->base.progress = ahead_progress;
    s->base.free = ahead_free;
    *source = &s->base;
}
