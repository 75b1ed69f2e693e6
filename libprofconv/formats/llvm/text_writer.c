/* SPDX-License-Identifier: MIT
 *
 * Writes llvm-text: the functions, lines and call sites of the view, as LLVM's text writer lays them out.
 */
#include <string.h>

#include "libprofconv/formats/llvm/llvm.h"

typedef struct pfc_text_out {
    const pfc_llvm_view *view;
    const profconv_profile *profile;
    profconv_output *output;
    profconv_error *error;
    pfc_buf buf;
    int probes;
    uint64_t numeric_callees; /* call sites whose name begins with a digit */
    uint64_t broken_names;    /* functions and targets whose name holds a line end */
    uint64_t odd_names;       /* functions whose name would make another line of theirs */
    PFC_VEC(struct pfc_text_frame) stack;
} pfc_text_out;
struct pfc_text_frame {
    uint32_t source;
    uint32_t next; /* position in view->children.ids */
};

static int flush(pfc_text_out *o) {
    if (o->buf.failed)
        return pfc_mem_error(o->buf.mem, o->error);
    int status = profconv_output_write(o->output, o->buf.data, o->buf.size, o->error);
    pfc_buf_clear(&o->buf);
    return status;
}

static void put_indent(pfc_text_out *o, size_t depth) {
    static const char blanks[] = "                                ";
    for (; depth > 0; depth -= depth < 32 ? depth : 32)
        pfc_buf_add(&o->buf, blanks, depth < 32 ? depth : 32);
}

static void put_location(pfc_text_out *o, uint32_t line, uint32_t discriminator) {
    pfc_buf_u64(&o->buf, line);
    if (discriminator) {
        pfc_buf_char(&o->buf, '.');
        pfc_buf_u64(&o->buf, discriminator);
    }
}

static void put_string(pfc_text_out *o, profconv_id id) {
    profconv_string s = profconv_profile_string(o->profile, id);
    pfc_buf_add(&o->buf, s.data, s.size);
}

static int broken(const pfc_text_out *o, profconv_id id) {
    profconv_string s = profconv_profile_string(o->profile, id);
    return s.size > 0 && (memchr(s.data, '\n', s.size) || memchr(s.data, '\0', s.size));
}

static void put_context(pfc_text_out *o, uint32_t source) {
    const pfc_llvm_view *view = o->view;
    uint32_t at = view->context_index[source];
    pfc_buf_char(&o->buf, '[');
    for (uint32_t i = view->frame_first[at]; i < view->frame_first[at + 1]; i++) {
        if (i != view->frame_first[at])
            pfc_buf_text(&o->buf, " @ ");
        put_string(o, view->names[view->frames[i].name]);
        if (i + 1 < view->frame_first[at + 1]) {
            pfc_buf_char(&o->buf, ':');
            put_location(o, view->frames[i].line, view->frames[i].discriminator);
        }
    }
    pfc_buf_char(&o->buf, ']');
}

static void put_body(pfc_text_out *o, uint32_t id, size_t depth) {
    const pfc_llvm_runs *targets = &o->view->targets;
    const profconv_source_body *body = profconv_profile_source_body(o->profile, id);
    put_indent(o, depth + 1);
    put_location(o, body->line, body->discriminator);
    pfc_buf_add(&o->buf, ": ", 2);
    pfc_buf_u64(&o->buf, body->count);
    for (uint32_t i = targets->first[id]; i < targets->first[id + 1]; i++) {
        const profconv_source_target *target = profconv_profile_source_target(o->profile, targets->ids[i]);
        if (broken(o, target->name)) {
            o->broken_names++;
            continue;
        }
        pfc_buf_char(&o->buf, ' ');
        put_string(o, target->name);
        pfc_buf_char(&o->buf, ':');
        pfc_buf_u64(&o->buf, target->count);
    }
    pfc_buf_char(&o->buf, '\n');
}

/* The first line of a function or call site, and its body lines. */
static void put_head(pfc_text_out *o, uint32_t id, size_t depth) {
    const profconv_source *row = profconv_profile_source(o->profile, id);
    if (depth > 0) {
        profconv_string name = profconv_profile_string(o->profile, row->name);
        o->numeric_callees += name.size > 0 && name.data[0] >= '0' && name.data[0] <= '9';
        put_indent(o, depth);
        put_location(o, row->line, row->discriminator);
        pfc_buf_add(&o->buf, ": ", 2);
    }
    if (depth == 0 && o->view->context)
        put_context(o, id);
    else
        put_string(o, row->name);
    pfc_buf_char(&o->buf, ':');
    pfc_buf_u64(&o->buf, row->total);
    if (depth == 0) {
        pfc_buf_char(&o->buf, ':');
        pfc_buf_u64(&o->buf, row->head);
    }
    pfc_buf_char(&o->buf, '\n');
    const pfc_llvm_runs *bodies = &o->view->bodies;
    for (uint32_t i = bodies->first[id]; i < bodies->first[id + 1]; i++)
        put_body(o, bodies->ids[i], depth);
}

static void put_metadata(pfc_text_out *o, uint32_t id, size_t depth) {
    const profconv_source *row = profconv_profile_source(o->profile, id);
    if (o->probes) {
        put_indent(o, depth + 1);
        pfc_buf_text(&o->buf, "!CFGChecksum: ");
        pfc_buf_u64(&o->buf, row->checksum);
        pfc_buf_char(&o->buf, '\n');
    }
    if (row->attributes) {
        put_indent(o, depth + 1);
        pfc_buf_text(&o->buf, "!Attributes: ");
        pfc_buf_u64(&o->buf, row->attributes);
        pfc_buf_char(&o->buf, '\n');
    }
}

/* Goes into a function or call site: its head now, its call sites when it is on top of the stack. */
static int enter(pfc_text_out *o, uint32_t id) {
    put_head(o, id, o->stack.count);
    struct pfc_text_frame frame = {id, o->view->children.first[id]};
    if (PFC_VEC_PUSH(o->buf.mem, &o->stack, frame))
        return pfc_mem_error(o->buf.mem, o->error);
    return o->buf.size >= 65536 ? flush(o) : PROFCONV_OK;
}

static int put_function(pfc_text_out *o, uint32_t top) {
    const pfc_llvm_runs *children = &o->view->children;
    int status = enter(o, top);
    while (status == PROFCONV_OK && o->stack.count > 0) {
        struct pfc_text_frame *frame = &o->stack.data[o->stack.count - 1];
        if (frame->next == children->first[frame->source + 1]) {
            o->stack.count--;
            put_metadata(o, frame->source, o->stack.count);
            continue;
        }
        uint32_t child = children->ids[frame->next++];
        if (broken(o, profconv_profile_source(o->profile, child)->name))
            o->broken_names++;
        else
            status = enter(o, child);
    }
    return status;
}

/* A context that goes through a name with a line end in it cannot be written either. */
static int broken_top(const pfc_text_out *o, uint32_t top) {
    const pfc_llvm_view *view = o->view;
    if (!view->context)
        return broken(o, profconv_profile_source(o->profile, top)->name);
    uint32_t at = view->context_index[top];
    for (uint32_t i = view->frame_first[at]; i < view->frame_first[at + 1]; i++)
        if (broken(o, view->names[view->frames[i].name]))
            return 1;
    return 0;
}

static void add_notes(const pfc_text_out *o, profconv_report *report) {
    const profconv_profile *p = o->profile;
    uint32_t flags = profconv_profile_info(p)->source_flags, symbols = profconv_profile_rows(p, PROFCONV_TABLE_SYMBOL);
    pfc_llvm_view_notes(o->view, report);
    if (symbols)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "symbol-list", symbols, 0, PROFCONV_NO_OFFSET, 0,
                            "symbols of the profiled binary's list");
    if (flags & (PROFCONV_SOURCES_FS | PROFCONV_SOURCES_PARTIAL))
        profconv_report_add(report, PROFCONV_NOTE_LOST, "profile-flags", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "that the profile %s",
                            flags & PROFCONV_SOURCES_FS ? "has flow-sensitive discriminators" : "is partial");
    if (flags & PROFCONV_SOURCES_MD5)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "md5-names", o->view->name_count, 0, PROFCONV_NO_OFFSET, 0,
                            "names are hashes, which compilers do not recognise in a text profile");
    if (o->numeric_callees)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "numeric-callee", o->numeric_callees, 0, PROFCONV_NO_OFFSET,
                            0,
                            "inlined callees whose name begins with a digit, which LLVM cannot read in a text profile");
    if (o->broken_names)
        profconv_report_add(report, PROFCONV_NOTE_DROPPED, "line-end-in-name", o->broken_names, 0, PROFCONV_NO_OFFSET,
                            0, "functions and targets whose name holds a line end or a NUL");
    if (o->odd_names)
        profconv_report_add(report, PROFCONV_NOTE_DROPPED, "name-start", o->odd_names, 0, PROFCONV_NO_OFFSET, 0,
                            "functions whose name begins with '#', '[' or a blank");
}

/* A function's line that begins so is a comment, a line of the function before, or a context. */
static int odd_top(const pfc_text_out *o, uint32_t top) {
    profconv_string name = profconv_profile_string(o->profile, profconv_profile_source(o->profile, top)->name);
    return !o->view->context && name.size && (*name.data == '#' || *name.data == ' ' || *name.data == '[');
}

static int write_functions(pfc_text_out *o) {
    int status = PROFCONV_OK;
    for (uint32_t i = 0; status == PROFCONV_OK && i < o->view->top_count; i++) {
        if (broken_top(o, o->view->tops[i]))
            o->broken_names++;
        else if (odd_top(o, o->view->tops[i]))
            o->odd_names++;
        else
            status = put_function(o, o->view->tops[i]);
    }
    return status == PROFCONV_OK ? flush(o) : status;
}

static int write_text(void *user, const profconv_profile *profile, profconv_output *output,
                      const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    (void)options;
    pfc_mem mem;
    pfc_llvm_view view;
    pfc_text_out o;
    memset(&o, 0, sizeof o);
    pfc_mem_init(&mem, profconv_profile_allocator(profile), 0);
    int status = pfc_llvm_view_make(&view, &mem, profile, error);
    if (status == PROFCONV_OK)
        status = pfc_llvm_view_check_lines(&view, 1, error);
    if (status == PROFCONV_OK) {
        o.view = &view;
        o.profile = profile;
        o.output = output;
        o.error = error;
        o.probes = (profconv_profile_info(profile)->source_flags & PROFCONV_SOURCES_PROBES) != 0;
        pfc_buf_init(&o.buf, &mem);
        status = write_functions(&o);
        if (status == PROFCONV_OK && profconv_output_offset(output) == 0)
            status = profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                        "every function's name holds a line end or a NUL, or begins with '#', '[' or a blank, which "
                                        "text cannot hold");
        if (status == PROFCONV_OK)
            add_notes(&o, report);
        PFC_VEC_FREE(&mem, &o.stack);
        pfc_buf_free(&o.buf);
    }
    pfc_llvm_view_free(&view);
    return status;
}

static const char *const suffixes[] = {".proftext", ".textprof", ".llvmtext", NULL};

static const profconv_setting settings[] = {
    PFC_LLVM_COMPAT_SETTING,
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

const profconv_writer pfc_llvm_text_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "llvm-text",
    .suffixes = suffixes,
    .description = "LLVM sample profile, text",
    .settings = settings,
    .needs = PROFCONV_FACET_SOURCE_COUNTS,
    .keeps = PROFCONV_FACET_SOURCE_COUNTS,
    .labels = "",
    .write = write_text,
    .pass_settings = pfc_llvm_pass_settings,
};
