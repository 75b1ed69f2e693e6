#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A compiler's profile as stacks: each counted position once, callers outermost, names for people."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from pgo_support import CORPUS, check, convert, finish, read  # noqa: E402

PLAIN = """\
_ZN3geo4areaEi:700:12
 0: 100
 2.1: 40 _ZN3geo4nameEv:40
 3: _ZN3geo5inner4calcEv:60
  1: 50
  2: deep.llvm.12:10
   4: 10
cold:5:0
 1: 0
_RNvCs1_5crate3run:9:1
 1: 9
"""
STACKS = {"geo::area(int)": 140, "geo::area(int);geo::inner::calc()": 50,
          "geo::area(int);geo::inner::calc();deep.llvm.12": 10,
          "crate::run": 9}
CONTEXT = """\
[main:3 @ _Z3fooi:2.1 @ bar]:120:3
 1: 20
 4: _Z6inlinev:100
  2: 100
[main]:7:0
 1: 7
"""


def collapsed(path):
    found = {}
    for line in read(path).decode().split("\n"):
        if line and not line.startswith("#"):
            stack, count = line.rsplit(" ", 1)
            check(stack not in found, "a stack twice: " + stack)
            found[stack] = int(count)
    return found


def stacks(folder, path, *more, by=None):
    """Straight to collapsed stacks, or by way of another format."""
    out = os.path.join(folder, "out.folded")
    if by:
        middle = os.path.join(folder, "middle")
        status, said = convert("-q", "-t", by, "-o", middle, *more, path)
        check(status == 0, "%s to %s: %s" % (path, by, said))
        path, more = middle, ()
    status, said = convert("-q", "-t", "collapsed", "-o", out, *more, path)
    return collapsed(out) if check(status == 0, "%s: %s" % (path, said)) else {}


def counts(path):
    """Sum of the counts of all positions of an LLVM text."""
    return sum(int(n) for n in re.findall(r"^ +[0-9.]+: (\d+)(?: |$)", read(path).decode(), re.M))


def main():
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w") as out:
                out.write(text)
            return path

        plain, context = write("plain.proftext", PLAIN), write("context.proftext", CONTEXT)
        check(stacks(folder, plain) == STACKS, "stacks: %s" % stacks(folder, plain))
        check(sum(STACKS.values()) == counts(plain), "the expected values' own sum")
        found = stacks(folder, plain, by="pprof")
        check(found == STACKS, "by way of pprof: %s" % found)
        for target in ("llvm-binary", "llvm-extbinary"):
            check(stacks(folder, plain, by=target) == STACKS, "by way of " + target)
        raw = stacks(folder, plain, "--demangle=none")
        check("_ZN3geo4areaEi;_ZN3geo5inner4calcEv" in raw and sum(raw.values()) == 209, "demangle=none: %s" % raw)
        simple = stacks(folder, plain, "-s", "expand.demangle=simple")
        check("geo::area;geo::inner::calc" in simple, "demangle=simple: %s" % simple)

        found = stacks(folder, context)
        check(found == {"main;foo(int);bar": 20, "main;foo(int);bar;inline()": 100, "main": 7},
              "contexts are callers: %s" % found)
        check(stacks(folder, context, by="pprof") == found, "contexts by way of pprof")

        status, said = convert("-t", "collapsed", "-o", os.path.join(folder, "none"),
                               write("zero.proftext", "f:0:0\n 1: 0\n"))
        check(status != 0 and "count above 0" in said, "only zeros: " + said)
        check(not os.path.exists(os.path.join(folder, "none")), "an output beside an error")

        for part in ("lbr/expected/shapes.clang.create_llvm_prof.txt", "autofdo/expected/test.llvm-profgen.txt"):
            path = os.path.join(CORPUS, part)
            if not os.path.exists(path):
                print("skipped in part: no corpus")
                continue
            for by in (None, "pprof"):
                check(sum(stacks(folder, path, by=by).values()) == counts(path),
                      "totals of %s by way of %s" % (part, by))
        path = os.path.join(CORPUS, "lbr", "expected", "shapes.gcc.create_gcov_v2.afdo")
        if os.path.exists(path):
            text = os.path.join(folder, "gcc.txt")
            check(convert("-q", "-t", "llvm-text", "-o", text, path)[0] == 0, "GCC to LLVM")
            check(sum(stacks(folder, path).values()) == counts(text) > 0, "totals of GCC's profile")
    finish()


if __name__ == "__main__":
    main()
