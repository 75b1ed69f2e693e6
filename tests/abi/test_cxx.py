#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds test_cxx.cpp against the shared library with every C++ compiler that is here, without a warning, and runs it."""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["PROFCONV_SOURCE"]
BUILD = os.environ["PROFCONV_BUILD"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def compilers():
    """Each distinct compiler. Under sanitizers only the one that goes with the library's."""
    names = ["g++", "clang++", "clang++-19"]
    if os.environ.get("PROFCONV_SANITIZED"):
        names = [name for name in names if ("clang" in name) == ("clang" in os.environ.get("PROFCONV_CC", "cc"))]
    seen = set()
    for name in names:
        path = shutil.which(name)
        if path and os.path.realpath(path) not in seen:
            seen.add(os.path.realpath(path))
            yield path


def main():
    sanitized = os.environ.get("PROFCONV_SANITIZED")
    flags = [f"-fsanitize={sanitized}", "-fno-sanitize-recover=all"] if sanitized else []
    tried = problems = 0
    with tempfile.TemporaryDirectory(prefix="profconv-cxx-") as folder:
        for compiler in compilers():
            for standard in ("c++17", "c++20"):
                tried += 1
                program = os.path.join(folder, "program")
                command = [compiler, f"-std={standard}", *WARNINGS, *flags, "-g", "-I", os.path.join(SOURCE, "include"),
                           os.path.join(SOURCE, "tests", "abi", "test_cxx.cpp"), "-o", program, "-L", BUILD, "-lprofconv",
                           f"-Wl,-rpath,{BUILD}"]
                for step in (command, [program]):
                    done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                    if done.returncode != 0:
                        problems += 1
                        print(f"{' '.join(step)}: status {done.returncode}\n{done.stdout}")
                        break
                else:
                    print(f"{compiler} {standard}: {done.stdout.strip()}")
    if not tried:
        print("no C++ compiler is installed")
        return 77
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
