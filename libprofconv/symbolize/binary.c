/* SPDX-License-Identifier: MIT
 *
 * A binary: the file that ran, its debug file, and the questions that one asks of them.
 */
#include "libprofconv/symbolize/binary.h"

#include <string.h>

#include "libprofconv/symbolize/elfmaker.h"
#include "libprofconv/symbolize/image.h"

int pfc_build_id_equal(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    if (n == 0 || (a[n] && b[n]))
        return 0;
    /* Recorders that do not know the length pad to 20 bytes with zeros. */
    for (const char *rest = a[n] ? a + n : b + n; *rest; rest++)
        if (*rest != '0')
            return 0;
    return 1;
}

static int attach_debug(pfc_binary *binary, const pfc_finder *finder) {
    pfc_image *runtime = binary->runtime;
    if (!runtime->has_debug_info && !binary->debug && finder) {
        int status = pfc_find_debug(&binary->debug, binary->mem, runtime, finder);
        if (status)
            return status;
    }
    pfc_image *debug = binary->debug ? binary->debug : runtime;
    if (!debug->has_debug_info)
        return 0;
    int status = pfc_find_package(&binary->package, binary->mem, runtime, binary->debug, finder);
    return status || !finder ? status : pfc_find_alt(&binary->alt, binary->mem, debug, finder);
}

int pfc_binary_from_images(pfc_binary **out, pfc_image *image, pfc_image *debug, const pfc_finder *finder,
                           profconv_error *error) {
    *out = NULL;
    pfc_mem *mem = image->mem;
    pfc_binary *binary = pfc_alloc_zero(mem, sizeof *binary);
    if (!binary) {
        pfc_image_close(image);
        pfc_image_close(debug);
        return pfc_mem_error(mem, error);
    }
    binary->mem = mem;
    pfc_buf_init(&binary->empty_file, mem);
    binary->runtime = image;
    binary->debug = debug;
    if (attach_debug(binary, finder)) {
        pfc_binary_close(binary);
        return pfc_mem_error(mem, error);
    }
    *out = binary;
    return PROFCONV_OK;
}

int pfc_binary_open(pfc_binary **out, pfc_mem *mem, const char *path, const char *build_id, const pfc_finder *finder,
                    profconv_error *error) {
    *out = NULL;
    pfc_image *image = NULL;
    int status = pfc_image_open(&image, mem, path, error);
    if (status)
        return status;
    if (build_id && *build_id && !pfc_image_is(image, build_id)) {
        status =
            profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0, "%s: build-id %s found, %s expected",
                               path, image->build_id_count ? image->build_ids[0] : "(none)", build_id);
        pfc_image_close(image);
        return status;
    }
    return pfc_binary_from_images(out, image, NULL, finder, error);
}

void pfc_binary_close(pfc_binary *binary) {
    if (!binary)
        return;
    pfc_mem *mem = binary->mem;
    pfc_dwarf_close(binary->dwarf);
    pfc_symbols_free(binary);
    pfc_package_close(binary->package);
    pfc_image_close(binary->debug);
    pfc_image_close(binary->runtime);
    pfc_image_close(binary->alt); /* after the files that refer to it */
    if (binary->empty)
        dwarf_end(binary->empty);
    if (binary->empty_elf)
        elf_end(binary->empty_elf);
    pfc_buf_free(&binary->empty_file);
    pfc_free(mem, binary, sizeof *binary);
}

const char *pfc_binary_path(const pfc_binary *binary) { return binary->runtime->path; }

const char *pfc_binary_debug_path(const pfc_binary *binary) {
    if (binary->debug)
        return binary->debug->has_debug_info ? binary->debug->path : NULL;
    return binary->runtime->has_debug_info ? binary->runtime->path : NULL;
}

const char *pfc_binary_build_id(const pfc_binary *binary, size_t index) {
    return index < binary->runtime->build_id_count ? binary->runtime->build_ids[index] : NULL;
}

const pfc_segment *pfc_binary_segments(const pfc_binary *binary, size_t *count) {
    *count = binary->runtime->segment_count;
    return binary->runtime->segments;
}

int pfc_binary_relocatable(const pfc_binary *binary) { return binary->runtime->relocatable; }

uint64_t pfc_binary_text_offset(const pfc_binary *binary) {
    uint64_t offset = 0;
    return pfc_image_text_offset(binary->runtime, &offset) == 0 ? offset : 0;
}

static int section_vaddr(const pfc_binary *binary, uint64_t offset, uint64_t *vaddr) {
    uint64_t address = 0, size = 0;
    (void)pfc_image_module(binary->runtime);
    if (pfc_image_text(binary->runtime, &address, &size) != 0 || offset >= size)
        return -1;
    *vaddr = address + offset;
    return 0;
}

/* A mapping begins at a page, and so does its segment in memory: pages are 4 KiB or a multiple, of which the segment's
 * vaddr tells only that its first page begins below it. */
static int debug_vaddr(const pfc_image *image, uint64_t offset, uint64_t map_offset, uint64_t *vaddr) {
    for (size_t i = 0; i < image->segment_count; i++) {
        const pfc_segment *segment = &image->segments[i];
        uint64_t at = offset - map_offset + (segment->vaddr & ~(uint64_t)4095);
        if (segment->executable && at - segment->vaddr < segment->memory_size) {
            *vaddr = at;
            return 0;
        }
    }
    return -1;
}

int pfc_binary_vaddr(const pfc_binary *binary, uint64_t file_offset, uint64_t map_offset, uint64_t *vaddr) {
    const pfc_image *image = binary->runtime;
    if (image->relocatable)
        return section_vaddr(binary, file_offset, vaddr);
    if (image->debug_only && map_offset <= file_offset && debug_vaddr(image, file_offset, map_offset, vaddr) == 0)
        return 0;
    for (int executable = 1; executable >= 0; executable--)
        for (size_t i = 0; i < image->segment_count; i++) {
            const pfc_segment *segment = &image->segments[i];
            uint64_t size = image->debug_only ? segment->memory_size : segment->file_size;
            if (segment->executable >= executable && file_offset - segment->offset < size) {
                *vaddr = file_offset - segment->offset + segment->vaddr;
                return 0;
            }
        }
    return -1;
}

/* libdw itself looks for an alternate file by name and does not compare build-ids. */
static void keep_alternate_out(pfc_binary *binary, Dwarf *dwarf) {
    pfc_elf_maker maker;
    pfc_elf_init(&maker, binary->mem, 0);
    pfc_elf_begin(&maker, ".debug_info");
    pfc_elf_put(&maker, 0, 1);
    pfc_elf_end(&maker);
    pfc_elf_finish(&maker);
    binary->empty_file = maker.out;
    if (maker.out.failed)
        return;
    binary->empty_elf = elf_memory(maker.out.data, maker.out.size);
    binary->empty = binary->empty_elf ? dwarf_begin_elf(binary->empty_elf, DWARF_C_READ, NULL) : NULL;
    if (binary->empty)
        dwarf_setalt(dwarf, binary->empty);
}

int pfc_binary_alternate_missing(const pfc_binary *binary) { return binary->alt_missing; }

static int open_dwarf(pfc_binary *binary) {
    if (binary->dwarf_tried)
        return 0;
    binary->dwarf_tried = 1;
    Dwarf *dwarf = pfc_image_dwarf(binary->debug ? binary->debug : binary->runtime);
    if (!dwarf)
        return binary->mem->failed;
    Dwarf *alt = binary->alt ? pfc_image_dwarf(binary->alt) : NULL;
    binary->alt_missing = !alt && (binary->debug ? binary->debug : binary->runtime)->has_altlink;
    if (alt)
        dwarf_setalt(dwarf, alt);
    else if (binary->alt_missing)
        keep_alternate_out(binary, dwarf);
    return pfc_dwarf_open(&binary->dwarf, binary, dwarf);
}

int pfc_binary_has_debug_info(const pfc_binary *binary) { return pfc_binary_debug_path(binary) != NULL; }

int pfc_binary_frames_from_debug_info(const pfc_binary *binary) { return binary->from_debug_info; }

/* The physical function's name is what the linker calls it: the symbol at the start of its code, which also tells
 * clones apart. A symbol that starts elsewhere (a label inside, an exported name before a stripped function) is not
 * trusted over DWARF. */
static void name_by_symbol(pfc_binary *binary, uint64_t vaddr, uint64_t function_low, pfc_frame *frame) {
    const char *known = frame->linkage_name;
    const pfc_symbol *symbol = pfc_binary_symbol(binary, vaddr, *known ? known : NULL);
    if (!symbol)
        return;
    if (*known && (function_low != symbol->address || !symbol->function))
        return;
    frame->linkage_name = symbol->name;
    if (!*frame->name)
        frame->name = symbol->name;
}

int pfc_binary_frames(pfc_binary *binary, uint64_t vaddr, int flags, pfc_frame *frames, size_t max, size_t *count) {
    *count = 0;
    binary->from_debug_info = 0;
    if (max == 0)
        return 0;
    uint64_t function_low = UINT64_MAX;
    if (!(flags & PFC_FRAMES_NO_LINES)) {
        int status = open_dwarf(binary);
        if (!status && binary->dwarf)
            status = pfc_dwarf_frames(binary->dwarf, vaddr, flags, frames, max, count, &function_low);
        if (status)
            return status;
        binary->from_debug_info = *count > 0;
    }
    if (*count == 0) {
        memset(&frames[0], 0, sizeof frames[0]);
        frames[0].linkage_name = frames[0].name = frames[0].dwarf_name = frames[0].file = frames[0].decl_file = "";
        *count = 1;
    }
    pfc_frame *outer = &frames[*count - 1];
    name_by_symbol(binary, vaddr, function_low, outer);
    if (!*outer->linkage_name && !binary->from_debug_info)
        *count = 0;
    return binary->mem->failed;
}

int pfc_binary_frames_run(pfc_binary *binary, uint64_t vaddr, uint64_t limit, pfc_frame *frames, size_t max,
                          size_t *count, uint64_t *until) {
    uint64_t function_low;
    *count = 0;
    *until = limit;
    int status = open_dwarf(binary);
    if (!status && binary->dwarf) {
        status = pfc_dwarf_frames(binary->dwarf, vaddr, 0, frames, max, count, &function_low);
        if (pfc_dwarf_until(binary->dwarf) < limit)
            *until = pfc_dwarf_until(binary->dwarf);
    }
    binary->from_debug_info = *count > 0;
    return status;
}
