/* SPDX-License-Identifier: MIT
 *
 * Images by the names that perf prints, and their rows in the profile: addresses are file offsets for files, and
 * run-time addresses for the kernel, its modules and code made at run time.
 */
#include "libprofconv/formats/perf-script/ps.h"

static profconv_string plain(ps_text t) {
    profconv_string s = {t.data, t.size};
    return s;
}

static ps_text base_name(ps_text name) {
    profconv_string base = pfc_image_base(plain(name));
    ps_text text = {base.data, base.size};
    return text;
}

static ps_text without_deleted(ps_text name) {
    if (ps_text_ends(name, " (deleted)"))
        name.size -= 10;
    return name;
}

/* Memory in which code was made: as the kernel calls it, and as perf and its kin do. */
static int is_memory(ps_text s) {
    static const char *const heads[] = {"memfd:", "[anon", "[heap]", "[stack", "[JIT ", "[anon_shmem:", "jit cache"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (ps_text_starts(s, heads[i]))
            return 1;
    return pfc_image_is_memory(plain(s)) || (ps_text_starts(s, "/tmp/perf-") && ps_text_ends(s, ".map"));
}

static int is_module(ps_text s) {
    ps_text base = base_name(s);
    return ps_text_ends(base, ".ko") || ps_text_ends(base, ".ko.xz") || ps_text_ends(base, ".ko.gz") ||
           ps_text_ends(base, ".ko.zst") || ps_text_starts(s, "bpf_prog_") || ps_text_starts(s, "bpf_trampoline_") ||
           ps_text_starts(s, "bpf_dispatcher_") || (ps_text_starts(s, "[") && ps_text_ends(s, "]"));
}

static int is_library(ps_text s) {
    ps_text base = base_name(s);
    for (size_t i = 0; i + 3 <= base.size; i++) {
        char after = i + 3 < base.size ? base.data[i + 3] : '.';
        if (memcmp(base.data + i, ".so", 3) == 0 && (after == '.' || after == ' '))
            return 1;
    }
    return base.data == s.data; /* not a path */
}

unsigned ps_dso_kind(ps_text name) {
    name = without_deleted(name);
    if (ps_text_starts(name, "[guest") || ps_text_starts(name, "[hypervisor"))
        return PROFCONV_MAPPING_GUEST;
    if (ps_text_starts(name, "[kernel.") || ps_text_starts(base_name(name), "vmlinux"))
        return PROFCONV_MAPPING_KERNEL;
    if (pfc_image_is_vdso(plain(name)))
        return PROFCONV_MAPPING_VDSO;
    if (is_memory(name))
        return PROFCONV_MAPPING_JIT;
    if (is_module(name))
        return PROFCONV_MAPPING_MODULE;
    return is_library(name) ? PROFCONV_MAPPING_LIBRARY : PROFCONV_MAPPING_EXECUTABLE;
}

static uint64_t hash_of(const ps_dso *d) { return pfc_hash_mix(d->file, (uint64_t)d->kind << 32 | d->pid); }
static uint64_t row_hash(const void *user, uint32_t row) {
    return hash_of(&((const ps_reader *)user)->dsos.data[row - 1]);
}

uint32_t ps_dso_get(ps_reader *r, const ps_dso *key, uint64_t low, uint64_t high) {
    uint64_t hash = hash_of(key);
    pfc_probe probe = pfc_index_start(&r->dso_index, hash);
    for (uint32_t row; (row = pfc_index_next(&r->dso_index, &probe)) != 0;) {
        ps_dso *d = &r->dsos.data[row - 1];
        if (d->file != key->file || d->kind != key->kind || d->pid != key->pid)
            continue;
        if (key->build_id && !d->build_id)
            d->build_id = key->build_id;
        if (key->bias && !d->bias) {
            d->bias = key->bias;
            d->reference = key->reference;
            d->reference_address = key->reference_address;
        }
        pfc_image_widen(d, low, high);
        return row - 1;
    }
    ps_dso d = pfc_image_new(key, low, high);
    if (PFC_VEC_PUSH(&r->mem, &r->dsos, d) ||
        pfc_index_insert(&r->mem, &r->dso_index, hash, (uint32_t)r->dsos.count, row_hash, r))
        return PS_NONE;
    return (uint32_t)r->dsos.count - 1;
}

static uint32_t look_up(ps_reader *r, ps_text name, uint32_t pid) {
    ps_dso key;
    memset(&key, 0, sizeof key);
    key.kind = ps_dso_kind(name);
    if (key.kind == PROFCONV_MAPPING_KERNEL && ps_text_starts(name, "[kernel.kallsyms]"))
        name.size = 17;
    key.file = profconv_builder_string(r->builder, name.data, name.size);
    if (key.kind == PROFCONV_MAPPING_JIT) {
        uint64_t number;
        key.pid = pid;
        if (ps_text_starts(name, "/tmp/perf-") && pfc_parse_u64(name.data + 10, name.data + name.size, &number) &&
            number <= UINT32_MAX)
            key.pid = (uint32_t)number;
    }
    return ps_dso_get(r, &key, 0, 0);
}

uint32_t ps_dso_named(ps_reader *r, ps_text name, uint32_t pid) {
    if (pid || name.size == 0)
        return look_up(r, name, pid);
    /* Frames name the same few files again and again. */
    uint32_t *slot = &r->named[(name.size ^ (unsigned char)name.data[name.size / 2]) % PS_NAMED];
    if (*slot) {
        profconv_string file = profconv_builder_get_string(r->builder, r->dsos.data[*slot - 1].file);
        if (file.size == name.size && memcmp(file.data, name.data, file.size) == 0)
            return *slot - 1;
    }
    uint32_t row = look_up(r, name, 0);
    *slot = row == PS_NONE ? 0 : row + 1;
    return row;
}

static void make_row(const ps_dso *d, profconv_mapping *row) {
    pfc_image_row(d, row);
    /* Without a record of where it was loaded no address in its file follows from these. */
    if ((d->kind == PROFCONV_MAPPING_KERNEL || d->kind == PROFCONV_MAPPING_MODULE) && !d->bias)
        row->limit = 0;
}

profconv_id ps_dso_mapping(ps_reader *r, uint32_t dso) {
    ps_dso *d = &r->dsos.data[dso];
    if (d->mapping == 0) {
        profconv_mapping row;
        make_row(d, &row);
        d->mapping = profconv_builder_mapping(r->builder, &row);
    }
    return d->mapping;
}

void ps_dso_extend(ps_dso *d, uint64_t address) {
    if (address < d->low)
        d->low = address;
    if (address >= d->high)
        d->high = pfc_add_sat(address, 1);
}

void ps_dsos_finish(ps_reader *r) {
    const ps_dso *main_dso = pfc_images_main(r->dsos.data, r->dsos.count);
    for (size_t i = 0; i < r->dsos.count; i++) {
        const ps_dso *d = &r->dsos.data[i];
        profconv_mapping row;
        if (!d->mapping)
            continue;
        make_row(d, &row);
        if (d == main_dso)
            row.flags |= PROFCONV_MAPPING_MAIN;
        profconv_builder_mapping_replace(r->builder, d->mapping, &row);
    }
}
