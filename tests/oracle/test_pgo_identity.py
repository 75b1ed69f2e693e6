#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From recordings to what AutoFDO's and LLVM's tools make of them.

 - LLVM text under compat=create_llvm_prof: the same bytes, in text, and through the other encodings.
 - Maps: the same bytes as sample_merger's.
 - GCC profiles under compat=create_gcov: the same functions, positions, counts, targets and inlined calls. The working
   set, which no GCC after 7 looks at, weighs positions by their bytes of code there, which a profile does not hold.
 - profgen-raw: llvm-profgen's, but for three rules of its disassembly. It takes addresses in .plt for foreign ones (so
   a branch from there is from outside, and a range there is none); it drops ranges with an unconditional branch
   inside; it drops ranges that do not begin or end at an instruction. Rows that differ are only ours, and lie in .plt.
"""
import os
import re
import shutil
import tempfile

import sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from pgo_support import CORPUS, Gcov, check, convert, finish, read, run, sections, skip  # noqa: E402

if not os.path.isdir(CORPUS):
    skip("the corpus is not there (PROFCONV_CORPUS)")
LBR, AUTOFDO = os.path.join(CORPUS, "lbr"), os.path.join(CORPUS, "autofdo")

# (name, recording, binary, folder of expected files, name there)
CASES = [(n, os.path.join(LBR, n + ".lbr.data"), os.path.join(LBR, n), os.path.join(LBR, "expected"), n)
         for n in ("shapes.clang", "shapes.gcc", "sorting.gcc")]
CASES += [("test", os.path.join(AUTOFDO, "test.lbr"), os.path.join(AUTOFDO, "test.binary"),
           os.path.join(AUTOFDO, "expected"), "test"),
          ("module", os.path.join(AUTOFDO, "test_kernel_module.textprof"),
           os.path.join(AUTOFDO, "test_kernel_module.ko"),
           os.path.join(AUTOFDO, "expected"), "test_kernel_module")]


def made(scratch, what, *arguments):
    out = os.path.join(scratch, "out")
    status, said = convert("-q", "-o", out, *arguments)
    check(status == 0, "%s: status %d: %s" % (what, status, said))
    return read(out) if status == 0 else b""


def llvm(scratch, name, data, binary, folder, expected):
    want = read(os.path.join(folder, expected + ".create_llvm_prof.txt"))
    for target in ("llvm-text", "llvm-binary", "llvm-extbinary"):
        out = os.path.join(scratch, "llvm")
        status, said = convert("-q", "-t", target, "-s", target + ".compat=create_llvm_prof", "--binary", binary, "-o",
                               out, data)
        check(status == 0, "%s to %s: %s" % (name, target, said))
        if target != "llvm-text" and status == 0:
            check(convert("-q", "-t", "llvm-text", "-o", out + ".txt", out)[0] == 0, "%s: %s back" % (name, target))
            out += ".txt"
        check(status == 0 and read(out) == want, "%s: %s as create_llvm_prof's" % (name, target))
    # The pass takes the same setting.
    got = made(scratch, name, "-t", "llvm-text", "-s", "attribute.compat=create_llvm_prof", "--binary", binary, data)
    check(got == want, "%s: the pass's own setting" % name)
    tool = shutil.which("llvm-profdata-19")
    if tool:
        done = run(tool, "show", "--sample", os.path.join(scratch, "llvm"))
        check(done.returncode == 0, "%s: llvm-profdata show: %s" % (name, done.stderr))


def maps(scratch, name, data, binary, path):
    got = made(scratch, name, "-t", "autofdo-text", "-s", "convert.symbolize=no",
               *(["--binary", binary] if binary else []), data)
    check(got == read(path), "%s: maps as sample_merger's" % name)


def gcov(scratch, name, data, binary, path):
    got = Gcov(made(scratch, name, "-t", "gcc-afdo", "-s", "gcc-afdo.compat=create_gcov", "--binary", binary, data))
    want = Gcov(read(path))
    check(got.version == 2 and got.names == want.names, "%s: names in the GCC profile" % name)
    check(got.functions == want.functions, "%s: functions in the GCC profile" % name)


def gcov_old(scratch):
    """From release 0.19 (its layout is that of version 1): measures ranges a byte shorter, which leaves one function
    at the bound of 10 counts, so that neither it nor its call is there."""
    got = Gcov(made(scratch, "test", "-t", "gcc-afdo", "-s", "gcc-afdo.version=1", "-s", "gcc-afdo.compat=create_gcov",
                    "--binary",
                    CASES[3][2], CASES[3][1])).functions
    want = Gcov(read(os.path.join(AUTOFDO, "expected", "test.create_gcov_v1.afdo"))).functions
    check("inflate" not in want and got.pop("inflate")[1][(18, 0)] == (1, {"inflate_block": 1}),
          "test: the function at the bound")
    head, body, calls = got.pop("inflate_block")
    check((head, want.pop("inflate_block")) == (1, (0, body, calls)), "test: its callee")
    check(got == want, "test: the other functions in the GCC profile")


def raw(scratch, name, data, binary, path, base, text_offset):
    got = made(scratch, name, "-t", "profgen-raw", "-s", "profgen-raw.base=%x" % base, "-s",
               "profgen-raw.text-offset=%x" % text_offset,
               "--binary", binary, data).decode().split("\n")
    want = read(path).decode().split("\n")
    plt = [(start - text_offset, start + size - text_offset) for n,
           (start, size) in sections(binary).items() if n.startswith(".plt")]
    ours, theirs = [line for line in got if line not in set(want)], [line for line in want if line not in set(got)]
    check(len(theirs) == 2 and all(line.isdigit() for line in theirs),
          "%s: rows that only llvm-profgen has: %s" % (name, theirs[:5]))
    only = 0
    for line in ours:
        match = re.fullmatch(r"([0-9a-f]+)(?:->|-)([0-9a-f]+):\d+", line)
        keys = [int(k, 16) for k in match.groups()] if match else []
        only += len(keys) > 0
        check(line.isdigit() or any(low <= key < high for low, high in plt for key in keys),
              "%s: not in .plt: %s" % (name, line))
    check(sum(int(n) for n in got if n.isdigit()) - sum(int(n) for n in want if n.isdigit()) == only,
          "%s: number of rows" % name)
    check([line for line in got if line not in ours] == [line for line in want if line not in theirs],
          "%s: order of rows" % name)
    print("%s: profgen-raw differs in %d rows, all in .plt" % (name, only))


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for case in CASES:
            llvm(scratch, *case)
        for name, data, binary, folder, expected in CASES[:4]:
            maps(scratch, name, data, binary, os.path.join(folder, expected + ".maps.txt"))
        real = os.path.join(CORPUS, "perfdata", "real")
        for name, binary in (("perf-kernel.data", None), ("perf-vmlinux.data", None),
                             ("propeller_sample_1.perfdata1", None),
                             ("ro_sample.perf", "libro_sample.so")):
            maps(scratch, name, os.path.join(real, name), binary and os.path.join(AUTOFDO, binary),
                 os.path.join(AUTOFDO, "expected", name.rsplit(".", 1)[0] + ".maps.txt"))
        for name, data, binary, folder, expected in CASES[1:3]:
            gcov(scratch, name, data, binary, os.path.join(folder, expected + ".create_gcov_v2.afdo"))
        gcov_old(scratch)
        for name, data, binary, folder, expected in CASES[:4]:
            raw(scratch, name, data, binary, os.path.join(folder, expected + ".llvm-profgen.raw.txt"),
                *((0x400000, 0) if name == "test" else (0x1000, 0x1000)))
    finish()


if __name__ == "__main__":
    main()
