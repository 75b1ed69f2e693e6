/* SPDX-License-Identifier: MIT
 *
 * What the columns of a folded text are.
 */
#ifndef PFC_COLLAPSED_LAYOUT_H
#define PFC_COLLAPSED_LAYOUT_H

#include "libprofconv/formats/collapsed/counts.h"
#include "libprofconv/formats/collapsed/lines.h"

#define PFC_COLUMNS_MAX 16

typedef enum pfc_layout_kind {
    PFC_LAYOUT_COUNT = 0, /* stack, `columns` numbers */
    PFC_LAYOUT_TRIPLE,    /* stack, Austin's a,b,c */
    PFC_LAYOUT_LEADING,   /* number, stack */
    PFC_LAYOUT_BARE       /* stack alone: each counts one */
} pfc_layout_kind;

typedef struct pfc_layout {
    pfc_layout_kind kind;
    uint32_t columns;
    int header; /* the first line of data names the columns */
    int any;    /* there was a line of data */
} pfc_layout;

/* A line without blanks and CR at its ends. */
typedef struct pfc_row {
    const char *data;
    size_t size;
} pfc_row;

/* A row split into its stack and its numbers. */
typedef struct pfc_split {
    pfc_row stack;
    pfc_count counts[PFC_COLUMNS_MAX];
    uint32_t count;
} pfc_split;

pfc_row pfc_row_trim(const char *line, size_t size);
/* Nonzero for "# key: value" lines and the like. */
int pfc_row_is_comment(pfc_row row);
/* "samples/count cpu/nanoseconds": the number of columns, or 0. Column i is row.data[starts[i] .. starts[i] +
 * sizes[i]). */
uint32_t pfc_row_header(pfc_row row, size_t starts[PFC_COLUMNS_MAX], size_t sizes[PFC_COLUMNS_MAX]);
/* The last blank-separated word of a row; *rest is what stands before it, trimmed (all of the row: no blank). */
pfc_row pfc_row_last_word(pfc_row row, pfc_row *rest);

/* Splits by the layout. 0: the row does not fit it. */
int pfc_row_split(pfc_row row, const pfc_layout *layout, pfc_split *out);
/* Looks at lines until only one layout is possible, which one or two lines usually settle. */
int pfc_layout_survey(profconv_input *input, pfc_mem *mem, pfc_layout *out, profconv_error *error);

#endif
