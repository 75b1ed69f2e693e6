/* SPDX-License-Identifier: MIT
 *
 * profconv merge: any number of profiles added up. One input (with --jobs, a few) is in memory at a time, next to the sum, so
 * memory follows from the result. Which inputs count is decided by their own time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "load.h"

typedef struct merge_job {
    cli_loader loader;
    profconv_builder *builder;
    int64_t from, to; /* nanoseconds since 1970: from <= time < to */
    int by_time;
    cli_sum sum;
    size_t outside, timeless;
} merge_job;

/* ---- times ---- */

static int digits(const char **p, int count, int *out) {
    *out = 0;
    for (int i = 0; i < count; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return 0;
        *out = *out * 10 + (**p - '0');
    }
    return 1;
}

static int literal(const char **p, const char *any) {
    if (**p == '\0' || !strchr(any, **p))
        return 0;
    (*p)++;
    return 1;
}

/* ".25" as nanoseconds. */
static int64_t fraction(const char **p) {
    int64_t unit = 100000000, value = 0;
    if (**p != '.')
        return 0;
    for ((*p)++; **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
        value += unit * (**p - '0');
    return value;
}

/* "2024-05-01T10:00:00Z", shorter from the right, or "1714557600.5". */
static int parse_time(const char *text, int64_t *out) {
    const char *p = text;
    struct tm tm;
    char *end;
    memset(&tm, 0, sizeof tm);
    if (digits(&p, 4, &tm.tm_year) && literal(&p, "-") && digits(&p, 2, &tm.tm_mon) && literal(&p, "-") &&
        digits(&p, 2, &tm.tm_mday)) {
        int64_t part = 0;
        if (literal(&p, "T ")) {
            if (!digits(&p, 2, &tm.tm_hour) || !literal(&p, ":") || !digits(&p, 2, &tm.tm_min))
                return 0;
            if (literal(&p, ":") && !digits(&p, 2, &tm.tm_sec))
                return 0;
            part = fraction(&p);
        }
        literal(&p, "Z");
        if (*p || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 24 || tm.tm_min > 59 ||
            tm.tm_sec > 60 || tm.tm_year < 1970 || tm.tm_year > 2200)
            return 0;
        tm.tm_year -= 1900;
        tm.tm_mon--;
        *out = (int64_t)timegm(&tm) * 1000000000 + part;
        return 1;
    }
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    long long seconds = strtoll(text, &end, 10);
    p = end;
    if (errno || seconds > INT64_MAX / 1000000000 - 1)
        return 0;
    *out = (int64_t)seconds * 1000000000;
    *out += fraction(&p);
    return *p == '\0';
}

static int times(merge_job *job) {
    const char *text = NULL;
    const cli_arguments *arguments = job->loader.arguments;
    job->from = INT64_MIN;
    job->to = INT64_MAX;
    if (cli_was_given(arguments, "from", &text) && !parse_time(text, &job->from))
        return cli_usage_error("--from=%s: a time such as 2024-05-01T10:00 or seconds since 1970 is expected", text);
    job->by_time = text != NULL;
    text = NULL;
    if (cli_was_given(arguments, "to", &text) && !parse_time(text, &job->to))
        return cli_usage_error("--to=%s: a time such as 2024-05-01T10:00 or seconds since 1970 is expected", text);
    job->by_time |= text != NULL;
    return CLI_OK;
}

static int in_time(void *user, const profconv_profile *profile) {
    merge_job *job = (merge_job *)user;
    int64_t time = profconv_profile_info(profile)->time_ns;
    if (!job->by_time)
        return 1;
    job->timeless += time == 0;
    if (time != 0 && time >= job->from && time < job->to)
        return 1;
    job->outside += time != 0;
    return 0;
}

/* ---- inputs ---- */

/* Without -t and a suffix, the sum is written in the format of the first input. */
static int choose_format(merge_job *job, const char *first) {
    const cli_arguments *arguments = job->loader.arguments;
    profconv_input *input = NULL;
    profconv_error error;
    cli_arguments like = *arguments;
    profconv_format_info format;
    const char *path = arguments->output;
    int named = path && strcmp(path, "-") != 0 &&
                profconv_registry_find_suffix(job->loader.registry, path, &format) == PROFCONV_OK;
    if (!arguments->to && !named && strcmp(first, "-") != 0) {
        like.to = arguments->from;
        if (!like.to && profconv_input_open_path(&input, first, NULL, &error) == PROFCONV_OK &&
            profconv_detect(job->loader.registry, input, &format, &error) == PROFCONV_OK && format.can_write)
            like.to = format.name;
        profconv_input_free(input);
    }
    return cli_choose_target(&like, job->loader.registry, &job->loader.target);
}

/* "3,file". */
static int weighted(const char *text, cli_summand *out) {
    char *end = NULL;
    errno = 0;
    unsigned long long weight = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!weight || errno || *end != ',' || !end[1])
        return cli_usage_error("--weighted-input=%s: a weight above 0, a comma and a file are expected", text);
    out->name = end + 1;
    out->weight = weight;
    return CLI_OK;
}

/* Those with weights first. */
static int list_inputs(const cli_arguments *arguments, cli_summand *out, size_t *count) {
    int status = CLI_OK;
    for (size_t i = 0; i < arguments->given_count && status == CLI_OK; i++)
        if (strcmp(arguments->given[i].option->name, "weighted-input") == 0)
            status = weighted(arguments->given[i].argument, &out[(*count)++]);
    for (size_t i = 0; i < arguments->input_count; i++)
        out[(*count)++].name = arguments->inputs[i];
    return status;
}

static int merge_all(merge_job *job) {
    const cli_arguments *arguments = job->loader.arguments;
    cli_sum *sum = &job->sum;
    cli_summand *inputs = (cli_summand *)calloc(arguments->given_count + arguments->input_count + 1, sizeof *inputs);
    if (!inputs) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    sum->loader = &job->loader;
    sum->builder = job->builder;
    sum->inputs = inputs;
    sum->keep_going = cli_was_given(arguments, "keep-going", NULL);
    sum->accept = in_time;
    sum->user = job;
    int status = list_inputs(arguments, inputs, &sum->count);
    if (status == CLI_OK)
        status = cli_sum_up(sum);
    free(inputs);
    return status;
}

static void tell(const merge_job *job) {
    const cli_arguments *arguments = job->loader.arguments;
    if (arguments->quiet)
        return;
    if (job->sum.bad)
        cli_error("warning: %zu of %zu inputs could not be read and were left out", job->sum.bad,
                  job->sum.bad + job->sum.merged + job->outside + job->timeless);
    if (job->timeless)
        cli_error("warning: %zu inputs do not tell their time and were left out", job->timeless);
    if (job->outside && arguments->verbose)
        cli_error("note: %zu inputs are from another time and were left out", job->outside);
}

/* ---- the sum ---- */

static int write_sum(merge_job *job) {
    profconv_profile *profile = NULL;
    profconv_output *output = NULL;
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    const cli_arguments *arguments = job->loader.arguments;
    if (profconv_builder_freeze(job->builder, &profile, &error))
        return cli_fail(NULL, &error);
    cli_report(arguments, profconv_profile_report(profile));
    int status = cli_load_prepare(&job->loader, NULL, &profile);
    if (status == CLI_OK)
        status = cli_open_output(arguments->output, &output);
    cli_load_options(&job->loader, &limits, &options);
    if (status == CLI_OK && profconv_write(job->loader.registry, profile, output, &options, job->loader.report, &error))
        status = cli_interrupted() ? CLI_FAILED : cli_fail(arguments->output, &error);
    cli_progress_end(&job->loader.progress);
    if (status == CLI_OK)
        cli_report(arguments, job->loader.report);
    profconv_output_free(output);
    profconv_profile_free(profile);
    return status;
}

static const char *first_input(const cli_arguments *arguments) {
    const char *text = NULL;
    if (arguments->input_count)
        return arguments->inputs[0];
    return cli_was_given(arguments, "weighted-input", &text) && strchr(text, ',') ? strchr(text, ',') + 1 : NULL;
}

int cli_merge(const cli_arguments *arguments) {
    merge_job job;
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    memset(&job, 0, sizeof job);
    if (!first_input(arguments))
        return cli_usage_error("no input given; - is stdin");
    int status = cli_loader_start(&job.loader, arguments, NULL);
    if (status == CLI_OK)
        status = times(&job);
    if (status == CLI_OK)
        status = choose_format(&job, first_input(arguments));
    if (status == CLI_OK) {
        cli_load_options(&job.loader, &limits, &options);
        if (profconv_builder_new(&job.builder, NULL, &limits, &error))
            status = cli_fail(NULL, &error);
    }
    if (status == CLI_OK)
        status = merge_all(&job);
    if (status == CLI_OK) {
        cli_progress_end(&job.loader.progress);
        tell(&job);
    }
    if (status == CLI_OK && job.sum.merged == 0) {
        cli_error("no input is left to merge");
        status = CLI_FAILED;
    }
    if (status == CLI_OK)
        status = write_sum(&job);
    profconv_builder_free(job.builder);
    cli_loader_end(&job.loader);
    return status;
}
