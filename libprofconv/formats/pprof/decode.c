/* SPDX-License-Identifier: MIT
 *
 * Submessages, kept in compact form. What refers to what is checked at the end; here only what no later field can put
 * right. The generated code decodes tables into an arena that is used again for the next row; samples, which are most
 * of every file, are in sample.c.
 */
#include "libprofconv/formats/pprof/reader.h"

#include <inttypes.h>
#include <string.h>

#include "libprofconv/base/text.h"
#include "profile.pb-c.h"

static int bad_message(pfc_pprof_reader_state *r, const ProtobufCMessageDescriptor *type, const uint8_t *data,
                       size_t size, const char *what) {
    if (r->mem.failed)
        return pfc_mem_error(&r->mem, r->error);
    return pfc_wire_explain(type, data, size, r->offset, what, r->error);
}

int pfc_pprof_too_many(pfc_pprof_reader_state *r, const char *what) {
    return profconv_error_set(r->error, PROFCONV_E_LIMIT, r->offset, 0, "offset 0x%" PRIx64 ": more than %u %s",
                              r->offset, PFC_PPROF_ROWS_MAX, what);
}

static int spool_status(pfc_pprof_reader_state *r, const pfc_spool *spool) {
    return spool->failed ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

int pfc_pprof_string_index(pfc_pprof_reader_state *r, int64_t index, const char *what, const char *member,
                           uint32_t *out) {
    if (!pfc_pprof_is_index(index))
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": %s: %s is string %" PRId64 ", which no string table has",
                                  r->offset, what, member, index);
    *out = (uint32_t)index;
    return PROFCONV_OK;
}

/* Two profiles in one file are one to protobuf, with the lists of the second added to those of the first. */
const char *pfc_pprof_concatenated(const pfc_pprof_reader_state *r) {
    size_t half = r->types.count / 2;
    if (half == 0 || r->types.count != 2 * half)
        return "";
    for (size_t i = 0; i < half; i++)
        if (r->types.data[i].type != r->types.data[half + i].type ||
            r->types.data[i].unit != r->types.data[half + i].unit)
            return "";
    return " (concatenated profiles? the sample types are there twice; split the file)";
}

/* Registers an id: nonzero, and the first of its kind. `kind` is "location". */
static int add_id(pfc_pprof_reader_state *r, pfc_idset *set, uint64_t id, const char *kind) {
    if (id == 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": %s %" PRIu64 " has id 0, which is not allowed", r->offset,
                                  kind, (uint64_t)set->count + 1);
    if (pfc_idset_find(set, id))
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": second %s with id %" PRIu64 "%s", r->offset, kind, id,
                                  pfc_pprof_concatenated(r));
    if (set->count >= PFC_PPROF_ROWS_MAX)
        return pfc_pprof_too_many(r, kind);
    return pfc_idset_add(&r->mem, set, id) ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

int pfc_pprof_read_type(pfc_pprof_reader_state *r, const uint8_t *data, size_t size, int period) {
    char what[PFC_PPROF_ENTITY] = "period_type";
    if (!period)
        pfc_pprof_entity(what, "sample type", (uint64_t)r->types.count + 1);
    Perftools__Profiles__ValueType *m = perftools__profiles__value_type__unpack(&r->allocator, size, data);
    if (!m)
        return bad_message(r, &perftools__profiles__value_type__descriptor, data, size, what);
    pfc_pprof_type type = {0, 0};
    int status = pfc_pprof_string_index(r, m->type, what, "type", &type.type);
    if (!status)
        status = pfc_pprof_string_index(r, m->unit, what, "unit", &type.unit);
    if (status)
        return status;
    if (period) { /* given twice, messages unite field by field */
        if (type.type)
            r->period_type.type = type.type;
        if (type.unit)
            r->period_type.unit = type.unit;
        return PROFCONV_OK;
    }
    if (r->types.count >= UINT16_MAX)
        return profconv_error_set(r->error, PROFCONV_E_LIMIT, r->offset, 0,
                                  "offset 0x%" PRIx64 ": more than %u sample types", r->offset, UINT16_MAX);
    return PFC_VEC_PUSH(&r->mem, &r->types, type) ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

void pfc_pprof_entity(char out[PFC_PPROF_ENTITY], const char *kind, uint64_t number) {
    size_t n = strlen(kind);
    memcpy(out, kind, n);
    out[n++] = ' ';
    n += pfc_format_u64(out + n, number);
    out[n] = 0;
}

int pfc_pprof_read_mapping(pfc_pprof_reader_state *r, const uint8_t *data, size_t size) {
    Perftools__Profiles__Mapping *m = perftools__profiles__mapping__unpack(&r->allocator, size, data);
    if (!m)
        return bad_message(r, &perftools__profiles__mapping__descriptor, data, size, "mapping");
    char what[PFC_PPROF_ENTITY];
    pfc_pprof_entity(what, "mapping id", m->id);
    pfc_pprof_mapping row = {m->memory_start, m->memory_limit, m->file_offset, 0, 0, 0};
    int status = add_id(r, &r->mapping_ids, m->id, "mapping");
    if (!status)
        status = pfc_pprof_string_index(r, m->filename, what, "filename", &row.file);
    if (!status)
        status = pfc_pprof_string_index(r, m->build_id, what, "build_id", &row.build_id);
    if (status)
        return status;
    row.flags = (m->has_functions ? (uint32_t)PROFCONV_MAPPING_HAS_FUNCTIONS : 0) |
                (m->has_filenames ? (uint32_t)PROFCONV_MAPPING_HAS_FILENAMES : 0) |
                (m->has_line_numbers ? (uint32_t)PROFCONV_MAPPING_HAS_LINE_NUMBERS : 0) |
                (m->has_inline_frames ? (uint32_t)PROFCONV_MAPPING_HAS_INLINE_FRAMES : 0);
    return PFC_VEC_PUSH(&r->mem, &r->mappings, row) ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

/* Appends function id, line and column to r->ids. */
static int decode_line(pfc_pprof_reader_state *r, pfc_cursor c, int *failed) {
    if (PFC_VEC_RESERVE(&r->mem, &r->ids, r->ids.count + 3))
        return pfc_mem_error(&r->mem, r->error);
    uint64_t *numbers = r->ids.data + r->ids.count;
    memset(numbers, 0, 3 * sizeof *numbers);
    r->ids.count += 3;
    while (pfc_cursor_left(&c) && !c.failed) {
        uint64_t tag = pfc_wire_varint(&c);
        if (tag == PFC_WIRE_TAG(1, PFC_WIRE_VARINT) || tag == PFC_WIRE_TAG(2, PFC_WIRE_VARINT) ||
            tag == PFC_WIRE_TAG(3, PFC_WIRE_VARINT))
            numbers[(tag >> 3) - 1] = pfc_wire_varint(&c);
        else
            pfc_wire_other(&c, tag, 3);
    }
    *failed |= c.failed;
    return PROFCONV_OK;
}

typedef struct location_fields {
    uint64_t id, mapping, address, folded;
} location_fields;

/* Its lines are put into r->ids, three numbers each. */
static int decode_location(pfc_pprof_reader_state *r, pfc_cursor c, location_fields *m, int *failed) {
    int status = PROFCONV_OK;
    *m = (location_fields){0};
    r->ids.count = 0;
    while (!status && pfc_cursor_left(&c) && !c.failed) {
        uint64_t tag = pfc_wire_varint(&c);
        switch (tag) {
        case PFC_WIRE_TAG(1, PFC_WIRE_VARINT):
            m->id = pfc_wire_varint(&c);
            break;
        case PFC_WIRE_TAG(2, PFC_WIRE_VARINT):
            m->mapping = pfc_wire_varint(&c);
            break;
        case PFC_WIRE_TAG(3, PFC_WIRE_VARINT):
            m->address = pfc_wire_varint(&c);
            break;
        case PFC_WIRE_TAG(4, PFC_WIRE_BYTES):
            status = decode_line(r, pfc_sub(&c, pfc_wire_varint(&c)), &c.failed);
            break;
        case PFC_WIRE_TAG(5, PFC_WIRE_VARINT):
            m->folded = pfc_wire_varint(&c);
            break;
        default:
            pfc_wire_other(&c, tag, 5);
            break;
        }
    }
    *failed = c.failed;
    return status;
}

/* By hand, as samples are: many profiles have more locations than samples. */
int pfc_pprof_read_location(pfc_pprof_reader_state *r, const uint8_t *data, size_t size) {
    location_fields m;
    int failed;
    int status = decode_location(r, pfc_cursor_make(data, size, r->offset, 0), &m, &failed);
    if (!status && failed)
        return bad_message(r, &perftools__profiles__location__descriptor, data, size, "location");
    if (!status)
        status = add_id(r, &r->location_ids, m.id, "location");
    if (status)
        return status;
    size_t lines = r->ids.count / 3;
    if (lines > PFC_PPROF_ROWS_MAX)
        return pfc_pprof_too_many(r, "lines in a location");
    pfc_spool_put(&r->locations, m.mapping);
    pfc_spool_put(&r->locations, m.address);
    pfc_spool_put(&r->locations, m.folded ? PROFCONV_LOCATION_FOLDED : 0);
    pfc_spool_put(&r->locations, lines);
    for (size_t i = 0; i < lines; i++) {
        const uint64_t *line = &r->ids.data[3 * i];
        pfc_spool_put(&r->locations, line[0]);
        pfc_spool_put(&r->locations, pfc_zigzag((int64_t)line[1]));
        pfc_spool_put(&r->locations, pfc_zigzag((int64_t)line[2]));
    }
    return spool_status(r, &r->locations);
}

int pfc_pprof_read_function(pfc_pprof_reader_state *r, const uint8_t *data, size_t size) {
    Perftools__Profiles__Function *m = perftools__profiles__function__unpack(&r->allocator, size, data);
    if (!m)
        return bad_message(r, &perftools__profiles__function__descriptor, data, size, "function");
    char what[PFC_PPROF_ENTITY];
    uint32_t name = 0, linkage = 0, file = 0;
    pfc_pprof_entity(what, "function id", m->id);
    int status = add_id(r, &r->function_ids, m->id, "function");
    if (!status)
        status = pfc_pprof_string_index(r, m->name, what, "name", &name);
    if (!status)
        status = pfc_pprof_string_index(r, m->system_name, what, "system_name", &linkage);
    if (!status)
        status = pfc_pprof_string_index(r, m->filename, what, "filename", &file);
    if (status)
        return status;
    pfc_spool_put(&r->functions, name);
    pfc_spool_put(&r->functions, linkage);
    pfc_spool_put(&r->functions, file);
    pfc_spool_put(&r->functions, pfc_zigzag(m->start_line));
    return spool_status(r, &r->functions);
}
