/* SPDX-License-Identifier: MIT
 *
 * profconv split --max-samples N --max-bytes N -o PREFIX FILE: one profile as several files PREFIX.0001.pb.gz, … that
 * merge back exactly, for stores that limit uploads. Bytes are those of the file before compression.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct split_job {
    const cli_arguments *arguments;
    const profconv_registry *registry;
    const profconv_options *settings;
    profconv_report *report;
    const char *prefix;
    const char *suffix;
    profconv_format_info target;
    profconv_error error; /* of a part, with more to say than the status */
    char types[64];       /* of branch records: every part must have them all, or no tool merges it with the others */
} split_job;

static int count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return 0;
}

static void write_options(const split_job *job, profconv_limits *limits, profconv_convert_options *options) {
    cli_conversion(job->arguments, limits, options);
    options->settings = job->settings;
    options->to = job->target.name;
}

/* The settings with compression off: limits are on what is uploaded, not on how. */
static int measure(void *user, const profconv_profile *part, uint64_t *bytes) {
    split_job *job = (split_job *)user;
    profconv_output_callbacks callbacks = {0};
    profconv_output *output = NULL;
    profconv_options *raw = NULL;
    profconv_limits limits;
    profconv_convert_options options;
    write_options(job, &limits, &options);
    callbacks.struct_size = sizeof callbacks;
    callbacks.write = count_bytes;
    callbacks.user = bytes;
    *bytes = 0;
    int status = profconv_options_new(&raw, NULL, &job->error);
    if (!status)
        status = profconv_options_put(raw, "pprof", "compress", "no", &job->error);
    if (!status)
        status = profconv_options_put(raw, "pprof", "branch-types", job->types, &job->error);
    options.settings = raw;
    if (!status)
        status = profconv_output_open_callbacks(&output, &callbacks, "<measured>", NULL, &job->error);
    if (!status)
        status = profconv_write(job->registry, part, output, &options, NULL, &job->error);
    profconv_output_free(output);
    profconv_options_free(raw);
    return status;
}

static int write_part(void *user, const profconv_profile *part, uint64_t index) {
    split_job *job = (split_job *)user;
    profconv_output *output = NULL;
    profconv_limits limits;
    profconv_convert_options options;
    size_t size = strlen(job->prefix) + strlen(job->suffix) + 32;
    char *path = (char *)malloc(size);
    if (!path)
        return profconv_error_set(&job->error, PROFCONV_E_NOMEM, PROFCONV_NO_OFFSET, 0, "out of memory");
    snprintf(path, size, "%s.%04llu%s", job->prefix, (unsigned long long)index + 1, job->suffix);
    write_options(job, &limits, &options);
    int status = profconv_output_open_path(&output, path, NULL, &job->error);
    if (!status)
        status = profconv_write(job->registry, part, output, &options, job->report, &job->error);
    if (!status)
        puts(path);
    profconv_output_free(output);
    free(path);
    return status;
}

/* A number that may end in k, M or G. */
static int limit_of(const cli_arguments *arguments, const char *name, uint64_t *out) {
    const char *text = NULL;
    char *end;
    *out = 0;
    if (!cli_was_given(arguments, name, &text))
        return CLI_OK;
    errno = 0;
    unsigned long long value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    unsigned shift = 0;
    if (value && (*end == 'k' || *end == 'K' || *end == 'M' || *end == 'G')) {
        shift = *end == 'M' ? 20 : *end == 'G' ? 30 : 10;
        end++;
    }
    if (!value || *end || errno || value > UINT64_MAX >> shift)
        return cli_usage_error("--%s=%s: a number above 0, perhaps with k, M or G, is expected", name, text);
    *out = (uint64_t)value << shift;
    return CLI_OK;
}

static int name_types(split_job *job, profconv_options *settings, const profconv_profile *profile) {
    profconv_error error;
    uint32_t branches = profconv_profile_rows(profile, PROFCONV_TABLE_BRANCH);
    int mispredicted = 0;
    for (uint32_t i = 0; i < branches && !mispredicted; i++)
        mispredicted = profconv_profile_branch(profile, i)->mispredicted != 0;
    snprintf(job->types, sizeof job->types, "%s%s%s%s", branches ? "branch," : "",
             mispredicted ? "branch_mispredicted," : "",
             profconv_profile_rows(profile, PROFCONV_TABLE_RANGE) ? "range," : "",
             profconv_profile_rows(profile, PROFCONV_TABLE_ADDRESS) ? "address," : "");
    if (job->types[0] && profconv_options_put(settings, "pprof", "branch-types", job->types, &error))
        return cli_fail(NULL, &error);
    return CLI_OK;
}

static int split(split_job *job, profconv_options *settings, profconv_input *input, uint64_t samples, uint64_t bytes) {
    profconv_profile *profile = NULL;
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    profconv_split_options how = {0};
    write_options(job, &limits, &options);
    how.struct_size = sizeof how;
    how.max_samples = samples;
    how.max_bytes = bytes;
    how.measure = measure;
    how.part = write_part;
    how.user = job;
    if (profconv_read(job->registry, input, &options, &profile, &error))
        return cli_fail(profconv_input_name(input), &error);
    int status = CLI_OK;
    if (profconv_prepare(job->registry, &profile, &options, job->report, &error))
        status = cli_fail(profconv_input_name(input), &error);
    if (status == CLI_OK)
        status = name_types(job, settings, profile);
    memset(&job->error, 0, sizeof job->error);
    if (status == CLI_OK && profconv_split(profile, &how, &error))
        status = cli_fail(NULL, job->error.status ? &job->error : &error);
    profconv_profile_free(profile);
    return status;
}

int cli_split(const cli_arguments *arguments) {
    split_job job = {0};
    cli_inputs inputs = {0};
    profconv_options *settings = NULL;
    profconv_error error;
    uint64_t samples, bytes;
    if (arguments->input_count != 1)
        return cli_usage_error("split takes one input");
    if (!arguments->output || strcmp(arguments->output, "-") == 0)
        return cli_usage_error("name the beginning of the parts' paths with -o");
    int status = limit_of(arguments, "max-samples", &samples);
    if (status == CLI_OK)
        status = limit_of(arguments, "max-bytes", &bytes);
    if (status != CLI_OK)
        return status;
    if (!samples && !bytes)
        return cli_usage_error("give a limit: --max-samples, --max-bytes or both");
    profconv_registry *registry = cli_registry();
    if (!registry)
        return CLI_FAILED;
    job.arguments = arguments;
    job.registry = registry;
    job.prefix = arguments->output;
    job.suffix = ".pb.gz";
    status = cli_check_format(registry, "pprof", 1, &job.target);
    if (status == CLI_OK)
        status = cli_inputs_open(&inputs, arguments, registry);
    if (status == CLI_OK &&
        (profconv_options_new(&settings, NULL, &error) || profconv_report_new(&job.report, NULL, &error)))
        status = cli_fail(NULL, &error);
    if (status == CLI_OK) {
        cli_parts parts = {inputs.formats, inputs.count, &job.target, 1};
        status = cli_apply(arguments, &parts, settings);
    }
    job.settings = settings;
    if (status == CLI_OK)
        status = split(&job, settings, inputs.items[0].input, samples, bytes);
    if (status == CLI_OK || arguments->verbose)
        cli_report(arguments, job.report);
    if (cli_flush() != CLI_OK)
        status = CLI_FAILED;
    profconv_report_free(job.report);
    cli_inputs_free(&inputs);
    profconv_options_free(settings);
    profconv_registry_free(registry);
    return status;
}
