/* SPDX-License-Identifier: MIT
 *
 * gzip on top of any sink. zlib's own header has no name and no time, so equal bytes give equal files.
 */
#include "libprofconv/io/sink.h"

#include "libprofconv/io/zutil.h"

#define PACKED ((size_t)64 << 10)

typedef struct gzip_sink {
    pfc_sink base;
    pfc_sink *inner;
    z_stream z;
    unsigned char packed[PACKED];
} gzip_sink;

/* Compresses and hands on; `flush` is zlib's. */
static int pack(gzip_sink *s, const void *data, size_t size, int flush, profconv_error *error) {
    const unsigned char *p = (const unsigned char *)data;
    do {
        uInt part = size < PACKED ? (uInt)size : (uInt)PACKED;
        s->z.next_in = p;
        s->z.avail_in = part;
        p += part;
        size -= part;
        do {
            s->z.next_out = s->packed;
            s->z.avail_out = (uInt)PACKED;
            if (deflate(&s->z, size ? Z_NO_FLUSH : flush) == Z_STREAM_ERROR)
                return profconv_error_set(error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0, "%s: deflate failed",
                                          s->base.name);
            size_t made = PACKED - s->z.avail_out;
            int status = made ? s->inner->write(s->inner, s->packed, made, error) : PROFCONV_OK;
            if (status)
                return status;
        } while (s->z.avail_out == 0);
    } while (size);
    return PROFCONV_OK;
}

static int gzip_write(pfc_sink *sink, const void *data, size_t size, profconv_error *error) {
    return size ? pack((gzip_sink *)sink, data, size, Z_NO_FLUSH, error) : PROFCONV_OK;
}

static int gzip_close(pfc_sink *sink, int committed, profconv_error *error) {
    gzip_sink *s = (gzip_sink *)sink;
    int status = committed ? pack(s, "", 0, Z_FINISH, error) : PROFCONV_OK;
    int closed = s->inner->close(s->inner, committed && !status, status ? NULL : error);
    return status ? status : closed;
}

static void gzip_free(pfc_sink *sink) {
    gzip_sink *s = (gzip_sink *)sink;
    pfc_mem *mem = sink->mem;
    deflateEnd(&s->z);
    s->inner->free(s->inner);
    pfc_free(mem, s, sizeof *s);
}

int pfc_sink_gzip(pfc_sink **sink, int level, profconv_error *error) {
    pfc_sink *inner = *sink;
    pfc_mem *mem = inner->mem;
    mem->failed = 0;
    gzip_sink *s = (gzip_sink *)pfc_alloc(mem, sizeof *s);
    if (!s)
        return pfc_mem_error(mem, error);
    pfc_zstream_init(&s->z, mem);
    if (deflateInit2(&s->z, level ? level : Z_DEFAULT_COMPRESSION, Z_DEFLATED, PFC_GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        int status = pfc_mem_error(mem, error);
        pfc_free(mem, s, sizeof *s);
        return status;
    }
    s->base.write = gzip_write;
    s->base.close = gzip_close;
    s->base.free = gzip_free;
    s->base.mem = mem;
    s->base.name = inner->name;
    s->inner = inner;
    *sink = &s->base;
    return PROFCONV_OK;
}
