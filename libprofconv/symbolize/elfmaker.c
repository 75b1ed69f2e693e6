/* SPDX-License-Identifier: MIT
 *
 * Makes small ELF files in memory: 64-bit, of either byte order, the file header first, then the sections, their names
 * and headers.
 */
#include "libprofconv/symbolize/elfmaker.h"

#include <elf.h>
#include <string.h>

void pfc_elf_init(pfc_elf_maker *m, pfc_mem *mem, int big) {
    memset(m, 0, sizeof *m);
    m->big = big;
    pfc_buf_init(&m->out, mem);
    for (int i = 0; i < 8; i++)
        pfc_elf_put(m, 0, 8); /* room for the file header */
}

void pfc_elf_put(pfc_elf_maker *m, uint64_t value, unsigned size) {
    char text[8];
    for (unsigned i = 0; i < size; i++)
        text[i] = (char)(value >> 8 * (m->big ? size - 1 - i : i));
    pfc_buf_add(&m->out, text, size);
}

void pfc_elf_begin(pfc_elf_maker *m, const char *name) {
    while (m->out.size & 7 && !m->out.failed)
        pfc_buf_char(&m->out, 0);
    m->sections[m->count].name = name;
    m->sections[m->count].offset = m->out.size;
    m->count++;
}
void pfc_elf_end(pfc_elf_maker *m) { m->sections[m->count - 1].size = m->out.size - m->sections[m->count - 1].offset; }
/* Section names, section headers, and then the file header, which has its place at the beginning. */
void pfc_elf_finish(pfc_elf_maker *m) {
    pfc_elf_begin(m, ".shstrtab");
    size_t names[PFC_ELF_MAX_SECTIONS];
    pfc_buf_char(&m->out, 0);
    for (size_t i = 0; i < m->count; i++) {
        names[i] = m->out.size - m->sections[m->count - 1].offset;
        pfc_buf_add(&m->out, m->sections[i].name, strlen(m->sections[i].name) + 1);
    }
    pfc_elf_end(m);
    while (m->out.size & 7 && !m->out.failed)
        pfc_buf_char(&m->out, 0);
    size_t table = m->out.size;
    for (int i = 0; i < 8; i++)
        pfc_elf_put(m, 0, 8);
    for (size_t i = 0; i < m->count; i++) {
        pfc_elf_put(m, names[i], 4);
        pfc_elf_put(m, i + 1 == m->count ? SHT_STRTAB : SHT_PROGBITS, 4);
        pfc_elf_put(m, 0, 8); /* flags */
        pfc_elf_put(m, 0, 8); /* address */
        pfc_elf_put(m, m->sections[i].offset, 8);
        pfc_elf_put(m, m->sections[i].size, 8);
        pfc_elf_put(m, 0, 8); /* link, info */
        pfc_elf_put(m, 1, 8); /* alignment */
        pfc_elf_put(m, 0, 8); /* entry size */
    }
    size_t total = m->out.size;
    char ident[16] = {0x7f, 'E', 'L', 'F', ELFCLASS64, m->big ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT};
    pfc_buf_add(&m->out, ident, 16);
    pfc_elf_put(m, ET_REL, 2);
    pfc_elf_put(m, EM_NONE, 2);
    pfc_elf_put(m, EV_CURRENT, 4);
    pfc_elf_put(m, 0, 8);
    pfc_elf_put(m, 0, 8);
    pfc_elf_put(m, table, 8);
    pfc_elf_put(m, 0, 4);
    pfc_elf_put(m, 64, 2);
    pfc_elf_put(m, 0, 2);
    pfc_elf_put(m, 0, 2);
    pfc_elf_put(m, 64, 2);
    pfc_elf_put(m, m->count + 1, 2);
    pfc_elf_put(m, m->count, 2);
    if (!m->out.failed)
        memcpy(m->out.data, m->out.data + total, 64);
}
