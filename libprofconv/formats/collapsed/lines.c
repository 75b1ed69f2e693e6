/* SPDX-License-Identifier: MIT
 *
 * Lines straight out of the input's window: a call to the input for each window, not for each line, and no copy but for
 * UTF-16. A line may be as long as a window can be (256 MiB).
 */
#include "libprofconv/formats/collapsed/lines.h"

#include <string.h>

#define WINDOW ((size_t)1 << 18)

pfc_encoding pfc_encoding_of(const uint8_t *head, size_t size, size_t *mark) {
    *mark = 0;
    if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) {
        *mark = 3;
    } else if (size >= 2 && head[0] == 0xff && head[1] == 0xfe) {
        *mark = 2;
        return PFC_ENCODING_UTF16LE;
    } else if (size >= 2 && head[0] == 0xfe && head[1] == 0xff) {
        *mark = 2;
        return PFC_ENCODING_UTF16BE;
    }
    return PFC_ENCODING_UTF8;
}

static void add_utf8(pfc_buf *out, uint32_t c) {
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(lead[n] | c);
    pfc_buf_add(out, b, n);
}

static uint32_t unit(const uint8_t *p, int big) {
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

size_t pfc_from_utf16(pfc_buf *out, const uint8_t *data, size_t size, int big, int last, uint64_t *replaced) {
    size_t i = 0;
    for (; size - i >= 2 && !out->failed; i += 2) {
        uint32_t c = unit(data + i, big);
        if (c >= 0xd800 && c < 0xdc00) {
            if (size - i < 4 && !last)
                return i;
            uint32_t low = size - i >= 4 ? unit(data + i + 2, big) : 0;
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
                i += 2;
            }
        }
        if (c >= 0xd800 && c < 0xe000) {
            c = 0xfffd;
            ++*replaced;
        }
        add_utf8(out, c);
    }
    if (last && i < size) {
        add_utf8(out, 0xfffd);
        ++*replaced;
        i = size;
    }
    return i;
}

int pfc_lines_start(pfc_lines *lines, profconv_input *input, pfc_mem *mem, profconv_error *error) {
    const uint8_t *head;
    size_t got;
    size_t mark;
    memset(lines, 0, sizeof *lines);
    lines->input = input;
    pfc_buf_init(&lines->text, mem);
    int status = profconv_input_window(input, 3, &head, &got, error);
    if (status)
        return status;
    lines->encoding = pfc_encoding_of(head, got, &mark);
    profconv_input_consume(input, mark);
    return PROFCONV_OK;
}

void pfc_lines_free(pfc_lines *lines) { pfc_buf_free(&lines->text); }

/* Makes more visible: what was returned is consumed, and at least one byte is added to the rest. *more: there was one.
 */
static int refill(pfc_lines *lines, int *more, profconv_error *error) {
    const uint8_t *data;
    size_t got;
    int wide = lines->encoding != PFC_ENCODING_UTF8;
    size_t rest = lines->size - lines->at; /* UTF-8: also the bytes of the input from `at` on */
    if (wide)
        profconv_input_consume(lines->input, lines->held);
    else
        profconv_input_consume(lines->input, lines->at);
    lines->held = 0;
    size_t want = wide ? WINDOW : rest < WINDOW / 2 ? WINDOW : 2 * rest;
    int status = profconv_input_window(lines->input, want, &data, &got, error);
    if (status)
        return status;
    if (!wide) {
        lines->data = (const char *)data;
        lines->size = got;
        lines->at = 0;
        *more = got > rest;
        return PROFCONV_OK;
    }
    if (lines->at > 0 && lines->text.data) {
        memmove(lines->text.data, lines->text.data + lines->at, rest);
        lines->text.size = rest;
    }
    int big = lines->encoding == PFC_ENCODING_UTF16BE;
    lines->held = pfc_from_utf16(&lines->text, data, got, big, got < want, &lines->replaced);
    lines->data = lines->text.data;
    lines->size = lines->text.size;
    lines->at = 0;
    *more = lines->size > rest;
    return lines->text.failed ? pfc_mem_error(lines->text.mem, error) : PROFCONV_OK;
}

int pfc_lines_next(pfc_lines *lines, const char **line, size_t *size, int *got, profconv_error *error) {
    size_t searched = 0;
    const char *end = NULL;
    int more = 1;
    *got = 0;
    while (more) {
        size_t left = lines->size - lines->at - searched;
        end = left ? (const char *)memchr(lines->data + lines->at + searched, '\n', left) : NULL;
        if (end)
            break;
        searched += left;
        int status = refill(lines, &more, error);
        if (status)
            return status;
    }
    if (!end && searched == 0)
        return PROFCONV_OK;
    *line = lines->data + lines->at;
    *size = end ? (size_t)(end - *line) : searched;
    lines->offset = profconv_input_offset(lines->input) + (lines->encoding == PFC_ENCODING_UTF8 ? lines->at : 0);
    lines->at += *size + (end != NULL);
    lines->number++;
    *got = 1;
    return PROFCONV_OK;
}
