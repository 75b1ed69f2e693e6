/* SPDX-License-Identifier: MIT
 *
 * Takes a line of an LLVM text profile apart by the rules of LLVM's reader, which the names make necessary: they may
 * hold blanks, colons, brackets, anything but a line end.
 */
#include "libprofconv/formats/llvm/text_line.h"

#include <string.h>

#include "libprofconv/base/text.h"

static int whole_u64(const char *text, const char *end, uint64_t *value) {
    return pfc_parse_u64(text, end, value) == end && text < end;
}

static int whole_u32(const char *text, const char *end, uint32_t *value) {
    uint64_t wide;
    if (!whole_u64(text, end, &wide) || wide > UINT32_MAX)
        return 0;
    *value = (uint32_t)wide;
    return 1;
}

static const char *find(const char *text, const char *end, char c) {
    return text < end ? (const char *)memchr(text, c, (size_t)(end - text)) : NULL;
}

static const char *find_last(const char *text, const char *end, char c) {
    while (end > text)
        if (*--end == c)
            return end;
    return NULL;
}

static void bad(pfc_text_line *out, const char *expected) {
    out->kind = PFC_TEXT_BAD;
    out->expected = expected;
}

static void parse_header(const char *text, const char *end, pfc_text_line *out) {
    const char *second = find_last(text, end, ':');
    const char *first = second ? find_last(text, second, ':') : NULL;
    if (!first || !whole_u64(first + 1, second, &out->count) || !whole_u64(second + 1, end, &out->head)) {
        bad(out, "'name:TOTAL:HEAD' of a function");
        return;
    }
    out->kind = PFC_TEXT_HEADER;
    out->name = text;
    out->name_size = (size_t)(first - text);
}

static int starts(const char *text, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - text) >= n && memcmp(text, word, n) == 0;
}

static void parse_metadata(const char *text, const char *end, pfc_text_line *out) {
    static const char checksum[] = "!CFGChecksum:", attributes[] = "!Attributes:";
    out->kind = PFC_TEXT_FLAT;
    if (out->depth == 1 && end - text == 5 && memcmp(text, "!Flat", 5) == 0)
        return;
    int is_checksum = starts(text, end, checksum);
    if (!is_checksum && !starts(text, end, attributes)) {
        bad(out, "'!CFGChecksum: NUMBER' or '!Attributes: NUMBER'");
        return;
    }
    text += is_checksum ? sizeof checksum - 1 : sizeof attributes - 1;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    uint32_t narrow = 0;
    if (is_checksum ? !whole_u64(text, end, &out->count) : !whole_u32(text, end, &narrow)) {
        bad(out, "a number after '!CFGChecksum:' or '!Attributes:'");
        return;
    }
    if (!is_checksum)
        out->count = narrow;
    out->kind = is_checksum ? PFC_TEXT_CHECKSUM : PFC_TEXT_ATTRIBUTES;
}

int pfc_text_location(const char *text, const char *end, uint32_t *line, uint32_t *discriminator) {
    const char *dot = find(text, end, '.');
    *discriminator = 0;
    if (!dot)
        return whole_u32(text, end, line);
    return whole_u32(text, dot, line) && whole_u32(dot + 1, end, discriminator);
}

static void parse_callsite(const char *text, const char *end, pfc_text_line *out) {
    const char *colon = find_last(text, end, ':');
    if (!colon || !whole_u64(colon + 1, end, &out->count)) {
        bad(out, "'LINE[.DISCRIMINATOR]: name:TOTAL' of an inlined function");
        return;
    }
    out->kind = PFC_TEXT_CALLSITE;
    out->name = text;
    out->name_size = (size_t)(colon - text);
}

/* A callee whose name begins with a digit, as hashes do, is refused by LLVM; here it is told from a count by its end.
 */
static void parse_samples(const char *text, const char *end, pfc_text_line *out) {
    const char *blank = find(text, end, ' ');
    const char *stop = blank ? blank : end;
    if (whole_u64(text, stop, &out->count)) {
        out->kind = PFC_TEXT_BODY;
        out->rest = stop;
        out->end = end;
        return;
    }
    parse_callsite(text, end, out);
    if (out->kind == PFC_TEXT_BAD)
        out->expected = "'LINE[.DISCRIMINATOR]: COUNT[ name:COUNT]*'";
}

static void parse_indented(const char *text, const char *end, pfc_text_line *out) {
    if (*text == '!') {
        parse_metadata(text, end, out);
        return;
    }
    const char *colon = find(text, end, ':');
    /* Without a discriminator the offset must have 16 bits; with one LLVM does not look. */
    if (!colon || !pfc_text_location(text, colon, &out->line, &out->discriminator) ||
        (out->line > 0xffff && !find(text, colon, '.'))) {
        bad(out, "'LINE[.DISCRIMINATOR]:' with a line offset of 16 bits");
        return;
    }
    text = end - colon > 2 ? colon + 2 : end; /* the character after the colon is not looked at */
    if (text < end && *text >= '0' && *text <= '9') {
        parse_samples(text, end, out);
    } else if (starts(text, end, "vtables ")) {
        out->kind = PFC_TEXT_VTABLES;
        out->rest = text + 8;
        out->end = end;
    } else {
        parse_callsite(text, end, out);
    }
}

void pfc_text_parse(const char *text, size_t size, pfc_text_line *out) {
    const char *end = text + size, *p = text;
    memset(out, 0, sizeof *out);
    while (p < end && *p == ' ')
        p++;
    if (p == end || *p == '#') {
        out->kind = PFC_TEXT_BLANK;
        return;
    }
    size_t blanks = (size_t)(p - text);
    out->depth = blanks > UINT32_MAX ? UINT32_MAX : (uint32_t)blanks;
    if (out->depth == 0)
        parse_header(text, end, out);
    else
        parse_indented(p, end, out);
}

int pfc_text_next_target(const char **rest, const char *end, const char **name, size_t *name_size, uint64_t *count) {
    const char *p = *rest;
    if (p == end)
        return 0;
    while (p < end && *p == ' ')
        p++;
    const char *colon = find(p, end, ':');
    if (!colon || colon == p)
        return -1;
    for (; colon; colon = find(colon + 1, end, ':')) {
        const char *blank = find(colon + 1, end, ' ');
        const char *stop = blank ? blank : end;
        if (!whole_u64(colon + 1, stop, count))
            continue;
        *name = p;
        *name_size = (size_t)(colon - p);
        *rest = stop;
        return 1;
    }
    return -1;
}
