#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public header compiles alone, as C11 and as C++17, without a warning, with every compiler that is here."""
import glob
import os
import shutil
import subprocess
import sys

SOURCE = os.environ["PROFCONV_SOURCE"]
INCLUDE = os.path.join(SOURCE, "include")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def compilers():
    """(command, language, standard) of each distinct compiler found."""
    wanted = [(os.environ.get("PROFCONV_CC", "cc"), "c", "c11"), ("gcc", "c", "c11"), ("clang", "c", "c11"),
              ("clang-19", "c", "c11"), ("g++", "c++", "c++17"), ("clang++", "c++", "c++17"), ("clang++-19", "c++", "c++17")]
    seen = set()
    for name, language, standard in wanted:
        path = shutil.which(name)
        key = (os.path.realpath(path), language) if path else None
        if path and key not in seen:
            seen.add(key)
            yield path, language, standard


def main():
    headers = sorted(glob.glob(os.path.join(INCLUDE, "profconv", "*.h")))
    found = list(compilers())
    problems = 0
    tried = 0
    for header in headers + sorted(glob.glob(os.path.join(INCLUDE, "profconv", "*.hpp"))):
        name = "profconv/" + os.path.basename(header)
        for compiler, language, standard in found:
            if name.endswith(".hpp") and language == "c":
                continue
            tried += 1
            # Included twice: a header guards itself. One object of the program keeps -Wpedantic from an empty unit.
            text = f"#include <{name}>\n#include <{name}>\nextern int profconv_test_unit;\n"
            run = subprocess.run([compiler, f"-std={standard}", "-x", language, *WARNINGS, "-fsyntax-only", "-I", INCLUDE, "-"],
                                 input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if run.returncode != 0:
                problems += 1
                print(f"{name} with {compiler} as {standard}:\n{run.stdout}")
    languages = sorted({language for _, language, _ in found})
    print(f"{len(headers)} headers, {tried} compilations as {' and '.join(languages)}, {problems} problems")
    return 1 if problems or not headers or not found else 0


if __name__ == "__main__":
    sys.exit(main())
