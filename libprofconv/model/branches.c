/* SPDX-License-Identifier: MIT
 *
 * What branch records add up to: edges, linear ranges, and sampled addresses; and the entries of the functions
 * they are in. Rows start at 0, index slots at 1.
 */
#include "libprofconv/model/build.h"

static int check_location(profconv_builder *b, const char *what, profconv_id id) {
    return id < b->model.locations.count ? PROFCONV_OK : pfc_builder_fail_id(b, what, id);
}

/* ---- edges ---- */

static uint64_t rehash_branch(const void *user, uint32_t slot) {
    const profconv_branch *row = &((const pfc_model *)user)->branches.data[slot - 1];
    return pfc_hash_mix(row->from, row->to);
}

static inline uint32_t find_branch(const profconv_builder *b, profconv_id from, profconv_id to, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.branches, hash);
    uint32_t slot;
    while ((slot = pfc_index_next(&b->index.branches, &probe)) != 0) {
        const profconv_branch *row = &b->model.branches.data[slot - 1];
        if (row->from == from && row->to == to)
            return slot;
    }
    return 0;
}

PFC_COLD static uint32_t add_branch(profconv_builder *b, profconv_id from, profconv_id to, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.branches, 0, m->branches.count)) {
        if (pfc_builder_fill(b, &b->index.branches, 1, m->branches.count + 1, rehash_branch))
            return 0;
        uint32_t known = find_branch(b, from, to, hash);
        if (known)
            return known;
    }
    if (check_location(b, "branch: from", from) || check_location(b, "branch: to", to) ||
        PFC_ROOM(b, &m->branches, "branch"))
        return 0;
    profconv_branch row = {0, 0, 0, from, to};
    m->branches.data[m->branches.count] = row;
    uint32_t slot = (uint32_t)m->branches.count + 1;
    if (pfc_builder_index(b, &b->index.branches, hash, slot, rehash_branch))
        return 0;
    m->branches.count++;
    return slot;
}

void profconv_builder_branch(profconv_builder *builder, profconv_id from, profconv_id to, uint64_t count,
                             uint64_t mispredicted, uint64_t cycles) {
    if (pfc_stopped(builder))
        return;
    uint64_t hash = pfc_hash_mix(from, to);
    uint32_t slot = find_branch(builder, from, to, hash);
    if (slot == 0 && (slot = add_branch(builder, from, to, hash)) == 0)
        return;
    profconv_branch *row = &builder->model.branches.data[slot - 1];
    pfc_builder_add(builder, &row->count, count);
    pfc_builder_add(builder, &row->mispredicted, mispredicted);
    pfc_builder_add(builder, &row->cycles, cycles);
}

/* ---- ranges ---- */

static uint64_t rehash_range(const void *user, uint32_t slot) {
    const profconv_range *row = &((const pfc_model *)user)->ranges.data[slot - 1];
    return pfc_hash_mix(row->begin, row->end);
}

static inline uint32_t find_range(const profconv_builder *b, profconv_id begin, profconv_id end, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.ranges, hash);
    uint32_t slot;
    while ((slot = pfc_index_next(&b->index.ranges, &probe)) != 0) {
        const profconv_range *row = &b->model.ranges.data[slot - 1];
        if (row->begin == begin && row->end == end)
            return slot;
    }
    return 0;
}

PFC_COLD static uint32_t add_range(profconv_builder *b, profconv_id begin, profconv_id end, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.ranges, 0, m->ranges.count)) {
        if (pfc_builder_fill(b, &b->index.ranges, 1, m->ranges.count + 1, rehash_range))
            return 0;
        uint32_t known = find_range(b, begin, end, hash);
        if (known)
            return known;
    }
    if (check_location(b, "range: begin", begin) || check_location(b, "range: end", end) ||
        PFC_ROOM(b, &m->ranges, "range"))
        return 0;
    profconv_range row = {0, begin, end};
    m->ranges.data[m->ranges.count] = row;
    uint32_t slot = (uint32_t)m->ranges.count + 1;
    if (pfc_builder_index(b, &b->index.ranges, hash, slot, rehash_range))
        return 0;
    m->ranges.count++;
    return slot;
}

void profconv_builder_range(profconv_builder *builder, profconv_id begin, profconv_id end, uint64_t count) {
    if (pfc_stopped(builder))
        return;
    uint64_t hash = pfc_hash_mix(begin, end);
    uint32_t slot = find_range(builder, begin, end, hash);
    if (slot == 0 && (slot = add_range(builder, begin, end, hash)) == 0)
        return;
    pfc_builder_add(builder, &builder->model.ranges.data[slot - 1].count, count);
}

/* ---- addresses ---- */

static inline uint64_t hash_address(profconv_id location) { return pfc_hash_mix(location, 0); }

static uint64_t rehash_address(const void *user, uint32_t slot) {
    return hash_address(((const pfc_model *)user)->addresses.data[slot - 1].location);
}

static inline uint32_t find_address(const profconv_builder *b, profconv_id location, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.addresses, hash);
    uint32_t slot;
    while ((slot = pfc_index_next(&b->index.addresses, &probe)) != 0)
        if (b->model.addresses.data[slot - 1].location == location)
            return slot;
    return 0;
}

PFC_COLD static uint32_t add_address(profconv_builder *b, profconv_id location, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.addresses, 0, m->addresses.count)) {
        if (pfc_builder_fill(b, &b->index.addresses, 1, m->addresses.count + 1, rehash_address))
            return 0;
        uint32_t known = find_address(b, location, hash);
        if (known)
            return known;
    }
    if (check_location(b, "address: location", location) || PFC_ROOM(b, &m->addresses, "address"))
        return 0;
    profconv_address row = {0, location, 0};
    m->addresses.data[m->addresses.count] = row;
    uint32_t slot = (uint32_t)m->addresses.count + 1;
    if (pfc_builder_index(b, &b->index.addresses, hash, slot, rehash_address))
        return 0;
    m->addresses.count++;
    return slot;
}

void profconv_builder_address(profconv_builder *builder, profconv_id location, uint64_t count) {
    if (pfc_stopped(builder))
        return;
    uint64_t hash = hash_address(location);
    uint32_t slot = find_address(builder, location, hash);
    if (slot == 0 && (slot = add_address(builder, location, hash)) == 0)
        return;
    pfc_builder_add(builder, &builder->model.addresses.data[slot - 1].count, count);
}

/* ---- entries ---- */

static inline uint64_t hash_entry(uint64_t secret, const profconv_entry *row) {
    return pfc_hash_keyed(secret, row->address, pfc_pair(row->mapping, row->name));
}

static uint64_t rehash_entry(const void *user, uint32_t slot) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_entry(m->mem.key, &m->entries.data[slot - 1]);
}

static int has_entry(const profconv_builder *b, const profconv_entry *wanted, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.entries, hash);
    uint32_t slot;
    while ((slot = pfc_index_next(&b->index.entries, &probe)) != 0) {
        const profconv_entry *row = &b->model.entries.data[slot - 1];
        if (row->address == wanted->address && row->mapping == wanted->mapping && row->name == wanted->name)
            return 1;
    }
    return 0;
}

void profconv_builder_entry(profconv_builder *builder, const profconv_entry *row) {
    pfc_model *m = &builder->model;
    uint64_t hash = hash_entry(m->mem.key, row);
    if (pfc_stopped(builder) || has_entry(builder, row, hash))
        return;
    if (pfc_index_pending(&builder->index.entries, 0, m->entries.count) &&
        (pfc_builder_fill(builder, &builder->index.entries, 1, m->entries.count + 1, rehash_entry) ||
         has_entry(builder, row, hash)))
        return;
    if (row->mapping >= m->mappings.count) {
        pfc_builder_fail_id(builder, "entry: mapping", row->mapping);
        return;
    }
    if (!pfc_is_string(builder, row->name)) {
        pfc_builder_fail_id(builder, "entry: name", row->name);
        return;
    }
    if (PFC_ROOM(builder, &m->entries, "entry"))
        return;
    m->entries.data[m->entries.count] = *row;
    m->entries.data[m->entries.count].reserved = 0;
    if (pfc_builder_index(builder, &builder->index.entries, hash, (uint32_t)m->entries.count + 1, rehash_entry) == 0)
        m->entries.count++;
}
