/* SPDX-License-Identifier: MIT
 *
 * Function rows: the linkage name raw, and a name for people, demangled by libiberty once a distinct name.
 *
 * libiberty's demanglers recurse, with a limit of 2048 levels, and their output can be exponentially longer than the
 * name. They are called in the form that hands out pieces to a callback and allocates nothing, so a name whose text
 * passes MAX_TEXT is left by a jump out of the callback, and stays mangled.
 */
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "libprofconv/symbolize/pass.h"

#define MAX_NAME 65536 /* longer names are not looked at */
#define MAX_TEXT 65536

typedef struct {
    pfc_buf *text;
    jmp_buf too_long;
} sink;

static void take_piece(const char *piece, size_t size, void *user) {
    sink *s = user;
    if (size > MAX_TEXT - s->text->size)
        longjmp(s->too_long, 1);
    pfc_buf_add(s->text, piece, size);
}

int pfc_demangle_style(const char *setting) {
    if (!setting || strcmp(setting, "full") == 0)
        return PFC_DEMANGLE_FULL;
    return strcmp(setting, "simple") == 0 ? PFC_DEMANGLE_SIMPLE : PFC_DEMANGLE_NONE;
}

int pfc_demangle(const char *name, int style, pfc_buf *text) {
    pfc_buf_clear(text);
    /* _Z and __Z (Mach-O): C++ and Rust's legacy scheme; _R: Rust v0; _GLOBAL_: constructors of a file. */
    int rust = name[0] == '_' && name[1] == 'R';
    int itanium =
        name[0] == '_' && (name[1] == 'Z' || strncmp(name, "__Z", 3) == 0 || strncmp(name, "_GLOBAL_", 8) == 0);
    if (style == PFC_DEMANGLE_NONE || (!rust && !itanium) || strlen(name) > MAX_NAME)
        return 0;
    sink s = {.text = text};
    if (setjmp(s.too_long)) {
        pfc_buf_clear(text);
        return 0;
    }
    const int options = style == PFC_DEMANGLE_FULL ? DMGL_PARAMS | DMGL_ANSI : DMGL_ANSI;
    if (rust_demangle_callback(name, options, take_piece, &s) && text->size && !text->failed)
        return 1;
    pfc_buf_clear(text);
    if (itanium && cplus_demangle_v3_callback(name[1] == '_' ? name + 1 : name, options, take_piece, &s) &&
        text->size && !text->failed)
        return 1;
    pfc_buf_clear(text);
    return 0;
}

void pfc_names_init(pfc_names *names, profconv_builder *builder, pfc_mem *mem, int style) {
    memset(names, 0, sizeof *names);
    names->builder = builder;
    names->mem = mem;
    names->style = style;
    pfc_buf_init(&names->text, mem);
}

void pfc_names_free(pfc_names *names) {
    pfc_index_free(names->mem, &names->index);
    PFC_VEC_FREE(names->mem, &names->rows);
    pfc_buf_free(&names->text);
}

static uint64_t hash_id(profconv_id id) { return pfc_hash_mix(id, 0x6e616d65); }

static uint64_t rehash_row(const void *user, uint32_t row) {
    const struct pfc_name_row *rows = user;
    return hash_id(rows[row - 1].linkage);
}

static profconv_id display_name(pfc_names *names, profconv_id linkage, const char *text) {
    uint64_t hash = hash_id(linkage);
    if (names->index.size) {
        pfc_probe probe = pfc_index_start(&names->index, hash);
        for (uint32_t row; (row = pfc_index_next(&names->index, &probe)) != 0;)
            if (names->rows.data[row - 1].linkage == linkage)
                return names->rows.data[row - 1].display;
    }
    struct pfc_name_row row = {linkage, linkage};
    if (pfc_demangle(text, names->style, &names->text))
        row.display = profconv_builder_string(names->builder, names->text.data, names->text.size);
    if (PFC_VEC_PUSH(names->mem, &names->rows, row) == 0)
        (void)pfc_index_insert(names->mem, &names->index, hash, (uint32_t)names->rows.count, rehash_row,
                               names->rows.data);
    return row.display;
}

profconv_id pfc_names_function(pfc_names *names, const pfc_frame *frame) {
    const char *linkage = *frame->linkage_name ? frame->linkage_name : frame->name;
    if (!*linkage)
        return 0;
    profconv_function row = {.start_line = frame->decl_line};
    row.linkage_name = profconv_builder_cstring(names->builder, linkage);
    row.name = display_name(names, row.linkage_name, linkage);
    row.file = profconv_builder_cstring(names->builder, *frame->file ? frame->file : frame->decl_file);
    return profconv_builder_function(names->builder, &row);
}

profconv_id pfc_names_plain(pfc_names *names, const char *name, size_t size) {
    profconv_function row = {0};
    row.name = row.linkage_name = profconv_builder_string(names->builder, name, size);
    return row.name ? profconv_builder_function(names->builder, &row) : 0;
}
