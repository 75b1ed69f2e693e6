/* SPDX-License-Identifier: MIT
 *
 * Faults, for every registered format, over all its fixtures: allocation k fails, the input is cut at every byte, comes
 * a byte at a time, breaks at read k, the output breaks at write k. Expected each time: a status, a message, nothing
 * leaked, no output, and an old file untouched. A new format is swept without a line here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <dirent.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/matrix/sweep_help.h"

static void sweep_allocations(const world *w, const test_fixture *fixture, const char *to, uint64_t most) {
    test_heap heap;
    char label[400];
    snprintf(label, sizeof label, "%s to %s", fixture->label, to ? to : "dump");
    test_run plain = make_run(w, fixture, to);
    test_heap_init(&heap, 0);
    plain.heap = &heap;
    test_run_do(&plain);
    check_outcome(&plain, label, "no fault", 0);
    check_heap(&heap, label, "no fault", 0);
    uint64_t n = heap.requests;
    for (uint64_t i = 0; i < (n < most ? n : most); i++) {
        uint64_t k = point(i, n, most);
        test_run run = make_run(w, fixture, to);
        test_heap_init(&heap, k);
        heap.fail_on = (int)(i & 1); /* once, or from then on */
        run.heap = &heap;
        test_run_do(&run);
        check_outcome(&run, label, "allocation", k);
        check_heap(&heap, label, "allocation", k);
        /* What fails anyway may fail earlier for its own reason; what succeeds can only lack notes. */
        if (run.status != PROFCONV_OK && run.status != PROFCONV_E_NOMEM && run.status != plain.status)
            fail_msg("%s, allocation %llu: status %d (%s)", label, (unsigned long long)k, run.status,
                     run.error.message);
        if (run.status == PROFCONV_OK && plain.status == PROFCONV_OK && to &&
            (run.bytes_size != plain.bytes_size || memcmp(run.bytes, plain.bytes, run.bytes_size) != 0))
            fail_msg("%s, allocation %llu: success with another output", label, (unsigned long long)k);
        test_run_free(&run);
    }
    test_run_free(&plain);
}

static void test_readers_without_memory(void **state) {
    const world *w = *state;
    for (size_t i = 0; i < w->fixtures.count; i++) {
        if (w->fixtures.items[i].size <= SMALL)
            sweep_allocations(w, &w->fixtures.items[i], NULL, share(w, 60000, 1000));
    }
}

static void writer_without_memory(const world *w, const test_fixture *fixture, const char *to) {
    sweep_allocations(w, fixture, to, test_full() ? UINT64_MAX : test_sampled() ? 5 : test_reduced() ? 100 : 500);
}

static void test_writers_without_memory(void **state) {
    assert_true(each_writer(*state, 4, writer_without_memory) >= 1);
}

static void test_inputs_that_end_early(void **state) {
    const world *w = *state;
    size_t most = (size_t)share(w, 200000, 8192);
    for (size_t i = 0; i < w->fixtures.count; i++) {
        const test_fixture *fixture = &w->fixtures.items[i];
        size_t points = fixture->size <= most ? fixture->size : most;
        for (size_t j = 0; j < points; j++) {
            test_heap heap;
            test_run run = make_run(w, fixture, NULL);
            size_t cut = (size_t)point(j, fixture->size, points) - 1;
            /* A block of its own size, so that a read past its end is seen. */
            unsigned char *copy = malloc(cut ? cut : 1);
            assert_non_null(copy);
            memcpy(copy, fixture->data, cut);
            run.data = copy;
            run.size = cut;
            test_heap_init(&heap, 0);
            run.heap = &heap;
            test_run_do(&run);
            check_outcome(&run, fixture->label, "cut at", cut);
            check_heap(&heap, fixture->label, "cut at", cut);
            test_run_free(&run);
            free(copy);
        }
    }
}

static void compare_runs(const test_run *a, const test_run *b, const char *label, const char *what) {
    if (a->status != b->status)
        fail_msg("%s, %s: status %d (%s) instead of %d (%s)", label, what, b->status, b->error.message, a->status,
                 a->error.message);
    if (a->status == PROFCONV_OK && (a->bytes_size != b->bytes_size || memcmp(a->bytes, b->bytes, a->bytes_size) != 0))
        fail_msg("%s, %s: another profile than from memory", label, what);
}

static void test_a_byte_at_a_time(void **state) {
    const world *w = *state;
    for (size_t i = 0; i < w->fixtures.count; i++) {
        const test_fixture *fixture = &w->fixtures.items[i];
        if (test_reduced() && fixture->size > SMALL)
            continue;
        test_run whole = make_run(w, fixture, NULL);
        test_run_do(&whole);
        check_outcome(&whole, fixture->label, "whole", 0);
        test_run seekable = make_run(w, fixture, NULL);
        seekable.source = TEST_SOURCE_SEEKABLE;
        seekable.piece = 1;
        test_run_do(&seekable);
        compare_runs(&whole, &seekable, fixture->label, "a byte at a time");
        /* A pipe may lack what lies behind the window, but what it gives is a profile or an error. */
        test_run piped = make_run(w, fixture, NULL);
        piped.source = TEST_SOURCE_STREAM;
        piped.piece = 1;
        test_run_do(&piped);
        check_outcome(&piped, fixture->label, "a byte at a time from a pipe", 0);
        test_run_free(&whole);
        test_run_free(&seekable);
        test_run_free(&piped);
    }
}

static void test_inputs_that_break(void **state) {
    const world *w = *state;
    for (size_t i = 0; i < w->fixtures.count; i++) {
        const test_fixture *fixture = &w->fixtures.items[i];
        if (fixture->size > SMALL)
            continue;
        test_run whole = make_run(w, fixture, NULL);
        test_run_do(&whole);
        for (int source = TEST_SOURCE_SEEKABLE; source <= TEST_SOURCE_STREAM; source++) {
            int reached = 1;
            for (uint64_t k = 1; reached && k <= 40; k++) {
                test_heap heap;
                test_run run = make_run(w, fixture, NULL);
                test_heap_init(&heap, 0);
                run.heap = &heap;
                run.source = (test_source)source;
                run.piece = fixture->size / 32 + 1;
                run.read_fails_at = k;
                test_run_do(&run);
                reached = run.read_failed;
                check_outcome(&run, fixture->label, "read", k);
                check_heap(&heap, fixture->label, "read", k);
                /* What came before may be used, as of a recording that was cut, but not in silence, unless what could
                 * not be read is not needed. */
                if (reached && run.status == PROFCONV_OK && run.warnings <= whole.warnings &&
                    (run.bytes_size != whole.bytes_size || memcmp(run.bytes, whole.bytes, run.bytes_size) != 0))
                    fail_msg("%s: read %llu failed, and nobody noticed", fixture->label, (unsigned long long)k);
                test_run_free(&run);
            }
        }
        test_run_free(&whole);
    }
}

static void output_breaks(const world *w, const test_fixture *fixture, const char *to) {
    char label[400];
    snprintf(label, sizeof label, "%s to %s", fixture->label, to);
    int reached = 1;
    uint64_t k = 1;
    for (; reached && k < 100; k++) {
        test_heap heap;
        test_run run = make_run(w, fixture, to);
        test_heap_init(&heap, 0);
        run.heap = &heap;
        run.write_fails_at = k;
        test_run_do(&run);
        reached = run.write_failed;
        check_outcome(&run, label, "write", k);
        check_heap(&heap, label, "write", k);
        if (reached && (run.status == PROFCONV_OK || run.closed != 1 || run.committed))
            fail_msg("%s: write %llu failed, status %d, closed %d times", label, (unsigned long long)k, run.status,
                     run.closed);
        test_run_free(&run);
    }
    assert_true(k > 2); /* at least one write was made to fail */
    if (access("/dev/full", W_OK) == 0) {
        test_run run = make_run(w, fixture, to);
        run.output_path = "/dev/full";
        test_run_do(&run);
        check_outcome(&run, label, "full device", 0);
        if (run.status != PROFCONV_E_IO || run.error.system_errno == 0)
            fail_msg("%s: status %d on a full device", label, run.status);
    }
}

static void test_outputs_that_break(void **state) { assert_true(each_writer(*state, 4, output_breaks) >= 1); }

/* ---- an old output ---- */

static size_t files_in(const char *folder) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return count;
}

static int holds(const char *path, const char *text) {
    char buffer[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(buffer, 1, sizeof buffer - 1, file);
    fclose(file);
    return n == strlen(text) && memcmp(buffer, text, n) == 0;
}

static void old_output(const world *w, const test_fixture *fixture, const char *to) {
    static const char old[] = "the old contents";
    char folder[] = "profconv-sweep-XXXXXX";
    char path[sizeof folder + 8];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/output", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(old, file);
    fclose(file);
    test_heap heap;
    test_heap_init(&heap, 0);
    test_run counted = make_run(w, fixture, to);
    counted.heap = &heap;
    test_run_do(&counted);
    test_run_free(&counted);
    uint64_t n = heap.requests;
    for (uint64_t i = 0; i < 12; i++) {
        test_run run = make_run(w, fixture, to);
        test_heap_init(&heap, 1 + i * n / 12);
        heap.fail_on = 1;
        run.heap = &heap;
        run.output_path = path;
        test_run_do(&run);
        if (run.status != PROFCONV_OK && !holds(path, old))
            fail_msg("%s to %s: failed (%s), and the old file is gone", fixture->label, to, run.error.message);
        if (files_in(folder) != 1)
            fail_msg("%s to %s: a temporary file was left", fixture->label, to);
        if (run.status == PROFCONV_OK)
            break;
    }
    test_run run = make_run(w, fixture, to);
    run.output_path = path;
    test_run_do(&run);
    assert_int_equal(run.status, PROFCONV_OK);
    assert_false(holds(path, old));
    assert_int_equal(files_in(folder), 1);
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_an_old_output_stays(void **state) { assert_true(each_writer(*state, 2, old_output) >= 1); }

/* ---- the budget ---- */

static void test_budgets_are_kept(void **state) {
    const world *w = *state;
    for (size_t i = 0; i < w->fixtures.count; i++) {
        const test_fixture *fixture = &w->fixtures.items[i];
        if (fixture->size > SMALL)
            continue;
        test_run plain = make_run(w, fixture, NULL);
        test_run_do(&plain);
        test_run_free(&plain);
        if (plain.status != PROFCONV_OK)
            continue;
        int succeeded = 0;
        for (uint64_t limit = 1024; limit <= 1u << 30 && !succeeded; limit *= 2) {
            test_heap heap;
            test_run run = make_run(w, fixture, NULL);
            test_heap_init(&heap, 0);
            run.heap = &heap;
            run.max_memory = limit;
            test_run_do(&run);
            check_outcome(&run, fixture->label, "max_memory", limit);
            check_heap(&heap, fixture->label, "max_memory", limit);
            succeeded = run.status == PROFCONV_OK;
            if (!succeeded && run.status != PROFCONV_E_LIMIT)
                fail_msg("%s, max_memory %llu: status %d (%s)", fixture->label, (unsigned long long)limit, run.status,
                         run.error.message);
            test_run_free(&run);
        }
        if (!succeeded)
            fail_msg("%s: no budget up to 1 GiB is enough", fixture->label);
    }
}

static void test_every_reader_has_fixtures(void **state) {
    const world *w = *state;
    for (size_t f = 0; f < profconv_registry_format_count(w->registry); f++) {
        profconv_format_info info;
        size_t count = 0;
        assert_int_equal(profconv_registry_format(w->registry, f, &info), PROFCONV_OK);
        for (size_t i = 0; i < w->fixtures.count; i++)
            count += strcmp(w->fixtures.items[i].format, info.name) == 0;
        print_message("%s: %zu fixtures\n", info.name, count);
        if (info.can_read && count == 0)
            fail_msg("%s has no fixture in tests/data/%s or fuzz/seeds/%s", info.name, info.name, info.name);
    }
}

/* An argument chooses the tests whose names match it ("*budget*"). */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_reader_has_fixtures), cmocka_unit_test(test_readers_without_memory),
        cmocka_unit_test(test_writers_without_memory),    cmocka_unit_test(test_inputs_that_end_early),
        cmocka_unit_test(test_a_byte_at_a_time),          cmocka_unit_test(test_inputs_that_break),
        cmocka_unit_test(test_outputs_that_break),        cmocka_unit_test(test_an_old_output_stays),
        cmocka_unit_test(test_budgets_are_kept),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
