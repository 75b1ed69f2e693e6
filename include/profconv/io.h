/* SPDX-License-Identifier: MIT
 *
 * profconv/io.h - where bytes come from and go to.
 *
 * An input is a forward window over bytes, with random access where the source has it. gzip (one or more
 * members, and RFC 1950 zlib streams are not taken for gzip) is recognised by content and inflated below
 * every reader, so offsets are offsets in the inflated bytes.
 *
 * An output appears whole or not at all: a file output writes to a temporary file in the same directory and
 * renames it in profconv_output_close; profconv_output_free without a successful close removes it.
 */
#ifndef PROFCONV_IO_H
#define PROFCONV_IO_H

#include <profconv/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct profconv_input profconv_input;
typedef struct profconv_output profconv_output;

/** How an input or output is made. Zero-initialise, set struct_size. A NULL pointer means all defaults. */
typedef struct profconv_io_options {
    size_t struct_size;
    const profconv_allocator *allocator; /* NULL: the library's own */
    const profconv_limits *limits;       /* max_inflated and max_inflate_ratio are used here */
    int raw;                             /* inputs: nonzero hands out gzip bytes as they are */
    int reserved;
} profconv_io_options;

/** Source of bytes supplied by the caller. */
typedef struct profconv_input_callbacks {
    size_t struct_size;
    /** Reads up to `size` > 0 bytes into `buffer`; *got = 0 means the end. Returns 0, or a positive errno value or a
     *  negative PROFCONV_E_* status; a positive one comes out as PROFCONV_E_CALLBACK with system_errno set, EINTR is
     *  tried again. Short reads are fine. May be NULL when read_at is there, which is then used for everything. */
    int (*read)(void *user, void *buffer, size_t size, size_t *got);
    /** Optional (NULL: forward only): reads at an absolute offset, else as `read`. */
    int (*read_at)(void *user, uint64_t offset, void *buffer, size_t size, size_t *got);
    /** Optional: total size in bytes, or UINT64_MAX when unknown. Used only with read_at. */
    uint64_t (*size)(void *user);
    /** Optional: called once when the input is freed; not when opening fails. */
    void (*close)(void *user);
    void *user;
} profconv_input_callbacks;

/** Opens a file, pipe, device, or a directory (formats that are directories read their parts through
 *  profconv_input_open_part; the window of a directory is that of its member "data"). "-" is not special here. */
PROFCONV_API int profconv_input_open_path(profconv_input **out, const char *path, const profconv_io_options *options,
                                          profconv_error *error);
/** Reads from a descriptor, from its present position; never closes it. */
PROFCONV_API int profconv_input_open_fd(profconv_input **out, int fd, const char *name,
                                        const profconv_io_options *options, profconv_error *error);
/** Reads from memory, which is borrowed and must stay unchanged until the input is freed. */
PROFCONV_API int profconv_input_open_memory(profconv_input **out, const void *data, size_t size,
                                            const profconv_io_options *options, profconv_error *error);
PROFCONV_API int profconv_input_open_callbacks(profconv_input **out, const profconv_input_callbacks *callbacks,
                                               const char *name, const profconv_io_options *options,
                                               profconv_error *error);
PROFCONV_API void profconv_input_free(profconv_input *input);

/** Name for messages: the path, or what was given, or "<memory>". Borrowed from the input. */
PROFCONV_API const char *profconv_input_name(const profconv_input *input);
/** The path when the input was opened from one, else NULL. */
PROFCONV_API const char *profconv_input_path(const profconv_input *input);
/** Nonzero when the input is a directory (its window is that of the member "data"). */
PROFCONV_API int profconv_input_is_directory(const profconv_input *input);
/** Opens member `name` (no '/' in it) of a directory input. PROFCONV_E_NOT_FOUND when there is none. */
PROFCONV_API int profconv_input_open_part(profconv_input *input, const char *name, profconv_input **out,
                                          profconv_error *error);

/** Position of the window in the inflated bytes. */
PROFCONV_API uint64_t profconv_input_offset(const profconv_input *input);
/** Size of the inflated bytes, or UINT64_MAX while unknown (pipes, gzip before its end). */
PROFCONV_API uint64_t profconv_input_size(const profconv_input *input);
/** Bytes consumed from the underlying source so far, and its size (UINT64_MAX unknown): for progress. */
PROFCONV_API void profconv_input_progress(const profconv_input *input, uint64_t *done, uint64_t *total);

/**
 * Makes at least `want` bytes visible at the present position without consuming them. *data is borrowed until
 * the next call on this input; *got is what is visible: less than `want` only at the end of the input, and
 * usually more (up to the buffer's size). want may be 0 (whatever is there, at least 1 byte unless at the end).
 * `want` above 256 MiB is refused with PROFCONV_E_LIMIT.
 *
 * When the source fails on the way (read error, damaged or short gzip stream, limit), what came before is still
 * delivered, by windows shorter than wanted; the window after that has nothing to show and returns the error. So a
 * short window is the end of the input only if the next one, after consuming it, is empty without an error.
 */
PROFCONV_API int profconv_input_window(profconv_input *input, size_t want, const uint8_t **data, size_t *got,
                                       profconv_error *error);
/** Moves the position forward over bytes that the last window showed. count <= *got of that window. */
PROFCONV_API void profconv_input_consume(profconv_input *input, size_t count);
/** Moves forward over any number of bytes, seeking where it can; past the end: *skipped < count, no error. */
PROFCONV_API int profconv_input_skip(profconv_input *input, uint64_t count, uint64_t *skipped, profconv_error *error);
/** Nonzero when profconv_input_read_at works. */
PROFCONV_API int profconv_input_can_seek(const profconv_input *input);
/** Reads at an absolute (inflated) offset without moving the window; *got < size only at the end.
 *  PROFCONV_E_UNSUPPORTED when the input cannot seek. */
PROFCONV_API int profconv_input_read_at(profconv_input *input, uint64_t offset, void *buffer, size_t size,
                                        size_t *got, profconv_error *error);
/** Moves the window to an absolute offset, or to the end when that is before it. Forward always works; backward needs
 *  can_seek. */
PROFCONV_API int profconv_input_seek(profconv_input *input, uint64_t offset, profconv_error *error);

/** Sink supplied by the caller. */
typedef struct profconv_output_callbacks {
    size_t struct_size;
    /** Takes all `size` bytes or fails: 0, or a positive errno value or a negative PROFCONV_E_* status. */
    int (*write)(void *user, const void *data, size_t size);
    /** Optional: `committed` is nonzero after a successful close, zero when the output was given up. Its
     *  status is that of profconv_output_close when committed. Called once. */
    int (*close)(void *user, int committed);
    void *user;
} profconv_output_callbacks;

/** Creates (or, at close, replaces) the file at `path`. When `path` exists and is not a regular file
 *  (/dev/stdout, a FIFO), it is written directly. */
PROFCONV_API int profconv_output_open_path(profconv_output **out, const char *path, const profconv_io_options *options,
                                           profconv_error *error);
/** Writes to a descriptor and never closes it. Everything is held back (in memory, then in an unlinked temporary
 *  file) until profconv_output_close, so that a failed conversion leaves nothing half-written there. */
PROFCONV_API int profconv_output_open_fd(profconv_output **out, int fd, const char *name,
                                         const profconv_io_options *options, profconv_error *error);
/** Collects bytes; take them with profconv_output_bytes after a successful close. */
PROFCONV_API int profconv_output_open_memory(profconv_output **out, const profconv_io_options *options,
                                             profconv_error *error);
PROFCONV_API int profconv_output_open_callbacks(profconv_output **out, const profconv_output_callbacks *callbacks,
                                                const char *name, const profconv_io_options *options,
                                                profconv_error *error);

/** Writes all bytes, buffered. Errors are sticky: after the first, every call returns it again. */
PROFCONV_API int profconv_output_write(profconv_output *output, const void *data, size_t size, profconv_error *error);
/** From here on, bytes are gzip-compressed at `level` (1-9; 0 = default) until close. Call before the first write. */
PROFCONV_API int profconv_output_gzip(profconv_output *output, int level, profconv_error *error);
/** Bytes given to profconv_output_write so far. */
PROFCONV_API uint64_t profconv_output_offset(const profconv_output *output);
/** Name for messages; the path for a path. */
PROFCONV_API const char *profconv_output_name(const profconv_output *output);
/** Flushes and commits. Can fail (disk full); then the target is as it was. After this only _bytes and _free are
 *  allowed. */
PROFCONV_API int profconv_output_close(profconv_output *output, profconv_error *error);
/** Memory outputs, after a successful close: the bytes, borrowed until the output is freed. */
PROFCONV_API int profconv_output_bytes(const profconv_output *output, const uint8_t **data, size_t *size);
/** Frees; gives the output up when it was not closed. */
PROFCONV_API void profconv_output_free(profconv_output *output);

#ifdef __cplusplus
}
#endif
#endif
