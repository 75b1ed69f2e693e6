/* SPDX-License-Identifier: MIT
 *
 * Collapsed stacks, written by the strict grammar of README.md: what is counted, under which root frame, and
 * what is said about the rest. frames.c decides names, trie.c the order of lines.
 */
#include <profconv/plugin.h>

#include <string.h>

#include "libprofconv/formats/collapsed/collapsed.h"
#include "libprofconv/formats/collapsed/trie.h"

static const char *const aliases[] = {"folded", "groups", NULL};
static const char *const suffixes[] = {".folded", ".collapsed", ".collapsedstack.txt", NULL};

static const profconv_setting settings[] = {
    {"event", PROFCONV_SETTING_STRING, NULL, NULL, "which event to count, when there are several"},
    {"weight", PROFCONV_SETTING_STRING, "auto", NULL,
     "what to count: auto, samples, period, or the name of a sample type"},
    {"root", PROFCONV_SETTING_ENUM, "comm", "comm|none", "first frame of a line: the thread's name, where known"},
    {"pid", PROFCONV_SETTING_BOOL, "no", NULL, "put the process id into the first frame: comm-PID"},
    {"tid", PROFCONV_SETTING_BOOL, "no", NULL, "put process and thread id into the first frame: comm-PID/TID"},
    {"annotate", PROFCONV_SETTING_LIST, NULL, NULL,
     "mark frames: k (kernel, _[k]), j (JIT, _[j]), i (inlined, _[i]), or all; comma-separated"},
    {"addrs", PROFCONV_SETTING_BOOL, "no", NULL, "show the address of frames without a name: [file <1f0>]"},
    {"srcline", PROFCONV_SETTING_BOOL, "no", NULL, "append :file:line to frames"},
    {"inline", PROFCONV_SETTING_BOOL, "yes", NULL, "show inlined functions as frames"},
    {"tidy", PROFCONV_SETTING_ENUM, "auto", "auto|none|args|templates",
     "cut argument lists (args), template arguments too (templates), or nothing; auto: args, in native code only"},
    {"strip-suffixes", PROFCONV_SETTING_BOOL, "no", NULL, "cut .constprop.0, .cold, @plt, @@GLIBC_2.2.5 and the like"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

typedef struct writing {
    pfc_mem mem;
    const profconv_profile *profile;
    profconv_output *output;
    const profconv_options *options;
    profconv_report *report;
    profconv_error *error;
    pfc_frames frames;
    pfc_trie trie;
    int root, pid, tid; /* what the first frame says */
    uint32_t type;      /* sample type that is counted */

    uint32_t rows;   /* of samples */
    uint32_t *roots; /* of each label set: text id of its first frame, + 1; 0: not met yet */
    uint32_t sets;
    uint32_t *next;  /* of each sample: the next one under the same root, + 1 */
    uint32_t *heads; /* of each root text: its first sample, + 1 */
    size_t heads_capacity;
    uint32_t *nodes; /* of each stack: its node under the present root */
    uint32_t *marks; /* of each stack: the root that `nodes` is for, + 1 */
    uint32_t stacks;
    PFC_VEC(uint32_t) path;

    uint64_t written, lines_zero, lines_negative, samples_zero;
    int64_t negative;
} writing;

static int flag(const writing *w, const char *key) {
    return profconv_options_bool(w->options, "collapsed", settings, key);
}

/* ---- the first frame ---- */

static const profconv_label *label(const writing *w, profconv_id set, const char *key) {
    return profconv_profile_find_label(w->profile, set, key);
}

static void add_number(const writing *w, pfc_buf *out, const profconv_label *value) {
    if (value && value->numeric) {
        pfc_buf_i64(out, value->number);
    } else if (value) {
        profconv_string text = profconv_profile_string(w->profile, value->string);
        pfc_buf_add(out, text.data, text.size);
    } else {
        pfc_buf_char(out, '?');
    }
}

/* The text of a label set's first frame: "comm", "comm-PID", "comm-PID/TID"; 0 when there is nothing to say. */
static int root_of(writing *w, profconv_id set, uint32_t *id) {
    const profconv_label *thread = w->root ? label(w, set, "thread") : NULL;
    const profconv_label *pid = w->pid || w->tid ? label(w, set, "pid") : NULL;
    const profconv_label *tid = w->tid ? label(w, set, "tid") : NULL;
    *id = 0;
    if (w->root && !thread)
        thread = label(w, set, "comm");
    if (!thread && !pid && !tid)
        return 0;
    profconv_string name = profconv_profile_string(w->profile, thread ? thread->string : 0);
    int status = pfc_frames_text(&w->frames, name.data, name.size, 1, id);
    if (status || (!w->pid && !w->tid))
        return status;
    pfc_buf *raw = &w->frames.raw;
    size_t size;
    const char *comm = pfc_frames_data(&w->frames, *id, &size);
    pfc_buf_clear(raw);
    pfc_buf_add(raw, comm, size);
    pfc_buf_char(raw, '-');
    add_number(w, raw, pid);
    if (w->tid) {
        pfc_buf_char(raw, '/');
        add_number(w, raw, tid);
    }
    return raw->failed ? raw->failed : pfc_frames_text(&w->frames, raw->data, raw->size, 1, id);
}

/* Chains samples by their first frame, so that one table of nodes serves all stacks. */
static int group_samples(writing *w) {
    for (uint32_t i = w->rows; i-- > 0;) {
        profconv_id set = profconv_profile_sample_label_set(w->profile, i);
        if (profconv_profile_sample_value(w->profile, i, w->type) == 0) {
            w->samples_zero++;
            continue;
        }
        if (set >= w->sets)
            set = 0;
        if (w->roots[set] == 0) {
            uint32_t id;
            int status = root_of(w, set, &id);
            if (status)
                return status;
            w->roots[set] = id + 1;
        }
        size_t root = w->roots[set] - 1;
        if (root >= w->heads_capacity) {
            size_t before = w->heads_capacity;
            int status = pfc_grow(&w->mem, (void **)(void *)&w->heads, &w->heads_capacity, root + 1, sizeof *w->heads);
            if (status)
                return status;
            memset(w->heads + before, 0, (w->heads_capacity - before) * sizeof *w->heads);
        }
        w->next[i] = w->heads[root];
        w->heads[root] = i + 1;
    }
    return 0;
}

/* ---- the tree ---- */

/* The node of a stack under the present root, made where it is missing. The root's own node is that of stack 0. */
static int node_of(writing *w, uint32_t root, profconv_id stack, uint32_t *node) {
    w->path.count = 0;
    if (stack >= w->stacks)
        stack = 0;
    while (w->marks[stack] != root + 1) {
        int status = PFC_VEC_PUSH(&w->mem, &w->path, stack);
        if (status)
            return status;
        stack = profconv_profile_stack(w->profile, stack)->parent;
    }
    *node = w->nodes[stack];
    while (w->path.count > 0) {
        const uint32_t *ids;
        uint32_t count;
        stack = w->path.data[--w->path.count];
        int status = pfc_frames_of(&w->frames, profconv_profile_stack(w->profile, stack)->location, &ids, &count);
        for (uint32_t i = 0; status == 0 && i < count; i++)
            status = pfc_trie_child(&w->trie, *node, ids[i], node);
        if (status)
            return status;
        w->nodes[stack] = *node;
        w->marks[stack] = root + 1;
    }
    return 0;
}

/* Counts `value` on the line that ends at `node`, whose last frame may have to be told from a count. */
static int add_line(writing *w, uint32_t node, int64_t value) {
    uint32_t text = w->trie.nodes.data[node].text;
    uint32_t parent = w->trie.nodes.data[node].parent;
    uint32_t leaf = text;
    int status;
    if (node == 0) /* neither frames nor a root */
        status = pfc_frames_text(&w->frames, "[unknown]", 9, 0, &leaf);
    else
        status = pfc_frames_leaf(&w->frames, text, parent == 0, &leaf);
    if (status == 0 && leaf != text)
        status = pfc_trie_child(&w->trie, parent, leaf, &node);
    if (status == 0)
        pfc_trie_add(&w->trie, node, value);
    return status;
}

static int add_group(writing *w, uint32_t root) {
    uint32_t top = 0;
    int status = root ? pfc_trie_child(&w->trie, 0, root, &top) : 0;
    w->nodes[0] = top;
    w->marks[0] = root + 1;
    for (uint32_t next = w->heads[root]; status == 0 && next != 0; next = w->next[next - 1]) {
        uint32_t node;
        status = node_of(w, root, profconv_profile_sample_stack(w->profile, next - 1), &node);
        if (status == 0)
            status = add_line(w, node, profconv_profile_sample_value(w->profile, next - 1, w->type));
    }
    return status;
}

static int build(writing *w) {
    int status = group_samples(w);
    /* No root is made below, so the number of heads stays. */
    for (uint32_t root = 0; status == 0 && root < w->heads_capacity; root++) {
        if (w->heads[root] != 0)
            status = add_group(w, root);
    }
    return status ? status : pfc_trie_order(&w->trie, &w->frames);
}

/* ---- output ---- */

static int write_line(void *user, pfc_buf *text, int64_t count) {
    writing *w = (writing *)user;
    if (count <= 0) {
        w->lines_zero += count == 0;
        w->lines_negative += count < 0;
        w->negative = pfc_add_sat_i64(w->negative, count, &w->trie.saturated);
        return 0;
    }
    w->written++;
    pfc_buf_char(text, ' ');
    pfc_buf_i64(text, count);
    pfc_buf_char(text, '\n');
    return text->failed ? text->failed : profconv_output_write(w->output, text->data, text->size, w->error);
}

static void report(const writing *w) {
    if (w->lines_negative)
        profconv_report_add(w->report, PROFCONV_NOTE_DROPPED, "negative-count", w->lines_negative, w->negative,
                            PROFCONV_NO_OFFSET, 0, "stacks with a negative total cannot be written");
    if (w->lines_zero)
        profconv_report_add(w->report, PROFCONV_NOTE_DROPPED, "zero-count", w->lines_zero, 0, PROFCONV_NO_OFFSET, 0,
                            "stacks whose values cancel out to zero are not written");
    if (w->samples_zero)
        profconv_report_add(w->report, PROFCONV_NOTE_INFO, "no-value", w->samples_zero, 0, PROFCONV_NO_OFFSET, 0,
                            "samples without a value of the chosen type are not written");
    if (w->trie.saturated)
        profconv_report_add(w->report, PROFCONV_NOTE_WARNING, "saturated", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "a sum does not fit 63 bits and stays at the largest number");
    pfc_collapsed_report_types(w->profile, w->type, w->report);
}

static int empty(const writing *w) {
    const profconv_sample_type *type = profconv_profile_sample_type(w->profile, w->type);
    const char *name = profconv_profile_string(w->profile, type->name).data;
    if (w->rows == 0)
        return profconv_error_set(w->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "nothing to write as collapsed: the profile has no samples");
    return profconv_error_set(w->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                              "nothing to write as collapsed: of %u samples, %llu have no \"%.80s\" value; %llu stacks "
                              "add up to zero or less",
                              w->rows, (unsigned long long)w->samples_zero, name,
                              (unsigned long long)(w->lines_zero + w->lines_negative));
}

/* ---- set-up ---- */

static int parse_annotate(const writing *w, pfc_frame_style *style) {
    for (size_t i = 0;; i++) {
        const char *item = profconv_options_item(w->options, "collapsed", "annotate", i);
        if (!item)
            return 0;
        while (*item) {
            size_t n = strcspn(item, ",");
            int all = n == 3 && memcmp(item, "all", 3) == 0;
            int none = n == 0 || (n == 4 && memcmp(item, "none", 4) == 0);
            style->kernel |= all || (n == 1 && *item == 'k');
            style->jit |= all || (n == 1 && *item == 'j');
            style->inlined |= all || (n == 1 && *item == 'i');
            if (!all && !none && !(n == 1 && strchr("kji", *item)))
                return profconv_error_set(w->error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                          "setting collapsed.annotate: \"%.*s\" found, k, j, i, all or none expected",
                                          (int)(n < 80 ? n : 80), item);
            item += n + (item[n] == ',');
        }
    }
}

static int parse_settings(writing *w, pfc_frame_style *style) {
    const char *tidy = profconv_options_string(w->options, "collapsed", settings, "tidy");
    memset(style, 0, sizeof *style);
    style->tidy = strcmp(tidy, "none") == 0        ? PFC_TIDY_NONE
                  : strcmp(tidy, "args") == 0      ? PFC_TIDY_ARGS
                  : strcmp(tidy, "templates") == 0 ? PFC_TIDY_TEMPLATES
                                                   : -1;
    style->strip_suffixes = flag(w, "strip-suffixes");
    style->addresses = flag(w, "addrs");
    style->source_lines = flag(w, "srcline");
    style->inline_frames = flag(w, "inline");
    w->root = strcmp(profconv_options_string(w->options, "collapsed", settings, "root"), "comm") == 0;
    w->pid = flag(w, "pid");
    w->tid = flag(w, "tid");
    int status = parse_annotate(w, style);
    if (status)
        return status;
    const char *event = profconv_options_string(w->options, "collapsed", settings, "event");
    const char *weight = profconv_options_string(w->options, "collapsed", settings, "weight");
    return pfc_collapsed_choose_type(w->profile, event, weight, &w->type, w->error);
}

static int allocate(writing *w) {
    w->rows = profconv_profile_rows(w->profile, PROFCONV_TABLE_SAMPLE);
    w->sets = profconv_profile_rows(w->profile, PROFCONV_TABLE_LABEL_SET);
    w->stacks = profconv_profile_rows(w->profile, PROFCONV_TABLE_STACK);
    w->sets += w->sets == 0;
    w->stacks += w->stacks == 0;
    w->roots = (uint32_t *)pfc_alloc_zero(&w->mem, w->sets * sizeof *w->roots);
    w->next = (uint32_t *)pfc_alloc_zero(&w->mem, w->rows * sizeof *w->next);
    w->nodes = (uint32_t *)pfc_alloc_zero(&w->mem, w->stacks * sizeof *w->nodes);
    w->marks = (uint32_t *)pfc_alloc_zero(&w->mem, w->stacks * sizeof *w->marks);
    return !w->roots || !w->next || !w->nodes || !w->marks ? w->mem.failed : 0;
}

static void release(writing *w) {
    pfc_trie_free(&w->trie);
    pfc_frames_free(&w->frames);
    pfc_free(&w->mem, w->roots, w->sets * sizeof *w->roots);
    pfc_free(&w->mem, w->next, w->rows * sizeof *w->next);
    pfc_free(&w->mem, w->heads, w->heads_capacity * sizeof *w->heads);
    pfc_free(&w->mem, w->nodes, w->stacks * sizeof *w->nodes);
    pfc_free(&w->mem, w->marks, w->stacks * sizeof *w->marks);
    PFC_VEC_FREE(&w->mem, &w->path);
}

static int write_all(writing *w, const pfc_frame_style *style) {
    int status = pfc_frames_init(&w->frames, &w->mem, w->profile, style);
    if (status == 0)
        status = pfc_trie_init(&w->trie, &w->mem);
    if (status == 0)
        status = allocate(w);
    if (status == 0)
        status = build(w);
    return status ? status : pfc_trie_walk(&w->trie, &w->frames, write_line, w);
}

static int write_profile(void *user, const profconv_profile *profile, profconv_output *output,
                         const profconv_options *options, profconv_report *notes, profconv_error *error) {
    writing w = {0};
    pfc_frame_style style;
    profconv_error own = {0};
    (void)user;
    pfc_mem_init(&w.mem, profconv_profile_allocator(profile), 0);
    w.profile = profile;
    w.output = output;
    w.options = options;
    w.report = notes;
    w.error = &own;
    int status = parse_settings(&w, &style);
    if (status == 0) {
        status = write_all(&w, &style);
        if (status == 0) {
            report(&w);
            if (w.written == 0)
                status = empty(&w);
        } else if (own.status == 0) {
            status = status == PROFCONV_E_LIMIT && !w.mem.failed
                         ? profconv_error_set(&own, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0,
                                              "more than 2^31 distinct frames or stacks")
                         : pfc_mem_error(&w.mem, &own);
        }
        release(&w);
    }
    if (status != 0 && error)
        *error = own;
    return status;
}

const profconv_writer pfc_collapsed_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "collapsed",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "collapsed (folded) stacks: one line a stack, for flame graphs",
    .settings = settings,
    .needs = PROFCONV_FACET_STACKS,
    .keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS,
    .improves = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .labels = "thread",
    .write = write_profile,
};
