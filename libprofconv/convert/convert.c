/* SPDX-License-Identifier: MIT
 *
 * The conversion itself: read, prepare, write, and the three in a row. Decides what happens at the seams: whose error
 * it is, which notes go where, what counts against the budget, and that an output is closed only when all went well.
 */
#include <stdio.h>
#include <string.h>

#include "libprofconv/base/budget.h"
#include "libprofconv/base/jitdump.h"
#include "libprofconv/base/struct.h"
#include "libprofconv/base/unwind.h"
#include "libprofconv/convert/convert.h"
#include "libprofconv/io/io.h"

#include <profconv/transform.h>

/* One call into this file: the caller's options as this library knows them, and the resolved settings. */
typedef struct pfc_job {
    const profconv_registry *registry; /* NULL: a single pass */
    profconv_convert_options options;
    profconv_limits limits;
    profconv_options *settings;
    pfc_budget *budget; /* of what is read; NULL: no max_memory */
    profconv_allocator bounded;
} pfc_job;

static int job_start(pfc_job *job, const profconv_registry *registry, const profconv_convert_options *options,
                     profconv_error *error) {
    memset(job, 0, sizeof *job);
    job->registry = registry;
    int status = pfc_struct_copy(&job->options, sizeof job->options, options, "profconv_convert_options", error);
    if (status == PROFCONV_OK)
        status = pfc_struct_copy(&job->limits, sizeof job->limits, job->options.limits, "profconv_limits", error);
    if (status == PROFCONV_OK)
        status = pfc_settings_resolve(registry, &job->options, &job->settings, error);
    return status;
}

/* For jobs that make a profile: all that they hold is charged to one budget, which stays with the profile. */
static int job_bound(pfc_job *job, profconv_error *error) {
    if (job->limits.max_memory == 0 || job->limits.max_memory == UINT64_MAX)
        return PROFCONV_OK;
    int status = pfc_budget_new(&job->budget, job->options.allocator, job->limits.max_memory, error);
    if (status == PROFCONV_OK) {
        job->bounded = pfc_budget_allocator(job->budget);
        job->options.allocator = &job->bounded;
    }
    return status;
}

static void job_end(pfc_job *job) {
    profconv_options_free(job->settings);
    pfc_budget_release(job->budget);
}

static int progress(const pfc_job *job, const char *stage, uint64_t done, uint64_t total, profconv_error *error) {
    if (!job->options.progress || job->options.progress(job->options.progress_user, stage, done, total) == 0)
        return PROFCONV_OK;
    return profconv_error_set(error, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0, "cancelled");
}

static int on_input(void *user, uint64_t done, uint64_t total) {
    const pfc_job *job = user;
    return job->options.progress(job->options.progress_user, "read", done, total);
}

/* Takes over a failure of a format's callback: its own words when it set some, and always the format's name. */
static int callback_failed(int status, const profconv_error *said, const char *format, const char *what,
                           profconv_error *error) {
    if (status > 0)
        status = PROFCONV_E_CALLBACK;
    if (!error)
        return status;
    if (said->status != PROFCONV_OK) {
        *error = *said;
        error->status = status;
    } else {
        profconv_error_set(error, status, PROFCONV_NO_OFFSET, 0, "%s %s: %s", format, what,
                           profconv_status_string(status));
    }
    if (error->format[0] == '\0')
        snprintf(error->format, sizeof error->format, "%s", format);
    return status;
}

/* ---- reading ---- */

static int run_reader(const pfc_job *job, const pfc_format *format, profconv_input *input, profconv_builder *builder,
                      profconv_error *error) {
    profconv_error said;
    memset(&said, 0, sizeof said);
    if (job->options.progress)
        pfc_input_set_tick(input, on_input, (void *)(uintptr_t)job);
    if (job->options.threads > 1)
        pfc_input_ahead(input);
    pfc_builder_set_unwinder(builder, &pfc_cfi_unwinder);
    pfc_builder_set_jitdump(builder, &pfc_jitdump_reader);
    int status = format->reader.read(format->reader.user, input, builder, job->settings, &said);
    pfc_builder_set_unwinder(builder, NULL);
    pfc_builder_set_jitdump(builder, NULL);
    if (job->options.progress)
        pfc_input_set_tick(input, NULL, NULL);
    if (status == PROFCONV_OK)
        status = profconv_builder_status(builder, &said);
    return status == PROFCONV_OK ? status : callback_failed(status, &said, format->name, "reader", error);
}

/* `used`: bytes of the budget that are taken already. */
static int read_one(pfc_job *job, profconv_input *input, uint64_t used, profconv_profile **out, profconv_error *error) {
    const pfc_format *format = NULL;
    const pfc_format *writer = NULL;
    int status;
    *out = NULL;
    if (job->options.from)
        status = pfc_registry_need(job->registry, job->options.from, 0, &format, error);
    else
        status = pfc_detect_format(job->registry, input, &format, error);
    if (status == PROFCONV_OK && job->options.to)
        status = pfc_registry_need(job->registry, job->options.to, 1, &writer, error);
    if (status == PROFCONV_OK && writer)
        status = pfc_settings_labels(job->settings, format, writer, error);
    profconv_options *filters = NULL;
    if (status == PROFCONV_OK)
        status = pfc_settings_filters(job->settings, format, job->options.allocator, &filters, error);
    if (status != PROFCONV_OK)
        return status;
    profconv_limits limits = job->limits;
    if (limits.max_memory != 0)
        limits.max_memory = limits.max_memory > used ? limits.max_memory - used : 1;
    profconv_builder *builder = NULL;
    status = profconv_builder_new(&builder, job->options.allocator, &limits, error);
    if (status == PROFCONV_OK)
        status = run_reader(job, format, input, builder, error);
    if (status == PROFCONV_OK)
        status = profconv_builder_freeze(builder, out, error);
    profconv_builder_free(builder);
    if (status == PROFCONV_OK && filters)
        status = profconv_filter(out, filters, PROFCONV_FILTER_SAMPLES, error);
    if (status != PROFCONV_OK) {
        profconv_profile_free(*out);
        *out = NULL;
    }
    profconv_options_free(filters);
    return status;
}

int profconv_read(const profconv_registry *registry, profconv_input *input, const profconv_convert_options *options,
                  profconv_profile **out, profconv_error *error) {
    pfc_job job;
    *out = NULL;
    int status = job_start(&job, registry, options, error);
    if (status == PROFCONV_OK)
        status = job_bound(&job, error);
    if (status == PROFCONV_OK)
        status = pfc_input_join(input, job.budget, error);
    if (status == PROFCONV_OK) {
        status = read_one(&job, input, 0, out, error);
        pfc_input_leave(input, job.budget);
    }
    job_end(&job);
    return status;
}

/* ---- passes ---- */

/* What the report of a profile held before the passes, so that only their notes are passed on. */
typedef struct pfc_report_mark {
    pfc_mem mem;
    PFC_VEC(profconv_note) notes;
} pfc_report_mark;

static int mark_report(pfc_report_mark *mark, const pfc_job *job, const profconv_report *report,
                       profconv_error *error) {
    memset(mark, 0, sizeof *mark);
    pfc_mem_init(&mark->mem, job->options.allocator, 0);
    size_t count = profconv_report_count(report);
    if (count > 0 && PFC_VEC_RESERVE(&mark->mem, &mark->notes, count) != 0)
        return pfc_mem_error(&mark->mem, error);
    for (size_t i = 0; i < count; i++)
        (void)profconv_report_get(report, i, &mark->notes.data[mark->notes.count++]);
    return PROFCONV_OK;
}

static void pass_on_notes(const pfc_report_mark *mark, const profconv_report *from, profconv_report *to) {
    for (size_t i = 0; i < profconv_report_count(from); i++) {
        profconv_note note;
        (void)profconv_report_get(from, i, &note);
        if (i < mark->notes.count) { /* rows keep their places */
            note.count -= mark->notes.data[i].count;
            note.weight -= mark->notes.data[i].weight;
        }
        if (i >= mark->notes.count || note.count != 0)
            profconv_report_add(to, note.kind, note.cause, note.count, note.weight, note.offset, note.line, "%s",
                                note.message);
    }
}

/* A pass that could only have improved the result may find nothing; what stops a conversion is lack of memory, the
 * caller's own errors and cancelling, and defects. */
static int may_go_on(const pfc_plan_step *step, int status) {
    switch (status) {
    case PROFCONV_E_IO:
    case PROFCONV_E_FORMAT:
    case PROFCONV_E_UNSUPPORTED:
    case PROFCONV_E_EMPTY:
    case PROFCONV_E_MISSING_FACET:
    case PROFCONV_E_NOT_FOUND:
        return !step->required;
    default:
        return 0;
    }
}

static int run_step(const pfc_job *job, const pfc_plan_step *step, profconv_builder *builder, profconv_error *error) {
    profconv_error said;
    memset(&said, 0, sizeof said);
    int status = step->pass->run(builder, job->settings, job->options.progress, job->options.progress_user, &said);
    if (status == PROFCONV_OK)
        status = profconv_builder_status(builder, &said);
    if (status == PROFCONV_OK)
        return status;
    if (may_go_on(step, status)) {
        char cause[48];
        snprintf(cause, sizeof cause, "pass-%s", step->pass->name);
        profconv_report_add(profconv_builder_report(builder), PROFCONV_NOTE_WARNING, cause, 1, 0, PROFCONV_NO_OFFSET, 0,
                            "%s", said.message);
        return PROFCONV_OK;
    }
    return callback_failed(status, &said, step->pass->name, "pass", error);
}

/* Freezes again after a failure: what the passes did is sound, they only did not finish. */
static void put_back(profconv_builder *builder, profconv_profile **profile) {
    memset(&builder->error, 0, sizeof builder->error);
    (void)profconv_builder_freeze(builder, profile, NULL);
}

static int run_steps(const pfc_job *job, const pfc_plan_step *steps, size_t count, profconv_profile **profile,
                     profconv_report *report, profconv_error *error) {
    pfc_report_mark mark;
    profconv_builder *builder = NULL;
    int status = mark_report(&mark, job, profconv_profile_report(*profile), error);
    if (status == PROFCONV_OK)
        status = profconv_builder_thaw(&builder, profile, error);
    if (status == PROFCONV_OK) {
        builder->threads = job->options.threads;
        for (size_t i = 0; status == PROFCONV_OK && i < count; i++)
            status = run_step(job, &steps[i], builder, error);
        pass_on_notes(&mark, profconv_builder_report(builder), report);
        if (status == PROFCONV_OK)
            status = profconv_builder_freeze(builder, profile, error);
        if (status != PROFCONV_OK)
            put_back(builder, profile);
        profconv_builder_free(builder);
    }
    PFC_VEC_FREE(&mark.mem, &mark.notes);
    return status;
}

/* Formats that count instructions by their address, made from a profile whose addresses a store took away, would look good. */
static int check_records(const profconv_writer *target, const profconv_profile *profile, profconv_report *report,
                         profconv_error *error) {
    uint32_t counts = PROFCONV_FACET_BRANCHES | PROFCONV_FACET_SOURCE_COUNTS;
    if (!((target->needs | target->improves) & counts) || (profconv_profile_facets(profile) & PROFCONV_FACET_SOURCE_COUNTS))
        return PROFCONV_OK;
    return pfc_check_records(profile, report, error);
}

static int filter_frames(const pfc_job *job, profconv_profile **profile, profconv_report *report, profconv_error *error) {
    pfc_report_mark mark;
    if (!profconv_filter_wanted(job->settings, PROFCONV_FILTER_FRAMES))
        return PROFCONV_OK;
    int status = mark_report(&mark, job, profconv_profile_report(*profile), error);
    if (status == PROFCONV_OK)
        status = profconv_filter(profile, job->settings, PROFCONV_FILTER_FRAMES, error);
    if (status == PROFCONV_OK)
        pass_on_notes(&mark, profconv_profile_report(*profile), report);
    PFC_VEC_FREE(&mark.mem, &mark.notes);
    return status;
}

static int prepare(const pfc_job *job, const pfc_format *writer, profconv_profile **profile, profconv_report *report,
                   profconv_error *error) {
    const profconv_writer *target = &writer->writer;
    pfc_plan plan;
    if (pfc_profile_is_empty(*profile) && (target->needs & ~profconv_profile_facets(*profile)))
        return pfc_empty_error(*profile, writer->name, error);
    int status = check_records(target, *profile, report, error);
    if (status == PROFCONV_OK)
        status = pfc_settings_passes(job->settings, target, error);
    if (status != PROFCONV_OK)
        return status;
    pfc_plan_profile(*profile, target, job->settings, &plan);
    if (plan.missing)
        return pfc_plan_missing(&plan, writer->name, profconv_profile_facets(*profile), error);
    if (plan.count > 0) {
        status = run_steps(job, plan.steps, plan.count, profile, report, error);
        if (status != PROFCONV_OK)
            return status;
    }
    status = filter_frames(job, profile, report, error);
    if (status != PROFCONV_OK)
        return status;
    plan.missing = target->needs & ~profconv_profile_facets(*profile);
    return plan.missing ? pfc_plan_missing(&plan, writer->name, profconv_profile_facets(*profile), error) : PROFCONV_OK;
}

static int need_target(const pfc_job *job, const pfc_format **out, profconv_error *error) {
    if (!job->options.to)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "options.to: the format of the output is not given");
    return pfc_registry_need(job->registry, job->options.to, 1, out, error);
}

int profconv_prepare(const profconv_registry *registry, profconv_profile **profile,
                     const profconv_convert_options *options, profconv_report *report, profconv_error *error) {
    pfc_job job;
    const pfc_format *writer = NULL;
    int status = job_start(&job, registry, options, error);
    if (status == PROFCONV_OK)
        status = need_target(&job, &writer, error);
    if (status == PROFCONV_OK)
        status = prepare(&job, writer, profile, report, error);
    job_end(&job);
    return status;
}

int profconv_run_pass(const char *pass, profconv_profile **profile, const profconv_convert_options *options,
                      profconv_report *report, profconv_error *error) {
    pfc_job job;
    pfc_plan_step step = {pfc_pass_find(pass), 1};
    if (!step.pass)
        return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0, "there is no pass '%s'", pass);
    int status = job_start(&job, NULL, options, error);
    if (status == PROFCONV_OK)
        status = run_steps(&job, &step, 1, profile, report, error);
    job_end(&job);
    return status;
}

/* ---- writing ---- */

static int write_one(const pfc_job *job, const pfc_format *writer, const profconv_profile *profile,
                     profconv_output *output, profconv_report *report, profconv_error *error) {
    profconv_error said;
    memset(&said, 0, sizeof said);
    uint32_t present = profconv_profile_facets(profile);
    if (writer->writer.needs & ~present) {
        pfc_plan plan;
        if (pfc_profile_is_empty(profile))
            return pfc_empty_error(profile, writer->name, error);
        memset(&plan, 0, sizeof plan);
        plan.missing = writer->writer.needs & ~present;
        return pfc_plan_missing(&plan, writer->name, present, error);
    }
    int status = progress(job, "write", 0, UINT64_MAX, error);
    if (status != PROFCONV_OK)
        return status;
    uint64_t start = profconv_output_offset(output);
    if (job->options.threads > 1)
        pfc_output_behind(output);
    status = writer->writer.write(writer->writer.user, profile, output, job->settings, report, &said);
    if (status != PROFCONV_OK)
        return callback_failed(status, &said, writer->name, "writer", error);
    if (profconv_output_offset(output) == start)
        return pfc_empty_error(profile, writer->name, error);
    pfc_report_losses(profile, &writer->writer, job->settings, report);
    return profconv_output_close(output, error);
}

int profconv_write(const profconv_registry *registry, const profconv_profile *profile, profconv_output *output,
                   const profconv_convert_options *options, profconv_report *report, profconv_error *error) {
    pfc_job job;
    const pfc_format *writer = NULL;
    int status = job_start(&job, registry, options, error);
    pfc_budget *budget = profile->model.mem.budget;
    if (status == PROFCONV_OK)
        status = need_target(&job, &writer, error);
    if (status == PROFCONV_OK)
        status = pfc_output_join(output, budget, error);
    if (status == PROFCONV_OK) {
        status = write_one(&job, writer, profile, output, report, error);
        pfc_output_leave(output, budget);
    }
    job_end(&job);
    return status;
}

/* ---- all in a row ---- */

/* With several inputs, an error says which one it is about. */
static void name_input(const profconv_input *input, profconv_error *error) {
    char message[sizeof error->message];
    if (!error)
        return;
    memcpy(message, error->message, sizeof message);
    message[sizeof message - 1] = '\0';
    snprintf(error->message, sizeof error->message, "%.120s: %.340s", profconv_input_name(input), message);
}

/* The buffers of inputs and output count while they are at work. On failure all have left again. */
static void buffers_leave(const pfc_job *job, const profconv_convert_input *inputs, size_t count,
                          profconv_output *output) {
    for (size_t i = 0; i < count; i++)
        pfc_input_leave(inputs[i].input, job->budget);
    pfc_output_leave(output, job->budget);
}

static int buffers_join(const pfc_job *job, const profconv_convert_input *inputs, size_t count, profconv_output *output,
                        profconv_error *error) {
    int status = pfc_output_join(output, job->budget, error);
    for (size_t i = 0; status == PROFCONV_OK && i < count; i++)
        status = pfc_input_join(inputs[i].input, job->budget, error);
    if (status != PROFCONV_OK)
        buffers_leave(job, inputs, count, output);
    return status;
}

/* The inputs of a conversion, for profconv_merge_inputs. */
typedef struct pfc_several {
    const profconv_convert_input *inputs;
    size_t count;
    const profconv_input *failed;
} pfc_several;

static int next_of_several(void *user, uint64_t index, profconv_merge_input *next, profconv_error *error) {
    const pfc_several *several = user;
    (void)error;
    if (index >= several->count)
        return PROFCONV_OK;
    next->input = several->inputs[index].input;
    next->weight = several->inputs[index].weight;
    next->borrowed = 1;
    return PROFCONV_OK;
}

static int one_of_several_done(void *user, uint64_t index, int status, const profconv_error *error) {
    pfc_several *several = user;
    (void)error;
    if (status != PROFCONV_OK)
        several->failed = several->inputs[index].input;
    return status;
}

static int read_all(pfc_job *job, const profconv_convert_input *inputs, size_t count, profconv_profile **out,
                    profconv_error *error) {
    if (count == 1 && inputs[0].weight <= 1)
        return read_one(job, inputs[0].input, 0, out, error);
    profconv_builder *merged = NULL;
    pfc_several several = {inputs, count, NULL};
    profconv_merge_source source = {sizeof source, next_of_several, NULL, one_of_several_done, &several};
    int status = profconv_builder_new(&merged, job->options.allocator, &job->limits, error);
    if (status == PROFCONV_OK)
        status = profconv_merge_inputs(merged, job->registry, &job->options, &source, error);
    if (status != PROFCONV_OK && several.failed && count > 1)
        name_input(several.failed, error);
    if (status == PROFCONV_OK)
        status = profconv_builder_freeze(merged, out, error);
    profconv_builder_free(merged);
    return status;
}

static int convert_all(pfc_job *job, const profconv_convert_input *inputs, size_t count, profconv_output *output,
                       const pfc_format *writer, profconv_report *report, profconv_error *error) {
    profconv_profile *profile = NULL;
    int status = read_all(job, inputs, count, &profile, error);
    if (status == PROFCONV_OK) {
        pfc_report_copy(report, profconv_profile_report(profile));
        status = prepare(job, writer, &profile, report, error);
    }
    if (status == PROFCONV_OK)
        status = write_one(job, writer, profile, output, report, error);
    profconv_profile_free(profile);
    return status;
}

int profconv_convert(const profconv_registry *registry, const profconv_convert_input *inputs, size_t input_count,
                     profconv_output *output, const profconv_convert_options *options, profconv_report *report,
                     profconv_error *error) {
    pfc_job job;
    const pfc_format *writer = NULL;
    if (input_count == 0)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "no input to convert");
    int status = job_start(&job, registry, options, error);
    if (status == PROFCONV_OK)
        status = need_target(&job, &writer, error);
    if (status == PROFCONV_OK)
        status = job_bound(&job, error);
    if (status == PROFCONV_OK)
        status = buffers_join(&job, inputs, input_count, output, error);
    if (status == PROFCONV_OK) {
        status = convert_all(&job, inputs, input_count, output, writer, report, error);
        buffers_leave(&job, inputs, input_count, output);
    }
    job_end(&job);
    return status;
}
