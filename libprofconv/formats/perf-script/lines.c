/* SPDX-License-Identifier: MIT
 *
 * What lines mean, kept for when they come again. Text has millions of frame lines, and most often thousands of
 * different ones: such a line is looked at once and found by its bytes from then on. Text in which hardly a line comes
 * again must not fill memory with what nobody will ask for, so lines live in generations: a full one is forgotten as a
 * whole at the end of a sample, and the next may be larger where lines came again often enough. A small one stays in
 * the processor's caches, which is what makes reading distinct lines fast.
 */
#include "libprofconv/formats/perf-script/ps.h"

#define KERNEL_MIN UINT64_C(0xffff800000000000)

enum { FIRST_LIMIT = 1 << 13, LAST_LIMIT = 1 << 17 };

static uint64_t line_hash(const void *user, uint32_t row) { return ((const ps_reader *)user)->lines.data[row].hash; }

int ps_lines_init(ps_reader *r) {
    static const ps_line no_line;
    static const ps_group no_group;
    r->line_limit = FIRST_LIMIT;
    return PFC_VEC_PUSH(&r->mem, &r->lines, no_line) || PFC_VEC_PUSH(&r->mem, &r->groups, no_group) ? ps_failed(r) : 0;
}

void ps_lines_free(ps_reader *r) {
    PFC_VEC_FREE(&r->mem, &r->lines);
    PFC_VEC_FREE(&r->mem, &r->line_texts);
    pfc_index_free(&r->mem, &r->line_index);
    PFC_VEC_FREE(&r->mem, &r->groups);
    pfc_index_free(&r->mem, &r->group_index);
    PFC_VEC_FREE(&r->mem, &r->group_items);
}

static void forget(pfc_index *index) {
    if (index->size)
        memset(index->slots, 0, index->size * sizeof *index->slots);
    index->count = 0;
}

void ps_lines_settle(ps_reader *r) {
    if (r->lines.count <= r->line_limit && r->groups.count <= r->line_limit)
        return;
    if (r->line_hits / 2 > r->line_limit && r->line_limit < LAST_LIMIT)
        r->line_limit *= 2;
    r->line_hits = 0;
    r->lines.count = r->groups.count = 1;
    r->line_texts.count = r->group_items.count = 0;
    forget(&r->line_index);
    forget(&r->group_index);
}

uint32_t ps_line_find(ps_reader *r, ps_text line, uint64_t *hash) {
    *hash = pfc_hash_bytes_keyed(r->mem.key, line.data, line.size);
    pfc_probe probe = pfc_index_start(&r->line_index, *hash);
    for (uint32_t row; (row = pfc_index_next(&r->line_index, &probe)) != 0;) {
        const ps_line *known = &r->lines.data[row];
        if (known->size == line.size && memcmp(r->line_texts.data + known->text, line.data, line.size) == 0) {
            r->line_hits++;
            return row;
        }
    }
    return 0;
}

static profconv_id intern(ps_reader *r, ps_text t) { return profconv_builder_string(r->builder, t.data, t.size); }

static int add(ps_reader *r, ps_text text, uint64_t hash, ps_line *line, uint32_t *row) {
    if (text.size > UINT32_MAX || r->lines.count >= UINT32_MAX)
        return ps_failed(r);
    if (PFC_VEC_RESERVE(&r->mem, &r->line_texts, r->line_texts.count + text.size))
        return ps_failed(r);
    if (text.size)
        memcpy(r->line_texts.data + r->line_texts.count, text.data, text.size);
    line->hash = hash;
    line->text = r->line_texts.count;
    line->size = (uint32_t)text.size;
    r->line_texts.count += text.size;
    if (PFC_VEC_PUSH(&r->mem, &r->lines, *line))
        return ps_failed(r);
    *row = (uint32_t)r->lines.count - 1;
    return pfc_index_insert(&r->mem, &r->line_index, hash, *row, line_hash, r) ? ps_failed(r) : 0;
}

int ps_line_add(ps_reader *r, ps_text text, uint64_t hash, const ps_frame *frame, uint32_t *row) {
    ps_line line;
    memset(&line, 0, sizeof line);
    line.kind = PS_LINE_FRAME;
    line.inlined = frame->inlined;
    line.has_dso = frame->has_dso;
    line.address = frame->address;
    line.name = intern(r, frame->symbol);
    line.dso = PS_NONE;
    if (frame->dso.size > 0 && (line.dso = ps_dso_named(r, frame->dso, 0)) == PS_NONE)
        return ps_failed(r);
    if (frame->has_offset && line.dso != PS_NONE) {
        line.address = frame->offset;
        line.has_dso = 2;
    }
    unsigned kind = line.dso == PS_NONE ? PROFCONV_MAPPING_UNKNOWN : r->dsos.data[line.dso].kind;
    line.kernel = frame->address >= KERNEL_MIN || kind == PROFCONV_MAPPING_KERNEL || kind == PROFCONV_MAPPING_MODULE;
    return add(r, text, hash, &line, row);
}

static int add_source(ps_reader *r, ps_text text, uint64_t hash, const ps_source *source, uint32_t *row) {
    ps_line line;
    memset(&line, 0, sizeof line);
    line.dso = PS_NONE;
    line.kind = PS_LINE_SOURCE;
    line.inlined = source->inlined != 0;
    line.name = intern(r, source->file);
    line.source = source->line;
    return add(r, text, hash, &line, row);
}

int ps_line_get(ps_reader *r, ps_text text, uint32_t *row) {
    uint64_t hash;
    ps_frame frame;
    ps_source source;
    if ((*row = ps_line_find(r, text, &hash)) != 0)
        return 0;
    if (ps_parse_frame(text, &frame))
        return ps_line_add(r, text, hash, &frame, row);
    return ps_parse_source(text, &source) ? add_source(r, text, hash, &source, row) : 0;
}
