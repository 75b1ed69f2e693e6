/* SPDX-License-Identifier: MIT
 *
 * Tables for terminals, and JSON.
 */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const kinds[] = {"function", "line", "file", "mapping"};

int cli_text_open(cli_text *text) {
    memset(text, 0, sizeof *text);
    text->file = open_memstream(&text->data, &text->size);
    if (text->file)
        return CLI_OK;
    cli_error("out of memory");
    return CLI_FAILED;
}

int cli_text_close(cli_text *text, const char *path, int status) {
    if (text->file && fclose(text->file) != 0 && status == CLI_OK) {
        cli_error("out of memory");
        status = CLI_FAILED;
    }
    if (status == CLI_OK)
        status = cli_write_text(path, text->data, text->size);
    free(text->data);
    return status;
}

/* ---- options ---- */

static int parse_count(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

int cli_table_number(const cli_arguments *arguments, const char *name, uint64_t *out) {
    const char *text = NULL;
    *out = 0;
    if (!cli_was_given(arguments, name, &text))
        return CLI_OK;
    if (!parse_count(text, out) || *out == 0)
        return cli_usage_error("--%s=%s: a whole number above 0 is expected", name, text);
    return CLI_OK;
}

static size_t terminal_width(const cli_arguments *arguments) {
    struct winsize size;
    if ((arguments->output && strcmp(arguments->output, "-") != 0) || !isatty(STDOUT_FILENO))
        return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

const char *cli_table_by(uint32_t by) { return kinds[by < 4 ? by : 0]; }

int cli_table_options_get(const cli_arguments *arguments, cli_table_options *out) {
    const char *text = NULL;
    uint64_t number;
    memset(out, 0, sizeof *out);
    out->json = cli_was_given(arguments, "json", NULL);
    out->rows = out->json ? SIZE_MAX : 20;
    out->width = terminal_width(arguments);
    (void)cli_was_given(arguments, "sample-type", &out->sample_type);
    if (cli_was_given(arguments, "number", &text)) {
        if (!parse_count(text, &number))
            return cli_usage_error("--number=%s: a whole number is expected", text);
        out->rows = number == 0 || number > SIZE_MAX ? SIZE_MAX : (size_t)number;
    }
    if (cli_table_number(arguments, "width", &number) != CLI_OK)
        return CLI_USAGE;
    if (number)
        out->width = number > 100000 ? 100000 : (size_t)number;
    if (!cli_was_given(arguments, "by", &text))
        return CLI_OK;
    for (out->by = 0; out->by < 4; out->by++) {
        if (strcmp(text, kinds[out->by]) == 0)
            return CLI_OK;
    }
    return cli_usage_error("--by=%s: function, line, file or mapping is expected", text);
}

/* ---- text ---- */

/* Bytes of the well-formed UTF-8 sequence at `p`, or 0. */
static size_t sequence(const unsigned char *p, size_t left) {
    size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0; /* overlong, a surrogate, or beyond Unicode */
    return n;
}

void cli_json_string(FILE *file, profconv_string text) {
    fputc('"', file);
    for (size_t i = 0; i < text.size;) {
        const unsigned char *p = (const unsigned char *)text.data + i;
        size_t n = sequence(p, text.size - i);
        if (n == 0)
            fputs("\\ufffd", file);
        else if (*p == '"' || *p == '\\')
            fprintf(file, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(file, "\\u%04x", *p);
        else
            fwrite(p, 1, n, file);
        i += n ? n : 1;
    }
    fputc('"', file);
}

void cli_json_number(FILE *file, double value) {
    if (isfinite(value))
        fprintf(file, "%.9g", value); /* the command never leaves the C locale */
    else
        fputs("null", file);
}

/* Prints up to *left columns (SIZE_MAX: all). */
static void print_some(FILE *file, profconv_string text, size_t *left) {
    for (size_t i = 0; i < text.size && *left > 0; (*left)--) {
        const unsigned char *p = (const unsigned char *)text.data + i;
        size_t n = sequence(p, text.size - i);
        if (n == 0 || *p < 0x20 || *p == 0x7f)
            fputc('?', file);
        else
            fwrite(p, 1, n, file);
        i += n ? n : 1;
    }
}

static size_t columns(profconv_string text) {
    size_t count = 0;
    for (size_t i = 0; i < text.size; count++) {
        size_t n = sequence((const unsigned char *)text.data + i, text.size - i);
        i += n ? n : 1;
    }
    return count;
}

void cli_table_name(FILE *file, profconv_string name, profconv_string file_name, int64_t line, size_t width) {
    char place[40] = "";
    profconv_string position = {place, 0};
    if (file_name.size && line > 0)
        snprintf(place, sizeof place, ":%" PRId64, line);
    position.size = strlen(place);
    size_t all = columns(name) + (file_name.size ? 2 + columns(file_name) + position.size : 0);
    size_t left = width == 0 || all <= width ? SIZE_MAX : width > 3 ? width - 3 : 0;
    int cut = left != SIZE_MAX;
    const profconv_string gap = {"  ", 2};
    print_some(file, name, &left);
    if (file_name.size) {
        print_some(file, gap, &left);
        print_some(file, file_name, &left);
        print_some(file, position, &left);
    }
    fputs(cut ? "...\n" : "\n", file);
}
