/* SPDX-License-Identifier: MIT
 *
 * The files of an unwinder: found as everywhere else, their unwind information read on first use, and, since each holds a
 * descriptor and its tables, only so many open at a time.
 *
 * A file is opened once for all processes that map it: its tables speak of file addresses, so there is no libdwfl session
 * to a process, and none to be built again on exec or when maps overlap.
 */
#include "libprofconv/symbolize/unwind.h"

#include <string.h>
#include <unistd.h>

#define MAX_OPEN 192

static void close_module(pfc_unwinder *u, pfc_unwind_module *m) {
    pfc_cfi_close(&m->eh);
    pfc_cfi_close(&m->debug);
    if (m->binary) {
        pfc_binary_close(m->binary);
        u->open--;
    }
    m->binary = NULL;
    m->sought = 0;
    u->epoch++;
}

static void make_room(pfc_unwinder *u) {
    pfc_unwind_module *oldest = NULL;
    for (size_t i = 0; u->open >= MAX_OPEN && i < u->modules.count; i++) {
        pfc_unwind_module *m = u->modules.data[i];
        if (m->binary && (!oldest || m->used < oldest->used))
            oldest = m;
    }
    if (oldest)
        close_module(u, oldest);
}

/* A section by name, unpacked; NULL when the file has none with contents. `header` gets where it is. */
static Elf_Data *section_data(Elf *elf, const char *wanted, GElf_Shdr *header) {
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(elf, names, header->sh_name);
        if (!name)
            continue;
        int gnu = strncmp(name, ".z", 2) == 0 && strcmp(name + 2, wanted + 1) == 0; /* ".zdebug_frame" */
        if (!gnu && strcmp(name, wanted) != 0)
            continue;
        if (gnu && elf_compress_gnu(section, 0, 0) < 0)
            return NULL;
        if (header->sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
            return NULL;
        return elf_getdata(section, NULL);
    }
    return NULL;
}

static int open_section(pfc_unwinder *u, pfc_cfi *cfi, pfc_image *image, const char *name, int eh_frame) {
    GElf_Shdr header, other;
    const char *ident = elf_getident(image->elf, NULL);
    if (!ident)
        return 0;
    /* Bases of addresses that are relative to them, which hardly anybody uses. */
    uint64_t text = section_data(image->elf, ".text", &other) ? other.sh_addr : 0;
    uint64_t got = section_data(image->elf, ".got", &other) ? other.sh_addr : 0;
    Elf_Data *data = section_data(image->elf, name, &header);
    return data ? pfc_cfi_open(cfi, &u->mem, data, (const unsigned char *)ident, eh_frame, header.sh_addr, text, got) : 0;
}

static int open_module(pfc_unwinder *u, pfc_unwind_module *m) {
    const char *file = "", *id = "";
    pfc_find_result result;
    make_room(u);
    m->sought = 1;
    u->maps->describe(u->maps->user, m->image, &file, &id);
    if (!*file)
        return 0;
    int status = pfc_binary_find(&m->binary, &u->mem, file, id, &u->files.finder, &result, NULL);
    if (!m->binary) {
        if (!m->file && (m->file = pfc_strdup(&u->mem, file, strlen(file))) != NULL)
            m->file_size = strlen(file);
        return status == PROFCONV_E_NOT_FOUND ? 0 : u->mem.failed;
    }
    u->open++;
    pfc_image *runtime = m->binary->runtime, *debug = m->binary->debug;
    status = open_section(u, &m->eh, runtime, ".eh_frame", 1);
    if (!status)
        status = open_section(u, &m->debug, runtime, ".debug_frame", 0);
    if (!status && debug && !m->debug.data)
        status = open_section(u, &m->debug, debug, ".debug_frame", 0);
    return status;
}

static uint32_t *row_of(pfc_unwinder *u, uint32_t image) {
    if (image >= u->module_of.count) {
        size_t count = u->module_of.count;
        if (PFC_VEC_RESERVE(&u->mem, &u->module_of, (size_t)image + 1))
            return NULL;
        memset(u->module_of.data + count, 0, (image + 1 - count) * sizeof *u->module_of.data);
        u->module_of.count = (size_t)image + 1;
    }
    return &u->module_of.data[image];
}

pfc_unwind_module *pfc_unwind_module_get(pfc_unwinder *u, uint32_t image) {
    uint32_t *row = row_of(u, image);
    if (!row)
        return NULL;
    if (*row == 0) {
        pfc_unwind_module *fresh = pfc_alloc_zero(&u->mem, sizeof *fresh);
        if (!fresh)
            return NULL;
        fresh->image = image;
        if (PFC_VEC_PUSH(&u->mem, &u->modules, fresh)) {
            pfc_free(&u->mem, fresh, sizeof *fresh);
            return NULL;
        }
        *row = (uint32_t)u->modules.count;
    }
    pfc_unwind_module *m = u->modules.data[*row - 1];
    m->used = ++u->clock;
    if (!m->sought && open_module(u, m))
        return NULL;
    return m;
}

int pfc_unwind_row(pfc_unwinder *u, pfc_unwind_module *m, const pfc_unwind_place *place, const pfc_cfi **cfi,
                   const pfc_cfi_row **out) {
    uint64_t vaddr = 0;
    *out = NULL;
    if (!m->binary || pfc_binary_vaddr(m->binary, place->offset, place->map_offset, &vaddr) != 0)
        return 0;
    *cfi = &m->eh;
    int status = pfc_cfi_find(&m->eh, vaddr, out);
    if (!status && !*out) {
        *cfi = &m->debug;
        status = pfc_cfi_find(&m->debug, vaddr, out);
    }
    return status ? u->mem.failed : 0;
}

/* The code that the kernel has signal handlers return to, "system call rt_sigreturn" and nothing else. libc marks it in its unwind
 * information; Go and others do not, so that debuggers know it by its instructions. */
static int is_signal_return(pfc_unwinder *u, pfc_unwind_module *m, uint64_t offset) {
    uint64_t code = 0;
    if (!pfc_unwind_read_file(u, m, offset, 8, &code))
        return 0;
    return u->aarch64 ? code == UINT64_C(0xd4000001d2801168) : code == UINT64_C(0x0f0000000fc0c748);
}

static int learn(pfc_unwinder *u, pfc_unwind_site *site) {
    pfc_unwind_place place;
    if (!u->maps->find(u->maps->user, site->interrupted ? site->pc : site->pc - 1, &place))
        return 0;
    site->mapped = 1;
    site->executable = place.executable != 0;
    if (place.image == PFC_UNWIND_NO_IMAGE)
        return 0;
    site->has_image = 1;
    site->module = pfc_unwind_module_get(u, place.image);
    if (!site->module)
        return u->mem.failed;
    uint64_t offset = place.offset + (site->interrupted ? 0 : 1); /* of pc */
    const pfc_cfi_row *row = NULL;
    int status = pfc_unwind_row(u, site->module, &place, &site->cfi, &row);
    if (!status && !row && !site->interrupted) { /* a signal's return code is not called: entered at its first byte */
        place.offset++;
        status = pfc_unwind_row(u, site->module, &place, &site->cfi, &row);
        if (row && !row->signal)
            row = NULL;
    }
    site->has_row = row != NULL;
    if (!site->interrupted && !(row && row->signal))
        site->returns_from_signal = is_signal_return(u, site->module, offset) != 0;
    site->row = row ? (uint32_t)(row - site->cfi->rows.data) : 0;
    site->epoch = u->epoch + site->module->eh.forgotten + site->module->debug.forgotten;
    return status;
}

int pfc_unwind_site_get(pfc_unwinder *u, uint64_t pc, int interrupted, const pfc_unwind_site **out) {
    uint64_t hash = (pc ^ (uint64_t)u->input->space << 40 ^ (uint64_t)interrupted << 63) * UINT64_C(0x9e3779b97f4a7c15);
    pfc_unwind_site *site = &u->sites[hash >> 52];
    *out = site;
    if (site->pc == pc && site->space == u->input->space && site->interrupted == interrupted && site->epoch) {
        const pfc_unwind_module *m = site->module;
        if (site->epoch == u->epoch + (m ? m->eh.forgotten + m->debug.forgotten : 0)) {
            if (m)
                site->module->used = ++u->clock;
            return 0;
        }
    }
    memset(site, 0, sizeof *site);
    site->pc = pc;
    site->space = u->input->space;
    site->interrupted = interrupted != 0;
    site->epoch = u->epoch;
    int status = learn(u, site);
    if (status)
        site->epoch = 0;
    return status;
}

int pfc_unwind_read_file(pfc_unwinder *u, pfc_unwind_module *m, uint64_t offset, unsigned size, uint64_t *out) {
    (void)u;
    pfc_image *image = m->binary ? m->binary->runtime : NULL;
    size_t count = 0;
    if (!image || image->debug_only || elf_getphdrnum(image->elf, &count) != 0)
        return 0;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Phdr header;
        unsigned char bytes[8];
        if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_LOAD || header.p_flags & PF_W ||
            offset < header.p_offset || offset - header.p_offset >= header.p_filesz ||
            size > header.p_filesz - (offset - header.p_offset) || offset > INT64_MAX)
            continue;
        if (pread(image->fd, bytes, size, (off_t)offset) != (ssize_t)size)
            return 0;
        uint64_t value = 0;
        const char *ident = elf_getident(image->elf, NULL);
        int big = ident && ident[EI_DATA] == ELFDATA2MSB;
        for (unsigned k = 0; k < size; k++)
            value |= (uint64_t)bytes[big ? size - 1 - k : k] << (8 * k);
        *out = value;
        return 1;
    }
    return 0;
}

void pfc_unwind_modules_free(pfc_unwinder *u) {
    for (size_t i = 0; i < u->modules.count; i++) {
        pfc_unwind_module *m = u->modules.data[i];
        close_module(u, m);
        pfc_free(&u->mem, m->file, m->file ? m->file_size + 1 : 0);
        pfc_free(&u->mem, m, sizeof *m);
    }
    PFC_VEC_FREE(&u->mem, &u->modules);
    PFC_VEC_FREE(&u->mem, &u->module_of);
}
