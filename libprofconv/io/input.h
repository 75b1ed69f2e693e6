/* SPDX-License-Identifier: MIT
 *
 * An input from the inside. Inside io/ only.
 */
#ifndef PFC_IO_INPUT_H
#define PFC_IO_INPUT_H

#include "libprofconv/io/io.h"
#include "libprofconv/io/source.h"

struct profconv_input {
    pfc_mem mem;
    profconv_allocator allocator; /* resize NULL: malloc; for parts */
    profconv_limits limits;
    int raw;
    char *name;
    char *path;         /* NULL, or name's text again */
    int directory;      /* descriptor of a directory input, else -1 */
    pfc_source *source; /* NULL: all bytes are visible (memory, and no gzip in it) */

    uint8_t *buffer; /* ours; NULL when `data` is the caller's memory */
    size_t capacity;
    const uint8_t *data; /* data[at..end) is visible */
    size_t at;
    size_t end;
    size_t line;     /* bytes of the line that pfc_input_line showed, consumed by the next call */
    uint64_t offset; /* of data[at] */
    uint64_t size;   /* UINT64_MAX until known */
    int seekable;
    int failed;           /* the source failed: what is visible is delivered, then this status */
    profconv_error error; /* of `failed` */

    int (*tick)(void *user, uint64_t done, uint64_t total);
    void *tick_user;
    uint64_t tick_at; /* offset of the next tick; UINT64_MAX: no tick */
    uint64_t read_at; /* bytes given by read_at since the last tick */
};

/* An input without bytes; then `source` or `data` is set, and pfc_input_start looks for gzip. */
int pfc_input_new(profconv_input **out, const char *name, const char *path, const profconv_io_options *options,
                  profconv_error *error);
int pfc_input_start(profconv_input *input, profconv_error *error);

#endif
