/* SPDX-License-Identifier: MIT
 *
 * The perf-script reader: line by line, which of them begin a sample, belong to one, or end one.
 */
#include "libprofconv/formats/perf-script/ps.h"

int ps_failed(ps_reader *r) {
    int status = profconv_builder_status(r->builder, r->error);
    return status ? status : pfc_mem_error(&r->mem, r->error);
}

static void drop_sample(ps_reader *r) {
    r->open = r->headless = r->has_ip = 0;
    r->items.count = r->branches.count = 0;
    r->inline_frame.line = 0;
    r->repeat = 0;
}

/* ---- a whole sample ---- */

static int emit(ps_reader *r, uint32_t process, int64_t pid, int one_line) {
    uint64_t times = r->repeat ? r->repeat : 1;
    if (r->branches.count && r->selection.branches) {
        int status = ps_branches_add(r, process, times);
        if (status)
            return status;
    }
    ps_emitted e = {times > INT64_MAX ? INT64_MAX : (int64_t)times, 0, r->event, 0, 0};
    uint64_t weight = pfc_mul_sat(r->header.has_period ? r->header.period : 1, times);
    e.weight = weight > INT64_MAX ? INT64_MAX : (int64_t)weight;
    e.stack = ps_stack(r, process, one_line);
    r->counts.no_frames += e.stack == 0;
    if (r->mem.failed)
        return ps_failed(r);
    if (!r->headless && r->selection.labels) {
        ps_thread *thread = ps_thread_get(r, r->header.tid);
        if (!thread)
            return ps_failed(r);
        e.labels = ps_label_set(r, thread, pid);
    }
    return ps_event_add(r, &e);
}

static void note_time(ps_reader *r) {
    const ps_header *h = &r->header;
    if (!h->has_time)
        return;
    if (r->last_time == 0 || h->time < r->first_time)
        r->first_time = h->time;
    if (h->time > r->last_time)
        r->last_time = h->time;
}

/* The process of the sample's thread; -1: not known. */
static int64_t sample_pid(ps_reader *r) {
    if (r->headless)
        return -1;
    ps_thread *thread = ps_thread_get(r, r->header.tid);
    if (!thread)
        return -1;
    thread->comm = r->comm;
    if (r->header.has_pid)
        thread->pid = r->header.pid;
    return thread->pid;
}

static int finish_sample(ps_reader *r) {
    if (!r->open)
        return 0;
    int status = 0, one_line = 0;
    if (r->headless && r->have_headers && r->branches.count == 0) {
        if (r->counts.orphans++ == 0)
            r->counts.orphan_line = r->line_number;
        r->counts.orphan_weight++;
        drop_sample(r);
        return 0;
    }
    r->counts.samples++;
    if (r->items.count == 0 && r->inline_frame.line) {
        one_line = 1;
        if (PFC_VEC_PUSH(&r->mem, &r->items, r->inline_frame))
            return ps_failed(r);
    }
    int64_t pid = sample_pid(r);
    uint32_t process = r->headless ? 0 : ps_process_get(r, pid);
    if (r->mem.failed || process == PS_NONE)
        return ps_failed(r);
    note_time(r);
    if (r->event == PS_NONE) /* counted there */
        ;
    else if (!r->events.data[r->event].wanted || !ps_sample_wanted(r, pid))
        r->counts.filtered++;
    else
        status = emit(r, process, pid, one_line);
    drop_sample(r);
    return status;
}

static int begin_headless(ps_reader *r) {
    uint64_t repeat = r->repeat;
    int status = finish_sample(r);
    ps_text none = {"", 0};
    memset(&r->header, 0, sizeof r->header);
    r->comm = 0;
    r->open = r->headless = 1;
    r->repeat = repeat;
    if (status == 0 && (r->event = ps_event_get(r, none)) == PS_NONE && r->mem.failed)
        return ps_failed(r);
    return status;
}

/* ---- lines ---- */

static int other_line(ps_reader *r) {
    if (r->counts.other_lines++ == 0)
        r->counts.other_line = r->line_number;
    return 0;
}

/* Branch stacks that say no addresses. */
static int named_branches(ps_reader *r) {
    if (r->counts.named_branches++ == 0)
        r->counts.named_line = r->line_number;
    return 0;
}

/* Of branch stacks that are printed with their code: where branches went cannot be told, since perf leaves out blocks that
 * it cannot read. */
static int instruction(ps_reader *r) {
    if (r->counts.instructions++ == 0)
        r->counts.instruction_line = r->line_number;
    return 0;
}

static int add_item(ps_reader *r, uint32_t row) {
    const ps_line *line = &r->lines.data[row];
    if (line->kind == PS_LINE_SOURCE) {
        if (!r->open || r->items.count == 0 || r->items.data[r->items.count - 1].source)
            return other_line(r);
        if (line->name || line->inlined)
            r->items.data[r->items.count - 1].source = row;
        return 0;
    }
    if (!r->open) {
        int status = begin_headless(r);
        if (status)
            return status;
    }
    ps_item item = {row, 0};
    return PFC_VEC_PUSH(&r->mem, &r->items, item) ? ps_failed(r) : 0;
}

/* "event: address", each of them optional, before a branch stack without a header. */
static int parse_before(ps_text before, ps_text *event, ps_text *address) {
    ps_frame frame;
    ps_text none = {"", 0};
    size_t n = 0;
    *event = *address = none;
    before = ps_trim(before);
    while (n < before.size && !ps_is_blank(before.data[n]))
        n++;
    if (n > 1 && before.data[n - 1] == ':') {
        event->data = before.data;
        event->size = n - 1;
        before.data += n;
        before.size -= n;
        before = ps_trim(before);
    }
    if (before.size == 0)
        return 1;
    *address = before;
    return ps_parse_frame(before, &frame) && !frame.has_dso && frame.symbol.size == 0;
}

/* Frames without a header belong to the branch stack that comes next. */
static int on_branches(ps_reader *r, ps_text line, size_t at) {
    ps_text before = {line.data, at}, event, address;
    int status = 0;
    if (!parse_before(before, &event, &address))
        return other_line(r);
    if (r->open && !r->headless && (event.size > 0 || address.size > 0 || r->branches.count > 0))
        return other_line(r);
    if (!r->open || event.size > 0 || address.size > 0)
        status = begin_headless(r);
    if (status == 0 && event.size > 0 && (r->event = ps_event_get(r, event)) == PS_NONE && r->mem.failed)
        return ps_failed(r);
    uint32_t row = 0;
    if (status == 0 && address.size > 0)
        status = ps_line_get(r, address, &row);
    if (status == 0 && row && r->lines.data[row].kind == PS_LINE_FRAME)
        status = add_item(r, row);
    if (status == 0)
        status = ps_branches_parse(r, line, at);
    return status || !r->headless ? status : finish_sample(r);
}

/* perf puts no blank between a frame and a branch stack by names: what is the frame for sure. */
static ps_text before_names(ps_text rest, size_t fields) {
    ps_text frame = {rest.data, 0};
    ps_frame parsed;
    size_t depth = 0;
    for (size_t i = 0; i < fields; i++) {
        depth += rest.data[i] == '(';
        if (rest.data[i] == ')' && depth > 0 && --depth == 0) {
            frame.size = i + 1;
            if (ps_parse_frame(frame, &parsed) && parsed.has_dso)
                return frame;
        }
    }
    for (frame.size = 0; frame.size < fields && !ps_is_blank(rest.data[frame.size]);)
        frame.size++;
    return frame;
}

/* A frame or a branch stack on the header's line. */
static int header_rest(ps_reader *r, ps_text rest) {
    size_t at = ps_find_branches(rest), names = at == SIZE_MAX ? ps_find_named_branches(rest) : SIZE_MAX;
    int status = 0;
    ps_text frame = {rest.data, at == SIZE_MAX ? rest.size : at};
    if (names != SIZE_MAX) {
        frame = before_names(rest, names);
        named_branches(r);
    }
    frame = ps_trim(frame);
    ps_frame parsed;
    /* Payloads of tracepoints can look like an address; perf's own have a name, a file, or many digits. */
    if (frame.size >= 5 && ps_parse_frame(frame, &parsed) && (parsed.has_dso || parsed.symbol.size == 0)) {
        uint32_t row = 0;
        status = ps_line_get(r, frame, &row);
        if (status == 0 && row && r->lines.data[row].kind == PS_LINE_FRAME)
            r->inline_frame.line = row;
    }
    return status == 0 && at != SIZE_MAX ? ps_branches_parse(r, rest, at) : status;
}

static int on_header(ps_reader *r, const ps_header *header) {
    int status = finish_sample(r);
    if (status)
        return status;
    ps_lines_settle(r);
    r->have_headers = 1;
    r->header = *header;
    r->open = 1;
    r->comm = profconv_builder_string(r->builder, header->comm.data, header->comm.size);
    r->event = ps_event_get(r, header->event);
    if (r->event == PS_NONE && r->mem.failed)
        return ps_failed(r);
    return header->rest.size > 0 ? header_rest(r, header->rest) : 0;
}

static int on_record(ps_reader *r, ps_text line) {
    const char *word = ps_text_find(line, "PERF_RECORD_");
    int status = finish_sample(r);
    ps_text record = {word, (size_t)(line.data + line.size - word)};
    return status ? status : ps_record(r, record);
}

/* "17": how often the next sample came. */
static int on_repeat(ps_reader *r, ps_text line) {
    uint64_t count;
    const char *end = line.data + line.size;
    if (pfc_parse_u64(line.data, end, &count) != end)
        return 0;
    r->repeat = count;
    return 1;
}

/* A line that was not met before. */
static int on_new_line(ps_reader *r, ps_text line) {
    int blank = ps_is_blank(line.data[0]);
    ps_header header;
    if (line.data[0] == '#' && (line.size == 1 || ps_is_blank(line.data[1]))) {
        ps_fact(r, line);
        return 0;
    }
    if (line.data[0] != '\t' && ps_parse_header(line, &header)) {
        if (ps_text_starts(header.event, "PERF_RECORD_"))
            return on_record(r, line);
        return on_header(r, &header);
    }
    if (ps_text_find(line, "PERF_RECORD_"))
        return on_record(r, line);
    size_t at = ps_find_branches(line);
    if (at != SIZE_MAX)
        return on_branches(r, line, at);
    if (ps_is_instruction(line))
        return instruction(r);
    if (ps_find_named_branches(line) != SIZE_MAX)
        return named_branches(r);
    if (!blank && !r->have_headers && ps_is_digit(line.data[0])) {
        int status = finish_sample(r);
        if (status || on_repeat(r, line))
            return status;
    }
    uint32_t row = 0;
    ps_frame frame;
    if (blank || (ps_parse_frame(line, &frame) && frame.has_dso)) {
        int status = ps_line_get(r, line, &row);
        if (status)
            return status;
    }
    return row ? add_item(r, row) : other_line(r);
}

static int on_line(ps_reader *r, ps_text line) {
    uint64_t hash;
    r->line_number++;
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    if (line.size == 0)
        return finish_sample(r);
    if (!r->open)
        ps_lines_settle(r);
    uint32_t row = ps_line_find(r, line, &hash);
    if (row)
        return add_item(r, row);
    ps_frame frame;
    /* What most lines are: no header begins with a TAB, and no branch stack ends in a file. */
    if (line.data[0] == '\t' && ps_parse_frame(line, &frame) && frame.has_dso) {
        int status = ps_line_add(r, line, hash, &frame, &row);
        return status ? status : add_item(r, row);
    }
    return on_new_line(r, line);
}

/* ---- the whole ---- */

static int read_lines(ps_reader *r) {
    size_t want = 1;
    for (;;) {
        const uint8_t *p;
        size_t got, at = 0;
        int status = profconv_input_window(r->input, want, &p, &got, r->error);
        if (status || got == 0)
            return status;
        const uint8_t *lf;
        while ((lf = (const uint8_t *)memchr(p + at, '\n', got - at)) != NULL) {
            ps_text line = {(const char *)p + at, (size_t)(lf - p) - at};
            if ((status = on_line(r, line)) != 0)
                return status;
            at = (size_t)(lf - p) + 1;
        }
        if (at == 0 && got < want) { /* the last line, without its end */
            ps_text line = {(const char *)p, got};
            if ((status = on_line(r, line)) != 0)
                return status;
            at = got;
        }
        profconv_input_consume(r->input, at);
        want = got - at + 1;
        if ((status = profconv_builder_status(r->builder, r->error)) != 0)
            return status;
    }
}

static int check_content(ps_reader *r) {
    const ps_counts *c = &r->counts;
    if (c->kept)
        return 0;
    if (c->filtered && c->pid_unknown)
        return profconv_error_set(
            r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
            "all of %llu samples were left out by the settings; %llu do not say their process (perf script -F +pid)",
            (unsigned long long)c->samples, (unsigned long long)c->pid_unknown);
    if (c->filtered)
        return profconv_error_set(
            r->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
            "all of %llu samples were left out by the settings (event, pid, tid, comm, cpu, time)",
            (unsigned long long)c->samples);
    return profconv_error_set(r->error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, c->other_line,
                              "no sample among %llu lines (\"comm pid time: event:\" or a branch stack expected)",
                              (unsigned long long)r->line_number);
}

static int read_all(ps_reader *r) {
    int status = ps_settings_read(r);
    r->prefixes = (ps_prefix *)pfc_alloc_zero(&r->mem, PS_PREFIXES * sizeof *r->prefixes);
    if (status == 0 && !r->prefixes)
        status = ps_failed(r);
    if (status == 0)
        status = ps_lines_init(r);
    if (status == 0)
        status = ps_maps_init(r);
    if (status == 0)
        status = read_lines(r);
    if (status == 0)
        status = finish_sample(r);
    if (status)
        return status;
    ps_notes(r);
    if ((status = check_content(r)) != 0 || (status = ps_events_finish(r)) != 0)
        return status;
    ps_dsos_finish(r);
    return r->mem.failed ? ps_failed(r) : profconv_builder_status(r->builder, r->error);
}

static void free_all(ps_reader *r) {
    for (size_t i = 0; r->prefixes && i < PS_PREFIXES; i++)
        PFC_VEC_FREE(&r->mem, &r->prefixes[i].rows);
    pfc_free(&r->mem, r->prefixes, r->prefixes ? PS_PREFIXES * sizeof *r->prefixes : 0);
    ps_maps_free(r);
    ps_settings_free(r);
    ps_lines_free(r);
    PFC_VEC_FREE(&r->mem, &r->items);
    PFC_VEC_FREE(&r->mem, &r->branches);
    PFC_VEC_FREE(&r->mem, &r->locations);
    PFC_VEC_FREE(&r->mem, &r->location_lines);
    PFC_VEC_FREE(&r->mem, &r->events);
    PFC_VEC_FREE(&r->mem, &r->emitted);
    pfc_arena_free(&r->arena);
}

static int read(void *user, profconv_input *input, profconv_builder *builder, const profconv_options *options,
                profconv_error *error) {
    ps_reader r;
    (void)user;
    memset(&r, 0, sizeof r);
    pfc_mem_init(&r.mem, profconv_builder_allocator(builder), profconv_builder_limits(builder)->max_memory);
    pfc_arena_init(&r.arena, &r.mem);
    r.builder = builder;
    r.report = profconv_builder_report(builder);
    r.input = input;
    r.options = options;
    r.error = error;
    int status = read_all(&r);
    free_all(&r);
    return status;
}

static const char *const aliases[] = {"script", NULL};
static const char *const suffixes[] = {".perf-script", ".perfscript", ".linux-perf.txt", NULL};

extern const profconv_reader pfc_perf_script_reader;
const profconv_reader pfc_perf_script_reader = {
    .struct_size = sizeof(profconv_reader),
    .name = PS_SCOPE,
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "text of perf script, also as llvm-profgen takes it",
    .settings = ps_settings,
    .produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_LINES | PROFCONV_FACET_STACKS |
                PROFCONV_FACET_LABELS | PROFCONV_FACET_BRANCHES,
    .probe = ps_probe,
    .read = read,
};
