/* SPDX-License-Identifier: MIT
 *
 * What a comparison calls functions, for a picture of it.
 */
#include "libprofconv/base/change.h"
#include "libprofconv/base/text.h"
#include "libprofconv/transform/diff.h"

int profconv_diff_settings(const profconv_diff *d, profconv_options *settings, profconv_error *error) {
    static const char hex[] = "0123456789abcdef";
    pfc_mem mem;
    pfc_buf text;
    if (d->rows.by != PROFCONV_BY_FUNCTION)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "a picture calls functions what a comparison by function calls them");
    pfc_mem_init(&mem, &d->rows.mem.allocator, 0);
    pfc_buf_init(&text, &mem);
    for (size_t i = 1; i < d->size; i++) {
        const pfc_row *row = &d->rows.rows.data[i];
        uint64_t hash = pfc_change_hash(row->name, row->file);
        if (i > 1)
            pfc_buf_char(&text, ',');
        for (int m = 0; m < PFC_MEASURES; m++)
            pfc_buf_char(&text, (char)('0' + d->verdicts[m][i].diff_class));
        for (int shift = 60; shift >= 0; shift -= 4)
            pfc_buf_char(&text, hex[hash >> shift & 15]);
    }
    int status = text.failed ? pfc_mem_error(&mem, error)
                             : profconv_options_put(settings, "flamegraph", "classes", text.data ? text.data : "", error);
    pfc_buf_free(&text);
    return status;
}
