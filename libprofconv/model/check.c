/* SPDX-License-Identifier: MIT
 *
 * The invariants of a profile. The builder keeps them; this says so, in one pass over each table, so that whatever is
 * read from untrusted bytes has been looked at once before anybody follows an id. A violation is a defect of the
 * library.
 */
#include "libprofconv/model/build.h"

#include <string.h>

static int bad(profconv_error *error, const char *what, size_t row) {
    return profconv_error_set(error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0, "invariant: %s (row %zu)", what, row);
}

#define REQUIRE(condition, what, row)                                                                                  \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return bad(error, what, row);                                                                              \
    } while (0)

static int all_zero(const void *row, size_t size) {
    const char *bytes = (const char *)row;
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Tables with a none row have it, all zero, and fit 32-bit ids. */
static int check_none_rows(const pfc_model *m, profconv_error *error) {
#define NONE(member)                                                                                                   \
    REQUIRE(m->member.count >= 1 && m->member.count <= PFC_MAX_ROWS &&                                                 \
                all_zero(m->member.data, sizeof *m->member.data),                                                      \
            "row 0 of " #member " is the none row", (size_t)0)
    NONE(strings);
    NONE(functions);
    NONE(mappings);
    NONE(locations);
    NONE(lines);
    NONE(stacks);
    NONE(labels);
    NONE(label_sets);
    NONE(sources);
    NONE(contexts);
    NONE(source_bodies);
    NONE(source_targets);
#undef NONE
    return PROFCONV_OK;
}

static int check_strings(const pfc_model *m, profconv_error *error) {
    REQUIRE(m->bytes.count >= 1, "the bytes of the empty string are there", 0);
    for (size_t i = 0; i < m->strings.count; i++) {
        const pfc_string_row *s = &m->strings.data[i];
        REQUIRE(s->offset < m->bytes.count && s->size < m->bytes.count - s->offset, "string inside the bytes", i);
        REQUIRE(m->bytes.data[s->offset + s->size] == 0, "string ends with a NUL", i);
        REQUIRE(i == 0 || s->size > 0, "only string 0 is empty", i);
        REQUIRE(s->size <= m->limits.max_string, "string within max_string", i);
    }
    return PROFCONV_OK;
}

static int check_code(const pfc_model *m, profconv_error *error) {
    size_t strings = m->strings.count;
    for (size_t i = 1; i < m->functions.count; i++) {
        const profconv_function *f = &m->functions.data[i];
        REQUIRE(f->name < strings && f->linkage_name < strings && f->file < strings, "function's strings exist", i);
    }
    for (size_t i = 1; i < m->mappings.count; i++) {
        const profconv_mapping *r = &m->mappings.data[i];
        REQUIRE(r->file < strings && r->build_id < strings && r->reference < strings, "mapping's strings exist", i);
        REQUIRE(r->kind <= PROFCONV_MAPPING_GUEST, "mapping's kind is known", i);
    }
    for (size_t i = 1; i < m->lines.count; i++)
        REQUIRE(m->lines.data[i].function < m->functions.count, "line's function exists", i);
    for (size_t i = 1; i < m->locations.count; i++) {
        const profconv_location *l = &m->locations.data[i];
        REQUIRE(l->mapping < m->mappings.count, "location's mapping exists", i);
        REQUIRE(l->line_count == 0 ? l->first_line == 0
                                   : l->first_line >= 1 && l->first_line < m->lines.count &&
                                         l->line_count <= m->lines.count - l->first_line,
                "location's lines are a run of the line table", i);
    }
    return PROFCONV_OK;
}

static int check_labels(const pfc_model *m, profconv_error *error) {
    size_t strings = m->strings.count;
    for (size_t i = 1; i < m->labels.count; i++) {
        const profconv_label *l = &m->labels.data[i];
        REQUIRE(l->key < strings && l->string < strings && l->unit < strings, "label's strings exist", i);
        REQUIRE(l->numeric ? l->numeric == 1 && l->string == 0 : l->number == 0 && l->unit == 0,
                "label is a string or a number", i);
    }
    for (size_t i = 1; i < m->label_sets.count; i++) {
        const profconv_label_set *s = &m->label_sets.data[i];
        REQUIRE(s->count > 0 && s->first < m->label_items.count && s->count <= m->label_items.count - s->first,
                "label set is a run of the list of labels", i);
    }
    for (size_t i = 0; i < m->label_items.count; i++)
        REQUIRE(m->label_items.data[i] > 0 && m->label_items.data[i] < m->labels.count, "label in a set exists", i);
    return PROFCONV_OK;
}

static int check_samples(const pfc_model *m, profconv_error *error) {
    size_t strings = m->strings.count, count = m->sample_stacks.count;
    for (size_t i = 1; i < m->stacks.count; i++) {
        const profconv_stack *s = &m->stacks.data[i];
        REQUIRE(s->parent < i, "stack's parent precedes it", i);
        REQUIRE(s->location > 0 && s->location < m->locations.count, "stack's location exists", i);
    }
    REQUIRE(m->values.count == m->sample_types.count, "one column of values for each sample type", m->values.count);
    REQUIRE(m->sample_label_sets.count == count && count <= PFC_MAX_ROWS, "sample columns have one length", count);
    for (size_t i = 0; i < m->values.count; i++) {
        const profconv_sample_type *t = &m->sample_types.data[i];
        REQUIRE(t->name < strings && t->unit < strings && t->event < strings, "sample type's strings exist", i);
        REQUIRE(t->role <= PROFCONV_ROLE_WEIGHT, "sample type's role is known", i);
        REQUIRE(m->values.data[i].capacity >= count, "value column is as long as the samples", i);
    }
    for (size_t i = 0; i < count; i++) {
        REQUIRE(m->sample_stacks.data[i] < m->stacks.count, "sample's stack exists", i);
        REQUIRE(m->sample_label_sets.data[i] < m->label_sets.count, "sample's label set exists", i);
    }
    return PROFCONV_OK;
}

static int check_branches(const pfc_model *m, profconv_error *error) {
    size_t locations = m->locations.count;
    for (size_t i = 0; i < m->branches.count; i++)
        REQUIRE(m->branches.data[i].from < locations && m->branches.data[i].to < locations, "branch's locations exist",
                i);
    for (size_t i = 0; i < m->ranges.count; i++)
        REQUIRE(m->ranges.data[i].begin < locations && m->ranges.data[i].end < locations, "range's locations exist", i);
    for (size_t i = 0; i < m->addresses.count; i++)
        REQUIRE(m->addresses.data[i].location < locations, "address's location exists", i);
    for (size_t i = 0; i < m->entries.count; i++)
        REQUIRE(m->entries.data[i].mapping < m->mappings.count && m->entries.data[i].name < m->strings.count,
                "entry's mapping and name exist", i);
    return PROFCONV_OK;
}

static int check_sources(const pfc_model *m, profconv_error *error) {
    size_t strings = m->strings.count;
    for (size_t i = 1; i < m->contexts.count; i++) {
        REQUIRE(m->contexts.data[i].parent < i, "context's parent precedes it", i);
        REQUIRE(m->contexts.data[i].name < strings, "context's name exists", i);
    }
    for (size_t i = 1; i < m->sources.count; i++) {
        const profconv_source *s = &m->sources.data[i];
        REQUIRE(s->parent < i, "source's parent precedes it", i);
        REQUIRE(s->context < m->contexts.count, "source's context exists", i);
        REQUIRE(s->name < strings && s->file < strings, "source's strings exist", i);
    }
    for (size_t i = 1; i < m->source_bodies.count; i++) {
        const profconv_source_body *b = &m->source_bodies.data[i];
        REQUIRE(b->source > 0 && b->source < m->sources.count, "source body's source exists", i);
    }
    for (size_t i = 1; i < m->source_targets.count; i++) {
        const profconv_source_target *t = &m->source_targets.data[i];
        REQUIRE(t->body > 0 && t->body < m->source_bodies.count, "source target's body exists", i);
        REQUIRE(t->name < strings, "source target's name exists", i);
    }
    return PROFCONV_OK;
}

static int check_whole(const pfc_model *m, profconv_error *error) {
    const profconv_info *info = &m->info;
    size_t strings = m->strings.count;
    REQUIRE(info->period_type < strings && info->period_unit < strings && info->default_sample_type < strings &&
                info->drop_frames < strings && info->keep_frames < strings && info->doc_url < strings,
            "info's strings exist", 0);
    for (size_t i = 0; i < m->symbols.count; i++)
        REQUIRE(m->symbols.data[i] < strings, "symbol's name exists", i);
    for (size_t i = 0; i < m->comments.count; i++)
        REQUIRE(m->comments.data[i] < strings, "comment's text exists", i);
    for (size_t i = 0; i < m->attributes.count; i++)
        REQUIRE(m->attributes.data[i].key < strings && m->attributes.data[i].value < strings,
                "attribute's strings exist", i);
    return PROFCONV_OK;
}

int pfc_model_check(const pfc_model *m, profconv_error *error) {
    static int (*const checks[])(const pfc_model *, profconv_error *) = {check_none_rows, check_strings, check_code,
                                                                         check_labels,    check_samples, check_branches,
                                                                         check_sources,   check_whole};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        int status = checks[i](m, error);
        if (status)
            return status;
    }
    REQUIRE(m->info.facets == pfc_model_facets(m), "facets are those of the content", 0);
    return PROFCONV_OK;
}

int profconv_profile_check(const profconv_profile *profile, profconv_error *error) {
    return pfc_model_check(&profile->model, error);
}
