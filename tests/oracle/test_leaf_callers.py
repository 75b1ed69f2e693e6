#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Direct callers of functions without a frame, restored from branch records, against what really called them.

A program is run by single steps (step_record.c), which gives recordings that no processor of a virtual machine offers: call
chains along the frame pointer and last-branch records of the same moment, and beside them the calls that are open. From these a
perf.data is composed, once with the kinds of branches in the records (perf record -j any,save_type) and once without, so that the
code must tell. The chains alone show a wrong caller for the leaves that keep no frame; with the records every caller must be the true
one wherever they reach back to it, and none may be invented.
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import mkperf

PROFCONV = os.environ.get("PROFCONV")
STEPS, EVERY, DEPTH = 30000, 5, 32

PROGRAM_C = r"""
#include <stdlib.h>
volatile unsigned long sink;
__attribute__((noinline, optimize("omit-frame-pointer"))) unsigned long leaf(unsigned long x) {
    for (int i = 0; i < 3; i++)
        x = x * 31 + (x >> 7);
    return x;
}
__attribute__((noinline, optimize("omit-frame-pointer"))) unsigned long frameless(unsigned long x) { return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) unsigned long framed(unsigned long x) {
    switch (x % 7) {
    case 0: x += 5; break;
    case 1: x *= 3; break;
    case 2: x ^= 77; break;
    case 3: x -= 9; break;
    case 4: x |= 64; break;
    default: x = ~x;
    }
    return x + 1;
}
static int order(const void *a, const void *b) {
    unsigned long x = leaf(*(const unsigned long *)a), y = leaf(*(const unsigned long *)b);
    return x < y ? -1 : x > y;
}
__attribute__((noinline)) unsigned long inner(unsigned long x) { return leaf(x) ^ frameless(x) ^ framed(x); }
__attribute__((noinline)) unsigned long outer(unsigned long x) {
    unsigned long v[16];
    for (int i = 0; i < 16; i++)
        v[i] = inner(x + (unsigned long)i);
    qsort(v, 16, sizeof *v, order);
    return v[3];
}
__attribute__((noinline)) void work(void) {
    for (int i = 0; i < 1000; i++)
        sink += outer((unsigned long)i);
}
int main(void) {
    work();
    return 0;
}
"""

PROGRAM_GO = r"""
package main

import "runtime"

type op interface{ apply(uint64) uint64 }
type mix struct{ k uint64 }

//go:noinline
func (m *mix) apply(x uint64) uint64 { return x*m.k ^ x>>3 }

//go:noinline
func leaf(x uint64) uint64 {
	for i := 0; i < 3; i++ {
		x = x*31 + x>>7
	}
	return x
}

//go:noinline
func inner(o op, x uint64) uint64 { return o.apply(leaf(x)) + leaf(x+1) }

//go:noinline
func outer(o op, x uint64) uint64 {
	s := uint64(0)
	for i := uint64(0); i < 16; i++ {
		s += inner(o, x+i) + o.apply(x)
	}
	return s
}

var sink uint64

//go:noinline
func work(o op) {
	for i := uint64(0); i < 100000; i++ {
		sink += outer(o, i)
	}
}

func init() { runtime.LockOSThread() }

func main() { work(&mix{3}) }
"""

JUMP, INDIRECT, CALL, RETURN = 1, 3, 4, 6


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def symbols(program):
    rows = []
    for line in subprocess.run(["nm", "-S", program], stdout=subprocess.PIPE, check=True).stdout.decode().split("\n"):
        parts = line.split(" ", 3)
        if len(parts) == 4 and parts[2] in ("t", "T", "W"):
            rows.append((int(parts[0], 16), int(parts[1], 16), parts[3]))
    return sorted(rows)


def segments(program):
    """(vaddr, size, offset) of the executable ones."""
    with open(program, "rb") as file:
        data = file.read()
    at, size, count = int.from_bytes(data[32:40], "little"), int.from_bytes(data[54:56], "little"), int.from_bytes(data[56:58], "little")
    for i in range(count):
        p = data[at + i * size:at + (i + 1) * size]
        if int.from_bytes(p[0:4], "little") == 1 and p[4] & 1:
            offset, vaddr, _, length = (int.from_bytes(p[k:k + 8], "little") for k in (8, 16, 24, 32))
            page = vaddr & 4095
            yield vaddr - page, (length + page + 4095) & ~4095, offset - page


class Names:
    def __init__(self, program):
        self.rows = symbols(program)

    def at(self, address):
        low, high = 0, len(self.rows)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.rows[middle][0] <= address else (low, middle)
        return self.rows[low - 1][2] if low and address - self.rows[low - 1][0] < self.rows[low - 1][1] else None


def branch_type(code, base, address):
    """What the processor's type of a branch would be; 0 outside of the program."""
    b = code[address - base:address - base + 8] if base <= address < base + len(code) else b""
    while b and (b[0] in (0xf2, 0xf3, 0x3e) or b[0] & 0xf0 == 0x40):
        b = b[1:]
    if not b:
        return 0
    if b[0] == 0xe8 or b[0] == 0xff and b[1] >> 3 & 7 == 2:
        return CALL
    if b[0] in (0xc3, 0xc2):
        return RETURN
    return INDIRECT if b[0] == 0xff else JUMP


def compose(program, samples, path, typed):
    """A perf.data with the samples' chains and branches."""
    p = mkperf.Perf(mkperf.IP | mkperf.TID | mkperf.TIME | mkperf.PERIOD | mkperf.IDENTIFIER | mkperf.CHAIN | mkperf.BRANCH)
    p.event("cycles:u", type=0, branch=1 | 8)
    p.comm(100, 100, "program")
    with open(program, "rb") as file:
        data = file.read()
    start, size, offset = next(iter(segments(program)))
    for vaddr, length, at in segments(program):
        p.mmap2(100, vaddr, length, at, program)
    code = data[offset:offset + size]
    for i, (ip, chain, branches, _) in enumerate(samples):
        entries = [(f, t, branch_type(code, start, f) << 20 if typed else 0) for f, t in branches]
        p.sample(100, 100, 1000 + i, ip, [mkperf.USER, ip] + chain, period=1, branches=entries)
    p.describe()
    with open(path, "wb") as file:
        file.write(p.file())


def pairs(path, *settings):
    """(caller, leaf) with their counts."""
    done = subprocess.run([PROFCONV, "convert", "-q", "--demangle=none", "-s", "collapsed.tidy=none", "-s", "symbolize.inline=no"] +
                          [x for s in settings for x in ("-s", s)] + ["-t", "collapsed", "-o", "-", path],
                          stdout=subprocess.PIPE, check=True)
    out = collections.Counter()
    for line in done.stdout.decode(errors="replace").split("\n"):
        if line:
            stack, count = line.rsplit(" ", 1)
            frames = stack.split(";")[1:]
            out[(frames[-2] if len(frames) > 1 else None, frames[-1])] += int(count)
    return out


def note(path, cause):
    text = subprocess.run([PROFCONV, "info", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in text.split("\n"):
        if cause in line:
            return int(line.split()[1].replace(",", ""))
    return 0


def record(root, name, program, start):
    stepper = os.path.join(root, "step_record")
    done = subprocess.run([stepper, "%x" % start, str(STEPS), str(EVERY), str(DEPTH), program], stdout=subprocess.PIPE,
                          env={"GOMAXPROCS": "1", "GODEBUG": "asyncpreemptoff=1", "GOGC": "off", "PATH": os.environ["PATH"]})
    samples = []
    for line in done.stdout.decode().split("\n"):
        parts = line.split("|")
        if len(parts) == 4:
            branches = [tuple(int(x, 16) for x in b.split(">")) for b in parts[2].split()]
            samples.append((int(parts[0], 16), [int(x, 16) for x in parts[1].split()], branches, [int(x, 16) for x in parts[3].split()]))
    if not samples:
        print("%s: cannot be stepped here (%d)" % (name, done.returncode))
    return samples


def check(root, name, program, start_symbol, leaves):
    names = Names(program)
    start = next(address for address, _, symbol in names.rows if symbol == start_symbol)
    # What is sampled in other files, or before any call was seen, has no truth here; nor has what Go's scheduler does, which jumps
    # between stacks.
    samples = [s for s in record(root, name, program, start)
               if names.at(s[0]) and s[3] and names.at(s[3][0]) and (name != "Go" or names.at(s[0]).startswith("main."))]
    if not samples:
        return None
    truth = collections.Counter((names.at(calls[0]), names.at(ip)) for ip, _, _, calls in samples)
    failed = []
    for typed in (True, False):
        path = os.path.join(root, "%s.%d.data" % (name, typed))
        compose(program, samples, path, typed)
        before, after = pairs(path, "perf-data.branch-callers=no"), pairs(path)
        wrong_before = sum((before - truth).values())
        wrong = after - truth
        print("%s, branch types %s: of %d samples %d with a wrong caller without branch records, %d with them; %d restored, %d unknown" %
              (name, "recorded" if typed else "from the code", len(samples), wrong_before, sum(wrong.values()),
               note(path, "which frame pointers had skipped"), note(path, "branch records do not show")))
        if wrong_before < len(samples) // 20:
            failed.append("the program does not show what is tested")
        if sum(wrong.values()) > wrong_before // 50:
            failed.append("wrong callers: %s instead of %s" % (wrong.most_common(5), (truth - after).most_common(5)))
        invented = [pair for pair in after if pair not in truth and pair not in before]
        if invented:
            failed.append("callers that no chain has and that are not true: %s" % invented[:5])
        for pair in leaves:
            if not truth.get(pair) or after.get(pair, 0) < 0.98 * truth[pair] or before.get(pair, 0) > 0.5 * truth[pair]:
                failed.append("%s: %d, truly %d, without branch records %d" % (pair, after.get(pair, 0), truth.get(pair, 0), before.get(pair, 0)))
    print("\n".join(failed) or "%s: every caller is a true one" % name)
    return not failed


def main():
    if not PROFCONV:
        skip("no command (PROFCONV)")
    if os.uname().machine != "x86_64":
        skip("steps x86-64 programs only")
    compiler = shutil.which(os.environ.get("PROFCONV_CC", "cc")) or shutil.which("cc")
    if not compiler or not shutil.which("nm"):
        skip("no compiler, or no nm")
    results = []
    with tempfile.TemporaryDirectory() as root:
        subprocess.run([compiler, "-O1", "-D_GNU_SOURCE", "-o", os.path.join(root, "step_record"), os.path.join(HERE, "step_record.c")],
                       check=True)
        source, program = os.path.join(root, "program.c"), os.path.join(root, "program")
        with open(source, "w") as out:
            out.write(PROGRAM_C)
        if subprocess.run([compiler, "-O2", "-g", "-fno-omit-frame-pointer", "-no-pie", "-o", program, source], stderr=subprocess.PIPE).returncode == 0:
            results.append(check(root, "C", program, "work", [("inner", "leaf"), ("frameless", "leaf")]))
        if shutil.which("go"):
            source, program = os.path.join(root, "program.go"), os.path.join(root, "goprogram")
            with open(source, "w") as out:
                out.write(PROGRAM_GO)
            if subprocess.run(["go", "build", "-o", program, source], stderr=subprocess.PIPE,
                              env=dict(os.environ, GOCACHE=os.path.join(root, "cache"), GO111MODULE="off")).returncode == 0:
                results.append(check(root, "Go", program, "main.work", [("main.inner", "main.leaf"), ("main.inner", "main.(*mix).apply")]))
    if not [r for r in results if r is not None]:
        skip("no program could be stepped")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
