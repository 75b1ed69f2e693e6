/* SPDX-License-Identifier: MIT
 *
 * Which numbers of a line are counts. One line does not say: "a;b 10 7" has two counts in a diff and one in a profile
 * with a thread called "b 10", and a list without counts looks like one whose names end in numbers. So the rules speak
 * of all lines: two columns, a leading column and no column hold only where every line agrees. The survey reads on
 * until a line rules all of these out. Inputs that cannot seek are judged by their first bytes.
 */
#include "libprofconv/formats/collapsed/layout.h"

#include <string.h>

#define HEAD_MAX ((size_t)4 << 20)

static int is_blank(char c) { return c == ' ' || c == '\t'; }
static int is_digit(char c) { return c >= '0' && c <= '9'; }

pfc_row pfc_row_trim(const char *line, size_t size) {
    pfc_row row = {line, size};
    while (row.size > 0 && (is_blank(row.data[row.size - 1]) || row.data[row.size - 1] == '\r'))
        row.size--;
    while (row.size > 0 && is_blank(row.data[0])) {
        row.data++;
        row.size--;
    }
    return row;
}

int pfc_row_is_comment(pfc_row row) {
    return row.size > 0 && row.data[0] == '#' && (row.size == 1 || is_blank(row.data[1])) &&
           !memchr(row.data, ';', row.size);
}

uint32_t pfc_row_header(pfc_row row, size_t starts[PFC_COLUMNS_MAX], size_t sizes[PFC_COLUMNS_MAX]) {
    uint32_t columns = 0;
    for (size_t i = 0; i < row.size; columns++) {
        size_t start = i;
        size_t slash = 0;
        for (; i < row.size && !is_blank(row.data[i]); i++) {
            char c = row.data[i];
            if (c == '/') {
                if (slash || i == start)
                    return 0;
                slash = i;
            } else if (!is_digit(c) && c != '_' && c != '-' && c != ':' && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z')) {
                return 0;
            }
        }
        if (!slash || slash + 1 == i || columns == PFC_COLUMNS_MAX)
            return 0;
        starts[columns] = start;
        sizes[columns] = i - start;
        while (i < row.size && is_blank(row.data[i]))
            i++;
    }
    return columns;
}

pfc_row pfc_row_last_word(pfc_row row, pfc_row *rest) {
    size_t i = row.size;
    while (i > 0 && !is_blank(row.data[i - 1]))
        i--;
    pfc_row word = {row.data + i, row.size - i};
    rest->data = row.data;
    rest->size = row.size;
    if (i > 0)
        *rest = pfc_row_trim(row.data, i);
    return word;
}

static pfc_row first_word(pfc_row row, pfc_row *rest) {
    size_t i = 0;
    while (i < row.size && !is_blank(row.data[i]))
        i++;
    pfc_row word = {row.data, i};
    *rest = pfc_row_trim(row.data + i, row.size - i);
    return word;
}

int pfc_row_split(pfc_row row, const pfc_layout *layout, pfc_split *out) {
    out->stack = row;
    out->count = 1;
    if (layout->kind == PFC_LAYOUT_BARE) {
        pfc_row rest;
        pfc_row word = pfc_row_last_word(row, &rest);
        pfc_count_parse(word.data, word.size, &out->counts[0]);
        if (out->counts[0].kind != PFC_COUNT_NONE)
            return 0;
        out->counts[0].kind = PFC_COUNT_ONE;
        out->counts[0].values[0] = 1;
        return 1;
    }
    if (layout->kind == PFC_LAYOUT_LEADING) {
        pfc_row word = first_word(row, &out->stack);
        pfc_count_parse(word.data, word.size, &out->counts[0]);
        return out->counts[0].kind == PFC_COUNT_ONE && out->stack.size > 0;
    }
    out->count = layout->kind == PFC_LAYOUT_TRIPLE ? 1 : layout->columns;
    for (uint32_t i = out->count; i-- > 0;) {
        pfc_row word = pfc_row_last_word(out->stack, &out->stack);
        if (word.data == out->stack.data && i > 0) /* no blank was left */
            return 0;
        pfc_count_parse(word.data, word.size, &out->counts[i]);
        if (out->counts[i].kind == PFC_COUNT_TRIPLE ? layout->kind != PFC_LAYOUT_TRIPLE
                                                    : out->counts[i].kind != PFC_COUNT_ONE)
            return 0;
        if (word.data == out->stack.data)
            out->stack.size = 0; /* a number alone */
    }
    return 1;
}

typedef struct survey {
    int any, header, triple;
    int some_counts;                      /* a line ends in a count */
    int all_counts, all_two, all_leading; /* so far */
} survey;

static void look(survey *s, pfc_row row) {
    pfc_count last;
    pfc_count other;
    pfc_row rest;
    size_t starts[PFC_COLUMNS_MAX];
    size_t sizes[PFC_COLUMNS_MAX];
    if (!s->any && pfc_row_header(row, starts, sizes)) {
        s->any = 1;
        s->header = (int)pfc_row_header(row, starts, sizes);
        return;
    }
    pfc_row word = pfc_row_last_word(row, &rest);
    int counted = word.data != row.data;
    pfc_count_parse(word.data, word.size, &last);
    counted = counted && (last.kind == PFC_COUNT_ONE || last.kind == PFC_COUNT_TRIPLE);
    if (!s->any)
        s->triple = counted && last.kind == PFC_COUNT_TRIPLE;
    s->any = 1;
    s->some_counts |= counted;
    s->all_counts &= counted;
    word = pfc_row_last_word(rest, &rest);
    pfc_count_parse(word.data, word.size, &other);
    s->all_two &= counted && last.kind == PFC_COUNT_ONE && other.kind == PFC_COUNT_ONE && word.data != rest.data;
    word = first_word(row, &rest);
    pfc_count_parse(word.data, word.size, &other);
    s->all_leading &= other.kind == PFC_COUNT_ONE && rest.size > 0;
}

static int settled(const survey *s) {
    return s->header || s->triple || (s->some_counts && !s->all_two && !s->all_leading);
}

static void conclude(const survey *s, pfc_layout *out) {
    out->any = s->any;
    out->kind = PFC_LAYOUT_COUNT;
    out->columns = 1;
    if (!s->any) /* no whole line to judge by */
        return;
    if (s->header) {
        out->header = 1;
        out->columns = (uint32_t)s->header;
    } else if (s->triple) {
        out->kind = PFC_LAYOUT_TRIPLE;
        out->columns = 3;
    } else if (s->all_leading && !s->all_counts) {
        out->kind = PFC_LAYOUT_LEADING;
    } else if (s->all_two) {
        out->columns = 2;
    } else if (!s->some_counts) {
        out->kind = PFC_LAYOUT_BARE;
    }
}

/* Feeds lines of `input`, which is used up. */
static int survey_lines(profconv_input *input, pfc_mem *mem, survey *s, profconv_error *error) {
    pfc_lines lines;
    int status = pfc_lines_start(&lines, input, mem, error);
    while (status == 0 && !settled(s)) {
        const char *line;
        size_t size;
        int got;
        status = pfc_lines_next(&lines, &line, &size, &got, error);
        if (status || !got)
            break;
        pfc_row row = pfc_row_trim(line, size);
        if (row.size > 0 && !pfc_row_is_comment(row))
            look(s, row);
    }
    pfc_lines_free(&lines);
    return status;
}

int pfc_layout_survey(profconv_input *input, pfc_mem *mem, pfc_layout *out, profconv_error *error) {
    survey s = {0, 0, 0, 0, 1, 1, 1};
    memset(out, 0, sizeof *out);
    int status;
    if (profconv_input_can_seek(input)) {
        uint64_t start = profconv_input_offset(input);
        status = survey_lines(input, mem, &s, error);
        if (status == 0)
            status = profconv_input_seek(input, start, error);
    } else {
        const uint8_t *head;
        size_t got;
        profconv_input *part = NULL;
        status = profconv_input_window(input, HEAD_MAX, &head, &got, error);
        profconv_io_options raw = {sizeof raw, NULL, NULL, 1, 0};
        /* A cut last line says nothing. */
        if (status == 0 && got >= HEAD_MAX) {
            size_t mark;
            int wide = pfc_encoding_of(head, got, &mark) == PFC_ENCODING_UTF16LE;
            while (got > 0 && head[got - 1 - (size_t)wide * (got > 1)] != '\n')
                got--;
        }
        if (status == 0)
            status = profconv_input_open_memory(&part, head, got, &raw, error);
        if (status == 0)
            status = survey_lines(part, mem, &s, error);
        profconv_input_free(part);
    }
    conclude(&s, out);
    return status;
}
