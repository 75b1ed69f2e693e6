/* SPDX-License-Identifier: MIT
 *
 * The canonical text of a profile: a line for every row of every table, in the order of the tables, with the ids that
 * others refer to. Strings stand where they are used, quoted. The string table itself is not shown: which unused
 * strings it holds says nothing about the profile. Lines are shown as `location.index`, for the same reason.
 */
#include <profconv/convert.h>
#include <profconv/io.h>

#include "libprofconv/base/text.h"
#include "libprofconv/model/build.h"

typedef struct dump {
    const pfc_model *m;
    pfc_buf buf;
    profconv_output *output;
    profconv_error *error;
    int status;
} dump;

enum { FLUSH_AT = 64 << 10 };

static void flush(dump *d) {
    if (!d->status && d->buf.failed)
        d->status = pfc_mem_error(d->buf.mem, d->error);
    if (!d->status && d->buf.size)
        d->status = profconv_output_write(d->output, d->buf.data, d->buf.size, d->error);
    pfc_buf_clear(&d->buf);
}

static void end(dump *d) {
    pfc_buf_char(&d->buf, '\n');
    if (d->buf.size >= FLUSH_AT || d->buf.failed)
        flush(d);
}

/* Bytes of the valid UTF-8 sequence at p, or 0. Overlong forms, surrogates and values past U+10FFFF are not valid. */
static size_t utf8(const unsigned char *p, size_t left) {
    size_t size = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] >= 0x90))
        return 0;
    return size;
}

static void escaped(pfc_buf *buf, unsigned char c) {
    static const char digits[] = "0123456789abcdef";
    char text[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
    pfc_buf_add(buf, text, sizeof text);
}

static void quoted(pfc_buf *buf, const char *data, size_t size) {
    const unsigned char *p = (const unsigned char *)data;
    pfc_buf_char(buf, '"');
    for (size_t i = 0; i < size;) {
        size_t n = utf8(p + i, size - i);
        if (p[i] == '\n')
            pfc_buf_text(buf, "\\n");
        else if (p[i] == '\t')
            pfc_buf_text(buf, "\\t");
        else if (p[i] == '"' || p[i] == '\\')
            pfc_buf_char(buf, '\\'), pfc_buf_char(buf, (char)p[i]);
        else if (n == 0 || p[i] < 0x20 || p[i] == 0x7f)
            escaped(buf, p[i]);
        else
            pfc_buf_add(buf, p + i, n);
        i += n ? n : 1;
    }
    pfc_buf_char(buf, '"');
}

/* ` key=value` in the kinds of values that there are. */
static void key(dump *d, const char *name) {
    pfc_buf_char(&d->buf, ' ');
    pfc_buf_text(&d->buf, name);
    pfc_buf_char(&d->buf, '=');
}
static void number(dump *d, const char *name, uint64_t value) {
    key(d, name);
    pfc_buf_u64(&d->buf, value);
}
static void signed_number(dump *d, const char *name, int64_t value) {
    key(d, name);
    pfc_buf_i64(&d->buf, value);
}
static void hex(dump *d, const char *name, uint64_t value) {
    key(d, name);
    pfc_buf_text(&d->buf, "0x");
    pfc_buf_hex(&d->buf, value);
}
static void string(dump *d, const char *name, profconv_id id) {
    profconv_string s = pfc_model_string(d->m, id);
    key(d, name);
    quoted(&d->buf, s.data, s.size);
}

/* Names of the bits in `names`, "-" for none, the rest in hexadecimal. */
static void flags(dump *d, const char *name, uint32_t value, const char *const *names, size_t count) {
    const char *separator = "";
    key(d, name);
    if (value == 0)
        pfc_buf_char(&d->buf, '-');
    for (size_t bit = 0; bit < 32; bit++) {
        if (!(value >> bit & 1))
            continue;
        pfc_buf_text(&d->buf, separator);
        separator = ",";
        if (bit < count) {
            pfc_buf_text(&d->buf, names[bit]);
        } else {
            pfc_buf_text(&d->buf, "0x");
            pfc_buf_hex(&d->buf, (uint64_t)1 << bit);
        }
    }
}
#define FLAGS(d, name, value, names) flags((d), (name), (value), (names), sizeof(names) / sizeof((names)[0]))

static void choice(dump *d, const char *name, uint32_t value, const char *const *names, size_t count) {
    if (value >= count) {
        number(d, name, value);
        return;
    }
    key(d, name);
    pfc_buf_text(&d->buf, names[value]);
}
#define CHOICE(d, name, value, names) choice((d), (name), (value), (names), sizeof(names) / sizeof((names)[0]))

static void row(dump *d, const char *table, size_t id) {
    pfc_buf_text(&d->buf, table);
    pfc_buf_char(&d->buf, ' ');
    pfc_buf_u64(&d->buf, id);
}

static const char *const source_flag_names[] = {"context", "preinlined", "fs",           "probes",
                                                "md5",     "partial",    "unique-suffix"};

static void dump_info(dump *d) {
    const char *facet_names[7];
    const profconv_info *info = &d->m->info;
    for (size_t i = 0; i < 7; i++)
        facet_names[i] = profconv_facet_name((uint32_t)1 << i);
    pfc_buf_text(&d->buf, "info");
    FLAGS(d, "facets", info->facets, facet_names);
    signed_number(d, "time_ns", info->time_ns);
    signed_number(d, "duration_ns", info->duration_ns);
    signed_number(d, "period", info->period);
    string(d, "period_type", info->period_type);
    string(d, "period_unit", info->period_unit);
    string(d, "default_sample_type", info->default_sample_type);
    string(d, "drop_frames", info->drop_frames);
    string(d, "keep_frames", info->keep_frames);
    string(d, "doc_url", info->doc_url);
    FLAGS(d, "source_flags", info->source_flags, source_flag_names);
    end(d);
    for (size_t i = 0; i < d->m->attributes.count; i++) {
        row(d, "attribute", i);
        string(d, "key", d->m->attributes.data[i].key);
        string(d, "value", d->m->attributes.data[i].value);
        end(d);
    }
    for (size_t i = 0; i < d->m->comments.count; i++) {
        row(d, "comment", i);
        string(d, "text", d->m->comments.data[i]);
        end(d);
    }
}

static void dump_mappings(dump *d) {
    static const char *const kinds[] = {"unknown", "executable", "library",   "kernel", "module",
                                        "vdso",    "jit",        "anonymous", "guest"};
    static const char *const names[] = {"has-functions", "has-filenames", "has-line-numbers", "has-inline-frames",
                                        "main"};
    for (size_t i = 1; i < d->m->mappings.count; i++) {
        const profconv_mapping *r = &d->m->mappings.data[i];
        row(d, "mapping", i);
        CHOICE(d, "kind", r->kind, kinds);
        hex(d, "start", r->start);
        hex(d, "limit", r->limit);
        hex(d, "file_offset", r->file_offset);
        string(d, "file", r->file);
        string(d, "build_id", r->build_id);
        number(d, "pid", r->pid);
        FLAGS(d, "flags", r->flags, names);
        string(d, "reference", r->reference);
        hex(d, "reference_address", r->reference_address);
        end(d);
    }
}

static void dump_functions(dump *d) {
    for (size_t i = 1; i < d->m->functions.count; i++) {
        const profconv_function *f = &d->m->functions.data[i];
        row(d, "function", i);
        string(d, "name", f->name);
        string(d, "linkage_name", f->linkage_name);
        string(d, "file", f->file);
        signed_number(d, "start_line", f->start_line);
        end(d);
    }
}

static void dump_lines(dump *d, size_t id) {
    const profconv_location *l = &d->m->locations.data[id];
    for (uint32_t i = 0; i < l->line_count; i++) {
        const profconv_line *line = &d->m->lines.data[l->first_line + i];
        row(d, "line", id);
        pfc_buf_char(&d->buf, '.');
        pfc_buf_u64(&d->buf, i);
        number(d, "function", line->function);
        signed_number(d, "line", line->line);
        signed_number(d, "column", line->column);
        number(d, "discriminator", line->discriminator);
        end(d);
    }
}

static void dump_locations(dump *d) {
    static const char *const names[] = {"folded", "kernel", "guest", "no-symbol"};
    for (size_t i = 1; i < d->m->locations.count && !d->status; i++) {
        const profconv_location *l = &d->m->locations.data[i];
        row(d, "location", i);
        number(d, "mapping", l->mapping);
        hex(d, "address", l->address);
        FLAGS(d, "flags", l->flags, names);
        number(d, "lines", l->line_count);
        end(d);
    }
    for (size_t i = 1; i < d->m->locations.count && !d->status; i++)
        dump_lines(d, i);
}

static void dump_stacks(dump *d) {
    for (size_t i = 1; i < d->m->stacks.count && !d->status; i++) {
        row(d, "stack", i);
        number(d, "parent", d->m->stacks.data[i].parent);
        number(d, "location", d->m->stacks.data[i].location);
        end(d);
    }
}

static void dump_labels(dump *d) {
    const pfc_model *m = d->m;
    for (size_t i = 1; i < m->labels.count && !d->status; i++) {
        const profconv_label *l = &m->labels.data[i];
        row(d, "label", i);
        string(d, "key", l->key);
        if (l->numeric) {
            signed_number(d, "number", l->number);
            string(d, "unit", l->unit);
        } else {
            string(d, "string", l->string);
        }
        end(d);
    }
    for (size_t i = 1; i < m->label_sets.count && !d->status; i++) {
        const profconv_label_set *s = &m->label_sets.data[i];
        row(d, "label_set", i);
        key(d, "labels");
        for (uint32_t k = 0; k < s->count; k++) {
            if (k)
                pfc_buf_char(&d->buf, ',');
            pfc_buf_u64(&d->buf, m->label_items.data[s->first + k]);
        }
        end(d);
    }
}

static void dump_samples(dump *d) {
    static const char *const roles[] = {"value", "count", "weight"};
    const pfc_model *m = d->m;
    for (size_t i = 0; i < m->sample_types.count; i++) {
        const profconv_sample_type *t = &m->sample_types.data[i];
        row(d, "sample_type", i);
        string(d, "name", t->name);
        string(d, "unit", t->unit);
        string(d, "event", t->event);
        signed_number(d, "period", t->period);
        CHOICE(d, "role", t->role, roles);
        end(d);
    }
    for (size_t i = 0; i < m->sample_stacks.count && !d->status; i++) {
        row(d, "sample", i);
        number(d, "stack", m->sample_stacks.data[i]);
        number(d, "label_set", m->sample_label_sets.data[i]);
        key(d, "values");
        for (size_t k = 0; k < m->values.count; k++) {
            if (k)
                pfc_buf_char(&d->buf, ',');
            pfc_buf_i64(&d->buf, m->values.data[k].data[i]);
        }
        end(d);
    }
}

static void dump_branches(dump *d) {
    const pfc_model *m = d->m;
    for (size_t i = 0; i < m->branches.count && !d->status; i++) {
        row(d, "branch", i);
        number(d, "from", m->branches.data[i].from);
        number(d, "to", m->branches.data[i].to);
        number(d, "count", m->branches.data[i].count);
        number(d, "mispredicted", m->branches.data[i].mispredicted);
        number(d, "cycles", m->branches.data[i].cycles);
        end(d);
    }
    for (size_t i = 0; i < m->ranges.count && !d->status; i++) {
        row(d, "range", i);
        number(d, "begin", m->ranges.data[i].begin);
        number(d, "end", m->ranges.data[i].end);
        number(d, "count", m->ranges.data[i].count);
        end(d);
    }
    for (size_t i = 0; i < m->addresses.count && !d->status; i++) {
        row(d, "address", i);
        number(d, "location", m->addresses.data[i].location);
        number(d, "count", m->addresses.data[i].count);
        end(d);
    }
    for (size_t i = 0; i < m->entries.count && !d->status; i++) {
        row(d, "entry", i);
        number(d, "mapping", m->entries.data[i].mapping);
        hex(d, "address", m->entries.data[i].address);
        number(d, "size", m->entries.data[i].size);
        string(d, "name", m->entries.data[i].name);
        number(d, "ordinal", m->entries.data[i].ordinal);
        end(d);
    }
}

static void dump_source(dump *d, size_t id) {
    static const char *const names[] = {"checksum", "attributes", "md5-name"};
    const profconv_source *s = &d->m->sources.data[id];
    row(d, "source", id);
    string(d, "name", s->name);
    number(d, "parent", s->parent);
    number(d, "context", s->context);
    number(d, "line", s->line);
    number(d, "discriminator", s->discriminator);
    number(d, "total", s->total);
    number(d, "head", s->head);
    FLAGS(d, "flags", s->flags, names);
    hex(d, "checksum", s->checksum);
    hex(d, "attributes", s->attributes);
    string(d, "file", s->file);
    number(d, "timestamp", s->timestamp);
    end(d);
}

static void dump_sources(dump *d) {
    const pfc_model *m = d->m;
    for (size_t i = 1; i < m->contexts.count && !d->status; i++) {
        row(d, "context", i);
        number(d, "parent", m->contexts.data[i].parent);
        string(d, "name", m->contexts.data[i].name);
        number(d, "line", m->contexts.data[i].line);
        number(d, "discriminator", m->contexts.data[i].discriminator);
        end(d);
    }
    for (size_t i = 1; i < m->sources.count && !d->status; i++)
        dump_source(d, i);
    for (size_t i = 1; i < m->source_bodies.count && !d->status; i++) {
        row(d, "source_body", i);
        number(d, "source", m->source_bodies.data[i].source);
        number(d, "line", m->source_bodies.data[i].line);
        number(d, "discriminator", m->source_bodies.data[i].discriminator);
        number(d, "count", m->source_bodies.data[i].count);
        end(d);
    }
    for (size_t i = 1; i < m->source_targets.count && !d->status; i++) {
        row(d, "source_target", i);
        number(d, "body", m->source_targets.data[i].body);
        string(d, "name", m->source_targets.data[i].name);
        number(d, "count", m->source_targets.data[i].count);
        end(d);
    }
    for (size_t i = 0; i < m->symbols.count && !d->status; i++) {
        row(d, "symbol", i);
        string(d, "name", m->symbols.data[i]);
        end(d);
    }
}

static void dump_place(dump *d, const profconv_note *note) {
    if (note->offset != PROFCONV_NO_OFFSET)
        hex(d, "offset", note->offset);
    if (note->line)
        number(d, "line", note->line);
}

static void text(dump *d, const char *name, const char *value) {
    size_t size = 0;
    while (value[size])
        size++;
    key(d, name);
    quoted(&d->buf, value, size);
}

static void dump_notes(dump *d) {
    static const char *const kinds[] = {"none", "info", "warning", "dropped", "lost"};
    size_t count = profconv_report_count(d->m->report);
    for (size_t i = 0; i < count; i++) {
        profconv_note note;
        if (profconv_report_get(d->m->report, i, &note))
            continue;
        row(d, "note", i);
        CHOICE(d, "kind", (uint32_t)note.kind, kinds);
        text(d, "cause", note.cause);
        number(d, "count", note.count);
        signed_number(d, "weight", note.weight);
        dump_place(d, &note);
        text(d, "message", note.message);
        end(d);
    }
    if (profconv_report_overflow(d->m->report)) {
        pfc_buf_text(&d->buf, "notes-not-stored");
        number(d, "count", profconv_report_overflow(d->m->report));
        end(d);
    }
}

int profconv_dump(const profconv_profile *profile, profconv_output *output, profconv_error *error) {
    static void (*const parts[])(dump *) = {dump_info,   dump_mappings, dump_functions, dump_locations, dump_labels,
                                            dump_stacks, dump_samples,  dump_branches,  dump_sources,   dump_notes};
    pfc_mem mem; /* of this call: a profile may be dumped by several threads at once */
    pfc_mem_init(&mem, &profile->model.mem.allocator, profile->model.limits.max_memory);
    dump d = {&profile->model, {0}, output, error, PROFCONV_OK};
    pfc_buf_init(&d.buf, &mem);
    pfc_buf_text(&d.buf, "profconv-dump 1\n");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !d.status; i++)
        parts[i](&d);
    flush(&d);
    pfc_buf_free(&d.buf);
    return d.status;
}
