/* SPDX-License-Identifier: MIT
 *
 * The pass "expand": a source profile as stacks, so that an LLVM or GCC profile can be looked at as a flame graph. Each counted
 * position becomes a sample: the function with the calls inlined into it as one location (innermost line first), and under a
 * context, its callers. Line numbers are what the profile has: offsets from the start of the function, or probe ids.
 */
#include <string.h>

#include "libprofconv/base/text.h"
#include "libprofconv/model/pass.h"

enum { MAX_INLINED = 1024 };

static const profconv_setting settings[] = {
    {NULL, 0, NULL, NULL, NULL},
};

static profconv_id function_of(profconv_builder *builder, profconv_id name) {
    const profconv_function row = {.name = name, .linkage_name = name};
    return profconv_builder_function(builder, &row);
}

/* Stacks of the context frames, one a context row; parents precede children. */
static profconv_id *context_stacks(profconv_builder *builder, pfc_mem *mem) {
    pfc_model *m = pfc_builder_model(builder);
    size_t count = m->contexts.count ? m->contexts.count : 1;
    profconv_id *stacks = pfc_alloc_zero(mem, count * sizeof *stacks);
    for (size_t i = 1; stacks && i < m->contexts.count; i++) {
        const profconv_context row = m->contexts.data[i];
        const profconv_line line = {.line = row.line, .function = function_of(builder, row.name), .discriminator = row.discriminator};
        const profconv_location location = {0};
        stacks[i] = profconv_builder_stack(builder, stacks[row.parent], profconv_builder_location(builder, &location, &line, 1));
    }
    return stacks;
}

/* Lines of a body row, innermost first. */
static uint32_t lines_of(profconv_builder *builder, const profconv_source_body *body, profconv_line *lines, profconv_id *top) {
    const pfc_model *m = pfc_builder_model(builder);
    uint32_t line = body->line;
    uint32_t discriminator = body->discriminator;
    uint32_t count = 0;
    *top = 0;
    for (profconv_id source = body->source; source != 0;) {
        const profconv_source row = m->sources.data[source];
        const profconv_line place = {.line = line, .function = function_of(builder, row.name), .discriminator = discriminator};
        if (count < MAX_INLINED)
            lines[count++] = place;
        line = row.line;
        discriminator = row.discriminator;
        *top = source;
        source = row.parent;
    }
    return count;
}

static int run(profconv_builder *builder, const profconv_options *options,
               int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total), void *tick_user,
               profconv_error *error) {
    (void)options;
    pfc_model *m = pfc_builder_model(builder);
    pfc_mem *mem = &m->mem;
    const profconv_sample_type type = {.name = profconv_builder_cstring(builder, "samples"),
                                       .unit = profconv_builder_cstring(builder, "count"),
                                       .role = PROFCONV_ROLE_COUNT};
    uint32_t column = profconv_builder_sample_type(builder, &type);
    size_t context_bytes = (m->contexts.count ? m->contexts.count : 1) * sizeof(profconv_id);
    profconv_id *contexts = context_stacks(builder, mem);
    profconv_line *lines = pfc_alloc(mem, MAX_INLINED * sizeof *lines);
    int cancelled = 0;
    if (!contexts || !lines)
        pfc_builder_fail(builder, mem->failed, "out of memory for expanding the profile");
    for (size_t i = 1; contexts && lines && !cancelled && i < m->source_bodies.count; i++) {
        const profconv_source_body body = m->source_bodies.data[i];
        if (body.count == 0)
            continue;
        profconv_id top;
        uint32_t count = lines_of(builder, &body, lines, &top);
        const profconv_location location = {0};
        profconv_id frame = profconv_builder_location(builder, &location, lines, count);
        int64_t value = body.count > INT64_MAX ? INT64_MAX : (int64_t)body.count;
        profconv_builder_sample(builder, profconv_builder_stack(builder, contexts[m->sources.data[top].context], frame), 0, column,
                                &value, 1);
        cancelled = tick && i % 4096 == 0 && tick(tick_user, "expand", i, m->source_bodies.count);
    }
    pfc_free(mem, contexts, context_bytes);
    pfc_free(mem, lines, MAX_INLINED * sizeof *lines);
    if (cancelled)
        return profconv_error_set(error, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0, "cancelled");
    return profconv_builder_status(builder, error);
}

const pfc_pass pfc_expand_pass = {
    .name = "expand",
    .settings = settings,
    .needs = PROFCONV_FACET_SOURCE_COUNTS,
    .adds = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .run = run,
};
