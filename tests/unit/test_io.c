/* SPDX-License-Identifier: MIT
 *
 * Inputs: every kind of source against the plain bytes, the end and errors of each, gzip, directories, lines, ticks.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "libprofconv/io/io.h"
#include "tests/support/failing_alloc.h"

/* ---- material ---- */

static uint64_t next_random(uint64_t *state) { /* xorshift64 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Compressible, but no two places look alike. */
static uint8_t *make_bytes(size_t size) {
    uint8_t *data = malloc(size + 1);
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < size; i++)
        data[i] = i % 16 < 8 ? (uint8_t)(i >> 8) : (uint8_t)next_random(&random);
    return data;
}

/* One gzip member, made by zlib itself; the caller frees it. */
static uint8_t *gzip_member(const void *data, size_t size, size_t *out_size) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&z, size) + 64;
    uint8_t *out = malloc(room);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out_size = room - z.avail_out;
    deflateEnd(&z);
    return out;
}

static uint8_t *join(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size) {
    uint8_t *both = malloc(a_size + b_size + 1);
    memcpy(both, a, a_size);
    memcpy(both + a_size, b, b_size);
    return both;
}

static char directory[64];

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Callbacks over memory: at most `step` bytes a call; call number fail_at fails with fail_status. */
typedef struct source {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t step;
    unsigned calls;
    unsigned fail_at; /* from 1; 0: never */
    int fail_status;
    unsigned interrupted; /* that many calls give EINTR first */
    int closed;
} source;

static int source_read_at(void *user, uint64_t offset, void *buffer, size_t size, size_t *got) {
    source *s = user;
    assert_true(size > 0);
    if (s->interrupted) {
        s->interrupted--;
        return EINTR;
    }
    if (++s->calls == s->fail_at)
        return s->fail_status;
    size_t left = offset < s->size ? s->size - (size_t)offset : 0;
    *got = size < left ? size : left;
    if (s->step && *got > s->step)
        *got = s->step;
    memcpy(buffer, s->data + (*got ? offset : 0), *got);
    return 0;
}
static int source_read(void *user, void *buffer, size_t size, size_t *got) {
    source *s = user;
    int status = source_read_at(user, s->at, buffer, size, got);
    s->at += status ? 0 : *got;
    return status;
}
static uint64_t source_size(void *user) { return ((source *)user)->size; }
static void source_close(void *user) { ((source *)user)->closed++; }

static profconv_input_callbacks forward(source *s) {
    profconv_input_callbacks c = {sizeof c, source_read, NULL, NULL, source_close, s};
    return c;
}
static profconv_input_callbacks seekable(source *s) {
    profconv_input_callbacks c = {sizeof c, NULL, source_read_at, source_size, source_close, s};
    return c;
}

static profconv_input *open_callbacks(source *s, int seek, const profconv_io_options *options) {
    profconv_input_callbacks c = seek ? seekable(s) : forward(s);
    profconv_input *input = NULL;
    profconv_error error;
    if (profconv_input_open_callbacks(&input, &c, "source", options, &error))
        fail_msg("%s", error.message);
    return input;
}

/* Everything that is left, compared; returns the status of the end. */
static int expect_rest(profconv_input *input, const uint8_t *data, size_t size, profconv_error *error) {
    size_t at = 0;
    for (;;) {
        const uint8_t *p;
        size_t got;
        int status = profconv_input_window(input, 0, &p, &got, error);
        assert_non_null(p);
        if (status || got == 0) {
            assert_int_equal(at, size);
            return status;
        }
        assert_true(got <= size - at);
        assert_memory_equal(p, data + at, got);
        profconv_input_consume(input, got);
        at += got;
    }
}

/* ---- every source against the plain bytes ---- */

/* Windows, skips and seeks as a reader would make them, each compared with what the bytes say. */
static void walk(profconv_input *input, const uint8_t *data, size_t size, uint64_t seed) {
    uint64_t random = seed * 2654435761u + 1;
    size_t at = 0;
    profconv_error error;
    for (int step = 0; step < 3000; step++) {
        uint64_t r = next_random(&random);
        assert_int_equal(profconv_input_offset(input), at);
        uint64_t known = profconv_input_size(input);
        assert_true(known == UINT64_MAX || known == size);
        size_t amount = (size_t)(r >> 8) % (r & 8 ? 300 : r & 16 ? 5000 : 700000);
        if ((r & 7) < 5) {
            const uint8_t *p;
            size_t got;
            if (profconv_input_window(input, amount, &p, &got, &error))
                fail_msg("%s", error.message);
            size_t least = amount ? amount : 1;
            if (least > size - at)
                least = size - at;
            assert_true(got >= least && got <= size - at);
            assert_memory_equal(p, data + at, got);
            size_t used = amount < got ? amount : got;
            profconv_input_consume(input, used);
            at += used;
        } else if ((r & 7) == 5) {
            uint64_t skipped;
            assert_int_equal(profconv_input_skip(input, amount, &skipped, &error), 0);
            assert_int_equal(skipped, amount < size - at ? amount : size - at);
            at += (size_t)skipped;
        } else if (profconv_input_can_seek(input)) {
            size_t target = (size_t)(r >> 16) % (size + 1000);
            if (r & 1024) {
                uint8_t *buffer = malloc(amount + 1);
                size_t got, expected = target < size ? size - target : 0;
                if (expected > amount)
                    expected = amount;
                assert_int_equal(profconv_input_read_at(input, target, buffer, amount, &got, &error), 0);
                assert_int_equal(got, expected);
                assert_memory_equal(buffer, data + (got ? target : 0), got);
                free(buffer);
            } else {
                assert_int_equal(profconv_input_seek(input, target, &error), 0);
                at = target < size ? target : size;
            }
        } else if (at < size) {
            size_t target = at + amount;
            assert_int_equal(profconv_input_seek(input, target, &error), 0);
            at = target < size ? target : size;
            if (at > 0) {
                assert_int_equal(profconv_input_seek(input, at - 1, &error), PROFCONV_E_UNSUPPORTED);
                uint8_t byte;
                size_t got;
                assert_int_equal(profconv_input_read_at(input, 0, &byte, 1, &got, &error), PROFCONV_E_UNSUPPORTED);
            }
        }
        if (at == size && !profconv_input_can_seek(input))
            break;
    }
    profconv_input_free(input);
}

/* A pipe fed by a child in pieces of changing size. */
static int pipe_from(const uint8_t *data, size_t size, pid_t *child, unsigned pause_us) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *child = fork();
    if (*child == 0) {
        close(ends[0]);
        uint64_t random = 99;
        for (size_t at = 0; at < size;) {
            size_t part = (size_t)(next_random(&random) % 30000) + 1;
            if (part > size - at)
                part = size - at;
            if (pause_us)
                usleep(pause_us);
            ssize_t n = write(ends[1], data + at, part);
            if (n < 0)
                _exit(1);
            at += (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

static void walk_all_sources(const uint8_t *file, size_t file_size, const uint8_t *data, size_t size) {
    profconv_input *input = NULL;
    profconv_error error;
    write_file(path_of("file"), file, file_size);
    for (uint64_t seed = 1; seed < 4; seed++) {
        assert_int_equal(profconv_input_open_memory(&input, file, file_size, NULL, &error), 0);
        walk(input, data, size, seed);
        assert_int_equal(profconv_input_open_path(&input, path_of("file"), NULL, &error), 0);
        assert_string_equal(profconv_input_path(input), path_of("file"));
        walk(input, data, size, seed);
        for (size_t step = 0; step < 20000; step = step * 9 + 1000) {
            source s = {.data = file, .size = file_size, .step = step};
            walk(open_callbacks(&s, 0, NULL), data, size, seed);
            walk(open_callbacks(&s, 1, NULL), data, size, seed);
            assert_int_equal(s.closed, 2);
        }
        pid_t child;
        int fd = pipe_from(file, file_size, &child, 0);
        assert_int_equal(profconv_input_open_fd(&input, fd, "pipe", NULL, &error), 0);
        assert_string_equal(profconv_input_name(input), "pipe");
        assert_null(profconv_input_path(input));
        walk(input, data, size, seed);
        close(fd);
        waitpid(child, NULL, 0);
    }
    /* One byte a read, to the end. */
    source s = {.data = file, .size = file_size, .step = 1};
    input = open_callbacks(&s, 0, NULL);
    assert_int_equal(expect_rest(input, data, size, &error), 0);
    assert_int_equal(profconv_input_size(input), size);
    profconv_input_free(input);
}

static void sources_plain(void **state) {
    (void)state;
    size_t size = 1500000;
    uint8_t *data = make_bytes(size);
    walk_all_sources(data, size, data, size);
    walk_all_sources(data, 5, data, 5);
    walk_all_sources(data, 0, data, 0);
    free(data);
}

static void sources_gzip(void **state) {
    (void)state;
    size_t size = 1500000, packed_size;
    uint8_t *data = make_bytes(size);
    uint8_t *packed = gzip_member(data, size, &packed_size);
    walk_all_sources(packed, packed_size, data, size);
    free(packed);
    packed = gzip_member(data, 0, &packed_size);
    walk_all_sources(packed, packed_size, data, 0);
    free(packed);
    free(data);
}

static void descriptor_position(void **state) {
    (void)state;
    write_file(path_of("file"), "0123456789", 10);
    int fd = open(path_of("file"), O_RDONLY);
    assert_int_equal(lseek(fd, 4, SEEK_SET), 4);
    profconv_input *input;
    profconv_error error;
    assert_int_equal(profconv_input_open_fd(&input, fd, NULL, NULL, &error), 0);
    assert_int_equal(profconv_input_size(input), 6);
    char byte;
    size_t got;
    assert_int_equal(profconv_input_read_at(input, 5, &byte, 1, &got, &error), 0);
    assert_int_equal(byte, '9');
    assert_int_equal(expect_rest(input, (const uint8_t *)"456789", 6, &error), 0);
    profconv_input_free(input);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 4);
    close(fd);
}

static void window_limits(void **state) {
    (void)state;
    size_t size = 3000000, got;
    uint8_t *data = make_bytes(size);
    const uint8_t *p;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    profconv_io_options options = {sizeof options, &allocator, NULL, 0, 0};
    profconv_error error;
    /* A want that the input cannot fill costs what the input has, not what was wanted. */
    source s = {.data = data, .size = 1000, .step = 100};
    profconv_input *input = open_callbacks(&s, 0, &options);
    assert_int_equal(profconv_input_window(input, 256 << 20, &p, &got, &error), 0);
    assert_int_equal(got, 1000);
    assert_true(fail.peak < 300000);
    assert_int_equal(profconv_input_window(input, (256 << 20) + 1, &p, &got, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "268435457"));
    assert_int_equal(profconv_input_window(input, 1, &p, &got, &error), 0); /* not the end of the input */
    profconv_input_free(input);
    /* One that it can fill works. */
    source t = {.data = data, .size = size};
    input = open_callbacks(&t, 0, &options);
    profconv_input_consume(input, 12345);
    assert_int_equal(profconv_input_window(input, size - 12345, &p, &got, &error), 0);
    assert_int_equal(got, size - 12345);
    assert_memory_equal(p, data + 12345, got);
    profconv_input_consume(input, got + 1000); /* more than is there: all */
    assert_int_equal(profconv_input_offset(input), size);
    profconv_input_free(input);
    /* Memory is shown in place. */
    assert_int_equal(profconv_input_open_memory(&input, data, size, &options, &error), 0);
    assert_int_equal(profconv_input_window(input, 1, &p, &got, &error), 0);
    assert_ptr_equal(p, data);
    assert_int_equal(got, size);
    profconv_input_free(input);
    assert_int_equal(fail.live, 0);
    assert_int_equal(fail.wrong_sizes, 0);
    /* A budget holds for the window, too. */
    profconv_limits limits = {.struct_size = sizeof limits, .max_memory = 2 << 20};
    options.limits = &limits;
    t.at = 0;
    input = open_callbacks(&t, 0, &options);
    assert_int_equal(profconv_input_window(input, size, &p, &got, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_memory"));
    profconv_input_free(input);
    assert_int_equal(fail.live, 0);
    free(data);
}

/* ---- errors of sources ---- */

static void failed_read(void **state) {
    (void)state;
    uint8_t *data = make_bytes(10000);
    profconv_error error;
    struct {
        int given, status, system_errno;
    } kinds[] = {{EIO, PROFCONV_E_CALLBACK, EIO},
                 {PROFCONV_E_CALLBACK, PROFCONV_E_CALLBACK, 0},
                 {PROFCONV_E_UNSUPPORTED, PROFCONV_E_UNSUPPORTED, 0}};
    for (size_t kind = 0; kind < 3; kind++)
        for (int seek = 0; seek < 2; seek++)
            for (unsigned k = 1; k <= 12; k++) {
                source s = {.data = data, .size = 10000, .step = 1000, .fail_at = k, .fail_status = kinds[kind].given};
                profconv_input_callbacks c = seek ? seekable(&s) : forward(&s);
                profconv_input *input = (profconv_input *)1;
                int status = profconv_input_open_callbacks(&input, &c, "source", NULL, &error);
                if (k == 1) {
                    assert_null(input);
                    assert_int_equal(s.closed, 0); /* there was no input to free */
                } else {
                    assert_int_equal(status, 0);
                    /* What was read before is delivered, then the error stays. A known size saves the last read. */
                    unsigned reads = seek ? 10 : 11;
                    status = expect_rest(input, data, k > reads ? 10000 : (k - 1) * 1000, &error);
                    if (k > reads) {
                        assert_int_equal(status, 0);
                    } else {
                        profconv_error again;
                        const uint8_t *p;
                        size_t got;
                        assert_int_equal(profconv_input_window(input, 1, &p, &got, &again), status);
                        assert_string_equal(again.message, error.message);
                    }
                    profconv_input_free(input);
                    assert_int_equal(s.closed, 1);
                    if (k > reads)
                        continue;
                }
                assert_int_equal(status, kinds[kind].status);
                assert_int_equal(error.status, kinds[kind].status);
                assert_int_equal(error.system_errno, kinds[kind].system_errno);
                assert_int_equal(error.offset, (k - 1) * 1000);
                assert_non_null(strstr(error.message, "source: read callback"));
            }
    free(data);
}

static int lying_read(void *user, void *buffer, size_t size, size_t *got) {
    (void)user;
    memset(buffer, 0, size);
    *got = size + 1;
    return 0;
}

static void bad_callbacks(void **state) {
    (void)state;
    profconv_input *input = (profconv_input *)1;
    profconv_error error;
    profconv_input_callbacks c = {sizeof c, lying_read, NULL, NULL, NULL, NULL};
    assert_int_equal(profconv_input_open_callbacks(&input, &c, NULL, NULL, &error), PROFCONV_E_CALLBACK);
    assert_null(input);
    c.read = NULL;
    assert_int_equal(profconv_input_open_callbacks(&input, &c, NULL, NULL, &error), PROFCONV_E_INVALID);
    c.struct_size = 3;
    assert_int_equal(profconv_input_open_callbacks(&input, &c, NULL, NULL, &error), PROFCONV_E_INVALID);
    profconv_io_options options = {.struct_size = 1000000};
    assert_int_equal(profconv_input_open_memory(&input, "", 0, &options, &error), PROFCONV_E_INVALID);
    assert_null(input);
    /* EINTR is tried again, but not for ever. */
    source s = {.data = (const uint8_t *)"abc", .size = 3, .interrupted = 5};
    input = open_callbacks(&s, 0, NULL);
    assert_int_equal(expect_rest(input, s.data, 3, &error), 0);
    profconv_input_free(input);
    source t = {.data = (const uint8_t *)"abc", .size = 3, .interrupted = UINT32_MAX};
    c = forward(&t);
    assert_int_equal(profconv_input_open_callbacks(&input, &c, NULL, NULL, &error), PROFCONV_E_CALLBACK);
    assert_int_equal(error.system_errno, EINTR);
}

static volatile sig_atomic_t alarms;
static void on_alarm(int signal) {
    (void)signal;
    alarms++;
}

static void interrupted_reads(void **state) {
    (void)state;
    size_t size = 400000;
    uint8_t *data = make_bytes(size);
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    pid_t child;
    int fd = pipe_from(data, size, &child, 3000);
    struct itimerval timer = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &timer, NULL);
    profconv_input *input;
    profconv_error error;
    int status = profconv_input_open_fd(&input, fd, "pipe", NULL, &error);
    if (!status)
        status = expect_rest(input, data, size, &error);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    assert_int_equal(status, 0);
    assert_true(alarms > 0);
    profconv_input_free(input);
    close(fd);
    waitpid(child, NULL, 0);
    /* A non-blocking descriptor is waited for. */
    fd = pipe_from(data, size, &child, 1000);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    assert_int_equal(profconv_input_open_fd(&input, fd, "pipe", NULL, &error), 0);
    assert_int_equal(expect_rest(input, data, size, &error), 0);
    profconv_input_free(input);
    close(fd);
    waitpid(child, NULL, 0);
    free(data);
}

static void refused_opens(void **state) {
    (void)state;
    profconv_input *input = (profconv_input *)1;
    profconv_error error;
    assert_int_equal(profconv_input_open_path(&input, path_of("none"), NULL, &error), PROFCONV_E_IO);
    assert_null(input);
    assert_int_equal(error.system_errno, ENOENT);
    assert_non_null(strstr(error.message, "/none: No such file or directory"));
    assert_int_equal(profconv_input_open_fd(&input, -1, NULL, NULL, &error), PROFCONV_E_IO);
    assert_int_equal(error.system_errno, EBADF);
    int fd = open(directory, O_RDONLY);
    assert_int_equal(profconv_input_open_fd(&input, fd, "dir", NULL, &error), PROFCONV_E_IO);
    assert_int_equal(error.system_errno, EISDIR);
    close(fd);
    fd = open(path_of("write-only"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(profconv_input_open_fd(&input, fd, "wo", NULL, &error), PROFCONV_E_IO);
    assert_int_equal(error.system_errno, EBADF);
    assert_non_null(strstr(error.message, "wo: read at offset 0"));
    close(fd);
    assert_int_equal(profconv_input_open_path(&input, directory, NULL, &error), PROFCONV_E_IO);
    assert_non_null(strstr(error.message, "member \"data\""));
}

static void odd_files(void **state) {
    (void)state;
    profconv_input *input;
    profconv_error error;
    const uint8_t *p;
    size_t got;
    /* /proc: regular, of size 0, with content. */
    assert_int_equal(profconv_input_open_path(&input, "/proc/self/maps", NULL, &error), 0);
    assert_int_equal(profconv_input_window(input, 64, &p, &got, &error), 0);
    assert_true(got >= 64);
    assert_int_equal(profconv_input_can_seek(input), 0);
    profconv_input_free(input);
    /* A file that shrinks, and one that grows, while it is read: no SIGBUS, and no bytes from after the open. */
    uint8_t *data = make_bytes(1000000);
    write_file(path_of("moving"), data, 1000000);
    assert_int_equal(profconv_input_open_path(&input, path_of("moving"), NULL, &error), 0);
    assert_int_equal(truncate(path_of("moving"), 600000), 0);
    assert_int_equal(expect_rest(input, data, 600000, &error), 0);
    assert_int_equal(profconv_input_size(input), 600000);
    profconv_input_free(input);
    write_file(path_of("moving"), data, 600000);
    assert_int_equal(profconv_input_open_path(&input, path_of("moving"), NULL, &error), 0);
    write_file(path_of("moving"), data, 1000000);
    assert_int_equal(expect_rest(input, data, 600000, &error), 0);
    profconv_input_free(input);
    free(data);
}

/* ---- gzip ---- */

static int inflate_all(const uint8_t *file, size_t file_size, const uint8_t *data, size_t size,
                       const profconv_limits *limits, profconv_error *error) {
    profconv_io_options options = {sizeof options, NULL, limits, 0, 0};
    profconv_input *input;
    int status = profconv_input_open_memory(&input, file, file_size, &options, error);
    if (status)
        return status;
    status = expect_rest(input, data, size, error);
    profconv_input_free(input);
    return status;
}

static void gzip_members(void **state) {
    (void)state;
    size_t size = 200000, a_size, b_size, all_size;
    uint8_t *data = make_bytes(size), *a = gzip_member(data, 70000, &a_size), *none, *b;
    profconv_error error;
    b = gzip_member(data + 70000, size - 70000, &b_size);
    size_t none_size;
    none = gzip_member(data, 0, &none_size);
    uint8_t *ab = join(a, a_size, none, none_size), *all = join(ab, a_size + none_size, b, b_size);
    all_size = a_size + none_size + b_size;
    assert_int_equal(inflate_all(all, all_size, data, size, NULL, &error), 0);
    source s = {.data = all, .size = all_size, .step = 1};
    profconv_input *input = open_callbacks(&s, 0, NULL);
    assert_int_equal(expect_rest(input, data, size, &error), 0);
    uint64_t done, total;
    profconv_input_progress(input, &done, &total);
    assert_int_equal(done, all_size);
    assert_int_equal(total, all_size);
    profconv_input_free(input);
    /* Progress counts compressed bytes. */
    assert_int_equal(profconv_input_open_memory(&input, all, all_size, NULL, &error), 0);
    profconv_input_progress(input, &done, &total);
    assert_true(done == 0 && total == all_size);
    uint64_t skipped;
    assert_int_equal(profconv_input_skip(input, 70000, &skipped, &error), 0);
    profconv_input_progress(input, &done, &total);
    assert_true(done > 0 && done <= all_size && total == all_size);
    profconv_input_free(input);
    /* What follows a member and is none is left out. */
    const char *tails[] = {"garbage", "\0\0\0\0\0\0\0\0", "\x1f", "\x1fx"};
    size_t tail_sizes[] = {7, 8, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        uint8_t *file = join(all, all_size, (const uint8_t *)tails[i], tail_sizes[i]);
        assert_int_equal(inflate_all(file, all_size + tail_sizes[i], data, size, NULL, &error), 0);
        free(file);
    }
    /* ... but the start of a member is the start of a member. */
    uint8_t *file = join(all, all_size, (const uint8_t *)"\x1f\x8b", 2);
    assert_int_equal(inflate_all(file, all_size + 2, data, size, NULL, &error), PROFCONV_E_FORMAT);
    assert_non_null(strstr(error.message, "ends early"));
    free(file);
    /* raw hands it out as it is. */
    profconv_io_options raw = {.struct_size = sizeof raw, .raw = 1};
    assert_int_equal(profconv_input_open_memory(&input, all, all_size, &raw, &error), 0);
    assert_int_equal(expect_rest(input, all, all_size, &error), 0);
    profconv_input_free(input);
    /* zlib streams are not gzip. */
    assert_int_equal(inflate_all((const uint8_t *)"\x78\x9c\x03\0\0\0\0\x01", 8,
                                 (const uint8_t *)"\x78\x9c\x03\0\0\0\0\x01", 8, NULL, &error),
                     0);
    free(a), free(b), free(none), free(ab), free(all), free(data);
}

static void gzip_truncated(void **state) {
    (void)state;
    uint8_t *data = make_bytes(3000);
    size_t a_size, b_size;
    uint8_t *a = gzip_member(data, 2000, &a_size), *b = gzip_member(data + 2000, 1000, &b_size);
    uint8_t *all = join(a, a_size, b, b_size);
    size_t before = 0;
    for (size_t cut = 3; cut < a_size + b_size; cut++) {
        profconv_error error = {0};
        profconv_input *input;
        assert_int_equal(profconv_input_open_memory(&input, all, cut, NULL, &error), 0);
        size_t total = 0, got;
        const uint8_t *p;
        int status;
        while ((status = profconv_input_window(input, 100, &p, &got, &error)) == 0 && got) {
            assert_memory_equal(p, data + total, got);
            total += got;
            profconv_input_consume(input, got);
        }
        profconv_input_free(input);
        assert_true(total >= before); /* a longer file never gives less */
        before = total;
        if (cut == a_size || cut == a_size + 1) { /* a whole member, and one byte behind it */
            assert_int_equal(status, 0);
            assert_int_equal(total, 2000);
            continue;
        }
        assert_int_equal(status, PROFCONV_E_FORMAT);
        assert_non_null(strstr(error.message, "gzip stream ends early"));
        assert_int_equal(error.offset, total);
        if (cut > a_size)
            assert_true(total >= 2000);
    }
    assert_int_equal(before, 3000); /* only the trailer was missing */
    free(a), free(b), free(all), free(data);
}

static void gzip_damaged(void **state) {
    (void)state;
    uint8_t *data = make_bytes(100000);
    size_t size;
    uint8_t *file = gzip_member(data, 100000, &size);
    profconv_error error;
    file[size - 5] ^= 1; /* CRC: all bytes come, then the error */
    file[size - 5] ^= 1;
    file[size - 8] ^= 1;
    assert_int_equal(inflate_all(file, size, data, 100000, NULL, &error), PROFCONV_E_FORMAT);
    assert_non_null(strstr(error.message, "incorrect data check"));
    file[size - 8] ^= 1;
    file[size - 1] ^= 1;
    assert_int_equal(inflate_all(file, size, data, 100000, NULL, &error), PROFCONV_E_FORMAT);
    assert_non_null(strstr(error.message, "incorrect length check"));
    file[size - 1] ^= 1;
    /* Damage anywhere is found, at the latest by the CRC; nothing is delivered beyond the size. */
    for (size_t at = 10; at < size; at += 97) {
        file[at] ^= 0x55;
        profconv_input *input;
        assert_int_equal(profconv_input_open_memory(&input, file, size, NULL, &error), 0);
        const uint8_t *p;
        size_t got;
        int status;
        while ((status = profconv_input_window(input, 0, &p, &got, &error)) == 0 && got)
            profconv_input_consume(input, got);
        assert_int_equal(status, PROFCONV_E_FORMAT);
        profconv_input_free(input);
        file[at] ^= 0x55;
    }
    free(file);
    free(data);
}

static void gzip_bomb(void **state) {
    (void)state;
    size_t size = 64 << 20, packed;
    uint8_t *zeros = calloc(1, size);
    uint8_t *file = gzip_member(zeros, size, &packed);
    profconv_error error;
    profconv_limits limits = {.struct_size = sizeof limits};
    assert_int_equal(inflate_all(file, packed, zeros, size, NULL, &error), 0); /* about 1000 to one: allowed */
    limits.max_inflated = size;
    assert_int_equal(inflate_all(file, packed, zeros, size, &limits, &error), 0);
    limits.max_inflated = size - 1;
    assert_int_equal(inflate_all(file, packed, zeros, size - 1, &limits, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_inflated"));
    limits.max_inflated = 1;
    assert_int_equal(inflate_all(file, packed, zeros, 1, &limits, &error), PROFCONV_E_LIMIT);
    limits.max_inflated = 0;
    limits.max_inflate_ratio = 100;
    profconv_io_options options = {sizeof options, NULL, &limits, 0, 0};
    profconv_input *input;
    assert_int_equal(profconv_input_open_memory(&input, file, packed, &options, &error), 0);
    uint64_t skipped;
    assert_int_equal(profconv_input_skip(input, size, &skipped, &error), PROFCONV_E_LIMIT);
    assert_non_null(strstr(error.message, "max_inflate_ratio"));
    assert_true(skipped >= 16 << 20 && skipped <= 18 << 20);
    profconv_input_free(input);
    free(file);
    file = gzip_member(zeros, 16 << 20, &packed); /* below 16 MiB the ratio is not looked at */
    assert_int_equal(inflate_all(file, packed, zeros, 16 << 20, &limits, &error), 0);
    free(file);
    free(zeros);
}

/* ---- directories ---- */

static void directories(void **state) {
    (void)state;
    profconv_error error;
    profconv_input *input, *part;
    assert_int_equal(mkdir(path_of("rec"), 0700), 0);
    assert_int_equal(profconv_input_open_path(&input, path_of("rec"), NULL, &error), PROFCONV_E_IO);
    write_file(path_of("rec/data"), "main", 4);
    size_t packed_size;
    uint8_t *packed = gzip_member("part one", 8, &packed_size);
    write_file(path_of("rec/data.0"), packed, packed_size);
    free(packed);
    assert_int_equal(mkfifo(path_of("rec/fifo"), 0600), 0);
    assert_int_equal(mkdir(path_of("rec/sub"), 0700), 0);
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    profconv_io_options options = {sizeof options, &allocator, NULL, 0, 0};
    assert_int_equal(profconv_input_open_path(&input, path_of("rec"), &options, &error), 0);
    assert_int_equal(profconv_input_is_directory(input), 1);
    assert_int_equal(expect_rest(input, (const uint8_t *)"main", 4, &error), 0);
    assert_int_equal(profconv_input_open_part(input, "data.0", &part, &error), 0);
    assert_string_equal(profconv_input_name(part), path_of("rec/data.0"));
    assert_int_equal(profconv_input_is_directory(part), 0);
    assert_int_equal(expect_rest(part, (const uint8_t *)"part one", 8, &error), 0);
    profconv_input_free(part);
    const char *bad[] = {"", ".", "..", "../file", "/etc/passwd", "a/b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        part = (profconv_input *)1;
        assert_int_equal(profconv_input_open_part(input, bad[i], &part, &error), PROFCONV_E_INVALID);
        assert_null(part);
    }
    assert_int_equal(profconv_input_open_part(input, "data.1", &part, &error), PROFCONV_E_NOT_FOUND);
    assert_int_equal(profconv_input_open_part(input, "fifo", &part, &error), PROFCONV_E_IO); /* and no waiting */
    assert_int_equal(profconv_input_open_part(input, "sub", &part, &error), PROFCONV_E_IO);
    profconv_input_free(input);
    assert_int_equal(fail.live, 0);
    assert_int_equal(profconv_input_open_memory(&input, "", 0, NULL, &error), 0);
    assert_int_equal(profconv_input_open_part(input, "data", &part, &error), PROFCONV_E_NOT_FOUND);
    assert_int_equal(profconv_input_is_directory(input), 0);
    profconv_input_free(input);
}

/* ---- lines, all at once, ticks ---- */

static void lines(void **state) {
    (void)state;
    char text[700100] = "first\n\nthird\r\n";
    size_t size = 14;
    memset(text + size, 'x', 700000);
    size += 700000;
    memcpy(text + size, "\nlast", 5);
    size += 5;
    struct {
        size_t start, size;
        int terminated;
    } expected[] = {{0, 5, 1}, {6, 0, 1}, {7, 6, 1}, {14, 700000, 1}, {700015, 4, 0}};
    for (size_t step = 0; step < 30000; step = step * 17 + 7) {
        source s = {.data = (uint8_t *)text, .size = size, .step = step};
        profconv_input *input = open_callbacks(&s, 0, NULL);
        const char *line;
        size_t length;
        int got, terminated;
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(pfc_input_line(input, 700000, &line, &length, &got, &terminated, NULL), 0);
            assert_int_equal(got, 1);
            assert_int_equal(length, expected[i].size);
            assert_int_equal(terminated, expected[i].terminated);
            assert_memory_equal(line, text + expected[i].start, length);
            assert_int_equal(profconv_input_offset(input), expected[i].start); /* until the next call */
        }
        assert_int_equal(pfc_input_line(input, 700000, &line, &length, &got, &terminated, NULL), 0);
        assert_true(!got && !terminated && length == 0);
        assert_int_equal(profconv_input_offset(input), size);
        profconv_input_free(input);
    }
    profconv_input *input;
    profconv_error error;
    const char *line;
    size_t length;
    int got, terminated;
    assert_int_equal(profconv_input_open_memory(&input, text, size, NULL, &error), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pfc_input_line(input, 699999, &line, &length, &got, &terminated, &error), 0);
    assert_int_equal(pfc_input_line(input, 699999, &line, &length, &got, &terminated, &error), PROFCONV_E_LIMIT);
    assert_int_equal(error.offset, 14);
    /* Windows and lines mix. */
    assert_int_equal(profconv_input_seek(input, 0, &error), 0);
    assert_int_equal(pfc_input_line(input, 100, &line, &length, &got, &terminated, &error), 0);
    const uint8_t *p;
    assert_int_equal(profconv_input_window(input, 6, &p, &length, &error), 0);
    assert_memory_equal(p, "\nthird", 6);
    profconv_input_free(input);
}

static void read_all(void **state) {
    (void)state;
    size_t size = 1000000;
    uint8_t *data = make_bytes(size);
    profconv_error error;
    for (int seek = 0; seek < 2; seek++) {
        source s = {.data = data, .size = size, .step = 77777};
        failing_alloc fail = {0};
        profconv_allocator allocator = failing_allocator(&fail);
        pfc_mem mem;
        pfc_mem_init(&mem, &allocator, 0);
        profconv_input *input = open_callbacks(&s, seek, NULL);
        profconv_input_consume(input, 10);
        uint8_t *all;
        size_t all_size, capacity;
        assert_int_equal(pfc_input_read_all(input, &mem, size, &all, &all_size, &capacity, &error), 0);
        assert_int_equal(all_size, size - 10);
        assert_memory_equal(all, data + 10, size - 10);
        if (seek)
            assert_int_equal(fail.peak, size - 10); /* the size was known */
        pfc_free(&mem, all, capacity);
        assert_int_equal(pfc_input_read_all(input, &mem, size, &all, &all_size, &capacity, &error), 0);
        assert_true(all_size == 0 && capacity == 0);
        profconv_input_free(input);
        s.at = 0;
        input = open_callbacks(&s, seek, NULL);
        assert_int_equal(pfc_input_read_all(input, &mem, size - 1, &all, &all_size, &capacity, &error),
                         PROFCONV_E_LIMIT);
        assert_null(all);
        assert_int_equal(mem.live, 0);
        profconv_input_free(input);
        s.at = 0;
        input = open_callbacks(&s, seek, NULL);
        pfc_mem_init(&mem, &allocator, 500000);
        assert_int_equal(pfc_input_read_all(input, &mem, UINT64_MAX, &all, &all_size, &capacity, &error),
                         PROFCONV_E_LIMIT);
        assert_non_null(strstr(error.message, "max_memory of 500000"));
        assert_int_equal(mem.live, 0);
        profconv_input_free(input);
    }
    free(data);
}

typedef struct ticks {
    unsigned count, cancel_at;
    uint64_t done, total;
} ticks;
static int on_tick(void *user, uint64_t done, uint64_t total) {
    ticks *t = user;
    assert_true(done >= t->done);
    t->done = done;
    t->total = total;
    return ++t->count == t->cancel_at;
}

static void ticking(void **state) {
    (void)state;
    size_t size = 10 << 20, got;
    uint8_t *data = make_bytes(size);
    profconv_error error;
    const uint8_t *p;
    profconv_input *input;
    for (int kind = 0; kind < 2; kind++) {
        source s = {.data = data, .size = size};
        ticks t = {0};
        input = kind ? open_callbacks(&s, 1, NULL) : NULL;
        if (!kind)
            assert_int_equal(profconv_input_open_memory(&input, data, size, NULL, &error), 0);
        pfc_input_set_tick(input, on_tick, &t);
        while (profconv_input_window(input, 1000, &p, &got, &error) == 0 && got)
            profconv_input_consume(input, got < 1000 ? got : 1000);
        assert_true(t.count >= 9 && t.count <= 11);
        assert_int_equal(t.total, size);
        assert_int_equal(profconv_input_seek(input, 0, &error), 0);
        t = (ticks){.cancel_at = 3};
        int status;
        uint64_t at = 0;
        while ((status = profconv_input_window(input, 1000, &p, &got, &error)) == 0 && got) {
            profconv_input_consume(input, 1000);
            at += 1000;
        }
        assert_int_equal(status, PROFCONV_E_CALLBACK);
        assert_true(at >= 3 << 20 && at < 4 << 20);
        assert_non_null(strstr(error.message, "cancelled"));
        pfc_input_set_tick(input, NULL, NULL);
        assert_int_equal(profconv_input_window(input, 1000, &p, &got, &error), 0);
        /* Skips can be cancelled, and reads out of order. */
        t = (ticks){.cancel_at = 1};
        pfc_input_set_tick(input, on_tick, &t);
        uint64_t skipped;
        assert_int_equal(profconv_input_skip(input, 5 << 20, &skipped, &error), PROFCONV_E_CALLBACK);
        if (kind) {
            t = (ticks){.cancel_at = 2};
            pfc_input_set_tick(input, on_tick, &t);
            uint8_t *buffer = malloc(1 << 20);
            assert_int_equal(profconv_input_read_at(input, 0, buffer, 1 << 20, &got, &error), 0);
            assert_int_equal(profconv_input_read_at(input, 0, buffer, 1 << 20, &got, &error), PROFCONV_E_CALLBACK);
            free(buffer);
        }
        profconv_input_free(input);
    }
    free(data);
}

/* ---- zlib, and no memory ---- */

static void zlib_blocks(void **state) {
    (void)state;
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    pfc_mem mem;
    pfc_mem_init(&mem, &allocator, 0);
    uint8_t *data = make_bytes(300000), *out = malloc(300001);
    size_t sizes[] = {0, 1, 4096, 300000};
    for (size_t i = 0; i < 4; i++)
        for (int level = 0; level <= 9; level += 3) {
            uint8_t *packed;
            size_t packed_size, capacity, size = sizes[i];
            assert_int_equal(pfc_zlib_deflate(&mem, data, size, level, &packed, &packed_size, &capacity), 0);
            uLongf length = 300001; /* zlib's own opinion */
            assert_int_equal(uncompress(out, &length, packed, packed_size), Z_OK);
            assert_int_equal(length, size);
            assert_int_equal(pfc_zlib_inflate(&mem, packed, packed_size, out, size), 0);
            assert_memory_equal(out, data, size);
            assert_int_equal(pfc_zlib_inflate(&mem, packed, packed_size, out, size + 1), PROFCONV_E_FORMAT);
            if (size)
                assert_int_equal(pfc_zlib_inflate(&mem, packed, packed_size, out, size - 1), PROFCONV_E_FORMAT);
            for (size_t cut = 0; cut < packed_size; cut += packed_size / 7 + 1)
                assert_int_equal(pfc_zlib_inflate(&mem, packed, cut, out, size), PROFCONV_E_FORMAT);
            pfc_free(&mem, packed, capacity);
            assert_int_equal(mem.live, 0);
        }
    uint8_t *packed = NULL;
    size_t packed_size, capacity;
    assert_int_equal(pfc_zlib_deflate(&mem, data, 10, 10, &packed, &packed_size, &capacity), PROFCONV_E_INVALID);
    int status = 0;
    FAILING_SWEEP(
        &fail,
        {
            status = pfc_zlib_deflate(&mem, data, 300000, 0, &packed, &packed_size, &capacity);
            pfc_free(&mem, packed, capacity);
        },
        assert_int_equal(status, PROFCONV_E_NOMEM));
    assert_int_equal(status, 0);
    assert_int_equal(pfc_zlib_deflate(&mem, data, 300000, 0, &packed, &packed_size, &capacity), 0);
    uint8_t *kept = join(packed, packed_size, packed, 0);
    pfc_free(&mem, packed, capacity);
    FAILING_SWEEP(&fail, status = pfc_zlib_inflate(&mem, kept, packed_size, out, 300000),
                  assert_int_equal(status, PROFCONV_E_NOMEM));
    assert_int_equal(status, 0);
    free(kept), free(out), free(data);
}

typedef struct use {
    int (*open)(profconv_input **out, const void *what, const profconv_io_options *options, profconv_error *error);
    const void *what;
    size_t size;
} use;
typedef struct block {
    const uint8_t *data;
    size_t size;
} block;

static int open_memory(profconv_input **out, const void *what, const profconv_io_options *options,
                       profconv_error *error) {
    const block *b = what;
    return profconv_input_open_memory(out, b->data, b->size, options, error);
}
static int open_path(profconv_input **out, const void *what, const profconv_io_options *options,
                     profconv_error *error) {
    return profconv_input_open_path(out, what, options, error);
}
static int open_slow(profconv_input **out, const void *what, const profconv_io_options *options,
                     profconv_error *error) {
    const block *b = what;
    static source s;
    s = (source){.data = b->data, .size = b->size, .step = 5000};
    profconv_input_callbacks c = forward(&s);
    return profconv_input_open_callbacks(out, &c, "slow", options, error);
}
static int open_directory(profconv_input **out, const void *what, const profconv_io_options *options,
                          profconv_error *error) {
    profconv_input *whole;
    *out = NULL;
    int status = profconv_input_open_path(&whole, what, options, error);
    if (status)
        return status;
    status = profconv_input_open_part(whole, "data.0", out, error);
    profconv_input_free(whole);
    return status;
}

/* Opens and reads with windows that make the buffer grow. */
static int run_use(const use *u, const profconv_allocator *allocator) {
    profconv_io_options options = {sizeof options, allocator, NULL, 0, 0};
    profconv_input *input = (profconv_input *)1;
    profconv_error error = {0};
    int status = u->open(&input, u->what, &options, &error);
    if (status) {
        assert_null(input);
        assert_int_equal(error.status, status);
        return status;
    }
    const uint8_t *p;
    size_t got, total = 0;
    while ((status = profconv_input_window(input, 600000, &p, &got, &error)) == 0 && got) {
        total += got;
        profconv_input_consume(input, got);
    }
    assert_int_equal(error.status, status);
    if (!status)
        assert_int_equal(total, u->size);
    profconv_input_free(input);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    size_t size = 1000000, packed_size;
    uint8_t *data = make_bytes(size), *packed = gzip_member(data, size, &packed_size);
    write_file(path_of("big"), data, size);
    char big[256], rec[256];
    strcpy(big, path_of("big"));
    strcpy(rec, path_of("rec"));
    block plain = {data, size}, gz = {packed, packed_size};
    use uses[] = {{open_memory, &plain, size}, {open_memory, &gz, size}, {open_path, big, size},
                  {open_slow, &plain, size},   {open_slow, &gz, size},   {open_directory, rec, 8}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        failing_alloc fail = {0};
        profconv_allocator allocator = failing_allocator(&fail);
        int status = 0;
        FAILING_SWEEP(&fail, status = run_use(&uses[i], &allocator), assert_int_equal(status, PROFCONV_E_NOMEM));
        assert_int_equal(status, 0);
        assert_true(fail.requests > 1);
    }
    free(packed), free(data);
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
        cmocka_unit_test(sources_plain),  cmocka_unit_test(sources_gzip),      cmocka_unit_test(descriptor_position),
        cmocka_unit_test(window_limits),  cmocka_unit_test(failed_read),       cmocka_unit_test(bad_callbacks),
        cmocka_unit_test(refused_opens),  cmocka_unit_test(interrupted_reads), cmocka_unit_test(odd_files),
        cmocka_unit_test(gzip_members),   cmocka_unit_test(gzip_truncated),    cmocka_unit_test(gzip_damaged),
        cmocka_unit_test(gzip_bomb),      cmocka_unit_test(directories),       cmocka_unit_test(lines),
        cmocka_unit_test(read_all),       cmocka_unit_test(ticking),           cmocka_unit_test(zlib_blocks),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
