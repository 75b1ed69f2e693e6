/* SPDX-License-Identifier: MIT
 *
 * The reader of llvm-extbinary: sections, compressed or not, contexts, metadata.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"llvm-extbinary", "llvm-text", NULL};
    return fuzz_read_write(data, size, "llvm-extbinary", writers);
}
