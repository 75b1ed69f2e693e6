#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A perf recording of a Go program, converted to pprof, is what Go's PGO reads: `go tool preprofile` accepts it and finds the
edges of the runtime's own CPU profile that frame-pointer stacks hold.

Those that they do not hold: (*Mix).Apply and the runtime's assembly keep no frame of their own when they are sampled, so that their
direct caller is skipped (main.loop -> Apply shows as main.work -> Apply), and asyncPreempt is where the runtime's own
profiler interrupts, not perf.

What the compiler makes of it, by its remarks: all that it does with the runtime's profile, but for the devirtualization of op.Apply,
which hangs on the one edge that frame pointers do not show. A recording with the user's registers and stack (perf record
--call-graph dwarf) holds that edge too, and the remarks are all the same.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
CORPUS = os.environ.get("PROFCONV_CORPUS", os.path.join(SOURCE, "..", "shared", "corpus"))
GOPGO = os.path.join(CORPUS, "gopgo")
HELD = {("main.loop", "main.step", 4), ("main.work", "main.loop", 3)}
FRAMELESS = {("main.loop", "main.(*Mix).Apply", 3): ("main.work", "main.(*Mix).Apply", 3)}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def edges(text):
    lines = text.split("\n")
    assert lines[0] == "GO PREPROFILE V1", lines[0]
    rows = {}
    for i in range(1, len(lines) - 2, 3):
        offset, weight = lines[i + 2].split(" ")
        rows[(lines[i], lines[i + 1], int(offset))] = int(weight)
    return rows


def remarks(go, root, profile):
    """What the compiler says of inlining and devirtualization, places and costs included."""
    done = subprocess.run([go, "build", "-pgo=" + profile, "-gcflags=-m=2", "-o", os.path.join(root, "app.pgo"), "."],
                          cwd=os.path.join(root, "app"), env=environment(root), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, text[-1000:]
    return {line for line in text.split("\n") if re.search("can inline|inlining call to|devirtualizing", line)}


def environment(root):
    return dict(os.environ, GOFLAGS="-mod=mod", GOTOOLCHAIN="local", GOCACHE=os.path.join(root, "cache"))


def compile_with(go, root, ours):
    """Builds the program with the runtime's profile and with ours; then records it with its stacks, and builds with that."""
    shutil.copytree(os.path.join(GOPGO, "app"), os.path.join(root, "app"))
    subprocess.run(["chmod", "-R", "u+w", os.path.join(root, "app")], check=True)
    runtime = os.path.join(root, "runtime.pprof")
    shutil.copy(os.path.join(GOPGO, "cpu.pprof"), runtime)
    wanted, plain, got = remarks(go, root, runtime), remarks(go, root, "off"), remarks(go, root, ours)
    assert any("can inline step with cost 158" in x for x in wanted - plain), "the runtime's profile has no effect"
    edge = {x for x in wanted if "PGO devirtualizing interface call op.Apply to (*Mix).Apply" in x}
    assert len(edge) == 1, wanted
    # Without it the call is not inlined either, and the function around it costs less.
    place = next(iter(edge)).split(" ")[0]
    assert all(x.startswith(place) or "can inline loop with cost" in x for x in wanted - got), wanted - got
    assert all("can inline loop with cost" in x for x in got - wanted), got - wanted
    print("remarks as with the runtime's profile, %d but for %d" % (len(wanted), len(wanted - got)))
    binary, data = os.path.join(root, "app.off"), os.path.join(root, "dwarf.data")
    subprocess.run([go, "build", "-pgo=off", "-o", binary, "."], cwd=os.path.join(root, "app"), env=environment(root), check=True)
    if not shutil.which("perf") or subprocess.run(
            ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,8192", "-o", data, binary, "-d", "2s"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        print("skipped in part: perf cannot record here")
        return
    pprof, text = os.path.join(root, "dwarf.pb.gz"), os.path.join(root, "dwarf.preprofile")
    subprocess.run([PROFCONV, "convert", "-q", "-o", pprof, data], check=True)
    subprocess.run([go, "tool", "preprofile", "-i", pprof, "-o", text], check=True)
    with open(text) as file:
        found = edges(file.read())
    for held in HELD | set(FRAMELESS):
        assert found.get(held), "missing edge %s" % (held,)
    for wrong in FRAMELESS.values():
        assert not found.get(wrong), "edge past the direct caller: %s" % (wrong,)
    check = subprocess.run([PROFCONV, "check", "--for", "go-pgo", data], stdout=subprocess.PIPE).stdout.decode()
    assert "no frame of its own" not in check, check
    got = remarks(go, root, pprof)
    assert got == wanted, (wanted - got, got - wanted)
    print("with unwound stacks: the direct callers of frameless leaves, and all remarks")


def main():
    if not PROFCONV:
        skip("no command (PROFCONV)")
    go = shutil.which("go")
    version = go and re.search(rb"go1\.(\d+)", subprocess.run([go, "version"], stdout=subprocess.PIPE).stdout)
    if not version or int(version.group(1)) < 21:
        skip("Go 1.21 or later is not installed")
    if not os.path.isdir(GOPGO):
        skip("no corpus at %s" % CORPUS)
    with tempfile.TemporaryDirectory() as root:
        pprof, text = os.path.join(root, "cpu.pb.gz"), os.path.join(root, "cpu.preprofile")
        subprocess.run([PROFCONV, "convert", "-q", "--binary", os.path.join(GOPGO, "app.nopgo"), "-o", pprof,
                        os.path.join(GOPGO, "perf.data")], check=True)
        done = subprocess.run([go, "tool", "preprofile", "-i", pprof, "-o", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            print("go tool preprofile refuses the profile:", done.stdout.decode(errors="replace"))
            return 1
        with open(text) as file:
            ours = edges(file.read())
        info = subprocess.run([PROFCONV, "info", pprof], stdout=subprocess.PIPE, check=True).stdout.decode()
        assert re.search(r"^Go +[1-9][0-9,]* distinct samples whose leaf may have no frame", info, re.M), info
        # A recording without names: counted when its program is found, else said how.
        recording = os.path.join(GOPGO, "perf.data")
        for options, wanted in ((["--binary", os.path.join(GOPGO, "app.nopgo")], r"[1-9][0-9,]* distinct samples whose leaf may have no frame"),
                                ([], r"[^ ]*app.nopgo is not here; if it is a Go program, --binary=FILE names it")):
            info = subprocess.run([PROFCONV, "info"] + options + [recording], stdout=subprocess.PIPE, check=True).stdout.decode()
            assert re.search("^Go +" + wanted, info, re.M), info
        compile_with(go, root, pprof)
    with open(os.path.join(GOPGO, "cpu.preprofile")) as file:
        theirs = edges(file.read())
    assert HELD <= set(theirs), "the corpus changed"
    bad = ["missing edge %s" % (edge,) for edge in HELD if not ours.get(edge)]
    for edge, shown_as in FRAMELESS.items():
        if edge not in ours and not ours.get(shown_as):
            bad.append("neither %s nor %s" % (edge, shown_as))
    hottest = max(ours, key=ours.get)
    if hottest != max(theirs, key=theirs.get):
        bad.append("hottest edge is %s" % (hottest,))
    print("\n".join(bad) or "%d edges, those of the runtime's profile among them" % len(ours))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
