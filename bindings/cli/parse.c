/* SPDX-License-Identifier: MIT
 *
 * The command line by the table of options: --name, --name=value, --name value, -x, -xvalue, -x value, -qv, and --
 * before operands that start with '-'. Options and operands may be mixed.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* "500M", "2G", "1000000". 0: not a size. */
static uint64_t parse_size(const char *text) {
    static const char units[] = "KMGT";
    char *end;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return 0;
    if (*end) {
        const char *unit = strchr(units, *end & ~0x20);
        if (!unit)
            return 0;
        end++;
        end += *end == 'i' && end[1] == 'B' ? 2 : *end == 'B' ? 1 : 0;
        for (const char *u = units; u <= unit; u++) {
            if (value > UINT64_MAX / 1024)
                return 0;
            value *= 1024;
        }
    }
    return *end ? 0 : value;
}

/* 0: as many threads as this process may use processors. */
static int parse_jobs(const char *text, uint32_t *out) {
    char *end = NULL;
    unsigned long jobs = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end || jobs > 256)
        return cli_usage_error("--jobs %s: a number from 0 to 256 expected", text);
    cpu_set_t cpus;
    if (jobs == 0)
        jobs = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (unsigned long)CPU_COUNT(&cpus) : 1;
    *out = (uint32_t)jobs;
    return CLI_OK;
}

static int act(cli_arguments *out, const cli_option *option, const char *argument) {
    switch (option->id) {
    case CLI_ID_FROM:
        out->from = argument;
        break;
    case CLI_ID_TO:
        out->to = argument;
        break;
    case CLI_ID_OUTPUT:
        out->output = argument;
        break;
    case CLI_ID_INPUT:
        out->inputs[out->input_count++] = argument;
        break;
    case CLI_ID_MEMORY:
        out->max_memory = parse_size(argument);
        if (out->max_memory == 0)
            return cli_usage_error("--max-memory %s: a size such as 500M or 2G expected", argument);
        break;
    case CLI_ID_ON_LIMIT:
        if (strcmp(argument, "truncate") != 0 && strcmp(argument, "fail") != 0)
            return cli_usage_error("--on-limit %s: fail or truncate expected", argument);
        out->on_limit = *argument == 't' ? PROFCONV_ON_LIMIT_TRUNCATE : PROFCONV_ON_LIMIT_FAIL;
        break;
    case CLI_ID_JOBS:
        if (parse_jobs(argument, &out->threads) != CLI_OK)
            return CLI_USAGE;
        break;
    case CLI_ID_LIST_SETTINGS:
        out->list_settings = 1;
        break;
    case CLI_ID_QUIET:
        out->quiet = 1;
        break;
    case CLI_ID_VERBOSE:
        out->verbose = 1;
        break;
    case CLI_ID_HELP:
        out->help = 1;
        break;
    case CLI_ID_SETTING: /* applied when the formats are known */
        /* The library goes on to other places where a file is not there; a file that was named is meant. */
        if (argument && option->argument && strcmp(option->argument, "FILE") == 0 && access(argument, R_OK))
            return cli_usage_error("--%s %s: %s", option->name, argument, strerror(errno));
        break;
    default:
        break;
    }
    cli_given given = {option, argument, out->input_count};
    out->given[out->given_count++] = given;
    return CLI_OK;
}

static void no_such_option(const cli_command *command, const char *name, size_t size) {
    cli_guess guess = {name, size, NULL, 0};
    for (const cli_group *group = cli_groups; group->title; group++) {
        for (const cli_option *option = group->options; option->name; option++) {
            if (option->commands & command->bit)
                cli_guess_try(&guess, option->name);
        }
    }
    if (guess.name)
        cli_usage_error("--%.*s: there is no such option; did you mean --%s?", (int)size, name, guess.name);
    else
        cli_usage_error("--%.*s: there is no such option; profconv help %s lists those there are", (int)size, name,
                        command->name);
}

static int wrong_command(const cli_command *command, const char *text) {
    return cli_usage_error("%s: not an option of profconv %s", text, command->name);
}

/* Returns how many further arguments were used, or -1 after a message. */
static int parse_long(cli_arguments *out, const char *text, const char *next) {
    const char *name = text + 2;
    size_t size = strcspn(name, "=");
    const char *value = name[size] ? name + size + 1 : NULL;
    const cli_option *option = cli_find_long(name, size, out->command->bit);
    int used = 0;
    if (!option) {
        no_such_option(out->command, name, size);
        return -1;
    }
    if (!(option->commands & out->command->bit)) {
        wrong_command(out->command, text);
        return -1;
    }
    if (!option->argument && value) {
        cli_usage_error("--%s takes no value", option->name);
        return -1;
    }
    if (option->argument && !value) {
        if (!next) {
            cli_usage_error("--%s: %s is missing", option->name, option->argument);
            return -1;
        }
        value = next;
        used = 1;
    }
    return act(out, option, value) == CLI_OK ? used : -1;
}

static int parse_letters(cli_arguments *out, const char *text, const char *next) {
    for (const char *p = text + 1; *p; p++) {
        const cli_option *option = cli_find_letter(*p, out->command->bit);
        if (!option) {
            cli_usage_error("-%c: there is no such option", *p);
            return -1;
        }
        if (!(option->commands & out->command->bit)) {
            char letter[3] = {'-', *p, '\0'};
            wrong_command(out->command, letter);
            return -1;
        }
        if (!option->argument) {
            if (act(out, option, NULL) != CLI_OK)
                return -1;
            continue;
        }
        if (p[1])
            return act(out, option, p + 1) == CLI_OK ? 0 : -1;
        if (!next) {
            cli_usage_error("-%c: %s is missing", *p, option->argument);
            return -1;
        }
        return act(out, option, next) == CLI_OK ? 1 : -1;
    }
    return 0;
}

int cli_parse(int argc, char **argv, const cli_command *command, cli_arguments *out) {
    memset(out, 0, sizeof *out);
    out->command = command;
    size_t most = 1; /* a bundle of letters holds several options */
    for (int i = 0; i < argc; i++)
        most += strlen(argv[i]) + 1;
    out->given = (cli_given *)calloc(most, sizeof *out->given);
    out->inputs = (const char **)calloc((size_t)argc + most, sizeof *out->inputs);
    if (!out->given || !out->inputs) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    int operands = 0; /* after -- */
    for (int i = 0; i < argc; i++) {
        const char *text = argv[i];
        int used = 0;
        if (operands || text[0] != '-' || text[1] == '\0')
            out->inputs[out->input_count++] = text;
        else if (strcmp(text, "--") == 0)
            operands = 1;
        else if (text[1] == '-')
            used = parse_long(out, text, argv[i + 1]);
        else
            used = parse_letters(out, text, argv[i + 1]);
        if (used < 0)
            return CLI_USAGE;
        i += used;
    }
    return CLI_OK;
}

void cli_arguments_free(cli_arguments *arguments) {
    free(arguments->given);
    free(arguments->inputs);
}

int cli_was_given(const cli_arguments *arguments, const char *name, const char **argument) {
    int found = 0;
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, name) == 0) {
            found = 1;
            if (argument)
                *argument = arguments->given[i].argument;
        }
    }
    return found;
}
