/* SPDX-License-Identifier: MIT
 *
 * Reading profiles one by one, each with the settings of its own format.
 */
#include "load.h"

#include <string.h>

int cli_loader_start(cli_loader *loader, const cli_arguments *arguments, const char *target) {
    profconv_error error;
    memset(loader, 0, sizeof *loader);
    loader->arguments = arguments;
    loader->registry = cli_registry();
    if (!loader->registry)
        return CLI_FAILED;
    cli_progress_start(&loader->progress, arguments);
    if (profconv_report_new(&loader->report, NULL, &error))
        return cli_fail(NULL, &error);
    return target ? cli_check_format(loader->registry, target, 1, &loader->target) : CLI_OK;
}

void cli_loader_end(cli_loader *loader) {
    cli_progress_end(&loader->progress);
    profconv_report_free(loader->report);
    profconv_options_free(loader->settings);
    profconv_registry_free(loader->registry);
}

void cli_load_options(cli_loader *loader, profconv_limits *limits, profconv_convert_options *out) {
    memset(limits, 0, sizeof *limits);
    memset(out, 0, sizeof *out);
    limits->struct_size = sizeof *limits;
    limits->max_memory = loader->arguments->max_memory;
    limits->on_limit = loader->arguments->on_limit;
    out->struct_size = sizeof *out;
    out->limits = limits;
    out->settings = loader->settings;
    out->from = loader->arguments->from;
    out->to = loader->target.name;
    out->progress = cli_progress_tick;
    out->progress_user = &loader->progress;
}

/* Settings are made once for a run of inputs of one format. */
static int settle(cli_loader *loader, profconv_input *input) {
    profconv_format_info format;
    profconv_error error;
    int status = CLI_OK, sure = 0;
    if (!loader->arguments->from && loader->reader &&
        profconv_probe(loader->registry, input, loader->reader, &sure, &error) == PROFCONV_OK && sure >= 90)
        return CLI_OK;
    if (loader->arguments->from)
        status = cli_check_format(loader->registry, loader->arguments->from, 0, &format);
    else if (profconv_detect(loader->registry, input, &format, &error))
        status = cli_fail(profconv_input_name(input), &error);
    if (status != CLI_OK || (loader->reader && strcmp(loader->reader, format.name) == 0))
        return status;
    loader->reader = NULL;
    profconv_options_free(loader->settings);
    loader->settings = NULL;
    if (profconv_options_new(&loader->settings, NULL, &error))
        return cli_fail(NULL, &error);
    cli_parts parts = {&format, 1, loader->looking ? NULL : &loader->target, 1};
    status = cli_apply(loader->arguments, &parts, loader->settings);
    if (status == CLI_OK)
        loader->reader = format.name;
    return status;
}

int cli_load(cli_loader *loader, const char *name, profconv_profile **out) {
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    profconv_input *input = NULL;
    *out = NULL;
    if (strcmp(name, "-") == 0 ? profconv_input_open_fd(&input, 0, "<stdin>", NULL, &error)
                               : profconv_input_open_path(&input, name, NULL, &error))
        return cli_fail(name, &error);
    int status = settle(loader, input);
    if (status == CLI_OK) {
        cli_load_options(loader, &limits, &options);
        options.from = loader->reader;
        if (profconv_read(loader->registry, input, &options, out, &error))
            status = cli_interrupted() ? CLI_FAILED : cli_fail(profconv_input_name(input), &error);
    }
    profconv_input_free(input);
    return status;
}

int cli_load_prepare(cli_loader *loader, const char *name, profconv_profile **profile) {
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    cli_load_options(loader, &limits, &options);
    if (profconv_prepare(loader->registry, profile, &options, loader->report, &error))
        return cli_interrupted() ? CLI_FAILED : cli_fail(name, &error);
    return CLI_OK;
}

int cli_load_all(cli_loader *loader, profconv_profile **out) {
    const cli_arguments *arguments = loader->arguments;
    profconv_builder *builder = NULL;
    profconv_error error;
    int status = CLI_OK;
    *out = NULL;
    if (arguments->input_count == 0)
        return cli_usage_error("no input given; - is stdin");
    if (arguments->input_count == 1)
        status = cli_load(loader, arguments->inputs[0], out);
    else if (profconv_builder_new(&builder, NULL, NULL, &error))
        status = cli_fail(NULL, &error);
    for (size_t i = 0; builder && status == CLI_OK && i < arguments->input_count; i++) {
        profconv_profile *profile = NULL;
        status = cli_load(loader, arguments->inputs[i], &profile);
        if (status == CLI_OK && profconv_merge(builder, profile, 1, &error))
            status = cli_fail(arguments->inputs[i], &error);
        profconv_profile_free(profile);
    }
    if (builder && status == CLI_OK && profconv_builder_freeze(builder, out, &error))
        status = cli_fail(NULL, &error);
    profconv_builder_free(builder);
    if (status == CLI_OK) {
        cli_progress_end(&loader->progress);
        cli_report(arguments, profconv_profile_report(*out));
        status = cli_load_prepare(loader, arguments->input_count == 1 ? arguments->inputs[0] : NULL, out);
    }
    return status;
}
