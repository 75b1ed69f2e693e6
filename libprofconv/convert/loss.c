/* SPDX-License-Identifier: MIT
 *
 * What a conversion says about what did not come through: facets that the target has no place for, with their extent in
 * rows, and the cause when nothing is left to write.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libprofconv/convert/convert.h"

/* Rows of a table that starts with a none row. */
static uint64_t rows_of(const profconv_profile *profile, profconv_table table) {
    uint32_t rows = profconv_profile_rows(profile, table);
    return rows > 0 ? rows - 1 : 0;
}

static uint64_t locations_with_address(const profconv_profile *profile) {
    uint64_t count = 0;
    uint32_t rows = profconv_profile_rows(profile, PROFCONV_TABLE_LOCATION);
    for (uint32_t i = 1; i < rows; i++)
        count += profconv_profile_location(profile, i)->mapping != 0;
    return count;
}

static uint64_t samples_with_labels(const profconv_profile *profile) {
    uint64_t count = 0;
    uint32_t rows = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE);
    for (uint32_t i = 0; i < rows; i++)
        count += profconv_profile_sample_label_set(profile, i) != 0;
    return count;
}

/* Nonzero when the writer holds labels with this key in its own way: by default, or because its setting of that name is
 * on. */
static int is_held(const profconv_writer *writer, const profconv_options *settings, profconv_string key) {
    for (const char *item = writer->labels; item && *item;) {
        size_t n = strcspn(item, ",");
        if (n == key.size && memcmp(item, key.data, n) == 0)
            return 1;
        item += n + (item[n] == ',');
    }
    for (const profconv_setting *setting = writer->settings; setting && setting->name; setting++) {
        if (setting->type == PROFCONV_SETTING_BOOL && strcmp(setting->name, key.data) == 0)
            return profconv_options_bool(settings, writer->name, writer->settings, setting->name);
    }
    return 0;
}

/* Distinct label keys that the writer does not hold, up to 64, and their names as far as `out` holds them. */
static size_t label_keys(const profconv_profile *profile, const profconv_writer *writer,
                         const profconv_options *settings, char *out, size_t size) {
    profconv_id keys[64];
    size_t count = 0;
    size_t at = 0;
    uint32_t rows = profconv_profile_rows(profile, PROFCONV_TABLE_LABEL);
    out[0] = '\0';
    for (uint32_t i = 1; i < rows && count < 64; i++) {
        profconv_id key = profconv_profile_label(profile, i)->key;
        size_t k = 0;
        while (k < count && keys[k] != key)
            k++;
        if (k < count || is_held(writer, settings, profconv_profile_string(profile, key)))
            continue;
        keys[count++] = key;
        int n = snprintf(out + at, size - at, "%s%.40s", at ? ", " : "", profconv_profile_string(profile, key).data);
        if (n < 0 || (size_t)n >= size - at)
            out[at] = '\0';
        else
            at += (size_t)n;
    }
    return count;
}

/* How much of a facet there is, and in words. */
static uint64_t extent(const profconv_profile *profile, uint32_t facet, const profconv_writer *writer,
                       const profconv_options *settings, char *words, size_t size) {
    uint64_t count = 0;
    char keys[200];
    switch (facet) {
    case PROFCONV_FACET_SYMBOLS:
        count = rows_of(profile, PROFCONV_TABLE_FUNCTION);
        snprintf(words, size, "%" PRIu64 " functions", count);
        break;
    case PROFCONV_FACET_ADDRESSES:
        count = locations_with_address(profile);
        snprintf(words, size, "%" PRIu64 " locations in %" PRIu64 " mappings", count,
                 rows_of(profile, PROFCONV_TABLE_MAPPING));
        break;
    case PROFCONV_FACET_LINES:
        count = rows_of(profile, PROFCONV_TABLE_LINE);
        snprintf(words, size, "%" PRIu64 " lines", count);
        break;
    case PROFCONV_FACET_STACKS:
        count = profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE);
        snprintf(words, size, "%" PRIu64 " distinct samples", count);
        break;
    case PROFCONV_FACET_LABELS: {
        size_t n = label_keys(profile, writer, settings, keys, sizeof keys);
        count = n > 0 ? samples_with_labels(profile) : 0;
        snprintf(words, size, "%zu%s keys: %s", n, n == 64 ? " or more" : "", keys);
        break;
    }
    case PROFCONV_FACET_BRANCHES:
        count = (uint64_t)profconv_profile_rows(profile, PROFCONV_TABLE_BRANCH) +
                profconv_profile_rows(profile, PROFCONV_TABLE_RANGE);
        snprintf(words, size, "%u edges, %u ranges", profconv_profile_rows(profile, PROFCONV_TABLE_BRANCH),
                 profconv_profile_rows(profile, PROFCONV_TABLE_RANGE));
        break;
    default:
        count = rows_of(profile, PROFCONV_TABLE_SOURCE);
        snprintf(words, size, "%" PRIu64 " functions", count);
        break;
    }
    return count;
}

void pfc_report_losses(const profconv_profile *profile, const profconv_writer *writer, const profconv_options *settings,
                       profconv_report *report) {
    uint32_t lost = profconv_profile_facets(profile) & ~writer->keeps;
    for (uint32_t bit = 1; bit & PROFCONV_FACET_ALL; bit <<= 1) {
        char cause[48];
        char words[256];
        if (!(lost & bit))
            continue;
        /* A writer that keeps no labels as such may hold some in its own way, as a thread's name in a frame. */
        uint64_t count = extent(profile, bit, writer, settings, words, sizeof words);
        if (bit == PROFCONV_FACET_LABELS && count == 0)
            continue;
        snprintf(cause, sizeof cause, "facet-%s", profconv_facet_name(bit));
        profconv_report_add(report, PROFCONV_NOTE_LOST, cause, count, 0, PROFCONV_NO_OFFSET, 0,
                            "%s (%s) cannot be held by %s", profconv_facet_name(bit), words, writer->name);
    }
}

int pfc_profile_is_empty(const profconv_profile *profile) {
    static const profconv_table with_rows[] = {PROFCONV_TABLE_SAMPLE, PROFCONV_TABLE_BRANCH, PROFCONV_TABLE_RANGE,
                                               PROFCONV_TABLE_ADDRESS};
    for (size_t i = 0; i < sizeof with_rows / sizeof *with_rows; i++) {
        if (profconv_profile_rows(profile, with_rows[i]) > 0)
            return 0;
    }
    return rows_of(profile, PROFCONV_TABLE_SOURCE) == 0;
}

int pfc_empty_error(const profconv_profile *profile, const char *format, profconv_error *error) {
    const profconv_report *report = profconv_profile_report(profile);
    profconv_note heaviest = {0};
    for (size_t i = 0; i < profconv_report_count(report); i++) {
        profconv_note note;
        if (profconv_report_get(report, i, &note) != PROFCONV_OK || note.kind == PROFCONV_NOTE_INFO)
            continue;
        int better = note.kind == PROFCONV_NOTE_DROPPED && heaviest.kind != PROFCONV_NOTE_DROPPED;
        if (!heaviest.cause || better || (note.kind == heaviest.kind && note.count > heaviest.count))
            heaviest = note;
    }
    if (!heaviest.cause)
        return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "nothing to write as %s: the input holds no samples", format);
    return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                              "nothing to write as %s: no sample is left; %s (%" PRIu64 " times)", format,
                              heaviest.message, heaviest.count);
}

void pfc_report_copy(profconv_report *to, const profconv_report *from) {
    for (size_t i = 0; to && from && i < profconv_report_count(from); i++) {
        profconv_note note;
        if (profconv_report_get(from, i, &note) == PROFCONV_OK)
            profconv_report_add(to, note.kind, note.cause, note.count, note.weight, note.offset, note.line, "%s",
                                note.message);
    }
}
