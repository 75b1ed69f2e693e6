/* SPDX-License-Identifier: MIT
 *
 * zlib on the library's allocator, and whole zlib streams (RFC 1950) for formats that hold compressed parts.
 */
#include "libprofconv/io/zutil.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "libprofconv/io/io.h"

/* zlib does not say how large a block is when it frees it, so the size is kept in front, in room that keeps alignment.
 */
typedef union zblock {
    size_t size;
    max_align_t align;
} zblock;

static voidpf zalloc(voidpf opaque, uInt items, uInt size) {
    if (size && items > (SIZE_MAX - sizeof(zblock)) / size)
        return Z_NULL;
    size_t total = sizeof(zblock) + (size_t)items * size;
    /* Zeroed, because deflate reads (and ignores) bytes of its window that it never wrote. */
    zblock *block = (zblock *)pfc_alloc_zero((pfc_mem *)opaque, total);
    if (!block)
        return Z_NULL;
    block->size = total;
    return block + 1;
}

static void zfree(voidpf opaque, voidpf p) {
    if (!p)
        return;
    zblock *block = (zblock *)p - 1;
    pfc_free((pfc_mem *)opaque, block, block->size);
}

void pfc_zstream_init(z_stream *stream, pfc_mem *mem) {
    memset(stream, 0, sizeof *stream);
    stream->zalloc = zalloc;
    stream->zfree = zfree;
    stream->opaque = mem;
}

/* zlib counts in unsigned int: the next part of `left`. */
static uInt part_of(size_t left) { return left > UINT_MAX ? UINT_MAX : (uInt)left; }

int pfc_zlib_inflate(pfc_mem *mem, const void *data, size_t size, void *out, size_t out_size) {
    z_stream z;
    pfc_zstream_init(&z, mem);
    mem->failed = 0;
    if (inflateInit(&z) != Z_OK)
        return mem->failed ? mem->failed : PROFCONV_E_NOMEM;
    unsigned char spare; /* one byte past the size, to see a stream that holds more */
    size_t in_left = size, out_left = out_size;
    int result = Z_OK, in_spare = 0;
    z.next_in = (const unsigned char *)data;
    z.next_out = (unsigned char *)out;
    while (result == Z_OK) {
        if (z.avail_in == 0 && in_left) {
            z.avail_in = part_of(in_left);
            in_left -= z.avail_in;
        }
        if (z.avail_out == 0 && out_left) {
            z.avail_out = part_of(out_left);
            out_left -= z.avail_out;
        } else if (z.avail_out == 0 && !in_spare) {
            in_spare = 1;
            z.next_out = &spare;
            z.avail_out = 1;
        }
        result = inflate(&z, Z_NO_FLUSH); /* Z_BUF_ERROR when the input has ended, or after the spare byte */
    }
    int whole = result == Z_STREAM_END && out_left == 0 && (in_spare ? z.avail_out == 1 : z.avail_out == 0);
    int starved = result == Z_MEM_ERROR;
    inflateEnd(&z);
    if (starved)
        return mem->failed ? mem->failed : PROFCONV_E_NOMEM;
    return whole ? PROFCONV_OK : PROFCONV_E_FORMAT;
}

int pfc_zlib_deflate(pfc_mem *mem, const void *data, size_t size, int level, uint8_t **out, size_t *out_size,
                     size_t *out_capacity) {
    *out = NULL;
    *out_size = *out_capacity = 0;
    z_stream z;
    pfc_zstream_init(&z, mem);
    mem->failed = 0;
    int result = deflateInit(&z, level ? level : Z_DEFAULT_COMPRESSION);
    if (result != Z_OK)
        return mem->failed ? mem->failed : result == Z_STREAM_ERROR ? PROFCONV_E_INVALID : PROFCONV_E_NOMEM;
    size_t in_left = size, capacity = 0;
    void *block = NULL;
    int status = PROFCONV_OK;
    z.next_in = (const unsigned char *)data;
    size_t used = 0;
    do {
        if (z.avail_in == 0 && in_left) {
            z.avail_in = part_of(in_left);
            in_left -= z.avail_in;
        }
        if (used == capacity && (status = pfc_grow(mem, &block, &capacity, used + 4096, 1)) != 0)
            break;
        uInt room = part_of(capacity - used);
        z.next_out = (unsigned char *)block + used;
        z.avail_out = room;
        result = deflate(&z, in_left ? Z_NO_FLUSH : Z_FINISH);
        used += room - z.avail_out;
    } while (result == Z_OK || result == Z_BUF_ERROR);
    deflateEnd(&z);
    if (!status && result != Z_STREAM_END)
        status = PROFCONV_E_INTERNAL;
    if (status) {
        pfc_free(mem, block, capacity);
        return status;
    }
    *out = (uint8_t *)block;
    *out_size = used;
    *out_capacity = capacity;
    return PROFCONV_OK;
}
