/* SPDX-License-Identifier: MIT
 *
 * The rule for struct_size, and the default limits.
 */
#include "libprofconv/base/struct.h"

#include <string.h>

/* No struct of this library comes near; a larger size is uninitialised memory. */
#define PFC_STRUCT_MAX 4096

int pfc_struct_copy(void *dst, size_t dst_size, const void *src, const char *what, profconv_error *error) {
    memset(dst, 0, dst_size);
    size_t size = dst_size;
    if (src) {
        memcpy(&size, src, sizeof size);
        if (size < sizeof size || size > PFC_STRUCT_MAX)
            return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "%s: struct_size is %zu, %zu expected", what, size, dst_size);
        for (size_t i = dst_size; i < size; i++)
            if (((const unsigned char *)src)[i])
                return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                          "%s: byte %zu is set, and this version knows only %zu bytes", what, i,
                                          dst_size);
        memcpy(dst, src, size < dst_size ? size : dst_size);
    }
    memcpy(dst, &dst_size, sizeof dst_size);
    return PROFCONV_OK;
}

int pfc_limits_copy(profconv_limits *dst, const profconv_limits *src, profconv_error *error) {
    int status = pfc_struct_copy(dst, sizeof *dst, src, "profconv_limits", error);
    if (status)
        return status;
    if (dst->on_limit > PROFCONV_ON_LIMIT_TRUNCATE)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "profconv_limits: on_limit is %lu",
                                  (unsigned long)dst->on_limit);
    if (!dst->max_memory)
        dst->max_memory = UINT64_MAX;
    if (!dst->max_inflated)
        dst->max_inflated = (uint64_t)64 << 30;
    if (!dst->max_inflate_ratio)
        dst->max_inflate_ratio = 2000;
    if (!dst->max_depth)
        dst->max_depth = 16384;
    if (!dst->max_string)
        dst->max_string = 16u << 20;
    return PROFCONV_OK;
}

int pfc_allocator_copy(profconv_allocator *dst, const profconv_allocator *src, profconv_error *error) {
    int status = pfc_struct_copy(dst, sizeof *dst, src, "profconv_allocator", error);
    if (!status && src && !dst->resize)
        status =
            profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "profconv_allocator: resize is NULL");
    return status;
}
