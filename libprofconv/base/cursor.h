/* SPDX-License-Identifier: MIT
 *
 * A bounds-checked cursor over bytes of either byte order: the only way that parsers touch input. A read past the
 * end returns zeros and sets `failed`, which stays set, so a run of reads needs one check at its end.
 */
#ifndef PFC_BASE_CURSOR_H
#define PFC_BASE_CURSOR_H

#include <profconv/base.h>
#include <string.h>

typedef struct pfc_cursor {
    const uint8_t *data;
    size_t size;
    size_t at;
    uint64_t base; /* offset of data[0] in the input, for messages */
    int big;       /* nonzero: big-endian */
    int failed;
} pfc_cursor;

static inline pfc_cursor pfc_cursor_make(const void *data, size_t size, uint64_t base, int big) {
    pfc_cursor c = {(const uint8_t *)data, size, 0, base, big, 0};
    return c;
}
static inline size_t pfc_cursor_left(const pfc_cursor *c) { return c->size - c->at; }
static inline uint64_t pfc_cursor_offset(const pfc_cursor *c) { return c->base + c->at; }

/* The next n bytes, or NULL (and failed) when there are fewer. */
static inline const uint8_t *pfc_take(pfc_cursor *c, size_t n) {
    if (c->failed || n > c->size - c->at) {
        c->failed = 1;
        return NULL;
    }
    const uint8_t *p = c->data + c->at;
    c->at += n;
    return p;
}
static inline void pfc_skip(pfc_cursor *c, uint64_t n) {
    if (c->failed || n > c->size - c->at)
        c->failed = 1;
    else
        c->at += (size_t)n;
}

static inline uint16_t pfc_load16(const uint8_t *p, int big) {
    return (uint16_t)(big ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}
static inline uint32_t pfc_load32(const uint8_t *p, int big) {
    return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
               : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}
static inline uint64_t pfc_load64(const uint8_t *p, int big) {
    return big ? (uint64_t)pfc_load32(p, 1) << 32 | pfc_load32(p + 4, 1)
               : (uint64_t)pfc_load32(p + 4, 0) << 32 | pfc_load32(p, 0);
}

static inline uint8_t pfc_u8(pfc_cursor *c) {
    const uint8_t *p = pfc_take(c, 1);
    return p ? *p : 0;
}
static inline uint16_t pfc_u16(pfc_cursor *c) {
    const uint8_t *p = pfc_take(c, 2);
    return p ? pfc_load16(p, c->big) : 0;
}
static inline uint32_t pfc_u32(pfc_cursor *c) {
    const uint8_t *p = pfc_take(c, 4);
    return p ? pfc_load32(p, c->big) : 0;
}
static inline uint64_t pfc_u64(pfc_cursor *c) {
    const uint8_t *p = pfc_take(c, 8);
    return p ? pfc_load64(p, c->big) : 0;
}
/* LEB128, at most 10 bytes; bits above 64 are dropped. */
static inline uint64_t pfc_uleb(pfc_cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const uint8_t *p = pfc_take(c, 1);
        if (!p)
            return 0;
        if (shift < 64)
            value |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p & 0x80))
            return value;
    }
    c->failed = 1;
    return 0;
}
/* Signed LEB128, at most 10 bytes. */
static inline int64_t pfc_sleb(pfc_cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70;) {
        const uint8_t *p = pfc_take(c, 1);
        if (!p)
            return 0;
        if (shift < 64)
            value |= (uint64_t)(*p & 0x7f) << shift;
        shift += 7;
        if (*p & 0x80)
            continue;
        if (shift < 64 && (*p & 0x40))
            value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
    c->failed = 1;
    return 0;
}
/* Bytes up to a NUL (consumed, not counted), or up to the end when there is none; never fails. */
static inline profconv_string pfc_cstring(pfc_cursor *c) {
    profconv_string s = {"", 0};
    if (c->failed)
        return s;
    const uint8_t *p = c->data + c->at;
    size_t left = c->size - c->at;
    const uint8_t *nul = left ? (const uint8_t *)memchr(p, 0, left) : NULL;
    s.data = left ? (const char *)p : "";
    s.size = nul ? (size_t)(nul - p) : left;
    c->at += nul ? s.size + 1 : s.size;
    return s; /* not NUL-terminated when the NUL was missing */
}
/* A cursor over the next n bytes, which are consumed; failed when there are fewer. */
static inline pfc_cursor pfc_sub(pfc_cursor *c, uint64_t n) {
    pfc_cursor sub = {c->data, 0, 0, pfc_cursor_offset(c), c->big, 1};
    if (c->failed || n > c->size - c->at) {
        c->failed = 1;
        return sub;
    }
    sub.data = c->data + c->at;
    sub.size = (size_t)n;
    sub.failed = 0;
    c->at += (size_t)n;
    return sub;
}
/* Nonzero when `count` elements of `element` bytes (> 0) fit into what is left. Never overflows. */
static inline int pfc_fits(const pfc_cursor *c, uint64_t count, size_t element) {
    return !c->failed && count <= pfc_cursor_left(c) / element;
}

#endif
