#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs into a folder and builds a program from there as others would: pkg-config (shared and static) and find_package.

The program registers nothing and reads nothing: it starts, makes a registry and says how many formats there are.
"""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["PROFCONV_SOURCE"]
BUILD = os.environ["PROFCONV_BUILD"]
CC = os.environ.get("PROFCONV_CC", "cc")

PROGRAM = r"""
#include <profconv/profconv.h>
#include <profconv/plugin.h>
#include <stdio.h>
int main(void) {
    profconv_registry *registry = NULL;
    profconv_error error;
    if (profconv_registry_new(&registry, NULL, &error) != PROFCONV_OK) {
        printf("%s\n", error.message);
        return 1;
    }
    printf("%s %d\n", profconv_version(), (int)profconv_registry_format_count(registry));
    profconv_registry_free(registry);
    return 0;
}
"""
LISTS = """
cmake_minimum_required(VERSION 3.21)
project(consumer C)
find_package(profconv REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE profconv::profconv)
add_executable(static program.c)
target_link_libraries(static PRIVATE profconv::static)
"""


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stdout}")
        sys.exit(1)
    return done.stdout.strip()


def check(name, output):
    version, formats = output.split()
    if version.count(".") != 2 or int(formats) < 3:
        print(f"{name}: '{output}'")
        sys.exit(1)
    print(f"{name}: version {version}, {formats} formats")


def main():
    if os.environ.get("PROFCONV_SANITIZED"):
        print("the libraries hold sanitizers, which a plain consumer does not link")
        return 77
    for tool in ("cmake", "pkg-config"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return 77
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="install-") as folder:
        prefix = os.path.join(folder, "prefix")
        run("cmake", "--install", BUILD, "--prefix", prefix)
        # Moved after the installation: the packages must not remember where they were made.
        moved = os.path.join(folder, "moved")
        os.rename(prefix, moved)
        found = [at for at, _, names in os.walk(moved) if "libprofconv.pc" in names]
        if len(found) != 1:
            print(f"libprofconv.pc in {found}")
            return 1
        environment = dict(os.environ, PKG_CONFIG_PATH=found[0])
        source = os.path.join(folder, "program.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(LISTS)

        def pkg_config(*arguments):
            return run("pkg-config", *arguments, "libprofconv", env=environment).split()

        libdir = pkg_config("--variable=libdir")[0]
        program = os.path.join(folder, "program")
        run(CC, "-std=c11", "-Wall", "-Werror", source, "-o", program, *pkg_config("--cflags", "--libs"))
        check("pkg-config, shared", run(program, env=dict(environment, LD_LIBRARY_PATH=libdir)))
        libraries = [os.path.join(libdir, "libprofconv.a") if flag == "-lprofconv" else flag
                     for flag in pkg_config("--static", "--libs")]
        run(CC, "-std=c11", source, "-o", program, *pkg_config("--cflags"), *libraries)
        check("pkg-config, static", run(program))
        build = os.path.join(folder, "build")
        run("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={moved}", f"-DCMAKE_C_COMPILER={CC}")
        run("cmake", "--build", build)
        check("find_package, shared", run(os.path.join(build, "shared")))
        check("find_package, static", run(os.path.join(build, "static")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
