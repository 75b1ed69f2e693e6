#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--jobs: what comes out, and what is said when something fails, does not depend on the number of threads."""

import glob
import gzip
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import mkpprof  # noqa: E402

PROFCONV = os.environ.get("PROFCONV")


def run(*args, stdin=b""):
    done = subprocess.run([PROFCONV, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def folded(lines, seed):
    """Text of some lines, of which no two are alike."""
    choose = random.Random(seed)
    return "".join("main;%s;leaf%d %d\n" % (";".join("f%d" % choose.randrange(300) for _ in range(12)), i, choose.randrange(1, 90))
                   for i in range(lines)).encode()


def code_of(path):
    """File offset and size of the executable segment of a 64-bit little-endian ELF file, or None."""
    with open(path, "rb") as file:
        head = file.read(4096)
    if head[:6] != b"\x7fELF\x02\x01":
        return None
    at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    for i in range(count):
        if at + (i + 1) * size <= len(head):
            kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", head, at + i * size)
            if kind == 1 and flags & 1:
                return offset, length
    return None


def addresses_in(files):
    """A pprof of addresses alone, some hundred in each file."""
    s, choose = mkpprof.Strings(), random.Random(7)
    out, number = mkpprof.value_type(s, "samples", "count"), 0
    for i, (path, (offset, size)) in enumerate(files, 1):
        start = i << 40
        out += mkpprof.mapping(s, i, start, start + size, offset, path)
        for _ in range(300):
            number += 1
            out += mkpprof.location(number, i, start + choose.randrange(size)) + mkpprof.sample([number], [1])
    return out + s.fields()


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="profconv-jobs-")
        cls.files = []
        for i in range(9):
            path = os.path.join(cls.dir, "in%d.pb.gz" % i)
            status, _, err = run("convert", "-f", "collapsed", "-o", path, "-", stdin=folded(30000 if i == 0 else 200 * i, i))
            assert status == 0, err
            cls.files.append(path)
        cls.large = cls.files[0]
        with gzip.open(cls.large) as file:
            assert len(file.read()) > 1 << 20  # long enough for a thread to inflate it

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def test_convert(self):
        for target in "pprof", "collapsed", "flamegraph":
            expected = run("convert", "-q", "-t", target, self.large)
            self.assertEqual(expected[0], 0, expected[2])
            for jobs in "0", "1", "2", "5":
                self.assertEqual(run("convert", "-q", "-j", jobs, "-t", target, self.large), expected)

    def test_merge(self):
        expected = run("merge", "-q", *self.files)
        self.assertEqual(expected[0], 0, expected[2])
        for jobs in "0", "2", "3", "9", "40":
            self.assertEqual(run("merge", "-q", "--jobs=" + jobs, *self.files), expected)
        self.assertEqual(run("convert", "-q", "-t", "pprof", "-j4", *self.files), run("convert", "-q", "-t", "pprof", *self.files))
        weighted = ["merge", "-q", "--weighted-input=3," + self.files[2], self.files[4], self.files[1]]
        self.assertEqual(run(*weighted, "-j", "3"), run(*weighted))

    def test_symbols_of_many_files(self):
        files = [(PROFCONV, code_of(PROFCONV))]
        for path in sorted(glob.glob("/lib/*/lib*.so.*") + glob.glob("/usr/lib/*/lib*.so.*")):
            if len(files) < 24 and os.path.realpath(path) == path and code_of(path):
                files.append((path, code_of(path)))
        if len(files) < 4 or not files[0][1]:
            self.skipTest("fewer than four ELF files that this test can read")
        files.insert(2, ("/no/such/file", (4096, 8192)))
        path = os.path.join(self.dir, "addresses.pb")
        with open(path, "wb") as file:
            file.write(addresses_in(files))
        expected = run("convert", "-v", "-t", "pprof", path)
        self.assertEqual(expected[0], 0, expected[2])
        self.assertIn("/no/such/file", expected[2])
        self.assertGreater(len(set(run("convert", "-q", "-t", "collapsed", path)[1].split())), 500)
        for jobs in "2", "3", "16":
            self.assertEqual(run("convert", "-v", "-j", jobs, "-t", "pprof", path), expected)

    def test_bad_inputs_are_told_in_their_order(self):
        bad = os.path.join(self.dir, "bad.pb.gz")
        with open(bad, "wb") as file:
            file.write(b"nothing that is a profile")
        inputs = [self.files[1], bad, os.path.join(self.dir, "absent"), self.files[0], self.files[2]]
        for more in [], ["--keep-going"]:
            expected = run("merge", *more, *inputs)
            self.assertEqual(expected[0], 0 if more else 1)
            for jobs in "2", "3", "8":
                self.assertEqual(run("merge", "-j", jobs, *more, *inputs), expected)

    def test_damaged_gzip(self):
        with open(self.large, "rb") as file:
            data = file.read()
        flipped = bytearray(data)
        for at in range(len(data) // 2, len(data) // 2 + 64):
            flipped[at] ^= 0x5a
        for name, content in ("cut.pb.gz", data[:len(data) * 2 // 3]), ("flipped.pb.gz", bytes(flipped)), ("crc.pb.gz", data[:-8] + bytes(8)):
            path = os.path.join(self.dir, name)
            with open(path, "wb") as file:
                file.write(content)
            expected = run("convert", "-t", "collapsed", "-f", "pprof", path)
            self.assertEqual(expected[0], 1, name)
            self.assertEqual(run("convert", "-j", "2", "-t", "collapsed", "-f", "pprof", path), expected)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk(self):
        expected = run("convert", "-o", "/dev/full", "-t", "pprof", self.large)
        self.assertEqual(expected[0], 1)
        self.assertIn("No space left", expected[2])
        self.assertEqual(run("convert", "-j", "2", "-o", "/dev/full", "-t", "pprof", self.large), expected)

    def test_pipes(self):
        with open(self.large, "rb") as file:
            data = file.read()
        self.assertEqual(run("convert", "-q", "-j", "2", "-t", "pprof", "-", stdin=data), run("convert", "-q", "-t", "pprof", "-", stdin=data))
        # A reader that goes away: an ordinary failure, not a hang.
        writer = subprocess.Popen([PROFCONV, "convert", "-q", "-j", "2", "-t", "pprof", self.large], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        writer.stdout.close()
        writer.stderr.read()
        writer.stderr.close()
        self.assertNotEqual(writer.wait(timeout=60), 0)

    def test_numbers(self):
        for text in "-1", "x", "", "2x", "257":
            status, _, err = run("convert", "--jobs=" + text, "-t", "pprof", self.large)
            self.assertEqual(status, 2)
            self.assertIn("0 to 256", err)


if __name__ == "__main__":
    unittest.main()
