/* SPDX-License-Identifier: MIT
 *
 * Bytes of the caller's memory as a source, for gzip on top of it. Plain memory needs none: it is the window.
 */
#include "libprofconv/io/source.h"

#include <string.h>

typedef struct memory_source {
    pfc_source base;
    const unsigned char *data;
} memory_source;

static int memory_read(pfc_source *source, uint64_t at, void *buffer, size_t size, size_t *got, profconv_error *error) {
    (void)error;
    memory_source *s = (memory_source *)source;
    *got = 0;
    if (at >= source->size)
        return PROFCONV_OK;
    *got = size < source->size - at ? size : (size_t)(source->size - at);
    memcpy(buffer, s->data + at, *got);
    return PROFCONV_OK;
}

static void memory_free(pfc_source *source) { pfc_free(source->mem, source, sizeof(memory_source)); }

int pfc_source_memory(pfc_source **out, pfc_mem *mem, const void *data, size_t size, profconv_error *error) {
    *out = NULL;
    memory_source *s = (memory_source *)pfc_alloc_zero(mem, sizeof *s);
    if (!s)
        return pfc_mem_error(mem, error);
    s->base.read = memory_read;
    s->base.free = memory_free;
    s->base.mem = mem;
    s->base.name = "<memory>";
    s->base.size = size;
    s->base.seekable = 1;
    s->data = (const unsigned char *)data;
    *out = &s->base;
    return PROFCONV_OK;
}
