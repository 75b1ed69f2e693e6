/* SPDX-License-Identifier: MIT
 *
 * What inputs and outputs share of their making: the caller's options, checked, and the memory that they start from.
 */
#ifndef PFC_IO_OPTIONS_H
#define PFC_IO_OPTIONS_H

#include <profconv/io.h>

#include "libprofconv/base/mem.h"

typedef struct pfc_io_start {
    profconv_io_options given;
    profconv_limits limits; /* defaults filled in */
    profconv_allocator allocator;
    pfc_mem mem;
} pfc_io_start;

/* `least`: a budget below it, meant for a profile, is not held against the buffers. 0 or a status. */
int pfc_io_start_make(pfc_io_start *out, const profconv_io_options *options, uint64_t least, profconv_error *error);

#endif
