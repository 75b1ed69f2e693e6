#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The profconv command from the outside: formats by name and suffix, options, streams, losses, exit statuses."""

import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROFCONV = os.environ.get("PROFCONV")
SOURCE = os.environ.get("PROFCONV_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
QUICKSTART = os.path.join(SOURCE, "tests", "data", "quickstart")
RECORDING = os.path.join(QUICKSTART, "wordcount.data")
PROGRAM = os.path.join(QUICKSTART, "wordcount")

FOLDED = b"main;run;step 12\nmain;run 3\nmain 1\n"
SORTED = b"main 1\nmain;run 3\nmain;run;step 12\n"


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err.decode("utf-8", "replace")


def run(*args, stdin=b"", cwd=None, env=None):
    done = subprocess.run([PROFCONV, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                          env=env, timeout=300)
    return Result(done.returncode, done.stdout, done.stderr)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="profconv-cli-")
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name, data=None):
        path = os.path.join(self.dir, name)
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        return path

    def read(self, name):
        with open(os.path.join(self.dir, name), "rb") as file:
            return file.read()

    def ok(self, *args, **kwargs):
        result = run(*args, **kwargs)
        self.assertEqual(result.status, 0, result.err)
        return result

    def usage(self, *args, says, **kwargs):
        result = run(*args, **kwargs)
        self.assertEqual(result.status, 2, result.err)
        self.assertIn(says, result.err)
        self.assertEqual(result.out, b"")
        return result


class Streams(Case):
    def test_stdin_to_stdout(self):
        result = self.ok("convert", "-t", "collapsed", "-", stdin=FOLDED)
        self.assertEqual(result.out, SORTED)
        self.assertEqual(result.err, "")

    def test_stdout_by_name(self):
        self.assertEqual(self.ok("convert", "-t", "folded", "-o", "-", "-i", "-", stdin=FOLDED).out, SORTED)

    def test_suffix_names_the_format(self):
        for suffix in (".folded", ".collapsed", ".collapsedstack.txt"):
            self.ok("convert", "-o", self.path("out" + suffix), "-", stdin=FOLDED)
            self.assertEqual(self.read("out" + suffix), SORTED)
        self.ok("convert", "-o", self.path("out.pb.gz"), "-", stdin=FOLDED)
        self.assertIn(b"samples", gzip.decompress(self.read("out.pb.gz")))

    def test_t_wins_over_suffix(self):
        self.ok("convert", "-t", "collapsed", "-o", self.path("out.pb.gz"), "-", stdin=FOLDED)
        self.assertEqual(self.read("out.pb.gz"), SORTED)

    def test_gzip_input(self):
        self.assertEqual(self.ok("convert", "-t", "collapsed", "-", stdin=gzip.compress(FOLDED)).out, SORTED)

    def test_inputs_merge(self):
        a = self.path("a", FOLDED)
        b = self.path("b", b"main;run 10\nother 2\n")
        result = self.ok("convert", "-t", "collapsed", a, "-", b, stdin=FOLDED)
        self.assertEqual(result.out, b"main 2\nmain;run 16\nmain;run;step 24\nother 2\n")

    def test_operand_after_dashes(self):
        self.path("-x", FOLDED)
        self.assertEqual(self.ok("convert", "-tcollapsed", "--", "-x", cwd=self.dir).out, SORTED)

    def test_terminal_gets_no_binary(self):
        # A terminal as stdout: text goes there, binary formats do not.
        path = self.path("in.folded", FOLDED)
        for to, status in (("pprof", 2), ("collapsed", 0)):
            ours, theirs = pty.openpty()
            done = subprocess.run([PROFCONV, "convert", "-t", to, path], stdout=theirs, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=60)
            os.close(theirs)
            self.assertEqual(done.returncode, status, done.stderr)
            if status:
                self.assertIn(b"terminal", done.stderr)
            os.close(ours)

    def test_closed_pipe(self):
        lines = b"".join(b"main;f%d 1\n" % i for i in range(100000))
        path = self.path("in.folded", lines)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([PROFCONV, "convert", "-t", "collapsed", path], stdout=writer, stderr=subprocess.PIPE,
                              timeout=60)
        os.close(writer)
        self.assertNotEqual(done.returncode, 0)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            for args in (["convert", "-t", "collapsed", "-"], ["info", "-"], ["dump", "-"], ["formats"], ["help"]):
                done = subprocess.run([PROFCONV, *args], input=FOLDED, stdout=full, stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(done.returncode, 1, args)
                self.assertIn(b"No space left", done.stderr)


class Failures(Case):
    def test_usage(self):
        self.assertEqual(run().status, 2)
        self.usage("nonsense", says="nonsense")
        self.usage("convert", says="-t")
        self.usage("convert", "-t", "collapsed", says="no input")
        self.usage("convert", "-t", "nonsense", "-", says="collapsed")
        self.usage("convert", "-t", "llvm-compact", "-", says="written")
        self.usage("convert", "-f", "nonsense", "-t", "collapsed", "-", says="perf-data")
        self.usage("convert", "-o", self.path("x.unknown"), "-", says="suffix")
        self.usage("convert", "--nonsense", "-", says="--nonsense")
        self.usage("convert", "-Z", "-", says="-Z")
        self.usage("convert", "-t", says="FORMAT is missing")
        self.usage("convert", "--quiet=1", "-", says="takes no value")
        self.usage("convert", "-t", "collapsed", "-", "-", says="once")
        self.usage("convert", "-t", "collapsed", "--max-memory", "many", "-", says="500M")
        self.usage("info", "-o", "x", "-", says="not an option")
        self.usage("info", "--samples", "-", says="not an option")
        self.usage("formats", "x", says="operand")
        self.usage("dump", "a", "b", says="one input")
        self.usage("help", "nonsense", says="nonsense")

    def test_options_that_nobody_knows(self):
        self.usage("convert", "-t", "pprof", "--samples", "-o", self.path("x"), "-", says="--samples", stdin=FOLDED)
        self.usage("convert", "-t", "collapsed", "-s", "pprof.level=9", "-", says="no part", stdin=FOLDED)
        self.usage("convert", "-t", "collapsed", "-s", "perf-data.event=x", "-", says="no part", stdin=FOLDED)
        self.usage("convert", "-t", "pprof", "-o", self.path("x"), "-s", "collapsed.tidy=args", "-", says="no such",
                   stdin=FOLDED)
        self.usage("convert", "-t", "collapsed", "-s", "collapsed.nothing=1", "-", says="nothing", stdin=FOLDED)
        self.usage("convert", "-t", "collapsed", "-s", "nonsense", "-", says="format.key=value", stdin=FOLDED)
        self.usage("convert", "-t", "collapsed", "--tidy", "x", "-", says="templates", stdin=FOLDED)
        self.usage("convert", "-t", "collapsed", "-e", "cycles", "-", says="cycles", stdin=FOLDED)
        # A filter on what an input does not tell would leave nothing: it is said.
        for args in (["-"], [RECORDING, "-"]):
            result = run("convert", "-t", "collapsed", "--tid", "1", *args, stdin=FOLDED)
            self.assertEqual(result.status, 1)
            self.assertIn("tid", result.err)

    def test_nothing_is_left_behind(self):
        out = self.path("out.folded", b"old\n")
        result = run("convert", "-o", out, "-", stdin=b"a;b 0\n")
        self.assertEqual(result.status, 1)
        self.assertIn("nothing to write", result.err)
        self.assertEqual(os.listdir(self.dir), ["out.folded"])
        self.assertEqual(self.read("out.folded"), b"old\n")

    def test_bad_inputs(self):
        result = run("convert", "-t", "collapsed", self.path("missing"))
        self.assertEqual(result.status, 1)
        self.assertIn("missing: ", result.err)
        self.assertIn("No such file", result.err)
        for data in (b"", b"\x00\x01\x02\x03", b"just a text\nof no format\n"):
            result = run("convert", "-t", "collapsed", "-", stdin=data)
            self.assertEqual(result.status, 1)
            self.assertEqual(result.out, b"")
            self.assertIn("<stdin>", result.err)
        result = run("convert", "-f", "collapsed", "-t", "collapsed", "-", stdin=b"a 0x1\n")
        self.assertEqual(result.status, 1)
        self.assertIn("line 1", result.err)

    def test_memory_budget(self):
        lines = b"".join(b"main;f%d;g%d 1\n" % (i, i) for i in range(50000))
        result = run("convert", "-t", "collapsed", "--max-memory", "1M", "-", stdin=lines)
        self.assertEqual(result.status, 1)
        self.assertIn("max_memory", result.err)
        self.ok("convert", "-t", "collapsed", "--max-memory=1G", "-", stdin=lines)


class Words(Case):
    NOISY = b"a;;b 5\nno count\nc 1.5\n"

    def test_warnings_and_quiet(self):
        result = self.ok("convert", "-t", "collapsed", "-", stdin=self.NOISY)
        self.assertEqual(result.out, b"a;b 5\nc 2\n")
        self.assertEqual(len(result.err.splitlines()), 3, result.err)
        self.assertIn("line 2", result.err)
        self.assertEqual(self.ok("convert", "-q", "-t", "collapsed", "-", stdin=self.NOISY).err, "")

    def test_losses(self):
        two = b"a 10 7\nb 0 3\n"
        short = self.ok("convert", "-t", "collapsed", "-", stdin=two)
        self.assertEqual(short.out, b"a 7\nb 3\n")
        self.assertEqual(short.err, "profconv: not kept: sample-types (-v for details)\n")
        long = self.ok("convert", "-v", "-t", "collapsed", "-", stdin=two)
        self.assertIn('left out: before', long.err)
        self.assertEqual(self.ok("convert", "--weight=before", "-qt", "collapsed", "-", stdin=two).out, b"a 10\n")

    def test_help(self):
        for args in (["--help"], ["-h"], ["help"]):
            self.assertIn(b"profconv convert", self.ok(*args).out)
        text = self.ok("help", "convert").out.decode()
        self.assertEqual(text, self.ok("convert", "--help").out.decode())
        for option in ("-e, --event", "--pid", "--symfs", "--debug-dir", "--demangle", "--max-stack", "-s, --set", "-q,",
                       "-v,"):
            self.assertIn(option, text)
        self.assertNotIn("--samples", self.ok("info", "-h").out.decode())
        self.assertRegex(self.ok("--version").out.decode(), r"^profconv \d+\.\d+\.\d+\n$")
        self.assertEqual(self.ok("convert", "--version").out, self.ok("--version").out)

    def test_settings_are_listed(self):
        everything = self.ok("convert", "--list-settings").out
        self.assertEqual(everything, self.ok("help", "--list-settings").out)
        for setting in (b"collapsed.tidy=auto|none|args|templates", b"perf-data.event=", b"symbolize.inline="):
            self.assertIn(setting, everything)
        one = self.ok("help", "folded").out
        self.assertIn(b"collapsed.annotate=", one)
        self.assertNotIn(b"perf-data.", one)
        self.assertIn(b"symbolize.binary=", self.ok("help", "symbolize").out)

    @staticmethod
    def manual():
        """The parts of profconv.1 by their headings, without quotes and escapes."""
        with open(os.path.join(SOURCE, "bindings", "cli", "profconv.1"), encoding="utf-8") as file:
            text = re.sub(r'\\f[A-Z]|"', "", file.read().replace("\\-", "-").replace("\\&", ""))
        return {part.split("\n")[0]: part for part in text.split("\n.SH ")[1:]}

    def test_manual_has_every_command(self):
        shown = re.findall(r"^  profconv ([a-z]+) ", self.ok("--help").out.decode(), re.M)
        self.assertIn("completion", shown)
        manual = self.manual()
        self.assertEqual(set(re.findall(r"^\.TP\n\.B ([a-z]+)$", manual["COMMANDS"], re.M)), set(shown))
        self.assertEqual(set(re.findall(r"^\.B profconv ([a-z]+)$", manual["SYNOPSIS"], re.M)), set(shown))

    def test_manual_has_every_option(self):
        manual = self.manual()
        entries = re.split(r"^\.TP\n", manual["OPTIONS"], flags=re.M)
        commands = re.findall(r"^\.B profconv ([a-z]+)$", manual["SYNOPSIS"], re.M)
        shown = set()
        for command in dict.fromkeys(commands):
            text = self.ok("help", command).out.decode()
            for letter, name, said in re.findall(r"^  (?:-(\w), |    )--([a-z-]+)(.*)$", text, re.M):
                shown.add(name)
                with self.subTest(command=command, option=name):
                    exactly = rf"--{name}(?![a-z-])"
                    if letter:
                        exactly = rf"(?<![\w-])-{letter}\s*,\s*{exactly}"
                    entry = "".join(e for e in entries if re.search(exactly, e))
                    self.assertTrue(entry, f"not in OPTIONS: {exactly}")
                    for default in re.findall(r"default: (\d+|[~/][\w./~-]*)", said) + re.findall(r"(\w+) \(the default", said):
                        self.assertIn(default, entry)
                        self.assertIn("default", entry)
        # And none that no command takes.
        for name in set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", "".join(manual.values()))) - shown:
            taken = [c for c in commands if not re.search("no such option|not an option", run(c, f"--{name}").err)]
            self.assertTrue(taken, f"profconv.1 has --{name}")

    def test_formats(self):
        text = self.ok("formats").out.decode()
        rows = {line.split()[0]: line.split() for line in text.splitlines()[1:] if line.strip()}
        self.assertEqual(rows["collapsed"][0], "collapsed")
        header = text.splitlines()[0].split()
        row = next(line for line in text.splitlines() if line.startswith("collapsed"))
        cells = row.split()
        self.assertEqual(cells[1], "folded,groups")
        self.assertEqual(dict(zip(header[2:], cells[2:])),
                         {"r/w": "rw", "symbols": "rw", "addresses": "-", "lines": "-", "stacks": "rW", "labels": "-",
                          "branches": "-", "source-counts": "-"})
        compact = next(line for line in text.splitlines() if line.startswith("llvm-compact")).split()
        self.assertEqual(compact[2], "r")
        self.assertIn("Not read: DTrace", text)

    def test_a_program_that_is_elsewhere(self):
        # The count is in the sentence, and not said again after it; the advice goes when it was taken.
        said = self.ok("convert", "-t", "collapsed", RECORDING).err
        self.assertRegex(said, r"no file found; 75 addresses stay without names\nprofconv: --binary FILE names")
        self.assertEqual(said.count("--binary"), 1)
        for taken in (("--binary", PROGRAM), ("--symfs", "/nonexistent"), ("-q",)):
            self.assertNotIn("--binary", self.ok("convert", "-t", "collapsed", *taken, RECORDING).err)
        # Another program is not taken for it, and that is said.
        said = self.ok("convert", "-t", "collapsed", "--binary", PROFCONV, RECORDING).err
        self.assertRegex(said, r"75 addresses stay without names\nprofconv: no file that --binary names has that build-id")
        for option in ("--binary", "--vmlinux", "--kallsyms"):
            self.usage("convert", "-t", "collapsed", option, self.path("nope"), RECORDING, says="No such file")

    def test_mistyped(self):
        for words, says in (("convrt", "did you mean convert?"), ("tpo", "did you mean top?"), ("zzz", "no such command\n"),
                            ("convert --outptu x", "did you mean --output?"), ("top --focsu=x", "did you mean --focus?"),
                            ("info --outputt x", "no such option; profconv help info lists"),
                            ("convert --x", "no such option; profconv help convert lists")):
            self.usage(*words.split(), says=says)


class Recording(Case):
    """The shipped recording: perf's own numbers are 774 samples of cpu-clock:u with a period of 1001001 ns."""

    def convert(self, *args):
        return self.ok("convert", "-q", "-t", "collapsed", "--binary", PROGRAM, *args, RECORDING).out.decode()

    @staticmethod
    def table(text):
        lines = [line.rsplit(" ", 1) for line in text.splitlines()]
        return {stack: int(count) for stack, count in lines}

    def test_totals(self):
        self.assertEqual(sum(self.table(self.convert("--samples")).values()), 774)
        self.assertEqual(sum(self.table(self.convert()).values()), 774 * 1001001)

    def test_stacks(self):
        # The compiler inlined everything but sift_down into main (objdump, addr2line -i).
        table = self.table(self.convert("--samples", "--annotate=i"))
        inlined = [s for s in table if s.endswith(";main;round_of_[i];count_words_[i];find_word_[i];same_word_[i]")]
        self.assertEqual(len(inlined), 1, table)
        self.assertTrue(inlined[0].startswith("wordcount;"))
        self.assertTrue([s for s in table if s.endswith(";sift_down")])
        plain = self.table(self.convert("--samples", "--no-inline"))
        self.assertFalse([s for s in plain if "word_" in s or "same_word" in s])
        self.assertEqual(sum(n for s, n in table.items() if ";main" in s),
                         sum(n for s, n in plain.items() if s.endswith(";main")))

    def test_first_frame(self):
        roots = {stack.split(";")[0] for stack in self.table(self.convert("--show-tid"))}
        self.assertEqual(len(roots), 1)
        self.assertRegex(roots.pop(), r"^wordcount-(\d+)/\1$")
        roots = {stack.split(";")[0] for stack in self.table(self.convert("-s", "collapsed.pid=yes"))}
        self.assertRegex(roots.pop(), r"^wordcount-\d+$")
        self.assertFalse([s for s in self.table(self.convert("--no-comm")) if s.startswith("wordcount;")])

    def test_labels_in_first_frames_are_not_lost(self):
        base = ["convert", "--no-inline", "-t", "collapsed", RECORDING]
        for args in ([], ["--show-pid"], ["--show-tid"]):
            self.assertIn("not kept: addresses (-v for details)", self.ok(*base, *args).err)
        self.assertIn("not kept: addresses, labels (", self.ok(*base, "--labels", "thread,tid").err)

    def test_source_lines(self):
        self.assertRegex(self.convert("--srcline"), r"find_word:wordcount\.c:\d+")

    def test_addresses(self):
        text = self.ok("convert", "-q", "-t", "collapsed", "--symbolize=no", "--addrs", RECORDING).out.decode()
        self.assertRegex(text, r"\[wordcount <[0-9a-f]+>\]")
        self.assertNotIn("find_word", text)

    def test_filters(self):
        self.assertEqual(self.convert("-e", "cpu-clock"), self.convert())
        self.assertEqual(self.convert("--comm", "wordcount"), self.convert())
        self.assertEqual(run("convert", "-t", "collapsed", "--comm", "other", RECORDING).status, 1)
        shallow = self.table(self.convert("--max-stack", "2", "--no-inline", "--samples"))
        self.assertEqual(max(stack.count(";") for stack in shallow), 2)
        self.assertEqual(sum(shallow.values()), 774)

    def test_filters_by_number(self):
        root = next(iter(self.table(self.convert("--show-tid")))).split(";")[0]
        pid = root.split("-")[-1].split("/")[0]
        for option in ("--pid", "--tid"):
            self.assertEqual(self.convert(option, pid), self.convert())
            self.assertEqual(run("convert", "-t", "collapsed", option, "1", RECORDING).status, 1)
        early = sum(self.table(self.convert("--samples", "--time", "0%-50%")).values())
        late = sum(self.table(self.convert("--samples", "--time", "50%-100%")).values())
        self.assertTrue(0 < early < 774 and 0 < late < 774 and 774 <= early + late <= 775, (early, late))

    def test_labels(self):
        out = self.path("out.pb.gz")
        self.ok("convert", "-q", "--labels", "thread,pid", "--symbolize=no", "-o", out, RECORDING)
        text = gzip.decompress(self.read("out.pb.gz"))
        self.assertIn(b"thread", text)
        self.assertIn(b"pid", text)
        self.ok("convert", "-q", "--symbolize=no", "-o", out, RECORDING)
        self.assertNotIn(b"thread", gzip.decompress(self.read("out.pb.gz")))

    def test_places_of_binaries(self):
        place = os.path.join(self.dir, "root", "opt", "demo")
        os.makedirs(place)
        shutil.copy(PROGRAM, place)
        cache = os.path.join(self.dir, "cache", ".build-id", "ee", "529a7e0daf3a6f0daa0e952ac18923d0c36615")
        os.makedirs(cache)
        shutil.copy(PROGRAM, os.path.join(cache, "elf"))
        base = ["convert", "-q", "-t", "collapsed", RECORDING]
        env = dict(os.environ, HOME=self.path("nowhere"))
        for option, directory in (("--symfs", "root"), ("--buildid-dir", "cache")):
            self.assertNotIn(b"find_word", self.ok(*base, env=env).out)
            self.assertIn(b"find_word", self.ok(*base, option, os.path.join(self.dir, directory), env=env).out)
        # Another program under the same path is not believed.
        shutil.copy(PROFCONV, os.path.join(place, "wordcount"))
        text = self.ok(*base, "--symfs", os.path.join(self.dir, "root"), env=env).out
        self.assertIn(b"[wordcount]", text)
        self.usage("convert", "-t", "collapsed", "--demangle=odd", RECORDING, says="full")

    def test_pprof_and_back(self):
        out = self.path("out.pb.gz")
        self.ok("convert", "-q", "--binary", PROGRAM, "-o", out, RECORDING)
        back = self.ok("convert", "-q", "-t", "collapsed", "--symbolize=no", out).out.decode()
        # pprof holds no thread by default, and everything else of the stacks.
        self.assertEqual(self.table(back), self.table(self.convert("--no-comm")))

    def test_info(self):
        text = self.ok("info", RECORDING).out.decode()
        for line in (r"format +perf-data", r"holds .*\bstacks\b", r"samples +774 +count +cpu-clock:u",
                     r"cpu +774,774,774 +nanoseconds +cpu-clock:u",
                     r"\d+\.\d% +ee529a7e0daf3a6f0daa0e952ac18923d0c36615 +/opt/demo/wordcount", r"command-line +\S*perf record"):
            self.assertRegex(text, line)
        self.assertIn("samples", self.ok("info", "-", stdin=FOLDED).out.decode())

    def test_dump(self):
        first = self.ok("dump", RECORDING).out
        self.ok("dump", "-o", self.path("dump.txt"), RECORDING)
        self.assertEqual(first, self.read("dump.txt"))
        self.assertIn(b"/opt/demo/wordcount", first)

    def test_home_is_looked_at(self):
        # perf's cache: ~/.debug/.build-id/ee/529a.../elf
        build_id = "ee529a7e0daf3a6f0daa0e952ac18923d0c36615"
        place = os.path.join(self.dir, ".debug", ".build-id", build_id[:2], build_id[2:])
        os.makedirs(place)
        shutil.copy(PROGRAM, os.path.join(place, "elf"))
        env = dict(os.environ, HOME=self.dir)
        text = self.ok("convert", "-q", "-t", "collapsed", RECORDING, env=env).out.decode()
        self.assertIn("find_word", text)
        env["HOME"] = self.path("nowhere")
        text = self.ok("convert", "-q", "-t", "collapsed", RECORDING, env=env).out.decode()
        self.assertNotIn("find_word", text)


class Names(Case):
    CODE = b"a;f<int>(char);g.cold;s_[k];j_[j];i_[i] 4\n"

    def test_tidy(self):
        def out(*args):
            return self.ok("convert", "-q", "-t", "collapsed", *args, "-", stdin=self.CODE).out
        self.assertEqual(out(), self.CODE)
        self.assertEqual(out("--tidy=args"), b"a;f<int>;g.cold;s_[k];j_[j];i_[i] 4\n")
        self.assertEqual(out("--tidy", "templates"), b"a;f;g.cold;s_[k];j_[j];i_[i] 4\n")
        self.assertEqual(out("--strip-suffixes"), b"a;f<int>(char);g;s_[k];j_[j];i_[i] 4\n")

    def test_marks(self):
        def out(*args):
            return self.ok("convert", "-q", "-t", "collapsed", "-s", "folded.annotations=parse", *args, "-",
                           stdin=self.CODE).out
        self.assertEqual(out(), b"a;f<int>(char);g.cold;s;j_[j];i 4\n")
        self.assertEqual(out("--kernel"), b"a;f<int>(char);g.cold;s_[k];j_[j];i 4\n")
        self.assertEqual(out("--jit"), b"a;f<int>(char);g.cold;s;j_[j];i 4\n")
        self.assertEqual(out("--all"), b"a;f<int>(char);g.cold;s_[k];j_[j];i 4\n")
        self.assertEqual(out("--kernel", "--annotate", "i"), self.CODE)
        self.assertEqual(out("--no-inline"), b"a;f<int>(char);g.cold;s;j_[j] 4\n")


class Progress(Case):
    def feed(self, *args):
        """What a terminal gets as stderr while stdin takes over a second."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([PROFCONV, "convert", *args, "-f", "collapsed", "-t", "collapsed", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        chunk = b"".join(b"main;f%d 1\n" % i for i in range(100000))
        for _ in range(6):
            process.stdin.write(chunk)
        process.stdin.flush()
        time.sleep(1.3)
        for _ in range(6):
            process.stdin.write(chunk)
        process.stdin.close()
        text = b""
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:
                break
            if not data:
                break
            text += data
        os.close(ours)
        self.assertEqual(process.wait(60), 0)
        return text

    def test_shown_and_silenced(self):
        self.assertRegex(self.feed(), rb"\rread .*\r\x1b\[K")
        self.assertEqual(self.feed("-q"), b"")


class Filters(Case):
    def test_frames(self):
        def out(*args):
            return self.ok("convert", "-t", "collapsed", *args, "-", stdin=FOLDED).out
        self.assertEqual(out("--focus", "step"), b"main;run;step 12\n")
        self.assertEqual(out("--ignore=run"), b"main 1\n")
        self.assertEqual(out("--hide", "^run$"), b"main 4\nmain;step 12\n")
        self.assertEqual(out("--show", "run|main"), b"main 1\nmain;run 15\n")
        self.assertEqual(out("--show-from", "run"), b"run 3\nrun;step 12\n")
        self.assertEqual(out("--skip-after", "run"), b"run 3\nrun;step 12\n")
        self.assertEqual(out("--prune-from", "run"), b"main 1\nmain;run 15\n")
        self.assertEqual(out("--max-stack", "1"), b"main 1\nrun 3\nstep 12\n")
        self.assertEqual(out("--nodes", "1"), b"main 1\nmain;[other] 15\n")
        self.assertEqual(out("-s", "filter.focus=step"), b"main;run;step 12\n")
        result = self.ok("convert", "-v", "-t", "collapsed", "--focus", "step", "-", stdin=FOLDED)
        self.assertIn("weight 4", result.err)  # what was left out is counted
        self.usage("convert", "-t", "collapsed", "--focus", "(", "-", says="regular expression", stdin=FOLDED)
        result = run("convert", "-t", "collapsed", "--focus", "nothing", "-", stdin=FOLDED)
        self.assertEqual((result.status, result.out), (1, b""))
        self.assertIn("nothing is left", result.err)

    def test_labels_of_a_recording(self):
        # The same by the reader, and by the library from a pprof that holds the labels.
        pb = self.path("r.pb.gz")
        self.ok("convert", "-q", "-o", pb, "--labels", "pid,tid,thread,cpu", "--symbolize=no", RECORDING)
        pids = set(re.findall(rb"-(\d+)", self.ok("convert", "-q", "-t", "collapsed", "--symbolize=no", "--show-pid",
                                                  RECORDING).out))
        pid = sorted(pids)[0].decode()
        for option in ("--pid=" + pid, "--comm=wordcount", "--cpu=0-1000"):
            direct = self.ok("convert", "-q", "-t", "collapsed", "--symbolize=no", option, RECORDING).out
            later = self.ok("convert", "-q", "-t", "collapsed", "--symbolize=no", option, pb).out
            self.assertEqual(direct, later, option)
            self.assertNotEqual(direct, b"")
        self.assertIn(b";".join([pid.encode(), b""]),
                      self.ok("convert", "-q", "-t", "collapsed", "--no-comm", "--tagroot", "pid", RECORDING).out)
        self.assertEqual(run("convert", "-q", "-t", "collapsed", "--pid", "999999", pb).status, 1)


class Merges(Case):
    def test_streams_and_weights(self):
        a, b = self.path("a.folded", FOLDED), self.path("b.folded", b"main;run 10\nother 2\n")
        self.assertEqual(self.ok("merge", a, b).out, b"main 1\nmain;run 13\nmain;run;step 12\nother 2\n")
        self.assertEqual(self.ok("merge", "--weighted-input", "3," + b, a).out,
                         b"main 1\nmain;run 33\nmain;run;step 12\nother 6\n")
        self.ok("merge", "-o", self.path("sum.pb.gz"), a, b)
        self.assertEqual(self.ok("convert", "-t", "collapsed", self.path("sum.pb.gz")).out, self.ok("merge", a, b).out)
        self.ok("merge", "-t", "collapsed", "-o", self.path("x"), self.path("sum.pb.gz"), a)  # formats can be mixed
        self.assertIn(b"main;run 16\n", self.read("x"))
        self.assertEqual(self.ok("merge", "--focus", "other", a, b).out, b"other 2\n")
        self.usage("merge", says="no input")
        self.usage("merge", "--weighted-input", "x," + a, says="weight")
        self.usage("merge", "--weighted-input", "0," + a, says="weight")
        self.usage("merge", "--from", "yesterday", a, says="2024-05-01")
        self.usage("convert", "--keep-going", "-t", "collapsed", a, says="not an option")

    def test_bad_inputs(self):
        a, bad = self.path("a.folded", FOLDED), self.path("bad.pb", b"\x0a\xff\xff\xff\xff\x0f")
        result = run("merge", "-o", self.path("out.folded"), a, bad)
        self.assertEqual(result.status, 1)
        self.assertIn("bad.pb", result.err)
        self.assertFalse(os.path.exists(self.path("out.folded")))
        result = self.ok("merge", "--keep-going", a, bad, self.path("absent"), a)
        self.assertEqual(result.out, b"main 2\nmain;run 6\nmain;run;step 24\n")
        for words in ("bad.pb", "absent", "2 of 4 inputs"):
            self.assertIn(words, result.err)
        self.assertEqual(run("merge", "--keep-going", "-t", "collapsed", bad).status, 1)

    def test_times(self):
        # time_nanos is field 9; a sample type, a sample without frames and the strings it needs.
        def profile(name, seconds, value):
            def field(number, kind, data):
                def varint(v):
                    out = b""
                    while v > 127:
                        out += bytes([v & 127 | 128])
                        v >>= 7
                    return out + bytes([v])
                return varint(number << 3 | kind) + (varint(data) if kind == 0 else varint(len(data)) + data)
            data = field(1, 2, field(1, 0, 1) + field(2, 0, 2)) + field(2, 2, field(1, 2, b"\x01") + field(2, 2, bytes([value])))
            data += field(4, 2, field(1, 0, 1) + field(4, 2, field(1, 0, 1))) + field(5, 2, field(1, 0, 1) + field(2, 0, 3))
            for text in (b"", b"samples", b"count", b"f"):
                data += field(6, 2, text)
            return self.path(name, data + (field(9, 0, seconds * 10**9) if seconds else b""))
        files = [profile("a.pb", 1714557600, 1), profile("b.pb", 1714561200, 2), profile("c.pb", 0, 4)]
        def total(*args):
            return self.ok("merge", "-t", "collapsed", *args, *files).out
        self.assertEqual(total(), b"f 7\n")
        self.assertEqual(total("--from", "2024-05-01T10:30"), b"f 2\n")
        self.assertEqual(total("--to=2024-05-01T11:00:00Z"), b"f 1\n")
        self.assertEqual(total("--from", "1714557600", "--to", "2024-05-02"), b"f 3\n")
        self.assertIn("1 inputs do not tell their time", self.ok("merge", "-t", "collapsed", "--to", "2025-01-01", *files).err)


class Tables(Case):
    def test_top(self):
        text = self.ok("top", "-", stdin=FOLDED).out.decode().splitlines()
        self.assertEqual(text[0], "16 samples; 3 of 3 rows")
        self.assertEqual([line.split() for line in text[2:]],
                         [["12", "75.00%", "12", "75.00%", "step"], ["3", "18.75%", "15", "93.75%", "run"],
                          ["1", "6.25%", "16", "100.00%", "main"]])
        self.assertEqual(self.ok("top", "--cum", "-n1", "-", stdin=FOLDED).out.split()[-1], b"main")
        long = b"a" * 300 + b" 1\n"
        for line in self.ok("top", "--width=60", "-", stdin=long).out.splitlines():
            self.assertLessEqual(len(line), 60)
        rows = json.loads(self.ok("top", "--json", "-", stdin=FOLDED).out)
        self.assertEqual(rows["total"], 16)
        self.assertEqual(sum(row["self"] for row in rows["rows"]), 16)
        self.assertEqual(json.loads(self.ok("top", "--json", "-", stdin=b'a\xff"b\\ 1\n').out)["rows"][0]["name"],
                         'a\ufffd"b\\')
        self.usage("top", "--by", "colour", "-", says="mapping", stdin=FOLDED)
        self.usage("top", "-n", "x", "-", says="number", stdin=FOLDED)
        self.ok("top", "-o", self.path("t.json"), "--json", "-", stdin=FOLDED)
        self.assertEqual(json.loads(self.read("t.json")), rows)

    def test_diff(self):
        names = [b"apple%d" % i for i in range(1, 7)]
        before = self.path("a.folded", b"".join(b"main;%s 100\n" % n for n in names))
        after = self.path("b.folded", b"".join(b"main;%s 100\n" % n for n in names[1:]))
        out = json.loads(self.ok("diff", "--json", before, after).out)
        self.assertEqual((out["total_before"], out["total_after"], out["delta"], out["mode"]), (600, 500, -100, "raw"))
        rows = {row["name"]: row for row in out["rows"]}
        self.assertEqual((rows["apple1"]["delta_self"], rows["apple1"]["class"]), (-100, "gone"))
        for name in names[1:]:
            row = rows[name.decode()]
            self.assertEqual((row["delta_self"], row["change"], row["class"]), (0, 0, "unchanged"))
        table = self.ok("diff", "--width", "120", before, after).out.decode()
        self.assertRegex(table, r"(?m)^ +100 +0 +-100 +-100\.0%.* gone +apple1$")
        self.assertEqual(self.ok("diff", "-t", "collapsed", before, after).out,
                         b"main;apple1 100 0\n" + b"".join(b"main;%s 100 100\n" % n for n in names[1:]))
        self.ok("diff", "-o", self.path("d.pb.gz"), before, after)
        data = gzip.decompress(self.read("d.pb.gz"))
        self.assertIn(b"pprof::base", data)
        self.assertEqual(json.loads(self.ok("top", "--json", self.path("d.pb.gz")).out)["rows"][0]["self"], -100)
        work = json.loads(self.ok("diff", "--json", "--work-before=6", "--work-after=5", before, after).out)
        self.assertEqual((work["delta"], work["mode"]), (0, "per-work"))
        self.assertEqual(sum(row["delta_self"] for row in work["rows"]), 0)
        runs = [self.path(f"{side}{i}.folded", b"".join(b"main;%s %d\n" % (n, 100 + (i * 37 + j * 17) % 50 + (side == "y" and j == 0) * 300)
                                                        for j, n in enumerate(names)))
                for side in "xy" for i in range(4)]
        both = json.loads(self.ok("diff", "--json", "--before", *runs[:4], "--after", *runs[4:]).out)
        self.assertEqual((both["runs_before"], both["runs_after"], both["exposure_after"]), (4, 4, 4))
        self.assertGreater(both["dispersion"], 1.5)
        self.assertEqual([(row["name"], row["class"]) for row in both["rows"] if row["class"] in ("up", "down")], [("apple1", "up")])
        self.assertEqual(json.loads(self.ok("diff", "--json", "--after", runs[4], f"--before={runs[0]}", runs[1], "--after", *runs[5:],
                                            "--before", *runs[2:4]).out), both)
        self.assertIn(b"runs: 4 before, 4 after", self.ok("diff", "--before", *runs[:4], "--after", *runs[4:]).out)
        uneven = json.loads(self.ok("diff", "--json", "--before", *runs[:4], "--after", runs[4]).out)
        self.assertEqual((uneven["exposure_before"], uneven["exposure_after"]), (4, 1))
        self.assertEqual(uneven["delta"], uneven["total_after"] * 4 - uneven["total_before"])
        self.usage("diff", "--before", before, says="together")
        self.usage("diff", before, "--after", after, says="neither side")
        self.usage("diff", before, says="two profiles")
        self.usage("diff", "--work-before=1", before, after, says="together")
        self.usage("diff", "--mode=share", before, after, says="per-work")
        self.usage("diff", "--mode=per-second", before, after, says="duration")


class Interrupts(Case):
    def test_interrupt_leaves_nothing(self):
        # A pipe that never ends: the command waits inside a read, and is told to stop between two of them.
        out = self.path("out.folded")
        process = subprocess.Popen([PROFCONV, "convert", "-f", "collapsed", "-o", out, "-"], stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        chunk = b"".join(b"main;f%d 1\n" % i for i in range(20000))
        try:
            for _ in range(40):
                process.stdin.write(chunk)
            process.stdin.flush()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            for _ in range(400):
                process.stdin.write(chunk)
        except BrokenPipeError:
            pass
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(60), -signal.SIGINT)
        self.assertEqual(os.listdir(self.dir), [])


if __name__ == "__main__":
    if not PROFCONV or not os.path.exists(PROFCONV):
        print("skipped: PROFCONV does not name the command")
        sys.exit(77)
    unittest.main()
