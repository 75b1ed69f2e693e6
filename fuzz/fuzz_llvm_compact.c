/* SPDX-License-Identifier: MIT
 *
 * The reader of llvm-compact: hashes and the table of offsets.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"llvm-text", "llvm-extbinary", NULL};
    return fuzz_read_write(data, size, "llvm-compact", writers);
}
