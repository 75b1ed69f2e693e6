/* SPDX-License-Identifier: MIT
 *
 * Images: files, the kernel and its modules, the vdso, code made at run time. What their names say, and their rows in
 * the profile: addresses are offsets in files, and run-time addresses where there is no file to count from.
 */
#ifndef PFC_COMMON_IMAGES_H
#define PFC_COMMON_IMAGES_H

#include <profconv/plugin.h>

typedef struct pfc_image {
    profconv_id file, build_id, reference; /* build_id: 0 unknown */
    uint64_t reference_address;
    uint64_t low, high;  /* extent in the profile's addresses; low >= high: none */
    uint64_t bias;       /* kernel and modules: where they were loaded; 0: unknown */
    uint64_t samples;    /* what the choice of the main program goes by */
    profconv_id mapping; /* 0 until a location needs it */
    uint32_t kind;       /* profconv_mapping_kind */
    uint32_t pid;        /* of code made at run time */
    int main;            /* some process's program */
} pfc_image;

/* The bytes after the last '/'. */
profconv_string pfc_image_base(profconv_string name);
int pfc_image_begins(profconv_string name, const char *head);
int pfc_image_is_vdso(profconv_string name);
/* Memory without a file that can be looked up, by what the kernel calls it: code in it was made at run time. */
int pfc_image_is_memory(profconv_string name);

/* A copy of `key` with this extent (low < high, or none), without samples and a row. */
pfc_image pfc_image_new(const pfc_image *key, uint64_t low, uint64_t high);
/* Takes in more; low >= high: nothing. */
void pfc_image_widen(pfc_image *image, uint64_t low, uint64_t high);
void pfc_image_row(const pfc_image *image, profconv_mapping *row);
/* The program with most samples of those with rows; NULL: none. */
const pfc_image *pfc_images_main(const pfc_image *images, size_t count);

#endif
