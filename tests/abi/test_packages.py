#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cpack makes Debian packages with the right names and dependencies; unpacked into an empty folder they work: the command, a program
that links the library, and the Python package."""
import glob
import gzip
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["PROFCONV_SOURCE"]
BUILD = os.environ["PROFCONV_BUILD"]
FOLDED = "main;idle 4\nmain;step;hash 3\n"
NEEDED = {"libprofconv0": ["libc6", "libdw1", "libelf1", "libprotobuf-c1", "libzstd1", "zlib1g"],
          "libprofconv-dev": ["libprofconv0 (= "], "profconv": ["libc6", "libdw1"]}


def run(*command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stdout[-4000:]}")
        sys.exit(1)
    return done.stdout.strip()


def expect(what, got, wanted):
    if got != wanted:
        print(f"{what}: {got!r}, {wanted!r} expected")
        sys.exit(1)


def find(root, name):
    found = [os.path.join(at, n) for at, folders, names in os.walk(root) for n in names + folders if n == name]
    expect(f"{name} in the packages", len(found) >= 1, True)
    return found[0]


def main():
    if os.environ.get("PROFCONV_SANITIZED"):
        print("packages are made from the plain build")
        return 77
    for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return 77
    needed = dict(NEEDED)
    if os.path.exists(os.path.join(SOURCE, "bindings", "python", "profconv", "__init__.py")):
        needed["python3-profconv"] = ["python3", "libprofconv0"]
    with tempfile.TemporaryDirectory(prefix="profconv-packages-") as folder:
        made, root = os.path.join(folder, "made"), os.path.join(folder, "root")
        run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", made)
        packages = {run("dpkg-deb", "-f", path, "Package"): path for path in glob.glob(os.path.join(made, "*.deb"))}
        expect("packages", sorted(packages), sorted(needed))
        for name, path in packages.items():
            depends = run("dpkg-deb", "-f", path, "Depends")
            for other in needed[name]:
                expect(f"{name} depends on {other}", other in depends, True)
            run("dpkg-deb", "-x", path, root)
        control = os.path.join(folder, "control")
        run("dpkg-deb", "-e", packages["libprofconv0"], control)
        with open(os.path.join(control, "shlibs"), encoding="utf-8") as file:
            expect("shlibs", file.read().split()[:3], ["libprofconv", "0", "libprofconv0"])

        library = find(root, "libprofconv.so.0")
        env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": os.path.dirname(library), "PROFCONV_LIBRARY": library}
        folded, pprof, back = (os.path.join(folder, n) for n in ("in.folded", "out.pb.gz", "out.folded"))
        with open(folded, "w", encoding="utf-8") as file:
            file.write(FOLDED)
        command = os.path.join(os.path.dirname(find(root, "profconv-formats.5")), "..", "..", "..", "bin", "profconv")
        run(command, "convert", "-o", pprof, folded, env=env)
        with gzip.open(pprof) as file:
            expect("pprof", b"hash" in file.read(), True)

        compiler = shutil.which("cc")
        if compiler:
            program = os.path.join(folder, "convert")
            run(compiler, "-std=c11", "-I", os.path.dirname(os.path.dirname(find(root, "profconv.h"))),
                os.path.join(SOURCE, "tests", "examples", "convert.c"), "-o", program, "-L", os.path.dirname(library), "-lprofconv")
            run(program, pprof, back, env=env)
            with open(back, encoding="utf-8") as file:
                expect("by a program", file.read(), FOLDED)
        if "python3-profconv" in packages:
            env["PYTHONPATH"] = os.path.dirname(os.path.dirname(find(root, "_abi.py")))
            env["PYTHONDONTWRITEBYTECODE"] = "1"
            said = run(sys.executable, "-c", "import profconv, sys; print(len(profconv.read(sys.argv[1]).samples))", pprof, env=env)
            expect("samples from Python", said, "2")
        print(f"{len(packages)} packages: {', '.join(sorted(packages))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
