/* SPDX-License-Identifier: MIT
 *
 * profconv top: what a profile spends most on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <profconv/transform.h>

#include "load.h"
#include "table.h"

static double share(int64_t value, int64_t total) { return total ? (double)value / (double)total : 0; }

static size_t shown(const profconv_top *top, const cli_table_options *o) {
    size_t count = profconv_top_count(top);
    return count < o->rows ? count : o->rows;
}

static void print_table(FILE *file, const profconv_top *top, const cli_table_options *o) {
    char self[32], total[32];
    profconv_string name, unit;
    const profconv_string none = {"", 0};
    size_t rows = shown(top, o), width;
    int wide = (int)strlen(cli_number(total, profconv_top_total(top)));
    profconv_top_type(top, &name, &unit);
    fprintf(file, "%s %s", total, name.data);
    if (unit.size && strcmp(unit.data, "count") != 0)
        fprintf(file, " (%s)", unit.data);
    fprintf(file, "; %zu of %zu rows\n", rows, profconv_top_count(top));
    for (size_t i = 0; i < rows; i++) { /* values of mixed signs can be larger than their sum */
        profconv_top_row row;
        (void)profconv_top_get(top, i, &row);
        int n = (int)strlen(cli_number(self, row.self)), m = (int)strlen(cli_number(total, row.total));
        wide = n > wide ? n : wide;
        wide = m > wide ? m : wide;
    }
    wide = wide < 5 ? 5 : wide;
    fprintf(file, "%*s  %7s  %*s  %7s  %s\n", wide, "self", "self%", wide, "total", "total%", cli_table_by(o->by));
    size_t used = 2 * (size_t)wide + 2 * 7 + 4 * 2;
    width = o->width == 0 ? 0 : o->width > used + 4 ? o->width - used : 4;
    for (size_t i = 0; i < rows; i++) {
        profconv_top_row row;
        (void)profconv_top_get(top, i, &row);
        fprintf(file, "%*s  %6.2f%%  %*s  %6.2f%%  ", wide, cli_number(self, row.self),
                100 * share(row.self, profconv_top_total(top)), wide, cli_number(total, row.total),
                100 * share(row.total, profconv_top_total(top)));
        cli_table_name(file, row.name, o->by == PROFCONV_BY_LINE ? row.file : none, row.line, width);
    }
}

static void print_json(FILE *file, const profconv_top *top, const cli_table_options *o) {
    profconv_string name, unit;
    size_t rows = shown(top, o);
    profconv_top_type(top, &name, &unit);
    fputs("{\"sample_type\": ", file);
    cli_json_string(file, name);
    fputs(", \"unit\": ", file);
    cli_json_string(file, unit);
    fprintf(file, ", \"by\": \"%s\", \"total\": %" PRId64 ", \"rows\": [", cli_table_by(o->by), profconv_top_total(top));
    for (size_t i = 0; i < rows; i++) {
        profconv_top_row row;
        (void)profconv_top_get(top, i, &row);
        fputs(i ? ",\n{\"name\": " : "\n{\"name\": ", file);
        cli_json_string(file, row.name);
        fputs(", \"file\": ", file);
        cli_json_string(file, row.file);
        fputs(", \"mapping\": ", file);
        cli_json_string(file, row.mapping);
        fprintf(file, ", \"line\": %" PRId64 ", \"self\": %" PRId64 ", \"total\": %" PRId64 ", \"self_share\": ", row.line,
                row.self, row.total);
        cli_json_number(file, share(row.self, profconv_top_total(top)));
        fputs(", \"total_share\": ", file);
        cli_json_number(file, share(row.total, profconv_top_total(top)));
        fputc('}', file);
    }
    fputs("\n]}\n", file);
}

static int show(const cli_arguments *arguments, const cli_table_options *o, const profconv_profile *profile) {
    profconv_top *top = NULL;
    profconv_top_options options = {0};
    profconv_error error;
    cli_text text;
    options.struct_size = sizeof options;
    options.sample_type = o->sample_type;
    options.by = o->by;
    options.cumulative = (uint32_t)cli_was_given(arguments, "cum", NULL);
    if (profconv_top_new(&top, profile, &options, &error))
        return cli_fail(NULL, &error);
    int status = cli_text_open(&text);
    if (status == CLI_OK) {
        (o->json ? print_json : print_table)(text.file, top, o);
        status = cli_text_close(&text, arguments->output, status);
    }
    profconv_top_free(top);
    return status;
}

int cli_top(const cli_arguments *arguments) {
    cli_table_options o;
    cli_loader loader;
    profconv_profile *profile = NULL;
    int status = cli_table_options_get(arguments, &o);
    if (status != CLI_OK)
        return status;
    status = cli_loader_start(&loader, arguments, o.by == PROFCONV_BY_LINE || o.by == PROFCONV_BY_FILE ? "pprof" : "collapsed");
    loader.looking = 1;
    if (status == CLI_OK)
        status = cli_load_all(&loader, &profile);
    if (status == CLI_OK) {
        cli_progress_end(&loader.progress);
        cli_report(arguments, loader.report);
        status = show(arguments, &o, profile);
    }
    profconv_profile_free(profile);
    cli_loader_end(&loader);
    return status;
}
