/* SPDX-License-Identifier: MIT
 *
 * convert INPUT OUTPUT: any profile to any other; the output's format follows from its suffix.
 */
#include <profconv/profconv.h>
#include <stdio.h>

int main(int argc, char **argv) {
    profconv_registry *registry = NULL;
    profconv_convert_input input = {0};
    profconv_output *output = NULL;
    profconv_report *report = NULL;
    profconv_format_info target;
    profconv_convert_options options = {.struct_size = sizeof options};
    profconv_note note;
    profconv_error error = {.message = "usage: convert INPUT OUTPUT, with a suffix that is known"};

    int failed = argc != 3 || profconv_registry_new(&registry, NULL, &error) ||
                 profconv_registry_find_suffix(registry, argv[2], &target) ||
                 profconv_report_new(&report, NULL, &error) ||
                 profconv_input_open_path(&input.input, argv[1], NULL, &error) ||
                 profconv_output_open_path(&output, argv[2], NULL, &error);
    if (!failed) {
        options.to = target.name;
        failed = profconv_convert(registry, &input, 1, output, &options, report, &error);
    }
    if (failed)
        fprintf(stderr, "%s\n", error.message);
    for (size_t i = 0; report && profconv_report_get(report, i, &note) == PROFCONV_OK; i++)
        fprintf(stderr, "%s\n", note.message);
    profconv_output_free(output);
    profconv_input_free(input.input);
    profconv_report_free(report);
    profconv_registry_free(registry);
    return failed ? 1 : 0;
}
