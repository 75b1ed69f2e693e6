/* SPDX-License-Identifier: MIT
 *
 * The reader of autofdo-text: three lists.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"autofdo-text", "profgen-raw", NULL};
    return fuzz_read_write(data, size, "autofdo-text", writers);
}
