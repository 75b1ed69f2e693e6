/* SPDX-License-Identifier: MIT
 *
 * The order in which a profile is written: names, functions, lines, call sites, targets and contexts sorted as LLVM's
 * writers sort them, so that equal profiles are equal files.
 */
#include <string.h>

#include "libprofconv/base/md5.h"
#include "libprofconv/formats/llvm/llvm.h"

const char *const pfc_llvm_pass_settings[] = {"attribute.compat", NULL};

static uint32_t *alloc_ids(pfc_mem *mem, uint64_t count) {
    if (count > SIZE_MAX / sizeof(uint32_t)) {
        mem->failed = PROFCONV_E_NOMEM;
        return NULL;
    }
    return (uint32_t *)pfc_alloc_zero(mem, (size_t)count * sizeof(uint32_t));
}

/* ---- names ---- */

static int decimal(profconv_string s, uint64_t *value) {
    const char *end = s.data + s.size;
    return s.size > 0 && pfc_parse_u64(s.data, end, value) == end;
}

uint64_t pfc_llvm_guid(const pfc_llvm_view *view, profconv_id name) {
    profconv_string s = profconv_profile_string(view->profile, name);
    uint64_t value;
    return view->md5 && decimal(s, &value) ? value : pfc_md5_u64(s.data, s.size);
}

static int compare_names(const void *user, uint32_t a, uint32_t b) {
    const pfc_llvm_view *view = (const pfc_llvm_view *)user;
    profconv_string x = profconv_profile_string(view->profile, a), y = profconv_profile_string(view->profile, b);
    uint64_t m, n;
    if (view->numeric && decimal(x, &m) && decimal(y, &n) && m != n)
        return m < n ? -1 : 1;
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order ? order : x.size < y.size ? -1 : x.size > y.size;
}

static void use_name(pfc_llvm_view *view, profconv_id name) {
    if (!view->rank[name]) {
        view->rank[name] = 1;
        view->names[view->name_count++] = name;
    }
}

static int collect_names(pfc_llvm_view *view) {
    const profconv_profile *p = view->profile;
    view->string_rows = profconv_profile_rows(p, PROFCONV_TABLE_STRING);
    view->rank = alloc_ids(view->mem, view->string_rows);
    view->names = alloc_ids(view->mem, view->string_rows);
    if (!view->rank || !view->names)
        return view->mem->failed;
    for (uint32_t i = 1; i < view->source_rows; i++)
        use_name(view, profconv_profile_source(p, i)->name);
    for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_SOURCE_TARGET); i < n; i++)
        use_name(view, profconv_profile_source_target(p, i)->name);
    if (view->context)
        for (uint32_t i = 1, n = profconv_profile_rows(p, PROFCONV_TABLE_CONTEXT); i < n; i++)
            use_name(view, profconv_profile_context(p, i)->name);
    /* Hashes are in numeric order, also those that a text or a binary profile gave without saying what they are. */
    view->numeric = 1;
    for (uint32_t i = 0; view->numeric && i < view->name_count; i++) {
        uint64_t value;
        view->numeric = decimal(profconv_profile_string(p, view->names[i]), &value);
    }
    int status = pfc_sort_ids(view->mem, view->names, view->name_count, compare_names, view);
    for (uint32_t i = 0; status == PROFCONV_OK && i < view->name_count; i++)
        view->rank[view->names[i]] = i;
    return status;
}

/* ---- rows by owner ---- */

typedef struct pfc_row_key {
    uint32_t owner;
    pfc_key key;
} pfc_row_key;

static pfc_row_key body_key(const pfc_llvm_view *view, uint32_t id) {
    const profconv_source_body *row = profconv_profile_source_body(view->profile, id);
    pfc_row_key k = {row->source, {(uint64_t)row->line << 32 | row->discriminator, 0, id}};
    return k;
}

static pfc_row_key child_key(const pfc_llvm_view *view, uint32_t id) {
    const profconv_source *row = profconv_profile_source(view->profile, id);
    pfc_row_key k = {row->parent, {(uint64_t)row->line << 32 | row->discriminator, view->rank[row->name], id}};
    return k;
}

static pfc_row_key target_key(const pfc_llvm_view *view, uint32_t id) {
    const profconv_source_target *row = profconv_profile_source_target(view->profile, id);
    pfc_row_key k = {row->body, {~row->count, view->rank[row->name], id}};
    return k;
}

static int sort_run(const pfc_llvm_view *view, uint32_t *ids, uint32_t count,
                    pfc_row_key (*key)(const pfc_llvm_view *, uint32_t), pfc_key *scratch) {
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = key(view, ids[i]).key;
    int status = pfc_sort_keys(view->mem, scratch, count);
    for (uint32_t i = 0; status == PROFCONV_OK && i < count; i++)
        ids[i] = scratch[i].id;
    return status;
}

/* Rows 1 .. rows-1, grouped by owner (owner 0 is left out) and sorted inside each group. */
static int make_runs(pfc_llvm_view *view, pfc_llvm_runs *runs, uint32_t rows, uint32_t owners,
                     pfc_row_key (*key)(const pfc_llvm_view *, uint32_t)) {
    runs->owners = owners;
    runs->first = alloc_ids(view->mem, (uint64_t)owners + 1);
    if (!runs->first)
        return view->mem->failed;
    uint32_t longest = 0;
    for (uint32_t i = 1; i < rows; i++) {
        uint32_t owner = key(view, i).owner;
        if (owner == 0)
            continue;
        runs->count++;
        if (++runs->first[owner] > longest)
            longest = runs->first[owner];
    }
    runs->ids = alloc_ids(view->mem, (uint64_t)runs->count + 1);
    pfc_key *scratch = (pfc_key *)pfc_alloc(view->mem, ((size_t)longest + 1) * sizeof *scratch);
    int status = runs->ids && scratch ? PROFCONV_OK : view->mem->failed;
    if (status == PROFCONV_OK) {
        uint32_t at = 0;
        for (uint32_t i = 0; i <= owners; i++) { /* from counts to the start of each run */
            uint32_t n = runs->first[i];
            runs->first[i] = at;
            at += n;
        }
        for (uint32_t i = 1; i < rows; i++) {
            uint32_t owner = key(view, i).owner;
            if (owner != 0)
                runs->ids[runs->first[owner]++] = i;
        }
        for (uint32_t i = owners; i > 0; i--) /* each start has moved to its run's end */
            runs->first[i] = runs->first[i - 1];
        runs->first[0] = 0;
    }
    for (uint32_t i = 1; status == PROFCONV_OK && i < owners; i++)
        if (runs->first[i + 1] - runs->first[i] > 1)
            status = sort_run(view, runs->ids + runs->first[i], runs->first[i + 1] - runs->first[i], key, scratch);
    pfc_free(view->mem, scratch, ((size_t)longest + 1) * sizeof *scratch);
    return status;
}

static void free_runs(pfc_mem *mem, pfc_llvm_runs *runs) {
    if (runs->first)
        pfc_free(mem, runs->first, ((size_t)runs->owners + 1) * sizeof(uint32_t));
    if (runs->ids)
        pfc_free(mem, runs->ids, ((size_t)runs->count + 1) * sizeof(uint32_t));
}

/* ---- contexts ---- */

static uint32_t context_depth(const pfc_llvm_view *view, uint32_t source) {
    uint32_t depth = 1;
    for (profconv_id id = profconv_profile_source(view->profile, source)->context; id != 0;
         id = profconv_profile_context(view->profile, id)->parent)
        depth++;
    return depth;
}

static void fill_frames(pfc_llvm_view *view, uint32_t source, pfc_llvm_frame *frames, uint32_t depth) {
    const profconv_source *row = profconv_profile_source(view->profile, source);
    pfc_llvm_frame leaf = {view->rank[row->name], 0, 0};
    frames[--depth] = leaf;
    for (profconv_id id = row->context; id != 0;) {
        const profconv_context *c = profconv_profile_context(view->profile, id);
        pfc_llvm_frame frame = {view->rank[c->name], c->line, c->discriminator};
        frames[--depth] = frame;
        id = c->parent;
    }
}

/* a and b are positions in by_context before it is sorted. */
static int compare_contexts(const void *user, uint32_t a, uint32_t b) {
    const pfc_llvm_view *view = (const pfc_llvm_view *)user;
    uint32_t n = view->frame_first[a + 1] - view->frame_first[a], m = view->frame_first[b + 1] - view->frame_first[b];
    const pfc_llvm_frame *x = view->frames + view->frame_first[a], *y = view->frames + view->frame_first[b];
    for (uint32_t i = 0; i < n && i < m; i++) {
        if (x[i].name != y[i].name)
            return x[i].name < y[i].name ? -1 : 1;
        if (x[i].line != y[i].line)
            return x[i].line < y[i].line ? -1 : 1;
        if (x[i].discriminator != y[i].discriminator)
            return x[i].discriminator < y[i].discriminator ? -1 : 1;
    }
    return n < m ? -1 : n > m;
}

/* Puts the frames of every context one after the other, in the order of `by_context`. */
static void lay_frames(pfc_llvm_view *view) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < view->top_count; i++) {
        uint32_t depth = context_depth(view, view->by_context[i]);
        view->frame_first[i] = at;
        fill_frames(view, view->by_context[i], view->frames + at, depth);
        at += depth;
    }
    view->frame_first[view->top_count] = at;
}

static int sort_contexts(pfc_llvm_view *view, profconv_error *error) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < view->top_count; i++)
        total += context_depth(view, view->tops[i]);
    if (total > UINT32_MAX / sizeof *view->frames)
        return profconv_error_set(error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0,
                                  "contexts of %llu frames in all, too many for one file", (unsigned long long)total);
    view->frame_count = (size_t)total;
    view->frames = (pfc_llvm_frame *)pfc_alloc(view->mem, (view->frame_count + 1) * sizeof *view->frames);
    view->frame_first = alloc_ids(view->mem, (uint64_t)view->top_count + 1);
    view->by_context = alloc_ids(view->mem, (uint64_t)view->top_count + 1);
    view->context_index = alloc_ids(view->mem, view->source_rows);
    uint32_t *order = alloc_ids(view->mem, (uint64_t)view->top_count + 1);
    int status = view->frames && view->frame_first && view->by_context && view->context_index && order
                     ? PROFCONV_OK
                     : view->mem->failed;
    if (status == PROFCONV_OK) {
        memcpy(view->by_context, view->tops, view->top_count * sizeof *view->tops);
        lay_frames(view);
        for (uint32_t i = 0; i < view->top_count; i++)
            order[i] = i;
        status = pfc_sort_ids(view->mem, order, view->top_count, compare_contexts, view);
    }
    if (status == PROFCONV_OK) {
        for (uint32_t i = 0; i < view->top_count; i++)
            view->by_context[i] = view->tops[order[i]];
        lay_frames(view);
        for (uint32_t i = 0; i < view->top_count; i++)
            view->context_index[view->by_context[i]] = i;
    }
    if (order)
        pfc_free(view->mem, order, ((size_t)view->top_count + 1) * sizeof *order);
    return status;
}

/* ---- functions ---- */

static int collect_tops(pfc_llvm_view *view) {
    view->tops = alloc_ids(view->mem, view->source_rows);
    if (!view->tops)
        return view->mem->failed;
    for (uint32_t i = 1; i < view->source_rows; i++) {
        const profconv_source *row = profconv_profile_source(view->profile, i);
        if (row->parent != 0)
            continue;
        view->tops[view->top_count++] = i;
        if (row->context != 0)
            view->context = 1;
    }
    return PROFCONV_OK;
}

static int sort_tops(pfc_llvm_view *view) {
    size_t bytes = ((size_t)view->top_count + 1) * sizeof(pfc_key);
    pfc_key *keys = (pfc_key *)pfc_alloc(view->mem, bytes);
    if (!keys)
        return view->mem->failed;
    for (uint32_t i = 0; i < view->top_count; i++) {
        uint32_t id = view->tops[i];
        const profconv_source *row = profconv_profile_source(view->profile, id);
        pfc_key key = {~row->total, view->context ? view->context_index[id] : view->rank[row->name], id};
        keys[i] = key;
    }
    int status = pfc_sort_keys(view->mem, keys, view->top_count);
    for (uint32_t i = 0; status == PROFCONV_OK && i < view->top_count; i++)
        view->tops[i] = keys[i].id;
    pfc_free(view->mem, keys, bytes);
    return status;
}

int pfc_llvm_view_make(pfc_llvm_view *view, pfc_mem *mem, const profconv_profile *profile, profconv_error *error) {
    memset(view, 0, sizeof *view);
    view->mem = mem;
    view->profile = profile;
    uint32_t flags = profconv_profile_info(profile)->source_flags;
    view->context = (flags & PROFCONV_SOURCES_CONTEXT) != 0;
    view->md5 = (flags & PROFCONV_SOURCES_MD5) != 0;
    view->source_rows = profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE);
    uint32_t bodies = profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE_BODY);
    uint32_t targets = profconv_profile_rows(profile, PROFCONV_TABLE_SOURCE_TARGET);
    int status = collect_tops(view);
    if (status == PROFCONV_OK)
        status = collect_names(view);
    if (status == PROFCONV_OK && view->context) {
        status = sort_contexts(view, error);
        if (status == PROFCONV_E_LIMIT && !mem->failed)
            return status;
    }
    if (status == PROFCONV_OK)
        status = sort_tops(view);
    if (status == PROFCONV_OK)
        status = make_runs(view, &view->bodies, bodies, view->source_rows, body_key);
    if (status == PROFCONV_OK)
        status = make_runs(view, &view->children, view->source_rows, view->source_rows, child_key);
    if (status == PROFCONV_OK)
        status = make_runs(view, &view->targets, targets, bodies, target_key);
    if (status != PROFCONV_OK)
        return pfc_mem_error(mem, error);
    if (view->top_count == 0)
        return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "the profile has no function with source counts");
    return PROFCONV_OK;
}

void pfc_llvm_view_free(pfc_llvm_view *view) {
    if (!view->mem)
        return;
    pfc_mem *mem = view->mem;
    free_runs(mem, &view->bodies);
    free_runs(mem, &view->children);
    free_runs(mem, &view->targets);
    if (view->rank)
        pfc_free(mem, view->rank, view->string_rows * sizeof(uint32_t));
    if (view->names)
        pfc_free(mem, view->names, view->string_rows * sizeof(uint32_t));
    if (view->tops)
        pfc_free(mem, view->tops, view->source_rows * sizeof(uint32_t));
    if (view->frames)
        pfc_free(mem, view->frames, (view->frame_count + 1) * sizeof *view->frames);
    if (view->frame_first)
        pfc_free(mem, view->frame_first, ((size_t)view->top_count + 1) * sizeof(uint32_t));
    if (view->by_context)
        pfc_free(mem, view->by_context, ((size_t)view->top_count + 1) * sizeof(uint32_t));
    if (view->context_index)
        pfc_free(mem, view->context_index, view->source_rows * sizeof(uint32_t));
    memset(view, 0, sizeof *view);
}

int pfc_llvm_view_check_names(const pfc_llvm_view *view, profconv_error *error) {
    for (uint32_t i = 0; i < view->name_count; i++) {
        profconv_string s = profconv_profile_string(view->profile, view->names[i]);
        if (s.size > 0 && memchr(s.data, 0, s.size))
            return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                      "the name '%.80s' goes on after a NUL byte, which this format cannot hold",
                                      s.data);
    }
    return PROFCONV_OK;
}

/* The first body, or in text also call site, whose line offset the readers refuse; 0: none. */
static uint32_t first_far_line(const pfc_llvm_view *view, int text) {
    for (uint32_t i = 0; i < view->bodies.count; i++) {
        const profconv_source_body *row = profconv_profile_source_body(view->profile, view->bodies.ids[i]);
        if (row->line > PFC_LLVM_MAX_LINE && !(text && row->discriminator))
            return row->line;
    }
    for (uint32_t i = 0; text && i < view->children.count; i++) {
        const profconv_source *row = profconv_profile_source(view->profile, view->children.ids[i]);
        if (row->line > PFC_LLVM_MAX_LINE && !row->discriminator)
            return row->line;
    }
    return 0;
}

int pfc_llvm_view_check_lines(const pfc_llvm_view *view, int text, profconv_error *error) {
    uint32_t line = first_far_line(view, text);
    if (line == 0)
        return PROFCONV_OK;
    return profconv_error_set(error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                              "a line offset of %u; no reader of this format takes more than 65535", line);
}

void pfc_llvm_view_notes(const pfc_llvm_view *view, profconv_report *report) {
    uint64_t timed = 0, filed = 0;
    for (uint32_t i = 1; i < view->source_rows; i++) {
        const profconv_source *row = profconv_profile_source(view->profile, i);
        timed += row->timestamp != 0;
        filed += row->file != 0;
    }
    if (timed)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "first-sample-time", timed, 0, PROFCONV_NO_OFFSET, 0,
                            "times of a function's first sample");
    if (filed)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "source-file", filed, 0, PROFCONV_NO_OFFSET, 0,
                            "source files of functions");
}
