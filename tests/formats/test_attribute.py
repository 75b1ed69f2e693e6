#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts of addresses to counts of source positions, on programs compiled here: every rule, setting and message.

The counts are written as AutoFDO text (file offsets), so that what must come out can be told from the program: a range
of count n over a whole function gives each of its positions n, and a total of n for each byte.
"""
import os
import re
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import mkpprof  # noqa: E402
from pgo_support import check, convert, finish, read, run, skip  # noqa: E402

CC = shutil.which("gcc") or shutil.which("cc")
if not CC or not all(shutil.which(tool) for tool in ("nm", "objdump", "readelf", "objcopy")):
    skip("no compiler or no binutils here")

MAIN = """\
#define NOINLINE __attribute__((noinline, noclone, noipa))
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
extern int other(int);
NOINLINE int hot(int n) {
    int sum = n;
    sum ^= 21;
    return sum;
}
int hot_alias(int n) __attribute__((alias(TEXT(hot))));
static NOINLINE int helper(int n) {
    n ^= 3;

    return n + 40;
}
NOINLINE int part(int n) __asm__("part.llvm.42");
NOINLINE int part(int n) {
    return n ^ 77;
}
NOINLINE int split_cold(int n) __asm__("split.cold");
NOINLINE int split_cold(int n) {
    return n ^ 6;
}
NOINLINE int split(int n) {
    return split_cold(n) + 1;
}
static inline __attribute__((always_inline)) int inner(int n) {
    return n * 11 ^ 5;
}
NOINLINE int outer(int n) {
    return inner(n) + 2;
}
int main(int argc, char **argv) {
    int r = hot(argc) + hot(argc + 1);
    r += helper(r);
    r += part(r);
    (void)argv;
    return r + other(r) + outer(r) + split(r);
}
"""
OTHER = """\
static __attribute__((noinline, noclone, noipa)) int helper(int n) {
    n ^= 9;
    return n - 4;
}
__attribute__((noinline, noipa)) int other(int n) {

    return helper(n) ^ 1;
}
"""


class Program:
    """A compiled program: functions as lists of (start, size) in file offsets, and where calls are."""

    def __init__(self, folder, name, flags=("-g", "-O1"), sources=("main.c", "other.c"), link=()):
        self.path = os.path.join(folder, name)
        done = run(CC, *flags, "-fcf-protection=none", "-no-pie", "-o", self.path,
                   *[os.path.join(folder, s) for s in sources], *link)
        if done.returncode != 0:
            skip("cannot compile here: " + done.stderr[:300])
        self.look()

    def look(self):
        data = read(self.path)
        if data[4] != 2 or data[5] != 1:
            skip("these tests read 64-bit little-endian files")
        at, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", data, at + i * size) for i in range(count)]
        self.segment = next(h for h in headers if h[0] == 1 and h[1] & 1)
        self.functions = {}
        for line in run("nm", "-S", self.path).stdout.split("\n"):
            word = line.split()
            if len(word) == 4 and word[2] in "tTwW":
                self.functions.setdefault(word[3], []).append((self.offset(int(word[0], 16)), int(word[1], 16)))

    def offset(self, address):
        return address - self.segment[3] + self.segment[2]

    def address(self, offset):
        return offset - self.segment[2] + self.segment[3]

    def range(self, name, count, which=0):
        start, size = self.functions[name][which]
        return "%x-%x:%d" % (start, start + size - 1, count)

    def calls(self, callee):
        """Offsets of the instructions that call it, in order."""
        found = []
        for line in run("objdump", "-d", "-w", self.path).stdout.split("\n"):
            if re.search(r"\b(call|bl|jal|jmp|b)\w*\b.*<%s>" % re.escape(callee), line):
                found.append(self.offset(int(line.split(":")[0], 16)))
        return found


class Bench:
    def __init__(self, folder):
        self.folder = folder
        for name, text in (("main.c", MAIN), ("other.c", OTHER)):
            self.write(name, text)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "wb" if isinstance(text, bytes) else "w") as out:
            out.write(text)
        return path

    def maps(self, ranges=(), addresses=(), branches=()):
        rows = [x for part in (ranges, addresses, branches) for x in [str(len(part)), *part]]
        return self.write("maps.txt", "\n".join(rows) + "\n")

    def convert(self, path, binary, *settings, to="llvm-text", more=()):
        """(status, what was said, {function: its text})"""
        out = os.path.join(self.folder, "out")
        if os.path.exists(out):
            os.remove(out)
        options = [word for s in settings for word in ("-s", s)]
        status, said = convert("-t", to, *(["--binary", binary] if binary else []), "-o", out, *options, *more, path)
        check(status == 0 or not os.path.exists(out), "an output beside an error")
        text = read(out).decode(errors="replace") if status == 0 else ""
        return status, said, {part.split(":")[0]: part for part in re.split(r"\n(?=\S)", text.rstrip("\n")) if part}


def body(function):
    """{position: count} of a function's own lines."""
    return {m[1]: int(m[2]) for m in re.finditer(r"^ ([0-9.]+): (\d+)(?= |$)", function, re.M)}


def targets(function, position):
    line = re.search(r"^ %s: \d+(.*)$" % re.escape(position), function, re.M)
    return dict((n, int(c)) for n, c in re.findall(r" (\S+):(\d+)", line[1])) if line else {}


def line_of(text, what, function):
    lines = text.split("\n")
    number = next(i for i, line in enumerate(lines) if what in line)
    return number - next(i for i, line in enumerate(lines) if function in line)


def rules(b, p):
    hot, main = p.functions["hot"][0], p.functions["main"][0]
    calls = p.calls("hot") or p.calls("hot_alias")
    branches = ["%x->%x:30" % (calls[0], hot[0]), "%x->%x:12" % (calls[1], hot[0])]
    path = b.maps([p.range("hot", 100), p.range("main", 50)], [], branches)
    status, said, out = b.convert(path, p.path)
    check(status == 0 and set(out) == {"hot", "hot_alias", "main"}, "functions: %s %s" % (sorted(out), said))
    check(out["hot"].startswith("hot:%d:42\n" % (100 * hot[1])), "total and head: " + out["hot"])
    check(body(out["hot"]) and set(body(out["hot"]).values()) == {100},
          "every line of hot has its count: " + out["hot"])
    check({"2"} <= set(body(out["hot"])) and {"0", "1", "2", "3", "4"} >= set(body(out["hot"])),
          "offsets from the declaration: " + out["hot"])
    check(out["hot_alias"].split(":", 1)[1] == out["hot"].split(":", 1)[1], "an alias has the same profile")
    check(out["main"].startswith("main:%d:0\n" % (50 * main[1])), "main: " + out["main"])
    at = str(line_of(MAIN, "hot(argc) + hot", "int main"))
    check(list(targets(out["main"], at).values()) == [42], "call targets add up: " + out["main"])
    _, _, last = b.convert(path, p.path, "attribute.targets=last")
    check(list(targets(last["main"], at).values()) == [12], "the last branch wins: " + last["main"])
    _, _, last = b.convert(path, p.path, "llvm-text.compat=create_llvm_prof")
    check(list(targets(last["main"], at).values()) == [12], "the same under compat: " + last["main"])

    # Code that never ran is in the profile with count 0, but only of functions that ran.
    start, size = main
    out = b.convert(b.maps(["%x-%x:20" % (start, start)]), p.path)[2]
    values = set(body(out["main"]).values())
    check(set(out) == {"main"} and values == {0, 20} and out["main"].startswith("main:20:0"),
          "zero positions: %s" % out)

    # Inlined calls.
    status, said, out = b.convert(b.maps([p.range("outer", 9)]), p.path)
    site = line_of(MAIN, "inner(n) + 2", "NOINLINE int outer")
    check(re.search(r"^ %d: inner:\d+\n  1: 9$" % site, out["outer"], re.M), "inlined: %s %s" % (said, out))
    total = int(re.search(r": inner:(\d+)", out["outer"])[1])
    check(0 < total < 9 * p.functions["outer"][0][1] and total % 9 == 0, "the inlined call's total: " + out["outer"])


def entries(b, p):
    """What enters a function: from functions without counts, and from outside the binary, too."""
    hot, main = p.functions["hot"][0], p.functions["main"][0]
    call = p.calls("hot") or p.calls("hot_alias")
    path = b.maps([p.range("hot", 100)], [], ["%x->%x:30" % (call[0], hot[0])])
    out = b.convert(path, p.path)[2]
    check(set(out) == {"hot", "hot_alias"} and out["hot"].split("\n")[0].endswith(":30"),
          "entered from a cold function: %s" % out)
    out = b.convert(path, p.path, "attribute.entries=selected")[2]
    check(out["hot"].split("\n")[0].endswith(":0"), "entries=selected: %s" % out)

    base, text_offset = p.segment[3] & ~4095, p.segment[2] & ~4095
    key = hot[0] - text_offset
    path = b.write("raw.prof", "1\n%x-%x:100\n1\n%x->%x:17\n" % (key, key + hot[1] - 1, (1 - base) % 2 ** 64, key))
    told = ["profgen-raw.base=%x" % base, "profgen-raw.text-offset=%x" % text_offset]
    status, said, out = b.convert(path, p.path, *told)
    check(status == 0 and out["hot"].startswith("hot:%d:17\n" % (100 * hot[1])),
          "entered from outside: %s %s" % (said, out))
    out = b.convert(path, p.path, "llvm-text.compat=create_llvm_prof", *told)[2]
    check(out["hot"].startswith("hot:%d:0\n" % (100 * hot[1])), "the tool does not see those: %s" % out)

    # A part that was split off shares the function's name; entering it is no call of the function.
    part = p.functions["split.cold"][0]
    path = b.maps([p.range("split", 20), p.range("split.cold", 3)], [],
                  ["%x->%x:3" % (p.calls("split.cold")[0], part[0])])
    total = 20 * p.functions["split"][0][1] + 3 * part[1]
    out = b.convert(path, p.path)[2]
    check(out["split"].startswith("split:%d:0\n" % total) and " split:" not in out["split"],
          "a part is entered: %s" % out)
    out = b.convert(path, p.path, "attribute.parts=called")[2]
    check(out["split"].startswith("split:%d:3\n" % total) and " split:3" in out["split"], "parts=called: %s" % out)


def thresholds(b, p):
    size = p.functions["hot"][0][1]
    path = b.maps([p.range("hot", 1)], [], [])
    out = b.convert(path, p.path, "attribute.min-count=%d" % (size - 1))[2]
    check("hot" in out, "more than the minimum")
    status, said, _ = b.convert(path, p.path, "attribute.min-count=%d" % size)
    check(status != 0 and "at or below the threshold of %d counts (the largest has %d)" % (size, size) in said,
          "threshold: " + said)
    path = b.maps([p.range("hot", 1), p.range("main", 1000)])
    out = b.convert(path, p.path, "attribute.min-share=0.5", "attribute.min-count=0")[2]
    check(set(out) == {"main"}, "min-share: %s" % sorted(out))
    # Counts past 64 bits saturate; they do not wrap.
    out = b.convert(b.maps([p.range("hot", 2 ** 64 - 1)]), p.path)[2]
    check(out["hot"].startswith("hot:%d:0" % (2 ** 64 - 1)) and set(body(out["hot"]).values()) == {2 ** 64 - 1},
          "saturates: %s" % out)


def addresses(b, p):
    start, size = p.functions["hot"][0]
    path = b.maps([], ["%x:%d" % (start + i, 10 + i) for i in range(size)], [])
    status, said, out = b.convert(path, p.path)
    check(status == 0 and "no branch records" in said, "the warning: " + said)
    total = sum(10 + i for i in range(size))
    check(out["hot"].startswith("hot:%d:0" % total) and sum(body(out["hot"]).values()) == total,
          "addresses add up: %s" % out)
    _, _, most = b.convert(path, p.path, "attribute.addresses=max")
    check(max(body(most["hot"]).values()) == 10 + size - 1 and sum(body(most["hot"]).values()) < total,
          "addresses=max: %s" % most)
    status, said, _ = b.convert(path, p.path, "attribute.records=ranges")
    check(status != 0 and "no branch records" in said and "perf record -b" in said, "records=ranges: " + said)
    status, said, _ = b.convert(path, p.path, "llvm-text.compat=create_llvm_prof")
    check(status != 0 and "no branch records" in said, "the tool takes ranges only: " + said)
    both = b.maps([p.range("hot", 5)], ["%x:70" % start], [])
    check(set(body(b.convert(both, p.path)[2]["hot"]).values()) == {5}, "ranges when there are any")
    check(70 in body(b.convert(both, p.path, "attribute.records=addresses")[2]["hot"]).values(), "records=addresses")


def names(b, p):
    # Local functions of one name: each by its own extent.
    path = b.maps([p.range("helper", 7, 0), p.range("helper", 9, 1)])
    total = 7 * p.functions["helper"][0][1] + 9 * p.functions["helper"][1][1]
    out = b.convert(path, p.path)[2]
    check(out["helper"].startswith("helper:%d:0" % total) and set(body(out["helper"]).values()) >= {7, 9},
          "two of a name: %s" % out)
    shared = b.convert(path, p.path, "attribute.names=shared")[2]
    first = min((start, i) for i, (start, _) in enumerate(p.functions["helper"]))[1]
    count = (7, 9)[first]
    check(shared["helper"].startswith("helper:%d:0" % (count * p.functions["helper"][first][1])),
          "names=shared: %s" % shared)

    path = b.maps([p.range("part.llvm.42", 30)])
    for policy, name in (("selected", "part"), ("all", "part"), ("none", "part.llvm.42")):
        out = b.convert(path, p.path, "attribute.suffixes=" + policy)[2]
        check(set(out) == {name}, "suffixes=%s: %s" % (policy, sorted(out)))


def no_match(b, p):
    path = b.maps([p.range("hot", 100)])
    wrong = ["autofdo-text.file=/opt/app/server", "autofdo-text.build-id=0123456789abcdef0123456789abcdef01234567"]
    status, said, _ = b.convert(path, p.path, *wrong)
    for part in ("no mapping of the profile matches", p.path, "/opt/app/server",
                 "0123456789abcdef0123456789abcdef01234567", "100 counts"):
        check(status != 0 and part in said, "no match: %r not in %s" % (part, said))
    status, said, _ = b.convert(path, None, "autofdo-text.file=/nowhere/at/all")
    check(status != 0 and "/nowhere/at/all" in said and "not found" in said, "the main binary is not there: " + said)
    status, said, _ = b.convert(path, None, "attribute.binary=" + os.path.join(b.folder, "missing"))
    check(status != 0 and "missing" in said and "cannot be opened" in said, "a missing file: " + said)
    status, said, _ = b.convert(path, os.path.join(b.folder, "missing"))
    check(status == 2 and "missing: No such file" in said, "a missing file by the option: " + said)
    status, said, _ = b.convert(path, os.path.join(b.folder, "main.c"))
    check(status != 0 and "main.c" in said and "ELF" in said, "no ELF file: " + said)
    # By the name, whatever the folder; by the build-id, whatever the name.
    status, said, _ = b.convert(path, p.path, "autofdo-text.file=/elsewhere/" + os.path.basename(p.path))
    check(status == 0, "by name: " + said)
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", p.path).stdout)
    if build_id:
        status, said, _ = b.convert(path, p.path, "autofdo-text.file=/x/renamed",
                                    "autofdo-text.build-id=" + build_id[1])
        check(status == 0, "by build-id: " + said)

    # Nearest name first, then by weight.
    files = ["/usr/lib/libbig.so", "/a/progress", "/usr/bin/tool"]
    s = mkpprof.Strings()
    text = mkpprof.value_type(s, "samples", "count")
    for i, name in enumerate(files):
        text += mkpprof.mapping(s, i + 1, 0x400000 * (i + 1), 0x400000 * (i + 1) + 0x10000, 0, name,
                                "%040x" % (i + 0xa0))
        text += mkpprof.location(i + 1, i + 1, 0x400000 * (i + 1) + 16) + mkpprof.sample([i + 1], [(50, 3, 20)[i]])
    status, said, _ = b.convert(b.write("three.pb", text + s.fields()), p.path)
    places = [said.find(name) for name in ("/a/progress", "/usr/lib/libbig.so", "/usr/bin/tool")]
    check(status != 0 and -1 not in places and places == sorted(places), "nearest first: " + said)


def nothing(b):
    b.write("empty.c", "int unused(void) { return 0; }\n")
    plain = Program(b.folder, "plain", ("-g0", "-O1"))
    status, said, _ = b.convert(b.maps([plain.range("hot", 100)]), plain.path)
    check(status != 0 and "no debug information" in said, "no debug information: " + said)

    # Debug information, but not of what ran.
    for name, flags in (("a.o", ("-g0",)), ("b.o", ("-g",))):
        done = run(CC, *flags, "-O1", "-fcf-protection=none", "-c", "-o", os.path.join(b.folder, name),
                   os.path.join(b.folder, "main.c" if name == "a.o" else "other.c"))
        check(done.returncode == 0, done.stderr)
    half = Program(b.folder, "half", (), ("a.o", "b.o"))
    status, said, _ = b.convert(b.maps([half.range("hot", 100)]), half.path)
    check(status != 0 and "no line information" in said, "no line information: " + said)
    status, said, out = b.convert(b.maps([half.range("hot", 100), half.range("other", 100)]), half.path, more=("-v",))
    check(status == 0 and set(out) == {"other"} and "without line information" in said,
          "some without: %s %s" % (sorted(out), said))

    # No line table at all.
    done = run("objcopy", "--remove-section=.debug_line", half.path, half.path + ".noline")
    if done.returncode == 0:
        status, said, _ = b.convert(b.maps([half.range("other", 100)]), half.path + ".noline")
        check(status != 0 and "no line information" in said, "no line table: " + said)

    start, _ = half.functions["hot"][0]
    status, said, _ = b.convert(b.maps(["%x-%x:50" % (half.segment[2], half.segment[2] + 1)]), half.path,
                                "attribute.min-count=0")
    check(status != 0 and ("no symbols there" in said or "threshold" in said or "no line information" in said),
          "outside: " + said)
    status, said, _ = b.convert(b.maps(["fffffff0-fffffff8:50"]), half.path)
    check(status != 0 and "no branch record" in said or "no sample" in said, "past the end: " + said)
    status, said, _ = b.convert(b.maps(), half.path)
    check(status != 0, "an empty profile: " + said)


def build_ids(b):
    """The note comes twice: the tool then takes the binary for one without build-id, and finds nothing."""
    note = ""
    for first in ("0x11", "0x22"):
        note += '.section .note.twice,"a",%note\n.align 4\n.long 4, 20, 3\n.asciz "GNU"\n'
        note += ".byte " + first + ", 2, 3, 4, 5\n.zero 15\n"
    b.write("note.s", note)
    p = Program(b.folder, "twice", sources=("main.c", "other.c", "note.s"), link=("-Wl,--build-id=none",))
    ids = re.findall(r"Build ID: (\w+)", run("readelf", "-n", p.path).stdout)
    if len(ids) < 2:
        print("skipped: the linker keeps one note: %s" % ids)
        return
    for build_id in ids:
        status, said, out = b.convert(b.maps([p.range("hot", 100)]), p.path, "autofdo-text.file=/x/other-name",
                                      "autofdo-text.build-id=" + build_id)
        check(status == 0 and "hot" in out, "build-id note %s of two: %s" % (build_id, said))


def several(b, p):
    q = Program(b.folder, "second", ("-g", "-O1", "-Dhot=warm"))
    parts = []
    for program, name in ((p, "hot"), (q, "warm")):
        out = os.path.join(b.folder, os.path.basename(program.path) + ".pb")
        status, said = convert("-q", "-t", "pprof", "-s", "convert.symbolize=no", "-s",
                               "autofdo-text.file=" + program.path, "-o", out,
                               b.maps([program.range(name, 40)]))
        check(status == 0, said)
        parts.append(out)
    out = os.path.join(b.folder, "both")
    status, said = convert("-q", "-t", "llvm-text", "--binary", p.path, "--binary", q.path, "-o", out, *parts)
    text = read(out).decode() if status == 0 else said
    check(re.search("^hot:", text, re.M) and re.search("^warm:", text, re.M), "two binaries, one profile: " + text)
    # One recording feeds a profile for each.
    merged = os.path.join(b.folder, "merged.pb")
    check(convert("-q", "-t", "pprof", "-s", "convert.symbolize=no", "-o", merged, *parts)[0] == 0, "merged")
    for program, name in ((p, "hot"), (q, "warm")):
        status, said, out = b.convert(merged, program.path)
        check(status == 0 and name in out and not {"hot", "warm"} - {name} & set(out), "one of two binaries: %s" % said)
    # One that has no part in it is said, and no error beside one that has.
    status, said, out = b.convert(merged, p.path, more=("--binary", os.path.join(b.folder, "half")))
    check(status == 0 and "hot" in out and "half" in said, "one of the binaries has no counts: " + said)
    status, said, out = b.convert(parts[0], os.path.join(b.folder, "half"), more=("--binary", q.path))
    check(status != 0 and "none of the 2 binaries" in said, "none of the binaries has counts: " + said)


def debug_files(b, p):
    """Debug information is found as everywhere else: compressed, in a file of its own, in split units, deduplicated."""
    path = b.maps([p.range("hot", 100), p.range("outer", 9)])
    want = b.convert(path, p.path)[2]

    def same(what, binary, *more, expected=want):
        status, said, out = b.convert(path, binary, "autofdo-text.file=" + binary, more=more)
        check(status == 0 and out == expected, "%s: %s %s" % (what, said, out))

    for method in ("zlib", "zstd"):
        tool = shutil.which("llvm-objcopy-19") or "objcopy"
        copy = p.path + "." + method
        if run(tool, "--compress-debug-sections=" + method, p.path, copy).returncode == 0:
            same("compressed with " + method, copy)
        else:
            print("skipped: no objcopy here compresses with " + method)
    separate = os.path.join(b.folder, "separate")
    shutil.copyfile(p.path, separate)
    check(run("objcopy", "--only-keep-debug", separate, separate + ".debug").returncode == 0, "keep-debug")
    check(run("objcopy", "--strip-all", "--add-gnu-debuglink=" + separate + ".debug", separate,
              cwd=b.folder).returncode == 0, "strip")
    same("a debug file beside the binary", separate)
    os.mkdir(os.path.join(b.folder, "debug"))
    shutil.move(separate + ".debug", os.path.join(b.folder, "debug", "separate.debug"))
    same("a debug file in a directory that was told", separate, "--debug-dir", os.path.join(b.folder, "debug"))
    status, said, _ = b.convert(path, separate, "autofdo-text.file=" + separate)
    check(status != 0 and ("no debug information" in said or "no symbols" in said),
          "the debug file is missing: " + said)

    split = Program(b.folder, "split", ("-g", "-gdwarf-5", "-gsplit-dwarf", "-O1"))
    if split.functions["hot"] == p.functions["hot"]:
        same("split DWARF", split.path)
    if shutil.which("dwz"):
        one, two = os.path.join(b.folder, "one.dwz"), os.path.join(b.folder, "two.dwz")
        for copy in (one, two):
            shutil.copyfile(p.path, copy)
        if run("dwz", "-m", os.path.join(b.folder, "common.debug"), one, two).returncode == 0:
            same("dwz", one)


def architecture(b):
    """A recording made elsewhere: only perf.data says where."""
    if not shutil.which("perf"):
        print("skipped: architecture: no perf here")
        return
    b.write("busy.c", "int main(void) { for (volatile unsigned i = 0; i < 200000000; i++) ; return 0; }\n")
    busy = os.path.join(b.folder, "busy")
    done = run(CC, "-g", "-O1", "-Wl,--build-id=none", "-o", busy, busy + ".c")
    check(done.returncode == 0, done.stderr)
    data = os.path.join(b.folder, "perf.data")
    if run("perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-o", data, "--", busy).returncode != 0:
        print("skipped: architecture: perf cannot record here")
        return
    status, said, out = b.convert(data, busy)
    check(status == 0 and "main" in out, "a recording without branch records: " + said)
    other = bytearray(read(busy))
    other[18:20] = struct.pack("<H", 183 if struct.unpack_from("<H", other, 18)[0] != 183 else 62)
    os.mkdir(os.path.join(b.folder, "elsewhere"))
    status, said, _ = b.convert(data, b.write("elsewhere/busy", bytes(other)))
    check(status != 0 and "is code for" in said and "recorded on" in said, "architecture: " + said)


def lines_only(b):
    """A stored profile with lines and start lines, and no binary."""
    s = mkpprof.Strings()
    text = mkpprof.value_type(s, "samples", "count") + mkpprof.value_type(s, "cpu", "nanoseconds")
    text += mkpprof.sample([1], [60, 6000]) + mkpprof.sample([2, 1], [11, 1100]) + mkpprof.sample([3], [25, 2500])
    text += mkpprof.mapping(s, 1, 0x1000, 0x9000, 0, "/gone/app")
    for ident, name, line in ((1, "outer", 10), (2, "inner", 100), (3, "unknown", 0)):
        text += mkpprof.data(5, mkpprof.msg(f1=ident, f2=s(name), f3=s(name), f4=s("x.c"), f5=line))
    text += mkpprof.location(1, 1, 0x2000, [(1, 14, 0)]) + mkpprof.location(2, 1, 0x2100, [(2, 103, 0), (1, 12, 0)])
    text += mkpprof.location(3, 1, 0x2200, [(3, 5, 0)])
    status, said, out = b.convert(b.write("lines.pb", text + s.fields()), None)
    check(status == 0 and "no binary" in said and "discriminators" in said, "the warning: " + said)
    check(out.get("outer", "").startswith("outer:71:0\n 4: 60\n 2: inner:11\n  3: 11"), "lines to counts: %s" % out)
    check("unknown" not in out, "no start line, no offset")
    status, said, _ = b.convert(os.path.join(b.folder, "lines.pb"), None, "attribute.min-count=71")
    check(status != 0, "lines below the threshold: " + said)


def discriminators(b):
    """Positions by their discriminators: as LLVM packs them, as GCC has them, flow-sensitive, and probes' words."""
    source = "__attribute__((noinline, noipa)) int hot(int n) {\n    n ^= 3;\n    n *= 7;\n    return n + 1;\n}\n"
    source += "int main(void) { return hot(2); }\n"
    b.write("d.c", source)
    for fs in (0, 1):
        done = run(CC, "-g", "-O1", "-fcf-protection=none", "-S", "-o", os.path.join(b.folder, "d.s"),
                   os.path.join(b.folder, "d.c"))
        check(done.returncode == 0, done.stderr)
        text = read(os.path.join(b.folder, "d.s")).decode()
        packed = 3 << 1 | 2 << 8  # base discriminator 3, duplication factor 2
        probe = 7 | 5 << 3 | 1 << 28 | 4 << 16
        for line, value in ((2, packed), (3, probe)):
            text = re.sub(r"(\.loc 1 %d \d+)( is_stmt \d)?( discriminator \d+)?" % line,
                          r"\1\2 discriminator %d" % value, text)
        if fs:
            name = "__llvm_fs_discriminator__"
            text += "\n.globl %s\n.data\n.type %s, %%object\n.size %s, 1\n%s: .byte 1\n" % (name, name, name, name)
        b.write("d.s", text)
        p = Program(b.folder, "d%d" % fs, (), ("d.s",))
        path = b.maps([p.range("hot", 10)])
        found = body(b.convert(path, p.path)[2]["hot"])
        if fs:
            check(found.get("1.%d" % packed) == 10 and found.get("2.%d" % probe) == 10, "flow-sensitive: %s" % found)
        else:
            check(found.get("1.3") == 20 and found.get("2.4") == 10,
                  "base component, duplication factor, probe word: %s" % found)
            found = body(b.convert(path, p.path, "attribute.flavor=gcc")[2]["hot"])
            check(found.get("1.%d" % (packed & 0xffff)) == 10 and found.get("2.%d" % (probe & 0xffff)) == 10,
                  "raw: %s" % found)
            out = os.path.join(b.folder, "out.afdo")
            check(convert("-q", "-t", "gcc-afdo", "--binary", p.path, "-o", out, path)[0] == 0, "gcc-afdo")
            check(convert("-q", "-t", "llvm-text", "-o", out + ".txt", out)[0] == 0, "and back")
            check(body(read(out + ".txt").decode()).get("1.%d" % (packed & 0xffff)) == 10,
"GCC's profiles have raw discriminators")
            flavor = ["-s", "attribute.flavor=llvm"]
            check(convert("-q", "-t", "gcc-afdo", *flavor, "--binary", p.path, "-o", out, path)[0] == 0
                  and convert("-q", "-t", "llvm-text", "-o", out + ".txt", out)[0] == 0, "gcc-afdo, flavor=llvm")
            check(body(read(out + ".txt").decode()).get("1.3") == 20, "what the user says is not changed by the writer")


def kernel(b):
    """Offsets of the kernel count from where its text begins in memory, not in the file."""
    b.write("k.c", MAIN.replace("int main(", "int start_kernel("))
    done = run(CC, "-g", "-O1", "-fcf-protection=none", "-mcmodel=kernel", "-fno-pic", "-nostdlib", "-static",
               "-no-pie",
               "-Wl,-Ttext=0xffffffff81001000", "-Wl,-e,start_kernel", "-Wl,--build-id=sha1", "-o",
               os.path.join(b.folder, "vmlinux"),
               os.path.join(b.folder, "k.c"), os.path.join(b.folder, "other.c"))
    if done.returncode != 0:
        print("skipped: kernel: cannot link at its addresses here: " + done.stderr[:200])
        return
    p = Program.__new__(Program)
    p.path = os.path.join(b.folder, "vmlinux")
    p.look()
    text_start = p.segment[3]
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", p.path).stdout)[1]
    for recorded_id in (build_id, ""):
        s = mkpprof.Strings()
        text = mkpprof.value_type(s, "samples", "count")
        moved = 0x1400000  # its address is random at each boot
        text += mkpprof.mapping(s, 1, text_start + moved, text_start + moved + 0x100000, 0, "[kernel.kallsyms]_text",
                                recorded_id)
        start, size = p.functions["hot"][0]
        for i in range(size):
            text += mkpprof.location(i + 1, 1, p.address(start) + moved + i) + mkpprof.sample([i + 1], [20])
        binary = p.path
        if not recorded_id: # a kernel is known by its name, then
            binary += "-6.1"
            run("objcopy", "--remove-section=.note.gnu.build-id", p.path, binary)
        status, said, out = b.convert(b.write("kernel.pb", text + s.fields()), binary)
        check(status == 0 and out.get("hot", "").startswith("hot:%d:0" % (20 * size)),
              "kernel offsets: %s %s" % (said, out))


def main():
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(folder)
        p = Program(folder, "program")
        rules(b, p)
        entries(b, p)
        thresholds(b, p)
        addresses(b, p)
        names(b, p)
        no_match(b, p)
        nothing(b)
        debug_files(b, p)
        build_ids(b)
        several(b, p)
        architecture(b)
        lines_only(b)
        discriminators(b)
        kernel(b)
    finish()


if __name__ == "__main__":
    main()
