#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compilers take our profiles and use them. A program's loop calls one of two functions; the profile says which. clang: the
optimization remark that names the profile's count appears with each encoding, and not without a profile. GCC: the profile in
the version of the installed compiler is read without complaint, another version is refused by it, and the dump shows the count.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROFCONV = os.environ.get("PROFCONV")
PROGRAM = """\
__attribute__((noinline)) int cold(int x) { return x * 3 + 1; }
int hot(int x) { int y = x; for (int i = 0; i < 7; i++) y = y * 5 + (x ^ i); return y; }
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 100000; i++) {
    if (i % 1000 == 999)
      sum += cold(i);
    else
      sum += hot(i);
  }
  return sum == argc;
}
"""
# By lines from the declaration: main's loop is at 2, the call of cold at 4, of hot at 6. No count is in the program.
PROFILE = """\
main:400000:0
 1: 1
 2: 77223
 3: 77223
 4: 117 cold:117
 6: 77123 hot:77123
 8: 1
hot:800000:77123
 0: 77123
cold:117:117
 0: 117
"""
failures = []


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, **more)


def check(good, text):
    print("ok" if good else "FAIL", text)
    if not good:
        failures.append(text)


def convert(tmp, to, out, *settings):
    command = [PROFCONV, "convert", "-t", to, "-o", out]
    for setting in settings:
        command += ["-s", setting]
    result = run(command + [os.path.join(tmp, "in.prof")])
    check(result.returncode == 0, f"written as {to} {' '.join(settings)} {result.stdout.decode(errors='replace')}".strip())


def clang(tmp, tool):
    def remarks(*flags):
        command = [tool, "-O2", "-g", "-fdebug-info-for-profiling", "-Rpass=.*", "-Rpass-analysis=sample-profile", "-c", "prog.c",
                   "-o", "prog.o", *flags]
        result = run(command, cwd=tmp)
        return result.returncode, result.stdout.decode(errors="replace")

    status, plain = remarks()
    check(status == 0 and "from profile" not in plain, "clang without a profile speaks of none")
    for to in ("llvm-text", "llvm-binary", "llvm-extbinary"):
        path = os.path.join(tmp, to + ".prof")
        convert(tmp, to, path)
        status, text = remarks("-fprofile-sample-use=" + path)
        applied = re.findall(r"Applied (\d+) samples from profile", text)
        check(status == 0 and "77123" in applied and "117" in applied, f"{tool} applies the counts of {to}")


def gcc(tmp, tool):
    version = int(run([tool, "-dumpversion"]).stdout.split(b".")[0])
    path = os.path.join(tmp, tool + ".afdo")

    def compile_with(profile):
        for name in os.listdir(tmp):
            if name.startswith("prog") and name.endswith(".afdo"):  # dumps of an earlier run
                os.remove(os.path.join(tmp, name))
        result = run([tool, "-O2", "-g", "-fauto-profile=" + profile, "-fdump-ipa-afdo", "-c", "prog.c", "-o", "prog.o"], cwd=tmp)
        text = ""
        for name in os.listdir(tmp):
            if name.startswith("prog") and name.endswith(".afdo"):
                with open(os.path.join(tmp, name), errors="replace") as file:
                    text += file.read()
        return result, text

    convert(tmp, "gcc-afdo", path, f"gcc-afdo.gcc={version}")
    result, dump = compile_with(path)
    check(result.returncode == 0 and not result.stdout, f"{tool} reads the profile: {result.stdout.decode(errors='replace')}".strip())
    check("77123" in dump, f"{tool} uses its counts")
    other = 1 if version >= 12 else 2
    convert(tmp, "gcc-afdo", path, f"gcc-afdo.version={other}")
    result, dump = compile_with(path)
    check(result.returncode != 0 and b"version" in result.stdout, f"{tool} refuses version {other}, so the version matters")


def main():
    clangs = [tool for tool in ("clang-19", "clang") if shutil.which(tool)][:1]
    gccs = [tool for tool in ("gcc-12", "gcc-11", "gcc-13", "gcc-14", "gcc") if shutil.which(tool)]
    if not PROFCONV or not (clangs or gccs):
        print("skipped: no compiler is installed" if PROFCONV else "skipped: PROFCONV is not set")
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in (("prog.c", PROGRAM), ("in.prof", PROFILE)):
            with open(os.path.join(tmp, name), "w") as file:
                file.write(text)
        for tool in clangs:
            clang(tmp, tool)
        for tool in gccs:
            gcc(tmp, tool)
    return 1 if failures else 0


sys.exit(main())
