/* SPDX-License-Identifier: MIT
 *
 * Is this folded text? There is no magic number: what tells is that every line ends in a blank and a count, that most
 * have a
 * ';', and that nothing looks like a header line of perf script. Lists without counts are never taken for it; they
 * have to be named.
 */
#include "libprofconv/formats/collapsed/probe.h"

#include <string.h>

#include "libprofconv/formats/collapsed/layout.h"

#define LINES_MAX 32
#define HEAD_MAX ((size_t)64 << 10)

typedef struct seen {
    unsigned rows, counted, stacked, leading, perf;
    int header;
    int first; /* the first line has a ';' and a count */
    int cut;   /* the first line is longer than what is shown */
} seen;

/* " 123.456789: " or a line that ends in "cycles:" is perf script's. */
static int is_perf_header(pfc_row row) {
    if (row.data[row.size - 1] == ':')
        return 1;
    for (size_t i = 1; i + 1 < row.size; i++) {
        size_t start = i;
        if (row.data[i] != ':' || row.data[i + 1] != ' ')
            continue;
        while (start > 0 && ((row.data[start - 1] >= '0' && row.data[start - 1] <= '9') || row.data[start - 1] == '.'))
            start--;
        if (i - start > 7 && memchr(row.data + start, '.', i - start) && start > 0 && row.data[start - 1] == ' ')
            return 1;
    }
    return 0;
}

static void look(seen *s, pfc_row row) {
    size_t starts[PFC_COLUMNS_MAX];
    size_t sizes[PFC_COLUMNS_MAX];
    pfc_layout behind = {PFC_LAYOUT_COUNT, 1, 0, 0};
    pfc_layout before = {PFC_LAYOUT_LEADING, 1, 0, 0};
    pfc_layout triple = {PFC_LAYOUT_TRIPLE, 3, 0, 0};
    pfc_split split;
    if (s->rows == 0 && !s->header && pfc_row_header(row, starts, sizes)) {
        s->header = 1;
        return;
    }
    s->rows++;
    s->perf += is_perf_header(row) != 0;
    int counted = (pfc_row_split(row, &behind, &split) || pfc_row_split(row, &triple, &split)) && split.stack.size > 0;
    int stacked = memchr(row.data, ';', row.size) != NULL;
    /* "4: 534" is a line of an LLVM profile. */
    counted = counted && row.data[split.stack.size - 1] != ':';
    s->counted += counted != 0;
    s->stacked += stacked != 0;
    s->first |= s->rows == 1 && counted && stacked;
    s->leading += pfc_row_split(row, &before, &split) != 0;
}

static int judge(const seen *s) {
    if (s->rows == 0)
        return s->header ? 40 : s->cut ? 30 : 0;
    if (s->perf > 0)
        return 0;
    if (s->header && s->counted == s->rows)
        return 85;
    /* A line or two that cannot be read do not make it another format. */
    if (s->counted > 0 && 10 * s->counted >= 9 * s->rows)
        return s->stacked == 0 ? 20 : 2 * s->stacked >= s->rows ? 75 : 50;
    if (s->first && 2 * s->counted >= s->rows)
        return 35;
    if (s->leading == s->rows && 2 * s->stacked >= s->rows)
        return 45;
    return 0;
}

static void look_at_lines(seen *s, const char *text, size_t size, int whole) {
    while (size > 0 && s->rows < LINES_MAX) {
        const char *lf = (const char *)memchr(text, '\n', size);
        size_t length = lf ? (size_t)(lf - text) : size;
        if (!lf && !whole && s->rows > 0)
            return; /* cut */
        pfc_row row = pfc_row_trim(text, length);
        if (row.size > 0 && !pfc_row_is_comment(row)) {
            if (!lf && !whole)
                s->cut = memchr(row.data, ';', row.size) != NULL && !is_perf_header(row);
            else
                look(s, row);
        }
        length += lf != NULL;
        text += length;
        size -= length;
    }
}

static int is_text(const char *text, size_t size) {
    size_t control = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        control += c < 0x20 && c != '\n' && c != '\r' && c != '\t';
    }
    return control * 64 <= size; /* a stray NUL is tolerated */
}

int pfc_collapsed_probe(void *user, const uint8_t *head, size_t size, int whole) {
    seen s = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t mark;
    (void)user;
    pfc_encoding encoding = pfc_encoding_of(head, size, &mark);
    if (size > HEAD_MAX) {
        size = HEAD_MAX;
        whole = 0;
    }
    if (size == mark)
        return 0;
    if (encoding == PFC_ENCODING_UTF8) {
        if (is_text((const char *)head + mark, size - mark))
            look_at_lines(&s, (const char *)head + mark, size - mark, whole);
        return judge(&s);
    }
    pfc_mem mem;
    pfc_buf text;
    uint64_t replaced = 0;
    pfc_mem_init(&mem, NULL, 0);
    pfc_buf_init(&text, &mem);
    pfc_from_utf16(&text, head + mark, size - mark, encoding == PFC_ENCODING_UTF16BE, whole, &replaced);
    if (!text.failed && text.size > 0 && is_text(text.data, text.size))
        look_at_lines(&s, text.data, text.size, whole);
    pfc_buf_free(&text);
    return judge(&s);
}
