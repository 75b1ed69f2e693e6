/* SPDX-License-Identifier: MIT
 *
 * Whether branch records can still feed a compiler, and what LLVM's and GCC's profiles need besides.
 *
 * A continuous-profiling store (Pyroscope) sets the addresses of every mapping that says has_functions to 0, and its
 * range too: what is left has names and no place in the binary. Addresses as they were at run time survive there, but
 * two processes' do not add up, since no store rebases them.
 */
#include "libprofconv/pgo/check.h"

#include <string.h>

#include "libprofconv/model/pass.h"

/* Above where programs are linked to run, below where Linux puts position-independent ones (on arm64 with addresses of
 * 39 bits, the smallest, from 0x5500000000 on). */
#define RUN_TIME UINT64_C(0x2000000000)

typedef struct record_counts {
    uint64_t rows;
    uint64_t cleared, unmapped, nameless, no_build_id, has_functions, run_time;
} record_counts;

static int is_external(const profconv_profile *p, profconv_id location) {
    const profconv_location *l = profconv_profile_location(p, location);
    if (location == 0)
        return 1;
    if (l->address != 0 || l->mapping != 0 || l->line_count != 1)
        return 0;
    profconv_id function = profconv_profile_line(p, location, 0)->function;
    profconv_string name = profconv_profile_string(p, profconv_profile_function(p, function)->name);
    return name.size == 10 && memcmp(name.data, "[external]", 10) == 0;
}

enum { CLEARED = 1, UNMAPPED = 2, NAMELESS = 4, NO_BUILD_ID = 8, HAS_FUNCTIONS = 16, RUN_TIME_ADDRESS = 32 };

/* What is wrong with one end of a record. */
static unsigned faults_of(const profconv_profile *p, profconv_id location) {
    const profconv_location *l = profconv_profile_location(p, location);
    const profconv_mapping *m = profconv_profile_mapping(p, l->mapping);
    unsigned faults = 0;
    if (is_external(p, location))
        return 0;
    if (l->mapping == 0)
        return UNMAPPED;
    if (l->address == 0 && m->start == 0 && m->limit == 0 && (m->flags & PROFCONV_MAPPING_HAS_FUNCTIONS))
        faults |= CLEARED;
    if (m->build_id == 0)
        faults |= m->file == 0 ? NAMELESS : NO_BUILD_ID;
    if (m->flags & PROFCONV_MAPPING_HAS_FUNCTIONS)
        faults |= HAS_FUNCTIONS;
    if (m->start >= RUN_TIME && m->start != m->file_offset && m->kind != PROFCONV_MAPPING_KERNEL &&
        m->kind != PROFCONV_MAPPING_MODULE)
        faults |= RUN_TIME_ADDRESS;
    return faults;
}

static void count_row(record_counts *r, unsigned faults) {
    r->rows++;
    r->cleared += (faults & CLEARED) != 0;
    r->unmapped += (faults & UNMAPPED) != 0;
    r->nameless += (faults & NAMELESS) != 0;
    r->no_build_id += (faults & NO_BUILD_ID) != 0;
    r->has_functions += (faults & HAS_FUNCTIONS) != 0;
    r->run_time += (faults & RUN_TIME_ADDRESS) != 0;
}

static record_counts count_records(const profconv_profile *p) {
    record_counts r;
    memset(&r, 0, sizeof r);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n; i++) {
        const profconv_branch *b = profconv_profile_branch(p, i);
        count_row(&r, faults_of(p, b->from) | faults_of(p, b->to));
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n; i++) {
        const profconv_range *b = profconv_profile_range(p, i);
        count_row(&r, faults_of(p, b->begin) | faults_of(p, b->end));
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS); i < n; i++)
        count_row(&r, faults_of(p, profconv_profile_address(p, i)->location));
    return r;
}

/* Without records, the leaves of the samples are the sampled addresses. */
static record_counts count_leaves(const profconv_profile *p) {
    record_counts r;
    memset(&r, 0, sizeof r);
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE); i < n; i++) {
        profconv_id stack = profconv_profile_sample_stack(p, i);
        const profconv_location *l = profconv_profile_location(p, profconv_profile_stack(p, stack)->location);
        if (l->mapping != 0 || l->address != 0)
            count_row(&r, faults_of(p, profconv_profile_stack(p, stack)->location));
    }
    return r;
}

static void judge_records(pfc_checker *c, const record_counts *r, const char *what) {
    const unsigned long long rows = r->rows;
    if (r->cleared)
        pfc_check_lacks(
            c, "cleared-addresses", r->cleared,
            "%llu of %llu %s have lost their addresses: a store cleared those of mappings with has_functions, as "
            "Pyroscope does; upload the profile with that flag off",
            (unsigned long long)r->cleared, rows, what);
    if (r->unmapped == r->rows && r->rows)
        pfc_check_lacks(c, "no-mapping", r->unmapped,
                        "none of %llu %s lies in a mapping, so the binary they belong to is unknown", rows, what);
    else
        pfc_check_weak(c, "no-mapping", r->unmapped, "records in no mapping cannot be used");
    if (r->nameless && r->nameless + r->unmapped == r->rows)
        pfc_check_lacks(
            c, "no-binary", r->nameless,
            "the mappings of %llu %s have neither a build-id nor a file name, so the binary they belong to is unknown",
            (unsigned long long)r->nameless, what);
    else
        pfc_check_weak(c, "no-binary", r->nameless,
                       "records in mappings with neither a build-id nor a file name cannot be used");
}

int pfc_check_records(const profconv_profile *profile, profconv_report *report, profconv_error *error) {
    pfc_checker c = {profile, report, error, 0};
    record_counts r = count_records(profile);
    /* Texts of offsets without a binary's name are fine as they are; only what a store did is judged without asking. */
    if (r.cleared)
        judge_records(&c, &r, "branch records");
    return c.status;
}

/* ---- LLVM and GCC ---- */

static void check_sources(pfc_checker *c, int gcc) {
    uint32_t flags = profconv_profile_info(c->profile)->source_flags;
    uint32_t rows = profconv_profile_rows(c->profile, PROFCONV_TABLE_SOURCE);
    uint64_t hashed = 0;
    for (uint32_t i = 1; i < rows; i++)
        hashed += (profconv_profile_source(c->profile, i)->flags & PROFCONV_SOURCE_MD5_NAME) != 0;
    pfc_check_fact(c, "source-counts", rows - 1, "functions with counts by source line: a compiler's profile already");
    if (!gcc)
        return;
    if (hashed)
        pfc_check_lacks(c, "md5-names", hashed,
                        "%llu functions are known by the hash of their name only, and GCC needs the name",
                        (unsigned long long)hashed);
    if (flags & PROFCONV_SOURCES_PROBES)
        pfc_check_lacks(c, "pseudo-probes", rows - 1, "lines are ids of pseudo probes, which GCC does not have");
    if (flags & PROFCONV_SOURCES_CONTEXT)
        pfc_check_weak(c, "contexts", rows - 1, "GCC's profiles hold no calling contexts");
}

static void check_consistency(pfc_checker *c, const record_counts *r) {
    pfc_check_weak(c, "no-build-id", r->no_build_id,
                   "records in mappings without a build-id are matched by file name, whatever was built since");
    pfc_check_weak(c, "has-functions", r->has_functions,
                   "records in mappings with has_functions lose their addresses in Pyroscope");
    pfc_check_weak(c, "run-time-addresses", r->run_time,
                   "records at run-time addresses: stores that merge two processes' profiles give wrong counts");
}

void pfc_check_autofdo(pfc_checker *c, int gcc) {
    const profconv_profile *p = c->profile;
    uint32_t branches = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH),
             ranges = profconv_profile_rows(p, PROFCONV_TABLE_RANGE);
    uint32_t addresses = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS);
    if (profconv_profile_facets(p) & PROFCONV_FACET_SOURCE_COUNTS) {
        check_sources(c, gcc);
        return;
    }
    pfc_check_fact(c, "branches", branches, "distinct branches");
    pfc_check_fact(c, "ranges", ranges, "distinct ranges of code run through");
    pfc_check_fact(c, "addresses", addresses, "distinct sampled addresses");
    record_counts r = branches || ranges || addresses ? count_records(p) : count_leaves(p);
    if (r.rows == 0) {
        uint32_t samples = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE);
        pfc_check_lacks(
            c, "no-addresses", samples,
            "neither branch records nor addresses: %u distinct samples with names only say nothing about the "
            "instructions that ran",
            (unsigned)samples);
        return;
    }
    judge_records(c, &r, branches || ranges ? "branch records" : "sampled addresses");
    check_consistency(c, &r);
    if (branches || ranges || addresses)
        pfc_check_stores(c);
    if (ranges == 0)
        pfc_check_weak(
            c, "no-branch-records", r.rows,
            branches ? "no ranges: what ran between two branches is unknown, and only the branches are counted"
                     : "no branch records: sampled addresses alone give no calls, no entry counts and coarse lines "
                       "(record with perf record -b)");
}
