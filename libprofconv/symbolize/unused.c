/* SPDX-License-Identifier: MIT
 *
 * Sections of debug information that nothing here asks for: where variables are, macros, names by table, frames (which unwinding
 * reads by itself). libdw inflates all that it knows when it opens a file, so the compressed ones are kept from it, as members of a
 * section group, of which it takes no notice unless it is asked for that group. Only the copy of the header in memory changes.
 */
#include "libprofconv/symbolize/image.h"

#include <string.h>

static int is_unused(const char *name) {
    static const char *const names[] = {"loc",          "loclists",     "macro", "macinfo", "pubnames", "pubtypes",
                                        "gnu_pubnames", "gnu_pubtypes", "frame", "names"};
    if (strncmp(name, ".debug_", 7) == 0)
        name += 7;
    else if (strncmp(name, ".zdebug_", 8) == 0)
        name += 8;
    else
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

void pfc_image_hide_unused(pfc_image *image) {
    size_t names = 0;
    if (elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(image->elf, section))) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(image->elf, names, header.sh_name) : NULL;
        if (!name || !is_unused(name) || (!(header.sh_flags & SHF_COMPRESSED) && name[1] != 'z'))
            continue;
        header.sh_flags |= SHF_GROUP;
        (void)gelf_update_shdr(section, &header);
    }
}
