/* SPDX-License-Identifier: MIT
 *
 * MD5 (RFC 1321), for the hashes that stand for function names in sample profiles. Not for anything that needs
 * security.
 */
#ifndef PFC_BASE_MD5_H
#define PFC_BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

void pfc_md5(const void *data, size_t size, uint8_t digest[16]);

/* The first eight bytes of the digest as a little-endian number: LLVM's hash (GUID) of a name. */
uint64_t pfc_md5_u64(const void *data, size_t size);

#endif
