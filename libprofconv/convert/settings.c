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

#include <profconv/transform.h>

#define LABELS_KEY "labels"

static int is_pass_scope(const char *scope) {
    return pfc_pass_find(scope) != NULL || strcmp(scope, PFC_CONVERT_SCOPE) == 0 ||
           strcmp(scope, PFC_FILTER_SCOPE) == 0;
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

/* Keys with "::" are made by comparing, not by readers. */
static int put_labels(profconv_options *settings, const char *scope, const char *labels, profconv_error *error) {
    char made[200];
    size_t at = 0;
    if (!strstr(labels, "::"))
        return profconv_options_put(settings, scope, LABELS_KEY, labels, error);
    made[0] = '\0';
    for (size_t size; *labels; labels += size + (labels[size] == ',')) {
        char key[64];
        size = strcspn(labels, ",");
        if (size >= sizeof key || at + size + 2 > sizeof made)
            continue;
        memcpy(key, labels, size);
        key[size] = '\0';
        if (!strstr(key, "::"))
            at += (size_t)snprintf(made + at, sizeof made - at, "%s%s", at ? "," : "", key);
    }
    return profconv_options_put(settings, scope, LABELS_KEY, made, error);
}

int pfc_settings_labels(profconv_options *settings, const pfc_format *reader, const pfc_format *writer,
                        profconv_error *error) {
    if (!declares(reader->reader.settings, LABELS_KEY) || profconv_options_has(settings, reader->name, LABELS_KEY))
        return PROFCONV_OK;
    /* A writer that was told which labels to hold gets those. */
    const char *labels = writer->writer.labels;
    if (declares(writer->writer.settings, LABELS_KEY) && profconv_options_has(settings, writer->name, LABELS_KEY))
        labels = profconv_options_get(settings, writer->name, LABELS_KEY);
    return labels ? put_labels(settings, reader->name, labels, error) : PROFCONV_OK;
}

/* Labels that readers of recordings can make: a filter that looks at one needs it. */
static int add_labels(profconv_options *settings, const pfc_format *reader, const char *keys, profconv_error *error) {
    static const char *const known[] = {"pid", "tid", "thread", "comm", "cpu", "timestamp", "cgroup"};
    const char *now = profconv_options_string(settings, reader->name, reader->reader.settings, LABELS_KEY);
    char labels[200];
    size_t size = strcspn(keys, ",=");
    for (;; keys += size + 1, size = strcspn(keys, ",=")) {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            const char *at = now ? strstr(now, known[i]) : NULL;
            size_t end = strlen(known[i]);
            if (size != end || memcmp(known[i], keys, size) != 0)
                continue;
            if (at && (at == now || at[-1] == ',') && (at[end] == '\0' || at[end] == ','))
                continue; /* it is there */
            int n = snprintf(labels, sizeof labels, "%s%s%s", now ? now : "", now && *now ? "," : "", known[i]);
            if (n < 0 || (size_t)n >= sizeof labels)
                return PROFCONV_OK;
            int status = profconv_options_put(settings, reader->name, LABELS_KEY, labels, error);
            if (status != PROFCONV_OK)
                return status;
            now = profconv_options_string(settings, reader->name, reader->reader.settings, LABELS_KEY);
        }
        if (keys[size] != ',')
            return PROFCONV_OK;
    }
}

/* Every value of filter.KEY as `scope`.KEY. */
static int copy_values(const profconv_options *from, profconv_options *to, const char *scope, const char *key,
                       profconv_error *error) {
    const char *value;
    int status = PROFCONV_OK;
    for (size_t i = 0; status == PROFCONV_OK && (value = profconv_options_item(from, PFC_FILTER_SCOPE, key, i)); i++)
        status = profconv_options_put(to, scope, key, value, error);
    return status;
}

int pfc_settings_filters(profconv_options *settings, const pfc_format *reader, const profconv_allocator *allocator,
                         profconv_options **out, profconv_error *error) {
    static const char *const on_labels[] = {"label", "tagfocus", "tagignore", "tagroot", "tagleaf"};
    static const char *const on_samples[] = {"event", "pid", "tid", "comm", "cpu", "time", "label", "tagfocus", "tagignore"};
    const char *value;
    *out = NULL;
    if (!profconv_filter_wanted(settings, PROFCONV_FILTER_ALL))
        return PROFCONV_OK;
    int status = profconv_options_new(out, allocator, error);
    for (size_t i = 0; status == PROFCONV_OK && i < sizeof on_samples / sizeof *on_samples; i++) {
        const char *key = on_samples[i];
        if (!declares(reader->reader.settings, key))
            status = copy_values(settings, *out, PFC_FILTER_SCOPE, key, error);
        else if (!profconv_options_has(settings, reader->name, key))
            status = copy_values(settings, settings, reader->name, key, error);
    }
    for (size_t i = 0; declares(reader->reader.settings, LABELS_KEY) && i < sizeof on_labels / sizeof *on_labels; i++) {
        for (size_t k = 0; status == PROFCONV_OK &&
                           (value = profconv_options_item(settings, PFC_FILTER_SCOPE, on_labels[i], k)) != NULL;
             k++)
            status = add_labels(settings, reader, value, error);
    }
    if (status != PROFCONV_OK) {
        profconv_options_free(*out);
        *out = NULL;
    }
    return status;
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
