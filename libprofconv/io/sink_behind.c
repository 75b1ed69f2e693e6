/* SPDX-License-Identifier: MIT
 *
 * A sink that works on a thread of its own, so that deflating goes on beside the writer. A failure comes out of the next
 * write, or of close, which waits for everything.
 */
#include "libprofconv/io/sink.h"

#include <string.h>

#include "libprofconv/io/relay.h"

typedef struct behind_sink {
    pfc_sink base;
    pfc_sink *inner;
    pfc_relay relay;
    int tried;      /* to start the thread */
    int running;
    uint64_t taken; /* bytes, before the thread */
    pfc_relay_block *block; /* being filled */

    int status;           /* the thread's; to be read once the relay says that it has stopped */
    profconv_error error; /* of it */
} behind_sink;

static void *write_on(void *user) {
    behind_sink *s = (behind_sink *)user;
    pfc_relay_block *block;
    while (!s->status && (block = pfc_relay_next(&s->relay)) != NULL) {
        s->status = s->inner->write(s->inner, block->bytes, block->size, &s->error);
        if (!s->status)
            pfc_relay_taken(&s->relay);
    }
    pfc_relay_stop(&s->relay);
    return NULL;
}

static int failure(const behind_sink *s, profconv_error *error) {
    if (s->status && error)
        *error = s->error;
    return s->status;
}

static int behind_write(pfc_sink *sink, const void *data, size_t size, profconv_error *error) {
    behind_sink *s = (behind_sink *)sink;
    const unsigned char *p = (const unsigned char *)data;
    if (!s->tried && s->taken >= PFC_RELAY_FROM) {
        s->tried = 1;
        s->running = pfc_relay_start(&s->relay, sink->mem, write_on, s) == 0;
    }
    if (!s->running) {
        s->taken += size;
        return s->inner->write(s->inner, data, size, error);
    }
    while (size) {
        if (!s->block) {
            if ((s->block = pfc_relay_free(&s->relay)) == NULL)
                return failure(s, error);
            s->block->size = 0;
        }
        size_t room = sizeof s->block->bytes - s->block->size, part = size < room ? size : room;
        memcpy(s->block->bytes + s->block->size, p, part);
        s->block->size += part;
        p += part;
        size -= part;
        if (part == room) {
            s->block = NULL;
            pfc_relay_filled(&s->relay);
        }
    }
    return PROFCONV_OK;
}

/* Waits until all is written. */
static void finish(behind_sink *s, int committed) {
    if (!s->running)
        return;
    if (committed && s->block)
        pfc_relay_filled(&s->relay);
    s->block = NULL;
    pfc_relay_close(&s->relay);
    pfc_relay_end(&s->relay, s->base.mem);
    s->running = 0;
}

static int behind_close(pfc_sink *sink, int committed, profconv_error *error) {
    behind_sink *s = (behind_sink *)sink;
    finish(s, committed);
    int closed = s->inner->close(s->inner, committed && !s->status, s->status ? NULL : error);
    return s->status ? failure(s, error) : closed;
}

static void behind_free(pfc_sink *sink) {
    behind_sink *s = (behind_sink *)sink;
    pfc_mem *mem = sink->mem;
    s->inner->free(s->inner);
    pfc_free(mem, s, sizeof *s);
}

void pfc_sink_behind(pfc_sink **sink) {
    pfc_sink *inner = *sink;
    int failed = inner->mem->failed;
    behind_sink *s = (behind_sink *)pfc_alloc_zero(inner->mem, sizeof *s);
    inner->mem->failed = failed;
    if (!s)
        return;
    s->base.write = behind_write;
    s->base.close = behind_close;
    s->base.free = behind_free;
    s->base.mem = inner->mem;
    s->base.name = inner->name;
    s->inner = inner;
    *sink = &s->base;
}
