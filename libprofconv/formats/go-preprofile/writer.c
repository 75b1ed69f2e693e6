/* SPDX-License-Identifier: MIT
 *
 * Writes the call edges that Go's compiler takes from a profile, as `go tool preprofile` computes them: of each stack
 * the leaf location and its caller, with the calls that were inlined into either, each distinct edge once a sample;
 * nodes are (function, address, line), edges are then summed by caller, callee and the call's distance from the
 * caller's first line.
 */
#include <profconv/plugin.h>

#include <string.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/base/sort.h"
#include "libprofconv/base/text.h"
#include "libprofconv/formats/go-preprofile/preprofile.h"

typedef struct go_node {
    uint64_t address;
    int64_t line, start_line;
    int64_t weight; /* of the samples it is in; an edge from a node whose weight came to 0 does not count */
    profconv_id name;
    uint32_t seen; /* serial of the last sample that it was in */
} go_node;

typedef struct go_edge {
    int64_t weight;
    uint32_t caller, callee; /* nodes */
    uint32_t seen;
} go_edge;

typedef struct go_named {
    int64_t weight;
    int64_t offset;
    profconv_id caller, callee; /* strings */
} go_named;

typedef struct go_writer {
    pfc_mem mem;
    const profconv_profile *profile;
    profconv_error *error;
    PFC_VEC(go_node) nodes;
    PFC_VEC(go_edge) edges;
    PFC_VEC(go_named) named;
    pfc_index node_index, edge_index, named_index;
    uint32_t serial;
    uint64_t single; /* samples of one frame, which give no edge */
} go_writer;

static int failed(go_writer *w) { return pfc_mem_error(&w->mem, w->error); }

/* ---- nodes and edges ---- */

static uint64_t node_hash_of(const go_node *n) {
    return pfc_hash_mix(pfc_hash_mix(n->address, (uint64_t)n->line), pfc_hash_mix((uint64_t)n->start_line, n->name));
}
static uint64_t node_hash(const void *user, uint32_t row) {
    return node_hash_of(&((const go_writer *)user)->nodes.data[row - 1]);
}
static uint64_t edge_hash(const void *user, uint32_t row) {
    const go_edge *e = &((const go_writer *)user)->edges.data[row - 1];
    return pfc_hash_mix(e->caller, e->callee);
}
static uint64_t named_hash_of(const go_named *n) {
    return pfc_hash_mix((uint64_t)n->caller << 32 | n->callee, (uint64_t)n->offset);
}
static uint64_t named_hash(const void *user, uint32_t row) {
    return named_hash_of(&((const go_writer *)user)->named.data[row - 1]);
}

/* The node of line `k` of a location (k 0 of one without lines too); row + 1, or 0 on failure. */
static uint32_t node_of(go_writer *w, profconv_id location, uint32_t k) {
    const profconv_location *l = profconv_profile_location(w->profile, location);
    go_node n;
    memset(&n, 0, sizeof n);
    n.address = l->address;
    if (k < l->line_count) {
        const profconv_line *line = profconv_profile_line(w->profile, location, k);
        const profconv_function *f = profconv_profile_function(w->profile, line->function);
        n.name = f->name;
        n.line = line->function ? line->line : 0;
        n.start_line = f->start_line;
    }
    uint64_t hash = node_hash_of(&n);
    if (w->node_index.size) {
        pfc_probe probe = pfc_index_start(&w->node_index, hash);
        for (uint32_t row; (row = pfc_index_next(&w->node_index, &probe)) != 0;) {
            const go_node *o = &w->nodes.data[row - 1];
            if (o->address == n.address && o->line == n.line && o->start_line == n.start_line && o->name == n.name)
                return row;
        }
    }
    if (PFC_VEC_PUSH(&w->mem, &w->nodes, n) ||
        pfc_index_insert(&w->mem, &w->node_index, hash, (uint32_t)w->nodes.count, node_hash, w))
        return 0;
    return (uint32_t)w->nodes.count;
}

static int64_t add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); } /* wraps, as Go does */

static int add_edge(go_writer *w, uint32_t caller, uint32_t callee, int64_t weight) {
    go_edge e = {weight, caller, callee, w->serial};
    uint64_t hash = pfc_hash_mix(caller, callee);
    if (w->edge_index.size) {
        pfc_probe probe = pfc_index_start(&w->edge_index, hash);
        for (uint32_t row; (row = pfc_index_next(&w->edge_index, &probe)) != 0;) {
            go_edge *o = &w->edges.data[row - 1];
            if (o->caller != caller || o->callee != callee)
                continue;
            if (o->seen != w->serial) {
                o->weight = add(o->weight, weight);
                o->seen = w->serial;
            }
            return 0;
        }
    }
    return PFC_VEC_PUSH(&w->mem, &w->edges, e) ||
           pfc_index_insert(&w->mem, &w->edge_index, hash, (uint32_t)w->edges.count, edge_hash, w);
}

/* One location of a sample, outermost line first. *parent is the node before it, 0 for none. */
static int add_location(go_writer *w, profconv_id location, uint32_t *parent, int64_t weight) {
    uint32_t lines = profconv_profile_location(w->profile, location)->line_count;
    for (uint32_t k = lines ? lines : 1; k-- > 0;) {
        uint32_t node = node_of(w, location, k);
        if (!node)
            return -1;
        go_node *n = &w->nodes.data[node - 1];
        if (n->seen != w->serial) {
            n->seen = w->serial;
            n->weight = add(n->weight, weight);
        }
        if (*parent && *parent != node && add_edge(w, *parent, node, weight))
            return -1;
        *parent = node;
    }
    return 0;
}

static int add_samples(go_writer *w, uint32_t type) {
    uint32_t samples = profconv_profile_rows(w->profile, PROFCONV_TABLE_SAMPLE);
    for (uint32_t i = 0; i < samples; i++) {
        int64_t weight = profconv_profile_sample_value(w->profile, i, type);
        profconv_id leaf = profconv_profile_sample_stack(w->profile, i);
        if (weight == 0 || leaf == 0)
            continue;
        const profconv_stack *row = profconv_profile_stack(w->profile, leaf);
        uint32_t parent = 0;
        w->serial++;
        if (row->parent) {
            profconv_id caller = profconv_profile_stack(w->profile, row->parent)->location;
            if (add_location(w, caller, &parent, weight))
                return failed(w);
        } else {
            w->single++;
        }
        if (add_location(w, row->location, &parent, weight))
            return failed(w);
    }
    return 0;
}

/* ---- edges by name ---- */

static int add_named(go_writer *w, const go_named *edge) {
    uint64_t hash = named_hash_of(edge);
    if (w->named_index.size) {
        pfc_probe probe = pfc_index_start(&w->named_index, hash);
        for (uint32_t row; (row = pfc_index_next(&w->named_index, &probe)) != 0;) {
            go_named *o = &w->named.data[row - 1];
            if (o->caller == edge->caller && o->callee == edge->callee && o->offset == edge->offset) {
                o->weight = add(o->weight, edge->weight);
                return 0;
            }
        }
    }
    return PFC_VEC_PUSH(&w->mem, &w->named, *edge) ||
           pfc_index_insert(&w->mem, &w->named_index, hash, (uint32_t)w->named.count, named_hash, w);
}

static int name_edges(go_writer *w) {
    for (size_t i = 0; i < w->edges.count; i++) {
        const go_edge *e = &w->edges.data[i];
        const go_node *caller = &w->nodes.data[e->caller - 1];
        if (caller->weight == 0)
            continue;
        go_named named = {e->weight, caller->line - caller->start_line, caller->name,
                          w->nodes.data[e->callee - 1].name};
        if (add_named(w, &named))
            return failed(w);
    }
    return 0;
}

static int compare_names(const go_writer *w, profconv_id a, profconv_id b) {
    profconv_string x = profconv_profile_string(w->profile, a), y = profconv_profile_string(w->profile, b);
    int c = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return c ? c : (x.size > y.size) - (x.size < y.size);
}

/* Heaviest first, then by caller, callee and offset. */
static int compare_edges(const void *user, uint32_t a, uint32_t b) {
    const go_writer *w = (const go_writer *)user;
    const go_named *x = &w->named.data[a], *y = &w->named.data[b];
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    int c = compare_names(w, x->caller, y->caller);
    if (!c)
        c = compare_names(w, x->callee, y->callee);
    return c ? c : (x->offset > y->offset) - (x->offset < y->offset);
}

static void put_name(pfc_buf *b, profconv_string name, uint64_t *cut) {
    const char *lf = name.size ? memchr(name.data, '\n', name.size) : NULL;
    *cut += lf ? 1u : 0u;
    pfc_buf_add(b, name.data, lf ? (size_t)(lf - name.data) : name.size);
    pfc_buf_char(b, '\n');
}

static int put_edges(go_writer *w, profconv_output *output, profconv_report *report) {
    size_t n = w->named.count, bytes = n * sizeof(uint32_t);
    uint32_t *order = (uint32_t *)pfc_alloc(&w->mem, bytes);
    uint64_t cut = 0;
    pfc_buf b;
    pfc_buf_init(&b, &w->mem);
    int status = order ? 0 : failed(w);
    for (size_t i = 0; i < n && !status; i++)
        order[i] = (uint32_t)i;
    if (!status && pfc_sort_ids(&w->mem, order, n, compare_edges, w))
        status = failed(w);
    if (!status)
        pfc_buf_text(&b, GO_PREPROFILE_HEADER "\n");
    for (size_t i = 0; i < n && !status; i++) {
        const go_named *e = &w->named.data[order[i]];
        put_name(&b, profconv_profile_string(w->profile, e->caller), &cut);
        put_name(&b, profconv_profile_string(w->profile, e->callee), &cut);
        pfc_buf_i64(&b, e->offset);
        pfc_buf_char(&b, ' ');
        pfc_buf_i64(&b, e->weight);
        pfc_buf_char(&b, '\n');
        if (b.size > 65536 || i + 1 == n) {
            status = b.failed ? failed(w) : profconv_output_write(output, b.data, b.size, w->error);
            pfc_buf_clear(&b);
        }
    }
    if (cut)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "name-cut", cut, 0, PROFCONV_NO_OFFSET, 0,
                            "function names end at their first line feed");
    pfc_buf_free(&b);
    pfc_free(&w->mem, order, bytes);
    return status;
}

/* ---- what the compiler would refuse ---- */

static const profconv_setting settings[] = {
    {"sample-type", PROFCONV_SETTING_STRING, NULL, NULL,
     "sample type to weigh calls by (default: the first that is samples/count or cpu/nanoseconds, as in Go)"},
    {NULL, (profconv_setting_type)0, NULL, NULL, NULL},
};

static int is(const profconv_profile *p, profconv_id id, const char *text) {
    profconv_string s = profconv_profile_string(p, id);
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static int choose_type(go_writer *w, const char *wanted, uint32_t *out) {
    const profconv_profile *p = w->profile;
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    for (uint32_t i = 0; i < types; i++) {
        const profconv_sample_type *t = profconv_profile_sample_type(p, i);
        *out = i;
        if (wanted ? is(p, t->name, wanted)
                   : (is(p, t->name, "samples") && is(p, t->unit, "count")) ||
                         (is(p, t->name, "cpu") && is(p, t->unit, "nanoseconds")))
            return 0;
    }
    pfc_buf names;
    pfc_buf_init(&names, &w->mem);
    for (uint32_t i = 0; i < types && i < 8; i++) {
        const profconv_sample_type *t = profconv_profile_sample_type(p, i);
        pfc_buf_printf(&names, "%s%.40s/%.40s", i ? ", " : "", profconv_profile_string(p, t->name).data,
                       profconv_profile_string(p, t->unit).data);
    }
    const char *there = names.size ? names.data : "none";
    int status = wanted
                     ? profconv_error_set(w->error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0,
                                          "no sample type '%.80s'; there are: %s", wanted, there)
                     : profconv_error_set(w->error, PROFCONV_E_UNSUPPORTED, PROFCONV_NO_OFFSET, 0,
                                          "Go's compiler weighs calls by samples/count or cpu/nanoseconds; the sample "
                                          "types are: %s (go-preprofile.sample-type=NAME takes another)",
                                          there);
    pfc_buf_free(&names);
    return status;
}

static int check_edges(const go_writer *w) {
    int start_lines = 0;
    for (size_t i = 0; i < w->nodes.count && !start_lines; i++)
        start_lines = w->nodes.data[i].start_line != 0 && w->nodes.data[i].weight != 0;
    if (w->nodes.count && !start_lines)
        return profconv_error_set(w->error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0,
                                  "no function tells the line where it begins, from which Go's compiler counts calls");
    if (w->named.count == 0)
        return profconv_error_set(w->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "no call edge: %llu of %u distinct samples have a single frame",
                                  (unsigned long long)w->single, (unsigned)w->serial);
    return 0;
}

static int go_write(void *user, const profconv_profile *profile, profconv_output *output,
                    const profconv_options *options, profconv_report *report, profconv_error *error) {
    (void)user;
    go_writer w;
    uint32_t type = 0;
    memset(&w, 0, sizeof w);
    pfc_mem_init(&w.mem, profconv_profile_allocator(profile), 0);
    w.profile = profile;
    w.error = error;
    int status = choose_type(&w, profconv_options_string(options, GO_PREPROFILE_SCOPE, settings, "sample-type"), &type);
    if (!status)
        status = add_samples(&w, type);
    if (!status)
        status = name_edges(&w);
    if (!status)
        status = check_edges(&w);
    if (!status)
        status = put_edges(&w, output, report);
    if (!status)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "outer-frames",
                            profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE), 0, PROFCONV_NO_OFFSET, 0,
                            "of each stack only the last call is kept, with those inlined there");
    PFC_VEC_FREE(&w.mem, &w.nodes);
    PFC_VEC_FREE(&w.mem, &w.edges);
    PFC_VEC_FREE(&w.mem, &w.named);
    pfc_index_free(&w.mem, &w.node_index);
    pfc_index_free(&w.mem, &w.edge_index);
    pfc_index_free(&w.mem, &w.named_index);
    return status;
}

extern const profconv_writer pfc_go_preprofile_writer;
const profconv_writer pfc_go_preprofile_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = GO_PREPROFILE_SCOPE,
    .aliases = pfc_go_preprofile_aliases,
    .suffixes = pfc_go_preprofile_suffixes,
    .description = "call edges for Go's compiler (GO PREPROFILE V1)",
    .settings = settings,
    .needs = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .keeps = PROFCONV_FACET_STACKS | PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .labels = "",
    .write = go_write,
};
