/* SPDX-License-Identifier: MIT
 *
 * The kernel's own symbol list, /proc/kallsyms or a copy: "ADDRESS TYPE NAME" and, for modules, "[MODULE]", at run-time
 * addresses, without sizes and in no order that holds across modules. A symbol names all up to the next one.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/io/io.h"
#include "libprofconv/symbolize/image.h"
#include "libprofconv/symbolize/pass.h"

#define MAX_LINE 65536
#define MAX_WAITING 512

typedef struct {
    uint64_t address;
    const char *name; /* up to a blank, or `end` */
    const char *end;
    int module;
} kernel_symbol;

typedef struct {
    pfc_answers *answers;
    uint64_t *best; /* address of the symbol that names keys[i], from those that begin after keys[i - 1] */
    uint64_t slide; /* added to the core kernel's symbols */
    const char *reference;
    uint64_t reference_address;
    int looking; /* first reading: only for the reference symbol */
    int found;
    uint64_t nonzero;
    pfc_kallsyms_facts *facts;
    /* The list is nearly sorted, so that symbol after symbol is the best one yet for a key: the last one waits here. */
    int waits;
    size_t waits_for; /* key */
    size_t waiting_size;
    char waiting[MAX_WAITING]; /* its line from the name on */
} reading;

/* There are more than a hundred thousand lines, and few of them name what was sampled: what is not needed to say so is left. */
static int parse(const char *p, const char *end, kernel_symbol *symbol) {
    p = pfc_parse_hex(p, end, &symbol->address);
    if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ' || strchr("\t \r", p[3]))
        return 0;
    char type = p[1];
    if (end[-1] == '\r')
        end--;
    symbol->name = p + 3;
    symbol->end = end;
    symbol->module = end[-1] == ']';
    return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static size_t name_size(const char *name, const char *end) {
    const char *stop = name;
    while (stop < end && *stop != '\t' && *stop != ' ')
        stop++;
    return (size_t)(stop - name);
}

static int settle(reading *r) {
    if (!r->waits)
        return 0;
    r->waits = 0;
    return pfc_answers_name(r->answers, r->waits_for, r->waits_for + 1, r->waiting,
                            name_size(r->waiting, r->waiting + r->waiting_size));
}

static int is_reference(const reading *r, const kernel_symbol *symbol) {
    size_t size = strlen(r->reference);
    return !symbol->module && (size_t)(symbol->end - symbol->name) >= size &&
           memcmp(r->reference, symbol->name, size) == 0 && name_size(symbol->name, symbol->end) == size;
}

static int take(reading *r, const kernel_symbol *symbol) {
    if (r->looking) {
        r->nonzero += symbol->address != 0;
        if (!r->found && is_reference(r, symbol)) {
            r->found = 1;
            r->slide = r->reference_address - symbol->address;
        }
        return 0;
    }
    r->facts->symbols++;
    r->nonzero += symbol->address != 0;
    uint64_t address = symbol->address + (symbol->module ? 0 : r->slide);
    size_t at = pfc_answers_at(r->answers, address), size = (size_t)(symbol->end - symbol->name);
    int same = r->waits && r->waits_for == at, named = at < r->answers->count && (same || r->answers->name[at]);
    /* The first of several names at one address wins: that is the one with the file's own order (aliases follow). */
    if (at == r->answers->count || (named && r->best[at] >= address))
        return 0;
    int status = same ? 0 : settle(r);
    if (status)
        return status;
    r->best[at] = address;
    r->waits = size <= sizeof r->waiting;
    if (!r->waits)
        return pfc_answers_name(r->answers, at, at + 1, symbol->name, name_size(symbol->name, symbol->end));
    r->waits_for = at;
    r->waiting_size = size;
    memcpy(r->waiting, symbol->name, size);
    return 0;
}

static int read_all(reading *r, const char *path, profconv_error *error) {
    profconv_input *input = NULL;
    int fd = -1;
    int status = pfc_text_open(&input, &fd, path, error);
    while (!status && !(r->looking && r->found && r->nonzero)) {
        const char *line = NULL;
        size_t size = 0;
        int got = 0, terminated = 0;
        status = pfc_input_line(input, MAX_LINE, &line, &size, &got, &terminated, error);
        if (status || !got)
            break;
        kernel_symbol symbol;
        if (parse(line, line + size, &symbol) && (status = take(r, &symbol)) != 0)
            profconv_error_set(error, status, PROFCONV_NO_OFFSET, 0, "%s: no memory for its names", path);
    }
    if (!status && (status = settle(r)) != 0)
        profconv_error_set(error, status, PROFCONV_NO_OFFSET, 0, "%s: no memory for its names", path);
    profconv_input_free(input);
    if (fd >= 0)
        close(fd);
    return status;
}

int pfc_kallsyms_read(pfc_answers *answers, const char *path, const char *reference, uint64_t reference_address,
                      pfc_kallsyms_facts *facts, profconv_error *error) {
    memset(facts, 0, sizeof *facts);
    reading r = {.answers = answers, .reference = reference, .reference_address = reference_address, .facts = facts};
    int status = 0;
    if (*reference && reference_address) {
        r.looking = 1;
        status = read_all(&r, path, error);
        r.looking = 0;
        facts->hidden = !status && r.nonzero == 0;
        facts->moved = r.found && r.slide != 0;
        if (status || facts->hidden)
            return status;
        r.nonzero = 0;
    }
    r.best = pfc_alloc_zero(answers->mem, answers->count * sizeof *r.best);
    if (!r.best && answers->count)
        return pfc_mem_error(answers->mem, error);
    status = read_all(&r, path, error);
    facts->hidden = !status && r.nonzero == 0;
    if (facts->hidden && answers->count)
        memset(answers->name, 0, answers->count * sizeof *answers->name);
    /* Keys without a symbol of their own are in the code of the symbol before. */
    for (size_t i = 1; i < answers->count && !facts->hidden; i++)
        if (!answers->name[i])
            answers->name[i] = answers->name[i - 1];
    pfc_free(answers->mem, r.best, answers->count * sizeof *r.best);
    return status;
}

void pfc_running_kernel_id(char *out, size_t out_size) {
    unsigned char bytes[4096];
    out[0] = 0;
    int fd = pfc_open_regular("/sys/kernel/notes");
    if (fd < 0)
        return;
    ssize_t n;
    do
        n = read(fd, bytes, sizeof bytes);
    while (n < 0 && errno == EINTR);
    close(fd);
    const uint16_t one = 1;
    pfc_cursor c = pfc_cursor_make(bytes, n > 0 ? (size_t)n : 0, 0, *(const unsigned char *)&one == 0);
    while (pfc_cursor_left(&c) >= 12 && !c.failed) {
        uint32_t name_size = pfc_u32(&c), size = pfc_u32(&c), type = pfc_u32(&c);
        const uint8_t *name = pfc_take(&c, name_size);
        pfc_skip(&c, -name_size & 3u);
        const uint8_t *id = pfc_take(&c, size);
        pfc_skip(&c, -size & 3u);
        if (name && id && type == 3 && name_size == 4 && memcmp(name, "GNU", 4) == 0 && 2 * (size_t)size < out_size) {
            for (uint32_t i = 0; i < size; i++) {
                out[2 * i] = "0123456789abcdef"[id[i] >> 4];
                out[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
            }
            out[2 * size] = 0;
            return;
        }
    }
}
