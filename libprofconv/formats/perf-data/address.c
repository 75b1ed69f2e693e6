/* SPDX-License-Identifier: MIT
 *
 * From an address in a sample to a location: which address space the mode says, which map, and what to do where there is
 * none. Guest and hypervisor addresses never meet the host's maps.
 */
#include "libprofconv/formats/perf-data/pd.h"

static uint32_t guest_dso(pd_reader *r, unsigned mode) {
    static const char *const names[] = {"[guest.kernel.kallsyms]", "[guest]", "[hypervisor]"};
    unsigned which = mode == PD_MODE_GUEST_KERNEL ? 0 : mode == PD_MODE_GUEST_USER ? 1 : 2;
    if (r->guest_dso[which] == UINT32_MAX) {
        pd_dso key;
        memset(&key, 0, sizeof key);
        key.kind = PROFCONV_MAPPING_GUEST;
        key.file = profconv_builder_cstring(r->builder, names[which]);
        r->guest_dso[which] = pd_dso_get(r, &key, 0, 0);
    }
    return r->guest_dso[which];
}

/* Whether an address without a mode may be the kernel's: a hidden kernel map covers everything, user code included. */
static int may_be_kernel(const pd_reader *r, uint64_t address) {
    return address >> 63 || (r->kernel_start != 0 && address >= r->kernel_start);
}

static const pd_map *find_map(pd_reader *r, uint32_t process, unsigned mode, uint64_t address) {
    const pd_map *map = NULL;
    if (mode != PD_MODE_KERNEL)
        map = pd_maps_find(r->processes.data[process].maps, address);
    if (!map && (mode == PD_MODE_KERNEL || (mode != PD_MODE_USER && may_be_kernel(r, address))))
        map = pd_maps_find(r->kernel_maps, address);
    return map;
}

static void look_up(pd_reader *r, uint32_t process, unsigned mode, uint64_t address, pd_place *place) {
    if (mode == PD_MODE_HYPERVISOR || mode == PD_MODE_GUEST_KERNEL || mode == PD_MODE_GUEST_USER) {
        uint32_t flags = PROFCONV_LOCATION_GUEST;
        if (mode != PD_MODE_GUEST_USER)
            flags |= PROFCONV_LOCATION_KERNEL;
        place->dso = guest_dso(r, mode);
        place->value = address;
        place->location = place->dso == UINT32_MAX ? 0
                                                   : profconv_builder_address_location(
                                                         r->builder, pd_dso_mapping(r, place->dso), address, flags);
        return;
    }
    const pd_map *map = find_map(r, process, mode, address);
    if (!map) {
        place->dso = UINT32_MAX;
        place->value = address;
        place->location =
            mode == PD_MODE_NONE
                ? 0
                : profconv_builder_address_location(r->builder, 0, address,
                                                    mode == PD_MODE_KERNEL ? PROFCONV_LOCATION_KERNEL : 0);
        return;
    }
    place->dso = map->dso;
    place->value = map->value + (address - map->start);
    pd_dso *d = &r->dsos.data[map->dso];
    if (place->value < d->low) /* code in a map that is not marked executable */
        d->low = place->value;
    if (place->value >= d->high)
        d->high = pd_end_of(place->value, 1);
    if (map->flags >> PD_MAP_CODE_SHIFT)
        place->location = pd_jit_location(r, map, address);
    else
        place->location = profconv_builder_address_location(r->builder, pd_dso_mapping(r, map->dso), place->value, 0);
}

/* Bigger when most look-ups miss. Without memory for it the old one stays. */
static void grow_cache(pd_reader *r) {
    unsigned bits = r->cache_bits + 2;
    size_t old = sizeof *r->cache << r->cache_bits, size = sizeof *r->cache << bits;
    r->cache_misses = 0;
    if (bits > PD_CACHE_BITS_MOST || r->mem.limit / 64 < size)
        return;
    pd_cached *cache = (pd_cached *)pfc_alloc_zero(&r->mem, size);
    if (!cache)
        return;
    pfc_free(&r->mem, r->cache, old);
    r->cache = cache;
    r->cache_bits = bits;
}

static pd_cached *cached(const pd_reader *r, uint32_t serial, unsigned mode, uint64_t address) {
    uint64_t hash = (address ^ (uint64_t)serial << 40 ^ (uint64_t)mode << 60) * UINT64_C(0x9e3779b97f4a7c15);
    return &r->cache[hash >> (64 - r->cache_bits)];
}

static uint32_t serial_of(const pd_reader *r, uint32_t process, unsigned mode) {
    return mode == PD_MODE_KERNEL ? r->kernel_serial : r->processes.data[process].serial;
}

void pd_locate_soon(const pd_reader *r, uint32_t process, unsigned mode, uint64_t address) {
    PFC_PREFETCH(cached(r, serial_of(r, process, mode), mode, address));
}

const pd_place *pd_locate(pd_reader *r, uint32_t process, unsigned mode, uint64_t address) {
    if (r->cache_stale) {
        memset(r->cache, 0, sizeof *r->cache << r->cache_bits);
        r->cache_stale = 0;
    }
    uint32_t serial = serial_of(r, process, mode);
    pd_cached *c = cached(r, serial, mode, address);
    if (c->address == address && c->serial == serial && c->mode == mode)
        return &c->place;
    if (++r->cache_misses >> (r->cache_bits + 1)) {
        grow_cache(r);
        c = cached(r, serial, mode, address);
    }
    c->address = address;
    c->serial = serial;
    c->mode = mode;
    look_up(r, process, mode, address, &c->place);
    return &c->place;
}
