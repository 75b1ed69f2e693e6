/* SPDX-License-Identifier: MIT
 *
 * See run.h. The sink keeps what it gets, so that a run can be compared with another one byte by byte.
 */
#include "tests/support/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream {
    test_run *run;
    size_t at;
} stream;

static int give(test_run *run, uint64_t offset, void *buffer, size_t size, size_t *got) {
    *got = 0;
    if (run->interrupted && (run->interruptions = !run->interruptions))
        return EINTR;
    if (++run->reads >= run->read_fails_at && run->read_fails_at) { /* broken for good */
        run->read_failed = 1;
        return EIO;
    }
    if (offset >= run->size)
        return 0;
    if (run->piece && size > run->piece)
        size = run->piece;
    if (run->ragged) { /* xorshift64 */
        run->ragged ^= run->ragged << 13;
        run->ragged ^= run->ragged >> 7;
        run->ragged ^= run->ragged << 17;
        size_t most = (size_t)1 << (run->ragged >> 8) % 14;
        size = size > most ? most : size;
    }
    if (size > run->size - (size_t)offset)
        size = run->size - (size_t)offset;
    memcpy(buffer, (const unsigned char *)run->data + offset, size);
    *got = size;
    return 0;
}

static int stream_read(void *user, void *buffer, size_t size, size_t *got) {
    stream *s = user;
    int status = give(s->run, s->at, buffer, size, got);
    s->at += *got;
    return status;
}

static int stream_read_at(void *user, uint64_t offset, void *buffer, size_t size, size_t *got) {
    return give(((stream *)user)->run, offset, buffer, size, got);
}

static uint64_t stream_size(void *user) { return ((stream *)user)->run->size; }

static int sink_write(void *user, const void *data, size_t size) {
    test_run *run = user;
    if (++run->writes == run->write_fails_at) {
        run->write_failed = 1;
        return ENOSPC;
    }
    unsigned char *bytes = realloc(run->bytes, run->bytes_size + size + 1);
    if (!bytes)
        return ENOMEM;
    memcpy(bytes + run->bytes_size, data, size);
    run->bytes = bytes;
    run->bytes_size += size;
    bytes[run->bytes_size] = 0;
    return 0;
}

static int sink_close(void *user, int committed) {
    test_run *run = user;
    run->closed++;
    run->committed = committed;
    return 0;
}

static int open_input(test_run *run, stream *s, const profconv_io_options *io, profconv_input **input) {
    if (run->source == TEST_SOURCE_MEMORY)
        return profconv_input_open_memory(input, run->data, run->size, io, &run->error);
    profconv_input_callbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.read = stream_read;
    callbacks.user = s;
    if (run->source == TEST_SOURCE_SEEKABLE) {
        callbacks.read_at = stream_read_at;
        callbacks.size = stream_size;
    }
    return profconv_input_open_callbacks(input, &callbacks, "<test>", io, &run->error);
}

static int open_output(test_run *run, const profconv_io_options *io, profconv_output **output) {
    if (run->output_path)
        return profconv_output_open_path(output, run->output_path, io, &run->error);
    if (run->output_fd)
        return profconv_output_open_fd(output, run->output_fd, "<test>", io, &run->error);
    profconv_output_callbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.write = sink_write;
    callbacks.close = sink_close;
    callbacks.user = run;
    return profconv_output_open_callbacks(output, &callbacks, "<test>", io, &run->error);
}

static int read_and_dump(test_run *run, profconv_input *input, profconv_output *output,
                         const profconv_convert_options *options) {
    profconv_profile *profile = NULL;
    int status = profconv_read(run->registry, input, options, &profile, &run->error);
    for (size_t i = 0; profile && i < profconv_report_count(profconv_profile_report(profile)); i++) {
        profconv_note note;
        (void)profconv_report_get(profconv_profile_report(profile), i, &note);
        run->warnings += note.kind != PROFCONV_NOTE_INFO;
    }
    if (status == PROFCONV_OK)
        status = profconv_profile_check(profile, &run->error);
    if (status == PROFCONV_OK)
        status = profconv_dump(profile, output, &run->error);
    if (status == PROFCONV_OK)
        status = profconv_output_close(output, &run->error);
    profconv_profile_free(profile);
    return status;
}

/* Some passes only run when they are told what to do, and have no switch. */
static int has_switch(const char *pass) {
    const profconv_setting *declared = NULL;
    const char *scope = NULL;
    for (size_t i = 0; (scope = profconv_pass_name(i, &declared)) != NULL; i++) {
        for (; strcmp(scope, "convert") == 0 && declared && declared->name; declared++) {
            if (strcmp(declared->name, pass) == 0)
                return 1;
        }
    }
    return 0;
}

/* The passes' switches, all off. */
static int no_passes(profconv_options *settings, profconv_error *error) {
    int status = PROFCONV_OK;
    const char *pass = NULL;
    for (size_t i = 0; status == PROFCONV_OK && (pass = profconv_pass_name(i, NULL)) != NULL; i++) {
        if (has_switch(pass))
            status = profconv_options_put(settings, "convert", pass, "no", error);
    }
    return status;
}

void test_run_do(test_run *run) {
    profconv_convert_options options;
    profconv_io_options io;
    profconv_limits limits;
    stream s = {run, 0};
    profconv_convert_input input = {NULL, 0};
    profconv_output *output = NULL;
    profconv_options *settings = NULL;
    profconv_report *report = NULL;
    const profconv_allocator *allocator = run->heap ? &run->heap->allocator : NULL;
    memset(&options, 0, sizeof options);
    memset(&io, 0, sizeof io);
    memset(&limits, 0, sizeof limits);
    memset(&run->error, 0, sizeof run->error);
    io.struct_size = sizeof io;
    io.allocator = allocator;
    limits.struct_size = sizeof limits;
    limits.max_memory = run->max_memory;
    options.struct_size = sizeof options;
    options.allocator = allocator;
    options.limits = &limits;
    options.from = run->from;
    options.to = run->to;
    run->status = profconv_options_new(&settings, allocator, &run->error);
    if (run->status == PROFCONV_OK)
        run->status = no_passes(settings, &run->error);
    options.settings = settings;
    if (run->status == PROFCONV_OK)
        run->status = profconv_report_new(&report, allocator, &run->error);
    if (run->status == PROFCONV_OK)
        run->status = open_input(run, &s, &io, &input.input);
    if (run->status == PROFCONV_OK)
        run->status = open_output(run, &io, &output);
    if (run->status == PROFCONV_OK && run->to)
        run->status = profconv_convert(run->registry, &input, 1, output, &options, report, &run->error);
    else if (run->status == PROFCONV_OK)
        run->status = read_and_dump(run, input.input, output, &options);
    profconv_output_free(output);
    profconv_input_free(input.input);
    profconv_report_free(report);
    profconv_options_free(settings);
}

void test_run_free(test_run *run) {
    free(run->bytes);
    run->bytes = NULL;
    run->bytes_size = 0;
}
