/* SPDX-License-Identifier: MIT
 *
 * The profconv command: finds the subcommand and runs it.
 */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int print_version(void) {
    printf("profconv %s\n", profconv_version());
    return cli_flush();
}

static const cli_command *find_command(const char *name) {
    for (const cli_command *command = cli_commands; command->name; command++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}

static int no_such_command(const char *name) {
    cli_guess guess = {name, strlen(name), NULL, 0};
    for (const cli_command *command = cli_commands; command->name; command++)
        cli_guess_try(&guess, command->name);
    if (guess.name)
        return cli_usage_error("%s: there is no such command; did you mean %s?", name, guess.name);
    return cli_usage_error("%s: there is no such command", name);
}

static int help(const cli_arguments *arguments) {
    const char *name = arguments->input_count ? arguments->inputs[0] : NULL;
    const cli_command *command = name ? find_command(name) : NULL;
    int status = CLI_OK;
    if (arguments->input_count > 1)
        return cli_usage_error("help explains one thing at a time");
    if (!name && !arguments->list_settings) {
        cli_help(stdout);
    } else if (command) {
        cli_help_command(stdout, command);
    } else {
        profconv_registry *registry = cli_registry();
        if (!registry)
            return CLI_FAILED;
        status = cli_help_settings(stdout, registry, name);
        profconv_registry_free(registry);
    }
    return status == CLI_OK ? cli_flush() : status;
}

/* Where memory is not bounded, what one input has freed is kept for the next: asking the system for the same pages again and
 * again took two thirds of the time of merging 100 LLVM profiles. */
static void keep_memory(void) {
#if defined(M_TRIM_THRESHOLD) && defined(M_MMAP_THRESHOLD)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

static int run(const cli_arguments *arguments) {
    if (arguments->max_memory == 0)
        keep_memory();
    if (cli_was_given(arguments, "version", NULL))
        return print_version();
    if (arguments->help && arguments->command->bit != CLI_HELP) {
        cli_help_command(stdout, arguments->command);
        return cli_flush();
    }
    switch (arguments->command->bit) {
    case CLI_CONVERT:
        return cli_convert(arguments);
    case CLI_MERGE:
        return cli_merge(arguments);
    case CLI_DIFF:
        return cli_diff(arguments);
    case CLI_TOP:
        return cli_top(arguments);
    case CLI_INFO:
        return cli_info(arguments);
    case CLI_FORMATS:
        return cli_formats(arguments);
    case CLI_DUMP:
        return cli_dump(arguments);
    case CLI_CHECK:
        return cli_check(arguments);
    case CLI_SPLIT:
        return cli_split(arguments);
    case CLI_COMPLETION:
        return cli_completion(arguments);
    default:
        return help(arguments);
    }
}

int main(int argc, char **argv) {
    cli_arguments arguments;
    if (argc < 2) {
        cli_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0)
        return print_version();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_help(stdout);
        return cli_flush();
    }
    const cli_command *command = find_command(argv[1]);
    if (!command)
        return no_such_command(argv[1]);
    int status = cli_parse(argc - 2, argv + 2, command, &arguments);
    if (status == CLI_OK)
        status = run(&arguments);
    cli_arguments_free(&arguments);
    if (cli_interrupted()) {
        signal(cli_interrupted(), SIG_DFL);
        raise(cli_interrupted());
    }
    return status;
}
