/* SPDX-License-Identifier: MIT
 *
 * A program with many functions, deep and varied call stacks and two threads, for recordings of any length:
 *   workload SECONDS [VARIETY]
 * Each node of a random call graph does a little work and calls one or two others, until its depth is used up, so that
 * stacks repeat as those of a server or a query engine do: many distinct ones, a few of them hot. With VARIETY 1 the path is drawn anew at
 * every call, as in a recursive evaluator: nearly every stack is met once, the worst case for whatever aggregates.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone))
typedef struct state {
    uint64_t seed;
    volatile uint64_t sink;
} state;
typedef void (*node)(state *s, int depth);
extern const node nodes[256];

static double seconds;
static int variety;

static inline uint64_t next(state *s) {
    s->seed ^= s->seed << 13;
    s->seed ^= s->seed >> 7;
    s->seed ^= s->seed << 17;
    return s->seed;
}

/* Inlined on purpose: a leaf frame that only debug information shows. */
static inline void work(state *s, int turns) {
    uint64_t x = s->seed;
    for (int i = 0; i < turns; i++)
        x = x * 0x9e3779b97f4a7c15u + (x >> 29);
    s->sink += x;
}

static inline void step(state *s, int depth, unsigned id) {
    work(s, 20 + (int)(id % 7) * 10);
    if (depth <= 0)
        return;
    uint64_t r = next(s);
    /* one of a few favourite callees, now and then another: hot paths that fork at every eighth level */
    unsigned choice = variety || depth % 8 == 0 ? (unsigned)(r % 4) : id % 4;
    unsigned callee = variety && r % 16 == 0 ? (unsigned)(r >> 8) % 256 : (id * 5 + choice + 1) % 256;
    nodes[callee](s, depth - 1);
    if (variety ? r % 8 == 0 : id % 8 == 0 && depth % 8 == 1)
        nodes[(id * 11 + 3) % 256](s, depth / 2 - 1);
    work(s, 4);
}

#define F(n) KEEP static void node_##n(state *s, int depth) { step(s, depth, 0x##n); s->sink++; }
#define ROW(h) F(h##0) F(h##1) F(h##2) F(h##3) F(h##4) F(h##5) F(h##6) F(h##7) F(h##8) F(h##9) F(h##a) F(h##b) F(h##c) F(h##d) F(h##e) F(h##f)
ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) ROW(8) ROW(9) ROW(a) ROW(b) ROW(c) ROW(d) ROW(e) ROW(f)
#define N(h) node_##h##0, node_##h##1, node_##h##2, node_##h##3, node_##h##4, node_##h##5, node_##h##6, node_##h##7, node_##h##8, node_##h##9, \
             node_##h##a, node_##h##b, node_##h##c, node_##h##d, node_##h##e, node_##h##f,
const node nodes[256] = {N(0) N(1) N(2) N(3) N(4) N(5) N(6) N(7) N(8) N(9) N(a) N(b) N(c) N(d) N(e) N(f)};

KEEP static void request(state *s) {
    unsigned start = next(s) % 12;
    nodes[start](s, variety ? 12 + (int)(next(s) % 20) : 20 + (int)(start % 4) * 2);
}

static void *thread_main(void *arg) {
    state s = {(uint64_t)(uintptr_t)arg * 0x2545f4914f6cdd1du + 1, 0};
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 100; i++)
            request(&s);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
    return NULL;
}

int main(int argc, char **argv) {
    seconds = argc > 1 ? atof(argv[1]) : 1;
    variety = argc > 2 ? atoi(argv[2]) : 0;
    pthread_t other;
    if (pthread_create(&other, NULL, thread_main, (void *)2) != 0)
        return 1;
    thread_main((void *)1);
    return pthread_join(other, NULL);
}
