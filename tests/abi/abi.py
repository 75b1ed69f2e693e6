#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The dump of the library's binary interface, and its renewal.

    PROFCONV_BUILD=build python3 tests/abi/abi.py --renew

writes tests/abi/libprofconv.abi from build/libprofconv.so, which must be built with debug information, on x86-64. The rule:

- New functions: whenever the headers get them.
- Anything else: the renewal prints what changed and refuses. Look at each change, then give --changed, too. New members at the
  end of a struct that starts with struct_size are for any time. What breaks programs that were built before is only for a new
  SONAME (before version 1.0: a new minor version), and the commit's message says what breaks."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(SOURCE, "tests", "abi")
STORED = os.path.join(HERE, "libprofconv.abi")
PRIVATE = os.path.join(HERE, "private.abignore")
# What types look like inside is public only where the public headers say it; places and folders are nobody's business.
PUBLIC_ONLY = ["--headers-dir", os.path.join(SOURCE, "include", "profconv"), "--drop-private-types", "--suppressions", PRIVATE,
               "--exported-interfaces-only"]
SMALL = ["--no-comp-dir-path", "--no-show-locs", "--no-corpus-path", "--no-elf-needed", "--no-parameter-names",
         "--no-write-default-sizes", "--drop-undefined-syms"]
# Bits of abidiff's exit status.
ERROR, USAGE, CHANGE, INCOMPATIBLE = 1, 2, 4, 8


def dump(library, path):
    """Writes the dump: abidw's, without the folders that it was built in, and without indentation."""
    subprocess.run(["abidw", *PUBLIC_ONLY, *SMALL, "--out-file", path, library], check=True)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r" path='[^']*'", lambda m: " path='" + os.path.basename(m.group()[7:-1]) + "'", text)
    text = re.sub(r"^ +", "", text, flags=re.M)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def compare(before, after):
    """(exit status, report) of abidiff for two dumps."""
    done = subprocess.run(["abidiff", "--no-show-locs", "--suppressions", PRIVATE, before, after], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.strip()


def renew(library, changed):
    with tempfile.TemporaryDirectory(prefix="profconv-abi-") as folder:
        new = os.path.join(folder, "new.abi")
        dump(library, new)
        status, report = compare(STORED, new) if os.path.exists(STORED) else (0, "")
        print(report or "nothing changed")
        if status & (ERROR | USAGE):
            return 1
        if status & CHANGE and breaks(status, report) and not changed:
            print("not written: see the rule at the top of tests/abi/abi.py")
            return 1
        shutil.copyfile(new, STORED)
    return 0


def breaks(status, report):
    """Whether there is more than new functions."""
    counts = re.search(r"^Functions changes summary: (\d+) Removed, (\d+) Changed", report, flags=re.M)
    return bool(status & INCOMPATIBLE) or not counts or counts.groups() != ("0", "0")


if __name__ == "__main__":
    if sys.argv[1:] not in (["--renew"], ["--renew", "--changed"]):
        sys.exit(__doc__)
    sys.exit(renew(os.path.join(os.environ["PROFCONV_BUILD"], "libprofconv.so"), "--changed" in sys.argv))
