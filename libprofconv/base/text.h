/* SPDX-License-Identifier: MIT
 *
 * Text without a locale: numbers in and out, a growable byte buffer, saturating sums.
 */
#ifndef PFC_BASE_TEXT_H
#define PFC_BASE_TEXT_H

#include "libprofconv/base/mem.h"

/* Byte by byte: strings of a profile may hold NUL. */
int pfc_string_equal(profconv_string a, profconv_string b);
/* Parse a number at the start of [p, end): the first byte not consumed, or NULL when there is no digit or it does not
 * fit 64 bits. No sign, no blanks, no prefix. */
const char *pfc_parse_u64(const char *p, const char *end, uint64_t *value);
const char *pfc_parse_hex(const char *p, const char *end, uint64_t *value);
/* With an optional leading '-'. */
const char *pfc_parse_i64(const char *p, const char *end, int64_t *value);
/* Decimal into out[21..]: returns the length; no NUL. */
size_t pfc_format_u64(char out[20], uint64_t value);
size_t pfc_format_i64(char out[21], int64_t value);
/* Lower case, no prefix, no leading zeros. */
size_t pfc_format_hex(char out[16], uint64_t value);

typedef struct pfc_buf {
    pfc_mem *mem;
    char *data;      /* NUL-terminated when not NULL */
    size_t size;
    size_t capacity;
    int failed;      /* sticky status */
} pfc_buf;
void pfc_buf_init(pfc_buf *buf, pfc_mem *mem);
void pfc_buf_add(pfc_buf *buf, const void *data, size_t size);
void pfc_buf_text(pfc_buf *buf, const char *text);
void pfc_buf_char(pfc_buf *buf, char c);
void pfc_buf_u64(pfc_buf *buf, uint64_t value);
void pfc_buf_i64(pfc_buf *buf, int64_t value);
void pfc_buf_hex(pfc_buf *buf, uint64_t value);
void pfc_buf_printf(pfc_buf *buf, const char *format, ...) PROFCONV_PRINTF(2, 3);
void pfc_buf_clear(pfc_buf *buf);
void pfc_buf_free(pfc_buf *buf);

static inline uint64_t pfc_add_sat(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }
uint64_t pfc_mul_sat(uint64_t a, uint64_t b);
/* *overflow is set (never cleared) when the sum did not fit. */
int64_t pfc_add_sat_i64(int64_t a, int64_t b, int *overflow);

#endif
