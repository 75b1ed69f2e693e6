/* SPDX-License-Identifier: MIT
 *
 * What the command says: errors, warnings, losses, and text from profiles, which may hold anything.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli.h"

void cli_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("profconv: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

int cli_usage_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("profconv: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\nTry 'profconv --help'.\n", stderr);
    va_end(args);
    return CLI_USAGE;
}

static profconv_string make_string(const char *text) {
    profconv_string s = {text, strlen(text)};
    return s;
}

int cli_fail(const char *name, const profconv_error *error) {
    fputs("profconv: ", stderr);
    if (name && !strstr(error->message, name))
        fprintf(stderr, "%s: ", name);
    cli_print_text(stderr, make_string(error->message));
    fputc('\n', stderr);
    return error->status == PROFCONV_E_INVALID ? CLI_USAGE : CLI_FAILED;
}

/* Whether a message says the number itself, as a word of its own. */
static int says(const char *message, uint64_t count) {
    char number[24];
    size_t size = (size_t)snprintf(number, sizeof number, "%" PRIu64, count);
    for (const char *at = message; (at = strstr(at, number)) != NULL; at += size) {
        if ((at == message || strchr(" (", at[-1])) && strchr(" ,;)", at[size]))
            return 1;
    }
    return 0;
}

static void print_note(const char *kind, const profconv_note *note) {
    char number[32];
    int counted = note->count > 1 && !says(note->message, note->count);
    fprintf(stderr, "profconv: %s: ", kind);
    cli_print_text(stderr, make_string(note->message));
    if (counted)
        fprintf(stderr, " (%s times", cli_number(number, note->count > INT64_MAX ? INT64_MAX : (int64_t)note->count));
    if (note->weight != 0)
        fprintf(stderr, "%sweight %s", counted ? ", " : " (", cli_number(number, note->weight));
    fputs(counted || note->weight != 0 ? ")\n" : "\n", stderr);
}

static int has_note(const profconv_report *report, const char *cause) {
    profconv_note note;
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        if (profconv_report_get(report, i, &note) == 0 && strcmp(note.cause, cause) == 0)
            return 1;
    }
    return 0;
}

/* Programs that are not where they were recorded are what most people meet first. */
static void print_advice(const cli_arguments *arguments, const profconv_report *report) {
    if (!(arguments->command->bit & CLI_PASSES) || !has_note(report, "no-binary") ||
        cli_was_given(arguments, "symfs", NULL))
        return;
    if (!cli_was_given(arguments, "binary", NULL))
        cli_error("--binary FILE names a program that is elsewhere now; --symfs DIR is where recorded paths begin");
    else if (!has_note(report, "build-id-mismatch"))
        cli_error("no file that --binary names has that build-id or, where it is unknown, that name");
}

/* "lost: labels, lines (details: -v)". */
static void print_losses(const profconv_report *report) {
    int any = 0;
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) || note.kind != PROFCONV_NOTE_LOST)
            continue;
        const char *what = strncmp(note.cause, "facet-", 6) == 0 ? note.cause + 6 : note.cause;
        fprintf(stderr, "%s%s", any ? ", " : "profconv: not kept: ", what);
        any = 1;
    }
    if (any)
        fputs(" (-v for details)\n", stderr);
}

void cli_report(const cli_arguments *arguments, const profconv_report *report) {
    static const char *const kinds[] = {"", "note", "warning", "dropped", "not kept"};
    if (arguments->quiet)
        return;
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note))
            continue;
        int always = note.kind == PROFCONV_NOTE_WARNING || note.kind == PROFCONV_NOTE_DROPPED;
        if (always || arguments->verbose)
            print_note(note.kind <= PROFCONV_NOTE_LOST ? kinds[note.kind] : "note", &note);
    }
    print_advice(arguments, report);
    if (!arguments->verbose)
        print_losses(report);
    if (profconv_report_overflow(report) > 0)
        cli_error("warning: %" PRIu64 " notes were lost for want of memory", profconv_report_overflow(report));
}

const char *cli_number(char out[32], int64_t value) {
    char digits[24];
    size_t at = 0;
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int n = snprintf(digits, sizeof digits, "%" PRIu64, magnitude);
    if (value < 0)
        out[at++] = '-';
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

void cli_print_text(FILE *file, profconv_string text) {
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == 0x7f)
            fprintf(file, "\\x%02x", c);
        else
            fputc(c, file);
    }
}

int cli_flush(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_OK;
    cli_error("<stdout>: %s", strerror(errno));
    return CLI_FAILED;
}
