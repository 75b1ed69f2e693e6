/* SPDX-License-Identifier: MIT
 *
 * Call stacks into samples: a marker where the address space changes, then addresses, leaf first. Callers are return
 * addresses, one more than what a profile holds, except the first of each space, which no call made.
 *
 * A row with n samples and weight v becomes n samples of weight v / n, the last with the remainder too, so both sums
 * come out; rows with more samples than the setting `repeat` become one, and the loss is counted. Labels pid, tid,
 * thread, comm, cpu and timestamp go where perf keeps them; threads known by name only get numbers.
 */
#include "libprofconv/formats/perf-data/write.h"

#include <string.h>

#define RECORD_SAMPLE 9
#define CHAIN_MAX 8000u /* words: a record's size has 16 bits */
#define NAME_SLOT 16u   /* bytes of made-up code for a function without address */

typedef struct pw_labels {
    uint32_t pid, tid, cpu;
    profconv_id name;         /* of the thread */
    profconv_id process_name; /* 0: unknown */
    uint64_t time;
    int has_pid, has_tid;
} pw_labels;

/* ---- labels ---- */

static int label_number(const pw_writer *w, const profconv_label *label, uint64_t *out) {
    if (!label)
        return 0;
    if (label->numeric) {
        *out = (uint64_t)label->number;
        return 1;
    }
    profconv_string text = profconv_profile_string(w->profile, label->string);
    return text.size && pfc_parse_u64(text.data, text.data + text.size, out) == text.data + text.size;
}

static profconv_id label_text(const profconv_label *label) { return label && !label->numeric ? label->string : 0; }

/* A thread that only has a name is numbered by it. */
static uint32_t tid_of_name(pw_writer *w, profconv_id name) {
    for (size_t i = 0; i < w->name_tids.count; i++)
        if (w->name_tids.data[i].name == name)
            return w->name_tids.data[i].tid;
    pw_name_tid fresh = {name, w->set.pid + (uint32_t)w->name_tids.count};
    if (PFC_VEC_PUSH(&w->mem, &w->name_tids, fresh))
        pw_failed(w);
    return fresh.tid;
}

static pw_labels labels_of(pw_writer *w, profconv_id set) {
    const profconv_profile *p = w->profile;
    pw_labels l;
    uint64_t number;
    memset(&l, 0, sizeof l);
    l.pid = w->set.pid;
    if (label_number(w, profconv_profile_find_label(p, set, "pid"), &number)) {
        l.pid = (uint32_t)number;
        l.has_pid = 1;
    }
    if (label_number(w, profconv_profile_find_label(p, set, "tid"), &number)) {
        l.tid = (uint32_t)number;
        l.has_tid = 1;
    }
    if (label_number(w, profconv_profile_find_label(p, set, "cpu"), &number))
        l.cpu = (uint32_t)number;
    if (label_number(w, profconv_profile_find_label(p, set, "timestamp"), &number))
        l.time = number;
    l.name = label_text(profconv_profile_find_label(p, set, "thread"));
    l.process_name = label_text(profconv_profile_find_label(p, set, "comm"));
    if (!l.name)
        l.name = l.process_name;
    if (!l.has_tid)
        l.tid = l.name && !l.has_pid ? tid_of_name(w, l.name) : l.pid;
    return l;
}

/* ---- frames ---- */

/* Functions without an address have one in code that does not exist, described by a perf map. */
static uint64_t made_up(const pw_writer *w, profconv_id function) {
    return w->names_start + (uint64_t)function * NAME_SLOT + NAME_SLOT / 2;
}

static void push(pw_writer *w, uint64_t word) {
    if (PFC_VEC_PUSH(&w->mem, &w->chain, word))
        pw_failed(w);
}

static uint64_t marker(unsigned space) {
    switch (space) {
    case PW_KERNEL:
        return (uint64_t)INT64_C(-128);
    case PW_HYPERVISOR:
        return (uint64_t)INT64_C(-32);
    case PW_GUEST_KERNEL:
        return (uint64_t)INT64_C(-2176);
    case PW_GUEST_USER:
        return (uint64_t)INT64_C(-2560);
    default:
        return (uint64_t)INT64_C(-512);
    }
}

typedef struct pw_walk {
    uint64_t ip;
    unsigned space; /* of the ip; 0: no frame yet */
    unsigned now;
    int cut;
} pw_walk;

static void push_frame(pw_writer *w, pw_walk *walk, uint64_t address, unsigned space) {
    int first = walk->now != space;
    if (walk->cut || w->chain.count + 2 > CHAIN_MAX) {
        walk->cut = 1;
        return;
    }
    if (first)
        push(w, marker(space));
    walk->now = space;
    if (walk->space == 0) {
        walk->ip = address;
        walk->space = space;
    }
    push(w, first ? address : address + 1);
}

/* The chain of a stack, into w->chain. */
static pw_walk make_chain(pw_writer *w, profconv_id stack) {
    const profconv_profile *p = w->profile;
    pw_walk walk = {0, 0, 0, 0};
    w->chain.count = 0;
    for (profconv_id node = stack; node && !w->status;) {
        const profconv_stack *row = profconv_profile_stack(p, node);
        const profconv_location *l = profconv_profile_location(p, row->location);
        if (pw_has_address(l))
            push_frame(w, &walk, pw_address(w, l), pw_space(w, l));
        else if (w->names_size)
            for (uint32_t k = 0; k < l->line_count; k++)
                push_frame(w, &walk, made_up(w, profconv_profile_line(p, row->location, k)->function), PW_USER);
        node = row->parent;
    }
    return walk;
}

/* ---- preparing ---- */

static uint64_t pair_hash(uint32_t a, uint32_t b) { return pfc_hash_mix(a, b); }
static uint64_t rehash_pair(const void *user, uint32_t row) {
    const pw_pair *p = &((const pw_writer *)user)->pairs.data[row - 1];
    return pair_hash(p->pid, p->unit);
}
static uint64_t rehash_thread(const void *user, uint32_t row) {
    const pw_thread *t = &((const pw_writer *)user)->threads.data[row - 1];
    return pair_hash(t->pid, t->tid);
}

static void add_pair(pw_writer *w, uint32_t pid, uint32_t unit) {
    uint64_t hash = pair_hash(pid, unit);
    if (w->pair_index.size) {
        pfc_probe probe = pfc_index_start(&w->pair_index, hash);
        for (uint32_t row; (row = pfc_index_next(&w->pair_index, &probe)) != 0;)
            if (w->pairs.data[row - 1].pid == pid && w->pairs.data[row - 1].unit == unit)
                return;
    }
    pw_pair fresh = {pid, unit};
    if (PFC_VEC_PUSH(&w->mem, &w->pairs, fresh) ||
        pfc_index_insert(&w->mem, &w->pair_index, hash, (uint32_t)w->pairs.count, rehash_pair, w))
        pw_failed(w);
}

static pw_thread *thread_of(pw_writer *w, const pw_labels *l) {
    uint64_t hash = pair_hash(l->pid, l->tid);
    if (w->thread_index.size) {
        pfc_probe probe = pfc_index_start(&w->thread_index, hash);
        for (uint32_t row; (row = pfc_index_next(&w->thread_index, &probe)) != 0;)
            if (w->threads.data[row - 1].pid == l->pid && w->threads.data[row - 1].tid == l->tid)
                return &w->threads.data[row - 1];
    }
    pw_thread fresh = {l->pid, l->tid, l->name, l->name};
    if (PFC_VEC_PUSH(&w->mem, &w->threads, fresh) ||
        pfc_index_insert(&w->mem, &w->thread_index, hash, (uint32_t)w->threads.count, rehash_thread, w)) {
        pw_failed(w);
        return NULL;
    }
    return &w->threads.data[w->threads.count - 1];
}

/* Whether a row makes any sample. */
static int has_value(const pw_writer *w, uint32_t sample) {
    for (size_t i = 0; i < w->events.count; i++) {
        const pw_event *e = &w->events.data[i];
        if ((e->count_column != PW_NONE && profconv_profile_sample_value(w->profile, sample, e->count_column) > 0) ||
            (e->weight_column != PW_NONE && profconv_profile_sample_value(w->profile, sample, e->weight_column) > 0))
            return 1;
    }
    return 0;
}

/* Notes every location that a sample uses, and how many frames have no address. `used`: one byte a stack node. */
static int use_stacks(pw_writer *w, uint8_t *used) {
    const profconv_profile *p = w->profile;
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i < n && !w->status; i++)
        if (has_value(w, i))
            used[profconv_profile_sample_stack(p, i)] = 1;
    for (uint32_t node = profconv_profile_rows(p, PROFCONV_TABLE_STACK); node-- > 1 && !w->status;) {
        if (!used[node])
            continue;
        const profconv_stack *row = profconv_profile_stack(p, node);
        used[row->parent] = 1; /* parents come before their children */
        w->frames++;
        if (pw_has_address(profconv_profile_location(p, row->location)))
            pw_use_location(w, row->location);
        else
            w->no_address++;
    }
    return w->status;
}

static int check_addresses(pw_writer *w) {
    if (w->no_address == 0 || w->set.map_dir)
        return 0;
    if (w->no_address == w->frames)
        return w->status = profconv_error_set(w->error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                              "perf.data holds addresses, and none of %llu frames has one; "
                                              "perf-data.perf-map=DIR makes some up and "
                                              "writes their names to DIR/perf-PID.map",
                                              (unsigned long long)w->frames);
    profconv_report_add(w->report, PROFCONV_NOTE_LOST, "frames-without-address", w->no_address, 0, PROFCONV_NO_OFFSET,
                        0,
                        "frames without an address are left out of their stacks (perf-data.perf-map=DIR keeps them)");
    return 0;
}

/* Which process maps what, and which threads there are. */
static void use_threads(pw_writer *w) {
    const profconv_profile *p = w->profile;
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i < n && !w->status; i++) {
        if (!has_value(w, i))
            continue;
        pw_labels l = labels_of(w, profconv_profile_sample_label_set(p, i));
        thread_of(w, &l);
        for (profconv_id node = profconv_profile_sample_stack(p, i); node && !w->status;) {
            const profconv_stack *row = profconv_profile_stack(p, node);
            profconv_id mapping = profconv_profile_location(p, row->location)->mapping;
            if (mapping) {
                uint32_t unit = w->unit_of[mapping];
                if (!w->units.data[unit].placed)
                    unit = (uint32_t)w->units.data[unit].size - 1; /* a part of it */
                add_pair(w, l.pid, unit);
            }
            node = row->parent;
        }
    }
}

int pw_stacks_prepare(pw_writer *w) {
    const profconv_profile *p = w->profile;
    size_t nodes = profconv_profile_rows(p, PROFCONV_TABLE_STACK);
    uint8_t *used = (uint8_t *)pfc_alloc_zero(&w->mem, nodes);
    if (!used)
        return pw_failed(w);
    int status = use_stacks(w, used);
    pfc_free(&w->mem, used, nodes);
    if (!status)
        status = check_addresses(w);
    if (!status && w->no_address && w->set.map_dir)
        w->names_size =
            ((uint64_t)profconv_profile_rows(p, PROFCONV_TABLE_FUNCTION) * NAME_SLOT + 4095) & ~UINT64_C(4095);
    if (!status)
        status = pw_place(w);
    if (!status)
        use_threads(w);
    return w->status;
}

/* ---- records ---- */

static void put_sample(pw_writer *w, size_t event, const pw_labels *l, const pw_walk *walk, uint64_t period) {
    pw_begin(w, RECORD_SAMPLE, walk->space ? walk->space : PW_USER);
    pw_u64(w, event + 1);
    pw_u64(w, walk->ip);
    pw_u32(w, l->pid);
    pw_u32(w, l->tid);
    pw_u64(w, pw_next_time(w, l->time));
    pw_u32(w, l->cpu);
    pw_u32(w, 0);
    pw_u64(w, period);
    pw_u64(w, w->chain.count);
    for (size_t i = 0; i < w->chain.count; i++)
        pw_u64(w, w->chain.data[i]);
    pw_end(w);
}

static void put_row(pw_writer *w, size_t event, const pw_labels *l, const pw_walk *walk, uint32_t sample) {
    const pw_event *e = &w->events.data[event];
    int has_count = e->count_column != PW_NONE, has_weight = e->weight_column != PW_NONE;
    int64_t n = has_count ? profconv_profile_sample_value(w->profile, sample, e->count_column) : 0;
    int64_t v = has_weight ? profconv_profile_sample_value(w->profile, sample, e->weight_column) : 0;
    if (n < 0 || v < 0) {
        w->negative++;
        return;
    }
    if (n == 0 && v == 0)
        return;
    uint64_t count = (uint64_t)n, weight = has_weight ? (uint64_t)v : pfc_mul_sat((uint64_t)n, e->period);
    if (count > w->set.repeat) {
        w->lost_counts++;
        w->lost_samples += count - 1;
        count = 1;
    }
    if (count == 0) {
        w->added += has_count ? 1u : 0u;
        count = 1;
    }
    for (uint64_t i = 0; i < count && !w->status; i++)
        put_sample(w, event, l, walk, i + 1 < count ? weight / count : weight - weight / count * (count - 1));
}

/* The name of a process that has none: its program's. */
static profconv_string program_name(const pw_writer *w) {
    profconv_string best = {"unknown", 7};
    int found = 0;
    for (size_t i = 0; i < w->units.count && found < 2; i++) {
        const profconv_mapping *row = profconv_profile_mapping(w->profile, w->units.data[i].mapping);
        profconv_string file = profconv_profile_string(w->profile, row->file);
        int rank = row->flags & PROFCONV_MAPPING_MAIN ? 2 : row->kind == PROFCONV_MAPPING_EXECUTABLE;
        if (rank <= found || !file.size)
            continue;
        size_t at = file.size;
        while (at > 0 && file.data[at - 1] != '/')
            at--;
        profconv_string base = {file.data + at, file.size - at};
        if (base.size) {
            best = base;
            found = rank;
        }
    }
    return best;
}

static void put_names(pw_writer *w) {
    profconv_string program = program_name(w);
    for (size_t i = 0; i < w->threads.count && !w->status; i++) {
        pw_thread *t = &w->threads.data[i];
        t->current = t->name;
        pw_comm(w, t->pid, t->tid, t->name ? profconv_profile_string(w->profile, t->name) : program, PW_MAP_TIME);
    }
}

static void put_maps(pw_writer *w) {
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < w->pairs.count && !w->status; i++) {
        const pw_unit *u = &w->units.data[w->pairs.data[i].unit];
        if (u->placed && u->space == PW_USER)
            pw_map(w, w->pairs.data[i].pid, u);
    }
    for (size_t i = 0; w->names_size && i < w->threads.count && !w->status; i++)
        if (w->threads.data[i].pid != last) { /* mapping it again changes nothing */
            last = w->threads.data[i].pid;
            pw_plain_map(w, (uint32_t)last, w->names_start, w->names_size, w->names_start, "//anon");
        }
}

void pw_stacks_records(pw_writer *w) {
    const profconv_profile *p = w->profile;
    w->lost_counts = w->lost_samples = w->negative = w->added = w->cut_chains = w->empty_stacks = 0;
    put_names(w);
    put_maps(w);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i < n && !w->status; i++) {
        if (!has_value(w, i)) {
            for (size_t k = 0; k < w->events.count; k++) {
                const pw_event *e = &w->events.data[k];
                w->negative +=
                    (e->count_column != PW_NONE && profconv_profile_sample_value(p, i, e->count_column) < 0) ||
                    (e->weight_column != PW_NONE && profconv_profile_sample_value(p, i, e->weight_column) < 0);
            }
            continue;
        }
        pw_labels l = labels_of(w, profconv_profile_sample_label_set(p, i));
        pw_thread *thread = thread_of(w, &l);
        pw_walk walk = make_chain(w, profconv_profile_sample_stack(p, i));
        if (!thread || w->status)
            return;
        w->cut_chains += walk.cut ? 1u : 0u;
        w->empty_stacks += walk.space == 0;
        if (l.name && l.name != thread->current) { /* renamed meanwhile */
            thread->current = l.name;
            pw_comm(w, l.pid, l.tid, profconv_profile_string(p, l.name), l.time ? l.time : PW_FIRST_TIME + w->samples);
        }
        for (size_t k = 0; k < w->events.count && !w->status; k++)
            put_row(w, k, &l, &walk, i);
    }
}

/* ---- perf maps ---- */

static int write_map(pw_writer *w, uint32_t pid) {
    profconv_output *output = NULL;
    pfc_buf b;
    pfc_buf_init(&b, &w->mem);
    pfc_buf_printf(&b, "%s/perf-%u.map", w->set.map_dir, (unsigned)pid);
    int status = b.failed ? pw_failed(w) : profconv_output_open_path(&output, b.data, NULL, w->error);
    for (uint32_t f = 1; !status && f < profconv_profile_rows(w->profile, PROFCONV_TABLE_FUNCTION); f++) {
        profconv_string name = profconv_profile_string(w->profile, profconv_profile_function(w->profile, f)->name);
        pfc_buf_clear(&b);
        pfc_buf_hex(&b, w->names_start + (uint64_t)f * NAME_SLOT);
        pfc_buf_text(&b, " 10 ");
        for (size_t i = 0; i < name.size; i++)
            pfc_buf_char(&b, (unsigned char)name.data[i] < 0x20 ? ' ' : name.data[i]);
        pfc_buf_char(&b, '\n');
        status = b.failed ? pw_failed(w) : profconv_output_write(output, b.data, b.size, w->error);
    }
    if (!status)
        status = profconv_output_close(output, w->error);
    profconv_output_free(output);
    pfc_buf_free(&b);
    return w->status = status;
}

int pw_write_perf_maps(pw_writer *w) {
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; w->names_size && i < w->threads.count && !w->status; i++)
        if (w->threads.data[i].pid != last) {
            last = w->threads.data[i].pid;
            write_map(w, (uint32_t)last);
        }
    return w->status;
}

static void note(pw_writer *w, profconv_note_kind kind, const char *cause, uint64_t count, const char *text) {
    if (count)
        profconv_report_add(w->report, kind, cause, count, 0, PROFCONV_NO_OFFSET, 0, "%s", text);
}

void pw_stacks_notes(pw_writer *w) {
    if (w->lost_counts)
        profconv_report_add(
            w->report, PROFCONV_NOTE_LOST, "sample-counts", w->lost_samples, 0, PROFCONV_NO_OFFSET, 0,
            "%llu rows stand for more than %llu samples (perf-data.repeat) and are written as one each, with "
            "their whole weight",
            (unsigned long long)w->lost_counts, (unsigned long long)w->set.repeat);
    note(w, PROFCONV_NOTE_DROPPED, "negative-value", w->negative, "negative values cannot be recorded");
    note(w, PROFCONV_NOTE_WARNING, "count-added", w->added,
         "rows with a weight but no samples are written as one sample");
    note(w, PROFCONV_NOTE_LOST, "stack-truncated", w->cut_chains, "stacks too deep for a record lost root frames");
    note(w, PROFCONV_NOTE_WARNING, "empty-stack", w->empty_stacks,
         "samples without a frame are written with address 0");
}
