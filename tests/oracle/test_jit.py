#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code made at run time, recorded here and now: names agree with perf's, and are tidied as the collapsed format says.

 - node with a perf map, and with a jitdump file (perf's side of that by `perf inject --jit`);
 - Java with the perf map that HotSpot writes at its end;
 - a program of our own that runs code from anonymous memory and from a memfd mapped twice, which perf 6.1 leaves unnamed.

Each part is skipped, with its reason, where its tool is not there or nothing can be recorded.
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
sys.path.insert(0, os.path.join(SOURCE, "tests", "oracle"))
import test_perf_script as oracle  # noqa: E402

ENV = dict(os.environ, PERF_CONFIG="/dev/null", LC_ALL="C")
failures = []
done = []
pids = set()  # whose perf maps are ours to remove

JS = """'use strict';
class Shape { area(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i * 1.5 + s % 7); return s; } }
const helper = (x) => { let t = 0; for (let i = 0; i < 2000; i++) t = (t * 31 + x + i) % 1000003; return t; };
function outer(n) {
  const s = new Shape(); let r = 0;
  for (let i = 0; i < n; i++) { r += s.area(3000); r += helper(i); r += [1, 2].map(function (v) { return helper(v); })[0]; }
  return r;
}
const end = Date.now() + 1200; let total = 0;
while (Date.now() < end) total += outer(20);
"""
JAVA = """public class Work {
    static class Circle { double area(int n) { double s = 0; for (int i = 0; i < n; i++) s += i * 1.5 + s / 7; return s; } }
    static int helper(int x) { int t = 0; for (int i = 0; i < 2000; i++) t = (t * 31 + x + i) % 1000003; return t; }
    static double outer(int n) {
        Circle s = new Circle(); double r = 0;
        for (int i = 0; i < n; i++) { r += s.area(3000); r += helper(i); }
        return r;
    }
    public static void main(String[] a) {
        long end = System.currentTimeMillis() + 1500; double t = 0;
        while (System.currentTimeMillis() < end) t += outer(20);
    }
}
"""


class Skip(Exception):
    pass


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAIL", what)


def run(command, cwd, reason):
    with subprocess.Popen(command, cwd=cwd, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        pids.add(str(child.pid))
        out, errors = child.communicate()
    if child.returncode:
        raise Skip("%s: %s" % (reason, errors.decode(errors="replace").strip()[-300:]))
    return out.decode(errors="replace")


def record(cwd, out, command, *options):
    return run(["perf", "record", "-q", "-g", "-F", "997", "-e", "cpu-clock:u", "-o", out] + list(options) + ["--"] + command, cwd,
               "nothing can be recorded")


def perf_leaves(cwd, data, made):
    """{leaf's name: weight} of the leaves in code made at run time, and how often perf names its other frames, by file."""
    text = run(["perf", "script", "-i", data, "-F", "comm,pid,tid,time,period,event,ip,sym,dso"], cwd, "perf script")
    leaves, unnamed, period = collections.Counter(), 0, None
    for line in text.split("\n"):
        header = oracle.HEADER.match(line) if line and not line.startswith("\t") else None
        frame = None if header else oracle.FRAME.match(line)
        if header:
            period = int(header.group(4))
            pids.add(header.group(2))
        elif frame and period is not None:
            symbol, dso = oracle.split_dso(frame.group(2))
            if made.search(dso):
                leaves[oracle.frame_name(frame.group(2))[0]] += period
            else:
                unnamed += period if symbol == "[unknown]" else 0
            period = None
    return leaves, unnamed


def our_leaves(cwd, data, *options):
    got = subprocess.run([PROFCONV, "convert", "-t", "collapsed", "-o", "-", "-s", "collapsed.annotate=j"] + list(options) + [data],
                         cwd=cwd, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(got.returncode == 0, "%s: %s" % (data, got.stderr.decode(errors="replace")))
    leaves, unnamed = collections.Counter(), 0
    for line in got.stdout.decode(errors="replace").splitlines():
        stack, weight = line.rsplit(" ", 1)
        leaf = stack.rsplit(";", 1)[-1]
        if leaf.endswith("_[j]"):
            leaves[leaf[:-4]] += int(weight)
        elif leaf.startswith("["):
            unnamed += int(weight)
    return leaves, unnamed


def same_leaves(cwd, data, theirs_data, made, what):
    theirs, their_unnamed = perf_leaves(cwd, theirs_data, made)
    ours, our_unnamed = our_leaves(cwd, data, "-s", "collapsed.tidy=none")
    named = sum(theirs.values())
    check(named > 0, "%s: perf names nothing" % what)
    apart = sum(abs(theirs[name] - ours[name]) for name in set(theirs) | set(ours) if not name.startswith("["))
    check(apart <= named * 0.01, "%s: %.2f %% of the weight under other names:\n  perf %s\n  ours %s" % (
        what, 100.0 * apart / named, theirs.most_common(8), ours.most_common(8)))
    # Names of code made at run time do not stand in the way of all others.
    check(our_unnamed <= their_unnamed + named * 0.01, "%s: %d without a name, %d with perf" % (what, our_unnamed, their_unnamed))
    return theirs


def expect_tidy(cwd, data, what, wanted, never):
    ours, _ = our_leaves(cwd, data)
    for name in wanted:
        check(any(re.search(name, leaf) for leaf in ours), "%s: no leaf like %s in %s" % (what, name, list(ours)[:20]))
    for leaf in ours:
        check(not re.search(never, leaf), "%s: %s is not tidy" % (what, leaf))


def node_map(root):
    if not shutil.which("node"):
        raise Skip("node is not installed")
    with open(os.path.join(root, "work (1).js"), "w") as out:
        out.write(JS)
    record(root, "node.data", ["node", "--perf-basic-prof", "work (1).js"])
    same_leaves(root, "node.data", "node.data", re.compile(r"/perf-\d+\.map$"), "node's perf map")
    # What kind of code, its function, its place: whole, whatever the file is called.
    expect_tidy(root, "node.data", "node", [r"^JS:[*^~+]?area .*/work \(1\)\.js:\d+:\d+$"], r"^JS:[^(]*work $")


def node_jitdump(root):
    if not shutil.which("node"):
        raise Skip("node is not installed")
    with open(os.path.join(root, "work.js"), "w") as out:
        out.write(JS)
    record(root, "node.data", ["node", "--perf-prof", "--interpreted-frames-native-stack", "work.js"], "-k", "mono")
    if not glob.glob(os.path.join(root, "jit-*.dump")):
        raise Skip("this node writes no jitdump file")
    run(["perf", "inject", "--jit", "-i", "node.data", "-o", "injected.data"], root, "perf inject")
    same_leaves(root, "node.data", "injected.data", re.compile(r"/jitted-\d+-\d+\.so$"), "node's jitdump")
    expect_tidy(root, "node.data", "node's jitdump", [r"^JS:[*^~+]?area .*/work\.js:\d+:\d+$"], r"\+0x[0-9a-f]+$")


def java_map(root):
    if not shutil.which("java") or not shutil.which("javac"):
        raise Skip("java and javac are not installed")
    with open(os.path.join(root, "Work.java"), "w") as out:
        out.write(JAVA)
    run(["javac", "Work.java"], root, "javac")
    flags = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
    run(["java"] + flags + ["-version"], root, "this java writes no perf map")
    record(root, "java.data", ["java"] + flags + ["-cp", ".", "Work"])
    theirs = same_leaves(root, "java.data", "java.data", re.compile(r"/perf-\d+\.map$"), "Java's perf map")
    check(any(name.startswith("double Work$Circle.area(") for name in theirs), "perf: %s" % theirs.most_common(5))
    expect_tidy(root, "java.data", "Java", [r"^Work\$Circle\.area$"], r"^(int|double|void) |\)$")


def memory_kinds(root):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise Skip("no C compiler")
    source = os.path.join(SOURCE, "tests", "oracle", "jit_record.c")
    run([compiler, "-O1", "-o", "made", source], root, "cannot be compiled here")
    run([os.path.join(root, "made"), "1"], root, "code of x86-64 only, in memory that may be run")
    record(root, "made.data", [os.path.join(root, "made"), "10000000"])
    ours, _ = our_leaves(root, "made.data", "-s", "collapsed.tidy=none")
    total = sum(ours.values())
    for name in ("made in anonymous memory", "made in a memfd", "made further back (2)"):
        check(0.2 * total < ours[name] < 0.5 * total, "%s: %d of %d: %s" % (name, ours[name], total, ours))
    theirs, _ = perf_leaves(root, "made.data", re.compile(r"/perf-\d+\.map$"))
    check(theirs["made in anonymous memory"] == ours["made in anonymous memory"], "%s, perf %s" % (ours, theirs))


def remove_maps():
    for pid in pids:
        if os.path.exists("/tmp/perf-%s.map" % pid) and not os.path.exists("/proc/" + pid):
            os.remove("/tmp/perf-%s.map" % pid)
    pids.clear()


def main():
    if not PROFCONV:
        print("skipped: no command (PROFCONV)")
        return 77
    if not shutil.which("perf"):
        print("skipped: perf is not installed")
        return 77
    for part in (memory_kinds, node_map, node_jitdump, java_map):
        with tempfile.TemporaryDirectory() as root:
            try:
                part(root)
                done.append(part.__name__)
            except Skip as reason:
                print("skipped: %s: %s" % (part.__name__, reason))
            finally:
                remove_maps()
    print("compared: %s" % (", ".join(done) or "nothing"))
    return 1 if failures else 0 if done else 77


if __name__ == "__main__":
    sys.exit(main())
