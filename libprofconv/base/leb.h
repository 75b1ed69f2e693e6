/* SPDX-License-Identifier: MIT
 *
 * Numbers into a byte buffer: unsigned LEB128 and little-endian words.
 */
#ifndef PFC_BASE_LEB_H
#define PFC_BASE_LEB_H

#include "libprofconv/base/text.h"

static inline void pfc_buf_uleb(pfc_buf *buf, uint64_t value) {
    uint8_t bytes[10];
    if (value < 0x80 && !buf->failed && buf->capacity - buf->size > 1) { /* most numbers; capacity >= size */
        buf->data[buf->size++] = (char)value;
        buf->data[buf->size] = 0;
        return;
    }
    size_t n = 0;
    do {
        uint8_t byte = value & 0x7f;
        value >>= 7;
        bytes[n++] = value ? byte | 0x80 : byte;
    } while (value);
    pfc_buf_add(buf, bytes, n);
}

static inline void pfc_buf_le32(pfc_buf *buf, uint32_t value) {
    uint8_t bytes[4];
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    pfc_buf_add(buf, bytes, 4);
}

static inline void pfc_buf_le64(pfc_buf *buf, uint64_t value) {
    pfc_buf_le32(buf, (uint32_t)value);
    pfc_buf_le32(buf, (uint32_t)(value >> 32));
}

#endif
