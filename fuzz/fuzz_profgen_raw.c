/* SPDX-License-Identifier: MIT
 *
 * The reader of profgen-raw: groups of two lists, contexts.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"profgen-raw", "autofdo-text", NULL};
    return fuzz_read_write(data, size, "profgen-raw", writers);
}
