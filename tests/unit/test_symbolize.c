/* SPDX-License-Identifier: MIT
 *
 * The pass "symbolize" where no ELF file is needed: names, perf maps, kallsyms, settings, what is kept and what is
 * reported.
 */
#include "tests/support/failing_alloc.h"
#include "tests/unit/symbolize_fixture.h"

#include "libprofconv/symbolize/pass.h"

static void build_ids(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        int equal;
    } cases[] = {
        {"0102030405060708", "0102030405060708", 1},
        {"0102030405060708", "0102030405060708000000000000000000000000", 1}, /* padded to 20 bytes */
        {"0102030405060708", "0102030405060708000000000000000000000001", 0},
        {"0102030405060708", "0102030405060709", 0},
        {"01020304", "0102030405060708", 0},
        {"", "0000", 0},
        {"", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pfc_build_id_equal(cases[i].a, cases[i].b), cases[i].equal);
        assert_int_equal(pfc_build_id_equal(cases[i].b, cases[i].a), cases[i].equal);
    }
}

/* Expected values: the mangling schemes' own documents, and c++filt. */
static void demangling(void **state) {
    (void)state;
    static const struct {
        const char *name, *full, *simple;
    } cases[] = {
        {"_Z4workiPKc", "work(int, char const*)", "work"},
        {"_ZN3geo6Circle4areaEv", "geo::Circle::area()", "geo::Circle::area"},
        {"_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size() const",
         "std::vector<int, std::allocator<int> >::size"},
        {"_Z4workv.cold", "work() [clone .cold]", "work"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad", "core::fmt::Formatter::pad"},
        {"_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
         "<alloc::string::String as core::fmt::Display>::fmt", "<alloc::string::String as core::fmt::Display>::fmt"},
        {"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example", "mycrate::example"},
        {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", "std::mem::align_of::<f64>"},
        {"main", NULL, NULL},
        {"_Zwrong", NULL, NULL},
        {"_R", NULL, NULL},
        {"", NULL, NULL},
    };
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_buf text;
    pfc_buf_init(&text, &mem);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int style = PFC_DEMANGLE_FULL; style <= PFC_DEMANGLE_SIMPLE; style++) {
            const char *expected = style == PFC_DEMANGLE_FULL ? cases[i].full : cases[i].simple;
            int done = pfc_demangle(cases[i].name, style, &text);
            if (done != (expected != NULL))
                fail_msg("%s: %s", cases[i].name, done ? text.data : "not demangled");
            if (expected && strcmp(expected, "work") == 0 && strstr(text.data, "work") == text.data)
                continue; /* whether a clone's suffix is shown differs between versions of libiberty */
            if (expected)
                assert_string_equal(text.data, expected);
        }
    assert_false(pfc_demangle("_Z4workv", PFC_DEMANGLE_NONE, &text));
    pfc_buf_free(&text);
    assert_int_equal(mem.live, 0);
}

/* Names that are deep, long, or stand for a text that is exponentially longer than they are. */
static void demangling_hostile_names(void **state) {
    (void)state;
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_buf text;
    pfc_buf_init(&text, &mem);
    static char name[200000];
    strcpy(name, "_Z1fI");
    memset(name + 5, 'P', 100000);
    strcpy(name + 100005, "iEvv");
    (void)pfc_demangle(name, PFC_DEMANGLE_FULL, &text); /* too long */
    assert_int_equal(text.size, 0);
    memset(name + 5, 'P', 60000);
    strcpy(name + 60005, "iEvv");
    (void)pfc_demangle(name, PFC_DEMANGLE_FULL, &text); /* too deep */
    assert_int_equal(text.size, 0);
    /* Each argument is a function type of two of the one before: 2^n words. */
    strcpy(name, "_Z1fFiiE");
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < 36; i++) {
        char step[16];
        snprintf(step, sizeof step, i ? "FS%c_S%c_E" : "FS_S_E", digits[i ? i - 1 : 0], digits[i ? i - 1 : 0]);
        strcat(name, step);
    }
    (void)pfc_demangle(name, PFC_DEMANGLE_FULL, &text);
    assert_true(text.size <= 65536);
    assert_true(mem.peak <= 1 << 20);
    pfc_buf_free(&text);
    assert_int_equal(mem.live, 0);
}

static void perf_maps(void **state) {
    (void)state;
    write_file("perf-77.map", "1000 100 first\n"
                              "0x2000 0x80 prefixed name with blanks\r\n"
                              "garbage\n"
                              "\n"
                              "1080 20 later one wins\n"
                              "3000 0 empty\n"
                              "fffffffffffffff0 10 last\n"
                              "4000 10 void Foo::bar(int) (foo.js:1:2)");
    session s = new_session();
    set(&s, "perf-map-dir", fixture_dir);
    add_mapping(&s, PROFCONV_MAPPING_JIT, "//anon", "", 0x1000, 0x5000, 0, 77);
    static const struct {
        uint64_t address;
        const char *name;
    } cases[] = {{0x1000, "first"},
                 {0x107f, "first"},
                 {0x1080, "later one wins"},
                 {0x109f, "later one wins"},
                 {0x10a0, "first"},
                 {0x10ff, "first"},
                 {0x1100, ""},
                 {0x2001, "prefixed name with blanks"},
                 {0x3000, ""},
                 {0x400f, "void Foo::bar(int) (foo.js:1:2)"},
                 {UINT64_MAX, "last"}};
    enum { N = sizeof cases / sizeof *cases };
    profconv_id locations[N];
    for (size_t i = 0; i < N; i++)
        locations[i] = add_address(&s, cases[i].address);
    add_mapping(&s, PROFCONV_MAPPING_ANONYMOUS, "//anon", "", 0x1000, 0x5000, 0, 78);
    profconv_id other = add_address(&s, 0x1000); /* another process, without a map */
    run_pass(&s);
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(name_at(&s, locations[i], 0), cases[i].name);
        uint32_t flags = profconv_profile_location(s.profile, locations[i])->flags;
        assert_int_equal((flags & PROFCONV_LOCATION_NO_SYMBOL) != 0, cases[i].name[0] == 0);
    }
    assert_int_equal(line_count(&s, other), 0);
    assert_int_equal(note_of(&s, "not-in-perf-map").count, 2);
    assert_int_equal(note_of(&s, "no-perf-map").count, 1);
    /* Two addresses of the mapping have no name, so it does not claim to have them. */
    assert_int_equal(profconv_profile_mapping(s.profile, 1)->flags & PROFCONV_MAPPING_HAS_FUNCTIONS, 0);
    end_session(&s);
}

static const char kallsyms_text[] = "ffffffff81000000 T _text\n"
                                    "ffffffff81000000 T startup_64\n"
                                    "ffffffff81000100 t do_work\n"
                                    "ffffffff81000200 D some_data\n"
                                    "ffffffff81000300 T do_more\n"
                                    "ffffffffc0000000 t mod_init\t[mod]\n"
                                    "ffffffffc0000040 t mod_run\t[mod]\n";

static profconv_id kernel_mapping(session *s, uint64_t reference_address) {
    profconv_mapping row = {.start = UINT64_C(0xffffffff81000000), .limit = UINT64_C(0xffffffffa0000000)};
    row.kind = PROFCONV_MAPPING_KERNEL;
    row.file = profconv_builder_cstring(s->builder, "[kernel.kallsyms]");
    row.build_id = profconv_builder_cstring(s->builder, "00112233445566778899aabbccddeeff00112233");
    row.reference = profconv_builder_cstring(s->builder, "_text");
    row.reference_address = reference_address;
    return s->mapping = profconv_builder_mapping(s->builder, &row);
}

static void kallsyms(void **state) {
    (void)state;
    write_file("kallsyms", kallsyms_text);
    for (uint64_t slide = 0; slide <= 0x5000000; slide += 0x5000000) {
        session s = new_session();
        set(&s, "kallsyms", in_dir("kallsyms"));
        const uint64_t text = UINT64_C(0xffffffff81000000) + slide;
        kernel_mapping(&s, text);
        profconv_id a = add_address(&s, text + 0x10), b = add_address(&s, text + 0x100),
                    c = add_address(&s, text + 0x2ff), d = add_address(&s, text + 0x1000),
                    e = add_address(&s, text - 1);
        add_mapping(&s, PROFCONV_MAPPING_MODULE, "[mod]", "", UINT64_C(0xffffffffc0000000),
                    UINT64_C(0xffffffffc0001000), 0, 0);
        profconv_id m = add_address(&s, UINT64_C(0xffffffffc0000050));
        run_pass(&s);
        assert_string_equal(name_at(&s, a, 0), "_text");
        assert_string_equal(name_at(&s, b, 0), "do_work");
        assert_string_equal(name_at(&s, c, 0), "do_work"); /* data symbols do not count */
        assert_string_equal(name_at(&s, d, 0), "do_more");
        assert_int_equal(line_count(&s, e), 0);
        assert_string_equal(name_at(&s, m, 0), "mod_run"); /* modules are where they are */
        assert_int_equal(note_of(&s, "kernel-symbols-moved").count != 0, slide != 0);
        end_session(&s);
    }
}

static void kallsyms_hidden_or_missing(void **state) {
    (void)state;
    write_file("hidden", "0000000000000000 T _text\n0000000000000000 T do_work\n");
    session s = new_session();
    set(&s, "kallsyms", in_dir("hidden"));
    kernel_mapping(&s, UINT64_C(0xffffffff81000000));
    profconv_id a = add_address(&s, UINT64_C(0xffffffff81000010));
    run_pass(&s);
    assert_int_equal(line_count(&s, a), 0);
    assert_int_equal(note_of(&s, "kernel-addresses-hidden").count, 1);
    end_session(&s);

    s = new_session(); /* the kernel of the recording is not the one that runs here */
    kernel_mapping(&s, UINT64_C(0xffffffff81000000));
    a = add_address(&s, UINT64_C(0xffffffff81000010));
    run_pass(&s);
    assert_int_equal(line_count(&s, a), 0);
    assert_int_equal(note_of(&s, "no-kernel-symbols").count, 1);
    end_session(&s);

    s = new_session();
    set(&s, "kallsyms", in_dir("not-there"));
    kernel_mapping(&s, UINT64_C(0xffffffff81000000));
    add_address(&s, UINT64_C(0xffffffff81000010));
    run_pass(&s);
    assert_int_equal(note_of(&s, "unusable-file").count, 1);
    end_session(&s);
}

/* perf's cache has kallsyms by build-id. */
static void kallsyms_from_the_cache(void **state) {
    (void)state;
    assert_int_equal(shell("mkdir -p cache/.build-id/00/112233445566778899aabbccddeeff00112233"), 0);
    write_file("cache/.build-id/00/112233445566778899aabbccddeeff00112233/kallsyms", kallsyms_text);
    session s = new_session();
    set(&s, "buildid-dir", in_dir("cache"));
    kernel_mapping(&s, UINT64_C(0xffffffff81000000));
    profconv_id a = add_address(&s, UINT64_C(0xffffffff81000110));
    run_pass(&s);
    assert_string_equal(name_at(&s, a, 0), "do_work");
    end_session(&s);
}

static void what_is_left_alone(void **state) {
    (void)state;
    write_file("perf-5.map", "1000 1000 new name\n");
    for (int force = 0; force < 2; force++) {
        session s = new_session();
        set(&s, "perf-map-dir", fixture_dir);
        if (force)
            set(&s, "force", "yes");
        add_mapping(&s, PROFCONV_MAPPING_JIT, "", "", 0x1000, 0x3000, 0, 5);
        profconv_function function = {.name = profconv_builder_cstring(s.builder, "old name")};
        function.linkage_name = function.name;
        profconv_line line = {.line = 7, .function = profconv_builder_function(s.builder, &function)};
        profconv_location named = {.address = 0x1000, .mapping = s.mapping},
                          outside = {.address = 0x2000, .mapping = s.mapping};
        profconv_id a = profconv_builder_location(s.builder, &named, &line, 1);
        profconv_id b = profconv_builder_location(s.builder, &outside, &line, 1); /* in no symbol: keeps what it has */
        profconv_id c = profconv_builder_address_location(s.builder, s.mapping, 0x1001, PROFCONV_LOCATION_NO_SYMBOL);
        profconv_id d = profconv_builder_address_location(s.builder, 0, 0x1001, 0); /* in no mapping */
        add_mapping(&s, PROFCONV_MAPPING_GUEST, "[guest.kernel.kallsyms]", "", 0x1000, 0x3000, 0, 5);
        profconv_id e = profconv_builder_address_location(s.builder, s.mapping, 0x1001, 0);
        run_pass(&s);
        assert_string_equal(name_at(&s, a, 0), force ? "new name" : "old name");
        assert_string_equal(name_at(&s, b, 0), "old name");
        assert_string_equal(name_at(&s, c, 0), force ? "new name" : "");
        assert_int_equal(line_count(&s, d), 0);
        assert_int_equal(line_count(&s, e), 0);
        end_session(&s);
    }
}

static void missing_files_are_reported(void **state) {
    (void)state;
    session s = new_session();
    add_mapping(&s, PROFCONV_MAPPING_EXECUTABLE, "/nowhere/small", "aabbccdd", 0x1000, 0x2000, 0x1000, 0);
    add_address(&s, 0x1000);
    add_mapping(&s, PROFCONV_MAPPING_LIBRARY, "/nowhere/large", "", 0x1000, 0x2000, 0x1000, 0);
    for (uint64_t i = 0; i < 3; i++)
        add_address(&s, 0x1000 + i);
    add_mapping(&s, PROFCONV_MAPPING_VDSO, "[vdso]", "", 0x1000, 0x2000, 0, 0);
    add_address(&s, 0x1000);
    add_mapping(&s, PROFCONV_MAPPING_UNKNOWN, "[heap]", "", 0x1000, 0x2000, 0, 0);
    add_address(&s, 0x1000);
    run_pass(&s);
    profconv_note note = note_of(&s, "no-binary");
    assert_int_equal(note.kind, PROFCONV_NOTE_WARNING);
    assert_int_equal(note.count, 4);
    assert_non_null(strstr(note.message, "/nowhere/large")); /* what matters most is named */
    assert_int_equal(note_of(&s, "no-file").kind, PROFCONV_NOTE_INFO);
    end_session(&s);
}

static void settings_are_checked(void **state) {
    (void)state;
    session s = new_session();
    set(&s, "demangle", "loudly");
    profconv_error error = {0};
    assert_int_equal(pfc_symbolize_pass.run(s.builder, s.options, NULL, NULL, &error), PROFCONV_E_INVALID);
    assert_non_null(strstr(error.message, "demangle"));
    end_session(&s);
    s = new_session();
    set(&s, "no-such-setting", "1");
    assert_int_equal(pfc_symbolize_pass.run(s.builder, s.options, NULL, NULL, &error), PROFCONV_E_INVALID);
    end_session(&s);
}

static int stop(void *user, const char *stage, uint64_t done, uint64_t total) {
    uint64_t *calls = user;
    assert_string_equal(stage, "symbolize");
    assert_true(done <= total);
    return ++*calls == 2;
}

static void it_can_be_cancelled(void **state) {
    (void)state;
    write_file("perf-6.map", "0 ffffffff all\n");
    session s = new_session();
    set(&s, "perf-map-dir", fixture_dir);
    add_mapping(&s, PROFCONV_MAPPING_JIT, "", "", 0, 0x100000, 0, 6);
    for (uint64_t i = 1; i <= 5000; i++)
        add_address(&s, i);
    uint64_t calls = 0;
    profconv_error error = {0};
    assert_int_equal(pfc_symbolize_pass.run(s.builder, s.options, stop, &calls, &error), PROFCONV_E_CALLBACK);
    assert_int_equal(calls, 2);
    end_session(&s);
}

static int whole_run(const profconv_allocator *allocator) {
    profconv_builder *b = NULL;
    profconv_options *options = NULL;
    int status = profconv_builder_new(&b, allocator, NULL, NULL);
    if (status)
        return status;
    status = profconv_options_new(&options, NULL, NULL);
    assert_int_equal(status, PROFCONV_OK);
    assert_int_equal(profconv_options_put(options, "symbolize", "perf-map-dir", fixture_dir, NULL), PROFCONV_OK);
    assert_int_equal(profconv_options_put(options, "symbolize", "kallsyms", in_dir("kallsyms"), NULL), PROFCONV_OK);
    profconv_mapping jit = {.start = 0x1000, .limit = 0x9000, .kind = PROFCONV_MAPPING_JIT, .pid = 77};
    profconv_id mapping = profconv_builder_mapping(b, &jit);
    for (uint64_t i = 0; i < 10; i++)
        profconv_builder_address_location(b, mapping, 0x1000 + 0x30 * i, 0);
    profconv_mapping kernel = {.start = UINT64_C(0xffffffff81000000), .kind = PROFCONV_MAPPING_KERNEL};
    mapping = profconv_builder_mapping(b, &kernel);
    profconv_builder_address_location(b, mapping, UINT64_C(0xffffffff81000123), 0);
    profconv_error error = {0};
    status = pfc_symbolize_pass.run(b, options, NULL, NULL, &error);
    if (status)
        assert_int_equal(error.status, status);
    profconv_options_free(options);
    profconv_builder_free(b);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    write_file("perf-77.map", "1000 100 first\n1080 20 second\n2000 80 _ZN3geo6Circle4areaEv\n");
    write_file("kallsyms", kallsyms_text);
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    int status = 0;
    /* A note that cannot be stored is counted in the report, so some failures cost only that. */
    FAILING_SWEEP(&fail, status = whole_run(&allocator),
                  assert_true(status == PROFCONV_E_NOMEM || status == PROFCONV_OK));
    assert_int_equal(status, PROFCONV_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(build_ids),
        cmocka_unit_test(demangling),
        cmocka_unit_test(demangling_hostile_names),
        cmocka_unit_test(perf_maps),
        cmocka_unit_test(kallsyms),
        cmocka_unit_test(kallsyms_hidden_or_missing),
        cmocka_unit_test(kallsyms_from_the_cache),
        cmocka_unit_test(what_is_left_alone),
        cmocka_unit_test(missing_files_are_reported),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(it_can_be_cancelled),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_fixture_dir, remove_fixture_dir);
}
