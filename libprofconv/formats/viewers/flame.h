/* SPDX-License-Identifier: MIT
 *
 * A flame graph that is ready to be written, as a page or as a picture.
 */
#ifndef PFC_VIEWERS_FLAME_H
#define PFC_VIEWERS_FLAME_H

#include "libprofconv/formats/viewers/view.h"

typedef struct pfc_flame {
    pfc_mem mem;
    const profconv_profile *profile;
    pfc_view_columns columns;
    pfc_view_frames frames;
    pfc_view_tree tree;
    pfc_view_out out;
    uint8_t *change[2]; /* pfc_view_change of each node, by totals and by self values; comparisons only */
    size_t changes;
    uint8_t *classes[2]; /* what a comparison calls the function of each frame, self and with callees; NULL: not told */
    size_t class_count;
    const char *title; /* NULL: made from the profile */
    const char *colors;
    double width;     /* of a picture, in pixels */
    double min_width; /* what is narrower is drawn together with its neighbours */
    int inverted;     /* leaves are roots */
    int down;         /* the root is above */
    int side;         /* two columns beside each other, on one scale */
    uint64_t narrow;  /* nodes that were drawn together, in a picture */
} pfc_flame;

/* ---- classes.c ---- */

#define PFC_FLAME_UNTOLD 255
/* Reads the setting `classes` for all frames. 0 or a status; PROFCONV_E_INVALID with `error` set. */
int pfc_flame_classes(pfc_flame *flame, const char *text, profconv_error *error);
void pfc_flame_classes_free(pfc_flame *flame);
/* The changes of nodes, by the classes of their functions where they are told, else by a test of their own. */
int pfc_flame_changes(pfc_flame *flame);

void pfc_flame_title(pfc_flame *flame, pfc_buf *out);
/* Both return 0 or a status; out.error is set then. */
int pfc_flame_page(pfc_flame *flame);
/* `standalone`: with the namespace, as a file of its own. */
int pfc_flame_picture(pfc_flame *flame, int standalone);

#endif
