/* SPDX-License-Identifier: MIT
 *
 * The flame graph: what is asked for, what is shown, and what is said about the rest. page.c and picture.c write it.
 */
#include <string.h>

#include "libprofconv/formats/viewers/flame.h"

static const char *const aliases[] = {"html", "svg", NULL};
static const char *const suffixes[] = {".html", ".htm", ".svg", NULL};

static const profconv_setting settings[] = {
    {"format", PROFCONV_SETTING_ENUM, "auto", "auto|html|svg",
     "a page with zoom and search, or a static picture; auto: by the output's suffix, else html"},
    {"title", PROFCONV_SETTING_STRING, NULL, NULL, "what stands above the graph"},
    {"width", PROFCONV_SETTING_INT, "1200", NULL, "width of a picture in pixels; a page takes the window's"},
    {"min-width", PROFCONV_SETTING_FLOAT, "0.3", NULL,
     "pixels; narrower frames of a picture are drawn together with their neighbours"},
    {"inverted", PROFCONV_SETTING_BOOL, "no", NULL, "leaves as roots: which functions, and who calls them"},
    {"direction", PROFCONV_SETTING_ENUM, "auto", "auto|down|up",
     "where calls go from the root; auto: down in a page, up in a picture"},
    {"root", PROFCONV_SETTING_ENUM, "comm", "comm|none", "first frame of a stack: the thread's name, where known"},
    {"event", PROFCONV_SETTING_STRING, NULL, NULL, "the event or sample type to begin with"},
    {"colors", PROFCONV_SETTING_ENUM, "auto", "auto|kind|package|module|change|change-self",
     "what colours mean; auto: change in a comparison, else the kind of code"},
    {"max-frames", PROFCONV_SETTING_INT, "500000", NULL,
     "most frames in the graph; lighter ones are summed up as [other]; 0: no limit"},
    {"diff", PROFCONV_SETTING_ENUM, "auto", "auto|yes|no",
     "compare sample types before and after, or samples labelled pprof::base; auto: where there are such"},
    {"classes", PROFCONV_SETTING_STRING, NULL, NULL, "what functions are called, as profconv diff hands it over"},
    {"layout", PROFCONV_SETTING_ENUM, "one", "one|side", "side: before and after beside each other, on one scale"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL},
};

static const char *text(const profconv_options *options, const char *key) {
    return profconv_options_string(options, "flamegraph", settings, key);
}
static int is(const profconv_options *options, const char *key, const char *value) {
    const char *is_set = text(options, key);
    return is_set && strcmp(is_set, value) == 0;
}

static int wants_picture(const profconv_options *options, const profconv_output *output) {
    const char *name = profconv_output_name(output);
    size_t size = name ? strlen(name) : 0;
    if (!is(options, "format", "auto"))
        return is(options, "format", "svg");
    return size >= 4 && strcmp(name + size - 4, ".svg") == 0;
}

/* ---- columns ---- */

static int prepare_columns(pfc_flame *flame, const profconv_options *options, profconv_error *error) {
    int status = pfc_view_columns_all(&flame->columns, &flame->mem, flame->profile, "flamegraph", error);
    if (status == 0)
        status = pfc_view_columns_choose(&flame->columns, text(options, "event"), "flamegraph", error);
    if (status)
        return status;
    flame->side = is(options, "layout", "side");
    if (!is(options, "diff", "no") && !pfc_view_columns_compare(&flame->columns) &&
        (flame->side || is(options, "diff", "yes")))
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "a comparison needs sample types named before and after, or samples with the label "
                                  "pprof::base=true: the profile has neither");
    if (flame->side && !flame->columns.compare)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "flamegraph.layout=side shows a comparison, and flamegraph.diff is no");
    return 0;
}

static int parse(pfc_flame *flame, const profconv_options *options, int picture, profconv_error *error) {
    int64_t width = profconv_options_int(options, "flamegraph", settings, "width");
    int64_t most = profconv_options_int(options, "flamegraph", settings, "max-frames");
    flame->min_width = profconv_options_float(options, "flamegraph", settings, "min-width");
    if (width < 100 || width > 100000)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "setting flamegraph.width: 100 to 100000 pixels");
    if (most < 0 || most > INT32_MAX || !(flame->min_width >= 0 && flame->min_width <= 1000))
        return profconv_error_set(
            error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
            "settings flamegraph.max-frames and .min-width: not negative, at most 2^31 - 1 and 1000");
    flame->width = (double)width;
    if (!picture && flame->min_width < 1)
        flame->min_width = 1; /* the picture inside a page is a stopgap */
    flame->title = text(options, "title");
    flame->inverted = profconv_options_bool(options, "flamegraph", settings, "inverted");
    flame->down = is(options, "direction", "down") || (!picture && is(options, "direction", "auto"));
    int status = prepare_columns(flame, options, error);
    if (status)
        return status;
    flame->colors = text(options, "colors");
    if (strcmp(flame->colors, "auto") == 0)
        flame->colors = flame->columns.compare ? "change" : "kind";
    if (!flame->columns.compare && strncmp(flame->colors, "change", 6) == 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "flamegraph.colors=%s is for comparisons", flame->colors);
    return 0;
}

void pfc_flame_title(pfc_flame *flame, pfc_buf *out) {
    const char *title = flame->title;
    if (title) {
        pfc_view_xml(out, title, strlen(title));
        return;
    }
    profconv_string command = profconv_profile_find_attribute(flame->profile, "command-line");
    pfc_buf_text(out, flame->columns.compare ? "Flame graph of a comparison" : "Flame graph");
    if (command.size > 0) {
        pfc_buf_text(out, ": ");
        pfc_view_xml(out, command.data, pfc_view_cut(command.data, command.size, 120));
    }
}

/* ---- the tree ---- */

static int grow(pfc_flame *flame, const profconv_options *options, int picture) {
    uint32_t sets = profconv_profile_rows(flame->profile, PROFCONV_TABLE_LABEL_SET);
    int64_t most = profconv_options_int(options, "flamegraph", settings, "max-frames");
    pfc_view_build build = {&flame->columns, &flame->frames, NULL, picture && flame->inverted, 0, 0};
    uint32_t *roots = NULL;
    sets += sets == 0;
    int status = pfc_view_frames_init(&flame->frames, &flame->mem, flame->profile);
    if (status == 0)
        status = pfc_view_tree_init(&flame->tree, &flame->mem, flame->columns.count);
    if (status == 0 && is(options, "root", "comm")) {
        roots = (uint32_t *)pfc_alloc_zero(&flame->mem, sets * sizeof *roots);
        status = roots ? pfc_view_thread_roots(&flame->frames, roots, sets) : flame->mem.failed;
        build.roots = roots;
    }
    if (status == 0)
        status = pfc_view_tree_build(&flame->tree, &build);
    pfc_free(&flame->mem, roots, sets * sizeof *roots);
    if (status == 0)
        status = pfc_view_tree_limit(&flame->tree, &flame->frames, (uint32_t)most,
                                     flame->columns.compare ? PFC_VIEW_NONE : flame->columns.shown);
    if (status == 0)
        status = pfc_view_tree_order(&flame->tree, &flame->frames);
    if (status == 0 && flame->columns.compare && text(options, "classes"))
        status = pfc_flame_classes(flame, text(options, "classes"), flame->out.error);
    if (status == 0 && flame->columns.compare)
        status = pfc_flame_changes(flame);
    return status;
}

static void tell(const pfc_flame *flame, int picture, profconv_report *report) {
    if (!flame->columns.by_label && pfc_view_has_base(flame->profile))
        profconv_report_add(report, PROFCONV_NOTE_LOST, "facet-labels", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "labels pprof::base cannot be held by flamegraph where it does not compare by them");
    if (flame->tree.cut)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "frames-summed-up", flame->tree.cut, 0, PROFCONV_NO_OFFSET,
                            0, "the lightest frames are summed up as [other] (flamegraph.max-frames); all totals stay");
    if (picture && flame->narrow)
        profconv_report_add(report, PROFCONV_NOTE_INFO, "frames-narrow", flame->narrow, 0, PROFCONV_NO_OFFSET, 0,
                            "frames narrower than flamegraph.min-width are drawn together");
    if (picture && flame->columns.count > 1 && !flame->columns.compare)
        profconv_report_add(report, PROFCONV_NOTE_LOST, "sample-types", flame->columns.count - 1, 0, PROFCONV_NO_OFFSET,
                            0, "a picture shows one column of values: \"%.80s\"",
                            pfc_view_column_name(&flame->columns, flame->columns.shown).data);
    pfc_view_tree_report(&flame->tree, "flamegraph", report);
}

static int write_flame(void *user, const profconv_profile *profile, profconv_output *output,
                       const profconv_options *options, profconv_report *report, profconv_error *error) {
    pfc_flame flame;
    int picture = wants_picture(options, output);
    (void)user;
    memset(&flame, 0, sizeof flame);
    flame.profile = profile;
    pfc_mem_init(&flame.mem, profconv_profile_allocator(profile), 0);
    int status = parse(&flame, options, picture, error);
    if (status == 0) {
        pfc_view_out_init(&flame.out, &flame.mem, output, error);
        status = grow(&flame, options, picture);
        if (status == 0 && flame.tree.samples > 0)
            status = picture ? pfc_flame_picture(&flame, 1) : pfc_flame_page(&flame);
        else
            status = status == PROFCONV_E_INVALID ? status : pfc_view_finish(&flame.out, "flamegraph", status, 0, 0);
        if (status == 0)
            status = pfc_view_flush(&flame.out, 1);
        pfc_buf_free(&flame.out.buf);
    }
    if (status == 0)
        tell(&flame, picture, report);
    for (int k = 0; k < 2; k++)
        pfc_free(&flame.mem, flame.change[k], flame.changes);
    pfc_flame_classes_free(&flame);
    pfc_view_tree_free(&flame.tree);
    pfc_view_frames_free(&flame.frames);
    pfc_view_columns_free(&flame.columns, &flame.mem);
    return status;
}

const profconv_writer pfc_flamegraph_writer = {
    .struct_size = sizeof(profconv_writer),
    .name = "flamegraph",
    .aliases = aliases,
    .suffixes = suffixes,
    .description = "flame graph: a page that needs nothing else, or a picture (SVG)",
    .settings = settings,
    .needs = PROFCONV_FACET_STACKS,
    .keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS,
    .improves = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .labels = "thread,pprof::base",
    .write = write_flame,
};
