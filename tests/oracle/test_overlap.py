#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Against exact counts: by default ours is at least as near as the better of create_llvm_prof and llvm-profgen.

The recordings of the corpus were made by single steps, so that how often each instruction ran is known. Weighted
overlap of normalized counts over source positions, by the corpus's overlap.py: 1 is perfect.
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from pgo_support import CORPUS, SHARED, check, convert, finish, run, skip  # noqa: E402

LBR, TOOL = os.path.join(CORPUS, "lbr"), os.path.join(SHARED, "tools", "overlap.py")
if not os.path.isdir(LBR):
    skip("the corpus is not there (PROFCONV_CORPUS)")
if not os.path.exists(TOOL):
    skip("overlap.py is not there")
if not shutil.which("llvm-symbolizer-19"):
    skip("llvm-symbolizer-19 is not installed")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("shapes.clang", "shapes.gcc", "sorting.gcc"):
            ours = os.path.join(scratch, "ours.txt")
            binary, data = os.path.join(LBR, name), os.path.join(LBR, name + ".lbr.data")
            status, said = convert("-q", "-t", "llvm-text", "--binary", binary, "-o", ours, data)
            check(status == 0, said)
            peers = [os.path.join(LBR, "expected", name + end) for end in (".create_llvm_prof.txt",
                                                                           ".llvm-profgen.txt")]
            done = run(sys.executable, TOOL, binary, os.path.join(LBR, name + ".exact"), ours, *peers)
            check(done.returncode == 0, "overlap.py: " + done.stderr)
            found = dict(re.findall(r"^(\S+): ([0-9.]+)", done.stdout, re.M))
            values = [float(found[os.path.basename(path)]) for path in [ours] + peers]
            print("%s: ours %.4f, create_llvm_prof %.4f, llvm-profgen %.4f" % (name, *values))
            check(values[0] >= max(values[1:]) and values[0] > 0.98, name + ": ours is not the nearest")
    finish()


if __name__ == "__main__":
    main()
