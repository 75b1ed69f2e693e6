/* SPDX-License-Identifier: MIT
 *
 * Callgrind's profile format, for KCachegrind and callgrind_annotate: costs of lines, and calls with what they cost
 * inclusively.
 *
 * Samples do not say how often a function was called: calls= is 1 for every call site. With recursion a stack holds a
 * function several times; its outermost call is the one that is charged, so that the costs of all calls of a function
 * add up to the samples that it is part of, each once. The other calls are there with a cost of zero.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

static const char *const suffixes[] = {".callgrind", "callgrind.out", NULL};

static const profconv_setting settings[] = {
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

/* Costs of a line of a function (callee 0), or of the calls that it makes to one. */
typedef struct cost {
    int64_t line;
    uint32_t frame;
    uint32_t callee;
} cost;

typedef struct writing {
    pfc_view_writing v;
    PFC_VEC(cost) costs;
    PFC_VEC(int64_t) values; /* costs x columns */
    pfc_index index;
    uint32_t *rank; /* of each frame */
    uint32_t *open; /* of each frame: how often it is on the present path */
    size_t frame_count;
    int64_t *totals; /* columns x nodes */
    /* Numbers of names that the file has so far, + 1, by text: files, functions, objects. */
    uint32_t *numbers[3];
    uint32_t last[3];
    size_t texts;
} writing;

static uint64_t hash_of(const cost *c) { return pfc_hash_mix(pfc_hash_mix(c->frame, c->callee), (uint64_t)c->line); }
static uint64_t cost_hash(const void *user, uint32_t row) {
    return hash_of(&((const writing *)user)->costs.data[row - 1]);
}

/* The values of a row, which is made where it is missing. */
static int row_of(writing *w, const cost *wanted, int64_t **values) {
    uint64_t hash = hash_of(wanted);
    pfc_probe probe = pfc_index_start(&w->index, hash);
    uint32_t row;
    while ((row = pfc_index_next(&w->index, &probe)) != 0) {
        const cost *c = &w->costs.data[row - 1];
        if (c->frame == wanted->frame && c->callee == wanted->callee && c->line == wanted->line) {
            *values = w->values.data + (size_t)(row - 1) * w->v.columns.count;
            return 0;
        }
    }
    if (w->costs.count >= INT32_MAX)
        return PROFCONV_E_LIMIT;
    int status = PFC_VEC_RESERVE(&w->v.mem, &w->values, w->values.count + w->v.columns.count);
    if (status == 0)
        status = PFC_VEC_PUSH(&w->v.mem, &w->costs, *wanted);
    if (status)
        return status;
    *values = w->values.data + w->values.count;
    memset(*values, 0, w->v.columns.count * sizeof **values);
    w->values.count += w->v.columns.count;
    return pfc_index_insert(&w->v.mem, &w->index, hash, (uint32_t)w->costs.count, cost_hash, w);
}

static int charge(writing *w, uint32_t node) {
    const pfc_view_tree *t = &w->v.tree;
    const pfc_view_node *row = &t->nodes.data[node];
    const pfc_view_node *caller = &t->nodes.data[row->parent];
    cost self = {row->line, row->frame, 0};
    cost call = {caller->line, caller->frame, row->frame};
    int64_t *values;
    int status = row_of(w, &self, &values);
    for (uint32_t c = 0; status == 0 && c < t->columns; c++)
        values[c] = pfc_add_sat_i64(values[c], t->self.data[(size_t)node * t->columns + c], &w->v.tree.saturated);
    if (status || row->parent == 0)
        return status;
    status = row_of(w, &call, &values);
    for (uint32_t c = 0; status == 0 && c < t->columns && w->open[row->frame] == 0; c++)
        values[c] = pfc_add_sat_i64(values[c], w->totals[c * t->nodes.count + node], &w->v.tree.saturated);
    return status;
}

static int charge_all(writing *w) {
    const pfc_view_tree *t = &w->v.tree;
    PFC_VEC(uint32_t) path = {0};
    int status = 0;
    for (size_t k = 1; status == 0 && k < t->ordered; k++) {
        uint32_t node = t->order[k];
        while (path.count >= t->nodes.data[node].depth)
            w->open[t->nodes.data[path.data[--path.count]].frame]--;
        status = charge(w, node);
        w->open[t->nodes.data[node].frame]++;
        if (status == 0)
            status = PFC_VEC_PUSH(&w->v.mem, &path, node);
    }
    PFC_VEC_FREE(&w->v.mem, &path);
    return status;
}

/* ---- the file ---- */

enum { FILES, FUNCTIONS, OBJECTS };

/* "(3) name" the first time, then "(3)". Files and objects that are not known are "???". */
static void add_name(writing *w, const char *key, int space, uint32_t text) {
    pfc_buf *out = &w->v.out.buf;
    profconv_string s = pfc_view_string(&w->v.frames, text);
    pfc_buf_text(out, key);
    pfc_buf_char(out, '(');
    if (w->numbers[space][text] != 0) {
        pfc_buf_u64(out, w->numbers[space][text]);
        pfc_buf_text(out, ")\n");
        return;
    }
    w->numbers[space][text] = ++w->last[space];
    pfc_buf_u64(out, w->last[space]);
    pfc_buf_text(out, ") ");
    if (s.size > 0)
        pfc_view_line(out, s.data, s.size);
    else
        pfc_buf_text(out, "???");
    pfc_buf_char(out, '\n');
}

static void add_costs(writing *w, const cost *c) {
    const int64_t *values = w->values.data + (size_t)(c - w->costs.data) * w->v.columns.count;
    pfc_buf_i64(&w->v.out.buf, c->line);
    for (uint32_t i = 0; i < w->v.columns.count; i++) {
        pfc_buf_char(&w->v.out.buf, ' ');
        pfc_buf_i64(&w->v.out.buf, values[i]);
    }
    pfc_buf_char(&w->v.out.buf, '\n');
}

static int compare_costs(const void *user, uint32_t a, uint32_t b) {
    const writing *w = (const writing *)user;
    const cost *x = &w->costs.data[a];
    const cost *y = &w->costs.data[b];
    uint32_t x_frame = w->rank[x->frame], y_frame = w->rank[y->frame];
    uint32_t x_callee = x->callee ? w->rank[x->callee] + 1 : 0, y_callee = y->callee ? w->rank[y->callee] + 1 : 0;
    if (x_frame != y_frame)
        return x_frame < y_frame ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x_callee < y_callee ? -1 : x_callee > y_callee;
}

static void add_cost_row(writing *w, const cost *c, int first) {
    const pfc_view_frame *frame = &w->v.frames.rows.data[c->frame];
    if (first) {
        pfc_buf_char(&w->v.out.buf, '\n');
        add_name(w, "ob=", OBJECTS, frame->module);
        add_name(w, "fl=", FILES, frame->file);
        add_name(w, "fn=", FUNCTIONS, frame->name);
    }
    if (c->callee != 0) {
        const pfc_view_frame *callee = &w->v.frames.rows.data[c->callee];
        add_name(w, "cob=", OBJECTS, callee->module);
        add_name(w, "cfi=", FILES, callee->file);
        add_name(w, "cfn=", FUNCTIONS, callee->name);
        pfc_buf_text(&w->v.out.buf, "calls=1 ");
        pfc_buf_i64(&w->v.out.buf, callee->line);
        pfc_buf_char(&w->v.out.buf, '\n');
    }
    add_costs(w, c);
}

/* Names of events are words for the tools: what else a name holds becomes '_'; a number makes equal ones differ. */
static void event_word(const writing *w, uint32_t column, pfc_buf *word) {
    profconv_string name = pfc_view_column_name(&w->v.columns, column);
    profconv_id event = profconv_profile_sample_type(w->v.profile, w->v.columns.types[column])->event;
    for (uint32_t i = 0; i < w->v.columns.count && event; i++) {
        profconv_string other = pfc_view_column_name(&w->v.columns, i);
        if (i != column && other.size == name.size && memcmp(other.data, name.data, name.size) == 0) {
            profconv_string of = profconv_profile_string(w->v.profile, event);
            pfc_buf_add(word, of.data, of.size);
            pfc_buf_char(word, '_');
            break;
        }
    }
    pfc_buf_add(word, name.data, name.size);
    if (word->size == 0)
        pfc_buf_text(word, "value");
    for (size_t i = 0; i < word->size && !word->failed; i++) {
        char c = word->data[i];
        int fit = (c >= '0' && c <= '9' && i > 0) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!fit)
            word->data[i] = '_';
    }
}

static void add_events(writing *w) {
    pfc_buf *out = &w->v.out.buf;
    pfc_buf words[2];
    pfc_buf_init(&words[0], &w->v.mem); /* all so far, each between blanks */
    pfc_buf_init(&words[1], &w->v.mem);
    pfc_buf_char(&words[0], ' ');
    for (uint32_t c = 0; c < w->v.columns.count; c++) {
        pfc_buf_clear(&words[1]);
        pfc_buf_char(&words[1], ' ');
        pfc_buf word;
        pfc_buf_init(&word, &w->v.mem);
        event_word(w, c, &word);
        if (word.failed)
            words[1].failed = word.failed;
        else
            pfc_buf_add(&words[1], word.data, word.size);
        pfc_buf_free(&word);
        size_t size = words[1].size;
        for (uint64_t n = 2; !words[0].failed && !words[1].failed; n++) {
            pfc_buf_char(&words[1], ' ');
            if (words[1].failed || !strstr(words[0].data, words[1].data))
                break;
            words[1].size = size;
            words[1].data[size] = '\0';
            pfc_buf_u64(&words[1], n);
        }
        if (words[1].failed || words[0].failed)
            break;
        pfc_buf_add(&words[0], words[1].data + 1, words[1].size - 1);
    }
    if (words[0].failed || words[1].failed) {
        out->failed = words[0].failed ? words[0].failed : words[1].failed;
    } else {
        pfc_buf_text(out, "events:");
        pfc_buf_add(out, words[0].data, words[0].size - 1);
        pfc_buf_char(out, '\n');
    }
    pfc_buf_free(&words[0]);
    pfc_buf_free(&words[1]);
}

static void add_sums(writing *w, const char *key) {
    pfc_buf_text(&w->v.out.buf, key);
    for (uint32_t c = 0; c < w->v.columns.count; c++) {
        pfc_buf_char(&w->v.out.buf, ' ');
        pfc_buf_i64(&w->v.out.buf, w->totals[(size_t)c * w->v.tree.nodes.count]);
    }
    pfc_buf_char(&w->v.out.buf, '\n');
}

static int write_file(pfc_view_writing *view) {
    writing *w = (writing *)view;
    pfc_buf *out = &w->v.out.buf;
    profconv_string command = profconv_profile_find_attribute(w->v.profile, "command-line");
    size_t count = w->costs.count;
    uint32_t *ids = (uint32_t *)pfc_alloc(&w->v.mem, (count + 1) * sizeof *ids);
    if (!ids)
        return w->v.mem.failed;
    for (size_t i = 0; i < count; i++)
        ids[i] = (uint32_t)i;
    int status = pfc_sort_ids(&w->v.mem, ids, count, compare_costs, w);
    pfc_buf_text(out, "# callgrind format\nversion: 1\ncreator: libprofconv ");
    pfc_buf_text(out, profconv_version());
    if (command.size > 0) {
        pfc_buf_text(out, "\ncmd: ");
        pfc_view_line(out, command.data, command.size);
    }
    pfc_buf_text(out, "\npositions: line\n");
    add_events(w);
    add_sums(w, "summary:");
    for (size_t i = 0; status == 0 && i < count; i++) {
        const cost *c = &w->costs.data[ids[i]];
        add_cost_row(w, c, i == 0 || w->costs.data[ids[i - 1]].frame != c->frame);
        if (pfc_view_flush(&w->v.out, 0))
            break;
    }
    pfc_buf_char(out, '\n');
    add_sums(w, "totals:");
    pfc_free(&w->v.mem, ids, (count + 1) * sizeof *ids);
    return status;
}

static int grow(pfc_view_writing *view, profconv_error *error) {
    writing *w = (writing *)view;
    (void)error;
    pfc_view_build build = {&w->v.columns, &w->v.frames, NULL, 0, 1, 1};
    int status = pfc_view_frames_init(&w->v.frames, &w->v.mem, w->v.profile);
    if (status == 0)
        status = pfc_view_tree_init(&w->v.tree, &w->v.mem, w->v.columns.count);
    if (status == 0)
        status = pfc_view_tree_build(&w->v.tree, &build);
    if (status == 0)
        status = pfc_view_tree_order(&w->v.tree, &w->v.frames);
    if (status == 0)
        status = pfc_view_rank(&w->v.frames, &w->rank);
    if (status)
        return status;
    w->frame_count = w->v.frames.rows.count;
    w->texts = w->v.frames.texts.count;
    w->open = (uint32_t *)pfc_alloc_zero(&w->v.mem, w->frame_count * sizeof *w->open);
    w->totals = (int64_t *)pfc_alloc(&w->v.mem, w->v.tree.nodes.count * w->v.columns.count * sizeof *w->totals);
    for (int i = 0; i < 3; i++)
        w->numbers[i] = (uint32_t *)pfc_alloc_zero(&w->v.mem, w->texts * sizeof *w->numbers[i]);
    if (!w->open || !w->totals || !w->numbers[0] || !w->numbers[1] || !w->numbers[2])
        return w->v.mem.failed;
    for (uint32_t c = 0; c < w->v.columns.count; c++)
        pfc_view_tree_totals(&w->v.tree, c, w->totals + (size_t)c * w->v.tree.nodes.count, 0);
    w->v.samples = w->v.tree.samples;
    return charge_all(w);
}

static void release(pfc_view_writing *view) {
    writing *w = (writing *)view;
    pfc_mem *mem = &w->v.mem;
    PFC_VEC_FREE(mem, &w->costs);
    PFC_VEC_FREE(mem, &w->values);
    pfc_index_free(mem, &w->index);
    pfc_free(mem, w->rank, w->v.frames.rows.count * sizeof *w->rank);
    pfc_free(mem, w->open, w->frame_count * sizeof *w->open);
    pfc_free(mem, w->totals, w->v.tree.nodes.count * w->v.columns.count * sizeof *w->totals);
    for (int i = 0; i < 3; i++)
        pfc_free(mem, w->numbers[i], w->texts * sizeof *w->numbers[i]);
}

static int write_callgrind(void *user, const profconv_profile *profile, profconv_output *output,
                           const profconv_options *options, profconv_report *report, profconv_error *error) {
    static const pfc_view_steps steps = {"callgrind", 1, grow, write_file, NULL, release};
    writing w;
    (void)user;
    memset(&w, 0, sizeof w);
    return pfc_view_write(&w.v, &steps, profile, output, options, report, error);
}

const profconv_writer pfc_callgrind_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "callgrind",
    .suffixes = suffixes,
    .description = "callgrind output: calls and lines, for KCachegrind and callgrind_annotate",
    .settings = settings,
    .needs = PROFCONV_FACET_STACKS,
    .keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS | PROFCONV_FACET_LINES,
    .improves = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .labels = "",
    .write = write_callgrind,
};
