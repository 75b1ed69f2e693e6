#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The flame graph's page in a browser: zooms, searches, switches columns and reads back what it says; without scripts, a picture.
With PROFCONV_SCREENSHOTS=FOLDER the screenshots stay there."""
import os
import sys
import tempfile
import time

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from viewer_support import PROFCONV, check, convert, finish, pprof  # noqa: E402
from webdriver import Browser, missing  # noqa: E402

ROW = 19
TYPES = [("samples", "count"), ("cpu", "nanoseconds")]
ROWS = [(["main", "alpha", "work"], [60, 600000000], {}), (["main", "beta", "work"], [39, 100000000], {}),
        (["main", "gamma"], [1, 300000000], {})]
NASTY = "</script><img src=x onerror=\"window.broken=1\">\x01&lt;"


def shows(b, ident, wanted, what):
    said = b.text(ident)
    check(wanted in said, f"{what}: {said!r} does not have {wanted!r}")


def place(b, share, level):
    """A point of the canvas: a share of its width, the middle of a level."""
    r = b.run("const r = document.getElementById('canvas').getBoundingClientRect(); return [r.left, r.top, r.width]")
    return r[0] + share * r[2], r[1] + (level + 0.5) * ROW


def no_errors(b, what):
    errors = b.errors()
    check(not errors, f"{what}: {errors}")


def test_page(b, folder):
    source, html = os.path.join(folder, "plain.pb"), os.path.join(folder, "plain.html")
    pprof(source, TYPES, ROWS, default="samples")
    convert(source, html)
    b.open(html)
    shows(b, "details", "samples: 100 count, 100.00 % of all", "the whole")
    # Zoom by clicks: main is level 1, alpha (0 to 60 %) level 2.
    b.pointer(*place(b, 0.3, 2), click=True)
    check(b.run("return document.body.dataset.zoom") == "alpha", "a click zooms")
    shows(b, "details", "samples: 60 count, 60.00 % of all", "zoomed")
    b.pointer(*place(b, 0.9, 3))
    shows(b, "tip", "work", "under the pointer")
    shows(b, "tip", "100.00 % of the zoomed", "under the pointer")
    b.run("document.getElementById('reset').click()")
    # Keys: to the widest callee, to a sibling, zoom, out again.
    b.run("document.getElementById('canvas').focus()")
    b.keys("Down", "Down", "Right")
    shows(b, "details", "beta", "keys")
    b.keys("Enter")
    check(b.run("return document.body.dataset.zoom") == "beta", "Enter zooms")
    b.keys("Backspace")
    check(b.run("return document.body.dataset.zoom") == "main", "Backspace zooms out")
    b.keys("Escape")
    check(b.run("return document.body.dataset.zoom") == "all", "Escape shows all")
    # Search.
    b.keys("/", "W", "o", "r", "k")
    shows(b, "match", "99.00 % (99 count)", "search")
    check(b.run("return document.getElementById('match').dataset.places") == "2", "two places match")
    b.settle()
    seen = b.screenshot().at(*place(b, 0.55, 3))
    check(seen == "#e83fd0", f"a match has its colour: {seen}")
    b.keys("Escape")
    check(b.text("match") == "", "Escape ends the search")
    b.run("const s = document.getElementById('search'); s.value = '/^(al|ga)/'; s.dispatchEvent(new Event('input'))")
    shows(b, "match", "61.00 % (61 count)", "a regular expression")
    b.run("const s = document.getElementById('search'); s.value = '/(/'; s.dispatchEvent(new Event('input'))")
    check(b.run("return document.getElementById('search').validity.customError"), "a wrong expression is told")
    b.run("const s = document.getElementById('search'); s.value = 'main'; s.dispatchEvent(new Event('input'))")
    shows(b, "match", "100.00 %", "what holds everything")
    b.run("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))")
    # Another column.
    b.run("const e = document.getElementById('event'); e.value = '1'; e.dispatchEvent(new Event('change'))")
    shows(b, "details", "cpu: 1,000,000,000 nanoseconds (1 s)", "the other column")
    b.pointer(*place(b, 0.85, 2), click=True)
    shows(b, "details", "cpu: 300,000,000 nanoseconds (300 ms), 30.00 % of all", "gamma in the other column")
    b.run("document.getElementById('canvas').focus()")
    b.keys("Home", "e")
    shows(b, "details", "samples: 100 count", "e goes to the next column")
    # Leaves as roots.
    b.keys("i", "Down")
    shows(b, "details", "work", "inverted")
    shows(b, "details", "99 count", "inverted, both callers together")
    b.keys("Down")
    shows(b, "details", "alpha", "its caller")
    b.keys("i")
    # Upside down, dark, other colours.
    b.keys("u")
    box = b.run("const r = document.getElementById('canvas').getBoundingClientRect(); return [r.left, r.bottom]")
    b.pointer(box[0] + 20, box[1] - ROW / 2 - 2)
    shows(b, "tip", "all", "upside down, the root is below")
    b.keys("u")
    was = b.run("return document.documentElement.dataset.theme")
    b.keys("t")
    check({was, b.run("return document.documentElement.dataset.theme")} == {"dark", "light"}, "dark and light")
    b.screenshot("plain-other-theme")
    b.keys("t")
    for colors in ("package", "module", "kind"):
        b.run("const e = document.getElementById('colors'); e.value = arguments[0]; e.dispatchEvent(new Event('change'))", colors)
        b.settle()
    shows(b, "legend", "user", "the legend")
    no_errors(b, "the page")
    # The policy: nothing is fetched, no other script runs.
    b.run("const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s)")
    fetched = b.do("POST", "/execute/async", {"script": "const done = arguments[0]; fetch('data:,x').then(() => done('yes'), () => done('no'))",
                                              "args": []})
    check(b.run("return window.broken === undefined") and fetched == "no", "scripts and requests from elsewhere")
    b.errors()


def test_names(b, folder):
    source, html = os.path.join(folder, "nasty.pb"), os.path.join(folder, "nasty.html")
    pprof(source, TYPES, [(["main", NASTY], [2 ** 60 + 1, 7], {"thread": NASTY})], default="samples")
    convert(source, html, "-s", "flamegraph.title=" + NASTY)
    b.open(html)
    b.run("document.getElementById('canvas').focus()")
    b.keys("Down", "Down", "Down")
    check(b.text("details").startswith(NASTY), f"a nasty name: {b.text('details')!r}")
    shows(b, "details", "1,152,921,504,606,846,977 count", "a value above 2^53 to its last digit")
    check(b.run("return window.broken === undefined && document.images.length === 0"), "a name became part of the page")
    no_errors(b, "nasty names")


def test_compare(b, folder):
    source, html = os.path.join(folder, "diff.pb"), os.path.join(folder, "diff.html")
    pprof(source, [("before", "count"), ("after", "count")],
          [(["main", "a_same"], [400, 400], {}), (["main", "b_up"], [100, 400], {}), (["main", "c_gone"], [200, 0], {})])
    convert(source, html)
    b.open(html)
    shows(b, "details", "before 700 count, after 800 count, change +100 (14.29 % of its own before)", "the whole of a comparison")
    b.pointer(*place(b, 0.6, 2))
    shows(b, "tip", "change +300 (300.00 % of its own before), up", "what grew")
    b.pointer(*place(b, 0.95, 2))
    shows(b, "tip", "change -200 (-100.00 % of its own before), gone", "what is gone")
    b.pointer(5, 5)
    b.settle()
    shot = b.screenshot("compare")
    red, blue, grey = (shot.at(*place(b, x, 2.3)) for x in (0.75, 0.95, 0.35))
    check(red == "#e5483d" and int(blue[1:3], 16) < int(blue[5:7], 16) and grey == "#c9cdd3", f"colours {red} {blue} {grey}")
    no_errors(b, "a comparison")
    convert(source, html, "-s", "flamegraph.layout=side")
    b.open(html)
    shows(b, "left", "before: 700 count", "left side")
    shows(b, "right", "after: 800 count", "right side")
    b.screenshot("side")
    b.pointer(*place(b, 0.6, 2))
    shows(b, "tip", "a_same", "on the right")
    b.pointer(*place(b, 0.42, 2))
    shows(b, "tip", "c_gone", "on the left, 500 to 700 of 800 on one scale")
    b.pointer(*place(b, 0.48, 2))
    check(b.run("return document.getElementById('tip').hidden"), "left of it ends sooner")
    no_errors(b, "two sides")


def test_many_frames(b, folder):
    source, html = os.path.join(folder, "many.pb"), os.path.join(folder, "many.html")
    rows = [(["main", f"m{i % 97}", f"n{i % 1009}", f"o{i}", f"p{i}"], [1 + i % 7, 10], {}) for i in range(50000)]
    pprof(source, TYPES, rows, default="samples")
    convert(source, html)
    start = time.monotonic()
    b.open(html)
    shows(b, "details", f"samples: {sum(r[1][0] for r in rows):,} count", "100,000 frames")
    b.settle()
    opened = time.monotonic()
    b.run("const s = document.getElementById('search'); s.value = 'o4'; s.dispatchEvent(new Event('input'))")
    b.settle()
    found = sum(r[1][0] for r in rows if any("o4" in f for f in r[0]))
    shows(b, "match", f"({found:,} count)", "search in 100,000 frames")
    searched = time.monotonic()
    b.run("document.getElementById('canvas').focus()")
    b.keys("i")
    turned = time.monotonic()
    shows(b, "details", f"samples: {sum(r[1][0] for r in rows):,} count", "100,000 frames inverted")
    print(f"100,000 frames: opened in {opened - start:.1f} s, searched in {searched - opened:.1f} s, inverted in {turned - searched:.1f} s")
    check(turned - start < 60, "100,000 frames take too long")
    b.keys("i")
    b.screenshot("many")
    no_errors(b, "100,000 frames")


def test_without_scripts(folder):
    with Browser(scripts=False) as b:
        b.open(os.path.join(folder, "plain.html"))
        shot = b.screenshot("no-script")
        seen = {shot.at(x, y) for x in range(0, 1200, 7) for y in range(0, 300, 5)}
        warm = [c for c in seen if int(c[1:3], 16) > 0xe0 and int(c[5:7], 16) < 0x90 and int(c[3:5], 16) < 0xd0]
        check(len(warm) >= 1, f"the static picture is not to be seen; colours: {sorted(seen)[:20]}")


def main():
    if not PROFCONV or missing():
        print("skipped:", missing() or "PROFCONV does not name the command")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        with Browser() as b:
            for test in (test_page, test_names, test_compare, test_many_frames):
                test(b, folder)
        test_without_scripts(folder)
    finish()


main()
