/* SPDX-License-Identifier: MIT
 *
 * The strict grammar of a frame: what is written is valid UTF-8, on one line, without the separator, and no reader
 * takes a part of it for something else. There is no escape in this format, so what cannot stand is replaced.
 */
#include <string.h>

#include "libprofconv/formats/collapsed/counts.h"
#include "libprofconv/formats/collapsed/names.h"

static int continues(const char *p, const char *end) { return p < end && ((unsigned char)*p & 0xc0) == 0x80; }

size_t pfc_utf8_length(const char *p, const char *end, size_t *bad) {
    unsigned char a = (unsigned char)*p;
    size_t need;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (a < 0x80)
        return 1;
    *bad = 1;
    if (a >= 0xc2 && a <= 0xdf) {
        need = 2;
    } else if (a >= 0xe0 && a <= 0xef) {
        need = 3;
        low = a == 0xe0 ? 0xa0 : 0x80;  /* no overlong forms */
        high = a == 0xed ? 0x9f : 0xbf; /* no surrogates */
    } else if (a >= 0xf0 && a <= 0xf4) {
        need = 4;
        low = a == 0xf0 ? 0x90 : 0x80;
        high = a == 0xf4 ? 0x8f : 0xbf; /* nothing past U+10FFFF */
    } else {
        return 0;
    }
    if (p + 1 >= end || (unsigned char)p[1] < low || (unsigned char)p[1] > high)
        return 0;
    size_t n = 2;
    while (n < need && continues(p + n, end))
        n++;
    *bad = n;
    return n == need ? n : 0;
}

/* U+0085, U+2028 and U+2029 end a line for some readers. */
static int is_line_break(const char *p, size_t n) {
    return (n == 2 && memcmp(p, "\xc2\x85", 2) == 0) ||
           (n == 3 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 || memcmp(p, "\xe2\x80\xa9", 3) == 0));
}

/* Nonzero when every byte can stay: the usual case, decided without looking at a character twice. */
static int is_plain(const char *text, size_t size) {
    if (size == 0 || text[0] == ' ' || text[0] == '#' || text[size - 1] == ' ')
        return 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c >= 0x7f || c == ';')
            return 0;
    }
    return 1;
}

static void add_blank(pfc_buf *out, size_t start, int underscores, int *control) {
    if (out->size > start)
        pfc_buf_char(out, underscores ? '_' : ' ');
    *control = 1;
}

/* Cuts the blanks (or the underscores that stand for them) that were appended last. */
static void trim_end(pfc_buf *out, size_t start, size_t blanks) {
    while (blanks-- > 0 && out->size > start)
        out->data[--out->size] = '\0';
}

void pfc_collapsed_text(pfc_buf *out, const char *text, size_t size, int underscores) {
    size_t start = out->size;
    if (!underscores && is_plain(text, size)) {
        pfc_buf_add(out, text, size);
        return;
    }
    const char *p = text;
    const char *end = text + size;
    int control = 0;   /* the last thing was a control character, which became one blank */
    size_t blanks = 0; /* appended last */
    while (p < end && *p == ' ')
        p++;
    while (p < end && !out->failed) {
        size_t bad = 0;
        size_t n = pfc_utf8_length(p, end, &bad);
        unsigned char c = (unsigned char)*p;
        if (n == 0) {
            pfc_buf_add(out, "\xef\xbf\xbd", 3);
            n = bad;
            blanks = 0;
        } else if (c < 0x20 || c == 0x7f || is_line_break(p, n)) {
            if (!control) {
                size_t before = out->size;
                add_blank(out, start, underscores, &control);
                blanks += out->size - before;
            }
            p += n;
            continue;
        } else if (c == ' ') {
            size_t before = out->size;
            add_blank(out, start, underscores, &control);
            blanks += out->size - before;
        } else if (n == 3 && out->size == start && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
            /* A byte order mark would vanish at the start of a file. */
        } else {
            pfc_buf_add(out, c == ';' ? ":" : p, n);
            blanks = 0;
        }
        control = 0;
        p += n;
    }
    if (out->failed)
        return;
    trim_end(out, start, blanks);
    if (out->size == start)
        pfc_buf_text(out, "[unknown]");
    else if (out->size > start + 1 && out->data[start] == '#' && out->data[start + 1] == ' ')
        out->data[start + 1] = '_'; /* a line that starts "# " is a comment to some readers, ours included */
}

int pfc_collapsed_ends_in_number(const char *text, size_t size, size_t *blank) {
    pfc_count count;
    size_t i = size;
    while (i > 0 && text[i - 1] != ' ')
        i--;
    if (i == 0)
        return 0;
    pfc_count_parse(text + i, size - i, &count);
    *blank = i - 1;
    return count.kind == PFC_COUNT_ONE;
}
