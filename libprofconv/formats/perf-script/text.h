/* SPDX-License-Identifier: MIT
 *
 * What single lines of perf script's text mean, without any state: headers of samples, frames, source lines, entries of
 * branch stacks. Texts point into the line and are not NUL-terminated.
 */
#ifndef PFC_PERF_SCRIPT_TEXT_H
#define PFC_PERF_SCRIPT_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct ps_text {
    const char *data;
    size_t size;
} ps_text;

typedef struct ps_header {
    ps_text comm;
    ps_text event; /* empty: the text has none; "PERF_RECORD_..." for the record lines */
    ps_text rest;  /* behind the event, without blanks at its ends */
    uint64_t time; /* nanoseconds */
    uint64_t period;
    int64_t pid, tid;
    uint64_t cpu;
    uint8_t has_pid, has_cpu, has_time, has_period;
} ps_header;

typedef struct ps_frame {
    uint64_t address;
    ps_text symbol;  /* empty: none */
    ps_text dso;     /* empty: none or unknown */
    uint64_t offset; /* with has_offset: in the file, printed behind its name */
    uint8_t inlined, has_offset, has_dso;
} ps_frame;

typedef struct ps_source {
    ps_text file; /* empty: unknown */
    uint64_t line;
    int inlined;
} ps_source;

typedef struct ps_branch {
    uint64_t from, to, cycles;
    uint8_t mispredicted, wrong_path;
} ps_branch;

static inline int ps_is_blank(char c) { return c == ' ' || c == '\t'; }
static inline int ps_is_digit(char c) { return c >= '0' && c <= '9'; }

ps_text ps_trim(ps_text text);
int ps_text_is(ps_text text, const char *word);
int ps_text_starts(ps_text text, const char *head);
int ps_text_ends(ps_text text, const char *tail);
/* The first place of `word` in the text, or NULL. */
const char *ps_text_find(ps_text text, const char *word);

/* Nonzero when the line is the header of a sample or of a record. */
int ps_parse_header(ps_text line, ps_header *out);
/* "address symbol+0x12 (file)", or an address alone. */
int ps_parse_frame(ps_text line, ps_frame *out);
/* "  file:line", what perf prints below a frame for its source line. */
int ps_parse_source(ps_text line, ps_source *out);
/* Where the first "0xFROM/0xTO" stands; SIZE_MAX when there is none. */
size_t ps_find_branches(ps_text line);
/* The next entry of a branch stack from *at on. 0: the end; 1: an entry; -1: a word that is none (*at is behind it). */
int ps_next_branch(ps_text line, size_t *at, ps_branch *out);
/* Where the fields of the first entry of a branch stack stand whose ends are names ("from+0x1/to+0x0/P/-/-/3");
 * SIZE_MAX when there is none. */
size_t ps_find_named_branches(ps_text line);
/* Nonzero for an instruction of a branch stack that was printed with its code: TAB, sixteen digits, TAB. */
int ps_is_instruction(ps_text line);
/* Bytes of an event's name without its modifiers. */
size_t ps_event_base(ps_text name);

#endif
