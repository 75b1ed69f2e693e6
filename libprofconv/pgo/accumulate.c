/* SPDX-License-Identifier: MIT
 *
 * The attribution of counts, by create_llvm_prof's rules: every byte of a selected function that has a source position
 * puts that position into the profile, with count 0 if it never ran; a range adds its count to each of its bytes; a
 * function's total is the sum over its bytes, a position's count the largest of its bytes; a branch to the start of a
 * selected function is a call.
 *
 * Nothing here is done byte by byte: an inline stack holds for a run of bytes, and counts are constant between the ends
 * of ranges, so the work grows with the line table and the number of distinct ranges.
 */
#include "libprofconv/pgo/accumulate.h"

#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/base/text.h"
#include "libprofconv/pgo/discriminator.h"

enum { MAX_FRAMES = 256, NAME_CACHE = 1024 };

typedef struct piece {
    uint64_t begin, limit;
    uint64_t count;
} piece;

typedef struct attribution {
    profconv_builder *builder;
    pfc_mem *mem;
    pfc_binary *binary;
    const pfc_accumulate_rules *rules;
    const pfc_code_maps *maps;
    pfc_functions functions;
    pfc_tree tree;
    PFC_VEC(pfc_key) range_order;  /* by function: key = function, id = range */
    PFC_VEC(pfc_key) branch_order; /* the same for branches */
    PFC_VEC(pfc_key) address_order;
    PFC_VEC(pfc_key) ends;
    PFC_VEC(piece) pieces;
    pfc_frame frames[MAX_FRAMES];
    const char *cached_names[NAME_CACHE]; /* strings of the binary, by pointer */
    profconv_id cached_ids[NAME_CACHE];
} attribution;

static profconv_id intern(attribution *a, const char *name) {
    size_t slot = (size_t)(pfc_hash_mix((uint64_t)(uintptr_t)name, 1) % NAME_CACHE);
    if (a->cached_names[slot] != name) {
        a->cached_names[slot] = name;
        a->cached_ids[slot] = profconv_builder_cstring(a->builder, name);
    }
    return a->cached_ids[slot];
}

static profconv_id intern_stripped(attribution *a, const char *name) {
    size_t size = strlen(name);
    char *out = pfc_alloc(a->mem, size ? size : 1);
    if (!out) {
        pfc_builder_fail(a->builder, a->mem->failed, "out of memory for a function's name");
        return 0;
    }
    size_t stripped = pfc_strip_suffixes(a->rules->select.suffixes, name, size, out);
    profconv_id id = profconv_builder_string(a->builder, out, stripped);
    pfc_free(a->mem, out, size ? size : 1);
    return id;
}

/* ---- positions ---- */

static pfc_position position_of(const attribution *a, const pfc_frame *frame) {
    pfc_position at;
    at.line = (frame->line - frame->decl_line) & 0xffff;
    switch (a->rules->discriminators) {
    case PFC_DISCRIMINATORS_BASE:
        at.discriminator = pfc_discriminator_base(frame->discriminator);
        break;
    case PFC_DISCRIMINATORS_RAW:
        at.discriminator = frame->discriminator & 0xffff;
        break;
    default:
        at.discriminator = frame->discriminator;
        break;
    }
    return at;
}

/* A frame without a line, or whose function has no declaration line, has no offset: compilers' glue code. */
static int has_offset(const pfc_frame *frame) { return frame->line != 0 && frame->decl_line != 0; }

/* Adds `count` to the totals along the inline stack and returns the row of the innermost position, or 0. */
static uint32_t descend(attribution *a, size_t depth, uint64_t count) {
    pfc_tree *tree = &a->tree;
    uint32_t node = PFC_TREE_ROOT;
    tree->nodes.data[node].total = pfc_add_sat(tree->nodes.data[node].total, count);
    for (size_t i = depth; i-- > 1;) {
        pfc_frame *caller = &a->frames[i];
        if (caller->decl_line == 0 && a->rules->broken_stacks == PFC_BROKEN_GUESS)
            caller->decl_line = caller->line;
        if (!has_offset(caller)) {
            if (a->rules->broken_stacks != PFC_BROKEN_ATTACH)
                return 0;
            break;
        }
        node = pfc_tree_call(tree, node, position_of(a, caller), intern(a, a->frames[i - 1].dwarf_name));
        if (node == 0)
            return 0;
        tree->nodes.data[node].total = pfc_add_sat(tree->nodes.data[node].total, count);
    }
    return has_offset(&a->frames[0]) ? pfc_tree_position(tree, node, position_of(a, &a->frames[0])) : 0;
}

static uint64_t scaled(const attribution *a, uint64_t count) {
    if (a->rules->discriminators != PFC_DISCRIMINATORS_BASE)
        return count;
    return pfc_mul_sat(count, pfc_discriminator_duplication(a->frames[0].discriminator));
}

/* ---- counts along a function ---- */

static size_t first_of(const pfc_key *rows, size_t count, uint64_t function) {
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (rows[middle].key < function)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Pieces of [start, limit) on which the sum of the function's ranges is constant and not 0, in order. */
static int range_pieces(attribution *a, uint32_t id) {
    const pfc_function *function = &a->functions.rows.data[id];
    const pfc_key *order = a->range_order.data;
    size_t first = first_of(order, a->range_order.count, id);
    size_t last = first;
    a->ends.count = a->pieces.count = 0;
    for (; last < a->range_order.count && order[last].key == id; last++) {
        uint64_t end = a->maps->ranges.data[order[last].id].end;
        const pfc_key key = {end < function->limit ? end + 1 : function->limit, 0, order[last].id};
        if (PFC_VEC_PUSH(a->mem, &a->ends, key))
            return a->mem->failed;
    }
    int status = pfc_sort_keys(a->mem, a->ends.data, a->ends.count);
    if (status)
        return status;
    /* Counts may sum up past 64 bits: kept modulo 2^64, which is right again as ranges end. */
    uint64_t sum = 0;
    uint64_t at = function->start;
    size_t begins = first;
    size_t ends = 0;
    while (ends < a->ends.count) {
        uint64_t next = a->ends.data[ends].key;
        if (begins < last && a->maps->ranges.data[order[begins].id].begin < next)
            next = a->maps->ranges.data[order[begins].id].begin;
        const piece p = {at, next, sum};
        if (sum && next > at && PFC_VEC_PUSH(a->mem, &a->pieces, p))
            return a->mem->failed;
        at = next;
        while (begins < last && a->maps->ranges.data[order[begins].id].begin == next)
            sum += a->maps->ranges.data[order[begins++].id].count;
        while (ends < a->ends.count && a->ends.data[ends].key == next)
            sum -= a->maps->ranges.data[a->ends.data[ends++].id].count;
    }
    return 0;
}

static int address_pieces(attribution *a, uint32_t id) {
    const pfc_key *order = a->address_order.data;
    a->pieces.count = 0;
    for (size_t i = first_of(order, a->address_order.count, id); i < a->address_order.count && order[i].key == id;
         i++) {
        const pfc_code_address *row = &a->maps->addresses.data[order[i].id];
        const piece p = {row->at, row->at + 1, row->count};
        if (PFC_VEC_PUSH(a->mem, &a->pieces, p))
            return a->mem->failed;
    }
    return 0;
}

/* Counts of one run of bytes with the inline stack a->frames[0..depth). */
static void add_run(attribution *a, size_t depth, uint64_t begin, uint64_t limit, size_t *piece_at) {
    descend(a, depth, 0); /* known code, even when it never ran */
    while (*piece_at < a->pieces.count && a->pieces.data[*piece_at].limit <= begin)
        (*piece_at)++;
    for (size_t i = *piece_at; i < a->pieces.count && a->pieces.data[i].begin < limit; i++) {
        const piece *p = &a->pieces.data[i];
        uint64_t low = p->begin > begin ? p->begin : begin;
        uint64_t high = p->limit < limit ? p->limit : limit;
        uint64_t count = scaled(a, p->count);
        uint32_t body = descend(a, depth, pfc_mul_sat(count, high - low));
        if (body == 0)
            continue;
        uint64_t *there = &a->tree.bodies.data[body].count;
        if (!a->rules->select.use_ranges && a->rules->sum_addresses)
            *there = pfc_add_sat(*there, count);
        else
            *there = count > *there ? count : *there;
    }
}

static int add_code(attribution *a, uint32_t id) {
    const pfc_function *function = &a->functions.rows.data[id];
    int status = a->rules->select.use_ranges ? range_pieces(a, id) : address_pieces(a, id);
    size_t piece_at = 0;
    for (uint64_t at = function->start; status == 0 && at < function->limit;) {
        uint64_t until;
        size_t depth;
        status = pfc_binary_frames_run(a->binary, at, function->limit, a->frames, MAX_FRAMES, &depth, &until);
        if (status)
            break;
        if (depth && pfc_binary_frames_from_debug_info(a->binary))
            add_run(a, depth, at, until, &piece_at);
        at = until;
    }
    return status;
}

/* Calls made by the branches of function `id`, into the tree. */
static int add_calls(attribution *a, uint32_t id) {
    const pfc_key *order = a->branch_order.data;
    for (size_t i = first_of(order, a->branch_order.count, id); i < a->branch_order.count && order[i].key == id; i++) {
        const pfc_code_branch *branch = &a->maps->branches.data[order[i].id];
        uint32_t to = pfc_function_called(&a->functions, &a->rules->select, branch->to);
        if (to == PFC_NO_FUNCTION)
            continue;
        uint64_t until;
        size_t depth;
        int status =
            pfc_binary_frames_run(a->binary, branch->from, branch->from + 1, a->frames, MAX_FRAMES, &depth, &until);
        if (status)
            return status;
        if (!depth || !pfc_binary_frames_from_debug_info(a->binary))
            continue;
        uint32_t body = descend(a, depth, 0);
        if (body == 0)
            continue;
        uint32_t target = pfc_tree_call_target(&a->tree, body, intern_stripped(a, a->functions.rows.data[to].name));
        if (target == 0)
            return a->tree.failed;
        uint64_t *there = &a->tree.targets.data[target].count;
        *there = a->rules->sum_targets ? pfc_add_sat(*there, branch->count) : branch->count;
    }
    return 0;
}

static void flush(attribution *a, const pfc_function *function) {
    pfc_tree_flush(&a->tree, a->builder, intern_stripped(a, function->name), function->head);
    for (uint32_t i = 0; i < function->alias_count; i++)
        pfc_tree_flush(&a->tree, a->builder, intern_stripped(a, a->functions.aliases.data[function->first_alias + i]),
                       function->head);
}

static int accumulate_function(attribution *a, uint32_t id, pfc_accumulate_result *result) {
    const pfc_function *function = &a->functions.rows.data[id];
    pfc_tree_reset(&a->tree);
    int status = a->tree.failed;
    result->functions++;
    if (status == 0)
        status = add_code(a, id);
    /* A part that never ran, beside one that did, only has positions with count 0. */
    if (status == 0 && (function->has_ranges || !a->rules->select.use_ranges))
        status = add_calls(a, id);
    if (status == 0)
        status = a->tree.failed;
    if (status)
        return status;
    if (a->tree.bodies.count > 1)
        result->emitted++;
    else
        result->without_lines++;
    if (a->tree.nodes.data[PFC_TREE_ROOT].total || a->tree.bodies.count > 1)
        flush(a, function);
    return profconv_builder_status(a->builder, NULL);
}

#define ORDER(a, list, table, member)                                                                                  \
    do {                                                                                                               \
        uint32_t hint = 0;                                                                                             \
        for (size_t i = 0; status == 0 && i < (a)->maps->table.count; i++) {                                           \
            uint64_t address = (a)->maps->table.data[i].member;                                                        \
            uint32_t at = pfc_function_at(&(a)->functions, address, &hint);                                            \
            const pfc_key key = {at, (uint32_t)i, (uint32_t)i};                                                        \
            if (at != PFC_NO_FUNCTION && PFC_VEC_PUSH((a)->mem, &(a)->list, key))                                      \
                status = (a)->mem->failed;                                                                             \
        }                                                                                                              \
        if (status == 0)                                                                                               \
            status = pfc_sort_keys((a)->mem, (a)->list.data, (a)->list.count);                                         \
    } while (0)

static int order_records(attribution *a) {
    int status = 0;
    ORDER(a, range_order, ranges, begin);
    ORDER(a, branch_order, branches, from);
    ORDER(a, address_order, addresses, at);
    return status;
}

int pfc_accumulate(profconv_builder *builder, pfc_binary *binary, const pfc_code_maps *maps,
                   const pfc_accumulate_rules *rules, int (*tick)(void *user, uint64_t done, uint64_t total),
                   void *tick_user, pfc_accumulate_result *result) {
    pfc_mem *mem = &pfc_builder_model(builder)->mem;
    memset(result, 0, sizeof *result);
    attribution *a = pfc_alloc_zero(mem, sizeof *a);
    if (!a)
        return mem->failed;
    a->builder = builder;
    a->mem = mem;
    a->binary = binary;
    a->rules = rules;
    a->maps = maps;
    pfc_tree_init(&a->tree, mem);
    int status = pfc_functions_load(mem, binary, &rules->select, &a->functions);
    if (status == 0)
        status = pfc_functions_select(mem, &rules->select, maps, &a->functions, &result->threshold, &result->best);
    if (status == 0)
        status = order_records(a);
    for (size_t i = 0; status == 0 && i < a->functions.rows.count; i++) {
        if (!a->functions.rows.data[i].selected)
            continue;
        status = accumulate_function(a, (uint32_t)i, result);
        if (status == 0 && tick && result->functions % 64 == 0 && tick(tick_user, i, a->functions.rows.count))
            status = PROFCONV_E_CALLBACK;
    }
    pfc_functions_free(mem, &a->functions);
    pfc_tree_free(&a->tree);
    PFC_VEC_FREE(mem, &a->range_order);
    PFC_VEC_FREE(mem, &a->branch_order);
    PFC_VEC_FREE(mem, &a->address_order);
    PFC_VEC_FREE(mem, &a->ends);
    PFC_VEC_FREE(mem, &a->pieces);
    pfc_free(mem, a, sizeof *a);
    return status;
}
