/* SPDX-License-Identifier: MIT
 *
 * A program to be recorded that makes code at run time, in three ways, and names it in a perf map:
 *   anonymous memory; memory of a memfd that is mapped twice, to write and to run; the same further back in the memfd.
 * Each piece counts down for about as long. Prints its pid.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__)
int main(void) { return 77; }
#else
/* A frame, a loop of `edi` rounds, and back. */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3};
enum { SIZE = 4096 };

static void *memfd_code(int fd, off_t at) {
    unsigned char *write = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    if (write == MAP_FAILED)
        return MAP_FAILED;
    memcpy(write + 64, code, sizeof code);
    void *run = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, at);
    return run;
}

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000000;
    int fd = memfd_create("code", 0);
    char *parts[3];
    char path[64];
    if (fd < 0 || ftruncate(fd, 4 * SIZE))
        return 1;
    parts[0] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    parts[1] = memfd_code(fd, 0);
    parts[2] = memfd_code(fd, 2 * SIZE);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (!map)
        return 1;
    for (int i = 0; i < 3; i++) {
        if (parts[i] == (char *)MAP_FAILED)
            return 1;
        static const char *const names[] = {"made in anonymous memory", "made in a memfd", "made further back (2)"};
        if (i == 0)
            memcpy(parts[0] + 64, code, sizeof code);
        fprintf(map, "%llx %zx %s\n", (unsigned long long)(uintptr_t)(parts[i] + 64), sizeof code, names[i]);
    }
    fclose(map);
    printf("%d\n", (int)getpid());
    for (int k = 0; k < 50; k++)
        for (int i = 0; i < 3; i++) {
            void (*run)(unsigned);
            void *at = parts[i] + 64;
            memcpy(&run, &at, sizeof run);
            run(rounds);
        }
    return 0;
}
#endif
