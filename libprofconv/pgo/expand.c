/* SPDX-License-Identifier: MIT
 *
 * The pass "expand": a source profile as stacks, so that an LLVM or GCC profile can be looked at as a flame graph. Each
 * counted position becomes a sample: the function with the calls inlined into it as one location (innermost line
 * first), and under a context, its callers. The counts of all samples are those of all positions. Line numbers are what
 * the profile has: offsets from the start of the function, or probe ids.
 */
#include <string.h>

#include "libprofconv/base/text.h"
#include "libprofconv/model/pass.h"
#include "libprofconv/symbolize/demangle.h"

#define SCOPE "expand"

enum { MAX_INLINED = 1024 };

static const profconv_setting settings[] = {
    {"demangle", PROFCONV_SETTING_ENUM, "full", "full|simple|none",
     "C++ and Rust names: with parameters, without them, or as the profile has them"},
    {NULL, 0, NULL, NULL, NULL},
};

typedef struct expansion {
    profconv_builder *builder;
    pfc_mem *mem;
    profconv_id *functions; /* by string id of the linkage name; 0: not made yet */
    size_t function_rows;
    profconv_id *contexts; /* stacks, by context row */
    size_t context_rows;
    profconv_line *lines;
    pfc_buf text;
    int style;
    uint64_t counted, too_deep;
} expansion;

/* `file` is known in GCC's version 3 only. */
static profconv_id function_of(expansion *e, profconv_id linkage_name, profconv_id file) {
    if (linkage_name >= e->function_rows)
        return 0;
    profconv_id *known = &e->functions[linkage_name];
    if (*known == 0) {
        profconv_function row = {.name = linkage_name, .linkage_name = linkage_name, .file = file};
        const char *name = pfc_model_string(pfc_builder_model(e->builder), linkage_name).data;
        if (pfc_demangle(name, e->style, &e->text))
            row.name = profconv_builder_string(e->builder, e->text.data, e->text.size);
        *known = profconv_builder_function(e->builder, &row);
    }
    return *known;
}

/* Stacks of the context frames; parents precede children. */
static void expand_contexts(expansion *e) {
    pfc_model *m = pfc_builder_model(e->builder);
    for (size_t i = 1; i < e->context_rows; i++) {
        const profconv_context row = m->contexts.data[i];
        const profconv_line line = {
            .line = row.line, .function = function_of(e, row.name, 0), .discriminator = row.discriminator};
        const profconv_location location = {0};
        e->contexts[i] = profconv_builder_stack(e->builder, e->contexts[row.parent],
                                                profconv_builder_location(e->builder, &location, &line, 1));
    }
}

/* Lines of a body row, innermost first. */
static uint32_t lines_of(expansion *e, const profconv_source_body *body, profconv_id *top) {
    const pfc_model *m = pfc_builder_model(e->builder);
    uint32_t line = body->line;
    uint32_t discriminator = body->discriminator;
    uint32_t count = 0;
    *top = 0;
    for (profconv_id source = body->source; source != 0;) {
        const profconv_source row = m->sources.data[source];
        const profconv_line place = {
            .line = line, .function = function_of(e, row.name, row.file), .discriminator = discriminator};
        if (count < MAX_INLINED)
            e->lines[count++] = place;
        else
            e->too_deep++;
        line = row.line;
        discriminator = row.discriminator;
        *top = source;
        source = row.parent;
    }
    return count;
}

static void expand_body(expansion *e, size_t i, uint32_t column) {
    const pfc_model *m = pfc_builder_model(e->builder);
    const profconv_source_body body = m->source_bodies.data[i];
    if (body.count == 0)
        return;
    profconv_id top;
    uint32_t count = lines_of(e, &body, &top);
    const profconv_location location = {0};
    profconv_id frame = profconv_builder_location(e->builder, &location, e->lines, count);
    int64_t value = body.count > INT64_MAX ? INT64_MAX : (int64_t)body.count;
    profconv_id caller = e->contexts[m->sources.data[top].context];
    profconv_builder_sample(e->builder, profconv_builder_stack(e->builder, caller, frame), 0, column, &value, 1);
    e->counted++;
}

static int expand_all(expansion *e, int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total),
                      void *tick_user, profconv_error *error) {
    const pfc_model *m = pfc_builder_model(e->builder);
    const profconv_sample_type type = {.name = profconv_builder_cstring(e->builder, "samples"),
                                       .unit = profconv_builder_cstring(e->builder, "count"),
                                       .role = PROFCONV_ROLE_COUNT};
    uint32_t column = profconv_builder_sample_type(e->builder, &type);
    expand_contexts(e);
    size_t bodies = m->source_bodies.count;
    for (size_t i = 1; i < bodies; i++) {
        expand_body(e, i, column);
        if (tick && i % 4096 == 0 && tick(tick_user, SCOPE, i, bodies))
            return profconv_error_set(error, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0, "cancelled");
    }
    if (e->text.failed)
        return pfc_mem_error(e->mem, error);
    int status = profconv_builder_status(e->builder, error);
    if (status == 0 && e->counted == 0)
        return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "none of the %zu positions of the profile has a count above 0",
                                  bodies ? bodies - 1 : 0);
    if (e->too_deep)
        profconv_report_add(profconv_builder_report(e->builder), PROFCONV_NOTE_WARNING, "deep-inlining", e->too_deep, 0,
                            PROFCONV_NO_OFFSET, 0,
                            "callers left out of positions with more than %d inlined calls around them", MAX_INLINED);
    return status;
}

static int run(profconv_builder *builder, const profconv_options *options,
               int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total), void *tick_user,
               profconv_error *error) {
    int status = profconv_options_check(options, SCOPE, settings, error);
    if (status)
        return status;
    pfc_model *m = pfc_builder_model(builder);
    expansion e = {.builder = builder,
                   .mem = &m->mem,
                   .function_rows = m->strings.count,
                   .context_rows = m->contexts.count ? m->contexts.count : 1,
                   .style = pfc_demangle_style(profconv_options_string(options, SCOPE, settings, "demangle"))};
    pfc_buf_init(&e.text, e.mem);
    e.functions = pfc_alloc_zero(e.mem, e.function_rows * sizeof *e.functions);
    e.contexts = pfc_alloc_zero(e.mem, e.context_rows * sizeof *e.contexts);
    e.lines = pfc_alloc(e.mem, MAX_INLINED * sizeof *e.lines);
    status =
        e.functions && e.contexts && e.lines ? expand_all(&e, tick, tick_user, error) : pfc_mem_error(e.mem, error);
    pfc_free(e.mem, e.functions, e.function_rows * sizeof *e.functions);
    pfc_free(e.mem, e.contexts, e.context_rows * sizeof *e.contexts);
    pfc_free(e.mem, e.lines, MAX_INLINED * sizeof *e.lines);
    pfc_buf_free(&e.text);
    return status;
}

const pfc_pass pfc_expand_pass = {
    .name = SCOPE,
    .settings = settings,
    .needs = PROFCONV_FACET_SOURCE_COUNTS,
    .adds = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .run = run,
};
