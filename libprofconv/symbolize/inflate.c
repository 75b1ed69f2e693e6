/* SPDX-License-Identifier: MIT
 *
 * ELF sections that are compressed with zstd (ch_type 2: clang -gz=zstd, and kernels of recent distributions), which
 * elfutils learned only in 0.189. The file is copied to anonymous memory with those sections inflated at its end and
 * their headers changed accordingly, so that everything else works on the copy as on any file.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "libprofconv/base/text.h"
#include "libprofconv/symbolize/image.h"

#define TYPE_ZSTD 2 /* ELFCOMPRESS_ZSTD, which older headers lack */

enum { CHUNK = 1 << 17 };

/* Where the members of a section header are, by class. */
typedef struct layout {
    uint64_t flags, offset, size, alignment;
    size_t width; /* of these members */
} layout;

static const layout layout32 = {8, 16, 20, 32, 4};
static const layout layout64 = {8, 24, 32, 48, 8};

typedef struct job {
    Elf *elf;
    GElf_Ehdr header;
    const layout *members;
    int from, to;
    uint64_t end; /* of the copy */
    ZSTD_DStream *stream;
    uint8_t in[CHUNK], out[CHUNK];
} job;

static int write_all(int fd, const void *data, size_t size, uint64_t at) {
    const uint8_t *p = data;
    while (size) {
        ssize_t n = pwrite(fd, p, size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* Up to `size` bytes; how many, or -1. */
static ssize_t read_some(int fd, void *data, size_t size, uint64_t at) {
    ssize_t n;
    do
        n = pread(fd, data, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n;
}

static int copy_file(job *j) {
    for (j->end = 0;;) {
        ssize_t n = read_some(j->from, j->in, sizeof j->in, j->end);
        if (n <= 0)
            return (int)n;
        if (write_all(j->to, j->in, (size_t)n, j->end))
            return -1;
        j->end += (uint64_t)n;
    }
}

static int put_member(job *j, uint64_t header_at, uint64_t member, uint64_t value) {
    uint8_t bytes[8];
    for (size_t i = 0; i < j->members->width; i++) {
        size_t shift = j->header.e_ident[EI_DATA] == ELFDATA2MSB ? j->members->width - 1 - i : i;
        bytes[i] = (uint8_t)(value >> (8 * shift));
    }
    return write_all(j->to, bytes, j->members->width, header_at + member);
}

/* Inflates [at, at + size) of the file to the end of the copy; exactly `expected` bytes must come out. */
static int inflate_range(job *j, uint64_t at, uint64_t size, uint64_t expected) {
    uint64_t made = 0;
    if (ZSTD_isError(ZSTD_initDStream(j->stream)))
        return -1;
    while (size) {
        ssize_t n = read_some(j->from, j->in, size < sizeof j->in ? (size_t)size : sizeof j->in, at);
        if (n <= 0)
            return -1;
        at += (uint64_t)n;
        size -= (uint64_t)n;
        ZSTD_inBuffer in = {j->in, (size_t)n, 0};
        ZSTD_outBuffer out;
        do {
            out = (ZSTD_outBuffer){j->out, sizeof j->out, 0};
            if (ZSTD_isError(ZSTD_decompressStream(j->stream, &out, &in)) || out.pos > expected - made ||
                write_all(j->to, j->out, out.pos, j->end + made))
                return -1;
            made += out.pos;
        } while (in.pos < in.size || out.pos == sizeof j->out);
    }
    return made == expected ? 0 : -1;
}

/* Nonzero when the section is of this kind. */
static int is_zstd(Elf_Scn *section, GElf_Shdr *header, GElf_Chdr *compressed) {
    return gelf_getshdr(section, header) && header->sh_type != SHT_NOBITS && (header->sh_flags & SHF_COMPRESSED) &&
           gelf_getchdr(section, compressed) && compressed->ch_type == TYPE_ZSTD;
}

static int inflate_section(job *j, Elf_Scn *section) {
    GElf_Shdr header;
    GElf_Chdr compressed;
    if (!is_zstd(section, &header, &compressed))
        return 0;
    uint64_t head = j->members == &layout64 ? 24 : 12;
    if (header.sh_size < head)
        return -1;
    j->end = (j->end + 15) & ~(uint64_t)15;
    uint64_t at = j->header.e_shoff + (uint64_t)elf_ndxscn(section) * j->header.e_shentsize;
    if (inflate_range(j, header.sh_offset + head, header.sh_size - head, compressed.ch_size) ||
        put_member(j, at, j->members->flags, header.sh_flags & ~(uint64_t)SHF_COMPRESSED) ||
        put_member(j, at, j->members->offset, j->end) || put_member(j, at, j->members->size, compressed.ch_size) ||
        put_member(j, at, j->members->alignment, compressed.ch_addralign))
        return -1;
    j->end += compressed.ch_size;
    return 0;
}

/* How large the copy will be; 0 when no section needs it. */
static uint64_t copy_size(Elf *elf, int fd) {
    struct stat file;
    uint64_t size = 0;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        GElf_Chdr compressed;
        if (is_zstd(section, &header, &compressed))
            size = pfc_add_sat(size, pfc_add_sat(compressed.ch_size, 16));
    }
    if (size && fstat(fd, &file) == 0)
        size = pfc_add_sat(size, (uint64_t)file.st_size);
    return size;
}

int pfc_inflate_zstd_sections(pfc_mem *mem, Elf *elf, int fd, uint64_t *charged) {
    uint64_t size = copy_size(elf, fd);
    *charged = 0;
    if (size == 0)
        return -1;
    job *j = pfc_alloc_zero(mem, sizeof *j);
    if (!j || pfc_mem_charge(mem, size)) {
        pfc_free(mem, j, sizeof *j);
        return -1;
    }
    Elf_Scn *section = NULL;
    j->elf = elf;
    j->from = fd;
    j->to = memfd_create("profconv", MFD_CLOEXEC);
    j->stream = ZSTD_createDStream();
    int status = j->to >= 0 && j->stream && gelf_getehdr(elf, &j->header) ? 0 : -1;
    j->members = status == 0 && gelf_getclass(elf) == ELFCLASS32 ? &layout32 : &layout64;
    if (status == 0)
        status = copy_file(j);
    while (status == 0 && (section = elf_nextscn(elf, section)) != NULL)
        status = inflate_section(j, section);
    ZSTD_freeDStream(j->stream);
    int copy = j->to;
    pfc_free(mem, j, sizeof *j);
    if (status && copy >= 0) {
        close(copy);
        copy = -1;
    }
    if (copy < 0)
        pfc_mem_discharge(mem, size);
    else
        *charged = size;
    return copy;
}
