/* SPDX-License-Identifier: MIT
 *
 * See conserve.h.
 */
#include "tests/support/conserve.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first fault is the one that is told. */
static void fail(test_conserved *c, const char *format, ...) {
    va_list arguments;
    if (c->message[0])
        return;
    va_start(arguments, format);
    vsnprintf(c->message, sizeof c->message, format, arguments);
    va_end(arguments);
}

static int64_t dropped_weight(const profconv_report *report) {
    int64_t sum = 0;
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && note.kind == PROFCONV_NOTE_DROPPED)
            sum += note.weight;
    }
    return sum;
}

static uint64_t loss_notes(const profconv_report *report) {
    uint64_t count = 0;
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK &&
            (note.kind == PROFCONV_NOTE_DROPPED || note.kind == PROFCONV_NOTE_LOST))
            count++;
    }
    return count;
}

/* Losses of counts that the writer names without weighing them; facets do not count, they change no total. */
int test_unweighed_loss(const profconv_report *report) {
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && note.weight == 0 && note.count > 0 &&
            (note.kind == PROFCONV_NOTE_DROPPED || note.kind == PROFCONV_NOTE_LOST) &&
            strncmp(note.cause, "facet-", 6) != 0)
            return 1;
    }
    return 0;
}

static uint32_t sample_types(const profconv_profile *p) { return profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); }

/* Whether the writer said that it left the stacks out, as for branch records that would count their samples twice. */
int test_left_stacks_out(const profconv_report *report) {
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) == PROFCONV_OK && note.kind == PROFCONV_NOTE_LOST &&
            strncmp(note.cause, "stacks", 6) == 0)
            return 1;
    }
    return 0;
}

static const char *type_name(const profconv_profile *p, uint32_t i) {
    return profconv_profile_string(p, profconv_profile_sample_type(p, i)->name).data;
}

static int same_name(const profconv_profile *p, const profconv_profile *q, uint32_t i) {
    profconv_string a = profconv_profile_string(p, profconv_profile_sample_type(p, i)->name);
    profconv_string b = profconv_profile_string(q, profconv_profile_sample_type(q, i)->name);
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* Whether some sample has a value of this type. */
static int any_value(const profconv_profile *p, uint32_t type) {
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++)
        if (profconv_profile_sample_value(p, i, type) != 0)
            return 1;
    return 0;
}

/* Samples: column by column where the writer keeps them all, else the one that it chose: the default. As many columns are
 * not the same ones if their names differ: of two, a recording holds one, as a count and a period. */
static void conserve_samples(test_conserved *c) {
    uint32_t in = sample_types(c->in);
    uint32_t back = sample_types(c->back);
    int64_t dropped = dropped_weight(c->report);
    if (in == 0 || test_left_stacks_out(c->report) || test_unweighed_loss(c->report))
        return;
    if (back == 0) {
        fail(c, "no sample type is left of %u", in);
        return;
    }
    uint32_t shown = profconv_profile_default_sample_type(c->in);
    int conserved = 0;
    for (uint32_t i = 0; i < back; i++) {
        int paired = back == in && (in == 1 || same_name(c->in, c->back, i));
        uint32_t from = paired ? i : shown;
        int64_t before = profconv_profile_total(c->in, from);
        int64_t after = profconv_profile_total(c->back, i);
        /* Drops are weighed in the values of the sample type that is shown. Saturated sums are not known. */
        int same = from == shown ? before == after + dropped : dropped != 0 || before == after;
        if (same || before == INT64_MAX || before == INT64_MIN)
            conserved++;
        else if (paired)
            fail(c, "%s had a total of %lld, and %lld is left with %lld dropped", type_name(c->in, from),
                 (long long)before, (long long)after, (long long)dropped);
    }
    /* With other columns, the one that is shown must be among them, if it holds anything. */
    if (conserved == 0 && any_value(c->in, shown))
        fail(c, "%s had a total of %lld, which is in no column", type_name(c->in, shown),
             (long long)profconv_profile_total(c->in, shown));
}

typedef struct sums {
    uint64_t branches, ranges, addresses, body, heads, totals, targets;
} sums;

/* Sums that would wrap stay at the top. */
static void add(uint64_t *sum, uint64_t count) { *sum = count > UINT64_MAX - *sum ? UINT64_MAX : *sum + count; }

static sums add_up(const profconv_profile *p) {
    sums s = {0, 0, 0, 0, 0, 0, 0};
    /* Between places inside the images: a recording joins its edges to walks, through the outside where need be. */
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *branch = profconv_profile_branch(p, i);
        if (branch->from != 0 && branch->to != 0)
            add(&s.branches, branch->count);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++)
        add(&s.ranges, profconv_profile_range(p, i)->count);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++)
        add(&s.addresses, profconv_profile_address(p, i)->count);
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY); i++)
        add(&s.body, profconv_profile_source_body(p, i)->count);
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); i++)
        add(&s.targets, profconv_profile_source_target(p, i)->count);
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i++) {
        add(&s.heads, profconv_profile_source(p, i)->head);
        add(&s.totals, profconv_profile_source(p, i)->total);
    }
    return s;
}

static void conserve_sum(test_conserved *c, const char *what, uint64_t before, uint64_t after) {
    if (after > before || (after < before && loss_notes(c->report) == 0))
        fail(c, "%s added up to %llu, now to %llu, and nothing was reported", what, (unsigned long long)before,
             (unsigned long long)after);
}

/* Counts for compilers: what a writer of the facet keeps of them it keeps whole, or says what it left. */
static void conserve_counts(test_conserved *c) {
    sums in = add_up(c->in);
    sums back = add_up(c->back);
    uint32_t kept = c->writer->keeps & profconv_profile_facets(c->in);
    if (kept & PROFCONV_FACET_BRANCHES) { /* without, a writer may take the leaves of the stacks */
        conserve_sum(c, "branches", in.branches, back.branches);
        conserve_sum(c, "ranges", in.ranges, back.ranges);
        conserve_sum(c, "addresses", in.addresses, back.addresses);
    }
    if (kept & PROFCONV_FACET_SOURCE_COUNTS) {
        conserve_sum(c, "counts of lines", in.body, back.body);
        conserve_sum(c, "calls", in.targets, back.targets);
        conserve_sum(c, "entries", in.heads, back.heads);
    }
}

/* Whether a label is there that the writer does not list as held in its own way. */
static int has_unlisted_label(test_conserved *c) {
    for (uint32_t i = 1; i < profconv_profile_rows(c->in, PROFCONV_TABLE_LABEL); i++) {
        char key[64];
        char list[256];
        profconv_string name = profconv_profile_string(c->in, profconv_profile_label(c->in, i)->key);
        snprintf(key, sizeof key, ",%s,", name.data);
        snprintf(list, sizeof list, ",%s,", c->writer->labels ? c->writer->labels : "");
        if (!strstr(list, key))
            return 1;
    }
    return 0;
}

/* Facets of what is counted: rows that no count refers to need not be written. */
typedef struct used {
    const profconv_profile *profile;
    unsigned char *stacks; /* seen */
    uint32_t facets;
} used;

static void use_location(used *u, profconv_id id) {
    const profconv_location *location = profconv_profile_location(u->profile, id);
    if (id == 0)
        return;
    if (location->address)
        u->facets |= PROFCONV_FACET_ADDRESSES;
    for (uint32_t k = 0; k < location->line_count; k++) {
        const profconv_line *line = profconv_profile_line(u->profile, id, k);
        u->facets |=
            (line->function ? (uint32_t)PROFCONV_FACET_SYMBOLS : 0) | (line->line ? (uint32_t)PROFCONV_FACET_LINES : 0);
    }
}

static void use_sample(used *u, uint32_t i) {
    profconv_id stack = profconv_profile_sample_stack(u->profile, i);
    int64_t counted = 0;
    for (uint32_t type = 0; type < sample_types(u->profile); type++)
        counted |= profconv_profile_sample_value(u->profile, i, type);
    if (!counted)
        return;
    if (profconv_profile_sample_label_set(u->profile, i))
        u->facets |= PROFCONV_FACET_LABELS;
    for (; stack && !u->stacks[stack]; stack = profconv_profile_stack(u->profile, stack)->parent) {
        u->stacks[stack] = 1;
        u->facets |= PROFCONV_FACET_STACKS;
        use_location(u, profconv_profile_stack(u->profile, stack)->location);
    }
}

static void use_branches(used *u) {
    const profconv_profile *p = u->profile;
    uint32_t before = u->facets;
    u->facets |= PROFCONV_FACET_BRANCHES; /* taken back when nothing is counted */
    uint32_t rows = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *row = profconv_profile_branch(p, i);
        if (row->count && ++rows) {
            use_location(u, row->from);
            use_location(u, row->to);
        }
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        const profconv_range *row = profconv_profile_range(p, i);
        if (row->count && ++rows) {
            use_location(u, row->begin);
            use_location(u, row->end);
        }
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i++)
        if (profconv_profile_address(p, i)->count && ++rows)
            use_location(u, profconv_profile_address(p, i)->location);
    if (rows == 0)
        u->facets = before;
}

static uint32_t used_facets(const profconv_profile *p) {
    used u = {p, calloc(profconv_profile_rows(p, PROFCONV_TABLE_STACK) + 1u, 1), 0};
    for (uint32_t i = 0; u.stacks && i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++)
        use_sample(&u, i);
    use_branches(&u);
    if (profconv_profile_rows(p, PROFCONV_TABLE_SOURCE) > 1)
        u.facets |= PROFCONV_FACET_SOURCE_COUNTS | PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES;
    free(u.stacks);
    return u.facets;
}

static void conserve_facets(test_conserved *c) {
    uint32_t expected = profconv_profile_facets(c->in) & c->writer->keeps & c->writer->produces & used_facets(c->in);
    uint32_t lost = expected & ~profconv_profile_facets(c->back);
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        if ((lost & bit) && loss_notes(c->report) == 0)
            fail(c, "%s went missing without a word", profconv_facet_name(bit));
    }
    /* And what the writer does not keep was reported. */
    uint32_t given_up = profconv_profile_facets(c->in) & ~c->writer->keeps;
    if (!has_unlisted_label(c))
        given_up &= ~(uint32_t)PROFCONV_FACET_LABELS;
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        char cause[48];
        int found = 0;
        snprintf(cause, sizeof cause, "facet-%s", profconv_facet_name(bit));
        for (size_t i = 0; i < profconv_report_count(c->report); i++) {
            profconv_note note;
            if (profconv_report_get(c->report, i, &note) == PROFCONV_OK && strcmp(note.cause, cause) == 0)
                found = note.kind == PROFCONV_NOTE_LOST;
        }
        if ((given_up & bit) && !found)
            fail(c, "the loss of %s is not reported", profconv_facet_name(bit));
    }
}

int test_conserve(test_conserved *c) {
    c->message[0] = '\0';
    if (c->writer->keeps & PROFCONV_FACET_STACKS)
        conserve_samples(c);
    conserve_counts(c);
    conserve_facets(c);
    return c->message[0] == '\0';
}
