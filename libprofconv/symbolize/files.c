/* SPDX-License-Identifier: MIT
 *
 * Naming the locations of mappings of files: find the file, turn addresses into its vaddrs, look them up in order.
 */
#include <string.h>

#include "libprofconv/symbolize/pass.h"

char *pfc_run_copy(pfc_run *run, profconv_id string, size_t *size) {
    profconv_string s = pfc_model_string(run->model, string);
    *size = s.size;
    return pfc_strdup(run->mem, s.data, s.size);
}

int pfc_run_step(pfc_run *run) {
    run->done++;
    if (run->tick && (run->done & 1023) == 0 && run->tick(run->tick_user, "symbolize", run->done, run->total))
        return profconv_error_set(run->error, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0,
                                  "symbolization was cancelled");
    return 0;
}

static void no_symbol(pfc_run *run, profconv_id id) {
    const profconv_location *location = &run->model->locations.data[id];
    if (location->line_count == 0)
        pfc_builder_set_location_flags(run->builder, id, location->flags | PROFCONV_LOCATION_NO_SYMBOL);
}

/* Frames to lines; 0 when they name nothing. */
static uint32_t make_lines(pfc_run *run, const pfc_frame *frames, size_t count, profconv_line *lines) {
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        profconv_line line = {
            .line = frames[i].line, .column = frames[i].column, .discriminator = frames[i].discriminator};
        line.function = pfc_names_function(&run->names, &frames[i]);
        if (line.function)
            lines[n++] = line;
    }
    return n;
}

int pfc_run_name_in_binary(pfc_run *run, pfc_binary *binary, const pfc_lookups *known, const pfc_key *keys, size_t count,
                           uint64_t *unnamed) {
    pfc_frame frames[PFC_MAX_FRAMES];
    profconv_line lines[PFC_MAX_FRAMES];
    uint32_t line_count = 0;
    size_t distinct = 0;
    int full = 0; /* with what DWARF says of inlining */
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || keys[i].key != keys[i - 1].key) {
            size_t n = 0;
            int from_debug_info;
            if (known) {
                const pfc_lookup *row = &known->rows.data[distinct++];
                line_count = make_lines(run, known->frames.data + row->first, row->count, lines);
                from_debug_info = row->from_debug_info;
            } else {
                int status = pfc_binary_frames(binary, keys[i].key, run->frame_flags, frames, PFC_MAX_FRAMES, &n);
                if (status)
                    return status;
                line_count = make_lines(run, frames, n, lines);
                from_debug_info = pfc_binary_frames_from_debug_info(binary);
            }
            full = from_debug_info && !(run->frame_flags & PFC_FRAMES_NO_INLINE);
        }
        if (line_count && run->model->locations.data[keys[i].id].line_count && !run->force) {
            /* It has names, and is here for its entry only. */
        } else if (line_count) {
            pfc_builder_set_lines(run->builder, keys[i].id, lines, line_count);
            run->inlined[run->model->locations.data[keys[i].id].mapping] += full != 0;
        } else {
            no_symbol(run, keys[i].id);
            ++*unnamed;
        }
        int status = pfc_run_step(run);
        if (!status)
            status = profconv_builder_status(run->builder, run->error);
        if (status)
            return status;
    }
    return 0;
}

int pfc_run_name_by_answers(pfc_run *run, pfc_answers *answers, pfc_key *keys, uint64_t *unnamed) {
    size_t left = 0;
    for (size_t i = 0; i < answers->count; i++) {
        uint32_t row = answers->name[i];
        profconv_line line = {0};
        if (row)
            line.function = pfc_names_plain(&run->names, answers->text.data + answers->spans.data[row].offset,
                                            answers->spans.data[row].size);
        if (line.function) {
            pfc_builder_set_lines(run->builder, keys[i].id, &line, 1);
            int status = pfc_run_step(run);
            if (status)
                return status;
        } else {
            keys[left++] = keys[i];
        }
    }
    *unnamed = left;
    return profconv_builder_status(run->builder, run->error);
}

/* pprof's convention for addresses that are the ELF file's own. */
static int has_elf_addresses(const profconv_mapping *mapping) {
    return mapping->start == 0 && mapping->file_offset == 0 && (mapping->limit == 0 || mapping->limit == UINT64_MAX);
}

static int address_in_binary(const pfc_binary *binary, const profconv_mapping *mapping, uint64_t address,
                             uint64_t *vaddr) {
    if (has_elf_addresses(mapping) && !pfc_binary_relocatable(binary)) {
        *vaddr = address;
        return 0;
    }
    return pfc_binary_vaddr(binary, address - mapping->start + mapping->file_offset, mapping->file_offset, vaddr);
}

int pfc_run_keys(const pfc_run *run, pfc_mem *mem, const pfc_binary *binary, const pfc_group *group, pfc_key *keys,
                 size_t *count) {
    size_t outside = 0;
    *count = 0;
    for (size_t i = 0; i < group->count; i++) {
        profconv_id id = run->items[group->first + i];
        const profconv_location *location = &run->model->locations.data[id];
        uint64_t vaddr = 0;
        pfc_key key = {0, 0, id};
        if (address_in_binary(binary, &run->model->mappings.data[location->mapping], location->address, &vaddr) == 0) {
            key.key = vaddr;
            keys[(*count)++] = key;
        } else {
            keys[group->count - ++outside] = key;
        }
    }
    return pfc_sort_keys(mem, keys, *count);
}

static int name_group(pfc_run *run, const pfc_opened *opened) {
    pfc_binary *binary = opened->binary;
    const pfc_group *group = opened->group;
    const char *file = opened->file;
    pfc_key *keys = pfc_alloc(run->mem, group->count * sizeof *keys);
    if (!keys)
        return run->mem->failed;
    size_t count = 0;
    uint64_t unnamed = 0;
    int status = pfc_run_keys(run, run->mem, binary, group, keys, &count);
    uint64_t outside = group->count - count;
    for (size_t i = count; i < group->count; i++)
        no_symbol(run, keys[i].id);
    if (!status)
        status = pfc_run_name_in_binary(run, binary, opened->known, keys, count, &unnamed);
    if (!status && run->entries)
        status = pfc_run_entries(run, binary, keys, count);
    pfc_free(run->mem, keys, group->count * sizeof *keys);
    if (outside)
        profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "address-outside-segments", outside, 0,
                            PROFCONV_NO_OFFSET, 0, "%s: %llu addresses are in no segment of %s", file,
                            (unsigned long long)outside, pfc_binary_path(binary));
    if (unnamed)
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "no-symbol", unnamed, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: %llu addresses have no symbol", file, (unsigned long long)unnamed);
    return status;
}

void pfc_run_note_file(pfc_run *run, const pfc_group *group, const char *file, const char *id,
                       const pfc_find_result *result) {
    const char *named = *file ? file : "(unnamed mapping)";
    if (result->mismatches)
        profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "build-id-mismatch", (uint64_t)result->mismatches, 0,
                            PROFCONV_NO_OFFSET, 0, "%s: build-id %s, but the recording has %s%s%s: not used",
                            result->path, *result->build_id ? result->build_id : "(none)", id,
                            strcmp(result->path, file) ? " for " : "", strcmp(result->path, file) ? named : "");
    if (result->compressed)
        profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "compressed-binary", group->count, 0,
                            PROFCONV_NO_OFFSET, 0,
                            "%s: compressed files cannot be read; unpack it and name it with symbolize.binary", named);
}

static void note_missing(pfc_run *run, const pfc_group *group, const char *file, const char *id) {
    if (file[0] == '[') {
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "no-file", group->count, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: has no file, and no copy was found; %llu addresses stay without names", file,
                            (unsigned long long)group->count);
        return;
    }
    profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "no-binary", group->count, 0, PROFCONV_NO_OFFSET, 0,
                        "%s (build-id %s): no file found; %llu addresses stay without names",
                        *file ? file : "(unnamed mapping)", *id ? id : "unknown", (unsigned long long)group->count);
}

/* *found 0: there is no file; the caller says so. */
static int name_from(pfc_run *run, const pfc_opened *opened, int *found) {
    const pfc_group *group = opened->group;
    const char *file = opened->file;
    pfc_binary *binary = opened->binary;
    int status = opened->status;
    *found = binary != NULL;
    pfc_run_note_file(run, group, file, opened->id, &opened->result);
    if (status == PROFCONV_E_NOT_FOUND)
        return 0;
    if (status) {
        *run->error = opened->reason;
        return status;
    }
    if (opened->result.by_path)
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "binary-by-path", group->count, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: the recording has no build-id for it; %s was taken by its path", file,
                            pfc_binary_path(binary));
    if (!pfc_binary_has_debug_info(binary) && !(run->frame_flags & PFC_FRAMES_NO_LINES))
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "no-debug-info", group->count, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: no debug information; names of symbols only", pfc_binary_path(binary));
    status = name_group(run, opened);
    if (pfc_binary_alternate_missing(binary))
        profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "no-alternate-file", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: the file that holds the common part of its debug information (dwz) was not found",
                            pfc_binary_debug_path(binary));
    return status;
}

int pfc_opened_start(pfc_opened *opened, pfc_run *run, const pfc_group *group) {
    memset(opened, 0, sizeof *opened);
    opened->group = group;
    opened->file = pfc_run_copy(run, group->file, &opened->file_size);
    opened->id = pfc_run_copy(run, group->build_id, &opened->id_size);
    return opened->file && opened->id ? PROFCONV_OK : run->mem->failed;
}

void pfc_opened_find(pfc_opened *opened, const pfc_run *run, pfc_mem *mem) {
    opened->status = pfc_binary_find(&opened->binary, mem, opened->file, opened->id, &run->finder, &opened->result,
                                     &opened->reason);
}

void pfc_opened_end(pfc_opened *opened, pfc_run *run) {
    pfc_binary_close(opened->binary);
    pfc_free(run->mem, opened->file, opened->file ? opened->file_size + 1 : 0);
    pfc_free(run->mem, opened->id, opened->id ? opened->id_size + 1 : 0);
    memset(opened, 0, sizeof *opened);
}

int pfc_run_file(pfc_run *run, const pfc_opened *opened) {
    int found = 0;
    int status = name_from(run, opened, &found);
    if (!status && !found) {
        note_missing(run, opened->group, opened->file, opened->id);
        run->done += opened->group->count;
    }
    return status;
}

/* BPF programs are mappings of their own whose name is the symbol. */
static int name_bpf(pfc_run *run, const pfc_group *group, const char *file) {
    profconv_line line = {.function = pfc_names_plain(&run->names, file, strlen(file))};
    for (size_t i = 0; line.function && i < group->count; i++)
        pfc_builder_set_lines(run->builder, run->items[group->first + i], &line, 1);
    run->done += group->count;
    return profconv_builder_status(run->builder, run->error);
}

int pfc_run_module(pfc_run *run, const pfc_group *group, int *named) {
    pfc_opened opened;
    int status = pfc_opened_start(&opened, run, group);
    if (!status && strncmp(opened.file, "bpf_", 4) == 0) {
        *named = 1;
        status = name_bpf(run, group, opened.file);
    } else if (!status) {
        pfc_opened_find(&opened, run, run->mem);
        status = name_from(run, &opened, named);
    }
    pfc_opened_end(&opened, run);
    return status;
}
