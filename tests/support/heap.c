/* SPDX-License-Identifier: MIT
 *
 * Each block carries its size in front, so that accounting can be checked and not only believed.
 */
#include "tests/support/heap.h"

#include <stdlib.h>
#include <string.h>

#define HEADER 16 /* keeps malloc's alignment */

static void count_resize(test_heap *heap, size_t old_size, size_t new_size) {
    heap->live = heap->live - old_size + new_size;
    if (heap->live > heap->peak)
        heap->peak = heap->live;
}

static int should_fail(test_heap *heap) {
    heap->requests++;
    int fails =
        heap->fail_at != 0 && (heap->requests == heap->fail_at || (heap->fail_on && heap->requests > heap->fail_at));
    heap->failed += (uint64_t)fails;
    return fails;
}

static void *resize(void *user, void *p, size_t old_size, size_t new_size) {
    test_heap *heap = user;
    unsigned char *block = p ? (unsigned char *)p - HEADER : NULL;
    size_t had = 0;
    if (block)
        memcpy(&had, block, sizeof had);
    if (had != old_size)
        heap->wrong_sizes++;
    if (new_size == 0) {
        if (block) {
            count_resize(heap, had, 0);
            heap->blocks--;
        }
        free(block);
        return NULL;
    }
    if (new_size > had && should_fail(heap))
        return NULL;
    unsigned char *grown = realloc(block, new_size + HEADER);
    if (!grown)
        return NULL;
    memcpy(grown, &new_size, sizeof new_size);
    count_resize(heap, had, new_size);
    heap->blocks += block == NULL;
    return grown + HEADER;
}

void test_heap_init(test_heap *heap, uint64_t fail_at) {
    memset(heap, 0, sizeof *heap);
    heap->fail_at = fail_at;
    heap->allocator.struct_size = sizeof heap->allocator;
    heap->allocator.resize = resize;
    heap->allocator.user = heap;
}
