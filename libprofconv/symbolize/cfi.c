/* SPDX-License-Identifier: MIT
 *
 * The index of a section's entries, and the table of the rows that were asked for. Damaged entries cost themselves; an
 * entry's instructions are bounded in number, so that a hostile file costs bounded time for each new address.
 */
#include "libprofconv/symbolize/cfi.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/hash.h"

#define MAX_STEPS 16384    /* instructions of one entry */
#define MAX_REMEMBERED 8   /* states that are put aside */
#define MAX_ROWS (1u << 20)
#define NO_ROW UINT32_MAX

typedef struct entry {
    Dwarf_CIE cie;
    uint64_t start, end;
    pfc_cursor code; /* instructions */
    uint8_t encoding; /* of addresses */
    int signal;
} entry;

/* An address as .eh_frame encodes it, `c` being over the whole section. */
static uint64_t encoded(const pfc_cfi *cfi, pfc_cursor *c, unsigned encoding) {
    uint64_t base = 0, value = 0;
    if (encoding == DW_EH_PE_omit)
        return 0;
    switch (encoding & 0x70) {
    case DW_EH_PE_absptr: break;
    case DW_EH_PE_pcrel: base = cfi->address + c->at; break;
    case DW_EH_PE_textrel: base = cfi->text; break;
    case DW_EH_PE_datarel: base = cfi->got; break;
    case DW_EH_PE_aligned:
        pfc_skip(c, (uint64_t)(-(int64_t)(cfi->address + c->at) & 7));
        break;
    default: c->failed = 1; return 0;
    }
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: value = pfc_u64(c); break;
    case DW_EH_PE_udata2: value = pfc_u16(c); break;
    case DW_EH_PE_sdata2: value = (uint64_t)(int64_t)(int16_t)pfc_u16(c); break;
    case DW_EH_PE_udata4: value = pfc_u32(c); break;
    case DW_EH_PE_sdata4: value = (uint64_t)(int64_t)(int32_t)pfc_u32(c); break;
    case DW_EH_PE_uleb128: value = pfc_uleb(c); break;
    case DW_EH_PE_sleb128: value = (uint64_t)pfc_sleb(c); break;
    default: c->failed = 1;
    }
    return base + value; /* DW_EH_PE_indirect is for personality routines only, whose addresses are not used */
}

/* A cursor over the whole section that stands at `p`. */
static pfc_cursor cursor_at(const pfc_cfi *cfi, const uint8_t *p, const uint8_t *end) {
    const uint8_t *base = cfi->data->d_buf;
    pfc_cursor c = pfc_cursor_make(base, (size_t)(end - base), 0, cfi->big);
    c.at = (size_t)(p - base);
    return c;
}

/* What the augmentation says of the entries. 0 when it is not understood. */
static int augmentation(const pfc_cfi *cfi, entry *e) {
    const char *text = e->cie.augmentation;
    e->encoding = DW_EH_PE_absptr;
    e->signal = 0;
    if (!*text)
        return 1;
    if (*text != 'z') /* without sizes: only letters without data can be passed over */
        return text[strspn(text, "SB")] == 0 && (e->signal = strchr(text, 'S') != NULL, 1);
    if (!e->cie.augmentation_data)
        return 0;
    pfc_cursor c =
        cursor_at(cfi, e->cie.augmentation_data, e->cie.augmentation_data + e->cie.augmentation_data_size);
    for (text++; *text; text++)
        switch (*text) {
        case 'R': e->encoding = pfc_u8(&c); break;
        case 'L': pfc_u8(&c); break;
        case 'P': encoded(cfi, &c, pfc_u8(&c)); break;
        case 'S': e->signal = 1; break;
        case 'B': /* aarch64: signed with the B key */
        case 'G': break;
        default: return !c.failed; /* its data comes last */
        }
    return !c.failed;
}

static int read_cie(const pfc_cfi *cfi, uint64_t offset, entry *e) {
    Dwarf_CFI_Entry row;
    Dwarf_Off next = 0;
    if (dwarf_next_cfi(cfi->ident, cfi->data, cfi->eh_frame, offset, &next, &row) != 0 || !dwarf_cfi_cie_p(&row))
        return 0;
    e->cie = row.cie;
    return augmentation(cfi, e);
}

/* `e->cie` is that of the FDE. */
static int read_fde(const pfc_cfi *cfi, const Dwarf_FDE *fde, entry *e) {
    pfc_cursor c = cursor_at(cfi, fde->start, fde->end);
    e->start = encoded(cfi, &c, e->encoding);
    uint64_t size = encoded(cfi, &c, e->encoding & 0x0f);
    e->end = e->start + size;
    if (*e->cie.augmentation == 'z')
        pfc_skip(&c, pfc_uleb(&c));
    e->code = c;
    return !c.failed && e->end > e->start;
}

static int by_start(const void *a, const void *b) {
    const pfc_cfi_range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int pfc_cfi_open(pfc_cfi *cfi, pfc_mem *mem, Elf_Data *data, const unsigned char *ident, int eh_frame, uint64_t address,
                 uint64_t text, uint64_t got) {
    memset(cfi, 0, sizeof *cfi);
    cfi->mem = mem;
    if (!data || !data->d_buf || ident[EI_CLASS] != ELFCLASS64)
        return 0;
    cfi->data = data;
    memcpy(cfi->ident, ident, EI_NIDENT);
    cfi->eh_frame = eh_frame;
    cfi->address = address;
    cfi->text = text;
    cfi->got = got;
    cfi->big = ident[EI_DATA] == ELFDATA2MSB;
    entry e;
    memset(&e, 0, sizeof e);
    Dwarf_Off cie = UINT64_MAX, at = 0, next = 0;
    int good = 0;
    Dwarf_CFI_Entry row;
    for (int rc; (rc = dwarf_next_cfi(ident, data, eh_frame, at, &next, &row)) != 1 && next > at; at = next) {
        if (rc != 0) {
            cfi->broken++;
            continue;
        }
        if (dwarf_cfi_cie_p(&row))
            continue;
        if (row.fde.CIE_pointer != cie) {
            cie = row.fde.CIE_pointer;
            good = read_cie(cfi, cie, &e);
        }
        if (!good || !read_fde(cfi, &row.fde, &e)) {
            cfi->broken++;
            continue;
        }
        pfc_cfi_range range = {e.start, e.end, at};
        if (PFC_VEC_PUSH(mem, &cfi->ranges, range))
            return mem->failed;
    }
    if (cfi->ranges.count)
        qsort(cfi->ranges.data, cfi->ranges.count, sizeof *cfi->ranges.data, by_start);
    return 0;
}

static void forget_rows(pfc_cfi *cfi) {
    PFC_VEC_FREE(cfi->mem, &cfi->rows);
    PFC_VEC_FREE(cfi->mem, &cfi->rules);
    size_t slots = cfi->slot_row ? (size_t)1 << cfi->bits : 0;
    pfc_free(cfi->mem, cfi->slot_address, slots * sizeof *cfi->slot_address);
    pfc_free(cfi->mem, cfi->slot_row, slots * sizeof *cfi->slot_row);
    cfi->slot_address = NULL;
    cfi->slot_row = NULL;
    cfi->bits = 0;
    cfi->used = 0;
    cfi->forgotten++;
}

void pfc_cfi_close(pfc_cfi *cfi) {
    if (!cfi->mem)
        return;
    forget_rows(cfi);
    PFC_VEC_FREE(cfi->mem, &cfi->ranges);
    memset(cfi, 0, sizeof *cfi);
}

/* ---- the instructions ---- */

typedef struct state {
    pfc_cfi_rule cfa;
    pfc_cfi_rule rule[PFC_CFI_REGISTERS];
} state;

typedef struct machine {
    const pfc_cfi *cfi;
    const entry *e;
    uint64_t at, target; /* address that the row holds from; address asked for */
    unsigned steps;
    state now, initial;
    unsigned remembered;
    state stack[MAX_REMEMBERED];
} machine;

/* Offsets that do not fit are no stack's. */
static int put(machine *m, uint64_t reg, pfc_cfi_kind kind, int64_t offset) {
    if (offset < INT32_MIN || offset > INT32_MAX)
        return 0;
    pfc_cfi_rule rule = {.kind = (uint8_t)kind, .reg = (uint8_t)reg, .offset = (int32_t)offset};
    if (reg < PFC_CFI_REGISTERS) /* others (vectors, flags) do not matter */
        m->now.rule[reg] = rule;
    return 1;
}

static int64_t scaled(const machine *m, int64_t factor) {
    return (int64_t)((uint64_t)factor * (uint64_t)m->e->cie.data_alignment_factor);
}

static int set_cfa(machine *m, uint64_t reg, int64_t offset) {
    if (reg >= PFC_CFI_REGISTERS || offset < INT32_MIN || offset > INT32_MAX)
        return 0;
    pfc_cfi_rule rule = {.kind = PFC_CFI_VAL_OFFSET, .reg = (uint8_t)reg, .offset = (int32_t)offset};
    m->now.cfa = rule;
    return 1;
}

static int take_expression(pfc_cursor *c, pfc_cfi_rule *rule, pfc_cfi_kind kind) {
    uint64_t size = pfc_uleb(c);
    if (size > UINT16_MAX)
        return 0;
    const uint8_t *code = pfc_take(c, (size_t)size);
    rule->kind = (uint8_t)kind;
    rule->expression = code;
    rule->expression_size = (uint16_t)size;
    return code != NULL;
}

static int register_expression(machine *m, pfc_cursor *c, pfc_cfi_kind kind) {
    pfc_cfi_rule rule = {0};
    uint64_t reg = pfc_uleb(c);
    if (!take_expression(c, &rule, kind))
        return 0;
    rule.reg = (uint8_t)reg;
    if (reg < PFC_CFI_REGISTERS)
        m->now.rule[reg] = rule;
    return 1;
}

static int restore(machine *m, uint64_t reg) {
    if (reg < PFC_CFI_REGISTERS)
        m->now.rule[reg] = m->initial.rule[reg];
    return 1;
}

static int remember(machine *m) {
    if (m->remembered == MAX_REMEMBERED)
        return 0;
    m->stack[m->remembered++] = m->now;
    return 1;
}

static int recall(machine *m) {
    if (m->remembered == 0)
        return 0;
    m->now = m->stack[--m->remembered];
    return 1;
}

/* Moves on; 2 when the row asked for is complete. */
static int advance(machine *m, uint64_t by) {
    uint64_t delta = by * m->e->cie.code_alignment_factor;
    if (delta > m->target - m->at)
        return 2;
    m->at += delta;
    return 1;
}

/* One instruction: 0 bad, 1 done, 2 the row is complete. */
static int step(machine *m, pfc_cursor *c) {
    unsigned op = pfc_u8(c), low = op & 0x3f;
    uint64_t reg;
    switch (op & 0xc0) {
    case DW_CFA_advance_loc: return advance(m, low);
    case DW_CFA_offset: return put(m, low, PFC_CFI_OFFSET, scaled(m, (int64_t)pfc_uleb(c)));
    case DW_CFA_restore: return restore(m, low);
    default: break;
    }
    switch (op) {
    case DW_CFA_nop: return 1;
    case DW_CFA_set_loc: {
        uint64_t to = encoded(m->cfi, c, m->e->encoding);
        if (to > m->target)
            return 2;
        m->at = to > m->at ? to : m->at;
        return 1;
    }
    case DW_CFA_advance_loc1: return advance(m, pfc_u8(c));
    case DW_CFA_advance_loc2: return advance(m, pfc_u16(c));
    case DW_CFA_advance_loc4: return advance(m, pfc_u32(c));
    case DW_CFA_MIPS_advance_loc8: return advance(m, pfc_u64(c));
    case DW_CFA_offset_extended:
        reg = pfc_uleb(c);
        return put(m, reg, PFC_CFI_OFFSET, scaled(m, (int64_t)pfc_uleb(c)));
    case DW_CFA_offset_extended_sf:
        reg = pfc_uleb(c);
        return put(m, reg, PFC_CFI_OFFSET, scaled(m, pfc_sleb(c)));
    case DW_CFA_GNU_negative_offset_extended:
        reg = pfc_uleb(c);
        return put(m, reg, PFC_CFI_OFFSET, scaled(m, -(int64_t)(pfc_uleb(c) & INT64_MAX)));
    case DW_CFA_val_offset:
        reg = pfc_uleb(c);
        return put(m, reg, PFC_CFI_VAL_OFFSET, scaled(m, (int64_t)pfc_uleb(c)));
    case DW_CFA_val_offset_sf:
        reg = pfc_uleb(c);
        return put(m, reg, PFC_CFI_VAL_OFFSET, scaled(m, pfc_sleb(c)));
    case DW_CFA_restore_extended: return restore(m, pfc_uleb(c));
    case DW_CFA_undefined: return put(m, pfc_uleb(c), PFC_CFI_UNDEFINED, 0);
    case DW_CFA_same_value: return put(m, pfc_uleb(c), PFC_CFI_SAME, 0);
    case DW_CFA_register: {
        reg = pfc_uleb(c);
        uint64_t from = pfc_uleb(c);
        return put(m, reg, from < PFC_CFI_REGISTERS ? PFC_CFI_REGISTER : PFC_CFI_UNDEFINED, (int64_t)(from & 0xff));
    }
    case DW_CFA_remember_state: return remember(m);
    case DW_CFA_restore_state: return recall(m);
    case DW_CFA_def_cfa:
        reg = pfc_uleb(c);
        return set_cfa(m, reg, (int64_t)pfc_uleb(c));
    case DW_CFA_def_cfa_sf:
        reg = pfc_uleb(c);
        return set_cfa(m, reg, scaled(m, pfc_sleb(c)));
    case DW_CFA_def_cfa_register: return set_cfa(m, pfc_uleb(c), m->now.cfa.offset);
    case DW_CFA_def_cfa_offset: return set_cfa(m, m->now.cfa.reg, (int64_t)pfc_uleb(c));
    case DW_CFA_def_cfa_offset_sf: return set_cfa(m, m->now.cfa.reg, scaled(m, pfc_sleb(c)));
    case DW_CFA_def_cfa_expression: return take_expression(c, &m->now.cfa, PFC_CFI_VAL_EXPRESSION);
    case DW_CFA_expression: return register_expression(m, c, PFC_CFI_EXPRESSION);
    case DW_CFA_val_expression: return register_expression(m, c, PFC_CFI_VAL_EXPRESSION);
    case DW_CFA_GNU_args_size: pfc_uleb(c); return 1;
    case DW_CFA_GNU_window_save: return 1; /* aarch64: return address signed or not, which the address itself shows */
    default: return 0;
    }
}

static int run(machine *m, pfc_cursor c) {
    while (pfc_cursor_left(&c)) {
        if (m->steps++ == MAX_STEPS)
            return 0;
        int rc = step(m, &c);
        if (c.failed || rc == 0)
            return 0;
        if (rc == 2)
            return 1;
    }
    return 1;
}

static int run_entry(const pfc_cfi *cfi, const entry *e, uint64_t vaddr, machine *m) {
    memset(m, 0, offsetof(machine, stack));
    m->cfi = cfi;
    m->e = e;
    m->at = 0;
    m->target = 0; /* the CIE's instructions hold from the start */
    if (!run(m, cursor_at(cfi, e->cie.initial_instructions, e->cie.initial_instructions_end)))
        return 0;
    m->initial = m->now;
    m->at = e->start;
    m->target = vaddr;
    return run(m, e->code) && m->now.cfa.kind != PFC_CFI_UNSAID;
}

static int add_row(pfc_cfi *cfi, uint64_t offset, uint64_t vaddr) {
    pfc_cfi_row row = {.first = (uint32_t)cfi->rules.count};
    Dwarf_CFI_Entry raw;
    Dwarf_Off next = 0;
    entry e;
    machine m;
    row.valid = dwarf_next_cfi(cfi->ident, cfi->data, cfi->eh_frame, offset, &next, &raw) == 0 &&
                !dwarf_cfi_cie_p(&raw) && read_cie(cfi, raw.fde.CIE_pointer, &e) && read_fde(cfi, &raw.fde, &e) &&
                e.cie.return_address_register < PFC_CFI_REGISTERS && run_entry(cfi, &e, vaddr, &m);
    if (row.valid) {
        row.cfa = m.now.cfa;
        row.signal = e.signal != 0;
        row.return_register = (uint8_t)e.cie.return_address_register;
        for (unsigned i = 0; i < PFC_CFI_REGISTERS; i++)
            if (m.now.rule[i].kind != PFC_CFI_UNSAID) {
                if (PFC_VEC_PUSH(cfi->mem, &cfi->rules, m.now.rule[i]))
                    return cfi->mem->failed;
                row.count++;
            }
    }
    return PFC_VEC_PUSH(cfi->mem, &cfi->rows, row);
}

/* ---- the table of rows ---- */

static size_t slot_of(const pfc_cfi *cfi, uint64_t vaddr) {
    return (size_t)((vaddr * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - cfi->bits));
}

static void place(pfc_cfi *cfi, uint64_t vaddr, uint32_t row) {
    size_t mask = ((size_t)1 << cfi->bits) - 1, at = slot_of(cfi, vaddr);
    while (cfi->slot_row[at])
        at = (at + 1) & mask;
    cfi->slot_address[at] = vaddr;
    cfi->slot_row[at] = row;
    cfi->used++;
}

static int grow(pfc_cfi *cfi) {
    uint64_t *old_address = cfi->slot_address;
    uint32_t *old_row = cfi->slot_row;
    size_t old = old_row ? (size_t)1 << cfi->bits : 0;
    unsigned bits = old ? cfi->bits + 1 : 8;
    size_t slots = (size_t)1 << bits;
    uint64_t *address = pfc_alloc(cfi->mem, slots * sizeof *address);
    uint32_t *row = address ? pfc_alloc_zero(cfi->mem, slots * sizeof *row) : NULL;
    if (!row) {
        pfc_free(cfi->mem, address, address ? slots * sizeof *address : 0);
        return cfi->mem->failed;
    }
    cfi->slot_address = address;
    cfi->slot_row = row;
    cfi->bits = bits;
    cfi->used = 0;
    for (size_t i = 0; i < old; i++)
        if (old_row[i])
            place(cfi, old_address[i], old_row[i]);
    pfc_free(cfi->mem, old_address, old * sizeof *old_address);
    pfc_free(cfi->mem, old_row, old * sizeof *old_row);
    return 0;
}

/* The last entry that begins at or before vaddr and reaches it. Entries do not nest; damaged ones may. */
static const pfc_cfi_range *range_at(const pfc_cfi *cfi, uint64_t vaddr) {
    size_t low = 0, high = cfi->ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cfi->ranges.data[middle].start <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low && vaddr < cfi->ranges.data[low - 1].end ? &cfi->ranges.data[low - 1] : NULL;
}

int pfc_cfi_find(pfc_cfi *cfi, uint64_t vaddr, const pfc_cfi_row **out) {
    *out = NULL;
    if (cfi->ranges.count == 0)
        return 0;
    if (cfi->bits) {
        size_t mask = ((size_t)1 << cfi->bits) - 1;
        for (size_t at = slot_of(cfi, vaddr); cfi->slot_row[at]; at = (at + 1) & mask)
            if (cfi->slot_address[at] == vaddr) {
                *out = cfi->slot_row[at] == NO_ROW ? NULL : &cfi->rows.data[cfi->slot_row[at] - 1];
                return 0;
            }
    }
    if (cfi->used >= MAX_ROWS)
        forget_rows(cfi);
    if (!cfi->bits || cfi->used * 4 >= ((size_t)3 << cfi->bits)) {
        int status = grow(cfi);
        if (status)
            return status;
    }
    const pfc_cfi_range *range = range_at(cfi, vaddr);
    if (!range) {
        place(cfi, vaddr, NO_ROW);
        return 0;
    }
    int status = add_row(cfi, range->offset, vaddr);
    if (status)
        return status;
    place(cfi, vaddr, (uint32_t)cfi->rows.count);
    *out = &cfi->rows.data[cfi->rows.count - 1];
    return 0;
}
