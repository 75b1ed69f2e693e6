/* SPDX-License-Identifier: MIT
 *
 * speedscope's file format: "sampled" profiles over one table of frames. A thread and event is a profile where labels
 * tell threads apart, else a sample type is one. Equal stacks of a profile are one sample, with the sum as its weight,
 * in the order of their frames' names.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

static const char *const suffixes[] = {".speedscope.json", ".speedscope", NULL};

static const profconv_setting settings[] = {
    {"title", PROFCONV_SETTING_STRING, NULL, NULL, "name of the whole"},
    {"threads", PROFCONV_SETTING_BOOL, "yes", NULL, "one profile a thread, where samples tell of threads"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

typedef struct writing {
    pfc_view_writing v;
    uint32_t *roots; /* of each label set: the frame that stands for its thread; 0: none */
    uint32_t sets;
    int threads;
    uint32_t *number; /* of each frame: its index in the file, + 1 */
    uint32_t *listed;
    size_t ranks, count;
    PFC_VEC(uint32_t) path; /* nodes from a profile's root, the root itself not included */
    uint64_t profiles;
    uint64_t active;
    uint32_t all_columns; /* that the profile has */
} writing;

/* ---- threads ---- */

static void add_number(const writing *w, pfc_buf *out, const profconv_label *value) {
    if (value->numeric) {
        pfc_buf_i64(out, value->number);
    } else {
        profconv_string text = profconv_profile_string(w->v.profile, value->string);
        pfc_buf_add(out, text.data, text.size);
    }
}

/* "name, process 12, thread 13", as far as labels tell. */
static int name_thread(writing *w, profconv_id set, pfc_buf *name) {
    const profconv_label *thread = pfc_view_thread_label(w->v.profile, set);
    const profconv_label *pid = profconv_profile_find_label(w->v.profile, set, "pid");
    const profconv_label *tid = profconv_profile_find_label(w->v.profile, set, "tid");
    pfc_buf_clear(name);
    if (thread)
        add_number(w, name, thread);
    if (pid) {
        pfc_buf_text(name, name->size ? ", process " : "process ");
        add_number(w, name, pid);
    }
    if (tid) {
        pfc_buf_text(name, name->size ? ", thread " : "thread ");
        add_number(w, name, tid);
    }
    if (name->failed)
        return name->failed;
    return name->size ? pfc_view_named(&w->v.frames, name->data, name->size, &w->roots[set]) : 0;
}

static int name_threads(writing *w) {
    pfc_buf name;
    int status = 0;
    pfc_buf_init(&name, &w->v.mem);
    for (uint32_t i = 0; status == 0 && i < w->sets; i++) {
        status = name_thread(w, i, &name);
        w->threads |= w->roots[i] != 0;
    }
    /* Beside named threads, samples of none are a profile of their own. */
    for (uint32_t i = 0; status == 0 && w->threads && i < w->sets; i++) {
        if (w->roots[i] == 0)
            status = pfc_view_named(&w->v.frames, "[no thread]", 11, &w->roots[i]);
    }
    pfc_buf_free(&name);
    return status;
}

/* ---- the file ---- */

static void separate(pfc_buf *out, uint64_t index) {
    if (index > 0)
        pfc_buf_text(out, ",");
}

static int add_frames(writing *w) {
    pfc_buf *out = &w->v.out.buf;
    uint32_t *rank = NULL;
    w->ranks = w->v.frames.rows.count;
    w->number = (uint32_t *)pfc_alloc_zero(&w->v.mem, w->ranks * sizeof *w->number);
    w->listed = (uint32_t *)pfc_alloc_zero(&w->v.mem, w->ranks * sizeof *w->listed);
    int status = w->number && w->listed ? pfc_view_rank(&w->v.frames, &rank) : w->v.mem.failed;
    if (status)
        return status;
    for (size_t i = 0; i < w->ranks; i++)
        w->listed[rank[i]] = (uint32_t)i;
    pfc_free(&w->v.mem, rank, w->ranks * sizeof *rank);
    for (size_t i = 1; i < w->v.tree.nodes.count; i++) {
        const pfc_view_node *node = &w->v.tree.nodes.data[i];
        if (!w->threads || node->depth > 1)
            w->number[node->frame] = 1;
    }
    pfc_buf_text(out, "\"shared\":{\"frames\":[\n");
    for (size_t i = 0; i < w->ranks; i++) {
        const pfc_view_frame *row = &w->v.frames.rows.data[w->listed[i]];
        profconv_string name = pfc_view_string(&w->v.frames, row->name);
        profconv_string file = pfc_view_string(&w->v.frames, row->file);
        if (!w->number[w->listed[i]])
            continue;
        pfc_buf_text(out, w->count ? ",\n{\"name\":" : "{\"name\":");
        pfc_view_json(out, name.data, name.size);
        if (file.size > 0) {
            pfc_buf_text(out, ",\"file\":");
            pfc_view_json(out, file.data, file.size);
        }
        if (row->line > 0) {
            pfc_buf_text(out, ",\"line\":");
            pfc_buf_i64(out, row->line);
        }
        pfc_buf_char(out, '}');
        w->number[w->listed[i]] = (uint32_t)++w->count;
        pfc_view_flush(&w->v.out, 0);
    }
    pfc_buf_text(out, "\n]},\n");
    return 0;
}

static const char *unit_of(profconv_string unit) {
    static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (unit.size == strlen(units[i]) && memcmp(unit.data, units[i], unit.size) == 0)
            return units[i];
    }
    return "none";
}

static void add_name(writing *w, uint32_t root, uint32_t column) {
    profconv_id event = profconv_profile_sample_type(w->v.profile, w->v.columns.types[column])->event;
    profconv_string type = pfc_view_column_name(&w->v.columns, column);
    profconv_string of = profconv_profile_string(w->v.profile, event);
    pfc_buf name;
    pfc_buf_init(&name, &w->v.mem);
    if (w->threads) {
        profconv_string thread =
            pfc_view_string(&w->v.frames, w->v.frames.rows.data[w->v.tree.nodes.data[root].frame].name);
        pfc_buf_add(&name, thread.data, thread.size);
    }
    if (!w->threads || w->v.columns.count > 1) {
        pfc_buf_text(&name, w->threads ? ": " : "");
        pfc_buf_add(&name, type.data, type.size);
        if (of.size > 0 && !(of.size == type.size && memcmp(of.data, type.data, of.size) == 0)) {
            pfc_buf_text(&name, " (");
            pfc_buf_add(&name, of.data, of.size);
            pfc_buf_char(&name, ')');
        }
    }
    if (name.failed)
        w->v.out.buf.failed = name.failed;
    else
        pfc_view_json(&w->v.out.buf, name.data ? name.data : "", name.size);
    pfc_buf_free(&name);
}

/* Emits the samples (`weights` 0) or the weights of the nodes order[from..to) below `root`. */
static int add_samples(writing *w, size_t from, size_t to, uint32_t column, int weights) {
    const pfc_view_tree *t = &w->v.tree;
    pfc_buf *out = &w->v.out.buf;
    uint32_t root_depth = t->nodes.data[t->order[from]].depth;
    uint64_t written = 0;
    w->path.count = 0;
    for (size_t k = from; k < to; k++) {
        uint32_t i = t->order[k];
        const pfc_view_node *node = &t->nodes.data[i];
        int64_t value = t->self.data[(size_t)i * t->columns + column];
        if (node->depth > root_depth) {
            w->path.count = node->depth - root_depth - 1;
            int status = PFC_VEC_PUSH(&w->v.mem, &w->path, i);
            if (status)
                return status;
        }
        if (value == 0)
            continue;
        separate(out, written++);
        if (weights) {
            pfc_buf_i64(out, value);
            continue;
        }
        pfc_buf_char(out, '[');
        for (size_t n = 0; n < w->path.count; n++) {
            separate(out, n);
            pfc_buf_u64(out, w->number[t->nodes.data[w->path.data[n]].frame] - 1);
        }
        pfc_buf_char(out, ']');
        if (pfc_view_flush(&w->v.out, 0))
            return 0; /* out.status has it */
    }
    return 0;
}

static int add_profile(writing *w, size_t from, size_t to, uint32_t column, int64_t total) {
    pfc_buf *out = &w->v.out.buf;
    pfc_buf_text(out, w->profiles++ ? ",\n{\"type\":\"sampled\",\"name\":" : "{\"type\":\"sampled\",\"name\":");
    add_name(w, w->v.tree.order[from], column);
    pfc_buf_text(out, ",\"unit\":\"");
    pfc_buf_text(out, unit_of(pfc_view_column_unit(&w->v.columns, column)));
    pfc_buf_text(out, "\",\"startValue\":0,\"endValue\":");
    pfc_buf_i64(out, total);
    pfc_buf_text(out, ",\n\"samples\":[");
    int status = add_samples(w, from, to, column, 0);
    pfc_buf_text(out, "],\n\"weights\":[");
    if (status == 0)
        status = add_samples(w, from, to, column, 1);
    pfc_buf_text(out, "]}");
    return status;
}

/* The heaviest profile of the column that is shown by default is the first one to see. */
static int add_profiles(writing *w) {
    const pfc_view_tree *t = &w->v.tree;
    size_t count = t->nodes.count;
    int64_t *totals = (int64_t *)pfc_alloc(&w->v.mem, count * w->v.columns.count * sizeof *totals);
    int64_t heaviest = 0;
    int status = totals ? 0 : w->v.mem.failed;
    for (uint32_t c = 0; status == 0 && c < w->v.columns.count; c++)
        pfc_view_tree_totals(t, c, totals + c * count, 0);
    pfc_buf_text(&w->v.out.buf, "\"profiles\":[\n");
    for (size_t from = w->threads ? 1 : 0, to; status == 0 && from < t->ordered; from = to) {
        uint32_t root = t->order[from];
        for (to = from + 1; to < t->ordered && t->nodes.data[t->order[to]].depth > t->nodes.data[root].depth;)
            to++;
        for (uint32_t c = 0; status == 0 && c < w->v.columns.count; c++) {
            int64_t total = totals[c * count + root];
            if (total == 0)
                continue;
            if (c == w->v.columns.shown && total > heaviest) {
                heaviest = total;
                w->active = w->profiles;
            }
            status = add_profile(w, from, to, c, total);
        }
    }
    pfc_buf_text(&w->v.out.buf, "\n],\n\"activeProfileIndex\":");
    pfc_buf_u64(&w->v.out.buf, w->active);
    pfc_free(&w->v.mem, totals, count * w->v.columns.count * sizeof *totals);
    return status;
}

static int grow(pfc_view_writing *view, profconv_error *error) {
    writing *w = (writing *)view;
    pfc_view_build build = {&w->v.columns, &w->v.frames, NULL, 0, 0, 1};
    int status = pfc_view_frames_init(&w->v.frames, &w->v.mem, w->v.profile);
    (void)error;
    w->all_columns = w->v.columns.count;
    w->sets = profconv_profile_rows(w->v.profile, PROFCONV_TABLE_LABEL_SET);
    w->sets += w->sets == 0;
    w->roots = (uint32_t *)pfc_alloc_zero(&w->v.mem, w->sets * sizeof *w->roots);
    if (status == 0 && !w->roots)
        status = w->v.mem.failed;
    if (status == 0 && profconv_options_bool(w->v.options, "speedscope", settings, "threads"))
        status = name_threads(w);
    if (w->threads) {
        pfc_view_columns_by_event(&w->v.columns);
        build.roots = w->roots;
    }
    if (status == 0)
        status = pfc_view_tree_init(&w->v.tree, &w->v.mem, w->v.columns.count);
    if (status == 0)
        status = pfc_view_tree_build(&w->v.tree, &build);
    w->v.samples = w->v.tree.samples;
    return status ? status : pfc_view_tree_order(&w->v.tree, &w->v.frames);
}

static int write_file(pfc_view_writing *view) {
    writing *w = (writing *)view;
    pfc_buf *out = &w->v.out.buf;
    const char *title = profconv_options_string(w->v.options, "speedscope", settings, "title");
    profconv_string command = profconv_profile_find_attribute(w->v.profile, "command-line");
    pfc_buf_text(out,
                 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"libprofconv ");
    pfc_buf_text(out, profconv_version());
    pfc_buf_text(out, "\",\n\"name\":");
    pfc_view_json(out,
                  title          ? title
                  : command.size ? command.data
                                 : "profile",
                  title          ? strlen(title)
                  : command.size ? command.size
                                 : 7);
    pfc_buf_text(out, ",\n");
    int status = add_frames(w);
    if (status == 0)
        status = add_profiles(w);
    pfc_buf_text(out, "}\n");
    return status;
}

static void tell(pfc_view_writing *view, profconv_report *report) {
    const writing *w = (const writing *)view;
    if (w->all_columns > w->v.columns.count)
        profconv_report_add(report, PROFCONV_NOTE_INFO, "sample-types-of-event", w->all_columns - w->v.columns.count, 0,
                            PROFCONV_NO_OFFSET, 0, "of each event, the column with its weight was written");
}

static void release(pfc_view_writing *view) {
    writing *w = (writing *)view;
    pfc_mem *mem = &w->v.mem;
    PFC_VEC_FREE(mem, &w->path);
    pfc_free(mem, w->roots, w->sets * sizeof *w->roots);
    pfc_free(mem, w->number, w->ranks * sizeof *w->number);
    pfc_free(mem, w->listed, w->ranks * sizeof *w->listed);
}

static int write_speedscope(void *user, const profconv_profile *profile, profconv_output *output,
                            const profconv_options *options, profconv_report *report, profconv_error *error) {
    static const pfc_view_steps steps = {"speedscope", 1, grow, write_file, tell, release};
    writing w;
    (void)user;
    memset(&w, 0, sizeof w);
    return pfc_view_write(&w.v, &steps, profile, output, options, report, error);
}

const profconv_writer pfc_speedscope_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "speedscope",
    .suffixes = suffixes,
    .description = "speedscope JSON: one profile a thread and event",
    .settings = settings,
    .needs = PROFCONV_FACET_STACKS,
    .keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS,
    .improves = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .labels = "thread,pid,tid",
    .write = write_speedscope,
};
