/* SPDX-License-Identifier: MIT
 *
 * Two ways to read on top of the window: line by line, and all at once.
 */
#include "libprofconv/io/input.h"

#include <string.h>

int pfc_input_line(profconv_input *input, size_t max, const char **data, size_t *size, int *got_line, int *terminated,
                   profconv_error *error) {
    profconv_input_consume(input, 0);
    *data = "";
    *size = 0;
    *got_line = *terminated = 0;
    size_t searched = 0;
    for (;;) {
        const uint8_t *p;
        size_t got;
        int status = profconv_input_window(input, searched + 1, &p, &got, error);
        if (status)
            return status;
        const uint8_t *lf = got > searched ? (const uint8_t *)memchr(p + searched, '\n', got - searched) : NULL;
        size_t length = lf ? (size_t)(lf - p) : got;
        if (length > max)
            return profconv_error_set(error, PROFCONV_E_LIMIT, input->offset, 0,
                                      "%s: offset %llu: line of more than %zu bytes", input->name,
                                      (unsigned long long)input->offset, max);
        if (!lf && got > searched) {
            searched = got;
            continue;
        }
        *data = (const char *)p;
        *size = length;
        *got_line = got > 0;
        *terminated = lf != NULL;
        input->line = length + (lf != NULL);
        return PROFCONV_OK;
    }
}

int pfc_input_read_all(profconv_input *input, pfc_mem *mem, uint64_t max, uint8_t **data, size_t *size,
                       size_t *capacity, profconv_error *error) {
    *data = NULL;
    *size = *capacity = 0;
    void *block = NULL;
    size_t used = 0, room = 0;
    int status = PROFCONV_OK;
    for (;;) {
        const uint8_t *p;
        size_t got;
        if ((status = profconv_input_window(input, 0, &p, &got, error)) != 0 || got == 0)
            break;
        if (used > max || got > max - used) {
            status = profconv_error_set(error, PROFCONV_E_LIMIT, input->offset, 0, "%s: more than %llu bytes",
                                        input->name, (unsigned long long)max);
            break;
        }
        size_t needed = used + got;
        /* With a known size one block of just that size does; a size that is not true costs a growth. */
        if (used == 0 && input->size != UINT64_MAX && input->size > input->offset &&
            input->size - input->offset <= max && input->size - input->offset <= SIZE_MAX)
            needed = (size_t)(input->size - input->offset);
        mem->failed = 0;
        if (pfc_grow(mem, &block, &room, needed, 1)) {
            status = pfc_mem_error(mem, error);
            break;
        }
        memcpy((uint8_t *)block + used, p, got);
        used += got;
        profconv_input_consume(input, got);
    }
    if (status) {
        pfc_free(mem, block, room);
        return status;
    }
    *data = (uint8_t *)block;
    *size = used;
    *capacity = room;
    return PROFCONV_OK;
}
