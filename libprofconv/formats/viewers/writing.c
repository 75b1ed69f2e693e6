/* SPDX-License-Identifier: MIT
 *
 * The frame of a viewer's writer: bytes on their way, what comes first and last, and failures in words.
 */
#include <string.h>

#include "libprofconv/formats/viewers/view.h"

void pfc_view_out_init(pfc_view_out *out, pfc_mem *mem, profconv_output *output, profconv_error *error) {
    memset(out, 0, sizeof *out);
    pfc_buf_init(&out->buf, mem);
    out->output = output;
    out->error = error;
}

int pfc_view_flush(pfc_view_out *out, int all) {
    if (out->status)
        return out->status;
    if (out->buf.failed)
        return out->status = pfc_mem_error(out->buf.mem, out->error);
    if (out->buf.size >= (size_t)1 << 16 || (all && out->buf.size > 0)) {
        out->status = profconv_output_write(out->output, out->buf.data, out->buf.size, out->error);
        pfc_buf_clear(&out->buf);
    }
    return out->status;
}

int pfc_view_finish(pfc_view_out *out, const char *format, int status, uint64_t samples, int positive) {
    pfc_mem *mem = out->buf.mem;
    if (status == PROFCONV_E_LIMIT && !mem->failed)
        return profconv_error_set(out->error, status, PROFCONV_NO_OFFSET, 0,
                                  "more than 2^31 distinct frames or stacks");
    if (status)
        return pfc_mem_error(mem, out->error);
    if (samples == 0)
        return profconv_error_set(out->error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  positive ? "nothing to write as %s: every value is zero or negative"
                                           : "nothing to write as %s: every sample has a value of zero",
                                  format);
    return pfc_view_flush(out, 1);
}

void pfc_view_tree_report(const pfc_view_tree *t, const char *format, profconv_report *report) {
    if (t->negative)
        profconv_report_add(report, PROFCONV_NOTE_DROPPED, "negative-values", t->negative, t->negative_weight,
                            PROFCONV_NO_OFFSET, 0, "samples with negative values cannot be held by %s", format);
    if (t->saturated)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "saturated", 1, 0, PROFCONV_NO_OFFSET, 0,
                            "sums that exceed 64 bits are written as the largest number");
}

int pfc_view_write(pfc_view_writing *w, const pfc_view_steps *steps, const profconv_profile *profile,
                   profconv_output *output, const profconv_options *options, profconv_report *report,
                   profconv_error *error) {
    w->profile = profile;
    w->options = options;
    pfc_mem_init(&w->mem, profconv_profile_allocator(profile), 0);
    pfc_view_out_init(&w->out, &w->mem, output, error);
    int status = pfc_view_columns_all(&w->columns, &w->mem, profile, steps->format, error);
    if (status == 0) {
        status = steps->grow(w, error);
        if (status != PROFCONV_E_INVALID) { /* a setting: said already */
            if (status == 0 && w->samples > 0)
                status = steps->write(w);
            status = pfc_view_finish(&w->out, steps->format, status, w->samples, steps->positive);
        }
    }
    if (status == 0) {
        pfc_view_tree_report(&w->tree, steps->format, report);
        if (steps->tell)
            steps->tell(w, report);
    }
    steps->release(w);
    pfc_buf_free(&w->out.buf);
    pfc_view_tree_free(&w->tree);
    pfc_view_frames_free(&w->frames);
    pfc_view_columns_free(&w->columns, &w->mem);
    return status;
}
