/* SPDX-License-Identifier: MIT
 *
 * Output to a path. A file is written under a temporary name in the same directory and renamed when it is complete, so
 * the path shows the old content or the new one, never a part. Symbolic links stay: the file that they lead to is
 * replaced. Devices, FIFOs and what /proc/self/fd leads to cannot be replaced and are written themselves.
 *
 * Nothing is synced to the disk: after a loss of power, what the file system gives for a rename is what one gets.
 */
#include "libprofconv/io/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libprofconv/base/error.h"
#include "libprofconv/base/hash.h"

#define NAME_KEPT 200 /* bytes of the name that the temporary name repeats; with the rest it stays below 255 */
#define RANDOM_LETTERS 10
#define LINKS_MAX 40 /* as the kernel's own limit */

typedef struct path_sink {
    pfc_sink base;
    int directory;
    int fd;
    char *target; /* name inside the directory */
    size_t target_size;
    char temporary[NAME_KEPT + RANDOM_LETTERS + 3];
} path_sink;

static void random_letters(char *out) {
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits) {
        /* Good enough: a name that is taken is not used (O_EXCL), another is tried. */
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        bits = pfc_hash_mix((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)out, (uint64_t)getpid());
    }
    for (size_t i = 0; i < RANDOM_LETTERS; i++, bits >>= 5)
        out[i] = "abcdefghijklmnopqrstuvwxyz234567"[bits & 31];
}

static int path_write(pfc_sink *sink, const void *data, size_t size, profconv_error *error) {
    int failed = pfc_write_all(((path_sink *)sink)->fd, data, size);
    return failed ? pfc_error_system(error, PROFCONV_E_IO, failed, PROFCONV_NO_OFFSET, "%s: write", sink->name) : 0;
}

static int path_close(pfc_sink *sink, int committed, profconv_error *error) {
    path_sink *s = (path_sink *)sink;
    int status = PROFCONV_OK;
    /* close tells of errors that writes did not (quota, NFS). After EINTR the descriptor is closed on Linux. */
    if (close(s->fd) && errno != EINTR && committed)
        status = pfc_error_system(error, PROFCONV_E_IO, errno, PROFCONV_NO_OFFSET, "%s: close", sink->name);
    s->fd = -1;
    if (!status && committed && renameat(s->directory, s->temporary, s->directory, s->target))
        status = pfc_error_system(error, PROFCONV_E_IO, errno, PROFCONV_NO_OFFSET,
                                  "%s: temporary file cannot take its name", sink->name);
    if (status || !committed)
        (void)unlinkat(s->directory, s->temporary, 0);
    return status;
}

static void path_free(pfc_sink *sink) {
    path_sink *s = (path_sink *)sink;
    if (s->directory >= 0)
        (void)close(s->directory);
    pfc_free(sink->mem, s->target, s->target_size);
    pfc_free(sink->mem, s, sizeof *s);
}

static size_t directory_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Replaces path by what its last component leads to, link by link; the file at the end need not exist. 0 or an errno
 * value. *proc: the path goes through /proc, where a link's text is not always a path. */
static int follow_links(char path[PATH_MAX], int *proc) {
    for (int links = 0;; links++) {
        char text[PATH_MAX];
        *proc = strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
        if (*proc)
            return 0;
        ssize_t length = readlink(path, text, sizeof text);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT ? 0 : errno;
        if (links == LINKS_MAX)
            return ELOOP;
        size_t kept = text[0] == '/' ? 0 : directory_part(path);
        if ((size_t)length >= sizeof text || kept + (size_t)length >= PATH_MAX)
            return ENAMETOOLONG;
        memcpy(path + kept, text, (size_t)length);
        path[kept + (size_t)length] = 0;
    }
}

static int open_directory(char *path) {
    size_t size = directory_part(path);
    if (size == 0)
        return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char first = path[size];
    path[size] = 0;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int saved = errno;
    path[size] = first;
    errno = saved;
    return fd;
}

/* A new file with a name of its own; 0 or an errno value. old: the file that it will replace, or NULL. */
static int make_temporary(path_sink *s, const struct stat *old) {
    size_t kept = strlen(s->target);
    if (kept > NAME_KEPT)
        kept = NAME_KEPT;
    char *p = s->temporary;
    *p++ = '.';
    memcpy(p, s->target, kept);
    p += kept;
    *p++ = '.';
    p[RANDOM_LETTERS] = 0;
    for (int tries = 0; tries < 100; tries++) {
        random_letters(p);
        /* A private file's successor is private from its first byte on; a new one is as the umask has it. */
        s->fd =
            openat(s->directory, s->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, old ? 0600 : 0666);
        if (s->fd >= 0 || (errno != EEXIST && errno != EINTR))
            break;
    }
    if (s->fd < 0)
        return errno;
    if (old) {
        /* Only root can give a file away; otherwise it is the writer's from now on. */
        int moved = old->st_uid != geteuid() || old->st_gid != getegid();
        if (moved && fchown(s->fd, old->st_uid, old->st_gid))
            moved = fchown(s->fd, (uid_t)-1, old->st_gid);
        (void)fchmod(s->fd, old->st_mode & 0777);
    }
    return 0;
}

static int open_file(pfc_sink **out, pfc_mem *mem, char *path, const struct stat *old, const char *name,
                     profconv_error *error) {
    size_t start = directory_part(path);
    path_sink *s = (path_sink *)pfc_alloc_zero(mem, sizeof *s);
    if (!s)
        return pfc_mem_error(mem, error);
    s->base.mem = mem;
    s->base.name = name;
    s->base.write = path_write;
    s->base.close = path_close;
    s->base.free = path_free;
    s->fd = -1;
    s->directory = open_directory(path);
    int failed = s->directory < 0 ? errno : 0;
    if (!failed) {
        s->target_size = strlen(path + start) + 1;
        s->target = pfc_strdup(mem, path + start, s->target_size - 1);
        if (!s->target) {
            path_free(&s->base);
            return pfc_mem_error(mem, error);
        }
        failed = make_temporary(s, old);
    }
    if (failed) {
        path_free(&s->base);
        return pfc_error_system(error, PROFCONV_E_IO, failed, PROFCONV_NO_OFFSET, "%s: create", name);
    }
    *out = &s->base;
    return PROFCONV_OK;
}

static int open_existing(const char *path, int flags) {
    int fd;
    do
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int pfc_sink_path(pfc_sink **out, pfc_mem *mem, const char *path, const char *name, profconv_error *error) {
    *out = NULL;
    char real[PATH_MAX];
    struct stat st;
    int failed = 0, exists = 0, proc = 0, fd;
    size_t length = strlen(path);
    if (length >= sizeof real) {
        failed = ENAMETOOLONG;
    } else if (stat(path, &st) == 0) {
        exists = 1;
        failed = S_ISDIR(st.st_mode) ? EISDIR : 0;
    } else if (errno != ENOENT) {
        failed = errno;
    }
    if (!failed) {
        memcpy(real, path, length + 1);
        if (!exists || S_ISREG(st.st_mode))
            failed = follow_links(real, &proc);
        if (!failed && !real[directory_part(real)])
            failed = length ? EISDIR : ENOENT;
    }
    if (!failed && exists && (proc || !S_ISREG(st.st_mode))) {
        /* A regular file reached through /proc/self/fd is somebody's open file: its end is added to, as a shell's >>
         * does. */
        fd = open_existing(path, proc ? O_APPEND : 0);
        if (fd >= 0)
            return proc ? pfc_sink_fd(out, mem, fd, 1, name, error) : pfc_sink_device(out, mem, fd, name, error);
        failed = errno;
    }
    /* Renaming would replace a read-only file; a writer should not. */
    if (!failed && exists && faccessat(AT_FDCWD, real, W_OK, AT_EACCESS))
        failed = errno;
    if (failed)
        return pfc_error_system(error, PROFCONV_E_IO, failed, PROFCONV_NO_OFFSET, "%s", name);
    return open_file(out, mem, real, exists ? &st : NULL, name, error);
}
