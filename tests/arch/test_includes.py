#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The shape of the tree: who may include whom, what lies where, and that every reader is fuzzed.

Direction: base <- io <- model <- {formats/*, symbolize, pgo, transform} <- convert <- bindings. Every rule that is broken is printed with
file and line.
"""
import os
import re
import subprocess
import sys

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP_LEVEL = {"libprofconv", "include", "bindings", "fuzz", "tests", "CMakeLists.txt", "README.md", "LICENSE"}
MAX_LINES = 900

# Layer: the layers whose internal headers it may include. pgo/ needs what symbolize/ knows about binaries, since only symbolize/ may
# open them; not the other way round.
LAYERS = {
    "base": {"base"},
    "io": {"base", "io"},
    "model": {"base", "io", "model"},
    "symbolize": {"base", "io", "model", "symbolize"},
    "pgo": {"base", "io", "model", "symbolize", "pgo"},
    "transform": {"base", "io", "model", "transform"},
    "convert": {"base", "io", "model", "convert"},
}
FORMAT_HEADERS = {"base"}  # and libprofconv/io/io.h, the format's own folder, and formats/common, which knows no format

# Headers of other projects: the only folder that may see them.
EXTERNAL = [
    (re.compile(r"^(elfutils/.*|libelf\.h|gelf\.h|dwarf\.h|libiberty/.*|demangle\.h|libiberty\.h)$"), "libprofconv/symbolize/"),
    (re.compile(r"^(protobuf-c/.*|google/.*|.*\.pb-c\.h)$"), "libprofconv/formats/pprof/"),
    (re.compile(r"^regex\.h$"), "libprofconv/transform/"),
    (re.compile(r"^(zlib|zconf)\.h$"), "libprofconv/io/"),
    (re.compile(r"^(zstd.*|zdict)\.h$"), ("libprofconv/formats/perf-data/", "libprofconv/symbolize/")),
]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')

problems = []


def problem(path, line, text):
    problems.append(f"{path}:{line}: {text}" if line else f"{path}: {text}")


def tracked_files():
    """What belongs to the project: git's list (new files included), or, without git, everything but build folders."""
    try:
        out = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        files = [name.decode() for name in out.split(b"\0") if name]
        if files:
            return sorted(f for f in set(files) if os.path.isfile(os.path.join(SOURCE, f)))
    except (OSError, subprocess.CalledProcessError):
        pass
    files = []
    for folder, folders, names in os.walk(SOURCE):
        folders[:] = [f for f in folders if not f.startswith("build") and f not in (".git", "__pycache__")]
        files += [os.path.relpath(os.path.join(folder, name), SOURCE) for name in names]
    return sorted(files)


def read(path):
    with open(os.path.join(SOURCE, path), "rb") as file:
        return file.read()


def layer_of(path):
    """("formats", "pprof"), ("io", None), ("bindings", "cli"), ... or (None, None) for tests and fuzz targets."""
    parts = path.split("/")
    if parts[0] == "libprofconv" and len(parts) > 2:
        return ("formats", parts[2]) if parts[1] == "formats" else (parts[1], None)
    if parts[0] == "include":
        return "include", None
    if parts[0] == "bindings":
        return "bindings", parts[1]
    return None, None


def allowed(path, header):
    """Whether `path` may include the project's internal `header` ("libprofconv/...")."""
    layer, name = layer_of(path)
    target, target_name = layer_of(header)
    if layer == "formats":
        own = target == "formats" and target_name in (name, "common")
        return own or target in FORMAT_HEADERS or header == "libprofconv/io/io.h"
    return layer in LAYERS and target in LAYERS[layer]


def check_include(path, line, quote, header):
    layer, _ = layer_of(path)
    for pattern, home in EXTERNAL:
        if layer and pattern.match(header) and not path.startswith(home):
            problem(path, line, f"<{header}> may be included in {home} only")
    if not layer:
        return
    if header.startswith("profconv/"):
        return
    if quote == "<":
        if header.startswith("libprofconv/"):
            problem(path, line, f"internal header <{header}> in angle brackets")
        return
    if header.startswith("libprofconv/"):
        if not allowed(path, header):
            problem(path, line, f'"{header}" is not below this file in the order of layers')
        return
    beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
    if layer == "bindings":
        if not beside.startswith("bindings/"):
            problem(path, line, f'"{header}" is not a public header')
    elif "/" in header and not header.endswith(".pb-c.h"):  # a plain name is one of the same folder
        problem(path, line, f'"{header}" should be named from the root, "libprofconv/..."')


def check_c(path, text):
    lines = text.split("\n")
    if "SPDX-License-Identifier: MIT" not in "\n".join(lines[:3]):
        problem(path, 1, "no SPDX-License-Identifier line")
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match:
            check_include(path, number, match.group(1), match.group(2))
    if text.count("#include") and layer_of(path)[0] == "include":
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"':
                problem(path, number, "public headers include with angle brackets")


def check_places(files):
    """Folders of the machine that the test runs on, wherever they may have slipped in."""
    places = {SOURCE, os.path.dirname(SOURCE), os.path.expanduser("~")}
    ordinary = {"/", "/tmp", "/home", "/usr", "/usr/src", "/opt", "/var/tmp", "/nonexistent", "/root"}
    needles = [place.encode() + b"/" for place in places if place not in ordinary]
    for path in files:
        data = read(path)
        for needle in needles:
            at = data.find(needle)
            if at >= 0:
                problem(path, data.count(b"\n", 0, at) + 1, f"names a folder of this machine, {needle.decode()}")


def check_readers(files):
    """Every built-in reader has a fuzz target and seeds."""
    builtin = read("libprofconv/convert/builtin.h").decode()
    builtin = re.sub(r"/\*.*?\*/", "", builtin, flags=re.S)
    readers = re.findall(r"\bREADER\((\w+)\)", builtin)
    if not readers:
        problem("libprofconv/convert/builtin.h", 0, "no reader found; has the list changed its form?")
    for name in readers:
        folder = f"fuzz/seeds/{name.replace('_', '-')}/"
        if f"fuzz/fuzz_{name}.c" not in files:
            problem("fuzz", 0, f"the reader {name} has no target fuzz/fuzz_{name}.c")
        if not any(path.startswith(folder) for path in files):
            problem("fuzz", 0, f"the reader {name} has no seeds in {folder}")


def main():
    files = tracked_files()
    present = set(files)
    for name in sorted({path.split("/")[0] for path in files}):
        if name not in TOP_LEVEL and not name.startswith("."):
            problem(name, 0, "does not belong at the top level")
    for path in files:
        base = os.path.basename(path)
        if not base.endswith((".c", ".h", ".hpp", ".py", ".sh")) and base != "CMakeLists.txt":
            continue
        text = read(path).decode("utf-8", "replace")
        lines = text.count("\n")
        if lines > MAX_LINES:
            problem(path, 0, f"{lines} lines; {MAX_LINES} at most, which is more than one thought")
        if base.endswith((".c", ".h", ".hpp")):
            check_c(path, text)
    check_places(files)
    check_readers(present)
    for text in problems:
        print(text)
    print(f"{len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
