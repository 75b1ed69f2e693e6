/* SPDX-License-Identifier: MIT
 *
 * Reads a pprof in one pass over its top-level fields, whatever their order, through a window on the input: a field
 * is decoded, kept in compact form and forgotten. When all is seen, finish.c resolves names and references.
 *
 * What is refused follows google/pprof's own reader: see README.md.
 */
#include "libprofconv/formats/pprof/reader.h"

#include <inttypes.h>

#include "libprofconv/base/cursor.h"
#include "profile.pb-c.h"

enum {
    FIELD_SAMPLE_TYPE = 1,
    FIELD_SAMPLE,
    FIELD_MAPPING,
    FIELD_LOCATION,
    FIELD_FUNCTION,
    FIELD_STRING,
    FIELD_DROP_FRAMES,
    FIELD_KEEP_FRAMES,
    FIELD_TIME,
    FIELD_DURATION,
    FIELD_PERIOD_TYPE,
    FIELD_PERIOD,
    FIELD_COMMENT,
    FIELD_DEFAULT_SAMPLE_TYPE,
    FIELD_DOC_URL,
    FIELD_END
};

static const ProtobufCMessageDescriptor *const profile_type = &perftools__profiles__profile__descriptor;

static const char *field_name(uint64_t number) {
    const ProtobufCFieldDescriptor *field =
        number == 0 || number >= FIELD_END ? NULL
                                           : protobuf_c_message_descriptor_get_field(profile_type, (unsigned)number);
    return field ? field->name : "unknown";
}

/* on_limit=truncate: a node of the tree of stacks may cost this much of max_memory, here and in the profile, so that what stands
 * beside it has room. */
#define NODE_COST 64u

/* ---- detection ---- */

/* A pprof has no magic number. The first fields must read as what a profile may contain, submessages included, and the
 * string table must start with the empty string. `*weight` grows with the evidence; 0 is returned when there is a
 * contradiction. */
static int probe_field(const pfc_wire_field *field, int *weight, int *strings) {
    int packed;
    int expected = pfc_wire_expected(profile_type, field->number, &packed);
    if (expected < 0)
        return field->number != 0 && *weight >= 2; /* of a later version, where all before was a pprof's */
    if ((unsigned)expected != field->wire && !(packed && field->wire == PFC_WIRE_BYTES))
        return 0;
    if (field->number == FIELD_STRING) {
        if ((*strings)++ == 0) {
            if (field->size != 0)
                return 0;
            *weight += 1;
        }
        return 1;
    }
    if (field->wire != PFC_WIRE_BYTES || packed)
        return 1;
    const ProtobufCFieldDescriptor *descriptor =
        protobuf_c_message_descriptor_get_field(profile_type, (unsigned)field->number);
    if (!pfc_wire_plausible(descriptor->descriptor, field->data, field->size, 0))
        return 0;
    *weight += field->size ? 2 : 0;
    return 1;
}

/* The field that the head ends in: the submessage as far as it is there. */
static int probe_cut(const pfc_wire_field *field, const uint8_t *data, size_t size) {
    int packed;
    if (field->number == 0)
        return 1;
    int expected = pfc_wire_expected(profile_type, field->number, &packed);
    if (expected < 0)
        return 1; /* what came before decides */
    if ((unsigned)expected != field->wire && !(packed && field->wire == PFC_WIRE_BYTES))
        return 0;
    if (field->wire != PFC_WIRE_BYTES || packed || field->number == FIELD_STRING)
        return 1;
    size_t at = 1; /* the tag, and the length after it */
    while (at < size && at < 11 && (data[at] & 0x80))
        at++;
    const ProtobufCFieldDescriptor *descriptor =
        protobuf_c_message_descriptor_get_field(profile_type, (unsigned)field->number);
    return at + 1 >= size || pfc_wire_plausible(descriptor->descriptor, data + at + 1, size - at - 1, 1);
}

/* A long way in without a contradiction, or with few: damaged or malformed, but a pprof, so that reading it says what
 * is wrong. */
static int probe_damaged(int weight, int faults) { return weight >= 4 && weight >= 4 * faults ? 30 : 0; }

static int pprof_probe(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    int weight = 0, strings = 0, faults = 0;
    size_t at = 0;
    while (at < size) {
        pfc_wire_field field;
        uint64_t need;
        pfc_wire_status status = pfc_wire_next(head + at, size - at, &field, &need);
        if (status == PFC_WIRE_MORE) { /* the head ends in this field; or the file does, and it is damaged */
            if (!probe_cut(&field, head + at, size - at))
                return probe_damaged(weight, faults + 1);
            if (weight >= 2)
                return faults ? probe_damaged(weight, faults) : whole ? 60 : 90;
            return !whole && at == 0 && size >= 4096 ? 30 : 0;
        }
        if (status != PFC_WIRE_OK)
            return probe_damaged(weight, faults + 1);
        faults += !probe_field(&field, &weight, &strings);
        at += field.total;
    }
    if (faults)
        return probe_damaged(weight, faults);
    if (weight < 2)
        return 0;
    return whole ? (strings ? 95 : 50) : 90;
}

/* ---- the walk ---- */

static int read_string(pfc_pprof_reader_state *r, const uint8_t *data, size_t size) {
    if (size > r->limits->max_string)
        return profconv_error_set(r->error, PROFCONV_E_LIMIT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": string of %zu bytes, limit max_string is %" PRIu32, r->offset,
                                  size, r->limits->max_string);
    if (r->strings.count == 0 && size != 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": string 0 has %zu bytes, it must be the empty string",
                                  r->offset, size);
    if (r->strings.count >= UINT32_MAX - 16)
        return profconv_error_set(r->error, PROFCONV_E_LIMIT, r->offset, 0, "offset 0x%" PRIx64 ": too many strings",
                                  r->offset);
    profconv_id id = profconv_builder_string(r->builder, data, size);
    return PFC_VEC_PUSH(&r->mem, &r->strings, id) ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

static int read_comment(pfc_pprof_reader_state *r, int64_t index) {
    uint32_t comment = 0;
    int status = pfc_pprof_string_index(r, index, "profile", "comment", &comment);
    if (status)
        return status;
    return PFC_VEC_PUSH(&r->mem, &r->comments, comment) ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

static int read_comments(pfc_pprof_reader_state *r, const pfc_wire_field *field) {
    if (field->wire == PFC_WIRE_VARINT)
        return read_comment(r, (int64_t)field->value);
    pfc_cursor c = pfc_cursor_make(field->data, field->size, r->offset + field->total - field->size, 0);
    while (pfc_cursor_left(&c)) {
        uint64_t index = pfc_uleb(&c);
        if (c.failed)
            return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                      "offset 0x%" PRIx64 ": bad number in packed comment", r->offset);
        int status = read_comment(r, (int64_t)index);
        if (status)
            return status;
    }
    return PROFCONV_OK;
}

/* The first of a profile is its own; a second one means that two profiles stand in one file. */
static int read_time(pfc_pprof_reader_state *r, int64_t time) {
    if (r->time != 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": concatenated profiles: a second time_nanos; split the file",
                                  r->offset);
    r->time = time;
    return PROFCONV_OK;
}

static int read_message(pfc_pprof_reader_state *r, const pfc_wire_field *field) {
    switch (field->number) {
    case FIELD_SAMPLE_TYPE:
        return pfc_pprof_read_type(r, field->data, field->size, 0);
    case FIELD_SAMPLE:
        return pfc_pprof_read_sample(r, field->data, field->size);
    case FIELD_MAPPING:
        return pfc_pprof_read_mapping(r, field->data, field->size);
    case FIELD_LOCATION:
        return pfc_pprof_read_location(r, field->data, field->size);
    case FIELD_FUNCTION:
        return pfc_pprof_read_function(r, field->data, field->size);
    default:
        return pfc_pprof_read_type(r, field->data, field->size, 1);
    }
}

static int read_field(pfc_pprof_reader_state *r, const pfc_wire_field *field) {
    int packed;
    int expected = pfc_wire_expected(profile_type, field->number, &packed);
    if (expected < 0)
        return PROFCONV_OK; /* from a later version of the format */
    if ((unsigned)expected != field->wire && !(packed && field->wire == PFC_WIRE_BYTES))
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": %s (field %" PRIu64 ") has wire type %u, expected %d",
                                  r->offset, field_name(field->number), field->number, field->wire, expected);
    int64_t value = (int64_t)field->value;
    switch (field->number) {
    case FIELD_STRING:
        return read_string(r, field->data, field->size);
    case FIELD_DROP_FRAMES:
        return pfc_pprof_string_index(r, value, "profile", "drop_frames", &r->texts[PFC_PPROF_DROP]);
    case FIELD_KEEP_FRAMES:
        return pfc_pprof_string_index(r, value, "profile", "keep_frames", &r->texts[PFC_PPROF_KEEP]);
    case FIELD_DEFAULT_SAMPLE_TYPE:
        return pfc_pprof_string_index(r, value, "profile", "default_sample_type", &r->texts[PFC_PPROF_DEFAULT]);
    case FIELD_DOC_URL:
        return pfc_pprof_string_index(r, value, "profile", "doc_url", &r->texts[PFC_PPROF_DOC]);
    case FIELD_TIME:
        return read_time(r, value);
    case FIELD_DURATION:
        r->duration = value;
        return PROFCONV_OK;
    case FIELD_PERIOD:
        r->period = value;
        return PROFCONV_OK;
    case FIELD_COMMENT:
        return read_comments(r, field);
    default:
        pfc_arena_reset(&r->arena);
        return read_message(r, field);
    }
}

static int truncated(pfc_pprof_reader_state *r, const pfc_wire_field *field, uint64_t need, size_t left) {
    if (field->number == 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": truncated: the input ends inside a field", r->offset);
    return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                              "offset 0x%" PRIx64 ": truncated: %s (field %" PRIu64 ") needs %" PRIu64
                              " bytes or more, %zu are left",
                              r->offset, field_name(field->number), field->number, need, left);
}

/* Reads the fields that are whole within data[0..size): *used bytes of them; *need: what the next one needs to be seen,
 * 0 when there is no part of one. */
static int read_window(pfc_pprof_reader_state *r, uint64_t base, const uint8_t *data, size_t size, size_t *used,
                       pfc_wire_field *field, uint64_t *need) {
    *used = 0;
    while (*used < size) {
        r->offset = base + *used;
        pfc_wire_status status = pfc_wire_next(data + *used, size - *used, field, need);
        if (status == PFC_WIRE_MORE)
            return PROFCONV_OK;
        if (status == PFC_WIRE_LONG)
            return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                      "offset 0x%" PRIx64 ": number of more than 10 bytes; not a pprof, or damaged",
                                      r->offset);
        if (status == PFC_WIRE_TYPE)
            return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                      "offset 0x%" PRIx64 ": field %" PRIu64
                                      " has wire type %u, which pprof never uses; not a pprof, or damaged",
                                      r->offset, field->number, field->wire);
        int bad = read_field(r, field);
        if (bad)
            return bad;
        *used += field->total;
    }
    *need = 0;
    return PROFCONV_OK;
}

static int read_fields(pfc_pprof_reader_state *r, profconv_input *input) {
    uint64_t want = 0;
    for (;;) {
        const uint8_t *data;
        size_t got, used;
        uint64_t need;
        pfc_wire_field field;
        if (want > SIZE_MAX)
            want = SIZE_MAX;
        int status = profconv_input_window(input, (size_t)want, &data, &got, r->error);
        if (status == PROFCONV_E_LIMIT && want > (uint64_t)256 << 20) /* no real field has it: most likely damage, so say where */
            return profconv_error_set(r->error, PROFCONV_E_LIMIT, r->offset, 0,
                                      "offset 0x%" PRIx64 ": field of %" PRIu64 " bytes, too large to be read",
                                      r->offset, want);
        if (status)
            return status;
        if (got == 0)
            return PROFCONV_OK;
        status = read_window(r, profconv_input_offset(input), data, got, &used, &field, &need);
        if (status)
            return status;
        if (need > 0 && got < want && used == 0)
            return truncated(r, &field, need, got);
        profconv_input_consume(input, used);
        want = need;
        status = pfc_pprof_checkpoint(r);
        if (status)
            return status;
    }
}

int pfc_pprof_checkpoint(pfc_pprof_reader_state *r) {
    int status = profconv_builder_status(r->builder, r->error);
    if (status || r->limits->max_memory == 0 || r->limits->max_memory == UINT64_MAX)
        return status;
    uint64_t live, peak;
    profconv_builder_memory(r->builder, &live, &peak);
    if (live >= r->limits->max_memory || r->mem.live > r->limits->max_memory - live)
        return profconv_error_set(r->error, PROFCONV_E_LIMIT, r->offset, 0,
                                  "limit max_memory of %" PRIu64 " bytes reached", r->limits->max_memory);
    r->mem.limit = r->limits->max_memory - live; /* reader and builder share the budget */
    return PROFCONV_OK;
}

/* ---- life of the state ---- */

static void *message_alloc(void *user, size_t size) { return pfc_arena_alloc(user, size ? size : 1, 16); }
static void message_free(void *user, void *p) {
    (void)user;
    (void)p; /* the arena goes at once */
}

static int state_init(pfc_pprof_reader_state *r, profconv_builder *builder, profconv_error *error) {
    *r = (pfc_pprof_reader_state){0};
    r->builder = builder;
    r->report = profconv_builder_report(builder);
    r->limits = profconv_builder_limits(builder);
    r->error = error;
    pfc_mem_init(&r->mem, profconv_builder_allocator(builder), r->limits->max_memory);
    pfc_arena_init(&r->arena, &r->mem);
    r->allocator.alloc = message_alloc;
    r->allocator.free = message_free;
    r->allocator.allocator_data = &r->arena;
    pfc_spool_init(&r->functions, &r->mem);
    pfc_spool_init(&r->locations, &r->mem);
    pfc_spool_init(&r->samples, &r->mem);
    pfc_pprof_label_set none = {0, 0, 0};
    if (PFC_VEC_PUSH(&r->mem, &r->label_sets, none) || pfc_pprof_trie_init(&r->mem, &r->trie))
        return pfc_mem_error(&r->mem, error);
    if (r->limits->on_limit == PROFCONV_ON_LIMIT_TRUNCATE && r->limits->max_memory != UINT64_MAX)
        r->trie.most = (size_t)(r->limits->max_memory / NODE_COST) + 1;
    return PROFCONV_OK;
}

static void state_free(pfc_pprof_reader_state *r) {
    pfc_mem *mem = &r->mem;
    pfc_arena_free(&r->arena);
    PFC_VEC_FREE(mem, &r->strings);
    PFC_VEC_FREE(mem, &r->types);
    PFC_VEC_FREE(mem, &r->comments);
    PFC_VEC_FREE(mem, &r->ids);
    PFC_VEC_FREE(mem, &r->values);
    PFC_VEC_FREE(mem, &r->columns);
    PFC_VEC_FREE(mem, &r->mappings);
    pfc_idset_free(mem, &r->mapping_ids);
    pfc_spool_free(&r->functions);
    pfc_idset_free(mem, &r->function_ids);
    pfc_spool_free(&r->locations);
    pfc_idset_free(mem, &r->location_ids);
    pfc_pprof_trie_free(mem, &r->trie);
    pfc_spool_free(&r->samples);
    PFC_VEC_FREE(mem, &r->label_bytes);
    PFC_VEC_FREE(mem, &r->label_sets);
    pfc_index_free(mem, &r->label_index);
}

static int pprof_read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                      profconv_error *error) {
    (void)user;
    (void)options;
    int status = profconv_builder_verbatim(builder);
    if (status)
        return profconv_error_set(error, status, PROFCONV_NO_OFFSET, 0, "a pprof is read into an empty builder only");
    pfc_pprof_reader_state r;
    status = state_init(&r, builder, error);
    if (!status)
        status = read_fields(&r, input);
    if (!status && profconv_input_offset(input) == 0)
        status = profconv_error_set(error, PROFCONV_E_FORMAT, 0, 0,
                                    "offset 0x0: empty input, a pprof has at least a string table");
    if (!status)
        status = pfc_pprof_finish(&r);
    state_free(&r);
    return status;
}

static const char *const aliases[] = {"proto", "pb", NULL};
static const char *const suffixes[] = {".pb.gz", ".pprof", ".prof", ".pb", NULL};

const profconv_reader pfc_pprof_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = "pprof",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "pprof protocol buffers of Go, google/pprof and continuous profilers",
    .produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_LINES | PROFCONV_FACET_STACKS |
                PROFCONV_FACET_LABELS | PROFCONV_FACET_BRANCHES,
    .probe = pprof_probe,
    .read = pprof_read,
};
