/* SPDX-License-Identifier: MIT
 *
 * Branch stacks into edges and fall-through ranges. The rules are those of AutoFDO's tools, for every image at once: which
 * image an entry counts for is decided by where it goes to, so the rows of one image, filtered later, are what those
 * tools compute for that binary alone. Offsets are compared as they compare them, in the image of each address.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define RANGE_MAX 0x100000u     /* longer ranges are damaged records */
#define BACK_EDGE_MAX 0x1000u   /* a duplicated newest entry that jumps back farther is dropped */

typedef struct flags {
    int mispredicted;
    unsigned cycles, spec;
} flags;

/* Fields of the flag word; big-endian writers mirror their places. */
static unsigned field(uint64_t word, int big, unsigned at, unsigned width) {
    unsigned shift = big ? 64 - at - width : at;
    return (unsigned)(word >> shift) & ((1u << width) - 1);
}

static flags read_flags(const uint8_t *entry, int big) {
    uint64_t word = pfc_load64(entry + 16, big);
    flags f = {(int)field(word, big, 0, 1), field(word, big, 4, 16), field(word, big, 24, 2)};
    return f;
}

#define SPEC_WRONG_PATH 1u

/* Offset in the image, 0 for an address in none. */
static uint64_t offset_of(const pd_reader *r, const pd_place *p) {
    return p->dso == UINT32_MAX ? 0 : p->value - r->dsos.data[p->dso].bias;
}

/* Entries without trailing empty ones; 0 and counted when an empty one stands before others. */
static uint64_t usable_entries(pd_reader *r, const pd_sample *s) {
    uint64_t count = s->branch_count;
    const uint8_t *b = s->branches;
    while (count > 0 && pfc_load64(b + 24 * (count - 1), r->big) == 0 && pfc_load64(b + 24 * (count - 1) + 8, r->big) == 0)
        count--;
    for (uint64_t i = 0; i < count; i++)
        if (pfc_load64(b + 24 * i, r->big) == 0 && pfc_load64(b + 24 * i + 8, r->big) == 0) {
            r->counts.branch_null_stack++;
            return 0;
        }
    return count;
}

static void add_branch(pd_reader *r, const pd_place *from, const pd_place *to, flags f) {
    if (from->location == 0 && to->location == 0) {
        r->counts.branch_unmapped++;
        return;
    }
    profconv_builder_branch(r->builder, from->location, to->location, 1, f.mispredicted ? 1 : 0, f.cycles);
}

/* The code run from where entry `i` went to up to the newer branch. Zero when the entry is damaged and does not count. */
static int add_range(pd_reader *r, const pd_place *to, const pd_place *newer_from) {
    uint64_t begin = offset_of(r, to), end = offset_of(r, newer_from);
    if (end < begin || end - begin > RANGE_MAX) {
        r->counts.branch_bogus++;
        return 0;
    }
    profconv_id last = newer_from->location;
    if (newer_from->dso != to->dso) {
        /* Another image's offset happens to fit, which no check of those tools sees. */
        r->counts.range_across++;
        last = profconv_builder_address_location(r->builder, pd_dso_mapping(r, to->dso),
                                                 end + r->dsos.data[to->dso].bias, 0);
    }
    profconv_builder_range(r->builder, to->location, last, 1);
    return 1;
}

void pd_branch_stack(pd_reader *r, uint32_t process, const pd_sample *s) {
    uint64_t count = usable_entries(r, s);
    if (count == 0)
        return;
    if (PFC_VEC_RESERVE(&r->mem, &r->places, 2 * (size_t)count))
        return;
    pd_place *place = r->places.data; /* from, to of entry i at 2i, 2i + 1 */
    for (uint64_t i = 0; i < 2 * count; i++)
        place[i] = *pd_locate(r, process, PD_MODE_NONE, pfc_load64(s->branches + 24 * (i / 2) + 8 * (i & 1), r->big));
    uint64_t newest = 0;
    flags f;
    while (newest < count && (f = read_flags(s->branches + 24 * newest, r->big)).spec == SPEC_WRONG_PATH) {
        r->counts.branch_wrong_path++;
        newest++;
    }
    if (newest == count)
        return;
    add_branch(r, &place[2 * newest], &place[2 * newest + 1], f);
    for (uint64_t i = newest + 1; i < count; i++) {
        const pd_place *from = &place[2 * i], *to = &place[2 * i + 1], *newer = &place[2 * (i - 1)];
        f = read_flags(s->branches + 24 * i, r->big);
        if (f.spec == SPEC_WRONG_PATH) {
            r->counts.branch_wrong_path++;
            continue;
        }
        if (to->dso != UINT32_MAX) {
            if (i == 1 && offset_of(r, from) == offset_of(r, &place[0]) && offset_of(r, to) == offset_of(r, &place[1]) &&
                offset_of(r, &place[0]) - offset_of(r, &place[1]) > BACK_EDGE_MAX) {
                r->counts.branch_duplicate++;
                continue;
            }
            if (!add_range(r, to, newer))
                continue;
        }
        add_branch(r, from, to, f);
    }
}
