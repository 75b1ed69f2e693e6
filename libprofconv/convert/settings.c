/* SPDX-License-Identifier: MIT
 *
 * The settings of one conversion: a private copy of the caller's, so that scopes given by alias get the format's real
 * name and defaults that depend on the target can be filled in, and checked against every declaration before any input
 * is read.
 */
#include <stdio.h>
#include <string.h>

#include "libprofconv/base/options.h"
#include "libprofconv/convert/convert.h"

#define LABELS_KEY "labels"

static int is_pass_scope(const char *scope) {
    return pfc_pass_find(scope) != NULL || strcmp(scope, PFC_CONVERT_SCOPE) == 0;
}

static int unknown_scope(const profconv_registry *registry, const char *scope, const char *key, profconv_error *error) {
    char known[320] = "";
    size_t at = 0;
    for (size_t i = 0; i < registry->formats.count; i++) {
        int n = snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", registry->formats.data[i].name);
        if (n < 0 || (size_t)n >= sizeof known - at) {
            known[at] = '\0';
            break;
        }
        at += (size_t)n;
    }
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "setting %.40s.%.40s: there is no format or pass '%.40s' (formats: %s)", scope, key,
                              scope, known);
}

/* Copies each entry under the real name of its scope. */
static int copy_entries(const profconv_registry *registry, const profconv_options *from, profconv_options *to,
                        profconv_error *error) {
    const char *scope = NULL;
    const char *key = NULL;
    const char *value = NULL;
    for (size_t i = 0; pfc_options_entry(from, i, &scope, &key, &value); i++) {
        const char *name = scope;
        if (registry && !is_pass_scope(scope)) {
            const pfc_format *format = pfc_registry_lookup(registry, scope);
            if (!format)
                return unknown_scope(registry, scope, key, error);
            name = format->name;
        }
        int status = profconv_options_put(to, name, key, value, error);
        if (status != PROFCONV_OK)
            return status;
    }
    return PROFCONV_OK;
}

/* The half of a format that a conversion uses decides how its values are read; the other half's are known, too. */
static int check_format(const pfc_format *format, const profconv_options *settings, const char *to,
                        const pfc_format *target, profconv_error *error) {
    const profconv_setting *declared = to && target == format ? format->write_settings : format->read_settings;
    return profconv_options_check(settings, format->name, declared, error);
}

static int check_all(const profconv_registry *registry, const profconv_options *settings, const char *to,
                     profconv_error *error) {
    static const profconv_setting none = {NULL, 0, NULL, NULL, NULL};
    const profconv_setting *declared = NULL;
    const char *pass = NULL;
    int status = PROFCONV_OK;
    for (size_t i = 0; status == PROFCONV_OK && (pass = profconv_pass_name(i, &declared)) != NULL; i++)
        status = profconv_options_check(settings, pass, declared ? declared : &none, error);
    const pfc_format *target = to ? pfc_registry_lookup(registry, to) : NULL;
    for (size_t i = 0; registry && status == PROFCONV_OK && i < registry->formats.count; i++)
        status = check_format(&registry->formats.data[i], settings, to, target, error);
    return status;
}

int pfc_settings_resolve(const profconv_registry *registry, const profconv_convert_options *options,
                         profconv_options **out, profconv_error *error) {
    profconv_options *settings = NULL;
    *out = NULL;
    int status = profconv_options_new(&settings, options->allocator, error);
    if (status == PROFCONV_OK)
        status = copy_entries(registry, options->settings, settings, error);
    if (status == PROFCONV_OK)
        status = check_all(registry, settings, options->to, error);
    if (status != PROFCONV_OK) {
        profconv_options_free(settings);
        return status;
    }
    *out = settings;
    return PROFCONV_OK;
}

static int declares(const profconv_setting *settings, const char *name) {
    for (; settings && settings->name; settings++) {
        if (strcmp(settings->name, name) == 0)
            return 1;
    }
    return 0;
}

int pfc_settings_labels(profconv_options *settings, const pfc_format *reader, const pfc_format *writer,
                        profconv_error *error) {
    if (!declares(reader->reader.settings, LABELS_KEY) || profconv_options_has(settings, reader->name, LABELS_KEY))
        return PROFCONV_OK;
    /* A writer that was told which labels to hold gets those. */
    const char *labels = writer->writer.labels;
    if (declares(writer->writer.settings, LABELS_KEY) && profconv_options_has(settings, writer->name, LABELS_KEY))
        labels = profconv_options_get(settings, writer->name, LABELS_KEY);
    if (!labels)
        return PROFCONV_OK;
    return profconv_options_put(settings, reader->name, LABELS_KEY, labels, error);
}

int pfc_settings_passes(profconv_options *settings, const profconv_writer *writer, profconv_error *error) {
    for (const char *const *row = writer->pass_settings; row && *row; row++) {
        char scope[32];
        char key[32];
        const char *dot = strchr(*row, '.');
        const char *value = dot ? strchr(dot, '=') : NULL;
        size_t scope_size = dot ? (size_t)(dot - *row) : sizeof scope;
        size_t key_size = !dot ? sizeof key : value ? (size_t)(value - dot - 1) : strlen(dot + 1);
        if (scope_size >= sizeof scope || key_size >= sizeof key)
            return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "writer %s: '%s' is no setting of a pass", writer->name, *row);
        snprintf(scope, sizeof scope, "%.*s", (int)scope_size, *row);
        snprintf(key, sizeof key, "%.*s", (int)key_size, dot + 1);
        const char *told = value ? value + 1 : profconv_options_get(settings, writer->name, key);
        if (!told || profconv_options_has(settings, scope, key))
            continue;
        int status = profconv_options_put(settings, scope, key, told, error);
        if (status != PROFCONV_OK)
            return status;
    }
    return PROFCONV_OK;
}
