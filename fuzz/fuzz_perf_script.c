/* SPDX-License-Identifier: MIT
 *
 * Any bytes as text of perf script, written by the writers that can hold it.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"collapsed", "pprof", "autofdo-text", NULL};
    return fuzz_read_write(data, size, "perf-script", writers);
}
