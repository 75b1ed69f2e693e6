/* SPDX-License-Identifier: MIT
 *
 * The perf.data reader on the conformance corpus: counts against those of an independent reader (facts.jsonl, one flat
 * JSON object a line), malformed files, and files cut anywhere. PROFCONV_FULL=1 cuts at every byte.
 */
#include "tests/formats/perf_data_support.h"

#include <dirent.h>
#include <time.h>

#define BUDGET (UINT64_C(256) << 20)

/* ---- the little of JSON that the facts need: "key": value at the top level of a line ---- */

/* Behind `"key": `, or NULL. Keys do not occur as values in these lines. */
static const char *value_of(const char *line, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static uint64_t number_of(const char *line, const char *key) {
    const char *at = value_of(line, key);
    assert_non_null(at);
    return strtoull(at, NULL, 10);
}

static void string_of(const char *line, const char *key, char *out, size_t size) {
    const char *at = value_of(line, key);
    assert_non_null(at);
    const char *end = strchr(++at, '"');
    snprintf(out, size, "%.*s", (int)(end - at), at);
}

/* Element `index` of the array behind `key`: a string without its quotes, or a number. 0: none. */
static int element_of(const char *line, const char *key, int index, char *out, size_t size) {
    const char *at = value_of(line, key);
    if (!at || *at++ != '[')
        return 0;
    for (;; index--) {
        while (*at == ' ' || *at == ',')
            at++;
        if (*at == ']')
            return 0;
        const char *start = at + (*at == '"'), *end = *at == '"' ? strchr(start, '"') : start + strcspn(start, ",]");
        if (index == 0) {
            snprintf(out, size, "%.*s", (int)(end - start), start);
            return 1;
        }
        at = end + (*end == '"');
    }
}

/* ---- facts ---- */

/*
 * Where ours differs, and why:
 *  - gen/group_ev_S.data: 198 records, each with the counters of three events. The reader makes one sample for each
 *    counter that grew (198 + 198 + 4, the 400 samples that perf shows); the facts count records.
 *  - names "typeN/config0xC" in the facts stand for events without a recorded name; the reader names them as perf does.
 *  - events of equal name (intel_pt-4.14's two dummies) cannot be told apart by name and have no samples.
 *  - recordings without a sample are an error with the cause, so only their counters are compared.
 */
static int64_t total_of(const profconv_profile *p, const char *event) {
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); i += 2)
        if (strcmp(text_of(p, profconv_profile_sample_type(p, i)->event), event) == 0)
            return profconv_profile_total(p, i);
    return 0;
}

static void compare(const char *name, const char *what, uint64_t got, uint64_t expected) {
    if (got != expected)
        fail_msg("%s: %s: %llu, the facts say %llu", name, what, (unsigned long long)got, (unsigned long long)expected);
}

static void compare_events(const char *name, const char *line, const profconv_profile *p) {
    char event[256], count[32];
    int unnamed = 0;
    uint64_t sum = 0, expected = 0;
    for (int i = 0; element_of(line, "events", i, event, sizeof event); i++) {
        assert_int_equal(element_of(line, "evcounts", i, count, sizeof count), 1);
        expected += strtoull(count, NULL, 10);
        if (strncmp(event, "type", 4) == 0)
            unnamed = 1;
        else if (strcmp(name, "gen/group_ev_S.data") != 0)
            compare(name, event, (uint64_t)total_of(p, event), strtoull(count, NULL, 10));
    }
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE); i += 2)
        sum += (uint64_t)profconv_profile_total(p, i);
    if (strcmp(name, "gen/group_ev_S.data") == 0)
        expected = 400;
    compare(name, unnamed ? "samples of all events" : "samples", sum, expected);
}

/* Each warning of the facts has its counterpart here. */
static void compare_warnings(const char *name, const char *line, const reading *r) {
    int killed = strstr(line, "\"data.size==0\"") != NULL;
    compare(name, "interrupted recordings", note_count(r, "interrupted-recording"), (uint64_t)killed);
    compare(name, "records past the end", note_count(r, "truncated"), strstr(line, "runs past end") != NULL);
    compare(name, "broken record sizes", note_count(r, "bad-record-size"), strstr(line, "\"record size 0") != NULL);
    compare(name, "malformed samples", note_count(r, "malformed-sample"), number_of(line, "bad_samples"));
    compare(name, "unknown ids", note_count(r, "unknown-event-id"), number_of(line, "unknown_ids"));
    compare(name, "bytes left over in samples", note_count(r, "sample-leftover"), 0);
}

static void test_facts(void **state) {
    (void)state;
    char path[4608], name[256];
    size_t size = 0, files = 0;
    snprintf(path, sizeof path, "%s/perfdata/facts.jsonl", corpus());
    char *facts = (char *)load_file(path, &size), *next;
    facts = (char *)realloc(facts, size + 1);
    assert_non_null(facts);
    facts[size] = 0;
    for (char *line = facts; *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        else
            next = line + strlen(line);
        string_of(line, "name", name, sizeof name);
        snprintf(path, sizeof path, "%s/perfdata/%s", corpus(), name);
        reading r = read_path(path, NULL, 0);
        uint64_t samples = number_of(line, "samples");
        compare(name, "status", (uint64_t)-r.status, samples ? 0 : (uint64_t)-PROFCONV_E_EMPTY);
        compare(name, "sample records", note_count(&r, "samples"), samples);
        compare(name, "call chain entries", note_count(&r, "chain-entries"), number_of(line, "chain_total"));
        compare(name, "branch entries", note_count(&r, "branch-entries"), number_of(line, "branches"));
        int both = value_of(line, "LOST_SAMPLES") != NULL;
        compare(name, "lost", note_count(&r, "lost"), number_of(line, both ? "lost_samples" : "lost"));
        compare_warnings(name, line, &r);
        if (r.profile)
            compare_events(name, line, r.profile);
        reading_free(&r);
        files++;
    }
    free(facts);
    assert_true(files >= 80);
}

/* ---- malformed files ---- */

/* Files that are refused; all others of the folder give what they hold. */
static const struct {
    const char *name;
    int status;
} refused[] = {
    {"hdr_attr_size_zero.data", PROFCONV_E_FORMAT},    {"hdr_attrs_off_wrap.data", PROFCONV_E_FORMAT},
    {"hdr_data_off_wrap.data", PROFCONV_E_FORMAT},     {"hdr_data_overlaps_attrs.data", PROFCONV_E_EMPTY},
    {"pipe_attr_size_gt_record.data", PROFCONV_E_FORMAT}, {"pipe_auxtrace_huge.data", PROFCONV_E_EMPTY},
    {"trunc_header_50.data", PROFCONV_E_FORMAT},       {"trunc_in_attrs.data", PROFCONV_E_FORMAT},
    {"zstd2_size_lie.data", PROFCONV_E_EMPTY},         {"zstd_bomb_64M.data", PROFCONV_E_LIMIT},
    {"zstd_empty.data", PROFCONV_E_EMPTY},             {"zstd_garbage.data", PROFCONV_E_EMPTY},
    {"zstd_nested3.data", PROFCONV_E_EMPTY},
};

/* Samples of the partly readable ones; the others hold all 393 of the file they were made of. */
static const struct {
    const char *name;
    uint64_t samples;
} partial[] = {{"callchain_nr_wrap.data", 392},
               {"unknown_record_200.data", 392},
               {"trunc_in_data.data", 5},
               {"size4_record.data", 5},
               {"pipe_garbage_tail.data", 397}};

static void check_bad(const char *name, const reading *r) {
    int expected = PROFCONV_OK;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strcmp(refused[i].name, name) == 0)
            expected = refused[i].status;
    if (r->status != expected)
        fail_msg("%s: status %d (%s), expected %d", name, r->status, r->error.message, expected);
    if (expected != PROFCONV_OK) {
        assert_true(r->error.message[0] != 0);
        return;
    }
    uint64_t samples = 393;
    for (size_t i = 0; i < sizeof partial / sizeof partial[0]; i++)
        if (strcmp(partial[i].name, name) == 0)
            samples = partial[i].samples;
    compare(name, "samples", (uint64_t)profconv_profile_total(r->profile, 0), samples);
}

/* Calls f for every regular file below `dir` in the corpus. */
static void each_file(const char *dir, void (*f)(const char *path, const char *name, size_t size)) {
    char path[4608];
    snprintf(path, sizeof path, "%s/%s", corpus(), dir);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || e->d_type == DT_DIR)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", corpus(), dir, e->d_name);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        fclose(file);
        f(path, e->d_name, size);
    }
    closedir(d);
}

static void bad_file(const char *path, const char *name, size_t size) {
    (void)size;
    reading r = read_path(path, NULL, BUDGET);
    check_bad(name, &r);
    reading_free(&r);
}

static void test_bad(void **state) {
    (void)state;
    each_file("perfdata/bad", bad_file);
}

/* ---- cut files ---- */

static int any_status(int status) {
    return status == PROFCONV_OK || status == PROFCONV_E_FORMAT || status == PROFCONV_E_EMPTY ||
           status == PROFCONV_E_LIMIT || status == PROFCONV_E_UNSUPPORTED;
}

static void cut_file(const char *path, const char *name, size_t size) {
    if (size >= 64u << 10)
        return;
    size_t got = 0;
    uint8_t *data = load_file(path, &got);
    const char *set = getenv("PROFCONV_FULL"); /* a number above 1 is a stride */
    size_t full = set ? strtoul(set, NULL, 10) : 0;
    /* Around the header and the attributes every byte, further on some fifteen places of every kind of alignment. */
    for (size_t n = 0; n < got; n += full ? full : n < 272 ? 1 : 1 + got / 15) {
        uint8_t *copy = (uint8_t *)malloc(n ? n : 1); /* exact, so that a sanitizer sees what lies beyond */
        assert_non_null(copy);
        memcpy(copy, data, n);
        reading r = read_bytes(copy, n, NULL, BUDGET);
        if (!any_status(r.status))
            fail_msg("%s cut to %zu bytes: status %d, %s", name, n, r.status, r.error.message);
        if (r.status != PROFCONV_OK && !r.error.message[0])
            fail_msg("%s cut to %zu bytes: no message", name, n);
        reading_free(&r);
        free(copy);
    }
    free(data);
}

static void test_cut(void **state) {
    (void)state;
    each_file("perfdata/gen", cut_file);
    each_file("perfdata/synth", cut_file);
    each_file("perfdata/real", cut_file);
    each_file("perfdata/bad", cut_file);
}

/* ---- a stream gives what the file gives ---- */

typedef struct dribble {
    const uint8_t *data;
    size_t size, at;
} dribble;

static int dribble_read(void *user, void *buffer, size_t size, size_t *got) {
    dribble *d = (dribble *)user;
    *got = d->size - d->at < 1021 ? d->size - d->at : 1021;
    if (*got > size)
        *got = size;
    memcpy(buffer, d->data + d->at, *got);
    d->at += *got;
    return 0;
}

static void stream_file(const char *path, const char *name, size_t size) {
    if (size > 512u << 10)
        return;
    dribble d = {load_file(path, &size), size, 0};
    profconv_input_callbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.read = dribble_read;
    callbacks.user = &d;
    profconv_input *input = NULL;
    assert_int_equal(profconv_input_open_callbacks(&input, &callbacks, name, NULL, NULL), PROFCONV_OK);
    reading a = read_input(input, NULL, 0), b = read_path(path, NULL, 0);
    compare(name, "status of the stream", (uint64_t)-a.status, (uint64_t)-b.status);
    if (a.profile && b.profile) {
        static const profconv_table tables[] = {PROFCONV_TABLE_LOCATION, PROFCONV_TABLE_STACK,     PROFCONV_TABLE_SAMPLE,
                                                PROFCONV_TABLE_BRANCH,   PROFCONV_TABLE_ATTRIBUTE, PROFCONV_TABLE_MAPPING};
        for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
            compare(name, "rows of the stream", profconv_profile_rows(a.profile, tables[i]),
                    profconv_profile_rows(b.profile, tables[i]));
        for (uint32_t i = 0; i < profconv_profile_rows(b.profile, PROFCONV_TABLE_SAMPLE_TYPE); i++) {
            compare(name, "total of the stream", (uint64_t)profconv_profile_total(a.profile, i),
                    (uint64_t)profconv_profile_total(b.profile, i));
            assert_string_equal(text_of(a.profile, profconv_profile_sample_type(a.profile, i)->name),
                                text_of(b.profile, profconv_profile_sample_type(b.profile, i)->name));
        }
    }
    reading_free(&a);
    reading_free(&b);
    free((void *)(uintptr_t)d.data);
}

static void test_stream(void **state) {
    (void)state;
    each_file("perfdata/gen", stream_file);
    each_file("perfdata/synth", stream_file);
    each_file("perfdata/real", stream_file);
}

int main(void) {
    if (!corpus()) {
        printf("skipped: the corpus is not there (PROFCONV_CORPUS)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_facts), cmocka_unit_test(test_bad),
                                       cmocka_unit_test(test_cut), cmocka_unit_test(test_stream)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
