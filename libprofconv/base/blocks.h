/* SPDX-License-Identifier: MIT
 *
 * What stands behind the library's own allocator: small blocks are malloc's, large ones are pages of the system.
 */
#ifndef PFC_BASE_BLOCKS_H
#define PFC_BASE_BLOCKS_H

#include <stddef.h>

/* Blocks of so many bytes are taken from the system. (Tables; what is kept in pieces, of 1 MiB at most, stays below.) */
#define PFC_BLOCKS_LARGE ((size_t)3 << 19)
/* The same where memory is bounded. */
#define PFC_BLOCKS_BOUNDED ((size_t)256 << 10)

/* As profconv_allocator.resize. `direct`, one of the above, must be the same in all of a block's life. */
void *pfc_block_resize(void *p, size_t old_size, size_t new_size, size_t direct);

#endif
