/* SPDX-License-Identifier: MIT
 *
 * profconv/profile.h - reading a frozen profile.
 *
 * A profile is a set of tables that refer to each other by 32-bit row ids; row 0 of every table means "none"
 * (string 0 is the empty string, stack 0 the empty stack, label set 0 the empty set). It never changes once built, so
 * everything here is const, borrows from the profile, needs no lock and may be called from any number of
 * threads at once. Pointers stay valid until profconv_profile_free.
 *
 * Row accessors return a pointer to the row, or to the zero row when `id` is out of range. Rows may grow at their
 * end in later versions: reach rows through the accessor or with a column's stride, never by pointer arithmetic on the struct.
 */
#ifndef PROFCONV_PROFILE_H
#define PROFCONV_PROFILE_H

#include <profconv/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct profconv_profile profconv_profile;

/** What a profile holds. A reader says what it produces, a writer what it needs and keeps. */
enum {
    PROFCONV_FACET_SYMBOLS = 1 << 0,       /* function names */
    PROFCONV_FACET_ADDRESSES = 1 << 1,     /* locations with addresses in mappings */
    PROFCONV_FACET_LINES = 1 << 2,         /* file, line, inlined frames, discriminators */
    PROFCONV_FACET_STACKS = 1 << 3,        /* counted call stacks */
    PROFCONV_FACET_LABELS = 1 << 4,        /* samples carry labels */
    PROFCONV_FACET_BRANCHES = 1 << 5,      /* branch edges and fall-through ranges of last-branch records */
    PROFCONV_FACET_SOURCE_COUNTS = 1 << 6, /* counts by function and line offset */
    PROFCONV_FACET_ALL = (1 << 7) - 1
};

/** Name of a single facet bit ("symbols", "addresses", …), or NULL. Static storage. */
PROFCONV_API const char *profconv_facet_name(uint32_t facet);

typedef enum profconv_mapping_kind {
    PROFCONV_MAPPING_UNKNOWN = 0,
    PROFCONV_MAPPING_EXECUTABLE, /* the program itself */
    PROFCONV_MAPPING_LIBRARY,    /* any other file with code */
    PROFCONV_MAPPING_KERNEL,     /* the kernel's image; addresses are run-time addresses */
    PROFCONV_MAPPING_MODULE,     /* a kernel module or BPF program; start is where it was loaded */
    PROFCONV_MAPPING_VDSO,       /* [vdso], [vsyscall] and the like: code without a file */
    PROFCONV_MAPPING_JIT,        /* code made at run time; addresses are absolute in process `pid` */
    PROFCONV_MAPPING_ANONYMOUS,  /* memory without a file and without known code */
    PROFCONV_MAPPING_GUEST       /* inside a virtual machine; never looked up in the host's files */
} profconv_mapping_kind;

enum {
    PROFCONV_MAPPING_HAS_FUNCTIONS = 1 << 0,
    PROFCONV_MAPPING_HAS_FILENAMES = 1 << 1,
    PROFCONV_MAPPING_HAS_LINE_NUMBERS = 1 << 2,
    PROFCONV_MAPPING_HAS_INLINE_FRAMES = 1 << 3,
    PROFCONV_MAPPING_MAIN = 1 << 4 /* the main binary of the profile */
};

/**
 * A piece of an image. For every kind with a file, file offset = address - start + file_offset, whatever coordinates
 * the addresses are in: readers of recordings store file offsets (start == file_offset), so that the same code has
 * the same address in every process; pprof readers store what the file says.
 */
typedef struct profconv_mapping {
    uint64_t start;             /* lowest address of the mapping, in the coordinates of its locations */
    uint64_t limit;             /* one past the highest; 0: unknown */
    uint64_t file_offset;       /* offset in the file of the byte at `start` */
    uint64_t reference_address; /* kernel: run-time address of the symbol `reference`; 0: unknown */
    profconv_id file;           /* string: path or bracketed name as recorded */
    profconv_id build_id;       /* string: lower-case hexadecimal, unpadded; 0: unknown */
    profconv_id reference;      /* string: kernel's reference symbol ("_text", "_stext"); 0: none */
    uint32_t kind;              /* profconv_mapping_kind */
    uint32_t flags;             /* PROFCONV_MAPPING_* bits */
    uint32_t pid;               /* JIT and ANONYMOUS: the process whose addresses these are; 0: any */
} profconv_mapping;

enum {
    PROFCONV_LOCATION_FOLDED = 1 << 0,     /* several symbols share the address (identical code folding) */
    PROFCONV_LOCATION_KERNEL = 1 << 1,     /* kernel mode, also where no mapping says so */
    PROFCONV_LOCATION_GUEST = 1 << 2,      /* inside a virtual machine */
    PROFCONV_LOCATION_NO_SYMBOL = 1 << 3   /* symbolization looked and found nothing: do not look again */
};

/** An instruction address, or, without one, the frames `lines`. */
typedef struct profconv_location {
    uint64_t address;       /* inside the mapping; caller frames hold the return address - 1 */
    profconv_id mapping;    /* 0: none */
    profconv_id first_line; /* run in the line table, innermost inlined frame first */
    uint32_t line_count;    /* 0: not symbolized */
    uint32_t flags;         /* PROFCONV_LOCATION_* bits */
} profconv_location;

typedef struct profconv_line {
    int64_t line;           /* 0: unknown */
    int64_t column;         /* 0: unknown */
    profconv_id function;   /* 0 only where a source gives a line without a function */
    uint32_t discriminator; /* DWARF discriminator, raw */
} profconv_line;

typedef struct profconv_function {
    int64_t start_line;       /* line of the declaration; 0: unknown */
    profconv_id name;         /* string: for people (demangled when known) */
    profconv_id linkage_name; /* string: as the linker knows it; equal to name when only one is known */
    profconv_id file;         /* string: source file */
    uint32_t reserved;
} profconv_function;

/** A node of the prefix tree of stacks: the frame `location` called from the stack `parent`.
 *  Parents precede children. A stack's id is that of its leaf node. */
typedef struct profconv_stack {
    profconv_id parent;
    profconv_id location;
} profconv_stack;

/** A label: a string value (`string` != 0, or `numeric` == 0), or a number with a unit. */
typedef struct profconv_label {
    int64_t number;
    profconv_id key;    /* string */
    profconv_id string; /* string */
    profconv_id unit;   /* string */
    uint32_t numeric;   /* nonzero: `number` and `unit` count */
} profconv_label;

/** A set of labels: a run in the list of label ids, in the order the source gave. */
typedef struct profconv_label_set {
    uint32_t first; /* index for profconv_profile_label_item */
    uint32_t count;
} profconv_label_set;

typedef enum profconv_value_role {
    PROFCONV_ROLE_VALUE = 0, /* unknown or anything else */
    PROFCONV_ROLE_COUNT,     /* number of samples */
    PROFCONV_ROLE_WEIGHT     /* events or time that the samples stand for */
} profconv_value_role;

/** A column of sample values. Columns that come from one event have the same `event`. */
typedef struct profconv_sample_type {
    int64_t period;      /* of the event, 0: unknown */
    profconv_id name;    /* string, pprof's type: "samples", "cpu", "cycles", "alloc_space" */
    profconv_id unit;    /* string: "count", "nanoseconds", "bytes" */
    profconv_id event;   /* string: the recorder's name of the event, e.g. "cycles:u"; 0: unknown */
    uint32_t role;       /* profconv_value_role */
} profconv_sample_type;

/** Taken branches from one instruction to another. */
typedef struct profconv_branch {
    uint64_t count;
    uint64_t mispredicted;
    uint64_t cycles;       /* sum of the recorded cycles; 0: none recorded */
    profconv_id from;      /* location of the branch instruction; 0: outside every mapping */
    profconv_id to;        /* location of the target; 0: outside every mapping */
} profconv_branch;

/** Code run linearly from `begin` to the branch instruction whose first byte is `end`, both inclusive. */
typedef struct profconv_range {
    uint64_t count;
    profconv_id begin;
    profconv_id end;
} profconv_range;

/** Samples whose instruction pointer was `location`, in a recording with branch records. */
typedef struct profconv_address {
    uint64_t count;
    profconv_id location;
    uint32_t reserved;
} profconv_address;

/** A function of an image, around addresses of branch records or samples: where its code begins. Filled by symbolization
 *  when a target needs it (setting symbolize.entries). */
typedef struct profconv_entry {
    uint64_t address;    /* of its first byte, in the coordinates of the mapping's locations */
    uint64_t size;       /* bytes; 0: unknown */
    profconv_id mapping;
    profconv_id name;    /* string: linkage name */
    uint32_t ordinal;    /* 0: a global or weak symbol; else local, the how-manieth of its name by address, from 1 */
    uint32_t reserved;
} profconv_entry;

enum {
    PROFCONV_SOURCE_CHECKSUM = 1 << 0,   /* `checksum` is given (pseudo probes) */
    PROFCONV_SOURCE_ATTRIBUTES = 1 << 1, /* `attributes` is given */
    PROFCONV_SOURCE_MD5_NAME = 1 << 2    /* `name` is a decimal MD5 hash, the name itself being unknown */
};

/** A function in a source profile: a top-level one (parent 0), or one inlined at (line, discriminator) of `parent`. */
typedef struct profconv_source {
    uint64_t total;
    uint64_t head;              /* entries; top level only */
    uint64_t checksum;          /* CFG checksum, with PROFCONV_SOURCE_CHECKSUM */
    uint64_t timestamp;         /* first sample, GCC version 3 profiles; 0: none */
    profconv_id name;           /* string: linkage name */
    profconv_id parent;         /* source row, or 0 */
    profconv_id context;        /* context row, or 0: callers, of context-sensitive profiles */
    profconv_id file;           /* string, GCC version 3 profiles; 0: none */
    uint32_t line;              /* call site in the parent: line - start line of the parent, or probe id */
    uint32_t discriminator;
    uint32_t attributes;        /* LLVM's bits: 1 inlined, 2 should be inlined, 4 duplicated into base */
    uint32_t flags;             /* PROFCONV_SOURCE_* bits */
} profconv_source;

/** A caller frame of a context-sensitive profile: `name` called at (line, discriminator) from `parent`'s frame.
 *  A top-level source row's context is its innermost caller. */
typedef struct profconv_context {
    profconv_id parent; /* context row, or 0: outermost */
    profconv_id name;   /* string */
    uint32_t line;      /* of the call inside `name` */
    uint32_t discriminator;
} profconv_context;

typedef struct profconv_source_body {
    uint64_t count;
    profconv_id source;     /* source row it belongs to */
    uint32_t line;          /* line - start line, or probe id */
    uint32_t discriminator;
    uint32_t reserved;
} profconv_source_body;

typedef struct profconv_source_target {
    uint64_t count;
    profconv_id body;   /* source_body row: the call site */
    profconv_id name;   /* string: linkage name of the callee */
} profconv_source_target;

/** Flags of the source profile as a whole. */
enum {
    PROFCONV_SOURCES_CONTEXT = 1 << 0,    /* context sensitive */
    PROFCONV_SOURCES_PREINLINED = 1 << 1,
    PROFCONV_SOURCES_FS = 1 << 2,         /* flow-sensitive discriminators */
    PROFCONV_SOURCES_PROBES = 1 << 3,     /* lines are pseudo-probe ids */
    PROFCONV_SOURCES_MD5 = 1 << 4,        /* names are MD5 hashes */
    PROFCONV_SOURCES_PARTIAL = 1 << 5,
    PROFCONV_SOURCES_UNIQUE_SUFFIX = 1 << 6 /* names carry .__uniq. */
};

/** What holds for the whole profile. */
typedef struct profconv_info {
    int64_t time_ns;                 /* start, UTC, nanoseconds since 1970; 0: unknown */
    int64_t duration_ns;             /* 0: unknown */
    int64_t period;                  /* between samples, in period_unit; 0: unknown */
    profconv_id period_type;         /* string */
    profconv_id period_unit;         /* string */
    profconv_id default_sample_type; /* string: a sample type's name; 0: not said */
    profconv_id drop_frames;         /* string: RE2 expressions of pprof; 0: none */
    profconv_id keep_frames;         /* string */
    profconv_id doc_url;             /* string */
    uint32_t source_flags;           /* PROFCONV_SOURCES_* bits */
    uint32_t facets;                 /* PROFCONV_FACET_* bits that are present */
} profconv_info;

typedef enum profconv_table {
    PROFCONV_TABLE_STRING = 0,
    PROFCONV_TABLE_FUNCTION,
    PROFCONV_TABLE_MAPPING,
    PROFCONV_TABLE_LOCATION,
    PROFCONV_TABLE_LINE,
    PROFCONV_TABLE_STACK,
    PROFCONV_TABLE_LABEL,
    PROFCONV_TABLE_LABEL_SET,
    PROFCONV_TABLE_SAMPLE_TYPE,
    PROFCONV_TABLE_SAMPLE,
    PROFCONV_TABLE_BRANCH,
    PROFCONV_TABLE_RANGE,
    PROFCONV_TABLE_ADDRESS,
    PROFCONV_TABLE_SOURCE,
    PROFCONV_TABLE_CONTEXT,
    PROFCONV_TABLE_SOURCE_BODY,
    PROFCONV_TABLE_SOURCE_TARGET,
    PROFCONV_TABLE_SYMBOL,  /* symbols known to the profiled binary (LLVM symbol list) */
    PROFCONV_TABLE_COMMENT,
    PROFCONV_TABLE_ATTRIBUTE,
    PROFCONV_TABLE_ENTRY,
    PROFCONV_TABLE_COUNT_
} profconv_table;

/** Rows of a table, the none row 0 included, for tables that have one: STRING, FUNCTION, MAPPING, LOCATION, LINE, STACK,
 *  LABEL, LABEL_SET, SOURCE, CONTEXT, SOURCE_BODY, SOURCE_TARGET. The others start at row 0 with their first entry:
 *  SAMPLE_TYPE, SAMPLE, BRANCH, RANGE, ADDRESS, SYMBOL, COMMENT, ATTRIBUTE, ENTRY. */
PROFCONV_API uint32_t profconv_profile_rows(const profconv_profile *profile, profconv_table table);

PROFCONV_API const profconv_info *profconv_profile_info(const profconv_profile *profile);
PROFCONV_API uint32_t profconv_profile_facets(const profconv_profile *profile);
/** Nonzero when function, mapping, location and sample rows are those of a source whose order and duplicates were kept
 *  (profconv_builder_verbatim): rows that nothing refers to belong to it too. */
PROFCONV_API int profconv_profile_verbatim(const profconv_profile *profile);
/** The allocator that made the profile, for what a writer holds beside it; never NULL. Borrowed from the profile. */
PROFCONV_API const profconv_allocator *profconv_profile_allocator(const profconv_profile *profile);
PROFCONV_API profconv_string profconv_profile_string(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_function *profconv_profile_function(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_mapping *profconv_profile_mapping(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_location *profconv_profile_location(const profconv_profile *profile, profconv_id id);
/** Line `index` (0 = innermost) of a location; the zero row past its end. */
PROFCONV_API const profconv_line *profconv_profile_line(const profconv_profile *profile, profconv_id location,
                                                        uint32_t index);
PROFCONV_API const profconv_stack *profconv_profile_stack(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_label *profconv_profile_label(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_label_set *profconv_profile_label_set(const profconv_profile *profile, profconv_id id);
/** The label id at a position of the list that label sets point into. */
PROFCONV_API profconv_id profconv_profile_label_item(const profconv_profile *profile, uint32_t position);
/** First label of the set whose key equals `key` (bytes), or NULL. */
PROFCONV_API const profconv_label *profconv_profile_find_label(const profconv_profile *profile, profconv_id label_set,
                                                               const char *key);
PROFCONV_API const profconv_sample_type *profconv_profile_sample_type(const profconv_profile *profile, uint32_t index);
/** Index of the sample type to show when none is asked for: the default one by name, else the last WEIGHT, else the last. */
PROFCONV_API uint32_t profconv_profile_default_sample_type(const profconv_profile *profile);
PROFCONV_API profconv_id profconv_profile_sample_stack(const profconv_profile *profile, uint32_t sample);
PROFCONV_API profconv_id profconv_profile_sample_label_set(const profconv_profile *profile, uint32_t sample);
PROFCONV_API int64_t profconv_profile_sample_value(const profconv_profile *profile, uint32_t sample, uint32_t type);
/** Sum of a column, saturating. */
PROFCONV_API int64_t profconv_profile_total(const profconv_profile *profile, uint32_t type);
PROFCONV_API const profconv_branch *profconv_profile_branch(const profconv_profile *profile, uint32_t index);
PROFCONV_API const profconv_range *profconv_profile_range(const profconv_profile *profile, uint32_t index);
PROFCONV_API const profconv_address *profconv_profile_address(const profconv_profile *profile, uint32_t index);
PROFCONV_API const profconv_entry *profconv_profile_entry(const profconv_profile *profile, uint32_t index);
PROFCONV_API const profconv_source *profconv_profile_source(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_context *profconv_profile_context(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_source_body *profconv_profile_source_body(const profconv_profile *profile, profconv_id id);
PROFCONV_API const profconv_source_target *profconv_profile_source_target(const profconv_profile *profile,
                                                                          profconv_id id);
/** String id of entry `index`. */
PROFCONV_API profconv_id profconv_profile_symbol(const profconv_profile *profile, uint32_t index);
PROFCONV_API profconv_id profconv_profile_comment(const profconv_profile *profile, uint32_t index);
/** Facts about the recording, by key: "hostname", "os-release", "arch", "cpu", "recorder-version", "command-line", ... */
PROFCONV_API int profconv_profile_attribute(const profconv_profile *profile, uint32_t index, profconv_string *key,
                                            profconv_string *value);
/** Value of the attribute `key`, or an empty string. */
PROFCONV_API profconv_string profconv_profile_find_attribute(const profconv_profile *profile, const char *key);
/** What the reader and the passes noted: warnings, drops. Borrowed. */
PROFCONV_API const profconv_report *profconv_profile_report(const profconv_profile *profile);

/* ---- columns: whole tables for bindings, without a call per row ---- */

typedef enum profconv_column_type {
    PROFCONV_COLUMN_U32 = 1,
    PROFCONV_COLUMN_I64,
    PROFCONV_COLUMN_U64
} profconv_column_type;

/** A member of every row of a table: element i is at data + i * stride. Borrowed from the profile. */
typedef struct profconv_column {
    const void *data;
    size_t count;
    size_t stride;  /* bytes */
    uint32_t type;  /* profconv_column_type */
    uint32_t reserved;
} profconv_column;

/**
 * The column `name` of `table`: the member's name as in the row structs above ("address", "mapping", …); for
 * PROFCONV_TABLE_SAMPLE "stack", "label_set" and "value" with `index` the sample type; for
 * PROFCONV_TABLE_LABEL_SET also "items" (the list of label ids); STRING has "size", SYMBOL "name", COMMENT "text",
 * ATTRIBUTE "key" and "value". `index` is 0 elsewhere.
 * PROFCONV_E_NOT_FOUND when there is no such column.
 */
PROFCONV_API int profconv_profile_column(const profconv_profile *profile, profconv_table table, const char *name,
                                         uint32_t index, profconv_column *out);

/** Checks every invariant (ids in range, parents before children, runs inside their tables, facets honest).
 *  Cheap enough to run after each read of untrusted input. PROFCONV_E_INTERNAL names the first violation. */
PROFCONV_API int profconv_profile_check(const profconv_profile *profile, profconv_error *error);

PROFCONV_API void profconv_profile_free(profconv_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
