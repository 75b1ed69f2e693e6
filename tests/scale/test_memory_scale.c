/* SPDX-License-Identifier: MIT
 *
 * What the process takes, as the system counts it (peak resident memory of a child that does one conversion): little for a
 * recording of 2 GB that comes from a callback, and no more than max_memory, a twentieth and what the program takes anyway, where
 * nearly every stack is distinct. Recordings are made while they are read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <profconv/profconv.h>

#include "tests/support/fixtures.h"

#define MB ((uint64_t)1 << 20)
#define FRAMES 30
#define FUNCTIONS 2000
#define TEXT 0x400000
#define SAMPLE (8 + 8 + 8 + 8 + 8 + 8 * (1 + FRAMES)) /* header, ip, tid, time, count, context and frames */
#define BATCH 200
#define SLACK (2 * MB) /* malloc's own, stacks, page tables of the libraries */

typedef struct generator {
    uint8_t buffer[BATCH * SAMPLE + 4096];
    size_t size, at;
    uint64_t made, total; /* bytes */
    uint64_t step, seed;
    uint32_t distinct; /* stacks; 0: nearly all are */
    uint64_t (*stacks)[FRAMES];
} generator;

static uint32_t random_below(uint64_t *seed, uint32_t n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % n);
}

/* Outer frames are shared: a few roots, then ever more choice. */
static void make_stack(uint64_t *seed, uint64_t frames[FRAMES]) {
    for (uint32_t depth = 0; depth < FRAMES; depth++) { /* from the root, which comes last */
        uint32_t choice = depth < 5 ? 2 : depth < 20 ? 5 : FUNCTIONS / FRAMES;
        frames[FRAMES - 1 - depth] = TEXT + 64 * (depth * (FUNCTIONS / FRAMES) + random_below(seed, choice)) + 4;
    }
}

static void put(generator *g, const void *data, size_t size) {
    memcpy(g->buffer + g->size, data, size);
    g->size += size;
}
static void put32(generator *g, uint32_t v) { put(g, &v, 4); }
static void put64(generator *g, uint64_t v) { put(g, &v, 8); }
static void record(generator *g, uint32_t type, uint16_t misc, size_t size) {
    uint16_t length = (uint16_t)(8 + size);
    put32(g, type);
    put(g, &misc, 2);
    put(g, &length, 2);
}

static void head(generator *g) {
    uint8_t attr[64] = {0};
    uint32_t type = 1, size = sizeof attr;
    uint64_t period = 1000, sample_type = 0x27 /* IP, TID, TIME, CALLCHAIN */, flags = 1u << 18;
    memcpy(attr, &type, 4);
    memcpy(attr + 4, &size, 4);
    memcpy(attr + 16, &period, 8);
    memcpy(attr + 24, &sample_type, 8);
    memcpy(attr + 40, &flags, 8);
    put(g, "PERFILE2", 8);
    put64(g, 16);
    record(g, 64, 0, sizeof attr + 8);
    put(g, attr, sizeof attr);
    put64(g, 1);
    record(g, 1, 2, 32 + 16 + 16);
    put32(g, 1);
    put32(g, 1);
    put64(g, TEXT);
    put64(g, 0x100000);
    put64(g, 0);
    put(g, "/no/such/binary", 16);
    put32(g, 1);
    put32(g, 1);
    put64(g, 1);
}

static void batch(generator *g) {
    uint64_t fresh[FRAMES];
    for (uint64_t i = 0; i < BATCH; i++) {
        const uint64_t *frames = fresh;
        if (g->distinct)
            frames = g->stacks[random_below(&g->seed, g->distinct)];
        else
            make_stack(&g->seed, fresh);
        record(g, 9, 2, SAMPLE - 8);
        put64(g, frames[0]);
        put32(g, 1);
        put32(g, 1);
        put64(g, 2 + g->step * BATCH + i);
        put64(g, 1 + FRAMES);
        put64(g, (uint64_t)-512); /* user */
        put(g, frames, 8 * FRAMES);
    }
    record(g, 68, 0, 0);
    g->step++;
}

static int generate(void *user, void *buffer, size_t size, size_t *got) {
    generator *g = (generator *)user;
    *got = 0;
    if (g->at == g->size) {
        g->at = g->size = 0;
        if (g->made == 0)
            head(g);
        else if (g->made < g->total)
            batch(g);
        g->made += g->size;
    }
    *got = g->size - g->at < size ? g->size - g->at : size;
    memcpy(buffer, g->buffer + g->at, *got);
    g->at += *got;
    return 0;
}

static int discard(void *user, const void *data, size_t size) { return (void)user, (void)data, (void)size, 0; }

/* In the child: 0, 1 for PROFCONV_E_LIMIT in the right words, else 2. */
static int convert(uint64_t total, uint32_t distinct, const char *to, uint64_t max_memory, uint32_t on_limit) {
    static generator g;
    g.total = total;
    g.distinct = distinct;
    uint64_t seed = 42;
    g.stacks = distinct ? malloc(distinct * sizeof *g.stacks) : NULL;
    for (uint32_t i = 0; i < distinct; i++)
        make_stack(&seed, g.stacks[i]);
    profconv_limits limits = {.struct_size = sizeof limits, .max_memory = max_memory, .on_limit = on_limit};
    profconv_io_options io = {.struct_size = sizeof io, .limits = &limits};
    profconv_input_callbacks source = {.struct_size = sizeof source, .read = generate, .user = &g};
    profconv_output_callbacks sink = {.struct_size = sizeof sink, .write = discard};
    profconv_convert_options options = {.struct_size = sizeof options, .limits = &limits, .to = to};
    profconv_registry *registry = NULL;
    profconv_options *settings = NULL;
    profconv_convert_input input = {0};
    profconv_output *output = NULL;
    profconv_error error = {0};
    int status = profconv_registry_new(&registry, NULL, &error);
    if (status == 0)
        status = profconv_options_new(&settings, NULL, &error);
    options.settings = settings;
    if (status == 0)
        status = profconv_input_open_callbacks(&input.input, &source, NULL, &io, &error);
    if (status == 0)
        status = profconv_output_open_callbacks(&output, &sink, NULL, &io, &error);
    if (status == 0)
        status = profconv_convert(registry, &input, 1, output, &options, NULL, &error);
    if (status)
        print_message("    %s\n", error.message);
    fflush(stdout);
    return status == 0 ? 0 : status == PROFCONV_E_LIMIT && strstr(error.message, "max_memory") ? 1 : 2;
}

typedef struct outcome {
    int result;
    uint64_t peak;
    double cpu;
} outcome;

static outcome in_child(uint64_t total, uint32_t distinct, const char *to, uint64_t max_memory, uint32_t on_limit) {
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(convert(total, distinct, to, max_memory, on_limit));
    int status = 0;
    struct rusage usage;
    assert_true(wait4(child, &status, 0, &usage) == child);
    assert_true(WIFEXITED(status));
    outcome o = {WEXITSTATUS(status), (uint64_t)usage.ru_maxrss << 10,
                 (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6};
    print_message("%llu MB, %u stacks to %s, max_memory %llu MB%s: result %d, peak %.1f MB, %.1f s\n",
                  (unsigned long long)(total / MB), distinct, to, (unsigned long long)(max_memory / MB),
                  on_limit ? ", truncate" : "", o.result, (double)o.peak / (double)MB, o.cpu);
    return o;
}

/* 2 GB to pprof, and to collapsed the same up to writing: an eighth, unless everything is asked for. */
static void test_two_gigabytes(void **state) {
    (void)state;
    uint64_t total = test_reduced() ? 32 * MB : 2048 * MB;
    outcome o = in_child(total, 50000, "pprof", 0, 0);
    assert_int_equal(o.result, 0);
    assert_true(test_reduced() || o.peak < 300 * MB);
    o = in_child(test_full() ? total : total / 8, 50000, "collapsed", 250 * MB, 0);
    assert_int_equal(o.result, 0);
    assert_true(test_reduced() || o.peak < 300 * MB);
}

static void test_max_memory(void **state) {
    (void)state;
    if (test_reduced())
        skip(); /* the sanitizers' own memory is not ours */
    const char *const targets[] = {"pprof", "collapsed", "perf-data", "flamegraph", "speedscope"};
    uint64_t total = test_full() ? 64 * MB : 32 * MB;
    for (size_t i = 0; i < (test_full() ? 5 : 3); i++) {
        uint64_t base = in_child(1000, 0, targets[i], 0, 0).peak;
        int failed = 0, shortened = 0;
        for (uint64_t limit = 2 * total; limit >= 10 * MB; limit /= 2) {
            outcome o = in_child(total, 0, targets[i], limit, PROFCONV_ON_LIMIT_FAIL);
            assert_true(o.result < 2);
            assert_true(o.peak <= base + limit + limit / 20 + SLACK);
            failed += o.result == 1;
            o = in_child(total, 0, targets[i], limit, PROFCONV_ON_LIMIT_TRUNCATE);
            assert_true(o.result < 2);
            assert_true(o.peak <= base + limit + limit / 20 + SLACK);
            shortened += o.result == 0;
        }
        assert_true(failed > 0 && shortened >= 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_gigabytes), cmocka_unit_test(test_max_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
