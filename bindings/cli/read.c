/* SPDX-License-Identifier: MIT
 *
 * Reading for commands that look at profiles and write none: no passes run before they are looked at.
 */
#include "read.h"

static int read_one(const cli_arguments *arguments, const profconv_registry *registry, const cli_inputs *inputs,
                    size_t index, profconv_options *settings, cli_look each) {
    profconv_profile *profile = NULL;
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    cli_progress progress;
    cli_conversion(arguments, &limits, &options);
    options.settings = settings;
    options.progress = cli_progress_tick;
    options.progress_user = &progress;
    profconv_input *input = inputs->items[index].input;
    cli_progress_start(&progress, arguments);
    int failed = profconv_read(registry, input, &options, &profile, &error);
    cli_progress_end(&progress);
    if (failed)
        return cli_interrupted() ? CLI_FAILED : cli_fail(profconv_input_name(input), &error);
    if (arguments->command->bit == CLI_INFO) {
        printf("%s%-12s %s\n%-12s %s\n", index ? "\n" : "", "file", profconv_input_name(input), "format",
               inputs->formats[index].name);
    }
    int status = each(arguments, profile);
    if (status == CLI_OK && arguments->command->bit == CLI_INFO) {
        options.progress = NULL;
        cli_info_go(arguments, registry, &options, settings, &profile);
        status = cli_flush();
    }
    profconv_profile_free(profile);
    return status;
}

int cli_read_each(const cli_arguments *arguments, cli_look each) {
    profconv_options *settings = NULL;
    profconv_error error;
    cli_inputs inputs = {0};
    profconv_registry *registry = cli_registry();
    if (!registry)
        return CLI_FAILED;
    int status = cli_inputs_open(&inputs, arguments, registry);
    if (status == CLI_OK && profconv_options_new(&settings, NULL, &error))
        status = cli_fail(NULL, &error);
    if (status == CLI_OK) {
        cli_parts parts = {inputs.formats, inputs.count, NULL, arguments->command->bit == CLI_INFO};
        status = cli_apply(arguments, &parts, settings);
    }
    for (size_t i = 0; i < inputs.count && status == CLI_OK; i++)
        status = read_one(arguments, registry, &inputs, i, settings, each);
    cli_inputs_free(&inputs);
    profconv_options_free(settings);
    profconv_registry_free(registry);
    return status;
}
