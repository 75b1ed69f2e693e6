#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes small perf.data files, one scenario each: seeds of the fuzzer and inputs of the reader's tests.

    mkperf.py DIRECTORY      writes every scenario into it
Standard library only; zstd frames are written with raw blocks, which need no compressor.
"""
import os
import struct
import sys

U64 = (1 << 64) - 1
IP, TID, TIME, READ, CHAIN, ID, CPU, PERIOD = 1, 2, 4, 16, 32, 64, 128, 256
RAW, BRANCH, REGS, STACK, IDENTIFIER = 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 16
KERNEL, USER, DEFERRED = -128 & U64, -512 & U64, -640 & U64
M_KERNEL, M_USER, M_GUEST = 1, 2, 4
FREQ, SAMPLE_ID_ALL = 1 << 10, 1 << 18
KTEXT = 0xffffffff81000000


def pad(data, n=8):
    return data + bytes(-len(data) % n)


class Perf:
    """One recording: events, records, features, and how they are laid out."""

    def __init__(self, sample_type=IP | TID | TIME | PERIOD | IDENTIFIER | CHAIN, big=False, flags=SAMPLE_ID_ALL):
        self.e = ">" if big else "<"
        self.big = big
        self.sample_type = sample_type
        self.flags = flags
        self.events = []
        self.records = []
        self.features = {}

    def pack(self, form, *values):
        return struct.pack(self.e + form, *values)

    # ---- events ----
    def event(self, name, type=1, config=0, period=1000, ids=(1,), read_format=4, branch=0, flags=0, sample_type=None,
              clockid=0, registers=0x107):
        flags |= self.flags
        if self.big:
            flags = int(f"{flags:064b}"[::-1], 2)
        attr = self.pack("IIQQQQQIIQQQQIiQIHHIIQ", type, 128, config, period, sample_type or self.sample_type, read_format,
                         flags, 0, 0, 0, 0, branch, registers, 8, clockid, 0, 0, 0, 0, 0, 0, 0)
        self.events.append((name, attr, list(ids)))

    # ---- records ----
    def record(self, type, misc, body, at=None):
        data = self.pack("IHH", type, misc, 8 + len(body)) + body
        self.records.insert(len(self.records) if at is None else at, data)
        return data

    def trailer(self, pid, tid, time, id=1, cpu=0):
        t, out = self.sample_type, b""
        if not self.flags & SAMPLE_ID_ALL:
            return out
        if t & TID:
            out += self.pack("II", pid & 0xffffffff, tid)
        if t & TIME:
            out += self.pack("Q", time)
        if t & ID:
            out += self.pack("Q", id)
        if t & CPU:
            out += self.pack("II", cpu, 0)
        if t & IDENTIFIER:
            out += self.pack("Q", id)
        return out

    def comm(self, pid, tid, name, time=0, exec=False):
        self.record(3, 0x2000 if exec else 0, self.pack("II", pid, tid) + pad(name.encode() + b"\0") +
                    self.trailer(pid, tid, time))

    def fork(self, pid, ppid, tid, ptid, time, synthesized=False):
        self.record(7, 0x2000 if synthesized else 0, self.pack("IIIIQ", pid, ppid, tid, ptid, time) +
                    self.trailer(pid, tid, time))

    def exit(self, pid, tid, time):
        self.record(4, 0, self.pack("IIIIQ", pid, 1, tid, 1, time) + self.trailer(pid, tid, time))

    def mmap(self, pid, start, size, pgoff, name, time=0, misc=M_USER):
        self.record(1, misc, self.pack("IIQQQ", pid & 0xffffffff, pid if pid >= 0 else 0, start, size, pgoff) +
                    pad(name.encode() + b"\0") + self.trailer(pid, 0, time))

    def mmap2(self, pid, start, size, pgoff, name, time=0, prot=5, build_id=None):
        identity = self.pack("IIQQ", 8, 1, 1234, 0)
        if build_id:
            identity = bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0")
        self.record(10, M_USER | (0x4000 if build_id else 0),
                    self.pack("IIQQQ", pid, pid, start, size, pgoff) + identity + self.pack("II", prot, 2) +
                    pad(name.encode() + b"\0") + self.trailer(pid, pid, time))

    def kernel(self, start=KTEXT, size=0x1000000, pgoff=KTEXT, name="[kernel.kallsyms]_text"):
        self.mmap(-1, start, size, pgoff, name, misc=M_KERNEL)

    def sample(self, pid, tid, time, ip, chain=None, mode=M_USER, period=1000, id=1, cpu=0, read=b"", branches=None,
               branch_head=b"", stack=None, sample_type=None, extra=b"", registers=(1, 2, 3, 4)):
        t, out = sample_type or self.sample_type, b""
        if t & IDENTIFIER:
            out += self.pack("Q", id)
        if t & IP:
            out += self.pack("Q", ip)
        if t & TID:
            out += self.pack("II", pid, tid)
        if t & TIME:
            out += self.pack("Q", time)
        if t & ID:
            out += self.pack("Q", id)
        if t & CPU:
            out += self.pack("II", cpu, 0)
        if t & PERIOD:
            out += self.pack("Q", period)
        if t & READ:
            out += read
        if t & CHAIN:
            out += self.pack("Q", len(chain or ())) + b"".join(self.pack("Q", x) for x in chain or ())
        if t & BRANCH:
            out += self.pack("Q", len(branches or ())) + branch_head
            out += b"".join(self.pack("QQQ", *(b + (0,) * (3 - len(b)))) for b in branches or ())
        if t & REGS:
            out += self.pack("Q%dQ" % len(registers), 2, *registers)
        if t & STACK:
            out += self.pack("Q", len(stack)) + stack + self.pack("Q", len(stack))
        return self.record(9, mode, out + extra)

    def round(self):
        self.record(68, 0, b"")

    def ksymbol(self, addr, size, name, time, remove=False):
        self.record(17, 0, self.pack("QIHH", addr, size, 1, int(remove)) + pad(name.encode() + b"\0") +
                    self.trailer(0, 0, time))

    # ---- features ----
    def string(self, text):
        data = text.encode() + b"\0"
        data += bytes(-len(data) % 64)
        return self.pack("I", len(data)) + data

    def build_id(self, name, id, mode=M_USER, sized=True):
        body = self.pack("i", -1) + id.ljust(20, b"\0") + bytes([len(id) if sized else 0, 0, 0, 0])
        body += pad(name.encode() + b"\0", 64)
        return self.pack("IHH", 0, mode | (0x8000 if sized else 0), 8 + len(body)) + body

    def describe(self, arch="x86_64"):
        self.features[3] = self.string("machine")
        self.features[5] = self.string("6.1.0")
        self.features[6] = self.string(arch)
        argv = ["perf", "record", "-g", "./prog"]
        self.features[11] = self.pack("I", len(argv)) + b"".join(self.string(a) for a in argv)
        out = self.pack("II", len(self.events), 128)
        for name, attr, ids in self.events:
            out += attr + self.pack("I", len(ids)) + self.string(name) + b"".join(self.pack("Q", i) for i in ids)
        self.features[12] = out

    # ---- layouts ----
    def file(self, killed=False, header=104, magic=None):
        magic = magic or (b"2ELIFREP" if self.big else b"PERFILE2")
        at = header
        ids = b""
        entries = b""
        for _, attr, event_ids in self.events:
            entries += attr + self.pack("QQ", at + len(ids), 8 * len(event_ids))
            ids += b"".join(self.pack("Q", i) for i in event_ids)
        attrs_at = at + len(ids)
        data_at = attrs_at + len(entries)
        data = b"".join(self.records)
        table_at = data_at + len(data)
        bits = sorted(self.features) if header == 104 else []
        where = table_at + 16 * len(bits)
        table = payload = b""
        for b in bits:
            table += self.pack("QQ", where + len(payload), len(self.features[b]))
            payload += self.features[b]
        bitmap = sum(1 << b for b in self.features)
        head = magic + self.pack("QQQQQQQQ", header, 144, attrs_at, len(entries), data_at, 0 if killed else len(data), 0, 0)
        if header == 104:
            head += b"".join(self.pack("Q", bitmap >> (64 * i) & U64) for i in range(4))
        return head + ids + entries + data + (b"" if killed else table + payload)

    def pipe(self):
        out = (b"2ELIFREP" if self.big else b"PERFILE2") + self.pack("Q", 16)
        for _, attr, ids in self.events:
            body = attr + b"".join(self.pack("Q", i) for i in ids)
            out += self.pack("IHH", 64, 0, 8 + len(body)) + body
        for bit in sorted(self.features):
            body = self.pack("Q", bit) + self.features[bit]
            out += self.pack("IHH", 80, 0, 8 + len(body)) + body
        out += self.pack("IHHQ", 80, 0, 16, 32)
        return out + b"".join(self.records)


def zstd_frame(data, block=40):
    """Raw blocks, which show where a reader keeps state from one record to the next."""
    out = struct.pack("<IBB", 0xFD2FB528, 0, 0x50)
    pieces = [data[i:i + block] for i in range(0, len(data), block)]
    for i, piece in enumerate(pieces):
        header = len(piece) << 3 | (i == len(pieces) - 1)
        out += struct.pack("<I", header)[:3] + piece
    return out


def basic(**kw):
    """A process with a program and a library, a kernel, one sample of each common shape."""
    p = Perf(**kw)
    p.event("cpu-clock")
    p.kernel()
    p.comm(100, 100, "prog")
    p.mmap2(100, 0x555555554000, 0x1000, 0x1000, "/bin/prog")
    p.mmap2(100, 0x7f0000000000, 0x2000, 0x26000, "/lib/libx.so.6", build_id=bytes.fromhex("0123456789abcdef"))
    # user mode: the first entry is the ip; the others are return addresses
    p.sample(100, 100, 1000, 0x7f0000000123, [USER, 0x7f0000000123, 0x555555554200, 0x555555554100])
    p.sample(100, 100, 1100, 0x7f0000000123, [USER, 0x7f0000000123, 0x555555554200, 0x555555554100], period=500)
    # kernel mode: the first user entry is where it was interrupted, not a return address
    p.sample(100, 100, 1200, KTEXT + 0x10, [KERNEL, KTEXT + 0x10, KTEXT + 0x21, USER, 0x555555554300, 0x555555554100],
             mode=M_KERNEL)
    # no marker, as old kernels wrote
    p.sample(100, 100, 1300, 0x555555554400, [0x555555554400, 0x555555554100])
    # an address in no mapping stays
    p.sample(100, 100, 1400, 0x555555554400, [USER, 0x555555554400, 0x1235, 0x555555554100])
    # a broken frame pointer chain ends where it broke
    p.sample(100, 100, 1500, 0x555555554400, [USER, 0x555555554400, 0x555555554100, U64, 0x555555554999])
    return p


def groups():
    t = IP | TID | TIME | PERIOD | READ | IDENTIFIER
    p = Perf(t)
    for i, name in enumerate(("cycles", "instructions", "branches")):
        p.event(name, type=0, config=(0, 1, 4)[i], ids=(i + 1,), read_format=4 | 8)
    p.comm(7, 7, "grp")
    p.mmap2(7, 0x400000, 0x1000, 0, "/bin/grp")
    def read(a, b, c):
        return p.pack("Q6Q", 3, a, 1, b, 2, c, 3)
    p.sample(7, 7, 10, 0x400010, read=read(100, 50, 5))
    p.sample(7, 7, 20, 0x400010, read=read(250, 90, 5))  # branches did not grow
    p.sample(7, 7, 30, 0x400020, read=read(300, 91, 8))
    return p


def branches(hw=False, big=False):
    t = IP | TID | TIME | PERIOD | IDENTIFIER | BRANCH
    p = Perf(t, big=big)
    p.event("cycles", type=0, branch=1 | 8 | (1 << 17 if hw else 0))
    p.comm(9, 9, "br")
    p.mmap2(9, 0x10000, 0x4000, 0, "/bin/br")
    p.mmap2(9, 0x90000, 0x4000, 0, "/lib/liby.so")
    def flags(mispred=0, cycles=0, spec=0):
        fields = ((0, 1, mispred), (1, 1, 1 - mispred), (4, 16, cycles), (24, 2, spec))
        return sum(v << (64 - o - w if big else o) for o, w, v in fields)
    head = p.pack("Q", 3) if hw else b""
    # newest first: 0x10100 -> 0x10040, before it 0x10080 -> 0x100f0, before it from the library
    p.sample(9, 9, 10, 0x10048, branch_head=head, branches=[(0x10100, 0x10040, flags(1, 5)), (0x10080, 0x100f0, flags(0, 7)),
                                          (0x90020, 0x10070, flags())])
    p.sample(9, 9, 20, 0x10048, branch_head=head, branches=[(0x10100, 0x10040, flags(0, 5)), (0x10080, 0x100f0, flags(0, 7))])
    # a duplicated newest entry that jumps far back; a range that runs backwards; a wrong path; empty entries at the end
    p.sample(9, 9, 30, 0x10050, branch_head=head, branches=[(0x12100, 0x10040, 0), (0x12100, 0x10040, 0), (0, 0, 0)])
    p.sample(9, 9, 40, 0x10050, branch_head=head, branches=[(0x10010, 0x10040, 0), (0x10100, 0x10200, 0)])
    p.sample(9, 9, 50, 0x10050, branch_head=head, branches=[(0x10300, 0x10040, flags(0, 0, 1)), (0x10400, 0x102f0, 0),
                                          (0x10500, 0x103f0, flags(0, 0, 1))])
    # an empty entry before others spoils the stack; both ends unmapped
    p.sample(9, 9, 60, 0x10050, branch_head=head, branches=[(0, 0, 0), (0x10100, 0x10040, 0)])
    p.sample(9, 9, 70, 0x10050, branch_head=head, branches=[(0x5, 0x6, 0)])
    p.sample(9, 9, 80, 0x10050, branch_head=head, branches=[])
    return p


def processes():
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER)
    p.event("cycles", type=0)
    p.comm(1, 1, "parent")
    p.mmap2(1, 0x10000, 0x10000, 0, "/bin/parent")
    p.fork(2, 1, 2, 1, 100)          # inherits maps and name
    p.sample(2, 2, 110, 0x10010)
    p.mmap2(2, 0x14000, 0x1000, 0, "/lib/plug.so", time=120)  # only in the child: splits
    p.sample(2, 2, 130, 0x14010)
    p.sample(2, 2, 131, 0x15010)
    p.sample(1, 1, 132, 0x14010)
    p.fork(2, 2, 3, 2, 140)          # a thread shares
    p.comm(2, 3, "worker", time=141)
    p.sample(2, 3, 150, 0x14010)
    p.comm(2, 2, "child", time=200, exec=True)  # exec forgets the maps
    p.sample(2, 2, 210, 0x10010)
    p.mmap2(2, 0x10000, 0x1000, 0x7000, "/bin/child", time=220)
    p.sample(2, 2, 230, 0x10010)
    p.exit(2, 2, 240)
    p.sample(2, 2, 250, 0x10020)     # late
    p.fork(2, 1, 2, 1, 300)          # the number again: the parent's image
    p.sample(2, 2, 310, 0x10010)
    p.fork(50, 1, 50, 1, 0, synthesized=True)  # found by the recorder: nothing inherited
    p.sample(50, 50, 400, 0x10010)
    p.sample(60, 61, 401, 0x10010)   # never heard of
    p.sample(0, 0, 402, 0xffffffff81000010, mode=M_KERNEL)
    return p


def special_maps():
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER)
    p.event("cycles", type=0)
    p.kernel(start=0, size=0xffffffffffff0000, pgoff=KTEXT)   # as old recorders had it
    p.mmap(-1, 0xffffffffc0000000, 0x4000, 0, "/lib/modules/6/foo.ko", misc=M_KERNEL)
    p.comm(5, 5, "maps")
    p.mmap2(5, 0x400000, 0x200000, 0, "/bin/maps")
    p.mmap2(5, 0x600000, 0x200000, 0, "//anon")               # text moved to huge pages: the file goes on
    p.mmap2(5, 0x800000, 0x1000, 0x400000, "/bin/maps")
    p.mmap2(5, 0x7fff00000000, 0x2000, 0, "[vdso]")
    p.mmap2(5, 0x30000000, 0x10000, 0x30000000, "//anon", time=10)      # code made at run time
    p.mmap2(5, 0x30002010, 0x100, 0x80, "/tmp/jitted-5-1.so", time=11)
    p.mmap2(5, 0x30000000, 0x10000, 0x30000000, "//anon", time=12)      # does not hide the code object
    p.mmap2(5, 0x50000000, 0x1000, 0x2000, "/memfd:code (deleted)", time=13)
    p.ksymbol(0xffffffffc0100000, 0x80, "bpf_prog_1234_f", 14)
    for i, ip in enumerate((0x400010, 0x600010, 0x800010, 0x7fff00000800, 0x30000123, 0x30002020, 0x30002200, 0x50000010)):
        p.sample(5, 5, 100 + i, ip)
    for i, ip in enumerate((KTEXT + 5, 0xffffffffc0000123, 0xffffffffc0100010)):
        p.sample(5, 5, 200 + i, ip, mode=M_KERNEL)
    p.sample(5, 5, 210, KTEXT + 7, mode=M_GUEST)
    p.ksymbol(0xffffffffc0100000, 0x80, "bpf_prog_1234_f", 300, remove=True)
    p.sample(5, 5, 310, 0xffffffffc0100010, mode=M_KERNEL)
    p.features[2] = (p.build_id("[kernel.kallsyms]", bytes(range(1, 21)), M_KERNEL) +
                     p.build_id("/bin/maps", bytes.fromhex("aabbccdd00112233"), sized=False))
    return p


def unordered(rounds):
    """Two ring buffers drained one after the other; the map comes in the second, with the older time."""
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER)
    p.event("cycles", type=0)
    p.comm(8, 8, "late")
    p.sample(8, 8, 50, 0x10010)
    p.sample(8, 8, 70, 0x20010)
    p.mmap2(8, 0x10000, 0x1000, 0, "/bin/late", time=20)
    p.mmap2(8, 0x20000, 0x1000, 0, "/lib/libz.so", time=60)
    if rounds:
        p.round()
    p.sample(8, 8, 90, 0x10010)
    p.comm(8, 8, "renamed", time=80)
    if rounds:
        p.round()
        p.round()
    return p


def deferred():
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER | CHAIN)
    p.event("cycles", type=0)
    p.kernel()
    p.comm(6, 6, "def")
    p.mmap2(6, 0x400000, 0x1000, 0, "/bin/def")
    for time in (10, 11):  # two samples on the way through the kernel
        p.sample(6, 6, time, KTEXT + 0x10, [KERNEL, KTEXT + 0x10, DEFERRED, 77], mode=M_KERNEL)
    body = p.pack("QQ3Q", 77, 3, USER, 0x400100, 0x400201)
    p.record(22, 0, body + p.trailer(6, 6, 12))
    p.sample(6, 6, 20, KTEXT + 0x20, [KERNEL, KTEXT + 0x20, DEFERRED, 78], mode=M_KERNEL)  # never comes
    return p


def deferred_threads(**kw):
    """User chains of two threads come in another order than their samples; one comes for the later of two samples only."""
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER | CHAIN, **kw)
    p.event("cycles", type=0)
    p.kernel()
    p.comm(6, 6, "one")
    p.fork(6, 6, 7, 6, 5)
    p.comm(6, 7, "two", time=6)
    p.mmap2(6, 0x400000, 0x1000, 0, "/bin/def")
    def sample(tid, time, cookie):
        p.sample(6, tid, time, KTEXT + time, [KERNEL, KTEXT + time, KTEXT + 0x101, DEFERRED, cookie], mode=M_KERNEL)
    def chain(tid, time, cookie, *entries):
        p.record(22, 0, p.pack("QQ%dQ" % len(entries), cookie, len(entries), *entries) + p.trailer(6, tid, time))
    sample(6, 10, 1)
    sample(7, 11, 1)  # the same number in another thread
    chain(7, 12, 1, USER, 0x400300, 0x400401)
    chain(6, 13, 1, USER, 0x400100, 0x400201)
    sample(6, 14, 2)
    sample(6, 15, 3)
    chain(6, 16, 3, USER, 0x400500, 0x400601)
    chain(7, 17, 9, USER, 0x400700)  # nothing waits for it
    return p


def stack_dumps():
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER | CHAIN | REGS | STACK)
    p.event("cycles", type=0)
    p.kernel()
    p.comm(6, 6, "dw")
    p.mmap2(6, 0x400000, 0x1000, 0, "/bin/dw")
    p.sample(6, 6, 10, 0x400010, [], stack=bytes(64))
    p.sample(6, 6, 20, KTEXT + 0x10, [KERNEL, KTEXT + 0x10, KTEXT + 0x31], mode=M_KERNEL, stack=bytes(64))
    return p


def lbr_stacks():
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER | CHAIN | BRANCH)
    p.event("cycles", type=0, branch=1 | 8 | 1 << 11)
    p.kernel()
    p.comm(6, 6, "cs")
    p.mmap2(6, 0x400000, 0x1000, 0, "/bin/cs")
    p.sample(6, 6, 10, 0x400310, [USER, 0x400310], branches=[(0x400205, 0x400300), (0x400105, 0x400200)])
    p.sample(6, 6, 20, KTEXT + 0x10, [KERNEL, KTEXT + 0x10, KTEXT + 0x31, USER, 0x400320], mode=M_KERNEL,
             branches=[(0x400205, 0x400300), (0x400105, 0x400200)])
    return p


def branch_callers():
    """Frame-pointer chains that miss the direct caller of a function without a frame, and branch records that show it."""
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER | CHAIN | BRANCH)
    p.event("cycles", type=0, branch=1 | 2 | 8)
    p.kernel()
    p.comm(6, 6, "bc")
    p.mmap2(6, 0x400000, 0x100000, 0, "/bin/bc")
    jump, indirect, call, back, unknown = (k << 20 for k in (1, 3, 4, 6, 0))
    outer = [(0x400100, 0x400200, call), (0x4000f0, 0x400100, jump)]       # main calls f
    direct = [(0x400220, 0x400300, call)] + outer                           # f calls leaf, which has no frame
    chain = [USER, 0, 0x400105]
    def sample(time, ip, branches, chain=chain, **kw):
        p.sample(6, 6, time, kw.get("interrupted") or ip, [x or ip for x in chain], branches=branches, mode=kw.get("mode", M_USER))
    sample(10, 0x400310, direct)
    # a loop in leaf, a table of cases, and a call that came back
    sample(20, 0x400314, [(0x400318, 0x400310, jump), (0x400608, 0x400316, back), (0x400312, 0x400600, call),
                          (0x400304, 0x400310, indirect)] + direct)
    sample(30, 0x400310, direct, chain=[USER, 0, 0x400225, 0x400105])       # the chain has it already
    sample(40, 0x400310, direct, chain=[USER, 0])                           # no caller at all
    # not one thread of execution: a far jump through a register, code that ran backwards, a return to elsewhere, an unknown kind
    sample(50, 0x400310, [(0x480000, 0x400308, indirect)] + direct)
    sample(51, 0x400310, [(0x400400, 0x400380, jump)] + direct)
    sample(52, 0x400310, [(0x400608, 0x400304, back), (0x480000, 0x400600, call)] + direct)
    sample(53, 0x400310, [(0x400304, 0x400308, unknown)] + direct)
    sample(54, 0x400310, [])
    # interrupted, and in a system call; the last one came back elsewhere: a signal
    into = (0x400310, KTEXT + 0x100, 12 << 20)
    sample(60, 0x400310, [into] + direct, chain=[KERNEL, KTEXT + 0x10, USER, 0, 0x400105], interrupted=KTEXT + 0x10, mode=M_KERNEL)
    sample(61, 0x400314, [(KTEXT + 0x20, 0x400312, 11 << 20), (KTEXT + 0x8, KTEXT + 0x18, jump), into] + direct)
    sample(62, 0x400314, [(KTEXT + 0x20, 0x400300, 11 << 20), into] + direct)
    return p


def losses(both):
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER)
    p.event("cycles", type=0)
    p.sample(1, 1, 10, 0x400010)
    p.record(2, 0, p.pack("QQ", 1, 40) + p.trailer(0, 0, 11))
    if both:
        p.record(13, 0, p.pack("Q", 30) + p.trailer(0, 0, 12))
        p.record(13, 0x8000, p.pack("Q", 500) + p.trailer(0, 0, 13))
    return p


def compressed(kind):
    """Records inside one zstd stream; the cut between two compressed records runs through a record."""
    p = basic()
    inner = b"".join(p.records)
    stream = zstd_frame(inner)
    p.records = []
    cuts = [0, len(stream) // 3, len(stream) // 2, len(stream)]
    for a, b in zip(cuts, cuts[1:]):
        piece = stream[a:b]
        if kind == 2:
            body = pad(struct.pack("<Q", len(piece)) + piece)
            p.record(83, 0, body)
        elif kind == 3:  # a writer whose header size wrapped to 0
            p.records.append(pad(struct.pack("<IHHQ", 83, 0, 0, len(piece)) + piece))
        else:
            p.record(81, 0, piece)
    return p


def off_cpu(direct):
    """perf record --off-cpu: samples made at the end with a call chain, or (perf 6.16 on) told by a BPF program in RAW."""
    sample_type = IP | TID | TIME | PERIOD | IDENTIFIER
    p = Perf(sample_type | CHAIN)
    p.event("cpu-clock:u", config=0, ids=(1,))
    waiting = sample_type | RAW if direct else sample_type | CHAIN
    p.event("offcpu-time", config=10, period=1, ids=(2,), sample_type=waiting)
    p.comm(5, 5, "waiter", time=1)
    p.mmap2(5, 0x400000, 0x1000, 0, "/bin/waiter", time=2)
    p.sample(5, 5, 10, 0x400100, [USER, 0x400100, 0x400205])
    end = (1 << 64) - (1 << 32)
    for n, (period, chain) in enumerate(((2000000, [USER, 0x400111, 0x400205]), (500, [USER, 0x400122, 0x400205]))):
        if direct:
            raw = p.pack("IIQQ%dQQ" % len(chain), 5, 5, period, len(chain), *chain, 77)
            body = p.pack("I", len(raw) + 4) + raw + bytes(4)  # the size as the kernel pads it
            p.sample(0, 0, 20 + n, KTEXT + 16, mode=M_KERNEL, period=1, id=2, sample_type=waiting, extra=body)
        else:
            p.sample(5, 5, end, chain[1], chain, period=period, id=2)
    if direct:
        raw = p.pack("IIQQ", 5, 5, 1, 99) + bytes(16)  # more entries than there are
        p.sample(0, 0, 30, KTEXT + 16, mode=M_KERNEL, period=1, id=2, sample_type=waiting, extra=p.pack("I", len(raw) + 4) + raw + bytes(4))
    p.describe()
    return p


def simpleperf_names():
    p = Perf(IP | TID | TIME | PERIOD | IDENTIFIER)
    p.event("", type=4, config=0x11, ids=(1,))
    p.event("", type=1, config=2, ids=(2,))
    p.comm(3, 3, "app")
    p.mmap2(3, 0x400000, 0x1000, 0, "/data/app/lib.so")
    p.sample(3, 3, 10, 0x400010)
    p.sample(3, 3, 20, 0x400020, id=2, period=3)
    p.record(32769, 0, b"simpleperf's", at=0)
    p.features[129] = (b"simpleperf_version\0001.build.1\0event_type_info\0raw-cpu-cycles,4,17\nfaults:x,1,2\nbad,1\n,4,17\nx,9,\0"
                       b"clockid\0monotonic\0odd")
    return p


def kinds():
    """Events whose names are nowhere, so that type and config must tell them; one sample each."""
    p = Perf(IP | TID | TIME | ID)
    user, host, guest, precise = 1 << 5 | 1 << 6, 1 << 19, 1 << 20, 1 << 15
    for i, (type, config, flags) in enumerate((
            (0, 1, 0), (0, 0x500000009, user), (0, 10, 0), (1, 1, guest), (1, 11, host), (3, 0x10002, 0), (3, 0x201, 0),
            (3, 9, 0), (4, 0x1c2, 2 * precise | guest), (2, 77, 0), (5, 0, user), (8, 0x3c, 0), (99, 0, 0))):
        p.event("", type=type, config=config, flags=flags, ids=(i + 1,))
        if type == 5:  # kind of access, address
            name, attr, ids = p.events[-1]
            p.events[-1] = name, attr[:52] + p.pack("IQ", 7, 0x404040) + attr[64:], ids
        p.sample(3, 3, 10 + i, 0x400010, id=i + 1)
    p.features[16] = p.pack("II", 1, 8) + p.string("some_pmu")
    return p


def scenarios():
    out = {}
    out["offcpu"] = off_cpu(False).file()
    out["offcpu.direct"] = off_cpu(True).file()
    out["simpleperf.names"] = simpleperf_names().file()
    p = basic()
    p.describe()
    out["basic.file"] = p.file()
    out["basic.pipe"] = p.pipe()
    out["basic.killed"] = p.file(killed=True)
    out["basic.header72"] = p.file(header=72)
    out["basic.version1"] = p.file(magic=b"PERFFILE")
    p = basic(big=True)
    p.describe()
    out["basic.big"] = p.file()
    out["basic.bigpipe"] = p.pipe()
    out["basic.bigversion1"] = p.file(magic=b"PERFFILE")
    out["basic.cut"] = basic().file(killed=True)[:-50]
    for kind in (1, 2, 3):
        out[f"basic.zstd{kind}"] = compressed(kind).file()
    p = basic()
    p.record(71, 0, p.pack("QQQIIII", 24, 0, 0, 0, 0, 0, 0), at=3)
    p.records[3] += b"\xff" * 24       # payload behind the record
    p.record(40, 0, b"???")            # a type that nobody knows, of an odd size
    p.records.append(b"[ perf record: Woken up 1 times ]\n")
    out["basic.noise"] = p.pipe()
    p = basic()
    p.record(32769, 0, b"simpleperf's", at=0)
    out["basic.simpleperf"] = p.file()
    out["group"] = groups().file()
    out["branch"] = branches().file()
    out["branch.hw"] = branches(hw=True).file()
    out["branch.big"] = branches(big=True).file()
    p = processes()
    p.describe()
    out["process"] = p.file()
    out["maps"] = special_maps().file()
    out["order.rounds"] = unordered(True).pipe()
    out["order.sort"] = unordered(False).pipe()
    out["deferred"] = deferred().file()
    out["deferred.threads"] = deferred_threads().file()
    out["deferred.big"] = deferred_threads(big=True).file()
    out["dwarf"] = stack_dumps().file()
    out["lbrstack"] = lbr_stacks().file()
    out["branch.callers"] = branch_callers().file()
    out["lost"] = losses(False).file()
    out["lost.both"] = losses(True).file()
    p = Perf(IP | TID | TIME | PERIOD | ID | CPU)
    p.event("cycles:u", type=0, ids=(11, 12))
    p.event("cycles:k", type=0, ids=(21,))
    p.event("dummy:HG", type=1, config=9, ids=(31,))
    p.comm(3, 3, "two")
    p.mmap2(3, 0x400000, 0x1000, 0, "/bin/two")
    p.sample(3, 3, 10, 0x400010, id=12, cpu=1)
    p.sample(3, 3, 20, 0x400010, id=21, cpu=2)
    p.sample(3, 3, 30, 0x400010, id=99, cpu=2)       # of no event
    p.sample(3, 4, 40, 0x400020, id=11, cpu=7, period=7)
    p.record(9, M_USER, b"short")                     # too short
    p.sample(3, 3, 50, 0x400020, id=11, extra=bytes(8))  # bytes left over
    p.describe()
    p.features[21] = p.pack("QQ", 10, 50)
    out["events"] = p.file()
    p = Perf(IP | TID | TIME)
    p.event("cycles", type=0, period=12345, ids=())
    p.sample(3, 3, 10, 0x400010)
    out["period.fixed"] = p.file()
    p = Perf(IP | TID)  # without times, so nothing waits
    p.event("my-cycles", type=0)
    p.sample(3, 3, 10, 0x400010)
    p.describe()
    out["name.late"] = p.file()
    out["kinds"] = kinds().file()
    p = Perf(IP | TID)
    p.event("", type=2, config=77)
    p.record(65, 0, p.pack("Q", 77) + pad(b"sched:sched_switch\0", 64))  # a table of names, as perf 3 piped it
    p.record(71, 0, p.pack("QQQIIII", 0, 0, 0, 0, 0, 0, 0))
    p.record(72, 0, bytes(48))
    p.sample(3, 3, 10, 0x400010)
    out["name.table"] = p.pipe()
    out["empty"] = Perf().file()
    return out


def main():
    where = sys.argv[1]
    os.makedirs(where, exist_ok=True)
    for name, data in scenarios().items():
        with open(os.path.join(where, name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
