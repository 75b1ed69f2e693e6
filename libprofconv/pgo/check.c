/* SPDX-License-Identifier: MIT
 *
 * profconv_check: which consumers there are, and how findings become notes and a verdict.
 */
#include "libprofconv/pgo/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const consumers[] = {"go-pgo", "llvm", "gcc"};

const char *profconv_check_consumer(size_t index) {
    return index < sizeof consumers / sizeof *consumers ? consumers[index] : NULL;
}

void pfc_check_lacks(pfc_checker *c, const char *cause, uint64_t count, const char *format, ...) {
    char text[360];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    profconv_report_add(c->report, PROFCONV_NOTE_LOST, cause, count, 0, PROFCONV_NO_OFFSET, 0, "%s", text);
    if (!c->status)
        c->status = profconv_error_set(c->error, PROFCONV_E_MISSING_FACET, PROFCONV_NO_OFFSET, 0, "%s", text);
}

void pfc_check_weak(pfc_checker *c, const char *cause, uint64_t count, const char *text) {
    if (count)
        profconv_report_add(c->report, PROFCONV_NOTE_WARNING, cause, count, 0, PROFCONV_NO_OFFSET, 0, "%s", text);
}

void pfc_check_fact(pfc_checker *c, const char *cause, uint64_t count, const char *text) {
    if (count)
        profconv_report_add(c->report, PROFCONV_NOTE_INFO, cause, count, 0, PROFCONV_NO_OFFSET, 0, "%s", text);
}

int profconv_check(const profconv_profile *profile, const char *consumer, profconv_report *report,
                   profconv_error *error) {
    pfc_checker c = {profile, report, error, 0};
    if (strcmp(consumer, "go-pgo") == 0)
        pfc_check_go(&c);
    else if (strcmp(consumer, "llvm") == 0 || strcmp(consumer, "gcc") == 0)
        pfc_check_autofdo(&c, consumer[0] == 'g');
    else
        return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0,
                                  "%.60s: not a consumer that can be checked for; there are go-pgo, llvm and gcc",
                                  consumer);
    return c.status;
}
