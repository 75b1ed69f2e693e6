#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jitdump files: names by the time of the sample, code that moves, lines, files cut at any byte, files that are something else."""
import os
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import mkperf  # noqa: E402

USE_CLOCKID = 1 << 25
JIT = 0x7f0000000000
failures = 0


class Dump:
    def __init__(self, order="<", flags=0):
        self.e = order
        self.data = struct.pack(order + "IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 8, 0, flags)

    def record(self, id, time, body):
        self.data += struct.pack(self.e + "IIQ", id, 16 + len(body), time) + body

    def load(self, time, address, size, index, name):
        self.record(0, time, struct.pack(self.e + "IIQQQQ", 8, 8, address, address, size, index) + name.encode() + b"\0" + bytes(size))

    def move(self, time, old, new, size, index):
        self.record(1, time, struct.pack(self.e + "IIQQQQQ", 8, 8, new, old, new, size, index))

    def lines(self, time, address, rows):
        body = struct.pack(self.e + "QQ", address, len(rows))
        for at, line, file in rows:
            body += struct.pack(self.e + "QII", address + at, line, 0) + file + b"\0"
        self.record(2, time, body)


def program(order="<"):
    d = Dump(order)
    d.lines(90, JIT + 0x100, [(0, 10, b"app.js"), (16, 11, b"\xff"), (32, 50, b"lib.js")])
    d.load(100, JIT + 0x100, 64, 1, "first version")
    d.load(100, JIT + 0x200, 32, 2, "LCaller;::run")
    d.record(4, 120, bytes(40))  # unwinding information, which precedes its code
    d.load(200, JIT + 0x100, 64, 3, "second version")
    d.move(300, JIT + 0x100, JIT + 0x800, 64, 3)
    d.load(10 ** 6, JIT + 0x200, 32, 4, "after the end")
    d.record(3, 10 ** 6 + 1, b"")
    return d.data


def recording(path, monotonic=True):
    p = mkperf.Perf(mkperf.IP | mkperf.TID | mkperf.TIME | mkperf.PERIOD | mkperf.IDENTIFIER | mkperf.CHAIN)
    p.event("cycles", type=0, flags=USE_CLOCKID if monotonic else 0, clockid=1 if monotonic else 0)
    p.comm(8, 8, "js", time=1)
    p.mmap2(8, JIT, 0x1000, 0, "/memfd:jit (deleted)", time=50, prot=7)
    p.mmap2(8, JIT + 0x10000, 0x1000, 0, path, time=60)
    for time, address in ((95, 0x110), (150, 0x110), (160, 0x121), (250, 0x110), (350, 0x110), (350, 0x810)):
        p.sample(8, 8, time, JIT + address, [mkperf.USER, JIT + address, JIT + 0x205])
    p.mmap2(8, JIT, 0x1000, 0, "//anon", time=400, prot=7)  # the whole region again: its code is still there
    p.sample(8, 8, 450, JIT + 0x810, [mkperf.USER, JIT + 0x810, JIT + 0x205])
    return p.file()


def convert(data, *more):
    done = subprocess.run([PROFCONV, "convert", "-f", "perf-data", "-t", "collapsed", "-o", "-", "-s", "collapsed.tidy=none"] + list(more) + [data],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, sorted(done.stdout.decode().split("\n")[:-1]), done.stderr.decode()


def expect(what, got, expected):
    global failures
    if got != expected:
        failures += 1
        print("%s:\n  got      %r\n  expected %r" % (what, got, expected))


def main():
    if not PROFCONV:
        print("skipped: no command (PROFCONV)")
        return 77
    caller = "LCaller:::run"
    timed = sorted(["js;[memfd:jit (deleted)];[memfd:jit (deleted)] 1000", "js;%s;first version 2000" % caller,
                    "js;%s;second version 3000" % caller, "js;%s;[jit-8.dump] 1000" % caller])
    untimed = sorted(["js;after the end;[jit-8.dump] 5000", "js;after the end;second version 2000"])
    with tempfile.TemporaryDirectory() as root:
        dump, data = os.path.join(root, "jit-8.dump"), os.path.join(root, "perf.data")
        with open(data, "wb") as out:
            out.write(recording(dump))
        for order in "<>":
            with open(dump, "wb") as out:
                out.write(program(order))
            status, stacks, errors = convert(data)
            expect("names by time, order " + order, (status, stacks), (0, timed))
        if failures:
            print(errors)
        # Lines, by the recorded dump of the model.
        done = subprocess.run([PROFCONV, "dump", data], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        text = done.stdout.decode(errors="replace")
        for piece in ("app.js", "lib.js"):
            expect("lines name " + piece, piece in text, True)
        # In another place: the setting, and --symfs.
        moved = os.path.join(root, "elsewhere")
        os.makedirs(moved)
        os.rename(dump, os.path.join(moved, "jit-8.dump"))
        status, stacks, errors = convert(data)
        expect("no file", (status, any("jit-8.dump" in line for line in errors.split("\n")), stacks == timed), (0, True, False))
        status, stacks, _ = convert(data, "-s", "symbolize.jitdump-dir=" + moved)
        expect("jitdump-dir", (status, stacks), (0, timed))
        status, stacks, _ = convert(data, "-s", "symbolize.jitdump-dir=" + moved, "-s", "perf-data.jitdump=no")
        expect("jitdump=no", any("version" in stack for stack in stacks), False)
        # Another clock: the last code at an address.
        other = os.path.join(root, "other.data")
        with open(other, "wb") as out:
            out.write(recording(dump, monotonic=False))
        status, stacks, _ = convert(other, "-s", "symbolize.jitdump-dir=" + moved)
        expect("another clock", (status, stacks), (0, untimed))
        # Cut at any byte, and every byte changed: the samples stay.
        whole = program()
        step = 11 if os.environ.get("PROFCONV_SANITIZED") else 5
        for size in range(0, len(whole), step):
            for variant in (whole[:size], whole[:size] + bytes([whole[size] ^ 0xff]) + whole[size + 1:]):
                with open(dump, "wb") as out:
                    out.write(variant)
                status, stacks, errors = convert(data)
                if status or sum(int(stack.rsplit(" ", 1)[1]) for stack in stacks) != 7000:
                    expect("damaged at %d" % size, (status, stacks, errors), 0)
        # What must not be read for a jitdump file.
        os.remove(dump)
        os.mkfifo(dump)
        expect("a FIFO", convert(data)[0], 0)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
