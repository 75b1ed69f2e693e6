#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the seeds of the source-profile formats, from encoders of its own, so that readers meet files that the
library's writers did not make. usage: mksource.py FOLDER   (the folder that holds one folder a format)
"""
import hashlib
import os
import struct
import sys
import zlib

MAGIC_RAW, MAGIC_EXT, MAGIC_COMPACT = 0x5350524F463432FF, 0x5350524F46343204, 0x5350524F46343202


def uleb(value):
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def u32(value):
    return struct.pack("<I", value & 0xFFFFFFFF)


def u64(value):
    return struct.pack("<Q", value)


def guid(name):
    return int.from_bytes(hashlib.md5(name.encode()).digest()[:8], "little")


class Function:
    """body: (line, discriminator) -> (count, {target: count}); calls: [((line, discriminator), Function)]"""

    def __init__(self, name, total, head=0, body=None, calls=None, checksum=0, attributes=0, context=()):
        self.name, self.total, self.head = name, total, head
        self.body, self.calls = body or {}, calls or []
        self.checksum, self.attributes, self.context = checksum, attributes, context

    def names(self):
        out = {self.name} | {name for name, _, _ in self.context}
        for _, targets in self.body.values():
            out |= set(targets)
        for _, callee in self.calls:
            out |= callee.names()
        return out

    def record(self, index, first):
        out = uleb(first) + uleb(self.total) + uleb(len(self.body))
        for (line, disc), (count, targets) in sorted(self.body.items()):
            out += uleb(line) + uleb(disc) + uleb(count) + uleb(len(targets))
            for name, n in sorted(targets.items(), key=lambda t: (-t[1], t[0])):
                out += uleb(index[name]) + uleb(n)
        out += uleb(len(self.calls))
        for (line, disc), callee in sorted(self.calls, key=lambda c: (c[0], c[1].name)):
            out += uleb(line) + uleb(disc) + callee.record(index, index[callee.name])
        return out

    def metadata(self, index, first, probes, attributes, context):
        out = uleb(first)
        out += uleb(self.checksum) if probes else b""
        out += uleb(self.attributes) if attributes else b""
        if not context:
            out += uleb(len(self.calls))
            for (line, disc), callee in sorted(self.calls, key=lambda c: (c[0], c[1].name)):
                out += uleb(line) + uleb(disc) + callee.metadata(index, index[callee.name], probes, attributes, context)
        return out


def sample():
    deep = Function("deep.llvm.123", 7, body={(0, 0): (7, {})})
    inl = Function("inl", 790, body={(1, 0): (390, {}), (3, 2): (400, {"baz": 22})}, calls=[((3, 0), deep)])
    main = Function("main", 1500, 0, {(0, 0): (10, {}), (2, 1): (700, {"foo": 400, "bar<int (char)>": 300})},
                    [((4, 0), inl)])
    return [main, Function("foo", 400, 400, {(1, 0): (400, {})})]


def with_contexts():
    return [Function("bar", 20, 3, {(1, 0): (20, {})}, checksum=5, attributes=1,
                     context=(("main", 3, 0), ("foo", 2, 1))),
            Function("main", 9, 0, {(3, 0): (9, {"foo": 9})}, checksum=6)]


def summary(functions, flags=0):
    # Readers do not keep it; zeros but for the number of cutoffs are a valid one.
    return uleb(0) * 5 + uleb(1) + uleb(990000) + uleb(1) + uleb(1)


def table(functions):
    names = sorted(set().union(*(f.names() for f in functions)))
    return names, {name: i for i, name in enumerate(names)}


def raw(functions, magic=MAGIC_RAW, version=103):
    names, index = table(functions)
    out = uleb(magic) + uleb(version) + summary(functions)
    out += uleb(len(names)) + b"".join(n.encode() + b"\0" for n in names)
    for f in functions:
        out += uleb(f.head) + f.record(index, index[f.name])
    return out


def compact(functions, table_at=None):
    names, index = table(functions)
    out = uleb(MAGIC_COMPACT) + uleb(103) + summary(functions)
    out += uleb(len(names)) + b"".join(uleb(guid(n)) for n in names)
    at = len(out) + 8
    body, offsets = b"", []
    for f in functions:
        offsets.append((index[f.name], at + len(body)))
        body += uleb(f.head) + f.record(index, index[f.name])
    out += u64(at + len(body) if table_at is None else table_at) + body
    return out + uleb(len(offsets)) + b"".join(uleb(i) + uleb(o) for i, o in offsets)


def ext(sections):
    """sections: [(type, flags, bytes)] in the order of the header; stored in that order."""
    at = 9 + 1 + 8 + 32 * len(sections)
    header, body = uleb(MAGIC_EXT) + uleb(103) + u64(len(sections)), b""
    for kind, flags, data in sections:
        if flags & 1 and data:
            packed = zlib.compress(data)
            data = uleb(len(data)) + uleb(len(packed)) + packed
        header += u64(kind) + u64(flags) + u64(at + len(body)) + u64(len(data))
        body += data
    return header + body


def ext_sections(functions, md5=None, context=False, probes=False, attributes=False, symbols=(), flags=0):
    names, index = table(functions)
    names_flags, encoded = 0, uleb(len(names))
    if md5 == "fixed":
        names_flags, encoded = 3 << 32, encoded + b"".join(u64(guid(n)) for n in names)
    elif md5 == "uleb":
        names_flags, encoded = 1 << 32, encoded + b"".join(uleb(guid(n)) for n in names)
    else:
        encoded += b"".join(n.encode() + b"\0" for n in names)
    rows = functions if context else []
    contexts = uleb(len(rows))
    for f in rows:
        frames = [*f.context, (f.name, 0, 0)]
        contexts += uleb(len(frames)) + b"".join(uleb(index[n]) + uleb(l) + uleb(d) for n, l, d in frames)
    body, offsets, meta = b"", b"", b""
    for i, f in enumerate(functions):
        first = i if context else index[f.name]
        offsets += uleb(first) + uleb(len(body))
        body += uleb(f.head) + f.record(index, first)
        if probes or attributes:
            meta += f.metadata(index, first, probes, attributes, context)
    return [[1, flags | (2 << 32 if context else 0), summary(functions)], [2, names_flags, encoded], [6, 0, contexts],
            [4, (1 << 32) if context else 0, uleb(len(functions)) + offsets], [32, 0, body],
            [3, 0, b"".join(s.encode() + b"\0" for s in symbols)],
            [5, (1 << 32 if probes else 0) | (2 << 32 if attributes else 0), meta]]


def gcc(functions, version, words, timed=False):
    names = [""] + table(functions)[0]
    index = {name: i for i, name in enumerate(names)}

    def string(text):
        data = text.encode()
        if words:
            n = (len(data) + 4) // 4
            return u32(n) + data.ljust(4 * n, b"\0")
        return u32(len(data) + 1) + data + b"\0"

    def function(f):
        out = u32(index[f.name]) + u32(len(f.body)) + u32(len(f.calls))
        for (line, disc), (count, targets) in sorted(f.body.items()):
            out += u32(line << 16 | disc) + u32(len(targets)) + u64(count)
            for name, n in sorted(targets.items()):
                out += u32(7) + u64(index[name]) + u64(n)
        for (line, disc), callee in f.calls:
            out += u32(line << 16 | disc) + function(callee)
        return out

    out = b"adcg" + u32(version) + u32(0)
    if timed:
        out += u32(0xA8000000) + u64(0) * 5 + u64(1) + u32(990000) + u64(1) + u64(1)
    out += u32(0xAA000000) + u32(0)
    if timed:
        out += u32(1) + string("main.c")
    out += u32(len(names))
    for name in names:
        out += string(name) + (u32(0 if name == "main" else 0xFFFFFFFF) if timed else b"")
    out += u32(0xAC000000) + u32(0) + u32(len(functions))
    for i, f in enumerate(functions):
        out += u64(f.head) + (u64(1000 + i) if timed else b"") + function(f)
    out += u32(0xAE000000) + u32(0) + u32(0)
    return out + u32(0xAF000000) + u32(384) + (u32(0) + u64(0)) * 128


TEXT = """\
# own example
main:1500:0
 0: 10
 2.1: 700 foo:400 bar<int (char)>:300
 4: inl:790
  1: 390
  3.2: 400 baz:22
  3: deep.llvm.123:7
   0: 7
foo:400:400
 1: 400
"""
CONTEXTS = """\
[main:3 @ foo:2.1 @ bar]:20:3
 1: 20
 !CFGChecksum: 5
 !Attributes: 1
[main]:9:0
 3: 9 foo:9
 !CFGChecksum: 6
"""


def files():
    plain, cs = sample(), with_contexts()
    yield "llvm-text/plain.prof", TEXT
    yield "llvm-text/context.prof", CONTEXTS
    yield "llvm-text/crlf.prof", TEXT.replace("\n", "\r\n")
    yield "llvm-text/no_end.prof", TEXT[:-1]
    yield "llvm-text/odd_names.prof", ("\n   \n  # indented comment\noperator new(unsigned long):30:1\n 1: 10 a::b(c, d):5 x y:4\n"
                                       " 2: std::f<a:1>:20\n  65535: 20\n123:4:0\n 0: 4 99:4\n")
    yield "llvm-text/deep.prof", "f:1:0\n" + "".join("%s1: g%d:1\n" % (" " * (i + 1), i) for i in range(40)) + " " * 41 + "1: 1\n"
    yield "llvm-text/twice.prof", "f:1:1\n 1: 1 a:1 a:3\n 1: 4 a:2\n 70000.1: 1\nf:2:2\n 1: 2\n"
    yield "llvm-text/full.prof", "f:18446744073709551615:1\n 1: 18446744073709551615\n"
    yield "llvm-text/newer.prof", "f:10:1\n 1: 10 g:5\n 1: vtables _ZTV1A:3 _ZTV1B:2 \n !Flat\n"
    yield "llvm-text/nested_metadata.prof", ("f:10:1\n 1: 5\n 2: g:5\n  1: 5\n  !CFGChecksum: 7\n  !Attributes: 3\n !CFGChecksum: 8\n")
    for name, text in {
            "header": "main:10\n 1: 10\n", "head_number": "main:10:x\n 1: 10\n", "offset": "main:10:1\n 65536: 10\n",
            "discriminator": "main:10:1\n 1.-3: 10\n", "count": "main:10:1\n 1: 10x\n", "negative": "main:10:1\n 1: -10\n",
            "target": "main:10:1\n 1: 10 foo:\n", "metadata_order": "main:10:1\n !CFGChecksum: 5\n 1: 10\n",
            "metadata": "main:10:1\n 1: 10\n !Unknown: 5\n", "overflow": "main:18446744073709551616:1\n",
            "context": "[main:3 @ ]:10:1\n", "tab": "main:10:1\n\t1: 10\n", "first": " 1: 10\n"}.items():
        yield "llvm-text/bad_%s.prof" % name, text
    yield "llvm-binary/plain.bin", raw(plain)
    yield "llvm-binary/bad_version.bin", raw(plain, version=104)
    yield "llvm-binary/bad_name.bin", raw(plain)[:-7] + b"\x3f" + raw(plain)[-6:]
    yield "llvm-binary/bad_cut.bin", raw(plain)[:-3]
    yield "llvm-binary/bad_line.bin", raw([Function("f", 1, 1, {(65536, 0): (1, {})})])
    yield "llvm-compact/plain.compact", compact(plain)
    yield "llvm-compact/bad_table.compact", compact(plain, 1 << 40)
    sections = ext_sections(plain)
    yield "llvm-extbinary/plain.ext", ext(sections)
    yield "llvm-extbinary/compressed.ext", ext([[k, f | 1, d] for k, f, d in sections])
    yield "llvm-extbinary/md5_fixed.ext", ext(ext_sections(plain, "fixed"))
    yield "llvm-extbinary/md5_uleb.ext", ext(ext_sections(plain, "uleb"))
    yield "llvm-extbinary/symbols.ext", ext(ext_sections(plain, symbols=["cold_one", "main"], flags=(1 | 4) << 32))
    yield "llvm-extbinary/context.ext", ext(ext_sections(cs, context=True, probes=True, attributes=True))
    checked = sample()
    for i, function in enumerate(checked):
        function.checksum = 11 + i
    checked[0].calls[0][1].checksum, checked[0].calls[0][1].attributes = 13, 2
    yield "llvm-extbinary/nested_metadata.ext", ext(ext_sections(checked, probes=True, attributes=True, flags=16 << 32))
    yield "llvm-extbinary/unknown.ext", ext(sections + [[99, 0, b"not known"]])
    yield "llvm-extbinary/only_unknown.ext", ext(sections[:2] + [[33, 0, b"typified"]])
    names, index = table(plain)
    halves = [uleb(f.head) + f.record(index, index[f.name]) for f in plain]
    yield "llvm-extbinary/split.ext", ext([sections[0], sections[1], [4, 0, b"\0"], [32, 0, halves[0]], [4, 2, b"\0"],
                                           [32, 2, halves[1]], [3, 0, b""], [5, 0, b""]])
    vtables = uleb(1) + uleb(1) + uleb(0) + uleb(1) + uleb(0) + uleb(5)
    one = [Function("f", 1, 1, {(1, 0): (1, {})})]
    with_vtables = ext_sections(one, flags=32 << 32)
    with_vtables[4][2] += vtables
    yield "llvm-extbinary/vtables.ext", ext(with_vtables)
    good = ext(sections)
    yield "llvm-extbinary/bad_section.ext", good[:18 + 16] + u64(1 << 40) + good[18 + 24:]
    yield "llvm-extbinary/bad_count.ext", good[:10] + u64(1 << 60) + good[18:]
    yield "llvm-extbinary/bad_rest.ext", ext([[k, f, d + b"\0" if k == 1 else d] for k, f, d in sections])
    packed = bytearray(ext([[k, f | (k == 32), d] for k, f, d in sections]))
    packed[packed.rfind(b"\x78\x9c") + 4] ^= 0xFF
    yield "llvm-extbinary/bad_zlib.ext", bytes(packed)
    bomb = uleb(1 << 40) + uleb(4) + b"abcd"
    yield "llvm-extbinary/bad_bomb.ext", ext(sections[:1])[:26] + u64(1) + ext(sections[:1])[34:42] + u64(len(bomb)) + bomb
    yield "llvm-extbinary/bad_fixed.ext", ext([[k, f | ((2 << 32) if k == 2 else 0), d] for k, f, d in sections])
    yield "gcc-afdo/v1.afdo", gcc(plain, 1, True)
    yield "gcc-afdo/v2.afdo", gcc(plain, 2, False)
    yield "gcc-afdo/v2_words.afdo", gcc(plain, 2, True)
    yield "gcc-afdo/v3.afdo", gcc(plain, 3, False, True)
    yield "gcc-afdo/v704.afdo", gcc(plain, 0x3430372A, True)
    yield "gcc-afdo/v704_timed.afdo", gcc(plain, 0x3430372A, False, True)
    yield "gcc-afdo/bad_version.afdo", gcc(plain, 9, False)
    yield "gcc-afdo/bad_cut.afdo", gcc(plain, 2, False)[:180]
    yield "gcc-afdo/bad_target.afdo", gcc(plain, 2, False).replace(u32(7) + u64(1), u32(8) + u64(1))
    yield "autofdo-text/plain.txt", "2\n1050-1055:2000\n105a-1066:2000\n1\n11a0:50\n1\n1066->1180:2000\n"
    yield "autofdo-text/addresses.txt", "0\n2\n10:1\n20:2\n0\n"
    yield "autofdo-text/tolerant.txt", "1\r\n 0x10-0x1F: 3\r\n1\r\n0x12: 4\n\n1\n1F->10:5\nfree text\n"
    yield "autofdo-text/twice.txt", "2\n10-20:1\n10-20:2\n0\n0\n"
    for name, text in {"count": "x\n0\n0\n", "cut": "2\n10-20:1\n", "backward": "1\n20-10:1\n0\n0\n", "arrow": "0\n0\n1\n10-20:1\n",
                       "number": "1\n10-20:x\n0\n0\n"}.items():
        yield "autofdo-text/bad_%s.txt" % name, text
    yield "profgen-raw/plain.raw", "2\n50-55:2000\n5a-66:2000\n2\nffffffffffc00001->50:7\n66->180:2000\n"
    yield "profgen-raw/context.raw", "[main:2 @ foo]\n  1\n  20-2f:7\n  1\n  2f->10:6\n[main]\n  1\n  10-1b:9\n  0\n"
    yield "profgen-raw/empty_context.raw", "[]\n  0\n  1\n  ffffffffffc00001->10:6\n"
    for name, text in {"range": "1\n20-10:1\n0\n", "cut": "1\n10-20:1\n2\n20->10:1\n", "context": "[main\n0\n0\n"}.items():
        yield "profgen-raw/bad_%s.raw" % name, text
    yield "bolt-fdata/plain.fdata", ("0 [unknown] 0 1 main 0 0 1\n1 main 3a 1 main 1f 8 400\n1 main 44 1 work/1 0 0 20\n"
                                     "1 work/1 c 0 [unknown] 0 0 20\n")
    yield "bolt-fdata/escaped.fdata", "boltedcollection\n1 a\\ b\\\\c 10 1 main 0 1 2\n"
    yield "bolt-fdata/samples.fdata", "no_lbr cycles:u\n1 main 10 5\n1 main 14 7\n"
    yield "bolt-fdata/loads.fdata", "1 main 10 1 main 4 0 3\n4 main 12 3 [heap] 0 9\n"
    for name, text in {"kind": "7 main 0 1 main 0 0 1\n", "cut": "1 main 10 1 main\n", "count": "1 main 10 1 main 4 0\n",
                       "offset": "no_lbr\n1 main zz 4\n"}.items():
        yield "bolt-fdata/bad_%s.fdata" % name, text


def main():
    for name, data in files():
        path = os.path.join(sys.argv[1], name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data.encode() if isinstance(data, str) else data)


main()
