/* SPDX-License-Identifier: MIT
 *
 * Output to a descriptor. Everything is held back until close, in memory and then in a temporary file without a name,
 * so that a conversion that fails half-way writes nothing. Devices named by a path are written at once.
 *
 * A closed pipe raises SIGPIPE as for any write; a program that wants the error instead ignores the signal.
 */
#include "libprofconv/io/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofconv/base/error.h"

#define HELD_IN_MEMORY ((size_t)1 << 20)
#define COPY_BUFFER ((size_t)64 << 10)

typedef struct fd_sink {
    pfc_sink base;
    int fd;
    int owned;
    unsigned char *held; /* HELD_IN_MEMORY bytes at most; later the buffer of the copy */
    size_t held_size;
    size_t held_capacity;
    int spool; /* the temporary file, or -1 */
    uint64_t spooled;
} fd_sink;

int pfc_write_all(int fd, const void *data, size_t size) {
    const unsigned char *p = (const unsigned char *)data;
    while (size) {
        ssize_t n = write(fd, p, size < ((size_t)1 << 30) ? size : (size_t)1 << 30);
        if (n >= 0) {
            p += n;
            size -= (size_t)n;
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) { /* the caller's descriptor may be non-blocking */
            struct pollfd wait = {fd, POLLOUT, 0};
            if (poll(&wait, 1, -1) >= 0 || errno == EINTR)
                continue;
        }
        if (errno != EINTR)
            return errno;
    }
    return 0;
}

static int write_error(const pfc_sink *sink, int failed, profconv_error *error) {
    return pfc_error_system(error, PROFCONV_E_IO, failed, PROFCONV_NO_OFFSET, "%s: write", sink->name);
}

static int open_spool(void) {
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
#endif
    if (fd < 0) {
        char name[] = P_tmpdir "/profconv.XXXXXX";
        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0)
            (void)unlink(name);
    }
    return fd;
}

static int spool_write(fd_sink *s, const void *data, size_t size, profconv_error *error) {
    int failed = pfc_write_all(s->spool, data, size);
    if (failed)
        return pfc_error_system(error, PROFCONV_E_IO, failed, PROFCONV_NO_OFFSET, "%s: temporary file in %s",
                                s->base.name, P_tmpdir);
    s->spooled += size;
    return PROFCONV_OK;
}

static int fd_write(pfc_sink *sink, const void *data, size_t size, profconv_error *error) {
    fd_sink *s = (fd_sink *)sink;
    if (s->spool >= 0)
        return spool_write(s, data, size, error);
    if (size <= HELD_IN_MEMORY - s->held_size) {
        void *held = s->held;
        sink->mem->failed = 0;
        int status = pfc_grow(sink->mem, &held, &s->held_capacity, s->held_size + size, 1);
        if (status == PROFCONV_OK) {
            s->held = (unsigned char *)held;
            if (size)
                memcpy(s->held + s->held_size, data, size);
            s->held_size += size;
            return PROFCONV_OK;
        }
        if (status != PROFCONV_E_LIMIT) /* where max_memory has no room the file has */
            return pfc_mem_error(sink->mem, error);
    }
    s->spool = open_spool();
    if (s->spool < 0)
        return pfc_error_system(error, PROFCONV_E_IO, errno, PROFCONV_NO_OFFSET, "%s: temporary file in %s", sink->name,
                                P_tmpdir);
    int status = spool_write(s, s->held, s->held_size, error);
    s->held_size = 0;
    return status ? status : spool_write(s, data, size, error);
}

static int copy_spool(fd_sink *s, profconv_error *error) {
    void *buffer = s->held;
    s->base.mem->failed = 0;
    if (pfc_grow(s->base.mem, &buffer, &s->held_capacity, COPY_BUFFER, 1))
        return pfc_mem_error(s->base.mem, error);
    s->held = (unsigned char *)buffer;
    for (uint64_t at = 0; at < s->spooled;) {
        ssize_t n = pread(s->spool, s->held, s->held_capacity, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return pfc_error_system(error, PROFCONV_E_IO, n < 0 ? errno : EIO, PROFCONV_NO_OFFSET,
                                    "%s: temporary file in %s", s->base.name, P_tmpdir);
        int failed = pfc_write_all(s->fd, s->held, (size_t)n);
        if (failed)
            return write_error(&s->base, failed, error);
        at += (uint64_t)n;
    }
    return PROFCONV_OK;
}

static int fd_close(pfc_sink *sink, int committed, profconv_error *error) {
    fd_sink *s = (fd_sink *)sink;
    int status = PROFCONV_OK, failed;
    if (committed && s->spool >= 0)
        status = copy_spool(s, error);
    else if (committed && (failed = pfc_write_all(s->fd, s->held, s->held_size)) != 0)
        status = write_error(sink, failed, error);
    if (s->owned && close(s->fd) && errno != EINTR && committed && !status)
        status = pfc_error_system(error, PROFCONV_E_IO, errno, PROFCONV_NO_OFFSET, "%s: close", sink->name);
    s->owned = 0;
    return status;
}

static void fd_free(pfc_sink *sink) {
    fd_sink *s = (fd_sink *)sink;
    if (s->spool >= 0)
        (void)close(s->spool);
    pfc_free(sink->mem, s->held, s->held_capacity);
    pfc_free(sink->mem, s, sizeof *s);
}

static int device_write(pfc_sink *sink, const void *data, size_t size, profconv_error *error) {
    int failed = pfc_write_all(((fd_sink *)sink)->fd, data, size);
    return failed ? write_error(sink, failed, error) : PROFCONV_OK;
}

int pfc_sink_fd(pfc_sink **out, pfc_mem *mem, int fd, int owned, const char *name, profconv_error *error) {
    *out = NULL;
    fd_sink *s = (fd_sink *)pfc_alloc_zero(mem, sizeof *s);
    if (!s) {
        if (owned)
            (void)close(fd);
        return pfc_mem_error(mem, error);
    }
    s->base.mem = mem;
    s->base.name = name;
    s->base.write = fd_write;
    s->base.close = fd_close;
    s->base.free = fd_free;
    s->fd = fd;
    s->owned = owned;
    s->spool = -1;
    *out = &s->base;
    return PROFCONV_OK;
}

int pfc_sink_device(pfc_sink **out, pfc_mem *mem, int fd, const char *name, profconv_error *error) {
    int status = pfc_sink_fd(out, mem, fd, 1, name, error);
    if (!status)
        (*out)->write = device_write; /* nothing is held, so close has nothing to copy */
    return status;
}
