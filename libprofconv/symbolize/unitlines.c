/* SPDX-License-Identifier: MIT
 *
 * The line table of a unit: where it is in the file, and the paths of its files.
 */
#include <dwarf.h>
#include <string.h>

#include "libprofconv/symbolize/dwarf.h"

static pfc_cursor section_named(Dwarf *file, const char *name, const char *compressed, int big) {
    Elf *elf = dwarf_getelf(file);
    size_t names = 0;
    Elf_Scn *section = NULL;
    if (elf && elf_getshdrstrndx(elf, &names) == 0) {
        while ((section = elf_nextscn(elf, section)) != NULL) {
            GElf_Shdr header;
            if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
                continue;
            const char *this = elf_strptr(elf, names, header.sh_name);
            if (!this || (strcmp(this, name) != 0 && strcmp(this, compressed) != 0))
                continue;
            /* Inflated by libdw when it opened the file. */
            Elf_Data *data = elf_rawdata(section, NULL);
            if (data && data->d_buf)
                return pfc_cursor_make(data->d_buf, data->d_size, 0, big);
        }
    }
    return pfc_cursor_make("", 0, 0, big);
}

static const pfc_line_sections *sections_of(pfc_dwarf *dwarf) {
    if (!dwarf->sections_found) {
        GElf_Ehdr header;
        Elf *elf = dwarf_getelf(dwarf->dwarf);
        int big = elf && gelf_getehdr(elf, &header) && header.e_ident[EI_DATA] == ELFDATA2MSB;
        dwarf->sections.line = section_named(dwarf->dwarf, ".debug_line", ".zdebug_line", big);
        dwarf->sections.line_str = section_named(dwarf->dwarf, ".debug_line_str", ".zdebug_line_str", big);
        dwarf->sections.str = section_named(dwarf->dwarf, ".debug_str", ".zdebug_str", big);
        dwarf->sections_found = 1;
    }
    return &dwarf->sections;
}

static int keep(const void *user, uint64_t start) { return pfc_dwarf_is_code(user, start); }

static int read_table(pfc_dwarf *dwarf, pfc_unit *unit) {
    if (unit->lines_read)
        return 0;
    unit->lines_read = 1;
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (!dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &offset) != 0)
        return 0;
    return pfc_line_table_read(dwarf->mem, sections_of(dwarf), offset, 1, keep, dwarf, &unit->lines);
}

const pfc_line_row *pfc_unit_line(pfc_dwarf *dwarf, pfc_unit *unit, uint64_t vaddr) {
    return read_table(dwarf, unit) == 0 ? pfc_line_table_find(&unit->lines, vaddr, &dwarf->until) : NULL;
}

const char *pfc_unit_line_file(pfc_dwarf *dwarf, pfc_unit *unit, uint64_t number) {
    if (read_table(dwarf, unit) != 0 || number >= unit->lines.files.count)
        return "";
    const pfc_line_file *file = &unit->lines.files.data[number];
    if (file->name[0] == '/' || file->name[0] == 0 || file->directory[0] == 0)
        return pfc_dwarf_path(dwarf, unit, file->name);
    return pfc_dwarf_join(dwarf, pfc_dwarf_path(dwarf, unit, file->directory), file->name);
}
