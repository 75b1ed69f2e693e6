/* SPDX-License-Identifier: MIT
 *
 * profconv completion bash|zsh|fish: a script that completes the command line, from the tables of commands and options, the
 * registry and the declared settings. The build runs it and installs what it prints; nothing of it runs the command again.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What can stand as an option's argument. */
typedef enum kind { ANYTHING, FILES, DIRECTORIES, WORDS } kind;

static const struct {
    const char *option;
    const char *words;
} own_choices[] = {{"by", "function line file mapping"}, {"mode", "raw per-second per-work"}};

static const char *choices(const profconv_setting *settings, const char *key) {
    for (; settings && settings->name; settings++) {
        if (strcmp(settings->name, key) != 0)
            continue;
        return settings->type == PROFCONV_SETTING_ENUM   ? settings->choices
               : settings->type == PROFCONV_SETTING_BOOL ? "yes|no"
                                                         : NULL;
    }
    return NULL;
}

/* The choices "a|b" of the setting that an option stands for, or NULL. */
static const char *target_choices(const profconv_registry *registry, const cli_target *target) {
    const profconv_setting *settings = NULL;
    const char *found = NULL;
    const char *pass;
    if (target->role == CLI_ROLE_NONE || target->value)
        return NULL;
    for (size_t i = 0; !found && (pass = profconv_pass_name(i, &settings)) != NULL; i++) {
        if (target->role == (strcmp(pass, "filter") == 0 ? CLI_ROLE_FILTER : CLI_ROLE_PASS))
            found = choices(settings, target->key);
    }
    for (size_t i = 0; !found && i < profconv_registry_format_count(registry); i++) {
        profconv_format_info format;
        if (profconv_registry_format(registry, i, &format) != PROFCONV_OK)
            continue;
        if (target->role == CLI_ROLE_READER)
            found = choices(format.reader_settings, target->key);
        if (target->role == CLI_ROLE_WRITER)
            found = choices(format.writer_settings, target->key);
    }
    return found;
}

static void put_choices(FILE *out, const char *text) {
    for (; *text; text++)
        fputc(*text == '|' ? ' ' : *text, out);
}

static void put_formats(FILE *out, const profconv_registry *registry, int read, int write) {
    const char *between = "";
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        profconv_format_info format;
        if (profconv_registry_format(registry, i, &format) != PROFCONV_OK)
            continue;
        if ((read && format.can_read) || (write && format.can_write)) {
            fprintf(out, "%s%s", between, format.name);
            between = " ";
        }
    }
}

/* Calls visit for every setting of every scope. One that the reader and the writer of a format share comes once. */
static void each_setting(const profconv_registry *registry, FILE *out,
                         void (*visit)(FILE *, const char *scope, const profconv_setting *)) {
    const profconv_setting *settings = NULL;
    const char *pass;
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        profconv_format_info format;
        if (profconv_registry_format(registry, i, &format) != PROFCONV_OK)
            continue;
        for (const profconv_setting *s = format.reader_settings; s && s->name; s++)
            visit(out, format.name, s);
        for (const profconv_setting *s = format.writer_settings; s && s->name; s++) {
            const profconv_setting *other = format.reader_settings;
            while (other && other->name && strcmp(other->name, s->name) != 0)
                other++;
            if (!other || !other->name)
                visit(out, format.name, s);
        }
    }
    for (size_t i = 0; (pass = profconv_pass_name(i, &settings)) != NULL; i++) {
        for (const profconv_setting *s = settings; s && s->name; s++)
            visit(out, pass, s);
    }
}

static void put_assignment(FILE *out, const char *scope, const profconv_setting *setting) {
    fprintf(out, "%s.%s= ", scope, setting->name);
}

/* Writes the words that an option takes; for other kinds nothing. */
static kind put_argument(FILE *out, const profconv_registry *registry, const cli_option *option) {
    if (option->id == CLI_ID_FROM || option->id == CLI_ID_TO) {
        put_formats(out, registry, option->id == CLI_ID_FROM, option->id == CLI_ID_TO);
        return WORDS;
    }
    if (option->id == CLI_ID_SET) {
        each_setting(registry, out, put_assignment);
        return WORDS;
    }
    if (strcmp(option->argument, "FILE") == 0)
        return FILES;
    if (strcmp(option->argument, "DIR") == 0)
        return DIRECTORIES;
    if (strcmp(option->argument, "CONSUMER") == 0) {
        for (size_t i = 0; profconv_check_consumer(i); i++)
            fprintf(out, "%s%s", i ? " " : "", profconv_check_consumer(i));
        return WORDS;
    }
    for (size_t i = 0; option->id == CLI_ID_ARGUMENT && i < sizeof own_choices / sizeof own_choices[0]; i++) {
        if (strcmp(option->name, own_choices[i].option) == 0) {
            fputs(own_choices[i].words, out);
            return WORDS;
        }
    }
    for (size_t i = 0; option->id == CLI_ID_SETTING && i < sizeof option->targets / sizeof option->targets[0]; i++) {
        const char *words = target_choices(registry, &option->targets[i]);
        if (words) {
            put_choices(out, words);
            return WORDS;
        }
    }
    return ANYTHING;
}

/* What profconv help explains, besides commands. */
static void put_topics(FILE *out, const profconv_registry *registry) {
    const profconv_setting *settings;
    const char *pass;
    put_formats(out, registry, 1, 1);
    for (size_t i = 0; (pass = profconv_pass_name(i, &settings)) != NULL; i++)
        fprintf(out, " %s", pass);
}

/* Text inside single quotes; zsh's descriptions want more escapes. */
static void put_quoted(FILE *out, const char *text, int shell_is_zsh) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (shell_is_zsh && strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

/* Calls visit for every option of a command. */
typedef void (*option_visit)(FILE *out, const profconv_registry *registry, const cli_command *command,
                             const cli_option *option);

static void each_option(FILE *out, const profconv_registry *registry, const cli_command *command, option_visit visit) {
    for (const cli_group *group = cli_groups; group->title; group++) {
        for (const cli_option *option = group->options; option->name; option++) {
            if ((option->commands & command->bit) && (option->help || option->id != CLI_ID_ARGUMENT))
                visit(out, registry, command, option);
        }
    }
}

static const cli_command *next_command(const cli_command *command) {
    command = command ? command + 1 : cli_commands;
    return command->name ? command : NULL;
}

/* ---- bash ---- */

static void bash_name(FILE *out, const profconv_registry *registry, const cli_command *command, const cli_option *option) {
    (void)registry;
    (void)command;
    fprintf(out, "--%s%s ", option->name, option->argument ? "=" : "");
    if (option->letter)
        fprintf(out, "-%c ", option->letter);
}

static void bash_argument(FILE *out, const profconv_registry *registry, const cli_command *command,
                          const cli_option *option) {
    if (!option->argument)
        return;
    fprintf(out, "    %s,--%s", command->name, option->name);
    if (option->letter)
        fprintf(out, " | %s,-%c", command->name, option->letter);
    fputs(") words='", out);
    kind what = put_argument(out, registry, option);
    fprintf(out, "' what=%s ;;\n", what == WORDS ? "words" : what == DIRECTORIES ? "directories" : "files");
}

static void bash_value(FILE *out, const char *scope, const profconv_setting *setting) {
    const char *words = setting->type == PROFCONV_SETTING_ENUM   ? setting->choices
                        : setting->type == PROFCONV_SETTING_BOOL ? "yes|no"
                                                                 : NULL;
    if (!words)
        return;
    fprintf(out, "    *,%s.%s) words='", scope, setting->name);
    put_choices(out, words);
    fputs("' what=words ;;\n", out);
}

static void bash(FILE *out, const profconv_registry *registry) {
    fputs("# bash completion of profconv, made by 'profconv completion bash'\n"
          "_profconv() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words='' what=''\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;)
        fprintf(out, "%s ", command->name);
    fputs("--help --version' -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    # bash cuts --to=x and pprof.gzip=x at '='\n"
          "    if [ \"$cur\" = = ]; then\n"
          "        cur=''\n"
          "    elif [ \"$prev\" = = ]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case $command,$prev in\n",
          out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;)
        each_option(out, registry, command, bash_argument);
    each_setting(registry, out, bash_value);
    fputs("    esac\n"
          "    if [ -z \"$what\" ]; then\n"
          "        case $command,$cur in\n",
          out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;) {
        fprintf(out, "        %s,-*) what=words words='", command->name);
        each_option(out, registry, command, bash_name);
        fputs("' ;;\n", out);
    }
    fputs("        help,*) what=words words='", out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;)
        fprintf(out, "%s ", command->name);
    put_topics(out, registry);
    fputs("' ;;\n"
          "        completion,*) what=words words='bash zsh fish' ;;\n"
          "        esac\n"
          "    fi\n"
          "    case $what in\n"
          "    words)\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "        case ${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
          "        ;;\n"
          "    directories) compopt -o dirnames +o default 2>/dev/null ;;\n"
          "    esac\n"
          "}\n"
          "complete -o default -F _profconv profconv\n",
          out);
}

/* ---- zsh ---- */

static void zsh_option(FILE *out, const profconv_registry *registry, const cli_command *command, const cli_option *option) {
    static const char *const actions[] = {" ", "_files", "_files -/", ""};
    (void)command;
    fputs("            '*'", out);
    if (option->letter)
        fprintf(out, "{-%c%s,--%s%s}", option->letter, option->argument ? "+" : "", option->name,
                option->argument ? "=" : "");
    else
        fprintf(out, "--%s%s", option->name, option->argument ? "=" : "");
    fputs("'[", out);
    put_quoted(out, option->help ? option->help : "", 1);
    fputs("]", out);
    if (option->argument) {
        fputs(":", out);
        put_quoted(out, option->argument, 1);
        fputs(":", out);
        char *words = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&words, &size);
        kind what = ANYTHING;
        if (memory) {
            what = put_argument(memory, registry, option);
            fclose(memory);
        }
        if (what == WORDS)
            fprintf(out, option->id == CLI_ID_SET ? "{compadd -S \"\" -- %s}" : "(%s)", words ? words : "");
        else
            fputs(actions[what], out);
        free(words);
    }
    fputs("' \\\n", out);
}

static void zsh(FILE *out, const profconv_registry *registry) {
    fputs("#compdef profconv\n"
          "# zsh completion of profconv, made by 'profconv completion zsh'\n"
          "_profconv() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;) {
        fprintf(out, "        '%s:", command->name);
        put_quoted(out, command->help, 1);
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $command in\n",
          out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;) {
        fprintf(out, "    %s)\n        _arguments -s -S \\\n", command->name);
        each_option(out, registry, command, zsh_option);
        if (command->bit == CLI_HELP) {
            fputs("            '1:topic:(", out);
            for (const cli_command *c = NULL; (c = next_command(c)) != NULL;)
                fprintf(out, "%s ", c->name);
            put_topics(out, registry);
            fputs(")'\n", out);
        } else if (command->bit == CLI_COMPLETION) {
            fputs("            '1:shell:(bash zsh fish)'\n", out);
        } else {
            fputs("            '*:input:_files'\n", out);
        }
        fputs("        ;;\n", out);
    }
    fputs("    esac\n"
          "}\n"
          "_profconv \"$@\"\n",
          out);
}

/* ---- fish ---- */

static void fish_option(FILE *out, const profconv_registry *registry, const cli_command *command, const cli_option *option) {
    fprintf(out, "complete -c profconv -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (option->argument) {
        char *words = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&words, &size);
        kind what = ANYTHING;
        if (memory) {
            what = put_argument(memory, registry, option);
            fclose(memory);
        }
        if (what == WORDS)
            fprintf(out, " -x -a '%s'", words ? words : "");
        else
            fputs(what == FILES ? " -r -F" : what == DIRECTORIES ? " -x -a '(__fish_complete_directories)'" : " -x", out);
        free(words);
    }
    if (option->help) {
        fputs(" -d '", out);
        put_quoted(out, option->help, 0);
        fputs("'", out);
    }
    fputs("\n", out);
}

static void fish(FILE *out, const profconv_registry *registry) {
    fputs("# fish completion of profconv, made by 'profconv completion fish'\n", out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;) {
        fprintf(out, "complete -c profconv -n __fish_use_subcommand -f -a %s -d '", command->name);
        put_quoted(out, command->help, 0);
        fputs("'\n", out);
        each_option(out, registry, command, fish_option);
    }
    fputs("complete -c profconv -n '__fish_seen_subcommand_from help' -f -a '", out);
    for (const cli_command *command = NULL; (command = next_command(command)) != NULL;)
        fprintf(out, "%s ", command->name);
    put_topics(out, registry);
    fputs("'\ncomplete -c profconv -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n", out);
}

int cli_completion(const cli_arguments *arguments) {
    static const struct {
        const char *name;
        void (*print)(FILE *, const profconv_registry *);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; arguments->input_count == 1 && i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(arguments->inputs[0], shells[i].name) != 0)
            continue;
        profconv_registry *registry = cli_registry();
        if (!registry)
            return CLI_FAILED;
        shells[i].print(stdout, registry);
        profconv_registry_free(registry);
        return cli_flush();
    }
    return cli_usage_error("completion is for one of bash, zsh and fish");
}
