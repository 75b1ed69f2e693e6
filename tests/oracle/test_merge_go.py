#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""profconv merge against `go tool pprof -proto`: the same sums, for everything that `-raw` shows.

Compared without ids, since ours are in the order of tables and theirs in that of samples. Left out is what theirs gets wrong and ours
does not follow: columns of lines but the last, the earliest of several times when one is 0, samples that are all zero, and sums
that wrap around.
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


def run(command, scratch):
    env = dict(os.environ, HOME=scratch, PPROF_TMPDIR=scratch, PPROF_BINARY_PATH=scratch, GOTOOLCHAIN="local", GOFLAGS="")
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def raw(path, scratch):
    done = run(["go", "tool", "pprof", "-symbolize=none", "-raw", path], scratch)
    if done.returncode != 0:
        raise RuntimeError(f"{path}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace")


def plain(text):
    """Facts, the bag of samples with frames in place of ids, mappings."""
    head, rest = text.split("\nLocations\n")
    table, mappings = rest.split("\nMappings\n")
    images = {}
    for line in mappings.splitlines():
        number, what = line.split(":", 1)
        images[number] = what.strip()
    locations, number = {}, None
    for line in table.splitlines():
        match = re.match(r" *(\d+): (.*)", line)
        if match:
            number = match[1]
            line = match[2]
            locations[number] = ""
        line = re.sub(r"\bM=(\d+) ", lambda m: "M=<" + images[m[1]] + "> ", line.strip())
        locations[number] += "|" + re.sub(r":(\d+):\d+( s=\d+)?$", r":\1\2", line)
    facts, samples, rows = [], {}, []
    for line in head.splitlines():
        match = re.match(r"([ \d-]+): ((?:\d+ )*)$", line)
        if match:
            rows.append([tuple(int(v) for v in match[1].split()), tuple(locations[i] for i in match[2].split()), ""])
        elif rows:
            rows[-1][2] += line.strip()
        elif not line.startswith("Time:"):
            facts.append(line)
    for values, frames, labels in rows:
        key = (frames, labels)
        old = samples.get(key, (0,) * len(values))
        samples[key] = tuple(a + b for a, b in zip(old, values))
    return facts, {k: v for k, v in samples.items() if any(v)}, sorted(images.values())


def compare(files, scratch):
    theirs, ours = os.path.join(scratch, "theirs.pb.gz"), os.path.join(scratch, "ours.pb.gz")
    done = run(["go", "tool", "pprof", "-symbolize=none", "-proto", "-output", theirs, *files], scratch)
    mine = run([PROFCONV, "merge", "-o", ours, *files], scratch)
    if done.returncode != 0:
        return f"go refuses: {done.stderr.decode(errors='replace').strip()[-200:]}", True
    if mine.returncode != 0:
        return f"profconv: {mine.stderr.decode(errors='replace')}", False
    for name, a, b in zip(("facts", "samples", "mappings"), plain(raw(theirs, scratch)), plain(raw(ours, scratch))):
        if a != b:
            if isinstance(a, dict):
                a, b = sorted(set(a.items()) - set(b.items()))[:2], sorted(set(b.items()) - set(a.items()))[:2]
            return f"{name}: go {str(a)[:800]}\n  profconv {str(b)[:800]}", False
    return None, False


def main():
    if not shutil.which("go"):
        print("skipped: go is not installed")
        return 77
    if not os.path.isdir(os.path.join(CORPUS, "pprof", "gen")):
        print("skipped: the corpus is not here")
        return 77
    gen = os.path.join(CORPUS, "pprof", "gen")
    pgo = os.path.join(CORPUS, "gopgo")
    singles = sorted(glob.glob(os.path.join(gen, "go.*.pb.gz"))) + sorted(glob.glob(os.path.join(pgo, "*.pprof")))
    # With one file theirs writes what it read, tables that nothing refers to included: two are the least.
    sets = [[path] * 2 for path in singles] + [[path] * 3 for path in singles]
    sets += [[os.path.join(gen, "go.cpu.labels.pb.gz"), os.path.join(gen, "go.cpu.run2.pb.gz")],
             [os.path.join(gen, "go.cpu.run2.pb.gz"), os.path.join(gen, "go.cpu.labels.pb.gz")],
             [os.path.join(gen, "go.cpu.labels.pb.gz"), os.path.join(pgo, "cpu.pprof")],
             [os.path.join(pgo, "perf.full.pprof"), os.path.join(pgo, "perf.nosl.pprof")]]
    failures = compared = 0
    for files in sets:
        with tempfile.TemporaryDirectory() as scratch:
            wrong, refused = compare(files, scratch)
        names = " + ".join(os.path.basename(f) for f in files)
        if wrong:
            print(f"{names}: {wrong}")
        failures += bool(wrong) and not refused
        compared += not refused
    print(f"{compared} sets of profiles compared, {failures} differ")
    return 1 if failures or compared < len(sets) // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
