/* SPDX-License-Identifier: MIT
 *
 * The perf.data reader: header, then records in time order into the builder, then what is only known at the end.
 */
#include "libprofconv/formats/perf-data/pd.h"

/* Held for sorting; with a memory limit, an eighth of it. Rounds bound what waits; where there is none, and every record so far came in
 * order, little needs to wait. */
#define ORDER_CAP (UINT64_C(256) << 20)
#define ORDER_CAP_IN_ORDER (UINT64_C(16) << 20)
#define PARTS_MAX 4096

static int probe(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    (void)whole;
    if (size < 8)
        return 0;
    if (memcmp(head, "PERFILE2", 8) == 0 || memcmp(head, "2ELIFREP", 8) == 0)
        return 100;
    return memcmp(head, "PERFFILE", 8) == 0 ? 95 : 0;
}

static int reader_init(pd_reader *r, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                       profconv_error *error) {
    memset(r, 0, sizeof *r);
    const profconv_limits *limits = profconv_builder_limits(builder);
    pfc_mem_init(&r->mem, profconv_builder_allocator(builder), limits->max_memory);
    r->builder = builder;
    r->report = profconv_builder_report(builder);
    r->options = options;
    r->error = error;
    r->input = input;
    r->can_seek = profconv_input_can_seek(input);
    r->file_size = profconv_input_size(input);
    r->kernel_dso = UINT32_MAX;
    r->guest_dso[0] = r->guest_dso[1] = r->guest_dso[2] = UINT32_MAX;
    r->next_serial = 1;
    r->jit.next_time = UINT64_MAX;
    r->kernel_serial = 1;
    uint64_t most = limits->max_memory && limits->max_memory != UINT64_MAX ? limits->max_memory / 8 : UINT64_MAX;
    r->order_cap = most < ORDER_CAP_IN_ORDER ? most : ORDER_CAP_IN_ORDER;
    r->order_cap_disorder = most < ORDER_CAP ? most : ORDER_CAP;
    r->cache_bits = PD_CACHE_BITS_FIRST;
    r->cache = (pd_cached *)pfc_alloc_zero(&r->mem, sizeof *r->cache << r->cache_bits);
    r->prefixes = (pd_prefix *)pfc_alloc_zero(&r->mem, PD_PREFIXES * sizeof *r->prefixes);
    if (!r->cache || !r->prefixes)
        return pd_failed(r);
    int rc = pd_filter_init(r);
    return rc ? rc : pd_processes_init(r);
}

static void reader_free(pd_reader *r) {
    pd_free_held(r);
    pd_unwind_free(r);
    pd_branch_callers_free(r);
    pd_jit_free(r);
    pd_order_free(r);
    pd_processes_free(r);
    pd_features_free(r);
    pd_filter_free(r);
    for (size_t i = 0; i < r->events.count; i++)
        if (r->events.data[i].name)
            pfc_free(&r->mem, r->events.data[i].name, r->events.data[i].name_size + 1);
    PFC_VEC_FREE(&r->mem, &r->events);
    PFC_VEC_FREE(&r->mem, &r->ids);
    pfc_index_free(&r->mem, &r->id_index);
    PFC_VEC_FREE(&r->mem, &r->entries);
    pd_edges_free(r);
    PFC_VEC_FREE(&r->mem, &r->emitted);
    if (r->prefixes)
        for (size_t i = 0; i < PD_PREFIXES; i++)
            pfc_free(&r->mem, r->prefixes[i].address,
                     r->prefixes[i].capacity * (sizeof(uint64_t) + sizeof(profconv_id) + 1));
    pfc_free(&r->mem, r->prefixes, r->prefixes ? PD_PREFIXES * sizeof *r->prefixes : 0);
    pfc_free(&r->mem, r->cache, r->cache ? sizeof *r->cache << r->cache_bits : 0);
    pfc_free(&r->mem, r->frame_address, r->frame_capacity * sizeof *r->frame_address);
    pfc_free(&r->mem, r->frame_mode, r->frame_capacity);
    pfc_free(&r->mem, r->prefix, r->prefix_capacity);
}

/* Opens data.0, data.1, … of a directory; r's own stream is not among them. */
static int open_parts(pd_reader *r, pd_stream **parts, size_t *count, size_t *capacity) {
    for (unsigned i = 0; i < PARTS_MAX; i++) {
        char name[32] = "data.";
        profconv_input *part = NULL;
        size_t n = 5 + pfc_format_u64(name + 5, i);
        name[n] = 0;
        profconv_error error;
        int rc = profconv_input_open_part(r->input, name, &part, &error);
        if (rc == PROFCONV_E_NOT_FOUND)
            return 0;
        if (rc) {
            if (r->error)
                *r->error = error;
            return rc;
        }
        if (pfc_grow(&r->mem, (void **)(void *)parts, capacity, *count + 1, sizeof **parts)) {
            profconv_input_free(part);
            return pd_failed(r);
        }
        memset(&(*parts)[*count], 0, sizeof **parts);
        (*parts)[*count].input = part;
        (*parts)[*count].owned = 1;
        (*parts)[*count].left = UINT64_MAX;
        (*count)++;
    }
    return 0;
}

/* The parts in turn, a piece of each; what every part has passed can be delivered. */
static int read_parts(pd_reader *r) {
    pd_stream *parts = NULL;
    size_t count = 0, capacity = 0;
    r->order_cap = r->order_cap_disorder;
    int rc = open_parts(r, &parts, &count, &capacity);
    for (int busy = 1; rc == 0 && busy;) {
        uint64_t limit = UINT64_MAX;
        busy = 0;
        for (size_t i = 0; i < count && rc == 0; i++) {
            pd_stream *s = &parts[i];
            if (s->done)
                continue;
            s->previous_max = s->max_time;
            rc = pd_stream_read(r, s, 1u << 20);
            if (!s->done) {
                busy = 1;
                limit = s->previous_max < limit ? s->previous_max : limit;
            }
        }
        if (rc == 0 && busy && limit)
            rc = pd_order_flush(r, limit);
    }
    for (size_t i = 0; i < count; i++)
        pd_stream_free(r, &parts[i]);
    pfc_free(&r->mem, parts, capacity * sizeof *parts);
    return rc;
}

static int read_records(pd_reader *r) {
    pd_stream s;
    memset(&s, 0, sizeof s);
    s.input = r->input;
    s.left = r->header.data.size;
    int directory = profconv_input_is_directory(r->input);
    r->no_rounds = directory;
    int rc = pd_stream_read(r, &s, UINT64_MAX);
    pd_stream_free(r, &s);
    if (rc == 0)
        rc = pd_header_features(r);
    if (rc == 0 && directory)
        rc = read_parts(r);
    if (rc == 0)
        rc = pd_order_flush(r, UINT64_MAX);
    if (rc == 0)
        rc = pd_release_held(r);
    return rc ? rc : pd_filter_recheck(r);
}

/* No sample at all is an error that says why. */
static int check_content(pd_reader *r) {
    const pd_counts *c = &r->counts;
    unsigned long long records = c->records, samples = c->samples, lost = c->have_lost_samples ? c->lost_samples : c->lost;
    if (c->samples_kept)
        return 0;
    if (r->events.count == 0)
        return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0,
                                  "no event is described: neither the attributes section nor a HEADER_ATTR record");
    if (samples == 0 && lost)
        return profconv_error_set(r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "no sample among %llu records; the recorder lost %llu samples", records, lost);
    if (samples == 0)
        return profconv_error_set(r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0, "no sample among %llu records",
                                  records);
    if (c->filtered)
        return pd_filter_nothing(r);
    return profconv_error_set(r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                              "none of %llu samples can be used: %llu malformed, %llu of unknown events", samples,
                              (unsigned long long)c->malformed, (unsigned long long)c->unknown_id);
}

static int read_all(pd_reader *r) {
    int rc = pd_header_read(r);
    if (rc == 0)
        rc = pd_filter_settle(r);
    if (rc == 0)
        rc = read_records(r);
    if (rc)
        return rc;
    pd_edges_flush(r);
    pd_notes_finish(r);
    pd_unwind_notes(r);
    if ((rc = check_content(r)) != 0 || (rc = pd_columns_finish(r)) != 0)
        return rc;
    pd_dsos_finish(r);
    pd_facts_finish(r);
    return r->mem.failed ? pd_failed(r) : profconv_builder_status(r->builder, r->error);
}

static int read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                profconv_error *error) {
    (void)user;
    pd_reader r;
    int rc = reader_init(&r, input, builder, options, error);
    if (rc == 0)
        rc = read_all(&r);
    reader_free(&r);
    return rc;
}

static const char *const aliases[] = {"perf", "perf.data", NULL};
static const char *const suffixes[] = {".data", ".perf", NULL};

extern const profconv_reader pfc_perf_data_reader;
const profconv_reader pfc_perf_data_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = PD_SCOPE,
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "recordings of Linux perf (perf.data: file, pipe, directory)",
    .settings = pd_settings,
    .produces = PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_STACKS | PROFCONV_FACET_LABELS | PROFCONV_FACET_BRANCHES,
    .probe = probe,
    .read = read,
};
