/* SPDX-License-Identifier: MIT
 *
 * The symbols of a binary that can name code: .symtab (of the debug file when the file that ran was stripped), .dynsym,
 * and .gnu_debugdata, sorted by address with their aliases.
 */
#include "libprofconv/symbolize/image.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t limit; /* one past its last byte; 0: not executable */
} section_end;

/* Labels that compilers and assemblers leave behind and that name no function: .L labels, and the mapping symbols of
 * ARM, AArch64 and RISC-V ($a, $d, $t, $x with anything after a dot). */
static int is_label(const char *name) {
    if (name[0] == '.' && name[1] == 'L')
        return 1;
    return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (name[2] == 0 || name[2] == '.');
}

static int add(pfc_binary *binary, const pfc_image *image, const GElf_Sym *sym, const char *name, uint64_t value,
               uint64_t section_limit, int dynamic) {
    unsigned type = GELF_ST_TYPE(sym->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !name || !*name || is_label(name))
        return 0;
    pfc_symbol row = {.address = value, .size = sym->st_size, .name = name};
    if (image->machine == EM_ARM && type == STT_FUNC)
        row.address &= ~(uint64_t)1; /* the Thumb bit */
    if (row.size > UINT64_MAX - row.address)
        return 0;
    row.limit = row.size ? row.address + row.size : section_limit;
    row.order = (uint32_t)binary->symbols.rows.count;
    row.function = type != STT_NOTYPE;
    unsigned bind = GELF_ST_BIND(sym->st_info);
    row.bind = bind == STB_LOCAL ? PFC_SYMBOL_LOCAL : bind == STB_WEAK ? PFC_SYMBOL_WEAK : PFC_SYMBOL_GLOBAL;
    row.dynamic = (uint8_t)dynamic;
    return PFC_VEC_PUSH(binary->mem, &binary->symbols.rows, row);
}

static int add_table(pfc_binary *binary, const pfc_image *image, Elf *elf, Elf_Scn *table, const GElf_Shdr *header,
                     const section_end *ends, size_t end_count) {
    Elf_Data *data = elf_getdata(table, NULL);
    size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    if (!data || entry == 0)
        return 0;
    size_t count = data->d_size / entry;
    for (size_t i = 1; i < count && i < INT32_MAX; i++) {
        GElf_Sym sym;
        if (!gelf_getsym(data, (int)i, &sym))
            break;
        size_t section = sym.st_shndx;
        if (section == SHN_UNDEF || section >= end_count || ends[section].limit == 0)
            continue; /* undefined, absolute, or not code; more than 65279 sections: only the first ones count */
        uint64_t value = sym.st_value;
        if (image->relocatable) {
            GElf_Shdr target;
            if (!gelf_getshdr(elf_getscn(elf, section), &target))
                continue;
            value += target.sh_addr;
        }
        if (add(binary, image, &sym, elf_strptr(elf, header->sh_link, sym.st_name), value, ends[section].limit,
                header->sh_type == SHT_DYNSYM))
            return binary->mem->failed;
    }
    return 0;
}

static int add_tables(pfc_binary *binary, const pfc_image *image, uint32_t type) {
    Elf *elf = image->module_elf && image->relocatable ? image->module_elf : image->elf;
    size_t count = 0;
    if (elf_getshdrnum(elf, &count) != 0 || count == 0)
        return 0;
    section_end *ends = pfc_alloc_zero(binary->mem, count * sizeof *ends);
    if (!ends)
        return binary->mem->failed;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR) && elf_ndxscn(section) < count)
            ends[elf_ndxscn(section)].limit = header.sh_addr + header.sh_size;
    int status = 0;
    section = NULL;
    while (!status && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == type)
            status = add_table(binary, image, elf, section, &header, ends, count);
    pfc_free(binary->mem, ends, count * sizeof *ends);
    return status;
}

/* .gnu_debugdata is an xz-compressed ELF file with the symbols that .dynsym lacks; libdwfl unpacks it. */
static int add_debugdata(pfc_binary *binary, pfc_image *image) {
    if (pfc_image_module(image) != 0)
        return 0;
    int count = dwfl_module_getsymtab(image->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym sym;
        GElf_Addr value = 0;
        GElf_Word section = 0;
        Elf *elf = NULL;
        const char *name = dwfl_module_getsym_info(image->module, i, &sym, &value, &section, &elf, NULL);
        if (!name || section == SHN_UNDEF || section >= SHN_LORESERVE || elf == image->module_elf ||
            GELF_ST_TYPE(sym.st_info) == STT_NOTYPE)
            continue; /* those of the main file are here already */
        /* For a position-independent file libdwfl adds the distance to where it placed the module, here none. */
        if (add(binary, image, &sym, name, value, 0, 0))
            return binary->mem->failed;
    }
    return 0;
}

static int by_address(const void *a, const void *b) {
    const pfc_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

int pfc_symbols_load(pfc_binary *binary) {
    pfc_symbols *symbols = &binary->symbols;
    if (symbols->tried)
        return 0;
    symbols->tried = 1;
    pfc_image *debug = binary->debug && binary->debug->has_symtab ? binary->debug : NULL;
    if (binary->runtime->relocatable && pfc_image_module(binary->runtime) == 0 && debug && debug->relocatable)
        (void)pfc_image_module(debug);
    int status = add_tables(binary, debug ? debug : binary->runtime, SHT_SYMTAB);
    if (!status)
        status = add_tables(binary, binary->runtime, SHT_DYNSYM);
    if (!status && !debug && !binary->runtime->has_symtab && binary->runtime->has_debugdata)
        status = add_debugdata(binary, binary->runtime);
    size_t count = symbols->rows.count;
    if (status || count == 0)
        return status;
    qsort(symbols->rows.data, count, sizeof *symbols->rows.data, by_address);
    symbols->reach = pfc_alloc(binary->mem, count * sizeof *symbols->reach);
    if (!symbols->reach)
        return binary->mem->failed;
    symbols->reach_count = count;
    uint64_t reach = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t limit = symbols->rows.data[i].size ? symbols->rows.data[i].limit : 0;
        reach = limit > reach ? limit : reach;
        symbols->reach[i] = reach;
    }
    return 0;
}

void pfc_symbols_free(pfc_binary *binary) {
    pfc_free(binary->mem, binary->symbols.reach, binary->symbols.reach_count * sizeof *binary->symbols.reach);
    PFC_VEC_FREE(binary->mem, &binary->symbols.rows);
}

int pfc_binary_symbols(pfc_binary *binary, const pfc_symbol **symbols, size_t *count) {
    int status = pfc_symbols_load(binary);
    *symbols = status ? NULL : binary->symbols.rows.data;
    *count = status ? 0 : binary->symbols.rows.count;
    return status;
}

static unsigned underscores(const char *name) {
    unsigned n = 0;
    while (name[n] == '_')
        n++;
    return n;
}

/* Nonzero when `a` is a better name than `b` for the same address: sized, a function, global, then weak, few leading
 * underscores. */
static int better(const pfc_symbol *a, const pfc_symbol *b) {
    static const int rank[] = {[PFC_SYMBOL_LOCAL] = 0, [PFC_SYMBOL_WEAK] = 1, [PFC_SYMBOL_GLOBAL] = 2};
    if ((a->size != 0) != (b->size != 0))
        return a->size != 0;
    if (a->function != b->function)
        return a->function;
    if (rank[a->bind] != rank[b->bind])
        return rank[a->bind] > rank[b->bind];
    return underscores(a->name) < underscores(b->name);
}

/* Nonzero when `name` is `base`, or a clone of it as compilers call them: base.constprop.0, base.cold, base.llvm.123.
 */
static int is_clone(const char *name, const char *base) {
    size_t n = strlen(base);
    return n && strncmp(name, base, n) == 0 && (name[n] == 0 || name[n] == '.');
}

/* The best of the symbols at the address of row `at` that reach past vaddr. */
static const pfc_symbol *best_alias(const pfc_symbols *symbols, size_t at, uint64_t vaddr, const char *prefer) {
    const pfc_symbol *rows = symbols->rows.data, *best = NULL;
    uint64_t address = rows[at].address;
    while (at > 0 && rows[at - 1].address == address)
        at--;
    for (; at < symbols->rows.count && rows[at].address == address; at++) {
        if (rows[at].limit <= vaddr)
            continue;
        if (prefer && strcmp(rows[at].name, prefer) == 0)
            return &rows[at];
        int clone = prefer && is_clone(rows[at].name, prefer),
            best_clone = prefer && best && is_clone(best->name, prefer);
        if (!best || (clone != best_clone ? clone : better(&rows[at], best)))
            best = &rows[at];
    }
    return best;
}

const pfc_symbol *pfc_binary_symbol(pfc_binary *binary, uint64_t vaddr, const char *prefer) {
    if (pfc_symbols_load(binary) || binary->symbols.reach_count == 0)
        return NULL;
    const pfc_symbol *rows = binary->symbols.rows.data;
    size_t low = 0, high = binary->symbols.rows.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].address <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    /* A sized symbol around vaddr is the truth; labels in the middle of a function have no size. */
    for (size_t i = low; i-- > 0 && binary->symbols.reach[i] > vaddr;)
        if (rows[i].size && rows[i].limit > vaddr)
            return best_alias(&binary->symbols, i, vaddr, prefer);
    /* Hand-written code often has no sizes: such a symbol names all up to the next one. */
    if (rows[low - 1].size == 0 || rows[low - 1].limit > vaddr)
        return best_alias(&binary->symbols, low - 1, vaddr, prefer);
    return NULL;
}

const pfc_symbol *pfc_binary_symbol_named(pfc_binary *binary, const char *name) {
    if (pfc_symbols_load(binary))
        return NULL;
    for (size_t i = 0; i < binary->symbols.rows.count; i++)
        if (strcmp(binary->symbols.rows.data[i].name, name) == 0)
            return &binary->symbols.rows.data[i];
    return NULL;
}

int pfc_binary_has_symbol(const pfc_binary *binary, const char *name) {
    Elf *elf = binary->runtime->elf;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        Elf_Data *data = NULL;
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
            header.sh_entsize == 0 || !(data = elf_getdata(section, NULL)))
            continue;
        uint64_t count = data->d_size / header.sh_entsize;
        for (uint64_t i = 0; i < count && i < INT32_MAX; i++) {
            GElf_Sym symbol;
            const char *found =
                gelf_getsym(data, (int)i, &symbol) ? elf_strptr(elf, header.sh_link, symbol.st_name) : NULL;
            if (found && strcmp(found, name) == 0)
                return 1;
        }
    }
    return 0;
}
