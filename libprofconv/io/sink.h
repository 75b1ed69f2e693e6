/* SPDX-License-Identifier: MIT
 *
 * Where an output's bytes go. Inside io/ only.
 */
#ifndef PFC_IO_SINK_H
#define PFC_IO_SINK_H

#include <profconv/io.h>

#include "libprofconv/base/mem.h"

typedef struct pfc_sink pfc_sink;
struct pfc_sink {
    /* Takes all bytes or fails. */
    int (*write)(pfc_sink *sink, const void *data, size_t size, profconv_error *error);
    /* Called once: makes the output appear, or (committed 0) gives it up; then the status does not matter. */
    int (*close)(pfc_sink *sink, int committed, profconv_error *error);
    void (*free)(pfc_sink *sink); /* after close */
    pfc_mem *mem;                 /* of the output */
    const char *name;             /* of the output, for messages */
};

int pfc_sink_path(pfc_sink **out, pfc_mem *mem, const char *path, const char *name, profconv_error *error);
/* Holds everything back. `owned`: the descriptor is closed, on failure here too. */
int pfc_sink_fd(pfc_sink **out, pfc_mem *mem, int fd, int owned, const char *name, profconv_error *error);
/* Writes a device or a FIFO as the bytes come; owns fd, also on failure. */
int pfc_sink_device(pfc_sink **out, pfc_mem *mem, int fd, const char *name, profconv_error *error);
int pfc_sink_memory(pfc_sink **out, pfc_mem *mem, const char *name, profconv_error *error);
int pfc_sink_callbacks(pfc_sink **out, pfc_mem *mem, const profconv_output_callbacks *callbacks, const char *name,
                       profconv_error *error);

/* These put themselves around *sink. gzip at `level` (0: default); a status leaves *sink as it was. */
int pfc_sink_gzip(pfc_sink **sink, int level, profconv_error *error);
/* A thread that does what *sink does; without memory or threads all goes on as before. */
void pfc_sink_behind(pfc_sink **sink);

/* The bytes of a memory sink; 0 when it is another kind. */
int pfc_sink_memory_bytes(const pfc_sink *sink, const uint8_t **data, size_t *size);

/* Writes all bytes to a descriptor: 0 or an errno value. */
int pfc_write_all(int fd, const void *data, size_t size);

#endif
