/* SPDX-License-Identifier: MIT
 *
 * Outputs: buffering, gzip, the sticky error, and the one moment at which the bytes are committed.
 */
#include "libprofconv/io/options.h"
#include "libprofconv/io/io.h"

#include <string.h>

#include "libprofconv/base/budget.h"
#include "libprofconv/io/sink.h"
#include "libprofconv/io/zutil.h"

#define OUTPUT_BUFFER ((size_t)64 << 10)
#define MEMORY_LEAST ((uint64_t)4 << 20) /* a budget for a profile below this is not held against the buffers */

struct profconv_output {
    pfc_mem mem;
    char *name;
    pfc_sink *sink;
    unsigned char *buffer; /* OUTPUT_BUFFER bytes, of which `used` wait to be flushed */
    size_t used;
    uint64_t offset;
    int closed; /* the sink's close was called */
    int committed;
    profconv_error error; /* sticky; status 0: none */
    int gzip;
    z_stream z;
    unsigned char *packed; /* OUTPUT_BUFFER bytes, with gzip */
};

static int new_output(profconv_output **out, const char *name, const profconv_io_options *options,
                      profconv_error *error) {
    *out = NULL;
    pfc_io_start start;
    int status = pfc_io_start_make(&start, options, MEMORY_LEAST, error);
    if (status)
        return status;
    profconv_output *output = (profconv_output *)pfc_alloc_zero(&start.mem, sizeof *output);
    if (!output)
        return pfc_mem_error(&start.mem, error);
    output->mem = start.mem;
    output->name = pfc_strdup(&output->mem, name, strlen(name));
    output->buffer = (unsigned char *)pfc_alloc(&output->mem, OUTPUT_BUFFER);
    if (!output->name || !output->buffer) {
        status = pfc_mem_error(&output->mem, error);
        profconv_output_free(output);
        return status;
    }
    *out = output;
    return PROFCONV_OK;
}

static int finish(profconv_output **out, profconv_output *output, int status) {
    if (status) {
        profconv_output_free(output);
        output = NULL;
    }
    *out = output;
    return status;
}

int profconv_output_open_path(profconv_output **out, const char *path, const profconv_io_options *options,
                              profconv_error *error) {
    profconv_output *output;
    int status = new_output(&output, path, options, error);
    if (!status)
        status = pfc_sink_path(&output->sink, &output->mem, path, output->name, error);
    return finish(out, output, status);
}

int profconv_output_open_fd(profconv_output **out, int fd, const char *name, const profconv_io_options *options,
                            profconv_error *error) {
    profconv_output *output;
    int status = new_output(&output, name ? name : "<descriptor>", options, error);
    if (!status)
        status = pfc_sink_fd(&output->sink, &output->mem, fd, 0, output->name, error);
    return finish(out, output, status);
}

int profconv_output_open_memory(profconv_output **out, const profconv_io_options *options, profconv_error *error) {
    profconv_output *output;
    int status = new_output(&output, "<memory>", options, error);
    if (!status)
        status = pfc_sink_memory(&output->sink, &output->mem, output->name, error);
    return finish(out, output, status);
}

int profconv_output_open_callbacks(profconv_output **out, const profconv_output_callbacks *callbacks, const char *name,
                                   const profconv_io_options *options, profconv_error *error) {
    profconv_output *output;
    int status = new_output(&output, name ? name : "<callbacks>", options, error);
    if (!status)
        status = pfc_sink_callbacks(&output->sink, &output->mem, callbacks, output->name, error);
    return finish(out, output, status);
}

/* Compresses and hands on; `flush` is zlib's. */
static int pack(profconv_output *output, const void *data, size_t size, int flush, profconv_error *error) {
    const unsigned char *p = (const unsigned char *)data;
    int result;
    do {
        uInt part = size < OUTPUT_BUFFER ? (uInt)size : (uInt)OUTPUT_BUFFER;
        output->z.next_in = p;
        output->z.avail_in = part;
        p += part;
        size -= part;
        do {
            output->z.next_out = output->packed;
            output->z.avail_out = (uInt)OUTPUT_BUFFER;
            result = deflate(&output->z, size ? Z_NO_FLUSH : flush);
            if (result == Z_STREAM_ERROR)
                return profconv_error_set(error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0, "%s: deflate failed",
                                          output->name);
            size_t made = OUTPUT_BUFFER - output->z.avail_out;
            int status = made ? output->sink->write(output->sink, output->packed, made, error) : PROFCONV_OK;
            if (status)
                return status;
        } while (output->z.avail_out == 0);
    } while (size);
    return PROFCONV_OK;
}

static int hand_on(profconv_output *output, const void *data, size_t size) {
    output->error.status = output->gzip ? pack(output, data, size, Z_NO_FLUSH, &output->error)
                                        : output->sink->write(output->sink, data, size, &output->error);
    return output->error.status;
}

static int sticky(const profconv_output *output, profconv_error *error) {
    if (output->error.status && error)
        *error = output->error;
    return output->error.status;
}

int profconv_output_write(profconv_output *output, const void *data, size_t size, profconv_error *error) {
    if (output->error.status)
        return sticky(output, error);
    if (output->closed)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "%s: write after close",
                                  output->name);
    output->offset += size;
    if (size > OUTPUT_BUFFER - output->used) {
        size_t used = output->used;
        output->used = 0;
        if (used && hand_on(output, output->buffer, used))
            return sticky(output, error);
        if (size >= OUTPUT_BUFFER) {
            hand_on(output, data, size);
            return sticky(output, error);
        }
    }
    if (size)
        memcpy(output->buffer + output->used, data, size);
    output->used += size;
    return PROFCONV_OK;
}

int profconv_output_gzip(profconv_output *output, int level, profconv_error *error) {
    if (output->error.status)
        return sticky(output, error);
    if (output->offset || output->closed || output->gzip)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "%s: gzip asked for after the first write, or twice", output->name);
    if (level < 0 || level > 9)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "%s: gzip level %d given, 0 to 9 expected", output->name, level);
    output->mem.failed = 0;
    unsigned char *packed = (unsigned char *)pfc_alloc(&output->mem, OUTPUT_BUFFER);
    pfc_zstream_init(&output->z, &output->mem);
    /* zlib's own header has no name and no time, so equal bytes give equal files. */
    if (!packed || deflateInit2(&output->z, level ? level : Z_DEFAULT_COMPRESSION, Z_DEFLATED, PFC_GZIP_WINDOW, 8,
                                Z_DEFAULT_STRATEGY) != Z_OK) {
        int status = pfc_mem_error(&output->mem, error);
        pfc_free(&output->mem, packed, packed ? OUTPUT_BUFFER : 0);
        return status;
    }
    output->packed = packed;
    output->gzip = 1;
    return PROFCONV_OK;
}

uint64_t profconv_output_offset(const profconv_output *output) { return output->offset; }
const char *profconv_output_name(const profconv_output *output) { return output->name; }

int profconv_output_close(profconv_output *output, profconv_error *error) {
    if (output->closed)
        return output->error.status ? sticky(output, error)
                                    : profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                                         "%s: closed twice", output->name);
    size_t used = output->used;
    output->used = 0;
    if (!output->error.status && output->gzip)
        output->error.status = pack(output, output->buffer, used, Z_FINISH, &output->error);
    else if (!output->error.status && used)
        hand_on(output, output->buffer, used);
    output->closed = 1;
    int committing = output->error.status == PROFCONV_OK;
    int status = output->sink->close(output->sink, committing, &output->error);
    if (committing)
        output->error.status = status;
    output->committed = output->error.status == PROFCONV_OK;
    return sticky(output, error);
}

int profconv_output_bytes(const profconv_output *output, const uint8_t **data, size_t *size) {
    *data = (const uint8_t *)"";
    *size = 0;
    return output->committed && pfc_sink_memory_bytes(output->sink, data, size) ? PROFCONV_OK : PROFCONV_E_INVALID;
}

int pfc_output_join(profconv_output *output, pfc_budget *budget, profconv_error *error) {
    return pfc_mem_join(&output->mem, budget, "output", error);
}

void pfc_output_leave(profconv_output *output, pfc_budget *budget) { pfc_mem_leave(&output->mem, budget); }

void profconv_output_free(profconv_output *output) {
    if (!output)
        return;
    if (output->sink) {
        if (!output->closed)
            (void)output->sink->close(output->sink, 0, NULL);
        output->sink->free(output->sink);
    }
    if (output->gzip) {
        deflateEnd(&output->z);
        pfc_free(&output->mem, output->packed, OUTPUT_BUFFER);
    }
    if (output->buffer)
        pfc_free(&output->mem, output->buffer, OUTPUT_BUFFER);
    if (output->name)
        pfc_free(&output->mem, output->name, strlen(output->name) + 1);
    pfc_mem mem = output->mem;
    pfc_free(&mem, output, sizeof *output);
}
