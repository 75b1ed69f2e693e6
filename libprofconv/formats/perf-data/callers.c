/* SPDX-License-Identifier: MIT
 *
 * The direct caller of the sampled function, from branch records.
 *
 * Frame pointers do not show who called a function that made no frame of its own: its caller's caller stands in the chain
 * instead. The branch records of the same sample tell: going back from the sampled instruction, the first call that no later
 * return took back is the one into the sampled function, and the next such call the one into its caller.
 *
 * That holds only while the records are one thread of execution in one stack. So between two records the code must have run
 * forward, a return must lead behind the call that it belongs to, an entry to the kernel must come back to where it left, and a
 * jump through a register must stay near (Go changes stacks with one that does not). Where one of these fails, what is
 * older is not looked at: a caller is missing then, but none invented.
 *
 * Whether a branch is a call is taken from the record (perf record -j any,save_type), else from the code itself.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define RUN_MAX 0x100000u    /* bytes of code without a branch that is taken */
#define INDIRECT_MAX 0x4000u /* a table of cases; farther is another function */
#define CALL_MAX 16u         /* bytes of a call instruction, prefixes included */
#define MAX_RETURNS 64

typedef struct walk {
    uint64_t at;                   /* code ran up to here */
    uint64_t returned[MAX_RETURNS]; /* where returns led whose calls are to come */
    size_t returns;
    int resumed; /* `at` is where the kernel went back to */
} walk;

/* The kernel's half of the address space. */
static int is_user(uint64_t address) { return !(address >> 63); }

/* The record's own word: PERF_BR_*. */
static pfc_branch_kind kind_of_type(unsigned type) {
    switch (type) {
    case 1:
    case 2: return PFC_BRANCH_JUMP;
    case 3: return PFC_BRANCH_INDIRECT;
    case 4:
    case 5:
    case 9: return PFC_BRANCH_CALL;
    case 6:
    case 10: return PFC_BRANCH_RETURN;
    default: return PFC_BRANCH_UNKNOWN;
    }
}

static pfc_branch_kind kind_of_code(pd_reader *r, uint32_t process, uint64_t address) {
    pfc_branch_kind kind = PFC_BRANCH_UNKNOWN;
    uint32_t serial = r->processes.data[process].serial;
    if (!r->branch_codes) {
        r->branch_codes = (pd_branch_code *)pfc_alloc_zero(&r->mem, PD_BRANCH_CODES * sizeof *r->branch_codes);
        if (!r->branch_codes)
            return kind;
    }
    pd_branch_code *known =
        &r->branch_codes[((address ^ (uint64_t)serial << 48) * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
    if (known->address == address && known->serial == serial)
        return (pfc_branch_kind)known->kind;
    int rc = pd_unwind_start(r);
    if (!rc && r->unwind.unwinder) {
        r->unwind.process = process;
        rc = r->unwind.type->branch(r->unwind.unwinder, address, &kind, r->error);
    }
    if (rc) {
        r->mem.failed = rc;
        return PFC_BRANCH_UNKNOWN;
    }
    known->address = address;
    known->serial = serial;
    known->kind = kind;
    return kind;
}

static pfc_branch_kind kind_of(pd_reader *r, uint32_t process, uint64_t from, uint64_t flags) {
    unsigned type = (unsigned)(r->big ? flags >> 40 : flags >> 20) & 15u; /* 4 bits at 20; big-endian writers mirror them */
    pfc_branch_kind kind = kind_of_type(type);
    return kind != PFC_BRANCH_UNKNOWN ? kind : kind_of_code(r, process, from);
}

/* Goes back over one entry. 1: *call is a call that led here; 0: nothing of that kind; -1: what is older tells nothing. */
static int step_back(pd_reader *r, walk *w, uint32_t process, const uint8_t *entry) {
    uint64_t from = pfc_load64(entry, r->big), to = pfc_load64(entry + 8, r->big), flags = pfc_load64(entry + 16, r->big);
    if (from == 0 || to == 0)
        return -1;
    if (!is_user(from) && !is_user(to))
        return 0;
    if (!is_user(to)) { /* into the kernel, which comes back to the same instruction or to the next one */
        if (w->at - from > CALL_MAX)
            return -1;
        w->at = from;
        w->resumed = 0;
        return 0;
    }
    if (w->resumed || w->at - to > RUN_MAX)
        return -1;
    if (!is_user(from)) {
        w->at = to;
        w->resumed = 1;
        return 0;
    }
    w->at = from;
    switch (kind_of(r, process, from, flags)) {
    case PFC_BRANCH_JUMP: return 0;
    case PFC_BRANCH_INDIRECT: return (from > to ? from - to : to - from) < INDIRECT_MAX ? 0 : -1;
    case PFC_BRANCH_RETURN:
        if (w->returns == MAX_RETURNS)
            return -1;
        w->returned[w->returns++] = to;
        return 0;
    case PFC_BRANCH_CALL:
        if (w->returns == 0)
            return 1;
        w->returns--;
        return w->returned[w->returns] - from - 1 < CALL_MAX ? 0 : -1;
    default: return -1;
    }
}

size_t pd_branch_callers(pd_reader *r, uint32_t process, const pd_sample *s, uint64_t ip, uint64_t *out, size_t max) {
    walk w;
    size_t n = 0;
    w.at = ip;
    w.returns = 0;
    w.resumed = 0;
    for (uint64_t i = 0; i < s->branch_count && n < max; i++) {
        int found = step_back(r, &w, process, s->branches + 24 * i);
        if (found < 0)
            break;
        if (found)
            out[n++] = w.at;
    }
    return n;
}

void pd_branch_callers_free(pd_reader *r) {
    pfc_free(&r->mem, r->branch_codes, r->branch_codes ? PD_BRANCH_CODES * sizeof *r->branch_codes : 0);
    r->branch_codes = NULL;
}
