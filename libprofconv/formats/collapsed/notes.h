/* SPDX-License-Identifier: MIT
 *
 * What the reader has to say, gathered while it reads: a row a kind, with a count and the first line.
 */
#ifndef PFC_COLLAPSED_NOTES_H
#define PFC_COLLAPSED_NOTES_H

#include <profconv/builder.h>

#include "libprofconv/formats/collapsed/lines.h"

typedef enum pfc_note_id {
    PFC_NOTE_UNREADABLE = 0,
    PFC_NOTE_DROPPED,
    PFC_NOTE_ROUNDED,
    PFC_NOTE_SATURATED,
    PFC_NOTE_EMPTY,
    PFC_NOTE_EMPTY_KEPT,
    PFC_NOTE_UTF8,
    PFC_NOTE_COUNT_
} pfc_note_id;

typedef struct pfc_note_row {
    uint64_t count;
    uint64_t line;
    uint64_t offset;
} pfc_note_row;

typedef struct pfc_notes {
    pfc_note_row rows[PFC_NOTE_COUNT_];
    int64_t dropped;   /* weight of rows without frames */
    uint64_t replaced; /* characters of UTF-16 */
    char mode[16];     /* Austin's */
} pfc_notes;

/* `count` of them on the present line. */
void pfc_note(pfc_notes *notes, pfc_note_id id, uint64_t count, const pfc_lines *lines);
void pfc_note_dropped(pfc_notes *notes, int64_t weight, const pfc_lines *lines);
/* A "# key: value" line: an attribute of the profile; Austin's mode, interval and duration are understood. */
void pfc_notes_comment(pfc_notes *notes, profconv_builder *builder, const char *text, size_t size);
void pfc_notes_report(const pfc_notes *notes, profconv_report *report);

#endif
