/* SPDX-License-Identifier: MIT
 *
 * Writes a perf.data with last-branch records of a random walk over a program's own branches: many distinct edges over
 * a large binary, which no single-stepped run reaches in reasonable time.
 *
 *   lbr_synth BRANCHES PATH BUILD-ID VADDR OFFSET SIZE SAMPLES > perf.data
 *
 * BRANCHES has a line for each branch instruction, by address: "ADDRESS LENGTH KIND TARGET" in hexadecimal, KIND j (jump), b (conditional
 * jump), c (call) or r (return or anything else without a fixed target; TARGET 0). VADDR, OFFSET and SIZE are those of the executable
 * segment. The walk follows fall-throughs and takes conditional jumps at random, keeps a call stack for returns, and
 * starts anew at the target of a random call now and then.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, CALLS = 64 };

typedef struct branch {
    uint64_t address, target;
    unsigned length;
    char kind;
} branch;

static branch *branches;
static size_t branch_count;
static uint64_t seed = 88172645463325252u;

static uint64_t next(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void put(const void *data, size_t size) {
    if (fwrite(data, 1, size, stdout) != size)
        die("write");
}
static void put64(uint64_t value) { put(&value, sizeof value); }
static void put32(uint32_t value) { put(&value, sizeof value); }
static void header(uint32_t type, uint16_t misc, uint16_t size) {
    put32(type);
    put(&misc, sizeof misc);
    put(&size, sizeof size);
}

static void read_branches(const char *path) {
    FILE *in = fopen(path, "r");
    branch b;
    size_t room = 0;
    if (!in)
        die(path);
    while (fscanf(in, "%" SCNx64 " %x %c %" SCNx64, &b.address, &b.length, &b.kind, &b.target) == 4) {
        if (branch_count == room) {
            room = room ? room * 2 : 4096;
            branches = realloc(branches, room * sizeof *branches);
            if (!branches)
                die("memory");
        }
        branches[branch_count++] = b;
    }
    fclose(in);
    if (branch_count == 0) {
        fprintf(stderr, "%s: no branches\n", path);
        exit(1);
    }
}

/* The first branch at or after the address; branch_count past the last. */
static size_t find(uint64_t address) {
    size_t low = 0, high = branch_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (branches[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t random_entry(void) {
    for (;;) {
        const branch *b = &branches[next() % branch_count];
        if (b->kind == 'c')
            return b->target;
    }
}

int main(int argc, char **argv) {
    if (argc != 8)
        return 2;
    read_branches(argv[1]);
    const char *path = argv[2];
    const char *id = argv[3];
    uint64_t vaddr = strtoull(argv[4], NULL, 16), offset = strtoull(argv[5], NULL, 16), size = strtoull(argv[6], NULL, 16);
    uint64_t samples = strtoull(argv[7], NULL, 10);
    uint64_t page = 4096, low = vaddr & ~(page - 1), bias = 0x555555554000u;
    unsigned char build_id[20] = {0};
    size_t id_size = strlen(id) / 2;
    for (size_t i = 0; i < id_size && i < sizeof build_id; i++) {
        unsigned byte;
        sscanf(id + 2 * i, "%2x", &byte);
        build_id[i] = (unsigned char)byte;
    }
    size_t name = (strlen(path) + 8) & ~(size_t)7;
    uint16_t mmap_size = (uint16_t)(72 + name + 16), comm_size = 8 + 8 + 8 + 16, sample_size = 8 + 8 + 8 + 8 + 8 + DEPTH * 24;
    uint64_t data_size = comm_size + mmap_size + samples * sample_size;

    put("PERFILE2", 8);
    const uint64_t head[] = {104, 144, 104, 144, 248, data_size, 0, 0, 0, 0, 0, 0};
    put(head, sizeof head);
    /* hardware cycles; IP|TID|TIME|BRANCH_STACK; user, any branch */
    unsigned char attr[144] = {0};
    const uint32_t attr_size = 128;
    const uint64_t period = 100003, sample_type = 1 | 2 | 4 | 0x800, flags = 1 | 2 | 1u << 8 | 1u << 9 | 1u << 18 | 1u << 23, any = 9;
    memcpy(attr + 4, &attr_size, 4);
    memcpy(attr + 16, &period, 8);
    memcpy(attr + 24, &sample_type, 8);
    memcpy(attr + 40, &flags, 8);
    memcpy(attr + 72, &any, 8);
    put(attr, sizeof attr);

    header(3, 0, comm_size);
    put32(1000);
    put32(1000);
    put("synth\0\0", 8);
    put32(1000);
    put32(1000);
    put64(1);
    header(10, 0x4002, mmap_size);
    put32(1000);
    put32(1000);
    put64(bias + low);
    put64(((vaddr + size + page - 1) & ~(page - 1)) - low);
    put64(offset & ~(page - 1));
    put32((uint32_t)id_size);
    put(build_id, 20);
    put32(5);
    put32(2);
    char padded[4096] = {0};
    snprintf(padded, sizeof padded, "%s", path);
    put(padded, name);
    put32(1000);
    put32(1000);
    put64(2);

    uint64_t stack[CALLS], entries[DEPTH][2], at = random_entry();
    size_t depth = 0, filled = 0;
    for (uint64_t written = 0; written < samples;) {
        size_t i = find(at);
        while (i < branch_count && branches[i].kind == 'b' && next() % 2)
            i++;
        uint64_t from = i < branch_count ? branches[i].address : 0, to = 0;
        if (i < branch_count && branches[i].kind == 'r')
            to = depth ? stack[--depth] : 0;
        else if (i < branch_count)
            to = branches[i].target;
        if (to == 0 || from - at > 0x1000 || next() % 512 == 0) {
            at = random_entry();
            depth = filled = 0;
            continue;
        }
        if (branches[i].kind == 'c') {
            if (depth == CALLS) {
                memmove(stack, stack + 1, sizeof stack - sizeof *stack);
                depth--;
            }
            stack[depth++] = from + branches[i].length;
        }
        at = to;
        entries[filled][0] = from;
        entries[filled][1] = to;
        if (++filled < DEPTH)
            continue;
        filled = 0;
        header(9, 2, sample_size);
        put64(bias + to);
        put32(1000);
        put32(1000);
        put64(3 + written++);
        put64(DEPTH);
        for (int k = DEPTH - 1; k >= 0; k--) {
            put64(bias + entries[k][0]);
            put64(bias + entries[k][1]);
            put64(2);
        }
    }
    return fflush(stdout) ? 1 : 0;
}
