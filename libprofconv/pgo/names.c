/* SPDX-License-Identifier: MIT
 *
 * Suffix policies, as create_llvm_prof has them, so that its output can be matched.
 */
#include "libprofconv/pgo/names.h"

#include <string.h>

/* Position of the last occurrence of `what` in text, or size. */
static size_t find_last(const char *text, size_t size, const char *what) {
    size_t length = strlen(what);
    for (size_t at = size < length ? 0 : size - length + 1; at-- > 0;) {
        if (memcmp(text + at, what, length) == 0)
            return at;
    }
    return size;
}

/* Takes out the last `what` and, with `tail`, what follows it up to the next '.' or the end. */
static size_t erase_last(char *text, size_t size, const char *what, int tail) {
    size_t at = find_last(text, size, what);
    if (at == size)
        return size;
    size_t end = at + strlen(what);
    if (tail) {
        const char *dot = memchr(text + end, '.', size - end);
        end = dot ? (size_t)(dot - text) : size;
    }
    memmove(text + at, text + end, size - end);
    return size - (end - at);
}

size_t pfc_strip_suffixes(pfc_suffix_policy policy, const char *name, size_t size, char *out) {
    memcpy(out, name, size);
    if (policy == PFC_SUFFIX_ALL) {
        const char *dot = size ? memchr(name + 1, '.', size - 1) : NULL;
        return size && name[0] != '.' && dot ? (size_t)(dot - name) : size;
    }
    if (policy == PFC_SUFFIX_SELECTED) {
        size = erase_last(out, size, ".cold", 0);
        size = erase_last(out, size, ".llvm.", 1);
        size = erase_last(out, size, ".__part.", 1);
    }
    return size;
}

int pfc_is_split_part(const char *name) {
    size_t size = strlen(name);
    return find_last(name, size, ".cold") < size || find_last(name, size, ".__part.") < size;
}
