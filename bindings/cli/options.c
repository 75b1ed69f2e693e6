/* SPDX-License-Identifier: MIT
 *
 * Every option of every command, once. Names follow the habits of perf, pprof and stackcollapse-perf.pl. An option that
 * is a setting goes to whatever part of the conversion declares it; filters belong to readers, so `--pid 12` selects a
 * process as in perf, and the first frames of collapsed stacks are asked for with --show-pid and --show-tid.
 */
#include <string.h>

#include "cli.h"

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, NULL, NULL, 0, CLI_ID_SETTING, {                                                                      \
            { CLI_ROLE_NONE, NULL, NULL }                                                                              \
        }                                                                                                              \
    }
#define READER(key, value)                                                                                             \
    { CLI_ROLE_READER, key, value }
#define PASS(key, value)                                                                                               \
    { CLI_ROLE_PASS, key, value }
#define WRITER(key, value)                                                                                             \
    { CLI_ROLE_WRITER, key, value }
#define FILTER(key, value)                                                                                             \
    { CLI_ROLE_FILTER, key, value }
#define NOWHERE                                                                                                        \
    { CLI_ROLE_NONE, NULL, NULL }
#define ONE(a)                                                                                                         \
    CLI_ID_SETTING, { a, NOWHERE, NOWHERE }
#define TWO(a, b)                                                                                                      \
    CLI_ID_SETTING, { a, b, NOWHERE }
#define THREE(a, b, c)                                                                                                 \
    CLI_ID_SETTING, { a, b, c }
#define OWN(id)                                                                                                        \
    id, { NOWHERE, NOWHERE, NOWHERE }

static const cli_option files[] = {
    {"from", 'f', "FORMAT", "format of the inputs; default: by content", CLI_READING & ~(unsigned)CLI_MERGE,
     OWN(CLI_ID_FROM)},
    {"to", 't', "FORMAT", "format to write; default: by the suffix of the output", CLI_CONVERT | CLI_DIFF, OWN(CLI_ID_TO)},
    {"input-format", 'f', "FORMAT", "format of the inputs; default: by content", CLI_MERGE, OWN(CLI_ID_FROM)},
    {"output-format", 't', "FORMAT", "format to write; default: by the suffix of the output, else that of the first input",
     CLI_MERGE, OWN(CLI_ID_TO)},
    {"output", 'o', "FILE", "output; - is stdout, the default", CLI_FRAMES | CLI_DUMP | CLI_SPLIT, OWN(CLI_ID_OUTPUT)},
    {"weighted-input", 0, "W,FILE", "input that counts W times; may be given several times", CLI_MERGE,
     OWN(CLI_ID_ARGUMENT)},
    {"keep-going", 0, NULL, "leave out inputs that cannot be read, and count them", CLI_MERGE, OWN(CLI_ID_ARGUMENT)},
    {"from", 0, "TIME", "only inputs recorded at that time or later: 2024-05-01T10:00 (UTC) or seconds since 1970", CLI_MERGE,
     OWN(CLI_ID_ARGUMENT)},
    {"to", 0, "TIME", "only inputs recorded before that time", CLI_MERGE, OWN(CLI_ID_ARGUMENT)},
    {"for", 0, "CONSUMER", "what to check for: go-pgo, llvm or gcc", CLI_CHECK, OWN(CLI_ID_ARGUMENT)},
    {"max-samples", 0, "N", "most samples of a part", CLI_SPLIT, OWN(CLI_ID_ARGUMENT)},
    {"max-bytes", 0, "N", "most bytes of a part before compression: 2M", CLI_SPLIT, OWN(CLI_ID_ARGUMENT)},
    {"input", 'i', "FILE", "input, as if it stood without -i; - is stdin", CLI_READING, OWN(CLI_ID_INPUT)},
    END,
};

static const cli_option selection[] = {
    {"event", 'e', "NAME", "read or write only this event; may be given several times", CLI_READING,
     THREE(READER("event", NULL), WRITER("event", NULL), FILTER("event", NULL))},
    {"event-filter", 0, "NAME", NULL, CLI_READING,
     THREE(READER("event", NULL), WRITER("event", NULL), FILTER("event", NULL))},
    {"pid", 0, "LIST", "only samples of these processes", CLI_READING, TWO(READER("pid", NULL), FILTER("pid", NULL))},
    {"tid", 0, "LIST", "only samples of these threads", CLI_READING, TWO(READER("tid", NULL), FILTER("tid", NULL))},
    {"comm", 0, "NAME", "only samples of threads with this name", CLI_READING,
     TWO(READER("comm", NULL), FILTER("comm", NULL))},
    {"cpu", 'C', "LIST", "only samples of these CPUs", CLI_READING, TWO(READER("cpu", NULL), FILTER("cpu", NULL))},
    {"time", 0, "START,STOP", "only samples of this time: seconds, +seconds from the first sample, or 10%,20%", CLI_READING,
     TWO(READER("time", NULL), FILTER("time", NULL))},
    {"label", 0, "KEY=VALUE", "only samples with this label; values of one key are alternatives", CLI_READING,
     ONE(FILTER("label", NULL))},
    {"tagfocus", 0, "KEY=REGEX", "only samples with a label that matches", CLI_READING, ONE(FILTER("tagfocus", NULL))},
    {"tagignore", 0, "KEY=REGEX", "no samples with a label that matches", CLI_READING, ONE(FILTER("tagignore", NULL))},
    {"max-stack", 0, "N", "keep at most N frames, from the leaf on", CLI_READING,
     TWO(READER("max-stack", NULL), FILTER("max-stack", NULL))},
    {"labels", 0, "LIST", "labels that samples get: thread,comm,pid,tid,cpu,...", CLI_READING,
     TWO(READER("labels", NULL), WRITER("labels", NULL))},
    END,
};

static const cli_option frames[] = {
    {"focus", 0, "REGEX", "only stacks with a frame whose function, file or mapping matches", CLI_FRAMES,
     ONE(FILTER("focus", NULL))},
    {"ignore", 0, "REGEX", "no stacks with a frame that matches", CLI_FRAMES, ONE(FILTER("ignore", NULL))},
    {"show", 0, "REGEX", "only frames that match", CLI_FRAMES, ONE(FILTER("show", NULL))},
    {"hide", 0, "REGEX", "no frames that match", CLI_FRAMES, ONE(FILTER("hide", NULL))},
    {"show-from", 0, "REGEX", "nothing above the outermost frame that matches", CLI_FRAMES, ONE(FILTER("show-from", NULL))},
    {"skip-after", 0, "REGEX", NULL, CLI_FRAMES, ONE(FILTER("show-from", NULL))},
    {"prune-from", 0, "REGEX", "nothing below the innermost function that matches", CLI_FRAMES,
     ONE(FILTER("prune-from", NULL))},
    {"tagroot", 0, "KEYS", "values of these labels as outermost frames", CLI_FRAMES, ONE(FILTER("tagroot", NULL))},
    {"tagleaf", 0, "KEYS", "values of these labels as innermost frames", CLI_FRAMES, ONE(FILTER("tagleaf", NULL))},
    {"granularity", 0, "HOW", "what frames are: address, line, function, file or mapping", CLI_FRAMES,
     ONE(FILTER("granularity", NULL))},
    {"nodes", 0, "N", "keep the N heaviest nodes of the call tree, the rest as [other]", CLI_FRAMES,
     ONE(FILTER("nodes", NULL))},
    END,
};

static const cli_option tables[] = {
    {"number", 'n', "N", "rows to print; 0: all; default: 20", CLI_TABLES, OWN(CLI_ID_ARGUMENT)},
    {"cum", 0, NULL, "sort by totals, callees included", CLI_TOP, OWN(CLI_ID_ARGUMENT)},
    {"by", 0, "WHAT", "what a row is: function (the default), line, file or mapping", CLI_TABLES, OWN(CLI_ID_ARGUMENT)},
    {"sample-type", 0, "NAME", "what is counted: a sample type or an event", CLI_TABLES, OWN(CLI_ID_ARGUMENT)},
    {"json", 0, NULL, "print JSON, with every row unless -n is given", CLI_TABLES, OWN(CLI_ID_ARGUMENT)},
    {"width", 0, "N", "columns of the terminal; default: as it is, unlimited elsewhere", CLI_TABLES, OWN(CLI_ID_ARGUMENT)},
    {"mode", 0, "HOW", "compare raw (the default), per-second or per-work", CLI_DIFF,
     OWN(CLI_ID_ARGUMENT)},
    {"work-before", 0, "N", "units of work (requests, iterations) before, for per-work", CLI_DIFF, OWN(CLI_ID_ARGUMENT)},
    {"work-after", 0, "N", "units of work after", CLI_DIFF, OWN(CLI_ID_ARGUMENT)},
    {"before", 0, "RUN", "one of several runs before, with the operands after it; may be given several times", CLI_DIFF,
     OWN(CLI_ID_ARGUMENT)},
    {"after", 0, "RUN", "the same for the side after; runs tell how much the program varies", CLI_DIFF,
     OWN(CLI_ID_ARGUMENT)},
    END,
};

static const cli_option symbols[] = {
    {"binary", 0, "FILE", "code and debug information of a recorded program; may be given several times", CLI_FILES,
     TWO(PASS("binary", NULL), WRITER("binary", NULL))},
    {"symfs", 0, "DIR", "directory that recorded paths are relative to", CLI_FILES, ONE(PASS("symfs", NULL))},
    {"debug-dir", 0, "DIR", "directory of debug files; may be given several times", CLI_FILES,
     ONE(PASS("debug-dir", NULL))},
    {"buildid-dir", 0, "DIR", "perf's cache of files by build-id; default: ~/.debug", CLI_PASSES,
     ONE(PASS("buildid-dir", NULL))},
    {"vmlinux", 'k', "FILE", "the kernel's image with symbols", CLI_PASSES, ONE(PASS("vmlinux", NULL))},
    {"kallsyms", 0, "FILE", "copy of /proc/kallsyms of the recorded machine", CLI_PASSES, ONE(PASS("kallsyms", NULL))},
    {"perf-map-dir", 0, "DIR", "directory of perf-PID.map files; default: /tmp", CLI_PASSES,
     ONE(PASS("perf-map-dir", NULL))},
    {"demangle", 0, "HOW", "C++ and Rust names: full (the default), simple or none", CLI_PASSES, ONE(PASS("demangle", NULL))},
    {"no-demangle", 0, NULL, NULL, CLI_PASSES, ONE(PASS("demangle", "none"))},
    {"symbolize", 0, "WHEN", "name the code: auto (the default: where names are missing and wanted), yes or no", CLI_PASSES,
     ONE(PASS("symbolize", NULL))},
    {"inline", 0, NULL, "show inlined functions as frames (the default); opposite: --no-inline", CLI_PASSES,
     THREE(PASS("inline", "yes"), WRITER("inline", "yes"), FILTER("inline", "yes"))},
    {"no-inline", 0, NULL, NULL, CLI_PASSES, THREE(PASS("inline", "no"), WRITER("inline", "no"), FILTER("inline", "no"))},
    {"noinlines", 0, NULL, NULL, CLI_PASSES, THREE(PASS("inline", "no"), WRITER("inline", "no"), FILTER("inline", "no"))},
    END,
};

static const cli_option stacks[] = {
    {"weight", 0, "NAME", "number of a line: auto (the default), samples, period, or a sample type's name", CLI_CONVERT,
     ONE(WRITER("weight", NULL))},
    {"samples", 0, NULL, "the same as --weight=samples", CLI_CONVERT, ONE(WRITER("weight", "samples"))},
    {"show-pid", 0, NULL, "first frame comm-PID", CLI_CONVERT, ONE(WRITER("pid", "yes"))},
    {"show-tid", 0, NULL, "first frame comm-PID/TID", CLI_CONVERT, ONE(WRITER("tid", "yes"))},
    {"no-comm", 0, NULL, "no first frame with the thread's name", CLI_CONVERT, ONE(WRITER("root", "none"))},
    {"annotate", 0, "LIST", "mark frames: k (kernel), j (JIT), i (inlined), or all", CLI_CONVERT,
     ONE(WRITER("annotate", NULL))},
    {"kernel", 0, NULL, "the same as --annotate=k", CLI_CONVERT, ONE(WRITER("annotate", "k"))},
    {"jit", 0, NULL, "the same as --annotate=j", CLI_CONVERT, ONE(WRITER("annotate", "j"))},
    {"all", 0, NULL, "the same as --annotate=k,j", CLI_CONVERT, ONE(WRITER("annotate", "k,j"))},
    {"addrs", 0, NULL, "show the address of frames without a name", CLI_CONVERT, ONE(WRITER("addrs", "yes"))},
    {"srcline", 0, NULL, "append :file:line to frames", CLI_CONVERT, ONE(WRITER("srcline", "yes"))},
    {"tidy", 0, "HOW", "cut names: none, args, templates; default: args in native code", CLI_CONVERT,
     ONE(WRITER("tidy", NULL))},
    {"strip-suffixes", 0, NULL, "cut .constprop.0, .cold, @plt and the like", CLI_CONVERT,
     ONE(WRITER("strip-suffixes", "yes"))},
    END,
};

static const cli_option general[] = {
    {"set", 's', "SCOPE.KEY=VALUE", "any setting of a format or pass; see --list-settings", CLI_READING,
     OWN(CLI_ID_SET)},
    {"list-settings", 0, NULL, "print the settings of all formats and passes", CLI_CONVERT | CLI_FORMATS | CLI_HELP,
     OWN(CLI_ID_LIST_SETTINGS)},
    {"man", 0, NULL, NULL, CLI_FORMATS, OWN(CLI_ID_ARGUMENT)}, /* for the build */
    {"max-memory", 0, "SIZE", "use no more memory than this for a conversion: 500M, 2G", CLI_READING,
     OWN(CLI_ID_MEMORY)},
    {"on-limit", 0, "fail|truncate", "when stacks need more: give up, or charge samples to the part that fits", CLI_READING,
     OWN(CLI_ID_ON_LIMIT)},
    {"jobs", 'j', "N", "threads to work on, 0: one for each processor; the output is the same with any number", CLI_READING,
     OWN(CLI_ID_JOBS)},
    {"quiet", 'q', NULL, "no warnings, no progress", CLI_READING, OWN(CLI_ID_QUIET)},
    {"verbose", 'v', NULL, "every detail of what was lost and found", CLI_READING, OWN(CLI_ID_VERBOSE)},
    {"help", 'h', NULL, "this text", CLI_ANY, OWN(CLI_ID_HELP)},
    {"version", 0, NULL, "print the version", CLI_ANY, OWN(CLI_ID_VERSION)},
    END,
};

const cli_group cli_groups[] = {
    {"Files", files},   {"Selection", selection},     {"Frames", frames},   {"Tables", tables},
    {"Symbols", symbols}, {"Collapsed stacks", stacks}, {"General", general}, {NULL, NULL},
};

const cli_command cli_commands[] = {
    {"convert", CLI_CONVERT, "[-f FORMAT] [-t FORMAT] [-o OUTPUT] [options] INPUT...",
     "convert a profile; several inputs are merged"},
    {"merge", CLI_MERGE, "[-o OUTPUT] [-t FORMAT] [--weighted-input=W,FILE] [--keep-going] [options] INPUT...",
     "add up any number of profiles, one in memory at a time"},
    {"diff", CLI_DIFF, "[-t FORMAT] [-o OUTPUT] [options] BEFORE AFTER | --before RUN... --after RUN...",
     "compare two profiles, or several runs of each side, by amounts"},
    {"top", CLI_TOP, "[-n N] [--cum] [--by=WHAT] [options] INPUT...", "print what a profile spends most on"},
    {"info", CLI_INFO, "[-f FORMAT] [options] INPUT...", "print what a profile holds"},
    {"formats", CLI_FORMATS, "[--list-settings]", "list the formats, and what each can hold"},
    {"dump", CLI_DUMP, "[-f FORMAT] [-o OUTPUT] [options] INPUT", "write every table of a profile as text"},
    {"check", CLI_CHECK, "--for=CONSUMER [options] INPUT...", "say whether a profile will work for a compiler"},
    {"split", CLI_SPLIT, "[--max-samples=N] [--max-bytes=N] -o PREFIX [options] INPUT",
     "cut a profile into pprofs PREFIX.0001.pb.gz, ... that merge back"},
    {"help", CLI_HELP, "[COMMAND | FORMAT | PASS]", "explain a command, or the settings of a format or pass"},
    {"completion", CLI_COMPLETION, "bash | zsh | fish", "print a script that completes command lines in that shell"},
    {NULL, 0, NULL, NULL},
};

/* One name can mean different things to two commands: the one of `command` is wanted. */
static const cli_option *find(const char *name, size_t size, char letter, unsigned command) {
    const cli_option *other = NULL;
    for (const cli_group *group = cli_groups; group->title; group++) {
        for (const cli_option *option = group->options; option->name; option++) {
            int is = name ? strlen(option->name) == size && memcmp(option->name, name, size) == 0 : option->letter == letter;
            if (is && (option->commands & command))
                return option;
            if (is && !other)
                other = option;
        }
    }
    return other;
}

const cli_option *cli_find_long(const char *name, size_t size, unsigned command) { return find(name, size, 0, command); }

const cli_option *cli_find_letter(char letter, unsigned command) { return find(NULL, 0, letter, command); }
