/* SPDX-License-Identifier: MIT
 *
 * A main for the fuzz targets where libFuzzer is not: runs the target over files, and over all files of folders and the
 * folders in them. Ordinary CI replays the seeds with it. At least one input must be there.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

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
