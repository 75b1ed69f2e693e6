/* SPDX-License-Identifier: MIT
 *
 * profconv convert: which format to write, where to, and what to say about it.
 */
#include "cli.h"

static int run(const cli_arguments *arguments, const profconv_registry *registry, const cli_inputs *inputs,
               const profconv_format_info *target, const profconv_options *settings, profconv_output *output) {
    profconv_report *report = NULL;
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    cli_progress progress;
    cli_conversion(arguments, &limits, &options);
    options.settings = settings;
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
    status = cli_choose_target(arguments, registry, &target);
    if (status == CLI_OK)
        status = cli_inputs_open(&inputs, arguments, registry);
    if (status == CLI_OK && profconv_options_new(&settings, NULL, &error))
        status = cli_fail(NULL, &error);
    if (status == CLI_OK) {
        cli_parts parts = {inputs.formats, inputs.count, &target, 1};
        status = cli_apply(arguments, &parts, settings);
    }
    if (status == CLI_OK)
        status = cli_open_output(arguments->output, &output);
    if (status == CLI_OK)
        status = run(arguments, registry, &inputs, &target, settings, output);
    profconv_output_free(output);
    cli_inputs_free(&inputs);
    profconv_options_free(settings);
    profconv_registry_free(registry);
    return status;
}
