/* SPDX-License-Identifier: MIT
 *
 * Making and naming the columns of events.
 */
#include "libprofconv/formats/common/columns.h"

#include <string.h>

#include "libprofconv/base/text.h"

uint32_t pfc_columns_add(profconv_builder *builder) {
    profconv_sample_type row;
    memset(&row, 0, sizeof row);
    char name[32] = "#";
    uint32_t first = PFC_COLUMNS_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        size_t n = 1 + pfc_format_u64(name + 1, profconv_builder_sample_type_count(builder));
        row.name = profconv_builder_string(builder, name, n);
        row.role = i ? PROFCONV_ROLE_WEIGHT : PROFCONV_ROLE_COUNT;
        uint32_t index = profconv_builder_sample_type(builder, &row);
        if (index == UINT32_MAX)
            return PFC_COLUMNS_NONE;
        if (i == 0)
            first = index;
    }
    return first;
}

static int base_is_shared(const pfc_event_columns *events, size_t count, size_t self) {
    for (size_t i = 0; i < count; i++)
        if (i != self && events[i].base == events[self].base)
            return 1;
    return 0;
}

static int taken(const profconv_id *names, size_t count, profconv_id name) {
    for (size_t i = 0; i < count; i++)
        if (names[i] == name)
            return 1;
    return 0;
}

/* A name that no earlier column has: with "#2", "#3", ... behind it when need be. */
static profconv_id unique_name(profconv_builder *builder, const profconv_id *names, size_t count, pfc_buf *buf) {
    size_t size = buf->size;
    profconv_id id = profconv_builder_string(builder, buf->data, buf->size);
    for (uint64_t k = 2; id != 0 && taken(names, count, id) && !buf->failed; k++) {
        buf->size = size;
        pfc_buf_char(buf, '#');
        pfc_buf_u64(buf, k);
        id = profconv_builder_string(builder, buf->data, buf->size);
    }
    return id;
}

/* `names` are those of the columns so far. */
static void name_event(profconv_builder *builder, pfc_mem *mem, const pfc_event_columns *events, size_t count, size_t i,
                       profconv_id *names) {
    const pfc_event_columns *e = &events[i];
    int single = count == 1;
    profconv_sample_type row;
    memset(&row, 0, sizeof row);
    row.period = e->period;
    row.event = e->event;
    for (uint32_t k = 0; k < 2; k++) {
        pfc_buf name;
        pfc_buf_init(&name, mem);
        /* Each time anew: interning may have moved its bytes. */
        profconv_string shown =
            profconv_builder_get_string(builder, base_is_shared(events, count, i) ? e->full : e->base);
        if (single && k == 0)
            pfc_buf_text(&name, "samples");
        else if (single && e->clock)
            pfc_buf_text(&name, "cpu");
        else
            pfc_buf_add(&name, shown.data, shown.size);
        if (!single && k == 0)
            pfc_buf_text(&name, "_samples");
        row.unit = profconv_builder_cstring(builder, k == 1 && e->time ? "nanoseconds" : "count");
        row.role = k ? PROFCONV_ROLE_WEIGHT : PROFCONV_ROLE_COUNT;
        row.name = names[2 * i + k] = unique_name(builder, names, 2 * i + k, &name);
        profconv_builder_sample_type_replace(builder, (uint32_t)(2 * i + k), &row);
        pfc_buf_free(&name);
    }
}

static void set_period(profconv_builder *builder, const pfc_event_columns *most, profconv_id type) {
    profconv_info info;
    profconv_builder_get_info(builder, &info);
    info.default_sample_type = info.period_type = type;
    info.period_unit = profconv_builder_cstring(builder, most->time ? "nanoseconds" : "count");
    info.period = most->period;
    if (most->frequency && most->clock)
        info.period = most->frequency > 1000000000u ? 1 : (int64_t)(1000000000u / most->frequency);
    profconv_builder_set_info(builder, &info);
}

int pfc_columns_name(profconv_builder *builder, pfc_mem *mem, const pfc_event_columns *events, size_t count,
                     size_t most, profconv_error *error) {
    profconv_id *names = (profconv_id *)pfc_alloc_zero(mem, 2 * count * sizeof *names);
    if (!names)
        return pfc_mem_error(mem, error);
    for (size_t i = 0; i < count && !mem->failed; i++)
        name_event(builder, mem, events, count, i, names);
    if (!mem->failed)
        set_period(builder, &events[most], names[2 * most + 1]);
    pfc_free(mem, names, 2 * count * sizeof *names);
    int status = profconv_builder_status(builder, error);
    return status ? status : mem->failed ? pfc_mem_error(mem, error) : 0;
}
