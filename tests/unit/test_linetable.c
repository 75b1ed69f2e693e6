/* SPDX-License-Identifier: MIT
 *
 * Line number programs, written byte by byte from DWARF 5, 6.2: every opcode, versions 2 to 5, both sizes of offsets,
 * discriminators of 32 bits, and damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprofconv/symbolize/linetable.h"

#define SIZE 1024

typedef struct bytes {
    uint8_t data[SIZE];
    size_t size;
} bytes;

static void put(bytes *b, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        b->data[b->size++] = (uint8_t)(value >> 8 * i);
}
static void uleb(bytes *b, uint64_t value) {
    do {
        put(b, (value & 127) | (value > 127 ? 128u : 0u), 1);
        value >>= 7;
    } while (value);
}
static void text(bytes *b, const char *s) {
    memcpy(b->data + b->size, s, strlen(s) + 1);
    b->size += strlen(s) + 1;
}
static void patch(bytes *b, size_t at, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        b->data[at + i] = (uint8_t)(value >> 8 * i);
}

typedef struct header {
    unsigned version, offset_size, minimum, operations;
    size_t length_at, header_at, header_start;
} header;

/* Line base -3, range 12, opcode base 13, as compilers have it. */
static header begin(bytes *b, unsigned version, unsigned offset_size, unsigned minimum, unsigned operations) {
    static const uint8_t arguments[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    header h = {version, offset_size, minimum, operations, 0, 0, 0};
    if (offset_size == 8)
        put(b, 0xffffffff, 4);
    h.length_at = b->size;
    put(b, 0, offset_size);
    put(b, version, 2);
    if (version >= 5) {
        put(b, 8, 1);
        put(b, 0, 1);
    }
    h.header_at = b->size;
    put(b, 0, offset_size);
    h.header_start = b->size;
    put(b, minimum, 1);
    if (version >= 4)
        put(b, operations, 1);
    put(b, 1, 1);
    put(b, (uint8_t)-3, 1);
    put(b, 12, 1);
    put(b, 13, 1);
    memcpy(b->data + b->size, arguments, sizeof arguments);
    b->size += sizeof arguments;
    return h;
}

static void names(bytes *b, const header *h) {
    if (h->version < 5) {
        text(b, "inc");
        put(b, 0, 1);
        text(b, "a.c"), uleb(b, 0), uleb(b, 0), uleb(b, 0);
        text(b, "b.h"), uleb(b, 1), uleb(b, 5), uleb(b, 700);
        put(b, 0, 1);
    } else {
        put(b, 1, 1), uleb(b, 1), uleb(b, 0x1f); /* path, line_strp */
        uleb(b, 2), put(b, 0, h->offset_size), put(b, 5, h->offset_size);
        put(b, 3, 1), uleb(b, 1), uleb(b, 0x08), uleb(b, 2), uleb(b, 0x0b), uleb(b, 5),
            uleb(b, 0x1e); /* string, data1, MD5 as data16 */
        uleb(b, 3);
        for (int i = 0; i < 3; i++) {
            text(b, i < 2 ? "a.c" : "b.h"), put(b, i == 2, 1);
            put(b, 0, 8), put(b, 0, 8);
        }
    }
    patch(b, h->header_at, b->size - h->header_start, h->offset_size);
}

static void set_address(bytes *b, uint64_t address) { put(b, 0, 1), uleb(b, 9), put(b, 2, 1), put(b, address, 8); }
static void set_discriminator(bytes *b, uint32_t value) {
    bytes v = {{0}, 0};
    uleb(&v, value);
    put(b, 0, 1), uleb(b, 1 + v.size), put(b, 4, 1);
    memcpy(b->data + b->size, v.data, v.size);
    b->size += v.size;
}
static void end_sequence(bytes *b) { put(b, 0, 1), uleb(b, 1), put(b, 1, 1); }
static void special(bytes *b, int line, unsigned advance) { put(b, (unsigned)(line + 3) + 12 * advance + 13, 1); }
static void finish(bytes *b, const header *h) {
    patch(b, h->length_at, b->size - h->length_at - h->offset_size, h->offset_size);
}

static int keep_all(const void *user, uint64_t start) {
    (void)user;
    return start != 0;
}

static pfc_line_table decode(pfc_mem *mem, const bytes *b, size_t size, int rows) {
    static const char strings[] = "root\0inc";
    pfc_line_sections sections = {pfc_cursor_make(b->data, size, 0, 0),
                                  pfc_cursor_make((const uint8_t *)strings, sizeof strings, 0, 0),
                                  pfc_cursor_make((const uint8_t *)strings, sizeof strings, 0, 0)};
    pfc_line_table table;
    assert_int_equal(pfc_line_table_read(mem, &sections, 0, rows, keep_all, NULL, &table), 0);
    return table;
}

static void check_row(const pfc_line_table *t, size_t i, uint64_t address, uint32_t file, uint32_t line,
                      uint32_t discriminator) {
    assert_true(i < t->rows.count);
    assert_int_equal(t->rows.data[i].address, address);
    assert_int_equal(t->rows.data[i].file, file);
    assert_int_equal(t->rows.data[i].line, line);
    assert_int_equal(t->rows.data[i].discriminator, discriminator);
}

/* A program with every opcode. */
static void program(bytes *b) {
    set_address(b, 0x1000);
    put(b, 3, 1), put(b, 9, 1);                               /* advance_line 9: line 10 */
    put(b, 1, 1);                                             /* copy: 0x1000 line 10 */
    set_discriminator(b, 0xfedcba98u);                        /* all 32 bits */
    special(b, 2, 4);                                         /* 0x1004 line 12 */
    put(b, 4, 1), uleb(b, 2);                                 /* set_file 2 */
    put(b, 5, 1), uleb(b, 33);                                /* set_column */
    put(b, 6, 1), put(b, 7, 1), put(b, 10, 1), put(b, 11, 1); /* flags without effect on rows */
    put(b, 12, 1), uleb(b, 1);                                /* set_isa */
    special(b, -3, 0);                                        /* 0x1004 again, line 9 */
    put(b, 8, 1);                                             /* const_add_pc: (255 - 13) / 12 = 20 */
    put(b, 1, 1);                                             /* 0x1018 line 9 */
    put(b, 2, 1), uleb(b, 300);                               /* advance_pc */
    put(b, 3, 1), put(b, 0x77, 1);                            /* advance_line -9: line 0 */
    put(b, 1, 1);                                             /* 0x1144 line 0 */
    put(b, 9, 1), put(b, 0x0100, 2);                          /* fixed_advance_pc */
    put(b, 0, 1), uleb(b, 3), put(b, 0x80, 1), put(b, 7, 2);  /* an extended opcode of a vendor */
    end_sequence(b);                                          /* 0x1244 */
}

static void test_opcodes(void **state) {
    (void)state;
    static const struct { unsigned version, offset_size; } kinds[] = {{2, 4}, {3, 4}, {4, 4}, {4, 8}, {5, 4}, {5, 8}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bytes b = {{0}, 0};
        pfc_mem mem;
        pfc_mem_init(&mem, NULL, 0);
        header h = begin(&b, kinds[k].version, kinds[k].offset_size, 1, 1);
        names(&b, &h);
        program(&b);
        finish(&b, &h);
        pfc_line_table t = decode(&mem, &b, b.size, 1);
        assert_int_equal(t.rows.count, 5);
        check_row(&t, 0, 0x1000, 1, 10, 0);
        check_row(&t, 1, 0x1004, 1, 12, 0xfedcba98u);
        check_row(&t, 2, 0x1004, 2, 9, 0); /* a discriminator holds for one row */
        check_row(&t, 3, 0x1018, 2, 9, 0);
        check_row(&t, 4, 0x1144, 2, 0, 0);
        assert_int_equal(t.rows.data[1].column, 0);
        assert_int_equal(t.rows.data[2].column, 33);
        assert_int_equal(t.sequences.count, 1);
        assert_int_equal(t.sequences.data[0].start, 0x1000);
        assert_int_equal(t.sequences.data[0].end, 0x1244);
        assert_int_equal(t.files.count, 3);
        assert_string_equal(t.files.data[1].name, "a.c");
        assert_string_equal(t.files.data[2].name, "b.h");
        assert_string_equal(t.files.data[2].directory, "inc");
        pfc_line_table_free(&mem, &t);
        t = decode(&mem, &b, b.size, 0);
        assert_int_equal(t.rows.count, 0);
        assert_int_equal(t.files.count, 3);
        pfc_line_table_free(&mem, &t);
        assert_int_equal(mem.live, 0);
    }
}

static void test_instruction_sizes(void **state) {
    (void)state;
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    bytes b = {{0}, 0};
    header h = begin(&b, 4, 4, 4, 1); /* instructions of 4 bytes */
    names(&b, &h);
    set_address(&b, 0x100);
    put(&b, 1, 1);
    special(&b, 1, 3);
    put(&b, 2, 1), uleb(&b, 2);
    end_sequence(&b);
    finish(&b, &h);
    pfc_line_table t = decode(&mem, &b, b.size, 1);
    check_row(&t, 1, 0x100 + 12, 1, 2, 0);
    assert_int_equal(t.sequences.data[0].end, 0x100 + 20);
    pfc_line_table_free(&mem, &t);

    memset(&b, 0, sizeof b);
    h = begin(&b, 4, 4, 16, 3); /* bundles of 16 bytes with 3 operations */
    names(&b, &h);
    set_address(&b, 0x100);
    put(&b, 1, 1);
    special(&b, 1, 2); /* operation 2 of the first bundle */
    special(&b, 1, 2); /* operation 1 of the second */
    end_sequence(&b);
    finish(&b, &h);
    t = decode(&mem, &b, b.size, 1);
    check_row(&t, 1, 0x100, 1, 2, 0);
    check_row(&t, 2, 0x110, 1, 3, 0);
    pfc_line_table_free(&mem, &t);
    assert_int_equal(mem.live, 0);
}

static void test_find(void **state) {
    (void)state;
    pfc_mem mem;
    pfc_mem_init(&mem, NULL, 0);
    bytes b = {{0}, 0};
    header h = begin(&b, 4, 4, 1, 1);
    names(&b, &h);
    set_address(&b, 0x2000); /* later code first */
    put(&b, 1, 1);
    special(&b, 1, 8);
    put(&b, 2, 1), uleb(&b, 8);
    end_sequence(&b);
    set_address(&b, 0); /* code that the linker dropped */
    put(&b, 1, 1);
    put(&b, 2, 1), uleb(&b, 8);
    end_sequence(&b);
    set_address(&b, 0x1000);
    put(&b, 1, 1);
    special(&b, 4, 0); /* two rows at one address: the second holds */
    put(&b, 2, 1), uleb(&b, 4);
    end_sequence(&b);
    finish(&b, &h);
    pfc_line_table t = decode(&mem, &b, b.size, 1);
    assert_int_equal(t.sequences.count, 2);
    assert_int_equal(t.sequences.data[0].start, 0x1000);
    static const struct {
        uint64_t address;
        uint32_t line; /* 0: none */
        uint64_t until;
    } asked[] = {{0xfff, 0, 0x1000},  {0x1000, 5, 0x1004}, {0x1003, 5, 0x1004}, {0x1004, 0, 0x2000},
                 {0x2000, 1, 0x2008}, {0x2008, 2, 0x2010}, {0x200f, 2, 0x2010}, {0x2010, 0, UINT64_MAX}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        uint64_t until = UINT64_MAX;
        const pfc_line_row *row = pfc_line_table_find(&t, asked[i].address, &until);
        assert_int_equal(row ? row->line : 0, asked[i].line);
        assert_int_equal(until, asked[i].until);
        until = asked[i].address + 1; /* never raised */
        pfc_line_table_find(&t, asked[i].address, &until);
        assert_int_equal(until, asked[i].address + 1);
    }
    pfc_line_table_free(&mem, &t);
    assert_int_equal(mem.live, 0);
}

/* Cut anywhere, or with any byte changed: never more than what the bytes can hold, and always in order. */
static void test_damage(void **state) {
    (void)state;
    for (unsigned version = 2; version <= 5; version++) {
        bytes b = {{0}, 0};
        pfc_mem mem;
        pfc_mem_init(&mem, NULL, 0);
        header h = begin(&b, version, 4, 1, 1);
        names(&b, &h);
        size_t program_at = b.size;
        program(&b);
        finish(&b, &h);
        for (size_t size = 0; size < b.size; size++) {
            pfc_line_table t = decode(&mem, &b, size, 1);
            assert_int_equal(t.rows.count, 0); /* its one sequence has no end */
            assert_true(t.files.count <= 3 && (size < program_at || t.files.count == 3));
            pfc_line_table_free(&mem, &t);
        }
        for (size_t at = 0; at < b.size; at++) {
            for (unsigned value = 0; value < 256; value += 15) {
                bytes changed = b;
                changed.data[at] = (uint8_t)value;
                pfc_line_table t = decode(&mem, &changed, changed.size, 1);
                assert_true(t.rows.count <= b.size && t.files.count <= b.size);
                for (size_t s = 0; s < t.sequences.count; s++) {
                    const pfc_line_sequence *q = &t.sequences.data[s];
                    assert_true(q->first + q->count <= t.rows.count && q->start < q->end);
                    for (uint32_t i = q->first + 1; i < q->first + q->count; i++)
                        assert_true(t.rows.data[i - 1].address <= t.rows.data[i].address);
                }
                pfc_line_table_free(&mem, &t);
            }
        }
        assert_int_equal(mem.live, 0);
    }
}

/* Every allocation that fails is a status, and nothing stays. */
static void test_memory(void **state) {
    (void)state;
    bytes b = {{0}, 0};
    header h = begin(&b, 5, 4, 1, 1);
    names(&b, &h);
    program(&b);
    set_address(&b, 0x500);
    put(&b, 1, 1);
    put(&b, 2, 1), uleb(&b, 8);
    end_sequence(&b);
    finish(&b, &h);
    pfc_line_sections sections = {pfc_cursor_make(b.data, b.size, 0, 0), pfc_cursor_make(b.data, 0, 0, 0),
                                  pfc_cursor_make(b.data, 0, 0, 0)};
    int failed = 0;
    for (uint64_t limit = 1; limit < 100000; limit += 64) {
        pfc_mem mem;
        pfc_line_table t;
        pfc_mem_init(&mem, NULL, limit);
        int status = pfc_line_table_read(&mem, &sections, 0, 1, keep_all, NULL, &t);
        if (status == 0) {
            assert_int_equal(t.rows.count, 6);
            pfc_line_table_free(&mem, &t);
        }
        assert_int_equal(mem.live, 0);
        failed += status != 0;
        if (status == 0 && limit > 60000)
            break;
    }
    assert_true(failed > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opcodes), cmocka_unit_test(test_instruction_sizes),
        cmocka_unit_test(test_find),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
