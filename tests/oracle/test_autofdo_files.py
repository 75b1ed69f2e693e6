#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of AutoFDO's tools, from the corpus: the maps of every recording that has them, byte for byte; GCC profiles read and written
again with the same content, parsed here (create_gcov leaves call sites in the order of a hash table, and its working set counts
instructions that the file does not hold). dump_gcov, where it is installed, reads ours.
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
MAPS = [  # recording, binary, expected
    ("autofdo/test.lbr", "test.binary", "autofdo/expected/test.maps.txt"),
    ("lbr/shapes.clang.lbr.data", "shapes.clang", "lbr/expected/shapes.clang.maps.txt"),
    ("lbr/shapes.gcc.lbr.data", "shapes.gcc", "lbr/expected/shapes.gcc.maps.txt"),
    ("lbr/sorting.gcc.lbr.data", "sorting.gcc", "lbr/expected/sorting.gcc.maps.txt"),
    ("perfdata/real/perf-kernel.data", "[kernel.kallsyms]", "autofdo/expected/perf-kernel.maps.txt"),
    ("perfdata/real/perf-vmlinux.data", None, "autofdo/expected/perf-vmlinux.maps.txt"),
    ("perfdata/real/propeller_sample_1.perfdata1", "572ac72487ae1966", "autofdo/expected/propeller_sample_1.maps.txt"),
    ("perfdata/real/ro_sample.perf", "libro_sample.so", "autofdo/expected/ro_sample.maps.txt"),
]
PROFILES = [  # file, version, dump_gcov's flag
    ("lbr/expected/shapes.gcc.create_gcov_v2.afdo", "2", None),
    ("lbr/expected/sorting.gcc.create_gcov_v2.afdo", "2", None),
    ("autofdo/expected/test.create_gcov_v1.afdo", "704", str(0x3430372A)),
    ("autofdo/expected/test.create_gcov_v1.afdo", "1", "1"),
]
failures = []


def check(good, text):
    print("ok" if good else "FAIL", text)
    if not good:
        failures.append(text)


def convert(to, out, settings, path):
    command = [PROFCONV, "convert", "-t", to, "-o", out]
    for setting in settings:
        command += ["-s", setting]
    return subprocess.run(command + [path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Gcov:
    """Versions 1, 2 and *704: names and functions, as sorted tuples."""

    def __init__(self, data):
        self.data, self.at = data, 4
        version = self.word()
        self.words = version in (1, 0x3430372A)
        self.expect(0, 0xAA000000)
        self.word()
        self.names = [self.string() for _ in range(self.word())]
        self.expect(0xAC000000)
        self.word()
        self.functions = sorted((self.counter(), self.function()) for _ in range(self.word()))

    def word(self):
        value = struct.unpack_from("<I", self.data, self.at)[0]
        self.at += 4
        return value

    def counter(self):
        return self.word() | self.word() << 32

    def expect(self, *words):
        for word in words:
            if self.word() != word:
                raise ValueError(f"offset {self.at - 4}: 0x{word:x} expected")

    def string(self):
        size = self.word() * (4 if self.words else 1)
        self.at += size
        return self.data[self.at - size:self.at].split(b"\0")[0].decode()

    def function(self):
        name, positions, calls = self.names[self.word()], self.word(), self.word()
        body = []
        for _ in range(positions):
            offset, targets, count = self.word(), self.word(), self.counter()
            body.append((offset, count, tuple(sorted((self.word(), self.names[self.counter()], self.counter())
                                                     for _ in range(targets)))))
        return name, tuple(sorted(body)), tuple(sorted((self.word(), self.function()) for _ in range(calls)))


def main():
    if not PROFCONV or not os.path.isdir(CORPUS):
        print("skipped: PROFCONV is not set" if not PROFCONV else "skipped: the corpus is not there")
        return 77
    tool = shutil.which("dump_gcov")
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "out")
        for recording, binary, expected in MAPS:
            result = convert("autofdo-text", out, [f"autofdo-text.binary={binary}"] if binary else [], os.path.join(CORPUS, recording))
            check(result.returncode == 0 and read(out) == read(os.path.join(CORPUS, expected)), f"{expected}")
        for path, version, flag in PROFILES:
            source = os.path.join(CORPUS, path)
            result = convert("gcc-afdo", out, [f"gcc-afdo.version={version}"], source)
            if result.returncode != 0:
                check(False, f"{path}: {result.stderr.decode(errors='replace')}")
                continue
            before, after = Gcov(read(source)), Gcov(read(out))
            check(sorted(set(before.names)) == sorted(after.names), f"{path}, version {version}: names")
            check(before.functions == after.functions, f"{path}, version {version}: functions")
            if tool and flag:
                dump = subprocess.run([tool, f"-gcov_version={flag}", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
                check(dump.returncode == 0 and b" total:" in dump.stdout, f"dump_gcov reads version {version}")
    return 1 if failures else 0


sys.exit(main())
