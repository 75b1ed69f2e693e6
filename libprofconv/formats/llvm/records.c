/* SPDX-License-Identifier: MIT
 *
 * Reads what the binary encodings have in common: summary, name tables, function records. Nesting is followed with a
 * stack of open records, never by recursion, and no deeper than the limit.
 */
#include <string.h>

#include "libprofconv/base/md5.h"
#include "libprofconv/formats/llvm/llvm.h"

void pfc_llvm_records_init(pfc_llvm_records *records, pfc_mem *mem, profconv_builder *builder, profconv_error *error) {
    memset(records, 0, sizeof *records);
    records->mem = mem;
    records->builder = builder;
    records->error = error;
    records->max_depth = profconv_builder_limits(builder)->max_depth;
}

void pfc_llvm_records_free(pfc_llvm_records *records) {
    PFC_VEC_FREE(records->mem, &records->names);
    PFC_VEC_FREE(records->mem, &records->contexts);
    PFC_VEC_FREE(records->mem, &records->sources);
    PFC_VEC_FREE(records->mem, &records->stack);
}

int pfc_llvm_truncated(const pfc_cursor *c, const char *what, profconv_error *error) {
    return profconv_error_set(error, PROFCONV_E_FORMAT, pfc_cursor_offset(c), 0,
                              "offset 0x%llx: the data ends inside %s", (unsigned long long)pfc_cursor_offset(c), what);
}

static int bad_index(const pfc_llvm_records *r, const pfc_cursor *c, const char *what, uint64_t index, size_t count) {
    if (c->failed)
        return pfc_llvm_truncated(c, "a function record", r->error);
    return profconv_error_set(r->error, PROFCONV_E_FORMAT, pfc_cursor_offset(c), 0,
                              "offset 0x%llx: %s %llu in a table of %llu", (unsigned long long)pfc_cursor_offset(c),
                              what, (unsigned long long)index, (unsigned long long)count);
}

/* What the file says of its summary is not kept: it follows from the records. */
int pfc_llvm_read_summary(pfc_cursor *c, profconv_error *error) {
    for (unsigned i = 0; i < 5; i++)
        pfc_uleb(c);
    uint64_t n = pfc_uleb(c);
    if (!pfc_fits(c, n, 3))
        return pfc_llvm_truncated(c, "the summary", error);
    for (uint64_t i = 0; i < 3 * n; i++)
        pfc_uleb(c);
    return c->failed ? pfc_llvm_truncated(c, "the summary", error) : PROFCONV_OK;
}

static int add_name(pfc_llvm_records *r, const void *data, size_t size) {
    profconv_id id = profconv_builder_string(r->builder, data, size);
    return PFC_VEC_PUSH(r->mem, &r->names, id) ? pfc_mem_error(r->mem, r->error) : PROFCONV_OK;
}

/* Forgets the table before: a profile may have several. */
static int start_names(pfc_llvm_records *r, pfc_cursor *c, size_t element, uint64_t *n) {
    *n = pfc_uleb(c);
    r->names.count = 0;
    if (!pfc_fits(c, *n, element))
        return profconv_error_set(
            r->error, PROFCONV_E_FORMAT, pfc_cursor_offset(c), 0, "offset 0x%llx: a table of %llu names in %llu bytes",
            (unsigned long long)pfc_cursor_offset(c), (unsigned long long)*n, (unsigned long long)pfc_cursor_left(c));
    return PROFCONV_OK;
}

int pfc_llvm_read_names(pfc_llvm_records *r, pfc_cursor *c) {
    uint64_t n;
    int status = start_names(r, c, 1, &n);
    for (uint64_t i = 0; status == PROFCONV_OK && i < n; i++) {
        size_t before = c->at;
        profconv_string name = pfc_cstring(c);
        if (c->at - before == name.size) /* no NUL */
            return pfc_llvm_truncated(c, "the name table", r->error);
        char text[20];
        if (r->md5) { /* a second table, after one of hashes: names must be of one kind */
            name.size = pfc_format_u64(text, pfc_md5_u64(name.data, name.size));
            name.data = text;
        }
        status = add_name(r, name.data, name.size);
        if (status == PROFCONV_OK && (i & 1023) == 1023)
            status = profconv_builder_status(r->builder, r->error);
    }
    return status;
}

int pfc_llvm_read_hashes(pfc_llvm_records *r, pfc_cursor *c, int fixed) {
    uint64_t n;
    int status = start_names(r, c, fixed ? 8 : 1, &n);
    for (uint64_t i = 0; status == PROFCONV_OK && i < n; i++) {
        char text[20];
        size_t size = pfc_format_u64(text, fixed ? pfc_u64(c) : pfc_uleb(c));
        if (c->failed)
            return pfc_llvm_truncated(c, "the name table", r->error);
        status = add_name(r, text, size);
        if (status == PROFCONV_OK && (i & 1023) == 1023)
            status = profconv_builder_status(r->builder, r->error);
    }
    return status;
}

static int read_name(pfc_llvm_records *r, pfc_cursor *c, profconv_id *name) {
    uint64_t index = pfc_uleb(c);
    if (c->failed || index >= r->names.count)
        return bad_index(r, c, "name", index, r->names.count);
    *name = r->names.data[index];
    return PROFCONV_OK;
}

/* Line offsets have 16 bits in bodies; call sites are not held to that. Discriminators are cut to 32 bits, as LLVM
 * does. */
static int read_position(pfc_llvm_records *r, pfc_cursor *c, uint64_t max, uint32_t *line, uint32_t *discriminator) {
    uint64_t wide = pfc_uleb(c);
    *discriminator = (uint32_t)pfc_uleb(c);
    *line = (uint32_t)wide;
    if (!c->failed && wide > max)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, pfc_cursor_offset(c), 0,
                                  "offset 0x%llx: line offset %llu, at most %llu expected",
                                  (unsigned long long)pfc_cursor_offset(c), (unsigned long long)wide,
                                  (unsigned long long)max);
    return PROFCONV_OK;
}

static int read_body(pfc_llvm_records *r, pfc_cursor *c, profconv_id source) {
    uint32_t line, discriminator;
    int status = read_position(r, c, PFC_LLVM_MAX_LINE, &line, &discriminator);
    if (status != PROFCONV_OK)
        return status;
    uint64_t count = pfc_uleb(c), targets = pfc_uleb(c);
    if (!pfc_fits(c, targets, 2))
        return pfc_llvm_truncated(c, "a function record", r->error);
    profconv_id body = profconv_builder_source_body(r->builder, source, line, discriminator, count);
    for (uint64_t i = 0; i < targets; i++) {
        profconv_id name = 0;
        if ((status = read_name(r, c, &name)) != PROFCONV_OK)
            return status;
        profconv_builder_source_target(r->builder, body, name, pfc_uleb(c));
    }
    return c->failed ? pfc_llvm_truncated(c, "a function record", r->error) : PROFCONV_OK;
}

/* Total and body; then the record is open until its call sites have come. */
static int open_record(pfc_llvm_records *r, pfc_cursor *c, profconv_source *row, profconv_id *id) {
    if (r->stack.count >= r->max_depth)
        return profconv_error_set(r->error, PROFCONV_E_LIMIT, pfc_cursor_offset(c), 0,
                                  "offset 0x%llx: more than %u functions inlined into each other (max_depth)",
                                  (unsigned long long)pfc_cursor_offset(c), r->max_depth);
    row->total = pfc_uleb(c);
    uint64_t bodies = pfc_uleb(c);
    if (!pfc_fits(c, bodies, 4))
        return pfc_llvm_truncated(c, "a function record", r->error);
    if (r->md5)
        row->flags |= PROFCONV_SOURCE_MD5_NAME;
    *id = profconv_builder_source(r->builder, row);
    for (uint64_t i = 0; i < bodies; i++) {
        int status = read_body(r, c, *id);
        if (status == PROFCONV_OK && (i & 1023) == 1023)
            status = profconv_builder_status(r->builder, r->error);
        if (status != PROFCONV_OK)
            return status;
    }
    uint64_t calls = pfc_uleb(c);
    if (!pfc_fits(c, calls, 6) || calls > UINT32_MAX)
        return pfc_llvm_truncated(c, "a function record", r->error);
    struct pfc_llvm_open_record open = {*id, (uint32_t)calls};
    return PFC_VEC_PUSH(r->mem, &r->stack, open) ? pfc_mem_error(r->mem, r->error) : PROFCONV_OK;
}

/* Counts of virtual tables (LLVM 21 and later) follow the call sites of a record. They are skipped. */
static int skip_vtables(pfc_llvm_records *r, pfc_cursor *c) {
    uint64_t sites = pfc_uleb(c);
    if (!pfc_fits(c, sites, 3))
        return pfc_llvm_truncated(c, "vtable counts", r->error);
    for (uint64_t i = 0; i < sites; i++) {
        pfc_uleb(c);
        pfc_uleb(c);
        uint64_t types = pfc_uleb(c);
        if (!pfc_fits(c, types, 2))
            return pfc_llvm_truncated(c, "vtable counts", r->error);
        for (uint64_t k = 0; k < 2 * types; k++)
            pfc_uleb(c);
        r->vtable_counts += types;
    }
    return c->failed ? pfc_llvm_truncated(c, "vtable counts", r->error) : PROFCONV_OK;
}

static int read_callsite(pfc_llvm_records *r, pfc_cursor *c) {
    profconv_source row;
    profconv_id id;
    memset(&row, 0, sizeof row);
    struct pfc_llvm_open_record *open = &r->stack.data[r->stack.count - 1];
    open->left--;
    row.parent = open->source;
    int status = read_position(r, c, UINT32_MAX, &row.line, &row.discriminator);
    if (status == PROFCONV_OK)
        status = read_name(r, c, &row.name);
    return status == PROFCONV_OK ? open_record(r, c, &row, &id) : status;
}

static int read_calls(pfc_llvm_records *r, pfc_cursor *c) {
    int status = PROFCONV_OK;
    while (status == PROFCONV_OK && r->stack.count > 0) {
        if (r->stack.data[r->stack.count - 1].left > 0) {
            status = read_callsite(r, c);
        } else {
            if (r->vtables)
                status = skip_vtables(r, c);
            r->stack.count--;
        }
    }
    r->stack.count = 0;
    return status;
}

/* Remembers which row stands for an index of the table in force, for the metadata that comes later. */
static int remember(pfc_llvm_records *r, uint64_t index, profconv_id id) {
    size_t n = r->context ? r->contexts.count : r->names.count;
    if (r->sources.count < n) {
        if (PFC_VEC_RESERVE(r->mem, &r->sources, n))
            return pfc_mem_error(r->mem, r->error);
        memset(r->sources.data + r->sources.count, 0, (n - r->sources.count) * sizeof *r->sources.data);
        r->sources.count = n;
    }
    r->sources.data[index] = id;
    return PROFCONV_OK;
}

int pfc_llvm_read_record(pfc_llvm_records *r, pfc_cursor *c) {
    profconv_source row;
    profconv_id id = 0;
    memset(&row, 0, sizeof row);
    row.head = pfc_uleb(c);
    uint64_t index = pfc_uleb(c);
    if (r->context) {
        if (c->failed || index >= r->contexts.count)
            return bad_index(r, c, "context", index, r->contexts.count);
        row.context = r->contexts.data[index].context;
        row.name = r->contexts.data[index].name;
    } else {
        if (c->failed || index >= r->names.count)
            return bad_index(r, c, "name", index, r->names.count);
        row.name = r->names.data[index];
    }
    r->functions++;
    int status = open_record(r, c, &row, &id);
    if (status == PROFCONV_OK)
        status = remember(r, index, id);
    if (status == PROFCONV_OK)
        status = read_calls(r, c);
    r->stack.count = 0;
    return status == PROFCONV_OK && (r->functions & 255) == 0 ? profconv_builder_status(r->builder, r->error) : status;
}
