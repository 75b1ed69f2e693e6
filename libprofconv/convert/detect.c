/* SPDX-License-Identifier: MIT
 *
 * Which reader an input is for: each probe sees the same first bytes, the surest wins, and among equals the one that
 * was registered first. File names do not count: they are wrong too often, and pipes have none.
 */
#include <stdio.h>

#include "libprofconv/convert/convert.h"

/* A probe may look at this many bytes: enough for a text format to see some lines, small enough to wait for on a pipe.
 */
#define PFC_PROBE_WINDOW 65536

static int unknown_format(const profconv_registry *registry, const profconv_input *input, const uint8_t *head,
                          size_t size, profconv_error *error) {
    const char *name = profconv_input_name(input);
    if (size == 0)
        return profconv_error_set(error, PROFCONV_E_UNKNOWN_FORMAT, 0, 0, "%s is empty", name);
    char bytes[8 * 3 + 1] = "";
    char tried[300] = "";
    size_t at = 0;
    for (size_t i = 0; i < size && i < 8; i++)
        snprintf(bytes + i * 3, sizeof bytes - i * 3, " %02x", head[i]);
    for (size_t i = 0; i < registry->formats.count; i++) {
        const pfc_format *format = &registry->formats.data[i];
        if (!format->reader.read || !format->reader.probe)
            continue;
        int n = snprintf(tried + at, sizeof tried - at, "%s%s", at ? ", " : "", format->name);
        if (n < 0 || (size_t)n >= sizeof tried - at) {
            tried[at] = '\0';
            break;
        }
        at += (size_t)n;
    }
    return profconv_error_set(error, PROFCONV_E_UNKNOWN_FORMAT, 0, 0,
                              "%.80s is not a profile of a known format (it starts with%s; tried %s)", name, bytes,
                              at ? tried : "nothing");
}

/* Where a format is named already and only its own probe is asked. */
#define PFC_PROBE_AGAIN 8192

/* One byte more than is shown, to know whether the input ends inside the window. */
static int show_head(profconv_input *input, size_t most, const uint8_t **head, size_t *size, int *whole, profconv_error *error) {
    int status = profconv_input_window(input, most + 1, head, size, error);
    if (status != PROFCONV_OK)
        return status;
    *whole = *size <= most;
    if (!*whole)
        *size = most;
    return PROFCONV_OK;
}

int profconv_probe(const profconv_registry *registry, profconv_input *input, const char *name, int *sure,
                   profconv_error *error) {
    const pfc_format *format = NULL;
    const uint8_t *head = NULL;
    size_t size = 0;
    int whole = 0;
    *sure = 0;
    int status = pfc_registry_need(registry, name, 0, &format, error);
    if (status == PROFCONV_OK)
        status = show_head(input, PFC_PROBE_AGAIN, &head, &size, &whole, error);
    if (status == PROFCONV_OK && size > 0 && format->reader.probe)
        *sure = format->reader.probe(format->reader.user, head, size, whole);
    return status;
}

int pfc_detect_format(const profconv_registry *registry, profconv_input *input, const pfc_format **out,
                      profconv_error *error) {
    const uint8_t *head = NULL;
    size_t size = 0;
    int whole = 0;
    *out = NULL;
    int status = show_head(input, PFC_PROBE_WINDOW, &head, &size, &whole, error);
    if (status != PROFCONV_OK)
        return status;
    int best = 0;
    for (size_t i = 0; size > 0 && i < registry->formats.count; i++) {
        const pfc_format *format = &registry->formats.data[i];
        if (!format->reader.read || !format->reader.probe)
            continue;
        int sure = format->reader.probe(format->reader.user, head, size, whole);
        if (sure > best) {
            best = sure;
            *out = format;
        }
    }
    return *out ? PROFCONV_OK : unknown_format(registry, input, head, size, error);
}

int profconv_detect(const profconv_registry *registry, profconv_input *input, profconv_format_info *out,
                    profconv_error *error) {
    const pfc_format *format = NULL;
    int status = pfc_detect_format(registry, input, &format, error);
    if (status == PROFCONV_OK)
        pfc_format_describe(format, out);
    return status;
}
