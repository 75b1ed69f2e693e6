/* SPDX-License-Identifier: MIT
 *
 * profconv dump: every table of a profile, as it was read, in canonical text.
 */
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "read.h"

static int dump(const cli_arguments *arguments, const profconv_profile *profile) {
    profconv_output *output = NULL;
    profconv_error error;
    const char *path = arguments->output;
    int failed = !path || strcmp(path, "-") == 0
                     ? profconv_output_open_fd(&output, STDOUT_FILENO, "<stdout>", NULL, &error)
                     : profconv_output_open_path(&output, path, NULL, &error);
    if (!failed)
        failed = profconv_dump(profile, output, &error);
    if (!failed)
        failed = profconv_output_close(output, &error);
    int status = failed ? cli_fail(path, &error) : CLI_OK;
    profconv_output_free(output);
    return status;
}

int cli_dump(const cli_arguments *arguments) {
    if (arguments->input_count > 1)
        return cli_usage_error("dump reads one input");
    return cli_read_each(arguments, dump);
}
