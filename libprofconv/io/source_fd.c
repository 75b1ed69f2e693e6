/* SPDX-License-Identifier: MIT
 *
 * Bytes of a descriptor. Regular files are read by position, so that the position of a descriptor that the caller
 * shares is left alone; everything else in order. No mapping: a file that shrinks while it is read must not kill the
 * process.
 */
#include "libprofconv/io/source.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "libprofconv/base/error.h"

typedef struct fd_source {
    pfc_source base;
    int fd;
    int owned;
    uint64_t start; /* position of the descriptor when it was taken */
} fd_source;

/* One read never asks for more: Linux transfers at most 2 GiB - 4 KiB. */
#define FD_READ_MAX ((size_t)1 << 30)

static int fd_read(pfc_source *source, uint64_t at, void *buffer, size_t size, size_t *got, profconv_error *error) {
    fd_source *s = (fd_source *)source;
    *got = 0;
    if (size > FD_READ_MAX)
        size = FD_READ_MAX;
    if (source->seekable && at > (uint64_t)INT64_MAX - s->start)
        return PROFCONV_OK;
    for (;;) {
        ssize_t n = source->seekable ? pread(s->fd, buffer, size, (off_t)(s->start + at)) : read(s->fd, buffer, size);
        if (n >= 0) {
            *got = (size_t)n;
            return PROFCONV_OK;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) { /* the caller's descriptor may be non-blocking */
            struct pollfd wait = {s->fd, POLLIN, 0};
            if (poll(&wait, 1, -1) >= 0 || errno == EINTR)
                continue;
        }
        if (errno != EINTR)
            return pfc_error_system(error, PROFCONV_E_IO, errno, at, "%s: read at offset %llu", source->name,
                                    (unsigned long long)at);
    }
}

static void fd_free(pfc_source *source) {
    fd_source *s = (fd_source *)source;
    if (s->owned)
        (void)close(s->fd);
    pfc_free(source->mem, s, sizeof *s);
}

int pfc_source_fd(pfc_source **out, pfc_mem *mem, int fd, int owned, const char *name, profconv_error *error) {
    *out = NULL;
    struct stat st;
    int status = PROFCONV_OK;
    if (fstat(fd, &st))
        status = pfc_error_system(error, PROFCONV_E_IO, errno, PROFCONV_NO_OFFSET, "%s", name);
    else if (S_ISDIR(st.st_mode))
        status = pfc_error_system(error, PROFCONV_E_IO, EISDIR, PROFCONV_NO_OFFSET, "%s", name);
    fd_source *s = status ? NULL : (fd_source *)pfc_alloc_zero(mem, sizeof *s);
    if (!s) {
        if (!status)
            status = pfc_mem_error(mem, error);
        if (owned)
            (void)close(fd);
        return status;
    }
    s->base.read = fd_read;
    s->base.free = fd_free;
    s->base.mem = mem;
    s->base.name = name;
    s->base.size = UINT64_MAX;
    s->fd = fd;
    s->owned = owned;
    /* Files of /proc call themselves regular and empty; those are read in order, to their end. */
    off_t position = S_ISREG(st.st_mode) && st.st_size > 0 ? lseek(fd, 0, SEEK_CUR) : -1;
    if (position >= 0) {
        s->start = (uint64_t)position;
        s->base.seekable = 1;
        s->base.size = st.st_size > position ? (uint64_t)(st.st_size - position) : 0;
    }
    *out = &s->base;
    return PROFCONV_OK;
}
