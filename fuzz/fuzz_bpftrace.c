/* SPDX-License-Identifier: MIT
 *
 * Any bytes as bpftrace, written by the writers that can hold them.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"collapsed", "pprof", NULL};
    return fuzz_read_write(data, size, "bpftrace", writers);
}
