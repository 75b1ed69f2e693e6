/* SPDX-License-Identifier: MIT
 *
 * The reader of go-preprofile: cut triplets, odd numbers, functions that call themselves.
 */
#include "fuzz/read_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const writers[] = {"go-preprofile", "pprof", "collapsed", NULL};
    return fuzz_read_write(data, size, "go-preprofile", writers);
}
