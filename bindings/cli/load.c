/* SPDX-License-Identifier: MIT
 *
 * Reading profiles one by one, each with the settings of its own format.
 */
#include "load.h"

#include <stdlib.h>
#include <string.h>

/* What inputs of one format are read with: settings are made once for a run of them. */
typedef struct cli_reader {
    const char *format;
    profconv_options *settings;
    profconv_limits limits;
    profconv_convert_options options;
    struct cli_reader *next;
} cli_reader;

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
    while (loader->readers) {
        cli_reader *reader = loader->readers;
        loader->readers = reader->next;
        profconv_options_free(reader->settings);
        free(reader);
    }
    profconv_registry_free(loader->registry);
}

void cli_load_options(cli_loader *loader, profconv_limits *limits, profconv_convert_options *out) {
    cli_conversion(loader->arguments, limits, out);
    out->settings = loader->settings;
    out->to = loader->target.name;
    out->progress = cli_progress_tick;
    out->progress_user = &loader->progress;
}

/* Puts a reader of this format at the front. */
static int add_reader(cli_loader *loader, const profconv_format_info *format) {
    profconv_error error;
    cli_reader *reader = (cli_reader *)calloc(1, sizeof *reader);
    if (!reader || profconv_options_new(&reader->settings, NULL, &error)) {
        free(reader);
        cli_error("out of memory");
        return CLI_FAILED;
    }
    reader->next = loader->readers;
    loader->readers = reader;
    loader->settings = reader->settings;
    cli_parts parts = {format, 1, loader->looking ? NULL : &loader->target, 1};
    int status = cli_apply(loader->arguments, &parts, reader->settings);
    if (status != CLI_OK)
        return status;
    reader->format = format->name;
    cli_load_options(loader, &reader->limits, &reader->options);
    reader->options.from = format->name;
    return CLI_OK;
}

/* The right reader at the front of the list. A failure that is not in `error` was told. */
static int settle(cli_loader *loader, profconv_input *input, int *said, profconv_error *error) {
    profconv_format_info format;
    const cli_reader *last = loader->readers;
    int sure = 0;
    *said = 0;
    if (!loader->arguments->from && last && last->format &&
        profconv_probe(loader->registry, input, last->format, &sure, error) == PROFCONV_OK && sure >= 90)
        return CLI_OK;
    int status = CLI_OK;
    if (loader->arguments->from) {
        status = cli_check_format(loader->registry, loader->arguments->from, 0, &format);
        *said = status != CLI_OK;
    } else if (profconv_detect(loader->registry, input, &format, error)) {
        status = CLI_FAILED;
    }
    if (status != CLI_OK || (last && last->format && strcmp(last->format, format.name) == 0))
        return status;
    status = add_reader(loader, &format);
    *said = status != CLI_OK;
    return status;
}

int cli_load_open(cli_loader *loader, const char *name, profconv_input **input, const profconv_convert_options **options,
                  int *said, profconv_error *error) {
    *said = 0;
    *input = NULL;
    if (cli_open_input(name, input, error))
        return CLI_FAILED;
    int status = settle(loader, *input, said, error);
    if (status == CLI_OK) {
        *options = &loader->readers->options;
        return CLI_OK;
    }
    profconv_input_free(*input);
    *input = NULL;
    return status;
}

int cli_load(cli_loader *loader, const char *name, profconv_profile **out) {
    profconv_error error;
    const profconv_convert_options *options;
    profconv_input *input;
    int said;
    *out = NULL;
    int status = cli_load_open(loader, name, &input, &options, &said, &error);
    if (status != CLI_OK)
        return said ? status : cli_fail(name, &error);
    if (profconv_read(loader->registry, input, options, out, &error))
        status = cli_interrupted() ? CLI_FAILED : cli_fail(profconv_input_name(input), &error);
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

static int add_up(cli_loader *loader, profconv_builder *builder) {
    cli_sum sum = {0};
    cli_summand *inputs = (cli_summand *)calloc(loader->arguments->input_count, sizeof *inputs);
    if (!inputs) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    for (size_t i = 0; i < loader->arguments->input_count; i++)
        inputs[i].name = loader->arguments->inputs[i];
    sum.loader = loader;
    sum.builder = builder;
    sum.inputs = inputs;
    sum.count = loader->arguments->input_count;
    int status = cli_sum_up(&sum);
    free(inputs);
    return status;
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
    if (builder && status == CLI_OK)
        status = add_up(loader, builder);
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
