/* SPDX-License-Identifier: MIT
 *
 * Naming code that programs made at run time, by the perf map of its process.
 */
#include "libprofconv/symbolize/pass.h"

static int name_by_map(pfc_run *run, const pfc_group *group, pfc_key *keys, const char *path) {
    pfc_answers answers;
    int status = pfc_answers_init(&answers, run->mem, keys, group->count);
    uint64_t symbols = 0, unnamed = group->count;
    int missing = 0;
    if (!status) {
        profconv_error reason;
        status = pfc_perf_map_read(&answers, path, &symbols, &reason);
        missing = status == PROFCONV_E_IO;
        if (status && !missing)
            *run->error = reason;
        status = missing ? 0 : status;
    }
    if (!status && !missing)
        status = pfc_run_name_by_answers(run, &answers, keys, &unnamed);
    pfc_answers_free(&answers);
    if (status)
        return status;
    run->done += unnamed;
    if (missing)
        profconv_report_add(run->report, group->known_code ? PROFCONV_NOTE_WARNING : PROFCONV_NOTE_INFO, "no-perf-map",
                            group->count, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: not found; %llu addresses of generated code stay without names", path,
                            (unsigned long long)group->count);
    else if (unnamed)
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "not-in-perf-map", unnamed, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: %llu of %llu addresses are in none of its %llu symbols", path,
                            (unsigned long long)unnamed, (unsigned long long)group->count, (unsigned long long)symbols);
    for (size_t i = 0; !missing && i < unnamed; i++) {
        const profconv_location *location = &run->model->locations.data[keys[i].id];
        if (location->line_count == 0)
            pfc_builder_set_location_flags(run->builder, keys[i].id, location->flags | PROFCONV_LOCATION_NO_SYMBOL);
    }
    return 0;
}

int pfc_run_jit(pfc_run *run, const pfc_group *group) {
    if (group->pid == 0) {
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "no-perf-map", group->count, 0, PROFCONV_NO_OFFSET, 0,
                            "%llu addresses of generated code have no process, so no perf map",
                            (unsigned long long)group->count);
        run->done += group->count;
        return 0;
    }
    pfc_key *keys = pfc_alloc(run->mem, group->count * sizeof *keys);
    pfc_buf path;
    pfc_buf_init(&path, run->mem);
    pfc_buf_printf(&path, "%s/perf-%u.map", run->perf_map_dir, group->pid);
    int status = keys && !path.failed ? 0 : run->mem->failed;
    for (size_t i = 0; !status && i < group->count; i++) {
        profconv_id id = run->items[group->first + i];
        pfc_key key = {run->model->locations.data[id].address, 0, id};
        keys[i] = key;
    }
    if (!status)
        status = pfc_sort_keys(run->mem, keys, group->count);
    if (!status)
        status = name_by_map(run, group, keys, path.data);
    pfc_buf_free(&path);
    pfc_free(run->mem, keys, keys ? group->count * sizeof *keys : 0);
    return status;
}
