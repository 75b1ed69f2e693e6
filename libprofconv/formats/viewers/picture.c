/* SPDX-License-Identifier: MIT
 *
 * The static picture: rectangles with names and titles, and nothing that runs. It has no style sheet, so that it also
 * works inside a page that allows none but its own.
 */
#include <string.h>

#include "libprofconv/formats/viewers/flame.h"

#define ROW 18.0
#define HEAD 40.0
#define EDGE 10.0
#define LETTER 6.6 /* average width at 11 pixels */

static const uint8_t kind_colors[PFC_VIEW_KINDS][3] = {{0xb9, 0xbe, 0xc6}, {0xf2, 0xa6, 0x5a}, {0xec, 0xd0, 0x60},
                                                       {0x86, 0xb6, 0xe8}, {0x93, 0xcf, 0x78}, {0x7f, 0xd0, 0xc6},
                                                       {0xcf, 0xd3, 0xd9}};
static const uint8_t palette[16][3] = {{0xf2, 0xa6, 0x5a}, {0x86, 0xb6, 0xe8}, {0x93, 0xcf, 0x78}, {0xec, 0xd0, 0x60},
                                       {0x7f, 0xd0, 0xc6}, {0xd9, 0xa0, 0xdc}, {0xf0, 0x8f, 0x86}, {0xb5, 0xa6, 0xec},
                                       {0xc9, 0xc4, 0x6b}, {0x6f, 0xc3, 0xe0}, {0xe6, 0xb4, 0x8a}, {0xa8, 0xd5, 0xa2},
                                       {0xf0, 0xa6, 0xc1}, {0x9f, 0xb8, 0xc9}, {0xd8, 0xc1, 0xa0}, {0xb0, 0xe0, 0x8a}};
static const uint8_t grey[3] = {0xc9, 0xcd, 0xd3};
static const uint8_t white[3] = {0xff, 0xff, 0xff};
static const uint8_t faint[3] = {0xe9, 0xe4, 0xe4};
static const uint8_t more[3] = {0xe5, 0x48, 0x3d};
static const uint8_t less[3] = {0x3f, 0x7f, 0xdc};

typedef struct picture {
    pfc_flame *flame;
    pfc_buf *out;
    double *width; /* of each node, in units of value */
    double *at;
    double *used;
    int64_t *totals[2]; /* of the columns that are told; [1] for comparisons */
    uint32_t told[2];
    double largest; /* change */
    double scale;   /* pixels a unit */
    double x0, y0;
    uint32_t deepest;
    /* Narrow siblings on the way to be drawn as one. */
    uint32_t under;
    uint64_t narrow;
    double narrow_at, narrow_width;
    int64_t narrow_value;
} picture;

static void add_color(pfc_buf *out, const uint8_t a[3], const uint8_t b[3], double share) {
    static const char hex[] = "0123456789abcdef";
    pfc_buf_char(out, '#');
    for (int i = 0; i < 3; i++) {
        unsigned v = (unsigned)((double)a[i] + ((double)b[i] - (double)a[i]) * share + 0.5) & 255;
        pfc_buf_char(out, hex[v >> 4]);
        pfc_buf_char(out, hex[v & 15]);
    }
}

static void add_fill(picture *p, uint32_t node) {
    const pfc_flame *flame = p->flame;
    const pfc_view_node *row = &flame->tree.nodes.data[node];
    const pfc_view_frame *frame = &flame->frames.rows.data[row->frame];
    profconv_string name = pfc_view_string(&flame->frames, frame->name);
    double shade = (double)(pfc_hash_bytes(name.data, name.size) % 97) / 97 * 0.22;
    int self = strcmp(flame->colors, "change-self") == 0;
    if (strcmp(flame->colors, "change") == 0 || self) {
        const int64_t *values = flame->tree.self.data + (size_t)node * flame->tree.columns;
        double change =
            self ? (double)values[1] - (double)values[0] : (double)p->totals[1][node] - (double)p->totals[0][node];
        double size = change < 0 ? -change : change;
        if (flame->change[self][node] != PFC_VIEW_CHANGED || !(size > 0))
            add_color(p->out, grey, grey, 0);
        else
            add_color(p->out, faint, change > 0 ? more : less,
                      0.25 + 0.75 * (size < p->largest ? size / p->largest : 1));
    } else if (row->kind == PFC_VIEW_ROOT || row->kind == PFC_VIEW_OTHER) {
        add_color(p->out, kind_colors[row->kind], white, 0);
    } else if (strcmp(flame->colors, "kind") == 0) {
        add_color(p->out, kind_colors[row->kind], white, shade);
    } else {
        uint32_t text = strcmp(flame->colors, "module") == 0 ? frame->module : frame->package;
        profconv_string group = pfc_view_string(&flame->frames, text);
        add_color(p->out, text ? palette[pfc_hash_bytes(group.data, group.size) % 16] : grey, white, shade);
    }
}

static void add_attribute(pfc_buf *out, const char *name, double value) {
    pfc_buf_char(out, ' ');
    pfc_buf_text(out, name);
    pfc_buf_text(out, "=\"");
    pfc_view_hundredths(out, value);
    pfc_buf_char(out, '"');
}

static void add_rectangle(picture *p, double x, double y, double w) {
    pfc_buf_text(p->out, "<rect");
    add_attribute(p->out, "x", x);
    add_attribute(p->out, "y", y);
    add_attribute(p->out, "width", w);
    add_attribute(p->out, "height", ROW - 1);
    pfc_buf_text(p->out, " rx=\"1\" fill=\"");
}

static void add_value(picture *p, int side, int64_t value) {
    profconv_string unit = pfc_view_column_unit(&p->flame->columns, p->told[side]);
    pfc_buf_i64(p->out, value);
    pfc_buf_char(p->out, ' ');
    pfc_view_xml(p->out, unit.data, unit.size);
    if (p->totals[side][0] != 0) {
        pfc_buf_text(p->out, ", ");
        pfc_view_hundredths(p->out, 100 * (double)value / (double)p->totals[side][0]);
        pfc_buf_text(p->out, " %");
    }
}

static profconv_string name_of(const picture *p, uint32_t node) {
    static const profconv_string all = {"all", 3};
    if (node == 0)
        return all;
    uint32_t frame = p->flame->tree.nodes.data[node].frame;
    profconv_string name = pfc_view_string(&p->flame->frames, p->flame->frames.rows.data[frame].name);
    name.size = pfc_view_cut(name.data, name.size, 1000);
    return name;
}

static double row_at(const picture *p, uint32_t depth) {
    return p->y0 + ROW * (p->flame->down ? depth : p->deepest - depth);
}

/* A name that does not fit goes without the path before it, which says least. */
static profconv_string without_path(profconv_string name) {
    size_t begin = 0;
    for (size_t i = 0; i < name.size && !memchr(" (<[", name.data[i], 4); i++) {
        if (name.data[i] == '/' && i + 1 < name.size)
            begin = i + 1;
    }
    profconv_string rest = {name.data + begin, name.size - begin};
    return rest;
}

static void draw_node(picture *p, uint32_t node) {
    profconv_string name = name_of(p, node);
    double x = p->x0 + p->at[node] * p->scale;
    double w = p->width[node] * p->scale;
    double y = row_at(p, p->flame->tree.nodes.data[node].depth);
    size_t letters = w > 24 ? (size_t)((w - 6) / LETTER) : 0;
    pfc_buf_text(p->out, "<g><title>");
    pfc_view_xml(p->out, name.data, name.size);
    pfc_buf_text(p->out, " (");
    if (p->flame->columns.compare) {
        pfc_buf_text(p->out, "before ");
        add_value(p, 0, p->totals[0][node]);
        pfc_buf_text(p->out, "; after ");
        add_value(p, 1, p->totals[1][node]);
    } else {
        add_value(p, 0, p->totals[0][node]);
    }
    pfc_buf_text(p->out, ")</title>");
    add_rectangle(p, x, y, w > 1.5 ? w - 0.5 : w);
    add_fill(p, node);
    pfc_buf_text(p->out, "\"/>");
    if (letters >= 3) {
        if (pfc_view_cut(name.data, name.size, letters) < name.size)
            name = without_path(name);
        size_t cut = pfc_view_cut(name.data, name.size, letters);
        pfc_buf_text(p->out, "<text");
        add_attribute(p->out, "x", x + 3);
        add_attribute(p->out, "y", y + 12.5);
        pfc_buf_char(p->out, '>');
        if (cut < name.size) {
            pfc_view_xml(p->out, name.data, pfc_view_cut(name.data, name.size, letters - 1));
            pfc_buf_text(p->out, "\xe2\x80\xa6");
        } else {
            pfc_view_xml(p->out, name.data, name.size);
        }
        pfc_buf_text(p->out, "</text>");
    }
    pfc_buf_text(p->out, "</g>\n");
}

/* Siblings too narrow to be seen are drawn as one, so that nothing seems to be missing. */
static void draw_narrow(picture *p) {
    double w = p->narrow_width * p->scale;
    if (p->narrow > 0 && w >= p->flame->min_width) {
        uint32_t depth = p->flame->tree.nodes.data[p->under].depth + 1;
        pfc_buf_text(p->out, "<g><title>[");
        pfc_buf_u64(p->out, p->narrow);
        pfc_buf_text(p->out, " narrower frames] (");
        add_value(p, p->flame->columns.compare, p->narrow_value);
        pfc_buf_text(p->out, ")</title>");
        add_rectangle(p, p->x0 + p->narrow_at * p->scale, row_at(p, depth), w);
        add_color(p->out, kind_colors[PFC_VIEW_OTHER], white, 0);
        pfc_buf_text(p->out, "\"/></g>\n");
    }
    p->narrow = 0;
}

static void keep_narrow(picture *p, uint32_t node) {
    uint32_t parent = p->flame->tree.nodes.data[node].parent;
    if (p->narrow > 0 && p->under != parent)
        draw_narrow(p);
    if (p->narrow == 0) {
        p->under = parent;
        p->narrow_at = p->at[node];
        p->narrow_width = 0;
        p->narrow_value = 0;
    }
    int overflow = 0;
    p->narrow++;
    p->flame->narrow++;
    p->narrow_width += p->width[node];
    p->narrow_value = pfc_add_sat_i64(p->narrow_value, p->totals[p->flame->columns.compare][node], &overflow);
}

/* How wide nodes are: side 0 or 1 the column told there, -1 the larger of both, which adds up for all. */
static void shape(picture *p, int side) {
    const pfc_view_tree *t = &p->flame->tree;
    for (size_t i = 0; i < t->nodes.count; i++) {
        const int64_t *self = t->self.data + i * t->columns;
        double a = (double)self[p->told[side < 0 ? 0 : side]];
        double b = side < 0 ? (double)self[p->told[1]] : 0;
        a = a < 0 ? -a : a;
        b = b < 0 ? -b : b;
        p->width[i] = a > b ? a : b;
        p->at[i] = p->used[i] = 0;
    }
    for (size_t i = t->nodes.count; i-- > 1;)
        p->width[t->nodes.data[i].parent] += p->width[i];
    for (size_t k = 1; k < t->ordered; k++) {
        uint32_t i = t->order[k];
        uint32_t parent = t->nodes.data[i].parent;
        p->at[i] = p->at[parent] + p->used[parent];
        p->used[parent] += p->width[i];
    }
}

static int draw_panel(picture *p) {
    const pfc_view_tree *t = &p->flame->tree;
    uint32_t hidden = UINT32_MAX; /* depth below which nothing is drawn */
    for (size_t k = 0; k < t->ordered; k++) {
        uint32_t i = t->order[k];
        uint32_t depth = t->nodes.data[i].depth;
        if (depth > hidden)
            continue;
        hidden = UINT32_MAX;
        if (i != 0 && (p->width[i] <= 0 || p->width[i] * p->scale < p->flame->min_width)) {
            hidden = depth;
            if (p->width[i] > 0)
                keep_narrow(p, i);
            continue;
        }
        draw_narrow(p);
        draw_node(p, i);
        if (pfc_view_flush(&p->flame->out, 0))
            return p->flame->out.status;
    }
    draw_narrow(p);
    return 0;
}

/* The scale, and the deepest level where something can be drawn. */
static void measure(picture *p, int side, double width) {
    const pfc_view_tree *t = &p->flame->tree;
    shape(p, side);
    if (p->width[0] > 0 && (p->scale <= 0 || width / p->width[0] < p->scale))
        p->scale = width / p->width[0];
    double least = width > 0 ? p->flame->min_width * p->width[0] / width : 0;
    for (size_t i = 1; i < t->nodes.count; i++) {
        const pfc_view_node *node = &t->nodes.data[i];
        int seen = node->parent == 0 || p->width[node->parent] >= least;
        if (seen && p->width[i] > 0 && node->depth > p->deepest)
            p->deepest = node->depth;
    }
}

static void add_head(picture *p, int standalone, double height) {
    pfc_flame *flame = p->flame;
    pfc_buf_text(p->out, standalone
                             ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\""
                             : "<svg");
    add_attribute(p->out, "width", flame->width);
    add_attribute(p->out, "height", height);
    pfc_buf_text(p->out, " viewBox=\"0 0 ");
    pfc_view_hundredths(p->out, flame->width);
    pfc_buf_char(p->out, ' ');
    pfc_view_hundredths(p->out, height);
    pfc_buf_text(p->out,
                 "\" role=\"img\" font-family=\"Verdana, 'DejaVu Sans', sans-serif\" font-size=\"11\">\n<title>");
    pfc_flame_title(flame, p->out);
    pfc_buf_text(p->out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<text "
                         "text-anchor=\"middle\" font-size=\"16\"");
    add_attribute(p->out, "x", flame->width / 2);
    pfc_buf_text(p->out, " y=\"24\">");
    pfc_flame_title(flame, p->out);
    pfc_buf_text(p->out, "</text>\n");
}

static int draw(picture *p, int standalone) {
    pfc_flame *flame = p->flame;
    int panels = flame->side ? 2 : 1;
    double width = (flame->width - EDGE * (panels + 1)) / panels;
    width = width > 1 ? width : 1;
    for (int k = 0; k < panels; k++)
        measure(p, flame->side ? k : flame->columns.compare ? -1 : 0, width);
    for (size_t i = 1; flame->columns.compare && i < flame->tree.nodes.count; i++) {
        const int64_t *self = flame->tree.self.data + i * flame->tree.columns;
        double change = strcmp(flame->colors, "change-self") == 0 ? (double)self[1] - (double)self[0]
                                                                  : (double)p->totals[1][i] - (double)p->totals[0][i];
        change = change < 0 ? -change : change;
        p->largest = change > p->largest ? change : p->largest;
    }
    p->y0 = HEAD;
    add_head(p, standalone, HEAD + ROW * (p->deepest + 1) + EDGE);
    for (int k = 0; k < panels; k++) {
        if (flame->side)
            shape(p, k);
        p->x0 = EDGE + k * (width + EDGE);
        int status = draw_panel(p);
        if (status)
            return status;
    }
    pfc_buf_text(p->out, standalone ? "</svg>\n" : "</svg>");
    return pfc_view_flush(&flame->out, 0);
}

int pfc_flame_picture(pfc_flame *flame, int standalone) {
    picture p = {0};
    pfc_mem *mem = &flame->mem;
    size_t count = flame->tree.nodes.count;
    p.flame = flame;
    p.out = &flame->out.buf;
    p.told[0] = flame->columns.compare ? 0 : flame->columns.shown;
    p.told[1] = flame->columns.compare ? 1 : flame->columns.shown;
    double *doubles = (double *)pfc_alloc(mem, 3 * count * sizeof *doubles);
    int64_t *totals = (int64_t *)pfc_alloc(mem, 2 * count * sizeof *totals);
    int status;
    if (!doubles || !totals) {
        status = pfc_mem_error(mem, flame->out.error);
    } else {
        p.width = doubles;
        p.at = doubles + count;
        p.used = doubles + 2 * count;
        for (int k = 0; k < 2; k++) {
            p.totals[k] = totals + (size_t)k * count;
            pfc_view_tree_totals(&flame->tree, p.told[k], p.totals[k], 0);
        }
        status = draw(&p, standalone);
    }
    pfc_free(mem, doubles, 3 * count * sizeof *doubles);
    pfc_free(mem, totals, 2 * count * sizeof *totals);
    return status;
}
