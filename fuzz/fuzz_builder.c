/* SPDX-License-Identifier: MIT
 *
 * The model, driven by bytes: each byte is a call on a builder and those after it are its arguments, so that ids are
 * mostly valid and now and then not. What comes out must pass the check, be dumped, survive thawing, and keep its
 * totals when it is merged with a weight into an empty builder.
 */
#include <profconv/builder.h>
#include <profconv/convert.h>
#include <profconv/io.h>
#include <profconv/transform.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct feed {
    const uint8_t *at;
    const uint8_t *end;
    profconv_id strings, functions, mappings, locations, stacks, labels, sets, types, sources, contexts, bodies;
} feed;

static void must(int condition) {
    if (!condition)
        abort();
}

static uint8_t byte(feed *f) { return f->at < f->end ? *f->at++ : 0; }

/* Small, or of any size when the byte says so. */
static uint64_t number(feed *f) {
    uint64_t value = byte(f);
    if (value < 0xf0)
        return value;
    for (int i = 0; i < 8; i++)
        value = value << 8 | byte(f);
    return value;
}

/* An id up to the highest one; 0xff gives one that does not exist. */
static profconv_id id(feed *f, profconv_id highest) {
    uint8_t value = byte(f);
    return value == 0xff ? highest + 1 : value % (highest + 1);
}

static void seen(profconv_id *highest, profconv_id value) {
    if (value > *highest && value != UINT32_MAX)
        *highest = value;
}

static void add_string(feed *f, profconv_builder *b) {
    size_t size = byte(f) % 24, left = (size_t)(f->end - f->at);
    if (size > left)
        size = left;
    seen(&f->strings, profconv_builder_string(b, f->at, size));
    f->at += size;
}

static void add_function(feed *f, profconv_builder *b) {
    profconv_function row = {(int64_t)number(f), id(f, f->strings), id(f, f->strings), id(f, f->strings), byte(f)};
    seen(&f->functions, profconv_builder_function(b, &row));
}

static profconv_mapping mapping(feed *f) {
    profconv_mapping row = {0};
    row.start = number(f);
    row.limit = number(f);
    row.file_offset = number(f);
    row.reference_address = number(f);
    row.file = id(f, f->strings);
    row.build_id = id(f, f->strings);
    row.reference = id(f, f->strings);
    row.kind = byte(f) % 10;
    row.flags = byte(f);
    row.pid = byte(f) % 3;
    return row;
}

static void add_location(feed *f, profconv_builder *b) {
    profconv_location row = {number(f), id(f, f->mappings), byte(f), byte(f), byte(f)};
    profconv_line lines[4];
    uint32_t count = byte(f) % 5;
    for (uint32_t i = 0; i < count; i++) {
        profconv_line line = {(int64_t)number(f), byte(f), id(f, f->functions), byte(f)};
        lines[i] = line;
    }
    seen(&f->locations, profconv_builder_location(b, &row, lines, count));
}

static void add_stack(feed *f, profconv_builder *b) {
    profconv_id ids[8];
    size_t count = byte(f) % 9;
    if (f->locations == 0)
        return;
    for (size_t i = 0; i < count; i++)
        ids[i] = 1 + id(f, f->locations - 1);
    if (count == 1)
        seen(&f->stacks, profconv_builder_stack(b, id(f, f->stacks), ids[0]));
    else
        seen(&f->stacks, profconv_builder_stack_leaf_first(b, ids, count));
}

static void add_label(feed *f, profconv_builder *b) {
    profconv_label row = {(int64_t)number(f), id(f, f->strings), id(f, f->strings), id(f, f->strings), byte(f) % 3};
    seen(&f->labels, profconv_builder_label(b, &row));
}

static void add_label_set(feed *f, profconv_builder *b) {
    profconv_id ids[6];
    uint32_t count = byte(f) % 7;
    for (uint32_t i = 0; i < count && f->labels; i++)
        ids[i] = 1 + id(f, f->labels - 1);
    if (f->labels)
        seen(&f->sets, profconv_builder_label_set(b, ids, count));
}

static void add_type(feed *f, profconv_builder *b) {
    profconv_sample_type row = {(int64_t)number(f), id(f, f->strings), id(f, f->strings), id(f, f->strings),
                                byte(f) % 3};
    if (profconv_builder_sample_type_count(b) < 5)
        profconv_builder_sample_type(b, &row);
    else
        profconv_builder_sample_type_replace(b, byte(f) % 5, &row);
    f->types = profconv_builder_sample_type_count(b);
}

static void add_sample(feed *f, profconv_builder *b) {
    int64_t values[5];
    profconv_id stack = id(f, f->stacks), set = id(f, f->sets);
    uint32_t first = byte(f) % (f->types + 1), count = f->types - first;
    for (uint32_t i = 0; i < count; i++)
        values[i] = (int64_t)number(f);
    profconv_builder_sample(b, stack, set, first, values, count);
}

static void add_source(feed *f, profconv_builder *b) {
    profconv_source row = {0};
    profconv_context context = {id(f, f->contexts), id(f, f->strings), byte(f), byte(f)};
    seen(&f->contexts, profconv_builder_context(b, &context));
    row.total = number(f);
    row.head = number(f);
    row.checksum = byte(f);
    row.timestamp = byte(f);
    row.name = id(f, f->strings);
    row.parent = id(f, f->sources);
    row.context = id(f, f->contexts);
    row.file = id(f, f->strings);
    row.line = byte(f) % 4;
    row.flags = byte(f);
    seen(&f->sources, profconv_builder_source(b, &row));
}

static void add_body(feed *f, profconv_builder *b) {
    if (f->sources == 0)
        return;
    profconv_id source = 1 + id(f, f->sources - 1);
    seen(&f->bodies, profconv_builder_source_body(b, source, byte(f) % 4, byte(f) % 2, number(f)));
    if (f->bodies)
        profconv_builder_source_target(b, 1 + id(f, f->bodies - 1), id(f, f->strings), number(f));
    profconv_builder_symbol(b, id(f, f->strings));
}

static void set_facts(feed *f, profconv_builder *b) {
    profconv_info info = {0};
    const char key[2] = {(char)('a' + byte(f) % 4), 0};
    info.time_ns = (int64_t)number(f);
    info.duration_ns = (int64_t)number(f);
    info.period_type = id(f, f->strings);
    info.doc_url = id(f, f->strings);
    profconv_builder_set_info(b, &info);
    profconv_builder_comment(b, id(f, f->strings));
    profconv_builder_attribute(b, key, key, 1);
}

static void go_round(profconv_builder **b) {
    profconv_profile *p = NULL;
    profconv_builder *thawed = NULL;
    if (profconv_builder_freeze(*b, &p, NULL))
        return; /* sticky: the end will see it */
    must(profconv_builder_thaw(&thawed, &p, NULL) == PROFCONV_OK || p);
    if (thawed) {
        profconv_builder_free(*b);
        *b = thawed;
    }
    profconv_profile_free(p);
}

static void call(feed *f, profconv_builder **builder) {
    profconv_builder *b = *builder;
    profconv_mapping row;
    switch (byte(f) % 20) {
    case 0:
        add_string(f, b);
        break;
    case 1:
        add_function(f, b);
        break;
    case 2:
        row = mapping(f), seen(&f->mappings, profconv_builder_mapping(b, &row));
        break;
    case 3:
        row = mapping(f), profconv_builder_mapping_replace(b, f->mappings ? 1 + id(f, f->mappings - 1) : 0, &row);
        break;
    case 4:
        add_location(f, b);
        break;
    case 5:
        seen(&f->locations, profconv_builder_address_location(b, id(f, f->mappings), number(f), byte(f) % 16));
        break;
    case 6:
        add_stack(f, b);
        break;
    case 7:
        add_label(f, b);
        break;
    case 8:
        add_label_set(f, b);
        break;
    case 9:
        add_type(f, b);
        break;
    case 10:
    case 11:
        add_sample(f, b);
        break;
    case 12:
        profconv_builder_branch(b, id(f, f->locations), id(f, f->locations), number(f), number(f), number(f));
        break;
    case 13:
        profconv_builder_range(b, id(f, f->locations), id(f, f->locations), number(f));
        break;
    case 14:
        profconv_builder_address(b, id(f, f->locations), number(f));
        break;
    case 15:
        add_source(f, b);
        break;
    case 16:
        add_body(f, b);
        break;
    case 17:
        set_facts(f, b);
        break;
    case 19: {
        profconv_entry entry = {number(f), number(f), id(f, f->mappings), id(f, f->strings), byte(f), 0};
        profconv_builder_entry(b, &entry);
        break;
    }
    default:
        go_round(builder);
        break;
    }
}

/* A profile keeps the bound of its builder for all that is made from it, so that it may leave no room for the text. */
static void dump(const profconv_profile *p, int bounded) {
    profconv_output *output = NULL;
    profconv_error error = {0};
    const uint8_t *data = NULL;
    size_t size = 0;
    must(profconv_output_open_memory(&output, NULL, NULL) == PROFCONV_OK);
    int status = profconv_dump(p, output, &error);
    must(status == PROFCONV_OK || (bounded && status == PROFCONV_E_LIMIT && error.message[0]));
    if (status == PROFCONV_OK) {
        must(profconv_output_close(output, NULL) == PROFCONV_OK);
        must(profconv_output_bytes(output, &data, &size) == PROFCONV_OK && size > 0);
    }
    profconv_output_free(output);
}

static int saturated(const profconv_profile *p) {
    profconv_note note;
    for (size_t i = 0; i < profconv_report_count(profconv_profile_report(p)); i++)
        if (profconv_report_get(profconv_profile_report(p), i, &note) == 0 && note.cause[0] == 'v')
            return 1;
    return 0;
}

static void merge(const profconv_profile *p, uint64_t weight) {
    profconv_builder *b = NULL;
    profconv_profile *q = NULL;
    must(profconv_builder_new(&b, NULL, NULL, NULL) == PROFCONV_OK);
    must(profconv_merge(b, p, weight, NULL) == PROFCONV_OK);
    must(profconv_builder_freeze(b, &q, NULL) == PROFCONV_OK);
    profconv_builder_free(b);
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    must(profconv_profile_rows(q, PROFCONV_TABLE_SAMPLE_TYPE) == types);
    for (uint32_t i = 0; i < types && !saturated(q); i++) {
        int64_t total = profconv_profile_total(p, i);
        if (total > INT32_MIN && total < INT32_MAX)
            must(profconv_profile_total(q, i) == total * (int64_t)weight);
    }
    dump(q, 0);
    profconv_profile_free(q);
}

/* The first bytes: budget, depth, whether rows are kept as given, weight of the merge. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    feed f = {data, data + size, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    profconv_limits limits = {sizeof limits, 0, 0, 0, 0, 0, 0};
    profconv_builder *b = NULL;
    profconv_profile *p = NULL;
    profconv_error error = {0};
    uint8_t budget = byte(&f);
    limits.max_memory = budget ? (uint64_t)budget << 8 : 0;
    limits.max_depth = byte(&f) % 8;
    int verbatim = byte(&f) & 1;
    uint64_t weight = 1 + byte(&f);
    if (profconv_builder_new(&b, NULL, &limits, NULL))
        return 0;
    if (verbatim)
        must(profconv_builder_verbatim(b) == PROFCONV_OK);
    while (f.at < f.end && profconv_builder_status(b, NULL) == PROFCONV_OK)
        call(&f, &b);
    int status = profconv_builder_freeze(b, &p, &error);
    must((status == PROFCONV_OK) == (p != NULL));
    must(status == PROFCONV_OK || status == PROFCONV_E_INVALID || status == PROFCONV_E_LIMIT);
    must(status == PROFCONV_OK || error.message[0]);
    profconv_builder_free(b);
    if (p) {
        must(profconv_profile_check(p, &error) == PROFCONV_OK);
        dump(p, budget != 0);
        merge(p, weight);
        profconv_profile_free(p);
    }
    return 0;
}
