#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The loop closes: a program is recorded, the recording converted, and the compiler uses the profile.

A recording by the clock (no branch records), and one of last-branch records made by single steps (lbr_record.c beside
the corpus), to clang in its three encodings and to gcc in the version that it takes. The program has a function that
is too large to be inlined, called once from a hot and once from a cold place: clang must say that it inlined the hot
call, which it does not without the profile, and lay the cold block out of the loop; gcc's dump must have counts out of the profile. What is compiled must
still compute the same. The speed ratios are shown and prove nothing.
"""
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from pgo_support import SHARED, check, convert, finish, run, skip  # noqa: E402

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#define STEP(k)                                   \\
    x ^= x >> (k % 13 + 3);                       \\
    x *= 0x9e3779b1u + k * 2;                     \\
    x += y ^ (x << (k % 7 + 1));                  \\
    y += x >> 3;                                  \\
    if (x & (1u << (k % 31)))                     \\
        y ^= k * 77u;                             \\
    else                                          \\
        x -= k;
#define FOUR(k) STEP(k) STEP(k + 1) STEP(k + 2) STEP(k + 3)
unsigned mix(unsigned x, unsigned y) {
    FOUR(1)
    FOUR(5)
    return x ^ y;
}
__attribute__((noinline)) unsigned rare(unsigned x) {
    return mix(x, 3) + mix(x, 5);
}
int main(int argc, char **argv) {
    unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], 0, 10) : 1000, x = 1;
    for (unsigned i = 0; i < n; i++) {
        unsigned y = i;
        if (x % 100003 == 7)
            x += rare(x);
        FOUR(11)
        x = mix(x, y);
    }
    printf("%u\\n", x);
    return 0;
}
"""
LONG, SHORT = "10000000", "1000"
CLANG = shutil.which("clang-19") or shutil.which("clang")
GCCS = [(name, version) for name, version in (("gcc-12", 2), ("gcc-11", 1)) if shutil.which(name)]


def seconds(command):
    """Processor time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class Loop:
    def __init__(self, folder):
        self.folder = folder
        self.source = self.path("prog.c")
        with open(self.source, "w") as out:
            out.write(PROGRAM)
        self.lbr_record = self.tool()
        self.result = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self):
        source = os.path.join(SHARED, "tools", "lbr_record.c")
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not os.path.exists(source) or not compiler:
            print("skipped in part: lbr_record.c is not there")
            return None
        done = run(compiler, "-O2", source, "-o", self.path("lbr_record"), "-lcapstone", "-lelf")
        if done.returncode != 0:
            print("skipped in part: lbr_record.c does not compile here")
            return None
        return self.path("lbr_record")

    def compile(self, compiler, out, *flags):
        done = run(compiler, "-O2", "-g", *flags, "-o", self.path(out), self.source, cwd=self.folder)
        check(done.returncode == 0, "%s %s: %s" % (compiler, " ".join(flags), done.stderr[:500]))
        return self.path(out), done.stderr

    def recordings(self, program):
        found = []
        if shutil.which("perf"):
            data = program + ".cpu.data"
            done = run("perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-o", data, "--", program, LONG)
            if done.returncode == 0:
                found.append(("cpu-clock", data))
            else:
                print("skipped in part: perf cannot record here")
        if self.lbr_record:
            data = program + ".lbr.data"
            done = run(self.lbr_record, "-o", data, "-c", "61", "--", program, SHORT)
            if check(done.returncode == 0, "lbr_record: " + done.stderr):
                found.append(("last-branch", data))
        return found

    def same_result(self, program):
        done = run(program, SHORT)
        self.result = self.result or done.stdout
        check(done.returncode == 0 and done.stdout == self.result, program + " computes something else")

    def ratio(self, what, before, after):
        ratios = [seconds([before, LONG]) / max(seconds([after, LONG]), 0.001) for _ in range(3)]
        print("%s: %.2f times as fast as without the profile" % (what, statistics.median(ratios)), flush=True)


def clang_remarks(said):
    return set(re.findall(r"'mix' inlined into '(\w+)'", said))


def cold_block_moved(program):
    """Nonzero when main reaches the call of rare() by a jump only: nothing that runs falls into its block."""
    listing = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=main", program).stdout
    jumps = re.findall(r"\b(j\w+|ret|call)\b *(.*)", listing)
    call = next((i for i, (name, where) in enumerate(jumps) if name == "call" and "<rare" in where), 0)
    return call > 0 and jumps[call - 1][0] in ("jmp", "ret")


def with_clang(loop):
    flags = ("-fdebug-info-for-profiling", "-Rpass=inline")
    before, said = loop.compile(CLANG, "before.clang", *flags)
    check("main" not in clang_remarks(said), "inlined without a profile, so nothing can be seen: " + said)
    loop.same_result(before)
    for what, data in loop.recordings(before):
        for target in ("llvm-text", "llvm-binary", "llvm-extbinary"):
            profile = loop.path("%s.%s" % (what, target))
            status, told = convert("-t", target, "--binary", before, "-o", profile, data)
            if not check(status == 0, "%s to %s: %s" % (what, target, told)):
                continue
            check(("no branch records" in told) == (what == "cpu-clock"), "the warning: " + told)
            after, said = loop.compile(CLANG, "after.clang", *flags, "-fprofile-sample-use=" + profile)
            check("warning" not in said and "error" not in said, said[:500])
            check(clang_remarks(said) == {"main"},
                  "%s, %s: not the hot call alone is inlined: %s" % (what, target, said))
            if shutil.which("objdump"):
                check(not cold_block_moved(before), "the cold block stands aside without a profile, so nothing can be seen")
                check(cold_block_moved(after), "%s, %s: the cold block was not moved out of the way" % (what, target))
            loop.same_result(after)
        loop.ratio("clang, " + what, before, after)


def with_gcc(loop, gcc, version):
    before, _ = loop.compile(gcc, "before." + gcc)
    for what, data in loop.recordings(before):
        profile = loop.path("%s.%s.afdo" % (what, gcc))
        status, told = convert("-t", "gcc-afdo", "-s", "gcc-afdo.gcc=" + gcc.split("-")[1], "--binary", before, "-o",
                               profile, data)
        if not check(status == 0, "%s to gcc-afdo: %s" % (what, told)):
            continue
        with open(profile, "rb") as file:
            check(file.read(8) == b"adcg" + bytes([version, 0, 0, 0]), "the version that %s takes" % gcc)
        dump = loop.path("dump")
        after, said = loop.compile(gcc, "after." + gcc, "-fauto-profile=" + profile,
                                   "-fdump-tree-optimized-blocks-details=" + dump)
        check("warning" not in said and "error" not in said, said[:500])
        with open(dump) as file:
            text = file.read()
        counts = [int(n) for n in re.findall(r"count:(\d+) \(auto FDO\)", text)]
        check(counts and max(counts) > 10, "%s, %s: no counts of the profile in the dump" % (gcc, what))
        loop.same_result(after)
        loop.ratio("%s, %s" % (gcc, what), before, after)


def main():
    if not CLANG and not GCCS:
        skip("neither clang-19 nor gcc-12 is installed")
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(folder)
        if CLANG:
            with_clang(loop)
        for gcc, version in GCCS:
            with_gcc(loop, gcc, version)
    finish()


if __name__ == "__main__":
    main()
