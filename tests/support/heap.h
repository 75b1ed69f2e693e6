/* SPDX-License-Identifier: MIT
 *
 * An allocator for tests: it checks that every old size is the one that was asked for, counts what is live, and fails
 * the k-th request on demand.
 */
#ifndef TEST_SUPPORT_HEAP_H
#define TEST_SUPPORT_HEAP_H

#include <profconv/base.h>

typedef struct test_heap {
    profconv_allocator allocator; /* hand this to the library; points back here */
    uint64_t live;                /* bytes */
    uint64_t peak;
    uint64_t blocks;
    uint64_t requests; /* that could fail: allocations and growth */
    uint64_t fail_at;  /* this request fails, 1 being the first; 0: none */
    int fail_on;       /* and all after it do */
    uint64_t failed;
    uint64_t wrong_sizes; /* calls whose old_size was not what the block has */
} test_heap;

void test_heap_init(test_heap *heap, uint64_t fail_at);

#endif
