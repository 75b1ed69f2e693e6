#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark: times profconv against its peers on the same files in the same run, and prints a table.

    python3 tests/bench/bench.py [--runs N] [--work DIR] [--profconv PATH] [ROW...]

Each row times a command of ours and, in turn with it, its peer's, N times each after one warm-up, and reports medians of
wall time, CPU time (user + system) and peak resident memory, with the median of the paired ratios peer / ours.
Workloads are recorded here by perf (software clock, no hardware needed) and kept in DIR for later runs. A row whose peer or
workload cannot be had is skipped with its reason. Figures of one machine hold for that machine: quote the ratios.
"""
import argparse
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
CORPUS = os.environ.get("PROFCONV_CORPUS", os.path.join(SOURCE, "..", "shared", "corpus"))
TIME = shutil.which("time")  # peaks below some 20 MB are Python's without it


class Skip(Exception):
    pass


def run_once(argv, stdout=None):
    """One run: (wall, cpu, peak MB). A command that fails ends the row.

    A process that Python starts has Python's own memory as its least peak; one that time (GNU's) starts has not."""
    out = open(stdout, "wb") if stdout else subprocess.DEVNULL
    wrapper = ["time", "-q", "-f", "%M"] if TIME else []
    start = time.monotonic()
    child = subprocess.Popen(wrapper + argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
    errors = child.stderr.read().decode(errors="replace").strip()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if stdout:
        out.close()
    if child.returncode != 0:
        raise Skip("%s ended with %d: %s" % (argv[0], child.returncode, errors[-300:]))
    peak = int(errors.split()[-1]) if TIME else usage.ru_maxrss
    return wall, usage.ru_utime + usage.ru_stime, peak / 1024


def medians(runs):
    return tuple(statistics.median(column) for column in zip(*runs))


def compare(args, ours, peer=None, runs=None):
    """Medians of ours, of the peer, and the median paired ratios (wall, cpu) peer / ours."""
    runs = runs or args.runs
    run_once(ours)
    if peer:
        run_once(peer)
    mine, theirs = [], []
    for _ in range(runs):
        mine.append(run_once(ours))
        if peer:
            theirs.append(run_once(peer))
    result = {"ours": medians(mine)}
    if peer:
        result["peer"] = medians(theirs)
        result["ratio"] = statistics.median(p[0] / m[0] for m, p in zip(mine, theirs))
        result["cpu_ratio"] = statistics.median(p[1] / m[1] for m, p in zip(mine, theirs))
    return result


def tool(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Skip("%s is not installed" % " / ".join(names))


def call(argv, **more):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        raise Skip("%s ended with %d: %s" % (argv[0], done.returncode, done.stdout.decode(errors="replace")[-300:]))


def workload(args):
    """The program that the recordings run, with frame pointers and line tables."""
    program = os.path.join(args.work, "workload")
    if not os.path.exists(program):
        call([tool("cc", "gcc"), "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", program,
              os.path.join(HERE, "workload.c")])
    return program


def recording(args, megabytes, variety=0):
    """A frame-pointer recording of at least this size; with variety nearly every stack in it is met once."""
    path = os.path.join(args.work, "fp%s-%d.data" % ("-varied" if variety else "", megabytes))
    seconds = megabytes / 6.0 + 1
    while not os.path.exists(path):
        part = path + ".part"
        call([tool("perf"), "record", "-q", "-e", "cpu-clock", "-F", "25000", "-g", "-o", part, workload(args), "%.1f" % seconds,
              str(variety)])
        size = os.path.getsize(part)
        if size >= megabytes * 1000000:
            os.rename(part, path)
        else:
            seconds *= megabytes * 1.15e6 / max(size, 1)
    return path


def size_mb(path):
    return sum(os.path.getsize(p) for p in path) / 1e6 if isinstance(path, list) else os.path.getsize(path) / 1e6


ROWS = []


def row(function):
    ROWS.append(function)
    return function


def fp_megabytes(args):
    return 10 if args.quick else 100


@row
def perf_to_pprof_raw(args):
    """perf.data → pprof, no symbols"""
    data = recording(args, fp_megabytes(args))
    out = os.path.join(args.work, "raw.pb.gz")
    result = compare(args, [args.profconv, "convert", "-q", *args.jobs, "-s", "convert.symbolize=no", "-o", out, data])
    return data, result, "peer measured elsewhere: perf_to_profile 14 MB/s, 8 x the file in memory"


@row
def perf_to_collapsed(args):
    """perf.data → collapsed, with symbols"""
    data = recording(args, fp_megabytes(args))
    out = os.path.join(args.work, "out.folded")
    result = compare(args, [args.profconv, "convert", "-q", *args.jobs, "-o", out, data], [tool("perf"), "script", "-i", data])
    return data, result, "perf script > /dev/null"


@row
def perf_to_pprof_varied(args):
    """the same, nearly every stack distinct"""
    data = recording(args, fp_megabytes(args), 1)
    out = os.path.join(args.work, "varied.pb.gz")
    result = compare(args, [args.profconv, "convert", "-q", *args.jobs, "-s", "convert.symbolize=no", "-o", out, data])
    return data, result, "the worst case for aggregation"


@row
def perf_to_collapsed_varied(args):
    """perf.data → collapsed, with symbols, nearly every stack distinct"""
    data = recording(args, fp_megabytes(args), 1)
    out = os.path.join(args.work, "varied.folded")
    result = compare(args, [args.profconv, "convert", "-q", *args.jobs, "-o", out, data], [tool("perf"), "script", "-i", data])
    return data, result, "perf script > /dev/null"


@row
def script_to_collapsed(args):
    """text of perf script → collapsed"""
    data = recording(args, fp_megabytes(args))
    text = os.path.join(args.work, "fp-%d.perf-script" % fp_megabytes(args))
    if not os.path.exists(text):
        with open(text + ".part", "wb") as out:
            subprocess.run([tool("perf"), "script", "-i", data], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, check=True)
        os.rename(text + ".part", text)
    out = os.path.join(args.work, "script.folded")
    result = compare(args, [args.profconv, "convert", "-q", "-s", "convert.symbolize=no", "-o", out, text])
    return text, result, "peers measured elsewhere: inferno-collapse-perf 225 MB/s, stackcollapse-perf.pl 26 MB/s"


@row
def pprof_to_pprof(args):
    """pprof → pprof"""
    data = os.path.join(CORPUS, "pprof", "gen", "synth.300k.pb.gz")
    if not os.path.exists(data):
        data = os.path.join(args.work, "raw.pb.gz")
        if not os.path.exists(data):
            raise Skip("no large pprof: neither the corpus nor the first row's output is there")
    ours, theirs = os.path.join(args.work, "ours.pb.gz"), os.path.join(args.work, "theirs.pb.gz")
    result = compare(args, [args.profconv, "convert", "-q", *args.jobs, "-o", ours, data],
                     [tool("go"), "tool", "pprof", "-symbolize=none", "-proto", "-output", theirs, data])
    return data, result, "go tool pprof -proto"


@row
def pprof_read(args):
    """pprof read, and what it holds printed"""
    data = os.path.join(CORPUS, "pprof", "gen", "synth.300k.pb.gz")
    if not os.path.exists(data):
        raise Skip("the corpus is not there")
    theirs = os.path.join(args.work, "theirs.pb.gz")
    result = compare(args, [args.profconv, "info", *args.jobs, data],
                     [tool("go"), "tool", "pprof", "-symbolize=none", "-proto", "-output", theirs, data])
    return data, result, "go tool pprof -proto"


@row
def inflate(args):
    """for comparison: the same file inflated by zlib's program alone"""
    data = os.path.join(CORPUS, "pprof", "gen", "synth.300k.pb.gz")
    if not os.path.exists(data):
        raise Skip("the corpus is not there")
    return data, compare(args, [tool("gzip"), "-dc", data]), "gzip -dc > /dev/null"


def large_program(args):
    """A C++ program with over 100 MB of debug information; addresses in its code, as lines and as a pprof."""
    units = 6 if args.quick else 60
    program = os.path.join(args.work, "cxx-%d" % units)
    if not os.path.exists(program):
        folder = program + ".src"
        call([sys.executable, os.path.join(HERE, "cxx_program.py"), str(units), folder])
        files = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".cc"))
        for file in files:
            call([tool("g++"), "-std=c++17", "-O2", "-g", "-c", "-o", file[:-3] + ".o", file])
        call([tool("g++"), "-Wl,--build-id=sha1", "-o", program, *[file[:-3] + ".o" for file in files]])
        shutil.rmtree(folder)
    vaddr, offset, size, build_id = exec_segment(program)
    sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
    import mkpprof
    choose, strings = random.Random(1), mkpprof.Strings()
    start, length = int(vaddr, 16), int(size, 16)
    addresses = sorted(choose.sample(range(start, start + length), 10000))
    out = mkpprof.value_type(strings, "samples", "count")
    out += mkpprof.mapping(strings, 1, start, start + length, int(offset, 16), program, build_id)
    out += b"".join(mkpprof.location(i, 1, a) + mkpprof.sample([i], [1]) for i, a in enumerate(addresses, 1))
    with open(program + ".pb", "wb") as file:
        file.write(out + strings.fields())
    with open(program + ".addresses", "w") as file:
        file.writelines("0x%x\n" % a for a in addresses)
    return program


@row
def symbolize_large(args):
    """10,000 addresses of a program with 105 MB of DWARF, named for the first time"""
    program = large_program(args)
    ours = [args.profconv, "convert", "-q", "-t", "collapsed", "--srcline", "-o", os.path.join(args.work, "named.folded"), program + ".pb"]
    theirs = ["sh", "-c", "exec %s --obj=%s --inlines < %s" % (tool("llvm-symbolizer-19", "llvm-symbolizer"), program, program + ".addresses")]
    return program, compare(args, ours, theirs), "llvm-symbolizer --inlines > /dev/null"


def apart(function, *arguments):
    """Calls a function that takes much memory in a process of its own: what a child has as its peak begins with its parent's size."""
    child = os.fork()
    if child == 0:
        try:
            function(*arguments)
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        raise Skip("%s failed" % function.__name__)


def repeat_samples(source, target, megabytes):
    """A perf.data (file mode, little-endian) with the samples of another, over and over, up to this size."""
    with open(source, "rb") as file:
        raw = file.read()
    head = list(struct.unpack_from("<13Q", raw))
    data_at, data_size = head[5], head[6]
    samples, others, at = [], [], data_at
    while at < data_at + data_size:
        kind, _, size = struct.unpack_from("<IHH", raw, at)
        (samples if kind == 9 else others).append(raw[at:at + size])
        at += size
    block = b"".join(samples)
    times = max(1, -(-(megabytes * 1000000 - len(raw)) // len(block)) + 1)
    first = b"".join(others)
    head[6] = len(first) + len(block) * times
    shift = head[6] - data_size
    table_at = data_at + data_size
    bits = sum(bin(word).count("1") for word in head[9:13])
    table = b""
    for i in range(bits):
        offset, size = struct.unpack_from("<2Q", raw, table_at + 16 * i)
        table += struct.pack("<2Q", offset + shift, size)
    with open(target + ".part", "wb") as out:
        out.write(struct.pack("<13Q", *head) + raw[104:data_at] + first)
        for _ in range(times):
            out.write(block)
        out.write(table + raw[table_at + 16 * bits:])
    os.rename(target + ".part", target)


def repeat_in_time(source, target, megabytes):
    """A perf.data with the samples of another, over and over, each time later, and rounds as perf record writes them."""
    with open(source, "rb") as file:
        raw = file.read()
    head = list(struct.unpack_from("<13Q", raw))
    data_at, data_size = head[5], head[6]
    sample_type = struct.unpack_from("<Q", raw, head[3] + 24)[0]
    time_at = 8 + 8 * ((sample_type >> 16 & 1) + (sample_type & 1) + (sample_type >> 1 & 1))
    samples, others, at = [], [], data_at
    while at < data_at + data_size:
        kind, _, size = struct.unpack_from("<IHH", raw, at)
        if kind == 9:
            samples.append((struct.unpack_from("<Q", raw, at + time_at)[0], raw[at:at + size]))
        elif kind != 68:
            others.append(raw[at:at + size])
        at += size
    samples.sort(key=lambda sample: sample[0])
    first, span = samples[0][0], samples[-1][0] - samples[0][0] + 1000
    fixed = b"".join(others)
    rounds = (len(samples) + 63) // 64
    turn_size = sum(len(sample) for _, sample in samples) + 8 * rounds
    turns = max(1, -(-(megabytes * 1000000 - len(fixed)) // turn_size))
    head[6] = len(fixed) + turns * turn_size
    table_at, bits = data_at + data_size, sum(bin(word).count("1") for word in head[9:13])
    table = b""
    for i in range(bits):
        offset, size = struct.unpack_from("<2Q", raw, table_at + 16 * i)
        table += struct.pack("<2Q", offset + head[6] - data_size, size)
    with open(target + ".part", "wb") as out:
        out.write(struct.pack("<13Q", *head) + raw[104:data_at] + fixed)
        for turn in range(turns):
            for i, (when, sample) in enumerate(samples):
                if i % 64 == 0:
                    out.write(struct.pack("<IHH", 68, 0, 8))
                out.write(sample[:time_at] + struct.pack("<Q", when + turn * span) + sample[time_at + 8:])
        out.write(table + raw[table_at + 16 * bits:])
    os.rename(target + ".part", target)


def sized(args, megabytes):
    """One size of a sweep: the same samples over and over, each time later, so that what is distinct does not grow."""
    data = os.path.join(args.work, "sized-%d.data" % megabytes)
    if not os.path.exists(data):
        repeat_in_time(recording(args, 10), data, megabytes)
    out = os.path.join(args.work, "sized.pb.gz")
    result = compare(args, [args.profconv, "convert", "-q", *args.jobs, "-s", "convert.symbolize=no", "-o", out, data])
    return data, result, "cost by size: MB/s and peak should stay"


@row
def size_10(args):
    """perf.data → pprof, no symbols, 10 MB"""
    return sized(args, 11)


@row
def size_100(args):
    """the same, 100 MB"""
    return sized(args, 100)


@row
def size_1000(args):
    """the same, 1 GB"""
    if args.quick:
        raise Skip("1 GB is no smoke test")
    return sized(args, 1000)


def dwarf_recording(args):
    """Stacks of a program without frame pointers, dumped by 8 KiB."""
    megabytes = 50 if args.quick else 600
    path = os.path.join(args.work, "dwarf-%d.data" % megabytes)
    if not os.path.exists(path):
        program = os.path.join(args.work, "workload-nofp")
        call([tool("cc", "gcc"), "-O2", "-g", "-fomit-frame-pointer", "-pthread", "-o", program, os.path.join(HERE, "workload.c")])
        call([tool("perf"), "record", "-q", "-e", "cpu-clock", "-F", "25000", "--call-graph", "dwarf,8192", "-o", path + ".short",
              program, "0.5" if args.quick else "2"])
        apart(repeat_in_time, path + ".short", path, megabytes)
    return path


@row
def dwarf_to_collapsed(args):
    """perf.data with DWARF stacks → collapsed, unwound, inlined calls shown by both"""
    data = dwarf_recording(args)
    result = compare(args, [args.profconv, "convert", "-q", "-t", "collapsed", "-o", os.path.join(args.work, "dwarf.folded"), data],
                     [tool("perf"), "script", "-i", data])
    return data, result, "perf script > /dev/null"


@row
def dwarf_to_collapsed_peer_without_inlines(args):
    """the same, inlined calls shown only here"""
    data = dwarf_recording(args)
    result = compare(args, [args.profconv, "convert", "-q", "-t", "collapsed", "-o", os.path.join(args.work, "dwarf.folded"), data],
                     [tool("perf"), "script", "--no-inline", "-i", data])
    return data, result, "perf script --no-inline > /dev/null"


def lbr_megabytes(args):
    return 20 if args.quick else 200


def big_binary(args):
    """A large program with debug information, and its branches as lbr_synth reads them."""
    program = os.path.join(args.work, "big")
    branches = program + ".branches"
    count = 200 if args.quick else 3000
    if not os.path.exists(branches):
        with open(program + ".c", "wb") as out:
            subprocess.run([sys.executable, os.path.join(HERE, "big_program.py"), str(count)], stdout=out, check=True)
        call([tool("cc", "gcc"), "-g", "-O1", "-Wl,--build-id=sha1", "-o", program, program + ".c"])
        listing = subprocess.run([tool("objdump"), "-d", "-w", "--section=.text", program], stdout=subprocess.PIPE, check=True)
        with open(branches + ".part", "w") as out:
            for line in listing.stdout.decode(errors="replace").split("\n"):
                part = line.split("\t")
                if len(part) < 3 or not part[0].strip().endswith(":"):
                    continue
                words = part[2].split()
                if not words or words[0] == "repz" and words[1:2] != ["ret"]:
                    continue
                op = "ret" if "ret" in words else words[0] if words[0] != "bnd" else words[1]
                if not (op.startswith("j") or op.startswith("call") or op == "ret"):
                    continue
                fixed = len(words) > 1 and all(c in "0123456789abcdef" for c in words[1])
                kind = "r" if not fixed else "c" if op.startswith("call") else "j" if op == "jmp" else "b"
                out.write("%s %x %s %s\n" % (part[0].strip()[:-1], len(part[1].split()), kind, words[1] if fixed else "0"))
        os.rename(branches + ".part", branches)
    return program, branches


def exec_segment(program):
    """(vaddr, offset, size, build-id) of the executable segment, in hexadecimal."""
    text = subprocess.run([tool("readelf"), "-lnW", program], stdout=subprocess.PIPE, check=True).stdout.decode()
    segment = next(line.split() for line in text.split("\n") if line.split()[:1] == ["LOAD"] and "E" in line.split()[6:8])
    build_id = next(line.split()[-1] for line in text.split("\n") if "Build ID:" in line)
    return segment[2], segment[1], segment[4], build_id


def few_edges(args):
    """A recording of last-branch records of a small program, and the program."""
    source = os.path.join(CORPUS, "autofdo", "test.lbr")
    binary = os.path.join(CORPUS, "autofdo", "test.binary")
    if not os.path.exists(source):
        raise Skip("the corpus is not there")
    data = os.path.join(args.work, "lbr-few-%d.data" % lbr_megabytes(args))
    if not os.path.exists(data):
        apart(repeat_samples, source, data, lbr_megabytes(args))
    return data, binary


@row
def lbr_few_edges(args):
    """last-branch records, few edges → LLVM text"""
    return lbr_row(args, *few_edges(args), llvm_profgen, "llvm-profgen")


@row
def lbr_few_edges_create_llvm_prof(args):
    """the same against create_llvm_prof"""
    return lbr_row(args, *few_edges(args), create_llvm_prof, "create_llvm_prof")


@row
def lbr_many_edges(args):
    """last-branch records, many edges, large binary → LLVM text"""
    program, branches = big_binary(args)
    data = os.path.join(args.work, "lbr-many-%d.data" % lbr_megabytes(args))
    if not os.path.exists(data):
        synth = os.path.join(args.work, "lbr_synth")
        call([tool("cc", "gcc"), "-O2", "-o", synth, os.path.join(HERE, "lbr_synth.c")])
        vaddr, offset, size, build_id = exec_segment(program)
        with open(data + ".part", "wb") as out:
            subprocess.run([synth, branches, program, build_id, vaddr, offset, size, str(lbr_megabytes(args) * 2350)], stdout=out, check=True)
        os.rename(data + ".part", data)
    return lbr_row(args, data, program, llvm_profgen, "llvm-profgen")


def llvm_profgen(data, binary, out):
    return [tool("llvm-profgen-19", "llvm-profgen"), "--format=text", "--binary=" + binary, "--perfdata=" + data, "--output=" + out]


def create_llvm_prof(data, binary, out):
    """Some of its versions write wrong names of inlined functions; the time is that of the work all the same."""
    return [tool("create_llvm_prof"), "--binary=" + binary, "--profile=" + data, "--out=" + out, "--format=text"]


def lbr_row(args, data, binary, peer, name):
    ours, theirs = os.path.join(args.work, "ours.prof"), os.path.join(args.work, "theirs.prof")
    result = compare(args, [args.profconv, "convert", "-q", "-t", "llvm-text", "--binary", binary, "-o", ours, data],
                     peer(data, binary, theirs))
    return data, result, name


def parts_of_a_profile(args):
    """1,000 pprofs of some 60 KB: a large profile cut up, so that they share functions and no sample; when there are fewer parts,
    some are taken again."""
    count = 100 if args.quick else 1000
    folder = os.path.join(args.work, "parts-%d" % PART_SAMPLES)
    if not os.path.isdir(folder):
        whole = os.path.join(args.work, "varied-labels.pb.gz")
        call([args.profconv, "convert", "-q", "-s", "convert.symbolize=no", "--labels", "tid", "-o", whole,
              recording(args, fp_megabytes(args), 1)])
        shutil.rmtree(folder + ".part", ignore_errors=True)
        os.mkdir(folder + ".part")
        call([args.profconv, "split", "-q", "--max-samples", str(PART_SAMPLES), "-o", os.path.join(folder + ".part", "p"), whole])
        os.rename(folder + ".part", folder)
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    return (files * (count // len(files) + 1))[:count]


PART_SAMPLES = 2500


@row
def merge_pprofs(args):
    """1,000 pprofs → their sum"""
    files = parts_of_a_profile(args)
    ours, theirs = os.path.join(args.work, "merged.pb.gz"), os.path.join(args.work, "merged-go.pb.gz")
    result = compare(args, [args.profconv, "merge", "-q", *args.jobs, "-s", "convert.symbolize=no", "-o", ours, *files],
                     [tool("go"), "tool", "pprof", "-symbolize=none", "-proto", "-output", theirs, *files], runs=min(args.runs, 3))
    return files, result, "go tool pprof -proto"


def sample_profiles(args):
    """100 LLVM profiles of some 3.6 MB: each holds two thirds of 20,000 functions."""
    count = 10 if args.quick else 100
    folder = os.path.join(args.work, "extbinary-%d" % count)
    if not os.path.isdir(folder):
        os.makedirs(folder + ".part", exist_ok=True)
        text = os.path.join(args.work, "one.prof")
        for k in range(count):
            choose = random.Random(k)
            with open(text, "w") as out:
                for f in range(20000):
                    if choose.random() > 0.667:
                        continue
                    lines = ["%d: %d" % (line, choose.randrange(1, 100000)) for line in range(1, 3 + f % 60)]
                    lines[-1] += " _ZN3app6worker%dEv:%d" % (f * 7 % 20000, choose.randrange(1, 1000))
                    inlined = "\n %d: _ZN3app5small%dEv:%d\n  1: %d\n  2.1: %d" % (3 + f % 60, f % 500, 30, 10, 20)
                    out.write("_ZN3app6worker%dEv:%d:%d\n %s%s\n" % (f, choose.randrange(10**6, 10**7), choose.randrange(1000),
                                                                   "\n ".join(lines), inlined if f % 3 == 0 else ""))
            call([args.profconv, "convert", "-q", "-t", "llvm-extbinary", "-o", os.path.join(folder + ".part", "p%03d.prof" % k), text])
        os.rename(folder + ".part", folder)
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


@row
def merge_extbinary(args):
    """100 LLVM extbinary profiles → their sum"""
    files = sample_profiles(args)
    ours, theirs = os.path.join(args.work, "merged.prof"), os.path.join(args.work, "merged-llvm.prof")
    result = compare(args, [args.profconv, "merge", "-q", *args.jobs, "-t", "llvm-extbinary", "-o", ours, *files],
                     [tool("llvm-profdata-19", "llvm-profdata"), "merge", "--sample", "--extbinary", "-o", theirs, *files],
                     runs=min(args.runs, 3))
    return files, result, "llvm-profdata merge --sample"


def report(name, data, result, note):
    wall, cpu, peak = result["ours"]
    cells = [name, "%.1f" % size_mb(data), "%.2f" % wall, "%.2f" % cpu, "%.0f" % (size_mb(data) / wall), "%.0f" % peak]
    if "peer" in result:
        cells += ["%.2f" % result["peer"][0], "%.2f" % result["peer"][1], "%.0f" % result["peer"][2],
                  "%.1f" % result["ratio"], "%.1f" % result["cpu_ratio"]]
    else:
        cells += ["", "", "", "", ""]
    print("| " + " | ".join(cells + [note]) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, help="threads of ours, for merging, pprof and perf.data of stacks; default: one")
    parser.add_argument("--quick", action="store_true", help="small workloads: a smoke test, not a measurement")
    parser.add_argument("--work", default=os.path.join(tempfile.gettempdir(), "profconv-bench"))
    parser.add_argument("--profconv", default=os.environ.get("PROFCONV", os.path.join(SOURCE, "build", "bindings", "cli", "profconv")))
    parser.add_argument("rows", nargs="*", metavar="ROW", help="one of: " + ", ".join(r.__name__ for r in ROWS))
    args = parser.parse_args()
    args.jobs = [] if args.jobs is None else ["--jobs=%d" % args.jobs]
    known = {r.__name__: r for r in ROWS}
    for name in args.rows:
        if name not in known:
            parser.error("no row %r; there are: %s" % (name, ", ".join(known)))
    os.makedirs(args.work, exist_ok=True)
    if not os.access(args.profconv, os.X_OK):
        parser.error("no command at %s: build first, or give --profconv" % args.profconv)
    print("| conversion | input MB | wall s | CPU s | MB/s | peak MB | peer wall s | peer CPU s | peer peak MB |"
          " ratio | CPU ratio | peer |\n|" + "---|" * 12, flush=True)
    failed = 0
    for function in ROWS:
        if args.rows and function.__name__ not in args.rows:
            continue
        try:
            data, result, note = function(args)
            report(function.__doc__, data, result, note)
        except Skip as reason:
            failed += 1
            print("%s: skipped: %s" % (function.__name__, reason), file=sys.stderr, flush=True)
    return 1 if failed == len(args.rows or ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
