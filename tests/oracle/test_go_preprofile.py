#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""go-preprofile is what `go tool preprofile` makes, byte for byte, and refuses what it refuses.

Files: fuzz/seeds/pprof and the conformance corpus. Where Go's tool writes the header alone (a profile without a
call), ours says so and fails. The text is read back into the same text, and a pprof made from it gives it again
through Go's tool.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["PROFCONV_SOURCE"]
PROFCONV = os.environ["PROFCONV"]
CORPUS = os.environ.get("PROFCONV_CORPUS") or os.path.join(SOURCE, "..", "shared", "corpus")
HEADER = b"GO PREPROFILE V1\n"

failures = []


def run(command):
    env = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="")
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def made(command, out):
    if os.path.exists(out):
        os.unlink(out)
    done = run(command)
    if done.returncode:
        return None
    with open(out, "rb") as file:
        return file.read()


def convert(to, path, out):
    return made([PROFCONV, "convert", "-q", "-t", to, "-s", "convert.symbolize=no", "-o", out, path], out)


def compare(path, tmp):
    theirs = made(["go", "tool", "preprofile", "-i", path, "-o", os.path.join(tmp, "go")], os.path.join(tmp, "go"))
    ours = convert("go-preprofile", path, os.path.join(tmp, "ours"))
    name = os.path.basename(path)
    if theirs == HEADER:
        theirs = None
    if ours != theirs:
        said = ["fails" if x is None else "%d bytes" % len(x) for x in (theirs, ours)]
        failures.append("%s: Go's tool %s, ours %s" % (name, *said))
        return 0
    if ours is None or len(ours) > 1 << 20:
        return ours is not None
    text = os.path.join(tmp, "ours")
    if convert("go-preprofile", text, os.path.join(tmp, "again")) != ours:
        failures.append(name + ": read back, the text is another")
    pprof = os.path.join(tmp, "pprof.pb.gz")
    out = os.path.join(tmp, "go")
    if convert("pprof", text, pprof) is None or made(["go", "tool", "preprofile", "-i", pprof, "-o", out], out) != ours:
        failures.append(name + ": a pprof made from the text gives another text through Go's tool")
    return 1


def main():
    if not shutil.which("go") or run(["go", "tool", "preprofile", "-h"]).stderr.startswith(b"go: no such tool"):
        print("skipped: no Go with `go tool preprofile` here")
        return 77
    paths = glob.glob(os.path.join(SOURCE, "fuzz", "seeds", "pprof", "*"))
    for folder in ("pprof", "gopgo", "diff"):
        paths += glob.glob(os.path.join(CORPUS, folder, "**", "*"), recursive=True)
    # Malformed files are another matter: Go's compiler takes some that pprof itself refuses.
    paths = [p for p in paths if os.path.isfile(p) and os.path.basename(os.path.dirname(p)) != "bad" and
             not os.path.basename(p).startswith("bad_") and not p.endswith(".preprofile")]
    same = 0
    with tempfile.TemporaryDirectory() as tmp:
        for path in sorted(paths):
            same += compare(path, tmp)
        expected = os.path.join(CORPUS, "gopgo", "cpu.preprofile")
        if os.path.exists(expected):
            text = convert("go-preprofile", os.path.join(CORPUS, "gopgo", "cpu.pprof"), os.path.join(tmp, "ours"))
            if text != open(expected, "rb").read():
                failures.append("cpu.pprof does not give the corpus' cpu.preprofile")
    for failure in failures:
        print("FAIL", failure)
    print("%d files, %d with calls" % (len(paths), same))
    if os.path.isdir(CORPUS) and same < 4:
        print("FAIL only %d files gave a text" % same)
        return 1
    return 1 if failures else 0


sys.exit(main())
