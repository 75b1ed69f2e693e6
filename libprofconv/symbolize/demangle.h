/* SPDX-License-Identifier: MIT
 *
 * Names for people out of names for linkers.
 */
#ifndef PFC_SYMBOLIZE_DEMANGLE_H
#define PFC_SYMBOLIZE_DEMANGLE_H

#include "libprofconv/base/text.h"

enum { PFC_DEMANGLE_FULL, PFC_DEMANGLE_SIMPLE, PFC_DEMANGLE_NONE };

/* Of the setting "demangle": full, simple or none; full for NULL. */
int pfc_demangle_style(const char *setting);
/* Demangles into `text` (cleared first): nonzero when the name was mangled. For C++, and Rust's two schemes. */
int pfc_demangle(const char *name, int style, pfc_buf *text);

#endif
