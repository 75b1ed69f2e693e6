/* SPDX-License-Identifier: MIT
 *
 * What the files of convert/ share: the registry's rows, the plan of passes and the settings of one conversion.
 */
#ifndef PFC_CONVERT_CONVERT_H
#define PFC_CONVERT_CONVERT_H

#include <profconv/convert.h>
#include <profconv/plugin.h>

#include "libprofconv/base/mem.h"
#include "libprofconv/model/pass.h"

/* A format: its reader, its writer or both, and what the two say together. `reader.read` and `writer.write` are NULL
 * when there is none. Merged lists live in the registry's arena: a list that was handed out stays valid when the other
 * half is added. */
typedef struct pfc_format {
    const char *name;
    profconv_reader reader;
    profconv_writer writer;
    const char *const *aliases;             /* of both, NULL-terminated, or NULL */
    const char *const *suffixes;            /* of both */
    const profconv_setting *read_settings;  /* the reader's, then those of the writer that it does not have */
    const profconv_setting *write_settings; /* the other way round */
} pfc_format;

struct profconv_registry {
    pfc_mem mem;
    pfc_arena lists;
    PFC_VEC(pfc_format) formats; /* in the order of registration */
};

/* By name or alias; NULL when there is none. */
const pfc_format *pfc_registry_lookup(const profconv_registry *registry, const char *name);
/* The same for a conversion: it must have a reader (or, `write` nonzero, a writer); the error says what there is. */
int pfc_registry_need(const profconv_registry *registry, const char *name, int write, const pfc_format **out,
                      profconv_error *error);
void pfc_format_describe(const pfc_format *format, profconv_format_info *out);
int pfc_detect_format(const profconv_registry *registry, profconv_input *input, const pfc_format **out,
                      profconv_error *error);

/* ---- plan.c ---- */

#define PFC_PASS_LIMIT 8

typedef struct pfc_plan_step {
    const pfc_pass *pass;
    int required; /* a facet that the writer needs hangs on it; otherwise it may find nothing */
} pfc_plan_step;

typedef struct pfc_plan {
    pfc_plan_step steps[PFC_PASS_LIMIT];
    size_t count;
    uint32_t missing; /* needed facets that no pass can add */
} pfc_plan;

/* The scope of the settings that say which passes run, and its declarations. */
#define PFC_CONVERT_SCOPE "convert"
/* And that of the filters (transform/). */
#define PFC_FILTER_SCOPE "filter"
extern const profconv_setting pfc_convert_settings[];

const pfc_pass *pfc_pass_find(const char *name);
void pfc_plan_make(uint32_t present, uint32_t needs, uint32_t improves, const profconv_options *settings,
                   pfc_plan *plan);
/* The same for a profile and a writer (unnamed.c). */
void pfc_plan_profile(const profconv_profile *profile, const profconv_writer *target, const profconv_options *settings,
                      pfc_plan *plan);
/* "symbols, stacks" into out; "nothing" for 0. */
void pfc_facet_list(uint32_t facets, char *out, size_t size);
/* Says which facets are missing, what is there and which pass would need what. */
int pfc_plan_missing(const pfc_plan *plan, const char *format, uint32_t present, profconv_error *error);

/* ---- settings.c ---- */

/* A private, checked copy of a caller's settings: scopes are real names instead of aliases, and the labels that a
 * writer holds by default have become the reader's. `registry` NULL: only passes are known, other scopes are left
 * alone. */
int pfc_settings_resolve(const profconv_registry *registry, const profconv_convert_options *options,
                         profconv_options **out, profconv_error *error);
int pfc_settings_labels(profconv_options *settings, const pfc_format *reader, const pfc_format *writer,
                        profconv_error *error);
/* Hands filters to the reader, where it has them itself, and asks it for the labels that the others look at. `out` gets what is
 * left of the filters of PROFCONV_FILTER_SAMPLES; it is for the caller to free. */
int pfc_settings_filters(profconv_options *settings, const pfc_format *reader, const profconv_allocator *allocator,
                         profconv_options **out, profconv_error *error);
/* Fills in what the writer wants passes to be told; what the user told them stays. */
int pfc_settings_passes(profconv_options *settings, const profconv_writer *writer, profconv_error *error);

/* ---- loss.c ---- */

/* Adds a LOST note for each facet that the profile has and the writer does not keep. Labels that the writer names as its
 * own, or that a yes/no setting of the same name makes it hold, are not lost. */
void pfc_report_losses(const profconv_profile *profile, const profconv_writer *writer, const profconv_options *settings,
                       profconv_report *report);
/* Nonzero when a profile has nothing at all to write. */
int pfc_profile_is_empty(const profconv_profile *profile);
/* PROFCONV_E_EMPTY with the heaviest cause that the profile's report knows. */
int pfc_empty_error(const profconv_profile *profile, const char *format, profconv_error *error);
/* Adds every note of `from` to `to` (may be NULL). */
void pfc_report_copy(profconv_report *to, const profconv_report *from);

#endif
