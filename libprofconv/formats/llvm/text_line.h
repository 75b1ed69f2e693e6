/* SPDX-License-Identifier: MIT
 *
 * One line of an LLVM text profile, taken apart. Positions point into the line.
 */
#ifndef PFC_LLVM_TEXT_LINE_H
#define PFC_LLVM_TEXT_LINE_H

#include <profconv/base.h>

typedef enum pfc_text_kind {
    PFC_TEXT_BLANK, /* or a comment */
    PFC_TEXT_HEADER,
    PFC_TEXT_BODY,
    PFC_TEXT_CALLSITE,
    PFC_TEXT_CHECKSUM,
    PFC_TEXT_ATTRIBUTES,
    PFC_TEXT_FLAT,
    PFC_TEXT_VTABLES,
    PFC_TEXT_BAD
} pfc_text_kind;

typedef struct pfc_text_line {
    pfc_text_kind kind;
    uint32_t depth; /* blanks before it; 0: header */
    uint32_t line;
    uint32_t discriminator;
    uint64_t count; /* total of a header or call site, samples of a body line, value of metadata */
    uint64_t head;
    const char *name; /* of a header or call site */
    size_t name_size;
    const char *rest; /* body: the targets; vtables: the pairs */
    const char *end;
    const char *expected; /* bad: what should have been there */
} pfc_text_line;

void pfc_text_parse(const char *text, size_t size, pfc_text_line *out);
/* The next "NAME:COUNT" of a body line's rest. 1: got one, 0: no more, -1: something else is there. A name may hold
 * blanks and colons: it ends at the first colon that is followed by a whole number and a blank or the end. */
int pfc_text_next_target(const char **rest, const char *end, const char **name, size_t *name_size, uint64_t *count);
/* "LINE" or "LINE.DISCRIMINATOR", and nothing else. */
int pfc_text_location(const char *text, const char *end, uint32_t *line, uint32_t *discriminator);

#endif
