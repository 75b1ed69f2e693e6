/* SPDX-License-Identifier: MIT
 *
 * The reader of llvm-text: contexts, checksums, odd names, nesting.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"llvm-text", "llvm-extbinary", "gcc-afdo", NULL};
    return fuzz_read_write(data, size, "llvm-text", writers);
}
