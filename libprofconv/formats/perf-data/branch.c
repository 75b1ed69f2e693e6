/* SPDX-License-Identifier: MIT
 *
 * Branch stacks into edges and fall-through ranges. The rules are those of AutoFDO's tools, for every image at once:
 * which image an entry counts for is decided by where it goes to, so the rows of one image, filtered later, are what
 * those tools compute for that binary alone. Offsets are compared as they compare them, in the image of each address.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define RANGE_MAX 0x100000u /* longer ranges are damaged records */
#define SPEC_WRONG_PATH 1u
#define BACK_EDGE_MAX 0x1000u /* a duplicated newest entry that jumps back farther is dropped */

/* Fields of the flag word; big-endian writers mirror their places. */
static inline unsigned field(uint64_t word, int big, unsigned at, unsigned width) {
    unsigned shift = big ? 64 - at - width : at;
    return (unsigned)(word >> shift) & ((1u << width) - 1);
}
static inline uint64_t read_flags(const pd_reader *r, const pd_sample *s, size_t entry) {
    return pfc_load64(s->branches + 24 * entry + 16, r->big);
}
static inline int wrong_path(const pd_reader *r, uint64_t flags) {
    return field(flags, r->big, 24, 2) == SPEC_WRONG_PATH;
}

/* Offset in the image, 0 for an address in none. */
static uint64_t offset_of(const pd_reader *r, const pd_place *p) {
    return p->dso == UINT32_MAX ? 0 : p->value - r->dsos.data[p->dso].bias;
}

/* Entries without trailing empty ones; 0 and counted when an empty one stands before others. */
static uint64_t usable_entries(pd_reader *r, const pd_sample *s) {
    uint64_t count = s->branch_count;
    const uint8_t *b = s->branches;
    while (count > 0 && pfc_load64(b + 24 * (count - 1), r->big) == 0 &&
           pfc_load64(b + 24 * (count - 1) + 8, r->big) == 0)
        count--;
    for (uint64_t i = 0; i < count; i++)
        if (pfc_load64(b + 24 * i, r->big) == 0 && pfc_load64(b + 24 * i + 8, r->big) == 0) {
            r->counts.branch_null_stack++;
            return 0;
        }
    return count;
}

static void add_branch(pd_reader *r, uint32_t process, const pd_entry *e, uint64_t flags) {
    if (e->from.location == 0 && e->to.location == 0) {
        r->counts.branch_unmapped++;
        return;
    }
    pd_edge_add(r, e->edge_slot, process, e->from_address, e->to_address, (int)field(flags, r->big, 0, 1),
                field(flags, r->big, 4, 16));
}

/* The code run from where entry `e` went to up to the newer branch. Zero when the entry is damaged and does not count.
 */
static int add_range(pd_reader *r, const pd_entry *e, const pd_place *newer_from) {
    uint64_t begin = offset_of(r, &e->to), end = offset_of(r, newer_from);
    if (end < begin || end - begin > RANGE_MAX) {
        r->counts.branch_bogus++;
        return 0;
    }
    if (newer_from->dso == e->to.dso && e->to.location && newer_from->location) {
        pd_range_add(r, e->range_slot, e->to.location, newer_from->location);
        return 1;
    }
    profconv_id last = newer_from->location;
    if (newer_from->dso != e->to.dso) {
        /* Another image's offset happens to fit, which no check of those tools sees. */
        r->counts.range_across++;
        last = profconv_builder_address_location(r->builder, pd_dso_mapping(r, e->to.dso),
                                                 end + r->dsos.data[e->to.dso].bias, 0);
    }
    profconv_builder_range(r->builder, e->to.location, last, 1);
    return 1;
}

/* The entries with their places. Slots are computed, and their loads started, well before they are looked at. */
static int read_entries(pd_reader *r, uint32_t process, const pd_sample *s, size_t count) {
    if (PFC_VEC_RESERVE(&r->mem, &r->entries, count) || pd_edges_ready(r))
        return -1;
    pd_entry *entries = r->entries.data;
    uint32_t serial = r->processes.data[process].serial;
    for (size_t i = 0; i < count; i++) {
        pd_entry *e = &entries[i];
        e->from_address = pfc_load64(s->branches + 24 * i, r->big);
        e->to_address = pfc_load64(s->branches + 24 * i + 8, r->big);
        e->edge_slot = pd_edge_slot(r, serial, e->from_address, e->to_address);
    }
    for (size_t i = 0; i < count; i++) {
        pd_entry *e = &entries[i];
        const pd_edge *edge = pd_edge_get(r, e->edge_slot, process, e->from_address, e->to_address);
        e->from = edge->place[0];
        e->to = edge->place[1];
        e->range_slot = i ? pd_range_slot(r, e->to.location, entries[i - 1].from.location) : 0;
    }
    return 0;
}

void pd_branch_stack(pd_reader *r, uint32_t process, const pd_sample *s) {
    size_t count = (size_t)usable_entries(r, s);
    if (count == 0 || read_entries(r, process, s, count))
        return;
    const pd_entry *entries = r->entries.data;
    size_t newest = 0;
    while (newest < count && wrong_path(r, read_flags(r, s, newest))) {
        r->counts.branch_wrong_path++;
        newest++;
    }
    if (newest == count)
        return;
    add_branch(r, process, &entries[newest], read_flags(r, s, newest));
    for (size_t i = newest + 1; i < count; i++) {
        const pd_entry *e = &entries[i], *newer = &entries[i - 1];
        uint64_t flags = read_flags(r, s, i);
        if (wrong_path(r, flags)) {
            r->counts.branch_wrong_path++;
            continue;
        }
        if (e->to.dso != UINT32_MAX) {
            if (i == 1 && offset_of(r, &e->from) == offset_of(r, &newer->from) &&
                offset_of(r, &e->to) == offset_of(r, &newer->to) &&
                offset_of(r, &newer->from) - offset_of(r, &newer->to) > BACK_EDGE_MAX) {
                r->counts.branch_duplicate++;
                continue;
            }
            if (!add_range(r, e, &newer->from))
                continue;
        }
        add_branch(r, process, e, flags);
    }
}
