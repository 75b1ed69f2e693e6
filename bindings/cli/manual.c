/* SPDX-License-Identifier: MIT
 *
 * profconv formats --man: the page profconv-formats(5), from the registry. The build runs it and installs what it prints.
 */
#include <string.h>

#include "cli.h"

/* Text for roff: '-' as a minus sign that can be copied, no line that is taken for a request. */
static void put_text(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
    }
}

static void put_words(const char *title, const char *const *words) {
    if (!words || !*words)
        return;
    printf(".br\n%s: ", title);
    for (; *words; words++) {
        put_text(*words);
        fputs(words[1] ? ", " : ".\n", stdout);
    }
}

/* "symbols, lines"; `none` for none. */
static void put_facets(uint32_t facets, const char *none) {
    const char *between = "";
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        if (!(facets & bit))
            continue;
        fputs(between, stdout);
        put_text(profconv_facet_name(bit));
        between = ", ";
    }
    if (!*between)
        fputs(none, stdout);
}

static void put_matrix(const profconv_registry *registry) {
    fputs(".TS\nl1", stdout);
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1)
        fputs(bit << 1 & PROFCONV_FACET_ALL ? " c1" : " c", stdout);
    fputs(".\nformat", stdout);
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        const char *name = profconv_facet_name(bit), *last = strrchr(name, '-');
        printf("\t%s", last ? last + 1 : name); /* 80 columns have no room for source-counts */
    }
    fputs("\n_\n", stdout);
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        profconv_format_info f;
        if (profconv_registry_format(registry, i, &f) != PROFCONV_OK)
            continue;
        put_text(f.name);
        for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
            const char *reads = f.can_read && (f.produces & bit) ? "r" : "";
            const char *writes = !f.can_write ? "" : (f.needs & bit) ? "W" : (f.keeps & bit) ? "w" : "";
            printf("\t%s%s", reads, *reads || *writes ? writes : "\\-");
        }
        putchar('\n');
    }
    fputs(".TE\n", stdout);
}

/* Targets by what is lost on the way from `source`, each loss once. */
static void put_losses(const profconv_registry *registry, const profconv_format_info *source) {
    size_t count = profconv_registry_format_count(registry);
    for (uint32_t lost = 0; lost <= PROFCONV_FACET_ALL; lost++) {
        const char *between = "";
        for (size_t i = 0; i < count; i++) {
            profconv_format_info target;
            if (profconv_registry_format(registry, i, &target) != PROFCONV_OK || !target.can_write ||
                (source->produces & ~target.keeps & PROFCONV_FACET_ALL) != lost)
                continue;
            if (!*between) {
                fputs(".TP\n.I ", stdout);
                put_facets(lost, "nothing");
                putchar('\n');
            }
            fputs(between, stdout);
            put_text(target.name);
            between = ", ";
        }
        if (*between)
            fputs("\n", stdout);
    }
}

static void put_settings(const char *title, const char *scope, const profconv_setting *setting) {
    static const char *const types[] = {"", "yes|no", "N", "X", "TEXT", "", "TEXT (repeatable)"};
    if (!setting || !setting->name)
        return;
    printf(".PP\n%s\n", title);
    for (; setting->name; setting++) {
        fputs(".TP\n.BI ", stdout);
        put_text(scope);
        putchar('.');
        put_text(setting->name);
        fputs("= \"", stdout);
        put_text(setting->type == PROFCONV_SETTING_ENUM ? setting->choices : types[setting->type]);
        fputs("\"\n", stdout);
        put_text(setting->help ? setting->help : "");
        if (setting->default_value) {
            fputs(" (default: ", stdout);
            put_text(setting->default_value);
            putchar(')');
        }
        fputs(".\n", stdout);
    }
}

static void put_format(const profconv_registry *registry, const profconv_format_info *format) {
    fputs(".SS ", stdout);
    put_text(format->name);
    putchar('\n');
    put_text(format->description ? format->description : "");
    fputs(".\n", stdout);
    put_words("Also called", format->aliases);
    put_words("Names of files end with", format->suffixes);
    if (format->can_read) {
        fputs(".PP\nReading gives ", stdout);
        put_facets(format->produces, "nothing");
        fputs(".\n", stdout);
    }
    if (format->can_write) {
        fputs(".PP\nWriting needs ", stdout);
        put_facets(format->needs, "nothing in particular");
        fputs("; it keeps ", stdout);
        put_facets(format->keeps, "nothing");
        fputs("; it loses ", stdout);
        put_facets(PROFCONV_FACET_ALL & ~format->keeps, "nothing");
        fputs(".\n", stdout);
    }
    put_settings("Settings of the reader:", format->name, format->reader_settings);
    put_settings("Settings of the writer:", format->name, format->writer_settings);
    if (format->can_read) {
        fputs(".PP\nLost from its facets, by target:\n", stdout);
        put_losses(registry, format);
    }
}

void cli_manual_formats(const profconv_registry *registry) {
    const profconv_setting *settings = NULL;
    const char *pass;
    printf("'\\\" t\n.\\\" Made by profconv formats \\-\\-man.\n"
           ".TH PROFCONV\\-FORMATS 5 \"\" \"profconv %s\" \"File Formats\"\n"
           ".SH NAME\nprofconv\\-formats \\- what profconv reads and writes, and what each format can hold\n"
           ".SH DESCRIPTION\n"
           "A profile has facets. A reader gives some, a writer keeps some and cannot do without some. A conversion adds what the "
           "target needs where it can:\n.I symbolize\nmakes symbols and lines from addresses,\n.I attribute\n"
           "makes source counts from branches, addresses or lines,\n.I expand\nmakes stacks from source counts.\n"
           "What is there and cannot be kept is reported.\n.PP\n"
           "r: the reader gives it; w: the writer keeps it; W: the writer cannot do without; \\-: neither.\nThe columns are ",
           profconv_version());
    put_facets(PROFCONV_FACET_ALL, "");
    fputs(".\n", stdout);
    put_matrix(registry);
    fputs(".SH FORMATS\n", stdout);
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        profconv_format_info format;
        if (profconv_registry_format(registry, i, &format) == PROFCONV_OK)
            put_format(registry, &format);
    }
    fputs(".SH PASSES\nSettings of what runs between reading and writing.\n", stdout);
    for (size_t i = 0; (pass = profconv_pass_name(i, &settings)) != NULL; i++) {
        fputs(".SS ", stdout);
        put_text(pass);
        putchar('\n');
        put_settings("Settings:", pass, settings);
    }
    fputs(".SH SEE ALSO\n.BR profconv (1),\n.BR libprofconv (3)\n", stdout);
}
