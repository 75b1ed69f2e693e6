/* SPDX-License-Identifier: MIT
 *
 * Writes GCC's AutoFDO profile in the version that the compiler at hand accepts: GCC takes exactly one.
 */
#include <string.h>

#include "libprofconv/base/cutoffs.h"
#include "libprofconv/base/leb.h"
#include "libprofconv/formats/gcc-afdo/gcc.h"
#include "libprofconv/formats/gcc-afdo/order.h"

#define SCOPE "gcc-afdo"

static const profconv_setting settings[] = {
    {"gcc", PROFCONV_SETTING_INT, "0", NULL, "major version of the GCC that will read the profile"},
    {"version", PROFCONV_SETTING_ENUM, "auto", "auto|1|2|3|704",
     "version of the format: 1 for GCC 11 and older, 2 for GCC 12 to 15, 3 for later, 704 for LLVM (default: gcc's, or "
     "2)"},
    {"compat", PROFCONV_SETTING_ENUM, "none", "none|create_gcov",
     "counts of recordings: as this tool makes them, also where it is wrong (the same as attribute.compat)"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

typedef struct pfc_gcc_out {
    const pfc_gcc_order *order;
    const profconv_profile *profile;
    pfc_mem *mem;
    pfc_buf buf;
    uint32_t version;
    int words;          /* strings counted in words */
    int timed;          /* the layout of version 3 */
    int discriminators; /* 0: the compiler looks only at positions without one */
    uint64_t far_lines, wide_discriminators, unread_positions;
    uint32_t *file_index; /* version 3, by string id: position in the table of files + 1 */
    uint32_t file_count;
} pfc_gcc_out;

static int choose_version(const profconv_options *options, pfc_gcc_out *o, profconv_error *error) {
    const char *told = profconv_options_string(options, SCOPE, settings, "version");
    int64_t gcc = profconv_options_int(options, SCOPE, settings, "gcc");
    uint32_t of_gcc = gcc == 0 ? 2 : gcc <= 11 ? 1 : gcc <= 15 ? 2 : 3;
    uint32_t of_version = strcmp(told, "auto") == 0  ? of_gcc
                          : strcmp(told, "704") == 0 ? PFC_GCC_VERSION_407
                                                     : (uint32_t)(told[0] - '0');
    if (gcc < 0 || (gcc != 0 && of_version != of_gcc))
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "settings " SCOPE ".gcc=%lld and " SCOPE
                                  ".version=%s: GCC %lld reads only version %u",
                                  (long long)gcc, told, (long long)gcc, of_gcc);
    o->version = of_version;
    o->words = of_version == 1 || of_version == PFC_GCC_VERSION_407;
    o->timed = of_version == 3;
    o->discriminators = gcc == 0 || gcc > 12;
    return PROFCONV_OK;
}

/* ---- strings ---- */

static void put_string(pfc_gcc_out *o, const char *data, size_t size) {
    static const char zeros[4] = "";
    size_t padded = o->words ? (size + 4) / 4 * 4 : size + 1;
    pfc_buf_le32(&o->buf, (uint32_t)(o->words ? padded / 4 : padded));
    pfc_buf_add(&o->buf, data, size);
    pfc_buf_add(&o->buf, zeros, padded - size);
}

static int ends(profconv_string s, const char *end) {
    size_t n = strlen(end);
    return s.size > n + 1 && memcmp(s.data + s.size - n, end, n) == 0;
}

/* Constructors and destructors of the kind "unified" (C4, D4) have no symbol; their counts belong to the base kind (C2,
 * D2). A list of endings, as the other producers have it (GCC bug 64346). */
static void put_name(pfc_gcc_out *o, profconv_string name) {
    static const char *const unified[] = {"D4Ev", "C4Ev", "C4EPKc", "C4EPKcRKS2_"};
    for (size_t i = 0; i < sizeof unified / sizeof *unified; i++) {
        if (!ends(name, unified[i]))
            continue;
        put_string(o, name.data, name.size);
        size_t back = strlen(unified[i]) - 1 + (o->words ? (name.size + 4) / 4 * 4 : name.size + 1) - name.size;
        if (!o->buf.failed)
            o->buf.data[o->buf.size - back] = '2';
        return;
    }
    put_string(o, name.data, name.size);
}

static int put_files(pfc_gcc_out *o) {
    const profconv_profile *p = o->profile;
    uint32_t rows = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE);
    size_t at = o->buf.size;
    pfc_buf_le32(&o->buf, 0);
    for (uint32_t i = 1; i < rows; i++) {
        profconv_id file = profconv_profile_source(p, i)->file;
        if (file == 0 || o->file_index[file])
            continue;
        profconv_string s = profconv_profile_string(p, file);
        o->file_index[file] = ++o->file_count;
        put_string(o, s.data, s.size);
    }
    for (unsigned i = 0; i < 4 && !o->buf.failed; i++)
        o->buf.data[at + i] = (char)(uint8_t)(o->file_count >> (8 * i));
    return o->buf.failed;
}

/* The length counts words of a version 1 file, whatever the version: readers do not look at it. */
static int put_names(pfc_gcc_out *o) {
    const pfc_gcc_order *order = o->order;
    const profconv_profile *p = o->profile;
    uint64_t length = 1;
    for (uint32_t i = 0; i < order->name_count; i++)
        length += (profconv_profile_string(p, order->names[i]).size + 4) / 4 + 1;
    pfc_buf_le32(&o->buf, PFC_GCC_NAMES);
    pfc_buf_le32(&o->buf, (uint32_t)length);
    profconv_id *file_of = NULL; /* by position in order->names */
    size_t bytes = order->name_count * sizeof *file_of;
    if (o->timed) {
        file_of = (profconv_id *)pfc_alloc_zero(o->mem, bytes);
        if (!file_of || put_files(o) != PROFCONV_OK) {
            pfc_free(o->mem, file_of, file_of ? bytes : 0);
            return o->mem->failed;
        }
        for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i < n; i++) {
            const profconv_source *row = profconv_profile_source(p, i);
            if (row->file && !file_of[order->index[row->name]])
                file_of[order->index[row->name]] = row->file;
        }
    }
    pfc_buf_le32(&o->buf, order->name_count);
    for (uint32_t i = 0; i < order->name_count; i++) {
        put_name(o, profconv_profile_string(p, order->names[i]));
        if (o->timed)
            pfc_buf_le32(&o->buf, file_of[i] ? o->file_index[file_of[i]] - 1 : PFC_GCC_NO_FILE);
    }
    if (file_of)
        pfc_free(o->mem, file_of, bytes);
    return o->buf.failed;
}

/* ---- functions ---- */

/* 16 bits each; lines before the declaration wrap, as compilers expect. */
static void put_offset(pfc_gcc_out *o, uint32_t line, uint32_t discriminator) {
    o->far_lines += line > 0xffff;
    o->wide_discriminators += discriminator > 0xffff;
    o->unread_positions += discriminator != 0 && !o->discriminators;
    pfc_buf_le32(&o->buf, line << 16 | (discriminator & 0xffff));
}

/* All of a function but its call sites. */
static void put_function(pfc_gcc_out *o, uint32_t source) {
    const pfc_gcc_runs *positions = &o->order->positions, *calls = &o->order->calls, *targets = &o->order->targets;
    pfc_buf_le32(&o->buf, o->order->index[profconv_profile_source(o->profile, source)->name]);
    pfc_buf_le32(&o->buf, positions->first[source + 1] - positions->first[source]);
    pfc_buf_le32(&o->buf, calls->first[source + 1] - calls->first[source]);
    for (uint32_t i = positions->first[source]; i < positions->first[source + 1]; i++) {
        uint32_t id = positions->ids[i];
        const profconv_source_body *body = profconv_profile_source_body(o->profile, id);
        put_offset(o, body->line, body->discriminator);
        pfc_buf_le32(&o->buf, targets->first[id + 1] - targets->first[id]);
        pfc_buf_le64(&o->buf, body->count);
        for (uint32_t k = targets->first[id]; k < targets->first[id + 1]; k++) {
            const profconv_source_target *target = profconv_profile_source_target(o->profile, targets->ids[k]);
            pfc_buf_le32(&o->buf, PFC_GCC_INDIRECT_CALL);
            pfc_buf_le64(&o->buf, o->order->index[target->name]);
            pfc_buf_le64(&o->buf, target->count);
        }
    }
}

typedef struct pfc_gcc_frame {
    uint32_t source;
    uint32_t next; /* position in calls.ids */
} pfc_gcc_frame;

static int put_top(pfc_gcc_out *o, uint32_t top) {
    const pfc_gcc_runs *calls = &o->order->calls;
    const profconv_source *row = profconv_profile_source(o->profile, top);
    PFC_VEC(pfc_gcc_frame) stack = {NULL, 0, 0};
    pfc_gcc_frame frame = {top, calls->first[top]};
    pfc_buf_le64(&o->buf, row->head);
    if (o->timed)
        pfc_buf_le64(&o->buf, row->timestamp);
    put_function(o, top);
    int status = PFC_VEC_PUSH(o->mem, &stack, frame);
    while (status == PROFCONV_OK && stack.count > 0) {
        pfc_gcc_frame *open = &stack.data[stack.count - 1];
        if (open->next == calls->first[open->source + 1]) {
            stack.count--;
            continue;
        }
        uint32_t child = calls->ids[open->next++];
        row = profconv_profile_source(o->profile, child);
        put_offset(o, row->line, row->discriminator);
        put_function(o, child);
        pfc_gcc_frame below = {child, calls->first[child]};
        status = PFC_VEC_PUSH(o->mem, &stack, below);
    }
    PFC_VEC_FREE(o->mem, &stack);
    return status;
}

static int put_functions(pfc_gcc_out *o) {
    const pfc_gcc_runs *calls = &o->order->calls;
    const profconv_profile *p = o->profile;
    uint32_t sources = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE) - 1, tops = calls->first[1];
    uint64_t bodies = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY) - 1;
    uint64_t targets = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET) - 1;
    uint64_t length = 1 + 3 * (uint64_t)sources + 4 * bodies + 5 * targets + (sources - tops) + 2 * (uint64_t)tops;
    int status = PROFCONV_OK;
    pfc_buf_le32(&o->buf, PFC_GCC_FUNCTIONS);
    pfc_buf_le32(&o->buf, (uint32_t)length);
    pfc_buf_le32(&o->buf, tops);
    for (uint32_t i = 0; status == PROFCONV_OK && i < tops; i++)
        status = put_top(o, calls->ids[i]);
    return status == PROFCONV_OK ? o->buf.failed : status;
}

/* ---- what follows from the counts ---- */

/* 128 buckets: how many of the largest counts, and how small, make up each 129th of the sum. One instruction a line is
 * taken, since a profile does not say how many there were; the number is then divided by 10, its unit being basic
 * blocks of that many instructions. GCC up to 7 looks at it. */
static void put_working_set(pfc_gcc_out *o, const uint64_t *counts, size_t n) {
    uint64_t total = 0, sum = 0, seen = 0;
    unsigned bucket = 0;
    pfc_buf_le32(&o->buf, PFC_GCC_WORKING_SET);
    pfc_buf_le32(&o->buf, 3 * PFC_GCC_BUCKETS);
    for (size_t i = 0; i < n; i++)
        total = pfc_add_sat(total, counts[i]);
    uint64_t share = total / (PFC_GCC_BUCKETS + 1);
    for (size_t left = n; left > 0 && bucket < PFC_GCC_BUCKETS;) {
        uint64_t count = counts[left - 1], rows = 0;
        for (; left > 0 && counts[left - 1] == count; left--)
            rows++;
        while (bucket < PFC_GCC_BUCKETS && pfc_add_sat(pfc_mul_sat(count, rows), sum) > share * (bucket + 1)) {
            uint64_t part = (share * (bucket + 1) - sum) / count;
            seen += part;
            sum += part * count;
            rows -= part;
            pfc_buf_le32(&o->buf, (uint32_t)(seen / 10));
            pfc_buf_le64(&o->buf, count);
            bucket++;
        }
        seen += rows;
        sum = pfc_add_sat(sum, pfc_mul_sat(rows, count));
    }
    for (; bucket < PFC_GCC_BUCKETS; bucket++) {
        pfc_buf_le32(&o->buf, 0);
        pfc_buf_le64(&o->buf, 0);
    }
}

static void put_summary(pfc_gcc_out *o, const uint64_t *counts, size_t n) {
    pfc_cutoff cutoffs[PFC_CUTOFFS];
    const pfc_gcc_runs *calls = &o->order->calls;
    uint64_t total = pfc_cutoffs(counts, n, cutoffs), max_head = 0;
    for (uint32_t i = 0; i < calls->first[1]; i++) {
        uint64_t head = profconv_profile_source(o->profile, calls->ids[i])->head;
        max_head = head > max_head ? head : max_head;
    }
    pfc_buf_le32(&o->buf, PFC_GCC_SUMMARY);
    pfc_buf_le64(&o->buf, total);
    pfc_buf_le64(&o->buf, n ? counts[n - 1] : 0);
    pfc_buf_le64(&o->buf, max_head);
    pfc_buf_le64(&o->buf, n);
    pfc_buf_le64(&o->buf, calls->first[1]);
    pfc_buf_le64(&o->buf, PFC_CUTOFFS);
    for (unsigned i = 0; i < PFC_CUTOFFS; i++) {
        pfc_buf_le32(&o->buf, cutoffs[i].share);
        pfc_buf_le64(&o->buf, cutoffs[i].min);
        pfc_buf_le64(&o->buf, cutoffs[i].counts);
    }
}

static int put_all(pfc_gcc_out *o) {
    uint32_t rows = profconv_profile_rows(o->profile, PROFCONV_TABLE_SOURCE_BODY);
    size_t bytes = rows * sizeof(uint64_t);
    uint64_t *counts = (uint64_t *)pfc_alloc(o->mem, bytes);
    o->file_index = (uint32_t *)pfc_alloc_zero(o->mem, o->order->string_rows * sizeof *o->file_index);
    int status = counts && o->file_index ? PROFCONV_OK : o->mem->failed;
    if (status == PROFCONV_OK) {
        for (uint32_t i = 1; i < rows; i++)
            counts[i - 1] = profconv_profile_source_body(o->profile, i)->count;
        status = pfc_sort_u64(o->mem, counts, rows - 1);
    }
    if (status == PROFCONV_OK) {
        pfc_buf_le32(&o->buf, PFC_GCC_MAGIC);
        pfc_buf_le32(&o->buf, o->version);
        pfc_buf_le32(&o->buf, 0);
        if (o->timed)
            put_summary(o, counts, rows - 1);
        status = put_names(o);
    }
    if (status == PROFCONV_OK)
        status = put_functions(o);
    if (status == PROFCONV_OK) {
        pfc_buf_le32(&o->buf, PFC_GCC_MODULES);
        pfc_buf_le32(&o->buf, o->version == PFC_GCC_VERSION_407); /* a length, as that version's only producer has it */
        pfc_buf_le32(&o->buf, 0);
        put_working_set(o, counts, rows - 1);
        status = o->buf.failed;
    }
    if (counts)
        pfc_free(o->mem, counts, bytes);
    if (o->file_index)
        pfc_free(o->mem, o->file_index, o->order->string_rows * sizeof *o->file_index);
    return status;
}

/* ---- what is lost ---- */

static void lost(profconv_report *report, const char *cause, uint64_t n, const char *what) {
    if (n)
        profconv_report_add(report, PROFCONV_NOTE_LOST, cause, n, 0, PROFCONV_NO_OFFSET, 0, "%s", what);
}

static void add_notes(const pfc_gcc_out *o, profconv_report *report) {
    const profconv_profile *p = o->profile;
    uint32_t flags = profconv_profile_info(p)->source_flags;
    uint64_t checksums = 0, attributes = 0, times = 0, files = 0;
    for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i < n; i++) {
        const profconv_source *row = profconv_profile_source(p, i);
        checksums += row->checksum != 0;
        attributes += row->attributes != 0;
        times += row->timestamp != 0;
        files += row->file != 0;
    }
    lost(report, "checksums", checksums, "checksums of functions");
    lost(report, "attributes", attributes, "attributes of functions");
    lost(report, "symbol-list", profconv_profile_rows(p, PROFCONV_TABLE_SYMBOL),
         "symbols of the profiled binary's list");
    lost(report, "first-sample-time", o->timed ? 0 : times, "times of a function's first sample (version 3 has them)");
    lost(report, "source-file", o->timed ? 0 : files, "source files of functions (version 3 has them)");
    lost(report, "wide-discriminators", o->wide_discriminators, "bits of discriminators above the lowest 16");
    if (flags & (PROFCONV_SOURCES_PROBES | PROFCONV_SOURCES_MD5))
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "foreign-profile", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "GCC cannot match this profile: its %s",
                            flags & PROFCONV_SOURCES_MD5 ? "names are hashes" : "lines are LLVM's pseudo probes");
    if (o->far_lines)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "line-offset", o->far_lines, 0, PROFCONV_NO_OFFSET, 0,
                            "line offsets were cut to 16 bits");
    if (o->unread_positions)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "unread-discriminators", o->unread_positions, 0,
                            PROFCONV_NO_OFFSET, 0, "positions with a discriminator, which GCC up to 12 does not find");
}

/* ---- contexts ---- */

/* The same profile with the contexts of each function added up. Parents precede children in its tables. */
static int without_contexts(const profconv_profile *p, profconv_profile **out, profconv_error *error) {
    profconv_builder *b;
    int status = profconv_builder_new(&b, profconv_profile_allocator(p), NULL, error);
    if (status != PROFCONV_OK)
        return status;
    uint32_t sources = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE);
    uint32_t bodies = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_BODY);
    size_t bytes = ((size_t)sources + bodies) * sizeof(profconv_id);
    pfc_mem mem;
    pfc_mem_init(&mem, profconv_profile_allocator(p), 0);
    profconv_id *source = (profconv_id *)pfc_alloc_zero(&mem, bytes), *body = source ? source + sources : NULL;
    if (!source)
        status = pfc_mem_error(&mem, error);
    for (uint32_t i = 1; source && i < sources; i++) {
        profconv_source row = *profconv_profile_source(p, i);
        profconv_string name = profconv_profile_string(p, row.name), file = profconv_profile_string(p, row.file);
        row.parent = source[row.parent];
        row.context = 0;
        row.name = profconv_builder_string(b, name.data, name.size);
        row.file = profconv_builder_string(b, file.data, file.size);
        source[i] = profconv_builder_source(b, &row);
    }
    for (uint32_t i = 1; source && i < bodies; i++) {
        const profconv_source_body *row = profconv_profile_source_body(p, i);
        body[i] = profconv_builder_source_body(b, source[row->source], row->line, row->discriminator, row->count);
    }
    for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); source && i < n; i++) {
        const profconv_source_target *row = profconv_profile_source_target(p, i);
        profconv_string name = profconv_profile_string(p, row->name);
        profconv_builder_source_target(b, body[row->body], profconv_builder_string(b, name.data, name.size),
                                       row->count);
    }
    if (status == PROFCONV_OK)
        status = profconv_builder_freeze(b, out, error);
    if (source)
        pfc_free(&mem, source, bytes);
    profconv_builder_free(b);
    return status;
}

static uint32_t contexts_of(const profconv_profile *p) {
    uint32_t found = 0;
    for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE); i < n; i++)
        found += profconv_profile_source(p, i)->context != 0;
    return found;
}

/* Names end at a NUL in the file. */
static int check_names(const pfc_gcc_order *order, profconv_error *error) {
    for (uint32_t i = 0; i < order->name_count; i++) {
        profconv_string s = profconv_profile_string(order->profile, order->names[i]);
        if (s.size > 0 && memchr(s.data, 0, s.size))
            return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                      "the name '%.80s' goes on after a NUL byte, which this format cannot hold",
                                      s.data);
    }
    return PROFCONV_OK;
}

static int write_plain(const profconv_profile *profile, profconv_output *output, const profconv_options *options,
                       profconv_report *report, profconv_error *error) {
    pfc_mem mem;
    pfc_gcc_order order;
    pfc_gcc_out o;
    memset(&o, 0, sizeof o);
    int status = choose_version(options, &o, error);
    if (status != PROFCONV_OK)
        return status;
    pfc_mem_init(&mem, profconv_profile_allocator(profile), 0);
    pfc_buf_init(&o.buf, &mem);
    o.order = &order;
    o.profile = profile;
    o.mem = &mem;
    if (pfc_gcc_order_make(&order, &mem, profile) != PROFCONV_OK)
        status = pfc_mem_error(&mem, error);
    else if (order.calls.first[1] == 0)
        status = profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                    "the profile has no function with source counts");
    else if ((status = check_names(&order, error)) == PROFCONV_OK && put_all(&o) != PROFCONV_OK)
        status = pfc_mem_error(&mem, error);
    if (status == PROFCONV_OK)
        status = profconv_output_write(output, o.buf.data, o.buf.size, error);
    if (status == PROFCONV_OK)
        add_notes(&o, report);
    pfc_buf_free(&o.buf);
    pfc_gcc_order_free(&order);
    return status;
}

static int write_gcc(void *user, const profconv_profile *profile, profconv_output *output,
                     const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    uint32_t contexts = contexts_of(profile);
    if (contexts == 0)
        return write_plain(profile, output, options, report, error);
    profconv_profile *merged = NULL;
    int status = without_contexts(profile, &merged, error);
    if (status == PROFCONV_OK)
        status = write_plain(merged, output, options, report, error);
    if (status == PROFCONV_OK)
        lost(report, "contexts", contexts, "contexts: the profiles of each function were added up");
    profconv_profile_free(merged);
    return status;
}

static const char *const aliases[] = {"gcov", "gcc", "afdo", NULL};
static const char *const suffixes[] = {".afdo", ".gcov", NULL};

/* GCC packs nothing into discriminators. */
static const char *const pass_settings[] = {"attribute.flavor=gcc", "attribute.compat", NULL};

const profconv_writer pfc_gcc_afdo_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = SCOPE,
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "GCC AutoFDO profile (-fauto-profile)",
    .settings = settings,
    .needs = PROFCONV_FACET_SOURCE_COUNTS,
    .keeps = PROFCONV_FACET_SOURCE_COUNTS,
    .binary = 1,
    .labels = "",
    .write = write_gcc,
    .pass_settings = pass_settings,
};
