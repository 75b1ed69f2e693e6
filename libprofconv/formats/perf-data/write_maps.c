/* SPDX-License-Identifier: MIT
 *
 * Run-time addresses for the images of a profile. Readers of recordings keep file offsets, so most images have none any
 * more and are laid out in a free piece of the address space, the same in every process. Images whose mappings say
 * where they were (other profilers' files) stay there when nothing is in the way; the kernel, code made at run time and
 * addresses in no mapping always do.
 *
 * Mapping rows of one image and one distance between address and file offset are one piece. Rows of the kernel or of a
 * module that count from the image's start join the piece that says where the image was loaded.
 */
#include "libprofconv/formats/perf-data/write.h"

#include <string.h>

#include "libprofconv/base/sort.h"

#define PAGE UINT64_C(4096)
#define GRAIN UINT64_C(65536) /* pieces begin at multiples of the largest page size in use */
#define KERNEL_HALF (UINT64_C(1) << 63)
#define EXTERNAL_OFFSET UINT64_C(0x7ff000000000) /* an offset that no file has, so that no comparison meets it */
#define EXTENT_MAX (UINT64_C(1) << 36)

/* A frame pointer that was 0 makes a frame at address 0: it has no lines, as frames without any address must. */
int pw_has_address(const profconv_location *location) {
    return location->address != 0 || location->mapping != 0 || location->line_count == 0;
}

/* ---- what is used ---- */

static int is_kernel_kind(uint32_t kind) { return kind == PROFCONV_MAPPING_KERNEL || kind == PROFCONV_MAPPING_MODULE; }

/* A hypervisor's and a guest's kernel tell themselves apart by name. */
static unsigned guest_space(const pw_writer *w, const profconv_mapping *row, const profconv_location *location) {
    profconv_string file = profconv_profile_string(w->profile, row->file);
    if (file.size == 12 && memcmp(file.data, "[hypervisor]", 12) == 0)
        return PW_HYPERVISOR;
    return location->flags & PROFCONV_LOCATION_KERNEL || (file.size > 7 && memcmp(file.data, "[guest.k", 8) == 0)
               ? PW_GUEST_KERNEL
               : PW_GUEST_USER;
}

unsigned pw_space(const pw_writer *w, const profconv_location *location) {
    const profconv_mapping *row = profconv_profile_mapping(w->profile, location->mapping);
    if (location->mapping && row->kind == PROFCONV_MAPPING_GUEST)
        return guest_space(w, row, location);
    if (location->mapping)
        return is_kernel_kind(row->kind) ? PW_KERNEL : PW_USER;
    return location->flags & PROFCONV_LOCATION_KERNEL ? PW_KERNEL : PW_USER;
}

static pw_unit unit_of_row(const pw_writer *w, profconv_id mapping) {
    const profconv_mapping *row = profconv_profile_mapping(w->profile, mapping);
    pw_unit u;
    memset(&u, 0, sizeof u);
    u.low = UINT64_MAX;
    u.mapping = mapping;
    u.to_offset = row->file_offset - row->start;
    u.space = is_kernel_kind(row->kind) ? PW_KERNEL : row->kind == PROFCONV_MAPPING_GUEST ? PW_GUEST_USER : PW_USER;
    u.fixed = row->kind == PROFCONV_MAPPING_JIT || row->kind == PROFCONV_MAPPING_ANONYMOUS ||
              row->kind == PROFCONV_MAPPING_GUEST;
    return u;
}

int pw_use_location(pw_writer *w, profconv_id location) {
    const profconv_location *l = profconv_profile_location(w->profile, location);
    if (!pw_has_address(l))
        return 0;
    if (l->mapping == 0)
        return PFC_VEC_PUSH(&w->mem, &w->raw, l->address) ? pw_failed(w) : 0;
    uint32_t *unit = &w->unit_of[l->mapping];
    if (*unit == PW_NONE) {
        pw_unit fresh = unit_of_row(w, l->mapping);
        *unit = (uint32_t)w->units.count;
        if (PFC_VEC_PUSH(&w->mem, &w->units, fresh))
            return pw_failed(w);
    }
    pw_unit *u = &w->units.data[*unit];
    if (l->address < u->low)
        u->low = l->address;
    if (l->address >= u->high)
        u->high = l->address == UINT64_MAX ? UINT64_MAX : l->address + 1;
    return 0;
}

/* ---- rows into pieces ---- */

static int same_image(const profconv_mapping *a, const profconv_mapping *b) {
    return a->file == b->file && a->build_id == b->build_id && a->kind == b->kind && a->pid == b->pid;
}

static uint64_t image_hash(const profconv_mapping *row) {
    return pfc_hash_mix((uint64_t)row->file << 32 | row->build_id, (uint64_t)row->kind << 32 | row->pid);
}

static uint64_t rehash(const void *user, uint32_t row) {
    const pw_writer *w = (const pw_writer *)user;
    return image_hash(profconv_profile_mapping(w->profile, w->units.data[row - 1].mapping));
}

/* Whether the addresses of a row are those of some process, and not the image's own. */
static void judge(const pw_writer *w, pw_unit *u) {
    const profconv_mapping *row = profconv_profile_mapping(w->profile, u->mapping);
    if (u->space == PW_KERNEL) {
        u->native = u->low >= KERNEL_HALF;
        u->hidden = row->kind == PROFCONV_MAPPING_KERNEL && u->native && row->start == 0;
    } else {
        u->native = u->fixed || u->to_offset != 0;
    }
    if (u->hidden)
        return;
    uint64_t image = 0 - u->to_offset;
    if (u->space == PW_KERNEL && u->low >= image && u->low - image <= EXTENT_MAX)
        u->low = image; /* recorders tell where the whole image begins */
    if (row->limit > row->start && row->limit - row->start <= EXTENT_MAX) { /* more than what was met is mapped */
        u->low = row->start < u->low ? row->start : u->low;
        u->high = row->limit > u->high ? row->limit : u->high;
    }
}

/* Adds piece `from` to `to`, whose addresses are larger by `up`. */
static void unite(pw_writer *w, uint32_t from, uint32_t to, uint64_t up) {
    pw_unit *a = &w->units.data[to], *b = &w->units.data[from];
    uint64_t low = b->low + up, high = b->high + up;
    a->low = low < a->low ? low : a->low;
    a->high = high > a->high ? high : a->high;
    b->shift = up;
    b->size = to + (uint64_t)1; /* marks it as a part of `to`, until everything is placed */
}

static int joins(const pw_unit *a, const pw_unit *b, uint64_t *up) {
    *up = 0;
    if (a->native == b->native)
        return a->to_offset == b->to_offset && !a->hidden;
    *up = b->to_offset - a->to_offset;
    return a->native && a->space == PW_KERNEL && !a->hidden;
}

/* Pieces that say where they are come first, so that the others find them. */
static int unite_units(pw_writer *w) {
    pfc_index index = {0};
    int status = 0;
    for (int native = 1; native >= 0 && !status; native--)
        for (uint32_t i = 0; i < w->units.count && !status; i++) {
            if (w->units.data[i].native != native)
                continue;
            const profconv_mapping *row = profconv_profile_mapping(w->profile, w->units.data[i].mapping);
            uint64_t hash = image_hash(row), up = 0;
            uint32_t found = 0;
            if (index.size) {
                pfc_probe probe = pfc_index_start(&index, hash);
                while ((found = pfc_index_next(&index, &probe)) != 0)
                    if (same_image(row, profconv_profile_mapping(w->profile, w->units.data[found - 1].mapping)) &&
                        joins(&w->units.data[found - 1], &w->units.data[i], &up))
                        break;
            }
            if (found)
                unite(w, i, found - 1, up);
            else
                status = pfc_index_insert(&w->mem, &index, hash, i + 1, rehash, w);
        }
    pfc_index_free(&w->mem, &index);
    return status ? pw_failed(w) : 0;
}

/* ---- places ---- */

typedef struct interval {
    uint64_t low, high; /* high is one past the last */
} interval;

typedef struct layout {
    pw_writer *w;
    PFC_VEC(interval) taken; /* sorted */
    uint64_t at;             /* in the free piece */
} layout;

static void record_extent(pw_unit *u) {
    uint64_t offset = u->low + u->to_offset, before = offset & (PAGE - 1);
    u->start = u->low + u->shift - before;
    u->size = u->high - u->low + before;
    u->size = u->size > UINT64_MAX - PAGE ? u->size : (u->size + PAGE - 1) & ~(PAGE - 1);
    u->pgoff = offset - before;
    u->placed = 1;
}

static int take(layout *l, uint64_t low, uint64_t high) {
    interval i = {low, high};
    return PFC_VEC_PUSH(&l->w->mem, &l->taken, i) ? pw_failed(l->w) : 0;
}

static int sort_taken(layout *l) {
    size_t n = l->taken.count, bytes = n * sizeof(pfc_key);
    pfc_key *keys = n ? (pfc_key *)pfc_alloc(&l->w->mem, bytes) : NULL;
    interval *copy = n ? (interval *)pfc_alloc(&l->w->mem, n * sizeof *copy) : NULL;
    int status = n && (!keys || !copy) ? pw_failed(l->w) : 0;
    for (size_t i = 0; i < n && !status; i++) {
        pfc_key key = {l->taken.data[i].low, 0, (uint32_t)i};
        keys[i] = key;
    }
    if (n && !status && pfc_sort_keys(&l->w->mem, keys, n))
        status = pw_failed(l->w);
    if (n && !status) {
        memcpy(copy, l->taken.data, n * sizeof *copy);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) { /* what touches becomes one */
            interval next = copy[keys[i].id];
            interval *last = kept ? &l->taken.data[kept - 1] : NULL;
            if (last && next.low <= last->high)
                last->high = next.high > last->high ? next.high : last->high;
            else
                l->taken.data[kept++] = next;
        }
        l->taken.count = kept;
    }
    pfc_free(&l->w->mem, keys, bytes);
    pfc_free(&l->w->mem, copy, n * sizeof *copy);
    return status;
}

static int is_free(const layout *l, uint64_t low, uint64_t high) {
    size_t from = 0, to = l->taken.count;
    while (from < to) { /* the first interval that ends behind `low` */
        size_t middle = from + (to - from) / 2;
        if (l->taken.data[middle].high > low)
            to = middle;
        else
            from = middle + 1;
    }
    return from == l->taken.count || l->taken.data[from].low >= high;
}

/* What cannot move: raw addresses, code made at run time. */
static int take_fixed(layout *l) {
    pw_writer *w = l->w;
    for (size_t i = 0; i < w->raw.count; i++)
        if (take(l, w->raw.data[i], w->raw.data[i] == UINT64_MAX ? UINT64_MAX : w->raw.data[i] + 1))
            return w->status;
    for (size_t i = 0; i < w->units.count; i++) {
        pw_unit *u = &w->units.data[i];
        if (u->size || !u->fixed)
            continue;
        u->to_offset = 0;
        record_extent(u);
        if (u->space == PW_USER && take(l, u->start, u->start + u->size))
            return w->status;
    }
    return sort_taken(l);
}

/* Images at their own addresses, in the order of the table; those with something in the way are moved. */
static int take_native(layout *l) {
    pw_writer *w = l->w;
    for (size_t i = 0; i < w->units.count; i++) {
        pw_unit *u = &w->units.data[i];
        if (u->size || u->placed || !u->native)
            continue;
        record_extent(u);
        if (u->hidden) { /* covers everything that no module does */
            u->start = 0;
            u->size = UINT64_MAX;
            u->pgoff = 0;
            continue;
        }
        if (u->size > EXTENT_MAX || u->start + u->size < u->start || !is_free(l, u->start, u->start + u->size)) {
            u->placed = 0;
            u->size = 0;
        } else if (take(l, u->start, u->start + u->size) || sort_taken(l)) {
            return w->status;
        }
    }
    return 0;
}

static uint64_t needed(const pw_writer *w, unsigned space) {
    uint64_t sum = 4 * GRAIN;
    for (size_t i = 0; i < w->units.count; i++) {
        const pw_unit *u = &w->units.data[i];
        if (!u->size && !u->placed && u->space == space)
            sum = pfc_add_sat(sum, pfc_add_sat(u->high - u->low, 3 * GRAIN));
    }
    return space == PW_USER ? pfc_add_sat(sum, w->names_size + 3 * GRAIN) : sum;
}

/* The first of these places with nothing in it. */
static int find_room(layout *l, unsigned space) {
    uint64_t size = needed(l->w, space);
    for (unsigned i = 0; i < 127; i++) {
        uint64_t base = space == PW_USER ? (uint64_t)((0x54u + i) % 127u + 1u) << 40
                        : i == 0         ? UINT64_C(0xffffffff81000000)
                                         : UINT64_C(0xffff800000000000) + ((uint64_t)(i - 1) << 40);
        uint64_t room = i == 0 && space == PW_KERNEL ? UINT64_C(0x40000000) : UINT64_C(1) << 40;
        if (size > room || !is_free(l, base, base + size))
            continue;
        l->at = base;
        return 0;
    }
    return l->w->status =
               profconv_error_set(l->w->error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                  "the addresses of the profile's images are too far apart to be laid out in "
                                  "one address space (%llu bytes needed)",
                                  (unsigned long long)size);
}

static int place_rest(layout *l, unsigned space) {
    pw_writer *w = l->w;
    if (find_room(l, space))
        return w->status;
    for (size_t i = 0; i < w->units.count; i++) {
        pw_unit *u = &w->units.data[i];
        if (u->size || u->placed || u->space != space)
            continue;
        uint64_t before = (u->low + u->to_offset) & (PAGE - 1);
        u->shift = l->at + before - u->low;
        record_extent(u);
        l->at = (l->at + u->size + 2 * GRAIN - 1) & ~(GRAIN - 1);
    }
    if (space == PW_USER) {
        w->names_start = l->at;
        l->at = (l->at + w->names_size + 2 * GRAIN - 1) & ~(GRAIN - 1);
        w->external_start = l->at;
        w->external = l->at + 0x100;
    }
    return 0;
}

/* The reference symbol of the kernel, or the file offset that perf's own records of modules and JIT code do not give.
 */
static void settle_offsets(pw_writer *w) {
    for (size_t i = 0; i < w->units.count; i++) {
        pw_unit *u = &w->units.data[i];
        const profconv_mapping *row = profconv_profile_mapping(w->profile, u->mapping);
        if (row->kind == PROFCONV_MAPPING_KERNEL && u->placed && !u->hidden) {
            u->start = u->shift - u->to_offset; /* where the image begins: consumers count from there */
            u->size = ((u->high + u->shift) - u->start + PAGE - 1) & ~(PAGE - 1);
            u->pgoff = row->reference_address && u->native ? row->reference_address + u->shift : u->start;
        } else if (u->fixed) {
            u->pgoff = u->start;
        }
    }
}

int pw_place(pw_writer *w) {
    layout l;
    memset(&l, 0, sizeof l);
    l.w = w;
    for (size_t i = 0; i < w->units.count; i++)
        judge(w, &w->units.data[i]);
    int status = unite_units(w);
    if (!status)
        status = take_fixed(&l);
    if (!status)
        status = take_native(&l);
    if (!status)
        status = place_rest(&l, PW_KERNEL);
    if (!status)
        status = place_rest(&l, PW_USER);
    PFC_VEC_FREE(&w->mem, &l.taken);
    if (status)
        return status;
    settle_offsets(w);
    for (uint32_t i = 1; i < w->mapping_count;
         i++) { /* parts: the piece they belong to, whose shift is added to theirs */
        uint32_t unit = w->unit_of[i];
        if (unit == PW_NONE || w->units.data[unit].placed)
            continue;
        pw_unit *part = &w->units.data[unit];
        part->shift += w->units.data[part->size - 1].shift;
    }
    return 0;
}

/* ---- look-ups ---- */

uint64_t pw_address(const pw_writer *w, const profconv_location *location) {
    return location->mapping ? location->address + w->units.data[w->unit_of[location->mapping]].shift
                             : location->address;
}

uint64_t pw_offset(const pw_writer *w, const profconv_location *location) {
    return location->mapping ? location->address + w->units.data[w->unit_of[location->mapping]].to_offset : 0;
}
