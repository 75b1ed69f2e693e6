# SPDX-License-Identifier: MIT
"""What the tests of the viewers' formats share: profiles made for a purpose, and what a written page holds."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mkpprof import Strings, data, label, location, mapping, msg, num, sample, value_type  # noqa: E402

PROFCONV = os.environ.get("PROFCONV")
problems = []


def check(ok, text):
    if not ok:
        problems.append(text)
        print("FAILED:", text)
    return ok


def finish():
    print(f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


def run(*arguments):
    done = subprocess.run([PROFCONV, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def convert(source, target, *more):
    status, said = run("convert", "-q", *more, "-o", target, source)
    check(status == 0, f"{os.path.basename(source)} to {os.path.basename(target)} {more}: {said}")
    return said


class Texts(Strings):
    """A table of strings for profiles with many."""

    def __init__(self):
        super().__init__()
        self.known = {b"": 0}

    def __call__(self, text):
        text = text.encode() if isinstance(text, str) else text
        if text not in self.known:
            self.known[text] = len(self.table)
            self.table.append(text)
        return self.known[text]


def pprof(path, types, rows, mappings=(), default=None, build_ids=None):
    """types: [(name, unit)]; rows: [(frames root first, values, labels)]. A frame is a name, or (name, file, line of the function,
    line, number of its mapping), or a list of those, inlined ones last. build_ids: {number of a mapping: its id}."""
    s = Texts()
    out = [value_type(s, name, unit) for name, unit in types]
    functions, locations, tail = {}, {}, []

    def function(frame):
        name, file, start = frame[:3]
        if (name, file, start) not in functions:
            functions[name, file, start] = len(functions) + 1
        return functions[name, file, start]

    for frames, values, labels in rows:
        ids = []
        for entry in reversed(frames):
            group = entry if isinstance(entry, list) else [entry]
            group = [f if isinstance(f, tuple) else (f, "", 0, 0, 0) for f in group]
            key = tuple(group)
            if key not in locations:
                ident = len(locations) + 1
                locations[key] = ident
                lines = [(function(f), f[3], 0) for f in reversed(group)]
                tail.append(location(ident, group[0][4], 0x1000 + ident if group[0][4] else 0, lines))
            ids.append(locations[key])
        marks = b"".join(label(s, k, v) if isinstance(v, (str, bytes)) else label(s, k, number=v) for k, v in labels.items())
        out.append(sample(ids, values, marks))
    for number, name in enumerate(mappings, 1):
        out.append(mapping(s, number, 0x1000, 0x100000, 0, name, (build_ids or {}).get(number, ""), has=(1, 1, 1, 1)))
    out += tail
    for (name, file, start), ident in functions.items():
        out.append(data(5, msg(f1=ident, f2=s(name), f3=s(name), f4=s(file), f5=start)))
    if default:
        out.append(num(14, s(default)))
    with open(path, "wb") as file:
        file.write(b"".join(out) + s.fields())


def read(path):
    with open(path, "rb") as file:
        return file.read()


def page(path):
    """The page's text and the profile inside."""
    text = read(path).decode("utf-8")
    found = re.findall(r'<script type="application/json" id="profile">(.*?)</script>', text, re.S)
    check(len(found) == 1, "one profile in the page")
    return text, json.loads(found[0])


def paths(profile):
    """{names from the root: [self value of each type]} of a page's profile; nodes without self values are left out."""
    names = [profile["strings"][i] for i in profile["frames"]["name"]]
    out, path = {}, []
    for i, depth in enumerate(profile["nodes"]["depth"]):
        path[depth:] = [names[profile["nodes"]["frame"][i]]]
        values = [int(column[i]) for column in profile["self"]]
        if any(values):
            key = tuple(path[1:])
            check(key not in out, f"{key} is twice in the page")
            out[key] = values
    return out
