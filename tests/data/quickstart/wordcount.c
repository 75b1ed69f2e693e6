/* SPDX-License-Identifier: MIT
 *
 * The program of the shipped recording: makes up a text, counts its words in a hash table, sorts them and checks the
 * result. It was built and recorded with
 *
 *     cc -g -O1 -fno-omit-frame-pointer -o wordcount wordcount.c
 *     perf record --no-bpf-event -e cpu-clock:u -F 999 -g -o wordcount.data ./wordcount
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 8192
#define WORD 12

typedef struct word {
    char text[WORD];
    uint32_t count;
} word;

static word table[SLOTS];

static inline uint32_t step(uint32_t state) { return state * 1664525u + 1013904223u; }

static size_t make_text(char *text, size_t size, uint32_t seed) {
    size_t at = 0;
    while (at + WORD < size) {
        seed = step(seed);
        size_t letters = 2 + (seed >> 28) % 3;
        for (size_t i = 0; i < letters; i++) {
            seed = step(seed);
            text[at++] = (char)('a' + (seed >> 24) % 9);
        }
        text[at++] = ' ';
    }
    return at;
}

static uint32_t hash_word(const char *text, size_t size) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

static inline int same_word(const word *w, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (w->text[i] != text[i])
            return 0;
    }
    return w->text[size] == '\0';
}

static word *find_word(const char *text, size_t size) {
    uint32_t slot = hash_word(text, size) % SLOTS;
    while (table[slot].count && !same_word(&table[slot], text, size))
        slot = (slot + 1) % SLOTS;
    return &table[slot];
}

static void count_words(const char *text, size_t size) {
    for (size_t start = 0; start < size;) {
        size_t end = start;
        while (end < size && text[end] != ' ')
            end++;
        word *w = find_word(text + start, end - start);
        if (w->count++ == 0) {
            for (size_t i = 0; i < end - start; i++)
                w->text[i] = text[start + i];
        }
        start = end + 1;
    }
}

static void sift_down(uint32_t *keys, size_t root, size_t size) {
    for (size_t child; (child = 2 * root + 1) < size; root = child) {
        child += child + 1 < size && keys[child] < keys[child + 1];
        if (keys[root] >= keys[child])
            return;
        uint32_t key = keys[root];
        keys[root] = keys[child];
        keys[child] = key;
    }
}

static void heap_sort(uint32_t *keys, size_t size) {
    for (size_t i = size / 2; i-- > 0;)
        sift_down(keys, i, size);
    for (size_t i = size; i-- > 1;) {
        uint32_t key = keys[0];
        keys[0] = keys[i];
        keys[i] = key;
        sift_down(keys, 0, i);
    }
}

static uint64_t rank_words(void) {
    static uint32_t keys[SLOTS];
    size_t used = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (table[i].count)
            keys[used++] = table[i].count;
    }
    heap_sort(keys, used);
    for (size_t i = 0; i < used; i++)
        sum += keys[i] * (uint64_t)i;
    return sum;
}

static uint64_t round_of(char *text, size_t size, uint32_t seed) {
    memset(table, 0, sizeof table);
    count_words(text, make_text(text, size, seed));
    return rank_words();
}

int main(int argc, char **argv) {
    size_t size = 1 << 18;
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    char *text = malloc(size);
    uint64_t sum = 0;
    if (!text)
        return 1;
    for (int i = 0; i < rounds; i++)
        sum += round_of(text, size, (uint32_t)i + 1);
    printf("%llu\n", (unsigned long long)sum);
    free(text);
    return 0;
}
