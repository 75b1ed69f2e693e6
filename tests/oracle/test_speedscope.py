#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other programs read what we write: speedscope itself (its npm package, opened in a browser) shows our JSON with our totals and
names, and callgrind_annotate finds our totals and inclusive costs. What is not installed is left out; nothing at all: skipped."""
import base64
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from viewer_support import PROFCONV, check, convert, finish, pprof, read  # noqa: E402
from webdriver import Browser, missing  # noqa: E402

VERSION = "1.25.0"
TYPES = [("samples", "count"), ("cpu", "nanoseconds")]
ROWS = [([("main", "m.c", 1, 5, 1), ("alpha", "a.c", 2, 3, 1), ("work", "w.c", 9, 11, 1)], [60, 600000000], {"thread": "one"}),
        ([("main", "m.c", 1, 6, 1), ("beta", "b.c", 2, 3, 1), ("work", "w.c", 9, 12, 1)], [39, 100000000], {"thread": "two"}),
        ([("main", "m.c", 1, 7, 1), ("größe </script>", "g.c", 1, 2, 1)], [1, 300000000], {"thread": "two"}),
        ([("main", "m.c", 1, 7, 1), ("alpha", "a.c", 2, 4, 1), ("alpha", "a.c", 2, 4, 1), ("work", "w.c", 9, 11, 1)], [10, 100000000],
         {"thread": "one"})]


def annotated(path, *options):
    done = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", *options, path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"})
    check(done.returncode == 0 and "malformed" not in done.stdout, f"callgrind_annotate: {done.stdout[-500:]}")
    total, rows = None, {}
    for line in done.stdout.split("\n"):
        found = re.match(r"\s*([\d,]+) \([^)]*\)\s+([\d,]+) \([^)]*\)\s+(.*)$", line)
        if found:
            values = [int(v.replace(",", "")) for v in found.groups()[:2]]
            if found[3] == "PROGRAM TOTALS":
                total = values
            else:
                rows[found[3].split(" [")[0].split(":", 1)[1]] = values
    return total, rows


def expected(self_only):
    out = {}
    for frames, values, _ in ROWS:
        names = {frames[-1][0]} if self_only else {f[0] for f in frames}
        for name in names:
            row = out.setdefault(name, [0, 0])
            row[0] += values[0]
            row[1] += values[1]
    return out


def test_callgrind(source, folder):
    out = os.path.join(folder, "out.callgrind")
    convert(source, out)
    for inclusive in (False, True):
        total, rows = annotated(out, "--inclusive=yes" if inclusive else "--inclusive=no")
        check(total == [110, 1100000000], f"totals: {total}")
        want = expected(not inclusive)
        found = {k: v for k, v in rows.items() if any(v)}
        check(found == want, f"inclusive={inclusive}: {found}, not {want}")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def package(folder):
    """speedscope's files: from $SPEEDSCOPE_PACKAGE, or what npm fetches; None."""
    given = os.environ.get("SPEEDSCOPE_PACKAGE")
    if given:
        return given
    if not shutil.which("npm"):
        print("left out: npm is not installed")
        return None
    try:
        done = subprocess.run(["npm", "pack", "--silent", f"speedscope@{VERSION}"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        done = None
    if not done or done.returncode:
        print("left out: npm cannot get speedscope")
        return None
    with tarfile.open(os.path.join(folder, done.stdout.strip().split("\n")[-1])) as archive:
        archive.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(folder)
    return os.path.join(folder, "package")


def test_speedscope(source, folder):
    root = package(folder)
    if not root or missing():
        print("left out:", missing() or "speedscope")
        return False
    site = os.path.join(root, "dist", "release")
    out = os.path.join(folder, "out.speedscope.json")
    convert(source, out)
    profiles = json.loads(read(out))["profiles"]
    check([p["name"] for p in profiles] == ["one: samples", "one: cpu", "two: samples", "two: cpu"], "our profiles")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Browser() as b:
            b.do("POST", "/url", {"url": f"http://127.0.0.1:{server.server_port}/index.html"})
            # Its own importer takes the file as if it had been dropped on the page.
            b.run("""const bytes = Uint8Array.from(atob(arguments[0]), c => c.charCodeAt(0));
                     const data = new DataTransfer(); data.items.add(new File([bytes], 'out.speedscope.json'));
                     const at = document.querySelector('input[type=file]');
                     const target = document.elementFromPoint(600, 300);
                     target.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: data}))""",
                  base64.b64encode(read(out)).decode())
            deadline, said = time.monotonic() + 30, ""
            while time.monotonic() < deadline:
                said = b.run("return document.body.innerText + '\\n' + document.title")
                if "one: cpu" in said or "one: samples" in said:
                    break
                time.sleep(0.3)
            check("one: cpu" in said, f"speedscope shows the heaviest profile: {said[:300]!r}")
            b.keys("3") # its sandwich view: a table with self and total
            table = b.run("return document.body.innerText")
            b.screenshot("speedscope")
            for name, total, share in (("work", "700.00ms", "100%"), ("main", "700.00ms", "100%"), ("alpha", "700.00ms", "100%")):
                check(name in table and total in table and share in table, f"{name} with {total}: {table[:600]!r}")
            b.keys("n") # the next profile
            time.sleep(0.5)
            table = b.run("return document.body.innerText + document.title")
            check("two: samples" in table and "größe </script>" in table and "39" in table, f"the next thread: {table[:600]!r}")
            errors = [e for e in b.errors() if "favicon" not in e]
            check(not errors, f"speedscope's console: {errors}")
    finally:
        server.shutdown()
        server.server_close()
    return True


def main():
    if not PROFCONV:
        print("skipped: PROFCONV does not name the command")
        sys.exit(77)
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "in.pb")
        pprof(source, TYPES, ROWS, ["/opt/app"], default="cpu")
        if shutil.which("callgrind_annotate"):
            test_callgrind(source, folder)
            done += 1
        else:
            print("left out: callgrind_annotate is not installed (package valgrind)")
        done += bool(test_speedscope(source, folder))
    if done == 0:
        print("skipped: neither speedscope nor callgrind_annotate is there")
        sys.exit(77)
    finish()


main()
