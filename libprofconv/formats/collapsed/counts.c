/* SPDX-License-Identifier: MIT
 *
 * Numbers at the ends of folded lines: integers of any size with a sign or without, decimal fractions and exponents as
 * printed by Python and awk (rounded half up), and Austin's triples. All without floating point, so that no digit is
 * lost.
 */
#include "libprofconv/formats/collapsed/counts.h"

#include "libprofconv/base/text.h"

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* A decimal as written: digits with the point after `point` of them. */
typedef struct decimal {
    const char *whole, *whole_end;
    const char *part, *part_end; /* after the point */
    int64_t exponent;
    int negative;
} decimal;

static int digit_at(const decimal *d, int64_t i) {
    int64_t whole = d->whole_end - d->whole;
    int64_t all = whole + (d->part_end - d->part);
    if (i < 0 || i >= all)
        return 0;
    return (i < whole ? d->whole[i] : d->part[i - whole]) - '0';
}

/* Splits [+-]digits[.digits][e[+-]digits]; 0 when the text is something else. */
static int split(const char *p, const char *end, decimal *d) {
    d->exponent = 0;
    d->negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    d->whole = p;
    while (p < end && is_digit(*p))
        p++;
    d->whole_end = d->part = d->part_end = p;
    if (p < end && *p == '.') {
        d->part = ++p;
        while (p < end && is_digit(*p))
            p++;
        d->part_end = p;
    }
    if (d->whole == d->whole_end && d->part == d->part_end)
        return 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        int minus = p + 1 < end && p[1] == '-';
        p += 1 + (p + 1 < end && (p[1] == '-' || p[1] == '+'));
        if (p == end)
            return 0;
        for (; p < end && is_digit(*p); p++)
            d->exponent = d->exponent < 100000 ? d->exponent * 10 + (*p - '0') : d->exponent;
        d->exponent = minus ? -d->exponent : d->exponent;
    }
    return p == end;
}

/* The whole part, and how the rest compares with one half: -1, 0, 1; *any: there is a rest at all. */
static uint64_t whole_part(const decimal *d, int *half, int *any, int *saturated) {
    int64_t digits = (d->whole_end - d->whole) + (d->part_end - d->part);
    int64_t point = (d->whole_end - d->whole) + d->exponent;
    uint64_t value = 0;
    for (int64_t i = 0; i < point; i++) {
        if (i >= digits && value == 0)
            break;
        unsigned digit = (unsigned)digit_at(d, i);
        if (value > (UINT64_MAX - digit) / 10) {
            *saturated = 1;
            value = UINT64_MAX;
            break;
        }
        value = value * 10 + digit;
    }
    int first = digit_at(d, point);
    int rest = 0;
    for (int64_t i = point < 0 ? 0 : point + 1; i < digits && !rest; i++)
        rest = digit_at(d, i) != 0;
    *any = first != 0 || rest;
    *half = first > 5 || (first == 5 && rest) ? 1 : first == 5 ? 0 : -1;
    return value;
}

static int parse_one(const char *p, const char *end, pfc_count *out, int64_t *value) {
    decimal d;
    int half;
    int any;
    int saturated = 0;
    if (!split(p, end, &d))
        return 0;
    uint64_t magnitude = whole_part(&d, &half, &any, &saturated);
    /* Half up: 1.5 is 2, -1.5 is -1. */
    if (half > 0 || (half == 0 && !d.negative))
        magnitude = pfc_add_sat(magnitude, 1);
    if (magnitude > INT64_MAX) {
        magnitude = INT64_MAX;
        saturated = 1;
    }
    out->rounded |= any;
    out->saturated |= saturated;
    *value = d.negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return 1;
}

static int looks_like_number(const char *p, const char *end) {
    p += p < end && (*p == '-' || *p == '+');
    if (p == end || !is_digit(*p))
        return 0;
    int hex = end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    for (p += hex ? 2 : 0; p < end; p++) {
        char lower = (char)(*p | 0x20);
        if (!is_digit(*p) && *p != ',' && *p != '.' && !(hex && lower >= 'a' && lower <= 'f'))
            return 0;
    }
    return 1;
}

static int parse_triple(const char *p, const char *end, pfc_count *out) {
    for (int i = 0; i < 3; i++) {
        const char *stop = p;
        while (stop < end && *stop != ',')
            stop++;
        if ((i < 2) != (stop < end) || !parse_one(p, stop, out, &out->values[i]))
            return 0;
        p = stop + 1;
    }
    return 1;
}

void pfc_count_parse(const char *text, size_t size, pfc_count *out) {
    const char *end = text + size;
    out->rounded = out->saturated = 0;
    out->kind = PFC_COUNT_NONE;
    if (size == 0)
        return;
    if (size <= 18) { /* the usual case: digits that cannot overflow */
        int64_t value = 0;
        const char *p = text;
        while (p < end && is_digit(*p))
            value = value * 10 + (*p++ - '0');
        if (p == end) {
            out->kind = PFC_COUNT_ONE;
            out->values[0] = value;
            return;
        }
    }
    if (parse_one(text, end, out, &out->values[0])) {
        out->kind = PFC_COUNT_ONE;
        return;
    }
    out->rounded = out->saturated = 0;
    if (parse_triple(text, end, out))
        out->kind = PFC_COUNT_TRIPLE;
    else if (looks_like_number(text, end))
        out->kind = PFC_COUNT_BAD;
}
