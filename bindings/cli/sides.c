/* SPDX-License-Identifier: MIT
 *
 * Which profiles are before and which after, and their sums.
 */
#include "sides.h"

#include <stdlib.h>
#include <string.h>

static int start(cli_side *side, size_t most) {
    side->names = (const char **)calloc(most + 1, sizeof *side->names);
    side->runs = (profconv_profile **)calloc(most + 1, sizeof *side->runs);
    if (side->names && side->runs)
        return CLI_OK;
    cli_error("out of memory");
    return CLI_FAILED;
}

/* 0: before, 1: after, -1: another option. */
static int which(const cli_given *given) {
    return strcmp(given->option->name, "before") == 0 ? 0 : strcmp(given->option->name, "after") == 0 ? 1 : -1;
}

int cli_sides_find(cli_side sides[2], const cli_arguments *arguments) {
    size_t most = arguments->input_count + arguments->given_count;
    int status = start(&sides[0], most), now = -1;
    size_t operand = 0;
    if (status == CLI_OK)
        status = start(&sides[1], most);
    for (size_t i = 0; i <= arguments->given_count && status == CLI_OK; i++) {
        const cli_given *given = i < arguments->given_count ? &arguments->given[i] : NULL;
        if (given && which(given) < 0)
            continue;
        size_t end = given ? given->operands : arguments->input_count;
        if (given && now < 0 && end > 0)
            return cli_usage_error("%s: it stands before --%s, so it is on neither side", arguments->inputs[0],
                                   given->option->name);
        for (; now >= 0 && operand < end; operand++)
            sides[now].names[sides[now].count++] = arguments->inputs[operand];
        if (given) {
            now = which(given);
            sides[now].names[sides[now].count++] = given->argument;
        }
    }
    if (status == CLI_OK && now < 0) {
        if (arguments->input_count != 2)
            return cli_usage_error("diff compares two profiles: BEFORE and AFTER; several of a side need --before and --after");
        for (int k = 0; k < 2; k++)
            sides[k].names[sides[k].count++] = arguments->inputs[k];
    }
    if (status == CLI_OK && (sides[0].count == 0 || sides[1].count == 0))
        return cli_usage_error("--before and --after go together");
    return status;
}

static int load_run(cli_side *side, cli_loader *loader, const char *name) {
    profconv_profile **run = &side->runs[side->loaded];
    int status = cli_load(loader, name, run);
    side->loaded += *run != NULL;
    if (status != CLI_OK)
        return status;
    cli_progress_end(&loader->progress);
    cli_report(loader->arguments, profconv_profile_report(*run));
    return cli_load_prepare(loader, name, run);
}

static int add_up(cli_side *side) {
    profconv_builder *builder = NULL;
    profconv_error error;
    side->sum = side->runs[0];
    if (side->count == 1)
        return CLI_OK;
    int failed = profconv_builder_new(&builder, NULL, NULL, &error);
    size_t i = 0;
    for (; !failed && i < side->count; i++) {
        failed = profconv_merge(builder, side->runs[i], 1, &error);
        if (failed)
            cli_fail(side->names[i], &error);
    }
    if (failed && i == 0)
        cli_fail(NULL, &error);
    if (!failed && (failed = profconv_builder_freeze(builder, &side->made, &error)) != 0)
        cli_fail(NULL, &error);
    profconv_builder_free(builder);
    side->sum = side->made;
    return failed ? CLI_FAILED : CLI_OK;
}

int cli_sides_load(cli_side sides[2], cli_loader *loader) {
    int status = CLI_OK;
    for (int k = 0; k < 2 && status == CLI_OK; k++) {
        for (size_t i = 0; i < sides[k].count && status == CLI_OK; i++)
            status = load_run(&sides[k], loader, sides[k].names[i]);
        if (status == CLI_OK)
            status = add_up(&sides[k]);
    }
    return status;
}

void cli_sides_free(cli_side sides[2]) {
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < sides[k].loaded; i++)
            profconv_profile_free(sides[k].runs[i]);
        profconv_profile_free(sides[k].made);
        free(sides[k].runs);
        free(sides[k].names);
    }
}
