/* SPDX-License-Identifier: MIT
 *
 * What expressions and granularity make of frames. All of it can be said of a location once: which of its lines stay, and whether
 * it cuts the stacks it is in. Names are tried once a string. The order is pprof's: frames that stand for labels are there from the
 * beginning, focus and ignore look at the whole stack, hide and show take lines away, show-from and prune-from cut. max-stack
 * then counts what is no label.
 */
#include <string.h>

#include "libprofconv/transform/filter.h"

static const char *const expression_names[PFC_EXPRESSIONS] = {"focus", "ignore", "show", "hide", "show-from", "prune-from"};

/* ---- settings ---- */

int pfc_frame_filter_parse(pfc_frame_filter *f, pfc_copy *copy, const profconv_options *settings, profconv_error *error) {
    static const char *const grains[] = {"address", "line", "function", "file", "mapping"};
    memset(f, 0, sizeof *f);
    f->copy = copy;
    f->known = (uint8_t *)pfc_alloc_zero(&copy->mem, copy->rows[PFC_COPY_STRINGS]);
    f->matches = (uint8_t *)pfc_alloc_zero(&copy->mem, copy->rows[PFC_COPY_STRINGS]);
    f->flags = (uint8_t *)pfc_alloc_zero(&copy->mem, copy->rows[PFC_COPY_LOCATIONS]);
    f->made = (profconv_id *)pfc_alloc_zero(&copy->mem, copy->rows[PFC_COPY_LOCATIONS] * sizeof *f->made);
    if (!f->known || !f->matches || !f->flags || !f->made)
        return pfc_mem_error(&copy->mem, error);
    for (unsigned i = 0; i < PFC_EXPRESSIONS; i++) {
        const char *text = profconv_options_get(settings, PFC_FILTER_SCOPE, expression_names[i]);
        if (!text)
            continue;
        int status = pfc_regex_compile(&f->regex[i], expression_names[i], text, error);
        if (status)
            return status;
        f->given |= 1u << i;
    }
    const char *grain = profconv_options_string(settings, PFC_FILTER_SCOPE, pfc_filter_declared, "granularity");
    for (int i = 0; i < 5; i++) {
        if (grain && strcmp(grain, grains[i]) == 0)
            f->granularity = i;
    }
    f->inlined = profconv_options_bool(settings, PFC_FILTER_SCOPE, pfc_filter_declared, "inline");
    f->max_stack = profconv_options_int(settings, PFC_FILTER_SCOPE, pfc_filter_declared, "max-stack");
    if (f->max_stack < 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "filter.max-stack: %lld is below 0",
                                  (long long)f->max_stack);
    return pfc_frame_tags_parse(f, settings, error);
}

void pfc_frame_filter_free(pfc_frame_filter *f) {
    if (!f->copy)
        return;
    pfc_mem *mem = &f->copy->mem;
    for (unsigned i = 0; i < PFC_EXPRESSIONS; i++) {
        if (f->given & 1u << i)
            regfree(&f->regex[i]);
    }
    pfc_free(mem, f->known, f->known ? f->copy->rows[PFC_COPY_STRINGS] : 0);
    pfc_free(mem, f->matches, f->matches ? f->copy->rows[PFC_COPY_STRINGS] : 0);
    pfc_free(mem, f->flags, f->flags ? f->copy->rows[PFC_COPY_LOCATIONS] : 0);
    pfc_free(mem, f->made, f->made ? f->copy->rows[PFC_COPY_LOCATIONS] * sizeof *f->made : 0);
    pfc_frame_tags_free(f);
    PFC_VEC_FREE(mem, &f->stack);
}

/* ---- matching ---- */

int pfc_expression_matches(const pfc_frame_filter *f, unsigned e, const char *text) {
    return regexec(&f->regex[e], text, 0, NULL, 0) == 0;
}

static int string_matches(pfc_frame_filter *f, unsigned e, profconv_id id) {
    uint8_t bit = (uint8_t)(1u << e);
    if (!(f->known[id] & bit)) {
        f->known[id] |= bit;
        if (pfc_expression_matches(f, e, profconv_profile_string(f->copy->from, id).data))
            f->matches[id] |= bit;
    }
    return (f->matches[id] & bit) != 0;
}

static int function_matches(pfc_frame_filter *f, unsigned e, profconv_id id, int files) {
    const profconv_function *row = profconv_profile_function(f->copy->from, id);
    return id && ((row->name && string_matches(f, e, row->name)) || (files && row->file && string_matches(f, e, row->file)));
}

static int mapping_matches(pfc_frame_filter *f, unsigned e, const profconv_location *l) {
    profconv_id file = profconv_profile_mapping(f->copy->from, l->mapping)->file;
    return l->mapping && file && string_matches(f, e, file);
}

static int location_matches(pfc_frame_filter *f, unsigned e, profconv_id id, const profconv_location *l) {
    int match = mapping_matches(f, e, l);
    for (uint32_t k = 0; k < l->line_count && !match; k++)
        match = function_matches(f, e, profconv_profile_line(f->copy->from, id, k)->function, 1);
    return match;
}

/* Takes lines out of copy->lines (functions still the profile's) by show or hide; a frame without lines is its mapping. */
static int show_or_hide(pfc_frame_filter *f, unsigned e, const profconv_location *l, int keep) {
    pfc_copy *c = f->copy;
    if (!PFC_GIVEN(f, e))
        return 1;
    if (mapping_matches(f, e, l))
        return keep;
    size_t n = 0;
    for (size_t k = 0; k < c->lines.count; k++) {
        if (function_matches(f, e, c->lines.data[k].function, 1) == keep)
            c->lines.data[n++] = c->lines.data[k];
    }
    int bare = c->lines.count == 0;
    c->lines.count = n;
    return bare ? !keep : n > 0;
}

static void cut_lines(pfc_frame_filter *f, const profconv_location *l, uint8_t *flags) {
    pfc_copy *c = f->copy;
    if (PFC_GIVEN(f, PFC_SHOW_FROM)) {
        size_t n = c->lines.count;
        if (mapping_matches(f, PFC_SHOW_FROM, l)) {
            *flags |= PFC_FRAME_SHOW_FROM;
        } else {
            while (n > 0 && !function_matches(f, PFC_SHOW_FROM, c->lines.data[n - 1].function, 1))
                n--;
            if (n > 0) {
                c->lines.count = n;
                *flags |= PFC_FRAME_SHOW_FROM;
            }
        }
    }
    for (size_t k = 0; PFC_GIVEN(f, PFC_PRUNE_FROM) && k < c->lines.count; k++) {
        if (function_matches(f, PFC_PRUNE_FROM, c->lines.data[k].function, 0)) {
            memmove(c->lines.data, c->lines.data + k, (c->lines.count - k) * sizeof *c->lines.data);
            c->lines.count -= k;
            *flags |= PFC_FRAME_PRUNE;
            break;
        }
    }
}

/* ---- granularity ---- */

/* "[libc.so.6]", "[unknown]": what stands for frames without names. */
static profconv_id bracketed(pfc_copy *c, const profconv_location *l) {
    char text[256];
    profconv_string path = profconv_profile_string(c->from, profconv_profile_mapping(c->from, l->mapping)->file);
    size_t base = path.size;
    while (base > 0 && path.data[base - 1] != '/')
        base--;
    const char *name = path.data + base;
    size_t size = path.size - base;
    if (size == 0) {
        name = l->flags & PROFCONV_LOCATION_KERNEL ? "kernel" : "unknown";
        size = strlen(name);
    }
    if (size >= sizeof text - 2)
        size = sizeof text - 2;
    if (name[0] == '[')
        return profconv_builder_string(c->builder, name, size);
    text[0] = '[';
    memcpy(text + 1, name, size);
    text[size + 1] = ']';
    return profconv_builder_string(c->builder, text, size + 2);
}

static profconv_id by_mapping(pfc_copy *c, const profconv_location *l) {
    profconv_id file = pfc_copy_string(c, profconv_profile_mapping(c->from, l->mapping)->file);
    return pfc_copy_pseudo(c, pfc_copy_mapping(c, l->mapping), file ? file : bracketed(c, l), 0);
}

static profconv_function coarse_function(pfc_frame_filter *f, profconv_id id) {
    profconv_function row = *profconv_profile_function(f->copy->from, id);
    row.name = pfc_copy_string(f->copy, row.name);
    row.linkage_name = pfc_copy_string(f->copy, row.linkage_name);
    row.file = pfc_copy_string(f->copy, row.file);
    if (f->granularity == PFC_GRAIN_FILE && row.file) {
        row.name = row.linkage_name = row.file;
        row.start_line = 0;
    }
    return row;
}

/* The location of what is left in copy->lines. */
static profconv_id make_location(pfc_frame_filter *f, profconv_id id, const profconv_location *l) {
    pfc_copy *c = f->copy;
    if (f->granularity == PFC_GRAIN_MAPPING)
        return by_mapping(c, l);
    if (c->lines.count == 0 && f->granularity != PFC_GRAIN_ADDRESS)
        return pfc_copy_pseudo(c, pfc_copy_mapping(c, l->mapping), bracketed(c, l), 0);
    profconv_location row = *l;
    row.mapping = pfc_copy_mapping(c, l->mapping);
    /* Lines that were taken away are not at this address any more: with it, one address would have two meanings. */
    if (f->granularity != PFC_GRAIN_ADDRESS || c->lines.count != l->line_count)
        row.address = 0;
    for (size_t k = 0; k < c->lines.count; k++) {
        profconv_line *line = &c->lines.data[k];
        if (f->granularity != PFC_GRAIN_ADDRESS) {
            profconv_function function = coarse_function(f, line->function);
            line->function = line->function ? profconv_builder_function(c->builder, &function) : 0;
            line->column = 0;
            line->discriminator = 0;
            if (f->granularity != PFC_GRAIN_LINE)
                line->line = 0;
        } else {
            line->function = pfc_copy_function(c, line->function);
        }
    }
    (void)id;
    return profconv_builder_location(c->builder, &row, c->lines.data, (uint32_t)c->lines.count);
}

static void decide(pfc_frame_filter *f, profconv_id id) {
    pfc_copy *c = f->copy;
    const profconv_location *l = profconv_profile_location(c->from, id);
    uint8_t flags = PFC_FRAME_KNOWN;
    if (PFC_GIVEN(f, PFC_FOCUS) && location_matches(f, PFC_FOCUS, id, l))
        flags |= PFC_FRAME_FOCUS;
    if (PFC_GIVEN(f, PFC_IGNORE) && location_matches(f, PFC_IGNORE, id, l))
        flags |= PFC_FRAME_IGNORE;
    c->lines.count = 0;
    for (uint32_t k = 0; k < l->line_count; k++) {
        if (PFC_VEC_PUSH(&c->mem, &c->lines, *profconv_profile_line(c->from, id, k)))
            return;
    }
    if (!show_or_hide(f, PFC_HIDE, l, 0) || !show_or_hide(f, PFC_SHOW, l, 1))
        flags |= PFC_FRAME_HIDDEN;
    cut_lines(f, l, &flags);
    if (!f->inlined && c->lines.count > 1) { /* the function that has the code */
        c->lines.data[0] = c->lines.data[c->lines.count - 1];
        c->lines.count = 1;
    }
    if (!(flags & PFC_FRAME_HIDDEN))
        f->made[id] = make_location(f, id, l);
    f->flags[id] = flags;
}

/* ---- stacks ---- */

/* What the frames of a stack come to, from the leaf on. */
typedef struct walk {
    unsigned all;      /* flags of all frames, also of those that do not stay */
    size_t seen;
    size_t begin, end; /* of what show-from and prune-from leave of f->stack */
} walk;

/* Nonzero when memory ran out; then the copy is over. */
static int step(pfc_frame_filter *f, walk *w, profconv_id frame, uint8_t flags) {
    w->all |= flags;
    w->seen++;
    if (flags & PFC_FRAME_HIDDEN)
        return 0;
    if ((flags & PFC_FRAME_PRUNE) && w->begin == SIZE_MAX)
        w->begin = f->stack.count;
    if (PFC_VEC_PUSH(&f->copy->mem, &f->stack, frame))
        return 1;
    if (flags & PFC_FRAME_SHOW_FROM)
        w->end = f->stack.count;
    return 0;
}

static int step_tags(pfc_frame_filter *f, walk *w, profconv_id set, int leaves) {
    const pfc_tag_frame *tags;
    size_t count = pfc_frame_tags(f, set, leaves, &tags);
    for (size_t i = 0; i < count; i++) {
        if (step(f, w, tags[i].frame, tags[i].flags))
            return 1;
    }
    return 0;
}

static int step_stack(pfc_frame_filter *f, walk *w, profconv_id stack) {
    const profconv_profile *p = f->copy->from;
    for (profconv_id node = stack; node; node = profconv_profile_stack(p, node)->parent) {
        profconv_id location = profconv_profile_stack(p, node)->location;
        if (!(f->flags[location] & PFC_FRAME_KNOWN))
            decide(f, location);
        if (step(f, w, f->made[location], f->flags[location]))
            return 1;
    }
    return 0;
}

static void take_out(pfc_frame_filter *f, size_t from, size_t to) {
    if (from < to && f->stack.count > to)
        memmove(f->stack.data + from, f->stack.data + to, (f->stack.count - to) * sizeof *f->stack.data);
    if (from < to)
        f->stack.count -= to - from;
}

pfc_verdict pfc_frame_filter_apply(pfc_frame_filter *f, profconv_id stack, profconv_id set) {
    walk w = {0, 0, SIZE_MAX, 0};
    f->stack.count = 0;
    if (step_tags(f, &w, set, 1))
        return PFC_KEEP;
    size_t first = f->stack.count; /* [first, last): the frames that are no labels */
    if (step_stack(f, &w, stack))
        return PFC_KEEP;
    size_t last = f->stack.count;
    if (step_tags(f, &w, set, 0))
        return PFC_KEEP;
    if (w.all & PFC_FRAME_IGNORE)
        return PFC_IGNORED;
    if (PFC_GIVEN(f, PFC_FOCUS) && !(w.all & PFC_FRAME_FOCUS))
        return PFC_NOT_FOCUSED;
    if (w.seen && f->stack.count == 0)
        return PFC_ALL_HIDDEN;
    if (PFC_GIVEN(f, PFC_SHOW_FROM)) {
        if (w.end == 0)
            return PFC_NOT_SHOWN;
        f->stack.count = w.end;
        last = last < w.end ? last : w.end;
    }
    size_t begin = w.begin < f->stack.count ? w.begin : 0;
    first = first > begin ? first : begin;
    if (f->max_stack && last > first && last - first > (uint64_t)f->max_stack)
        take_out(f, first + (size_t)f->max_stack, last);
    take_out(f, 0, begin);
    return PFC_KEEP;
}
