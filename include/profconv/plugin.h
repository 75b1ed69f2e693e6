/* SPDX-License-Identifier: MIT
 *
 * profconv/plugin.h - for authors of formats. Not part of the umbrella header.
 *
 * A format is a reader, a writer or both, registered under one name. The library copies the structs, but
 * not what they point to, so names, settings and suffixes must live as long as the registry (static data does).
 */
#ifndef PROFCONV_PLUGIN_H
#define PROFCONV_PLUGIN_H

#include <profconv/base.h>
#include <profconv/builder.h>
#include <profconv/convert.h>
#include <profconv/io.h>
#include <profconv/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Pushes the bytes of one format into a builder. */
typedef struct profconv_reader {
    size_t struct_size;
    const char *name;                     /* "perf-data": lower case, digits, '-' */
    const char *const *aliases;           /* NULL-terminated, or NULL */
    const char *const *suffixes;          /* ".folded", NULL-terminated, or NULL; only a hint, content decides */
    const char *description;              /* one line */
    const profconv_setting *settings;     /* ends with a NULL name, or NULL; scope is `name` */
    uint32_t produces;                    /* facets it can fill */
    uint32_t reserved;
    /**
     * How sure it is, 0 (no) to 100 (a magic number), that an input starting with these bytes is its format. Pure:
     * looks only at head[0..size). `whole` is nonzero when the input ends there. NULL: never detected, only named.
     */
    int (*probe)(void *user, const uint8_t *head, size_t size, int whole);
    /**
     * Reads everything. Notes go to profconv_builder_report(builder). Usable but damaged input: what it
     * holds, with a warning, and PROFCONV_OK. Settings were checked; look them up with profconv_options_*
     * under the scope `name`. Runs on the caller's thread; must not keep any of the pointers.
     */
    int (*read)(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                profconv_error *error);
    void *user;
} profconv_reader;

/** Writes a frozen profile. */
typedef struct profconv_writer {
    size_t struct_size;
    const char *name;
    const char *const *aliases;
    const char *const *suffixes;          /* choose the format from an output's name, longest match wins */
    const char *description;
    const profconv_setting *settings;
    uint32_t needs;                       /* facets without which it cannot work */
    uint32_t keeps;                       /* facets it can hold; present & ~keeps is reported as lost */
    uint32_t improves;                    /* facets it can do without but wants: passes add them when they can */
    uint32_t binary;                      /* nonzero: not for a terminal */
    /** Comma-separated label keys that the output holds by default ("" none). Readers of recordings make only these,
     *  unless told otherwise; keys with "::", as pprof::base, are none of theirs. NULL: all. */
    const char *labels;
    /** Writes everything, deterministically. What could not be written goes to `report` (may be NULL). An output without
     *  content is PROFCONV_E_EMPTY with the cause, never an empty file. */
    int (*write)(void *user, const profconv_profile *profile, profconv_output *output, const profconv_options *options,
                 profconv_report *report, profconv_error *error);
    void *user;
    /**
     * What passes are told when this is the target, NULL-terminated, or NULL. "attribute.flavor=gcc": unless the user set it
     * otherwise. "attribute.compat": the writer's own setting `compat` is meant for that pass and handed to it.
     */
    const char *const *pass_settings;
} profconv_writer;

/** Adds a format's reader or writer. PROFCONV_E_INVALID when the name or an alias is taken by another of its kind. */
PROFCONV_API int profconv_registry_add_reader(profconv_registry *registry, const profconv_reader *reader,
                                              profconv_error *error);
PROFCONV_API int profconv_registry_add_writer(profconv_registry *registry, const profconv_writer *writer,
                                              profconv_error *error);

#ifdef __cplusplus
}
#endif
#endif
