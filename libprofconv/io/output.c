/* SPDX-License-Identifier: MIT
 *
 * Outputs: buffering, the sticky error, and the one moment at which the bytes are committed.
 */
#include "libprofconv/io/options.h"
#include "libprofconv/io/io.h"

#include <string.h>

#include "libprofconv/base/budget.h"
#include "libprofconv/io/sink.h"

#define OUTPUT_BUFFER ((size_t)64 << 10)
#define MEMORY_LEAST ((uint64_t)4 << 20) /* a budget for a profile below this is not held against the buffers */

struct profconv_output {
    pfc_mem mem;
    char *name;
    pfc_sink *sink;      /* what bytes are handed to */
    const pfc_sink *end; /* where they end up: inside sink, or the same */
    unsigned char *buffer; /* OUTPUT_BUFFER bytes, of which `used` wait to be flushed */
    size_t used;
    uint64_t offset;
    int closed; /* the sink's close was called */
    int committed;
    profconv_error error; /* sticky; status 0: none */
    int gzip;
    int behind; /* gzip works on a thread of its own */
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
    } else {
        output->end = output->sink;
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

static int hand_on(profconv_output *output, const void *data, size_t size) {
    output->error.status = output->sink->write(output->sink, data, size, &output->error);
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
    int status = pfc_sink_gzip(&output->sink, level, error);
    if (status)
        return status;
    output->gzip = 1;
    if (output->behind)
        pfc_sink_behind(&output->sink);
    return PROFCONV_OK;
}

void pfc_output_behind(profconv_output *output) { output->behind = 1; }

uint64_t profconv_output_offset(const profconv_output *output) { return output->offset; }
const char *profconv_output_name(const profconv_output *output) { return output->name; }

int profconv_output_close(profconv_output *output, profconv_error *error) {
    if (output->closed)
        return output->error.status ? sticky(output, error)
                                    : profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                                         "%s: closed twice", output->name);
    size_t used = output->used;
    output->used = 0;
    if (!output->error.status && used)
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
    return output->committed && pfc_sink_memory_bytes(output->end, data, size) ? PROFCONV_OK : PROFCONV_E_INVALID;
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
    if (output->buffer)
        pfc_free(&output->mem, output->buffer, OUTPUT_BUFFER);
    if (output->name)
        pfc_free(&output->mem, output->name, strlen(output->name) + 1);
    pfc_mem mem = output->mem;
    pfc_free(&mem, output, sizeof *output);
}
