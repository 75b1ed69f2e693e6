/* SPDX-License-Identifier: MIT
 *
 * What the writers for viewers share: frames with the names that people see, the merged tree of stacks, the columns of
 * values that are shown, and text that is safe inside JSON, XML and plain lines.
 */
#ifndef PFC_VIEWERS_VIEW_H
#define PFC_VIEWERS_VIEW_H

#include <profconv/plugin.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/base/sort.h"
#include "libprofconv/base/text.h"

#define PFC_VIEW_NONE UINT32_MAX

/* ---- text.c ---- */

/* All take bytes and write valid UTF-8: what is not UTF-8 becomes U+FFFD, one for each byte that starts no character.
 */
void pfc_view_json(pfc_buf *out, const char *data, size_t size); /* with its quotes; no '<', '>', '&' remains */
void pfc_view_xml(pfc_buf *out, const char *data, size_t size);  /* for text and attributes */
void pfc_view_line(pfc_buf *out, const char *data, size_t size); /* control characters become blanks */
/* Bytes that the first `most` characters take. */
size_t pfc_view_cut(const char *data, size_t size, size_t most);
/* Hundredths: "12.30". */
void pfc_view_hundredths(pfc_buf *out, double value);

/* ---- writing.c ---- */

/* Bytes on their way to an output. */
typedef struct pfc_view_out {
    pfc_buf buf;
    profconv_output *output;
    profconv_error *error;
    int status; /* sticky */
} pfc_view_out;
void pfc_view_out_init(pfc_view_out *out, pfc_mem *mem, profconv_output *output, profconv_error *error);
/* Hands on what has gathered, when it is much or `all`. 0 or a status. */
int pfc_view_flush(pfc_view_out *out, int all);

/* ---- rows.c ---- */

/* Rows of `width` numbers, each once, counted from 1. Zeroed but for its width it is empty. */
typedef struct pfc_view_rows {
    uint32_t width;
    uint32_t count;
    PFC_VEC(uint32_t) cells;
    pfc_index index;
} pfc_view_rows;
/* 0 or a status. */
int pfc_view_rows_add(pfc_view_rows *rows, pfc_mem *mem, const uint32_t *cells, uint32_t *row);
void pfc_view_rows_free(pfc_view_rows *rows, pfc_mem *mem);
static inline const uint32_t *pfc_view_row(const pfc_view_rows *rows, uint32_t row) {
    return rows->cells.data + (size_t)(row - 1) * rows->width;
}

/* ---- frames.c ---- */

typedef enum pfc_view_kind {
    PFC_VIEW_ROOT = 0, /* the whole, or a thread's name */
    PFC_VIEW_USER,
    PFC_VIEW_LIBRARY,
    PFC_VIEW_KERNEL,
    PFC_VIEW_JIT,
    PFC_VIEW_INLINED, /* into its caller; what it lies in is not said otherwise */
    PFC_VIEW_OTHER,   /* stands for frames that are not shown, or unknown */
    PFC_VIEW_KINDS
} pfc_view_kind;
extern const char *const pfc_view_kind_names[PFC_VIEW_KINDS];

/* Texts are rows of a table of their own; text 0 is empty. */
typedef struct pfc_view_text {
    size_t offset;
    size_t size;
} pfc_view_text;

/* Equal frames have the same name, module and source file. */
typedef struct pfc_view_frame {
    uint32_t name;
    uint32_t module;  /* base name of the mapping's file; 0: none */
    uint32_t file;    /* source file; 0: unknown */
    uint32_t package; /* what a name says of its origin: crate, namespace, Go or Java package; else the module */
    int64_t line;     /* of the declaration; 0: unknown */
} pfc_view_frame;

/* A frame where it was met. */
typedef struct pfc_view_place {
    uint32_t frame;
    uint32_t kind; /* pfc_view_kind */
    int64_t line;  /* that ran or called; 0: unknown */
} pfc_view_place;

typedef struct pfc_view_frames {
    pfc_mem *mem;
    const profconv_profile *profile;
    pfc_buf bytes;
    PFC_VEC(pfc_view_text) texts;
    pfc_index text_index;
    PFC_VEC(pfc_view_frame) rows; /* row 0: none */
    pfc_index index;
    PFC_VEC(pfc_view_place) places; /* of all locations met, root first */
    uint32_t *first;                /* of each location: its run in places, + 1; 0: not met yet */
    uint32_t *count;
    uint32_t locations;
} pfc_view_frames;

/* All return 0 or a status. */
int pfc_view_frames_init(pfc_view_frames *frames, pfc_mem *mem, const profconv_profile *profile);
void pfc_view_frames_free(pfc_view_frames *frames);
int pfc_view_text_of(pfc_view_frames *frames, const char *data, size_t size, uint32_t *id);
/* A frame that is only a name. */
int pfc_view_named(pfc_view_frames *frames, const char *name, size_t size, uint32_t *frame);
/* The frames of a location, root first; borrowed until the next call. */
int pfc_view_places(pfc_view_frames *frames, profconv_id location, const pfc_view_place **places, uint32_t *count);
/* Rank of each frame by name, module, file: an array of rows.count, to be freed with its size. */
int pfc_view_rank(pfc_view_frames *frames, uint32_t **rank);

static inline profconv_string pfc_view_string(const pfc_view_frames *frames, uint32_t text) {
    profconv_string s = {frames->bytes.data ? frames->bytes.data + frames->texts.data[text].offset : "",
                         frames->texts.data[text].size};
    return s;
}

/* ---- columns.c ---- */

/* The columns of values that are shown. */
typedef struct pfc_view_columns {
    const profconv_profile *profile;
    uint32_t *types; /* the sample type of each column */
    uint32_t count;
    uint32_t capacity;
    uint32_t shown; /* the column to begin with */
    int compare;    /* two columns, before and after */
    int by_label;   /* both from one sample type: what has the label pprof::base=true is before, negated */
} pfc_view_columns;

/* Every sample type, the default one shown first. PROFCONV_E_EMPTY without any. */
int pfc_view_columns_all(pfc_view_columns *columns, pfc_mem *mem, const profconv_profile *profile, const char *format,
                         profconv_error *error);
/* Nonzero when some sample has the label pprof::base=true. */
int pfc_view_has_base(const profconv_profile *profile);
/* Shows the column with this name, else of this event, "cycles" for "cycles:u" as well. PROFCONV_E_INVALID without one.
 */
int pfc_view_columns_choose(pfc_view_columns *columns, const char *event, const char *format, profconv_error *error);
/* Columns named before and after, or samples marked as a base: nonzero when the profile holds a comparison. */
int pfc_view_columns_compare(pfc_view_columns *columns);
/* Keeps one column an event, that with the weights, where an event has several. */
void pfc_view_columns_by_event(pfc_view_columns *columns);
void pfc_view_columns_free(pfc_view_columns *columns, pfc_mem *mem);
void pfc_view_values(const pfc_view_columns *columns, uint32_t sample, int64_t *values);
profconv_string pfc_view_column_name(const pfc_view_columns *columns, uint32_t column);
profconv_string pfc_view_column_unit(const pfc_view_columns *columns, uint32_t column);
/* What one sample stands for in the column's unit; 0: unknown. */
int64_t pfc_view_column_grain(const pfc_view_columns *columns, uint32_t column);

/* ---- tree.c ---- */

typedef struct pfc_view_node {
    int64_t line; /* that ran or called; only where the tree keeps lines apart, else 0 */
    uint32_t parent;
    uint32_t frame;
    uint32_t kind;
    uint32_t depth;
} pfc_view_node;

/* Nodes in the order they were met, parents first; node 0 is the whole. */
typedef struct pfc_view_tree {
    pfc_mem *mem;
    uint32_t columns;
    PFC_VEC(pfc_view_node) nodes;
    PFC_VEC(int64_t) self; /* nodes x columns */
    pfc_index index;
    uint32_t *order; /* after pfc_view_tree_order: nodes before those below them, siblings by name */
    size_t ordered;
    size_t order_capacity;
    int saturated;
    uint64_t samples;        /* that were added; those with only zeros are not */
    uint64_t negative;       /* samples that were left out */
    int64_t negative_weight; /* their values in the shown column */
    uint64_t cut;            /* nodes that "[other]" stands for */
} pfc_view_tree;

int pfc_view_tree_init(pfc_view_tree *tree, pfc_mem *mem, uint32_t columns);
void pfc_view_tree_free(pfc_view_tree *tree);
int pfc_view_child(pfc_view_tree *tree, uint32_t parent, const pfc_view_place *place, uint32_t *child);

typedef struct pfc_view_build {
    const pfc_view_columns *columns;
    pfc_view_frames *frames;
    const uint32_t *roots; /* of each label set: the frame above its stacks, 0: none; NULL: none anywhere */
    int leaf_first;        /* stacks grow from their leaves */
    int lines;             /* frames at different lines are different nodes */
    int positive;          /* samples with a negative value are left out, and counted */
} pfc_view_build;
/* Adds every sample. Samples without frames end in "[unknown]". */
int pfc_view_tree_build(pfc_view_tree *tree, const pfc_view_build *build);
/* Leaves the `most` heaviest nodes by the column (both where it is PFC_VIEW_NONE); what goes is summed up in "[other]".
 */
int pfc_view_tree_limit(pfc_view_tree *tree, pfc_view_frames *frames, uint32_t most, uint32_t column);
int pfc_view_tree_order(pfc_view_tree *tree, pfc_view_frames *frames);
/* Sums of a column over each node and all below it: an array of nodes.count. */
void pfc_view_tree_totals(const pfc_view_tree *tree, uint32_t column, int64_t *totals, int absolute);

/* The label that names the thread of a label set, or NULL. */
const profconv_label *pfc_view_thread_label(const profconv_profile *profile, profconv_id set);
/* Frames for the names of threads by label set; an array of `sets`. */
int pfc_view_thread_roots(pfc_view_frames *frames, uint32_t *roots, uint32_t sets);

/* ---- writing.c again ---- */

/* What the writers of files have in hand: the first member of each one's own state. */
typedef struct pfc_view_writing {
    pfc_mem mem;
    const profconv_profile *profile;
    const profconv_options *options;
    pfc_view_columns columns;
    pfc_view_frames frames;
    pfc_view_tree tree;
    pfc_view_out out;
    uint64_t samples; /* that there are to write */
} pfc_view_writing;

typedef struct pfc_view_steps {
    const char *format;
    int positive;                                                /* values below zero are left out */
    int (*grow)(pfc_view_writing *w, profconv_error *error);     /* counts the samples; all columns are there */
    int (*write)(pfc_view_writing *w);                           /* called when there are any */
    void (*tell)(pfc_view_writing *w, profconv_report *report); /* after success */
    void (*release)(pfc_view_writing *w);                        /* what is not in pfc_view_writing */
} pfc_view_steps;
/* The whole of a writer's `write`. `w` is zeroed. */
int pfc_view_write(pfc_view_writing *w, const pfc_view_steps *steps, const profconv_profile *profile,
                   profconv_output *output, const profconv_options *options, profconv_report *report,
                   profconv_error *error);
/* Its end, for those who begin otherwise: puts a failure into words (PROFCONV_E_EMPTY where there were no `samples`),
 * or hands on the rest. */
int pfc_view_finish(pfc_view_out *out, const char *format, int status, uint64_t samples, int positive);
/* Says what all writers say: samples that were left out, sums that did not fit. */
void pfc_view_tree_report(const pfc_view_tree *tree, const char *format, profconv_report *report);

/* ---- compare.c ---- */

typedef enum pfc_view_change { PFC_VIEW_SAME = 0, PFC_VIEW_CHANGED, PFC_VIEW_UNSURE } pfc_view_change;
/* The class of each of `count` pairs by the two values alone: a two-sided test of equal rates where `grain` is the
 * value of one sample, and Benjamini and Hochberg's rule at 5 % over all pairs. grain 0: every difference counts. */
int pfc_view_compare(pfc_mem *mem, const int64_t *before, const int64_t *after, size_t count, int64_t grain,
                     uint8_t *classes);

#endif
