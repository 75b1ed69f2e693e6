/* SPDX-License-Identifier: MIT
 *
 * The reader of bolt-fdata: headers, escaped names, rows of either form.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"bolt-fdata", NULL};
    return fuzz_read_write(data, size, "bolt-fdata", writers);
}
