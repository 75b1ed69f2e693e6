#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks unwound from dumps (perf record --call-graph dwarf) agree with perf's own unwinding, frame by frame.

On recordings of the corpus, their programs through --symfs, and on recordings made here, with dumps of 65528 bytes, the most that
perf can ask for: C programs without frame pointers, one of them deep enough to fill such dumps, the same linked statically, a Go
program, and one whose signal handlers return through code that nothing describes. perf (with libunwind) finds only the leaf in static
and Go programs, so that all stacks are also held against the calls that the source can make. What may differ is counted and bounded:

 - a name that perf does not have ([unknown]) may be known here, and libc's functions have several (NAMES);
 - perf goes on for at most 127 frames;
 - perf does not unwind out of the vdso;
 - where a chain ends for want of unwind information, or before a value that is no code's address, the two sides guess
   differently how to go on. One percent of the samples may differ so (DIFFER), and every one that does is printed.

Inlined frames are compared with llvm-symbolizer: the addresses that perf prints, expanded by it, must give the stacks here.
"""
import collections
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("perf_script", os.path.join(HERE, "test_perf_script.py"))
oracle = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(oracle)
PROFCONV = oracle.PROFCONV
DIFFER = 0.01
RECORDINGS = ["nofp_dwarf8k.data", "fp_z22_dwarf.data", "user_regs.data"]

PROGRAM_C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long mix(unsigned long x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ul;
    return x ^ x >> 29;
}
static inline __attribute__((always_inline)) unsigned long twice(unsigned long x) { return mix(mix(x)); }
__attribute__((noinline)) unsigned long leaf(unsigned long x, int n) {
    for (int i = 0; i < n; i++)
        x = twice(x);
    return x;
}
/* A stack that is realigned, and of a size that only running it tells. */
__attribute__((noinline)) unsigned long realigned(unsigned long x) {
    char buffer[(x & 63) + 1] __attribute__((aligned(64)));
    double v[8] __attribute__((aligned(64)));
    memset(buffer, (int)x, sizeof buffer);
    v[x & 7] = (double)x;
    sink += (unsigned long)v[x & 7] + (unsigned char)buffer[0];
    return leaf(x, 2000) + 1;
}
__attribute__((noinline)) unsigned long deep(unsigned long x, int n) {
    unsigned long y[4] = {x, x + 1, x + 2, x + 3};
    if (n == 0)
        return realigned(x) + 1;
    sink += y[n & 3];
    return deep(mix(x), n - 1) + y[x & 3];
}
static int order(const void *a, const void *b) {
    unsigned long x = leaf(*(const unsigned long *)a, 8), y = leaf(*(const unsigned long *)b, 8);
    return x < y ? -1 : x > y;
}
/* Through the PLT and back into the program. */
__attribute__((noinline)) void sorting(void) {
    unsigned long v[256];
    for (unsigned long i = 0; i < 256; i++)
        v[i] = mix(i + sink);
    qsort(v, 256, sizeof *v, order);
    sink += v[7];
}
int main(void) {
    clock_t start = clock();
    do {
        for (int i = 0; i < 200; i++)
            sink += deep(sink + (unsigned long)i, i % 20);
        for (int i = 0; i < 10; i++)
            sorting();
    } while (clock() - start < CLOCKS_PER_SEC);
    return sink == 1;
}
"""

# Frames of 280 and 520 bytes, up to 110 of them: most of a dump of 64 KiB.
PROGRAM_DEEP = r"""
#include <string.h>
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long mix(unsigned long x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ul;
    return x ^ x >> 29;
}
static inline __attribute__((always_inline)) unsigned long twice(unsigned long x) { return mix(mix(x)); }
__attribute__((noinline)) unsigned long leaf(unsigned long x, int n) {
    for (int i = 0; i < n; i++)
        x = twice(x);
    return x;
}
__attribute__((noinline)) unsigned long odd(unsigned long x, int n);
__attribute__((noinline)) unsigned long even(unsigned long x, int n) {
    unsigned long y[120];
    if (n == 0)
        return leaf(x, 3000) + 1;
    memset(y, (int)x, sizeof y);
    sink += y[n % 120];
    return odd(twice(x), n - 1) + y[x % 120];
}
__attribute__((noinline)) unsigned long odd(unsigned long x, int n) {
    unsigned long y[30];
    if (n == 0)
        return leaf(x, 3000) + 2;
    memset(y, (int)x, sizeof y);
    sink += y[n % 30];
    return even(mix(x), n - 1) + y[x % 30];
}
int main(void) {
    clock_t start = clock();
    do
        for (int i = 0; i < 85; i += 3)
            sink += even(sink + (unsigned long)i, i);
    while (clock() - start < CLOCKS_PER_SEC);
    return sink == 1;
}
"""

# The code that handlers return to is our own, without unwind information: neither a table nor a mark for debuggers.
PROGRAM_SIGNAL = r"""
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) unsigned long leaf(unsigned long x, int n) {
    for (int i = 0; i < n; i++)
        x = x * 31 + (x >> 7);
    return x;
}
__attribute__((noinline)) void on_signal(int number) { sink += leaf((unsigned long)number, 300000) + 1; }
void back_from_signal(void);
__asm__(".text\n.globl back_from_signal\n.type back_from_signal, @function\nback_from_signal:\n"
        "\tmov $15, %rax\n\tsyscall\n.size back_from_signal, . - back_from_signal\n");
__attribute__((noinline)) void work(clock_t end) {
    while (clock() < end)
        sink += leaf(sink, 1000) + 1;
}
int main(void) {
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {on_signal, 0x04000000 | SA_RESTART, back_from_signal, 0};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    if (syscall(SYS_rt_sigaction, SIGALRM, &action, (void *)0, 8L) || setitimer(ITIMER_REAL, &every, 0))
        return 1;
    work(clock() + CLOCKS_PER_SEC);
    return 0;
}
"""

PROGRAM_GO = r"""
package main

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

//go:noinline
func leaf(x uint64, n int) uint64 {
	for i := 0; i < n; i++ {
		x ^= x >> 31
		x *= 0x9e3779b97f4a7c15
	}
	return x
}

//go:noinline
func deep(x uint64, n int) uint64 {
	if n == 0 {
		return leaf(x, 3000)
	}
	return deep(x+1, n-1) + 1
}

func work(end time.Time) (s uint64) {
	for time.Now().Before(end) {
		for i := 0; i < 20; i++ {
			s += deep(s, 8*i)
		}
		v := make([]int, 500)
		for i := range v {
			v[i] = int(leaf(uint64(i)+s, 3) % 1000)
		}
		sort.Slice(v, func(i, j int) bool { return leaf(uint64(v[i]), 4) < leaf(uint64(v[j]), 4) })
	}
	return
}

func main() {
	end := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { defer wg.Done(); fmt.Println(work(end)) }()
	fmt.Println(work(end))
	wg.Wait()
}
"""

# Names of one function in libc: versions, aliases inside of it, and what DWARF calls it.
NAMES = re.compile(r"^(?:__GI_)?_*(.*?)(?:@.*|_impl)?$")

# What calls what, root first, up to the first frame of the kernel or of a library that the program calls last.
CALLS_C = re.compile(r"^(?:start;libc_start_main;libc_start_call_main;)?main(?:;"
                     r"deep)*(?:;realigned(?:;memset[^;]*)?)?(?:;sorting(?:;qsort(?:_r)?(?:;msort_with_tmp[^;]*)*(?:;order)?)?)?"
                     r"(?:;(?!leaf|deep|main)[^;]*)*?(?:;leaf)?(?:;(?!leaf|deep|main)[^;]*)*$")
CALLS_DEEP = re.compile(r"^(?:start;libc_start_main;libc_start_call_main;)?main(?:;even(?:;odd;even)*(?:;odd)?)?(?:;leaf)?"
                        r"(?:;(?!leaf|even|odd|main)[^;]*)*$")
CALLS_SIGNAL = re.compile(r"^(?:start;libc_start_main;libc_start_call_main;)?main(?:;work)?(?:;leaf)?"
                          r"(?:;(?!leaf|work|main|on_signal|back)[^;]*)*(?:;back_from_signal(?:;on_signal(?:;leaf)?)?)?"
                          r"(?:;(?!leaf|work|main|on_signal|back)[^;]*)*$")
CALLS_GO = re.compile(r"^runtime\.goexit\.abi0;(?:runtime\.main;main\.main|main\.main\.func1);main\.work(?:;main\.deep)*"
                      r"(?:;sort\.Slice(?:;sort\.[A-Za-z_]+)*(?:;main\.work\.func1)?)?(?:;main\.leaf)?"
                      r"(?:;(?!main\.)[^;]*)*$|^runtime\.(?:(?!main\.|sort\.)[^;]*;)*(?!main\.|sort\.)[^;]*$")

FUNCTIONS = {"_start", "main", "deep", "realigned", "leaf", "twice", "mix", "order", "sorting", "even", "odd"}

failed = checked = 0


def plain(name):
    plain = NAMES.match(name).group(1) or name
    return "memmove" + plain[6:] if plain.startswith("memcpy") else plain  # one function, where memcpy may overlap


def problem(text):
    global failed
    failed += 1
    print(text)


def same(ours, theirs):
    """Frame by frame; perf stops after 127 frames, at the root's end, and in the vdso."""
    if (len(theirs) - 1 >= 127 or theirs[1:2] == (("[[vdso]]", False),)) and len(ours) > len(theirs):
        ours = (ours[0],) + ours[len(ours) - (len(theirs) - 1):]
    return oracle.matches(tuple(plain(n) for n in ours), tuple((plain(n), known) for n, known in theirs), ())


def compare(name, ours, theirs, allowed):
    """`allowed`: part of the weight that may differ."""
    global checked
    checked += 1
    left = collections.Counter(ours)
    missing = []
    for stack, weight in sorted(theirs.items(), key=lambda item: sum(not known for _, known in item[0])):
        for mine in [key for key in left if same(key, stack)]:
            taken = min(weight, left[mine])
            weight -= taken
            left[mine] -= taken
            if not left[mine]:
                del left[mine]
        if weight:
            missing.append((";".join(n for n, _ in stack), weight))
    total, lost = sum(theirs.values()), sum(weight for _, weight in missing)
    if total == 0 or sum(ours.values()) != total or lost > allowed * total:
        problem("%s: of %d perf has %d that are not here; here are %d" % (name, total, lost, sum(ours.values())))
    print("%s: %d distinct stacks, %.2f %% of the weight differ" % (name, len(theirs), 100.0 * lost / max(total, 1)))
    for text, weight in missing[:6]:
        print("  only perf: %s %d" % (text, weight))
    for stack, weight in list(left.items())[:6]:
        print("  only ours: %s %d" % (";".join(stack), weight))


def copy_system_files(perf, path, symfs):
    """Libraries of the recording that this machine has too, with the recorded build-id: both sides then have the same files."""
    listed = subprocess.run([perf, "buildid-list", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in listed.stdout.decode(errors="replace").split("\n"):
        build_id, _, file = line.partition(" ")
        if not file.startswith("/") or not os.path.isfile(file) or os.path.exists(symfs + file):
            continue
        with open(file, "rb") as opened:
            if bytes.fromhex(build_id) not in opened.read(4096):
                continue
        os.makedirs(os.path.dirname(symfs + file), exist_ok=True)
        shutil.copy(file, symfs + file)


def corpus_recordings(perf, root):
    if not os.path.isdir(oracle.GEN):
        print("no corpus at %s" % oracle.CORPUS)
        return
    symfs = os.path.join(root, "symfs")
    for folder in ("opt/recordings/workloads/bins", "tmp/research/perfdata/gen/bin"):
        shutil.copytree(os.path.join(oracle.GEN, "bin"), os.path.join(symfs, folder))
    for name in RECORDINGS:
        path = os.path.join(oracle.GEN, name)
        copy_system_files(perf, path, symfs)
        for event, theirs in oracle.perf_stacks(perf, path, symfs).items():
            ours, errors = oracle.our_stacks(path, event, symfs, root)
            if errors:
                print(errors)
            compare("%s %s" % (name, event), ours, theirs, 0.0)


def record(perf, root, name, program):
    path = os.path.join(root, name + ".data")
    done = subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,65528", "-o", path, program],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode or not os.path.exists(path):
        print("perf cannot record here: %s" % done.stderr.decode(errors="replace").strip())
        return None
    return path


def fresh_recording(perf, root, name, program, calls, leaves_only):
    """Nearly all stacks must be ones that the program can have, to their roots."""
    path = record(perf, root, name, program)
    if not path:
        return None
    for event, theirs in oracle.perf_stacks(perf, path, "/").items():
        ours, errors = oracle.our_stacks(path, event, "/", root)
        if errors:
            print(errors)
        if leaves_only:
            one, other = oracle.leaves(ours), oracle.leaves(theirs)
            compare("%s %s, leaves" % (name, event), one, {(process, leaf): w for (process, leaf), w in other.items()}, DIFFER)
        else:
            compare("%s %s" % (name, event), ours, theirs, DIFFER)
        wrong = [(stack, weight) for stack, weight in ours.items() if not calls.match(";".join(plain(n) for n in stack[1:]))]
        if sum(weight for _, weight in wrong) > 2 * DIFFER * sum(ours.values()):
            problem("%s: %d of %d are stacks that the program cannot have" % (name, sum(w for _, w in wrong), sum(ours.values())))
        for stack, weight in wrong[:8]:
            print("  not the program's calls: %s %d" % (";".join(stack), weight))
    return path


def symbolizer():
    for name in ["llvm-symbolizer"] + ["llvm-symbolizer-%d" % n for n in range(21, 13, -1)]:
        if shutil.which(name):
            return shutil.which(name)
    return None


def inline_frames(perf, path, program):
    """perf's addresses (file addresses, callers less one), expanded by llvm-symbolizer, against our stacks with inlining."""
    tool = symbolizer()
    if not tool:
        print("no llvm-symbolizer: inlined frames are not compared")
        return
    done = subprocess.run([perf, "script", "--no-inline", "-F", "comm,pid,tid,time,period,event,ip,sym,dso", "-i", path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, PERF_CONFIG="/dev/null", LC_ALL="C"))
    samples, addresses = [], set()
    for line in done.stdout.decode(errors="replace").split("\n"):
        header = oracle.HEADER.match(line) if line and not line.startswith("\t") else None
        if header:
            samples.append((int(header.group(4)), []))
            line = header.group(6) or ""
        frame = oracle.FRAME.match(line) if line.strip() and samples else None
        if frame:
            name, known = oracle.frame_name(frame.group(2))
            inside = oracle.split_dso(frame.group(2))[1] == program
            samples[-1][1].append((frame.group(1) if inside else None, name, known))
            if inside:
                addresses.add(frame.group(1))
    ordered = sorted(addresses)
    done = subprocess.run([tool, "--obj=" + program, "--no-demangle", "--output-style=JSON", "--functions=linkage", "--inlines"],
                          input="".join("0x%s\n" % a for a in ordered).encode(), stdout=subprocess.PIPE)
    lines = [line for line in done.stdout.decode(errors="replace").split("\n") if line]
    if len(lines) != len(ordered):
        problem("%s answers %d of %d addresses" % (tool, len(lines), len(ordered)))
        return
    expanded = {address: [symbol["FunctionName"] for symbol in json.loads(line).get("Symbol", [])]
                for address, line in zip(ordered, lines)}
    theirs = collections.Counter()
    for period, frames in samples:
        names = []
        for address, name, known in frames:
            names += [(n, True) for n in expanded[address]] if address else [(name, known)]
        theirs[tuple(frame for frame in names[::-1] if frame[0] in FUNCTIONS)] += period
    done = subprocess.run([PROFCONV, "convert", "-q", "--demangle=none", "-s", "collapsed.tidy=none", "-t", "collapsed", "-o", "-", path],
                          stdout=subprocess.PIPE)
    ours = collections.Counter()
    for line in done.stdout.decode(errors="replace").split("\n"):
        if line:
            stack, count = line.rsplit(" ", 1)
            ours[tuple(frame for frame in stack.split(";") if frame in FUNCTIONS)] += int(count)
    if not any("twice" in stack for stack in ours):
        problem("inlined calls of twice() are not in the stacks")
    compare("inlined frames of %s" % os.path.basename(program), ours, theirs, DIFFER)


def deep_enough(root, path):
    """The deepest stacks take more than half of a dump of the largest size, and none is cut."""
    (event,) = oracle.perf_stacks("perf", path, "/").keys()
    ours, _ = oracle.our_stacks(path, event, "/", root)
    depth = max(sum(frame in ("even", "odd") for frame in stack) for stack in ours)
    whole = sum(weight for stack, weight in ours.items() if "main" in stack)
    if depth < 70 or whole < (1 - DIFFER) * sum(ours.values()):
        problem("stacks of %d frames at most; %d of %d reach main" % (depth, whole, sum(ours.values())))
    print("deepest stack: %d frames, about %d bytes" % (depth, depth * (120 + 30) * 8 // 2))


def handlers(root, path):
    """What ran in a handler has what was interrupted as its caller."""
    (event,) = oracle.perf_stacks("perf", path, "/").keys()
    ours, _ = oracle.our_stacks(path, event, "/", root)
    inside = {stack: weight for stack, weight in ours.items() if "on_signal" in stack}
    whole = sum(weight for stack, weight in inside.items() if re.search("main;work;.*back_from_signal;on_signal", ";".join(stack)))
    if sum(inside.values()) < sum(ours.values()) // 5 or whole < (1 - 2 * DIFFER) * sum(inside.values()):
        problem("in handlers %d of %d; %d of them go on in what was interrupted" % (sum(inside.values()), sum(ours.values()), whole))
        print("\n".join("  %s %d" % (";".join(stack), weight) for stack, weight in list(inside.items())[:5]))


def main():
    perf = shutil.which("perf")
    if not PROFCONV:
        oracle.skip("no command (PROFCONV)")
    if not perf or b"perf version 6.1" not in subprocess.run([perf, "--version"], stdout=subprocess.PIPE).stdout:
        oracle.skip("perf 6.1 is not installed")
    compiler = shutil.which(os.environ.get("PROFCONV_CC", "cc")) or shutil.which("cc")
    with tempfile.TemporaryDirectory() as root:
        corpus_recordings(perf, root)
        for name, text, flags, calls, leaves_only in (("dynamic", PROGRAM_C, [], CALLS_C, False),
                                                      ("static", PROGRAM_C, ["-static"], CALLS_C, True),
                                                      ("depths", PROGRAM_DEEP, [], CALLS_DEEP, False),
                                                      ("depthstatic", PROGRAM_DEEP, ["-static"], CALLS_DEEP, True),
                                                      ("signal", PROGRAM_SIGNAL, [], CALLS_SIGNAL, True)):
            if name == "signal" and os.uname().machine != "x86_64":
                continue
            source, program = os.path.join(root, name + ".c"), os.path.join(root, name)
            with open(source, "w") as out:
                out.write(text)
            built = subprocess.run([compiler, "-O2", "-g", "-fomit-frame-pointer", "-o", program, source] + flags,
                                   stderr=subprocess.PIPE) if compiler else None
            if not built or built.returncode:
                print("no %s C program" % name)
                continue
            path = fresh_recording(perf, root, name, program, calls, leaves_only)
            if path and not leaves_only:
                inline_frames(perf, path, program)
            if path and name.startswith("depth"):
                deep_enough(root, path)
            if path and name == "signal":
                handlers(root, path)
        go = shutil.which("go")
        if go:
            with open(os.path.join(root, "program.go"), "w") as out:
                out.write(PROGRAM_GO)
            program = os.path.join(root, "goprogram")
            built = subprocess.run([go, "build", "-o", program, os.path.join(root, "program.go")], stderr=subprocess.PIPE,
                                   env=dict(os.environ, GOCACHE=os.path.join(root, "cache"), GOFLAGS="-mod=mod", GO111MODULE="off"))
            if built.returncode:
                print("go cannot build: %s" % built.stderr.decode(errors="replace")[:300])
            else:
                fresh_recording(perf, root, "goprogram", program, CALLS_GO, True)
    if not checked:
        oracle.skip("nothing could be recorded, and there is no corpus")
    print("%d comparisons, %d problems" % (checked, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
