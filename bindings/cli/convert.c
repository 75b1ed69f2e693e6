/* SPDX-License-Identifier: MIT
 *
 * profconv convert: which format to write, where to, and what to say about it.
 */
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* The output's format: by -t, else by the suffix. */
static int choose_target(const cli_arguments *arguments, const profconv_registry *registry, profconv_format_info *out) {
    const char *path = arguments->output;
    if (arguments->to) {
        int status = cli_check_format(registry, arguments->to, 1, out);
        if (status != CLI_OK)
            return status;
    } else if (!path || strcmp(path, "-") == 0) {
        return cli_usage_error("name the format to write with -t, or a file with -o");
    } else if (profconv_registry_find_suffix(registry, path, out)) {
        return cli_usage_error("%s: no format has this suffix; name one with -t", path);
    }
    if (out->binary && (!path || strcmp(path, "-") == 0) && isatty(STDOUT_FILENO))
        return cli_usage_error("%s is binary and is not written to a terminal; name a file with -o", out->name);
    return CLI_OK;
}

static int open_output(const char *path, profconv_output **out) {
    profconv_error error;
    int to_stdout = !path || strcmp(path, "-") == 0;
    int status = to_stdout ? profconv_output_open_fd(out, STDOUT_FILENO, "<stdout>", NULL, &error)
                           : profconv_output_open_path(out, path, NULL, &error);
    return status ? cli_fail(path, &error) : CLI_OK;
}

static int run(const cli_arguments *arguments, const profconv_registry *registry, const cli_inputs *inputs,
               const profconv_format_info *target, const profconv_options *settings, profconv_output *output) {
    profconv_report *report = NULL;
    profconv_error error;
    profconv_limits limits = {0};
    profconv_convert_options options = {0};
    cli_progress progress;
    limits.struct_size = sizeof limits;
    limits.max_memory = arguments->max_memory;
    options.struct_size = sizeof options;
    options.limits = &limits;
    options.settings = settings;
    options.from = arguments->from;
    options.to = target->name;
    options.progress = cli_progress_tick;
    options.progress_user = &progress;
    if (profconv_report_new(&report, NULL, &error))
        return cli_fail(NULL, &error);
    cli_progress_start(&progress, arguments);
    int failed = profconv_convert(registry, inputs->items, inputs->count, output, &options, report, &error);
    cli_progress_end(&progress);
    int status = CLI_OK;
    if (failed && cli_interrupted())
        status = CLI_FAILED;
    else if (failed)
        status = cli_fail(inputs->count == 1 ? profconv_input_name(inputs->items[0].input) : NULL, &error);
    if (!failed || arguments->verbose)
        cli_report(arguments, report);
    profconv_report_free(report);
    return status;
}

int cli_convert(const cli_arguments *arguments) {
    profconv_format_info target;
    profconv_options *settings = NULL;
    profconv_output *output = NULL;
    profconv_error error;
    cli_inputs inputs = {0};
    profconv_registry *registry = cli_registry();
    if (!registry)
        return CLI_FAILED;
    int status;
    if (arguments->list_settings) {
        status = cli_help_settings(stdout, registry, NULL);
        profconv_registry_free(registry);
        return status == CLI_OK ? cli_flush() : status;
    }
    status = choose_target(arguments, registry, &target);
    if (status == CLI_OK)
        status = cli_inputs_open(&inputs, arguments, registry);
    if (status == CLI_OK && profconv_options_new(&settings, NULL, &error))
        status = cli_fail(NULL, &error);
    if (status == CLI_OK) {
        cli_parts parts = {inputs.formats, inputs.count, &target, 1};
        status = cli_apply(arguments, &parts, settings);
    }
    if (status == CLI_OK)
        status = open_output(arguments->output, &output);
    if (status == CLI_OK)
        status = run(arguments, registry, &inputs, &target, settings, output);
    profconv_output_free(output);
    cli_inputs_free(&inputs);
    profconv_options_free(settings);
    profconv_registry_free(registry);
    return status;
}
