/* SPDX-License-Identifier: MIT
 *
 * Line number programs of debug information: the bytes are .debug_line, and the string sections, too. The table must be
 * in order and inside itself, what it finds must cover what was asked for, and a small budget must be kept.
 */
#include <stdlib.h>
#include <string.h>

#include "libprofconv/symbolize/linetable.h"

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

static int keep(const void *user, uint64_t start) {
    (void)user;
    return start != 0;
}

static void look(const pfc_line_table *table, uint64_t address) {
    uint64_t until = UINT64_MAX;
    const pfc_line_row *row = pfc_line_table_find(table, address, &until);
    MUST(until > address || address == UINT64_MAX);
    MUST(!row || (row >= table->rows.data && row < table->rows.data + table->rows.count && row->address <= address));
}

static void check(const pfc_line_table *table) {
    uint64_t last = 0;
    for (size_t i = 0; i < table->sequences.count; i++) {
        const pfc_line_sequence *s = &table->sequences.data[i];
        MUST(s->start >= last && s->start < s->end && s->count > 0);
        MUST(s->first <= table->rows.count && s->count <= table->rows.count - s->first);
        last = s->start;
        for (uint32_t k = 1; k < s->count; k++)
            MUST(table->rows.data[s->first + k - 1].address <= table->rows.data[s->first + k].address);
        look(table, s->start);
        look(table, s->end - 1);
        look(table, s->end);
    }
    for (size_t i = 0; i < table->files.count; i++)
        MUST(strlen(table->files.data[i].name) < (1u << 20) && strlen(table->files.data[i].directory) < (1u << 20));
    look(table, 0);
    look(table, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint64_t limits[] = {1 << 24, 1 << 13};
    for (size_t i = 0; i < 2 * sizeof limits / sizeof *limits; i++) {
        pfc_mem mem;
        pfc_line_table table;
        pfc_mem_init(&mem, NULL, limits[i / 2]);
        int big = (int)(i & 1);
        pfc_line_sections sections = {pfc_cursor_make(data, size, 0, big), pfc_cursor_make(data, size, 0, big),
                                      pfc_cursor_make(data, size, 0, big)};
        if (pfc_line_table_read(&mem, &sections, 0, 1, keep, NULL, &table) == 0) {
            check(&table);
            pfc_line_table_free(&mem, &table);
        }
        MUST(mem.live == 0);
    }
    return 0;
}
