/* SPDX-License-Identifier: MIT
 *
 * Samples: most of the bytes of most files, so decoded by hand: what protobuf-c would allocate, fill and give back for
 * each one goes straight into arrays that are used again. For 300,000 samples of 59 frames perf counted 0.21 s in the
 * generated code and what took its results over, and 0.13 s so, of 1.3 s in all. A message that does not decode is
 * explained by wire.c, as everywhere.
 */
#include "libprofconv/formats/pprof/reader.h"

#include <string.h>

#include "libprofconv/base/text.h"
#include "profile.pb-c.h"

typedef struct sample_label {
    int64_t key, string, number, unit;
} sample_label;

static uint64_t label_set_rehash(const void *user, uint32_t row) {
    const pfc_pprof_reader_state *r = user;
    const pfc_pprof_label_set *set = &r->label_sets.data[row];
    return pfc_hash_bytes_keyed(r->mem.key, r->label_bytes.data + set->first, set->size);
}

static size_t put_number(uint8_t *out, uint64_t value) {
    size_t n = 0;
    while (value > 0x7f) {
        out[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (uint8_t)value;
    return n;
}

static int label_index(pfc_pprof_reader_state *r, int64_t index, const char *member, uint32_t *out) {
    char what[PFC_PPROF_ENTITY];
    if (pfc_pprof_is_index(index)) {
        *out = (uint32_t)index;
        return PROFCONV_OK;
    }
    pfc_pprof_entity(what, "sample", r->sample_count + 1);
    return pfc_pprof_string_index(r, index, what, member, out);
}

/* Appends one label to label_bytes. */
static int put_label(pfc_pprof_reader_state *r, const sample_label *m) {
    uint32_t key = 0, string = 0, unit = 0;
    int status = label_index(r, m->key, "label key", &key);
    if (!status)
        status = label_index(r, m->string, "label value", &string);
    if (!status)
        status = label_index(r, m->unit, "label unit", &unit);
    if (status)
        return status;
    int64_t number = m->number;
    if (string && (number || unit)) { /* pprof takes the string */
        r->ambiguous_labels++;
        number = 0;
        unit = 0;
    }
    if (PFC_VEC_RESERVE(&r->mem, &r->label_bytes, r->label_bytes.count + 40))
        return pfc_mem_error(&r->mem, r->error);
    uint8_t *out = r->label_bytes.data + r->label_bytes.count;
    size_t n = put_number(out, key);
    n += put_number(out + n, string);
    n += put_number(out + n, pfc_zigzag(number));
    n += put_number(out + n, unit);
    r->label_bytes.count += n;
    return PROFCONV_OK;
}

/* Interns label_bytes from `first` on as a set; drops the bytes again when it was there. */
static int intern_label_set(pfc_pprof_reader_state *r, size_t first, uint32_t *row) {
    size_t size = r->label_bytes.count - first;
    if (size > UINT32_MAX)
        return pfc_pprof_too_many(r, "bytes of labels in one sample");
    const uint8_t *bytes = r->label_bytes.data + first;
    uint64_t hash = pfc_hash_bytes_keyed(r->mem.key, bytes, size);
    if (r->label_index.size != 0) {
        pfc_probe probe = pfc_index_start(&r->label_index, hash);
        uint32_t found;
        while ((found = pfc_index_next(&r->label_index, &probe)) != 0) {
            const pfc_pprof_label_set *set = &r->label_sets.data[found];
            if (set->size == size && memcmp(r->label_bytes.data + set->first, bytes, size) == 0) {
                r->label_bytes.count = first;
                *row = found;
                return PROFCONV_OK;
            }
        }
    }
    if (r->label_sets.count >= PFC_PPROF_ROWS_MAX)
        return pfc_pprof_too_many(r, "label sets");
    pfc_pprof_label_set set = {first, (uint32_t)size, 0};
    if (PFC_VEC_PUSH(&r->mem, &r->label_sets, set))
        return pfc_mem_error(&r->mem, r->error);
    *row = (uint32_t)(r->label_sets.count - 1);
    if (pfc_index_insert(&r->mem, &r->label_index, hash, *row, label_set_rehash, r))
        return pfc_mem_error(&r->mem, r->error);
    return PROFCONV_OK;
}

/* ---- decoding ---- */

static void decode_label(pfc_cursor c, sample_label *label, int *failed) {
    *label = (sample_label){0, 0, 0, 0};
    while (pfc_cursor_left(&c) && !c.failed) {
        uint64_t tag = pfc_wire_varint(&c);
        switch (tag) {
        case PFC_WIRE_TAG(1, PFC_WIRE_VARINT):
            label->key = (int64_t)pfc_wire_varint(&c);
            break;
        case PFC_WIRE_TAG(2, PFC_WIRE_VARINT):
            label->string = (int64_t)pfc_wire_varint(&c);
            break;
        case PFC_WIRE_TAG(3, PFC_WIRE_VARINT):
            label->number = (int64_t)pfc_wire_varint(&c);
            break;
        case PFC_WIRE_TAG(4, PFC_WIRE_VARINT):
            label->unit = (int64_t)pfc_wire_varint(&c);
            break;
        default:
            pfc_wire_other(&c, tag, 4);
            break;
        }
    }
    *failed |= c.failed;
}

/* Appends the numbers of a packed field: each has at least one byte, which bounds the room they need. */
static int decode_packed(pfc_pprof_reader_state *r, pfc_cursor sub, pfc_pprof_numbers *out, int *failed) {
    if (PFC_VEC_RESERVE(&r->mem, out, out->count + pfc_cursor_left(&sub) + 1))
        return pfc_mem_error(&r->mem, r->error);
    uint64_t *numbers = out->data + out->count;
    size_t count = 0;
    while (pfc_cursor_left(&sub) && !sub.failed)
        numbers[count++] = pfc_wire_varint(&sub);
    out->count += count;
    *failed |= sub.failed;
    return PROFCONV_OK;
}

static int decode_one(pfc_pprof_reader_state *r, pfc_cursor *c, pfc_pprof_numbers *out) {
    uint64_t number = pfc_wire_varint(c);
    return PFC_VEC_PUSH(&r->mem, out, number) ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

/* The tree of stacks takes the bytes as they are, if they are all there is and nothing will be cut off; each number has at
 * least one byte, so the depth is at most their number. */
static int packed_ids(pfc_pprof_reader_state *r, pfc_cursor sub, int *failed) {
    if (r->ids.count == 0 && pfc_cursor_left(&r->packed) == 0 && pfc_cursor_left(&sub) <= r->limits->max_depth &&
        r->trie.most == 0) {
        r->packed = sub;
        *failed |= sub.failed;
        return PROFCONV_OK;
    }
    return decode_packed(r, sub, &r->ids, failed);
}

/* Ids that do not stand in one packed field are numbers, all of them. */
static int unpack_ids(pfc_pprof_reader_state *r, int *failed) {
    pfc_cursor sub = r->packed;
    r->packed.size = 0;
    return pfc_cursor_left(&sub) ? decode_packed(r, sub, &r->ids, failed) : PROFCONV_OK;
}

/* Fills r->packed or r->ids, r->values and, from where it ends, r->label_bytes. *failed: not a valid message. */
static int decode_sample(pfc_pprof_reader_state *r, const uint8_t *data, size_t size, int *failed) {
    pfc_cursor c = pfc_cursor_make(data, size, r->offset, 0);
    int status = PROFCONV_OK;
    r->packed.size = 0;
    r->ids.count = 0;
    r->values.count = 0;
    while (!status && pfc_cursor_left(&c) && !c.failed) {
        uint64_t tag = pfc_wire_varint(&c);
        sample_label label;
        switch (tag) {
        case PFC_WIRE_TAG(1, PFC_WIRE_BYTES):
            status = unpack_ids(r, &c.failed);
            if (!status)
                status = packed_ids(r, pfc_sub(&c, pfc_wire_varint(&c)), &c.failed);
            break;
        case PFC_WIRE_TAG(1, PFC_WIRE_VARINT):
            status = unpack_ids(r, &c.failed);
            if (!status)
                status = decode_one(r, &c, &r->ids);
            break;
        case PFC_WIRE_TAG(2, PFC_WIRE_BYTES):
            status = decode_packed(r, pfc_sub(&c, pfc_wire_varint(&c)), &r->values, &c.failed);
            break;
        case PFC_WIRE_TAG(2, PFC_WIRE_VARINT):
            status = decode_one(r, &c, &r->values);
            break;
        case PFC_WIRE_TAG(3, PFC_WIRE_BYTES):
            decode_label(pfc_sub(&c, pfc_wire_varint(&c)), &label, &c.failed);
            if (!c.failed)
                status = put_label(r, &label);
            break;
        default:
            pfc_wire_other(&c, tag, 3);
            break;
        }
    }
    *failed = c.failed;
    return status;
}

/* on_limit=truncate: the sample is charged to the outer part of its stack. */
static void count_shortened(pfc_pprof_reader_state *r) {
    int overflow = 0;
    r->shortened_stacks++;
    if (r->values.count)
        r->shortened_weight =
            pfc_add_sat_i64(r->shortened_weight, (int64_t)r->values.data[r->values.count - 1], &overflow);
}

/* *failed: not a valid message. */
static int find_stack(pfc_pprof_reader_state *r, uint32_t *stack, int *failed) {
    size_t cut = 0, depth = r->ids.count;
    int status;
    if (depth > r->limits->max_depth) { /* leaf first: what goes is at the root */
        depth = r->limits->max_depth;
        r->truncated_stacks++;
    }
    if (pfc_cursor_left(&r->packed))
        status = pfc_pprof_trie_packed(&r->mem, &r->trie, r->packed.data, r->packed.size, stack, failed);
    else
        status = pfc_pprof_trie_stack(&r->mem, &r->trie, r->ids.data, depth, stack, &cut);
    if (status)
        return r->mem.failed ? pfc_mem_error(&r->mem, r->error) : pfc_pprof_too_many(r, "stack nodes");
    if (cut)
        count_shortened(r);
    return PROFCONV_OK;
}

static int keep_sample(pfc_pprof_reader_state *r, uint32_t stack, uint32_t labels) {
    pfc_spool_put(&r->samples, stack);
    pfc_spool_put(&r->samples, labels);
    pfc_spool_put(&r->samples, r->values.count);
    for (size_t i = 0; i < r->values.count; i++)
        pfc_spool_put(&r->samples, pfc_zigzag((int64_t)r->values.data[i]));
    r->sample_count++;
    return r->samples.failed ? pfc_mem_error(&r->mem, r->error) : PROFCONV_OK;
}

int pfc_pprof_read_sample(pfc_pprof_reader_state *r, const uint8_t *data, size_t size) {
    char what[PFC_PPROF_ENTITY];
    int failed = 0;
    uint32_t labels = 0, stack = 0;
    size_t first_label = r->label_bytes.count;
    if (r->sample_count >= PFC_PPROF_ROWS_MAX)
        return pfc_pprof_too_many(r, "samples");
    int status = decode_sample(r, data, size, &failed);
    if (!status && !failed)
        status = find_stack(r, &stack, &failed);
    if (!status && failed) {
        pfc_pprof_entity(what, "sample", r->sample_count + 1);
        return pfc_wire_explain(&perftools__profiles__sample__descriptor, data, size, r->offset, what, r->error);
    }
    if (!status && r->label_bytes.count > first_label)
        status = intern_label_set(r, first_label, &labels);
    return status ? status : keep_sample(r, stack, labels);
}
