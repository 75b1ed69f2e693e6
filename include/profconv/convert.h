/* SPDX-License-Identifier: MIT
 *
 * profconv/convert.h - the registry of formats; reading, preparing and writing profiles.
 *
 * A conversion is: read -> the passes that add a facet the target needs -> write. The passes are
 * "symbolize" (ADDRESSES -> SYMBOLS, LINES), "attribute" (BRANCHES or ADDRESSES, with the binary, or LINES -> SOURCE_COUNTS)
 * and "expand" (SOURCE_COUNTS -> STACKS, SYMBOLS). They take settings as formats do, under their own names.
 */
#ifndef PROFCONV_CONVERT_H
#define PROFCONV_CONVERT_H

#include <profconv/base.h>
#include <profconv/builder.h>
#include <profconv/io.h>
#include <profconv/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The formats that are known. Set it up on one thread; then any number may use it. */
typedef struct profconv_registry profconv_registry;

/** A registry with every built-in format. */
PROFCONV_API int profconv_registry_new(profconv_registry **out, const profconv_allocator *allocator,
                                       profconv_error *error);
PROFCONV_API void profconv_registry_free(profconv_registry *registry);

/** A format as the registry knows it. Pointers live as long as the registry; NULL where there is nothing. */
typedef struct profconv_format_info {
    const char *name;
    const char *description;
    const char *const *aliases;
    const char *const *suffixes;
    const profconv_setting *reader_settings;
    const profconv_setting *writer_settings;
    uint32_t can_read;
    uint32_t can_write;
    uint32_t produces;  /* facets of the reader */
    uint32_t needs;     /* facets of the writer */
    uint32_t keeps;
    uint32_t improves;
    uint32_t binary;
    const char *labels; /* what the writer holds by default; NULL: all */
} profconv_format_info;

PROFCONV_API size_t profconv_registry_format_count(const profconv_registry *registry);
PROFCONV_API int profconv_registry_format(const profconv_registry *registry, size_t index, profconv_format_info *out);
/** By name or alias. PROFCONV_E_NOT_FOUND. */
PROFCONV_API int profconv_registry_find(const profconv_registry *registry, const char *name,
                                        profconv_format_info *out);
/** The format to write to a file of this name: the writer with the longest matching suffix. PROFCONV_E_NOT_FOUND. */
PROFCONV_API int profconv_registry_find_suffix(const profconv_registry *registry, const char *path,
                                               profconv_format_info *out);
/** The passes and their settings: index 0, 1, …; returns NULL past the last. After the passes come "convert" and
 *  "filter", which are none: the scopes of the settings of conversion as a whole, "convert.<pass>=auto|no|yes" (yes: even where
 *  nothing is missing), and of filters (transform.h). */
PROFCONV_API const char *profconv_pass_name(size_t index, const profconv_setting **settings);

/** How a conversion runs. Zero-initialise and set struct_size; NULL pointers mean defaults. */
typedef struct profconv_convert_options {
    size_t struct_size;
    const profconv_allocator *allocator;
    const profconv_limits *limits;
    const profconv_options *settings;   /* of formats and passes */
    const char *from;                   /* format of the input; NULL: by content */
    const char *to;                     /* format of the output */
    /** Called now and then; done and total are bytes of the source (total UINT64_MAX: unknown). Nonzero cancels:
     *  PROFCONV_E_CALLBACK. */
    int (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
    void *progress_user;
    /** How many threads may be at work at a time, the caller's among them; 0 and 1: that one alone. What comes out does not depend
     *  on it. The allocator is called by all of them, callbacks of an input or output by one at a time, the progress by the
     *  caller's thread alone. */
    uint32_t threads;
    uint32_t reserved;
} profconv_convert_options;

/** Which reader would read this input; the window is left where it was. PROFCONV_E_UNKNOWN_FORMAT lists what was tried. */
PROFCONV_API int profconv_detect(const profconv_registry *registry, profconv_input *input, profconv_format_info *out,
                                 profconv_error *error);

/** How sure the reader of one format is, 0 to 100, that the input is its own; the window is left where it was. For runs of inputs
 *  that are mostly of one format: asking all readers costs more than reading a small profile. */
PROFCONV_API int profconv_probe(const profconv_registry *registry, profconv_input *input, const char *format, int *sure,
                                profconv_error *error);

/** Reads one input. `options->to`, when given, chooses the labels that are read by default. Filters of samples are applied, by
 *  the reader where it has them. */
PROFCONV_API int profconv_read(const profconv_registry *registry, profconv_input *input,
                               const profconv_convert_options *options, profconv_profile **out, profconv_error *error);

/**
 * Runs the passes so that `*profile` has the facets that `options->to` needs, and those that improve it, and applies filters of
 * frames. Takes the profile
 * over and puts the new one in its place; on failure the old one is left, with what the passes had added until then. Notes go to
 * the profile's report and to `report`. PROFCONV_E_MISSING_FACET names what is missing, what is there, and which pass
 * could add it from what.
 */
PROFCONV_API int profconv_prepare(const profconv_registry *registry, profconv_profile **profile,
                                  const profconv_convert_options *options, profconv_report *report,
                                  profconv_error *error);
/** Runs one pass by name, whether needed or not. */
PROFCONV_API int profconv_run_pass(const char *pass, profconv_profile **profile,
                                   const profconv_convert_options *options, profconv_report *report,
                                   profconv_error *error);

/** Writes a profile, which needs no preparing when it has the facets, and closes the output. `report` (may be NULL) gets
 *  what the format cannot hold. */
PROFCONV_API int profconv_write(const profconv_registry *registry, const profconv_profile *profile,
                                profconv_output *output, const profconv_convert_options *options,
                                profconv_report *report, profconv_error *error);

/** An input of a conversion and its integer weight (0 means 1). */
typedef struct profconv_convert_input {
    profconv_input *input;
    uint64_t weight;
} profconv_convert_input;

/** Read (and, with several inputs, merge) -> prepare -> write -> close. `report` gets every note of every stage. */
PROFCONV_API int profconv_convert(const profconv_registry *registry, const profconv_convert_input *inputs,
                                  size_t input_count, profconv_output *output,
                                  const profconv_convert_options *options, profconv_report *report,
                                  profconv_error *error);

/** An input of a merge. */
typedef struct profconv_merge_input {
    profconv_input *input; /* taken over and freed, unless it is borrowed */
    uint64_t weight;       /* 0 means 1 */
    const profconv_convert_options *options; /* for this input; NULL: those of the merge. Lives until `done` was called */
    uint32_t borrowed;                       /* nonzero: the input stays the caller's; it is used until the merge returns */
    uint32_t reserved;
} profconv_merge_input;

/** Where the inputs of a merge come from. All of it is called on the caller's thread. */
typedef struct profconv_merge_source {
    size_t struct_size;
    /** Opens input number `index` = 0, 1, 2, … into *next, which is all zero before; leaving it so means that there are no more.
     *  Inputs are opened a few ahead of those that are added. Nonzero: this one cannot be had, which goes to `done` in its turn. */
    int (*open)(void *user, uint64_t index, profconv_merge_input *next, profconv_error *error);
    /** Optional: nonzero when a profile that was read is to be added. */
    int (*accept)(void *user, uint64_t index, const profconv_profile *profile);
    /** Optional: what became of an input, in their order; `error` says why `status` is not 0. Returns 0 to go on, or the status to
     *  end with. Without it, the first failure ends the merge. */
    int (*done)(void *user, uint64_t index, int status, const profconv_error *error);
    void *user;
} profconv_merge_source;

/**
 * Reads inputs one after another and adds them to the builder: memory follows from the sum, not from their number. With
 * options->threads, inputs are read ahead on other threads, one more than there are threads at most; they are added in their
 * order all the same. What is read uses the builder's allocator and counts against its max_memory. When a failure ends the merge,
 * the builder holds what was added before, unless it failed itself (profconv_builder_status).
 */
PROFCONV_API int profconv_merge_inputs(profconv_builder *builder, const profconv_registry *registry,
                                       const profconv_convert_options *options, const profconv_merge_source *source,
                                       profconv_error *error);

/** Writes every table of a profile as canonical text, one row a line: for goldens and for people. */
PROFCONV_API int profconv_dump(const profconv_profile *profile, profconv_output *output, profconv_error *error);

#ifdef __cplusplus
}
#endif
#endif
