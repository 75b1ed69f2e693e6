/* SPDX-License-Identifier: MIT
 *
 * The string table: all bytes in one block, each string followed by a NUL, and rows that point into it.
 *
 * A row keeps 32 bits of the hash, and these alone place it in the index, so that growing the index never touches
 * the bytes.
 */
#include "libprofconv/model/build.h"

#include <string.h>

static inline uint64_t spread(uint32_t hash) { return hash * (uint64_t)0x9e3779b97f4a7c15u; }

static uint64_t rehash(const void *user, uint32_t row) {
    return spread(((const pfc_model *)user)->strings.data[row].hash);
}

static inline profconv_id find(const profconv_builder *b, const void *data, size_t size, uint32_t hash) {
    const pfc_model *m = &b->model;
    pfc_probe probe = pfc_index_start(&b->index.strings, spread(hash));
    uint32_t row;
    while ((row = pfc_index_next(&b->index.strings, &probe)) != 0) {
        const pfc_string_row *s = &m->strings.data[row];
        if (s->hash == hash && s->size == size && memcmp(m->bytes.data + s->offset, data, size) == 0)
            return row;
    }
    return 0;
}

/* Room for `size` bytes and a NUL. The bytes may be a part of a string that we hold, which then moves. */
static int make_room(profconv_builder *b, const char **data, size_t size) {
    pfc_model *m = &b->model;
    uintptr_t at = (uintptr_t)*data, base = (uintptr_t)m->bytes.data;
    int own = m->bytes.data && at >= base && at - base < m->bytes.count;
    if (size >= SIZE_MAX - m->bytes.count || PFC_VEC_RESERVE(&m->mem, &m->bytes, m->bytes.count + size + 1))
        return pfc_builder_fail_memory(b);
    if (own)
        *data = m->bytes.data + (at - base);
    return PROFCONV_OK;
}

PFC_COLD static profconv_id add(profconv_builder *b, const char *data, size_t size, uint32_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.strings, 1, m->strings.count)) {
        if (pfc_builder_fill(b, &b->index.strings, 1, m->strings.count, rehash))
            return 0;
        profconv_id known = find(b, data, size, hash);
        if (known)
            return known;
    }
    if (size > m->limits.max_string) {
        pfc_builder_fail(b, PROFCONV_E_LIMIT, "a string of %zu bytes; max_string is %lu", size,
                         (unsigned long)m->limits.max_string);
        return 0;
    }
    if (PFC_ROOM(b, &m->strings, "string") || make_room(b, &data, size))
        return 0;
    profconv_id id = (profconv_id)m->strings.count;
    pfc_string_row row = {m->bytes.count, (uint32_t)size, hash};
    memcpy(m->bytes.data + m->bytes.count, data, size);
    m->bytes.data[m->bytes.count + size] = '\0';
    m->strings.data[id] = row;
    if (pfc_builder_index(b, &b->index.strings, spread(hash), id, rehash))
        return 0;
    m->bytes.count += size + 1;
    m->strings.count++;
    return id;
}

profconv_id profconv_builder_string(profconv_builder *builder, const void *data, size_t size) {
    if (pfc_stopped(builder) || size == 0)
        return 0;
    if (!data) {
        pfc_builder_fail(builder, PROFCONV_E_INVALID, "a string of %zu bytes at NULL", size);
        return 0;
    }
    uint32_t hash = (uint32_t)pfc_hash_bytes_keyed(builder->model.mem.key, data, size);
    profconv_id id = find(builder, data, size, hash);
    return id ? id : add(builder, (const char *)data, size, hash);
}

profconv_id profconv_builder_cstring(profconv_builder *builder, const char *text) {
    return text ? profconv_builder_string(builder, text, strlen(text)) : 0;
}

profconv_string profconv_builder_get_string(const profconv_builder *builder, profconv_id id) {
    return pfc_model_string(&builder->model, id);
}
