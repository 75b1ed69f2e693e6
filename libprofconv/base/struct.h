/* SPDX-License-Identifier: MIT
 *
 * Taking structs that callers fill (they start with `size_t struct_size`), across versions of the library.
 */
#ifndef PFC_BASE_STRUCT_H
#define PFC_BASE_STRUCT_H

#include <profconv/base.h>

/*
 * Copies *src to the dst_size bytes at dst. A shorter src (an older caller) is extended with zeros; a longer one (a
 * newer caller) is taken when the part unknown here is all zero, else refused: PROFCONV_E_INVALID. src NULL gives
 * zeros. dst's struct_size is dst_size afterwards. `what` names the struct in messages.
 */
int pfc_struct_copy(void *dst, size_t dst_size, const void *src, const char *what, profconv_error *error);

/* Copies limits (NULL: all defaults) and fills the defaults in; max_memory becomes UINT64_MAX where there is no bound.
 */
int pfc_limits_copy(profconv_limits *dst, const profconv_limits *src, profconv_error *error);

/* Copies an allocator (NULL: malloc, which is resize NULL in dst). PROFCONV_E_INVALID when it has no resize. */
int pfc_allocator_copy(profconv_allocator *dst, const profconv_allocator *src, profconv_error *error);

#endif
