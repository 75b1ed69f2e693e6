/* SPDX-License-Identifier: MIT
 *
 * The file around the records: magic, version, byte order, the sections of attributes and ids, and the table of
 * features, for files that can seek and for files that come through a pipe or gzip. Only faults of the header or
 * of the attributes fail a file.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define HEADER_V2 104
#define HEADER_OLD 72
#define MAX_PREFIX (16u << 20)   /* bytes before the data that an input without seeking is asked to hold */
#define MAX_SUFFIX (64u << 20)   /* and behind it */
#define MAX_SECTION (64u << 20)  /* one feature section */

static int format_error(pd_reader *r, uint64_t offset, const char *text) {
    return profconv_error_set(r->error, PROFCONV_E_FORMAT, offset, 0, "offset 0x%llx: %s", (unsigned long long)offset,
                              text);
}

/* Byte order of a file whose magic does not say it (version 1). */
static int version1_order(const uint8_t *head, size_t size) {
    if (size >= 16 && pfc_load64(head + 8, 0) == 16)
        return 0;
    if (size >= 16 && pfc_load64(head + 8, 1) == 16)
        return 1;
    if (size < 24)
        return -1;
    uint64_t little = pfc_load64(head + 16, 0), big = pfc_load64(head + 16, 1);
    if (little >= 64 + 16 && little <= 4096)
        return 0;
    return big >= 64 + 16 && big <= 4096 ? 1 : -1;
}

static int read_magic(pd_reader *r, const uint8_t *head, size_t size) {
    if (size >= 8 && memcmp(head, "PERFILE2", 8) == 0) {
        r->version = 2;
        r->big = 0;
    } else if (size >= 8 && memcmp(head, "2ELIFREP", 8) == 0) {
        r->version = 2;
        r->big = 1;
    } else if (size >= 8 && memcmp(head, "PERFFILE", 8) == 0) {
        r->version = 1;
        r->big = version1_order(head, size);
        if (r->big < 0)
            return format_error(r, 8, "a version 1 header whose sizes fit neither byte order");
    } else
        return format_error(r, 0, "no perf.data magic (PERFILE2)");
    if (size < 16)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, size, 0,
                                  "offset 0x%zx: the input ends inside the header, 16 bytes at least needed", size);
    return 0;
}

/* Bitmap of features: an array of the writer's `unsigned long`, so a big-endian 32-bit writer swaps words of 4. */
static void read_bitmap(pd_reader *r, const uint8_t *p) {
    uint64_t *f = r->header.features;
    for (int i = 0; i < 4; i++)
        f[i] = pfc_load64(p + 8 * i, r->big);
    if (!r->big || (f[0] >> 3 & 1) || (f[0] | f[1] | f[2] | f[3]) == 0)
        return;
    for (int i = 0; i < 4; i++)
        f[i] = (uint64_t)pfc_load32(p + 8 * i + 4, 1) << 32 | pfc_load32(p + 8 * i, 1);
    if (f[0] >> 3 & 1)
        return;
    memset(f, 0, sizeof r->header.features);
    f[0] = 1u << 2;
}

/* `size` bytes at an absolute offset into buf; *got may be less at the end. */
static int fetch(pd_reader *r, uint64_t offset, void *buf, size_t size, size_t *got) {
    *got = 0;
    if (r->can_seek)
        return profconv_input_read_at(r->input, offset, buf, size, got, r->error);
    if (offset < r->prefix_size) {
        size_t n = r->prefix_size - (size_t)offset;
        *got = n < size ? n : size;
        memcpy(buf, r->prefix + offset, *got);
    }
    return 0;
}

static int read_ids(pd_reader *r, uint64_t offset, uint64_t size, uint32_t event) {
    uint8_t block[4096];
    uint64_t count = size / 8;
    if (offset > r->file_size || (r->file_size != UINT64_MAX && count > (r->file_size - offset) / 8)) {
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "bad-ids", 1, 0, offset, 0,
                            "ids of event %u: %llu at offset 0x%llx pass the end of the file", event,
                            (unsigned long long)count, (unsigned long long)offset);
        count = offset > r->file_size ? 0 : (r->file_size - offset) / 8;
        if (count > 65536) /* damaged: do not take the whole file for ids */
            count = 65536;
    }
    while (count > 0) {
        size_t want = count * 8 < sizeof block ? (size_t)count * 8 : sizeof block, got = 0;
        int rc = fetch(r, offset, block, want, &got);
        if (rc)
            return rc;
        if (got < 8)
            break;
        for (size_t i = 0; i + 8 <= got; i += 8)
            if ((rc = pd_event_add_id(r, pfc_load64(block + i, r->big), event)) != 0)
                return rc;
        offset += got & ~(size_t)7;
        count -= got / 8;
    }
    return 0;
}

static int read_attrs(pd_reader *r) {
    const pd_header *h = &r->header;
    if (h->attrs.size == 0 || h->attrs.size < h->attr_size) {
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "no-attributes", 1, 0, 24, 0,
                            "attributes section of %llu bytes, no event is described there",
                            (unsigned long long)h->attrs.size);
        return 0;
    }
    if (h->attr_size < 64 + 16 || h->attr_size > 65536)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, 16, 0,
                                  "offset 0x10: attribute entries of %llu bytes, 80 to 65536 possible",
                                  (unsigned long long)h->attr_size);
    uint64_t end = h->attrs.offset + h->attrs.size;
    if (end < h->attrs.offset || (r->file_size != UINT64_MAX && end > r->file_size))
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, 24, 0,
                                  "offset 0x18: attributes section at 0x%llx, %llu bytes, passes the end of the file",
                                  (unsigned long long)h->attrs.offset, (unsigned long long)h->attrs.size);
    if (!r->can_seek && end > r->prefix_size)
        return profconv_error_set(r->error, PROFCONV_E_UNSUPPORTED, 24, 0,
                                  "offset 0x18: the attributes lie behind the data; the input must be a file that can seek");
    size_t stride = (size_t)h->attr_size;
    uint8_t *entry = (uint8_t *)pfc_alloc(&r->mem, stride);
    if (!entry)
        return pd_failed(r);
    int rc = 0;
    for (uint64_t at = h->attrs.offset; rc == 0 && at + stride <= end; at += stride) {
        size_t got = 0;
        rc = fetch(r, at, entry, stride, &got);
        if (rc || got < stride) {
            rc = rc ? rc : format_error(r, at, "the file ends inside the attributes");
            break;
        }
        pd_attr attr;
        pd_attr_decode(&attr, entry, stride - 16, r->big);
        uint32_t event = (uint32_t)r->events.count;
        rc = pd_event_add(r, &attr);
        if (rc == 0)
            rc = read_ids(r, pfc_load64(entry + stride - 16, r->big), pfc_load64(entry + stride - 8, r->big), event);
    }
    pfc_free(&r->mem, entry, stride);
    return rc;
}

/* Calls pd_feature for every section; `suffix` holds the bytes from `base` on when the input cannot seek. */
static int read_features(pd_reader *r, const uint8_t *suffix, size_t suffix_size, uint64_t base) {
    uint64_t at = base;
    for (uint32_t bit = 0; bit < 256; bit++) {
        if (!(r->header.features[bit / 64] >> (bit % 64) & 1))
            continue;
        uint8_t entry[16];
        size_t got = 0;
        if (r->can_seek) {
            int rc = profconv_input_read_at(r->input, at, entry, 16, &got, r->error);
            if (rc)
                return rc;
        } else if (at - base + 16 <= suffix_size) {
            memcpy(entry, suffix + (at - base), 16);
            got = 16;
        }
        if (got < 16) {
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "features-truncated", 1, 0, at, 0,
                                "the file ends inside the table of features, at feature %u", bit);
            return 0;
        }
        at += 16;
        uint64_t offset = pfc_load64(entry, r->big), size = pfc_load64(entry + 8, r->big);
        if (size == 0)
            continue;
        uint64_t limit = r->can_seek ? r->file_size : base + suffix_size;
        if (size > MAX_SECTION || offset > limit || size > limit - offset || (!r->can_seek && offset < base)) {
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "bad-feature", 1, 0, at - 16, 0,
                                "feature %u: section at 0x%llx, %llu bytes, lies outside the file", bit,
                                (unsigned long long)offset, (unsigned long long)size);
            continue;
        }
        if (!r->can_seek) {
            pd_feature(r, bit, suffix + (offset - base), (size_t)size, offset);
            continue;
        }
        uint8_t *data = (uint8_t *)pfc_alloc(&r->mem, (size_t)size);
        if (!data)
            return pd_failed(r);
        int rc = profconv_input_read_at(r->input, offset, data, (size_t)size, &got, r->error);
        if (rc == 0)
            pd_feature(r, bit, data, got, offset);
        pfc_free(&r->mem, data, (size_t)size);
        if (rc)
            return rc;
    }
    return 0;
}

static int check_data(pd_reader *r) {
    pd_header *h = &r->header;
    if (h->data.size == 0) {
        h->killed = 1;
        memset(h->features, 0, sizeof h->features);
        h->data.size = UINT64_MAX;
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "interrupted-recording", 1, 0, 48, 0,
                            "the recorder did not finish (data size 0): records are read up to the end of the file, "
                            "without host, event names and build-ids");
    }
    if (r->file_size != UINT64_MAX) {
        if (h->data.offset > r->file_size)
            return profconv_error_set(r->error, PROFCONV_E_FORMAT, 40, 0,
                                      "offset 0x28: data section at 0x%llx, the file has %llu bytes",
                                      (unsigned long long)h->data.offset, (unsigned long long)r->file_size);
        if (h->killed)
            h->data.size = r->file_size - h->data.offset;
        else if (h->data.size > r->file_size - h->data.offset) {
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "truncated", 1, 0, 48, 0,
                                "data section of %llu bytes, the file has %llu left: read up to its end",
                                (unsigned long long)h->data.size,
                                (unsigned long long)(r->file_size - h->data.offset));
            h->data.size = r->file_size - h->data.offset;
            memset(h->features, 0, sizeof h->features);
        }
    }
    return 0;
}

/* Keeps what stands before the data, for inputs that cannot go back to it. */
static int keep_prefix(pd_reader *r) {
    uint64_t want = r->header.data.offset;
    if (want > MAX_PREFIX)
        return profconv_error_set(r->error, PROFCONV_E_UNSUPPORTED, 40, 0,
                                  "offset 0x28: data section at 0x%llx; so far behind, the input must be a file that can seek",
                                  (unsigned long long)want);
    const uint8_t *data = NULL;
    size_t got = 0;
    int rc = profconv_input_window(r->input, (size_t)want, &data, &got, r->error);
    if (rc)
        return rc;
    if (got > want)
        got = (size_t)want;
    if (got == 0)
        return 0;
    r->prefix = (uint8_t *)pfc_alloc(&r->mem, got);
    if (!r->prefix)
        return pd_failed(r);
    memcpy(r->prefix, data, got);
    r->prefix_size = r->prefix_capacity = got;
    return 0;
}

static int read_file_header(pd_reader *r) {
    pd_header *h = &r->header;
    const uint8_t *head = NULL;
    size_t got = 0, need = h->size >= HEADER_V2 ? HEADER_V2 : HEADER_OLD;
    int rc = profconv_input_window(r->input, need, &head, &got, r->error);
    if (rc)
        return rc;
    if (h->size < HEADER_OLD || h->size > 65536)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, 8, 0,
                                  "offset 0x8: header of %llu bytes, 16 (pipe), 72 or 104 (file) expected",
                                  (unsigned long long)h->size);
    if (got < need)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, got, 0,
                                  "offset 0x%zx: the input ends inside the header of %llu bytes", got,
                                  (unsigned long long)h->size);
    pfc_cursor c = pfc_cursor_make(head, got, 0, r->big);
    pfc_skip(&c, 16);
    h->attr_size = pfc_u64(&c);
    h->attrs.offset = pfc_u64(&c);
    h->attrs.size = pfc_u64(&c);
    h->data.offset = pfc_u64(&c);
    h->data.size = pfc_u64(&c);
    if (need == HEADER_V2)
        read_bitmap(r, head + 72);
    h->simpleperf = (h->features[2] & 1) != 0; /* feature 128 */
    rc = check_data(r);
    if (rc == 0 && !r->can_seek)
        rc = keep_prefix(r);
    if (rc == 0)
        rc = read_attrs(r);
    if (rc)
        return rc;
    if (r->can_seek)
        rc = read_features(r, NULL, 0, h->data.offset + h->data.size);
    return rc ? rc : profconv_input_seek(r->input, h->data.offset, r->error);
}

int pd_header_read(pd_reader *r) {
    const uint8_t *head = NULL;
    size_t got = 0;
    int rc = profconv_input_window(r->input, 24, &head, &got, r->error);
    if (rc)
        return rc;
    if ((rc = read_magic(r, head, got)) != 0)
        return rc;
    r->header.size = pfc_load64(head + 8, r->big);
    if (r->header.size == 16) { /* decides, not whether the input can seek: `perf record -o - > file` */
        r->pipe = 1;
        r->header.data.offset = 16;
        r->header.data.size = UINT64_MAX;
        profconv_input_consume(r->input, 16);
        return 0;
    }
    return read_file_header(r);
}

int pd_damage(pd_reader *r, const profconv_error *error, uint64_t offset) {
    if (error->status != PROFCONV_E_FORMAT || r->counts.records == 0) {
        if (r->error)
            *r->error = *error;
        return error->status;
    }
    profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "damaged-input", 1, 0, offset, 0, "%s; what came before it is used",
                        error->message);
    return 0;
}

int pd_header_features(pd_reader *r) {
    uint64_t any = 0;
    for (int i = 0; i < 4; i++)
        any |= r->header.features[i];
    if (r->pipe || r->can_seek || any == 0)
        return 0;
    /* The window stands somewhere in the data when its records were damaged: go on to its end. */
    uint64_t base = r->header.data.offset + r->header.data.size, at = profconv_input_offset(r->input), skipped = 0;
    profconv_error error;
    int rc = at < base ? profconv_input_skip(r->input, base - at, &skipped, &error) : 0;
    if (rc)
        return pd_damage(r, &error, at);
    PFC_VEC(uint8_t) suffix = {0};
    while (suffix.count < MAX_SUFFIX) {
        const uint8_t *data = NULL;
        size_t got = 0;
        rc = profconv_input_window(r->input, 0, &data, &got, &error);
        if (rc)
            rc = pd_damage(r, &error, base + suffix.count);
        if (rc || got == 0)
            break;
        if (PFC_VEC_RESERVE(&r->mem, &suffix, suffix.count + got)) {
            rc = pd_failed(r);
            break;
        }
        memcpy(suffix.data + suffix.count, data, got);
        suffix.count += got;
        profconv_input_consume(r->input, got);
    }
    if (rc == 0)
        rc = read_features(r, suffix.data, suffix.count, base);
    PFC_VEC_FREE(&r->mem, &suffix);
    return rc;
}
