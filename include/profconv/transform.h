/* SPDX-License-Identifier: MIT
 *
 * profconv/transform.h - putting profiles together, cutting them, filtering, scaling and comparing.
 */
#ifndef PROFCONV_TRANSFORM_H
#define PROFCONV_TRANSFORM_H

#include <profconv/base.h>
#include <profconv/builder.h>
#include <profconv/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Adds `weight` times everything in `profile` to the builder (weight 0 means 1). Values and counts saturate.
 *
 * Mappings unite by build-id, else by file name, with kind, pid and offset between address and file offset: addresses are
 * rebased to the mapping met first. Sample types unite by name and unit (and event, where both say one). Times: the
 * earliest known; durations add up (unweighted); period: the largest; comments are united in order; other facts: the
 * first that is known. Feeding the same profiles in any order gives the same counts.
 */
PROFCONV_API int profconv_merge(profconv_builder *builder, const profconv_profile *profile, uint64_t weight,
                                profconv_error *error);

/** How a profile is cut. Zero in a member means no limit of that kind. */
typedef struct profconv_split_options {
    size_t struct_size;
    uint64_t max_samples; /* rows of a part: samples, branches, ranges and addresses together, each a sample in pprof */
    uint64_t max_bytes;   /* of a part as `measure` counts them */
    /** Size of a part in its target format: 0, or a status that ends the splitting. Needed with max_bytes. */
    int (*measure)(void *user, const profconv_profile *part, uint64_t *bytes);
    /** Takes part `index`, counted from 0; it is freed after the call. Nonzero ends the splitting with that status. */
    int (*part)(void *user, const profconv_profile *part, uint64_t index);
    void *user;
} profconv_split_options;

/**
 * Cuts a profile into parts that give it again when they are merged: each row is in one of them. What holds for the whole
 * profile is in every part, but for the duration, which merging adds up and which the first part has. Source counts are
 * not cut (PROFCONV_E_UNSUPPORTED); a single row that is too large is PROFCONV_E_LIMIT.
 */
PROFCONV_API int profconv_split(const profconv_profile *profile, const profconv_split_options *options,
                                profconv_error *error);

/* ---- filters: settings of the scope "filter" ---- */

/** Which filters are applied: those that look at samples (event, pid, tid, comm, cpu, time, label, tagfocus, tagignore), and those
 *  that look at frames, which want names. A conversion applies the first kind to each input after reading, where its reader
 *  does not filter by itself, and the second after the passes. */
enum { PROFCONV_FILTER_SAMPLES = 1 << 0, PROFCONV_FILTER_FRAMES = 1 << 1, PROFCONV_FILTER_ALL = 3 };

/**
 * The settings of the scope "filter", ending with a NULL name. Expressions are POSIX extended regular expressions; they match a
 * frame by function name, source file or mapping, as in pprof.
 *
 * Their order, which is pprof's, whatever order they are given in: first the conditions on labels. Then tagroot and tagleaf make
 * frames of labels, which the rest sees as frames named after the value, in a file named after the key. focus and ignore look at
 * the whole stack; hide, then show take frames away; show-from and prune-from cut what is left; max-stack counts, and cuts, only
 * frames that are no labels. granularity and inline say what frames are told apart by, and nodes sums up the rest.
 */
PROFCONV_API const profconv_setting *profconv_filter_settings(void);
/** Nonzero when the settings ask for a filter of these stages. */
PROFCONV_API int profconv_filter_wanted(const profconv_options *settings, uint32_t stages);
/**
 * Replaces `*profile` by what the filters leave; without filters it stays as it is. What was left out is in the new profile's
 * report as INFO notes with counts and weights (of the default sample type), so that sum in = sum out + weights. On failure
 * `*profile` is left alone: PROFCONV_E_INVALID (an expression, a list of numbers), PROFCONV_E_NOT_FOUND (no such event),
 * PROFCONV_E_MISSING_FACET (no sample has that label, or there are no samples), PROFCONV_E_EMPTY (nothing is left).
 *
 * Filters work on samples. Branch records and source counts cannot be told apart by labels or stacks: they are left out, noted
 * as lost.
 */
PROFCONV_API int profconv_filter(profconv_profile **profile, const profconv_options *settings, uint32_t stages,
                                 profconv_error *error);

/* ---- scaling ---- */

/**
 * A new profile with every value and count times numerator / denominator (> 0), in whole numbers: what rounding takes from one
 * row the next ones get, so that each column's sum is its old sum times that, rounded once: down for a numerator above 0.
 * Durations stay. Samples and branches that become zero are left out. A negative numerator is for profiles of samples only.
 */
PROFCONV_API int profconv_scale(const profconv_profile *profile, int64_t numerator, uint64_t denominator,
                                profconv_profile **out, profconv_error *error);
/** Each sample type scaled to the sum that the type of the same name and unit has in `base`; types that `base` lacks, or that
 *  sum up to nothing, stay as they are, with a warning. */
PROFCONV_API int profconv_normalize(const profconv_profile *profile, const profconv_profile *base,
                                    profconv_profile **out, profconv_error *error);
/** Keeps the `count` heaviest nodes of the tree of stacks (by the default sample type, callees included). What hangs below a
 *  node that goes becomes a frame "[other]" under its nearest kept caller: every total stays. */
PROFCONV_API int profconv_keep_top(const profconv_profile *profile, uint32_t count, profconv_profile **out,
                                   profconv_error *error);

/* ---- tables of functions ---- */

/** What a row of a table stands for. Frames without a name stand together by mapping, as "[name of its file]". */
typedef enum profconv_by {
    PROFCONV_BY_FUNCTION = 0, /* name and source file */
    PROFCONV_BY_LINE,         /* name, source file and line */
    PROFCONV_BY_FILE,
    PROFCONV_BY_MAPPING
} profconv_by;

typedef struct profconv_top_options {
    size_t struct_size;
    const char *sample_type; /* name or event; NULL: the profile's default */
    uint32_t by;             /* profconv_by */
    uint32_t cumulative;     /* nonzero: sorted by total, else by self */
} profconv_top_options;

typedef struct profconv_top_row {
    profconv_string name;    /* borrowed from the table, as all strings here */
    profconv_string file;
    profconv_string mapping; /* of the first frame that was met */
    int64_t line;
    int64_t self;            /* samples that ended here; inlined functions count as functions */
    int64_t total;           /* samples with this row anywhere in the stack, each once */
} profconv_top_row;

typedef struct profconv_top profconv_top;

/** PROFCONV_E_MISSING_FACET without samples; PROFCONV_E_NOT_FOUND: no such sample type (the message lists them). */
PROFCONV_API int profconv_top_new(profconv_top **out, const profconv_profile *profile,
                                  const profconv_top_options *options, profconv_error *error);
PROFCONV_API void profconv_top_free(profconv_top *top);
PROFCONV_API size_t profconv_top_count(const profconv_top *top);
PROFCONV_API int profconv_top_get(const profconv_top *top, size_t index, profconv_top_row *out);
/** Sum of the column: the sum of every row's self. */
PROFCONV_API int64_t profconv_top_total(const profconv_top *top);
/** Name and unit of the column. */
PROFCONV_API void profconv_top_type(const profconv_top *top, profconv_string *name, profconv_string *unit);

/* ---- comparing ---- */

typedef enum profconv_diff_mode {
    PROFCONV_DIFF_RAW = 0,    /* as counted; a warning when the durations are known to differ by more than 1 % */
    PROFCONV_DIFF_PER_SECOND, /* by the durations of the profiles */
    PROFCONV_DIFF_PER_WORK    /* by work_before and work_after */
} profconv_diff_mode;

typedef enum profconv_diff_class {
    PROFCONV_DIFF_UNDETERMINED = 0, /* the data cannot tell */
    PROFCONV_DIFF_UNCHANGED,        /* equal, or surely within the tolerance */
    PROFCONV_DIFF_UP,
    PROFCONV_DIFF_DOWN,
    PROFCONV_DIFF_NEW,
    PROFCONV_DIFF_GONE,
    PROFCONV_DIFF_CLASSES
} profconv_diff_class;

/** "undetermined", "unchanged", "up", "down", "new", "gone"; NULL for anything else. Static storage. */
PROFCONV_API const char *profconv_diff_class_name(uint32_t diff_class);

typedef struct profconv_diff_options {
    size_t struct_size;
    const char *sample_type;  /* name or event; NULL: the default of the profile before */
    uint32_t by;              /* profconv_by */
    uint32_t mode;            /* profconv_diff_mode */
    uint64_t work_before;     /* PER_WORK: requests, iterations, ... */
    uint64_t work_after;
    uint32_t false_discovery; /* in thousandths: the share of wrong rows among those called changed; default 50 */
    uint32_t tolerance;       /* in thousandths: what still counts as unchanged; default 50 */
    /** The runs that the profiles before and after are the sums of, where there are several; 0 and NULL: not known. */
    const profconv_profile *const *runs_before;
    const profconv_profile *const *runs_after;
    uint64_t run_count_before;
    uint64_t run_count_after;
} profconv_diff_options;

/**
 * A row of a comparison. Deltas are in the unit of the column, on the exposure (time, work) of the profile before:
 * after * exposure before / exposure after - before. They are whole numbers that add up to the delta of the whole.
 *
 * p_value: of the samples of both sides, that as many or more would fall on one side by chance if the rate were the same
 * (binomial, exact up to 200 samples); q_value: the same after Benjamini and Hochberg over all rows. Both are 1 where
 * there is nothing to test.
 *
 * Two profiles alone cannot tell how much a program varies from run to run: samples of one thread are not quite independent, and
 * "up" or "down" for a small change of a noisy program is to be confirmed. Several runs of a side tell it. Then a run is the unit of
 * a raw comparison (exposures are numbers of runs), and the test is widened: the variance of a row is that of chance times its
 * dispersion, at least 1, estimated from what its runs differ by, drawn towards what all rows together tell (a variance that
 * grows with the mean), and judged by Student's distribution with as many degrees of freedom as both have. p_value is the larger one
 * of this and of the binomial test.
 */
typedef struct profconv_diff_row {
    profconv_string name;
    profconv_string file;
    profconv_string mapping;
    int64_t line;
    int64_t before_self; /* as they are in the profiles */
    int64_t after_self;
    int64_t before_total;
    int64_t after_total;
    int64_t delta_self;
    int64_t delta_total;
    uint64_t before_count; /* samples behind the self values */
    uint64_t after_count;
    double change;       /* delta_self / its own before; infinite where there was nothing before; 0 for 0 / 0 */
    double share;        /* delta_self / |the whole before| */
    double p_value;
    double q_value;
    double detectable;   /* the smallest change, as a share of its own before, that so many samples would show; infinite without */
    uint32_t diff_class; /* profconv_diff_class, of the self values */
    uint32_t reserved;
} profconv_diff_row;

typedef struct profconv_diff_summary {
    profconv_string name; /* of the column */
    profconv_string unit;
    uint32_t mode;        /* profconv_diff_mode */
    uint32_t reserved;
    uint64_t exposure_before; /* 1, nanoseconds, or units of work */
    uint64_t exposure_after;
    int64_t total_before; /* as they are in the profiles */
    int64_t total_after;
    int64_t delta;        /* the sum of every row's delta_self */
    uint64_t count_before;
    uint64_t count_after;
    double detectable;    /* for the row with most samples: nothing smaller can be seen anywhere */
    uint64_t rows[PROFCONV_DIFF_CLASSES];
    uint64_t runs_before; /* 0: not told */
    uint64_t runs_after;
    double dispersion;    /* variance between the runs of a side over that of chance, all rows together; 1 where it is not known */
} profconv_diff_summary;

typedef struct profconv_diff profconv_diff;

/** Rows come by the size of their delta. PROFCONV_E_INVALID: the two do not have the same kind of values, or the mode's exposure is
 *  not known. Things to know (other build-ids, other depth of stacks, other periods) are in the report. */
PROFCONV_API int profconv_diff_new(profconv_diff **out, const profconv_profile *before, const profconv_profile *after,
                                   const profconv_diff_options *options, profconv_error *error);
PROFCONV_API void profconv_diff_free(profconv_diff *diff);
PROFCONV_API size_t profconv_diff_count(const profconv_diff *diff);
PROFCONV_API int profconv_diff_get(const profconv_diff *diff, size_t index, profconv_diff_row *out);
PROFCONV_API const profconv_diff_summary *profconv_diff_get_summary(const profconv_diff *diff);
PROFCONV_API const profconv_report *profconv_diff_get_report(const profconv_diff *diff);
/** Puts into `settings` what the writer of flame graphs calls the functions of profconv_diff_profile's result (its setting `classes`),
 *  so that page and table say the same. For comparisons by function: else PROFCONV_E_INVALID. */
PROFCONV_API int profconv_diff_settings(const profconv_diff *diff, profconv_options *settings, profconv_error *error);
/** The comparison as one profile, as pprof -diff_base has it: the samples of `after`, on the exposure of `before`, and those of
 *  `before` negative and with the label pprof::base=true. */
PROFCONV_API int profconv_diff_profile(const profconv_diff *diff, const profconv_profile *before,
                                       const profconv_profile *after, profconv_profile **out, profconv_error *error);

#ifdef __cplusplus
}
#endif
#endif
