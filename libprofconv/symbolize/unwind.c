/* SPDX-License-Identifier: MIT
 *
 * Walks a recorded user stack by call frame information, from the sampled registers to the thread's first function.
 *
 * Memory is what the recording dumped and what files hold of segments that cannot be written. Where code has no unwind
 * information (code made at run time, hand-written assembly, files that are missing), the frame pointer is followed if it
 * leads up the dumped stack to a return address in code; that can leave a caller out, but not invent one.
 *
 * Every step goes up the stack, but for the one out of a signal handler, which may run on a stack of its own; the number of
 * frames is bounded.
 */
#include "libprofconv/symbolize/unwind.h"

#include <string.h>

/* Addresses of aarch64 programs: bits 48 to 54 hold the signature, 56 to 63 a tag. (52-bit addresses must be asked for.) */
#define PAC_MASK UINT64_C(0x0000ffffffffffff)

/* Linux's number of a register (PERF_REG_X86_*) by DWARF's. */
static const uint8_t x86_64_registers[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
enum { X86_BP = 6, X86_SP = 7, X86_IP = 16, ARM_FP = 29, ARM_LR = 30, ARM_SP = 31, ARM_PC = 32 };
/* Registers that a function gives back as it got them: rbx, rbp, r12-r15; x19-x30. */
#define X86_SAVED (UINT64_C(1) << 3 | UINT64_C(1) << X86_BP | UINT64_C(0xf) << 12)
#define ARM_SAVED (UINT64_C(0xfff) << 19)

typedef struct walk {
    pfc_unwinder *u;
    pfc_frame_state state;
    uint64_t pc, sp;
    pfc_unwind_site site; /* of pc */
    int interrupted; /* pc is an instruction that ran, not a return address */
    size_t by_frame_pointer;
    int failed; /* status for want of memory */
} walk;

static int sp_register(const pfc_unwinder *u) { return u->aarch64 ? ARM_SP : X86_SP; }

static void set(pfc_frame_state *s, unsigned reg, uint64_t value) {
    s->value[reg] = value;
    s->known |= UINT64_C(1) << reg;
}

static int known(const pfc_frame_state *s, unsigned reg) { return s->known >> reg & 1; }

/* ---- memory ---- */

static int read_memory(void *user, uint64_t address, unsigned size, uint64_t *out) {
    walk *w = user;
    pfc_unwinder *u = w->u;
    const pfc_unwind_input *in = u->input;
    if (address >= u->stack_start && address < u->stack_end) {
        if (size > u->stack_end - address) {
            u->past_end = 1;
            return 0;
        }
        const uint8_t *p = in->stack + (address - u->stack_start);
        uint64_t value = 0;
        if (size == 8)
            value = in->big ? (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 | (uint64_t)p[3] << 32 |
                                  (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 | (uint64_t)p[6] << 8 | p[7]
                            : (uint64_t)p[7] << 56 | (uint64_t)p[6] << 48 | (uint64_t)p[5] << 40 | (uint64_t)p[4] << 32 |
                                  (uint64_t)p[3] << 24 | (uint64_t)p[2] << 16 | (uint64_t)p[1] << 8 | p[0];
        else
            for (unsigned i = 0; i < size; i++)
                value |= (uint64_t)p[in->big ? size - 1 - i : i] << (8 * i);
        *out = value;
        return 1;
    }
    pfc_unwind_place place;
    if (u->maps->find(u->maps->user, address, &place) && place.image != PFC_UNWIND_NO_IMAGE) {
        pfc_unwind_module *m = pfc_unwind_module_get(u, place.image);
        if (!m) {
            w->failed = u->mem.failed;
            return 0;
        }
        if (pfc_unwind_read_file(u, m, place.offset, size, out))
            return 1;
    }
    u->past_end |= address >= u->stack_end;
    return 0;
}

static int read_word(walk *w, uint64_t address, uint64_t *out) { return read_memory(w, address, 8, out); }

/* ---- registers ---- */

static int take_registers(walk *w, const pfc_unwind_input *in) {
    pfc_unwinder *u = w->u;
    unsigned count = u->aarch64 ? 33 : sizeof x86_64_registers;
    for (unsigned i = 0; i < count; i++) {
        unsigned number = u->aarch64 ? i : x86_64_registers[i];
        uint64_t bit = UINT64_C(1) << number;
        if (!(in->mask & bit))
            continue;
        unsigned at = 0;
        for (uint64_t below = in->mask & (bit - 1); below; below &= below - 1)
            at++;
        const uint8_t *p = in->registers + 8 * at;
        uint64_t value = 0;
        for (unsigned k = 0; k < 8; k++)
            value |= (uint64_t)p[in->big ? 7 - k : k] << (8 * k);
        set(&w->state, i, value);
    }
    unsigned ip = u->aarch64 ? ARM_PC : X86_IP, sp = (unsigned)sp_register(u);
    if (!known(&w->state, ip) || !known(&w->state, sp))
        return 0;
    w->pc = w->state.value[ip];
    w->sp = w->state.value[sp];
    return 1;
}

/* ---- one step ---- */

/* Whether a frame can be at pc; *site is what is known of it. */
static int is_code(walk *w, uint64_t pc, int interrupted, pfc_unwind_site *site) {
    const pfc_unwind_site *found = NULL;
    int status = pfc_unwind_site_get(w->u, pc, interrupted, &found);
    if (status)
        w->failed = status;
    *site = *found;
    return !status && found->mapped && found->executable;
}

static uint64_t code_address(const walk *w, uint64_t value) {
    /* Signed return addresses; those of user space have bit 55 clear. */
    return w->u->aarch64 && !(value >> 55 & 1) ? value & PAC_MASK : value;
}

/* Value of a rule; 0 when it cannot be known. */
static int rule_value(walk *w, const pfc_cfi *cfi, const pfc_cfi_rule *rule, uint64_t cfa, uint64_t *out) {
    uint64_t at = cfa + (uint64_t)(int64_t)rule->offset;
    switch (rule->kind) {
    case PFC_CFI_OFFSET: return read_word(w, at, out);
    case PFC_CFI_VAL_OFFSET: *out = at; return 1;
    case PFC_CFI_REGISTER:
        *out = w->state.value[rule->offset];
        return known(&w->state, (unsigned)rule->offset);
    case PFC_CFI_EXPRESSION:
    case PFC_CFI_VAL_EXPRESSION:
        if (!pfc_expression(rule->expression, rule->expression_size, cfi->big, &w->state, &cfa, read_memory, w, out))
            return 0;
        return rule->kind == PFC_CFI_VAL_EXPRESSION || read_word(w, *out, out);
    default: return 0;
    }
}

/* CFA of a row; 0 when it cannot be known. */
static int row_cfa(walk *w, const pfc_cfi *cfi, const pfc_cfi_rule *rule, uint64_t *cfa) {
    if (rule->kind == PFC_CFI_VAL_EXPRESSION)
        return pfc_expression(rule->expression, rule->expression_size, cfi->big, &w->state, NULL, read_memory, w, cfa);
    *cfa = w->state.value[rule->reg] + (uint64_t)(int64_t)rule->offset;
    return known(&w->state, rule->reg);
}

enum { GO_ON = -1 }; /* otherwise a pfc_unwind_end */

/* To the frame whose registers are `next`, with `pc` in it. */
static int arrive(walk *w, const pfc_frame_state *next, uint64_t pc, uint64_t sp, int signal) {
    /* A function that did not touch the stack yet (aarch64) leaves it where it is; only interrupted code can be there. */
    int up = sp > w->sp || (sp == w->sp && w->interrupted && pc != w->pc);
    if (!up && !signal)
        return PFC_UNWIND_BAD_CFI;
    if (pc == 0)
        return PFC_UNWIND_COMPLETE;
    if (!is_code(w, pc, signal, &w->site))
        return PFC_UNWIND_NO_CODE;
    w->state = *next;
    w->pc = pc;
    w->sp = sp;
    w->interrupted = signal;
    set(&w->state, (unsigned)sp_register(w->u), sp);
    if (!w->u->aarch64)
        set(&w->state, X86_IP, pc);
    else
        set(&w->state, ARM_PC, pc);
    return GO_ON;
}

static int by_row(walk *w, const pfc_cfi *cfi, const pfc_cfi_row *row) {
    const pfc_unwinder *u = w->u;
    unsigned sp_reg = (unsigned)sp_register(u), ret = row->return_register;
    uint64_t cfa = 0, value = 0, saved = u->aarch64 ? ARM_SAVED : X86_SAVED;
    w->u->past_end = 0;
    if (!row->valid)
        return PFC_UNWIND_BAD_CFI;
    if (!row_cfa(w, cfi, &row->cfa, &cfa))
        return u->past_end ? PFC_UNWIND_TRUNCATED : PFC_UNWIND_BAD_CFI;
    pfc_frame_state next = w->state;
    next.known &= saved;
    set(&next, sp_reg, cfa);
    int return_said = 0;
    for (unsigned i = 0; i < row->count; i++) {
        const pfc_cfi_rule *rule = &cfi->rules.data[row->first + i];
        unsigned reg = rule->reg;
        int is_return = reg == ret;
        return_said |= is_return;
        if (rule->kind == PFC_CFI_SAME) {
            if (known(&w->state, reg))
                set(&next, reg, w->state.value[reg]);
            continue;
        }
        if (rule->kind == PFC_CFI_UNDEFINED && is_return)
            return PFC_UNWIND_COMPLETE;
        w->u->past_end = 0;
        if (rule_value(w, cfi, rule, cfa, &value))
            set(&next, reg, value);
        else if (is_return)
            return u->past_end ? PFC_UNWIND_TRUNCATED : PFC_UNWIND_BAD_CFI;
        else
            next.known &= ~(UINT64_C(1) << reg);
    }
    if (!return_said && !u->aarch64) { /* the call pushed it */
        if (!read_word(w, cfa - 8, &value))
            return u->past_end ? PFC_UNWIND_TRUNCATED : PFC_UNWIND_BAD_CFI;
        set(&next, ret, value);
    }
    if (!known(&next, ret))
        return PFC_UNWIND_BAD_CFI;
    return arrive(w, &next, code_address(w, next.value[ret]), next.value[sp_reg], row->signal);
}

/* Along the frame pointer. `otherwise`: how the walk ends when it leads nowhere. */
static int by_frame_pointer(walk *w, pfc_unwind_end otherwise) {
    pfc_unwinder *u = w->u;
    unsigned fp_reg = u->aarch64 ? ARM_FP : X86_BP;
    pfc_unwind_site site;
    uint64_t caller = 0, back = 0, fp = w->state.value[fp_reg], lr = w->state.value[ARM_LR % PFC_CFI_REGISTERS];
    pfc_frame_state next;
    memset(&next, 0, sizeof next);
    int have = known(&w->state, fp_reg) && fp >= w->sp && fp % 8 == 0 && fp >= u->stack_start && fp < u->stack_end &&
               read_word(w, fp, &caller) && read_word(w, fp + 8, &back);
    if (u->aarch64 && w->interrupted && known(&w->state, ARM_LR) && (!have || code_address(w, back) != code_address(w, lr)) &&
        code_address(w, lr) && is_code(w, code_address(w, lr), 0, &site)) {
        next = w->state; /* a leaf that made no frame */
        next.known &= ARM_SAVED & ~(UINT64_C(1) << ARM_LR);
        w->by_frame_pointer++;
        return arrive(w, &next, code_address(w, lr), w->sp, 0);
    }
    if (!have)
        return known(&w->state, fp_reg) && fp >= u->stack_end && fp - u->stack_end < (1u << 23) ? PFC_UNWIND_TRUNCATED
                                                                                               : (int)otherwise;
    back = code_address(w, back);
    if (back != 0 && !is_code(w, back, 0, &site))
        return (int)otherwise;
    set(&next, fp_reg, caller);
    w->by_frame_pointer++;
    return arrive(w, &next, back, fp + 16, 0);
}

/* Out of a signal handler, by what the kernel put on the stack: siginfo and ucontext, whose place from the stack pointer is part
 * of its interface. */
static int by_signal_frame(walk *w) {
    /* x86-64: the general registers of ucontext in their order there, by DWARF's numbers. */
    static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, X86_BP, 3, 1, 0, 2, X86_SP, X86_IP};
    const pfc_unwinder *u = w->u;
    unsigned count = u->aarch64 ? 33 : sizeof order;
    uint64_t at = w->sp + (u->aarch64 ? 312 : 40), value = 0;
    pfc_frame_state next;
    memset(&next, 0, sizeof next);
    w->u->past_end = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!read_word(w, at + 8 * i, &value))
            return u->past_end ? PFC_UNWIND_TRUNCATED : PFC_UNWIND_BAD_CFI;
        set(&next, u->aarch64 ? i : order[i], value);
    }
    unsigned ip = u->aarch64 ? ARM_PC : X86_IP;
    return arrive(w, &next, next.value[ip], next.value[sp_register(u)], 1);
}

static int step(walk *w) {
    const pfc_unwind_site *site = &w->site;
    if (!site->mapped)
        return by_frame_pointer(w, PFC_UNWIND_NO_CODE);
    if (!site->has_image)
        return by_frame_pointer(w, PFC_UNWIND_NO_CFI);
    if (!site->module->binary) {
        site->module->wanted++;
        return by_frame_pointer(w, PFC_UNWIND_NO_FILE);
    }
    if (site->returns_from_signal)
        return by_signal_frame(w);
    return site->has_row ? by_row(w, site->cfi, &site->cfi->rows.data[site->row]) : by_frame_pointer(w, PFC_UNWIND_NO_CFI);
}

/* ---- a sample ---- */

static pfc_unwind_machine machine_of(const pfc_unwind_input *in) {
    if (in->machine != PFC_UNWIND_UNKNOWN)
        return in->machine;
    /* x0 to x30, sp and pc, of which x86 has no bit 15 to 8 in that combination (segment registers cannot be asked for). */
    return (in->mask & UINT64_C(0x1ffffffff)) == UINT64_C(0x1ffffffff) ? PFC_UNWIND_AARCH64
           : (in->mask & 0x180) == 0x180 && !(in->mask >> 24 & 0xff)   ? PFC_UNWIND_X86_64
                                                                       : PFC_UNWIND_OTHER;
}

static int add_frame(pfc_unwinder *u, uint64_t address) { return PFC_VEC_PUSH(&u->mem, &u->frames, address); }

/* The code that a signal handler returns to was not called: its address stands for itself, and the byte before it may be of
 * another function. */
static int was_called(const walk *w) {
    const pfc_unwind_site *site = &w->site;
    int marked = site->has_row && site->cfi->rows.data[site->row].signal;
    return !w->interrupted && !marked && !site->returns_from_signal;
}

static int walk_frames(walk *w, const pfc_unwind_input *in) {
    pfc_unwinder *u = w->u;
    int end = GO_ON;
    (void)is_code(w, w->pc, 1, &w->site); /* the sampled address is a frame in any case */
    while (end == GO_ON && !w->failed) {
        if (u->frames.count >= in->max_frames)
            return PFC_UNWIND_DEPTH;
        w->failed = add_frame(u, was_called(w) ? w->pc - 1 : w->pc);
        if (!w->failed)
            end = step(w);
    }
    return end;
}

static int unwind(pfc_unwinder *u, const pfc_unwind_input *in, pfc_unwind_result *out, profconv_error *error) {
    walk w;
    memset(&w, 0, sizeof w);
    w.u = u;
    w.interrupted = 1;
    u->input = in;
    u->frames.count = 0;
    memset(out, 0, sizeof *out);
    pfc_unwind_machine machine = machine_of(in);
    u->aarch64 = machine == PFC_UNWIND_AARCH64;
    if (in->abi != 2)
        out->end = PFC_UNWIND_BAD_ABI;
    else if (machine == PFC_UNWIND_OTHER)
        out->end = PFC_UNWIND_BAD_MACHINE;
    else if (!take_registers(&w, in))
        out->end = PFC_UNWIND_NO_REGISTERS;
    else {
        u->stack_start = w.sp;
        u->stack_end = in->stack_size > UINT64_MAX - w.sp ? UINT64_MAX : w.sp + in->stack_size;
        out->end = (pfc_unwind_end)walk_frames(&w, in);
    }
    out->address = u->frames.data;
    out->count = u->frames.count;
    out->by_frame_pointer = w.by_frame_pointer;
    return w.failed ? pfc_mem_error(&u->mem, error) : 0;
}

/* ---- the unwinder ---- */

static void destroy(pfc_unwinder *u) {
    if (!u)
        return;
    pfc_unwind_modules_free(u);
    PFC_VEC_FREE(&u->mem, &u->frames);
    pfc_free(&u->mem, u->sites, u->sites ? PFC_UNWIND_SITES * sizeof *u->sites : 0);
    pfc_finder_settings_free(&u->files, &u->mem);
    pfc_mem mem = u->mem;
    pfc_free(&mem, u, sizeof *u);
}

static int create(pfc_unwinder **out, const profconv_allocator *allocator, uint64_t limit, const profconv_options *options,
                  const pfc_unwind_maps *maps, profconv_error *error) {
    pfc_mem mem;
    *out = NULL;
    pfc_mem_init(&mem, allocator, limit);
    pfc_unwinder *u = pfc_alloc_zero(&mem, sizeof *u);
    if (!u)
        return pfc_mem_error(&mem, error);
    u->mem = mem;
    u->maps = maps;
    u->epoch = 1;
    u->sites = pfc_alloc_zero(&u->mem, PFC_UNWIND_SITES * sizeof *u->sites);
    int status = u->sites ? pfc_finder_settings_read(&u->files, &u->mem, options, error) : pfc_mem_error(&u->mem, error);
    if (status) {
        destroy(u);
        return status;
    }
    *out = u;
    return 0;
}

static int branch(pfc_unwinder *u, uint64_t address, pfc_branch_kind *out, profconv_error *error) {
    pfc_unwind_place place;
    *out = PFC_BRANCH_UNKNOWN;
    if (!u->maps->find(u->maps->user, address, &place) || !place.executable || place.image == PFC_UNWIND_NO_IMAGE)
        return 0;
    pfc_unwind_module *module = pfc_unwind_module_get(u, place.image);
    if (!module)
        return pfc_mem_error(&u->mem, error);
    if (module->binary)
        *out = pfc_unwind_branch(u, module, place.offset);
    return 0;
}

static void report(const pfc_unwinder *u, profconv_report *to) {
    for (size_t i = 0; i < u->modules.count; i++) {
        const pfc_unwind_module *m = u->modules.data[i];
        if (m->wanted)
            profconv_report_add(to, PROFCONV_NOTE_WARNING, "unwind-no-file", m->wanted, 0, PROFCONV_NO_OFFSET, 0,
                                "%s: no file found to unwind its frames by (%llu of them)", m->file ? m->file : "(unnamed)",
                                (unsigned long long)m->wanted);
    }
}

const pfc_unwinder_type pfc_cfi_unwinder = {create, unwind, branch, report, destroy};
