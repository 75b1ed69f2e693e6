/* SPDX-License-Identifier: MIT
 *
 * What the readers of gperftools' and Go's older profiles share: the whole input, its memory map, its symbol lines, and
 * samples whose frames are run-time addresses.
 */
#ifndef PFC_LEGACY_H
#define PFC_LEGACY_H

#include <string.h>

#include <profconv/plugin.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/base/sort.h"
#include "libprofconv/base/text.h"
#include "libprofconv/io/io.h"

typedef struct lp_text {
    const char *data;
    size_t size;
} lp_text;

typedef struct lp_map {
    uint64_t start, limit, offset;
    profconv_id file, build_id;
    profconv_id mapping; /* 0: not used yet */
    int first;           /* of the list: the program */
} lp_map;

/* A line "#<TAB>0xADDRESS<TAB>function+0x1<TAB>file:line". */
typedef struct lp_symbol {
    uint64_t address;
    profconv_id function;
    int64_t line;
    uint32_t block; /* the sample it belongs to */
} lp_symbol;

typedef struct lp_reader {
    pfc_mem mem;
    profconv_builder *builder;
    profconv_report *report;
    profconv_error *error;
    uint8_t *data;
    size_t size, capacity;
    PFC_VEC(lp_map) maps; /* by start once read */
    profconv_id anywhere; /* mapping for addresses in none */
    PFC_VEC(lp_symbol) symbols;
    PFC_VEC(pfc_key) by_address;
    PFC_VEC(profconv_id) stack;
    PFC_VEC(profconv_line) lines;
    profconv_id last_stack; /* of the last sample */
    uint64_t other_lines, other_line, samples;
} lp_reader;

int lp_start(lp_reader *r, profconv_input *input, profconv_builder *builder, profconv_error *error);
void lp_free(lp_reader *r);
int lp_failed(lp_reader *r);
int lp_finish(lp_reader *r);

/* The next line of text[0..size) from *at on, without its end; 0 at the end. */
int lp_next_line(const uint8_t *text, size_t size, size_t *at, lp_text *line);
lp_text lp_trim(lp_text t);
int lp_starts(lp_text t, const char *head);
/* Lines of /proc/self/maps, or "start-end: file (@offset) build-id", from here to the end. */
int lp_read_maps(lp_reader *r, const uint8_t *text, size_t size);
/* "#<TAB>0x..."; nonzero when the line is one. */
int lp_read_symbol(lp_reader *r, lp_text line, uint32_t block);
int lp_sort_symbols(lp_reader *r);
profconv_id lp_location(lp_reader *r, uint64_t address);
/* Pushes an address onto r->stack, leaf first. */
int lp_push(lp_reader *r, uint64_t address);
/* The sample with r->stack, which is emptied. */
int lp_sample(lp_reader *r, profconv_id labels, const int64_t *values, uint32_t count);
void lp_type(lp_reader *r, const char *name, size_t size, const char *unit, profconv_value_role role);
void lp_period(lp_reader *r, const char *type, size_t size, const char *unit, int64_t period, int64_t duration_ns);

#endif
