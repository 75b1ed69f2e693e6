/* SPDX-License-Identifier: MIT
 *
 * Functions as LLVM BOLT takes them from a file's symbols, and how it tells local ones of one name apart.
 *
 * Going up by address, a symbol of a function begins one where none is that reaches past it; so does one without a type
 * (assembly), unless it is local and may be a label of a function without a size. The first symbol of the file's table
 * at an address gives the name. A local one is called NAME/N, where N counts the local symbols of that name by address,
 * those of data too.
 */
#include <stdlib.h>
#include <string.h>

#include "libprofconv/symbolize/entries.h"

/* ---- functions ---- */

/* Whether a symbol may be a label of the function before it. */
static int is_label_of(const pfc_symbol *s, const pfc_entry *f) {
    return !s->function && s->bind == PFC_SYMBOL_LOCAL && s->address < f->limit;
}

static int take_symbol(pfc_entries *entries, pfc_mem *mem, size_t first, const pfc_symbol *s) {
    pfc_entry *last = entries->count > first ? &entries->data[entries->count - 1] : NULL;
    if (last && last->address != s->address && s->address - last->address < last->size)
        return 0;
    if (last && !s->function && ((last->size && last->address == s->address) || (!last->size && is_label_of(s, last))))
        return 0;
    if (last && last->address == s->address) {
        last->size = s->size > last->size ? s->size : last->size;
        return 0;
    }
    pfc_entry f = {.address = s->address,
                   .size = s->size,
                   .limit = s->limit,
                   .name = s->name,
                   .kind = PFC_ENTRY_FUNCTION,
                   .local = s->bind == PFC_SYMBOL_LOCAL};
    return PFC_VEC_PUSH(mem, entries, f);
}

int pfc_entry_functions(pfc_entries *entries, pfc_mem *mem, pfc_binary *binary) {
    const pfc_symbol *rows = NULL;
    size_t count = 0, first = entries->count;
    int status = pfc_binary_symbols(binary, &rows, &count), dynamic = 1;
    for (size_t i = 0; i < count && dynamic; i++)
        dynamic = rows[i].dynamic;
    for (size_t i = 0, next; i < count && !status; i = next) {
        for (next = i; next < count && rows[next].address == rows[i].address; next++) {}
        for (int function = 1; function >= 0; function--) /* of one address, these come first */
            for (size_t k = i; k < next && !status; k++)
                if (rows[k].function == function && rows[k].dynamic == dynamic && rows[k].address)
                    status = take_symbol(entries, mem, first, &rows[k]);
    }
    for (size_t i = first; i < entries->count && !status; i++) { /* without a size: up to the next */
        pfc_entry *f = &entries->data[i];
        uint64_t end = i + 1 < entries->count ? entries->data[i + 1].address : UINT64_MAX;
        end = end < f->limit ? end : f->limit;
        if (f->size == 0 && end > f->address)
            f->size = end - f->address;
    }
    return status;
}

/* ---- local symbols ---- */

static int compare_locals(const void *x, const void *y) {
    const pfc_local *a = (const pfc_local *)x, *b = (const pfc_local *)y;
    int order = strcmp(a->name, b->name);
    if (order)
        return order;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int is_loaded(Elf *elf, size_t section) {
    GElf_Shdr header;
    if (section == SHN_ABS)
        return 1;
    if (section == SHN_UNDEF || section >= SHN_LORESERVE)
        return 0;
    Elf_Scn *scn = elf_getscn(elf, section);
    return scn && gelf_getshdr(scn, &header) && (header.sh_flags & SHF_ALLOC) != 0;
}

static int add_locals(pfc_locals *locals, pfc_mem *mem, Elf *elf, Elf_Scn *table, const GElf_Shdr *header) {
    Elf_Data *data = elf_getdata(table, NULL);
    size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    size_t count = data && entry ? data->d_size / entry : 0;
    int status = 0;
    for (size_t i = 1; i < count && i < INT32_MAX / 2 && !status; i++) {
        GElf_Sym sym;
        if (!gelf_getsym(data, (int)i, &sym))
            break;
        unsigned type = GELF_ST_TYPE(sym.st_info);
        const char *name = elf_strptr(elf, header->sh_link, sym.st_name);
        if (GELF_ST_BIND(sym.st_info) != STB_LOCAL || type == STT_FILE || type == STT_SECTION || sym.st_value == 0 ||
            !name || !*name || !is_loaded(elf, sym.st_shndx))
            continue;
        pfc_local row = {sym.st_value, name, (uint32_t)i + (type == STT_FUNC ? 0 : (uint32_t)INT32_MAX)};
        status = PFC_VEC_PUSH(mem, locals, row);
    }
    return status;
}

int pfc_entry_locals(pfc_locals *locals, pfc_mem *mem, const pfc_binary *binary) {
    const pfc_image *image = binary->debug && binary->debug->has_symtab ? binary->debug : binary->runtime;
    Elf *elf = image->module_elf && image->relocatable ? image->module_elf : image->elf;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    int status = 0;
    while (!status && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
            status = add_locals(locals, mem, elf, section, &header);
    if (locals->count)
        qsort(locals->data, locals->count, sizeof *locals->data, compare_locals);
    return status;
}

uint32_t pfc_entry_ordinal(const pfc_locals *locals, const pfc_entry *entry) {
    size_t low = 0, high = locals->count;
    uint32_t n = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(locals->data[middle].name, entry->name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < locals->count && strcmp(locals->data[low].name, entry->name) == 0; low++) {
        n++;
        if (locals->data[low].address == entry->address)
            return n;
    }
    return n ? n : 1; /* from .gnu_debugdata, which numbers nothing else */
}
