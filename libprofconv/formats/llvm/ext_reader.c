/* SPDX-License-Identifier: MIT
 *
 * Reads llvm-extbinary: a table of sections, then each section in the order of the table, inflated where it is
 * compressed. The table of function offsets repeats what reading in order finds, and is skipped.
 */
#include <string.h>

#include "libprofconv/formats/llvm/llvm.h"

typedef struct pfc_ext_section {
    uint64_t type, flags, offset, size;
} pfc_ext_section;

typedef struct pfc_ext_frame { /* metadata that is being read */
    profconv_id source;        /* 0: no such function */
    uint64_t left;
} pfc_ext_frame;

typedef struct pfc_ext_in {
    pfc_mem mem;
    profconv_builder *builder;
    profconv_error *error;
    uint8_t *data;
    size_t size, capacity;
    PFC_VEC(pfc_ext_section) sections;
    PFC_VEC(pfc_ext_frame) frames;
    pfc_llvm_records records;
    uint32_t flags; /* PROFCONV_SOURCES_* */
    uint64_t unknown, last_unknown;
    int records_seen;
} pfc_ext_in;

/* ---- the table of sections ---- */

static int read_header(pfc_ext_in *in) {
    pfc_cursor c = pfc_cursor_make(in->data, in->size, 0, 0);
    if (pfc_uleb(&c) != PFC_LLVM_MAGIC_EXT || c.failed)
        return profconv_error_set(in->error, PROFCONV_E_FORMAT, 0, 0,
                                  "offset 0x0: not the magic number of LLVM's extensible binary profile");
    uint64_t version = pfc_uleb(&c);
    if (!c.failed && version != PFC_LLVM_VERSION)
        return profconv_error_set(in->error, PROFCONV_E_UNSUPPORTED, 9, 0,
                                  "offset 0x9: version %llu of the format, %u expected", (unsigned long long)version,
                                  PFC_LLVM_VERSION);
    uint64_t n = pfc_u64(&c);
    if (!pfc_fits(&c, n, 32))
        return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(&c), 0,
                                  "offset 0x%llx: %llu sections in a file of %llu bytes",
                                  (unsigned long long)pfc_cursor_offset(&c), (unsigned long long)n,
                                  (unsigned long long)in->size);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = pfc_cursor_offset(&c);
        pfc_ext_section s;
        s.type = pfc_u64(&c);
        s.flags = pfc_u64(&c);
        s.offset = pfc_u64(&c);
        s.size = pfc_u64(&c);
        if (s.size > 0 && (s.offset > in->size || s.size > in->size - s.offset))
            return profconv_error_set(
                in->error, PROFCONV_E_FORMAT, at, 0,
                "offset 0x%llx: section %llu (type %llu) of %llu bytes at 0x%llx is outside the file",
                (unsigned long long)at, (unsigned long long)i, (unsigned long long)s.type, (unsigned long long)s.size,
                (unsigned long long)s.offset);
        if (PFC_VEC_PUSH(&in->mem, &in->sections, s))
            return pfc_mem_error(&in->mem, in->error);
    }
    return PROFCONV_OK;
}

/* ---- sections ---- */

static int read_summary(pfc_ext_in *in, pfc_cursor *c, uint64_t flags) {
    if (flags & PFC_LLVM_SUMMARY_PARTIAL)
        in->flags |= PROFCONV_SOURCES_PARTIAL;
    if (flags & PFC_LLVM_SUMMARY_CONTEXT)
        in->flags |= PROFCONV_SOURCES_CONTEXT;
    if (flags & PFC_LLVM_SUMMARY_FS)
        in->flags |= PROFCONV_SOURCES_FS;
    if (flags & PFC_LLVM_SUMMARY_PREINLINED)
        in->flags |= PROFCONV_SOURCES_PREINLINED;
    in->records.context = (flags & PFC_LLVM_SUMMARY_CONTEXT) != 0;
    in->records.vtables = (flags & PFC_LLVM_SUMMARY_VTABLES) != 0;
    return pfc_llvm_read_summary(c, in->error);
}

static int read_names(pfc_ext_in *in, pfc_cursor *c, uint64_t flags) {
    in->records.sources.count = 0;
    if (flags & PFC_LLVM_NAMES_UNIQUE)
        in->flags |= PROFCONV_SOURCES_UNIQUE_SUFFIX;
    if (flags & PFC_LLVM_NAMES_MD5) {
        in->flags |= PROFCONV_SOURCES_MD5;
        in->records.md5 = 1;
    }
    if (flags & PFC_LLVM_NAMES_FIXED_MD5) {
        if (!(flags & PFC_LLVM_NAMES_MD5))
            return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(c), 0,
                                      "offset 0x%llx: a name table of fixed-length hashes that is not marked as hashes",
                                      (unsigned long long)pfc_cursor_offset(c));
        return pfc_llvm_read_hashes(&in->records, c, 1);
    }
    return flags & PFC_LLVM_NAMES_MD5 ? pfc_llvm_read_hashes(&in->records, c, 0) : pfc_llvm_read_names(&in->records, c);
}

/* Frames outermost first; the last one is the function itself. */
static int read_context(pfc_ext_in *in, pfc_cursor *c, pfc_llvm_context_row *row) {
    uint64_t frames = pfc_uleb(c);
    if (!pfc_fits(c, frames, 3))
        return pfc_llvm_truncated(c, "the table of contexts", in->error);
    for (uint64_t i = 0; i < frames; i++) {
        uint64_t name = pfc_uleb(c), line = pfc_uleb(c);
        uint32_t discriminator = (uint32_t)pfc_uleb(c);
        if (c->failed || name >= in->records.names.count || line > PFC_LLVM_MAX_LINE)
            return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(c), 0,
                                      "offset 0x%llx: context frame with name %llu of %llu and line offset %llu",
                                      (unsigned long long)pfc_cursor_offset(c), (unsigned long long)name,
                                      (unsigned long long)in->records.names.count, (unsigned long long)line);
        profconv_context frame = {row->context, in->records.names.data[name], (uint32_t)line, discriminator};
        row->name = frame.name;
        if (i + 1 < frames)
            row->context = profconv_builder_context(in->builder, &frame);
    }
    return PROFCONV_OK;
}

static int read_contexts(pfc_ext_in *in, pfc_cursor *c) {
    uint64_t n = pfc_uleb(c);
    int status = PROFCONV_OK;
    in->records.sources.count = 0;
    in->records.contexts.count = 0;
    if (!pfc_fits(c, n, 1))
        return pfc_llvm_truncated(c, "the table of contexts", in->error);
    for (uint64_t i = 0; status == PROFCONV_OK && i < n; i++) {
        pfc_llvm_context_row row = {0, 0};
        status = read_context(in, c, &row);
        if (status == PROFCONV_OK && PFC_VEC_PUSH(&in->mem, &in->records.contexts, row))
            status = pfc_mem_error(&in->mem, in->error);
        if (status == PROFCONV_OK && (i & 1023) == 1023)
            status = profconv_builder_status(in->builder, in->error);
    }
    return status;
}

static int read_records(pfc_ext_in *in, pfc_cursor *c) {
    int status = PROFCONV_OK;
    in->records_seen = 1;
    while (status == PROFCONV_OK && pfc_cursor_left(c) > 0)
        status = pfc_llvm_read_record(&in->records, c);
    return status;
}

static int read_symbols(pfc_ext_in *in, pfc_cursor *c) {
    for (uint64_t i = 0; pfc_cursor_left(c) > 0; i++) {
        profconv_string name = pfc_cstring(c);
        profconv_builder_symbol(in->builder, profconv_builder_string(in->builder, name.data, name.size));
        if ((i & 1023) == 1023) {
            int status = profconv_builder_status(in->builder, in->error);
            if (status != PROFCONV_OK)
                return status;
        }
    }
    return PROFCONV_OK;
}

/* ---- metadata: checksum and attributes of a function, then those of its call sites ---- */

static int apply_metadata(pfc_ext_in *in, pfc_cursor *c, uint64_t flags, profconv_source *row, int known) {
    pfc_ext_frame frame = {0, 0};
    if (flags & PFC_LLVM_METADATA_PROBES) {
        row->checksum = pfc_uleb(c);
        row->flags |= PROFCONV_SOURCE_CHECKSUM;
    }
    if (flags & PFC_LLVM_METADATA_ATTRIBUTES) {
        row->attributes = (uint32_t)pfc_uleb(c);
        row->flags |= PROFCONV_SOURCE_ATTRIBUTES;
    }
    if (!in->records.context)
        frame.left = pfc_uleb(c);
    if (!pfc_fits(c, frame.left, 3))
        return pfc_llvm_truncated(c, "the functions' metadata", in->error);
    if (known)
        frame.source = profconv_builder_source(in->builder, row);
    if (in->frames.count >= in->records.max_depth)
        return profconv_error_set(in->error, PROFCONV_E_LIMIT, pfc_cursor_offset(c), 0,
                                  "offset 0x%llx: metadata nested deeper than %u (max_depth)",
                                  (unsigned long long)pfc_cursor_offset(c), in->records.max_depth);
    return PFC_VEC_PUSH(&in->mem, &in->frames, frame) ? pfc_mem_error(&in->mem, in->error) : PROFCONV_OK;
}

static int metadata_index(pfc_ext_in *in, pfc_cursor *c, size_t count, uint64_t *index) {
    *index = pfc_uleb(c);
    if (c->failed || *index >= count)
        return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(c), 0,
                                  "offset 0x%llx: metadata of function %llu in a table of %llu",
                                  (unsigned long long)pfc_cursor_offset(c), (unsigned long long)*index,
                                  (unsigned long long)count);
    return PROFCONV_OK;
}

static int read_nested_metadata(pfc_ext_in *in, pfc_cursor *c, uint64_t flags) {
    profconv_source row;
    uint64_t index;
    memset(&row, 0, sizeof row);
    pfc_ext_frame *frame = &in->frames.data[in->frames.count - 1];
    frame->left--;
    row.parent = frame->source;
    row.line = (uint32_t)pfc_uleb(c);
    row.discriminator = (uint32_t)pfc_uleb(c);
    int status = metadata_index(in, c, in->records.names.count, &index);
    if (status != PROFCONV_OK)
        return status;
    row.name = in->records.names.data[index];
    return apply_metadata(in, c, flags, &row, row.parent != 0);
}

static int read_metadata(pfc_ext_in *in, pfc_cursor *c, uint64_t flags) {
    int status = PROFCONV_OK;
    if (flags & PFC_LLVM_METADATA_PROBES)
        in->flags |= PROFCONV_SOURCES_PROBES;
    while (status == PROFCONV_OK && pfc_cursor_left(c) > 0) {
        profconv_source row;
        uint64_t index;
        const pfc_llvm_records *r = &in->records;
        memset(&row, 0, sizeof row);
        status = metadata_index(in, c, r->context ? r->contexts.count : r->names.count, &index);
        if (status != PROFCONV_OK)
            break;
        row.context = r->context ? r->contexts.data[index].context : 0;
        row.name = r->context ? r->contexts.data[index].name : r->names.data[index];
        status = apply_metadata(in, c, flags, &row, index < r->sources.count && r->sources.data[index] != 0);
        while (status == PROFCONV_OK && in->frames.count > 0) {
            if (in->frames.data[in->frames.count - 1].left > 0)
                status = read_nested_metadata(in, c, flags);
            else
                in->frames.count--;
        }
        in->frames.count = 0;
        if (status == PROFCONV_OK)
            status = profconv_builder_status(in->builder, in->error);
    }
    return status;
}

/* ---- all of them ---- */

static int read_section(pfc_ext_in *in, const pfc_ext_section *s, pfc_cursor c) {
    int status;
    switch (s->type) {
    case PFC_LLVM_SUMMARY:
        status = read_summary(in, &c, s->flags);
        break;
    case PFC_LLVM_NAMES:
        status = read_names(in, &c, s->flags);
        break;
    case PFC_LLVM_CONTEXTS:
        status = read_contexts(in, &c);
        break;
    case PFC_LLVM_RECORDS:
        status = read_records(in, &c);
        break;
    case PFC_LLVM_METADATA:
        status = read_metadata(in, &c, s->flags);
        break;
    case PFC_LLVM_SYMBOLS:
        status = read_symbols(in, &c);
        break;
    case PFC_LLVM_OFFSETS:
        return PROFCONV_OK;
    default:
        in->unknown++;
        in->last_unknown = s->type;
        return PROFCONV_OK;
    }
    if (status == PROFCONV_OK && pfc_cursor_left(&c) > 0)
        return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(&c), 0,
                                  "offset 0x%llx: %llu bytes left over in section type %llu",
                                  (unsigned long long)pfc_cursor_offset(&c), (unsigned long long)pfc_cursor_left(&c),
                                  (unsigned long long)s->type);
    return status;
}

/* Offsets in messages about a compressed section count from its place in the file. */
static int read_compressed(pfc_ext_in *in, const pfc_ext_section *s, pfc_cursor c) {
    const profconv_limits *limits = profconv_builder_limits(in->builder);
    uint64_t size = pfc_uleb(&c), stored = pfc_uleb(&c);
    const uint8_t *bytes = stored <= pfc_cursor_left(&c) ? pfc_take(&c, (size_t)stored) : NULL;
    if (!bytes || c.failed)
        return pfc_llvm_truncated(&c, "a compressed section", in->error);
    if (size > limits->max_inflated || (size > 16u << 20 && size / limits->max_inflate_ratio > stored) ||
        size > SIZE_MAX - 1)
        return profconv_error_set(in->error, PROFCONV_E_LIMIT, s->offset, 0,
                                  "offset 0x%llx: a section of %llu bytes says it inflates to %llu (max_inflated)",
                                  (unsigned long long)s->offset, (unsigned long long)stored, (unsigned long long)size);
    uint8_t *data = (uint8_t *)pfc_alloc(&in->mem, (size_t)size + 1);
    if (!data)
        return pfc_mem_error(&in->mem, in->error);
    int status = pfc_zlib_inflate(&in->mem, bytes, (size_t)stored, data, (size_t)size);
    if (status == PROFCONV_OK)
        status = read_section(in, s, pfc_cursor_make(data, (size_t)size, s->offset, 0));
    else if (in->mem.failed)
        status = pfc_mem_error(&in->mem, in->error);
    else
        status = profconv_error_set(in->error, PROFCONV_E_FORMAT, s->offset, 0,
                                    "offset 0x%llx: corrupt compressed section of type %llu",
                                    (unsigned long long)s->offset, (unsigned long long)s->type);
    pfc_free(&in->mem, data, (size_t)size + 1);
    return status;
}

static int read_sections(pfc_ext_in *in) {
    int status = PROFCONV_OK;
    for (size_t i = 0; status == PROFCONV_OK && i < in->sections.count; i++) {
        const pfc_ext_section *s = &in->sections.data[i];
        if (s->size == 0)
            continue;
        pfc_cursor c = pfc_cursor_make(in->data + s->offset, (size_t)s->size, s->offset, 0);
        int known = s->type <= PFC_LLVM_CONTEXTS || s->type == PFC_LLVM_RECORDS;
        status = s->flags & PFC_LLVM_COMPRESSED && known && s->type != PFC_LLVM_OFFSETS ? read_compressed(in, s, c)
                                                                                        : read_section(in, s, c);
    }
    return status;
}

static int finish(pfc_ext_in *in) {
    profconv_report *report = profconv_builder_report(in->builder);
    profconv_info info;
    profconv_builder_get_info(in->builder, &info);
    info.source_flags |= in->flags;
    profconv_builder_set_info(in->builder, &info);
    if (in->unknown && !in->records_seen)
        return profconv_error_set(in->error, PROFCONV_E_UNSUPPORTED, 0, 0,
                                  "no function records of the known kind (section type %u); type %llu is there",
                                  PFC_LLVM_RECORDS, (unsigned long long)in->last_unknown);
    if (in->unknown)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "unknown-section", in->unknown, 0, PROFCONV_NO_OFFSET, 0,
                            "sections of unknown type %llu were skipped", (unsigned long long)in->last_unknown);
    if (in->records.vtable_counts)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "vtables", in->records.vtable_counts, 0, PROFCONV_NO_OFFSET, 0,
                            "counts of virtual tables were skipped");
    return profconv_builder_status(in->builder, in->error);
}

static int read_ext(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                    profconv_error *error) {
    (void)user;
    (void)options;
    pfc_ext_in in;
    memset(&in, 0, sizeof in);
    pfc_mem_init(&in.mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    in.builder = builder;
    in.error = error;
    pfc_llvm_records_init(&in.records, &in.mem, builder, error);
    int status = pfc_input_read_all(input, &in.mem, SIZE_MAX, &in.data, &in.size, &in.capacity, error);
    if (status == PROFCONV_OK)
        status = read_header(&in);
    if (status == PROFCONV_OK)
        status = read_sections(&in);
    if (status == PROFCONV_OK)
        status = finish(&in);
    pfc_llvm_records_free(&in.records);
    PFC_VEC_FREE(&in.mem, &in.sections);
    PFC_VEC_FREE(&in.mem, &in.frames);
    pfc_free(&in.mem, in.data, in.capacity);
    return status;
}

static int probe_ext(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    (void)whole;
    pfc_cursor c = pfc_cursor_make(head, size, 0, 0);
    return size >= 9 && pfc_uleb(&c) == PFC_LLVM_MAGIC_EXT ? 100 : 0;
}

static const char *const aliases[] = {"extbinary", NULL};
static const char *const suffixes[] = {".extbinary", ".llvmprof", ".profdata", NULL};

const profconv_reader pfc_llvm_extbinary_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "llvm-extbinary",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "LLVM sample profile, extensible binary",
    .produces = PROFCONV_FACET_SOURCE_COUNTS,
    .probe = probe_ext,
    .read = read_ext,
};
