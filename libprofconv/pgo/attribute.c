/* SPDX-License-Identifier: MIT
 *
 * The pass "attribute": counts of branch records, or of sampled addresses, become counts of source positions with the
 * help of the binary; without a binary, the lines of symbolized leaves are counted. Every case that leaves nothing has
 * its own message.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libprofconv/base/text.h"
#include "libprofconv/model/pass.h"
#include "libprofconv/pgo/accumulate.h"
#include "libprofconv/pgo/lines.h"
#include "libprofconv/pgo/prune.h"
#include "libprofconv/pgo/select.h"
#include "libprofconv/symbolize/architecture.h"
#include "libprofconv/symbolize/settings.h"

#define SCOPE "attribute"

static const profconv_setting settings[] = {
    {"binary", PROFCONV_SETTING_LIST, NULL, NULL,
     "ELF file that the counts are attributed to, matched by build-id, else by file name (default: the main binary)"},
    {"flavor", PROFCONV_SETTING_ENUM, "llvm", "llvm|gcc",
     "whose discriminators: base components and duplication factors (llvm), or raw ones (gcc)"},
    {"compat", PROFCONV_SETTING_ENUM, "none", "none|create_llvm_prof|create_gcov",
     "do as this tool does also where it is wrong: records=ranges, targets=last, addresses=max, names=shared, "
     "entries=selected, "
     "parts=called, and broken-stacks=attach or guess"},
    {"records", PROFCONV_SETTING_ENUM, "auto", "auto|ranges|addresses",
     "count the ranges of branch records, or the sampled addresses; auto: ranges when there are any"},
    {"targets", PROFCONV_SETTING_ENUM, "sum", "sum|last",
     "call targets of several branches at one position: add up, or the branch with the highest address wins"},
    {"addresses", PROFCONV_SETTING_ENUM, "sum", "sum|max",
     "sampled addresses at one position: add up, or the largest counts"},
    {"broken-stacks", PROFCONV_SETTING_ENUM, "auto", "auto|drop|attach|guess",
     "code inlined through a function without a start line: leave its position out, put it into the last known "
     "function, or take that "
     "function to start where it calls; auto: drop, but guess for gcc"},
    {"names", PROFCONV_SETTING_ENUM, "extent", "extent|shared",
     "functions of one name: each by its own extent, or all by that of the first"},
    {"entries", PROFCONV_SETTING_ENUM, "all", "all|selected",
     "entry counts: of branches from anywhere, or only of those from functions above the threshold"},
    {"parts", PROFCONV_SETTING_ENUM, "entered", "entered|called",
     "branches into a part that was split off a function (.cold, .__part.N): enter the part, or call the function "
     "again"},
    {"suffixes", PROFCONV_SETTING_ENUM, "selected", "selected|all|none",
     "suffixes taken off function names: .cold, .llvm.X and .__part.X; from the first dot; none"},
    {"min-count", PROFCONV_SETTING_INT, "10", NULL, "functions need more than this"},
    {"min-share", PROFCONV_SETTING_FLOAT, "0", NULL, "functions need more than this share of all counts"},
    {NULL, 0, NULL, NULL, NULL},
};

typedef struct job {
    profconv_builder *builder;
    const profconv_options *options;
    pfc_mem *mem;
    pfc_accumulate_rules rules;
    int records; /* 0 auto, 1 ranges, 2 addresses */
    pfc_finder_settings finder;
    int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total);
    void *tick_user;
    profconv_error *error;
    uint8_t *of_binary;
} job;

static int is(const job *j, const char *key, const char *value) {
    const char *set = profconv_options_string(j->options, SCOPE, settings, key);
    return set && strcmp(set, value) == 0;
}

static void read_rules(job *j) {
    pfc_accumulate_rules *rules = &j->rules;
    int as_gcov = is(j, "compat", "create_gcov");
    int compat = as_gcov || is(j, "compat", "create_llvm_prof");
    int gcc = as_gcov || is(j, "flavor", "gcc");
    int64_t minimum = profconv_options_int(j->options, SCOPE, settings, "min-count");
    rules->select.minimum = minimum > 0 ? (uint64_t)minimum : 0;
    rules->select.fraction = profconv_options_float(j->options, SCOPE, settings, "min-share");
    rules->select.suffixes = is(j, "suffixes", "all")    ? PFC_SUFFIX_ALL
                             : is(j, "suffixes", "none") ? PFC_SUFFIX_NONE
                                                         : PFC_SUFFIX_SELECTED;
    rules->select.share_names = compat || is(j, "names", "shared");
    rules->discriminators = gcc ? PFC_DISCRIMINATORS_RAW : PFC_DISCRIMINATORS_BASE;
    rules->select.all_entries = !compat && is(j, "entries", "all");
    rules->select.parts_are_called = compat || is(j, "parts", "called");
    rules->sum_targets = !compat && is(j, "targets", "sum");
    rules->broken_stacks = gcc ? PFC_BROKEN_GUESS : compat ? PFC_BROKEN_ATTACH : PFC_BROKEN_DROP;
    if (!compat && !is(j, "broken-stacks", "auto"))
        rules->broken_stacks = is(j, "broken-stacks", "attach")  ? PFC_BROKEN_ATTACH
                               : is(j, "broken-stacks", "guess") ? PFC_BROKEN_GUESS
                                                                 : PFC_BROKEN_DROP;
    rules->sum_addresses = !compat && is(j, "addresses", "sum");
    j->records = compat || is(j, "records", "ranges") ? 1 : is(j, "records", "addresses") ? 2 : 0;
}

static int fail(job *j, int status, const char *format, ...) PROFCONV_PRINTF(3, 4);
static int fail(job *j, int status, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return profconv_error_set(j->error, status, PROFCONV_NO_OFFSET, 0, "%s", message);
}

/* ---- from file offsets to addresses ---- */

typedef struct placement {
    const pfc_binary *binary;
    uint64_t shift; /* added to offsets before the look-up */
    uint64_t lost;
} placement;

/* The kernel's offsets count from the start of its text, a module's from that of its section. */
static uint64_t offset_shift(const job *j, const pfc_binary *binary) {
    const pfc_model *model = pfc_builder_model(j->builder);
    for (size_t i = 1; i < model->mappings.count; i++) {
        if (!j->of_binary[i])
            continue;
        /* Recordings give a module's offsets from its .text; profiles by file offset mean the file. */
        if (pfc_binary_relocatable(binary))
            return model->mappings.data[i].kind == PROFCONV_MAPPING_MODULE ? 0 : 0 - pfc_binary_text_offset(binary);
        if (model->mappings.data[i].kind != PROFCONV_MAPPING_KERNEL)
            continue;
        size_t count;
        const pfc_segment *segments = pfc_binary_segments(binary, &count);
        for (size_t k = 0; k < count; k++) {
            if (segments[k].executable)
                return segments[k].offset;
        }
    }
    return 0;
}

static int place(placement *p, uint64_t *offset, uint64_t count) {
    if (pfc_binary_vaddr(p->binary, *offset + p->shift, UINT64_MAX, offset) == 0)
        return 1;
    p->lost = pfc_add_sat(p->lost, count);
    return 0;
}

static int place_maps(job *j, const pfc_binary *binary, pfc_code_maps *maps) {
    placement p = {binary, offset_shift(j, binary), 0};
    size_t kept = 0;
    for (size_t i = 0; i < maps->ranges.count; i++) {
        pfc_code_range row = maps->ranges.data[i];
        uint64_t length = row.end - row.begin;
        if (!place(&p, &row.begin, row.count))
            continue;
        row.end = row.begin + length;
        maps->ranges.data[kept++] = row;
    }
    maps->ranges.count = kept;
    kept = 0;
    for (size_t i = 0; i < maps->branches.count; i++) {
        pfc_code_branch row = maps->branches.data[i];
        if (place(&p, &row.from, row.count) && place(&p, &row.to, 0))
            maps->branches.data[kept++] = row;
    }
    maps->branches.count = kept;
    kept = 0;
    for (size_t i = 0; i < maps->addresses.count; i++) {
        pfc_code_address row = maps->addresses.data[i];
        if (place(&p, &row.at, row.count))
            maps->addresses.data[kept++] = row;
    }
    maps->addresses.count = kept;
    kept = 0;
    for (size_t i = 0; i < maps->entries.count; i++) {
        pfc_code_address row = maps->entries.data[i];
        if (place(&p, &row.at, 0))
            maps->entries.data[kept++] = row;
    }
    maps->entries.count = kept;
    if (p.lost)
        profconv_report_add(profconv_builder_report(j->builder), PROFCONV_NOTE_DROPPED, "outside-segments", p.lost, 0,
                            PROFCONV_NO_OFFSET, 0, "counts at file offsets that no segment of %s holds",
                            pfc_binary_path(binary));
    return pfc_code_maps_sort(j->mem, maps);
}

/* ---- one binary ---- */

static int accumulate_tick(void *user, uint64_t done, uint64_t total) {
    const job *j = user;
    return j->tick(j->tick_user, SCOPE, done, total);
}

static int choose_records(job *j, const pfc_code_maps *maps, const char *path) {
    int ranges = j->records != 2 && maps->ranges.count > 0;
    j->rules.select.use_ranges = ranges || j->records == 1;
    if (j->records == 1 && !ranges)
        return fail(
            j, PROFCONV_E_EMPTY,
            maps->branch_records
                ? "none of the profile's %llu branch records lies in %s"
                : "the profile has no branch records (%llu); record with last-branch records (perf record -b)%.0s",
            (unsigned long long)maps->branch_records, path);
    if (ranges)
        return 0;
    if (maps->addresses.count == 0)
        return fail(j, PROFCONV_E_EMPTY, "no sample and no branch record lies in %s", path);
    if (j->records == 0)
        profconv_report_add(
            profconv_builder_report(j->builder), PROFCONV_NOTE_WARNING, "no-branch-records", 1, 0, PROFCONV_NO_OFFSET,
            0, "no branch records for %s: sampled addresses are counted instead, without calls and entry counts", path);
    return 0;
}

static int explain_nothing(job *j, pfc_binary *binary, const pfc_accumulate_result *result, uint64_t pruned) {
    const char *path = pfc_binary_path(binary);
    if (!pfc_binary_has_debug_info(binary))
        return fail(j, PROFCONV_E_EMPTY, "%s has no debug information, and none was found for it; build with -g", path);
    if (result->functions == 0 && result->best == 0)
        return fail(j, PROFCONV_E_EMPTY, "no count lies in a function of %s: it has no symbols there", path);
    if (result->functions == 0 || (pruned && result->emitted))
        return fail(j, PROFCONV_E_EMPTY,
                    "every function of %s is at or below the threshold of %llu counts (the largest has %llu)", path,
                    (unsigned long long)result->threshold, (unsigned long long)result->best);
    return fail(j, PROFCONV_E_EMPTY, "the %llu hot functions of %s have no line information",
                (unsigned long long)result->functions, path);
}

/* Addresses of one processor's code mean nothing in another's, though they may well fit. */
static int check_architecture(job *j, const pfc_binary *binary) {
    const pfc_model *model = pfc_builder_model(j->builder);
    const char *of_binary = pfc_binary_architecture(binary);
    for (size_t i = 0; of_binary && i < model->attributes.count; i++) {
        const char *recorded = pfc_model_string(model, model->attributes.data[i].value).data;
        const char *family = pfc_architecture_of(recorded);
        if (strcmp(pfc_model_string(model, model->attributes.data[i].key).data, "arch") == 0 && family &&
            strcmp(family, of_binary) != 0)
            return fail(j, PROFCONV_E_NOT_FOUND, "%s is code for %s, but the profile was recorded on %s",
                        pfc_binary_path(binary), of_binary, recorded);
    }
    return 0;
}

static int attribute_binary(job *j, pfc_binary *binary) {
    const pfc_model *model = pfc_builder_model(j->builder);
    pfc_code_maps maps;
    int status = check_architecture(j, binary);
    if (status)
        return status;
    status = pfc_code_maps_collect(j->mem, model, j->of_binary, &maps);
    if (status)
        return pfc_mem_error(j->mem, j->error);
    status = place_maps(j, binary, &maps);
    if (status == 0)
        status = choose_records(j, &maps, pfc_binary_path(binary));
    if (status == 0) {
        pfc_accumulate_result result;
        pfc_accumulate_rules rules = j->rules;
        profconv_id first = (profconv_id)(model->sources.count ? model->sources.count : 1);
        uint64_t pruned = 0;
        if (pfc_binary_has_symbol(binary, "__llvm_fs_discriminator__") &&
            rules.discriminators == PFC_DISCRIMINATORS_BASE) {
            profconv_info info;
            rules.discriminators = PFC_DISCRIMINATORS_FS;
            profconv_builder_get_info(j->builder, &info);
            info.source_flags |= PROFCONV_SOURCES_FS;
            profconv_builder_set_info(j->builder, &info);
        }
        status = pfc_accumulate(j->builder, binary, &maps, &rules, j->tick ? accumulate_tick : NULL, j, &result);
        if (status == 0)
            status = pfc_prune_sources(j->builder, first, result.threshold, &pruned);
        if (status == PROFCONV_E_CALLBACK)
            status = fail(j, status, "cancelled");
        else if (status)
            status = profconv_builder_status(j->builder, j->error) ? profconv_builder_status(j->builder, j->error)
                                                                   : pfc_mem_error(j->mem, j->error);
        else if (model->sources.count <= first || result.emitted == 0)
            status = explain_nothing(j, binary, &result, pruned);
        else if (result.without_lines)
            profconv_report_add(profconv_builder_report(j->builder), PROFCONV_NOTE_INFO, "functions-without-lines",
                                result.without_lines, 0, PROFCONV_NO_OFFSET, 0,
                                "hot functions of %s without line information", pfc_binary_path(binary));
    }
    pfc_code_maps_free(j->mem, &maps);
    return status;
}

/* ---- which binaries ---- */

static int attribute_named(job *j) {
    const pfc_model *model = pfc_builder_model(j->builder);
    size_t matched = 0;
    size_t index = 0;
    int status = 0;
    const char *path;
    for (; status == 0 && (path = profconv_options_item(j->options, SCOPE, "binary", index)) != NULL; index++) {
        pfc_binary *binary;
        status = pfc_binary_open(&binary, j->mem, path, NULL, &j->finder.finder, j->error);
        if (status)
            break;
        if (pfc_select_mappings(model, binary, j->of_binary)) {
            matched++;
            status = attribute_binary(j, binary);
        } else if (profconv_options_item(j->options, SCOPE, "binary", 1)) {
            /* One of several may well be missing in one of many recordings. */
            profconv_error why;
            pfc_select_failure(j->mem, model, binary, path, &why);
            profconv_report_add(profconv_builder_report(j->builder), PROFCONV_NOTE_WARNING, "binary-not-in-profile", 1,
                                0, PROFCONV_NO_OFFSET, 0, "%s", why.message);
        } else {
            status = pfc_select_failure(j->mem, model, binary, path, j->error);
        }
        pfc_binary_close(binary);
    }
    if (status == 0 && matched == 0)
        status = fail(j, PROFCONV_E_NOT_FOUND, "none of the %zu binaries has a mapping in the profile", index);
    return status;
}

/* The main binary: the one marked so when it has counts, else the file mapping with most. 0: none. */
static profconv_id main_mapping(job *j) {
    const pfc_model *model = pfc_builder_model(j->builder);
    size_t bytes = model->mappings.count * sizeof(uint64_t);
    uint64_t *weights = pfc_alloc(j->mem, bytes);
    profconv_id best = 0;
    if (!weights)
        return 0;
    pfc_mapping_weights(model, weights);
    for (size_t i = 1; i < model->mappings.count; i++) {
        const profconv_mapping *mapping = &model->mappings.data[i];
        int code = mapping->kind == PROFCONV_MAPPING_EXECUTABLE || mapping->kind == PROFCONV_MAPPING_LIBRARY ||
                   mapping->kind == PROFCONV_MAPPING_UNKNOWN;
        if (!code || weights[i] == 0 || mapping->file == 0)
            continue;
        if (best == 0 || (mapping->flags & PROFCONV_MAPPING_MAIN) ||
            (weights[i] > weights[best] && !(model->mappings.data[best].flags & PROFCONV_MAPPING_MAIN)))
            best = (profconv_id)i;
    }
    pfc_free(j->mem, weights, bytes);
    return best;
}

static int attribute_main(job *j) {
    const pfc_model *model = pfc_builder_model(j->builder);
    profconv_id mapping = main_mapping(j);
    if (j->mem->failed)
        return pfc_mem_error(j->mem, j->error);
    char file[512] = "";
    char build_id[160] = "";
    if (mapping) {
        strncat(file, pfc_model_string(model, model->mappings.data[mapping].file).data, sizeof file - 1);
        strncat(build_id, pfc_model_string(model, model->mappings.data[mapping].build_id).data, sizeof build_id - 1);
        pfc_binary *binary;
        pfc_find_result result;
        int status = pfc_binary_find(&binary, j->mem, file, build_id, &j->finder.finder, &result, j->error);
        if (status == 0) {
            pfc_select_mappings(model, binary, j->of_binary);
            status = attribute_binary(j, binary);
            pfc_binary_close(binary);
            return status;
        }
        if (status != PROFCONV_E_NOT_FOUND)
            return status;
    }
    uint64_t counted;
    int status = pfc_attribute_lines(j->builder, &j->rules.select, &counted);
    if (status)
        return profconv_builder_status(j->builder, j->error) ? profconv_builder_status(j->builder, j->error)
                                                             : pfc_mem_error(j->mem, j->error);
    if (counted) {
        profconv_report_add(
            profconv_builder_report(j->builder), PROFCONV_NOTE_WARNING, "no-binary", 1, 0, PROFCONV_NO_OFFSET, 0,
            "no binary: the lines of the profile are counted, without discriminators, calls, entry counts and code "
            "that was not sampled");
        return 0;
    }
    if (mapping == 0)
        return fail(j, PROFCONV_E_EMPTY,
                    "no mapping of a file has counts, and no location has a line in a function with a start line");
    return fail(j, PROFCONV_E_NOT_FOUND,
                "the binary %s (build-id %s) was not found, and the profile has no lines in functions with start "
                "lines; name it (binary)",
                file, *build_id ? build_id : "unknown");
}

static int run(profconv_builder *builder, const profconv_options *options,
               int (*tick)(void *user, const char *stage, uint64_t done, uint64_t total), void *tick_user,
               profconv_error *error) {
    pfc_model *model = pfc_builder_model(builder);
    job j = {.builder = builder,
             .options = options,
             .mem = &model->mem,
             .tick = tick,
             .tick_user = tick_user,
             .error = error};
    int status = profconv_options_check(options, SCOPE, settings, error);
    if (status)
        return status;
    read_rules(&j);
    status = pfc_finder_settings_read(&j.finder, j.mem, options, error);
    if (status)
        return status;
    size_t bytes = model->mappings.count ? model->mappings.count : 1;
    j.of_binary = pfc_alloc_zero(j.mem, bytes);
    if (!j.of_binary)
        status = pfc_mem_error(j.mem, error);
    else if (profconv_options_has(options, SCOPE, "binary"))
        status = attribute_named(&j);
    else
        status = attribute_main(&j);
    pfc_free(j.mem, j.of_binary, bytes);
    pfc_finder_settings_free(&j.finder, j.mem);
    return status;
}

const pfc_pass pfc_attribute_pass = {
    .name = SCOPE,
    .settings = settings,
    .needs = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_ADDRESSES | PROFCONV_FACET_LINES,
    .adds = PROFCONV_FACET_SOURCE_COUNTS,
    .run = run,
};
