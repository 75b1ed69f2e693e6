/* SPDX-License-Identifier: MIT
 *
 * What changed in a comparison. Where the comparison that made the profile tells what it calls functions, that holds: a node has
 * changed when its function has, in its direction. Nodes that are no functions, and all where nothing is told, are tested here.
 */
#include <string.h>

#include "libprofconv/base/change.h"
#include "libprofconv/formats/viewers/flame.h"

#include <profconv/transform.h>

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* One record; 0 where it is none. */
static int parse(const char *text, pfc_key *key) {
    key->key = 0;
    key->tie = 0;
    for (int i = 0; i < PFC_CHANGE_RECORD; i++) {
        int value = digit(text[i]);
        if (value < 0 || (i < 2 && value >= PROFCONV_DIFF_CLASSES))
            return 0;
        if (i < 2)
            key->tie = key->tie << 4 | (uint32_t)value;
        else
            key->key = key->key << 4 | (uint64_t)value;
    }
    return text[PFC_CHANGE_RECORD] == ',' || text[PFC_CHANGE_RECORD] == '\0';
}

static const pfc_key *find(const pfc_key *keys, size_t count, uint64_t hash) {
    size_t low = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (keys[low + half].key < hash) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return &keys[low];
}

static int look_up(pfc_flame *flame, const pfc_key *keys, size_t count) {
    pfc_view_frames *f = &flame->frames;
    flame->class_count = f->rows.count;
    for (int k = 0; k < 2; k++) {
        flame->classes[k] = (uint8_t *)pfc_alloc_zero(&flame->mem, flame->class_count);
        if (!flame->classes[k])
            return flame->mem.failed;
    }
    for (size_t i = 0; i < flame->class_count; i++) {
        const pfc_view_frame *frame = &f->rows.data[i];
        uint64_t hash = pfc_change_hash(pfc_view_string(f, frame->name), pfc_view_string(f, frame->file));
        const pfc_key *found = find(keys, count, hash);
        int told = i > 0 && found < keys + count && found->key == hash;
        flame->classes[0][i] = told ? (uint8_t)(found->tie >> 4) : PFC_FLAME_UNTOLD;
        flame->classes[1][i] = told ? (uint8_t)(found->tie & 15) : PFC_FLAME_UNTOLD;
    }
    return 0;
}

int pfc_flame_classes(pfc_flame *flame, const char *text, profconv_error *error) {
    size_t size = strlen(text), count = (size + 1) / (PFC_CHANGE_RECORD + 1), bytes = (count + 1) * sizeof(pfc_key);
    int wrong = size > 0 && (size + 1) % (PFC_CHANGE_RECORD + 1) != 0;
    pfc_key *keys = (pfc_key *)pfc_alloc(&flame->mem, bytes);
    int status = keys ? 0 : flame->mem.failed;
    for (size_t i = 0; i < count && status == 0 && !wrong; i++) {
        keys[i].id = (uint32_t)i;
        wrong = !parse(text + i * (PFC_CHANGE_RECORD + 1), &keys[i]);
    }
    if (wrong && status == 0)
        status = profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                    "setting flamegraph.classes: records of two classes and a number are expected, as a "
                                    "comparison makes them");
    if (status == 0)
        status = pfc_sort_keys(&flame->mem, keys, count);
    if (status == 0)
        status = look_up(flame, keys, count);
    pfc_free(&flame->mem, keys, keys ? bytes : 0);
    return status;
}

void pfc_flame_classes_free(pfc_flame *flame) {
    for (int k = 0; k < 2; k++)
        pfc_free(&flame->mem, flame->classes[k], flame->classes[k] ? flame->class_count : 0);
}

/* `values`: before and after of every node. */
static void take_classes(const pfc_flame *flame, int self, const int64_t *values, uint8_t *changes) {
    size_t count = flame->tree.nodes.count;
    for (size_t i = 0; i < count; i++) {
        uint32_t frame = flame->tree.nodes.data[i].frame;
        uint8_t called = flame->classes[self ? 0 : 1][frame];
        int64_t before = values[i], after = values[count + i];
        if (called == PFC_FLAME_UNTOLD || before == after)
            continue;
        int more = called == PROFCONV_DIFF_UP || called == PROFCONV_DIFF_NEW;
        int less = called == PROFCONV_DIFF_DOWN || called == PROFCONV_DIFF_GONE;
        changes[i] = called == PROFCONV_DIFF_UNCHANGED ? PFC_VIEW_SAME
                     : (after > before ? more : less) ? PFC_VIEW_CHANGED
                                                      : PFC_VIEW_UNSURE;
    }
}

int pfc_flame_changes(pfc_flame *flame) {
    pfc_view_tree *t = &flame->tree;
    size_t count = t->nodes.count;
    int64_t grain = pfc_view_column_grain(&flame->columns, 1);
    int64_t *values = (int64_t *)pfc_alloc(&flame->mem, 2 * count * sizeof *values);
    int status = values ? 0 : flame->mem.failed;
    flame->changes = count;
    for (int self = 0; status == 0 && self < 2; self++) {
        flame->change[self] = (uint8_t *)pfc_alloc_zero(&flame->mem, count);
        for (uint32_t k = 0; k < 2; k++) {
            if (!self)
                pfc_view_tree_totals(t, k, values + k * count, 0);
            for (size_t i = 0; self && i < count; i++)
                values[k * count + i] = t->self.data[i * t->columns + k];
        }
        status = flame->change[self]
                     ? pfc_view_compare(&flame->mem, values, values + count, count, grain, flame->change[self])
                     : flame->mem.failed;
        if (status == 0 && flame->classes[0])
            take_classes(flame, self, values, flame->change[self]);
    }
    pfc_free(&flame->mem, values, values ? 2 * count * sizeof *values : 0);
    return status;
}
