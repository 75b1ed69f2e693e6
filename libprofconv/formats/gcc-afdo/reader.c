/* SPDX-License-Identifier: MIT
 *
 * Reads GCC's AutoFDO profiles. Two things are told by content rather than by the version, because producers disagree:
 * whether strings are counted in words or bytes, and whether the file has the summary, files and times of version 3.
 */
#include <string.h>

#include <profconv/plugin.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/text.h"
#include "libprofconv/formats/gcc-afdo/gcc.h"
#include "libprofconv/io/io.h"

typedef struct pfc_gcc_name {
    profconv_id name;
    profconv_id file;
} pfc_gcc_name;

typedef struct pfc_gcc_open {
    profconv_source row; /* total is the sum so far */
    profconv_id id;
    uint32_t left; /* call sites to come */
} pfc_gcc_open;

typedef struct pfc_gcc_in {
    pfc_mem mem;
    profconv_builder *builder;
    profconv_error *error;
    pfc_cursor c;
    uint32_t version;
    uint32_t max_depth;
    int timed; /* the layout of version 3 */
    int words; /* strings are counted in words */
    PFC_VEC(pfc_gcc_name) names;
    PFC_VEC(profconv_id) files;
    PFC_VEC(pfc_gcc_open) stack;
} pfc_gcc_in;

static int truncated(pfc_gcc_in *in, const char *what) {
    return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(&in->c), 0,
                              "offset 0x%llx: the data ends inside %s", (unsigned long long)pfc_cursor_offset(&in->c),
                              what);
}

static uint64_t counter(pfc_cursor *c) {
    uint64_t low = pfc_u32(c);
    return (uint64_t)pfc_u32(c) << 32 | low;
}

/* ---- strings ---- */

/* Bytes up to the first NUL of a counted block; 0 when there is no such block. */
static int take_string(pfc_cursor *c, int words, profconv_string *out) {
    uint64_t n = pfc_u32(c);
    const uint8_t *p = NULL;
    if (words)
        n *= 4;
    if (n > 0 && n <= pfc_cursor_left(c))
        p = pfc_take(c, (size_t)n);
    if (!p)
        return 0;
    const uint8_t *nul = (const uint8_t *)memchr(p, 0, (size_t)n);
    out->data = (const char *)p;
    out->size = nul ? (size_t)(nul - p) : 0;
    return nul != NULL && (words ? n - out->size <= 4 : n - out->size == 1);
}

/* Goes over the table without keeping it; 1 when the functions follow it. `c` is a copy. */
static int table_fits(pfc_cursor c, int words, int timed) {
    profconv_string s;
    if (timed) {
        uint32_t files = pfc_u32(&c);
        if (!pfc_fits(&c, files, 4))
            return 0;
        for (uint32_t i = 0; i < files; i++)
            if (!take_string(&c, words, &s))
                return 0;
    }
    uint32_t names = pfc_u32(&c);
    if (!pfc_fits(&c, names, 4))
        return 0;
    for (uint32_t i = 0; i < names; i++) {
        if (!take_string(&c, words, &s))
            return 0;
        if (timed)
            pfc_u32(&c);
    }
    return pfc_u32(&c) == PFC_GCC_FUNCTIONS && !c.failed;
}

static int read_files(pfc_gcc_in *in) {
    uint32_t n = pfc_u32(&in->c);
    for (uint32_t i = 0; i < n; i++) {
        profconv_string s;
        if (!take_string(&in->c, in->words, &s))
            return truncated(in, "the table of files");
        if (PFC_VEC_PUSH(&in->mem, &in->files, profconv_builder_string(in->builder, s.data, s.size)))
            return pfc_mem_error(&in->mem, in->error);
    }
    return PROFCONV_OK;
}

static int read_names(pfc_gcc_in *in) {
    if (pfc_u32(&in->c) != PFC_GCC_NAMES)
        return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(&in->c) - 4, 0,
                                  "offset 0x%llx: not the tag of the string table (0x%x)",
                                  (unsigned long long)(pfc_cursor_offset(&in->c) - 4), PFC_GCC_NAMES);
    pfc_u32(&in->c);              /* a length that not every producer keeps right */
    int first = in->version == 1; /* the likelier form first */
    if (table_fits(in->c, first, in->timed))
        in->words = first;
    else if (table_fits(in->c, !first, in->timed))
        in->words = !first;
    else
        return truncated(in, "the string table, or no functions follow it");
    int status = in->timed ? read_files(in) : PROFCONV_OK;
    uint32_t n = status == PROFCONV_OK ? pfc_u32(&in->c) : 0;
    for (uint32_t i = 0; status == PROFCONV_OK && i < n; i++) {
        profconv_string s = {"", 0};
        pfc_gcc_name name = {0, 0};
        take_string(&in->c, in->words, &s);
        name.name = profconv_builder_string(in->builder, s.data, s.size);
        uint32_t file = in->timed ? pfc_u32(&in->c) : PFC_GCC_NO_FILE;
        if (file < in->files.count)
            name.file = in->files.data[file];
        if (PFC_VEC_PUSH(&in->mem, &in->names, name))
            status = pfc_mem_error(&in->mem, in->error);
    }
    return status;
}

/* ---- functions ---- */

static int read_name(pfc_gcc_in *in, uint64_t index, pfc_gcc_name *out) {
    if (in->c.failed)
        return truncated(in, "a function");
    if (index >= in->names.count)
        return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(&in->c), 0,
                                  "offset 0x%llx: name %llu in a table of %llu",
                                  (unsigned long long)pfc_cursor_offset(&in->c), (unsigned long long)index,
                                  (unsigned long long)in->names.count);
    *out = in->names.data[index];
    return PROFCONV_OK;
}

static int read_position(pfc_gcc_in *in, profconv_id source, uint64_t *total) {
    uint32_t offset = pfc_u32(&in->c), targets = pfc_u32(&in->c);
    uint64_t count = counter(&in->c);
    if (!pfc_fits(&in->c, targets, 20))
        return truncated(in, "a function");
    profconv_id body = profconv_builder_source_body(in->builder, source, offset >> 16, offset & 0xffff, count);
    *total = pfc_add_sat(*total, count);
    for (uint32_t i = 0; i < targets; i++) {
        uint32_t tag = pfc_u32(&in->c);
        uint64_t index = counter(&in->c);
        pfc_gcc_name callee = {0};
        if (tag != PFC_GCC_INDIRECT_CALL)
            return profconv_error_set(in->error, PROFCONV_E_FORMAT, pfc_cursor_offset(&in->c), 0,
                                      "offset 0x%llx: call target of kind %u, %u expected",
                                      (unsigned long long)pfc_cursor_offset(&in->c), tag, PFC_GCC_INDIRECT_CALL);
        int status = read_name(in, index, &callee);
        if (status != PROFCONV_OK)
            return status;
        profconv_builder_source_target(in->builder, body, callee.name, counter(&in->c));
    }
    return PROFCONV_OK;
}

/* Name, counts of calls and positions, positions; the call sites follow. Totals are not in the file: they are the sums.
 */
static int open_function(pfc_gcc_in *in, profconv_source *row) {
    pfc_gcc_name name = {0};
    int status = read_name(in, pfc_u32(&in->c), &name);
    uint32_t positions = pfc_u32(&in->c), calls = pfc_u32(&in->c);
    if (status != PROFCONV_OK)
        return status;
    if (!pfc_fits(&in->c, positions, 16) || !pfc_fits(&in->c, calls, 16))
        return truncated(in, "a function");
    if (in->stack.count >= in->max_depth)
        return profconv_error_set(in->error, PROFCONV_E_LIMIT, pfc_cursor_offset(&in->c), 0,
                                  "offset 0x%llx: more than %u functions inlined into each other (max_depth)",
                                  (unsigned long long)pfc_cursor_offset(&in->c), in->max_depth);
    row->name = name.name;
    row->file = name.file;
    profconv_id id = profconv_builder_source(in->builder, row);
    row->head = row->timestamp = 0;
    for (uint32_t i = 0; status == PROFCONV_OK && i < positions; i++)
        status = read_position(in, id, &row->total);
    if (status != PROFCONV_OK)
        return status;
    pfc_gcc_open open = {*row, id, calls};
    return PFC_VEC_PUSH(&in->mem, &in->stack, open) ? pfc_mem_error(&in->mem, in->error) : PROFCONV_OK;
}

static int read_callsite(pfc_gcc_in *in) {
    pfc_gcc_open *open = &in->stack.data[in->stack.count - 1];
    profconv_source row;
    memset(&row, 0, sizeof row);
    open->left--;
    uint32_t offset = pfc_u32(&in->c);
    row.parent = open->id;
    row.line = offset >> 16;
    row.discriminator = offset & 0xffff;
    return open_function(in, &row);
}

static void close_function(pfc_gcc_in *in) {
    const pfc_gcc_open *open = &in->stack.data[--in->stack.count];
    profconv_builder_source(in->builder, &open->row);
    if (in->stack.count > 0) {
        uint64_t *above = &in->stack.data[in->stack.count - 1].row.total;
        *above = pfc_add_sat(*above, open->row.total);
    }
}

static int read_function(pfc_gcc_in *in) {
    profconv_source row;
    memset(&row, 0, sizeof row);
    row.head = counter(&in->c);
    row.timestamp = in->timed ? counter(&in->c) : 0;
    int status = open_function(in, &row);
    while (status == PROFCONV_OK && in->stack.count > 0) {
        if (in->stack.data[in->stack.count - 1].left > 0)
            status = read_callsite(in);
        else
            close_function(in);
    }
    return status;
}

static int read_functions(pfc_gcc_in *in) {
    pfc_u32(&in->c); /* the tag, which table_fits has seen */
    pfc_u32(&in->c);
    uint32_t n = pfc_u32(&in->c);
    int status = pfc_fits(&in->c, n, 20) ? PROFCONV_OK : truncated(in, "the functions");
    for (uint32_t i = 0; status == PROFCONV_OK && i < n; i++) {
        status = read_function(in);
        if (status == PROFCONV_OK && (i & 255) == 255)
            status = profconv_builder_status(in->builder, in->error);
    }
    if (status == PROFCONV_OK && in->c.failed)
        status = truncated(in, "the functions");
    return status;
}

/* Modules, always none, and the working set, which follows from the counts. Early producers wrote neither. */
static void check_rest(pfc_gcc_in *in) {
    if (pfc_cursor_left(&in->c) == 0)
        return;
    uint64_t at = pfc_cursor_offset(&in->c);
    uint32_t tag = pfc_u32(&in->c), length = pfc_u32(&in->c), modules = pfc_u32(&in->c);
    (void)length;
    if (in->c.failed || tag != PFC_GCC_MODULES || modules != 0)
        profconv_report_add(profconv_builder_report(in->builder), PROFCONV_NOTE_WARNING, "trailing-data", 1, 0, at, 0,
                            "%llu bytes after the functions are not an empty list of modules and were skipped",
                            (unsigned long long)(in->c.size - at));
}

static int read_header(pfc_gcc_in *in) {
    uint32_t magic = pfc_u32(&in->c);
    in->version = pfc_u32(&in->c);
    pfc_u32(&in->c);
    if (in->c.failed || magic != PFC_GCC_MAGIC)
        return profconv_error_set(in->error, PROFCONV_E_FORMAT, 0, 0,
                                  "offset 0x0: not the header 'adcg', version and stamp of GCC's AutoFDO profile");
    if ((in->version < 1 || in->version > 3) && in->version != PFC_GCC_VERSION_407)
        return profconv_error_set(in->error, PROFCONV_E_UNSUPPORTED, 4, 0,
                                  "offset 0x4: version 0x%x; 1, 2, 3 and 0x%x are known", in->version,
                                  PFC_GCC_VERSION_407);
    pfc_cursor ahead = in->c;
    if (pfc_u32(&ahead) != PFC_GCC_SUMMARY)
        return PROFCONV_OK;
    in->timed = 1;
    for (unsigned i = 0; i < 5; i++)
        counter(&ahead);
    uint64_t n = counter(&ahead);
    if (!pfc_fits(&ahead, n, 20)) {
        in->c = ahead;
        return truncated(in, "the summary");
    }
    pfc_skip(&ahead, n * 20);
    in->c = ahead;
    return PROFCONV_OK;
}

static int read_gcc(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                    profconv_error *error) {
    (void)user;
    (void)options;
    pfc_gcc_in in;
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0;
    memset(&in, 0, sizeof in);
    pfc_mem_init(&in.mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    in.builder = builder;
    in.error = error;
    in.max_depth = profconv_builder_limits(builder)->max_depth;
    int status = pfc_input_read_all(input, &in.mem, SIZE_MAX, &data, &size, &capacity, error);
    in.c = pfc_cursor_make(data, size, 0, 0);
    if (status == PROFCONV_OK)
        status = read_header(&in);
    if (status == PROFCONV_OK)
        status = read_names(&in);
    if (status == PROFCONV_OK)
        status = read_functions(&in);
    if (status == PROFCONV_OK) {
        check_rest(&in);
        status = profconv_builder_status(builder, error);
    }
    PFC_VEC_FREE(&in.mem, &in.names);
    PFC_VEC_FREE(&in.mem, &in.files);
    PFC_VEC_FREE(&in.mem, &in.stack);
    pfc_free(&in.mem, data, capacity);
    return status;
}

static int probe_gcc(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    (void)whole;
    return size >= 12 && memcmp(head, "adcg", 4) == 0 ? 100 : 0;
}

static const char *const aliases[] = {"gcov", "gcc", "afdo", NULL};
static const char *const suffixes[] = {".afdo", ".gcov", NULL};

const profconv_reader pfc_gcc_afdo_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "gcc-afdo",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "GCC AutoFDO profile (-fauto-profile)",
    .produces = PROFCONV_FACET_SOURCE_COUNTS,
    .probe = probe_gcc,
    .read = read_gcc,
};
