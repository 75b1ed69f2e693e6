/* SPDX-License-Identifier: MIT
 *
 * Matching a binary to the mappings of a profile: by build-id, which decides where both have one, else by file name.
 */
#include "libprofconv/pgo/select.h"

#include <string.h>

#include "libprofconv/base/text.h"

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Without " (deleted)", which the kernel appends to files that were replaced. */
static size_t name_size(const char *name) {
    static const char deleted[] = " (deleted)";
    size_t size = strlen(name);
    size_t tail = sizeof deleted - 1;
    return size > tail && strcmp(name + size - tail, deleted) == 0 ? size - tail : size;
}

static int same_name(const char *file, const char *path) {
    const char *a = base_name(file);
    const char *b = base_name(path);
    size_t size = name_size(a);
    return size > 0 && size == strlen(b) && memcmp(a, b, size) == 0;
}

static int has_build_id(const pfc_binary *binary, const char *id) {
    for (size_t i = 0; pfc_binary_build_id(binary, i); i++) {
        if (pfc_build_id_equal(pfc_binary_build_id(binary, i), id))
            return 1;
    }
    return 0;
}

static int is_code(const profconv_mapping *mapping) {
    return mapping->kind != PROFCONV_MAPPING_JIT && mapping->kind != PROFCONV_MAPPING_ANONYMOUS &&
           mapping->kind != PROFCONV_MAPPING_VDSO && mapping->kind != PROFCONV_MAPPING_GUEST;
}

/* The kernel's mapping has a name of its own. */
static int is_kernel(const profconv_mapping *mapping, const char *path) {
    return mapping->kind == PROFCONV_MAPPING_KERNEL && strncmp(base_name(path), "vmlinux", 7) == 0;
}

size_t pfc_select_mappings(const pfc_model *model, const pfc_binary *binary, uint8_t *of_binary) {
    size_t found = 0;
    memset(of_binary, 0, model->mappings.count);
    for (size_t i = 1; i < model->mappings.count; i++) {
        const profconv_mapping *mapping = &model->mappings.data[i];
        const char *id = pfc_model_string(model, mapping->build_id).data;
        if (is_code(mapping) && *id && has_build_id(binary, id)) {
            of_binary[i] = 1;
            found++;
        }
    }
    if (found)
        return found;
    const char *path = pfc_binary_path(binary);
    int binary_has_id = pfc_binary_build_id(binary, 0) != NULL;
    for (size_t i = 1; i < model->mappings.count; i++) {
        const profconv_mapping *mapping = &model->mappings.data[i];
        const char *file = pfc_model_string(model, mapping->file).data;
        if (!is_code(mapping) || (mapping->build_id && binary_has_id))
            continue;
        if (same_name(file, path) || is_kernel(mapping, path) || (!*file && !mapping->build_id)) {
            of_binary[i] = 1;
            found++;
        }
    }
    return found;
}

/* ---- what is there ---- */

static void weigh(const pfc_model *model, uint64_t *weights, profconv_id location, uint64_t count) {
    profconv_id mapping = model->locations.data[location].mapping;
    weights[mapping] = pfc_add_sat(weights[mapping], count);
}

void pfc_mapping_weights(const pfc_model *model, uint64_t *weights) {
    memset(weights, 0, model->mappings.count * sizeof *weights);
    for (size_t i = 0; i < model->ranges.count; i++)
        weigh(model, weights, model->ranges.data[i].begin, model->ranges.data[i].count);
    if (model->ranges.count)
        return;
    for (size_t i = 0; i < model->addresses.count; i++)
        weigh(model, weights, model->addresses.data[i].location, model->addresses.data[i].count);
    if (model->addresses.count || model->values.count == 0)
        return;
    for (size_t i = 0; i < model->sample_stacks.count; i++) {
        profconv_id stack = model->sample_stacks.data[i];
        int64_t value = model->values.data[0].data[i];
        if (stack && value > 0)
            weigh(model, weights, model->stacks.data[stack].location, (uint64_t)value);
    }
}

/* Length of the longest common beginning of two names: how near they are. */
static size_t nearness(const char *file, const char *path) {
    const char *a = base_name(file);
    const char *b = base_name(path);
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

static void list_mappings(const pfc_model *model, uint64_t *weights, const char *path, pfc_buf *out) {
    enum { MOST = 6 };
    size_t shown = 0;
    size_t others = 0;
    for (size_t i = 1; i < model->mappings.count; i++)
        others += (size_t)is_code(&model->mappings.data[i]);
    for (; shown < MOST; shown++) {
        size_t best = 0;
        size_t best_near = 0;
        for (size_t i = 1; i < model->mappings.count; i++) {
            if (weights[i] == UINT64_MAX || !is_code(&model->mappings.data[i]))
                continue;
            size_t near = nearness(pfc_model_string(model, model->mappings.data[i].file).data, path);
            near = near >= 3 ? near : 0; /* a letter or two in common says nothing */
            if (best == 0 || near > best_near || (near == best_near && weights[i] > weights[best])) {
                best = i;
                best_near = near;
            }
        }
        if (best == 0)
            break;
        const profconv_mapping *mapping = &model->mappings.data[best];
        const char *file = pfc_model_string(model, mapping->file).data;
        const char *id = pfc_model_string(model, mapping->build_id).data;
        pfc_buf_printf(out, "%s%s (build-id %s, %llu counts)", shown ? ", " : "", *file ? file : "(unnamed)",
                       *id ? id : "unknown", (unsigned long long)weights[best]);
        weights[best] = UINT64_MAX; /* shown */
        others--;
    }
    if (others)
        pfc_buf_printf(out, " and %zu more", others);
    if (shown == 0)
        pfc_buf_text(out, "no mapping of a file");
}

int pfc_select_failure(pfc_mem *mem, const pfc_model *model, const pfc_binary *binary, const char *path,
                       profconv_error *error) {
    size_t bytes = model->mappings.count * sizeof(uint64_t);
    uint64_t *weights = pfc_alloc(mem, bytes);
    pfc_buf list;
    pfc_buf_init(&list, mem);
    if (weights) {
        pfc_mapping_weights(model, weights);
        list_mappings(model, weights, path, &list);
    }
    const char *id = pfc_binary_build_id(binary, 0);
    int status = profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0,
                                    "no mapping of the profile matches %s (build-id %s); there are: %s", path,
                                    id ? id : "none", list.data ? list.data : "");
    pfc_buf_free(&list);
    pfc_free(mem, weights, bytes);
    return status;
}
