#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Firefox Profiler itself, as its command from npm (or the one that $FIREFOX_PROFILER_CLI names), loads what we write, brings it up
to its own version of the format and shows our threads, totals and names. Skipped without node and npm."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from viewer_support import PROFCONV, check, convert, finish, pprof  # noqa: E402

PACKAGE, VERSION = "@firefox-devtools/profiler-cli", "0.10.0"
ROWS = [([("main", "m.c", 1, 5, 1), ("alpha", "a.c", 2, 3, 1), ("work", "w.c", 9, 11, 2)], [60, 600000000], {"thread": "one", "pid": 5, "tid": 5}),
        ([("main", "m.c", 1, 6, 1), ("beta", "b.c", 2, 3, 1), ("work", "w.c", 9, 12, 2)], [39, 100000000], {"thread": "two", "pid": 5, "tid": 6}),
        ([("main", "m.c", 1, 7, 1), [("größe </script>", "g.c", 1, 2, 1), ("small", "g.h", 3, 3, 1)]], [1, 300000000],
         {"thread": "two", "pid": 5, "tid": 6}),
        ([("main", "m.c", 1, 7, 1), ("alpha", "a.c", 2, 4, 1), ("alpha", "a.c", 2, 4, 1), ("work", "w.c", 9, 11, 2)], [10, 100000000],
         {"thread": "one", "pid": 5, "tid": 5})]


def command(folder):
    """Its words for node, or None."""
    given = os.environ.get("FIREFOX_PROFILER_CLI")
    if given:
        return given
    if not shutil.which("npm") or not shutil.which("node"):
        return None
    try:
        done = subprocess.run(["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return None
    with tarfile.open(os.path.join(folder, done.stdout.strip().split("\n")[-1])) as archive:
        archive.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(folder)
    return os.path.join(folder, "package", "dist", "profiler-cli.js")


class Profiler:
    def __init__(self, script, folder):
        self.script = script
        self.env = {**os.environ, "PROFILER_CLI_SESSION_DIR": os.path.join(folder, "sessions")}
        os.makedirs(self.env["PROFILER_CLI_SESSION_DIR"], exist_ok=True)

    def call(self, *words):
        return subprocess.run(["node", self.script, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.env, timeout=120)

    def ask(self, *words):
        """The answer; the program that answers may still be starting."""
        deadline = time.monotonic() + 60
        while True:
            done = self.call(*words, "--json")
            try:
                return json.loads(done.stdout)
            except ValueError:
                if time.monotonic() > deadline:
                    check(False, f"{words}: {done.stdout.decode()[:500]}")
                    return {}
                time.sleep(0.5)


def functions(profiler, handle):
    rows = profiler.ask("thread", "functions", "--thread", handle).get("functions", [])
    return {r["name"]: (round(r["selfSamples"], 6), round(r["totalSamples"], 6), r.get("library", "").split("/")[-1]) for r in rows}


def total(profiler, handle):
    return profiler.ask("thread", "samples-top-down", "--thread", handle).get("regularCallTree", {}).get("totalSamples")


def test_shown(profiler, folder):
    source, out = os.path.join(folder, "in.pb"), os.path.join(folder, "out.firefox.json")
    pprof(source, [("samples", "count"), ("cpu", "nanoseconds")], ROWS, ["/opt/app", "/opt/libwork.so"], default="cpu",
          build_ids={2: "93ac61ec5a8eb1396f9fbd350e3169a558528a40"})
    convert(source, out)
    profiler.call("load", out)
    try:
        info = profiler.ask("profile", "info")
        threads = [t for p in info.get("processes", []) for t in p["threads"]]
        check(sorted((t["name"], t["tid"]) for t in threads) == [("one", 5), ("two", 6)], f"threads: {threads}")
        handles = {t["name"]: t["threadHandle"] for t in threads}
        if set(handles) != {"one", "two"}:
            return
        check([total(profiler, handles[n]) for n in ("one", "two")] == [700, 400], "totals of threads, in milliseconds")
        one, two = functions(profiler, handles["one"]), functions(profiler, handles["two"])
        check(one == {"main": (0, 700, "app"), "alpha": (0, 700, "app"), "work": (700, 700, "libwork.so")}, f"functions of one: {one}")
        check(two == {"main": (0, 400, "app"), "beta": (0, 100, "app"), "work": (100, 100, "libwork.so"),
                      "größe </script>": (0, 300, "app"), "small": (300, 300, "app")}, f"functions of two: {two}")
    finally:
        profiler.call("stop", "--all")


def main():
    if not PROFCONV:
        print("skipped: PROFCONV does not name the command")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        script = command(folder)
        profiler = Profiler(script, folder) if script else None
        if not profiler or profiler.call("--version").returncode:
            print("skipped: npm, node, or the Firefox Profiler's command from npm is not there")
            sys.exit(77)
        test_shown(profiler, folder)
    finish()


main()
