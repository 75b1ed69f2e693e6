/* SPDX-License-Identifier: MIT
 *
 * The conformance corpus' edge lines of folded text, each as a file of its own. EDGE.tsv says what six consumers make
 * of them; they do not agree, so the judge is the list of tolerated variants (formats/collapsed/README.md).
 */
#include "tests/formats/collapsed_help.h"

#define SKIP 77

typedef struct expectation {
    const char *name;
    const char *expected; /* NULL: an error, no line can be read */
} expectation;

static const expectation expectations[] = {
    {"plain", "a|b|c=5"},
    {"one_frame", "a=5"},
    {"spaces_in_frame", "a|operator new(unsigned long)|c d=5"},
    {"trailing_num_in_frame", "a|Thread=12,5"}, /* all lines have two numbers */
    {"two_cols", "a|b=10,7"},
    {"two_cols_one_frame_num", "a|f 12=10,7"},
    {"three_cols", "a|b 1=2,3"},
    {"float", "a|b=2"},
    {"float_trail_dot", "a|b=1"},
    {"leading_dot", "a|b=1"},
    {"exp", "a|b=1000"},
    {"negative", "a|b=-3"},
    {"plus", "a|b=3"},
    {"hex", NULL},
    {"zero", "a|b=0"},
    {"commas", NULL},
    {"austin_full", "P1|T0:2|m:f:3=100,0,-4096"},
    {"tab_sep", "a|b=5"},
    {"double_space", "a|b=5"},
    {"trailing_space", "a|b=5"},
    {"leading_space", "a|b=5"},
    {"crlf", "a|b=5"},
    {"no_newline", "a|b=5"},
    {"nocount", "a|b=1"}, /* a list without counts */
    {"count_only", NULL},
    {"space_count_only", NULL},
    {"empty_line", NULL},
    {"comment", NULL}, /* metadata */
    {"austin_meta", NULL},
    {"empty_frame_mid", "a|b=5"},
    {"empty_frame_lead", "a|b=5"},
    {"empty_frame_trail", "a|b=5"},
    {"semi_space", "a| b| c=5"},
    {"utf8", "a|f\\xc3\\xa9\\xe2\\x82\\xac|\\xe6\\x97\\xa5\\xe6\\x9c\\xac=5"},
    {"bad_utf8", "a|f\\xff\\xfe|c=5"},
    {"nul", "a|b\\x00c=5"},
    {"bom", "a|b=5"},
    {"big_u64", "a|b=9223372036854775807"},
    {"over_u64", "a|b=9223372036854775807"},
    {"dtrace_tick", "libc.so`malloc|b=5"},
    {"annot", "a_[k]*|b_[j]|c_[i]|d_[w]=5"},
    {"delim_dash", "comm|u|-|k=5"},
    {"chain", "comm|x|--|y|waker=5"},
    {"quote_xml", "a|f<int&>|\"q\"=5"},
    {"rust_array", "a|f<[u8| 4]>=5"},
    {"pprofutils_hdr", NULL}, /* the header line alone */
    {"escape", "a\\|b|c=5"},
};

static char corpus[400];

static const expectation *find(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        if (strlen(expectations[i].name) == size && memcmp(expectations[i].name, name, size) == 0)
            return &expectations[i];
    }
    return NULL;
}

static void check(const expectation *e, const char *text, size_t size) {
    profconv_profile *profile;
    profconv_error error;
    char found[1000];
    int status = read_text(text, size, NULL, &profile, &error);
    if (!e->expected) {
        if (status != PROFCONV_E_FORMAT)
            fail_msg("%s: status %d", e->name, status);
        assert_true(error.message[0] != '\0');
        return;
    }
    if (status)
        fail_msg("%s: %s", e->name, error.message);
    describe(profile, found, sizeof found);
    if (strcmp(found, e->expected) != 0)
        fail_msg("%s: %s, %s expected", e->name, found, e->expected);
    profconv_profile_free(profile);
}

/* \n, \t, \r, \\ and \xNN, in place; returns the size. */
static size_t unescape(char *text, size_t size) {
    size_t out = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned value;
        if (text[i] != '\\' || i + 1 == size) {
            text[out++] = text[i];
        } else if (text[++i] == 'x' && i + 2 < size) {
            char hex[3] = {text[i + 1], text[i + 2], 0};
            assert_int_equal(sscanf(hex, "%x", &value), 1);
            text[out++] = (char)value;
            i += 2;
        } else {
            text[out++] = text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i] == 'r' ? '\r' : text[i];
        }
    }
    return out;
}

static void test_edge_table(void **state) {
    (void)state;
    char path[500];
    char line[4000];
    snprintf(path, sizeof path, "%s/folded/EDGE.tsv", corpus);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t rows = 0;
    assert_non_null(fgets(line, sizeof line, file)); /* names of columns */
    while (fgets(line, sizeof line, file)) {
        char *tab = strchr(line, '\t');
        assert_non_null(tab);
        const expectation *e = find(line, (size_t)(tab - line));
        if (!e)
            fail_msg("no expectation for %.*s", (int)(tab - line), line);
        char *text = tab + 1;
        tab = strchr(text, '\t');
        assert_non_null(tab);
        check(e, text, unescape(text, (size_t)(tab - text)));
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, sizeof expectations / sizeof *expectations);
}

static void test_edge_files(void **state) {
    (void)state;
    size_t files = 0;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        char path[500];
        char text[1000];
        snprintf(path, sizeof path, "%s/folded/%s.folded", corpus, expectations[i].name);
        FILE *file = fopen(path, "rb");
        if (!file)
            continue; /* only in the table */
        size_t size = fread(text, 1, sizeof text, file);
        assert_true(size < sizeof text);
        fclose(file);
        check(&expectations[i], text, size);
        files++;
    }
    assert_true(files >= 20);
}

int main(void) {
    const char *named = getenv("PROFCONV_CORPUS");
    snprintf(corpus, sizeof corpus, "%s%s", named ? named : TEST_SOURCE_DIR, named ? "" : "/../shared/corpus");
    char path[500];
    snprintf(path, sizeof path, "%s/folded/EDGE.tsv", corpus);
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("skipped: no %s\n", path);
        return SKIP;
    }
    fclose(file);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edge_table), cmocka_unit_test(test_edge_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
