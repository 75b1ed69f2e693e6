/* SPDX-License-Identifier: MIT
 *
 * profconv/builder.h - making a profile.
 *
 * A builder interns and aggregates as it is fed: equal rows get one id, equal samples add up, so memory grows
 * with what is distinct and never with the number of calls. Errors are sticky: after the first (out of memory, a
 * limit, an id out of range) every call returns id 0 and does nothing, and profconv_builder_status tells
 * what happened; a reader may check once in a while and at its end.
 *
 * A builder is used by one thread at a time.
 */
#ifndef PROFCONV_BUILDER_H
#define PROFCONV_BUILDER_H

#include <profconv/base.h>
#include <profconv/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct profconv_builder profconv_builder;

PROFCONV_API int profconv_builder_new(profconv_builder **out, const profconv_allocator *allocator,
                                      const profconv_limits *limits, profconv_error *error);
PROFCONV_API void profconv_builder_free(profconv_builder *builder);

/**
 * Keeps function, mapping, location and sample rows as they are given, duplicates included, for readers of
 * formats whose tables are already distinct and whose order is worth keeping (pprof). Strings, stacks, labels and
 * label sets are interned all the same. Only on an empty builder; PROFCONV_E_INVALID otherwise.
 */
PROFCONV_API int profconv_builder_verbatim(profconv_builder *builder);

/** PROFCONV_OK, or the first error, copied to `error`. */
PROFCONV_API int profconv_builder_status(const profconv_builder *builder, profconv_error *error);

/** Where readers put warnings and drops; ends up in the profile. Never NULL. */
PROFCONV_API profconv_report *profconv_builder_report(profconv_builder *builder);

/** The limits in force, defaults filled in. */
PROFCONV_API const profconv_limits *profconv_builder_limits(const profconv_builder *builder);

/** The allocator in force, for what a reader holds beside the builder; never NULL. Borrowed from the builder. */
PROFCONV_API const profconv_allocator *profconv_builder_allocator(const profconv_builder *builder);

/** Bytes live in the allocator through this builder, and the highest value so far. */
PROFCONV_API void profconv_builder_memory(const profconv_builder *builder, uint64_t *live, uint64_t *peak);

/** Interns bytes. The empty string is id 0. */
PROFCONV_API profconv_id profconv_builder_string(profconv_builder *builder, const void *data, size_t size);
PROFCONV_API profconv_id profconv_builder_cstring(profconv_builder *builder, const char *text);
/** Bytes of an interned string, borrowed until the next call that can intern. */
PROFCONV_API profconv_string profconv_builder_get_string(const profconv_builder *builder, profconv_id id);

/** Interns (or, verbatim, appends) a row. Ids inside it must come from this builder. */
PROFCONV_API profconv_id profconv_builder_function(profconv_builder *builder, const profconv_function *row);
PROFCONV_API profconv_id profconv_builder_mapping(profconv_builder *builder, const profconv_mapping *row);
/** Replaces a mapping's row, for extents and build-ids that are known late. The id stays. */
PROFCONV_API void profconv_builder_mapping_replace(profconv_builder *builder, profconv_id id,
                                                   const profconv_mapping *row);
/** Copies a mapping's row. */
PROFCONV_API void profconv_builder_get_mapping(const profconv_builder *builder, profconv_id id, profconv_mapping *out);
/** `row`'s address, mapping and flags, with `lines` (innermost first; row->first_line and line_count are ignored). */
PROFCONV_API profconv_id profconv_builder_location(profconv_builder *builder, const profconv_location *row,
                                                   const profconv_line *lines, uint32_t line_count);
/** An address in a mapping, not symbolized: the fast path of recordings. */
PROFCONV_API profconv_id profconv_builder_address_location(profconv_builder *builder, profconv_id mapping,
                                                           uint64_t address, uint32_t flags);

/** The stack "`location` called from `parent`". Past limits.max_depth the parent is returned unchanged and counted. */
PROFCONV_API profconv_id profconv_builder_stack(profconv_builder *builder, profconv_id parent, profconv_id location);
/** A whole stack, leaf first. Deeper than limits.max_depth: root frames are cut, counted as "stack-truncated". */
PROFCONV_API profconv_id profconv_builder_stack_leaf_first(profconv_builder *builder, const profconv_id *locations,
                                                           size_t count);

PROFCONV_API profconv_id profconv_builder_label(profconv_builder *builder, const profconv_label *row);
/** A set, in the order given. */
PROFCONV_API profconv_id profconv_builder_label_set(profconv_builder *builder, const profconv_id *labels,
                                                    uint32_t count);

/** Appends a column; returns its index (from 0), or UINT32_MAX on error. May come after samples (filled with 0). */
PROFCONV_API uint32_t profconv_builder_sample_type(profconv_builder *builder, const profconv_sample_type *row);
PROFCONV_API void profconv_builder_sample_type_replace(profconv_builder *builder, uint32_t index,
                                                       const profconv_sample_type *row);
PROFCONV_API uint32_t profconv_builder_sample_type_count(const profconv_builder *builder);
/** Adds `values` to the columns first_type .. first_type + count - 1 of the sample (stack, label_set); sums saturate, counted. */
PROFCONV_API void profconv_builder_sample(profconv_builder *builder, profconv_id stack, profconv_id label_set,
                                          uint32_t first_type, const int64_t *values, uint32_t count);

/** Adds to the edge (from, to), the range (begin, end), the address. Location ids; sums saturate. */
PROFCONV_API void profconv_builder_branch(profconv_builder *builder, profconv_id from, profconv_id to, uint64_t count,
                                          uint64_t mispredicted, uint64_t cycles);
PROFCONV_API void profconv_builder_range(profconv_builder *builder, profconv_id begin, profconv_id end,
                                         uint64_t count);
PROFCONV_API void profconv_builder_address(profconv_builder *builder, profconv_id location, uint64_t count);

/** Adds a function's entry; the first row of a (mapping, address, name) stays. */
PROFCONV_API void profconv_builder_entry(profconv_builder *builder, const profconv_entry *row);

/** Interns a caller frame of a context. */
PROFCONV_API profconv_id profconv_builder_context(profconv_builder *builder, const profconv_context *row);
/**
 * The source row with row's (parent, context, line, discriminator, name), made if missing; total and head are
 * added (saturating), flags and attributes united, and checksum, file and timestamp set when they were 0.
 */
PROFCONV_API profconv_id profconv_builder_source(profconv_builder *builder, const profconv_source *row);
/** The body row (source, line, discriminator), made if missing; count is added, saturating. */
PROFCONV_API profconv_id profconv_builder_source_body(profconv_builder *builder, profconv_id source, uint32_t line,
                                                      uint32_t discriminator, uint64_t count);
/** The target `name` of a body row, made if missing; count is added, saturating. */
PROFCONV_API profconv_id profconv_builder_source_target(profconv_builder *builder, profconv_id body, profconv_id name,
                                                        uint64_t count);
PROFCONV_API void profconv_builder_symbol(profconv_builder *builder, profconv_id name);

/** The profile-wide facts; `facets` is computed by freeze and ignored here. */
PROFCONV_API void profconv_builder_set_info(profconv_builder *builder, const profconv_info *info);
PROFCONV_API void profconv_builder_get_info(const profconv_builder *builder, profconv_info *out);
PROFCONV_API void profconv_builder_comment(profconv_builder *builder, profconv_id text);
/** Sets the attribute `key`; an earlier value is replaced. */
PROFCONV_API void profconv_builder_attribute(profconv_builder *builder, const char *key, const void *value,
                                             size_t size);

/**
 * Makes the profile and leaves the builder empty (only profconv_builder_free is allowed then). Computes the facets, drops the
 * indexes, checks the invariants. A sticky error is returned here too. An empty profile is no error here.
 */
PROFCONV_API int profconv_builder_freeze(profconv_builder *builder, profconv_profile **out, profconv_error *error);

/**
 * The way back: takes `*profile` over without copying its tables (it becomes NULL) and returns a builder that goes on from
 * there. On failure the profile is left as it was. The rows of verbatim profiles stay as they are; what is added is interned.
 */
PROFCONV_API int profconv_builder_thaw(profconv_builder **out, profconv_profile **profile, profconv_error *error);

#ifdef __cplusplus
}
#endif
#endif
