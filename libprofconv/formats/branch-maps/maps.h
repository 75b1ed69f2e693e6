/* SPDX-License-Identifier: MIT
 *
 * The three maps of one binary, keyed by file offsets, that autofdo-text and profgen-raw print: which binary, which
 * rows, in which order, and what was left out.
 */
#ifndef PFC_BRANCH_MAPS_MAPS_H
#define PFC_BRANCH_MAPS_MAPS_H

#include <profconv/plugin.h>

#include "libprofconv/base/text.h"
#include "libprofconv/io/io.h"

typedef struct pfc_map_row {
    uint64_t from; /* file offsets; begin of a range, the address itself */
    uint64_t to;   /* end of a range, 0 for addresses */
    uint64_t count;
} pfc_map_row;

typedef PFC_VEC(pfc_map_row) pfc_map_rows;

typedef struct pfc_maps {
    pfc_mem *mem;
    pfc_map_rows ranges;
    pfc_map_rows branches;
    pfc_map_rows addresses;
    pfc_map_rows entries; /* branches from outside the binary: `from` is 0 */
} pfc_maps;

/* Rows sorted and distinct. `binary`: path, base name or build-id, or NULL for the one with the most counts. What
 * belongs to no row goes to the report. Free in both cases. */
int pfc_maps_make(pfc_maps *maps, pfc_mem *mem, const profconv_profile *profile, const char *binary,
                  profconv_report *report, profconv_error *error);
void pfc_maps_free(pfc_maps *maps);
/* Whether a row counts something: a map of zeros only is as good as none, and could not be read to be written again. */
int pfc_map_counted(const pfc_map_rows *rows);

/* Reading: a line without blanks at its ends; skips empty lines when `skip_empty`. *got is 0 at the end. */
typedef struct pfc_map_lines {
    profconv_input *input;
    profconv_error *error;
    uint64_t number; /* of the line in hand */
    const char *text;
    const char *end;
    int got;
} pfc_map_lines;
int pfc_map_next_line(pfc_map_lines *lines);
/* The error "line N: found '...', expected ...". */
int pfc_map_bad_line(const pfc_map_lines *lines, const char *expected);
/* A whole line that is a decimal number. */
int pfc_map_count(const pfc_map_lines *lines, uint64_t *count);
/* "HEX<separator>HEX:DEC", or "HEX:DEC" when separator is "". Blanks and 0x before numbers are let pass. */
int pfc_map_pair(const pfc_map_lines *lines, const char *separator, pfc_map_row *row);

#endif
