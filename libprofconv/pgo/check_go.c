/* SPDX-License-Identifier: MIT
 *
 * Whether Go's compiler will accept a profile, and how much of it counts: it takes the first sample type that is
 * samples/count or cpu/nanoseconds, the last call of each stack with what was inlined there, and the distance of the
 * call from the first line of its function.
 *
 * Frame pointers do not show the caller of a function that has no frame of its own: its caller's caller stands there
 * instead, so the call is counted at the wrong place. A function that is some frame's caller in the profile surely has
 * a frame; leaves of others are at risk.
 */
#include "libprofconv/pgo/check.h"

#include <string.h>

#include "libprofconv/base/mem.h"

typedef struct go_counts {
    uint64_t samples, one_frame, unnamed, no_start_line, no_line, edges, kernel_leaves, at_risk, generic;
    uint64_t inlined;
} go_counts;

static int is(const profconv_profile *p, profconv_id id, const char *text) {
    profconv_string s = profconv_profile_string(p, id);
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static int find_type(const profconv_profile *p, uint32_t *out) {
    for (*out = 0; *out < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); ++*out) {
        const profconv_sample_type *t = profconv_profile_sample_type(p, *out);
        if ((is(p, t->name, "samples") && is(p, t->unit, "count")) ||
            (is(p, t->name, "cpu") && is(p, t->unit, "nanoseconds")))
            return 1;
    }
    return 0;
}

/* The function whose frame it is: that of the outermost line. */
static profconv_id frame_function(const profconv_profile *p, profconv_id location) {
    uint32_t count = profconv_profile_location(p, location)->line_count;
    return count ? profconv_profile_line(p, location, count - 1)->function : 0;
}

static int is_kernel(const profconv_profile *p, profconv_id location) {
    const profconv_location *l = profconv_profile_location(p, location);
    uint32_t kind = profconv_profile_mapping(p, l->mapping)->kind;
    return (l->flags & PROFCONV_LOCATION_KERNEL) || kind == PROFCONV_MAPPING_KERNEL || kind == PROFCONV_MAPPING_MODULE;
}

/* The count of a note of the reader's; *seen says whether there is one. */
static uint64_t note_count(const profconv_profile *p, const char *cause, int *seen) {
    const profconv_report *report = profconv_profile_report(p);
    profconv_note note;
    uint64_t count = 0;
    for (size_t i = 0; i < profconv_report_count(report); i++)
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && strcmp(note.cause, cause) == 0) {
            count += note.count;
            *seen = 1;
        }
    return count;
}

/* Where branch records were asked for each stack's caller, only those stacks are at risk for which they had no answer. */
static uint64_t at_risk(const profconv_profile *p, uint64_t suspected) {
    int asked = 0;
    (void)note_count(p, "branch-callers", &asked);
    (void)note_count(p, "branch-callers-seen", &asked);
    uint64_t unknown = note_count(p, "branch-callers-unknown", &(int){0});
    return asked && unknown < suspected ? unknown : suspected;
}

/* A recording by frame pointers or the like, as against the runtime's own profile, which unwinds by tables. */
static int is_recording(const profconv_profile *p) {
    int unwound = 0;
    (void)note_count(p, "stack-dumps", &unwound);
    if (unwound)
        return 0; /* the reader unwound its stacks by tables too */
    if (profconv_profile_find_attribute(p, "recorder").size)
        return 1;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_COMMENT); i++) {
        profconv_string s = profconv_profile_string(p, profconv_profile_comment(p, i));
        if ((s.size > 9 && memcmp(s.data, "recorder:", 9) == 0) ||
            (s.size > 13 && memcmp(s.data, "perf version:", 13) == 0))
            return 1;
    }
    return 0;
}

/* Calls that one sample counts, by what is wrong with their callers. */
static void count_calls(const profconv_profile *p, profconv_id location, int has_callee, go_counts *g) {
    uint32_t lines = profconv_profile_location(p, location)->line_count;
    for (uint32_t k = has_callee ? 0 : 1; k < lines; k++) { /* line k calls what stands before it */
        const profconv_line *line = profconv_profile_line(p, location, k);
        g->edges++;
        g->no_start_line += profconv_profile_function(p, line->function)->start_line == 0;
        g->no_line += line->line == 0;
    }
    g->inlined += lines > 1;
    g->unnamed += lines == 0;
    g->edges += lines == 0 && has_callee ? 1u : 0u;
    g->no_start_line += lines == 0 && has_callee ? 1u : 0u;
}

static void count_sample(const profconv_profile *p, uint32_t i, const uint8_t *calls, int recording, go_counts *g) {
    const profconv_stack *leaf = profconv_profile_stack(p, profconv_profile_sample_stack(p, i));
    profconv_id caller = profconv_profile_stack(p, leaf->parent)->location;
    g->samples++;
    g->one_frame += leaf->parent == 0;
    g->kernel_leaves += is_kernel(p, leaf->location) ? 1u : 0u;
    count_calls(p, leaf->location, 0, g);
    if (leaf->parent)
        count_calls(p, caller, 1, g);
    profconv_id function = frame_function(p, leaf->location);
    if (recording && function && !is_kernel(p, leaf->location) && !calls[function])
        g->at_risk++;
}

static int count(const profconv_profile *p, uint32_t type, go_counts *g) {
    pfc_mem mem;
    size_t functions = profconv_profile_rows(p, PROFCONV_TABLE_FUNCTION);
    pfc_mem_init(&mem, profconv_profile_allocator(p), 0);
    uint8_t *calls = (uint8_t *)pfc_alloc_zero(&mem, functions);
    if (!calls)
        return mem.failed;
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_STACK); i++) {
        profconv_id parent = profconv_profile_stack(p, i)->parent;
        if (parent)
            calls[frame_function(p, profconv_profile_stack(p, parent)->location)] = 1;
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++)
        if (profconv_profile_sample_stack(p, i) && profconv_profile_sample_value(p, i, type) != 0)
            count_sample(p, i, calls, is_recording(p), g);
    for (uint32_t i = 1; i < functions; i++) {
        profconv_string name = profconv_profile_string(p, profconv_profile_function(p, i)->name);
        for (size_t k = 0; k + 5 <= name.size; k++)
            if (memcmp(name.data + k, "[...]", 5) == 0) {
                g->generic++;
                break;
            }
    }
    pfc_free(&mem, calls, functions);
    return 0;
}

static void judge_calls(pfc_checker *c, const go_counts *g) {
    if (g->samples == 0)
        pfc_check_lacks(c, "no-samples", 1, "no sample has a value above zero");
    else if (g->unnamed && g->edges == g->no_start_line && g->inlined == 0 && g->unnamed >= g->samples)
        pfc_check_lacks(c, "no-names", g->unnamed, "the code has no names: symbolize the profile with its binary");
    else if (g->edges == 0)
        pfc_check_lacks(c, "one-frame-stacks", g->one_frame,
                        "no call edge: all of %llu distinct samples have a single frame (record with call graphs)",
                        (unsigned long long)g->samples);
    else if (g->no_start_line == g->edges)
        pfc_check_lacks(
            c, "start-lines", g->no_start_line,
            "none of the %llu calls' functions tells the line where it begins, from which Go's compiler counts",
            (unsigned long long)g->edges);
    else
        pfc_check_weak(c, "start-lines", g->no_start_line,
                       "calls in functions without a start line never match the source");
}

void pfc_check_go(pfc_checker *c) {
    const profconv_profile *p = c->profile;
    uint32_t type;
    go_counts g;
    memset(&g, 0, sizeof g);
    if (!find_type(p, &type)) {
        pfc_check_lacks(c, "sample-type", profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE),
                        "no sample type is samples/count or cpu/nanoseconds; Go's compiler takes no other");
        return;
    }
    int status = count(p, type, &g);
    if (status) {
        c->status = profconv_error_set(c->error, status, PROFCONV_NO_OFFSET, 0, "%s", profconv_status_string(status));
        return;
    }
    pfc_check_fact(c, "samples", g.samples, "distinct samples");
    pfc_check_fact(c, "calls", g.edges, "calls that count");
    pfc_check_fact(c, "inline-frames", g.inlined, "locations of last calls with inlined functions");
    judge_calls(c, &g);
    if (g.edges && g.inlined == 0)
        pfc_check_weak(c, "no-inline-frames", g.samples,
                       "no inlined function is shown: calls that the profiled build had inlined are lost");
    if (g.one_frame < g.samples)
        pfc_check_weak(c, "one-frame-stacks", g.one_frame,
                       "distinct samples with a single frame, which count for no call");
    pfc_check_weak(c, "call-lines", g.no_line, "calls at an unknown line never match the source");
    pfc_check_weak(c, "kernel-leaves", g.kernel_leaves,
                   "distinct samples end in the kernel: their last call is one into or inside it");
    pfc_check_weak(c, "generic-names", g.generic, "functions whose names are cut to [...] match no linker symbol");
    pfc_check_weak(
        c, "frameless-leaves", at_risk(p, g.at_risk),
        "distinct samples whose leaf may have no frame of its own: frame pointers then show its caller's caller");
}
