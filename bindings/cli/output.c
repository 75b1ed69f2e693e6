/* SPDX-License-Identifier: MIT
 *
 * Where a command writes to, and in which format.
 */
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cli_choose_target(const cli_arguments *arguments, const profconv_registry *registry, profconv_format_info *out) {
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

int cli_open_output(const char *path, profconv_output **out) {
    profconv_error error;
    int to_stdout = !path || strcmp(path, "-") == 0;
    int status = to_stdout ? profconv_output_open_fd(out, STDOUT_FILENO, "<stdout>", NULL, &error)
                           : profconv_output_open_path(out, path, NULL, &error);
    return status ? cli_fail(path, &error) : CLI_OK;
}

int cli_write_text(const char *path, const char *text, size_t size) {
    profconv_output *output = NULL;
    profconv_error error;
    int status = cli_open_output(path, &output);
    if (status == CLI_OK &&
        (profconv_output_write(output, text, size, &error) || profconv_output_close(output, &error)))
        status = cli_fail(path && strcmp(path, "-") != 0 ? path : "<stdout>", &error);
    profconv_output_free(output);
    return status;
}
