/* SPDX-License-Identifier: MIT
 *
 * What io/ offers to the rest of the library beyond the public header.
 */
#ifndef PFC_IO_IO_H
#define PFC_IO_IO_H

#include <profconv/io.h>

#include "libprofconv/base/mem.h"

/* Called about every MiB of source consumed; nonzero makes the next window/skip/read_at fail with PROFCONV_E_CALLBACK.
 * At most one; NULL removes it. Parts opened later inherit it. */
void pfc_input_set_tick(profconv_input *input, int (*tick)(void *user, uint64_t done, uint64_t total), void *user);

/* Charges the buffers to a budget (NULL: nothing happens) until they leave it; parts opened meanwhile join, too. */
int pfc_input_join(profconv_input *input, pfc_budget *budget, profconv_error *error);
void pfc_input_leave(profconv_input *input, pfc_budget *budget);
int pfc_output_join(profconv_output *output, pfc_budget *budget, profconv_error *error);
void pfc_output_leave(profconv_output *output, pfc_budget *budget);

/* From here on, inflating (deflating) is done by a thread of its own, once there is enough of it. Callbacks of the source and
 * sink are called by that thread. For an output before the first write. */
void pfc_input_ahead(profconv_input *input);
void pfc_output_behind(profconv_output *output);

/* Convenience for text readers: the next line without its LF (a CR before it is kept), of any length up to
 * `max`. *data is borrowed until the next call on the input; *got_line is 0 at the end. *terminated: it had an LF.
 * Longer than max: PROFCONV_E_LIMIT. The line is consumed by the next call. */
int pfc_input_line(profconv_input *input, size_t max, const char **data, size_t *size, int *got_line, int *terminated,
                   profconv_error *error);

/* Reads all that is left into one block of `mem` (free with *capacity). Bounded by max (PROFCONV_E_LIMIT). */
int pfc_input_read_all(profconv_input *input, pfc_mem *mem, uint64_t max, uint8_t **data, size_t *size,
                       size_t *capacity, profconv_error *error);

/* zlib, which only io/ sees, for formats that hold compressed parts (extbinary sections). Output size is known
 * beforehand. 0 or a status (PROFCONV_E_FORMAT: corrupt, or another size). */
int pfc_zlib_inflate(pfc_mem *mem, const void *data, size_t size, void *out, size_t out_size);
/* Compresses into a new block: *out_size bytes used, free with *out_capacity. */
int pfc_zlib_deflate(pfc_mem *mem, const void *data, size_t size, int level, uint8_t **out, size_t *out_size,
                     size_t *out_capacity);

#endif
