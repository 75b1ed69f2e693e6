#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The perf-script reader against what is known of its inputs.

 - issues: small texts that other collapsers read wrongly, with the collapsed stacks that are right.
 - inferno: equal to inferno-collapse-perf but for what DIFFERENT lists.
 - recordings: `perf script` of a recording, read as text, gives the collapsed stacks that the recording gives. Where
   perf printed no name, any name will do: the recording has build-ids, by which debug files are found.
 - profgen: the branch counts of llvm-profgen's inputs equal those of its raw profiles, up to its disassembly
   (PROFGEN lists what differs).
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROFCONV = os.environ.get("PROFCONV")
CORPUS = os.environ.get("PROFCONV_CORPUS", os.path.join(SOURCE, "..", "shared", "corpus"))
SCRIPT = os.path.join(CORPUS, "script")
GEN = os.path.join(CORPUS, "perfdata", "gen")
PROFGEN_DIR = os.path.join(CORPUS, "llvm", "profgen")
EXPECTED_DIR = os.path.join(CORPUS, "llvm", "profgen-expected")

sys.path.insert(0, os.path.join(SOURCE, "tests", "oracle"))
import test_perf_script as oracle  # noqa: E402

failures = 0
checks = 0


def check(condition, what):
    global failures, checks
    checks += 1
    if not condition:
        failures += 1
        print("FAIL " + what)


def convert(*arguments, data=None):
    done = subprocess.run([PROFCONV, "convert", "-q", "-o", "-"] + list(arguments), input=data,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout, done.stderr.decode(errors="replace").strip()


# ---- small cases ----

def issues():
    folder = os.path.join(SCRIPT, "issues")
    flags = {}
    with open(os.path.join(folder, "options.tsv")) as f:
        for line in f.read().splitlines()[1:]:
            case, option = line.split("\t")
            flags[case] = {"--kernel": "--annotate=k"}.get(option, option)
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".script.txt"):
            continue
        case = name[:-len(".script.txt")]
        options = [flags[case]] if case in flags else []
        ours, errors = convert("-t", "collapsed", *options, os.path.join(folder, name))
        with open(os.path.join(folder, case + ".expected.folded"), "rb") as f:
            check(ours == f.read(), "%s: %s %s" % (case, ours, errors))


# ---- inferno ----

# Frame or line of inferno's output: what stands there here, and why it is wanted.
DIFFERENT = {
    # inferno cuts "()" of operator() as if it were an argument list.
    "cpp-stacks-std-function": [("::operator;", "::operator();")],
    # BPF programs run in the kernel.
    "versioned-vmlinux": [("bpf_prog_2b956549c660136a_uni_l4lb ", "bpf_prog_2b956549c660136a_uni_l4lb_[k] ")],
    # cycles:u and cycles are two events; inferno cuts modifiers and adds them up.
    "single-line-stacks": [("false;_dl_start 1\n", "")],
}


def inferno():
    marks = {"jit": "--annotate=j", "kernel": "--annotate=k"}
    for name in sorted(os.listdir(os.path.join(SCRIPT, "inferno-results"))):
        case, _, option = name[:-len(".txt")].partition("-collapsed")
        with open(os.path.join(SCRIPT, "inferno-results", name)) as f:
            expected = f.read()
        for theirs, ours in DIFFERENT.get(case, ()):
            check(theirs in expected, "%s: inferno has no %r" % (case, theirs))
            expected = expected.replace(theirs, ours)
        options = [marks[option[1:]]] if option else []
        ours, errors = convert("-t", "collapsed", *options, os.path.join(SCRIPT, "inferno", case + ".txt"))
        check(ours.decode() == expected, "inferno %s: %s %s" % (case, ours.decode()[:300], errors))
        if not expected: # an empty result is an error that says so
            check("empty" in errors, "inferno %s: %s" % (case, errors))


# Texts without a result to compare with: samples, and the sum of their weights, counted by hand-written rules below.
def totals():
    for folder in ("flamegraph", "inferno"):
        for name in sorted(os.listdir(os.path.join(SCRIPT, folder))):
            path = os.path.join(SCRIPT, folder, name)
            with open(path, encoding="utf-8", errors="surrogateescape") as f:
                text = f.read()
            weights = collections.OrderedDict()
            for line in text.split("\n"):
                words = line.split()
                # In these texts a header's event is the first word that ends in a colon and is no time; a period comes before.
                if line[:1] in ("", "\t", "#") or not any(w.endswith(":") for w in words) or line.endswith(")") and line[0] != " ":
                    continue
                at = next((i for i, w in enumerate(words) if w.endswith(":") and not w[:-1].replace(".", "").isdigit()), None)
                if at is None or at < 2:
                    continue
                event = words[at][:-1]
                period = int(words[at - 1]) if words[at - 2].endswith(":") and words[at - 1].isdigit() else 1
                count, weight = weights.get(event, (0, 0))
                weights[event] = (count + 1, weight + period)
            for event, (count, weight) in weights.items():
                ours, errors = convert("-t", "collapsed", "-e", event, path)
                total = sum(int(line.rsplit(b" ", 1)[1]) for line in ours.splitlines())
                check(total == weight, "%s %s: %d, expected %d %s" % (name, event, total, weight, errors))


# ---- recordings ----

def collapsed_of(symfs, *arguments, data=None):
    ours, errors = convert("-t", "collapsed", "--no-inline", "--demangle=simple", "--symfs", symfs, "--perf-map-dir",
                           os.path.join(GEN, "maps"), "-s", "collapsed.tidy=none", *arguments, data=data)
    stacks = collections.Counter()
    for line in ours.decode(errors="surrogateescape").split("\n"):
        if line:
            stack, count = line.rsplit(" ", 1)
            stacks[tuple(stack.split(";"))] += int(count)
    return stacks, errors


def known(frame):
    return (frame, not (frame.startswith("[") and frame.endswith("]")))


def recordings():
    perf = shutil.which("perf")
    if not perf or b"perf version 6.1" not in subprocess.run([perf, "--version"], stdout=subprocess.PIPE).stdout:
        print("recordings: left out, perf 6.1 is not installed")
        return
    with tempfile.TemporaryDirectory() as root:
        symfs = os.path.join(root, "symfs")
        shutil.copytree(os.path.join(GEN, "bin"), os.path.join(symfs, "opt", "recordings", "workloads", "bins"))
        shutil.copytree(os.path.join(GEN, "maps"), os.path.join(symfs, "tmp"))
        for name in sorted(os.listdir(GEN)):
            path = os.path.join(GEN, name)
            if not name.endswith(".data") or name in oracle.UNREADABLE:
                continue
            text = subprocess.run([perf, "script", "--no-inline", "--header", "--symfs", symfs, "-i", path],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                  env=dict(os.environ, PERF_CONFIG="/dev/null", LC_ALL="C")).stdout
            compare_recording(name, path, symfs, text)


def compare_recording(name, path, symfs, text):
    ours, errors = collapsed_of(symfs, path)
    theirs, script_errors = collapsed_of(symfs, "-", data=text)
    if name in oracle.DWARF:
        if not theirs: # perf could not unwind, and prints no frame at all
            check("needs stacks" in script_errors, "%s: %s" % (name, script_errors))
            return
        check(sum(ours.values()) == sum(theirs.values()), "%s: %d, as text %d %s" %
              (name, sum(ours.values()), sum(theirs.values()), script_errors))
        return
    printed = collections.Counter()
    for stack, weight in theirs.items():
        printed[(((stack[0], True),) + tuple(known(f) for f in stack[1:]))] += weight
    missing, extra = oracle.compare(ours, printed, oracle.RETURN_RULE.get(name, ()))
    for without, with_leaf in oracle.NO_FRAMES.get(name, ()):
        missing = [row for row in missing if row[0] != ";".join(without)]
        extra = [row for row in extra if row[0] != ";".join(with_leaf)]
    check(not missing and not extra and sum(ours.values()) > 0,
          "%s: only text %s, only recording %s %s %s" % (name, missing[:3], extra[:3], errors, script_errors))


# ---- branches of recordings ----

FIELDS = (["-F", "ip,brstack"], ["-F", "comm,pid,tid,time,event,ip,sym,dso,brstack"], ["-F", "+brstack"])


def branches():
    """The maps that AutoFDO's tools would make, from a recording and from its text with the mmap events."""
    perf = shutil.which("perf")
    folder = os.path.join(CORPUS, "lbr")
    for name in sorted(os.listdir(folder)) if perf else []:
        if not name.endswith(".data"):
            continue
        path = os.path.join(folder, name)
        expected, errors = convert("-t", "autofdo-text", path)
        check(expected, "%s: %s" % (name, errors))
        for fields in FIELDS:
            text = subprocess.run([perf, "script", "--show-mmap-events"] + fields + ["-i", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL).stdout
            ours, errors = convert("-t", "autofdo-text", "-", data=text)
            check(ours == expected, "%s %s: other maps than the recording's %s" % (name, fields, errors))


# ---- llvm-profgen ----

BASE = ["-s", "perf-script.base=0x400000", "-s", "profgen-raw.base=0x400000"]
# Input: (settings, what is here and not there). Entries of the PLT are outside for llvm-profgen, which disassembles the
# binary: it has no range in them and no branch into them.
PROFGEN = {
    "callback-external-addr": (BASE, {"710->590", "7ab->590"}),
    "coroutine": (BASE + ["-s", "profgen-raw.text-offset=0x1000"], set()),
    "inline-cs-noprobe": ([], set()),
    "inline-noprobe": (BASE, set()),
    "inline-noprobe2": (BASE, {"870->540"}),
    "multi-load-segs": ([], set()),
    "noinline-cs-pseudoprobe": ([], set()),
    "recursion-compression-noprobe": ([], set()),
}
PLT = {"callback-external-addr": {"590-590"}, "inline-noprobe2": {"540-540"}}
# No raw profile to compare with: they have to be read, and their branch entries counted: (samples, entries).
WITHOUT_RAW = {
    "cmov_3.perfscript": (39, 39 * 32),
    "coff-profile.perfscript": (12, 12 * 32),
    "cs-interrupt.perfscript": (2, 30),
    "ip-duplication.perfscript": (1, 10),
    "noprobe-skid.perfscript": (4, 4 * 32),
    "noinline-cs-noprobe.perfscript": (2, 32),
    "invalid-range.perfscript": (2, 23),
    "recursion-compression-pseudoprobe-nommap.perfscript": (1, 16),
}


def parse_raw(text):
    """Ranges and branches with their counts, contexts added up."""
    ranges, branches = collections.Counter(), collections.Counter()
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    at = 0
    while at < len(lines):
        if lines[at].startswith("["):
            at += 1
        for rows in (ranges, branches):
            count = int(lines[at])
            for line in lines[at + 1:at + 1 + count]:
                key, times = line.split(":")
                rows[key] += int(times)
            at += 1 + count
    return ranges, branches


def coverage(ranges, address):
    return sum(n for key, n in ranges.items() if int(key.split("-")[0], 16) <= address <= int(key.split("-")[1], 16))


def profgen():
    for case, (settings, extra) in PROFGEN.items():
        ours, errors = convert("-t", "profgen-raw", *settings, os.path.join(PROFGEN_DIR, case + ".perfscript"))
        with open(os.path.join(EXPECTED_DIR, case + ".raw.prof")) as f:
            ranges, branches = parse_raw(f.read())
        our_ranges, our_branches = parse_raw(ours.decode())
        for key in extra:
            check(our_branches.pop(key, 0) > 0, "%s: no %s" % (case, key))
        for key in PLT.get(case, ()):
            check(our_ranges.pop(key, 0) > 0, "%s: no %s" % (case, key))
        check(our_branches == branches, "%s: branches %s, expected %s %s" % (case, our_branches, branches, errors))
        # With contexts, llvm-profgen cuts ranges where the inlined function changes: what counts is how often each piece ran.
        edges = {int(n, 16) for key in ranges for n in key.split("-")}
        check({n: coverage(our_ranges, n) for n in edges} == {n: coverage(ranges, n) for n in edges},
              "%s: ranges %s, expected %s" % (case, our_ranges, ranges))
        if not any(" @ " in line for line in open(os.path.join(EXPECTED_DIR, case + ".raw.prof"))) and case != "inline-cs-noprobe":
            check(set(ranges) <= set(our_ranges), "%s: ranges %s missing" % (case, set(ranges) - set(our_ranges)))


def dropped_sample():
    """Of two samples llvm-profgen drops the one whose leaf stands in a prologue; here both count."""
    path = os.path.join(PROFGEN_DIR, "noinline-cs-noprobe.perfscript")
    ours, errors = convert("-t", "profgen-raw", path)
    with open(os.path.join(EXPECTED_DIR, "noinline-cs-noprobe.raw.prof")) as f:
        ranges, branches = parse_raw(f.read())
    with open(path) as f:
        entries = [[[int(n, 16) - 0x400000 for n in word.split("/")[:2]] for word in line.split()]
                   for line in f if line.startswith(" 0x")][1]
    branches.update("%x->%x" % (source, target) for source, target in entries)
    ranges.update("%x-%x" % (older[1], newer[0]) for newer, older in zip(entries, entries[1:]))
    check(parse_raw(ours.decode()) == (ranges, branches), "noinline-cs-noprobe: %s, expected %s %s %s" %
          (ours.decode(), ranges, branches, errors))


def aggregated():
    """A count before a sample is how often it came: as many samples one after the other."""
    for case in ("noinline-cs-noprobe", "noinline-cs-pseudoprobe"):
        path = os.path.join(PROFGEN_DIR, case + ".aggperfscript")
        with open(path) as f:
            text = f.read()
        spelled, sample, times = [], [], 1
        for line in text.split("\n"):
            if line.isdigit():
                spelled += sample * times
                sample, times = [], int(line)
            elif line.strip():
                sample.append(line + "\n")
        spelled += sample * times
        settings = ["-t", "profgen-raw", "-s", "perf-script.base=0x200000"]
        once, errors = convert(*settings, path)
        again, _ = convert(*settings, "-f", "perf-script", "-", data="".join(spelled).encode())
        check(once and once == again, "%s: aggregated and spelled out differ %s" % (case, errors))


def without_raw():
    for name, (samples, entries) in WITHOUT_RAW.items():
        done = subprocess.run([PROFCONV, "info", os.path.join(PROFGEN_DIR, name)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        text = done.stdout.decode().replace(",", "")
        for what, count in (("samples read", samples), ("last-branch entries read", entries)):
            check(any(line.split()[-len(what.split()) - 1:] == [str(count)] + what.split() for line in text.split("\n")),
                  "%s: %d %s: %s" % (name, count, what, text))


def main():
    if not PROFCONV:
        oracle.skip("no command (PROFCONV)")
    if not os.path.isdir(SCRIPT):
        oracle.skip("no corpus at %s" % CORPUS)
    issues()
    inferno()
    totals()
    recordings()
    branches()
    profgen()
    dropped_sample()
    aggregated()
    without_raw()
    print("%d checks, %d failed" % (checks, failures))
    return 1 if failures or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
