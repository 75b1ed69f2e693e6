#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every Python block of bindings/python/README.md runs as printed, one after the other. (The one with a Dask client is
what test_distributed.py does, and the shell block what test_merge_tree.py does.)"""
import os
import re
import shutil
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

if pybinding.interpreter_with("numpy, pandas"):  # else their block is left out
    pybinding.run_under("numpy, pandas")
pybinding.start()
import profconv  # noqa: E402


def main():
    warnings.simplefilter("ignore")
    with open(os.path.join(pybinding.PACKAGE, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        recording = os.path.join(pybinding.SOURCE, "tests", "data", "quickstart")
        shutil.copy(os.path.join(recording, "wordcount.data"), "perf.data")
        shutil.copy(os.path.join(recording, "wordcount"), "wordcount")
        for number, name in enumerate(("profile", "a", "b", "before", "after", "c", "d")):
            pybinding.synthetic(number).write(name + ".pb.gz")
        with open("fleet.afdo", "wb") as file:
            file.write(profconv.read(b"main:184:0\n 4: 534\n 5: 500\n", format="llvm-text").to_bytes("gcc-afdo"))
        names, run = {"profile": profconv.read("a.pb.gz")}, 0
        for block in blocks:
            if "Client" in block:
                continue
            try:
                exec(compile(block, "README.md", "exec"), names)
                run += 1
            except ImportError as exc:
                if exc.name not in ("numpy", "pandas"):
                    raise
                print(f"left out: {exc}")
            if names["profile"]._handle is None:  # its with block is over
                names["profile"] = profconv.read("a.pb.gz")
        with open("top.tsv", encoding="utf-8") as file:
            rows = dict(line.rstrip("\n").split("\t") for line in file)
        want = {row.name: str(row.self) for row in profconv.read("profile.pb.gz").top().rows}
        os.chdir("/")
    print(f"{run} of {len(blocks)} blocks were run; the table has {len(rows)} rows")
    return 1 if run < 3 or rows != want or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
