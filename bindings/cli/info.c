/* SPDX-License-Identifier: MIT
 *
 * profconv info: the facts of a profile on one screen.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "read.h"

#define MAPPINGS_SHOWN 10

static void field(const char *name, profconv_string value) {
    if (value.size == 0)
        return;
    printf("%-12s ", name);
    cli_print_text(stdout, value);
    putchar('\n');
}

static double seconds(int64_t ns) { return (double)ns / 1e9; }

static void print_times(const profconv_profile *profile) {
    const profconv_info *info = profconv_profile_info(profile);
    if (info->time_ns != 0) {
        char text[40];
        struct tm parts;
        time_t time = (time_t)(info->time_ns / 1000000000);
        if (gmtime_r(&time, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts))
            printf("%-12s %s\n", "started", text);
    }
    if (info->duration_ns > 0)
        printf("%-12s %.3f s\n", "duration", seconds(info->duration_ns));
    if (info->period > 0) {
        char number[32];
        printf("%-12s %s ", "period", cli_number(number, info->period));
        cli_print_text(stdout, profconv_profile_string(profile, info->period_unit));
        fputs(info->period_type ? " of " : "", stdout);
        cli_print_text(stdout, profconv_profile_string(profile, info->period_type));
        putchar('\n');
    }
}

static void print_facets(const profconv_profile *profile) {
    uint32_t facets = profconv_profile_facets(profile);
    printf("%-12s", "holds");
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        if (facets & bit)
            printf(" %s", profconv_facet_name(bit));
    }
    puts(facets ? "" : " nothing");
}

static void print_tables(const profconv_profile *profile) {
    static const struct {
        profconv_table table;
        int none; /* has a row 0 that stands for nothing */
        const char *name;
    } tables[] = {
        {PROFCONV_TABLE_SAMPLE, 0, "sample rows"},      {PROFCONV_TABLE_STACK, 1, "stack nodes"},
        {PROFCONV_TABLE_LOCATION, 1, "locations"},      {PROFCONV_TABLE_FUNCTION, 1, "functions"},
        {PROFCONV_TABLE_MAPPING, 1, "mappings"},        {PROFCONV_TABLE_LABEL_SET, 1, "label sets"},
        {PROFCONV_TABLE_BRANCH, 0, "branches"},         {PROFCONV_TABLE_RANGE, 0, "ranges"},
        {PROFCONV_TABLE_SOURCE, 1, "source functions"},
    };
    const char *separator = "";
    printf("%-12s ", "size");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char number[32];
        uint32_t rows = profconv_profile_rows(profile, tables[i].table);
        rows -= rows > 0 && tables[i].none;
        if (rows == 0)
            continue;
        printf("%s%s %s", separator, cli_number(number, rows), tables[i].name);
        separator = ", ";
    }
    puts(separator[0] ? "" : "empty");
}

static void print_types(const profconv_profile *profile) {
    uint32_t types = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE_TYPE);
    uint32_t usual = profconv_profile_default_sample_type(profile);
    if (types == 0)
        return;
    puts("\nsample types                               total  unit          event");
    for (uint32_t i = 0; i < types; i++) {
        char number[32];
        const profconv_sample_type *type = profconv_profile_sample_type(profile, i);
        printf("%c %-22.60s %22s  ", i == usual ? '*' : ' ', profconv_profile_string(profile, type->name).data,
               cli_number(number, profconv_profile_total(profile, i)));
        printf("%-13.40s ", profconv_profile_string(profile, type->unit).data);
        cli_print_text(stdout, profconv_profile_string(profile, type->event));
        putchar('\n');
    }
}

/* ---- mappings ---- */

typedef struct share {
    int64_t weight;
    profconv_id file, build_id;
} share;

static int by_weight(const void *a, const void *b) {
    const share *x = (const share *)a;
    const share *y = (const share *)b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->file > y->file) - (x->file < y->file);
}

/* Sums the default values of samples by the file that their leaf lies in; returns the sum of all. */
static double sum_by_file(const profconv_profile *profile, share *shares, uint32_t count) {
    uint32_t type = profconv_profile_default_sample_type(profile);
    double all = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE); i++) {
        const profconv_stack *leaf = profconv_profile_stack(profile, profconv_profile_sample_stack(profile, i));
        profconv_id mapping = profconv_profile_location(profile, leaf->location)->mapping;
        int64_t value = profconv_profile_sample_value(profile, i, type);
        all += (double)value;
        if (mapping < count && value < INT64_MAX - shares[mapping].weight)
            shares[mapping].weight += value;
    }
    return all;
}

/* Mappings of one file become one row; returns the number of rows, the first ones. */
static uint32_t unite(share *shares, uint32_t count) {
    uint32_t rows = 0;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t k = 0;
        while (k < rows && (shares[k].file != shares[i].file || shares[k].build_id != shares[i].build_id))
            k++;
        if (k < rows) {
            shares[k].weight += shares[i].weight;
        } else {
            share own = shares[i];
            shares[rows++] = own;
        }
    }
    return rows;
}

static int print_mappings(const cli_arguments *arguments, const profconv_profile *profile) {
    uint32_t count = profconv_profile_rows(profile, PROFCONV_TABLE_MAPPING);
    if (count <= 1)
        return CLI_OK;
    share *shares = (share *)calloc(count, sizeof *shares);
    if (!shares) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    for (uint32_t i = 0; i < count; i++) {
        const profconv_mapping *mapping = profconv_profile_mapping(profile, i);
        shares[i].file = mapping->file;
        shares[i].build_id = mapping->build_id;
    }
    double all = sum_by_file(profile, shares, count);
    uint32_t rows = unite(shares, count);
    qsort(shares, rows, sizeof *shares, by_weight);
    puts("\nshare   build-id                                  file");
    for (uint32_t i = 0; i < rows && (arguments->verbose || i < MAPPINGS_SHOWN); i++) {
        profconv_string id = profconv_profile_string(profile, shares[i].build_id);
        printf("%5.1f%%  %-40.64s  ", all > 0 ? 100.0 * (double)shares[i].weight / all : 0.0, id.size ? id.data : "-");
        cli_print_text(stdout, profconv_profile_string(profile, shares[i].file));
        putchar('\n');
    }
    if (!arguments->verbose && rows > MAPPINGS_SHOWN)
        printf("        and %u more (-v)\n", rows - MAPPINGS_SHOWN);
    free(shares);
    return CLI_OK;
}

/* ---- the rest ---- */

static void print_attributes(const profconv_profile *profile) {
    uint32_t count = profconv_profile_rows(profile, PROFCONV_TABLE_ATTRIBUTE);
    for (uint32_t i = 0; i < count; i++) {
        profconv_string key;
        profconv_string value;
        if (profconv_profile_attribute(profile, i, &key, &value) == PROFCONV_OK)
            field(key.data, value);
    }
    for (uint32_t i = 0; i < profconv_profile_rows(profile, PROFCONV_TABLE_COMMENT); i++)
        field("comment", profconv_profile_string(profile, profconv_profile_comment(profile, i)));
}

static void print_notes(const profconv_profile *profile) {
    static const char *const kinds[] = {"", "note", "warning", "dropped", "lost"};
    const profconv_report *report = profconv_profile_report(profile);
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        char number[32];
        if (profconv_report_get(report, i, &note))
            continue;
        if (i == 0)
            puts("\nnotes");
        profconv_string message = {note.message, strlen(note.message)};
        printf("  %-8s %8s  ", note.kind <= PROFCONV_NOTE_LOST ? kinds[note.kind] : "note",
               cli_number(number, note.count > INT64_MAX ? INT64_MAX : (int64_t)note.count));
        cli_print_text(stdout, message);
        putchar('\n');
    }
}

/* ---- Go ---- */

/* Go's linker puts a note with its own build-id on the first page of a program. */
static int is_go_program(const char *path) {
    static const char mark[] = {4, 0, 0, 0, 'G', 'o', 0, 0}; /* type of the note, its owner */
    char page[4096];
    struct stat st;
    int found = 0, fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, page, sizeof page) : 0;
    close(fd);
    for (size_t i = 0; n > 0 && i + sizeof mark <= (size_t)n && !found; i += 4)
        found = memcmp(page + i, mark, sizeof mark) == 0;
    return found;
}

/* A program's mapping that has samples; *go says whether its file, or the one that was given for it, is Go's. NULL: none. */
static const profconv_mapping *main_program(const cli_arguments *arguments, const profconv_profile *profile, int *go) {
    const profconv_mapping *missing = NULL;
    const char *given = NULL;
    *go = cli_was_given(arguments, "binary", &given) && given && is_go_program(given);
    for (uint32_t i = 1; i < profconv_profile_rows(profile, PROFCONV_TABLE_MAPPING); i++) {
        const profconv_mapping *mapping = profconv_profile_mapping(profile, i);
        const char *file = profconv_profile_string(profile, mapping->file).data;
        if (mapping->kind != PROFCONV_MAPPING_EXECUTABLE)
            continue;
        if (*go || is_go_program(file)) {
            *go = 1;
            return mapping;
        }
        if (!missing && mapping->build_id == 0 && access(file, R_OK) != 0)
            missing = mapping; /* Go's programs long had no GNU build-id */
    }
    return missing;
}

/* Recordings of Go programs: leaves whose direct caller frame pointers do not show, which Go's PGO goes by. */
static void print_go(const profconv_profile *profile) {
    profconv_report *report = NULL;
    int go = 0;
    for (uint32_t i = 1; !go && i < profconv_profile_rows(profile, PROFCONV_TABLE_FUNCTION); i++) {
        const profconv_function *function = profconv_profile_function(profile, i);
        profconv_string name = profconv_profile_string(profile, function->linkage_name);
        go = name.size > 12 && (strcmp(name.data, "runtime.goexit.abi0") == 0 || strcmp(name.data, "runtime.goexit") == 0 ||
                                strcmp(name.data, "runtime.mcall") == 0 || strcmp(name.data, "runtime.schedule") == 0);
    }
    if (!go || profconv_report_new(&report, NULL, NULL))
        return;
    (void)profconv_check(profile, "go-pgo", report, NULL); /* what it finds counts, not whether it is enough */
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        char number[32];
        if (profconv_report_get(report, i, &note) || strcmp(note.cause, "frameless-leaves") != 0)
            continue;
        printf("\nGo           %s %s (profconv check --for go-pgo)\n", cli_number(number, (int64_t)note.count), note.message);
    }
    profconv_report_free(report);
}

void cli_info_go(const cli_arguments *arguments, const profconv_registry *registry, const profconv_convert_options *read,
                 profconv_options *settings, profconv_profile **profile) {
    uint32_t facets = profconv_profile_facets(*profile);
    int go;
    if ((facets & PROFCONV_FACET_SYMBOLS) || !(facets & PROFCONV_FACET_STACKS) || !(facets & PROFCONV_FACET_ADDRESSES))
        return;
    const profconv_mapping *program = main_program(arguments, *profile, &go);
    if (!program)
        return;
    if (!go) {
        printf("\nGo           ");
        cli_print_text(stdout, profconv_profile_string(*profile, program->file));
        puts(" is not here; if it is a Go program, --binary=FILE names it, and its leaves at risk are counted");
        return;
    }
    /* The names of functions are enough, and quick to read. */
    profconv_convert_options options = *read;
    profconv_error error;
    options.to = "collapsed";
    if (profconv_options_put(settings, "symbolize", "lines", "no", &error) == PROFCONV_OK &&
        profconv_prepare(registry, profile, &options, NULL, &error) == PROFCONV_OK)
        print_go(*profile);
}

static int look(const cli_arguments *arguments, const profconv_profile *profile) {
    print_times(profile);
    print_attributes(profile);
    print_facets(profile);
    print_tables(profile);
    print_types(profile);
    int status = print_mappings(arguments, profile);
    print_go(profile);
    print_notes(profile);
    return status == CLI_OK ? cli_flush() : status;
}

int cli_info(const cli_arguments *arguments) { return cli_read_each(arguments, look); }
