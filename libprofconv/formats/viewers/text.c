/* SPDX-License-Identifier: MIT
 *
 * Text that no name can break out of: JSON inside a script element, XML, single lines. Names are bytes from untrusted
 * files; what leaves here is UTF-8.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Length of the character at p, or 0 where none starts (also for surrogates and what is longer than needed). */
static size_t character(const unsigned char *p, size_t left) {
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (n > left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((p[0] == 0xe0 && n == 3 && p[1] < 0xa0) || (p[0] == 0xed && n == 3 && p[1] > 0x9f) ||
        (p[0] == 0xf0 && n == 4 && p[1] < 0x90) || (p[0] == 0xf4 && n == 4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* Calls `ascii` for characters below 0x80 and copies the others. `xml`: without U+FFFE and U+FFFF. */
static void each(pfc_buf *out, const char *data, size_t size, void (*ascii)(pfc_buf *out, char c), int xml) {
    for (size_t i = 0; i < size;) {
        size_t n = character((const unsigned char *)data + i, size - i);
        if (n == 1)
            ascii(out, data[i]);
        else if (n == 0 || (xml && n == 3 && memcmp(data + i, "\xef\xbf", 2) == 0 && (data[i + 2] & 0x3e) == 0x3e))
            pfc_buf_text(out, REPLACEMENT);
        else
            pfc_buf_add(out, data + i, n);
        i += n ? n : 1;
    }
}

static void json_ascii(pfc_buf *out, char c) {
    static const char hex[] = "0123456789abcdef";
    if (c == '"' || c == '\\') {
        pfc_buf_char(out, '\\');
        pfc_buf_char(out, c);
    } else if ((unsigned char)c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&') {
        pfc_buf_text(out, "\\u00");
        pfc_buf_char(out, hex[(c >> 4) & 15]);
        pfc_buf_char(out, hex[c & 15]);
    } else {
        pfc_buf_char(out, c);
    }
}

static void xml_ascii(pfc_buf *out, char c) {
    if (c == '<')
        pfc_buf_text(out, "&lt;");
    else if (c == '>')
        pfc_buf_text(out, "&gt;");
    else if (c == '&')
        pfc_buf_text(out, "&amp;");
    else if (c == '"')
        pfc_buf_text(out, "&quot;");
    else if (c == '\t' || c == '\n' || c == '\r')
        pfc_buf_char(out, ' ');
    else if ((unsigned char)c < 0x20 || c == 0x7f)
        pfc_buf_text(out, REPLACEMENT);
    else
        pfc_buf_char(out, c);
}

static void line_ascii(pfc_buf *out, char c) { pfc_buf_char(out, (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c); }

void pfc_view_json(pfc_buf *out, const char *data, size_t size) {
    pfc_buf_char(out, '"');
    each(out, data, size, json_ascii, 0);
    pfc_buf_char(out, '"');
}
void pfc_view_xml(pfc_buf *out, const char *data, size_t size) { each(out, data, size, xml_ascii, 1); }
void pfc_view_line(pfc_buf *out, const char *data, size_t size) { each(out, data, size, line_ascii, 0); }

size_t pfc_view_cut(const char *data, size_t size, size_t most) {
    size_t at = 0;
    for (size_t i = 0; i < most && at < size; i++) {
        size_t n = character((const unsigned char *)data + at, size - at);
        at += n ? n : 1;
    }
    return at;
}

void pfc_view_hundredths(pfc_buf *out, double value) {
    if (!(value > -9e15 && value < 9e15))
        value = 0;
    int64_t whole = (int64_t)(value * 100 + (value < 0 ? -0.5 : 0.5));
    uint64_t size = whole < 0 ? (uint64_t)-whole : (uint64_t)whole;
    if (whole < 0)
        pfc_buf_char(out, '-');
    pfc_buf_u64(out, size / 100);
    if (size % 100) {
        pfc_buf_char(out, '.');
        pfc_buf_char(out, (char)('0' + size % 100 / 10));
        if (size % 10)
            pfc_buf_char(out, (char)('0' + size % 10));
    }
}
