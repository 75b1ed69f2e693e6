/* SPDX-License-Identifier: MIT
 *
 * Bytes from functions of the caller, whose answers are not trusted.
 */
#include "libprofconv/io/source.h"

#include <errno.h>

#include "libprofconv/base/error.h"

typedef struct callback_source {
    pfc_source base;
    profconv_input_callbacks callbacks;
} callback_source;

/* A callback may hand EINTR through, but one that always does is not waited for. */
#define CALLBACK_RETRIES 1000

static int callback_read(pfc_source *source, uint64_t at, void *buffer, size_t size, size_t *got,
                         profconv_error *error) {
    const profconv_input_callbacks *c = &((callback_source *)source)->callbacks;
    int status, tries = 0;
    do {
        *got = 0;
        status = c->read_at ? c->read_at(c->user, at, buffer, size, got) : c->read(c->user, buffer, size, got);
    } while (status == EINTR && tries++ < CALLBACK_RETRIES);
    if (status == 0 && *got <= size)
        return PROFCONV_OK;
    size_t claimed = *got;
    *got = 0;
    if (status == 0)
        return profconv_error_set(error, PROFCONV_E_CALLBACK, at, 0,
                                  "%s: read callback at offset %llu gave %zu bytes, at most %zu were asked for",
                                  source->name, (unsigned long long)at, claimed, size);
    if (status > 0)
        return pfc_error_system(error, PROFCONV_E_CALLBACK, status, at, "%s: read callback at offset %llu",
                                source->name, (unsigned long long)at);
    return profconv_error_set(error, status, at, 0, "%s: read callback at offset %llu: %s", source->name,
                              (unsigned long long)at, profconv_status_string(status));
}

static void callback_free(pfc_source *source) {
    callback_source *s = (callback_source *)source;
    if (s->callbacks.close)
        s->callbacks.close(s->callbacks.user);
    pfc_free(source->mem, s, sizeof *s);
}

void pfc_source_callbacks_forget(pfc_source *source) { ((callback_source *)source)->callbacks.close = NULL; }

int pfc_source_callbacks(pfc_source **out, pfc_mem *mem, const profconv_input_callbacks *callbacks, const char *name,
                         profconv_error *error) {
    *out = NULL;
    callback_source *s = (callback_source *)pfc_alloc_zero(mem, sizeof *s);
    if (!s)
        return pfc_mem_error(mem, error);
    s->base.read = callback_read;
    s->base.free = callback_free;
    s->base.mem = mem;
    s->base.name = name;
    s->base.size = UINT64_MAX;
    s->callbacks = *callbacks;
    if (callbacks->read_at) {
        s->base.seekable = 1;
        if (callbacks->size)
            s->base.size = callbacks->size(callbacks->user);
    }
    *out = &s->base;
    return PROFCONV_OK;
}
