/* SPDX-License-Identifier: MIT
 *
 * Lines of a text in UTF-8 or, told by its byte order mark, UTF-16.
 */
#ifndef PFC_COLLAPSED_LINES_H
#define PFC_COLLAPSED_LINES_H

#include <profconv/io.h>

#include "libprofconv/base/text.h"

typedef enum pfc_encoding { PFC_ENCODING_UTF8 = 0, PFC_ENCODING_UTF16LE, PFC_ENCODING_UTF16BE } pfc_encoding;

typedef struct pfc_lines {
    profconv_input *input;
    pfc_encoding encoding;
    pfc_buf text;     /* UTF-16 only: the window, converted */
    const char *data; /* what is visible */
    size_t size;
    size_t at;         /* start of the next line in it */
    size_t held;       /* bytes of the input that are visible and not yet consumed */
    uint64_t number;   /* of the line returned last, from 1 */
    uint64_t offset;   /* of its first byte; UTF-16: of the window that holds it */
    uint64_t replaced; /* UTF-16: lone surrogates and odd bytes, now U+FFFD */
} pfc_lines;

/* The encoding that a text's first bytes say, and the length of the mark. */
pfc_encoding pfc_encoding_of(const uint8_t *head, size_t size, size_t *mark);
/* Appends UTF-16 text as UTF-8; returns the bytes used: an unfinished unit or pair is left unless `last`. */
size_t pfc_from_utf16(pfc_buf *out, const uint8_t *data, size_t size, int big, int last, uint64_t *replaced);

/* Starts at the input's present position; looks for a byte order mark there. */
int pfc_lines_start(pfc_lines *lines, profconv_input *input, pfc_mem *mem, profconv_error *error);
/* The next line without its end (CR is kept). *got is 0 at the end of the input. Borrowed until the next call. */
int pfc_lines_next(pfc_lines *lines, const char **line, size_t *size, int *got, profconv_error *error);
void pfc_lines_free(pfc_lines *lines);

#endif
