/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a perf.data, read as a file that can seek and as a stream that cannot, every other size also in part. A
 * refusal must say why, what was read must pass the check of invariants, and all memory must come back.
 */
#include <profconv/plugin.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate_perf_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const profconv_reader pfc_perf_data_reader;

static void must(int condition) {
    if (!condition)
        abort();
}

static void *counted_resize(void *user, void *p, size_t old_size, size_t new_size) {
    uint64_t *live = (uint64_t *)user;
    if (new_size == 0) {
        free(p);
        *live -= old_size;
        return NULL;
    }
    void *block = realloc(p, new_size);
    if (block)
        *live = *live + new_size - old_size;
    return block;
}

typedef struct stream {
    const uint8_t *data;
    size_t size, at;
} stream;

static int stream_read(void *user, void *buffer, size_t size, size_t *got) {
    stream *s = (stream *)user;
    size_t left = s->size - s->at, step = 1 + s->at % 97;
    *got = left < step ? left : step;
    if (*got > size)
        *got = size;
    if (*got)
        memcpy(buffer, s->data + s->at, *got);
    s->at += *got;
    return 0;
}

static void read_once(profconv_input *input, const profconv_allocator *allocator, const profconv_limits *limits,
                      const profconv_options *options) {
    profconv_builder *builder = NULL;
    profconv_profile *profile = NULL;
    profconv_error error;
    memset(&error, 0, sizeof error);
    int status = profconv_builder_new(&builder, allocator, limits, &error);
    if (status == 0)
        status = pfc_perf_data_reader.read(NULL, input, builder, options, &error);
    if (status == 0)
        status = profconv_builder_freeze(builder, &profile, &error);
    must(status == 0 || (error.status == status && error.message[0] != '\0'));
    must(status != PROFCONV_E_INTERNAL);
    must(!profile || profconv_profile_check(profile, NULL) == 0);
    profconv_profile_free(profile);
    profconv_builder_free(builder);
}

/* With settings that the other readings leave alone. */
static void read_part(const uint8_t *data, size_t size, const profconv_io_options *io) {
    profconv_input *input = NULL;
    profconv_options *options = NULL;
    must(profconv_options_new(&options, io->allocator, NULL) == 0 &&
         profconv_options_set(options, "perf-data.time=20%-80%", NULL) == 0 &&
         profconv_options_set(options, "perf-data.strict=yes", NULL) == 0 &&
         profconv_options_set(options, "perf-data.branch-callers=no", NULL) == 0);
    must(profconv_input_open_memory(&input, data, size, io, NULL) == 0);
    read_once(input, io->allocator, io->limits, options);
    profconv_input_free(input);
    profconv_options_free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t live = 0;
    profconv_allocator allocator = {sizeof allocator, counted_resize, &live};
    profconv_limits limits;
    memset(&limits, 0, sizeof limits);
    limits.struct_size = sizeof limits;
    limits.max_memory = 256u << 20;
    limits.max_inflated = 64u << 20;
    profconv_io_options io = {sizeof io, &allocator, &limits, 1, 0};
    profconv_input *input = NULL;
    pfc_perf_data_reader.probe(NULL, data, size, 1);
    must(profconv_input_open_memory(&input, data, size, &io, NULL) == 0);
    read_once(input, &allocator, &limits, NULL);
    profconv_input_free(input);
    must(live == 0);
    stream s = {data, size, 0};
    profconv_input_callbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.read = stream_read;
    callbacks.user = &s;
    profconv_options *options = NULL;
    must(profconv_options_new(&options, &allocator, NULL) == 0 &&
         profconv_options_set(options, "perf-data.labels=pid,tid,thread,comm,cpu,timestamp,cgroup", NULL) == 0);
    must(profconv_input_open_callbacks(&input, &callbacks, NULL, &io, NULL) == 0);
    read_once(input, &allocator, &limits, options);
    profconv_input_free(input);
    profconv_options_free(options);
    must(live == 0);
    if (size / 8 % 2)
        read_part(data, size, &io);
    must(live == 0);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    return fuzz_mutate_perf_data(data, size, max_size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t max_size, unsigned seed) {
    return fuzz_cross_perf_data(a, a_size, b, b_size, out, max_size, seed);
}
