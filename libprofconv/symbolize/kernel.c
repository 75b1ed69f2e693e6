/* SPDX-License-Identifier: MIT
 *
 * Naming kernel code: by a vmlinux whose build-id agrees (moved by the distance between where its reference symbol was
 * linked and where it ran), else by kallsyms: the copy that the user names, the one in perf's cache, or, when the
 * recording was made under the kernel that runs here, /proc/kallsyms.
 */
#include <string.h>
#include <unistd.h>

#include "libprofconv/symbolize/image.h"
#include "libprofconv/symbolize/pass.h"

typedef struct {
    pfc_run *run;
    const char *id;
    pfc_binary *binary;
    char *kallsyms;
    size_t kallsyms_size;
    int failed;
} kernel_search;

static int take_vmlinux(void *user, const char *path) {
    kernel_search *search = user;
    int status = pfc_binary_open(&search->binary, search->run->mem, path, search->id, &search->run->finder, NULL);
    if (status == PROFCONV_E_NOMEM || status == PROFCONV_E_LIMIT)
        search->failed = status;
    return status == 0 || search->failed;
}

static int take_kallsyms(void *user, const char *path) {
    kernel_search *search = user;
    size_t n = strlen(path);
    profconv_input *input = NULL;
    int fd = -1;
    if (n < 9 || strcmp(path + n - 9, "/kallsyms") != 0 || pfc_text_open(&input, &fd, path, NULL) != 0)
        return 0;
    profconv_input_free(input);
    close(fd);
    search->kallsyms = pfc_strdup(search->run->mem, path, n);
    search->kallsyms_size = n + 1;
    if (!search->kallsyms)
        search->failed = search->run->mem->failed;
    return 1;
}

static int name_by_vmlinux(pfc_run *run, const pfc_group *group, pfc_binary *binary) {
    const profconv_mapping *mapping = &run->model->mappings.data[group->mapping];
    uint64_t slide = 0;
    size_t size = 0;
    char *reference = pfc_run_copy(run, mapping->reference, &size);
    if (!reference)
        return run->mem->failed;
    const pfc_symbol *symbol = *reference ? pfc_binary_symbol_named(binary, reference) : NULL;
    if (symbol && mapping->reference_address)
        slide = mapping->reference_address - symbol->address;
    else
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "kernel-not-moved", group->count, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: nothing tells where the kernel ran; addresses are taken as linked",
                            pfc_binary_path(binary));
    pfc_free(run->mem, reference, size + 1);
    pfc_key *keys = pfc_alloc(run->mem, group->count * sizeof *keys);
    if (!keys)
        return run->mem->failed;
    for (size_t i = 0; i < group->count; i++) {
        profconv_id id = run->items[group->first + i];
        pfc_key key = {run->model->locations.data[id].address - slide, 0, id};
        keys[i] = key;
    }
    uint64_t unnamed = 0;
    int status = pfc_sort_keys(run->mem, keys, group->count);
    if (!status)
        status = pfc_run_name_in_binary(run, binary, NULL, keys, group->count, &unnamed);
    pfc_free(run->mem, keys, group->count * sizeof *keys);
    if (unnamed)
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "no-symbol", unnamed, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: %llu addresses have no symbol", pfc_binary_path(binary), (unsigned long long)unnamed);
    return status;
}

/* The file that the user named, when it is the right one. */
static int open_named_vmlinux(pfc_run *run, const char *id, pfc_binary **binary) {
    profconv_error reason;
    int status = pfc_binary_open(binary, run->mem, run->vmlinux, id, &run->finder, &reason);
    if (status == PROFCONV_E_NOT_FOUND)
        profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "build-id-mismatch", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: not used", reason.message);
    else if (status == PROFCONV_E_IO || status == PROFCONV_E_FORMAT)
        profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "unusable-file", 1, 0, PROFCONV_NO_OFFSET, 0, "%s",
                            reason.message);
    else
        return status;
    return 0;
}

static int open_vmlinux(pfc_run *run, const char *id, pfc_binary **binary) {
    static const char *const cached[] = {"vmlinux", "elf", "debug", NULL};
    kernel_search search = {.run = run, .id = id};
    int status = run->vmlinux ? open_named_vmlinux(run, id, binary) : 0;
    if (status || *binary || !*id)
        return status;
    for (size_t i = 0; i < run->finder.binary_count && !search.binary; i++)
        (void)take_vmlinux(&search, run->finder.binaries[i]);
    if (!search.binary && !search.failed)
        (void)pfc_find_by_id(&run->finder, run->mem, id, ".debug", cached, take_vmlinux, &search);
    *binary = search.binary;
    return search.failed;
}

/* The kallsyms file to use for a group; NULL when there is none. `path` is to be freed with *size when it is not one of
 * ours. */
static int choose_kallsyms(pfc_run *run, const char *id, const char **path, char **owned, size_t *size) {
    static const char *const cached[] = {"kallsyms", NULL};
    *path = run->kallsyms;
    *owned = NULL;
    if (*path || !*id)
        return 0;
    kernel_search search = {.run = run, .id = id};
    (void)pfc_find_by_id(&run->finder, run->mem, id, "/kallsyms", cached, take_kallsyms, &search);
    if (search.failed)
        return search.failed;
    *path = *owned = search.kallsyms;
    *size = search.kallsyms_size;
    if (!*path) {
        char running[PFC_BUILD_ID_TEXT];
        pfc_running_kernel_id(running, sizeof running);
        if (*running && pfc_build_id_equal(running, id))
            *path = "/proc/kallsyms";
    }
    return 0;
}

/* Appends a group's locations to keys. */
static void add_keys(pfc_run *run, const pfc_group *group, pfc_key *keys, size_t *count) {
    for (size_t i = 0; i < group->count; i++) {
        profconv_id id = run->items[group->first + i];
        pfc_key key = {run->model->locations.data[id].address, 0, id};
        keys[(*count)++] = key;
    }
}

static void note_kallsyms(pfc_run *run, const char *path, const pfc_kallsyms_facts *facts, uint64_t count,
                          uint64_t unnamed) {
    if (facts->hidden)
        profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "kernel-addresses-hidden", count, 0, PROFCONV_NO_OFFSET,
                            0, "%s: all addresses are zero (kernel.kptr_restrict); kernel code stays without names",
                            path);
    else if (unnamed)
        profconv_report_add(run->report, PROFCONV_NOTE_INFO, "no-symbol", unnamed, 0, PROFCONV_NO_OFFSET, 0,
                            "%s: %llu kernel addresses have no symbol", path, (unsigned long long)unnamed);
    if (facts->moved)
        profconv_report_add(
            run->report, PROFCONV_NOTE_INFO, "kernel-symbols-moved", count, 0, PROFCONV_NO_OFFSET, 0,
            "%s: from another start of the kernel; its symbols were moved to where the recording has them", path);
}

static int name_by_kallsyms(pfc_run *run, const char *path, const profconv_mapping *kernel_mapping, pfc_key *keys,
                            size_t count) {
    size_t size = 0;
    uint64_t reference_address = kernel_mapping ? kernel_mapping->reference_address : 0;
    char *reference = pfc_run_copy(run, kernel_mapping ? kernel_mapping->reference : 0, &size);
    if (!reference)
        return run->mem->failed;
    int status = pfc_sort_keys(run->mem, keys, count);
    pfc_answers answers;
    if (!status)
        status = pfc_answers_init(&answers, run->mem, keys, count);
    else
        memset(&answers, 0, sizeof answers);
    pfc_kallsyms_facts facts = {0};
    uint64_t unnamed = count;
    if (!status) {
        profconv_error reason;
        status = pfc_kallsyms_read(&answers, path, reference, reference_address, &facts, &reason);
        if (status == PROFCONV_E_IO) {
            profconv_report_add(run->report, PROFCONV_NOTE_WARNING, "unusable-file", 1, 0, PROFCONV_NO_OFFSET, 0, "%s",
                                reason.message);
            status = 0;
        } else if (status) {
            *run->error = reason;
        }
    }
    if (!status)
        status = pfc_run_name_by_answers(run, &answers, keys, &unnamed);
    if (!status)
        note_kallsyms(run, path, &facts, count, unnamed);
    run->done += unnamed;
    if (answers.mem)
        pfc_answers_free(&answers);
    pfc_free(run->mem, reference, size + 1);
    return status;
}

static void note_nothing(pfc_run *run, const pfc_group *group) {
    profconv_string file = pfc_model_string(run->model, group->file);
    int module = group->place == PFC_PLACE_MODULE;
    profconv_report_add(
        run->report, PROFCONV_NOTE_WARNING, "no-kernel-symbols", group->count, 0, PROFCONV_NO_OFFSET, 0,
        "%s%.*s: no vmlinux, module file or kallsyms that belongs to it; %llu addresses stay without names",
        module ? "kernel module " : "kernel", module ? (int)file.size : 0, file.data, (unsigned long long)group->count);
    run->done += group->count;
}

/* One kernel group, with the module groups when this is the kernel they were loaded into. */
static int run_kernel(pfc_run *run, const pfc_group *group, const pfc_group *modules, size_t module_count) {
    size_t id_size = 0, path_size = 0, total = group ? group->count : 0, count = 0;
    char *id = pfc_run_copy(run, group ? group->build_id : 0, &id_size);
    pfc_binary *binary = NULL;
    int status = id ? 0 : run->mem->failed;
    if (!status && group)
        status = open_vmlinux(run, id, &binary);
    if (!status && binary) {
        status = name_by_vmlinux(run, group, binary);
        total = 0;
    }
    const int by_vmlinux = binary != NULL;
    pfc_binary_close(binary);
    const char *path = NULL;
    char *owned = NULL;
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].place == PFC_PLACE_MODULE)
            total += modules[i].count;
    if (!status && total)
        status = choose_kallsyms(run, id, &path, &owned, &path_size);
    pfc_key *keys = !status && path ? pfc_alloc(run->mem, total * sizeof *keys) : NULL;
    if (!status && path && !keys)
        status = run->mem->failed;
    if (keys) {
        if (group && !by_vmlinux)
            add_keys(run, group, keys, &count);
        for (size_t i = 0; i < module_count; i++)
            if (modules[i].place == PFC_PLACE_MODULE)
                add_keys(run, &modules[i], keys, &count);
        status = name_by_kallsyms(run, path, group ? &run->model->mappings.data[group->mapping] : NULL, keys, count);
    } else if (!status) {
        if (group && !by_vmlinux)
            note_nothing(run, group);
        for (size_t i = 0; i < module_count; i++)
            if (modules[i].place == PFC_PLACE_MODULE)
                note_nothing(run, &modules[i]);
    }
    pfc_free(run->mem, keys, keys ? total * sizeof *keys : 0);
    pfc_free(run->mem, owned, owned ? path_size : 0);
    pfc_free(run->mem, id, id ? id_size + 1 : 0);
    return status;
}

int pfc_run_kernel(pfc_run *run, const pfc_group *groups, size_t count) {
    size_t kernels = 0, last = 0;
    for (size_t i = 0; i < count; i++)
        if (groups[i].place == PFC_PLACE_KERNEL) {
            kernels++;
            last = i;
        }
    /* Modules say nothing about the kernel they belong to; with several kernels it cannot be told, unless the user
     * names kallsyms. */
    int status = 0;
    for (size_t i = 0; !status && i < count; i++)
        if (groups[i].place == PFC_PLACE_KERNEL)
            status = run_kernel(run, &groups[i], groups, i == last && kernels == 1 ? count : 0);
    if (!status && kernels != 1)
        status = run_kernel(run, NULL, groups, count);
    return status;
}
