/* SPDX-License-Identifier: MIT
 *
 * Output into memory, and to functions of the caller.
 */
#include "libprofconv/io/sink.h"

#include <errno.h>
#include <string.h>

#include "libprofconv/base/error.h"
#include "libprofconv/base/struct.h"

typedef struct memory_sink {
    pfc_sink base;
    void *data;
    size_t size;
    size_t capacity;
} memory_sink;

static int memory_write(pfc_sink *sink, const void *data, size_t size, profconv_error *error) {
    memory_sink *s = (memory_sink *)sink;
    sink->mem->failed = 0;
    if (size > SIZE_MAX - s->size || pfc_grow(sink->mem, &s->data, &s->capacity, s->size + size, 1))
        return pfc_mem_error(sink->mem, error);
    if (size)
        memcpy((unsigned char *)s->data + s->size, data, size);
    s->size += size;
    return PROFCONV_OK;
}

static int memory_close(pfc_sink *sink, int committed, profconv_error *error) {
    (void)sink;
    (void)committed;
    (void)error;
    return PROFCONV_OK;
}

static void memory_free(pfc_sink *sink) {
    memory_sink *s = (memory_sink *)sink;
    pfc_free(sink->mem, s->data, s->capacity);
    pfc_free(sink->mem, s, sizeof *s);
}

int pfc_sink_memory(pfc_sink **out, pfc_mem *mem, const char *name, profconv_error *error) {
    *out = NULL;
    memory_sink *s = (memory_sink *)pfc_alloc_zero(mem, sizeof *s);
    if (!s)
        return pfc_mem_error(mem, error);
    s->base.mem = mem;
    s->base.name = name;
    s->base.write = memory_write;
    s->base.close = memory_close;
    s->base.free = memory_free;
    *out = &s->base;
    return PROFCONV_OK;
}

int pfc_sink_memory_bytes(const pfc_sink *sink, const uint8_t **data, size_t *size) {
    if (sink->write != memory_write)
        return 0;
    const memory_sink *s = (const memory_sink *)sink;
    *data = s->size ? (const uint8_t *)s->data : (const uint8_t *)"";
    *size = s->size;
    return 1;
}

typedef struct callback_sink {
    pfc_sink base;
    profconv_output_callbacks callbacks;
} callback_sink;

static int callback_error(const pfc_sink *sink, const char *which, int status, profconv_error *error) {
    if (status > 0)
        return pfc_error_system(error, PROFCONV_E_CALLBACK, status, PROFCONV_NO_OFFSET, "%s: %s callback", sink->name,
                                which);
    return profconv_error_set(error, status, PROFCONV_NO_OFFSET, 0, "%s: %s callback: %s", sink->name, which,
                              profconv_status_string(status));
}

static int callback_write(pfc_sink *sink, const void *data, size_t size, profconv_error *error) {
    const profconv_output_callbacks *c = &((callback_sink *)sink)->callbacks;
    int status = c->write(c->user, data, size);
    return status ? callback_error(sink, "write", status, error) : PROFCONV_OK;
}

static int callback_close(pfc_sink *sink, int committed, profconv_error *error) {
    const profconv_output_callbacks *c = &((callback_sink *)sink)->callbacks;
    int status = c->close ? c->close(c->user, committed) : 0;
    return status && committed ? callback_error(sink, "close", status, error) : PROFCONV_OK;
}

static void callback_free(pfc_sink *sink) { pfc_free(sink->mem, sink, sizeof(callback_sink)); }

int pfc_sink_callbacks(pfc_sink **out, pfc_mem *mem, const profconv_output_callbacks *callbacks, const char *name,
                       profconv_error *error) {
    *out = NULL;
    profconv_output_callbacks given;
    int status = pfc_struct_copy(&given, sizeof given, callbacks, "profconv_output_callbacks", error);
    if (!status && !given.write)
        status = profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                    "profconv_output_callbacks: write is NULL");
    if (status)
        return status;
    callback_sink *s = (callback_sink *)pfc_alloc_zero(mem, sizeof *s);
    if (!s)
        return pfc_mem_error(mem, error);
    s->base.mem = mem;
    s->base.name = name;
    s->base.write = callback_write;
    s->base.close = callback_close;
    s->base.free = callback_free;
    s->callbacks = given;
    *out = &s->base;
    return PROFCONV_OK;
}
