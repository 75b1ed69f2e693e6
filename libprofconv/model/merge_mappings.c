/* SPDX-License-Identifier: MIT
 *
 * Which mappings of two profiles are the same, and what that does to addresses.
 *
 * Images are the same when their build-ids are, or, where neither has one, their file names; kind and process must
 * agree. An address names a byte of the file (file offset = address - start + file offset of the mapping), so moving to
 * the coordinates of the mapping met first means adding a constant, the shift, and the united mapping covers both.
 * The kernel's image is not where its file offset says but where it was loaded: there the run-time address of the
 * reference symbol takes the part of the offset, and without a build-id kernels loaded apart stay apart.
 * Addresses of JIT code and anonymous memory, and those inside a guest, mean something only where they were taken:
 * such mappings unite only when they are equal.
 */
#include "libprofconv/model/merge.h"

/* The builder's mappings that others may join: the first one of each image, and of each image and relation. */
typedef struct images {
    pfc_index by_image;
    pfc_index by_relation;
    int has_main;
} images;

#define HAS_FLAGS                                                                                                      \
    ((uint32_t)(PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_HAS_FILENAMES | PROFCONV_MAPPING_HAS_LINE_NUMBERS |  \
                PROFCONV_MAPPING_HAS_INLINE_FRAMES))

static int can_join(const profconv_mapping *r) {
    return (r->build_id || r->file) && r->kind != PROFCONV_MAPPING_JIT && r->kind != PROFCONV_MAPPING_ANONYMOUS &&
           r->kind != PROFCONV_MAPPING_GUEST;
}

/* Mappings of one image with one relation have the same addresses for the same code. */
static uint64_t relation(const profconv_mapping *r) {
    if (r->kind == PROFCONV_MAPPING_KERNEL)
        return r->reference_address ? r->reference_address : r->start;
    return r->start - r->file_offset;
}

static uint64_t hash_image(const profconv_mapping *r) {
    uint64_t name = r->build_id ? pfc_pair(1, r->build_id) : pfc_pair(0, r->file);
    return pfc_hash_mix(name, pfc_pair(r->kind, r->pid));
}
static uint64_t hash_relation(const profconv_mapping *r) { return pfc_hash_mix(hash_image(r), relation(r)); }

static uint64_t rehash_image(const void *user, uint32_t row) {
    return hash_image(&((const pfc_model *)user)->mappings.data[row]);
}
static uint64_t rehash_relation(const void *user, uint32_t row) {
    return hash_relation(&((const pfc_model *)user)->mappings.data[row]);
}

static int same_image(const profconv_mapping *a, const profconv_mapping *b) {
    return a->kind == b->kind && a->pid == b->pid && a->build_id == b->build_id && (a->build_id || a->file == b->file);
}
static int same_relation(const profconv_mapping *a, const profconv_mapping *b) {
    return same_image(a, b) && relation(a) == relation(b) &&
           (a->kind != PROFCONV_MAPPING_KERNEL ||
            (a->reference == b->reference && !a->reference_address == !b->reference_address));
}

static profconv_id find(const pfc_model *m, const pfc_index *index, uint64_t hash, const profconv_mapping *r,
                        int (*same)(const profconv_mapping *, const profconv_mapping *)) {
    pfc_probe probe = pfc_index_start(index, hash);
    uint32_t id;
    while ((id = pfc_index_next(index, &probe)) != 0)
        if (same(&m->mappings.data[id], r))
            return id;
    return 0;
}

/* Makes a mapping of the builder known to those that come after. */
static void enter(profconv_builder *b, images *known, profconv_id id) {
    const pfc_model *m = &b->model;
    const profconv_mapping *r = &m->mappings.data[id];
    known->has_main |= (r->flags & PROFCONV_MAPPING_MAIN) != 0;
    if (!can_join(r))
        return;
    if (!find(m, &known->by_image, hash_image(r), r, same_image))
        pfc_builder_index(b, &known->by_image, hash_image(r), id, rehash_image);
    if (!pfc_stopped(b) && !find(m, &known->by_relation, hash_relation(r), r, same_relation))
        pfc_builder_index(b, &known->by_relation, hash_relation(r), id, rehash_relation);
}

/* Where `r` begins in the coordinates of `to`; 0 when the two cannot share coordinates. May lower `to`'s start. */
static int place_file(profconv_mapping *to, const profconv_mapping *r, uint64_t *start) {
    if (relation(to) != relation(r) && (!to->limit || !r->limit))
        return 0; /* extents that are not known say nothing about where the file is either */
    if (r->file_offset >= to->file_offset) {
        uint64_t up = r->file_offset - to->file_offset;
        *start = to->start + up;
        return up <= UINT64_MAX - to->start;
    }
    uint64_t down = to->file_offset - r->file_offset;
    if (down > to->start)
        return 0;
    *start = to->start = to->start - down;
    to->file_offset = r->file_offset;
    return 1;
}

static int place_kernel(profconv_mapping *to, const profconv_mapping *r, uint64_t *start) {
    *start = r->start;
    if (!same_relation(to, r)) {
        if (!r->build_id || !to->reference_address || !r->reference_address || to->reference != r->reference)
            return 0;
        *start += to->reference_address - r->reference_address;
    }
    if (*start < to->start) {
        uint64_t down = to->start - *start;
        to->start = *start;
        to->file_offset = to->file_offset > down ? to->file_offset - down : 0;
    }
    return 1;
}

/* Widens `to` to cover `r` (whose strings are the builder's); the shift of r's addresses. `highest`: of r's locations.
 */
static int unite(profconv_mapping *to, const profconv_mapping *r, uint64_t highest, uint64_t *shift) {
    uint64_t start;
    if (!(to->kind == PROFCONV_MAPPING_KERNEL ? place_kernel(to, r, &start) : place_file(to, r, &start)))
        return 0;
    uint64_t last = r->limit > r->start ? r->limit - 1 : r->limit ? r->start : highest > r->start ? highest : r->start;
    *shift = start - r->start;
    if (start == UINT64_MAX || last - r->start > UINT64_MAX - 1 - start)
        return 0; /* would wrap around */
    if (to->limit && last + *shift >= to->limit)
        to->limit = last + *shift + 1;
    if (!to->file)
        to->file = r->file;
    return 1;
}

static void add(pfc_merge *g, images *known, profconv_id id, uint64_t highest) {
    profconv_builder *b = g->builder;
    pfc_model *m = &b->model;
    profconv_mapping r = g->from->mappings.data[id];
    r.file = pfc_merge_string(g, r.file);
    r.build_id = pfc_merge_string(g, r.build_id);
    r.reference = pfc_merge_string(g, r.reference);
    if (known->has_main) /* there is one main binary, the first */
        r.flags &= ~(uint32_t)PROFCONV_MAPPING_MAIN;
    profconv_id to = 0;
    if (pfc_stopped(b))
        return;
    if (can_join(&r)) {
        to = find(m, &known->by_relation, hash_relation(&r), &r, same_relation);
        if (!to)
            to = find(m, &known->by_image, hash_image(&r), &r, same_image);
    }
    if (to) {
        profconv_mapping united = m->mappings.data[to];
        if (unite(&united, &r, highest, &g->shifts[id])) {
            /* Names are there when both have them. */
            united.flags &= ~(HAS_FLAGS & ~r.flags);
            united.flags |= r.flags & PROFCONV_MAPPING_MAIN;
            known->has_main |= (united.flags & PROFCONV_MAPPING_MAIN) != 0;
            g->mappings[id] = to;
            profconv_builder_mapping_replace(b, to, &united);
            return;
        }
        g->shifts[id] = 0;
    }
    g->mappings[id] = profconv_builder_mapping(b, &r);
    if (g->mappings[id])
        enter(b, known, g->mappings[id]);
}

void pfc_merge_mappings(pfc_merge *g) {
    profconv_builder *b = g->builder;
    const pfc_model *from = g->from;
    images known = {{0}, {0}, 0};
    size_t size = from->mappings.count * sizeof(uint64_t);
    uint64_t *highest = (uint64_t *)pfc_alloc_zero(&b->model.mem, size);
    if (!highest) {
        pfc_builder_fail_memory(b);
        return;
    }
    for (size_t i = 1; i < from->locations.count; i++) {
        const profconv_location *l = &from->locations.data[i];
        if (l->address > highest[l->mapping])
            highest[l->mapping] = l->address;
    }
    for (size_t i = 1; i < b->model.mappings.count && !pfc_stopped(b); i++)
        enter(b, &known, (profconv_id)i);
    for (size_t i = 1; i < from->mappings.count && !pfc_stopped(b); i++)
        add(g, &known, (profconv_id)i, highest[i]);
    pfc_index_free(&b->model.mem, &known.by_image);
    pfc_index_free(&b->model.mem, &known.by_relation);
    pfc_free(&b->model.mem, highest, size);
}
