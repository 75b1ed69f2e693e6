/* SPDX-License-Identifier: MIT
 *
 * profconv formats: what can be read and written, and what each format can hold, from the registry.
 */
#include <string.h>

#include "cli.h"

/* "aliases, suffixes" as one text; cut where it does not fit. */
static void join(char *out, size_t size, const char *const *words) {
    size_t at = 0;
    snprintf(out, size, "-");
    for (; words && *words; words++) {
        int n = snprintf(out + at, size - at, "%s%s", at ? "," : "", *words);
        if (n < 0 || (size_t)n >= size - at)
            return;
        at += (size_t)n;
    }
}

static void print_format(const profconv_format_info *format) {
    char text[120];
    join(text, sizeof text, format->aliases);
    printf("%-15s %-24s %-5s", format->name, text,
           format->can_read && format->can_write ? "rw"
           : format->can_read                    ? "r"
                                                 : "w");
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        char cell[4] = "";
        if (format->can_read && (format->produces & bit))
            strcat(cell, "r");
        if (format->can_write && (format->needs & bit))
            strcat(cell, "W");
        else if (format->can_write && (format->keeps & bit))
            strcat(cell, "w");
        printf(" %*s", (int)strlen(profconv_facet_name(bit)), cell[0] ? cell : "-");
    }
    putchar('\n');
}

int cli_formats(const cli_arguments *arguments) {
    profconv_registry *registry = cli_registry();
    profconv_format_info format;
    if (!registry)
        return CLI_FAILED;
    if (arguments->input_count > 0) {
        profconv_registry_free(registry);
        return cli_usage_error("formats takes no operand; profconv help FORMAT explains one");
    }
    if (arguments->list_settings) {
        int status = cli_help_settings(stdout, registry, NULL);
        profconv_registry_free(registry);
        return status == CLI_OK ? cli_flush() : status;
    }
    if (cli_was_given(arguments, "man", NULL)) {
        cli_manual_formats(registry);
        profconv_registry_free(registry);
        return cli_flush();
    }
    printf("%-15s %-24s %-5s", "FORMAT", "ALIASES", "r/w");
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1)
        printf(" %s", profconv_facet_name(bit));
    putchar('\n');
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        if (profconv_registry_format(registry, i, &format) == PROFCONV_OK)
            print_format(&format);
    }
    puts("\nr: the reader gives it; w: the writer keeps it; W: the writer cannot do without; -: lost when written.\n");
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        char text[120];
        if (profconv_registry_format(registry, i, &format) != PROFCONV_OK)
            continue;
        join(text, sizeof text, format.suffixes);
        printf("%-15s %s (%s)\n", format.name, format.description ? format.description : "", text);
    }
    puts("\nNot read: DTrace, macOS sample, VTune, gdb and jstack stacks, Instruments, xdebug. Their stackcollapse scripts write "
         "collapsed\nstacks, which are read. Recordings of simpleperf are read, and so is the text of its report_sample.py; the "
         "protobuf of its\nreport-sample is not.");
    profconv_registry_free(registry);
    return cli_flush();
}
