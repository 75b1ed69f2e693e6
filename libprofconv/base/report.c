/* SPDX-License-Identifier: MIT
 *
 * Reports: one row for each kind and cause, so that a million like events cost one row and one message.
 */
#include <profconv/base.h>

#include <stdarg.h>
#include <string.h>

#include "libprofconv/base/error.h"
#include "libprofconv/base/text.h"

struct profconv_report {
    pfc_mem mem;
    PFC_VEC(profconv_note) notes; /* cause and message are blocks of their own */
    uint64_t overflow;
};

int profconv_report_new(profconv_report **out, const profconv_allocator *allocator, profconv_error *error) {
    *out = NULL;
    pfc_mem mem;
    pfc_mem_init(&mem, allocator, 0);
    profconv_report *report = (profconv_report *)pfc_alloc_zero(&mem, sizeof *report);
    if (!report)
        return pfc_mem_error(&mem, error);
    report->mem = mem;
    *out = report;
    return PROFCONV_OK;
}

static void free_text(pfc_mem *mem, const char *text) {
    if (text)
        pfc_free(mem, (void *)(uintptr_t)text, strlen(text) + 1);
}

void profconv_report_free(profconv_report *report) {
    if (!report)
        return;
    for (size_t i = 0; i < report->notes.count; i++) {
        free_text(&report->mem, report->notes.data[i].cause);
        free_text(&report->mem, report->notes.data[i].message);
    }
    PFC_VEC_FREE(&report->mem, &report->notes);
    pfc_mem mem = report->mem;
    pfc_free(&mem, report, sizeof *report);
}

/* Causes are few (they are constants of the code), so a walk finds them. */
static profconv_note *find_note(profconv_report *report, profconv_note_kind kind, const char *cause) {
    for (size_t i = 0; i < report->notes.count; i++)
        if (report->notes.data[i].kind == kind && strcmp(report->notes.data[i].cause, cause) == 0)
            return &report->notes.data[i];
    return NULL;
}

void profconv_report_add(profconv_report *report, profconv_note_kind kind, const char *cause, uint64_t count,
                         int64_t weight, uint64_t offset, uint64_t line, const char *format, ...) {
    if (!report)
        return;
    profconv_note *found = find_note(report, kind, cause);
    if (found) {
        int overflow = 0;
        found->count = pfc_add_sat(found->count, count);
        found->weight = pfc_add_sat_i64(found->weight, weight, &overflow);
        return;
    }
    char message[sizeof((profconv_error *)0)->message] = "";
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        pfc_format_line(message, sizeof message, format, arguments);
        va_end(arguments);
    }
    pfc_mem *mem = &report->mem;
    mem->failed = 0;
    profconv_note note = {kind, NULL, NULL, count, weight, offset, line};
    note.cause = pfc_strdup(mem, cause, strlen(cause));
    note.message = pfc_strdup(mem, message, strlen(message));
    if (!note.cause || !note.message || PFC_VEC_PUSH(mem, &report->notes, note)) {
        free_text(mem, note.cause);
        free_text(mem, note.message);
        report->overflow = pfc_add_sat(report->overflow, 1);
    }
}

size_t profconv_report_count(const profconv_report *report) { return report ? report->notes.count : 0; }

int profconv_report_get(const profconv_report *report, size_t index, profconv_note *out) {
    if (!report || index >= report->notes.count)
        return PROFCONV_E_INVALID;
    *out = report->notes.data[index];
    return PROFCONV_OK;
}

uint64_t profconv_report_overflow(const profconv_report *report) { return report ? report->overflow : 0; }
