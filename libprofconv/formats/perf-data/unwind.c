/* SPDX-License-Identifier: MIT
 *
 * User stacks that were dumped with their registers (perf record --call-graph dwarf): what the unwinder is told of a sample, and
 * what is counted of its answers. The maps are those of the process at the time of the sample, data maps included.
 */
#include "libprofconv/formats/perf-data/pd.h"

#define MAX_FRAMES 1024 /* of a stack dump of 64 KiB, hardly more fit */

static int find(void *user, uint64_t address, pfc_unwind_place *out) {
    pd_reader *r = (pd_reader *)user;
    const pd_map *map = pd_maps_find(r->processes.data[r->unwind.process].maps, address);
    if (!map)
        return 0;
    unsigned kind = r->dsos.data[map->dso].kind;
    int file = kind == PROFCONV_MAPPING_LIBRARY || kind == PROFCONV_MAPPING_EXECUTABLE || kind == PROFCONV_MAPPING_VDSO;
    out->image = file ? map->dso : PFC_UNWIND_NO_IMAGE;
    out->executable = (map->flags & PD_MAP_EXEC) != 0;
    out->offset = map->value + (address - map->start);
    out->map_offset = map->value;
    return 1;
}

static void describe(void *user, uint32_t image, const char **file, const char **build_id) {
    pd_reader *r = (pd_reader *)user;
    *file = profconv_builder_get_string(r->builder, r->dsos.data[image].file).data;
    const char *id = pd_dso_build_id(r, image);
    *build_id = id ? id : "";
}

static pfc_unwind_machine machine(const pd_reader *r) {
    const char *arch = r->features.arch;
    if (!arch || !*arch)
        return PFC_UNWIND_UNKNOWN;
    if (strcmp(arch, "x86_64") == 0 || strcmp(arch, "amd64") == 0)
        return PFC_UNWIND_X86_64;
    return strcmp(arch, "aarch64") == 0 || strcmp(arch, "arm64") == 0 ? PFC_UNWIND_AARCH64 : PFC_UNWIND_OTHER;
}

int pd_unwind_start(pd_reader *r) {
    pd_unwind *u = &r->unwind;
    if (u->tried)
        return 0;
    u->tried = 1;
    u->type = pfc_builder_unwinder(r->builder);
    if (!u->type || !r->filter.unwind)
        return 0;
    u->maps.user = r;
    u->maps.find = find;
    u->maps.describe = describe;
    return u->type->create(&u->unwinder, profconv_builder_allocator(r->builder), profconv_builder_limits(r->builder)->max_memory,
                           r->options, &u->maps, r->error);
}

int pd_unwind_sample(pd_reader *r, uint32_t process, const pd_event *event, const pd_sample *s, pfc_unwind_result *out) {
    pd_unwind *u = &r->unwind;
    memset(out, 0, sizeof *out);
    int started = pd_unwind_start(r);
    if (started)
        return r->mem.failed = started;
    if (!u->unwinder) {
        r->counts.stacks_not_unwound++;
        return 0;
    }
    uint32_t depth = profconv_builder_limits(r->builder)->max_depth;
    depth = r->selection.max_stack && r->selection.max_stack < depth ? r->selection.max_stack : depth;
    pfc_unwind_input in = {.machine = machine(r),
                           .big = r->big,
                           .abi = s->registers_abi,
                           .mask = event->attr.regs_user,
                           .registers = s->registers,
                           .stack = s->stack,
                           .stack_size = s->stack_size,
                           .space = r->processes.data[process].serial,
                           .max_frames = depth < MAX_FRAMES ? depth : MAX_FRAMES};
    u->process = process;
    int rc = u->type->unwind(u->unwinder, &in, out, r->error);
    if (rc)
        return r->mem.failed = rc;
    u->ends[out->end]++;
    u->by_frame_pointer += out->by_frame_pointer;
    return 0;
}

void pd_unwind_notes(pd_reader *r) {
    static const struct {
        pfc_unwind_end end;
        const char *cause, *message;
    } rows[] = {
        {PFC_UNWIND_TRUNCATED, "stack-dump-truncated", "unwound stacks whose root lies above the dumped piece of the stack"},
        {PFC_UNWIND_DEPTH, "unwind-stop-depth", "unwound stacks cut at the allowed depth"},
        {PFC_UNWIND_NO_CODE, "unwind-stop-no-code", "unwound stacks that end before a return address outside of code"},
        {PFC_UNWIND_NO_FILE, "unwind-stop-no-file", "unwound stacks that end in code whose file was not found"},
        {PFC_UNWIND_NO_CFI, "unwind-stop-no-cfi", "unwound stacks that end in code without unwind information"},
        {PFC_UNWIND_BAD_CFI, "unwind-stop-bad-cfi", "unwound stacks that end where unwind information makes no sense"},
        {PFC_UNWIND_BAD_ABI, "unwind-32-bit", "stack dumps of 32-bit code, which are not unwound"},
        {PFC_UNWIND_BAD_MACHINE, "unwind-architecture", "stack dumps of an architecture that is not unwound"},
        {PFC_UNWIND_NO_REGISTERS, "unwind-no-registers", "stack dumps without instruction and stack pointer, not unwound"},
    };
    pd_unwind *u = &r->unwind;
    if (!u->unwinder)
        return;
    uint64_t all = 0;
    for (unsigned i = 0; i < PFC_UNWIND_ENDS; i++)
        all += u->ends[i];
    if (all)
        profconv_report_add(r->report, PROFCONV_NOTE_INFO, "stack-dumps", all, 0, PROFCONV_NO_OFFSET, 0, "stack dumps read");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (u->ends[rows[i].end])
            profconv_report_add(r->report, PROFCONV_NOTE_WARNING, rows[i].cause, u->ends[rows[i].end], 0, PROFCONV_NO_OFFSET, 0,
                                "%s", rows[i].message);
    if (u->by_frame_pointer)
        profconv_report_add(r->report, PROFCONV_NOTE_INFO, "unwind-frame-pointer", u->by_frame_pointer, 0, PROFCONV_NO_OFFSET, 0,
                            "callers found by frame pointer, for want of unwind information");
    u->type->report(u->unwinder, r->report);
}

void pd_unwind_free(pd_reader *r) {
    if (r->unwind.unwinder)
        r->unwind.type->destroy(r->unwind.unwinder);
    r->unwind.unwinder = NULL;
}
