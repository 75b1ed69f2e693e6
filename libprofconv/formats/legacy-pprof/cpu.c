/* SPDX-License-Identifier: MIT
 *
 * gperftools' CPU profiles (profilez): words of the profiled machine, then its memory map as text. The program's word
 * size and byte order are found by the header, which begins with the words 0, 3, 0.
 */
#include "libprofconv/base/cursor.h"
#include "libprofconv/formats/legacy-pprof/legacy.h"

#define SCOPE "gperftools"

typedef struct words {
    pfc_cursor c;
    int wide;
} words;

static uint64_t next_word(words *w) { return w->wide ? pfc_u64(&w->c) : pfc_u32(&w->c); }

enum { NO, NATIVE, JAVA };

/* Reads the header; the samples follow. */
static int open_words(const uint8_t *data, size_t size, words *w, uint64_t *period_us) {
    for (int form = 0; form < 4; form++) {
        w->c = pfc_cursor_make(data, size, 0, form & 1);
        w->wide = form >> 1;
        uint64_t count = next_word(w), header = next_word(w), version = next_word(w);
        *period_us = next_word(w);
        uint64_t padding = next_word(w);
        if (!w->c.failed && count == 0 && header == 3 && version <= 1 && *period_us > 0 && padding == 0)
            return version ? JAVA : NATIVE;
    }
    return NO;
}

static int probe(void *user, const uint8_t *head, size_t size, int whole) {
    words w;
    uint64_t period;
    (void)user;
    (void)whole;
    return open_words(head, size, &w, &period) != NO ? 90 : 0;
}

/* A record: its first address is at `at`; `removed` frames behind it are the signal handler's. */
typedef struct record {
    size_t at;
    uint64_t count;
    uint32_t depth, removed;
} record;

typedef struct profile {
    lp_reader r;
    words w;
    uint64_t period_us;
    PFC_VEC(record) records;
    int trailer;
} profile;

static uint64_t address_of(const profile *p, const record *row, uint32_t frame) {
    const uint8_t *at = p->w.c.data + row->at + (size_t)(frame ? frame + row->removed : 0) * (p->w.wide ? 8 : 4);
    return p->w.wide ? pfc_load64(at, p->w.c.big) : pfc_load32(at, p->w.c.big);
}
static uint32_t depth_of(const record *row) { return row->depth - row->removed; }

static int read_records(profile *p) {
    size_t word = p->w.wide ? 8 : 4;
    pfc_cursor *c = &p->w.c;
    while (pfc_cursor_left(c) >= 2 * word) {
        size_t start = c->at;
        uint64_t count = next_word(&p->w), depth = next_word(&p->w);
        if (depth > UINT32_MAX || !pfc_fits(c, depth, word)) {
            c->at = start;
            break;
        }
        record row = {c->at, count, (uint32_t)depth, 0};
        pfc_skip(c, depth * word);
        if (count == 0 && depth == 1 && address_of(p, &row, 0) == 0) {
            p->trailer = 1;
            return 0;
        }
        if (PFC_VEC_PUSH(&p->r.mem, &p->records, row))
            return lp_failed(&p->r);
    }
    return 0;
}

/* The address that is the second frame of nearly all records (1 in 32 may differ): what the kernel pushed for the
 * signal. */
static int common_second(profile *p, uint64_t *address, int *found) {
    size_t n = 0, bytes = p->records.count * sizeof(uint64_t);
    uint64_t *seconds = (uint64_t *)pfc_alloc(&p->r.mem, bytes);
    *found = 0;
    if (!seconds)
        return lp_failed(&p->r);
    for (size_t i = 0; i < p->records.count; i++)
        if (depth_of(&p->records.data[i]) > 1)
            seconds[n++] = address_of(p, &p->records.data[i], 1);
    int status = pfc_sort_u64(&p->r.mem, seconds, n);
    size_t needed = p->records.count - p->records.count / 32;
    for (size_t i = 0, run = 0; status == 0 && i < n; i++) {
        run = i > 0 && seconds[i] == seconds[i - 1] ? run + 1 : 1;
        if (run >= needed) {
            *address = seconds[i];
            *found = 1;
        }
    }
    pfc_free(&p->r.mem, seconds, bytes);
    return status ? lp_failed(&p->r) : 0;
}

static int remove_handler(profile *p) {
    uint64_t removed = 0;
    for (int round = 0; round < 2 && p->records.count > 0; round++) {
        uint64_t address;
        int found;
        int status = common_second(p, &address, &found);
        if (status)
            return status;
        if (!found)
            break;
        for (size_t i = 0; i < p->records.count; i++) {
            record *row = &p->records.data[i];
            if (depth_of(row) > 1 && address_of(p, row, 1) == address) {
                row->removed++;
                removed++;
            }
        }
    }
    /* The leaf is there twice where both the stack and the signal gave it. */
    for (size_t i = 0; i < p->records.count; i++) {
        record *row = &p->records.data[i];
        if (depth_of(row) > 1 && address_of(p, row, 0) == address_of(p, row, 1)) {
            row->removed++;
            removed++;
        }
    }
    if (removed)
        profconv_report_add(p->r.report, PROFCONV_NOTE_INFO, "signal-frames", removed, 0, PROFCONV_NO_OFFSET, 0,
                            "frames of the profiler's signal handler and repeated leaves left out");
    return 0;
}

static int emit(profile *p) {
    lp_reader *r = &p->r;
    uint64_t period_ns = pfc_mul_sat(p->period_us, 1000);
    for (size_t i = 0; i < p->records.count; i++) {
        const record *row = &p->records.data[i];
        uint64_t nanoseconds = pfc_mul_sat(row->count, period_ns);
        int64_t values[2] = {row->count > INT64_MAX ? INT64_MAX : (int64_t)row->count,
                             nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds};
        int status = 0;
        for (uint32_t k = 0; k < depth_of(row) && status == 0; k++)
            status = lp_push(r, address_of(p, row, k) - (k > 0));
        if (status == 0)
            status = lp_sample(r, 0, values, 2);
        if (status)
            return status;
    }
    return 0;
}

static int read_profile(profile *p) {
    lp_reader *r = &p->r;
    int form = open_words(r->data, r->size, &p->w, &p->period_us);
    if (form == NO)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, 0, 0,
                                  "offset 0: no header of a CPU profile: the words 0, 3, 0, period, 0 expected");
    if (form == JAVA)
        return profconv_error_set(r->error, PROFCONV_E_UNSUPPORTED, 0, 0,
                                  "CPU profile of Java code, which is not supported");
    lp_type(r, "samples", 7, "count", PROFCONV_ROLE_COUNT);
    lp_type(r, "cpu", 3, "nanoseconds", PROFCONV_ROLE_WEIGHT);
    lp_period(r, "cpu", 3, "nanoseconds", p->period_us > INT64_MAX / 1000 ? INT64_MAX : (int64_t)p->period_us * 1000,
              0);
    int status = read_records(p);
    const pfc_cursor *c = &p->w.c;
    if (status == 0 && !p->trailer)
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "truncated", 1, 0, c->at, 0,
                            "offset 0x%llx: the profile ends without its last record, and has no memory map",
                            (unsigned long long)c->at);
    else if (status == 0)
        status = lp_read_maps(r, c->data + c->at, pfc_cursor_left(c));
    if (status == 0)
        status = remove_handler(p);
    if (status == 0)
        status = emit(p);
    return status ? status : lp_finish(r);
}

static int read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                profconv_error *error) {
    profile p;
    (void)user;
    (void)options;
    memset(&p, 0, sizeof p);
    int status = lp_start(&p.r, input, builder, error);
    if (status == 0)
        status = read_profile(&p);
    PFC_VEC_FREE(&p.r.mem, &p.records);
    lp_free(&p.r);
    return status;
}

static const char *const aliases[] = {"profilez", "gperftools-cpu", NULL};

extern const profconv_reader pfc_gperftools_reader;
const profconv_reader pfc_gperftools_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = SCOPE,
    .aliases = aliases,
    .description = "CPU profiles of gperftools (profilez)",
    .produces = PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_STACKS,
    .probe = probe,
    .read = read,
};
