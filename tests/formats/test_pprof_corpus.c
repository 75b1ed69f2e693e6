/* SPDX-License-Identifier: MIT
 *
 * The conformance corpus: every valid pprof goes through the model unchanged, every malformed one is judged as
 * google/pprof judges it. `go tool pprof -raw` itself compares in tests/oracle/test_pprof_go.py.
 */
#include "tests/formats/pprof_help.h"

static char corpus[600];

/* Formats of the folders that are no protobuf: what gperftools and Go's debug=1 and =2 pages hold, and texts beside
 * them. */
static int is_other_format(const char *name) {
    static const char *const others[] = {
        "go.goroutine.debug1.txt",
        "go.goroutine.debug2.txt",
        "gperftools.cpu",
        "gperftools.heap",
        "cppbench.contention",
        "cppbench.cpu",
        "cppbench.growth",
        "cppbench.thread.all",
        "go.crc32.cpu",
        "gobench.cpu",
        "gobench.heap",
    };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return 1;
    return n > 7 && strcmp(name + n - 7, ".string") == 0;
}

static int valid_files;

static void valid_file(const char *path, const char *name) {
    if (strcmp(name, "synth.300k.pb.gz") == 0)
        return; /* below */
    bytes b = load(path);
    profconv_profile *first = NULL;
    profconv_error error = {0};
    int status = read_with(b.data, b.size, NULL, NULL, &first, &error);
    if (is_other_format(name)) {
        assert_int_equal(status, PROFCONV_E_FORMAT);
        assert_int_equal(pfc_pprof_reader.probe(NULL, b.data, b.size, 1), 0);
    } else if (strcmp(name, "dotnet-pprof-73.pb.gz") == 0) { /* its functions have id 0, and go refuses it, too */
        assert_int_equal(status, PROFCONV_E_FORMAT);
        assert_non_null(strstr(error.message, "function 1 has id 0"));
    } else {
        if (status)
            fail_msg("%s: %s", path, error.message);
        valid_files++;
        bytes out = write_ok(first, NULL, NULL);
        profconv_profile *second = read_ok(out.data, out.size);
        assert_same_profile(first, second, path);
        profconv_profile_free(second);
        free(out.data);
    }
    profconv_profile_free(first);
    free(b.data);
}

static void valid(void **state) {
    (void)state;
    static const char *const folders[] = {"pprof/gen", "pprof/google", "pprof/pyroscope", "pprof/speedscope"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[700];
        snprintf(path, sizeof path, "%s/%s", corpus, folders[i]);
        assert_true(each_file(path, valid_file) > 0);
    }
    assert_true(valid_files >= 28);
}

/* As `go tool pprof -raw` judges them: NULL is accepted, else what must be said. */
static const struct {
    const char *file;
    const char *message;
} verdicts[] = {
    {"concat_notime.pb", "concatenated profiles?"},
    {"concat_time.pb", "concatenated profiles?"},
    {"dup_loc.pb", "second location with id 1"},
    {"empty.pb", "empty input"},
    {"emptystack.pb", NULL},
    {"group_wire.pb", "wire type 3"},
    {"id0_map.pb", "mapping 1 has id 0"},
    {"line_func0.pb", "location id 1: line 1: function id 0 does not exist"},
    {"line_func_dangling.pb", "function id 7 does not exist"},
    {"negative.pb", NULL},
    {"no_strtab.pb", "no string table"},
    {"ok.pb", NULL},
    {"oneloc_inl.pb", NULL},
    {"overflow.pb", NULL},
    {"partial_startline.pb", NULL},
    {"types_cpu_only.pb", NULL},
    {"unknown_field.pb", NULL},
    {"val_mismatch.pb", "sample 1: 2 values, but 1 sample types"},
    {"varint11.pb", "number of more than 10 bytes"},
    {"varint_overlong.pb", NULL},
    {"wrong_wire.pb", "period (field 12) has wire type 2, expected 0"},
};

static void malformed_file(const char *path, const char *name) {
    if (strstr(name, ".preprofile"))
        return;
    bytes b = load(path);
    profconv_profile *p;
    profconv_error error = {0};
    int status = read_with(b.data, b.size, NULL, NULL, &p, &error), known = 0;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (strcmp(verdicts[i].file, name) != 0)
            continue;
        known = 1;
        int expected = verdicts[i].message ? PROFCONV_E_FORMAT : PROFCONV_OK;
        if (status != expected || (expected && !strstr(error.message, verdicts[i].message)))
            fail_msg("%s: status %d, \"%s\"", name, status, error.message);
    }
    if (!known)
        fail_msg("%s is not in the list", name);
    profconv_profile_free(p);
    free(b.data);
}

static void malformed(void **state) {
    (void)state;
    char path[700];
    snprintf(path, sizeof path, "%s/pprof/bad", corpus);
    assert_true(each_file(path, malformed_file) >= (int)(sizeof verdicts / sizeof *verdicts));
}

/* Any prefix of a real file is refused or holds together. */
static void real_cuts(void **state) {
    (void)state;
    static const char *const files[] = {"pprof/pyroscope/req_2.pprof", "pprof/speedscope/simple.prof",
                                        "pprof/bad/ok.pb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[700];
        snprintf(path, sizeof path, "%s/%s", corpus, files[i]);
        bytes b = load(path);
        assert_non_null(b.data);
        for (size_t n = 0; n < b.size; n++) {
            profconv_profile *p;
            profconv_error error = {0};
            int status = read_with(b.data, n, NULL, NULL, &p, &error);
            if (status != 0 && (status != PROFCONV_E_FORMAT || error.message[0] == '\0'))
                fail_msg("%s cut at %zu: status %d, \"%s\"", files[i], n, status, error.message);
            profconv_profile_free(p);
        }
        free(b.data);
    }
}

/* 51 MB inflated: reader and builder take less than twice that at any time, and so does the writer beside the profile.
 */
static void large(void **state) {
    (void)state;
    if (getenv("PROFCONV_SANITIZED"))
        skip();
    char path[700];
    snprintf(path, sizeof path, "%s/pprof/gen/synth.300k.pb.gz", corpus);
    bytes b = load(path);
    assert_non_null(b.data);
    failing_alloc heap = {0};
    profconv_allocator allocator = failing_allocator(&heap);
    profconv_profile *p;
    profconv_error error = {0};
    if (read_with(b.data, b.size, &allocator, NULL, &p, &error))
        fail_msg("%s", error.message);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE), 300000);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_LOCATION), 120001);
    assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_FUNCTION), 36001);
    bytes out = write_ok(p, NULL, NULL);
    if (heap.peak > 100000000)
        fail_msg("%.1f MB", (double)heap.peak / 1e6);
    profconv_profile *q = read_ok(out.data, out.size);
    assert_same_profile(p, q, path);
    profconv_profile_free(q);
    profconv_profile_free(p);
    free(out.data);
    free(b.data);
}

int main(void) {
    const char *given = getenv("PROFCONV_CORPUS");
    snprintf(corpus, sizeof corpus, "%s", given && *given ? given : TEST_SOURCE_DIR "/../shared/corpus");
    char path[700];
    snprintf(path, sizeof path, "%s/pprof/bad/ok.pb", corpus);
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("skipped: no conformance corpus at %s\n", corpus);
        return 77;
    }
    fclose(file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid),
        cmocka_unit_test(malformed),
        cmocka_unit_test(real_cuts),
        cmocka_unit_test(large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
