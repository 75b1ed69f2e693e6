/* SPDX-License-Identifier: MIT
 *
 * Blocks of the system's pages.
 *
 * Tables of many megabytes are looked into at random. With pages of 4 KiB most of such a look is the search for the
 * page, so large blocks ask for huge ones (reading a pprof of 51 MB: two thirds of the time). They begin where a huge
 * page does. A block that cannot grow in its place is copied: moved page by page, it would keep its small ones.
 *
 * Where memory is bounded, blocks are direct from a much smaller size on: they grow without a copy that lives beside
 * them, and what is freed is gone. malloc would keep holes of up to 32 MiB, and the process would take a tenth more
 * than is counted. Without a bound that is what makes malloc quick: pages that were there before need not be made again
 * (merging 100 LLVM profiles took 3 times as long with direct blocks of 256 KiB).
 *
 * Checkers of memory watch malloc's blocks only, so they get those.
 */
#include "libprofconv/base/blocks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *malloc_resize(void *p, size_t new_size) {
    if (new_size)
        return realloc(p, new_size);
    free(p);
    return NULL;
}

#if defined(__has_feature)
#define PFC_HAS(x) __has_feature(x)
#else
#define PFC_HAS(x) 0
#endif

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !PFC_HAS(address_sanitizer) && \
    !PFC_HAS(memory_sanitizer) && !PFC_HAS(thread_sanitizer)
#include <sys/mman.h>

#define PAGE ((size_t)4 << 10)
#define HUGE_PAGE ((size_t)2 << 20)

/* What a block takes: all of its last huge page too, unless memory is bounded. */
static size_t pages(size_t size, size_t direct) {
    size_t unit = direct == PFC_BLOCKS_BOUNDED ? PAGE : HUGE_PAGE;
    return (size + unit - 1) & ~(unit - 1);
}

static void unmap(void *p, size_t size) {
    if (size)
        (void)munmap(p, size);
}

/* `size` in whole pages; NULL when there is no room. */
static void *map(size_t size) {
    size_t spare = size >= HUGE_PAGE ? HUGE_PAGE - PAGE : 0;
    char *p = mmap(NULL, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (spare) {
        size_t before = (size_t)(-(uintptr_t)p & (HUGE_PAGE - 1));
        unmap(p, before);
        p += before;
        unmap(p + size, spare - before);
#if defined(MADV_HUGEPAGE)
        (void)madvise(p, size, MADV_HUGEPAGE); /* a wish */
#endif
    }
    return p;
}

/* Copies a block, and gives back what it has copied: old and new are never there in full. */
static void move(char *to, char *from, size_t size) {
    for (size_t at = 0; at < size; at += HUGE_PAGE) {
        size_t n = size - at < HUGE_PAGE ? size - at : HUGE_PAGE;
        memcpy(to + at, from + at, n);
        unmap(from + at, n);
    }
}

/* Both sizes in whole pages. Where memory is bounded, the block goes where the system puts it, and may lose its alignment.
 * (mremap to a place of our choice would spare the copy; valgrind then takes what the block gained for bad.) */
static void *remap(void *p, size_t old_size, size_t new_size, int bounded) {
    void *moved = mremap(p, old_size, new_size, bounded ? MREMAP_MAYMOVE : 0);
    if (moved != MAP_FAILED)
        return moved;
    if (bounded || !(moved = map(new_size)))
        return NULL;
    size_t kept = old_size < new_size ? old_size : new_size;
    move(moved, p, kept);
    unmap((char *)p + kept, old_size - kept);
    return moved;
}

/* One of the sizes is `direct` or more. */
static void *direct_resize(void *p, size_t old_size, size_t new_size, size_t direct) {
    if (new_size == 0) {
        unmap(p, pages(old_size, direct));
        return NULL;
    }
    if (new_size > SIZE_MAX - HUGE_PAGE - PAGE)
        return NULL;
    if (old_size >= direct && new_size >= direct)
        return remap(p, pages(old_size, direct), pages(new_size, direct), direct == PFC_BLOCKS_BOUNDED);
    void *block = new_size >= direct ? map(pages(new_size, direct)) : malloc(new_size);
    if (!block)
        return NULL;
    if (old_size)
        memcpy(block, p, old_size < new_size ? old_size : new_size);
    if (old_size >= direct)
        unmap(p, pages(old_size, direct));
    else
        free(p);
    return block;
}

void *pfc_block_resize(void *p, size_t old_size, size_t new_size, size_t direct) {
    return old_size >= direct || new_size >= direct ? direct_resize(p, old_size, new_size, direct) : malloc_resize(p, new_size);
}
#else
void *pfc_block_resize(void *p, size_t old_size, size_t new_size, size_t direct) {
    (void)old_size, (void)direct;
    return malloc_resize(p, new_size);
}
#endif
