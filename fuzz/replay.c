/* SPDX-License-Identifier: MIT
 *
 * A main for the fuzz targets where libFuzzer is not: runs the target over files, and over all files of folders and the
 * folders in them. Ordinary CI replays the seeds with it. At least one input must be there. A target that has mutations
 * of its own gets some of each input, too, always the same ones, and each input crossed with the one before.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/mutate.h"

#define MUTATIONS 20
#define ROOM 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#pragma weak LLVMFuzzerCustomMutator
#pragma weak LLVMFuzzerCustomCrossOver

static unsigned long inputs;
static fuzz_random blind;

/* In libFuzzer's place: a byte changed, put in or taken out. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    uint8_t byte = (uint8_t)fuzz_next(&blind);
    size_t at = fuzz_below(&blind, size);
    if (size == 0 || fuzz_below(&blind, 3) == 0)
        return fuzz_splice(data, size, max_size, at, 0, &byte, 1);
    if (fuzz_below(&blind, 3) == 0)
        return fuzz_splice(data, size, max_size, at, 1, NULL, 0);
    data[at] ^= byte ? byte : 1;
    return size;
}

static void mutate(const uint8_t *data, size_t size) {
    static uint8_t before[1 << 16];
    static size_t before_size;
    uint8_t *work = malloc(size + ROOM);
    blind = fuzz_seed((unsigned)size); /* so that one input alone does what it does among others */
    for (unsigned i = 0; work && LLVMFuzzerCustomMutator && i < MUTATIONS; i++) {
        if (size)
            memcpy(work, data, size);
        size_t n = LLVMFuzzerCustomMutator(work, size, size + ROOM, i + 1);
        if (n > size + ROOM)
            abort();
        LLVMFuzzerTestOneInput(work, n);
    }
    for (unsigned i = 0; work && LLVMFuzzerCustomCrossOver && i < 2; i++) {
        size_t n = LLVMFuzzerCustomCrossOver(data, size, before, before_size, work, size + ROOM, i + 1);
        if (n > size + ROOM)
            abort();
        LLVMFuzzerTestOneInput(work, n);
    }
    before_size = size < sizeof before ? size : sizeof before;
    if (before_size)
        memcpy(before, data, before_size);
    free(work);
}

static int replay_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    /* The exact size, so that a sanitizer sees a read past the end. */
    uint8_t *data = malloc(size ? size : 1);
    if (!file || !data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        free(data);
        if (file)
            fclose(file);
        return 1;
    }
    fclose(file);
    /* An input that crashes is the last one named. */
    printf("%s (%zu bytes)\n", path, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    mutate(data, size);
    free(data);
    inputs++;
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Folders are walked to a fixed depth, far beyond what the seeds need. */
static int replay(const char *path, int depth) {
    struct stat st;
    if (stat(path, &st) != 0) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        return 1;
    }
    if (!S_ISDIR(st.st_mode))
        return replay_file(path, (size_t)st.st_size);
    struct dirent **names = NULL;
    int count = depth > 0 ? scandir(path, &names, NULL, by_name) : 0;
    int failed = count < 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        int n = snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && n > 0 && (size_t)n < sizeof inner)
            failed |= replay(inner, depth - 1);
        free(names[i]);
    }
    free(names);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i], 8);
    printf("%lu inputs\n", inputs);
    return failed || inputs == 0;
}
