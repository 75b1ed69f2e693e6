/* SPDX-License-Identifier: MIT
 *
 * The reader of llvm-binary: name indexes and nested records.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"llvm-binary", "llvm-text", NULL};
    return fuzz_read_write(data, size, "llvm-binary", writers);
}
