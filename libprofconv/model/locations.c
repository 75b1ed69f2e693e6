/* SPDX-License-Identifier: MIT
 *
 * The location table and the lines its rows point to. Identity: mapping, address, flags and lines. What symbolization
 * found out later (PROFCONV_LOCATION_NO_SYMBOL, lines set afterwards) does not change a location's id.
 *
 * Addresses without lines are the fast path of recordings: their hash is two multiplications, and lines take
 * part in it only where there are any. Lines must take part then: sources without addresses have nothing else.
 */
#include "libprofconv/model/build.h"

#include <string.h>

#define IDENTITY_FLAGS (~(uint32_t)PROFCONV_LOCATION_NO_SYMBOL)

_Static_assert(sizeof(profconv_line) == 24, "lines are hashed and compared as bytes, so they have no padding");

static inline uint64_t hash_address(uint64_t secret, profconv_id mapping, uint64_t address, uint32_t flags) {
    return pfc_hash_keyed(secret, pfc_pair(mapping, flags & IDENTITY_FLAGS), address);
}

static inline uint64_t hash_lines(uint64_t secret, uint64_t hash, const profconv_line *lines, uint32_t count) {
    return count ? pfc_hash_mix(hash, pfc_hash_bytes_keyed(secret, lines, count * sizeof *lines)) : hash;
}

static uint64_t rehash(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    const profconv_location *l = &m->locations.data[row];
    return hash_lines(m->mem.key, hash_address(m->mem.key, l->mapping, l->address, l->flags),
                      m->lines.data + l->first_line, l->line_count);
}

static inline profconv_id find(const profconv_builder *b, const profconv_location *key, const profconv_line *lines,
                               uint64_t hash) {
    const pfc_model *m = &b->model;
    pfc_probe probe = pfc_index_start(&b->index.locations, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.locations, &probe)) != 0) {
        const profconv_location *row = &m->locations.data[id];
        if (row->address == key->address && row->mapping == key->mapping && row->line_count == key->line_count &&
            ((row->flags ^ key->flags) & IDENTITY_FLAGS) == 0 &&
            (key->line_count == 0 ||
             memcmp(m->lines.data + row->first_line, lines, key->line_count * sizeof *lines) == 0))
            return id;
    }
    return 0;
}

static int check_lines(profconv_builder *b, const profconv_line *lines, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (lines[i].function >= b->model.functions.count)
            return pfc_builder_fail_id(b, "line: function", lines[i].function);
    return PROFCONV_OK;
}

/* Room for a run of lines; 0 or the sticky status. The lines may be some that we hold, which then move. */
static int reserve_lines(profconv_builder *b, const profconv_line **lines, uint32_t count) {
    pfc_model *m = &b->model;
    uintptr_t at = (uintptr_t)*lines, base = (uintptr_t)m->lines.data;
    int own = at >= base && at - base < m->lines.count * sizeof **lines;
    if (count > PFC_MAX_ROWS - m->lines.count)
        return pfc_builder_fail_rows(b, "line");
    if (PFC_VEC_RESERVE(&m->mem, &m->lines, m->lines.count + count))
        return pfc_builder_fail_memory(b);
    if (own)
        *lines = m->lines.data + (at - base) / sizeof **lines;
    return PROFCONV_OK;
}

/* `key` has line_count set; first_line is given here. */
PFC_COLD static profconv_id add(profconv_builder *b, const profconv_location *key, const profconv_line *lines,
                                uint64_t hash) {
    pfc_model *m = &b->model;
    if (!b->append && pfc_index_pending(&b->index.locations, 1, m->locations.count)) {
        if (pfc_builder_fill_first(b, &b->index.locations, 1, m->locations.count, rehash))
            return 0;
        profconv_id known = find(b, key, lines, hash);
        if (known)
            return known;
    }
    if (key->mapping >= m->mappings.count) {
        pfc_builder_fail_id(b, "location: mapping", key->mapping);
        return 0;
    }
    if (check_lines(b, lines, key->line_count) || PFC_ROOM(b, &m->locations, "location") ||
        reserve_lines(b, &lines, key->line_count))
        return 0;
    profconv_id id = (profconv_id)m->locations.count;
    profconv_location *row = &m->locations.data[id];
    *row = *key;
    row->first_line = key->line_count ? (profconv_id)m->lines.count : 0;
    if (key->line_count)
        memcpy(m->lines.data + m->lines.count, lines, key->line_count * sizeof *lines);
    if (!b->append && pfc_builder_index(b, &b->index.locations, hash, id, rehash))
        return 0;
    m->lines.count += key->line_count;
    m->locations.count++;
    return id;
}

profconv_id profconv_builder_address_location(profconv_builder *builder, profconv_id mapping, uint64_t address,
                                              uint32_t flags) {
    if (pfc_stopped(builder))
        return 0;
    profconv_location key = {address, mapping, 0, 0, flags};
    uint64_t hash = hash_address(builder->model.mem.key, mapping, address, flags);
    profconv_id id = builder->append ? 0 : find(builder, &key, NULL, hash);
    return id ? id : add(builder, &key, NULL, hash);
}

profconv_id profconv_builder_location(profconv_builder *builder, const profconv_location *row,
                                      const profconv_line *lines, uint32_t line_count) {
    if (pfc_stopped(builder))
        return 0;
    profconv_location key = {row->address, row->mapping, 0, line_count, row->flags};
    uint64_t secret = builder->model.mem.key;
    uint64_t hash = hash_lines(secret, hash_address(secret, key.mapping, key.address, key.flags), lines, line_count);
    profconv_id id = builder->append ? 0 : find(builder, &key, lines, hash);
    return id ? id : add(builder, &key, lines, hash);
}

/* Lets an index that is in use find the location under its new lines; the old entry finds nothing any more. */
static void index_again(profconv_builder *b, profconv_id id) {
    pfc_index *index = &b->index.locations;
    if (index->count == 0 || b->append)
        return;
    uint64_t hash = rehash(&b->model, id);
    pfc_probe probe = pfc_index_start(index, hash);
    uint32_t row;
    while ((row = pfc_index_next(index, &probe)) != 0)
        if (row == id)
            return;
    pfc_builder_index(b, index, hash, id, rehash);
}

void pfc_builder_set_lines(profconv_builder *builder, profconv_id location, const profconv_line *lines,
                           uint32_t count) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return;
    if (location == 0 || location >= m->locations.count) {
        pfc_builder_fail_id(builder, "location", location);
        return;
    }
    profconv_location *row = &m->locations.data[location];
    if (row->line_count == count &&
        (count == 0 || memcmp(m->lines.data + row->first_line, lines, count * sizeof *lines) == 0))
        return;
    if (check_lines(builder, lines, count))
        return;
    if (count > row->line_count) { /* a shorter run takes the place of the old one */
        if (reserve_lines(builder, &lines, count))
            return;
        row->first_line = (profconv_id)m->lines.count;
        m->lines.count += count;
    }
    if (count)
        memmove(m->lines.data + row->first_line, lines, count * sizeof *lines);
    row->line_count = count;
    if (count == 0)
        row->first_line = 0;
    index_again(builder, location);
}

void pfc_builder_set_location_flags(profconv_builder *builder, profconv_id location, uint32_t flags) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return;
    if (location == 0 || location >= m->locations.count) {
        pfc_builder_fail_id(builder, "location", location);
        return;
    }
    uint32_t changed = m->locations.data[location].flags ^ flags;
    m->locations.data[location].flags = flags;
    if (changed & IDENTITY_FLAGS)
        index_again(builder, location);
}
