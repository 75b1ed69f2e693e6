/* SPDX-License-Identifier: MIT
 *
 * From frame lines to locations and stacks. A thread's stack is compared with its last one from the root.
 *
 * Inlined frames have the address of the frame they are in. perf prints them innermost first with the function itself
 * (which has the file) last; perf 6.1 with GNU addr2line prints the function first and once more, by its plain name,
 * last.
 */
#include "libprofconv/formats/perf-script/ps.h"

#define RAW_MIN (UINT64_C(1) << 40) /* no file is that long */

/* ---- places ---- */

typedef struct where {
    uint64_t address;
    profconv_id mapping;
    uint32_t flags;
    uint32_t dso;
    int by_maps; /* holds for the process's maps only */
} where;

static void in_file(ps_reader *r, const ps_line *line, uint32_t process, int one_line, where *w) {
    const ps_map *map = line->has_dso == 2 ? NULL : ps_map_find(r, process, line->address);
    int same = map && map->dso == line->dso;
    int raw = line->has_dso == 2 ? 0 : one_line || r->raw > 0 || (r->raw < 0 && (same || line->address >= RAW_MIN));
    w->by_maps = r->have_user_maps;
    w->address = line->address;
    if (raw)
        w->address = same ? map->value + (line->address - map->start) : 0;
    r->counts.raw_dropped += w->address == 0 && line->address != 0;
    /* An address whose meaning is not sure is not looked up; perf did not find a name either. */
    if (w->address == 0 || (r->raw < 0 && !same && line->has_dso != 2))
        w->flags |= PROFCONV_LOCATION_NO_SYMBOL;
}

static void find_where(ps_reader *r, const ps_line *line, uint32_t process, int one_line, where *w) {
    memset(w, 0, sizeof *w);
    w->address = line->address;
    w->dso = line->dso;
    if (line->dso == PS_NONE) {
        if (!line->has_dso && !line->name) { /* an address alone: a run-time address */
            const ps_place *place = ps_locate(r, process, line->address);
            w->by_maps = 1;
            w->dso = place->dso;
            w->address = place->value;
            w->mapping = place->dso == PS_NONE ? 0 : ps_dso_mapping(r, place->dso);
        }
        w->flags = line->kernel && !w->mapping ? PROFCONV_LOCATION_KERNEL : 0;
        return;
    }
    ps_dso *d = &r->dsos.data[line->dso];
    switch (d->kind) {
    case PROFCONV_MAPPING_LIBRARY:
    case PROFCONV_MAPPING_EXECUTABLE:
    case PROFCONV_MAPPING_VDSO:
        in_file(r, line, process, one_line, w);
        break;
    case PROFCONV_MAPPING_GUEST:
        w->flags = PROFCONV_LOCATION_GUEST;
        break;
    case PROFCONV_MAPPING_KERNEL:
    case PROFCONV_MAPPING_MODULE:
        if (line->address < UINT64_C(0x80000000)) /* perf 3.x and 4.x: offsets in a vmlinux or module file */
            w->address = 0;
        w->flags = d->bias ? 0 : PROFCONV_LOCATION_NO_SYMBOL;
        break;
    default:
        break;
    }
    w->mapping = ps_dso_mapping(r, line->dso);
    if (w->address)
        ps_dso_extend(d, w->address);
}

/* A caller's address is that of its call. */
static void set_location(const where *w, int caller, int named, profconv_location *out) {
    memset(out, 0, sizeof *out);
    out->address = w->address - (caller && w->address > 0);
    out->mapping = w->mapping;
    out->flags = named ? w->flags & ~(uint32_t)PROFCONV_LOCATION_NO_SYMBOL : w->flags;
}

static profconv_line line_row(ps_reader *r, const ps_item *item) {
    const ps_line *source = &r->lines.data[item->source];
    profconv_function function;
    memset(&function, 0, sizeof function);
    function.name = function.linkage_name = r->lines.data[item->line].name;
    function.file = item->source ? source->name : 0;
    profconv_line row = {0, 0, 0, 0};
    if (function.name == 0 && function.file == 0)
        return row;
    if (function.name == 0)
        function.name = function.linkage_name = profconv_builder_cstring(r->builder, "[unknown]");
    row.line = item->source && source->source <= INT64_MAX ? (int64_t)source->source : 0;
    row.function = profconv_builder_function(r->builder, &function);
    return row;
}

static profconv_id single(ps_reader *r, uint32_t row, uint32_t process, int caller, int one_line) {
    ps_line *line = &r->lines.data[row];
    uint32_t serial = r->processes.data[process].serial;
    int kept = !one_line; /* on the header's line addresses mean something else */
    if (kept && line->location[caller] && (!line->by_maps || line->serial == serial))
        return line->location[caller];
    where w;
    find_where(r, line, process, one_line, &w);
    profconv_location location;
    ps_item item = {row, 0};
    profconv_line lines[1] = {line_row(r, &item)};
    uint32_t count = lines[0].function != 0;
    set_location(&w, caller, count > 0, &location);
    profconv_id id = profconv_builder_location(r->builder, &location, lines, count);
    if (kept) {
        if (line->serial != serial)
            line->location[!caller] = 0;
        line->by_maps = w.by_maps != 0;
        line->serial = serial;
        line->location[caller] = id;
    }
    return id;
}

/* ---- inlined frames ---- */

static int is_inlined(const ps_reader *r, const ps_item *item) {
    return r->lines.data[item->line].inlined || (item->source && r->lines.data[item->source].inlined);
}

/* Nonzero when `tail` is the plain name of the function `name`: "f" of "ns::f<int>(long) const". */
static int is_tail(profconv_string name, profconv_string tail) {
    if (tail.size == 0)
        return 0;
    for (size_t at = 0; at + tail.size <= name.size; at++) {
        if (memcmp(name.data + at, tail.data, tail.size) != 0 ||
            (at > 0 && name.data[at - 1] != ':' && name.data[at - 1] != ' '))
            continue;
        char after = at + tail.size < name.size ? name.data[at + tail.size] : '(';
        if (after == '(' || after == '<' || after == '[' || after == '.' || after == '@')
            return 1;
    }
    return 0;
}

/* How many items from `at` on are one location; *physical is the index of the function itself, or count when it is
 * missing. */
static size_t group_size(const ps_reader *r, const ps_item *items, size_t count, size_t *physical) {
    uint64_t address = r->lines.data[items[0].line].address;
    size_t n = 0;
    int first = is_inlined(r, items);
    *physical = 0;
    n = first ? 0 : 1;
    while (n < count && r->lines.data[items[n].line].address == address && is_inlined(r, &items[n]))
        n++;
    if (!first)
        return n;
    *physical = n;
    return n < count && r->lines.data[items[n].line].address == address ? n + 1 : n;
}

static int group_lines(ps_reader *r, const ps_item *items, size_t count, size_t physical) {
    r->location_lines.count = 0;
    size_t from = physical == 0 && count > 1 ? 1 : 0, to = physical == 0 ? count : physical;
    if (count > 1 && physical == 0 &&
        is_tail(profconv_builder_get_string(r->builder, r->lines.data[items[0].line].name),
                profconv_builder_get_string(r->builder, r->lines.data[items[count - 1].line].name)))
        to--;
    if (count == 1)
        to = physical == 0 ? 0 : 1;
    for (size_t i = from; i < to; i++) {
        profconv_line row = line_row(r, &items[i]);
        if (row.function && PFC_VEC_PUSH(&r->mem, &r->location_lines, row))
            return ps_failed(r);
    }
    if (physical < count) {
        profconv_line row = line_row(r, &items[physical]);
        if (row.function && PFC_VEC_PUSH(&r->mem, &r->location_lines, row))
            return ps_failed(r);
    }
    return 0;
}

static uint64_t group_hash(const void *user, uint32_t row) { return ((const ps_reader *)user)->groups.data[row].hash; }

static int group_find(ps_reader *r, const ps_item *items, size_t count, uint32_t *row) {
    uint64_t hash = pfc_hash_bytes_keyed(r->mem.key, items, count * sizeof *items);
    pfc_probe probe = pfc_index_start(&r->group_index, hash);
    while ((*row = pfc_index_next(&r->group_index, &probe)) != 0) {
        const ps_group *g = &r->groups.data[*row];
        if (g->hash == hash && g->count == count &&
            memcmp(r->group_items.data + g->first, items, count * sizeof *items) == 0)
            return 0;
    }
    ps_group fresh = {hash, (uint32_t)r->group_items.count, (uint32_t)count, 0, {0, 0}};
    if (r->group_items.count > UINT32_MAX - count ||
        PFC_VEC_RESERVE(&r->mem, &r->group_items, r->group_items.count + count))
        return ps_failed(r);
    memcpy(r->group_items.data + r->group_items.count, items, count * sizeof *items);
    r->group_items.count += count;
    if (PFC_VEC_PUSH(&r->mem, &r->groups, fresh))
        return ps_failed(r);
    *row = (uint32_t)r->groups.count - 1;
    return pfc_index_insert(&r->mem, &r->group_index, hash, *row, group_hash, r) ? ps_failed(r) : 0;
}

static profconv_id grouped(ps_reader *r, const ps_item *items, size_t count, size_t physical, uint32_t process,
                           int caller) {
    uint32_t row, serial = r->processes.data[process].serial;
    if (group_find(r, items, count, &row))
        return 0;
    ps_group *g = &r->groups.data[row];
    if (g->serial != serial)
        g->location[0] = g->location[1] = 0;
    g->serial = serial;
    if (g->location[caller])
        return g->location[caller];
    where w;
    profconv_location location;
    find_where(r, &r->lines.data[items[physical < count ? physical : 0].line], process, 0, &w);
    if (group_lines(r, items, count, physical))
        return 0;
    set_location(&w, caller, r->location_lines.count > 0, &location);
    return g->location[caller] = profconv_builder_location(r->builder, &location, r->location_lines.data,
                                                           (uint32_t)r->location_lines.count);
}

/* ---- stacks ---- */

/* The sample's locations, leaf first. */
static int collect(ps_reader *r, uint32_t process, int one_line) {
    const ps_item *items = r->items.data;
    size_t count = r->items.count, most = r->selection.max_stack ? r->selection.max_stack : SIZE_MAX;
    int kernel_before = 0, removed = 0;
    r->locations.count = 0;
    if (PFC_VEC_RESERVE(&r->mem, &r->locations, count))
        return ps_failed(r);
    for (size_t i = 0; i < count;) {
        const ps_line *line = &r->lines.data[items[i].line];
        int grouped_here = items[i].source || line->inlined ||
                           (i + 1 < count && is_inlined(r, &items[i + 1]) &&
                            r->lines.data[items[i + 1].line].address == line->address);
        size_t physical = 0, n = grouped_here ? group_size(r, items + i, count - i, &physical) : 1;
        int kernel = r->lines.data[items[i + (physical < n ? physical : 0)].line].kernel;
        if (kernel && !r->selection.kernel) {
            removed = 1;
            i += n;
            continue;
        }
        /* The first frame of user code below a kernel's is where it was interrupted. */
        int caller = i > 0 && !(kernel_before && !kernel);
        if (r->locations.count >= most) {
            r->counts.chain_cut++;
            break;
        }
        profconv_id id = grouped_here ? grouped(r, items + i, n, physical, process, caller)
                                      : single(r, items[i].line, process, caller, one_line);
        if (r->mem.failed)
            return ps_failed(r);
        r->locations.data[r->locations.count++] = id;
        kernel_before = kernel;
        i += n;
    }
    r->counts.kernel_removed += (uint64_t)removed;
    return 0;
}

static ps_prefix *prefix_of(ps_reader *r, int64_t tid) {
    ps_prefix *p = &r->prefixes[pfc_hash_mix((uint64_t)tid, 3) % PS_PREFIXES];
    if (p->tid != tid)
        p->rows.count = 0;
    p->tid = tid;
    return p;
}

static profconv_id build(ps_reader *r) {
    const profconv_id *locations = r->locations.data;
    size_t n = r->locations.count;
    if (n > profconv_builder_limits(r->builder)->max_depth)
        return profconv_builder_stack_leaf_first(r->builder, locations, n);
    ps_prefix *p = prefix_of(r, r->header.tid);
    size_t same = 0, limit = p->rows.count < n ? p->rows.count : n;
    while (same < limit && (profconv_id)p->rows.data[same] == locations[n - 1 - same])
        same++;
    profconv_id stack = same ? (profconv_id)(p->rows.data[same - 1] >> 32) : 0;
    if (PFC_VEC_RESERVE(&r->mem, &p->rows, n))
        return 0;
    for (size_t i = same; i < n; i++) {
        profconv_id location = locations[n - 1 - i];
        stack = profconv_builder_stack(r->builder, stack, location);
        p->rows.data[i] = (uint64_t)stack << 32 | location;
    }
    p->rows.count = n;
    return stack;
}

/* Where the sample was taken, by its address alone: in recordings with branch records. */
static void count_address(ps_reader *r, uint32_t process, int one_line) {
    where w;
    if (r->items.count)
        find_where(r, &r->lines.data[r->items.data[0].line], process, one_line, &w);
    if (r->items.count == 0 || !w.mapping || !w.address)
        return;
    profconv_id location = profconv_builder_address_location(r->builder, w.mapping, w.address, 0);
    profconv_builder_address(r->builder, location, r->repeat ? r->repeat : 1);
}

profconv_id ps_stack(ps_reader *r, uint32_t process, int one_line) {
    if (r->branch_recording && r->selection.branches)
        count_address(r, process, one_line);
    if (r->items.count == 0 || collect(r, process, one_line))
        return 0;
    const ps_line *leaf = &r->lines.data[r->items.data[0].line];
    if (leaf->dso != PS_NONE)
        r->dsos.data[leaf->dso].samples++;
    else if (leaf->has_dso)
        r->counts.unmapped++;
    return build(r);
}
