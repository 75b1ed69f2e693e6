/* SPDX-License-Identifier: MIT
 *
 * Filters, scaling, tables and comparing, on small profiles whose results can be counted by hand.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "libprofconv/transform/number.h"
#include "model_scenario.h"

/* ---- profiles from folded text: "a;b;c 3", labels "k=v" before a '|' ---- */

static void add_line(profconv_builder *b, const char *line) {
    profconv_id stack = 0, labels[8];
    uint32_t count = 0;
    const char *bar = strchr(line, '|');
    while (bar && line < bar) {
        size_t size = strcspn(line, ",|"), key = strcspn(line, "=");
        char value[32] = "";
        memcpy(value, line + key + 1, size - key - 1);
        profconv_label row = {0, profconv_builder_string(b, line, key), 0, 0, 0};
        if (value[0] >= '0' && value[0] <= '9') {
            row.numeric = 1;
            row.number = strtoll(value, NULL, 10);
        } else {
            row.string = profconv_builder_cstring(b, value);
        }
        labels[count++] = profconv_builder_label(b, &row);
        line += size + 1;
    }
    const char *blank = strrchr(line, ' ');
    while (line < blank) {
        size_t size = strcspn(line, "; ");
        profconv_id name = profconv_builder_string(b, line, size);
        profconv_function f = {0, name, name, 0, 0};
        profconv_line l = {0, 0, profconv_builder_function(b, &f), 0};
        profconv_location row = {0, 0, 0, 0, 0};
        stack = profconv_builder_stack(b, stack, profconv_builder_location(b, &row, &l, 1));
        line += size + 1;
    }
    int64_t value = strtoll(blank + 1, NULL, 10);
    profconv_builder_sample(b, stack, profconv_builder_label_set(b, labels, count), 0, &value, 1);
}

static profconv_builder *start(void) {
    profconv_builder *b = new_builder();
    profconv_sample_type type = {0, S(b, "samples"), S(b, "count"), 0, PROFCONV_ROLE_COUNT};
    profconv_builder_sample_type(b, &type);
    return b;
}

static profconv_profile *make(const char *const *lines) {
    profconv_builder *b = start();
    for (; *lines; lines++)
        add_line(b, *lines);
    return freeze(b);
}
#define MAKE(...) make((const char *const[]){__VA_ARGS__, NULL})

/* Every sample as "k=v|a;b 3", sorted, one a line. */
static const char *show(const profconv_profile *p) {
    static char out[4096];
    char rows[64][200];
    size_t n = 0;
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i++) {
        const char *names[32];
        size_t depth = 0, at = 0;
        for (profconv_id s = profconv_profile_sample_stack(p, i); s; s = profconv_profile_stack(p, s)->parent) {
            profconv_id location = profconv_profile_stack(p, s)->location;
            uint32_t lines = profconv_profile_location(p, location)->line_count;
            for (uint32_t k = 0; k < lines; k++) {
                profconv_id f = profconv_profile_line(p, location, k)->function;
                names[depth++] = profconv_profile_string(p, profconv_profile_function(p, f)->name).data;
            }
            if (!lines)
                names[depth++] = "?";
        }
        char *row = rows[n++];
        row[0] = '\0';
        while (depth-- > 0)
            at += (size_t)snprintf(row + at, 200 - at, "%s%s", at ? ";" : "", names[depth]);
        snprintf(row + at, 200 - at, " %lld", (long long)profconv_profile_sample_value(p, i, 0));
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            if (strcmp(rows[i], rows[k]) > 0) {
                char t[200];
                memcpy(t, rows[i], 200);
                memcpy(rows[i], rows[k], 200);
                memcpy(rows[k], t, 200);
            }
        }
    }
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        strcat(out, rows[i]);
        strcat(out, "\n");
    }
    return out;
}

/* Filters with "key=value", ...; takes the profile over. */
static profconv_profile *filtered(profconv_profile *p, const char *const *settings) {
    profconv_options *o = NULL;
    profconv_error error = {0};
    char text[100];
    int64_t before = profconv_profile_total(p, 0), left_out = 0;
    assert_int_equal(profconv_options_new(&o, NULL, NULL), PROFCONV_OK);
    for (; *settings; settings++) {
        snprintf(text, sizeof text, "filter.%s", *settings);
        assert_int_equal(profconv_options_set(o, text, NULL), PROFCONV_OK);
    }
    if (profconv_filter(&p, o, PROFCONV_FILTER_ALL, &error))
        fail_msg("%s", error.message);
    profconv_options_free(o);
    assert_int_equal(profconv_profile_check(p, NULL), PROFCONV_OK);
    const profconv_report *r = profconv_profile_report(p);
    for (size_t i = 0; i < profconv_report_count(r); i++) {
        profconv_note note;
        profconv_report_get(r, i, &note);
        left_out += strncmp(note.cause, "filtered-", 9) == 0 ? note.weight : 0;
    }
    assert_int_equal(before, profconv_profile_total(p, 0) + left_out); /* conserved, or told */
    return p;
}
#define FILTERED(p, ...) filtered((p), (const char *const[]){__VA_ARGS__, NULL})

static int filter_fails(profconv_profile *p, const char *setting, const char *says) {
    profconv_options *o = NULL;
    profconv_error error = {0};
    profconv_profile *same = p;
    char text[100];
    assert_int_equal(profconv_options_new(&o, NULL, NULL), PROFCONV_OK);
    snprintf(text, sizeof text, "filter.%s", setting);
    assert_int_equal(profconv_options_set(o, text, NULL), PROFCONV_OK);
    int status = profconv_filter(&p, o, PROFCONV_FILTER_ALL, &error);
    assert_ptr_equal(p, same);
    if (!strstr(error.message, says))
        fail_msg("'%s' does not say '%s'", error.message, says);
    profconv_options_free(o);
    return status;
}

#define STACKS "main;work;hot 10", "main;work;cold 3", "main;idle 5", "main;work;work;hot 2"

static void expect(profconv_profile *p, const char *text) {
    assert_string_equal(show(p), text);
    profconv_profile_free(p);
}

static void test_expressions(void **state) {
    (void)state;
    expect(FILTERED(MAKE(STACKS), "focus=^hot$"), "main;work;hot 10\nmain;work;work;hot 2\n");
    expect(FILTERED(MAKE(STACKS), "ignore=hot|cold"), "main;idle 5\n");
    expect(FILTERED(MAKE(STACKS), "hide=^work$"), "main;cold 3\nmain;hot 12\nmain;idle 5\n");
    expect(FILTERED(MAKE(STACKS), "show=hot|idle"), "hot 12\nidle 5\n");
    expect(FILTERED(MAKE(STACKS), "show-from=work"), "work;cold 3\nwork;hot 10\nwork;work;hot 2\n");
    expect(FILTERED(MAKE(STACKS), "prune-from=work"), "main;idle 5\nmain;work 13\nmain;work;work 2\n");
    expect(FILTERED(MAKE(STACKS), "max-stack=2"), "main;idle 5\nwork;cold 3\nwork;hot 12\n");
    expect(FILTERED(MAKE(STACKS), "focus=work", "ignore=cold", "hide=main"), "work;hot 10\nwork;work;hot 2\n");
}

#define LABELLED                                                                                                       \
    "pid=1,tid=1,thread=app,timestamp=1000000000|main;a 1", "pid=1,tid=2,thread=pool,timestamp=2000000000|main;b 2",   \
        "pid=2,tid=3,thread=app,timestamp=3000000000,cpu=7|main;a 4", "pid=31,tid=4,thread=x,timestamp=5000000000|main;c 8"

static void test_labels(void **state) {
    (void)state;
    expect(FILTERED(MAKE(LABELLED), "pid=1"), "main;a 1\nmain;b 2\n");
    expect(FILTERED(MAKE(LABELLED), "pid=2-30,31"), "main;a 4\nmain;c 8\n");
    expect(FILTERED(MAKE(LABELLED), "tid=2,3"), "main;a 4\nmain;b 2\n");
    expect(FILTERED(MAKE(LABELLED), "comm=app"), "main;a 1\nmain;a 4\n");
    expect(FILTERED(MAKE(LABELLED), "comm=app", "comm=pool"), "main;a 1\nmain;a 4\nmain;b 2\n");
    expect(FILTERED(MAKE(LABELLED), "cpu=7"), "main;a 4\n");
    expect(FILTERED(MAKE(LABELLED), "time=2,3"), "main;a 4\nmain;b 2\n");
    expect(FILTERED(MAKE(LABELLED), "time=+1,+2.5"), "main;a 4\nmain;b 2\n");
    expect(FILTERED(MAKE(LABELLED), "time=,1.5"), "main;a 1\n");
    expect(FILTERED(MAKE(LABELLED), "time=50%,"), "main;a 4\nmain;c 8\n");
    expect(FILTERED(MAKE(LABELLED), "label=thread=app", "label=pid=2"), "main;a 4\n");
    expect(FILTERED(MAKE(LABELLED), "label=thread=x", "label=thread=pool"), "main;b 2\nmain;c 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagfocus=thread=^p"), "main;b 2\n");
    expect(FILTERED(MAKE(LABELLED), "tagfocus=pid=^3"), "main;c 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagignore=thread=a|x"), "main;b 2\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread,pid"), "app;1;main;a 1\napp;2;main;a 4\npool;1;main;b 2\nx;31;main;c 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagleaf=thread"), "main;a;app 1\nmain;a;app 4\nmain;b;pool 2\nmain;c;x 8\n");
}

/* Frames that stand for labels are there before expressions look, as in pprof; max-stack is for the others. */
static void test_order(void **state) {
    (void)state;
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "focus=^app$"), "app;main;a 1\napp;main;a 4\n");
    expect(FILTERED(MAKE(LABELLED), "tagleaf=pid", "focus=^31$"), "main;c;31 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "tagleaf=pid", "ignore=^(app|31)$"), "pool;main;b;1 2\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "hide=^app$"), "main;a 1\nmain;a 4\npool;main;b 2\nx;main;c 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "show=^(app|a|c)$"), "app;a 1\napp;a 4\nc 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "show=^thread$"), "app 1\napp 4\npool 2\nx 8\n"); /* the file of such frames */
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "show-from=^(app|b)$"), "app;main;a 1\napp;main;a 4\nb 2\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=pid", "prune-from=^(1|c)$"), "1 1\n1 2\n2;main;a 4\n31;main;c 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagleaf=thread", "prune-from=^main$"), "main 1\nmain 2\nmain 4\nmain 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread,pid", "tagleaf=tid", "max-stack=1"),
           "app;1;a;1 1\napp;2;a;3 4\npool;1;b;2 2\nx;31;c;4 8\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "tagleaf=tid", "hide=^main$", "max-stack=1", "focus=^(app|pool)$"),
           "app;a;1 1\napp;a;3 4\npool;b;2 2\n");
    expect(FILTERED(MAKE(LABELLED), "tagroot=thread", "granularity=function", "focus=^x$"), "x;main;c 8\n");
}

static void test_refusals(void **state) {
    (void)state;
    profconv_profile *p = MAKE(LABELLED);
    assert_int_equal(filter_fails(p, "focus=(", "focus=("), PROFCONV_E_INVALID);
    assert_int_equal(filter_fails(p, "focus=nothing", "focus"), PROFCONV_E_EMPTY);
    assert_int_equal(filter_fails(p, "pid=99", "pid"), PROFCONV_E_EMPTY);
    assert_int_equal(filter_fails(p, "pid=x", "pid=x"), PROFCONV_E_INVALID);
    assert_int_equal(filter_fails(p, "pid=1-", "pid=1-"), PROFCONV_E_INVALID);
    assert_int_equal(filter_fails(p, "time=5", "START,STOP"), PROFCONV_E_INVALID);
    assert_int_equal(filter_fails(p, "time=1%,200%", "START,STOP"), PROFCONV_E_INVALID);
    assert_int_equal(filter_fails(p, "label=x", "KEY=VALUE"), PROFCONV_E_INVALID);
    assert_int_equal(filter_fails(p, "label=colour=red", "colour"), PROFCONV_E_MISSING_FACET);
    assert_int_equal(filter_fails(p, "tagroot=colour", "colour"), PROFCONV_E_MISSING_FACET);
    assert_int_equal(filter_fails(p, "event=cycles", "samples"), PROFCONV_E_NOT_FOUND);
    assert_int_equal(filter_fails(p, "granularity=atom", "atom"), PROFCONV_E_INVALID);
    assert_int_equal(filter_fails(p, "no-such=1", "no-such"), PROFCONV_E_INVALID);
    profconv_profile_free(p);
}

/* The scenario has an address with an inlined call, an address without a name and one of the kernel. */
static profconv_profile *inlined_profile(void) {
    profconv_builder *b = start();
    profconv_id location[4];
    scenario_code(b, location);
    for (int i = 1; i < 4; i++) {
        int64_t value = i;
        profconv_id outer = profconv_builder_stack(b, 0, location[1]);
        profconv_builder_sample(b, profconv_builder_stack(b, outer, location[i]), 0, 0, &value, 1);
    }
    return freeze(b);
}

static void test_granularity(void **state) {
    (void)state;
    expect(FILTERED(inlined_profile(), "granularity=function"),
           "main;work(int);[app] 2\nmain;work(int);[kernel.kallsyms] 3\nmain;work(int);main;work(int) 1\n");
    expect(FILTERED(inlined_profile(), "granularity=file"), "a.c;a.c;[app] 2\na.c;a.c;[kernel.kallsyms] 3\na.c;a.c;a.c;a.c 1\n");
    expect(FILTERED(inlined_profile(), "granularity=mapping"),
           "/bin/app;/bin/app 3\n/bin/app;[kernel.kallsyms] 3\n");
    expect(FILTERED(inlined_profile(), "inline=no"), "main;? 2\nmain;? 3\nmain;main 1\n");
    profconv_profile *p = FILTERED(inlined_profile(), "granularity=line");
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LOCATION); i++)
        assert_int_equal(profconv_profile_location(p, i)->address, 0);
    assert_int_equal(profconv_profile_line(p, 1, 0)->line, 12);
    assert_int_equal(profconv_profile_line(p, 1, 0)->column, 0);
    profconv_profile_free(p);
    p = FILTERED(inlined_profile(), "hide=^work"); /* an address keeps its meaning: what lost a line has none */
    assert_string_equal(show(p), "main;? 2\nmain;? 3\nmain;main 1\n");
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_LOCATION); i++)
        assert_true(profconv_profile_location(p, i)->line_count == 0 || profconv_profile_location(p, i)->address == 0);
    profconv_profile_free(p);
}

static void test_keep_top(void **state) {
    (void)state;
    expect(FILTERED(MAKE(STACKS), "nodes=3"), "main;[other] 5\nmain;work;[other] 5\nmain;work;hot 10\n");
    expect(FILTERED(MAKE(STACKS), "nodes=1"), "main;[other] 20\n");
    expect(FILTERED(MAKE(STACKS), "nodes=100"), "main;idle 5\nmain;work;cold 3\nmain;work;hot 10\nmain;work;work;hot 2\n");
    /* Ties keep callers before their callees. */
    expect(FILTERED(MAKE("a;b;c;d 1"), "nodes=2"), "a;b;[other] 1\n");
}

/* ---- scaling ---- */

static void test_scale(void **state) {
    (void)state;
    profconv_profile *p = MAKE("a 1", "b 1", "c 1", "d 1", "e -7"), *out = NULL;
    assert_int_equal(profconv_scale(p, 1, 3, &out, NULL), PROFCONV_OK);
    assert_int_equal(profconv_profile_total(out, 0), -1); /* -3 / 3 */
    profconv_profile_free(out);
    assert_int_equal(profconv_scale(p, -2, 1, &out, NULL), PROFCONV_OK);
    expect(out, "a -2\nb -2\nc -2\nd -2\ne 14\n");
    assert_int_equal(profconv_scale(p, 1, 0, &out, NULL), PROFCONV_E_INVALID);
    assert_null(out);
    profconv_profile_free(p);
    p = MAKE("a 9223372036854775807", "b 1");
    assert_int_equal(profconv_scale(p, 2, 1, &out, NULL), PROFCONV_OK);
    expect(out, "a 9223372036854775807\nb 2\n"); /* held at the end */
    assert_int_equal(profconv_scale(p, INT64_MAX, INT64_MAX, &out, NULL), PROFCONV_OK);
    expect(out, "a 9223372036854775807\nb 1\n");
    profconv_profile_free(p);
}

static void test_scaled_sums(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        profconv_builder *b = start();
        int64_t sum = 0;
        for (int i = 0; i < 50; i++) {
            char line[60];
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int64_t value = (int64_t)(seed >> 40) * (seed & 1 ? 1 : -1);
            sum += value;
            snprintf(line, sizeof line, "f%d %lld", i, (long long)value);
            add_line(b, line);
        }
        profconv_profile *p = freeze(b), *out = NULL;
        int64_t numerator = (int64_t)(seed >> 50) + 1, denominator = (int64_t)(seed >> 30 & 1023) + 1;
        assert_int_equal(profconv_scale(p, numerator, (uint64_t)denominator, &out, NULL), PROFCONV_OK);
        int64_t want = sum * numerator / denominator;
        want -= sum * numerator % denominator < 0;
        assert_int_equal(profconv_profile_total(out, 0), want);
        profconv_profile_free(out);
        profconv_profile_free(p);
    }
}

static void test_normalize(void **state) {
    (void)state;
    profconv_profile *p = MAKE("a 1", "b 2"), *base = MAKE("x 10"), *out = NULL;
    assert_int_equal(profconv_normalize(p, base, &out, NULL), PROFCONV_OK);
    assert_int_equal(profconv_profile_total(out, 0), 10);
    profconv_profile_free(out);
    profconv_profile_free(p);
    profconv_profile_free(base);
}

/* ---- tables ---- */

static void test_top(void **state) {
    (void)state;
    profconv_profile *p = MAKE(STACKS);
    profconv_top *top = NULL;
    profconv_top_options o = {.struct_size = sizeof o};
    profconv_top_row row;
    assert_int_equal(profconv_top_new(&top, p, &o, NULL), PROFCONV_OK);
    static const struct {
        const char *name;
        int64_t self, total;
    } want[] = {{"hot", 12, 12}, {"idle", 5, 5}, {"cold", 3, 3}, {"main", 0, 20}, {"work", 0, 15}};
    int64_t sum = 0;
    assert_int_equal(profconv_top_count(top), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(profconv_top_get(top, i, &row), PROFCONV_OK);
        assert_string_equal(row.name.data, want[i].name);
        assert_int_equal(row.self, want[i].self);
        assert_int_equal(row.total, want[i].total); /* work;work counts once */
        sum += row.self;
    }
    assert_int_equal(sum, profconv_top_total(top));
    assert_int_equal(profconv_top_get(top, 5, &row), PROFCONV_E_INVALID);
    profconv_top_free(top);
    o.cumulative = 1;
    assert_int_equal(profconv_top_new(&top, p, &o, NULL), PROFCONV_OK);
    profconv_top_get(top, 1, &row);
    assert_string_equal(row.name.data, "work");
    profconv_top_free(top);
    o.sample_type = "cpu";
    assert_int_equal(profconv_top_new(&top, p, &o, NULL), PROFCONV_E_NOT_FOUND);
    assert_null(top);
    profconv_profile_free(p);
    p = inlined_profile();
    o.sample_type = NULL;
    o.by = PROFCONV_BY_MAPPING;
    assert_int_equal(profconv_top_new(&top, p, &o, NULL), PROFCONV_OK);
    profconv_top_get(top, 0, &row);
    assert_string_equal(row.name.data, "/bin/app");
    assert_int_equal(row.self, 3);
    assert_int_equal(row.total, 6);
    profconv_top_free(top);
    profconv_profile_free(p);
}

/* ---- statistics ---- */

static void near(double value, double want) {
    if (fabs(value - want) > 1e-6 * fabs(want))
        fail_msg("%.12g, expected %.12g", value, want);
}

static void test_numbers(void **state) {
    (void)state;
    near(pfc_binomial_test(3, 10, 0.5), 0.34375);
    near(pfc_binomial_test(0, 100, 0.5), 1.577721810442024e-30);
    near(pfc_binomial_test(5, 5, 0.5), 0.0625);
    near(pfc_binomial_test(0, 10, 0.25), (59049 + 17010 + 3240 + 405 + 30 + 1) / 1048576.0 ); /* none, and 6 or more */
    near(pfc_binomial_test(50, 100, 0.5), 1.0);
    near(pfc_binomial_test(450, 1000, 0.5), erfc(49.5 / sqrt(2 * 250.0)));
    near(pfc_binomial_test(0, 0, 0.5), 1);
    double p[4] = {0.01, 0.02, 0.03, 0.5};
    pfc_false_discovery(p, 4);
    near(p[0], 0.04);
    near(p[1], 0.04);
    near(p[2], 0.04);
    near(p[3], 0.5);
    uint64_t q, r;
    assert_int_equal(pfc_mul_div(UINT64_MAX, UINT64_MAX, 0, UINT64_MAX, &q, &r), 0);
    assert_true(q == UINT64_MAX && r == 0);
    assert_int_equal(pfc_mul_div(UINT64_MAX, 3, 1, 7, &q, &r), 0);
    assert_true(q == UINT64_C(7905747460161236406) && r == 4); /* (3 (2^64 - 1) + 1) / 7 */
    assert_int_equal(pfc_mul_div(UINT64_MAX, 2, 0, 1, &q, &r), 1);
}

/* ---- comparing ---- */

static profconv_diff *compared(const profconv_profile *a, const profconv_profile *b, const profconv_diff_options *o) {
    profconv_diff *d = NULL;
    profconv_error error = {0};
    if (profconv_diff_new(&d, a, b, o, &error))
        fail_msg("%s", error.message);
    int64_t sum = 0;
    profconv_diff_row row;
    for (size_t i = 0; i < profconv_diff_count(d); i++) {
        assert_int_equal(profconv_diff_get(d, i, &row), PROFCONV_OK);
        sum += row.delta_self;
    }
    assert_int_equal(sum, profconv_diff_get_summary(d)->delta);
    return d;
}

static void test_apples(void **state) {
    (void)state;
    profconv_profile *a = MAKE("m;a1 100", "m;a2 100", "m;a3 100", "m;a4 100", "m;a5 100", "m;a6 100");
    profconv_profile *b = MAKE("m;a2 100", "m;a3 100", "m;a4 100", "m;a5 100", "m;a6 100");
    profconv_diff *d = compared(a, b, NULL);
    profconv_diff_row row;
    profconv_diff_get(d, 0, &row);
    assert_string_equal(row.name.data, "a1");
    assert_int_equal(row.delta_self, -100);
    assert_int_equal(row.diff_class, PROFCONV_DIFF_GONE);
    near(row.change, -1);
    near(row.share, -1.0 / 6);
    for (size_t i = 1; i < profconv_diff_count(d); i++) {
        profconv_diff_get(d, i, &row);
        assert_int_equal(row.delta_self, 0);
        assert_int_equal(row.diff_class, PROFCONV_DIFF_UNCHANGED);
    }
    assert_int_equal(profconv_diff_get_summary(d)->delta, -100);
    near(profconv_diff_get_summary(d)->detectable, 2.8 * sqrt(0.02));
    /* As one profile: what stays is a pair that adds up to nothing. */
    profconv_profile *both = NULL;
    assert_int_equal(profconv_diff_profile(d, a, b, &both, NULL), PROFCONV_OK);
    assert_int_equal(profconv_profile_rows(both, PROFCONV_TABLE_SAMPLE), 11);
    assert_int_equal(profconv_profile_total(both, 0), -100);
    for (uint32_t i = 0; i < 11; i++) {
        profconv_id set = profconv_profile_sample_label_set(both, i);
        const profconv_label *base = profconv_profile_find_label(both, set, "pprof::base");
        assert_int_equal(profconv_profile_sample_value(both, i, 0), base ? -100 : 100);
    }
    profconv_profile_free(both);
    profconv_diff_free(d);
    profconv_profile_free(a);
    profconv_profile_free(b);
}

static void test_exposure(void **state) {
    (void)state;
    profconv_profile *a = MAKE("x 1000", "y 10"), *b = MAKE("x 3001", "y 29");
    profconv_diff_options o = {.struct_size = sizeof o, .mode = PROFCONV_DIFF_PER_WORK, .work_before = 1, .work_after = 3};
    profconv_diff *d = compared(a, b, &o);
    assert_int_equal(profconv_diff_get_summary(d)->delta, 0); /* 3030 / 3 - 1010 */
    profconv_diff_row row;
    for (size_t i = 0; i < 2; i++) {
        profconv_diff_get(d, i, &row);
        assert_true(row.delta_self == 0);
        assert_true(row.p_value > 0.5);
    }
    profconv_diff_free(d);
    o.mode = PROFCONV_DIFF_PER_SECOND;
    assert_int_equal(profconv_diff_new(&d, a, b, &o, NULL), PROFCONV_E_INVALID); /* no durations */
    assert_null(d);
    o.mode = PROFCONV_DIFF_PER_WORK;
    o.work_after = 0;
    assert_int_equal(profconv_diff_new(&d, a, b, &o, NULL), PROFCONV_E_INVALID);
    profconv_profile_free(a);
    profconv_profile_free(b);
    /* Other kinds of values are refused. */
    a = MAKE("x 1");
    profconv_builder *builder = new_builder();
    profconv_sample_type type = {0, S(builder, "cpu"), S(builder, "nanoseconds"), 0, PROFCONV_ROLE_WEIGHT};
    profconv_builder_sample_type(builder, &type);
    add_line(builder, "x 1");
    b = freeze(builder);
    assert_int_equal(profconv_diff_new(&d, a, b, NULL, NULL), PROFCONV_E_INVALID);
    profconv_profile_free(a);
    profconv_profile_free(b);
}

/* Two draws of one program with 1,000 functions whose costs fall off as 1 / rank; `planted` factors on three of them. */
static double uniform(uint64_t *seed) {
    uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) / 9007199254740992.0;
}

static profconv_profile *draw(uint64_t seed, int samples, const double *factors) {
    static double ends[1000];
    static int counts[1000];
    double sum = 0, steady = 0;
    for (int i = 0; i < 1000; i++) {
        steady += 1.0 / (i + 1);
        sum += 1.0 / (i + 1) * (factors ? i == 1 ? factors[0] : i == 3 ? factors[1] : i == 5 ? factors[2] : 1 : 1);
        ends[i] = sum;
    }
    /* The same work takes more or less time, and as many samples. */
    samples = (int)(samples * sum / steady);
    memset(counts, 0, sizeof counts);
    for (int k = 0; k < samples; k++) {
        double at = uniform(&seed) * sum;
        int low = 0, high = 999;
        while (low < high) {
            int middle = (low + high) / 2;
            if (ends[middle] > at)
                high = middle;
            else
                low = middle + 1;
        }
        counts[low]++;
    }
    profconv_builder *b = start();
    for (int i = 0; i < 1000; i++) {
        char line[40];
        snprintf(line, sizeof line, "main;f%d %d", i, counts[i]);
        if (counts[i])
            add_line(b, line);
    }
    return freeze(b);
}

static uint64_t flagged(const profconv_diff *d) {
    const uint64_t *rows = profconv_diff_get_summary(d)->rows;
    return rows[PROFCONV_DIFF_UP] + rows[PROFCONV_DIFF_DOWN] + rows[PROFCONV_DIFF_NEW] + rows[PROFCONV_DIFF_GONE];
}

static void test_same_program(void **state) {
    (void)state;
    static const int sizes[] = {1000, 10000, 100000};
    for (int s = 0; s < 3; s++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            profconv_profile *a = draw(seed * 7919, sizes[s], NULL), *b = draw(seed * 104729 + 12345, sizes[s], NULL);
            profconv_diff *d = compared(a, b, NULL);
            assert_int_equal(flagged(d), 0);
            profconv_diff_free(d);
            profconv_profile_free(a);
            profconv_profile_free(b);
        }
    }
}

static void test_planted(void **state) {
    (void)state;
    static const double factors[3] = {0.5, 1.5, 2}; /* f1, f3, f5 */
    static const int sizes[] = {10000, 100000};
    uint64_t all = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t seed = (uint64_t)round * 7727 + 4242;
        profconv_profile *a = draw(seed, sizes[round & 1], NULL), *b = draw(seed * 31 + 777777, sizes[round & 1], factors);
        profconv_diff *d = compared(a, b, NULL);
        all += flagged(d);
        for (size_t i = 0; i < profconv_diff_count(d); i++) {
            profconv_diff_row row;
            profconv_diff_get(d, i, &row);
            if (strcmp(row.name.data, "f1") == 0)
                assert_int_equal(row.diff_class, PROFCONV_DIFF_DOWN);
            if (strcmp(row.name.data, "f3") == 0 || strcmp(row.name.data, "f5") == 0)
                assert_int_equal(row.diff_class, PROFCONV_DIFF_UP);
        }
        profconv_diff_free(d);
        profconv_profile_free(a);
        profconv_profile_free(b);
    }
    assert_in_range(all, 30, 32); /* at most one of twenty calls is wrong, and these draws are fixed */
}

/* ---- several runs of a side ---- */

#define MOST_RUNS 6

static double normal(uint64_t *seed) {
    return sqrt(-2 * log(1 - uniform(seed))) * cos(6.283185307179586 * uniform(seed));
}

/* A run whose functions cost more or less than usual, by exp(N(0, noise)), each for itself. */
static profconv_profile *noisy_run(uint64_t seed, double samples, double noise, const double *factors) {
    profconv_builder *b = start();
    double sum = 0;
    for (int i = 0; i < 300; i++)
        sum += 1.0 / (i + 1);
    for (int i = 0; i < 300; i++) {
        double mean = samples / sum / (i + 1) * exp(noise * normal(&seed) - noise * noise / 2);
        if (factors && (i == 1 || i == 3 || i == 5))
            mean *= factors[i / 2];
        double at = mean + sqrt(mean) * normal(&seed); /* as good as Poisson where it matters */
        int count = at < 0.5 ? 0 : (int)(at + 0.5);
        char line[40];
        snprintf(line, sizeof line, "main;f%d %d", i, count);
        if (count)
            add_line(b, line);
    }
    return freeze(b);
}

typedef struct runs {
    profconv_profile *each[MOST_RUNS];
    const profconv_profile *list[MOST_RUNS];
    profconv_profile *sum;
    uint64_t count;
} runs;

static runs make_runs(uint64_t seed, uint64_t count, double noise, const double *factors) {
    runs r = {.count = count};
    profconv_builder *b = new_builder();
    for (uint64_t i = 0; i < count; i++) {
        r.list[i] = r.each[i] = noisy_run(seed * 1000 + i * 17 + 3, 50000, noise, factors);
        assert_int_equal(profconv_merge(b, r.each[i], 1, NULL), PROFCONV_OK);
    }
    r.sum = freeze(b);
    return r;
}

static void free_runs(runs *r) {
    for (uint64_t i = 0; i < r->count; i++)
        profconv_profile_free(r->each[i]);
    profconv_profile_free(r->sum);
}

static profconv_diff *compared_runs(const runs *a, const runs *b) {
    profconv_diff_options o = {.struct_size = sizeof o,
                               .runs_before = a->list,
                               .runs_after = b->list,
                               .run_count_before = a->count,
                               .run_count_after = b->count};
    return compared(a->sum, b->sum, &o);
}

/* Runs of one program that vary by far more than chance: without the runs, dozens of functions seem to have changed; with them nothing
 * does, but for the one comparison of twenty in which something may be called changed. */
static void test_dispersion(void **state) {
    (void)state;
    static const double noises[] = {0, 0.05, 0.15, 0.3};
    int wrong = 0;
    uint64_t functions = 0;
    for (uint64_t k = 0; k < 60; k++) {
        double noise = noises[k % 4];
        runs a = make_runs(2 * k + 1, 3 + k % 3, noise, NULL), b = make_runs(2 * k + 2, 3 + k % 2, noise, NULL);
        profconv_diff_options alone = {.struct_size = sizeof alone, .mode = PROFCONV_DIFF_PER_WORK, .work_before = a.count,
                                       .work_after = b.count};
        profconv_diff *d = compared(a.sum, b.sum, &alone);
        if (noise > 0.1)
            assert_true(flagged(d) > 20);
        profconv_diff_free(d);
        d = compared_runs(&a, &b);
        const profconv_diff_summary *s = profconv_diff_get_summary(d);
        wrong += flagged(d) > 0;
        functions += flagged(d);
        assert_true(s->runs_before == a.count && s->runs_after == b.count && s->exposure_after == b.count);
        assert_true(noise > 0.1 ? s->dispersion > 3 : s->dispersion < 3);
        profconv_diff_free(d);
        free_runs(&a);
        free_runs(&b);
    }
    assert_in_range(wrong, 0, 3);
    assert_in_range(functions, 0, 3);
}

static void test_planted_runs(void **state) {
    (void)state;
    static const double factors[3] = {0.5, 1.6, 2.5}; /* f1, f3, f5 */
    uint64_t all = 0;
    for (uint64_t k = 0; k < 6; k++) {
        double noise = k & 1 ? 0.1 : 0.05;
        runs a = make_runs(100 + 2 * k, 4, noise, NULL), b = make_runs(101 + 2 * k, 3 + k % 3, noise, factors);
        profconv_diff *d = compared_runs(&a, &b);
        all += flagged(d);
        for (size_t i = 0; i < profconv_diff_count(d); i++) {
            profconv_diff_row row;
            profconv_diff_get(d, i, &row);
            if (strcmp(row.name.data, "f1") == 0)
                assert_int_equal(row.diff_class, PROFCONV_DIFF_DOWN);
            if (strcmp(row.name.data, "f3") == 0 || strcmp(row.name.data, "f5") == 0)
                assert_int_equal(row.diff_class, PROFCONV_DIFF_UP);
        }
        profconv_diff_free(d);
        free_runs(&a);
        free_runs(&b);
    }
    assert_in_range(all, 18, 20);
}

static void test_runs_refused(void **state) {
    (void)state;
    profconv_profile *a = MAKE("x 10", "y 20"), *b = MAKE("x 11", "y 20"), *c = MAKE("x 11", "z 20"), *e = MAKE("x 1", "y 1");
    profconv_diff *d = NULL;
    const profconv_profile *one[2] = {a, a}, *two[2] = {b, c};
    profconv_diff_options o = {.struct_size = sizeof o, .runs_before = one, .run_count_before = 1};
    assert_int_equal(profconv_diff_new(&d, a, b, &o, NULL), PROFCONV_E_INVALID); /* of one side only */
    o.runs_after = two;
    o.run_count_after = 1;
    assert_int_equal(profconv_diff_new(&d, a, b, &o, NULL), PROFCONV_OK); /* one and one: as without */
    near(profconv_diff_get_summary(d)->dispersion, 1);
    profconv_diff_free(d);
    o.run_count_after = 2;
    assert_int_equal(profconv_diff_new(&d, a, b, &o, NULL), PROFCONV_E_INVALID); /* not the sum */
    assert_int_equal(profconv_diff_new(&d, a, e, &o, NULL), PROFCONV_E_INVALID); /* nor that; and z is in no sum */
    o.mode = PROFCONV_DIFF_PER_SECOND;
    assert_int_equal(profconv_diff_new(&d, a, b, &o, NULL), PROFCONV_E_INVALID);
    profconv_profile_free(a);
    profconv_profile_free(b);
    profconv_profile_free(c);
    profconv_profile_free(e);
}

/* Against values of R's pt(). */
static void test_student(void **state) {
    (void)state;
    near(pfc_student_test(0, 3), 1);
    assert_true(fabs(pfc_student_test(2.0, 1) - 0.2951672353008665) < 1e-12); /* 2 atan(1/2) / pi */
    assert_true(fabs(pfc_student_test(1.0, 2) - 0.42264973081037427) < 1e-12); /* 1 - 1 / sqrt(3) */
    assert_true(fabs(pfc_student_test(-10, 4) / 0.0005620 - 1) < 1e-3);
    assert_true(fabs(pfc_student_test(2.5, 1e5) - erfc(2.5 / sqrt(2))) < 1e-5);
    assert_true(fabs(pfc_student_test(2.5, INFINITY) - erfc(2.5 / sqrt(2))) < 1e-15);
    assert_true(pfc_student_test(1e10, 3.5) < 1e-20 && pfc_student_test(1e10, 3.5) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions), cmocka_unit_test(test_labels),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_granularity), cmocka_unit_test(test_keep_top),    cmocka_unit_test(test_scale),
        cmocka_unit_test(test_scaled_sums), cmocka_unit_test(test_normalize),   cmocka_unit_test(test_top),
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_apples),      cmocka_unit_test(test_exposure),
        cmocka_unit_test(test_same_program), cmocka_unit_test(test_planted),    cmocka_unit_test(test_student),
        cmocka_unit_test(test_dispersion),  cmocka_unit_test(test_planted_runs), cmocka_unit_test(test_runs_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
