/* SPDX-License-Identifier: MIT
 *
 * For commands that take profiles one by one and prepare them by themselves.
 */
#ifndef PROFCONV_CLI_LOAD_H
#define PROFCONV_CLI_LOAD_H

#include "cli.h"

typedef struct cli_loader {
    const cli_arguments *arguments;
    profconv_registry *registry;
    profconv_format_info target; /* what the profile is for: decides labels and passes */
    int looking;                 /* nothing is written in that format: its settings take no part */
    profconv_report *report;     /* notes of passes */
    profconv_options *settings;  /* for the format that was read last */
    struct cli_reader *readers;  /* that one first */
    cli_progress progress;
} cli_loader;

/* `target`: name of a format, or NULL when the caller fills it in. */
int cli_loader_start(cli_loader *loader, const cli_arguments *arguments, const char *target);
void cli_loader_end(cli_loader *loader);
/* Opens ("-" is stdin), finds the format, applies the options, reads. With a message on failure. */
int cli_load(cli_loader *loader, const char *name, profconv_profile **out);
/* The first part of it: *said is nonzero when the failure was told already (a wrong option), else it is in `error`. The options
 * for reading live as long as the loader. */
int cli_load_open(cli_loader *loader, const char *name, profconv_input **input, const profconv_convert_options **options,
                  int *said, profconv_error *error);
/* Runs passes and filters of frames. `name` (may be NULL) is for messages. */
int cli_load_prepare(cli_loader *loader, const char *name, profconv_profile **profile);
/* Reads all operands, adds them up if there are several, and prepares. */
int cli_load_all(cli_loader *loader, profconv_profile **out);

/* ---- sum.c: many inputs added up ---- */

typedef struct cli_summand {
    const char *name;
    uint64_t weight;
} cli_summand;

typedef struct cli_sum {
    cli_loader *loader;
    profconv_builder *builder;
    const cli_summand *inputs;
    size_t count;
    int keep_going;                                                /* go on after an input that cannot be read */
    int (*accept)(void *user, const profconv_profile *profile);    /* NULL: all */
    void *user;
    size_t merged, bad; /* out */
    int status, usage, accepted; /* for sum.c */
    uint64_t usage_at;
} cli_sum;

/* Every failure is told with the name of its input. */
int cli_sum_up(cli_sum *sum);

/* The options of profconv_convert with everything filled in. */
void cli_load_options(cli_loader *loader, profconv_limits *limits, profconv_convert_options *out);

#endif
