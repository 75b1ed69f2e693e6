#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firefox: the file has the shape of the processed format that is named in it, every index leads somewhere, and what its threads
weigh is what the profile holds."""
import json
import os
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from firefox_support import samples, stack, valid  # noqa: E402
from viewer_support import PROFCONV, check, convert, finish, pprof, read, run  # noqa: E402

TYPES = [("samples", "count"), ("cpu", "nanoseconds"), ("odd", "apples")]
BUILD_ID = "93ac61ec5a8eb1396f9fbd350e3169a558528a40"


def load(path):
    profile = json.loads(read(path))
    valid(profile, check)
    return profile


def test_threads(folder):
    source, out = os.path.join(folder, "t.pb"), os.path.join(folder, "t.firefox.json")
    rows = [(["main", ("f", "f.c", 7, 9, 1)], [3, 30, 0], {"thread": "app", "pid": 12, "tid": 12}),
            (["main", ("f", "f.c", 7, 9, 1)], [2, 20, 0], {"thread": "app", "pid": 12, "tid": 12, "other": "x"}),
            (["main"], [5, 50, 0], {"thread": "</script>\xff\"", "pid": 12, "tid": 13}), ([], [1, 10, 0], {}),
            (["main", "g"], [7, 70, 0], {"thread": "app", "pid": 7, "tid": 9}), (["zero"], [0, 0, 1], {})]
    pprof(source, TYPES, rows, ["/opt/app"], default="samples")
    convert(source, out)
    profile = load(out)
    threads = [(t["pid"], t["tid"], t["name"], t["isMainThread"], t.get("processName")) for t in profile["threads"]]
    check(threads == [("0", 0, "[no thread]", False, None), ("7", 9, "app", False, None), ("12", 12, "app", True, "app"),
                      ("12", 13, "</script>\xff\"", False, "app")], f"threads: {threads}")
    found = [{names: weight for names, weight, _ in samples(profile, t)} for t in profile["threads"]]
    check(found == [{("[unknown]",): 1}, {("main", "g"): 7}, {("main", "f"): 5}, {("main",): 5}], f"samples: {found}")
    check(all(t["samples"]["weightType"] == "samples" for t in profile["threads"]), "counts are samples")
    check(profile["meta"]["initialSelectedThreads"] == [1], "the heaviest thread is selected")
    check("zero" not in profile["shared"]["stringArray"], "nothing of what weighs nothing")
    # Another column, by name; times in milliseconds to the last digit.
    convert(source, out, "-s", "firefox.event=cpu", "-s", "firefox.title=A title")
    profile = load(out)
    check(b'"weight":[0.00005]' in read(out) and {t["samples"]["weightType"] for t in profile["threads"]} == {"tracing-ms"},
          "nanoseconds as milliseconds")
    check(profile["meta"]["product"] == "A title", "the title")
    status, said = run("convert", "-o", out, "-s", "firefox.event=odd", source)
    check(status == 0 and "not kept: " in said, f"what cannot be held is told: {said}")
    status, said = run("convert", "-v", "-o", out, "-s", "firefox.event=odd", source)
    check('no unit "apples"' in said and "one column of values" in said, f"with -v: {said}")
    status, said = run("convert", "-o", out, "-s", "firefox.event=none", source)
    check(status != 0 and "firefox.event" in said, f"no such event: {said}")


def test_code(folder):
    source, out = os.path.join(folder, "c.pb"), os.path.join(folder, "c.firefox.json")
    rows = [([("main", "a.c", 3, 5, 1), [("outer", "a.c", 9, 11, 1), ("small", "a.h", 2, 4, 1)], ("memcpy", "", 0, 0, 2),
              ("do_syscall", "", 0, 0, 3), ("Lfoo;::bar", "", 0, 0, 4)], [7], {}),
            ([("main", "a.c", 3, 6, 1), ("memcpy", "", 0, 0, 2), ("größe \x01", "", 0, 0, 2)], [-2], {})]
    pprof(source, [("cpu", "count")], rows, ["/usr/bin/app", "/lib/libc.so.6", "[kernel.kallsyms]", "/tmp/perf-12.map"],
          build_ids={2: BUILD_ID, 3: "Go build \"id\""})
    convert(source, out)
    profile = load(out)
    categories = [c["name"] for c in profile["meta"]["categories"]]
    (thread,) = profile["threads"]
    check([w for _, w, _ in samples(profile, thread)] == [7, -2], "negative values are held")
    frames = stack(profile, thread["samples"]["stack"][0])
    check([(f["name"], categories[f["category"]], f["line"], f["inlineDepth"]) for f in frames] ==
          [("main", "User", 5, 0), ("outer", "User", 11, 0), ("small", "User", 4, 1), ("memcpy", "Library", None, 0),
           ("do_syscall", "Kernel", None, 0), ("Lfoo;::bar", "JIT", None, 0)], f"frames: {frames}")
    check([(f["source"], f["lineNumber"], f["resource"]) for f in frames[:3]] ==
          [("a.c", 3, "app"), ("a.c", 9, "app"), ("a.h", 2, "app")], "files and lines of functions, libraries")
    check(stack(profile, thread["samples"]["stack"][1])[0]["line"] == 6, "the same function at another line")
    libs = {lib["path"]: lib for lib in profile["libs"]}
    check(libs["/lib/libc.so.6"]["codeId"] == BUILD_ID and libs["/lib/libc.so.6"]["breakpadId"] == "EC61AC938E5A39B16F9FBD350E3169A50"
          and libs["/usr/bin/app"]["codeId"] is None, f"build-ids: {libs}")
    check(libs["[kernel.kallsyms]"]["codeId"] == "Go build \"id\"" and libs["[kernel.kallsyms]"]["breakpadId"] == "", "an id of another kind")


def test_times(folder):
    source, out = os.path.join(folder, "x.pb"), os.path.join(folder, "x.firefox.json")
    at = lambda name, thread, ns, value: ([name], [value], {"thread": thread, "timestamp": ns})
    rows = [at("b", "one", 5_000_002_500, 1), at("a", "one", 5_000_000_000, 1), at("a", "one", 5_000_001_000, 1),
            at("c", "two", 5_000_000_500, 4), at("c", "two", 5_000_000_500, 1), (["d"], [2], {"thread": "two"})]
    pprof(source, [("samples", "count")], rows)
    convert(source, out)
    profile = load(out)
    found = [samples(profile, t) for t in profile["threads"]]
    check(found == [[(("a",), 1, 0), (("a",), 1, 0.001), (("b",), 1, 0.0025)], [(("d",), 2, 0), (("c",), 5, 0.0005)]],
          f"samples in time: {found}")
    check(profile["meta"]["interval"] == 0.001, f"the median of the gaps: {profile['meta']['interval']}")
    # Without times, one after the other, each as long as it weighs.
    pprof(source, [("cpu", "nanoseconds")], [(["a"], [3_000_000], {}), (["b"], [2_500_000], {}), (["c"], [1], {})])
    convert(source, out)
    found = samples(load(out), load(out)["threads"][0])
    check(found == [(("a",), 3, 0), (("b",), 2.5, 3), (("c",), 0.000001, 5.5)], f"samples without times: {found}")
    status, said = run("convert", "-v", "-o", out, source)
    check("do not tell their time" in said, f"that is said: {said}")
    pprof(source, [("cpu", "nanoseconds")], [(["a"], [0], {})])
    status, said = run("convert", "-o", out, source)
    check(status != 0 and "firefox" in said, f"nothing but zeros: {said}")


def test_corpus(folder):
    """Real recordings: weights are those of the other writers."""
    corpus = os.environ.get("PROFCONV_CORPUS") or os.path.join(os.path.dirname(SOURCE), "shared", "corpus")
    out, speedscope = os.path.join(folder, "r.firefox.json"), os.path.join(folder, "r.speedscope.json")
    for name in ("gopgo/perf.data", "lbr/shapes.gcc.lbr.data"):
        source = os.path.join(corpus, name)
        if not os.path.exists(source):
            print("left out:", name)
            continue
        convert(source, out, "-f", "perf-data")
        profile = load(out)
        convert(source, speedscope, "-f", "perf-data")
        scale = 1000000 if profile["threads"][0]["samples"]["weightType"] == "tracing-ms" else 1
        weights = round(scale * sum(sum(t["samples"]["weight"]) for t in profile["threads"]))
        file = json.loads(read(speedscope))
        want = [sum(p["weights"]) for p in file["profiles"]]
        check(weights in (sum(want), *want), f"{name}: {weights}, not {want}")
        times = [s for t in profile["threads"] for s in t["samples"]["time"]]
        check(len(set(times)) > 100 and min(times) == 0, f"{name}: a timeline of {len(set(times))} points")
        check(any(lib["codeId"] for lib in profile["libs"]), f"{name}: build-ids")


def main():
    if not PROFCONV:
        print("skipped: PROFCONV does not name the command")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_threads, test_code, test_times, test_corpus):
            test(folder)
    finish()


main()
