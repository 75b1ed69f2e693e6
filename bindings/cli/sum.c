/* SPDX-License-Identifier: MIT
 *
 * Adding up many inputs: opening each with the options for its format, and telling what became of it.
 */
#include <string.h>

#include "load.h"

static int open_next(void *user, uint64_t index, profconv_merge_input *next, profconv_error *error) {
    cli_sum *sum = (cli_sum *)user;
    int said = 0;
    if (index >= sum->count || sum->usage != CLI_OK)
        return PROFCONV_OK;
    memset(error, 0, sizeof *error);
    int status = cli_load_open(sum->loader, sum->inputs[index].name, &next->input, &next->options, &said, error);
    next->weight = sum->inputs[index].weight;
    if (status == CLI_OK)
        return PROFCONV_OK;
    if (said) { /* an option that this format does not have: the last input that is looked at */
        sum->usage = status;
        sum->usage_at = index;
    }
    return error->status ? error->status : PROFCONV_E_INVALID;
}

static int accept(void *user, uint64_t index, const profconv_profile *profile) {
    cli_sum *sum = (cli_sum *)user;
    (void)index;
    sum->accepted = !sum->accept || sum->accept(sum->user, profile);
    sum->merged += sum->accepted ? 1u : 0u;
    return sum->accepted;
}

static int done(void *user, uint64_t index, int status, const profconv_error *error) {
    cli_sum *sum = (cli_sum *)user;
    int accepted = sum->accepted;
    sum->accepted = 0;
    if (status == PROFCONV_OK)
        return PROFCONV_OK;
    sum->merged -= accepted ? 1u : 0u;
    if (sum->usage != CLI_OK && index == sum->usage_at) {
        sum->status = sum->usage;
        return status;
    }
    if (cli_interrupted()) {
        sum->status = CLI_FAILED;
        return status;
    }
    sum->status = cli_fail(sum->inputs[index].name, error);
    if (sum->status != CLI_FAILED || !sum->keep_going || profconv_builder_status(sum->builder, NULL))
        return status;
    sum->bad++;
    return PROFCONV_OK;
}

int cli_sum_up(cli_sum *sum) {
    profconv_merge_source source;
    profconv_limits limits;
    profconv_convert_options options;
    profconv_error error;
    memset(&source, 0, sizeof source);
    source.struct_size = sizeof source;
    source.open = open_next;
    source.accept = accept;
    source.done = done;
    source.user = sum;
    cli_load_options(sum->loader, &limits, &options);
    sum->status = CLI_FAILED; /* unless `done` knows better */
    return profconv_merge_inputs(sum->builder, sum->loader->registry, &options, &source, &error) ? sum->status : CLI_OK;
}
