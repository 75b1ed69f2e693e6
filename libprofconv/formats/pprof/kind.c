/* SPDX-License-Identifier: MIT
 *
 * What names mean: a pprof says what a mapping or a column is by its name alone.
 */
#include "libprofconv/formats/pprof/kind.h"

#include <string.h>

static int equals(profconv_string s, const char *text) {
    size_t n = strlen(text);
    return s.size == n && memcmp(s.data, text, n) == 0;
}
static int starts(profconv_string s, const char *text) {
    size_t n = strlen(text);
    return s.size >= n && memcmp(s.data, text, n) == 0;
}
static int ends(profconv_string s, const char *text) {
    size_t n = strlen(text);
    return s.size >= n && memcmp(s.data + s.size - n, text, n) == 0;
}

static int is_module_file(profconv_string file) {
    return ends(file, ".ko") || ends(file, ".ko.xz") || ends(file, ".ko.gz") || ends(file, ".ko.zst");
}

static uint32_t bracketed_kind(profconv_string file) {
    if (starts(file, "[kernel") || starts(file, "[guest.kernel"))
        return file.data[1] == 'g' ? PROFCONV_MAPPING_GUEST : PROFCONV_MAPPING_KERNEL;
    if (equals(file, "[vdso]") || equals(file, "[vsyscall]") || starts(file, "[vdso32]") || starts(file, "[vdsox32]"))
        return PROFCONV_MAPPING_VDSO;
    if (starts(file, "[heap]") || starts(file, "[stack") || starts(file, "[anon") || equals(file, "[uprobes]"))
        return PROFCONV_MAPPING_ANONYMOUS;
    return PROFCONV_MAPPING_MODULE; /* perf writes modules and BPF programs as [name] */
}

uint32_t pfc_pprof_mapping_kind(profconv_string file, int first) {
    if (starts(file, "[") && file.size > 1)
        return bracketed_kind(file);
    if (starts(file, "linux-vdso") || starts(file, "linux-gate"))
        return PROFCONV_MAPPING_VDSO;
    if (is_module_file(file))
        return PROFCONV_MAPPING_MODULE;
    if (starts(file, "/tmp/perf-") && ends(file, ".map"))
        return PROFCONV_MAPPING_JIT;
    if (starts(file, "//anon") || starts(file, "/memfd:") || starts(file, "/dev/zero"))
        return PROFCONV_MAPPING_ANONYMOUS;
    if (first)
        return PROFCONV_MAPPING_EXECUTABLE; /* the format's own rule, also where the name is missing */
    return file.size == 0 ? PROFCONV_MAPPING_ANONYMOUS : PROFCONV_MAPPING_LIBRARY;
}

/* `counted`: an earlier column is the number of samples. */
uint32_t pfc_pprof_value_role(profconv_string name, profconv_string unit, int first, int counted) {
    if (!equals(unit, "count"))
        return unit.size ? PROFCONV_ROLE_WEIGHT : PROFCONV_ROLE_VALUE;
    if (first || equals(name, "samples") || ends(name, "_samples") || ends(name, "objects"))
        return PROFCONV_ROLE_COUNT;
    return counted ? PROFCONV_ROLE_WEIGHT : PROFCONV_ROLE_VALUE; /* samples/count, then cycles/count */
}

pfc_pprof_column pfc_pprof_column_of(profconv_string name, profconv_string unit) {
    if (!equals(unit, "count"))
        return PFC_PPROF_SAMPLES;
    if (equals(name, "branch"))
        return PFC_PPROF_BRANCH;
    if (equals(name, "branch_mispredicted"))
        return PFC_PPROF_MISPREDICTED;
    if (equals(name, "range"))
        return PFC_PPROF_RANGE;
    if (equals(name, "address"))
        return PFC_PPROF_ADDRESS;
    return PFC_PPROF_SAMPLES;
}
