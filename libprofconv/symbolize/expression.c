/* SPDX-License-Identifier: MIT
 *
 * DWARF expressions as call frame information has them: PLT stubs, frames that realign the stack, signal frames. A stack
 * of fixed depth and a bounded number of operations; what needs more (calls, locations, thread-local storage) has no place
 * there and ends the evaluation.
 */
#include <dwarf.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/symbolize/cfi.h"

#define DEPTH 64
#define MAX_STEPS 1000

typedef struct evaluation {
    uint64_t stack[DEPTH];
    unsigned depth;
    int failed;
    const pfc_frame_state *state;
    pfc_read_memory read;
    void *user;
} evaluation;

static void push(evaluation *e, uint64_t value) {
    if (e->depth == DEPTH)
        e->failed = 1;
    else
        e->stack[e->depth++] = value;
}

static uint64_t pop(evaluation *e) {
    if (e->depth == 0) {
        e->failed = 1;
        return 0;
    }
    return e->stack[--e->depth];
}

static void push_register(evaluation *e, uint64_t reg, int64_t offset) {
    if (reg >= PFC_CFI_REGISTERS || !(e->state->known >> reg & 1))
        e->failed = 1;
    else
        push(e, e->state->value[reg] + (uint64_t)offset);
}

static void push_memory(evaluation *e, unsigned size) {
    uint64_t value = 0, address = pop(e);
    if (e->failed || size == 0 || size > 8 || !e->read(e->user, address, size, &value))
        e->failed = 1;
    push(e, value);
}

static void push_picked(evaluation *e, unsigned index) {
    if (index >= e->depth)
        e->failed = 1;
    else
        push(e, e->stack[e->depth - 1 - index]);
}

/* Constants; 0 when `op` is none. */
static int constant(evaluation *e, unsigned op, pfc_cursor *c) {
    switch (op) {
    case DW_OP_addr:
    case DW_OP_const8u:
    case DW_OP_const8s: push(e, pfc_u64(c)); return 1;
    case DW_OP_const1u: push(e, pfc_u8(c)); return 1;
    case DW_OP_const1s: push(e, (uint64_t)(int64_t)(int8_t)pfc_u8(c)); return 1;
    case DW_OP_const2u: push(e, pfc_u16(c)); return 1;
    case DW_OP_const2s: push(e, (uint64_t)(int64_t)(int16_t)pfc_u16(c)); return 1;
    case DW_OP_const4u: push(e, pfc_u32(c)); return 1;
    case DW_OP_const4s: push(e, (uint64_t)(int64_t)(int32_t)pfc_u32(c)); return 1;
    case DW_OP_constu: push(e, pfc_uleb(c)); return 1;
    case DW_OP_consts: push(e, (uint64_t)pfc_sleb(c)); return 1;
    default: return 0;
    }
}

static uint64_t shifted(unsigned op, uint64_t a, uint64_t by) {
    if (op == DW_OP_shl)
        return by < 64 ? a << by : 0;
    if (op == DW_OP_shr)
        return by < 64 ? a >> by : 0;
    uint64_t sign = a >> 63 ? UINT64_MAX : 0;
    return by == 0 ? a : by < 64 ? a >> by | sign << (64 - by) : sign;
}

/* Operations on two values; 0 when `op` is none. */
static int binary(evaluation *e, unsigned op) {
    switch (op) {
    case DW_OP_and: case DW_OP_div: case DW_OP_minus: case DW_OP_mod: case DW_OP_mul: case DW_OP_or: case DW_OP_plus:
    case DW_OP_shl: case DW_OP_shr: case DW_OP_shra: case DW_OP_xor: case DW_OP_eq: case DW_OP_ge: case DW_OP_gt:
    case DW_OP_le: case DW_OP_lt: case DW_OP_ne: break;
    default: return 0;
    }
    uint64_t b = pop(e), a = pop(e);
    int64_t x = (int64_t)a, y = (int64_t)b;
    if ((op == DW_OP_div && (y == 0 || (y == -1 && x == INT64_MIN))) || (op == DW_OP_mod && b == 0)) {
        e->failed = 1;
        return 1;
    }
    switch (op) {
    case DW_OP_and: push(e, a & b); break;
    case DW_OP_div: push(e, (uint64_t)(x / y)); break;
    case DW_OP_minus: push(e, a - b); break;
    case DW_OP_mod: push(e, a % b); break;
    case DW_OP_mul: push(e, a * b); break;
    case DW_OP_or: push(e, a | b); break;
    case DW_OP_plus: push(e, a + b); break;
    case DW_OP_xor: push(e, a ^ b); break;
    case DW_OP_eq: push(e, x == y); break;
    case DW_OP_ge: push(e, x >= y); break;
    case DW_OP_gt: push(e, x > y); break;
    case DW_OP_le: push(e, x <= y); break;
    case DW_OP_lt: push(e, x < y); break;
    case DW_OP_ne: push(e, x != y); break;
    default: push(e, shifted(op, a, b)); break;
    }
    return 1;
}

static void jump(evaluation *e, pfc_cursor *c, int16_t by) {
    int64_t to = (int64_t)c->at + by;
    if (to < 0 || (uint64_t)to > c->size)
        e->failed = 1;
    else
        c->at = (size_t)to;
}

static void other(evaluation *e, unsigned op, pfc_cursor *c) {
    uint64_t a, b;
    switch (op) {
    case DW_OP_nop: break;
    case DW_OP_bregx: a = pfc_uleb(c); push_register(e, a, pfc_sleb(c)); break;
    case DW_OP_deref: push_memory(e, 8); break;
    case DW_OP_deref_size: push_memory(e, pfc_u8(c)); break;
    case DW_OP_dup: push_picked(e, 0); break;
    case DW_OP_over: push_picked(e, 1); break;
    case DW_OP_pick: push_picked(e, pfc_u8(c)); break;
    case DW_OP_drop: pop(e); break;
    case DW_OP_swap: b = pop(e), a = pop(e); push(e, b), push(e, a); break;
    case DW_OP_rot: {
        uint64_t top = pop(e);
        b = pop(e), a = pop(e);
        push(e, top), push(e, a), push(e, b);
        break;
    }
    case DW_OP_abs: a = pop(e); push(e, a >> 63 ? 0 - a : a); break;
    case DW_OP_neg: push(e, 0 - pop(e)); break;
    case DW_OP_not: push(e, ~pop(e)); break;
    case DW_OP_plus_uconst: a = pop(e); push(e, a + pfc_uleb(c)); break;
    case DW_OP_skip: jump(e, c, (int16_t)pfc_u16(c)); break;
    case DW_OP_bra: {
        int16_t by = (int16_t)pfc_u16(c);
        if (pop(e) != 0)
            jump(e, c, by);
        break;
    }
    default: e->failed = 1;
    }
}

int pfc_expression(const uint8_t *code, size_t size, int big, const pfc_frame_state *state, const uint64_t *initial,
                   pfc_read_memory read, void *user, uint64_t *out) {
    evaluation e;
    e.depth = 0;
    e.failed = 0;
    e.state = state;
    e.read = read;
    e.user = user;
    if (initial)
        push(&e, *initial);
    pfc_cursor c = pfc_cursor_make(code, size, 0, big);
    for (unsigned steps = 0; pfc_cursor_left(&c) && !e.failed && !c.failed; steps++) {
        if (steps == MAX_STEPS)
            return 0;
        unsigned op = pfc_u8(&c);
        if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
            push(&e, op - DW_OP_lit0);
        else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
            push_register(&e, op - DW_OP_breg0, pfc_sleb(&c));
        else if (!constant(&e, op, &c) && !binary(&e, op))
            other(&e, op, &c);
    }
    *out = pop(&e);
    return !e.failed && !c.failed;
}
