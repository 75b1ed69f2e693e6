/* SPDX-License-Identifier: MIT
 *
 * The reader of gcc-afdo: strings in words or bytes, the layouts of all versions.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"gcc-afdo", "llvm-text", NULL};
    return fuzz_read_write(data, size, "gcc-afdo", writers);
}
