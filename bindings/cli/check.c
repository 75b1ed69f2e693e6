/* SPDX-License-Identifier: MIT
 *
 * profconv check --for CONSUMER FILE: whether a profile will work for a compiler, and what it lacks. Exit status 0 when
 * it will, 1 when it will not.
 */
#include <string.h>

#include "cli.h"

/* What the profile would be written as for the consumer; the passes that make it so run first for go-pgo, which cannot
 * judge addresses without names. */
static const char *target_of(const char *consumer) { return strcmp(consumer, "go-pgo") == 0 ? "go-preprofile" : NULL; }

static int usage(const char *given) {
    char known[120] = "";
    size_t at = 0;
    for (size_t i = 0; profconv_check_consumer(i); i++) {
        int n = snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", profconv_check_consumer(i));
        if (n < 0 || (size_t)n >= sizeof known - at)
            break;
        at += (size_t)n;
    }
    return given ? cli_usage_error("--for=%s: there are %s", given, known)
                 : cli_usage_error("say what the profile is for: --for=NAME, one of %s", known);
}

static void print_findings(const profconv_report *report) {
    static const char *const kinds[] = {"", "has", "weak", "dropped", "lacks"};
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        char number[32];
        if (profconv_report_get(report, i, &note) || note.kind > PROFCONV_NOTE_LOST)
            continue;
        profconv_string message = {note.message, strlen(note.message)};
        printf("  %-7s %12s  ", kinds[note.kind],
               cli_number(number, note.count > INT64_MAX ? INT64_MAX : (int64_t)note.count));
        cli_print_text(stdout, message);
        putchar('\n');
    }
}

static int judge(const cli_arguments *arguments, const char *name, const char *consumer,
                 const profconv_profile *profile) {
    profconv_report *report = NULL;
    profconv_error error;
    if (profconv_report_new(&report, NULL, &error))
        return cli_fail(NULL, &error);
    int verdict = profconv_check(profile, consumer, report, &error);
    int status = verdict ? CLI_FAILED : CLI_OK;
    if (verdict && verdict != PROFCONV_E_MISSING_FACET)
        status = cli_fail(name, &error);
    else
        printf("%s: %s for %s%s%s\n", name, verdict ? "will not work" : "will work", consumer, verdict ? ": " : "",
               verdict ? error.message : "");
    if (!arguments->quiet)
        print_findings(report);
    profconv_report_free(report);
    return cli_flush() == CLI_OK ? status : CLI_FAILED;
}

static int check_one(const cli_arguments *arguments, const profconv_registry *registry, profconv_input *input,
                     const profconv_options *settings, const char *consumer) {
    profconv_profile *profile = NULL;
    profconv_error error;
    profconv_limits limits;
    profconv_convert_options options;
    cli_conversion(arguments, &limits, &options);
    options.settings = settings;
    options.to = target_of(consumer);
    if (profconv_read(registry, input, &options, &profile, &error))
        return cli_fail(profconv_input_name(input), &error);
    /* Where this fails, the check says what is missing. */
    if (options.to)
        profconv_prepare(registry, &profile, &options, NULL, &error);
    int status = judge(arguments, profconv_input_name(input), consumer, profile);
    profconv_profile_free(profile);
    return status;
}

int cli_check(const cli_arguments *arguments) {
    const char *consumer = NULL;
    size_t known = 0;
    profconv_options *settings = NULL;
    profconv_error error;
    profconv_format_info target;
    cli_inputs inputs = {0};
    cli_was_given(arguments, "for", &consumer);
    while (consumer && profconv_check_consumer(known) && strcmp(profconv_check_consumer(known), consumer) != 0)
        known++;
    if (!consumer || !profconv_check_consumer(known))
        return usage(consumer);
    profconv_registry *registry = cli_registry();
    if (!registry)
        return CLI_FAILED;
    int status = cli_inputs_open(&inputs, arguments, registry);
    if (status == CLI_OK && profconv_options_new(&settings, NULL, &error))
        status = cli_fail(NULL, &error);
    if (status == CLI_OK) {
        const char *to = target_of(consumer);
        int writes = to && profconv_registry_find(registry, to, &target) == PROFCONV_OK;
        cli_parts parts = {inputs.formats, inputs.count, writes ? &target : NULL, 1};
        status = cli_apply(arguments, &parts, settings);
    }
    int worst = status;
    for (size_t i = 0; i < inputs.count && status == CLI_OK; i++) {
        int one = check_one(arguments, registry, inputs.items[i].input, settings, consumer);
        worst = one > worst ? one : worst;
    }
    cli_inputs_free(&inputs);
    profconv_options_free(settings);
    profconv_registry_free(registry);
    return worst;
}
