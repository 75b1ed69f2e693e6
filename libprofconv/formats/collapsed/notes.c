/* SPDX-License-Identifier: MIT
 *
 * Wording and kinds of the reader's notes, and the metadata lines that Austin writes.
 */
#include "libprofconv/formats/collapsed/notes.h"

#include <string.h>

#include "libprofconv/base/text.h"

void pfc_note(pfc_notes *notes, pfc_note_id id, uint64_t count, const pfc_lines *lines) {
    pfc_note_row *row = &notes->rows[id];
    if (row->count == 0) {
        row->line = lines->number;
        row->offset = lines->offset;
    }
    row->count += count;
}

void pfc_note_dropped(pfc_notes *notes, int64_t weight, const pfc_lines *lines) {
    int overflow = 0;
    notes->dropped = pfc_add_sat_i64(notes->dropped, weight, &overflow);
    pfc_note(notes, PFC_NOTE_DROPPED, 1, lines);
}

void pfc_notes_report(const pfc_notes *notes, profconv_report *report) {
    static const struct {
        profconv_note_kind kind;
        const char *cause;
        const char *message;
    } kinds[PFC_NOTE_COUNT_] = {
        {PROFCONV_NOTE_WARNING, "unreadable-line", "\"frame;frame count\" expected; such lines are skipped"},
        {PROFCONV_NOTE_DROPPED, "no-frames", "a count without a stack"},
        {PROFCONV_NOTE_WARNING, "rounded-count", "counts with a fraction are rounded half up"},
        {PROFCONV_NOTE_WARNING, "saturated-count", "counts above 2^63-1 become 2^63-1"},
        {PROFCONV_NOTE_WARNING, "empty-frame", "empty frames are left out"},
        {PROFCONV_NOTE_INFO, "empty-frame-kept", "empty frames are kept as [unknown]"},
        {PROFCONV_NOTE_WARNING, "invalid-utf8", "names that are not UTF-8 are kept as bytes"},
    };
    for (int i = 0; i < PFC_NOTE_COUNT_; i++) {
        const pfc_note_row *row = &notes->rows[i];
        if (row->count > 0)
            profconv_report_add(report, kinds[i].kind, kinds[i].cause, row->count,
                                i == PFC_NOTE_DROPPED ? notes->dropped : 0, row->offset, row->line, "line %llu: %s",
                                (unsigned long long)row->line, kinds[i].message);
    }
    if (notes->replaced > 0)
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "invalid-utf16", notes->replaced, 0, PROFCONV_NO_OFFSET, 0,
                            "lone surrogates and odd bytes of UTF-16 became U+FFFD");
}

static int is(const char *text, size_t size, const char *word) {
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

/* Both are microseconds in Austin's files. */
static void set_time(profconv_builder *builder, int duration, const char *text, size_t size) {
    uint64_t value;
    profconv_info info;
    if (!pfc_parse_u64(text, text + size, &value) || value > INT64_MAX / 1000)
        return;
    profconv_builder_get_info(builder, &info);
    if (duration) {
        info.duration_ns = (int64_t)value * 1000;
    } else {
        info.period = (int64_t)value;
        info.period_type = profconv_builder_cstring(builder, "interval");
        info.period_unit = profconv_builder_cstring(builder, "microseconds");
    }
    profconv_builder_set_info(builder, &info);
}

void pfc_notes_comment(pfc_notes *notes, profconv_builder *builder, const char *text, size_t size) {
    char key[40];
    const char *colon = (const char *)memchr(text, ':', size);
    const char *end = text + size;
    while (text < end && (*text == '#' || *text == ' ' || *text == '\t'))
        text++;
    if (!colon || colon <= text || (size_t)(colon - text) >= sizeof key) {
        if (text < end)
            profconv_builder_comment(builder, profconv_builder_string(builder, text, (size_t)(end - text)));
        return;
    }
    size_t key_size = (size_t)(colon - text);
    const char *value = colon + 1;
    while (value < end && *value == ' ')
        value++;
    size_t value_size = (size_t)(end - value);
    memcpy(key, text, key_size);
    key[key_size] = '\0';
    if (memchr(key, '\0', key_size))
        return;
    profconv_builder_attribute(builder, key, value, value_size);
    if (is(text, key_size, "mode") && value_size < sizeof notes->mode) {
        memcpy(notes->mode, value, value_size);
        notes->mode[value_size] = '\0';
    } else if (is(text, key_size, "interval") || is(text, key_size, "duration")) {
        set_time(builder, text[0] == 'd', value, value_size);
    }
}
