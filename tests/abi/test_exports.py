#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the shared library exports = what the version script lists = what the headers declare with PROFCONV_API."""
import glob
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ["PROFCONV_SOURCE"]
BUILD = os.environ["PROFCONV_BUILD"]


def without_comments(text):
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))


def declared():
    names = set()
    for path in glob.glob(os.path.join(SOURCE, "include", "profconv", "*.h")):
        with open(path, encoding="utf-8") as file:
            text = without_comments(file.read())
        for declaration in re.findall(r"^PROFCONV_API\b(.*?);", text, flags=re.S | re.M):
            names.add(re.search(r"\b(profconv_\w+)\s*\(", declaration).group(1))
    return names


def mapped():
    with open(os.path.join(SOURCE, "libprofconv", "profconv.map"), encoding="utf-8") as file:
        text = without_comments(file.read())
    return set(re.findall(r"\b(profconv_\w+)\s*;", text))


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines() if line.strip()}


def soname(library):
    out = subprocess.run(["readelf", "-d", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    match = re.search(r"\(SONAME\).*\[(.*)\]", out)
    return match.group(1) if match else None


def report(title, names):
    for name in sorted(names):
        print(f"{title}: {name}")
    return len(names)


def main():
    if not shutil.which("nm") or not shutil.which("readelf"):
        print("nm and readelf are not installed")
        return 77
    library = os.path.join(BUILD, "libprofconv.so")
    api, script, symbols = declared(), mapped(), exported(library)
    problems = report("declared, but not in profconv.map", api - script)
    problems += report("in profconv.map, but not declared", script - api)
    if not os.environ.get("PROFCONV_SANITIZED"):  # the sanitizers add exports of their own
        problems += report("exported, but not declared", symbols - api)
    problems += report("declared, but not exported", api - symbols)
    if soname(library) != "libprofconv.so.0":
        print(f"SONAME is {soname(library)}, libprofconv.so.0 expected")
        problems += 1
    print(f"{len(api)} functions, {problems} problems")
    return 1 if problems or len(api) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
