/* SPDX-License-Identifier: MIT
 *
 * Runs a program by single steps and prints what a recording of it would hold, and the truth beside it:
 *
 *   step_record START STEPS EVERY DEPTH PROGRAM [ARG...]
 *
 * Stepping begins when START (a hexadecimal address of the running program) is reached. Each EVERY steps a line is printed:
 *
 *   ip | chain along the frame pointer, return addresses | newest branches, from>to | calls that are open, innermost first
 *
 * x86-64, the first thread only. What is a call or a return is told by the instruction; calls made before START are not known.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NONE, JUMP, CALL, RETURN, RING = 64, OPEN = 4096, STACK = 1 << 20 };

static pid_t child;
static uint64_t from[RING], to[RING];
static struct {
    uint64_t from, slot; /* where its return address is */
} open_calls[OPEN];
static size_t branches, opened;

static uint64_t word(uint64_t address) { return (uint64_t)ptrace(PTRACE_PEEKDATA, child, (void *)address, NULL); }

static int stopped(void) {
    int status;
    return waitpid(child, &status, 0) == child && WIFSTOPPED(status) ? WSTOPSIG(status) : -1;
}

/* Of the instruction at ip; *next is where it goes on when it does not branch (for conditional ones). */
static int kind(uint64_t ip, uint64_t *next) {
    uint64_t code = word(ip);
    unsigned size = 0;
    while (((code & 0xff) == 0xf2 || (code & 0xff) == 0xf3 || (code & 0xff) == 0x3e || (code & 0xf0) == 0x40) && size < 4)
        code >>= 8, size++;
    unsigned opcode = code & 0xff, operation = code >> 11 & 7;
    *next = ip + size + (opcode == 0x0f ? 6 : 2);
    if (opcode == 0xe8 || (opcode == 0xff && operation == 2))
        return CALL;
    if (opcode == 0xc3 || opcode == 0xc2)
        return RETURN;
    if (opcode == 0xe9 || opcode == 0xeb || (opcode == 0xff && operation == 4)) {
        *next = 0;
        return JUMP;
    }
    return (opcode & 0xf0) == 0x70 || (opcode == 0x0f && (code >> 12 & 15) == 8) ? JUMP : NONE;
}

/* Calls of the same stack whose return address is at or below `slot` are over: they returned, or their stack is used anew. */
static void close_calls(uint64_t slot) {
    size_t kept = 0;
    for (size_t i = 0; i < opened; i++)
        if (slot - open_calls[i].slot >= STACK)
            open_calls[kept++] = open_calls[i];
    opened = kept;
}

static void print(const struct user_regs_struct *r, size_t depth) {
    printf("%llx |", r->rip);
    uint64_t fp = r->rbp;
    for (int i = 0; i < 100 && fp >= r->rsp && fp % 8 == 0; i++) {
        errno = 0;
        uint64_t caller = word(fp), back = word(fp + 8);
        if (errno || !back)
            break;
        printf(" %llx", (unsigned long long)back);
        if (caller <= fp)
            break;
        fp = caller;
    }
    printf(" |");
    for (size_t i = 0; i < depth && i < branches; i++)
        printf(" %llx>%llx", (unsigned long long)from[(branches - 1 - i) % RING], (unsigned long long)to[(branches - 1 - i) % RING]);
    printf(" |");
    for (size_t i = opened; i > 0; i--) /* the others are on another stack, or were left by a jump */
        if (open_calls[i - 1].slot - r->rsp < STACK && word(open_calls[i - 1].slot) - open_calls[i - 1].from < 16)
            printf(" %llx", (unsigned long long)open_calls[i - 1].from);
    putchar('\n');
}

static int run_to(uint64_t start) {
    uint64_t saved = word(start);
    struct user_regs_struct r;
    ptrace(PTRACE_POKEDATA, child, (void *)start, (void *)((saved & ~UINT64_C(0xff)) | 0xcc));
    int signal = 0;
    do {
        ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)signal);
        signal = stopped();
    } while (signal > 0 && signal != SIGTRAP);
    if (signal < 0)
        return -1;
    ptrace(PTRACE_POKEDATA, child, (void *)start, (void *)saved);
    ptrace(PTRACE_GETREGS, child, NULL, &r);
    r.rip = start;
    return (int)ptrace(PTRACE_SETREGS, child, NULL, &r);
}

/* The other threads stand still from now on: a scheduler among them would only interrupt what is stepped. */
static void stop_others(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)child);
    DIR *tasks = opendir(path);
    struct dirent *task;
    while (tasks && (task = readdir(tasks))) {
        int id = atoi(task->d_name);
        if (id > 0 && id != child && ptrace(PTRACE_ATTACH, id, NULL, NULL) == 0)
            waitpid(id, NULL, __WALL);
    }
    if (tasks)
        closedir(tasks);
}

int main(int argc, char **argv) {
    if (argc < 6)
        return 2;
    uint64_t start = strtoull(argv[1], NULL, 16), steps = strtoull(argv[2], NULL, 10), every = strtoull(argv[3], NULL, 10);
    size_t depth = strtoull(argv[4], NULL, 10);
    child = fork();
    if (child == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[5], argv + 5);
        _exit(127);
    }
    if (stopped() != SIGTRAP || run_to(start))
        return 3;
    stop_others();
    struct user_regs_struct r;
    ptrace(PTRACE_GETREGS, child, NULL, &r);
    for (uint64_t i = 1; i <= steps; i++) {
        uint64_t ip = r.rip, sp = r.rsp, next = 0;
        int what = kind(ip, &next), signal;
        ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
        while ((signal = stopped()) > 0 && signal != SIGTRAP) /* those of a profiler or a runtime are not delivered */
            ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
        if (signal < 0)
            break;
        ptrace(PTRACE_GETREGS, child, NULL, &r);
        if (what == CALL || what == RETURN)
            close_calls(what == CALL ? r.rsp : sp);
        if (what == CALL && opened < OPEN) {
            open_calls[opened].from = ip;
            open_calls[opened++].slot = r.rsp;
        }
        if (what == CALL || what == RETURN || (what == JUMP && r.rip != next)) {
            from[branches % RING] = ip;
            to[branches % RING] = r.rip;
            branches++;
        }
        if (i % every == 0)
            print(&r, depth);
    }
    kill(child, SIGKILL);
    return 0;
}
