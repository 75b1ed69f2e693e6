#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cpack makes Debian packages with the right names and dependencies, with the files and forms that Debian wants; unpacked into
an empty folder they work: the command, a program that links the library, and the Python package."""
import glob
import gzip
import os
import re
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


def debian_forms(name, path, root):
    """Of one unpacked package: its description, licence, changelog, and manual pages, which are compressed without a time."""
    lines = run("dpkg-deb", "-f", path, "Description").splitlines()
    expect(f"{name}: lines of the description that are too long", [line for line in lines if len(line) > 80], [])
    expect(f"{name}: lines of description", len(lines) >= 4, True)
    documents = os.path.dirname(find(root, "copyright"))
    expect(f"{name}: folder of documents", os.path.basename(documents), name)
    with open(os.path.join(documents, "copyright"), encoding="utf-8") as file:
        expect(f"{name}: licence", file.read().startswith("MIT License"), True)
    expect(f"{name}: documents", sorted(os.listdir(documents)), ["changelog.gz", "copyright"])
    pages = [os.path.join(at, n) for at, _, names in os.walk(root) for n in names if "/man/man" in at]
    expect(f"{name}: manual pages that are not compressed", [p for p in pages if not p.endswith(".gz")], [])
    for page in pages + [os.path.join(documents, "changelog.gz")]:
        with open(page, "rb") as file:
            expect(f"{page}: time of compression", file.read(8)[4:], b"\0\0\0\0")
    with gzip.open(os.path.join(documents, "changelog.gz"), "rt", encoding="utf-8") as file:
        version, contact = (run("dpkg-deb", "-f", path, field) for field in ("Version", "Maintainer"))
        entry = (rf"libprofconv \({re.escape(version)}\) .*\n\n  \* .*\n\n -- {re.escape(contact)}  "
                 r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} \+0000\n")
        expect(f"{name}: changelog", bool(re.fullmatch(entry, file.read())), True)


def linted(paths):
    # cpack calls ldconfig from its own scripts, too, beside the trigger; symbols would promise an ABI before 1.0; this build is
    # for another prefix, below which there are no folders of architectures.
    left = "maintscript-calls-ldconfig,no-symbols-control-file,pkg-config-unavailable-for-cross-compilation"
    if not shutil.which("lintian"):
        print("lintian is not installed: packages are not looked at by it")
        return
    done = subprocess.run(["lintian", "--allow-root", "--info", "--suppress-tags", left, *paths],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect("lintian", (done.returncode, re.findall("^[EWI]: .*", done.stdout, re.M)[:10]), (0, []))


def follows_the_prefix(folder):
    """A build that was configured for /usr/local, as quickstart.sh does, and then for /usr: completion goes where zsh looks."""
    if not os.path.exists("/etc/debian_version"):
        return
    build = os.path.join(folder, "configured-twice")
    for prefix in ("/usr/local", "/usr"):
        run("cmake", "-S", SOURCE, "-B", build, "-DPROFCONV_TESTS=OFF", f"-DCMAKE_INSTALL_PREFIX={prefix}")
        with open(os.path.join(build, "cmake_install.cmake"), encoding="utf-8") as file:
            found = re.findall(r"share/zsh/(\S+?)\"", file.read())
        expect(f"zsh below {prefix}", set(found), {"site-functions" if prefix == "/usr/local" else "vendor-completions"})


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
        run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", made, "-D",
            "CPACK_PACKAGING_INSTALL_PREFIX=/usr")
        packages = {run("dpkg-deb", "-f", path, "Package"): path for path in glob.glob(os.path.join(made, "*.deb"))}
        expect("packages", sorted(packages), sorted(needed))
        for name, path in packages.items():
            depends = run("dpkg-deb", "-f", path, "Depends")
            for other in needed[name]:
                expect(f"{name} depends on {other}", other in depends, True)
            run("dpkg-deb", "-x", path, root)
            alone = os.path.join(folder, name)
            run("dpkg-deb", "-x", path, alone)
            debian_forms(name, path, alone)
        synopses = [run("dpkg-deb", "-f", path, "Description").splitlines()[0] for path in packages.values()]
        expect("synopses", len(set(synopses)), len(packages))
        linted(packages.values())
        follows_the_prefix(folder)
        control = os.path.join(folder, "control")
        run("dpkg-deb", "-e", packages["libprofconv0"], control)
        with open(os.path.join(control, "shlibs"), encoding="utf-8") as file:
            expect("shlibs", file.read().split()[:3], ["libprofconv", "0", "libprofconv0"])
        with open(os.path.join(control, "triggers"), encoding="utf-8") as file:
            expect("triggers", "activate-noawait ldconfig\n" in file.read(), True)

        library = find(root, "libprofconv.so.0")
        env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": os.path.dirname(library), "PROFCONV_LIBRARY": library}
        folded, pprof, back = (os.path.join(folder, n) for n in ("in.folded", "out.pb.gz", "out.folded"))
        with open(folded, "w", encoding="utf-8") as file:
            file.write(FOLDED)
        command = os.path.join(os.path.dirname(find(root, "profconv-formats.5.gz")), "..", "..", "..", "bin", "profconv")
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
