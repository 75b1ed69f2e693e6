/* SPDX-License-Identifier: MIT
 *
 * Lines of counts and of "hex-hex:count", with the tolerance of the programs that read them with scanf.
 */
#include <string.h>

#include "libprofconv/formats/branch-maps/maps.h"

/* The longest line with sense has 56 bytes; blanks and what follows the maps may be longer. */
#define MAX_LINE 65536

static int blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

int pfc_map_next_line(pfc_map_lines *lines) {
    for (;;) {
        const char *text;
        size_t size;
        int terminated;
        lines->number++;
        lines->got = 0;
        int status = pfc_input_line(lines->input, MAX_LINE, &text, &size, &lines->got, &terminated, lines->error);
        if (status != PROFCONV_OK || !lines->got) {
            lines->text = lines->end = "";
            return status;
        }
        lines->text = text;
        lines->end = text + size;
        while (lines->end > lines->text && blank(lines->end[-1]))
            lines->end--;
        while (lines->text < lines->end && blank(*lines->text))
            lines->text++;
        if (lines->text < lines->end)
            return PROFCONV_OK;
    }
}

int pfc_map_bad_line(const pfc_map_lines *lines, const char *expected) {
    char shown[61];
    size_t n = 0;
    for (const char *p = lines->text; p < lines->end && n < sizeof shown - 1; p++)
        shown[n++] = *p >= ' ' && *p <= '~' ? *p : '?';
    shown[n] = '\0';
    if (!lines->got)
        return profconv_error_set(lines->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, lines->number,
                                  "line %llu: the input ends, expected %s", (unsigned long long)lines->number,
                                  expected);
    return profconv_error_set(lines->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, lines->number,
                              "line %llu: found '%s', expected %s", (unsigned long long)lines->number, shown, expected);
}

int pfc_map_count(const pfc_map_lines *lines, uint64_t *count) {
    return lines->got && lines->text < lines->end && pfc_parse_u64(lines->text, lines->end, count) == lines->end;
}

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && blank(*p))
        p++;
    return p;
}

static const char *hex(const char *p, const char *end, uint64_t *value) {
    p = skip_blanks(p, end);
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        p += 2;
    return pfc_parse_hex(p, end, value);
}

int pfc_map_pair(const pfc_map_lines *lines, const char *separator, pfc_map_row *row) {
    const char *p = lines->text, *end = lines->end;
    size_t n = strlen(separator);
    row->to = 0;
    if (!lines->got || (p = hex(p, end, &row->from)) == NULL)
        return 0;
    if (n) {
        if ((size_t)(end - p) < n || memcmp(p, separator, n) != 0 || (p = hex(p + n, end, &row->to)) == NULL)
            return 0;
    }
    if (p == end || *p != ':')
        return 0;
    p = skip_blanks(p + 1, end);
    return p < end && pfc_parse_u64(p, end, &row->count) == end;
}
