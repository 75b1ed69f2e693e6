/* SPDX-License-Identifier: MIT
 *
 * Code that programs described in jitdump files. The mapping of such a file in the recording is the sign that there is one. Its
 * events enter the process's maps as samples pass their times, so that code that lay at an address earlier or later does not
 * give its name; the functions are named here, since only here the times are known.
 *
 * Recordings without -k mono have another clock than the files: everything in the file counts from the start then, the last
 * code at an address winning.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define CODES_MAX ((1u << (32 - PD_MAP_CODE_SHIFT)) - 2)

/* "jit-PID.dump", whatever the number: in a container it is another one than here. */
static int is_dump(profconv_string s) {
    size_t at = s.size;
    while (at > 0 && s.data[at - 1] != '/')
        at--;
    const char *p = s.data + at, *end = s.data + s.size;
    if (end - p < 10 || memcmp(p, "jit-", 4) != 0 || memcmp(end - 5, ".dump", 5) != 0)
        return 0;
    for (p += 4; p < end - 5; p++)
        if (*p < '0' || *p > '9')
            return 0;
    return 1;
}

int pd_jit_mapped(pd_reader *r, uint32_t process, profconv_string name) {
    const pfc_jitdump_type *type = r->filter.jitdump ? pfc_builder_jitdump(r->builder) : NULL;
    if (!type || name.size == 0 || !is_dump(name))
        return 0;
    profconv_id file = profconv_builder_string(r->builder, name.data, name.size);
    for (size_t i = 0; i < r->jit.dumps.count; i++)
        if (r->jit.dumps.data[i].file == file && r->jit.dumps.data[i].process == process)
            return 0;
    pd_jit_dump row = {.file = file, .process = process};
    profconv_error reason;
    int rc = type->open(&row.dump, profconv_builder_allocator(r->builder), profconv_builder_limits(r->builder)->max_memory,
                        r->options, profconv_builder_get_string(r->builder, file).data, &reason);
    if (rc == PROFCONV_E_NOMEM || rc == PROFCONV_E_LIMIT) {
        if (r->error)
            *r->error = reason;
        return r->mem.failed = rc;
    }
    if (rc) {
        profconv_report_add(r->report, PROFCONV_NOTE_WARNING, "no-jitdump", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "%s; its code stays without names, unless a perf map has them", reason.message);
        return 0;
    }
    row.events = type->events(row.dump, &row.count);
    row.timed = r->monotonic && !type->other_clock(row.dump);
    if (!row.timed && row.count)
        profconv_report_add(r->report, PROFCONV_NOTE_INFO, "jitdump-without-time", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "%.*s: the recording has another clock (perf record -k mono has the same): the last code at an "
                            "address gives its name",
                            (int)(name.size < 200 ? name.size : 200), name.data);
    r->jit.type = type;
    if (PFC_VEC_PUSH(&r->mem, &r->jit.dumps, row)) {
        type->close(row.dump);
        return pd_failed(r);
    }
    r->jit.next_time = 0;
    return 0;
}

/* Where moved code lay, there is nothing known now; unless other code came there since. */
static int leave(pd_reader *r, const pd_jit_dump *d, pd_process *p, const pfc_jit_event *e, uint32_t dso) {
    const pd_map *old = e->left ? pd_maps_find(p->maps, e->left) : NULL;
    uint32_t row = old ? old->flags >> PD_MAP_CODE_SHIFT : 0;
    if (!row || old->start != e->left || r->jit.codes.data[row - 1].dump != d->dump || r->jit.codes.data[row - 1].code != e->code)
        return 0;
    pd_map map = {old->start, old->end, old->start, dso, PD_MAP_EXEC | PD_MAP_ANON};
    return pd_maps_insert(r, &p->maps, &map, 0);
}

static int apply(pd_reader *r, pd_jit_dump *d, const pfc_jit_event *e) {
    pd_process *p = &r->processes.data[d->process];
    if (r->jit.codes.count >= CODES_MAX)
        return 0;
    pd_dso key;
    memset(&key, 0, sizeof key);
    key.kind = PROFCONV_MAPPING_JIT;
    key.file = d->file;
    key.pid = p->pid;
    uint32_t dso = pd_dso_get(r, &key, e->start, e->start + e->size);
    pd_jit_code code = {d->dump, e->code, e->start};
    if (dso == UINT32_MAX || PFC_VEC_PUSH(&r->mem, &r->jit.codes, code))
        return pd_failed(r);
    p->serial = ++r->next_serial;
    int rc = leave(r, d, p, e, dso);
    pd_map map = {e->start, e->start + e->size, e->start, dso,
                  PD_MAP_EXEC | PD_MAP_JITTED | (uint32_t)r->jit.codes.count << PD_MAP_CODE_SHIFT};
    return rc ? rc : pd_maps_insert(r, &p->maps, &map, 0);
}

int pd_jit_advance(pd_reader *r, uint64_t time) {
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < r->jit.dumps.count; i++) {
        pd_jit_dump *d = &r->jit.dumps.data[i];
        while (d->done < d->count && (!d->timed || d->events[d->done].time <= time)) {
            int rc = apply(r, d, &d->events[d->done++]);
            if (rc)
                return rc;
        }
        if (d->done < d->count && d->events[d->done].time < next)
            next = d->events[d->done].time;
    }
    r->jit.next_time = next;
    return 0;
}

profconv_id pd_jit_location(pd_reader *r, const pd_map *map, uint64_t address) {
    const pd_jit_code *c = &r->jit.codes.data[(map->flags >> PD_MAP_CODE_SHIFT) - 1];
    profconv_string name = r->jit.type->name(c->dump, c->code), file;
    uint32_t number = r->jit.type->line(c->dump, c->code, address - c->start, &file);
    profconv_function function;
    profconv_line line;
    profconv_location row;
    memset(&function, 0, sizeof function);
    memset(&line, 0, sizeof line);
    memset(&row, 0, sizeof row);
    function.name = profconv_builder_string(r->builder, name.data, name.size);
    function.linkage_name = function.name;
    function.file = number ? profconv_builder_string(r->builder, file.data, file.size) : 0;
    line.function = profconv_builder_function(r->builder, &function);
    line.line = number;
    row.mapping = pd_dso_mapping(r, map->dso);
    row.address = address;
    return profconv_builder_location(r->builder, &row, &line, name.size ? 1 : 0);
}

void pd_jit_free(pd_reader *r) {
    for (size_t i = 0; i < r->jit.dumps.count; i++)
        r->jit.type->close(r->jit.dumps.data[i].dump);
    PFC_VEC_FREE(&r->mem, &r->jit.dumps);
    PFC_VEC_FREE(&r->mem, &r->jit.codes);
}
