/* SPDX-License-Identifier: MIT
 *
 * Equal lines are merged in a prefix tree of frame texts, and the tree is walked in the order of the bytes of the
 * whole lines, so that no more than one line exists at a time.
 *
 * The order of whole lines is not that of siblings by name. With siblings "a" and "a (b)" the lines are
 * "a" < "a (b)" < "a (b);x" < "a;x": below "a" stands ';' (0x3b), and a blank comes before it. So a node gives its
 * parent two items: the line that ends at it, with its text as key, and the lines that go on below it, with its text
 * and ';' as key. No text holds a ';', so all lines below one node are neighbours, and items sorted by key, level by
 * level, are lines sorted by bytes.
 *
 * Keys are sorted once for all distinct texts; the items are then dealt out to their parents from the last key to the
 * first.
 */
#include "libprofconv/formats/collapsed/trie.h"

#include <string.h>

#include "libprofconv/base/sort.h"

static uint64_t node_hash(const void *user, uint32_t row) {
    const pfc_trie *trie = (const pfc_trie *)user;
    return pfc_hash_mix(trie->nodes.data[row].parent, trie->nodes.data[row].text);
}

int pfc_trie_init(pfc_trie *trie, pfc_mem *mem) {
    static const pfc_trie_node root = {0, 0, 0, 0, 0};
    memset(trie, 0, sizeof *trie);
    trie->mem = mem;
    return PFC_VEC_PUSH(mem, &trie->nodes, root);
}

void pfc_trie_free(pfc_trie *trie) {
    PFC_VEC_FREE(trie->mem, &trie->nodes);
    pfc_index_free(trie->mem, &trie->index);
    pfc_free(trie->mem, trie->next, trie->items * sizeof *trie->next);
    trie->next = NULL;
}

/* The frames of a new line are added one after the other, so the first child of a node mostly has the row after it: there it is
 * looked for, and nowhere else. The index holds the children that came later, a fraction of the tree. */
int pfc_trie_child(pfc_trie *trie, uint32_t parent, uint32_t text, uint32_t *child) {
    size_t next = (size_t)parent + 1, count = trie->nodes.count;
    uint64_t hash = 0;
    if (next < count) {
        const pfc_trie_node *node = &trie->nodes.data[next];
        if (node->parent == parent && node->text == text) {
            *child = (uint32_t)next;
            return 0;
        }
        hash = pfc_hash_mix(parent, text);
        pfc_probe probe = pfc_index_start(&trie->index, hash);
        while ((*child = pfc_index_next(&trie->index, &probe)) != 0) {
            node = &trie->nodes.data[*child];
            if (node->parent == parent && node->text == text)
                return 0;
        }
    }
    if (count >= INT32_MAX)
        return PROFCONV_E_LIMIT;
    pfc_trie_node node = {0, parent, text, 0, 0};
    int status = PFC_VEC_PUSH(trie->mem, &trie->nodes, node);
    *child = (uint32_t)count;
    if (status || next == count)
        return status;
    return pfc_index_insert(trie->mem, &trie->index, hash, *child, node_hash, trie);
}

void pfc_trie_add(pfc_trie *trie, uint32_t node, int64_t value) {
    pfc_trie_node *row = &trie->nodes.data[node];
    row->count = pfc_add_sat_i64(row->count, value, &trie->saturated);
    row->line = 1;
}

/* Keys are numbered text * 2 + item: a text alone (item 0) or with the ';' that follows it in the table (item 1). */
static int compare_keys(const void *user, uint32_t a, uint32_t b) {
    const pfc_frames *frames = (const pfc_frames *)user;
    size_t x_size;
    size_t y_size;
    const char *x = pfc_frames_data(frames, a / 2, &x_size);
    const char *y = pfc_frames_data(frames, b / 2, &y_size);
    x_size += a & 1;
    y_size += b & 1;
    int order = memcmp(x, y, x_size < y_size ? x_size : y_size);
    return order != 0 ? order : (x_size > y_size) - (x_size < y_size);
}

/* Every leaf of the tree has a line, so a node with a child has lines below it: marked in `items` for now. */
static void mark_inner(pfc_trie *trie) {
    for (size_t i = 1; i < trie->nodes.count; i++)
        trie->nodes.data[trie->nodes.data[i].parent].items = 1;
}

static int has_item(const pfc_trie_node *node, uint32_t k) { return k ? node->items != 0 : node->line != 0; }

/* ends[key]: how many items have the key. */
static size_t count_items(const pfc_trie *trie, uint32_t *ends) {
    size_t count = 0;
    for (size_t i = 1; i < trie->nodes.count; i++) {
        const pfc_trie_node *node = &trie->nodes.data[i];
        for (uint32_t k = 0; k < 2; k++)
            if (has_item(node, k)) {
                ends[2 * node->text + k]++;
                count++;
            }
    }
    return count;
}

/* The items in the order of their keys; what is in ends[] becomes where each key's end. */
static void sort_items(pfc_trie *trie, const uint32_t *keys, size_t key_count, uint32_t *ends, uint32_t *items) {
    uint32_t sum = 0;
    for (size_t k = 0; k < key_count; k++) {
        uint32_t here = ends[keys[k]];
        ends[keys[k]] = sum;
        sum += here;
    }
    for (uint32_t i = 1; i < trie->nodes.count; i++) {
        const pfc_trie_node *node = &trie->nodes.data[i];
        for (uint32_t k = 0; k < 2; k++)
            if (has_item(node, k))
                items[ends[2 * node->text + k]++] = 2 * i + k;
    }
    for (size_t i = 0; i < trie->nodes.count; i++)
        trie->nodes.data[i].items = 0;
}

enum { SOON = 32, NEXT = 16 }; /* items */

/* Puts each item before those that its parent has so far, last key first. Nodes and parents are anywhere in memory, so they are
 * asked for ahead. */
static void deal_out(pfc_trie *trie, const uint32_t *items, size_t count) {
    pfc_trie_node *nodes = trie->nodes.data;
    for (size_t i = count; i-- > 0;) {
        if (i >= SOON)
            PFC_PREFETCH(&nodes[items[i - SOON] / 2]);
        if (i >= NEXT) {
            PFC_PREFETCH(&nodes[nodes[items[i - NEXT] / 2].parent]);
            PFC_PREFETCH(&trie->next[items[i - NEXT]]);
        }
        pfc_trie_node *parent = &nodes[nodes[items[i] / 2].parent];
        trie->next[items[i]] = parent->items;
        parent->items = items[i] + 1;
    }
}

static int order_items(pfc_trie *trie, const uint32_t *keys, size_t key_count, uint32_t *ends) {
    pfc_mem *mem = trie->mem;
    mark_inner(trie);
    size_t count = count_items(trie, ends), bytes = (count + 1) * sizeof(uint32_t);
    uint32_t *items = (uint32_t *)pfc_alloc(mem, bytes);
    if (!items)
        return mem->failed;
    sort_items(trie, keys, key_count, ends, items);
    deal_out(trie, items, count);
    pfc_free(mem, items, bytes);
    return PROFCONV_OK;
}

int pfc_trie_order(pfc_trie *trie, const pfc_frames *frames) {
    pfc_mem *mem = trie->mem;
    size_t count = 2 * frames->texts.rows.count;
    pfc_index_free(mem, &trie->index);
    trie->items = 2 * trie->nodes.count;
    trie->next = (uint32_t *)pfc_alloc_zero(mem, trie->items * sizeof *trie->next);
    uint32_t *keys = (uint32_t *)pfc_alloc(mem, count * sizeof *keys);
    uint32_t *ends = (uint32_t *)pfc_alloc_zero(mem, count * sizeof *ends);
    int status = !trie->next || !keys || !ends ? mem->failed : 0;
    if (status == 0) {
        for (uint32_t i = 0; i < count; i++)
            keys[i] = i;
        status = pfc_sort_ids(mem, keys + 2, count - 2, compare_keys, frames); /* text 0 is none */
    }
    if (status == 0)
        status = order_items(trie, keys, count, ends);
    pfc_free(mem, keys, count * sizeof *keys);
    pfc_free(mem, ends, count * sizeof *ends);
    return status;
}

typedef struct level {
    size_t size;   /* of the text up to this level */
    uint32_t item; /* next one to visit, + 1 */
} level;

int pfc_trie_walk(const pfc_trie *trie, const pfc_frames *frames, int (*line)(void *user, pfc_buf *text, int64_t count),
                  void *user) {
    PFC_VEC(level) levels = {0};
    level top = {0, trie->nodes.data[0].items};
    pfc_buf text;
    pfc_buf_init(&text, trie->mem);
    int status = PFC_VEC_PUSH(trie->mem, &levels, top);
    while (status == 0 && levels.count > 0) {
        level *here = &levels.data[levels.count - 1];
        if (here->item == 0) {
            levels.count--;
            continue;
        }
        uint32_t item = here->item - 1;
        const pfc_trie_node *node = &trie->nodes.data[item / 2];
        size_t size;
        const char *data = pfc_frames_data(frames, node->text, &size);
        here->item = trie->next[item];
        if (here->item)
            PFC_PREFETCH(&trie->nodes.data[(here->item - 1) / 2]);
        text.size = here->size;
        pfc_buf_add(&text, data, size + (item & 1));
        if (text.failed) {
            status = text.failed;
        } else if (item & 1) {
            level below = {text.size, node->items};
            status = PFC_VEC_PUSH(trie->mem, &levels, below);
        } else {
            status = line(user, &text, node->count);
        }
    }
    PFC_VEC_FREE(trie->mem, &levels);
    pfc_buf_free(&text);
    return status;
}
