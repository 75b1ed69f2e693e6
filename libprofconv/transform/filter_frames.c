/* SPDX-License-Identifier: MIT
 *
 * What expressions and granularity make of frames. All of it can be said of a location once: which of its lines stay, and whether
 * it cuts the stacks it is in. Names are tried once a string. The order is pprof's: focus and ignore look at the whole frame, hide
 * and show take lines away, show-from and prune-from cut.
 */
#include <string.h>

#include "libprofconv/transform/filter.h"

static const char *const expression_names[PFC_EXPRESSIONS] = {"focus", "ignore", "show", "hide", "show-from", "prune-from"};

/* ---- settings ---- */

static profconv_id find_string(const profconv_profile *p, const char *text, size_t size) {
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LABEL); i++) {
        profconv_id key = profconv_profile_label(p, i)->key;
        profconv_string s = profconv_profile_string(p, key);
        if (s.size == size && memcmp(s.data, text, size) == 0)
            return key;
    }
    return 0;
}

/* Keys in one or several settings, commas between. */
static int parse_keys(pfc_frame_filter *f, const profconv_options *settings, const char *name, int leaves, profconv_error *error) {
    const char *text;
    for (size_t i = 0; (text = profconv_options_item(settings, PFC_FILTER_SCOPE, name, i)) != NULL; i++) {
        for (;;) {
            size_t size = strcspn(text, ",");
            profconv_id key = find_string(f->copy->from, text, size);
            if (!key)
                return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                          "filter.%s: no sample has a label '%.*s'", name, (int)size, text);
            if (leaves ? PFC_VEC_PUSH(&f->copy->mem, &f->tag_leaves, key) : PFC_VEC_PUSH(&f->copy->mem, &f->tag_roots, key))
                return pfc_mem_error(&f->copy->mem, error);
            if (!text[size])
                break;
            text += size + 1;
        }
    }
    return PROFCONV_OK;
}

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
    int status = parse_keys(f, settings, "tagroot", 0, error);
    return status ? status : parse_keys(f, settings, "tagleaf", 1, error);
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
    PFC_VEC_FREE(mem, &f->tag_roots);
    PFC_VEC_FREE(mem, &f->tag_leaves);
    PFC_VEC_FREE(mem, &f->stack);
}

/* ---- matching ---- */

static int string_matches(pfc_frame_filter *f, unsigned e, profconv_id id) {
    uint8_t bit = (uint8_t)(1u << e);
    if (!(f->known[id] & bit)) {
        f->known[id] |= bit;
        if (regexec(&f->regex[e], profconv_profile_string(f->copy->from, id).data, 0, NULL, 0) == 0)
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

#define GIVEN(f, e) (((f)->given >> (e)) & 1u)

/* Takes lines out of copy->lines (functions still the profile's) by show or hide; a frame without lines is its mapping. */
static int show_or_hide(pfc_frame_filter *f, unsigned e, const profconv_location *l, int keep) {
    pfc_copy *c = f->copy;
    if (!GIVEN(f, e))
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
    if (GIVEN(f, PFC_SHOW_FROM)) {
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
    for (size_t k = 0; GIVEN(f, PFC_PRUNE_FROM) && k < c->lines.count; k++) {
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
    if (GIVEN(f, PFC_FOCUS) && location_matches(f, PFC_FOCUS, id, l))
        flags |= PFC_FRAME_FOCUS;
    if (GIVEN(f, PFC_IGNORE) && location_matches(f, PFC_IGNORE, id, l))
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

pfc_verdict pfc_frame_filter_apply(pfc_frame_filter *f, profconv_id stack) {
    pfc_copy *c = f->copy;
    unsigned all = 0;
    size_t seen = 0, end = 0, begin = SIZE_MAX; /* of what is kept in f->stack: [begin, end) */
    f->stack.count = 0;
    for (profconv_id node = stack; node; node = profconv_profile_stack(c->from, node)->parent) {
        profconv_id location = profconv_profile_stack(c->from, node)->location;
        if (!(f->flags[location] & PFC_FRAME_KNOWN))
            decide(f, location);
        uint8_t flags = f->flags[location];
        all |= flags;
        seen++;
        if (flags & PFC_FRAME_HIDDEN)
            continue;
        if ((flags & PFC_FRAME_PRUNE) && begin == SIZE_MAX)
            begin = f->stack.count;
        if (PFC_VEC_PUSH(&c->mem, &f->stack, f->made[location]))
            return PFC_KEEP; /* the copy is over */
        if (flags & PFC_FRAME_SHOW_FROM)
            end = f->stack.count;
    }
    if (all & PFC_FRAME_IGNORE)
        return PFC_IGNORED;
    if (GIVEN(f, PFC_FOCUS) && !(all & PFC_FRAME_FOCUS))
        return PFC_NOT_FOCUSED;
    if (seen && f->stack.count == 0)
        return PFC_ALL_HIDDEN;
    if (GIVEN(f, PFC_SHOW_FROM)) {
        if (end == 0)
            return PFC_NOT_SHOWN;
        f->stack.count = end;
    }
    if (begin != SIZE_MAX && begin > 0 && begin < f->stack.count) {
        memmove(f->stack.data, f->stack.data + begin, (f->stack.count - begin) * sizeof *f->stack.data);
        f->stack.count -= begin;
    }
    if (f->max_stack && f->stack.count > (uint64_t)f->max_stack)
        f->stack.count = (size_t)f->max_stack;
    return PFC_KEEP;
}

/* The values of a key in a set, commas between, as a frame; 0 when there is none. */
static profconv_id tag_frame(pfc_frame_filter *f, profconv_id set, profconv_id key) {
    pfc_copy *c = f->copy;
    const profconv_label_set *labels = profconv_profile_label_set(c->from, set);
    pfc_buf text;
    size_t values = 0;
    pfc_buf_init(&text, &c->mem);
    for (uint32_t i = 0; i < labels->count; i++) {
        const profconv_label *label = profconv_profile_label(c->from, profconv_profile_label_item(c->from, labels->first + i));
        char scratch[24];
        if (label->key != key)
            continue;
        profconv_string value = pfc_label_text(c->from, label, scratch);
        if (values++)
            pfc_buf_char(&text, ',');
        pfc_buf_add(&text, value.data, value.size);
    }
    profconv_id frame = 0;
    if (values)
        frame = pfc_copy_pseudo(c, 0, profconv_builder_string(c->builder, text.data ? text.data : "", text.size),
                                pfc_copy_string(c, key));
    pfc_buf_free(&text);
    return frame;
}

void pfc_frame_filter_tag(pfc_frame_filter *f, profconv_id set) {
    pfc_mem *mem = &f->copy->mem;
    size_t roots = f->tag_roots.count, leaves = f->tag_leaves.count;
    for (size_t i = roots; i-- > 0;) { /* the first key is outermost */
        profconv_id frame = tag_frame(f, set, f->tag_roots.data[i]);
        if (frame && PFC_VEC_PUSH(mem, &f->stack, frame))
            return;
    }
    for (size_t i = 0; i < leaves; i++) { /* the last key is innermost */
        profconv_id frame = tag_frame(f, set, f->tag_leaves.data[i]);
        if (!frame)
            continue;
        if (PFC_VEC_PUSH(mem, &f->stack, frame))
            return;
        memmove(f->stack.data + 1, f->stack.data, (f->stack.count - 1) * sizeof *f->stack.data);
        f->stack.data[0] = frame;
    }
}
