/* SPDX-License-Identifier: MIT
 *
 * profconv/base.h - ids, status codes, errors, allocation, limits and settings.
 *
 * Conventions that hold for every header:
 *
 *  - Handles are opaque. A constructor takes the place for the new handle first, returns a status, and
 *    leaves NULL in that place on failure. `_free(NULL)` does nothing.
 *  - A function that can fail returns an int: PROFCONV_OK (0) or a negative PROFCONV_E_* status. Where a
 *    `profconv_error *` is taken it may be NULL; otherwise it is filled on failure and left alone on success.
 *  - Structs that the caller fills start with `struct_size`, set to sizeof of that struct; zero in any
 *    other member means the documented default. A library older than the caller refuses a struct whose
 *    unknown tail is not zero (PROFCONV_E_INVALID) instead of ignoring what was asked.
 *  - Strings are bytes, not necessarily UTF-8. Where a `profconv_string` is returned, it is NUL-terminated
 *    for convenience, but it can contain NUL bytes: `size` counts.
 *  - Threads: distinct objects can be used by distinct threads at once. One object may be used by one
 *    thread at a time, except a frozen profile and a registry after set-up, which any number of threads
 *    may read at once. The library has no global state, writes to no standard stream, reads no
 *    environment variable and never aborts.
 */
#ifndef PROFCONV_BASE_H
#define PROFCONV_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define PROFCONV_API
#elif defined(__GNUC__)
#define PROFCONV_API __attribute__((visibility("default")))
#else
#define PROFCONV_API
#endif

#if defined(__GNUC__)
#define PROFCONV_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define PROFCONV_PRINTF(f, a)
#endif

#define PROFCONV_VERSION_MAJOR 0
#define PROFCONV_VERSION_MINOR 1
#define PROFCONV_VERSION_PATCH 0

/** Version of the library that is linked, e.g. "0.1.0". Static storage. */
PROFCONV_API const char *profconv_version(void);

/** Index of a row in one of a profile's tables. Row 0 of every table is the "none" row. */
typedef uint32_t profconv_id;

/** Bytes owned by the object they were borrowed from. `data` is never NULL and data[size] is NUL. */
typedef struct profconv_string {
    const char *data;
    size_t size;
} profconv_string;

/** Status of a call. Each constant says who returns it and what the caller may do. */
enum {
    PROFCONV_OK = 0,
    /** Any call: the allocator returned NULL, or the system is out of memory. */
    PROFCONV_E_NOMEM = -1,
    /** Any call: a limit of profconv_limits was reached (the message names it). Raise it and try again. */
    PROFCONV_E_LIMIT = -2,
    /** Any call: an argument is not acceptable (unknown setting, bad value, id out of range). A caller's error. */
    PROFCONV_E_INVALID = -3,
    /** Inputs and outputs: the system refused a read, write, open or rename; system_errno is set. */
    PROFCONV_E_IO = -4,
    /** Readers: the bytes are not a valid file of the format; offset or line says where. */
    PROFCONV_E_FORMAT = -5,
    /** Readers: valid, but of a kind that is not supported (the message says which). */
    PROFCONV_E_UNSUPPORTED = -6,
    /** Detection: no registered reader recognises the input. Name the format. */
    PROFCONV_E_UNKNOWN_FORMAT = -7,
    /** Conversion: nothing was left to write. The message names the cause. No output was made. */
    PROFCONV_E_EMPTY = -8,
    /** Conversion: the target needs a facet that the source lacks and no pass can add. */
    PROFCONV_E_MISSING_FACET = -9,
    /** Lookups by name: there is no such thing (format, setting, sample type). */
    PROFCONV_E_NOT_FOUND = -10,
    /** A callback supplied by the caller failed with this status or a positive value. */
    PROFCONV_E_CALLBACK = -11,
    /** A defect of the library (an invariant did not hold). Please report it. */
    PROFCONV_E_INTERNAL = -12
};

/** Short English name of a status, e.g. "out of memory". Static storage; never NULL. */
PROFCONV_API const char *profconv_status_string(int status);

#define PROFCONV_NO_OFFSET UINT64_MAX

/**
 * What went wrong, in a place owned by the caller. Zero-initialise it or not: it is written whole.
 * `message` is one line without a trailing newline: what was found and what was expected, including the
 * place ("offset 0x1f30: MMAP2 record of 24 bytes, at least 72 needed").
 */
typedef struct profconv_error {
    int status;
    int system_errno;   /* 0, or the errno of the failed system call */
    uint64_t offset;    /* byte offset in the (inflated) input, or PROFCONV_NO_OFFSET */
    uint64_t line;      /* 1-based line of a text input, or 0 */
    char format[32];    /* name of the format that failed, or "" */
    char message[472];
} profconv_error;

/**
 * Fills `error` (may be NULL) and returns `status`, so that `return profconv_error_set(...)` works.
 * For authors of formats and callbacks. `offset`: PROFCONV_NO_OFFSET when there is none; `line`: 0.
 */
PROFCONV_API int profconv_error_set(profconv_error *error, int status, uint64_t offset, uint64_t line,
                                    const char *format, ...) PROFCONV_PRINTF(5, 6);

/**
 * One function that allocates (p NULL, old_size 0), resizes, and frees (new_size 0, returns NULL).
 * `old_size` is always what was asked for before, so accounting can be exact. The block is aligned as
 * malloc's. It may be called from any thread that uses an object made with it. NULL for new_size > 0
 * means failure and leaves the old block as it was.
 *
 * Where none is given, blocks come from malloc, and on Linux those of 1.5 MiB and more from mmap, with huge pages where the
 * system has them (MADV_HUGEPAGE). A program that wants all of them from its malloc gives an allocator that calls realloc and
 * free.
 */
typedef struct profconv_allocator {
    size_t struct_size;
    void *(*resize)(void *user, void *p, size_t old_size, size_t new_size);
    void *user;
} profconv_allocator;

/** What happens when stacks do not fit max_memory (profconv_limits.on_limit). */
enum {
    PROFCONV_ON_LIMIT_FAIL = 0, /* PROFCONV_E_LIMIT; the message says what is in use and what was needed */
    /** A reader's samples are charged to the deepest part of their stack, from the root, that was kept; every sum stays what it
     *  is. Stacks may take half of max_memory, so that passes and writers have room. A WARNING "stack-shortened" of the profile's
     *  report counts the samples and their weight. What is no stack (strings, locations, labels) can still reach the limit. */
    PROFCONV_ON_LIMIT_TRUNCATE = 1
};

/** Bounds on what one conversion may use. Zero in a member means its default. */
typedef struct profconv_limits {
    size_t struct_size;
    /** Bytes that a conversion holds at a time: the profile, its reader, passes and writer, the buffers of inputs and output, and
     *  what elfutils holds of binaries, estimated. With the library's own allocator the process stays within it by a few percent,
     *  its own code and stacks aside. A profile that was read keeps the bound, for all that is made from it. Default: no bound. */
    uint64_t max_memory;
    uint64_t max_inflated;      /* bytes an input may inflate to; default 64 GiB */
    uint32_t max_inflate_ratio; /* inflated / compressed, tested past 16 MiB of output; default 2000 */
    uint32_t max_depth;         /* frames in one stack; deeper stacks lose root frames, counted; default 16384 */
    uint32_t max_string;        /* bytes in one string; longer ones are an error; default 16 MiB */
    uint32_t on_limit;          /* PROFCONV_ON_LIMIT_*: when stacks do not fit max_memory; default: fail */
} profconv_limits;

/* ---- settings: "format.key=value" strings, the same in C, Python and the command ---- */

typedef enum profconv_setting_type {
    PROFCONV_SETTING_BOOL = 1,  /* yes/no, true/false, on/off, 1/0 */
    PROFCONV_SETTING_INT,       /* decimal or 0x hexadecimal, signed 64 bit */
    PROFCONV_SETTING_FLOAT,
    PROFCONV_SETTING_STRING,
    PROFCONV_SETTING_ENUM,      /* one of `choices` ("a|b|c") */
    PROFCONV_SETTING_LIST       /* may be given several times; values keep their order */
} profconv_setting_type;

/** Declared by a format or pass; an array of them ends with a row whose name is NULL. */
typedef struct profconv_setting {
    const char *name;           /* "event" */
    profconv_setting_type type;
    const char *default_value;  /* as text; NULL: not set */
    const char *choices;        /* PROFCONV_SETTING_ENUM: "a|b|c" */
    const char *help;           /* one line, starts lower-case, no full stop */
} profconv_setting;

/** A bag of settings. Names are checked against the declarations when a conversion uses them. */
typedef struct profconv_options profconv_options;

PROFCONV_API int profconv_options_new(profconv_options **out, const profconv_allocator *allocator,
                                      profconv_error *error);
PROFCONV_API void profconv_options_free(profconv_options *options);
/** Adds "scope.key=value", e.g. "perf-data.event=cycles". A later value replaces an earlier one, but for lists. */
PROFCONV_API int profconv_options_set(profconv_options *options, const char *assignment, profconv_error *error);
/** The same from its parts. */
PROFCONV_API int profconv_options_put(profconv_options *options, const char *scope, const char *key,
                                      const char *value, profconv_error *error);
/** Nonzero when scope.key was set (not counting defaults). `options` may be NULL. */
PROFCONV_API int profconv_options_has(const profconv_options *options, const char *scope, const char *key);
/** The last value set, or NULL. Borrowed until the options change. `options` may be NULL. */
PROFCONV_API const char *profconv_options_get(const profconv_options *options, const char *scope, const char *key);
/** Value `index` of a list setting, or NULL past the last one. */
PROFCONV_API const char *profconv_options_item(const profconv_options *options, const char *scope,
                                               const char *key, size_t index);
/**
 * Checks every setting of `scope` against `declared`: an unknown name, a value of the wrong type or not
 * among the choices is PROFCONV_E_INVALID with the valid names in the message.
 */
PROFCONV_API int profconv_options_check(const profconv_options *options, const char *scope,
                                        const profconv_setting *declared, profconv_error *error);
/** Typed look-ups, after a check: the value set, else the declared default, else 0 / NULL. */
PROFCONV_API int profconv_options_bool(const profconv_options *options, const char *scope,
                                       const profconv_setting *declared, const char *key);
PROFCONV_API int64_t profconv_options_int(const profconv_options *options, const char *scope,
                                          const profconv_setting *declared, const char *key);
PROFCONV_API double profconv_options_float(const profconv_options *options, const char *scope,
                                           const profconv_setting *declared, const char *key);
PROFCONV_API const char *profconv_options_string(const profconv_options *options, const char *scope,
                                                 const profconv_setting *declared, const char *key);

/* ---- reports: what a conversion lost, and what it warned about ---- */

typedef enum profconv_note_kind {
    PROFCONV_NOTE_INFO = 1,     /* worth knowing with -v */
    PROFCONV_NOTE_WARNING,      /* the result is usable, but something was wrong or missing */
    PROFCONV_NOTE_DROPPED,      /* samples (or records) that could not be used; count and weight are sums */
    PROFCONV_NOTE_LOST          /* information that the source has and the target cannot hold */
} profconv_note_kind;

/** One row of a report. Rows with equal kind and cause are added up; the first message is kept. */
typedef struct profconv_note {
    profconv_note_kind kind;
    const char *cause;          /* stable short key, e.g. "unmapped-address" */
    const char *message;        /* first message of this cause */
    uint64_t count;             /* how many times */
    int64_t weight;             /* of the samples that were dropped, shortened or, for an INFO note, filtered out; else 0 */
    uint64_t offset;            /* of the first one, or PROFCONV_NO_OFFSET */
    uint64_t line;              /* of the first one, or 0 */
} profconv_note;

typedef struct profconv_report profconv_report;

PROFCONV_API int profconv_report_new(profconv_report **out, const profconv_allocator *allocator,
                                     profconv_error *error);
PROFCONV_API void profconv_report_free(profconv_report *report);
/** Adds to the row (kind, cause). `report` may be NULL (nothing happens). Never fails: a row that cannot be
 *  stored for want of memory is counted in profconv_report_overflow. */
PROFCONV_API void profconv_report_add(profconv_report *report, profconv_note_kind kind, const char *cause,
                                      uint64_t count, int64_t weight, uint64_t offset, uint64_t line,
                                      const char *format, ...) PROFCONV_PRINTF(8, 9);
PROFCONV_API size_t profconv_report_count(const profconv_report *report);
/** Row `index` (below the count); borrowed until the report changes. */
PROFCONV_API int profconv_report_get(const profconv_report *report, size_t index, profconv_note *out);
/** Notes that could not be stored. */
PROFCONV_API uint64_t profconv_report_overflow(const profconv_report *report);

#ifdef __cplusplus
}
#endif
#endif
