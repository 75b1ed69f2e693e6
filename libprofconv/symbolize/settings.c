/* SPDX-License-Identifier: MIT
 *
 * Where files are looked for, out of the settings of "symbolize".
 */
#include "libprofconv/symbolize/settings.h"

#include <string.h>

static int read_list(pfc_mem *mem, const profconv_options *options, const char *key, const char *const **out,
                     size_t *count) {
    size_t n = 0;
    while (profconv_options_item(options, "symbolize", key, n))
        n++;
    *out = NULL;
    *count = 0;
    if (n == 0)
        return 0;
    const char **list = pfc_alloc(mem, n * sizeof *list);
    if (!list)
        return mem->failed;
    for (size_t i = 0; i < n; i++)
        list[i] = profconv_options_item(options, "symbolize", key, i);
    *out = list;
    *count = n;
    return 0;
}

int pfc_finder_settings_read(pfc_finder_settings *out, pfc_mem *mem, const profconv_options *options,
                             profconv_error *error) {
    pfc_finder *finder = &out->finder;
    memset(out, 0, sizeof *out);
    finder->symfs = profconv_options_get(options, "symbolize", "symfs");
    finder->buildid_dir = profconv_options_get(options, "symbolize", "buildid-dir");
    int status = read_list(mem, options, "binary", &finder->binaries, &finder->binary_count);
    if (status == 0)
        status = read_list(mem, options, "debug-dir", &finder->debug_dirs, &finder->debug_dir_count);
    if (status) {
        pfc_finder_settings_free(out, mem);
        return pfc_mem_error(mem, error);
    }
    return 0;
}

void pfc_finder_settings_free(pfc_finder_settings *settings, pfc_mem *mem) {
    pfc_finder *finder = &settings->finder;
    pfc_free(mem, (void *)(uintptr_t)finder->binaries, finder->binary_count * sizeof(char *));
    pfc_free(mem, (void *)(uintptr_t)finder->debug_dirs, finder->debug_dir_count * sizeof(char *));
    memset(settings, 0, sizeof *settings);
}
