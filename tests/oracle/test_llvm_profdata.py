#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LLVM profiles against llvm-profdata: what it writes from an input, ours must be, byte for byte; what it refuses is refused
with a place; merging with weights agrees; every output is accepted. Also the order of the metadata section, the one place
where bytes may differ (LLVM writes it in the order of a hash table): there the sections are compared as sets.

Inputs: the seeds of the fuzz targets, and the corpus of LLVM's own tests where it is there.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROFCONV = os.environ.get("PROFCONV")
CORPUS = os.environ.get("PROFCONV_CORPUS") or os.path.join(SOURCE, "..", "shared", "corpus")
# How the encodings are asked for: of llvm-profdata, of us.
ENCODINGS = [
    ("text", ["--text"], "llvm-text", []),
    ("binary", ["--binary"], "llvm-binary", []),
    ("extbinary", ["--extbinary"], "llvm-extbinary", []),
    ("compressed", ["--extbinary", "--compress-all-sections"], "llvm-extbinary", ["llvm-extbinary.compress=yes"]),
    ("hashed", ["--extbinary", "--use-md5"], "llvm-extbinary", ["llvm-extbinary.md5=yes"]),
]
# Accepted here and refused there, or the other way round, for reasons that the folder's README gives.
MORE_LENIENT = {"odd_names.prof", "newer.prof", "vtables.ext"}
MORE_STRICT = {"bad_context.prof", "only_unknown.ext"}

failures = []
done = 0


def fail(text):
    failures.append(text)
    print("FAIL:", text)


def profdata():
    return next((p for p in map(shutil.which, ("llvm-profdata-19", "llvm-profdata")) if p), None)


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def ours(out, to, settings, inputs):
    if os.path.exists(out):
        os.remove(out)
    command = [PROFCONV, "convert", "-t", to, "-o", out]
    for setting in settings:
        command += ["-s", setting]
    return run(command + inputs)


def theirs(tool, out, flags, inputs):
    if os.path.exists(out):
        os.remove(out)
    return run([tool, "merge", "--sample", *flags, "-o", out, *inputs])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def sections(data):
    count = struct.unpack_from("<Q", data, 10)[0]
    rows = [struct.unpack_from("<4Q", data, 18 + 32 * i) for i in range(count)]
    return [(kind, flags, data[at:at + size]) for kind, flags, at, size in rows]


def same_but_for_metadata(tool, a, b, tmp):
    """Both extensible binaries, with equal sections but for the order inside the metadata, which is section type 5, and for
    the mark of a partial profile, which we keep and llvm-profdata drops."""
    left, right = sections(a), sections(b)
    partial = {1: 1 << 32}
    if [(s[0], s[1] & ~partial.get(s[0], 0)) for s in left] != [(s[0], s[1] & ~partial.get(s[0], 0)) for s in right]:
        return False
    if any(x[2] != y[2] for x, y in zip(left, right) if x[0] != 5):
        return False
    texts = []
    for data in (a, b):
        path = os.path.join(tmp, "side")
        with open(path, "wb") as file:
            file.write(data)
        if theirs(tool, path + ".txt", ["--text"], [path]).returncode != 0:
            return False
        texts.append(read(path + ".txt"))
    return texts[0] == texts[1]


def inputs():
    for folder in ("llvm-text", "llvm-binary", "llvm-extbinary"):
        here = os.path.join(SOURCE, "fuzz", "seeds", folder)
        yield from (os.path.join(here, name) for name in sorted(os.listdir(here)))
    yield os.path.join(SOURCE, "fuzz", "seeds", "gcc-afdo", "v704.afdo")
    for folder in ("llvm/profdata", "llvm/sampleprofile", "llvm/profgen-expected", "autofdo", "autofdo/expected", "lbr/expected"):
        here = os.path.join(CORPUS, folder)
        if not os.path.isdir(here):
            continue
        for name in sorted(os.listdir(here)):
            profile = name.endswith((".prof", ".proftext", ".profdata", ".textprof", ".binprof", ".binary", ".extbinary", ".gcov"))
            if (profile or (name.endswith(".txt") and "prof" in name)) and ".raw." not in name and name != "test_kernel_module.textprof":
                yield os.path.join(here, name)


def check_input(tool, path, tmp):
    global done
    name = os.path.basename(path)
    reference, out = os.path.join(tmp, "reference"), os.path.join(tmp, "ours")
    if theirs(tool, reference, ["--text"], [path]).returncode != 0:
        result = ours(out, "llvm-text", [], [path])
        if result.returncode == 0 and name not in MORE_LENIENT:
            fail(f"{name}: llvm-profdata refuses it, we do not")
        if result.returncode != 0 and b"line " not in result.stderr and b"offset " not in result.stderr \
                and b"not a profile of a known format" not in result.stderr:
            fail(f"{name}: refused without a place: {result.stderr.decode(errors='replace')}")
        done += 1
        return
    if name in MORE_STRICT:
        return
    for label, flags, to, settings in ENCODINGS:
        expected = theirs(tool, reference, flags, [path])
        result = ours(out, to, settings, [path])
        done += 1
        if expected.returncode != 0:
            if result.returncode == 0:
                fail(f"{name} to {label}: llvm-profdata cannot write it: {expected.stderr.decode(errors='replace')}")
            continue
        if result.returncode != 0 and run([tool, "show", "--sample", reference]).returncode != 0:
            continue  # what it writes, it cannot read
        if result.returncode != 0:
            fail(f"{name} to {label}: {result.stderr.decode(errors='replace')}")
            continue
        a, b = read(reference), read(out)
        if a != b and to == "llvm-extbinary":
            if label == "compressed":  # seen through: the metadata's compressed bytes differ with its order
                if not same_text(tool, reference, out, tmp):
                    fail(f"{name} to {label}: llvm-profdata reads another profile from it")
            elif not same_but_for_metadata(tool, a, b, tmp) and not (label == "extbinary" and keeps_hashes(a, b)):
                fail(f"{name} to {label}: other bytes than llvm-profdata's")
        elif a != b:
            fail(f"{name} to {label}: other bytes than llvm-profdata's")
        if run([tool, "show", "--sample", out]).returncode != 0 and run([tool, "show", "--sample", reference]).returncode == 0:
            fail(f"{name} to {label}: llvm-profdata show refuses it")


def same_text(tool, one, other, tmp):
    texts = []
    for path in (one, other):
        if theirs(tool, os.path.join(tmp, "text"), ["--text"], [path]).returncode != 0:
            return False
        texts.append(read(os.path.join(tmp, "text")))
    return texts[0] == texts[1]


def keeps_hashes(reference, out):
    """Names that are hashes stay hashes with us; llvm-profdata prints them in decimal unless told --use-md5."""
    flags = {kind: flag for kind, flag, _ in sections(out)}
    return bool(flags[2] >> 32 & 1) and not {k: f for k, f, _ in sections(reference)}[2] >> 32 & 1


def check_weights(tool, tmp):
    """Our command merges its inputs; a weight is that many times the same input."""
    global done
    first, second = os.path.join(tmp, "first.prof"), os.path.join(tmp, "second.prof")
    with open(first, "w") as file:
        file.write("f:30:2\n 1: 20 a:4 b:6\n 2: g:10\n  0: 10\nh:5:5\n 0: 5\n")
    with open(second, "w") as file:
        file.write("f:7:1\n 1: 3 b:1 c:2\n 1.1: 4\nk:18446744073709551615:1\n 0: 18446744073709551615\n")
    reference, out = os.path.join(tmp, "reference"), os.path.join(tmp, "ours")
    for times in ((1, 1), (3, 2), (2, 4)):
        weighted = [f"--weighted-input={n},{path}" for n, path in zip(times, (first, second))]
        expected = run([tool, "merge", "--sample", "--text", "-o", reference, *weighted])
        result = ours(out, "llvm-text", [], [first] * times[0] + [second] * times[1])
        done += 1
        if expected.returncode or result.returncode:
            fail(f"weights {times}: {expected.stderr.decode(errors='replace')} / {result.stderr.decode(errors='replace')}")
        elif read(reference) != read(out):
            fail(f"weights {times}: {read(out).decode()} where llvm-profdata has {read(reference).decode()}")


def main():
    tool = profdata()
    if not tool or not PROFCONV:
        print("skipped: llvm-profdata is not installed" if not tool else "skipped: PROFCONV is not set")
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        for path in inputs():
            check_input(tool, path, tmp)
        check_weights(tool, tmp)
    print(f"{done} comparisons, {len(failures)} failures; corpus {'read' if os.path.isdir(CORPUS) else 'not there'}")
    return 1 if failures or done < 50 else 0


sys.exit(main())
