/* SPDX-License-Identifier: MIT
 *
 * Every invariant is checked: a sound profile passes, and each way of breaking it is named.
 */
#include "tests/unit/model_scenario.h"

#include "libprofconv/model/model.h"

#define FAR 1000

/* Breaks one thing; the text that the check must say, or NULL past the last. */
static const char *damage(pfc_model *m, int which) {
    switch (which) {
    case 0: m->strings.data[1].offset = 1u << 30; return "string inside the bytes";
    case 1: m->strings.data[1].size = (uint32_t)m->bytes.count; return "string inside the bytes";
    case 2: m->bytes.data[m->strings.data[1].offset + m->strings.data[1].size] = 'x'; return "ends with a NUL";
    case 3: m->strings.data[2].size = 0; m->strings.data[2].offset = 0; return "only string 0 is empty";
    case 4: m->functions.data[1].name = FAR; return "function's strings";
    case 5: m->functions.data[1].linkage_name = FAR; return "function's strings";
    case 6: m->functions.data[1].file = FAR; return "function's strings";
    case 7: m->mappings.data[1].file = FAR; return "mapping's strings";
    case 8: m->mappings.data[1].build_id = FAR; return "mapping's strings";
    case 9: m->mappings.data[1].reference = FAR; return "mapping's strings";
    case 10: m->mappings.data[1].kind = FAR; return "mapping's kind";
    case 11: m->lines.data[1].function = FAR; return "line's function";
    case 12: m->locations.data[1].mapping = FAR; return "location's mapping";
    case 13: m->locations.data[1].line_count = FAR; return "location's lines";
    case 14: m->locations.data[1].first_line = 0; return "location's lines";
    case 15: m->locations.data[1].first_line = FAR; return "location's lines";
    case 16: m->locations.data[2].first_line = 1; return "location's lines";
    case 17: m->labels.data[1].key = FAR; return "label's strings";
    case 18: m->labels.data[2].string = FAR; return "label's strings";
    case 19: m->labels.data[1].unit = FAR; return "label's strings";
    case 20: m->labels.data[1].string = 1; return "label is a string or a number";
    case 21: m->labels.data[2].number = 1; return "label is a string or a number";
    case 22: m->label_sets.data[1].first = FAR; return "label set is a run";
    case 23: m->label_sets.data[1].count = FAR; return "label set is a run";
    case 24: m->label_sets.data[1].count = 0; return "label set is a run";
    case 25: m->label_items.data[0] = FAR; return "label in a set";
    case 26: m->label_items.data[1] = 0; return "label in a set";
    case 27: m->stacks.data[1].parent = 2; return "stack's parent precedes";
    case 28: m->stacks.data[2].parent = 2; return "stack's parent precedes";
    case 29: m->stacks.data[2].location = FAR; return "stack's location";
    case 30: m->stacks.data[2].location = 0; return "stack's location";
    case 31: m->sample_types.count--; return "one column of values";
    case 32: m->sample_label_sets.count--; return "one length";
    case 33: m->sample_types.data[0].name = FAR; return "sample type's strings";
    case 34: m->sample_types.data[0].unit = FAR; return "sample type's strings";
    case 35: m->sample_types.data[1].event = FAR; return "sample type's strings";
    case 36: m->sample_types.data[1].role = FAR; return "sample type's role";
    case 37: m->values.data[1].capacity = 1; return "value column is as long";
    case 38: m->sample_stacks.data[0] = FAR; return "sample's stack";
    case 39: m->sample_label_sets.data[1] = FAR; return "sample's label set";
    case 40: m->branches.data[0].from = FAR; return "branch's locations";
    case 41: m->branches.data[1].to = FAR; return "branch's locations";
    case 42: m->ranges.data[0].begin = FAR; return "range's locations";
    case 43: m->ranges.data[0].end = FAR; return "range's locations";
    case 44: m->addresses.data[0].location = FAR; return "address's location";
    case 45: m->contexts.data[1].parent = 1; return "context's parent precedes";
    case 46: m->contexts.data[1].name = FAR; return "context's name";
    case 47: m->sources.data[1].parent = 2; return "source's parent precedes";
    case 48: m->sources.data[1].context = FAR; return "source's context";
    case 49: m->sources.data[1].name = FAR; return "source's strings";
    case 50: m->sources.data[2].file = FAR; return "source's strings";
    case 51: m->source_bodies.data[1].source = 0; return "source body's source";
    case 52: m->source_bodies.data[1].source = FAR; return "source body's source";
    case 53: m->source_targets.data[1].body = 0; return "source target's body";
    case 54: m->source_targets.data[1].name = FAR; return "source target's name";
    case 55: m->info.period_type = FAR; return "info's strings";
    case 56: m->info.period_unit = FAR; return "info's strings";
    case 57: m->info.default_sample_type = FAR; return "info's strings";
    case 58: m->info.drop_frames = FAR; return "info's strings";
    case 59: m->info.keep_frames = FAR; return "info's strings";
    case 60: m->info.doc_url = FAR; return "info's strings";
    case 61: m->symbols.data[0] = FAR; return "symbol's name";
    case 62: m->comments.data[0] = FAR; return "comment's text";
    case 63: m->attributes.data[0].key = FAR; return "attribute's strings";
    case 64: m->attributes.data[0].value = FAR; return "attribute's strings";
    case 65: m->info.facets &= ~(uint32_t)PROFCONV_FACET_LINES; return "facets";
    case 66: m->info.facets |= 1u << 20; return "facets";
    case 67: m->strings.data[0].size = 1; return "row 0 of strings";
    case 68: m->functions.data[0].start_line = 1; return "row 0 of functions";
    case 69: m->mappings.data[0].start = 1; return "row 0 of mappings";
    case 70: m->locations.data[0].address = 1; return "row 0 of locations";
    case 71: m->lines.data[0].line = 1; return "row 0 of lines";
    case 72: m->stacks.data[0].location = 1; return "row 0 of stacks";
    case 73: m->labels.data[0].key = 1; return "row 0 of labels";
    case 74: m->label_sets.data[0].count = 1; return "row 0 of label_sets";
    case 75: m->sources.data[0].total = 1; return "row 0 of sources";
    case 76: m->contexts.data[0].name = 1; return "row 0 of contexts";
    case 77: m->source_bodies.data[0].count = 1; return "row 0 of source_bodies";
    case 78: m->source_targets.data[0].count = 1; return "row 0 of source_targets";
    case 79: m->limits.max_string = 1; return "max_string";
    case 80: m->entries.data[0].mapping = FAR; return "entry's mapping";
    case 81: m->entries.data[0].name = FAR; return "entry's mapping and name";
    default: return NULL;
    }
}

static void each_invariant_is_checked(void **state) {
    (void)state;
    int count = 0;
    for (const char *expected = ""; expected; count++) {
        profconv_builder *b = new_builder();
        profconv_error error = {0};
        scenario(b);
        profconv_profile *p = freeze(b);
        assert_int_equal(profconv_profile_check(p, &error), PROFCONV_OK);
        pfc_model *m = &p->model;
        /* What freeing needs is put back afterwards. */
        size_t types = m->sample_types.count, sets = m->sample_label_sets.count, capacity = m->values.data[1].capacity;
        expected = damage(m, count);
        int status = profconv_profile_check(p, &error);
        if (expected && (status != PROFCONV_E_INTERNAL || !strstr(error.message, expected)))
            fail_msg("damage %d: status %d, '%s', expected '%s'", count, status, error.message, expected);
        m->sample_types.count = types;
        m->sample_label_sets.count = sets;
        m->values.data[1].capacity = capacity;
        profconv_profile_free(p);
    }
    assert_int_equal(count, 83);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_invariant_is_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
