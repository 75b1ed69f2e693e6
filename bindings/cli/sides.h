/* SPDX-License-Identifier: MIT
 *
 * The two sides of a comparison: one profile each, or several runs and their sum.
 */
#ifndef PROFCONV_CLI_SIDES_H
#define PROFCONV_CLI_SIDES_H

#include <profconv/transform.h>

#include "load.h"

typedef struct cli_side {
    const char **names;
    profconv_profile **runs;
    size_t count;  /* of names */
    size_t loaded; /* of runs */
    const profconv_profile *sum; /* the only run, or `made` */
    profconv_profile *made;
} cli_side;

/* BEFORE AFTER, or --before RUN... --after RUN...: CLI_OK, or CLI_USAGE with a message. */
int cli_sides_find(cli_side sides[2], const cli_arguments *arguments);
/* Reads and prepares every run, and adds them up. */
int cli_sides_load(cli_side sides[2], cli_loader *loader);
void cli_sides_free(cli_side sides[2]);

#endif
