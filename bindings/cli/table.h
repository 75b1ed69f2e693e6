/* SPDX-License-Identifier: MIT
 *
 * Tables for terminals, and JSON, as text that is written at once.
 */
#ifndef PROFCONV_CLI_TABLE_H
#define PROFCONV_CLI_TABLE_H

#include "cli.h"

/* Text in the making. */
typedef struct cli_text {
    char *data;
    size_t size;
    FILE *file; /* to print into */
} cli_text;

/* CLI_OK, or CLI_FAILED with a message. */
int cli_text_open(cli_text *text);
/* Writes what was printed to -o or stdout, and frees it. Not for stdout: `status` other than CLI_OK frees only. Returns the
 * status. */
int cli_text_close(cli_text *text, const char *path, int status);

/* What the options of tables say. */
typedef struct cli_table_options {
    size_t rows;  /* SIZE_MAX: all */
    uint32_t by;  /* profconv_by */
    size_t width; /* columns; 0: no limit */
    int json;
    const char *sample_type; /* NULL: the default */
} cli_table_options;

/* CLI_OK, or CLI_USAGE with a message. */
int cli_table_options_get(const cli_arguments *arguments, cli_table_options *out);
/* A whole number above 0 from an option; 0 when it was not given. */
int cli_table_number(const cli_arguments *arguments, const char *name, uint64_t *out);
/* "function", "line", ... */
const char *cli_table_by(uint32_t by);

/* A quoted JSON string; bytes that are not UTF-8 become U+FFFD. */
void cli_json_string(FILE *file, profconv_string text);
/* A number, or null when it is not finite; the point is '.' in every locale. */
void cli_json_number(FILE *file, double value);
/* Code points of `text` up to `width` columns (0: all), with "..." where it was cut; then a newline. */
void cli_table_name(FILE *file, profconv_string name, profconv_string file_name, int64_t line, size_t width);

#endif
