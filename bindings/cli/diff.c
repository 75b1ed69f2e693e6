/* SPDX-License-Identifier: MIT
 *
 * profconv diff: two profiles, or runs of two sides, compared by amounts. As a table for people, as JSON, as stacks with two numbers, or as a profile
 * whose samples of before are negative and labelled, as pprof -diff_base has it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <profconv/transform.h>

#include "sides.h"
#include "table.h"

typedef struct diff_job {
    const cli_arguments *arguments;
    cli_loader loader;
    cli_table_options table;
    cli_side sides[2];
    profconv_diff *diff;
    int writing; /* in the loader's target */
} diff_job;

static const char *const modes[] = {"raw", "per-second", "per-work"};

static size_t shown(const diff_job *job) {
    size_t count = profconv_diff_count(job->diff);
    return count < job->table.rows ? count : job->table.rows;
}

/* ---- the table ---- */

/* "-12.5%", "new" for something from nothing. */
static const char *percent(char out[24], double value) {
    if (isfinite(value))
        snprintf(out, 24, "%+.1f%%", 100 * value);
    else
        snprintf(out, 24, "%s", value > 0 ? "new" : "-");
    return out;
}

static const char *signed_number(char out[34], int64_t value) {
    out[0] = '+';
    cli_number(value > 0 ? out + 1 : out, value);
    return out;
}

static void print_exposure(FILE *file, const profconv_diff_summary *s) {
    char a[32], b[32];
    fprintf(file, "compared: %s", modes[s->mode]);
    if (s->mode == PROFCONV_DIFF_PER_SECOND)
        fprintf(file, " (%.3f s and %.3f s; deltas on the time before)", (double)s->exposure_before / 1e9,
                (double)s->exposure_after / 1e9);
    else if (s->mode == PROFCONV_DIFF_PER_WORK)
        fprintf(file, " (%s and %s units of work; deltas on the work before)", cli_number(a, (int64_t)s->exposure_before),
                cli_number(b, (int64_t)s->exposure_after));
    else if (s->runs_before)
        fprintf(file, " (a run against a run; deltas on %" PRIu64 " %s)", s->runs_before, s->runs_before == 1 ? "run" : "runs");
    fputc('\n', file);
    if (s->runs_before)
        fprintf(file,
                "runs: %" PRIu64 " before, %" PRIu64 " after; between those of a side, counts vary %.1f times as much as by chance, and "
                "the test is wider by that\n",
                s->runs_before, s->runs_after, s->dispersion);
}

static void print_head(FILE *file, const profconv_diff_summary *s, size_t rows, size_t all) {
    char before[32], after[32], delta[34], change[24];
    double whole = s->total_before < 0 ? -(double)s->total_before : (double)s->total_before;
    fprintf(file, "%s", s->name.data);
    if (s->unit.size && strcmp(s->unit.data, "count") != 0)
        fprintf(file, " (%s)", s->unit.data);
    fprintf(file, ": before %s, after %s, delta %s (%s of before)\n", cli_number(before, s->total_before),
            cli_number(after, s->total_after), signed_number(delta, s->delta),
            percent(change, whole > 0 ? (double)s->delta / whole : s->delta ? (double)INFINITY : 0));
    print_exposure(file, s);
    fprintf(file, "samples: %s and %s", cli_number(before, (int64_t)s->count_before), cli_number(after, (int64_t)s->count_after));
    if (isfinite(s->detectable))
        fprintf(file, "; the smallest change that can show anywhere: %.1f%%", 100 * s->detectable);
    fputc('\n', file);
    fprintf(file, "rows: %zu of %zu;", rows, all);
    for (uint32_t k = PROFCONV_DIFF_CLASSES; k-- > 0;)
        fprintf(file, " %" PRIu64 " %s%s", s->rows[k], profconv_diff_class_name(k), k ? "," : "\n");
}

static void widen(int *width, const char *text) {
    int n = (int)strlen(text);
    *width = n > *width ? n : *width;
}

static void print_table(FILE *file, const diff_job *job) {
    char a[32], b[32], d[34], change[24], of_all[24];
    const profconv_string none = {"", 0};
    size_t rows = shown(job);
    int wide = 7;
    for (size_t i = 0; i < rows; i++) {
        profconv_diff_row row;
        (void)profconv_diff_get(job->diff, i, &row);
        widen(&wide, cli_number(a, row.before_self));
        widen(&wide, cli_number(a, row.after_self));
        widen(&wide, signed_number(d, row.delta_self));
        widen(&wide, signed_number(d, row.delta_total));
    }
    print_head(file, profconv_diff_get_summary(job->diff), rows, profconv_diff_count(job->diff));
    fprintf(file, "%*s  %*s  %*s  %9s  %8s  %8s  %*s  %-12s  %s\n", wide, "before", wide, "after", wide, "delta", "of before",
            "of all", "can show", wide, "d total", "class", cli_table_by(job->table.by));
    size_t used = 4 * (size_t)wide + 9 + 8 + 8 + 12 + 8 * 2;
    size_t width = job->table.width == 0 ? 0 : job->table.width > used + 12 ? job->table.width - used : 12;
    for (size_t i = 0; i < rows; i++) {
        profconv_diff_row row;
        (void)profconv_diff_get(job->diff, i, &row);
        fprintf(file, "%*s  %*s  %*s  %9s  %8s  ", wide, cli_number(a, row.before_self), wide, cli_number(b, row.after_self),
                wide, signed_number(d, row.delta_self), percent(change, row.change), percent(of_all, row.share));
        fprintf(file, isfinite(row.detectable) ? "%7.1f%%  " : "       -  ", 100 * row.detectable);
        fprintf(file, "%*s  %-12s  ", wide, signed_number(d, row.delta_total), profconv_diff_class_name(row.diff_class));
        cli_table_name(file, row.name, job->table.by == PROFCONV_BY_LINE ? row.file : none, row.line, width);
    }
}

/* ---- JSON ---- */

static void number_member(FILE *file, const char *name, double value) {
    fprintf(file, ", \"%s\": ", name);
    cli_json_number(file, value);
}

static void json_row(FILE *file, const profconv_diff_row *row) {
    fputs("{\"name\": ", file);
    cli_json_string(file, row->name);
    fputs(", \"file\": ", file);
    cli_json_string(file, row->file);
    fputs(", \"mapping\": ", file);
    cli_json_string(file, row->mapping);
    fprintf(file,
            ", \"line\": %" PRId64 ", \"before_self\": %" PRId64 ", \"after_self\": %" PRId64 ", \"delta_self\": %" PRId64
            ", \"before_total\": %" PRId64 ", \"after_total\": %" PRId64 ", \"delta_total\": %" PRId64
            ", \"before_count\": %" PRIu64 ", \"after_count\": %" PRIu64,
            row->line, row->before_self, row->after_self, row->delta_self, row->before_total, row->after_total,
            row->delta_total, row->before_count, row->after_count);
    number_member(file, "change", row->change);
    number_member(file, "share", row->share);
    number_member(file, "p_value", row->p_value);
    number_member(file, "q_value", row->q_value);
    number_member(file, "detectable", row->detectable);
    fprintf(file, ", \"class\": \"%s\"}", profconv_diff_class_name(row->diff_class));
}

static void print_json(FILE *file, const diff_job *job) {
    const profconv_diff_summary *s = profconv_diff_get_summary(job->diff);
    size_t rows = shown(job);
    fputs("{\"sample_type\": ", file);
    cli_json_string(file, s->name);
    fputs(", \"unit\": ", file);
    cli_json_string(file, s->unit);
    fprintf(file,
            ", \"by\": \"%s\", \"mode\": \"%s\", \"exposure_before\": %" PRIu64 ", \"exposure_after\": %" PRIu64
            ", \"total_before\": %" PRId64 ", \"total_after\": %" PRId64 ", \"delta\": %" PRId64 ", \"count_before\": %" PRIu64
            ", \"count_after\": %" PRIu64,
            cli_table_by(job->table.by), modes[s->mode], s->exposure_before, s->exposure_after, s->total_before, s->total_after,
            s->delta, s->count_before, s->count_after);
    number_member(file, "detectable", s->detectable);
    fprintf(file, ", \"runs_before\": %" PRIu64 ", \"runs_after\": %" PRIu64, s->runs_before ? s->runs_before : 1,
            s->runs_after ? s->runs_after : 1);
    number_member(file, "dispersion", s->dispersion);
    fputs(", \"classes\": {", file);
    for (uint32_t k = 0; k < PROFCONV_DIFF_CLASSES; k++)
        fprintf(file, "%s\"%s\": %" PRIu64, k ? ", " : "", profconv_diff_class_name(k), s->rows[k]);
    fputs("}, \"rows\": [", file);
    for (size_t i = 0; i < rows; i++) {
        profconv_diff_row row;
        (void)profconv_diff_get(job->diff, i, &row);
        fputs(i ? ",\n" : "\n", file);
        json_row(file, &row);
    }
    fputs("\n]}\n", file);
}

/* ---- other formats ---- */

static int write_profile(diff_job *job, const profconv_profile *profile, profconv_output *output, const char *name) {
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    cli_load_options(&job->loader, &limits, &options);
    options.limits = NULL;
    if (profconv_write(job->loader.registry, profile, output, &options, job->loader.report, &error))
        return cli_fail(name, &error);
    return CLI_OK;
}

static int write_signed(diff_job *job) {
    profconv_profile *both = NULL;
    profconv_output *output = NULL;
    profconv_error error;
    if (strcmp(job->loader.target.name, "flamegraph") == 0 && job->table.by == PROFCONV_BY_FUNCTION &&
        profconv_diff_settings(job->diff, job->loader.settings, &error))
        return cli_fail(NULL, &error);
    if (profconv_diff_profile(job->diff, job->sides[0].sum, job->sides[1].sum, &both, &error))
        return cli_fail(NULL, &error);
    int status = cli_open_output(job->arguments->output, &output);
    if (status == CLI_OK)
        status = write_profile(job, both, output, job->arguments->output);
    profconv_output_free(output);
    profconv_profile_free(both);
    return status;
}

/* A line of collapsed stacks: "stack count". */
typedef struct folded_line {
    const char *stack;
    size_t size;
    const char *count;
    size_t count_size;
} folded_line;

static int next_line(const char **p, const char *end, folded_line *out) {
    if (*p == end)
        return 0;
    const char *stop = memchr(*p, '\n', (size_t)(end - *p));
    const char *blank = stop = stop ? stop : end;
    while (blank > *p && blank[-1] != ' ')
        blank--;
    out->stack = *p;
    out->size = blank > *p ? (size_t)(blank - *p - 1) : 0;
    out->count = blank;
    out->count_size = (size_t)(stop - blank);
    *p = stop < end ? stop + 1 : end;
    return 1;
}

static int compare_lines(const folded_line *a, const folded_line *b) {
    size_t size = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->stack, b->stack, size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Both sides are sorted by their stacks. */
static void join(FILE *file, const uint8_t *before, size_t before_size, const uint8_t *after, size_t after_size) {
    const char *p = (const char *)before, *q = (const char *)after;
    const char *p_end = p + before_size, *q_end = q + after_size;
    folded_line a, b;
    int have_a = next_line(&p, p_end, &a), have_b = next_line(&q, q_end, &b);
    while (have_a || have_b) {
        int order = !have_b ? -1 : !have_a ? 1 : compare_lines(&a, &b);
        const folded_line *line = order <= 0 ? &a : &b;
        fwrite(line->stack, 1, line->size, file);
        fprintf(file, " %.*s %.*s\n", order <= 0 ? (int)a.count_size : 1, order <= 0 ? a.count : "0",
                order >= 0 ? (int)b.count_size : 1, order >= 0 ? b.count : "0");
        if (order <= 0)
            have_a = next_line(&p, p_end, &a);
        if (order >= 0)
            have_b = next_line(&q, q_end, &b);
    }
}

static int fold(diff_job *job, const profconv_profile *profile, profconv_output **out) {
    profconv_error error;
    if (profconv_output_open_memory(out, NULL, &error))
        return cli_fail(NULL, &error);
    return write_profile(job, profile, *out, NULL);
}

static int write_two_columns(diff_job *job) {
    profconv_output *before = NULL, *after = NULL;
    const uint8_t *a = NULL, *b = NULL;
    size_t a_size = 0, b_size = 0;
    cli_text text;
    profconv_error error;
    const char *type = job->table.sample_type;
    if (type && profconv_options_put(job->loader.settings, "collapsed", "weight", type, &error))
        return cli_fail(NULL, &error);
    int status = fold(job, job->sides[0].sum, &before);
    if (status == CLI_OK)
        status = fold(job, job->sides[1].sum, &after);
    if (status == CLI_OK && (profconv_output_bytes(before, &a, &a_size) || profconv_output_bytes(after, &b, &b_size))) {
        cli_error("the stacks could not be put together");
        status = CLI_FAILED;
    }
    if (status == CLI_OK && (status = cli_text_open(&text)) == CLI_OK) {
        join(text.file, a, a_size, b, b_size);
        status = cli_text_close(&text, job->arguments->output, status);
    }
    profconv_output_free(before);
    profconv_output_free(after);
    return status;
}

/* ---- the command ---- */

static int parse_options(const diff_job *job, profconv_diff_options *out) {
    const char *text = NULL;
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    out->sample_type = job->table.sample_type;
    out->by = job->table.by;
    if (cli_table_number(job->arguments, "work-before", &out->work_before) != CLI_OK ||
        cli_table_number(job->arguments, "work-after", &out->work_after) != CLI_OK)
        return CLI_USAGE;
    if (!out->work_before != !out->work_after)
        return cli_usage_error("--work-before and --work-after go together");
    if (out->work_before)
        out->mode = PROFCONV_DIFF_PER_WORK;
    if (cli_was_given(job->arguments, "mode", &text)) {
        for (out->mode = 0; out->mode < 3 && strcmp(text, modes[out->mode]) != 0; out->mode++)
            ;
        if (out->mode == 3)
            return cli_usage_error("--mode=%s: raw, per-second or per-work is expected", text);
    }
    if ((out->mode == PROFCONV_DIFF_PER_WORK) != (out->work_before != 0))
        return cli_usage_error("--mode=per-work and --work-before, --work-after go together");
    return CLI_OK;
}

static int choose_output(diff_job *job) {
    const cli_arguments *arguments = job->arguments;
    profconv_format_info format;
    const char *path = arguments->output;
    int suffix = path && strcmp(path, "-") != 0 && !job->table.json &&
                 profconv_registry_find_suffix(job->loader.registry, path, &format) == PROFCONV_OK;
    if (job->table.json && arguments->to)
        return cli_usage_error("--json and -t are two formats");
    job->writing = arguments->to || suffix;
    job->loader.looking = !job->writing;
    if (job->writing)
        return cli_choose_target(arguments, job->loader.registry, &job->loader.target);
    return cli_check_format(job->loader.registry,
                            job->table.by == PROFCONV_BY_LINE || job->table.by == PROFCONV_BY_FILE ? "pprof" : "collapsed", 1,
                            &job->loader.target);
}

static int print_text(diff_job *job) {
    cli_text text;
    int status = cli_text_open(&text);
    if (status != CLI_OK)
        return status;
    (job->table.json ? print_json : print_table)(text.file, job);
    return cli_text_close(&text, job->arguments->output, status);
}

static int compare(diff_job *job, profconv_diff_options *options) {
    profconv_error error;
    const cli_side *before = &job->sides[0], *after = &job->sides[1];
    if (before->count > 1 || after->count > 1) {
        options->runs_before = (const profconv_profile *const *)before->runs;
        options->runs_after = (const profconv_profile *const *)after->runs;
        options->run_count_before = before->count;
        options->run_count_after = after->count;
    }
    return profconv_diff_new(&job->diff, before->sum, after->sum, options, &error) ? cli_fail(NULL, &error) : CLI_OK;
}

int cli_diff(const cli_arguments *arguments) {
    diff_job job;
    profconv_diff_options options;
    memset(&job, 0, sizeof job);
    job.arguments = arguments;
    int status = cli_table_options_get(arguments, &job.table);
    if (status == CLI_OK)
        status = parse_options(&job, &options);
    if (status != CLI_OK)
        return status;
    status = cli_loader_start(&job.loader, arguments, NULL);
    if (status == CLI_OK)
        status = choose_output(&job);
    if (status == CLI_OK)
        status = cli_sides_find(job.sides, arguments);
    if (status == CLI_OK)
        status = cli_sides_load(job.sides, &job.loader);
    if (status == CLI_OK)
        status = compare(&job, &options);
    cli_progress_end(&job.loader.progress);
    if (status == CLI_OK)
        cli_report(arguments, profconv_diff_get_report(job.diff));
    if (status == CLI_OK && !job.writing)
        status = print_text(&job);
    else if (status == CLI_OK)
        status = strcmp(job.loader.target.name, "collapsed") == 0 ? write_two_columns(&job) : write_signed(&job);
    if (status == CLI_OK)
        cli_report(arguments, job.loader.report);
    profconv_diff_free(job.diff);
    cli_sides_free(job.sides);
    cli_loader_end(&job.loader);
    return status;
}
