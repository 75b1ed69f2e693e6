/* SPDX-License-Identifier: MIT
 *
 * Branch stacks into edges and fall-through ranges, by the rules of AutoFDO's tools for every image at once: the same
 * counts as a recording's reader makes from the records that the text was printed from.
 */
#include "libprofconv/formats/perf-script/ps.h"

#define RANGE_MAX UINT64_C(0x100000)   /* longer ranges are damaged records */
#define BACK_EDGE_MAX UINT64_C(0x1000) /* a repeated newest entry is real only as a short loop */

int ps_branches_parse(ps_reader *r, ps_text line, size_t at) {
    ps_branch branch;
    int got;
    r->branch_recording = 1;
    while ((got = ps_next_branch(line, &at, &branch)) != 0) {
        if (got < 0) { /* as llvm-profgen: the rest of the line is not read */
            if (r->counts.branch_bad++ == 0)
                r->counts.branch_bad_line = r->line_number;
            break;
        }
        if (PFC_VEC_PUSH(&r->mem, &r->branches, branch))
            return ps_failed(r);
        r->counts.branch_entries++;
    }
    return 0;
}

/* Entries that count: those at the end that are zero are slots that were not filled; one before others spoils all. */
static size_t usable(ps_reader *r) {
    size_t count = r->branches.count;
    const ps_branch *b = r->branches.data;
    while (count > 0 && b[count - 1].from == 0 && b[count - 1].to == 0)
        count--;
    for (size_t i = 0; i < count; i++)
        if (b[i].from == 0 && b[i].to == 0) {
            r->counts.branch_null_stack++;
            return 0;
        }
    return count;
}

static void add_edge(ps_reader *r, const ps_branch *b, const ps_place *from, const ps_place *to, uint64_t times) {
    if (!from->location && !to->location)
        r->counts.branch_unmapped++;
    else
        profconv_builder_branch(r->builder, from->location, to->location, times, b->mispredicted ? times : 0,
                                pfc_mul_sat(b->cycles, times));
}

static uint64_t offset_of(const ps_reader *r, const ps_place *p) {
    if (p->dso == PS_NONE)
        return 0;
    const ps_dso *d = &r->dsos.data[p->dso];
    return p->value - (d->kind == PROFCONV_MAPPING_KERNEL || d->kind == PROFCONV_MAPPING_MODULE ? d->bias : 0);
}

/* Zero when the entry is damaged and does not count. */
static int add_range(ps_reader *r, const ps_place *to, const ps_place *newer_from, uint64_t times) {
    uint64_t begin = offset_of(r, to), end = offset_of(r, newer_from);
    if (end < begin || end - begin > RANGE_MAX) {
        r->counts.branch_bogus++;
        return 0;
    }
    profconv_id last = newer_from->location;
    if (newer_from->dso != to->dso) {
        /* Another image's offset happens to fit, which no check of those tools sees. */
        r->counts.range_across++;
        last = profconv_builder_address_location(r->builder, ps_dso_mapping(r, to->dso), to->value + (end - begin), 0);
    }
    profconv_builder_range(r->builder, to->location, last, times);
    return 1;
}

int ps_branches_add(ps_reader *r, uint32_t process, uint64_t times) {
    size_t count = usable(r), newest = 0;
    const ps_branch *b = r->branches.data;
    while (newest < count && b[newest].wrong_path)
        newest++;
    r->counts.branch_wrong_path += newest;
    if (newest == count)
        return 0;
    /* Places are copied: the next look-up may take the slot. */
    ps_place newer_from = *ps_locate(r, process, b[newest].from), newer_to = *ps_locate(r, process, b[newest].to);
    add_edge(r, &b[newest], &newer_from, &newer_to, times);
    for (size_t i = newest + 1; i < count; i++) {
        ps_place from = *ps_locate(r, process, b[i].from), to = *ps_locate(r, process, b[i].to);
        int good = !b[i].wrong_path;
        r->counts.branch_wrong_path += !good;
        if (good && to.dso != PS_NONE) {
            uint64_t stride = offset_of(r, &newer_from) - offset_of(r, &newer_to);
            if (i == 1 && offset_of(r, &from) == offset_of(r, &newer_from) &&
                offset_of(r, &to) == offset_of(r, &newer_to) && stride > BACK_EDGE_MAX) {
                r->counts.branch_duplicate++;
                good = 0;
            } else
                good = add_range(r, &to, &newer_from, times);
        }
        if (good)
            add_edge(r, &b[i], &from, &to, times);
        newer_from = from;
        newer_to = to;
    }
    return r->mem.failed ? ps_failed(r) : 0;
}
