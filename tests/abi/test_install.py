#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs into a folder, moves it, and builds the examples from there as others would, in C and C++, with every compiler that is
here: with pkg-config (shared and static) and with find_package. Nothing else is on the way: the environment is empty but for the
system's folders. Then the programs convert. Each component is installed alone, too."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["PROFCONV_SOURCE"]
BUILD = os.environ["PROFCONV_BUILD"]
EXAMPLES = os.path.join(SOURCE, "tests", "examples")
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}
COMPILERS = [("gcc", "g++"), ("clang", "clang++"), ("clang-19", "clang++-19")]

FOLDED = "main;idle 4\nmain;step;hash 3\n"
TALLY = "TALLY 1\n4 main/idle\n3 main/step/hash\n"


def run(*command, env=None, cwd=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env or CLEAN, cwd=cwd)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stdout}")
        sys.exit(1)
    return done.stdout.strip()


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def expect(what, got, wanted):
    if got != wanted:
        print(f"{what}: {got!r}, {wanted!r} expected")
        sys.exit(1)


def try_programs(name, convert, plugin, env=None):
    """The converter goes to a pprof and back; the plug-in reads and writes its own format."""
    with tempfile.TemporaryDirectory(prefix="profconv-use-") as folder:
        folded = write(folder, "in.folded", FOLDED)
        pprof, back = os.path.join(folder, "out.pb.gz"), os.path.join(folder, "out.folded")
        run(convert, folded, pprof, env=env)
        run(convert, pprof, back, env=env)
        expect(f"{name}: pprof and back", read(back), FOLDED)
        tally = os.path.join(folder, "out.tally")
        run(plugin, folded, tally, env=env)
        expect(f"{name}: plug-in writes", read(tally), TALLY)
        run(plugin, tally, back, env=env)
        expect(f"{name}: plug-in reads", read(back), FOLDED)
        write(folder, "bad.tally", "TALLY 1\nx\n")
        done = subprocess.run([plugin, os.path.join(folder, "bad.tally"), back], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=env or CLEAN)
        expect(f"{name}: bad input", (done.returncode, "line 2" in done.stdout), (1, True))
    print(f"{name}: converts")


def with_pkg_config(prefix, libdir, pairs, folder):
    env = dict(CLEAN, PKG_CONFIG_PATH=os.path.join(libdir, "pkgconfig"))
    flags = run("pkg-config", "--cflags", "--libs", "libprofconv", env=env).split()
    cflags = run("pkg-config", "--cflags", "libprofconv", env=env).split()
    static = [os.path.join(libdir, "libprofconv.a") if flag == "-lprofconv" else flag
              for flag in run("pkg-config", "--static", "--libs", "libprofconv", env=env).split()]
    for flag in cflags:
        expect(f"pkg-config says {flag}", not flag.startswith("-I") or flag[2:].startswith(prefix), True)
    for c, cpp in pairs:
        for compiler, suffix, standard in ((c, "c", "-std=c11"), (cpp, "cpp", "-std=c++17")):
            strict = [compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
            for kind, arguments in (("shared", flags), ("static", cflags + static)):
                programs = []
                for name in ("convert", "plugin"):
                    program = os.path.join(folder, f"{name}-{suffix}")
                    run(*strict, os.path.join(folder, f"{name}.{suffix}"), "-o", program, *arguments)
                    programs.append(program)
                try_programs(f"pkg-config, {kind}, {compiler}", *programs, env=dict(CLEAN, LD_LIBRARY_PATH=libdir)
                             if kind == "shared" else CLEAN)


def with_find_package(prefix, pairs, folder):
    for c, cpp in pairs:
        build = os.path.join(folder, "build-" + c)
        run("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={c}",
            f"-DCMAKE_CXX_COMPILER={cpp}", "-DCMAKE_FIND_USE_SYSTEM_PACKAGE_REGISTRY=OFF")
        run("cmake", "--build", build)
        for language in ("c", "cpp"):
            for library in ("profconv", "static"):
                try_programs(f"find_package, {library}, {c if language == 'c' else cpp}",
                             os.path.join(build, f"convert-{language}-{library}"),
                             os.path.join(build, f"plugin-{language}-{library}"))


def components(folder):
    """Each component alone, and nothing in two of them."""
    wanted = {"runtime": [r"lib.*/libprofconv\.so\.0$", r"lib.*/libprofconv\.so\.0\.\d"],
              "development": [r"include/profconv/profconv\.h$", r"include/profconv/profconv\.hpp$",
                              r"include/profconv/cxx/profile\.hpp$", r"/libprofconv\.so$", r"/libprofconv\.a$",
                              r"/profconv-config\.cmake$", r"/libprofconv\.pc$", r"/man3/libprofconv\.3$"],
              "tools": [r"bin/profconv$", r"/man1/profconv\.1$", r"/man5/profconv-formats\.5$", r"/completions/profconv$",
                        r"/_profconv$", r"/profconv\.fish$"]}
    if os.path.exists(os.path.join(SOURCE, "bindings", "python", "profconv", "__init__.py")):
        wanted["python"] = [r"/profconv/__init__\.py$", r"/profconv/py\.typed$"]
    owner = {}
    for component, patterns in wanted.items():
        prefix = os.path.join(folder, component)
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
        files = [os.path.relpath(os.path.join(at, name), prefix) for at, _, names in os.walk(prefix) for name in names]
        for pattern in patterns:
            expect(f"component {component}, {pattern}", any(re.search(pattern, name) for name in files), True)
        for name in files:
            expect(f"{name} in {component} and another component", owner.setdefault(name, component), component)
    print(f"{len(wanted)} components, {len(owner)} files, none in two")


def names_no_folder(prefix):
    """What is installed as text does not say where it was made."""
    for at, _, names in os.walk(prefix):
        for name in names:
            path = os.path.join(at, name)
            if name.endswith((".cmake", ".pc", ".h", ".hpp", ".py")) or "/man" in at:
                text = read(path)
                for place in (BUILD, SOURCE):
                    expect(f"{path} names {place}", place in text, False)


def manual_of_the_library(prefix, folder, pairs):
    """Each name in libprofconv(3) is in a header, and its example compiles and converts."""
    at = {name: os.path.join(where, name) for where, _, names in os.walk(prefix) for name in names}
    page = read(at["libprofconv.3"]).replace("\\-", "-")
    headers = "".join(read(path) for path in glob.glob(os.path.join(os.path.dirname(at["profconv.h"]), "*.h")))
    names = set(re.findall(r"\b(?:profconv|PROFCONV)_\w*[a-zA-Z]\b", page))
    expect("names in libprofconv.3 that no header has", sorted(n for n in names if not re.search(rf"\b{n}\b", headers)), [])
    expect("names in libprofconv.3", len(names) > 40, True)
    example = re.search(r"\.SH EXAMPLES\n\.nf\n(.*?)\.fi", page, re.S).group(1).replace("\\e", "\\")
    program = "#include <stdio.h>\n#include <profconv/profconv.h>\n\nint main(void) {\n" + example + "    return failed;\n}\n"
    env = dict(CLEAN, PKG_CONFIG_PATH=os.path.dirname(at["libprofconv.pc"]))
    flags = run("pkg-config", "--cflags", "--libs", "libprofconv", env=env).split()
    run(pairs[0][0], "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", write(folder, "page.c", program), "-o",
        os.path.join(folder, "page"), *flags)
    shutil.copy(os.path.join(SOURCE, "tests", "data", "quickstart", "wordcount.data"), os.path.join(folder, "perf.data"))
    run(os.path.join(folder, "page"), cwd=folder, env=dict(CLEAN, LD_LIBRARY_PATH=os.path.dirname(at["libprofconv.so"])))
    expect("profile of the page's example", os.path.getsize(os.path.join(folder, "profile.pb.gz")) > 100, True)


def manuals(prefix):
    if not shutil.which("groff"):
        print("no groff here: pages are not looked at")
        return
    pages = [os.path.join(at, name) for at, _, names in os.walk(prefix) for name in names if re.search(r"/man\d", at)]
    expect("pages", sorted(map(os.path.basename, pages)), ["libprofconv.3", "profconv-formats.5", "profconv.1"])
    for page in pages:
        done = subprocess.run(["groff", "-t", "-man", "-Tutf8", "-ww", page], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=CLEAN)
        expect(f"groff, {page}", (done.returncode, done.stderr), (0, b""))
    formats = read([page for page in pages if page.endswith(".5")][0])
    for name in re.findall(r"^(\S+) .*\br?w?\b", run(os.path.join(prefix, "bin", "profconv"), "formats"), re.M)[1:5]:
        expect(f"the page has {name}", f".SS {name}".replace("-", "\\-") in formats, True)


def main():
    if os.environ.get("PROFCONV_SANITIZED"):
        print("the libraries hold sanitizers, which a plain consumer does not link")
        return 77
    for tool in ("cmake", "pkg-config"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return 77
    pairs = []
    for c, cpp in COMPILERS:
        path = shutil.which(c)
        if path and shutil.which(cpp) and os.path.realpath(path) not in [os.path.realpath(shutil.which(p)) for p, _ in pairs]:
            pairs.append((c, cpp))
    if not pairs:
        print("no pair of a C and a C++ compiler is installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="profconv-install-") as folder:
        prefix = os.path.join(folder, "prefix")
        run("cmake", "--install", BUILD, "--prefix", prefix)
        # Moved after the installation: the packages must not remember where they were made.
        moved = os.path.join(folder, "moved")
        os.rename(prefix, moved)
        found = [at for at, _, names in os.walk(moved) if "libprofconv.pc" in names]
        expect("places of libprofconv.pc", len(found), 1)
        names_no_folder(moved)
        manuals(moved)
        manual_of_the_library(moved, folder, pairs)
        sources = os.path.join(folder, "sources")
        os.mkdir(sources)
        for path in glob.glob(os.path.join(EXAMPLES, "*")):
            shutil.copy(path, sources)
        expect("lines of convert.c", read(os.path.join(sources, "convert.c")).count("\n") < 40, True)
        with_pkg_config(moved, os.path.dirname(found[0]), pairs, sources)
        with_find_package(moved, pairs, sources)
        components(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
