#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mypy finds nothing to object to in the Python package, knows the names that are imported late, and takes a script that
uses them as their annotations say; it objects to one that does not."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

RIGHT = """\
import profconv

with profconv.read("perf.data", max_memory=1 << 30) as profile:
    values: memoryview = profile.values("cpu")
    frame: profconv.Frame = profile.frames(1)[0]
    names: list[str] = profile.strings
with profconv.Builder() as builder:
    stack: int = builder.stack(0, builder.location(0x1000))
data: bytes = profile.to_bytes("pprof", level=6)
result: profconv.CheckResult = profconv.check(profile, "go-pgo")
"""
WRONG = """\
import profconv

total: str = profconv.read("perf.data").total()  # wrong
profconv.register_raeder("table", print)  # wrong
"""


def main():
    interpreter = pybinding.interpreter_with("mypy")
    if interpreter is None:
        pybinding.skip("no python3 here has the module mypy")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("right.py", RIGHT), ("wrong.py", WRONG)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        package = os.path.join(pybinding.PACKAGE, "profconv")
        done = subprocess.run([interpreter, "-m", "mypy", "--cache-dir", os.path.join(folder, "cache"), package,
                               "right.py", "wrong.py"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, MYPYPATH=pybinding.PACKAGE), cwd=folder)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    wanted = [f"wrong.py:{number}" for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")]
    if [line.split(": error:")[0] for line in errors] != wanted:
        print(f"errors in {', '.join(wanted)} are expected\n{done.stdout}")
        return 1
    print(done.stdout.splitlines()[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
