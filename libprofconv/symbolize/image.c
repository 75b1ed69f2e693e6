/* SPDX-License-Identifier: MIT
 *
 * One ELF file: opening it without surprises (no blocking on pipes or devices), its build-ids, segments and what kinds
 * of symbols it holds, and its DWARF.
 *
 * libdw reads most files directly. libdwfl is used for two things that it alone does: applying relocations to
 * ET_REL files (kernel modules), and unpacking .gnu_debugdata. Its callbacks are our own, so it never looks for other
 * files.
 */
#include "libprofconv/base/text.h"
#include "libprofconv/symbolize/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INFO_SHARE 64
#define ABBREV_TIMES 4

int pfc_open_regular(const char *path) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

static void add_build_id(pfc_image *image, const unsigned char *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    if (size == 0 || size > (PFC_BUILD_ID_TEXT - 1) / 2 || image->build_id_count == PFC_MAX_BUILD_IDS)
        return;
    char *out = image->build_ids[image->build_id_count++];
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = 0;
}

static void read_notes(pfc_image *image, Elf_Data *data) {
    if (!data || !data->d_buf)
        return;
    size_t at = 0, name = 0, desc = 0;
    GElf_Nhdr note;
    while (at < data->d_size && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0)
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp((const char *)data->d_buf + name, "GNU", 4) == 0)
            add_build_id(image, (const unsigned char *)data->d_buf + desc, note.n_descsz);
}

/* Section notes first; a file without sections has them in PT_NOTE. Debug files keep their notes' bytes. */
static void read_build_ids(pfc_image *image) {
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(image->elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE)
            read_notes(image, elf_getdata(section, NULL));
    }
    size_t count = 0;
    if (image->build_id_count || elf_getphdrnum(image->elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_NOTE)
            continue;
        read_notes(image, elf_getdata_rawchunk(image->elf, (int64_t)header.p_offset, (size_t)header.p_filesz,
                                               header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
    }
}

static int read_segments(pfc_image *image) {
    size_t count = 0;
    if (elf_getphdrnum(image->elf, &count) != 0 || count == 0)
        return 0;
    if (count > 65536)
        count = 65536;
    image->segments = pfc_alloc_zero(image->mem, count * sizeof *image->segments);
    if (!image->segments)
        return image->mem->failed;
    image->segment_capacity = count;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        pfc_segment *segment = &image->segments[used++];
        segment->offset = header.p_offset;
        segment->vaddr = header.p_vaddr;
        segment->file_size = header.p_filesz;
        segment->memory_size = header.p_memsz;
        segment->executable = (header.p_flags & PF_X) != 0;
    }
    image->segment_count = used;
    return 0;
}

static void read_sections(pfc_image *image) {
    size_t names = 0;
    if (elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(image->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        if (header.sh_type == SHT_NOBITS) {
            image->debug_only |= (header.sh_flags & SHF_EXECINSTR) != 0;
            continue;
        }
        const char *name = elf_strptr(image->elf, names, header.sh_name);
        if (!name)
            continue;
        if (header.sh_type == SHT_SYMTAB)
            image->has_symtab = 1;
        else if (header.sh_type == SHT_DYNSYM)
            image->has_dynsym = 1;
        else if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)
            image->has_debug_info = 1;
        else if (strcmp(name, ".gnu_debugdata") == 0)
            image->has_debugdata = 1;
        else if (strcmp(name, ".gnu_debugaltlink") == 0)
            image->has_altlink = 1;
    }
}

/* Goes on with a copy where sections are compressed in a way that elfutils does not know. */
static void use_inflated(pfc_image *image) {
    int copy = pfc_inflate_zstd_sections(image->mem, image->elf, image->fd, &image->charged);
    if (copy < 0)
        return;
    Elf *elf = elf_begin(copy, ELF_C_READ_MMAP, NULL);
    if (!elf) {
        close(copy);
        return;
    }
    elf_end(image->elf);
    close(image->fd);
    image->elf = elf;
    image->fd = copy;
}

int pfc_image_open(pfc_image **out, pfc_mem *mem, const char *path, profconv_error *error) {
    *out = NULL;
    pfc_image *image = pfc_alloc_zero(mem, sizeof *image);
    if (!image)
        return pfc_mem_error(mem, error);
    image->mem = mem;
    image->fd = -1;
    image->path_size = strlen(path);
    image->path = pfc_strdup(mem, path, image->path_size);
    int status = image->path ? 0 : pfc_mem_error(mem, error);
    if (!status && (image->fd = pfc_open_regular(path)) < 0) {
        int code = errno;
        status = profconv_error_set(error, PROFCONV_E_IO, PROFCONV_NO_OFFSET, 0, "%s: cannot be opened", path);
        if (error)
            error->system_errno = code;
    }
    if (!status && elf_version(EV_CURRENT) == EV_NONE)
        status = profconv_error_set(error, PROFCONV_E_INTERNAL, PROFCONV_NO_OFFSET, 0, "libelf is too old");
    GElf_Ehdr header;
    if (!status) {
        image->elf = elf_begin(image->fd, ELF_C_READ_MMAP, NULL);
        if (!image->elf || elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &header))
            status = profconv_error_set(error, PROFCONV_E_FORMAT, PROFCONV_NO_OFFSET, 0, "%s: not an ELF file", path);
    }
    if (!status && !mem->failed) {
        use_inflated(image);
        if (mem->failed)
            status = pfc_mem_error(mem, error);
    }
    if (!status) {
        image->machine = header.e_machine;
        image->relocatable = header.e_type == ET_REL;
        read_build_ids(image);
        read_sections(image);
        if (read_segments(image))
            status = pfc_mem_error(mem, error);
    }
    if (status) {
        pfc_image_close(image);
        return status;
    }
    *out = image;
    return PROFCONV_OK;
}

void pfc_image_close(pfc_image *image) {
    if (!image)
        return;
    if (image->dwarf && !image->relocatable)
        dwarf_end(image->dwarf);
    if (image->dwfl)
        dwfl_end(image->dwfl);
    if (image->elf)
        elf_end(image->elf);
    if (image->fd >= 0)
        close(image->fd);
    pfc_mem_discharge(image->mem, image->charged);
    pfc_free(image->mem, image->segments, image->segment_capacity * sizeof *image->segments);
    pfc_free(image->mem, image->path, image->path ? image->path_size + 1 : 0);
    pfc_free(image->mem, image, sizeof *image);
}

int pfc_image_is(const pfc_image *image, const char *id) {
    for (size_t i = 0; i < image->build_id_count; i++)
        if (pfc_build_id_equal(image->build_ids[i], id))
            return 1;
    return 0;
}

/* libdwfl's callbacks: nothing is looked for. */
static int find_no_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **file, Elf **elf) {
    (void)module, (void)user, (void)name, (void)base, (void)file, (void)elf;
    return -1;
}
static int find_no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                             const char *link, GElf_Word crc, char **found) {
    (void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return -1;
}
static const Dwfl_Callbacks callbacks = {
    .find_elf = find_no_elf, .find_debuginfo = find_no_debuginfo, .section_address = dwfl_offline_section_address};

int pfc_image_module(pfc_image *image) {
    if (image->dwfl)
        return image->module ? 0 : -1;
    image->dwfl = dwfl_begin(&callbacks);
    if (!image->dwfl)
        return -1;
    /* libdwfl closes the descriptor it is given, and keeps it only on success. */
    int fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    dwfl_report_begin(image->dwfl);
    Dwfl_Module *module = dwfl_report_elf(image->dwfl, "", image->path, fd, 0, false);
    if (!module)
        close(fd);
    dwfl_report_end(image->dwfl, NULL, NULL);
    GElf_Addr bias = 0;
    if (!module || !(image->module_elf = dwfl_module_getelf(module, &bias)))
        return -1;
    image->module = module;
    return 0;
}

/* What elfutils will allocate for the debug information: sections that libelf inflates, and libdw's tables of units and
 * abbreviations, by measurement. Pages of the file that are only mapped are the system's to take back, and are not counted. */
static uint64_t debug_cost(Elf *elf) {
    size_t names = 0;
    uint64_t cost = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        GElf_Chdr compressed;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || header.sh_type == SHT_NOBITS || strncmp(name, ".debug_", 7) != 0)
            continue;
        uint64_t size = header.sh_size;
        if ((header.sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &compressed)) {
            size = compressed.ch_size;
            cost = pfc_add_sat(cost, size);
        }
        if (strcmp(name, ".debug_info") == 0)
            cost = pfc_add_sat(cost, size / INFO_SHARE);
        else if (strcmp(name, ".debug_abbrev") == 0)
            cost = pfc_add_sat(cost, size * ABBREV_TIMES);
    }
    return cost;
}

Dwarf *pfc_image_dwarf(pfc_image *image) {
    if (image->dwarf_tried)
        return image->dwarf;
    image->dwarf_tried = 1;
    if (!image->has_debug_info)
        return NULL;
    uint64_t cost = debug_cost(image->elf);
    if (pfc_mem_charge(image->mem, cost))
        return NULL;
    image->charged += cost;
    if (image->relocatable) {
        Dwarf_Addr bias = 0;
        if (pfc_image_module(image) == 0)
            image->dwarf = dwfl_module_getdwarf(image->module, &bias);
    } else {
        pfc_image_hide_unused(image);
        image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
    }
    return image->dwarf;
}

static int find_text(Elf *elf, GElf_Shdr *out) {
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return -1;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (name && strcmp(name, ".text") == 0) {
            *out = header;
            return 0;
        }
    }
    return -1;
}

int pfc_image_text(const pfc_image *image, uint64_t *address, uint64_t *size) {
    GElf_Shdr header;
    if (find_text(image->module_elf ? image->module_elf : image->elf, &header) != 0)
        return -1;
    *address = header.sh_addr;
    *size = header.sh_size;
    return 0;
}

int pfc_image_text_offset(const pfc_image *image, uint64_t *offset) {
    GElf_Shdr header;
    if (find_text(image->elf, &header) != 0)
        return -1;
    *offset = header.sh_offset;
    return 0;
}
