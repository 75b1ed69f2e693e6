#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two runs of one program at different load addresses add up, by whatever way they come together.

tests/data/two_loads holds a small position-independent program, whose code has addresses that are no file offsets,
and two recordings of it, made with address randomization and different arguments. Their sum, as our reader and
AutoFDO's sample_merger give it, is what comes out when they are merged as recordings, as pprofs by us or by Go's pprof,
by a store like Pyroscope, and by way of the perf.data made of that; and the compilers' profiles are those of the sum.
"""
import os
import re
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.environ["PROFCONV_SOURCE"], "tests", "support"))
from bridge_support import (PROFCONV, SOURCE, Store, add_maps, answers, check, compiler_profiles, convert,  # noqa: E402
                            counts, failures, fields, maps, missing, raw_pprof, read, run, tool, unpack)
from mkpprof import data, num  # noqa: E402

FOLDER = os.path.join(SOURCE, "tests", "data", "two_loads")
BINARY = os.path.join(FOLDER, "twoloads")
RECORDINGS = [os.path.join(FOLDER, x) for x in ("first.data", "second.data")]
# Page of the program's code: address, file offset.
LINKED = 0x1000  # link-time address - file offset of the program's code
RAW = ("-s", "profgen-raw.base=1000", "-s", "profgen-raw.text-offset=0")


def load_address(path):
    """Where the program's code was mapped, by perf."""
    shown = run(["perf", "script", "--show-mmap-events", "-i", path]).stdout.decode(errors="replace")
    found = re.search(r"MMAP2.*\[0x([0-9a-f]+)\(.* r-xp \S*/twoloads$", shown, re.M)
    return int(found.group(1), 16) if found else None


def measured(tmp):
    """The sum as sample_merger makes it: a file that is there already is added to."""
    out = os.path.join(tmp, "merged")
    for path in RECORDINGS:
        run(["sample_merger", "--profile=" + path, "--binary=" + BINARY, "--output_file=" + out])
    return read(out) if os.path.exists(out) else b""


def raw_profile(path, tmp):
    """llvm-profgen's raw profile, and ours, which has what it sorts out by decoding as well."""
    theirs, ours = os.path.join(tmp, "theirs.raw"), os.path.join(tmp, "ours.raw")
    if os.path.exists(theirs):
        os.unlink(theirs)
    if tool("llvm-profgen-19") and tool("perf"):
        run(["llvm-profgen-19", "--perfdata=" + path, "--binary=" + BINARY, "--skip-symbolization",
             "--output=" + theirs])
    convert("profgen-raw", ours, path, *RAW, "-s", "profgen-raw.binary=twoloads")
    return read(theirs) if os.path.exists(theirs) else None, read(ours)


def add_raw(texts):
    """Ranges, then branches, each behind their number."""
    lists = [Counter(), Counter()]
    for text in texts:
        lines = iter(text.decode().split())
        for counter in lists:
            for _ in range(int(next(lines))):
                key, count = next(lines).rsplit(":", 1)
                counter[key] += int(count)
    return "".join("%d\n" % len(c) + "".join("%s:%d\n" % row for row in sorted(c.items())) for c in lists).encode()


def link_addresses(raw):
    """The upload as other encoders write it: the program's mapping and addresses as its program headers have them."""
    names = [value for field, value in fields(raw) if field == 6]
    moved, out = set(), b""
    for field, value in fields(raw):
        if field == 3 and names[dict(fields(value))[5]].endswith(b"/twoloads"):
            f = dict(fields(value))
            moved.add(f.pop(1))
            f[2], f[3] = f.get(2, 0) + LINKED, f[3] + LINKED
            value = num(1, max(moved)) + b"".join(num(k, v) for k, v in sorted(f.items()))
        out += data(field, value) if isinstance(value, bytes) else num(field, value)
    raw, out = out, b""
    for field, value in fields(raw):
        if field == 4 and dict(fields(value)).get(2) in moved:
            value = b"".join(data(k, v) if isinstance(v, bytes) else num(k, v + LINKED if k == 3 else v)
                             for k, v in fields(value))
        out += data(field, value) if isinstance(value, bytes) else num(field, value)
    return out


def targets_in_labels(raw):
    """An encoding that stores lose: one location a record, the other end in a numeric label."""
    out = b""
    for field, value in fields(raw):
        inner = fields(value) if field == 2 else []
        ids = [i for k, v in inner if k == 1 for i in unpack(v)]
        if len(ids) == 2:
            value = num(1, ids[0]) + b"".join(data(k, v) for k, v in inner if k == 2)
            value += data(3, num(1, 1) + num(3, ids[1]))
        out += data(field, value) if isinstance(value, bytes) else num(field, value)
    return out


def mixed_in_a_store(total, tmp):
    """Why recordings are not written at link-time addresses where a binary is at hand: beside a profile from where none
    was, a store gives the records of one the start of the other."""
    plain, linked = os.path.join(tmp, "first.pb.gz"), os.path.join(tmp, "linked.1.pb")
    store = Store()
    for raw in raw_pprof(plain, tmp), read(linked):
        store.push(raw)
    folder = os.path.join(tmp, "mixed")
    os.mkdir(folder)
    check(maps(answers(store, folder), BINARY, tmp) != total, "a store moves addresses")


def routes(tmp):
    """(name, files) of every way to bring the two together."""
    def at(name):
        return os.path.join(tmp, name)
    pprofs = [at("first.pb.gz"), at("second.pb.gz")]
    for out, path in zip(pprofs, RECORDINGS):
        convert("pprof", out, path)
    yield "recordings", RECORDINGS
    yield "pprofs", pprofs
    convert("pprof", at("ours.pb.gz"), pprofs)
    yield "pprofs merged", [at("ours.pb.gz")]
    convert("pprof", at("other.pb.gz"), pprofs[::-1])
    yield "pprofs merged in the other order", [at("other.pb.gz")]
    named = [at("named.0.pb.gz"), at("named.1.pb.gz")]
    for out, path in zip(named, RECORDINGS):
        convert("pprof", out, path, "--binary", BINARY, "-s", "convert.symbolize=yes")
    yield "one with names, one without", [named[0], pprofs[1]]
    if tool("go"):
        ways = ("pprofs", pprofs), ("pprofs with names", named), ("one with names", [pprofs[0], named[1]])
        for what, files in ways:
            out = at("go.%d.pb.gz" % len(files[0] + files[1]))
            done = run(["go", "tool", "pprof", "-proto", "-symbolize=none", "-output", out, *files])
            check(done.returncode == 0, "go tool pprof: %s" % done.stderr[-200:])
            yield what + " merged by Go's pprof", [out]
    for what, files in (("", pprofs), (", one with names", [named[1], pprofs[0]])):
        store = Store()
        for path in files:
            store.push(raw_pprof(path, tmp))
        folder = at("store" + str(len(what)))
        os.mkdir(folder)
        yield "a store" + what, answers(store, folder)
    linked = [at("linked.0.pb"), at("linked.1.pb")]
    for out, path in zip(linked, pprofs):
        with open(out, "wb") as file:
            file.write(link_addresses(raw_pprof(path, tmp)))
    yield "pprofs at link-time addresses", linked
    yield "one at link-time addresses", [pprofs[0], linked[1]]
    store = Store()
    for path in linked:
        store.push(read(path))
    os.mkdir(at("linked"))
    yield "a store of link-time addresses", answers(store, at("linked"))
    convert("perf-data", at("back.data"), at("ours.pb.gz"))
    yield "perf.data of the sum", [at("back.data")]
    backs = [at("back.0.data"), at("back.1.data")]
    for out, path in zip(backs, pprofs):
        convert("perf-data", out, path)
    yield "perf.data of each", backs


def main():
    if tool("perf"):
        loads = [load_address(path) for path in RECORDINGS]
        check(None not in loads and loads[0] != loads[1], "load addresses: %s" % loads)
    with tempfile.TemporaryDirectory() as tmp:
        each = [maps(path, BINARY, tmp) for path in RECORDINGS]
        check(None not in each and each[0] != each[1] and each[0].count(b"\n") > 40, "the recordings' maps")
        total = add_maps(each)
        if tool("sample_merger"):
            check(measured(tmp) == total, "sample_merger gives another sum")
        theirs, ours = zip(*(raw_profile(path, tmp) for path in RECORDINGS))
        text = os.path.join(tmp, "total.raw")
        with open(text, "wb") as file:  # other than maps, it has branches from outside, which are heads
            file.write(add_raw(ours))
        wanted = compiler_profiles(text, BINARY, tmp, *RAW)
        check(len(wanted) == 3 and b"sort_out" in wanted["llvm-text"], "profiles of the sum: %s" % list(wanted))
        for name, files in routes(tmp):
            counts["routes"] += 1
            check(maps(files, BINARY, tmp) == total, "%s: the maps do not add up" % name)
            for form, made in compiler_profiles(files, BINARY, tmp).items():
                check(made == wanted[form], "%s: another %s" % (name, form))
            if name == "perf.data of the sum" and theirs[0]:
                check(add_raw([raw_profile(files[0], tmp)[0]]) == add_raw(theirs), "llvm-profgen counts otherwise")
        mixed_in_a_store(total, tmp)
        labels = os.path.join(tmp, "labels.pb")
        with open(labels, "wb") as file:
            file.write(targets_in_labels(raw_pprof(RECORDINGS[0], tmp)))
        said = run([PROFCONV, "check", "--for", "llvm", labels]).stdout
        check(b"no branch records: sampled addresses alone" in said, "check of targets in labels: %s" % said)
    print(dict(counts), "without: " + ", ".join(sorted(missing)) if missing else "")
    return 1 if failures else 0


sys.exit(main())
