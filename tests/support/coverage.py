#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The share of lines that ran, by folder of libprofconv/, from the counters of a build with PROFCONV_COVERAGE.

    coverage.py SOURCE BUILD [FOLDER ...]

For each FOLDER (as "formats/pprof") the lines that did not run are named, by file.
"""
import collections
import glob
import json
import os
import subprocess
import sys


def counts(source, build):
    """file below libprofconv/ -> {line: runs}"""
    files = collections.defaultdict(dict)
    objects = glob.glob(f"{build}/CMakeFiles/profconv_objects.dir/libprofconv/**/*.gcda", recursive=True)
    top = os.path.join(os.path.realpath(source), "libprofconv") + os.sep
    for path in objects:
        out = subprocess.run(["gcov", "--json-format", "--stdout", path], cwd=build, check=True, capture_output=True).stdout
        for text in out.splitlines():
            data = json.loads(text)
            for file in data["files"]:
                name = os.path.realpath(os.path.join(data["current_working_directory"], file["file"]))
                if not name.startswith(top):
                    continue
                lines = files[name[len(top):]]
                for line in file["lines"]:
                    n = line["line_number"]
                    lines[n] = max(lines.get(n, 0), line["count"])
    return files


def runs(numbers):
    """[3, 4, 5, 9] -> "3-5 9" """
    out = []
    for n in numbers:
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def main():
    source, build, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    files = counts(source, build)
    folders = collections.defaultdict(lambda: [0, 0])
    for name, lines in files.items():
        total = folders[os.path.dirname(name)]
        total[0] += sum(1 for n in lines.values() if n)
        total[1] += len(lines)
    print(f"{'folder':<26} {'lines':>6} {'run':>6} {'share':>7}")
    for folder, (run, total) in sorted(folders.items()):
        print(f"{folder:<26} {total:>6} {run:>6} {100 * run / total:>6.1f}%")
    for folder in wanted:
        print()
        for name, lines in sorted(files.items()):
            left = sorted(n for n, count in lines.items() if not count)
            if os.path.dirname(name) == folder and left:
                print(f"{name} ({100 - 100 * len(left) / len(lines):.1f}%): {runs(left)}")


if __name__ == "__main__":
    main()
