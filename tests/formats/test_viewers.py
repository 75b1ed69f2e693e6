#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""flamegraph, speedscope and callgrind: what is written holds every value, and no name gets out of its place."""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from viewer_support import PROFCONV, check, convert, finish, page, paths, pprof, read, run  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
NASTY = {
    b"</script><script>alert(1)</script>": "</script><script>alert(1)</script>",
    b"<!--<script>": "<!--<script>",
    b"]]>&amp;\"'`${x}\\": "]]>&amp;\"'`${x}\\",
    "größe λ 漢字 😀 \u2028".encode(): "größe λ 漢字 😀 \u2028",
    b"bad \xff\xc0\x80 \xed\xa0\x80 end\xe2\x82": "bad \ufffd\ufffd\ufffd \ufffd\ufffd\ufffd end\ufffd\ufffd",
    b"tab\tline\nreturn\rnul\x00bell\x07del\x7f": "tab\tline\nreturn\rnul\x00bell\x07del\x7f",
    b"\xef\xbf\xbe\xef\xbf\xbf": "\ufffe\uffff",
    b"(1) fn=x": "(1) fn=x",
    b"x" * 5000: "x" * 5000,
}
TYPES = [("samples", "count"), ("cpu", "nanoseconds")]


def test_nasty_names(folder):
    source, html, svg = (os.path.join(folder, n) for n in ("nasty.pb", "nasty.html", "nasty.svg"))
    pprof(source, TYPES, [(["main", name], [i + 1, 10 * (i + 1)], {"thread": name}) for i, name in enumerate(NASTY)])
    convert(source, html, "-s", "flamegraph.title=</title><b>&\"'")
    text, profile = page(html)
    check(text.count("<script") == 2 and text.count("</script") == 2, "a name opened or closed a script element")
    check(text.count("<title>&lt;/title&gt;&lt;b&gt;&amp;&quot;'</title>") == 2, "the title is not escaped")
    found = paths(profile)
    for i, shown in enumerate(NASTY.values()):
        check(found.get((shown, "main", shown)) == [i + 1, 10 * (i + 1)], f"{shown[:40]!r} is not in the page")
    check(len(found) == len(NASTY), "as many stacks as there were")
    for kind, tag in (("script", "script"), ("style", "style")):
        body = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(body[0].encode()).digest()).decode()
        check(len(body) == 1 and f"{kind}-src 'sha256-{digest}'" in text, f"the policy does not name the {tag}")
    check("default-src 'none'" in text and "http:" not in text and "https:" not in text, "the page names something outside")
    convert(source, svg, "-s", "flamegraph.root=none", "-s", "flamegraph.min-width=0")
    titles = [t.text for t in ET.parse(svg).iter(SVG + "title")]
    for i, shown in enumerate(NASTY.values()):
        shown = re.sub("[\ufffe\uffff\x00\x07\x7f]", "\ufffd", re.sub(r"[\t\n\r]", " ", shown))[:1000]
        check(any(t.startswith(f"{shown} ({10 * (i + 1)} nanoseconds") for t in titles), f"{shown[:40]!r} is not in the picture")
    check(subprocess.run([sys.executable, os.path.join(SOURCE, "libprofconv/formats/viewers/embed.py"), "--check"]).returncode == 0,
          "page.h is not what embed.py makes of page/*")


def test_kinds(folder):
    source, html = os.path.join(folder, "kinds.pb"), os.path.join(folder, "kinds.html")
    rows = [([("main", "a.c", 3, 5, 1), [("outer", "a.c", 9, 11, 1), ("small", "a.h", 2, 2, 1)], ("memcpy", "", 0, 0, 2),
              ("do_syscall", "", 0, 0, 3), ("Lfoo;::bar", "", 0, 0, 4)], [7], {})]
    pprof(source, [("cpu", "count")], rows, ["/usr/bin/app", "/lib/libc.so.6", "[kernel.kallsyms]", "/tmp/perf-12.map"])
    convert(source, html)
    _, profile = page(html)
    kinds = [profile["kinds"][k] for k in profile["nodes"]["kind"]]
    check(kinds == ["root", "user", "user", "inlined", "library", "kernel", "JIT"], f"kinds of code: {kinds}")
    frames = profile["frames"]
    at = [profile["strings"][i] for i in frames["name"]].index("outer")
    check(profile["strings"][frames["module"][at]] == "app" and profile["strings"][frames["file"][at]] == "a.c" and
          frames["line"][at] == 9, "module, file and line of a frame")
    names = {"std::vec::push": "std", "runtime.mallocgc": "runtime", "github.com/a/b.(*T).Run": "github.com/a/b", "f.cold": "",
             "f.isra.0": "", "plain": "", "<alloc::vec::Vec<T> as X>::f": "alloc", "operator new(unsigned long)": ""}
    pprof(source, [("cpu", "count")], [([name], [1], {}) for name in names])
    convert(source, html)
    _, profile = page(html)
    for i, name in enumerate(profile["frames"]["name"]):
        if i > 0:
            package = profile["strings"][profile["frames"]["package"][i]]
            check(names[profile["strings"][name]] == package, f"package of {profile['strings'][name]}: {package}")


def test_large_values(folder):
    source, html = os.path.join(folder, "wide.pb"), os.path.join(folder, "wide.html")
    big = 2 ** 62 + 1
    pprof(source, [("a", "count"), ("b", "count")], [(["f"], [big, 3], {}), (["g"], [5, 4], {})])
    convert(source, html)
    _, profile = page(html)
    check([t["wide"] for t in profile["types"]] == [True, False], "which columns are wide")
    check(profile["self"][0] == ["0", str(big), "5"] and profile["self"][1] == [0, 3, 4], f"values: {profile['self']}")


def test_limit(folder):
    source, html = os.path.join(folder, "many.pb"), os.path.join(folder, "many.html")
    rows = [(["main", f"f{i:03}", "leaf", f"g{i}"], [i, 1000 - i], {}) for i in range(1, 200)]
    rows.append((["main", "[other]"], [1, 1], {}))
    pprof(source, [("a", "count"), ("b", "count")], rows, default="a")
    convert(source, html, "-s", "flamegraph.max-frames=50")
    _, profile = page(html)
    want = [sum(r[1][k] for r in rows) for k in range(2)]
    check([sum(c) for c in profile["self"]] == want, "totals of all columns with fewer frames")
    check(50 <= len(profile["nodes"]["depth"]) <= 101, f"{len(profile['nodes']['depth'])} frames, of which at most 50 are kept")
    found = paths(profile)
    check(("main", "f199", "leaf", "g199") in found and ("main", "[other]") in found and ("main", "f001", "leaf", "g1") not in found,
          "the heaviest stay")
    check(found.get(("main", "f199", "leaf", "g199")) == [199, 801], "what stays keeps its values")


def rectangles(path):
    out = {}
    for group in ET.parse(path).iter(SVG + "g"):
        rect = group.find(SVG + "rect")
        out.setdefault(group.find(SVG + "title").text.split(" (")[0], []).append(
            {k: float(rect.get(k)) for k in ("x", "y", "width")} | {"fill": rect.get("fill")})
    return out


def test_picture(folder):
    source, svg = os.path.join(folder, "p.pb"), os.path.join(folder, "p.svg")
    rows = [(["main", "a", "x"], [60], {}), (["main", "b", "x"], [39], {}), (["main", "c"], [1], {})]
    rows += [(["main", f"tiny{i}"], [0], {}) for i in range(3)]
    pprof(source, [("cpu", "count")], rows)
    convert(source, svg, "-s", "flamegraph.width=1020")
    boxes = rectangles(svg)
    check(abs(boxes["all"][0]["width"] - 1000) < 1 and abs(boxes["a"][0]["width"] - 600) < 1, f"widths are shares: {boxes}")
    check(boxes["main"][0]["y"] < boxes["all"][0]["y"] and "tiny0" not in boxes, "calls go up; nothing has no width")
    convert(source, svg, "-s", "flamegraph.direction=down", "-s", "flamegraph.inverted=yes", "-s", "flamegraph.width=1020")
    boxes = rectangles(svg)
    check(abs(boxes["x"][0]["width"] - 990) < 1 and len(boxes["main"]) == 3, f"leaves as roots: {boxes}")
    check(boxes["x"][0]["y"] > boxes["all"][0]["y"], "calls go down")
    long = "example.com/" + "deep/" * 40 + "pkg.Func"
    pprof(source, [("cpu", "count")], [([long], [1], {}), ([f"f{i}" for i in range(3)], [1], {})])
    convert(source, svg)
    texts = [t.text for t in ET.parse(svg).iter(SVG + "text")]
    check("pkg.Func" in texts and long in rectangles(svg), f"a name that does not fit goes without its path: {texts}")
    rows = [(["main", "wide"], [100000], {})] + [(["main", f"n{i:04}", "below"], [1], {}) for i in range(3000)]
    pprof(source, [("cpu", "count")], rows)
    convert(source, svg, "-s", "flamegraph.min-width=1", "-s", "flamegraph.root=none")
    boxes = rectangles(svg)
    merged = [b for name, b in boxes.items() if name.endswith("narrower frames]")]
    check(list(boxes) == ["all", "main", "[3000 narrower frames]", "wide"] and len(merged) == 1, f"narrow frames: {list(boxes)[:9]}")
    status, said = run("convert", "-s", "flamegraph.width=3", "-o", svg, source)
    check(status != 0 and "flamegraph.width" in said, f"a width of 3: {said}")


def test_compare(folder):
    html, svg = os.path.join(folder, "d.html"), os.path.join(folder, "d.svg")
    names, base = os.path.join(folder, "names.pb"), os.path.join(folder, "base.pb")
    before = {"gone": 400, "same": 1000, "noise": 1000, "grown": 500, "new": 0}
    after = {"gone": 0, "same": 1000, "noise": 1010, "grown": 900, "new": 300}
    pprof(names, [("before", "count"), ("after", "count")], [(["main", n], [before[n], after[n]], {}) for n in before])
    pprof(base, [("cpu", "count")], [(["main", n], [v], {}) for n, v in after.items() if v] +
          [(["main", n], [-v], {"pprof::base": "true"}) for n, v in before.items() if v])
    for source in (names, base):
        convert(source, html)
        _, profile = page(html)
        found = paths(profile)
        check(profile["mode"] == "diff" and profile["colors"] == "change", f"{source}: a comparison")
        status, said = run("convert", "-v", "-o", html, source)
        check(status == 0 and "not kept" not in said, f"{source}: the label that tells the sides apart is kept: {said}")
        check({k[-1]: tuple(v) for k, v in found.items()} == {n: (before[n], after[n]) for n in before}, f"{source}: {found}")
        order = [profile["strings"][profile["frames"]["name"][f]] for f in profile["nodes"]["frame"]]
        classes = dict(zip(order, profile["change"]["self"]))
        want = {"gone": 1, "same": 0, "noise": 2, "grown": 1, "new": 1}
        check({n: classes[n] for n in want} == want, f"{source}: classes {classes}")
        convert(source, svg, "-s", "flamegraph.min-width=0")
        boxes = rectangles(svg)
        check(boxes["same"][0]["fill"] == boxes["noise"][0]["fill"] == "#c9cdd3", "grey for unchanged and undetermined")
        reds = [int(boxes[n][0]["fill"][1:3], 16) - int(boxes[n][0]["fill"][5:7], 16) for n in ("grown", "new", "gone")]
        check(reds[0] > reds[1] > 0 > reds[2], f"red for more, by its size, blue for less: {reds}")
        check(boxes["gone"][0]["width"] > 100, "what is gone keeps its width")
        convert(source, svg, "-s", "flamegraph.layout=side", "-s", "flamegraph.min-width=0")
        boxes = rectangles(svg)
        check(len(boxes["same"]) == 2 and abs(boxes["same"][0]["width"] - boxes["same"][1]["width"]) < 1, "one scale on both sides")
        check(len(boxes["new"]) == 1 and boxes["new"][0]["x"] > 600, "on its side only")
        convert(source, html, "-s", "flamegraph.layout=side")
        check(page(html)[1]["layout"] == "side", "a page with two sides")
    status, said = run("convert", "-v", "-s", "flamegraph.diff=no", "-o", html, base)
    check(status == 0 and "pprof::base cannot be held" in said, f"a label that is not used is told: {said}")
    # Two draws of one program, seeded: nothing is called changed. 100,000 samples over 300 functions.
    import random
    rng = random.Random(7)
    counts = [[0] * 300, [0] * 300]
    for column in counts:
        for _ in range(100000):
            column[min(299, int(rng.expovariate(0.02)))] += 1
    pprof(names, [("before", "count"), ("after", "count")],
          [([f"f{i}"], [counts[0][i], counts[1][i]], {}) for i in range(300)])
    convert(names, html)
    check(1 not in page(html)[1]["change"]["total"], "two draws of the same program differ")
    plain = os.path.join(folder, "plain.pb")
    pprof(plain, [("cpu", "count")], [(["f"], [1], {})])
    for setting in ("diff=yes", "layout=side", "colors=change"):
        status, said = run("convert", "-s", "flamegraph." + setting, "-o", html, plain)
        check(status != 0 and "compar" in said, f"{setting} without a comparison: {said}")


def test_page_and_table(folder):
    """profconv diff: the page calls functions what the table calls them, also where it has its word from several runs of a side."""
    import random
    rng = random.Random(5)
    sides, html, pb = ([], []), os.path.join(folder, "runs.html"), os.path.join(folder, "runs.pb.gz")
    for side in range(2):
        for k in range(3):
            counts = [3000 / (i + 1) * rng.lognormvariate(0, 0.1) * (2 if side and i == 4 else 1) for i in range(60)]
            counts[20 + side] = 0
            sides[side].append(os.path.join(folder, f"run{side}{k}.folded"))
            with open(sides[side][-1], "w") as file:
                file.writelines(f"main;{'outer;' if i % 2 else ''}f{i} {round(c)}\n" for i, c in enumerate(counts) if round(c))
    words = ["--before", *sides[0], "--after", *sides[1]]
    table = subprocess.run([PROFCONV, "diff", "--json", *words], stdout=subprocess.PIPE, check=True)
    rows = {r["name"]: r for r in json.loads(table.stdout)["rows"]}
    check({rows[n]["class"] for n in ("f4", "f20", "f21")} == {"up", "new", "gone"}, "what is planted is found")
    classes = ["undetermined", "unchanged", "up", "down", "new", "gone"]

    def shown():
        _, profile = page(html)
        names = [profile["strings"][i] for i in profile["frames"]["name"]]
        found = {names[f]: profile["change"]["self"][i] for i, f in enumerate(profile["nodes"]["frame"]) if f}
        told = {n: classes[c] for n, c in zip(names, profile["classes"]["self"]) if c < 6} if "classes" in profile else None
        return found, told

    status, said = run("diff", "-q", "-o", html, *words)
    found, told = shown()
    check(status == 0 and told == {n: r["class"] for n, r in rows.items()}, f"page and table: {said} {told}")
    want = {n: {"unchanged": 0, "undetermined": 2}.get(r["class"], 1) if r["delta_self"] else 0 for n, r in rows.items()}
    check(found == want, "and so the colours")
    run("diff", "-q", "-o", pb, *words)
    convert(pb, html)
    alone, told = shown()
    check(told is None and alone != found, "without the comparison's word, the values alone say something else")
    status, said = run("convert", "-s", "flamegraph.classes=11zz", "-o", html, pb)
    check(status != 0 and "flamegraph.classes" in said, f"what is no such word: {said}")


def test_speedscope(folder):
    source, out = os.path.join(folder, "s.pb"), os.path.join(folder, "s.speedscope.json")
    rows = [(["main", ("f", "f.c", 7, 9, 0)], [3, 30], {"thread": "worker", "tid": 12}),
            (["main", ("f", "f.c", 7, 9, 0)], [2, 20], {"thread": "worker", "tid": 12, "other": "x"}),
            (["main"], [5, 50], {"thread": "</script>\xff"}), ([], [1, 10], {})]
    pprof(source, TYPES, rows)
    convert(source, out)
    file = json.loads(read(out))
    frames = file["shared"]["frames"]
    stacks = {p["name"]: ({tuple(frames[i]["name"] for i in s): w for s, w in zip(p["samples"], p["weights"])}, p["unit"])
              for p in file["profiles"]}
    want = {"worker, thread 12": ({("main", "f"): (5, 50)}), "</script>\xff": {("main",): (5, 50)}, "[no thread]": {("[unknown]",): (1, 10)}}
    for name, stack in want.items():
        for k, (kind, unit) in enumerate(TYPES):
            found = stacks.get(f"{name}: {kind}")
            check(found == ({s: v[k] for s, v in stack.items()}, "none" if k == 0 else unit), f"{name}: {kind}: {found}")
    check(len(file["profiles"]) == 6, "a profile a thread and type")
    check({"name": "f", "file": "f.c", "line": 7} in frames, f"file and line: {frames}")
    for p in file["profiles"]:
        check(p["type"] == "sampled" and p["startValue"] == 0 and p["endValue"] == sum(p["weights"]) and
              len(p["samples"]) == len(p["weights"]), f"shape of {p['name']}")
    check(file["profiles"][file["activeProfileIndex"]]["endValue"] == 50, "the heaviest is shown first")
    convert(source, out, "-s", "speedscope.threads=no")
    check([(p["name"], p["endValue"]) for p in json.loads(read(out))["profiles"]] == [("samples", 11), ("cpu", 110)], "one a type")
    pprof(source, [("cpu", "count")], [(["f"], [-3], {}), (["g"], [5], {})])
    status, said = run("convert", "-o", out, source)
    check(status == 0 and "negative" in said, f"negative values are reported: {said}")
    pprof(source, [("cpu", "count")], [(["f"], [-3], {})])
    status, said = run("convert", "-o", out, source)
    check(status != 0 and "speedscope" in said, f"nothing but negative values: {said}")


def parse_callgrind(path):
    """Events, summary, {function: self costs}, {(caller, callee): inclusive costs}."""
    names, events, summary, own, calls = {}, None, None, {}, {}
    at, callee, calling = {}, {}, False

    def name(kind, text):
        ident, _, rest = text.partition(" ")
        if rest:
            check((kind, ident) not in names, f"{kind} {ident} twice")
            names[kind, ident] = rest
        return names[kind, ident]

    for line in read(path).decode().split("\n"):
        key, _, rest = line.partition("=")
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith(("summary:", "totals:")):
            values = [int(v) for v in line.split()[1:]]
            check(summary in (None, values), "totals are the summary")
            summary = values
        elif key in ("fl", "ob", "fn"):
            at[key] = name(key, rest)
        elif key in ("cfi", "cob", "cfn"):
            callee[key] = name({"cfi": "fl"}.get(key, key[1:]), rest)
        elif key == "calls":
            calling = True
        elif line[:1].isdigit():
            values = [int(v) for v in line.split()]
            to, index = (calls, (at["fn"], callee["cfn"])) if calling else (own, at["fn"])
            to.setdefault(index, []).append(values)
            calling = False
    add = lambda rows: [sum(r[k + 1] for r in rows) for k in range(len(events))]
    return events, summary, {k: add(v) for k, v in own.items()}, {k: add(v) for k, v in calls.items()}, own


def test_callgrind(folder):
    source, out = os.path.join(folder, "c.pb"), os.path.join(folder, "c.callgrind")
    frame = lambda name, line: (name, "src.c", 1, line, 1)
    rows = [([frame("main", 10), frame("f", 20), frame("g", 30), frame("f", 21), frame("h", 40)], [2, 20], {}),
            ([frame("main", 10), frame("f", 20), frame("f", 20), frame("f", 22)], [3, 30], {}),
            ([frame("main", 11)], [5, 50], {}), ([frame("main", 10), "bad\nname\xff"], [1, 10], {})]
    pprof(source, [("samples", "count"), ("cpu time", "nanoseconds"), ("cpu_time", "x")], [(f, v + [0], l) for f, v, l in rows],
          ["/opt/my app"])
    convert(source, out)
    events, summary, own, calls, lines = parse_callgrind(out)
    check(events == ["samples", "cpu_time", "cpu_time2"] and summary == [11, 110, 0], f"{events} {summary}")
    check(own["main"] == [5, 50, 0] and own["h"] == [2, 20, 0] and own["f"] == [3, 30, 0], f"self costs: {own}")
    check(sum(v[0] for v in own.values()) == 11, "self costs add up")
    check([22, 3, 30, 0] in lines["f"], "costs by line")
    inclusive = {}
    for (_, callee), values in calls.items():
        inclusive[callee] = inclusive.get(callee, 0) + values[0]
    check(inclusive == {"f": 5, "g": 2, "h": 2, "bad name\xff": 1}, f"inclusive costs, each sample once: {inclusive}")
    check(calls["f", "f"] == [0, 0, 0] and ("g", "f") in calls, "recursive calls are there, without cost")


def main():
    if not PROFCONV:
        print("skipped: PROFCONV does not name the command")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_nasty_names, test_kinds, test_large_values, test_limit, test_picture, test_compare, test_page_and_table, test_speedscope,
                     test_callgrind):
            test(folder)
    finish()


main()
