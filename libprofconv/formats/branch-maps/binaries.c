/* SPDX-License-Identifier: MIT
 *
 * Chooses the binary whose maps are written and collects its rows. Mappings with the same file and build-id are one
 * binary. Offsets in the file are address - start + file_offset, whatever coordinates the profile has.
 */
#include <stdio.h>
#include <string.h>

#include "libprofconv/base/sort.h"
#include "libprofconv/formats/branch-maps/choice.h"

static uint32_t group_of(const pfc_choice *c, profconv_id location) {
    return location ? c->group[profconv_profile_location(c->profile, location)->mapping] : 0;
}

int pfc_choice_has(const pfc_choice *c, profconv_id location) { return group_of(c, location) == c->chosen; }

uint64_t pfc_choice_offset(const pfc_choice *c, profconv_id location) {
    const profconv_location *l = profconv_profile_location(c->profile, location);
    const profconv_mapping *m = profconv_profile_mapping(c->profile, l->mapping);
    return l->address - m->start + m->file_offset;
}

/* ---- which mappings are one binary ---- */

static int group_mappings(pfc_choice *c) {
    c->mapping_rows = profconv_profile_rows(c->profile, PROFCONV_TABLE_MAPPING);
    size_t bytes = c->mapping_rows * sizeof(pfc_key);
    pfc_key *keys = (pfc_key *)pfc_alloc(c->mem, bytes);
    c->group = (uint32_t *)pfc_alloc_zero(c->mem, c->mapping_rows * sizeof *c->group);
    pfc_map_binary none = {0, 0, 0, 0};
    int status = keys && c->group ? PFC_VEC_PUSH(c->mem, &c->binaries, none) : c->mem->failed;
    if (status == PROFCONV_OK) {
        for (uint32_t i = 1; i < c->mapping_rows; i++) {
            const profconv_mapping *m = profconv_profile_mapping(c->profile, i);
            pfc_key key = {(uint64_t)m->file << 32 | m->build_id, 0, i};
            keys[i - 1] = key;
        }
        status = pfc_sort_keys(c->mem, keys, c->mapping_rows - 1);
    }
    for (uint32_t i = 0; status == PROFCONV_OK && i + 1 < c->mapping_rows; i++) {
        if (i == 0 || keys[i].key != keys[i - 1].key) {
            pfc_map_binary binary = {keys[i].id, 0, 0, 0};
            status = PFC_VEC_PUSH(c->mem, &c->binaries, binary);
        }
        c->group[keys[i].id] = (uint32_t)c->binaries.count - 1;
    }
    if (keys)
        pfc_free(c->mem, keys, bytes);
    return status;
}

/* ---- the addresses, from their table or from the leaves of samples ---- */

uint32_t pfc_choice_address_rows(const pfc_choice *c) {
    return profconv_profile_rows(c->profile, c->leaves ? PROFCONV_TABLE_SAMPLE : PROFCONV_TABLE_ADDRESS);
}

profconv_address pfc_choice_address(const pfc_choice *c, uint32_t i) {
    if (!c->leaves)
        return *profconv_profile_address(c->profile, i);
    profconv_id stack = profconv_profile_sample_stack(c->profile, i);
    int64_t value = profconv_profile_sample_value(c->profile, i, c->leaf_type);
    profconv_address row = {value > 0 ? (uint64_t)value : 0, profconv_profile_stack(c->profile, stack)->location, 0};
    return row;
}

/* A recording without branch records has no address table: its samples' leaves are the addresses. */
static void choose_addresses(pfc_choice *c) {
    const profconv_profile *p = c->profile;
    uint32_t types = profconv_profile_rows(p, PROFCONV_TABLE_SAMPLE_TYPE);
    c->leaves = profconv_profile_rows(p, PROFCONV_TABLE_ADDRESS) == 0 &&
                profconv_profile_rows(p, PROFCONV_TABLE_RANGE) == 0 &&
                profconv_profile_rows(p, PROFCONV_TABLE_BRANCH) == 0 && types > 0;
    c->leaf_type = profconv_profile_default_sample_type(p);
    for (uint32_t i = types; i-- > 0;)
        if (profconv_profile_sample_type(p, i)->role == PROFCONV_ROLE_COUNT)
            c->leaf_type = i;
}

/* ---- which binary ---- */

static void weigh(pfc_choice *c) {
    const profconv_profile *p = c->profile;
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_RANGE); i < n; i++) {
        const profconv_range *r = profconv_profile_range(p, i);
        pfc_map_binary *b = &c->binaries.data[group_of(c, r->begin)];
        b->ranges = pfc_add_sat(b->ranges, r->count);
    }
    for (uint32_t i = 0, n = profconv_profile_rows(p, PROFCONV_TABLE_BRANCH); i < n; i++) {
        const profconv_branch *r = profconv_profile_branch(p, i);
        pfc_map_binary *b = &c->binaries.data[group_of(c, r->to)];
        b->branches = pfc_add_sat(b->branches, r->count);
    }
    for (uint32_t i = 0, n = pfc_choice_address_rows(c); i < n; i++) {
        profconv_address r = pfc_choice_address(c, i);
        pfc_map_binary *b = &c->binaries.data[group_of(c, r.location)];
        b->addresses = pfc_add_sat(b->addresses, r.count);
    }
}

static int heavier(const pfc_map_binary *a, const pfc_map_binary *b) {
    if (a->ranges != b->ranges)
        return a->ranges > b->ranges;
    return a->branches != b->branches ? a->branches > b->branches : a->addresses > b->addresses;
}

static int counted(const pfc_map_binary *b) { return b->ranges || b->branches || b->addresses; }

static int equal(profconv_string s, const char *text, size_t size) {
    return s.size == size && memcmp(s.data, text, size) == 0;
}

static profconv_string base_name(profconv_string path) {
    for (size_t i = path.size; i > 0; i--)
        if (path.data[i - 1] == '/') {
            profconv_string base = {path.data + i, path.size - i};
            return base;
        }
    return path;
}

/* 3: the path or the build-id, 2: the beginning of the build-id (8 digits or more), 1: the base name, 0: another
 * binary. */
static int match(const pfc_choice *c, const pfc_map_binary *binary, const char *wanted) {
    const profconv_mapping *m = profconv_profile_mapping(c->profile, binary->mapping);
    profconv_string file = profconv_profile_string(c->profile, m->file);
    profconv_string id = profconv_profile_string(c->profile, m->build_id);
    profconv_string want = {wanted, strlen(wanted)};
    profconv_string base = base_name(want);
    if (equal(file, want.data, want.size) || (id.size > 0 && equal(id, want.data, want.size)))
        return 3;
    if (want.size >= 8 && id.size > want.size && memcmp(id.data, want.data, want.size) == 0)
        return 2;
    profconv_string own = base_name(file);
    return base.size > 0 && equal(own, base.data, base.size);
}

static int code_of_a_file(const pfc_choice *c, const pfc_map_binary *b) {
    uint32_t kind = profconv_profile_mapping(c->profile, b->mapping)->kind;
    return kind != PROFCONV_MAPPING_JIT && kind != PROFCONV_MAPPING_ANONYMOUS && kind != PROFCONV_MAPPING_VDSO &&
           kind != PROFCONV_MAPPING_GUEST;
}

static void name_of(const pfc_choice *c, uint32_t binary, char *out, size_t size) {
    const profconv_mapping *m = profconv_profile_mapping(c->profile, c->binaries.data[binary].mapping);
    profconv_string file = profconv_profile_string(c->profile, m->file);
    profconv_string id = profconv_profile_string(c->profile, m->build_id);
    if (file.size > 60) {
        file.data += file.size - 60;
        file.size = 60;
    }
    snprintf(out, size, "%s%s%.40s", file.size ? file.data : "(unnamed)", id.size ? " " : "", id.size ? id.data : "");
}

static int no_such_binary(pfc_choice *c, const char *wanted, profconv_error *error) {
    char list[300] = "";
    size_t at = 0;
    for (int shown = 0; shown < 4; shown++) { /* the heaviest first; shown ones are emptied */
        uint32_t best = 0;
        for (uint32_t i = 1; i < c->binaries.count; i++)
            if (counted(&c->binaries.data[i]) && (best == 0 || heavier(&c->binaries.data[i], &c->binaries.data[best])))
                best = i;
        if (best == 0)
            break;
        pfc_map_binary *b = &c->binaries.data[best];
        char name[128];
        name_of(c, best, name, sizeof name);
        int n = snprintf(list + at, sizeof list - at, "%s%s (%llu)", at ? ", " : "", name,
                         (unsigned long long)(b->ranges     ? b->ranges
                                              : b->branches ? b->branches
                                                            : b->addresses));
        if (n < 0 || (size_t)n >= sizeof list - at) {
            list[at] = '\0';
            break;
        }
        at += (size_t)n;
        b->ranges = b->branches = b->addresses = 0;
    }
    return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0,
                              "no counts for a binary '%.80s'; there are: %s", wanted, at ? list : "none");
}

static int choose(pfc_choice *c, const char *wanted, profconv_report *report, profconv_error *error) {
    int best_match = 0;
    uint64_t others = 0;
    for (uint32_t i = 1; i < c->binaries.count; i++) {
        const pfc_map_binary *b = &c->binaries.data[i];
        int m = wanted ? match(c, b, wanted) : code_of_a_file(c, b);
        if (!m || m < best_match || !counted(b))
            continue;
        if (m > best_match) {
            best_match = m;
            others = 0;
        } else {
            others++;
        }
        if (others == 0 || heavier(b, &c->binaries.data[c->chosen]))
            c->chosen = i;
    }
    if (c->chosen == 0 && wanted)
        return no_such_binary(c, wanted, error);
    if (c->chosen == 0)
        return profconv_error_set(error, PROFCONV_E_EMPTY, PROFCONV_NO_OFFSET, 0,
                                  "no branch records, ranges or addresses inside a mapped file");
    if (others) {
        char name[128];
        name_of(c, c->chosen, name, sizeof name);
        profconv_report_add(report, PROFCONV_NOTE_WARNING, "binary-chosen", others, 0, PROFCONV_NO_OFFSET, 0,
                            "several binaries have counts; writing the one with the most, %s (setting 'binary')", name);
    }
    return PROFCONV_OK;
}

/* ---- its rows ---- */

static void left_out(profconv_report *report, const char *cause, uint64_t rows, uint64_t sum, const char *what) {
    if (rows)
        profconv_report_add(report, PROFCONV_NOTE_DROPPED, cause, rows, sum > INT64_MAX ? INT64_MAX : (int64_t)sum,
                            PROFCONV_NO_OFFSET, 0, "%s", what);
}

static int add_row(pfc_mem *mem, pfc_map_rows *rows, uint64_t from, uint64_t to, uint64_t count) {
    pfc_map_row row = {from, to, count};
    return PFC_VEC_PUSH(mem, rows, row);
}

static int collect_ranges(const pfc_choice *c, pfc_maps *maps, profconv_report *report) {
    uint64_t outside = 0, outside_sum = 0, backward = 0, backward_sum = 0;
    for (uint32_t i = 0, n = profconv_profile_rows(c->profile, PROFCONV_TABLE_RANGE); i < n; i++) {
        const profconv_range *r = profconv_profile_range(c->profile, i);
        if (group_of(c, r->begin) != c->chosen || group_of(c, r->end) != c->chosen) {
            outside++;
            outside_sum = pfc_add_sat(outside_sum, r->count);
            continue;
        }
        uint64_t begin = pfc_choice_offset(c, r->begin), end = pfc_choice_offset(c, r->end);
        if (end < begin) {
            backward++;
            backward_sum = pfc_add_sat(backward_sum, r->count);
        } else if (add_row(maps->mem, &maps->ranges, begin, end, r->count)) {
            return maps->mem->failed;
        }
    }
    left_out(report, "range-outside-binary", outside, outside_sum, "ranges with an end in another binary");
    left_out(report, "range-backward", backward, backward_sum, "ranges whose end is before their beginning");
    return PROFCONV_OK;
}

static int collect_branches(const pfc_choice *c, pfc_maps *maps, profconv_report *report) {
    uint64_t outside = 0, outside_sum = 0;
    int status = PROFCONV_OK;
    for (uint32_t i = 0, n = profconv_profile_rows(c->profile, PROFCONV_TABLE_BRANCH); !status && i < n; i++) {
        const profconv_branch *r = profconv_profile_branch(c->profile, i);
        int from = group_of(c, r->from) == c->chosen, to = group_of(c, r->to) == c->chosen;
        if (from && to) {
            status = add_row(maps->mem, &maps->branches, pfc_choice_offset(c, r->from), pfc_choice_offset(c, r->to), r->count);
        } else if (to) {
            status = add_row(maps->mem, &maps->entries, 0, pfc_choice_offset(c, r->to), r->count);
        } else {
            outside++;
            outside_sum = pfc_add_sat(outside_sum, r->count);
        }
    }
    left_out(report, "branch-outside-binary", outside, outside_sum, "branches to another binary");
    return status;
}

static int collect_addresses(const pfc_choice *c, pfc_maps *maps, profconv_report *report) {
    uint64_t outside = 0, outside_sum = 0;
    for (uint32_t i = 0, n = pfc_choice_address_rows(c); i < n; i++) {
        profconv_address r = pfc_choice_address(c, i);
        if (r.count == 0)
            continue;
        if (group_of(c, r.location) != c->chosen) {
            outside++;
            outside_sum = pfc_add_sat(outside_sum, r.count);
        } else if (add_row(maps->mem, &maps->addresses, pfc_choice_offset(c, r.location), 0, r.count)) {
            return maps->mem->failed;
        }
    }
    left_out(report, "address-outside-binary", outside, outside_sum, "samples in another binary");
    return PROFCONV_OK;
}

int pfc_map_counted(const pfc_map_rows *rows) {
    for (size_t i = 0; i < rows->count; i++)
        if (rows->data[i].count)
            return 1;
    return 0;
}

/* By (from, to); rows with equal keys become one. */
static int sort_rows(pfc_mem *mem, pfc_map_rows *rows) {
    if (rows->count < 2)
        return PROFCONV_OK;
    size_t n = rows->count, bytes = n * sizeof(pfc_key), copy_bytes = n * sizeof(pfc_map_row);
    pfc_key *keys = (pfc_key *)pfc_alloc(mem, bytes);
    pfc_map_row *copy = (pfc_map_row *)pfc_alloc(mem, copy_bytes);
    int status = keys && copy ? PROFCONV_OK : mem->failed;
    if (status == PROFCONV_OK) {
        memcpy(copy, rows->data, copy_bytes);
        for (size_t i = 0; i < n; i++) {
            pfc_key key = {copy[i].to, 0, (uint32_t)i};
            keys[i] = key;
        }
        status = pfc_sort_keys(mem, keys, n);
        for (size_t i = 0; i < n; i++)
            keys[i].key = copy[keys[i].id].from;
        if (status == PROFCONV_OK)
            status = pfc_sort_keys(mem, keys, n); /* stable, so `to` stays in order below `from` */
    }
    if (status == PROFCONV_OK) {
        rows->count = 0;
        for (size_t i = 0; i < n; i++) {
            const pfc_map_row *row = &copy[keys[i].id];
            pfc_map_row *last = rows->count ? &rows->data[rows->count - 1] : NULL;
            if (last && last->from == row->from && last->to == row->to)
                last->count = pfc_add_sat(last->count, row->count);
            else
                rows->data[rows->count++] = *row;
        }
    }
    if (keys)
        pfc_free(mem, keys, bytes);
    if (copy)
        pfc_free(mem, copy, copy_bytes);
    return status;
}

int pfc_choice_make(pfc_choice *c, pfc_mem *mem, const profconv_profile *profile, const char *binary,
                    profconv_report *report, profconv_error *error) {
    memset(c, 0, sizeof *c);
    c->mem = mem;
    c->profile = profile;
    int status = group_mappings(c);
    if (status == PROFCONV_OK) {
        choose_addresses(c);
        weigh(c);
        status = choose(c, binary, report, error);
    }
    return status;
}

void pfc_choice_free(pfc_choice *c) {
    PFC_VEC_FREE(c->mem, &c->binaries);
    pfc_free(c->mem, c->group, c->group ? c->mapping_rows * sizeof *c->group : 0);
}

int pfc_maps_make(pfc_maps *maps, pfc_mem *mem, const profconv_profile *profile, const char *binary,
                  profconv_report *report, profconv_error *error) {
    pfc_choice c;
    memset(maps, 0, sizeof *maps);
    maps->mem = mem;
    int status = pfc_choice_make(&c, mem, profile, binary, report, error);
    if (status == PROFCONV_OK)
        status = collect_ranges(&c, maps, report);
    if (status == PROFCONV_OK)
        status = collect_branches(&c, maps, report);
    if (status == PROFCONV_OK)
        status = collect_addresses(&c, maps, report);
    pfc_map_rows *all[] = {&maps->ranges, &maps->branches, &maps->addresses, &maps->entries};
    for (size_t i = 0; status == PROFCONV_OK && i < sizeof all / sizeof *all; i++)
        status = sort_rows(mem, all[i]);
    pfc_choice_free(&c);
    return mem->failed ? pfc_mem_error(mem, error) : status;
}

void pfc_maps_free(pfc_maps *maps) {
    if (!maps->mem)
        return;
    PFC_VEC_FREE(maps->mem, &maps->ranges);
    PFC_VEC_FREE(maps->mem, &maps->branches);
    PFC_VEC_FREE(maps->mem, &maps->addresses);
    PFC_VEC_FREE(maps->mem, &maps->entries);
}
