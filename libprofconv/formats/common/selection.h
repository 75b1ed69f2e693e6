/* SPDX-License-Identifier: MIT
 *
 * Which samples of a recording are read, and with which labels: the settings that all readers of perf's recordings
 * have.
 */
#ifndef PFC_COMMON_SELECTION_H
#define PFC_COMMON_SELECTION_H

#include <profconv/plugin.h>

#include "libprofconv/base/mem.h"

/* The rows of these settings, to stand first in a reader's own. */
#define PFC_SELECTION_SETTINGS                                                                                         \
    {"event", PROFCONV_SETTING_LIST, NULL, NULL, "read only these events, named with or without modifiers"},           \
        {"pid", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these processes (numbers, ranges, commas)"},  \
        {"tid", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these threads"},                              \
        {"comm", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of threads with these names"}, {                \
        "cpu", PROFCONV_SETTING_LIST, NULL, NULL, "read only samples of these CPUs"                                    \
    }

/* And those that stand behind `time` and `labels`, whose help differs. */
#define PFC_SELECTION_STACK_SETTINGS                                                                                   \
    {"kernel", PROFCONV_SETTING_BOOL, "yes", NULL, "keep kernel frames"},                                              \
        {"max-stack", PROFCONV_SETTING_INT, "0", NULL, "keep at most this many frames from the leaf on (0: all)"}, {   \
        "branches", PROFCONV_SETTING_BOOL, "yes", NULL, "read last-branch records into branches and ranges"            \
    }

typedef struct pfc_number_range {
    int64_t first, last;
} pfc_number_range;
typedef PFC_VEC(pfc_number_range) pfc_numbers;

/* In the order of label_names in selection.c. */
enum {
    PFC_LABEL_PID = 1,
    PFC_LABEL_TID = 2,
    PFC_LABEL_THREAD = 4,
    PFC_LABEL_COMM = 8,
    PFC_LABEL_CPU = 16,
    PFC_LABEL_TIMESTAMP = 32,
    PFC_LABEL_CGROUP = 64
};
#define PFC_LABEL_COUNT 7

typedef struct pfc_selection {
    int events, kernel, branches; /* events: some are named */
    uint32_t max_stack;           /* 0: no bound */
    pfc_numbers pids, tids, cpus;
    PFC_VEC(profconv_id) comms;
    int time;
    uint64_t time_start, time_stop; /* inclusive */
    unsigned labels;
    profconv_id label_keys[PFC_LABEL_COUNT], nanoseconds;
} pfc_selection;

/* What reading settings takes; `scope` and `settings` are the reader's. */
typedef struct pfc_selection_source {
    pfc_mem *mem;
    profconv_builder *builder;
    const profconv_options *options;
    profconv_error *error;
    const char *scope;
    const profconv_setting *settings;
    int64_t most;     /* the largest number that an id can have */
    unsigned labels;  /* those that it can make: the first so many */
    const char *time; /* what `time` can be */
} pfc_selection_source;

/* All but `time`. 0 or a status. */
int pfc_selection_read(pfc_selection *selection, const pfc_selection_source *from);
/* "START,STOP" in seconds. */
int pfc_selection_read_time(pfc_selection *selection, const pfc_selection_source *from, const char *text);
void pfc_selection_free(pfc_selection *selection, pfc_mem *mem);
/* Sets the error: the setting's value, and what was expected. */
int pfc_selection_invalid(const pfc_selection_source *from, const char *key, const char *value, const char *expected);

/* Nonzero when no numbers were chosen, or the value (`known`) is among them. */
int pfc_numbers_hold(const pfc_numbers *numbers, int known, int64_t value);
int pfc_selection_comm(const pfc_selection *selection, profconv_id comm);
static inline int pfc_selection_time(const pfc_selection *selection, int known, uint64_t time) {
    return !selection->time || (known && time >= selection->time_start && time <= selection->time_stop);
}

/* A label under the key of one PFC_LABEL_ bit. */
profconv_id pfc_selection_number(const pfc_selection *selection, profconv_builder *builder, unsigned label,
                                 int64_t number);
profconv_id pfc_selection_text(const pfc_selection *selection, profconv_builder *builder, unsigned label,
                               profconv_id text);

#endif
