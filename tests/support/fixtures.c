/* SPDX-License-Identifier: MIT
 *
 * Walks the two folders of each format, in the order of names.
 */
#include "tests/support/fixtures.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int test_full(void) { return getenv("PROFCONV_FULL") != NULL; }

int test_sampled(void) { return getenv("PROFCONV_SAMPLED") != NULL; }

int test_reduced(void) { return (getenv("PROFCONV_SANITIZED") != NULL || test_sampled()) && !test_full(); }

static unsigned char *load(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    unsigned char *data = malloc(size ? size : 1);
    if (!file || !data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        free(data);
        data = NULL;
    }
    if (file)
        fclose(file);
    return data;
}

static int is_of_format(const profconv_registry *registry, const unsigned char *data, size_t size, const char *format) {
    profconv_input *input = NULL;
    profconv_format_info info;
    int same = 0;
    if (profconv_input_open_memory(&input, data, size, NULL, NULL) == PROFCONV_OK)
        same = profconv_detect(registry, input, &info, NULL) == PROFCONV_OK && strcmp(info.name, format) == 0;
    profconv_input_free(input);
    return same;
}

static int add(test_fixtures *out, const test_fixture *fixture) {
    test_fixture *items = realloc(out->items, (out->count + 1) * sizeof *items);
    if (!items)
        return -1;
    items[out->count++] = *fixture;
    out->items = items;
    return 0;
}

static int add_file(test_fixtures *out, const profconv_registry *registry, const char *source_dir, const char *folder,
                    const char *name, const char *format, int by_content, size_t max_size) {
    test_fixture fixture;
    struct stat st;
    memset(&fixture, 0, sizeof fixture);
    int n = snprintf(fixture.label, sizeof fixture.label, "%s/%s/%s", folder, format, name);
    int m = snprintf(fixture.path, sizeof fixture.path, "%s/%s", source_dir, fixture.label);
    if (n < 0 || (size_t)n >= sizeof fixture.label || m < 0 || (size_t)m >= sizeof fixture.path)
        return -1;
    if (stat(fixture.path, &st) != 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > max_size)
        return 0;
    fixture.format = format;
    fixture.size = (size_t)st.st_size;
    fixture.data = load(fixture.path, fixture.size);
    if (!fixture.data)
        return -1;
    if ((!by_content || is_of_format(registry, fixture.data, fixture.size, format)) && add(out, &fixture) == 0)
        return 0;
    free(fixture.data);
    return 0;
}

static int add_folder(test_fixtures *out, const profconv_registry *registry, const char *source_dir, const char *folder,
                      const char *format, int by_content, size_t max_size) {
    char path[512];
    struct dirent **names = NULL;
    int n = snprintf(path, sizeof path, "%s/%s/%s", source_dir, folder, format);
    if (n < 0 || (size_t)n >= sizeof path)
        return -1;
    int count = scandir(path, &names, NULL, alphasort);
    int status = 0;
    for (int i = 0; i < count; i++) {
        if (status == 0 && names[i]->d_name[0] != '.')
            status = add_file(out, registry, source_dir, folder, names[i]->d_name, format, by_content, max_size);
        free(names[i]);
    }
    free(names);
    return status; /* a format without that folder has no fixtures there */
}

int test_fixtures_load(test_fixtures *out, const profconv_registry *registry, const char *source_dir, size_t max_size) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < profconv_registry_format_count(registry); i++) {
        profconv_format_info info;
        if (profconv_registry_format(registry, i, &info) != PROFCONV_OK || !info.can_read)
            continue;
        if (add_folder(out, registry, source_dir, "tests/data", info.name, 1, max_size) != 0 ||
            add_folder(out, registry, source_dir, "fuzz/seeds", info.name, 0, max_size) != 0)
            return -1;
    }
    return 0;
}

void test_fixtures_free(test_fixtures *fixtures) {
    for (size_t i = 0; i < fixtures->count; i++)
        free(fixtures->items[i].data);
    free(fixtures->items);
    memset(fixtures, 0, sizeof *fixtures);
}
