/* SPDX-License-Identifier: MIT
 *
 * The whole input in memory (these files are aggregated already, and their memory maps stand behind the samples), and
 * what becomes of addresses.
 */
#include "libprofconv/formats/legacy-pprof/legacy.h"

#define BYTES_MOST (UINT64_C(1) << 30)
#define PROGRAM_START UINT64_C(0x400000)

int lp_start(lp_reader *r, profconv_input *input, profconv_builder *builder, profconv_error *error) {
    memset(r, 0, sizeof *r);
    pfc_mem_init(&r->mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    r->builder = builder;
    r->report = profconv_builder_report(builder);
    r->error = error;
    return pfc_input_read_all(input, &r->mem, BYTES_MOST, &r->data, &r->size, &r->capacity, error);
}

void lp_free(lp_reader *r) {
    pfc_free(&r->mem, r->data, r->capacity);
    PFC_VEC_FREE(&r->mem, &r->maps);
    PFC_VEC_FREE(&r->mem, &r->symbols);
    PFC_VEC_FREE(&r->mem, &r->by_address);
    PFC_VEC_FREE(&r->mem, &r->stack);
    PFC_VEC_FREE(&r->mem, &r->lines);
}

int lp_failed(lp_reader *r) {
    int status = profconv_builder_status(r->builder, r->error);
    return status ? status : pfc_mem_error(&r->mem, r->error);
}

int lp_finish(lp_reader *r) {
    if (r->other_lines)
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "other-lines", r->other_lines, 0, PROFCONV_NO_OFFSET,
                            r->other_line, "lines that are no sample");
    profconv_report_add(r->report, PROFCONV_NOTE_INFO, "samples", r->samples, 0, PROFCONV_NO_OFFSET, 0,
                        "sample rows read");
    if (r->samples == 0)
        return profconv_error_set(r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0, "the profile has no sample");
    return r->mem.failed ? lp_failed(r) : profconv_builder_status(r->builder, r->error);
}

/* ---- text ---- */

int lp_next_line(const uint8_t *text, size_t size, size_t *at, lp_text *line) {
    if (*at >= size)
        return 0;
    const uint8_t *lf = (const uint8_t *)memchr(text + *at, '\n', size - *at);
    size_t end = lf ? (size_t)(lf - text) : size;
    line->data = (const char *)text + *at;
    line->size = end - *at;
    if (line->size > 0 && line->data[line->size - 1] == '\r')
        line->size--;
    *at = lf ? end + 1 : size;
    return 1;
}

static int blank(char c) { return c == ' ' || c == '\t'; }

lp_text lp_trim(lp_text t) {
    while (t.size > 0 && blank(t.data[0])) {
        t.data++;
        t.size--;
    }
    while (t.size > 0 && blank(t.data[t.size - 1]))
        t.size--;
    return t;
}

int lp_starts(lp_text t, const char *head) {
    size_t n = strlen(head);
    return t.size >= n && memcmp(t.data, head, n) == 0;
}

/* ---- memory maps ---- */

static lp_text take_word(lp_text *t) {
    lp_text all = lp_trim(*t), word = {all.data, 0};
    while (word.size < all.size && !blank(all.data[word.size]))
        word.size++;
    t->data = all.data + word.size;
    t->size = all.size - word.size;
    return word;
}

/* "start-end perms offset device inode path" or "start-end: path (@offset) build-id"; 0: neither; -1: not executable.
 */
static int parse_map(lp_reader *r, lp_text line, lp_map *m) {
    lp_text rest = lp_trim(line);
    const char *end = rest.data + rest.size;
    memset(m, 0, sizeof *m);
    const char *p = pfc_parse_hex(rest.data, end, &m->start);
    if (!p || p == end || *p != '-' || !(p = pfc_parse_hex(p + 1, end, &m->limit)) || m->limit <= m->start)
        return 0;
    rest.data = p;
    rest.size = (size_t)(end - p);
    lp_text file;
    if (p < end && *p == ':') {
        rest.data++;
        rest.size--;
        file = take_word(&rest);
        lp_text word = take_word(&rest);
        if (lp_starts(word, "(@") && pfc_parse_hex(word.data + 2, word.data + word.size, &m->offset))
            word = take_word(&rest);
        m->build_id = profconv_builder_string(r->builder, word.data, word.size);
    } else {
        lp_text perms = take_word(&rest), offset = take_word(&rest);
        if (perms.size < 4 || !pfc_parse_hex(offset.data, offset.data + offset.size, &m->offset))
            return 0;
        if (perms.data[2] != 'x')
            return -1;
        take_word(&rest);
        take_word(&rest);
        file = lp_trim(rest);
    }
    m->file = profconv_builder_string(r->builder, file.data, file.size);
    return 1;
}

typedef struct attribute {
    lp_text name, value;
} attribute;
typedef PFC_VEC(attribute) attributes;

/* "$name" stands for what "name=value" said before. */
static int expand(const attributes *known, lp_text line, pfc_buf *out) {
    pfc_buf_clear(out);
    for (size_t i = 0; i < line.size;) {
        size_t k = 0;
        lp_text rest = {line.data + i + 1, line.size - i - 1};
        for (; line.data[i] == '$' && k < known->count; k++)
            if (rest.size >= known->data[k].name.size &&
                memcmp(rest.data, known->data[k].name.data, known->data[k].name.size) == 0)
                break;
        if (line.data[i] == '$' && k < known->count) {
            pfc_buf_add(out, known->data[k].value.data, known->data[k].value.size);
            i += 1 + known->data[k].name.size;
        } else
            pfc_buf_char(out, line.data[i++]);
    }
    return out->failed;
}

static int read_attribute(lp_reader *r, attributes *known, lp_text line) {
    enum { MOST = 64 };
    const char *equal = (const char *)memchr(line.data, '=', line.size);
    if (!equal || known->count >= MOST)
        return 0;
    attribute a = {{line.data, (size_t)(equal - line.data)}, {equal + 1, (size_t)(line.data + line.size - equal - 1)}};
    a.name = lp_trim(a.name);
    a.value = lp_trim(a.value);
    return a.name.size > 0 && PFC_VEC_PUSH(&r->mem, known, a) ? -1 : 0;
}

static int by_start(const void *user, uint32_t a, uint32_t b) {
    const lp_map *maps = (const lp_map *)user;
    return maps[a].start < maps[b].start ? -1 : maps[a].start > maps[b].start;
}

/* Sorted copies, so that an address is found without looking at all. */
static int sort_maps(lp_reader *r) {
    size_t n = r->maps.count, bytes = n * sizeof(uint32_t);
    if (n < 2 || n > UINT32_MAX)
        return 0;
    uint32_t *ids = (uint32_t *)pfc_alloc(&r->mem, bytes);
    lp_map *sorted = (lp_map *)pfc_alloc(&r->mem, n * sizeof *sorted);
    if (ids && sorted) {
        for (uint32_t i = 0; i < n; i++)
            ids[i] = i;
        if (pfc_sort_ids(&r->mem, ids, n, by_start, r->maps.data) == 0) {
            for (size_t i = 0; i < n; i++)
                sorted[i] = r->maps.data[ids[i]];
            memcpy(r->maps.data, sorted, n * sizeof *sorted);
        }
    }
    pfc_free(&r->mem, ids, ids ? bytes : 0);
    pfc_free(&r->mem, sorted, sorted ? n * sizeof *sorted : 0);
    return r->mem.failed ? lp_failed(r) : 0;
}

int lp_read_maps(lp_reader *r, const uint8_t *text, size_t size) {
    attributes known = {NULL, 0, 0};
    pfc_buf buf;
    lp_text line;
    size_t at = 0;
    pfc_buf_init(&buf, &r->mem);
    while (!r->mem.failed && lp_next_line(text, size, &at, &line)) {
        lp_map m;
        lp_text plain = line; /* what attributes are taken from: `buf` is of one line only */
        if (known.count && memchr(line.data, '$', line.size) && expand(&known, line, &buf) == 0) {
            line.data = buf.size ? buf.data : "";
            line.size = buf.size;
        }
        int got = parse_map(r, line, &m);
        if (got == 0 && read_attribute(r, &known, plain))
            break;
        if (got <= 0)
            continue;
        m.first = r->maps.count == 0;
        if (m.first && m.start - m.offset == PROGRAM_START) {
            m.start = PROGRAM_START;
            m.offset = 0;
        }
        if (PFC_VEC_PUSH(&r->mem, &r->maps, m))
            break;
    }
    pfc_buf_free(&buf);
    PFC_VEC_FREE(&r->mem, &known);
    return r->mem.failed ? lp_failed(r) : sort_maps(r);
}

static lp_map *find_map(lp_reader *r, uint64_t address) {
    size_t low = 0, high = r->maps.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->maps.data[middle].limit <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->maps.count)
        return NULL;
    lp_map *m = &r->maps.data[low];
    if (m->start <= address)
        return m;
    /* The first piece of a file is sometimes not listed. */
    return m->offset && m->start - m->offset <= address ? m : NULL;
}

static unsigned map_kind(const lp_reader *r, const lp_map *m) {
    profconv_string file = profconv_builder_get_string(r->builder, m->file);
    lp_text name = {file.data, file.size};
    if (lp_starts(name, "[vdso") || lp_starts(name, "[vsyscall]"))
        return PROFCONV_MAPPING_VDSO;
    if (name.size == 0 || name.data[0] == '[' || lp_starts(name, "//anon"))
        return PROFCONV_MAPPING_JIT;
    return m->first ? PROFCONV_MAPPING_EXECUTABLE : PROFCONV_MAPPING_LIBRARY;
}

static profconv_id mapping_of(lp_reader *r, uint64_t address) {
    profconv_mapping row;
    memset(&row, 0, sizeof row);
    lp_map *m = find_map(r, address);
    if (!m) {
        row.limit = UINT64_MAX;
        return r->anywhere ? r->anywhere : (r->anywhere = profconv_builder_mapping(r->builder, &row));
    }
    if (address < m->start) {
        m->start -= m->offset;
        m->offset = 0;
        m->mapping = 0;
    }
    if (!m->mapping) {
        row.start = m->start;
        row.limit = m->limit;
        row.file_offset = m->offset;
        row.file = m->file;
        row.build_id = m->build_id;
        row.kind = map_kind(r, m);
        row.flags = m->first ? PROFCONV_MAPPING_MAIN : 0;
        m->mapping = profconv_builder_mapping(r->builder, &row);
    }
    return m->mapping;
}

/* ---- symbol lines ---- */

static lp_text take_field(lp_text *t) {
    while (t->size > 0 && t->data[0] == '\t') {
        t->data++;
        t->size--;
    }
    lp_text field = {t->data, 0};
    while (field.size < t->size && field.data[field.size] != '\t')
        field.size++;
    t->data += field.size;
    t->size -= field.size;
    return field;
}

int lp_read_symbol(lp_reader *r, lp_text line, uint32_t block) {
    if (!lp_starts(line, "#\t0x"))
        return 0;
    lp_text rest = {line.data + 1, line.size - 1};
    lp_text address = take_field(&rest), name = take_field(&rest), place = take_field(&rest);
    lp_symbol s = {0, 0, 0, block};
    const char *end = address.data + address.size;
    if (pfc_parse_hex(address.data + 2, end, &s.address) != end || name.size == 0)
        return 0;
    for (size_t i = name.size; i-- > 0;)
        if (name.data[i] == '+') {
            name.size = i;
            break;
        }
    profconv_function function;
    memset(&function, 0, sizeof function);
    function.name = function.linkage_name = profconv_builder_string(r->builder, name.data, name.size);
    size_t colon = place.size;
    while (colon > 0 && place.data[colon - 1] != ':')
        colon--;
    if (colon > 0 && pfc_parse_i64(place.data + colon, place.data + place.size, &s.line) == place.data + place.size)
        function.file = profconv_builder_string(r->builder, place.data, colon - 1);
    else
        s.line = 0;
    s.function = profconv_builder_function(r->builder, &function);
    return PFC_VEC_PUSH(&r->mem, &r->symbols, s) ? -1 : 1;
}

int lp_sort_symbols(lp_reader *r) {
    if (r->symbols.count > UINT32_MAX || PFC_VEC_RESERVE(&r->mem, &r->by_address, r->symbols.count))
        return lp_failed(r);
    for (uint32_t i = 0; i < r->symbols.count; i++) {
        pfc_key key = {r->symbols.data[i].address, i, i};
        r->by_address.data[i] = key;
    }
    r->by_address.count = r->symbols.count;
    return pfc_sort_keys(&r->mem, r->by_address.data, r->by_address.count) ? lp_failed(r) : 0;
}

/* Several lines with one address below one sample are functions inlined there, innermost first; a function that comes
 * again is recursion. */
static int symbol_lines(lp_reader *r, uint64_t address) {
    size_t low = 0, high = r->by_address.count;
    r->lines.count = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->by_address.data[middle].key < address)
            low = middle + 1;
        else
            high = middle;
    }
    const lp_symbol *first = NULL;
    for (; low < r->by_address.count && r->by_address.data[low].key == address; low++) {
        const lp_symbol *s = &r->symbols.data[r->by_address.data[low].id];
        if (first && (s->block != first->block || s->function == first->function))
            break;
        first = first ? first : s;
        profconv_line line = {s->line, 0, s->function, 0};
        if (PFC_VEC_PUSH(&r->mem, &r->lines, line))
            return lp_failed(r);
    }
    return 0;
}

/* ---- samples ---- */

profconv_id lp_location(lp_reader *r, uint64_t address) {
    profconv_location row;
    memset(&row, 0, sizeof row);
    row.address = address;
    row.mapping = mapping_of(r, address);
    if (symbol_lines(r, address))
        return 0;
    return profconv_builder_location(r->builder, &row, r->lines.data, (uint32_t)r->lines.count);
}

int lp_push(lp_reader *r, uint64_t address) {
    profconv_id location = lp_location(r, address);
    return PFC_VEC_PUSH(&r->mem, &r->stack, location) ? lp_failed(r) : 0;
}

int lp_sample(lp_reader *r, profconv_id labels, const int64_t *values, uint32_t count) {
    profconv_id stack =
        r->stack.count ? profconv_builder_stack_leaf_first(r->builder, r->stack.data, r->stack.count) : 0;
    r->stack.count = 0;
    r->samples++;
    r->last_stack = stack;
    profconv_builder_sample(r->builder, stack, labels, 0, values, count);
    return r->mem.failed ? lp_failed(r) : profconv_builder_status(r->builder, r->error);
}

void lp_type(lp_reader *r, const char *name, size_t size, const char *unit, profconv_value_role role) {
    profconv_sample_type row;
    memset(&row, 0, sizeof row);
    row.name = profconv_builder_string(r->builder, name, size);
    row.unit = profconv_builder_cstring(r->builder, unit);
    row.role = role;
    profconv_builder_sample_type(r->builder, &row);
}

void lp_period(lp_reader *r, const char *type, size_t size, const char *unit, int64_t period, int64_t duration_ns) {
    profconv_info info;
    profconv_builder_get_info(r->builder, &info);
    info.period = period;
    info.period_type = profconv_builder_string(r->builder, type, size);
    info.period_unit = profconv_builder_cstring(r->builder, unit);
    info.duration_ns = duration_ns;
    profconv_builder_set_info(r->builder, &info);
}
