/* SPDX-License-Identifier: MIT
 *
 * From options to settings. An option is handed to each part of the conversion that declares it, and one that nobody
 * declares is an error: no option does nothing. So is a filter that only some of the inputs' readers have.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

#define FILTER_SCOPE "filter"

static int declares(const profconv_setting *settings, const char *key, size_t size) {
    for (; settings && settings->name; settings++) {
        if (strlen(settings->name) == size && memcmp(settings->name, key, size) == 0)
            return 1;
    }
    return 0;
}

static int put(profconv_options *settings, const char *scope, const char *key, const char *value) {
    profconv_error error;
    return profconv_options_put(settings, scope, key, value, &error) ? cli_fail(NULL, &error) : CLI_OK;
}

/* Nonzero when an earlier input has the same reader. */
static int repeated(const cli_parts *parts, size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (strcmp(parts->readers[i].name, parts->readers[index].name) == 0)
            return 1;
    }
    return 0;
}

/* What became of a target: how many parts took it, and a reader that could not. */
typedef struct taken {
    unsigned parts;
    const char *refused; /* format */
    int status;
} taken;

/* Filters of the library step in where a reader has none of its own, and nobody else makes up for it. Leaving inlined functions
 * out is for all who hold stacks: input can have them without a pass. */
static int filter_is_wanted(const taken *t, const cli_parts *parts, const cli_target *target) {
    if (strcmp(target->key, "inline") == 0)
        return (!parts->writer || (parts->writer->keeps & PROFCONV_FACET_STACKS)) &&
               !(parts->writer && declares(parts->writer->writer_settings, "inline", 6)) &&
               target->value && strcmp(target->value, "no") == 0;
    return t->refused || t->parts == 0;
}

static void give(taken *t, const cli_parts *parts, const cli_target *target, const char *argument,
                 profconv_options *settings) {
    const char *value = target->value ? target->value : argument;
    const profconv_setting *declared = NULL;
    const char *pass;
    size_t size = target->key ? strlen(target->key) : 0;
    switch (target->role) {
    case CLI_ROLE_READER:
        for (size_t i = 0; i < parts->reader_count && t->status == CLI_OK; i++) {
            const profconv_format_info *reader = &parts->readers[i];
            if (!declares(reader->reader_settings, target->key, size)) {
                t->refused = reader->name;
            } else {
                t->parts++;
                if (!repeated(parts, i))
                    t->status = put(settings, reader->name, target->key, value);
            }
        }
        break;
    case CLI_ROLE_PASS:
        for (size_t i = 0; parts->passes && t->status == CLI_OK && (pass = profconv_pass_name(i, &declared)); i++) {
            if (strcmp(pass, FILTER_SCOPE) != 0 && declares(declared, target->key, size)) {
                t->parts++;
                t->status = put(settings, pass, target->key, value);
            }
        }
        break;
    case CLI_ROLE_WRITER:
        if (parts->writer && declares(parts->writer->writer_settings, target->key, size)) {
            t->parts++;
            t->refused = NULL; /* the writer makes up for readers that cannot */
            t->status = put(settings, parts->writer->name, target->key, value);
        }
        break;
    case CLI_ROLE_FILTER:
        if (filter_is_wanted(t, parts, target)) {
            t->parts++;
            t->refused = NULL;
            t->status = put(settings, FILTER_SCOPE, target->key, value);
        }
        break;
    default:
        break;
    }
}

static int give_all(const cli_given *given, const cli_parts *parts, profconv_options *settings) {
    taken t = {0, NULL, CLI_OK};
    const char *name = given->option->name;
    for (size_t i = 0; i < sizeof given->option->targets / sizeof *given->option->targets && t.status == CLI_OK; i++)
        give(&t, parts, &given->option->targets[i], given->argument, settings);
    if (t.status != CLI_OK)
        return t.status;
    if (t.refused && t.parts > 0)
        return cli_usage_error("--%s: the reader of %s does not have this", name, t.refused);
    if (t.parts == 0 && parts->writer)
        return cli_usage_error("--%s: neither reading %s nor writing %s knows this", name,
                               parts->reader_count ? parts->readers[0].name : "nothing", parts->writer->name);
    if (t.parts == 0)
        return cli_usage_error("--%s: reading %s does not know this", name,
                               parts->reader_count ? parts->readers[0].name : "nothing");
    return CLI_OK;
}

static int is_scope(const profconv_format_info *format, const char *scope, size_t size) {
    if (strlen(format->name) == size && memcmp(format->name, scope, size) == 0)
        return 1;
    for (const char *const *alias = format->aliases; alias && *alias; alias++) {
        if (strlen(*alias) == size && memcmp(*alias, scope, size) == 0)
            return 1;
    }
    return 0;
}

/* -s SCOPE.KEY=VALUE: as given, once it is sure that somebody listens. */
static int set(const char *assignment, const cli_parts *parts, profconv_options *settings) {
    profconv_error error;
    if (profconv_options_set(settings, assignment, &error))
        return cli_fail(NULL, &error);
    size_t scope = strcspn(assignment, ".");
    const char *key = assignment + scope + 1;
    size_t size = strcspn(key, "=");
    const profconv_setting *declared = NULL;
    const char *pass;
    int known = 0;
    for (size_t i = 0; i < parts->reader_count; i++) {
        if (!is_scope(&parts->readers[i], assignment, scope))
            continue;
        known = 1;
        if (declares(parts->readers[i].reader_settings, key, size))
            return CLI_OK;
    }
    if (parts->writer && is_scope(parts->writer, assignment, scope)) {
        known = 1;
        if (declares(parts->writer->writer_settings, key, size))
            return CLI_OK;
    }
    for (size_t i = 0; parts->passes && (pass = profconv_pass_name(i, &declared)); i++) {
        if (strlen(pass) != scope || memcmp(pass, assignment, scope) != 0)
            continue;
        known = 1;
        if (declares(declared, key, size))
            return CLI_OK;
    }
    if (known)
        return cli_usage_error("-s %s: %.*s has no such setting here; profconv help %.*s lists them", assignment,
                               (int)scope, assignment, (int)scope, assignment);
    return cli_usage_error("-s %s: %.*s takes no part in this", assignment, (int)scope, assignment);
}

/* ---- defaults that depend on other settings ---- */

static const char *pass_that_declares(const char *key) {
    const profconv_setting *declared = NULL;
    const char *pass;
    for (size_t i = 0; (pass = profconv_pass_name(i, &declared)) != NULL; i++) {
        if (declares(declared, key, strlen(key)))
            return pass;
    }
    return NULL;
}

/* perf keeps copies of what it recorded under ~/.debug. The library reads no environment; the command may. */
static int default_cache(profconv_options *settings) {
    const char *pass = pass_that_declares("buildid-dir");
    const char *home = getenv("HOME");
    char path[4096];
    struct stat st;
    if (!pass || !home || profconv_options_has(settings, pass, "buildid-dir"))
        return CLI_OK;
    int n = snprintf(path, sizeof path, "%s/.debug", home);
    if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return CLI_OK;
    return put(settings, pass, "buildid-dir", path);
}

static int writer_flag(const profconv_format_info *writer, const profconv_options *settings, const char *key) {
    return declares(writer->writer_settings, key, strlen(key)) &&
           profconv_options_bool(settings, writer->name, writer->writer_settings, key);
}

/* First frames that show process and thread ids need these labels from the reader. */
static int default_labels(const cli_parts *parts, profconv_options *settings) {
    const profconv_format_info *writer = parts->writer;
    char labels[100];
    int pid = writer_flag(writer, settings, "pid");
    int tid = writer_flag(writer, settings, "tid");
    if (!pid && !tid)
        return CLI_OK;
    if (!pid && declares(writer->writer_settings, "pid", 3)) { /* comm-PID/TID shows both */
        int status = put(settings, writer->name, "pid", "yes");
        if (status != CLI_OK)
            return status;
    }
    snprintf(labels, sizeof labels, "%.60s%spid%s", writer->labels ? writer->labels : "thread",
             writer->labels && !writer->labels[0] ? "" : ",", tid ? ",tid" : "");
    for (size_t i = 0; i < parts->reader_count; i++) {
        const profconv_format_info *reader = &parts->readers[i];
        if (!declares(reader->reader_settings, "labels", 6) || profconv_options_has(settings, reader->name, "labels"))
            continue;
        int status = put(settings, reader->name, "labels", labels);
        if (status != CLI_OK)
            return status;
    }
    return CLI_OK;
}

/* Names alone are found much faster than files and lines. */
static int default_lines(const cli_parts *parts, profconv_options *settings) {
    const char *pass = pass_that_declares("lines");
    const profconv_format_info *writer = parts->writer;
    if (!pass || profconv_options_has(settings, pass, "lines") || (writer->keeps & PROFCONV_FACET_LINES) ||
        !declares(writer->writer_settings, "inline", 6) || !declares(writer->writer_settings, "srcline", 7) ||
        writer_flag(writer, settings, "inline") || writer_flag(writer, settings, "srcline"))
        return CLI_OK;
    return put(settings, pass, "lines", "no");
}

int cli_apply(const cli_arguments *arguments, const cli_parts *parts, profconv_options *settings) {
    int status = CLI_OK;
    for (size_t i = 0; i < arguments->given_count && status == CLI_OK; i++) {
        const cli_given *given = &arguments->given[i];
        if (given->option->id == CLI_ID_SET)
            status = set(given->argument, parts, settings);
        else if (given->option->id == CLI_ID_SETTING)
            status = give_all(given, parts, settings);
    }
    if (status == CLI_OK && parts->passes)
        status = default_cache(settings);
    if (status == CLI_OK && parts->writer)
        status = default_labels(parts, settings);
    if (status == CLI_OK && parts->writer && parts->passes)
        status = default_lines(parts, settings);
    return status;
}

void cli_conversion(const cli_arguments *arguments, profconv_limits *limits, profconv_convert_options *out) {
    memset(limits, 0, sizeof *limits);
    memset(out, 0, sizeof *out);
    limits->struct_size = sizeof *limits;
    limits->max_memory = arguments->max_memory;
    limits->on_limit = arguments->on_limit;
    out->struct_size = sizeof *out;
    out->limits = limits;
    out->from = arguments->from;
    out->threads = arguments->threads;
}
