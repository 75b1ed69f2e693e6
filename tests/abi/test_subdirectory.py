#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library as a part of somebody else's build: add_subdirectory, in C and C++. Neither the command, nor tests, nor install
rules come along."""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["PROFCONV_SOURCE"]
CC = os.environ.get("PROFCONV_CC", "cc")
FOLDED = "main;idle 4\nmain;step;hash 3\n"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stdout[-4000:]}")
        sys.exit(1)


def main():
    if os.environ.get("PROFCONV_SANITIZED"):
        print("the plain build does this")
        return 77
    if not shutil.which("cmake") or not (shutil.which("g++") or shutil.which("clang++")):
        print("cmake or a C++ compiler is not installed")
        return 77
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    with tempfile.TemporaryDirectory(prefix="profconv-subdirectory-") as folder:
        build = os.path.join(folder, "build")
        run("cmake", "-S", os.path.join(SOURCE, "tests", "examples"), "-B", build, *generator, f"-DPROFCONV_SOURCE={SOURCE}",
            f"-DCMAKE_C_COMPILER={CC}", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-O0 -g0")
        run("cmake", "--build", build, "--parallel", str(os.cpu_count() or 1))
        for unwanted in ("libprofconv/bindings", "libprofconv/tests"):
            if os.path.isdir(os.path.join(build, unwanted)):
                print(f"{unwanted} was configured")
                return 1
        for language in ("c", "cpp"):
            for library in ("profconv", "static"):
                source, out = os.path.join(folder, "in.folded"), os.path.join(folder, "out.folded")
                with open(source, "w", encoding="utf-8") as file:
                    file.write(FOLDED)
                for name, between in (("convert", "between.pb.gz"), ("plugin", "between.tally")):
                    program = os.path.join(build, f"{name}-{language}-{library}")
                    run(program, source, os.path.join(folder, between))
                    run(program, os.path.join(folder, between), out)
                    with open(out, encoding="utf-8") as file:
                        if file.read() != FOLDED:
                            print(f"{program}: not the same after {between}")
                            return 1
        print("add_subdirectory: C and C++, shared and static, convert")
    return 0


if __name__ == "__main__":
    sys.exit(main())
