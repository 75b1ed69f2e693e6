/* SPDX-License-Identifier: MIT
 *
 * profconv/check.h - whether a profile will work for a compiler, and what it lacks.
 */
#ifndef PROFCONV_CHECK_H
#define PROFCONV_CHECK_H

#include <profconv/base.h>
#include <profconv/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The consumers that profconv_check knows: index 0, 1, …; NULL past the last. "go-pgo", "llvm", "gcc". */
PROFCONV_API const char *profconv_check_consumer(size_t index);

/**
 * Looks a profile over for one consumer. PROFCONV_OK: it will work. PROFCONV_E_MISSING_FACET: it will not, and `error`
 * tells the first reason. PROFCONV_E_NOT_FOUND: no such consumer.
 *
 * `report` (may be NULL) gets every finding with its count: LOST notes are what the consumer cannot do without, WARNING
 * notes what makes its result worse or is at risk on the way to it, INFO notes what is there. For "go-pgo" the profile
 * must have been symbolized; for "llvm" and "gcc" the binary is not needed.
 */
PROFCONV_API int profconv_check(const profconv_profile *profile, const char *consumer, profconv_report *report,
                                profconv_error *error);

#ifdef __cplusplus
}
#endif
#endif
