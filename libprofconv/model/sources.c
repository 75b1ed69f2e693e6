/* SPDX-License-Identifier: MIT
 *
 * Source profiles: functions and what was inlined into them, contexts, body lines, call targets, and the list of known
 * symbols. All are interned by their keys and add up.
 */
#include "libprofconv/model/build.h"

/* ---- source functions ---- */

static uint64_t hash_source(uint64_t secret, const profconv_source *s) {
    uint64_t hash = pfc_hash_keyed(secret, pfc_pair(s->parent, s->context), pfc_pair(s->line, s->discriminator));
    return pfc_hash_mix(hash, s->name);
}

static uint64_t rehash_source(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_source(m->mem.key, &m->sources.data[row]);
}

static profconv_id find_source(const profconv_builder *b, const profconv_source *s, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.sources, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.sources, &probe)) != 0) {
        const profconv_source *row = &b->model.sources.data[id];
        if (row->parent == s->parent && row->context == s->context && row->line == s->line &&
            row->discriminator == s->discriminator && row->name == s->name)
            return id;
    }
    return 0;
}

static int check_source(profconv_builder *b, const profconv_source *s) {
    pfc_model *m = &b->model;
    if (!pfc_is_string(b, s->name))
        return pfc_builder_fail_id(b, "source: name", s->name);
    if (s->parent >= m->sources.count)
        return pfc_builder_fail_id(b, "source: parent", s->parent);
    if (s->context >= m->contexts.count)
        return pfc_builder_fail_id(b, "source: context", s->context);
    if (!pfc_is_string(b, s->file))
        return pfc_builder_fail_id(b, "source: file", s->file);
    return PROFCONV_OK;
}

/* A row with the key of *s and nothing else; its id, or 0. */
static profconv_id add_source(profconv_builder *b, const profconv_source *s, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.sources, 1, m->sources.count)) {
        if (pfc_builder_fill(b, &b->index.sources, 1, m->sources.count, rehash_source))
            return 0;
        profconv_id known = find_source(b, s, hash);
        if (known)
            return known;
    }
    if (check_source(b, s) || PFC_ROOM(b, &m->sources, "source"))
        return 0;
    profconv_source row = {0};
    row.parent = s->parent;
    row.context = s->context;
    row.line = s->line;
    row.discriminator = s->discriminator;
    row.name = s->name;
    profconv_id id = (profconv_id)m->sources.count;
    m->sources.data[id] = row;
    if (pfc_builder_index(b, &b->index.sources, hash, id, rehash_source))
        return 0;
    m->sources.count++;
    return id;
}

profconv_id profconv_builder_source(profconv_builder *builder, const profconv_source *row) {
    if (pfc_stopped(builder))
        return 0;
    uint64_t hash = hash_source(builder->model.mem.key, row);
    profconv_id id = find_source(builder, row, hash);
    if (id == 0 && (id = add_source(builder, row, hash)) == 0)
        return 0;
    if (!pfc_is_string(builder, row->file)) { /* not part of the key, so not checked by being found */
        pfc_builder_fail_id(builder, "source: file", row->file);
        return 0;
    }
    profconv_source *to = &builder->model.sources.data[id];
    pfc_builder_add(builder, &to->total, row->total);
    pfc_builder_add(builder, &to->head, row->head);
    to->flags |= row->flags;
    to->attributes |= row->attributes;
    if (to->checksum == 0)
        to->checksum = row->checksum;
    if (to->file == 0)
        to->file = row->file;
    if (to->timestamp == 0)
        to->timestamp = row->timestamp;
    return id;
}

/* ---- contexts ---- */

static uint64_t hash_context(uint64_t secret, const profconv_context *c) {
    return pfc_hash_keyed(secret, pfc_pair(c->parent, c->name), pfc_pair(c->line, c->discriminator));
}

static uint64_t rehash_context(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    return hash_context(m->mem.key, &m->contexts.data[row]);
}

static profconv_id find_context(const profconv_builder *b, const profconv_context *c, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.contexts, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.contexts, &probe)) != 0) {
        const profconv_context *row = &b->model.contexts.data[id];
        if (row->parent == c->parent && row->name == c->name && row->line == c->line &&
            row->discriminator == c->discriminator)
            return id;
    }
    return 0;
}

profconv_id profconv_builder_context(profconv_builder *builder, const profconv_context *row) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return 0;
    uint64_t hash = hash_context(m->mem.key, row);
    profconv_id id = find_context(builder, row, hash);
    if (!id && pfc_index_pending(&builder->index.contexts, 1, m->contexts.count)) {
        if (pfc_builder_fill(builder, &builder->index.contexts, 1, m->contexts.count, rehash_context))
            return 0;
        id = find_context(builder, row, hash);
    }
    if (id)
        return id;
    if (row->parent >= m->contexts.count) {
        pfc_builder_fail_id(builder, "context: parent", row->parent);
        return 0;
    }
    if (!pfc_is_string(builder, row->name)) {
        pfc_builder_fail_id(builder, "context: name", row->name);
        return 0;
    }
    if (PFC_ROOM(builder, &m->contexts, "context"))
        return 0;
    id = (profconv_id)m->contexts.count;
    m->contexts.data[id] = *row;
    if (pfc_builder_index(builder, &builder->index.contexts, hash, id, rehash_context))
        return 0;
    m->contexts.count++;
    return id;
}

/* ---- body lines ---- */

static inline uint64_t hash_body(uint64_t secret, profconv_id source, uint32_t line, uint32_t discriminator) {
    return pfc_hash_keyed(secret, source, pfc_pair(line, discriminator));
}

static uint64_t rehash_body(const void *user, uint32_t row) {
    const pfc_model *m = (const pfc_model *)user;
    const profconv_source_body *r = &m->source_bodies.data[row];
    return hash_body(m->mem.key, r->source, r->line, r->discriminator);
}

static profconv_id find_body(const profconv_builder *b, const profconv_source_body *key, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.source_bodies, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.source_bodies, &probe)) != 0) {
        const profconv_source_body *row = &b->model.source_bodies.data[id];
        if (row->source == key->source && row->line == key->line && row->discriminator == key->discriminator)
            return id;
    }
    return 0;
}

static profconv_id add_body(profconv_builder *b, const profconv_source_body *key, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.source_bodies, 1, m->source_bodies.count)) {
        if (pfc_builder_fill(b, &b->index.source_bodies, 1, m->source_bodies.count, rehash_body))
            return 0;
        profconv_id known = find_body(b, key, hash);
        if (known)
            return known;
    }
    if (key->source == 0 || key->source >= m->sources.count) {
        pfc_builder_fail_id(b, "source body: source", key->source);
        return 0;
    }
    if (PFC_ROOM(b, &m->source_bodies, "source body"))
        return 0;
    profconv_id id = (profconv_id)m->source_bodies.count;
    m->source_bodies.data[id] = *key;
    if (pfc_builder_index(b, &b->index.source_bodies, hash, id, rehash_body))
        return 0;
    m->source_bodies.count++;
    return id;
}

/* Profiles are mostly written in order: function after function, line after line. As long as each row comes after the last
 * one, it is new, and no index is needed; the first that does not fills the index (see pfc_index_pending). */
static profconv_id next_body(profconv_builder *b, const profconv_source_body *key) {
    pfc_model *m = &b->model;
    if (b->index.source_bodies.count != 0 || b->thawed || key->source >= m->sources.count)
        return 0;
    const profconv_source_body *last = &m->source_bodies.data[m->source_bodies.count - 1];
    if (key->source < last->source)
        return 0;
    if (key->source == last->source &&
        pfc_pair(key->line, key->discriminator) <= pfc_pair(last->line, last->discriminator))
        return 0;
    if (key->source == 0 || PFC_ROOM(b, &m->source_bodies, "source body"))
        return 0;
    m->source_bodies.data[m->source_bodies.count] = *key;
    return (profconv_id)m->source_bodies.count++;
}

/* A second profile of the same program gives its lines in the same order: the row after the last one that was asked for is mostly
 * the one, without a look into an index that is far too large for a cache. */
static profconv_id follows(const profconv_builder *b, const profconv_source_body *key) {
    const pfc_model *m = &b->model;
    profconv_id id = b->last_body + 1;
    if (id >= m->source_bodies.count)
        return 0;
    const profconv_source_body *row = &m->source_bodies.data[id];
    return row->source == key->source && row->line == key->line && row->discriminator == key->discriminator ? id : 0;
}

profconv_id profconv_builder_source_body(profconv_builder *builder, profconv_id source, uint32_t line,
                                         uint32_t discriminator, uint64_t count) {
    if (pfc_stopped(builder))
        return 0;
    profconv_source_body key = {0, source, line, discriminator, 0};
    profconv_id id = next_body(builder, &key);
    if (id == 0)
        id = follows(builder, &key);
    if (id == 0) {
        uint64_t hash = hash_body(builder->model.mem.key, source, line, discriminator);
        id = find_body(builder, &key, hash);
        if (id == 0 && (pfc_stopped(builder) || (id = add_body(builder, &key, hash)) == 0))
            return 0;
    }
    pfc_builder_add(builder, &builder->model.source_bodies.data[id].count, count);
    builder->last_body = id;
    return id;
}

/* ---- call targets ---- */

static uint64_t rehash_target(const void *user, uint32_t row) {
    const profconv_source_target *r = &((const pfc_model *)user)->source_targets.data[row];
    return pfc_hash_mix(r->body, r->name);
}

static profconv_id find_target(const profconv_builder *b, profconv_id body, profconv_id name, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.source_targets, hash);
    uint32_t id;
    while ((id = pfc_index_next(&b->index.source_targets, &probe)) != 0) {
        const profconv_source_target *row = &b->model.source_targets.data[id];
        if (row->body == body && row->name == name)
            return id;
    }
    return 0;
}

static profconv_id add_target(profconv_builder *b, profconv_id body, profconv_id name, uint64_t hash) {
    pfc_model *m = &b->model;
    if (pfc_index_pending(&b->index.source_targets, 1, m->source_targets.count)) {
        if (pfc_builder_fill(b, &b->index.source_targets, 1, m->source_targets.count, rehash_target))
            return 0;
        profconv_id known = find_target(b, body, name, hash);
        if (known)
            return known;
    }
    if (body == 0 || body >= m->source_bodies.count) {
        pfc_builder_fail_id(b, "source target: body", body);
        return 0;
    }
    if (!pfc_is_string(b, name)) {
        pfc_builder_fail_id(b, "source target: name", name);
        return 0;
    }
    if (PFC_ROOM(b, &m->source_targets, "source target"))
        return 0;
    profconv_id id = (profconv_id)m->source_targets.count;
    profconv_source_target row = {0, body, name};
    m->source_targets.data[id] = row;
    if (pfc_builder_index(b, &b->index.source_targets, hash, id, rehash_target))
        return 0;
    m->source_targets.count++;
    return id;
}

/* How many targets of one body are compared before an index is made. */
#define FEW_TARGETS 16

/* As next_body: targets of the last body or a later one, which has few. */
static profconv_id next_target(profconv_builder *b, profconv_id body, profconv_id name) {
    pfc_model *m = &b->model;
    size_t at = m->source_targets.count - 1;
    if (b->index.source_targets.count != 0 || b->thawed || body < m->source_targets.data[at].body)
        return 0;
    for (size_t n = 0; m->source_targets.data[at].body == body; at--, n++) {
        if (m->source_targets.data[at].name == name && body != 0)
            return (profconv_id)at;
        if (n == FEW_TARGETS || at == 0)
            return 0;
    }
    if (body == 0 || body >= m->source_bodies.count || !pfc_is_string(b, name) ||
        PFC_ROOM(b, &m->source_targets, "source target"))
        return 0;
    profconv_source_target row = {0, body, name};
    m->source_targets.data[m->source_targets.count] = row;
    return (profconv_id)m->source_targets.count++;
}

profconv_id profconv_builder_source_target(profconv_builder *builder, profconv_id body, profconv_id name,
                                           uint64_t count) {
    if (pfc_stopped(builder))
        return 0;
    profconv_id id = next_target(builder, body, name);
    if (id == 0) {
        uint64_t hash = pfc_hash_mix(body, name);
        id = find_target(builder, body, name, hash);
        if (id == 0 && (pfc_stopped(builder) || (id = add_target(builder, body, name, hash)) == 0))
            return 0;
    }
    pfc_builder_add(builder, &builder->model.source_targets.data[id].count, count);
    return id;
}

/* ---- symbols: a list in order of appearance, each once; slots are rows + 1 ---- */

static inline uint64_t hash_symbol(profconv_id name) { return pfc_hash_mix(name, 0); }

static uint64_t rehash_symbol(const void *user, uint32_t slot) {
    return hash_symbol(((const pfc_model *)user)->symbols.data[slot - 1]);
}

static uint32_t find_symbol(const profconv_builder *b, profconv_id name, uint64_t hash) {
    pfc_probe probe = pfc_index_start(&b->index.symbols, hash);
    uint32_t slot;
    while ((slot = pfc_index_next(&b->index.symbols, &probe)) != 0)
        if (b->model.symbols.data[slot - 1] == name)
            return slot;
    return 0;
}

void profconv_builder_symbol(profconv_builder *builder, profconv_id name) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return;
    uint64_t hash = hash_symbol(name);
    if (pfc_index_pending(&builder->index.symbols, 0, m->symbols.count) &&
        pfc_builder_fill(builder, &builder->index.symbols, 1, m->symbols.count + 1, rehash_symbol))
        return;
    if (find_symbol(builder, name, hash))
        return;
    if (!pfc_is_string(builder, name)) {
        pfc_builder_fail_id(builder, "symbol", name);
        return;
    }
    if (PFC_ROOM(builder, &m->symbols, "symbol"))
        return;
    m->symbols.data[m->symbols.count] = name;
    if (pfc_builder_index(builder, &builder->index.symbols, hash, (uint32_t)m->symbols.count + 1, rehash_symbol))
        return;
    m->symbols.count++;
}
