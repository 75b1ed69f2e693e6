/* SPDX-License-Identifier: MIT
 *
 * Frames that stand for values of labels, as pprof's tagroot and tagleaf have them: named after the value, in a file
 * named after the key. Expressions see them as they see other frames. They are made once a label set.
 */
#include <string.h>

#include "libprofconv/transform/filter.h"

enum { ROOTS = 0, LEAVES = 1 };

/* ---- settings ---- */

static profconv_id find_key(const profconv_profile *p, const char *text, size_t size) {
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LABEL); i++) {
        profconv_id key = profconv_profile_label(p, i)->key;
        profconv_string s = profconv_profile_string(p, key);
        if (s.size == size && memcmp(s.data, text, size) == 0)
            return key;
    }
    return 0;
}

/* Keys in one or several settings, commas between. */
static int parse_keys(pfc_frame_filter *f, const profconv_options *settings, const char *name, int end,
                      profconv_error *error) {
    const char *text;
    for (size_t i = 0; (text = profconv_options_item(settings, PFC_FILTER_SCOPE, name, i)) != NULL; i++) {
        for (;;) {
            size_t size = strcspn(text, ",");
            profconv_id key = find_key(f->copy->from, text, size);
            if (!key)
                return profconv_error_set(error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                          "filter.%s: no sample has a label '%.*s'", name, (int)size, text);
            if (PFC_VEC_PUSH(&f->copy->mem, &f->keys[end], key))
                return pfc_mem_error(&f->copy->mem, error);
            if (!text[size])
                break;
            text += size + 1;
        }
    }
    return PROFCONV_OK;
}

int pfc_frame_tags_parse(pfc_frame_filter *f, const profconv_options *settings, profconv_error *error) {
    pfc_mem *mem = &f->copy->mem;
    int status = parse_keys(f, settings, "tagroot", ROOTS, error);
    if (!status)
        status = parse_keys(f, settings, "tagleaf", LEAVES, error);
    if (status || (f->keys[ROOTS].count == 0 && f->keys[LEAVES].count == 0))
        return status;
    f->tag_runs = (struct pfc_tag_run *)pfc_alloc_zero(mem, f->copy->rows[PFC_COPY_SETS] * sizeof *f->tag_runs);
    return f->tag_runs ? PROFCONV_OK : pfc_mem_error(mem, error);
}

void pfc_frame_tags_free(pfc_frame_filter *f) {
    pfc_mem *mem = &f->copy->mem;
    PFC_VEC_FREE(mem, &f->keys[ROOTS]);
    PFC_VEC_FREE(mem, &f->keys[LEAVES]);
    PFC_VEC_FREE(mem, &f->tags);
    pfc_free(mem, f->tag_runs, f->tag_runs ? f->copy->rows[PFC_COPY_SETS] * sizeof *f->tag_runs : 0);
    f->tag_runs = NULL;
}

/* ---- frames ---- */

static uint8_t look(const pfc_frame_filter *f, const char *value, const char *key) {
    static const uint8_t flags[PFC_EXPRESSIONS] = {PFC_FRAME_FOCUS,  PFC_FRAME_IGNORE,    0,
                                                   PFC_FRAME_HIDDEN, PFC_FRAME_SHOW_FROM, PFC_FRAME_PRUNE};
    uint8_t out = 0;
    for (unsigned e = 0; e < PFC_EXPRESSIONS; e++) {
        if (!PFC_GIVEN(f, e))
            continue;
        int matches = pfc_expression_matches(f, e, value) || (e != PFC_PRUNE_FROM && pfc_expression_matches(f, e, key));
        if (e == PFC_SHOW)
            out |= matches ? 0 : PFC_FRAME_HIDDEN;
        else if (matches)
            out |= flags[e];
    }
    return out;
}

/* The values of a key in a set, commas between, as a frame. Nonzero without memory. */
static int add_frame(pfc_frame_filter *f, profconv_id set, profconv_id key, uint32_t *count) {
    pfc_copy *c = f->copy;
    const profconv_label_set *labels = profconv_profile_label_set(c->from, set);
    pfc_buf text;
    size_t values = 0;
    pfc_buf_init(&text, &c->mem);
    for (uint32_t i = 0; i < labels->count; i++) {
        const profconv_label *label =
            profconv_profile_label(c->from, profconv_profile_label_item(c->from, labels->first + i));
        char scratch[24];
        if (label->key != key)
            continue;
        profconv_string value = pfc_label_text(c->from, label, scratch);
        if (values++)
            pfc_buf_char(&text, ',');
        pfc_buf_add(&text, value.data, value.size);
    }
    int failed = text.failed != 0;
    if (values && !failed) {
        const char *name = text.data ? text.data : "";
        pfc_tag_frame row = {0, look(f, name, profconv_profile_string(c->from, key).data)};
        profconv_id function = profconv_builder_string(c->builder, name, text.size); /* before the file: the order of rows */
        row.frame = pfc_copy_pseudo(c, 0, function, pfc_copy_string(c, key));
        failed = PFC_VEC_PUSH(&c->mem, &f->tags, row) != 0;
        *count += !failed;
    }
    pfc_buf_free(&text);
    return failed;
}

size_t pfc_frame_tags(pfc_frame_filter *f, profconv_id set, int leaves, const pfc_tag_frame **out) {
    *out = NULL;
    if (!f->tag_runs)
        return 0;
    struct pfc_tag_run *run = &f->tag_runs[set];
    if (!run->known) {
        run->first = f->tags.count;
        for (int end = LEAVES; end >= ROOTS; end--) { /* the first key is outermost, the last one innermost */
            for (size_t i = f->keys[end].count; i-- > 0;) {
                if (add_frame(f, set, f->keys[end].data[i], &run->count[end]))
                    return 0;
            }
        }
        run->known = 1;
    }
    size_t first = run->first + (leaves ? 0 : run->count[LEAVES]);
    *out = run->count[leaves ? LEAVES : ROOTS] ? f->tags.data + first : NULL;
    return run->count[leaves ? LEAVES : ROOTS];
}
