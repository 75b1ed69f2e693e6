/* SPDX-License-Identifier: MIT
 *
 * Opening inputs: paths, directories and their members, descriptors, memory, callbacks.
 */
#include "libprofconv/base/budget.h"
#include "libprofconv/io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libprofconv/base/error.h"
#include "libprofconv/base/struct.h"

static int open_again(int directory, const char *path, int flags) {
    int fd;
    do
        fd = openat(directory, path, flags | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int finish(profconv_input **out, profconv_input *input, int status, profconv_error *error) {
    if (!status)
        status = pfc_input_start(input, error);
    if (status) {
        profconv_input_free(input);
        input = NULL;
    }
    *out = input;
    return status;
}

/* The member of a directory: a descriptor, or -1 with errno. Members are plain files; something else in such a place (a
 * FIFO would block for ever) is refused. */
static int open_member(int directory, const char *name) {
    int fd = open_again(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        (void)close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int profconv_input_open_path(profconv_input **out, const char *path, const profconv_io_options *options,
                             profconv_error *error) {
    profconv_input *input;
    int status = pfc_input_new(&input, path, path, options, error);
    *out = NULL;
    if (status)
        return status;
    int fd = open_again(AT_FDCWD, path, O_RDONLY | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        status = pfc_error_system(error, PROFCONV_E_IO, errno, PROFCONV_NO_OFFSET, "%s", path);
        if (fd >= 0)
            (void)close(fd);
        profconv_input_free(input);
        return status;
    }
    if (S_ISDIR(st.st_mode)) {
        input->directory = fd;
        fd = open_member(fd, "data");
        if (fd < 0)
            status = pfc_error_system(error, PROFCONV_E_IO, errno, PROFCONV_NO_OFFSET,
                                      "%s: a directory, but no recording of perf: its member \"data\" cannot be read", path);
    }
    if (!status)
        status = pfc_source_fd(&input->source, &input->mem, fd, 1, input->name, error);
    return finish(out, input, status, error);
}

int profconv_input_open_fd(profconv_input **out, int fd, const char *name, const profconv_io_options *options,
                           profconv_error *error) {
    profconv_input *input;
    int status = pfc_input_new(&input, name ? name : "<descriptor>", NULL, options, error);
    *out = NULL;
    if (status)
        return status;
    status = pfc_source_fd(&input->source, &input->mem, fd, 0, input->name, error);
    return finish(out, input, status, error);
}

int profconv_input_open_memory(profconv_input **out, const void *data, size_t size, const profconv_io_options *options,
                               profconv_error *error) {
    profconv_input *input;
    int status = pfc_input_new(&input, "<memory>", NULL, options, error);
    *out = NULL;
    if (status)
        return status;
    input->data = size ? (const uint8_t *)data : (const uint8_t *)"";
    input->end = size;
    input->size = size;
    return finish(out, input, status, error);
}

int profconv_input_open_callbacks(profconv_input **out, const profconv_input_callbacks *callbacks, const char *name,
                                  const profconv_io_options *options, profconv_error *error) {
    *out = NULL;
    profconv_input_callbacks given;
    int status = pfc_struct_copy(&given, sizeof given, callbacks, "profconv_input_callbacks", error);
    if (!status && !given.read && !given.read_at)
        status = profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                    "profconv_input_callbacks: read and read_at are NULL");
    profconv_input *input;
    if (!status)
        status = pfc_input_new(&input, name ? name : "<callbacks>", NULL, options, error);
    if (status)
        return status;
    status = pfc_source_callbacks(&input->source, &input->mem, &given, input->name, error);
    pfc_source *source = input->source;
    if (!status)
        status = pfc_input_start(input, error);
    if (status) {
        if (source)
            pfc_source_callbacks_forget(source); /* a failed start has put no filter around it */
        profconv_input_free(input);
        return status;
    }
    *out = input;
    return PROFCONV_OK;
}

int profconv_input_open_part(profconv_input *input, const char *name, profconv_input **out, profconv_error *error) {
    *out = NULL;
    if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "%s: member \"%.100s\": a name without '/' expected", input->name, name);
    if (input->directory < 0)
        return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0,
                                  "%s: member \"%.100s\" asked for, but this is no directory", input->name, name);
    int fd = open_member(input->directory, name);
    if (fd < 0)
        return pfc_error_system(error, errno == ENOENT ? PROFCONV_E_NOT_FOUND : PROFCONV_E_IO, errno,
                                PROFCONV_NO_OFFSET, "%s: member \"%.100s\"", input->name, name);
    profconv_io_options options = {sizeof options, input->allocator.resize ? &input->allocator : NULL, &input->limits,
                                   input->raw, 0};
    size_t path_size = strlen(input->path) + strlen(name) + 2;
    input->mem.failed = 0;
    char *path = (char *)pfc_alloc(&input->mem, path_size);
    profconv_input *part = NULL;
    int status;
    if (path) {
        strcpy(path, input->path);
        strcat(path, "/");
        strcat(path, name);
        status = pfc_input_new(&part, path, path, &options, error);
        pfc_free(&input->mem, path, path_size);
    } else {
        status = pfc_mem_error(&input->mem, error);
    }
    if (status) {
        (void)close(fd);
        return status;
    }
    pfc_input_set_tick(part, input->tick, input->tick_user);
    status = pfc_mem_join(&part->mem, input->mem.budget, "input", error);
    if (status) {
        (void)close(fd);
        profconv_input_free(part);
        return status;
    }
    status = pfc_source_fd(&part->source, &part->mem, fd, 1, part->name, error);
    return finish(out, part, status, error);
}

void profconv_input_free(profconv_input *input) {
    if (!input)
        return;
    if (input->source)
        input->source->free(input->source);
    if (input->directory >= 0)
        (void)close(input->directory);
    pfc_free(&input->mem, input->buffer, input->capacity);
    if (input->name)
        pfc_free(&input->mem, input->name, strlen(input->name) + 1);
    if (input->path)
        pfc_free(&input->mem, input->path, strlen(input->path) + 1);
    pfc_mem mem = input->mem;
    pfc_free(&mem, input, sizeof *input);
}
