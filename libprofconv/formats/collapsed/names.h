/* SPDX-License-Identifier: MIT
 *
 * How names become the text of a frame in a collapsed stack.
 */
#ifndef PFC_COLLAPSED_NAMES_H
#define PFC_COLLAPSED_NAMES_H

#include "libprofconv/base/text.h"

typedef enum pfc_tidy {
    PFC_TIDY_NONE = 0, /* as named */
    PFC_TIDY_ARGS,     /* without argument lists */
    PFC_TIDY_TEMPLATES /* without argument lists and template arguments */
} pfc_tidy;

typedef struct pfc_name_rules {
    pfc_tidy tidy;
    int strip_suffixes; /* .constprop.0, .cold, @plt, @@GLIBC_2.2.5 */
    int java;           /* the code is from a perf map: a leading L of a class name goes */
} pfc_name_rules;

/* Appends the name after the clean-up that the rules ask for. What it appends is not yet fit to be written: the caller
 * adds suffixes and passes the whole through pfc_collapsed_text. Never appends nothing for a name that is not empty. */
void pfc_collapsed_tidy(pfc_buf *out, const char *name, size_t size, const pfc_name_rules *rules);

/* Appends text that the strict grammar allows as a frame: valid UTF-8 without ';', control characters, line breaks and
 * outer blanks; "[unknown]" when nothing is left. `underscores`: blanks become '_', as for thread names. */
void pfc_collapsed_text(pfc_buf *out, const char *text, size_t size, int underscores);

/* Nonzero when the text ends in a blank and what the reader takes for a count (counts.h); *blank is that blank. */
int pfc_collapsed_ends_in_number(const char *text, size_t size, size_t *blank);

/* Length of the valid UTF-8 sequence at p (p < end), or 0; then *bad is the number of bytes that one U+FFFD stands for.
 */
size_t pfc_utf8_length(const char *p, const char *end, size_t *bad);

#endif
