/* SPDX-License-Identifier: MIT
 *
 * The perf.data reader on small recordings that tests/support/mkperf.py writes (fuzz/seeds/perf-data). What is expected
 * follows from the scenario's own text there and from the rules of the format, not from the reader.
 */
#include "libprofconv/base/cursor.h"
#include "tests/formats/perf_data_support.h"

#define SEEDS TEST_SOURCE_DIR "/fuzz/seeds/perf-data/"

/* ---- text of a profile: one line a sample, leaf first ---- */

static void add_location(FILE *f, const profconv_profile *p, profconv_id id) {
    const profconv_location *l = profconv_profile_location(p, id);
    const profconv_mapping *m = profconv_profile_mapping(p, l->mapping);
    const char *file = text_of(p, m->file), *base = strrchr(file, '/');
    fprintf(f, " %s+%llx", l->mapping == 0 ? l->flags & PROFCONV_LOCATION_KERNEL ? "?kernel" : "?" : base ? base + 1 : file,
            (unsigned long long)l->address);
}

static void add_labels(FILE *f, const profconv_profile *p, profconv_id set) {
    const profconv_label_set *s = profconv_profile_label_set(p, set);
    for (uint32_t i = 0; i < s->count; i++) {
        const profconv_label *l = profconv_profile_label(p, profconv_profile_label_item(p, s->first + i));
        if (l->numeric)
            fprintf(f, " %s=%lld%s", text_of(p, l->key), (long long)l->number, l->unit ? "ns" : "");
        else
            fprintf(f, " %s=%s", text_of(p, l->key), text_of(p, l->string));
    }
}

static char *samples_text(const profconv_profile *p) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    for (uint32_t s = 0; s < profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); s++) {
        for (uint32_t t = 0; t < types; t++)
            fprintf(f, "%s%lld", t ? "," : "", (long long)profconv_profile_sample_value(p, s, t));
        add_labels(f, p, profconv_profile_sample_label_set(p, s));
        for (profconv_id id = profconv_profile_sample_stack(p, s); id; id = profconv_profile_stack(p, id)->parent)
            add_location(f, p, profconv_profile_stack(p, id)->location);
        fputc('\n', f);
    }
    fclose(f);
    return text;
}

static reading read_seed(const char *name, const char *const *settings) {
    char path[4096];
    snprintf(path, sizeof path, SEEDS "%s", name);
    reading r = read_path(path, settings, 0);
    if (r.status != PROFCONV_OK)
        fail_msg("%s: %s", name, r.error.message);
    return r;
}

static void expect_samples(const reading *r, const char *name, const char *expected) {
    char *text = samples_text(r->profile);
    if (strcmp(text, expected) != 0)
        fail_msg("%s:\n%s--- expected\n%s", name, text, expected);
    free(text);
}

static void expect(const char *name, const char *const *settings, const char *expected) {
    reading r = read_seed(name, settings);
    expect_samples(&r, name, expected);
    reading_free(&r);
}

static const profconv_mapping *find_mapping(const profconv_profile *p, const char *file) {
    for (uint32_t i = 1; i < profconv_profile_rows(p, PROFCONV_TABLE_MAPPING); i++)
        if (strcmp(text_of(p, profconv_profile_mapping(p, i)->file), file) == 0)
            return profconv_profile_mapping(p, i);
    fail_msg("no mapping of %s", file);
    return NULL;
}

/* ---- containers ---- */

#define BASIC                                                                                             \
    "2,1500 thread=prog libx.so.6+26123 prog+11ff prog+10ff\n"                                            \
    "1,1000 thread=prog [kernel.kallsyms]+ffffffff81000010 [kernel.kallsyms]+ffffffff81000020 prog+1300 " \
    "prog+10ff\n"                                                                                         \
    "2,2000 thread=prog prog+1400 prog+10ff\n"                                                            \
    "1,1000 thread=prog prog+1400 ?+1234 prog+10ff\n"

static void test_containers(void **state) {
    (void)state;
    static const char *const names[] = {
        "basic.file",     "basic.pipe",        "basic.killed", "basic.header72", "basic.version1", "basic.big",
        "basic.bigpipe",  "basic.bigversion1", "basic.zstd1",  "basic.zstd2",    "basic.zstd3",    "basic.noise"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        expect(names[i], NULL, BASIC);
    /* simpleperf's chains hold addresses inside the calls already. */
    expect("basic.simpleperf", NULL,
           "2,1500 thread=prog libx.so.6+26123 prog+1200 prog+1100\n"
           "1,1000 thread=prog [kernel.kallsyms]+ffffffff81000010 [kernel.kallsyms]+ffffffff81000021 prog+1300 "
           "prog+1100\n"
           "2,2000 thread=prog prog+1400 prog+1100\n"
           "1,1000 thread=prog prog+1400 ?+1235 prog+1100\n");
    /* The last record is cut: five samples, silently but for the recorder's end. */
    reading r = read_seed("basic.cut", NULL);
    assert_int_equal(note_count(&r, "samples"), 5);
    assert_int_equal(note_count(&r, "interrupted-recording"), 1);
    assert_int_equal(note_count(&r, "truncated"), 0);
    reading_free(&r);
    r = read_seed("basic.noise", NULL);
    assert_int_equal(note_count(&r, "hardware-trace"), 1);
    assert_int_equal(note_count(&r, "unknown-record"), 1);
    assert_int_equal(note_count(&r, "truncated"), 1);
    assert_int_equal(note_count(&r, "chain-cut"), 1);
    reading_free(&r);
}

/* A source of one byte a call that cannot seek. */
typedef struct dribble {
    const uint8_t *data;
    size_t size, at, step;
} dribble;
static int dribble_read(void *user, void *buffer, size_t size, size_t *got) {
    dribble *d = (dribble *)user;
    *got = d->size - d->at < d->step ? d->size - d->at : d->step;
    if (*got > size)
        *got = size;
    memcpy(buffer, d->data + d->at, *got);
    d->at += *got;
    return 0;
}

static profconv_input *open_dribble(dribble *d) {
    profconv_input_callbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.read = dribble_read;
    callbacks.user = d;
    profconv_input *input = NULL;
    assert_int_equal(profconv_input_open_callbacks(&input, &callbacks, NULL, NULL, NULL), PROFCONV_OK);
    return input;
}

/* Names stand behind the samples: a filter that they contradict is an error, not a wrong result. */
static void test_late_names(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *data = load_file(SEEDS "name.late", &size);
    static const struct {
        const char *setting;
        int status;
    } cases[] = {{"perf-data.event=my-cycles", PROFCONV_E_UNSUPPORTED},
                 {"perf-data.event=cycles", PROFCONV_E_UNSUPPORTED},
                 {"perf-data.event=other", PROFCONV_E_EMPTY},
                 {"perf-data.kernel=no", PROFCONV_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dribble d = {data, size, 0, 7};
        reading r = read_input(open_dribble(&d), (const char *const[]){cases[i].setting, NULL}, 0);
        if (r.status != cases[i].status)
            fail_msg("%s: status %d, %s", cases[i].setting, r.status, r.error.message);
        reading_free(&r);
    }
    expect("name.late", (const char *const[]){"perf-data.event=my-cycles", NULL}, "1,1000 thread=:3 ?+400010\n");
    free(data);
}

static void test_stream(void **state) {
    (void)state;
    static const char *const names[] = {"basic.file", "basic.big", "basic.version1", "basic.pipe", "basic.zstd1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[4096];
        size_t size = 0;
        snprintf(path, sizeof path, SEEDS "%s", names[i]);
        uint8_t *data = load_file(path, &size);
        dribble d = {data, size, 0, 1};
        reading r = read_input(open_dribble(&d), NULL, 0);
        if (r.status != PROFCONV_OK)
            fail_msg("%s: %s", names[i], r.error.message);
        expect_samples(&r, names[i], BASIC);
        /* Features stand behind the data of a file. */
        if (i < 3)
            assert_string_equal(profconv_profile_find_attribute(r.profile, "hostname").data, "machine");
        reading_free(&r);
        free(data);
    }
}

static void test_facts(void **state) {
    (void)state;
    reading r = read_seed("basic.file", NULL);
    const profconv_profile *p = r.profile;
    const profconv_info *info = profconv_profile_info(p);
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 0)->name), "samples");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 0)->unit), "count");
    assert_int_equal(profconv_profile_sample_type(p, 0)->role, PROFCONV_ROLE_COUNT);
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->name), "cpu");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->unit), "nanoseconds");
    assert_string_equal(text_of(p, profconv_profile_sample_type(p, 1)->event), "cpu-clock");
    assert_int_equal(profconv_profile_sample_type(p, 1)->role, PROFCONV_ROLE_WEIGHT);
    assert_int_equal(profconv_profile_sample_type(p, 1)->period, 1000);
    assert_string_equal(text_of(p, info->default_sample_type), "cpu");
    assert_string_equal(text_of(p, info->period_type), "cpu");
    assert_string_equal(text_of(p, info->period_unit), "nanoseconds");
    assert_int_equal(info->period, 1000);
    assert_int_equal(info->duration_ns, 500);
    assert_int_equal(info->time_ns, 0);
    static const char *const attributes[][2] = {{"hostname", "machine"},
                                                {"recorder", "perf"},
                                                {"recorder-version", "6.1.0"},
                                                {"arch", "x86_64"},
                                                {"command-line", "perf record -g ./prog"}};
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        assert_string_equal(profconv_profile_find_attribute(p, attributes[i][0]).data, attributes[i][1]);
    const profconv_mapping *m = find_mapping(p, "/bin/prog");
    assert_int_equal(m->kind, PROFCONV_MAPPING_EXECUTABLE);
    assert_int_equal(m->flags, PROFCONV_MAPPING_MAIN);
    assert_int_equal(m->start, 0x1000);
    assert_int_equal(m->limit, 0x2000);
    assert_int_equal(m->file_offset, 0x1000);
    m = find_mapping(p, "/lib/libx.so.6");
    assert_int_equal(m->kind, PROFCONV_MAPPING_LIBRARY);
    assert_string_equal(text_of(p, m->build_id), "0123456789abcdef");
    m = find_mapping(p, "[kernel.kallsyms]");
    assert_int_equal(m->kind, PROFCONV_MAPPING_KERNEL);
    assert_true(m->start == UINT64_C(0xffffffff81000000) && m->reference_address == m->start && m->file_offset == 0);
    assert_string_equal(text_of(p, m->reference), "_text");
    reading_free(&r);
    r = read_seed("period.fixed", NULL); /* no PERIOD in the samples, no ids, no name */
    assert_string_equal(text_of(r.profile, profconv_profile_sample_type(r.profile, 1)->name), "cycles");
    assert_int_equal(profconv_profile_total(r.profile, 1), 12345);
    assert_int_equal(profconv_profile_info(r.profile)->period, 12345);
    reading_free(&r);
}

/* ---- inputs that fail on the way ---- */

typedef struct breaking {
    dribble d;
    size_t breaks_at;
} breaking;

static int breaking_read(void *user, void *buffer, size_t size, size_t *got) {
    breaking *b = (breaking *)user;
    *got = 0;
    return b->d.at >= b->breaks_at ? 5 /* EIO */ : dribble_read(&b->d, buffer, size, got);
}

/* A read error is an error wherever it comes, never a recording that merely looks cut. */
static void test_read_errors(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *data = load_file(SEEDS "basic.pipe", &size);
    for (size_t at = 64; at < size; at += 16) { /* opening looks at the first bytes */
        breaking b = {{data, size, 0, 16}, at};
        profconv_input_callbacks callbacks;
        memset(&callbacks, 0, sizeof callbacks);
        callbacks.struct_size = sizeof callbacks;
        callbacks.read = breaking_read;
        callbacks.user = &b;
        profconv_input *input = NULL;
        assert_int_equal(profconv_input_open_callbacks(&input, &callbacks, NULL, NULL, NULL), PROFCONV_OK);
        reading r = read_input(input, NULL, 0);
        if (r.status != PROFCONV_E_CALLBACK)
            fail_msg("broken at %zu: status %d, %s", at, r.status, r.error.message);
        reading_free(&r);
    }
    free(data);
}

/* ---- state ---- */

static void test_processes(void **state) {
    (void)state;
    expect("process", NULL,
           "2,2000 thread=parent parent+10\n"   /* the child right after the fork; the child of the second fork */
           "1,1000 thread=parent plug.so+10\n"
           "1,1000 thread=parent parent+5010\n" /* behind the split */
           "1,1000 thread=parent parent+4010\n" /* the parent keeps its own */
           "1,1000 thread=worker plug.so+10\n"
           "1,1000 thread=child ?+10010\n"      /* after the exec, before the new image */
           "1,1000 thread=child child+7010\n"
           "1,1000 thread=child child+7020\n"
           "1,1000 thread=parent ?+10010\n"     /* found by the recorder: nothing inherited */
           "1,1000 thread=:61 ?+10010\n"
           "1,1000 thread=swapper ?kernel+ffffffff81000010\n");
    static const char *const labels[] = {"perf-data.labels=pid,tid,comm,thread", "perf-data.tid=3", NULL};
    expect("process", labels, "1,1000 pid=2 tid=3 thread=worker comm=parent plug.so+10\n");
}

static void test_special_maps(void **state) {
    (void)state;
    reading r = read_seed("maps", NULL);
    expect_samples(&r, "maps",
                   "1,1000 thread=maps maps+10\n"
                   "1,1000 thread=maps maps+200010\n" /* huge pages */
                   "1,1000 thread=maps maps+400010\n"
                   "1,1000 thread=maps [vdso]+800\n"
                   "1,1000 thread=maps anon+30000123\n"
                   "1,1000 thread=maps jitted-5-1.so+90\n"
                   "1,1000 thread=maps anon+30002200\n"
                   "1,1000 thread=maps memfd:code (deleted)+50000010\n"
                   "1,1000 thread=maps [kernel.kallsyms]+ffffffff81000005\n"
                   "1,1000 thread=maps foo.ko+ffffffffc0000123\n"
                   "1,1000 thread=maps bpf_prog_1234_f+ffffffffc0100010\n"
                   "1,1000 thread=maps [guest.kernel.kallsyms]+ffffffff81000007\n"
                   "1,1000 thread=maps ?kernel+ffffffffc0100010\n");
    const profconv_mapping *m = find_mapping(r.profile, "/bin/maps");
    assert_true(m->start == 0 && m->limit == 0x401000 && m->kind == PROFCONV_MAPPING_EXECUTABLE);
    assert_string_equal(text_of(r.profile, m->build_id), "aabbccdd00112233");
    m = find_mapping(r.profile, "[kernel.kallsyms]");
    assert_true(m->start == UINT64_C(0xffffffff81000000));
    assert_string_equal(text_of(r.profile, m->build_id), "0102030405060708090a0b0c0d0e0f1011121314");
    m = find_mapping(r.profile, "/lib/modules/6/foo.ko");
    assert_true(m->kind == PROFCONV_MAPPING_MODULE && m->start == UINT64_C(0xffffffffc0000000) && m->file_offset == 0);
    m = find_mapping(r.profile, "//anon");
    assert_true(m->kind == PROFCONV_MAPPING_JIT && m->pid == 5 && m->start == 0x30000000);
    assert_int_equal(find_mapping(r.profile, "[vdso]")->kind, PROFCONV_MAPPING_VDSO);
    assert_int_equal(find_mapping(r.profile, "[guest.kernel.kallsyms]")->kind, PROFCONV_MAPPING_GUEST);
    reading_free(&r);
}

static void test_order(void **state) {
    (void)state;
    static const char expected[] = "1,1000 thread=late late+10\n"
                                   "1,1000 thread=late libz.so+10\n"
                                   "1,1000 thread=renamed late+10\n";
    expect("order.rounds", NULL, expected);
    expect("order.sort", NULL, expected);
}

static void test_chains(void **state) {
    (void)state;
    reading r = read_seed("deferred", NULL);
    expect_samples(&r, "deferred",
                   "2,2000 thread=def [kernel.kallsyms]+ffffffff81000010 def+100 def+200\n"
                   "1,1000 thread=def [kernel.kallsyms]+ffffffff81000020\n");
    assert_int_equal(note_count(&r, "user-chain-missing"), 1);
    reading_free(&r);
    static const char *const threads[] = {"deferred.threads", "deferred.big"};
    for (size_t i = 0; i < 2; i++) {
        r = read_seed(threads[i], NULL);
        expect_samples(&r, threads[i],
                       "1,1000 thread=two [kernel.kallsyms]+ffffffff8100000b [kernel.kallsyms]+ffffffff81000100 def+300 def+400\n"
                       "1,1000 thread=one [kernel.kallsyms]+ffffffff8100000a [kernel.kallsyms]+ffffffff81000100 def+100 def+200\n"
                       "1,1000 thread=one [kernel.kallsyms]+ffffffff8100000e [kernel.kallsyms]+ffffffff81000100\n"
                       "1,1000 thread=one [kernel.kallsyms]+ffffffff8100000f [kernel.kallsyms]+ffffffff81000100 def+500 def+600\n");
        assert_int_equal(note_count(&r, "user-chain-missing"), 1);
        reading_free(&r);
    }
    r = read_seed("dwarf", NULL);
    expect_samples(&r, "dwarf",
                   "1,1000 thread=dw dw+10\n"
                   "1,1000 thread=dw [kernel.kallsyms]+ffffffff81000010 [kernel.kallsyms]+ffffffff81000030\n");
    assert_int_equal(note_count(&r, "stack-not-unwound"), 2);
    reading_free(&r);
    r = read_seed("lbrstack", NULL); /* a call stack, so no branches and no ranges */
    expect_samples(&r, "lbrstack",
                   "1,1000 thread=cs cs+310 cs+205 cs+105\n"
                   "1,1000 thread=cs [kernel.kallsyms]+ffffffff81000010 [kernel.kallsyms]+ffffffff81000030 cs+320 "
                   "cs+205 cs+105\n");
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_BRANCH), 0);
    reading_free(&r);
}

/* Stacks whose chain skips a function's direct caller, which the branch records show. */
static void test_branch_callers(void **state) {
    (void)state;
    reading r = read_seed("branch.callers", NULL);
    expect_samples(&r, "branch.callers",
                   "1,1000 thread=bc bc+310 bc+220 bc+104\n"
                   "2,2000 thread=bc bc+314 bc+220 bc+104\n"
                   "1,1000 thread=bc bc+310 bc+224 bc+104\n"
                   "1,1000 thread=bc bc+310 bc+220 bc+100\n"
                   "5,5000 thread=bc bc+310 bc+104\n"
                   "1,1000 thread=bc [kernel.kallsyms]+ffffffff81000010 bc+310 bc+220 bc+104\n"
                   "1,1000 thread=bc bc+314 bc+104\n");
    assert_int_equal(note_count(&r, "branch-callers"), 5);
    assert_int_equal(note_count(&r, "branch-callers-seen"), 1);
    assert_int_equal(note_count(&r, "branch-callers-unknown"), 6);
    reading_free(&r);
}

/* ---- events ---- */

static void test_groups(void **state) {
    (void)state;
    reading r = read_seed("group", NULL);
    expect_samples(&r, "group",
                   "2,250,2,90,1,5 thread=grp grp+10\n"
                   "1,50,1,1,1,3 thread=grp grp+20\n");
    assert_int_equal(note_count(&r, "samples"), 3);
    static const char *const names[] = {"cycles_samples", "cycles",           "instructions_samples",
                                        "instructions",   "branches_samples", "branches"};
    for (uint32_t i = 0; i < 6; i++)
        assert_string_equal(text_of(r.profile, profconv_profile_sample_type(r.profile, i)->name), names[i]);
    reading_free(&r);
}

static void test_events(void **state) {
    (void)state;
    reading r = read_seed("events", NULL);
    expect_samples(&r, "events",
                   "1,1000,1,1000 thread=two two+10\n"
                   "1,7,0,0 thread=:4 two+20\n"
                   "1,1000,0,0 thread=two two+20\n");
    assert_int_equal(note_count(&r, "unknown-event-id"), 1);
    assert_int_equal(note_count(&r, "malformed-sample"), 1);
    assert_int_equal(note_count(&r, "sample-leftover"), 1);
    assert_string_equal(text_of(r.profile, profconv_profile_sample_type(r.profile, 1)->name), "cycles:u");
    assert_string_equal(text_of(r.profile, profconv_profile_sample_type(r.profile, 3)->name), "cycles:k");
    assert_string_equal(text_of(r.profile, profconv_profile_info(r.profile)->default_sample_type), "cycles:u");
    reading_free(&r);
}

/* Time off the CPU, as samples of perf before 6.16 and as what a BPF program tells later ones; a RAW part that is cut. */
static void test_off_cpu(void **state) {
    (void)state;
    static const char expected[] = "1,1000,0,0 thread=waiter waiter+100 waiter+204\n"
                                   "0,0,1,2000000 thread=waiter waiter+111 waiter+204\n"
                                   "0,0,1,500 thread=waiter waiter+122 waiter+204\n";
    static const char *const only[] = {"perf-data.event=offcpu-time", NULL};
    for (int direct = 0; direct < 2; direct++) {
        const char *name = direct ? "offcpu.direct" : "offcpu";
        expect(name, NULL, expected);
        reading r = read_seed(name, only);
        assert_int_equal(profconv_profile_total(r.profile, 1), 2000500);
        assert_string_equal(text_of(r.profile, profconv_profile_sample_type(r.profile, 1)->name), "offcpu-time");
        assert_string_equal(text_of(r.profile, profconv_profile_sample_type(r.profile, 1)->unit), "nanoseconds");
        assert_int_equal(note_count(&r, "malformed-sample"), direct);
        /* perf's time for what it adds up at the end is none. */
        assert_true(profconv_profile_info(r.profile)->duration_ns < 100);
        reading_free(&r);
    }
}

/* simpleperf names events by their type and configuration, in a section of its own. */
static void test_simpleperf_names(void **state) {
    (void)state;
    reading r = read_seed("simpleperf.names", NULL);
    static const char *const names[] = {"raw-cpu-cycles_samples", "raw-cpu-cycles", "faults:x_samples", "faults:x"};
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_SAMPLE_TYPE), 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(text_of(r.profile, profconv_profile_sample_type(r.profile, i)->name), names[i]);
    assert_int_equal(note_count(&r, "bad-feature"), 0);
    reading_free(&r);
}

static void test_losses(void **state) {
    (void)state;
    reading r = read_seed("lost", NULL);
    assert_int_equal(note_count(&r, "lost"), 40);
    reading_free(&r);
    r = read_seed("lost.both", NULL); /* never added up */
    assert_int_equal(note_count(&r, "lost"), 30);
    assert_int_equal(note_count(&r, "lost-by-bpf-filter"), 500);
    reading_free(&r);
}

/* ---- settings ---- */

static void test_settings(void **state) {
    (void)state;
#define ONE(setting, expected) expect("events", (const char *const[]){setting, NULL}, expected)
    ONE("perf-data.event=cycles:k", "1,1000 thread=two two+10\n");
    ONE("perf-data.event=cycles", "1,1000,1,1000 thread=two two+10\n1,7,0,0 thread=:4 two+20\n"
                                  "1,1000,0,0 thread=two two+20\n");
    ONE("perf-data.tid=4", "1,7 thread=:4 two+20\n");
    ONE("perf-data.tid=3-3,9", "1,1000,1,1000 thread=two two+10\n1,1000,0,0 thread=two two+20\n");
    ONE("perf-data.cpu=2,7", "0,0,1,1000 thread=two two+10\n1,7,0,0 thread=:4 two+20\n");
    ONE("perf-data.comm=two", "1,1000,1,1000 thread=two two+10\n1,1000,0,0 thread=two two+20\n");
    ONE("perf-data.time=0.00000002,0.00000004", "0,0,1,1000 thread=two two+10\n1,7,0,0 thread=:4 two+20\n");
    ONE("perf-data.time=,0.00000001", "1,1000 thread=two two+10\n");
    ONE("perf-data.time=0.00000005,", "1,1000 thread=two two+20\n");
    ONE("perf-data.time=0%-25%", "1,1000,1,1000 thread=two two+10\n"); /* 10 to 20 of 10..50 */
    ONE("perf-data.labels=", "1,1000,1,1000 two+10\n2,1007,0,0 two+20\n");
    ONE("perf-data.labels=cpu,timestamp", "1,1000,0,0 cpu=1 timestamp=10ns two+10\n"
                                          "0,0,1,1000 cpu=2 timestamp=20ns two+10\n"
                                          "1,7,0,0 cpu=7 timestamp=40ns two+20\n"
                                          "1,1000,0,0 cpu=0 timestamp=50ns two+20\n");
#undef ONE
    expect("basic.file", (const char *const[]){"perf-data.kernel=no", NULL},
           "2,1500 thread=prog libx.so.6+26123 prog+11ff prog+10ff\n"
           "1,1000 thread=prog prog+1300 prog+10ff\n"
           "2,2000 thread=prog prog+1400 prog+10ff\n"
           "1,1000 thread=prog prog+1400 ?+1234 prog+10ff\n");
    expect("basic.file", (const char *const[]){"perf-data.max-stack=1", NULL},
           "2,1500 thread=prog libx.so.6+26123\n"
           "1,1000 thread=prog [kernel.kallsyms]+ffffffff81000010\n"
           "3,3000 thread=prog prog+1400\n");
    reading r = read_seed("events", (const char *const[]){"perf-data.pid=3", "perf-data.cpu=1", NULL});
    assert_int_equal(note_count(&r, "filtered"), 3);
    reading_free(&r);
}

static void expect_failure(const char *name, const char *setting, int status, const char *part) {
    char path[4096];
    const char *const settings[] = {setting, NULL};
    snprintf(path, sizeof path, SEEDS "%s", name);
    reading r = read_path(path, settings, 0);
    assert_int_equal(r.status, status);
    if (!strstr(r.error.message, part))
        fail_msg("%s %s: \"%s\" lacks \"%s\"", name, setting ? setting : "", r.error.message, part);
    reading_free(&r);
}

static void test_failures(void **state) {
    (void)state;
    expect_failure("empty", NULL, PROFCONV_E_FORMAT, "no event is described");
    expect_failure("events", "perf-data.pid=77", PROFCONV_E_EMPTY, "left out by the settings");
    expect_failure("events", "perf-data.event=branches", PROFCONV_E_EMPTY,
                   "left out by the settings: no event is called branches; the recording has ");
    expect_failure("events", "perf-data.strict=yes", PROFCONV_E_FORMAT, "8 bytes behind its last field");
    expect_failure("events", "perf-data.pid=x", PROFCONV_E_INVALID, "numbers or ranges");
    expect_failure("events", "perf-data.time=5", PROFCONV_E_INVALID, "START,STOP");
    expect_failure("events", "perf-data.time=20%-10%", PROFCONV_E_INVALID, "A%-B%");
    expect_failure("events", "perf-data.labels=nope", PROFCONV_E_INVALID, "timestamp");
    expect_failure("events", "perf-data.nope=1", PROFCONV_E_INVALID, "nope");
    expect_failure("basic.pipe", "perf-data.time=0%-10%", PROFCONV_E_UNSUPPORTED, "percents");
}

/* ---- branch records ---- */

static uint64_t branch_at(const profconv_profile *p, uint64_t from, uint64_t to, int what) {
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        if (profconv_profile_location(p, b->from)->address == from && profconv_profile_location(p, b->to)->address == to)
            return what == 0 ? b->count : what == 1 ? b->mispredicted : b->cycles;
    }
    return 0;
}

static uint64_t range_at(const profconv_profile *p, uint64_t begin, uint64_t end) {
    for (uint32_t i = 0; i < profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i++) {
        const profconv_range *b = profconv_profile_range(p, i);
        if (profconv_profile_location(p, b->begin)->address == begin && profconv_profile_location(p, b->end)->address == end)
            return b->count;
    }
    return 0;
}

static void test_branches(void **state) {
    (void)state;
    static const char *const names[] = {"branch", "branch.hw", "branch.big"};
    for (size_t i = 0; i < 3; i++) {
        reading r = read_seed(names[i], NULL);
        const profconv_profile *p = r.profile;
        assert_int_equal(note_count(&r, "branch-entries"), 16);
        assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_BRANCH), 6);
        assert_int_equal(branch_at(p, 0x100, 0x40, 0), 2);
        assert_int_equal(branch_at(p, 0x100, 0x40, 1), 1);
        assert_int_equal(branch_at(p, 0x100, 0x40, 2), 10);
        assert_int_equal(branch_at(p, 0x80, 0xf0, 0), 2);
        assert_int_equal(branch_at(p, 0x80, 0xf0, 2), 14);
        assert_int_equal(branch_at(p, 0x20, 0x70, 0), 1); /* from the library */
        assert_int_equal(branch_at(p, 0x2100, 0x40, 0), 1);
        assert_int_equal(branch_at(p, 0x10, 0x40, 0), 1);
        assert_int_equal(branch_at(p, 0x400, 0x2f0, 0), 1);
        assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_RANGE), 2);
        assert_int_equal(range_at(p, 0xf0, 0x100), 2);
        assert_int_equal(range_at(p, 0x70, 0x80), 1);
        assert_int_equal(profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS), 2);
        assert_int_equal(note_count(&r, "branch-duplicate"), 1);
        assert_int_equal(note_count(&r, "branch-bogus-range"), 1);
        assert_int_equal(note_count(&r, "branch-wrong-path"), 2);
        assert_int_equal(note_count(&r, "branch-empty-entry"), 1);
        assert_int_equal(note_count(&r, "branch-unmapped"), 1);
        reading_free(&r);
    }
    reading r = read_seed("branch", (const char *const[]){"perf-data.branches=no", NULL});
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_BRANCH), 0);
    assert_int_equal(profconv_profile_rows(r.profile, PROFCONV_TABLE_ADDRESS), 0);
    reading_free(&r);
}

/* ---- directories ---- */

static void write_part(const char *dir, const char *name, const uint8_t *data, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

/* The records of a recording, cut in three: the maps stay in `data`, the samples go to data.0 and data.1. */
static void test_directory(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *data = load_file(SEEDS "basic.killed", &size); /* no features behind the data */
    size_t data_at = (size_t)pfc_load64(data + 40, 0), at = data_at, first_sample = 0, third = 0, count = 0;
    for (; at < size; at += pfc_load16(data + at + 6, 0)) {
        if (data[at] == 9 && count++ == 0)
            first_sample = at;
        if (data[at] == 9 && count == 3)
            third = at;
    }
    char dir[] = "/tmp/profconv-dir-XXXXXX";
    assert_non_null(mkdtemp(dir));
    for (unsigned i = 0; i < 8; i++)
        data[48 + i] = (uint8_t)((uint64_t)(first_sample - data_at) >> (8 * i));
    memset(data + 72, 0, 32);
    write_part(dir, "data", data, first_sample);
    write_part(dir, "data.0", data + first_sample, third - first_sample);
    write_part(dir, "data.1", data + third, size - third);
    reading r = read_path(dir, NULL, 0);
    if (r.status != PROFCONV_OK)
        fail_msg("%s", r.error.message);
    expect_samples(&r, "directory", BASIC);
    reading_free(&r);
    free(data);
    char path[4096];
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"data", "data.0", "data.1"};
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

static void test_probe(void **state) {
    (void)state;
    assert_int_equal(pfc_perf_data_reader.probe(NULL, (const uint8_t *)"PERFILE2", 8, 0), 100);
    assert_int_equal(pfc_perf_data_reader.probe(NULL, (const uint8_t *)"2ELIFREP", 8, 0), 100);
    assert_true(pfc_perf_data_reader.probe(NULL, (const uint8_t *)"PERFFILE", 8, 0) > 50);
    assert_int_equal(pfc_perf_data_reader.probe(NULL, (const uint8_t *)"PERFILE", 7, 1), 0);
    assert_int_equal(pfc_perf_data_reader.probe(NULL, (const uint8_t *)"main;foo 1\n", 11, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containers), cmocka_unit_test(test_stream),       cmocka_unit_test(test_facts),
        cmocka_unit_test(test_processes),  cmocka_unit_test(test_special_maps), cmocka_unit_test(test_order),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_branch_callers),     cmocka_unit_test(test_groups),       cmocka_unit_test(test_events),
        cmocka_unit_test(test_off_cpu),
        cmocka_unit_test(test_simpleperf_names),
        cmocka_unit_test(test_losses),     cmocka_unit_test(test_settings),     cmocka_unit_test(test_failures),
        cmocka_unit_test(test_branches),   cmocka_unit_test(test_directory),    cmocka_unit_test(test_probe),     cmocka_unit_test(test_late_names),
        cmocka_unit_test(test_read_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
