/* SPDX-License-Identifier: MIT
 *
 * What a frame is called, what kind of code it is and where it comes from. A location is looked at once, however many
 * stacks hold it.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

const char *const pfc_view_kind_names[PFC_VIEW_KINDS] = {"root", "user",    "library", "kernel",
                                                         "JIT",  "inlined", "other"};

/* ---- tables ---- */

static uint64_t text_hash(const void *user, uint32_t row) {
    const pfc_view_frames *f = (const pfc_view_frames *)user;
    return pfc_hash_bytes_keyed(f->mem->key, f->bytes.data + f->texts.data[row].offset, f->texts.data[row].size);
}

int pfc_view_text_of(pfc_view_frames *f, const char *data, size_t size, uint32_t *id) {
    *id = 0;
    if (size == 0)
        return 0;
    uint64_t hash = pfc_hash_bytes_keyed(f->mem->key, data, size);
    pfc_probe probe = pfc_index_start(&f->text_index, hash);
    while ((*id = pfc_index_next(&f->text_index, &probe)) != 0) {
        const pfc_view_text *row = &f->texts.data[*id];
        if (row->size == size && memcmp(f->bytes.data + row->offset, data, size) == 0)
            return 0;
    }
    if (f->texts.count >= INT32_MAX)
        return PROFCONV_E_LIMIT;
    pfc_view_text row = {f->bytes.size, size};
    pfc_buf_add(&f->bytes, data, size);
    if (f->bytes.failed)
        return f->bytes.failed;
    int status = PFC_VEC_PUSH(f->mem, &f->texts, row);
    *id = (uint32_t)f->texts.count - 1;
    return status ? status : pfc_index_insert(f->mem, &f->text_index, hash, *id, text_hash, f);
}

static uint64_t frame_hash(const void *user, uint32_t row) {
    const pfc_view_frame *frame = &((const pfc_view_frames *)user)->rows.data[row];
    return pfc_hash_mix(pfc_hash_mix(frame->name, frame->module), frame->file);
}

static int intern(pfc_view_frames *f, const pfc_view_frame *frame, uint32_t *id) {
    uint64_t hash = pfc_hash_mix(pfc_hash_mix(frame->name, frame->module), frame->file);
    pfc_probe probe = pfc_index_start(&f->index, hash);
    while ((*id = pfc_index_next(&f->index, &probe)) != 0) {
        pfc_view_frame *row = &f->rows.data[*id];
        if (row->name == frame->name && row->module == frame->module && row->file == frame->file) {
            if (row->line == 0)
                row->line = frame->line;
            return 0;
        }
    }
    if (f->rows.count >= INT32_MAX)
        return PROFCONV_E_LIMIT;
    int status = PFC_VEC_PUSH(f->mem, &f->rows, *frame);
    *id = (uint32_t)f->rows.count - 1;
    return status ? status : pfc_index_insert(f->mem, &f->index, hash, *id, frame_hash, f);
}

/* ---- where a name comes from ---- */

static profconv_string base_name(profconv_string path) {
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    profconv_string base = {path.data + at, path.size - at};
    return base.size > 0 ? base : path;
}

static int starts(profconv_string s, const char *text) {
    size_t n = strlen(text);
    return s.size >= n && memcmp(s.data, text, n) == 0;
}
static int ends(profconv_string s, const char *text) {
    size_t n = strlen(text);
    return s.size >= n && memcmp(s.data + s.size - n, text, n) == 0;
}
static int contains(profconv_string s, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= s.size; i++) {
        if (memcmp(s.data + i, text, n) == 0)
            return 1;
    }
    return 0;
}

static int is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Nonzero for what compilers append to names after a '.': ".cold", ".isra.0", ".llvm.123". */
static int is_clone(profconv_string rest) {
    static const char *const suffixes[] = {"cold", "isra",       "part",     "constprop", "lto_priv",
                                           "llvm", "localalias", "resolver", "__uniq"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (starts(rest, suffixes[i]))
            return 1;
    }
    return rest.size == 0 || (rest.data[0] >= '0' && rest.data[0] <= '9');
}

/* The part of a name that says where it is from: "github.com/a/b" of "github.com/a/b.(*T).M", "std" of "std::sort<..>",
 * "java/util" of "java/util/HashMap.get"; empty when there is none. */
static profconv_string package_of(profconv_string name) {
    profconv_string none = {"", 0};
    size_t slash = 0;
    size_t dot = 0;
    size_t i = 0;
    if (name.size > 0 && name.data[0] == '<') /* Rust: <alloc::vec::Vec<T> as core::fmt::Debug>::fmt */
        i = 1;
    size_t begin = i;
    for (; i < name.size; i++) {
        char c = name.data[i];
        if (c == ':' && i > begin && i + 1 < name.size && name.data[i + 1] == ':' && slash == 0) {
            profconv_string space = {name.data + begin, i - begin};
            return space;
        }
        if (c == '/') {
            slash = i;
            dot = 0;
        } else if (c == '.' && dot == 0) {
            dot = i;
        } else if (!is_word(c) && c != '.' && c != '-' && c != '~' && c != '%' && c != '$') {
            break;
        }
    }
    profconv_string package = {name.data, dot > slash ? dot : slash};
    profconv_string rest = {name.data + dot + 1, dot + 1 < name.size ? name.size - dot - 1 : 0};
    return package.size > 0 && (slash > 0 || !is_clone(rest)) ? package : none;
}

/* Profiles of other tools do not say what a mapping is: then its file's name tells, and at last the mark that collapsed
 * stacks put after a name. */
static uint32_t kind_of(const pfc_view_frames *f, const profconv_location *location, const profconv_mapping *mapping,
                        profconv_string name, int inlined) {
    profconv_string base = base_name(profconv_profile_string(f->profile, mapping->file));
    if (inlined || ends(name, "_[i]"))
        return PFC_VIEW_INLINED;
    if ((location->flags & PROFCONV_LOCATION_KERNEL) || mapping->kind == PROFCONV_MAPPING_KERNEL ||
        mapping->kind == PROFCONV_MAPPING_MODULE || ends(name, "_[k]"))
        return PFC_VIEW_KERNEL;
    if (mapping->kind == PROFCONV_MAPPING_JIT || ends(name, "_[j]"))
        return PFC_VIEW_JIT;
    if (mapping->kind == PROFCONV_MAPPING_EXECUTABLE || (mapping->flags & PROFCONV_MAPPING_MAIN))
        return PFC_VIEW_USER;
    if (starts(base, "[kernel") || starts(base, "[guest.kernel") || starts(base, "vmlinux") || ends(base, ".ko") ||
        contains(base, ".ko.") || starts(base, "bpf_prog_"))
        return PFC_VIEW_KERNEL;
    if (starts(base, "perf-") && ends(base, ".map"))
        return PFC_VIEW_JIT;
    if (mapping->kind == PROFCONV_MAPPING_LIBRARY || mapping->kind == PROFCONV_MAPPING_VDSO || ends(base, ".so") ||
        contains(base, ".so.") || ends(base, ".dll") || ends(base, ".dylib") || starts(base, "[vdso"))
        return PFC_VIEW_LIBRARY;
    return PFC_VIEW_USER;
}

/* ---- locations ---- */

/* A frame without a name is called after its file, as collapsed stacks have it. */
static int unnamed(pfc_view_frames *f, profconv_string module, uint32_t *text) {
    pfc_buf name;
    pfc_buf_init(&name, f->mem);
    int bracketed = module.size > 1 && module.data[0] == '[' && module.data[module.size - 1] == ']';
    if (!bracketed)
        pfc_buf_char(&name, '[');
    if (module.size > 0)
        pfc_buf_add(&name, module.data, module.size);
    else
        pfc_buf_text(&name, "unknown");
    if (!bracketed)
        pfc_buf_char(&name, ']');
    int status = name.failed ? name.failed : pfc_view_text_of(f, name.data, name.size, text);
    pfc_buf_free(&name);
    return status;
}

static int add_place(pfc_view_frames *f, const profconv_location *location, const profconv_line *line, int inlined) {
    const profconv_mapping *mapping = profconv_profile_mapping(f->profile, location->mapping);
    const profconv_function *function = profconv_profile_function(f->profile, line ? line->function : 0);
    profconv_string module = base_name(profconv_profile_string(f->profile, mapping->file));
    profconv_string name = profconv_profile_string(f->profile, function->name);
    profconv_string file = profconv_profile_string(f->profile, function->file);
    pfc_view_frame frame = {0, 0, 0, 0, function->start_line > 0 ? function->start_line : 0};
    if (name.size == 0)
        name = profconv_profile_string(f->profile, function->linkage_name);
    profconv_string package = package_of(name);
    if (package.size == 0)
        package = module;
    pfc_view_place place = {0, kind_of(f, location, mapping, name, inlined), line && line->line > 0 ? line->line : 0};
    int status =
        name.size > 0 ? pfc_view_text_of(f, name.data, name.size, &frame.name) : unnamed(f, module, &frame.name);
    if (status == 0)
        status = pfc_view_text_of(f, module.data, module.size, &frame.module);
    if (status == 0)
        status = pfc_view_text_of(f, file.data, file.size, &frame.file);
    if (status == 0)
        status = pfc_view_text_of(f, package.data, package.size, &frame.package);
    if (status == 0)
        status = intern(f, &frame, &place.frame);
    return status ? status : PFC_VEC_PUSH(f->mem, &f->places, place);
}

int pfc_view_places(pfc_view_frames *f, profconv_id location, const pfc_view_place **places, uint32_t *count) {
    if (location >= f->locations)
        location = 0;
    if (f->first[location] == 0) {
        const profconv_location *row = profconv_profile_location(f->profile, location);
        size_t first = f->places.count;
        int status = row->line_count == 0 ? add_place(f, row, NULL, 0) : 0;
        /* Lines are innermost first: the last one is the function that was compiled. */
        for (uint32_t i = row->line_count; status == 0 && i-- > 0;)
            status = add_place(f, row, profconv_profile_line(f->profile, location, i), i + 1 < row->line_count);
        if (status)
            return status;
        if (f->places.count >= UINT32_MAX)
            return PROFCONV_E_LIMIT;
        f->count[location] = (uint32_t)(f->places.count - first);
        f->first[location] = (uint32_t)first + 1;
    }
    *places = f->places.data + f->first[location] - 1;
    *count = f->count[location];
    return 0;
}

int pfc_view_named(pfc_view_frames *f, const char *name, size_t size, uint32_t *id) {
    pfc_view_frame frame = {0, 0, 0, 0, 0};
    int status = pfc_view_text_of(f, name, size, &frame.name);
    return status ? status : intern(f, &frame, id);
}

/* ---- order ---- */

static int compare_texts(const pfc_view_frames *f, uint32_t a, uint32_t b) {
    profconv_string x = pfc_view_string(f, a);
    profconv_string y = pfc_view_string(f, b);
    int order = a == b ? 0 : memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order != 0 ? order : (x.size > y.size) - (x.size < y.size);
}

static int compare_frames(const void *user, uint32_t a, uint32_t b) {
    const pfc_view_frames *f = (const pfc_view_frames *)user;
    const pfc_view_frame *x = &f->rows.data[a];
    const pfc_view_frame *y = &f->rows.data[b];
    int order = compare_texts(f, x->name, y->name);
    if (order == 0)
        order = compare_texts(f, x->module, y->module);
    return order ? order : compare_texts(f, x->file, y->file);
}

int pfc_view_rank(pfc_view_frames *f, uint32_t **rank) {
    size_t count = f->rows.count;
    uint32_t *ids = (uint32_t *)pfc_alloc(f->mem, count * sizeof *ids);
    *rank = (uint32_t *)pfc_alloc(f->mem, count * sizeof **rank);
    int status = ids && *rank ? 0 : f->mem->failed;
    for (size_t i = 0; status == 0 && i < count; i++)
        ids[i] = (uint32_t)i;
    if (status == 0)
        status = pfc_sort_ids(f->mem, ids, count, compare_frames, f);
    for (size_t i = 0; status == 0 && i < count; i++)
        (*rank)[ids[i]] = (uint32_t)i;
    pfc_free(f->mem, ids, ids ? count * sizeof *ids : 0);
    if (status) {
        pfc_free(f->mem, *rank, *rank ? count * sizeof **rank : 0);
        *rank = NULL;
    }
    return status;
}

int pfc_view_frames_init(pfc_view_frames *f, pfc_mem *mem, const profconv_profile *profile) {
    static const pfc_view_text empty = {0, 0};
    static const pfc_view_frame none = {0, 0, 0, 0, 0};
    memset(f, 0, sizeof *f);
    f->mem = mem;
    f->profile = profile;
    pfc_buf_init(&f->bytes, mem);
    f->locations = profconv_profile_rows(profile, PROFCONV_TABLE_LOCATION);
    f->locations += f->locations == 0;
    f->first = (uint32_t *)pfc_alloc_zero(mem, f->locations * sizeof *f->first);
    f->count = (uint32_t *)pfc_alloc_zero(mem, f->locations * sizeof *f->count);
    if (!f->first || !f->count)
        return mem->failed;
    int status = PFC_VEC_PUSH(mem, &f->texts, empty);
    return status ? status : PFC_VEC_PUSH(mem, &f->rows, none);
}

void pfc_view_frames_free(pfc_view_frames *f) {
    if (!f->mem)
        return;
    pfc_buf_free(&f->bytes);
    PFC_VEC_FREE(f->mem, &f->texts);
    pfc_index_free(f->mem, &f->text_index);
    PFC_VEC_FREE(f->mem, &f->rows);
    pfc_index_free(f->mem, &f->index);
    PFC_VEC_FREE(f->mem, &f->places);
    pfc_free(f->mem, f->first, f->first ? f->locations * sizeof *f->first : 0);
    pfc_free(f->mem, f->count, f->count ? f->locations * sizeof *f->count : 0);
    f->first = f->count = NULL;
}
