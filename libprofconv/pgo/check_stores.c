/* SPDX-License-Identifier: MIT
 *
 * Whether branch records would come back from a continuous-profiling store as they are, when they are sent to one as
 * pprof. What is judged is what Pyroscope is known to do: it refuses names of sample types with '-' or ':', deletes
 * locations with neither address nor line and every sample that has one, fails queries over build-ids that are not
 * plain, and takes mappings of one size, file offset and build-id (without one: file) for the same, with the start of
 * the first it met and without moving addresses. gigapipe and Parca share the last of these or none.
 */
#include <stdlib.h>
#include <string.h>

#include "libprofconv/base/mem.h"
#include "libprofconv/pgo/check.h"

#define UPLOAD_ROWS 16000 /* samples a push, by default */

typedef struct store_mapping {
    uint64_t size, offset, start;
    profconv_id name; /* string: build-id or file */
} store_mapping;

typedef struct store_checks {
    const profconv_profile *profile;
    uint8_t *used; /* by mapping row */
    uint64_t rows, at_zero;
} store_checks;

/* Kernel and modules are written in coordinates of their image, under mappings of their own. */
static int has_image(const profconv_mapping *m) {
    return m->kind == PROFCONV_MAPPING_KERNEL || m->kind == PROFCONV_MAPPING_MODULE;
}

/* Nonzero for an end that the store deletes. */
static int look_at(store_checks *s, profconv_id location) {
    const profconv_location *l = profconv_profile_location(s->profile, location);
    if (location == 0 || l->mapping == 0)
        return 0;
    const profconv_mapping *m = profconv_profile_mapping(s->profile, l->mapping);
    s->used[l->mapping] = 1;
    return l->line_count == 0 && l->address == (m->kind == PROFCONV_MAPPING_KERNEL ? m->start : 0);
}

static void look_at_records(store_checks *s) {
    const profconv_profile *p = s->profile;
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n; i++, s->rows++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        int zero = look_at(s, b->from);
        s->at_zero += (look_at(s, b->to) | zero) != 0;
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n; i++, s->rows++) {
        const profconv_range *r = profconv_profile_range(p, i);
        int zero = look_at(s, r->begin);
        s->at_zero += (look_at(s, r->end) | zero) != 0;
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i < n; i++, s->rows++)
        s->at_zero += look_at(s, profconv_profile_address(p, i)->location) != 0;
}

/* ---- mappings that are taken for one ---- */

static int compare_keys(const store_mapping *a, const store_mapping *b) {
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int compare_mappings(const void *x, const void *y) {
    const store_mapping *a = (const store_mapping *)x, *b = (const store_mapping *)y;
    int order = compare_keys(a, b);
    return order ? order : a->start < b->start ? -1 : a->start > b->start;
}

static uint64_t confused(const store_checks *s, store_mapping *rows) {
    uint32_t n = profconv_profile_rows(s->profile, PROFCONV_TABLE_MAPPING);
    size_t count = 0;
    uint64_t found = 0;
    for (uint32_t i = 1; i < n; i++) {
        const profconv_mapping *m = profconv_profile_mapping(s->profile, i);
        if (!s->used[i] || has_image(m))
            continue;
        uint64_t size = m->limit > m->start ? m->limit - m->start : 0;
        store_mapping row = {size > UINT64_MAX - 4095 ? size : (size + 4095) & ~UINT64_C(4095), m->file_offset,
                             m->start, m->build_id ? m->build_id : m->file};
        rows[count++] = row;
    }
    qsort(rows, count, sizeof *rows, compare_mappings);
    for (size_t i = 1; i < count; i++)
        found += compare_keys(&rows[i - 1], &rows[i]) == 0 && rows[i - 1].start != rows[i].start;
    return found;
}

/* ---- names ---- */

static uint64_t odd_build_ids(const store_checks *s) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    uint64_t found = 0;
    for (uint32_t i = 1; i < profconv_profile_rows(s->profile, PROFCONV_TABLE_MAPPING); i++) {
        profconv_string id =
            profconv_profile_string(s->profile, profconv_profile_mapping(s->profile, i)->build_id);
        size_t k = 0;
        while (k < id.size && id.data[k] && strchr(plain, id.data[k]))
            k++;
        found += s->used[i] && k < id.size;
    }
    return found;
}

static uint64_t odd_types(const profconv_profile *p) {
    uint64_t found = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
        profconv_string name = profconv_profile_string(p, profconv_profile_sample_type(p, i)->name);
        found += name.size && (memchr(name.data, '-', name.size) || memchr(name.data, ':', name.size));
    }
    return found;
}

static void say(pfc_checker *c, const store_checks *s, store_mapping *rows) {
    pfc_check_weak(c, "store-two-starts", confused(s, rows),
                   "mappings that stores take for one, by size, file offset and build-id, count from two starts: the "
                   "records of one get wrong addresses there");
    pfc_check_weak(c, "store-address-zero", s->at_zero,
                   "records at address 0 without a line are deleted by Pyroscope");
    pfc_check_weak(c, "store-build-id", odd_build_ids(s),
                   "mappings whose build-id has other characters than letters, digits, '_' and '-', for which "
                   "Pyroscope's symbolizer fails the whole query");
    pfc_check_weak(c, "store-sample-type", odd_types(c->profile),
                   "sample types with '-' or ':' in their name, for which Pyroscope refuses a profile");
    pfc_check_fact(c, "store-rows", s->rows > UPLOAD_ROWS ? s->rows : 0,
                   "distinct records, more than Pyroscope takes at once (16,000 by default): 'profconv split'");
}

void pfc_check_stores(pfc_checker *c) {
    store_checks s = {c->profile, NULL, 0, 0};
    size_t count = profconv_profile_rows(c->profile, PROFCONV_TABLE_MAPPING);
    pfc_mem mem;
    pfc_mem_init(&mem, profconv_profile_allocator(c->profile), 0);
    s.used = (uint8_t *)pfc_alloc_zero(&mem, count + 1);
    store_mapping *rows = (store_mapping *)pfc_alloc(&mem, (count + 1) * sizeof *rows);
    if (s.used && rows) {
        look_at_records(&s);
        say(c, &s, rows);
    } else {
        c->status = pfc_mem_error(&mem, c->error);
    }
    pfc_free(&mem, s.used, s.used ? count + 1 : 0);
    pfc_free(&mem, rows, rows ? (count + 1) * sizeof *rows : 0);
}
