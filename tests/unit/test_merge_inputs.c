/* SPDX-License-Identifier: MIT
 *
 * Merging many inputs: the same sum with any number of threads, failures told in their order, an end that can be asked for.
 */
#include "tests/unit/model_scenario.h"

#include <stdio.h>
#include <stdlib.h>

enum { INPUTS = 40 };

typedef struct bench {
    char *texts[INPUTS]; /* collapsed stacks */
    size_t count;
    int keep_going;
    int bad_open, bad_read, refused; /* indexes, or -1 */
    size_t opened, done;
    int statuses[INPUTS];
    char last_error[512];
    int ticks, cancel_at; /* cancel_at 0: never */
    profconv_convert_options own;
} bench;

static void make(bench *x, size_t count) {
    memset(x, 0, sizeof *x);
    x->count = count;
    x->bad_open = x->bad_read = x->refused = -1;
    for (size_t i = 0; i < count; i++) {
        /* Inputs of very different lengths, so that they end in another order than they begin. */
        size_t lines = i % 3 == 0 ? 4000 : 3, at = 0, room = lines * 64;
        x->texts[i] = (char *)test_malloc(room);
        for (size_t k = 0; k < lines; k++)
            at += (size_t)snprintf(x->texts[i] + at, room - at, "main;f%zu;g%zu;h%zu %zu\n", k % 50, (k * 7 + i) % 90, i, k + 1);
    }
}

static void unmake(bench *x) {
    for (size_t i = 0; i < x->count; i++)
        test_free(x->texts[i]);
}

static int open_text(void *user, uint64_t index, profconv_merge_input *next, profconv_error *error) {
    bench *x = (bench *)user;
    assert_int_equal(index, x->opened);
    if (index >= x->count)
        return PROFCONV_OK;
    x->opened++;
    if ((int)index == x->bad_open) {
        memset(error, 0, sizeof *error);
        strcpy(error->message, "cannot be opened");
        return error->status = PROFCONV_E_IO;
    }
    const char *text = (int)index == x->bad_read ? "" : x->texts[index];
    next->weight = index + 1;
    if (x->own.struct_size)
        next->options = &x->own;
    return profconv_input_open_memory(&next->input, text, strlen(text), NULL, error);
}

static int accept_text(void *user, uint64_t index, const profconv_profile *profile) {
    const bench *x = (const bench *)user;
    assert_int_equal(index, x->done);
    assert_true(profconv_profile_rows(profile, PROFCONV_TABLE_SAMPLE) > 0);
    return (int)index != x->refused;
}

static int done_text(void *user, uint64_t index, int status, const profconv_error *error) {
    bench *x = (bench *)user;
    assert_int_equal(index, x->done);
    x->statuses[x->done++] = status;
    if (status == PROFCONV_OK)
        return PROFCONV_OK;
    snprintf(x->last_error, sizeof x->last_error, "%s", error->message);
    return x->keep_going ? PROFCONV_OK : status;
}

static int tick(void *user, const char *stage, uint64_t done, uint64_t total) {
    bench *x = (bench *)user;
    (void)stage;
    (void)done;
    (void)total;
    return ++x->ticks == x->cancel_at;
}

/* Reads all inputs of x; *dump (of the sum, when `status` is OK) is for test_free. */
static int merge_all(bench *x, uint32_t threads, uint64_t max_memory, profconv_error *error, char **dump) {
    profconv_registry *registry = NULL;
    profconv_builder *builder = NULL;
    profconv_limits limits = {0};
    profconv_convert_options options = {0};
    profconv_merge_source source = {sizeof source, open_text, accept_text, done_text, x};
    limits.struct_size = sizeof limits;
    limits.max_memory = max_memory;
    options.struct_size = sizeof options;
    options.from = "collapsed";
    options.threads = threads;
    options.progress = tick;
    options.progress_user = x;
    assert_int_equal(profconv_registry_new(&registry, NULL, error), PROFCONV_OK);
    assert_int_equal(profconv_builder_new(&builder, NULL, &limits, error), PROFCONV_OK);
    int status = profconv_merge_inputs(builder, registry, &options, &source, error);
    if (dump)
        *dump = NULL;
    if (status == PROFCONV_OK && dump) {
        const uint8_t *data;
        size_t size;
        profconv_output *output = NULL;
        profconv_profile *p = NULL;
        assert_int_equal(profconv_builder_freeze(builder, &p, error), PROFCONV_OK);
        assert_int_equal(profconv_output_open_memory(&output, NULL, error), PROFCONV_OK);
        assert_int_equal(profconv_dump(p, output, error), PROFCONV_OK);
        assert_int_equal(profconv_output_close(output, error), PROFCONV_OK);
        assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_OK);
        *dump = (char *)test_malloc(size + 1);
        memcpy(*dump, data, size);
        (*dump)[size] = 0;
        profconv_output_free(output);
        profconv_profile_free(p);
    }
    profconv_builder_free(builder);
    profconv_registry_free(registry);
    return status;
}

/* What profconv_read and profconv_merge make of the same, one after the other. */
static char *by_hand(bench *x) {
    profconv_registry *registry = NULL;
    profconv_builder *builder = new_builder();
    profconv_convert_options options = {0};
    profconv_output *output = NULL;
    const uint8_t *data;
    size_t size;
    options.struct_size = sizeof options;
    options.from = "collapsed";
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), PROFCONV_OK);
    for (size_t i = 0; i < x->count; i++) {
        profconv_input *input = NULL;
        profconv_profile *p = NULL;
        assert_int_equal(profconv_input_open_memory(&input, x->texts[i], strlen(x->texts[i]), NULL, NULL), PROFCONV_OK);
        assert_int_equal(profconv_read(registry, input, &options, &p, NULL), PROFCONV_OK);
        assert_int_equal(profconv_merge(builder, p, i + 1, NULL), PROFCONV_OK);
        profconv_profile_free(p);
        profconv_input_free(input);
    }
    profconv_profile *sum = freeze(builder);
    assert_int_equal(profconv_output_open_memory(&output, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_dump(sum, output, NULL), PROFCONV_OK);
    assert_int_equal(profconv_output_close(output, NULL), PROFCONV_OK);
    assert_int_equal(profconv_output_bytes(output, &data, &size), PROFCONV_OK);
    char *dump = (char *)test_malloc(size + 1);
    memcpy(dump, data, size);
    dump[size] = 0;
    profconv_output_free(output);
    profconv_profile_free(sum);
    profconv_registry_free(registry);
    return dump;
}

static void test_any_number_of_threads(void **state) {
    static const uint32_t threads[] = {0, 1, 2, 3, 8, 1000};
    (void)state;
    bench x;
    make(&x, INPUTS);
    char *expected = by_hand(&x);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        profconv_error error = {0};
        char *dump;
        x.opened = x.done = 0;
        assert_int_equal(merge_all(&x, threads[i], 0, &error, &dump), PROFCONV_OK);
        assert_int_equal(x.done, INPUTS);
        assert_string_equal(dump, expected);
        test_free(dump);
    }
    test_free(expected);
    unmake(&x);
}

static void test_nothing_to_merge(void **state) {
    (void)state;
    bench x;
    profconv_error error = {0};
    make(&x, 0);
    assert_int_equal(merge_all(&x, 2, 0, &error, NULL), PROFCONV_OK);
    assert_int_equal(x.done, 0);
}

static void test_failures_in_order(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        bench x;
        profconv_error error = {0};
        make(&x, 12);
        x.bad_open = 4;
        x.bad_read = 7;
        x.refused = 9;
        x.keep_going = 1;
        assert_int_equal(merge_all(&x, threads, 0, &error, NULL), PROFCONV_OK);
        assert_int_equal(x.done, 12);
        for (int i = 0; i < 12; i++)
            assert_int_equal(x.statuses[i], i == 4 ? PROFCONV_E_IO : i == 7 ? PROFCONV_E_FORMAT : PROFCONV_OK);
        x.opened = x.done = 0;
        x.keep_going = 0;
        assert_int_equal(merge_all(&x, threads, 0, &error, NULL), PROFCONV_E_IO);
        assert_int_equal(x.done, 5);
        assert_string_equal(error.message, "cannot be opened");
        x.bad_open = -1;
        x.opened = x.done = 0;
        assert_int_equal(merge_all(&x, threads, 0, &error, NULL), PROFCONV_E_FORMAT);
        assert_int_equal(x.done, 8);
        assert_string_equal(error.message, x.last_error);
        unmake(&x);
    }
}

static void test_cancelled(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        bench x;
        profconv_error error = {0};
        make(&x, 30);
        x.cancel_at = 5;
        assert_int_equal(merge_all(&x, threads, 0, &error, NULL), PROFCONV_E_CALLBACK);
        assert_true(x.done < 30);
        assert_int_equal(x.ticks, 5);
        unmake(&x);
    }
}

/* Each input may have options of its own; a wrong one is that input's failure. */
static void test_options_of_an_input(void **state) {
    (void)state;
    bench x;
    profconv_error error = {0};
    make(&x, 6);
    x.own.struct_size = sizeof x.own;
    x.own.from = "pprof";
    x.keep_going = 1;
    assert_int_equal(merge_all(&x, 2, 0, &error, NULL), PROFCONV_OK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(x.statuses[i], PROFCONV_E_FORMAT);
    unmake(&x);
}

static void test_budget(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        bench x;
        profconv_error error = {0};
        make(&x, INPUTS);
        assert_int_equal(merge_all(&x, threads, 200000, &error, NULL), PROFCONV_E_LIMIT);
        assert_non_null(strstr(error.message, "max_memory"));
        unmake(&x);
    }
}

static void test_wrong_calls(void **state) {
    (void)state;
    profconv_registry *registry = NULL;
    profconv_builder *builder = new_builder();
    profconv_convert_options options = {0};
    profconv_merge_source source = {0};
    profconv_error error = {0};
    options.struct_size = sizeof options;
    source.struct_size = sizeof source;
    assert_int_equal(profconv_registry_new(&registry, NULL, NULL), PROFCONV_OK);
    assert_int_equal(profconv_merge_inputs(builder, registry, &options, &source, &error), PROFCONV_E_INVALID);
    assert_non_null(strstr(error.message, "open"));
    profconv_builder_free(builder);
    profconv_registry_free(registry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_threads), cmocka_unit_test(test_nothing_to_merge),
        cmocka_unit_test(test_failures_in_order),     cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_options_of_an_input),   cmocka_unit_test(test_budget),
        cmocka_unit_test(test_wrong_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
