/* SPDX-License-Identifier: MIT
 *
 * Numbers as text, without a locale, and the growable buffer that writers of text use.
 */
#include "libprofconv/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int pfc_string_equal(profconv_string a, profconv_string b) { return a.size == b.size && memcmp(a.data, b.data, a.size) == 0; }

const char *pfc_parse_u64(const char *p, const char *end, uint64_t *value) {
    const char *start = p;
    uint64_t sum = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return NULL;
        sum = sum * 10 + digit;
    }
    if (p == start)
        return NULL;
    *value = sum;
    return p;
}

/* Digit + 1; 0: none. */
static const uint8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

const char *pfc_parse_hex(const char *p, const char *end, uint64_t *value) {
    const char *start = p;
    uint64_t sum = 0;
    unsigned digit;
    for (; p < end && (digit = hex_digits[(uint8_t)*p]) != 0; p++) {
        if (sum >> 60)
            return NULL;
        sum = sum << 4 | (digit - 1);
    }
    if (p == start)
        return NULL;
    *value = sum;
    return p;
}

const char *pfc_parse_i64(const char *p, const char *end, int64_t *value) {
    int negative = p < end && *p == '-';
    uint64_t magnitude;
    p = pfc_parse_u64(p + negative, end, &magnitude);
    if (!p || magnitude > (uint64_t)INT64_MAX + (unsigned)negative)
        return NULL;
    *value = !negative ? (int64_t)magnitude : magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
    return p;
}

size_t pfc_format_u64(char out[20], uint64_t value) {
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    for (size_t i = 0; i < count; i++)
        out[i] = digits[count - 1 - i];
    return count;
}

size_t pfc_format_i64(char out[21], int64_t value) {
    if (value >= 0)
        return pfc_format_u64(out, (uint64_t)value);
    out[0] = '-';
    return 1 + pfc_format_u64(out + 1, 0 - (uint64_t)value);
}

size_t pfc_format_hex(char out[16], uint64_t value) {
    size_t count = 1;
    while (count < 16 && value >> (4 * count))
        count++;
    for (size_t i = count; i-- > 0; value >>= 4)
        out[i] = "0123456789abcdef"[value & 15];
    return count;
}

void pfc_buf_init(pfc_buf *buf, pfc_mem *mem) {
    memset(buf, 0, sizeof *buf);
    buf->mem = mem;
}

/* Room for `more` bytes and the NUL: nonzero when there is. */
static int reserve(pfc_buf *buf, size_t more) {
    if (buf->failed)
        return 0;
    if (more >= SIZE_MAX - buf->size) {
        buf->failed = PROFCONV_E_NOMEM;
        return 0;
    }
    size_t needed = buf->size + more + 1;
    if (needed <= buf->capacity)
        return 1;
    void *data = buf->data;
    buf->failed = pfc_grow(buf->mem, &data, &buf->capacity, needed, 1);
    buf->data = (char *)data;
    return !buf->failed;
}

void pfc_buf_add(pfc_buf *buf, const void *data, size_t size) {
    if (!reserve(buf, size))
        return;
    if (size)
        memcpy(buf->data + buf->size, data, size);
    buf->size += size;
    buf->data[buf->size] = 0;
}

void pfc_buf_text(pfc_buf *buf, const char *text) { pfc_buf_add(buf, text, strlen(text)); }
void pfc_buf_char(pfc_buf *buf, char c) { pfc_buf_add(buf, &c, 1); }

void pfc_buf_u64(pfc_buf *buf, uint64_t value) {
    char digits[20];
    pfc_buf_add(buf, digits, pfc_format_u64(digits, value));
}

void pfc_buf_i64(pfc_buf *buf, int64_t value) {
    char digits[21];
    pfc_buf_add(buf, digits, pfc_format_i64(digits, value));
}

void pfc_buf_hex(pfc_buf *buf, uint64_t value) {
    char digits[16];
    pfc_buf_add(buf, digits, pfc_format_hex(digits, value));
}

/* No floating point here: its decimal point depends on the host's locale. */
void pfc_buf_printf(pfc_buf *buf, const char *format, ...) {
    if (!reserve(buf, 64))
        return;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(buf->data + buf->size, buf->capacity - buf->size, format, arguments);
    if (length < 0) {
        buf->failed = PROFCONV_E_INTERNAL;
    } else if ((size_t)length < buf->capacity - buf->size) {
        buf->size += (size_t)length;
    } else if (reserve(buf, (size_t)length)) {
        vsnprintf(buf->data + buf->size, buf->capacity - buf->size, format, again);
        buf->size += (size_t)length;
    }
    if (buf->data)
        buf->data[buf->size] = 0;
    va_end(again);
    va_end(arguments);
}

void pfc_buf_clear(pfc_buf *buf) {
    buf->size = 0;
    if (buf->data)
        buf->data[0] = 0;
}

void pfc_buf_free(pfc_buf *buf) {
    pfc_free(buf->mem, buf->data, buf->capacity);
    pfc_buf_init(buf, buf->mem);
}

uint64_t pfc_mul_sat(uint64_t a, uint64_t b) { return a && b > UINT64_MAX / a ? UINT64_MAX : a * b; }

int64_t pfc_add_sat_i64(int64_t a, int64_t b, int *overflow) {
    if (b > 0 && a > INT64_MAX - b) {
        *overflow = 1;
        return INT64_MAX;
    }
    if (b < 0 && a < INT64_MIN - b) {
        *overflow = 1;
        return INT64_MIN;
    }
    return a + b;
}
