/* SPDX-License-Identifier: MIT
 *
 * Images (files, the kernel, modules, the vdso, code made at run time) and their rows in the profile. One row stands for an
 * image in every process that maps it: addresses are file offsets, so the same code has the same address everywhere.
 * Rows are made when a location first needs them; extents and build-ids are put right at the end.
 */
#include "libprofconv/formats/perf-data/pd.h"

static int keyed_by_start(unsigned kind) { return kind == PROFCONV_MAPPING_MODULE; }
/* Program or library is found out later, so it is no part of the identity. */
static unsigned identity_kind(unsigned kind) {
    return kind == PROFCONV_MAPPING_EXECUTABLE ? PROFCONV_MAPPING_LIBRARY : kind;
}

static uint64_t dso_hash_of(const pd_dso *d, uint64_t start) {
    uint64_t h = pfc_hash_mix(d->file, (uint64_t)d->build_id << 32 | d->pid);
    h = pfc_hash_mix(h, identity_kind(d->kind));
    return keyed_by_start(d->kind) ? pfc_hash_mix(h, start) : h;
}

static uint64_t dso_hash(const void *user, uint32_t row) {
    const pd_dso *d = &((const pd_reader *)user)->dsos.data[row - 1];
    return dso_hash_of(d, d->bias);
}

uint32_t pd_dso_get(pd_reader *r, const pd_dso *key, uint64_t low, uint64_t high) {
    uint64_t hash = dso_hash_of(key, key->bias);
    if (r->dso_index.size) {
        pfc_probe probe = pfc_index_start(&r->dso_index, hash);
        for (uint32_t row; (row = pfc_index_next(&r->dso_index, &probe)) != 0;) {
            pd_dso *d = &r->dsos.data[row - 1];
            if (d->file == key->file && d->build_id == key->build_id && d->pid == key->pid &&
                identity_kind(d->kind) == identity_kind(key->kind) &&
                (!keyed_by_start(key->kind) || d->bias == key->bias)) {
                pfc_image_widen(d, low, high);
                return row - 1;
            }
        }
    }
    pd_dso d = pfc_image_new(key, low, high);
    if (PFC_VEC_PUSH(&r->mem, &r->dsos, d) ||
        pfc_index_insert(&r->mem, &r->dso_index, hash, (uint32_t)r->dsos.count, dso_hash, r))
        return UINT32_MAX;
    return (uint32_t)r->dsos.count - 1;
}

profconv_id pd_dso_mapping(pd_reader *r, uint32_t dso) {
    pd_dso *d = &r->dsos.data[dso];
    if (d->mapping == 0) {
        profconv_mapping row;
        pfc_image_row(d, &row);
        d->mapping = profconv_builder_mapping(r->builder, &row);
    }
    return d->mapping;
}

static int name_is(const pd_build_id *b, const char *name, size_t size) {
    return b->name_size == size && memcmp(b->name, name, size) == 0;
}

static int ends_with(const char *s, size_t size, const char *tail) {
    size_t n = strlen(tail);
    return size >= n && memcmp(s + size - n, tail, n) == 0;
}

/* A kernel-mode entry that is the kernel itself under another name, such as the path of a vmlinux. */
static int is_kernel_image(const pd_build_id *b) {
    return b->kernel && b->name[0] != '[' && !ends_with(b->name, b->name_size, ".ko") &&
           !ends_with(b->name, b->name_size, ".ko.xz") && !ends_with(b->name, b->name_size, ".ko.gz") &&
           !ends_with(b->name, b->name_size, ".ko.zst");
}

/* The table's id for an image: by name and mode, else by name; for the kernel also a vmlinux. First one wins. */
static const char *table_build_id(pd_reader *r, const pd_dso *d, profconv_string file) {
    const pd_build_id *best = NULL;
    int best_rank = 0, kernel = d->kind == PROFCONV_MAPPING_KERNEL || d->kind == PROFCONV_MAPPING_MODULE;
    for (size_t i = 0; i < r->features.build_ids.count; i++) {
        const pd_build_id *b = &r->features.build_ids.data[i];
        int rank = 0;
        if (name_is(b, file.data, file.size))
            rank = b->kernel == kernel ? 3 : 2;
        else if (d->kind == PROFCONV_MAPPING_KERNEL &&
                 (name_is(b, "[kernel.kallsyms]_text", 22) || name_is(b, "[kernel.kallsyms]_stext", 23)))
            rank = 2;
        else if (d->kind == PROFCONV_MAPPING_KERNEL && is_kernel_image(b))
            rank = 1;
        if (rank == 3 && best_rank == 3 && strcmp(best->hex, b->hex) != 0)
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "ambiguous-build-id", 1, 0, PROFCONV_NO_OFFSET, 0,
                                "%.*s has several build-ids in the recording (%s, %s); the first is used",
                                (int)(file.size < 200 ? file.size : 200), file.data, best->hex, b->hex);
        if (rank > best_rank) {
            best = b;
            best_rank = rank;
        }
    }
    return best ? best->hex : NULL;
}

const char *pd_dso_build_id(pd_reader *r, uint32_t dso) {
    const pd_dso *d = &r->dsos.data[dso];
    if (d->build_id)
        return profconv_builder_get_string(r->builder, d->build_id).data;
    return table_build_id(r, d, profconv_builder_get_string(r->builder, d->file));
}

void pd_dsos_finish(pd_reader *r) {
    for (size_t i = 0; i < r->dsos.count; i++)
        if (r->dsos.data[i].main && r->dsos.data[i].mapping && r->dsos.data[i].kind == PROFCONV_MAPPING_LIBRARY)
            r->dsos.data[i].kind = PROFCONV_MAPPING_EXECUTABLE;
    const pd_dso *main_dso = pfc_images_main(r->dsos.data, r->dsos.count);
    for (size_t i = 0; i < r->dsos.count; i++) {
        pd_dso *d = &r->dsos.data[i];
        if (d->mapping == 0)
            continue;
        if (d->build_id == 0 && d->kind != PROFCONV_MAPPING_JIT && d->kind != PROFCONV_MAPPING_ANONYMOUS) {
            const char *hex = table_build_id(r, d, profconv_builder_get_string(r->builder, d->file));
            if (hex)
                d->build_id = profconv_builder_cstring(r->builder, hex);
        }
        profconv_mapping row;
        pfc_image_row(d, &row);
        if (d == main_dso)
            row.flags |= PROFCONV_MAPPING_MAIN;
        profconv_builder_mapping_replace(r->builder, d->mapping, &row);
    }
}
