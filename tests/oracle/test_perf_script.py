#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf.data -> collapsed agrees with `perf script`, stack by stack and event by event, on the corpus's recordings of perf 6.1.

Both sides read the same files: binaries through --symfs, perf maps from one folder, nothing inlined. What may differ, and is
checked to be no more than that:

 - a frame that perf leaves unnamed ([unknown] or [file]) may have a name here: debug files are found by build-id outside
   of --symfs too, JIT code in memfds is looked up by address, and files are found where perf's own search gives up;
 - caller frames are looked up one byte before the return address, perf 6.1 looks at the return address itself: a call that
   ends a function names the next one in perf. RETURN_RULE lists the frames where that shows.
 - of recordings with DWARF stacks (DWARF), which need more files than are below --symfs here, the process and the leaf are
   compared, with their weights; test_unwind.py compares the stacks.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
CORPUS = os.environ.get("PROFCONV_CORPUS", os.path.join(SOURCE, "..", "shared", "corpus"))
GEN = os.path.join(CORPUS, "perfdata", "gen")

# How far these are unwound depends on the libraries that each side finds.
DWARF = {"fp_z22_dwarf.data", "lost_dwarf.data", "nofp_dwarf8k.data"}
# perf 6.1 refuses the first (its recorder was killed) and prints none of the second's samples.
UNREADABLE = {"killed.data", "lost_dwarf.data"}
# perf prints no frame at all where the kernel recorded only markers; here the sampled address counts.
NO_FRAMES = {"sysw.data": [(("cc1plus",), ("cc1plus", "malloc"))]}
# file: [(caller here, caller in perf)]: the call is the last instruction of the function.
RETURN_RULE = {
    # Not calls: libc's start code has no frame pointer, and what was on the stack is the first byte of a function.
    "static_nopie.data": [("register_tm_clones", "__do_global_dtors_aux"), ("[static_nopie]", "_init")],
}

HEADER = re.compile(r"^(.*?)\s+(-?\d+)/(-?\d+)\s+(?:\d+\.\d+:\s+)?(\d+)\s+(\S+):(?: +(.*)| *)$")
FRAME = re.compile(r"^\s*([0-9a-f]+) (.*)$")


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def split_dso(text):
    """symbol and DSO: the DSO is in the last parentheses that close at the end of the line, nested ones counted."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        if text[i] == ")":
            depth += 1
        elif text[i] == "(":
            depth -= 1
            if depth == 0:
                return text[:i].rstrip(" "), text[i + 1:-1]
    return text, "[unknown]"


def frame_name(text):
    symbol, dso = split_dso(text)
    symbol = re.sub(r"\+0x[0-9a-f]+$", "", symbol)
    if symbol != "[unknown]":
        return re.sub(r"[\x00-\x1f\x7f]+", " ", symbol.replace(";", ":")), True
    return ("[unknown]" if dso == "[unknown]" else "[%s]" % os.path.basename(dso)), False


def perf_stacks(perf, path, symfs):
    """{event: {((name, known), ...) root first: period}}"""
    done = subprocess.run([perf, "script", "--no-inline", "--symfs", symfs, "-F", "comm,pid,tid,time,period,event,ip,sym,dso", "-i", path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, PERF_CONFIG="/dev/null", LC_ALL="C"))
    events = collections.OrderedDict()
    sample = None

    def finish():
        if sample:
            comm, event, period, frames = sample
            root = re.sub(r"\s", "_", comm.strip()).replace(";", ":")
            events.setdefault(event, collections.Counter())[((root, True),) + tuple(frames[::-1])] += period

    for line in done.stdout.decode(errors="surrogateescape").split("\n"):
        header = HEADER.match(line) if line and not line.startswith("\t") else None
        if header:
            finish()
            sample = (header.group(1), header.group(5), int(header.group(4)), [])
            line = header.group(6) or ""
        frame = FRAME.match(line) if sample and line.strip() else None
        if frame:
            sample[3].append(frame_name(frame.group(2)))
        elif not header:
            finish()
            sample = None
    finish()
    return events


def our_stacks(path, event, symfs, maps):
    done = subprocess.run([PROFCONV, "convert", "-q", "--no-inline", "--demangle=simple", "--symfs", symfs, "--perf-map-dir", maps, "-s", "collapsed.tidy=none",
                           "-t", "collapsed", "-e", event, "-o", "-", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stacks = collections.Counter()
    for line in done.stdout.decode(errors="surrogateescape").split("\n"):
        if line:
            stack, count = line.rsplit(" ", 1)
            stacks[tuple(stack.split(";"))] += int(count)
    return stacks, done.stderr.decode(errors="replace").strip()


def matches(ours, theirs, rule):
    if len(ours) != len(theirs):
        return False
    return all(o == name or not known or (o, name) in rule for o, (name, known) in zip(ours, theirs))


def leaves(stacks):
    """By process and leaf; where perf could not unwind at all it prints no frame, which says nothing of the leaf."""
    ends = collections.Counter()
    for stack, weight in stacks.items():
        ends[(stack[0], stack[-1] if len(stack) > 1 else ("", False))] += weight
    return ends


def compare(ours, theirs, rule):
    """What is left of both sides when perf's stacks, the best known first, have taken the stacks of ours that they match."""
    left = collections.Counter(ours)
    missing = []
    for stack, weight in sorted(theirs.items(), key=lambda item: sum(not known for _, known in item[0])):
        for mine in list(left):
            if weight and matches(mine, stack, rule):
                taken = min(weight, left[mine])
                weight -= taken
                left[mine] -= taken
                if not left[mine]:
                    del left[mine]
        if weight:
            missing.append((";".join(name for name, _ in stack), weight))
    return missing, [(";".join(stack), weight) for stack, weight in left.items()]


def main():
    perf = shutil.which("perf")
    if not PROFCONV:
        skip("no command (PROFCONV)")
    if not perf or b"perf version 6.1" not in subprocess.run([perf, "--version"], stdout=subprocess.PIPE).stdout:
        skip("perf 6.1 is not installed")
    if not os.path.isdir(GEN):
        skip("no corpus at %s" % CORPUS)
    failed = checked = 0
    with tempfile.TemporaryDirectory() as root:
        symfs = os.path.join(root, "symfs")
        shutil.copytree(os.path.join(GEN, "bin"), os.path.join(symfs, "opt", "recordings", "workloads", "bins"))
        # perf takes perf maps from /tmp below --symfs.
        shutil.copytree(os.path.join(GEN, "maps"), os.path.join(symfs, "tmp"))
        for name in sorted(os.listdir(GEN)):
            path = os.path.join(GEN, name)
            if not name.endswith(".data") or name in UNREADABLE:
                continue
            events = perf_stacks(perf, path, symfs)
            if not events:
                print("%s: perf prints no samples" % name)
                failed += 1
            for event, theirs in events.items():
                ours, errors = our_stacks(path, event, symfs, os.path.join(GEN, "maps"))
                if name in DWARF:
                    ours, theirs = leaves(ours), leaves(theirs)
                missing, extra = compare(ours, theirs, RETURN_RULE.get(name, ()))
                for without, with_leaf in NO_FRAMES.get(name, ()):
                    theirs_left, ours_left = dict(missing), dict(extra)
                    if theirs_left.get(";".join(without)) == ours_left.get(";".join(with_leaf)):
                        missing = [row for row in missing if row[0] != ";".join(without)]
                        extra = [row for row in extra if row[0] != ";".join(with_leaf)]
                checked += 1
                if missing or extra or sum(ours.values()) != sum(theirs.values()):
                    failed += 1
                    print("%s %s: perf %d, ours %d %s" % (name, event, sum(theirs.values()), sum(ours.values()), errors))
                    for text, weight in missing[:5]:
                        print("  only perf: %s %d" % (text, weight))
                    for text, weight in extra[:5]:
                        print("  only ours: %s %d" % (text, weight))
    print("%d recordings and events compared, %d differ" % (checked, failed))
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
