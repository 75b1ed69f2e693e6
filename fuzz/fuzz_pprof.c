/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a pprof. What is read must pass the check of invariants; written and read again it must have the same
 * dump, and the second writing must give the same bytes as the first.
 */
#include <profconv/plugin.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate_pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const profconv_reader pfc_pprof_reader;
extern const profconv_writer pfc_pprof_writer;

static void must(int condition) {
    if (!condition)
        abort();
}

static profconv_profile *read_bytes(const uint8_t *data, size_t size) {
    profconv_input *input = NULL;
    profconv_builder *builder = NULL;
    profconv_profile *profile = NULL;
    profconv_error error = {0};
    profconv_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.max_memory = 256u << 20;
    limits.max_inflated = 64u << 20;
    profconv_io_options io = {sizeof io, NULL, &limits, 0, 0};
    int status = profconv_input_open_memory(&input, data, size, &io, &error);
    if (status == 0)
        status = profconv_builder_new(&builder, NULL, &limits, &error);
    if (status == 0)
        status = pfc_pprof_reader.read(NULL, input, builder, NULL, &error);
    if (status == 0) {
        status = profconv_builder_freeze(builder, &profile, &error);
        must(status == 0 || status == PROFCONV_E_NOMEM || status == PROFCONV_E_LIMIT);
    }
    must(status == 0 || (error.status == status && error.message[0] != '\0'));
    profconv_builder_free(builder);
    profconv_input_free(input);
    return profile;
}

/* A closed memory output, or NULL when there is nothing to write. */
static profconv_output *write_profile(const profconv_profile *profile, const uint8_t **data, size_t *size) {
    profconv_output *output = NULL;
    profconv_options *options = NULL;
    profconv_error error = {0};
    if (profconv_output_open_memory(&output, NULL, &error) || profconv_options_new(&options, NULL, &error) ||
        profconv_options_set(options, "pprof.compress=no", &error))
        abort();
    int status = pfc_pprof_writer.write(NULL, profile, output, options, NULL, &error);
    profconv_options_free(options);
    if (status) {
        must(status == PROFCONV_E_EMPTY);
        profconv_output_free(output);
        return NULL;
    }
    must(profconv_output_close(output, &error) == 0 && profconv_output_bytes(output, data, size) == 0);
    return output;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pfc_pprof_reader.probe(NULL, data, size, 1);
    pfc_pprof_reader.probe(NULL, data, size, 0);
    profconv_profile *first = read_bytes(data, size);
    if (!first)
        return 0;
    must(profconv_profile_check(first, NULL) == 0);
    const uint8_t *bytes = NULL, *bytes_again = NULL;
    size_t count = 0, count_again = 0;
    profconv_output *output = write_profile(first, &bytes, &count);
    if (output) {
        profconv_profile *second = read_bytes(bytes, count);
        must(second != NULL);
        profconv_output *again = write_profile(second, &bytes_again, &count_again);
        must(again != NULL && count == count_again && memcmp(bytes, bytes_again, count) == 0);
        profconv_output_free(again);
        profconv_profile_free(second);
    }
    profconv_output_free(output);
    profconv_profile_free(first);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    return fuzz_mutate_pprof(data, size, max_size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t max_size, unsigned seed) {
    return fuzz_cross_pprof(a, a_size, b, b_size, out, max_size, seed);
}
