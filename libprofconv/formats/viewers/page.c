/* SPDX-License-Identifier: MIT
 *
 * The page of a flame graph: one file that loads nothing, runs only the script that is in it (its hash is in the page's
 * policy) and shows a static picture where scripts do not run.
 *
 * The tree is JSON in a script element of a type that does not run: nodes before those below them, with depth, frame
 * and kind, and one list of self values a column. Frames are numbered in the order of their names. Columns whose sums
 * may exceed 2^53 are strings, which the script takes for big integers.
 */
#include <string.h>

#include "libprofconv/formats/viewers/flame.h"
#include "libprofconv/formats/viewers/page.h"

static const char body[] = "<header>\n<h1 id=\"title\">";
static const char tools[] =
    "</h1>\n<div class=\"tools\">\n"
    "<button id=\"reset\" type=\"button\" title=\"Show all (Home, Esc)\">Reset zoom</button>\n"
    "<button id=\"invert\" type=\"button\" title=\"Leaves as roots (i)\">Inverted</button>\n"
    "<button id=\"turn\" type=\"button\" title=\"Root below (u)\">Upside down</button>\n"
    "<label>Values <select id=\"event\"></select></label>\n"
    "<label>Colours <select id=\"colors\"></select></label>\n"
    "<label>Search <input id=\"search\" type=\"search\" placeholder=\"name, or /regex/\" autocomplete=\"off\" "
    "spellcheck=\"false\"></label>\n"
    "<button id=\"theme\" type=\"button\" title=\"Dark or light (t)\">Dark/light</button>\n"
    "<button id=\"help\" type=\"button\" title=\"Keys (?)\">Keys</button>\n"
    "<output id=\"match\" aria-live=\"polite\"></output>\n"
    "</div>\n<div id=\"legend\"></div>\n</header>\n"
    "<div id=\"sides\"><span id=\"left\"></span><span id=\"right\"></span></div>\n"
    "<div id=\"stage\"><div id=\"space\"></div><canvas id=\"canvas\" tabindex=\"0\" role=\"application\" "
    "aria-label=\"Flame graph. Arrow keys go to callers, callees and siblings, Enter zooms; what is selected is told "
    "below.\" "
    "aria-describedby=\"details\"></canvas></div>\n"
    "<footer id=\"details\" aria-live=\"polite\"></footer>\n"
    "<div id=\"tip\" role=\"tooltip\" hidden></div>\n"
    "<dialog id=\"keys\" aria-label=\"Keys\"><form method=\"dialog\"><dl>\n"
    "<dt>Arrows</dt><dd>callee, caller, sibling</dd>\n<dt>Enter</dt><dd>zoom to what is selected</dd>\n"
    "<dt>Backspace</dt><dd>zoom out to the caller</dd>\n<dt>Home, Esc</dt><dd>show all</dd>\n"
    "<dt>/</dt><dd>search; Esc there ends it</dd>\n<dt>i</dt><dd>inverted: leaves as roots</dd>\n"
    "<dt>u</dt><dd>upside down</dd>\n<dt>e</dt><dd>next column of values</dd>\n<dt>c</dt><dd>next colours</dd>\n"
    "<dt>t</dt><dd>dark or light</dd>\n</dl><button>Close</button></form></dialog>\n";

static void add_lines(pfc_buf *out, const char *const *lines, size_t count) {
    for (size_t i = 0; i < count; i++)
        pfc_buf_text(out, lines[i]);
}

static void add_text(pfc_buf *out, const char *key, const char *text) {
    pfc_view_json(out, key, strlen(key));
    pfc_buf_char(out, ':');
    pfc_view_json(out, text, strlen(text));
    pfc_buf_char(out, ',');
}

static void separate(pfc_buf *out, size_t index) {
    if (index > 0)
        pfc_buf_char(out, ',');
}

/* Which frames and texts the tree uses, and their numbers in the page; frames by rank. */
typedef struct numbers {
    uint32_t *rank; /* of each frame */
    uint32_t *by_rank;
    uint32_t *frame;  /* number in the page, + 1 */
    uint32_t *listed; /* frames of the page in order */
    uint32_t *text;   /* number in the page, + 1 */
    size_t frames, texts, count;
} numbers;

static int number(pfc_flame *flame, numbers *n) {
    pfc_mem *mem = &flame->mem;
    const pfc_view_tree *t = &flame->tree;
    n->frames = flame->frames.rows.count;
    n->texts = flame->frames.texts.count;
    n->by_rank = (uint32_t *)pfc_alloc_zero(mem, n->frames * sizeof(uint32_t));
    n->frame = (uint32_t *)pfc_alloc_zero(mem, n->frames * sizeof(uint32_t));
    n->listed = (uint32_t *)pfc_alloc_zero(mem, n->frames * sizeof(uint32_t));
    n->text = (uint32_t *)pfc_alloc_zero(mem, n->texts * sizeof(uint32_t));
    if (!n->by_rank || !n->frame || !n->listed || !n->text)
        return mem->failed;
    int status = pfc_view_rank(&flame->frames, &n->rank);
    if (status)
        return status;
    for (size_t i = 0; i < t->nodes.count; i++)
        n->frame[t->nodes.data[i].frame] = 1;
    n->frame[0] = 1;
    for (size_t i = 0; i < n->frames; i++)
        n->by_rank[n->rank[i]] = (uint32_t)i;
    for (size_t i = 0; i < n->frames; i++) {
        uint32_t frame = n->by_rank[i];
        if (n->frame[frame]) {
            const pfc_view_frame *row = &flame->frames.rows.data[frame];
            n->listed[n->count++] = frame;
            n->frame[frame] = (uint32_t)n->count;
            n->text[row->name] = n->text[row->module] = n->text[row->file] = n->text[row->package] = 1;
        }
    }
    n->text[0] = 1;
    uint32_t texts = 0;
    for (size_t i = 0; i < n->texts; i++)
        n->text[i] = n->text[i] ? ++texts : 0;
    return 0;
}

static void free_numbers(pfc_mem *mem, numbers *n) {
    pfc_free(mem, n->rank, n->frames * sizeof(uint32_t));
    pfc_free(mem, n->by_rank, n->frames * sizeof(uint32_t));
    pfc_free(mem, n->frame, n->frames * sizeof(uint32_t));
    pfc_free(mem, n->listed, n->frames * sizeof(uint32_t));
    pfc_free(mem, n->text, n->texts * sizeof(uint32_t));
}

static void add_frames(pfc_flame *flame, const numbers *n) {
    static const char *const keys[] = {"{\"name\":[", "],\"module\":[", "],\"file\":[", "],\"package\":[",
                                       "],\"line\":["};
    pfc_buf *out = &flame->out.buf;
    pfc_buf_text(out, "\"strings\":[");
    for (size_t i = 0; i < n->texts; i++) {
        profconv_string s = pfc_view_string(&flame->frames, (uint32_t)i);
        if (!n->text[i])
            continue;
        separate(out, i);
        pfc_view_json(out, s.data, s.size);
        pfc_view_flush(&flame->out, 0);
    }
    pfc_buf_text(out, "],\n\"frames\":");
    for (size_t k = 0; k < 5; k++) {
        pfc_buf_text(out, keys[k]);
        for (size_t i = 0; i < n->count; i++) {
            const pfc_view_frame *row = &flame->frames.rows.data[n->listed[i]];
            uint32_t texts[4] = {row->name, row->module, row->file, row->package};
            separate(out, i);
            pfc_buf_i64(out, k < 4 ? (int64_t)n->text[texts[k]] - 1 : row->line);
            pfc_view_flush(&flame->out, 0);
        }
    }
    pfc_buf_text(out, "]},\n");
}

static void add_nodes(pfc_flame *flame, const numbers *n) {
    static const char *const keys[] = {"\"nodes\":{\"depth\":[", "],\"frame\":[", "],\"kind\":["};
    const pfc_view_tree *t = &flame->tree;
    pfc_buf *out = &flame->out.buf;
    for (size_t k = 0; k < 3; k++) {
        pfc_buf_text(out, keys[k]);
        for (size_t i = 0; i < t->ordered; i++) {
            const pfc_view_node *row = &t->nodes.data[t->order[i]];
            separate(out, i);
            pfc_buf_u64(out, k == 0 ? row->depth : k == 1 ? n->frame[row->frame] - 1 : row->kind);
            pfc_view_flush(&flame->out, 0);
        }
    }
    pfc_buf_text(out, "]},\n");
}

static int is_wide(const pfc_view_tree *t, uint32_t column) {
    uint64_t sum = 0;
    for (size_t i = 0; i < t->nodes.count; i++) {
        int64_t v = t->self.data[i * t->columns + column];
        sum = pfc_add_sat(sum, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
    }
    return sum > (UINT64_C(1) << 53);
}

static void add_types(pfc_flame *flame) {
    pfc_buf *out = &flame->out.buf;
    pfc_buf_text(out, "\"types\":[");
    for (uint32_t c = 0; c < flame->columns.count; c++) {
        profconv_string name = pfc_view_column_name(&flame->columns, c);
        profconv_string unit = pfc_view_column_unit(&flame->columns, c);
        profconv_id event = profconv_profile_sample_type(flame->profile, flame->columns.types[c])->event;
        profconv_string text = profconv_profile_string(flame->profile, flame->columns.compare ? 0 : event);
        separate(out, c);
        pfc_buf_text(out, "{\"name\":");
        pfc_view_json(out, name.data, name.size);
        pfc_buf_text(out, ",\"unit\":");
        pfc_view_json(out, unit.data, unit.size);
        pfc_buf_text(out, ",\"event\":");
        pfc_view_json(out, text.data, text.size);
        pfc_buf_text(out, is_wide(&flame->tree, c) ? ",\"wide\":true}" : ",\"wide\":false}");
    }
    pfc_buf_text(out, "],\n");
}

static void add_values(pfc_flame *flame) {
    const pfc_view_tree *t = &flame->tree;
    pfc_buf *out = &flame->out.buf;
    pfc_buf_text(out, "\"self\":[");
    for (uint32_t c = 0; c < t->columns; c++) {
        int wide = is_wide(t, c);
        separate(out, c);
        pfc_buf_char(out, '[');
        for (size_t i = 0; i < t->ordered; i++) {
            separate(out, i);
            if (wide)
                pfc_buf_char(out, '"');
            pfc_buf_i64(out, t->self.data[(size_t)t->order[i] * t->columns + c]);
            if (wide)
                pfc_buf_char(out, '"');
            pfc_view_flush(&flame->out, 0);
        }
        pfc_buf_text(out, "]\n");
    }
    pfc_buf_char(out, ']');
    for (int k = 0; k < 2 && flame->columns.compare; k++) {
        pfc_buf_text(out, k ? "],\"self\":[" : ",\n\"change\":{\"total\":[");
        for (size_t i = 0; i < t->ordered; i++) {
            separate(out, i);
            pfc_buf_u64(out, flame->change[k][t->order[i]]);
            pfc_view_flush(&flame->out, 0);
        }
    }
    if (flame->columns.compare)
        pfc_buf_text(out, "]}");
}

/* What the comparison calls the functions of the frames; 255: nothing. */
static void add_classes(pfc_flame *flame, const numbers *n) {
    pfc_buf *out = &flame->out.buf;
    for (int k = 0; k < 2 && flame->classes[0]; k++) {
        pfc_buf_text(out, k ? "],\"total\":[" : ",\n\"classes\":{\"self\":[");
        for (size_t i = 0; i < n->count; i++) {
            separate(out, i);
            pfc_buf_u64(out, flame->classes[k][n->listed[i]]);
            pfc_view_flush(&flame->out, 0);
        }
    }
    if (flame->classes[0])
        pfc_buf_text(out, "]}");
}

static int add_profile(pfc_flame *flame) {
    pfc_buf *out = &flame->out.buf;
    numbers n = {0};
    int status = number(flame, &n);
    pfc_buf_text(out, "<script type=\"application/json\" id=\"profile\">{\"version\":1,\n");
    if (status == 0) {
        add_text(out, "mode", flame->columns.compare ? "diff" : "plain");
        add_text(out, "layout", flame->side ? "side" : "one");
        add_text(out, "colors", flame->colors);
        pfc_buf_printf(out, "\"inverted\":%s,\"down\":%s,\"shown\":%u,\n\"kinds\":[",
                       flame->inverted ? "true" : "false", flame->down ? "true" : "false", flame->columns.shown);
        for (size_t i = 0; i < PFC_VIEW_KINDS; i++) {
            separate(out, i);
            pfc_view_json(out, pfc_view_kind_names[i], strlen(pfc_view_kind_names[i]));
        }
        pfc_buf_text(out, "],\n");
        add_types(flame);
        add_frames(flame, &n);
        add_nodes(flame, &n);
        add_values(flame);
        add_classes(flame, &n);
        pfc_buf_text(out, "}</script>\n");
    }
    free_numbers(&flame->mem, &n);
    return status ? pfc_mem_error(&flame->mem, flame->out.error) : pfc_view_flush(&flame->out, 0);
}

int pfc_flame_page(pfc_flame *flame) {
    pfc_buf *out = &flame->out.buf;
    pfc_buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '");
    pfc_buf_text(out, flame_js_hash);
    pfc_buf_text(out, "'; style-src '");
    pfc_buf_text(out, flame_css_hash);
    pfc_buf_text(out, "'; base-uri 'none'; form-action 'none'\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    pfc_flame_title(flame, out);
    pfc_buf_text(out, "</title>\n<style>");
    add_lines(out, flame_css, sizeof flame_css / sizeof *flame_css);
    pfc_buf_text(out, "</style>\n</head>\n<body class=\"still\">\n<noscript>\n");
    int status = pfc_flame_picture(flame, 0);
    if (status)
        return status;
    pfc_buf_text(out, "\n</noscript>\n");
    pfc_buf_text(out, body);
    pfc_flame_title(flame, out);
    pfc_buf_text(out, tools);
    status = add_profile(flame);
    if (status)
        return status;
    pfc_buf_text(out, "<script>");
    add_lines(out, flame_js, sizeof flame_js / sizeof *flame_js);
    pfc_buf_text(out, "</script>\n</body>\n</html>\n");
    return pfc_view_flush(&flame->out, 0);
}
