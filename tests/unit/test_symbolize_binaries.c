/* SPDX-License-Identifier: MIT
 *
 * Symbolization of ELF files as compilers, linkers and packagers make them: each DWARF version, compressed and split
 * debug information, separate debug files, dwz, layouts of segments. The files are compiled here from a source whose
 * lines are known, so what must come out follows from the source; what a tool is missing for is skipped.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/failing_alloc.h"
#include "tests/unit/symbolize_fixture.h"

#include "libprofconv/symbolize/image.h"

/* Lines that the tests rely on: square() is declared in 2, its body is in 3; work() is declared in 6, it calls square()
 * in 9. */
static const char source[] = "volatile int sink;\n"
                             "static inline __attribute__((always_inline)) int square(int x) {\n"
                             "    sink = x * x;\n"
                             "    return sink + 1;\n"
                             "}\n"
                             "__attribute__((noinline)) int work(int n) {\n"
                             "    int sum = 0;\n"
                             "    for (int i = 0; i < n; i++)\n"
                             "        sum += square(i) ^ n;\n"
                             "    return sum;\n"
                             "}\n"
                             "int main(int argc, char **argv) {\n"
                             "    (void)argv;\n"
                             "    return work(argc) & 1;\n"
                             "}\n";

enum { SQUARE_DECLARED = 2, SQUARE_BODY = 3, WORK_DECLARED = 6, WORK_CALL = 9 };

static int setup(void **state) {
    if (make_fixture_dir(state))
        return -1;
    FILE *f = fopen(in_dir("prog.c"), "w");
    return f && fputs(source, f) >= 0 && fclose(f) == 0 ? 0 : -1;
}

/* Compiles prog.c to `out`; 0 when the compiler cannot. */
static int compile(const char *cc, const char *flags, const char *out) {
    return have(cc) && shell("%s -O2 %s prog.c -o %s", cc, flags, out) == 0;
}
static int ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Nonzero when the frames are square() inlined into work(), at the lines of the source. */
static int is_inlined_body(const pfc_frame *frames, size_t count) {
    return count == 2 && strcmp(frames[0].linkage_name, "square") == 0 && frames[0].line == SQUARE_BODY &&
           frames[0].decl_line == SQUARE_DECLARED && ends_with(frames[0].file, "/prog.c") && frames[0].file[0] == '/' &&
           ends_with(frames[0].decl_file, "/prog.c") && strcmp(frames[1].linkage_name, "work") == 0 &&
           frames[1].line == WORK_CALL && frames[1].decl_line == WORK_DECLARED && ends_with(frames[1].file, "/prog.c");
}

/* Every byte of work() belongs to work(), and some of them to the inlined square(). */
static void check_binary(const char *what, pfc_binary *binary, uint64_t start, uint64_t size) {
    int inlined = 0;
    for (uint64_t i = 0; i < size; i++) {
        pfc_frame frames[8];
        size_t count = 0;
        assert_int_equal(pfc_binary_frames(binary, start + i, 0, frames, 8, &count), PROFCONV_OK);
        if (count == 0)
            fail_msg("%s: nothing known of work+%u", what, (unsigned)i);
        if (strcmp(frames[count - 1].linkage_name, "work") != 0)
            fail_msg("%s: work+%u is in %s", what, (unsigned)i, frames[count - 1].linkage_name);
        if (frames[count - 1].decl_line != WORK_DECLARED)
            fail_msg("%s: work is declared in line %u", what, frames[count - 1].decl_line);
        inlined += is_inlined_body(frames, count);
        assert_int_equal(pfc_binary_frames(binary, start + i, PFC_FRAMES_NO_INLINE, frames, 8, &count), PROFCONV_OK);
        assert_int_equal(count, 1);
        assert_string_equal(frames[0].linkage_name, "work");
    }
    if (!inlined)
        fail_msg("%s: the inlined square() was not found", what);
}

/* Opens `file`, with `debug_dir` when not NULL, and checks it; `symbols` is the file that nm reads. */
static void check_file(const char *what, const char *file, const char *symbols, const char *debug_dir) {
    const char *dirs[1] = {debug_dir ? in_dir(debug_dir) : NULL};
    pfc_finder finder = {.debug_dirs = dirs, .debug_dir_count = debug_dir != NULL};
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_binary *binary = NULL;
    profconv_error error;
    if (pfc_binary_open(&binary, &mem, in_dir(file), NULL, &finder, &error))
        fail_msg("%s: %s", what, error.message);
    uint64_t size = 0, start = symbol_address(symbols, "work", &size);
    check_binary(what, binary, start, size);
    pfc_binary_close(binary);
    assert_int_equal(mem.live, 0);
}

static void dwarf_forms(void **state) {
    (void)state;
    static const char *const compilers[] = {"gcc", "clang-19"};
    static const char *const forms[] = {"-gdwarf-2",
                                        "-gdwarf-3",
                                        "-gdwarf-4",
                                        "-gdwarf-5",
                                        "-g -gz=zlib",
                                        "-g -gz=zlib-gnu",
                                        "-gdwarf-4 -gsplit-dwarf",
                                        "-gdwarf-5 -gsplit-dwarf",
                                        "-g -ffunction-sections -Wl,--gc-sections",
                                        "-g -fno-pie -no-pie",
                                        "-g -static",
                                        "-g -static-pie",
                                        "-g -fuse-ld=lld",
                                        "-g -Wl,-z,noseparate-code",
                                        "-g -flto",
                                        "-g -m32"};
    int tried = 0;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            char what[128];
            snprintf(what, sizeof what, "%s %s", compilers[c], forms[i]);
            if (!compile(compilers[c], forms[i], "form")) {
                print_message("skipped, cannot be compiled here: %s\n", what);
                continue;
            }
            check_file(what, "form", "form", NULL);
            tried++;
        }
    if (!tried)
        skip();
}

static void lines_are_optional(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "prog"))
        skip();
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_binary *binary = NULL;
    assert_int_equal(pfc_binary_open(&binary, &mem, in_dir("prog"), NULL, NULL, NULL), PROFCONV_OK);
    uint64_t size = 0, start = symbol_address("prog", "work", &size);
    pfc_frame frames[4];
    size_t count = 0;
    assert_int_equal(pfc_binary_frames(binary, start, PFC_FRAMES_NO_LINES, frames, 4, &count), PROFCONV_OK);
    assert_int_equal(count, 1);
    assert_string_equal(frames[0].linkage_name, "work");
    assert_int_equal(frames[0].line, 0);
    assert_string_equal(frames[0].file, "");
    assert_false(pfc_binary_frames_from_debug_info(binary));
    const pfc_symbol *symbols = NULL;
    assert_int_equal(pfc_binary_symbols(binary, &symbols, &count), PROFCONV_OK);
    assert_true(count > 2);
    for (size_t i = 1; i < count; i++)
        assert_true(symbols[i - 1].address <= symbols[i].address);
    assert_ptr_equal(pfc_binary_symbol_named(binary, "nothing-is-called-so"), NULL);
    assert_int_equal(pfc_binary_symbol_named(binary, "work")->address, start);
    pfc_binary_close(binary);
    assert_int_equal(mem.live, 0);
}

/* Separate debug files: by .gnu_debuglink beside the file and in .debug, in debug directories by path, by build-id, and
 * flat. */
static void separate_debug_files(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "full") || !have("objcopy"))
        skip();
    char id[128];
    build_id_of("full", id, sizeof id);
    assert_true(strlen(id) > 8);
    assert_int_equal(
        shell("mkdir -p a/.debug b c d/.build-id/%.2s e && objcopy --only-keep-debug full full.debug && "
              "objcopy --strip-all full bare && objcopy --add-gnu-debuglink=full.debug bare linked && "
              "cp linked a/ && cp full.debug a/.debug/ && cp linked b/ && cp full.debug b/ && cp bare c/prog && "
              "cp full.debug d/.build-id/%.2s/%s.debug && cp bare e/prog && cp full.debug e/prog.debug && "
              "mkdir -p 'f%s' && cp full.debug 'f%s/'",
              id, id, id + 2, fixture_dir, fixture_dir),
        0);
    check_file(".debug/ beside the file", "a/linked", "full", NULL);
    check_file("beside the file", "b/linked", "full", NULL);
    check_file("by build-id", "c/prog", "full", "d");
    check_file("flat, by name", "c/prog", "full", "e");
    assert_int_equal(shell("rm full.debug"), 0);
    check_file("by path in a debug directory", "linked", "full", "f");
}

static void open_debug(const char *file, const char *debug_dir, int expect_debug) {
    const char *dirs[1] = {in_dir(debug_dir)};
    pfc_finder finder = {.debug_dirs = dirs, .debug_dir_count = 1};
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_binary *binary = NULL;
    assert_int_equal(pfc_binary_open(&binary, &mem, in_dir(file), NULL, &finder, NULL), PROFCONV_OK);
    assert_int_equal(pfc_binary_has_debug_info(binary), expect_debug);
    pfc_binary_close(binary);
    assert_int_equal(mem.live, 0);
}

static void wrong_debug_files_are_refused(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "one") || !compile("gcc", "-g -DX -O1", "two") || !have("objcopy"))
        skip();
    /* The name fits, the build-id does not. */
    assert_int_equal(shell("mkdir -p w && objcopy --only-keep-debug two w/one.debug && objcopy --strip-all one w/one"),
                     0);
    open_debug("w/one", "w", 0);
    /* No build-ids: the checksum decides. */
    assert_int_equal(shell("mkdir -p x && gcc -O2 -g -Wl,--build-id=none prog.c -o x/full && cd x && "
                           "objcopy --only-keep-debug full x.debug && objcopy --strip-all full bare && "
                           "objcopy --add-gnu-debuglink=x.debug bare linked"),
                     0);
    open_debug("x/linked", "x", 1);
    assert_int_equal(shell("printf x >>x/x.debug"), 0);
    open_debug("x/linked", "x", 0);
}

static void dwz_alternate_files(void **state) {
    (void)state;
    if (!have("dwz") || !compile("gcc", "-g", "z1") || !compile("gcc", "-gdwarf-5 -DOTHER", "z2"))
        skip();
    /* dwz wants two files with something in common that is worth moving. */
    assert_int_equal(
        shell("(cat prog.c; for i in $(seq 200); do echo \"struct s$i { int a$i; long b$i; char *c$i; };"
              " struct s$i v$i;\"; done) >zprog.c && gcc -O2 -g zprog.c -o z1 && gcc -O2 -g -DOTHER zprog.c -o z2"),
        0);
    assert_int_equal(shell("mkdir -p alt && dwz -m alt/common.dwz -M alt/common.dwz z1 z2"), 0);
    char line[64];
    shell_line(line, sizeof line, "readelf -SW z1 | grep -c gnu_debugaltlink");
    assert_string_equal(line, "1");
    /* zprog.c has the same lines as prog.c, another name. */
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_finder finder = {0};
    pfc_binary *binary = NULL;
    assert_int_equal(pfc_binary_open(&binary, &mem, in_dir("z1"), NULL, &finder, NULL), PROFCONV_OK);
    uint64_t size = 0, start = symbol_address("z1", "work", &size);
    int found = 0;
    for (uint64_t i = 0; i < size; i++) {
        pfc_frame frames[4];
        size_t count = 0;
        assert_int_equal(pfc_binary_frames(binary, start + i, 0, frames, 4, &count), PROFCONV_OK);
        found += count == 2 && frames[0].line == SQUARE_BODY && frames[0].decl_line == SQUARE_DECLARED &&
                 strcmp(frames[0].linkage_name, "square") == 0 && frames[1].line == WORK_CALL;
    }
    assert_true(found > 0);
    pfc_binary_close(binary);
    assert_int_equal(mem.live, 0);
}

/* libdw would take a file of another build under the name that the link has. */
static void a_wrong_alternate_file_is_refused(void **state) {
    (void)state;
    if (shell("test -f alt/common.dwz && gcc -g prog.c -o alt/other && cp alt/other alt/common.dwz") != 0)
        skip();
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_finder finder = {0};
    pfc_binary *binary = NULL;
    assert_int_equal(pfc_binary_open(&binary, &mem, in_dir("z1"), NULL, &finder, NULL), PROFCONV_OK);
    uint64_t size = 0, start = symbol_address("z1", "work", &size);
    for (uint64_t i = 0; i < size; i++) {
        pfc_frame frames[4];
        size_t count = 0;
        assert_int_equal(pfc_binary_frames(binary, start + i, 0, frames, 4, &count), PROFCONV_OK);
        assert_true(count > 0);
        assert_string_equal(frames[count - 1].linkage_name, "work");
    }
    assert_true(pfc_binary_alternate_missing(binary));
    /* What libdw now has for an alternate file holds nothing. */
    Dwarf *alternate = dwarf_getalt(pfc_image_dwarf(binary->runtime));
    Dwarf_CU *unit = NULL;
    assert_ptr_equal(alternate, binary->empty);
    assert_non_null(alternate);
    assert_int_not_equal(dwarf_get_units(alternate, NULL, &unit, NULL, NULL, NULL, NULL), 0);
    pfc_binary_close(binary);
    assert_int_equal(mem.live, 0);
}

static void split_packages(void **state) {
    (void)state;
    static const struct {
        const char *cc, *version, *dwp;
    } cases[] = {{"gcc", "4", "llvm-dwp-19"},
                 {"gcc", "4", "dwp"},
                 {"clang-19", "4", "llvm-dwp-19"},
                 {"clang-19", "5", "llvm-dwp-19"}};
    int tried = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!have(cases[i].cc) || !have(cases[i].dwp))
            continue;
        /* Two units, so that the contributions of the second do not begin at 0; the second is ours. */
        int made =
            shell("mkdir -p p%zu && cd p%zu && cp ../prog.c . && echo 'int other(int x) { return x * 3; }' >other.c && "
                  "%s -O2 -gdwarf-%s -gsplit-dwarf -c other.c && %s -O2 -gdwarf-%s -gsplit-dwarf -c prog.c && "
                  "%s other.o prog.o -o packed && timeout 20 %s -e packed -o packed.dwp && rm -f *.dwo",
                  i, i, cases[i].cc, cases[i].version, cases[i].cc, cases[i].version, cases[i].cc, cases[i].dwp);
        if (made != 0) {
            print_message("skipped, cannot be made here: dwp by %s, DWARF %s\n", cases[i].cc, cases[i].version);
            continue;
        }
        char what[64], file[64];
        snprintf(what, sizeof what, "dwp, %s, DWARF %s", cases[i].cc, cases[i].version);
        snprintf(file, sizeof file, "p%zu/packed", i);
        check_file(what, file, file, NULL);
        tried++;
    }
    if (!tried)
        skip();
}

static void mini_debug_info(void **state) {
    (void)state;
    if (!have("xz") || !have("objcopy") || !compile("gcc", "", "mini_full"))
        skip();
    /* As packagers do: the symbols of functions that .dynsym lacks, in a debug file, compressed, inside the stripped
     * file. */
    assert_int_equal(
        shell("nm -D mini_full --format=posix --defined-only | awk '{print $1}' | sort >dyn && "
              "nm mini_full --format=posix --defined-only | awk '$2 ~ /^[tTD]$/ {print $1}' | sort >all && "
              "comm -13 dyn all >keep && objcopy --only-keep-debug mini_full mini.debug && "
              "objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep mini.debug "
              "mini.syms && "
              "rm -f mini.syms.xz && xz mini.syms && objcopy --strip-all mini_full mini && "
              "objcopy --add-section .gnu_debugdata=mini.syms.xz mini"),
        0);
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    pfc_binary *binary = NULL;
    assert_int_equal(pfc_binary_open(&binary, &mem, in_dir("mini"), NULL, NULL, NULL), PROFCONV_OK);
    uint64_t size = 0, start = symbol_address("mini_full", "work", &size);
    pfc_frame frames[4];
    size_t count = 0;
    assert_int_equal(pfc_binary_frames(binary, start + size / 2, 0, frames, 4, &count), PROFCONV_OK);
    assert_int_equal(count, 1);
    assert_string_equal(frames[0].linkage_name, "work");
    assert_int_equal(pfc_binary_frames(binary, start + size - 1, 0, frames, 4, &count), PROFCONV_OK);
    assert_string_equal(frames[0].linkage_name, "work");
    pfc_binary_close(binary);
    assert_int_equal(mem.live, 0);
}

/* ---- through the pass: mappings, file offsets, build-ids ---- */

/* A session with the executable mapping of `file` as a recording has it, and one address inside work(). */
static session record(const char *file, const char *recorded, const char *id, uint64_t vaddr, profconv_id *location) {
    session s = new_session();
    uint64_t map_offset = 0, offset = file_offset_of(file, vaddr, &map_offset);
    add_mapping(&s, PROFCONV_MAPPING_EXECUTABLE, recorded, id, map_offset, map_offset + 0x100000, map_offset, 0);
    *location = add_address(&s, offset);
    return s;
}

static void layouts(void **state) {
    (void)state;
    static const char *const flags[] = {"-g", "-g -no-pie", "-g -fuse-ld=lld", "-g -Wl,-z,noseparate-code",
                                        "-g -static -no-pie"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!compile("gcc", flags[i], "layout")) {
            print_message("skipped, cannot be compiled here: %s\n", flags[i]);
            continue;
        }
        char id[128];
        build_id_of("layout", id, sizeof id);
        uint64_t size = 0, start = symbol_address("layout", "work", &size);
        profconv_id location = 0;
        session s = record("layout", in_dir("layout"), id, start, &location);
        run_pass(&s);
        if (strcmp(name_at(&s, location, 0), "work") != 0)
            fail_msg("%s: found %s", flags[i], name_at(&s, location, 0));
        const profconv_mapping *mapping = profconv_profile_mapping(s.profile, 1);
        assert_int_equal(mapping->flags & 15, PROFCONV_MAPPING_HAS_FUNCTIONS | PROFCONV_MAPPING_HAS_FILENAMES |
                                                  PROFCONV_MAPPING_HAS_LINE_NUMBERS |
                                                  PROFCONV_MAPPING_HAS_INLINE_FRAMES);
        const profconv_line *line = profconv_profile_line(s.profile, location, 0);
        assert_int_equal(profconv_profile_function(s.profile, line->function)->start_line, WORK_DECLARED);
        end_session(&s);
    }
}

static void elf_addresses_and_runtime_addresses(void **state) {
    (void)state;
    if (!compile("gcc", "-g -fuse-ld=lld", "lld") && !compile("gcc", "-g", "lld"))
        skip();
    char id[128];
    build_id_of("lld", id, sizeof id);
    uint64_t size = 0, start = symbol_address("lld", "work", &size);
    session s = new_session(); /* pprof's convention: all zero means ELF addresses */
    add_mapping(&s, PROFCONV_MAPPING_EXECUTABLE, in_dir("lld"), id, 0, 0, 0, 0);
    profconv_id a = add_address(&s, start);
    uint64_t map_offset = 0, offset = file_offset_of("lld", start, &map_offset);
    const uint64_t base = UINT64_C(0x7f1234560000); /* as it ran */
    add_mapping(&s, PROFCONV_MAPPING_EXECUTABLE, in_dir("lld"), id, base, base + 0x10000, map_offset, 0);
    profconv_id b = add_address(&s, base + offset - map_offset);
    run_pass(&s);
    assert_string_equal(name_at(&s, a, 0), "work");
    assert_string_equal(name_at(&s, b, 0), "work");
    end_session(&s);
}

static void only_the_debug_file_is_there(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "gone") || !have("objcopy"))
        skip();
    char id[128];
    build_id_of("gone", id, sizeof id);
    uint64_t size = 0, start = symbol_address("gone", "work", &size);
    profconv_id location = 0;
    session s = record("gone", "/nowhere/gone", id, start, &location);
    assert_int_equal(
        shell("mkdir -p only/.build-id/%.2s && objcopy --only-keep-debug gone only/.build-id/%.2s/%s.debug", id, id,
              id + 2),
        0);
    set(&s, "debug-dir", in_dir("only"));
    run_pass(&s);
    assert_string_equal(name_at(&s, location, 0), "work");
    assert_int_equal(profconv_profile_line(s.profile, location, 0)->line != 0, 1);
    end_session(&s);
}

static void build_ids_decide(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "right") || !compile("gcc", "-g -O1", "wrong"))
        skip();
    char id[128], other[128], padded[160];
    build_id_of("right", id, sizeof id);
    build_id_of("wrong", other, sizeof other);
    assert_string_not_equal(id, other);
    uint64_t size = 0, start = symbol_address("right", "work", &size);
    profconv_id location = 0;

    /* Another file at the recorded path. */
    session s = record("right", in_dir("wrong"), id, start, &location);
    run_pass(&s);
    assert_int_equal(line_count(&s, location), 0);
    assert_int_equal(profconv_profile_location(s.profile, location)->flags & PROFCONV_LOCATION_NO_SYMBOL, 0);
    profconv_note note = note_of(&s, "build-id-mismatch");
    assert_int_equal(note.count, 1);
    assert_int_equal(note.kind, PROFCONV_NOTE_WARNING);
    assert_non_null(strstr(note.message, id));
    assert_non_null(strstr(note.message, other));
    assert_int_equal(note_of(&s, "no-binary").count, 1);
    end_session(&s);

    /* The user names both; the right one is taken, wherever the recording had it. */
    s = record("right", "/nowhere/right", id, start, &location);
    set(&s, "binary", in_dir("wrong"));
    set(&s, "binary", in_dir("right"));
    run_pass(&s);
    assert_string_equal(name_at(&s, location, 0), "work");
    end_session(&s);

    /* Without a build-id the name decides, and that is said. */
    s = record("right", "/nowhere/right", "", start, &location);
    set(&s, "binary", in_dir("right"));
    run_pass(&s);
    assert_string_equal(name_at(&s, location, 0), "work");
    assert_int_equal(note_of(&s, "binary-by-path").count, 1);
    end_session(&s);

    /* Padded to 20 bytes, from a file with an id of 8. */
    assert_int_equal(shell("gcc -O2 -g -Wl,--build-id=0x0102030405060708 prog.c -o short"), 0);
    start = symbol_address("short", "work", &size);
    snprintf(padded, sizeof padded, "%s%s", "0102030405060708", "000000000000000000000000");
    s = record("short", in_dir("short"), padded, start, &location);
    run_pass(&s);
    assert_string_equal(name_at(&s, location, 0), "work");
    end_session(&s);

    /* A deleted file: what is at its path now counts only with the same build-id. */
    char deleted[300];
    snprintf(deleted, sizeof deleted, "%s (deleted)", in_dir("short"));
    s = record("short", deleted, "0102030405060708", start, &location);
    run_pass(&s);
    assert_string_equal(name_at(&s, location, 0), "work");
    end_session(&s);
    s = record("short", deleted, "", start, &location);
    run_pass(&s);
    assert_int_equal(line_count(&s, location), 0);
    end_session(&s);
}

static void files_by_build_id_and_symfs(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "moved"))
        skip();
    char id[128];
    build_id_of("moved", id, sizeof id);
    uint64_t size = 0, start = symbol_address("moved", "work", &size);
    /* perf's cache in its present and its old layout; a root directory of another machine. */
    assert_int_equal(
        shell("mkdir -p new/.build-id/%.2s/%s old/.build-id/%.2s root/opt && cp moved new/.build-id/%.2s/%s/elf && "
              "cp moved old/.build-id/%.2s/%s && cp moved root/opt/prog",
              id, id + 2, id, id, id + 2, id, id + 2),
        0);
    static const char *const settings[][2] = {{"buildid-dir", "new"}, {"buildid-dir", "old"}, {"symfs", "root"}};
    for (size_t i = 0; i < 3; i++) {
        profconv_id location = 0;
        session s = record("moved", "/opt/prog", id, start, &location);
        set(&s, settings[i][0], in_dir(settings[i][1]));
        run_pass(&s);
        if (strcmp(name_at(&s, location, 0), "work") != 0)
            fail_msg("%s %s: found nothing", settings[i][0], settings[i][1]);
        end_session(&s);
    }
}

static void kernel_modules(void **state) {
    (void)state;
    if (!have("gcc") ||
        shell("gcc -O2 -g -fno-pic -mcmodel=kernel -c prog.c -o mod.ko && gcc -O2 -g -c prog.c -o probe.o") != 0)
        skip();
    uint64_t size = 0, start = symbol_address("mod.ko", "work", &size); /* in a relocatable file: offset in .text */
    session s = new_session();
    const uint64_t base = UINT64_C(0xffffffffc0100000);
    add_mapping(&s, PROFCONV_MAPPING_MODULE, in_dir("mod.ko"), "", base, base + 0x4000, 0, 0);
    profconv_id first = add_address(&s, base + start), locations[64];
    for (uint64_t i = 0; i < size && i < 64; i++)
        locations[i] = add_address(&s, base + start + i);
    run_pass(&s);
    assert_string_equal(name_at(&s, first, 0), "work");
    int inlined = 0;
    for (uint64_t i = 0; i < size && i < 64; i++)
        inlined += strcmp(name_at(&s, locations[i], 0), "square") == 0 &&
                   strcmp(name_at(&s, locations[i], 1), "work") == 0 &&
                   profconv_profile_line(s.profile, locations[i], 0)->line == SQUARE_BODY;
    assert_true(inlined > 0);
    end_session(&s);
}

/* A vmlinux, linked at one place and run at another; with the right and a wrong build-id. */
static void kernels(void **state) {
    (void)state;
    char text[sizeof source + 64];
    snprintf(text, sizeof text, "%s__asm__(\".globl _text\\n_text: nop\\n\");\n", source);
    write_file("kernel.c", text);
    if (!have("gcc") || shell("gcc -O2 -g -ffreestanding -nostdlib -static -no-pie -fno-pic -mcmodel=kernel "
                              "-Wl,-Ttext=0xffffffff81000000 -Wl,-e,work -Wl,--build-id=0x0011223344556677 "
                              "-fno-toplevel-reorder kernel.c -o vmlinux") != 0)
        skip();
    char line[64];
    shell_line(line, sizeof line, "nm vmlinux | awk '$3 == \"_text\" {print $1}'");
    const uint64_t linked = strtoull(line, NULL, 16), slide = UINT64_C(0x12000000);
    assert_true(linked >> 32 == 0xffffffff);
    uint64_t size = 0, start = symbol_address("vmlinux", "work", &size);
    static const char *const ids[] = {"0011223344556677", "0011223344556677000000000000000000000000",
                                      "7766554433221100", ""};
    for (size_t i = 0; i < 4; i++) {
        session s = new_session();
        profconv_mapping row = {
            .start = linked + slide, .limit = linked + slide + 0x100000, .kind = PROFCONV_MAPPING_KERNEL};
        row.file = profconv_builder_cstring(s.builder, "[kernel.kallsyms]");
        row.build_id = profconv_builder_cstring(s.builder, ids[i]);
        row.reference = profconv_builder_cstring(s.builder, "_text");
        row.reference_address = linked + slide;
        s.mapping = profconv_builder_mapping(s.builder, &row);
        profconv_id location = add_address(&s, start + slide + size / 2);
        set(&s, "vmlinux", in_dir("vmlinux"));
        run_pass(&s);
        if (i == 2) {
            assert_int_equal(line_count(&s, location), 0);
            assert_int_equal(note_of(&s, "build-id-mismatch").count, 1);
            assert_int_equal(note_of(&s, "no-kernel-symbols").count, 1);
        } else {
            uint32_t frames = line_count(&s, location);
            assert_true(frames > 0);
            assert_string_equal(name_at(&s, location, frames - 1), "work");
            assert_true(profconv_profile_line(s.profile, location, 0)->line > 0);
        }
        end_session(&s);
    }
}

static void strange_files(void **state) {
    (void)state;
    write_file("text", "not an ELF file\n");
    assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0); /* opening it must not wait */
    session s = new_session();
    static const char *const names[] = {"text", "fifo", ".", "missing"};
    profconv_id locations[4];
    for (size_t i = 0; i < 4; i++) {
        add_mapping(&s, PROFCONV_MAPPING_EXECUTABLE, in_dir(names[i]), "", 0x1000, 0x2000, 0x1000, 0);
        locations[i] = add_address(&s, 0x1010);
    }
    run_pass(&s);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(line_count(&s, locations[i]), 0);
    assert_int_equal(note_of(&s, "no-binary").count, 4);
    end_session(&s);
}

/* Files cut anywhere, and files with bytes changed, give names or none; nothing else. */
static void damaged_files(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "sound"))
        skip();
    uint64_t size = 0, start = symbol_address("sound", "work", &size);
    FILE *f = fopen(in_dir("sound"), "rb");
    assert_non_null(f);
    static unsigned char bytes[1 << 17];
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n > 1000);
    uint32_t random = 12345;
    for (int round = 0; round < 400; round++) {
        static unsigned char copy[sizeof bytes];
        memcpy(copy, bytes, n);
        size_t keep = n;
        if (round < 100)
            keep = n * (size_t)round / 100;
        else
            for (int k = 0; k < 20; k++) {
                random = random * 1664525u + 1013904223u;
                copy[(random >> 8) % n] = (unsigned char)random;
            }
        f = fopen(in_dir("damaged"), "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(copy, 1, keep, f), keep);
        fclose(f);
        pfc_mem mem;
        pfc_mem_init(&mem, NULL, 0);
        pfc_binary *binary = NULL;
        if (pfc_binary_open(&binary, &mem, in_dir("damaged"), NULL, NULL, NULL) == PROFCONV_OK) {
            pfc_frame frames[8];
            size_t count = 0;
            for (uint64_t i = 0; i < size; i++) {
                assert_int_equal(pfc_binary_frames(binary, start + i, 0, frames, 8, &count), PROFCONV_OK);
                assert_true(count <= 8);
            }
        }
        pfc_binary_close(binary);
        assert_int_equal(mem.live, 0);
    }
}

static int open_and_ask(const profconv_allocator *allocator, const char *path, uint64_t address) {
    pfc_mem mem;
    pfc_mem_init(&mem, allocator, 0);
    pfc_finder finder = {0};
    pfc_binary *binary = NULL;
    int status = pfc_binary_open(&binary, &mem, path, NULL, &finder, NULL);
    pfc_frame frames[8];
    size_t count = 0;
    if (!status)
        status = pfc_binary_frames(binary, address, 0, frames, 8, &count);
    pfc_binary_close(binary);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    if (!compile("gcc", "-g", "frail"))
        skip();
    uint64_t size = 0, start = symbol_address("frail", "work", &size);
    const char *path = in_dir("frail");
    failing_alloc fail = {0};
    profconv_allocator allocator = failing_allocator(&fail);
    int status = 0;
    FAILING_SWEEP(&fail, status = open_and_ask(&allocator, path, start + size / 2),
                  assert_int_equal(status, PROFCONV_E_NOMEM));
    assert_int_equal(status, PROFCONV_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dwarf_forms),
        cmocka_unit_test(lines_are_optional),
        cmocka_unit_test(separate_debug_files),
        cmocka_unit_test(wrong_debug_files_are_refused),
        cmocka_unit_test(dwz_alternate_files),
        cmocka_unit_test(a_wrong_alternate_file_is_refused),
        cmocka_unit_test(split_packages),
        cmocka_unit_test(mini_debug_info),
        cmocka_unit_test(layouts),
        cmocka_unit_test(elf_addresses_and_runtime_addresses),
        cmocka_unit_test(only_the_debug_file_is_there),
        cmocka_unit_test(build_ids_decide),
        cmocka_unit_test(files_by_build_id_and_symfs),
        cmocka_unit_test(kernels),
        cmocka_unit_test(kernel_modules),
        cmocka_unit_test(strange_files),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, remove_fixture_dir);
}
