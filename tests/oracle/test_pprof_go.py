#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pprof -> pprof through the model is identical for `go tool pprof -raw`, and the two accept the same files.

Go's tool shows every field that it knows: tables with their ids, lines, columns, labels, units, comments and facts.
Where a file's ids are not 1, 2, 3, ... in table order, ours are, since other readers insist on that; such files are
compared with both sides renumbered. Files: fuzz/seeds/pprof, and the conformance corpus where it is.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["PROFCONV_SOURCE"]
PROFCONV = os.environ["PROFCONV"]
CORPUS = os.environ.get("PROFCONV_CORPUS") or os.path.join(SOURCE, "..", "shared", "corpus")

# Formats older than the protobuf, which Go's tool reads as well and this format does not, and texts beside them.
OTHER = {"go.goroutine.debug1.txt", "go.goroutine.debug2.txt", "gperftools.cpu", "gperftools.heap",
         "cppbench.contention", "cppbench.cpu", "cppbench.growth", "cppbench.thread.all", "go.crc32.cpu",
         "gobench.cpu", "gobench.heap"}
# Too large for `-raw` to be quick: test_pprof_corpus compares its dumps.
LARGE = {"synth.300k.pb.gz"}
# Without samples there is nothing to convert: refused by design, with the cause.
EMPTY = {"no_samples.pb"}
# Branch columns with rows that are no branch records: dropped with a count, so not the same afterwards.
DROPS = {"branches_odd.pb", "two_counts_one_empty.pb.gz"}


def run(command, scratch):
    env = dict(os.environ, HOME=scratch, PPROF_TMPDIR=scratch, PPROF_BINARY_PATH=scratch, GOTOOLCHAIN="local",
               GOFLAGS="")
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def raw(path, scratch):
    done = run(["go", "tool", "pprof", "-symbolize=none", "-raw", path], scratch)
    return done.stdout if done.returncode == 0 else None


def convert(path, out, scratch, *more):
    return run([PROFCONV, "convert", "-f", "pprof", "-t", "pprof", "-o", out, *more, path], scratch)


def renumbered(text):
    """Location and mapping ids replaced by their places in the tables."""
    head, rest = text.split(b"\nLocations\n")
    table, mappings = rest.split(b"\nMappings\n")
    places = {}
    for line in mappings.splitlines():
        places[line.split(b":")[0]] = b"%d" % (len(places) + 1)
    mappings = b"\n".join(places[line.split(b":")[0]] + line[line.index(b":"):] for line in mappings.splitlines())
    table = re.sub(rb" M=(\d+) ", lambda m: b" M=" + places[m[1]] + b" ", table)
    numbers = {}
    lines = []
    for line in table.splitlines():
        match = re.match(rb" *(\d+): 0x", line)
        if match:
            numbers[match[1]] = b"%d" % (len(numbers) + 1)
            line = numbers[match[1]] + line[match.end(1):]
        lines.append(line.strip())
    samples = []
    for line in head.splitlines():
        match = re.match(rb"([ \d-]+): ((?:\d+ )*)$", line)
        if match:
            line = match[1] + b": " + b" ".join(numbers[i] for i in match[2].split())
        samples.append(line)
    return samples, lines, mappings


def compare(path, scratch):
    """None, or what is wrong."""
    name = os.path.basename(path)
    before = raw(path, scratch)
    out = os.path.join(scratch, "out.pb.gz")
    if os.path.exists(out):
        os.unlink(out)
    done = convert(path, out, scratch)
    if name in EMPTY:
        return None if done.returncode == 1 and b"no samples" in done.stderr else f"not refused: {done.stderr!r}"
    if before is None:
        return None if done.returncode == 1 and done.stderr else f"go refuses it, profconv gives {done.returncode}"
    if done.returncode != 0:
        return f"go accepts it, profconv says {done.stderr.decode(errors='replace')}"
    after = raw(out, scratch)
    if after is None:
        return "go refuses what profconv wrote"
    if name in DROPS:
        return None if b"dropped: " in done.stderr else "nothing is said of what was dropped"
    if before == after:
        return None
    return None if renumbered(before) == renumbered(after) else "differs after the conversion"


def files():
    found = [os.path.join(SOURCE, "fuzz", "seeds", "pprof", "*")]
    found += [os.path.join(CORPUS, "pprof", folder, "*") for folder in ("gen", "google", "pyroscope", "speedscope")]
    found += [os.path.join(CORPUS, "pprof", "bad", "*.pb"), os.path.join(CORPUS, "gopgo", "*.pprof")]
    for pattern in found:
        for path in sorted(glob.glob(pattern)):
            name = os.path.basename(path)
            if name not in OTHER and name not in LARGE and not name.endswith(".string"):
                yield path


def preprofile(scratch):
    """What Go's compiler takes from a CPU profile is the same after the conversion."""
    source = os.path.join(CORPUS, "gopgo", "cpu.pprof")
    expected = os.path.join(CORPUS, "gopgo", "cpu.preprofile")
    if not os.path.exists(source):
        return []
    out, edges = os.path.join(scratch, "cpu.pb.gz"), os.path.join(scratch, "edges")
    convert(source, out, scratch)
    done = run(["go", "tool", "preprofile", "-i", out, "-o", edges], scratch)
    if done.returncode != 0:
        return [f"preprofile: {done.stderr.decode(errors='replace')}"]
    with open(expected, "rb") as a, open(edges, "rb") as b:
        return [] if a.read() == b.read() else ["preprofile: other edges than those of cpu.preprofile"]


def go_version():
    if not shutil.which("go"):
        return None
    match = re.search(r"go(\d+)\.(\d+)", subprocess.run(["go", "version"], stdout=subprocess.PIPE, text=True).stdout)
    return (int(match[1]), int(match[2])) if match else None


def main():
    version = go_version()
    if not version or version < (1, 21):
        print(f"go 1.21 or later is not installed (found: {version})")
        return 77
    problems, count = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in files():
            count += 1
            wrong = compare(path, scratch)
            if wrong:
                problems.append(f"{path}: {wrong}")
        if version >= (1, 23):
            problems += preprofile(scratch)
    for problem in problems:
        print(problem)
    print(f"{count} files compared, {len(problems)} problems")
    return 1 if problems or count < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
