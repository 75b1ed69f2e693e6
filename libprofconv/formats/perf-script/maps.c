/* SPDX-License-Identifier: MIT
 *
 * The record lines of `perf script --show-mmap-events --show-task-events`: which process maps which file where, forks
 * and names; and from run-time addresses to places in images.
 */
#include "libprofconv/formats/perf-script/ps.h"

#define MAPS_MOST 65536u         /* of a process: the kernel allows 65530 */
#define MAP_ROWS_MOST (4u << 20) /* of all processes */

/* ---- maps ---- */

/* The first map that ends behind the address. */
static size_t lower_bound(const ps_map *rows, size_t count, uint64_t address) {
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (rows[middle].end <= address)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static const ps_map *find(const ps_map *rows, size_t count, uint64_t address) {
    size_t at = lower_bound(rows, count, address);
    return at < count && rows[at].start <= address ? &rows[at] : NULL;
}

/* A new map cuts those that it covers. */
static int insert(pfc_mem *mem, ps_maps *maps, const ps_map *map) {
    if (PFC_VEC_RESERVE(mem, &maps->rows, maps->rows.count + 2))
        return mem->failed;
    ps_map *rows = maps->rows.data;
    size_t at = lower_bound(rows, maps->rows.count, map->start);
    size_t last = at;
    ps_map head = {0, 0, 0, 0}, tail = {0, 0, 0, 0};
    for (; last < maps->rows.count && rows[last].start < map->end; last++) {
        if (rows[last].start < map->start) {
            head = rows[last];
            head.end = map->start;
        }
        if (rows[last].end > map->end) {
            tail = rows[last];
            tail.value += map->end - tail.start;
            tail.start = map->end;
        }
    }
    size_t fresh = 1u + (head.end > head.start) + (tail.end > tail.start);
    memmove(rows + at + fresh, rows + last, (maps->rows.count - last) * sizeof *rows);
    maps->rows.count = maps->rows.count - (last - at) + fresh;
    if (head.end > head.start)
        rows[at++] = head;
    rows[at++] = *map;
    if (tail.end > tail.start)
        rows[at] = tail;
    return 0;
}

static void release(ps_reader *r, uint32_t maps) {
    if (maps != PS_NONE && --r->maps.data[maps].users == 0) {
        r->map_rows -= r->maps.data[maps].rows.count;
        PFC_VEC_FREE(&r->mem, &r->maps.data[maps].rows);
    }
}

/* Maps that only this process has. PS_NONE: no memory. */
static uint32_t own_maps(ps_reader *r, uint32_t process) {
    uint32_t old = r->processes.data[process].maps;
    if (old != PS_NONE && r->maps.data[old].users == 1)
        return old;
    ps_maps fresh;
    memset(&fresh, 0, sizeof fresh);
    fresh.users = 1;
    if (old != PS_NONE) {
        const ps_maps *from = &r->maps.data[old];
        if (from->rows.count && PFC_VEC_RESERVE(&r->mem, &fresh.rows, from->rows.count))
            return PS_NONE;
        if (from->rows.count)
            memcpy(fresh.rows.data, from->rows.data, from->rows.count * sizeof *from->rows.data);
        fresh.rows.count = from->rows.count;
        r->map_rows += fresh.rows.count;
    }
    if (PFC_VEC_PUSH(&r->mem, &r->maps, fresh)) {
        PFC_VEC_FREE(&r->mem, &fresh.rows);
        return PS_NONE;
    }
    release(r, old);
    return r->processes.data[process].maps = (uint32_t)r->maps.count - 1;
}

static int add_map(ps_reader *r, uint32_t process, const ps_map *map) {
    uint32_t maps = own_maps(r, process);
    if (maps == PS_NONE)
        return ps_failed(r);
    size_t before = r->maps.data[maps].rows.count;
    if (before >= MAPS_MOST || r->map_rows >= MAP_ROWS_MOST) {
        r->counts.maps_ignored++;
        return 0;
    }
    r->processes.data[process].serial = ++r->next_serial;
    if (insert(&r->mem, &r->maps.data[maps], map))
        return ps_failed(r);
    r->map_rows += r->maps.data[maps].rows.count - before;
    return 0;
}

/* ---- processes and threads ---- */

static uint64_t process_hash(const void *user, uint32_t row) {
    return pfc_hash_mix((uint64_t)((const ps_reader *)user)->processes.data[row - 1].pid, 1);
}
static uint64_t thread_hash(const void *user, uint32_t row) {
    return pfc_hash_mix((uint64_t)((const ps_reader *)user)->threads.data[row - 1].tid, 2);
}

static uint32_t add_process(ps_reader *r, int64_t pid) {
    ps_process p = {pid, PS_NONE, ++r->next_serial};
    if (PFC_VEC_PUSH(&r->mem, &r->processes, p) ||
        pfc_index_insert(&r->mem, &r->process_index, pfc_hash_mix((uint64_t)pid, 1), (uint32_t)r->processes.count,
                         process_hash, r))
        return PS_NONE;
    return (uint32_t)r->processes.count - 1;
}

uint32_t ps_process_get(ps_reader *r, int64_t pid) {
    if (pid == -1)
        return 0;
    pfc_probe probe = pfc_index_start(&r->process_index, pfc_hash_mix((uint64_t)pid, 1));
    for (uint32_t row; (row = pfc_index_next(&r->process_index, &probe)) != 0;)
        if (r->processes.data[row - 1].pid == pid)
            return row - 1;
    return add_process(r, pid);
}

ps_thread *ps_thread_get(ps_reader *r, int64_t tid) {
    uint64_t hash = pfc_hash_mix((uint64_t)tid, 2);
    pfc_probe probe = pfc_index_start(&r->thread_index, hash);
    for (uint32_t row; (row = pfc_index_next(&r->thread_index, &probe)) != 0;)
        if (r->threads.data[row - 1].tid == tid)
            return &r->threads.data[row - 1];
    ps_thread t = {tid, -1, 0, 0, 0};
    if (PFC_VEC_PUSH(&r->mem, &r->threads, t) ||
        pfc_index_insert(&r->mem, &r->thread_index, hash, (uint32_t)r->threads.count, thread_hash, r))
        return NULL;
    return &r->threads.data[r->threads.count - 1];
}

int ps_maps_init(ps_reader *r) {
    r->place_bits = PS_PLACE_BITS_FIRST;
    r->places = (ps_place *)pfc_alloc_zero(&r->mem, sizeof *r->places << r->place_bits);
    return r->places && add_process(r, -1) == 0 ? 0 : ps_failed(r);
}

void ps_maps_free(ps_reader *r) {
    for (size_t i = 0; i < r->maps.count; i++)
        PFC_VEC_FREE(&r->mem, &r->maps.data[i].rows);
    PFC_VEC_FREE(&r->mem, &r->maps);
    PFC_VEC_FREE(&r->mem, &r->processes);
    PFC_VEC_FREE(&r->mem, &r->threads);
    pfc_index_free(&r->mem, &r->process_index);
    pfc_index_free(&r->mem, &r->thread_index);
    PFC_VEC_FREE(&r->mem, &r->dsos);
    pfc_index_free(&r->mem, &r->dso_index);
    PFC_VEC_FREE(&r->mem, &r->kernel_maps.rows);
    pfc_free(&r->mem, r->places, r->places ? sizeof *r->places << r->place_bits : 0);
}

/* ---- record lines ---- */

static const char *parse_ids(const char *p, const char *end, char between, int64_t *a, int64_t *b) {
    p = pfc_parse_i64(p, end, a);
    return p && p < end && *p == between ? pfc_parse_i64(p + 1, end, b) : NULL;
}

static const char *parse_number(const char *p, const char *end, uint64_t *value) {
    if (end - p > 2 && p[0] == '0' && p[1] == 'x')
        return pfc_parse_hex(p + 2, end, value);
    return pfc_parse_hex(p, end, value);
}

typedef struct map_line {
    int64_t pid;
    uint64_t start, size, offset;
    int exec;
    ps_text name, build_id;
} map_line;

/* " PID/TID: [0xSTART(0xSIZE) @ OFFSET [maj:min ino gen]]: r-xp NAME", or "<BUILD-ID>" in place of the numbers. */
static int parse_map(ps_text t, map_line *m) {
    const char *end = t.data + t.size, *p = t.data;
    int64_t tid;
    memset(m, 0, sizeof *m);
    while (p < end && ps_is_blank(*p))
        p++;
    p = parse_ids(p, end, '/', &m->pid, &tid);
    if (!p || end - p < 3 || memcmp(p, ": [", 3) != 0 || !(p = parse_number(p + 3, end, &m->start)) || p == end ||
        *p != '(' || !(p = parse_number(p + 1, end, &m->size)) || end - p < 4 || memcmp(p, ") @ ", 4) != 0 ||
        !(p = parse_number(p + 4, end, &m->offset)))
        return 0;
    const char *close = p;
    while (close < end && *close != ']')
        close++;
    const char *id = (const char *)memchr(p, '<', (size_t)(close - p));
    const char *id_end = id ? (const char *)memchr(id, '>', (size_t)(close - id)) : NULL;
    if (id_end) {
        m->build_id.data = id + 1;
        m->build_id.size = (size_t)(id_end - id - 1);
    }
    if (end - close < 3 || close[1] != ':' || close[2] != ' ')
        return 0;
    p = close + 3;
    const char *flags = p;
    while (p < end && !ps_is_blank(*p))
        p++;
    m->exec = memchr(flags, 'x', (size_t)(p - flags)) != NULL;
    m->name.data = p < end ? p + 1 : end;
    m->name.size = (size_t)(end - m->name.data);
    return 1;
}

static int kernel_map(ps_reader *r, const map_line *m) {
    ps_dso key;
    memset(&key, 0, sizeof key);
    key.kind = ps_dso_kind(m->name);
    ps_text name = m->name;
    uint64_t start = m->start, end = pfc_add_sat(m->start, m->size);
    if (key.kind == PROFCONV_MAPPING_GUEST)
        return 0;
    if (key.kind == PROFCONV_MAPPING_KERNEL) {
        if (start < m->offset && m->offset < end) /* old recorders let it begin at 0 */
            start = m->offset;
        if (start == 0 && m->offset == 0) /* addresses were hidden from the recorder */
            end = UINT64_MAX;
        if (ps_text_starts(name, "[kernel.kallsyms]")) {
            key.reference = profconv_builder_string(r->builder, name.data + 17, name.size - 17);
            key.reference_address = key.reference ? m->offset : 0;
            name.size = 17;
        }
    } else
        key.kind = PROFCONV_MAPPING_MODULE;
    key.file = profconv_builder_string(r->builder, name.data, name.size);
    key.build_id = profconv_builder_string(r->builder, m->build_id.data, m->build_id.size);
    key.bias = start;
    ps_map map = {start, end, start, ps_dso_get(r, &key, start, end)};
    if (map.dso == PS_NONE)
        return ps_failed(r);
    if (r->kernel_maps.rows.count >= MAPS_MOST || start >= end)
        return 0;
    memset(r->places, 0, sizeof *r->places << r->place_bits);
    return insert(&r->mem, &r->kernel_maps, &map) ? ps_failed(r) : 0;
}

static int on_map(ps_reader *r, ps_text t) {
    map_line m;
    if (!parse_map(t, &m)) {
        r->counts.bad_records++;
        return 0;
    }
    unsigned kind = ps_dso_kind(m.name);
    if (m.pid == -1 || kind == PROFCONV_MAPPING_KERNEL)
        return kernel_map(r, &m);
    if (m.size == 0 || m.start + m.size < m.start || kind == PROFCONV_MAPPING_GUEST) {
        r->counts.bad_records += kind != PROFCONV_MAPPING_GUEST;
        return 0;
    }
    uint32_t process = ps_process_get(r, m.pid);
    uint32_t dso = ps_dso_named(r, m.name, m.pid > 0 && m.pid <= UINT32_MAX ? (uint32_t)m.pid : 0);
    if (process == PS_NONE || dso == PS_NONE)
        return ps_failed(r);
    ps_dso *d = &r->dsos.data[dso];
    ps_map map = {m.start, m.start + m.size, m.offset, dso};
    if (d->kind == PROFCONV_MAPPING_VDSO)
        map.value = 0;
    else if (d->kind == PROFCONV_MAPPING_JIT)
        map.value = m.start;
    else if (m.build_id.size && !d->build_id)
        d->build_id = profconv_builder_string(r->builder, m.build_id.data, m.build_id.size);
    if (m.exec) {
        d->low = map.value < d->low ? map.value : d->low;
        uint64_t high = pfc_add_sat(map.value, m.size);
        d->high = high > d->high ? high : d->high;
    }
    r->have_user_maps = 1;
    /* Samples without a pid: whatever maps last. */
    int status = add_map(r, process, &map);
    return status || process == 0 ? status : add_map(r, 0, &map);
}

/* ": NAME:PID/TID", with "exec" before the colon when a program began. */
static int on_comm(ps_reader *r, ps_text t) {
    const char *colon = ps_text_find(t, ": ");
    int exec = colon && ps_text_find(t, "exec") == t.data + 1;
    size_t at = t.size;
    while (at > 0 && t.data[at - 1] != ':')
        at--;
    int64_t pid, tid;
    const char *end = t.data + t.size;
    if (!colon || at < 2 || t.data + at - 1 <= colon + 1 || parse_ids(t.data + at, end, '/', &pid, &tid) != end) {
        r->counts.bad_records++;
        return 0;
    }
    ps_thread *thread = ps_thread_get(r, tid);
    uint32_t process = ps_process_get(r, pid);
    if (!thread || process == PS_NONE)
        return ps_failed(r);
    thread->pid = pid;
    thread->comm = profconv_builder_string(r->builder, colon + 2, (size_t)(t.data + at - 1 - (colon + 2)));
    if (exec && process > 0) {
        release(r, r->processes.data[process].maps);
        r->processes.data[process].maps = PS_NONE;
        r->processes.data[process].serial = ++r->next_serial;
    }
    return 0;
}

/* "(PID:TID):(PARENT:TID)" */
static int on_fork(ps_reader *r, ps_text t) {
    const char *end = t.data + t.size, *p = t.data;
    int64_t pid, tid, parent, parent_tid;
    if (p < end && *p == '(' && (p = parse_ids(p + 1, end, ':', &pid, &tid)) != NULL && end - p > 3 &&
        memcmp(p, "):(", 3) == 0 && parse_ids(p + 3, end, ':', &parent, &parent_tid)) {
        ps_thread *from = ps_thread_get(r, parent_tid);
        profconv_id comm = from ? from->comm : 0;
        ps_thread *thread = ps_thread_get(r, tid);
        uint32_t source = ps_process_get(r, parent), process = ps_process_get(r, pid);
        if (!from || !thread || source == PS_NONE || process == PS_NONE)
            return ps_failed(r);
        thread->pid = pid;
        thread->comm = comm;
        if (process != source && process > 0) {
            uint32_t maps = r->processes.data[source].maps;
            release(r, r->processes.data[process].maps);
            r->processes.data[process].maps = maps;
            r->processes.data[process].serial = ++r->next_serial;
            if (maps != PS_NONE)
                r->maps.data[maps].users++;
        }
        return 0;
    }
    r->counts.bad_records++;
    return 0;
}

int ps_record(ps_reader *r, ps_text t) {
    static const char map2[] = "PERF_RECORD_MMAP2", map[] = "PERF_RECORD_MMAP", comm[] = "PERF_RECORD_COMM",
                      fork[] = "PERF_RECORD_FORK";
    size_t n = ps_text_starts(t, map2)   ? sizeof map2 - 1
               : ps_text_starts(t, map)  ? sizeof map - 1
               : ps_text_starts(t, comm) ? sizeof comm - 1
               : ps_text_starts(t, fork) ? sizeof fork - 1
                                         : 0;
    ps_text rest = {t.data + n, t.size - n};
    if (n == 0)
        return 0;
    return ps_text_starts(t, map) ? on_map(r, rest) : ps_text_starts(t, comm) ? on_comm(r, rest) : on_fork(r, rest);
}

/* ---- addresses ---- */

const ps_map *ps_map_find(ps_reader *r, uint32_t process, uint64_t address) {
    uint32_t maps = r->processes.data[process].maps;
    const ps_map *map = NULL;
    if (maps != PS_NONE)
        map = find(r->maps.data[maps].rows.data, r->maps.data[maps].rows.count, address);
    if (!map && address >> 63)
        map = find(r->kernel_maps.rows.data, r->kernel_maps.rows.count, address);
    return map;
}

/* Text without mmap events: low addresses are those of one binary, where it was linked to run. Libraries and binaries
 * that can run anywhere are far above. */
static const ps_map *only_binary(ps_reader *r, ps_map *map) {
    if (r->have_user_maps || r->kernel_maps.rows.count)
        return NULL;
    ps_dso key;
    memset(&key, 0, sizeof key);
    key.kind = PROFCONV_MAPPING_EXECUTABLE;
    key.file = r->default_file;
    map->start = r->default_base;
    map->end = UINT64_MAX;
    map->value = 0;
    map->dso = ps_dso_get(r, &key, 0, 0);
    return map->dso == PS_NONE ? NULL : map;
}

/* Bigger when there are many more misses than slots. Without memory for it the old one stays, and the reader ends with
 * that. */
static void grow_places(ps_reader *r) {
    unsigned bits = r->place_bits + 2;
    r->place_misses = 0;
    ps_place *places = bits > PS_PLACE_BITS_MOST ? NULL : (ps_place *)pfc_alloc_zero(&r->mem, sizeof *places << bits);
    if (!places)
        return;
    pfc_free(&r->mem, r->places, sizeof *r->places << r->place_bits);
    r->places = places;
    r->place_bits = bits;
}

static ps_place *cached(const ps_reader *r, uint32_t serial, uint64_t address) {
    uint64_t hash = (address ^ (uint64_t)serial << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return &r->places[hash >> (64 - r->place_bits)];
}

const ps_place *ps_locate(ps_reader *r, uint32_t process, uint64_t address) {
    uint32_t serial = r->processes.data[process].serial;
    ps_place *place = cached(r, serial, address);
    if (place->serial == serial && place->address == address)
        return place;
    if (++r->place_misses >> (r->place_bits + 1)) {
        grow_places(r);
        place = cached(r, serial, address);
    }
    ps_map only;
    const ps_map *map = ps_map_find(r, process, address);
    place->address = place->value = address;
    place->serial = serial;
    place->dso = PS_NONE;
    place->location = 0;
    if (!map && !(address >> 40))
        map = only_binary(r, &only);
    if (!map || address < map->start)
        return place;
    place->dso = map->dso;
    place->value = map->value + (address - map->start);
    ps_dso_extend(&r->dsos.data[map->dso], place->value);
    place->location = profconv_builder_address_location(r->builder, ps_dso_mapping(r, map->dso), place->value, 0);
    return place;
}
