/* SPDX-License-Identifier: MIT
 *
 * DWARF line number programs, versions 2 to 5 (DWARF 5, 6.2).
 */
#include "libprofconv/symbolize/linetable.h"

#include <dwarf.h>
#include <string.h>

#include "libprofconv/base/sort.h"

enum { MAX_FORMATS = 16, MAX_OPCODES = 256 };

typedef struct decoder {
    pfc_mem *mem;
    const pfc_line_sections *sections;
    pfc_line_table *out;
    int (*keep)(const void *user, uint64_t start);
    const void *user;
    pfc_cursor head; /* what is left of the header */
    pfc_cursor program;
    unsigned version;
    unsigned offset_size; /* 4 or 8 */
    unsigned address_size;
    unsigned minimum_length, operations;
    int line_base;
    unsigned line_range, opcode_base;
    uint8_t arguments[MAX_OPCODES]; /* of standard opcodes */
    PFC_VEC(const char *) directories;
    int failed; /* status for want of memory */
} decoder;

typedef struct machine {
    pfc_line_row row;
    unsigned operation;
    uint32_t first; /* row of the sequence */
} machine;

static uint64_t read_offset(const decoder *d, pfc_cursor *c) { return d->offset_size == 8 ? pfc_u64(c) : pfc_u32(c); }

/* A NUL-terminated string inside its section, or "". */
static const char *terminated(pfc_cursor *c) {
    profconv_string s = pfc_cstring(c);
    /* pfc_cstring stops at the end where the NUL is missing; then there is nothing to borrow safely. */
    if (c->failed || (const uint8_t *)s.data + s.size >= c->data + c->size || s.data[s.size] != 0)
        return "";
    return s.data;
}

static const char *string_at(pfc_cursor section, uint64_t offset) {
    pfc_skip(&section, offset);
    return section.failed || section.at >= section.size ? "" : terminated(&section);
}

/* ---- tables of names ---- */

static void add_file(decoder *d, const char *name, uint64_t directory) {
    pfc_line_file file = {name, directory < d->directories.count ? d->directories.data[directory] : ""};
    if (PFC_VEC_PUSH(d->mem, &d->out->files, file))
        d->failed = d->mem->failed;
}

static void add_directory(decoder *d, const char *name) {
    if (PFC_VEC_PUSH(d->mem, &d->directories, name))
        d->failed = d->mem->failed;
}

/* Versions 2 to 4: lists that end with an empty name; number 0 is the compilation directory, and no file. */
static void read_names_v4(decoder *d) {
    add_directory(d, "");
    while (!d->failed && !d->head.failed) {
        const char *name = terminated(&d->head);
        if (!*name)
            break;
        add_directory(d, name);
    }
    add_file(d, "", 0);
    while (!d->failed && !d->head.failed) {
        const char *name = terminated(&d->head);
        if (!*name)
            break;
        uint64_t directory = pfc_uleb(&d->head);
        (void)pfc_uleb(&d->head); /* time of change */
        (void)pfc_uleb(&d->head); /* size */
        add_file(d, name, directory);
    }
}

/* One value of a version 5 entry. */
static void read_form(decoder *d, uint64_t form, const char **text, uint64_t *number) {
    pfc_cursor *c = &d->head;
    switch (form) {
    case DW_FORM_string:
        *text = terminated(c);
        break;
    case DW_FORM_line_strp:
        *text = string_at(d->sections->line_str, read_offset(d, c));
        break;
    case DW_FORM_strp:
        *text = string_at(d->sections->str, read_offset(d, c));
        break;
    case DW_FORM_udata:
        *number = pfc_uleb(c);
        break;
    case DW_FORM_data1:
        *number = pfc_u8(c);
        break;
    case DW_FORM_data2:
        *number = pfc_u16(c);
        break;
    case DW_FORM_data4:
        *number = pfc_u32(c);
        break;
    case DW_FORM_data8:
        *number = pfc_u64(c);
        break;
    case DW_FORM_data16:
        pfc_skip(c, 16);
        break;
    case DW_FORM_block:
        pfc_skip(c, pfc_uleb(c));
        break;
    default: /* of unknown length: the rest cannot be read */
        c->failed = 1;
        break;
    }
}

static void read_entries_v5(decoder *d, int files) {
    uint64_t types[MAX_FORMATS];
    uint64_t forms[MAX_FORMATS];
    unsigned formats = pfc_u8(&d->head);
    if (formats > MAX_FORMATS)
        d->head.failed = 1;
    for (unsigned i = 0; i < formats && !d->head.failed; i++) {
        types[i] = pfc_uleb(&d->head);
        forms[i] = pfc_uleb(&d->head);
    }
    uint64_t count = pfc_uleb(&d->head);
    if (formats == 0 || !pfc_fits(&d->head, count, 1)) /* each takes at least a byte */
        return;
    for (uint64_t i = 0; i < count && !d->head.failed && !d->failed; i++) {
        const char *name = "";
        uint64_t directory = 0;
        for (unsigned k = 0; k < formats && !d->head.failed; k++) {
            const char *text = "";
            uint64_t number = 0;
            read_form(d, forms[k], &text, &number);
            if (types[k] == DW_LNCT_path)
                name = text;
            else if (types[k] == DW_LNCT_directory_index)
                directory = number;
        }
        if (files)
            add_file(d, name, directory);
        else
            add_directory(d, name);
    }
}

/* ---- the header ---- */

static int read_header(decoder *d, uint64_t offset) {
    pfc_cursor c = d->sections->line;
    pfc_skip(&c, offset);
    uint64_t length = pfc_u32(&c);
    d->offset_size = 4;
    if (length == 0xffffffffu) {
        d->offset_size = 8;
        length = pfc_u64(&c);
    }
    if (!c.failed && length > pfc_cursor_left(&c))
        length = pfc_cursor_left(&c); /* cut: what is there */
    pfc_cursor unit = pfc_sub(&c, length);
    d->version = pfc_u16(&unit);
    if (unit.failed || d->version < 2 || d->version > 5)
        return -1;
    d->address_size = 0;
    if (d->version >= 5) {
        d->address_size = pfc_u8(&unit);
        if (pfc_u8(&unit) != 0) /* segment selectors */
            return -1;
    }
    d->head = pfc_sub(&unit, read_offset(d, &unit));
    d->program = unit;
    d->program.data = unit.data + unit.at;
    d->program.size = pfc_cursor_left(&unit);
    d->program.base = pfc_cursor_offset(&unit);
    d->program.at = 0;
    d->minimum_length = pfc_u8(&d->head);
    d->operations = d->version >= 4 ? pfc_u8(&d->head) : 1;
    (void)pfc_u8(&d->head); /* default_is_stmt: every row counts here */
    d->line_base = (int8_t)pfc_u8(&d->head);
    d->line_range = pfc_u8(&d->head);
    d->opcode_base = pfc_u8(&d->head);
    for (unsigned i = 1; i < d->opcode_base; i++)
        d->arguments[i] = pfc_u8(&d->head);
    return d->head.failed || d->line_range == 0 || d->operations == 0 || d->opcode_base == 0 ? -1 : 0;
}

/* ---- the program ---- */

static void reset(machine *m, uint32_t first) {
    memset(m, 0, sizeof *m);
    m->row.file = 1;
    m->row.line = 1;
    m->first = first;
}

static void advance(const decoder *d, machine *m, uint64_t count) {
    if (d->operations == 1) {
        m->row.address += count * d->minimum_length;
        return;
    }
    uint64_t operation = m->operation + count;
    m->row.address += operation / d->operations * d->minimum_length;
    m->operation = (unsigned)(operation % d->operations);
}

static void emit(decoder *d, machine *m) {
    /* Rows are found by rising address; a table that goes back is damaged, and what goes back is left out. */
    size_t count = d->out->rows.count;
    int rising = count == m->first || d->out->rows.data[count - 1].address <= m->row.address;
    if (rising && count < UINT32_MAX && PFC_VEC_PUSH(d->mem, &d->out->rows, m->row))
        d->failed = d->mem->failed;
    m->row.discriminator = 0;
}

static void end_sequence(decoder *d, machine *m) {
    uint32_t count = (uint32_t)d->out->rows.count - m->first;
    if (count) {
        pfc_line_sequence sequence = {d->out->rows.data[m->first].address, m->row.address, m->first, count};
        if (sequence.start < sequence.end && d->keep(d->user, sequence.start)) {
            if (PFC_VEC_PUSH(d->mem, &d->out->sequences, sequence))
                d->failed = d->mem->failed;
        } else {
            d->out->rows.count = m->first;
        }
    }
    reset(m, (uint32_t)d->out->rows.count);
}

static void extended(decoder *d, machine *m) {
    uint64_t length = pfc_uleb(&d->program);
    pfc_cursor c = pfc_sub(&d->program, length);
    if (length == 0)
        return;
    switch (pfc_u8(&c)) {
    case DW_LNE_end_sequence:
        end_sequence(d, m);
        break;
    case DW_LNE_set_address:
        m->row.address = pfc_cursor_left(&c) == 4 ? pfc_u32(&c) : pfc_u64(&c);
        m->operation = 0;
        d->program.failed |= c.failed;
        break;
    case DW_LNE_define_file: {
        const char *name = terminated(&c);
        add_file(d, name, pfc_uleb(&c));
        break;
    }
    case DW_LNE_set_discriminator:
        m->row.discriminator = (uint32_t)pfc_uleb(&c);
        break;
    default:
        break;
    }
}

static void standard(decoder *d, machine *m, unsigned opcode) {
    pfc_cursor *c = &d->program;
    switch (opcode) {
    case DW_LNS_copy:
        emit(d, m);
        break;
    case DW_LNS_advance_pc:
        advance(d, m, pfc_uleb(c));
        break;
    case DW_LNS_advance_line:
        m->row.line += (uint32_t)pfc_sleb(c);
        break;
    case DW_LNS_set_file:
        m->row.file = (uint32_t)pfc_uleb(c);
        break;
    case DW_LNS_set_column:
        m->row.column = (uint32_t)pfc_uleb(c);
        break;
    case DW_LNS_const_add_pc:
        advance(d, m, (255 - d->opcode_base) / d->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->row.address += pfc_u16(c);
        m->operation = 0;
        break;
    default: /* negate_stmt, set_basic_block, set_prologue_end, set_epilogue_begin, set_isa, and unknown ones */
        for (unsigned i = 0; i < d->arguments[opcode]; i++)
            (void)pfc_uleb(c);
        break;
    }
}

static void run(decoder *d) {
    machine m;
    reset(&m, 0);
    while (!d->failed && !d->program.failed && pfc_cursor_left(&d->program)) {
        unsigned opcode = pfc_u8(&d->program);
        if (opcode >= d->opcode_base) {
            unsigned special = opcode - d->opcode_base;
            advance(d, &m, special / d->line_range);
            m.row.line += (uint32_t)(d->line_base + (int)(special % d->line_range));
            emit(d, &m);
        } else if (opcode == 0) {
            extended(d, &m);
        } else {
            standard(d, &m, opcode);
        }
    }
    d->out->rows.count = m.first; /* rows of a sequence that has no end */
}

static int sort_sequences(pfc_mem *mem, pfc_line_table *table) {
    size_t count = table->sequences.count;
    size_t key_bytes = count * sizeof(pfc_key);
    size_t copy_bytes = count * sizeof(pfc_line_sequence);
    if (count < 2)
        return 0;
    pfc_key *keys = pfc_alloc(mem, key_bytes);
    pfc_line_sequence *copy = pfc_alloc(mem, copy_bytes);
    int status = keys && copy ? 0 : mem->failed;
    for (size_t i = 0; status == 0 && i < count; i++) {
        keys[i] = (pfc_key){table->sequences.data[i].start, (uint32_t)i, (uint32_t)i};
        copy[i] = table->sequences.data[i];
    }
    if (status == 0)
        status = pfc_sort_keys(mem, keys, count);
    for (size_t i = 0; status == 0 && i < count; i++)
        table->sequences.data[i] = copy[keys[i].id];
    pfc_free(mem, keys, key_bytes);
    pfc_free(mem, copy, copy_bytes);
    return status;
}

int pfc_line_table_read(pfc_mem *mem, const pfc_line_sections *sections, uint64_t offset, int rows,
                        int (*keep)(const void *user, uint64_t start), const void *user, pfc_line_table *out) {
    decoder *d = pfc_alloc_zero(mem, sizeof *d);
    memset(out, 0, sizeof *out);
    if (!d)
        return mem->failed;
    d->mem = mem;
    d->sections = sections;
    d->out = out;
    d->keep = keep;
    d->user = user;
    if (read_header(d, offset) == 0) {
        if (d->version >= 5) {
            read_entries_v5(d, 0);
            read_entries_v5(d, 1);
        } else {
            read_names_v4(d);
        }
        if (rows)
            run(d);
    }
    int status = d->failed ? d->failed : sort_sequences(mem, out);
    PFC_VEC_FREE(mem, &d->directories);
    pfc_free(mem, d, sizeof *d);
    if (status)
        pfc_line_table_free(mem, out);
    return status;
}

void pfc_line_table_free(pfc_mem *mem, pfc_line_table *table) {
    PFC_VEC_FREE(mem, &table->rows);
    PFC_VEC_FREE(mem, &table->sequences);
    PFC_VEC_FREE(mem, &table->files);
}

const pfc_line_row *pfc_line_table_find(const pfc_line_table *table, uint64_t address, uint64_t *until) {
    size_t low = 0;
    size_t high = table->sequences.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->sequences.data[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < table->sequences.count && table->sequences.data[low].start < *until)
        *until = table->sequences.data[low].start;
    if (low == 0)
        return NULL;
    const pfc_line_sequence *sequence = &table->sequences.data[low - 1];
    if (address >= sequence->end)
        return NULL;
    const pfc_line_row *rows = &table->rows.data[sequence->first];
    low = 0;
    high = sequence->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    uint64_t next = low < sequence->count ? rows[low].address : sequence->end;
    if (next < *until)
        *until = next;
    return &rows[low - 1];
}
