/* SPDX-License-Identifier: MIT
 *
 * profconv/transform.h - putting profiles together.
 */
#ifndef PROFCONV_TRANSFORM_H
#define PROFCONV_TRANSFORM_H

#include <profconv/base.h>
#include <profconv/builder.h>
#include <profconv/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Adds `weight` times everything in `profile` to the builder (weight 0 means 1). Values and counts saturate.
 *
 * Mappings unite by build-id, else by file name, with kind, pid and offset between address and file offset: addresses are
 * rebased to the mapping met first. Sample types unite by name and unit (and event, where both say one). Times: the
 * earliest known; durations add up (unweighted); period: the largest; comments are united in order; other facts: the
 * first that is known. Feeding the same profiles in any order gives the same counts.
 */
PROFCONV_API int profconv_merge(profconv_builder *builder, const profconv_profile *profile, uint64_t weight,
                                profconv_error *error);

#ifdef __cplusplus
}
#endif
#endif
