/* SPDX-License-Identifier: MIT
 *
 * An allocator for tests: counts, fails at request k, checks that old_size is always what was asked for before, and
 * moves a block whenever it is resized, so that a stale pointer shows under AddressSanitizer.
 *
 *     failing_alloc fail = {0};
 *     profconv_allocator allocator = failing_allocator(&fail);
 *     for (failing_arm(&fail, k = 0); run(&allocator) == PROFCONV_E_NOMEM; failing_arm(&fail, ++k))
 *         assert_int_equal(fail.live, 0);
 *
 * FAILING_SWEEP does this loop: it ends with the first k that the code never reaches.
 */
#ifndef TESTS_SUPPORT_FAILING_ALLOC_H
#define TESTS_SUPPORT_FAILING_ALLOC_H

#include <profconv/base.h>

#include <stdlib.h>
#include <string.h>

typedef struct failing_alloc {
    uint64_t requests; /* that could fail: new blocks and growth */
    uint64_t fail_at;  /* this request (from 0) fails when armed */
    int armed;
    int keep_failing; /* nonzero: all later ones, too */
    uint64_t failures;
    uint64_t live; /* bytes */
    uint64_t peak;
    uint64_t blocks;
    uint64_t wrong_sizes; /* calls whose old_size was not true */
} failing_alloc;

/* In front of each block; the alignment of malloc is kept. */
typedef union failing_header {
    size_t size;
    max_align_t align;
} failing_header;

static void *failing_resize(void *user, void *p, size_t old_size, size_t new_size) {
    failing_alloc *f = (failing_alloc *)user;
    failing_header *old = p ? (failing_header *)p - 1 : NULL;
    if ((old ? old->size : 0) != old_size)
        f->wrong_sizes++;
    failing_header *block = NULL;
    if (new_size) {
        /* Shrinking may fail as well: nothing promises otherwise. */
        uint64_t request = f->requests++;
        if (f->armed && (f->keep_failing ? request >= f->fail_at : request == f->fail_at)) {
            f->failures++;
            return NULL;
        }
        if (new_size <= SIZE_MAX - sizeof *block)
            block = (failing_header *)malloc(sizeof *block + new_size);
        if (!block)
            return NULL;
        block->size = new_size;
        memset(block + 1, 0xa5, new_size); /* nobody may count on zeros */
        if (old)
            memcpy(block + 1, p, old_size < new_size ? old_size : new_size);
        f->blocks++;
    }
    if (old) {
        f->blocks--;
        free(old);
    }
    f->live = f->live - old_size + new_size;
    if (f->live > f->peak)
        f->peak = f->live;
    return block ? block + 1 : NULL;
}

static inline profconv_allocator failing_allocator(failing_alloc *f) {
    profconv_allocator a = {sizeof a, failing_resize, f};
    return a;
}

static inline void failing_arm(failing_alloc *f, uint64_t fail_at) {
    f->requests = 0;
    f->failures = 0;
    f->fail_at = fail_at;
    f->armed = 1;
}

static inline void failing_disarm(failing_alloc *f) { f->armed = 0; }

/* Runs `call` with request 0, 1, 2, ... failing, until it gets through without meeting the failure. `check` runs after
 * each round with a failure (assert the status there; a call that can do without the memory may succeed). Everything
 * must be given back after each round. Needs cmocka. */
#define FAILING_SWEEP(f, call, check)                                                                                  \
    for (uint64_t sweep_k = 0;; sweep_k++) {                                                                           \
        failing_arm((f), sweep_k);                                                                                     \
        call;                                                                                                          \
        uint64_t sweep_hit = (f)->failures;                                                                            \
        failing_disarm(f);                                                                                             \
        assert_int_equal((f)->live, 0);                                                                                \
        assert_int_equal((f)->blocks, 0);                                                                              \
        assert_int_equal((f)->wrong_sizes, 0);                                                                         \
        if (!sweep_hit)                                                                                                \
            break;                                                                                                     \
        check;                                                                                                         \
    }

#endif
