/* SPDX-License-Identifier: MIT
 *
 * More faults, for every registered format: bits flipped at random places (always the same ones), reads of any number
 * of bytes and reads that are interrupted, a pipe that nobody reads, large recordings that end early. Expected each
 * time: a status, a message, nothing leaked. PROFCONV_FULL=1: 10,000 damaged inputs a reader, 512 ends of each large
 * file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/matrix/sweep_help.h"

static uint64_t next_random(uint64_t *state) { /* xorshift64 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- flipped bits ---- */

/* The small fixtures of a format. */
static size_t of_format(const world *w, const char *format, const test_fixture **out, size_t room) {
    size_t count = 0;
    for (size_t i = 0; i < w->fixtures.count && count < room; i++) {
        const test_fixture *fixture = &w->fixtures.items[i];
        if (strcmp(fixture->format, format) == 0 && fixture->size > 0 && fixture->size <= SMALL)
            out[count++] = fixture;
    }
    return count;
}

/* One to eight bits, near each other or anywhere. */
static void flip(unsigned char *data, size_t size, uint64_t *random) {
    size_t bits = (size_t)1 << next_random(random) % 4, at = (size_t)(next_random(random) % size);
    int near = (int)(next_random(random) & 1);
    for (; bits; bits--) {
        size_t byte = near ? (at + (size_t)(next_random(random) % 16)) % size : (size_t)(next_random(random) % size);
        data[byte] ^= (unsigned char)(1u << next_random(random) % 8);
    }
}

static void flip_reader(const world *w, const char *format) {
    enum { MOST = 2048 };
    static const test_fixture *fixtures[MOST];
    size_t count = of_format(w, format, fixtures, MOST);
    size_t rounds = test_full() ? 10000 : test_sampled() ? 30 : test_reduced() ? 300 : 2000;
    uint64_t random = 0x9e3779b97f4a7c15, refused = 0;
    for (size_t k = 0; count && k < rounds; k++) {
        const test_fixture *fixture = fixtures[k % count];
        unsigned char *copy = malloc(fixture->size); /* of its own size, so that a read past its end is seen */
        test_heap heap;
        assert_non_null(copy);
        memcpy(copy, fixture->data, fixture->size);
        flip(copy, fixture->size, &random);
        test_run run = make_run(w, fixture, NULL);
        test_heap_init(&heap, 0);
        run.heap = &heap;
        run.data = copy;
        run.max_memory = 256u << 20; /* a count that grew costs no more than this */
        test_run_do(&run);
        check_outcome(&run, fixture->label, "flip", k);
        check_heap(&heap, fixture->label, "flip", k);
        refused += run.status != PROFCONV_OK;
        test_run_free(&run);
        free(copy);
    }
    if (count)
        print_message("%s: %zu damaged inputs, %llu refused\n", format, rounds, (unsigned long long)refused);
}

static void test_flipped_bits(void **state) {
    const world *w = *state;
    for (size_t f = 0; f < profconv_registry_format_count(w->registry); f++) {
        profconv_format_info info;
        assert_int_equal(profconv_registry_format(w->registry, f, &info), PROFCONV_OK);
        if (info.can_read)
            flip_reader(w, info.name);
    }
}

/* ---- reads as they come ---- */

static void compare_with(const test_run *whole, test_run *run, const char *label, const char *what) {
    test_heap heap;
    test_heap_init(&heap, 0);
    run->heap = &heap;
    test_run_do(run);
    check_outcome(run, label, what, 0);
    check_heap(&heap, label, what, 0);
    if (run->source == TEST_SOURCE_SEEKABLE &&
        (run->status != whole->status ||
         (run->status == PROFCONV_OK &&
          (run->bytes_size != whole->bytes_size || memcmp(run->bytes, whole->bytes, run->bytes_size) != 0))))
        fail_msg("%s, %s: not what it is from memory (status %d, %s)", label, what, run->status, run->error.message);
    test_run_free(run);
}

static void test_ragged_and_interrupted_reads(void **state) {
    const world *w = *state;
    for (size_t i = 0; i < w->fixtures.count; i++) {
        const test_fixture *fixture = &w->fixtures.items[i];
        test_run whole = make_run(w, fixture, NULL);
        test_run_do(&whole);
        for (int source = TEST_SOURCE_SEEKABLE; source <= TEST_SOURCE_STREAM; source++) {
            for (uint64_t seed = 1; seed <= (test_full() ? 16 : test_sampled() ? 1 : 3); seed++) {
                test_run run = make_run(w, fixture, NULL);
                run.source = (test_source)source;
                run.ragged = seed * 0x9e3779b97f4a7c15;
                run.interrupted = (int)(seed & 1);
                compare_with(&whole, &run, fixture->label, seed & 1 ? "ragged, interrupted" : "ragged");
            }
        }
        test_run_free(&whole);
    }
}

/* ---- a pipe that nobody reads ---- */

static void closed_pipe(const world *w, const test_fixture *fixture, const char *to) {
    int ends[2];
    char label[400];
    test_heap heap;
    snprintf(label, sizeof label, "%s to %s", fixture->label, to);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    test_run run = make_run(w, fixture, to);
    test_heap_init(&heap, 0);
    run.heap = &heap;
    run.output_fd = ends[1];
    test_run_do(&run);
    check_outcome(&run, label, "closed pipe", 0);
    check_heap(&heap, label, "closed pipe", 0);
    if (run.status != PROFCONV_E_IO || run.error.system_errno != EPIPE)
        fail_msg("%s: status %d, errno %d on a closed pipe", label, run.status, run.error.system_errno);
    test_run_free(&run);
    assert_int_equal(close(ends[1]), 0);
}

static void test_closed_pipes(void **state) {
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    assert_true(each_writer(*state, test_full() ? 64 : 2, closed_pipe) >= 1);
    signal(SIGPIPE, before);
}

/* ---- large files that end early ---- */

typedef struct large {
    const world *w;
    size_t files, most;
} large;

static unsigned char *load(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    unsigned char *data = malloc(size);
    if (file && data && fread(data, 1, size, file) == size) {
        fclose(file);
        return data;
    }
    free(data);
    if (file)
        fclose(file);
    return NULL;
}

static void cut_large(large *l, const char *path, size_t size) {
    profconv_format_info info;
    profconv_input *input = NULL;
    unsigned char *data = load(path, size);
    int found = data && profconv_input_open_memory(&input, data, size, NULL, NULL) == PROFCONV_OK &&
                profconv_detect(l->w->registry, input, &info, NULL) == PROFCONV_OK;
    profconv_input_free(input);
    size_t points = !found ? 0 : test_full() ? 512 : test_reduced() ? 3 : 8;
    for (size_t i = 0; i < points; i++) {
        test_heap heap;
        test_fixture fixture = {"", "", info.name, data, (size_t)point(i, size, points) - 1};
        test_run run = make_run(l->w, &fixture, NULL);
        test_heap_init(&heap, 0);
        run.heap = &heap;
        test_run_do(&run);
        check_outcome(&run, path, "cut at", fixture.size);
        check_heap(&heap, path, "cut at", fixture.size);
        test_run_free(&run);
    }
    l->files += points > 0;
    free(data);
}

/* The corpus lies three folders deep; what is below is not looked at. */
static void walk(large *l, const char *folder, int depth) {
    struct dirent **names = NULL;
    int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[1024];
        struct stat st;
        int n = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode) && depth > 0)
                walk(l, path, depth - 1);
            else if (S_ISREG(st.st_mode) && st.st_size > SMALL && l->files < l->most)
                cut_large(l, path, (size_t)st.st_size);
        }
        free(names[i]);
    }
    free(names);
}

static void test_large_files_that_end_early(void **state) {
    large l = {*state, 0, test_full() ? SIZE_MAX : test_sampled() ? 3 : test_reduced() ? 20 : 60};
    walk(&l, TEST_SOURCE_DIR "/tests/data", 2);
    walk(&l, TEST_SOURCE_DIR "/../shared/corpus", 4);
    print_message("%zu files\n", l.files);
}

/* An argument chooses the tests whose names match it ("*flipped*"). */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_ragged_and_interrupted_reads),
        cmocka_unit_test(test_closed_pipes),
        cmocka_unit_test(test_large_files_that_end_early),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
