/* SPDX-License-Identifier: MIT
 *
 * The state of writing one pprof: which rows are written under which ids (select.c), how a message becomes bytes
 * (encode.c), and the messages themselves (writer.c, write_branches.c).
 */
#ifndef PFC_PPROF_WRITER_H
#define PFC_PPROF_WRITER_H

#include <profconv/plugin.h>

#include "libprofconv/base/mem.h"

/* ---- bytes ---- */

/* One message in the making, and finished ones on their way to the output. Failures are sticky in `status`. */
typedef struct pfc_pprof_encoder {
    pfc_mem *mem;
    profconv_output *output;
    profconv_error *error;
    int status;
    PFC_VEC(uint8_t) message;
    size_t begin; /* of the message in there */
    PFC_VEC(uint8_t) pending;
} pfc_pprof_encoder;

/* Adds a field to the message. Zero is the default of every field and is left out. */
void pfc_pprof_put(pfc_pprof_encoder *e, unsigned field, uint64_t value);
/* The same for a repeated field's element, where zero counts. */
void pfc_pprof_put_element(pfc_pprof_encoder *e, unsigned field, uint64_t value);
/* A repeated field; packed when that is shorter (more than two elements), as Go's writer does it; u32s are packed only
 * when the field is the first of its message. */
void pfc_pprof_put_u32s(pfc_pprof_encoder *e, unsigned field, const uint32_t *values, size_t count);
void pfc_pprof_put_i64s(pfc_pprof_encoder *e, unsigned field, const int64_t *values, size_t count);
/* A message of small scalars within the message: nothing but pfc_pprof_put calls between the two. */
size_t pfc_pprof_begin_inner(pfc_pprof_encoder *e, unsigned field);
void pfc_pprof_end_inner(pfc_pprof_encoder *e, size_t begin);
/* Ends the message: it becomes top-level field `field`. */
void pfc_pprof_end(pfc_pprof_encoder *e, unsigned field);
/* A top-level scalar or string. */
void pfc_pprof_top(pfc_pprof_encoder *e, unsigned field, uint64_t value);
/* The same for an element of a repeated field, where zero counts. */
void pfc_pprof_top_element(pfc_pprof_encoder *e, unsigned field, uint64_t value);
void pfc_pprof_top_bytes(pfc_pprof_encoder *e, unsigned field, const void *data, size_t size);
/* Hands everything to the output. */
void pfc_pprof_flush(pfc_pprof_encoder *e);

/* ---- choice of rows ---- */

/* A mapping or location that is written; ids are index + 1. */
typedef struct pfc_pprof_row {
    profconv_id row;
    uint32_t image; /* nonzero: in coordinates of the image, for branch records (see write_branches.c) */
} pfc_pprof_row;

typedef struct pfc_pprof_text {
    char *data;
    size_t size; /* without the NUL at its end */
} pfc_pprof_text;

typedef struct pfc_pprof_writer_state {
    pfc_mem mem;
    const profconv_profile *profile;
    profconv_report *report;
    pfc_pprof_encoder out;
    int branches; /* branch records are written */
    uint32_t forced_types; /* kinds of them whose sample types are there without rows too, a bit each */

    /* Model row -> id in the file, 0: not written. */
    uint32_t *function_ids, *mapping_ids, *location_ids;
    int ids_are_rows;                        /* of locations */
    uint32_t functions, mappings, locations; /* rows of the model's tables, the none row included */
    /* The same for the second entry of rows that branch records show in other coordinates; NULL without any. */
    uint32_t *image_mapping_ids, *image_location_ids;
    uint8_t *branch_mappings; /* by model row: branch records are in it, so it must not claim functions */
    PFC_VEC(pfc_pprof_row) mapping_order, location_order;
    PFC_VEC(profconv_id) function_order;
    int nameless;               /* a line without a function was written: it has the id after the last */
    uint32_t external_function; /* id of a function that the model does not have, 0: not needed */
    uint32_t external_location; /* id, 0: not needed */

    uint32_t *string_ids; /* model row -> index in the file + 1, 0: not yet */
    uint32_t string_rows;
    PFC_VEC(profconv_string) string_order; /* what is not the model's own is static, or in `texts` */
    PFC_VEC(pfc_pprof_text) texts;         /* to be freed */

    PFC_VEC(uint32_t) ids; /* of one sample */
    PFC_VEC(int64_t) values;

    uint64_t lost_discriminators;
    uint64_t lost_empty_labels;
} pfc_pprof_writer_state;

/* select.c */
int pfc_pprof_select(pfc_pprof_writer_state *w, profconv_error *error);
void pfc_pprof_select_free(pfc_pprof_writer_state *w);
/* Index in the file's string table; 0 for the empty string and after an error (sticky in w->out.status). */
uint32_t pfc_pprof_string_of(pfc_pprof_writer_state *w, profconv_id string);
/* The same for text that the model does not hold. `text` must outlive the writing. */
uint32_t pfc_pprof_text_of(pfc_pprof_writer_state *w, const char *text, size_t size);
/* prefix + separator + rest, as one text. */
uint32_t pfc_pprof_joined(pfc_pprof_writer_state *w, profconv_string prefix, const char *separator,
                          profconv_string rest);

/* write_branches.c */
/* Gives ids to what branch records refer to. */
int pfc_pprof_select_branches(pfc_pprof_writer_state *w);
/* Number of sample types of branch records; written when `write` is nonzero. */
/* From a list such as "branch,range"; UINT32_MAX when it names something else. NULL: none. */
uint32_t pfc_pprof_forced_types(const char *list);
uint32_t pfc_pprof_branch_types(pfc_pprof_writer_state *w, int write);
void pfc_pprof_write_branches(pfc_pprof_writer_state *w, uint32_t first_column, uint32_t columns);
/* Nonzero when branch records show this mapping from the image's start on, wherever it was loaded. */
int pfc_pprof_has_image(const profconv_mapping *mapping);
/* Start of that. */
uint64_t pfc_pprof_image_start(const profconv_mapping *mapping);

/* Adds an entry, giving it an id. 0, or the sticky status. */
uint32_t pfc_pprof_add_mapping(pfc_pprof_writer_state *w, profconv_id row, uint32_t image);
uint32_t pfc_pprof_add_location(pfc_pprof_writer_state *w, profconv_id row, uint32_t image);
void pfc_pprof_add_function(pfc_pprof_writer_state *w, profconv_id row);

#define PFC_PPROF_EXTERNAL_NAME "[external]"

/* Numbers of fields. */
enum {
    PFC_PB_SAMPLE_TYPE = 1,
    PFC_PB_SAMPLE,
    PFC_PB_MAPPING,
    PFC_PB_LOCATION,
    PFC_PB_FUNCTION,
    PFC_PB_STRING,
    PFC_PB_DROP_FRAMES,
    PFC_PB_KEEP_FRAMES,
    PFC_PB_TIME,
    PFC_PB_DURATION,
    PFC_PB_PERIOD_TYPE,
    PFC_PB_PERIOD,
    PFC_PB_COMMENT,
    PFC_PB_DEFAULT_SAMPLE_TYPE,
    PFC_PB_DOC_URL
};

#endif
