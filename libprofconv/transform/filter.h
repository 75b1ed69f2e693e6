/* SPDX-License-Identifier: MIT
 *
 * The parts of a filter: conditions on labels, expressions on frames.
 */
#ifndef PFC_TRANSFORM_FILTER_H
#define PFC_TRANSFORM_FILTER_H

#include <regex.h>

#include "libprofconv/transform/copy.h"

#define PFC_FILTER_SCOPE "filter"
extern const profconv_setting pfc_filter_declared[];

/* ---- filter_labels.c ---- */

typedef struct pfc_number_range {
    int64_t first, last; /* inclusive */
} pfc_number_range;

typedef enum pfc_condition_kind {
    PFC_CONDITION_NUMBERS, /* the label's number is in a range */
    PFC_CONDITION_TEXTS,   /* its text is one of the setting's values */
    PFC_CONDITION_VALUE,   /* one of the values of label=KEY=VALUE with this key */
    PFC_CONDITION_REGEX,   /* its text matches */
    PFC_CONDITION_NO_REGEX /* no label's text matches */
} pfc_condition_kind;

/* A sample stays when each condition holds for one of its labels. */
typedef struct pfc_condition {
    pfc_condition_kind kind;
    const char *setting; /* for notes and errors */
    const char *key;     /* of the label; key_size bytes */
    size_t key_size;
    const char *also; /* a second key that means the same, or NULL */
    PFC_VEC(pfc_number_range) ranges;
    regex_t regex;
    int compiled;
    int met; /* some label has the key */
    uint64_t rows;   /* left out by it */
    int64_t weight;
} pfc_condition;

typedef struct pfc_conditions {
    pfc_mem *mem;
    const profconv_options *settings;
    PFC_VEC(pfc_condition) rows;
} pfc_conditions;

/* Parses the settings for this profile (times may be relative to it). 0 or a status. */
int pfc_conditions_parse(pfc_conditions *conditions, pfc_mem *mem, const profconv_profile *profile,
                         const profconv_options *settings, profconv_error *error);
/* The first condition that the label set does not meet, or NULL. */
pfc_condition *pfc_conditions_failed(pfc_conditions *conditions, const profconv_profile *profile, profconv_id set);
void pfc_conditions_free(pfc_conditions *conditions);
/* "12" for a number, the text for a text; `scratch` holds numbers. */
profconv_string pfc_label_text(const profconv_profile *profile, const profconv_label *label, char scratch[24]);
/* Compiles; PROFCONV_E_INVALID tells the setting and what is wrong. */
int pfc_regex_compile(regex_t *regex, const char *setting, const char *text, profconv_error *error);

/* ---- filter_frames.c ---- */

enum { PFC_FOCUS, PFC_IGNORE, PFC_SHOW, PFC_HIDE, PFC_SHOW_FROM, PFC_PRUNE_FROM, PFC_EXPRESSIONS };

typedef enum pfc_granularity {
    PFC_GRAIN_ADDRESS = 0,
    PFC_GRAIN_LINE,
    PFC_GRAIN_FUNCTION,
    PFC_GRAIN_FILE,
    PFC_GRAIN_MAPPING
} pfc_granularity;

/* What filters make of a location. */
enum {
    PFC_FRAME_KNOWN = 1 << 0,
    PFC_FRAME_FOCUS = 1 << 1,     /* focus matches */
    PFC_FRAME_IGNORE = 1 << 2,    /* ignore matches */
    PFC_FRAME_HIDDEN = 1 << 3,    /* show or hide leaves nothing of it */
    PFC_FRAME_SHOW_FROM = 1 << 4, /* frames above the last of these go */
    PFC_FRAME_PRUNE = 1 << 5      /* frames below the first of these go */
};

/* A frame that stands for the value of a label. */
typedef struct pfc_tag_frame {
    profconv_id frame; /* in the builder */
    uint8_t flags;     /* PFC_FRAME_* */
} pfc_tag_frame;

typedef struct pfc_frame_filter {
    pfc_copy *copy;
    regex_t regex[PFC_EXPRESSIONS];
    unsigned given;     /* bit per expression */
    uint8_t *known;     /* per string of the profile: bit per expression that was tried */
    uint8_t *matches;   /* and its result */
    uint8_t *flags;     /* per location: PFC_FRAME_* */
    profconv_id *made;  /* per location: in the builder */
    int granularity;    /* pfc_granularity */
    int inlined;        /* keep inlined frames */
    int64_t max_stack;  /* 0: no limit */
    PFC_VEC(profconv_id) keys[2];  /* string ids of the profile: keys of labels that become outermost, innermost frames */
    PFC_VEC(pfc_tag_frame) tags;    /* runs of one label set's frames: innermost ones, then outermost ones */
    struct pfc_tag_run {
        size_t first;
        uint32_t count[2];
        uint32_t known;
    } *tag_runs; /* per label set */
    PFC_VEC(profconv_id) stack; /* leaf first, in the builder */
} pfc_frame_filter;

int pfc_frame_filter_parse(pfc_frame_filter *frames, pfc_copy *copy, const profconv_options *settings, profconv_error *error);
void pfc_frame_filter_free(pfc_frame_filter *frames);

/* Why a sample goes. */
typedef enum pfc_verdict { PFC_KEEP = 0, PFC_NOT_FOCUSED, PFC_IGNORED, PFC_NOT_SHOWN, PFC_ALL_HIDDEN, PFC_VERDICTS } pfc_verdict;

/* What is left of a stack, with frames for the labels of the set at both ends, goes to frames->stack. */
pfc_verdict pfc_frame_filter_apply(pfc_frame_filter *frames, profconv_id stack, profconv_id label_set);
/* Nonzero when an expression matches a text. */
int pfc_expression_matches(const pfc_frame_filter *frames, unsigned expression, const char *text);
#define PFC_GIVEN(f, e) (((f)->given >> (e)) & 1u)

/* ---- filter_tags.c ---- */

int pfc_frame_tags_parse(pfc_frame_filter *frames, const profconv_options *settings, profconv_error *error);
void pfc_frame_tags_free(pfc_frame_filter *frames);
/* The frames of a label set at one end of its stacks, from the leaf on; borrowed until the next call. 0 without memory, too:
 * the copy is over then. */
size_t pfc_frame_tags(pfc_frame_filter *frames, profconv_id label_set, int leaves, const pfc_tag_frame **out);

#endif
