/* SPDX-License-Identifier: MIT
 *
 * Bytes of perf.data: records with their sample_id trailer, the header with attributes and ids, the feature sections.
 * Always little-endian, header of 104 bytes, attributes of 128 bytes, which every version of perf and of its relatives
 * takes.
 */
#include "libprofconv/formats/perf-data/write.h"

#include <string.h>

#include "libprofconv/base/leb.h"

#define ATTR_SIZE 128u
#define HEADER_SIZE 104u
#define STRING_UNIT 64u /* perf pads strings of features to this */

enum {
    IDENTIFIER = 1 << 16,
    IP = 1,
    TID = 2,
    TIME = 4,
    CALLCHAIN = 1 << 5,
    CPU = 1 << 7,
    PERIOD = 1 << 8,
    BRANCHES = 1 << 11
};
enum { MISC_BUILD_ID = 0x4000, MISC_BUILD_ID_SIZE = 0x8000 };
enum { RECORD_MMAP = 1, RECORD_COMM = 3, RECORD_MMAP2 = 10 };

int pw_failed(pw_writer *w) {
    if (!w->status)
        w->status = pfc_mem_error(&w->mem, w->error);
    return w->status;
}

void pw_put(pw_writer *w, const void *data, size_t size) {
    w->bytes += size;
    if (!w->counting && !w->status)
        w->status = profconv_output_write(w->output, data, size, w->error);
}

/* ---- records ---- */

void pw_u32(pw_writer *w, uint32_t value) { pfc_buf_le32(&w->record, value); }
void pw_u64(pw_writer *w, uint64_t value) { pfc_buf_le64(&w->record, value); }

void pw_begin(pw_writer *w, uint32_t type, unsigned misc) {
    pfc_buf_clear(&w->record);
    pw_u32(w, type);
    pw_u32(w, misc); /* the size takes the upper half at the end */
}

void pw_end(pw_writer *w) {
    if (w->record.failed) {
        pw_failed(w);
        return;
    }
    size_t size = w->record.size;
    w->record.data[6] = (char)(size & 0xff);
    w->record.data[7] = (char)(size >> 8 & 0xff);
    pw_put(w, w->record.data, size);
}

static void put_name(pw_writer *w, profconv_string name) {
    static const char zeros[8] = {0};
    size_t size = name.size < 4096 ? name.size : 4096;
    const char *nul = size ? memchr(name.data, 0, size) : NULL;
    size = nul ? (size_t)(nul - name.data) : size;
    pfc_buf_add(&w->record, name.data, size);
    pfc_buf_add(&w->record, zeros, 8 - size % 8); /* one NUL at least */
}

/* In the order of the trailer: TID, TIME, CPU, IDENTIFIER. */
static void put_trailer(pw_writer *w, uint32_t pid, uint32_t tid, uint64_t time) {
    pw_u32(w, pid);
    pw_u32(w, tid);
    pw_u64(w, time);
    if (!w->set.branches)
        pw_u64(w, 0);
    pw_u64(w, 1);
}

void pw_comm(pw_writer *w, uint32_t pid, uint32_t tid, profconv_string name, uint64_t time) {
    profconv_string cut = {name.data, name.size < 15 ? name.size : 15}; /* as the kernel keeps it */
    pw_begin(w, RECORD_COMM, 0);
    pw_u32(w, pid);
    pw_u32(w, tid);
    put_name(w, cut);
    put_trailer(w, pid, tid, time);
    pw_end(w);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t pw_build_id(const pw_writer *w, profconv_id mapping, uint8_t out[20]) {
    profconv_string hex = profconv_profile_string(w->profile, profconv_profile_mapping(w->profile, mapping)->build_id);
    memset(out, 0, 20);
    if (hex.size == 0 || hex.size % 2 || hex.size > 40)
        return 0;
    for (size_t i = 0; i < hex.size; i++) {
        int digit = hex_digit(hex.data[i]);
        if (digit < 0)
            return 0;
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | digit);
    }
    return hex.size / 2;
}

/* Name as recorded: the kernel's carries the symbol that its load address is known by. */
static void put_map_name(pw_writer *w, profconv_id mapping) {
    const profconv_mapping *row = profconv_profile_mapping(w->profile, mapping);
    profconv_string file = profconv_profile_string(w->profile, row->file);
    char joined[300];
    if (row->kind == PROFCONV_MAPPING_KERNEL && row->reference) {
        profconv_string reference = profconv_profile_string(w->profile, row->reference);
        if (file.size + reference.size <= sizeof joined) {
            memcpy(joined, file.data, file.size);
            memcpy(joined + file.size, reference.data, reference.size);
            file.data = joined;
            file.size += reference.size;
        }
    }
    if (row->kind == PROFCONV_MAPPING_JIT && file.size >= 10 && memcmp(file.data, "/tmp/perf-", 10) == 0) {
        file.data = "//anon"; /* what perf reads such a file for */
        file.size = 6;
    }
    if (file.size == 0) {
        file.data =
            row->kind == PROFCONV_MAPPING_JIT || row->kind == PROFCONV_MAPPING_ANONYMOUS ? "//anon" : "/unknown";
        file.size = strlen(file.data);
    }
    put_name(w, file);
}

void pw_map(pw_writer *w, uint32_t pid, const pw_unit *unit) {
    uint8_t id[20];
    const profconv_mapping *row = profconv_profile_mapping(w->profile, unit->mapping);
    size_t id_size = unit->space == PW_KERNEL ? 0 : pw_build_id(w, unit->mapping, id);
    if (unit->space == PW_KERNEL) { /* the kernel's own records are of the first kind, with the build-ids apart */
        pw_begin(w, RECORD_MMAP, PW_KERNEL);
        pid = UINT32_MAX;
    } else {
        pw_begin(w, RECORD_MMAP2, PW_USER | (id_size ? MISC_BUILD_ID : 0u));
    }
    pw_u32(w, pid);
    pw_u32(w, unit->space == PW_KERNEL ? 0 : pid);
    pw_u64(w, unit->start);
    pw_u64(w, unit->size);
    pw_u64(w, unit->pgoff);
    if (unit->space != PW_KERNEL) {
        pw_u32(w, (uint32_t)id_size); /* or major, minor, inode, generation: unknown */
        pfc_buf_add(&w->record, id, 20);
        pw_u32(w, row->kind == PROFCONV_MAPPING_ANONYMOUS ? 3 : 5); /* protection */
        pw_u32(w, 2);                                               /* MAP_PRIVATE */
    }
    put_map_name(w, unit->mapping);
    put_trailer(w, pid, unit->space == PW_KERNEL ? 0 : pid, PW_MAP_TIME);
    pw_end(w);
}

void pw_plain_map(pw_writer *w, uint32_t pid, uint64_t start, uint64_t size, uint64_t pgoff, const char *name) {
    static const char zeros[24] = {0};
    profconv_string text = {name, strlen(name)};
    pw_begin(w, RECORD_MMAP2, PW_USER);
    pw_u32(w, pid);
    pw_u32(w, pid);
    pw_u64(w, start);
    pw_u64(w, size);
    pw_u64(w, pgoff);
    pfc_buf_add(&w->record, zeros, 24);
    pw_u32(w, 5);
    pw_u32(w, 2);
    put_name(w, text);
    put_trailer(w, pid, pid, PW_MAP_TIME);
    pw_end(w);
}

uint64_t pw_time_of(const pw_writer *w, uint64_t sample) {
    uint64_t span = (uint64_t)profconv_profile_info(w->profile)->duration_ns;
    uint64_t gaps = w->total_samples > 1 ? w->total_samples - 1 : 1;
    uint64_t step = span <= INT64_MAX ? span / gaps : 0;
    if (step == 0)
        return PW_FIRST_TIME + sample * 1000;
    return PW_FIRST_TIME + (sample == gaps ? span : sample * step);
}

uint64_t pw_next_time(pw_writer *w, uint64_t own) {
    uint64_t time = own ? own : pw_time_of(w, w->samples);
    w->own_times |= own != 0;
    w->samples++;
    if (w->first_time == 0 || time < w->first_time)
        w->first_time = time;
    if (time > w->last_time)
        w->last_time = time;
    return time;
}

/* ---- header ---- */

static uint64_t sample_type(const pw_writer *w) {
    uint64_t common = IDENTIFIER | IP | TID | TIME | PERIOD;
    return common | (w->set.branches ? (uint64_t)BRANCHES : (uint64_t)(CPU | CALLCHAIN));
}

static void put_attr(const pw_writer *w, pfc_buf *b, const pw_event *event) {
    /* inherit, mmap, comm, task, sample_id_all, mmap2; and what the event's modifiers exclude */
    uint64_t flags = 1u << 1 | 1u << 8 | 1u << 9 | 1u << 13 | 1u << 18 | 1u << 23 | event->modifiers;
    size_t at = b->size;
    pfc_buf_le32(b, event->type);
    pfc_buf_le32(b, ATTR_SIZE);
    pfc_buf_le64(b, event->config);
    pfc_buf_le64(b, event->period);
    pfc_buf_le64(b, sample_type(w));
    pfc_buf_le64(b, 4); /* read format: id */
    pfc_buf_le64(b, flags);
    for (int i = 0; i < 3; i++)
        pfc_buf_le64(b, 0);
    pfc_buf_le64(b, w->set.branches ? 11 : 0); /* user, kernel, any branch */
    while (b->size < at + ATTR_SIZE && !b->failed)
        pfc_buf_le64(b, 0);
}

static profconv_string comment_fact(const profconv_profile *p, const char *key) {
    size_t n = strlen(key);
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_COMMENT); i++) {
        profconv_string s = profconv_profile_string(p, profconv_profile_comment(p, i));
        if (s.size > n + 2 && memcmp(s.data, key, n) == 0 && memcmp(s.data + n, ": ", 2) == 0) {
            profconv_string value = {s.data + n + 2, s.size - n - 2};
            return value;
        }
    }
    profconv_string none = {"", 0};
    return none;
}

/* Names that the reader of recordings gives to facts among the comments. */
static const char *const comment_keys[][2] = {
    {"hostname", "host"}, {"recorder-version", "perf version"}, {"command-line", "command"}};

profconv_string pw_fact(const pw_writer *w, const char *key) {
    profconv_string value = profconv_profile_find_attribute(w->profile, key);
    if (!value.size)
        value = comment_fact(w->profile, key);
    for (size_t i = 0; i < sizeof comment_keys / sizeof *comment_keys && !value.size; i++)
        if (strcmp(comment_keys[i][0], key) == 0)
            value = comment_fact(w->profile, comment_keys[i][1]);
    return value;
}

enum {
    F_BUILD_ID = 2,
    F_HOSTNAME = 3,
    F_OSRELEASE = 4,
    F_VERSION = 5,
    F_ARCH = 6,
    F_NRCPUS = 7,
    F_CPUDESC = 8,
    F_CMDLINE = 11,
    F_EVENT_DESC = 12,
    F_BRANCH_STACK = 15,
    F_SAMPLE_TIME = 21,
    F_CLOCK_DATA = 29,
    F_LAST = 31
};

static const struct fact_feature {
    unsigned bit;
    const char *key;
} fact_features[] = {{F_HOSTNAME, "hostname"}, {F_OSRELEASE, "os-release"}, {F_ARCH, "arch"}, {F_CPUDESC, "cpu"}};

static void put_string(pfc_buf *b, profconv_string s) {
    size_t size = s.size < 65536 ? s.size : 65536;
    size_t padded = (size + STRING_UNIT) & ~(size_t)(STRING_UNIT - 1);
    pfc_buf_le32(b, (uint32_t)padded);
    pfc_buf_add(b, s.data, size);
    for (; size < padded; size++)
        pfc_buf_char(b, '\0');
}

static uint64_t cpu_count(const pw_writer *w) {
    profconv_string text = pw_fact(w, "cpus");
    uint64_t count = 0;
    return text.size && pfc_parse_u64(text.data, text.data + text.size, &count) && count <= UINT32_MAX ? count : 0;
}

/* Words of a command, which was put together with blanks. */
static void put_command(pfc_buf *b, profconv_string s) {
    size_t words = 1;
    size_t size = s.size < 65536 ? s.size : 65536;
    for (size_t i = 0; i < size; i++)
        words += s.data[i] == ' ';
    pfc_buf_le32(b, (uint32_t)words);
    for (size_t at = 0; at <= size;) {
        const char *blank = at < size ? memchr(s.data + at, ' ', size - at) : NULL;
        profconv_string word = {s.data + at, blank ? (size_t)(blank - s.data) - at : size - at};
        put_string(b, word);
        at += word.size + 1;
    }
}

static void put_build_ids(const pw_writer *w, pfc_buf *b) {
    for (size_t i = 0; i < w->units.count; i++) {
        const pw_unit *u = &w->units.data[i];
        const profconv_mapping *row = profconv_profile_mapping(w->profile, u->mapping);
        profconv_string file = profconv_profile_string(w->profile, row->file);
        uint8_t id[20];
        size_t id_size = u->placed ? pw_build_id(w, u->mapping, id) : 0;
        if (!id_size || !file.size || file.size > 4096)
            continue;
        size_t padded = (file.size + STRING_UNIT) & ~(size_t)(STRING_UNIT - 1);
        pfc_buf_le32(b, 0);
        pfc_buf_le32(b, (uint32_t)(36 + padded) << 16 | MISC_BUILD_ID_SIZE | u->space);
        pfc_buf_le32(b, UINT32_MAX);
        pfc_buf_add(b, id, 20);
        pfc_buf_le32(b, (uint32_t)id_size);
        pfc_buf_add(b, file.data, file.size);
        for (size_t k = file.size; k < padded; k++)
            pfc_buf_char(b, '\0');
    }
}

static void put_event_desc(const pw_writer *w, pfc_buf *b) {
    pfc_buf_le32(b, (uint32_t)w->events.count);
    pfc_buf_le32(b, ATTR_SIZE);
    for (size_t i = 0; i < w->events.count; i++) {
        put_attr(w, b, &w->events.data[i]);
        pfc_buf_le32(b, 1);
        put_string(b, w->events.data[i].name);
        pfc_buf_le64(b, i + 1);
    }
}

/* The payload of a feature; nothing when there is nothing to say. Returns whether the feature is there. */
static int put_feature(const pw_writer *w, unsigned bit, pfc_buf *b) {
    size_t before = b->size;
    static const profconv_string version = {"6.1 (libprofconv)", 17};
    profconv_string fact = {"", 0};
    int64_t wall = profconv_profile_info(w->profile)->time_ns;
    for (size_t i = 0; i < sizeof fact_features / sizeof *fact_features; i++)
        if (fact_features[i].bit == bit && (fact = pw_fact(w, fact_features[i].key)).size)
            put_string(b, fact);
    switch (bit) {
    case F_BUILD_ID:
        put_build_ids(w, b);
        break;
    case F_VERSION:
        fact = pw_fact(w, "recorder-version");
        put_string(b, fact.size ? fact : version);
        break;
    case F_NRCPUS:
        if (cpu_count(w)) {
            pfc_buf_le32(b, (uint32_t)cpu_count(w));
            pfc_buf_le32(b, (uint32_t)cpu_count(w));
        }
        break;
    case F_CMDLINE:
        fact = pw_fact(w, "command-line");
        if (fact.size)
            put_command(b, fact);
        break;
    case F_EVENT_DESC:
        put_event_desc(w, b);
        break;
    case F_BRANCH_STACK:
        return w->set.branches;
    case F_SAMPLE_TIME:
        pfc_buf_le64(b, w->first_time);
        pfc_buf_le64(b, w->last_time);
        break;
    case F_CLOCK_DATA:
        if (wall > 0) {
            pfc_buf_le32(b, 1);
            pfc_buf_le32(b, 1); /* CLOCK_MONOTONIC */
            pfc_buf_le64(b, (uint64_t)wall);
            pfc_buf_le64(b, w->first_time);
        }
        break;
    default:
        break;
    }
    return b->size > before;
}

uint64_t pw_head(pw_writer *w, uint64_t data_size) {
    pfc_buf b, feature;
    uint64_t ids_at = HEADER_SIZE, attrs_at = ids_at + 8 * w->events.count;
    uint64_t attr_entry = ATTR_SIZE + 16, data_at = attrs_at + attr_entry * w->events.count;
    uint64_t bits = 0;
    pfc_buf_init(&b, &w->mem);
    pfc_buf_init(&feature, &w->mem);
    for (unsigned bit = 1; bit <= F_LAST; bit++)
        bits |= put_feature(w, bit, &feature) ? UINT64_C(1) << bit : 0;
    pfc_buf_text(&b, "PERFILE2");
    const uint64_t words[] = {
        HEADER_SIZE, attr_entry, attrs_at, attr_entry * w->events.count, data_at, data_size, 0, 0, bits, 0, 0, 0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        pfc_buf_le64(&b, words[i]);
    for (size_t i = 0; i < w->events.count; i++)
        pfc_buf_le64(&b, i + 1);
    for (size_t i = 0; i < w->events.count; i++) {
        put_attr(w, &b, &w->events.data[i]);
        pfc_buf_le64(&b, ids_at + 8 * i);
        pfc_buf_le64(&b, 8);
    }
    if (b.failed || feature.failed)
        pw_failed(w);
    else
        pw_put(w, b.data, b.size);
    pfc_buf_free(&b);
    pfc_buf_free(&feature);
    return data_at;
}

void pw_tail(pw_writer *w, uint64_t data_end) {
    pfc_buf table, payload;
    unsigned present = 0, bit;
    pfc_buf_init(&table, &w->mem);
    pfc_buf_init(&payload, &w->mem);
    for (bit = 1; bit <= F_LAST; bit++)
        present += put_feature(w, bit, &payload) ? 1u : 0u;
    pfc_buf_clear(&payload);
    uint64_t at = data_end + 16 * present;
    for (bit = 1; bit <= F_LAST; bit++) {
        size_t before = payload.size;
        if (!put_feature(w, bit, &payload))
            continue;
        pfc_buf_le64(&table, at + before);
        pfc_buf_le64(&table, payload.size - before);
    }
    if (table.failed || payload.failed) {
        pw_failed(w);
    } else {
        pw_put(w, table.data, table.size);
        pw_put(w, payload.data, payload.size);
    }
    pfc_buf_free(&table);
    pfc_buf_free(&payload);
}
