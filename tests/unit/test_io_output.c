/* SPDX-License-Identifier: MIT
 *
 * Outputs: they appear whole or not at all, keep what the target was (mode, link), and say what went wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "libprofconv/io/io.h"
#include "tests/support/failing_alloc.h"

static char directory[64];

static char *path_of(const char *name) {
    static char paths[4][512]; /* several at a time */
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static char *read_fd(int fd, size_t *size) {
    size_t room = 64 << 10, used = 0;
    char *data = malloc(room + 1);
    ssize_t n;
    while ((n = read(fd, data + used, room - used)) > 0)
        if ((used += (size_t)n) == room)
            data = realloc(data, (room *= 2) + 1);
    data[used] = 0;
    *size = used;
    return data;
}

static void expect_file(const char *path, const void *data, size_t size) {
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    size_t got;
    char *bytes = read_fd(fd, &got);
    close(fd);
    assert_int_equal(got, size);
    assert_memory_equal(bytes, data, size);
    free(bytes);
}
static void expect_text(const char *path, const char *text) { expect_file(path, text, strlen(text)); }

/* No temporary file may be left anywhere in the directory. */
static void expect_entries(const char *path, unsigned count) {
    DIR *d = opendir(path);
    assert_non_null(d);
    unsigned found = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        found += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    assert_int_equal(found, count);
}

static void fresh(const char *name) {
    char command[600];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", path_of(name), path_of(name));
    assert_true(system(command) >= 0);
    assert_int_equal(mkdir(path_of(name), 0700), 0);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static profconv_output *open_path(const char *path) {
    profconv_output *output = NULL;
    profconv_error error;
    if (profconv_output_open_path(&output, path, NULL, &error))
        fail_msg("%s", error.message);
    assert_string_equal(profconv_output_name(output), path);
    return output;
}

static void put(profconv_output *output, const char *text) {
    assert_int_equal(profconv_output_write(output, text, strlen(text), NULL), 0);
}

static void commit(profconv_output *output) {
    profconv_error error;
    if (profconv_output_close(output, &error))
        fail_msg("%s", error.message);
    profconv_output_free(output);
}

/* ---- files ---- */

static void new_file(void **state) {
    (void)state;
    fresh("d");
    mode_t old = umask(027);
    profconv_output *output = open_path(path_of("d/new"));
    put(output, "hello ");
    put(output, "");
    put(output, "world\n");
    assert_int_equal(profconv_output_offset(output), 12);
    assert_int_equal(access(path_of("d/new"), F_OK), -1); /* not before close */
    commit(output);
    umask(old);
    expect_text(path_of("d/new"), "hello world\n");
    assert_int_equal(mode_of(path_of("d/new")), 0640);
    expect_entries(path_of("d"), 1);
    /* An empty one is one. */
    commit(open_path(path_of("d/empty")));
    expect_text(path_of("d/empty"), "");
    /* A name as long as names can be. */
    char name[300] = "d/";
    memset(name + 2, 'n', 255);
    name[257] = 0;
    output = open_path(path_of(name));
    put(output, "x");
    commit(output);
    expect_text(path_of(name), "x");
    expect_entries(path_of("d"), 3);
}

static void relative_path(void **state) {
    (void)state;
    fresh("d");
    fresh("e");
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(path_of("d")), 0);
    profconv_output *output = open_path("file");
    put(output, "text");
    assert_int_equal(chdir(path_of("e")), 0); /* the path meant what it meant when it was opened */
    commit(output);
    assert_int_equal(fchdir(here), 0);
    close(here);
    expect_text(path_of("d/file"), "text");
    expect_entries(path_of("e"), 0);
}

static void replaced_file(void **state) {
    (void)state;
    fresh("d");
    char *file = path_of("d/file");
    write_file(file, "old");
    assert_int_equal(chmod(file, 0604), 0);
    profconv_output *output = open_path(file);
    put(output, "new");
    expect_text(file, "old");
    commit(output);
    expect_text(file, "new");
    assert_int_equal(mode_of(file), 0604);
    /* Given up: nothing has changed. */
    output = open_path(file);
    put(output, "newer");
    profconv_output_free(output);
    expect_text(file, "new");
    output = open_path(path_of("d/other"));
    put(output, "other");
    profconv_output_free(output);
    expect_entries(path_of("d"), 1);
}

static void links(void **state) {
    (void)state;
    fresh("d");
    fresh("e");
    write_file(path_of("e/real"), "old");
    assert_int_equal(symlink("../e/real", path_of("d/link")), 0);
    assert_int_equal(symlink("link", path_of("d/second")), 0);
    profconv_output *output = open_path(path_of("d/second"));
    put(output, "new");
    commit(output);
    expect_text(path_of("e/real"), "new");
    struct stat st;
    assert_int_equal(lstat(path_of("d/second"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(path_of("d/link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(path_of("e/real"), &st), 0);
    assert_true(S_ISREG(st.st_mode));
    /* A link to nothing: what it names is made. */
    assert_int_equal(symlink("../e/absent", path_of("d/dangling")), 0);
    output = open_path(path_of("d/dangling"));
    put(output, "made");
    commit(output);
    expect_text(path_of("e/absent"), "made");
    expect_entries(path_of("d"), 3);
    expect_entries(path_of("e"), 2);
    assert_int_equal(symlink("loop", path_of("d/loop")), 0);
    profconv_error error;
    assert_int_equal(profconv_output_open_path(&output, path_of("d/loop"), NULL, &error), PROFCONV_E_IO);
    assert_int_equal(error.system_errno, ELOOP);
}

static void expect_refused(const char *path, int system_errno) {
    profconv_output *output = (profconv_output *)1;
    profconv_error error;
    assert_int_equal(profconv_output_open_path(&output, path, NULL, &error), PROFCONV_E_IO);
    assert_null(output);
    assert_int_equal(error.system_errno, system_errno);
    assert_non_null(strstr(error.message, path));
}

static void refused_paths(void **state) {
    (void)state;
    fresh("d");
    expect_refused(path_of("d"), EISDIR);
    expect_refused(path_of("d/none/file"), ENOENT);
    expect_refused(path_of("d/none/"), EISDIR);
    expect_refused("", ENOENT);
    write_file(path_of("d/file"), "old");
    expect_refused(path_of("d/file/below"), ENOTDIR);
    char *longer = malloc(5000);
    memset(longer, 'x', 4999);
    longer[4999] = 0;
    profconv_output *output;
    profconv_error error;
    assert_int_equal(profconv_output_open_path(&output, longer, NULL, &error), PROFCONV_E_IO);
    assert_int_equal(error.system_errno, ENAMETOOLONG);
    free(longer);
    if (geteuid() != 0) { /* root may do all this */
        assert_int_equal(chmod(path_of("d/file"), 0400), 0);
        expect_refused(path_of("d/file"), EACCES);
        assert_int_equal(chmod(path_of("d"), 0500), 0);
        expect_refused(path_of("d/new"), EACCES);
        assert_int_equal(chmod(path_of("d"), 0700), 0);
    }
    expect_text(path_of("d/file"), "old");
    expect_entries(path_of("d"), 1);
}

/* The disk is full, as far as this process can tell: files may not pass `size` bytes. */
static void limit_files(rlim_t size) {
    struct rlimit limit = {size, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void failed_writes(void **state) {
    (void)state;
    fresh("d");
    write_file(path_of("d/file"), "old");
    char *block = calloc(1, 200000);
    memset(block, 'b', 200000);
    /* While writing, and (small: still in the buffer) at close. */
    for (int small = 0; small < 2; small++)
        for (int packed = 0; packed < 2; packed++) {
            profconv_output *output = open_path(path_of("d/file"));
            profconv_error error, again;
            limit_files(10);
            if (packed)
                assert_int_equal(profconv_output_gzip(output, 1, &error), 0);
            int status = 0;
            for (int i = 0; i < (small ? 1 : 400) && !status; i++)
                status = profconv_output_write(output, block, small ? 1000 : 200000, &error);
            if (!small) {
                assert_int_equal(status, PROFCONV_E_IO);
                assert_int_equal(error.system_errno, EFBIG);
                /* It stays. */
                assert_int_equal(profconv_output_write(output, "x", 1, &again), PROFCONV_E_IO);
                assert_string_equal(again.message, error.message);
            }
            assert_int_equal(profconv_output_close(output, &error), PROFCONV_E_IO);
            assert_int_equal(error.system_errno, EFBIG);
            limit_files(RLIM_INFINITY);
            expect_entries(path_of("d"), 1); /* already before free */
            profconv_output_free(output);
            expect_text(path_of("d/file"), "old");
        }
    /* The name cannot be taken: a directory has come in between. */
    profconv_output *output = open_path(path_of("d/late"));
    put(output, "x");
    assert_int_equal(mkdir(path_of("d/late"), 0700), 0);
    profconv_error error;
    assert_int_equal(profconv_output_close(output, &error), PROFCONV_E_IO);
    assert_int_equal(error.system_errno, EISDIR);
    profconv_output_free(output);
    expect_entries(path_of("d"), 2);
    free(block);
}

static void devices(void **state) {
    (void)state;
    profconv_error error;
    struct stat st;
    if (access("/dev/full", W_OK) == 0) {
        profconv_output *output = open_path("/dev/full");
        put(output, "x");
        assert_int_equal(profconv_output_close(output, &error), PROFCONV_E_IO);
        assert_int_equal(error.system_errno, ENOSPC);
        profconv_output_free(output);
        assert_int_equal(stat("/dev/full", &st), 0);
        assert_true(S_ISCHR(st.st_mode));
        int fd = open("/dev/full", O_WRONLY);
        assert_int_equal(profconv_output_open_fd(&output, fd, "full", NULL, &error), 0);
        put(output, "x");
        assert_int_equal(profconv_output_close(output, &error), PROFCONV_E_IO);
        assert_int_equal(error.system_errno, ENOSPC);
        assert_string_equal(error.message, "full: write: No space left on device");
        profconv_output_free(output);
        close(fd);
    }
    profconv_output *output = open_path("/dev/null");
    put(output, "x");
    commit(output);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    /* A FIFO is written, not replaced. */
    fresh("d");
    char *fifo = path_of("d/fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(fifo, O_RDONLY);
        char bytes[20];
        size_t used = 0;
        ssize_t n;
        while ((n = read(fd, bytes + used, sizeof bytes - used)) > 0)
            used += (size_t)n;
        _exit(used == 5 && memcmp(bytes, "piped", 5) == 0 ? 0 : 1);
    }
    output = open_path(fifo);
    put(output, "piped");
    commit(output);
    int result;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
    assert_int_equal(lstat(fifo, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    expect_entries(path_of("d"), 1);
}

/* A path through /proc is an open file, whatever it is called and even when it has no name any more. */
static void proc_path(void **state) {
    (void)state;
    fresh("d");
    char *file = path_of("d/file"), path[64];
    write_file(file, "before ");
    int fd = open(file, O_RDWR);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (access(path, F_OK) != 0)
        skip();
    struct stat before, after;
    assert_int_equal(fstat(fd, &before), 0);
    profconv_output *output = open_path(path);
    put(output, "after");
    expect_text(file, "before ");
    commit(output);
    expect_text(file, "before after");
    assert_int_equal(stat(file, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(unlink(file), 0);
    output = open_path(path);
    put(output, "!");
    commit(output);
    char text[20] = "";
    assert_int_equal(pread(fd, text, sizeof text - 1, 0), 13);
    assert_string_equal(text, "before after!");
    close(fd);
    expect_entries(path_of("d"), 0);
}

/* ---- descriptors, memory, callbacks ---- */

static void descriptors(void **state) {
    (void)state;
    fresh("d");
    char *file = path_of("d/file");
    size_t sizes[] = {0, 1, 100000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5000000};
    uint8_t *data = malloc(5000000);
    for (size_t i = 0; i < 5000000; i++)
        data[i] = (uint8_t)(i * 31 >> 3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t piece = 3333; piece < 3000000; piece *= 40) {
            int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
            assert_int_equal(write(fd, "head", 4), 4);
            profconv_output *output;
            assert_int_equal(profconv_output_open_fd(&output, fd, "fd", NULL, NULL), 0);
            for (size_t at = 0; at < sizes[i]; at += piece)
                assert_int_equal(
                    profconv_output_write(output, data + at, piece < sizes[i] - at ? piece : sizes[i] - at, NULL), 0);
            struct stat st;
            assert_int_equal(fstat(fd, &st), 0);
            assert_int_equal(st.st_size, 4); /* held back */
            commit(output);
            assert_int_equal(fstat(fd, &st), 0); /* and fd is still open */
            assert_int_equal(st.st_size, 4 + sizes[i]);
            assert_int_equal(lseek(fd, 4, SEEK_SET), 4);
            size_t got;
            char *bytes = read_fd(fd, &got);
            assert_int_equal(got, sizes[i]);
            assert_memory_equal(bytes, data, got);
            free(bytes);
            /* Given up: nothing is written. */
            assert_int_equal(ftruncate(fd, 0), 0);
            assert_int_equal(profconv_output_open_fd(&output, fd, "fd", NULL, NULL), 0);
            assert_int_equal(profconv_output_write(output, data, sizes[i], NULL), 0);
            profconv_output_free(output);
            assert_int_equal(fstat(fd, &st), 0);
            assert_int_equal(st.st_size, 0);
            close(fd);
        }
    /* A slow, non-blocking pipe takes it all. */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        size_t total = 0;
        static char bytes[40000];
        ssize_t n;
        while ((n = read(ends[0], bytes, sizeof bytes)) > 0) {
            if (memcmp(bytes, data + total, (size_t)n) != 0)
                _exit(2);
            total += (size_t)n;
            usleep(200);
        }
        _exit(total == 5000000 ? 0 : 1);
    }
    close(ends[0]);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    profconv_output *output;
    assert_int_equal(profconv_output_open_fd(&output, ends[1], NULL, NULL, NULL), 0);
    assert_int_equal(profconv_output_write(output, data, 5000000, NULL), 0);
    commit(output);
    close(ends[1]);
    int result;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
    /* No room for the temporary file. */
    profconv_error error;
    int fd = open(file, O_RDWR | O_TRUNC);
    assert_int_equal(profconv_output_open_fd(&output, fd, "fd", NULL, NULL), 0);
    limit_files(2 << 20);
    int status = profconv_output_write(output, data, 5000000, &error);
    limit_files(RLIM_INFINITY);
    assert_int_equal(status, PROFCONV_E_IO);
    assert_int_equal(error.system_errno, EFBIG);
    assert_non_null(strstr(error.message, "temporary file"));
    assert_int_equal(profconv_output_close(output, &error), PROFCONV_E_IO);
    profconv_output_free(output);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(fd);
    free(data);
}

static void memory(void **state) {
    (void)state;
    profconv_output *output;
    profconv_error error;
    const uint8_t *data;
    size_t size;
    assert_int_equal(profconv_output_open_memory(&output, NULL, &error), 0);
    put(output, "abc");
    assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_E_INVALID);
    assert_int_equal(profconv_output_close(output, &error), 0);
    assert_int_equal(profconv_output_bytes(output, &data, &size), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(data, "abc", 3);
    assert_int_equal(profconv_output_close(output, &error), PROFCONV_E_INVALID);
    assert_int_equal(profconv_output_write(output, "x", 1, &error), PROFCONV_E_INVALID);
    assert_int_equal(profconv_output_gzip(output, 1, &error), PROFCONV_E_INVALID);
    assert_int_equal(profconv_output_bytes(output, &data, &size), 0);
    assert_int_equal(size, 3);
    profconv_output_free(output);
    assert_int_equal(profconv_output_open_memory(&output, NULL, &error), 0);
    assert_int_equal(profconv_output_close(output, &error), 0);
    assert_int_equal(profconv_output_bytes(output, &data, &size), 0);
    assert_true(size == 0 && data != NULL);
    profconv_output_free(output);
    profconv_output_free(NULL);
    /* A budget holds. */
    profconv_limits limits = {.struct_size = sizeof limits, .max_memory = 8 << 20};
    profconv_io_options options = {sizeof options, NULL, &limits, 0, 0};
    assert_int_equal(profconv_output_open_memory(&output, &options, &error), 0);
    char *block = calloc(1, 1 << 20);
    int status = 0;
    for (int i = 0; i < 9 && !status; i++)
        status = profconv_output_write(output, block, 1 << 20, &error);
    assert_int_equal(status, PROFCONV_E_LIMIT);
    assert_int_equal(profconv_output_close(output, &error), PROFCONV_E_LIMIT);
    assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_E_INVALID);
    profconv_output_free(output);
    free(block);
}

typedef struct target {
    size_t size;
    unsigned writes, fail_at; /* from 1; 0: never */
    int fail_status, close_status;
    int closed, committed;
} target;
static int target_write(void *user, const void *data, size_t size) {
    target *t = user;
    assert_non_null(data);
    if (++t->writes == t->fail_at)
        return t->fail_status;
    t->size += size;
    return 0;
}
static int target_close(void *user, int committed) {
    target *t = user;
    t->closed++;
    t->committed = committed;
    return t->close_status;
}

static int run_target(target *t, size_t size, int close, profconv_error *error) {
    profconv_output_callbacks c = {sizeof c, target_write, target_close, t};
    profconv_output *output;
    assert_int_equal(profconv_output_open_callbacks(&output, &c, "target", NULL, NULL), 0);
    char *block = calloc(1, size + 1);
    int status = profconv_output_write(output, block, size, error);
    free(block);
    if (close) {
        int closed = profconv_output_close(output, error);
        assert_true(!status || closed == status);
        status = closed;
    }
    profconv_output_free(output);
    assert_int_equal(t->closed, 1);
    return status;
}

static void callbacks(void **state) {
    (void)state;
    profconv_error error;
    target t = {0};
    assert_int_equal(run_target(&t, 200000, 1, &error), 0);
    assert_true(t.size == 200000 && t.committed);
    t = (target){0};
    assert_int_equal(run_target(&t, 200000, 0, &error), 0);
    assert_int_equal(t.committed, 0);
    struct {
        int given, status, system_errno;
    } kinds[] = {{EPIPE, PROFCONV_E_CALLBACK, EPIPE},
                 {PROFCONV_E_CALLBACK, PROFCONV_E_CALLBACK, 0},
                 {PROFCONV_E_LIMIT, PROFCONV_E_LIMIT, 0}};
    for (size_t i = 0; i < 3; i++)
        for (size_t size = 10; size < 300000; size *= 20000) { /* at close, at once */
            t = (target){.fail_at = 1, .fail_status = kinds[i].given};
            assert_int_equal(run_target(&t, size, 1, &error), kinds[i].status);
            assert_int_equal(error.system_errno, kinds[i].system_errno);
            assert_non_null(strstr(error.message, "target: write callback"));
            assert_int_equal(t.committed, 0);
            t = (target){.close_status = kinds[i].given};
            assert_int_equal(run_target(&t, size, 1, &error), kinds[i].status);
            assert_non_null(strstr(error.message, "target: close callback"));
            assert_int_equal(t.committed, 1);
        }
    profconv_output_callbacks c = {sizeof c, NULL, NULL, NULL};
    profconv_output *output = (profconv_output *)1;
    assert_int_equal(profconv_output_open_callbacks(&output, &c, NULL, NULL, &error), PROFCONV_E_INVALID);
    assert_null(output);
    c.write = target_write; /* close is optional */
    c.user = &t;
    t = (target){0};
    assert_int_equal(profconv_output_open_callbacks(&output, &c, NULL, NULL, &error), 0);
    put(output, "x");
    commit(output);
    assert_int_equal(t.size, 1);
}

/* ---- gzip ---- */

static void packed(void **state) {
    (void)state;
    profconv_error error;
    size_t size = 1000000;
    uint8_t *data = malloc(size), *back = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * i >> 7);
    size_t smallest = SIZE_MAX;
    for (size_t part = 0; part <= size; part = part * 10 + 1)
        for (int level = 0; level <= 9; level += 3) {
            const uint8_t *bytes[2];
            size_t sizes[2];
            profconv_output *outputs[2];
            for (int twice = 0; twice < 2; twice++) { /* in one write, in many */
                profconv_output *output;
                assert_int_equal(profconv_output_open_memory(&output, NULL, &error), 0);
                assert_int_equal(profconv_output_gzip(output, level, &error), 0);
                assert_int_equal(profconv_output_gzip(output, level, &error), PROFCONV_E_INVALID);
                for (size_t at = 0; at < part; at += twice ? 999 : part)
                    assert_int_equal(
                        profconv_output_write(output, data + at, twice && part - at > 999 ? 999 : part - at, &error),
                        0);
                assert_int_equal(profconv_output_offset(output), part);
                assert_int_equal(profconv_output_close(output, &error), 0);
                assert_int_equal(profconv_output_bytes(output, &bytes[twice], &sizes[twice]), 0);
                outputs[twice] = output;
                z_stream z = {0};
                assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
                z.next_in = (Bytef *)(uintptr_t)bytes[twice];
                z.avail_in = (uInt)sizes[twice];
                z.next_out = back;
                z.avail_out = (uInt)size + 1;
                assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
                assert_int_equal(z.avail_in, 0);
                assert_int_equal(z.total_out, part);
                assert_memory_equal(back, data, part);
                inflateEnd(&z);
            }
            assert_int_equal(sizes[0], sizes[1]); /* the same bytes, however they came */
            assert_memory_equal(bytes[0], bytes[1], sizes[0]);
            assert_memory_equal(bytes[0] + 4, "\0\0\0\0", 4); /* no time */
            if (sizes[0] < smallest)
                smallest = sizes[0];
            profconv_output_free(outputs[0]);
            profconv_output_free(outputs[1]);
        }
    assert_int_equal(smallest, 20); /* nothing at all is 20 bytes of gzip */
    profconv_output *output;
    assert_int_equal(profconv_output_open_memory(&output, NULL, &error), 0);
    assert_int_equal(profconv_output_gzip(output, 10, &error), PROFCONV_E_INVALID);
    assert_int_equal(profconv_output_gzip(output, -1, &error), PROFCONV_E_INVALID);
    put(output, "x");
    assert_int_equal(profconv_output_gzip(output, 1, &error), PROFCONV_E_INVALID);
    profconv_output_free(output);
    free(data), free(back);
}

/* ---- no memory ---- */

static int open_kind(int kind, profconv_output **out, int fd, target *t, const profconv_io_options *options,
                     profconv_error *error) {
    profconv_output_callbacks c = {sizeof c, target_write, target_close, t};
    switch (kind) {
    case 0:
        return profconv_output_open_path(out, path_of("d/file"), options, error);
    case 1:
        return profconv_output_open_fd(out, fd, "fd", options, error);
    case 2:
        return profconv_output_open_memory(out, options, error);
    case 3:
        return profconv_output_open_path(out, "/dev/null", options, error);
    default:
        return profconv_output_open_callbacks(out, &c, "target", options, error);
    }
}

static int run_kind(int kind, int pack, int fd, const char *block, const profconv_allocator *allocator) {
    profconv_io_options options = {sizeof options, allocator, NULL, 0, 0};
    profconv_output *output = (profconv_output *)1;
    profconv_error error = {0};
    target t = {0};
    int status = open_kind(kind, &output, fd, &t, &options, &error);
    assert_int_equal(error.status, status);
    if (status) {
        assert_null(output);
        assert_int_equal(t.closed, 0);
        return status;
    }
    if (pack)
        status = profconv_output_gzip(output, 0, &error);
    for (int i = 0; i < 5 && !status; i++)
        status = profconv_output_write(output, block, 300000, &error);
    if (!status)
        status = profconv_output_close(output, &error);
    assert_int_equal(error.status, status);
    profconv_output_free(output);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    fresh("d");
    write_file(path_of("d/file"), "old");
    write_file(path_of("d/fd"), "");
    char *block = malloc(300000);
    for (size_t i = 0; i < 300000; i++)
        block[i] = (char)(i * i >> 9);
    for (int kind = 0; kind < 5; kind++)
        for (int pack = 0; pack < 2; pack++) {
            failing_alloc fail = {0};
            profconv_allocator allocator = failing_allocator(&fail);
            int fd = open(path_of("d/fd"), O_RDWR | O_TRUNC), status = 0;
            FAILING_SWEEP(&fail, status = run_kind(kind, pack, fd, block, &allocator), {
                assert_int_equal(status, PROFCONV_E_NOMEM);
                if (kind == 0 && !pack)
                    expect_text(path_of("d/file"), "old");
                struct stat st;
                assert_int_equal(fstat(fd, &st), 0);
                assert_int_equal(st.st_size, 0);
                expect_entries(path_of("d"), 2);
            });
            assert_int_equal(status, 0);
            close(fd);
        }
    expect_entries(path_of("d"), 2);
    free(block);
}

static int make_directory(void **state) {
    (void)state;
    strcpy(directory, P_tmpdir "/profconv-test-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}
static int remove_directory(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_file),       cmocka_unit_test(relative_path), cmocka_unit_test(replaced_file),
        cmocka_unit_test(links),          cmocka_unit_test(refused_paths), cmocka_unit_test(failed_writes),
        cmocka_unit_test(devices),        cmocka_unit_test(proc_path),     cmocka_unit_test(descriptors),
        cmocka_unit_test(memory),         cmocka_unit_test(callbacks),     cmocka_unit_test(packed),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
