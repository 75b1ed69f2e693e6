/* SPDX-License-Identifier: MIT
 *
 * Columns and row accessors show the same bytes, for every member of every table.
 */
#include "tests/unit/model_scenario.h"

typedef struct member {
    profconv_table table;
    const char *name;
    size_t offset;
    size_t size;
    uint32_t type;
} member;

#define M(table, row, field, type)                                                                                     \
    {PROFCONV_TABLE_##table, #field, offsetof(row, field), sizeof(((row *)0)->field), type}
#define U32 PROFCONV_COLUMN_U32
#define I64 PROFCONV_COLUMN_I64
#define U64 PROFCONV_COLUMN_U64

/* The public row structs, member by member; `reserved` is not public. */
static const member members[] = {
    M(FUNCTION, profconv_function, start_line, I64),
    M(FUNCTION, profconv_function, name, U32),
    M(FUNCTION, profconv_function, linkage_name, U32),
    M(FUNCTION, profconv_function, file, U32),
    M(MAPPING, profconv_mapping, start, U64),
    M(MAPPING, profconv_mapping, limit, U64),
    M(MAPPING, profconv_mapping, file_offset, U64),
    M(MAPPING, profconv_mapping, reference_address, U64),
    M(MAPPING, profconv_mapping, file, U32),
    M(MAPPING, profconv_mapping, build_id, U32),
    M(MAPPING, profconv_mapping, reference, U32),
    M(MAPPING, profconv_mapping, kind, U32),
    M(MAPPING, profconv_mapping, flags, U32),
    M(MAPPING, profconv_mapping, pid, U32),
    M(LOCATION, profconv_location, address, U64),
    M(LOCATION, profconv_location, mapping, U32),
    M(LOCATION, profconv_location, first_line, U32),
    M(LOCATION, profconv_location, line_count, U32),
    M(LOCATION, profconv_location, flags, U32),
    M(STACK, profconv_stack, parent, U32),
    M(STACK, profconv_stack, location, U32),
    M(LABEL, profconv_label, number, I64),
    M(LABEL, profconv_label, key, U32),
    M(LABEL, profconv_label, string, U32),
    M(LABEL, profconv_label, unit, U32),
    M(LABEL, profconv_label, numeric, U32),
    M(LABEL_SET, profconv_label_set, first, U32),
    M(LABEL_SET, profconv_label_set, count, U32),
    M(SAMPLE_TYPE, profconv_sample_type, period, I64),
    M(SAMPLE_TYPE, profconv_sample_type, name, U32),
    M(SAMPLE_TYPE, profconv_sample_type, unit, U32),
    M(SAMPLE_TYPE, profconv_sample_type, event, U32),
    M(SAMPLE_TYPE, profconv_sample_type, role, U32),
    M(BRANCH, profconv_branch, count, U64),
    M(BRANCH, profconv_branch, mispredicted, U64),
    M(BRANCH, profconv_branch, cycles, U64),
    M(BRANCH, profconv_branch, from, U32),
    M(BRANCH, profconv_branch, to, U32),
    M(RANGE, profconv_range, count, U64),
    M(RANGE, profconv_range, begin, U32),
    M(RANGE, profconv_range, end, U32),
    M(ADDRESS, profconv_address, count, U64),
    M(ADDRESS, profconv_address, location, U32),
    M(ENTRY, profconv_entry, address, U64),
    M(ENTRY, profconv_entry, size, U64),
    M(ENTRY, profconv_entry, mapping, U32),
    M(ENTRY, profconv_entry, name, U32),
    M(ENTRY, profconv_entry, ordinal, U32),
    M(SOURCE, profconv_source, total, U64),
    M(SOURCE, profconv_source, head, U64),
    M(SOURCE, profconv_source, checksum, U64),
    M(SOURCE, profconv_source, timestamp, U64),
    M(SOURCE, profconv_source, name, U32),
    M(SOURCE, profconv_source, parent, U32),
    M(SOURCE, profconv_source, context, U32),
    M(SOURCE, profconv_source, file, U32),
    M(SOURCE, profconv_source, line, U32),
    M(SOURCE, profconv_source, discriminator, U32),
    M(SOURCE, profconv_source, attributes, U32),
    M(SOURCE, profconv_source, flags, U32),
    M(CONTEXT, profconv_context, parent, U32),
    M(CONTEXT, profconv_context, name, U32),
    M(CONTEXT, profconv_context, line, U32),
    M(CONTEXT, profconv_context, discriminator, U32),
    M(SOURCE_BODY, profconv_source_body, count, U64),
    M(SOURCE_BODY, profconv_source_body, source, U32),
    M(SOURCE_BODY, profconv_source_body, line, U32),
    M(SOURCE_BODY, profconv_source_body, discriminator, U32),
    M(SOURCE_TARGET, profconv_source_target, count, U64),
    M(SOURCE_TARGET, profconv_source_target, body, U32),
    M(SOURCE_TARGET, profconv_source_target, name, U32),
};

static const void *row_of(const profconv_profile *p, profconv_table table, uint32_t id) {
    switch (table) {
    case PROFCONV_TABLE_FUNCTION: return profconv_profile_function(p, id);
    case PROFCONV_TABLE_MAPPING: return profconv_profile_mapping(p, id);
    case PROFCONV_TABLE_LOCATION: return profconv_profile_location(p, id);
    case PROFCONV_TABLE_STACK: return profconv_profile_stack(p, id);
    case PROFCONV_TABLE_LABEL: return profconv_profile_label(p, id);
    case PROFCONV_TABLE_LABEL_SET: return profconv_profile_label_set(p, id);
    case PROFCONV_TABLE_SAMPLE_TYPE: return profconv_profile_sample_type(p, id);
    case PROFCONV_TABLE_BRANCH: return profconv_profile_branch(p, id);
    case PROFCONV_TABLE_RANGE: return profconv_profile_range(p, id);
    case PROFCONV_TABLE_ADDRESS: return profconv_profile_address(p, id);
    case PROFCONV_TABLE_ENTRY: return profconv_profile_entry(p, id);
    case PROFCONV_TABLE_SOURCE: return profconv_profile_source(p, id);
    case PROFCONV_TABLE_CONTEXT: return profconv_profile_context(p, id);
    case PROFCONV_TABLE_SOURCE_BODY: return profconv_profile_source_body(p, id);
    case PROFCONV_TABLE_SOURCE_TARGET: return profconv_profile_source_target(p, id);
    default: return NULL;
    }
}

static const char *element(const profconv_column *c, size_t i) { return (const char *)c->data + i * c->stride; }

static uint32_t u32(const profconv_column *c, size_t i) {
    uint32_t value;
    assert_int_equal(c->type, PROFCONV_COLUMN_U32);
    memcpy(&value, element(c, i), sizeof value);
    return value;
}

static void every_member_is_a_column(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    scenario(b);
    profconv_profile *p = freeze(b);
    for (size_t k = 0; k < sizeof members / sizeof members[0]; k++) {
        const member *m = &members[k];
        profconv_column c;
        if (profconv_profile_column(p, m->table, m->name, 0, &c))
            fail_msg("no column %d %s", (int)m->table, m->name);
        assert_int_equal(c.type, m->type);
        assert_int_equal(c.count, profconv_profile_rows(p, m->table));
        assert_true(c.count > 0);
        for (uint32_t i = 0; i < c.count; i++)
            assert_memory_equal(element(&c, i), (const char *)row_of(p, m->table, i) + m->offset, m->size);
        assert_int_equal(profconv_profile_column(p, m->table, m->name, 1, &c), PROFCONV_E_NOT_FOUND);
    }
    profconv_profile_free(p);
}

static void columns_without_a_row_struct(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    scenario(b);
    profconv_profile *p = freeze(b);
    profconv_column a, c, d, e;
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_SAMPLE, "stack", 0, &a), PROFCONV_OK);
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_SAMPLE, "label_set", 0, &c), PROFCONV_OK);
    assert_int_equal(a.count, 2);
    assert_int_equal(c.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(u32(&a, i), profconv_profile_sample_stack(p, i));
        assert_int_equal(u32(&c, i), profconv_profile_sample_label_set(p, i));
    }
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_SAMPLE, "value", k, &a), PROFCONV_OK);
        assert_int_equal(a.type, PROFCONV_COLUMN_I64);
        for (uint32_t i = 0; i < a.count; i++) {
            int64_t value;
            memcpy(&value, element(&a, i), sizeof value);
            assert_int_equal(value, profconv_profile_sample_value(p, i, k));
        }
    }
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_SAMPLE, "value", 2, &a), PROFCONV_E_NOT_FOUND);
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_SAMPLE, "values", 0, &a), PROFCONV_E_NOT_FOUND);
    assert_null(a.data);

    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_LABEL_SET, "items", 0, &a), PROFCONV_OK);
    for (uint32_t i = 0; i < a.count; i++)
        assert_int_equal(u32(&a, i), profconv_profile_label_item(p, i));
    assert_int_equal(a.count, 2);

    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_SYMBOL, "name", 0, &a), PROFCONV_OK);
    assert_int_equal(u32(&a, 0), profconv_profile_symbol(p, 0));
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_COMMENT, "text", 0, &a), PROFCONV_OK);
    assert_int_equal(u32(&a, 0), profconv_profile_comment(p, 0));
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_ATTRIBUTE, "key", 0, &a), PROFCONV_OK);
    assert_string_equal(profconv_profile_string(p, u32(&a, 0)).data, "hostname");
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_ATTRIBUTE, "value", 0, &a), PROFCONV_OK);
    assert_string_equal(profconv_profile_string(p, u32(&a, 0)).data, "box");
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_STRING, "size", 0, &a), PROFCONV_OK);
    for (uint32_t i = 0; i < a.count; i++)
        assert_int_equal(u32(&a, i), profconv_profile_string(p, i).size);

    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_LINE, "line", 0, &a), PROFCONV_OK);
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_LINE, "column", 0, &c), PROFCONV_OK);
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_LINE, "function", 0, &d), PROFCONV_OK);
    assert_int_equal(profconv_profile_column(p, PROFCONV_TABLE_LINE, "discriminator", 0, &e), PROFCONV_OK);
    const profconv_location *l = profconv_profile_location(p, 1);
    assert_int_equal(l->line_count, 2);
    for (uint32_t i = 0; i < l->line_count; i++) {
        const profconv_line *line = profconv_profile_line(p, 1, i);
        assert_memory_equal(element(&a, l->first_line + i), &line->line, 8);
        assert_memory_equal(element(&c, l->first_line + i), &line->column, 8);
        assert_int_equal(u32(&d, l->first_line + i), line->function);
        assert_int_equal(u32(&e, l->first_line + i), line->discriminator);
    }
    profconv_profile_free(p);
}

static void rows_out_of_range_are_zero(void **state) {
    (void)state;
    profconv_builder *b = new_builder();
    scenario(b);
    profconv_profile *p = freeze(b);
    static const char zeros[128];
    for (size_t k = 0; k < sizeof members / sizeof members[0]; k++)
        assert_memory_equal((const char *)row_of(p, members[k].table, UINT32_MAX) + members[k].offset, zeros,
                            members[k].size);
    profconv_string key, value;
    assert_int_equal(profconv_profile_attribute(p, 1, &key, &value), PROFCONV_E_NOT_FOUND);
    assert_int_equal(profconv_profile_attribute(p, 0, &key, &value), PROFCONV_OK);
    assert_string_equal(value.data, "box");
    assert_string_equal(profconv_profile_string(p, UINT32_MAX).data, "");
    assert_int_equal(profconv_profile_symbol(p, 9), 0);
    assert_int_equal(profconv_profile_rows(p, (profconv_table)99), 0);
    profconv_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_a_column),
        cmocka_unit_test(columns_without_a_row_struct),
        cmocka_unit_test(rows_out_of_range_are_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
