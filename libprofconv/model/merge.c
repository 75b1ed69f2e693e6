/* SPDX-License-Identifier: MIT
 *
 * Adding a profile to a builder, row by row through the builder's own functions: every table in the order of its
 * references, with an array that says which id each row got. Stacks, contexts and sources have their parents before
 * them, so one pass is enough.
 */
#include <profconv/transform.h>

#include "libprofconv/model/merge.h"

#include <string.h>

profconv_id pfc_merge_string(pfc_merge *g, profconv_id id) {
    if (id == 0)
        return 0;
    if (g->strings[id] == 0) {
        profconv_string s = pfc_model_string(g->from, id);
        g->strings[id] = profconv_builder_string(g->builder, s.data, s.size);
    }
    return g->strings[id];
}

/* weight * value, held at the end of the type and counted there. */
static uint64_t scale(pfc_merge *g, uint64_t value) {
    if (value && g->weight > UINT64_MAX / value)
        g->builder->saturated++;
    return pfc_mul_sat(value, g->weight);
}
static int64_t scale_i64(pfc_merge *g, int64_t value) {
    uint64_t most = value < 0 ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (size && g->weight > most / size) {
        g->builder->saturated++;
        return value < 0 ? INT64_MIN : INT64_MAX;
    }
    return (int64_t)((uint64_t)value * g->weight);
}

/* ---- code ---- */

static void merge_functions(pfc_merge *g) {
    for (size_t i = 1; i < g->from->functions.count; i++) {
        profconv_function f = g->from->functions.data[i];
        f.name = pfc_merge_string(g, f.name);
        f.linkage_name = pfc_merge_string(g, f.linkage_name);
        f.file = pfc_merge_string(g, f.file);
        g->functions[i] = profconv_builder_function(g->builder, &f);
    }
}

/* A location that either profile has not looked up is still to be looked up. */
static void unite_flags(profconv_builder *b, profconv_id id, uint32_t flags) {
    if (id)
        b->model.locations.data[id].flags &= flags | ~(uint32_t)PROFCONV_LOCATION_NO_SYMBOL;
}

/* Address 0 in a mapping that starts above it means that there is no address, as in pprof. */
static uint64_t shifted(const pfc_merge *g, const profconv_location *l) {
    if (l->address == 0 && g->from->mappings.data[l->mapping].start != 0)
        return 0;
    return l->address + g->shifts[l->mapping];
}

static void merge_locations(pfc_merge *g) {
    profconv_builder *b = g->builder;
    PFC_VEC(profconv_line) lines = {0};
    for (size_t i = 1; i < g->from->locations.count && !pfc_stopped(b); i++) {
        const profconv_location *l = &g->from->locations.data[i];
        profconv_location row = {shifted(g, l), g->mappings[l->mapping], 0, 0, l->flags};
        if (l->line_count == 0) {
            g->locations[i] = profconv_builder_address_location(b, row.mapping, row.address, row.flags);
            unite_flags(b, g->locations[i], l->flags);
            continue;
        }
        if (PFC_VEC_RESERVE(&b->model.mem, &lines, l->line_count)) {
            pfc_builder_fail_memory(b);
            break;
        }
        memcpy(lines.data, g->from->lines.data + l->first_line, l->line_count * sizeof *lines.data);
        for (uint32_t k = 0; k < l->line_count; k++)
            lines.data[k].function = g->functions[lines.data[k].function];
        g->locations[i] = profconv_builder_location(b, &row, lines.data, l->line_count);
        unite_flags(b, g->locations[i], l->flags);
    }
    PFC_VEC_FREE(&b->model.mem, &lines);
}

/* ---- samples ---- */

static void merge_labels(pfc_merge *g) {
    profconv_builder *b = g->builder;
    const pfc_model *from = g->from;
    PFC_VEC(profconv_id) items = {0};
    for (size_t i = 1; i < from->labels.count; i++) {
        profconv_label l = from->labels.data[i];
        l.key = pfc_merge_string(g, l.key);
        l.string = pfc_merge_string(g, l.string);
        l.unit = pfc_merge_string(g, l.unit);
        g->labels[i] = profconv_builder_label(b, &l);
    }
    for (size_t i = 1; i < from->label_sets.count && !pfc_stopped(b); i++) {
        const profconv_label_set *s = &from->label_sets.data[i];
        if (PFC_VEC_RESERVE(&b->model.mem, &items, s->count)) {
            pfc_builder_fail_memory(b);
            break;
        }
        for (uint32_t k = 0; k < s->count; k++)
            items.data[k] = g->labels[from->label_items.data[s->first + k]];
        g->label_sets[i] = profconv_builder_label_set(b, items.data, s->count);
    }
    PFC_VEC_FREE(&b->model.mem, &items);
}

/* The first column of the builder that has the name, the unit and the event and is not taken; else one whose event is
 * not known, or that has an event where `t` does not say one. */
static uint32_t find_type(const pfc_model *m, const profconv_sample_type *t, const char *taken, size_t count) {
    uint32_t found = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        const profconv_sample_type *row = &m->sample_types.data[i];
        if (taken[i] || row->name != t->name || row->unit != t->unit)
            continue;
        if (row->event == t->event)
            return (uint32_t)i;
        if (found == UINT32_MAX && (row->event == 0 || t->event == 0))
            found = (uint32_t)i;
    }
    return found;
}

static void merge_types(pfc_merge *g) {
    profconv_builder *b = g->builder;
    pfc_model *m = &b->model;
    size_t count = m->sample_types.count; /* those that were there before */
    char *taken = (char *)pfc_alloc_zero(&m->mem, count + 1);
    if (!taken) {
        pfc_builder_fail_memory(b);
        return;
    }
    for (size_t i = 0; i < g->from->sample_types.count && !pfc_stopped(b); i++) {
        profconv_sample_type t = g->from->sample_types.data[i];
        t.name = pfc_merge_string(g, t.name);
        t.unit = pfc_merge_string(g, t.unit);
        t.event = pfc_merge_string(g, t.event);
        uint32_t column = find_type(m, &t, taken, count);
        if (column == UINT32_MAX) {
            g->types[i] = profconv_builder_sample_type(b, &t);
            continue;
        }
        profconv_sample_type *row = &m->sample_types.data[column];
        taken[column] = 1;
        g->types[i] = column;
        if (row->event == 0)
            row->event = t.event;
        if (row->role == PROFCONV_ROLE_VALUE)
            row->role = t.role;
        if (row->period < t.period)
            row->period = t.period;
    }
    pfc_free(&m->mem, taken, count + 1);
}

static void merge_samples(pfc_merge *g) {
    profconv_builder *b = g->builder;
    const pfc_model *from = g->from;
    uint32_t count = profconv_builder_sample_type_count(b);
    size_t size = (count + (size_t)1) * sizeof(int64_t);
    int64_t *row = (int64_t *)pfc_alloc_zero(&b->model.mem, size);
    if (!row) {
        pfc_builder_fail_memory(b);
        return;
    }
    for (size_t i = 0; i < from->sample_stacks.count && !pfc_stopped(b); i++) {
        for (size_t k = 0; k < from->values.count; k++)
            row[g->types[k]] = scale_i64(g, from->values.data[k].data[i]);
        profconv_builder_sample(b, g->stacks[from->sample_stacks.data[i]],
                                g->label_sets[from->sample_label_sets.data[i]], 0, row, count);
    }
    pfc_free(&b->model.mem, row, size);
}

/* ---- branches and sources ---- */

static void merge_branches(pfc_merge *g) {
    profconv_builder *b = g->builder;
    const pfc_model *from = g->from;
    for (size_t i = 0; i < from->branches.count; i++) {
        const profconv_branch *r = &from->branches.data[i];
        profconv_builder_branch(b, g->locations[r->from], g->locations[r->to], scale(g, r->count),
                                scale(g, r->mispredicted), scale(g, r->cycles));
    }
    for (size_t i = 0; i < from->ranges.count; i++) {
        const profconv_range *r = &from->ranges.data[i];
        profconv_builder_range(b, g->locations[r->begin], g->locations[r->end], scale(g, r->count));
    }
    for (size_t i = 0; i < from->addresses.count; i++)
        profconv_builder_address(b, g->locations[from->addresses.data[i].location],
                                 scale(g, from->addresses.data[i].count));
    for (size_t i = 0; i < from->entries.count; i++) {
        profconv_entry r = from->entries.data[i];
        r.address += g->shifts[r.mapping];
        r.mapping = g->mappings[r.mapping];
        r.name = pfc_merge_string(g, r.name);
        profconv_builder_entry(b, &r);
    }
}

/* Functions whose checksums differ come from different code, so their probes are not the same places: the one that is there
 * stays, and the other is left out with all that is inlined into it. Row 0 stands for what is left out. */
static void merge_source_rows(pfc_merge *g) {
    const pfc_model *from = g->from;
    uint64_t left_out = 0, weight = 0;
    for (size_t i = 1; i < from->sources.count; i++) {
        profconv_source s = from->sources.data[i];
        if (s.parent != 0 && g->sources[s.parent] == 0)
            continue;
        uint64_t total = scale(g, s.total), head = scale(g, s.head);
        s.total = s.head = 0;
        s.parent = g->sources[s.parent];
        s.context = g->contexts[s.context];
        s.name = pfc_merge_string(g, s.name);
        s.file = pfc_merge_string(g, s.file);
        profconv_id id = profconv_builder_source(g->builder, &s);
        if (pfc_stopped(g->builder))
            return;
        if (g->builder->model.sources.data[id].checksum != s.checksum) {
            left_out++;
            weight = pfc_add_sat(weight, total);
            continue;
        }
        s.total = total;
        s.head = head;
        g->sources[i] = profconv_builder_source(g->builder, &s);
    }
    if (left_out)
        profconv_report_add(profconv_builder_report(g->builder), PROFCONV_NOTE_DROPPED, "checksum-mismatch", left_out,
                            weight > INT64_MAX ? INT64_MAX : (int64_t)weight, PROFCONV_NO_OFFSET, 0,
                            "functions with another checksum than in the profile merged before");
}

/* Profiles of one program give their lines in one order, so a row mostly goes where the one after the last goes. */
static profconv_id merge_body(pfc_merge *g, const profconv_source_body *r) {
    profconv_builder *b = g->builder;
    profconv_id source = g->sources[r->source], next = b->last_body + 1;
    if (source == 0)
        return 0;
    if (next < b->model.source_bodies.count) {
        profconv_source_body *row = &b->model.source_bodies.data[next];
        if (row->source == source && row->line == r->line && row->discriminator == r->discriminator) {
            pfc_builder_add(b, &row->count, scale(g, r->count));
            return b->last_body = next;
        }
    }
    return profconv_builder_source_body(b, source, r->line, r->discriminator, scale(g, r->count));
}

static void merge_sources(pfc_merge *g) {
    profconv_builder *b = g->builder;
    const pfc_model *from = g->from;
    for (size_t i = 1; i < from->contexts.count; i++) {
        profconv_context c = from->contexts.data[i];
        c.parent = g->contexts[c.parent];
        c.name = pfc_merge_string(g, c.name);
        g->contexts[i] = profconv_builder_context(b, &c);
    }
    merge_source_rows(g);
    for (size_t i = 1; i < from->source_bodies.count && !pfc_stopped(b); i++)
        g->bodies[i] = merge_body(g, &from->source_bodies.data[i]);
    for (size_t i = 1; i < from->source_targets.count; i++) {
        const profconv_source_target *r = &from->source_targets.data[i];
        if (g->bodies[r->body] != 0)
            profconv_builder_source_target(b, g->bodies[r->body], pfc_merge_string(g, r->name), scale(g, r->count));
    }
    for (size_t i = 0; i < from->symbols.count; i++)
        profconv_builder_symbol(b, pfc_merge_string(g, from->symbols.data[i]));
}

/* ---- the whole ---- */

static void first_known(pfc_merge *g, profconv_id *to, profconv_id from) {
    if (*to == 0)
        *to = pfc_merge_string(g, from);
}

static void merge_info(pfc_merge *g) {
    profconv_info info = g->builder->model.info;
    const profconv_info *from = &g->from->info;
    if (from->time_ns && (info.time_ns == 0 || from->time_ns < info.time_ns))
        info.time_ns = from->time_ns;
    pfc_builder_add_i64(g->builder, &info.duration_ns, from->duration_ns);
    if (info.period < from->period)
        info.period = from->period;
    if (info.period_type == 0 && info.period_unit == 0) {
        info.period_type = pfc_merge_string(g, from->period_type);
        info.period_unit = pfc_merge_string(g, from->period_unit);
    }
    first_known(g, &info.default_sample_type, from->default_sample_type);
    first_known(g, &info.drop_frames, from->drop_frames);
    first_known(g, &info.keep_frames, from->keep_frames);
    first_known(g, &info.doc_url, from->doc_url);
    info.source_flags |= from->source_flags;
    profconv_builder_set_info(g->builder, &info);
}

/* Comments and attribute keys that the builder has are left out; one mark for each of its strings finds them. */
static void merge_texts(pfc_merge *g) {
    enum { COMMENT = 1, KEY = 2 };
    profconv_builder *b = g->builder;
    pfc_model *m = &b->model;
    const pfc_model *from = g->from;
    for (size_t i = 0; i < from->comments.count; i++)
        pfc_merge_string(g, from->comments.data[i]);
    for (size_t i = 0; i < from->attributes.count; i++) {
        pfc_merge_string(g, from->attributes.data[i].key);
        pfc_merge_string(g, from->attributes.data[i].value);
    }
    size_t size = m->strings.count;
    char *seen = pfc_stopped(b) ? NULL : (char *)pfc_alloc_zero(&m->mem, size);
    if (!seen) {
        pfc_builder_fail_memory(b); /* keeps an earlier error */
        return;
    }
    for (size_t i = 0; i < m->comments.count; i++)
        seen[m->comments.data[i]] |= COMMENT;
    for (size_t i = 0; i < m->attributes.count; i++)
        seen[m->attributes.data[i].key] |= KEY;
    for (size_t i = 0; i < from->comments.count; i++) {
        profconv_id id = pfc_merge_string(g, from->comments.data[i]);
        if (!(seen[id] & COMMENT))
            profconv_builder_comment(b, id);
        seen[id] |= COMMENT;
    }
    for (size_t i = 0; i < from->attributes.count && !pfc_stopped(b); i++) {
        pfc_attribute row = {pfc_merge_string(g, from->attributes.data[i].key),
                             pfc_merge_string(g, from->attributes.data[i].value)};
        if (!(seen[row.key] & KEY) && PFC_ROOM(b, &m->attributes, "attribute") == PROFCONV_OK)
            m->attributes.data[m->attributes.count++] = row;
        seen[row.key] |= KEY;
    }
    pfc_free(&m->mem, seen, size);
}

/* What was dropped counts as often as what was kept. */
static void merge_notes(pfc_merge *g) {
    profconv_report *to = g->builder->model.report;
    const profconv_report *from = g->from->report;
    uint64_t lost = profconv_report_overflow(from);
    for (size_t i = 0; i < profconv_report_count(from); i++) {
        profconv_note n;
        if (profconv_report_get(from, i, &n) == PROFCONV_OK)
            profconv_report_add(to, n.kind, n.cause, n.count, scale_i64(g, n.weight), n.offset, n.line, "%s",
                                n.message);
    }
    if (lost)
        profconv_report_add(to, PROFCONV_NOTE_WARNING, "notes-not-stored", lost, 0, PROFCONV_NO_OFFSET, 0,
                            "notes of a merged profile were lost for want of memory");
}

/* The arrays of *g, in one place for making and freeing. Entry 0 and what is not reached stay 0. */
static void each_array(pfc_merge *g, int make) {
    const pfc_model *from = g->from;
    pfc_mem *mem = &g->builder->model.mem;
    const struct {
        void **data;
        size_t count;
        size_t size;
    } arrays[] = {
#define IDS(member, rows) {(void **)(void *)&g->member, from->rows.count, sizeof *g->member}
        IDS(strings, strings),     IDS(functions, functions), IDS(mappings, mappings), IDS(shifts, mappings),
        IDS(locations, locations), IDS(stacks, stacks),       IDS(labels, labels),     IDS(label_sets, label_sets),
        IDS(types, sample_types),  IDS(contexts, contexts),   IDS(sources, sources),   IDS(bodies, source_bodies),
#undef IDS
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        size_t bytes = (arrays[i].count + 1) * arrays[i].size; /* never nothing: NULL is a failure */
        if (!make)
            pfc_free(mem, *arrays[i].data, bytes);
        else if (!pfc_stopped(g->builder) && (*arrays[i].data = pfc_alloc_zero(mem, bytes)) == NULL)
            pfc_builder_fail_memory(g->builder);
    }
}

/* Line offsets and probe ids, functions with contexts and without: sums of the two would be of nothing. */
static int check_sources(const profconv_builder *builder, const pfc_model *from, profconv_error *error) {
    if (builder->model.sources.count <= 1 || from->sources.count <= 1)
        return PROFCONV_OK;
    uint32_t differ = builder->model.info.source_flags ^ from->info.source_flags;
    if (differ & PROFCONV_SOURCES_PROBES)
        return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                  "a profile of pseudo probes cannot be merged with one of lines");
    if (differ & PROFCONV_SOURCES_CONTEXT)
        return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                  "a context-sensitive profile cannot be merged with one that is not");
    return PROFCONV_OK;
}

int profconv_merge(profconv_builder *builder, const profconv_profile *profile, uint64_t weight, profconv_error *error) {
    static void (*const parts[])(pfc_merge *) = {pfc_merge_mappings, merge_functions, merge_locations, pfc_merge_stacks,
                                                 merge_labels,       merge_types,     merge_samples,   merge_branches,
                                                 merge_sources,      merge_info,      merge_texts,     merge_notes};
    pfc_merge g;
    int status = check_sources(builder, &profile->model, error);
    if (status != PROFCONV_OK)
        return status;
    memset(&g, 0, sizeof g);
    g.builder = builder;
    g.from = &profile->model;
    g.weight = weight ? weight : 1;
    each_array(&g, 1);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !pfc_stopped(builder); i++)
        parts[i](&g);
    each_array(&g, 0);
    return profconv_builder_status(builder, error);
}
