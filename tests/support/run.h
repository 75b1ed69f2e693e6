/* SPDX-License-Identifier: MIT
 *
 * One conversion of bytes in memory under adverse conditions, for the sweeps: an allocator that fails, a source that
 * gives a byte at a time or breaks, a sink that breaks. Everything it makes is freed again but for the bytes written.
 */
#ifndef TEST_SUPPORT_RUN_H
#define TEST_SUPPORT_RUN_H

#include <profconv/profconv.h>

#include "tests/support/heap.h"

typedef enum test_source {
    TEST_SOURCE_MEMORY = 0,
    TEST_SOURCE_SEEKABLE, /* callbacks with read_at */
    TEST_SOURCE_STREAM    /* callbacks, forward only */
} test_source;

typedef struct test_run {
    /* what to do; zero means the plain way */
    const profconv_registry *registry;
    const void *data;
    size_t size;
    const char *from;
    const char *to;  /* NULL: only read, and dump */
    test_heap *heap; /* NULL: malloc */
    test_source source;
    size_t piece;            /* most bytes one read gives; 0: all */
    uint64_t ragged;         /* seed: each read gives any number of bytes, often one; 0: no */
    int interrupted;         /* every second read ends with EINTR first */
    uint64_t read_fails_at;  /* this read, 1 being the first, and all after it fail with EIO */
    uint64_t write_fails_at; /* this write fails with ENOSPC */
    uint64_t max_memory;
    const char *output_path; /* writes there instead of into `bytes` */
    int output_fd;           /* or there, if not 0 */

    /* what came of it */
    int status;
    profconv_error error;
    unsigned char *bytes; /* written (or the dump); malloc'd */
    size_t bytes_size;
    uint64_t warnings; /* of reading: notes of the profile other than INFO */
    uint64_t reads;
    int interruptions; /* whether the last read ended with EINTR */
    uint64_t writes;
    int read_failed; /* the failing read was reached */
    int write_failed;
    int closed; /* calls of the sink's close */
    int committed;
} test_run;

/* Runs it; passes are switched off, so that nothing depends on the files of the machine. */
void test_run_do(test_run *run);
void test_run_free(test_run *run);

#endif
