/* SPDX-License-Identifier: MIT
 *
 * Help, from the tables of commands, options and declared settings.
 */
#include <string.h>

#include "cli.h"

void cli_help(FILE *file) {
    fputs("profconv converts CPU profiles between formats.\n\nUsage:\n", file);
    for (const cli_command *command = cli_commands; command->name; command++)
        fprintf(file, "  profconv %s %s\n      %s\n", command->name, command->synopsis, command->help);
    fputs("  profconv --version\n\n"
          "Examples:\n"
          "  profconv convert -o profile.pb.gz perf.data      a pprof with symbols\n"
          "  profconv convert -t collapsed perf.data          stacks for a flame graph, to stdout\n"
          "  profconv info perf.data                          what was recorded\n"
          "  profconv formats                                 what can be read and written\n\n"
          "'profconv help COMMAND' lists the options of a command, 'profconv help FORMAT' the settings of a format.\n",
          file);
}

/* "-e, --event NAME". */
static void option_heading(char *out, size_t size, const cli_option *option) {
    char letter[5] = "    ";
    if (option->letter) {
        letter[0] = '-';
        letter[1] = option->letter;
        letter[2] = ',';
    }
    snprintf(out, size, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
}

void cli_help_command(FILE *file, const cli_command *command) {
    fprintf(file, "Usage: profconv %s %s\n%s\n", command->name, command->synopsis, command->help);
    for (const cli_group *group = cli_groups; group->title; group++) {
        int titled = 0;
        for (const cli_option *option = group->options; option->name; option++) {
            char heading[60];
            if (!(option->commands & command->bit) || !option->help)
                continue;
            if (!titled)
                fprintf(file, "\n%s:\n", group->title);
            titled = 1;
            option_heading(heading, sizeof heading, option);
            fprintf(file, "  %-28s %s\n", heading, option->help);
        }
    }
}

static void print_settings(FILE *file, const char *title, const char *scope, const profconv_setting *setting) {
    if (!setting || !setting->name)
        return;
    fprintf(file, "%s\n", title);
    for (; setting->name; setting++) {
        static const char *const types[] = {"", "yes|no", "N", "X", "TEXT", "", "TEXT (repeatable)"};
        const char *type = setting->type == PROFCONV_SETTING_ENUM   ? setting->choices
                           : setting->type <= PROFCONV_SETTING_LIST ? types[setting->type]
                                                                    : "";
        fprintf(file, "  %s.%s=%s", scope, setting->name, type ? type : "");
        if (setting->default_value)
            fprintf(file, "  (default: %s)", setting->default_value);
        fprintf(file, "\n      %s\n", setting->help ? setting->help : "");
    }
}

static int is_name(const profconv_format_info *format, const char *name) {
    if (strcmp(format->name, name) == 0)
        return 1;
    for (const char *const *alias = format->aliases; alias && *alias; alias++) {
        if (strcmp(*alias, name) == 0)
            return 1;
    }
    return 0;
}

int cli_help_settings(FILE *file, const profconv_registry *registry, const char *name) {
    const profconv_setting *settings = NULL;
    const char *pass;
    int found = 0;
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        profconv_format_info format;
        char title[100];
        if (profconv_registry_format(registry, i, &format) || (name && !is_name(&format, name)))
            continue;
        found = 1;
        if (name)
            fprintf(file, "%s: %s\n", format.name, format.description ? format.description : "");
        snprintf(title, sizeof title, "Reading %s:", format.name);
        print_settings(file, title, format.name, format.reader_settings);
        snprintf(title, sizeof title, "Writing %s:", format.name);
        print_settings(file, title, format.name, format.writer_settings);
    }
    for (size_t i = 0; (pass = profconv_pass_name(i, &settings)) != NULL; i++) {
        char title[100];
        if (name && strcmp(pass, name) != 0)
            continue;
        found = 1;
        snprintf(title, sizeof title, "Between reading and writing, %s:", pass);
        print_settings(file, title, pass, settings);
    }
    return found ? CLI_OK : cli_usage_error("%s: no such command, format or pass", name);
}
