#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of aarch64 programs, unwound from real registers and stacks, are the calls that the program says it made.

A program without frame pointers runs under qemu-user up to a trap, and prints the return addresses that each of its functions
saw. The core dump of qemu holds its registers and memory, which go into a perf.data as perf record --call-graph dwarf would
have them. Variants: the trap in a function with a frame, in one that has none and whose caller only the link register knows, and
both with signed return addresses (-mbranch-protection), with a stack of variable size and libc's qsort in between.
"""
import glob
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import mkperf

PROFCONV = os.environ.get("PROFCONV")

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *returns[8];
static volatile unsigned long sink;
static int without_frame;
__attribute__((noinline)) void trap(void) { __asm__ volatile("brk #0"); }
__attribute__((noinline)) void stop(unsigned long x) {
    volatile char room[200];
    memset((char *)room, (int)x, sizeof room);
    returns[0] = __builtin_return_address(0);
    for (int i = 0; i < 5; i++)
        printf("%p\n", returns[i]);
    fflush(stdout);
    if (without_frame)
        trap();
    else
        __asm__ volatile("brk #0");
    sink += (unsigned long)room[3];
}
__attribute__((noinline)) unsigned long inner(unsigned long x) {
    returns[1] = __builtin_return_address(0);
    stop(x);
    return x + sink;
}
__attribute__((noinline)) unsigned long middle(unsigned long x, unsigned long n) {
    char room[n];
    memset(room, 1, n);
    returns[2] = __builtin_return_address(0);
    sink += (unsigned long)room[n / 2];
    return inner(x) + (unsigned long)room[0];
}
__attribute__((noinline)) unsigned long outer(unsigned long x) {
    unsigned long v[700];
    memset(v, (int)x, sizeof v);
    returns[3] = __builtin_return_address(0);
    return middle(x, x * 100) + v[x];
}
int order(const void *a, const void *b) {
    returns[4] = __builtin_return_address(0);
    return (int)outer((unsigned long)*(const int *)a + 3) - *(const int *)b;
}
int main(int count, char **arguments) {
    int v[3] = {2, 1, 0};
    without_frame = count > 1 && arguments[1][0] == 'w';
    qsort(v, 3, sizeof *v, order);
    return v[0];
}
"""

PRSTATUS, REGISTERS_AT, LOAD, NOTE = 1, 112, 1, 4


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def program_headers(data):
    at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, flags, offset, vaddr, _, file_size, memory, _ = struct.unpack_from("<IIQQQQQQ", data, at + i * size)
        yield kind, flags, offset, vaddr, file_size, memory


def core_registers(data):
    """x0 to x30, sp, pc of the first thread."""
    for kind, _, offset, _, size, _ in program_headers(data):
        at = offset
        while kind == NOTE and at < offset + size:
            name, length, what = struct.unpack_from("<III", data, at)
            body = at + 12 + (name + 3 & ~3)
            if what == PRSTATUS:
                return struct.unpack_from("<33Q", data, body + REGISTERS_AT)
            at = body + (length + 3 & ~3)
    return None


def core_stack(data, sp):
    for kind, _, offset, vaddr, size, _ in program_headers(data):
        if kind == LOAD and vaddr <= sp < vaddr + size:
            return data[offset + sp - vaddr:offset + min(size, sp - vaddr + 65528 - 4096)]
    return b""


def run(qemu, root, program, argument):
    """(return addresses that it printed, core)"""
    folder = tempfile.mkdtemp(dir=root)
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    size = 64 << 20 if limit == resource.RLIM_INFINITY else min(limit, 64 << 20)
    done = subprocess.run([qemu, program, argument], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (size, limit)))
    cores = glob.glob(os.path.join(folder, "qemu_*.core"))
    if not cores:
        print("qemu wrote no core (%d): %s" % (done.returncode, done.stderr.decode(errors="replace").strip()[-200:]))
        return None, None
    with open(cores[0], "rb") as file:
        return [int(line, 16) for line in done.stdout.decode().split()], file.read()


def compose(program, core, path):
    p = mkperf.Perf(mkperf.IP | mkperf.TID | mkperf.TIME | mkperf.PERIOD | mkperf.IDENTIFIER | mkperf.CHAIN | mkperf.REGS | mkperf.STACK)
    p.event("cpu-clock", registers=0x1ffffffff)
    p.comm(100, 100, "program")
    with open(program, "rb") as file:
        data = file.read()
    for kind, flags, offset, vaddr, size, _ in program_headers(data):
        if kind == LOAD and not flags & 2:
            page = vaddr & 4095
            p.mmap2(100, vaddr - page, size + page + 4095 & ~4095, offset - page, program, prot=4 * (flags & 1) | 1)
    registers = core_registers(core)
    stack = core_stack(core, registers[31])
    stack = stack[:len(stack) & ~7]
    p.sample(100, 100, 1000, registers[32], [], registers=registers, stack=stack)
    p.describe("aarch64")
    with open(path, "wb") as file:
        file.write(p.file())


def name_of(symbols, address):
    best = [row for row in symbols if row[0] <= address < row[0] + row[1]]
    return best[0][2] if best else None


def symbols_of(nm, program):
    rows = [line.split(" ", 3) for line in subprocess.run([nm, "-S", program], stdout=subprocess.PIPE).stdout.decode().split("\n")]
    return [(int(r[0], 16), int(r[1], 16), r[3]) for r in rows if len(r) == 4 and r[2] in ("t", "T", "W", "w")]


def check(qemu, root, program, argument):
    printed, core = run(qemu, root, program, argument)
    if not core:
        return None
    path = os.path.join(root, "program.data")
    compose(program, core, path)
    done = subprocess.run([PROFCONV, "convert", "--no-inline", "-s", "collapsed.tidy=none", "-t", "collapsed", "-o", "-", path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = done.stdout.decode().split("\n")
    stack = lines[0].rsplit(" ", 1)[0].split(";")[::-1]
    symbols = symbols_of("aarch64-linux-gnu-nm", program)
    wanted = (["trap"] if argument == "without" else []) + ["stop"] + [name_of(symbols, address - 1) for address in printed]
    # From qsort's own functions on, up to main and what calls it.
    good = len(lines) == 2 and wanted[-5:-1] == ["inner", "middle", "outer", "order"] and stack[:len(wanted)] == wanted and "main" in stack
    print("%s %s: %s" % (os.path.basename(program), argument, ";".join(stack)))
    if not good:
        print("  but the program says: %s; %s" % (";".join(map(str, wanted)), done.stderr.decode().strip()))
    return good


def main():
    if not PROFCONV:
        skip("no command (PROFCONV)")
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if not qemu or not shutil.which("aarch64-linux-gnu-gcc"):
        skip("no qemu-user, or no compiler for aarch64")
    results = []
    with tempfile.TemporaryDirectory() as root:
        source = os.path.join(root, "program.c")
        with open(source, "w") as out:
            out.write(PROGRAM)
        for name, flags in (("plain", []), ("signed", ["-mbranch-protection=standard"])):
            program = os.path.join(root, name)
            built = subprocess.run(["aarch64-linux-gnu-gcc", "-O2", "-g", "-fomit-frame-pointer", "-static", "-o", program, source] + flags,
                                   stderr=subprocess.PIPE)
            if built.returncode:
                print("cannot be built: %s" % built.stderr.decode(errors="replace")[-200:])
                continue
            for argument in ("frame", "without"):
                results.append(check(qemu, root, program, argument))
    results = [r for r in results if r is not None]
    if not results:
        skip("no core dump of an aarch64 program")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
