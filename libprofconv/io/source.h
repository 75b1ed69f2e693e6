/* SPDX-License-Identifier: MIT
 *
 * Where an input's bytes come from: files, memory, callbacks, and gzip on top of any of them. Inside io/ only.
 */
#ifndef PFC_IO_SOURCE_H
#define PFC_IO_SOURCE_H

#include <profconv/io.h>

#include "libprofconv/base/mem.h"

typedef struct pfc_source pfc_source;
struct pfc_source {
    /* Up to size > 0 bytes at offset `at`; *got 0: the end. Sources that cannot seek are asked for consecutive bytes
     * only. */
    int (*read)(pfc_source *source, uint64_t at, void *buffer, size_t size, size_t *got, profconv_error *error);
    /* Of filters: compressed bytes used so far, and how many there are. NULL: what is read is what there is. */
    void (*progress)(const pfc_source *source, uint64_t *done, uint64_t *total);
    void (*free)(pfc_source *source);
    pfc_mem *mem;     /* of the input */
    const char *name; /* of the input, for messages */
    uint64_t size;    /* UINT64_MAX: unknown */
    int seekable;
};

/* Each gives NULL in *out on failure. A descriptor that is owned is closed even then. */
int pfc_source_fd(pfc_source **out, pfc_mem *mem, int fd, int owned, const char *name, profconv_error *error);
int pfc_source_memory(pfc_source **out, pfc_mem *mem, const void *data, size_t size, profconv_error *error);
int pfc_source_callbacks(pfc_source **out, pfc_mem *mem, const profconv_input_callbacks *callbacks, const char *name,
                         profconv_error *error);
/* After a failed open, the caller keeps what `user` stands for: close is not called. */
void pfc_source_callbacks_forget(pfc_source *source);

/* Inflates `inner`, whose first head_size bytes were already read and are at `head`. Takes inner over on success. */
int pfc_source_gzip(pfc_source **out, pfc_mem *mem, pfc_source *inner, const void *head, size_t head_size,
                    const profconv_limits *limits, profconv_error *error);

/* Puts a thread in front of a filter, of which the next byte to be read is that at `at`. Without memory or threads all goes
 * on as before. */
void pfc_source_ahead(pfc_source **source, uint64_t at);

/* *done is UINT64_MAX when `source` is NULL or no filter. */
void pfc_source_progress(const pfc_source *source, uint64_t *done, uint64_t *total);

#endif
