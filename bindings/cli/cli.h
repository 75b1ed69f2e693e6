/* SPDX-License-Identifier: MIT
 *
 * What the files of the command share. Exit status: 0, 1 (failed, or nothing converted), 2 (usage).
 */
#ifndef PROFCONV_CLI_H
#define PROFCONV_CLI_H

#include <stdio.h>

#include <profconv/profconv.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* ---- options.c: the one table that parsing, help and settings come from ---- */

enum {
    CLI_CONVERT = 1 << 0,
    CLI_INFO = 1 << 1,
    CLI_FORMATS = 1 << 2,
    CLI_DUMP = 1 << 3,
    CLI_HELP = 1 << 4,
    CLI_CHECK = 1 << 5,
    CLI_SPLIT = 1 << 6,
    CLI_MERGE = 1 << 7,
    CLI_DIFF = 1 << 8,
    CLI_TOP = 1 << 9,
    CLI_TABLES = CLI_DIFF | CLI_TOP,
    CLI_FRAMES = CLI_CONVERT | CLI_MERGE | CLI_TABLES, /* commands that may take frames away */
    CLI_READING = CLI_FRAMES | CLI_INFO | CLI_DUMP | CLI_CHECK | CLI_SPLIT,
    CLI_PASSES = CLI_FRAMES | CLI_CHECK | CLI_SPLIT, /* commands that may name code */
    CLI_FILES = CLI_PASSES | CLI_INFO, /* those that look for programs */
    CLI_COMPLETION = 1 << 10,
    CLI_ANY = (1 << 11) - 1
};

/* Options that the command itself acts on; the others only become settings. */
typedef enum cli_id {
    CLI_ID_SETTING = 0,
    CLI_ID_HELP,
    CLI_ID_VERSION,
    CLI_ID_FROM,
    CLI_ID_TO,
    CLI_ID_OUTPUT,
    CLI_ID_INPUT,
    CLI_ID_SET,
    CLI_ID_MEMORY,
    CLI_ID_ON_LIMIT,
    CLI_ID_JOBS,
    CLI_ID_LIST_SETTINGS,
    CLI_ID_QUIET,
    CLI_ID_VERBOSE,
    CLI_ID_ARGUMENT /* looked up by its command */
} cli_id;

/* Whose setting an option is. */
typedef enum cli_role { CLI_ROLE_NONE = 0, CLI_ROLE_READER, CLI_ROLE_PASS, CLI_ROLE_WRITER, CLI_ROLE_FILTER } cli_role;

typedef struct cli_target {
    cli_role role;
    const char *key;
    const char *value; /* NULL: the option's argument */
} cli_target;

typedef struct cli_option {
    const char *name;     /* without "--" */
    char letter;          /* 0: none */
    const char *argument; /* its name in help; NULL: a flag */
    const char *help;     /* NULL: another name for the option before it, or its opposite */
    unsigned commands;    /* that take it */
    cli_id id;
    cli_target targets[3]; /* those that the conversion has get the value; at least one must */
} cli_option;

/* Groups of options, in the order of help. */
typedef struct cli_group {
    const char *title;
    const cli_option *options; /* ends with a NULL name */
} cli_group;

extern const cli_group cli_groups[]; /* ends with a NULL title */

typedef struct cli_command {
    const char *name;
    unsigned bit;
    const char *synopsis;
    const char *help;
} cli_command;

extern const cli_command cli_commands[]; /* ends with a NULL name */

/* The option of this command, else another command's, else NULL. */
const cli_option *cli_find_long(const char *name, size_t size, unsigned command);
const cli_option *cli_find_letter(char letter, unsigned command);

/* ---- parse.c ---- */

/* An option as it was given. */
typedef struct cli_given {
    const cli_option *option;
    const char *argument; /* NULL: a flag */
    size_t operands;      /* that stood before it */
} cli_given;

typedef struct cli_arguments {
    const cli_command *command;
    cli_given *given;
    size_t given_count;
    const char **inputs; /* operands */
    size_t input_count;
    const char *from, *to, *output;
    int quiet, verbose, list_settings, help;
    uint64_t max_memory;
    uint32_t on_limit; /* PROFCONV_ON_LIMIT_* */
    uint32_t threads;
} cli_arguments;

/* CLI_OK or CLI_USAGE, with a message. */
int cli_parse(int argc, char **argv, const cli_command *command, cli_arguments *out);
void cli_arguments_free(cli_arguments *arguments);
/* Nonzero when the option was given; the last argument goes to *argument (may be NULL). */
int cli_was_given(const cli_arguments *arguments, const char *name, const char **argument);

/* ---- apply.c ---- */

/* The formats that take part in what a command does. */
typedef struct cli_parts {
    const profconv_format_info *readers; /* one an input, repeated ones too */
    size_t reader_count;
    const profconv_format_info *writer; /* NULL: nothing is written */
    int passes;                         /* nonzero: passes may run */
} cli_parts;

/* Fills settings from the options. CLI_OK, CLI_USAGE (with a message) or CLI_FAILED. */
int cli_apply(const cli_arguments *arguments, const cli_parts *parts, profconv_options *settings);
/* Zeroes the two and fills in what every command takes alike: budgets, threads, the inputs' format. */
void cli_conversion(const cli_arguments *arguments, profconv_limits *limits, profconv_convert_options *out);

/* ---- inputs.c ---- */

typedef struct cli_inputs {
    profconv_convert_input *items;
    profconv_format_info *formats; /* what each will be read as */
    size_t count;
} cli_inputs;

/* "-" is stdin. 0 or a status. */
int cli_open_input(const char *name, profconv_input **out, profconv_error *error);
/* Opens every operand and finds its format. */
int cli_inputs_open(cli_inputs *inputs, const cli_arguments *arguments, const profconv_registry *registry);
void cli_inputs_free(cli_inputs *inputs);
/* The registry, or NULL with a message. */
profconv_registry *cli_registry(void);
/* Nonzero, with a message, when the name is not a format that can be read (written). */
int cli_check_format(const profconv_registry *registry, const char *name, int write, profconv_format_info *out);

/* ---- output.c ---- */

/* The output's format: by -t, else by the suffix of -o. */
int cli_choose_target(const cli_arguments *arguments, const profconv_registry *registry, profconv_format_info *out);
/* "-" and NULL are stdout. */
int cli_open_output(const char *path, profconv_output **out);
/* Text to the output, and its closing; the output is freed. `size` bytes. */
int cli_write_text(const char *path, const char *text, size_t size);

/* ---- report.c ---- */

/* "profconv: message", as printf; usage errors add where to find help. */
void cli_error(const char *format, ...) PROFCONV_PRINTF(1, 2);
int cli_usage_error(const char *format, ...) PROFCONV_PRINTF(1, 2);
/* The library's words for a failure, with the input's or output's name. Returns the exit status. */
int cli_fail(const char *name, const profconv_error *error);
/* Warnings and drops one line each, losses together in one line; everything with -v; nothing with -q. */
void cli_report(const cli_arguments *arguments, const profconv_report *report);
/* Whole numbers for people: 1,234,567. Returns `out`. */
const char *cli_number(char out[32], int64_t value);
/* Text for a terminal: control characters as \xNN. */
void cli_print_text(FILE *file, profconv_string text);
/* Flushes stdout: CLI_OK, or CLI_FAILED with a message. */
int cli_flush(void);

/* ---- progress.c ---- */

typedef struct cli_progress {
    int shown;       /* a terminal is there to show it on */
    int visible;     /* a line stands there now */
    int64_t started; /* milliseconds */
    int64_t drawn;
} cli_progress;

void cli_progress_start(cli_progress *progress, const cli_arguments *arguments);
/* As profconv_convert_options.progress; nonzero after an interrupt, so that no half-made file stays. */
int cli_progress_tick(void *progress, const char *stage, uint64_t done, uint64_t total);
void cli_progress_end(cli_progress *progress);
/* The signal that asked to stop, or 0. */
int cli_interrupted(void);

/* ---- guess.c ---- */

/* The name that a mistyped word was meant to be: NULL, unless one that was tried is near. */
typedef struct cli_guess {
    const char *word;
    size_t size;
    const char *name;
    size_t distance;
} cli_guess;

void cli_guess_try(cli_guess *guess, const char *name);

/* ---- help.c ---- */

void cli_help(FILE *file);
void cli_help_command(FILE *file, const cli_command *command);
/* The declared settings of formats and passes; `name` NULL: all. CLI_USAGE when there is no such thing. */
int cli_help_settings(FILE *file, const profconv_registry *registry, const char *name);

/* ---- the commands ---- */

int cli_merge(const cli_arguments *arguments);
int cli_diff(const cli_arguments *arguments);
int cli_top(const cli_arguments *arguments);
int cli_convert(const cli_arguments *arguments);
int cli_info(const cli_arguments *arguments);
int cli_formats(const cli_arguments *arguments);
int cli_dump(const cli_arguments *arguments);
int cli_check(const cli_arguments *arguments);
int cli_split(const cli_arguments *arguments);
int cli_completion(const cli_arguments *arguments);
/* The manual page of the formats, as roff, to stdout. */
void cli_manual_formats(const profconv_registry *registry);

#endif
