#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the small pprof files that the tests and the fuzz target start from, out of the wire format alone.

    mkpprof.py DIRECTORY

Files named bad_* have one fault each, which the name says; tests/formats/test_pprof.c lists what must be said about it.
The others are valid, each with something that some writer does and another does not.
"""
import gzip
import os
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def num(field, n):
    return varint(field << 3) + varint(n)


def data(field, payload):
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def msg(**fields):
    """A message of numbers by field number: msg(f1=7, f3=-1)."""
    return b"".join(num(int(k[1:]), v) for k, v in fields.items() if v)


class Strings:
    def __init__(self):
        self.table = [b""]

    def __call__(self, text):
        text = text.encode() if isinstance(text, str) else text
        if text not in self.table:
            self.table.append(text)
        return self.table.index(text)

    def fields(self):
        return b"".join(data(6, s) for s in self.table)


def value_type(s, name, unit, field=1):
    return data(field, msg(f1=s(name), f2=s(unit)))


def packed(field, numbers):
    return data(field, b"".join(varint(n) for n in numbers))


def unpacked(field, numbers):
    return b"".join(num(field, n) for n in numbers)


def sample(ids, values, labels=b"", lists=packed):
    return data(2, lists(1, ids) + lists(2, values) + labels)


def label(s, key, string=None, number=0, unit=None):
    return data(3, msg(f1=s(key), f2=s(string) if string else 0, f3=number, f4=s(unit) if unit else 0))


def mapping(s, ident, start, limit, offset, name, build_id="", has=(0, 0, 0, 0)):
    return data(3, msg(f1=ident, f2=start, f3=limit, f4=offset, f5=s(name), f6=s(build_id),
                       f7=has[0], f8=has[1], f9=has[2], f10=has[3]))


def location(ident, mapping_id, address, lines=(), folded=0):
    return data(4, msg(f1=ident, f2=mapping_id, f3=address)
                + b"".join(data(4, msg(f1=f, f2=l, f3=c)) for f, l, c in lines) + msg(f5=folded))


def function(s, ident, name, system_name="", file="", start_line=0):
    return data(5, msg(f1=ident, f2=s(name), f3=s(system_name), f4=s(file), f5=start_line))


def full(s):
    """Every field of the format."""
    out = value_type(s, "samples", "count") + value_type(s, "cpu", "nanoseconds")
    out += sample([1, 2, 3], [3, 30000000],
                  label(s, "thread", "worker") + label(s, "bytes", number=512, unit="kilobytes")
                  + label(s, "thread", "again") + label(s, "request", number=-7))
    out += sample([4, 3], [1, 10000000])
    out += sample([1, 2, 3], [0, 0])
    out += sample([], [2, -5])
    out += mapping(s, 1, 0x400000, 0x500000, 0x1000, "/usr/bin/prog", "0123abcd", (1, 1, 1, 1))
    out += mapping(s, 2, 0xffffffff81000000, 0xffffffff82000000, 0, "[kernel.kallsyms]_text", "feed")
    out += mapping(s, 3, 0x7fff00000000, 0x7fff00001000, 0, "[vdso]")
    out += location(1, 1, 0x401234, [(1, 12, 3), (2, 40, 5)])
    out += location(2, 1, 0x402000, [(2, 44, 0)], 1)
    out += location(3, 2, 0xffffffff81000123)
    out += location(4, 3, 0x7fff00000010)
    out += location(5, 0, 0)
    out += function(s, 1, "ns::leaf(int)", "_ZN2ns4leafEi", "leaf.cc", 10)
    out += function(s, 2, "main", "main", "main.cc", 39)
    out += function(s, 3, "unused", "unused")
    tail = num(7, s("malloc|free")) + num(8, s("keep_.*")) + num(9, 1700000000123456789) + num(10, 5 * 10**9)
    tail += value_type(s, "cpu", "nanoseconds", 11) + num(12, 10000000)
    tail += num(13, s("first comment")) + num(13, s("second: comment"))
    tail += num(14, s("cpu")) + num(15, s("https://example.org/doc"))
    return out + s.fields() + tail


def small(s, **change):
    """Two locations, two functions, one sample; `change` replaces a part."""
    part = {
        "types": value_type(s, "samples", "count"),
        "samples": sample([1, 2], [5]),
        "mappings": mapping(s, 1, 0x1000, 0x2000, 0, "/bin/prog"),
        "locations": location(1, 1, 0x1010, [(1, 33, 0)]) + location(2, 1, 0x1020, [(2, 66, 0)]),
        "functions": function(s, 1, "step", "step", "prog.c", 31) + function(s, 2, "loop", "loop", "prog.c", 62),
        "tail": b"",
    }
    part.update(change)
    body = b"".join(part[k] for k in ("types", "samples", "mappings", "locations", "functions"))
    return body + (b"" if "no_strings" in change else s.fields()) + part["tail"]


def strings_first(s):
    body = value_type(s, "samples", "count") + sample([1], [4])
    body += location(1, 0, 0, [(1, 0, 0)]) + function(s, 1, "only")
    return s.fields() + body


def mixed_order(s):
    """Functions and locations in turn, then samples whose lists are not packed, strings in two pieces."""
    out = num(9, 123) + value_type(s, "alloc_objects", "count") + value_type(s, "alloc_space", "bytes")
    out += function(s, 1, "a", "a") + location(1, 0, 0, [(1, 1, 0)]) + function(s, 2, "b", "b")
    out += location(2, 0, 0, [(2, 2, 0), (1, 3, 0)])
    first = s.fields()
    out += first + sample([1, 2, 1], [1, 64], lists=unpacked)
    out += data(2, num(1, 2) + packed(1, [1, 2]) + num(2, 2) + packed(2, [128]))
    before = len(s.table)
    out += value_type(s, "space", "bytes", 11)
    return out + b"".join(data(6, t) for t in s.table[before:]) + num(12, 524288)


def sparse_ids(s):
    """Ids that are neither dense nor in order, as hashes are."""
    a, b, c = 0xdeadbeefcafebabe, 0x80000000, 7
    out = value_type(s, "wall", "nanoseconds") + sample([a, b], [5]) + sample([c, b], [6]) + sample([b, a], [7])
    out += mapping(s, 99, 0, 0, 0, "jvm") + location(b, 99, 0x10, [(500, 1, 0)]) + location(c, 99, 0x30, [(400, 3, 0)])
    out += location(a, 99, 0x20, [(1 << 63, 2, 0)])
    out += function(s, 500, "B.b") + function(s, 1 << 63, "A.a") + function(s, 400, "C.c")
    return out + s.fields()


def odd_bytes(s):
    """Numbers longer than need be, fields of later versions, doubled strings, bytes that are no text."""
    out = value_type(s, "samples", "count")
    out += data(2, b"\x08\x81\x00" + b"\x10\x85\x80\x80\x00" + data(77, b"?") + varint(78 << 3 | 5) + b"1234")
    out += location(1, 42, 0x10, [(1, 1, 0)])
    out += function(s, 1, b"nul\0inside", b"caf\xe9", "dir/\xff")
    out += varint(200 << 3 | 1) + b"12345678" + num(201, 5)
    out += s.fields() + data(6, b"samples") + data(6, b"")
    return out


def branches(s):
    """Branch records beside samples, as bridge-aware writers store them."""
    out = value_type(s, "samples", "count") + value_type(s, "branch", "count")
    out += value_type(s, "branch_mispredicted", "count") + value_type(s, "range", "count")
    out += value_type(s, "address", "count")
    out += sample([1, 2], [9, 0, 0, 0, 0])
    out += sample([1, 2], [0, 100, 7, 0, 0]) + sample([3, 1], [0, 40, 0, 0, 0]) + sample([1, 3], [0, 11, 0, 0, 0])
    out += sample([2, 1], [0, 0, 0, 99, 0]) + sample([1], [0, 0, 0, 0, 12])
    out += mapping(s, 1, 0x1000, 0x3000, 0x1000, "/bin/prog", "abcd")
    out += location(1, 1, 0x1010) + location(2, 1, 0x1020, [(2, 5, 0)]) + location(3, 0, 0, [(1, 0, 0)])
    out += function(s, 1, "[external]", "[external]") + function(s, 2, "f", "f")
    return out + s.fields()


def branches_odd(s):
    """Branch columns only, with rows that are no branch records, and addresses that a store has cleared."""
    out = value_type(s, "range", "count") + value_type(s, "branch", "count")
    out += sample([1], [0, 5]) + sample([1, 1, 1], [6, 0]) + sample([1, 1], [0, -3]) + sample([2, 2], [8, 0])
    out += sample([1, 1], [0, 1], label(s, "pid", number=3))
    out += mapping(s, 1, 0x1000, 0x3000, 0x1000, "/bin/prog", "abcd") + location(1, 1, 0x1010)
    out += location(2, 1, 0, [(1, 1, 0)]) + function(s, 1, "cleared")
    return out + s.fields()


def files():
    s = Strings
    yield "full.pb", full(s())
    yield "small.pb", small(s())
    yield "small.pb.gz", gzip.compress(small(s()), 9, mtime=0)
    yield "strings_first.pb", strings_first(s())
    yield "mixed_order.pb", mixed_order(s())
    yield "sparse_ids.pb", sparse_ids(s())
    yield "odd_bytes.pb", odd_bytes(s())
    yield "branches.pb", branches(s())
    yield "branches_odd.pb", branches_odd(s())
    yield "no_samples.pb", value_type(t := s(), "samples", "count") + t.fields()
    yield "bad_empty.pb", b""
    yield "bad_no_strings.pb", small(s(), no_strings=1)
    yield "bad_string0.pb", b"".join([data(6, b"first"), small(s())])
    yield "bad_location_missing.pb", small(t := s(), samples=sample([1, 2], [5]) + sample([2, 77], [1]))
    yield "bad_location_large.pb", small(t := s(), samples=sample([1 << 40], [5]))
    yield "bad_location_zero.pb", small(t := s(), samples=sample([0], [5]))
    yield "bad_location_twice.pb", small(t := s(), locations=location(1, 1, 1) + location(2, 1, 2) + location(1, 1, 3))
    yield "bad_location_id0.pb", small(t := s(), locations=location(1, 1, 1) + location(0, 1, 3))
    lines = [(1, 1, 0), (9, 1, 0)]
    yield "bad_function_missing.pb", small(t := s(), locations=location(1, 1, 1, lines) + location(2, 1, 1))
    yield "bad_function_zero.pb", small(t := s(), locations=location(1, 1, 1, [(0, 1, 0)]) + location(2, 1, 1))
    yield "bad_function_twice.pb", small(t := s(), functions=function(t, 1, "a") + function(t, 1, "b"))
    yield "bad_function_id0.pb", small(t := s(), functions=function(t, 0, "a"))
    yield "bad_mapping_twice.pb", small(t := s(), mappings=mapping(t, 5, 0, 1, 0, "a") + mapping(t, 5, 0, 1, 0, "b"))
    yield "bad_mapping_id0.pb", small(t := s(), mappings=mapping(t, 0, 0, 1, 0, "a"))
    yield "bad_values.pb", small(t := s(), samples=sample([1, 2], [5]) + sample([1], [5, 6]))
    yield "bad_no_types.pb", small(t := s(), types=b"")
    yield "bad_string_range.pb", small(t := s(), functions=data(5, msg(f1=1, f2=1000)) + function(t, 2, "b"))
    yield "bad_string_negative.pb", small(t := s(), functions=data(5, msg(f1=1, f4=-2)) + function(t, 2, "b"))
    yield "bad_label_range.pb", small(t := s(), samples=sample([1, 2], [5], data(3, msg(f1=1, f2=500))))
    yield "bad_type_range.pb", small(t := s(), types=data(1, msg(f1=300)))
    yield "bad_comment_range.pb", small(t := s(), tail=num(13, 44))
    yield "bad_wire_type.pb", small(t := s(), tail=data(12, b"x"))
    yield "bad_wire_type_sample.pb", small(t := s(), samples=sample([1], [5], data(3, data(1, b"k"))))
    yield "bad_group.pb", small(t := s(), tail=varint(20 << 3 | 3))
    yield "bad_long_number.pb", small(t := s(), tail=varint(12 << 3) + b"\x80" * 10 + b"\x01")
    yield "bad_long_number_packed.pb", small(t := s(), samples=data(2, data(1, b"\x81" * 10 + b"\x01") + num(2, 1)))
    yield "bad_concatenated.pb", small(s()) + small(s())
    yield "bad_concatenated_time.pb", num(9, 5) + num(9, 6) + small(s())
    yield "bad_truncated.pb", small(s())[:-3]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, content in files():
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    main()
