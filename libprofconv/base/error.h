/* SPDX-License-Identifier: MIT
 *
 * Errors of system calls, and one-line messages.
 */
#ifndef PFC_BASE_ERROR_H
#define PFC_BASE_ERROR_H

#include <profconv/base.h>
#include <stdarg.h>

/* English text of an errno value, never translated; `scratch` is used for values without a text. */
const char *pfc_errno_text(int system_errno, char scratch[40]);

/* As profconv_error_set, with `: <text of errno>` at the end of the message and system_errno set. */
int pfc_error_system(profconv_error *error, int status, int system_errno, uint64_t offset, const char *format, ...)
    PROFCONV_PRINTF(5, 6);

/* Formats into out[size] as one line: control bytes become '?', a multi-byte character cut at the end is dropped. */
void pfc_format_line(char *out, size_t size, const char *format, va_list arguments);

#endif
