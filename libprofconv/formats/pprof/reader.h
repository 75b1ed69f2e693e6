/* SPDX-License-Identifier: MIT
 *
 * The state of reading one pprof: what decode.c keeps of each submessage, and finish.c turns into rows.
 *
 * References to strings are kept as the 32-bit indexes of the file's table until the table is known. Entities have
 * rows from 1 in file order, kept apart from the ids that the file gives them.
 */
#ifndef PFC_PPROF_READER_H
#define PFC_PPROF_READER_H

#include <profconv/plugin.h>
#include <protobuf-c/protobuf-c.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/formats/pprof/kind.h"
#include "libprofconv/formats/pprof/trie.h"
#include "libprofconv/formats/pprof/wire.h"

typedef struct pfc_pprof_type {
    uint32_t type; /* string indexes */
    uint32_t unit;
} pfc_pprof_type;

typedef struct pfc_pprof_mapping {
    uint64_t start, limit, offset;
    uint32_t file, build_id; /* string indexes */
    uint32_t flags;          /* PROFCONV_MAPPING_HAS_* */
} pfc_pprof_mapping;

/* Top-level numbers that refer to strings. */
enum { PFC_PPROF_DROP, PFC_PPROF_KEEP, PFC_PPROF_DEFAULT, PFC_PPROF_DOC, PFC_PPROF_TEXTS };

/* Bytes of distinct label sets: numbers as in a spool, four a label: key, string, zigzag number, unit. */
typedef struct pfc_pprof_label_set {
    uint64_t first;
    uint32_t size;
    uint32_t id; /* finish: label set of the builder + 1; 0: not made yet */
} pfc_pprof_label_set;

typedef PFC_VEC(uint64_t) pfc_pprof_numbers;

typedef struct pfc_pprof_reader_state {
    pfc_mem mem;
    profconv_builder *builder;
    profconv_report *report;
    const profconv_limits *limits;
    profconv_error *error;
    uint64_t offset; /* of the field being read */

    pfc_arena arena; /* of the submessage being read */
    ProtobufCAllocator allocator;

    PFC_VEC(profconv_id) strings; /* file index -> interned */
    PFC_VEC(pfc_pprof_type) types;
    PFC_VEC(uint32_t) comments;
    pfc_pprof_type period_type;
    int64_t period, time, duration;
    uint32_t texts[PFC_PPROF_TEXTS];

    PFC_VEC(pfc_pprof_mapping) mappings;
    pfc_idset mapping_ids;
    /* name, linkage name, file, zigzag start line */
    pfc_spool functions;
    pfc_idset function_ids;
    /* mapping id, address, flags, number of lines, then for each: function id, zigzag line, zigzag column */
    pfc_spool locations;
    pfc_idset location_ids;
    pfc_pprof_trie trie;
    pfc_pprof_numbers ids, values; /* of the sample being read */
    pfc_cursor packed;             /* its ids instead, where they are the bytes of one packed field that was not decoded */
    /* trie node, label set row (0: none), number of values, zigzag values */
    pfc_spool samples;
    uint64_t sample_count;
    PFC_VEC(uint8_t) label_bytes;
    PFC_VEC(pfc_pprof_label_set) label_sets; /* [0]: none */
    pfc_index label_index;

    /* finish */
    profconv_id period_name, period_unit;
    PFC_VEC(uint8_t) columns; /* pfc_pprof_column of each sample type */
    size_t branch_columns;    /* how many of them are of branch records */

    uint64_t truncated_stacks;
    uint64_t shortened_stacks; /* of samples, for want of memory */
    int64_t shortened_weight;  /* by the last column */
    uint64_t ambiguous_labels; /* with a string and a number */
    uint64_t dangling_mappings;
} pfc_pprof_reader_state;

/* Ids of the model are 32 bits, and row 0 is taken. */
#define PFC_PPROF_ROWS_MAX 0xfffffff0u

/* sample.c */
int pfc_pprof_read_sample(pfc_pprof_reader_state *r, const uint8_t *data, size_t size);

/* decode.c: submessages, at state->offset. */
int pfc_pprof_read_type(pfc_pprof_reader_state *r, const uint8_t *data, size_t size, int period);
int pfc_pprof_read_mapping(pfc_pprof_reader_state *r, const uint8_t *data, size_t size);
int pfc_pprof_read_location(pfc_pprof_reader_state *r, const uint8_t *data, size_t size);
int pfc_pprof_read_function(pfc_pprof_reader_state *r, const uint8_t *data, size_t size);
static inline int pfc_pprof_is_index(int64_t index) { return index >= 0 && index < (int64_t)UINT32_MAX; }
/* Checks that `index` can be a string index; what and member name it in the message. */
int pfc_pprof_string_index(pfc_pprof_reader_state *r, int64_t index, const char *what, const char *member,
                           uint32_t *out);

int pfc_pprof_too_many(pfc_pprof_reader_state *r, const char *what);
/* A hint for messages when the file looks like two profiles in one, else "". */
const char *pfc_pprof_concatenated(const pfc_pprof_reader_state *r);

/* "location id 77" into out. */
#define PFC_PPROF_ENTITY 48
void pfc_pprof_entity(char out[PFC_PPROF_ENTITY], const char *kind, uint64_t number);

/* finish.c: checks what refers to what, and fills the builder. */
int pfc_pprof_finish(pfc_pprof_reader_state *r);
/* The interned string `index`; what and member name who refers to it. */
int pfc_pprof_string(pfc_pprof_reader_state *r, uint32_t index, const char *what, const char *member, profconv_id *out);
/* The builder's sticky error, or the memory limit over builder and reader together. */
int pfc_pprof_checkpoint(pfc_pprof_reader_state *r);

enum {
    PFC_PPROF_IS_EXTERNAL = 1, /* stands for anywhere outside of what is mapped */
    PFC_PPROF_NO_ADDRESS = 2   /* and not external */
};

/* finish_samples.c: the part of it after the tables. By location row: the builder's id, and the flags above. */
int pfc_pprof_finish_samples(pfc_pprof_reader_state *r, const profconv_id *locations, const uint8_t *location_flags);

#define PFC_PPROF_EXTERNAL "[external]"

#endif
