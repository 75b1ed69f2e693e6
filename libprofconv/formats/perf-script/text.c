/* SPDX-License-Identifier: MIT
 *
 * Lines of perf script's text. A thread's name can be anything, so a header is found from the numbers behind it: the
 * first place where "tid" or "pid/tid" is followed by what perf prints there, up to the time or the event's colon.
 */
#include "libprofconv/formats/perf-script/text.h"

#include <string.h>

#include "libprofconv/base/text.h"

ps_text ps_trim(ps_text t) {
    while (t.size > 0 && ps_is_blank(t.data[0])) {
        t.data++;
        t.size--;
    }
    while (t.size > 0 && ps_is_blank(t.data[t.size - 1]))
        t.size--;
    return t;
}

int ps_text_starts(ps_text t, const char *head) {
    size_t n = strlen(head);
    return t.size >= n && memcmp(t.data, head, n) == 0;
}
int ps_text_ends(ps_text t, const char *tail) {
    size_t n = strlen(tail);
    return t.size >= n && memcmp(t.data + t.size - n, tail, n) == 0;
}
int ps_text_is(ps_text t, const char *word) { return t.size == strlen(word) && ps_text_starts(t, word); }

const char *ps_text_find(ps_text t, const char *word) {
    size_t n = strlen(word);
    const char *p = t.data, *end = t.data + t.size;
    while ((size_t)(end - p) >= n) {
        p = (const char *)memchr(p, word[0], (size_t)(end - p) - n + 1);
        if (!p || memcmp(p, word, n) == 0)
            return p;
        p++;
    }
    return NULL;
}

/* ---- headers ---- */

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && ps_is_blank(*p))
        p++;
    return p;
}
static const char *word_end(const char *p, const char *end) {
    while (p < end && !ps_is_blank(*p))
        p++;
    return p;
}
static int ends_word(const char *p, const char *end) { return p && (p == end || ps_is_blank(*p)); }

/* "secs.fraction:" with six or nine digits (others are taken, too). */
static const char *parse_time(const char *p, const char *end, uint64_t *ns) {
    uint64_t seconds, unit = 100000000, fraction = 0;
    p = pfc_parse_u64(p, end, &seconds);
    if (!p || p == end || *p != '.' || ++p == end || !ps_is_digit(*p))
        return NULL;
    for (; p < end && ps_is_digit(*p); p++, unit /= 10)
        fraction += unit * (uint64_t)(*p - '0');
    if (p == end || *p != ':' || !ends_word(p + 1, end))
        return NULL;
    *ns = pfc_add_sat(pfc_mul_sat(seconds, 1000000000), fraction);
    return p + 1;
}

/* "[003]" */
static const char *parse_cpu(const char *p, const char *end, ps_header *h) {
    const char *at = p < end && *p == '[' ? pfc_parse_u64(p + 1, end, &h->cpu) : NULL;
    if (!at || at == end || *at != ']' || !ends_word(at + 1, end))
        return p;
    h->has_cpu = 1;
    return skip_blanks(at + 1, end);
}

/* "12:34:56.789", a time of day. */
static const char *skip_time_of_day(const char *p, const char *end) {
    const char *at = p;
    unsigned colons = 0;
    for (; at < end && (ps_is_digit(*at) || *at == ':' || *at == '.'); at++)
        colons += *at == ':';
    return colons == 2 && ends_word(at, end) ? skip_blanks(at, end) : p;
}

/* A word of `letters` only: printed before the time when asked for, as the time of day is. */
static const char *skip_word_of(const char *p, const char *end, const char *letters) {
    const char *at = p;
    while (at < end && *at && strchr(letters, *at))
        at++;
    return at > p && ends_word(at, end) ? skip_blanks(at, end) : p;
}

static int parse_event(const char *p, const char *end, ps_header *h) {
    const char *at = word_end(p, end);
    ps_text word = {p, (size_t)(at - p)};
    for (size_t i = 0; i < word.size; i++)
        if ((unsigned char)word.data[i] < ' ' || word.data[i] == 0x7f)
            return 0; /* no event has control characters in its name */
    if (ps_text_starts(word, "PERF_RECORD_") || (word.size >= 2 && word.data[word.size - 1] == ':')) {
        h->event = word;
        if (word.data[word.size - 1] == ':')
            h->event.size--;
        ps_text rest = {at, (size_t)(end - at)};
        h->rest = ps_trim(rest);
        return 1;
    }
    return 0;
}

/* What follows the ids. */
static int parse_behind(const char *p, const char *end, ps_header *h) {
    p = parse_cpu(skip_blanks(p, end), end, h);
    const char *time = parse_time(p, end, &h->time);
    if (!time) {
        const char *other = skip_time_of_day(skip_word_of(p, end, "KUHGgMESps"), end);
        if (other != p && (time = parse_time(other, end, &h->time)) == NULL)
            return 0;
    }
    h->has_time = time != NULL;
    p = skip_blanks(time ? time : p, end);
    const char *at = pfc_parse_u64(p, end, &h->period);
    h->has_period = at && at < end && ps_is_blank(*at);
    const char *event = h->has_period ? skip_blanks(at, end) : p;
    /* Without a time the event must be all that is left, and look like one. */
    if (parse_event(event, end, h) && (time || (h->rest.size == 0 && ((*event | 32) >= 'a' && (*event | 32) <= 'z'))))
        return 1;
    if (!time)
        return 0;
    /* A time and no event: what is left is a frame, or nothing. */
    ps_text rest = {p, (size_t)(end - p)};
    h->has_period = 0;
    h->event.data = p;
    h->event.size = 0;
    h->rest = ps_trim(rest);
    return 1;
}

/* "tid" or "pid/tid" from p on. */
static const char *parse_ids(const char *p, const char *end, ps_header *h) {
    const char *at = pfc_parse_i64(p, end, &h->tid);
    h->has_pid = 0;
    if (at && at < end && *at == '/') {
        h->pid = h->tid;
        h->has_pid = 1;
        at = pfc_parse_i64(at + 1, end, &h->tid);
    }
    return ends_word(at, end) && at < end ? at : NULL;
}

/* "VM:1234 VCPU:000 " stands before samples of virtual machines. */
static ps_text without_machine(ps_text comm) {
    const char *end = comm.data + comm.size;
    uint64_t number;
    if (!ps_text_starts(comm, "VM:"))
        return comm;
    const char *p = pfc_parse_u64(comm.data + 3, end, &number);
    p = p ? skip_blanks(p, end) : end;
    if (end - p < 5 || memcmp(p, "VCPU:", 5) != 0 || !(p = pfc_parse_u64(p + 5, end, &number)))
        return comm;
    ps_text rest = {p, (size_t)(end - p)};
    return ps_trim(rest);
}

int ps_parse_header(ps_text line, ps_header *out) {
    const char *end = line.data + line.size;
    for (const char *p = line.data; p < end;) {
        p = skip_blanks(p, end);
        if (p < end && (ps_is_digit(*p) || *p == '-')) {
            memset(out, 0, sizeof *out);
            const char *behind = parse_ids(p, end, out);
            if (behind && parse_behind(behind, end, out)) {
                ps_text comm = {line.data, (size_t)(p - line.data)};
                out->comm = without_machine(ps_trim(comm));
                return 1;
            }
        }
        p = word_end(p, end);
    }
    return 0;
}

/* ---- frames ---- */

/* The start of the parentheses that close at the end of the text, nested ones counted; text.size when there are none.
 */
static size_t last_group(ps_text t) {
    size_t depth = 0;
    for (size_t i = t.size; i > 0; i--) {
        if (t.data[i - 1] == ')')
            depth++;
        else if (t.data[i - 1] == '(' && depth > 0 && --depth == 0)
            return i - 1;
    }
    return t.size;
}

/* "+0x1f" at the end, or the text's size. */
static size_t offset_start(ps_text t) {
    size_t at = t.size;
    while (at > 0 && (ps_is_digit(t.data[at - 1]) || (t.data[at - 1] >= 'a' && t.data[at - 1] <= 'f')))
        at--;
    return at < t.size && at >= 3 && memcmp(t.data + at - 3, "+0x", 3) == 0 ? at - 3 : t.size;
}

static void set_symbol(ps_frame *f, ps_text t) {
    t = ps_trim(t);
    t.size = offset_start(t);
    if (ps_text_is(t, "[unknown]") || (ps_text_starts(t, "[0x") && ps_text_ends(t, "]")))
        t.size = 0;
    f->symbol = t;
}

static void set_dso(ps_frame *f, ps_text t) {
    f->has_dso = 1;
    if (ps_text_is(t, "inlined")) {
        f->inlined = 1;
        return;
    }
    size_t at = offset_start(t);
    if (at < t.size) {
        const char *end = t.data + t.size;
        f->has_offset = pfc_parse_hex(t.data + at + 3, end, &f->offset) == end;
        t.size = at;
    }
    if (!ps_text_is(t, "[unknown]"))
        f->dso = t;
}

int ps_parse_frame(ps_text line, ps_frame *out) {
    memset(out, 0, sizeof *out);
    line = ps_trim(line);
    const char *end = line.data + line.size;
    const char *p = pfc_parse_hex(line.data, end, &out->address);
    out->symbol.data = out->dso.data = line.data;
    if (!ends_word(p, end))
        return 0;
    if (p == end)
        return 1;
    ps_text rest = {p + 1, (size_t)(end - p - 1)};
    /* Seen in text of 2012. */
    if (ps_text_ends(rest, ").init.text"))
        rest.size -= 10;
    size_t group = rest.size > 0 && rest.data[rest.size - 1] == ')' ? last_group(rest) : rest.size;
    /* perf prints a blank before it; without one it is the argument list of a symbol. */
    if (group < rest.size && (group == 0 || ps_is_blank(rest.data[group - 1]))) {
        ps_text dso = {rest.data + group + 1, rest.size - group - 2};
        set_dso(out, dso);
        rest.size = group;
    } else if (ps_text_find(rest, "/0x"))
        return 0; /* a damaged branch stack */
    set_symbol(out, rest);
    return 1;
}

int ps_parse_source(ps_text line, ps_source *out) {
    memset(out, 0, sizeof *out);
    out->file.data = line.data;
    if (line.size < 2 || line.data[0] != ' ' || line.data[1] != ' ' || (line.size > 2 && ps_is_blank(line.data[2])))
        return 0;
    ps_text t = ps_trim(line);
    if (ps_text_ends(t, "(inlined)")) {
        out->inlined = 1;
        t.size -= 9;
        t = ps_trim(t);
    }
    if (t.size == 0 || ps_text_ends(t, "]"))
        return 1; /* "lib.so[1a2b]": no source line known */
    const char *end = t.data + t.size, *colon = end;
    if (ps_text_ends(t, ")") && last_group(t) > 0 && last_group(t) < t.size) {
        t.size = last_group(t); /* " (discriminator 2)" */
        t = ps_trim(t);
        colon = end = t.data + t.size;
    }
    while (colon > t.data && colon[-1] != ':')
        colon--;
    if (colon == t.data || pfc_parse_u64(colon, end, &out->line) != end)
        return 0;
    out->file.data = t.data;
    out->file.size = (size_t)(colon - 1 - t.data);
    return out->file.size > 0;
}

/* ---- branch stacks ---- */

/* "0xFROM" or "0xFROM(file)" at p, up to `stop`; NULL when it is none. */
static const char *parse_side(const char *p, const char *end, uint64_t *address) {
    /* As llvm-profgen, which looks at no prefix: the first two bytes are dropped. */
    if (end - p < 3 || p[0] != '0' || p[1] != 'x')
        return NULL;
    p = pfc_parse_hex(p + 2, end, address);
    if (p && p < end && *p == '(') {
        while (p < end && *p != ')')
            p++;
        return p < end ? p + 1 : NULL;
    }
    return p;
}

static const char *parse_pair(const char *p, const char *end, ps_branch *out) {
    p = parse_side(p, end, &out->from);
    if (!p || p == end || *p != '/')
        return NULL;
    p = parse_side(p + 1, end, &out->to);
    return p && (p == end || *p == '/' || ps_is_blank(*p)) ? p : NULL;
}

size_t ps_find_branches(ps_text line) {
    const char *end = line.data + line.size;
    ps_branch branch;
    for (const char *p = line.data; p < end;) {
        p = skip_blanks(p, end);
        if (end - p > 2 && p[0] == '0' && p[1] == 'x' && parse_pair(p, end, &branch))
            return (size_t)(p - line.data);
        p = word_end(p, end);
    }
    return SIZE_MAX;
}

/* Behind the addresses: P|M|-/X|-/A|-/CYCLES[/TYPE/SPECULATION]. Newer recorders put several letters into the first. */
static const char *parse_fields(const char *p, const char *end, ps_branch *out) {
    for (unsigned field = 0; p < end && *p == '/'; field++) {
        const char *start = ++p;
        while (p < end && *p != '/' && !ps_is_blank(*p))
            p++;
        ps_text t = {start, (size_t)(p - start)};
        if (field == 0)
            out->mispredicted = t.size > 0 && memchr(t.data, 'M', t.size) != NULL;
        else if (field == 3 && (t.size == 0 || pfc_parse_u64(t.data, p, &out->cycles) != p))
            out->cycles = 0;
        else if (field > 3 && ps_text_is(t, "SPEC_WRONG_PATH"))
            out->wrong_path = 1;
    }
    return p;
}

int ps_next_branch(ps_text line, size_t *at, ps_branch *out) {
    const char *end = line.data + line.size, *p = skip_blanks(line.data + *at, end);
    memset(out, 0, sizeof *out);
    if (p == end) {
        *at = line.size;
        return 0;
    }
    const char *behind = parse_pair(p, end, out);
    if (behind)
        behind = parse_fields(behind, end, out);
    int good = behind && (behind == end || ps_is_blank(*behind));
    *at = (size_t)((good ? behind : word_end(p, end)) - line.data);
    return good ? 1 : -1;
}

size_t ps_find_named_branches(ps_text line) {
    const char *end = line.data + line.size;
    for (const char *p = line.data; (p = (const char *)memchr(p, '/', (size_t)(end - p))) != NULL; p++) {
        const char *at = p + 1;
        while (at < end && (*at == 'P' || *at == 'M' || *at == 'N' || *at == '-'))
            at++;
        if (at > p + 1 && end - at > 5 && at[0] == '/' && (at[1] == 'X' || at[1] == '-') && at[2] == '/' &&
            (at[3] == 'A' || at[3] == '-') && at[4] == '/' && (ps_is_digit(at[5]) || at[5] == '-'))
            return (size_t)(p - line.data);
    }
    return SIZE_MAX;
}

int ps_is_instruction(ps_text line) {
    uint64_t address;
    if (line.size < 18 || line.data[0] != '\t' || line.data[17] != '\t')
        return 0;
    return pfc_parse_hex(line.data + 1, line.data + 17, &address) == line.data + 17;
}

/* ---- events ---- */

size_t ps_event_base(ps_text name) {
    size_t end = name.size;
    while (end > 0 && memchr("ukhpPGHSDIWebR", name.data[end - 1], 14))
        end--;
    if (end < 2 || end == name.size)
        return name.size;
    if (name.data[end - 1] == '/') /* cpu/event=0x3c/u: the slash stays, and there must be another before it */
        return memchr(name.data, '/', end - 1) ? end : name.size;
    return name.data[end - 1] == ':' ? end - 1 : name.size;
}
