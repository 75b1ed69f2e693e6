#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gperftools' and Go's older profiles against what pprof makes of them: the corpus's .string files, and `go tool pprof -raw`
of the files that have none. What is read here is written as pprof and shown by the same tool.

Samples are compared by addresses, labels and values (equal ones added up), addresses by their mappings.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
CORPUS = os.environ.get("PROFCONV_CORPUS", os.path.join(SOURCE, "..", "shared", "corpus"))
PPROF = os.path.join(CORPUS, "pprof")

GOOGLE = ["cppbench.contention", "cppbench.cpu", "cppbench.growth", "cppbench.thread.all", "go.crc32.cpu", "gobench.cpu",
          "gobench.heap"]
GENERATED = ["gperftools.cpu", "gperftools.heap", "go.goroutine.debug1.txt"]
LABELLED = {"go.goroutine.debug1.txt": {"worker:[0]", "worker:[1]", "worker:[2]"}}
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("FAIL " + what)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def parse_raw(text):
    """What pprof -raw prints, without its ids."""
    facts, samples, locations, mappings = {}, [], {}, {}
    part = None
    for line in text.split("\n"):
        if line in ("Samples:", "Locations", "Mappings"):
            part = line
        elif part is None:
            key, _, value = line.partition(": ")
            if key in ("PeriodType", "Period", "Duration"):
                facts[key] = value
        elif part == "Samples:" and "types" not in facts:
            facts["types"] = line.split()
        elif part == "Samples:":
            match = re.match(r"^((?:\s*-?\d+)+): ([\d ]*)$", line)
            if match:
                samples.append([[int(n) for n in match.group(1).split()], [int(n) for n in match.group(2).split()], []])
            elif line.strip():
                samples[-1][2] += line.split()
        elif part == "Locations":
            match = re.match(r"^\s*(\d+): 0x([0-9a-f]+)(?: M=(\d+))?", line)
            if match:
                locations[int(match.group(1))] = (int(match.group(2), 16), int(match.group(3) or 0))
        elif part == "Mappings" and line.strip():
            match = re.match(r"^(\d+): (0x\S+)/(0x\S+)/(0x\S+) *(\S*)", line)
            mappings[int(match.group(1))] = match.groups()[1:]
    totals = collections.Counter()
    for values, stack, labels in samples:
        key = (tuple(locations[n][0] for n in stack), tuple(sorted(labels)))
        for i, value in enumerate(values):
            totals[key + (i,)] += value
    of_address = {address: mappings.get(mapping) for address, mapping in locations.values()}
    return facts, +totals, of_address


def raw_of(go, path):
    done = subprocess.run([go, "tool", "pprof", "-raw", "-symbolize=none", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout.decode()


def compare(go, name, path, expected):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.pb.gz")
        done = subprocess.run([PROFCONV, "convert", "-q", "-t", "pprof", "-s", "convert.symbolize=no", "-o", out, path],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(done.returncode == 0, "%s: %s" % (name, done.stdout.decode()))
        if done.returncode:
            return
        facts, samples, addresses = parse_raw(raw_of(go, out))
    expected_facts, expected_samples, expected_addresses = parse_raw(expected)
    check(facts == expected_facts, "%s: %s, expected %s" % (name, facts, expected_facts))
    if name in LABELLED: # pprof does not read these labels
        check({label for key in samples for label in key[1]} == LABELLED[name], "%s: labels" % name)
        without = collections.Counter()
        for key, value in samples.items():
            without[(key[0], ()) + key[2:]] += value
        samples = without
    check(samples == expected_samples, "%s: only here %s, missing %s" % (name, list((samples - expected_samples).items())[:3],
                                                                       list((expected_samples - samples).items())[:3]))
    check(addresses == expected_addresses, "%s: mappings %s" % (name, [
        (hex(a), addresses.get(a), expected_addresses.get(a)) for a in set(addresses) | set(expected_addresses)
        if addresses.get(a) != expected_addresses.get(a)][:4]))


def names():
    """Go's symbol lines name the frames; runtime frames have none."""
    done = subprocess.run([PROFCONV, "convert", "-q", "-t", "collapsed", "-s", "convert.symbolize=no", "-o", "-",
                           os.path.join(PPROF, "gen", "go.goroutine.debug1.txt")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stacks = [line.split(b";") for line in done.stdout.splitlines()]
    check(any(stack[1:3] == [b"runtime/pprof.Do", b"main.main.func3"] for stack in stacks), "names: %s" % done.stdout.decode())
    check(sum(int(stack[-1].rsplit(b" ", 1)[1]) for stack in stacks) == 31, "names: total")


def main():
    go = shutil.which("go")
    if not PROFCONV:
        skip("no command (PROFCONV)")
    if not os.path.isdir(PPROF):
        skip("no corpus at %s" % CORPUS)
    if not go or subprocess.run([go, "tool", "pprof", "-h"], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode not in (0, 2):
        skip("go tool pprof is not installed")
    for name in GOOGLE:
        path = os.path.join(PPROF, "google", name)
        with open(path + ".string") as f:
            compare(go, name, path, f.read())
    names()
    for name in GENERATED:
        path = os.path.join(PPROF, "gen", name)
        compare(go, name, path, raw_of(go, path))
    print("%d profiles compared, %d differences" % (len(GOOGLE) + len(GENERATED), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
