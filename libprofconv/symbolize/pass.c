/* SPDX-License-Identifier: MIT
 *
 * The pass "symbolize": gives locations that have an address in a mapping their lines. Locations are grouped by the
 * place their names come from (a file, the kernel, a process's generated code), groups are worked on one after another
 * with one file open at a time, and in a group addresses are looked up once and in order.
 *
 * What is there already is kept, but for the setting "force". A file that is missing costs its names only, and is
 * reported.
 */
#include "libprofconv/symbolize/pass.h"

#include <string.h>

static const profconv_setting settings[] = {
    {"binary", PROFCONV_SETTING_LIST, NULL, NULL,
     "file to take code and debug information from, where its build-id (or name) agrees"},
    {"debug-dir", PROFCONV_SETTING_LIST, NULL, NULL, "directory of debug files, laid out as /usr/lib/debug or flat"},
    {"symfs", PROFCONV_SETTING_STRING, NULL, NULL, "directory that recorded paths are relative to"},
    {"buildid-dir", PROFCONV_SETTING_STRING, NULL, NULL, "perf's cache of files by build-id (~/.debug)"},
    {"vmlinux", PROFCONV_SETTING_STRING, NULL, NULL, "the kernel's image with symbols"},
    {"kallsyms", PROFCONV_SETTING_STRING, NULL, NULL, "copy of /proc/kallsyms of the recorded machine"},
    {"perf-map-dir", PROFCONV_SETTING_STRING, "/tmp", NULL, "directory of perf-PID.map files"},
    {"jitdump-dir", PROFCONV_SETTING_STRING, NULL, NULL, "directory of jit-PID.dump files, before their recorded paths"},
    {"inline", PROFCONV_SETTING_BOOL, "yes", NULL, "frames of inlined calls"},
    {"lines", PROFCONV_SETTING_BOOL, "yes", NULL, "files and lines; no: names of ELF symbols only, faster"},
    {"demangle", PROFCONV_SETTING_ENUM, "full", "full|simple|none",
     "C++ and Rust names: with arguments, without, or as linked"},
    {"force", PROFCONV_SETTING_BOOL, "no", NULL, "look up again what has names already"},
    {"entries", PROFCONV_SETTING_BOOL, "no", NULL, "note where the functions around addresses begin"},
    {NULL, PROFCONV_SETTING_BOOL, NULL, NULL, NULL}};

static int starts_with(profconv_string s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.size >= n && memcmp(s.data, prefix, n) == 0;
}

/* Names that recorders give to memory without a file. */
static int is_pseudo(profconv_string file) {
    static const char *const prefixes[] = {"[",           "//",     "/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV",
                                           "anon_inode:", "inode:", "pipe:",   "socket:",   "/dev/"};
    if (file.size == 0)
        return 1;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (starts_with(file, prefixes[i]))
            return 1;
    return 0;
}

static pfc_place place_of(const pfc_run *run, const profconv_mapping *mapping) {
    profconv_string file = pfc_model_string(run->model, mapping->file);
    switch (mapping->kind) {
    case PROFCONV_MAPPING_GUEST:
        return PFC_PLACE_NONE;
    case PROFCONV_MAPPING_KERNEL:
        return PFC_PLACE_KERNEL;
    case PROFCONV_MAPPING_MODULE:
        return PFC_PLACE_MODULE;
    case PROFCONV_MAPPING_JIT:
    case PROFCONV_MAPPING_ANONYMOUS:
        return PFC_PLACE_JIT;
    case PROFCONV_MAPPING_VDSO:
        return PFC_PLACE_FILE;
    default:
        break;
    }
    if (starts_with(file, "[kernel"))
        return PFC_PLACE_KERNEL;
    if (starts_with(file, "[vdso"))
        return PFC_PLACE_FILE;
    if (!is_pseudo(file))
        return PFC_PLACE_FILE;
    return mapping->pid ? PFC_PLACE_JIT : PFC_PLACE_NONE;
}

static int wanted(const pfc_run *run, const profconv_location *location) {
    if (location->mapping == 0 || location->mapping >= run->model->mappings.count)
        return 0;
    if (run->force)
        return 1;
    if (run->entries && place_of(run, &run->model->mappings.data[location->mapping]) == PFC_PLACE_FILE)
        return 1;
    return location->line_count == 0 && !(location->flags & PROFCONV_LOCATION_NO_SYMBOL);
}

/* The group of a mapping, made if missing. Linear: groups are as many as files. */
static int group_of(pfc_run *run, profconv_id id, uint32_t *out) {
    const profconv_mapping *mapping = &run->model->mappings.data[id];
    pfc_group group = {
        .place = place_of(run, mapping), .mapping = id, .file = mapping->file, .build_id = mapping->build_id};
    if (group.place == PFC_PLACE_JIT) {
        group.pid = mapping->pid;
        group.file = group.build_id = 0;
        group.known_code = mapping->kind == PROFCONV_MAPPING_JIT;
    } else if (group.place == PFC_PLACE_KERNEL) {
        group.file = mapping->reference; /* mappings with another base are another kernel */
    }
    for (size_t i = 0; i < run->groups.count; i++) {
        pfc_group *known = &run->groups.data[i];
        if (known->place != group.place || known->file != group.file || known->build_id != group.build_id ||
            known->pid != group.pid)
            continue;
        if (group.place == PFC_PLACE_KERNEL &&
            run->model->mappings.data[known->mapping].reference_address != mapping->reference_address)
            continue;
        known->known_code |= group.known_code;
        *out = (uint32_t)i;
        return 0;
    }
    *out = (uint32_t)run->groups.count;
    return PFC_VEC_PUSH(run->mem, &run->groups, group);
}

/* Groups of mappings, and the locations of each group side by side. */
static int make_groups(pfc_run *run) {
    size_t mappings = run->model->mappings.count, locations = run->model->locations.count;
    uint32_t *group = pfc_alloc_zero(run->mem, (mappings + 1) * sizeof *group); /* group + 1 */
    int status = group ? 0 : run->mem->failed;
    for (size_t i = 1; !status && i < locations; i++) {
        const profconv_location *location = &run->model->locations.data[i];
        if (!wanted(run, location))
            continue;
        uint32_t g = group[location->mapping];
        if (!g) {
            status = group_of(run, location->mapping, &g);
            group[location->mapping] = ++g;
        }
        if (!status) {
            run->groups.data[g - 1].count++;
            run->item_count++;
        }
    }
    run->items = status || !run->item_count ? NULL : pfc_alloc(run->mem, run->item_count * sizeof *run->items);
    if (!status && run->item_count && !run->items)
        status = run->mem->failed;
    size_t at = 0;
    for (size_t i = 0; !status && i < run->groups.count; i++) {
        run->groups.data[i].first = at;
        at += run->groups.data[i].count;
        run->groups.data[i].count = 0;
    }
    for (size_t i = 1; !status && i < locations && run->item_count; i++) {
        const profconv_location *location = &run->model->locations.data[i];
        if (!wanted(run, location))
            continue;
        pfc_group *g = &run->groups.data[group[location->mapping] - 1];
        run->items[g->first + g->count++] = (profconv_id)i;
    }
    pfc_free(run->mem, group, (mappings + 1) * sizeof *group);
    return status;
}

/* Largest first, so that the first message of a cause is about what matters most. */
static void sort_groups(pfc_run *run) {
    pfc_group *rows = run->groups.data;
    for (size_t i = 1; i < run->groups.count; i++) {
        pfc_group row = rows[i];
        size_t at = i;
        for (; at > 0 && rows[at - 1].count < row.count; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

/* Files first: what they are found to be does not depend on the others, and they can be looked at side by side. */
static int run_file_groups(pfc_run *run) {
    size_t size = (run->groups.count + 1) * sizeof(const pfc_group *), count = 0;
    const pfc_group **files = pfc_alloc(run->mem, size);
    if (!files)
        return run->mem->failed;
    for (size_t i = 0; i < run->groups.count; i++)
        if (run->groups.data[i].place == PFC_PLACE_FILE)
            files[count++] = &run->groups.data[i];
    int status = pfc_run_files(run, files, count);
    pfc_free(run->mem, files, size);
    return status;
}

static int run_groups(pfc_run *run) {
    PFC_VEC(pfc_group) kernel = {0};
    int status = run_file_groups(run);
    for (size_t i = 0; !status && i < run->groups.count; i++) {
        const pfc_group *group = &run->groups.data[i];
        int named = 0;
        switch (group->place) {
        case PFC_PLACE_NONE:
            run->done += group->count;
            break;
        case PFC_PLACE_FILE:
            break;
        case PFC_PLACE_JIT:
            status = pfc_run_jit(run, group);
            break;
        case PFC_PLACE_MODULE:
            status = pfc_run_module(run, group, &named);
            if (status || named)
                break; /* else kallsyms may know it */
            status = PFC_VEC_PUSH(run->mem, &kernel, *group);
            break;
        case PFC_PLACE_KERNEL:
            status = PFC_VEC_PUSH(run->mem, &kernel, *group);
            break;
        }
    }
    if (!status && kernel.count)
        status = pfc_run_kernel(run, kernel.data, kernel.count);
    PFC_VEC_FREE(run->mem, &kernel);
    return status;
}

typedef struct {
    uint32_t locations, functions, files, lines;
} coverage;

/* A flag says that all of a mapping's locations have such information; consumers look a mapping up again otherwise. */
static int set_mapping_flags(pfc_run *run) {
    enum {
        OURS = PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_HAS_FILENAMES | PROFCONV_MAPPING_HAS_LINE_NUMBERS |
               PROFCONV_MAPPING_HAS_INLINE_FRAMES
    };
    pfc_model *m = run->model;
    coverage *rows = pfc_alloc_zero(run->mem, run->mapping_count * sizeof *rows);
    if (!rows)
        return run->mem->failed;
    for (size_t i = 1; i < m->locations.count; i++) {
        const profconv_location *location = &m->locations.data[i];
        if (location->mapping == 0 || location->mapping >= run->mapping_count)
            continue;
        coverage *row = &rows[location->mapping];
        uint32_t function = location->line_count != 0, file = function, line = function;
        for (uint32_t k = 0; k < location->line_count; k++) {
            const profconv_line *l = &m->lines.data[location->first_line + k];
            function &= l->function != 0;
            file &= l->function != 0 && m->functions.data[l->function].file != 0;
            line &= l->line != 0 || k != 0; /* code without a line of its own has line 0 */
        }
        row->locations++;
        row->functions += function;
        row->files += file;
        row->lines += line;
    }
    for (size_t i = 1; i < run->mapping_count; i++) {
        const coverage *row = &rows[i];
        profconv_mapping mapping = m->mappings.data[i];
        if (row->locations == 0 || place_of(run, &mapping) == PFC_PLACE_NONE)
            continue;
        uint32_t flags = mapping.flags & ~(uint32_t)OURS;
        uint32_t inlined = row->locations == run->inlined[i] ||
                           (mapping.flags & PROFCONV_MAPPING_HAS_INLINE_FRAMES && run->inlined[i] == 0);
        if (row->functions == row->locations)
            flags |= PROFCONV_MAPPING_HAS_FUNCTIONS |
                     (row->files == row->locations ? PROFCONV_MAPPING_HAS_FILENAMES : 0) |
                     (row->lines == row->locations ? PROFCONV_MAPPING_HAS_LINE_NUMBERS : 0) |
                     (inlined ? PROFCONV_MAPPING_HAS_INLINE_FRAMES : 0);
        if (flags != mapping.flags) {
            mapping.flags = flags;
            profconv_builder_mapping_replace(run->builder, (profconv_id)i, &mapping);
        }
    }
    pfc_free(run->mem, rows, run->mapping_count * sizeof *rows);
    return 0;
}

static int read_settings(pfc_run *run) {
    const profconv_options *o = run->options;
    int style = pfc_demangle_style(profconv_options_string(o, "symbolize", settings, "demangle"));
    pfc_names_init(&run->names, run->builder, run->mem, style);
    run->force = profconv_options_bool(o, "symbolize", settings, "force");
    run->entries = profconv_options_bool(o, "symbolize", settings, "entries");
    run->frame_flags = (profconv_options_bool(o, "symbolize", settings, "inline") ? 0 : PFC_FRAMES_NO_INLINE) |
                       (profconv_options_bool(o, "symbolize", settings, "lines") ? 0 : PFC_FRAMES_NO_LINES);
    run->vmlinux = profconv_options_string(o, "symbolize", settings, "vmlinux");
    run->kallsyms = profconv_options_string(o, "symbolize", settings, "kallsyms");
    run->perf_map_dir = profconv_options_string(o, "symbolize", settings, "perf-map-dir");
    int status = pfc_finder_settings_read(&run->files, run->mem, o, run->error);
    run->finder = run->files.finder;
    return status;
}

static void free_run(pfc_run *run) {
    pfc_names_free(&run->names);
    pfc_finder_settings_free(&run->files, run->mem);
    pfc_free(run->mem, run->items, run->items ? run->item_count * sizeof *run->items : 0);
    pfc_free(run->mem, run->inlined, run->inlined ? run->mapping_count * sizeof *run->inlined : 0);
    PFC_VEC_FREE(run->mem, &run->groups);
}

static int symbolize(profconv_builder *builder, const profconv_options *options,
                     int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total), void *tick_user,
                     profconv_error *error) {
    profconv_error local = {0};
    pfc_model *model = pfc_builder_model(builder);
    pfc_run run = {.builder = builder,
                   .model = model,
                   .mem = &model->mem,
                   .report = profconv_builder_report(builder),
                   .options = options,
                   .tick = tick,
                   .tick_user = tick_user,
                   .mapping_count = model->mappings.count,
                   .error = error ? error : &local};
    int status = profconv_options_check(options, "symbolize", settings, run.error);
    if (!status)
        status = profconv_builder_status(builder, run.error);
    if (status)
        return status;
    run.error->status = 0;
    status = read_settings(&run);
    if (!status) {
        run.inlined = pfc_alloc_zero(run.mem, run.mapping_count * sizeof *run.inlined);
        status = run.inlined || !run.mapping_count ? make_groups(&run) : run.mem->failed;
    }
    run.total = run.item_count;
    sort_groups(&run);
    if (!status)
        status = run_groups(&run);
    if (!status && run.mapping_count)
        status = set_mapping_flags(&run);
    if (!status)
        status = profconv_builder_status(builder, run.error);
    else if (run.error->status == 0)
        pfc_mem_error(run.mem, run.error);
    free_run(&run);
    return status;
}

const pfc_pass pfc_symbolize_pass = {
    .name = "symbolize",
    .settings = settings,
    .needs = PROFCONV_FACET_ADDRESSES,
    .adds = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_LINES,
    .run = symbolize,
};
