/* SPDX-License-Identifier: MIT
 *
 * Walks protobuf fields within the bytes at hand. protobuf-c says no more about a bad message than that it is bad, so
 * the faults that it refuses (pprof tools refuse the same) are looked for here again, to be named.
 */
#include "libprofconv/formats/pprof/wire.h"

#include <inttypes.h>

#include "libprofconv/base/cursor.h"

#define NUMBER_MAX 10u /* bytes of the longest number */

static pfc_wire_status wire_number(pfc_cursor *c, uint64_t *value) {
    size_t left = pfc_cursor_left(c);
    *value = pfc_uleb(c);
    if (!c->failed)
        return PFC_WIRE_OK;
    return left >= NUMBER_MAX ? PFC_WIRE_LONG : PFC_WIRE_MORE;
}

static pfc_wire_status wire_payload(pfc_cursor *c, pfc_wire_field *field, uint64_t *need) {
    uint64_t size;
    pfc_wire_status status;
    switch (field->wire) {
    case PFC_WIRE_VARINT:
        return wire_number(c, &field->value);
    case PFC_WIRE_FIXED64:
        field->value = pfc_u64(c);
        return c->failed ? PFC_WIRE_MORE : PFC_WIRE_OK;
    case PFC_WIRE_FIXED32:
        field->value = pfc_u32(c);
        return c->failed ? PFC_WIRE_MORE : PFC_WIRE_OK;
    case PFC_WIRE_BYTES:
        status = wire_number(c, &size);
        if (status != PFC_WIRE_OK)
            return status;
        if (size > pfc_cursor_left(c)) {
            *need = size > UINT64_MAX - c->at ? UINT64_MAX : c->at + size;
            return PFC_WIRE_MORE;
        }
        field->size = (size_t)size;
        field->data = pfc_take(c, field->size);
        return PFC_WIRE_OK;
    default:
        return PFC_WIRE_TYPE;
    }
}

pfc_wire_status pfc_wire_next(const uint8_t *data, size_t size, pfc_wire_field *field, uint64_t *need) {
    pfc_cursor c = pfc_cursor_make(data, size, 0, 0);
    uint64_t tag;
    *field = (pfc_wire_field){0};
    *need = (uint64_t)size + 1;
    pfc_wire_status status = wire_number(&c, &tag);
    if (status != PFC_WIRE_OK)
        return status;
    field->number = tag >> 3;
    field->wire = (unsigned)(tag & 7);
    status = wire_payload(&c, field, need);
    field->total = c.at;
    return status;
}

static void skip_field(pfc_cursor *c, uint64_t tag) {
    switch (tag & 7) {
    case PFC_WIRE_VARINT:
        pfc_uleb(c);
        break;
    case PFC_WIRE_FIXED64:
        pfc_skip(c, 8);
        break;
    case PFC_WIRE_BYTES:
        pfc_skip(c, pfc_uleb(c));
        break;
    case PFC_WIRE_FIXED32:
        pfc_skip(c, 4);
        break;
    default:
        c->failed = 1;
        break;
    }
}

void pfc_wire_other(pfc_cursor *c, uint64_t tag, unsigned known) {
    if (tag >> 3 >= 1 && tag >> 3 <= known)
        c->failed = 1; /* wrong wire type */
    else
        skip_field(c, tag);
}

static const ProtobufCFieldDescriptor *wire_descriptor(const ProtobufCMessageDescriptor *type, uint64_t number) {
    if (number == 0 || number > UINT32_MAX >> 3)
        return NULL;
    return protobuf_c_message_descriptor_get_field(type, (unsigned)number);
}

int pfc_wire_expected(const ProtobufCMessageDescriptor *type, uint64_t number, int *packed) {
    const ProtobufCFieldDescriptor *field = wire_descriptor(type, number);
    *packed = 0;
    if (!field)
        return -1;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
        return PFC_WIRE_BYTES;
    *packed = field->label == PROTOBUF_C_LABEL_REPEATED;
    return PFC_WIRE_VARINT;
}

/* The fault inside a field that has its right wire type: "" when there is none. */
static int explain_packed(const ProtobufCFieldDescriptor *descriptor, const pfc_wire_field *field, uint64_t offset,
                          const char *what, profconv_error *error) {
    pfc_cursor c = pfc_cursor_make(field->data, field->size, offset, 0);
    while (pfc_cursor_left(&c)) {
        uint64_t at = pfc_cursor_offset(&c);
        uint64_t value;
        pfc_wire_status status = wire_number(&c, &value);
        if (status != PFC_WIRE_OK)
            return profconv_error_set(error, PROFCONV_E_FORMAT, at, 0, "offset 0x%" PRIx64 ": %s: %s in packed %s", at,
                                      what, status == PFC_WIRE_LONG ? "number of more than 10 bytes" : "number cut off",
                                      descriptor->name);
    }
    return PROFCONV_OK;
}

/* Depth is that of the schema (sample > label, location > line), never that of the input. */
static int explain(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, uint64_t offset,
                   const char *what, profconv_error *error) {
    size_t at = 0;
    while (at < size) {
        pfc_wire_field field;
        uint64_t need;
        uint64_t place = offset + at;
        pfc_wire_status status = pfc_wire_next(data + at, size - at, &field, &need);
        if (status == PFC_WIRE_MORE)
            return profconv_error_set(error, PROFCONV_E_FORMAT, place, 0,
                                      "offset 0x%" PRIx64 ": %s: field %" PRIu64 " goes on past the end of the message",
                                      place, what, field.number);
        if (status == PFC_WIRE_LONG)
            return profconv_error_set(error, PROFCONV_E_FORMAT, place, 0,
                                      "offset 0x%" PRIx64 ": %s: number of more than 10 bytes", place, what);
        if (status == PFC_WIRE_TYPE)
            return profconv_error_set(error, PROFCONV_E_FORMAT, place, 0,
                                      "offset 0x%" PRIx64 ": %s: field %" PRIu64
                                      " has wire type %u, which pprof never uses",
                                      place, what, field.number, field.wire);
        int packed;
        int expected = pfc_wire_expected(type, field.number, &packed);
        const ProtobufCFieldDescriptor *descriptor = expected < 0 ? NULL : wire_descriptor(type, field.number);
        if (expected >= 0 && (unsigned)expected != field.wire && !(packed && field.wire == PFC_WIRE_BYTES))
            return profconv_error_set(error, PROFCONV_E_FORMAT, place, 0,
                                      "offset 0x%" PRIx64 ": %s: %s (field %" PRIu64 ") has wire type %u, expected %d",
                                      place, what, descriptor->name, field.number, field.wire, expected);
        if (descriptor && field.wire == PFC_WIRE_BYTES) {
            uint64_t inside = place + field.total - field.size;
            int bad = packed ? explain_packed(descriptor, &field, inside, what, error) : PROFCONV_OK;
            if (!bad && descriptor->type == PROTOBUF_C_TYPE_MESSAGE)
                bad = explain(descriptor->descriptor, field.data, field.size, inside, what, error);
            if (bad)
                return bad;
        }
        at += field.total;
    }
    return PROFCONV_OK;
}

int pfc_wire_explain(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, uint64_t offset,
                     const char *what, profconv_error *error) {
    int status = explain(type, data, size, offset, what, error);
    if (status)
        return status;
    return profconv_error_set(error, PROFCONV_E_FORMAT, offset, 0, "offset 0x%" PRIx64 ": %s cannot be decoded", offset,
                              what);
}

int pfc_wire_plausible(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, int cut) {
    size_t at = 0;
    unsigned known = 0;
    while (at < size) {
        pfc_wire_field field;
        uint64_t need;
        int packed;
        pfc_wire_status status = pfc_wire_next(data + at, size - at, &field, &need);
        if (status == PFC_WIRE_MORE && field.number == 0)
            return cut; /* not even the tag is there */
        if (status == PFC_WIRE_LONG || status == PFC_WIRE_TYPE || field.number == 0)
            return 0;
        int expected = pfc_wire_expected(type, field.number, &packed);
        if (expected < 0 ? known == 0 : (unsigned)expected != field.wire && !(packed && field.wire == PFC_WIRE_BYTES))
            return 0;
        if (status == PFC_WIRE_MORE)
            return cut;
        const ProtobufCFieldDescriptor *descriptor = wire_descriptor(type, field.number);
        known += descriptor != NULL;
        if (descriptor && descriptor->type == PROTOBUF_C_TYPE_MESSAGE &&
            !pfc_wire_plausible(descriptor->descriptor, field.data, field.size, 0))
            return 0;
        at += field.total;
    }
    return 1;
}
