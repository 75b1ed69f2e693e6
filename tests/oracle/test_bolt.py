#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bolt-fdata against BOLT: rows are those of perf2bolt on the same recordings, but for what it gets from decoded
instructions; llvm-bolt takes ours for programs linked with relocations, and what it makes of them runs as before.

perf2bolt adds rows for fall-throughs inside functions and leaves returns out. Each row that differs must be one of
these, as objdump shows the instruction; names are the same, those of PLT stubs and of local symbols that share a name
with data too.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
SHARED = os.path.join(SOURCE, "..", "shared")
LBR = os.path.join(os.environ.get("PROFCONV_CORPUS", os.path.join(SHARED, "corpus")), "lbr")
BOLT = "/usr/lib/llvm-19/bin"
UNKNOWN = ("0", "[unknown]", 0)
PROGRAM = r"""
#include <stdio.h>
int others(int x);
static int seven(int x) { return x % 7; }
__attribute__((noinline)) static int odd(int x) { return x & 1 ? x * 3 + 1 : seven(x); }
__attribute__((noinline)) static int even(int x) { return x & 1 ? others(x) : x / 2; }
__attribute__((noinline)) int work(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (odd(i) > 5)
            sum += i;
        else
            sum ^= even(i);
    }
    return sum;
}
int main(int argc, char **argv) {
    (void)argv;
    printf("%d\n", work(argc > 1 ? 100000000 : 4000));
    return 0;
}
"""
OTHER = r"""
__attribute__((section(".low"), used)) static volatile int odd = 3; /* below the code */
static volatile int even = 5;
int others(int x) { return x * odd + even; }
"""


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def run(*command, ok=True):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode("utf-8", "replace")
    if ok and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{text[-2000:]}")
    return text


def rows(path):
    """{(from, to): (mispredicted, count)}, an end being (kind, name, offset)."""
    table = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            f = line.split()
            assert len(f) == 8, line
            key = ((f[0], f[1], int(f[2], 16)), (f[3], f[4], int(f[5], 16)))
            assert key not in table, line
            table[key] = (int(f[6]), int(f[7]))
    return table


class Code:
    """Instructions of a binary, and the addresses of its functions as BOLT names them."""

    def __init__(self, binary):
        self.next, self.mnemonic, self.functions = {}, {}, {}
        last = None
        for line in run("objdump", "-d", "--no-show-raw-insn", binary).split("\n"):
            m = re.match(r"\s+([0-9a-f]+):\s+(.*)", line)
            if m:
                address = int(m.group(1), 16)
                if last is not None:
                    self.next[last] = address
                self.mnemonic[address] = m.group(2)
                last = address
        local = {}
        for line in sorted(run("nm", binary).split("\n")):
            f = line.split()
            if len(f) == 3:
                name = f[2]
                if f[1].islower() and f[1] not in "wv":
                    local[name] = local.get(name, 0) + 1
                    name += f"/{local[name]}"
                self.functions[name] = int(f[0], 16)
        stubs = ("-j", ".plt", "-j", ".plt.got", "-j", ".plt.sec")
        for line in run("objdump", "-d", *stubs, binary, ok=False).split("\n"):
            m = re.match(r"([0-9a-f]+) <(.*)@plt>:", line)
            if m:
                self.functions[m.group(2) + "@PLT"] = int(m.group(1), 16)
        for line in run("readelf", "-SW", binary).split("\n"):
            m = re.match(r"\s*\[ *\d+\] (\.plt\S*) +PROGBITS +([0-9a-f]+)", line)
            if m:
                self.functions["__BOLT_PSEUDO_" + m.group(1)] = int(m.group(2), 16)

    def at(self, end):
        return self.functions[end[1]] + end[2]


def compare(ours, theirs, code):
    """Number of rows that are equal; every other one is explained."""
    equal = 0
    for key, value in ours.items():
        if theirs.get(key) == value:
            equal += 1
        else:
            assert key not in theirs and "ret" in code.mnemonic[code.at(key[0])], (key, value, theirs.get(key))
    for (start, to), value in theirs.items():
        if (start, to) not in ours:
            fall = start[1] == to[1] and value[0] == 0 and code.next[code.at(start)] <= code.at(to)
            assert fall, (start, to, value)
    return equal


def perf2bolt(binary, recording, out):
    """Its rows, or None where it does not work."""
    log = run(f"{BOLT}/perf2bolt", binary, "-p", recording, "-o", out, "--ignore-build-id", ok=False)
    if os.path.exists(out):
        return rows(out)
    print("perf2bolt does not work here:", log.strip().split("\n")[-1])
    return None


def aggregated(binary, recordings, folder):
    """What perf2bolt makes of our branches and ranges."""
    pa, out = os.path.join(folder, "x.pa"), os.path.join(folder, "x.pa.fdata")
    run(PROFCONV, "convert", *recordings, "-t", "bolt-fdata", "-o", pa, "--set", f"symbolize.binary={binary}", "--set",
        f"bolt-fdata.binary={os.path.basename(binary)}", "--set", "bolt-fdata.aggregated=yes")
    run(f"{BOLT}/perf2bolt", "-pa", "-p", pa, "-o", out, binary)
    return rows(out)


def nearly(made, wanted):
    """Equal, but for a few counts of what falls through a call to where jumps lead too."""
    assert set(made) == set(wanted), set(made) ^ set(wanted)
    other = [key for key in wanted if made[key] != wanted[key]]
    assert len(other) <= 0.01 * len(wanted), other
    for (start, to) in other:
        a, b = made[start, to], wanted[start, to]
        assert start[1] == to[1] and a[0] == b[0] == 0 and 0 < to[2] - start[2] <= 7, (start, to, a, b)
        assert abs(a[1] - b[1]) <= 0.02 * b[1] + 1, (start, to, a, b)


def corpus(folder):
    compared = 0
    for name in ("sorting.gcc", "shapes.gcc", "shapes.clang"):
        binary, recording = os.path.join(LBR, name), os.path.join(LBR, name + ".lbr.data")
        if not os.path.exists(recording):
            continue
        ours, theirs = os.path.join(folder, name + ".fdata"), os.path.join(folder, name + ".perf2bolt")
        run(PROFCONV, "convert", recording, "-o", ours, "--set", f"symbolize.binary={binary}", "--set",
            f"bolt-fdata.binary={name}")
        a, b = rows(ours), perf2bolt(binary, recording, theirs)
        if b is None:
            continue
        equal = compare(a, b, Code(binary))
        print(f"{name}: {len(a)} rows, {len(b)} of perf2bolt, {equal} equal")
        assert equal >= 20, equal
        nearly(aggregated(binary, [recording], folder), b)
        compared += 1
        # By way of pprof, and read again: the same bytes.
        pprof, again = os.path.join(folder, "x.pb.gz"), os.path.join(folder, "again.fdata")
        run(PROFCONV, "convert", recording, "-o", pprof, "--set", "convert.symbolize=no")
        run(PROFCONV, "convert", pprof, "-o", again, "--set", f"symbolize.binary={binary}", "--set",
            f"bolt-fdata.binary={name}")
        assert open(ours, "rb").read() == open(again, "rb").read(), "by way of pprof"
        run(PROFCONV, "convert", ours, "-o", again)
        assert open(ours, "rb").read() == open(again, "rb").read(), "read and written"
        merged = os.path.join(folder, "merged.fdata")
        with open(merged, "w", encoding="utf-8") as file:
            subprocess.run([f"{BOLT}/merge-fdata", ours, ours], stdout=file, stderr=subprocess.DEVNULL, check=True)
        doubled = {key: (2 * m, 2 * n) for key, (m, n) in a.items()}
        assert rows(merged) == doubled, "merge-fdata"
        run(PROFCONV, "merge", ours, ours, "-o", again)
        assert rows(again) == doubled, "merge"
    return compared


def llvm_bolt(binary, fdata, better, functions):
    """Makes a better program of one; at least so many functions have a profile, none an invalid one."""
    log = run(f"{BOLT}/llvm-bolt", binary, "-o", better, f"-data={fdata}", "-reorder-blocks=ext-tsp",
              "-reorder-functions=hfsort", "-infer-fall-throughs", "-dyno-stats")
    found = re.search(r"(\d+) out of (\d+) functions in the binary \([0-9.]+%\) have non-empty execution profile", log)
    assert found and int(found.group(1)) >= functions, log
    assert "invalid (possibly stale) profile" not in log, log
    print("llvm-bolt:", found.group(0))


def two_loads(folder):
    """Two recordings of a position-independent program whose code shares a page of the file with what is no code:
    perf2bolt takes another segment's address for that of the code, and counts nothing."""
    base = os.path.join(SOURCE, "tests", "data", "two_loads")
    binary = os.path.join(base, "twoloads")
    fdata, better = os.path.join(folder, "two.fdata"), os.path.join(folder, "two")
    run(PROFCONV, "convert", os.path.join(base, "first.data"), os.path.join(base, "second.data"), "-o", fdata, "--set",
        f"symbolize.binary={binary}", "--set", "bolt-fdata.binary=twoloads")
    assert len(rows(fdata)) > 30
    pa = aggregated(binary, [os.path.join(base, "first.data"), os.path.join(base, "second.data")], folder)
    print(f"twoloads: {compare(rows(fdata), pa, Code(binary))} rows equal of {len(pa)} by way of perf2bolt -pa")
    llvm_bolt(binary, fdata, better, 6)
    assert run(better, "2") == run(binary, "2")
    return 1


def optimize(folder):
    """A program of our own through llvm-bolt. Its functions share names with data below and above them."""
    tool, compiler = os.path.join(SHARED, "tools", "lbr_record.c"), shutil.which("gcc")
    recorder, source, other, binary, recording = (
        os.path.join(folder, name) for name in ("lbr_record", "p.c", "other.c", "p", "p.data"))
    if not compiler:
        print("skipped in part: no gcc")
        return 0
    for path, text in (source, PROGRAM), (other, OTHER):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    low = "-Wl,-q,--build-id,--section-start=.low=0x300000"
    run(compiler, "-O1", "-g", "-no-pie", low, source, other, "-o", binary)
    if not os.path.exists(tool):
        print("skipped in part: no recorder")
        return 0
    if subprocess.run([compiler, "-O2", tool, "-o", recorder, "-lcapstone", "-lelf"],
                      stderr=subprocess.DEVNULL).returncode:
        print("skipped in part: the recorder does not build (libcapstone-dev, libelf-dev)")
        return 0
    run(recorder, "-c", "101", "-o", recording, "--", binary)
    fdata, better = os.path.join(folder, "p.fdata"), os.path.join(folder, "p.bolt")
    run(PROFCONV, "convert", recording, "-o", fdata, "--set", "bolt-fdata.binary=p")
    named = {end[1] for key in rows(fdata) for end in key}
    assert {"work", "odd/2", "even/1"} <= named, named
    theirs = perf2bolt(binary, recording, os.path.join(folder, "p.perf2bolt")) if shutil.which("perf") else None
    if theirs:
        print(f"p: {compare(rows(fdata), theirs, Code(binary))} rows equal of perf2bolt's {len(theirs)}")
    llvm_bolt(binary, fdata, better, 3)
    assert run(better) == run(binary)
    return 1


def samples(folder):
    """Without branch records: perf2bolt -nl, on a recording without call chains, which it cannot parse."""
    base = os.path.join(SOURCE, "tests", "data", "quickstart")
    ours, again = os.path.join(folder, "nl.fdata"), os.path.join(folder, "nl.again.fdata")
    run(PROFCONV, "convert", os.path.join(base, "wordcount.data"), "-o", ours, "--set",
        f"symbolize.binary={os.path.join(base, 'wordcount')}", "--set", "bolt-fdata.binary=wordcount")
    with open(ours, encoding="utf-8") as file:
        assert file.readline().startswith("no_lbr "), ours
    run(PROFCONV, "convert", ours, "-o", again)
    assert open(ours, "rb").read() == open(again, "rb").read()
    binary, recording, theirs = (os.path.join(folder, name) for name in ("p", "nl.data", "nl.perf2bolt"))
    if not os.path.exists(binary) or subprocess.run(
            ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-o", recording, binary, "long"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        print("skipped in part: perf cannot record here")
        return
    run(PROFCONV, "convert", recording, "-o", ours, "--set", "bolt-fdata.binary=p")
    run(f"{BOLT}/perf2bolt", "-nl", binary, "-p", recording, "-o", theirs)
    mine, wanted = (open(path, encoding="utf-8").read().split("\n")[1:] for path in (ours, theirs))
    assert len(wanted) > 4 and sorted(mine) == sorted(wanted), (mine, wanted)
    print(f"no_lbr: {len(wanted) - 1} rows equal")


def main():
    if not PROFCONV:
        skip("PROFCONV is not set")
    if not os.path.exists(f"{BOLT}/llvm-bolt"):
        skip("bolt-19 is not installed")
    with tempfile.TemporaryDirectory(prefix="profconv-bolt-") as folder:
        done = corpus(folder) if os.path.isdir(LBR) and shutil.which("perf") else 0
        done += two_loads(folder)
        done += optimize(folder)
        samples(folder)
    if not done:
        skip("neither the corpus nor the recorder is there")


main()
