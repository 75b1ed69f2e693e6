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
    profconv_options *settings;  /* for inputs of the format `reader` */
    const char *reader;
    cli_progress progress;
} cli_loader;

/* `target`: name of a format, or NULL when the caller fills it in. */
int cli_loader_start(cli_loader *loader, const cli_arguments *arguments, const char *target);
void cli_loader_end(cli_loader *loader);
/* Opens ("-" is stdin), finds the format, applies the options, reads. With a message on failure. */
int cli_load(cli_loader *loader, const char *name, profconv_profile **out);
/* Runs passes and filters of frames. `name` (may be NULL) is for messages. */
int cli_load_prepare(cli_loader *loader, const char *name, profconv_profile **profile);
/* Reads all operands, adds them up if there are several, and prepares. */
int cli_load_all(cli_loader *loader, profconv_profile **out);
/* The options of profconv_convert with everything filled in. */
void cli_load_options(cli_loader *loader, profconv_limits *limits, profconv_convert_options *out);

#endif
