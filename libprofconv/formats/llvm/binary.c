/* SPDX-License-Identifier: MIT
 *
 * llvm-binary (summary, names, records) in both directions, and the compact binary of LLVM up to 16, which has hashes
 * for names and a table of offsets at its end, for reading.
 */
#include "libprofconv/formats/llvm/llvm.h"

/* ---- reading ---- */

static int read_magic(pfc_cursor *c, uint64_t magic, const char *format, profconv_error *error) {
    if (pfc_uleb(c) != magic || c->failed)
        return profconv_error_set(error, PROFCONV_E_FORMAT, 0, 0, "offset 0x0: not the magic number of %s", format);
    uint64_t offset = pfc_cursor_offset(c), version = pfc_uleb(c);
    if (c->failed || version != PFC_LLVM_VERSION)
        return profconv_error_set(error, c->failed ? PROFCONV_E_FORMAT : PROFCONV_E_UNSUPPORTED, offset, 0,
                                  "offset 0x%llx: version %llu of the format, %u expected", (unsigned long long)offset,
                                  (unsigned long long)version, PFC_LLVM_VERSION);
    return PROFCONV_OK;
}

static int read_records(pfc_llvm_records *records, pfc_cursor *c) {
    int status = PROFCONV_OK;
    while (status == PROFCONV_OK && pfc_cursor_left(c) > 0)
        status = pfc_llvm_read_record(records, c);
    return status;
}

/* The records end where the table of offsets, which repeats what reading in order finds, begins. */
static int read_compact(pfc_llvm_records *records, pfc_cursor *c) {
    int status = pfc_llvm_read_hashes(records, c, 0);
    if (status != PROFCONV_OK)
        return status;
    uint64_t at = pfc_cursor_offset(c), table = pfc_u64(c);
    if (c->failed || table < at + 8 || table > c->size)
        return profconv_error_set(records->error, PROFCONV_E_FORMAT, at, 0,
                                  "offset 0x%llx: the table of functions at 0x%llx is outside the file",
                                  (unsigned long long)at, (unsigned long long)table);
    pfc_cursor body = pfc_sub(c, table - pfc_cursor_offset(c));
    profconv_info info;
    profconv_builder_get_info(records->builder, &info);
    info.source_flags |= PROFCONV_SOURCES_MD5;
    profconv_builder_set_info(records->builder, &info);
    return read_records(records, &body);
}

static int read_whole(profconv_input *input, profconv_builder *builder, int compact, profconv_error *error) {
    pfc_mem mem;
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0;
    pfc_llvm_records records;
    pfc_mem_init(&mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    pfc_llvm_records_init(&records, &mem, builder, error);
    int status = pfc_input_read_all(input, &mem, SIZE_MAX, &data, &size, &capacity, error);
    pfc_cursor c = pfc_cursor_make(data, size, 0, 0);
    if (status == PROFCONV_OK)
        status = compact ? read_magic(&c, PFC_LLVM_MAGIC_COMPACT, "LLVM's compact binary profile", error)
                         : read_magic(&c, PFC_LLVM_MAGIC_RAW, "LLVM's binary profile", error);
    if (status == PROFCONV_OK)
        status = pfc_llvm_read_summary(&c, error);
    records.md5 = compact;
    if (status == PROFCONV_OK && compact)
        status = read_compact(&records, &c);
    else if (status == PROFCONV_OK && (status = pfc_llvm_read_names(&records, &c)) == PROFCONV_OK)
        status = read_records(&records, &c);
    if (status == PROFCONV_OK)
        status = profconv_builder_status(builder, error);
    pfc_llvm_records_free(&records);
    pfc_free(&mem, data, capacity);
    return status;
}

static int read_binary(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                       profconv_error *error) {
    (void)user;
    (void)options;
    return read_whole(input, builder, 0, error);
}

static int read_compact_binary(void *user, profconv_input *input, profconv_builder *builder,
                               const profconv_options *options, profconv_error *error) {
    (void)user;
    (void)options;
    return read_whole(input, builder, 1, error);
}

static int probe_binary(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    (void)whole;
    pfc_cursor c = pfc_cursor_make(head, size, 0, 0);
    return size >= 9 && pfc_uleb(&c) == PFC_LLVM_MAGIC_RAW ? 100 : 0;
}

static int probe_compact(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    (void)whole;
    pfc_cursor c = pfc_cursor_make(head, size, 0, 0);
    return size >= 9 && pfc_uleb(&c) == PFC_LLVM_MAGIC_COMPACT ? 100 : 0;
}

/* ---- writing ---- */

static void add_notes(const pfc_llvm_view *view, profconv_report *report) {
    uint32_t flags = profconv_profile_info(view->profile)->source_flags;
    uint32_t symbols = profconv_profile_rows(view->profile, PROFCONV_TABLE_SYMBOL);
    uint64_t attributes = 0;
    pfc_llvm_view_notes(view, report);
    for (uint32_t i = 1; i < view->source_rows; i++)
        attributes += profconv_profile_source(view->profile, i)->attributes != 0;
    if (attributes)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "attributes", attributes, 0, PROFCONV_NO_OFFSET, 0,
                            "attributes of functions (use llvm-extbinary)");
    if (symbols)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "symbol-list", symbols, 0, PROFCONV_NO_OFFSET, 0,
                            "symbols of the profiled binary's list (use llvm-extbinary)");
    if (flags & (PROFCONV_SOURCES_FS | PROFCONV_SOURCES_PARTIAL | PROFCONV_SOURCES_PREINLINED))
        profconv_report_add(report, PROFCONV_NOTE_LOST, "profile-flags", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "flags of the profile as a whole (use llvm-extbinary)");
    if (flags & PROFCONV_SOURCES_MD5)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "md5-names", view->name_count, 0, PROFCONV_NO_OFFSET, 0,
                            "names are hashes, which compilers do not recognise in this format");
}

static int put_all(pfc_buf *buf, const pfc_llvm_view *view) {
    pfc_llvm_summary summary;
    int status = pfc_llvm_summarize(view, &summary);
    pfc_buf_uleb(buf, PFC_LLVM_MAGIC_RAW);
    pfc_buf_uleb(buf, PFC_LLVM_VERSION);
    pfc_llvm_put_summary(buf, &summary);
    pfc_llvm_put_names(buf, view);
    for (uint32_t i = 0; status == PROFCONV_OK && i < view->top_count; i++)
        status = pfc_llvm_put_record(buf, view, view->tops[i]);
    return status == PROFCONV_OK ? buf->failed : status;
}

static int write_binary(void *user, const profconv_profile *profile, profconv_output *output,
                        const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    (void)options;
    uint32_t flags = profconv_profile_info(profile)->source_flags;
    pfc_mem mem;
    pfc_llvm_view view;
    pfc_buf buf;
    pfc_mem_init(&mem, profconv_profile_allocator(profile), 0);
    pfc_buf_init(&buf, &mem);
    int status = pfc_llvm_view_make(&view, &mem, profile, error);
    if (status == PROFCONV_OK)
        status = pfc_llvm_view_check_names(&view, error);
    if (status == PROFCONV_OK)
        status = pfc_llvm_view_check_lines(&view, 0, error);
    if (status == PROFCONV_OK && (view.context || (flags & PROFCONV_SOURCES_PROBES)))
        status = profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                    "the binary encoding has no place for %s; write llvm-extbinary or llvm-text",
                                    view.context ? "contexts" : "pseudo probes' checksums");
    if (status == PROFCONV_OK && put_all(&buf, &view) != PROFCONV_OK)
        status = pfc_mem_error(&mem, error);
    if (status == PROFCONV_OK)
        status = profconv_output_write(output, buf.data, buf.size, error);
    if (status == PROFCONV_OK)
        add_notes(&view, report);
    pfc_buf_free(&buf);
    pfc_llvm_view_free(&view);
    return status;
}

static const char *const suffixes[] = {".binprof", ".llvmbin", NULL};
static const char *const compact_suffixes[] = {".compactprof", NULL};

const profconv_reader pfc_llvm_binary_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "llvm-binary",
    .suffixes = suffixes,
    .description = "LLVM sample profile, binary",
    .produces = PROFCONV_FACET_SOURCE_COUNTS,
    .probe = probe_binary,
    .read = read_binary,
};

const profconv_reader pfc_llvm_compact_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "llvm-compact",
    .suffixes = compact_suffixes,
    .description = "LLVM sample profile, compact binary (LLVM up to 16)",
    .produces = PROFCONV_FACET_SOURCE_COUNTS,
    .probe = probe_compact,
    .read = read_compact_binary,
};

static const profconv_setting settings[] = {
    PFC_LLVM_COMPAT_SETTING,
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

const profconv_writer pfc_llvm_binary_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "llvm-binary",
    .suffixes = suffixes,
    .description = "LLVM sample profile, binary",
    .settings = settings,
    .needs = PROFCONV_FACET_SOURCE_COUNTS,
    .keeps = PROFCONV_FACET_SOURCE_COUNTS,
    .binary = 1,
    .labels = "",
    .write = write_binary,
    .pass_settings = pfc_llvm_pass_settings,
};
