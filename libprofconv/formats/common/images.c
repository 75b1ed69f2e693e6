/* SPDX-License-Identifier: MIT
 *
 * Names and rows of images.
 */
#include "libprofconv/formats/common/images.h"

#include <string.h>

profconv_string pfc_image_base(profconv_string s) {
    size_t at = s.size;
    while (at > 0 && s.data[at - 1] != '/')
        at--;
    profconv_string base = {s.data + at, s.size - at};
    return base;
}

int pfc_image_begins(profconv_string s, const char *head) {
    size_t n = strlen(head);
    return s.size >= n && memcmp(s.data, head, n) == 0;
}

static int any(profconv_string s, const char *const *texts, size_t count, int whole) {
    for (size_t i = 0; i < count; i++)
        if (pfc_image_begins(s, texts[i]) && (!whole || s.size == strlen(texts[i])))
            return 1;
    return 0;
}

int pfc_image_is_vdso(profconv_string s) {
    static const char *const names[] = {"[vsyscall]", "[vectors]", "[sigpage]", "[uprobes]"};
    return pfc_image_begins(s, "[vdso") || any(s, names, sizeof names / sizeof *names, 1);
}

int pfc_image_is_memory(profconv_string s) {
    static const char *const heads[] = {"//anon", "/anon_hugepage", "/memfd:",   "/dev/zero",
                                        "/SYSV",  "anon_inode:",    "//toolong", "//enomem"};
    return s.size == 0 || any(s, heads, sizeof heads / sizeof *heads, 0);
}

pfc_image pfc_image_new(const pfc_image *key, uint64_t low, uint64_t high) {
    pfc_image image = *key;
    image.low = low < high ? low : UINT64_MAX;
    image.high = low < high ? high : 0;
    image.samples = 0;
    image.mapping = 0;
    image.main = 0;
    return image;
}

void pfc_image_widen(pfc_image *image, uint64_t low, uint64_t high) {
    if (low >= high)
        return;
    image->low = low < image->low ? low : image->low;
    image->high = high > image->high ? high : image->high;
}

void pfc_image_row(const pfc_image *image, profconv_mapping *row) {
    memset(row, 0, sizeof *row);
    row->file = image->file;
    row->build_id = image->build_id;
    row->reference = image->reference;
    row->reference_address = image->reference_address;
    row->kind = image->kind;
    row->pid = image->pid;
    int empty = image->low >= image->high;
    row->start = empty ? 0 : image->low;
    row->limit = empty ? 0 : image->high;
    switch (image->kind) {
    case PROFCONV_MAPPING_KERNEL:
    case PROFCONV_MAPPING_MODULE:
        row->start = image->bias;
        break;
    case PROFCONV_MAPPING_EXECUTABLE:
    case PROFCONV_MAPPING_LIBRARY:
        row->file_offset = row->start;
        break;
    case PROFCONV_MAPPING_VDSO: /* offsets from 0 */
        row->start = 0;
        break;
    default: /* code without a file: absolute addresses */
        break;
    }
}

const pfc_image *pfc_images_main(const pfc_image *images, size_t count) {
    const pfc_image *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (images[i].mapping && images[i].kind == PROFCONV_MAPPING_EXECUTABLE &&
            (!best || images[i].samples > best->samples))
            best = &images[i];
    return best;
}
