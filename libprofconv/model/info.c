/* SPDX-License-Identifier: MIT
 *
 * What holds for the profile as a whole: the info row, comments, attributes.
 */
#include "libprofconv/model/build.h"

static int check_info(profconv_builder *b, const profconv_info *info) {
    const profconv_id ids[] = {info->period_type, info->period_unit, info->default_sample_type,
                               info->drop_frames, info->keep_frames, info->doc_url};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (!pfc_is_string(b, ids[i]))
            return pfc_builder_fail_id(b, "info: string", ids[i]);
    return PROFCONV_OK;
}

void profconv_builder_set_info(profconv_builder *builder, const profconv_info *info) {
    if (pfc_stopped(builder) || check_info(builder, info))
        return;
    builder->model.info = *info;
    builder->model.info.facets = 0;
}

void profconv_builder_get_info(const profconv_builder *builder, profconv_info *out) { *out = builder->model.info; }

void profconv_builder_comment(profconv_builder *builder, profconv_id text) {
    pfc_model *m = &builder->model;
    if (pfc_stopped(builder))
        return;
    if (!pfc_is_string(builder, text))
        pfc_builder_fail_id(builder, "comment", text);
    else if (PFC_ROOM(builder, &m->comments, "comment") == PROFCONV_OK)
        m->comments.data[m->comments.count++] = text;
}

/* Recordings have a dozen attributes: a search from the front is enough. */
void profconv_builder_attribute(profconv_builder *builder, const char *key, const void *value, size_t size) {
    pfc_model *m = &builder->model;
    pfc_attribute row;
    row.key = profconv_builder_cstring(builder, key);
    row.value = profconv_builder_string(builder, value, size);
    if (pfc_stopped(builder))
        return;
    for (size_t i = 0; i < m->attributes.count; i++)
        if (m->attributes.data[i].key == row.key) {
            m->attributes.data[i].value = row.value;
            return;
        }
    if (PFC_ROOM(builder, &m->attributes, "attribute") == PROFCONV_OK)
        m->attributes.data[m->attributes.count++] = row;
}
