/* SPDX-License-Identifier: MIT
 *
 * Split units in a package (.dwp), which libdw reads only from 0.191 on. A package concatenates the sections of many
 * .dwo files and has an index that says which pieces belong to a unit. Of a unit that is hit we make a small ELF file
 * in memory with just its pieces, as an ordinary (not split) file that libdw can read by itself:
 *
 *  - .debug_str holds the unit's strings only, and .debug_str_offsets is renumbered to it;
 *  - .debug_addr is the unit's part of the executable's table, so that its base is 0, what libdw assumes when the unit
 * says none;
 *  - range lists that count from the unit's first address, which only the skeleton knows, get it: before DWARF 5 it is
 * added to the copied lists, in DWARF 5 the first DIE's DW_AT_language is made a DW_AT_low_pc.
 *
 * Location lists and macros are left out: nobody here asks for them. Formats: the index of DWARF 5, 7.3.5, and its GNU
 * predecessor, version 2.
 */
#include <dwarf.h>
#include <string.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/text.h"
#include "libprofconv/symbolize/dwarf.h"
#include "libprofconv/symbolize/elfmaker.h"

enum { INFO, ABBREV, LINE, STR_OFFSETS, RNGLISTS, STR, CU_INDEX, SECTIONS };

typedef struct {
    const uint8_t *data;
    size_t size;
} bytes;

struct pfc_package {
    pfc_image *image;
    bytes sections[SECTIONS];
    int big;
};

static bytes cut(bytes b, uint64_t offset, uint64_t size) {
    bytes none = {NULL, 0};
    if (offset > b.size || size > b.size - offset)
        return none;
    bytes piece = {b.data + offset, (size_t)size};
    return piece;
}

static int section_kind(const char *name) {
    static const char *const names[SECTIONS] = {".debug_info.dwo",        ".debug_abbrev.dwo",   ".debug_line.dwo",
                                                ".debug_str_offsets.dwo", ".debug_rnglists.dwo", ".debug_str.dwo",
                                                ".debug_cu_index"};
    for (int i = 0; i < SECTIONS; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

pfc_package *pfc_package_open(pfc_mem *mem, const char *path) {
    pfc_image *image = NULL;
    if (pfc_image_open(&image, mem, path, NULL) != 0)
        return NULL;
    pfc_package *package = pfc_alloc_zero(mem, sizeof *package);
    size_t names = 0;
    GElf_Ehdr header;
    if (package && gelf_getehdr(image->elf, &header) && elf_getshdrstrndx(image->elf, &names) == 0) {
        package->big = header.e_ident[EI_DATA] == ELFDATA2MSB;
        Elf_Scn *section = NULL;
        while ((section = elf_nextscn(image->elf, section))) {
            GElf_Shdr row;
            const char *name = gelf_getshdr(section, &row) ? elf_strptr(image->elf, names, row.sh_name) : NULL;
            int kind = name ? section_kind(name) : -1;
            if (kind < 0 || row.sh_type == SHT_NOBITS ||
                (row.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0))
                continue;
            Elf_Data *data = elf_rawdata(section, NULL);
            if (data && data->d_buf) {
                package->sections[kind].data = data->d_buf;
                package->sections[kind].size = data->d_size;
            }
        }
    }
    if (!package || !package->sections[CU_INDEX].data || !package->sections[INFO].data) {
        pfc_free(mem, package, package ? sizeof *package : 0);
        pfc_image_close(image);
        return NULL;
    }
    package->image = image;
    return package;
}

void pfc_package_close(pfc_package *package) {
    if (!package)
        return;
    pfc_mem *mem = package->image->mem;
    pfc_image_close(package->image);
    pfc_free(mem, package, sizeof *package);
}

/* Kind of an index column: version 2 and 5 number them alike where we care. */
static int column_kind(uint32_t id, unsigned version) {
    switch (id) {
    case 1:
        return INFO;
    case 3:
        return ABBREV;
    case 4:
        return LINE;
    case 6:
        return STR_OFFSETS;
    case 8:
        return version == 5 ? RNGLISTS : -1;
    default:
        return -1;
    }
}

/* The pieces of the unit `id`. 0, or -1 when the package does not have it. */
static int find_pieces(const pfc_package *package, uint64_t id, bytes pieces[SECTIONS]) {
    bytes index = package->sections[CU_INDEX];
    pfc_cursor c = pfc_cursor_make(index.data, index.size, 0, package->big);
    unsigned version = pfc_u16(&c), pad = pfc_u16(&c);
    if (package->big && version == 0) /* version 2 has 32 bits for it */
        version = pad;
    uint32_t columns = pfc_u32(&c), units = pfc_u32(&c), slots = pfc_u32(&c);
    if (c.failed || (version != 2 && version != 5) || columns == 0 || columns > 64 || !pfc_fits(&c, slots, 12))
        return -1;
    pfc_cursor ids = pfc_sub(&c, (uint64_t)slots * 8), rows = pfc_sub(&c, (uint64_t)slots * 4);
    uint32_t row = 0;
    for (uint32_t i = 0; i < slots && row == 0; i++) {
        uint64_t slot_id = pfc_u64(&ids);
        uint32_t slot_row = pfc_u32(&rows);
        row = slot_id == id ? slot_row : 0;
    }
    if (row == 0 || row > units || !pfc_fits(&c, (uint64_t)units * 2 + 1, 4 * (size_t)columns))
        return -1;
    pfc_cursor kinds = pfc_sub(&c, (uint64_t)columns * 4), offsets = c, sizes = c;
    pfc_skip(&offsets, (uint64_t)(row - 1) * columns * 4);
    pfc_skip(&sizes, ((uint64_t)units + row - 1) * columns * 4);
    memset(pieces, 0, SECTIONS * sizeof *pieces);
    for (uint32_t i = 0; i < columns; i++) {
        int kind = column_kind(pfc_u32(&kinds), version);
        uint32_t offset = pfc_u32(&offsets), size = pfc_u32(&sizes);
        if (kind >= 0)
            pieces[kind] = cut(package->sections[kind], offset, size);
    }
    return pieces[INFO].data && pieces[ABBREV].data ? 0 : -1;
}

/* ---- the unit's pieces ---- */

static void copy(pfc_elf_maker *m, const char *name, bytes piece) {
    pfc_elf_begin(m, name);
    pfc_buf_add(&m->out, piece.data, piece.size);
    pfc_elf_end(m);
}

/* Strings that the unit's offsets name, and the offsets renumbered. 32-bit DWARF only. -1 when the tables make no
 * sense. */
static int add_strings(pfc_elf_maker *m, const pfc_package *package, bytes offsets, unsigned version) {
    bytes strings = package->sections[STR];
    pfc_cursor c = pfc_cursor_make(offsets.data, offsets.size, 0, m->big);
    size_t header = version >= 5 ? 8 : 0;
    if (header && (pfc_u32(&c) == 0xffffffffu || !pfc_take(&c, 4)))
        return -1;
    size_t count = pfc_cursor_left(&c) / 4;
    /* In a sound package each string is there once, so the unit's strings are no more than all. */
    size_t start, limit = strings.size;
    pfc_buf numbers;
    pfc_buf_init(&numbers, m->out.mem);
    pfc_buf_add(&numbers, offsets.data, header);
    pfc_elf_begin(m, ".debug_str");
    start = m->out.size;
    int status = 0;
    for (size_t i = 0; !status && i < count && !m->out.failed; i++) {
        uint32_t offset = pfc_u32(&c);
        uint64_t at = m->out.size - start;
        const uint8_t *text = offset < strings.size ? strings.data + offset : (const uint8_t *)"";
        size_t left = offset < strings.size ? strings.size - offset : 1;
        const uint8_t *nul = memchr(text, 0, left);
        if (!nul || at > limit || at > UINT32_MAX - left)
            status = -1;
        else
            pfc_buf_add(&m->out, text, (size_t)(nul - text) + 1);
        char number[4];
        for (unsigned k = 0; k < 4; k++)
            number[k] = (char)(at >> 8 * (m->big ? 3 - k : k));
        pfc_buf_add(&numbers, number, 4);
    }
    pfc_buf_char(&m->out, 0);
    pfc_elf_end(m);
    bytes renumbered = {(const uint8_t *)(numbers.data ? numbers.data : ""), numbers.size};
    copy(m, ".debug_str_offsets", renumbered);
    status = numbers.failed ? -1 : status;
    pfc_buf_free(&numbers);
    return status;
}

static bytes section_of(Elf *elf, const char *wanted) {
    bytes none = {NULL, 0};
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return none;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr row;
        const char *name = gelf_getshdr(section, &row) ? elf_strptr(elf, names, row.sh_name) : NULL;
        if (!name || row.sh_type == SHT_NOBITS || strcmp(name, wanted) != 0)
            continue;
        Elf_Data *data = elf_rawdata(section, NULL); /* libdw has inflated it in place */
        if (data && data->d_buf) {
            bytes found = {data->d_buf, data->d_size};
            return found;
        }
    }
    return none;
}

static uint64_t skeleton_number(pfc_unit *unit, unsigned name, unsigned old_name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if ((dwarf_attr(&unit->die, name, &attribute) || dwarf_attr(&unit->die, old_name, &attribute)) &&
        dwarf_formudata(&attribute, &value) == 0)
        return value;
    return 0;
}

/* The unit's addresses, `low` after them. *index: where it is. */
static void add_addresses(pfc_elf_maker *m, bytes table, uint64_t base, unsigned version, unsigned width, uint64_t low,
                          uint64_t *index) {
    bytes piece = cut(table, base, base < table.size ? table.size - base : 0);
    if (version >= 5 && base >= 8 && piece.data) { /* the header before it says how long it is */
        uint32_t length = pfc_load32(table.data + base - 8, m->big);
        if (length >= 4 && length - 4 <= piece.size)
            piece.size = length - 4;
    }
    piece.size -= piece.size % width;
    copy(m, ".debug_addr", piece);
    *index = piece.size / width;
    pfc_elf_put(m, low, width);
    pfc_elf_end(m);
}

/* Before DWARF 5: lists of address pairs, relative to `low` until a base is selected, ended by a pair of zeros. */
static void add_ranges(pfc_elf_maker *m, bytes lists, unsigned width, uint64_t low) {
    const uint64_t top = width == 4 ? UINT32_MAX : UINT64_MAX;
    pfc_cursor c = pfc_cursor_make(lists.data, lists.size, 0, m->big);
    uint64_t base = low;
    pfc_elf_begin(m, ".debug_ranges");
    while (pfc_cursor_left(&c) >= 2 * (size_t)width && !m->out.failed) {
        uint64_t from = width == 4 ? pfc_u32(&c) : pfc_u64(&c), to = width == 4 ? pfc_u32(&c) : pfc_u64(&c);
        if (from == 0 && to == 0) {
            base = low;
        } else if (from == top) {
            base = 0; /* what is selected is absolute */
        } else {
            from += base;
            to += base;
        }
        pfc_elf_put(m, from, width);
        pfc_elf_put(m, to, width);
    }
    pfc_elf_end(m);
}

/* Bytes that a value of `form` takes, for the forms that the first DIE of a split unit has; -1 for others. */
static int skip_form(pfc_cursor *c, uint64_t form) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        pfc_skip(c, 1);
        return 0;
    case DW_FORM_data2:
    case DW_FORM_strx2:
        pfc_skip(c, 2);
        return 0;
    case DW_FORM_strx3:
        pfc_skip(c, 3);
        return 0;
    case DW_FORM_data4:
    case DW_FORM_sec_offset:
    case DW_FORM_strx4:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
        pfc_skip(c, 4);
        return 0;
    case DW_FORM_data8:
        pfc_skip(c, 8);
        return 0;
    case DW_FORM_string:
        (void)pfc_cstring(c);
        return 0;
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_udata:
    case DW_FORM_sdata:
        (void)pfc_uleb(c);
        return 0;
    default:
        return -1;
    }
}

/* DWARF 5: DW_AT_language (one or two bytes) of the unit's first DIE becomes a DW_AT_low_pc that names address `index`.
 * `info` and `abbrev` are offsets in the image. 0, or -1 when the DIE has no such attribute. */
static int give_base(pfc_elf_maker *m, size_t info, size_t info_size, size_t abbrev, size_t abbrev_size,
                     uint64_t index) {
    char *image = m->out.data;
    pfc_cursor die = pfc_cursor_make(image + info, info_size, 0, m->big);
    pfc_cursor table = pfc_cursor_make(image + abbrev, abbrev_size, 0, m->big);
    pfc_skip(&die, 4 + 2 + 1 + 1 + 4 + 8); /* length, version, type, address size, abbreviations, id */
    uint64_t code = pfc_uleb(&die);
    for (;;) {
        uint64_t entry = pfc_uleb(&table);
        (void)pfc_uleb(&table); /* tag */
        pfc_skip(&table, 1);
        if (table.failed || entry == 0)
            return -1;
        for (;;) {
            size_t at = table.at;
            uint64_t name = pfc_uleb(&table), form = pfc_uleb(&table);
            if (form == DW_FORM_implicit_const)
                (void)pfc_uleb(&table);
            if (table.failed || (name == 0 && form == 0))
                break;
            if (entry != code)
                continue;
            unsigned size = form == DW_FORM_data1 ? 1 : form == DW_FORM_data2 ? 2 : 0;
            if (name == DW_AT_language && size && table.at == at + 2 && index < UINT64_C(1) << 8 * size) {
                if (!pfc_take(&die, size))
                    return -1;
                for (unsigned k = 0; k < size; k++)
                    image[info + die.at - size + k] = (char)(index >> 8 * (m->big ? size - 1 - k : k));
                image[abbrev + at] = DW_AT_low_pc;
                image[abbrev + at + 1] = size == 1 ? DW_FORM_addrx1 : DW_FORM_addrx2;
                return 0;
            }
            if (skip_form(&die, form) != 0 || die.failed)
                return -1;
        }
        if (entry == code)
            return -1;
    }
}

/* End of the range lists of `unit`: where those of another unit begin. */
static uint64_t ranges_end(const pfc_dwarf *dwarf, uint64_t base) {
    uint64_t limit = UINT64_MAX;
    for (size_t i = 0; i < dwarf->units.count; i++)
        if (dwarf->units.data[i].ranges_base > base && dwarf->units.data[i].ranges_base < limit)
            limit = dwarf->units.data[i].ranges_base;
    return limit;
}

static int make_image(pfc_elf_maker *m, pfc_dwarf *dwarf, pfc_unit *unit, const pfc_package *package,
                      bytes pieces[SECTIONS], unsigned version, unsigned width) {
    Elf *elf = dwarf_getelf(dwarf->dwarf);
    Dwarf_Addr low = 0;
    if (dwarf_lowpc(&unit->die, &low) != 0)
        low = 0;
    size_t info = m->out.size;
    copy(m, ".debug_info", pieces[INFO]);
    copy(m, ".debug_abbrev", pieces[ABBREV]);
    size_t abbrev = m->sections[1].offset;
    if (pieces[LINE].size)
        copy(m, ".debug_line", pieces[LINE]);
    if (pieces[STR_OFFSETS].size && add_strings(m, package, pieces[STR_OFFSETS], version) != 0)
        return -1;
    uint64_t index = 0;
    add_addresses(m, section_of(elf, ".debug_addr"), skeleton_number(unit, DW_AT_addr_base, DW_AT_GNU_addr_base),
                  version, width, low, &index);
    if (version >= 5) {
        copy(m, ".debug_rnglists", pieces[RNGLISTS]);
        if (!m->out.failed && low && pieces[RNGLISTS].size &&
            give_base(m, info, pieces[INFO].size, abbrev, pieces[ABBREV].size, index) != 0)
            return -1;
    } else {
        bytes lists = section_of(elf, ".debug_ranges");
        uint64_t base = unit->ranges_base, limit = ranges_end(dwarf, base);
        limit = limit < lists.size ? limit : lists.size;
        add_ranges(m, cut(lists, base, base < limit ? limit - base : 0), width, low);
    }
    pfc_elf_finish(m);
    return m->out.failed ? -1 : 0;
}

int pfc_package_unit(pfc_dwarf *dwarf, pfc_unit *unit) {
    const pfc_package *package = dwarf->binary->package;
    Dwarf_Half version = 0;
    uint8_t type = 0, width = 0;
    uint64_t id = 0;
    bytes pieces[SECTIONS];
    if (!package || dwarf_cu_info(unit->cu, &version, &type, NULL, NULL, &id, &width, NULL) != 0 ||
        type != DW_UT_skeleton || (width != 4 && width != 8) || find_pieces(package, id, pieces) != 0)
        return -1;
    pfc_elf_maker m;
    pfc_elf_init(&m, dwarf->mem, package->big);
    if (make_image(&m, dwarf, unit, package, pieces, version, width) == 0) {
        unit->owned_elf = elf_memory(m.out.data, m.out.size);
        unit->owned = unit->owned_elf ? dwarf_begin_elf(unit->owned_elf, DWARF_C_READ, NULL) : NULL;
    }
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    if (!unit->owned || dwarf_get_units(unit->owned, NULL, &cu, NULL, NULL, &die, NULL) != 0) {
        pfc_buf_free(&m.out);
        if (unit->owned)
            dwarf_end(unit->owned);
        if (unit->owned_elf)
            elf_end(unit->owned_elf);
        unit->owned = NULL;
        unit->owned_elf = NULL;
        return -1;
    }
    unit->owned_image = m.out;
    unit->root = die;
    return 0;
}
