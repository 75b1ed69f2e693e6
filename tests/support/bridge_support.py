# SPDX-License-Identifier: MIT
"""What the tests of branch records on their way through pprof share: running the command, the maps of a binary and
their sums, and a store like Pyroscope, imitated."""
import os
import shutil
import subprocess
import sys
from collections import Counter

SOURCE = os.environ["PROFCONV_SOURCE"]
PROFCONV = os.environ["PROFCONV"]
CORPUS = os.environ.get("PROFCONV_CORPUS") or os.path.join(SOURCE, "..", "shared", "corpus")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from mkpprof import data, num, varint  # noqa: E402  (the wire format)

failures = []
counts = Counter()
missing = set()


def check(ok, what):
    counts["checks"] += 1
    if not ok:
        failures.append(what)
        print("FAIL", what)


def run(command, **more):
    env = dict(os.environ, PERF_CONFIG="/dev/null", GOTOOLCHAIN="local", GOFLAGS="", PPROF_BINARY_PATH="/nonexistent")
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, **more)


def convert(to, out, inputs, *options):
    inputs = [inputs] if isinstance(inputs, str) else inputs
    done = run([PROFCONV, "convert", "-q", "-t", to, "-o", out, *options, *inputs])
    if done.returncode:
        failures.append("%s of %s: %s" % (to, inputs, done.stderr.decode(errors="replace").strip()))
        print("FAIL", failures[-1])
    return done.returncode == 0


def read(path):
    with open(path, "rb") as file:
        return file.read()


def tool(name):
    if shutil.which(name):
        return True
    missing.add(name)
    return False


def maps(path, binary, tmp):
    out = os.path.join(tmp, "maps.txt")
    if not convert("autofdo-text", out, path, "-s", "autofdo-text.binary=" + os.path.basename(binary)):
        return None
    return read(out)


def add_maps(texts):
    """The sum of maps texts, as the format is written: three lists of sorted keys."""
    lists = [Counter(), Counter(), Counter()]
    for text in texts:
        lines = iter(text.decode().split())
        for counter in lists:
            for _ in range(int(next(lines))):
                key, count = next(lines).rsplit(":", 1)
                counter[key] += int(count)

    def order(key):
        return [int(x, 16) for x in key.replace("->", "-").split("-")]
    out = []
    for counter in lists:
        out.append("%d\n" % len(counter))
        out += ["%s:%d\n" % (k, counter[k]) for k in sorted(counter, key=order)]
    return "".join(out).encode()


def compiler_profiles(path, binary, tmp, *options):
    """The bytes of each compiler's profile."""
    made = {}
    for form in ("llvm-text", "llvm-extbinary", "gcc-afdo"):
        out = os.path.join(tmp, "compiler")
        if convert(form, out, path, "--binary", binary, *options):
            made[form] = read(out)
    return made


# ---- a store ----

def fields(message):
    at, out = 0, []
    while at < len(message):
        values = []
        for _ in range(2):
            value = shift = 0
            while True:
                byte = message[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            values.append(value)
            if len(values) == 1 and value & 7 not in (0, 2):
                raise ValueError("wire type %d" % (value & 7))
        key, value = values
        if key & 7 == 2:
            out.append((key >> 3, message[at:at + value]))
            at += value
        else:
            out.append((key >> 3, value))
    return out


def unpack(value):
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        number = shift = 0
        while True:
            byte = value[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        out.append(number)
    return out


class Profile:
    """As far as the store keeps it: types, samples, mappings, locations, functions."""

    def __init__(self, raw):
        self.strings, self.types, self.samples = [], [], []
        self.mappings, self.locations, self.functions = {}, {}, {}
        for field, value in fields(raw):
            if field == 6:
                self.strings.append(value)
        for field, value in fields(raw):
            if field not in (1, 2, 3, 4, 5):
                continue
            inner = fields(value)
            plain = {k: v for k, v in inner}
            if field == 1:
                self.types.append((self.strings[plain.get(1, 0)], self.strings[plain.get(2, 0)]))
            elif field == 2:
                ids = [i for k, v in inner if k == 1 for i in unpack(v)]
                values = [i for k, v in inner if k == 2 for i in unpack(v)]
                self.samples.append((tuple(ids), values))
            elif field == 3:
                file, build_id = self.strings[plain.get(5, 0)], self.strings[plain.get(6, 0)]
                self.mappings[plain[1]] = dict(start=plain.get(2, 0), limit=plain.get(3, 0), offset=plain.get(4, 0),
                                               file=file, build_id=build_id, functions=plain.get(7, 0))
            elif field == 4:
                lines = tuple((dict(fields(v)).get(1, 0), dict(fields(v)).get(2, 0)) for k, v in inner if k == 4)
                self.locations[plain[1]] = [plain.get(2, 0), plain.get(3, 0), lines]
            else:
                self.functions[plain[1]] = (self.strings[plain.get(2, 0)], self.strings[plain.get(3, 0)],
                                            self.strings[plain.get(4, 0)], plain.get(5, 0))


class Store:
    """What Pyroscope keeps: addresses of mappings without has_functions, mappings by size, offset and build-id (or
    file), no labels, one series a sample type; each answer is one merged profile with a made-up period, time and
    duration."""

    def __init__(self):
        self.series, self.mapping_rows, self.start = {}, {}, {}

    def push(self, raw):
        p = Profile(raw)

        def place(mapping, address):
            m = p.mappings.get(mapping)
            if m is None:
                return None, address
            start, limit = (0, 0) if m["functions"] else (m["start"], m["limit"])
            key = ((limit - start + 4095) & ~4095, m["offset"], m["build_id"] or m["file"])
            self.start.setdefault(key, (start, limit, m))  # the first one met; addresses are never rebased
            return key, 0 if m["functions"] else address

        def location(number):
            mapping, address, lines = p.locations[number]
            key, address = place(mapping, address)
            named = tuple((p.functions[f], line) for f, line in lines)
            return None if address == 0 and not named else (key, address, named)
        for ids, values in p.samples:
            stack = tuple(location(i) for i in ids)
            if None in stack:
                continue
            for kind, value in zip(p.types, values):
                if value:
                    self.series.setdefault(kind, Counter())[stack] += value

    def answer(self, kind):
        strings, tables, out = [b""], {"m": [], "l": [], "f": []}, []

        def text(s):
            if s not in strings:
                strings.append(s)
            return strings.index(s)

        def row(table, item):
            if item not in tables[table]:
                tables[table].append(item)
            return tables[table].index(item) + 1
        out.append(data(1, num(1, text(kind[0])) + num(2, text(kind[1]))))
        for stack, value in self.series[kind].items():
            ids = b"".join(varint(row("l", frame)) for frame in stack)
            out.append(data(2, data(1, ids) + data(2, varint(value))))
        for i, (key, address, lines) in enumerate(tables["l"]):
            body = num(1, i + 1) + (num(2, row("m", key)) if key else b"") + num(3, address)
            for function, line in lines:
                body += data(4, num(1, row("f", function)) + num(2, line))
            out.append(data(4, body))
        for i, key in enumerate(tables["m"]):
            start, limit, m = self.start[key]
            body = num(1, i + 1) + num(2, start) + num(3, limit) + num(4, m["offset"]) + num(5, text(m["file"]))
            out.append(data(3, body + num(6, text(m["build_id"])) + (num(7, 1) if m["functions"] else b"")))
        for i, (name, system, file, start) in enumerate(tables["f"]):
            body = num(1, i + 1) + num(2, text(name)) + num(3, text(system)) + num(4, text(file))
            out.append(data(5, body + num(5, start)))
        out.append(data(11, num(1, text(b"cpu")) + num(2, text(b"nanoseconds"))) + num(12, 1000000000))
        out.append(num(9, 1700000000000000000) + num(10, 3600000000000) + num(14, text(kind[0])))
        return b"".join(out) + b"".join(data(6, s) for s in strings)


def raw_pprof(path, tmp, *options):
    out = os.path.join(tmp, "upload.pb")
    convert("pprof", out, path, "-s", "pprof.compress=no", *options)
    return read(out)


def answers(store, tmp):
    """One pprof a sample type, in an order of no meaning."""
    paths = []
    for kind in sorted(store.series, key=lambda k: k[0][::-1]):
        if kind[0] in (b"branch", b"branch_mispredicted", b"range", b"address"):
            paths.append(os.path.join(tmp, "answer.%d.pb" % len(paths)))
            with open(paths[-1], "wb") as file:
                file.write(store.answer(kind))
    return paths
