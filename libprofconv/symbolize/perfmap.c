/* SPDX-License-Identifier: MIT
 *
 * perf maps, the text files in which programs with code generators say what they made: "START SIZE NAME" in
 * hexadecimal, absolute addresses, the name up to the end of the line. Such files reach gigabytes, so they are
 * streamed, and only names that cover a wanted address are kept. Code memory is reused: a later line wins over earlier
 * ones.
 */
#include <string.h>
#include <unistd.h>

#include "libprofconv/io/io.h"
#include "libprofconv/symbolize/image.h"
#include "libprofconv/symbolize/pass.h"

#define MAX_LINE (1u << 20)

int pfc_answers_init(pfc_answers *answers, pfc_mem *mem, const pfc_key *keys, size_t count) {
    memset(answers, 0, sizeof *answers);
    answers->mem = mem;
    answers->keys = keys;
    answers->count = count;
    pfc_buf_init(&answers->text, mem);
    answers->name = pfc_alloc_zero(mem, count * sizeof *answers->name);
    struct pfc_span none = {0, 0};
    return answers->name || count == 0 ? PFC_VEC_PUSH(mem, &answers->spans, none) : mem->failed;
}

void pfc_answers_free(pfc_answers *answers) {
    pfc_free(answers->mem, answers->name, answers->name ? answers->count * sizeof *answers->name : 0);
    PFC_VEC_FREE(answers->mem, &answers->spans);
    pfc_buf_free(&answers->text);
}

int pfc_answers_name(pfc_answers *answers, size_t first, size_t last, const char *name, size_t size) {
    if (first >= last || size > MAX_LINE)
        return 0;
    uint32_t row = answers->name[first];
    struct pfc_span span = {answers->text.size, (uint32_t)size};
    /* Programs that write a method again and again with the same name cost nothing. */
    if (!row || answers->spans.data[row].size != size ||
        memcmp(answers->text.data + answers->spans.data[row].offset, name, size) != 0) {
        pfc_buf_add(&answers->text, name, size);
        row = (uint32_t)answers->spans.count;
        if (answers->text.failed)
            return answers->text.failed;
        if (answers->spans.count == UINT32_MAX || PFC_VEC_PUSH(answers->mem, &answers->spans, span))
            return answers->mem->failed ? answers->mem->failed : PROFCONV_E_LIMIT;
    }
    for (size_t i = first; i < last; i++)
        answers->name[i] = row;
    return 0;
}

size_t pfc_answers_at(const pfc_answers *answers, uint64_t address) {
    size_t low = 0, high = answers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (answers->keys[middle].key < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int pfc_text_open(profconv_input **out, int *fd, const char *path, profconv_error *error) {
    *out = NULL;
    *fd = pfc_open_regular(path);
    if (*fd < 0)
        return profconv_error_set(error, PROFCONV_E_IO, PROFCONV_NO_OFFSET, 0, "%s: cannot be opened", path);
    int status = profconv_input_open_fd(out, *fd, path, NULL, error);
    if (status) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

static const char *blanks(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static const char *hexadecimal(const char *p, const char *end, uint64_t *value) {
    p = blanks(p, end);
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        p += 2; /* some writers add it */
    return pfc_parse_hex(p, end, value);
}

static int map_line(pfc_answers *answers, const char *p, const char *end, uint64_t *symbols) {
    uint64_t start = 0, size = 0;
    if (!(p = hexadecimal(p, end, &start)) || !(p = hexadecimal(p, end, &size)))
        return 0;
    p = blanks(p, end);
    while (end > p && (end[-1] == '\r' || end[-1] == ' '))
        end--;
    if (p == end || size == 0)
        return 0;
    ++*symbols;
    uint64_t last = size - 1 > UINT64_MAX - start ? UINT64_MAX : start + size - 1;
    size_t from = pfc_answers_at(answers, start);
    if (from == answers->count || answers->keys[from].key > last)
        return 0;
    size_t to = last == UINT64_MAX ? answers->count : pfc_answers_at(answers, last + 1);
    return pfc_answers_name(answers, from, to, p, (size_t)(end - p));
}

int pfc_perf_map_read(pfc_answers *answers, const char *path, uint64_t *symbols, profconv_error *error) {
    *symbols = 0;
    profconv_input *input = NULL;
    int fd = -1;
    int status = pfc_text_open(&input, &fd, path, error);
    if (status)
        return status;
    for (;;) {
        const char *line = NULL;
        size_t size = 0;
        int got = 0, terminated = 0;
        status = pfc_input_line(input, MAX_LINE, &line, &size, &got, &terminated, error);
        if (status || !got)
            break;
        status = map_line(answers, line, line + size, symbols);
        if (status) {
            profconv_error_set(error, status, PROFCONV_NO_OFFSET, 0, "%s: no memory for its names", path);
            break;
        }
    }
    profconv_input_free(input);
    close(fd);
    return status;
}
