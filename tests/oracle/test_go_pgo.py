#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A perf recording of a Go program, converted to pprof, is what Go's PGO reads: `go tool preprofile` accepts it and finds the
edges of the runtime's own CPU profile that frame-pointer stacks hold.

Those that they do not hold: (*Mix).Apply and the runtime's assembly keep no frame of their own when they are sampled, so that their
direct caller is skipped (main.loop -> Apply shows as main.work -> Apply), and asyncPreempt is where the runtime's own
profiler interrupts, not perf.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
CORPUS = os.environ.get("PROFCONV_CORPUS", os.path.join(SOURCE, "..", "shared", "corpus"))
GOPGO = os.path.join(CORPUS, "gopgo")
HELD = {("main.loop", "main.step", 4), ("main.work", "main.loop", 3)}
FRAMELESS = {("main.loop", "main.(*Mix).Apply", 3): ("main.work", "main.(*Mix).Apply", 3)}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def edges(text):
    lines = text.split("\n")
    assert lines[0] == "GO PREPROFILE V1", lines[0]
    rows = {}
    for i in range(1, len(lines) - 2, 3):
        offset, weight = lines[i + 2].split(" ")
        rows[(lines[i], lines[i + 1], int(offset))] = int(weight)
    return rows


def main():
    if not PROFCONV:
        skip("no command (PROFCONV)")
    go = shutil.which("go")
    version = go and re.search(rb"go1\.(\d+)", subprocess.run([go, "version"], stdout=subprocess.PIPE).stdout)
    if not version or int(version.group(1)) < 21:
        skip("Go 1.21 or later is not installed")
    if not os.path.isdir(GOPGO):
        skip("no corpus at %s" % CORPUS)
    with tempfile.TemporaryDirectory() as root:
        pprof, text = os.path.join(root, "cpu.pb.gz"), os.path.join(root, "cpu.preprofile")
        subprocess.run([PROFCONV, "convert", "-q", "--binary", os.path.join(GOPGO, "app.nopgo"), "-o", pprof,
                        os.path.join(GOPGO, "perf.data")], check=True)
        done = subprocess.run([go, "tool", "preprofile", "-i", pprof, "-o", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            print("go tool preprofile refuses the profile:", done.stdout.decode(errors="replace"))
            return 1
        with open(text) as file:
            ours = edges(file.read())
    with open(os.path.join(GOPGO, "cpu.preprofile")) as file:
        theirs = edges(file.read())
    assert HELD <= set(theirs), "the corpus changed"
    bad = ["missing edge %s" % (edge,) for edge in HELD if not ours.get(edge)]
    for edge, shown_as in FRAMELESS.items():
        if edge not in ours and not ours.get(shown_as):
            bad.append("neither %s nor %s" % (edge, shown_as))
    hottest = max(ours, key=ours.get)
    if hottest != max(theirs, key=theirs.get):
        bad.append("hottest edge is %s" % (hottest,))
    print("\n".join(bad) or "%d edges, those of the runtime's profile among them" % len(ours))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
