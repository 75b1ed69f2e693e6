#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Branch records and stacks survive perf.data -> pprof -> store -> pprof -> perf.data, by other tools' measure too.

Over the corpus' last-branch recordings: the three maps of each binary are the expected ones by every route, and so
are the compilers' profiles; AutoFDO's sample_merger and llvm-profgen read the same out of what we write; profiles
taken at different load addresses add up, merged by us or by Go's pprof; a store like Pyroscope, imitated,
changes nothing, unless the profile is of a kind that it breaks, which `check` says beforehand. Over its stack
recordings: the collapsed stacks stay the same, and perf reads every file.
"""
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["PROFCONV_SOURCE"], "tests", "support"))
from bridge_support import (CORPUS, PROFCONV, Store, add_maps, answers, check, compiler_profiles,  # noqa: E402
                            convert, counts, failures, fields, maps, missing, raw_pprof, read, run, tool)
from mkpprof import data, num  # noqa: E402


# ---- last-branch recordings ----

def recordings():
    for path in sorted(glob.glob(os.path.join(CORPUS, "lbr", "*.lbr.data"))):
        name = os.path.basename(path)[:-len(".lbr.data")]
        yield name, path, os.path.join(CORPUS, "lbr", name), os.path.join(CORPUS, "lbr", "expected")
    yield ("test", os.path.join(CORPUS, "autofdo", "test.lbr"), os.path.join(CORPUS, "autofdo", "test.binary"),
           os.path.join(CORPUS, "autofdo", "expected"))


def measure_elsewhere(name, route, original, path, binary, expected, tmp):
    """What other tools read out of the perf.data at `path`."""
    if tool("sample_merger"):
        out = os.path.join(tmp, "merged")
        if os.path.exists(out):
            os.unlink(out)  # it would be added to
        run(["sample_merger", "--profile=" + path, "--binary=" + binary, "--output_file=" + out])
        check(os.path.exists(out) and read(out) == expected, "%s: sample_merger of %s gives other maps" % (name, route))
    if tool("llvm-profgen-19") and tool("perf"):
        raw = []
        for which in (original, path):
            out = os.path.join(tmp, "raw")
            if os.path.exists(out):
                os.unlink(out)
            run(["llvm-profgen-19", "--perfdata=" + which, "--binary=" + binary, "--skip-symbolization",
                 "--output=" + out])
            raw.append(read(out) if os.path.exists(out) else None)
        check(raw[0] is not None and raw[0] == raw[1],
              "%s: llvm-profgen of %s gives another raw profile" % (name, route))


PERF2BOLT = "/usr/lib/llvm-19/bin/perf2bolt"  # known by that name only; the link in the search path acts as llvm-bolt


def bolt_rows(path, binary, tmp):
    """Rows as perf2bolt makes them: {branch: (mispredicted, count)}."""
    out = os.path.join(tmp, "fdata")
    if os.path.exists(out):
        os.unlink(out)
    run([PERF2BOLT, "-p", path, "-o", out, "--ignore-build-id", binary])
    rows = [x.split() for x in read(out).split(b"\n") if x] if os.path.exists(out) else []
    return {tuple(x[:6]): (int(x[6]), int(x[7])) for x in rows}


def measure_bolt(name, path, back, binary, tmp):
    """perf2bolt's rows are the same, but that it tells returns to the code behind a call from jumps there by what stood
    before each range: a few counts of such falls through calls go by chance."""
    rows, ours = bolt_rows(path, binary, tmp), bolt_rows(back, binary, tmp)
    check(len(rows) > 2 and set(rows) == set(ours), name + ": perf2bolt sees other branches")
    other = [x for x in rows if x in ours and rows[x] != ours[x]]
    said = "%s: perf2bolt counts %d of %d rows otherwise" % (name, len(other), len(rows))
    check(len(other) <= 0.01 * len(rows), said)
    for x in other:
        fall = x[:2] == x[3:5] and rows[x][0] == ours[x][0] == 0 and 0 < int(x[5], 16) - int(x[2], 16) <= 7
        check(fall and abs(rows[x][1] - ours[x][1]) <= 0.02 * rows[x][1] + 1,
              "%s: perf2bolt counts %s for %s, which has %s" % (name, ours[x], x, rows[x]))


def perf_reads(path, what):
    if not tool("perf"):
        return
    for command in (["perf", "script", "-i", path], ["perf", "report", "--stdio", "-i", path]):
        done = run(command, stdin=subprocess.DEVNULL)
        said = done.stderr.decode(errors="replace")[-200:]
        check(done.returncode == 0, "%s: perf %s: %s" % (what, command[1], said))


def one_recording(name, path, binary, folder, tmp):
    expected = read(os.path.join(folder, name + ".maps.txt"))
    pprof, back, other = (os.path.join(tmp, name + x) for x in (".pb.gz", ".perf.data", ".7.perf.data"))
    if not convert("pprof", pprof, path) or not convert("perf-data", back, pprof):
        return
    convert("perf-data", other, pprof, "-s", "perf-data.seed=7", "-s", "perf-data.entries=32")
    again = os.path.join(tmp, "again")
    convert("perf-data", again, pprof)
    check(read(again) == read(back), name + ": the same seed gives other bytes")
    check(read(other) != read(back), name + ": another seed gives the same bytes")
    for route, file in (("perf.data", path), ("pprof", pprof), ("perf.data again", back), ("seed 7", other)):
        check(maps(file, binary, tmp) == expected, "%s: other maps by way of %s" % (name, route))
    for route, file in (("seed 1", back), ("seed 7", other)):
        measure_elsewhere(name, route, path, file, binary, expected, tmp)
    perf_reads(back, name)
    if os.path.exists(PERF2BOLT) and tool("perf") and name != "test":
        measure_bolt(name, path, back, binary, tmp)
    direct = compiler_profiles(path, binary, tmp)
    for route, file in (("pprof", pprof), ("perf.data again", back)):
        for form, made in compiler_profiles(file, binary, tmp).items():
            check(made == direct.get(form), "%s: another %s by way of %s" % (name, form, route))
    merge_routes(name, path, pprof, back, binary, expected, tmp)
    split_routes(name, pprof, binary, expected, tmp)
    store_routes(name, pprof, back, binary, expected, direct, tmp)


def merge_routes(name, path, pprof, back, binary, expected, tmp):
    """`back` holds the recording at other load addresses than `path`."""
    second, ours, theirs = (os.path.join(tmp, x) for x in ("second.pb.gz", "ours.pb.gz", "theirs.pb.gz"))
    convert("pprof", second, back)
    twice = add_maps([expected, expected])
    check(add_maps([expected]) == expected, name + ": the maps of the corpus are not in the order expected here")
    convert("pprof", ours, [pprof, second])
    check(maps(ours, binary, tmp) == twice, name + ": merged by us, the maps do not add up")
    check(maps([path, back], binary, tmp) == twice, name + ": recordings merged by us do not add up")
    if tool("go"):
        done = run(["go", "tool", "pprof", "-proto", "-symbolize=none", "-output", theirs, pprof, second])
        check(done.returncode == 0 and maps(theirs, binary, tmp) == twice,
              name + ": merged by Go's pprof, the maps do not add up")


def split_routes(name, pprof, binary, expected, tmp):
    prefix = os.path.join(tmp, "part")
    for old in glob.glob(prefix + "*"):
        os.unlink(old)
    done = run([PROFCONV, "split", "-q", "--max-samples", "700", "--max-bytes", "30k", "-o", prefix, pprof])
    parts = done.stdout.decode().split()
    check(done.returncode == 0 and len(parts) > 1, name + ": split makes %d parts: %s" % (len(parts), done.stderr))
    for part in parts:
        raw = os.path.join(tmp, "raw.pb")
        convert("pprof", raw, part, "-s", "pprof.compress=no")
        check(len(read(raw)) <= 30 << 10, name + ": a part of %d bytes" % len(read(raw)))
    check(maps(parts, binary, tmp) == expected, name + ": the parts do not add up")
    if tool("go"):
        whole = os.path.join(tmp, "whole.pb.gz")
        run(["go", "tool", "pprof", "-proto", "-symbolize=none", "-output", whole, *parts])
        check(maps(whole, binary, tmp) == expected, name + ": the parts merged by Go's pprof do not add up")


# ---- a store ----

def marked(raw, functions, bias):
    """The upload as a careless profiler makes it: has_functions set, or at run-time addresses."""
    out = []
    for field, value in fields(raw):
        if field in (3, 4):
            f = fields(value)
            d = dict(f)
            real = d.get(3, 0) or d.get(2, 0) if field == 3 else d.get(2, 0)
            shift = {2, 3} if field == 3 else {3}
            body = b""
            keys = [k for k, _ in f]
            for k, v in f + ([(2, 0)] if field == 3 and 2 not in keys else []):
                v = v + bias if k in shift and real and isinstance(v, int) else v
                body += data(k, v) if isinstance(v, bytes) else num(k, v)
            value = body + (num(7, 1) if functions and field == 3 else b"")
        out.append(data(field, value) if isinstance(value, bytes) else num(field, value))
    return b"".join(out)


def store_routes(name, pprof, back, binary, expected, direct, tmp):
    store = Store()
    store.push(raw_pprof(pprof, tmp))
    paths = answers(store, tmp)
    check(len(paths) >= 3, name + ": the store has %d series of records" % len(paths))
    check(maps(paths, binary, tmp) == expected, name + ": other maps after the store")
    if name == "test":  # it has samples and branch records in the kernel: the first at run-time addresses
        kernel = maps(pprof, "[kernel.kallsyms]", tmp)
        check(kernel and kernel.count(b"\n") > 200, name + ": no maps of the kernel")
        for route, files in (("the store", paths), ("perf.data", back)):
            same = maps(files, "[kernel.kallsyms]", tmp) == kernel
            check(same, "%s: other maps of the kernel after %s" % (name, route))
    for form, made in compiler_profiles(paths, binary, tmp).items():
        check(made == direct.get(form), "%s: another %s after the store" % (name, form))
    store.push(raw_pprof(back, tmp))  # the same run, loaded elsewhere
    twice = add_maps([expected, expected])
    check(maps(answers(store, tmp), binary, tmp) == twice, name + ": two uploads do not add up")

    good = os.path.join(tmp, "good.pb")
    bad = os.path.join(tmp, "bad.pb")
    with open(good, "wb") as file:
        file.write(raw_pprof(pprof, tmp))
    done = run([PROFCONV, "check", "--for", "llvm", good])
    check(done.returncode == 0 and b"has_functions" not in done.stdout and b"run-time" not in done.stdout,
          name + ": check finds fault with a good profile: %s" % done.stdout)
    with open(bad, "wb") as file:
        file.write(marked(read(good), False, 0x555555000000))
    done = run([PROFCONV, "check", "--for", "llvm", bad])
    check(b"run-time addresses" in done.stdout, name + ": check does not warn of run-time addresses")
    with open(bad, "wb") as file:
        file.write(marked(read(good), True, 0))
    done = run([PROFCONV, "check", "--for", "llvm", bad])
    check(b"has_functions" in done.stdout, name + ": check does not warn of has_functions")
    store = Store()
    store.push(read(bad))
    paths = answers(store, tmp)
    if name == "test":  # without names, a location that lost its address is dropped by the store with all its samples
        check(not paths, name + ": the store kept locations with neither address nor line")
        return
    done = run([PROFCONV, "check", "--for", "gcc", *paths])
    check(done.returncode == 1 and b"lost their addresses" in done.stdout, name + ": check accepts cleared addresses")
    for form in ("llvm-text", "autofdo-text", "perf-data"):
        done = run([PROFCONV, "convert", "-t", form, "-o", os.path.join(tmp, "refused"), *paths])
        check(done.returncode == 1 and b"addresses" in done.stderr, "%s: %s is made from cleared addresses: %s" % (
            name, form, done.stderr[-200:]))


# ---- stack recordings ----

def stacks(tmp):
    folders = [os.path.join(CORPUS, "perfdata", x, "*") for x in ("gen", "real", "synth")]
    paths = sorted(p for f in folders for p in glob.glob(f) if os.path.isfile(p))
    if os.environ.get("PROFCONV_SANITIZED"):
        paths = paths[::4]
    first, between, back, second = (os.path.join(tmp, x) for x in ("first", "between.pb", "back.data", "second"))
    plain = ["-s", "convert.symbolize=no"]
    labels = ["-s", "perf-data.labels=pid,tid,thread,comm,cpu,timestamp"]
    for path in paths:
        name = os.path.basename(path)
        if run([PROFCONV, "convert", "-q", "-t", "collapsed", "-o", first, *plain, path]).returncode:
            continue  # nothing in it, or no recording
        counts["stack recordings"] += 1
        if not convert("pprof", between, path, *plain, *labels) or \
                not convert("perf-data", back, between, "-s", "perf-data.content=stacks"):
            continue
        convert("collapsed", second, back, *plain)
        check(read(first) == read(second), name + ": other collapsed stacks by way of pprof and perf.data")
        perf_reads(back, name)


def main():
    if not os.path.isdir(CORPUS):
        print("skipped: no conformance corpus at", CORPUS)
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        for name, path, binary, folder in recordings():
            counts["last-branch recordings"] += 1
            one_recording(name, path, binary, folder, tmp)
        stacks(tmp)
    check(counts["last-branch recordings"] >= 4 and counts["stack recordings"] >= 10, "too few: %s" % dict(counts))
    print(dict(counts), "without: " + ", ".join(sorted(missing)) if missing else "")
    return 1 if failures else 0


sys.exit(main())
