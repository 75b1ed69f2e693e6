/* SPDX-License-Identifier: MIT
 *
 * MMAP, MMAP2 and KSYMBOL records: what kind of image a mapping shows, which process's maps it enters, which program is
 * the process's own, and text that was moved to huge pages before the recording began.
 */
#include "libprofconv/formats/perf-data/pd.h"

typedef struct map_record {
    uint32_t pid;
    uint64_t start, size, pgoff;
    profconv_string name;
    char build_id[41];
    int exec;
    int early; /* made by the recorder for what it found */
    unsigned misc;
    uint64_t offset;
} map_record;

static int contains(profconv_string s, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= s.size; i++)
        if (memcmp(s.data + i, text, n) == 0)
            return 1;
    return 0;
}

/* Memory of huge pages that can hold text moved out of a file. */
static int is_huge(profconv_string s) { return pfc_image_begins(s, "/anon_hugepage") || contains(pfc_image_base(s), ".buildid_"); }

/* Memory without a file that can be looked up: code in it was made at run time. */
static int is_anonymous(profconv_string s) { return (s.size && s.data[0] == '[') || pfc_image_is_memory(s); }

/* "jitted-PID-N.so" as `perf inject --jit` writes them. */
static int is_jitted(profconv_string s) {
    profconv_string base = pfc_image_base(s);
    return pfc_image_begins(base, "jitted-") && base.size > 10 && memcmp(base.data + base.size - 3, ".so", 3) == 0;
}

/* A file that can be the program of a process: no shared object, module, or archive of classes. */
static int can_be_program(profconv_string s) {
    profconv_string base = pfc_image_base(s);
    if (s.size == 0 || s.data[0] != '/' || base.size == 0 || contains(base, "classes.jsa"))
        return 0;
    for (size_t i = 0; i + 3 <= base.size; i++)
        if (memcmp(base.data + i, ".so", 3) == 0 || memcmp(base.data + i, ".ko", 3) == 0) {
            char after = i + 3 < base.size ? base.data[i + 3] : 0;
            if (after == 0 || after == '.' || after == ' ')
                return 0;
        }
    return 1;
}

static profconv_id intern(pd_reader *r, profconv_string s) { return profconv_builder_string(r->builder, s.data, s.size); }

static profconv_id intern_build_id(pd_reader *r, const map_record *m) {
    return m->build_id[0] ? profconv_builder_cstring(r->builder, m->build_id) : 0;
}

void pd_kernel_maps_changed(pd_reader *r) {
    r->kernel_serial = ++r->next_serial;
    r->cache_stale = 1;
}

static int kernel_image(pd_reader *r, const map_record *m) {
    pd_dso key;
    memset(&key, 0, sizeof key);
    uint64_t start = m->start, end = pd_end_of(m->start, m->size);
    if (!r->kernel_seen && start < m->pgoff && m->pgoff < end) /* old recorders let it begin at 0 */
        start = m->pgoff;
    if (start == 0 && m->pgoff == 0) /* addresses were hidden from the recorder */
        end = UINT64_MAX;
    r->kernel_seen = 1;
    key.kind = PROFCONV_MAPPING_KERNEL;
    key.file = profconv_builder_cstring(r->builder, "[kernel.kallsyms]");
    key.build_id = intern_build_id(r, m);
    key.bias = start;
    profconv_string reference = {m->name.data, 0};
    if (pfc_image_begins(m->name, "[kernel.kallsyms]") && m->name.size > 17) {
        reference.data = m->name.data + 17;
        reference.size = m->name.size - 17;
        key.reference = intern(r, reference);
        key.reference_address = m->pgoff;
    }
    uint32_t dso = pd_dso_get(r, &key, start, end);
    if (dso == UINT32_MAX)
        return pd_failed(r);
    r->kernel_dso = dso;
    r->kernel_start = r->dsos.data[dso].bias;
    pd_map map = {start, end, start, dso, PD_MAP_EXEC};
    pd_kernel_maps_changed(r);
    return pd_maps_insert(r, &r->kernel_maps, &map, 0);
}

static int kernel_map(pd_reader *r, const map_record *m) {
    profconv_string base = pfc_image_base(m->name);
    if (pfc_image_begins(m->name, "[kernel.") || pfc_image_begins(base, "vmlinux"))
        return kernel_image(r, m);
    if (m->size == 0 || pfc_image_begins(m->name, "[guest"))
        return 0;
    pd_dso key;
    memset(&key, 0, sizeof key);
    key.kind = PROFCONV_MAPPING_MODULE;
    key.file = intern(r, m->name);
    key.build_id = intern_build_id(r, m);
    key.bias = m->start;
    uint64_t end = pd_end_of(m->start, m->size);
    uint32_t dso = pd_dso_get(r, &key, m->start, end);
    if (dso == UINT32_MAX)
        return pd_failed(r);
    pd_map map = {m->start, end, m->start, dso, PD_MAP_EXEC};
    pd_kernel_maps_changed(r);
    return pd_maps_insert(r, &r->kernel_maps, &map, 0);
}

/* Huge-page text, when the file's map comes after it: the anonymous map that ends where this one begins is the file's too. */
static int claim_before(pd_reader *r, pd_process *p, const pd_map *map) {
    const pd_map *before = pd_maps_ending_at(p->maps, map->start);
    if (!before || (before->flags & (PD_MAP_ANON | PD_MAP_EARLY)) != (PD_MAP_ANON | PD_MAP_EARLY) ||
        !(before->flags & PD_MAP_EXEC) || before->end - before->start > map->value)
        return 0;
    pd_map fixed = *before;
    fixed.value = map->value - (before->end - before->start);
    fixed.dso = map->dso;
    fixed.flags = map->flags;
    pd_dso *d = &r->dsos.data[map->dso];
    if (fixed.value < d->low)
        d->low = fixed.value;
    return pd_maps_insert(r, &p->maps, &fixed, 0);
}

/* Huge-page text behind a map of the file: nonzero when `map` was made a part of that file. */
static int claim_after(const pd_reader *r, const pd_process *p, pd_map *map) {
    const pd_map *before = pd_maps_ending_at(p->maps, map->start);
    if (!before || (before->flags & (PD_MAP_ANON | PD_MAP_EXEC | PD_MAP_EARLY)) != (PD_MAP_EXEC | PD_MAP_EARLY) ||
        r->dsos.data[before->dso].kind != PROFCONV_MAPPING_LIBRARY)
        return 0;
    map->value = before->value + (before->end - before->start);
    map->dso = before->dso;
    map->flags = before->flags;
    return 1;
}

static void note_program(pd_reader *r, pd_process *p, const map_record *m, uint32_t dso) {
    uint64_t base = m->start - m->pgoff;
    int fixed = base == 0x400000 || base == 0x8048000;
    if (!m->exec || !can_be_program(m->name) || (p->main_rank != 0 && !fixed))
        return;
    p->main_dso = dso;
    p->main_rank = fixed ? 3 : 2;
    r->dsos.data[dso].main = 1;
}

static int user_map(pd_reader *r, const map_record *m) {
    if (m->name.size == 10 && pfc_image_begins(m->name, "[external]")) /* stands for anywhere outside, in files made from counts of branches */
        return 0;
    uint32_t row = pd_process_get(r, m->pid);
    if (row == UINT32_MAX)
        return pd_failed(r);
    int opened = pd_jit_mapped(r, row, m->name);
    if (opened)
        return opened;
    pd_process *p = &r->processes.data[row];
    pd_dso key;
    memset(&key, 0, sizeof key);
    key.file = intern(r, m->name);
    pd_map map = {m->start, m->start + m->size, m->pgoff, UINT32_MAX, m->exec ? PD_MAP_EXEC : 0};
    int jitted = is_jitted(m->name), anonymous = is_anonymous(m->name), vdso = pfc_image_is_vdso(m->name);
    if (m->early)
        map.flags |= PD_MAP_EARLY;
    if (vdso) {
        key.kind = PROFCONV_MAPPING_VDSO;
        key.build_id = intern_build_id(r, m);
        map.value = 0;
    } else if (anonymous || (m->early && is_huge(m->name))) {
        /* Absolute addresses: the recorded offset is the address in live records, 0 in synthesized ones, and an offset
         * into the memory file for memfd. */
        map.flags |= PD_MAP_ANON;
        map.value = m->start;
        if (m->exec && m->early && (is_huge(m->name) || pfc_image_begins(m->name, "//anon") || m->name.size == 0) &&
            claim_after(r, p, &map))
            map.flags &= ~(uint32_t)PD_MAP_ANON;
        key.kind = m->exec ? PROFCONV_MAPPING_JIT : PROFCONV_MAPPING_ANONYMOUS;
        key.pid = m->pid;
    } else {
        key.kind = PROFCONV_MAPPING_LIBRARY;
        key.build_id = intern_build_id(r, m);
        if (jitted)
            map.flags |= PD_MAP_JITTED | PD_MAP_EXEC;
    }
    if (map.dso == UINT32_MAX) {
        int extent = (map.flags & PD_MAP_EXEC) != 0;
        map.dso = pd_dso_get(r, &key, extent ? map.value : 0, extent ? pd_end_of(map.value, m->size) : 0);
        if (map.dso == UINT32_MAX)
            return pd_failed(r);
        if (key.kind == PROFCONV_MAPPING_LIBRARY)
            note_program(r, p, m, map.dso);
    } else if (r->dsos.data[map.dso].high < map.value + m->size)
        r->dsos.data[map.dso].high = map.value + m->size;
    const pd_map *old = pd_maps_find(p->maps, map.start);
    if (old && memcmp(old, &map, sizeof map) == 0) /* attaching lists the maps once for every thread */
        return 0;
    p->serial = ++r->next_serial;
    if (key.kind == PROFCONV_MAPPING_LIBRARY && m->early && m->exec) {
        int rc = claim_before(r, p, &map);
        if (rc)
            return rc;
    }
    return pd_maps_insert(r, &p->maps, &map, (map.flags & PD_MAP_ANON) != 0);
}

static int take_map(pd_reader *r, const map_record *m) {
    unsigned mode = m->misc & PD_CPUMODE_MASK;
    if (mode == PD_MODE_GUEST_KERNEL || mode == PD_MODE_GUEST_USER)
        return 0; /* addresses inside a virtual machine are never looked up */
    if (mode == PD_MODE_KERNEL || m->pid == UINT32_MAX)
        return kernel_map(r, m);
    if (m->size == 0 || m->start + m->size < m->start) {
        if (r->counts.bad_map++ == 0)
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "bad-mapping", 0, 0, m->offset, 0,
                                "offset 0x%llx: mapping at 0x%llx of %llu bytes ignored", (unsigned long long)m->offset,
                                (unsigned long long)m->start, (unsigned long long)m->size);
        return 0;
    }
    return user_map(r, m);
}

int pd_on_mmap(pd_reader *r, const uint8_t *data, size_t size, unsigned misc, uint64_t time, uint64_t offset) {
    pfc_cursor c = pfc_cursor_make(data, size, offset, r->big);
    map_record m;
    memset(&m, 0, sizeof m);
    pfc_skip(&c, 8);
    m.pid = pfc_u32(&c);
    pfc_skip(&c, 4);
    m.start = pfc_u64(&c);
    m.size = pfc_u64(&c);
    m.pgoff = pfc_u64(&c);
    m.name = pfc_cstring(&c);
    m.exec = !(misc & PD_MISC_MMAP_DATA);
    m.early = time == 0;
    m.misc = misc;
    m.offset = offset;
    if (c.failed) {
        r->counts.bad_record++;
        return 0;
    }
    return take_map(r, &m);
}

int pd_on_mmap2(pd_reader *r, const uint8_t *data, size_t size, unsigned misc, uint64_t time, uint64_t offset) {
    pfc_cursor c = pfc_cursor_make(data, size, offset, r->big);
    map_record m;
    memset(&m, 0, sizeof m);
    pfc_skip(&c, 8);
    m.pid = pfc_u32(&c);
    pfc_skip(&c, 4);
    m.start = pfc_u64(&c);
    m.size = pfc_u64(&c);
    m.pgoff = pfc_u64(&c);
    const uint8_t *identity = pfc_take(&c, 24);
    uint32_t prot = pfc_u32(&c);
    pfc_skip(&c, 4); /* flags */
    m.name = pfc_cstring(&c);
    if (c.failed) {
        r->counts.bad_record++;
        return 0;
    }
    if (misc & PD_MISC_MMAP_BUILD_ID) {
        if (identity[0] >= 1 && identity[0] <= 20)
            pd_build_id_hex(m.build_id, identity + 4, identity[0]);
        else if (identity[0] > 20)
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "bad-build-id", 1, 0, offset, 0,
                                "offset 0x%llx: MMAP2 with a build-id of %u bytes, at most 20 possible: ignored",
                                (unsigned long long)offset, identity[0]);
    }
    if (misc & PD_MISC_MAP_TIMEOUT)
        r->counts.map_timeout++;
    m.exec = (prot & 4) != 0;
    m.early = time == 0;
    m.misc = misc;
    m.offset = offset;
    return take_map(r, &m);
}

/* Code that the kernel made: BPF programs, trampolines. The symbol's name is all there is to know about it. */
int pd_on_ksymbol(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset) {
    pfc_cursor c = pfc_cursor_make(data, size, offset, r->big);
    pfc_skip(&c, 8);
    uint64_t start = pfc_u64(&c);
    uint32_t length = pfc_u32(&c);
    pfc_skip(&c, 2); /* type */
    unsigned flags = pfc_u16(&c);
    profconv_string name = pfc_cstring(&c);
    if (c.failed || length == 0) {
        r->counts.bad_record++;
        return 0;
    }
    uint64_t end = pd_end_of(start, length);
    pd_kernel_maps_changed(r);
    if (flags & 1)
        return pd_maps_remove(r, &r->kernel_maps, start, end);
    pd_dso key;
    memset(&key, 0, sizeof key);
    key.kind = PROFCONV_MAPPING_MODULE;
    key.file = intern(r, name);
    key.bias = start;
    uint32_t dso = pd_dso_get(r, &key, start, end);
    if (dso == UINT32_MAX)
        return pd_failed(r);
    pd_map map = {start, end, start, dso, PD_MAP_EXEC};
    return pd_maps_insert(r, &r->kernel_maps, &map, 0);
}
