#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The binary interface of the shared library is the stored one (libprofconv.abi), and the comparison sees what it should: a struct
that grew, a member that moved, a parameter of another type, a function that is gone. See abi.py for when the dump is renewed."""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import abi

BUILD = os.environ["PROFCONV_BUILD"]


def has_debug_info(library):
    out = subprocess.run(["readelf", "-SW", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return ".debug_info" in out


def no_reason():
    """Why it cannot be compared here, or None."""
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        return "abidw and abidiff are not installed"
    if platform.machine() != "x86_64" or sys.maxsize < 2**32:
        return "the stored dump is that of x86-64"
    if os.environ.get("PROFCONV_SANITIZED"):
        return "the plain build does this"
    if not has_debug_info(os.path.join(BUILD, "libprofconv.so")):
        return "the library is built without debug information"
    return None


def edited(text, pattern, replacement):
    """The dump with one thing in it changed."""
    new, count = re.subn(pattern, replacement, text, count=1, flags=re.S)
    if not count:
        sys.exit(f"{pattern} is not in the dump")
    return new


def self_test(folder, text):
    """Each of these must be seen as a change of what programs rely on."""
    error = r"(<class-decl name='profconv_error' size-in-bits=')4224'"
    changes = {
        "a struct that grew": (error, r"\g<1>4288'"),
        "a member that moved": (r"(layout-offset-in-bits=')64('>\n<var-decl name='offset')", r"\g<1>96\2"),
        "a function that is gone": (r"<elf-symbol name='profconv_version'[^\n]*\n", ""),
        "a constant of another value": (r"(<enumerator name='PROFCONV_TABLE_SAMPLE' value=')9'", r"\g<1>10'"),
    }
    missed = 0
    for what, (pattern, replacement) in changes.items():
        path = os.path.join(folder, "edited.abi")
        with open(path, "w", encoding="utf-8") as file:
            file.write(edited(text, pattern, replacement))
        status, report = abi.compare(abi.STORED, path)
        if not status & abi.CHANGE or not abi.breaks(status, report):
            print(f"{what} is not seen: status {status}\n{report}")
            missed += 1
    return missed


def main():
    reason = no_reason()
    if reason:
        print(reason)
        return 77
    with open(abi.STORED, encoding="utf-8") as file:
        text = file.read()
    folders = re.findall(r"='(/[^']*)'", text)
    if folders:
        print(f"the stored dump names folders of a machine: {folders[:3]}")
        return 1
    with tempfile.TemporaryDirectory(prefix="profconv-abi-") as folder:
        new = os.path.join(folder, "new.abi")
        abi.dump(os.path.join(BUILD, "libprofconv.so"), new)
        status, report = abi.compare(abi.STORED, new)
        if status:
            print(report)
            print("the interface is not the stored one; tests/abi/abi.py says when, and how, to renew it")
            return 1
        if self_test(folder, text):
            return 1
    print(f"{text.count('<function-decl')} functions, {text.count('<class-decl')} structs: as stored")
    return 0


if __name__ == "__main__":
    sys.exit(main())
