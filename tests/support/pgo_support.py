# SPDX-License-Identifier: MIT
"""What the tests of compilers' profiles share: running the command, reading GCC's profiles, sections of a binary."""
import os
import struct
import subprocess
import sys

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PROFCONV = os.environ.get("PROFCONV", "profconv")
SHARED = os.path.join(SOURCE, "..", "shared")
CORPUS = os.environ.get("PROFCONV_CORPUS") or os.path.join(SHARED, "corpus")
FAILURES = []


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def check(good, what):
    """One expectation; all are looked at before the test ends."""
    if not good:
        FAILURES.append(what)
        print("FAILED: " + what, flush=True)
    return good


def finish():
    print("%d failures" % len(FAILURES))
    sys.exit(1 if FAILURES else 0)


def run(*command, **more):
    return subprocess.run(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, errors="replace", **more)


def convert(*arguments):
    """profconv convert; (status, what it said)."""
    done = run(PROFCONV, "convert", *arguments)
    return done.returncode, done.stderr


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Gcov:
    """GCC's AutoFDO profile: {function: (head, body, calls)}, body {position: (count, {target: count})}, calls
    {(position, callee): (body, calls)}."""

    def __init__(self, data):
        self.data, self.at = data, 0
        magic, self.version, _ = self.u32(), self.u32(), self.u32()
        assert magic == 0x67636461 and self.version in (1, 2, 0x3430372a), (magic, self.version)
        assert self.u32() == 0xaa000000
        self.u32()
        self.names = [self.string() for _ in range(self.u32())]
        assert self.u32() == 0xac000000
        self.u32()
        self.functions = {}
        for _ in range(self.u32()):
            head = self.u64()
            name, body, calls = self.function()
            assert name not in self.functions
            self.functions[name] = (head, body, calls)

    def u32(self):
        self.at += 4
        return struct.unpack_from("<I", self.data, self.at - 4)[0]

    def u64(self):
        return self.u32() | self.u32() << 32

    def string(self):
        size = self.u32() * (1 if self.version == 2 else 4)
        self.at += size
        return self.data[self.at - size:self.at].rstrip(b"\0").decode()

    def function(self):
        name, positions, sites = self.names[self.u32()], self.u32(), self.u32()
        body, calls = {}, {}
        for _ in range(positions):
            at, targets, count = self.u32(), self.u32(), self.u64()
            found = {}
            for _ in range(targets):
                assert self.u32() == 7
                callee = self.names[self.u64()]
                found[callee] = self.u64()
            body[(at >> 16, at & 0xffff)] = (count, found)
        for _ in range(sites):
            at = self.u32()
            callee, inner, deeper = self.function()
            calls[((at >> 16, at & 0xffff), callee)] = (inner, deeper)
        return name, body, calls


def sections(path):
    """{name: (file offset, size)} of an ELF64 file."""
    data = read(path)
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    strings = rows[names][4]
    return {data[strings + r[0]:data.index(b"\0", strings + r[0])].decode(): (r[4], r[5]) for r in rows}
