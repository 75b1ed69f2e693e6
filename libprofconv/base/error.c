/* SPDX-License-Identifier: MIT
 *
 * How an error is put into words: one line, whole, whatever bytes of the input went into it. Also the version and the
 * names of the status codes.
 */
#include "libprofconv/base/error.h"

#include <stdio.h>
#include <string.h>

#include "libprofconv/base/text.h"

#define PFC_STRING_(x) #x
#define PFC_STRING(x) PFC_STRING_(x)

const char *profconv_version(void) {
    return PFC_STRING(PROFCONV_VERSION_MAJOR) "." PFC_STRING(PROFCONV_VERSION_MINOR) "." PFC_STRING(
        PROFCONV_VERSION_PATCH);
}

const char *profconv_status_string(int status) {
    switch (status) {
    case PROFCONV_OK:
        return "ok";
    case PROFCONV_E_NOMEM:
        return "out of memory";
    case PROFCONV_E_LIMIT:
        return "limit reached";
    case PROFCONV_E_INVALID:
        return "invalid argument";
    case PROFCONV_E_IO:
        return "input/output error";
    case PROFCONV_E_FORMAT:
        return "malformed input";
    case PROFCONV_E_UNSUPPORTED:
        return "not supported";
    case PROFCONV_E_UNKNOWN_FORMAT:
        return "unknown format";
    case PROFCONV_E_EMPTY:
        return "nothing to write";
    case PROFCONV_E_MISSING_FACET:
        return "missing facet";
    case PROFCONV_E_NOT_FOUND:
        return "not found";
    case PROFCONV_E_CALLBACK:
        return "callback failed";
    case PROFCONV_E_INTERNAL:
        return "internal error";
    default:
        return "unknown status";
    }
}

/* Length of `text` without a UTF-8 character that lost its end. Bytes that are not UTF-8 at all are left alone. */
static size_t whole_characters(const char *text, size_t size) {
    size_t back = 0;
    while (back < 3 && back < size && ((unsigned char)text[size - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back == size)
        return size;
    unsigned lead = (unsigned char)text[size - 1 - back];
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return length > back + 1 ? size - 1 - back : size;
}

void pfc_format_line(char *out, size_t size, const char *format, va_list arguments) {
    int length = vsnprintf(out, size, format, arguments);
    if (length < 0) {
        out[0] = 0;
        return;
    }
    size_t used = (size_t)length;
    if (used >= size) {
        used = whole_characters(out, size - 1);
        out[used] = 0;
    }
    while (used > 0 && out[used - 1] == '\n')
        out[--used] = 0;
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
            out[i] = '?';
}

static void fill(profconv_error *error, int status, int system_errno, uint64_t offset, uint64_t line,
                 const char *message) {
    memset(error, 0, sizeof *error);
    error->status = status;
    error->system_errno = system_errno;
    error->offset = offset;
    error->line = line;
    memcpy(error->message, message, strlen(message)); /* shorter than the member: both have one size */
}

int profconv_error_set(profconv_error *error, int status, uint64_t offset, uint64_t line, const char *format, ...) {
    if (!error)
        return status;
    /* By way of a copy, so that an argument may be the old message of the same error. */
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    pfc_format_line(message, sizeof message, format, arguments);
    va_end(arguments);
    fill(error, status, 0, offset, line, message);
    return status;
}

const char *pfc_errno_text(int system_errno, char scratch[40]) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 32))
    /* strerror would translate into the host program's language. */
    const char *text = strerrordesc_np(system_errno);
    if (text)
        return text;
#endif
    char digits[21];
    size_t size = pfc_format_i64(digits, system_errno); /* at most 11 of them */
    memcpy(scratch, "error number ", 13);
    memcpy(scratch + 13, digits, size);
    scratch[13 + size] = 0;
    return scratch;
}

int pfc_error_system(profconv_error *error, int status, int system_errno, uint64_t offset, const char *format, ...) {
    if (!error)
        return status;
    char message[sizeof error->message], scratch[40];
    va_list arguments;
    va_start(arguments, format);
    pfc_format_line(message, sizeof message, format, arguments);
    va_end(arguments);
    /* A long name must not push the reason out. */
    const char *text = pfc_errno_text(system_errno, scratch);
    size_t text_size = strlen(text), room = sizeof message - 3 - text_size, used = strlen(message);
    if (used > room)
        used = whole_characters(message, room);
    memcpy(message + used, ": ", 2);
    memcpy(message + used + 2, text, text_size + 1);
    fill(error, status, system_errno, offset, 0, message);
    return status;
}
