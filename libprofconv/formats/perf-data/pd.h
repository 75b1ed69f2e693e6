/* SPDX-License-Identifier: MIT
 *
 * What the parts of the perf.data reader share: decoded attributes and events, the state of one conversion, and the
 * functions that each file offers. A record flows stream.c -> order.c -> records.c -> sample.c -> builder.
 */
#ifndef PFC_PERF_DATA_PD_H
#define PFC_PERF_DATA_PD_H

#include <profconv/plugin.h>

#include "libprofconv/base/cursor.h"
#include "libprofconv/base/hash.h"
#include "libprofconv/base/jitdump.h"
#include "libprofconv/base/mem.h"
#include "libprofconv/base/text.h"
#include "libprofconv/base/unwind.h"
#include "libprofconv/formats/common/selection.h"
#include "libprofconv/formats/common/images.h"

#define PD_SCOPE "perf-data"

/* Records. */
enum {
    PD_MMAP = 1,
    PD_LOST = 2,
    PD_COMM = 3,
    PD_EXIT = 4,
    PD_THROTTLE = 5,
    PD_UNTHROTTLE = 6,
    PD_FORK = 7,
    PD_READ = 8,
    PD_SAMPLE = 9,
    PD_MMAP2 = 10,
    PD_LOST_SAMPLES = 13,
    PD_NAMESPACES = 16,
    PD_KSYMBOL = 17,
    PD_CGROUP = 19,
    PD_CALLCHAIN_DEFERRED = 22,
    PD_KERNEL_MAX = 22,
    PD_USER_MIN = 64,
    PD_HEADER_ATTR = 64,
    PD_HEADER_EVENT_TYPE = 65,
    PD_HEADER_TRACING_DATA = 66,
    PD_HEADER_BUILD_ID = 67,
    PD_FINISHED_ROUND = 68,
    PD_AUXTRACE_INFO = 70,
    PD_AUXTRACE = 71,
    PD_AUXTRACE_ERROR = 72,
    PD_EVENT_UPDATE = 78,
    PD_HEADER_FEATURE = 80,
    PD_COMPRESSED = 81,
    PD_COMPRESSED2 = 83,
    PD_USER_MAX = 86,
    PD_SIMPLEPERF_MIN = 32768
};

/* misc of a record header. */
enum {
    PD_CPUMODE_MASK = 7,
    PD_MODE_UNKNOWN = 0,
    PD_MODE_KERNEL = 1,
    PD_MODE_USER = 2,
    PD_MODE_HYPERVISOR = 3,
    PD_MODE_GUEST_KERNEL = 4,
    PD_MODE_GUEST_USER = 5,
    PD_MISC_MAP_TIMEOUT = 1 << 12,
    PD_MISC_MMAP_DATA = 1 << 13,
    PD_MISC_COMM_EXEC = 1 << 13,
    PD_MISC_FORK_EXEC = 1 << 13,
    PD_MISC_MMAP_BUILD_ID = 1 << 14,
    PD_MISC_BUILD_ID_SIZE = 1 << 15,
    PD_MISC_LOST_BY_FILTER = 1 << 15
};

/* sample_type bits. */
#define PD_S_IP (1u << 0)
#define PD_S_TID (1u << 1)
#define PD_S_TIME (1u << 2)
#define PD_S_ADDR (1u << 3)
#define PD_S_READ (1u << 4)
#define PD_S_CALLCHAIN (1u << 5)
#define PD_S_ID (1u << 6)
#define PD_S_CPU (1u << 7)
#define PD_S_PERIOD (1u << 8)
#define PD_S_STREAM_ID (1u << 9)
#define PD_S_RAW (1u << 10)
#define PD_S_BRANCH_STACK (1u << 11)
#define PD_S_REGS_USER (1u << 12)
#define PD_S_STACK_USER (1u << 13)
#define PD_S_WEIGHT (1u << 14)
#define PD_S_DATA_SRC (1u << 15)
#define PD_S_IDENTIFIER (1u << 16)
#define PD_S_TRANSACTION (1u << 17)
#define PD_S_REGS_INTR (1u << 18)
#define PD_S_PHYS_ADDR (1u << 19)
#define PD_S_AUX (1u << 20)
#define PD_S_CGROUP (1u << 21)
#define PD_S_DATA_PAGE_SIZE (1u << 22)
#define PD_S_CODE_PAGE_SIZE (1u << 23)
#define PD_S_WEIGHT_STRUCT (1u << 24)
#define PD_S_KNOWN ((1u << 25) - 1)

/* attr flag bits (numbers in the little-endian bit order). */
#define PD_F_EXCLUDE_USER (UINT64_C(1) << 4)
#define PD_F_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define PD_F_EXCLUDE_HV (UINT64_C(1) << 6)
#define PD_F_FREQ (UINT64_C(1) << 10)
#define PD_F_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define PD_F_EXCLUDE_HOST (UINT64_C(1) << 19)
#define PD_F_EXCLUDE_GUEST (UINT64_C(1) << 20)
#define PD_F_USE_CLOCKID (UINT64_C(1) << 25)
#define PD_PRECISE_IP(flags) ((unsigned)((flags) >> 15) & 3u)

#define PD_BRANCH_ANY (UINT64_C(1) << 3)
#define PD_BRANCH_CALL_STACK (UINT64_C(1) << 11)
#define PD_BRANCH_HW_INDEX (UINT64_C(1) << 17)
#define PD_BRANCH_COUNTERS (UINT64_C(1) << 19)

#define PD_READ_ENABLED (1u << 0)
#define PD_READ_RUNNING (1u << 1)
#define PD_READ_ID (1u << 2)
#define PD_READ_GROUP (1u << 3)
#define PD_READ_LOST (1u << 4)

#define PD_NO_COLUMN UINT32_MAX

typedef struct pd_reader pd_reader;

/* ---- attr.c: perf_event_attr and events ---- */

typedef struct pd_attr {
    uint32_t type;
    uint32_t size;
    uint64_t config;
    uint64_t period; /* or frequency */
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t flags;
    uint32_t bp_type;
    uint64_t config1; /* or breakpoint address */
    uint64_t branch_sample_type;
    uint64_t regs_user;
    uint64_t regs_intr;
    uint32_t clockid; /* with PD_F_USE_CLOCKID; 1 is CLOCK_MONOTONIC */
} pd_attr;

/* Where an event's name came from; a higher one replaces a lower one. */
enum { PD_NAME_NONE = 0, PD_NAME_TYPE_TABLE, PD_NAME_DESC, PD_NAME_UPDATE };

typedef struct pd_event {
    pd_attr attr;
    char *name; /* owned, NUL-terminated; NULL until known */
    size_t name_size;
    int name_source;
    int wanted;         /* by the event filter; -1: not decided yet */
    int guessed;        /* the same, while the recorded name was not known; -1: was not asked */
    uint32_t column;    /* first of its two sample types */
    uint64_t samples;   /* counted in its columns */
    int sample_time_at; /* offset in a SAMPLE record, header included; -1: none */
    int sample_id_at;
    int trailer_size;    /* bytes of the sample_id trailer; 0: none */
    int trailer_time_at; /* distance of its start from the record's end; 0: none */
    int trailer_id_at;
} pd_event;

typedef struct pd_id {
    uint64_t id;
    uint64_t last_value; /* of READ, for the difference */
    uint32_t event;
} pd_id;

/* Decodes what is there (attr.size or `size` bytes), zero for the rest. 0 when not even the first version is there. */
int pd_attr_decode(pd_attr *out, const uint8_t *data, size_t size, int big);
int pd_event_add(pd_reader *r, const pd_attr *attr);
int pd_event_add_id(pd_reader *r, uint64_t id, uint32_t event);
int pd_event_set_name(pd_reader *r, uint32_t event, const char *name, size_t size, int source);
/* Row of r->ids, or NULL. */
pd_id *pd_event_by_id(pd_reader *r, uint64_t id);
/* The recorded name, or one made from type and config as perf does. Into buf. */
void pd_event_name(pd_reader *r, const pd_event *event, pfc_buf *buf);
/* Length of a name without its modifiers. */
size_t pd_event_base_size(const pd_event *event, const char *name, size_t size);
int pd_event_is_clock(const pd_event *event);
int pd_event_is_dummy(const pd_event *event);
/* Written by perf record --off-cpu; its weights are the nanoseconds that a thread waited. */
int pd_event_is_off_cpu(const pd_event *event);
/* Nonzero when an event's weights are nanoseconds. */
int pd_event_counts_time(const pd_event *event);
/* Event of a SAMPLE or other kernel record by its id; NULL: unknown id. */
pd_event *pd_event_of_record(pd_reader *r, const uint8_t *data, size_t size, uint32_t type);

/* ---- features.c ---- */

typedef struct pd_build_id {
    char hex[41];
    uint8_t kernel;   /* kernel mode */
    char *name;       /* owned */
    size_t name_size;
} pd_build_id;

typedef struct pd_features {
    char *hostname, *os_release, *version, *arch, *cpu_desc, *cpuid, *command; /* owned, NUL-terminated or NULL */
    int aarch64;
    uint32_t cpus_online;
    uint64_t total_memory_kb;
    uint64_t first_time, last_time;
    int have_sample_time;
    int have_clock;
    uint64_t clock_wall, clock_value;
    PFC_VEC(pd_build_id) build_ids;
    struct pd_pmu {
        uint32_t type;
        char *name;
    } *pmus;
    size_t pmu_count, pmu_capacity;
} pd_features;

void pd_feature(pd_reader *r, uint32_t bit, const uint8_t *data, size_t size, uint64_t offset);
void pd_build_id_record(pd_reader *r, const uint8_t *data, size_t size);
/* Lower-case hexadecimal of a build-id without padding. size 0: unknown length. "" when all zero. */
void pd_build_id_hex(char out[41], const uint8_t *id, unsigned size);
void pd_features_free(pd_reader *r);

/* ---- header.c: the file around the records ---- */

typedef struct pd_section {
    uint64_t offset;
    uint64_t size;
} pd_section;

typedef struct pd_header {
    uint64_t size;
    uint64_t attr_size;
    pd_section attrs, data;
    uint64_t features[4];
    int killed;
    int simpleperf;
} pd_header;

int pd_header_read(pd_reader *r);
/* After the data: the feature sections of inputs that cannot seek. */
int pd_header_features(pd_reader *r);

/* An input that failed with `error` after records were read: damage of the compression around it is a warning (0), all else
 * stays an error. */
int pd_damage(pd_reader *r, const profconv_error *error, uint64_t offset);

/* ---- stream.c: records out of bytes ---- */

typedef struct pd_stream {
    profconv_input *input;
    uint64_t left; /* bytes of the section that are not read; UINT64_MAX: up to the end of the input */
    struct ZSTD_DCtx_s *zstd;
    uint8_t *carry; /* inflated bytes whose record is not complete */
    size_t carry_size, carry_capacity;
    uint64_t inflated, deflated;
    int zstd_state; /* 0: not begun, 1: runs, -1: failed */
    int done;
    int owned;      /* the input is ours to free */
    uint64_t max_time, previous_max;
} pd_stream;

/* Reads about `budget` bytes of records. */
int pd_stream_read(pd_reader *r, pd_stream *s, uint64_t budget);
void pd_stream_free(pd_reader *r, pd_stream *s);

/* ---- order.c: time order ---- */

typedef struct pd_queued {
    uint64_t time;
    const uint8_t *data;
    struct pd_chunk *chunk;
    uint64_t offset;
} pd_queued;

typedef struct pd_order {
    PFC_VEC(pd_queued) queue;
    pd_queued *scratch;
    size_t scratch_capacity;
    uint32_t *runs;
    size_t runs_capacity;
    struct pd_chunk *current, *spare;
    uint64_t bytes;
    uint64_t max_time, limit, delivered;
    uint64_t late;
    size_t chunk_bytes;
    uint64_t samples_only; /* bytes that came since the last record of another type */
    int disorder;          /* a record came after a younger one */
    int forced;            /* the bound was reached once */
} pd_order;

int pd_order_push(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset, uint64_t time);
/* Delivers everything up to `limit` (UINT64_MAX: all). */
int pd_order_flush(pd_reader *r, uint64_t limit);
void pd_order_free(pd_reader *r);

/* ---- maps.c: address ranges of one address space ---- */

typedef struct pd_map {
    uint64_t start, end; /* end is one past the last byte; UINT64_MAX reaches the top */
    uint64_t value;      /* model address of `start` */
    uint32_t dso;        /* row of r->dsos */
    uint32_t flags;      /* PD_MAP_* */
} pd_map;

enum {
    PD_MAP_EXEC = 1,
    PD_MAP_JITTED = 2, /* code object written by `perf inject --jit`: anonymous maps do not hide it */
    PD_MAP_EARLY = 4,  /* there before the recording began (time 0) */
    PD_MAP_ANON = 8,
    PD_MAP_CODE_SHIFT = 8 /* above: 0, or row of r->jit.codes + 1 */
};

typedef struct pd_maps pd_maps; /* shared after a fork until one side changes; NULL is empty */

const pd_map *pd_maps_find(const pd_maps *maps, uint64_t address);
/* The map that ends at, or begins at, `address`. */
const pd_map *pd_maps_ending_at(const pd_maps *maps, uint64_t address);
/* Makes [map->start, map->end) this map, cutting what was there. keep_jitted: only in the gaps between JITTED maps. */
int pd_maps_insert(pd_reader *r, pd_maps **maps, const pd_map *map, int keep_jitted);
int pd_maps_remove(pd_reader *r, pd_maps **maps, uint64_t start, uint64_t end);
pd_maps *pd_maps_share(pd_maps *maps);
void pd_maps_free(pd_reader *r, pd_maps *maps);

/* ---- dso.c: images and their rows in the profile ---- */

typedef pfc_image pd_dso; /* samples: of processes whose program it is */

/* Finds or makes; identity is (file, build_id, pid, kind, and for modules the start). Returns UINT32_MAX on failure. */
uint32_t pd_dso_get(pd_reader *r, const pd_dso *key, uint64_t low, uint64_t high);
/* The profile's mapping row. */
profconv_id pd_dso_mapping(pd_reader *r, uint32_t dso);
/* Its build-id, from its own record or from the recording's tables as far as they are read; NULL: unknown. */
const char *pd_dso_build_id(pd_reader *r, uint32_t dso);
/* Extents, build-ids of the tables, the main flag. */
void pd_dsos_finish(pd_reader *r);

/* ---- process.c: processes, threads and their maps ---- */

typedef struct pd_process {
    uint32_t pid;
    uint32_t main_dso;     /* UINT32_MAX: none yet */
    uint32_t main_rank;    /* how sure: 0 none, 1 inherited, 2 first candidate, 3 at a fixed load address */
    uint32_t serial;       /* changes with every change of the maps; keys caches */
    uint32_t label_serial; /* changes with the name */
    pd_maps *maps;
} pd_process;

typedef struct pd_thread {
    uint32_t tid;
    uint32_t process; /* row of r->processes */
    profconv_id comm; /* 0: never named */
    uint32_t label_serial;
    profconv_id label_set;
    struct pd_held *held; /* samples that wait for their deferred call chain */
} pd_thread;

int pd_processes_init(pd_reader *r);
void pd_processes_free(pd_reader *r);
/* Row numbers, made when missing; UINT32_MAX on failure. */
uint32_t pd_process_get(pd_reader *r, uint32_t pid);
uint32_t pd_thread_get(pd_reader *r, uint32_t pid, uint32_t tid);
/* Name as perf script prints it. */
profconv_id pd_thread_comm(pd_reader *r, const pd_thread *thread);
profconv_id pd_process_comm(pd_reader *r, const pd_thread *thread);

int pd_on_comm(pd_reader *r, const uint8_t *data, size_t size, unsigned misc);
int pd_on_fork(pd_reader *r, const uint8_t *data, size_t size, unsigned misc, uint64_t time);
int pd_on_exit(pd_reader *r, const uint8_t *data, size_t size);

/* ---- mmap.c: MMAP, MMAP2 and KSYMBOL records ---- */

int pd_on_mmap(pd_reader *r, const uint8_t *data, size_t size, unsigned misc, uint64_t time, uint64_t offset);
int pd_on_mmap2(pd_reader *r, const uint8_t *data, size_t size, unsigned misc, uint64_t time, uint64_t offset);
int pd_on_ksymbol(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset);

/* ---- jit.c: code named by jitdump files ---- */

typedef struct pd_jit_dump {
    pfc_jitdump *dump;
    const pfc_jit_event *events;
    size_t count, done; /* done: are in the maps */
    profconv_id file;
    uint32_t process;
    int timed;
} pd_jit_dump;

typedef struct pd_jit_code {
    const pfc_jitdump *dump;
    uint32_t code;
    uint64_t start;
} pd_jit_code;

typedef struct pd_jit {
    const pfc_jitdump_type *type;
    PFC_VEC(pd_jit_dump) dumps;
    PFC_VEC(pd_jit_code) codes;
    uint64_t next_time; /* of the first event that is not in the maps; UINT64_MAX: none */
} pd_jit;

/* Something called `name` was mapped; when it is a jitdump file, it is read. */
int pd_jit_mapped(pd_reader *r, uint32_t process, profconv_string name);
/* Puts the code that was there at `time` into the maps. */
int pd_jit_advance(pd_reader *r, uint64_t time);
/* The location of an address in a map of such code. */
profconv_id pd_jit_location(pd_reader *r, const pd_map *map, uint64_t address);
void pd_jit_free(pd_reader *r);

/* ---- address.c: an address of a sample to a location ---- */

typedef struct pd_place {
    profconv_id location;
    uint32_t dso;   /* UINT32_MAX: in no mapping */
    uint64_t value; /* model address */
} pd_place;

#define PD_MODE_NONE 8u /* branch records tell no mode: the process's maps, then the kernel's */

/* The location of an instruction address in `mode`. An address in no mapping has a location too, but with PD_MODE_NONE it
 * has location 0. Borrowed until the next call. */
const pd_place *pd_locate(pd_reader *r, uint32_t process, unsigned mode, uint64_t address);
/* It will be asked for. */
void pd_locate_soon(const pd_reader *r, uint32_t process, unsigned mode, uint64_t address);
void pd_kernel_maps_changed(pd_reader *r);

/* ---- records.c ---- */

int pd_deliver(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset, uint64_t time);
/* A record of perf itself (type >= 64). */
int pd_user_record(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset);

/* ---- sample.c, chain.c, branch.c ---- */

typedef struct pd_sample {
    uint64_t offset;
    unsigned mode;
    uint64_t ip, time, id, period, cgroup;
    uint32_t pid, tid, cpu;
    const uint8_t *chain; /* u64 values in file order */
    uint64_t chain_count;
    const uint8_t *deferred; /* the user part that came later */
    uint64_t deferred_count;
    const uint8_t *branches; /* 24 bytes each */
    uint64_t branch_count;
    const uint8_t *read; /* the READ block */
    size_t read_size;
    const uint8_t *raw; /* what the event's kind says */
    size_t raw_size;
    int stack_dump; /* a user stack was dumped with its registers: */
    uint64_t registers_abi;
    const uint8_t *registers, *stack;
    size_t stack_size;
} pd_sample;

int pd_on_sample(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset);
int pd_on_deferred(pd_reader *r, const uint8_t *data, size_t size, uint64_t offset);
int pd_release_held(pd_reader *r);
void pd_free_held(pd_reader *r);
/* The stack of a sample. */
profconv_id pd_chain_stack(pd_reader *r, uint32_t thread, const pd_event *event, const pd_sample *sample);
void pd_branch_stack(pd_reader *r, uint32_t process, const pd_sample *sample);

/* The last call chain of a thread, root first, with the stack of each frame: the next one mostly differs only at its leaf. */
typedef struct pd_prefix {
    uint32_t thread; /* owner + 1; 0: free */
    uint32_t serial, kernel_serial;
    uint32_t count, capacity;
    uint64_t *address;
    uint8_t *mode;
    profconv_id *stack;
} pd_prefix;
#define PD_PREFIXES 512u

/* A looked-up address. The serial is the process's, or the kernel's for kernel mode: old entries just stop matching. */
typedef struct pd_cached {
    uint64_t address;
    uint32_t serial;
    uint32_t mode;
    pd_place place;
} pd_cached;
#define PD_CACHE_BITS_FIRST 8
#define PD_CACHE_BITS_MOST 14

/* ---- edges.c: branch entries that come again ---- */

typedef struct pd_edge {
    uint64_t from, to;
    pd_place place[2];
    uint64_t cycles;       /* this and the counts: what the builder has not been told yet */
    uint32_t count, mispredicted;
    uint32_t serial;       /* the process's; 0: an empty slot */
    uint32_t known;        /* the builder has a row */
} pd_edge;

typedef struct pd_range {
    profconv_id begin, end; /* locations */
    uint64_t count;         /* that the builder has not been told yet */
} pd_range;

/* A sampled address of a recording with branch records. */
typedef struct pd_leaf {
    profconv_id location;
    profconv_id stack; /* of this address alone; 0: not known */
    uint64_t count;    /* that the builder has not been told yet */
} pd_leaf;

typedef struct pd_edges {
    pd_leaf *leaves; /* by location */
    size_t leaf_count;
    pd_edge *edges;
    pd_range *ranges;
    unsigned bits; /* of the numbers of entries' slots */
    uint32_t kernel_serial;
    uint64_t evicted;
} pd_edges;

#if defined(__GNUC__)
#define pd_prefetch(p) __builtin_prefetch(p)
#else
#define pd_prefetch(p) ((void)(p))
#endif

/* An entry of the branch stack at hand. */
typedef struct pd_entry {
    pd_place from, to;
    uint64_t from_address, to_address;
    size_t edge_slot;
    size_t range_slot; /* of the range from here to the newer entry */
} pd_entry;

/* Before each stack: makes and grows the tables. 0, or -1 for want of memory. */
int pd_edges_ready(pd_reader *r);
/* Where an entry is kept; starts to load it. */
size_t pd_edge_slot(const pd_reader *r, uint32_t serial, uint64_t from, uint64_t to);
/* The entry itself, looked up when it is new; valid until the next call. */
pd_edge *pd_edge_get(pd_reader *r, size_t slot, uint32_t process, uint64_t from, uint64_t to);
void pd_edge_add(pd_reader *r, size_t slot, uint32_t process, uint64_t from, uint64_t to, int mispredicted, unsigned cycles);
size_t pd_range_slot(const pd_reader *r, profconv_id begin, profconv_id end);
/* Both locations are known ones. */
void pd_range_add(pd_reader *r, size_t slot, profconv_id begin, profconv_id end);
/* Counts a sampled address. 0, or -1 for want of memory. */
int pd_leaf_add(pd_reader *r, profconv_id location);
/* The stack of a sample that has no call chain. */
profconv_id pd_leaf_stack(pd_reader *r, profconv_id location);
/* Tells the builder all counts. */
void pd_edges_flush(pd_reader *r);
void pd_edges_free(pd_reader *r);

/* ---- unwind.c: user stacks that were dumped ---- */

typedef struct pd_unwind {
    const pfc_unwinder_type *type;
    pfc_unwinder *unwinder; /* NULL: none, or switched off */
    pfc_unwind_maps maps;
    uint32_t process;       /* of the sample at hand */
    int tried;
    uint64_t ends[PFC_UNWIND_ENDS];
    uint64_t by_frame_pointer;
} pd_unwind;

/* Makes the unwinder, once; it stays NULL where there is none. 0 or a status. */
int pd_unwind_start(pd_reader *r);
/* The user frames of a sample with a stack dump; none without an unwinder. A status for want of memory (r->mem has failed then). */
int pd_unwind_sample(pd_reader *r, uint32_t process, const pd_event *event, const pd_sample *sample, pfc_unwind_result *out);
void pd_unwind_notes(pd_reader *r);
void pd_unwind_free(pd_reader *r);

/* ---- callers.c: calls in branch records that frame pointers do not show ---- */

/* Kind of a branch that was looked up in the code. */
typedef struct pd_branch_code {
    uint64_t address;
    uint32_t serial; /* the process's; 0: an empty slot */
    uint32_t kind;   /* pfc_branch_kind */
} pd_branch_code;

#define PD_BRANCH_CODES 4096u

/*
 * The calls that led to the user instruction `ip` of the sample, as far back as its branch records are sure of them: addresses
 * of call instructions, that of the direct caller first. Their number, at most `max`; 0 where nothing is sure.
 */
size_t pd_branch_callers(pd_reader *r, uint32_t process, const pd_sample *sample, uint64_t ip, uint64_t *out, size_t max);
void pd_branch_callers_free(pd_reader *r);

/* ---- filter.c: settings ---- */

typedef struct pd_filter {
    int percent;                          /* the time filter is in percents: */
    uint32_t percent_start, percent_stop; /* thousandths of a percent */
    int strict, unwind, jitdump, callers;
} pd_filter;

extern const profconv_setting pd_settings[];
int pd_filter_init(pd_reader *r);
void pd_filter_free(pd_reader *r);
/* Turns percents into times, once the recording's extent is known. */
int pd_filter_settle(pd_reader *r);
/* Nonzero when the filters let the event, or the sample (but for its event), pass. */
int pd_event_wanted(pd_reader *r, pd_event *event);
/* After the last record: fails when a filter was used on an event whose name came later and says otherwise. */
int pd_filter_recheck(pd_reader *r);
/* The error for a recording of which no sample is wanted. */
int pd_filter_nothing(pd_reader *r);
int pd_sample_wanted(pd_reader *r, const pd_sample *sample, uint32_t thread);
profconv_id pd_label_set(pd_reader *r, uint32_t thread, const pd_sample *sample);

/* ---- columns.c ---- */
typedef struct pd_emitted {
    int64_t weight;
    uint32_t event;
    profconv_id stack, labels;
} pd_emitted;

/* Adds a sample to its event's columns. */
int pd_column_add(pd_reader *r, const pd_emitted *e);
/* Names, units, periods; the profile's facts; notes. */
int pd_columns_finish(pd_reader *r);
void pd_facts_finish(pd_reader *r);
void pd_notes_finish(pd_reader *r);

/* ---- the state ---- */

typedef struct pd_cgroup {
    uint64_t id;
    profconv_id path;
} pd_cgroup;

typedef struct pd_counts {
    uint64_t records, samples, samples_kept, filtered, malformed, unknown_id, unknown_records, leftover;
    uint64_t chain_entries, branch_entries, chain_corrupt, chain_max_cut, deferred;
    uint64_t lost, lost_samples, lost_by_filter;
    int have_lost_samples;
    uint64_t callers_restored, callers_seen, callers_unknown;
    uint64_t unmapped, kernel_frames_removed, stacks_not_unwound;
    uint64_t branch_null_stack, branch_wrong_path, branch_bogus, branch_duplicate, branch_unmapped, range_across;
    uint64_t map_timeout, bad_map, bad_record, zero_delta;
} pd_counts;

struct pd_reader {
    pfc_mem mem;
    profconv_builder *builder;
    profconv_report *report; /* the builder's */
    const profconv_options *options;
    profconv_error *error;
    profconv_input *input;
    int big;
    int pipe;
    int version; /* 1 or 2 */
    int can_seek;
    uint64_t file_size; /* UINT64_MAX: unknown */
    uint8_t *prefix;    /* bytes before the data of an input that cannot seek */
    size_t prefix_size, prefix_capacity;
    pd_header header;
    pd_features features;
    int event_desc_seen;

    PFC_VEC(pd_event) events;
    PFC_VEC(pd_id) ids;
    pfc_index id_index;
    uint32_t last_id; /* row of the id that was looked up last */
    int sort;         /* records have times and are to be sorted */
    int same_layout;  /* all events have the same positions of time and id */
    int branch_recording;
    int no_rounds;    /* a directory: FINISHED_ROUND says nothing about the other parts */

    pd_order order;
    uint64_t order_cap, order_cap_disorder; /* bytes held for sorting: in force, and once there was a round or disorder */
    pd_stream *stream; /* the one that is being read */

    PFC_VEC(pd_dso) dsos;
    pfc_index dso_index;
    pd_maps *kernel_maps;
    uint32_t kernel_serial;
    uint32_t kernel_dso; /* UINT32_MAX: none */
    uint64_t kernel_start;
    int kernel_seen;     /* the first kernel map was seen */
    uint32_t guest_dso[3]; /* kernel, user, hypervisor; UINT32_MAX: not made */
    int cache_stale;     /* kernel maps changed: forget what was looked up */
    PFC_VEC(pd_process) processes;
    pfc_index process_index;
    PFC_VEC(pd_thread) threads;
    pfc_index thread_index;
    uint32_t next_serial;
    profconv_id swapper;
    PFC_VEC(pd_cgroup) cgroups;
    size_t last_cgroup; /* row that was looked up last */

    pd_cached *cache;
    unsigned cache_bits;
    uint32_t cache_misses; /* since it had its size */
    pd_prefix *prefixes;
    uint64_t *frame_address;
    uint8_t *frame_mode;
    size_t frame_capacity;
    PFC_VEC(pd_entry) entries; /* of a branch stack */
    pd_edges edges;
    pd_branch_code *branch_codes; /* by address, PD_BRANCH_CODES of them; NULL: not needed yet */
    pd_unwind unwind;
    pd_jit jit;
    int monotonic; /* times are CLOCK_MONOTONIC's */

    PFC_VEC(pd_emitted) emitted; /* the first ones, until it shows which events have samples */
    int columns_open;

    pfc_selection selection;
    pd_filter filter;
    pd_counts counts;
    uint64_t first_time, last_time; /* of samples; last_time 0: none */
    profconv_id cpu_label_set;
};

static inline int pd_failed(pd_reader *r) { return pfc_mem_error(&r->mem, r->error); }
/* UINT64_MAX instead of wrapping. */
static inline uint64_t pd_end_of(uint64_t start, uint64_t size) { return pfc_add_sat(start, size); }

#endif
