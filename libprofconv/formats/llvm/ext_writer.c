/* SPDX-License-Identifier: MIT
 *
 * Writes llvm-extbinary: the sections in LLVM's physical order, then the header that lists them in the order in which
 * they are to be read.
 */
#include <string.h>

#include "libprofconv/base/md5.h"
#include "libprofconv/formats/llvm/llvm.h"

#define SCOPE "llvm-extbinary"

static const profconv_setting settings[] = {
    {"compress", PROFCONV_SETTING_BOOL, "no", NULL, "compress all sections"},
    {"md5", PROFCONV_SETTING_ENUM, "keep", "keep|yes|no",
     "names as hashes: keep as they are, make them, or print hashes as decimal names"},
    {"layout", PROFCONV_SETTING_ENUM, "default", "default|split",
     "split puts functions without inlined callees into a section of their own"},
    PFC_LLVM_COMPAT_SETTING,
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

typedef struct pfc_ext_entry {
    uint64_t type, flags, offset, size;
} pfc_ext_entry;

#define MAX_SECTIONS 8

typedef struct pfc_ext_out {
    const pfc_llvm_view *view;
    pfc_mem *mem;
    uint32_t flags; /* PROFCONV_SOURCES_* */
    int md5;
    pfc_ext_entry entries[MAX_SECTIONS]; /* in the order of the header */
    unsigned entry_count;
    pfc_buf body;      /* what follows the header */
    pfc_buf section;   /* the section being made */
    uint64_t *offsets; /* of each function's record in its section, by position in view->tops */
} pfc_ext_out;

static size_t header_size(const pfc_ext_out *o) { return 9 + 1 + 8 + (size_t)o->entry_count * 32; }

/* Puts the finished section where the body has come to. */
static int close_section(pfc_ext_out *o, unsigned index) {
    pfc_ext_entry *e = &o->entries[index];
    if (o->section.failed)
        return o->section.failed;
    e->offset = header_size(o) + o->body.size;
    if ((e->flags & PFC_LLVM_COMPRESSED) && o->section.size > 0) {
        uint8_t *data = NULL;
        size_t size = 0, capacity = 0;
        int status = pfc_zlib_deflate(o->mem, o->section.data, o->section.size, 9, &data, &size, &capacity);
        if (status != PROFCONV_OK)
            return status;
        pfc_buf_uleb(&o->body, o->section.size);
        pfc_buf_uleb(&o->body, size);
        pfc_buf_add(&o->body, data, size);
        pfc_free(o->mem, data, capacity);
    } else if (o->section.size > 0) {
        pfc_buf_add(&o->body, o->section.data, o->section.size);
    }
    e->size = header_size(o) + o->body.size - e->offset;
    pfc_buf_clear(&o->section);
    return o->body.failed;
}

/* ---- sections ---- */

static int put_summary(pfc_ext_out *o, unsigned index) {
    pfc_llvm_summary summary;
    pfc_ext_entry *e = &o->entries[index];
    int status = pfc_llvm_summarize(o->view, &summary);
    if (status != PROFCONV_OK)
        return status;
    if (o->view->context)
        e->flags |= PFC_LLVM_SUMMARY_CONTEXT;
    if (o->flags & PROFCONV_SOURCES_PREINLINED)
        e->flags |= PFC_LLVM_SUMMARY_PREINLINED;
    if (o->flags & PROFCONV_SOURCES_FS)
        e->flags |= PFC_LLVM_SUMMARY_FS;
    if (o->flags & PROFCONV_SOURCES_PARTIAL)
        e->flags |= PFC_LLVM_SUMMARY_PARTIAL;
    pfc_llvm_put_summary(&o->section, &summary);
    return close_section(o, index);
}

static int contains(profconv_string s, const char *word, size_t size) {
    for (size_t i = 0; i + size <= s.size; i++)
        if (s.data[i] == *word && memcmp(s.data + i, word, size) == 0)
            return 1;
    return 0;
}

static int put_names(pfc_ext_out *o, unsigned index) {
    static const char unique[] = ".__uniq.";
    const pfc_llvm_view *view = o->view;
    if (o->md5) {
        o->entries[index].flags |= PFC_LLVM_NAMES_MD5 | PFC_LLVM_NAMES_FIXED_MD5;
        pfc_buf_uleb(&o->section, view->name_count);
        for (uint32_t i = 0; i < view->name_count; i++)
            pfc_buf_le64(&o->section, pfc_llvm_guid(view, view->names[i]));
        return close_section(o, index);
    }
    for (uint32_t i = 0; i < view->name_count; i++) {
        if (contains(profconv_profile_string(view->profile, view->names[i]), unique, sizeof unique - 1)) {
            o->entries[index].flags |= PFC_LLVM_NAMES_UNIQUE;
            break;
        }
    }
    pfc_llvm_put_names(&o->section, view);
    return close_section(o, index);
}

static int put_contexts(pfc_ext_out *o, unsigned index) {
    const pfc_llvm_view *view = o->view;
    pfc_buf_uleb(&o->section, view->context ? view->top_count : 0);
    for (uint32_t i = 0; view->context && i < view->top_count; i++) {
        pfc_buf_uleb(&o->section, view->frame_first[i + 1] - view->frame_first[i]);
        for (uint32_t k = view->frame_first[i]; k < view->frame_first[i + 1]; k++) {
            pfc_buf_uleb(&o->section, view->frames[k].name);
            pfc_buf_uleb(&o->section, view->frames[k].line);
            pfc_buf_uleb(&o->section, view->frames[k].discriminator);
        }
    }
    return close_section(o, index);
}

static int is_flat(const pfc_ext_out *o, uint32_t source) {
    return o->view->children.first[source] == o->view->children.first[source + 1];
}

/* which: 0 the functions with inlined callees, 1 those without, 2 all. */
static int selected(const pfc_ext_out *o, uint32_t source, int which) {
    return which == 2 || is_flat(o, source) == which;
}

static int put_records(pfc_ext_out *o, unsigned index, int which) {
    const pfc_llvm_view *view = o->view;
    for (uint32_t i = 0; i < view->top_count; i++) {
        if (!selected(o, view->tops[i], which))
            continue;
        o->offsets[i] = o->section.size;
        int status = pfc_llvm_put_record(&o->section, view, view->tops[i]);
        if (status != PROFCONV_OK)
            return status;
    }
    return close_section(o, index);
}

static void put_offset(pfc_ext_out *o, uint32_t top, uint64_t offset) {
    const pfc_llvm_view *view = o->view;
    pfc_buf_uleb(&o->section, view->context ? view->context_index[top]
                                            : view->rank[profconv_profile_source(view->profile, top)->name]);
    pfc_buf_uleb(&o->section, offset);
}

static int put_offsets(pfc_ext_out *o, unsigned index, int which) {
    const pfc_llvm_view *view = o->view;
    uint32_t n = 0;
    for (uint32_t i = 0; i < view->top_count; i++)
        n += (uint32_t)selected(o, view->tops[i], which);
    pfc_buf_uleb(&o->section, n);
    if (!view->context) {
        for (uint32_t i = 0; i < view->top_count; i++)
            if (selected(o, view->tops[i], which))
                put_offset(o, view->tops[i], o->offsets[i]);
        return close_section(o, index);
    }
    /* In the order of contexts, so that the callees of a function can be loaded in one go. */
    uint64_t *by_context = (uint64_t *)pfc_alloc(o->mem, ((size_t)view->top_count + 1) * sizeof *by_context);
    if (!by_context)
        return o->mem->failed;
    for (uint32_t i = 0; i < view->top_count; i++)
        by_context[view->context_index[view->tops[i]]] = o->offsets[i];
    for (uint32_t i = 0; i < view->top_count; i++)
        put_offset(o, view->by_context[i], by_context[i]);
    pfc_free(o->mem, by_context, ((size_t)view->top_count + 1) * sizeof *by_context);
    o->entries[index].flags |= PFC_LLVM_OFFSETS_ORDERED;
    return close_section(o, index);
}

typedef struct pfc_symbol_order {
    const profconv_profile *profile;
} pfc_symbol_order;

static int compare_symbols(const void *user, uint32_t a, uint32_t b) {
    const pfc_symbol_order *order = (const pfc_symbol_order *)user;
    profconv_string x = profconv_profile_string(order->profile, a), y = profconv_profile_string(order->profile, b);
    int c = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return c ? c : x.size < y.size ? -1 : x.size > y.size;
}

static int put_symbols(pfc_ext_out *o, unsigned index) {
    pfc_symbol_order order = {o->view->profile};
    uint32_t n = profconv_profile_rows(order.profile, PROFCONV_TABLE_SYMBOL);
    size_t bytes = ((size_t)n + 1) * sizeof(uint32_t);
    uint32_t *ids = (uint32_t *)pfc_alloc(o->mem, bytes);
    if (!ids)
        return o->mem->failed;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = profconv_profile_symbol(order.profile, i);
    int status = pfc_sort_ids(o->mem, ids, n, compare_symbols, &order);
    for (uint32_t i = 0; status == PROFCONV_OK && i < n; i++) {
        if (i > 0 && ids[i] == ids[i - 1])
            continue;
        profconv_string s = profconv_profile_string(order.profile, ids[i]);
        pfc_buf_add(&o->section, s.data, s.size);
        pfc_buf_char(&o->section, '\0');
    }
    pfc_free(o->mem, ids, bytes);
    return status == PROFCONV_OK ? close_section(o, index) : status;
}

/* ---- metadata ---- */

typedef struct pfc_ext_open {
    uint32_t source;
    uint32_t next;
} pfc_ext_open;

static void put_metadata_of(pfc_ext_out *o, uint32_t source, uint64_t flags, int top) {
    const pfc_llvm_view *view = o->view;
    const profconv_source *row = profconv_profile_source(view->profile, source);
    pfc_buf_uleb(&o->section, top && view->context ? view->context_index[source] : view->rank[row->name]);
    if (flags & PFC_LLVM_METADATA_PROBES)
        pfc_buf_uleb(&o->section, row->checksum);
    if (flags & PFC_LLVM_METADATA_ATTRIBUTES)
        pfc_buf_uleb(&o->section, row->attributes);
    if (!view->context)
        pfc_buf_uleb(&o->section, view->children.first[source + 1] - view->children.first[source]);
}

static int put_metadata_tree(pfc_ext_out *o, uint32_t top, uint64_t flags) {
    const pfc_llvm_runs *children = &o->view->children;
    PFC_VEC(pfc_ext_open) stack = {NULL, 0, 0};
    pfc_ext_open open = {top, children->first[top]};
    put_metadata_of(o, top, flags, 1);
    int status = o->view->context ? PROFCONV_OK : PFC_VEC_PUSH(o->mem, &stack, open);
    while (status == PROFCONV_OK && stack.count > 0) {
        pfc_ext_open *last = &stack.data[stack.count - 1];
        if (last->next == children->first[last->source + 1]) {
            stack.count--;
            continue;
        }
        uint32_t child = children->ids[last->next++];
        const profconv_source *row = profconv_profile_source(o->view->profile, child);
        pfc_buf_uleb(&o->section, row->line);
        pfc_buf_uleb(&o->section, row->discriminator);
        put_metadata_of(o, child, flags, 0);
        pfc_ext_open below = {child, children->first[child]};
        status = PFC_VEC_PUSH(o->mem, &stack, below);
    }
    PFC_VEC_FREE(o->mem, &stack);
    return status;
}

static int put_metadata(pfc_ext_out *o, unsigned index) {
    uint64_t flags = 0;
    int status = PROFCONV_OK;
    if (o->flags & PROFCONV_SOURCES_PROBES)
        flags |= PFC_LLVM_METADATA_PROBES;
    if (o->view->context || (o->flags & PROFCONV_SOURCES_PREINLINED))
        flags |= PFC_LLVM_METADATA_ATTRIBUTES;
    o->entries[index].flags |= flags;
    for (uint32_t i = 0; flags && status == PROFCONV_OK && i < o->view->top_count; i++)
        status = put_metadata_tree(o, o->view->tops[i], flags);
    return status == PROFCONV_OK ? close_section(o, index) : status;
}

/* ---- layouts ---- */

static void lay_out(pfc_ext_out *o, const uint64_t *types, unsigned count, int compress) {
    o->entry_count = count;
    for (unsigned i = 0; i < count; i++) {
        pfc_ext_entry e = {types[i], compress ? PFC_LLVM_COMPRESSED : 0, 0, 0};
        o->entries[i] = e;
    }
}

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_status = (call);                                                                                       \
        if (try_status)                                                                                                \
            return try_status;                                                                                         \
    } while (0)

static int put_default(pfc_ext_out *o, int compress) {
    static const uint64_t types[] = {PFC_LLVM_SUMMARY, PFC_LLVM_NAMES,   PFC_LLVM_CONTEXTS, PFC_LLVM_OFFSETS,
                                     PFC_LLVM_RECORDS, PFC_LLVM_SYMBOLS, PFC_LLVM_METADATA};
    lay_out(o, types, 7, compress);
    TRY(put_summary(o, 0));
    TRY(put_names(o, 1));
    TRY(put_contexts(o, 2));
    TRY(put_records(o, 4, 2));
    TRY(put_symbols(o, 5));
    TRY(put_offsets(o, 3, 2));
    return put_metadata(o, 6);
}

static int put_split(pfc_ext_out *o, int compress) {
    static const uint64_t types[] = {PFC_LLVM_SUMMARY, PFC_LLVM_NAMES,   PFC_LLVM_OFFSETS, PFC_LLVM_RECORDS,
                                     PFC_LLVM_OFFSETS, PFC_LLVM_RECORDS, PFC_LLVM_SYMBOLS, PFC_LLVM_METADATA};
    lay_out(o, types, 8, compress);
    o->entries[4].flags |= PFC_LLVM_FLAT;
    o->entries[5].flags |= PFC_LLVM_FLAT;
    TRY(put_summary(o, 0));
    TRY(put_names(o, 1));
    TRY(put_records(o, 3, 0));
    TRY(put_offsets(o, 2, 0));
    TRY(put_records(o, 5, 1));
    TRY(put_offsets(o, 4, 1));
    TRY(put_symbols(o, 6));
    return put_metadata(o, 7);
}

static int send(const pfc_ext_out *o, profconv_output *output, profconv_error *error) {
    pfc_buf header;
    pfc_buf_init(&header, o->mem);
    pfc_buf_uleb(&header, PFC_LLVM_MAGIC_EXT);
    pfc_buf_uleb(&header, PFC_LLVM_VERSION);
    pfc_buf_le64(&header, o->entry_count);
    for (unsigned i = 0; i < o->entry_count; i++) {
        pfc_buf_le64(&header, o->entries[i].type);
        pfc_buf_le64(&header, o->entries[i].flags);
        pfc_buf_le64(&header, o->entries[i].offset);
        pfc_buf_le64(&header, o->entries[i].size);
    }
    int status =
        header.failed ? pfc_mem_error(o->mem, error) : profconv_output_write(output, header.data, header.size, error);
    if (status == PROFCONV_OK)
        status = profconv_output_write(output, o->body.data, o->body.size, error);
    pfc_buf_free(&header);
    return status;
}

static void add_notes(const pfc_ext_out *o, profconv_report *report) {
    uint64_t attributes = 0;
    pfc_llvm_view_notes(o->view, report);
    if (!o->view->context && !(o->flags & PROFCONV_SOURCES_PREINLINED))
        for (uint32_t i = 1; i < o->view->source_rows; i++)
            attributes += profconv_profile_source(o->view->profile, i)->attributes != 0;
    if (attributes)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "attributes", attributes, 0, PROFCONV_NO_OFFSET, 0,
                            "attributes of functions, which LLVM keeps only with contexts or the preinliner");
    if (o->md5 && !o->view->md5)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "names", o->view->name_count, 0, PROFCONV_NO_OFFSET, 0,
                            "names of functions, of which only hashes were written");
    if (o->view->md5 && !o->md5)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "md5-names", o->view->name_count, 0, PROFCONV_NO_OFFSET, 0,
                            "names are hashes printed in decimal, which compilers do not recognise");
}

static int write_ext(void *user, const profconv_profile *profile, profconv_output *output,
                     const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    pfc_mem mem;
    pfc_llvm_view view;
    pfc_ext_out o;
    memset(&o, 0, sizeof o);
    pfc_mem_init(&mem, profconv_profile_allocator(profile), 0);
    pfc_buf_init(&o.body, &mem);
    pfc_buf_init(&o.section, &mem);
    int compress = profconv_options_bool(options, SCOPE, settings, "compress");
    int split = strcmp(profconv_options_string(options, SCOPE, settings, "layout"), "split") == 0;
    const char *md5 = profconv_options_string(options, SCOPE, settings, "md5");
    int status = pfc_llvm_view_make(&view, &mem, profile, error);
    if (status == PROFCONV_OK)
        status = pfc_llvm_view_check_names(&view, error);
    if (status == PROFCONV_OK)
        status = pfc_llvm_view_check_lines(&view, 0, error);
    o.view = &view;
    o.mem = &mem;
    o.flags = profconv_profile_info(profile)->source_flags;
    if (status == PROFCONV_OK && split && view.context)
        status = profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                    "the split layout has no place for contexts");
    if (status == PROFCONV_OK) {
        size_t bytes = ((size_t)view.top_count + 1) * sizeof *o.offsets;
        o.md5 = strcmp(md5, "keep") == 0 ? view.md5 : strcmp(md5, "yes") == 0;
        o.offsets = (uint64_t *)pfc_alloc_zero(&mem, bytes);
        if (!o.offsets || (split ? put_split(&o, compress) : put_default(&o, compress)) != PROFCONV_OK)
            status = pfc_mem_error(&mem, error);
        if (status == PROFCONV_OK)
            status = send(&o, output, error);
        if (status == PROFCONV_OK)
            add_notes(&o, report);
        if (o.offsets)
            pfc_free(&mem, o.offsets, bytes);
    }
    pfc_buf_free(&o.body);
    pfc_buf_free(&o.section);
    pfc_llvm_view_free(&view);
    return status;
}

static const char *const aliases[] = {"extbinary", NULL};
static const char *const suffixes[] = {".extbinary", ".llvmprof", ".profdata", NULL};

const profconv_writer pfc_llvm_extbinary_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = SCOPE,
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "LLVM sample profile, extensible binary",
    .settings = settings,
    .needs = PROFCONV_FACET_SOURCE_COUNTS,
    .keeps = PROFCONV_FACET_SOURCE_COUNTS,
    .binary = 1,
    .labels = "",
    .write = write_ext,
    .pass_settings = pfc_llvm_pass_settings,
};
