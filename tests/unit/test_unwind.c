/* SPDX-License-Identifier: MIT
 *
 * Unwinding without files: unwind instructions put together here (DWARF 5, 6.4), expressions, the walk along frame pointers on
 * both architectures, and what damaged or hostile input costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprofconv/base/unwind.h"
#include "libprofconv/symbolize/cfi.h"
#include "libprofconv/symbolize/unwind.h"

static const unsigned char ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};

typedef struct section {
    uint8_t bytes[1 << 17];
    size_t size;
    Elf_Data data;
} section;

static section table;

static void put(uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        table.bytes[table.size++] = (uint8_t)(value >> (8 * i));
}

static void patch_length(size_t at) {
    while ((table.size - at) % 4)
        put(0, 1);
    size_t end = table.size;
    table.size = at;
    put(end - at - 4, 4);
    table.size = end;
}

/* A CIE with "zR" (absolute addresses), CFA = rsp + 8, return address at CFA - 8; then one FDE with these instructions. */
static void make_table(const uint8_t *code, size_t size, uint64_t start, uint64_t length, int signal) {
    table.size = 0;
    put(0, 4);
    put(0, 4);
    put(1, 1);
    for (const char *p = signal ? "zRS" : "zR"; *p; p++)
        put((uint8_t)*p, 1);
    put(0, 1);
    put(1, 1);    /* code alignment */
    put(0x78, 1); /* data alignment -8 */
    put(16, 1);   /* return address register */
    put(1, 1);
    put(0, 1); /* DW_EH_PE_absptr */
    put(0x0c, 1), put(7, 1), put(8, 1);
    put(0x90, 1), put(1, 1);
    patch_length(0);
    size_t fde = table.size;
    put(0, 4);
    put(fde + 4, 4);
    put(start, 8);
    put(length, 8);
    put(0, 1);
    memcpy(table.bytes + table.size, code, size);
    table.size += size;
    patch_length(fde);
    put(0, 4);
    memset(&table.data, 0, sizeof table.data);
    table.data.d_buf = table.bytes;
    table.data.d_size = table.size;
    table.data.d_type = ELF_T_BYTE;
    table.data.d_version = EV_CURRENT;
}

static pfc_cfi_row row_at(const uint8_t *code, size_t size, uint64_t vaddr, pfc_cfi_rule rules[PFC_CFI_REGISTERS]) {
    pfc_mem mem;
    pfc_cfi cfi;
    const pfc_cfi_row *found = NULL;
    pfc_cfi_row row = {.valid = 99};
    pfc_mem_init(&mem, NULL, 0);
    memset(rules, 0, PFC_CFI_REGISTERS * sizeof *rules);
    make_table(code, size, 0x1000, 0x100, 0);
    assert_int_equal(pfc_cfi_open(&cfi, &mem, &table.data, ident, 1, 0x500, 0, 0), 0);
    for (int again = 0; again < 2; again++) { /* computed, then remembered */
        assert_int_equal(pfc_cfi_find(&cfi, vaddr, &found), 0);
        if (found) {
            row = *found;
            for (unsigned i = 0; i < row.count; i++) {
                rules[cfi.rules.data[row.first + i].reg] = cfi.rules.data[row.first + i];
                rules[cfi.rules.data[row.first + i].reg].expression = NULL;
            }
        }
    }
    pfc_cfi_close(&cfi);
    assert_int_equal(mem.live, 0);
    return row;
}

static void test_rows(void **state) {
    (void)state;
    /* push %rbp; mov %rsp,%rbp; ... leave: advance 1, def_cfa_offset 16, rbp at -16; advance 3, def_cfa_register rbp; remember;
     * advance 16, def_cfa rsp 8, restore rbp; advance 1, restore_state */
    static const uint8_t code[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x50, 0x0c, 7, 8, 0xc6, 0x41, 0x0b};
    pfc_cfi_rule rules[PFC_CFI_REGISTERS];
    pfc_cfi_row row = row_at(code, sizeof code, 0x1000, rules);
    assert_int_equal(row.valid, 1);
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(row.cfa.offset, 8);
    assert_int_equal(row.return_register, 16);
    assert_int_equal(rules[16].kind, PFC_CFI_OFFSET);
    assert_int_equal(rules[16].offset, -8);
    assert_int_equal(rules[6].kind, PFC_CFI_UNSAID);
    row = row_at(code, sizeof code, 0x1001, rules);
    assert_int_equal(row.cfa.offset, 16);
    assert_int_equal(rules[6].offset, -16);
    row = row_at(code, sizeof code, 0x1005, rules);
    assert_int_equal(row.cfa.reg, 6);
    assert_int_equal(row.cfa.offset, 16);
    row = row_at(code, sizeof code, 0x1014, rules);
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(rules[6].kind, PFC_CFI_UNSAID);
    row = row_at(code, sizeof code, 0x10ff, rules);
    assert_int_equal(row.cfa.reg, 6);
    assert_int_equal(row_at(code, sizeof code, 0x1100, rules).valid, 99); /* past the function */
    assert_int_equal(row_at(code, sizeof code, 0xfff, rules).valid, 99);
}

static void test_kinds(void **state) {
    (void)state;
    static const uint8_t code[] = {0x07, 3,           0x08, 12,     0x09, 13, 1, 0x14, 14, 2, /* undefined, same, register, val_offset */
                                   0x10, 15, 2, 0x77, 16,           /* expression: breg7 16 */
                                   0x05, 0x80, 0x80, 0x80, 0x80, 1, 2, /* offset_extended of register 2^28: passed over */
                                   0x2e, 8,    0x0f, 2,    0x77, 24};
    pfc_cfi_rule rules[PFC_CFI_REGISTERS];
    pfc_cfi_row row = row_at(code, sizeof code, 0x1010, rules);
    assert_int_equal(row.valid, 1);
    assert_int_equal(row.cfa.kind, PFC_CFI_VAL_EXPRESSION);
    assert_int_equal(rules[3].kind, PFC_CFI_UNDEFINED);
    assert_int_equal(rules[12].kind, PFC_CFI_SAME);
    assert_int_equal(rules[13].kind, PFC_CFI_REGISTER);
    assert_int_equal(rules[13].offset, 1);
    assert_int_equal(rules[14].kind, PFC_CFI_VAL_OFFSET);
    assert_int_equal(rules[14].offset, -16);
    assert_int_equal(rules[15].kind, PFC_CFI_EXPRESSION);
}

static void test_hostile_instructions(void **state) {
    (void)state;
    pfc_cfi_rule rules[PFC_CFI_REGISTERS];
    static const uint8_t restored[] = {0x0b};              /* nothing was remembered */
    static const uint8_t unknown[] = {0x3f};
    static const uint8_t cut[] = {0x0c, 0xff, 0xff, 0xff}; /* its numbers run into the padding */
    static const uint8_t far[] = {0x0f, 0xff, 0xff, 0x7f}; /* an expression longer than the section */
    static const uint8_t huge[] = {0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    assert_int_equal(row_at(restored, sizeof restored, 0x1000, rules).valid, 0);
    assert_int_equal(row_at(unknown, sizeof unknown, 0x1000, rules).valid, 0);
    assert_int_equal(row_at(cut, sizeof cut, 0x1000, rules).valid, 0);
    assert_int_equal(row_at(far, sizeof far, 0x1000, rules).valid, 0);
    assert_int_equal(row_at(huge, sizeof huge, 0x1000, rules).valid, 0);
    static uint8_t many[100000];
    memset(many, 0x0a, sizeof many); /* remember_state without end */
    assert_int_equal(row_at(many, sizeof many, 0x1000, rules).valid, 0);
    memset(many, 0x00, sizeof many); /* more nops than any function's table has instructions */
    assert_int_equal(row_at(many, sizeof many, 0x1000, rules).valid, 0);
}

/* Any cut, any changed byte: an answer or none, and no memory left behind. */
static void test_damaged_tables(void **state) {
    (void)state;
    static const uint8_t code[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x50, 0x0c, 7, 8, 0xc6, 0x41, 0x0b};
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 1 << 20);
    for (size_t at = 0; at < 80; at++)
        for (unsigned value = 0; value < 257; value++) {
            pfc_cfi cfi;
            const pfc_cfi_row *row = NULL;
            make_table(code, sizeof code, 0x1000, 0x100, value & 1);
            if (at >= table.size)
                return;
            if (value == 256)
                table.data.d_size = at;
            else
                table.bytes[at] = (uint8_t)value;
            assert_int_equal(pfc_cfi_open(&cfi, &mem, &table.data, ident, (int)(at & 1), 0x500, 0, 0), 0);
            assert_int_equal(pfc_cfi_find(&cfi, 0x1008, &row), 0);
            pfc_cfi_close(&cfi);
            assert_int_equal(mem.live, 0);
        }
}

static int no_memory(void *user, uint64_t address, unsigned size, uint64_t *out) {
    (void)user;
    *out = address * 2 + size;
    return address != 0;
}

static int evaluate(const uint8_t *code, size_t size, uint64_t *out) {
    pfc_frame_state registers;
    memset(&registers, 0, sizeof registers);
    registers.value[7] = 1000;
    registers.value[16] = 0x401b;
    registers.known = 1u << 7 | 1u << 16;
    *out = 0;
    return pfc_expression(code, size, 0, &registers, NULL, no_memory, NULL, out);
}

static void test_expressions(void **state) {
    (void)state;
    uint64_t value;
    /* What linkers say of PLT stubs: rsp + 8 + ((rip & 15) >= 11) << 3. */
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    assert_true(evaluate(plt, sizeof plt, &value));
    assert_int_equal(value, 1016);
    static const uint8_t deref[] = {0x77, 0x78, 0x06}; /* breg7 -8; deref */
    assert_true(evaluate(deref, sizeof deref, &value));
    assert_int_equal(value, 992 * 2 + 8);
    static const uint8_t sums[] = {0x08, 7, 0x11, 0x7d, 0x1e, 0x1f, 0x12, 0x22, 0x23, 2, 0x16 + 0}; /* swap of one value: fails */
    assert_false(evaluate(sums, sizeof sums, &value));
    assert_true(evaluate(sums, sizeof sums - 1, &value)); /* -(7 * -3) doubled, + 2 */
    assert_int_equal(value, 44);
    static const uint8_t loop[] = {0x31, 0x2f, 0xfc, 0xff}; /* lit1; skip -4 */
    static const uint8_t endless[] = {0x96, 0x2f, 0xfc, 0xff};
    static const uint8_t zero[] = {0x31, 0x30, 0x1b};
    static const uint8_t unknown_register[] = {0x70, 0};
    static const uint8_t nothing[] = {0x96};
    static const uint8_t outside[] = {0x31, 0x2f, 0x00, 0x7f};
    static const uint8_t cut[] = {0x0c, 1, 2};
    static const uint8_t call[] = {0x99, 0, 0, 0, 0};
    assert_false(evaluate(loop, sizeof loop, &value));
    assert_false(evaluate(endless, sizeof endless, &value));
    assert_false(evaluate(zero, sizeof zero, &value));
    assert_false(evaluate(unknown_register, sizeof unknown_register, &value));
    assert_false(evaluate(nothing, sizeof nothing, &value));
    assert_false(evaluate(outside, sizeof outside, &value));
    assert_false(evaluate(cut, sizeof cut, &value));
    assert_false(evaluate(call, sizeof call, &value));
}

/* ---- the walk, in code without files ---- */

#define STACK UINT64_C(0x7ffe00000000)

static int find(void *user, uint64_t address, pfc_unwind_place *out) {
    (void)user;
    out->image = PFC_UNWIND_NO_IMAGE;
    out->executable = address < 0x500000;
    out->offset = address;
    out->map_offset = 0;
    return address >= 0x400000 && address < 0x600000;
}

static void describe(void *user, uint32_t image, const char **file, const char **build_id) {
    (void)user, (void)image;
    *file = *build_id = "";
}

/* Registers and stack are filled in as numbers, so they are in the byte order of this machine. */
static int host_is_big(void) {
    static const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

typedef struct sample {
    uint64_t registers[33], stack[64];
    pfc_unwind_input in;
} sample;

static void x86(sample *s, uint64_t ip, uint64_t bp) {
    memset(s, 0, sizeof *s);
    s->registers[0] = bp;    /* the mask has bp, sp and ip */
    s->registers[1] = STACK;
    s->registers[2] = ip;
    s->in = (pfc_unwind_input){.machine = PFC_UNWIND_X86_64, .big = host_is_big(), .abi = 2, .mask = 0x1c0,
                               .registers = (uint8_t *)s->registers, .stack = (uint8_t *)s->stack,
                               .stack_size = sizeof s->stack, .max_frames = 100};
}

static pfc_unwind_result walk(const pfc_unwind_input *in, uint64_t expected[], size_t count) {
    static const pfc_unwind_maps maps = {NULL, find, describe};
    pfc_unwinder *u = NULL;
    pfc_unwind_result out;
    assert_int_equal(pfc_cfi_unwinder.create(&u, NULL, 0, NULL, &maps, NULL), 0);
    assert_int_equal(pfc_cfi_unwinder.unwind(u, in, &out, NULL), 0);
    assert_int_equal(out.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(out.address[i], expected[i]);
    out.address = NULL;
    pfc_cfi_unwinder.destroy(u);
    return out;
}

static void test_frame_pointers(void **state) {
    (void)state;
    sample s;
    x86(&s, 0x400100, STACK + 16);
    s.stack[2] = STACK + 64, s.stack[3] = 0x400201;
    s.stack[8] = STACK + 128, s.stack[9] = 0x400301;
    s.stack[16] = 0, s.stack[17] = 0; /* the first frame of all */
    uint64_t whole[] = {0x400100, 0x400200, 0x400300};
    pfc_unwind_result out = walk(&s.in, whole, 3);
    assert_int_equal(out.end, PFC_UNWIND_COMPLETE);
    assert_int_equal(out.by_frame_pointer, 3);
    s.in.max_frames = 2;
    assert_int_equal(walk(&s.in, whole, 2).end, PFC_UNWIND_DEPTH);
    s.in.max_frames = 100;
    s.in.stack_size = 128; /* the third frame's record is above the dump */
    assert_int_equal(walk(&s.in, whole, 3).end, PFC_UNWIND_TRUNCATED);
    s.in.stack_size = sizeof s.stack;
    s.stack[9] = 0x500301; /* data */
    assert_int_equal(walk(&s.in, whole, 2).end, PFC_UNWIND_NO_CFI);
    s.stack[9] = 0x400301, s.stack[8] = STACK + 16; /* back down: a loop */
    assert_int_equal(walk(&s.in, whole, 3).end, PFC_UNWIND_NO_CFI);
    s.registers[2] = 0x700000; /* the sampled address stays a frame, whatever it is */
    uint64_t lost[] = {0x700000, 0x400200, 0x400300};
    assert_int_equal(walk(&s.in, lost, 3).end, PFC_UNWIND_NO_CFI);
    s.in.abi = 1;
    assert_int_equal(walk(&s.in, NULL, 0).end, PFC_UNWIND_BAD_ABI);
    s.in.abi = 2, s.in.mask = 0x140;
    assert_int_equal(walk(&s.in, NULL, 0).end, PFC_UNWIND_NO_REGISTERS);
    s.in.mask = 0x1c0, s.in.machine = PFC_UNWIND_OTHER;
    assert_int_equal(walk(&s.in, NULL, 0).end, PFC_UNWIND_BAD_MACHINE);
}

static void test_aarch64(void **state) {
    (void)state;
    sample s;
    x86(&s, 0, 0);
    s.in.machine = PFC_UNWIND_UNKNOWN; /* told by the set of registers */
    s.in.mask = UINT64_C(0x1ffffffff);
    s.registers[0] = s.registers[1] = s.registers[2] = 0;
    s.registers[29] = STACK + 16;
    s.registers[30] = UINT64_C(0x0023000000400155); /* signed */
    s.registers[31] = STACK;
    s.registers[32] = 0x400100;
    s.stack[2] = STACK + 64, s.stack[3] = UINT64_C(0x0041000000400204);
    s.stack[8] = 0, s.stack[9] = 0;
    uint64_t leaf[] = {0x400100, 0x400154, 0x400203}; /* a leaf whose caller is in lr only */
    assert_int_equal(walk(&s.in, leaf, 3).end, PFC_UNWIND_COMPLETE);
    s.registers[30] = 0x400204; /* lr is what the frame record has, too */
    uint64_t framed[] = {0x400100, 0x400203};
    assert_int_equal(walk(&s.in, framed, 2).end, PFC_UNWIND_COMPLETE);
    /* The same, recorded on a machine of the other byte order. */
    for (size_t i = 0; i < 33; i++)
        s.registers[i] = __builtin_bswap64(s.registers[i]);
    for (size_t i = 0; i < 64; i++)
        s.stack[i] = __builtin_bswap64(s.stack[i]);
    s.in.big = !s.in.big;
    assert_int_equal(walk(&s.in, framed, 2).end, PFC_UNWIND_COMPLETE);
}

/* Encodings by the architectures' manuals. */
static void test_branch_kinds(void **state) {
    (void)state;
    static const struct {
        unsigned machine;
        uint64_t code; /* lowest byte first */
        pfc_branch_kind kind;
    } rows[] = {
        {EM_X86_64, 0x12345678e8, PFC_BRANCH_CALL},       /* call rel32 */
        {EM_X86_64, 0xd0ff, PFC_BRANCH_CALL},             /* call *%rax */
        {EM_X86_64, 0xd4ff41, PFC_BRANCH_CALL},           /* call *%r12 */
        {EM_X86_64, 0x081054ff3e, PFC_BRANCH_CALL},       /* notrack call *8(%rax,%rdx) */
        {EM_X86_64, 0x0000001225ff, PFC_BRANCH_INDIRECT}, /* jmp *0x12(%rip) */
        {EM_X86_64, 0x0000001225fff2, PFC_BRANCH_INDIRECT}, /* bnd jmp */
        {EM_X86_64, 0xe0ff3e, PFC_BRANCH_INDIRECT},       /* notrack jmp *%rax */
        {EM_X86_64, 0xc3, PFC_BRANCH_RETURN},
        {EM_X86_64, 0xc3f3, PFC_BRANCH_RETURN},
        {EM_X86_64, 0x0010c2, PFC_BRANCH_RETURN},         /* ret $16 */
        {EM_X86_64, 0x10eb, PFC_BRANCH_JUMP},
        {EM_X86_64, 0x12345678e9, PFC_BRANCH_JUMP},
        {EM_X86_64, 0x1074, PFC_BRANCH_JUMP},             /* je */
        {EM_X86_64, 0x12345678850f, PFC_BRANCH_JUMP},     /* jne rel32 */
        {EM_X86_64, 0x050f, PFC_BRANCH_UNKNOWN},          /* syscall */
        {EM_X86_64, 0x35ff, PFC_BRANCH_UNKNOWN},          /* push */
        {EM_X86_64, 0x90, PFC_BRANCH_UNKNOWN},
        {EM_X86_64, UINT64_C(0x6666666666666666), PFC_BRANCH_UNKNOWN},
        {EM_AARCH64, 0x94000010, PFC_BRANCH_CALL},        /* bl */
        {EM_AARCH64, 0xd63f0100, PFC_BRANCH_CALL},        /* blr x8 */
        {EM_AARCH64, 0xd73f0909, PFC_BRANCH_CALL},        /* blraa x8, x9 */
        {EM_AARCH64, 0xd63f091f, PFC_BRANCH_CALL},        /* blraaz x8 */
        {EM_AARCH64, 0xd61f0200, PFC_BRANCH_INDIRECT},    /* br x16 */
        {EM_AARCH64, 0xd65f03c0, PFC_BRANCH_RETURN},      /* ret */
        {EM_AARCH64, 0xd65f0bff, PFC_BRANCH_RETURN},      /* retaa */
        {EM_AARCH64, 0x14000010, PFC_BRANCH_JUMP},        /* b */
        {EM_AARCH64, 0x54000041, PFC_BRANCH_JUMP},        /* b.ne */
        {EM_AARCH64, 0xb4000048, PFC_BRANCH_JUMP},        /* cbz x8 */
        {EM_AARCH64, 0x37000048, PFC_BRANCH_JUMP},        /* tbnz w8, #0 */
        {EM_AARCH64, 0xd4000001, PFC_BRANCH_UNKNOWN},     /* svc */
        {EM_AARCH64, 0xd69f03e0, PFC_BRANCH_UNKNOWN},     /* eret */
        {EM_S390, 0xd65f03c0, PFC_BRANCH_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (pfc_branch_of(rows[i].machine, rows[i].code) != rows[i].kind)
            fail_msg("row %zu, code %llx: kind %d", i, (unsigned long long)rows[i].code,
                     (int)pfc_branch_of(rows[i].machine, rows[i].code));
}

static void test_memory_limit(void **state) {
    (void)state;
    static const pfc_unwind_maps maps = {NULL, find, describe};
    pfc_unwinder *u = NULL;
    profconv_error error = {0};
    assert_int_equal(pfc_cfi_unwinder.create(&u, NULL, 4096, NULL, &maps, &error), PROFCONV_E_LIMIT);
    assert_null(u);
    assert_int_equal(error.status, PROFCONV_E_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_hostile_instructions), cmocka_unit_test(test_damaged_tables),
        cmocka_unit_test(test_expressions),    cmocka_unit_test(test_frame_pointers),
        cmocka_unit_test(test_aarch64),        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_branch_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
