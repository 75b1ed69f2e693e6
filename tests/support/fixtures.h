/* SPDX-License-Identifier: MIT
 *
 * The fixtures of every registered format, found by name: tests/data/<format>/ (what is of that format by its content)
 * and fuzz/seeds/<format>/ (everything). A new format is covered by the matrix and the sweeps as soon as it has such
 * files.
 */
#ifndef TEST_SUPPORT_FIXTURES_H
#define TEST_SUPPORT_FIXTURES_H

#include <profconv/convert.h>

typedef struct test_fixture {
    char path[512];
    char label[300];    /* path from the root of the project, for messages */
    const char *format; /* name of the format, borrowed from the registry */
    unsigned char *data;
    size_t size;
} test_fixture;

typedef struct test_fixtures {
    test_fixture *items;
    size_t count;
} test_fixtures;

/* Files of at most max_size bytes. Returns 0, or -1 with a message on stderr. */
int test_fixtures_load(test_fixtures *out, const profconv_registry *registry, const char *source_dir, size_t max_size);
void test_fixtures_free(test_fixtures *fixtures);

/* Nonzero where the sanitizers run and slow tests take reduced sets. */
int test_reduced(void);

/* Nonzero where valgrind runs, and PROFCONV_SAMPLED is set: a few points of each sweep. */
int test_sampled(void);

/* Nonzero where PROFCONV_FULL is set: every point of every sweep, however long it takes. */
int test_full(void);

#endif
