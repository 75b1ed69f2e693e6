/* SPDX-License-Identifier: MIT
 *
 * The stubs of the PLT, which have no symbols: each jumps through a slot of the global offset table, and the dynamic
 * relocation of that slot says for which symbol. x86-64, the three sections that its linkers make; the stubs of .plt
 * are 16 bytes, the others 8, or 16 where they begin with endbr64.
 */
#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/symbolize/entries.h"

typedef struct slots {
    PFC_VEC(pfc_key) keys; /* address; id: index of the name */
    PFC_VEC(const char *) names;
} slots;

/* ---- relocations ---- */

static int add_slot(slots *s, pfc_mem *mem, Elf *elf, const GElf_Shdr *symbols, Elf_Data *table, uint64_t offset,
                    uint64_t symbol) {
    GElf_Sym sym;
    if (symbol == 0 || symbol > INT32_MAX || !gelf_getsym(table, (int)symbol, &sym))
        return 0;
    const char *name = elf_strptr(elf, symbols->sh_link, sym.st_name);
    if (!name || !*name || s->names.count >= UINT32_MAX)
        return 0;
    pfc_key key = {offset, 0, (uint32_t)s->names.count};
    return PFC_VEC_PUSH(mem, &s->names, name) ? mem->failed : PFC_VEC_PUSH(mem, &s->keys, key);
}

static int add_relocations(slots *s, pfc_mem *mem, Elf *elf, Elf_Scn *section, const GElf_Shdr *header) {
    GElf_Shdr symbols;
    Elf_Scn *linked = elf_getscn(elf, header->sh_link);
    Elf_Data *data = elf_getdata(section, NULL);
    Elf_Data *table = linked && gelf_getshdr(linked, &symbols) && symbols.sh_type == SHT_DYNSYM
                          ? elf_getdata(linked, NULL)
                          : NULL;
    size_t size = gelf_fsize(elf, ELF_T_RELA, 1, EV_CURRENT);
    size_t count = data && table && size ? data->d_size / size : 0;
    int status = 0;
    for (size_t i = 0; i < count && i < INT32_MAX && !status; i++) {
        GElf_Rela rela;
        if (!gelf_getrela(data, (int)i, &rela))
            break;
        status = add_slot(s, mem, elf, &symbols, table, rela.r_offset, GELF_R_SYM(rela.r_info));
    }
    return status;
}

static int find_slots(slots *s, pfc_mem *mem, Elf *elf) {
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    int status = 0;
    while (!status && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC))
            status = add_relocations(s, mem, elf, section, &header);
    return status ? status : pfc_sort_keys(mem, s->keys.data, s->keys.count);
}

static const char *symbol_of(const slots *s, uint64_t address) {
    size_t low = 0, high = s->keys.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->keys.data[middle].key < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->keys.count && s->keys.data[low].key == address ? s->names.data[s->keys.data[low].id] : NULL;
}

/* ---- stubs ---- */

static int has_endbr(const uint8_t *code, size_t size) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return size >= sizeof endbr64 && memcmp(code, endbr64, sizeof endbr64) == 0;
}

/* The slot that a stub at `address` jumps through: jmp *displacement(%rip), behind endbr64 and bnd where they are. */
static int slot_of(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot) {
    size_t at = has_endbr(code, size) ? 4 : 0;
    at += at < size && code[at] == 0xf2;
    if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
        return 0;
    uint32_t displacement = (uint32_t)code[at + 2] | (uint32_t)code[at + 3] << 8 | (uint32_t)code[at + 4] << 16 |
                            (uint32_t)code[at + 5] << 24;
    *slot = address + at + 6 + displacement - (displacement >> 31 ? UINT64_C(1) << 32 : 0);
    return 1;
}

static int add_section(pfc_entries *entries, pfc_mem *mem, const slots *s, const char *name, uint64_t address,
                       const Elf_Data *data) {
    const uint8_t *code = (const uint8_t *)data->d_buf;
    size_t step = strcmp(name, ".plt") == 0 || has_endbr(code, data->d_size) ? 16 : 8;
    int status = 0, first = 0;
    for (size_t at = 0; at + step <= data->d_size && !status; at += step) {
        pfc_entry stub = {.address = address + at, .size = step, .kind = PFC_ENTRY_STUB};
        uint64_t slot = 0;
        stub.name = slot_of(code + at, step, stub.address, &slot) ? symbol_of(s, slot) : NULL;
        if (!stub.name)
            continue;
        first |= at == 0;
        status = PFC_VEC_PUSH(mem, entries, stub);
    }
    pfc_entry common = {.address = address, .size = step, .name = name, .kind = PFC_ENTRY_PLT};
    return status || first || data->d_size < step ? status : PFC_VEC_PUSH(mem, entries, common);
}

static int is_plt(const char *name) {
    return name && (strcmp(name, ".plt") == 0 || strcmp(name, ".plt.got") == 0 || strcmp(name, ".plt.sec") == 0);
}

int pfc_entry_stubs(pfc_entries *entries, pfc_mem *mem, const pfc_binary *binary) {
    const pfc_image *image = binary->runtime;
    slots s = {{NULL, 0, 0}, {NULL, 0, 0}};
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    size_t names = 0;
    if (image->machine != EM_X86_64 || image->debug_only || image->relocatable ||
        elf_getshdrstrndx(image->elf, &names) != 0)
        return 0;
    int status = find_slots(&s, mem, image->elf);
    while (!status && (section = elf_nextscn(image->elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR))
            continue;
        const char *name = elf_strptr(image->elf, names, header.sh_name);
        Elf_Data *data = is_plt(name) ? elf_rawdata(section, NULL) : NULL;
        if (data && data->d_buf)
            status = add_section(entries, mem, &s, name, header.sh_addr, data);
    }
    PFC_VEC_FREE(mem, &s.keys);
    PFC_VEC_FREE(mem, &s.names);
    return status;
}
