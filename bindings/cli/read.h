/* SPDX-License-Identifier: MIT
 *
 * For commands that look at profiles without converting them.
 */
#ifndef PROFCONV_CLI_READ_H
#define PROFCONV_CLI_READ_H

#include "cli.h"

/* What is being looked at, for those who need more than the profile. */
typedef int (*cli_look)(const cli_arguments *arguments, const profconv_profile *profile);

/* Reads each input with the options' settings and calls `look` with it; stops at the first failure. */
int cli_read_each(const cli_arguments *arguments, cli_look look);

/* Go programs in a recording without names: how many leaves are at risk, or what is needed to tell. Names the profile. */
void cli_info_go(const cli_arguments *arguments, const profconv_registry *registry, const profconv_convert_options *read,
                 profconv_options *settings, profconv_profile **profile);

#endif
