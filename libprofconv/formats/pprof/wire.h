/* SPDX-License-Identifier: MIT
 *
 * The protobuf wire format at the top level of a profile, and the finding of faults inside submessages.
 */
#ifndef PFC_PPROF_WIRE_H
#define PFC_PPROF_WIRE_H

#include <profconv/base.h>
#include <protobuf-c/protobuf-c.h>

#include "libprofconv/base/cursor.h"

/* Wire types that pprof files may contain; groups (3, 4) have no place in them. */
enum { PFC_WIRE_VARINT = 0, PFC_WIRE_FIXED64 = 1, PFC_WIRE_BYTES = 2, PFC_WIRE_FIXED32 = 5 };

typedef struct pfc_wire_field {
    uint64_t number;
    uint64_t value;      /* of the scalar wire types */
    const uint8_t *data; /* PFC_WIRE_BYTES */
    size_t size;         /* PFC_WIRE_BYTES */
    size_t total;        /* bytes of the field, its tag included */
    unsigned wire;
} pfc_wire_field;

typedef enum pfc_wire_status {
    PFC_WIRE_OK,
    PFC_WIRE_MORE, /* the field goes on past the bytes given; *need is a size that is known to be needed */
    PFC_WIRE_LONG, /* a number of more than 10 bytes */
    PFC_WIRE_TYPE  /* wire type 3, 4, 6 or 7; field->wire and number are set */
} pfc_wire_status;

/* A number of one or two bytes, which is what most have, without a call. */
static inline uint64_t pfc_wire_varint(pfc_cursor *c) {
    size_t at = c->at;
    if (c->size - at >= 2 && !c->failed) {
        uint8_t low = c->data[at], high = c->data[at + 1];
        if (low < 0x80) {
            c->at = at + 1;
            return low;
        }
        if (high < 0x80) {
            c->at = at + 2;
            return (uint64_t)(low & 0x7f) | (uint64_t)high << 7;
        }
    }
    return pfc_uleb(c);
}

/* What a tag says of a field that is well formed. */
#define PFC_WIRE_TAG(field, wire) ((field) << 3 | (wire))
/* Passes over a field that has none of the tags that are wanted: fine when its number is not in use (1 to `known` are). */
void pfc_wire_other(pfc_cursor *c, uint64_t tag, unsigned known);

/* The field at the start of data[0..size), size > 0. */
pfc_wire_status pfc_wire_next(const uint8_t *data, size_t size, pfc_wire_field *field, uint64_t *need);

/* Why protobuf-c refuses `data` as a message of this kind: fills error with the place and returns PROFCONV_E_FORMAT.
 * `what` names the message ("sample 12"), `offset` is that of data[0]. */
int pfc_wire_explain(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, uint64_t offset,
                     const char *what, profconv_error *error);

/* Nonzero when data[0..size) reads as a message of this kind. Where `cut` is nonzero, the last field may be incomplete.
 * This is for detection: fields of later versions of the format are taken only after known ones. */
int pfc_wire_plausible(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, int cut);

/* The wire type that field `number` must have; *packed is set where packed bytes will do as well. -1: no such field. */
int pfc_wire_expected(const ProtobufCMessageDescriptor *type, uint64_t number, int *packed);

#endif
