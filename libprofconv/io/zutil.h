/* SPDX-License-Identifier: MIT
 *
 * zlib on the library's allocator. Inside io/ only.
 */
#ifndef PFC_IO_ZUTIL_H
#define PFC_IO_ZUTIL_H

#define ZLIB_CONST
#include <zlib.h>

#include "libprofconv/base/mem.h"

/* Zeroes the stream and makes it allocate from mem. */
void pfc_zstream_init(z_stream *stream, pfc_mem *mem);

/* windowBits of zlib: the largest window, with gzip header and trailer. */
#define PFC_GZIP_WINDOW (15 + 16)

#endif
