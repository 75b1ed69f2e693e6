/* SPDX-License-Identifier: MIT
 *
 * Texts of frames, each once, and the texts that a location of a profile becomes.
 */
#ifndef PFC_COLLAPSED_FRAMES_H
#define PFC_COLLAPSED_FRAMES_H

#include <profconv/profile.h>

#include "libprofconv/base/hash.h"
#include "libprofconv/formats/collapsed/names.h"

/* A distinct text. In the table's bytes a ';' follows each, so that both sort keys of a frame lie there. */
typedef struct pfc_frame_text {
    size_t offset;
    uint32_t size;
    uint32_t hash;
} pfc_frame_text;

typedef struct pfc_frame_texts {
    pfc_buf bytes;
    PFC_VEC(pfc_frame_text) rows; /* row 0: none */
    pfc_index index;
} pfc_frame_texts;

/* How a profile's frames are put into words. */
typedef struct pfc_frame_style {
    int tidy; /* pfc_tidy, or -1: arguments go where code is native, other names stay */
    int strip_suffixes;
    int kernel, jit, inlined; /* annotate with _[k], _[j], _[i] */
    int addresses;
    int source_lines;
    int inline_frames;
} pfc_frame_style;

typedef struct pfc_frames {
    pfc_mem *mem;
    const profconv_profile *profile;
    pfc_frame_style style;
    pfc_frame_texts texts;
    pfc_buf raw;            /* scratch: before the strict grammar */
    pfc_buf clean;          /* scratch: after it */
    PFC_VEC(uint32_t) runs; /* text ids of all locations met, root first */
    uint32_t *first;        /* of each location: its run, + 1; 0: not met yet */
    uint32_t *count;
    uint32_t locations;
    uint32_t *names; /* of each function: its text when nothing depends on the location; 0: not met yet */
    uint32_t functions;
} pfc_frames;

/* All return 0 or a status; mem->failed tells more. `frames` is ready to be freed after a failure too. */
int pfc_frames_init(pfc_frames *frames, pfc_mem *mem, const profconv_profile *profile, const pfc_frame_style *style);
void pfc_frames_free(pfc_frames *frames);
/* The run of text ids of a location, root first; borrowed until the next call. */
int pfc_frames_of(pfc_frames *frames, profconv_id location, const uint32_t **ids, uint32_t *count);
/* Makes text fit the strict grammar and interns it. */
int pfc_frames_text(pfc_frames *frames, const char *text, size_t size, int underscores, uint32_t *id);
/* The text to use for the last frame of a line, `alone` where it is also the first: `id`, or one that neither ends in a
 * number nor makes the line a comment. */
int pfc_frames_leaf(pfc_frames *frames, uint32_t id, int alone, uint32_t *leaf);

static inline const char *pfc_frames_data(const pfc_frames *frames, uint32_t id, size_t *size) {
    *size = frames->texts.rows.data[id].size;
    return frames->texts.bytes.data + frames->texts.rows.data[id].offset;
}

#endif
