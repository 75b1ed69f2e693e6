/* SPDX-License-Identifier: MIT
 *
 * The registry: which formats there are, built in or added at run time, and what a reader and a writer of one name say
 * together. A name or alias stands for one format only, so a look-up never depends on the order of registration.
 */
#include <string.h>

#include "libprofconv/base/struct.h"
#include "libprofconv/convert/convert.h"

/* The built-in list, once as declarations and once as rows. */
#define FORMAT(halves) halves
#define NO_READER
#define NO_WRITER
#define READER(name) extern const profconv_reader pfc_##name##_reader;
#define WRITER(name) extern const profconv_writer pfc_##name##_writer;
#include "libprofconv/convert/builtin.h"
#undef READER
#undef WRITER

typedef struct pfc_builtin {
    const profconv_reader *reader;
    const profconv_writer *writer;
} pfc_builtin;

#define READER(name) {&pfc_##name##_reader, NULL},
#define WRITER(name) {NULL, &pfc_##name##_writer},
static const pfc_builtin builtins[] = {
#include "libprofconv/convert/builtin.h"
};
#undef READER
#undef WRITER
#undef FORMAT

static int in_list(const char *const *list, const char *name) {
    for (; list && *list; list++) {
        if (strcmp(*list, name) == 0)
            return 1;
    }
    return 0;
}

const pfc_format *pfc_registry_lookup(const profconv_registry *registry, const char *name) {
    for (size_t i = 0; registry && name && i < registry->formats.count; i++) {
        const pfc_format *format = &registry->formats.data[i];
        if (strcmp(format->name, name) == 0 || in_list(format->aliases, name))
            return format;
    }
    return NULL;
}

int pfc_registry_need(const profconv_registry *registry, const char *name, int write, const pfc_format **out,
                      profconv_error *error) {
    const pfc_format *format = pfc_registry_lookup(registry, name);
    *out = NULL;
    if (!format)
        return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0, "there is no format '%s'", name);
    if (write ? !format->writer.write : !format->reader.read)
        return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0, "%s can be %s, but not %s",
                                  format->name, write ? "read" : "written", write ? "written" : "read");
    *out = format;
    return PROFCONV_OK;
}

/* ---- merged lists ---- */

static size_t list_length(const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* The names of a, then those of b that a lacks. */
static int merge_names(profconv_registry *registry, const char *const *a, const char *const *b,
                       const char *const **out) {
    size_t n = list_length(a);
    size_t room = n + list_length(b) + 1;
    *out = NULL;
    if (room == 1)
        return PROFCONV_OK;
    const char **list = pfc_arena_alloc(&registry->lists, room * sizeof *list, sizeof *list);
    if (!list)
        return PROFCONV_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        list[i] = a[i];
    for (; b && *b; b++) {
        if (!in_list(a, *b))
            list[n++] = *b;
    }
    list[n] = NULL;
    *out = list;
    return PROFCONV_OK;
}

static size_t settings_length(const profconv_setting *settings) {
    size_t n = 0;
    while (settings && settings[n].name)
        n++;
    return n;
}

static const profconv_setting *find_setting(const profconv_setting *settings, const char *name) {
    for (; settings && settings->name; settings++) {
        if (strcmp(settings->name, name) == 0)
            return settings;
    }
    return NULL;
}

static int merge_settings(profconv_registry *registry, const profconv_setting *a, const profconv_setting *b,
                          const profconv_setting **out) {
    size_t n = settings_length(a);
    size_t room = n + settings_length(b) + 1;
    profconv_setting *list = pfc_arena_alloc(&registry->lists, room * sizeof *list, sizeof(void *));
    *out = NULL;
    if (!list)
        return PROFCONV_E_NOMEM;
    memset(list, 0, room * sizeof *list);
    if (n)
        memcpy(list, a, n * sizeof *list);
    for (; b && b->name; b++) {
        if (!find_setting(a, b->name))
            list[n++] = *b;
    }
    *out = list;
    return PROFCONV_OK;
}

/* ---- adding ---- */

/* A name is a scope of settings, "name.key=value", so it has no '.'; an alias may ("perf.data"). */
static int valid_word(const char *word, const char *marks) {
    if (!word || !*word || strlen(word) >= sizeof((profconv_error *)0)->format)
        return 0;
    for (const char *p = word; *p; p++) {
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || strchr(marks, *p)))
            return 0;
    }
    return 1;
}

/* Whether `word` may name format `name`: well formed, no scope of a pass, and not another format's. */
static int check_word(const profconv_registry *registry, const char *name, const char *word, const char *kind,
                      profconv_error *error) {
    const char *marks = word == name ? "-" : "-_.";
    if (!valid_word(word, marks))
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "a %s's name or alias is '%.40s', but 1 to 31 of a-z, 0-9 and %s are expected", kind,
                                  word ? word : "", marks);
    if (pfc_pass_find(word) || strcmp(word, PFC_CONVERT_SCOPE) == 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "%s '%s': the name '%s' is that of a step of conversion", kind, name, word);
    const pfc_format *other = pfc_registry_lookup(registry, word);
    if (other && strcmp(other->name, name) != 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "%s '%s': the name '%s' is taken by the format '%s'", kind, name, word, other->name);
    return PROFCONV_OK;
}

static int check_words(const profconv_registry *registry, const char *name, const char *const *aliases,
                       const char *kind, profconv_error *error) {
    int status = check_word(registry, name, name, kind, error);
    for (; status == PROFCONV_OK && aliases && *aliases; aliases++)
        status = check_word(registry, name, *aliases, kind, error);
    return status;
}

/* The row to change for `name`: a copy of the present one, or a new one. */
static pfc_format start_row(const profconv_registry *registry, const char *name, size_t *index) {
    pfc_format row;
    memset(&row, 0, sizeof row);
    row.name = name;
    for (*index = 0; *index < registry->formats.count; ++*index) {
        if (strcmp(registry->formats.data[*index].name, name) == 0)
            return registry->formats.data[*index];
    }
    return row;
}

/* Makes the merged lists and puts the row in its place, or leaves the registry as it was. */
static int finish_row(profconv_registry *registry, pfc_format *row, size_t index, profconv_error *error) {
    const profconv_reader *reader = &row->reader;
    const profconv_writer *writer = &row->writer;
    int status = merge_names(registry, reader->aliases, writer->aliases, &row->aliases);
    if (status == PROFCONV_OK)
        status = merge_names(registry, reader->suffixes, writer->suffixes, &row->suffixes);
    if (status == PROFCONV_OK)
        status = merge_settings(registry, reader->settings, writer->settings, &row->read_settings);
    if (status == PROFCONV_OK)
        status = merge_settings(registry, writer->settings, reader->settings, &row->write_settings);
    if (status != PROFCONV_OK)
        return pfc_mem_error(&registry->mem, error);
    if (index < registry->formats.count) {
        registry->formats.data[index] = *row;
        return PROFCONV_OK;
    }
    if (PFC_VEC_PUSH(&registry->mem, &registry->formats, *row) != 0)
        return pfc_mem_error(&registry->mem, error);
    return PROFCONV_OK;
}

int profconv_registry_add_reader(profconv_registry *registry, const profconv_reader *reader, profconv_error *error) {
    profconv_reader copy;
    int status = pfc_struct_copy(&copy, sizeof copy, reader, "profconv_reader", error);
    if (status == PROFCONV_OK && !copy.read)
        status =
            profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "a reader without a read function");
    if (status == PROFCONV_OK)
        status = check_words(registry, copy.name, copy.aliases, "reader", error);
    if (status != PROFCONV_OK)
        return status;
    size_t index = 0;
    pfc_format row = start_row(registry, copy.name, &index);
    if (row.reader.read)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "there is a reader '%s' already",
                                  copy.name);
    row.reader = copy;
    return finish_row(registry, &row, index, error);
}

int profconv_registry_add_writer(profconv_registry *registry, const profconv_writer *writer, profconv_error *error) {
    profconv_writer copy;
    int status = pfc_struct_copy(&copy, sizeof copy, writer, "profconv_writer", error);
    if (status == PROFCONV_OK && !copy.write)
        status =
            profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "a writer without a write function");
    if (status == PROFCONV_OK)
        status = check_words(registry, copy.name, copy.aliases, "writer", error);
    if (status != PROFCONV_OK)
        return status;
    size_t index = 0;
    pfc_format row = start_row(registry, copy.name, &index);
    if (row.writer.write)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "there is a writer '%s' already",
                                  copy.name);
    row.writer = copy;
    return finish_row(registry, &row, index, error);
}

int profconv_registry_new(profconv_registry **out, const profconv_allocator *allocator, profconv_error *error) {
    *out = NULL;
    pfc_mem mem;
    pfc_mem_init(&mem, allocator, 0);
    profconv_registry *registry = pfc_alloc_zero(&mem, sizeof *registry);
    if (!registry)
        return pfc_mem_error(&mem, error);
    registry->mem = mem;
    pfc_arena_init(&registry->lists, &registry->mem);
    int status = PROFCONV_OK;
    for (size_t i = 0; status == PROFCONV_OK && i < sizeof builtins / sizeof *builtins; i++) {
        if (builtins[i].reader)
            status = profconv_registry_add_reader(registry, builtins[i].reader, error);
        else
            status = profconv_registry_add_writer(registry, builtins[i].writer, error);
    }
    if (status != PROFCONV_OK) {
        profconv_registry_free(registry);
        return status;
    }
    *out = registry;
    return PROFCONV_OK;
}

void profconv_registry_free(profconv_registry *registry) {
    if (!registry)
        return;
    PFC_VEC_FREE(&registry->mem, &registry->formats);
    pfc_arena_free(&registry->lists);
    pfc_mem mem = registry->mem;
    pfc_free(&mem, registry, sizeof *registry);
}

/* ---- looking ---- */

void pfc_format_describe(const pfc_format *format, profconv_format_info *out) {
    const profconv_reader *reader = &format->reader;
    const profconv_writer *writer = &format->writer;
    memset(out, 0, sizeof *out);
    out->name = format->name;
    out->description = reader->description ? reader->description : writer->description;
    out->aliases = format->aliases;
    out->suffixes = format->suffixes;
    out->reader_settings = reader->settings;
    out->writer_settings = writer->settings;
    out->can_read = reader->read != NULL;
    out->can_write = writer->write != NULL;
    out->produces = reader->produces;
    out->needs = writer->needs;
    out->keeps = writer->keeps;
    out->improves = writer->improves;
    out->binary = writer->binary;
    out->labels = writer->labels;
}

size_t profconv_registry_format_count(const profconv_registry *registry) { return registry->formats.count; }

int profconv_registry_format(const profconv_registry *registry, size_t index, profconv_format_info *out) {
    memset(out, 0, sizeof *out);
    if (index >= registry->formats.count)
        return PROFCONV_E_INVALID;
    pfc_format_describe(&registry->formats.data[index], out);
    return PROFCONV_OK;
}

int profconv_registry_find(const profconv_registry *registry, const char *name, profconv_format_info *out) {
    const pfc_format *format = pfc_registry_lookup(registry, name);
    memset(out, 0, sizeof *out);
    if (!format)
        return PROFCONV_E_NOT_FOUND;
    pfc_format_describe(format, out);
    return PROFCONV_OK;
}

int profconv_registry_find_suffix(const profconv_registry *registry, const char *path, profconv_format_info *out) {
    size_t best = 0;
    size_t length = strlen(path);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < registry->formats.count; i++) {
        const pfc_format *format = &registry->formats.data[i];
        if (!format->writer.write)
            continue;
        for (const char *const *suffix = format->writer.suffixes; suffix && *suffix; suffix++) {
            size_t n = strlen(*suffix);
            if (n > best && n <= length && memcmp(path + length - n, *suffix, n) == 0) {
                best = n;
                pfc_format_describe(format, out);
            }
        }
    }
    return best ? PROFCONV_OK : PROFCONV_E_NOT_FOUND;
}
