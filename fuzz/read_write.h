/* SPDX-License-Identifier: MIT
 *
 * What every fuzz target of a reader does: read the input as one format under tight limits; a refusal must say why.
 * What was read must keep its invariants, be written by each writer that can hold it, and where that writer's format
 * can be read again, come out of a second round as the same bytes. All memory is given back.
 */
#ifndef FUZZ_READ_WRITE_H
#define FUZZ_READ_WRITE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <profconv/profconv.h>

typedef struct fuzz_run {
    profconv_registry *registry;
    profconv_allocator allocator;
    profconv_limits limits;
    uint64_t live;
} fuzz_run;

static void *fuzz_resize(void *user, void *p, size_t old_size, size_t new_size) {
    fuzz_run *run = user;
    void *block = NULL;
    if (new_size == 0)
        free(p);
    else if (!(block = realloc(p, new_size)))
        return NULL;
    run->live = run->live + new_size - old_size;
    return block;
}

static void fuzz_fail(const char *what, const char *format, const char *message) {
    fprintf(stderr, "%s: %s: %s\n", format, what, message);
    abort();
}

/* NULL when the input is refused. */
static profconv_profile *fuzz_read(fuzz_run *run, const uint8_t *data, size_t size, const char *format) {
    profconv_error error = {0};
    profconv_input *input = NULL;
    profconv_profile *profile = NULL;
    profconv_io_options io = {0};
    profconv_convert_options options = {0};
    io.struct_size = sizeof io;
    io.allocator = &run->allocator;
    io.limits = &run->limits;
    options.struct_size = sizeof options;
    options.allocator = &run->allocator;
    options.limits = &run->limits;
    options.from = format;
    int status = profconv_input_open_memory(&input, data, size, &io, &error);
    if (status == PROFCONV_OK)
        status = profconv_read(run->registry, input, &options, &profile, &error);
    profconv_input_free(input);
    if (status != PROFCONV_OK) {
        if (profile || error.message[0] == '\0' || status == PROFCONV_E_INTERNAL || status == PROFCONV_E_INVALID)
            fuzz_fail("refused without a reason", format, error.message);
        return NULL;
    }
    if (profconv_profile_check(profile, &error) != PROFCONV_OK)
        fuzz_fail("invariants", format, error.message);
    return profile;
}

/* NULL when the writer refuses. */
static profconv_output *fuzz_write(fuzz_run *run, const profconv_profile *profile, const char *format) {
    profconv_error error = {0};
    profconv_output *output = NULL;
    profconv_io_options io = {0};
    profconv_convert_options options = {0};
    io.struct_size = sizeof io;
    io.allocator = &run->allocator;
    options.struct_size = sizeof options;
    options.allocator = &run->allocator;
    options.to = format;
    if (profconv_output_open_memory(&output, &io, &error) != PROFCONV_OK)
        fuzz_fail("output", format, error.message);
    int status = profconv_write(run->registry, profile, output, &options, NULL, &error);
    if (status == PROFCONV_OK)
        return output;
    if (error.message[0] == '\0' || status == PROFCONV_E_INTERNAL || status == PROFCONV_E_INVALID)
        fuzz_fail("not written, without a reason", format, error.message);
    profconv_output_free(output);
    return NULL;
}

/* Writes; NULL when that is refused. *back: what is read from it, NULL when that is refused (limits, names that a text
 * cannot hold). */
static profconv_output *fuzz_write_and_read(fuzz_run *run, const profconv_profile *profile, const char *format,
                                            profconv_profile **back) {
    const uint8_t *bytes = NULL;
    size_t size = 0;
    profconv_output *output = fuzz_write(run, profile, format);
    *back = NULL;
    if (!output)
        return NULL;
    if (profconv_output_bytes(output, &bytes, &size) != PROFCONV_OK || size == 0)
        fuzz_fail("written", format, "success with an empty output");
    *back = fuzz_read(run, bytes, size, format);
    return output;
}

/* What a format has once held it holds for good: the second and the third writing are the same. */
static void fuzz_round(fuzz_run *run, const profconv_profile *profile, const char *format) {
    profconv_profile *once, *twice = NULL;
    profconv_output *first = fuzz_write_and_read(run, profile, format, &once), *second = NULL, *third = NULL;
    if (once)
        second = fuzz_write_and_read(run, once, format, &twice);
    if (once && !second)
        fuzz_fail("round", format, "what was written once is not written again");
    if (twice && (third = fuzz_write(run, twice, format)) != NULL) {
        const uint8_t *a = NULL, *b = NULL;
        size_t a_size = 0, b_size = 0;
        profconv_output_bytes(second, &a, &a_size);
        profconv_output_bytes(third, &b, &b_size);
        if (a_size != b_size || memcmp(a, b, a_size) != 0)
            fuzz_fail("round", format, "the third writing differs from the second");
    }
    profconv_profile_free(once);
    profconv_profile_free(twice);
    profconv_output_free(first);
    profconv_output_free(second);
    profconv_output_free(third);
}

/* `writers` ends with NULL. */
static int fuzz_read_write(const uint8_t *data, size_t size, const char *format, const char *const *writers) {
    fuzz_run run = {0};
    profconv_error error = {0};
    run.allocator.struct_size = sizeof run.allocator;
    run.allocator.resize = fuzz_resize;
    run.allocator.user = &run;
    run.limits.struct_size = sizeof run.limits;
    run.limits.max_memory = (uint64_t)64 << 20;
    run.limits.max_inflated = (uint64_t)16 << 20;
    run.limits.max_depth = 256;
    run.limits.max_string = 1 << 16;
    if (profconv_registry_new(&run.registry, &run.allocator, &error) != PROFCONV_OK)
        fuzz_fail("registry", format, error.message);
    profconv_profile *profile = fuzz_read(&run, data, size, format);
    for (; profile && *writers; writers++)
        fuzz_round(&run, profile, *writers);
    profconv_profile_free(profile);
    profconv_registry_free(run.registry);
    if (run.live != 0)
        fuzz_fail("memory", format, "not all of it was given back");
    return 0;
}

#endif
