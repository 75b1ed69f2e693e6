#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command of README.md works as it is printed.

A fenced block stands below a comment <!-- test: files=... needs=... makes=... -->: it is run in a fresh folder with those fixtures, and has to
leave those files behind, not empty. Blocks whose tools are not here are skipped and named. Also checked: that the table of formats is what
`profconv formats` says (--update writes it), that the picture is what the command above it makes, and that links lead somewhere.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
README = os.path.join(SOURCE, "README.md")
QUICKSTART = os.path.join(SOURCE, "tests", "data", "quickstart")
PICTURE = os.path.join(SOURCE, "tests", "data", "readme", "wordcount.svg")
START, END = "<!-- formats: made by tests/formats/test_readme.py --update -->\n", "<!-- end of formats -->"
# Blocks that other tests do: abi.install, abi.packages and the first lines of .ci/run.
ELSEWHERE = {"quickstart.sh", "cmake -B build"}

GO = """package main

import "fmt"

//go:noinline
func mix(x uint32) uint32 { return (x ^ x>>7) * 0x9e3779b1 }

func loop(n int) (x uint32) {
	for i := 0; i < n; i++ {
		x += mix(x + uint32(i))
	}
	return
}

func main() { fmt.Println(loop(500000000)) }
"""

problems = []
skipped = []


def problem(text):
    problems.append(text)
    print(text)


def run(command, cwd, **options):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options)


def convert(*arguments):
    subprocess.run([PROFCONV, "convert", "-q", *arguments], check=True)


# ---- fixtures, each by the name that the comment gives ----


def recorded(folder, name, *options):
    convert("--binary", os.path.join(QUICKSTART, "wordcount"), *options, "-o", os.path.join(folder, name),
            os.path.join(QUICKSTART, "wordcount.data"))


def fixture(folder, name):
    at = os.path.join(folder, name)
    if name == "checkout":  # what lies there after quickstart.sh
        data, command = os.path.join(folder, "tests", "data", "quickstart"), os.path.join(folder, "build", "bindings", "cli")
        os.makedirs(data)
        os.makedirs(command)
        for file in ("wordcount", "wordcount.data"):
            shutil.copy(os.path.join(QUICKSTART, file), data)
        os.symlink(PROFCONV, os.path.join(command, "profconv"))
    elif name == "perf.data":
        shutil.copy(os.path.join(QUICKSTART, "wordcount.data"), at)
        shutil.copy(os.path.join(QUICKSTART, "wordcount"), os.path.join(folder, "app"))
    elif name == "app":
        shutil.copy(os.path.join(QUICKSTART, "wordcount"), at)
    elif name == "app.c":
        shutil.copy(os.path.join(QUICKSTART, "wordcount.c"), at)
    elif name == "cpu.pb.gz":
        recorded(folder, name)
    elif name == "before.pb.gz":
        recorded(folder, name)
    elif name == "after.pb.gz":
        recorded(folder, name, "--ignore=sift_down")
    elif name == "profiles":
        os.mkdir(at)
        recorded(at, "a.pb.gz")
        recorded(at, "b.pb.gz", "--focus=find_word")
    elif name == "go":
        for file, text in (("main.go", GO), ("go.mod", "module example.com/app\n\ngo 1.21\n")):
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                out.write(text)
    else:
        raise KeyError(name)


# ---- tools, each by the name that the comment gives: None, or why it cannot be used ----


def lacks(tool, folder):
    if tool == "python":
        library = os.path.join(os.environ.get("PROFCONV_BUILD", ""), "libprofconv.so")
        if not os.path.exists(library):
            return "no shared library (PROFCONV_BUILD)"
        return "a plain interpreter cannot load sanitizers" if os.environ.get("PROFCONV_SANITIZED") else None
    if not shutil.which(tool):
        return f"{tool} is not installed"
    if tool == "perf":
        done = run(["perf", "record", "-o", os.path.join(folder, "trial"), "true"], folder)
        return f"perf cannot record here: {done.stdout.strip().splitlines()[0] if done.stdout.strip() else ''}" if done.returncode else None
    if tool == "go":
        version = re.search(r"go1\.(\d+)", run(["go", "version"], folder).stdout)
        return None if version and int(version.group(1)) >= 21 else "Go is older than 1.21"
    if tool == "gcc" and run(["gcc", "-fauto-profile=x", "-fsyntax-only", "-x", "c", "/dev/null"], folder).stdout.count("unrecognized"):
        return "this gcc has no -fauto-profile"
    return None


def blocks(text):
    """(line number, language, what the comment says or None, body)."""
    pattern = re.compile(r"(?:<!-- test: ?(.*?) -->\n)?```(\w+)\n(.*?)^```$", re.S | re.M)
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(2), match.group(1), match.group(3)


def run_block(number, language, words, body):
    said = dict(word.split("=", 1) for word in words.split() if "=" in word)
    with tempfile.TemporaryDirectory(prefix="profconv-readme-") as folder, tempfile.TemporaryDirectory() as aside:
        for tool in filter(None, said.get("needs", "").split(",")):
            why = lacks(tool, aside)
            if why:
                skipped.append(f"line {number}: {why}")
                return
        for name in filter(None, said.get("files", "").split(",")):
            fixture(folder, name)
        if "checkout" not in said.get("files", ""):  # a checkout has its own, not installed
            os.symlink(PROFCONV, os.path.join(aside, "profconv"))
        env = dict(os.environ, PATH=aside + os.pathsep + os.environ["PATH"], GOTOOLCHAIN="local", GOFLAGS="-mod=mod",
                   GOCACHE=os.path.join(aside, "cache"), GOPATH=os.path.join(aside, "go"), GOPROXY="off")
        if language == "python":
            env.update(PYTHONPATH=os.path.join(SOURCE, "bindings", "python"), PYTHONDONTWRITEBYTECODE="1",
                       PROFCONV_LIBRARY=os.path.join(os.environ["PROFCONV_BUILD"], "libprofconv.so"))
            command = [sys.executable, "-c", body]
        else:
            command = ["bash", "-eu", "-c", body]
        done = run(command, folder, env=env)
        if done.returncode:
            problem(f"line {number}: status {done.returncode}\n{body}{done.stdout}")
            return
        for name in filter(None, said.get("makes", "").split(",")):
            path = os.path.join(folder, name)
            if not os.path.exists(path) or not os.path.getsize(path):
                problem(f"line {number}: {name} was not made\n{done.stdout}")
            elif name == "wordcount.svg":
                check_picture(path)
        print(f"line {number}: works")


def titles(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"<title>(.*?)</title>", file.read())


def check_picture(made):
    if "--update" in sys.argv:
        shutil.copy(made, PICTURE)
    if not os.path.exists(PICTURE) or titles(made) != titles(PICTURE) or len(titles(PICTURE)) < 5:
        problem(f"{PICTURE} is not what the command makes; run this with --update")


def format_table():
    lines = subprocess.run([PROFCONV, "formats"], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = lines.split("\n\n")[0].splitlines()
    facets = rows[0].split()[3:]
    described = dict(re.findall(r"^(\S+) +(.*) \([^()]*\)$", lines.split("\n\n")[2], re.M))
    table = ["| format | " + " | ".join(facets) + " | |", "|---" * (len(facets) + 2) + "|"]
    for row in rows[1:]:
        cells = row.split()
        table.append("| " + " | ".join([cells[0]] + [c if c != "-" else "" for c in cells[-len(facets):]] + [described[cells[0]]]) + " |")
    return "\n".join(table) + "\n"


def check_table(text):
    start, end = text.index(START) + len(START), text.index(END)
    table = format_table()
    if "--update" in sys.argv and text[start:end] != table:
        text = text[:start] + table + text[end:]
        with open(README, "w", encoding="utf-8") as file:
            file.write(text)
    elif text[start:end] != table:
        problem("the table of formats is not what profconv formats says; run this with --update")
    return text


def check_links(text):
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" not in target and not os.path.exists(os.path.join(SOURCE, target)):
            problem(f"link to {target}, which is not there")


def main():
    if not PROFCONV:
        print("skipped: PROFCONV does not name the command")
        return 77
    with open(README, encoding="utf-8") as file:
        text = check_table(file.read())
    ran = 0
    for number, language, words, body in blocks(text):
        if language not in ("sh", "python"):
            continue
        if any(part in body for part in ELSEWHERE):
            print(f"line {number}: the build itself, not run here")
        elif words is None:
            problem(f"line {number}: a block without a comment that says how to test it")
        else:
            ran += 1
            run_block(number, language, words, body)
    check_links(text)
    for reason in skipped:
        print("skipped:", reason)
    print(f"{ran} blocks, {len(skipped)} skipped, {len(problems)} problems")
    return 1 if problems or ran < 8 else 0


if __name__ == "__main__":
    sys.exit(main())
