/* SPDX-License-Identifier: MIT
 *
 * Feature payloads, from the sections of a file or from HEADER_FEATURE records of a pipe, and build-id records. A
 * damaged payload costs that feature and never the samples: every count is held against the bytes of its section.
 */
#include "libprofconv/formats/perf-data/pd.h"

enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_CPUDESC = 8,
    FEATURE_CPUID = 9,
    FEATURE_TOTAL_MEM = 10,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_PMU_MAPPINGS = 16,
    FEATURE_SAMPLE_TIME = 21,
    FEATURE_CLOCK_DATA = 29,
    FEATURE_META_INFO = 129 /* of simpleperf */
};

static void damaged(pd_reader *r, uint32_t bit, uint64_t offset, const char *what) {
    profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "bad-feature", 1, 0, offset, 0,
                        "feature %u at offset 0x%llx: %s; the rest of it is ignored", bit, (unsigned long long)offset,
                        what);
}

/* u32 length, then that many bytes, of which those before the first NUL count. */
static profconv_string take_string(pfc_cursor *c) {
    uint32_t length = pfc_u32(c);
    pfc_cursor sub = pfc_sub(c, length);
    return pfc_cstring(&sub);
}

static void set_text(pd_reader *r, char **slot, profconv_string s) {
    if (*slot) {
        pfc_free(&r->mem, *slot, strlen(*slot) + 1);
        *slot = NULL;
    }
    if (s.size)
        *slot = pfc_strdup(&r->mem, s.data, s.size); /* want of memory shows in r->mem.failed */
}

static void read_command(pd_reader *r, pfc_cursor *c) {
    uint32_t count = pfc_u32(c);
    if (!pfc_fits(c, count, 4)) {
        c->failed = 1;
        return;
    }
    pfc_buf buf;
    pfc_buf_init(&buf, &r->mem);
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        profconv_string s = take_string(c);
        if (i)
            pfc_buf_char(&buf, ' ');
        pfc_buf_add(&buf, s.data, s.size);
    }
    profconv_string text = {buf.data ? buf.data : "", buf.size};
    if (!c->failed)
        set_text(r, &r->features.command, text);
    pfc_buf_free(&buf);
}

/* Names of events, found by their ids, or by position where the recording has no ids. */
static void read_event_desc(pd_reader *r, pfc_cursor *c) {
    uint32_t count = pfc_u32(c), attr_size = pfc_u32(c);
    if (attr_size == 0 || !pfc_fits(c, count, (size_t)attr_size + 8)) {
        c->failed = 1;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        pfc_skip(c, attr_size);
        uint32_t id_count = pfc_u32(c);
        profconv_string name = take_string(c);
        if (!pfc_fits(c, id_count, 8)) {
            c->failed = 1;
            return;
        }
        uint32_t event = i;
        for (uint32_t k = 0; k < id_count; k++) {
            uint64_t id = pfc_u64(c);
            const pd_id *row = pd_event_by_id(r, id);
            if (k == 0 && row)
                event = row->event;
            else if (!row && event < r->events.count && pd_event_add_id(r, id, event))
                return;
        }
        if (pd_event_set_name(r, event, name.data, name.size, PD_NAME_DESC))
            return;
    }
    r->event_desc_seen = 1;
}

/* "NAME,TYPE,CONFIG", which names every event of that type and configuration. */
static int name_by_kind(pd_reader *r, const char *line, const char *end) {
    const char *config = end, *type;
    uint64_t values[2];
    while (config > line && config[-1] != ',')
        config--;
    for (type = config > line ? config - 1 : line; type > line && type[-1] != ',';)
        type--;
    if (type == line || pfc_parse_u64(type, end, &values[0]) != config - 1 ||
        pfc_parse_u64(config, end, &values[1]) != end)
        return 0;
    for (size_t i = 0; i < r->events.count; i++) {
        const pd_attr *a = &r->events.data[i].attr;
        int status = a->type == values[0] && a->config == values[1]
                         ? pd_event_set_name(r, (uint32_t)i, line, (size_t)(type - 1 - line), PD_NAME_DESC)
                         : 0;
        if (status)
            return status;
    }
    return 0;
}

/* simpleperf's facts: keys and values in turn, each with a NUL. The names of events are lines of one value. */
static void read_meta_info(pd_reader *r, pfc_cursor *c) {
    while (pfc_cursor_left(c)) {
        profconv_string key = pfc_cstring(c), value = pfc_cstring(c);
        if (key.size != 15 || memcmp(key.data, "event_type_info", 15) != 0)
            continue;
        for (const char *p = value.data, *end = p + value.size; p < end;) {
            const char *lf = (const char *)memchr(p, '\n', (size_t)(end - p));
            if (name_by_kind(r, p, lf ? lf : end))
                return;
            p = lf ? lf + 1 : end;
        }
    }
}

static void read_pmus(pd_reader *r, pfc_cursor *c) {
    pd_features *f = &r->features;
    uint32_t count = pfc_u32(c);
    if (!pfc_fits(c, count, 8)) {
        c->failed = 1;
        return;
    }
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        uint32_t type = pfc_u32(c);
        profconv_string name = take_string(c);
        if (c->failed || name.size == 0)
            continue;
        if (pfc_grow(&r->mem, (void **)(void *)&f->pmus, &f->pmu_capacity, f->pmu_count + 1, sizeof *f->pmus))
            return;
        f->pmus[f->pmu_count].type = type;
        f->pmus[f->pmu_count].name = pfc_strdup(&r->mem, name.data, name.size);
        if (!f->pmus[f->pmu_count].name)
            return;
        f->pmu_count++;
    }
}

void pd_build_id_hex(char out[41], const uint8_t *id, unsigned size) {
    static const char digits[] = "0123456789abcdef";
    out[0] = 0;
    if (size > 20)
        return;
    unsigned n = size ? size : 20;
    if (size == 0) /* length not recorded: ids of 8 or 16 bytes stand padded with zeros */
        while (n >= 4 && id[n - 1] == 0 && id[n - 2] == 0 && id[n - 3] == 0 && id[n - 4] == 0)
            n -= 4;
    int any = 0;
    for (unsigned i = 0; i < n; i++) {
        out[2 * i] = digits[id[i] >> 4];
        out[2 * i + 1] = digits[id[i] & 15];
        any |= id[i];
    }
    out[any ? 2 * n : 0] = 0;
}

static void add_build_id(pd_reader *r, const uint8_t *id, unsigned size, unsigned misc, profconv_string name) {
    pd_build_id row;
    memset(&row, 0, sizeof row);
    pd_build_id_hex(row.hex, id, size);
    unsigned mode = misc & PD_CPUMODE_MASK;
    row.kernel = mode == PD_MODE_KERNEL || mode == PD_MODE_GUEST_KERNEL;
    if (!row.hex[0] || name.size == 0)
        return;
    row.name = pfc_strdup(&r->mem, name.data, name.size);
    row.name_size = name.size;
    if (row.name && PFC_VEC_PUSH(&r->mem, &r->features.build_ids, row))
        pfc_free(&r->mem, row.name, row.name_size + 1);
}

/* One record of the table, or a HEADER_BUILD_ID record. without_pid: of recorders before the pid field. */
static void take_build_id(pd_reader *r, const uint8_t *data, size_t size, int without_pid) {
    size_t id_at = without_pid ? 8 : 12, name_at = without_pid ? 32 : 36;
    if (size <= name_at)
        return;
    unsigned misc = pfc_load16(data + 4, r->big);
    unsigned length = !without_pid && (misc & PD_MISC_BUILD_ID_SIZE) ? data[32] : 0;
    pfc_cursor c = pfc_cursor_make(data + name_at, size - name_at, 0, r->big);
    add_build_id(r, data + id_at, length, misc, pfc_cstring(&c));
}

void pd_build_id_record(pd_reader *r, const uint8_t *data, size_t size) { take_build_id(r, data, size, 0); }

static void read_build_ids(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset) {
    int without_pid = size > 36 + 15 && memcmp(data + 36, "nel.kallsyms]", 13) == 0;
    size_t at = 0;
    while (size - at >= 8) {
        size_t length = pfc_load16(data + at + 6, r->big);
        if (length < (without_pid ? 33u : 37u) || length > size - at) {
            damaged(r, FEATURE_BUILD_ID, offset + at, "a build-id record of an impossible size");
            return;
        }
        take_build_id(r, data + at, length, without_pid);
        at += length;
    }
}

void pd_feature(pd_reader *r, uint32_t bit, const uint8_t *data, size_t size, uint64_t offset) {
    pd_features *f = &r->features;
    pfc_cursor c = pfc_cursor_make(data, size, offset, r->big);
    if (size == 0)
        return;
    profconv_string s = {"", 0};
    switch (bit) {
    case FEATURE_BUILD_ID:
        read_build_ids(r, data, size, offset);
        return;
    case FEATURE_HOSTNAME:
    case FEATURE_OSRELEASE:
    case FEATURE_VERSION:
    case FEATURE_ARCH:
    case FEATURE_CPUDESC:
    case FEATURE_CPUID:
        s = take_string(&c);
        if (!c.failed)
            set_text(r,
                     bit == FEATURE_HOSTNAME    ? &f->hostname
                     : bit == FEATURE_OSRELEASE ? &f->os_release
                     : bit == FEATURE_VERSION   ? &f->version
                     : bit == FEATURE_ARCH      ? &f->arch
                     : bit == FEATURE_CPUDESC   ? &f->cpu_desc
                                                : &f->cpuid,
                     s);
        break;
    case FEATURE_NRCPUS:
        pfc_skip(&c, 4); /* those that could be online */
        f->cpus_online = pfc_u32(&c);
        break;
    case FEATURE_TOTAL_MEM:
        f->total_memory_kb = pfc_u64(&c);
        break;
    case FEATURE_CMDLINE:
        read_command(r, &c);
        break;
    case FEATURE_EVENT_DESC:
        read_event_desc(r, &c);
        break;
    case FEATURE_PMU_MAPPINGS:
        read_pmus(r, &c);
        break;
    case FEATURE_SAMPLE_TIME:
        f->first_time = pfc_u64(&c);
        f->last_time = pfc_u64(&c);
        f->have_sample_time = !c.failed;
        break;
    case FEATURE_META_INFO:
        read_meta_info(r, &c);
        break;
    case FEATURE_CLOCK_DATA:
        pfc_skip(&c, 8); /* version, clock */
        f->clock_wall = pfc_u64(&c);
        f->clock_value = pfc_u64(&c);
        f->have_clock = !c.failed && f->clock_value != 0;
        break;
    default:
        return; /* of no use for a profile */
    }
    if (bit == FEATURE_ARCH)
        f->aarch64 = f->arch && strncmp(f->arch, "aarch64", 7) == 0;
    if (c.failed)
        damaged(r, bit, offset, "a count or length in it passes its end");
}

void pd_features_free(pd_reader *r) {
    pd_features *f = &r->features;
    char **texts[] = {&f->hostname, &f->os_release, &f->version, &f->arch, &f->cpu_desc, &f->cpuid, &f->command};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (*texts[i]) {
            pfc_free(&r->mem, *texts[i], strlen(*texts[i]) + 1);
            *texts[i] = NULL;
        }
    for (size_t i = 0; i < f->build_ids.count; i++)
        pfc_free(&r->mem, f->build_ids.data[i].name, f->build_ids.data[i].name_size + 1);
    PFC_VEC_FREE(&r->mem, &f->build_ids);
    for (size_t i = 0; i < f->pmu_count; i++)
        pfc_free(&r->mem, f->pmus[i].name, strlen(f->pmus[i].name) + 1);
    pfc_free(&r->mem, f->pmus, f->pmu_capacity * sizeof *f->pmus);
    f->pmus = NULL;
    f->pmu_count = f->pmu_capacity = 0;
}
