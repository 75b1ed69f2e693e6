/* SPDX-License-Identifier: MIT
 *
 * What kind of branch stands at an address: calls and returns are told from other branches by the first bytes of the instruction.
 * No disassembler is needed for that, since the address is known to be that of a whole branch instruction.
 */
#include "libprofconv/symbolize/unwind.h"

/* Prefixes that assemblers put before branches: notrack or segments, bnd, rep (of a return), operand size. */
static int is_prefix(uint8_t byte) {
    return byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 || byte == 0x66 ||
           byte == 0x67 || byte == 0xf2 || byte == 0xf3;
}

static pfc_branch_kind x86_64(uint64_t code) {
    unsigned left = 8;
    while (left > 2 && is_prefix((uint8_t)code)) {
        code >>= 8;
        left--;
    }
    if (((uint8_t)code & 0xf0) == 0x40) /* REX */
        code >>= 8;
    uint8_t opcode = (uint8_t)code, operation = (uint8_t)(code >> 11) & 7u;
    switch (opcode) {
    case 0xe8: return PFC_BRANCH_CALL;
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb: return PFC_BRANCH_RETURN;
    case 0xe9:
    case 0xeb:
    case 0xe0: /* loop and its kind */
    case 0xe1:
    case 0xe2:
    case 0xe3: return PFC_BRANCH_JUMP;
    case 0xff:
        return operation == 2 || operation == 3   ? PFC_BRANCH_CALL
               : operation == 4 || operation == 5 ? PFC_BRANCH_INDIRECT
                                                  : PFC_BRANCH_UNKNOWN;
    case 0x0f: return ((uint8_t)(code >> 8) & 0xf0) == 0x80 ? PFC_BRANCH_JUMP : PFC_BRANCH_UNKNOWN;
    default: return (opcode & 0xf0) == 0x70 ? PFC_BRANCH_JUMP : PFC_BRANCH_UNKNOWN;
    }
}

static pfc_branch_kind aarch64(uint32_t code) {
    if (code >> 26 == 0x25) /* bl */
        return PFC_BRANCH_CALL;
    if (code >> 26 == 0x05 || code >> 25 == 0x2a || (code >> 24 & 0x7e) == 0x34 || (code >> 24 & 0x7e) == 0x36)
        return PFC_BRANCH_JUMP; /* b; b.cond; cbz, cbnz; tbz, tbnz */
    if (code >> 25 != 0x6b || (code >> 16 & 0x1f) != 0x1f)
        return PFC_BRANCH_UNKNOWN;
    switch (code >> 21 & 15) { /* 8 more: with a signed address */
    case 0:
    case 8: return PFC_BRANCH_INDIRECT;
    case 1:
    case 9: return PFC_BRANCH_CALL;
    case 2: return PFC_BRANCH_RETURN;
    default: return PFC_BRANCH_UNKNOWN;
    }
}

pfc_branch_kind pfc_branch_of(unsigned machine, uint64_t code) {
    return machine == EM_X86_64 ? x86_64(code) : machine == EM_AARCH64 ? aarch64((uint32_t)code) : PFC_BRANCH_UNKNOWN;
}

pfc_branch_kind pfc_unwind_branch(pfc_unwinder *u, pfc_unwind_module *module, uint64_t offset) {
    uint64_t code = 0;
    unsigned size = 8; /* less at the end of a segment; what is not there reads as zero */
    while (size && !pfc_unwind_read_file(u, module, offset, size, &code))
        size /= 2;
    return size ? pfc_branch_of(module->binary->runtime->machine, code) : PFC_BRANCH_UNKNOWN;
}
