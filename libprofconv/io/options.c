/* SPDX-License-Identifier: MIT
 *
 * Checks and copies the options of an input or output.
 */
#include "libprofconv/io/options.h"

#include "libprofconv/base/struct.h"

int pfc_io_start_make(pfc_io_start *out, const profconv_io_options *options, uint64_t least, profconv_error *error) {
    int status = pfc_struct_copy(&out->given, sizeof out->given, options, "profconv_io_options", error);
    if (!status)
        status = pfc_limits_copy(&out->limits, out->given.limits, error);
    if (!status)
        status = pfc_allocator_copy(&out->allocator, out->given.allocator, error);
    if (status)
        return status;
    pfc_mem_init(&out->mem, out->given.allocator, out->limits.max_memory < least ? least : out->limits.max_memory);
    return 0;
}
