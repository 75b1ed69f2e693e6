/* SPDX-License-Identifier: MIT
 *
 * The settings of "symbolize" that say where files are, for every pass that opens binaries.
 */
#ifndef PFC_SYMBOLIZE_SETTINGS_H
#define PFC_SYMBOLIZE_SETTINGS_H

#include "libprofconv/symbolize/binary.h"

/* Owns the arrays that its finder points to; the strings are the options'. */
typedef struct pfc_finder_settings {
    pfc_finder finder;
} pfc_finder_settings;

/* 0 or a status. */
int pfc_finder_settings_read(pfc_finder_settings *out, pfc_mem *mem, const profconv_options *options,
                             profconv_error *error);
void pfc_finder_settings_free(pfc_finder_settings *settings, pfc_mem *mem);

#endif
