/* SPDX-License-Identifier: MIT
 *
 * What a frame is called: its function's cleaned name, the file it lies in when it has no name, and the marks and
 * places that were asked for. A location is put into words once, and a function's name is cleaned once, however many
 * samples hold it.
 */
#include "libprofconv/formats/collapsed/frames.h"

#include <string.h>

/* ---- the table of texts ---- */

static uint64_t text_hash(const void *user, uint32_t row) {
    const pfc_frame_texts *texts = (const pfc_frame_texts *)user;
    return pfc_hash_bytes_keyed(texts->bytes.mem->key, texts->bytes.data + texts->rows.data[row].offset, texts->rows.data[row].size);
}

static int intern(pfc_frames *f, const char *data, size_t size, uint32_t *id) {
    pfc_frame_texts *texts = &f->texts;
    uint64_t hash = pfc_hash_bytes_keyed(f->mem->key, data, size);
    pfc_probe probe = pfc_index_start(&texts->index, hash);
    while ((*id = pfc_index_next(&texts->index, &probe)) != 0) {
        const pfc_frame_text *row = &texts->rows.data[*id];
        if (row->size == size && memcmp(texts->bytes.data + row->offset, data, size) == 0)
            return 0;
    }
    if (size > UINT32_MAX || texts->rows.count >= INT32_MAX)
        return PROFCONV_E_LIMIT;
    pfc_frame_text row = {texts->bytes.size, (uint32_t)size, (uint32_t)hash};
    pfc_buf_add(&texts->bytes, data, size);
    pfc_buf_char(&texts->bytes, ';');
    if (texts->bytes.failed)
        return texts->bytes.failed;
    int status = PFC_VEC_PUSH(f->mem, &texts->rows, row);
    *id = (uint32_t)texts->rows.count - 1;
    return status ? status : pfc_index_insert(f->mem, &texts->index, hash, *id, text_hash, texts);
}

int pfc_frames_text(pfc_frames *f, const char *text, size_t size, int underscores, uint32_t *id) {
    pfc_buf_clear(&f->clean);
    pfc_collapsed_text(&f->clean, text, size, underscores);
    return f->clean.failed ? f->clean.failed : intern(f, f->clean.data, f->clean.size, id);
}

int pfc_frames_leaf(pfc_frames *f, uint32_t id, int alone, uint32_t *leaf) {
    size_t size;
    size_t blank;
    const char *data = pfc_frames_data(f, id, &size);
    *leaf = id;
    if (alone && size == 1 && *data == '#') /* "# 1" is a comment */
        return intern(f, "#_", 2, leaf);
    if (!pfc_collapsed_ends_in_number(data, size, &blank))
        return 0;
    pfc_buf_clear(&f->clean);
    pfc_buf_add(&f->clean, data, size);
    if (f->clean.failed)
        return f->clean.failed;
    f->clean.data[blank] = '_';
    return intern(f, f->clean.data, f->clean.size, leaf);
}

/* ---- kinds of code ---- */

static int text_starts(profconv_string s, const char *text) {
    size_t n = strlen(text);
    return s.size >= n && memcmp(s.data, text, n) == 0;
}

static profconv_string base_name(profconv_string path) {
    profconv_string base = path;
    for (size_t i = 0; i < path.size; i++) {
        if (path.data[i] == '/') {
            base.data = path.data + i + 1;
            base.size = path.size - i - 1;
        }
    }
    return base.size > 0 ? base : path;
}

static int has_module_suffix(profconv_string base) {
    for (size_t i = 1; i + 3 <= base.size; i++) {
        if (memcmp(base.data + i, ".ko", 3) == 0 && (i + 3 == base.size || base.data[i + 3] == '.'))
            return 1;
    }
    return 0;
}

/* Profiles of other tools do not say what a mapping is: then its file's name tells. */
static int is_kernel(const pfc_frames *f, const profconv_location *location, const profconv_mapping *mapping) {
    if (location->flags & PROFCONV_LOCATION_KERNEL)
        return 1;
    if (mapping->kind != PROFCONV_MAPPING_UNKNOWN && mapping->kind != PROFCONV_MAPPING_LIBRARY)
        return mapping->kind == PROFCONV_MAPPING_KERNEL || mapping->kind == PROFCONV_MAPPING_MODULE;
    profconv_string base = base_name(profconv_profile_string(f->profile, mapping->file));
    return text_starts(base, "[kernel") || text_starts(base, "[guest.kernel") || text_starts(base, "vmlinux") ||
           text_starts(base, "bpf_prog_") || has_module_suffix(base);
}

static int is_jit(const pfc_frames *f, const profconv_mapping *mapping) {
    if (mapping->kind == PROFCONV_MAPPING_JIT)
        return 1;
    profconv_string base = base_name(profconv_profile_string(f->profile, mapping->file));
    if (text_starts(base, "perf-"))
        return base.size > 9 && memcmp(base.data + base.size - 4, ".map", 4) == 0;
    return text_starts(base, "jitted-") && base.size > 10 && memcmp(base.data + base.size - 3, ".so", 3) == 0;
}

/* ---- one frame ---- */

typedef struct named_frame {
    const profconv_location *location;
    const profconv_mapping *mapping;
    const profconv_line *line; /* NULL: not symbolized */
    int inlined;
    int jit;
    const char *mark; /* "_[k]" or "" */
} named_frame;

/* The marks of stackcollapse: one a frame, the rarest first. */
static const char *mark_of(const pfc_frames *f, const named_frame *frame) {
    if (f->style.inlined && frame->inlined)
        return "_[i]";
    if (f->style.kernel && is_kernel(f, frame->location, frame->mapping))
        return "_[k]";
    return f->style.jit && frame->jit ? "_[j]" : "";
}

static void add_mark(pfc_buf *out, const char *mark) {
    size_t n = strlen(mark);
    if (out->failed || (out->size >= n && memcmp(out->data + out->size - n, mark, n) == 0))
        return; /* read from collapsed stacks, which carry it in the name */
    pfc_buf_text(out, mark);
}

static void add_source_line(pfc_frames *f, const profconv_line *line) {
    const profconv_function *function = profconv_profile_function(f->profile, line->function);
    profconv_string file = base_name(profconv_profile_string(f->profile, function->file));
    if (file.size == 0)
        return;
    pfc_buf_char(&f->raw, ':');
    pfc_buf_add(&f->raw, file.data, file.size);
    if (line->line > 0) {
        pfc_buf_char(&f->raw, ':');
        pfc_buf_i64(&f->raw, line->line);
    }
}

/* "[libc.so.6]", "[[kernel.kallsyms]]", "[unknown]": what stackcollapse-perf.pl makes of a frame without a name. */
static int unnamed(pfc_frames *f, const named_frame *frame, uint32_t *id) {
    profconv_string base = base_name(profconv_profile_string(f->profile, frame->mapping->file));
    pfc_buf_clear(&f->raw);
    pfc_buf_char(&f->raw, '[');
    if (base.size > 0)
        pfc_buf_add(&f->raw, base.data, base.size);
    else
        pfc_buf_text(&f->raw, "unknown");
    if (f->style.addresses && (frame->location->address != 0 || frame->location->mapping != 0)) {
        pfc_buf_text(&f->raw, " <");
        pfc_buf_hex(&f->raw, frame->location->address);
        pfc_buf_char(&f->raw, '>');
    }
    pfc_buf_char(&f->raw, ']');
    add_mark(&f->raw, frame->mark);
    return f->raw.failed ? f->raw.failed : pfc_frames_text(f, f->raw.data, f->raw.size, 0, id);
}

/* Names that came with code are tidied; names from text formats and interpreters, which have no mapping, are
 * somebody's choice already ("f (file.py:3)" is not an argument list). */
static pfc_name_rules rules_of(const pfc_frames *f, const named_frame *frame) {
    int native = frame->location->mapping != 0;
    pfc_name_rules rules = {PFC_TIDY_NONE, f->style.strip_suffixes, frame->jit};
    if (f->style.tidy >= 0)
        rules.tidy = (pfc_tidy)f->style.tidy;
    else if (native)
        rules.tidy = PFC_TIDY_ARGS;
    return rules;
}

static int push_named(pfc_frames *f, const named_frame *frame, const char *name, size_t size, const char *mark,
                      uint32_t *id) {
    pfc_name_rules rules = rules_of(f, frame);
    pfc_buf_clear(&f->raw);
    pfc_collapsed_tidy(&f->raw, name, size, &rules);
    add_mark(&f->raw, mark);
    if (f->style.source_lines && frame->line)
        add_source_line(f, frame->line);
    if (f->raw.failed)
        return f->raw.failed;
    int status = pfc_frames_text(f, f->raw.data, f->raw.size, 0, id);
    return status ? status : PFC_VEC_PUSH(f->mem, &f->runs, *id);
}

/* perf-map-agent writes frames inlined into a Java method as "a->b->c": three frames, the later ones inlined. */
static int push_unfolded(pfc_frames *f, const named_frame *frame, const char *name, size_t size) {
    const char *mark = frame->mark;
    size_t at = 0;
    for (size_t i = 0; i <= size; i++) {
        uint32_t id;
        if (i < size && !(i + 1 < size && name[i] == '-' && name[i + 1] == '>'))
            continue;
        if (i > at) {
            int status = push_named(f, frame, name + at, i - at, mark, &id);
            if (status)
                return status;
            mark = "_[i]";
        }
        at = i + 2;
        i++;
    }
    return 0;
}

static int push_frame(pfc_frames *f, const named_frame *frame) {
    const profconv_function *function = profconv_profile_function(f->profile, frame->line ? frame->line->function : 0);
    profconv_string name = profconv_profile_string(f->profile, function->name);
    uint32_t id = 0;
    int status;
    if (name.size == 0)
        name = profconv_profile_string(f->profile, function->linkage_name);
    if (name.size == 0) {
        status = unnamed(f, frame, &id);
        return status ? status : PFC_VEC_PUSH(f->mem, &f->runs, id);
    }
    if (frame->jit && name.size > 3)
        return push_unfolded(f, frame, name.data, name.size);
    int shared = frame->location->mapping != 0 && frame->mark[0] == '\0' && !f->style.source_lines;
    uint32_t *cached = shared && frame->line->function < f->functions ? &f->names[frame->line->function] : NULL;
    if (cached && *cached)
        return PFC_VEC_PUSH(f->mem, &f->runs, *cached);
    status = push_named(f, frame, name.data, name.size, frame->mark, &id);
    if (cached)
        *cached = id;
    return status;
}

int pfc_frames_of(pfc_frames *f, profconv_id location, const uint32_t **ids, uint32_t *count) {
    if (location >= f->locations)
        location = 0;
    if (f->first[location] == 0) {
        size_t first = f->runs.count;
        named_frame frame = {profconv_profile_location(f->profile, location), NULL, NULL, 0, 0, ""};
        frame.mapping = profconv_profile_mapping(f->profile, frame.location->mapping);
        frame.jit = is_jit(f, frame.mapping);
        uint32_t lines = frame.location->line_count;
        uint32_t rest = lines > 1 && f->style.inline_frames ? lines : 1;
        /* Lines are innermost first, so the last one is the function that was compiled. */
        for (uint32_t i = lines; rest > 0; rest--) {
            frame.line = lines > 0 ? profconv_profile_line(f->profile, location, --i) : NULL;
            frame.inlined = lines > 0 && i + 1 < lines;
            frame.mark = mark_of(f, &frame);
            int status = push_frame(f, &frame);
            if (status)
                return status;
        }
        if (f->runs.count >= UINT32_MAX)
            return PROFCONV_E_LIMIT;
        f->count[location] = (uint32_t)(f->runs.count - first);
        f->first[location] = (uint32_t)first + 1;
    }
    *ids = f->runs.data + f->first[location] - 1;
    *count = f->count[location];
    return 0;
}

int pfc_frames_init(pfc_frames *f, pfc_mem *mem, const profconv_profile *profile, const pfc_frame_style *style) {
    static const pfc_frame_text none = {0, 0, 0};
    memset(f, 0, sizeof *f);
    f->mem = mem;
    f->profile = profile;
    f->style = *style;
    pfc_buf_init(&f->texts.bytes, mem);
    pfc_buf_init(&f->raw, mem);
    pfc_buf_init(&f->clean, mem);
    f->locations = profconv_profile_rows(profile, PROFCONV_TABLE_LOCATION);
    f->functions = profconv_profile_rows(profile, PROFCONV_TABLE_FUNCTION);
    f->locations += f->locations == 0;
    f->functions += f->functions == 0;
    f->first = (uint32_t *)pfc_alloc_zero(mem, f->locations * sizeof *f->first);
    f->count = (uint32_t *)pfc_alloc_zero(mem, f->locations * sizeof *f->count);
    f->names = (uint32_t *)pfc_alloc_zero(mem, f->functions * sizeof *f->names);
    if (!f->first || !f->count || !f->names)
        return mem->failed;
    return PFC_VEC_PUSH(mem, &f->texts.rows, none);
}

void pfc_frames_free(pfc_frames *f) {
    pfc_buf_free(&f->texts.bytes);
    PFC_VEC_FREE(f->mem, &f->texts.rows);
    pfc_index_free(f->mem, &f->texts.index);
    pfc_buf_free(&f->raw);
    pfc_buf_free(&f->clean);
    PFC_VEC_FREE(f->mem, &f->runs);
    pfc_free(f->mem, f->first, f->locations * sizeof *f->first);
    pfc_free(f->mem, f->count, f->locations * sizeof *f->count);
    pfc_free(f->mem, f->names, f->functions * sizeof *f->names);
}
