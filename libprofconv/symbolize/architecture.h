/* SPDX-License-Identifier: MIT
 *
 * Whether a binary is code for the machine of a recording.
 */
#ifndef PFC_SYMBOLIZE_ARCHITECTURE_H
#define PFC_SYMBOLIZE_ARCHITECTURE_H

#include "libprofconv/symbolize/binary.h"

/* The family of processors that a binary is for: "x86", "arm", ...; NULL for others. */
const char *pfc_binary_architecture(const pfc_binary *binary);
/* The same of what `uname -m` says. */
const char *pfc_architecture_of(const char *machine);

#endif
