/* SPDX-License-Identifier: MIT
 *
 * Events as sample types, two columns each: the number of samples, and their weight. Names can come late in a
 * recording, and which events have samples is known after the first ones, so columns are made first and named at the
 * end.
 */
#ifndef PFC_COMMON_COLUMNS_H
#define PFC_COMMON_COLUMNS_H

#include <profconv/plugin.h>

#include "libprofconv/base/mem.h"

#define PFC_COLUMNS_NONE UINT32_MAX

/* The first of two columns, side by side, with names that only keep them apart; PFC_COLUMNS_NONE: the builder failed.
 */
uint32_t pfc_columns_add(profconv_builder *builder);

typedef struct pfc_event_columns {
    profconv_id event;      /* as the recording calls it, or 0 */
    profconv_id full, base; /* what columns can be called after: with its modifiers, and without */
    int64_t period;         /* fixed; 0: unknown */
    uint64_t frequency;     /* samples a second; 0: unknown */
    int clock;              /* counts time on a CPU */
    int time;               /* its weights are nanoseconds */
} pfc_event_columns;

/* Names all columns; event i has the columns 2i and 2i + 1. `most`: the index of the event that the profile shows
 * first. */
int pfc_columns_name(profconv_builder *builder, pfc_mem *mem, const pfc_event_columns *events, size_t count,
                     size_t most, profconv_error *error);

#endif
