/* SPDX-License-Identifier: MIT
 *
 * From a sample's ip and call chain to a stack: context markers, the entry that repeats the ip, return addresses, LBR call
 * stacks; and the prefix cache that makes a chain cost what differs from the thread's last one.
 */
#include "libprofconv/formats/perf-data/pd.h"

/* Entries from here on are markers of the address space of what follows. */
#define MARKER_MIN ((uint64_t)INT64_C(-4095))
#define PAC_MASK UINT64_C(0x007fffffffffffff)
#define MODE_BAD 9u
#define MAX_CALL 16u     /* bytes of a call instruction, prefixes included */
#define MAX_RESTORED 16u /* callers from branch records */

static unsigned marker_mode(uint64_t marker) {
    switch ((int64_t)marker) {
    case -32: return PD_MODE_HYPERVISOR;
    case -128: return PD_MODE_KERNEL;
    case -512: return PD_MODE_USER;
    case -640: return PD_MODE_USER; /* deferred, without its later part */
    case -2048: return PD_MODE_GUEST_KERNEL;
    case -2176: return PD_MODE_GUEST_KERNEL;
    case -2560: return PD_MODE_GUEST_USER;
    default: return MODE_BAD;
    }
}

typedef struct frames {
    uint64_t *address; /* leaf first */
    uint8_t *mode;
    size_t count;
} frames;

static void add_frame(frames *f, uint64_t address, unsigned mode) {
    f->address[f->count] = address;
    f->mode[f->count] = (uint8_t)mode;
    f->count++;
}

/*
 * Appends the callers in a chain. `leaf`: nonzero while the entry that repeats the ip may still come. *user_from is set to the
 * index of the first frame after a USER marker, if there is one.
 */
static void add_chain(pd_reader *r, frames *f, const pd_event *event, const pd_sample *s, const uint8_t *chain,
                      uint64_t count, unsigned mode, int leaf) {
    uint64_t back = r->header.simpleperf ? 0 : 1; /* simpleperf's chains hold addresses inside the calls already */
    int first = 1;                                /* of its space: an interrupted ip, not a return address */
    int precise = PD_PRECISE_IP(event->attr.flags) > 0, strip = r->features.aarch64;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t address = pfc_load64(chain + 8 * i, r->big);
        if (address >= MARKER_MIN) {
            unsigned next = marker_mode(address);
            if (next == MODE_BAD) { /* a frame pointer that led nowhere: what follows is garbage */
                r->counts.chain_corrupt++;
                return;
            }
            mode = next;
            first = 1;
            continue;
        }
        if (leaf) {
            leaf = 0;
            /* With precise events the chain begins at the interrupt, a little behind the exact ip. */
            if (address == s->ip || (precise && mode == s->mode)) {
                first = 0;
                continue;
            }
        }
        if (strip && mode == PD_MODE_USER && !(address >> 55 & 1))
            address &= PAC_MASK;
        if (!first && address > 0)
            address -= back;
        first = 0;
        add_frame(f, address, mode);
    }
}

/* The kernel part of the chain, then the call sites of the branch stack, newest first, which need no correction. */
static void add_lbr_stack(pd_reader *r, frames *f, const pd_event *event, const pd_sample *s) {
    uint64_t kernel = 0;
    int has_user = 0;
    uint64_t user_ip = 0;
    for (; kernel < s->chain_count; kernel++)
        if (pfc_load64(s->chain + 8 * kernel, r->big) == (uint64_t)INT64_C(-512))
            break;
    if (kernel + 1 < s->chain_count) {
        user_ip = pfc_load64(s->chain + 8 * (kernel + 1), r->big);
        has_user = user_ip < MARKER_MIN;
    }
    if (s->mode != PD_MODE_USER) {
        add_chain(r, f, event, s, s->chain, kernel, s->mode, 1);
        add_frame(f, has_user ? user_ip : pfc_load64(s->branches + 8, r->big), PD_MODE_USER);
    }
    for (uint64_t i = 0; i < s->branch_count; i++) {
        uint64_t from = pfc_load64(s->branches + 24 * i, r->big);
        if (from != 0)
            add_frame(f, from, PD_MODE_USER);
    }
}

static int reserve_frames(pd_reader *r, size_t count) {
    if (count <= r->frame_capacity)
        return 0;
    size_t capacity = r->frame_capacity, same = r->frame_capacity;
    if (pfc_grow(&r->mem, (void **)(void *)&r->frame_address, &capacity, count, sizeof *r->frame_address))
        return pd_failed(r);
    uint8_t *mode = (uint8_t *)pfc_resize(&r->mem, r->frame_mode, same, capacity);
    if (!mode) { /* keep the two of one size */
        uint64_t *address =
            (uint64_t *)pfc_resize(&r->mem, r->frame_address, capacity * sizeof *address, same * sizeof *address);
        r->frame_address = address;
        return pd_failed(r);
    }
    r->frame_mode = mode;
    r->frame_capacity = capacity;
    return 0;
}

static size_t drop_kernel(frames *f) {
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->mode[i] == PD_MODE_USER || f->mode[i] == PD_MODE_GUEST_USER || f->mode[i] == PD_MODE_UNKNOWN) {
            f->address[kept] = f->address[i];
            f->mode[kept++] = f->mode[i];
        }
    size_t dropped = f->count - kept;
    f->count = kept;
    return dropped;
}

/* Entries of the chain before its user part, and how many frames that part has. */
static uint64_t kernel_part(pd_reader *r, const pd_sample *s, uint64_t *user) {
    uint64_t before = s->chain_count, mode = s->mode;
    *user = 0;
    for (uint64_t i = 0; i < s->chain_count; i++) {
        uint64_t entry = pfc_load64(s->chain + 8 * i, r->big);
        if (entry >= MARKER_MIN)
            mode = marker_mode(entry);
        else
            *user += mode == PD_MODE_USER;
        if (mode == PD_MODE_USER && before == s->chain_count)
            before = i;
    }
    return before;
}

/* What the unwinder found: from the interrupted user instruction on, which repeats the ip of samples in user mode. */
static void add_unwound(frames *f, const pd_event *event, const pd_sample *s, const pfc_unwind_result *found, int leaf) {
    size_t i = 0;
    if (leaf && s->mode == PD_MODE_USER && found->count &&
        (found->address[0] == s->ip || PD_PRECISE_IP(event->attr.flags) > 0))
        i = 1;
    for (; i < found->count; i++)
        add_frame(f, found->address[i], PD_MODE_USER);
}

/* Call chains, and beside them records of all branches. */
static int has_chains(const pd_event *event) {
    return (event->attr.sample_type & PD_S_CALLCHAIN) && (event->attr.sample_type & PD_S_BRANCH_STACK) &&
           (event->attr.branch_sample_type & PD_BRANCH_ANY);
}

/* A call instruction at `call` and the frame that its return address makes (that address less one, or inside the call). */
static int is_frame_of(uint64_t frame, uint64_t call) { return frame - call < MAX_CALL; }

/* Puts calls that the branch records show, and the chain does not, between the interrupted user function and the first caller in
 * the chain. There is room for MAX_RESTORED more frames. */
static void restore_callers(pd_reader *r, frames *f, uint32_t process, const pd_sample *s) {
    uint64_t calls[MAX_RESTORED];
    size_t leaf = 0, missing = 0;
    while (leaf < f->count && f->mode[leaf] != PD_MODE_USER)
        leaf++;
    if (leaf == f->count)
        return;
    size_t caller = leaf + 1, count = pd_branch_callers(r, process, s, f->address[leaf], calls, MAX_RESTORED);
    while (missing < count && (caller == f->count || !is_frame_of(f->address[caller], calls[missing])))
        missing++;
    r->counts.callers_unknown += count == 0;
    r->counts.callers_seen += count != 0 && missing == 0;
    r->counts.callers_restored += missing != 0;
    for (size_t i = f->count; missing && i-- > caller;) {
        f->address[i + missing] = f->address[i];
        f->mode[i + missing] = f->mode[i];
    }
    for (size_t i = 0; i < missing; i++) {
        f->address[caller + i] = calls[i];
        f->mode[caller + i] = PD_MODE_USER;
    }
    f->count += missing;
}

static int collect(pd_reader *r, frames *f, const pd_event *event, const pd_sample *s, uint32_t process) {
    int lbr = (event->attr.branch_sample_type & PD_BRANCH_CALL_STACK) && s->branch_count > 0;
    pfc_unwind_result found;
    memset(&found, 0, sizeof found);
    uint64_t chain_count = s->chain_count, user = 0;
    if (s->stack_dump && !lbr) {
        uint64_t kernel = kernel_part(r, s, &user);
        if (pd_unwind_sample(r, process, event, s, &found))
            return -1;
        if (found.count > user) /* the better of the two, where both were recorded */
            chain_count = kernel;
        else
            found.count = 0;
    }
    if (reserve_frames(r, (size_t)(s->chain_count + s->deferred_count + (lbr ? s->branch_count : 0)) + found.count + MAX_RESTORED + 2))
        return -1;
    f->address = r->frame_address;
    f->mode = r->frame_mode;
    f->count = 0;
    int has_ip = (event->attr.sample_type & PD_S_IP) != 0;
    if (has_ip)
        add_frame(f, s->ip, s->mode);
    if (lbr)
        add_lbr_stack(r, f, event, s);
    else {
        add_chain(r, f, event, s, s->chain, chain_count, s->mode, has_ip);
        add_unwound(f, event, s, &found, has_ip && f->count == 1);
        if (s->deferred_count)
            add_chain(r, f, event, s, s->deferred, s->deferred_count, PD_MODE_USER, has_ip && f->count == 1);
        if (has_chains(event) && !s->stack_dump && r->filter.callers)
            restore_callers(r, f, process, s);
    }
    if (!r->selection.kernel && drop_kernel(f))
        r->counts.kernel_frames_removed++;
    uint32_t bound = profconv_builder_limits(r->builder)->max_depth;
    if (r->selection.max_stack && r->selection.max_stack < bound)
        bound = r->selection.max_stack;
    if (f->count > bound) { /* the leaf's end stays */
        f->count = bound;
        r->counts.chain_max_cut++;
    }
    return 0;
}

static pd_prefix *prefix_of(pd_reader *r, uint32_t thread, uint32_t serial) {
    pd_prefix *p = &r->prefixes[thread % PD_PREFIXES];
    if (p->thread != thread + 1 || p->serial != serial || p->kernel_serial != r->kernel_serial) {
        p->thread = thread + 1;
        p->serial = serial;
        p->kernel_serial = r->kernel_serial;
        p->count = 0;
    }
    return p;
}

static int reserve_prefix(pd_reader *r, pd_prefix *p, size_t count) {
    if (count <= p->capacity)
        return 0;
    size_t capacity = count + count / 2 + 16;
    pfc_free(&r->mem, p->address, p->capacity * (sizeof(uint64_t) + sizeof(profconv_id) + 1));
    p->capacity = p->count = 0;
    p->address = (uint64_t *)pfc_alloc(&r->mem, capacity * (sizeof(uint64_t) + sizeof(profconv_id) + 1));
    if (!p->address)
        return pd_failed(r);
    p->stack = (profconv_id *)(void *)(p->address + capacity);
    p->mode = (uint8_t *)(p->stack + capacity);
    p->capacity = (uint32_t)capacity;
    return 0;
}

profconv_id pd_chain_stack(pd_reader *r, uint32_t thread, const pd_event *event, const pd_sample *sample) {
    frames f;
    uint32_t process = r->threads.data[thread].process;
    pd_locate_soon(r, process, sample->mode, sample->ip); /* the leaf, which is seldom where the last one was */
    if (collect(r, &f, event, sample, process) || f.count == 0)
        return 0;
    if (f.count == 1)
        return pd_leaf_stack(r, pd_locate(r, process, f.mode[0], f.address[0])->location);
    pd_prefix *p = prefix_of(r, thread, r->processes.data[process].serial);
    size_t n = f.count, same = 0, limit = p->count < n ? p->count : n;
    while (same < limit && p->address[same] == f.address[n - 1 - same] && p->mode[same] == f.mode[n - 1 - same])
        same++;
    if (n > p->capacity) {
        if (reserve_prefix(r, p, n))
            return 0;
        same = 0;
    }
    profconv_id stack = same ? p->stack[same - 1] : 0;
    for (size_t i = same; i < n; i++) {
        uint64_t address = f.address[n - 1 - i];
        uint8_t mode = f.mode[n - 1 - i];
        stack = profconv_builder_stack(r->builder, stack, pd_locate(r, process, mode, address)->location);
        p->address[i] = address;
        p->mode[i] = mode;
        p->stack[i] = stack;
    }
    p->count = (uint32_t)n;
    return stack;
}
