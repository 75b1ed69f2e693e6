/* SPDX-License-Identifier: MIT
 *
 * plugin INPUT OUTPUT: a format of one's own, "tally", beside the built-in ones. A line of it is "COUNT ROOT/CALLEE/LEAF"; the first
 * line is "TALLY 1". Converts from it or, when the output's name ends with .tally, to it.
 */
#include <inttypes.h>
#include <profconv/plugin.h>
#include <profconv/profconv.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "TALLY 1\n"

static int tally_probe(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    (void)whole;
    return size >= strlen(MAGIC) && memcmp(head, MAGIC, strlen(MAGIC)) == 0 ? 100 : 0;
}

/* A frame of which nothing but the name is known. */
static profconv_id frame(profconv_builder *builder, const char *name, size_t size) {
    profconv_function function = {.name = profconv_builder_string(builder, name, size)};
    function.linkage_name = function.name;
    profconv_line line = {.function = profconv_builder_function(builder, &function)};
    profconv_location location = {0};
    return profconv_builder_location(builder, &location, &line, 1);
}

/* One line; `number` is for messages. */
static int tally_line(profconv_builder *builder, const char *p, const char *end, uint64_t number, profconv_error *error) {
    int64_t count = 0;
    const char *start = p;
    profconv_id stack = 0;
    for (; p < end && *p >= '0' && *p <= '9' && count < INT64_MAX / 10 - 1; p++)
        count = count * 10 + (*p - '0');
    if (p == start || p == end || *p != ' ')
        return profconv_error_set(error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, number,
                                  "line %" PRIu64 ": a count and a blank expected", number);
    for (p++; p < end;) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        const char *stop = slash ? slash : end;
        stack = profconv_builder_stack(builder, stack, frame(builder, p, (size_t)(stop - p)));
        p = slash ? slash + 1 : end;
    }
    profconv_builder_sample(builder, stack, 0, 0, &count, 1);
    return PROFCONV_OK;
}

/* A line at a time, whatever the size of the file: the window grows until a line's end is in it. */
static int tally_read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                      profconv_error *error) {
    const uint8_t *data = NULL;
    size_t size = 0, want = 0;
    uint64_t number = 0;
    (void)user;
    (void)options;
    profconv_sample_type type = {.name = profconv_builder_cstring(builder, "samples"),
                                 .unit = profconv_builder_cstring(builder, "count"),
                                 .role = PROFCONV_ROLE_COUNT};
    profconv_builder_sample_type(builder, &type);
    for (;;) {
        int status = profconv_input_window(input, want, &data, &size, error);
        if (status != PROFCONV_OK || size == 0)
            return status != PROFCONV_OK ? status : profconv_builder_status(builder, error);
        const char *p = (const char *)data;
        const char *end = memchr(p, '\n', size);
        if (!end && size >= want && want < (1u << 20)) { /* perhaps more is to be had */
            want = size + 1;
            continue;
        }
        size_t length = end ? (size_t)(end - p) : size;
        if (++number > 1)
            status = tally_line(builder, p, p + length, number, error);
        if (status != PROFCONV_OK)
            return status;
        profconv_input_consume(input, end ? length + 1 : size);
        want = 0;
    }
}

/* Frames from the root on. */
static int tally_frames(const profconv_profile *profile, profconv_id stack, profconv_output *output, profconv_error *error) {
    profconv_id path[16384]; /* as deep as stacks are by default, see limits.max_depth */
    size_t depth = 0;
    for (; stack != 0 && depth < sizeof path / sizeof path[0]; stack = profconv_profile_stack(profile, stack)->parent)
        path[depth++] = profconv_profile_stack(profile, stack)->location;
    while (depth > 0) {
        const profconv_line *line = profconv_profile_line(profile, path[--depth], 0);
        profconv_string name = profconv_profile_string(profile, profconv_profile_function(profile, line->function)->name);
        int status = profconv_output_write(output, name.data, name.size, error);
        if (status == PROFCONV_OK)
            status = profconv_output_write(output, depth ? "/" : "\n", 1, error);
        if (status != PROFCONV_OK)
            return status;
    }
    return PROFCONV_OK;
}

static int tally_write(void *user, const profconv_profile *profile, profconv_output *output, const profconv_options *options,
                       profconv_report *report, profconv_error *error) {
    uint32_t type = profconv_profile_default_sample_type(profile);
    uint32_t samples = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE);
    int status = profconv_output_write(output, MAGIC, strlen(MAGIC), error);
    (void)user;
    (void)options;
    for (uint32_t i = 0; status == PROFCONV_OK && i < samples; i++) {
        char count[32];
        int n = snprintf(count, sizeof count, "%" PRId64 " ", profconv_profile_sample_value(profile, i, type));
        if (profconv_profile_sample_stack(profile, i) == 0) {
            profconv_report_add(report, PROFCONV_NOTE_DROPPED, "no-stack", 1, profconv_profile_sample_value(profile, i, type),
                                PROFCONV_NO_OFFSET, 0, "samples without a stack");
            continue;
        }
        status = profconv_output_write(output, count, (size_t)n, error);
        if (status == PROFCONV_OK)
            status = tally_frames(profile, profconv_profile_sample_stack(profile, i), output, error);
    }
    return status;
}

static const char *const suffixes[] = {".tally", NULL};

int main(int argc, char **argv) {
    static const profconv_reader reader = {.struct_size = sizeof reader,
                                           .name = "tally",
                                           .suffixes = suffixes,
                                           .description = "counts and paths",
                                           .produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS,
                                           .probe = tally_probe,
                                           .read = tally_read};
    static const profconv_writer writer = {.struct_size = sizeof writer,
                                           .name = "tally",
                                           .suffixes = suffixes,
                                           .description = "counts and paths",
                                           .needs = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS,
                                           .keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS,
                                           .write = tally_write};
    profconv_registry *registry = NULL;
    profconv_convert_input input = {0};
    profconv_output *output = NULL;
    profconv_format_info target;
    profconv_convert_options options = {.struct_size = sizeof options};
    profconv_error error = {.message = "usage: plugin INPUT OUTPUT"};
    int failed = argc != 3 || profconv_registry_new(&registry, NULL, &error) ||
                 profconv_registry_add_reader(registry, &reader, &error) ||
                 profconv_registry_add_writer(registry, &writer, &error) ||
                 profconv_registry_find_suffix(registry, argv[2], &target) ||
                 profconv_input_open_path(&input.input, argv[1], NULL, &error) ||
                 profconv_output_open_path(&output, argv[2], NULL, &error);
    if (!failed) {
        options.to = target.name;
        failed = profconv_convert(registry, &input, 1, output, &options, NULL, &error);
    }
    if (failed)
        fprintf(stderr, "%s\n", error.message);
    profconv_output_free(output);
    profconv_input_free(input.input);
    profconv_registry_free(registry);
    return failed ? 1 : 0;
}
