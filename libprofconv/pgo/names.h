/* SPDX-License-Identifier: MIT
 *
 * Suffixes that compilers put on copies of a function, and which of them a profile leaves out so that counts of all
 * copies meet under one name.
 */
#ifndef PFC_PGO_NAMES_H
#define PFC_PGO_NAMES_H

#include <stddef.h>

typedef enum pfc_suffix_policy {
    PFC_SUFFIX_SELECTED = 0, /* .cold, .llvm.X, .__part.X */
    PFC_SUFFIX_ALL,          /* from the first '.', unless the name starts with one */
    PFC_SUFFIX_NONE
} pfc_suffix_policy;

/* Writes `name` without its suffixes to `out` (room for `size` bytes; not terminated) and returns the length. */
size_t pfc_strip_suffixes(pfc_suffix_policy policy, const char *name, size_t size, char *out);

/* Nonzero for a part that was split off a function (.cold, .__part.N): what enters it is no call. */
int pfc_is_split_part(const char *name);

#endif
