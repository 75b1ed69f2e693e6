/* SPDX-License-Identifier: MIT
 *
 * Any bytes, read as folded text by every layout, and what was read written again: the second reading of what was
 * written must give the same text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprofconv/formats/collapsed/collapsed.h"

static const char *const settings[][2] = {
    {"columns", "auto"},    {"columns", "one"},       {"columns", "two"},       {"columns", "none"},
    {"columns", "leading"}, {"empty-frames", "keep"}, {"annotations", "parse"},
};

static void require(int condition) {
    if (!condition)
        abort();
}

static profconv_profile *read_bytes(const uint8_t *data, size_t size, const char *key, const char *value) {
    profconv_limits limits = {0};
    profconv_input *input = NULL;
    profconv_builder *builder = NULL;
    profconv_options *options = NULL;
    profconv_profile *profile = NULL;
    profconv_error error = {0};
    limits.struct_size = sizeof limits;
    limits.max_memory = 64u << 20;
    require(profconv_input_open_memory(&input, data, size, NULL, NULL) == 0);
    require(profconv_builder_new(&builder, NULL, &limits, NULL) == 0);
    require(profconv_options_new(&options, NULL, NULL) == 0);
    require(profconv_options_put(options, "collapsed", key, value, NULL) == 0);
    int status = pfc_collapsed_reader.read(NULL, input, builder, options, &error);
    if (status == 0)
        status = profconv_builder_freeze(builder, &profile, &error);
    if (status == 0)
        require(profconv_profile_check(profile, &error) == 0);
    else
        require(error.status == status && error.message[0] != '\0' && profile == NULL);
    profconv_options_free(options);
    profconv_builder_free(builder);
    profconv_input_free(input);
    return profile;
}

/* The written bytes, or NULL when nothing is left to write. */
static uint8_t *write_bytes(const profconv_profile *profile, size_t *size) {
    profconv_output *output = NULL;
    profconv_options *options = NULL;
    profconv_error error = {0};
    uint8_t *copy = NULL;
    const uint8_t *data;
    require(profconv_output_open_memory(&output, NULL, NULL) == 0);
    require(profconv_options_new(&options, NULL, NULL) == 0);
    int status = pfc_collapsed_writer.write(NULL, profile, output, options, NULL, &error);
    require(status == 0 || status == PROFCONV_E_EMPTY);
    if (status == 0) {
        require(profconv_output_close(output, NULL) == 0);
        require(profconv_output_bytes(output, &data, size) == 0);
        copy = malloc(*size ? *size : 1);
        require(copy != NULL && *size > 0);
        memcpy(copy, data, *size);
    }
    profconv_options_free(options);
    profconv_output_free(output);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)pfc_collapsed_reader.probe(NULL, data, size, 1);
    (void)pfc_collapsed_reader.probe(NULL, data, size, 0);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        profconv_profile *profile = read_bytes(data, size, settings[i][0], settings[i][1]);
        size_t first_size = 0;
        size_t second_size = 0;
        uint8_t *first = profile ? write_bytes(profile, &first_size) : NULL;
        profconv_profile_free(profile);
        if (!first)
            continue;
        /* Strict text has one count a line, whatever its names look like. */
        profile = read_bytes(first, first_size, "columns", "auto");
        require(profile != NULL);
        uint8_t *second = write_bytes(profile, &second_size);
        require(second && second_size == first_size && memcmp(first, second, first_size) == 0);
        profconv_profile_free(profile);
        free(first);
        free(second);
    }
    return 0;
}
