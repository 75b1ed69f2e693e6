/* SPDX-License-Identifier: MIT
 *
 * gzip under every reader: members one after another give one run of bytes; what follows the last member and is no
 * member is left out, as gzip does. How much may come out is bounded in bytes and in proportion to what went in.
 */
#include "libprofconv/io/source.h"

#include <string.h>

#include "libprofconv/io/zutil.h"

#define GZIP_BUFFER ((size_t)64 << 10)
#define GZIP_HEAD ((size_t)32 << 10) /* inflated first: enough to see what the file is, which is not always the reader's thread */
#define GZIP_RATIO_FROM ((uint64_t)16 << 20) /* small outputs may have any ratio */

typedef struct gzip_source {
    pfc_source base;
    pfc_source *inner;
    z_stream z; /* next_in, avail_in: unused part of the buffer */
    unsigned char *buffer;
    size_t capacity;
    uint64_t inner_at; /* bytes read from inner */
    uint64_t produced;
    uint64_t max_inflated;
    uint64_t max_ratio;
    int inner_ended;
    int between; /* a member has ended (or none has begun) */
    int ended;
    int damage; /* zlib's result, when bytes that came before it had to be delivered first */
} gzip_source;

static uint64_t gzip_used(const gzip_source *s) { return s->inner_at - s->z.avail_in; }

/* Reads until `least` bytes are in the buffer or the inner source has ended. */
static int refill(gzip_source *s, size_t least, profconv_error *error) {
    while (s->z.avail_in < least && !s->inner_ended) {
        if (s->z.avail_in)
            memmove(s->buffer, s->z.next_in, s->z.avail_in);
        s->z.next_in = s->buffer;
        size_t got;
        int status =
            s->inner->read(s->inner, s->inner_at, s->buffer + s->z.avail_in, s->capacity - s->z.avail_in, &got, error);
        if (status)
            return status;
        s->inner_ended = got == 0;
        s->inner_at += got;
        s->z.avail_in += (uInt)got;
    }
    return PROFCONV_OK;
}

static int gzip_error(const gzip_source *s, int result, profconv_error *error) {
    if (result == Z_MEM_ERROR)
        return pfc_mem_error(s->base.mem, error);
    return profconv_error_set(error, PROFCONV_E_FORMAT, s->produced, 0,
                              "%s: offset %llu: gzip stream is damaged at compressed byte %llu (%s)", s->base.name,
                              (unsigned long long)s->produced, (unsigned long long)gzip_used(s),
                              s->z.msg ? s->z.msg : "no details");
}

static int ends_early(const gzip_source *s, profconv_error *error) {
    return profconv_error_set(error, PROFCONV_E_FORMAT, s->produced, 0,
                              "%s: offset %llu: gzip stream ends early, after %llu compressed bytes", s->base.name,
                              (unsigned long long)s->produced, (unsigned long long)s->inner_at);
}

/* What is allowed: the rest up to max_inflated, or an error when more would come. */
static int check_limits(const gzip_source *s, profconv_error *error) {
    if (s->produced > s->max_inflated)
        return profconv_error_set(error, PROFCONV_E_LIMIT, s->max_inflated, 0,
                                  "%s: gzip stream inflates to more than max_inflated, %llu bytes", s->base.name,
                                  (unsigned long long)s->max_inflated);
    if (s->produced > GZIP_RATIO_FROM && s->produced / s->max_ratio > gzip_used(s))
        return profconv_error_set(error, PROFCONV_E_LIMIT, s->produced, 0,
                                  "%s: %llu compressed bytes inflate to %llu, more than max_inflate_ratio %llu",
                                  s->base.name, (unsigned long long)gzip_used(s), (unsigned long long)s->produced,
                                  (unsigned long long)s->max_ratio);
    return PROFCONV_OK;
}

/* At a place where a member may begin: whether one does. */
static int next_member(gzip_source *s, profconv_error *error) {
    int status = refill(s, 2, error);
    if (status)
        return status;
    if (s->z.avail_in < 2 || s->z.next_in[0] != 0x1f || s->z.next_in[1] != 0x8b) {
        s->ended = 1;
        return PROFCONV_OK;
    }
    if (inflateReset(&s->z) != Z_OK)
        return profconv_error_set(error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0, "%s: inflateReset failed",
                                  s->base.name);
    s->between = 0;
    return PROFCONV_OK;
}

static int gzip_read(pfc_source *source, uint64_t at, void *buffer, size_t size, size_t *got, profconv_error *error) {
    gzip_source *s = (gzip_source *)source;
    (void)at;
    *got = 0;
    int status = check_limits(s, error);
    if (status)
        return status;
    size_t most = s->produced ? (size_t)1 << 20 : GZIP_HEAD; /* so that the limits are looked at often enough */
    if (size > most)
        size = most;
    while (*got == 0 && !s->ended) {
        if (s->damage)
            return gzip_error(s, s->damage, error);
        if (s->between) {
            if ((status = next_member(s, error)) != 0)
                return status;
            continue;
        }
        if ((status = refill(s, 1, error)) != 0)
            return status;
        s->z.next_out = (unsigned char *)buffer;
        s->z.avail_out = (uInt)size;
        /* Also without input: a match that was longer than the last buffer goes on from inside zlib. */
        int result = inflate(&s->z, Z_NO_FLUSH);
        *got = size - s->z.avail_out;
        s->produced += *got;
        if (result == Z_STREAM_END)
            s->between = 1;
        else if (*got == 0 && s->z.avail_in == 0 && s->inner_ended && (result == Z_OK || result == Z_BUF_ERROR))
            return ends_early(s, error);
        else if (result != Z_OK && result != Z_BUF_ERROR)
            s->damage = result; /* told when the bytes before it have been delivered */
    }
    if (s->produced > s->max_inflated) { /* the next call fails */
        uint64_t over = s->produced - s->max_inflated;
        *got = over < *got ? *got - (size_t)over : 0;
        if (*got == 0)
            return check_limits(s, error);
    }
    return PROFCONV_OK;
}

static void gzip_progress(const pfc_source *source, uint64_t *done, uint64_t *total) {
    const gzip_source *s = (const gzip_source *)source;
    *done = s->ended ? s->inner_at : gzip_used(s);
    *total = s->inner->size != UINT64_MAX ? s->inner->size : s->inner_ended ? s->inner_at : UINT64_MAX;
}

void pfc_source_progress(const pfc_source *source, uint64_t *done, uint64_t *total) {
    *done = *total = UINT64_MAX;
    if (source && source->progress)
        source->progress(source, done, total);
}

static void gzip_free(pfc_source *source) {
    gzip_source *s = (gzip_source *)source;
    inflateEnd(&s->z);
    if (s->inner)
        s->inner->free(s->inner);
    pfc_mem *mem = source->mem;
    pfc_free(mem, s->buffer, s->capacity);
    pfc_free(mem, s, sizeof *s);
}

int pfc_source_gzip(pfc_source **out, pfc_mem *mem, pfc_source *inner, const void *head, size_t head_size,
                    const profconv_limits *limits, profconv_error *error) {
    *out = NULL;
    gzip_source *s = (gzip_source *)pfc_alloc_zero(mem, sizeof *s);
    if (!s)
        return pfc_mem_error(mem, error);
    pfc_zstream_init(&s->z, mem);
    s->capacity = head_size > GZIP_BUFFER ? head_size : GZIP_BUFFER;
    s->buffer = (unsigned char *)pfc_alloc(mem, s->capacity);
    if (!s->buffer || inflateInit2(&s->z, PFC_GZIP_WINDOW) != Z_OK) {
        int status = pfc_mem_error(mem, error);
        pfc_free(mem, s->buffer, s->buffer ? s->capacity : 0);
        pfc_free(mem, s, sizeof *s);
        return status;
    }
    if (head_size)
        memcpy(s->buffer, head, head_size);
    s->z.next_in = s->buffer;
    s->z.avail_in = (uInt)head_size;
    s->inner_at = head_size;
    s->inner = inner;
    s->max_inflated = limits->max_inflated;
    s->max_ratio = limits->max_inflate_ratio;
    s->between = 1;
    s->base.read = gzip_read;
    s->base.progress = gzip_progress;
    s->base.free = gzip_free;
    s->base.mem = mem;
    s->base.name = inner->name;
    s->base.size = UINT64_MAX;
    *out = &s->base;
    return PROFCONV_OK;
}
