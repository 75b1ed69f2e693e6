/* SPDX-License-Identifier: MIT
 *
 * Opening what a command reads, and finding out what it is.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

profconv_registry *cli_registry(void) {
    profconv_registry *registry = NULL;
    profconv_error error;
    if (profconv_registry_new(&registry, NULL, &error))
        cli_fail(NULL, &error);
    return registry;
}

static int unknown_format(const profconv_registry *registry, const char *name, int write) {
    char known[400] = "";
    size_t at = 0;
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        profconv_format_info format;
        if (profconv_registry_format(registry, i, &format) || !(write ? format.can_write : format.can_read))
            continue;
        int n = snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", format.name);
        if (n < 0 || (size_t)n >= sizeof known - at)
            break;
        at += (size_t)n;
    }
    return cli_usage_error("%s: not a format that can be %s; there are %s", name, write ? "written" : "read", known);
}

int cli_check_format(const profconv_registry *registry, const char *name, int write, profconv_format_info *out) {
    if (profconv_registry_find(registry, name, out) || !(write ? out->can_write : out->can_read))
        return unknown_format(registry, name, write);
    return CLI_OK;
}

int cli_open_input(const char *name, profconv_input **out, profconv_error *error) {
    return strcmp(name, "-") == 0 ? profconv_input_open_fd(out, 0, "<stdin>", NULL, error)
                                  : profconv_input_open_path(out, name, NULL, error);
}

static int open_one(cli_inputs *inputs, const char *name, const cli_arguments *arguments,
                    const profconv_registry *registry) {
    profconv_error error;
    profconv_input *input = NULL;
    if (cli_open_input(name, &input, &error))
        return cli_fail(name, &error);
    inputs->items[inputs->count].input = input;
    profconv_format_info *format = &inputs->formats[inputs->count++];
    if (arguments->from)
        return cli_check_format(registry, arguments->from, 0, format);
    if (profconv_detect(registry, input, format, &error))
        return cli_fail(profconv_input_name(input), &error);
    return CLI_OK;
}

int cli_inputs_open(cli_inputs *inputs, const cli_arguments *arguments, const profconv_registry *registry) {
    memset(inputs, 0, sizeof *inputs);
    if (arguments->input_count == 0)
        return cli_usage_error("no input given; - is stdin");
    int stdins = 0;
    for (size_t i = 0; i < arguments->input_count; i++)
        stdins += strcmp(arguments->inputs[i], "-") == 0;
    if (stdins > 1)
        return cli_usage_error("stdin can be read once only");
    inputs->items = (profconv_convert_input *)calloc(arguments->input_count, sizeof *inputs->items);
    inputs->formats = (profconv_format_info *)calloc(arguments->input_count, sizeof *inputs->formats);
    if (!inputs->items || !inputs->formats) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    int status = CLI_OK;
    for (size_t i = 0; i < arguments->input_count && status == CLI_OK; i++)
        status = open_one(inputs, arguments->inputs[i], arguments, registry);
    return status;
}

void cli_inputs_free(cli_inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++)
        profconv_input_free(inputs->items[i].input);
    free(inputs->items);
    free(inputs->formats);
}
