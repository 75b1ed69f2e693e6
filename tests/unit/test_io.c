/* SPDX-License-Identifier: MIT
 *
 * Inputs: every kind of source against the plain bytes, the end and errors of each, directories, want of memory.
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
#include "libprofconv/io/io.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/io_support.h"

/* ---- every source against the plain bytes ---- */

/* Windows, skips and seeks as a reader would make them, each compared with what the bytes say. */
static void walk(profconv_input *input, const uint8_t *data, size_t size, uint64_t seed) {
    uint64_t random = seed * 2654435761u + 1;
    size_t at = 0;
    profconv_error error;
    for (int step = 0; step < 1000; step++) {
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

enum { MOST_ALARMS = 400 };

/* No more than enough of them: on a busy machine, under valgrind, nothing else would be done between two. */
static volatile sig_atomic_t alarms;
static void on_alarm(int signal) {
    static const struct itimerval never = {{0, 0}, {0, 0}};
    (void)signal;
    if (++alarms == MOST_ALARMS)
        setitimer(ITIMER_REAL, &never, NULL);
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
    assert_int_equal(profconv_input_open_path(&input, "/proc/self/status", NULL, &error), 0);
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

/* ---- no memory ---- */

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_plain),     cmocka_unit_test(sources_gzip),   cmocka_unit_test(descriptor_position),
        cmocka_unit_test(window_limits),     cmocka_unit_test(failed_read),    cmocka_unit_test(bad_callbacks),
        cmocka_unit_test(interrupted_reads), cmocka_unit_test(refused_opens),  cmocka_unit_test(odd_files),
        cmocka_unit_test(directories),       cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
