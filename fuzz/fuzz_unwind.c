/* SPDX-License-Identifier: MIT
 *
 * Unwind tables of any content: a byte of flags (1: .debug_frame, 2: big-endian), eight of an address, then the section. The index
 * and the row at that address and after it, and every expression that the row names.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprofconv/symbolize/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(void *user, uint64_t address, unsigned size, uint64_t *out) {
    (void)user;
    *out = address ^ size;
    return (address & 15) != 0;
}

static void use(const pfc_cfi *cfi, const pfc_cfi_row *row) {
    pfc_frame_state state;
    uint64_t value;
    memset(&state, 1, sizeof state);
    if (!row || !row->valid)
        return;
    if (row->cfa.kind == PFC_CFI_VAL_EXPRESSION)
        pfc_expression(row->cfa.expression, row->cfa.expression_size, cfi->big, &state, NULL, read_memory, NULL, &value);
    for (unsigned i = 0; i < row->count; i++) {
        const pfc_cfi_rule *rule = &cfi->rules.data[row->first + i];
        if (rule->reg >= PFC_CFI_REGISTERS)
            abort();
        if (rule->kind >= PFC_CFI_EXPRESSION)
            pfc_expression(rule->expression, rule->expression_size, cfi->big, &state, &value, read_memory, NULL, &value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    if (size < 9)
        return 0;
    if (data[0] & 2)
        ident[EI_DATA] = ELFDATA2MSB;
    uint64_t address;
    memcpy(&address, data + 1, 8);
    uint8_t *section = malloc(size - 9 ? size - 9 : 1);
    if (!section)
        return 0;
    memcpy(section, data + 9, size - 9);
    Elf_Data raw = {.d_buf = section, .d_type = ELF_T_BYTE, .d_version = EV_CURRENT, .d_size = size - 9};
    pfc_mem mem;
    pfc_cfi cfi;
    const pfc_cfi_row *row = NULL;
    pfc_mem_init(&mem, NULL, 64 << 20);
    if (pfc_cfi_open(&cfi, &mem, &raw, ident, !(data[0] & 1), 0x1000, 0x2000, 0x3000) == 0)
        for (unsigned i = 0; i < 8; i++)
            if (pfc_cfi_find(&cfi, address + i * i, &row) == 0)
                use(&cfi, row);
    for (size_t i = 0; i < cfi.ranges.count && i < 16; i++)
        if (pfc_cfi_find(&cfi, cfi.ranges.data[i].end - 1, &row) == 0)
            use(&cfi, row);
    pfc_cfi_close(&cfi);
    if (mem.live)
        abort();
    free(section);
    return 0;
}
